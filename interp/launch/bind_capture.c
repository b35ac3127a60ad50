/* bind_capture.c: what stdlib/microscope/replay.lua and launch_file.lua are made of:
     _watch.capture(launch, path[, {data =}])  writes a prepared launch
     _watch.check_file(path)      raises unless it is the name of a file to replay
     _watch.sum(bytes)            FNV-1a of 64 bits: no change of a byte leaves it as it is
     _watch.memory(device, at, bytes)  what lies at an address, of the device or, without one, of the host
     _watch.set_bytes(tensor, at, bytes)  writes into a tensor of u8, from byte `at` on
     _watch.show_script(chunk, text)  from now on reports know the lines of the script
     _watch.number(dtype, bits)   a number with a type
     _watch.tensor(memory, at, dtype, layout, is_fixed, fixed)  a tensor in a tensor of u8, from byte `at` on
     _watch.kernel(launch, ir, f, trusts)  the kernel of a launch in a file
     _watch.ir_facts(ir, values)  what an IR says of a launch with these values in its slots */
#include <lauxlib.h>
#include <string.h>

#include "interp/algebra/bind.h"
#include "interp/openers.h"
#include "interp/state/diag.h"
#include "interp/state/source_load.h"
#include "interp/trace/number.h"
#include "launch_capture.h"
#include "runtime/base/newfile.h"
#include "runtime/layout/walk.h"

static int lang_capture(lua_State *L) {
  LaunchArgs args;
  size_t len;
  const char *path = state_check_path(L, 2, "capture");
  diag_take_args(L, "capture", 3);
  bool with_data = lua_istable(L, 3) && lua_getfield(L, 3, "data") && lua_toboolean(L, -1);
  lua_settop(L, 3);
  int n = launch_unpack(L, 1);
  if (n < 0 || lua_tocfunction(L, 1) == NULL) {
    diag_type_error(L, 1, "capture",
                    "a prepared launch, k:prepare{grid = ..., block = ...}(args...),");
  }
  const LaunchConfig *config =
      lua_touserdata(L, 5); /* stack: kernel at 4, configuration, arguments */
  launch_check_outside(L, lua_touserdata(L, 4));
  launch_read(L, 4, 6, n, config, &args);
  launch_capture_push(
      L,
      &(LaunchCaptured){
          .kernel = 4, .config = config, .args = &args, .why = "capture", .with_data = with_data});
  const char *bytes = lua_tolstring(L, -2, &len);
  int code = ct_newfile_write(path, bytes, len);
  return code == 0 ? 0 : diag_error(L, "capture: %s: %s", path, strerror(code));
}

static int check_file(lua_State *L) {
  (void)state_check_path(L, 1, "replay");
  return 0;
}

/* Exported programs compute it, too: export_cpu_capture.c. */
static int sum(lua_State *L) {
  size_t n;
  const char *p = luaL_checklstring(L, 1, &n);
  uint64_t h = UINT64_C(0xcbf29ce484222325);
  for (size_t i = 0; i < n; i++) {
    h = (h ^ (unsigned char)p[i]) * UINT64_C(0x100000001b3);
  }
  lua_pushinteger(L, (lua_Integer)h);
  return 1;
}

/* Behind all that is on its way to the device, in whatever stream. */
static int memory(lua_State *L) {
  CtDevice *d = lua_touserdata(L, 1);
  lua_Integer at = luaL_checkinteger(L, 2);
  size_t bytes = (size_t)luaL_checkinteger(L, 3);
  if (d == NULL) {
    lua_pushlstring(L, (const char *)(uintptr_t)at, bytes); /* NOLINT(performance-no-int-to-ptr) */
    return 1;
  }
  luaL_Buffer b;
  CtErr err;
  char *to = luaL_buffinitsize(L, &b, bytes);
  CtStatus status = ct_device_synchronize(d, &err);
  if (status == CT_OK && bytes > 0) {
    status = ct_device_read(d, to, (uint64_t)at, bytes, ct_device_stream(d), &err);
  }
  diag_check(L, status, &err);
  luaL_pushresultsize(&b, bytes);
  return 1;
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

static int show_script(lua_State *L) {
  size_t n;
  const char *text = luaL_checklstring(L, 2, &n);
  src_show(L, luaL_checkstring(L, 1), text, n);
  return 0;
}

static int number(lua_State *L) {
  CtDtype dtype = bind_to_dtype(L, 1, "replay");
  CtSlotValue slot = {.i = luaL_checkinteger(L, 2)};
  bool is_float = ct_is_float(dtype);
  Elem e = elem_load(dtype, &slot); /* little-endian: the low bytes */
  number_push(L, (TypedNumber){.dtype = dtype,
                               .is_float = is_float,
                               .i = is_float ? 0 : e.i,
                               .f = is_float ? e.f : 0});
  return 1;
}

/* Do its elements lie in the memory, from byte `at` on? */
static bool is_inside(const Tensor *memory, uint64_t at, CtDtype dtype, CtLayout l) {
  int64_t lo, hi, size;
  uint64_t bytes = memory->storage->bytes;
  return ct_layout_is_static(l) && ct_walk_bounds(l, &lo, &hi, &size, NULL) == CT_OK && lo >= 0 &&
         at <= bytes && ct_dtype_begins_at(dtype, at) && hi <= (int64_t)(2 * bytes) &&
         (uint64_t)ct_dtype_span(dtype, hi + 1) <= bytes - at;
}

static int tensor(lua_State *L) {
  CtCx cx = bind_enter(L);
  const Tensor *memory = luaL_checkudata(L, 1, TENSOR_TYPE);
  uint64_t at = (uint64_t)luaL_checkinteger(L, 2);
  CtDtype dtype = bind_to_dtype(L, 3, "replay");
  CtLayout l = bind_to_layout(L, 4, &cx, "replay");
  if (!is_inside(memory, at, dtype, l)) {
    return diag_error(L, "replay: the file is damaged: a tensor is outside its memory");
  }
  Tensor *made =
      tensor_push_host(L, dtype, l, ct_int(ct_dtype_count(dtype, (int64_t)at)), memory->storage);
  made->is_fixed = lua_toboolean(L, 5) != 0;
  made->fixed = (uint64_t)luaL_checkinteger(L, 6);
  return 1;
}

static int push_kernel(lua_State *L) {
  launch_file_push_kernel(L, lua_toboolean(L, 4) != 0);
  return 1;
}

static int ir_facts(lua_State *L) {
  launch_file_push_facts(L);
  return 1;
}

void bind_open_capture(lua_State *L) {
  static const luaL_Reg functions[] = {{"_watch.capture", lang_capture},
                                       {"_watch.check_file", check_file},
                                       {"_watch.sum", sum},
                                       {"_watch.memory", memory},
                                       {"_watch.set_bytes", set_bytes},
                                       {"_watch.show_script", show_script},
                                       {"_watch.number", number},
                                       {"_watch.tensor", tensor},
                                       {"_watch.kernel", push_kernel},
                                       {"_watch.ir_facts", ir_facts},
                                       {NULL, NULL}};
  luaL_setfuncs(L, functions, 0);
}
