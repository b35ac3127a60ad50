/* check_shadow.c: `check` of shared memory: races within a block; see check_state.h. */
#include "check_before.h"
#include "check_flag.h"
#include "check_latest.h"

#include <string.h>

enum {
  MAX_RACES = 1 << 20
}; /* of a worker; after that reads are not compared any more: enough is known */
enum {
  MAX_READS = 1 << 18
}; /* in the log; if there are more, they are compared before their barrier */

/* The first event of a block is not an access. It marks what a skipped access would have
   written. */
static uint32_t word_of(uint32_t event) { return event << CT_EVENT_LANE_BITS; }

static void begin_epoch(CtCheckWorker *k) {
  k->first_event = k->next_event;
  k->epoch_word = word_of(k->next_event);
  k->n_epochs++;
  ct_flag_end_epoch(k);
  k->n_reads = 0;
  k->n_own_pos = 0;
  for (uint32_t b = 1; k->has_written && b < k->k->job->program->n_bufs; b++) {
    k->written[b] = (CtRange){INT64_MAX, INT64_MIN};
  }
  k->has_written = k->has_atomics = false;
  for (int32_t i = 0; i < k->k->job->program->n_warps; i++) {
    CtCheckWarp *w = &k->warps[i];
    w->first_read = 0;
    w->ordinal = 0;
    w->wrote = (CtRange){INT64_MAX, INT64_MIN};
    w->atomic_event = 0;
    w->global_event = 0;
  }
}

void ct_shadow_begin_block(CtCheckWorker *k) {
  if (k->next_event > CT_MAX_EVENT / 2) { /* begin again with small numbers */
    memset(k->shadow, 0, k->check->n_granules * sizeof *k->shadow);
    if (k->atomics != NULL) {
      memset(k->atomics, 0, k->check->n_granules * sizeof *k->atomics);
    }
    if (k->clocks != NULL) {
      ct_touch_forget(k);
    }
    k->next_event = 1;
  }
  k->n_blocks++;
  k->block_word = word_of(k->next_event++);
  k->has_written = true;
  k->n_pending = 0;
  k->n_sources = 0;
  k->epoch = 0;
  begin_epoch(k);
}

/* --- events ----------------------------------------------------------------------------------------- */

/* With clocks, an event lives as long as its block; one with the same contents is used again. */
static uint32_t *recent_event(const CtCheckWorker *k, const CtAccess *a) {
  return &k->warps[a->w->index].recent[ct_check_index(k, a->in) % CT_N_RECENT];
}

static bool is_like(const CtCheckEvent *old, const CtCheckEvent *e) {
  return old->in == e->in && old->sub == e->sub && old->component == e->component &&
         old->clock == e->clock && old->time == e->time && old->role == e->role;
}

/* The number of a new event. An atomic instruction may get the number of an earlier event that
   differs only in its time. 0: no memory. */
static uint32_t add_event(CtCheckWorker *k, const CtAccess *a) {
  CtCheckWarp *w = &k->warps[a->w->index];
  if (k->clocks != NULL) {
    CtCheckEvent e;
    uint32_t recent = *recent_event(k, a);
    ct_check_event(k, a, &e);
    if (recent >= k->first_event && is_like(ct_shadow_event(k, recent), &e) &&
        (!a->is_async || ct_async_is_open(k, recent))) {
      return recent;
    }
  } else if (a->is_atomic && w->atomic_event >= k->first_event && w->atomic_event != 0) {
    const CtCheckEvent *old = ct_shadow_event(k, w->atomic_event);
    if (old->in == ct_check_index(k, a->in) && old->sub == w->sub && old->time == w->time &&
        !w->is_near) {
      return w->atomic_event;
    }
  }
  size_t n = k->next_event - k->first_event;
  if (k->next_event >= CT_MAX_EVENT ||
      CT_GROW(k->check->alloc, k->events, k->cap_events, n + 1, NULL) != CT_OK) {
    k->no_memory = true;
    return 0;
  }
  ct_check_event(k, a, &k->events[n]);
  w->atomic_event = a->is_atomic ? k->next_event : w->atomic_event;
  *recent_event(k, a) = k->next_event;
  return k->next_event++;
}

/* --- ranges ----------------------------------------------------------------------------------------- */

