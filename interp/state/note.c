/* note.c: a list of texts in the registry, which the prompt empties after each input. */
#include "note.h"

#include <lauxlib.h>
#include <stdarg.h>
#include <string.h>

static const char notes_key = 0; /* its address is the key */

/* The innermost function of Lua on the stack; false when there is none. */
static bool find_caller(lua_State *L, lua_Debug *ar) {
  for (int level = 1; lua_getstack(L, level, ar) != 0; level++) {
    if (lua_getinfo(L, "S", ar) != 0 && *ar->what != 'C') {
      return true;
    }
  }
  return false;
}

bool note_is_wanted(lua_State *L) {
  lua_Debug ar;
  return state_of(L)->takes_notes && find_caller(L, &ar) &&
         strncmp(ar.source, NOTE_INPUT_PREFIX, strlen(NOTE_INPUT_PREFIX)) == 0;
}

/* Pushes the list. */
static void push_notes(lua_State *L) {
  if (lua_rawgetp(L, LUA_REGISTRYINDEX, &notes_key) != LUA_TTABLE) {
    lua_pop(L, 1);
    lua_newtable(L);
    lua_pushvalue(L, -1);
    lua_rawsetp(L, LUA_REGISTRYINDEX, &notes_key);
  }
}

/* Stack: text, list. Whether the list has the text. */
static bool has_note(lua_State *L, lua_Integer n) {
  bool found = false;
  for (lua_Integer i = 1; i <= n && !found; i++) {
    lua_rawgeti(L, -1, i);
    found = lua_rawequal(L, -1, -3) != 0;
    lua_pop(L, 1);
  }
  return found;
}

void note_add(lua_State *L, const char *fmt, ...) {
  va_list args;
  luaL_checkstack(L, 4, NULL);
  va_start(args, fmt);
  lua_pushvfstring(L, fmt, args);
  va_end(args);
  push_notes(L); /* stack: text, list */
  lua_Integer n = (lua_Integer)lua_rawlen(L, -1);
  if (!has_note(L, n)) {
    lua_pushvalue(L, -2);
    lua_rawseti(L, -2, n + 1);
  }
  lua_pop(L, 2);
}

void note_print(lua_State *L) {
  push_notes(L);
  lua_Integer n = (lua_Integer)lua_rawlen(L, -1);
  for (lua_Integer i = 1; i <= n; i++) {
    size_t len;
    lua_pushliteral(L, "-- "); /* a comment, should it be pasted with the results */
    lua_rawgeti(L, -2, i);
    lua_pushliteral(L, "\n");
    lua_concat(L, 3);
    const char *line = lua_tolstring(L, -1, &len);
    state_print(state_of(L), line, len);
    lua_pop(L, 1);
  }
  lua_pop(L, 1);
  lua_pushnil(L);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &notes_key);
}
