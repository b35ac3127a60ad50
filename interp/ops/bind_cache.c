/* bind_cache.c: cache_hint(t, hint): a kernel's tensor whose accesses give the caches a hint. */
#include <lauxlib.h>

#include "access.h"
#include "interp/algebra/bind.h"
#include "interp/openers.h"
#include "interp/state/diag.h"
#include "interp/trace/front.h"

/* cache_hint(t, hint) */
static int lang_cache_hint(lua_State *L) {
  CtIr *ir = front_here(L, "cache_hint");
  CtView v = access_view(L, 1, "cache_hint"), out;
  const Tensor *t = tensor_check(L, 1, "cache_hint");
  diag_try(L, ct_ir_cached(ir, v, cache_hint(L, 2, "cache_hint"), &out, diag_err(L)));
  Tensor *made = tensor_push_part(L, t, t->layout, t->offset, t->guard);
  made->buf = out.buf;
  made->is_whole = t->is_whole;
  made->within = t->within;
  return 1;
}

void bind_open_cache(lua_State *L) {
  lua_pushcfunction(L, lang_cache_hint);
  lua_setfield(L, -2, "cache_hint");
}