/* The range of granules of an access; if it may leave the buffer, the whole buffer. */
static CtRange range_of(const CtCheckWorker *k, const CtAccess *a) {
  int n;
  bool all = !a->is_inside;
  CtRange r = {ct_shadow_granule(k, a->buf, all ? 0 : a->lo, &n),
               ct_shadow_granule(k, a->buf, all ? a->mem->n - 1 : a->hi, &n)};
  r.hi += n - 1;
  return r;
}

static bool meets(CtRange a, int64_t lo, int64_t hi) { return a.lo <= hi && lo <= a.hi; }

/* --- writes ------------------------------------------------------------------------------------------- */

typedef struct Write {
  CtCheckWorker *k;
  const CtAccess *a;
  const CtCheckEvent *event;
  uint32_t word;
  int64_t e; /* the element */
} Write;

/* Compares a write with an older one, given by its word. */
static void look_at_write(const Write *w, int lane, int64_t off, uint32_t old_word) {
  int old_lane = (int)(old_word & CT_EVENT_LANE);
  const CtCheckEvent *old = ct_shadow_event(w->k, old_word >> CT_EVENT_LANE_BITS);
  if (ct_is_before_in_warp(old, w->event, (CtLanePair){old_lane, lane}) ||
      (ct_check_both_atomic(old, w->event) && !ct_sums_are_promised(w->k, w->a)) ||
      ct_flag_view_covers(w->event->view, lane, old, old_lane) ||
      (old->atomic != 0 && w->event->atomic == 0 && ct_flag_has_seen(w->k, w->a, lane, off))) {
    return;
  }
  if (ct_check_both_atomic(old, w->event)) {
    ct_sums_note(w->k, w->a, w->event, lane, old, old_lane, off);
    return;
  }
  bool at_once = old_word >> CT_EVENT_LANE_BITS == w->word >> CT_EVENT_LANE_BITS;
  if (w->event->atomic == 0 && (old->atomic == 0 || old->is_store) &&
      (at_once ? ct_check_is_same_in(w->a, w->e, lane, old_lane, off)
               : ct_check_is_same(w->a, w->e, lane, off))) {
    return;
  }
  ct_finding_race(w->k, CT_CHECK_RACE_SHARED, old, old_lane, true, w->event, lane, true,
                  w->a->buf_index, off);
}

/* Compares a write with the atomic operations at a granule. */
static void look_at_atomics(const Write *w, int lane, int64_t off, int64_t g, bool is_first) {
  for (int i = 0; i < CT_DISTANCE_COUNT; i++) {
    uint32_t word = ct_shadow_atomic(w->k, g, i);
    if (word != 0 && (is_first || word != ct_shadow_atomic(w->k, g - 1, i))) {
      look_at_write(w, lane, off, word);
    }
  }
}

static void write_one(const Write *w, int lane, int64_t off) {
  CtCheckWorker *k = w->k;
  int n;
  int64_t g = ct_shadow_granule(k, w->a->buf, off, &n);
  uint32_t now = w->word | (uint32_t)lane;
  for (int i = 0; i < n; i++) {
    uint32_t *word = &k->shadow[g + i];
    if (*word >= k->epoch_word && *word != now && (i == 0 || word[-1] != *word)) {
      look_at_write(w, lane, off, *word);
    }
    if (k->has_atomics && (w->event->atomic == 0 || w->event->atomic != k->atomic_bytes ||
                           ct_sums_are_promised(k, w->a))) {
      look_at_atomics(w, lane, off, g + i, i == 0);
    }
  }
  for (int i = 0; i < n && w->a->is_atomic; i++) {
    ct_shadow_note_atomic(k, g + i, now, w->event);
  }
  for (int i = 0; i < n && !w->a->is_atomic; i++) {
    k->shadow[g + i] = now;
    if (k->has_atomics) {
      k->atomics[g + i] = (CtLatest){0};
    }
  }
}

static void write_regular(Write *w) {
  const CtAccess *a = w->a;
  bool run = ct_shadow_is_run(w->k, a);
  int n;
  for (w->e = 0; w->e < a->n; w->e++) {
    int64_t first = ct_access_offset(a, w->e, 0);
    uint32_t *shadow = &w->k->shadow[run ? ct_shadow_granule(w->k, a->buf, first, &n) : 0];
    if (run && ct_shadow_write_run(shadow, w->k->epoch_word, w->word)) {
      continue;
    }
    first -= a->pos[0];
    for (uint32_t rest = a->mask; rest != 0; rest &= rest - 1) {
      int lane = ct_first_lane(rest);
      write_one(w, lane, first + a->pos[lane]);
    }
  }
}

