/* layout_recast.c: layouts of the same memory in other elements; and two small relatives that work
   mode by mode: the nullspace, and spreading a number over a shape. */
#include "layout_flat.h"

/* --- recast ------------------------------------------------------------------------------------ */

/* How one mode s:d changes when the element changes by the factor n. */
typedef CtStatus (*CastMode)(const CtCx *cx, CtLayout a, CtFlatMode *m, int64_t n, CtErr *err);

static CtStatus cast(const CtCx *cx, const char *op, CtLayout a, int64_t n, CastMode mode,
                     CtLayout *out, CtErr *err) {
  CtBuild b;
  CtLayout r;
  ct_build_init_layout(&b, cx, op, err);
  ct_build_layout(&b, a); /* the leaves are replaced below */
  for (uint32_t i = 0; b.status == CT_OK && i < b.len; i++) {
    CtNode *s = &b.tree[0][i], *d = &b.tree[1][i];
    if (ct_is_leaf(s)) {
      CtFlatMode m = {.shape = s->i, .stride = d->i};
      ct_build_fail(&b, mode(cx, a, &m, n, err));
      s->i = m.shape;
      d->i = m.stride;
    }
  }
  CtStatus st = ct_build_finish_layout(&b, &r);
  if (st == CT_OK) {
    *out = r;
  }
  return st;
}

static CtStatus fail_upcast(const CtCx *cx, CtLayout a, CtInt stride, int64_t n, CtErr *err) {
  return ct_fail(err, ct_is_static(stride) ? CT_EINVAL : CT_EUNSUPPORTED,
                 "upcast: stride %s in %s and factor %lld do not divide one another",
                 ct_show_int(cx, stride), ct_show_layout(cx, a), (long long)n);
}

/* (s:d) / n: a stride of at least n shrinks, a smaller one joins n/d elements into one. */
static CtStatus upcast_mode(const CtCx *cx, CtLayout a, CtFlatMode *m, int64_t n, CtErr *err) {
  CtInt factor = ct_int(n), d = m->stride;
  if (ct_is_const(d, 0)) {
    return CT_OK;
  }
  if (ct_int_divides(cx, factor, d) == CT_KNOWN_YES) { /* exact, so the sign does not matter */
    return ct_int_op(cx, CT_INT_DIV, d, factor, &m->stride, err);
  }
  if (!ct_is_static(d) || n % d.v != 0) {
    return fail_upcast(cx, a, d, n, err);
  }
  m->stride = ct_int(d.v < 0 ? -1 : 1);
  return ct_int_op(cx, CT_INT_CEILDIV, m->shape, ct_int(d.v < 0 ? n / -d.v : n / d.v), &m->shape,
                   err);
}

static CtStatus downcast_mode(const CtCx *cx, CtLayout a, CtFlatMode *m, int64_t n, CtErr *err) {
  (void)a;
  bool adjacent = ct_is_const(m->stride, 1) || ct_is_const(m->stride, -1);
  CtInt *grows = adjacent ? &m->shape : &m->stride;
  return ct_int_op(cx, CT_INT_MUL, *grows, ct_int(n), grows, err);
}

static CtStatus check_factor(const char *op, int64_t n, CtErr *err) {
  return n > 0
             ? CT_OK
             : ct_fail(err, CT_EINVAL, "%s: factor %lld; expected a number > 0", op, (long long)n);
}

static bool has_adjacent(CtLayout a) {
  for (uint32_t i = 0; i < a.stride->len; i++) {
    if (ct_is_leaf(&a.stride[i]) && ct_is_const(a.stride[i].i, 1)) {
      return true;
    }
  }
  return false;
}

CtStatus ct_upcast(const CtCx *cx, CtLayout a, int64_t n, CtLayout *out, CtErr *err) {
  CtStatus st = check_factor("upcast", n, err);
  if (st == CT_OK) {
    st = ct_check_numbers(cx, "upcast", a, err);
  }
  return st == CT_OK ? cast(cx, "upcast", a, n, upcast_mode, out, err) : st;
}

