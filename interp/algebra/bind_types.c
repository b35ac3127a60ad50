/* bind_types.c: types of userdata, their methods and fields, and names that they refuse. */
#include "bind.h"

#include "interp/state/state.h"

/* __newindex of types that have none. Lua's own message says that they cannot be indexed. Tuples are tables. */
static int refuse_assignment(lua_State *L) {
  if (lua_istable(L, 1)) {
    lua_rawset(L, 1);
    return 0;
  }
  const char *key = luaL_tolstring(L, 2, NULL);
  return diag_error(L, "%s cannot be changed, and '%s' is assigned; make another one",
                    diag_push_kind(L, 1), key);
}

void bind_new_type(lua_State *L, const char *name, const luaL_Reg *meta, const luaL_Reg *methods) {
  luaL_newmetatable(L, name); /* stack: metatable */
  lua_pushcfunction(L, refuse_assignment);
  lua_setfield(L, -2, "__newindex");
  luaL_setfuncs(L, meta, 0);
  if (methods != NULL) {
    lua_newtable(L); /* stack: metatable, methods */
    luaL_setfuncs(L, methods, 0);
    bind_close_methods(L, name);
    lua_setfield(L, -2, "__index");
  }
  lua_pop(L, 1);
}

static bool is_library_asking(lua_State *L) {
  lua_Debug ar;
  int i = 1;
  while (lua_getstack(L, i, &ar) != 0 && lua_getinfo(L, "S", &ar) != 0 && *ar.what == 'C') {
    i++;
  }
  return diag_is_stdlib(ar.source);
}

/* Does the type of the methods at 1 list the field at 2? An object need not have it. */
static bool is_field(lua_State *L) {
  if (luaL_getmetafield(L, 1, FIELDS) == LUA_TNIL) {
    return false;
  }
  lua_Integer i = 1;
  while (lua_rawgeti(L, -1, i) != LUA_TNIL && !lua_rawequal(L, -1, 2)) {
    lua_pop(L, 1);
    i++;
  }
  bool is = !lua_isnil(L, -1);
  lua_pop(L, 2);
  return is;
}

/* The __index of a table of methods. The library itself may ask an object for what only some have. */
static int index_methods(lua_State *L) {
  if (lua_type(L, 2) != LUA_TSTRING || is_field(L) || is_library_asking(L)) {
    return 0;
  }
  return bind_refuse_name(L);
}

/* Their own metatable names the type and the methods, as what refuses a name has only the table. */
void bind_close_methods(lua_State *L, const char *name) {
  lua_createtable(L, 0, 3);
  lua_pushstring(L, name);
  lua_setfield(L, -2, "__name");
  lua_pushvalue(L, -2);
  lua_setfield(L, -2, METHODS);
  lua_pushcfunction(L, index_methods);
  lua_setfield(L, -2, "__index");
  lua_setmetatable(L, -2);
}

void bind_new_handle(lua_State *L, const char *name, lua_CFunction close, const luaL_Reg *methods) {
  const luaL_Reg meta[] = {{"__gc", close}, {"__close", close}, {NULL, NULL}};
  bind_new_type(L, name, meta, methods);
  if (methods != NULL) {
    luaL_getmetatable(L, name);
    lua_getfield(L, -1, "__index");
    lua_pushcfunction(L, close);
    lua_setfield(L, -2, "close");
    lua_pop(L, 2);
  }
}

void bind_set_index(lua_State *L, lua_CFunction index) {
  lua_pushvalue(L, -1);
  lua_setfield(L, -3, METHODS);
  lua_pushcclosure(L, index, 1);
  lua_setfield(L, -2, "__index");
}

void bind_add_functions(lua_State *L, int language, const char *const *names) {
  language = lua_absindex(L, language);
  for (size_t i = 0; names[i] != NULL; i++) {
    lua_getfield(L, language, names[i]);
    lua_setfield(L, -2, names[i]);
  }
}

void bind_add_methods(lua_State *L, const char *type, const luaL_Reg *methods) {
  luaL_getmetatable(L, type);
  lua_getfield(L, -1, METHODS);
  luaL_setfuncs(L, methods, 0);
  lua_pop(L, 2);
}

int bind_no_length(lua_State *L) {
  return diag_error(L, "'#' of %s; size(t) is the number of its elements", diag_push_kind(L, 1));
}

void bind_add_fields(lua_State *L, const char *const *names) {
  lua_newtable(L);
  for (lua_Integer i = 0; names[i] != NULL; i++) {
    lua_pushstring(L, names[i]);
    lua_rawseti(L, -2, i + 1);
  }
  lua_setfield(L, -2, FIELDS);
}

int bind_refuse_name(lua_State *L) { return state_of(L)->types.refuse_name(L); }

bool bind_is_any(lua_State *L, int idx) { return luaL_testudata(L, idx, ANY_TYPE) != NULL; }
