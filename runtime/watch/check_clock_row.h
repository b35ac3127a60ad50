/* check_clock_row.h: where vector clocks keep whose clock, for check_clock.c, which orders by them, and
   check_clock_find.c, which reports what they leave unordered. */
#ifndef CT_WATCH_CHECK_CLOCK_ROW_H
#define CT_WATCH_CHECK_CLOCK_ROW_H

#include "check_clock.h"

/* Of each warp: WGMMA, BULK, BULK_WRITE; in programs with tensor memory UMMA and TMEM, too. */
enum { CT_CLOCK_AGENTS = 3, CT_CLOCK_AGENTS_OF_TCGEN05 = 5 };
enum { CT_CLOCK_GROUP = 4 }; /* warps of a warp group */

/* A row has a clock for each component of a cluster: the warps of each block, its mbarriers, its agents. */
static inline uint32_t ct_clock_per_block(const CtClocks *c) {
  return c->n_warps + c->n_slots + c->n_agents * c->n_warps;
}

static inline uint32_t ct_clock_of_warp(const CtClocks *c, int rank, int32_t warp) {
  return (uint32_t)rank * ct_clock_per_block(c) + (uint32_t)warp;
}
static inline uint32_t ct_clock_of_slot(const CtClocks *c, int rank, uint32_t slot) {
  return (uint32_t)rank * ct_clock_per_block(c) + c->n_warps + slot;
}
/* The four warps of a warp group share one agent for wgmma: if one of them has waited, all
   products are done. */
static inline uint32_t ct_clock_of_agent(const CtClocks *c, int rank, int32_t warp, CtAgent agent) {
  warp -= agent == CT_AGENT_WGMMA ? warp % CT_CLOCK_GROUP : 0;
  return (uint32_t)rank * ct_clock_per_block(c) + c->n_warps + c->n_slots +
         (uint32_t)(agent - CT_AGENT_WGMMA) * c->n_warps + (uint32_t)warp;
}

static inline uint32_t *ct_clock_row(const CtClocks *c, uint32_t *rows, size_t i) {
  return &rows[i * 2 * c->n];
}
static inline uint32_t *ct_clock_warp_row(const CtClocks *c, int rank, int32_t warp) {
  return ct_clock_row(c, c->warps, (size_t)rank * c->n_warps + (size_t)warp);
}
static inline size_t ct_clock_slot_index(const CtClocks *c, int rank, uint32_t buf, int64_t slot) {
  return (size_t)rank * c->n_slots + c->slot_of[buf] + (size_t)slot;
}

/* What a copy reads and what it writes are of one group. */
static inline uint32_t *ct_clock_groups_of(const CtClocks *c, int rank, int32_t warp,
                                           CtAgent agent) {
  agent = agent == CT_AGENT_BULK_WRITE ? CT_AGENT_BULK : agent;
  size_t i = (size_t)rank * c->n_warps + (size_t)warp;
  return &c->groups[i * c->n_agents + (size_t)(agent - CT_AGENT_WGMMA)];
}

/* The lanes of the warp that have a row of their own: they waited without the others. */
static inline uint32_t *ct_clock_apart_of(const CtClocks *c, int rank, int32_t warp) {
  return &c->apart[(size_t)rank * c->n_warps + (size_t)warp];
}
static inline uint32_t **ct_clock_lane_row(const CtClocks *c, int rank, int32_t warp, int lane) {
  return &c->lane_rows[((size_t)rank * c->n_warps + (size_t)warp) * CT_LANES + (size_t)lane];
}

/* Has one of these lanes that are apart heard of the component at that clock? */
static inline bool ct_clock_has_reached(const CtClocks *c, int rank, int32_t warp, int lane,
                                        uint32_t component, uint32_t clock) {
  uint32_t rest = *ct_clock_apart_of(c, rank, warp);
  rest &= lane == CT_ANY_LANE ? CT_ALL_LANES : lane == CT_NO_LANE ? 0 : 1u << lane;
  bool has = false;
  for (; rest != 0 && !has; rest &= rest - 1) {
    has = (*ct_clock_lane_row(c, rank, warp, ct_first_lane(rest)))[component] >= clock;
  }
  return has;
}

/* Reports a use of an mbarrier by a warp that does not know of its initialisation. */
void ct_clock_look_at_use(CtCheckWorker *k, const CtSyncNote *note, size_t slot);
/* Keeps the last arrival at a barrier of another block: that block must not end before it. */
void ct_clock_keep_far(CtCheckWorker *k, const CtSyncNote *note, uint32_t component,
                       uint32_t clock);

/* check_clock_open.c: forgets n of these. */
void ct_clock_clear_known(const CtCheckWorker *k, CtKnowledge **known, size_t n);

/* check_clock_copy.c. An ST_ASYNC begins: adds an empty promise, or NULL, without memory; forgets the oldest one of a list,
   or all of these slots. */
CtPromise *ct_clock_add_promise(CtCheckWorker *k, size_t slot);
void ct_clock_forget_promise(const CtCheckWorker *k, CtPromise **at);
void ct_clock_forget_promises(const CtCheckWorker *k, size_t first, size_t n);
/* Reports copies from the block's memory of which it does not know that they are over. */
void ct_clock_look_at_sent(CtCheckWorker *k);
/* Reports a store that may not have read the memory of the block when that ends; why: ends the sentence. */
void ct_clock_report_unread(CtCheckWorker *k, const CtLastStore *last, const char *why);

#endif
