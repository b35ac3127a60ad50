/* bind_constant.c: constant(dtype, table[, layout]): constant memory of a kernel, filled from a table. */
#include <lauxlib.h>

#include "interp/algebra/bind.h"
#include "interp/front/front_parts.h"
#include "interp/openers.h"
#include "interp/tensor/tensor.h"
#include "interp/trace/front_state.h"
#include "runtime/layout/walk.h"

enum { MAX_BYTES = 64 * 1024 };

static void check_layout(lua_State *L, const CtCx *cx, CtLayout layout) {
  int64_t lo, hi, size;
  CtErr err;
  if (!ct_layout_is_static(layout)) {
    diag_error(L, "constant: %s holds run-time values; the shape must be static",
               bind_layout_text(cx, layout));
  }
  if (ct_walk_bounds(layout, &lo, &hi, &size, &err) != CT_OK) {
    diag_error(L, "constant: %s", err.msg);
  }
  if (lo < 0) {
    diag_error(L, "constant: layout %s has indices below 0; strides >= 0 were expected",
               bind_layout_text(cx, layout));
  }
}

static int lang_constant(lua_State *L) { /* dtype, table, layout */
  CtIr *ir = front_here(L, "constant");
  CtCx cx = bind_enter(L);
  CtLayout layout;
  diag_take_args(L, "constant", 3);
  CtDtype dtype = bind_to_dtype(L, 1, "constant");
  if (tensor_test(L, 2) != NULL) {
    return diag_error(L, "constant: a table of numbers expected, got a tensor; call t:totable() "
                         "before the launch, or pass the tensor as an argument");
  }
  const void *elements = tensor_read_table(L, "constant", dtype, &cx, &layout);
  check_layout(L, &cx, layout);
  CtView view = ct_ir_constant(ir, dtype, layout, elements);
  if (ir->failed) {
    return luaL_error(L, "not enough memory");
  }
  if (ct_ir_constant_bytes(ir) > MAX_BYTES) {
    return diag_error(L,
                      "constant: %s of %s makes the kernel's constants %I bytes; a GPU has %d; "
                      "pass the data as a tensor",
                      bind_layout_text(&cx, layout), ct_dtypes[dtype].name,
                      (LUAI_UACINT)ct_ir_constant_bytes(ir), MAX_BYTES);
  }
  tensor_push_kernel(L, dtype, CT_CONSTANT, view, front_serial(L));
  return 1;
}

static const luaL_Reg functions[] = {{"constant", lang_constant}, {NULL, NULL}};

void bind_open_constant(lua_State *L) { luaL_setfuncs(L, functions, 0); }
