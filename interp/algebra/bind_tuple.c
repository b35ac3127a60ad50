/* bind_tuple.c: tuples in Lua: the wildcard, basis elements, how tuples print and compare, and the
   functions on coordinates and shapes. A tuple is a plain table, so scripts take it apart with
   Lua's own means; a tuple that the language returns also prints as CuTe prints it. */
#include "bind.h"
#include "interp/openers.h"

#include <string.h>

#include "interp/trace/front.h"
#include "interp/trace/value.h"
#include "runtime/ir/ir_guard.h"

#define ANY_KEY "cuttle._"

void bind_push_any(lua_State *L) { lua_getfield(L, LUA_REGISTRYINDEX, ANY_KEY); }

static int any_tostring(lua_State *L) {
  lua_pushliteral(L, "_");
  return 1;
}

/* {====== Basis elements: E(0), E(0, 1) ====== */

static int basis_new(lua_State *L) {
  int path[CT_MAX_DEPTH];
  int n = bind_to_path(L, 1, path, "E");
  CtInt i = {.v = 1, .kind = CT_STATIC, .basis_depth = (uint8_t)n};
  if (n < 1 || n > CT_BASIS_MAX) {
    return diag_error(L, "E: %d mode numbers; 1 to %d were expected", n, CT_BASIS_MAX);
  }
  for (int k = 0; k < n; k++) {
    if (path[k] > UINT8_MAX) {
      return diag_error(L, "E: mode %d is out of range; 0 to %d were expected", path[k], UINT8_MAX);
    }
    i.basis[k] = (uint8_t)path[k];
  }
  bind_push_int(L, i);
  return 1;
}

static int push_tuple(lua_State *L, const CtAlg *g, CtTuple t) {
  bind_check(L, g);
  bind_push_tuple(L, t);
  return 1;
}

/* k * E(i), either way round. */
static int basis_mul(lua_State *L) {
  CtAlg g = bind_begin(L);
  CtInt a = bind_to_int(L, 1, "E");
  return bind_return_int(L, &g, al_mul(&g, a, bind_to_int(L, 2, "E")));
}

/* Sums of basis elements and coordinates: E(0) + 2 * E(1) is (1,2). */
static int coord_add(lua_State *L) {
  CtAlg g = bind_begin(L);
  CtTuple a = bind_to_tuple(L, 1, &g.cx, "coordinate");
  return push_tuple(L, &g, al_coord_add(&g, a, bind_to_tuple(L, 2, &g.cx, "coordinate")));
}

static int basis_eq(lua_State *L) {
  const CtInt *a = luaL_testudata(L, 1, BASIS_TYPE), *b = luaL_testudata(L, 2, BASIS_TYPE);
  lua_pushboolean(L, a != NULL && b != NULL && ct_int_equal(*a, *b));
  return 1;
}

static int basis_tostring(lua_State *L) {
  CtText text;
  CtCx cx = bind_enter(L);
  bind_text_init(&text, &cx);
  ct_int_print(&cx, *(const CtInt *)luaL_checkudata(L, 1, BASIS_TYPE), &text);
  bind_push_text(L, &text);
  return 1;
}

/* {====== Tuples ====== */

static int tuple_tostring(lua_State *L) {
  CtText text;
  CtCx cx = bind_enter(L);
  bind_text_init(&text, &cx);
  ct_tuple_print(&cx, bind_to_tuple(L, 1, &cx, "tuple"), &text);
  bind_push_text(L, &text);
  return 1;
}

static int tuple_eq(lua_State *L) {
  CtCx cx = bind_enter(L);
  CtTuple a = bind_to_tuple(L, 1, &cx, "tuple");
  lua_pushboolean(L, ct_tuple_equal(a, bind_to_tuple(L, 2, &cx, "tuple")));
  return 1;
}

/* {====== Strides ====== */

static int compact(lua_State *L, const char *op, bool from_right) {
  CtAlg g = bind_begin(L);
  CtTuple shape = bind_to_shape(L, 1, &g.cx, op);
  CtInt start = lua_isnoneornil(L, 2) ? ct_int(1) : bind_to_int(L, 2, op);
  return push_tuple(L, &g, al_compact(&g, shape, start, from_right));
}

static int compact_col_major(lua_State *L) { return compact(L, "compact_col_major", false); }
static int compact_row_major(lua_State *L) { return compact(L, "compact_row_major", true); }

static int compact_order(lua_State *L) {
  CtAlg g = bind_begin(L);
  CtTuple shape = bind_to_shape(L, 1, &g.cx, "compact_order");
  CtTuple order = bind_to_tuple(L, 2, &g.cx, "compact_order");
  return push_tuple(L, &g, al_compact_order(&g, shape, order));
}

