/* bind_graph.c: graph(fn, ...): what fn launches, recorded once and launched again and again. */
#include <lauxlib.h>

#include "interp/algebra/bind.h"
#include "interp/openers.h"
#include "interp/state/diag.h"
#include "interp/trace/front.h"
#include "launch_graph.h"

#define GRAPH_TYPE "graph"

/* A userdata. User value 1: the function; 2: a table of its arguments; 3: the table of GraphParts. */
typedef struct Graph {
  GraphParts parts;
  CtGraph *exec; /* on a device */
  int n_args;
  bool is_open, is_recording;
} Graph;

enum { USER_FN = 1, USER_ARGS, USER_KEPT };

static Graph *check_graph(lua_State *L) {
  Graph *g = luaL_testudata(L, 1, GRAPH_TYPE);
  if (g == NULL) {
    diag_error(L, "a graph was expected, got %s", diag_push_kind(L, 1));
  }
  if (!g->is_open) {
    diag_error(L, "the graph is closed");
  }
  return g;
}

/* {====== Recording ====== */

typedef struct Recording {
  GraphParts parts;
  bool collects; /* the collector ran before */
} Recording;

static void begin(lua_State *L, Recording *rec, CtDevice *device) {
  CuttleState *s = state_of(L);
  rec->parts = (GraphParts){.recorder = {.state = s, .device = device, .rank = s->rank}};
  lua_newtable(L);
  lua_setfield(L, LUA_REGISTRYINDEX, GRAPH_RECORDING);
  rec->collects = false;
  if (device != NULL) {
    diag_try(L, ct_graph_begin(device, diag_err(L)));
    /* Finalizers unload modules, which waits for what runs. */
    rec->collects = lua_gc(L, LUA_GCISRUNNING) != 0;
    lua_gc(L, LUA_GCSTOP);
  }
  s->recorder = &rec->parts.recorder;
}

static void end(lua_State *L, const Recording *rec) {
  state_of(L)->recorder = NULL;
  if (rec->collects) {
    lua_gc(L, LUA_GCRESTART);
  }
}

/* Gives up what was recorded, and raises the error at the top. */
static int fail(lua_State *L, Graph *g, Recording *rec) {
  end(L, rec);
  g->is_recording = false;
  if (rec->parts.recorder.device != NULL) {
    ct_graph_drop(rec->parts.recorder.device);
  }
  launch_parts_clear(&rec->parts);
  lua_pushnil(L);
  lua_setfield(L, LUA_REGISTRYINDEX, GRAPH_RECORDING);
  return lua_error(L);
}

static int check_recorded(lua_State *L) {
  const StateRecorder *r = lua_touserdata(L, 1);
  if (r->n_launches + r->n_copies + r->n_collectives == 0) {
    return diag_error(L,
                      "graph: the function launched nothing; launch kernels in it, on %s, the "
                      "device that was current when it began",
                      launch_push_device(L, r->device));
  }
  return 0;
}

/* Calls the function below n arguments, recording. The graph takes what was recorded; else it stays as it was. */
static void record(lua_State *L, Graph *g, CtDevice *device, int n) {
  Recording rec;
  CtErr err;
  begin(L, &rec, device);
  g->is_recording = true;
  if (lua_pcall(L, n, 0, 0) != LUA_OK) {
    fail(L, g, &rec);
  }
  lua_pushcfunction(L, check_recorded);
  lua_pushlightuserdata(L, &rec.parts.recorder);
  if (lua_pcall(L, 1, 0, 0) != LUA_OK) {
    fail(L, g, &rec);
  }
  end(L, &rec);
  g->is_recording = false;
  CtStatus status = device == NULL ? CT_OK : ct_graph_end(device, &g->exec, &err);
  if (status != CT_OK) {
    launch_parts_clear(&rec.parts);
    diag_raise(L, &err);
  }
  GraphParts old = g->parts;
  g->parts = rec.parts;
  launch_parts_clear(&old);
}

/* After a recording: the graph at `graph` keeps its table. */
static void keep_table(lua_State *L, int graph) {
  lua_getfield(L, LUA_REGISTRYINDEX, GRAPH_RECORDING);
  lua_setiuservalue(L, graph, USER_KEPT);
  lua_pushnil(L);
  lua_setfield(L, LUA_REGISTRYINDEX, GRAPH_RECORDING);
}

static void keep_args(lua_State *L, int graph, int first, int n) {
  lua_createtable(L, n, 0);
  for (int i = 0; i < n; i++) {
    lua_pushvalue(L, first + i);
    lua_rawseti(L, -2, i + 1);
  }
  lua_setiuservalue(L, graph, USER_ARGS);
}

