/* layout.c: layouts as values: compact strides, construction, sizes, evaluation. */
#include "layout.h"

#include <string.h>

#include "layout_flat.h"

/* --- compact strides -------------------------------------------------------------------------- */

/* The next compact stride, computed only when a mode asks for it: start * extents so far. */
typedef struct Running {
  CtInt stride, pending; /* pending: extent of the last mode, not multiplied in yet */
} Running;

static CtStatus next_stride(const CtCx *cx, Running *r, CtInt shape, CtInt *out, CtErr *err) {
  if (ct_is_const(shape, 1)) {
    *out = ct_int(0);
    return CT_OK;
  }
  CtStatus st = ct_int_op(cx, CT_INT_MUL, r->stride, r->pending, &r->stride, err);
  if (st == CT_OK) {
    *out = r->stride;
    r->pending = shape;
  }
  return st;
}

/* Writes compact strides over the leaves of `nodes`, a copy of the shape. */
static CtStatus compact(const CtCx *cx, CtNode *nodes, CtInt start, bool from_right, CtErr *err) {
  Running r = {start, ct_int(1)};
  uint32_t len = nodes->len;
  for (uint32_t k = 0; k < len; k++) {
    CtNode *n = &nodes[from_right ? len - 1 - k : k];
    if (ct_is_leaf(n)) {
      CtStatus st = next_stride(cx, &r, n->i, &n->i, err);
      if (st != CT_OK) {
        return st;
      }
    }
  }
  return CT_OK;
}

/* A copy to be made strides or a coordinate of: without names. */
static CtNode *copy_nodes(const CtCx *cx, CtTuple t) {
  uint32_t len = t->len;
  CtNode *nodes = ct_arena_alloc(cx->arena, len * sizeof *nodes);
  for (uint32_t i = 0; nodes != NULL && i < len; i++) {
    nodes[i] = t[i];
    nodes[i].name = 0;
  }
  return nodes;
}

static CtStatus compact_major(const CtCx *cx, CtTuple shape, CtInt start, bool from_right,
                              CtTuple *out, CtErr *err) {
  CtNode *nodes = copy_nodes(cx, shape);
  if (nodes == NULL) {
    return ct_fail_nomem(err);
  }
  CtStatus st = compact(cx, nodes, start, from_right, err);
  if (st == CT_OK) {
    *out = nodes;
  }
  return st;
}

CtStatus ct_compact_col_major(const CtCx *cx, CtTuple shape, CtInt start, CtTuple *out,
                              CtErr *err) {
  return compact_major(cx, shape, start, false, out, err);
}

CtStatus ct_compact_row_major(const CtCx *cx, CtTuple shape, CtInt start, CtTuple *out,
                              CtErr *err) {
  return compact_major(cx, shape, start, true, out, err);
}

/* One integer of an order, and the part of the shape that it ranks. */
typedef struct Ranked {
  CtInt order;
  CtInt size;   /* of that part */
  uint32_t at;  /* its first node in the shape */
  uint32_t seq; /* position among all */
} Ranked;

typedef struct Order {
  const CtCx *cx;
  CtErr *err;
  CtTuple shape, order;
  Ranked *item;
  uint32_t n;
} Order;

static CtStatus fail_order(const Order *o) {
  return ct_fail(o->err, CT_EINVAL,
                 "ordered: order %s does not fit shape %s; give one value per mode, or one for a "
                 "whole mode",
                 ct_show_tuple(o->cx, o->order), ct_show_tuple(o->cx, o->shape));
}

/* Pairs the integers of `order` with the parts of `shape` that they cover. */
static CtStatus pair_order(Order *o, CtTuple shape, CtTuple order) {
  if (ct_is_leaf(order)) {
    Ranked *r = &o->item[o->n];
    *r = (Ranked){.order = order->i, .at = (uint32_t)(shape - o->shape), .seq = o->n++};
    return ct_product(o->cx, shape, &r->size, o->err);
  }
  if (ct_is_leaf(shape) || shape->rank != order->rank) {
    return fail_order(o);
  }
  for (CtTuple s = ct_first(shape), k = ct_first(order); k != ct_end(order);
       s = ct_next(s), k = ct_next(k)) {
    CtStatus st = pair_order(o, s, k);
    if (st != CT_OK) {
      return st;
    }
  }
  return CT_OK;
}

