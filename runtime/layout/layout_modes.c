/* layout_modes.c: a layout as a list of modes: slicing, dicing, grouping, picking. */
#include "layout_algebra.h"

/* --- slice and dice ---------------------------------------------------------------------------- */

/* The parts that a coordinate keeps of a layout, or of a tuple (then stride is shape again): parts
   under `_` (slice: any) or under the integers (dice). The coordinate must fit. Parts kept inside a
   nested coordinate join the parts outside it. */
static void keep_parts(CtBuild *b, bool any, CtTuple crd, CtLayout l) {
  if (ct_is_leaf(crd)) {
    if ((crd->i.kind == CT_ANY) == any) {
      ct_build_layout(b, l);
    }
    return;
  }
  CtLayout m = {ct_first(l.shape), ct_first(l.stride)};
  for (CtTuple c = ct_first(crd); c != ct_end(crd); c = ct_next(c)) {
    keep_parts(b, any, c, m);
    m = (CtLayout){ct_next(m.shape), ct_next(m.stride)};
  }
}

/* A leaf coordinate keeps all of l, or nothing; a tuple gives a tuple. */
static void build_kept(CtBuild *b, bool any, CtTuple crd, CtLayout l) {
  al_check_crd(b->g, b->op, crd, l.shape, "give one entry per mode, '_' to keep a mode");
  if (!al_ok(b->g)) {
    return;
  }
  bool whole = ct_is_leaf(crd) && (crd->i.kind == CT_ANY) == any;
  if (!whole) {
    ct_build_open_named(b, ct_whole_name(l));
  }
  keep_parts(b, any, crd, l);
  if (!whole) {
    ct_build_close(b);
  }
}

CtLayout al_keep(CtAlg *g, const char *op, bool any, CtTuple crd, CtLayout l) {
  CtBuild b;
  ct_build_init_layout(&b, g, op);
  build_kept(&b, any, crd, l);
  return ct_build_take_layout(&b);
}

CtTuple al_keep_tuple(CtAlg *g, const char *op, bool any, CtTuple crd, CtTuple t) {
  CtBuild b;
  ct_build_init(&b, g, op, false);
  build_kept(&b, any, crd, (CtLayout){t, t});
  return ct_build_take(&b, 0);
}

/* --- picking modes ----------------------------------------------------------------------------- */

static void build_modes(CtBuild *b, CtLayout l, int first, int last) {
  for (int i = first; al_ok(b->g) && i < last; i++) {
    ct_build_layout(b, ct_mode(l, i));
  }
}

static int rank_of(const CtAlg *g, CtLayout l) { return al_ok(g) ? ct_layout_rank(l) : 0; }

/* Begins a tuple of modes like l. */
static void begin_like(CtBuild *b, CtAlg *g, const char *op, CtLayout l) {
  ct_build_init_layout(b, g, op);
  ct_build_open_named(b, al_ok(g) ? ct_whole_name(l) : 0);
}

static CtLayout end_modes(CtBuild *b) {
  ct_build_close(b);
  return ct_build_take_layout(b);
}

static void check_range(CtAlg *g, const char *op, CtLayout l, int first, int last) {
  int rank = rank_of(g, l);
  if (first < 0 || first >= last || last > rank) {
    al_fail(g, CT_EINVAL,
            "%s: modes %d to %d of %s, which has rank %d; expected 0 <= first < last <= rank", op,
            first, last, al_show_layout(g, l), rank);
  }
}

static void check_mode(CtAlg *g, const char *op, CtLayout l, int i) {
  int rank = rank_of(g, l);
  if (i < 0 || i >= rank) {
    al_fail(g, CT_EINVAL, "%s: no mode %d in %s, which has rank %d", op, i, al_show_layout(g, l),
            rank);
  }
}

CtLayout al_concat(CtAlg *g, int n, const CtLayout *modes) {
  CtBuild b;
  ct_build_init_layout(&b, g, "concat");
  ct_build_open(&b);
  for (int i = 0; i < n; i++) {
    ct_build_layout(&b, modes[i]);
  }
  return end_modes(&b);
}

CtLayout al_mode_at(CtAlg *g, const char *op, CtLayout l, int n, const int *path) {
  for (int i = 0; al_ok(g) && i < n; i++) {
    check_mode(g, op, l, path[i]);
    l = al_ok(g) ? ct_mode(l, path[i]) : AL_NO_LAYOUT;
  }
  return l;
}

CtLayout al_group(CtAlg *g, CtLayout l, int first, int last) {
  CtBuild b;
  check_range(g, "group_modes", l, first, last);
  begin_like(&b, g, "group_modes", l);
  build_modes(&b, l, 0, first);
  ct_build_open(&b);
  build_modes(&b, l, first, last);
  ct_build_close(&b);
  build_modes(&b, l, last, rank_of(g, l));
  return end_modes(&b);
}

CtLayout al_take(CtAlg *g, CtLayout l, int first, int last) {
  CtBuild b;
  check_range(g, "take", l, first, last);
  begin_like(&b, g, "take", l);
  build_modes(&b, l, first, last);
  return end_modes(&b);
}

CtLayout al_select(CtAlg *g, CtLayout l, int n, const int *modes) {
  CtBuild b;
  begin_like(&b, g, "select", l);
  for (int i = 0; i < n; i++) {
    check_mode(g, "select", l, modes[i]);
    build_modes(&b, l, modes[i], modes[i] + 1);
  }
  return end_modes(&b);
}

/* l with x beside it, once or as often as it takes to reach the rank; a copy of l if it has that
   rank. */
static CtLayout pad(CtAlg *g, const char *op, CtLayout l, CtLayout x, int rank, bool front) {
  CtBuild b;
  int had = rank_of(g, l), n = rank > 0 ? rank - had : 1;
  if (n < 0 || n > CT_MAX_NODES) {
    al_fail(g, CT_EINVAL, "%s: %s has rank %d, more than %d", op, al_show_layout(g, l), had, rank);
  }
  if (n == 0 || !al_ok(g)) {
    return al_copy(g, l);
  }
  ct_build_init_layout(&b, g, op);
  ct_build_open(&b);
  for (int i = front ? -n : 0; i < (front ? had : had + n); i++) {
    ct_build_layout(&b, i >= 0 && i < had ? ct_mode(l, i) : x);
  }
  return end_modes(&b);
}

CtLayout al_append(CtAlg *g, CtLayout l, CtLayout x, int rank) {
  return pad(g, "append", l, x, rank, false);
}

CtLayout al_prepend(CtAlg *g, CtLayout l, CtLayout x, int rank) {
  return pad(g, "prepend", l, x, rank, true);
}

CtLayout al_replace(CtAlg *g, CtLayout l, int i, CtLayout x) {
  CtBuild b;
  check_mode(g, "replace", l, i);
  if (!al_ok(g) || ct_is_leaf(l.shape)) {
    return al_copy(g, x);
  }
  begin_like(&b, g, "replace", l);
  build_modes(&b, l, 0, i);
  ct_build_layout(&b, x);
  build_modes(&b, l, i + 1, ct_layout_rank(l));
  return end_modes(&b);
}
