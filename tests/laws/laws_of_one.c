/* laws_of_one.c: laws of operations on one layout: coalesce, filter, flatten, complement, inverses,
   elements of another size, layouts like another. */
#include <string.h>

#include "law.h"

static unsigned char seen[SEEN_MAX];

/* --- coalesce, flatten, filter ------------------------------------------------------------------ */

/* The same function; flat, and with no mode left to merge or drop. */
static Verdict is_coalesced(Run *run, const Fn *want, CtLayout r) {
  Fn f = fn_of(r);
  bool flat = ct_is_leaf(r.shape) || r.shape->len == (uint32_t)r.shape->rank + 1;
  if (!flat || f.n > (want->n > 0 ? want->n : 1) || fn_size(&f) != fn_size(want)) {
    return broken(run, "wrong size, or not flat, or more modes than before");
  }
  for (int i = 0; i < f.n && f.n > 1; i++) {
    bool merges = i > 0 && (Wide)f.shape[i - 1] * f.stride[i - 1] == f.stride[i];
    if (f.shape[i] == 1 || merges) {
      return broken(run, "mode %d should be gone", i);
    }
  }
  return same_values(run, &f, want, fn_size(want));
}

static Verdict check_coalesce(Run *run, const Case *c) {
  CtLayout r;
  Fn f = fn_of(c->a);
  CtStatus st = ct_coalesce(&run->cx, c->a, NULL, &r, &run->err);
  return st == CT_OK ? is_coalesced(run, &f, r) : refused(run, c, st);
}

/* A profile of the first modes, some of them as they are nested, others as one integer. */
static void make_profile(Rng *r, CtArena *a, Case *c) {
  make_one(r, a, c);
  c->c = random_coord(r, a, c->a.shape, 0);
}

static Verdict coalesced_by(Run *run, CtLayout a, CtTuple profile, CtLayout r) {
  Fn f = fn_of(a);
  if (ct_is_leaf(profile)) {
    return is_coalesced(run, &f, r);
  }
  if (ct_is_leaf(r.shape) || r.shape->rank != a.shape->rank) {
    return broken(run, "the rank changed");
  }
  Verdict v = HOLDS;
  for (int i = 0; v == HOLDS && i < profile->rank; i++) {
    v = coalesced_by(run, ct_mode(a, i), ct_child(profile, i), ct_mode(r, i));
  }
  return v;
}

static Verdict check_coalesce_by(Run *run, const Case *c) {
  CtLayout r;
  CtStatus st = ct_coalesce(&run->cx, c->a, c->c, &r, &run->err);
  return st == CT_OK ? coalesced_by(run, c->a, c->c, r) : refused(run, c, st);
}

static Verdict check_flatten(Run *run, const Case *c) {
  CtLayout r;
  CtStatus st = ct_flatten(&run->cx, c->a, &r, &run->err);
  if (st != CT_OK) {
    return refused(run, c, st);
  }
  Fn f = fn_of(r), want = fn_of(c->a);
  bool flat = ct_is_leaf(r.shape) || r.shape->len == (uint32_t)r.shape->rank + 1;
  bool same = f.n == want.n && memcmp(f.shape, want.shape, (size_t)f.n * sizeof *f.shape) == 0 &&
              memcmp(f.stride, want.stride, (size_t)f.n * sizeof *f.stride) == 0;
  return flat && same && ct_is_leaf(r.shape) == ct_is_leaf(c->a.shape)
             ? HOLDS
             : broken(run, "other leaves, or not flat");
}

/* a without the modes of stride 0 */
static Fn without_zeros(CtLayout a) {
  Fn f = fn_of(a), r = {.n = 0};
  for (int i = 0; i < f.n; i++) {
    if (f.stride[i] != 0) {
      r.shape[r.n] = f.shape[i];
      r.stride[r.n++] = f.stride[i];
    }
  }
  return r;
}

static Verdict check_filter(Run *run, const Case *c) {
  CtLayout r;
  Fn want = without_zeros(c->a);
  CtStatus st = ct_filter(&run->cx, c->a, NULL, &r, &run->err);
  return st == CT_OK ? is_coalesced(run, &want, r) : refused(run, c, st);
}

