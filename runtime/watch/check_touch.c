/* check_touch.c: accesses of shared memory under vector clocks: each is compared with those that the shadow
   names. */
#include "check_clock.h"
#include "check_flag.h"
#include "check_latest.h"

typedef struct Touch {
  CtCheckWorker *k;
  const CtAccess *a;
  CtCheckEvent event;
  uint32_t number;
  int64_t e;
  size_t n_warps, warp; /* of the cluster */
} Touch;

/* Is the older access, by `old_lane`, ordered before this one by `lane`? An agent that reads
   what a thread wrote by an ordinary instruction is the special case `by_agent`: it needs a
   proxy fence in between. */
static bool is_ordered(const Touch *t, const CtCheckEvent *old, int old_lane, int lane,
                       bool old_writes) {
  const CtCheckEvent *e = &t->event;
  bool by_agent =
      old_writes && old->agent == CT_AGENT_NONE && e->agent != CT_AGENT_NONE && t->a->reads;
  int rank = t->a->w->worker->rank; /* the memory may be another block's */
  int old_rank = ct_clock_rank_of(t->k->clocks, old->component);
  bool in_block = rank == old_rank;
  if (old->agent == CT_AGENT_NONE && in_block && old->warp == e->warp && !by_agent &&
      (old_lane == lane || old->sub != e->sub || e->agent != CT_AGENT_NONE)) {
    return true;
  }
  if (old->agent != CT_AGENT_NONE && old->component == e->component && !old_writes &&
      !t->a->writes) {
    return true;
  }
  return ct_check_both_atomic(old, e) ||
         ct_clock_is_before_in(t->k, old, rank, e->warp, lane, by_agent) ||
         ct_flag_knows(ct_check_worker(t->a->w->worker), e->warp, lane, old, old_lane);
}

/* Did a read find these elements not initialised? Then it came too early. The race with this
   write says so; the finding of the read is dropped, and the write is named first. */
static bool forget_unset(CtCheckWorker *k, int64_t off, const CtAccess *a) {
  int n;
  bool found = false;
  int64_t g = ct_shadow_granule(k, a->buf, off, &n);
  for (size_t i = 0; i < k->n_unset; i++) {
    if (k->unset[i].granule >= g && k->unset[i].granule < g + n) {
      k->unset[i--] = k->unset[--k->n_unset];
      found = true;
    }
  }
  return found;
}

/* Compares an access with the older one that a shadow word names; reports a race and returns
   true if they race. */
static bool look_at(const Touch *t, uint32_t word, bool old_writes, int lane, int64_t off) {
  uint32_t number = word >> CT_EVENT_LANE_BITS;
  if (word <= (t->k->block_word | CT_EVENT_LANE)) {
    return false;
  }
  int old_lane = (int)(word & CT_EVENT_LANE);
  const CtCheckEvent *old = ct_shadow_event(t->k, number);
  bool both_write = old_writes && t->a->writes;
  if ((number == t->number && (old_lane == lane || !both_write)) ||
      is_ordered(t, old, old_lane, lane, old_writes)) {
    return false;
  }
  if (both_write && t->event.atomic == 0 && t->event.agent == CT_AGENT_NONE &&
      (old->atomic == 0 || old->is_store) &&
      (number == t->number ? ct_check_is_same_in(t->a, t->e, lane, old_lane, off)
                           : ct_check_is_same(t->a, t->e, lane, off))) {
    return false;
  }
  if (old_writes && old->atomic != 0 && t->event.atomic == 0 &&
      ct_flag_has_seen(ct_check_worker(t->a->w->worker), t->a, lane, off)) {
    return false;
  }
  if (old->is_copied) {
    ct_async_note_copied(t->k, t->a, lane, off, old, old_lane);
    return true;
  }
  if ((!old_writes || old->atomic != 0) && forget_unset(t->k, off, t->a)) {
    ct_finding_race(t->k, CT_CHECK_RACE_SHARED, &t->event, lane, true, old, old_lane, old_writes,
                    t->a->buf_index, off);
    return true;
  }
  ct_finding_race(t->k, CT_CHECK_RACE_SHARED, old, old_lane, old_writes, &t->event, lane,
                  t->a->writes, t->a->buf_index, off);
  return true;
}

/* Compares with the atomic operations at a granule; true if it races with one. */
static bool look_at_atomics(const Touch *t, int64_t g, int lane, int64_t off) {
  bool races = false;
  for (int i = 0; i < CT_DISTANCE_COUNT && t->k->has_atomics; i++) {
    races = look_at(t, ct_shadow_atomic(t->k, g, i), true, lane, off) || races;
  }
  return races;
}

