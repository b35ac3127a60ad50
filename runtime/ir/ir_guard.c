/* ir_guard.c: what tiles of a tensor may overhang.

   A guarded view carries conditions (CtGuardAxis), each a linear function of its coordinates and a
   bound. A tile or a share of the threads that may not divide a mode adds one: the coordinate in that
   mode, below the mode's extent. From then on the function goes along with the view through
   everything that is done to it, as the layout of its memory does: both are linear in the coordinates
   of what the part was cut from, so that part's own coordinates (its identity layout, cut alike) give
   them. This is CuTe's idiom of identity tensors, one mode at a time and only where a mode needs it. */
#include "ir_build.h"

/* --- linear functions --------------------------------------------------------------------------- */

/* The stride for a basis element; NULL if it names no mode, or a mode that is a tuple. */
static CtTuple stride_at(CtTuple stride, CtInt basis) {
  for (int i = 0; i < basis.basis_depth; i++) {
    if (ct_is_leaf(stride) || basis.basis[i] >= stride->rank) {
      return NULL;
    }
    stride = ct_child(stride, basis.basis[i]);
  }
  return ct_is_leaf(stride) ? stride : NULL;
}

/* value * stride of the mode that its basis names. */
static CtInt scale(CtAlg *g, CtTuple stride, CtInt value) {
  CtTuple s = stride_at(stride, value);
  value.basis_depth = 0;
  if (ct_is_const(value, 0)) {
    return ct_int(0);
  }
  if (s == NULL) {
    al_fail(g, CT_EINVAL, "guard: the coordinates do not fit the tensor's modes");
    return value;
  }
  return al_mul(g, value, s->i);
}

/* *sum += the function at a coordinate. */
static void add_at(CtAlg *g, CtTuple stride, CtTuple at, CtInt *sum) {
  if (ct_is_leaf(at)) {
    *sum = al_add(g, *sum, scale(g, stride, at->i));
    return;
  }
  if (ct_is_leaf(stride) || at->rank > stride->rank) {
    al_fail(g, CT_EINVAL, "guard: the coordinates do not fit the tensor's modes");
    return;
  }
  for (int i = 0; i < at->rank; i++) {
    add_at(g, ct_child(stride, i), ct_child(at, i), sum);
  }
}

CtStatus ct_guard_along(const CtCx *cx, CtTuple stride, CtLayout coords, CtTuple at, CtTuple *out,
                        CtInt *start, CtErr *err) {
  CtAlg g = al_begin(cx, err);
  CtNode *nodes = al_nodes(&g, coords.stride);
  CtInt sum = ct_int(0);
  if (nodes != NULL) {
    add_at(&g, stride, at, &sum);
  }
  for (CtLeaves w = ct_leaves_of(coords.stride); nodes != NULL && ct_next_leaf(&w);) {
    nodes[w.at].i = scale(&g, stride, w.shape->i);
  }
  if (al_ok(&g)) {
    *out = nodes;
    *start = sum;
  }
  return g.status;
}

/* As a shape's strides, all 0. */
static CtNode *zeros_like(CtAlg *g, CtTuple shape) {
  CtNode *nodes = al_nodes(g, shape);
  for (uint32_t i = 0; nodes != NULL && i < shape->len; i++) {
    nodes[i].i = ct_int(0);
  }
  return nodes;
}

CtTuple ct_guard_zero(const CtCx *cx, CtTuple shape) {
  CtAlg g = al_begin(cx, NULL);
  return zeros_like(&g, shape);
}

CtStatus ct_guard_linear(const CtCx *cx, CtTuple shape, uint32_t from, CtTuple *out, CtErr *err) {
  CtAlg g = al_begin(cx, err);
  CtNode *nodes = zeros_like(&g, shape);
  CtInt weight = ct_int(1);
  for (CtLeaves w = ct_leaves_of(shape + from); nodes != NULL && ct_next_leaf(&w);) {
    nodes[from + w.at].i = weight;
    weight = al_mul(&g, weight, w.shape->i);
  }
  *out = nodes;
  return g.status;
}

/* --- what is known ------------------------------------------------------------------------------ */

static CtVal uncast(const CtIr *ir, CtVal v) {
  while (ct_inst(ir, v)->op == CT_OP_CAST && ct_is_int((CtDtype)ct_inst(ir, v)->type)) {
    v = ct_inst(ir, v)->args[0];
  }
  return v;
}

