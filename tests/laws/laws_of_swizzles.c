/* laws_of_swizzles.c: swizzles, layouts under them, and strides that are coordinates. */
#include <string.h>

#include "law.h"

/* --- swizzles ----------------------------------------------------------------------------------- */

static CtSwizzle random_swizzle(Rng *r) {
  int bits = (int)rng_below(r, 4), base = (int)rng_below(r, 5);
  int shift = bits + (int)rng_below(r, 4);
  shift = rng_chance(r, 25) ? -shift : shift;
  return (CtSwizzle){(int8_t)bits, (int8_t)base, (int8_t)shift};
}

/* x with bit M + k changed by bit M + S + k; for S < 0 the other way round. */
static int64_t swizzled(CtSwizzle sw, int64_t x) {
  int distance = sw.shift < 0 ? -sw.shift : sw.shift;
  int64_t y = x;
  for (int k = 0; k < sw.bits; k++) {
    int low = sw.base + k, high = low + distance;
    int from = sw.shift < 0 ? low : high, to = sw.shift < 0 ? high : low;
    y ^= (x >> from & 1) << to;
  }
  return y;
}

static void make_swizzle(Rng *r, CtArena *a, Case *c) {
  (void)a;
  c->x.swizzle = random_swizzle(r);
  c->y.swizzle = random_swizzle(r);
  if (rng_chance(r, 60)) {
    c->y.swizzle.shift = c->x.swizzle.shift;
    c->y.swizzle.bits = c->x.swizzle.bits;
  }
  c->x.is_swizzled = c->y.is_swizzled = true;
  c->n = (int64_t)1 << rng_below(r, 4);
}

enum { SWIZZLE_POINTS = 256 };

/* Small numbers, and any up to 2^61. */
static int64_t swizzle_point(int k) {
  Rng r = {(uint64_t)k};
  return k < SWIZZLE_POINTS / 2 ? k : (int64_t)(rng_next(&r) >> (3 + k % 40));
}

static Verdict check_swizzle(Run *run, const Case *c) {
  CtSwizzle sw = c->x.swizzle, back;
  for (int k = 0; k < SWIZZLE_POINTS; k++) {
    int64_t x = swizzle_point(k), y = ct_swizzle_at(sw, x);
    if (y != swizzled(sw, x) || ct_swizzle_at(sw, y) != x) {
      return broken(run, "of %lld it is %lld, of that %lld", (long long)x, (long long)y,
                    (long long)ct_swizzle_at(sw, y));
    }
  }
  CtStatus st =
      ct_swizzle_from_masks((int64_t)ct_swizzle_y(sw), (int64_t)ct_swizzle_z(sw), &back, &run->err);
  return st == CT_OK && (sw.bits == 0 || ct_swizzle_equal(sw, back))
             ? HOLDS
             : broken(run, "its masks make another swizzle");
}

static Verdict check_swizzle_compose(Run *run, const Case *c) {
  CtSwizzle a = c->x.swizzle, b = c->y.swizzle, r;
  CtStatus st = ct_swizzle_compose(a, b, &r, &run->err);
  if (st != CT_OK) {
    return refused(run, c, st);
  }
  for (int k = 0; k < SWIZZLE_POINTS; k++) {
    int64_t x = swizzle_point(k);
    if (swizzled(r, x) != swizzled(a, swizzled(b, x))) {
      return broken(run, "differs at %lld", (long long)x);
    }
  }
  return HOLDS;
}

/* Larger elements: U(x) = Sw(x * n) / n. Smaller ones: D(x * n + r) = Sw(x) * n + r. */
static Verdict check_swizzle_casts(Run *run, const Case *c) {
  CtSwizzle up, down, sw = c->x.swizzle;
  CtStatus st = ct_swizzle_upcast(sw, c->n, &up, &run->err);
  if (st == CT_OK) {
    st = ct_swizzle_downcast(sw, c->n, &down, &run->err);
  }
  if (st != CT_OK) {
    return refused(run, c, st);
  }
  for (int k = 0; k < SWIZZLE_POINTS; k++) {
    int64_t x = swizzle_point(k) >> 4, r = k % c->n;
    if (swizzled(up, x) != swizzled(sw, x * c->n) / c->n ||
        swizzled(down, x * c->n + r) != swizzled(sw, x) * c->n + r) {
      return broken(run, "differs at %lld", (long long)x);
    }
  }
  return HOLDS;
}

