/* explore.h: `check` of a launch in other orders of its blocks and warps (orders.h). */
#ifndef CT_WATCH_EXPLORE_H
#define CT_WATCH_EXPLORE_H

#include "check.h"

/* Runs a launch, or n > 0 of ranks at once, under the check, and then, from the same memory, in as many other orders
   as the check's options ask for. What only these find is added to the findings of the check. Afterwards memory holds
   what the first run left. The watchers of the entries do not count. */
CtStatus ct_explore(CtCheck *c, CtSimtEngine *engine, const CtSimtEntry *entries, size_t n,
                    CtErr *err) CT_NODISCARD;

/* Which orders of later launches run, besides the launch's own. */
typedef struct CtExploreOptions {
  int64_t n_orders;  /* so many of each launch; -1: all; 0: none are searched */
  int n_preemptions; /* only those in which so many warps are interrupted; -1: any number */
  uint64_t seed;     /* not 0: orders are drawn at random */
  bool has_schedule; /* only this one, which is copied */
  CtCheckSchedule schedule;
} CtExploreOptions;
CtStatus ct_explore_ask(CtCheck *c, const CtExploreOptions *options, CtErr *err) CT_NODISCARD;

/* What was explored of a launch. */
typedef struct CtExplored {
  const char *kernel;
  uint64_t launch;  /* its number among the checked ones, from 1 */
  uint64_t n_run;   /* orders that ran, the first one too */
  uint64_t n_same;  /* of these, so many were another one again */
  uint64_t n_left;  /* known, but not run */
  uint64_t n_found; /* of those that ran after the first run, so many showed something */
  int n_resident;   /* blocks that ran at the same time; 0: all */
  bool is_whole;    /* these are all orders there are */
  bool too_large;   /* too many warps or operations: nothing more is known */
} CtExplored;

size_t ct_explore_count(const CtCheck *c);
const CtExplored *ct_explored(const CtCheck *c, size_t i);

#endif
