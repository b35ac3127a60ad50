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
                               const CtCheckEvent *now, int lane) {
  CtEventEnd end = {.component = old->component, .clock = old->clock};
  return k->clocks != NULL && old->home == now->home &&
         (old->block == now->block || ct_check_end_of(old, &end)) &&
         (old->ends != NULL
              ? has_ended(k, old, now->warp, lane)
              : ct_clock_is_before(k, old->component, end.clock, now->warp, lane, false));
}

typedef bool Knows(const CtCheckWorker *k, int32_t warp, int lane, const CtCheckEvent *old,
                   int old_lane);

/* Is it so by what flags told the lane, or each lane? */
static bool is_so_by_flag(const CtCheckWorker *k, const CtCheckEvent *old, int32_t warp,
                          CtLanePair lanes, Knows *knows) {
  if (lanes.old >= 0 && lanes.now >= 0) {
    return knows(k, warp, lanes.now, old, lanes.old);
  }
  bool is_so = lanes.old == CT_NO_LANE;
  for (int lane = 0; lane < CT_LANES && is_so; lane++) {
    is_so = knows(k, warp, lane, old, lane);
  }
  return is_so;
}

/* Do agents see it, by a fence of who made the access, or of who knew of it? */
static bool is_seen(const CtCheckWorker *k, const CtCheckEvent *old, int32_t warp,
                    CtLanePair lanes) {
  return ct_clock_is_before(k, old->component, old->clock, warp, lanes.now, true) ||
         is_so_by_flag(k, old, warp, lanes, ct_flag_agents_see);
}

/* All lanes take part in a product of their warp. */
static bool is_before_product(const CtCheckEvent *old, const CtCheckEvent *now) {
  return now->agent == CT_AGENT_WGMMA && old->warp == now->warp;
}

bool ct_is_before(const CtCheckWorker *k, const CtCheckEvent *old, const CtCheckEvent *now,
                  CtLanePair lanes, bool awaited, bool by_agent) {
  bool in_block = old->block == now->block && !awaited;
  bool is_known = (in_block && (old->epoch != now->epoch || ct_is_before_in_warp(old, now, lanes) ||
                                (by_agent && is_before_product(old, now)))) ||
                  is_before_by_clock(k, old, now, lanes.now) ||
                  is_so_by_flag(k, old, now->warp, lanes, ct_flag_knows);
  return is_known && (!by_agent || is_seen(k, old, now->warp, lanes));
}
