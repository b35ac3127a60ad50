/* watcher.c: what watches the launches of a script. */
#include "watcher.h"

#include "interp/state/diag.h"

Watcher *watcher_push(lua_State *L, const WatcherKind *kind, int n) {
  Watcher *w = lua_newuserdatauv(L, sizeof *w, n);
  *w = (Watcher){.kind = kind, .state = state_of(L)};
  luaL_setmetatable(L, kind->type);
  if (w->state->watch != NULL) {
    diag_error(L, "%s", kind->busy);
  }
  return w;
}

void watcher_start(Watcher *w, CtSimtWatch *watch) {
  w->state->watch = w->watch = watch;
  w->state->is_watched_by_rank = w->state->rank >= 0;
}

void watcher_pause(Watcher *w) {
  if (w->watch != NULL && w->state->watch == w->watch) {
    w->state->watch = NULL;
    w->state->check = NULL;
  }
  w->watch = NULL;
}

void watcher_drop(Watcher *w) {
  watcher_pause(w);
  if (w->tool != NULL) {
    w->kind->close(w->tool);
    w->tool = NULL;
  }
}

void watcher_tell(lua_State *L, Watcher *w, StateOnLaunch on_launch, StateOnLaunched after) {
  lua_pushvalue(L, -1);
  lua_rawsetp(L, LUA_REGISTRYINDEX, w->kind);
  w->told = on_launch;
  w->outer = w->state->on_launch;
  w->outer_after = w->state->on_launched;
  w->state->on_launch = on_launch;
  w->state->on_launched = after;
}

Watcher *watcher_push_told(lua_State *L, const WatcherKind *kind) {
  lua_rawgetp(L, LUA_REGISTRYINDEX, kind);
  return luaL_checkudata(L, -1, kind->type);
}

void watcher_stop(lua_State *L, Watcher *w) {
  watcher_pause(w);
  if (w->told != NULL && w->state->on_launch == w->told) {
    w->state->on_launch = w->outer;
    w->state->on_launched = w->outer_after;
    w->state->on_joint = NULL; /* who has one is outermost */
    lua_pushnil(L);
    lua_rawsetp(L, LUA_REGISTRYINDEX, w->kind);
  }
  w->told = NULL;
}

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
