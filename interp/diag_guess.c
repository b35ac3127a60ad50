/* diag_guess.c: what an unknown global or method may have meant: "attempt to call a nil value (global
   'compostion'); did you mean 'composition'?". The names are those that `help` knows. */
#include "diag_guess.h"

#include <lauxlib.h>
#include <string.h>

#include "state.h"

/* What Lua says before the name, and the function of help.lua that guesses. */
static const struct {
  const char *before, *guess;
} kinds[] = {
    {" a nil value (global '", "guess"},
    {" a nil value (method '", "guess_method"},
};

/* Of the message: the text behind it, or "". Runs protected: a fault here hides no message. */
static int guess(lua_State *L) {
  const char *message = lua_tostring(L, 1);
  for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
    const char *at = strstr(message, kinds[i].before);
    const char *name = at == NULL ? "" : at + strlen(kinds[i].before);
    size_t len = strcspn(name, "'");
    if (len > 0) {
      state_push_module(L, "cuttle.help");
      lua_getfield(L, -1, kinds[i].guess);
      lua_pushlstring(L, name, len);
      lua_call(L, 1, 1);
      return 1;
    }
  }
  lua_pushliteral(L, "");
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
