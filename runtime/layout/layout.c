/* layout.c: layouts as values: compact strides, construction, sizes, evaluation. */
#include "layout_algebra.h"

#include <stdio.h>

/* --- compact strides -------------------------------------------------------------------------- */

/* Writes compact strides over the leaves of `nodes`, a copy of the shape. Computes the next stride
   only when a mode needs it. */
static void compact(CtAlg *g, CtNode *nodes, CtInt stride, bool from_right) {
  CtInt pending = ct_int(1); /* extent of the last mode, not multiplied in yet */
  uint32_t len = nodes->len;
  for (uint32_t k = 0; k < len; k++) {
    CtNode *n = &nodes[from_right ? len - 1 - k : k];
    if (ct_is_leaf(n) && ct_is_const(n->i, 1)) {
      n->i = ct_int(0);
    } else if (ct_is_leaf(n)) {
      stride = al_mul(g, stride, pending);
      pending = n->i;
      n->i = stride;
    }
  }
}

CtTuple al_compact(CtAlg *g, CtTuple shape, CtInt start, bool from_right) {
  CtNode *nodes = al_nodes(g, shape);
  if (nodes != NULL) {
    compact(g, nodes, start, from_right);
  }
  return nodes;
}

/* One integer of an order, and the part of the shape that it ranks. */
typedef struct Ranked {
  CtInt order;
  CtInt size;   /* size of that part */
  uint32_t at;  /* its first node in the shape */
  uint32_t seq; /* position among all */
} Ranked;

typedef struct Order {
  CtAlg *g;
  CtTuple shape, order;
  Ranked *item;
  uint32_t n;
} Order;

/* Pairs the integers of `order` with the parts of `shape` that they cover. */
static void pair_order(Order *o, CtTuple shape, CtTuple order) {
  if (ct_is_leaf(order)) {
    o->item[o->n] = (Ranked){.order = order->i,
                             .size = al_product(o->g, shape),
                             .at = (uint32_t)(shape - o->shape),
                             .seq = o->n};
    o->n++;
    return;
  }
  if (ct_is_leaf(shape) || shape->rank != order->rank) {
    al_fail(o->g, CT_EINVAL,
            "ordered: order %s does not fit shape %s; give one value per mode, or one for a whole "
            "mode",
            al_show_tuple(o->g, o->order), al_show_tuple(o->g, o->shape));
    return;
  }
  CtTuple s = ct_first(shape);
  for (CtTuple k = ct_first(order); k != ct_end(order); s = ct_next(s), k = ct_next(k)) {
    pair_order(o, s, k);
  }
}

/* Does a vary faster than b? False for a tie. */
static bool ranks_before(const Ranked *a, const Ranked *b) {
  bool sa = ct_is_static(a->order), sb = ct_is_static(b->order);
  if (sa && sb) {
    return a->order.v < b->order.v;
  }
  return sa != sb ? sa : a->seq < b->seq;
}

static CtInt order_start(const Order *o, const Ranked *r) {
  CtInt start = ct_int(1);
  for (uint32_t k = 0; k < o->n; k++) {
    if (ranks_before(&o->item[k], r)) {
      start = al_mul(o->g, start, o->item[k].size);
    }
  }
  return start;
}

CtTuple al_compact_order(CtAlg *g, CtTuple shape, CtTuple order) {
  CtNode *nodes = al_nodes(g, shape);
  size_t n = al_ok(g) ? (size_t)ct_n_leaves(order) : 0;
  Order o = {.g = g, .shape = shape, .order = order, .item = al_alloc(g, n, sizeof *o.item)};
  if (!al_ok(g)) {
    return NULL;
  }
  if (ct_has_basis(order)) {
    al_fail(g, CT_EINVAL,
            "ordered: order %s has basis elements, which have no order; expected numbers",
            al_show_tuple(g, order));
  }
  pair_order(&o, shape, order);
  for (uint32_t k = 0; al_ok(g) && k < o.n; k++) {
    compact(g, nodes + o.item[k].at, order_start(&o, &o.item[k]), false);
  }
  return nodes;
}

/* --- construction ----------------------------------------------------------------------------- */

