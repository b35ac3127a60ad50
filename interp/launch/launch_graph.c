/* launch_graph.c: a launch as a part of a graph. On a device it is enqueued, and the driver records it. For
   the CPU engine the kernel and the arguments are kept: tensors as tensors of the graph's own, tables as
   copies, so that the script may change and close what it passed. */
#include "launch_graph.h"

#include <lauxlib.h>

#include "interp/algebra/bind.h"
#include "launch_joint.h"
#include "launch_key.h"
#include "launch_list.h"

typedef struct KeptLaunch {
  LaunchConfig config;
  Spec *spec; /* of the graph */
  int64_t n;
  int n_args;
  int rank; /* of m:run, or -1 */
} KeptLaunch;

/* {====== What the graph keeps ====== */

static CtStatus keep_spec(GraphParts *p, Spec *spec, CtErr *err) {
  CtStatus status = ct_grow(p->recorder.state->alloc, &p->specs, &p->cap_specs, p->n_specs + 1,
                            sizeof *p->specs, err);
  if (status == CT_OK) {
    spec->n_refs++;
    p->specs[p->n_specs++] = spec;
  }
  return status;
}

static CtStatus hold_args(StateRecorder *r, const LaunchArgs *a, CtErr *err) {
  CtStatus status = CT_OK;
  for (int i = 0; i < a->n && status == CT_OK; i++) {
    if (a->args[i].kind == ARG_TENSOR) {
      status = recorder_hold(r, a->args[i].tensor->storage, err);
    } else if (a->args[i].kind == ARG_LIST) {
      status = launch_list_hold(a->args[i].list, r, err);
    }
  }
  return status;
}

void launch_parts_clear(GraphParts *p) {
  CuttleState *s = p->recorder.state;
  ct_graph_free(p->exec);
  p->exec = NULL;
  for (size_t i = 0; i < p->n_specs; i++) {
    spec_free(s, p->specs[i]);
  }
  ct_free(s->alloc, p->specs, p->cap_specs * sizeof(Spec *));
  p->specs = NULL;
  p->n_specs = p->cap_specs = 0;
  recorder_clear(&p->recorder);
}

void launch_record_anchor(lua_State *L, int idx) {
  lua_pushvalue(L, idx);
  lua_getfield(L, LUA_REGISTRYINDEX, GRAPH_RECORDING);
  lua_insert(L, -2);
  lua_pushboolean(L, 1);
  lua_rawset(L, -3);
  lua_pop(L, 1);
}

/* Puts the launch into the table of the graph, as number i. */
static void keep_launch(lua_State *L, int kernel, const KeptLaunch *launch, int first, int i) {
  lua_getfield(L, LUA_REGISTRYINDEX, GRAPH_RECORDING);
  lua_createtable(L, launch->n_args + 2, 0);
  KeptLaunch *kept = lua_newuserdatauv(L, sizeof *kept, 0);
  *kept = *launch;
  lua_rawseti(L, -2, 1);
  lua_pushvalue(L, kernel);
  lua_rawseti(L, -2, 2);
  for (int k = 0; k < launch->n_args; k++) {
    launch_push_copy(L, first + k, launch_push_tensor, NULL);
    lua_rawseti(L, -2, k + 3);
  }
  lua_rawseti(L, -2, i);
  lua_pop(L, 1);
}

/* {====== Recording ====== */

static void check_record(lua_State *L, const Kernel *k, const StateRecorder *r,
                         const LaunchConfig *c, const LaunchArgs *a, const Spec *spec) {
  if ((a->device == NULL) != (r->device == NULL) || (a->device != r->device && r->rank >= 0)) {
    diag_error(L, "%s: launched on %s while a graph of %s is recorded; %s", k->name,
               launch_push_device(L, a->device), launch_push_device(L, r->device),
               r->rank >= 0 ? "the graph of a rank has one device"
                            : "a graph is of the CPU engine or of devices");
  }
  if (r->is_one_of_many && launch_joint_may_wait(a, spec)) {
    diag_error(L,
               "graph: %s may wait for another rank, whose launches would have to be ready before "
               "this one begins; record all ranks at once: graph(function() m:run(...) end)",
               k->name);
  }
  if (spec->ir.n_prints > 0) {
    diag_error(
        L,
        "graph: %s has a printf, which is read after each launch, so no graph can record it; "
        "leave the printf out, or launch the kernel outside the graph",
        k->name);
  }
  if (c->check) {
    diag_error(
        L,
        "graph: %s is launched with check, which looks at each launch when it is over; check "
        "the launch outside the graph, or run the script under 'cuttle check'",
        k->name);
  }
}

void launch_record(lua_State *L, int kernel, const LaunchConfig *config, LaunchArgs *args,
                   Spec *spec, int64_t n) {
  const Kernel *k = args->of;
  StateRecorder *r = k->state->recorder, *part = NULL;
  CtErr err;
  check_record(L, k, r, config, args, spec);
  diag_check(L, recorder_part(r, args->device, &part, &err), &err);
  GraphParts *parts = (GraphParts *)(void *)part;
  diag_check(L, hold_args(r, args, &err), &err);
  diag_check(L, keep_spec(parts, spec, &err), &err);
  part->is_used = true;
  r->n_launches += (int)n;
  if (r->device != NULL) {
    diag_check(L, launch_enqueue(spec, config, args, n, &err), &err);
    return;
  }
  KeptLaunch launch = {*config, spec, n, args->n_given, k->state->rank};
  StateStep step = {.kind = STATE_LAUNCH, .launch = (int)parts->n_specs};
  keep_launch(L, kernel, &launch, args->first, step.launch);
  diag_check(L, recorder_step(r, step, &err), &err);
}

/* {====== Again, on the CPU engine ====== */

void launch_replay(lua_State *L, int launches, int i) {
  CuttleState *s = state_of(L);
  int top = lua_gettop(L);
  LaunchArgs args;
  lua_rawgeti(L, launches, i);
  lua_rawgeti(L, -1, 1);
  const KeptLaunch *launch = lua_touserdata(L, -1);
  luaL_checkstack(L, launch->n_args + 8, "too many arguments");
  for (int k = 0; k <= launch->n_args; k++) {
    lua_rawgeti(L, top + 1, k + 2);
  }
  launch_read(L, top + 3, top + 4, launch->n_args, &launch->config, &args);
  const CtIr *ir = &launch->spec->ir;
  bool is_same = (args.notes != LAUNCH_NO_NOTES) == ir->is_checked &&
                 (args.notes == LAUNCH_NOTES_OF_OVERFLOW) == ir->finds_overflow;
  Spec *spec = is_same ? launch->spec : launch_spec(L, top + 3, &launch->config, &args);
  launch_settle(&args, &spec->ir);
  int rank = s->rank;
  if (launch->rank >= 0) {
    s->rank = launch->rank; /* joint_guard or m:run set it anew where this raises */
  }
  launch_run(L, top + 3, &launch->config, &args, spec, launch->n);
  s->rank = rank;
  lua_settop(L, top);
}
