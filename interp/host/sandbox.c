/* sandbox.c: the names that a sandboxed script has and has not. */
#include "sandbox.h"
#include "interp/state/state_language.h"

#include <lauxlib.h>
#include <lualib.h>
#include <string.h>

#include "interp/state/diag.h"

static const luaL_Reg sandbox_libs[] = {
    {LUA_GNAME, luaopen_base},          {LUA_LOADLIBNAME, luaopen_package},
    {LUA_COLIBNAME, luaopen_coroutine}, {LUA_TABLIBNAME, luaopen_table},
    {LUA_STRLIBNAME, luaopen_string},   {LUA_MATHLIBNAME, luaopen_math},
    {LUA_UTF8LIBNAME, luaopen_utf8},    {NULL, NULL}};

/* What a sandboxed script must not have: "library.name", or a global. */
static const char *const forbidden[] = {
    "dofile",          "loadfile",           "collectgarbage",    "string.dump",
    "package.loadlib", "package.searchpath", "package.searchers", "package.path",
    "package.cpath",
};

/* Names of the language that reach files: a compiler does, by #include. `cuda` decides by itself. */
static const char *const forbidden_names[] = {"load_npy", "save_npy", "reload", "cuda_kernel",
                                              "export",   "capture",  "replay", "judge"};

static void forbid(lua_State *L, const char *name) {
  const char *dot = strchr(name, '.');
  lua_pushglobaltable(L);
  if (dot != NULL) {
    lua_pushlstring(L, name, (size_t)(dot - name));
    lua_gettable(L, -2);
  }
  lua_pushnil(L);
  lua_setfield(L, -2, dot == NULL ? name : dot + 1);
  lua_pop(L, dot == NULL ? 1 : 2);
}

/* load(chunk, name, mode, env) that takes text only. Upvalue 1: Lua's own. */
static int load_text(lua_State *L) {
  lua_settop(L, lua_gettop(L) < 4 ? 3 : 4);
  lua_pushliteral(L, "t");
  lua_replace(L, 3);
  return standard_call_original(L);
}

/* The sandbox's require(name): what is loaded or in package.preload. Lua's own looks for
   package.searchers, which a sandboxed script must not have. */
static int require_preloaded(lua_State *L) {
  const char *name = luaL_checkstring(L, 1);
  state_push_module(L, name);
  if (lua_isnil(L, -1)) {
    return diag_error(L, "require: no module '%s' is preloaded; a sandboxed script loads no files",
                      name);
  }
  return 1;
}

void sandbox_open_libs(lua_State *L) {
  for (const luaL_Reg *lib = sandbox_libs; lib->name != NULL; lib++) {
    luaL_requiref(L, lib->name, lib->func, 1);
    lua_pop(L, 1);
  }
  lua_register(L, "require", require_preloaded);
  sandbox_open_guards(L);
  sandbox_open_table(L);
  sandbox_open_string(L);
}

void sandbox_cut_language(lua_State *L) {
  for (size_t i = 0; i < CT_ARRAY_LEN(forbidden_names); i++) {
    lua_pushnil(L);
    lua_setfield(L, -2, forbidden_names[i]);
  }
}

void sandbox_close(lua_State *L) {
  for (size_t i = 0; i < CT_ARRAY_LEN(forbidden); i++) {
    forbid(L, forbidden[i]);
  }
  lua_getglobal(L, "load");
  lua_pushcclosure(L, load_text, 1);
  lua_setglobal(L, "load");
}
