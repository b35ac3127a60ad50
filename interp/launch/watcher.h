/* watcher.h: what watches the launches of a script on the CPU engine (runtime/simt/run/simt_watch.h), kept by a
   userdata apart from what may raise: `check`, `profile`, `trace` and `timeline` are kinds of it. A state
   has one watcher at a time. */
#ifndef CUTTLE_WATCHER_H
#define CUTTLE_WATCHER_H

#include <lauxlib.h>

#include "launch_tap.h"

typedef struct WatcherKind {
  const char *type;          /* the metatable's name */
  const char *busy;          /* the error if launches are already being watched */
  void (*close)(void *tool); /* frees what watches; NULL: it owns nothing */
} WatcherKind;

/* What a session is told of launches on the CPU engine. All may raise. NULL: it is not told. */
typedef struct WatcherCalls {
  void (*before)(Launch *l);
  void (*after)(lua_State *L,
                bool ok); /* failed or not. Who has it looks at one launch at a time, */
  void (*at_once)(lua_State *L, bool ok); /* unless this is told when gathered launches have run */
} WatcherCalls;

typedef struct Watcher {
  const WatcherKind *kind;
  CuttleState *state;
  void *tool;                /* a CtCheck, a CtProfile, ...: owned; NULL: closed */
  CtSimtWatch *watch;        /* of the tool, which the state has; NULL: none */
  const WatcherCalls *calls; /* as a session; NULL: it is none */
  struct Watcher *outer;     /* the session before this one */
  bool is_of_rank;           /* begun in m:run, so it may end before launches of all ranks run */
  bool skips;                /* launches that it is told of do not run */
} Watcher;

/* Pushes a new one, without a tool, with n user values. Raises if launches are being watched. */
Watcher *watcher_push(lua_State *L, const WatcherKind *kind, int n);
/* Its tool watches launches from now on; no more. */
void watcher_start(Watcher *w, CtSimtWatch *watch);
void watcher_pause(Watcher *w);
void watcher_drop(Watcher *w); /* pauses, and closes the tool */

/* Pushes one that is to become a session, whose first user values are the functions in arguments 1 to n_functions.
   Raises if there is a session already. */
Watcher *watcher_push_session(lua_State *L, const WatcherKind *kind, int n_functions, int n);
/* The watcher at the top of the stack becomes the session that is told of launches; watcher_push_told pushes the one of
   a kind that is one. */
void watcher_tell(lua_State *L, Watcher *w, const WatcherCalls *calls);
Watcher *watcher_push_told(lua_State *L, const WatcherKind *kind);
/* It watches no more and is told no more; what the tool found stays. */
void watcher_stop(lua_State *L, Watcher *w);

/* The tap `session`. */
TapAnswer watcher_before(Launch *l, CtErr *err);
void watcher_report(Launch *l, CtStatus status, const CtErr *err);
/* Does the session look at one launch at a time? */
bool watcher_looks_at_one(const Watcher *session);
/* Launches of ranks that were gathered have run. */
void watcher_at_once(lua_State *L, const CuttleState *s, bool ok);

/* The argument 1 of a method, a watcher whose tool is not closed. Raises. */
Watcher *watcher_check(lua_State *L, const WatcherKind *kind);

/* Registers the metatable of a kind, with these methods (NULL: none) and "close". */
void watcher_new_type(lua_State *L, const WatcherKind *kind, const luaL_Reg *methods);

#endif