/* --- layouts under a swizzle -------------------------------------------------------------------- */

static CtComposed random_composed(Rng *r, CtArena *a, int64_t max) {
  int kind = (int)rng_below(r, 10);
  CtComposed c = {.is_swizzled = true, .offset = ct_int(0)};
  c.layout = kind < 4   ? random_bits(r, a)
             : kind < 8 ? random_compact(r, a, max)
                        : random_layout(r, a, max);
  c.swizzle = random_swizzle(r);
  c.swizzle.bits = (int8_t)(c.swizzle.bits == 0 ? 1 : c.swizzle.bits);
  c.swizzle.shift = (int8_t)(c.swizzle.shift == 0 ? 1 : c.swizzle.shift);
  if (rng_chance(r, 40)) {
    c.offset = ct_int(rng_below(r, 16) << rng_below(r, 4));
  }
  return c;
}

static bool in_range(const CtComposed *c) {
  Fn f = fn_of(c->layout);
  Wide last = fn_size(&f) == 0 ? 0 : fn_at(&f, fn_size(&f) - 1);
  return !fn_has_negative(&f) && last < ((Wide)1 << 60);
}

static Wide composed_at(const CtComposed *c, Wide i) {
  Wide x = c->offset.v + at(c->layout, i);
  return c->is_swizzled ? swizzled(c->swizzle, (int64_t)x) : x;
}

static void make_composed(Rng *r, CtArena *a, Case *c) {
  c->x = random_composed(r, a, 256);
  c->c = random_coord(r, a, c->x.layout.shape, 35);
  c->n = (int64_t)1 << rng_below(r, 4);
}

static Verdict check_composed_value(Run *run, const Case *c) {
  Wide n = size_of(c->x.layout.shape);
  if (!in_range(&c->x)) {
    return VACUOUS;
  }
  for (int k = 0; k < n_points(n); k++) {
    Wide i = point(n, k), want = composed_at(&c->x, i);
    CtInt got;
    CtNode leaf = {.rank = CT_LEAF, .len = 1, .i = ct_int((int64_t)i)};
    CtStatus st = ct_composed_crd2idx(&run->cx, &leaf, &c->x, &got, &run->err);
    if (st != CT_OK || got.v != want || ct_composed_at(&c->x, (int64_t)i) != want) {
      return broken(run, "at %lld it is not %lld", (long long)i, (long long)want);
    }
  }
  return HOLDS;
}

static Verdict check_composed_cosize(Run *run, const Case *c) {
  CtInt got;
  Wide n = size_of(c->x.layout.shape), most = -1;
  if (!in_range(&c->x) || n > ALL_POINTS) {
    return VACUOUS;
  }
  CtStatus st = ct_composed_cosize(&run->cx, &c->x, &got, &run->err);
  if (st != CT_OK) {
    return refused(run, c, st);
  }
  for (int64_t i = 0; i < n; i++) {
    most = composed_at(&c->x, i) > most ? composed_at(&c->x, i) : most;
  }
  return got.v == most + 1 ? HOLDS
                           : broken(run, "%lld, not %lld", (long long)got.v, (long long)most + 1);
}

/* The coordinate `crd` with a random index for each `_`: the index of the layout; what the slice's
   kept modes add to its offset. */
typedef struct Sliced {
  Rng r;
  CtLayout slice;
  bool whole;
  int at;
  Wide kept, full;
} Sliced;

static void add_parts(Sliced *s, CtTuple crd, CtLayout l) {
  int i = 0;
  if (!ct_is_leaf(crd)) {
    for (CtTuple c = ct_first(crd); c != ct_end(crd); c = ct_next(c)) {
      add_parts(s, c, ct_mode(l, i++));
    }
  } else if (crd->i.kind != CT_ANY) {
    s->full += at(l, crd->i.v);
  } else {
    Wide n = size_of(l.shape), x = n > 0 ? (Wide)(rng_next(&s->r) >> 1) % n : 0;
    s->full += at(l, x);
    s->kept += at(s->whole ? s->slice : ct_mode(s->slice, s->at), x);
    s->at++;
  }
}

