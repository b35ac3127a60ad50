/* simt_next.h: the back edge of a loop that counts scalars, for NEXT and for its variants. */
#ifndef CT_SIMT_NEXT_H
#define CT_SIMT_NEXT_H

#include "simt_run.h"

/* True: run the next iteration. Else *out is the next instruction, or NULL if the launch stops. */
static inline bool ct_simt_next(const CtIn *in, CtWarp *w, const CtIn **out) {
  CtScalar *index = CT_AT(CtScalar, w, in->d), *left = CT_AT(CtScalar, w, in->a);
  *out = in + 1;
  if (w->mask == 0) {
    return false;
  }
  if (ct_simt_stopping(w)) {
    *out = ct_simt_fail_kind(w, in, ct_first_lane(w->mask), CT_FAIL_STOPPED);
    return false;
  }
  left->i = (int64_t)((uint64_t)left->i - 1); /* up to 2^64 - 1 iterations */
  if (left->i == 0) {
    return false;
  }
  index->i = (int64_t)((uint64_t)index->i + (uint64_t)CT_CAT(CtScalar, w, in->b)->i);
  return true;
}

#endif