/* Compares a write with the atomic loads at a granule; true if it races with one. */
static bool look_at_loads(const Touch *t, int64_t g, int lane, int64_t off) {
  const uint32_t *loads = t->k->readers->loads;
  bool races = false;
  for (size_t i = 0; loads != NULL && i < 2 * t->n_warps && !races; i++) {
    races = look_at(t, loads[2 * t->n_warps * (size_t)g + i], false, lane, off);
  }
  return races;
}

/* Compares a write with the plain reads at a granule; true if it races with one. If `hides`, they
   are forgotten. */
static bool look_at_readers(const Touch *t, int64_t g, int lane, int64_t off, bool is_first,
                            bool hides) {
  size_t n = t->n_warps;
  uint32_t *last = &t->k->readers->last[2 * n * (size_t)g];
  const uint32_t *others = &t->k->readers->others[n * (size_t)g];
  bool races = false;
  for (size_t i = 0; i < 2 * n; i++) {
    races = races || (is_first && look_at(t, last[i], false, lane, off));
    if (is_first && !races && i % 2 == 0 && last[i] > (t->k->block_word | CT_EVENT_LANE)) {
      races = look_at(t, others[i / 2], false, lane, off);
    }
    last[i] = hides ? 0 : last[i];
  }
  return races;
}

/* A plain write hides what came before it: that is ordered before it, or was reported. An atomic
   operation hides nothing. */
static void write_granule(const Touch *t, int64_t g, int lane, int64_t off, bool is_first) {
  CtCheckWorker *k = t->k;
  uint32_t word = t->number << CT_EVENT_LANE_BITS | (uint32_t)lane;
  bool hides = t->event.atomic == 0;
  bool races = look_at_readers(t, g, lane, off, is_first, hides);
  races = (is_first && look_at_loads(t, g, lane, off)) || races;
  races = (is_first && look_at_atomics(t, g, lane, off)) || races;
  if (is_first && !races) { /* a race with a read in between says more than one with a write */
    (void)look_at(t, k->shadow[g], true, lane, off);
  }
  if (!hides) {
    ct_shadow_note_atomic(k, g, word, &t->event);
    return;
  }
  k->shadow[g] = word;
  if (k->has_atomics) {
    k->atomics[g] = (CtLatest){0};
  }
}

/* The last one becomes that of another lane if it is one. */
static void note_reader(const Touch *t, uint32_t *last, uint32_t *other, uint32_t word) {
  if (*last <= (t->k->block_word | CT_EVENT_LANE)) {
    *other = 0;
  } else if (((*last ^ word) & CT_EVENT_LANE) != 0) {
    *other = *last;
  }
  *last = word;
}

static void read_granule(const Touch *t, int64_t g, int lane, int64_t off, bool is_first) {
  const struct CtReaders *readers = t->k->readers;
  uint32_t word = t->number << CT_EVENT_LANE_BITS | (uint32_t)lane;
  size_t at = (size_t)g * t->n_warps + t->warp;
  if (is_first && !look_at_atomics(t, g, lane, off)) {
    (void)look_at(t, t->k->shadow[g], true, lane, off);
  }
  if (t->event.agent != CT_AGENT_NONE) {
    readers->last[2 * at + 1] = word;
  } else if (t->event.atomic != 0) {
    note_reader(t, &readers->loads[2 * at], &readers->loads[2 * at + 1], word);
  } else {
    note_reader(t, &readers->last[2 * at], &readers->others[at], word);
  }
}

typedef void (*TouchFn)(const Touch *t, int64_t g, int lane, int64_t off, bool is_first);

static void touch(CtCheckWorker *k, const CtAccess *a, uint32_t number, TouchFn fn) {
  Touch t = {.k = k, .a = a, .number = number};
  if (k->n_races > (1 << 20)) {
    return;
  }
  ct_check_event(k, a, &t.event);
  t.n_warps = k->clocks->n_blocks * (size_t)k->clocks->n_warps;
  t.warp = (size_t)a->w->worker->rank * k->clocks->n_warps + (size_t)t.event.warp;
  for (t.e = 0; t.e < a->n; t.e++) {
    for (uint32_t rest = a->mask; rest != 0; rest &= rest - 1) {
      int lane = ct_first_lane(rest), n;
      int64_t off;
      if (!ct_access_at(a, t.e, lane, &off) || (uint64_t)off >= (uint64_t)a->mem->n) {
        continue;
      }
      int64_t g = ct_shadow_granule(k, a->buf, off, &n);
      for (int i = 0; i < n; i++) {
        fn(&t, g + i, lane, off, i == 0);
      }
    }
  }
}

void ct_clock_read(CtCheckWorker *k, const CtAccess *a, uint32_t number) {
  touch(k, a, number, read_granule);
}
void ct_clock_write(CtCheckWorker *k, const CtAccess *a, uint32_t number) {
  touch(k, a, number, write_granule);
}
