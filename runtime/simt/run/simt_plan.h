/* simt_plan.h: launches of the CPU engine in an order that a plan chooses. One thread runs all warps. A warp
   stops before each operation by which warps meet (is_turn): atomic operations, mbarriers, named
   barriers, copies that complete on an mbarrier. The plan then says which of the warps that can go on does so,
   or which of the copies that were begun completes. The same choices give the same run.

   What a warp does between two such operations, it does at once, before the plan is asked again. Waits at
   sync_threads, of a cluster, a grid or a group of wgmma are no choices: they end when they can. */
#ifndef CT_SIMT_PLAN_H
#define CT_SIMT_PLAN_H

#include "simt_copy.h"
#include "simt_watch.h"

/* What may happen next: a warp goes on, or a copy that the warp began completes. */
typedef struct CtSimtTurn {
  CtWarp *w;
  CtSimtCopy *copy; /* NULL: the warp goes on */
} CtSimtTurn;

typedef struct CtSimtPlan CtSimtPlan;
struct CtSimtPlan {
  int n_resident; /* clusters of a launch that run at the same time, unless it is cooperative */
  CtSimtCopies copies; /* under way; a plan begins without */
  /* 0: requests for the work of other clusters get the next one, as long as there is one. Else some get the last one,
     and some get none: a GPU may refuse, and says nothing of the order. */
  uint64_t cancel_seed;
  /* One of n > 0 turns. A warp that can go on stands before an operation (CtWarp.at), or in a loop that waits and
     works (at is NULL). NULL: the launch ends here. */
  const CtSimtTurn *(*choose)(CtSimtPlan *plan, const CtSimtTurn *ready, int n);
  void (*began)(CtSimtPlan *plan, const CtSimtCopy *copy);
  void (*sync)(CtSimtPlan *plan, const CtSyncNote *note); /* as CtWatchOps.sync */
  void (*met)(CtSimtPlan *plan, CtWorker *k);             /* all warps of the block have met */
  void (*stuck)(CtSimtPlan *plan, const CtWarp *w);       /* nothing will let the warp go on */
  /* The warp goes back from `in` to `next`, in a loop that only waits. */
  void (*waits)(CtSimtPlan *plan, CtWarp *w, const CtIn *next, const CtIn *in);
};

/* Puts the plan between the bound code, watched or not, and its handlers, which `turns` keeps. */
void ct_simt_plan_code(const CtSimtJob *job, CtIn *code, CtHandler *turns);

/* Runs the launches of the group, all of them on this thread. */
void ct_simt_work_planned(CtSimtGroup *g);

#endif
