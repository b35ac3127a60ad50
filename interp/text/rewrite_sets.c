/* rewrite_sets.c: which locals the constructs of a function promote.

   Sets. The set of a construct holds the locals that it promotes when it turns out to be run-time:
   those assigned in it and declared before it, and, for each jump in it that leaves it for a target
   T (loop or region), each local declared before T that is assigned in T or promoted by a construct
   in T: after a run-time exit the rest of T is conditional. So are then all jumps in T that leave
   T, for T': what they need promoted counts for T as well. That is a fixpoint.

   Names. Promotion assigns by name at the entry of the construct; a local that hides a promoted one
   there is renamed. */
#include "rewrite_scan.h"

#include <string.h>

#include "runtime/base/order.h"

enum { MAX_SET_BYTES = 64 << 20 };

/* Rows of the constructs, then of the targets, then a scratch row. */
static Word *row(const Scan *s, size_t i) { return s->sets + i * s->n_words; }
static void set_bit(Word *w, uint32_t i) { w[i / 64] |= (Word)1 << (i % 64); }
static void clear_bit(Word *w, uint32_t i) { w[i / 64] &= ~((Word)1 << (i % 64)); }
static bool has_bit(const Word *w, uint32_t i) { return (w[i / 64] >> (i % 64) & 1) != 0; }

/* The number of the first construct at or after token t. */
static size_t construct_from(const Scan *s, LpTok t) {
  size_t i;
  CT_FIRST_NOT_BEFORE(i, s->n_constructs, s->constructs[i]->tok < t);
  return i;
}

static size_t write_from(const Scan *s, LpTok t) {
  size_t i;
  CT_FIRST_NOT_BEFORE(i, s->n_writes, s->writes[i].tok < t);
  return i;
}

/* Each write counts for the constructs around it that its variable was declared before. */
static void add_direct(Scan *s) {
  size_t n_open = 0;
  size_t next = 0; /* construct */
  size_t *open = NULL, cap = 0;
  for (size_t i = 0; i < s->n_writes && s->status == CT_OK; i++) {
    const Write *w = &s->writes[i];
    for (; next < s->n_constructs && s->constructs[next]->tok < w->tok; next++) {
      while (n_open > 0 && s->constructs[open[n_open - 1]]->last < s->constructs[next]->tok) {
        n_open--;
      }
      if (!rw_scan_push(s, &open, &cap, n_open, sizeof *open)) {
        break;
      }
      open[n_open++] = next;
    }
    for (size_t k = n_open; k > 0; k--) {
      const LpStat *c = s->constructs[open[k - 1]];
      if (c->last >= w->tok && w->var->from <= c->tok) {
        set_bit(row(s, open[k - 1]), w->var->index);
      }
    }
  }
  ct_free(s->c->alloc, open, cap * sizeof *open);
}

/* The target of jump j, made if new; NULL when out of memory. */
static Target *target_of(Scan *s, const LpStat *j) {
  const LpStat *t = j->target;
  bool is_loop = j->kind == LP_BREAK;
  if (t->rw->target > 0) {
    return &s->targets[t->rw->target - 1];
  }
  if (!rw_scan_push(s, &s->targets, &s->cap_targets, s->n_targets, sizeof *s->targets)) {
    return NULL;
  }
  LpTok start = is_loop ? t->tok + 1 : rw_stat_at(t->block, t->rw->start)->tok;
  s->targets[s->n_targets] =
      (Target){.start = start, .end = is_loop ? t->last : t->tok, .stat = t, .is_loop = is_loop};
  t->rw->target = ++s->n_targets;
  return &s->targets[s->n_targets - 1];
}

static void list_exits(Scan *s) {
  for (size_t i = 0; i < s->n_jumps && s->status == CT_OK; i++) {
    LpStat *j = s->jumps[i];
    if (j->kind == LP_RETURN || j->rw->plain) {
      continue;
    }
    Target *t = target_of(s, j);
    if (t != NULL && rw_scan_push(s, &s->exits, &s->cap_exits, s->n_exits, sizeof *s->exits)) {
      s->exits[s->n_exits++] = (Exit){j, t->exits};
      t->exits = s->n_exits;
    }
  }
}

static Word *target_row(const Scan *s, const Target *t) {
  return row(s, s->n_constructs + (size_t)(t - s->targets));
}

static bool add_bits(const Scan *s, Word *to, const Word *bits) {
  bool changed = false;
  for (size_t k = 0; k < s->n_words; k++) {
    changed = changed || (bits[k] & ~to[k]) != 0;
    to[k] |= bits[k];
  }
  return changed;
}

/* Adds to the row of t the locals from before t that t assigns or that a construct in it promotes.
   scratch: a row of zeros, which stays one. */
static bool gather(const Scan *s, const Target *t, Word *scratch) {
  LpTok start = t->is_loop ? t->stat->tok : t->start;
  for (size_t i = write_from(s, t->start); i < s->n_writes && s->writes[i].tok < t->end; i++) {
    set_bit(scratch, s->writes[i].var->index);
  }
  for (size_t i = construct_from(s, t->start);
       i < s->n_constructs && s->constructs[i]->tok < t->end; i++) {
    add_bits(s, scratch, row(s, i));
  }
  for (const LpVar *v = s->f->vars; v != NULL; v = v->next) {
    if (v->from > start) {
      clear_bit(scratch, v->index);
    }
  }
  bool changed = add_bits(s, target_row(s, t), scratch);
  memset(scratch, 0, s->n_words * sizeof *scratch);
  return changed;
}

