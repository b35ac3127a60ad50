/* state_language.c: the table of the language's names, the library's modules, and how scripts are loaded. */
#include "state_language.h"

#include <lauxlib.h>
#include <string.h>

#include "source_load.h"
#include "state.h"

static const char language_key = 0; /* its address names the language's table in the registry */

bool state_has_language(lua_State *L) {
  bool has = lua_rawgetp(L, LUA_REGISTRYINDEX, &language_key) == LUA_TTABLE;
  lua_pop(L, 1);
  return has;
}

void state_set_language(lua_State *L) { lua_rawsetp(L, LUA_REGISTRYINDEX, &language_key); }

void state_push_language(lua_State *L) {
  luaL_checkstack(L, 1, NULL);
  lua_rawgetp(L, LUA_REGISTRYINDEX, &language_key);
}

bool state_push_name(lua_State *L, int idx) {
  const char *found = NULL; /* a key of the language: it stays */
  idx = lua_absindex(L, idx);
  state_push_language(L);
  lua_pushnil(L);
  while (lua_next(L, -2) != 0) { /* stack: language, key, value */
    if (lua_type(L, -2) == LUA_TSTRING && lua_rawequal(L, -1, idx)) {
      const char *name = lua_tostring(L, -2);
      found = found == NULL || strcmp(name, found) < 0 ? name : found;
    }
    lua_pop(L, 1);
  }
  lua_pop(L, 1);
  if (found != NULL) {
    lua_pushstring(L, found);
  }
  return found != NULL;
}

void state_push_module(lua_State *L, const char *name) {
  luaL_getsubtable(L, LUA_REGISTRYINDEX, LUA_LOADED_TABLE);
  if (lua_getfield(L, -1, name) == LUA_TNIL) { /* stack: loaded, nil */
    luaL_getsubtable(L, LUA_REGISTRYINDEX, LUA_PRELOAD_TABLE);
    if (lua_getfield(L, -1, name) != LUA_TNIL) {
      lua_pushstring(L, name);
      lua_call(L, 1, 1); /* stack: loaded, nil, preload, module */
      lua_pushvalue(L, -1);
      lua_setfield(L, -5, name);
    }
    lua_replace(L, -3);
    lua_pop(L, 1);
  }
  lua_remove(L, -2);
}

void state_push_function(lua_State *L, const char *module, const char *name) {
  state_push_module(L, module);
  lua_getfield(L, -1, name);
  lua_remove(L, -2);
}

/* {====== Loading ====== */

static const char *load_mode(lua_State *L) {
  return state_of(L)->options.sandbox != 0 ? "t" : NULL;
}

int state_load(lua_State *L, const char *text, size_t len, const char *chunkname) {
  return src_load(L, text, len, chunkname, load_mode(L));
}

int state_load_file(lua_State *L, const char *path) { return src_load_file(L, path, load_mode(L)); }
