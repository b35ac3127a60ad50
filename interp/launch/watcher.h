/* watcher.h: what watches the launches of a script on the CPU engine (runtime/simt/run/simt_watch.h), kept by a
   userdata apart from what may raise: `check`, `profile`, `trace` and `timeline` are kinds of it. A state
   has one watcher at a time. */
#ifndef CUTTLE_WATCHER_H
#define CUTTLE_WATCHER_H

#include <lauxlib.h>

#include "interp/state/state.h"

typedef struct WatcherKind {
  const char *type;          /* the metatable's name */
  const char *busy;          /* the error if launches are being watched already */
  void (*close)(void *tool); /* frees what watches */
} WatcherKind;

typedef struct Watcher {
  const WatcherKind *kind;
  CuttleState *state;
  void *tool;         /* a CtCheck, a CtProfile, ...: owned; NULL: closed */
  CtSimtWatch *watch; /* of the tool, which the state has; NULL: none */
  StateOnLaunch told; /* of launches; NULL: it is not, else the two below were before */
  StateOnLaunch outer;
  StateOnLaunched outer_after;
} Watcher;

/* Pushes a new one, without a tool, with n user values. Raises if launches are being watched. */
Watcher *watcher_push(lua_State *L, const WatcherKind *kind, int n);
/* Its tool watches launches from now on; no more. */
void watcher_start(Watcher *w, CtSimtWatch *watch);
void watcher_pause(Watcher *w);
void watcher_drop(Watcher *w); /* pauses, and closes the tool */

/* The watcher at the top of the stack is told of each launch before it runs, and after it unless `after` is NULL;
   watcher_push_told pushes the one of a kind that is. */
void watcher_tell(lua_State *L, Watcher *w, StateOnLaunch on_launch, StateOnLaunched after);
Watcher *watcher_push_told(lua_State *L, const WatcherKind *kind);
/* It watches no more and is told no more; what the tool found stays. */
void watcher_stop(lua_State *L, Watcher *w);

/* The argument 1 of a method, a watcher whose tool is not closed. Raises. */
Watcher *watcher_check(lua_State *L, const WatcherKind *kind);

/* Registers the metatable of a kind, with these methods (NULL: none) and "close". */
void watcher_new_type(lua_State *L, const WatcherKind *kind, const luaL_Reg *methods);

#endif
