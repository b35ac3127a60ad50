/* bind_timeline.c: what the module cuttle.timeline is made of: a launch on the CPU engine, or some of those of a
   script, that record what the warps of a block do (runtime/watch/timeline.h). The names begin with `_`: they are
   not the language's. */
#include <lauxlib.h>
#include <string.h>

#include "interp/algebra/bind.h"
#include "interp/launch/launch.h"
#include "runtime/simt/code/simt_access.h"
#include "runtime/watch/timeline.h"
#include "interp/openers.h"

#define HOLDER_TYPE "timeline record"
enum { HOLDER = 1, LAUNCH }; /* places on the stack */

/* Keeps the watcher apart from what may raise. */
typedef struct Holder {
  CtTimeline *timeline;
  CuttleState *state;
  bool is_session;
} Holder;

static void set_integer(lua_State *L, const char *name, int64_t v) {
  lua_pushinteger(L, v);
  lua_setfield(L, -2, name);
}
static void set_text(lua_State *L, const char *name, const char *text) {
  lua_pushstring(L, text);
  lua_setfield(L, -2, name);
}

static void push_event(lua_State *L, const CtTimeline *t, const CtTimeEvent *e) {
  static const char *const agents[CT_AGENT_COUNT] = {
      [CT_AGENT_WGMMA] = "wgmma", [CT_AGENT_BULK] = "bulk"};
  lua_createtable(L, 0, 10);
  set_text(L, "kind", ct_time_kinds[e->kind]);
  set_text(L, "chunk", ct_timeline_chunk(t, e->loc.chunk));
  set_integer(L, "line", e->loc.line);
  set_integer(L, "rank", e->rank);
  set_integer(L, "warp", e->warp);
  set_integer(L, "n", e->n);
  switch ((CtTimeKind)e->kind) {
    case CT_TIME_WORK:
      set_integer(L, "global", e->global);
      set_integer(L, "shared", e->shared);
      break;
    case CT_TIME_ARRIVE:
    case CT_TIME_PASS:
    case CT_TIME_LOAD:
      set_integer(L, "barrier", e->barrier + 1);
      set_integer(L, "phase", e->phase);
      break;
    case CT_TIME_MMA: set_integer(L, "bits", e->bits); break;
    default: set_text(L, "agent", agents[e->agent]); break;
  }
}

