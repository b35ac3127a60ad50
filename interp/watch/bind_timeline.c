/* bind_timeline.c: what the module cuttle.timeline is made of: a launch on the CPU engine, or some of those of a
   script, that record what the warps of a block do (runtime/watch/timeline.h). The names begin with `_`: they are
   not the language's. */
#include <lauxlib.h>
#include <string.h>

#include "interp/algebra/bind.h"
#include "interp/launch/launch.h"
#include "interp/launch/launch_joint.h"
#include "interp/launch/watcher.h"
#include "interp/state/fields.h"
#include "runtime/simt/run/simt_access.h"
#include "runtime/watch/timeline.h"
#include "interp/openers.h"

enum { WATCHER = 1, LAUNCH }; /* places on the stack */

static void close_timeline(void *timeline) { ct_timeline_close(timeline); }

static const WatcherKind kind = {
    "timeline record",
    "timeline: launches are already being watched, by check, profile or trace; call it in a run without them",
    close_timeline};

static const Field event_fields[] = {
    FIELD_NAMED("kind", CtTimeEvent, kind, ct_time_kinds), FIELD_AS("line", CtTimeEvent, loc.line),
    FIELD(CtTimeEvent, rank), FIELD(CtTimeEvent, warp), FIELD(CtTimeEvent, n)};
static const Field work_fields[] = {FIELD(CtTimeEvent, global), FIELD(CtTimeEvent, shared)};

static void push_event(lua_State *L, const CtTimeline *t, const CtTimeEvent *e) {
  static const char *const agents[CT_AGENT_COUNT] = {[CT_AGENT_BAR] = "remote",
                                                     [CT_AGENT_WGMMA] = "wgmma",
                                                     [CT_AGENT_BULK] = "bulk",
                                                     [CT_AGENT_UMMA] = "tcgen05"};
  lua_createtable(L, 0, 10);
  FIELDS_SET(L, event_fields, e);
  field_text(L, "chunk", ct_timeline_chunk(t, e->loc.chunk));
  switch ((CtTimeKind)e->kind) {
    case CT_TIME_WORK: FIELDS_SET(L, work_fields, e); break;
    case CT_TIME_ARRIVE:
    case CT_TIME_PASS:
    case CT_TIME_LOAD:
    case CT_TIME_TELL:
    case CT_TIME_SEE:
      field_integer(L, "barrier", (int64_t)e->barrier + 1);
      field_integer(L, "phase", e->phase);
      if (agents[e->agent] != NULL) {
        field_text(L, "agent", agents[e->agent]);
      }
      break;
    case CT_TIME_MARK: break;
    case CT_TIME_MMA:
      field_integer(L, "bits", e->bits);
      field_text(L, "agent", agents[e->agent]);
      break;
    case CT_TIME_STORE:
    case CT_TIME_COMMIT:
    case CT_TIME_WAIT:
    case CT_TIME_KIND_COUNT: field_text(L, "agent", agents[e->agent]); break;
  }
}