/* {====== Coordinates ====== */

/* Whether the value stands for a layout with strides of its own, rather than for a shape. */
static bool has_strides(lua_State *L, int idx) {
  CtComposed l;
  return bind_test_composed(L, idx, &l) ||
         (lua_type(L, idx) == LUA_TSTRING && strchr(lua_tostring(L, idx), ':') != NULL);
}

/* As a method the layout comes first: L:crd2idx(c) is crd2idx(c, L). */
static void coord_first(lua_State *L) {
  CtComposed l;
  if (bind_test_composed(L, 1, &l)) {
    lua_settop(L, 2);
    lua_insert(L, 1);
  }
}

/* crd2idx(coord, layout), (coord, shape), (coord, shape, stride) */
static int crd2idx(lua_State *L) {
  CtAlg g = bind_begin(L);
  coord_first(L);
  CtTuple crd = bind_to_tuple(L, 1, &g.cx, "crd2idx");
  CtTuple stride = bind_opt_tuple(L, 3, &g.cx, "crd2idx");
  if (has_strides(L, 2)) {
    CtComposed of = bind_to_composed(L, 2, &g.cx, "crd2idx");
    return bind_push_value(L, &g, crd, &of);
  }
  CtTuple shape = bind_to_shape(L, 2, &g.cx, "crd2idx");
  if (stride == NULL) {
    return bind_return_int(L, &g, al_crd2idx(&g, crd, shape));
  }
  CtComposed of = ct_composed_plain(al_layout(&g, shape, stride));
  bind_check(L, &g);
  return bind_push_value(L, &g, crd, &of);
}

/* idx2crd(index, shape), idx2crd(index, layout) */
static int idx2crd(lua_State *L) {
  CtAlg g = bind_begin(L);
  coord_first(L);
  CtTuple from = bind_to_tuple(L, 1, &g.cx, "idx2crd");
  if (has_strides(L, 2)) {
    CtInt i = bind_to_int(L, 1, "idx2crd");
    return push_tuple(L, &g, al_idx2crd(&g, i, bind_to_layout(L, 2, &g.cx, "idx2crd")));
  }
  return push_tuple(L, &g, al_natural(&g, from, bind_to_shape(L, 2, &g.cx, "idx2crd")));
}

/* crd2crd(coord, from_shape, to_shape) */
static int crd2crd(lua_State *L) {
  CtAlg g = bind_begin(L);
  CtTuple crd = bind_to_tuple(L, 1, &g.cx, "crd2crd");
  CtTuple from = bind_to_shape(L, 2, &g.cx, "crd2crd");
  return push_tuple(L, &g, al_crd2crd(&g, crd, from, bind_to_shape(L, 3, &g.cx, "crd2crd")));
}

/* The tuple that a layout or tuple has its nesting from. */
static CtTuple to_profile(lua_State *L, int idx, const CtCx *cx, const char *op) {
  return has_strides(L, idx) ? bind_to_composed(L, idx, cx, op).layout.shape
                             : bind_to_shape(L, idx, cx, op);
}

/* {====== Relations ====== */

static int push_relation(lua_State *L, const CtAlg *g, bool holds) {
  bind_check(L, g);
  lua_pushboolean(L, holds);
  return 1;
}

static bool congruent_of(CtAlg *g, CtTuple a, CtTuple b) {
  (void)g;
  return ct_congruent(a, b);
}

static bool weakly_congruent_of(CtAlg *g, CtTuple a, CtTuple b) {
  (void)g;
  return ct_weakly_congruent(a, b);
}

static int of_profiles(lua_State *L, const char *op, bool (*fn)(CtAlg *, CtTuple, CtTuple)) {
  CtAlg g = bind_begin(L);
  CtTuple a = to_profile(L, 1, &g.cx, op);
  return push_relation(L, &g, fn(&g, a, to_profile(L, 2, &g.cx, op)));
}

static int congruent(lua_State *L) { return of_profiles(L, "congruent", congruent_of); }
static int weakly_congruent(lua_State *L) {
  return of_profiles(L, "weakly_congruent", weakly_congruent_of);
}
static int compatible(lua_State *L) { return of_profiles(L, "compatible", al_compatible); }

/* evenly_divides(shape, tiler) */
static int evenly_divides(lua_State *L) {
  CtAlg g = bind_begin(L);
  CtTuple shape = to_profile(L, 1, &g.cx, "evenly_divides");
  CtTiler tiler = bind_to_tiler(L, 2, &g.cx, "evenly_divides");
  return push_relation(L, &g, al_evenly_divides(&g, shape, tiler));
}

