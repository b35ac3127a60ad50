/* standard.c: tables in the registry: the libraries' names with their values; their tables, each with a copy of what
   it held at first; the names of fields of these. */
#include "standard.h"

#include <lauxlib.h>

#include "state_language.h"

static const char names_key = 0, tables_key = 0, fields_key = 0;

/* Copies the fields of the table at t to the table at the top. */
static void copy(lua_State *L, int t) {
  lua_pushnil(L);
  while (lua_next(L, t) != 0) { /* stack: copy, key, value */
    lua_pushvalue(L, -2);
    lua_insert(L, -2);
    lua_rawset(L, -4);
  }
}

/* The keys of the table at t become names of fields. */
static void add_fields(lua_State *L, int t) {
  lua_rawgetp(L, LUA_REGISTRYINDEX, &fields_key);
  lua_pushnil(L);
  while (lua_next(L, t) != 0) { /* stack: fields, key, value */
    lua_pop(L, 1);
    lua_pushvalue(L, -1);
    lua_pushboolean(L, 1);
    lua_rawset(L, -4);
  }
  lua_pop(L, 1);
}

/* Notes that the table at t is the libraries'. What it holds is copied to the table at the top, popped. */
static void own(lua_State *L, int t) {
  luaL_checkstack(L, 12, NULL);
  copy(L, t);
  add_fields(L, t);
  lua_rawgetp(L, LUA_REGISTRYINDEX, &tables_key);
  lua_insert(L, -2);
  lua_pushvalue(L, t);
  lua_insert(L, -2);
  lua_rawset(L, -3);
  lua_pop(L, 1);
}

/* So are the tables in the one at the top. `but` is not theirs. */
static void own_tables(lua_State *L, const void *but) {
  lua_pushnil(L);
  while (lua_next(L, -2) != 0) {
    if (lua_istable(L, -1) && lua_topointer(L, -1) != but) {
      lua_newtable(L);
      own(L, lua_gettop(L) - 1);
    }
    lua_pop(L, 1);
  }
}

void standard_open(lua_State *L) {
  lua_createtable(L, 0, STATE_N_NAMES);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &fields_key);
  lua_newtable(L);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &tables_key);
  lua_pushglobaltable(L);
  lua_createtable(L, 0, STATE_N_NAMES);
  copy(L, lua_gettop(L) - 1);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &names_key);
  own_tables(L, lua_topointer(L, -1));
  lua_pop(L, 1);
}

/* The names are the copy of the language's table. That they hold Lua's, too, does not make those the table's: a field
   that is not there is never what it was at first. */
void standard_add(lua_State *L) {
  int language = lua_gettop(L);
  lua_rawgetp(L, LUA_REGISTRYINDEX, &names_key);
  own(L, language);
  own_tables(L, NULL);
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