static void push_events(lua_State *L, const CtTimeline *t) {
  const CtTimeEvent *events;
  size_t n;
  diag_try(L, ct_timeline_events(t, &events, &n, diag_err(L)));
  lua_createtable(L, (int)n, 0);
  for (size_t i = 0; i < n; i++) {
    push_event(L, t, &events[i]);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
}

static void push_meets(lua_State *L, const CtTimeline *t) {
  static const char *const kinds[] = {"mbarrier", "named", "block", "cluster"};
  static const Field fields[] = {FIELD_NAMED("kind", CtMeet, kind, kinds), FIELD(CtMeet, name),
                                 FIELD(CtMeet, slot), FIELD(CtMeet, rank)};
  size_t n;
  const CtMeet *meets = ct_timeline_meets(t, &n);
  lua_createtable(L, (int)n, 0);
  for (size_t i = 0; i < n; i++) {
    FIELDS_PUSH(L, fields, &meets[i]);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
}

/* Appends events, barriers, rank. */
static void push_results(lua_State *L, const CtTimeline *t) {
  push_events(L, t);
  push_meets(L, t);
  lua_pushinteger(L, ct_timeline_rank(t));
}

static void start(lua_State *L, Watcher *w, const int64_t block[3]) {
  CtTimeline *timeline;
  diag_try(L, ct_timeline_open(w->state->alloc, block, &timeline, diag_err(L)));
  w->tool = timeline;
  watcher_start(w, ct_timeline_watch(timeline));
}

static void read_block(lua_State *L, int table, int64_t block[3]) {
  table = lua_absindex(L, table);
  for (int i = 0; i < 3; i++) {
    lua_rawgeti(L, table, i + 1);
    block[i] = lua_tointeger(L, -1);
    lua_pop(L, 1);
  }
}

/* _watch.timeline(launch, {x, y, z}, args...) -> events, barriers, rank: launches `launch(args...)`, a configuration,
   on the CPU engine, up to the cluster of that block, whose rank there it returns. */
static int timeline(lua_State *L) {
  int64_t block[3];
  luaL_checktype(L, 2, LUA_TTABLE);
  read_block(L, 2, block);
  lua_remove(L, 2);
  Watcher *w = watcher_push(L, &kind, 0);
  lua_insert(L, WATCHER);
  lua_toclose(L, WATCHER);
  start(L, w, block);
  lua_call(L, lua_gettop(L) - LAUNCH, 0);
  watcher_pause(w);
  push_results(L, w->tool);
  return 3;
}

/* --- launches of ranks that run at once ------------------------------------------------------------------- */

#define PART_TYPE "timeline of a rank"
#define FLAGS_TYPE "flags of ranks"

/* A userdata. User value 1: that of the flags, which all launches that run at once have in common; 2: the launch. */
typedef struct Part {
  CtTimeline *timeline;
} Part;

typedef struct Flags {
  CtFlags *flags;
} Flags;

static int part_gc(lua_State *L) {
  Part *p = luaL_checkudata(L, 1, PART_TYPE);
  ct_timeline_close(p->timeline);
  p->timeline = NULL;
  return 0;
}

static int flags_gc(lua_State *L) {
  Flags *f = luaL_checkudata(L, 1, FLAGS_TYPE);
  ct_flags_close(f->flags);
  f->flags = NULL;
  return 0;
}

/* Pushes the flags of the parts in the list at idx, made by its first one. */
static CtFlags *push_flags(lua_State *L, int idx, CtAlloc alloc) {
  if (lua_rawgeti(L, idx, 1) == LUA_TUSERDATA) {
    lua_getiuservalue(L, -1, 1);
    lua_remove(L, -2);
    return ((Flags *)lua_touserdata(L, -1))->flags;
  }
  lua_pop(L, 1);
  Flags *f = lua_newuserdatauv(L, sizeof *f, 0);
  f->flags = ct_flags_open(alloc);
  luaL_setmetatable(L, FLAGS_TYPE);
  if (f->flags == NULL) {
    luaL_error(L, "not enough memory");
  }
  return f->flags;
}

/* Adds a part to the list at idx: of the launch, whose table is on top, at that block. */
static CtTimeline *add_part(lua_State *L, int idx, CuttleState *s, const int64_t block[3]) {
  int launch = lua_gettop(L);
  CtFlags *flags = push_flags(L, idx, s->alloc);
  Part *p = lua_newuserdatauv(L, sizeof *p, 2);
  p->timeline = NULL;
  luaL_setmetatable(L, PART_TYPE);
  diag_try(L, ct_timeline_open(s->alloc, block, &p->timeline, diag_err(L)));
  ct_timeline_run_all(p->timeline);
  ct_timeline_use(p->timeline, flags);
  lua_pushvalue(L, launch + 1);
  lua_setiuservalue(L, -2, 1);
  lua_pushvalue(L, launch);
  lua_setiuservalue(L, -2, 2);
  lua_rawseti(L, idx, (lua_Integer)lua_rawlen(L, idx) + 1);
  lua_settop(L, launch);
  return p->timeline;
}

/* Pushes {launch =, events =, barriers =, rank =} of the part at `idx`; rank: of the block in its cluster. */
static void push_part(lua_State *L, int idx, const CtTimeline *t) {
  lua_createtable(L, 0, 4);
  lua_getiuservalue(L, idx, 2);
  lua_setfield(L, -2, "launch");
  push_events(L, t);
  lua_setfield(L, -2, "events");
  push_meets(L, t);
  lua_setfield(L, -2, "barriers");
  field_integer(L, "rank", ct_timeline_rank(t));
}

/* Pushes the names of flags by number, from 1. */
static void push_names(lua_State *L, const CtFlags *flags) {
  const char *name;
  lua_newtable(L);
  for (uint32_t i = 0; (name = ct_flags_name(flags, i)) != NULL; i++) {
    lua_pushstring(L, name);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
}

/* --- launches of a script --------------------------------------------------------------------------------- */

/* User values of a watcher that is told of launches: functions. Its timeline is that of the launch under way, if
   that is recorded. */
enum { CHOOSE = 1, TAKE, TAKE_RANKS, PARTS };

static const Field kernel_fields[] = {FIELD(Kernel, name), FIELD_AS("file", Kernel, chunk),
                                      FIELD(Kernel, line)};

static const Field config_fields[] = {FIELD(LaunchConfig, grid), FIELD(LaunchConfig, block)};

static void push_launch(lua_State *L, const Launch *l) {
  lua_createtable(L, 0, 7);
  FIELDS_SET(L, kernel_fields, l->args->of);
  field_integer(L, "id", (int64_t)l->spec->id);
  if (l->is_gathered) {
    field_integer(L, "rank", l->state->rank);
  }
  FIELDS_SET(L, config_fields, l->config);
}

/* Records the launch below the block on top: by itself, or as a part of those that run at once. */
static void record(Launch *l, Watcher *w, int parts) {
  lua_State *L = l->L;
  int64_t block[3];
  read_block(L, -1, block);
  lua_pop(L, 1);
  if (l->is_gathered) {
    l->watch = ct_timeline_watch(add_part(L, parts, w->state, block));
    return;
  }
  start(L, w, block);
  ct_timeline_run_all(w->tool);
}

static void on_launch(Launch *l) {
  lua_State *L = l->L;
  int top = lua_gettop(L);
  Watcher *w = watcher_push_told(L, &kind);
  watcher_drop(w); /* of a launch that did not come to its end */
  if (l->is_gathered && launch_joint_is_empty(w->state)) { /* what was dropped did not run */
    lua_newtable(L);
    lua_setiuservalue(L, -2, PARTS);
  }
  if (w->state->taps.watch == NULL) { /* else the script watches this one itself */
    lua_getiuservalue(L, -1, PARTS);
    int parts = lua_gettop(L);
    lua_getiuservalue(L, -2, CHOOSE);
    push_launch(L, l);
    lua_pushvalue(L, -1);
    lua_insert(L, -3); /* the launch stays, below */
    lua_call(L, 1, 1);
    if (lua_istable(L, -1)) {
      record(l, w, parts);
    }
  }
  lua_settop(L, top);
}

static void on_launched(lua_State *L, bool ok) {
  int top = lua_gettop(L);
  Watcher *w = watcher_push_told(L, &kind);
  watcher_pause(w);
  if (w->tool != NULL && ok) {
    lua_getiuservalue(L, -1, TAKE);
    push_results(L, w->tool);
    lua_call(L, 3, 0);
  }
  watcher_drop(w);
  lua_settop(L, top);
}

/* Calls take_ranks with what was recorded of each launch, in the order in which they were made. */
static void on_joint(lua_State *L, bool ok) {
  int top = lua_gettop(L);
  (void)watcher_push_told(L, &kind);
  int session = lua_gettop(L);
  lua_getiuservalue(L, session, PARTS);
  int parts = lua_gettop(L);
  lua_newtable(L);
  lua_setiuservalue(L, session, PARTS);
  lua_Integer n = luaL_len(L, parts);
  if (ok && n > 0) {
    lua_getiuservalue(L, session, TAKE_RANKS);
    lua_createtable(L, (int)n, 0);
    for (lua_Integer i = 1; i <= n; i++) {
      lua_rawgeti(L, parts, i);
      push_part(L, lua_gettop(L), ((Part *)lua_touserdata(L, -1))->timeline);
      lua_remove(L, -2);
      lua_rawseti(L, -2, i);
    }
    push_names(L, push_flags(L, parts, state_of(L)->alloc));
    lua_remove(L, -2); /* the flags */
    lua_call(L, 2, 0);
  }
  lua_settop(L, top);
}

static const WatcherCalls calls = {.before = on_launch, .after = on_launched, .at_once = on_joint};

/* _watch.timeline_begin(choose, take, take_ranks) -> session, to be closed: from now on choose({name, file, line, id, grid, block}) is
   called before each launch on the CPU engine. Where it returns a block, {x, y, z}, take(events, barriers, rank)
   is called after the launch, unless that failed. Launches of ranks that run at once have a rank as well; after them
   take_ranks({{launch =, events =, barriers =, rank =}, ...}, names of flags) is called. */
static int timeline_begin(lua_State *L) {
  Watcher *w = watcher_push_session(L, &kind, TAKE_RANKS, PARTS);
  lua_newtable(L);
  lua_setiuservalue(L, -2, PARTS);
  watcher_tell(L, w, &calls);
  return 1;
}

void bind_open_timeline(lua_State *L) {
  static const luaL_Reg functions[] = {
      {"_watch.timeline", timeline}, {"_watch.timeline_begin", timeline_begin}, {NULL, NULL}};
  static const luaL_Reg part_meta[] = {{"__gc", part_gc}, {NULL, NULL}};
  static const luaL_Reg flags_meta[] = {{"__gc", flags_gc}, {NULL, NULL}};
  bind_new_type(L, PART_TYPE, part_meta, NULL);
  bind_new_type(L, FLAGS_TYPE, flags_meta, NULL);
  watcher_new_type(L, &kind, NULL);
  luaL_setfuncs(L, functions, 0);
}
