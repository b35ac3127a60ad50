/* check_before.c: see check_before.h. */
#include "check_before.h"

#include "check_clock_row.h"
#include "check_flag.h"

/* Does the warp know that a copy to several blocks is over in each? */
static bool has_ended(const CtCheckWorker *k, const CtCheckEvent *e, int32_t warp, int lane) {
  const CtClocks *c = k->clocks;
  uint32_t slot = e->component % ct_clock_per_block(c) - c->n_warps;
  bool has = true;
  for (int rank = 0; rank < (int)c->n_blocks && has; rank++) {
    has = e->ends[rank] == 0 ||
          ct_clock_is_before(k, ct_clock_of_slot(c, rank, slot), e->ends[rank], warp, lane, false);
  }
  return has;
}

/* Do the clocks of a cluster say so? Of another block's copy, they say when it was over. */
static bool is_before_by_clock(const CtCheckWorker *k, const CtCheckEvent *old,
                               const CtCheckEvent *now, int lane, bool by_agent) {
  CtEventEnd end = {.component = old->component, .clock = old->clock};
  return k->clocks != NULL && old->home == now->home &&
         (old->block == now->block || ct_check_end_of(old, &end)) &&
         (old->ends != NULL
              ? has_ended(k, old, now->warp, lane)
              : ct_clock_is_before(k, old->component, end.clock, now->warp, lane, by_agent));
}

/* The threads know of the older access. So do agents, if its warp or a thread of the cluster that knew of it called a
   fence since. */
static bool sees(const CtCheckWorker *k, const CtCheckEvent *old, int old_lane) {
  bool has = ct_clock_has_fenced(k->clocks, old);
  for (int rank = 0; rank < (int)k->clocks->n_blocks && !has; rank++) {
    has = ct_flag_agents_know(ct_check_worker(&k->k->team[rank]), old, old_lane);
  }
  return has;
}

static bool is_before_by_flag(const CtCheckWorker *k, const CtCheckEvent *old,
                              const CtCheckEvent *now, CtLanePair lanes, bool by_agent) {
  if (lanes.old >= 0 && lanes.now >= 0) {
    return ct_flag_knows(k, now->warp, lanes.now, old, lanes.old) &&
           (!by_agent || sees(k, old, lanes.old));
  }
  bool knows = lanes.old == CT_NO_LANE;
  for (int lane = 0; lane < CT_LANES && knows; lane++) {
    knows = ct_flag_knows(k, now->warp, lane, old, lane);
  }
  return knows;
}

bool ct_is_before(const CtCheckWorker *k, const CtCheckEvent *old, const CtCheckEvent *now,
                  CtLanePair lanes, bool awaited, bool by_agent) {
  bool in_block = old->block == now->block && !awaited && !by_agent;
  return (in_block && (old->epoch != now->epoch || ct_is_before_in_warp(old, now, lanes))) ||
         is_before_by_clock(k, old, now, lanes.now, by_agent) ||
         is_before_by_flag(k, old, now, lanes, by_agent);
}
