/* simt.h: the CPU engine: a SIMT machine that runs a finished IR.

   A warp of 32 lanes is the unit: an instruction works on 32-lane vectors, divergence is a lane mask,
   a warp runs until a barrier; blocks spread over threads. Every access is bounds-checked. */
#ifndef CT_SIMT_H
#define CT_SIMT_H

#include "runtime/simt/code/simt_launch.h"

typedef struct CtSimtEngine CtSimtEngine; /* a pool of threads; any number of engines may exist */

/* n_threads 0: one per core that this process may use. isa NULL: the best this CPU has, else "base",
   "avx2", "avx512" (an error where the CPU lacks it). */
CtStatus ct_simt_open(CtAlloc alloc, int n_threads, const char *isa, CtSimtEngine **out,
                      CtErr *err) CT_NODISCARD;
void ct_simt_close(CtSimtEngine *e);
int ct_simt_threads(const CtSimtEngine *e);
const char *ct_simt_isa(const CtSimtEngine *e);

CtStatus ct_simt_lower(CtAlloc alloc, const CtIr *ir, CtSimtProgram **out, CtErr *err) CT_NODISCARD;

/* Runs to completion. An out-of-bounds access, a deadlock or an interrupt stops all blocks; the error
   names tensor, coordinate, thread, block and script line. */
CtStatus ct_simt_run(CtSimtEngine *e, const CtSimtProgram *p, const CtSimtLaunch *launch,
                     CtErr *err) CT_NODISCARD;

/* Runs launches of several ranks to completion, at the same time, so that their blocks may wait for each other. The
   entries come in the order of ranks. Launches of one rank run one after the other; if one fails, the later ones do
   not begin. sync_grid counts within each launch. The error is that of the first launch that failed, and names
   its rank. */
CtStatus ct_simt_run_joint(CtSimtEngine *e, const CtSimtEntry *entries, size_t n,
                           CtErr *err) CT_NODISCARD;

/* Either of them, in the order that the plan chooses (simt_plan.h); NULL: in none. One launch may have rank -1. */
struct CtSimtPlan;
CtStatus ct_simt_run_planned(CtSimtEngine *e, const CtSimtEntry *entries, size_t n,
                             struct CtSimtPlan *plan, CtErr *err) CT_NODISCARD;

#endif
