/* check_clock_find.c: what clocks report: barriers that a warp does not know of, and asynchronous work that a block or a
   cluster may end before. */
#include "check_clock_row.h"

#include <stdio.h>

/* Warp 0 initialised the barrier. Reports a use by a warp that does not know of it, for lack of
   a sync_threads. */
void ct_clock_look_at_use(CtCheckWorker *k, const CtSyncNote *note, size_t slot) {
  const CtClocks *c = k->clocks;
  const CtWarp *w = note->w;
  const CtSimtProgram *p = k->k->job->program;
  const uint32_t *seen = ct_clock_warp_row(c, w->worker->rank, w->index);
  char text[300];
  if (seen[ct_clock_of_warp(c, note->rank, 0)] >= c->made[slot] ||
      ct_clock_has_reached(c, w->worker->rank, w->index, note->lane,
                           ct_clock_of_warp(c, note->rank, 0), c->made[slot])) {
    return;
  }
  uint32_t at = ct_check_index(k, note->in);
  snprintf(text, sizeof text,
           "%.80s[%lld]%s is used by warp %d, which nothing tells that it was initialised; put %s "
           "between its declaration and line %d",
           p->bufs[note->buf].name, (long long)note->slot,
           note->rank != k->k->rank ? " of another block of the cluster" : "", (int)w->index,
           c->n_blocks > 1 ? "sync_cluster()" : "sync_threads()", p->locs[at].line);
  ct_finding_note_text(k,
                       (CtFound){.kind = CT_CHECK_MBARRIER,
                                 .in = at,
                                 .buf = note->buf,
                                 .block = k->k->block,
                                 .thread = ct_check_thread(w->index, note->lane)},
                       text);
}

void ct_clock_look_at_remote(CtCheckWorker *k, const CtAccess *a, const CtWorker *owner) {
  const CtClocks *c = k->clocks;
  const uint32_t *seen = ct_clock_warp_row(c, k->k->rank, a->w->index);
  char text[300];
  bool has_begun = owner == k->k; /* the clocks of a block that has begun are above 0 */
  for (int32_t i = 0; !has_begun && i < (int32_t)c->n_warps; i++) {
    has_begun = seen[ct_clock_of_warp(c, owner->rank, i)] > 0 ||
                ct_clock_has_reached(c, k->k->rank, a->w->index, CT_ANY_LANE,
                                     ct_clock_of_warp(c, owner->rank, i), 1);
  }
  if (has_begun) {
    return;
  }
  uint32_t at = ct_check_index(k, a->in);
  snprintf(text, sizeof text,
           "%.80s: block (%lld,%lld,%lld), whose memory it is, may not have begun; put "
           "sync_cluster() before line %d",
           a->buf->name, (long long)owner->bid[0], (long long)owner->bid[1],
           (long long)owner->bid[2], k->k->job->program->locs[at].line);
  ct_finding_note_text(k,
                       (CtFound){.kind = CT_CHECK_CLUSTER,
                                 .in = at,
                                 .buf = a->buf_index,
                                 .block = k->k->block,
                                 .thread = ct_check_thread(a->w->index, ct_first_lane(a->mask))},
                       text);
}

void ct_clock_keep_far(CtCheckWorker *k, const CtSyncNote *note, uint32_t component,
                       uint32_t clock) {
  CtClocks *c = k->clocks;
  if (note->rank != k->k->rank) {
    c->far[(size_t)note->rank * c->n + component] = (CtFarArrival){
        .clock = clock,
        .in = ct_check_index(k, note->in),
        .buf = note->buf,
        .thread = ct_check_thread(note->w->index, note->lane),
        .block = k->k->block,
        .slot = note->slot,
        .phase = c->turns[ct_clock_slot_index(c, note->rank, note->buf, note->slot)]};
  }
}

static void note_far(CtCheckWorker *k, const CtFarArrival *far, int rank) {
  const CtSimtProgram *p = k->k->job->program;
  const int64_t *bid = k->k->team[rank].bid;
  char text[300];
  snprintf(
      text, sizeof text,
      "%.80s[%lld] of block (%lld,%lld,%lld) is used from another block of the cluster, and that "
      "block may have ended: nothing that it waits for comes after this; let all blocks reach "
      "sync_cluster() before they end",
      p->bufs[far->buf].name, (long long)far->slot, (long long)bid[0], (long long)bid[1],
      (long long)bid[2]);
  ct_finding_note_text(k,
                       (CtFound){.kind = CT_CHECK_CLUSTER,
                                 .in = far->in,
                                 .buf = far->buf,
                                 .block = far->block,
                                 .thread = far->thread},
                       text);
}

