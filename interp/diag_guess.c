/* diag_guess.c: what an unknown global or method may have meant: "attempt to call a nil value (global
   'compostion'); did you mean 'composition'?". The names are those that `help` knows. And what Lua has for
   C++'s way to write something. */
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

/* How Lua's message ends where somebody writes C++, and what to write. */
static const struct {
  const char *message, *hint;
} of_cpp[] = {
    {"near '!'", "Lua writes ~= for != and not for !"},
    {"syntax error near '+'", "Lua has no += and no ++: write x = x + 1"},
    {"syntax error near '-'", "Lua has no -= and no --: write x = x - 1"},
    {"syntax error near '*'", "Lua has no *=: write x = x * 2"},
    {"syntax error near '/'", "Lua has no /=: write x = x / 2"},
    {"syntax error near '='", "an element is assigned by t[i] = v or t[{i, j}] = v"},
    {"unexpected symbol near '&'", "Lua writes and for &&"},
    {"unexpected symbol near '|'", "Lua writes or for ||"},
    {"unexpected symbol near '/'", "a comment begins with --"},
    {"unexpected symbol near '//'", "a comment begins with --"},
    {"near '<<'", "a kernel is launched by k{grid = ..., block = ...}(...)"},
    {"near '?'", "Lua writes c and a or b for c ? a : b"},
    {"'then' expected near '{'", "Lua writes if c then ... end"},
    {"'do' expected near '{'", "Lua writes for i = 0, n - 1 do ... end, while c do ... end"},
};

/* "malformed number near '0.5f'" */
static bool has_suffix(const char *message) {
  size_t len = strlen(message);
  return strstr(message, "malformed number near '") != NULL && len > 2 &&
         strchr("fFuUlL", message[len - 2]) != NULL && strstr(message, "near '0x") == NULL;
}

void diag_guess_syntax(lua_State *L) {
  size_t len;
  const char *message = lua_tolstring(L, -1, &len), *hint = NULL;
  if (message == NULL || lua_checkstack(L, LUA_MINSTACK) == 0) {
    return;
  }
  for (size_t i = 0; i < sizeof of_cpp / sizeof of_cpp[0]; i++) {
    size_t n = strlen(of_cpp[i].message);
    if (len >= n && strcmp(message + len - n, of_cpp[i].message) == 0) {
      hint = of_cpp[i].hint;
    }
  }
  hint = has_suffix(message) ? "numbers have no suffix: 0.5, or f32(0.5)" : hint;
  if (hint != NULL) {
    lua_pushfstring(L, "%s; %s", message, hint);
    lua_replace(L, -2);
  }
}