static void check_outside(lua_State *L) {
  if (front_is_tracing(L)) {
    diag_error(L, "graph: a kernel cannot make or launch a graph; do it on the host");
  }
  if (state_of(L)->recorder != NULL) {
    diag_error(L, "graph: a graph cannot be made or launched while another one is recorded; call "
                  "the function with the launches instead");
  }
}

/* graph(fn, ...): records fn(...). */
static int lang_graph(lua_State *L) {
  CuttleState *s = state_of(L);
  CtDevice *device;
  int n = lua_gettop(L) - 1;
  if (!lua_isfunction(L, 1)) {
    return diag_error(L,
                      "graph: argument 1 is %s; expected a function that launches kernels, as in "
                      "graph(function() k{grid = ..., block = ...}(x) end)",
                      diag_push_kind(L, 1));
  }
  check_outside(L);
  diag_try(L, state_device(s, &device, diag_err(L)));
  state_await_device(L, device);
  luaL_checkstack(L, n + 8, "too many arguments");
  Graph *g = lua_newuserdatauv(L, sizeof *g, USER_KEPT);
  int self = lua_gettop(L);
  *g = (Graph){.parts = {.recorder = {.state = s, .device = device}}, .n_args = n, .is_open = true};
  luaL_setmetatable(L, GRAPH_TYPE);
  lua_pushvalue(L, 1);
  lua_setiuservalue(L, self, USER_FN);
  keep_args(L, self, 2, n);
  for (int i = 0; i <= n; i++) {
    lua_pushvalue(L, 1 + i);
  }
  record(L, g, device, n);
  keep_table(L, self);
  return 1;
}

/* {====== Launching ====== */

/* A table may hold other values by now. */
static bool is_same(lua_State *L, int a, int b) {
  return !lua_istable(L, a) && lua_rawequal(L, a, b) && lua_isinteger(L, a) == lua_isinteger(L, b);
}

static bool has_args(lua_State *L, int n) {
  bool same = true;
  lua_getiuservalue(L, 1, USER_ARGS);
  for (int i = 0; i < n && same; i++) {
    lua_rawgeti(L, -1, i + 1);
    same = is_same(L, -1, i + 2);
    lua_pop(L, 1);
  }
  lua_pop(L, 1);
  return same;
}

/* Records the function again, with the arguments of this call. */
static void record_again(lua_State *L, Graph *g, int n) {
  luaL_checkstack(L, n + 8, "too many arguments");
  lua_getiuservalue(L, 1, USER_FN);
  for (int i = 0; i < n; i++) {
    lua_pushvalue(L, 2 + i);
  }
  record(L, g, g->parts.recorder.device, n);
  keep_table(L, 1);
  keep_args(L, 1, 2, n);
}

static void run_step(lua_State *L, const StateStep *step) {
  if (step->kind == STATE_LAUNCH) {
    launch_replay(L, 2, step->launch);
    return;
  }
  state_await(L, step->dst);
  if (step->src != NULL) {
    state_await(L, step->src);
  }
  diag_try(L, recorder_run(step, diag_err(L)));
}

/* While a call waited, others may have used the graph. Its table is at 2. */
static void check_unchanged(lua_State *L, const Graph *g) {
  lua_getiuservalue(L, 1, USER_KEPT);
  if (!g->is_open || !lua_rawequal(L, 2, -1)) {
    diag_error(L, "graph: it was closed or recorded anew while a collective of it waited; make a "
                  "graph for each rank");
  }
  lua_pop(L, 1);
}

/* On the CPU engine, from step `at` on. A call may wait: in a coroutine it yields, and the steps go on after it. */
static int run_steps(lua_State *L, int status, lua_KContext at) {
  const Graph *g = lua_touserdata(L, 1);
  const StateRecorder *r = &g->parts.recorder;
  check_unchanged(L, g);
  for (size_t i = (size_t)at; i < r->n_steps; i++) {
    if (r->steps[i].kind == STATE_CALL) {
      lua_rawgeti(L, 2, -r->steps[i].launch);
      lua_callk(L, 0, 0, (lua_KContext)i + 1, run_steps);
      check_unchanged(L, g);
    } else {
      run_step(L, &r->steps[i]);
    }
  }
  (void)status;
  return 0;
}

/* On a device calls come before and after the launch of the whole. */
static void run_calls(lua_State *L, const Graph *g, bool is_before) {
  const StateRecorder *r = &g->parts.recorder;
  for (size_t i = 0; i < r->n_steps; i++) {
    lua_rawgeti(L, 2, -r->steps[i].launch);
    lua_pushboolean(L, is_before);
    lua_call(L, 1, 0);
  }
}

static void launch(lua_State *L, const Graph *g) {
  run_calls(L, g, true);
  recorder_use(&g->parts.recorder);
  diag_try(L, ct_graph_launch(g->exec, diag_err(L)));
  run_calls(L, g, false);
}

