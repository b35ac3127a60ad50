/* partition.c: tile and parallelize: the parts of a layout that a block or a thread works on.

   Both divide by a tiler and sort the result into ((tiles...), (rests...)). tile keeps the tile and
   fixes a coordinate in the rest; parallelize keeps the rest and fixes a thread's coordinate in the
   tile. */
#include "layout_flat.h"

/* --- coordinates to slice with ----------------------------------------------------------------- */

static void build_any(CtBuild *b) { ct_build_leaf(b, ct_any(), ct_int(0)); }

/* `_` for a mode of one part, (_,...) for one of several, so that slicing unpacks its modes. */
static void build_keep(CtBuild *b, CtLayout mode) {
  int rank = ct_layout_rank(mode);
  if (rank == 1) {
    build_any(b);
    return;
  }
  ct_build_open(b);
  for (int i = 0; i < rank; i++) {
    build_any(b);
  }
  ct_build_close(b);
}

/* crd, with `_` for the modes that a tuple leaves out. */
static void build_padded(CtBuild *b, CtTuple crd, CtLayout mode) {
  int rank = ct_layout_rank(mode);
  if (ct_is_leaf(crd) || crd->rank >= rank) {
    ct_build_copy(b, crd, NULL);
    return;
  }
  ct_build_open(b);
  for (CtTuple c = ct_first(crd); c != ct_end(crd); c = ct_next(c)) {
    ct_build_copy(b, c, NULL);
  }
  for (int i = crd->rank; i < rank; i++) {
    build_any(b);
  }
  ct_build_close(b);
}

/* What is left to do: the slice of a divided layout at a coordinate. */
typedef struct Cut {
  CtLayout of;
  CtTuple crd;
} Cut;

/* Fixes crd in mode `fixed` (0 or 1) of a zipped layout and unpacks the other mode. */
static CtStatus cut_zipped(const CtCx *cx, const char *op, CtLayout zipped, int fixed, CtTuple crd,
                           Cut *out, CtErr *err) {
  CtBuild b;
  CtLayout mode = ct_mode(zipped, fixed);
  if (!ct_is_leaf(crd) && crd->rank > ct_layout_rank(mode)) {
    return ct_fail(
        err, CT_EINVAL,
        "%s: coordinate %s has rank %d but there are %d modes of tiles, %s; give at most "
        "one entry per mode",
        op, ct_show_tuple(cx, crd), crd->rank, ct_layout_rank(mode), ct_show_tuple(cx, mode.shape));
  }
  ct_build_init(&b, cx->arena, op, false, err);
  ct_build_open(&b);
  for (int i = 0; i < 2; i++) {
    if (i == fixed) {
      build_padded(&b, crd, mode);
    } else {
      build_keep(&b, ct_mode(zipped, i));
    }
  }
  ct_build_close(&b);
  out->of = zipped;
  return ct_build_finish(&b, &out->crd, NULL);
}

/* --- projection -------------------------------------------------------------------------------- */

/* The items of t under the integers of proj. */
static CtStatus dice_tiler(const CtCx *cx, CtTuple proj, CtTiler *t, CtErr *err) {
  if (proj == NULL || (ct_is_leaf(proj) && proj->i.kind != CT_ANY)) {
    return CT_OK;
  }
  if (ct_is_leaf(proj) || t->kind != CT_TILER_TUPLE || proj->rank != t->n) {
    return ct_fail(err, CT_EINVAL,
                   "tile: projection %s does not fit tiler %s; give 1 or '_' for each tile size",
                   ct_show_tuple(cx, proj), ct_show_tiler(cx, *t));
  }
  CtTiler *items = ct_arena_alloc(cx->arena, (size_t)t->n * sizeof *items);
  if (items == NULL) {
    return ct_fail_nomem(err);
  }
  int n = 0;
  for (int i = 0; i < t->n; i++) {
    CtTuple p = ct_child(proj, i);
    if (!ct_is_leaf(p)) {
      return ct_fail(err, CT_EINVAL, "tile: projection %s is nested; give 1 or '_' for each mode",
                     ct_show_tuple(cx, proj));
    }
    if (p->i.kind != CT_ANY) {
      items[n++] = t->items[i];
    }
  }
  t->items = items;
  t->n = n;
  return CT_OK;
}

