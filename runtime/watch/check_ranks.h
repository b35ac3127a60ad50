/* check_ranks.h: `check` of launches of several ranks that run at once (ct_simt_run_joint).

   Each launch is checked by a CtCheck of its own, a part, with its own workers and shadows of shared memory. The parts
   share the clock, the regions of global memory with their shadows, and what this file keeps.

   What orders two ranks. Launches of one rank come one after the other. Between ranks only scope "sys" orders: a
   release of that scope at an element, and an acquire of that scope at the same element. So, unlike within a launch
   (check_state.h), places count, and threads, as PTX's memory model has it:
   - A release is an atomic_store, or an atomic write after a fence of the same lane. It releases what its lane did
     before, and what it knows. Others of its warp need a sync_warp before it, others of its block a barrier.
   - An acquire is an atomic_load, or a fence after an atomic read of the same lane. Other lanes know it after a
     sync_warp, other warps after a barrier.
   - An atomic_store replaces what was released at the element; other atomic writes add to it.
   - What is released at scope "gpu" is for blocks of the same rank only. In this way, too, blocks of a rank hand on
     what they did and what they know. grid_barrier hands on both, of all blocks.
   - Flags in shared memory hand on in the same way between warps of a block.
   - In kernels with clocks (check_clock.h) mbarriers, named barriers and barriers of the cluster count as well. Copies
     of TMA are released if the warp has waited for them, cp.async if its warp has.
   - TMA sees what threads of another rank wrote only after a proxy fence on either side.

   A reach says: all that a warp's lanes did before a time, and what they knew of their cluster then. It also stands for
   earlier launches of its rank.

   Invariant: where this is coarser than the hardware, too much is taken for ordered. So a race may be missed, but
   none is invented. It is coarser in these: a sync_warp of some lanes counts for all; a lane that has fenced once counts
   at each later fence of its warp; with clocks, a lane hands on for its warp, flags in shared memory are one, and what a
   warp learned long ago all know; one proxy fence of a block counts for all of it. */
#ifndef CT_WATCH_CHECK_RANKS_H
#define CT_WATCH_CHECK_RANKS_H

#include "check_global.h"

/* What the parts of a check share; NULL: no memory. _close: did memory run out? */
CtRanks *ct_ranks_open(CtCheck *c);
bool ct_ranks_close(CtRanks *r);
/* The launches run together: sets up what they share, at the first launch's begin; the part's own share. */
CtStatus ct_ranks_begin(CtCheck *part, CtErr *err) CT_NODISCARD;
/* Is another worker of any launch at the write of this event? */
bool ct_ranks_is_writing(const CtCheckWorker *k, uint32_t number);
/* Does the older access, of another launch, come before what the lane does now? */
bool ct_ranks_is_before(const CtCheckWorker *k, const CtCheckEvent *old, int old_lane,
                        const CtCheckEvent *now, int lane);
/* Does TMA see what threads wrote in another launch? */
bool ct_ranks_is_seen(const CtCheckWorker *k, const CtCheckEvent *old, int old_lane,
                      const CtCheckEvent *now, int lane);
/* Do the two blocks release or acquire at scope "gpu" only, where "sys" would be needed? */
bool ct_ranks_lacks_scope(const CtCheckWorker *k, const CtCheckEvent *old);

/* A worker of a launch gets what it needs; false: no memory. */
bool ct_ranks_open_worker(CtCheckWorker *k) CT_NODISCARD;
/* A block begins, ends, comes to its barrier, to the grid's; a warp comes to its own. */
void ct_ranks_begin_block(CtCheckWorker *k);
void ct_ranks_end_block(CtCheckWorker *k);
void ct_ranks_barrier(CtCheckWorker *k);
void ct_ranks_sync_warp(CtCheckWorker *k, int32_t warp);
void ct_ranks_grid(CtCheckWorker *k, int64_t phase, bool passes);
/* An atomic operation is about to run, and its access is noted; the instruction ran; lanes come to a fence. */
void ct_ranks_atomic(CtCheckWorker *k, const CtAccess *a, CtOp op, unsigned order);
void ct_ranks_after(CtCheckWorker *k, int32_t warp);
void ct_ranks_fence(CtCheckWorker *k, int32_t warp, uint32_t lanes, bool is_sys);
void ct_ranks_close_worker(CtCheckWorker *k);

#endif