static Verdict check_composed_slice(Run *run, const Case *c) {
  CtComposed r;
  CtTuple offset = NULL;
  if (!in_range(&c->x)) {
    return VACUOUS;
  }
  CtStatus st = ct_composed_slice(&run->cx, c->c, &c->x, &r, &offset, &run->err);
  if (st != CT_OK) {
    return refused(run, c, st);
  }
  for (int k = 0; k < 20; k++) {
    Sliced s = {.r = {(uint64_t)k}, .slice = r.layout, .whole = ct_is_leaf(c->c)};
    add_parts(&s, c->c, c->x.layout);
    Wide want = swizzled(c->x.swizzle, (int64_t)(c->x.offset.v + s.full));
    Wide got = offset->i.v + swizzled(r.swizzle, (int64_t)(r.offset.v + s.kept));
    if (got != want || !r.is_swizzled) {
      return broken(run, "%lld, not %lld", (long long)got, (long long)want);
    }
  }
  return HOLDS;
}

/* A's modes of stride 1 are n times longer: at the coordinate with those digits n * c + r the value
   is n * A(c) + r. */
static Verdict check_composed_downcast(Run *run, const Case *c) {
  CtComposed r;
  Fn f = fn_of(c->x.layout);
  int n_adjacent = 0;
  for (int i = 0; i < f.n; i++) {
    n_adjacent += f.stride[i] == 1 ? 1 : f.stride[i] == -1 ? 2 : 0; /* -1 runs out of range */
  }
  CtStatus st = ct_composed_downcast(&run->cx, &c->x, c->n, &r, &run->err);
  if (st != CT_OK) {
    return refused(run, c, st);
  }
  if (!in_range(&c->x) || n_adjacent != 1) {
    return VACUOUS;
  }
  Fn g = fn_of(r.layout);
  Wide size = fn_size(&g);
  for (int k = 0; k < n_points(size); k++) {
    Wide i = point(size, k), left = i, old = 0, part = 0, weight = 1;
    for (int j = 0; j < f.n; j++) {
      Wide digit = left % g.shape[j];
      left /= g.shape[j];
      part += f.stride[j] == 1 ? digit % c->n : 0;
      old += (f.stride[j] == 1 ? digit / c->n : digit) * weight;
      weight *= f.shape[j];
    }
    if (composed_at(&r, i) != composed_at(&c->x, old) * c->n + part) {
      return broken(run, "at %lld it is %lld", (long long)i, (long long)composed_at(&r, i));
    }
  }
  return HOLDS;
}

/* Sw after C. */
static void make_after(Rng *r, CtArena *a, Case *c) {
  make_composed(r, a, c);
  c->y.swizzle = random_swizzle(r);
  c->y.is_swizzled = true;
  if (rng_chance(r, 60)) {
    c->y.swizzle.shift = c->x.swizzle.shift;
    c->y.swizzle.bits = (int8_t)ct_min(c->y.swizzle.bits, c->x.swizzle.bits);
  }
}

static Verdict same_composed(Run *run, const CtComposed *r, const CtComposed *a,
                             const CtComposed *b, Wide n) {
  for (int k = 0; k < n_points(n); k++) {
    Wide i = point(n, k), x = composed_at(b, i);
    Wide want = a->layout.shape == NULL ? swizzled(a->swizzle, (int64_t)x) : composed_at(a, x);
    if (composed_at(r, i) != want) {
      return broken(run, "at %lld it is %lld, not %lld", (long long)i, (long long)composed_at(r, i),
                    (long long)want);
    }
  }
  return HOLDS;
}

static Verdict check_after(Run *run, const Case *c) {
  CtComposed r;
  CtStatus st = ct_composed_swizzle(&run->cx, c->y.swizzle, &c->x, &r, &run->err);
  if (st != CT_OK) {
    return refused(run, c, st);
  }
  return in_range(&c->x) ? same_composed(run, &r, &c->y, &c->x, size_of(c->x.layout.shape))
                         : VACUOUS;
}