static CtStatus dice_crd(const CtCx *cx, CtTuple proj, CtTuple *crd, CtErr *err) {
  if (proj == NULL || (ct_is_leaf(proj) && proj->i.kind != CT_ANY)) {
    return CT_OK;
  }
  if (ct_is_leaf(*crd) || (*crd)->rank != proj->rank) {
    return ct_fail(err, CT_EINVAL,
                   "tile: projection %s does not fit coordinate %s; give 1 or '_' for each entry",
                   ct_show_tuple(cx, proj), ct_show_tuple(cx, *crd));
  }
  return ct_dice_tuple(cx, proj, *crd, crd, err);
}

/* --- tile -------------------------------------------------------------------------------------- */

static CtStatus cut_tile(const CtCx *cx, CtLayout a, CtTiler tiler, CtTuple crd, CtTuple proj,
                         Cut *out, CtErr *err) {
  CtLayout zipped;
  CtStatus st = dice_tiler(cx, proj, &tiler, err);
  if (st == CT_OK) {
    st = dice_crd(cx, proj, &crd, err);
  }
  if (st == CT_OK) {
    st = ct_zipped_divide_as(cx, "tile", a, tiler, &zipped, err);
  }
  return st == CT_OK ? cut_zipped(cx, "tile", zipped, 1, crd, out, err) : st;
}

CtStatus ct_tile(const CtCx *cx, CtLayout a, CtTiler tiler, CtTuple crd, CtTuple proj,
                 CtLayout *out, CtInt *offset, CtErr *err) {
  Cut cut;
  CtStatus st = cut_tile(cx, a, tiler, crd, proj, &cut, err);
  return st == CT_OK ? ct_slice(cx, cut.crd, cut.of, out, offset, err) : st;
}

CtStatus ct_tile_at(const CtCx *cx, CtLayout a, CtTiler tiler, CtTuple crd, CtTuple proj,
                    CtLayout *out, CtTuple *offset, CtErr *err) {
  Cut cut;
  CtStatus st = cut_tile(cx, a, tiler, crd, proj, &cut, err);
  return st == CT_OK ? ct_slice_at(cx, cut.crd, cut.of, out, offset, err) : st;
}

/* --- parallelize ------------------------------------------------------------------------------- */

/* thr without the modes under `_`. */
static CtStatus dice_threads(const CtCx *cx, CtTuple proj, CtLayout *thr, CtErr *err) {
  if (proj == NULL) {
    return CT_OK;
  }
  bool fits = ct_is_leaf(proj) ? proj->i.kind != CT_ANY
                               : !ct_is_leaf(thr->shape) && proj->rank == thr->shape->rank;
  if (!fits) {
    return ct_fail(err, CT_EINVAL,
                   "parallelize: projection %s does not fit thread layout %s; give 1 or '_' for "
                   "each mode",
                   ct_show_tuple(cx, proj), ct_show_layout(cx, *thr));
  }
  return ct_dice(cx, proj, *thr, thr, err);
}

/* The tile that the threads cover: the size of each mode of thr. */
static CtStatus thread_tiler(const CtCx *cx, CtLayout thr, CtTiler *out, CtErr *err) {
  CtBuild b;
  CtTuple sizes;
  ct_build_init(&b, cx->arena, "parallelize", false, err);
  ct_build_open(&b);
  for (int i = 0; i < ct_layout_rank(thr); i++) {
    CtInt size;
    CtStatus st = ct_size(cx, ct_mode(thr, i), &size, err);
    if (st != CT_OK) {
      return st;
    }
    ct_build_leaf(&b, size, ct_int(0));
  }
  ct_build_close(&b);
  CtStatus st = ct_build_finish(&b, &sizes, NULL);
  return st == CT_OK ? ct_tiler_from_tuple(cx->arena, sizes, out, err) : st;
}

