/* check_known.h: what a thread knows of the work of others: a vector clock over the lanes of a launch, or of the
   launches of ranks that run together.

   A moment stands for a point in the work of lanes of one warp: all that their block did before its barrier number
   `epoch`, what their warp did before its sync_warp number `sub`, and what these lanes themselves did before `time`. In
   kernels with clocks it also has a row: how far the work of each component of the cluster was known there
   (check_clock.h). So a block whose threads have met needs one moment, and lanes have moments of their own only where
   they went apart.

   Agents, which need a proxy fence (check_clock.h), see what moments for agents say: those that a thread knew at such a
   fence, and its own. They are known, and handed on, beside the others: some for shared memory, some for global memory.

   Of one block only the moments of the latest epoch count, and of one warp those of the latest `sub`: they stand for
   what came before.

   Knowledge never changes once it is made, so threads, flags and barriers share it, and its pages, by counting
   references. A page has the moments of neighbouring blocks. NULL: nothing is known. */
#ifndef CT_WATCH_CHECK_KNOWN_H
#define CT_WATCH_CHECK_KNOWN_H

#include "check_parts.h"

/* The warp of a block. `home`: the first block of its cluster; `rank`: its own in the cluster. */
enum { CT_WHO_WARP_BITS = 5, CT_WHO_RANK_BITS = 5, CT_WHO_HOME_BITS = 38 };
#define CT_WHO_FOR_AGENTS (UINT64_C(1) << 63)
#define CT_WHO_FOR_TMA (UINT64_C(1) << 62) /* in global memory */
static inline uint64_t ct_known_who(int job, int64_t home, int rank, int32_t warp) {
  return ((((uint64_t)job << CT_WHO_HOME_BITS | (uint64_t)home) << CT_WHO_RANK_BITS |
           (uint64_t)rank)
          << CT_WHO_WARP_BITS) |
         (uint64_t)warp;
}

CtKnowledge *ct_known_share(CtKnowledge *k); /* one more reference; returns it */
void ct_known_drop(CtAlloc alloc, CtKnowledge *k);
/* Drops *to, which becomes NULL. */
void ct_known_clear(CtAlloc alloc, CtKnowledge **to);
/* *to also has what `more` has, or the moment. False: no memory, and *to is as before. */
bool ct_known_join(CtAlloc alloc, CtKnowledge **to, CtKnowledge *more) CT_NODISCARD;
bool ct_known_add(CtAlloc alloc, CtKnowledge **to, const CtMoment *m) CT_NODISCARD;
/* *to also has, for agents, the moments of that cluster, the `who` of its first warp, which `from` has. */
bool ct_known_add_for_agents(CtAlloc alloc, CtKnowledge **to, const CtKnowledge *from,
                             uint64_t first) CT_NODISCARD;
/* The same for TMA in global memory, of all clusters. */
bool ct_known_add_for_tma(CtAlloc alloc, CtKnowledge **to, const CtKnowledge *from) CT_NODISCARD;
/* A thread that knows this comes after a grid_dependency_wait. */
bool ct_known_set_behind(CtAlloc alloc, CtKnowledge **to) CT_NODISCARD;
bool ct_known_is_behind(const CtKnowledge *k);

/* Is the event over, for those who know this? `lane`: who did it. The other: do their agents see it? */
bool ct_known_covers(const CtKnowledge *k, const CtCheckEvent *old, int lane);
bool ct_known_covers_for_agents(const CtKnowledge *k, const CtCheckEvent *old, int lane);
bool ct_known_covers_for_tma(const CtKnowledge *k, const CtCheckEvent *old, int lane);
/* Is a moment of lanes known of the block of that `who`, in that epoch or later? */
bool ct_known_has_news_of(const CtKnowledge *k, uint64_t who, uint32_t epoch);
/* Is a moment known of a launch with a number from `first` on, but before `end`? */
bool ct_known_has_job(const CtKnowledge *k, int first, int end);

#endif