static void write_irregular(Write *w) {
  int64_t off[CT_LANES];
  for (w->e = 0; w->e < w->a->n; w->e++) {
    for (uint32_t rest = ct_access_row(w->a, w->e, off); rest != 0; rest &= rest - 1) {
      int lane = ct_first_lane(rest);
      write_one(w, lane, off[lane]);
    }
  }
}

void ct_shadow_write(CtCheckWorker *k, const CtAccess *a) {
  Write w = {.k = k, .a = a};
  uint32_t number = add_event(k, a);
  if (number == 0 || a->mem->n == 0) {
    return;
  }
  CtRange r = range_of(k, a);
  CtCheckEvent now;
  w.event = ct_shadow_event(k, number);
  if (a->is_atomic) { /* the number may be that of an earlier event */
    ct_check_event(k, a, &now);
    w.event = &now;
  }
  w.word = word_of(number);
  if (k->n_pending > 0) {
    ct_async_look(k, a, r);
  }
  if (k->clocks != NULL) {
    ct_clock_write(k, a, number);
  } else if (a->is_regular) {
    write_regular(&w);
  } else {
    write_irregular(&w);
  }
  ct_range_widen(&k->written[a->buf_index], r);
  ct_range_widen(&k->warps[a->w->index].wrote, r);
  k->has_written = true;
  if (a->is_async) {
    ct_async_add(k, w.event, number, a->mask, r);
  }
}

/* Counts as initialised what these lanes would have written. */
void ct_shadow_hold(CtCheckWorker *k, const CtAccess *a, uint32_t lanes) {
  int64_t off[CT_LANES];
  for (int64_t e = 0; a->writes && e < a->n; e++) {
    for (uint32_t rest = lanes & ct_access_row(a, e, off); rest != 0; rest &= rest - 1) {
      int n;
      int64_t g = ct_shadow_granule(k, a->buf, off[ct_first_lane(rest)], &n);
      for (int i = 0; i < n; i++) {
        k->shadow[g + i] = k->shadow[g + i] < k->block_word ? k->block_word : k->shadow[g + i];
      }
    }
  }
}

/* --- reads: the log ------------------------------------------------------------------------------------- */

/* Makes room for 32 offsets; false: no memory. */
static bool add_pos(CtCheckWorker *k, size_t *at) {
  if (CT_GROW(k->check->alloc, k->own_pos, k->cap_own_pos, k->n_own_pos + CT_LANES, NULL) !=
      CT_OK) {
    return false;
  }
  *at = k->n_own_pos;
  k->n_own_pos += CT_LANES;
  return true;
}

static CtRead *add_read(CtCheckWorker *k, const CtAccess *a, CtRange r) {
  if (k->n_reads == k->cap_reads &&
      CT_GROW(k->check->alloc, k->reads, k->cap_reads, k->n_reads + 1, NULL) != CT_OK) {
    k->no_memory = true;
    return NULL;
  }
  CtRead *read = &k->reads[k->n_reads++];
  ct_check_event(k, a, &read->event);
  read->buf = a->buf_index;
  read->mask = a->mask;
  read->n = a->n;
  read->n_rows = a->n_rows;
  read->base = a->base;
  read->lo = r.lo;
  read->hi = r.hi;
  read->step = a->step;
  read->pos = NULL;
  read->rows = a->rows;
  read->cols = a->cols;
  return read;
}

/* Is the latest entry of the log the same read? Loops that wait read the same again and again. */
static bool is_latest(const CtCheckWorker *k, const CtCheckEvent *e, const CtAccess *a,
                      const int64_t *pos) {
  const CtRead *r = k->n_reads == 0 ? NULL : &k->reads[k->n_reads - 1];
  return r != NULL && r->pos == NULL && r->event.in == e->in && r->event.warp == e->warp &&
         r->event.sub == e->sub && r->event.time == e->time && r->event.view == e->view &&
         r->mask == a->mask && r->n == a->n &&
         memcmp(&k->own_pos[r->own_pos], pos, sizeof a->own_pos) == 0;
}

/* Adds an entry with its own offsets. The offsets of lanes outside the mask do not matter. */
static void log_own(CtCheckWorker *k, const CtAccess *a, const CtCheckEvent *e, CtRange r,
                    uint32_t mask, int64_t n, const int64_t pos[CT_LANES]) {
  size_t at = 0;
  if (n == a->n && is_latest(k, e, a, pos)) {
    return;
  }
  CtRead *read = add_pos(k, &at) ? add_read(k, a, r) : NULL;
  if (read == NULL) {
    k->no_memory = true;
    return;
  }
  memcpy(&k->own_pos[at], pos, CT_LANES * sizeof *pos);
  read->own_pos = at;
  read->mask = mask;
  read->n = n;
  if (n != a->n) { /* the entry is one element of the access */
    read->n_rows = n;
    read->base = 0;
    read->rows = read->cols = NULL;
    read->step = 0;
  }
}

