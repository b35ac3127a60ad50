/* bind_graph.c: graph(fn, ...): what fn launches, recorded once and launched again and again. */
#include <lauxlib.h>

#include "interp/algebra/bind.h"
#include "interp/openers.h"
#include "interp/state/diag.h"
#include "interp/trace/front.h"
#include "interp/state/fields.h"
#include "launch_capture.h"
#include "launch_graph.h"
#include "launch_joint.h"

#define GRAPH_TYPE "graph"

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

/* {====== Parts ====== */

static void free_parts(GraphParts *head) {
  while (head != NULL) {
    GraphParts *next = graph_next_part(head);
    CtAlloc alloc = head->recorder.state->alloc;
    launch_parts_clear(head);
    ct_free(alloc, head, sizeof *head);
    head = next;
  }
}

static CtStatus extend(StateRecorder *head, CtDevice *device, CtErr *err);

static GraphParts *new_part(CuttleState *s, CtDevice *device, CtErr *err) {
  GraphParts *p = ct_alloc(s->alloc, sizeof *p);
  if (p == NULL) {
    ct_fail_nomem(err);
    return NULL;
  }
  *p = (GraphParts){.recorder = {.state = s, .device = device, .rank = s->rank, .extend = extend}};
  if (device != NULL && ct_graph_begin(device, err) != CT_OK) {
    ct_free(s->alloc, p, sizeof *p);
    return NULL;
  }
  return p;
}

static CtStatus extend(StateRecorder *head, CtDevice *device, CtErr *err) {
  GraphParts *p = new_part(head->state, device, err);
  if (p == NULL) {
    return CT_EDEVICE;
  }
  p->recorder.rank = head->rank;
  p->recorder.next = head->next;
  head->next = &p->recorder;
  return CT_OK;
}

/* {====== Recording ====== */

/* Returns the head, and whether the collector ran before. */
static GraphParts *begin(lua_State *L, CtDevice *device, bool *collects) {
  CuttleState *s = state_of(L);
  lua_newtable(L);
  lua_setfield(L, LUA_REGISTRYINDEX, GRAPH_RECORDING);
  GraphParts *head = new_part(s, device, diag_err(L)); /* from here on nothing raises */
  if (head == NULL) {
    diag_raise(L, diag_err(L));
    return NULL;
  }
  head->recorder.is_one_of_many = s->rank >= 0 && s->n_ranks > 1 && device != NULL;
  *collects = false;
  if (device != NULL) {
    /* Finalizers unload modules, which waits for what runs. */
    *collects = lua_gc(L, LUA_GCISRUNNING) != 0;
    lua_gc(L, LUA_GCSTOP);
  }
  s->taps.recorder = &head->recorder;
  return head;
}

static void end(lua_State *L, bool collects) {
  state_of(L)->taps.recorder = NULL;
  if (collects) {
    lua_gc(L, LUA_GCRESTART);
  }
}

static void close_graph(Graph *g) {
  g->is_open = false;
  free_parts(g->head);
  g->head = NULL;
}

static void drop_parts(GraphParts *head) {
  for (GraphParts *p = head; p != NULL; p = graph_next_part(p)) {
    if (p->recorder.device != NULL) {
      ct_graph_drop(p->recorder.device);
    }
  }
  free_parts(head);
}

