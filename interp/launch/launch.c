/* launch.c: one launch: the limits, what the specialisation assumed, the engine. */
#include "launch.h"
#include "launch_capture.h"
#include "launch_check.h"
#include "launch_joint.h"
#include "launch_list.h"

#include <lauxlib.h>
#include <string.h>

#include "interp/algebra/bind.h"

enum { MAX_BLOCK = 1024, MAX_BLOCK_Z = 64, MAX_GRID_YZ = 65535 };
enum {
  MAX_CLUSTER = 16
}; /* 8 on every device that has clusters; more where the device allows it */

static void check_cluster(lua_State *L, const Kernel *k, const LaunchConfig *c) {
  CtDim3 n = c->cluster, grid = c->grid;
  uint64_t blocks = n.x == 0 || n.y == 0 || n.z == 0 || n.x > MAX_CLUSTER || n.y > MAX_CLUSTER
                        ? 0
                        : (uint64_t)n.x * n.y * n.z;
  if (blocks == 0 || blocks > MAX_CLUSTER) {
    diag_error(L,
               "%s: cluster (%I,%I,%I); expected 1 to 8 blocks in all, which every device with "
               "clusters runs, or up to %d, which some do",
               k->name, (LUAI_UACINT)n.x, (LUAI_UACINT)n.y, (LUAI_UACINT)n.z, MAX_CLUSTER);
  }
  if (grid.x % n.x != 0 || grid.y % n.y != 0 || grid.z % n.z != 0) {
    diag_error(
        L,
        "%s: grid (%I,%I,%I) is not a multiple of cluster (%I,%I,%I); a grid is made of whole "
        "clusters, so round each of its extents up",
        k->name, (LUAI_UACINT)grid.x, (LUAI_UACINT)grid.y, (LUAI_UACINT)grid.z, (LUAI_UACINT)n.x,
        (LUAI_UACINT)n.y, (LUAI_UACINT)n.z);
  }
}

void launch_check_config(lua_State *L, const Kernel *k, const LaunchConfig *c) {
  uint64_t threads = (uint64_t)c->block.x * c->block.y * c->block.z;
  if (threads == 0 || threads > MAX_BLOCK || c->block.z > MAX_BLOCK_Z) {
    diag_error(L, "%s: block (%d,%d,%d) has %I threads; expected 1 to %d, at most %d in z", k->name,
               (int)c->block.x, (int)c->block.y, (int)c->block.z, (LUAI_UACINT)threads, MAX_BLOCK,
               MAX_BLOCK_Z);
  }
  if (c->grid.y > MAX_GRID_YZ || c->grid.z > MAX_GRID_YZ ||
      (uint64_t)c->grid.x * c->block.x > INT32_MAX) {
    diag_error(
        L,
        "%s: grid (%I,%I,%I); expected at most %d blocks in y and z, and less than 2^31 threads "
        "in x",
        k->name, (LUAI_UACINT)c->grid.x, (LUAI_UACINT)c->grid.y, (LUAI_UACINT)c->grid.z,
        MAX_GRID_YZ);
  }
  check_cluster(L, k, c);
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

static CtStatus run_cpu(Kernel *k, const Spec *spec, const LaunchConfig *c, const LaunchArgs *a,
                        CtErr *err) {
  CtSimtEngine *engine;
  if (k->state->is_engine_busy) {
    return ct_fail(err, CT_EINVAL,
                   "%s: launched while the CPU engine runs another launch, from a callback that "
                   "prints; launch it after that one has returned",
                   k->name);
  }
  CtStatus status = state_simt(k->state, &engine, err);
  CtSimtLaunch launch = {.grid = {c->grid.x, c->grid.y, c->grid.z},
                         .slots = a->slots,
                         .n_elems = a->n_elems,
                         .lists = a->lists,
                         .interrupt = &k->state->interrupt,
                         .print = state_print_to,
                         .print_ud = k->state,
                         .print_order = c->print_order,
                         .watch = k->state->watch,
                         .is_dependent = c->pdl,
                         .is_cooperative = c->cooperative,
                         .may_overlap = k->state->may_overlap,
                         .n_host = k->state->n_host};
  if (status == CT_OK && spec->ir.has_addresses) {
    status =
        state_memory(k->state, ct_ir_writes_at(&spec->ir), &launch.memory, &launch.n_memory, err);
  }
  if (status != CT_OK) {
    return status;
  }
  k->state->is_engine_busy = true;
  status = ct_simt_run(engine, spec->simt, &launch, err);
  k->state->is_engine_busy = false;
  return status;
}

/* Memory is freed in the order of the stream that used it last. */
static void use_on_stream(const LaunchArgs *a, CtStream stream) {
  for (int i = 0; i < a->n; i++) {
    if (a->args[i].kind == ARG_TENSOR) {
      a->args[i].tensor->storage->stream = stream;
    } else if (a->args[i].kind == ARG_LIST) {
      launch_list_use(a->args[i].list, stream);
    }
  }
}

/* Copies the tables of lists to the device, and notes where they are and on which stream memory is used. */
static CtStatus upload(const LaunchConfig *c, LaunchArgs *a, CtErr *err) {
  CtStream stream = launch_stream(c, a->device);
  CtStatus status = CT_OK;
  if (c->stream_device != NULL && a->of->state->recorder == NULL) { /* a graph: on the main one */
    use_on_stream(a, stream);
  }
  for (int i = 0; i < a->n && status == CT_OK; i++) {
    CtDevPtr at;
    if (a->args[i].kind == ARG_LIST) {
      status = launch_list_upload(a->args[i].list, stream, &at, err);
      a->slots[a->args[i].first_slot] = (CtSlotValue){.i = (int64_t)(status == CT_OK ? at : 0)};
    }
  }
  return status;
}

static CtStatus run_cuda(const Spec *spec, const LaunchConfig *c, const LaunchArgs *a, CtErr *err) {
  CtStatus status = launch_fill(spec, c, a->slots, err);
  return status == CT_OK ? launch_start(spec, c, launch_joint_seconds(a, spec), err) : status;
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
    diag_error(
        L,
        "%s: with pdl = true it may begin before the previous launch has ended, but it never waits "
        "for that launch; call grid_dependency_wait() before the first use of what other launches "
        "read or write",
        k->name);
  }
}