/* Logs a read element by element, because its tables may change before the barrier. */
static void log_irregular(CtCheckWorker *k, const CtAccess *a, const CtCheckEvent *e) {
  for (int64_t i = 0; i < a->n; i++) {
    int64_t pos[CT_LANES] = {0}, lo = INT64_MAX, hi = INT64_MIN;
    uint32_t mask = ct_access_row(a, i, pos);
    for (uint32_t rest = mask; rest != 0; rest &= rest - 1) {
      int n;
      int64_t g = ct_shadow_granule(k, a->buf, pos[ct_first_lane(rest)], &n);
      lo = ct_min(lo, g);
      hi = ct_max(hi, g + n - 1);
    }
    if (mask != 0) {
      CtAccess one = *a;
      one.n = -1; /* so that log_own takes it for one element */
      log_own(k, &one, e, (CtRange){lo, hi}, mask, 1, pos);
    }
  }
}

static void log_read(CtCheckWorker *k, const CtAccess *a, CtRange r, bool is_steady) {
  if (is_steady && a->is_regular && a->pos != a->own_pos) {
    CtRead *read = add_read(k, a, r);
    if (read != NULL) {
      read->pos = a->pos;
    }
    return;
  }
  CtCheckEvent e;
  ct_check_event(k, a, &e);
  if (a->is_regular && is_steady) {
    log_own(k, a, &e, r, a->mask, a->n, a->pos);
  } else {
    log_irregular(k, a, &e);
  }
}

/* --- reads: races ---------------------------------------------------------------------------------------- */

/* `fresh`: the read came after the last sync_warp of its warp. Older reads were compared with
   their own warp's writes already. */
typedef struct Look {
  CtCheckWorker *k;
  const CtRead *r;
  bool fresh, in_warp_only;
} Look;

/* Compares it with a write, given by its word. */
static void look_at_word(const Look *l, int lane, int64_t off, uint32_t word) {
  CtCheckWorker *k = l->k;
  int old_lane = (int)(word & CT_EVENT_LANE);
  const CtCheckEvent *old = ct_shadow_event(k, word >> CT_EVENT_LANE_BITS), *e = &l->r->event;
  bool in_warp = old->warp == e->warp;
  if ((in_warp ? !l->fresh : l->in_warp_only) ||
      ct_is_before_in_warp(old, e, (CtLanePair){old_lane, lane}) || ct_check_both_atomic(old, e) ||
      ct_flag_view_covers(e->view, lane, old, old_lane) ||
      ct_flag_view_covers(old->view, old_lane, e, lane)) {
    return;
  }
  if (old->ordinal < e->ordinal) {
    ct_finding_race(k, CT_CHECK_RACE_SHARED, old, old_lane, true, e, lane, false, l->r->buf, off);
  } else {
    ct_finding_race(k, CT_CHECK_RACE_SHARED, e, lane, false, old, old_lane, true, l->r->buf, off);
  }
}

static void look_at_read(const Look *l, int lane, int64_t off) {
  CtCheckWorker *k = l->k;
  int n;
  int64_t g = ct_shadow_granule(k, &k->k->job->program->bufs[l->r->buf], off, &n);
  for (int i = 0; i < n; i++) {
    uint32_t word = k->shadow[g + i];
    if (word >= k->epoch_word && (i == 0 || word != k->shadow[g + i - 1])) {
      look_at_word(l, lane, off, word);
    }
    for (int j = 0; j < CT_DISTANCE_COUNT && k->has_atomics; j++) {
      word = ct_shadow_atomic(k, g + i, j);
      if (word != 0 && (i == 0 || word != ct_shadow_atomic(k, g + i - 1, j))) {
        look_at_word(l, lane, off, word);
      }
    }
  }
}

