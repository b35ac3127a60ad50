/* simt_sync.h: mbarriers as the CPU engine keeps them, in the shared memory of a block (PTX ISA, mbarrier).
   All warps of a block run on one thread of the host, in turn, so nothing here is atomic. */
#ifndef CT_SIMT_SYNC_H
#define CT_SIMT_SYNC_H

#include "simt_run.h"

/* An mbarrier, in 8 bytes. Shared memory begins as UNSET_BYTE, which is not a valid state. */
typedef struct CtMbar {
  /* bytes that the phase still needs; negative: more arrived than were expected so far */
  int32_t tx;
  /* the arrivals that it still needs, and flags. CT_MBAR_ODD: an odd number of phases is complete;
     CT_MBAR_TURNED: at least one is; CT_MBAR_SEEN: a wait has ended; CT_MBAR_MADE */
  uint32_t state;
} CtMbar;
enum {
  CT_MBAR_MAX = (1 << 20) - 1,
  CT_MBAR_ODD = 1 << 20,
  CT_MBAR_TURNED = 1 << 21,
  CT_MBAR_SEEN = 1 << 22
};
#define CT_MBAR_MADE 0x5B000000u

static inline bool ct_mbar_is_made(const CtMbar *b) {
  return (b->state >> 24) == CT_MBAR_MADE >> 24;
}
static inline uint32_t ct_mbar_missing(const CtMbar *b) { return b->state & CT_MBAR_MAX; }
/* Is the phase with this parity complete? It is if the current phase has the other parity. */
static inline bool ct_mbar_is_done(const CtMbar *b, int32_t parity) {
  return ((b->state & CT_MBAR_ODD) != 0) != (parity != 0);
}

/* Barrier `slot` of a buffer, in the warp's own block. */
static inline CtMbar *ct_mbar_at(const CtWarp *w, uint32_t buf, int64_t slot) {
  return (CtMbar *)(void *)(w->mem[buf].ptr + slot * (int64_t)sizeof(CtMbar));
}

/* The same barrier in the block of a rank of the warp's cluster. */
static inline CtMbar *ct_mbar_of(const CtWarp *w, int rank, uint32_t buf, int64_t slot) {
  const CtWorker *k = &w->worker->team[rank];
  char *at = k->shared + k->job->program->bufs[buf].at;
  return (CtMbar *)(void *)(at + slot * (int64_t)sizeof(CtMbar));
}

/* Call it when an asynchronous copy of a lane has written `bytes` bytes into the block of a rank
   of the cluster: it completes them on a barrier there. False: the failure is recorded, and the
   handler must return NULL. */
bool ct_simt_mbar_complete_at(CtWarp *w, const CtIn *in, int lane, int rank, uint32_t buf,
                              int64_t slot, int64_t bytes);

#endif
