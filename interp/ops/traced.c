/* traced.c: work on whole tensors while a kernel is traced: recast, copy, fill, clear. */
#include "access.h"

#include <lauxlib.h>

#include "interp/algebra/bind.h"
#include "interp/state/diag.h"
#include "interp/trace/front.h"
#include "interp/trace/value.h"

int traced_recast(lua_State *L, const Tensor *t, CtDtype to) {
  CtIr *ir = front_here(L, "recast");
  CtView view;
  diag_try(L, ct_ir_recast(ir, tensor_view(t), to, &view, diag_err(L)));
  tensor_push_kernel(L, to, t->space, view, front_serial(L));
  return 1;
}

const CtAtom *traced_copy_atom(lua_State *L, int idx, const char *op, CtDtype *dtype) {
  const CtAtom *atom = bind_test_atom(L, idx, dtype);
  if (atom == NULL || atom->kind != CT_ATOM_COPY) {
    diag_type_error(L, idx, op, "a tiled copy, or an atom of copies,");
  } else if (*dtype == CT_VOID) {
    diag_error(L,
               "%s: %s does not say which elements it copies; write atom(\"%s\", f16), or what "
               "type they have",
               op, atom->name, atom->name);
  }
  return atom;
}

/* Gives the hint to the sides that are in global memory; one must be. */
static void hint_copy(lua_State *L, CtIr *ir, CtCacheHint cache, CtView *src, CtView *dst) {
  if (cache == CT_CACHE_NONE) {
    return;
  }
  bool reads = ir->bufs[src->buf].space == CT_GLOBAL,
       writes = ir->bufs[dst->buf].space == CT_GLOBAL;
  if (reads || !writes) {
    diag_try(L, ct_ir_cached(ir, *src, cache, src, diag_err(L)));
  }
  if (writes && (!reads || cache != CT_CACHE_READ_ONLY)) {
    diag_try(L, ct_ir_cached(ir, *dst, cache, dst, diag_err(L)));
  }
}

static int copy_by(lua_State *L, CtIr *ir, CtCacheHint cache) { /* atom, src, dst */
  CtDtype dtype;
  const CtAtom *atom = traced_copy_atom(L, 1, "copy", &dtype);
  CtView src = access_view(L, 2, "copy"), dst = access_view(L, 3, "copy");
  hint_copy(L, ir, cache, &src, &dst);
  diag_try(L, ct_ir_copy_by(ir, atom, dtype, NULL, src, dst, diag_err(L)));
  return 0;
}

int traced_copy(lua_State *L) { /* [atom,] src, dst[, options] */
  CtIr *ir = front_here(L, "copy");
  CtCacheHint cache = CT_CACHE_NONE;
  (void)cache_option(L, &cache);
  if (lua_gettop(L) > 2 && tensor_test(L, 1) == NULL) {
    return copy_by(L, ir, cache);
  }
  CtView src = access_view(L, 1, "copy");
  CtView dst = access_view(L, 2, "copy");
  hint_copy(L, ir, cache, &src, &dst);
  diag_try(L, ct_ir_copy(ir, src, dst, diag_err(L)));
  return 0;
}

static int fill(lua_State *L, const char *op) { /* tensor, value */
  CtIr *ir = front_here(L, op);
  CtView dst = access_view(L, 1, op);
  CtVal value = value_to(L, 2, ir->bufs[dst.buf].dtype, op);
  diag_try(L, ct_ir_fill(ir, dst, value, diag_err(L)));
  return 0;
}

int traced_fill(lua_State *L) { return fill(L, "fill"); }

int traced_clear(lua_State *L) {
  const Tensor *t = tensor_check(L, 1, "clear");
  tensor_check_memory(L, 1, "clear");
  lua_settop(L, 1);
  if (t->dtype == CT_bool) {
    lua_pushboolean(L, 0);
  } else {
    lua_pushinteger(L, 0);
  }
  return fill(L, "clear");
}
