/* bind_cluster.c: clusters of blocks as kernels see them: a block's rank, the cluster's barrier; and
   launches that overlap with the one before. */
#include <lauxlib.h>

#include "bind.h"
#include "front.h"
#include "value.h"

/* --- the cluster --------------------------------------------------------------------------------- */

static int lang_cluster_rank(lua_State *L) {
  CtIr *ir = front_here(L, "cluster_rank");
  value_push(L, ct_ir_cluster_rank(ir));
  return 1;
}

static int lang_cluster_size(lua_State *L) {
  lua_pushinteger(L, ct_ir_cluster_size(front_here(L, "cluster_size")));
  return 1;
}

static int lang_cluster_arrive(lua_State *L) {
  ct_ir_effect(front_here(L, "cluster_arrive"), CT_OP_CLUSTER_ARRIVE, 0);
  return 0;
}

static int lang_cluster_wait(lua_State *L) {
  ct_ir_effect(front_here(L, "cluster_wait"), CT_OP_CLUSTER_WAIT, 0);
  return 0;
}

/* Without clusters every target has it: a block is one. */
static int lang_cluster_sync(lua_State *L) {
  CtIr *ir = front_here(L, "cluster_sync");
  if (ct_ir_cluster_size(ir) == 1) {
    ct_ir_effect(ir, CT_OP_BARRIER, 0);
  } else {
    ct_ir_effect(ir, CT_OP_CLUSTER_ARRIVE, 0);
    ct_ir_effect(ir, CT_OP_CLUSTER_WAIT, 0);
  }
  return 0;
}

/* --- dependent launches --------------------------------------------------------------------------- */

static int lang_grid_wait(lua_State *L) {
  ct_ir_grid_wait(front_here(L, "grid_dependency_wait"));
  return 0;
}

static int lang_grid_launch(lua_State *L) {
  ct_ir_effect(front_here(L, "grid_dependency_launch"), CT_OP_GRID_LAUNCH, 0);
  return 0;
}

/* --- opening -------------------------------------------------------------------------------------- */

static const luaL_Reg cluster_functions[] = {
    {"cluster_rank", lang_cluster_rank},          {"cluster_size", lang_cluster_size},
    {"cluster_sync", lang_cluster_sync},          {"cluster_arrive", lang_cluster_arrive},
    {"cluster_wait", lang_cluster_wait},          {"grid_dependency_wait", lang_grid_wait},
    {"grid_dependency_launch", lang_grid_launch}, {NULL, NULL}};

void bind_open_cluster(lua_State *L) { /* language table on top */
  luaL_setfuncs(L, cluster_functions, 0);
}