static void check_shape(CtAlg *g, CtTuple shape) {
  for (CtTuple p = shape; al_ok(g) && p != shape + shape->len; p++) {
    if (!ct_is_leaf(p) && p->rank == 0 && p != shape) {
      al_fail(g, CT_EINVAL, "layout: empty mode in shape %s; expected extents",
              al_show_tuple(g, shape));
    }
    if (ct_is_leaf(p) && (p->i.kind == CT_ANY || p->i.basis_depth > 0)) {
      al_fail(g, CT_EINVAL, "layout: extent %s in shape %s; expected a number",
              al_show_int(g, p->i), al_show_tuple(g, shape));
    }
    if (ct_is_leaf(p) && p->i.kind == CT_STATIC && p->i.v < 0) {
      al_fail(g, CT_EINVAL, "layout: extent %s in shape %s is negative; extents must be >= 0",
              al_show_int(g, p->i), al_show_tuple(g, shape));
    }
  }
}

static void check_stride(CtAlg *g, CtTuple shape, CtTuple stride) {
  if (!ct_congruent(shape, stride)) {
    al_fail(g, CT_EINVAL,
            "layout: stride %s is not nested like shape %s; write one stride per extent",
            al_show_tuple(g, stride), al_show_tuple(g, shape));
  }
  if (ct_has_any(stride)) {
    al_fail(g, CT_EINVAL, "layout: stride %s has a '_'; expected numbers",
            al_show_tuple(g, stride));
  }
}

CtLayout al_layout(CtAlg *g, CtTuple shape, CtTuple stride) {
  check_shape(g, shape);
  if (stride == NULL) {
    stride = al_compact(g, shape, ct_int(1), false);
  } else if (al_ok(g)) {
    check_stride(g, shape, stride);
  }
  return al_copy(g, (CtLayout){shape, stride});
}

CtLayout al_row_major(CtAlg *g, CtTuple shape) {
  return al_layout(g, shape, al_compact(g, shape, ct_int(1), true));
}

CtLayout al_ordered(CtAlg *g, CtTuple shape, CtTuple order) {
  return al_layout(g, shape, al_compact_order(g, shape, order));
}

CtLayout al_copy(CtAlg *g, CtLayout l) {
  CtLayout r = {al_tuple_copy(g, l.shape), al_tuple_copy(g, l.stride)};
  return al_ok(g) ? r : AL_NO_LAYOUT;
}

/* --- properties ------------------------------------------------------------------------------- */

CtLayout ct_mode(CtLayout l, int i) {
  return (CtLayout){ct_child(l.shape, i), ct_child(l.stride, i)};
}

bool ct_layout_equal(CtLayout a, CtLayout b) {
  return ct_tuple_equal(a.shape, b.shape) && ct_tuple_equal(a.stride, b.stride);
}

bool ct_layout_is_static(CtLayout l) { return ct_all_static(l.shape) && ct_all_static(l.stride); }

CtInt al_size(CtAlg *g, CtLayout l) { return al_product(g, l.shape); }

/* sum + (shape - 1) * |stride| */
static CtInt add_extent(CtAlg *g, CtInt sum, CtInt shape, CtInt stride) {
  if (ct_is_const(stride, 0)) {
    return sum;
  }
  if (stride.basis_depth > 0) {
    al_fail(g, CT_EINVAL,
            "cosize: stride %s is a basis element; the values are coordinates, not numbers",
            al_show_int(g, stride));
  }
  if (stride.kind == CT_STATIC && stride.v < 0) {
    stride = al_sub(g, ct_int(0), stride);
  }
  CtInt steps = al_sub(g, shape, ct_int(1));
  return al_add(g, sum, al_mul(g, steps, stride));
}

static bool is_empty(CtTuple shape) {
  for (CtLeaves w = ct_leaves_of(shape); ct_next_leaf(&w);) {
    if (ct_is_const(w.shape->i, 0)) {
      return true;
    }
  }
  return false;
}

