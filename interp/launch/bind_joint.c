/* bind_joint.c: what `mesh` needs of the launches of ranks that are gathered: launch_joint.h. */
#include <lauxlib.h>
#include <string.h>

#include "interp/openers.h"
#include "interp/state/state.h"
#include "launch_joint.h"

/* _mesh.joint_run(): the launches that ranks have made since the last time run at once. */
static int joint_run(lua_State *L) {
  launch_joint_run(L);
  return 0;
}

/* _mesh.joint_drop(): they are forgotten. */
static int joint_drop(lua_State *L) {
  launch_joint_drop(state_of(L));
  return 0;
}

/* _mesh.joint_count(rank): how many there are of a rank. */
static int joint_count(lua_State *L) {
  lua_pushinteger(L, launch_joint_count(state_of(L), (int)luaL_checkinteger(L, 1)));
  return 1;
}

/* Who stops ranks that wait learns where they are: adds what the function at 1 returns to the error at the top. The
   script is stopped, so no hook may see it. */
static void add_report(lua_State *L, const CuttleState *s) {
  lua_Hook hook = lua_gethook(L);
  int mask = lua_gethookmask(L), count = lua_gethookcount(L);
  if (!(state_is_interrupted(s) || state_gave_up(s)) || !lua_isstring(L, -1)) {
    return;
  }
  lua_sethook(L, NULL, 0, 0);
  lua_pushvalue(L, 1);
  if (lua_pcall(L, 0, 1, 0) == LUA_OK && lua_isstring(L, -1)) {
    lua_concat(L, 2);
  } else {
    lua_pop(L, 1);
  }
  lua_sethook(L, hook, mask, count);
}

/* _mesh.joint_guard(report, fn, ...): what fn returns. However fn ends, the state then runs no rank, no launch waits, and
   the device is the one before. Lua's __close cannot promise this: a script that is stopped runs none of its own
   language any more, and without memory it may fail. report() is what an error by Ctrl-C, or by a time limit of kernels, says, too. */
static int joint_guard(lua_State *L) {
  CuttleState *s = state_of(L);
  char device[sizeof s->device_text];
  memcpy(device, s->device_text, sizeof device);
  int status = lua_pcall(L, lua_gettop(L) - 2, LUA_MULTRET, 0);
  s->rank = -1;
  s->n_ranks = 0;
  launch_joint_drop(s);
  if (status != LUA_OK) {
    add_report(L, s);
  }
  if (strcmp(device, s->device_text) != 0) {
    memcpy(s->device_text, device, sizeof device);
    s->is_device_open = false;
  }
  state_free_garbage(L, status);
  return status == LUA_OK ? lua_gettop(L) - 1 : lua_error(L);
}

static const luaL_Reg functions[] = {{"_mesh.joint_run", joint_run},
                                     {"_mesh.joint_guard", joint_guard},
                                     {"_mesh.joint_drop", joint_drop},
                                     {"_mesh.joint_count", joint_count},
                                     {NULL, NULL}};

void bind_open_joint(lua_State *L) { /* language table on top */
  luaL_setfuncs(L, functions, 0);
  lua_newuserdatauv(L, 0, 0); /* with the state goes what is still gathered */
  lua_createtable(L, 0, 1);
  lua_pushcfunction(L, joint_drop);
  lua_setfield(L, -2, "__gc");
  lua_setmetatable(L, -2);
  lua_setfield(L, LUA_REGISTRYINDEX, "cuttle.joint");
}