void ct_clock_report_unread(CtCheckWorker *k, const CtLastStore *last, const char *why) {
  char text[300];
  snprintf(text, sizeof text, "tma_store: the block may end before this has read %.80s%s",
           k->k->job->program->bufs[last->buf].name, why);
  ct_finding_note_text(k,
                       (CtFound){.kind = CT_CHECK_TMA,
                                 .in = last->in,
                                 .buf = last->buf,
                                 .block = k->k->block,
                                 .thread = last->thread},
                       text);
}

void ct_clock_note_store(CtCheckWorker *k, const CtAccess *a) {
  const CtClocks *c = k->clocks;
  int rank = k->k->rank;
  int32_t warp = a->w->index;
  CtLastStore *last = &c->stores[(size_t)rank * c->n_warps + (size_t)warp];
  *last = (CtLastStore){.clock = *ct_clock_groups_of(c, rank, warp, CT_AGENT_BULK) + 1,
                        .in = ct_check_index(k, a->in),
                        .buf = a->buf_index,
                        .lanes = last->lanes | a->mask,
                        .thread = ct_check_thread(warp, ct_first_lane(a->mask))};
}

/* Shared memory ends with the block: reports the last tma_store of a warp if it may still be
   reading. */
static void look_at_store(CtCheckWorker *k, int32_t warp) {
  const CtClocks *c = k->clocks;
  int rank = k->k->rank;
  const CtLastStore *last = &c->stores[(size_t)rank * c->n_warps + (size_t)warp];
  bool is_committed = *ct_clock_groups_of(c, rank, warp, CT_AGENT_BULK) >= last->clock;
  if (ct_clock_warp_row(c, rank, warp)[ct_clock_of_agent(c, rank, warp, CT_AGENT_BULK)] <
      last->clock) {
    ct_clock_report_unread(
        k, last,
        is_committed ? "; let its thread reach tma_store_wait(0)"
                     : "; let its thread reach tma_store_commit(), which makes a group of it, and "
                       "then tma_store_wait(0)");
  }
}

/* Reports a copy to a barrier of the block if no warp has waited for it: the block may end
   before it has come. */
static void look_at_load(CtCheckWorker *k, uint32_t buf, int64_t slot) {
  const CtClocks *c = k->clocks;
  const CtSimtProgram *p = k->k->job->program;
  size_t at = ct_clock_slot_index(c, k->k->rank, buf, slot);
  bool is_seen = c->copies[at] == 0 || k->n_races > 0; /* a race has told it already */
  char text[300];
  for (int32_t i = 0; i < (int32_t)c->n_warps && !is_seen; i++) {
    is_seen = ct_clock_warp_row(c, k->k->rank,
                                i)[ct_clock_of_slot(c, k->k->rank, (uint32_t)(at % c->n_slots))] >=
              c->copies[at];
  }
  if (is_seen) {
    return;
  }
  snprintf(text, sizeof text,
           "%s: the block may end before this has arrived: nobody waits for its phase of "
           "%.80s[%lld]; wait for it, or leave the copy out",
           ct_ops[ct_in_op(p, c->copied_in[at])].text, p->bufs[buf].name, (long long)slot);
  ct_finding_note_text(
      k, (CtFound){.kind = CT_CHECK_TMA, .in = c->copied_in[at], .buf = buf, .block = k->k->block},
      text);
}

void ct_clock_end_block(CtCheckWorker *k) {
  const CtSimtProgram *p = k->k->job->program;
  ct_clock_look_at_sent(k);
  for (int32_t i = 0; i < (int32_t)k->clocks->n_warps; i++) {
    look_at_store(k, i);
  }
  for (uint32_t b = 1; b < p->n_bufs; b++) {
    for (int64_t i = 0; p->bufs[b].arrivals > 0 && i < p->bufs[b].n; i++) {
      look_at_load(k, b, i);
    }
  }
}

void ct_clock_end_cluster(CtCheckWorker *k) {
  const CtClocks *c = k->clocks;
  for (size_t i = 0; i < c->n_blocks * (size_t)c->n; i++) {
    int rank = (int)(i / c->n);
    const CtFarArrival *far = &c->far[i];
    /* a warp of the block that passed the arrival's phase has waited for it */
    bool is_seen = far->clock == 0 ||
                   c->passed[ct_clock_slot_index(c, rank, far->buf, far->slot)] > far->phase;
    for (int32_t w = 0; !is_seen && w < (int32_t)c->n_warps; w++) {
      is_seen = ct_clock_warp_row(c, rank, w)[i % c->n] >= far->clock;
    }
    if (!is_seen) {
      note_far(k, far, rank);
    }
  }
}
