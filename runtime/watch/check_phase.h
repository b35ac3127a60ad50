/* check_phase.h: phases of mbarriers, for `check`: how many are complete, and for which of them
   each warp has waited. A wait sees only the parity of a phase. If a warp waits for a phase when
   the next one is complete too, it really waits for the phase after that. This is not a fault in
   itself, because a warp may join later. But the message of a deadlock mentions it. */
#ifndef CT_WATCH_CHECK_PHASE_H
#define CT_WATCH_CHECK_PHASE_H

#include "check_parts.h"

/* The phases of a team of workers, in kernels with clocks; NULL: no memory. */
CtPhases *ct_phase_open(CtCheck *c, const CtClocks *clocks);
void ct_phase_begin_block(CtCheckWorker *k);
void ct_phase_sync(CtCheckWorker *k, const CtSyncNote *note);
/* For a block that waits for ever: writes "; " and which waits came too late, or nothing. */
void ct_phase_text(const CtCheckWorker *k, char *out, size_t size);

#endif
