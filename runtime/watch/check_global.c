/* check_global.c: `check` of global memory: races between blocks and within a block
   (check_state.h). It looks only at memory that the kernel writes. The shadow of that memory
   consists of chunks, made when they are needed. A granule keeps its last plain write, and of
   each kind of other accesses the latest ones (check_latest.h). If several blocks write a place
   without order, it keeps the lowest block. So the workers find the same pair in each run,
   whatever their order. */
#include "check_before.h"
#include "check_flag.h"
#include "check_ranks.h"

#include <sched.h>
#include <string.h>

enum { N_BEFORE = 4 }; /* older events that are remembered */

/* --- chunks ---------------------------------------------------------------------------------------------- */

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
  uint32_t before[2][N_BEFORE]; /* reads, writes: numbers of events that come before all of it */
} Touch;

/* Does the TMA of a lane see what the lane of an older access, or CT_NO_LANE, each of its lanes wrote? */
static bool is_seen_by_tma(const Touch *t, const CtCheckEvent *old, int old_lane, int lane) {
  int first = old_lane >= 0 ? old_lane : 0, end = old_lane >= 0 ? old_lane + 1 : CT_LANES;
  bool sees = true;
  for (int i = first; i < end && sees; i++) {
    sees = ct_flag_tma_sees(t->k, t->event.warp, lane, old, i);
  }
  return sees;
}

/* TMA sees what threads wrote only after a proxy fence. Between ranks, one by a block of either side will do. */
static bool is_seen(const Touch *t, const CtCheckEvent *old, int old_lane, int lane,
                    bool old_writes) {
  const CtCheckEvent *e = &t->event;
  bool by_agent =
      old_writes && t->a->reads && old->agent == CT_AGENT_NONE && e->agent != CT_AGENT_NONE;
  if (by_agent && old->job != e->job) {
    return ct_ranks_is_seen(t->k, old, e, lane);
  }
  return !by_agent ||
         is_seen_by_tma(t, old, old_lane, lane >= 0 ? lane : ct_first_lane(t->a->mask));
}

/* Is it the work of an agent, whose end the clocks know? */
static bool is_of_agent(const CtCheckEvent *e) {
  return e->agent == CT_AGENT_BULK_WRITE || e->agent == CT_AGENT_BAR;
}

/* Does an access of the same launch come before this one? */
static bool is_before(const Touch *t, const CtCheckEvent *old, CtLanePair lanes) {
  return ct_is_before(t->k, old, &t->event, lanes, is_of_agent(old), false);
}

static bool is_ordered(const Touch *t, const CtCheckEvent *old, int old_lane, int lane) {
  return old->job != t->event.job ? ct_ranks_is_before(t->k, old, old_lane, &t->event, lane)
                                  : ct_check_both_atomic(old, &t->event) ||
                                        is_before(t, old, (CtLanePair){old_lane, lane});
}

/* Why an older access of another rank is not ordered before this one, or not seen. */
static uint8_t rank_cause(const Touch *t, const CtCheckEvent *old, int old_lane, int lane) {
  return is_ordered(t, old, old_lane, lane)  ? CT_RANKS_PROXY
         : ct_ranks_lacks_scope(t->k, old)   ? CT_RANKS_SCOPE
         : old->agent == CT_AGENT_BULK_WRITE ? CT_RANKS_COPY
                                             : CT_RANKS_FLAG;
}

/* Is the older event, which comes before this write, a copy that may still be under way? Reports
   that. If lanes of the copy waited apart, it is not asked who knows of a wait. */