static void push_events(lua_State *L, const CtTimeline *t) {
  const CtTimeEvent *events;
  size_t n;
  CtErr err;
  diag_check(L, ct_timeline_events(t, &events, &n, &err), &err);
  lua_createtable(L, (int)n, 0);
  for (size_t i = 0; i < n; i++) {
    push_event(L, t, &events[i]);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
}

static void push_meets(lua_State *L, const CtTimeline *t) {
  static const char *const kinds[] = {"mbarrier", "named", "block", "cluster"};
  size_t n;
  const CtMeet *meets = ct_timeline_meets(t, &n);
  lua_createtable(L, (int)n, 0);
  for (size_t i = 0; i < n; i++) {
    lua_createtable(L, 0, 4);
    set_text(L, "kind", kinds[meets[i].kind]);
    set_text(L, "name", meets[i].name);
    set_integer(L, "slot", meets[i].slot);
    set_integer(L, "rank", meets[i].rank);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
}

/* Appends events, barriers, rank. */
static void push_results(lua_State *L, const CtTimeline *t) {
  push_events(L, t);
  push_meets(L, t);
  lua_pushinteger(L, ct_timeline_rank(t));
}

static void read_block(lua_State *L, int table, int64_t block[3]) {
  table = lua_absindex(L, table);
  for (int i = 0; i < 3; i++) {
    lua_rawgeti(L, table, i + 1);
    block[i] = lua_tointeger(L, -1);
    lua_pop(L, 1);
  }
}

/* _timeline(launch, {x, y, z}, args...) -> events, barriers, rank: launches `launch(args...)`, a configuration,
   on the CPU engine, up to the cluster of that block, whose rank there it returns. */
static int timeline(lua_State *L) {
  int64_t block[3];
  CtErr err;
  luaL_checktype(L, 2, LUA_TTABLE);
  read_block(L, 2, block);
  lua_remove(L, 2);
  Holder *h = lua_newuserdatauv(L, sizeof *h, 0);
  *h = (Holder){.state = state_of(L)};
  luaL_setmetatable(L, HOLDER_TYPE);
  lua_insert(L, HOLDER);
  lua_toclose(L, HOLDER);
  if (h->state->watch != NULL) {
    return diag_error(L,
                      "timeline: launches are being watched already, by check, profile or trace; "
                      "call it in a run without them");
  }
  diag_check(L, ct_timeline_open(h->state->alloc, block, &h->timeline, &err), &err);
  h->state->watch = ct_timeline_watch(h->timeline);
  lua_call(L, lua_gettop(L) - LAUNCH, 0);
  h->state->watch = NULL;
  push_results(L, h->timeline);
  return 3;
}

/* --- launches of a script --------------------------------------------------------------------------------- */

static const char session_key = 0; /* its address names the session, in the registry */

/* A Holder whose user values are the functions `choose` and `take`; its timeline is that of the launch under way,
   where that is recorded. */
enum { CHOOSE = 1, TAKE };

static void set_sizes(lua_State *L, const char *name, int64_t x, int64_t y, int64_t z) {
  const int64_t v[] = {x, y, z};
  lua_createtable(L, 3, 0);
  for (int i = 0; i < 3; i++) {
    lua_pushinteger(L, v[i]);
    lua_rawseti(L, -2, i + 1);
  }
  lua_setfield(L, -2, name);
}

static void push_launch(lua_State *L, const Kernel *k, const LaunchConfig *c, const Spec *spec) {
  lua_createtable(L, 0, 6);
  set_text(L, "name", k->name);
  set_text(L, "file", k->chunk);
  set_integer(L, "line", k->line);
  set_integer(L, "id", (int64_t)spec->id);
  set_sizes(L, "grid", c->grid.x, c->grid.y, c->grid.z);
  set_sizes(L, "block", c->block.x, c->block.y, c->block.z);
}

static void unwatch(Holder *h) {
  if (h->timeline != NULL && h->state->watch == ct_timeline_watch(h->timeline)) {
    h->state->watch = NULL;
  }
  ct_timeline_close(h->timeline);
  h->timeline = NULL;
}

static void on_launch(lua_State *L, int kernel, const LaunchConfig *config, LaunchArgs *args,
                      const Spec *spec) {
  int top = lua_gettop(L);
  CtErr err;
  (void)args;
  lua_rawgetp(L, LUA_REGISTRYINDEX, &session_key);
  Holder *h = luaL_checkudata(L, -1, HOLDER_TYPE);
  unwatch(h);                    /* of a launch that did not come to its end */
  if (h->state->watch == NULL) { /* else the script watches this one itself */
    const Kernel *k = lua_touserdata(L, kernel);
    lua_getiuservalue(L, -1, CHOOSE);
    push_launch(L, k, config, spec);
    lua_call(L, 1, 1);
    if (lua_istable(L, -1)) {
      int64_t block[3];
      read_block(L, -1, block);
      diag_check(L, ct_timeline_open(h->state->alloc, block, &h->timeline, &err), &err);
      ct_timeline_run_all(h->timeline);
      h->state->watch = ct_timeline_watch(h->timeline);
    }
  }
  lua_settop(L, top);
}

static void on_launched(lua_State *L, bool ok) {
  int top = lua_gettop(L);
  lua_rawgetp(L, LUA_REGISTRYINDEX, &session_key);
  Holder *h = luaL_checkudata(L, -1, HOLDER_TYPE);
  if (h->timeline != NULL) {
    h->state->watch = NULL;
    if (ok) {
      lua_getiuservalue(L, -1, TAKE);
      push_results(L, h->timeline);
      lua_call(L, 3, 0);
    }
    unwatch(h);
  }
  lua_settop(L, top);
}

static int session_close(lua_State *L) {
  Holder *h = luaL_checkudata(L, 1, HOLDER_TYPE);
  if (h->is_session && h->state->on_launch == on_launch) {
    h->state->on_launch = NULL;
    h->state->on_launched = NULL;
    lua_pushnil(L);
    lua_rawsetp(L, LUA_REGISTRYINDEX, &session_key);
  }
  unwatch(h);
  return 0;
}

/* _timeline_begin(choose, take) -> session, to be closed: from now on choose({name, file, line, id, grid, block}) is
   called before each launch on the CPU engine. Where it returns a block, {x, y, z}, take(events, barriers, rank)
   is called after the launch, unless that failed. */
static int timeline_begin(lua_State *L) {
  CuttleState *s = state_of(L);
  luaL_checktype(L, 1, LUA_TFUNCTION);
  luaL_checktype(L, 2, LUA_TFUNCTION);
  if (s->watch != NULL || s->on_launch != NULL) {
    return diag_error(L, "timeline: launches are being watched already");
  }
  Holder *h = lua_newuserdatauv(L, sizeof *h, 2);
  *h = (Holder){.state = s, .is_session = true};
  luaL_setmetatable(L, HOLDER_TYPE);
  lua_pushvalue(L, 1);
  lua_setiuservalue(L, -2, CHOOSE);
  lua_pushvalue(L, 2);
  lua_setiuservalue(L, -2, TAKE);
  lua_pushvalue(L, -1);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &session_key);
  s->on_launch = on_launch;
  s->on_launched = on_launched;
  return 1;
}

void bind_open_timeline(lua_State *L) {
  static const luaL_Reg meta[] = {
      {"__close", session_close}, {"__gc", session_close}, {NULL, NULL}};
  static const luaL_Reg functions[] = {
      {"_timeline", timeline}, {"_timeline_begin", timeline_begin}, {NULL, NULL}};
  bind_new_type(L, HOLDER_TYPE, meta, NULL);
  luaL_setfuncs(L, functions, 0);
}
