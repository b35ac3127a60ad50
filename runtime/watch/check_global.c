/* check_global.c: `check` of global memory: races between blocks and within a block
   (check_state.h). It looks only at memory that the kernel writes. The shadow of that memory
   consists of chunks, made when they are needed. A granule keeps its last plain write, and of
   each kind of other accesses the latest ones (check_latest.h). If several blocks write a place
   without order, it keeps the lowest block. So the workers find the same pair in each run,
   whatever their order. */
#include "check_clock.h"
#include "check_flag.h"
#include "check_ranks.h"

#include <sched.h>
#include <string.h>

/* --- chunks ---------------------------------------------------------------------------------------------- */

static CtGlobalChunk *new_chunk(CtCheck *c, const CtGlobalRegion *r) {
  CtGlobalChunk *chunk = ct_alloc(c->alloc, sizeof *chunk);
  if (chunk == NULL) {
    return NULL;
  }
  memset(chunk, 0, sizeof *chunk);
  atomic_flag_clear(&chunk->lock);
  for (int i = 0; i < CT_GLOBAL_KINDS; i++) {
    if (r->has[i]) {
      chunk->latest[i] = ct_alloc(c->alloc, CT_GLOBAL_CHUNK * sizeof *chunk->latest[i]);
      if (chunk->latest[i] == NULL) {
        ct_global_free_chunk(c->alloc, chunk);
        return NULL;
      }
      memset(chunk->latest[i], 0, CT_GLOBAL_CHUNK * sizeof *chunk->latest[i]);
    }
  }
  return chunk;
}

/* The chunk of a granule, made if needed; NULL: no memory. */
static CtGlobalChunk *chunk_at(CtCheckWorker *k, const CtGlobalRegion *r, size_t i) {
  CtGlobalChunk *chunk = atomic_load_explicit(&r->chunks[i], memory_order_acquire);
  if (chunk == NULL) {
    CtGlobalChunk *made = new_chunk(k->check, r);
    if (made == NULL) {
      k->no_memory = true;
      return NULL;
    }
    if (atomic_compare_exchange_strong(&r->chunks[i], &chunk, made)) {
      return made;
    }
    ct_global_free_chunk(k->check->alloc,
                         made); /* another worker was first: `chunk` is that worker's */
  }
  return chunk;
}

static void lock(CtGlobalChunk *chunk) {
  while (atomic_flag_test_and_set_explicit(&chunk->lock, memory_order_acquire)) {
    sched_yield();
  }
}
static void unlock(CtGlobalChunk *chunk) {
  atomic_flag_clear_explicit(&chunk->lock, memory_order_release);
}

/* --- events ---------------------------------------------------------------------------------------------- */

static bool take_events(CtCheckWorker *k) {
  CtGlobal *g = k->check->global;
  CtCheckEvent *events = ct_alloc(k->check->alloc, CT_GLOBAL_EVENTS * sizeof *events);
  uint32_t i = events == NULL ? CT_EVENT_CHUNKS : atomic_fetch_add(g->next, 1);
  if (i >= CT_EVENT_CHUNKS) {
    ct_free(k->check->alloc, events, CT_GLOBAL_EVENTS * sizeof *events);
    k->no_memory = true;
    return false;
  }
  atomic_store_explicit(&g->events[i], events, memory_order_release);
  k->free_event = i * CT_GLOBAL_EVENTS;
  k->end_event = k->free_event + CT_GLOBAL_EVENTS;
  return true;
}

/* Is the copy under way, and in that group of its warp? NULL: it is none. */
static bool is_of_group(const CtPending *copy, uint32_t group) {
  return copy != NULL && !copy->is_done && copy->group == group;
}

/* The number of an event: the warp's latest number if that event is the same; 0: no memory. Copies
   of two groups are complete at different times, so they are different events. */
static uint32_t add_event(CtCheckWorker *k, const CtCheckEvent *e, bool is_async) {
  CtCheckWarp *w = &k->warps[e->warp];
  if (w->global_event != 0 &&
      (!is_async || is_of_group(ct_async_source(k, w->global_event), w->n_groups))) {
    const CtCheckEvent *old = ct_global_event(k->check->global, w->global_event);
    if (old->in == e->in && old->block == e->block && old->epoch == e->epoch &&
        old->sub == e->sub && old->job == e->job && old->component == e->component &&
        old->clock == e->clock && old->time == e->time) {
      return w->global_event;
    }
  }
  if (k->free_event == k->end_event && !take_events(k)) {
    return 0;
  }
  uint32_t number = k->free_event++;
  CtCheckEvent *events = atomic_load_explicit(&k->check->global->events[number / CT_GLOBAL_EVENTS],
                                              memory_order_relaxed);
  events[number % CT_GLOBAL_EVENTS] = *e;
  w->global_event = number;
  return number;
}

