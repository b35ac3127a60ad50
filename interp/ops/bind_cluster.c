/* bind_cluster.c: clusters of blocks as kernels see them: a block's rank, the cluster's barrier;
   the barrier of the grid; and launches that overlap with the previous one. */
#include <lauxlib.h>

#include "access.h"
#include "call.h"
#include "interp/algebra/bind.h"
#include "interp/trace/front.h"
#include "interp/state/state.h"
#include "interp/tensor/tensor.h"
#include "interp/trace/value.h"
#include "interp/openers.h"

/* --- the cluster --------------------------------------------------------------------------------- */

static void cluster_rank(Call *c) { c->result[0] = ct_ir_cluster_rank(c->ir); }

static int lang_cluster_size(lua_State *L) {
  lua_pushinteger(L, ct_ir_cluster_size(front_here(L, "cluster_size")));
  return 1;
}

/* Every target supports this without clusters: a block is then a cluster. */
static void sync_cluster(Call *c) {
  if (ct_ir_cluster_size(c->ir) == 1) {
    ct_ir_effect(c->ir, CT_OP_BARRIER, 0);
  } else {
    ct_ir_effect(c->ir, CT_OP_CLUSTER_ARRIVE, 0);
    ct_ir_effect(c->ir, CT_OP_CLUSTER_WAIT, 0);
  }
}

/* A shared tensor in the block of a rank. */
static int lang_map_shared_rank(lua_State *L) { /* tensor, rank */
  CtIr *ir = front_here(L, "map_shared_rank");
  CtView view = access_view(L, 1, "map_shared_rank");
  const Tensor *t = tensor_test(L, 1);
  int size = (int)ct_ir_cluster_size(ir);
  if (t->space != CT_SHARED || ir->bufs[view.buf].remote != 0 || t->is_guarded) {
    return diag_error(L,
                      "map_shared_rank: %s is not the block's own shared memory; write "
                      "map_shared_rank(s, rank) of a tensor made by shared",
                      tensor_push_title(L, 1));
  }
  if (ir->target.is_cuda && ir->target.sm < 90) {
    return diag_error(L,
                      "map_shared_rank: other blocks' shared memory needs compute capability "
                      "9.0, but %s has %d.%d; run it on the CPU engine",
                      ir->target.name, ir->target.sm / 10, ir->target.sm % 10);
  }
  (void)value_settle(L, 2);
  if (lua_type(L, 2) == LUA_TNUMBER) {
    (void)bind_to_index(L, 2, 0, size - 1, "map_shared_rank", "rank");
  }
  CtView there = ct_ir_remote(ir, view, value_to(L, 2, CT_i32, "map_shared_rank"));
  if (ir->failed) {
    return luaL_error(L, "not enough memory");
  }
  tensor_push_kernel(L, t->dtype, CT_SHARED, there, front_serial(L));
  return 1;
}

/* --- asynchronous stores ----------------------------------------------------------------------------- */

const Tensor *bind_to_receiver(lua_State *L, int idx, const CtIr *ir, const char *op) {
  const Tensor *t = tensor_check_live(L, idx, op);
  tensor_check_memory(L, idx, op);
  if (t->space != CT_SHARED || ir->bufs[t->buf].remote != 0 || t->is_guarded) {
    diag_error(L,
               "%s: %s is not the block's own shared memory; pass a tensor made by shared: the "
               "argument rank says whose memory is written",
               op, tensor_push_title(L, idx));
  }
  return t;
}

/* The rank must be that of a block of the launch's clusters. */
CtVal bind_to_rank(lua_State *L, int idx, const CtIr *ir, const char *op) {
  int size = (int)ct_ir_cluster_size(ir);
  if (size == 1) {
    diag_error(L,
               "%s: the launch has no clusters, so there is no other block to store to; launch "
               "with {cluster = n}, or write to the tensor",
               op);
  }
  (void)value_settle(L, idx);
  if (lua_type(L, idx) == LUA_TNUMBER) {
    (void)bind_to_index(L, idx, 0, size - 1, op, "rank");
  }
  return value_to(L, idx, CT_i32, lua_pushfstring(L, "%s: rank", op));
}

/* (tensor, coordinate, value, mbarrier, rank): an asynchronous store to another block. Upvalue: the CtOp. */
static int async_store(lua_State *L) {
  CtOp op = (CtOp)lua_tointeger(L, lua_upvalueindex(1));
  const char *name = ct_ops[op].text;
  CtIr *ir = front_here(L, name);
  CtCx cx = bind_enter(L);
  CtAsyncStore s = {0};
  if (lua_gettop(L) != 5) {
    return diag_error(
        L, "%s: %d arguments; %s(tensor, coordinate, value, mbarrier, rank) was expected", name,
        lua_gettop(L), name);
  }
  call_need_sm(L, ir, name, 90);
  const Tensor *t = bind_to_receiver(L, 1, ir, name);
  if (ct_dtypes[t->dtype].bits != 32 && ct_dtypes[t->dtype].bits != 64) {
    diag_error(L, "%s: %s has elements of %s, %d bits; it stores values of 32 or 64 bits", name,
               tensor_push_title(L, 1), ct_dtypes[t->dtype].name, ct_dtypes[t->dtype].bits);
  }
  s.rank = bind_to_rank(L, 5, ir, name);
  bind_to_mbarrier(L, 4, name, &s.bar, &s.slot);
  s.value = value_to(L, 3, t->dtype, name);
  s.offset = access_offset(L, t, bind_to_tuple(L, 2, &cx, name), name);
  s.buf = t->buf;
  ct_ir_async_store(ir, op, &s);
  return ir->failed ? luaL_error(L, "not enough memory") : 0;
}

static void grid_wait(Call *c) {
  state_of(c->L)->may_overlap = true;
  ct_ir_grid_wait(c->ir);
}

static void sync_grid(Call *c) { ct_ir_grid_barrier(c->ir); }

/* --- opening -------------------------------------------------------------------------------------- */

static const CallRow rows[] = {
    {"cluster_rank", cluster_rank, 0, 0, CALL_NO_ARGS},
    {"sync_cluster", sync_cluster, 0, 0, CALL_NO_ARGS},
    {"cluster_arrive", call_effect, CT_OP_CLUSTER_ARRIVE, 0, CALL_NO_ARGS},
    {"cluster_wait", call_effect, CT_OP_CLUSTER_WAIT, 0, CALL_NO_ARGS},
    {"sync_grid", sync_grid, 0, 0, CALL_NO_ARGS},
    {"grid_dependency_wait", grid_wait, 0, 0, CALL_NO_ARGS},
    {"grid_dependency_launch", call_effect, CT_OP_GRID_LAUNCH, 0, CALL_NO_ARGS}};
static const luaL_Reg functions[] = {
    {"cluster_size", lang_cluster_size}, {"map_shared_rank", lang_map_shared_rank}, {NULL, NULL}};

void bind_open_cluster(lua_State *L) { /* language table on top */
  call_add_rows(L, rows, CT_ARRAY_LEN(rows));
  luaL_setfuncs(L, functions, 0);
  for (int op = 0; op < CT_OP_COUNT; op++) {
    if (ct_op_is_async_store((CtOp)op)) {
      lua_pushinteger(L, op);
      lua_pushcclosure(L, async_store, 1);
      lua_setfield(L, -2, ct_ops[op].text);
    }
  }
}
