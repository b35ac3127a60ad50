/* check_before.h: the rule of docs/memory_order.md: does an access come before another of the same launch? It is one
   answer for the memory of a block, of other blocks of its cluster, and of all blocks. An access comes before what a
   lane does now
   - if the same lane made it, or another lane of its warp, and a sync_warp came between; one of some lanes is taken
     for one of all. Nothing else orders lanes: not the order in which the engine runs them, nor shuffles or votes;
   - if a sync_threads of its block came between;
   - if the clocks say so (check_clock.h): mbarriers, named barriers, groups of asynchronous work, cluster and grid;
   - if the lane knows of it by flags (check_flag.h).
   Between ranks, check_ranks.h answers.

   Who asks differs in what it keeps of older accesses, because their memory does. Shared memory is small and is
   written anew in each phase: check_touch.c keeps columns of the last readers, by granule. Global memory is large, and
   most of it is accessed once: check_global.c keeps the latest accesses of each kind, by line. A kernel without clocks
   compares reads of shared memory only at their barrier (check_shadow.c): under clocks, softmax takes 1.5 times as long,
   and products 16 to 40 times. It asks for what each lane knew then, which a view has kept. */
#ifndef CT_WATCH_CHECK_BEFORE_H
#define CT_WATCH_CHECK_BEFORE_H

#include "check_clock.h"

/* The lanes of an older access and of what is done now. */
typedef struct CtLanePair {
  int old, now;
} CtLanePair;

/* All lanes together, each and itself; {CT_ANY_LANE, lane or CT_NO_LANE}: any lane, and this one or all. If it is false
   of these, it may yet be true of two lanes. */
static const CtLanePair ct_same_lanes = {CT_NO_LANE, CT_NO_LANE};

/* k is the worker of the block that does `now`. `awaited`: only a wait says that the older access is over, as of
   asynchronous work. `by_agent`: an agent does `now`, and needs a proxy fence. */
bool ct_is_before(const CtCheckWorker *k, const CtCheckEvent *old, const CtCheckEvent *now,
                  CtLanePair lanes, bool awaited, bool by_agent);

/* The first reason, alone. */
static inline bool ct_is_before_in_warp(const CtCheckEvent *old, const CtCheckEvent *now,
                                        CtLanePair lanes) {
  return old->warp == now->warp && (lanes.old == lanes.now || old->sub != now->sub);
}

#endif
