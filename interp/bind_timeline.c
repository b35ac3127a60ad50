/* bind_timeline.c: what the module cuttle.timeline is made of: a launch on the CPU engine that records what the
   warps of a block do (runtime/simt_timeline.h). The name begins with `_`: it is not the language's. */
#include <lauxlib.h>

#include "bind.h"
#include "launch.h"
#include "runtime/simt_access.h"
#include "runtime/simt_timeline.h"

#define HOLDER_TYPE "timeline record"
enum { HOLDER = 1, LAUNCH }; /* places on the stack */

/* Keeps the watcher apart from what may raise. */
typedef struct Holder {
  CtTimeline *timeline;
  CuttleState *state;
} Holder;

static int holder_close(lua_State *L) {
  Holder *h = luaL_checkudata(L, 1, HOLDER_TYPE);
  if (h->timeline != NULL && h->state->watch == ct_timeline_watch(h->timeline)) {
    h->state->watch = NULL;
  }
  ct_timeline_close(h->timeline);
  h->timeline = NULL;
  return 0;
}

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

/* _timeline(launch, {x, y, z}, args...) -> events, barriers, rank: launches `launch(args...)`, a configuration,
   on the CPU engine, up to the cluster of that block, whose rank there it returns. */
static int timeline(lua_State *L) {
  int64_t block[3];
  CtErr err;
  for (int i = 0; i < 3; i++) {
    lua_rawgeti(L, 2, i + 1);
    block[i] = lua_tointeger(L, -1);
    lua_pop(L, 1);
  }
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
  push_events(L, h->timeline);
  push_meets(L, h->timeline);
  lua_pushinteger(L, ct_timeline_rank(h->timeline));
  return 3;
}

void bind_open_timeline(lua_State *L) {
  static const luaL_Reg meta[] = {{"__close", holder_close}, {"__gc", holder_close}, {NULL, NULL}};
  static const luaL_Reg functions[] = {{"_timeline", timeline}, {NULL, NULL}};
  bind_new_type(L, HOLDER_TYPE, meta, NULL);
  luaL_setfuncs(L, functions, 0);
}
