/* partition.c: tile and parallelize: the parts of a layout that a block or a thread works on.

   Both divide by a tiler and sort the result into ((tiles...), (rests...)). tile keeps the tile and
   fixes a coordinate in the rest; parallelize keeps the rest and fixes a thread's coordinate in the
   tile. */
#include "layout_algebra.h"

/* --- coordinates to slice with ----------------------------------------------------------------- */

static void build_any(CtBuild *b, int n) {
  for (int i = 0; i < n; i++) {
    ct_build_int(b, ct_any());
  }
}

/* `_` for a mode that has one part, (_,...) for a mode with more, so that slicing unpacks its
   modes. */
static void build_keep(CtBuild *b, CtLayout mode) {
  int rank = ct_layout_rank(mode);
  if (rank != 1) {
    ct_build_open(b);
  }
  build_any(b, rank);
  if (rank != 1) {
    ct_build_close(b);
  }
}

/* crd, with `_` for the modes that a shorter tuple does not have. */
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
  build_any(b, rank - crd->rank);
  ct_build_close(b);
}

static void check_rank(CtAlg *g, const char *op, CtTuple crd, CtLayout mode) {
  int rank = ct_layout_rank(mode);
  if (!ct_is_leaf(crd) && crd->rank > rank) {
    al_fail(g, CT_EINVAL,
            "%s: coordinate %s has rank %d but there are %d modes of tiles, %s; write at most one "
            "entry per mode",
            op, al_show_tuple(g, crd), crd->rank, rank, al_show_tuple(g, mode.shape));
  }
}

/* Fixes crd in mode `fixed` (0 or 1) of a zipped layout and unpacks the other mode. */
static CtComposed cut_zipped(CtAlg *g, const char *op, CtComposed zipped, int fixed, CtTuple crd,
                             CtTuple *offset) {
  CtBuild b;
  CtLayout l = zipped.layout;
  ct_build_init(&b, g, op, false);
  ct_build_open(&b);
  if (al_ok(g)) {
    check_rank(g, op, crd, ct_mode(l, fixed));
  }
  for (int i = 0; al_ok(g) && i < 2; i++) {
    if (i == fixed) {
      build_padded(&b, crd, ct_mode(l, i));
    } else {
      build_keep(&b, ct_mode(l, i));
    }
  }
  ct_build_close(&b);
  return al_slice(g, ct_build_take(&b, 0), zipped, offset);
}

/* --- projection -------------------------------------------------------------------------------- */

static bool keeps_all(CtTuple proj) {
  return proj == NULL || (ct_is_leaf(proj) && proj->i.kind != CT_ANY);
}

CtTiler al_project_tiler(CtAlg *g, CtTuple proj, CtTiler t) {
  if (!al_ok(g) || keeps_all(proj)) {
    return t;
  }
  if (ct_is_leaf(proj) || t.kind != CT_TILER_TUPLE || proj->rank != t.n) {
    al_fail(g, CT_EINVAL,
            "tile: projection %s does not fit tiler %s; give 1 or '_' for each tile size",
            al_show_tuple(g, proj), al_show_tiler(g, t));
  }
  CtTiler *items = al_alloc(g, (size_t)t.n, sizeof *items);
  int n = 0;
  for (int i = 0; al_ok(g) && i < t.n; i++) {
    CtTuple p = ct_child(proj, i);
    if (!ct_is_leaf(p)) {
      al_fail(g, CT_EINVAL, "tile: projection %s is nested; give 1 or '_' for each mode",
              al_show_tuple(g, proj));
    } else if (p->i.kind != CT_ANY) {
      items[n++] = t.items[i];
    }
  }
  return (CtTiler){.kind = CT_TILER_TUPLE, .n = n, .items = items};
}

CtTuple al_project(CtAlg *g, CtTuple proj, CtTuple crd) {
  if (!al_ok(g) || keeps_all(proj)) {
    return crd;
  }
  if (ct_is_leaf(crd) || crd->rank != proj->rank) {
    al_fail(g, CT_EINVAL,
            "tile: projection %s does not fit coordinate %s; give 1 or '_' for each entry",
            al_show_tuple(g, proj), al_show_tuple(g, crd));
  }
  return al_keep_tuple(g, "dice", false, proj, crd);
}