/* Adds bits to what a conditional jump out of statement o leaves: o itself if it is a construct,
   and the targets that end with it or around it. */
static bool add_leaving(const Scan *s, const LpStat *o, const LpStat *to, const Word *bits) {
  bool changed = false;
  const RwBlock *b = o->block->rw;
  if (rw_is_construct(o)) {
    changed = add_bits(s, row(s, construct_from(s, o->tok)), bits);
  }
  if (o->rw->target > 0) {
    changed = add_bits(s, target_row(s, &s->targets[o->rw->target - 1]), bits) || changed;
  }
  for (uint32_t i = 0; i < b->n_regions; i++) {
    const LpStat *label = b->regions[i];
    bool holds = label->rw->start <= o->index && o->index < label->index;
    bool leaves = to->block != o->block || to->index < label->rw->start || to->index > label->index;
    if (holds && leaves && label->rw->target > 0) {
      changed = add_bits(s, target_row(s, &s->targets[label->rw->target - 1]), bits) || changed;
    }
  }
  return changed;
}

/* Adds the row of t to the constructs that jump j leaves for it, and to the targets that it leaves:
   once one of these was jumped to under a condition, j is conditional too. */
static bool spread(const Scan *s, const Target *t, LpStat *j) {
  bool changed = false;
  for (const LpStat *o = j; o != NULL && o != t->stat; o = o->block->owner) {
    changed = add_leaving(s, o, t->stat, target_row(s, t)) || changed;
    if (!t->is_loop && o->block == t->stat->block) {
      break;
    }
  }
  return changed;
}

/* One round of the fixpoint for target t. */
static bool spread_target(const Scan *s, const Target *t, Word *scratch) {
  bool changed = gather(s, t, scratch);
  for (size_t i = t->exits; i > 0; i = s->exits[i - 1].next) {
    changed = spread(s, t, s->exits[i - 1].stat) || changed;
  }
  return changed;
}

static void solve_sets(Scan *s, Word *scratch) {
  bool changed = s->status == CT_OK;
  while (changed) {
    changed = false;
    for (size_t i = 0; i < s->n_targets; i++) {
      changed = spread_target(s, &s->targets[i], scratch) || changed;
    }
  }
}

/* {==== names ==== */

/* Renames what hides a promoted local at token t. */
static void rename_hiders(Scan *s, const LpVar *v, LpTok t) {
  for (LpVar *h = v->hiders; h != NULL; h = h->next_hider) {
    if (h->from <= t && t < h->to && h->rename == 0) {
      h->rename = ++s->c->n_numbers;
    }
    rename_hiders(s, h, t);
  }
}

/* Turns the row of bits of a construct into its list of locals. */
static void list_set(Scan *s, LpStat *t, const Word *bits) {
  uint32_t n = 0;
  LpTok entry = t->kind == LP_IF ? t->tok : t->body->from;
  for (const LpVar *v = s->f->vars; v != NULL; v = v->next) {
    n += has_bit(bits, v->index);
  }
  LpVar **to = n == 0 ? NULL : rw_scan_note(s, n * sizeof *to);
  if (to == NULL) {
    return;
  }
  t->rw->set = to;
  t->rw->n_set = n;
  for (LpVar *v = s->f->vars; v != NULL; v = v->next) {
    if (has_bit(bits, v->index)) {
      *to++ = v;
      v->is_mutable = true;
      rename_hiders(s, v, entry);
    }
  }
}

static void finish_vars(Scan *s) {
  for (LpVar *v = s->f->vars; v != NULL; v = v->next) {
    v->is_mutable = v->is_mutable || v->inner_write;
    if (v->is_mutable && v->sym == s->c->lp.env) {
      rw_scan_fail_at(s, v->tok,
                      "'_ENV' is assigned inside an if, a loop or an inner function; "
                      "give each _ENV a local of its own");
    }
  }
}

void rw_find_sets(Scan *s) {
  s->n_words = (s->f->n_vars + 63) / 64;
  if (s->n_constructs > 0 && s->n_words > 0) {
    list_exits(s);
    size_t n_rows = s->n_constructs + s->n_targets + 1;
    size_t bytes = n_rows * s->n_words * sizeof(Word);
    if (bytes > MAX_SET_BYTES) {
      rw_scan_fail_at(s, s->f->tok, "a function has too many locals and loops; split it");
      return;
    }
    s->sets = ct_alloc(s->c->alloc, bytes);
    if (s->sets == NULL) {
      s->status = ct_fail_nomem(s->err);
      return;
    }
    memset(s->sets, 0, bytes);
    add_direct(s);
    solve_sets(s, row(s, n_rows - 1));
    for (size_t i = 0; i < s->n_constructs && s->status == CT_OK; i++) {
      list_set(s, s->constructs[i], row(s, i));
    }
    ct_free(s->c->alloc, s->sets, bytes);
  }
  finish_vars(s);
}
