/* bind_tcgen05.c: tensor memory in kernels, and the operations that order what tcgen05 does with it. The layout of a
   shape, tiled copies, and what a script sees of `tmem`: stdlib/language/tensor_memory.lua. */
#include <lauxlib.h>

#include "access.h"
#include "call.h"
#include "interp/algebra/bind.h"
#include "interp/openers.h"
#include "interp/tensor/tensor.h"
#include "interp/trace/front.h"

static void check_top_level(lua_State *L, const CtIr *ir) {
  if (ir->cur != 1) {
    diag_error(
        L, "tmem: the block's first warp must reach its declaration; put it at the top level of "
           "the kernel, outside run-time ifs and loops");
  }
}

/* The newest tensor in tensor memory; 0: there is none. */
static uint32_t newest(const CtIr *ir) {
  uint32_t i = (uint32_t)ir->n_bufs - 1;
  while (i > 0 && ir->bufs[i].space != CT_TENSOR) {
    i--;
  }
  return i;
}

/* What the block has, and that allocations do not grow (PTX ISA, tcgen05.alloc). */
static void check_columns(lua_State *L, const CtIr *ir, CtDtype dtype, int64_t n_elems) {
  const CtBuf buf = {.dtype = dtype, .n_elems = ct_int(n_elems)};
  const CtBuf *last = &ir->bufs[newest(ir)];
  int64_t most = (int64_t)CT_TMEM_LANES * CT_TMEM_COLUMNS * 32 / ct_dtype_width(dtype);
  if (n_elems > most) {
    diag_error(L, "tmem: the layout reaches %I elements of %s, but tensor memory has %I",
               (LUAI_UACINT)n_elems, ct_dtypes[dtype].name, (LUAI_UACINT)most);
  }
  int64_t n = ct_buf_columns(&buf), all = ct_ir_tmem_columns(ir, UINT32_MAX) + n;
  if (all > CT_TMEM_COLUMNS) {
    diag_error(L,
               "tmem: the kernel's tensors take %I columns of tensor memory, a power of two "
               "each, but a block has %d; make a tile smaller",
               (LUAI_UACINT)all, CT_TMEM_COLUMNS);
  } else if (newest(ir) != 0 && ct_buf_columns(last) < n) {
    diag_error(L,
               "tmem: this tensor takes %I columns, more than the one before it (%I); a block may "
               "allocate only in falling sizes, so declare the larger one first",
               (LUAI_UACINT)n, (LUAI_UACINT)ct_buf_columns(last));
  }
}

static void check_dtype(lua_State *L, CtDtype dtype) {
  int bits = ct_dtype_width(dtype);
  if (dtype == CT_bool || ct_dtype_is_packed(dtype) || (bits != 8 && bits != 16 && bits != 32)) {
    diag_error(L, "tmem: elements of %s cannot be in tensor memory; 8, 16 or 32 bits were expected",
               ct_dtypes[dtype].name);
  }
}

/* _kernel.tmem(dtype, layout) */
static int declare(lua_State *L) {
  CtIr *ir = front_here(L, "tmem");
  CtCx cx = bind_enter(L);
  int64_t n;
  CtDtype dtype = bind_to_dtype(L, 1, "tmem");
  call_need_sm(L, ir, "tmem", CALL_TCGEN05);
  check_dtype(L, dtype);
  check_top_level(L, ir);
  CtComposed layout = access_static_layout(L, 2, &cx, "tmem", &n);
  if (layout.swizzle.bits != 0 || !ct_is_const(layout.offset, 0)) {
    return diag_error(L, "tmem: tensor memory has no swizzles; a plain layout was expected");
  }
  check_columns(L, ir, dtype, n);
  access_push_declared(L, ir, ct_ir_tmem(ir, dtype, layout.layout));
  return 1;
}

static int dealloc(lua_State *L) { /* tensor */
  CtIr *ir = front_here(L, "tmem_dealloc");
  CtView view = access_view(L, 1, "tmem_dealloc");
  const CtBuf *buf = &ir->bufs[view.buf];
  if (buf->space != CT_TENSOR) {
    return diag_error(L, "tmem_dealloc: %s is in %s memory; a tensor made by tmem was expected",
                      tensor_push_title(L, 1), ct_spaces[buf->space]);
  }
  ct_ir_tmem_dealloc(ir, view.buf);
  return 0;
}

static int commit(lua_State *L) { /* mbarrier[, {multicast =}] */
  CtIr *ir = front_here(L, "tcgen05_commit");
  uint32_t buf;
  CtVal slot, mask;
  diag_take_args(L, "tcgen05_commit", 2);
  call_need_sm(L, ir, "tcgen05_commit", CALL_TCGEN05);
  bind_to_mbarrier(L, 1, "tcgen05_commit", &buf, &slot);
  (void)bind_push_option(L, 2, "tcgen05_commit", "multicast");
  mask = bind_to_multicast(L, lua_gettop(L), "tcgen05_commit");
  ct_ir_mbar(ir, mask != 0 ? CT_OP_TCGEN05_COMMIT_TO : CT_OP_TCGEN05_COMMIT, buf, slot, mask);
  return 0;
}

static const CallRow rows[] = {
    {"tcgen05_before_thread_sync", call_effect, CT_OP_TCGEN05_BEFORE, CALL_TCGEN05, CALL_NO_ARGS},
    {"tcgen05_after_thread_sync", call_effect, CT_OP_TCGEN05_AFTER, CALL_TCGEN05, CALL_NO_ARGS}};

static const luaL_Reg functions[] = {
    {"_kernel.tmem", declare}, {"tmem_dealloc", dealloc}, {"tcgen05_commit", commit}, {NULL, NULL}};

void bind_open_tcgen05(lua_State *L) {
  call_add_rows(L, rows, CT_ARRAY_LEN(rows));
  luaL_setfuncs(L, functions, 0);
}
