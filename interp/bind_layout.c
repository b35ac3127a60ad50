/* bind_layout.c: layouts in Lua. Each function of the algebra is one C function, which scripts call
   as coalesce(L) and as L:coalesce(). */
#include <string.h>

#include "bind.h"

static int push_layout(lua_State *L, CtStatus st, const CtLayout *l, const CtErr *err) {
  diag_check(L, st, err);
  bind_push_layout(L, *l);
  return 1;
}

/* Likewise of an operation on the layouts or tuples that are arguments 1 to n. */
static int push_made(lua_State *L, CtStatus st, const CtLayout *l, const CtErr *err, const char *op,
                     int n) {
  diag_check(L, st, err);
  bind_push_made(L, *l, op, n);
  return 1;
}

/* {====== Making layouts ====== */

/* layout(shape[, stride]); of one argument whatever stands for a layout. */
static int layout(lua_State *L) {
  CtErr err;
  CtLayout l;
  CtCx cx = bind_enter(L);
  if (lua_isnoneornil(L, 2)) {
    l = bind_to_layout(L, 1, &cx, "layout");
    return push_layout(L, CT_OK, &l, NULL);
  }
  CtTuple shape = bind_to_shape(L, 1, &cx, "layout");
  CtTuple stride = bind_to_tuple(L, 2, &cx, "layout");
  return push_layout(L, ct_layout_make(&cx, shape, stride, &l, &err), &l, &err);
}

/* L"(4,8):(8,1)" */
static int literal(lua_State *L) {
  CtCx cx = bind_enter(L);
  if (lua_type(L, 1) != LUA_TSTRING) {
    return diag_type_error(L, 1, "L", "a text like \"(4,8):(8,1)\"");
  }
  bind_push_layout(L, bind_to_layout(L, 1, &cx, "L"));
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
  CtLayout l;
  CtCx cx = bind_enter(L);
  CtTuple shape = to_only_shape(L, &cx, "row_major");
  return push_layout(L, ct_layout_row_major(&cx, shape, &l, &err), &l, &err);
}

static int col_major(lua_State *L) {
  CtErr err;
  CtLayout l;
  CtCx cx = bind_enter(L);
  CtTuple shape = to_only_shape(L, &cx, "col_major");
  return push_layout(L, ct_layout_make(&cx, shape, NULL, &l, &err), &l, &err);
}

static int ordered(lua_State *L) {
  CtErr err;
  CtLayout l;
  CtCx cx = bind_enter(L);
  CtTuple shape = bind_to_shape(L, 1, &cx, "ordered");
  CtTuple order = bind_to_tuple(L, 2, &cx, "ordered");
  return push_layout(L, ct_layout_ordered(&cx, shape, order, &l, &err), &l, &err);
}

/* {====== Asking: size(L), size(L, mode...) ====== */

/* The layout of argument 1, or its mode at the path that follows. */
static CtLayout to_mode(lua_State *L, const CtCx *cx, const char *op) {
  CtErr err;
  int path[CT_MAX_DEPTH];
  CtLayout l = bind_to_layout(L, 1, cx, op), mode = l;
  int n = bind_to_mode_path(L, 2, cx, l, path, op);
  diag_check(L, n == 0 ? CT_OK : ct_mode_at(cx, l, n, path, &mode, &err), &err);
  return mode;
}

static int size(lua_State *L) {
  CtErr err;
  CtInt i;
  CtCx cx = bind_enter(L);
  diag_check(L, ct_size(&cx, to_mode(L, &cx, "size"), &i, &err), &err);
  bind_push_int(L, i);
  return 1;
}

static int cosize(lua_State *L) {
  CtErr err;
  CtInt i;
  CtCx cx = bind_enter(L);
  diag_check(L, ct_cosize(&cx, to_mode(L, &cx, "cosize"), &i, &err), &err);
  bind_push_int(L, i);
  return 1;
}

static int rank(lua_State *L) {
  CtCx cx = bind_enter(L);
  lua_pushinteger(L, ct_layout_rank(to_mode(L, &cx, "rank")));
  return 1;
}

static int depth(lua_State *L) {
  CtCx cx = bind_enter(L);
  lua_pushinteger(L, ct_depth(to_mode(L, &cx, "depth").shape));
  return 1;
}

static int shape(lua_State *L) {
  CtCx cx = bind_enter(L);
  bind_push_tuple(L, to_mode(L, &cx, "shape").shape);
  return 1;
}