static Verdict check_filter_zeros(Run *run, const Case *c) {
  CtLayout r;
  CtStatus st = ct_filter_zeros(&run->cx, c->a, &r, &run->err);
  if (st != CT_OK) {
    return refused(run, c, st);
  }
  Fn f = fn_of(r), a = fn_of(c->a);
  for (int i = 0; i < a.n; i++) {
    if (f.stride[i] != a.stride[i] || f.shape[i] != (a.stride[i] == 0 ? 1 : a.shape[i])) {
      return broken(run, "leaf %d is %lld:%lld", i, (long long)f.shape[i], (long long)f.stride[i]);
    }
  }
  return same_nesting(r.shape, c->a.shape) ? HOLDS : broken(run, "the nesting changed");
}

/* --- complement --------------------------------------------------------------------------------- */

static void make_complement(Rng *r, CtArena *a, Case *c) {
  make_one(r, a, c);
  Fn f = fn_of(c->a), m = fn_moving(&f);
  Wide end = fn_end(&m);
  int64_t cosize = end > 0 && end < 4000 ? (int64_t)end : 1;
  int kind = (int)rng_below(r, 3);
  c->n = kind == 0 ? cosize * (1 + rng_below(r, 5)) : 1 + rng_below(r, 500);
}

/* v is free when no element of `taken` lies at it. */
static int64_t next_free(const unsigned char *taken, int64_t v) {
  while (v < SEEN_MAX && taken[v] != 0) {
    v++;
  }
  return v;
}

/* First fit: the copies of a that begin at each number not covered yet begin at r's values. */
static Verdict is_first_fit(Run *run, const Fn *a, const Fn *r) {
  int64_t v = 0;
  memset(seen, 0, sizeof seen);
  for (int64_t j = 0; j < fn_size(r); j++) {
    v = next_free(seen, v);
    if (fn_at(r, j) != v) {
      return broken(run, "at %lld it is %lld; the first free index is %lld", (long long)j,
                    (long long)fn_at(r, j), (long long)v);
    }
    for (int64_t i = 0; i < fn_size(a); i++) {
      Wide at_i = v + fn_at(a, i);
      if (at_i < SEEN_MAX) {
        seen[at_i]++;
      }
    }
  }
  return HOLDS;
}

/* The conditions on a complement r of `a` (its moving modes) up to `target`. */
static Verdict complements(Run *run, const Fn *a, const Fn *r, int64_t target) {
  Wide size = fn_size(r), end = fn_end(a), before = 0;
  for (int k = 1; k < n_points(size) && size <= ALL_POINTS; k++) {
    Wide v = fn_at(r, k);
    if (v <= before) {
      return broken(run, "not increasing at %d", k);
    }
    before = v;
  }
  if (size * end < target) {
    return broken(run, "%lld copies that end at %lld do not reach %lld", (long long)size,
                  (long long)end, (long long)target);
  }
  Fn both = *a;
  for (int i = 0; i < r->n; i++, both.n++) {
    both.shape[both.n] = r->shape[i];
    both.stride[both.n] = r->stride[i];
  }
  if (fn_size(&both) > 4000 || fn_at(&both, fn_size(&both) - 1) >= SEEN_MAX) {
    return HOLDS;
  }
  if (!fn_is_injective(&both)) {
    return broken(run, "the copies overlap");
  }
  return fn_is_chain(a) ? is_first_fit(run, a, r) : HOLDS;
}

/* It must fail just where moving modes overlap or run backwards. */
static Verdict complement_refused(Run *run, const Case *c, const Fn *f, const Fn *m, CtStatus st) {
  Verdict v = refused(run, c, st);
  if (v == REFUSED && st != CT_EOVERFLOW && fn_is_separate(m) && !fn_has_negative(f)) {
    return broken(run, "refused, but its modes do not overlap: %s", run->err.msg);
  }
  return v;
}