/* Does a vary faster than b? Not when they tie. */
static bool ranks_before(const Ranked *a, const Ranked *b) {
  bool sa = ct_is_static(a->order), sb = ct_is_static(b->order);
  if (sa && sb) {
    return a->order.v < b->order.v;
  }
  return sa != sb ? sa : a->seq < b->seq;
}

static CtStatus order_start(const Order *o, const Ranked *r, CtInt *start) {
  *start = ct_int(1);
  for (uint32_t k = 0; k < o->n; k++) {
    if (ranks_before(&o->item[k], r)) {
      CtStatus st = ct_int_op(o->cx, CT_INT_MUL, *start, o->item[k].size, start, o->err);
      if (st != CT_OK) {
        return st;
      }
    }
  }
  return CT_OK;
}

static CtStatus compact_ordered(Order *o, CtNode *nodes) {
  CtStatus st = pair_order(o, o->shape, o->order);
  for (uint32_t k = 0; st == CT_OK && k < o->n; k++) {
    CtInt start;
    st = order_start(o, &o->item[k], &start);
    if (st == CT_OK) {
      st = compact(o->cx, nodes + o->item[k].at, start, false, o->err);
    }
  }
  return st;
}

CtStatus ct_compact_order(const CtCx *cx, CtTuple shape, CtTuple order, CtTuple *out, CtErr *err) {
  Order o = {.cx = cx, .err = err, .shape = shape, .order = order};
  CtNode *nodes = copy_nodes(cx, shape);
  o.item = ct_arena_alloc(cx->arena, (size_t)ct_n_leaves(order) * sizeof *o.item);
  if (nodes == NULL || o.item == NULL) {
    return ct_fail_nomem(err);
  }
  if (ct_has_basis(order)) {
    return ct_fail(err, CT_EINVAL,
                   "ordered: order %s has basis elements, which have no order; expected numbers",
                   ct_show_tuple(cx, order));
  }
  CtStatus st = compact_ordered(&o, nodes);
  if (st == CT_OK) {
    *out = nodes;
  }
  return st;
}

/* --- construction ----------------------------------------------------------------------------- */

static CtStatus check_shape(const CtCx *cx, CtTuple shape, CtErr *err) {
  for (CtTuple p = shape; p != shape + shape->len; p++) {
    if (!ct_is_leaf(p)) {
      if (p->rank == 0 && p != shape) {
        return ct_fail(err, CT_EINVAL, "layout: empty mode in shape %s; expected extents",
                       ct_show_tuple(cx, shape));
      }
      continue;
    }
    if (p->i.kind == CT_ANY || p->i.basis_depth > 0) {
      return ct_fail(err, CT_EINVAL, "layout: extent %s in shape %s; expected a number",
                     ct_show_int(cx, p->i), ct_show_tuple(cx, shape));
    }
    if (p->i.kind == CT_STATIC && p->i.v < 0) {
      return ct_fail(err, CT_EINVAL,
                     "layout: extent %s in shape %s is negative; extents must be >= 0",
                     ct_show_int(cx, p->i), ct_show_tuple(cx, shape));
    }
  }
  return CT_OK;
}

static CtStatus check_stride(const CtCx *cx, CtTuple shape, CtTuple stride, CtErr *err) {
  if (!ct_congruent(shape, stride)) {
    return ct_fail(err, CT_EINVAL,
                   "layout: stride %s is not nested like shape %s; give one stride per extent",
                   ct_show_tuple(cx, stride), ct_show_tuple(cx, shape));
  }
  if (ct_has_any(stride)) {
    return ct_fail(err, CT_EINVAL, "layout: stride %s has a '_'; expected numbers",
                   ct_show_tuple(cx, stride));
  }
  return CT_OK;
}

