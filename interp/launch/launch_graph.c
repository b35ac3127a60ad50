/* launch_graph.c: a launch as a part of a graph. On a device it is enqueued, and the driver records it. For
   the CPU engine the kernel and the arguments are kept: tensors as tensors of the graph's own, tables as
   copies, so that the script may change and close what it passed. */
#include "launch_graph.h"

#include <lauxlib.h>

#include "interp/algebra/bind.h"
#include "launch_joint.h"
#include "launch_key.h"
#include "launch_list.h"

/* {====== What the graph keeps ====== */

static CtStatus keep_spec(GraphParts *p, Spec *spec, CtErr *err) {
  CtStatus status = CT_GROW(p->recorder.state->alloc, p->specs, p->cap_specs, p->n_specs + 1, err);
  if (status == CT_OK) {
    spec->n_refs++;
    p->specs[p->n_specs++] = spec;
  }
  return status;
}

static CtStatus hold_args(StateRecorder *r, const LaunchArgs *a, CtErr *err) {
  CtStatus status = CT_OK;
  for (LaunchTensors w = {.args = a}; status == CT_OK && launch_next_tensor(&w);) {
    status = recorder_hold(r, w.tensor->storage, err);
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
                            : "a graph records either the CPU engine or devices");
  }
  if (r->is_one_of_many && launch_may_wait(a, spec)) {
    diag_error(L,
               "graph: %s may wait for another rank, whose launches would have to be ready before "
               "this one begins; record all ranks at once: graph(function() m:run(...) end)",
               k->name);
  }
  if (spec->ir.n_prints > 0) {
    diag_error(L,
               "graph: %s has a printf, which is read after each launch, so no graph can "
               "record it; leave the printf out, or launch the kernel outside the graph",
               k->name);
  }
  if (r->device == NULL) {
    launch_check_kept(L, a, "graph");
  }
  if (c->check) {
    diag_error(L,
               "graph: %s is launched with check, which looks at each launch when it is over; "
               "check the launch outside the graph, or run the script under 'cuttle check'",
               k->name);
  }
}

TapAnswer launch_graph_before(Launch *l, CtErr *err) {
  const Kernel *k = l->args->of;
  StateRecorder *r = l->state->taps.recorder, *part = NULL;
  check_record(l->L, k, r, l->config, l->args, l->spec);
  diag_check(l->L, recorder_part(r, l->args->device, &part, err), err);
  GraphParts *parts = (GraphParts *)(void *)part;
  diag_check(l->L, hold_args(r, l->args, err), err);
  diag_check(l->L, keep_spec(parts, l->spec, err), err);
  part->is_used = true;
  r->n_launches += (int)l->n;
  if (r->device != NULL) {
    diag_check(l->L, launch_enqueue(l->spec, l->config, l->args, l->n, err), err);
    return TAP_HAS;
  }
  if (l->config->cpu_stream != 0) {
    StateStep branch = {.kind = STATE_BRANCH, .launch = (int)l->config->cpu_stream};
    diag_check(l->L, recorder_step(r, branch, err), err);
  }
  KeptLaunch launch = {*l->config, l->spec, l->n, l->args->n_given, l->state->rank};
  StateStep step = {.kind = STATE_LAUNCH, .launch = (int)parts->n_specs};
  keep_launch(l->L, l->kernel, &launch, l->args->first, step.launch);
  diag_check(l->L, recorder_step(r, step, err), err);
  return TAP_HAS;
}

/* {====== Graphs of the host ====== */

typedef struct CapturedSpec {
  CuttleState *state;
  Spec *spec;
} CapturedSpec;

static int captured_gc(lua_State *L) {
  const CapturedSpec *c = lua_touserdata(L, 1);
  spec_free(c->state, c->spec);
  return 0;
}

TapAnswer launch_host_graph_before(Launch *l, CtErr *err) {
  lua_State *L = l->L;
  (void)err;
  luaL_getsubtable(L, LUA_REGISTRYINDEX, "cuttle.captured");
  CapturedSpec *c = lua_newuserdatauv(L, sizeof *c, 0);
  *c = (CapturedSpec){l->state, l->spec};
  lua_createtable(L, 0, 1);
  lua_pushcfunction(L, captured_gc);
  lua_setfield(L, -2, "__gc");
  l->spec->n_refs++;
  lua_setmetatable(L, -2);
  lua_rawseti(L, -2, (lua_Integer)lua_rawlen(L, -2) + 1);
  lua_pop(L, 1);
  l->spec->is_captured = true;
  l->state->turn.number++; /* to allocate may collect garbage, whose finalizers are scripts */
  return TAP_IN;
}
