/* check_ranks.h: `check` of launches of several ranks that run at once (ct_simt_run_joint).

   Each launch is checked by a CtCheck of its own, a part, with its own workers and shadows of shared memory. The parts
   share the clock, the regions of global memory with their shadows, and what this file keeps.

   What orders two ranks. Launches of one rank come one after the other: a block knows what its rank's launches before
   knew at their ends. Between ranks flags order (check_flag.h), and the barriers of a kernel hand on what they told.
   Copies of TMA are released if the warp has waited until they are done, cp.async if its warp has. TMA sees what
   threads of another rank wrote only after a proxy fence on either side.

   Invariant: where this is coarser than the hardware, too much is taken for ordered. So a race may be missed, but none
   is invented. It is coarser in this: one proxy fence of a block counts for all of it. */
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
/* The same, where two atomic operations of scope "sys" are not in order because both are atomic. */
bool ct_ranks_has_order(const CtCheckWorker *k, const CtCheckEvent *old, int old_lane,
                        const CtCheckEvent *now, int lane);
/* Does TMA see what threads wrote in another launch? */
bool ct_ranks_is_seen(const CtCheckWorker *k, const CtCheckEvent *old, const CtCheckEvent *now,
                      int lane);
/* Do the two blocks release or acquire at scope "gpu" only, where "sys" would be needed? */
bool ct_ranks_lacks_scope(const CtCheckWorker *k, const CtCheckEvent *old);

/* What flags order, for all parts. */
CtFlags *ct_ranks_flags(const CtCheck *part);
/* What a block of the launch knows from the beginning; a block ends. */
CtKnowledge *ct_ranks_base(CtCheckWorker *k);
void ct_ranks_end_block(CtCheckWorker *k);

#endif