CtLayout al_project_threads(CtAlg *g, CtTuple proj, CtLayout thr) {
  if (!al_ok(g) || proj == NULL) {
    return thr;
  }
  bool fits = ct_is_leaf(proj) ? proj->i.kind != CT_ANY
                               : !ct_is_leaf(thr.shape) && proj->rank == thr.shape->rank;
  if (!fits) {
    al_fail(g, CT_EINVAL,
            "parallelize: projection %s does not fit thread layout %s; give 1 or '_' for each mode",
            al_show_tuple(g, proj), al_show_layout(g, thr));
  }
  return al_keep(g, "dice", false, proj, thr);
}

/* --- tile -------------------------------------------------------------------------------------- */

CtComposed al_tile(CtAlg *g, CtComposed c, CtTiler tiler, CtTuple crd, CtTuple proj,
                   CtTuple *offset) {
  tiler = al_project_tiler(g, proj, tiler);
  crd = al_project(g, proj, crd);
  c.layout = al_zipped_divide_as(g, "tile", c.layout, tiler);
  return cut_zipped(g, "tile", c, 1, crd, offset);
}

/* --- parallelize ------------------------------------------------------------------------------- */

/* The size of each mode, as a tuple of rank ct_layout_rank(l). */
static CtTuple mode_sizes(CtAlg *g, const char *op, CtLayout l) {
  CtBuild b;
  ct_build_init(&b, g, op, false);
  ct_build_open(&b);
  for (int i = 0; al_ok(g) && i < ct_layout_rank(l); i++) {
    ct_build_int(&b, al_size(g, ct_mode(l, i)));
  }
  ct_build_close(&b);
  return ct_build_take(&b, 0);
}

CtTiler al_thread_tiler(CtAlg *g, CtLayout thr) {
  return al_tiler(g, mode_sizes(g, "parallelize", thr));
}

/* (idx / stride) % extent. Leaves out the remainder if idx is known to stay within. */
static CtInt digit(CtAlg *g, CtInt idx, CtFlatMode m) {
  CtInt q = al_div(g, idx, m.stride);
  CtFacts of_idx = ct_int_facts(&g->cx, idx);
  bool within = ct_is_static(m.stride) && ct_is_static(m.shape) && of_idx.lo >= 0 && al_ok(g) &&
                of_idx.hi / m.stride.v < m.shape.v;
  return within ? q : al_mod(g, q, m.shape);
}

/* The coordinate of thread idx in one mode of thr. Coalesces the mode first: ((4,8)):((1,4)) then
   needs one remainder, not two. */
static CtInt mode_coordinate(CtAlg *g, CtLayout thr, CtLayout mode, CtInt idx) {
  CtFlat f;
  CtInt weight = ct_int(1), sum = ct_int(0);
  ct_flat_init(&f, g);
  ct_flat_push_layout(&f, mode, false);
  for (int i = 0; al_ok(g) && i < f.n; i++) {
    CtFlatMode m = f.mode[i];
    if (ct_is_static(m.stride) && m.stride.v <= 0) {
      al_fail(g, CT_EINVAL,
              "parallelize: stride %s in thread layout %s; expected strides > 0, which give each "
              "thread its own place (use a projection to leave a mode out)",
              al_show_int(g, m.stride), al_show_layout(g, thr));
    }
    sum = al_add(g, sum, al_mul(g, digit(g, idx, m), weight));
    weight = i < f.n - 1 ? al_mul(g, weight, m.shape) : weight;
  }
  return sum;
}

/* A thread finds its coordinate by division and remainder. That needs strides which are multiples of what the modes of
   smaller ones take: else threads share elements, and some elements have no thread. */
