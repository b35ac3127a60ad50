/* check_clock.h: what `check` takes for ordered in kernels with flags, mbarriers, named barriers or
   asynchronous work on shared memory (TMA, wgmma). It uses vector clocks instead of the epochs
   of check_state.h.

   Components. Each warp of a cluster has a clock. So has each agent, which works for a warp
   while the warp goes on. There is one agent for each mbarrier: the copies that complete on it.
   Each warp has three more: its products by wgmma, what its bulk copies read, and what they write.
   The four warps of a warp group share one agent for wgmma, because they commit the same groups.

   Rows. A row has one number for each component: how far that component's work is known. Each
   warp has a row, and each barrier has rows for what was handed to it. An event is stamped with
   its component and that component's clock. It comes before what a warp does now if the warp's
   row has reached the stamp.

   Handing on. These steps move knowledge from row to row, and nothing else does:
   - An arrive (at an mbarrier, a named barrier or the cluster's barrier) hands on all that the
     warp knows. The work of its agents is in that only if the warp has waited for it.
     So does the block's arrival at the grid's barrier, for each of its warps.
   - A wait that goes on takes over what was handed on in the phases that are complete.
     sync_threads does both for all warps of the block.
   - A copy with CT_AGENT_BAR becomes known to those who wait for the phase in which its bytes
     come. Of one to several blocks, each has its own phase; its source has been read when all are over
     (CtCheckEvent.ends). A store by ST_ASYNC also hands on what its warp knew when it began.
   - What flags hand on is in no row (check_flag.h); a moment that they hand on has the row of its
     warp.
   - Work of CT_AGENT_WGMMA and CT_AGENT_BULK becomes known to a warp that has waited for its
     group (CT_SYNC_COMMIT, CT_SYNC_WAIT). Until then its reads go on: only an arrive after the
     wait lets other warps write there. CT_AGENT_BULK_WRITE becomes known only if it waited until
     the copies are done (CtSyncNote.is_done), and not merely until they have read.
   - Products by tcgen05 (CT_AGENT_UMMA) become known to those who wait for a phase of an mbarrier
     at which a commit of their warp arrived. Copies of tensor memory (CT_AGENT_TMEM) are over at
     once; they are part of what their warp hands on after a CT_SYNC_BEFORE. What a warp takes over
     comes before its own accesses of tensor memory after a CT_SYNC_AFTER: a third view, which is
     not handed on (`tensor`).

   Two views. Agents do not see what threads wrote by ordinary instructions until a CT_SYNC_PROXY
   after the write. The writer may call it, or a warp to which the write was handed on. So each
   row is double: its first half is what threads see, its second half what agents see.

   An agent's access comes after a thread's only if both views say so. Lanes that call the fence
   without the others of their warp let agents see what all of the warp knows of each other; what
   else these lanes did is for agents a moment (check_known.h).

   Lanes. Lanes of one warp are ordered by sync_warp, by flags, and by what their warp handed on at
   a barrier and then waited for. Lanes that arrive without the others of their warp hand on what
   the lanes know of each other, and their own work as a moment (check_known.h). What lanes wait for
   without the others is in rows of their own until their warp meets at a sync_warp or a barrier.

   Invariant: where this is coarser than the hardware, as with lanes, too much is taken for
   ordered, never too little. So a race may be missed, but none is invented.

   What others must do. The engine tells of barriers by ct_simt_note_sync (simt_watch.h).
   Accesses are those of simt_access.c; an asynchronous instruction sets CtAccess.agent, and the
   watcher takes its accesses when the instruction is issued. So tma and wgmma have to
   - make a CtAccess of what they touch in shared memory, with its agent (and bar and slot of
     CT_AGENT_BAR);
   - call ct_simt_mbar_complete_at (simt_sync.h) for bytes that have come, which notes
     CT_SYNC_COMPLETE;
   - note CT_SYNC_COMMIT, CT_SYNC_WAIT (with the agent) and CT_SYNC_PROXY (fence_proxy_async) in
     their handlers. */
#ifndef CT_WATCH_CHECK_CLOCK_H
#define CT_WATCH_CHECK_CLOCK_H

#include "check_parts.h"

/* The last arrival of a component at an mbarrier of another block; clock 0: there was none. */
typedef struct CtFarArrival {
  uint32_t clock, in, buf;
  uint32_t phase; /* of the barrier */
  int32_t thread;
  int64_t block, slot;
} CtFarArrival;

/* The last tma_store of a warp, or from the memory of a block to an mbarrier of another block; clock 0: there was none. */
typedef struct CtLastStore {
  uint32_t clock, in, buf;
  uint32_t lanes; /* of a warp: all that have begun one */
  int32_t thread;
} CtLastStore;

/* What an ST_ASYNC hands on when its bytes come: what its warp knew when it began. */
typedef struct CtPromise {
  struct CtPromise *next;
  CtKnowledge *known;
  uint32_t clock; /* of the warp */
  uint32_t row[];
} CtPromise;

/* The clocks of a cluster. A row has 2 * n numbers: what threads see of the n components, then
   what agents see. Arrays "by rank and warp" hold the warps of all blocks of the cluster; a slot
   is one mbarrier of a block. */