static Verdict check_complement(Run *run, const Case *c) {
  CtLayout r;
  Fn f = fn_of(c->a), m = fn_moving(&f);
  CtNode target = {.rank = CT_LEAF, .len = 1, .i = ct_int(c->n)};
  CtStatus st = ct_complement(&run->cx, c->a, &target, &r, &run->err);
  if (st != CT_OK) {
    return complement_refused(run, c, &f, &m, st);
  }
  if (!fn_is_separate(&m) || fn_has_negative(&f)) {
    return broken(run, "overlapping or negative modes have no complement");
  }
  Fn g = fn_of(r);
  return complements(run, &m, &g, c->n);
}

/* Without a target: up to the cosize. */
static Verdict check_complement_self(Run *run, const Case *c) {
  CtLayout r;
  Fn f = fn_of(c->a), m = fn_moving(&f);
  CtStatus st = ct_complement(&run->cx, c->a, NULL, &r, &run->err);
  if (st != CT_OK) {
    return complement_refused(run, c, &f, &m, st);
  }
  Fn g = fn_of(r);
  Wide last = m.n == 0 ? 0 : fn_at(&m, fn_size(&m) - 1);
  return last < INT64_MAX ? complements(run, &m, &g, (int64_t)last + 1) : VACUOUS;
}

/* --- inverses ----------------------------------------------------------------------------------- */

/* The first number that is no value of f; -1 when f repeats values on modes that move. */
static int64_t first_missing(const Fn *f) {
  Fn m = fn_moving(f);
  int64_t v = 0;
  if (!fn_marks(&m, seen)) {
    return -1;
  }
  while (v < SEEN_MAX && seen[v] != 0) {
    v++;
  }
  return v;
}

/* A(R(i)) == i; where a value is never reached twice, up to the first that is never reached. */
static Verdict check_right_inverse(Run *run, const Case *c) {
  CtLayout r;
  Fn f = fn_of(c->a);
  CtStatus st = ct_right_inverse(&run->cx, c->a, &r, &run->err);
  if (st != CT_OK) {
    Verdict v = refused(run, c, st);
    bool right = fn_has_negative(&f) || st == CT_EOVERFLOW;
    return v != REFUSED || right ? v : broken(run, "refused: %s", run->err.msg);
  }
  Fn g = fn_of(r);
  Wide n = fn_size(&g);
  for (int k = 0; k < n_points(n); k++) {
    Wide i = point(n, k);
    if (fn_at(&f, fn_at(&g, i)) != i) {
      return broken(run, "A(R(%lld)) = %lld", (long long)i, (long long)fn_at(&f, fn_at(&g, i)));
    }
  }
  int64_t missing = first_missing(&f);
  return missing < 0 || missing == n ? HOLDS
                                     : broken(run, "of size %lld, but A reaches all below %lld",
                                              (long long)n, (long long)missing);
}

static bool strides_divide(const Fn *moving) {
  for (int i = 1; i < moving->n; i++) {
    if (moving->stride[i] % moving->stride[i - 1] != 0) {
      return false;
    }
  }
  return true;
}

/* a coalesced, as the inverse sees it: merged modes need not divide those between them */
static Fn coalesced_moving(Run *run, CtLayout a) {
  CtLayout flat = a;
  if (ct_coalesce(&run->cx, a, NULL, &flat, NULL) != CT_OK) {
    flat = a;
  }
  Fn f = fn_of(flat);
  return fn_moving(&f);
}

static Verdict check_left_inverse(Run *run, const Case *c) {
  CtLayout r;
  Fn f = fn_of(c->a), m = fn_moving(&f);
  CtStatus st = ct_left_inverse(&run->cx, c->a, &r, &run->err);
  if (st != CT_OK) {
    Verdict v = refused(run, c, st);
    Fn flat = coalesced_moving(run, c->a);
    bool right = fn_has_negative(&f) || st == CT_EOVERFLOW || !fn_is_separate(&flat) ||
                 !strides_divide(&flat);
    return v != REFUSED || right ? v : broken(run, "refused: %s", run->err.msg);
  }
  Fn g = fn_of(r);
  bool moves = fn_size(&m) == fn_size(&f);
  for (int k = 0; k < n_points(fn_size(&f)); k++) {
    Wide i = point(fn_size(&f), k), v = fn_at(&f, i), back = fn_at(&g, v);
    if (fn_at(&f, back) != v || (moves && back != i)) {
      return broken(run, "L(A(%lld)) = L(%lld) = %lld", (long long)i, (long long)v,
                    (long long)back);
    }
  }
  return HOLDS;
}

