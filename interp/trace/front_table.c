/* front_table.c: tables in the registry that say something about objects of Lua: the object is the key. */
#include <lauxlib.h>

#include "front_state.h"

void front_new_table(lua_State *L, const void *key, const char *mode) {
  lua_newtable(L);
  if (mode != NULL) {
    lua_createtable(L, 0, 1);
    lua_pushstring(L, mode);
    lua_setfield(L, -2, "__mode");
    lua_setmetatable(L, -2);
  }
  lua_rawsetp(L, LUA_REGISTRYINDEX, key);
}

int front_push_entry(lua_State *L, const void *key, int object) {
  object = lua_absindex(L, object);
  lua_rawgetp(L, LUA_REGISTRYINDEX, key);
  lua_pushvalue(L, object);
  int type = lua_rawget(L, -2);
  lua_remove(L, -2);
  return type;
}

bool front_has_entry(lua_State *L, const void *key, int object) {
  bool has = front_push_entry(L, key, object) != LUA_TNIL;
  lua_pop(L, 1);
  return has;
}

void front_set_entry(lua_State *L, const void *key, int object) {
  object = lua_absindex(L, object);
  lua_rawgetp(L, LUA_REGISTRYINDEX, key);
  lua_pushvalue(L, object);
  lua_pushvalue(L, -3);
  lua_rawset(L, -3);
  lua_pop(L, 2);
}

void front_push_table(lua_State *L, const void *key, int object) {
  object = lua_absindex(L, object);
  if (front_push_entry(L, key, object) != LUA_TTABLE) {
    lua_pop(L, 1);
    lua_newtable(L);
    lua_pushvalue(L, -1);
    front_set_entry(L, key, object);
  }
}

uint64_t front_get_number(lua_State *L, const void *key, int object) {
  front_push_entry(L, key, object);
  uint64_t number = (uint64_t)lua_tointeger(L, -1);
  lua_pop(L, 1);
  return number;
}

void front_set_number(lua_State *L, const void *key, int object, uint64_t number) {
  object = lua_absindex(L, object);
  lua_pushinteger(L, (lua_Integer)number);
  front_set_entry(L, key, object);
}
