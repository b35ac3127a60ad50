/* bind_algebra.c: the algebra of layouts in Lua: coalesce and its like, composition, divides and
   products, other elements, filling shapes. Functions of one kind share their body. A swizzled layout
   is taken wherever the operation means something for it. */
#include <string.h>

#include "bind.h"
#include "interp/state/note.h"
#include "interp/openers.h"

/* A CtComposed is any layout; operations on the coordinates change its layout only. The result
   remembers that `op` made it of the arguments 1 to n. */
static int push_made(lua_State *L, CtStatus st, const CtComposed *l, const CtErr *err,
                     const char *op, int n) {
  diag_check(L, st, err);
  bind_push_made_composed(L, l, op, n);
  return 1;
}

static int push_layout(lua_State *L, CtStatus st, const CtComposed *l, const CtErr *err) {
  diag_check(L, st, err);
  bind_push_composed(L, l);
  return 1;
}

static CtComposed nothing(void) { return (CtComposed){.is_swizzled = false}; }

/* What an operation would drop is a mistake, but for nil. */
static void check_count(lua_State *L, const char *op, int n) {
  int given = lua_gettop(L);
  while (given > n && lua_isnil(L, given)) {
    given--;
  }
  if (given > n) {
    diag_error(
        L,
        "%s: %d arguments; %d %s expected, and a call that gives several values gives one in "
        "parentheses",
        op, given, n, n == 1 ? "was" : "were");
  }
}

/* {====== Operations of one kind ====== */

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

/* A text without strides is a layout in one argument and a tiler in the next: here it is a tiler. */
static void note_tiler(lua_State *L, int idx) {
  const char *text = lua_type(L, idx) == LUA_TSTRING ? lua_tostring(L, idx) : NULL;
  bool is_shape = text != NULL && text[strspn(text, " \t")] == '(' && strchr(text, ',') != NULL &&
                  strchr(text, ':') == NULL;
  if (is_shape && note_is_wanted(L)) {
    note_add(L, "\"%s\" is a tiler here, mode by mode; the layout %s is L\"%s\"", text, text, text);
  }
}

static int with_tiler(lua_State *L, const char *op, TilerOp fn) {
  CtErr err;
  CtCx cx = bind_enter(L);
  CtComposed l = bind_to_composed(L, 1, &cx, op);
  CtTiler t = bind_to_tiler(L, 2, &cx, op);
  note_tiler(L, 2);
  return push_made(L, fn(&cx, l.layout, t, &l.layout, &err), &l, &err, op, 2);
}

/* Inner modes that the tiles do not divide are padded, as in CuTe: a layout reads no memory. */
static int divide(lua_State *L, const char *op, TilerOp fn) {
  CtErr err;
  bool padded;
  CtCx cx = bind_enter(L);
  CtComposed l = bind_to_composed(L, 1, &cx, op);
  CtTiler t = bind_to_tiler(L, 2, &cx, op);
  note_tiler(L, 2);
  CtStatus st = ct_pad_for_tiles(&cx, op, l.layout, t, &l.layout, &padded, &err);
  st = st == CT_OK ? fn(&cx, l.layout, t, &l.layout, &err) : st;
  return push_made(L, st, &l, &err, op, 2);
}

static int binary(lua_State *L, const char *op, BinaryOp fn) {
  CtErr err;
  CtCx cx = bind_enter(L);
  CtComposed l = bind_to_composed(L, 1, &cx, op);
  CtLayout b = bind_to_layout(L, 2, &cx, op);
  return push_made(L, fn(&cx, l.layout, b, &l.layout, &err), &l, &err, op, 2);
}

/* How many arguments each of them takes. */
enum {
  N_unary = 1,
  N_plain = 1,
  N_like = 1,
  N_inverse = 1,
  N_with_profile = 2,
  N_with_tiler = 2,
  N_divide = 2,
  N_binary = 2
};

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
  X(logical_divide, divide, ct_logical_divide)                                                     \
  X(zipped_divide, divide, ct_zipped_divide)                                                       \
  X(tiled_divide, divide, ct_tiled_divide)                                                         \
  X(flat_divide, divide, ct_flat_divide)                                                           \
  X(logical_product, with_tiler, ct_logical_product)                                               \
  X(zipped_product, with_tiler, ct_zipped_product)                                                 \
  X(tiled_product, with_tiler, ct_tiled_product)                                                   \
  X(flat_product, with_tiler, ct_flat_product)                                                     \
  X(blocked_product, binary, ct_blocked_product)                                                   \
  X(raked_product, binary, ct_raked_product)