CtStatus ct_layout_make(const CtCx *cx, CtTuple shape, CtTuple stride, CtLayout *out, CtErr *err) {
  CtTuple d = NULL;
  CtStatus st = check_shape(cx, shape, err);
  if (st != CT_OK) {
    return st;
  }
  if (stride == NULL) {
    st = ct_compact_col_major(cx, shape, ct_int(1), &d, err);
  } else {
    st = check_stride(cx, shape, stride, err);
    d = stride;
  }
  return st == CT_OK ? ct_layout_copy(cx->arena, (CtLayout){shape, d}, out, err) : st;
}

CtStatus ct_layout_row_major(const CtCx *cx, CtTuple shape, CtLayout *out, CtErr *err) {
  CtTuple stride = NULL;
  CtStatus st = ct_compact_row_major(cx, shape, ct_int(1), &stride, err);
  return st == CT_OK ? ct_layout_make(cx, shape, stride, out, err) : st;
}

CtStatus ct_layout_ordered(const CtCx *cx, CtTuple shape, CtTuple order, CtLayout *out,
                           CtErr *err) {
  CtTuple stride = NULL;
  CtStatus st = ct_compact_order(cx, shape, order, &stride, err);
  return st == CT_OK ? ct_layout_make(cx, shape, stride, out, err) : st;
}

CtStatus ct_layout_copy(CtArena *a, CtLayout l, CtLayout *out, CtErr *err) {
  CtLayout r = {ct_tuple_copy(a, l.shape), ct_tuple_copy(a, l.stride)};
  if (r.shape == NULL || r.stride == NULL) {
    return ct_fail_nomem(err);
  }
  *out = r;
  return CT_OK;
}

/* --- properties ------------------------------------------------------------------------------- */

CtLayout ct_mode(CtLayout l, int i) {
  return (CtLayout){ct_child(l.shape, i), ct_child(l.stride, i)};
}

bool ct_layout_equal(CtLayout a, CtLayout b) {
  return ct_tuple_equal(a.shape, b.shape) && ct_tuple_equal(a.stride, b.stride);
}

bool ct_layout_is_static(CtLayout l) { return ct_all_static(l.shape) && ct_all_static(l.stride); }

CtStatus ct_size(const CtCx *cx, CtLayout l, CtInt *out, CtErr *err) {
  return ct_product(cx, l.shape, out, err);
}

/* *sum += (shape - 1) * |stride| */
static CtStatus add_extent(const CtCx *cx, CtInt shape, CtInt stride, CtInt *sum, CtErr *err) {
  CtInt steps, reach;
  if (ct_is_const(stride, 0)) {
    return CT_OK;
  }
  if (stride.basis_depth > 0) {
    return ct_fail(err, CT_EINVAL,
                   "cosize: stride %s is a basis element; the values are coordinates, not numbers",
                   ct_show_int(cx, stride));
  }
  if (stride.kind == CT_STATIC && stride.v < 0) {
    CtStatus st = ct_int_op(cx, CT_INT_SUB, ct_int(0), stride, &stride, err);
    if (st != CT_OK) {
      return st;
    }
  }
  CtStatus st = ct_int_op(cx, CT_INT_SUB, shape, ct_int(1), &steps, err);
  if (st == CT_OK) {
    st = ct_int_op(cx, CT_INT_MUL, steps, stride, &reach, err);
  }
  return st == CT_OK ? ct_int_op(cx, CT_INT_ADD, *sum, reach, sum, err) : st;
}

static bool is_empty(CtTuple shape) {
  for (CtTuple p = shape; p != shape + shape->len; p++) {
    if (ct_is_leaf(p) && ct_is_const(p->i, 0)) {
      return true;
    }
  }
  return false;
}

CtStatus ct_cosize(const CtCx *cx, CtLayout l, CtInt *out, CtErr *err) {
  CtInt sum = ct_int(0);
  if (is_empty(l.shape)) {
    *out = sum;
    return CT_OK;
  }
  for (uint32_t i = 0; i < l.shape->len; i++) {
    if (ct_is_leaf(&l.shape[i])) {
      CtStatus st = add_extent(cx, l.shape[i].i, l.stride[i].i, &sum, err);
      if (st != CT_OK) {
        return st;
      }
    }
  }
  return ct_int_op(cx, CT_INT_ADD, sum, ct_int(1), out, err);
}

