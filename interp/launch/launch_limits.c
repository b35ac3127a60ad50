/* launch_limits.c: what a configuration may ask for, and what a specialisation assumes of its launches. */
#include <lauxlib.h>

#include "interp/state/diag.h"
#include "launch.h"

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

void launch_check_args(lua_State *L, const Kernel *k, const LaunchConfig *config,
                       const LaunchArgs *args, const Spec *spec) {
  CtErr err;
  check_stream(L, k, config, args);
  check_shared(L, k, config, spec);
  check_dependent(L, k, config, spec);
  check_cooperative(L, k, config, spec);
  diag_check(L, launch_check_requires(spec, args->slots, &err), &err);
}