/* --- accesses -------------------------------------------------------------------------------------------- */

typedef struct Touch {
  CtCheckWorker *k;
  const CtAccess *a;
  CtCheckEvent event;
  CtGlobalKind kind;
  CtLatestBy by;
  uint32_t number;
  const CtGlobalRegion *region;
  CtGlobalChunk *chunk; /* locked; NULL: none */
  size_t chunk_index;
  int64_t e;
} Touch;

/* TMA sees what threads wrote only after a proxy fence, by a block of either side. */
static bool is_seen(const Touch *t, const CtCheckEvent *old, int lane, bool old_writes) {
  const CtGlobal *g = t->k->check->global;
  const CtCheckEvent *e = &t->event;
  bool by_agent =
      old_writes && t->a->reads && old->agent == CT_AGENT_NONE && e->agent != CT_AGENT_NONE;
  if (by_agent && old->job != e->job) {
    return ct_ranks_is_seen(t->k, old, e, lane);
  }
  return !by_agent || g->proxied == NULL || atomic_load(&g->proxied[e->block]) > old->seq ||
         atomic_load(&g->proxied[old->block]) > old->seq;
}

/* Is it the work of an agent, whose end the clocks know? Of a copy that may go to other blocks of
   a cluster only, they do not know it. */
static bool is_of_agent(const CtCheckWorker *k, const CtCheckEvent *e) {
  return e->agent == CT_AGENT_BULK ||
         (e->agent == CT_AGENT_BAR && k->k->job->program->n_cluster == 1);
}

/* Does another block of the cluster know that the event is over? */
static bool is_over_in_cluster(const Touch *t, const CtCheckEvent *old, int lane) {
  CtCheckEvent last = *old;
  CtEventEnd end;
  if (t->k->clocks == NULL || old->home != t->event.home || !ct_check_end_of(old, &end)) {
    return false;
  }
  last.clock = end.clock;
  return ct_clock_is_before(t->k, &last, t->event.warp, lane, false);
}

/* Does an access of the same launch come before this one? */
static bool is_before(const Touch *t, const CtCheckEvent *old, int old_lane, int lane) {
  const CtCheckEvent *e = &t->event;
  if (old->block != e->block) {
    return is_over_in_cluster(t, old, lane) || ct_flag_knows(t->k, e->warp, lane, old, old_lane);
  }
  bool in_warp = old->warp == e->warp;
  if ((t->k->clocks != NULL && ct_clock_is_before(t->k, old, e->warp, lane, false)) ||
      ct_flag_knows(t->k, e->warp, lane, old, old_lane)) {
    return true;
  }
  return !is_of_agent(t->k, old) && /* only a wait says that its work is done */
         (old->epoch != e->epoch || (in_warp && (old_lane == lane || old->sub != e->sub)));
}

static bool is_ordered(const Touch *t, const CtCheckEvent *old, int old_lane, int lane) {
  return old->job != t->event.job
             ? ct_ranks_is_before(t->k, old, old_lane, &t->event, lane)
             : ct_check_both_atomic(old, &t->event) || is_before(t, old, old_lane, lane);
}

/* Why an older access of another rank is not ordered before this one, or not seen. */
static uint8_t rank_cause(const Touch *t, const CtCheckEvent *old, int old_lane, int lane) {
  return is_ordered(t, old, old_lane, lane) ? CT_RANKS_PROXY
         : ct_ranks_lacks_scope(t->k, old)  ? CT_RANKS_SCOPE
         : old->agent == CT_AGENT_BULK      ? CT_RANKS_COPY
                                            : CT_RANKS_FLAG;
}

/* Is the older event, which comes before this write, a copy that may still be under way? Reports
   that. A wait by one lane counts for its warp. */
static bool look_at_copy(const Touch *t, uint32_t number, int old_lane, int lane, int64_t off) {
  const CtPending *copy = t->k->n_sources == 0 ? NULL : ct_async_source(t->k, number);
  if (copy == NULL || (copy->is_done && (copy->what.warp == t->event.warp ||
                                         is_before(t, &copy->what, old_lane, lane)))) {
    return false;
  }
  ct_async_note_source(t->k, t->a, lane, off, copy, old_lane);
  return true;
}