static int stride(lua_State *L) {
  CtCx cx = bind_enter(L);
  bind_push_tuple(L, to_mode(L, &cx, "stride").stride);
  return 1;
}

/* The indices at 0, 1, 2, ... as a list. */
static int values(lua_State *L) {
  CtErr err;
  CtInt n;
  CtCx cx = bind_enter(L);
  CtLayout l = bind_to_layout(L, 1, &cx, "values");
  diag_check(L, ct_size(&cx, l, &n, &err), &err);
  if (!ct_layout_is_static(l)) {
    return diag_error(L,
                      "values: the layout %s has run-time extents or strides; they must be static",
                      bind_layout_text(&cx, l));
  }
  lua_createtable(L, n.v < INT32_MAX ? (int)n.v : 0, 0);
  for (int64_t i = 0; i < n.v; i++) {
    CtInt at;
    diag_check(L,
               ct_crd2idx(&cx, &(CtNode){.rank = CT_LEAF, .len = 1, .i = ct_int(i)}, l, &at, &err),
               &err);
    bind_push_int(L, at);
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
  bind_push_layout(L, to_mode(L, &cx, "mode"));
  return 1;
}

static int concat(lua_State *L) {
  CtErr err;
  CtLayout l;
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
  return push_layout(L, ct_layout_concat(&cx, n, modes, &l, &err), &l, &err);
}

typedef CtStatus (*RangeOp)(const CtCx *, CtLayout, int, int, CtLayout *, CtErr *);

/* group(L, first, last), take(L, first, last): modes first to last - 1; a name as the last one is
   that of the last mode itself. */
static int range_op(lua_State *L, const char *op, RangeOp fn) {
  CtErr err;
  CtLayout l;
  CtCx cx = bind_enter(L);
  CtLayout a = bind_to_layout(L, 1, &cx, op);
  int first = bind_to_mode(L, 2, &cx, a, op);
  int last = bind_to_mode(L, 3, &cx, a, op) + (lua_type(L, 3) == LUA_TSTRING);
  return push_layout(L, fn(&cx, a, first, last, &l, &err), &l, &err);
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
  CtLayout l;
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
  CtLayout a = bind_to_layout(L, 1, &cx, "select");
  int n = to_modes(L, &cx, a, modes);
  return push_layout(L, ct_select(&cx, a, n, modes, &l, &err), &l, &err);
}

typedef CtStatus (*ExtendOp)(const CtCx *, CtLayout, CtLayout, int, CtLayout *, CtErr *);

/* append(L, x[, rank]), prepend(L, x[, rank]) */
static int extend(lua_State *L, const char *op, ExtendOp fn) {
  CtErr err;
  CtLayout l;
  CtCx cx = bind_enter(L);
  CtLayout a = bind_to_layout(L, 1, &cx, op), x = bind_to_layout(L, 2, &cx, op);
  int to = lua_isnoneornil(L, 3) ? 0 : bind_to_index(L, 3, 0, CT_MAX_NODES, op, "rank");
  return push_layout(L, fn(&cx, a, x, to, &l, &err), &l, &err);
}

static int append(lua_State *L) { return extend(L, "append", ct_append); }
static int prepend(lua_State *L) { return extend(L, "prepend", ct_prepend); }

static int replace(lua_State *L) {
  CtErr err;
  CtLayout l;
  CtCx cx = bind_enter(L);
  CtLayout a = bind_to_layout(L, 1, &cx, "replace");
  int i = bind_to_mode(L, 2, &cx, a, "replace");
  CtLayout x = bind_to_layout(L, 3, &cx, "replace");
  return push_layout(L, ct_replace(&cx, a, i, x, &l, &err), &l, &err);
}

/* {====== The algebra: functions of one kind share their body ====== */

typedef CtStatus (*UnaryOp)(const CtCx *, CtLayout, CtLayout *, CtErr *);
typedef CtStatus (*ProfileOp)(const CtCx *, CtLayout, CtTuple, CtLayout *, CtErr *);
typedef CtStatus (*TilerOp)(const CtCx *, CtLayout, CtTiler, CtLayout *, CtErr *);
typedef CtStatus (*BinaryOp)(const CtCx *, CtLayout, CtLayout, CtLayout *, CtErr *);

static int unary(lua_State *L, const char *op, UnaryOp fn) {
  CtErr err;
  CtLayout l;
  CtCx cx = bind_enter(L);
  CtLayout a = bind_to_layout(L, 1, &cx, op);
  return push_made(L, fn(&cx, a, &l, &err), &l, &err, op, 1);
}

static int with_profile(lua_State *L, const char *op, ProfileOp fn) {
  CtErr err;
  CtLayout l;
  CtCx cx = bind_enter(L);
  CtLayout a = bind_to_layout(L, 1, &cx, op);
  CtStatus st = fn(&cx, a, bind_opt_tuple(L, 2, &cx, op), &l, &err);
  return push_made(L, st, &l, &err, op, lua_isnoneornil(L, 2) ? 1 : 2);
}

static int with_tiler(lua_State *L, const char *op, TilerOp fn) {
  CtErr err;
  CtLayout l;
  CtCx cx = bind_enter(L);
  CtLayout a = bind_to_layout(L, 1, &cx, op);
  return push_made(L, fn(&cx, a, bind_to_tiler(L, 2, &cx, op), &l, &err), &l, &err, op, 2);
}

static int binary(lua_State *L, const char *op, BinaryOp fn) {
  CtErr err;
  CtLayout l;
  CtCx cx = bind_enter(L);
  CtLayout a = bind_to_layout(L, 1, &cx, op), b = bind_to_layout(L, 2, &cx, op);
  return push_made(L, fn(&cx, a, b, &l, &err), &l, &err, op, 2);
}

/* One row each: name in the language, body, function of the core. */
#define ALGEBRA(X)                                                                                 \
  X(coalesce, with_profile)                                                                        \
  X(filter, with_profile)                                                                          \
  X(complement, with_profile)                                                                      \
  X(flatten, unary)                                                                                \
  X(filter_zeros, unary)                                                                           \
  X(right_inverse, unary)                                                                          \
  X(nullspace, unary)                                                                              \
  X(left_inverse, unary)                                                                           \
  X(layout_like, unary)                                                                            \
  X(fragment_layout_like, unary)                                                                   \
  X(composition, with_tiler)                                                                       \
  X(logical_divide, with_tiler)                                                                    \
  X(zipped_divide, with_tiler)                                                                     \
  X(tiled_divide, with_tiler)                                                                      \
  X(flat_divide, with_tiler)                                                                       \
  X(logical_product, with_tiler)                                                                   \
  X(zipped_product, with_tiler)                                                                    \
  X(tiled_product, with_tiler)                                                                     \
  X(flat_product, with_tiler)                                                                      \
  X(blocked_product, binary)                                                                       \
  X(raked_product, binary)                                                                         \
  X(max_common_layout, binary)

#define DEFINE(name, body)                                                                         \
  static int name(lua_State *L) { return body(L, #name, ct_##name); }
ALGEBRA(DEFINE)
#undef DEFINE

static int max_common_vector(lua_State *L) {
  CtErr err;
  int64_t n;
  CtCx cx = bind_enter(L);
  CtLayout a = bind_to_layout(L, 1, &cx, "max_common_vector");
  CtLayout b = bind_to_layout(L, 2, &cx, "max_common_vector");
  diag_check(L, ct_max_common_vector(&cx, a, b, &n, &err), &err);
  lua_pushinteger(L, n);
  return 1;
}

/* {====== Other elements ====== */

typedef CtStatus (*ScaleOp)(const CtCx *, CtLayout, int64_t, CtLayout *, CtErr *);

/* upcast(L, n), downcast(L, n) */
static int scale(lua_State *L, const char *op, ScaleOp fn) {
  CtErr err;
  CtLayout l;
  CtCx cx = bind_enter(L);
  CtLayout a = bind_to_layout(L, 1, &cx, op);
  return push_made(L, fn(&cx, a, bind_to_static(L, 2, op), &l, &err), &l, &err, op, 2);
}

static int upcast(lua_State *L) { return scale(L, "upcast", ct_upcast); }
static int downcast(lua_State *L) { return scale(L, "downcast", ct_downcast); }

/* A number of bits, or the element type that has them. */
static int64_t to_bits(lua_State *L, int idx) {
  CtDtype t;
  return bind_test_dtype(L, idx, &t) ? ct_dtypes[t].bits : bind_to_static(L, idx, "recast");
}

/* recast(L, from, to) */
static int recast(lua_State *L) {
  CtErr err;
  CtLayout l;
  CtCx cx = bind_enter(L);
  CtLayout a = bind_to_layout(L, 1, &cx, "recast");
  return push_layout(L, ct_recast(&cx, a, to_bits(L, 2), to_bits(L, 3), &l, &err), &l, &err);
}

/* {====== Filling shapes ====== */

/* domain_distribute(shape, n) */
static int domain_distribute(lua_State *L) {
  CtErr err;
  CtLayout l;
  CtCx cx = bind_enter(L);
  CtTuple t = bind_to_shape(L, 1, &cx, "domain_distribute");
  int64_t n = bind_to_static(L, 2, "domain_distribute");
  return push_layout(L, ct_domain_distribute(&cx, t, n, &l, &err), &l, &err);
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
  CtLayout l;
  CtTuple order = NULL;
  CtCx cx = bind_enter(L);
  CtLayout a = bind_to_layout(L, 1, &cx, "tile_to_shape");
  CtTuple to = bind_to_shape(L, 2, &cx, "tile_to_shape");
  if (lua_type(L, 3) == LUA_TSTRING && strcmp(lua_tostring(L, 3), "right") == 0) {
    order = order_from_right(&cx, ct_rank(to));
    diag_check(L, order == NULL ? ct_fail_nomem(&err) : CT_OK, &err);
  } else {
    order = bind_opt_tuple(L, 3, &cx, "tile_to_shape");
  }
  CtStatus st = ct_tile_to_shape(&cx, a, to, order, &l, &err);
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

static CtLayout check_layout(lua_State *L) {
  CtLayout l;
  if (!bind_test_layout(L, 1, &l)) {
    luaL_checkudata(L, 1, LAYOUT_TYPE);
  }
  return l;
}

static bool is_layout_like(lua_State *L, int idx) {
  CtLayout l;
  return bind_test_layout(L, idx, &l) ||
         (lua_type(L, idx) == LUA_TSTRING && strchr(lua_tostring(L, idx), ':') != NULL);
}

/* L(i), L(i, j), L({i, j}) evaluate; with `_` slice; L(M) composes: L(M)(i) == L(M(i)). */
static int call(lua_State *L) {
  CtErr err;
  CtInt i;
  CtLayout out, l = check_layout(L);
  if (lua_gettop(L) == 2 && is_layout_like(L, 2)) {
    return composition(L);
  }
  CtCx cx = bind_enter(L);
  CtTuple crd = bind_to_coord(L, 2, &cx, "layout");
  if (ct_has_any(crd)) {
    return push_layout(L, ct_slice(&cx, crd, l, &out, &i, &err), &out, &err);
  }
  diag_check(L, ct_crd2idx(&cx, crd, l, &i, &err), &err);
  bind_push_int(L, i);
  return 1;
}

static int tostring(lua_State *L) {
  CtText text;
  CtLayout l = check_layout(L);
  CtCx cx = bind_enter(L);
  bind_text_init(&text, &cx);
  ct_layout_print(&cx, l, &text);
  bind_push_text(L, &text);
  return 1;
}

static int equal(lua_State *L) {
  CtLayout a, b;
  bool same = bind_test_layout(L, 1, &a) && bind_test_layout(L, 2, &b) && ct_layout_equal(a, b);
  lua_pushboolean(L, same);
  return 1;
}

/* L:origin(): the operation that made L and its operands, or nothing. */
static int origin(lua_State *L) {
  check_layout(L);
  return bind_push_origin(L, 1);
}

/* L.shape and L.stride; everything else is a method, in upvalue 1. */
static int field(lua_State *L) {
  CtLayout l = check_layout(L);
  const char *name = lua_type(L, 2) == LUA_TSTRING ? lua_tostring(L, 2) : "";
  if (lua_isinteger(L, 2)) { /* MoYe's mode, or a tensor's element: nil would surprise later */
    const char *i = lua_tostring(L, 2);
    return diag_error(
        L, "layout: no element [%s]; call l(%s) for the index, mode(l, %s) for the mode", i, i, i);
  }
  if (strcmp(name, "shape") == 0) {
    bind_push_tuple(L, l.shape);
  } else if (strcmp(name, "stride") == 0) {
    bind_push_tuple(L, l.stride);
  } else {
    lua_pushvalue(L, 2);
    lua_rawget(L, lua_upvalueindex(1));
  }
  return 1;
}

/* {====== Opening ====== */

static const luaL_Reg makers[] = {{"layout", layout},       {"L", literal},
                                  {"row_major", row_major}, {"col_major", col_major},
                                  {"ordered", ordered},     {NULL, NULL}};

#define ROW(name, body) {#name, name},
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
static const char *const coord_methods[] = {
    "crd2idx",          "idx2crd",    "slice",          "slice_and_offset", "dice", "congruent",
    "weakly_congruent", "compatible", "evenly_divides", "select",           "show"};

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
