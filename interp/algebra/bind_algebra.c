/* bind_algebra.c: the algebra of layouts in Lua: coalesce and its like, composition, divides and
   products, other elements, filling shapes. Functions of one kind share their body. A swizzled layout
   is taken wherever the operation means something for it. */
#include <string.h>

#include "bind.h"
#include "interp/state/note.h"
#include "interp/openers.h"

/* Pushes the result of a function of at most `most` arguments: it remembers that `op` made it of those
   that are there. */
static int push_made(lua_State *L, const CtAlg *g, CtComposed c, const char *op, int most) {
  int n = lua_gettop(L) < most ? lua_gettop(L) : most;
  while (lua_isnil(L, n)) {
    n--;
  }
  bind_check(L, g);
  bind_push_made_composed(L, &c, op, n);
  return 1;
}

/* {====== Operations of one kind: on layouts of any kind, of which they change the coordinates ====== */

static CtComposed any(lua_State *L, CtAlg *g, const char *op) {
  return bind_to_composed(L, 1, &g->cx, op);
}

/* On the coordinates: a swizzle and its offset stay. */
static CtComposed unary(lua_State *L, CtAlg *g, const char *op, CtLayout (*fn)(CtAlg *, CtLayout)) {
  CtComposed c = any(L, g, op);
  return ct_composed_with(&c, fn(g, c.layout));
}

/* On indices, of which a swizzle would be lost. */
static CtComposed plain(lua_State *L, CtAlg *g, const char *op, CtLayout (*fn)(CtAlg *, CtLayout)) {
  return ct_composed_plain(fn(g, bind_to_layout(L, 1, &g->cx, op)));
}

/* A new layout after the pattern of another: that of the layout below a swizzle. */
static CtComposed like(lua_State *L, CtAlg *g, const char *op, CtLayout (*fn)(CtAlg *, CtLayout)) {
  return ct_composed_plain(fn(g, any(L, g, op).layout));
}

static CtComposed inverse(lua_State *L, CtAlg *g, const char *op,
                          CtComposed (*fn)(CtAlg *, CtComposed)) {
  return fn(g, any(L, g, op));
}

static CtComposed with_profile(lua_State *L, CtAlg *g, const char *op,
                               CtLayout (*fn)(CtAlg *, CtLayout, CtTuple)) {
  CtComposed c = any(L, g, op);
  return ct_composed_with(&c, fn(g, c.layout, bind_opt_tuple(L, 2, &g->cx, op)));
}

