/* cache_hint.c: hints for caches as scripts write them. */
#include "access.h"

#include <lauxlib.h>
#include <string.h>

#include "interp/state/diag.h"
#include "interp/tensor/tensor.h"

static void push_known(lua_State *L) {
  luaL_Buffer b;
  luaL_buffinit(L, &b);
  for (int i = 1; i < CT_CACHE_COUNT; i++) {
    luaL_addstring(&b, i == 1 ? "" : i + 1 < CT_CACHE_COUNT ? ", " : " and ");
    luaL_addstring(&b, ct_caches[i]);
  }
  luaL_pushresult(&b);
}

CtCacheHint cache_hint(lua_State *L, int idx, const char *op) {
  const char *text = lua_type(L, idx) == LUA_TSTRING ? lua_tostring(L, idx) : NULL;
  for (int i = 1; text != NULL && i < CT_CACHE_COUNT; i++) {
    if (strcmp(text, ct_caches[i]) == 0) {
      return (CtCacheHint)i;
    }
  }
  push_known(L);
  if (text != NULL) {
    diag_error(L, "%s: there is no hint '%s'; the hints are %s", op, text, lua_tostring(L, -1));
  }
  const char *names = lua_tostring(L, -1);
  diag_error(L, "%s: the hint is %s; expected one of %s", op, diag_push_kind(L, idx), names);
  return CT_CACHE_NONE;
}

bool cache_option(lua_State *L, CtCacheHint *out) {
  int top = lua_gettop(L);
  if (top < 3 || !lua_istable(L, top) || tensor_test(L, top - 1) == NULL) {
    return false;
  }
  lua_pushnil(L);
  while (lua_next(L, top) != 0) {
    if (lua_type(L, -2) != LUA_TSTRING || strcmp(lua_tostring(L, -2), "cache") != 0) {
      lua_pop(L, 1);
      diag_error(L, "copy: option '%s' is unknown; expected cache", luaL_tolstring(L, -1, NULL));
    }
    *out = cache_hint(L, lua_gettop(L), "copy");
    lua_pop(L, 1);
  }
  lua_settop(L, top - 1);
  return true;
}
