/* tensor_print.c: a tensor as text: what it is, then its elements, as stdlib/language/tensor_text.lua shows them. */
#include <inttypes.h>
#include <lauxlib.h>
#include <stdio.h>

#include "interp/state/diag.h"
#include "interp/state/state_language.h"
#include "interp/algebra/bind.h"
#include "tensor.h"

enum { CELL_BYTES = 32 };

static void format_cell(CtDtype dtype, Elem e, char *cell) {
  if (ct_is_float(dtype)) {
    snprintf(cell, CELL_BYTES, "%.5g", e.f);
  } else if (ct_is_int(dtype)) {
    snprintf(cell, CELL_BYTES, dtype == CT_u64 ? "%" PRIu64 : "%" PRId64, e.i);
  } else {
    snprintf(cell, CELL_BYTES, "%s", e.i != 0 ? "true" : "false");
  }
}

/* The element at an index of the layout of the tensor in upvalue 1. */
static int cell(lua_State *L) {
  const Tensor *t = lua_touserdata(L, lua_upvalueindex(1));
  int64_t at = luaL_checkinteger(L, 1);
  char text[CELL_BYTES] = "-"; /* of a division that rounds up */
  Elem e;
  if (tensor_has_element(t, at)) {
    diag_try(L, tensor_get(t, at, &e, diag_err(L)));
    format_cell(t->dtype, e, text);
  }
  lua_pushstring(L, text);
  return 1;
}

static void print_place(const CtCx *cx, const Tensor *t, CtText *out) {
  static const char *const spaces[] = {[CT_GLOBAL] = "global memory",
                                       [CT_SHARED] = "shared memory",
                                       [CT_REGISTER] = "registers",
                                       [CT_TENSOR] = "tensor memory",
                                       [CT_CONSTANT] = "constant memory"};
  if (t->at != NULL) {
    ct_text_puts(out, " from ");
    ct_tuple_print(cx, t->at, out);
  } else if (t->in_kernel) {
    ct_text_printf(out, " in %s", spaces[t->space]);
  } else if (t->storage != NULL && t->storage->device != NULL) {
    ct_text_printf(out, " on cuda:%d", ct_device_info(t->storage->device)->ordinal);
  } else {
    ct_text_puts(out, t->is_closed ? ", closed" : " on cpu");
  }
}

static void push_title(lua_State *L, const CtCx *cx, const Tensor *t) {
  CtText out;
  bind_text_init(&out, cx);
  ct_text_puts(&out, "tensor ");
  if (t->name != NULL) {
    ct_text_printf(&out, "%s ", t->name);
  }
  ct_text_printf(&out, "%s ", t->at != NULL ? "of coordinates" : ct_dtypes[t->dtype].name);
  CtComposed l = tensor_layout(t);
  ct_composed_print(cx, &l, &out);
  print_place(cx, t, &out);
  diag_try(L, ct_text_status(&out, diag_err(L)));
  lua_pushlstring(L, ct_text_str(&out), out.len);
}

void tensor_push_text(lua_State *L, int idx) {
  CtCx cx = bind_enter(L);
  const Tensor *t = lua_touserdata(L, idx);
  idx = lua_absindex(L, idx);
  push_title(L, &cx, t);
  if (t->in_kernel || t->storage == NULL) {
    return;
  }
  state_push_function(L, "cuttle.tensor_text", "elements");
  bind_push_layout(L, t->layout);
  lua_pushvalue(L, idx);
  lua_pushcclosure(L, cell, 1);
  lua_call(L, 2, 1);
  lua_concat(L, 2);
}