static CtComposed plain_profile(lua_State *L, CtAlg *g, const char *op,
                                CtLayout (*fn)(CtAlg *, CtLayout, CtTuple)) {
  CtLayout a = bind_to_layout(L, 1, &g->cx, op);
  return ct_composed_plain(fn(g, a, bind_opt_tuple(L, 2, &g->cx, op)));
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

static CtTiler to_tiler(lua_State *L, CtAlg *g, const char *op) {
  CtTiler t = bind_to_tiler(L, 2, &g->cx, op);
  note_tiler(L, 2);
  return t;
}

static CtComposed with_tiler(lua_State *L, CtAlg *g, const char *op,
                             CtLayout (*fn)(CtAlg *, CtLayout, CtTiler)) {
  CtComposed c = any(L, g, op);
  return ct_composed_with(&c, fn(g, c.layout, to_tiler(L, g, op)));
}

/* Inner modes that the tiles do not divide are padded, as in CuTe: a layout reads no memory. */
static CtComposed divide(lua_State *L, CtAlg *g, const char *op,
                         CtLayout (*fn)(CtAlg *, CtLayout, CtTiler)) {
  bool padded;
  CtComposed c = any(L, g, op);
  CtTiler t = to_tiler(L, g, op);
  return ct_composed_with(&c, fn(g, al_pad(g, op, c.layout, t, &padded), t));
}

static CtComposed binary(lua_State *L, CtAlg *g, const char *op,
                         CtLayout (*fn)(CtAlg *, CtLayout, CtLayout)) {
  CtComposed c = any(L, g, op);
  return ct_composed_with(&c, fn(g, c.layout, bind_to_layout(L, 2, &g->cx, op)));
}

static CtComposed common(lua_State *L, CtAlg *g, const char *op,
                         CtLayout (*fn)(CtAlg *, CtComposed, CtComposed)) {
  CtComposed c = any(L, g, op);
  return ct_composed_plain(fn(g, c, bind_to_composed(L, 2, &g->cx, op)));
}

/* One row each: name in the language, the most arguments, body, function of the core. */
#define ALGEBRA(X)                                                                                 \
  X(coalesce, 2, with_profile, al_coalesce)                                                        \
  X(filter, 2, with_profile, al_filter)                                                            \
  X(complement, 2, plain_profile, al_complement)                                                   \
  X(flatten, 1, unary, al_flatten)                                                                 \
  X(filter_zeros, 1, unary, al_filter_zeros)                                                       \
  X(nullspace, 1, plain, al_nullspace)                                                             \
  X(right_inverse, 1, inverse, al_right_inverse)                                                   \
  X(left_inverse, 1, inverse, al_left_inverse)                                                     \
  X(layout_like, 1, like, al_layout_like)                                                          \
  X(fragment_layout_like, 1, like, al_fragment_like)                                               \
  X(logical_divide, 2, divide, al_logical_divide)                                                  \
  X(zipped_divide, 2, divide, al_zipped_divide)                                                    \
  X(tiled_divide, 2, divide, al_tiled_divide)                                                      \
  X(flat_divide, 2, divide, al_flat_divide)                                                        \
  X(logical_product, 2, with_tiler, al_logical_product)                                            \
  X(zipped_product, 2, with_tiler, al_zipped_product)                                              \
  X(tiled_product, 2, with_tiler, al_tiled_product)                                                \
  X(flat_product, 2, with_tiler, al_flat_product)                                                  \
  X(blocked_product, 2, binary, al_blocked_product)                                                \
  X(raked_product, 2, binary, al_raked_product)                                                    \
  X(max_common_layout, 2, common, al_max_common_layout)                                            \
  X(tile_to_shape, 3, filled, al_tile_to_shape)

/* tile_to_shape(L, shape[, order]): order is a tuple of ranks, or "right", which fills the last mode
   first. */
static CtComposed filled(lua_State *L, CtAlg *g, const char *op,
                         CtLayout (*fn)(CtAlg *, CtLayout, CtTuple, CtTuple)) {
  CtComposed c = any(L, g, op);
  CtTuple to = bind_to_shape(L, 2, &g->cx, op);
  if (lua_type(L, 3) != LUA_TSTRING || strcmp(lua_tostring(L, 3), "right") != 0) {
    return ct_composed_with(&c, fn(g, c.layout, to, bind_opt_tuple(L, 3, &g->cx, op)));
  }
  int n = ct_rank(to);
  CtInt *ranks = al_alloc(g, (size_t)n + 1, sizeof *ranks);
  for (int i = 0; ranks != NULL && i < n; i++) {
    ranks[i] = ct_int(n - i);
  }
  return ct_composed_with(&c, fn(g, c.layout, to, al_ints(g, ranks == NULL ? 0 : n, ranks)));
}

#define DEFINE(name, most, body, fn)                                                               \
  static int name(lua_State *L) {                                                                  \
    diag_check_count(L, #name, lua_gettop(L), most);                                               \
    CtAlg g = bind_begin(L);                                                                       \
    CtComposed made = body(L, &g, #name, fn);                                                      \
    return push_made(L, &g, made, #name, most);                                                    \
  }
ALGEBRA(DEFINE)
#undef DEFINE

static int max_common_vector(lua_State *L) {
  diag_check_count(L, "max_common_vector", lua_gettop(L), 2);
  CtAlg g = bind_begin(L);
  CtComposed a = any(L, &g, "max_common_vector");
  int64_t n = al_max_common_vector(&g, a, bind_to_composed(L, 2, &g.cx, "max_common_vector"));
  bind_check(L, &g);
  lua_pushinteger(L, n);
  return 1;
}

/* domain_distribute(shape, n) */
static int domain_distribute(lua_State *L) {
  diag_check_count(L, "domain_distribute", lua_gettop(L), 2);
  CtAlg g = bind_begin(L);
  CtTuple shape = bind_to_shape(L, 1, &g.cx, "domain_distribute");
  CtLayout l = al_domain_distribute(&g, shape, bind_to_static(L, 2, "domain_distribute"));
  bind_check(L, &g);
  bind_push_layout(L, l);
  return 1;
}

/* tv_layout(thr, val) -> (thread, value) layout, tile's shape */
static int tv_layout(lua_State *L) {
  CtTuple tiler;
  diag_check_count(L, "tv_layout", lua_gettop(L), 2);
  CtAlg g = bind_begin(L);
  CtLayout thr = bind_to_layout(L, 1, &g.cx, "tv_layout");
  CtLayout tv = al_tv_layout(&g, thr, bind_to_layout(L, 2, &g.cx, "tv_layout"), &tiler);
  push_made(L, &g, ct_composed_plain(tv), "tv_layout", 2);
  bind_push_tuple(L, tiler);
  return 2;
}

/* {====== Of layouts and of swizzles ====== */

static int push_swizzle(lua_State *L, const CtAlg *g, CtSwizzle sw) {
  bind_check(L, g);
  bind_push_swizzle(L, sw);
  return 1;
}

/* composition(swizzle, swizzle), composition(swizzle[, offset], layout) */
static int compose_swizzle(lua_State *L, CtAlg *g) {
  CtSwizzle sw = bind_to_swizzle(L, 1, &g->cx, "composition");
  if (bind_is_swizzle(L, 2)) {
    return push_swizzle(L, g, al_swizzle_join(g, sw, bind_to_swizzle(L, 2, &g->cx, "composition")));
  }
  if (lua_isnone(L, 3)) {
    CtComposed inner = bind_to_composed(L, 2, &g->cx, "composition");
    return push_made(L, g, al_swizzled(g, sw, inner), "composition", 2);
  }
  CtLayout inner = bind_to_layout(L, 3, &g->cx, "composition");
  CtInt offset = bind_to_int(L, 2, "composition");
  return push_made(L, g, al_composed(g, sw, offset, inner), "composition", 3);
}

/* Is the second argument swizzled: a swizzle, or a layout with one? Fills b if so. */
static bool is_swizzled(lua_State *L, CtAlg *g, const CtComposed *a, CtComposed *b) {
  if (bind_test_composed(L, 2, b)) {
    return b->is_swizzled;
  }
  if (bind_is_swizzle(L, 2)) {
    CtSwizzle sw = bind_to_swizzle(L, 2, &g->cx, "composition");
    CtLayout all = al_layout(g, al_leaf(g, al_size(g, a->layout)), NULL);
    *b = al_composed(g, sw, ct_int(0), all);
    return true;
  }
  if (lua_type(L, 2) == LUA_TSTRING &&
      ct_begins_swizzle(lua_tostring(L, 2), (size_t)lua_rawlen(L, 2))) {
    *b = bind_to_composed(L, 2, &g->cx, "composition");
    return true;
  }
  return false;
}

/* composition(A, B), where either may be a swizzle or swizzled. */
static int composition(lua_State *L) {
  CtComposed a, b;
  diag_check_count(L, "composition", lua_gettop(L), 3);
  CtAlg g = bind_begin(L);
  if (!bind_test_composed(L, 1, &a)) {
    if (bind_is_swizzle(L, 1)) {
      return compose_swizzle(L, &g);
    }
    a = any(L, &g, "composition");
  }
  diag_check_count(L, "composition", lua_gettop(L), 2);
  if (is_swizzled(L, &g, &a, &b)) {
    return push_made(L, &g, al_compose(&g, a, b), "composition", 2);
  }
  a.layout = al_composition(&g, a.layout, to_tiler(L, &g, "composition"));
  return push_made(L, &g, a, "composition", 2);
}

typedef CtComposed (*ScaleOp)(CtAlg *, CtComposed, int64_t);
typedef CtSwizzle (*ScaleSwizzle)(CtAlg *, CtSwizzle, int64_t);

/* upcast(L, n), downcast(L, n) */
static int scale(lua_State *L, const char *op, ScaleOp fn, ScaleSwizzle of_swizzle) {
  diag_check_count(L, op, lua_gettop(L), 2);
  CtAlg g = bind_begin(L);
  if (bind_is_swizzle(L, 1)) {
    CtSwizzle sw = bind_to_swizzle(L, 1, &g.cx, op);
    return push_swizzle(L, &g, of_swizzle(&g, sw, bind_to_static(L, 2, op)));
  }
  CtComposed c = any(L, &g, op);
  return push_made(L, &g, fn(&g, c, bind_to_static(L, 2, op)), op, 2);
}

static int upcast(lua_State *L) { return scale(L, "upcast", al_upcast, al_swizzle_upcast); }

static int downcast(lua_State *L) { return scale(L, "downcast", al_downcast, al_swizzle_downcast); }

/* A number of bits, or the element type that has them. */
static int64_t to_bits(lua_State *L, int idx) {
  CtDtype t;
  return bind_test_dtype(L, idx, &t) ? ct_dtype_pitch(t) : bind_to_static(L, idx, "recast");
}

/* recast(L, from, to); of tensors, ops/bind_recast.c */
static int recast(lua_State *L) {
  diag_check_count(L, "recast", lua_gettop(L), 3);
  CtAlg g = bind_begin(L);
  bool is_swizzle = bind_is_swizzle(L, 1);
  CtSwizzle sw = is_swizzle ? bind_to_swizzle(L, 1, &g.cx, "recast") : (CtSwizzle){0};
  CtComposed c = is_swizzle ? (CtComposed){0} : any(L, &g, "recast");
  int64_t from = to_bits(L, 2), to = to_bits(L, 3);
  return is_swizzle ? push_swizzle(L, &g, al_swizzle_recast(&g, sw, from, to))
                    : push_made(L, &g, al_recast(&g, c, from, to), "recast", 3);
}

/* {====== Opening ====== */

#define ROW(name, most, body, fn) {#name, name},
static const luaL_Reg methods[] = {ALGEBRA(ROW){"max_common_vector", max_common_vector},
                                   {"composition", composition},
                                   {"upcast", upcast},
                                   {"downcast", downcast},
                                   {"recast", recast},
                                   {"tv_layout", tv_layout},
                                   {NULL, NULL}};
#undef ROW

static const luaL_Reg functions[] = {{"domain_distribute", domain_distribute}, {NULL, NULL}};

void bind_open_algebra(lua_State *L) {
  luaL_setfuncs(L, methods, 0);
  luaL_setfuncs(L, functions, 0);
  bind_add_methods(L, LAYOUT_TYPE, methods);
}
