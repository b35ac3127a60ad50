/* own_modules.c: see library.h. Two tables in the registry: loaders by name, and modules by name. */
#include "library.h"

#include <lauxlib.h>
#include <stdbool.h>

enum { N_MODULES = 512 }; /* for about so many a table is made */

static const char loaders_key = 0, modules_key = 0, hook_key = 0; /* their addresses count */

void own_modules_open(lua_State *L) {
  luaL_checkstack(L, 2, NULL);
  lua_createtable(L, 0, N_MODULES);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &loaders_key);
  lua_newtable(L);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &modules_key);
}

/* Pops the value at the top. */
static void set(lua_State *L, const void *table, const char *name) {
  lua_rawgetp(L, LUA_REGISTRYINDEX, table);
  lua_insert(L, -2);
  lua_setfield(L, -2, name);
  lua_pop(L, 1);
}

/* Pushes it, or nil. */
static int get(lua_State *L, const void *table, const char *name) {
  lua_rawgetp(L, LUA_REGISTRYINDEX, table);
  int type = lua_getfield(L, -1, name);
  lua_remove(L, -2);
  return type;
}

void own_modules_push_loaders(lua_State *L) { lua_rawgetp(L, LUA_REGISTRYINDEX, &loaders_key); }

/* Calls the hook with the name and a module, which it pops. */
static void call_hook(lua_State *L, const char *name) {
  if (lua_rawgetp(L, LUA_REGISTRYINDEX, &hook_key) == LUA_TNIL) {
    lua_pop(L, 2);
    return;
  }
  lua_insert(L, -2);
  lua_pushstring(L, name);
  lua_insert(L, -2);
  lua_call(L, 2, 0);
}

void own_modules_begin(lua_State *L, const char *name) {
  luaL_checkstack(L, 4, NULL);
  lua_pushnil(L);
  call_hook(L, name);
}

void own_modules_keep(lua_State *L, const char *name) {
  luaL_checkstack(L, 4, NULL);
  bool is_first = get(L, &modules_key, name) == LUA_TNIL;
  lua_pop(L, 1);
  if (is_first) { /* a script may load it again, for itself */
    lua_pushvalue(L, -1);
    set(L, &modules_key, name);
  }
  lua_pushvalue(L, -1);
  call_hook(L, name);
}

int own_modules_require(lua_State *L) {
  const char *name = luaL_checkstring(L, 1);
  lua_settop(L, 1);
  if (get(L, &modules_key, name) != LUA_TNIL) {
    return 1;
  }
  bool is_own = get(L, &loaders_key, name) != LUA_TNIL; /* stack: name, nil, loader */
  if (!is_own) {
    lua_pushvalue(L, lua_upvalueindex(1));
  }
  lua_pushvalue(L, 1);
  lua_call(L, 1, 1);
  if (is_own) { /* scripts find the same one */
    luaL_getsubtable(L, LUA_REGISTRYINDEX, LUA_LOADED_TABLE);
    lua_pushvalue(L, -2);
    lua_setfield(L, -2, name);
    lua_pop(L, 1);
  }
  return 1;
}

int own_modules_set_hook(lua_State *L) {
  lua_settop(L, 1);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &hook_key);
  return 0;
}