/* --- evaluation ------------------------------------------------------------------------------- */

static CtStatus fail_crd(const CtCx *cx, const char *op, CtTuple crd, CtTuple shape, CtErr *err) {
  return ct_fail(err, CT_EINVAL,
                 "%s: coordinate %s does not fit shape %s; give an integer, or a tuple nested like "
                 "the shape",
                 op, ct_show_tuple(cx, crd), ct_show_tuple(cx, shape));
}

/* Takes digits off a linear coordinate; divides only when the next digit is asked for. */
typedef struct Digits {
  CtInt rest, divisor;
} Digits;

static CtStatus skip_digit(const CtCx *cx, Digits *d, CtInt extent, CtErr *err) {
  return ct_int_op(cx, CT_INT_MUL, d->divisor, extent, &d->divisor, err);
}

/* The digit of `extent`; the last one is all that is left. */
static CtStatus take_digit(const CtCx *cx, Digits *d, CtInt extent, bool last, CtInt *digit,
                           CtErr *err) {
  CtStatus st = ct_int_op(cx, CT_INT_DIV, d->rest, d->divisor, &d->rest, err);
  *digit = d->rest;
  d->divisor = extent;
  if (st == CT_OK && !last) {
    st = ct_int_op(cx, CT_INT_MOD, d->rest, extent, digit, err);
  }
  return st;
}

static CtStatus add_product(const CtCx *cx, CtInt a, CtInt b, CtInt *sum, CtErr *err) {
  CtInt p;
  CtStatus st = ct_int_op(cx, CT_INT_MUL, a, b, &p, err);
  return st == CT_OK ? ct_int_op(cx, CT_INT_ADD, *sum, p, sum, err) : st;
}

/* *sum += l(c) for a linear coordinate c. */
static CtStatus add_linear(const CtCx *cx, CtInt c, CtLayout l, CtInt *sum, CtErr *err) {
  CtFlat f;
  Digits digits = {c, ct_int(1)};
  ct_flat_init(&f);
  CtStatus st = ct_flat_push_layout(&f, cx, l, true, err);
  for (int i = 0; st == CT_OK && i < f.n; i++) {
    CtInt digit;
    if (ct_is_const(f.mode[i].stride, 0)) {
      st = i == f.n - 1 ? CT_OK : skip_digit(cx, &digits, f.mode[i].shape, err);
      continue;
    }
    st = take_digit(cx, &digits, f.mode[i].shape, i == f.n - 1, &digit, err);
    if (st == CT_OK) {
      st = add_product(cx, digit, f.mode[i].stride, sum, err);
    }
  }
  return st;
}

/* *sum += l(crd); false in *fits when the nesting differs. */
static CtStatus add_index(const CtCx *cx, CtTuple crd, CtLayout l, CtInt *sum, bool *fits,
                          CtErr *err) {
  if (ct_is_leaf(crd)) {
    bool zero = crd->i.kind == CT_ANY || ct_is_const(crd->i, 0);
    return zero ? CT_OK : add_linear(cx, crd->i, l, sum, err);
  }
  if (ct_is_leaf(l.shape) || crd->rank != l.shape->rank) {
    *fits = false;
    return CT_OK;
  }
  CtLayout m = {ct_first(l.shape), ct_first(l.stride)};
  for (CtTuple c = ct_first(crd); *fits && c != ct_end(crd); c = ct_next(c)) {
    CtStatus st = add_index(cx, c, m, sum, fits, err);
    if (st != CT_OK) {
      return st;
    }
    m = (CtLayout){ct_next(m.shape), ct_next(m.stride)};
  }
  return CT_OK;
}

CtStatus ct_crd2idx(const CtCx *cx, CtTuple crd, CtLayout l, CtInt *out, CtErr *err) {
  CtInt sum = ct_int(0);
  bool fits = true;
  CtStatus st = add_index(cx, crd, l, &sum, &fits, err);
  if (st == CT_OK && !fits) {
    st = fail_crd(cx, "crd2idx", crd, l.shape, err);
  }
  if (st == CT_OK) {
    *out = sum;
  }
  return st;
}