/* (idx / stride) % extent. The remainder is left out where idx is known to stay within. */
static CtStatus digit(const CtCx *cx, CtInt idx, CtFlatMode m, CtInt *out, CtErr *err) {
  CtInt q;
  CtStatus st = ct_int_op(cx, CT_INT_DIV, idx, m.stride, &q, err);
  if (st != CT_OK) {
    return st;
  }
  CtFacts of_idx = ct_int_facts(cx, idx);
  bool within = ct_is_static(m.stride) && ct_is_static(m.shape) && of_idx.lo >= 0 &&
                of_idx.hi / m.stride.v < m.shape.v;
  if (within) {
    *out = q;
    return CT_OK;
  }
  return ct_int_op(cx, CT_INT_MOD, q, m.shape, out, err);
}

/* *sum += the coordinate of thread idx in one mode of thr. Coalesced first: ((4,8)):((1,4)) needs
   one remainder, not two. */
static CtStatus mode_coordinate(const CtCx *cx, CtLayout thr, CtLayout mode, CtInt idx, CtInt *sum,
                                CtErr *err) {
  CtFlat f;
  CtInt weight = ct_int(1);
  ct_flat_init(&f);
  CtStatus st = ct_flat_push_layout(&f, cx, mode, false, err);
  for (int i = 0; st == CT_OK && i < f.n; i++) {
    CtInt d, part;
    if (ct_is_static(f.mode[i].stride) && f.mode[i].stride.v <= 0) {
      return ct_fail(err, CT_EINVAL,
                     "parallelize: stride %s in thread layout %s; expected strides > 0, which give "
                     "each thread its own place (use a projection to leave a mode out)",
                     ct_show_int(cx, f.mode[i].stride), ct_show_layout(cx, thr));
    }
    st = digit(cx, idx, f.mode[i], &d, err);
    if (st == CT_OK) {
      st = ct_int_op(cx, CT_INT_MUL, d, weight, &part, err);
    }
    if (st == CT_OK) {
      st = ct_int_op(cx, CT_INT_ADD, *sum, part, sum, err);
    }
    if (st == CT_OK && i < f.n - 1) {
      st = ct_int_op(cx, CT_INT_MUL, weight, f.mode[i].shape, &weight, err);
    }
  }
  return st;
}

/* The coordinate of thread idx: an integer per mode of thr, or one integer at rank 1. */
static CtStatus thread_coordinate(const CtCx *cx, CtLayout thr, CtInt idx, CtTuple *out,
                                  CtErr *err) {
  CtBuild b;
  int rank = ct_layout_rank(thr);
  ct_build_init(&b, cx->arena, "parallelize", false, err);
  if (rank != 1) {
    ct_build_open(&b);
  }
  for (int i = 0; i < rank; i++) {
    CtInt c = ct_int(0);
    CtStatus st = mode_coordinate(cx, thr, ct_mode(thr, i), idx, &c, err);
    if (st != CT_OK) {
      return st;
    }
    ct_build_leaf(&b, c, ct_int(0));
  }
  if (rank != 1) {
    ct_build_close(&b);
  }
  return ct_build_finish(&b, out, NULL);
}

static CtStatus cut_threads(const CtCx *cx, CtLayout a, CtLayout thr, CtInt idx, CtTuple proj,
                            Cut *out, CtErr *err) {
  CtTiler tiler;
  CtTuple crd;
  CtLayout zipped;
  CtStatus st = dice_threads(cx, proj, &thr, err);
  if (st == CT_OK) {
    st = thread_tiler(cx, thr, &tiler, err);
  }
  if (st == CT_OK) {
    st = thread_coordinate(cx, thr, idx, &crd, err);
  }
  if (st == CT_OK) {
    st = ct_zipped_divide_as(cx, "parallelize", a, tiler, &zipped, err);
  }
  return st == CT_OK ? cut_zipped(cx, "parallelize", zipped, 0, crd, out, err) : st;
}

CtStatus ct_parallelize(const CtCx *cx, CtLayout a, CtLayout thr, CtInt idx, CtTuple proj,
                        CtLayout *out, CtInt *offset, CtErr *err) {
  Cut cut;
  CtStatus st = cut_threads(cx, a, thr, idx, proj, &cut, err);
  return st == CT_OK ? ct_slice(cx, cut.crd, cut.of, out, offset, err) : st;
}

