/* launch.c: where the launches of all hosts come together: finds the specialisation for the arguments, checks that the
   launch fits it, and asks the taps (launch_tap.h). Then launch_engine.c has the launch. */
#include <lauxlib.h>

#include "interp/state/diag.h"
#include "launch_capture.h"
#include "launch_check.h"
#include "launch_collect.h"
#include "launch_graph.h"
#include "launch_joint.h"
#include "launch_key.h"
#include "launch_list.h"
#include "watcher.h"

/* {====== Does the launch fit its specialisation? ====== */

/* Of a tensor, or of a list's i-th one. */
static void write_tensor(lua_State *L, int kernel, LaunchArgs *args, const Arg *arg,
                         const Tensor *t) {
  enum { LAST_BIT = 63 };
  if (t->storage->is_lent) {
    int bit = arg->place - 1 < LAST_BIT ? arg->place - 1 : LAST_BIT;
    args->written |= UINT64_C(1) << bit;
  }
  if (ct_storage_may_write(t->storage, NULL) != CT_OK) {
    diag_error(L, "%s is read-only memory of the host, and the kernel writes it; pass a copy",
               launch_push_title(L, kernel, args, arg));
  }
}

/* Does the kernel write the argument's memory? Members of a list are buffers of their own. */
static bool is_written(const CtIr *ir, const Arg *arg) {
  uint32_t table = ir->params[arg->param].buf;
  bool is = arg->kind == ARG_TENSOR && ir->bufs[table].is_written;
  for (size_t i = 0; i < ir->n_bufs && arg->kind == ARG_LIST && !is; i++) {
    is = ir->bufs[i].list == table && ir->bufs[i].is_written;
  }
  return is;
}

/* Lent memory that the kernel writes: it must not be read-only, and the host may ask what was written. */
static void write_lent(lua_State *L, int kernel, LaunchArgs *args, const Spec *spec) {
  for (LaunchTensors w = {.args = args}; args->has_lent && launch_next_tensor(&w);) {
    if (is_written(&spec->ir, w.arg)) {
      write_tensor(L, kernel, args, w.arg, w.tensor);
    }
  }
}

CtStatus launch_check_requires(const Spec *spec, const CtSlotValue *slots, CtErr *err) {
  const CtIr *ir = &spec->ir;
  for (size_t i = 0; i < ir->n_requires; i++) {
    const CtRequire *r = &ir->requires_[i];
    int64_t v;
    CtStatus status = ct_ir_eval(ir, r->value, slots, &v, err);
    status = status == CT_OK ? ct_require_check(r, v, err) : status;
    if (status != CT_OK) {
      ct_err_at(err, ct_ir_chunk(ir, r->loc), r->loc.line);
      return status;
    }
  }
  return CT_OK;
}

static void check_stream(lua_State *L, const Kernel *k, const LaunchConfig *c,
                         const LaunchArgs *a) {
  bool has_stream = c->stream_device != NULL || c->has_cpu_stream;
  if (has_stream && c->stream_device != a->device) {
    diag_error(L, "%s: the stream belongs to %s but the launch is on %s; make one there", k->name,
               launch_push_device(L, c->stream_device), launch_push_device(L, a->device));
  }
}

/* What the launch asks for beside what the kernel declares. */
static void check_shared(lua_State *L, const Kernel *k, const LaunchConfig *c, const Spec *spec) {
  const CtTarget *target = &spec->ir.target;
  if (c->shared_bytes == 0) {
    return;
  }
  int64_t bytes = ct_ir_shared_bytes(&spec->ir);
  if (bytes + c->shared_bytes > (int64_t)target->shared_max) {
    diag_error(L,
               "%s: smem = %I plus %I bytes of shared tensors, but a block on %s has "
               "%I; ask for less",
               k->name, (LUAI_UACINT)c->shared_bytes, (LUAI_UACINT)bytes, target->name,
               (LUAI_UACINT)target->shared_max);
  }
}

/* Without the wait it would not only read too early: the next launch, which waits for it, would take what came
   before it for done. */
static void check_dependent(lua_State *L, const Kernel *k, const LaunchConfig *c,
                            const Spec *spec) {
  if (c->pdl && !spec->ir.waits_for_grids) {
    diag_error(L,
               "%s: with pdl = true it may begin before the previous launch has ended, but it "
               "never waits for that launch; call grid_dependency_wait() before the first use of "
               "what other launches read or write",
               k->name);
  }
}

static void check_cooperative(lua_State *L, const Kernel *k, const LaunchConfig *c,
                              const Spec *spec) {
  if (ct_ir_has_grid_barrier(&spec->ir) && !c->cooperative) {
    diag_error(L,
               "%s: sync_grid, at line %d, waits for all blocks of the grid, but they need not run "
               "at the same time; launch with cooperative = true",
               k->name, spec->ir.grid_barrier.line);
  }
}

static void check_args(lua_State *L, const Kernel *k, const LaunchConfig *config,
                       const LaunchArgs *args, const Spec *spec) {
  CtErr err;
  check_stream(L, k, config, args);
  check_shared(L, k, config, spec);
  check_dependent(L, k, config, spec);
  check_cooperative(L, k, config, spec);
  diag_check(L, launch_check_requires(spec, args->slots, &err), &err);
}

/* {====== Taps ====== */

/* In the order of the table. */
enum { GRAPH, HOST_GRAPH, MEMORY, RANKS, SESSION, MARKS, CAPTURE, CHECK, TIMES, N_TAPS };

