/* bind_recast.c: recast of tensors: of memory, or of a copy of the bits in registers. */
#include <lauxlib.h>

#include "interp/algebra/bind.h"
#include "interp/openers.h"
#include "interp/state/diag.h"
#include "interp/state/standard.h"
#include "interp/tensor/tensor.h"
#include "access.h"

/* Is the mode of adjacent elements a whole number of elements that are n times as large? */
static bool is_multiple(const CtCx *cx, CtLayout l, int64_t n) {
  for (CtLeaves w = ct_layout_leaves(l); ct_next_leaf(&w);) {
    if (ct_is_const(w.stride->i, 1)) {
      return ct_int_divides(cx, ct_int(n), w.shape->i) == CT_KNOWN_YES;
    }
  }
  return true; /* recast itself reports why there is no such mode */
}

/* A guarded tensor that is not tiled yet is guarded in its new elements. A part that overhangs
   nothing is treated as unguarded. */
static int recast_guarded(lua_State *L, const Tensor *t, CtDtype to) {
  CtCx cx = bind_enter(L);
  int64_t n = ct_dtype_pitch(to) / ct_dtype_pitch(t->dtype);
  if (t->guard != NULL) {
    return diag_error(L,
                      "recast: %s is a guarded part, which may overhang; recast the whole "
                      "tensor and cut the part from guard(recast(t, %s))",
                      tensor_push_title(L, 1), ct_dtypes[to].name);
  }
  if (t->is_whole && n > 1 && !is_multiple(&cx, t->layout, n)) {
    return diag_error(L,
                      "recast: %s is guarded, and %s is not known to have a multiple of %I "
                      "adjacent elements of %s, which one of %s needs; pad the tensor, or leave "
                      "the guard out",
                      tensor_push_title(L, 1), bind_layout_text(&cx, t->layout), (LUAI_UACINT)n,
                      ct_dtypes[t->dtype].name, ct_dtypes[to].name);
  }
  traced_recast(L, t, to);
  Tensor *made = tensor_test(L, -1);
  made->is_guarded = true;
  made->is_whole = t->is_whole;
  return 1;
}

/* recast(t, dtype): the tensor's memory as elements of another type; for registers a copy of their
   bits. */
static int recast_tensor(lua_State *L) {
  CtLayout layout;
  const Tensor *t = tensor_check_live(L, 1, "recast");
  tensor_check_memory(L, 1, "recast");
  CtDtype to = bind_to_dtype(L, 2, "recast");
  if (t->is_guarded) {
    return recast_guarded(L, t, to);
  }
  if (t->in_kernel) {
    return traced_recast(L, t, to);
  }
  CtCx cx = bind_enter(L);
  int64_t from_bits = ct_dtype_pitch(t->dtype), to_bits = ct_dtype_pitch(to);
  int64_t at = t->offset.v * from_bits;
  if (t->dtype == CT_bool || to == CT_bool) {
    return diag_error(L, "recast: %s of %s as %s: a bool has only the values 0 and 1",
                      tensor_push_title(L, 1), ct_dtypes[t->dtype].name, ct_dtypes[to].name);
  }
  if (at % to_bits != 0) {
    return diag_error(
        L, "recast: %s begins at bit %I of its memory, which is not a multiple of the %I of %s",
        tensor_push_title(L, 1), (LUAI_UACINT)at, (LUAI_UACINT)to_bits, ct_dtypes[to].name);
  }
  diag_try(L, ct_recast_elements(&cx, t->layout, from_bits, to_bits, &layout, diag_err(L)));
  tensor_push_host(L, to, layout, ct_int(at / to_bits), t->storage);
  return 1;
}

/* recast(t, dtype); anything else is the algebra's recast, upvalue 1. */
static int recast(lua_State *L) {
  int n = lua_gettop(L);
  if (n <= 3 && tensor_test(L, 1) != NULL && lua_isnoneornil(L, 3)) {
    return recast_tensor(L);
  }
  return standard_call_original(L);
}

void bind_open_recast(lua_State *L) {
  lua_getfield(L, -1, "recast");
  lua_pushcclosure(L, recast, 1);
  lua_setfield(L, -2, "recast");
}
