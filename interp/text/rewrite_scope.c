/* rewrite_scope.c: the analysis behind the rewriting, per function and once for each.

   Regions. The statements of a block from the first one that holds `goto L` up to the label L form
   the region of L; it becomes a do-block that a jump to L leaves. A goto of another label must not
   cross into a region, so a region grows to its left until none does; where a jump enters from the
   right the region is given up, and the gotos to its label stay jumps of Lua (*plain*), as those
   that jump back are.

   Sets. The set of a construct holds the locals that it promotes when it turns out to be run-time:
   those assigned in it and declared before it, and, for each jump in it that leaves it for a target
   T (loop or region), each local declared before T that is assigned in T or promoted by a construct
   in T: after a run-time exit the rest of T is conditional. So are then all jumps in T that leave
   T, for T': what they need promoted counts for T as well. That is a fixpoint.

   Names. Promotion assigns by name at the entry of the construct; a local that hides a promoted one
   there is renamed. */
#include "rewrite_int.h"

#include <string.h>

enum { MAX_GOTOS = 500, MAX_SET_BYTES = 64 << 20 };

typedef uint64_t Word;

typedef struct Write { /* an assignment to a local of the function */
  LpVar *var;
  LpTok tok; /* of the statement */
} Write;

typedef struct Goto {
  LpStat *stat;
  uint32_t at; /* index of the statement that holds it, in the block of its label */
} Goto;

typedef struct Target { /* a loop or region that run-time jumps leave for */
  LpTok start, end;     /* its tokens: start <= t < end */
  const LpStat *stat;   /* the loop or label */
  bool is_loop;
  size_t exits; /* 1 + the number of its first exit, 0 for none */
} Target;

typedef struct Exit { /* a jump to a target */
  LpStat *stat;
  size_t next; /* 1 + the number of the next exit to it, 0 for none */
} Exit;

typedef struct Scan { /* of one function */
  RwChunk *c;
  const LpFunc *f;
  RwFunc *rw;
  CtErr *err;
  CtStatus status;
  LpStat **constructs; /* in order of the text */
  size_t n_constructs, cap_constructs;
  Write *writes; /* in order of the text */
  size_t n_writes, cap_writes;
  Goto *gotos;
  size_t n_gotos, cap_gotos;
  LpStat **labels; /* that have or had a region */
  size_t n_labels, cap_labels;
  LpStat **jumps; /* breaks, gotos, returns */
  size_t n_jumps, cap_jumps;
  LpStat **failures; /* statements with calls of error or assert, which may end the thread */
  size_t n_failures, cap_failures;
  Target *targets;
  size_t n_targets, cap_targets;
  Exit *exits;
  size_t n_exits, cap_exits;
  Word *sets;     /* rows of bits, one for each local of the function */
  size_t n_words; /* in a row */
} Scan;

/* {==== notes on nodes ==== */

static void *note(Scan *s, size_t bytes) {
  void *p = ct_arena_alloc(&s->c->lp.arena, bytes);
  if (p == NULL && s->status == CT_OK) {
    s->status = ct_fail_nomem(s->err);
  }
  return p;
}

static bool push(Scan *s, void *items, size_t *cap, size_t n, size_t size) {
  if (s->status == CT_OK) {
    s->status = ct_grow(s->c->alloc, items, cap, n + 1, size, s->err);
  }
  return s->status == CT_OK;
}

static void fail_at(Scan *s, LpTok t, const char *what) {
  if (s->status == CT_OK) {
    s->status = ct_fail(s->err, CT_EINVAL, "kernel: %s", what);
    ct_err_at(s->err, s->c->lp.lx.chunk, lp_line(&s->c->lp, t));
  }
}

static LpStat *stat_at(const LpBlock *b, uint32_t index) {
  LpStat *s = b->first;
  while (s->index < index) {
    s = s->next;
  }
  return s;
}

/* The statement of block b that holds s. */
static LpStat *ancestor(LpStat *s, const LpBlock *b) {
  while (s->block != b) {
    s = s->block->owner;
  }
  return s;
}

const LpStat *rw_region_of(const LpStat *s) {
  const RwBlock *b = s->block->rw;
  for (uint32_t i = 0; i < b->n_regions; i++) {
    if (b->regions[i]->rw->start <= s->index && s->index < b->regions[i]->index) {
      return b->regions[i];
    }
  }
  return NULL;
}

/* {==== first walk: collect ==== */

static bool is_construct(const LpStat *s) { return s->kind == LP_IF || lp_is_loop(s); }

