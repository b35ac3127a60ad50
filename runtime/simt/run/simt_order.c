/* simt_order.c: the order in which the CPU engine takes the blocks of a launch.

   Blocks side by side along x often read the same rows of one tensor, and each reads its own
   columns of another. So a row of blocks reads all of the second tensor, from a far cache. The
   engine therefore takes CtSimtJob.band rows of blocks together, column by column: what a block reads is
   still near when the block below needs it.

   A kernel that reads each place once is faster in the order of the numbers, along rows of its
   tensors. If a loop reads global memory, we assume that the kernel reads places more than once.
   The engine also keeps the order of the numbers if a user could see the difference: with atomic
   operations, with loops that may wait, and under a watcher that asks for that order. */
#include "simt_plan.h"

/* Where a sample of the grid, or a choice, has its next cluster. */
static int64_t place_of(const CtSimtJob *job, int64_t position) {
  if (job->only != NULL) {
    return job->only[position];
  }
  const int64_t *n = job->clusters;
  return job->stride == 1 ? position : position * job->stride % (n[0] * n[1] * n[2]);
}

void ct_simt_block_at(const CtSimtJob *job, int64_t position, int64_t bid[3]) {
  const int64_t *grid = job->clusters, *cluster = job->program->cluster;
  position = place_of(job, position);
  int64_t plane = grid[0] * grid[1], in_plane = position % plane;
  int64_t first = in_plane / (grid[0] * job->band) * job->band; /* row of the band */
  int64_t rows = ct_min(job->band, grid[1] - first), in_band = in_plane - first * grid[0];
  bid[0] = job->band == 1 ? in_band : in_band / rows;
  bid[1] = job->band == 1 ? first : first + in_band % rows;
  bid[2] = position / plane;
  for (int i = 0; i < 3; i++) {
    bid[i] *= cluster[i];
  }
}

/* The number of the first block of the cluster at a position in the order of the numbers. */
static int64_t first_block(const CtSimtJob *job, int64_t position) {
  const int64_t *n = job->clusters, *cluster = job->program->cluster, *grid = job->launch->grid;
  int64_t x = position % n[0] * cluster[0], y = position / n[0] % n[1] * cluster[1];
  return (position / (n[0] * n[1]) * cluster[2] * grid[1] + y) * grid[0] + x;
}

bool ct_simt_is_over(const CtSimtJob *job, int64_t position, int64_t failed) {
  const int64_t *grid = job->clusters;
  if (position >= job->n_clusters - job->n_from_end) {
    return true;
  }
  position = place_of(job, position);
  int64_t row = position / grid[0] % grid[1]; /* bands begin at the beginning of a row */
  int64_t first = row % job->band * grid[0] + position % grid[0];
  return first_block(job, job->band == 1 ? position : position - first) >= failed;
}

/* --- work that another cluster takes ------------------------------------------------------------------------ */

enum {
  REFUSE,
  LAST,
  N_ANSWERS = 4
}; /* one request in four is refused, and one gets the last cluster */

static unsigned answer_of(CtSimtPlan *plan) {
  uint64_t h = plan->cancel_seed;
  h = (h ^ h >> 30) * 0xBF58476D1CE4E5B9u;
  h = (h ^ h >> 27) * 0x94D049BB133111EBu;
  plan->cancel_seed = (plan->cancel_seed + 0x9E3779B97F4A7C15u) | 1;
  return (unsigned)(h >> 32) % N_ANSWERS;
}

bool ct_simt_take_pending(CtSimtJob *job, int64_t bid[3]) {
  CtSimtPlan *plan = job->group->plan;
  unsigned answer = plan != NULL && plan->cancel_seed != 0 ? answer_of(plan) : N_ANSWERS;
  int64_t position = atomic_load(&job->next), failed = atomic_load(&job->fail_block);
  if (answer == REFUSE || job->gives_none || ct_simt_is_over(job, position, failed)) {
    return false;
  }
  if (answer == LAST) {
    position = job->n_clusters - ++job->n_from_end;
  } else {
    position = atomic_fetch_add(&job->next, 1);
  }
  if (ct_simt_is_over(job, position, failed) && answer != LAST) {
    return false;
  }
  ct_simt_block_at(job, position, bid);
  return true;
}
