/* launch_limits.c: what a configuration may ask for on any device. */
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
