/* watcher.c: what watches the launches of a script. */
#include "watcher.h"

#include "interp/state/diag.h"

Watcher *watcher_push(lua_State *L, const WatcherKind *kind, int n) {
  Watcher *w = lua_newuserdatauv(L, sizeof *w, n);
  *w = (Watcher){.kind = kind, .state = state_of(L)};
  luaL_setmetatable(L, kind->type);
  if (w->state->taps.watch != NULL) {
    diag_error(L, "%s", kind->busy);
  }
  return w;
}

Watcher *watcher_push_session(lua_State *L, const WatcherKind *kind, int n_functions, int n) {
  for (int i = 1; i <= n_functions; i++) {
    luaL_checktype(L, i, LUA_TFUNCTION);
  }
  Watcher *w = watcher_push(L, kind, n);
  if (w->state->taps.session != NULL) {
    diag_error(L, "%s", kind->busy);
  }
  for (int i = 1; i <= n_functions; i++) {
    lua_pushvalue(L, i);
    lua_setiuservalue(L, -2, i);
  }
  return w;
}

void watcher_start(Watcher *w, CtSimtWatch *watch) {
  w->state->taps.watch = w->watch = watch;
  w->state->taps.is_watched_by_rank = w->state->rank >= 0;
}

void watcher_pause(Watcher *w) {
  if (w->watch != NULL && w->state->taps.watch == w->watch) {
    w->state->taps.watch = NULL;
    w->state->taps.check = NULL;
  }
  w->watch = NULL;
}

void watcher_drop(Watcher *w) {
  watcher_pause(w);
  if (w->tool != NULL && w->kind->close != NULL) {
    w->kind->close(w->tool);
  }
  w->tool = NULL;
}

void watcher_tell(lua_State *L, Watcher *w, const WatcherCalls *calls) {
  lua_pushvalue(L, -1);
  lua_rawsetp(L, LUA_REGISTRYINDEX, w->kind);
  w->calls = calls;
  w->is_of_rank = w->state->rank >= 0;
  w->outer = w->state->taps.session;
  w->state->taps.session = w;
}

Watcher *watcher_push_told(lua_State *L, const WatcherKind *kind) {
  lua_rawgetp(L, LUA_REGISTRYINDEX, kind);
  return luaL_checkudata(L, -1, kind->type);
}

void watcher_stop(lua_State *L, Watcher *w) {
  struct Watcher **link = &w->state->taps.session;
  watcher_pause(w);
  while (*link != NULL && *link != w) {
    link = &(*link)->outer;
  }
  if (*link == w) {
    *link = w->outer;
    lua_pushnil(L);
    lua_rawsetp(L, LUA_REGISTRYINDEX, w->kind);
  }
  w->calls = NULL;
}

/* --- as a session ----------------------------------------------------------------------------------------- */

TapAnswer watcher_before(Launch *l, CtErr *err) {
  const Watcher *w = l->state->taps.session;
  w->calls->before(l);
  if (w->skips && !l->is_gathered) {
    watcher_report(l, CT_OK, err);
    return TAP_HAS;
  }
  return TAP_IN;
}

void watcher_report(Launch *l, CtStatus status, const CtErr *err) {
  const Watcher *w = l->state->taps.session;
  (void)err;
  if (w != NULL && w->calls->after != NULL) { /* who was told before may have ended it */
    w->calls->after(l->L, status == CT_OK);
  }
}

static bool is_told_at_once(const Watcher *w) {
  return w->calls->at_once != NULL && !w->is_of_rank;
}

bool watcher_looks_at_one(const Watcher *session) {
  return session != NULL && session->calls->after != NULL && !is_told_at_once(session);
}

void watcher_at_once(lua_State *L, const CuttleState *s, bool ok) {
  const Watcher *w = s->taps.session;
  while (w != NULL && !is_told_at_once(w)) {
    w = w->outer;
  }
  if (w != NULL) {
    w->calls->at_once(L, ok);
  }
}

/* --- as a value ------------------------------------------------------------------------------------------- */

Watcher *watcher_check(lua_State *L, const WatcherKind *kind) {
  Watcher *w = luaL_checkudata(L, 1, kind->type);
  if (w->tool == NULL) {
    diag_error(L, "%s: it is closed", kind->type);
  }
  return w;
}

static int watcher_close(lua_State *L) { /* upvalue 1: the kind */
  const WatcherKind *kind = lua_touserdata(L, lua_upvalueindex(1));
  Watcher *w = luaL_checkudata(L, 1, kind->type);
  watcher_stop(L, w);
  watcher_drop(w);
  return 0;
}

void watcher_new_type(lua_State *L, const WatcherKind *kind, const luaL_Reg *methods) {
  luaL_newmetatable(L, kind->type);
  lua_newtable(L);
  if (methods != NULL) {
    luaL_setfuncs(L, methods, 0);
  }
  lua_pushlightuserdata(L, (void *)(uintptr_t)kind); /* read only */
  lua_pushcclosure(L, watcher_close, 1);             /* stack: metatable, methods, close */
  lua_pushvalue(L, -1);
  lua_setfield(L, -4, "__gc");
  lua_pushvalue(L, -1);
  lua_setfield(L, -4, "__close");
  lua_setfield(L, -2, "close");
  lua_setfield(L, -2, "__index");
  lua_pop(L, 1);
}