/* g(...): launches it; with other arguments than before, it is recorded anew first. */
static int graph_call(lua_State *L) {
  Graph *g = check_graph(L);
  int n = lua_gettop(L) - 1;
  check_outside(L);
  state_await_device(L, g->parts.recorder.device);
  if (n != 0 && n != g->n_args) {
    return diag_error(L,
                      "graph: called with %d arguments; it was made with %d, so give as many, or "
                      "none to launch it with the last ones",
                      n, g->n_args);
  }
  if (n != 0 && !has_args(L, n)) {
    record_again(L, g, n);
  }
  lua_settop(L, 1);
  lua_getiuservalue(L, 1, USER_KEPT);
  if (g->exec == NULL) {
    return run_steps(L, LUA_OK, 0);
  }
  launch(L, g);
  return 0;
}

static int graph_close(lua_State *L) {
  Graph *g = luaL_checkudata(L, 1, GRAPH_TYPE);
  if (g->is_recording) {
    return diag_error(L,
                      "graph: the function that the graph records closes it; close it afterwards");
  }
  if (g->is_open) {
    g->is_open = false;
    ct_graph_free(g->exec);
    launch_parts_clear(&g->parts);
  }
  return 0;
}

typedef struct Count {
  int n;
  const char *one, *many;
} Count;

/* "3 launches, 1 copy and 1 collective"; the first always. */
static void push_counts(lua_State *L, const Count *counts, int n) {
  int top = lua_gettop(L), last = 0;
  for (int i = 1; i < n; i++) {
    last = counts[i].n > 0 ? i : last;
  }
  for (int i = 0; i < n; i++) {
    if (i == 0 || counts[i].n > 0) {
      lua_pushstring(L, i == 0 ? "" : i == last ? " and " : ", ");
      lua_pushfstring(L, "%d %s", counts[i].n, counts[i].n == 1 ? counts[i].one : counts[i].many);
    }
  }
  lua_concat(L, lua_gettop(L) - top);
}

static int graph_tostring(lua_State *L) {
  const Graph *g = luaL_checkudata(L, 1, GRAPH_TYPE);
  const StateRecorder *r = &g->parts.recorder;
  if (!g->is_open) {
    lua_pushliteral(L, "graph (closed)");
    return 1;
  }
  const Count counts[] = {{r->n_launches, "launch", "launches"},
                          {r->n_copies, "copy", "copies"},
                          {r->n_collectives, "collective", "collectives"}};
  lua_pushliteral(L, "graph of ");
  push_counts(L, counts, CT_ARRAY_LEN(counts));
  lua_pushliteral(L, " on ");
  launch_push_device(L, r->device);
  lua_concat(L, lua_gettop(L) - 1);
  return 1;
}

/* {====== What else a graph records ====== */

/* _graph_recording(): the table of the graph that is being recorded, and the rank that began it or -1; nil: none is. */
static int lang_recording(lua_State *L) {
  const StateRecorder *r = state_of(L)->recorder;
  if (r == NULL) {
    return 0;
  }
  lua_getfield(L, LUA_REGISTRYINDEX, GRAPH_RECORDING);
  lua_pushinteger(L, r->rank);
  return 2;
}

/* _graph_note(fn): a collective is recorded. On the CPU engine fn() does it again; on a device fn(true) comes before
   each launch of the graph, fn(false) after it; nil: nothing does. */
static int lang_note(lua_State *L) {
  StateRecorder *r = state_of(L)->recorder;
  if (r == NULL) {
    return luaL_error(L, "no graph is recorded");
  }
  r->n_collectives++;
  if (lua_isnoneornil(L, 1)) {
    return 0;
  }
  StateStep step = {.kind = STATE_CALL, .launch = r->n_collectives};
  lua_getfield(L, LUA_REGISTRYINDEX, GRAPH_RECORDING);
  lua_pushvalue(L, 1);
  lua_rawseti(L, -2, -step.launch);
  diag_try(L, recorder_step(r, step, diag_err(L)));
  return 0;
}

/* {====== Registration ====== */

static const luaL_Reg graph_meta[] = {{"__call", graph_call},
                                      {"__gc", graph_close},
                                      {"__close", graph_close},
                                      {"__tostring", graph_tostring},
                                      {NULL, NULL}};
static const luaL_Reg graph_methods[] = {{"close", graph_close}, {NULL, NULL}};

void bind_open_graph(lua_State *L) {
  bind_new_type(L, GRAPH_TYPE, graph_meta, graph_methods);
  lua_pushcfunction(L, lang_graph);
  lua_setfield(L, -2, "graph");
  lua_pushcfunction(L, lang_recording);
  lua_setfield(L, -2, "_graph_recording");
  lua_pushcfunction(L, lang_note);
  lua_setfield(L, -2, "_graph_note");
}
