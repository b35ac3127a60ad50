/* graph_run.c: launches what a graph recorded: on the CPU engine step by step, on devices by the driver. */
#include "launch_graph.h"

#include <lauxlib.h>

#include "interp/state/diag.h"
#include "launch_joint.h"

const KeptLaunch *graph_read_kept(lua_State *L, int launches, int i, LaunchArgs *args) {
  int top = lua_gettop(L);
  lua_rawgeti(L, launches, i);
  lua_rawgeti(L, -1, 1);
  const KeptLaunch *launch = lua_touserdata(L, -1);
  luaL_checkstack(L, launch->n_args + 16, "too many arguments");
  for (int k = 0; k <= launch->n_args; k++) {
    lua_rawgeti(L, top + 1, k + 2);
  }
  launch_read(L, top + 3, top + 4, launch->n_args, &launch->config, args);
  return launch;
}

/* Carries out launch number i of the table at `launches`. Raises. */
static void relaunch(lua_State *L, int launches, int i) {
  CuttleState *s = state_of(L);
  int top = lua_gettop(L);
  LaunchArgs args;
  const KeptLaunch *launch = graph_read_kept(L, launches, i, &args);
  const CtIr *ir = &launch->spec->ir;
  bool is_same = (args.notes != LAUNCH_NO_NOTES) == ir->is_checked &&
                 (args.notes == LAUNCH_NOTES_OF_OVERFLOW) == ir->finds_overflow;
  Spec *spec = is_same ? launch->spec : launch_spec(L, top + 3, &launch->config, &args);
  launch_settle(&args, &spec->ir);
  int rank = s->rank;
  if (launch->rank >= 0) {
    s->rank = launch->rank; /* joint_guard or m:run set it anew where this raises */
  }
  Launch l;
  launch_set(&l, L, top + 3, &launch->config, &args, spec, launch->n);
  launch_run(&l);
  s->rank = rank;
  lua_settop(L, top);
}

/* A step of streams and events. */
static CtStatus run_order(CuttleState *s, const StateStep *step, CtErr *err) {
  uint32_t stream = (uint32_t)step->launch, event = (uint32_t)step->byte;
  return step->kind == STATE_RECORD ? order_record(&s->taps.order, s->alloc, event, stream, err)
         : step->kind == STATE_WAIT ? order_wait(&s->taps.order, s->alloc, stream, event, err)
                                    : order_begin_branch(&s->taps.order, s->alloc, stream, err);
}

static void run_step(lua_State *L, const StateStep *step) {
  if (step->kind == STATE_LAUNCH) {
    relaunch(L, 2, step->launch);
    return;
  }
  if (step->kind == STATE_MEET) {
    launch_joint_run(L);
    return;
  }
  if (step->kind >= STATE_RECORD) {
    diag_try(L, run_order(state_of(L), step, diag_err(L)));
    return;
  }
  state_await(L, step->dst);
  if (step->src != NULL) {
    state_await(L, step->src);
  }
  diag_try(L, recorder_run(step, diag_err(L)));
}

/* What comes after the graph comes after its branches. */
static void end_branches(lua_State *L, const StateRecorder *r) {
  CuttleState *s = r->state;
  for (size_t i = 0; i < r->n_steps; i++) {
    if (r->steps[i].kind == STATE_BRANCH) {
      diag_try(
          L, order_end_branch(&s->taps.order, s->alloc, (uint32_t)r->steps[i].launch, diag_err(L)));
    }
  }
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
  const StateRecorder *r = &g->head->recorder;
  check_unchanged(L, g);
  if (at == 0) {
    diag_try(L, order_begin_graph(&r->state->taps.order, r->state->alloc, diag_err(L)));
  }
  for (size_t i = (size_t)at; i < r->n_steps; i++) {
    if (r->steps[i].kind == STATE_CALL) {
      lua_rawgeti(L, 2, -r->steps[i].launch);
      lua_callk(L, 0, 0, (lua_KContext)i + 1, run_steps);
      check_unchanged(L, g);
    } else {
      run_step(L, &r->steps[i]);
    }
  }
  end_branches(L, r);
  (void)status;
  return 0;
}

static int run_from_first(lua_State *L) { return run_steps(L, LUA_OK, 0); }

/* Of all ranks, or of none, outside of m:run. However it ends, no rank runs then, and no launch waits. */
static void run_ranks(lua_State *L, CuttleState *s) {
  lua_pushcfunction(L, run_from_first);
  lua_insert(L, 1);
  int status = lua_pcall(L, 2, 0, 0);
  s->rank = -1;
  if (status != LUA_OK) {
    launch_joint_drop(s);
    lua_error(L);
  }
}

/* On a device calls come before and after the launch of the whole. */
static void run_calls(lua_State *L, const StateRecorder *r, bool is_before) {
  for (size_t i = 0; i < r->n_steps; i++) {
    lua_rawgeti(L, 2, -r->steps[i].launch);
    lua_pushboolean(L, is_before);
    lua_call(L, 1, 0);
  }
}

/* Parts may wait for each other. They have been made ready, so each launch of one returns at once. */
static void launch(lua_State *L, const Graph *g) {
  const StateRecorder *head = &g->head->recorder;
  run_calls(L, head, true);
  for (const GraphParts *p = g->head; p != NULL; p = graph_next_part(p)) {
    if (p->exec != NULL) {
      recorder_use(&p->recorder);
      diag_try(L, ct_graph_launch(p->exec, diag_err(L)));
    }
  }
  run_calls(L, head, false);
}

void graph_await_devices(lua_State *L, const Graph *g) {
  for (const GraphParts *p = g->head; p != NULL; p = graph_next_part(p)) {
    state_await_device(L, p->recorder.device);
  }
}

int graph_run(lua_State *L, const Graph *g) {
  if (g->device != NULL) {
    launch(L, g);
  } else if (g->rank >= 0 || g->state->rank >= 0) {
    return run_steps(L, LUA_OK, 0);
  } else {
    run_ranks(L, g->state);
  }
  return 0;
}
