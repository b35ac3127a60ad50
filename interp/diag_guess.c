/* diag_guess.c: what an unknown global may have meant: "attempt to call a nil value (global
   'compostion'); did you mean 'composition'?". The names are those that `help` knows. */
#include "diag_guess.h"

#include <lauxlib.h>
#include <string.h>

#include "state.h"

/* Of the message: the text behind it, or "". Runs protected: a fault here hides no message. */
static int guess(lua_State *L) {
  static const char before[] = " a nil value (global '";
  const char *at = strstr(lua_tostring(L, 1), before);
  const char *name = at == NULL ? "" : at + sizeof before - 1;
  size_t len = strcspn(name, "'");
  if (len == 0) {
    lua_pushliteral(L, "");
    return 1;
  }
  state_push_module(L, "cuttle.help");
  lua_getfield(L, -1, "guess");
  lua_pushlstring(L, name, len);
  lua_call(L, 1, 1);
  return 1;
}

void diag_guess_global(lua_State *L) {
  if (lua_checkstack(L, LUA_MINSTACK) == 0) {
    return;
  }
  lua_pushcfunction(L, guess);
  lua_pushvalue(L, -2);
  if (lua_pcall(L, 1, 1, 0) == LUA_OK && lua_type(L, -1) == LUA_TSTRING) {
    lua_concat(L, 2);
  } else {
    lua_pop(L, 1);
  }
}