/* Gives up what was recorded, and raises the error at the top. */
static int fail(lua_State *L, Graph *g, GraphParts *head, bool collects) {
  end(L, collects);
  g->is_recording = false;
  drop_parts(head);
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

/* What the driver knows of the same device from before can be updated. */
static CtGraph *take_exec(GraphParts *old, const CtDevice *device) {
  CtGraph *exec = NULL;
  for (GraphParts *p = old; p != NULL && exec == NULL; p = graph_next_part(p)) {
    if (p->recorder.device == device) {
      exec = p->exec;
      p->exec = NULL;
    }
  }
  return exec;
}

/* Of a device that was given nothing there is no graph. A failure leaves the old part of that device as it was. */
static CtStatus end_part(GraphParts *p, GraphParts *old, CtErr *err) {
  CtDevice *device = p->recorder.device;
  if (!p->recorder.is_used) {
    ct_graph_drop(device);
    return CT_OK;
  }
  p->exec = take_exec(old, device);
  CtStatus status = ct_graph_end(device, &p->exec, err);
  if (status != CT_OK && old != NULL) {
    for (GraphParts *q = old; q != NULL; q = graph_next_part(q)) {
      if (q->recorder.device == device) {
        q->exec = p->exec;
        p->exec = NULL;
      }
    }
  }
  return status;
}

static CtStatus end_parts(GraphParts *head, GraphParts *old, CtErr *err) {
  CtStatus status = CT_OK;
  for (GraphParts *p = head; p != NULL && status == CT_OK; p = graph_next_part(p)) {
    status = p->recorder.device == NULL ? CT_OK : end_part(p, old, err);
  }
  return status;
}

/* Calls the function below n arguments, recording. The graph takes what was recorded; else it stays as it was. Where
   the driver refuses one of several parts, others are new already: then the graph is closed. */
static void record(lua_State *L, Graph *g, int n) {
  CtErr err;
  bool collects;
  GraphParts *head = begin(L, g->device, &collects);
  g->is_recording = true;
  if (lua_pcall(L, n, 0, 0) != LUA_OK) {
    fail(L, g, head, collects);
  }
  lua_pushcfunction(L, check_recorded);
  lua_pushlightuserdata(L, &head->recorder);
  if (lua_pcall(L, 1, 0, 0) != LUA_OK) {
    fail(L, g, head, collects);
  }
  end(L, collects);
  g->is_recording = false;
  if (end_parts(head, g->head, &err) != CT_OK) {
    drop_parts(head);
    if (g->head != NULL && graph_next_part(g->head) != NULL) {
      close_graph(g);
    }
    diag_raise(L, &err);
  }
  GraphParts *old = g->head;
  g->head = head;
  free_parts(old);
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
  if (state_of(L)->taps.recorder != NULL) {
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
  *g = (Graph){.state = s, .device = device, .rank = s->rank, .n_args = n, .is_open = true};
  luaL_setmetatable(L, GRAPH_TYPE);
  lua_pushvalue(L, 1);
  lua_setiuservalue(L, self, USER_FN);
  keep_args(L, self, 2, n);
  for (int i = 0; i <= n; i++) {
    lua_pushvalue(L, 1 + i);
  }
  record(L, g, n);
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
  record(L, g, n);
  keep_table(L, 1);
  keep_args(L, 1, 2, n);
}

/* g(...): launches it; with other arguments than before, it is recorded anew first. */
static int graph_call(lua_State *L) {
  Graph *g = check_graph(L);
  int n = lua_gettop(L) - 1;
  check_outside(L);
  graph_await_devices(L, g);
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
  return graph_run(L, g);
}

static int graph_close(lua_State *L) {
  Graph *g = luaL_checkudata(L, 1, GRAPH_TYPE);
  if (g->is_recording) {
    return diag_error(L,
                      "graph: the function that the graph records closes it; close it afterwards");
  }
  if (g->is_open) {
    close_graph(g);
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
  if (!g->is_open || g->head == NULL) {
    lua_pushliteral(L, "graph (closed)");
    return 1;
  }
  const StateRecorder *r = &g->head->recorder;
  int n_devices = 0;
  for (const GraphParts *p = g->head; p != NULL; p = graph_next_part(p)) {
    n_devices += p->exec != NULL;
  }
  const Count counts[] = {{r->n_launches, "launch", "launches"},
                          {r->n_copies, "copy", "copies"},
                          {r->n_collectives, "collective", "collectives"}};
  lua_pushliteral(L, "graph of ");
  push_counts(L, counts, CT_ARRAY_LEN(counts));
  lua_pushliteral(L, " on ");
  if (n_devices > 1) {
    lua_pushfstring(L, "%d devices", n_devices);
  } else {
    launch_push_device(L, r->device);
  }
  lua_concat(L, lua_gettop(L) - 1);
  return 1;
}

/* {====== What else a graph records ====== */

/* _launch.graph_recording(): the table of the graph that is being recorded, and the rank that began it or -1; nil: none is. */
static int lang_recording(lua_State *L) {
  const StateRecorder *r = state_of(L)->taps.recorder;
  if (r == NULL) {
    return 0;
  }
  lua_getfield(L, LUA_REGISTRYINDEX, GRAPH_RECORDING);
  lua_pushinteger(L, r->rank);
  return 2;
}

/* _mesh.graph_note(fn): a collective is recorded. On the CPU engine fn() does it again; on a device fn(true) comes before
   each launch of the graph, fn(false) after it; nil: nothing does. */
static int lang_note(lua_State *L) {
  StateRecorder *r = state_of(L)->taps.recorder;
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

/* _mesh.graph_meet(): on the CPU engine, what ranks have launched so far runs before what follows. */
static int lang_meet(lua_State *L) {
  StateRecorder *r = state_of(L)->taps.recorder;
  if (r != NULL && r->device == NULL) {
    diag_try(L, recorder_step(r, (StateStep){.kind = STATE_MEET}, diag_err(L)));
  }
  return 0;
}

/* {====== Registration ====== */

static const luaL_Reg graph_meta[] = {{"__call", graph_call},
                                      {"__gc", graph_close},
                                      {"__close", graph_close},
                                      {"__tostring", graph_tostring},
                                      {NULL, NULL}};
static const luaL_Reg graph_methods[] = {{"close", graph_close}, {NULL, NULL}};

/* {====== Steps ====== */

static void push_address(lua_State *L, const char *name, const CtStorage *s, size_t at) {
  field_integer(L, name, (int64_t)((uintptr_t)s->host + at));
}

/* Into the table at the top: what the launch's file would hold, its spans and its stream. */
static void add_captured(lua_State *L, int launches, int i, bool with_data) {
  int top = lua_gettop(L);
  LaunchArgs args;
  const KeptLaunch *launch = graph_read_kept(L, launches, i, &args);
  launch_capture_push(L, &(LaunchCaptured){.kernel = top + 3,
                                           .config = &launch->config,
                                           .args = &args,
                                           .why = "capture of a graph",
                                           .with_data = with_data});
  lua_setfield(L, top, "spans");
  lua_setfield(L, top, "file");
  lua_settop(L, top);
  field_integer(L, "stream", launch->config.cpu_stream);
}

static const char *const step_kinds[] = {
    [STATE_LAUNCH] = "launch", [STATE_COPY] = "copy",     [STATE_SET] = "set",
    [STATE_CALL] = "call",     [STATE_MEET] = "meet",     [STATE_RECORD] = "record",
    [STATE_WAIT] = "wait",     [STATE_BRANCH] = "branch",
};

static void push_step(lua_State *L, int launches, const StateStep *step, bool with_data) {
  lua_createtable(L, 0, 6);
  field_text(L, "kind", step_kinds[step->kind]);
  if (step->kind == STATE_LAUNCH) {
    add_captured(L, launches, step->launch, with_data);
  } else if (step->kind == STATE_COPY || step->kind == STATE_SET) {
    push_address(L, "to", step->dst, step->dst_at);
    field_integer(L, "bytes", (int64_t)step->bytes);
    field_integer(L, "byte", step->byte);
    if (step->src != NULL) {
      push_address(L, "from", step->src, step->src_at);
      if (with_data) {
        lua_pushlstring(L, (const char *)step->src->host + step->src_at, step->bytes);
        lua_setfield(L, -2, "data");
      }
    }
  } else {
    field_integer(L, "stream", step->launch);
    field_integer(L, "event", step->byte);
  }
}

/* _watch.graph_steps(graph, with_data): a list of {kind =, file =, spans =, stream =, event =, to =, from =, bytes =,
   data =}; nil: it was recorded on a device. */
static int graph_steps(lua_State *L) {
  const Graph *g = check_graph(L);
  bool with_data = lua_toboolean(L, 2) != 0;
  const StateRecorder *r = &g->head->recorder;
  if (r->device != NULL) {
    return 0;
  }
  lua_settop(L, 1);
  lua_getiuservalue(L, 1, USER_KEPT);
  lua_createtable(L, (int)r->n_steps, 0);
  for (size_t i = 0; i < r->n_steps; i++) {
    push_step(L, 2, &r->steps[i], with_data);
    lua_rawseti(L, 3, (lua_Integer)i + 1);
  }
  return 1;
}

void bind_open_graph(lua_State *L) {
  static const luaL_Reg functions[] = {{"graph", lang_graph},
                                       {"_launch.graph_recording", lang_recording},
                                       {"_watch.graph_steps", graph_steps},
                                       {"_mesh.graph_note", lang_note},
                                       {"_mesh.graph_meet", lang_meet},
                                       {NULL, NULL}};
  bind_new_type(L, GRAPH_TYPE, graph_meta, graph_methods);
  luaL_setfuncs(L, functions, 0);
}
