/* bind_tma.c: copies of boxes by the tensor memory accelerator: tma_tensor, tma_load, tma_store and
   the operations that order them. */
#include <lauxlib.h>
#include <string.h>

#include "access.h"
#include "call.h"
#include "interp/algebra/bind.h"
#include "interp/trace/front.h"
#include "guard.h"
#include "runtime/ir/ir_tma.h"
#include "interp/tensor/tensor.h"
#include "interp/trace/value.h"
#include "interp/openers.h"
#include "runtime/ir/ir_guard.h"

enum { MAX_CLUSTER_BITS = 0xffff };

/* --- coordinates ---------------------------------------------------------------------------------- */

static int to_promotion(lua_State *L, int idx) {
  int bytes = -1;
  if (bind_push_option(L, idx, "tma_tensor", "promotion") != LUA_TNIL) {
    bytes = bind_to_option(L, -1, 0, 256, "tma_tensor", "promotion");
    if (bytes != 0 && bytes != 64 && bytes != 128 && bytes != 256) {
      diag_error(L, "tma_tensor: promotion is %d; expected 0, 64, 128 or 256 bytes", bytes);
    }
  }
  lua_pop(L, 1);
  return bytes;
}

static int lang_tma_tensor(lua_State *L) { /* tensor[, {promotion =}] */
  CtIr *ir = front_here(L, "tma_tensor");
  CtCx cx = bind_enter(L);
  CtView view = access_view(L, 1, "tma_tensor");
  const Tensor *t = tensor_test(L, 1);
  CtLayout coords;
  if (t->space != CT_GLOBAL) {
    return diag_error(L,
                      "tma_tensor: %s is not a tensor in global memory; boxes are loaded from and "
                      "stored to arguments of the kernel",
                      tensor_push_title(L, 1));
  }
  if (t->guard != NULL && t->guard->n > 0) {
    return diag_error(L,
                      "tma_tensor: %s is a part of a guarded tensor; call tma_tensor with the "
                      "whole tensor and tile the result: elements outside are clipped",
                      tensor_push_title(L, 1));
  }
  const CtTmaSource source = {view, to_promotion(L, 2)};
  diag_try(L, ct_identity(&cx, t->layout.shape, &coords, diag_err(L)));
  CtTuple at = ct_guard_zero(&cx, t->layout.shape);
  uint32_t number = ct_ir_tma_source(ir, &source);
  if (at == NULL || number == 0) {
    return luaL_error(L, "not enough memory");
  }
  tensor_push_coords(L, NULL, coords, at)->tma = number;
  return 1;
}

/* --- calls ------------------------------------------------------------------------------------------ */

/* The tile of coordinates in an argument. */
static void to_tile(lua_State *L, int idx, CtTmaCall *call) {
  const Tensor *t = tensor_check_live(L, idx, call->op);
  if (t->at == NULL || t->tma == 0) {
    const char *of = t->at == NULL && t->space == CT_GLOBAL && t->name != NULL ? t->name : "A";
    diag_error(L, "%s: %s is not a tile of a tma_tensor; write tile(tma_tensor(%s), ...)", call->op,
               tensor_push_title(L, idx), of);
  }
  call->source = t->tma;
  call->coords = t->layout;
  call->at = t->at;
  const char *title = tensor_push_title(L, idx);
  call->name = strcmp(title, "the tensor") == 0 ? "the tile" : title;
}

CtVal bind_to_multicast(lua_State *L, int idx, const char *op) {
  if (lua_isnil(L, idx)) {
    return 0;
  }
  (void)value_settle(L, idx);
  if (lua_isinteger(L, idx)) {
    (void)bind_to_option(L, idx, 1, MAX_CLUSTER_BITS, op, "multicast");
  }
  return value_to(L, idx, CT_i32, lua_pushfstring(L, "%s: multicast", op));
}

/* The bytes complete on the barrier of the even block of the pair. */
static void check_pair(lua_State *L, const CtIr *ir) {
  int64_t n = ct_ir_cluster_size(ir);
  call_need_sm(L, ir, "tma_load: pair", CALL_TCGEN05);
  if (n % 2 != 0) {
    diag_error(L,
               "tma_load: pair: two blocks of a cluster are a pair, but the launch has clusters "
               "of %I; launch with {cluster = 2}, or another even number",
               (LUAI_UACINT)n);
  }
}

static void read_load_options(lua_State *L, int idx, const CtIr *ir, CtTmaCall *call) {
  if (lua_isnil(L, idx)) {
    return;
  }
  if (!lua_istable(L, idx)) {
    diag_error(L, "tma_load: a table of options was expected, got %s", diag_push_kind(L, idx));
  }
  bind_check_names(L, idx, call->op, BIND_NAMES("multicast", "pair"));
  lua_getfield(L, idx, "multicast");
  call->mask = bind_to_multicast(L, lua_gettop(L), call->op);
  lua_getfield(L, idx, "pair");
  call->is_of_pair = bind_pop_flag(L, call->op, "pair");
  if (call->is_of_pair) {
    check_pair(L, ir);
  }
}

