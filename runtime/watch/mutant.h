/* mutant.h: mutants of a program: one of its instructions that order something is left out, or orders less. */
#ifndef CT_WATCH_MUTANT_H
#define CT_WATCH_MUTANT_H

#include "runtime/simt/code/simt_program.h"

typedef enum CtMutant {
  /* Without these a launch may still do the same: `check --needless` tries them. */
  CT_NO_SYNC_THREADS,
  CT_NO_SYNC_WARP,
  CT_NO_CP_ASYNC_WAIT,
  CT_NO_FENCE,
  CT_NO_RELEASE,
  CT_NO_ACQUIRE,
  CT_NO_WGMMA_FENCE,
  CT_NO_WGMMA_WAIT,
  CT_NO_FENCE_PROXY,
  CT_NO_STORE_WAIT,
  CT_NO_STORE_DONE, /* it waits until the copies have read, not until they have written */
  CT_NO_MBARRIER_WAIT,
  CT_NO_NAMED_SYNC,
  CT_NO_NAMED_ARRIVE,
  CT_NO_CLUSTER,
  CT_NO_SYNC_GRID,
  CT_NO_TCGEN05_BEFORE,
  CT_NO_TCGEN05_AFTER,
  /* These test the check. */
  CT_NO_CP_ASYNC_COMMIT,
  CT_NO_STORE_COMMIT,
  CT_NO_WGMMA_COMMIT,
  CT_NO_TCGEN05_COMMIT,
  CT_NO_ARRIVAL,
  CT_NO_BYTES, /* an mbarrier expects none */
  CT_NO_GRID_WAIT,
  CT_FENCE_NOT_SC,  /* it acquires and releases */
  CT_SCOPE_NOT_SYS, /* the scope is that of the device */
  CT_N_MUTANTS,
  CT_N_NEEDLESS = CT_NO_TCGEN05_AFTER + 1
} CtMutant;

bool ct_may_have_mutants(const CtIn *code);
/* The mutants that the instruction has: bits 1 << CtMutant. */
uint32_t ct_mutants_of(const CtSimtProgram *p, uint32_t i);
CtIn ct_mutant(CtIn in, CtMutant mutant);
const char *ct_mutant_name(CtMutant mutant); /* of what is missing: "sync_threads()" */
/* The name of the mbarrier that the instruction works on; NULL: it works on none. */
const char *ct_mutant_object(const CtSimtProgram *p, uint32_t i);
/* Does the program have such an instruction? */
bool ct_program_has(const CtSimtProgram *p, CtSimtOp op);

#endif