CtInt al_plain_cosize(CtAlg *g, CtLayout l) {
  CtInt sum = ct_int(0);
  if (is_empty(l.shape)) {
    return sum;
  }
  for (CtLeaves w = ct_layout_leaves(l); ct_next_leaf(&w);) {
    sum = add_extent(g, sum, w.shape->i, w.stride->i);
  }
  return al_add(g, sum, ct_int(1));
}

/* --- evaluation ------------------------------------------------------------------------------- */

void al_check_crd(CtAlg *g, const char *op, CtTuple crd, CtTuple shape, const char *expected) {
  if (al_ok(g) && !ct_is_leaf(crd) && !ct_weakly_congruent(crd, shape)) {
    char modes[64] = "";
    int n = ct_is_leaf(shape) ? 1 : shape->rank;
    if (crd->rank != n) {
      snprintf(modes, sizeof modes, ": it has %d modes, not %d", (int)crd->rank, n);
    }
    al_fail(g, CT_EINVAL, "%s: coordinate %s does not fit shape %s%s; %s", op,
            al_show_tuple(g, crd), al_show_tuple(g, shape), modes, expected);
  }
}

#define INTEGER_OR_NESTED "write an integer, or a tuple nested like the shape"

/* Takes digits off a linear coordinate; divides only when the caller takes the next digit. */
typedef struct Digits {
  CtInt rest, divisor;
} Digits;

/* The digit of `extent`; the last digit is the whole rest. */
static CtInt take_digit(CtAlg *g, Digits *d, CtInt extent, bool last) {
  d->rest = al_div(g, d->rest, d->divisor);
  d->divisor = extent;
  return last ? d->rest : al_mod(g, d->rest, extent);
}

/* *sum += l(c) for a linear coordinate c. */
static void add_linear(CtAlg *g, CtInt c, CtLayout l, CtInt *sum) {
  CtFlat f;
  Digits digits = {c, ct_int(1)};
  ct_flat_init(&f, g);
  ct_flat_push_layout(&f, l, true);
  for (int i = 0; i < f.n; i++) {
    CtFlatMode m = f.mode[i];
    bool last = i == f.n - 1;
    if (!ct_is_const(m.stride, 0)) {
      *sum = al_add(g, *sum, al_mul(g, take_digit(g, &digits, m.shape, last), m.stride));
    } else if (!last) {
      digits.divisor = al_mul(g, digits.divisor, m.shape);
    }
  }
}

/* *sum += l(crd). crd must fit l's shape. */
static void add_index(CtAlg *g, CtTuple crd, CtLayout l, CtInt *sum) {
  if (ct_is_leaf(crd)) {
    if (crd->i.kind != CT_ANY && !ct_is_const(crd->i, 0)) {
      add_linear(g, crd->i, l, sum);
    }
    return;
  }
  CtLayout m = {ct_first(l.shape), ct_first(l.stride)};
  for (CtTuple c = ct_first(crd); c != ct_end(crd); c = ct_next(c)) {
    add_index(g, c, m, sum);
    m = (CtLayout){ct_next(m.shape), ct_next(m.stride)};
  }
}

CtInt al_plain_index(CtAlg *g, CtTuple crd, CtLayout l) {
  CtInt sum = ct_int(0);
  al_check_crd(g, "crd2idx", crd, l.shape, INTEGER_OR_NESTED);
  if (al_ok(g)) {
    add_index(g, crd, l, &sum);
  }
  return sum;
}

/* The colexicographic number so far. The weight of the next part of the shape is the size of all
   parts before it, multiplied only when it is needed. */
typedef struct Colex {
  CtInt sum, weight, pending;
} Colex;

static void add_colex(CtAlg *g, CtTuple crd, CtTuple shape, Colex *x) {
  if (ct_is_leaf(crd)) {
    CtInt c = crd->i.kind == CT_ANY ? ct_int(0) : crd->i;
    x->weight = al_mul(g, x->weight, x->pending);
    x->pending = al_product(g, shape);
    x->sum = al_add(g, x->sum, al_mul(g, c, x->weight));
    return;
  }
  CtTuple s = ct_first(shape);
  for (CtTuple c = ct_first(crd); c != ct_end(crd); c = ct_next(c), s = ct_next(s)) {
    add_colex(g, c, s, x);
  }
}