/* A after B, each swizzled or not. */
static void make_pair(Rng *r, CtArena *a, Case *c) {
  int kind = (int)rng_below(r, 3);
  c->x = random_composed(r, a, 256);
  c->y = random_composed(r, a, 64);
  if (kind != 0) {
    c->y.layout = random_fitting(r, a, c->x.layout);
  }
  if (kind == 1) {
    c->y = ct_composed_plain(c->y.layout);
  } else if (rng_chance(r, 80)) {
    c->x = ct_composed_plain(c->x.layout);
  }
}

static Verdict check_composed_compose(Run *run, const Case *c) {
  CtComposed r;
  CtStatus st = ct_composed_compose(&run->cx, &c->x, &c->y, &r, &run->err);
  if (st != CT_OK) {
    return refused(run, c, st);
  }
  if (!in_range(&c->x) || !in_range(&c->y)) {
    return VACUOUS;
  }
  if (!refines(r.layout.shape, c->y.layout.shape)) {
    return broken(run, "the shape does not refine that of B");
  }
  return same_composed(run, &r, &c->x, &c->y, size_of(c->y.layout.shape));
}

static void make_inverse(Rng *r, CtArena *a, Case *c) {
  make_composed(r, a, c);
  c->x.offset = ct_int(rng_chance(r, 90) ? 0 : 8);
}

static Verdict check_composed_right(Run *run, const Case *c) {
  CtComposed r;
  CtStatus st = ct_composed_right_inverse(&run->cx, &c->x, &r, &run->err);
  if (st != CT_OK) {
    return refused(run, c, st);
  }
  Wide n = size_of(r.layout.shape);
  for (int k = 0; k < n_points(n) && in_range(&c->x); k++) {
    Wide i = point(n, k), back = composed_at(&c->x, composed_at(&r, i));
    if (back != i) {
      return broken(run, "C(R(%lld)) = %lld", (long long)i, (long long)back);
    }
  }
  return HOLDS;
}

static Verdict check_composed_left(Run *run, const Case *c) {
  CtComposed r;
  Fn f = fn_of(c->x.layout), m = fn_moving(&f);
  CtStatus st = ct_composed_left_inverse(&run->cx, &c->x, &r, &run->err);
  if (st != CT_OK) {
    return refused(run, c, st);
  }
  Wide n = fn_size(&f);
  bool moves = fn_size(&m) == n;
  for (int k = 0; k < n_points(n) && in_range(&c->x); k++) {
    Wide i = point(n, k), back = composed_at(&r, composed_at(&c->x, i));
    if ((moves && back != i) || composed_at(&c->x, back) != composed_at(&c->x, i)) {
      return broken(run, "L(C(%lld)) = %lld", (long long)i, (long long)back);
    }
  }
  return HOLDS;
}

/* The common elements lie one after another in both. */
static Verdict check_composed_common(Run *run, const Case *c) {
  CtLayout r;
  int64_t n;
  CtStatus st = ct_composed_max_common_vector(&run->cx, &c->x, &c->y, &n, &run->err);
  if (st == CT_OK) {
    st = ct_composed_max_common_layout(&run->cx, &c->x, &c->y, &r, &run->err);
  }
  if (st != CT_OK) {
    return refused(run, c, st);
  }
  if (!in_range(&c->x) || !in_range(&c->y)) {
    return VACUOUS;
  }
  if (size_of(r.shape) != n) {
    return broken(run, "%lld elements in a layout of %lld", (long long)n,
                  (long long)size_of(r.shape));
  }
  for (int64_t i = 0; i < n && n <= ALL_POINTS; i++) {
    Wide k = at(r, i), first = at(r, 0);
    if (composed_at(&c->x, k) - composed_at(&c->x, first) != i ||
        composed_at(&c->y, k) - composed_at(&c->y, first) != i) {
      return broken(run, "element %lld is elsewhere", (long long)i);
    }
  }
  return HOLDS;
}

static void make_common_pair(Rng *r, CtArena *a, Case *c) {
  c->x = random_composed(r, a, 256);
  c->y = ct_composed_plain(rng_chance(r, 60) ? c->x.layout : random_layout(r, a, 256));
}

