/* diag_guess.c: what an unknown global or method may have meant, and what Lua has for text that is C++ or
   Python. stdlib/commands/guess.lua knows; this gives it the message and the script's text. */
#include "diag.h"
#include "state_language.h"

#include <lauxlib.h>

#include "source_load.h"
#include "state.h"

/* text_of(chunk): the text of a chunk as messages call it, or nil. */
static int text_of(lua_State *L) { return src_push_text(L, luaL_checkstring(L, 1)) ? 1 : 0; }

/* guess(message, text or nil, is_whole): what to add to the message, or "". The text is the one that does not parse, if
   the message is about that. Runs protected: a fault here hides no message. */
static int guess(lua_State *L) {
  bool is_syntax = !lua_isnil(L, 2);
  state_push_function(L, "cuttle.guess", is_syntax ? "of_syntax" : "of");
  lua_pushvalue(L, 1);
  if (is_syntax) {
    lua_pushvalue(L, 2);
  } else {
    lua_pushcfunction(L, text_of);
  }
  lua_pushvalue(L, 3);
  lua_call(L, 3, 1);
  return 1;
}

/* Stack: message, text or nil. Leaves the message and the guess after it. */
static void add_guess(lua_State *L, bool is_whole) {
  lua_pushcfunction(L, guess);
  lua_pushvalue(L, -3);
  lua_rotate(L, -3, -1); /* stack: message, function, message, text */
  lua_pushboolean(L, is_whole);
  if (lua_pcall(L, 3, 1, 0) == LUA_OK && lua_type(L, -1) == LUA_TSTRING) {
    lua_concat(L, 2);
  } else {
    lua_pop(L, 1);
  }
}

void diag_guess_global(lua_State *L) {
  if (lua_checkstack(L, LUA_MINSTACK) != 0) {
    lua_pushnil(L);
    add_guess(L, true);
  }
}

void diag_guess_syntax(lua_State *L, const char *text, size_t len, bool is_whole) {
  if (lua_type(L, -1) == LUA_TSTRING && lua_checkstack(L, LUA_MINSTACK) != 0) {
    lua_pushlstring(L, text, len);
    add_guess(L, is_whole);
  }
}
