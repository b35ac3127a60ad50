/* bind_cache.c: cached(t, hint): a kernel's tensor whose accesses give the caches a hint. */
#include <lauxlib.h>

#include "access.h"
#include "cache_hint.h"
#include "interp/algebra/bind.h"
#include "interp/openers.h"
#include "interp/state/diag.h"
#include "interp/trace/front.h"

/* cached(t, hint) */
static int cached(lua_State *L) {
  CtIr *ir = front_here(L, "cached");
  CtView v = access_view(L, 1, "cached"), out;
  const Tensor *t = tensor_check(L, 1, "cached");
  diag_try(L, ct_ir_cached(ir, v, cache_hint(L, 2, "cached"), &out, diag_err(L)));
  Tensor *made = tensor_push_part(L, t, t->layout, t->offset, t->guard);
  made->buf = out.buf;
  made->is_whole = t->is_whole;
  made->within = t->within;
  return 1;
}

void bind_open_cache(lua_State *L) {
  lua_pushcfunction(L, cached);
  lua_setfield(L, -2, "cached");
}