static int lang_tma_load(lua_State *L) { /* src, dst, bar[, {multicast =, pair =}] */
  CtIr *ir = front_here(L, "tma_load");
  CtTmaCall call = {.op = "tma_load"};
  bool has_bar = lua_gettop(L) >= 3;
  diag_take_args(L, call.op, 4);
  to_tile(L, 1, &call);
  if (!has_bar) {
    diag_error(L, "tma_load: argument 3 is missing; an mbarrier, such as full[i], was expected");
  }
  call.shared = access_view(L, 2, call.op);
  bind_to_mbarrier(L, 3, call.op, &call.bar, &call.slot);
  read_load_options(L, 4, ir, &call);
  diag_try(L, ct_ir_tma_load(ir, &call, diag_err(L)));
  return 0;
}

static CtTmaReduce to_reduction(lua_State *L, int idx) {
  if (bind_push_option(L, idx, "tma_store", "reduce") == LUA_TNIL) {
    return CT_TMA_NONE;
  }
  const char *name = lua_type(L, -1) == LUA_TSTRING ? lua_tostring(L, -1) : "";
  for (int i = CT_TMA_NONE + 1; i < CT_TMA_REDUCE_COUNT; i++) {
    if (strcmp(name, ct_tma_reductions[i]) == 0) {
      return (CtTmaReduce)i;
    }
  }
  diag_error(L,
             "tma_store: reduce is %s; expected \"add\", \"min\", \"max\", \"and\", \"or\" or "
             "\"xor\"",
             lua_type(L, -1) == LUA_TSTRING ? lua_pushfstring(L, "\"%s\"", name)
                                            : diag_push_kind(L, -1));
  return CT_TMA_NONE;
}

/* To the memory of another block: src, dst, mbarrier, rank. */
static int send(lua_State *L, CtIr *ir) {
  uint32_t bar;
  CtVal slot;
  if (lua_gettop(L) != 4) {
    diag_error(L,
               "tma_store: %d arguments, one of them an mbarrier; tma_store(src, dst, "
               "mbarrier, rank) stores to another block of the cluster",
               lua_gettop(L));
  }
  call_need_sm(L, ir, "tma_store", 90);
  CtView from = access_view(L, 1, "tma_store");
  (void)bind_to_receiver(L, 2, ir, "tma_store");
  CtView to = access_view(L, 2, "tma_store");
  bind_to_mbarrier(L, 3, "tma_store", &bar, &slot);
  CtVal rank = bind_to_rank(L, 4, ir, "tma_store");
  diag_try(L, ct_ir_tma_send(ir, &from, &to, bar, slot, rank, diag_err(L)));
  return 0;
}

static int lang_tma_store(lua_State *L) { /* src, dst[, {reduce =}] */
  CtIr *ir = front_here(L, "tma_store");
  CtTmaCall call = {.op = "tma_store"};
  if (bind_is_mbarrier(L, 3)) {
    return send(L, ir);
  }
  diag_take_args(L, call.op, 3);
  call.shared = access_view(L, 1, call.op);
  to_tile(L, 2, &call);
  call.reduce = to_reduction(L, 3);
  diag_try(L, ct_ir_tma_store(ir, &call, diag_err(L)));
  return 0;
}

/* --- order ---------------------------------------------------------------------------------------------- */

static CtVal read_done(Call *c, int idx, const CallArg *as) {
  (void)bind_push_option(c->L, idx, c->row->name, as->what);
  return bind_pop_flag(c->L, c->row->name, as->what);
}

static void store_wait(Call *c) {
  ct_ir_effect(c->ir, CT_OP_TMA_WAIT, (int64_t)c->arg[0] << 1 | c->arg[1]);
}

/* Which memory the fence is for: 1 for global. */
static CtVal read_space(Call *c, int idx, const CallArg *as) {
  lua_State *L = c->L;
  (void)as;
  const char *space = lua_type(L, idx) == LUA_TSTRING ? lua_tostring(L, idx) : "";
  bool is_global = strcmp(space, "global") == 0;
  if (!lua_isnoneornil(L, idx) && !is_global && strcmp(space, "shared") != 0) {
    const char *got = lua_type(L, idx) == LUA_TSTRING ? lua_pushfstring(L, "\"%s\"", space)
                                                      : diag_push_kind(L, idx);
    diag_error(L, "fence_proxy_async: argument 1 is %s; expected \"shared\" or \"global\"", got);
  }
  return is_global;
}

static void proxy_fence(Call *c) {
  ct_ir_effect(c->ir, c->arg[0] != 0 ? CT_OP_PROXY_FENCE_GLOBAL : CT_OP_PROXY_FENCE, 0);
}

static const CallArg fence_args[] = {{.read = read_space}};
static const CallArg wait_args[] = {{call_count, 0, 63, "number of groups"},
                                    {.read = read_done, .what = "done"}};
static const CallRow rows[] = {
    {"tma_store_commit", call_effect, CT_OP_TMA_COMMIT, 90, CALL_NO_ARGS},
    {"tma_store_wait", store_wait, CT_OP_TMA_WAIT, 90, CALL_ARGS(wait_args)},
    {"fence_proxy_async", proxy_fence, 0, 90, CALL_ARGS(fence_args)}};

/* --- opening -------------------------------------------------------------------------------------------- */

static const luaL_Reg functions[] = {{"tma_tensor", lang_tma_tensor},
                                     {"tma_load", lang_tma_load},
                                     {"tma_store", lang_tma_store},
                                     {NULL, NULL}};

void bind_open_tma(lua_State *L) {
  call_add_rows(L, rows, CT_ARRAY_LEN(rows));
  luaL_setfuncs(L, functions, 0);
}
