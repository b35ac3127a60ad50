/* diag_op.c: whose name an error carries. Texts, integers and layouts are read and computed on behalf
   of many operations: their messages name the part ("layout: expected ')' at column 4"), the script's
   author wrote the operation. It is found on the stack, so that nothing is passed down for it. */
#include "diag.h"
#include "state_language.h"

#include <lauxlib.h>
#include <string.h>

#include "state.h"

/* Parts that are not themselves what a script calls, or not always. */
static const char *const parts[] = {"integer", "layout", "tuple", "tiler", "ordered"};

/* Names of the language that say less than the part does. */
static bool is_literal(const char *name) { return strcmp(name, "L") == 0; }

/* The length of the part's name that `msg` begins with; 0 when it begins with none. */
static size_t part_len(const char *msg) {
  for (size_t i = 0; i < CT_ARRAY_LEN(parts); i++) {
    size_t len = strlen(parts[i]);
    if (strncmp(msg, parts[i], len) == 0 && msg[len] == ':' && msg[len + 1] == ' ') {
      return len;
    }
  }
  return 0;
}

/* How many levels of the stack the script's call made: they are below its own. */
static int called_levels(lua_State *L) {
  lua_Debug ar;
  int n = 0;
  for (; lua_getstack(L, n, &ar) != 0; n++) {
    lua_getinfo(L, "Sl", &ar);
    if (ar.currentline > 0 && !diag_is_stdlib(ar.source)) {
      break;
    }
  }
  return n;
}

/* Pushes the name of a method where the language has it as well: of some it has a function of its own
   that takes more types. Stack: language, function. */
static bool push_method(lua_State *L, lua_Debug *ar) {
  lua_getinfo(L, "n", ar);
  if (strcmp(ar->namewhat, "method") != 0) {
    return false;
  }
  lua_pushstring(L, ar->name);
  lua_pushvalue(L, -1);
  bool found = lua_rawget(L, -4) == LUA_TFUNCTION; /* stack: language, function, name, value */
  lua_pop(L, found ? 1 : 2);
  return found;
}

/* Pushes the name of the outermost operation of the language that the script's line called. */
static bool push_called(lua_State *L) {
  lua_Debug ar;
  bool found = false;
  state_push_language(L); /* stack: language */
  for (int level = called_levels(L) - 1; level >= 0 && !found; level--) {
    if (lua_getstack(L, level, &ar) != 0) {
      lua_getinfo(L, "f", &ar);
      found = state_push_name(L, -1) || push_method(L, &ar);
      lua_remove(L, found ? -2 : -1); /* the function */
    }
  }
  lua_remove(L, found ? -2 : -1);
  return found;
}

void diag_name_operation(lua_State *L) {
  luaL_checkstack(L, 8, NULL);
  const char *msg = lua_tostring(L, -1);
  size_t len = part_len(msg);
  if (len == 0 || !push_called(L)) {
    return;
  }
  if (is_literal(lua_tostring(L, -1))) {
    lua_pop(L, 1);
    return;
  }
  lua_pushstring(L, msg + len); /* stack: message, operation, its rest */
  lua_concat(L, 2);
  lua_remove(L, -2);
}
