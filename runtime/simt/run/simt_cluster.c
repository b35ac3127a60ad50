/* simt_cluster.c: handlers of the CPU engine for clusters, and for shared memory of the cluster's
   other blocks. The blocks are a team of workers on one thread, whose warps take turns. A warp
   counts its arrivals at the cluster's barrier. A warp that waits is stopped before the instruction
   (CtWarp.parked) until all others have arrived as often. */
#include "simt_team.h"
#include "simt_watch.h"

static bool is_together(const CtIn *in, CtWarp *w) {
  if (w->mask != w->live) {
    (void)ct_simt_fail_kind(w, in, ct_first_lane(w->mask), CT_FAIL_BARRIER_LANES);
    return false;
  }
  return true;
}

/* Is the warp's wait over? Warps that have ended arrive no more. */
bool ct_simt_cluster_is_ready(const CtWarp *w) {
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

const CtIn *ct_simt_do_CLUSTER_ARRIVE(const CtIn *in, CtWarp *w) {
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

const CtIn *ct_simt_do_CLUSTER_WAIT(const CtIn *in, CtWarp *w) {
  if (!is_together(in, w)) {
    return NULL;
  }
  if (!w->has_arrived) {
    return ct_simt_fail_kind(w, in, ct_first_lane(w->mask), CT_FAIL_CLUSTER);
  }
  if (!ct_simt_cluster_is_ready(w)) {
    w->parked = in;
    w->pc = in - 1;
    return NULL;
  }
  w->n_passed += w->parked != NULL;
  w->parked = NULL;
  ct_simt_note_sync(&(CtSyncNote){.kind = CT_SYNC_CLUSTER_PASS, .in = in, .w = w});
  w->has_arrived = false;
  return in + 1;
}

/* --- memory in other blocks ------------------------------------------------------------------------- */

CtWorker *ct_simt_owner(const CtWarp *w, uint32_t buf) {
  CtWorker *k = w->worker;
  const CtSimtBuf *b = &k->job->program->bufs[buf];
  for (int i = 0; b->is_remote && i < k->job->program->n_cluster; i++) {
    if (k->team[i].shared + b->at == w->mem[buf].ptr) {
      return &k->team[i];
    }
  }
  return k;
}

bool ct_simt_has_ended(const CtWorker *k) {
  const CtSimtProgram *p = k->job->program;
  for (int32_t i = 0; i < p->n_warps; i++) {
    if (CT_CAT(CtWarp, k->warps, (size_t)i * p->warp_bytes)->pc != NULL) {
      return false;
    }
  }
  return true;
}

static bool fail_remote(const CtIn *in, CtWarp *w, int lane, CtFailKind kind, int32_t rank) {
  (void)ct_simt_fail_kind(w, in, lane, kind);
  w->worker->fail.buf = (uint32_t)in->imm;
  w->worker->fail.off = rank;
  return false;
}

/* Points the warp's buffer at the block of a rank. */
static bool turn_to_rank(const CtIn *in, CtWarp *w, int lane, int64_t rank) {
  const CtSimtProgram *p = w->worker->job->program;
  CtMem *mem = CT_AT(CtMem, w, p->mem_at);
  if (rank < 0 || rank >= p->n_cluster) {
    return fail_remote(in, w, lane, CT_FAIL_REMOTE_RANK, (int32_t)rank);
  }
  const CtWorker *k = &w->worker->team[rank];
  if (k != w->worker && ct_simt_has_ended(k)) {
    return fail_remote(in, w, lane, CT_FAIL_REMOTE_ENDED, (int32_t)rank);
  }
  mem[in->imm].ptr = k->shared + p->bufs[in->imm].at;
  return true;
}

static int64_t rank_of(const CtIn *in, const CtWarp *w, int lane) {
  return CT_CAT(int32_t, w, in->a)[lane];
}

const CtIn *ct_simt_do_EACH(const CtIn *in, CtWarp *w) {
  return ct_simt_each_value(in, w, rank_of, turn_to_rank);
}
