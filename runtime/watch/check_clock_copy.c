/* check_clock_copy.c: what clocks keep of copies to other blocks of a cluster: see check_clock.h. */
#include <string.h>

#include "check_clock_row.h"
#include "check_known.h"

/* --- what stores hand on ------------------------------------------------------------------------------------ */

static size_t promise_bytes(const CtClocks *c) {
  return sizeof(CtPromise) + 2 * (size_t)c->n * sizeof(uint32_t);
}

CtPromise *ct_clock_add_promise(CtCheckWorker *k, size_t slot) {
  CtPromise *p = ct_alloc(k->check->alloc, promise_bytes(k->clocks));
  CtPromise **at = &k->clocks->promised[slot];
  if (p == NULL) {
    k->no_memory = true;
    return NULL;
  }
  memset(p, 0, promise_bytes(k->clocks));
  while (*at != NULL) {
    at = &(*at)->next;
  }
  *at = p;
  return p;
}

void ct_clock_forget_promise(const CtCheckWorker *k, CtPromise **at) {
  CtPromise *p = *at;
  *at = p->next;
  ct_known_clear(k->check->alloc, &p->known);
  ct_free(k->check->alloc, p, promise_bytes(k->clocks));
}

void ct_clock_forget_promises(const CtCheckWorker *k, size_t first, size_t n) {
  for (size_t i = first; i < first + n; i++) {
    while (k->clocks->promised[i] != NULL) {
      ct_clock_forget_promise(k, &k->clocks->promised[i]);
    }
  }
}

/* --- copies to several blocks --------------------------------------------------------------------------------- */

const uint32_t *ct_clock_ends(CtCheckWorker *k, const CtAccess *a, uint32_t ranks) {
  CtClocks *c = k->clocks;
  uint32_t *ends = ct_arena_alloc(&c->ends, c->n_blocks * sizeof *ends);
  k->no_memory = k->no_memory || ends == NULL;
  for (int rank = 0; ends != NULL && rank < (int)c->n_blocks; rank++) {
    bool is_to = (ranks >> rank & 1) != 0;
    int of = a->is_of_pair ? rank & ~1 : rank;
    ends[of] = is_to ? c->begun[ct_clock_slot_index(c, of, a->bar, a->bar_slot)] + 1 : ends[of];
  }
  return ends;
}

/* --- what a block sends of its memory --------------------------------------------------------------------------- */

static CtLastStore *sent_to(const CtClocks *c, int rank, int to, uint32_t slot) {
  return &c->sent[((size_t)rank * c->n_blocks + (size_t)to) * c->n_slots + slot];
}

void ct_clock_note_sent(CtCheckWorker *k, const CtAccess *a) {
  const CtClocks *c = k->clocks;
  size_t slot = ct_clock_slot_index(c, a->bar_rank, a->bar, a->bar_slot);
  *sent_to(c, k->k->rank, a->bar_rank, (uint32_t)(slot % c->n_slots)) =
      (CtLastStore){.clock = c->begun[slot] + 1,
                    .in = ct_check_index(k, a->in),
                    .buf = a->buf_index,
                    .thread = ct_check_thread(a->w->index, ct_first_lane(a->mask))};
}

/* Reports the last copy to a barrier of another block if no warp of this one has learnt of its end. */
static void look_at_sent(CtCheckWorker *k, int to, uint32_t slot) {
  const CtClocks *c = k->clocks;
  int rank = k->k->rank;
  const CtLastStore *last = sent_to(c, rank, to, slot);
  bool is_over = last->clock == 0 || k->n_races > 0;
  for (int32_t i = 0; i < (int32_t)c->n_warps && !is_over; i++) {
    is_over = ct_clock_warp_row(c, rank, i)[ct_clock_of_slot(c, to, slot)] >= last->clock;
  }
  if (!is_over) {
    ct_clock_report_unread(k, last,
                           ": nothing tells it that the phase of its mbarrier is over; put "
                           "sync_cluster() after the other block's wait");
  }
}

void ct_clock_look_at_sent(CtCheckWorker *k) {
  const CtClocks *c = k->clocks;
  for (uint32_t i = 0; i < c->n_blocks * c->n_slots; i++) {
    look_at_sent(k, (int)(i / c->n_slots), i % c->n_slots);
  }
}
