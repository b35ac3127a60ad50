/* simt_cluster.c: handlers of the CPU engine for clusters. Their blocks are a team of workers on one thread,
   whose warps take turns. A warp counts its arrivals at the cluster's barrier; one that waits is stopped
   before the instruction, as in a loop that waits (simt_spin.c), until all have arrived as often. */
#include "simt_watch.h"

static bool is_together(const CtIn *in, CtWarp *w) {
  if (w->mask != w->live) {
    (void)ct_simt_fail_kind(w, in, ct_first_lane(w->mask), CT_FAIL_BARRIER_LANES);
    return false;
  }
  return true;
}

/* Is a wait of the warp's over? What has ended arrives no more. */
static bool have_arrived(const CtWarp *w) {
  const CtWorker *team = w->worker->team;
  const CtSimtProgram *p = w->worker->job->program;
  for (int i = 0; i < p->n_cluster * p->n_warps; i++) {
    size_t at = (size_t)(i % p->n_warps) * p->warp_bytes;
    const CtWarp *other = CT_CAT(CtWarp, team[i / p->n_warps].warps, at);
    if (other->pc != NULL && other->n_arrived < w->n_arrived) {
      return false;
    }
  }
  return true;
}

const CtIn *ct_simt_cluster_arrive(const CtIn *in, CtWarp *w) {
  if (!is_together(in, w)) {
    return NULL;
  }
  if (w->has_arrived) {
    return ct_simt_fail_kind(w, in, ct_first_lane(w->mask), CT_FAIL_CLUSTER);
  }
  ct_simt_note_sync(&(CtSyncNote){.kind = CT_SYNC_CLUSTER_ARRIVE, .in = in, .w = w});
  w->has_arrived = true;
  w->n_arrived++;
  ct_simt_note_change(w->worker->job);
  return in + 1;
}

const CtIn *ct_simt_cluster_wait(const CtIn *in, CtWarp *w) {
  if (!is_together(in, w)) {
    return NULL;
  }
  if (!w->has_arrived) {
    return ct_simt_fail_kind(w, in, ct_first_lane(w->mask), CT_FAIL_CLUSTER);
  }
  if (!have_arrived(w)) {
    w->spin_at = in;
    w->is_waiting = false;
    w->is_same = true;
    w->pc = in - 1;
    return NULL;
  }
  ct_simt_note_sync(&(CtSyncNote){.kind = CT_SYNC_CLUSTER_PASS, .in = in, .w = w});
  w->has_arrived = false;
  return in + 1;
}
