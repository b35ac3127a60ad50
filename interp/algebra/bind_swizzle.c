/* bind_swizzle.c: swizzles in Lua: objects that are called with an index, or composed with layouts
   and with each other. */
#include "bind.h"
#include "interp/openers.h"

#include <string.h>

static int push_swizzle(lua_State *L, const CtAlg *g, CtSwizzle sw) {
  bind_check(L, g);
  bind_push_swizzle(L, sw);
  return 1;
}

/* swizzle(B, M, S), swizzle("Sw<B,M,S>") */
static int swizzle(lua_State *L) {
  int64_t n[3];
  CtAlg g = bind_begin(L);
  if (bind_is_swizzle(L, 1)) {
    return push_swizzle(L, &g, bind_to_swizzle(L, 1, &g.cx, "swizzle"));
  }
  for (int i = 0; i < 3; i++) {
    n[i] = bind_to_static(L, i + 1, "swizzle");
  }
  return push_swizzle(L, &g, al_swizzle_make(&g, n[0], n[1], n[2]));
}

/* swizzle_from_masks(y, z): y decides, z changes. */
static int swizzle_from_masks(lua_State *L) {
  CtAlg g = bind_begin(L);
  int64_t y = bind_to_static(L, 1, "swizzle_from_masks");
  return push_swizzle(L, &g, al_swizzle_masks(&g, y, bind_to_static(L, 2, "swizzle_from_masks")));
}

/* {====== Swizzles as objects ====== */

static CtSwizzle check_swizzle(lua_State *L) {
  const CtSwizzle *sw = luaL_checkudata(L, 1, SWIZZLE_TYPE);
  return *sw;
}

static bool is_index(lua_State *L, int idx) {
  CtComposed l;
  return lua_type(L, idx) != LUA_TSTRING && lua_type(L, idx) != LUA_TTABLE &&
         !bind_is_swizzle(L, idx) && !bind_test_composed(L, idx, &l);
}

/* sw(i) of an index; sw(x) of a layout or swizzle composes, upvalue 1 being composition. */
static int call(lua_State *L) {
  CtSwizzle sw = check_swizzle(L);
  if (!is_index(L, 2)) {
    lua_pushvalue(L, lua_upvalueindex(1));
    lua_insert(L, 1);
    lua_call(L, lua_gettop(L) - 1, 1);
    return 1;
  }
  CtAlg g = bind_begin(L);
  return bind_return_int(L, &g, al_swizzle(&g, sw, bind_to_int(L, 2, "swizzle")));
}

static int tostring(lua_State *L) {
  CtText text;
  CtSwizzle sw = check_swizzle(L);
  CtCx cx = bind_enter(L);
  bind_text_init(&text, &cx);
  ct_swizzle_print(sw, &text);
  bind_push_text(L, &text);
  return 1;
}

static int equal(lua_State *L) {
  const CtSwizzle *a = luaL_testudata(L, 1, SWIZZLE_TYPE), *b = luaL_testudata(L, 2, SWIZZLE_TYPE);
  lua_pushboolean(L, a != NULL && b != NULL && ct_swizzle_equal(*a, *b));
  return 1;
}

/* sw.bits, sw.base, sw.shift: B, M and S; sw.y and sw.z, the masks; or a method, in upvalue 1. */
static int field(lua_State *L) {
  CtSwizzle sw = check_swizzle(L);
  const char *name = lua_type(L, 2) == LUA_TSTRING ? lua_tostring(L, 2) : "";
  const struct {
    const char *name;
    lua_Integer value;
  } fields[] = {{"bits", sw.bits},
                {"base", sw.base},
                {"shift", sw.shift},
                {"y", (lua_Integer)ct_swizzle_y(sw)},
                {"z", (lua_Integer)ct_swizzle_z(sw)}};
  for (size_t i = 0; i < CT_ARRAY_LEN(fields); i++) {
    if (strcmp(name, fields[i].name) == 0) {
      lua_pushinteger(L, fields[i].value);
      return 1;
    }
  }
  lua_pushvalue(L, 2);
  return lua_rawget(L, lua_upvalueindex(1)) == LUA_TNIL ? bind_refuse_name(L) : 1;
}

/* {====== Opening ====== */

static const luaL_Reg functions[] = {
    {"swizzle", swizzle}, {"swizzle_from_masks", swizzle_from_masks}, {NULL, NULL}};

static const luaL_Reg meta[] = {{"__tostring", tostring}, {"__eq", equal}, {NULL, NULL}};

/* Functions on layouts that take a swizzle first as well. */
static const char *const methods[] = {"composition", "recast", "upcast", "downcast", NULL};

static const char *const field_names[] = {"bits", "base", "shift", "y", "z", NULL};

void bind_open_swizzle(lua_State *L) {
  luaL_setfuncs(L, functions, 0);
  bind_new_type(L, SWIZZLE_TYPE, meta, NULL);
  luaL_getmetatable(L, SWIZZLE_TYPE); /* stack: language, metatable */
  lua_getfield(L, -2, "composition");
  lua_pushcclosure(L, call, 1);
  lua_setfield(L, -2, "__call");
  lua_newtable(L); /* stack: language, metatable, methods */
  bind_add_functions(L, -3, methods);
  bind_set_index(L, field);
  bind_add_fields(L, field_names);
  lua_pop(L, 1);
}