/* The variable of a loop stays below the loop's end. */
static bool counts_below(const CtIr *ir, CtInt x, CtInt n) {
  if (x.kind != CT_DYNAMIC) {
    return false;
  }
  const CtInst *loop = ct_inst(ir, uncast(ir, x.id));
  if (loop->op != CT_OP_FOR || ct_inst(ir, loop->args[2])->facts.lo <= 0) {
    return false;
  }
  CtInt stop = ct_ir_int(ir, uncast(ir, loop->args[1]));
  n = n.kind == CT_DYNAMIC ? ct_ir_int(ir, uncast(ir, n.id)) : n;
  return ct_int_equal(stop, n);
}

/* x < n whatever the launch: by their ranges, or as x counts a loop up to n. */
static bool is_below(const CtIr *ir, CtInt x, CtInt n) {
  return ct_ir_facts(ir, x).hi < ct_ir_facts(ir, n).lo || counts_below(ir, x, n);
}

static bool may_be_negative(const CtIr *ir, CtInt x) { return ct_ir_facts(ir, x).lo < 0; }

/* The most that a layout adds to its first index; INT64_MAX if that is not known. */
static int64_t reach(const CtIr *ir, CtTuple shape, CtTuple stride) {
  int64_t sum = 0, part;
  for (CtLeaves w = ct_leaves(shape, stride); ct_next_leaf(&w);) {
    int64_t steps = ct_ir_facts(ir, w.shape->i).hi - 1;
    int64_t step = ct_ir_facts(ir, w.stride->i).hi;
    if (ct_mul_overflow(steps, step, &part) || (part > 0 && ct_add_overflow(sum, part, &sum))) {
      return INT64_MAX;
    }
  }
  return sum;
}

static bool holds(const CtIr *ir, CtTuple shape, const CtGuardAxis *axis) {
  int64_t most = reach(ir, shape, axis->stride), last;
  if (most == 0) {
    return is_below(ir, axis->at, axis->bound);
  }
  return !ct_add_overflow(ct_ir_facts(ir, axis->at).hi, most, &last) &&
         last < ct_ir_facts(ir, axis->bound).lo;
}

static bool same_axis(const CtGuardAxis *a, const CtGuardAxis *b) {
  return ct_int_equal(a->at, b->at) && ct_int_equal(a->bound, b->bound) &&
         ct_tuple_equal(a->stride, b->stride);
}

/* --- axes --------------------------------------------------------------------------------------- */

CtStatus ct_ir_guard_add(CtIr *ir, CtGuard *g, CtTuple shape, CtGuardAxis axis, CtErr *err) {
  if (holds(ir, shape, &axis)) {
    return CT_OK;
  }
  for (int i = 0; i < g->n; i++) {
    if (same_axis(&g->axis[i], &axis)) {
      return CT_OK;
    }
  }
  if (g->n == CT_GUARD_MAX) {
    return ct_fail(err, CT_EUNSUPPORTED,
                   "guard: the tiles of a tensor may overhang in more than "
                   "%d ways; use tile sizes that divide those around them",
                   CT_GUARD_MAX);
  }
  g->axis[g->n++] = axis;
  return CT_OK;
}

static void add(CtAlg *g, CtIr *ir, CtGuard *guard, CtTuple shape, CtGuardAxis axis) {
  if (al_ok(g)) {
    g->status = ct_ir_guard_add(ir, guard, shape, axis, g->err);
  }
}

static void fix(CtAlg *g, CtIr *ir, CtGuard *guard, CtTuple shape, CtInt crd, CtInt size) {
  CtTuple none = zeros_like(g, shape);
  add(g, ir, guard, shape, (CtGuardAxis){crd, size, none});
  if (al_ok(g) && may_be_negative(ir, crd)) { /* -1 - crd < 0, where -crd could overflow */
    CtInt below = al_sub(g, ct_int(-1), crd);
    add(g, ir, guard, shape, (CtGuardAxis){below, ct_int(0), none});
  }
}

CtStatus ct_ir_guard_fix(CtIr *ir, CtGuard *guard, CtTuple shape, CtInt crd, CtInt size,
                         CtErr *err) {
  CtAlg g = ct_ir_alg(ir, err);
  fix(&g, ir, guard, shape, crd, size);
  return g.status;
}

/* The entries of a coordinate that are not `_`. */
static void fix_entries(CtAlg *g, CtIr *ir, CtGuard *guard, CtTuple rest, CtTuple crd,
                        CtTuple shape) {
  if (ct_is_leaf(crd)) {
    if (crd->i.kind != CT_ANY) {
      fix(g, ir, guard, rest, crd->i, al_product(g, shape));
    }
    return;
  }
  for (int i = 0; al_ok(g) && i < crd->rank && !ct_is_leaf(shape); i++) {
    fix_entries(g, ir, guard, rest, ct_child(crd, i), ct_child(shape, i));
  }
}