/* The values of N are just the coordinates that A sends to 0, where nothing else cancels. */
static Verdict check_nullspace(Run *run, const Case *c) {
  CtLayout r;
  CtStatus st = ct_nullspace(&run->cx, c->a, &r, &run->err);
  if (st != CT_OK) {
    return refused(run, c, st);
  }
  Fn f = fn_of(c->a), g = fn_of(r), m = fn_moving(&f);
  Wide size = fn_size(&f), n = fn_size(&g);
  if (n * fn_size(&m) != size) {
    return broken(run, "of size %lld", (long long)n);
  }
  for (int k = 0; k < n_points(n); k++) {
    if (fn_at(&f, fn_at(&g, point(n, k))) != 0) {
      return broken(run, "A(N(%lld)) is not 0", (long long)point(n, k));
    }
  }
  return n > SEEN_MAX || size > SEEN_MAX || fn_is_injective(&g) ? HOLDS
                                                                : broken(run, "not injective");
}

/* --- other elements ----------------------------------------------------------------------------- */

static void make_scale(Rng *r, CtArena *a, Case *c) {
  static const int64_t factors[] = {1, 2, 2, 2, 3, 4, 4, 6, 8};
  make_one(r, a, c);
  c->n = factors[rng_below(r, CT_ARRAY_LEN(factors))];
}

/* How many old elements of leaf i make up a new one along it: 1, or n / |stride|. */
static int64_t joined(const Fn *f, int i, int64_t n) {
  int64_t d = f->stride[i] < 0 ? -f->stride[i] : f->stride[i];
  return d == 0 || d % n == 0 ? 1 : n / d;
}

/* Each old element lies in the new element whose coordinate has the joined digits divided. */
static Verdict upcasts(Run *run, const Fn *f, const Fn *g, int64_t n) {
  Wide size = fn_size(f);
  for (int k = 0; k < n_points(size); k++) {
    Wide i = point(size, k), left = i, old = 0, got = 0, inside = 0;
    for (int j = 0; j < f->n; j++) {
      Wide digit = left % f->shape[j], join = joined(f, j, n);
      left /= f->shape[j];
      old += digit * f->stride[j];
      inside += digit % join * f->stride[j];
      got += digit / join * g->stride[j];
      if (digit / join >= g->shape[j]) {
        return broken(run, "element %lld is not reached", (long long)i);
      }
    }
    if (got * n != old - inside) {
      return broken(run, "element %lld at %lld is in element %lld", (long long)i, (long long)old,
                    (long long)got);
    }
  }
  return HOLDS;
}

static bool casts_evenly(const Fn *f, int64_t n) {
  for (int i = 0; i < f->n; i++) {
    if (f->stride[i] % n != 0 && n % f->stride[i] != 0) {
      return false;
    }
  }
  return true;
}

static Verdict check_upcast(Run *run, const Case *c) {
  CtLayout r;
  Fn f = fn_of(c->a);
  CtStatus st = ct_upcast(&run->cx, c->a, c->n, &r, &run->err);
  if (st != CT_OK) {
    Verdict v = refused(run, c, st);
    return v != REFUSED || !casts_evenly(&f, c->n) ? v : broken(run, "refused: %s", run->err.msg);
  }
  Fn g = fn_of(r);
  return same_nesting(r.shape, c->a.shape) ? upcasts(run, &f, &g, c->n)
                                           : broken(run, "the nesting changed");
}