static void look_at_entry(CtCheckWorker *k, const CtRead *r, bool fresh, bool in_warp_only) {
  const Look l = {k, r, fresh, in_warp_only};
  const int64_t *pos = r->pos != NULL ? r->pos : &k->own_pos[r->own_pos];
  for (int64_t e = 0; e < r->n; e++) {
    int64_t i = e % r->n_rows, j = e / r->n_rows;
    int64_t first =
        r->base + (r->rows != NULL ? r->rows[i] : i * r->step) + (r->cols != NULL ? r->cols[j] : 0);
    for (uint32_t rest = r->mask; rest != 0; rest &= rest - 1) {
      int lane = ct_first_lane(rest);
      look_at_read(&l, lane, first + pos[lane]);
    }
  }
}

static bool is_written(const CtCheckWorker *k, const CtRead *r) {
  for (uint32_t b = 1; b < k->k->job->program->n_bufs; b++) {
    if (meets(k->written[b], r->lo, r->hi)) {
      return true;
    }
  }
  return false;
}

static void look_at_reads(CtCheckWorker *k) {
  if (k->has_written && k->n_races >= MAX_RACES && k->n_reads > 0) {
    k->no_memory = true;
  }
  for (size_t i = 0; k->has_written && k->n_races < MAX_RACES && i < k->n_reads; i++) {
    const CtRead *r = &k->reads[i];
    if (is_written(k, r)) {
      look_at_entry(k, r, i >= k->warps[r->event.warp].first_read, false);
    }
  }
}

void ct_shadow_sync_warp(CtCheckWorker *k, const CtWarp *w) {
  CtCheckWarp *warp = &k->warps[w->index];
  for (size_t i = warp->first_read; warp->wrote.lo <= warp->wrote.hi && i < k->n_reads; i++) {
    const CtRead *r = &k->reads[i];
    if (r->event.warp == w->index && meets(warp->wrote, r->lo, r->hi)) {
      look_at_entry(k, r, true, true);
    }
  }
  warp->first_read = k->n_reads;
  warp->wrote = (CtRange){INT64_MAX, INT64_MIN};
  warp->sub++;
}

void ct_shadow_barrier(CtCheckWorker *k) {
  ct_unset_tell(k);
  look_at_reads(k);
  k->epoch++;
  if (k->clocks != NULL) {
    ct_clock_barrier(k);
  } else {
    begin_epoch(k);
  }
  if (k->n_pending + k->n_sources > 0) {
    ct_async_barrier(k);
  }
}

/* --- reads ------------------------------------------------------------------------------------------------- */

static bool is_known(const CtKnownRead *s, const CtAccess *a) {
  return s->in == a->in && s->pattern == a->pattern && s->base == a->base && s->mask == a->mask &&
         s->warp == a->w->index && s->role == a->role;
}

void ct_shadow_read(CtCheckWorker *k, const CtAccess *a, bool is_steady) {
  bool is_plain =
      k->clocks == NULL && is_steady && a->is_regular && a->pos != a->own_pos && !a->is_atomic;
  CtCheckWarp *w = &k->warps[a->w->index];
  CtKnownRead *s = is_plain ? ct_known_at(k, a->in, a->role, a->w->index, a->base, a->mask) : NULL;
  bool hit = s != NULL && is_known(s, a);
  if (a->mem->n == 0) {
    return;
  }
  CtRange r = range_of(k, a);
  if (!hit || s->block != k->n_blocks) {
    ct_unset_look(k, a, r);
  }
  if (k->n_pending > 0) {
    ct_async_look(k, a, r);
  }
  if (a->is_atomic && a->writes) { /* its write says more */
    return;
  }
  if (k->clocks != NULL) {
    uint32_t number = add_event(k, a);
    if (number != 0) {
      ct_clock_read(k, a, number);
    }
    return;
  }
  if (!(hit && s->epoch == k->n_epochs && s->sub == w->sub && s->time == w->time && !w->is_near)) {
    log_read(k, a, r, is_steady);
    if (s != NULL && k->n_reads > 0) {
      *s = (CtKnownRead){.in = a->in,
                         .pattern = a->pattern,
                         .base = a->base,
                         .mask = a->mask,
                         .warp = a->w->index,
                         .sub = w->sub,
                         .time = w->time,
                         .role = (uint16_t)a->role,
                         .epoch = k->n_epochs,
                         .read = k->reads[k->n_reads - 1]};
    }
  }
  if (s != NULL) {
    s->block = k->n_blocks;
  }
  if (k->n_reads >= MAX_READS) {
    look_at_reads(k);
    k->n_reads = k->n_own_pos = 0;
    for (int32_t i = 0; i < k->k->job->program->n_warps; i++) {
      k->warps[i].first_read = 0;
    }
  }
}
