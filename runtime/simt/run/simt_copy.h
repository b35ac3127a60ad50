/* simt_copy.h: copies that a planned launch (simt_plan.h) has begun and not completed: loads by TMA, each to
   one block. A copy moves nothing until it is completed. Then its bytes arrive, and its barrier is told. Copies
   to one barrier complete in the order in which they began. */
#ifndef CT_SIMT_COPY_H
#define CT_SIMT_COPY_H

#include "simt_run.h"

typedef struct CtSimtCopy {
  const CtIn *in;
  CtWarp *w;      /* it began the copy; it may have ended since */
  int lane, rank; /* of the block that gets it */
  uint32_t buf;   /* its barrier there */
  int64_t slot, bytes;
  void *box; /* what it moves; its own memory */
  size_t box_bytes;
  uint64_t number; /* among all copies of the run, from 0 */
  bool is_late;    /* for the plan: false when it begins */
} CtSimtCopy;

typedef struct CtSimtCopies {
  CtSimtCopy *list;
  size_t n, cap;
  uint64_t n_begun;
} CtSimtCopies;

static inline const CtWorker *ct_simt_copy_to(const CtSimtCopy *c) {
  return &c->w->worker->team[c->rank];
}

/* Keeps the copy, with a copy of its box, and tells the plan. False: out of memory; then it must be completed. */
bool ct_simt_copy_begin(const CtSimtCopy *copy);
/* Is no copy to the same barrier before this one? */
bool ct_simt_copy_is_next(const CtSimtCopies *copies, size_t i);
/* Completes one; a failure is one of the warp's block. */
void ct_simt_copy_end(CtAlloc alloc, CtSimtCopies *copies, const CtSimtCopy *copy);
bool ct_simt_copy_is_any(const CtSimtCopies *copies, const CtWorker *team);
/* Forgets those of a team; NULL: of all. */
void ct_simt_copy_drop(CtAlloc alloc, CtSimtCopies *copies, const CtWorker *team);

/* simt_tma.c: moves the box of a copy and completes its bytes. False: the failure is recorded. */
bool ct_simt_tma_complete(const CtSimtCopy *copy);

#endif
