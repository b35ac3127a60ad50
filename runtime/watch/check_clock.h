/* check_clock.h: what `check` takes for ordered in kernels with mbarriers, named barriers or asynchronous
   work on shared memory (TMA, wgmma): vector clocks instead of the epochs of check_state.h.

   Each warp of a cluster has a clock, and knows how much of the others' it has seen. So have agents, which work
   for a warp while it goes on: copies that complete on a barrier (one agent for each barrier), wgmma and bulk
   copies of a warp. An event is stamped with its component and that one's clock; it is before what a warp does
   that has seen this clock.
   - arrive (mbarrier, named barrier, cluster) hands on all that the warp has seen; what an agent did up to then
     only if the warp has waited for it.
   - wait, when it goes on, takes over what was handed on for the phases that are complete. sync_threads does
     both for all warps of the block.
   - a copy with CT_AGENT_BAR is seen by those that wait for the phase of its barrier in which its bytes come.
   - wgmma is one agent for a warp group, whose warps commit the same groups; reads by CT_AGENT_WGMMA and CT_AGENT_BULK last until the warp has waited for their group
     (CT_SYNC_COMMIT, CT_SYNC_WAIT): only an arrive behind that lets others write there.
   - agents see what threads wrote by ordinary instructions after a CT_SYNC_PROXY behind the write, by the
     writer or by one that the write was handed on to: each warp has two clocks of each component, as
     seen by threads and as seen by agents.
   Lanes of one warp are ordered by sync_warp, as before, and by what its warp has handed on and waited for; what
   one lane hands on or waits for counts for its warp: more is taken for ordered than is, never less.

   The engine tells of barriers by ct_simt_note_sync (simt_watch.h). Accesses are those of simt_access.c, with
   CtAccess.agent set by what makes them for an asynchronous instruction; the watcher takes them when the
   instruction is issued. So tma and wgmma have to
   - make CtAccess of what they touch in shared memory, with agent (and bar, slot of CT_AGENT_BAR);
   - call ct_simt_mbar_complete_tx (simt_sync.h) for bytes that have come, which notes CT_SYNC_COMPLETE;
   - note CT_SYNC_COMMIT, CT_SYNC_WAIT (of the agent) and CT_SYNC_PROXY (fence_proxy_async) in their handlers. */
#ifndef CT_WATCH_CHECK_CLOCK_H
#define CT_WATCH_CHECK_CLOCK_H

#include "check_state.h"

/* At an mbarrier of another block; clock 0: none. */
typedef struct CtFarArrival {
  uint32_t clock, in, buf;
  int32_t thread;
  int64_t block, slot;
} CtFarArrival;

/* The last tma_store of a warp; clock 0: none. */
typedef struct CtLastStore {
  uint32_t clock, in, buf;
  int32_t thread;
} CtLastStore;

/* Rows of clocks: of n components, as seen by threads, then as seen by agents. */
struct CtClocks {
  uint32_t n, n_warps, n_slots, n_blocks;
  uint32_t *slot_of; /* by buffer: the first of its barriers among the block's; UINT32_MAX: none */
  uint32_t *warps;   /* rows, by rank and warp */
  uint32_t *acc,
      *done;       /* rows, by rank and slot: of the phase under way; of those that are complete */
  uint32_t *named; /* rows, likewise by rank and number: acc, done */
  uint32_t *cluster; /* rows, of the phases of odd and of even number */
  uint32_t phase;    /* the cluster's barrier: the newest that somebody arrived in */
  uint32_t *made;    /* by rank and slot: the clock of warp 0 when they were initialised */
  uint32_t
      *own; /* by rank and warp: its clock up to which all of its lanes have seen what they did */
  uint32_t *copies;    /* by rank and slot: completions so far */
  uint32_t *copied_in; /* likewise: the instruction of the last */
  CtFarArrival *far;   /* by rank and component: the last at a barrier of that block */
  CtLastStore *stores; /* by rank and warp */
  uint32_t *groups;    /* by rank, warp and agent (WGMMA, BULK): committed so far */
  uint32_t *
      readers; /* words, by granule of the worker's block, then warp of the cluster and whether an agent */
};

/* Is the program one for clocks? */
bool ct_clock_is_wanted(const CtSimtProgram *p);
/* Of a team, and the table of readers of one of its workers; false: no memory. */
CtClocks *ct_clock_open(CtCheck *c);
uint32_t *ct_clock_readers(CtCheck *c);
void ct_clock_begin_block(CtCheckWorker *k);
void ct_clock_end_cluster(
    CtCheckWorker *k);                   /* by the worker of any of its blocks; none has failed */
void ct_clock_barrier(CtCheckWorker *k); /* sync_threads */
void ct_clock_note_store(CtCheckWorker *k, const CtAccess *a); /* what a tma_store reads */
void ct_clock_end_block(CtCheckWorker *k);                     /* that has not failed */
/* An access to shared memory of a block of the cluster, which must have begun. */
void ct_clock_look_at_remote(CtCheckWorker *k, const CtAccess *a, const CtWorker *owner);
void ct_clock_sync(CtCheckWorker *k, const CtSyncNote *note);
#endif