static void check_digits(CtAlg *g, CtLayout thr) {
  CtFlat f;
  ct_flat_init(&f, g);
  ct_flat_push_layout(&f, thr, false);
  for (int i = 0; al_ok(g) && i < f.n; i++) {
    for (int j = 0; al_ok(g) && j < f.n; j++) {
      CtFlatMode low = f.mode[i], high = f.mode[j];
      int64_t reach;
      bool are_known = ct_is_static(low.shape) && ct_is_static(low.stride) &&
                       ct_is_static(high.shape) && ct_is_static(high.stride) && i != j;
      if (are_known && low.shape.v > 1 && high.shape.v > 1 && low.stride.v > 0 &&
          low.stride.v <= high.stride.v && !ct_mul_overflow(low.shape.v, low.stride.v, &reach) &&
          high.stride.v % reach != 0) {
        al_fail(g, CT_EINVAL,
                "parallelize: in thread layout %s, modes %lld:%lld and %lld:%lld overlap: threads "
                "would share elements, and others would have no thread; each stride must be a "
                "multiple of shape * stride of every mode with a smaller one",
                al_show_layout(g, thr), (long long)low.shape.v, (long long)low.stride.v,
                (long long)high.shape.v, (long long)high.stride.v);
      }
    }
  }
}

/* The coordinate of thread idx: an integer for each mode of thr, or one integer if the rank is
   1. */
static CtTuple thread_coordinate(CtAlg *g, CtLayout thr, CtInt idx) {
  CtBuild b;
  int rank = al_ok(g) ? ct_layout_rank(thr) : 0;
  ct_build_init(&b, g, "parallelize", false);
  if (rank != 1) {
    ct_build_open(&b);
  }
  for (int i = 0; i < rank; i++) {
    ct_build_int(&b, mode_coordinate(g, thr, ct_mode(thr, i), idx));
  }
  if (rank != 1) {
    ct_build_close(&b);
  }
  return ct_build_take(&b, 0);
}

CtComposed al_parallelize(CtAlg *g, CtComposed c, CtLayout thr, CtInt idx, CtTuple proj,
                          CtTuple *offset) {
  thr = al_project_threads(g, proj, thr);
  check_digits(g, thr);
  CtTiler tiler = al_thread_tiler(g, thr);
  CtTuple crd = thread_coordinate(g, thr, idx);
  c.layout = al_zipped_divide_as(g, "parallelize", c.layout, tiler);
  return cut_zipped(g, "parallelize", c, 0, crd, offset);
}

/* --- thread-value layouts ---------------------------------------------------------------------- */

CtLayout al_tv_layout(CtAlg *g, CtLayout thr, CtLayout val, CtTuple *tiler) {
  CtLayout mn = al_raked_product(g, thr, val); /* (m,n) -> thread and value number */
  CtLayout inverse = al_plain_right_inverse(g, mn);
  CtInt threads = al_size(g, thr), values = al_size(g, val);
  CtTuple sizes = al_ints(g, 2, (CtInt[]){threads, values});
  CtLayout tv = al_plain_compose(g, inverse, al_layout(g, sizes, NULL));
  *tiler = mode_sizes(g, "tv_layout", mn);
  return tv;
}

CtComposed al_tv_partition(CtAlg *g, CtComposed c, CtTiler tiler, CtLayout tv, CtInt idx,
                           CtTuple *offset) {
  CtTiler items[2] = {{.kind = CT_TILER_LAYOUT, .layout = tv}, {.kind = CT_TILER_ANY}};
  CtNode crd[5] = {{.rank = 2, .len = 5},
                   {.rank = 2, .len = 3},
                   {.rank = CT_LEAF, .len = 1, .i = idx},
                   {.rank = CT_LEAF, .len = 1, .i = ct_any()},
                   {.rank = CT_LEAF, .len = 1, .i = ct_any()}};
  CtLayout zipped = al_zipped_divide_as(g, "tv_partition", c.layout, tiler);
  c.layout = al_composition(g, zipped, (CtTiler){.kind = CT_TILER_TUPLE, .n = 2, .items = items});
  return al_slice(g, crd, c, offset);
}
