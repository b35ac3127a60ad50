/* bind_capture.c: what stdlib/microscope/replay.lua is made of:
     _watch.capture(launch, path[, options])  writes a prepared launch
     _watch.replay(path, trusts)  the launch in a file: a kernel, the table of a configuration, the arguments, and what
                            else is known of it
     _watch.replay_part(bytes, trusts, memory)  the same of a part of a graph's file
     _watch.set_bytes(tensor, at, bytes)        writes into a tensor of u8, from byte `at` on
     _watch.replay_info(path)     what is known of it, with grid, block, `arguments` and `options` of NVRTC, as texts */
#include <lauxlib.h>

#include "interp/algebra/bind.h"
#include "interp/openers.h"
#include "interp/state/diag.h"
#include "launch_capture.h"

static bool read_data(lua_State *L, int idx) {
  if (lua_isnoneornil(L, idx)) {
    return false;
  }
  if (!lua_istable(L, idx)) {
    diag_type_error(L, idx, "capture", "a table of options");
  }
  for (lua_pushnil(L); lua_next(L, idx) != 0; lua_pop(L, 1)) {
    lua_pushliteral(L, "data");
    if (!lua_rawequal(L, -1, -3)) {
      diag_error(L, "capture: option '%s' is unknown; expected data", luaL_tolstring(L, -3, NULL));
    }
    lua_pop(L, 1);
  }
  lua_getfield(L, idx, "data");
  return bind_pop_flag(L, "capture", "data");
}

/* capture(launch, file[, {data = true}]) */
static int lang_capture(lua_State *L) {
  LaunchArgs args;
  const char *path = state_check_path(L, 2, "capture");
  bool with_data = read_data(L, 3);
  diag_take_args(L, "capture", 3);
  int n = launch_unpack(L, 1);
  if (n < 0 || lua_tocfunction(L, 1) == NULL) {
    diag_type_error(L, 1, "capture",
                    "a prepared launch, k:prepare{grid = ..., block = ...}(args...),");
  }
  const LaunchConfig *config =
      lua_touserdata(L, 5); /* stack: kernel at 4, configuration, arguments */
  launch_check_outside(L, lua_touserdata(L, 4));
  launch_read(L, 4, 6, n, config, &args);
  launch_capture(L, 4, config, &args, path, "capture", with_data);
  return 0;
}

static int replay(lua_State *L) {
  return launch_file_load(L, state_check_path(L, 1, "replay"), lua_toboolean(L, 2) != 0);
}

static int replay_part(lua_State *L) {
  return launch_file_load_part(L, 1, lua_toboolean(L, 2) != 0, 3);
}

static int set_bytes(lua_State *L) {
  CtErr err;
  size_t n;
  const Tensor *t = luaL_checkudata(L, 1, TENSOR_TYPE);
  lua_Integer at = luaL_checkinteger(L, 2);
  const char *bytes = luaL_checklstring(L, 3, &n);
  if (at < 0 || (uint64_t)at > t->storage->bytes || n > t->storage->bytes - (uint64_t)at) {
    diag_error(L, "replay: data of a graph is outside its memory");
  }
  diag_check(L, ct_storage_write(t->storage, (size_t)at, bytes, n, &err), &err);
  return 0;
}

static int replay_info(lua_State *L) {
  return launch_file_describe(L, state_check_path(L, 1, "replay"));
}

void bind_open_capture(lua_State *L) {
  static const luaL_Reg functions[] = {
      {"_watch.capture", lang_capture},    {"_watch.replay", replay},
      {"_watch.replay_part", replay_part}, {"_watch.set_bytes", set_bytes},
      {"_watch.replay_info", replay_info}, {NULL, NULL}};
  luaL_setfuncs(L, functions, 0);
}
