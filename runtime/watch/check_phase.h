/* check_phase.h: phases of mbarriers, for `check`: how many are complete, and which of them each warp has waited
   for. A barrier tells a wait parities only: who waits for a phase after the next one is complete, too, waits for one
   that is still to come. That is no fault in itself, as a warp may join later; a deadlock's message tells it. */
#ifndef CT_WATCH_CHECK_PHASE_H
#define CT_WATCH_CHECK_PHASE_H

#include "check_state.h"

/* Of a team, in kernels with clocks; NULL: no memory. */
CtPhases *ct_phase_open(CtCheck *c, const CtClocks *clocks);
void ct_phase_begin_block(CtCheckWorker *k);
void ct_phase_sync(CtCheckWorker *k, const CtSyncNote *note);
/* Of a block that waits for ever: which waits came too late, after "; ". Empty: none. */
void ct_phase_text(const CtCheckWorker *k, char *out, size_t size);

#endif
