/* bind_options.c: tables of options of functions in C: names that are known, and flags. */
#include "bind.h"

#include <string.h>

#include "interp/state/diag.h"

static bool is_name(lua_State *L, int idx, const char *const *names) {
  bool is = false;
  for (; lua_type(L, idx) == LUA_TSTRING && *names != NULL && !is; names++) {
    is = strcmp(lua_tostring(L, idx), *names) == 0;
  }
  return is;
}

const char *bind_push_names(lua_State *L, const char *const *names) {
  lua_pushstring(L, names[0]);
  for (int i = 1; names[i] != NULL; i++) {
    lua_pushfstring(L, "%s%s%s", lua_tostring(L, -1), names[i + 1] == NULL ? " or " : ", ",
                    names[i]);
    lua_remove(L, -2);
  }
  return lua_tostring(L, -1);
}

void bind_check_names(lua_State *L, int idx, const char *op, const char *const *names) {
  for (lua_pushnil(L); lua_next(L, idx) != 0; lua_pop(L, 1)) {
    if (!is_name(L, -2, names)) {
      const char *key = luaL_tolstring(L, -2, NULL);
      diag_error(L, "%s: option '%s' is unknown; expected %s", op, key, bind_push_names(L, names));
    }
  }
}

bool bind_pop_flag(lua_State *L, const char *op, const char *name) {
  if (!lua_isnil(L, -1) && !lua_isboolean(L, -1)) {
    diag_error(L, "%s: %s is %s; true or false was expected", op, name, diag_push_kind(L, -1));
  }
  bool is_on = lua_toboolean(L, -1) != 0;
  lua_pop(L, 1);
  return is_on;
}

int bind_push_option(lua_State *L, int idx, const char *op, const char *name) {
  if (lua_isnoneornil(L, idx)) {
    lua_pushnil(L);
    return LUA_TNIL;
  }
  if (!lua_istable(L, idx)) {
    diag_type_error(L, idx, op, lua_pushfstring(L, "a table of options, {%s = ...},", name));
  }
  bind_check_names(L, idx, op, BIND_NAMES(name));
  return lua_getfield(L, idx, name);
}
