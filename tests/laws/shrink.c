/* shrink.c: greedy: one change at a time, kept when the law is still broken. Laws whose shape or
   coordinate belongs to the layouts are left as they are. */
#include "shrink.h"

#include <string.h>

/* The n-th smaller number than v, or v when there is none. */
static int64_t smaller(int64_t v, int n) {
  const int64_t tries[] = {0, 1, v / 2, v - 1};
  int64_t t = tries[n];
  return t < v && t >= 0 ? t : v;
}

enum { CHANGES_PER_NODE = 9 };

/* Change number n of a layout: take a mode for all; drop a mode; a smaller extent or stride. */
static bool change(CtArena *a, CtLayout *l, int n) {
  uint32_t i = (uint32_t)(n / CHANGES_PER_NODE);
  int how = n % CHANGES_PER_NODE;
  if (l->shape == NULL || i >= l->shape->len) {
    return false;
  }
  if (how == 8) {
    *l = (CtLayout){l->shape + i, l->stride + i};
    return true;
  }
  if (!ct_is_leaf(&l->shape[i])) {
    return true;
  }
  CtNode *s = ct_arena_alloc(a, l->shape->len * sizeof *s);
  CtNode *d = ct_arena_alloc(a, l->shape->len * sizeof *d);
  memcpy(s, l->shape, l->shape->len * sizeof *s);
  memcpy(d, l->stride, l->shape->len * sizeof *d);
  CtNode *node = how < 4 ? &s[i] : &d[i];
  node->i = ct_int(smaller(node->i.v, how % 4));
  *l = (CtLayout){s, d};
  return true;
}

static bool same(CtLayout a, CtLayout b) {
  return a.shape == b.shape || (a.shape != NULL && ct_layout_equal(a, b));
}

bool is_empty_case(const Case *c) {
  const CtTuple shapes[] = {c->a.shape,
                            c->b.shape,
                            c->s,
                            c->x.layout.shape,
                            c->y.layout.shape,
                            c->t.kind == CT_TILER_LAYOUT ? c->t.layout.shape : NULL};
  for (size_t i = 0; i < CT_ARRAY_LEN(shapes); i++) {
    if (shapes[i] != NULL && size_of(shapes[i]) == 0) {
      return true;
    }
  }
  return false;
}

static bool still_broken(const Law *law, Run *run, const Case *c) {
  Run probe = *run;
  ct_arena_reset(run->cx.arena);
  return (law->with_empty || !is_empty_case(c)) && law->check(&probe, c) == BROKEN;
}

static bool try_layout(const Law *law, Run *run, CtArena *keep, Case *c, CtLayout *l, int n,
                       bool *more) {
  CtLayout before = *l;
  *more = change(keep, l, n);
  if (*more && !same(before, *l) && still_broken(law, run, c)) {
    return true;
  }
  *l = before;
  return false;
}

static bool shrink_layout(const Law *law, Run *run, CtArena *keep, Case *c, CtLayout *l) {
  bool any = false, more = true;
  for (int n = 0; more; n++) {
    any = try_layout(law, run, keep, c, l, n, &more) || any;
  }
  return any;
}

static bool shrink_number(const Law *law, Run *run, Case *c, int64_t *number) {
  for (int n = 0; n < 4; n++) {
    int64_t before = *number;
    *number = smaller(before, n);
    if (*number != before && *number > 0 && still_broken(law, run, c)) {
      return true;
    }
    *number = before;
  }
  return false;
}

void shrink_case(const Law *law, Run *run, CtArena *keep, Case *c) {
  bool again = c->s == NULL && c->c == NULL;
  for (int round = 0; again && round < 200; round++) {
    again = shrink_layout(law, run, keep, c, &c->a);
    again = shrink_layout(law, run, keep, c, &c->b) || again;
    again = shrink_layout(law, run, keep, c, &c->x.layout) || again;
    again = shrink_layout(law, run, keep, c, &c->y.layout) || again;
    if (c->t.kind == CT_TILER_LAYOUT && !c->t.is_int) {
      again = shrink_layout(law, run, keep, c, &c->t.layout) || again;
    }
    again = shrink_number(law, run, c, &c->n) || shrink_number(law, run, c, &c->m) || again;
  }
  ct_arena_reset(run->cx.arena);
  if (law->check(run, c) != BROKEN) {
    broken(run, "it does not break twice");
  }
}
