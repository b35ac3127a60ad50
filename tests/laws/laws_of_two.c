/* laws_of_two.c: composition, and what two layouts have in common. */
#include <string.h>

#include "law.h"

/* --- composition -------------------------------------------------------------------------------- */

typedef struct Composed {
  const Fn *a, *b;
} Composed;

static Wide composed_at(const void *ud, Wide i) {
  const Composed *c = ud;
  return fn_at(c->a, fn_at(c->b, i));
}

/* R(c) = A(B(c)) for all c below size(B), of a shape that refines B's. */
static Verdict composes(Run *run, CtLayout a, CtLayout b, CtLayout r) {
  Fn f = fn_of(a), g = fn_of(b), got = fn_of(r);
  Wide n = fn_size(&g);
  if (!refines(r.shape, b.shape)) {
    return broken(run, "the shape does not refine that of B");
  }
  for (int k = 0; k < n_points(n); k++) {
    Wide i = point(n, k), want = fn_at(&f, fn_at(&g, i));
    if (fn_at(&got, i) != want) {
      return broken(run, "at %lld it is %lld, but A(B(%lld)) = A(%lld) = %lld", (long long)i,
                    (long long)fn_at(&got, i), (long long)i, (long long)fn_at(&g, i),
                    (long long)want);
    }
  }
  return HOLDS;
}

/* Is A o B a layout on each mode of B, and the sum of these on all? */
static bool is_composable(CtLayout a, CtLayout b) {
  Fn f = fn_of(a), g = fn_of(b);
  Composed whole = {&f, &g};
  Wide n = fn_size(&g), step = 1;
  if (n > ALL_POINTS) {
    return false;
  }
  for (int k = 0; k < g.n; k++) {
    if (!is_layout_fn(composed_at, &whole, 0, step, g.shape[k])) {
      return false;
    }
    step *= g.shape[k];
  }
  for (int64_t i = 0; i < n; i++) {
    Wide left = i, sum = 0;
    step = 1;
    for (int k = 0; k < g.n; k++) {
      sum += composed_at(&whole, left % g.shape[k] * step);
      left /= g.shape[k];
      step *= g.shape[k];
    }
    if (sum != composed_at(&whole, i)) {
      return false;
    }
  }
  return true;
}

static Verdict check_composition(Run *run, const Case *c) {
  CtLayout r;
  CtStatus st = ct_compose(&run->cx, c->a, c->b, &r, &run->err);
  if (st == CT_OK) {
    return composes(run, c->a, c->b, r);
  }
  Verdict v = refused(run, c, st);
  return v == REFUSED && st != CT_EOVERFLOW && is_composable(c->a, c->b) ? AVOIDABLE : v;
}

/* (A o B) o C = A o (B o C), where all exist */
static Verdict check_associative(Run *run, const Case *c) {
  CtLayout ab, left, right, ba;
  CtLayout third = c->t.layout;
  CtStatus st = ct_compose(&run->cx, c->a, c->b, &ab, &run->err);
  if (st == CT_OK) {
    st = ct_compose(&run->cx, ab, third, &left, &run->err);
  }
  if (st == CT_OK) {
    st = ct_compose(&run->cx, c->b, third, &ba, &run->err);
  }
  if (st == CT_OK) {
    st = ct_compose(&run->cx, c->a, ba, &right, &run->err);
  }
  if (st != CT_OK) {
    return refused(run, c, st);
  }
  Fn f = fn_of(left), g = fn_of(right);
  return same_values(run, &f, &g, size_of(third.shape));
}

static void make_three(Rng *r, CtArena *a, Case *c) {
  make_two(r, a, c);
  c->t = layout_tiler(random_fitting(r, a, c->b));
}

static void make_by_mode(Rng *r, CtArena *a, Case *c) {
  c->a = random_layout(r, a, 400);
  c->t = random_tiler(r, a, c->a, true);
}

