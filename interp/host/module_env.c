/* module_env.c: one plain table for all modules of stdlib/, in the registry. Reading a name costs what it costs a
   script. New names are errors: a module that forgets `local` must not hand a variable to all others. luacheck finds
   assignments to names that are there. */
#include "library.h"

#include <lauxlib.h>
#include <string.h>

#include "interp/state/diag.h"
#include "interp/state/state_language.h"

static const char env_key = 0; /* its address names the table in the registry */

static int refuse(lua_State *L) { /* __newindex(env, name, value) */
  return diag_error(L, "a module of the library assigns the global '%s'; make it a local",
                    luaL_tolstring(L, 2, NULL));
}

void module_env_open(lua_State *L) {
  luaL_checkstack(L, 4, NULL);
  lua_createtable(L, 0, STATE_N_NAMES);
  lua_newtable(L); /* stack: env, its metatable */
  lua_pushcfunction(L, refuse);
  lua_setfield(L, -2, "__newindex");
  lua_setmetatable(L, -2);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &env_key);
}

static void clear(lua_State *L) { /* stack: env */
  lua_pushnil(L);
  while (lua_next(L, -2) != 0) {
    lua_pop(L, 1);
    lua_pushvalue(L, -1);
    lua_pushnil(L);
    lua_rawset(L, -4);
  }
}

/* The fields of the table at the top become the env's, but for `_VERSION`, which stays Lua's. Pops the table.
   Stack: env, table. */
static void add_fields(lua_State *L) {
  lua_pushnil(L);
  while (lua_next(L, -2) != 0) { /* stack: env, table, name, value */
    if (lua_type(L, -2) != LUA_TSTRING || strcmp(lua_tostring(L, -2), "_VERSION") == 0) {
      lua_pop(L, 1);
      continue;
    }
    lua_pushvalue(L, -2);
    lua_insert(L, -2);
    lua_rawset(L, -5);
  }
  lua_pop(L, 1);
}

/* What the library prints goes where the script's `print` of now leads. */
static int print_as_script(lua_State *L) {
  lua_getglobal(L, "print");
  lua_insert(L, 1);
  lua_call(L, lua_gettop(L) - 1, 0);
  return 0;
}

/* These distrust their texts in a sandbox. The library's own texts are trusted: it has internal.kernel.cuda and ptx. */
static const char *const of_scripts[] = {"cuda", "ptx"};

void module_env_fill(lua_State *L) {
  luaL_checkstack(L, 6, NULL);
  lua_rawgetp(L, LUA_REGISTRYINDEX, &env_key);
  clear(L);
  lua_pushglobaltable(L);
  add_fields(L);
  state_push_language(L);
  add_fields(L);
  lua_pushliteral(L, "print");
  lua_pushcfunction(L, print_as_script);
  lua_rawset(L, -3);
  lua_pushliteral(L, "require");
  lua_pushliteral(L, "require");
  lua_rawget(L, -3);
  lua_pushcclosure(L, own_modules_require, 1);
  lua_rawset(L, -3);
  for (size_t i = 0; i < CT_ARRAY_LEN(of_scripts); i++) {
    lua_pushstring(L, of_scripts[i]);
    lua_pushnil(L);
    lua_rawset(L, -3);
  }
  lua_pop(L, 1);
}

void module_env_give(lua_State *L) {
  lua_rawgetp(L, LUA_REGISTRYINDEX, &env_key);
  lua_setupvalue(L, -2, 1);
}
