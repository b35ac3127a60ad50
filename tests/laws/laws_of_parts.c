/* laws_of_parts.c: divisibility, tiles, the elements of a thread, thread-value layouts. */
#include <string.h>

#include "law.h"

/* --- divisibility --------------------------------------------------------------------------------- */

static void make_by_ints(Rng *r, CtArena *a, Case *c) {
  CtInt n[8];
  c->a = random_layout(r, a, 400);
  int rank = ct_layout_rank(c->a);
  for (int i = 0; i < rank; i++) {
    int64_t size = (int64_t)size_of(ct_child(c->a.shape, i));
    n[i] = ct_int(rng_chance(r, 80) ? random_divisor(r, size) : 1 + rng_below(r, 9));
  }
  c->s = ct_tuple_ints(a, rank, n);
  CtStatus st = ct_tiler_from_tuple(a, c->s, &c->t, NULL);
  c->t.kind = st == CT_OK ? c->t.kind : CT_TILER_ANY;
}

/* n steps of 1 fill extents from the left: whole ones, and the last by a part that divides it. */
static bool fills_evenly(CtTuple shape, int64_t n) {
  for (uint32_t i = 0; i < shape->len; i++) {
    int64_t extent = ct_is_leaf(&shape[i]) ? shape[i].i.v : 1;
    if (extent % n != 0 && n % extent != 0) {
      return false;
    }
    n = n > extent && extent > 0 ? n / extent : 1;
  }
  return n == 1;
}

/* Of a nested mode only what does fill it is certain: CuTe compares sizes that are rounded up. */
static Verdict check_evenly_divides(Run *run, const Case *c) {
  bool got, fills = true, flat = true;
  for (int i = 0; i < ct_layout_rank(c->a); i++) {
    CtTuple mode = ct_child(c->a.shape, i);
    fills = fills && fills_evenly(mode, ct_child(c->s, i)->i.v);
    flat = flat && ct_is_leaf(mode);
  }
  CtStatus st = ct_evenly_divides(&run->cx, c->a.shape, c->t, &got, &run->err);
  if (st != CT_OK) {
    return refused(run, c, st);
  }
  return got == fills || (got && !flat) ? HOLDS : broken(run, "it is %d", got);
}

/* --- tile and parallelize ------------------------------------------------------------------------- */

static void make_tile(Rng *r, CtArena *a, Case *c) {
  CtInt crd[8];
  make_by_ints(r, a, c);
  int rank = ct_layout_rank(c->a);
  for (int i = 0; i < rank; i++) {
    int64_t n = ct_child(c->s, i)->i.v, size = (int64_t)size_of(ct_child(c->a.shape, i));
    crd[i] = ct_int(rng_below(r, size / n));
  }
  c->c = ct_tuple_ints(a, rank, crd);
}

/* Element c of the tile at t is A's element t * n + c, mode by mode. */
static Verdict check_tile(Run *run, const Case *c) {
  CtLayout r;
  CtInt offset;
  CtStatus st = ct_tile(&run->cx, c->a, c->t, c->c, NULL, &r, &offset, &run->err);
  if (st != CT_OK) {
    return refused(run, c, st);
  }
  int rank = ct_layout_rank(c->a);
  if (ct_layout_rank(r) != rank || !refines(r.shape, c->s)) {
    return broken(run, "not of the tile's shape");
  }
  Wide n = size_of(c->s);
  for (int k = 0; k < n_points(n); k++) {
    Wide i = point(n, k), left = i, crd[8];
    for (int m = 0; m < rank; m++) {
      int64_t extent = ct_child(c->s, m)->i.v;
      crd[m] = ct_child(c->c, m)->i.v * extent + left % extent;
      left /= extent;
    }
    Wide got = offset.v + at(r, i), want = sum_at(c->a, crd);
    if (got != want) {
      return broken(run, "element %lld is %lld, not %lld", (long long)i, (long long)got,
                    (long long)want);
    }
  }
  return HOLDS;
}