CtStatus ct_downcast(const CtCx *cx, CtLayout a, int64_t n, CtLayout *out, CtErr *err) {
  CtStatus st = check_factor("downcast", n, err);
  if (st == CT_OK) {
    st = ct_check_numbers(cx, "downcast", a, err);
  }
  if (st == CT_OK && !has_adjacent(a)) {
    st = ct_fail(err, CT_EINVAL,
                 "downcast: no stride is 1 in %s; smaller elements need adjacent ones",
                 ct_show_layout(cx, a));
  }
  return st == CT_OK ? cast(cx, "downcast", a, n, downcast_mode, out, err) : st;
}

CtStatus ct_recast(const CtCx *cx, CtLayout a, int64_t from_bits, int64_t to_bits, CtLayout *out,
                   CtErr *err) {
  if (from_bits <= 0 || to_bits <= 0) {
    return ct_fail(err, CT_EINVAL, "recast: %lld to %lld bits; expected numbers > 0",
                   (long long)from_bits, (long long)to_bits);
  }
  int64_t gcd = ct_gcd(from_bits, to_bits), larger = to_bits / gcd, smaller = from_bits / gcd;
  CtLayout l = a;
  CtStatus st = larger > 1 ? ct_upcast(cx, a, larger, &l, err) : CT_OK;
  if (st == CT_OK) {
    st = smaller > 1 ? ct_downcast(cx, l, smaller, &l, err) : ct_layout_copy(cx->arena, l, &l, err);
  }
  if (st == CT_OK) {
    *out = l;
  }
  return st;
}

/* --- nullspace, domain_distribute --------------------------------------------------------------- */

CtStatus ct_nullspace(const CtCx *cx, CtLayout a, CtLayout *out, CtErr *err) {
  CtBuild b;
  CtTuple steps = NULL; /* of each mode in a's coordinate */
  uint32_t n = 0;
  CtStatus st = ct_compact_col_major(cx, a.shape, ct_int(1), &steps, err);
  if (st != CT_OK) {
    return st;
  }
  for (uint32_t i = 0; i < a.shape->len; i++) {
    n += ct_is_leaf(&a.shape[i]) && ct_is_const(a.stride[i].i, 0);
  }
  ct_build_init_layout(&b, cx, "nullspace", err);
  if (n == 0) {
    ct_build_leaf(&b, ct_int(1), ct_int(0));
  }
  if (n > 1) {
    ct_build_open(&b);
  }
  for (uint32_t i = 0; i < a.shape->len; i++) {
    if (ct_is_leaf(&a.shape[i]) && ct_is_const(a.stride[i].i, 0)) {
      ct_build_leaf_named(&b, a.shape[i].name, a.shape[i].i, steps[i].i);
    }
  }
  if (n > 1) {
    ct_build_close(&b);
  }
  return ct_build_finish_layout(&b, out);
}

CtStatus ct_domain_distribute(const CtCx *cx, CtTuple shape, int64_t n, CtLayout *out, CtErr *err) {
  CtFlat f;
  CtTuple steps = NULL;
  if (!ct_all_static(shape) || n <= 0) {
    return ct_fail(
        err, CT_EINVAL,
        "domain_distribute: %lld over shape %s; expected a number > 0 and a static shape",
        (long long)n, ct_show_tuple(cx, shape));
  }
  ct_flat_init(&f);
  CtStatus st = ct_compact_col_major(cx, shape, ct_int(1), &steps, err);
  for (uint32_t i = 0; st == CT_OK && i < shape->len; i++) {
    if (ct_is_leaf(&shape[i])) {
      int64_t gcd = ct_gcd(shape[i].i.v, n);
      n /= gcd;
      st = ct_flat_push_named(&f, cx, shape[i].name, ct_int(gcd), steps[i].i, err);
    }
  }
  return st == CT_OK ? ct_flat_finish(&f, cx, "domain_distribute", out, err) : st;
}