static bool look_at_copy(const Touch *t, uint32_t number, int old_lane, int lane, int64_t off) {
  const CtPending *copy = t->k->n_sources == 0 ? NULL : ct_async_source(t->k, number);
  bool has_waited = copy != NULL && (copy->lanes >> old_lane & 1) == 0;
  if (copy == NULL || (has_waited && (copy->is_apart || copy->what.warp == t->event.warp ||
                                      is_before(t, &copy->what, (CtLanePair){old_lane, lane})))) {
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
  if (ct_check_both_atomic(old, &t->event) && (number != t->number || old_lane != lane)) {
    ct_sums_look(t->k, t->a, &t->event, old, (CtLanePair){old_lane, lane}, off);
  }
  if (is_ordered(t, old, old_lane, lane) && is_seen(t, old, old_lane, lane, old_writes)) {
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
  return old->job == t->event.job && is_before(t, old, (CtLanePair){old_lane, lane});
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
  t->chunk = ct_line_chunk(t->k, t->region, i);
  t->chunk_index = i;
  if (t->chunk != NULL) {
    lock(t->chunk);
  }
  return t->chunk != NULL;
}

/* Enters the chunk of a granule, whose line gets words by granule. */
static bool enter_granule(Touch *t, size_t g) {
  size_t line = g % CT_GLOBAL_CHUNK / CT_LINE;
  return enter_chunk(t, g / CT_GLOBAL_CHUNK) &&
         (t->chunk->shape[line] == CT_LINE_CUT || ct_line_cut(t->k, t->chunk, line));
}

static void touch_one(Touch *t, int lane, int64_t off) {
  int bits = t->region->bits;
  size_t first = (size_t)(ct_access_ptr(t->a, off) - t->region->begin) >> bits;
  size_t end = first + ct_check_granules(t->a->buf->dtype, bits);
  for (size_t g = first; g < end; g++) {
    if (enter_granule(t, g)) {
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
      if (!enter_granule(t, g)) {
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

/* --- whole lines ---------------------------------------------------------------------------------------------- */

/* Need the line's access of this word not be looked at by granules? */
static bool is_settled(Touch *t, uint32_t word, bool old_writes) {
  uint32_t number = word >> CT_EVENT_LANE_BITS;
  uint32_t *before = &t->before[old_writes][number % N_BEFORE];
  if (*before == number) {
    return true;
  }
  const CtCheckEvent *old = ct_global_event(t->k->check->global, number);
  bool is_atomic = ct_check_both_atomic(old, &t->event) && old->agent == CT_AGENT_NONE &&
                   !ct_sums_are_promised(t->k, t->a); /* ct_sums_look */
  if (old->job != t->event.job || (t->a->writes && t->k->n_sources > 0) ||
      !(is_atomic || is_before(t, old, ct_same_lanes)) ||
      !is_seen(t, old, CT_NO_LANE, CT_NO_LANE, old_writes)) {
    return false;
  }
  *before = number;
  return true;
}

/* Is the line's access of this word over for all lanes, or for none? */
static bool is_over_alike(const Touch *t, uint32_t word) {
  const CtCheckEvent *old = ct_global_event(t->k->check->global, word >> CT_EVENT_LANE_BITS);
  int n = 0;
  if (old->job != t->event.job || old->block == t->event.block) {
    return true;
  }
  for (int lane = 0; lane < CT_LANES; lane++) {
    n += is_before(t, old, (CtLanePair){lane, lane});
  }
  return n == 0 || n == CT_LANES;
}

/* Are the line's latest accesses of a kind by the same lanes, and need none be looked at by granules? */
static bool is_latest_settled(Touch *t, const CtLatest *l, CtGlobalKind kind, uint32_t lane) {
  bool ok = true;
  for (int i = 0; i < CT_DISTANCE_COUNT && ok; i++) {
    uint32_t word = l->word[i];
    ok = word == 0 ||
         ((word & CT_EVENT_LANE) == lane &&
          (is_at_peace(t->kind, kind) || is_settled(t, word, kind == CT_GLOBAL_ATOMIC)) &&
          (kind != t->kind || is_over_alike(t, word)));
  }
  return ok;
}

/* Takes a whole line, granule i of which is of lane `lane + (i >> shift)`; false: it has to be cut. */
static bool touch_line(Touch *t, size_t line, uint32_t lane, int shift) {
  CtGlobalChunk *chunk = t->chunk;
  uint32_t word = t->number << CT_EVENT_LANE_BITS | lane, write = chunk->line_write[line];
  bool ok = chunk->shape[line] == CT_LINE_UNUSED || chunk->shape[line] == CT_LINE_WHOLE + shift;
  ok = ok && (write == 0 || ((write & CT_EVENT_LANE) == lane && is_settled(t, write, true)));
  for (int i = 0; i < CT_GLOBAL_KINDS && ok; i++) {
    ok = chunk->line_latest[i] == NULL ||
         is_latest_settled(t, &chunk->line_latest[i][line], (CtGlobalKind)i, lane);
  }
  if (ok && t->kind == CT_GLOBAL_WRITE) {
    chunk->line_write[line] = word;
  } else if (ok) {
    ct_latest_note(&chunk->line_latest[t->kind][line], word, &t->by);
  }
  chunk->shape[line] = ok ? (uint8_t)(CT_LINE_WHOLE + shift) : chunk->shape[line];
  return ok;
}

/* Takes the line that begins at granule g; false: none begins there, or it has to be cut. */
static bool touch_line_at(Touch *t, size_t g, int lane, int shift) {
  return g % CT_LINE == 0 && enter_chunk(t, g / CT_GLOBAL_CHUNK) &&
         touch_line(t, g % CT_GLOBAL_CHUNK / CT_LINE, (uint32_t)lane, shift);
}

/* Have lanes neighbouring places, CT_LINE of them together? */
static bool are_neighbours(const CtAccess *a) {
  int64_t differs = 0;
  if (a->pattern != NULL) {
    return a->pattern->kind[CT_LINE_BITS] == CT_CONTIGUOUS;
  }
  for (int i = 0; i < CT_LANES; i++) {
    differs |= a->pos[i] ^ (a->pos[i - i % CT_LINE] + i % CT_LINE);
  }
  return differs == 0;
}

/* Takes each element of lanes that have neighbouring places. */
static bool touch_across(Touch *t, size_t begin) {
  const uint32_t all = (1u << CT_LINE) - 1;
  const CtAccess *a = t->a;
  bool ok = are_neighbours(a);
  for (int64_t e = 0; e < a->n && ok; e++) {
    for (int lane = 0; lane < CT_LANES && ok; lane += CT_LINE) {
      uint32_t some = a->mask >> lane & all;
      ok = some == 0 ||
           (some == all && touch_line_at(t, begin + (size_t)ct_access_offset(a, e, lane), lane, 0));
    }
  }
  return ok;
}

/* Takes lanes, each of which has n elements, a power of two, that follow those of the lane before. */
static bool touch_along(Touch *t, size_t begin) {
  const CtAccess *a = t->a;
  bool ok = a->mask == CT_ALL_LANES && a->n <= CT_LINE && (a->n & (a->n - 1)) == 0 &&
            a->hi - a->lo == a->n * CT_LANES - 1;
  for (int64_t e = 1; ok && e < a->n; e++) {
    ok = ct_access_offset(a, e, 0) == ct_access_offset(a, 0, 0) + e;
  }
  for (int i = 1; ok && i < CT_LANES; i++) {
    ok = a->pos[i] == a->pos[0] + i * a->n;
  }
  for (int64_t i = 0; ok && i < a->n * CT_LANES; i += CT_LINE) {
    ok = touch_line_at(t, begin + (size_t)(a->lo + i), (int)(i / a->n),
                       __builtin_ctzll((uint64_t)a->n));
  }
  return ok;
}

/* Takes an access of whole lines; false: it is none, or a line has to be cut. */
static bool touch_lines(Touch *t) {
  size_t begin = (size_t)(t->a->mem->ptr - t->region->begin) >> t->region->bits;
  return ct_value_bytes(t->a->buf->dtype) == t->region->granule &&
         (touch_across(t, begin) || (t->a->n > 1 && touch_along(t, begin)));
}

static void touch_regular(Touch *t) {
  const CtAccess *a = t->a;
  bool has_others = false;
  for (int i = 0; i < CT_GLOBAL_KINDS; i++) {
    has_others = has_others || t->region->has[i];
  }
  if (touch_lines(t)) {
    return;
  }
  if (!has_others && ct_value_bytes(a->buf->dtype) == t->region->granule) {
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
  int64_t off[CT_LANES];
  for (t->e = 0; t->e < t->a->n; t->e++) {
    for (uint32_t rest = ct_access_row(t->a, t->e, off); rest != 0; rest &= rest - 1) {
      touch_one(t, ct_first_lane(rest), off[ct_first_lane(rest)]);
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
  Touch t; /* set field by field: clearing all of it takes long */
  if (k->check->is_tracked) {
    ct_early_access(k, a);
  }
  t.region = written_region(k->check, a);
  if (t.region == NULL) {
    return;
  }
  t.k = k;
  t.a = a;
  t.chunk = NULL;
  t.e = 0;
  memset(t.before, 0, sizeof t.before);
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
    ct_async_add_source(k, &t.event, t.number, a->mask);
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