static void scan_block(Scan *s, LpBlock *b);

static void add_write(Scan *s, const LpExp *target, LpTok tok) {
  LpVar *v = target->kind == LP_NAME ? target->var : NULL;
  if (v != NULL && v->func == s->f &&
      push(s, &s->writes, &s->cap_writes, s->n_writes, sizeof *s->writes)) {
    s->writes[s->n_writes++] = (Write){v, tok};
  }
}

static void add_stat(Scan *s, LpStat ***items, size_t *n, size_t *cap, LpStat *stat) {
  if (push(s, items, cap, *n, sizeof **items)) {
    (*items)[(*n)++] = stat;
  }
}

static void add_goto(Scan *s, LpStat *g) {
  LpStat *label = g->target;
  uint32_t at = ancestor(g, label->block)->index;
  if (s->n_gotos >= MAX_GOTOS) {
    fail_at(s, g->tok, "a function has more than 500 gotos");
  }
  if (push(s, &s->gotos, &s->cap_gotos, s->n_gotos, sizeof *s->gotos)) {
    s->gotos[s->n_gotos++] = (Goto){g, at};
  }
}

/* error(...), assert(...) */
static bool is_failure(const Scan *s, const LpExp *e) {
  if (e->kind != LP_CALL || e->a->kind != LP_NAME) {
    return false;
  }
  const char *name = lp_token(&s->c->lp, e->a->tok)->sym->s;
  return strcmp(name, "error") == 0 || strcmp(name, "assert") == 0;
}

/* Is there such a call in the expressions? Those of inner functions are not theirs. */
static bool have_failure(const Scan *s, const LpExp *list) {
  for (; list != NULL; list = list->next) {
    for (const LpExp *e = list; e != NULL; e = e->a) {
      if (is_failure(s, e) || have_failure(s, e->list) || (e->b != NULL && have_failure(s, e->b))) {
        return true;
      }
    }
  }
  return false;
}

static bool may_fail(const Scan *s, const LpStat *t) {
  return (t->kind == LP_CALLSTAT || t->kind == LP_DECL || t->kind == LP_ASSIGN) &&
         have_failure(s, t->exps);
}

static void scan_stat(Scan *s, LpStat *t) {
  t->rw = note(s, sizeof *t->rw);
  if (t->rw == NULL) {
    return;
  }
  t->rw->number = ++s->c->n_numbers;
  if (is_construct(t)) {
    add_stat(s, &s->constructs, &s->n_constructs, &s->cap_constructs, t);
  }
  if (t->kind == LP_ASSIGN || t->kind == LP_FUNCSTAT) {
    for (const LpExp *e = t->targets; e != NULL; e = e->next) {
      add_write(s, e, t->tok);
    }
  }
  if (t->kind == LP_BREAK || t->kind == LP_GOTO || t->kind == LP_RETURN) {
    add_stat(s, &s->jumps, &s->n_jumps, &s->cap_jumps, t);
  }
  if (may_fail(s, t)) {
    add_stat(s, &s->failures, &s->n_failures, &s->cap_failures, t);
  }
  if (t->kind == LP_GOTO) {
    add_goto(s, t);
  }
  for (const LpArm *arm = t->arms; arm != NULL; arm = arm->next) {
    scan_block(s, arm->body);
  }
  if (t->body != NULL) {
    scan_block(s, t->body);
  }
  if (t->else_body != NULL) {
    scan_block(s, t->else_body);
  }
}

static void scan_block(Scan *s, LpBlock *b) {
  b->rw = note(s, sizeof *b->rw);
  if (b->rw == NULL) {
    return;
  }
  b->rw->number = ++s->c->n_numbers;
  for (LpStat *t = b->first; t != NULL && s->status == CT_OK; t = t->next) {
    scan_stat(s, t);
  }
}

/* {==== goto regions ==== */

static bool is_forward(const Goto *g) { return g->stat->tok < g->stat->target->tok; }

static void start_regions(Scan *s) {
  for (size_t i = 0; i < s->n_gotos && s->status == CT_OK; i++) {
    const Goto *g = &s->gotos[i];
    LpStat *label = g->stat->target;
    RwStat *rw = label->rw;
    if (!is_forward(g)) {
      continue;
    }
    if (!rw->has_region) {
      rw->has_region = true;
      rw->start = g->at;
      add_stat(s, &s->labels, &s->n_labels, &s->cap_labels, label);
    }
    rw->start = g->at < rw->start ? g->at : rw->start;
  }
}

