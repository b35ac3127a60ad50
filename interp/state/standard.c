/* standard.c: tables in the registry: the libraries' names with their values; their tables, each with a copy of what
   it held at first; the names of fields of these. */
#include "standard.h"

#include <lauxlib.h>

static const char names_key = 0, tables_key = 0, fields_key = 0;

/* Pushes a copy of the table at t; its keys become names of fields. */
static void push_copy(lua_State *L, int t) {
  lua_newtable(L);
  lua_rawgetp(L, LUA_REGISTRYINDEX, &fields_key);
  lua_pushnil(L);
  while (lua_next(L, t) != 0) { /* stack: copy, fields, key, value */
    lua_pushvalue(L, -2);
    lua_insert(L, -2);
    lua_rawset(L, -5);
    lua_pushvalue(L, -1);
    lua_pushboolean(L, 1);
    lua_rawset(L, -4);
  }
  lua_pop(L, 1);
}

/* Pops the value at the top; of a table, notes that it is the libraries'. */
static void own(lua_State *L) {
  int t = lua_gettop(L);
  if (lua_istable(L, t)) {
    luaL_checkstack(L, 12, NULL);
    lua_rawgetp(L, LUA_REGISTRYINDEX, &tables_key);
    lua_pushvalue(L, t);
    push_copy(L, t);
    lua_rawset(L, -3);
  }
  lua_settop(L, t - 1);
}

/* Every field of the table at the top is a name of the libraries. `but` is a table that is not theirs. */
static void add_names(lua_State *L, const void *but) {
  lua_pushnil(L);
  while (lua_next(L, -2) != 0) { /* stack: table, name, value */
    lua_rawgetp(L, LUA_REGISTRYINDEX, &names_key);
    lua_pushvalue(L, -3);
    lua_pushvalue(L, -3);
    lua_rawset(L, -3);
    lua_pop(L, 1);
    if (lua_topointer(L, -1) == but) {
      lua_pop(L, 1);
    } else {
      own(L);
    }
  }
}

void standard_open(lua_State *L) {
  lua_newtable(L);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &fields_key);
  lua_newtable(L);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &names_key);
  lua_newtable(L);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &tables_key);
  lua_pushglobaltable(L);
  add_names(L, lua_topointer(L, -1));
  lua_pop(L, 1);
}

void standard_add(lua_State *L) {
  lua_pushvalue(L, -1);
  own(L);
  add_names(L, NULL);
}

static bool is_among(lua_State *L, const char *key, const char *name, size_t len) {
  lua_rawgetp(L, LUA_REGISTRYINDEX, key);
  lua_pushlstring(L, name, len);
  bool is = lua_rawget(L, -2) != LUA_TNIL;
  lua_pop(L, 2);
  return is;
}

bool standard_is_name(lua_State *L, const char *name, size_t len) {
  return is_among(L, &names_key, name, len);
}

bool standard_is_field(lua_State *L, const char *name, size_t len) {
  return is_among(L, &fields_key, name, len);
}

bool standard_has(lua_State *L, int t, int key) {
  lua_pushvalue(L, t);
  lua_pushvalue(L, key);
  lua_rawgetp(L, LUA_REGISTRYINDEX, &tables_key);
  lua_pushvalue(L, -3);
  lua_rawget(L, -2); /* stack: t, key, tables, copy */
  lua_pushvalue(L, -3);
  lua_rawget(L, -2);
  lua_pushvalue(L, -4);
  lua_rawget(L, -6);
  bool has = !lua_isnil(L, -1) && lua_rawequal(L, -1, -2);
  lua_pop(L, 6);
  return has;
}

bool standard_is(lua_State *L, int name) {
  lua_rawgetp(L, LUA_REGISTRYINDEX, &names_key);
  lua_pushvalue(L, name);
  lua_rawget(L, -2);
  bool is = !lua_isnil(L, -1) && lua_rawequal(L, -1, -3);
  lua_pop(L, 2);
  return is;
}

bool standard_owns(lua_State *L, int idx) {
  lua_pushvalue(L, idx);
  lua_rawgetp(L, LUA_REGISTRYINDEX, &tables_key);
  lua_insert(L, -2);
  bool is = lua_rawget(L, -2) != LUA_TNIL;
  lua_pop(L, 2);
  return is;
}

void standard_replace(lua_State *L, const char *name, lua_CFunction fn) {
  lua_getfield(L, -1, name);
  lua_pushcclosure(L, fn, 1);
  lua_setfield(L, -2, name);
}

int standard_call_original(lua_State *L) {
  lua_pushvalue(L, lua_upvalueindex(1));
  lua_insert(L, 1);
  lua_call(L, lua_gettop(L) - 1, LUA_MULTRET);
  return lua_gettop(L);
}