/* Compares the access with an older one, given by its shadow word; true if they race, or if it
   writes the source of a copy that may be under way. */
static bool look_at(const Touch *t, uint32_t word, bool old_writes, int lane, int64_t off) {
  if (word == 0) {
    return false;
  }
  int old_lane = (int)(word & CT_EVENT_LANE);
  uint32_t number = word >> CT_EVENT_LANE_BITS;
  const CtCheckEvent *old = ct_global_event(t->k->check->global, number);
  if (is_ordered(t, old, old_lane, lane) && is_seen(t, old, lane, old_writes)) {
    return t->a->writes && look_at_copy(t, number, old_lane, lane, off);
  }
  if (old_writes && t->a->writes && t->event.atomic == 0 && (old->atomic == 0 || old->is_store) &&
      (number == t->number ? ct_check_is_same_in(t->a, t->e, lane, old_lane, off)
                           : ct_check_is_same(t->a, t->e, lane, off))) {
    return false;
  }
  if (old_writes && old->atomic != 0 && t->event.atomic == 0 &&
      ct_flag_has_seen(t->k, t->a, lane, off)) {
    return false;
  }
  bool old_first = old->job != t->event.job       ? true /* ct_finding_merge turns it */
                   : old->block != t->event.block ? old->block < t->event.block
                                                  : old->ordinal <= t->event.ordinal;
  if (old->job != t->event.job) {
    t->k->rank_cause = rank_cause(t, old, old_lane, lane);
  }
  if (old_first) {
    ct_finding_race(t->k, CT_CHECK_RACE_GLOBAL, old, old_lane, old_writes, &t->event, lane,
                    t->a->writes, t->a->buf_index, off);
  } else {
    ct_finding_race(t->k, CT_CHECK_RACE_GLOBAL, &t->event, lane, t->a->writes, old, old_lane,
                    old_writes, t->a->buf_index, off);
  }
  return true;
}

static int64_t block_of(const Touch *t, uint32_t word) {
  return ct_block_number(ct_global_event(t->k->check->global, word >> CT_EVENT_LANE_BITS));
}

static const CtCheckEvent *event_of(const void *touch, uint32_t number) {
  return ct_global_event(((const Touch *)touch)->k->check->global, number);
}

static bool is_over(const CtLatestBy *by, const CtCheckEvent *old, int old_lane, int lane) {
  const Touch *t = by->of;
  return old->job == t->event.job && is_before(t, old, old_lane, lane);
}

/* Do accesses of these kinds never race? */
static bool is_at_peace(CtGlobalKind a, CtGlobalKind b) {
  return a != CT_GLOBAL_WRITE && a != CT_GLOBAL_ATOMIC && b != CT_GLOBAL_ATOMIC;
}

/* Compares the access with the latest ones of a kind. */
static void look_at_latest(const Touch *t, CtGlobalKind kind, size_t at, int lane, int64_t off) {
  const CtLatest *l = &t->chunk->latest[kind][at];
  bool writes = kind == CT_GLOBAL_ATOMIC;
  (void)look_at(t, l->word[CT_OTHER_BLOCK], writes, lane, off);
  bool races = look_at(t, l->word[0], writes, lane, off);
  for (int i = CT_OTHER_LANE; i < CT_OTHER_BLOCK && !races; i++) {
    races = look_at(t, l->word[i], writes, lane, off);
  }
}

/* Is another worker still executing the write of this event? */
static bool is_under_way(const CtCheckWorker *k, uint32_t number) {
  const CtCheck *c = k->check;
  if (c->ranks != NULL) {
    return ct_ranks_is_writing(k, number);
  }
  for (int i = 0; i < c->n_workers; i++) {
    if (c->job->workers[i].team != k->k->team && atomic_load(&c->workers[i].writing) == number) {
      return true;
    }
  }
  return false;
}

/* Does the instruction also read the memory that it writes? */
static bool reads_region(const CtCheckWorker *k, const CtAccess *a) {
  const CtGlobal *g = k->check->global;
  const CtSimtProgram *p = k->k->job->program;
  uint32_t from = a->arg == NULL ? 0 : p->tiles[p->code[ct_check_index(k, a->in)].imm].a.buf;
  return from != 0 && p->bufs[from].space == CT_GLOBAL &&
         (p->bufs[from].is_chosen || a->buf->is_chosen ||
          g->region_of[from] == g->region_of[a->buf_index]);
}

