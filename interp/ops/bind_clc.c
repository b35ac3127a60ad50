/* bind_clc.c: cluster launch control: a running cluster takes the work of one that has not begun. */
#include <lauxlib.h>

#include "access.h"
#include "call.h"
#include "interp/algebra/bind.h"
#include "interp/openers.h"
#include "interp/trace/front.h"
#include "interp/trace/value.h"
#include "runtime/ir/ir_tma.h"

enum { NEEDS_SM = 100, WORDS = 2, AXES = 3 };

/* All blocks of the cluster, by bits; 0: it has one block, or the script does not ask for all. */
static CtVal to_mask(lua_State *L, int idx, CtIr *ir) {
  int64_t n = ct_ir_cluster_size(ir);
  (void)bind_push_option(L, idx, "clc_try_cancel", "multicast");
  bool is_all = bind_pop_flag(L, "clc_try_cancel", "multicast");
  return is_all && n > 1 ? ct_ir_const_int(ir, CT_i32, ((int64_t)1 << n) - 1) : 0;
}

static int try_cancel(lua_State *L) { /* response, mbarrier[, {multicast =}] */
  CtIr *ir = front_here(L, "clc_try_cancel");
  uint32_t bar;
  CtVal slot;
  diag_take_args(L, "clc_try_cancel", 3);
  call_need_sm(L, ir, "clc_try_cancel", NEEDS_SM);
  CtView response = access_view(L, 1, "clc_try_cancel");
  bind_to_mbarrier(L, 2, "clc_try_cancel", &bar, &slot);
  CtVal mask = to_mask(L, 3, ir);
  diag_try(L, ct_ir_try_cancel(ir, &response, bar, slot, mask, diag_err(L)));
  return 0;
}

/* The words of a response. */
static void load_words(lua_State *L, CtIr *ir, const char *op, CtVal words[WORDS]) {
  CtView v = access_view(L, 1, op);
  const CtBuf *buf = &ir->bufs[v.buf];
  call_need_sm(L, ir, op, NEEDS_SM);
  if (buf->space != CT_SHARED || buf->dtype != CT_u64) {
    diag_error(L,
               "%s: %s is no response: it is in %s memory and has elements of %s; pass the "
               "tensor that clc_try_cancel fills, of shared(u64, 2)",
               op, tensor_push_title(L, 1), ct_spaces[buf->space], ct_dtypes[buf->dtype].name);
  }
  ct_ir_load_response(ir, &v, words);
}

static int is_canceled(lua_State *L) { /* response */
  CtIr *ir = front_here(L, "clc_is_canceled");
  CtVal words[WORDS];
  load_words(L, ir, "clc_is_canceled", words);
  value_push(L, ct_ir_query_cancel(ir, CT_OP_CLC_IS_CANCELED, words, 0));
  return 1;
}

static int get_first_ctaid(lua_State *L) { /* response */
  CtIr *ir = front_here(L, "clc_get_first_ctaid");
  CtVal words[WORDS];
  load_words(L, ir, "clc_get_first_ctaid", words);
  for (int i = 0; i < AXES; i++) {
    value_push(L, ct_ir_query_cancel(ir, CT_OP_CLC_FIRST_CTAID, words, i));
  }
  return AXES;
}

/* _kernel.cluster_shape() -> x, y, z */
static int cluster_shape(lua_State *L) {
  const CtIr *ir = front_here(L, "clc_scheduler");
  for (int i = 0; i < AXES; i++) {
    lua_pushinteger(L, ir->cluster[i]);
  }
  return AXES;
}

static const luaL_Reg functions[] = {{"_kernel.cluster_shape", cluster_shape},
                                     {"clc_try_cancel", try_cancel},
                                     {"clc_is_canceled", is_canceled},
                                     {"clc_get_first_ctaid", get_first_ctaid},
                                     {NULL, NULL}};

void bind_open_clc(lua_State *L) { luaL_setfuncs(L, functions, 0); }
