/* launch_check.h: `check` as a kind of watcher, and as a launch option. */
#ifndef CUTTLE_LAUNCH_CHECK_H
#define CUTTLE_LAUNCH_CHECK_H

#include "launch_tap.h"
#include "runtime/watch/check.h"
#include "watcher.h"

extern const WatcherKind launch_check_kind;

/* Pushes a watcher that checks launches from now on: one kernel's, or all. Its two user values are for its owner.
   Raises if launches are already being watched. */
Watcher *launch_check_watch(lua_State *L, const LaunchConfig *c, bool is_single);

/* The tap `check`: a launch that is to be checked, by its option or by CUTTLE_CHECK, unless who watches launches reports
   anyway. A watcher lies at the top of the stack until the report takes it away, or raises with what was found. It
   watches no more from _after on, as another report may raise first. */
TapAnswer launch_check_before(Launch *l, CtErr *err);
CtStatus launch_check_after(Launch *l, CtStatus status, CtErr *err);
void launch_check_report(Launch *l, CtStatus status, const CtErr *err);
/* The same of launches of ranks that ran at once. */
void launch_check_pause(lua_State *L);
void launch_check_end(lua_State *L, CtStatus status, const CtErr *err);
/* Reads the fields `nan`, `overflow` and `global` of the table. */
void launch_check_read(lua_State *L, int table, LaunchConfig *c);

#endif