static void check_cooperative(lua_State *L, const Kernel *k, const LaunchConfig *c,
                              const Spec *spec) {
  if (ct_ir_has_grid_barrier(&spec->ir) && !c->cooperative) {
    diag_error(
        L,
        "%s: grid_barrier, at line %d, waits for all blocks of the grid, but they need not run "
        "at the same time; launch with cooperative = true",
        k->name, spec->ir.grid_barrier.line);
  }
}

static CtStatus run(Kernel *k, const Spec *spec, const LaunchConfig *c, const LaunchArgs *a,
                    int64_t n, CtErr *err) {
  CtStatus status = CT_OK;
  for (int64_t i = 0; i < n && status == CT_OK; i++) {
    status = a->device == NULL ? run_cpu(k, spec, c, a, err) : run_cuda(spec, c, a, err);
  }
  return status;
}

static CtStatus run_timed(Kernel *k, const Spec *spec, const LaunchConfig *c, const LaunchArgs *a,
                          int64_t n, CtErr *err) {
  LaunchTimes *times = k->state->times;
  CtStatus status = launch_times_begin(times, k, spec, c, n, err);
  return status == CT_OK ? launch_times_end(times, spec, c, run(k, spec, c, a, n, err), err)
                         : status;
}

void launch_check_args(lua_State *L, const Kernel *k, const LaunchConfig *config,
                       const LaunchArgs *args, const Spec *spec) {
  CtErr err;
  check_stream(L, k, config, args);
  check_shared(L, k, config, spec);
  check_dependent(L, k, config, spec);
  check_cooperative(L, k, config, spec);
  diag_check(L, launch_check_requires(spec, args->slots, &err), &err);
}

CtStatus launch_enqueue(const Spec *spec, const LaunchConfig *config, LaunchArgs *args, int64_t n,
                        CtErr *err) {
  CtStatus status = upload(config, args, err);
  for (int64_t i = 0; i < n && status == CT_OK; i++) {
    status = run_cuda(spec, config, args, err);
  }
  return status;
}

void launch_run(lua_State *L, int kernel, const LaunchConfig *config, LaunchArgs *args, Spec *spec,
                int64_t n) {
  Kernel *k = args->of;
  CtErr err;
  if (args->device != NULL) {
    diag_check(L, upload(config, args, &err), &err);
  }
  if (launch_joint_takes(k->state, config, args, spec)) {
    launch_joint_add(L, kernel, config, args, spec, n);
    return;
  }
  bool is_told = args->device == NULL && k->state->on_launch != NULL;
  if (is_told) {
    k->state->is_gathering = false; /* an error may have left it set */
    k->state->on_launch(L, kernel, config, args, spec);
  }
  if (is_told && k->state->skips_launches) {
    k->state->on_launched(L, true);
    return;
  }
  bool has_marks = spec->has_marks && args->device != NULL;
  bool records = k->state->on_marks != NULL || k->state->records_marks;
  if (has_marks) {
    diag_check(L, launch_marks_begin(k->state, spec, config, records, &err), &err);
  }
  LaunchFile file;
  bool has_file = launch_file_begin(L, kernel, config, args, &file);
  bool is_checked = launch_check_begin(L, k, config, args->device == NULL);
  CtStatus status = k->state->times == NULL ? run(k, spec, config, args, n, &err)
                                            : run_timed(k, spec, config, args, n, &err);
  if (status != CT_OK && k->state->rank >= 0 && args->device == NULL) {
    launch_joint_explain(k->state, &err);
  }
  status = has_file ? launch_file_end(k, args, &file, status, &err) : status;
  if (is_told && k->state->on_launched != NULL) {
    k->state->on_launched(L, status == CT_OK);
  }
  if (is_checked) {
    launch_check_end(L, status, &err);
  }
  diag_check(L, status, &err);
  if (has_marks) {
    launch_marks_end(L, kernel, spec, config, args);
  }
}
