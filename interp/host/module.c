/* module.c: `require "cuttle"` from a Lua that is not ours. */
#include <lauxlib.h>

#include "interp/state/state.h"
#include "interp/state/state_language.h"
#include "language.h"

int luaopen_cuttle(struct lua_State *L) {
  luaL_checkversion(L);
  const char *refused = state_refuse_start(NULL);
  if (refused != NULL) {
    return luaL_error(L, "%s", refused);
  }
  state_attach(L);
  language_open(L);
  state_push_language(L);
  return 1;
}
