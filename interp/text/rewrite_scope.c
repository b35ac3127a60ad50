/* rewrite_scope.c: the analysis behind the rewriting, per function and once for each.

   Regions. The statements of a block from the first one that holds `goto L` up to the label L form
   the region of L; it becomes a do-block that a jump to L leaves. A goto of another label must not
   cross into a region, so a region grows to its left until none does; where a jump enters from the
   right the region is given up, and the gotos to its label stay jumps of Lua (*plain*), as those
   that jump back are. */
#include "rewrite_scan.h"

#include <string.h>

enum { MAX_GOTOS = 500 };

/* {==== notes on nodes ==== */

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

static void scan_block(Scan *s, LpBlock *b);

static void add_write(Scan *s, const LpExp *target, LpTok tok) {
  LpVar *v = target->kind == LP_NAME ? target->var : NULL;
  if (v != NULL && v->func == s->f &&
      rw_scan_push(s, &s->writes, &s->cap_writes, s->n_writes, sizeof *s->writes)) {
    s->writes[s->n_writes++] = (Write){v, tok};
  }
}

static void add_stat(Scan *s, LpStat ***items, size_t *n, size_t *cap, LpStat *stat) {
  if (rw_scan_push(s, items, cap, *n, sizeof **items)) {
    (*items)[(*n)++] = stat;
  }
}

static void add_goto(Scan *s, LpStat *g) {
  LpStat *label = g->target;
  uint32_t at = ancestor(g, label->block)->index;
  if (s->n_gotos >= MAX_GOTOS) {
    rw_scan_fail_at(s, g->tok, "a function has more than 500 gotos");
  }
  if (rw_scan_push(s, &s->gotos, &s->cap_gotos, s->n_gotos, sizeof *s->gotos)) {
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
  t->rw = rw_scan_note(s, sizeof *t->rw);
  if (t->rw == NULL) {
    return;
  }
  t->rw->number = ++s->c->n_numbers;
  if (rw_is_construct(t)) {
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
  b->rw = rw_scan_note(s, sizeof *b->rw);
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
  rw->regions = rw_scan_note(s, rw->n_regions * sizeof *rw->regions);
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
    if (rw_is_construct(t) || rw_region_of(t) != NULL) {
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

/* {==== the whole ==== */

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
  s.rw = rw_scan_note(&s, sizeof *s.rw);
  if (s.rw != NULL) {
    scan_block(&s, f->body);
  }
  if (s.status == CT_OK) {
    find_regions(&s);
  }
  if (s.status == CT_OK) {
    mark_dead_code(&s);
    rw_find_sets(&s);
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