struct CtClocks {
  uint32_t n, n_warps, n_slots, n_blocks, n_agents;
  uint32_t *slot_of; /* by buffer: the slot of its first barrier; UINT32_MAX: it has none */
  uint32_t *warps;   /* rows, by rank and warp */
  uint32_t *acc,
      *done;       /* rows, by rank and slot: handed on in the current phase; in complete ones */
  uint32_t *named; /* rows, by rank and number: the same two for each named barrier */
  uint32_t
      *cluster;   /* rows: handed on in the last even phase of its barrier; in the last odd one */
  uint32_t phase; /* the newest phase of the cluster's barrier in which a warp has arrived */
  uint32_t *grid, grid_phase; /* the same two of the grid's barrier */
  uint32_t *made;   /* by rank and slot: the clock of warp 0 when it initialised the barrier */
  uint32_t *own;    /* by rank and warp: the clock up to which its lanes know each other's work */
  uint32_t *begun;  /* by rank and slot: how many copies to the barrier have begun, */
  uint32_t *copies; /* and how many of these have completed, in the same order */
  uint32_t *copied_in;  /* by rank and slot: the instruction of the last one */
  CtPromise **promised; /* by rank and slot: of the stores under way, the oldest first */
  CtLastStore *sent;    /* by rank, and rank and slot of the barrier */
  CtArena ends;         /* CtCheckEvent.ends */
  uint32_t *turns;      /* by rank and slot: its complete phases */
  uint32_t
      *passed; /* by rank and slot: the phases that a warp of that block knows to be complete */
  CtFarArrival *far;   /* by rank and component: its last arrival at a barrier of that block */
  CtLastStore *stores; /* by rank and warp */
  /* beside the rows acc, done, named and cluster: what was handed on of that which flags told (check_known.h) */
  CtKnowledge **acc_known, **done_known, **named_known, **cluster_known;
  uint32_t *apart;      /* by rank and warp: lanes that waited without the others, */
  uint32_t **lane_rows; /* by rank, warp and lane: and what they took over; NULL: not used yet */
  uint32_t *groups;     /* by rank, warp and agent (from WGMMA on): groups committed so far */
  uint32_t *tensor;     /* by rank and warp, n numbers: what was known at its last CT_SYNC_AFTER */
};

/* The last reads of shared memory since it was written: columns of words by granule, for each warp of
   the cluster. Two lanes of a warp may read, so the last one is not enough. NULL: it has not been used yet. */
struct CtReaders {
  uint32_t **last;   /* two columns: by thread; by agent */
  uint32_t **others; /* one: by another lane than the last, if there is a last by thread */
  uint32_t **loads;  /* two, atomic: the last; by another lane. NULL: the program has none */
  CtRange *read;     /* of each column of `last`: what may have words of this block */
  struct CtGroupRead *group; /* check_touch.c */
};

/* Does the program need clocks, rather than epochs, for more than flags? */
bool ct_clock_is_wanted(const CtSimtProgram *p);
/* The clocks of a team of workers. NULL: no memory. */
CtClocks *ct_clock_open(CtCheck *c);
/* check_touch.c: the readers of one worker, whose clocks are open; false: no memory. A block begins. The numbers of events
   begin again. */
bool ct_touch_open(CtCheckWorker *k) CT_NODISCARD;
void ct_touch_close(const CtCheckWorker *k);
void ct_touch_begin_block(CtCheckWorker *k);
void ct_touch_forget(CtCheckWorker *k);
void ct_clock_close(CtCheckWorker *k);
void ct_clock_begin_block(CtCheckWorker *k);
void ct_clock_end_cluster(
    CtCheckWorker *k); /* any worker of the cluster may call it; none has failed */
void ct_clock_barrier(CtCheckWorker *k); /* sync_threads */
void ct_clock_sync_warp(CtCheckWorker *k, int32_t warp);
void ct_clock_note_store(CtCheckWorker *k, const CtAccess *a); /* what a tma_store reads */
void ct_clock_note_sent(CtCheckWorker *k,
                        const CtAccess *a); /* what a copy to another block reads */
/* By rank, the clocks of a copy that begins now to the barriers of these blocks; NULL: no memory. */
const uint32_t *ct_clock_ends(CtCheckWorker *k, const CtAccess *a, uint32_t ranks);
void ct_clock_end_block(CtCheckWorker *k); /* a block that has not failed */
/* Reports an access to the shared memory of another block if that block may not have begun. */
void ct_clock_look_at_remote(CtCheckWorker *k, const CtAccess *a, const CtWorker *owner);
void ct_clock_sync(CtCheckWorker *k, const CtSyncNote *note);

/* Of tensor memory: does the older access come before what the warp does there now? `in_order`: it does if it is the
   warp's own; of other work the warp must know, and have called a CT_SYNC_AFTER since. */
bool ct_clock_tensor_is_before(const CtCheckWorker *k, const CtCheckEvent *old, int32_t warp,
                               bool in_order);
/* The component and the clock of what the warp, or its agent, does now; does a warp know of that? */
uint32_t ct_clock_of(const CtCheckWorker *k, int32_t warp, CtAgent agent, uint32_t *component);
bool ct_clock_knows(const CtCheckWorker *k, int32_t warp, uint32_t component, uint32_t clock);

/* What a warp knows of each component; CT_ALL_WARPS: what one of the block knows. Of the warp itself: what its lanes
   know of each other. Behind that, what agents see. `out` has twice as many numbers as there are components. */
uint32_t ct_clock_width(const CtCheckWorker *k);
void ct_clock_snapshot(const CtCheckWorker *k, int32_t warp, uint32_t *out);
#endif