/* Writes the elements that are noted so far, up to element t->e of the lane; false: their values
   are not known yet. */
static bool write_early(const Touch *t, int lane) {
  for (int64_t e = 0; e <= t->e; e++) {
    uint32_t lanes = e < t->e ? t->a->mask : t->a->mask & ((1u << lane) - 1);
    for (; lanes != 0; lanes &= lanes - 1) {
      int64_t off;
      bool is_in = ct_access_at(t->a, e, ct_first_lane(lanes), &off) &&
                   (uint64_t)off < (uint64_t)t->a->mem->n;
      if (is_in && !ct_check_write_early(t->a, e, ct_first_lane(lanes), off)) {
        return false;
      }
    }
  }
  return true;
}

/* Waits until a value that another worker is about to write is in memory, because values are
   compared with memory. If two workers wait for each other, both write first. `at`: a word of the
   chunk. */
static void await_writer(const Touch *t, const uint32_t *at, int lane, int64_t off) {
  CtCheckWorker *k = t->k;
  for (;;) {
    uint32_t word = *at;
    if (word == 0 || block_of(t, word) == ct_block_number(&t->event) ||
        !is_under_way(k, word >> CT_EVENT_LANE_BITS) || ct_check_is_same(t->a, t->e, lane, off) ||
        reads_region(k, t->a) || !write_early(t, lane)) {
      return;
    }
    ct_global_has_written(k);
    unlock(t->chunk);
    sched_yield();
    lock(t->chunk);
    atomic_store(&k->writing, t->number);
  }
}

static void await_writers(const Touch *t, size_t at, int lane, int64_t off) {
  const CtLatest *atomics = t->chunk->latest[CT_GLOBAL_ATOMIC];
  await_writer(t, &t->chunk->write[at], lane, off);
  if (atomics != NULL) {
    await_writer(t, &atomics[at].word[0], lane, off);
    await_writer(t, &atomics[at].word[CT_OTHER_BLOCK], lane, off);
  }
}

static void touch_granule(const Touch *t, size_t at, int lane, int64_t off, bool is_first) {
  if (t->kind == CT_GLOBAL_WRITE && is_first) {
    await_writers(t, at, lane, off);
  }
  uint32_t word = t->number << CT_EVENT_LANE_BITS | (uint32_t)lane;
  uint32_t *write = &t->chunk->write[at];
  bool races = *write != word && is_first && look_at(t, *write, true, lane, off);
  for (int i = 0; i < CT_GLOBAL_KINDS && is_first; i++) {
    if (t->chunk->latest[i] != NULL && !is_at_peace(t->kind, (CtGlobalKind)i)) {
      look_at_latest(t, (CtGlobalKind)i, at, lane, off);
    }
  }
  if (t->kind != CT_GLOBAL_WRITE) {
    ct_latest_note(&t->chunk->latest[t->kind][at], word, &t->by);
  } else if (!races || block_of(t, *write) >= ct_block_number(&t->event)) {
    *write = word;
  }
}

static bool enter_chunk(Touch *t, size_t i) {
  if (t->chunk != NULL && t->chunk_index == i) {
    return true;
  }
  if (t->chunk != NULL) {
    unlock(t->chunk);
  }
  t->chunk = chunk_at(t->k, t->region, i);
  t->chunk_index = i;
  if (t->chunk != NULL) {
    lock(t->chunk);
  }
  return t->chunk != NULL;
}

static void touch_one(Touch *t, int lane, int64_t off) {
  size_t bytes = ct_dtype_bytes(t->a->buf->dtype);
  size_t first =
      (size_t)(t->a->mem->ptr - t->region->begin + off * (int64_t)bytes) >> t->region->bits;
  for (size_t g = first; g < first + (bytes >> t->region->bits); g++) {
    if (enter_chunk(t, g / CT_GLOBAL_CHUNK)) {
      touch_granule(t, g % CT_GLOBAL_CHUNK, lane, off, g == first);
    }
  }
}