/* Element i of n parts: part k of it lies at A(i) * n + k. */
static Verdict downcasts(Run *run, const Fn *f, const Fn *g, int64_t n) {
  Wide size = fn_size(g);
  for (int k = 0; k < n_points(size); k++) {
    Wide i = point(size, k), left = i, old = 0, part = 0;
    for (int j = 0; j < f->n; j++) {
      bool adjacent = f->stride[j] == 1 || f->stride[j] == -1;
      Wide digit = left % g->shape[j];
      left /= g->shape[j];
      old += (adjacent ? digit / n : digit) * f->stride[j];
      part += adjacent ? digit % n * f->stride[j] : 0;
    }
    if (fn_at(g, i) != old * n + part) {
      return broken(run, "at %lld it is %lld, not %lld", (long long)i, (long long)fn_at(g, i),
                    (long long)(old * n + part));
    }
  }
  return HOLDS;
}

static Verdict check_downcast(Run *run, const Case *c) {
  CtLayout r;
  Fn f = fn_of(c->a);
  CtStatus st = ct_downcast(&run->cx, c->a, c->n, &r, &run->err);
  bool adjacent = false;
  for (int i = 0; i < f.n; i++) {
    adjacent = adjacent || f.stride[i] == 1;
  }
  if (st != CT_OK) {
    Verdict v = refused(run, c, st);
    bool right = !adjacent || st == CT_EOVERFLOW;
    return v != REFUSED || right ? v : broken(run, "refused: %s", run->err.msg);
  }
  Fn g = fn_of(r);
  for (int i = 0; i < f.n; i++) {
    bool grows = f.stride[i] == 1 || f.stride[i] == -1;
    if (g.shape[i] != f.shape[i] * (grows ? c->n : 1)) {
      return broken(run, "extent %lld of leaf %d", (long long)g.shape[i], i);
    }
  }
  return downcasts(run, &f, &g, c->n);
}

static void make_recast(Rng *r, CtArena *a, Case *c) {
  static const int64_t bits[] = {1, 4, 8, 16, 24, 32, 64};
  make_one(r, a, c);
  c->n = bits[rng_below(r, CT_ARRAY_LEN(bits))];
  c->m = bits[rng_below(r, CT_ARRAY_LEN(bits))];
}

/* From n bits to m: n/g times smaller after m/g times larger. */
static Verdict check_recast(Run *run, const Case *c) {
  CtLayout r, up;
  int64_t g = 1;
  for (int64_t k = 1; k <= c->n; k++) {
    g = c->n % k == 0 && c->m % k == 0 ? k : g;
  }
  CtStatus st = ct_recast(&run->cx, c->a, c->n, c->m, &r, &run->err);
  if (st != CT_OK) {
    return refused(run, c, st);
  }
  Fn f = fn_of(c->a), got = fn_of(r);
  if (c->n % c->m == 0 || c->m % c->n == 0) {
    return c->m >= c->n ? upcasts(run, &f, &got, c->m / c->n)
                        : downcasts(run, &f, &got, c->n / c->m);
  }
  st = ct_upcast(&run->cx, c->a, c->m / g, &up, &run->err);
  f = fn_of(up);
  return st == CT_OK ? downcasts(run, &f, &got, c->n / g) : broken(run, "upcast fails");
}

/* --- layouts like another ----------------------------------------------------------------------- */

/* Compact over the modes that are not 0, in the order of a's strides where those differ. */
static Verdict is_like(Run *run, const Fn *a, const Fn *r) {
  for (int i = 0; i < a->n; i++) {
    if (r->shape[i] != a->shape[i] || (a->stride[i] == 0 && r->stride[i] != 0)) {
      return broken(run, "leaf %d: another extent, or a stride-0 mode moves", i);
    }
    for (int j = 0; j < a->n; j++) {
      bool move = a->shape[i] > 1 && a->shape[j] > 1 && a->stride[i] != 0 && a->stride[j] != 0;
      if (move && a->stride[i] < a->stride[j] && r->stride[i] >= r->stride[j]) {
        return broken(run, "leaves %d and %d are in another order", i, j);
      }
    }
  }
  return HOLDS;
}

static bool strides_differ(const Fn *f) {
  Fn m = fn_moving(f);
  for (int i = 1; i < m.n; i++) {
    if (m.stride[i] == m.stride[i - 1]) {
      return false;
    }
  }
  return !fn_has_negative(f) && fn_size(f) > 0;
}