#define DEFINE(name, body, fn)                                                                     \
  static int name(lua_State *L) {                                                                  \
    check_count(L, #name, N_##body);                                                               \
    return body(L, #name, fn);                                                                     \
  }
ALGEBRA(DEFINE)
#undef DEFINE

/* complement(L[, cotarget]) */
static int complement_of(lua_State *L) {
  CtErr err;
  CtComposed l = nothing();
  CtCx cx = bind_enter(L);
  CtLayout a = bind_to_layout(L, 1, &cx, "complement");
  CtTuple cotarget = bind_opt_tuple(L, 2, &cx, "complement");
  CtStatus st = ct_complement(&cx, a, cotarget, &l.layout, &err);
  return push_made(L, st, &l, &err, "complement", cotarget == NULL ? 1 : 2);
}

static int max_common_vector_of(lua_State *L) {
  CtErr err;
  int64_t n;
  CtCx cx = bind_enter(L);
  CtComposed a = bind_to_composed(L, 1, &cx, "max_common_vector");
  CtComposed b = bind_to_composed(L, 2, &cx, "max_common_vector");
  diag_check(L, ct_composed_max_common_vector(&cx, &a, &b, &n, &err), &err);
  lua_pushinteger(L, n);
  return 1;
}

static int max_common_layout_of(lua_State *L) {
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
static int composition_of(lua_State *L) {
  CtErr err;
  CtComposed l, b;
  CtCx cx = bind_enter(L);
  if (!bind_test_composed(L, 1, &l)) {
    if (bind_is_swizzle(L, 1)) {
      return compose_swizzle(L, &cx);
    }
    l = bind_to_composed(L, 1, &cx, "composition");
  }
  check_count(L, "composition", 2);
  CtStatus st;
  if (is_swizzled(L, &cx, &l, &b)) {
    st = ct_composed_compose(&cx, &l, &b, &l, &err);
  } else {
    CtTiler t = bind_to_tiler(L, 2, &cx, "composition");
    note_tiler(L, 2);
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

static int upcast_of(lua_State *L) {
  return scale(L, "upcast", ct_composed_upcast, ct_swizzle_upcast);
}

static int downcast_of(lua_State *L) {
  return scale(L, "downcast", ct_composed_downcast, ct_swizzle_downcast);
}

/* A number of bits, or the element type that has them. */
static int64_t to_bits(lua_State *L, int idx) {
  CtDtype t;
  return bind_test_dtype(L, idx, &t) ? ct_dtypes[t].bits : bind_to_static(L, idx, "recast");
}

/* recast(L, from, to); of tensors, ops/bind_recast.c */
static int recast_of(lua_State *L) {
  CtErr err;
  CtCx cx = bind_enter(L);
  if (bind_is_swizzle(L, 1)) {
    CtSwizzle sw = bind_to_swizzle(L, 1, &cx, "recast");
    CtStatus st = ct_swizzle_recast(sw, to_bits(L, 2), to_bits(L, 3), &sw, &err);
    return push_swizzle(L, st, &sw, &err);
  }
  CtComposed l = bind_to_composed(L, 1, &cx, "recast");
  CtStatus st = ct_composed_recast(&cx, &l, to_bits(L, 2), to_bits(L, 3), &l, &err);
  return push_made(L, st, &l, &err, "recast", 3);
}

/* {====== Filling shapes ====== */

/* domain_distribute(shape, n) */
static int domain_distribute_of(lua_State *L) {
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
static int tile_to_shape_of(lua_State *L) {
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
static int tv_layout_of(lua_State *L) {
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

/* {====== Opening ====== */

/* The operations that are functions of their own: name, the most arguments. */
#define OTHERS(X)                                                                                  \
  X(complement, 2)                                                                                 \
  X(max_common_vector, 2)                                                                          \
  X(max_common_layout, 2)                                                                          \
  X(composition, 3)                                                                                \
  X(upcast, 2)                                                                                     \
  X(downcast, 2)                                                                                   \
  X(recast, 3)                                                                                     \
  X(tile_to_shape, 3)                                                                              \
  X(tv_layout, 2)

#define DEFINE(name, n)                                                                            \
  static int name(lua_State *L) {                                                                  \
    check_count(L, #name, n);                                                                      \
    return name##_of(L);                                                                           \
  }
OTHERS(DEFINE)
DEFINE(domain_distribute, 2)
#undef DEFINE

#define ROW(name, body, fn) {#name, name},
#define OTHER_ROW(name, n) {#name, name},
static const luaL_Reg methods[] = {ALGEBRA(ROW) OTHERS(OTHER_ROW){NULL, NULL}};
#undef ROW
#undef OTHER_ROW

static const luaL_Reg functions[] = {{"domain_distribute", domain_distribute}, {NULL, NULL}};

void bind_open_algebra(lua_State *L) {
  luaL_setfuncs(L, methods, 0);
  luaL_setfuncs(L, functions, 0);
  bind_add_methods(L, LAYOUT_TYPE, methods);
}