/* Makes the region of `label` agree with one goto; returns whether it changed. */
static bool fit_region(LpStat *label, const Goto *g) {
  RwStat *r = label->rw;
  const LpStat *to = g->stat->target;
  if (!r->has_region || to == label || to->block != label->block || to->index < r->start ||
      to->index >= label->index) {
    return false;
  }
  if (g->at >= label->index) {
    r->has_region = false;
    return true;
  }
  if (g->at < r->start) {
    r->start = g->at;
    return true;
  }
  return false;
}

static void fit_regions(Scan *s) {
  bool changed = true;
  while (changed) {
    changed = false;
    for (size_t i = 0; i < s->n_labels; i++) {
      for (size_t k = 0; k < s->n_gotos; k++) {
        changed = fit_region(s->labels[i], &s->gotos[k]) || changed;
      }
    }
  }
}

/* Hands each block its regions, in order of their labels, so inner ones come first. */
static void list_regions(Scan *s, LpBlock *b) {
  RwBlock *rw = b->rw;
  for (const LpStat *t = b->first; t != NULL; t = t->next) {
    rw->n_regions += t->kind == LP_LABEL && t->rw->has_region;
  }
  if (rw->n_regions == 0) {
    return;
  }
  rw->regions = note(s, rw->n_regions * sizeof *rw->regions);
  LpStat **to = rw->regions;
  for (LpStat *t = b->first; to != NULL && t != NULL; t = t->next) {
    if (t->kind == LP_LABEL && t->rw->has_region) {
      *to++ = t;
    }
  }
}

static void find_regions(Scan *s) {
  start_regions(s);
  fit_regions(s);
  for (size_t i = 0; i < s->n_labels && s->status == CT_OK; i++) {
    if (s->labels[i]->block->rw->regions == NULL) {
      s->labels[i]->block->rw->n_regions = 0;
      list_regions(s, s->labels[i]->block);
    }
  }
  for (size_t i = 0; i < s->n_gotos; i++) {
    LpStat *label = s->gotos[i].stat->target;
    if (!is_forward(&s->gotos[i]) || !label->rw->has_region) {
      s->gotos[i].stat->rw->plain = true;
      label->block->rw->has_here = true;
    }
  }
}

/* {==== dead code ==== */

static bool is_inside(const LpStat *t) { /* a construct or a region */
  for (; t != NULL; t = t->block->owner) {
    if (is_construct(t) || rw_region_of(t) != NULL) {
      return true;
    }
  }
  return false;
}

static void mark_leaving(LpStat *t) {
  t->rw->leaves = true;
  if (rw_region_of(t) == NULL) {
    t->block->rw->has_end = true;
  }
}

/* Marks the statements that a jump leaves: up to its target, exclusive. */
static void mark_jump(const Scan *s, LpStat *j) {
  const LpBlock *last = j->kind == LP_GOTO ? j->target->block : NULL;
  if ((j->kind == LP_RETURN && !s->rw->returns_inside) || j->rw->plain) {
    return;
  }
  if (j->kind == LP_BREAK) {
    j->target->rw->has_break = true;
  }
  for (LpStat *t = j; t != NULL && t != j->target; t = t->block->owner) {
    mark_leaving(t);
    if (t->block == last) {
      break;
    }
  }
}

static bool is_void(const LpStat *t) { return t->kind == LP_EMPTY || t->kind == LP_LABEL; }

/* Whether a label ends its block; the condition of a repeat counts as a statement. */
static bool is_last_label(const LpStat *t) {
  if (t->block->owner != NULL && t->block->owner->kind == LP_REPEAT) {
    return false;
  }
  while (t != NULL && is_void(t)) {
    t = t->next;
  }
  return t == NULL;
}

static void mark_dead_code(Scan *s) {
  for (size_t i = 0; i < s->n_jumps; i++) {
    LpStat *j = s->jumps[i];
    s->rw->returns_inside = s->rw->returns_inside || (j->kind == LP_RETURN && is_inside(j));
  }
  for (size_t i = 0; i < s->n_jumps; i++) {
    mark_jump(s, s->jumps[i]);
  }
  for (size_t i = 0; i < s->n_failures; i++) {
    for (LpStat *t = s->failures[i]; t != NULL; t = t->block->owner) {
      mark_leaving(t);
    }
  }
  for (size_t i = 0; i < s->n_labels; i++) {
    if (s->labels[i]->rw->has_region && !is_last_label(s->labels[i])) {
      mark_leaving(s->labels[i]);
    }
  }
}

