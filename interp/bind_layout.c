/* bind_layout.c: layouts in Lua. Each function of the algebra is one C function, which scripts call
   as coalesce(L) and as L:coalesce(). */
#include <string.h>

#include "bind.h"

/* In this file a CtComposed is any layout; operations on the coordinates change its layout only. */
static int push_layout(lua_State *L, CtStatus st, const CtComposed *l, const CtErr *err) {
  diag_check(L, st, err);
  bind_push_composed(L, l);
  return 1;
}

/* Likewise of an operation on the layouts or tuples that are arguments 1 to n. */
static int push_made(lua_State *L, CtStatus st, const CtComposed *l, const CtErr *err,
                     const char *op, int n) {
  diag_check(L, st, err);
  bind_push_made_composed(L, l, op, n);
  return 1;
}

static CtComposed nothing(void) { return (CtComposed){.is_swizzled = false}; }

/* {====== Making layouts ====== */

/* layout(shape[, stride]); of one argument whatever stands for a layout. */
static int layout(lua_State *L) {
  CtErr err;
  CtComposed l = nothing();
  CtCx cx = bind_enter(L);
  if (lua_isnoneornil(L, 2)) {
    l = bind_to_composed(L, 1, &cx, "layout");
    return push_layout(L, CT_OK, &l, NULL);
  }
  CtTuple shape = bind_to_shape(L, 1, &cx, "layout");
  CtTuple stride = bind_to_tuple(L, 2, &cx, "layout");
  return push_layout(L, ct_layout_make(&cx, shape, stride, &l.layout, &err), &l, &err);
}

/* L"(4,8):(8,1)" */
static int literal(lua_State *L) {
  CtCx cx = bind_enter(L);
  if (lua_type(L, 1) != LUA_TSTRING) {
    return diag_type_error(L, 1, "L", "a text like \"(4,8):(8,1)\"");
  }
  CtComposed l = bind_to_composed(L, 1, &cx, "L");
  bind_push_composed(L, &l);
  return 1;
}

/* The one argument; extents listed side by side would lose all but the first. */
static CtTuple to_only_shape(lua_State *L, const CtCx *cx, const char *op) {
  CtTuple shape = bind_to_shape(L, 1, cx, op);
  if (lua_gettop(L) > 1) {
    diag_error(L, "%s: %d arguments; one shape was expected: %s{4, 8}", op, lua_gettop(L), op);
  }
  return shape;
}

static int row_major(lua_State *L) {
  CtErr err;
  CtComposed l = nothing();
  CtCx cx = bind_enter(L);
  CtTuple shape = to_only_shape(L, &cx, "row_major");
  return push_layout(L, ct_layout_row_major(&cx, shape, &l.layout, &err), &l, &err);
}

static int col_major(lua_State *L) {
  CtErr err;
  CtComposed l = nothing();
  CtCx cx = bind_enter(L);
  CtTuple shape = to_only_shape(L, &cx, "col_major");
  return push_layout(L, ct_layout_make(&cx, shape, NULL, &l.layout, &err), &l, &err);
}

static int ordered(lua_State *L) {
  CtErr err;
  CtComposed l = nothing();
  CtCx cx = bind_enter(L);
  CtTuple shape = bind_to_shape(L, 1, &cx, "ordered");
  CtTuple order = bind_to_tuple(L, 2, &cx, "ordered");
  return push_layout(L, ct_layout_ordered(&cx, shape, order, &l.layout, &err), &l, &err);
}

/* identity(shape): its values are its own coordinates. */
static int identity(lua_State *L) {
  CtErr err;
  CtComposed l = nothing();
  CtCx cx = bind_enter(L);
  CtTuple shape = to_only_shape(L, &cx, "identity");
  return push_layout(L, ct_identity(&cx, shape, &l.layout, &err), &l, &err);
}

/* {====== Asking: size(L), size(L, mode...) ====== */

/* The layout of argument 1, or its mode at the path that follows. */
static CtComposed to_mode(lua_State *L, const CtCx *cx, const char *op) {
  CtErr err;
  int path[CT_MAX_DEPTH];
  CtComposed l = bind_to_composed(L, 1, cx, op);
  int n = bind_to_mode_path(L, 2, cx, l.layout, path, op);
  diag_check(L, n == 0 ? CT_OK : ct_mode_at(cx, l.layout, n, path, &l.layout, &err), &err);
  return l;
}