CtStatus ct_ir_guard_slice(CtIr *ir, const CtView *v, CtTuple crd, CtTuple rest, bool fixes,
                           CtGuard *out, CtErr *err) {
  CtAlg g = ct_ir_alg(ir, err);
  out->n = 0;
  for (int i = 0; al_ok(&g) && i < ct_guard_n(v); i++) {
    CtGuardAxis axis = v->guard->axis[i];
    CtLayout l = ct_guard_layout(v, &axis);
    axis.stride = al_keep(&g, "slice", true, crd, l).stride;
    axis.at = al_add(&g, axis.at, al_plain_index(&g, crd, l));
    add(&g, ir, out, rest, axis);
  }
  if (al_ok(&g) && fixes) {
    fix_entries(&g, ir, out, rest, crd, v->layout.shape);
  }
  return g.status;
}

/* --- one element -------------------------------------------------------------------------------- */

static bool is_wide(const CtIr *ir, CtInt i) {
  return i.kind == CT_DYNAMIC ? ct_inst(ir, i.id)->type == CT_i64 : i.v != (int32_t)i.v;
}

/* The x of `-1 - x < 0`, as fix() has it: 0 <= x is easier to read. Or 0. */
static CtVal not_negative(const CtIr *ir, CtInt a, CtInt b) {
  const CtInst *inst = a.kind == CT_DYNAMIC ? ct_inst(ir, a.id) : NULL;
  if (inst == NULL || inst->op != CT_OP_SUB || !ct_is_static(b) || b.v != 0) {
    return 0;
  }
  CtInt from = ct_ir_int(ir, inst->args[0]);
  return ct_is_static(from) && from.v == -1 ? inst->args[1] : 0;
}

static CtVal less(CtIr *ir, CtInt a, CtInt b) {
  CtVal x0 = not_negative(ir, a, b);
  if (x0 != 0) {
    CtVal zero = ct_ir_const_int(ir, (CtDtype)ct_inst(ir, x0)->type, 0);
    return ct_ir_binary(ir, CT_OP_LE, zero, x0);
  }
  CtDtype type = is_wide(ir, a) || is_wide(ir, b) ? CT_i64 : CT_i32;
  CtVal x = ct_ir_val(ir, a, type), y = ct_ir_val(ir, b, type);
  return ct_ir_binary(ir, CT_OP_LT, x, y);
}

static CtStatus and_less(CtIr *ir, CtTuple a, CtTuple b, CtVal *all, CtErr *err) {
  if (ct_is_leaf(a) != ct_is_leaf(b)) {
    return ct_fail(err, CT_EINVAL,
                   "elem_less: an integer is compared with a tuple; expected "
                   "coordinates of the same nesting");
  }
  if (ct_is_leaf(a)) {
    *all = ct_ir_binary(ir, CT_OP_LAND, *all, less(ir, a->i, b->i));
    return CT_OK;
  }
  if (a->rank > b->rank) {
    *all = ct_ir_const_int(ir, CT_bool, 0);
  }
  for (int i = 0; i < a->rank && i < b->rank; i++) {
    CtStatus status = and_less(ir, ct_child(a, i), ct_child(b, i), all, err);
    if (status != CT_OK) {
      return status;
    }
  }
  return CT_OK;
}

CtStatus ct_ir_elem_less(CtIr *ir, CtTuple a, CtTuple b, CtVal *out, CtErr *err) {
  *out = ct_ir_const_int(ir, CT_bool, 1);
  return and_less(ir, a, b, out, err);
}

CtStatus ct_ir_guard_test(CtIr *ir, CtView v, CtTuple crd, bool fix, CtVal *out, CtErr *err) {
  static const CtNode one = {.rank = CT_LEAF, .len = 1, .i = {.v = 1}};
  CtGuard g;
  crd = ct_ir_coordinate(ir, v.buf, crd);
  if (crd == NULL) {
    return ct_fail_nomem(err);
  }
  CtStatus status = ct_ir_guard_slice(ir, &v, crd, &one, fix, &g, err);
  *out = ct_ir_const_int(ir, CT_bool, 1);
  for (int i = 0; status == CT_OK && i < g.n; i++) {
    CtVal inside = less(ir, g.axis[i].at, g.axis[i].bound);
    *out = ct_ir_binary(ir, CT_OP_LAND, *out, inside);
  }
  return status;
}