/* Notes writes of elements of one granule in a region that is only written, by plain writes. */
static void touch_writes(Touch *t) {
  const CtAccess *a = t->a;
  uint32_t word = t->number << CT_EVENT_LANE_BITS;
  int64_t begin = (a->mem->ptr - t->region->begin) >> t->region->bits;
  for (t->e = 0; t->e < a->n; t->e++) {
    int64_t first = ct_access_offset(a, t->e, 0) - a->pos[0];
    for (uint32_t rest = a->mask; rest != 0; rest &= rest - 1) {
      int lane = ct_first_lane(rest);
      size_t g = (size_t)(begin + first + a->pos[lane]);
      if (!enter_chunk(t, g / CT_GLOBAL_CHUNK)) {
        return;
      }
      if (t->chunk->write[g % CT_GLOBAL_CHUNK] == 0) {
        t->chunk->write[g % CT_GLOBAL_CHUNK] = word | (uint32_t)lane;
      } else {
        touch_granule(t, g % CT_GLOBAL_CHUNK, lane, first + a->pos[lane], true);
      }
    }
  }
}

static void touch_regular(Touch *t) {
  const CtAccess *a = t->a;
  bool has_others = false;
  for (int i = 0; i < CT_GLOBAL_KINDS; i++) {
    has_others = has_others || t->region->has[i];
  }
  if (!has_others && ct_dtype_bytes(a->buf->dtype) == t->region->granule) {
    touch_writes(t);
    return;
  }
  for (t->e = 0; t->e < a->n; t->e++) {
    int64_t first = ct_access_offset(a, t->e, 0) - a->pos[0];
    for (uint32_t rest = a->mask; rest != 0; rest &= rest - 1) {
      int lane = ct_first_lane(rest);
      touch_one(t, lane, first + a->pos[lane]);
    }
  }
}

static void touch_irregular(Touch *t) {
  for (t->e = 0; t->e < t->a->n; t->e++) {
    for (uint32_t rest = t->a->mask; rest != 0; rest &= rest - 1) {
      int lane = ct_first_lane(rest);
      int64_t off;
      if (ct_access_at(t->a, t->e, lane, &off) && (uint64_t)off < (uint64_t)t->a->mem->n) {
        touch_one(t, lane, off);
      }
    }
  }
}

static const CtGlobalRegion *written_region(const CtCheck *c, const CtAccess *a) {
  const CtGlobalRegion *r = c->global == NULL ? NULL : ct_region_at(c->global, a);
  return r != NULL && r->is_written ? r : NULL;
}

bool ct_global_is_watched(const CtCheck *c, uint32_t buf) {
  const CtGlobal *g = c->global;
  if (c->is_tracked || c->n_blanks > 0 || g == NULL) {
    return c->is_tracked || c->n_blanks > 0;
  }
  return c->job->program->bufs[buf].is_chosen
             ? g->any_written
             : g->region_of[buf] != UINT32_MAX && g->regions[g->region_of[buf]].is_written;
}

static CtGlobalKind kind_of(const CtAccess *a) {
  return a->is_atomic  ? (a->writes ? CT_GLOBAL_ATOMIC : CT_GLOBAL_LOAD)
         : a->writes   ? CT_GLOBAL_WRITE
         : a->is_async ? CT_GLOBAL_COPY
                       : CT_GLOBAL_READ;
}

void ct_global_access(CtCheckWorker *k, const CtAccess *a) {
  Touch t = {.k = k, .a = a, .region = written_region(k->check, a)};
  if (k->check->is_tracked) {
    ct_early_access(k, a);
  }
  if (t.region == NULL) {
    return;
  }
  k->begin = a->mem->ptr;
  ct_check_event(k, a, &t.event);
  t.event.done = a->is_async ? CT_NOT_DONE : 0;
  t.number = add_event(k, &t.event, a->is_async);
  t.kind = kind_of(a);
  t.by = (CtLatestBy){&t.event, event_of, is_over, &t};
  if (t.number == 0) {
    return;
  }
  if (a->writes && a->mask != 0) {
    atomic_store(&k->writing, t.number);
  }
  if (a->is_async) {
    ct_async_add_source(k, &t.event, t.number);
  }
  if (a->is_regular) {
    touch_regular(&t);
  } else {
    touch_irregular(&t);
  }
  if (t.chunk != NULL) {
    unlock(t.chunk);
  }
}

void ct_global_proxy_fence(CtCheckWorker *k, uint64_t time) {
  CtGlobal *g = k->check->global;
  if (g != NULL && g->proxied != NULL) {
    atomic_store(&g->proxied[k->k->block], time);
  }
}