static Verdict check_composed_text(Run *run, const Case *c) {
  CtComposed r;
  CtText t;
  ct_text_init(&t, ct_alloc_std);
  ct_composed_print(&run->cx, &c->x, &t);
  CtStatus st = ct_composed_parse(run->cx.arena, ct_text_str(&t), t.len, &r, &run->err);
  ct_text_clear(&t);
  return st == CT_OK && ct_composed_equal(&r, &c->x) ? HOLDS
                                                     : broken(run, "not read: %s", run->err.msg);
}

/* --- strides that are coordinates --------------------------------------------------------------- */

/* A layout of coordinates of a: for some modes of a one that steps through it. */
static void make_basis(Rng *r, CtArena *a, Case *c) {
  CtLayout modes[8];
  CtCx cx = {a, NULL};
  c->a = random_layout(r, a, 200);
  int rank = ct_layout_rank(c->a), n = 1 + (int)rng_below(r, rank);
  for (int i = 0; i < n; i++) {
    int m = (int)rng_below(r, rank);
    CtLayout mode = ct_mode(c->a, m);
    CtLayout steps = rng_chance(r, 70) ? random_fitting(r, a, mode) : random_layout(r, a, 12);
    CtNode *d = ct_arena_alloc(a, steps.stride->len * sizeof *d);
    memcpy(d, steps.stride, steps.stride->len * sizeof *d);
    for (uint32_t k = 0; k < d->len; k++) {
      d[k].i.basis_depth = ct_is_leaf(&d[k]) && d[k].i.v != 0;
      d[k].i.basis[0] = (uint8_t)m;
    }
    modes[i] = (CtLayout){steps.shape, d};
  }
  CtStatus st = ct_layout_concat(&cx, n, modes, &c->b, NULL);
  c->b = st == CT_OK ? c->b : c->a;
}

/* R(c) = A(B(c)), where B(c) is the coordinate whose entry m is the sum over its strides of E(m). */
static Verdict check_basis(Run *run, const Case *c) {
  CtLayout r;
  CtStatus st = ct_compose(&run->cx, c->a, c->b, &r, &run->err);
  if (st != CT_OK) {
    return refused(run, c, st);
  }
  if (ct_is_leaf(c->a.shape)) {
    return VACUOUS;
  }
  Fn got = fn_of(r);
  Wide n = size_of(c->b.shape);
  for (int k = 0; k < n_points(n); k++) {
    Wide i = point(n, k), left = i, crd[8] = {0};
    for (uint32_t j = 0; j < c->b.shape->len; j++) {
      if (ct_is_leaf(&c->b.shape[j])) {
        Wide digit = left % c->b.shape[j].i.v;
        left /= c->b.shape[j].i.v;
        crd[c->b.stride[j].i.basis[0]] += digit * c->b.stride[j].i.v;
      }
    }
    if (fn_at(&got, i) != sum_at(c->a, crd)) {
      return broken(run, "at %lld it is %lld, not %lld", (long long)i, (long long)fn_at(&got, i),
                    (long long)sum_at(c->a, crd));
    }
  }
  return HOLDS;
}

const Law laws_of_swizzles[] = {
    {"swizzle", "$x", make_swizzle, check_swizzle, true},
    {"swizzle o swizzle", "composition($x, $y)", make_swizzle, check_swizzle_compose, true},
    {"upcast, downcast of swizzles", "upcast($x, $n)", make_swizzle, check_swizzle_casts, true},
    {"swizzled: value", "$x", make_composed, check_composed_value, false},
    {"swizzled: cosize", "cosize($x)", make_composed, check_composed_cosize, false},
    {"swizzled: slice", "slice($c, $x)", make_composed, check_composed_slice, false},
    {"swizzled: downcast", "downcast($x, $n)", make_composed, check_composed_downcast, false},
    {"swizzled: swizzle after it", "composition($y, $x)", make_after, check_after, false},
    {"swizzled: composition", "composition($x, $y)", make_pair, check_composed_compose, false},
    {"swizzled: right_inverse", "right_inverse($x)", make_inverse, check_composed_right, false},
    {"swizzled: left_inverse", "left_inverse($x)", make_inverse, check_composed_left, false},
    {"swizzled: max_common_layout", "max_common_layout($x, $y)", make_common_pair,
     check_composed_common, false},
    {"text of swizzled layouts", "$x", make_composed, check_composed_text, true},
    {"composition with coordinates", "composition($a, $b)", make_basis, check_basis, false},
    {0},
};