static int size(lua_State *L) {
  CtErr err;
  CtInt i;
  CtCx cx = bind_enter(L);
  diag_check(L, ct_size(&cx, to_mode(L, &cx, "size").layout, &i, &err), &err);
  bind_push_int(L, i);
  return 1;
}

static int cosize(lua_State *L) {
  CtErr err;
  CtInt i;
  CtCx cx = bind_enter(L);
  CtComposed l = to_mode(L, &cx, "cosize");
  diag_check(L, ct_composed_cosize(&cx, &l, &i, &err), &err);
  bind_push_int(L, i);
  return 1;
}

static int rank(lua_State *L) {
  CtCx cx = bind_enter(L);
  lua_pushinteger(L, ct_layout_rank(to_mode(L, &cx, "rank").layout));
  return 1;
}

static int depth(lua_State *L) {
  CtCx cx = bind_enter(L);
  lua_pushinteger(L, ct_depth(to_mode(L, &cx, "depth").layout.shape));
  return 1;
}

static int shape(lua_State *L) {
  CtCx cx = bind_enter(L);
  bind_push_tuple(L, to_mode(L, &cx, "shape").layout.shape);
  return 1;
}

/* Under a swizzle an index is no sum of strides. */
static int push_stride(lua_State *L, const CtCx *cx, const CtComposed *l) {
  if (l->is_swizzled) {
    return diag_error(L,
                      "stride: %s is swizzled and has no strides; those of its layout are "
                      "L.layout.stride",
                      bind_composed_text(cx, l));
  }
  bind_push_tuple(L, l->layout.stride);
  return 1;
}

static int stride(lua_State *L) {
  CtCx cx = bind_enter(L);
  CtComposed l = to_mode(L, &cx, "stride");
  return push_stride(L, &cx, &l);
}

/* The indices at 0, 1, 2, ... as a list. */
static int values(lua_State *L) {
  CtErr err;
  CtInt n;
  CtCx cx = bind_enter(L);
  CtComposed l = bind_to_composed(L, 1, &cx, "values");
  diag_check(L, ct_size(&cx, l.layout, &n, &err), &err);
  if (!ct_composed_is_static(&l)) {
    return diag_error(L,
                      "values: the layout %s has run-time extents or strides; they must be static",
                      bind_composed_text(&cx, &l));
  }
  lua_createtable(L, n.v < INT32_MAX ? (int)n.v : 0, 0);
  for (int64_t i = 0; i < n.v; i++) {
    CtNode crd = {.rank = CT_LEAF, .len = 1, .i = ct_int(i)};
    bind_push_value(L, &cx, &crd, &l);
    lua_rawseti(L, -2, i + 1);
  }
  return 1;
}

/* {====== The list of modes ====== */

static int mode(lua_State *L) {
  CtCx cx = bind_enter(L);
  if (lua_gettop(L) < 2) {
    return diag_type_error(L, 2, "mode", "a mode number");
  }
  CtComposed l = to_mode(L, &cx, "mode");
  bind_push_composed(L, &l);
  return 1;
}

static int concat(lua_State *L) {
  CtErr err;
  CtComposed l = nothing();
  CtCx cx = bind_enter(L);
  int n = lua_gettop(L);
  CtLayout *modes = ct_arena_alloc(cx.arena, ((size_t)n + 1) * sizeof *modes);
  if (modes == NULL) {
    ct_fail_nomem(&err);
    diag_raise(L, &err);
  }
  for (int i = 0; i < n; i++) {
    modes[i] = bind_to_layout(L, i + 1, &cx, "concat");
  }
  return push_layout(L, ct_layout_concat(&cx, n, modes, &l.layout, &err), &l, &err);
}

typedef CtStatus (*RangeOp)(const CtCx *, CtLayout, int, int, CtLayout *, CtErr *);

/* group(L, first, last), take(L, first, last): modes first to last - 1; a name as the last one is
   that of the last mode itself. */
