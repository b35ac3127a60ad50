/* front_uncaught.c: errors that a script cannot catch. Where plain Lua would go on and a kernel cannot, what is left out
   after the error would be missing without a word, so the trace keeps the first such error and fails by it. */
#include <lauxlib.h>
#include <stdarg.h>

#include "front_parts.h"
#include "interp/state/diag.h"
#include "interp/trace/front_state.h"

static const char refusal_key = 0; /* its address names the first text in the registry */

int front_refuse(lua_State *L, const char *fmt, ...) {
  Front *f = front_of(L);
  va_list args;
  va_start(args, fmt);
  const char *message = lua_pushvfstring(L, fmt, args);
  va_end(args);
  if (f->ir != NULL && !f->has_refused) {
    diag_push_where(L);
    lua_pushstring(L, message);
    lua_concat(L, 2);
    lua_rawsetp(L, LUA_REGISTRYINDEX, &refusal_key);
    f->has_refused = true;
  }
  return diag_error(L, "%s", message);
}

void front_push_refusal(lua_State *L) { lua_rawgetp(L, LUA_REGISTRYINDEX, &refusal_key); }