/* Adds crd * weight to *sum, for parts of the shape from left to right; the weight of a part is the
   size of all before it. */
static CtStatus add_colex(const CtCx *cx, CtTuple crd, CtTuple shape, Running *weight, CtInt *sum,
                          bool *fits, CtErr *err) {
  if (ct_is_leaf(crd)) {
    CtInt w;
    CtInt c = crd->i.kind == CT_ANY ? ct_int(0) : crd->i;
    CtStatus st = ct_int_op(cx, CT_INT_MUL, weight->stride, weight->pending, &w, err);
    if (st == CT_OK) {
      st = ct_product(cx, shape, &weight->pending, err);
    }
    weight->stride = w;
    return st == CT_OK ? add_product(cx, c, w, sum, err) : st;
  }
  if (ct_is_leaf(shape) || crd->rank != shape->rank) {
    *fits = false;
    return CT_OK;
  }
  CtTuple s = ct_first(shape);
  for (CtTuple c = ct_first(crd); *fits && c != ct_end(crd); c = ct_next(c), s = ct_next(s)) {
    CtStatus st = add_colex(cx, c, s, weight, sum, fits, err);
    if (st != CT_OK) {
      return st;
    }
  }
  return CT_OK;
}

CtStatus ct_crd2idx_shape(const CtCx *cx, CtTuple crd, CtTuple shape, CtInt *out, CtErr *err) {
  CtInt sum = ct_int(0);
  Running weight = {ct_int(1), ct_int(1)};
  bool fits = true;
  CtStatus st = add_colex(cx, crd, shape, &weight, &sum, &fits, err);
  if (st == CT_OK && !fits) {
    st = fail_crd(cx, "crd2idx", crd, shape, err);
  }
  if (st == CT_OK) {
    *out = sum;
  }
  return st;
}

/* Appends the natural coordinate of the linear one c. */
static CtStatus split(const CtCx *cx, CtInt c, CtTuple shape, CtBuild *b, CtErr *err) {
  CtNode *nodes = copy_nodes(cx, shape);
  Digits digits = {c, ct_int(1)};
  if (nodes == NULL) {
    return ct_fail_nomem(err);
  }
  for (uint32_t i = 0; i < shape->len; i++) {
    bool last = i == shape->len - 1;
    if (ct_is_leaf(&nodes[i]) && ct_is_const(nodes[i].i, 1) && !last) {
      nodes[i].i = ct_int(0);
    } else if (ct_is_leaf(&nodes[i])) {
      CtInt extent = nodes[i].i;
      CtStatus st = take_digit(cx, &digits, extent, last, &nodes[i].i, err);
      if (st != CT_OK) {
        return st;
      }
    }
  }
  ct_build_copy(b, nodes, NULL);
  return CT_OK;
}

static CtStatus build_natural(const CtCx *cx, CtTuple crd, CtTuple shape, CtBuild *b, bool *fits,
                              CtErr *err) {
  if (ct_is_leaf(crd)) {
    return split(cx, crd->i, shape, b, err);
  }
  if (ct_is_leaf(shape) || crd->rank != shape->rank) {
    *fits = false;
    return CT_OK;
  }
  CtTuple s = ct_first(shape);
  ct_build_open(b);
  for (CtTuple c = ct_first(crd); *fits && c != ct_end(crd); c = ct_next(c), s = ct_next(s)) {
    CtStatus st = build_natural(cx, c, s, b, fits, err);
    if (st != CT_OK) {
      return st;
    }
  }
  ct_build_close(b);
  return CT_OK;
}

CtStatus ct_crd_natural(const CtCx *cx, CtTuple crd, CtTuple shape, CtTuple *out, CtErr *err) {
  CtBuild b;
  bool fits = true;
  ct_build_init(&b, cx->arena, "idx2crd", false, err);
  CtStatus st = build_natural(cx, crd, shape, &b, &fits, err);
  if (st == CT_OK && !fits) {
    st = fail_crd(cx, "idx2crd", crd, shape, err);
  }
  return st == CT_OK ? ct_build_finish(&b, out, NULL) : st;
}

