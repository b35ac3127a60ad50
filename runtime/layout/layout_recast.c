/* layout_recast.c: layouts of the same memory in other elements; and two small operations that also
   work mode by mode: the nullspace, and spreading a number over a shape. */
#include <inttypes.h>

#include "layout_algebra.h"

/* --- recast ------------------------------------------------------------------------------------ */

/* Changes one mode s:d of `a` for an element that changes by the factor n. */
typedef void (*CastMode)(CtAlg *g, CtLayout a, CtInt *shape, CtInt *stride, int64_t n);

static CtLayout cast(CtAlg *g, const char *op, CtLayout a, int64_t n, CastMode mode) {
  CtBuild b;
  ct_build_init_layout(&b, g, op);
  ct_build_layout(&b, a); /* the leaves are replaced below */
  for (uint32_t i = 0; al_ok(g) && i < b.len; i++) {
    if (ct_is_leaf(&b.tree[0][i])) {
      mode(g, a, &b.tree[0][i].i, &b.tree[1][i].i, n);
    }
  }
  return ct_build_take_layout(&b);
}

/* (s:d) / n: a stride of at least n shrinks, a smaller one joins n/d elements into one. */
static void upcast_mode(CtAlg *g, CtLayout a, CtInt *shape, CtInt *stride, int64_t n) {
  CtInt factor = ct_int(n), d = *stride;
  if (ct_is_const(d, 0)) {
    return;
  }
  if (al_divides(g, factor, d)) { /* exact, so the sign does not matter */
    *stride = al_div(g, d, factor);
  } else if (ct_is_static(d) && n % d.v == 0) {
    *stride = ct_int(d.v < 0 ? -1 : 1);
    *shape = al_ceildiv(g, *shape, ct_int(d.v < 0 ? n / -d.v : n / d.v));
  } else {
    al_fail(g, ct_is_static(d) ? CT_EINVAL : CT_EUNSUPPORTED,
            "upcast: stride %s in %s and factor %" PRId64 " do not divide one another",
            al_show_int(g, d), al_show_layout(g, a), n);
  }
}

static void downcast_mode(CtAlg *g, CtLayout a, CtInt *shape, CtInt *stride, int64_t n) {
  (void)a;
  bool adjacent = ct_is_const(*stride, 1) || ct_is_const(*stride, -1);
  CtInt *grows = adjacent ? shape : stride;
  *grows = al_mul(g, *grows, ct_int(n));
}

static void check_cast(CtAlg *g, const char *op, CtLayout a, int64_t n) {
  if (n <= 0) {
    al_fail(g, CT_EINVAL, "%s: factor %" PRId64 "; expected a number > 0", op, n);
  }
  al_check_numbers(g, op, a);
}

static bool has_adjacent(CtLayout a) {
  for (CtLeaves w = ct_layout_leaves(a); ct_next_leaf(&w);) {
    if (ct_is_const(w.stride->i, 1)) {
      return true;
    }
  }
  return false;
}

static bool has_one_element(CtLayout a) {
  for (CtLeaves w = ct_layout_leaves(a); ct_next_leaf(&w);) {
    if (!ct_is_const(w.shape->i, 1)) {
      return false;
    }
  }
  return true;
}

CtLayout al_parts_adjacent(CtAlg *g, CtLayout a) {
  if (!has_one_element(a)) {
    return a;
  }
  CtBuild b;
  ct_build_init_layout(&b, g, "recast");
  ct_build_layout(&b, a);
  bool is_first = true;
  for (uint32_t i = 0; al_ok(g) && i < b.len; i++) {
    if (ct_is_leaf(&b.tree[1][i])) {
      b.tree[1][i].i = ct_int(is_first);
      is_first = false;
    }
  }
  return ct_build_take_layout(&b);
}

CtLayout al_plain_upcast(CtAlg *g, CtLayout a, int64_t n) {
  check_cast(g, "upcast", a, n);
  return cast(g, "upcast", a, n, upcast_mode);
}

CtLayout al_plain_downcast(CtAlg *g, CtLayout a, int64_t n) {
  check_cast(g, "downcast", a, n);
  if (al_ok(g) && !has_adjacent(a)) {
    al_fail(g, CT_EINVAL, "downcast: no stride is 1 in %s; smaller elements need adjacent ones",
            al_show_layout(g, a));
  }
  return cast(g, "downcast", a, n, downcast_mode);
}

/* --- nullspace, domain_distribute --------------------------------------------------------------- */

CtLayout al_nullspace(CtAlg *g, CtLayout a) {
  CtBuild b;
  CtTuple steps = al_compact(g, a.shape, ct_int(1), false); /* of each mode in a's coordinate */
  uint32_t n = 0;
  for (CtLeaves w = ct_layout_leaves(a); ct_next_leaf(&w);) {
    n += ct_is_const(w.stride->i, 0);
  }
  ct_build_init_layout(&b, g, "nullspace");
  if (n == 0) {
    ct_build_leaf(&b, ct_int(1), ct_int(0));
  }
  if (n > 1) {
    ct_build_open(&b);
  }
  for (CtLeaves w = ct_layout_leaves(a); al_ok(g) && ct_next_leaf(&w);) {
    if (ct_is_const(w.stride->i, 0)) {
      ct_build_leaf_named(&b, w.shape->name, w.shape->i, steps[w.at].i);
    }
  }
  if (n > 1) {
    ct_build_close(&b);
  }
  return ct_build_take_layout(&b);
}

CtLayout al_domain_distribute(CtAlg *g, CtTuple shape, int64_t n) {
  CtFlat f;
  if (!ct_all_static(shape) || n <= 0) {
    al_fail(g, CT_EINVAL,
            "domain_distribute: %" PRId64
            " over shape %s; expected a number > 0 and a static shape",
            n, al_show_tuple(g, shape));
  }
  CtTuple steps = al_compact(g, shape, ct_int(1), false);
  ct_flat_init(&f, g);
  for (CtLeaves w = ct_leaves_of(shape); al_ok(g) && ct_next_leaf(&w);) {
    int64_t gcd = ct_gcd(w.shape->i.v, n);
    n /= gcd;
    ct_flat_push_named(&f, w.shape->name, ct_int(gcd), steps[w.at].i);
  }
  return ct_flat_take(&f, "domain_distribute");
}