/* From the outside in. A collection of texts (launch_collect.h) is asked earlier, by launch_kernel: it does without the
   specialisation that all of these need. */
static const Tap taps[N_TAPS] = {
    /* First: a launch that a graph records runs later, so nobody is to look at it now. */
    [GRAPH] = {"graph", launch_graph_before, NULL, NULL},
    /* Before anything else reaches the stream that the host captures. */
    [HOST_GRAPH] = {"host's graph", launch_host_graph_before, NULL, NULL},
    /* Before `ranks`, which keeps the addresses of lists' tables, and before `times`, which counts no copies. */
    [MEMORY] = {"memory", launch_memory_before, NULL, NULL},
    /* Before all that looks at a launch while it runs: those of other ranks run beside it. */
    [RANKS] = {"ranks", launch_joint_before, launch_joint_after, NULL},
    /* Before `check`, because a session may watch this launch itself; its report comes before that of `check`, which
       raises. */
    [SESSION] = {"session", watcher_before, NULL, watcher_report},
    [MARKS] = {"marks", launch_marks_before, NULL, launch_marks_report},
    /* The file has the data from before the launch, and the error of all that is further in. */
    [CAPTURE] = {"capture", launch_file_before, launch_file_after, NULL},
    [CHECK] = {"check", launch_check_before, launch_check_after, launch_check_report},
    /* Innermost: what the others do is no part of a launch's time. */
    [TIMES] = {"times", launch_times_before, launch_times_after, NULL}};

/* The taps that may take part in a launch, a bit for each. */
static unsigned taps_of(const Launch *l) {
  const StateTaps *open = &l->state->taps;
  const LaunchArgs *a = l->args;
  bool on_device = a->device != NULL;
  return (unsigned)(open->recorder != NULL) << GRAPH |
         (unsigned)(on_device &&
                    launch_is_new_to_host_graph(l->spec, launch_stream(l->config, a->device)))
             << HOST_GRAPH |
         (unsigned)(on_device && (a->n_lists > 0 || l->config->stream_device != NULL)) << MEMORY |
         (unsigned)(l->state->rank >= 0) << RANKS |
         (unsigned)(!on_device && open->session != NULL) << SESSION |
         (unsigned)(on_device && l->spec->has_marks) << MARKS |
         (unsigned)(open->capture.folder[0] != '\0') << CAPTURE |
         (unsigned)(l->config->check || open->checks_all) << CHECK |
         (unsigned)(open->times != NULL) << TIMES;
}

/* Of the last one that was asked, unless it takes no part. l->open: those that are in. */
static TapAnswer ask_before(Launch *l, unsigned wanted, CtErr *err) {
  TapAnswer answer = TAP_IN;
  for (int i = 0; i < N_TAPS && answer != TAP_HAS && answer != TAP_FAILED; i++) {
    if ((wanted >> i & 1) != 0) {
      answer = taps[i].before(l, err);
      l->open |= (unsigned)(answer == TAP_IN) << i;
    }
  }
  return answer;
}

static CtStatus tell_after(Launch *l, CtStatus status, CtErr *err) {
  for (int i = N_TAPS - 1; i >= 0; i--) {
    if ((l->open >> i & 1) != 0 && taps[i].after != NULL) {
      status = taps[i].after(l, status, err);
    }
  }
  return status;
}

static void report(Launch *l, CtStatus status, const CtErr *err) {
  for (int i = 0; i < N_TAPS; i++) {
    if ((l->open >> i & 1) != 0 && taps[i].report != NULL) {
      taps[i].report(l, status, err);
    }
  }
}

void launch_run(Launch *l) {
  CtErr err;
  unsigned wanted = taps_of(l);
  if (wanted == 0) { /* nearly every launch */
    diag_check(l->L, launch_on_engine(l, &err), &err);
    return;
  }
  TapAnswer answer = ask_before(l, wanted, &err);
  if (answer == TAP_HAS) {
    return;
  }
  CtStatus status = answer == TAP_FAILED ? err.status : launch_on_engine(l, &err);
  status = tell_after(l, status, &err);
  report(l, status, &err);
  diag_check(l->L, status, &err);
}

/* {====== The launch ====== */

/* In place of a launch: adds its text if it is new. */
static void collect(lua_State *L, int kernel, const LaunchConfig *config, LaunchArgs *args) {
  LaunchCollection *c = args->of->state->taps.collection;
  size_t before = launch_n_collected(c);
  CtErr err;
  if (launch_is_collected(c, args) || launch_try_spec(L, kernel, config, args, &err) != NULL) {
    diag_check(L, launch_collect_again(c, &err), &err);
  } else if (launch_n_collected(c) == before) {
    diag_raise(L, &err);
  }
}

void launch_kernel(lua_State *L, int kernel, const LaunchConfig *config, LaunchArgs *args,
                   int64_t n) {
  const Kernel *k = args->of;
  if (k->state->taps.collection != NULL && args->device != NULL) {
    collect(L, kernel, config, args);
    return;
  }
  Spec *spec = launch_spec(L, kernel, config, args);
  check_args(L, k, config, args, spec);
  args->written = 0;
  if (config->grid.x == 0 || config->grid.y == 0 || config->grid.z == 0) {
    return; /* nothing to do */
  }
  write_lent(L, kernel, args, spec);
  Launch l;
  launch_set(&l, L, kernel, config, args, spec, n);
  launch_run(&l);
}