/* {==== promotion sets ==== */

/* Rows of the constructs, then of the targets, then a scratch row. */
static Word *row(const Scan *s, size_t i) { return s->sets + i * s->n_words; }
static void set_bit(Word *w, uint32_t i) { w[i / 64] |= (Word)1 << (i % 64); }
static void clear_bit(Word *w, uint32_t i) { w[i / 64] &= ~((Word)1 << (i % 64)); }
static bool has_bit(const Word *w, uint32_t i) { return (w[i / 64] >> (i % 64) & 1) != 0; }

/* The number of the first construct at or after token t. */
static size_t construct_from(const Scan *s, LpTok t) {
  size_t lo = 0, hi = s->n_constructs;
  while (lo < hi) {
    size_t mid = lo + (hi - lo) / 2;
    if (s->constructs[mid]->tok < t) {
      lo = mid + 1;
    } else {
      hi = mid;
    }
  }
  return lo;
}

static size_t write_from(const Scan *s, LpTok t) {
  size_t lo = 0, hi = s->n_writes;
  while (lo < hi) {
    size_t mid = lo + (hi - lo) / 2;
    if (s->writes[mid].tok < t) {
      lo = mid + 1;
    } else {
      hi = mid;
    }
  }
  return lo;
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
      if (!push(s, &open, &cap, n_open, sizeof *open)) {
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
  if (!push(s, &s->targets, &s->cap_targets, s->n_targets, sizeof *s->targets)) {
    return NULL;
  }
  LpTok start = is_loop ? t->tok + 1 : stat_at(t->block, t->rw->start)->tok;
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
    if (t != NULL && push(s, &s->exits, &s->cap_exits, s->n_exits, sizeof *s->exits)) {
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
  if (is_construct(o)) {
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
  LpVar **to = n == 0 ? NULL : note(s, n * sizeof *to);
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
      fail_at(s, v->tok,
              "'_ENV' is assigned inside an if, a loop or an inner function; "
              "give each _ENV a local of its own");
    }
  }
}

static void find_sets(Scan *s) {
  s->n_words = (s->f->n_vars + 63) / 64;
  if (s->n_constructs > 0 && s->n_words > 0) {
    list_exits(s);
    size_t n_rows = s->n_constructs + s->n_targets + 1;
    size_t bytes = n_rows * s->n_words * sizeof(Word);
    if (bytes > MAX_SET_BYTES) {
      fail_at(s, s->f->tok, "a function has too many locals and loops; split it");
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

/* {==== ==== */

static void clear_scan(Scan *s) {
  CtAlloc a = s->c->alloc;
  ct_free(a, s->constructs, s->cap_constructs * sizeof *s->constructs);
  ct_free(a, s->writes, s->cap_writes * sizeof *s->writes);
  ct_free(a, s->gotos, s->cap_gotos * sizeof *s->gotos);
  ct_free(a, s->labels, s->cap_labels * sizeof *s->labels);
  ct_free(a, s->jumps, s->cap_jumps * sizeof *s->jumps);
  ct_free(a, s->failures, s->cap_failures * sizeof *s->failures);
  ct_free(a, s->targets, s->cap_targets * sizeof *s->targets);
  ct_free(a, s->exits, s->cap_exits * sizeof *s->exits);
}

static CtStatus analyse_one(RwChunk *c, LpFunc *f, CtErr *err) {
  Scan s = {.c = c, .f = f, .err = err};
  s.rw = note(&s, sizeof *s.rw);
  if (s.rw != NULL) {
    scan_block(&s, f->body);
  }
  if (s.status == CT_OK) {
    find_regions(&s);
  }
  if (s.status == CT_OK) {
    mark_dead_code(&s);
    find_sets(&s);
  }
  clear_scan(&s);
  f->rw = s.status == CT_OK ? s.rw : NULL;
  return s.status;
}

static bool is_within(const LpFunc *f, const LpFunc *root) {
  while (f != NULL && f != root) {
    f = f->parent;
  }
  return f == root;
}

CtStatus rw_analyse(RwChunk *c, const LpFunc *root, CtErr *err) {
  CtStatus st = CT_OK;
  for (LpFunc *f = c->funcs[root->number]; f != NULL && st == CT_OK && is_within(f, root);
       f = f->next) {
    if (f->rw == NULL) {
      st = analyse_one(c, f, err);
    }
  }
  return st;
}