static int range_op(lua_State *L, const char *op, RangeOp fn) {
  CtErr err;
  CtCx cx = bind_enter(L);
  CtComposed l = bind_to_composed(L, 1, &cx, op);
  int first = bind_to_mode(L, 2, &cx, l.layout, op);
  int last = bind_to_mode(L, 3, &cx, l.layout, op) + (lua_type(L, 3) == LUA_TSTRING);
  return push_layout(L, fn(&cx, l.layout, first, last, &l.layout, &err), &l, &err);
}

static int group(lua_State *L) { return range_op(L, "group", ct_group); }
static int take(lua_State *L) { return range_op(L, "take", ct_take); }

/* The modes of l that are given as arguments from 2 on, or as a table there. */
static int to_modes(lua_State *L, const CtCx *cx, CtLayout l, int modes[CT_MAX_DEPTH]) {
  int n = lua_gettop(L) - 1;
  if (n == 1 && lua_type(L, 2) == LUA_TTABLE) {
    n = (int)lua_rawlen(L, 2);
    luaL_checkstack(L, n < CT_MAX_DEPTH ? n : CT_MAX_DEPTH, NULL);
    for (int i = 0; i < n && i < CT_MAX_DEPTH; i++) {
      lua_rawgeti(L, 2, i + 1);
    }
    lua_remove(L, 2);
  }
  if (n > CT_MAX_DEPTH) {
    diag_error(L, "select: %d modes; at most %d were expected", n, CT_MAX_DEPTH);
  }
  for (int i = 0; i < n; i++) {
    modes[i] = bind_to_mode(L, 2 + i, cx, l, "select");
  }
  return n;
}

/* select(L, mode...) of a layout; of anything else Lua's own, upvalue 1. */
static int select(lua_State *L) {
  CtErr err;
  int modes[CT_MAX_DEPTH];
  int type = lua_type(L, 1);
  bool is_lua = type == LUA_TNUMBER || (type == LUA_TSTRING && *lua_tostring(L, 1) == '#');
  if (is_lua && !lua_isnil(L, lua_upvalueindex(1))) {
    lua_pushvalue(L, lua_upvalueindex(1));
    lua_insert(L, 1);
    lua_call(L, lua_gettop(L) - 1, LUA_MULTRET);
    return lua_gettop(L);
  }
  CtCx cx = bind_enter(L);
  CtComposed l = bind_to_composed(L, 1, &cx, "select");
  int n = to_modes(L, &cx, l.layout, modes);
  return push_layout(L, ct_select(&cx, l.layout, n, modes, &l.layout, &err), &l, &err);
}

typedef CtStatus (*ExtendOp)(const CtCx *, CtLayout, CtLayout, int, CtLayout *, CtErr *);

/* append(L, x[, rank]), prepend(L, x[, rank]) */
static int extend(lua_State *L, const char *op, ExtendOp fn) {
  CtErr err;
  CtCx cx = bind_enter(L);
  CtComposed l = bind_to_composed(L, 1, &cx, op);
  CtLayout x = bind_to_layout(L, 2, &cx, op);
  int to = lua_isnoneornil(L, 3) ? 0 : bind_to_index(L, 3, 0, CT_MAX_NODES, op, "rank");
  return push_layout(L, fn(&cx, l.layout, x, to, &l.layout, &err), &l, &err);
}

static int append(lua_State *L) { return extend(L, "append", ct_append); }
static int prepend(lua_State *L) { return extend(L, "prepend", ct_prepend); }

static int replace(lua_State *L) {
  CtErr err;
  CtCx cx = bind_enter(L);
  CtComposed l = bind_to_composed(L, 1, &cx, "replace");
  int i = bind_to_mode(L, 2, &cx, l.layout, "replace");
  CtLayout x = bind_to_layout(L, 3, &cx, "replace");
  return push_layout(L, ct_replace(&cx, l.layout, i, x, &l.layout, &err), &l, &err);
}

/* {====== The algebra: functions of one kind share their body ====== */

typedef CtStatus (*UnaryOp)(const CtCx *, CtLayout, CtLayout *, CtErr *);
typedef CtStatus (*ProfileOp)(const CtCx *, CtLayout, CtTuple, CtLayout *, CtErr *);
typedef CtStatus (*TilerOp)(const CtCx *, CtLayout, CtTiler, CtLayout *, CtErr *);
typedef CtStatus (*BinaryOp)(const CtCx *, CtLayout, CtLayout, CtLayout *, CtErr *);
typedef CtStatus (*InverseOp)(const CtCx *, const CtComposed *, CtComposed *, CtErr *);

