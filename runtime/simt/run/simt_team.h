/* simt_team.h: the steps of a team, for those who run teams: simt_team.c and simt_plan.c. */
#ifndef CT_SIMT_TEAM_H
#define CT_SIMT_TEAM_H

#include "simt_engine.h"

static inline int ct_simt_team_size(const CtWorker *team) { return team->job->program->n_cluster; }

static inline CtWarp *ct_simt_warp_at(const CtWorker *k, int32_t i) {
  return (CtWarp *)(void *)(k->warps + (size_t)i * k->job->program->warp_bytes);
}

/* Runs a warp from `in` until it stops. */
static inline void ct_simt_run_warp(CtWarp *w, const CtIn *in) {
  while (in != NULL) {
    in = in->u.handler(in, w);
  }
}

/* All warps of the block stopped. Those that wait must wait at the same place. True: they may go on. */
bool ct_simt_meet(CtWorker *k);
/* Nobody is left who could complete what the parked warps of a team wait for: makes one of them fail. */
void ct_simt_fail_waits(CtWorker *team);
/* The team begins its next cluster. False: there is none. */
bool ct_simt_begin_team(CtWorker *team);
/* Its cluster has ended, or one of its blocks failed. */
void ct_simt_end_cluster(CtWorker *team);
/* No more clusters will come. */
void ct_simt_end_team(CtWorker *team);
/* simt_spin.c: nothing will change. Does a warp of the team repeat a loop, or wait at the grid's barrier? Messages
   tell of all teams that were noted. _fail_stuck makes one of them fail. */
bool ct_simt_note_stuck(CtWorker *team, uint64_t changes);
void ct_simt_fail_stuck(CtWorker *team);
/* simt_sync.c: may the warp pass the instruction at which it is parked, or would park? */
bool ct_simt_is_ready(CtWarp *w, const CtIn *in);
/* simt_cluster.c: the same at the cluster's barrier. */
bool ct_simt_cluster_is_ready(const CtWarp *w);

#endif
