/* number.c: numbers of a given type. algebra/bind_dtype.c says which a script can make. */
#include "number.h"

#include <lauxlib.h>

#include "interp/state/types.h"

bool number_test(lua_State *L, int idx, TypedNumber *out) {
  const TypedNumber *n = luaL_testudata(L, idx, NUMBER_TYPE);
  if (n != NULL) {
    *out = *n;
  }
  return n != NULL;
}

void number_push(lua_State *L, TypedNumber n) {
  TypedNumber *box = lua_newuserdatauv(L, sizeof *box, 0);
  *box = n;
  luaL_setmetatable(L, NUMBER_TYPE);
}