/* On the coordinates: a swizzle and its offset stay. */
static int unary(lua_State *L, const char *op, UnaryOp fn) {
  CtErr err;
  CtCx cx = bind_enter(L);
  CtComposed l = bind_to_composed(L, 1, &cx, op);
  return push_made(L, fn(&cx, l.layout, &l.layout, &err), &l, &err, op, 1);
}

/* On indices, of which a swizzle would be lost. */
static int plain(lua_State *L, const char *op, UnaryOp fn) {
  CtErr err;
  CtCx cx = bind_enter(L);
  CtComposed l = nothing();
  CtLayout a = bind_to_layout(L, 1, &cx, op);
  return push_made(L, fn(&cx, a, &l.layout, &err), &l, &err, op, 1);
}

/* A new layout after the pattern of another: that of the layout below a swizzle. */
static int like(lua_State *L, const char *op, UnaryOp fn) {
  CtErr err;
  CtCx cx = bind_enter(L);
  CtComposed l = nothing();
  CtLayout a = bind_to_composed(L, 1, &cx, op).layout;
  return push_made(L, fn(&cx, a, &l.layout, &err), &l, &err, op, 1);
}

static int inverse(lua_State *L, const char *op, InverseOp fn) {
  CtErr err;
  CtCx cx = bind_enter(L);
  CtComposed l = bind_to_composed(L, 1, &cx, op);
  return push_made(L, fn(&cx, &l, &l, &err), &l, &err, op, 1);
}

static int with_profile(lua_State *L, const char *op, ProfileOp fn) {
  CtErr err;
  CtCx cx = bind_enter(L);
  CtComposed l = bind_to_composed(L, 1, &cx, op);
  CtStatus st = fn(&cx, l.layout, bind_opt_tuple(L, 2, &cx, op), &l.layout, &err);
  return push_made(L, st, &l, &err, op, lua_isnoneornil(L, 2) ? 1 : 2);
}

static int with_tiler(lua_State *L, const char *op, TilerOp fn) {
  CtErr err;
  CtCx cx = bind_enter(L);
  CtComposed l = bind_to_composed(L, 1, &cx, op);
  CtTiler t = bind_to_tiler(L, 2, &cx, op);
  return push_made(L, fn(&cx, l.layout, t, &l.layout, &err), &l, &err, op, 2);
}

static int binary(lua_State *L, const char *op, BinaryOp fn) {
  CtErr err;
  CtCx cx = bind_enter(L);
  CtComposed l = bind_to_composed(L, 1, &cx, op);
  CtLayout b = bind_to_layout(L, 2, &cx, op);
  return push_made(L, fn(&cx, l.layout, b, &l.layout, &err), &l, &err, op, 2);
}

/* One row each: name in the language, body, function of the core. */
#define ALGEBRA(X)                                                                                 \
  X(coalesce, with_profile, ct_coalesce)                                                           \
  X(filter, with_profile, ct_filter)                                                               \
  X(flatten, unary, ct_flatten)                                                                    \
  X(filter_zeros, unary, ct_filter_zeros)                                                          \
  X(nullspace, plain, ct_nullspace)                                                                \
  X(right_inverse, inverse, ct_composed_right_inverse)                                             \
  X(left_inverse, inverse, ct_composed_left_inverse)                                               \
  X(layout_like, like, ct_layout_like)                                                             \
  X(fragment_layout_like, like, ct_fragment_layout_like)                                           \
  X(logical_divide, with_tiler, ct_logical_divide)                                                 \
  X(zipped_divide, with_tiler, ct_zipped_divide)                                                   \
  X(tiled_divide, with_tiler, ct_tiled_divide)                                                     \
  X(flat_divide, with_tiler, ct_flat_divide)                                                       \
  X(logical_product, with_tiler, ct_logical_product)                                               \
  X(zipped_product, with_tiler, ct_zipped_product)                                                 \
  X(tiled_product, with_tiler, ct_tiled_product)                                                   \
  X(flat_product, with_tiler, ct_flat_product)                                                     \
  X(blocked_product, binary, ct_blocked_product)                                                   \
  X(raked_product, binary, ct_raked_product)