CtInt al_crd2idx(CtAlg *g, CtTuple crd, CtTuple shape) {
  Colex x = {ct_int(0), ct_int(1), ct_int(1)};
  al_check_crd(g, "crd2idx", crd, shape, INTEGER_OR_NESTED);
  if (al_ok(g)) {
    add_colex(g, crd, shape, &x);
  }
  return x.sum;
}

/* Appends the natural coordinate of the linear one c. */
static void split(CtInt c, CtTuple shape, CtBuild *b) {
  CtNode *nodes = al_nodes(b->g, shape);
  Digits digits = {c, ct_int(1)};
  for (CtLeaves w = ct_leaves_of(shape); nodes != NULL && ct_next_leaf(&w);) {
    bool last = w.at == shape->len - 1;
    nodes[w.at].i = ct_is_const(w.shape->i, 1) && !last
                        ? ct_int(0)
                        : take_digit(b->g, &digits, w.shape->i, last);
  }
  ct_build_copy(b, nodes, NULL);
}

static void build_natural(CtTuple crd, CtTuple shape, CtBuild *b) {
  if (ct_is_leaf(crd)) {
    split(crd->i, shape, b);
    return;
  }
  CtTuple s = ct_first(shape);
  ct_build_open(b);
  for (CtTuple c = ct_first(crd); c != ct_end(crd); c = ct_next(c), s = ct_next(s)) {
    build_natural(c, s, b);
  }
  ct_build_close(b);
}

CtTuple al_natural(CtAlg *g, CtTuple crd, CtTuple shape) {
  CtBuild b;
  ct_build_init(&b, g, "idx2crd", false);
  al_check_crd(g, "idx2crd", crd, shape, INTEGER_OR_NESTED);
  if (al_ok(g)) {
    build_natural(crd, shape, &b);
  }
  return ct_build_take(&b, 0);
}

CtTuple al_idx2crd(CtAlg *g, CtInt idx, CtLayout l) {
  CtNode *nodes = al_nodes(g, l.shape);
  for (CtLeaves w = ct_layout_leaves(l); nodes != NULL && al_ok(g) && ct_next_leaf(&w);) {
    CtInt extent = w.shape->i, stride = w.stride->i;
    if (ct_is_const(extent, 1)) {
      nodes[w.at].i = ct_int(0);
    } else if (ct_is_const(stride, 0)) {
      al_fail(g, CT_EINVAL,
              "idx2crd: stride 0 in layout %s; an index has a coordinate only where strides are "
              "not 0",
              al_show_layout(g, l));
    } else {
      nodes[w.at].i = al_mod(g, al_div(g, idx, stride), extent);
    }
  }
  return al_ok(g) ? nodes : NULL;
}

static void build_crd2crd(CtTuple crd, CtTuple from, CtTuple to, CtBuild *b) {
  CtAlg *g = b->g;
  if (ct_is_leaf(crd) || ct_is_leaf(from) || ct_is_leaf(to)) {
    split(al_crd2idx(g, crd, from), to, b);
    return;
  }
  if (crd->rank != from->rank || crd->rank != to->rank) {
    al_fail(g, CT_EINVAL,
            "crd2crd: coordinate %s, shape %s and shape %s differ in rank; expected one rank",
            al_show_tuple(g, crd), al_show_tuple(g, from), al_show_tuple(g, to));
    return;
  }
  CtTuple f = ct_first(from), t = ct_first(to);
  ct_build_open(b);
  for (CtTuple c = ct_first(crd); c != ct_end(crd); c = ct_next(c)) {
    build_crd2crd(c, f, t, b);
    f = ct_next(f);
    t = ct_next(t);
  }
  ct_build_close(b);
}

CtTuple al_crd2crd(CtAlg *g, CtTuple crd, CtTuple from, CtTuple to) {
  CtBuild b;
  ct_build_init(&b, g, "crd2crd", false);
  if (al_ok(g)) {
    build_crd2crd(crd, from, to, &b);
  }
  return ct_build_take(&b, 0);
}

/* Wraps around on overflow, because the caller has checked the cosize. */
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
