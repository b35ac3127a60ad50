/* launch_check.h: `check` as a kind of watcher, and as a launch option. */
#ifndef CUTTLE_LAUNCH_CHECK_H
#define CUTTLE_LAUNCH_CHECK_H

#include "launch.h"
#include "runtime/watch/check.h"
#include "watcher.h"

extern const WatcherKind launch_check_kind;

/* Pushes a watcher that checks launches from now on: one kernel's, or all. Its two user values are for its owner.
   Raises if launches are being watched already. */
Watcher *launch_check_watch(lua_State *L, const LaunchConfig *c, bool is_single);

/* If the launch is to be checked, by its option or by CUTTLE_CHECK: watches launches from now on, with a
   watcher at the top of the stack, and returns true; raises for a launch on a device. The end then takes
   the watcher away, or raises with what was found. */
bool launch_check_begin(lua_State *L, const Kernel *k, const LaunchConfig *c, bool on_cpu);
void launch_check_end(lua_State *L, CtStatus status, const CtErr *err);
/* Reads the fields `nan`, `overflow` and `global` of the table. */
void launch_check_read(lua_State *L, int table, LaunchConfig *c);

#endif
