/* needless.h: `check` of a launch without one of its barriers, fences, waits or memory orders at a time: which of them
   can go without a new finding and with the same results. */
#ifndef CT_WATCH_NEEDLESS_H
#define CT_WATCH_NEEDLESS_H

#include "explore.h"

/* A place in a script that orders something, whichever kernels run it. */
typedef struct CtNeedless {
  const char *chunk;
  int line;
  const char *what;    /* "sync_threads()" */
  bool has_atomics;    /* so has a kernel that runs it: one of them may need it to see another */
  uint64_t n_launches; /* that ran it and were judged */
  bool is_needed;      /* in one of these */
} CtNeedless;

/* From now on ct_needless_run judges launches. */
void ct_needless_ask(CtCheck *c);

/* ct_explore, and then, if asked, for each place that the launch ran: the same without it, from the same memory, with
   findings that are not those of `c`. A launch in which something was found is not judged, nor one
   that runs beside others. Atomic operations run one
   after the other and do not race, so no run shows that one of them needs an order to see another. */
CtStatus ct_needless_run(CtCheck *c, CtSimtEngine *engine, const CtSimtEntry *entries, size_t n,
                         CtErr *err) CT_NODISCARD;

size_t ct_needless_count(const CtCheck *c);
const CtNeedless *ct_needless(const CtCheck *c, size_t i);
uint64_t ct_needless_judged(const CtCheck *c); /* launches */

#endif
