/* bind_bench.c: what benchmarks of the standard library are made of besides events and bench: a clock,
   a pause, and what the device's sensors say. The names begin with `_`: the library's own. */
#include <lauxlib.h>
#include <time.h>

#include "interp/algebra/bind.h"
#include "runtime/device/nvml.h"
#include "interp/state/state.h"
#include "interp/openers.h"

/* _now() -> milliseconds by a clock that only goes on. */
static int now(lua_State *L) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  lua_pushnumber(L, (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6);
  return 1;
}

/* _pause(ms): does nothing for so long, or until a signal comes. */
static int pause_for(lua_State *L) {
  double ms = luaL_checknumber(L, 1);
  luaL_argcheck(L, ms <= 60e3, 1, "at most a minute");
  if (ms > 0) {
    long whole = (long)(ms / 1e3);
    struct timespec t = {whole, (long)((ms - (double)whole * 1e3) * 1e6)};
    (void)nanosleep(&t, NULL);
  }
  return 0;
}

/* _sensors() -> the current device's SM clock in MHz and its power in watts, or nil and why not. */
static int sensors(lua_State *L) {
  CtDevice *d;
  CtErr err;
  CtSensors read;
  diag_check(L, state_device(state_of(L), &d, &err), &err);
  CtStatus s = d == NULL ? ct_fail(&err, CT_EMISSING, "the current device is the CPU engine")
                         : ct_nvml_read(d, &read, &err);
  if (s != CT_OK) {
    lua_pushnil(L);
    lua_pushstring(L, err.msg);
    return 2;
  }
  lua_pushinteger(L, (lua_Integer)read.sm_mhz);
  lua_pushnumber(L, read.watts);
  return 2;
}

static const luaL_Reg functions[] = {
    {"_now", now}, {"_pause", pause_for}, {"_sensors", sensors}, {NULL, NULL}};

void bind_open_bench(lua_State *L) { luaL_setfuncs(L, functions, 0); }
