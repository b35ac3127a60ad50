/* profile_state.h: what `profile` keeps, for profile.c, which counts, and profile_memory.c, which makes room. */
#ifndef CT_WATCH_PROFILE_STATE_H
#define CT_WATCH_PROFILE_STATE_H

#include "profile_rows.h"

struct CtProfile {
  CtSimtWatch watch; /* first */
  CtAlloc alloc;
  uint64_t tag;
  int64_t n_blocks; /* how many blocks run; 0: all */
  bool is_spread;   /* over the grid */
  bool merges;
  uint32_t n_patterns;
  CtProfileRows **programs;
  size_t n, cap;
  CtProfileWorker *workers;
  size_t n_workers, cap_workers;
  CtProfileCache *caches; /* by thread */
  size_t cap_caches;
  bool no_memory; /* for lack of memory something was not recorded */
  CtProfile *of;  /* of a part: whose programs it counts for; NULL: its own */
  CtProfile **parts;
  size_t n_parts, n_made, cap_parts; /* in use, made */
  /* From here on: the current launch. */
  CtProfileRows *now;
  int64_t *n_sectors; /* by param */
  size_t cap_sectors;
  CtProfileJob job;
};

/* Of the marks of so many sectors. */
static inline size_t ct_profile_pages(const CtProfile *p, int64_t n_sectors) {
  int64_t n_words = p->job.has_bits ? ct_ceildiv(n_sectors, 32) : n_sectors;
  return (size_t)ct_ceildiv(n_words, CT_PROFILE_PAGE);
}

/* Makes the counts of a launch's workers, with nothing in them: pages and tables of the launch before serve again. */
CtStatus ct_profile_prepare(CtProfile *p, const CtSimtJob *job, CtErr *err) CT_NODISCARD;
/* Frees what workers and their threads count in. */
void ct_profile_free_workers(CtProfile *p);

#endif