#define DEFINE(name, body, fn)                                                                     \
  static int name(lua_State *L) { return body(L, #name, fn); }
ALGEBRA(DEFINE)
#undef DEFINE

/* complement(L[, cotarget]) */
static int complement(lua_State *L) {
  CtErr err;
  CtComposed l = nothing();
  CtCx cx = bind_enter(L);
  CtLayout a = bind_to_layout(L, 1, &cx, "complement");
  CtTuple cotarget = bind_opt_tuple(L, 2, &cx, "complement");
  CtStatus st = ct_complement(&cx, a, cotarget, &l.layout, &err);
  return push_made(L, st, &l, &err, "complement", cotarget == NULL ? 1 : 2);
}

static int max_common_vector(lua_State *L) {
  CtErr err;
  int64_t n;
  CtCx cx = bind_enter(L);
  CtComposed a = bind_to_composed(L, 1, &cx, "max_common_vector");
  CtComposed b = bind_to_composed(L, 2, &cx, "max_common_vector");
  diag_check(L, ct_composed_max_common_vector(&cx, &a, &b, &n, &err), &err);
  lua_pushinteger(L, n);
  return 1;
}

static int max_common_layout(lua_State *L) {
  CtErr err;
  CtComposed l = nothing();
  CtCx cx = bind_enter(L);
  CtComposed a = bind_to_composed(L, 1, &cx, "max_common_layout");
  CtComposed b = bind_to_composed(L, 2, &cx, "max_common_layout");
  CtStatus st = ct_composed_max_common_layout(&cx, &a, &b, &l.layout, &err);
  return push_made(L, st, &l, &err, "max_common_layout", 2);
}

/* {====== Composition ====== */

/* composition(swizzle, swizzle), composition(swizzle[, offset], layout) */
static int compose_swizzle(lua_State *L, const CtCx *cx) {
  CtErr err;
  CtSwizzle sw = bind_to_swizzle(L, 1, cx, "composition");
  if (bind_is_swizzle(L, 2)) {
    CtSwizzle first = bind_to_swizzle(L, 2, cx, "composition");
    diag_check(L, ct_swizzle_compose(sw, first, &sw, &err), &err);
    bind_push_swizzle(L, sw);
    return 1;
  }
  CtComposed l;
  CtStatus st;
  if (lua_isnone(L, 3)) {
    l = bind_to_composed(L, 2, cx, "composition");
    st = ct_composed_swizzle(cx, sw, &l, &l, &err);
  } else {
    CtLayout inner = bind_to_layout(L, 3, cx, "composition");
    st = ct_composed_make(cx, sw, bind_to_int(L, 2, "composition"), inner, &l, &err);
  }
  return push_made(L, st, &l, &err, "composition", lua_isnone(L, 3) ? 2 : 3);
}

/* Is the second argument swizzled: a swizzle, or a layout with one? Fills b if so. */
static bool is_swizzled(lua_State *L, const CtCx *cx, const CtComposed *a, CtComposed *b) {
  CtErr err;
  if (bind_test_composed(L, 2, b)) {
    return b->is_swizzled;
  }
  if (bind_is_swizzle(L, 2)) {
    CtLayout all = nothing().layout;
    CtInt n;
    CtSwizzle sw = bind_to_swizzle(L, 2, cx, "composition");
    diag_check(L, ct_size(cx, a->layout, &n, &err), &err);
    CtTuple shape = ct_leaf(cx->arena, n);
    diag_check(L, shape == NULL ? ct_fail_nomem(&err) : ct_layout_make(cx, shape, NULL, &all, &err),
               &err);
    diag_check(L, ct_composed_make(cx, sw, ct_int(0), all, b, &err), &err);
    return true;
  }
  if (lua_type(L, 2) == LUA_TSTRING && strncmp(lua_tostring(L, 2), "Sw<", 3) == 0) {
    *b = bind_to_composed(L, 2, cx, "composition");
    return true;
  }
  return false;
}

/* composition(A, B), where either may be a swizzle or swizzled. */
static int composition(lua_State *L) {
  CtErr err;
  CtComposed l, b;
  CtCx cx = bind_enter(L);
  if (!bind_test_composed(L, 1, &l)) {
    if (bind_is_swizzle(L, 1)) {
      return compose_swizzle(L, &cx);
    }
    l = bind_to_composed(L, 1, &cx, "composition");
  }
  CtStatus st;
  if (is_swizzled(L, &cx, &l, &b)) {
    st = ct_composed_compose(&cx, &l, &b, &l, &err);
  } else {
    CtTiler t = bind_to_tiler(L, 2, &cx, "composition");
    st = ct_composition(&cx, l.layout, t, &l.layout, &err);
  }
  return push_made(L, st, &l, &err, "composition", 2);
}

/* {====== Other elements: of layouts and of swizzles ====== */

typedef CtStatus (*ScaleOp)(const CtCx *, const CtComposed *, int64_t, CtComposed *, CtErr *);
typedef CtStatus (*ScaleSwizzle)(CtSwizzle, int64_t, CtSwizzle *, CtErr *);

static int push_swizzle(lua_State *L, CtStatus st, const CtSwizzle *sw, const CtErr *err) {
  diag_check(L, st, err);
  bind_push_swizzle(L, *sw);
  return 1;
}

/* upcast(L, n), downcast(L, n) */
static int scale(lua_State *L, const char *op, ScaleOp fn, ScaleSwizzle of_swizzle) {
  CtErr err;
  CtCx cx = bind_enter(L);
  if (bind_is_swizzle(L, 1)) {
    CtSwizzle sw = bind_to_swizzle(L, 1, &cx, op);
    return push_swizzle(L, of_swizzle(sw, bind_to_static(L, 2, op), &sw, &err), &sw, &err);
  }
  CtComposed l = bind_to_composed(L, 1, &cx, op);
  return push_made(L, fn(&cx, &l, bind_to_static(L, 2, op), &l, &err), &l, &err, op, 2);
}

static int upcast(lua_State *L) {
  return scale(L, "upcast", ct_composed_upcast, ct_swizzle_upcast);
}

static int downcast(lua_State *L) {
  return scale(L, "downcast", ct_composed_downcast, ct_swizzle_downcast);
}

/* A number of bits, or the element type that has them. */
static int64_t to_bits(lua_State *L, int idx) {
  CtDtype t;
  return bind_test_dtype(L, idx, &t) ? ct_dtypes[t].bits : bind_to_static(L, idx, "recast");
}

/* recast(L, from, to) */
static int recast(lua_State *L) {
  CtErr err;
  CtCx cx = bind_enter(L);
  if (bind_is_swizzle(L, 1)) {
    CtSwizzle sw = bind_to_swizzle(L, 1, &cx, "recast");
    CtStatus st = ct_swizzle_recast(sw, to_bits(L, 2), to_bits(L, 3), &sw, &err);
    return push_swizzle(L, st, &sw, &err);
  }
  CtComposed l = bind_to_composed(L, 1, &cx, "recast");
  return push_layout(L, ct_composed_recast(&cx, &l, to_bits(L, 2), to_bits(L, 3), &l, &err), &l,
                     &err);
}

/* {====== Filling shapes ====== */

/* domain_distribute(shape, n) */
static int domain_distribute(lua_State *L) {
  CtErr err;
  CtComposed l = nothing();
  CtCx cx = bind_enter(L);
  CtTuple t = bind_to_shape(L, 1, &cx, "domain_distribute");
  int64_t n = bind_to_static(L, 2, "domain_distribute");
  return push_layout(L, ct_domain_distribute(&cx, t, n, &l.layout, &err), &l, &err);
}

/* The order that fills the last of n modes first; NULL when out of memory. */
static CtTuple order_from_right(const CtCx *cx, int n) {
  CtInt *ranks = ct_arena_alloc(cx->arena, (size_t)n * sizeof *ranks + 1);
  for (int i = 0; ranks != NULL && i < n; i++) {
    ranks[i] = ct_int(n - i);
  }
  return ranks == NULL ? NULL : ct_tuple_ints(cx->arena, n, ranks);
}

/* tile_to_shape(L, shape[, order]): order is a tuple of ranks, or "right". */
static int tile_to_shape(lua_State *L) {
  CtErr err;
  CtTuple order = NULL;
  CtCx cx = bind_enter(L);
  CtComposed l = bind_to_composed(L, 1, &cx, "tile_to_shape");
  CtTuple to = bind_to_shape(L, 2, &cx, "tile_to_shape");
  if (lua_type(L, 3) == LUA_TSTRING && strcmp(lua_tostring(L, 3), "right") == 0) {
    order = order_from_right(&cx, ct_rank(to));
    diag_check(L, order == NULL ? ct_fail_nomem(&err) : CT_OK, &err);
  } else {
    order = bind_opt_tuple(L, 3, &cx, "tile_to_shape");
  }
  CtStatus st = ct_tile_to_shape(&cx, l.layout, to, order, &l.layout, &err);
  return push_made(L, st, &l, &err, "tile_to_shape", lua_isnoneornil(L, 3) ? 2 : 3);
}

/* tv_layout(thr, val) -> (thread, value) layout, tile's shape */
static int tv_layout(lua_State *L) {
  CtErr err;
  CtLayout tv;
  CtTuple tiler;
  CtCx cx = bind_enter(L);
  CtLayout thr = bind_to_layout(L, 1, &cx, "tv_layout");
  CtLayout val = bind_to_layout(L, 2, &cx, "tv_layout");
  diag_check(L, ct_tv_layout(&cx, thr, val, &tv, &tiler, &err), &err);
  bind_push_made(L, tv, "tv_layout", 2);
  bind_push_tuple(L, tiler);
  return 2;
}

/* {====== Layouts as objects ====== */

static CtComposed check_layout(lua_State *L) {
  CtComposed l;
  if (!bind_test_composed(L, 1, &l)) {
    luaL_checkudata(L, 1, LAYOUT_TYPE);
  }
  return l;
}

static bool is_layout_like(lua_State *L, int idx) {
  CtComposed l;
  return bind_test_composed(L, idx, &l) || bind_is_swizzle(L, idx) ||
         (lua_type(L, idx) == LUA_TSTRING && strchr(lua_tostring(L, idx), ':') != NULL);
}

/* L(i), L(i, j), L({i, j}) evaluate; with `_` slice; L(M) composes: L(M)(i) == L(M(i)). */
static int call(lua_State *L) {
  CtErr err;
  CtTuple at;
  CtComposed l = check_layout(L);
  if (lua_gettop(L) == 2 && is_layout_like(L, 2)) {
    return composition(L);
  }
  CtCx cx = bind_enter(L);
  CtTuple crd = bind_to_coord(L, 2, &cx, "layout");
  if (ct_has_any(crd)) {
    return push_layout(L, ct_composed_slice(&cx, crd, &l, &l, &at, &err), &l, &err);
  }
  return bind_push_value(L, &cx, crd, &l);
}

static int tostring(lua_State *L) {
  CtText text;
  CtComposed l = check_layout(L);
  CtCx cx = bind_enter(L);
  bind_text_init(&text, &cx);
  ct_composed_print(&cx, &l, &text);
  bind_push_text(L, &text);
  return 1;
}

static int equal(lua_State *L) {
  CtComposed a, b;
  lua_pushboolean(L, bind_test_composed(L, 1, &a) && bind_test_composed(L, 2, &b) &&
                         ct_composed_equal(&a, &b));
  return 1;
}

/* L:origin(): the operation that made L and its operands, or nothing. */
static int origin(lua_State *L) {
  check_layout(L);
  return bind_push_origin(L, 1);
}

/* {====== Fields: L.shape, L.stride, and of a swizzled layout its three parts ====== */

static int shape_field(lua_State *L, const CtComposed *l) {
  bind_push_tuple(L, l->layout.shape);
  return 1;
}

static int stride_field(lua_State *L, const CtComposed *l) {
  CtCx cx = bind_cx(L);
  return push_stride(L, &cx, l);
}

static int swizzle_field(lua_State *L, const CtComposed *l) {
  if (l->is_swizzled) {
    bind_push_swizzle(L, l->swizzle);
  } else {
    lua_pushnil(L);
  }
  return 1;
}

static int offset_field(lua_State *L, const CtComposed *l) {
  bind_push_int(L, l->offset);
  return 1;
}

static int layout_field(lua_State *L, const CtComposed *l) {
  bind_push_layout(L, l->layout);
  return 1;
}

static const struct {
  const char *name;
  int (*push)(lua_State *L, const CtComposed *l);
} fields[] = {{"shape", shape_field},
              {"stride", stride_field},
              {"swizzle", swizzle_field},
              {"offset", offset_field},
              {"layout", layout_field}};

/* A method, in upvalue 1, or a field. */
static int field(lua_State *L) {
  CtComposed l = check_layout(L);
  if (lua_isinteger(L, 2)) { /* MoYe's mode, or a tensor's element: nil would surprise later */
    const char *i = lua_tostring(L, 2);
    return diag_error(
        L, "layout: no element [%s]; call l(%s) for the index, mode(l, %s) for the mode", i, i, i);
  }
  lua_settop(L, 2);
  lua_pushvalue(L, 2);
  if (lua_rawget(L, lua_upvalueindex(1)) != LUA_TNIL || lua_type(L, 2) != LUA_TSTRING) {
    return 1;
  }
  const char *name = lua_tostring(L, 2);
  for (size_t i = 0; i < CT_ARRAY_LEN(fields); i++) {
    if (strcmp(name, fields[i].name) == 0) {
      return fields[i].push(L, &l);
    }
  }
  return 1;
}

/* {====== Opening ====== */

static const luaL_Reg makers[] = {{"layout", layout},
                                  {"L", literal},
                                  {"row_major", row_major},
                                  {"col_major", col_major},
                                  {"ordered", ordered},
                                  {"identity", identity},
                                  {NULL, NULL}};

#define ROW(name, body, fn) {#name, name},
static const luaL_Reg methods[] = {ALGEBRA(ROW){"size", size},
                                   {"cosize", cosize},
                                   {"rank", rank},
                                   {"depth", depth},
                                   {"values", values},
                                   {"mode", mode},
                                   {"concat", concat},
                                   {"group", group},
                                   {"take", take},
                                   {"append", append},
                                   {"prepend", prepend},
                                   {"replace", replace},
                                   {"named", bind_named},
                                   {"names", bind_names},
                                   {"max_common_vector", max_common_vector},
                                   {"max_common_layout", max_common_layout},
                                   {"complement", complement},
                                   {"composition", composition},
                                   {"upcast", upcast},
                                   {"downcast", downcast},
                                   {"recast", recast},
                                   {"tile_to_shape", tile_to_shape},
                                   {"tv_layout", tv_layout},
                                   {NULL, NULL}};
#undef ROW

static const luaL_Reg functions[] = {
    {"shape", shape}, {"stride", stride}, {"domain_distribute", domain_distribute}, {NULL, NULL}};

static const char *const field_names[] = {"shape", "stride", NULL};

static const luaL_Reg meta[] = {
    {"__call", call}, {"__tostring", tostring}, {"__eq", equal}, {NULL, NULL}};

/* Functions on coordinates that are methods of a layout as well. */
static const char *const coord_methods[] = {"crd2idx",
                                            "idx2crd",
                                            "slice",
                                            "slice_and_offset",
                                            "dice",
                                            "congruent",
                                            "weakly_congruent",
                                            "compatible",
                                            "evenly_divides",
                                            "select",
                                            "show",
                                            "svg",
                                            "latex",
                                            "html"};

/* Stack: language. Adds `select`, which falls back on the one of the globals. */
static void add_select(lua_State *L) {
  lua_getglobal(L, "select");
  lua_pushcclosure(L, select, 1);
  lua_setfield(L, -2, "select");
}

void bind_open_layout(lua_State *L) {
  luaL_setfuncs(L, makers, 0);
  luaL_setfuncs(L, methods, 0);
  luaL_setfuncs(L, functions, 0);
  add_select(L);
  bind_new_type(L, LAYOUT_TYPE, meta, NULL);
  bind_mark_layout_type(L);
  luaL_getmetatable(L, LAYOUT_TYPE); /* stack: language, metatable */
  luaL_newlib(L, methods);           /* stack: language, metatable, methods */
  lua_pushcfunction(L, origin);
  lua_setfield(L, -2, "origin");
  for (size_t i = 0; i < CT_ARRAY_LEN(coord_methods); i++) {
    lua_getfield(L, -3, coord_methods[i]);
    lua_setfield(L, -2, coord_methods[i]);
  }
  lua_pushvalue(L, -1);
  lua_setfield(L, -3, "__methods");
  lua_pushcclosure(L, field, 1);
  lua_setfield(L, -2, "__index");
  bind_add_fields(L, field_names);
  lua_pop(L, 1);
}
