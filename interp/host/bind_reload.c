/* bind_reload.c: reload(file): a file is run again after it was edited. */
#include <string.h>

#include "interp/algebra/bind.h"
#include "interp/state/state.h"
#include "interp/openers.h"
#include "interp/state/state_language.h"

/* Pushes the path: the argument, else that of the latest reload or of the program's script. */
static const char *push_path(lua_State *L) {
  if (!lua_isnoneornil(L, 1) && lua_type(L, 1) != LUA_TSTRING) {
    diag_type_error(L, 1, "reload", "the path of a file");
  }
  if (lua_isnoneornil(L, 1)) {
    if (lua_getfield(L, LUA_REGISTRYINDEX, STATE_LAST_FILE) != LUA_TSTRING) {
      diag_error(L, "reload: no file has been run yet; give its path");
    }
  } else {
    lua_pushvalue(L, 1);
  }
  return lua_tostring(L, -1);
}

/* Is the file of this path among those that are being run? Its chunk's source is "@path". */
static bool is_running(lua_State *L, const char *path) {
  lua_Debug ar;
  for (int level = 0; lua_getstack(L, level, &ar) != 0; level++) {
    lua_getinfo(L, "S", &ar);
    if (strcmp(ar.what, "main") == 0 && ar.source[0] == '@' && strcmp(ar.source + 1, path) == 0) {
      return true;
    }
  }
  return false;
}

/* reload([path]): as dofile, and `reload()` repeats it. Returns what the file returns. */
static int reload(lua_State *L) {
  lua_settop(L, 1);
  const char *path = push_path(L);
  if (is_running(L, path)) {
    return diag_error(L, "reload: %s is being run; call reload() at the prompt when it is done",
                      path);
  }
  int status = state_load_file(L, path);
  if (status == LUA_ERRFILE) {
    return diag_error(L, "reload: %s", lua_tostring(L, -1));
  }
  lua_pushvalue(L, 2); /* one that does not parse is kept: it will be mended */
  lua_setfield(L, LUA_REGISTRYINDEX, STATE_LAST_FILE);
  if (status != LUA_OK) {
    return lua_error(L);
  }
  lua_call(L, 0, LUA_MULTRET);
  return lua_gettop(L) - 2;
}

void bind_open_reload(lua_State *L) {
  lua_pushcfunction(L, reload);
  lua_setfield(L, -2, "reload");
}