static Verdict check_layout_like(Run *run, const Case *c) {
  CtLayout r;
  CtStatus st = ct_layout_like(&run->cx, c->a, &r, &run->err);
  Fn f = fn_of(c->a);
  if (st != CT_OK) {
    return refused(run, c, st);
  }
  if (!strides_differ(&f)) {
    return VACUOUS;
  }
  Fn g = fn_of(r);
  Verdict v = same_nesting(c->a.shape, r.shape) ? is_like(run, &f, &g) : broken(run, "nesting");
  return v != HOLDS || fn_is_compact(&g) ? v : broken(run, "not compact");
}

/* Modes of one stride, 0 among them, tie in CuTe's order and begin at the same place. */
static bool rest_ties(CtLayout a) {
  Fn f = {.n = 0};
  for (int i = 1; i < ct_layout_rank(a); i++) {
    Fn m = fn_of_mode(a, i);
    for (int j = 0; j < m.n; j++) {
      if (m.shape[j] != 1) {
        f.shape[f.n] = m.shape[j];
        f.stride[f.n++] = m.stride[j] + 1; /* so that 0 counts as moving */
      }
    }
  }
  return !strides_differ(&f);
}

/* Mode 0 column-major first, then the others like a's. */
static Verdict check_fragment_like(Run *run, const Case *c) {
  CtLayout r;
  CtStatus st = ct_fragment_layout_like(&run->cx, c->a, &r, &run->err);
  Fn f = fn_of(c->a);
  if (st != CT_OK) {
    return refused(run, c, st);
  }
  Fn g = fn_of(r);
  if (fn_size(&f) != fn_size(&g)) {
    return broken(run, "another size");
  }
  Fn first = fn_of_mode(r, 0);
  Wide end = 1;
  for (int i = 0; i < first.n; i++) {
    if (first.stride[i] != 0 && first.shape[i] != 1) {
      if (first.stride[i] != end) {
        return broken(run, "mode 0 is not column-major");
      }
      end *= first.shape[i];
    }
  }
  return rest_ties(c->a) || fn_is_compact(&g) ? HOLDS : broken(run, "not compact");
}

/* --- text --------------------------------------------------------------------------------------- */

static Verdict check_text(Run *run, const Case *c) {
  CtLayout r;
  CtText t;
  ct_text_init(&t, ct_alloc_std);
  ct_layout_print(&run->cx, c->a, &t);
  CtStatus st = ct_layout_parse(run->cx.arena, ct_text_str(&t), t.len, &r, &run->err);
  ct_text_clear(&t);
  return st == CT_OK ? same_layout(run, r, c->a) : broken(run, "not read: %s", run->err.msg);
}

const Law laws_of_one[] = {
    {"coalesce", "coalesce($a)", make_one, check_coalesce, true},
    {"coalesce by profile", "coalesce($a, $c)", make_profile, check_coalesce_by, true},
    {"flatten", "flatten($a)", make_one, check_flatten, true},
    {"filter", "filter($a)", make_one, check_filter, true},
    {"filter_zeros", "filter_zeros($a)", make_one, check_filter_zeros, true},
    {"complement", "complement($a, $n)", make_complement, check_complement, false},
    {"complement in cosize", "complement($a)", make_one, check_complement_self, false},
    {"right_inverse", "right_inverse($a)", make_one, check_right_inverse, false},
    {"left_inverse", "left_inverse($a)", make_one, check_left_inverse, false},
    {"nullspace", "nullspace($a)", make_one, check_nullspace, false},
    {"upcast", "upcast($a, $n)", make_scale, check_upcast, true},
    {"downcast", "downcast($a, $n)", make_scale, check_downcast, false},
    {"recast", "recast($a, $n, $m)", make_recast, check_recast, false},
    {"layout_like", "layout_like($a)", make_one, check_layout_like, false},
    {"fragment_layout_like", "fragment_layout_like($a)", make_one, check_fragment_like, false},
    {"text of layouts", "$a", make_one, check_text, true},
    {0},
};
