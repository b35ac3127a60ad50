/* layout_pad.c: layouts whose inner modes are not a whole number of tiles.

   Coalesce A. If a tile of t ends inside one of A's modes, except the last one, the tile would
   continue in the next mode, and no layout can do that. As in CuTe, the mode is then lengthened to
   whole tiles: (5,16):(64,4) by 4 is divided as (8,16):(64,4), into (4,(2,16)):(64,(256,4)). The
   elements in the padding are not in A, though their indices may be those of other elements.
   Coordinates that are divided in the same way tell them apart. The last mode needs no padding,
   because it has no end.
   But if tiles overhang it, a mode of extent 1 after it is dropped: tiles would continue into that
   mode. */
#include "layout_algebra.h"

/* Where t ends: one past the last element that it and its gaps cover; 0 if that is unknown or
   negative. */
static int64_t end_of_tile(CtLayout t) {
  int64_t end = 1, reach;
  for (CtLeaves w = ct_layout_leaves(t); ct_next_leaf(&w);) {
    CtInt n = w.shape->i, d = w.stride->i;
    if (!ct_is_static(n) || !ct_is_static(d) || n.v <= 0 || d.v < 0 || d.basis_depth > 0 ||
        ct_mul_overflow(n.v, d.v, &reach)) {
      return 0;
    }
    end = n.v > 1 ? ct_max(end, reach) : end;
  }
  return end;
}

/* The mode inside which tiles of that many elements end, and how much of the mode they take; -1:
   none. */
static int mode_that_ends(const CtFlat *f, int64_t tile, int64_t *part) {
  for (int i = 0; i < f->n; i++) {
    CtInt n = f->mode[i].shape;
    if (!ct_is_static(n) || n.v <= 0) {
      return -1;
    }
    if (n.v % tile != 0 && tile < n.v) {
      *part = tile;
      return i;
    }
    if (tile % n.v != 0) { /* it fits evenly, or crosses the end of the mode */
      return -1;
    }
    tile /= n.v;
  }
  return -1;
}

static bool ends_in_one(CtLayout a) {
  CtTuple last = a.shape + a.shape->len - 1;
  return !ct_is_leaf(a.shape) && ct_is_leaf(last) && ct_is_const(last->i, 1);
}

/* Adds a, padded for one tile t. */
static void build_padded(CtBuild *b, CtLayout a, CtLayout t, bool *padded) {
  CtFlat f;
  int64_t tile = end_of_tile(t), part = 1, whole;
  ct_flat_init(&f, b->g);
  ct_flat_push_layout(&f, a, false);
  int i = tile > 0 ? mode_that_ends(&f, tile, &part) : -1;
  bool inner = i >= 0 && i < f.n - 1;
  if (!inner && !(i >= 0 && ends_in_one(a))) {
    ct_build_layout(b, a);
    return;
  }
  if (inner && ct_mul_overflow(ct_ceildiv(f.mode[i].shape.v, part), part, &whole)) {
    al_fail(b->g, CT_EOVERFLOW, "%s: the size of %s padded to tiles of %s", b->op,
            al_show_layout(b->g, a), al_show_layout(b->g, t));
  } else if (inner) {
    f.mode[i].shape = ct_int(whole);
    *padded = true;
  }
  ct_flat_emit(&f, b, a.shape->name);
}

static void build_by_tiler(CtBuild *b, CtLayout a, CtTiler t, bool *padded) {
  if (t.kind == CT_TILER_LAYOUT) {
    build_padded(b, a, t.layout, padded);
    return;
  }
  int rank = ct_layout_rank(a);
  if (t.kind == CT_TILER_ANY || t.n > rank || ct_is_leaf(a.shape)) {
    ct_build_layout(b, a); /* the divide itself reports a tiler that does not fit */
    return;
  }
  ct_build_open_named(b, ct_whole_name(a));
  for (int i = 0; al_ok(b->g) && i < rank; i++) {
    if (i < t.n) {
      build_by_tiler(b, ct_mode(a, i), t.items[i], padded);
    } else {
      ct_build_layout(b, ct_mode(a, i));
    }
  }
  ct_build_close(b);
}

/* Does the tiler divide a mode that is a tuple? Integer modes are common, and need no padding. */
static bool divides_tuples(CtLayout a, CtTiler t) {
  if (t.kind != CT_TILER_TUPLE) {
    return t.kind == CT_TILER_LAYOUT && !ct_is_leaf(a.shape);
  }
  bool found = false;
  for (int i = 0; !found && !ct_is_leaf(a.shape) && i < t.n && i < ct_layout_rank(a); i++) {
    found = divides_tuples(ct_mode(a, i), t.items[i]);
  }
  return found;
}

CtLayout al_pad(CtAlg *g, const char *op, CtLayout a, CtTiler t, bool *padded) {
  CtBuild b;
  *padded = false;
  if (!al_ok(g) || !divides_tuples(a, t)) {
    return a;
  }
  ct_build_init_layout(&b, g, op);
  build_by_tiler(&b, a, t, padded);
  return ct_build_take_layout(&b);
}
