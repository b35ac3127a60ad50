/* launch_check.h: a check of launches on the CPU engine, kept by a userdata, and the launch option `check`. */
#ifndef CUTTLE_LAUNCH_CHECK_H
#define CUTTLE_LAUNCH_CHECK_H

#include "launch.h"
#include "runtime/watch/check.h"

#define CHECK_TYPE "check"

/* Keeps the watcher apart from what may raise. */
typedef struct CheckHolder {
  CtCheck *check;
  CuttleState *state;
} CheckHolder;

/* Pushes a holder whose check watches launches from now on: one kernel's, or all. Raises if launches are
   being watched already. */
CheckHolder *launch_check_watch(lua_State *L, const LaunchConfig *c, bool is_single);
void launch_check_stop(const CheckHolder *h); /* what was found stays */
int launch_check_close(lua_State *L);         /* __close and __gc of a holder */

/* If the launch is to be checked, by its option or by CUTTLE_CHECK: watches launches from now on, with a
   holder at the top of the stack, and returns true; raises for a launch on a device. The end then takes
   the holder away, or raises with what was found. */
bool launch_check_begin(lua_State *L, const Kernel *k, const LaunchConfig *c, bool on_cpu);
void launch_check_end(lua_State *L);
/* Reads the fields `nan` and `global` of the table. */
void launch_check_read(lua_State *L, int table, LaunchConfig *c);

#endif
