/* simt_copy.h: copies that complete on a barrier, each to one block: loads by TMA, and what is sent to other blocks. A
   planned launch (simt_plan.h) keeps those that have begun. A copy moves nothing until it is completed. Then its bytes
   arrive, and its barrier is told. Copies to one barrier complete in the order in which they began. The value of an
   ST_ASYNC is there at once; only its barrier is told later. */
#ifndef CT_SIMT_COPY_H
#define CT_SIMT_COPY_H

#include "simt_run.h"

typedef struct CtSimtCopy {
  const CtIn *in;
  CtWarp *w;      /* it began the copy; it may have ended since */
  int lane, rank; /* of the block that gets it */
  uint32_t buf;   /* its barrier there */
  int64_t slot, bytes;
  void *box; /* what it moves; its own memory; NULL: an ST_ASYNC */
  size_t box_bytes;
  /* Moves the box and completes the bytes. False: the failure is recorded. */
  bool (*complete)(const struct CtSimtCopy *copy);
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

/* Begins a copy, and completes it if there is no plan that keeps it, with a copy of its box. False: as `complete`. */
bool ct_simt_copy_begin(const CtSimtCopy *copy);
/* Is no copy to the same barrier before this one? */
bool ct_simt_copy_is_next(const CtSimtCopies *copies, size_t i);
/* Completes one; a failure is one of the warp's block. */
void ct_simt_copy_end(CtAlloc alloc, CtSimtCopies *copies, const CtSimtCopy *copy);
bool ct_simt_copy_is_any(const CtSimtCopies *copies, const CtWorker *team);
/* Forgets those of a team; NULL: of all. */
void ct_simt_copy_drop(CtAlloc alloc, CtSimtCopies *copies, const CtWorker *team);

#endif