CtStatus ct_idx2crd(const CtCx *cx, CtInt idx, CtTuple shape, CtTuple *out, CtErr *err) {
  CtNode leaf = {.rank = CT_LEAF, .len = 1, .i = idx};
  return ct_crd_natural(cx, &leaf, shape, out, err);
}

/* (idx / stride) % shape */
static CtStatus digit_at(const CtCx *cx, CtInt idx, CtInt shape, CtInt stride, CtInt *out,
                         CtErr *err) {
  if (ct_is_const(shape, 1)) {
    *out = ct_int(0);
    return CT_OK;
  }
  CtStatus st = ct_int_op(cx, CT_INT_DIV, idx, stride, out, err);
  return st == CT_OK ? ct_int_op(cx, CT_INT_MOD, *out, shape, out, err) : st;
}

CtStatus ct_idx2crd_layout(const CtCx *cx, CtInt idx, CtLayout l, CtTuple *out, CtErr *err) {
  CtNode *nodes = copy_nodes(cx, l.shape);
  if (nodes == NULL) {
    return ct_fail_nomem(err);
  }
  for (uint32_t i = 0; i < l.shape->len; i++) {
    if (!ct_is_leaf(&nodes[i])) {
      continue;
    }
    if (ct_is_const(l.stride[i].i, 0) && !ct_is_const(nodes[i].i, 1)) {
      return ct_fail(err, CT_EINVAL,
                     "idx2crd: stride 0 in layout %s; an index has a coordinate only where strides "
                     "are not 0",
                     ct_show_layout(cx, l));
    }
    CtStatus st = digit_at(cx, idx, l.shape[i].i, l.stride[i].i, &nodes[i].i, err);
    if (st != CT_OK) {
      return st;
    }
  }
  *out = nodes;
  return CT_OK;
}

static CtStatus build_crd2crd(const CtCx *cx, CtTuple crd, CtTuple from, CtTuple to, CtBuild *b,
                              CtErr *err) {
  if (ct_is_leaf(crd) || ct_is_leaf(from) || ct_is_leaf(to)) {
    CtInt idx;
    CtStatus st = ct_crd2idx_shape(cx, crd, from, &idx, err);
    return st == CT_OK ? split(cx, idx, to, b, err) : st;
  }
  if (crd->rank != from->rank || crd->rank != to->rank) {
    return ct_fail(
        err, CT_EINVAL,
        "crd2crd: coordinate %s, shape %s and shape %s differ in rank; expected one rank",
        ct_show_tuple(cx, crd), ct_show_tuple(cx, from), ct_show_tuple(cx, to));
  }
  CtTuple f = ct_first(from), t = ct_first(to);
  ct_build_open(b);
  for (CtTuple c = ct_first(crd); c != ct_end(crd); c = ct_next(c)) {
    CtStatus st = build_crd2crd(cx, c, f, t, b, err);
    if (st != CT_OK) {
      return st;
    }
    f = ct_next(f);
    t = ct_next(t);
  }
  ct_build_close(b);
  return CT_OK;
}

CtStatus ct_crd2crd(const CtCx *cx, CtTuple crd, CtTuple from, CtTuple to, CtTuple *out,
                    CtErr *err) {
  CtBuild b;
  ct_build_init(&b, cx->arena, "crd2crd", false, err);
  CtStatus st = build_crd2crd(cx, crd, from, to, &b, err);
  return st == CT_OK ? ct_build_finish(&b, out, NULL) : st;
}

/* Wraps around on overflow, as the caller has checked the cosize. */
int64_t ct_layout_at(CtLayout l, int64_t i) {
  uint64_t sum = 0;
  uint32_t last = l.shape->len - 1;
  for (uint32_t k = 0; k < last; k++) {
    if (ct_is_leaf(&l.shape[k])) {
      int64_t extent = l.shape[k].i.v;
      if (extent == 0) {
        return 0;
      }
      sum += (uint64_t)(i % extent) * (uint64_t)l.stride[k].i.v;
      i /= extent;
    }
  }
  return (int64_t)(sum + (uint64_t)i * (uint64_t)l.stride[last].i.v);
}
