/* test_source.c: finding the text of functions and converting them. The checks are in
   tests/rewrite/source.lua; this program gives it the functions of interp/front/source.h and source_load.h:
     ok(passed, name)
     src.convert(f, is_kernel) -> function  or  nil, message
     src.is_converted(f)  src.set_runtime(table)  src.load(text, name)  src.load_file(path) */
#include <lauxlib.h>
#include <lua.h>
#include <lualib.h>

#include "interp/front/source.h"
#include "interp/state/source_load.h"
#include "tap.h"

static int report(lua_State *L) {
  OK(lua_toboolean(L, 1), "%s", luaL_checkstring(L, 2));
  return 0;
}

static int convert(lua_State *L) {
  lua_settop(L, 2);
  int status = src_convert(L, 1, lua_toboolean(L, 2) ? RW_KERNEL : RW_HELPER);
  if (lua_gettop(L) != 3) {
    return luaL_error(L, "src_convert left %d values", lua_gettop(L) - 2);
  }
  if (status == LUA_OK) {
    return 1;
  }
  lua_pushnil(L);
  lua_insert(L, -2);
  return 2;
}

static int is_converted(lua_State *L) {
  lua_pushboolean(L, src_is_converted(L, 1));
  return 1;
}

static int set_runtime(lua_State *L) {
  lua_settop(L, 1);
  src_set_runtime(L);
  return 0;
}

static int load_text(lua_State *L) {
  size_t len;
  const char *text = luaL_checklstring(L, 1, &len);
  if (src_load(L, text, len, luaL_checkstring(L, 2), "t") != LUA_OK) {
    return lua_error(L);
  }
  return 1;
}

static int load_file(lua_State *L) {
  if (src_load_file(L, luaL_checkstring(L, 1), "t") != LUA_OK) {
    return lua_error(L);
  }
  return 1;
}

int main(int argc, char **argv) {
  static const luaL_Reg fns[] = {{"convert", convert},         {"is_converted", is_converted},
                                 {"set_runtime", set_runtime}, {"load", load_text},
                                 {"load_file", load_file},     {NULL, NULL}};
  const char *script = argc > 1 ? argv[1] : "tests/rewrite/source.lua";
  lua_State *L = luaL_newstate();
  luaL_openlibs(L);
  src_wrap_loaders(L);
  luaL_newlib(L, fns);
  lua_setglobal(L, "src");
  lua_pushcfunction(L, report);
  lua_setglobal(L, "ok");
  bool passed = luaL_dofile(L, script) == LUA_OK;
  OK(passed, "%s ran to its end", script);
  if (!passed) {
    tap_diag("%s", lua_tostring(L, -1));
  }
  lua_close(L);
  return done_testing();
}
