/* needless.h: `check` of a launch without one of its barriers, fences, waits or memory orders at a time: which of them
   can go without a new finding and with the same results. */
#ifndef CT_WATCH_NEEDLESS_H
#define CT_WATCH_NEEDLESS_H

#include "explore.h"

/* A place in a script that orders something, whichever kernels run it. */
typedef struct CtNeedless {
  const char *chunk;
  int line;
  uint32_t at;         /* 0: all of the line; else one instruction of the kernel */
  const char *what;    /* "sync_threads()": ct_mutant_name */
  const char *object;  /* the name of the mbarrier that it is of; NULL: of none */
  const char *kernel;  /* one that runs it */
  bool has_atomics;    /* so has a kernel that runs it: one of them may need it to see another */
  uint64_t n_launches; /* that ran it and were judged */
  bool is_needed;      /* in one of these */
  const char
      *text; /* what was found without it; NULL: nothing. If it is needed, the results differ */
} CtNeedless;

/* From now on ct_needless_run judges launches. tries_mutants: all mutants, also launches of ranks, and until something is
   found, not only until results differ. Launches that are not judged say which places they have. tries_each: each
   instruction is a place, as what an operator of the library does has the line that calls it. */
void ct_needless_ask(CtCheck *c, bool tries_mutants, bool tries_each);
/* From now on each launch runs without the place. */
CtStatus ct_needless_without(CtCheck *c, const CtNeedless *place, CtErr *err) CT_NODISCARD;

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