CtStatus ct_parallelize_at(const CtCx *cx, CtLayout a, CtLayout thr, CtInt idx, CtTuple proj,
                           CtLayout *out, CtTuple *offset, CtErr *err) {
  Cut cut;
  CtStatus st = cut_threads(cx, a, thr, idx, proj, &cut, err);
  return st == CT_OK ? ct_slice_at(cx, cut.crd, cut.of, out, offset, err) : st;
}

/* --- thread-value layouts ---------------------------------------------------------------------- */

/* (size(thr), size(val)), column-major. */
static CtStatus pair_of_sizes(const CtCx *cx, CtLayout thr, CtLayout val, CtLayout *out,
                              CtErr *err) {
  CtInt n[2];
  CtStatus st = ct_size(cx, thr, &n[0], err);
  if (st == CT_OK) {
    st = ct_size(cx, val, &n[1], err);
  }
  if (st != CT_OK) {
    return st;
  }
  CtTuple shape = ct_tuple_ints(cx->arena, 2, n);
  return shape == NULL ? ct_fail_nomem(err) : ct_layout_make(cx, shape, NULL, out, err);
}

static CtStatus mode_sizes(const CtCx *cx, CtLayout l, CtTuple *out, CtErr *err) {
  CtBuild b;
  ct_build_init(&b, cx->arena, "tv_layout", false, err);
  ct_build_open(&b);
  for (int i = 0; i < ct_layout_rank(l); i++) {
    CtInt size;
    CtStatus st = ct_size(cx, ct_mode(l, i), &size, err);
    if (st != CT_OK) {
      return st;
    }
    ct_build_leaf(&b, size, ct_int(0));
  }
  ct_build_close(&b);
  return ct_build_finish(&b, out, NULL);
}

CtStatus ct_tv_layout(const CtCx *cx, CtLayout thr, CtLayout val, CtLayout *tv, CtTuple *tiler,
                      CtErr *err) {
  CtLayout mn, inverse, sizes, result; /* mn: (m,n) -> thread and value number */
  CtTuple tile;
  CtStatus st = ct_raked_product(cx, thr, val, &mn, err);
  if (st == CT_OK) {
    st = ct_right_inverse(cx, mn, &inverse, err);
  }
  if (st == CT_OK) {
    st = pair_of_sizes(cx, thr, val, &sizes, err);
  }
  if (st == CT_OK) {
    st = ct_compose(cx, inverse, sizes, &result, err);
  }
  if (st == CT_OK) {
    st = mode_sizes(cx, mn, &tile, err);
  }
  if (st == CT_OK) {
    *tv = result;
    *tiler = tile;
  }
  return st;
}

/* ((thread, values), rest) */
static CtStatus compose_tile(const CtCx *cx, CtLayout zipped, CtLayout tv, CtLayout *out,
                             CtErr *err) {
  CtTiler items[2] = {{.kind = CT_TILER_LAYOUT, .layout = tv}, {.kind = CT_TILER_ANY}};
  return ct_composition(cx, zipped, (CtTiler){.kind = CT_TILER_TUPLE, .n = 2, .items = items}, out,
                        err);
}

CtStatus ct_tv_partition(const CtCx *cx, CtLayout a, CtTiler tiler, CtLayout tv, CtInt idx,
                         CtLayout *out, CtInt *offset, CtErr *err) {
  CtLayout l;
  CtNode crd[5] = {{.rank = 2, .len = 5},
                   {.rank = 2, .len = 3},
                   {.rank = CT_LEAF, .len = 1, .i = idx},
                   {.rank = CT_LEAF, .len = 1, .i = ct_any()},
                   {.rank = CT_LEAF, .len = 1, .i = ct_any()}};
  CtStatus st = ct_zipped_divide_as(cx, "tv_partition", a, tiler, &l, err);
  if (st == CT_OK) {
    st = compose_tile(cx, l, tv, &l, err);
  }
  return st == CT_OK ? ct_slice(cx, crd, l, out, offset, err) : st;
}
