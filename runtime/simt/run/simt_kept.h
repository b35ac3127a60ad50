/* simt_kept.h: what global memory held before launches of the CPU engine, so that the same launches can run
   again from there. */
#ifndef CT_SIMT_KEPT_H
#define CT_SIMT_KEPT_H

#include "simt_run.h"

typedef struct CtSimtKept {
  CtAlloc alloc;
  CtSimtSpan *spans; /* what the launches may write: in order, none overlapping */
  size_t n, cap;
  char *bytes; /* of all spans, one after the other */
  size_t n_bytes;
} CtSimtKept;

/* Puts spans in order, and joins those that overlap, as of memory that was lent twice; returns how many there are. */
size_t ct_simt_join(CtSimtSpan *spans, size_t n);

/* Keeps what the launches may write. On failure nothing is kept. */
CtStatus ct_simt_keep(CtAlloc alloc, const CtSimtEntry *entries, size_t n, CtSimtKept *out,
                      CtErr *err) CT_NODISCARD;
/* Memory holds again what was kept. */
void ct_simt_put_back(const CtSimtKept *kept);
/* The first byte in which memory differs from what was kept, or NULL. */
const char *ct_simt_first_change(const CtSimtKept *kept);
/* Where it keeps the byte at this address. */
const char *ct_simt_kept_at(const CtSimtKept *kept, const char *at);
void ct_simt_drop(CtSimtKept *kept);

#endif