static Verdict composes_by(Run *run, CtLayout a, CtTiler t, CtLayout r) {
  Verdict v = HOLDS;
  switch (t.kind) {
    case CT_TILER_ANY: return same_layout(run, r, a);
    case CT_TILER_LAYOUT: return composes(run, a, t.layout, r);
    case CT_TILER_TUPLE: break;
  }
  if (ct_is_leaf(r.shape) || r.shape->rank != t.n) {
    return broken(run, "the rank is not the tiler's");
  }
  for (int i = 0; v == HOLDS && i < t.n; i++) {
    v = composes_by(run, ct_mode(a, i), t.items[i], ct_mode(r, i));
  }
  return v;
}

static Verdict check_by_mode(Run *run, const Case *c) {
  CtLayout r;
  CtStatus st = ct_composition(&run->cx, c->a, c->t, &r, &run->err);
  return st == CT_OK ? composes_by(run, c->a, c->t, r) : refused(run, c, st);
}

/* --- common vectors ----------------------------------------------------------------------------- */

/* The numbers that a and b both take at one coordinate: 0, ..., as far as they go on. */
static int64_t common_prefix(const Fn *a, const Fn *b) {
  static unsigned char both[SEEN_MAX];
  Wide n = fn_size(a) < fn_size(b) ? fn_size(a) : fn_size(b);
  int64_t k = 0;
  memset(both, 0, sizeof both);
  for (int64_t i = 0; i < n && n <= SEEN_MAX; i++) {
    Wide v = fn_at(a, i);
    if (v == fn_at(b, i) && v >= 0 && v < SEEN_MAX) {
      both[v] = 1;
    }
  }
  while (k < SEEN_MAX && both[k] != 0) {
    k++;
  }
  return k;
}

static void make_common(Rng *r, CtArena *a, Case *c) {
  c->a = random_layout(r, a, 200);
  c->b = random_layout(r, a, 200);
  if (rng_chance(r, 60)) { /* the same layout but for some strides */
    CtNode *d = ct_arena_alloc(a, c->a.stride->len * sizeof *d);
    memcpy(d, c->a.stride, c->a.stride->len * sizeof *d);
    uint32_t k = (uint32_t)rng_below(r, d->len);
    if (ct_is_leaf(&d[k])) {
      d[k].i = ct_int(d[k].i.v + rng_below(r, 2) * 3);
    }
    c->b = (CtLayout){c->a.shape, d};
  }
}

static Verdict check_common(Run *run, const Case *c) {
  CtLayout r;
  int64_t n;
  Fn f = fn_of(c->a), g = fn_of(c->b);
  CtStatus st = ct_max_common_vector(&run->cx, c->a, c->b, &n, &run->err);
  if (st == CT_OK) {
    st = ct_max_common_layout(&run->cx, c->a, c->b, &r, &run->err);
  }
  if (st != CT_OK) {
    return refused(run, c, st);
  }
  Fn common = fn_of(r);
  Wide smaller = fn_size(&f) < fn_size(&g) ? fn_size(&f) : fn_size(&g);
  if (n != fn_size(&common) || n > smaller) {
    return broken(run, "%lld elements, layout of %lld", (long long)n, (long long)fn_size(&common));
  }
  for (int k = 0; k < n_points(n); k++) {
    Wide i = point(n, k), at_i = fn_at(&common, i);
    if (fn_at(&f, at_i) != i || fn_at(&g, at_i) != i) {
      return broken(run, "element %lld is at %lld and %lld", (long long)i,
                    (long long)fn_at(&f, at_i), (long long)fn_at(&g, at_i));
    }
  }
  bool same_size = fn_size(&f) == fn_size(&g) && smaller <= SEEN_MAX && fn_is_injective(&g);
  int64_t most = same_size ? common_prefix(&f, &g) : n;
  return n >= most ? HOLDS
                   : broken(run, "%lld, but %lld are common", (long long)n, (long long)most);
}

const Law laws_of_two[] = {
    {"composition", "composition($a, $b)", make_two, check_composition, false},
    {"composition by mode", "composition($a, $t)", make_by_mode, check_by_mode, false},
    {"composition is associative", "$a($b)($t)", make_three, check_associative, false},
    {"max_common_layout", "max_common_layout($a, $b)", make_common, check_common, false},
    {0},
};
