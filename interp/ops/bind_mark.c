/* bind_mark.c: mark(name): a moment to record, in kernels that are traced while marks are on (bind_marks.c). In other
   kernels it leaves nothing. */
#include <lauxlib.h>

#include "interp/openers.h"
#include "interp/state/diag.h"
#include "interp/state/state.h"
#include "interp/trace/front.h"
#include "runtime/ir/ir_make.h"

enum { MAX_NAME = 40 };

/* The number of the text at idx, from 1. */
static lua_Integer number_of(lua_State *L, int idx) {
  luaL_getsubtable(L, LUA_REGISTRYINDEX, STATE_MARKS);
  lua_pushvalue(L, idx);
  lua_rawget(L, -2);
  lua_Integer n = lua_tointeger(L, -1);
  lua_pop(L, 1);
  if (n == 0) {
    n = (lua_Integer)lua_rawlen(L, -1) + 1;
    lua_pushvalue(L, idx);
    lua_rawseti(L, -2, n);
    lua_pushvalue(L, idx);
    lua_pushinteger(L, n);
    lua_rawset(L, -3);
  }
  lua_pop(L, 1);
  return n;
}

static int lang_mark(lua_State *L) { /* name */
  CtIr *ir = front_here(L, "mark");
  if (lua_type(L, 1) != LUA_TSTRING) {
    return diag_error(L, "mark: the name is %s; write a string, as in mark(\"load\")",
                      diag_push_kind(L, 1));
  }
  if (lua_rawlen(L, 1) == 0 || lua_rawlen(L, 1) > MAX_NAME) {
    return diag_error(L,
                      "mark: the name has %I characters; a name has 1 to %d, as in mark(\"load\")",
                      (LUAI_UACINT)lua_rawlen(L, 1), (int)MAX_NAME);
  }
  if (state_of(L)->taps.marks != NULL) {
    ct_ir_effect(ir, CT_OP_MARK, number_of(L, 1));
  }
  return 0;
}

void bind_open_mark(lua_State *L) { /* language table on top */
  lua_pushcfunction(L, lang_mark);
  lua_setfield(L, -2, "mark");
}