/* A compact layout of threads over the modes of a. */
static void make_threads(Rng *r, CtArena *a, Case *c) {
  make_by_ints(r, a, c);
  int64_t d = 1;
  CtNode *stride = ct_arena_alloc(a, c->s->len * sizeof *stride);
  bool row = rng_chance(r, 50);
  memcpy(stride, c->s, c->s->len * sizeof *stride);
  for (int i = 0; i < c->s->rank; i++) {
    int k = 1 + (row ? c->s->rank - 1 - i : i);
    stride[k].i = ct_int(d);
    d *= c->s[k].i.v;
  }
  c->b = (CtLayout){c->s, stride};
  c->n = rng_below(r, d);
}

/* Element k of thread n, which stands at t in the layout of threads, is A's element k * shape + t. */
static Verdict check_parallelize(Run *run, const Case *c) {
  CtLayout r;
  CtInt offset;
  CtStatus st = ct_parallelize(&run->cx, c->a, c->b, ct_int(c->n), NULL, &r, &offset, &run->err);
  if (st != CT_OK) {
    return refused(run, c, st);
  }
  int rank = ct_layout_rank(c->a);
  Wide elements = 1, count[8], crd[8];
  for (int m = 0; m < rank; m++) {
    int64_t extent = ct_child(c->s, m)->i.v;
    if (size_of(ct_child(c->a.shape, m)) % extent != 0) {
      return VACUOUS; /* the last tile overhangs */
    }
    count[m] = size_of(ct_child(c->a.shape, m)) / extent;
    elements *= count[m];
  }
  if (size_of(r.shape) != elements) {
    return broken(run, "a thread has %lld elements", (long long)size_of(r.shape));
  }
  for (int k = 0; k < n_points(elements); k++) {
    Wide i = point(elements, k), left = i;
    for (int m = 0; m < rank; m++) {
      int64_t extent = ct_child(c->s, m)->i.v, d = ct_child(c->b.stride, m)->i.v;
      crd[m] = left % count[m] * extent + c->n / d % extent;
      left /= count[m];
    }
    Wide got = offset.v + at(r, i), want = sum_at(c->a, crd);
    if (got != want) {
      return broken(run, "element %lld is %lld, not %lld", (long long)i, (long long)got,
                    (long long)want);
    }
  }
  return HOLDS;
}

static void make_tv(Rng *r, CtArena *a, Case *c) {
  c->a = random_compact(r, a, 32);
  c->b = random_compact(r, a, 16);
}

/* raked_product(thr, val) counts the values of a thread after all threads: at the place that (t, v)
   is sent to, it is t + v * threads. */
static Verdict check_tv(Run *run, const Case *c) {
  CtLayout r, raked;
  CtTuple tiler;
  CtStatus st = ct_tv_layout(&run->cx, c->a, c->b, &r, &tiler, &run->err);
  if (st != CT_OK || ct_raked_product(&run->cx, c->a, c->b, &raked, &run->err) != CT_OK) {
    return refused(run, c, CT_EINVAL);
  }
  Wide n = size_of(c->a.shape) * size_of(c->b.shape);
  Fn f = fn_of(r), g = fn_of(raked);
  if (size_of(r.shape) != n || size_of(tiler) != n || ct_layout_rank(r) != 2) {
    return broken(run, "of size %lld in a tile of %lld", (long long)size_of(r.shape),
                  (long long)size_of(tiler));
  }
  for (int k = 0; k < n_points(n); k++) {
    Wide i = point(n, k), place = fn_at(&f, i);
    if (place < 0 || place >= n || fn_at(&g, place) != i) {
      return broken(run, "thread-value %lld is at %lld", (long long)i, (long long)place);
    }
  }
  return HOLDS;
}

const Law laws_of_parts[] = {
    {"evenly_divides", "evenly_divides(shape($a), $s)", make_by_ints, check_evenly_divides, false},
    {"tile", "slice of zipped_divide($a, $s) at tile $c", make_tile, check_tile, false},
    {"parallelize", "parallelize of $a by the threads $b, thread $n", make_threads,
     check_parallelize, false},
    {"tv_layout", "tv_layout($a, $b)", make_tv, check_tv, false},
    {0},
};