static int less(lua_State *L, const char *op, CtStatus (*fn)(CtTuple, CtTuple, bool *, CtErr *)) {
  bool holds = false;
  CtAlg g = bind_begin(L);
  CtTuple a = bind_to_tuple(L, 1, &g.cx, op), b = bind_to_tuple(L, 2, &g.cx, op);
  g.status = fn(a, b, &holds, g.err);
  return push_relation(L, &g, holds);
}

static int lex_less(lua_State *L) { return less(L, "lex_less", ct_lex_less); }
static int colex_less(lua_State *L) { return less(L, "colex_less", ct_colex_less); }

/* Of run-time values it is one. */
static int elem_less(lua_State *L) {
  CtErr err;
  CtVal v;
  CtCx cx = bind_enter(L);
  CtTuple a = bind_to_tuple(L, 1, &cx, "elem_less"), b = bind_to_tuple(L, 2, &cx, "elem_less");
  if ((ct_all_static(a) && ct_all_static(b)) || ct_has_any(a) || ct_has_any(b)) {
    return less(L, "elem_less", ct_elem_less);
  }
  diag_check(L, ct_ir_elem_less(front_here(L, "elem_less"), a, b, &v, &err), &err);
  value_push(L, v);
  return 1;
}

/* {====== Slices: slice(coord, layout or tuple), and as methods of a layout ====== */

/* Pushes the layout and the offset, or the tuple, at most n of them; returns how many. any: keeps what
   is under `_`, and has an offset. */
static int cut(lua_State *L, const char *op, bool any, int n) {
  CtTuple offset = NULL;
  CtAlg g = bind_begin(L);
  coord_first(L);
  CtTuple crd = bind_to_tuple(L, 1, &g.cx, op);
  if (!has_strides(L, 2)) {
    CtTuple t = bind_to_tuple(L, 2, &g.cx, op);
    return push_tuple(L, &g, al_keep_tuple(&g, any ? "slice" : op, any, crd, t));
  }
  CtComposed c = bind_to_composed(L, 2, &g.cx, op);
  if (any) {
    c = al_slice(&g, crd, c, &offset);
  } else {
    c.layout = al_keep(&g, op, any, crd, c.layout);
  }
  bind_check(L, &g);
  bind_push_composed(L, &c);
  if (n > 1) {
    bind_push_tuple(L, offset);
  }
  return n;
}

/* One result, so that `size(slice(c, L))` means what it says. */
static int slice(lua_State *L) { return cut(L, "slice", true, 1); }
static int slice_and_offset(lua_State *L) { return cut(L, "slice_and_offset", true, 2); }
static int dice(lua_State *L) { return cut(L, "dice", false, 1); }

/* {====== Opening ====== */

static const luaL_Reg functions[] = {{"E", basis_new},
                                     {"compact_col_major", compact_col_major},
                                     {"compact_row_major", compact_row_major},
                                     {"compact_order", compact_order},
                                     {"crd2idx", crd2idx},
                                     {"idx2crd", idx2crd},
                                     {"crd2crd", crd2crd},
                                     {"congruent", congruent},
                                     {"weakly_congruent", weakly_congruent},
                                     {"compatible", compatible},
                                     {"evenly_divides", evenly_divides},
                                     {"lex_less", lex_less},
                                     {"colex_less", colex_less},
                                     {"elem_less", elem_less},
                                     {"slice", slice},
                                     {"slice_and_offset", slice_and_offset},
                                     {"dice", dice},
                                     {NULL, NULL}};

static const luaL_Reg any_meta[] = {{"__tostring", any_tostring}, {NULL, NULL}};

static const luaL_Reg basis_meta[] = {{"__tostring", basis_tostring},
                                      {"__eq", basis_eq},
                                      {"__mul", basis_mul},
                                      {"__add", coord_add},
                                      {NULL, NULL}};

static const luaL_Reg tuple_meta[] = {
    {"__tostring", tuple_tostring}, {"__eq", tuple_eq}, {"__add", coord_add}, {NULL, NULL}};

void bind_open_tuple(lua_State *L) {
  bind_new_type(L, ANY_TYPE, any_meta, NULL);
  bind_new_type(L, BASIS_TYPE, basis_meta, NULL);
  bind_new_type(L, TUPLE_TYPE, tuple_meta, NULL);
  lua_newuserdatauv(L, 0, 0);
  luaL_setmetatable(L, ANY_TYPE);
  lua_pushvalue(L, -1);
  lua_setfield(L, LUA_REGISTRYINDEX, ANY_KEY);
  lua_setfield(L, -2, "_");
  luaL_setfuncs(L, functions, 0);
}
