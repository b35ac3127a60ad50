/* check_ranks.h: `check` of launches of several ranks that run at once (ct_simt_run_joint).

   Each launch is checked by a CtCheck of its own, a part, with its own workers and shadows of shared memory. The parts
   share the clock, the regions of global memory with their shadows, and what this file keeps.

   What orders two ranks. Launches of one rank come one after the other. Between ranks only scope "sys" orders: a
   release of that scope at an element, and an acquire of that scope at the same element. So, unlike within a launch
   (check_state.h), places count. An element keeps what was released there, and a block learns it when it acquires
   there. A release hands on what its block has learned, so order goes from rank to rank. What is released at scope
   "gpu" is for blocks of the same rank only. grid_barrier hands on what the blocks of a launch have learned.

   A reach says: all that a warp of a block did before a time. It also stands for
   - other warps of that block, as far as a barrier came between them and the release;
   - other blocks of its launch that released before, if the block acquired before its own release;
   - earlier launches of its rank.
   What one warp of a block has learned, the others know after the next barrier of the block.

   Invariant: where this is coarser than the hardware, too much is taken for ordered. So a race may be missed, but
   none is invented. It is coarser for blocks of a cluster, which count as one, for kernels with mbarriers or named
   barriers, whose warps need no barrier of the block, and for copies of TMA, which count when they are issued. */
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
/* Does the older access, of another launch, come before what the worker does now? */
bool ct_ranks_is_before(const CtCheckWorker *k, const CtCheckEvent *old, const CtCheckEvent *now);
/* Do the two blocks release or acquire at scope "gpu" only, where "sys" would be needed? */
bool ct_ranks_lacks_scope(const CtCheckWorker *k, const CtCheckEvent *old);

/* A block begins, ends, comes to its barrier, to the grid's. */
void ct_ranks_begin_block(CtCheckWorker *k);
void ct_ranks_end_block(CtCheckWorker *k);
void ct_ranks_barrier(CtCheckWorker *k);
void ct_ranks_grid(CtCheckWorker *k, int64_t phase, bool passes);
/* An atomic operation on global memory is about to run; the access is noted, and a release at `time` follows it
   (0: none). After the instruction ran; a fence. */
void ct_ranks_atomic(CtCheckWorker *k, const CtAccess *a, CtOp op, unsigned order);
void ct_ranks_after(CtCheckWorker *k, int32_t warp);
void ct_ranks_fence(CtCheckWorker *k, int32_t warp, bool is_sys);
void ct_ranks_close_worker(CtCheckWorker *k);

#endif
