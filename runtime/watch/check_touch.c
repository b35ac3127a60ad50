/* check_touch.c: accesses of shared memory under vector clocks: each is compared with those that the shadow
   names. Most of them come before all that the new one does, and neighbouring granules name the same
   ones. So an access is taken in runs of neighbouring granules of one lane, and each older event is
   compared once. What this does not settle is compared granule by granule and lane by lane. */
#include "check_before.h"
#include "check_flag.h"
#include "check_latest.h"

#include <string.h>

enum { N_BEFORE = 16 }; /* older events that are remembered */
enum { N_WRITERS = 8, N_GROUP_READS = 32, WARP_GROUP = 4 };

/* A read by a product of a warp group, all of whose warps read the same: what it found. */
struct CtGroupRead {
  const CtIn *in;
  CtAccessRole role;
  uint32_t component, clock;
  int64_t off; /* of the first element, before the swizzle */
  const int64_t *rows, *cols;
  uint64_t n_writes;           /* of the block's shared memory, then */
  uint32_t writers[N_WRITERS]; /* the words of what wrote it */
  uint32_t n_writers;          /* N_WRITERS: there may be more */
};

typedef struct Touch {
  CtCheckWorker *k;
  const CtAccess *a;
  CtCheckEvent event;
  uint32_t number;
  int64_t e;
  int lane;                     /* that accesses it alone; CT_NO_LANE: there are several */
  CtLanePair all;               /* any lane of an older access, and all of this one */
  size_t n_warps, warp;         /* of the cluster */
  uint32_t before[2][N_BEFORE]; /* reads, writes: numbers of events that come before all of it */
  struct CtGroupRead *group;    /* to note what wrote there; NULL: nowhere */
} Touch;

/* A part of an access: n granules, from g on, which is at element `off`; by one lane, or each by the next (step 1). */
typedef struct Run {
  int64_t g, n, off;
  int lane, step;
} Run;

/* --- the words of readers -------------------------------------------------------------------------------- */

static size_t n_warps_of(const CtCheckWorker *k) {
  return (size_t)k->clocks->n_blocks * k->clocks->n_warps;
}

static size_t column_bytes(const CtCheckWorker *k) {
  return k->check->n_granules * sizeof **k->readers->last;
}

/* A column that is going to be used; NULL: no memory. */
static uint32_t *use_column(CtCheckWorker *k, uint32_t **column) {
  if (*column == NULL) {
    *column = ct_alloc(k->check->alloc, column_bytes(k));
    if (*column != NULL) {
      memset(*column, 0, column_bytes(k));
    }
    k->no_memory = k->no_memory || *column == NULL;
  }
  return *column;
}

/* Calls fn for each column that is used. */
static void each_column(const CtCheckWorker *k,
                        void (*fn)(const CtCheckWorker *k, uint32_t *column)) {
  const struct CtReaders *r = k->readers;
  for (size_t i = 0; i < 2 * n_warps_of(k); i++) {
    uint32_t *columns[] = {r->last[i], i % 2 == 0 ? r->others[i / 2] : NULL,
                           r->loads != NULL ? r->loads[i] : NULL};
    for (size_t j = 0; j < CT_ARRAY_LEN(columns); j++) {
      if (columns[j] != NULL) {
        fn(k, columns[j]);
      }
    }
  }
}

static void clear_column(const CtCheckWorker *k, uint32_t *column) {
  memset(column, 0, column_bytes(k));
}
static void free_column(const CtCheckWorker *k, uint32_t *column) {
  ct_free(k->check->alloc, column, column_bytes(k));
}

bool ct_touch_open(CtCheckWorker *k) {
  CtArena *arena = &k->check->arena;
  size_t n = n_warps_of(k);
  struct CtReaders r = {.last = ct_arena_alloc(arena, 2 * n * sizeof *r.last),
                        .others = ct_arena_alloc(arena, n * sizeof *r.others),
                        .read = ct_arena_alloc(arena, 2 * n * sizeof *r.read),
                        .group = ct_arena_alloc(arena, N_GROUP_READS * sizeof *r.group)};
  uint8_t bytes = 0;
  bool has_loads = ct_latest_is_wanted(k->check->job->program, true, &bytes);
  r.loads = has_loads ? ct_arena_alloc(arena, 2 * n * sizeof *r.loads) : NULL;
  bool ok = r.last != NULL && r.others != NULL && r.read != NULL && r.group != NULL &&
            (r.loads != NULL || !has_loads);
  k->readers = ok ? ct_arena_alloc(arena, sizeof r) : NULL;
  if (k->readers != NULL) {
    *k->readers = r;
  }
  return k->readers != NULL;
}

void ct_touch_close(const CtCheckWorker *k) {
  if (k->readers != NULL) {
    each_column(k, free_column);
  }
}

void ct_touch_begin_block(CtCheckWorker *k) {
  for (size_t i = 0; i < 2 * n_warps_of(k); i++) {
    k->readers->read[i] = (CtRange){INT64_MAX, INT64_MIN};
  }
  k->n_writes++;
}

void ct_touch_forget(CtCheckWorker *k) { each_column(k, clear_column); }

/* --- what comes before ------------------------------------------------------------------------------------ */

static bool is_response(const Touch *t) {
  const CtSimtProgram *p = t->a->w->worker->job->program;
  return t->event.agent == CT_AGENT_BAR && ct_in_op(p, t->event.in) == CT_OP_CLC_TRY_CANCEL;
}

/* TMA and products take another path to memory than threads, and than an ST_ASYNC. Where a thread wrote by an ordinary
   instruction, they need a proxy fence in between (PTX ISA, async proxy). So do TMA and a response where they write what
   a thread read: what it loads may still be on its way when it arrives at an mbarrier. */
static bool needs_proxy(const Touch *t, const CtCheckEvent *old, bool old_writes) {
  bool by_thread = old->agent == CT_AGENT_NONE && t->event.agent != CT_AGENT_NONE;
  bool is_tma = ct_in_is(&t->k->code[t->event.in], CT_INS_TMA);
  return by_thread && (is_tma || (old_writes ? t->a->reads : is_response(t)));
}

/* Is the older access over before this one, or do the two never race? */
static bool is_ordered(const Touch *t, const CtCheckEvent *old, CtLanePair lanes, bool old_writes) {
  const CtCheckEvent *e = &t->event;
  if (t->a->buf->space == CT_TENSOR) {
    return ct_tensor_is_before(ct_check_worker(t->a->w->worker), t->a, e, old);
  }
  bool are_reads =
      old->agent != CT_AGENT_NONE && old->component == e->component && !old_writes && !t->a->writes;
  return are_reads || (ct_check_both_atomic(old, e) && !ct_sums_are_promised(t->k, t->a)) ||
         ct_is_before(ct_check_worker(t->a->w->worker), old, e, lanes, old->agent != CT_AGENT_NONE,
                      needs_proxy(t, old, old_writes));
}

/* Need the access that a word names not be looked at, whatever the lanes? */
static bool is_settled(Touch *t, uint32_t word, bool old_writes) {
  uint32_t number = word >> CT_EVENT_LANE_BITS;
  uint32_t *before = &t->before[old_writes][number % N_BEFORE];
  if (word <= (t->k->block_word | CT_EVENT_LANE) || *before == number) {
    return true;
  }
  if (number == t->number ? old_writes && t->a->writes
                          : !is_ordered(t, ct_shadow_event(t->k, number), t->all, old_writes)) {
    return false;
  }
  *before = number;
  return true;
}

static void note_writer(struct CtGroupRead *r, uint32_t word) {
  bool has = r->n_writers == N_WRITERS;
  for (uint32_t i = 0; i < r->n_writers && !has; i++) {
    has = r->writers[i] == word;
  }
  if (!has) {
    r->writers[r->n_writers++] = word;
  }
}

static bool are_settled(Touch *t, const uint32_t *words, int64_t n, bool old_writes) {
  uint32_t seen = 0;
  for (int64_t i = 0; i < n; i++) {
    if (words[i] != seen && t->group != NULL) {
      note_writer(t->group, words[i]);
    }
    if (words[i] != seen && !is_settled(t, words[i], old_writes)) {
      return false;
    }
    seen = words[i];
  }
  return true;
}

/* --- one granule ------------------------------------------------------------------------------------------ */

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
static bool look_at(Touch *t, uint32_t word, bool old_writes, int lane, int64_t off) {
  uint32_t number = word >> CT_EVENT_LANE_BITS;
  if (is_settled(t, word, old_writes)) {
    return false;
  }
  int old_lane = (int)(word & CT_EVENT_LANE);
  const CtCheckEvent *old = ct_shadow_event(t->k, number);
  bool both_write = old_writes && t->a->writes;
  if ((number == t->number && old_lane == lane) ||
      is_ordered(t, old, (CtLanePair){old_lane, lane}, old_writes)) {
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
  if (ct_check_both_atomic(old, &t->event)) {
    ct_sums_note(t->k, t->a, &t->event, lane, old, old_lane, off);
    return false;
  }
  if (old->is_copied) {
    ct_async_note_copied(t->k, t->a, lane, off, old, old_lane);
    return true;
  }
  if (t->a->buf->space == CT_TENSOR) {
    (void)forget_unset(t->k, off, t->a);
    ct_tensor_note_race(t->k, t->a, &t->event, lane, old, old_lane, old_writes, off);
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
static bool look_at_atomics(Touch *t, int64_t g, int lane, int64_t off) {
  bool races = false;
  for (int i = 0; t->k->has_atomics && i < CT_DISTANCE_COUNT; i++) {
    races = look_at(t, ct_shadow_atomic(t->k, g, i), true, lane, off) || races;
  }
  return races;
}

/* Compares a write with the atomic loads at a granule; true if it races with one. */
static bool look_at_loads(Touch *t, int64_t g, int lane, int64_t off) {
  uint32_t *const *loads = t->k->readers->loads;
  bool races = false;
  for (size_t i = 0; loads != NULL && i < 2 * t->n_warps && !races; i++) {
    races = loads[i] != NULL && look_at(t, loads[i][g], false, lane, off);
  }
  return races;
}

/* Compares a write with the plain reads at a granule; true if it races with one. */
static bool look_at_readers(Touch *t, int64_t g, int lane, int64_t off) {
  bool races = false;
  for (size_t i = 0; i < 2 * t->n_warps && !races; i++) {
    const CtRange *read = &t->k->readers->read[i];
    uint32_t word = read->lo <= g && g <= read->hi ? t->k->readers->last[i][g] : 0;
    races = look_at(t, word, false, lane, off);
    if (!races && i % 2 == 0 && word > (t->k->block_word | CT_EVENT_LANE)) {
      races = look_at(t, t->k->readers->others[i / 2][g], false, lane, off);
    }
  }
  return races;
}

/* Forgets the plain reads of these granules. */
static void hide_readers(const CtCheckWorker *k, size_t n_warps, int64_t g, int64_t n) {
  for (size_t i = 0; i < 2 * n_warps; i++) {
    const CtRange *read = &k->readers->read[i];
    if (read->lo < g + n && g <= read->hi) {
      memset(&k->readers->last[i][g], 0, (size_t)n * sizeof **k->readers->last);
    }
  }
}

/* A plain write hides what came before it: that is ordered before it, or was reported. An atomic
   operation hides nothing. */
static void write_granule(Touch *t, int64_t g, int lane, int64_t off, bool is_first) {
  CtCheckWorker *k = t->k;
  uint32_t word = t->number << CT_EVENT_LANE_BITS | (uint32_t)lane;
  bool races = is_first && look_at_readers(t, g, lane, off);
  races = (is_first && look_at_loads(t, g, lane, off)) || races;
  races = (is_first && look_at_atomics(t, g, lane, off)) || races;
  if (is_first && !races) { /* a race with a read in between says more than one with a write */
    (void)look_at(t, k->shadow[g], true, lane, off);
  }
  if (t->event.atomic != 0) {
    ct_shadow_note_atomic(k, g, word, &t->event);
    return;
  }
  hide_readers(k, t->n_warps, g, 1);
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

/* The word of a run's first granule; it grows by `step` from granule to granule. */
static uint32_t word_of(const Touch *t, const Run *r) {
  return t->number << CT_EVENT_LANE_BITS | (uint32_t)r->lane;
}

/* Is it a read by this product, which another warp of the group has made? The first of them stays. */
static bool is_by_group(const Touch *t, uint32_t word) {
  const CtCheckEvent *old = ct_shadow_event(t->k, word >> CT_EVENT_LANE_BITS);
  return word > (t->k->block_word | CT_EVENT_LANE) && t->event.agent == CT_AGENT_WGMMA &&
         old->component == t->event.component && old->clock == t->event.clock &&
         old->in == t->event.in;
}

static void note_read(Touch *t, const Run *r) {
  CtCheckWorker *k = t->k;
  uint32_t word = word_of(t, r), step = (uint32_t)r->step;
  bool by_agent = t->event.agent != CT_AGENT_NONE;
  bool is_load = !by_agent && t->event.atomic != 0;
  uint32_t **loads = k->readers->loads;
  uint32_t *last =
      use_column(k, is_load ? &loads[2 * t->warp] : &k->readers->last[2 * t->warp + by_agent]);
  uint32_t *others =
      by_agent ? last
               : use_column(k, is_load ? &loads[2 * t->warp + 1] : &k->readers->others[t->warp]);
  if (last == NULL || others == NULL) {
    return;
  }
  uint32_t seen = 0;
  bool is = false;
  for (int64_t i = 0; i < r->n && by_agent; i++) {
    is = last[r->g + i] == seen ? is : is_by_group(t, last[r->g + i]);
    seen = last[r->g + i];
    last[r->g + i] = is ? last[r->g + i] : word + (uint32_t)i * step;
  }
  for (int64_t i = 0; i < r->n && !by_agent; i++) {
    note_reader(t, &last[r->g + i], &others[r->g + i], word + (uint32_t)i * step);
  }
  if (!is_load) {
    ct_range_widen(&k->readers->read[2 * t->warp + by_agent], (CtRange){r->g, r->g + r->n - 1});
  }
}

static void read_granule(Touch *t, int64_t g, int lane, int64_t off, bool is_first) {
  if (is_first && !look_at_atomics(t, g, lane, off)) {
    (void)look_at(t, t->k->shadow[g], true, lane, off);
  }
  note_read(t, &(Run){.g = g, .n = 1, .off = off, .lane = lane});
}

/* --- a run of granules -------------------------------------------------------------------------------------- */

static bool is_read_settled(Touch *t, const Run *r) {
  return are_settled(t, &t->k->shadow[r->g], r->n, true);
}

static bool is_write_settled(Touch *t, const Run *r) {
  CtCheckWorker *k = t->k;
  bool ok = are_settled(t, &k->shadow[r->g], r->n, true);
  for (size_t i = 0; ok && i < 2 * t->n_warps; i++) {
    const CtRange *read = &k->readers->read[i];
    if (read->lo < r->g + r->n && r->g <= read->hi) {
      ok = are_settled(t, &k->readers->last[i][r->g], r->n, false) &&
           (i % 2 != 0 || are_settled(t, &k->readers->others[i / 2][r->g], r->n, false));
    }
  }
  return ok;
}

/* Has another lane of the same access written there? */
static bool is_own(const Touch *t, const Run *r) {
  uint32_t own = 0;
  for (int64_t i = 0; i < r->n; i++) {
    own |= (uint32_t)(t->k->shadow[r->g + i] >> CT_EVENT_LANE_BITS == t->number);
  }
  return own != 0;
}

static void note_write(Touch *t, const Run *r) {
  uint32_t word = word_of(t, r), step = (uint32_t)r->step;
  if (is_own(t, r)) {
    int each = (int)ct_check_granules(t->a->buf->dtype, t->k->granule_bits);
    for (int64_t i = 0; i < r->n; i++) {
      write_granule(t, r->g + i, r->lane + (int)i * r->step, r->off + i / each, i % each == 0);
    }
    return;
  }
  hide_readers(t->k, t->n_warps, r->g, r->n);
  for (int64_t i = 0; i < r->n; i++) {
    t->k->shadow[r->g + i] = word + (uint32_t)i * step;
  }
}

/* --- an access ------------------------------------------------------------------------------------------------ */

/* What is done with accesses of one kind. */
typedef struct How {
  bool (*is_settled)(Touch *t, const Run *r); /* what the words there name comes before it */
  void (*note)(Touch *t, const Run *r);       /* if so */
  void (*granule)(Touch *t, int64_t g, int lane, int64_t off, bool is_first); /* if not */
} How;

static void touch_row(Touch *t, const How *how) {
  int64_t off[CT_LANES];
  for (uint32_t rest = ct_access_row(t->a, t->e, off); rest != 0; rest &= rest - 1) {
    int lane = ct_first_lane(rest), n;
    int64_t g = ct_shadow_granule(t->k, t->a->buf, off[lane], &n);
    for (int i = 0; i < n; i++) {
      how->granule(t, g + i, lane, off[lane], i == 0);
    }
  }
}

/* Do the lanes have neighbouring granules? */
static bool is_across(const Touch *t) { return t->a->is_regular && ct_shadow_is_run(t->k, t->a); }

/* The run that begins with element e of the lane; returns how many elements it has. */
static int64_t run_at(const Touch *t, int64_t e, int lane, Run *r) {
  int each;
  bool across = is_across(t);
  int64_t n = across ? 1 : ct_access_run(t->a, e, lane, &r->off);
  r->off = across ? ct_access_offset(t->a, e, 0) : r->off;
  r->g = ct_shadow_granule(t->k, t->a->buf, r->off, &each);
  r->n = across ? CT_LANES : n * each;
  r->lane = lane;
  r->step = across;
  return n;
}

/* Takes an access by one lane. */
static void touch_lane(Touch *t, const How *how) {
  for (t->e = 0; t->e < t->a->n;) {
    Run r;
    int64_t end = t->e + run_at(t, t->e, t->lane, &r);
    if (how->is_settled(t, &r)) {
      how->note(t, &r);
      t->e = end;
    } else if (t->group != NULL) {
      t->group->n_writers = N_WRITERS;
    }
    for (; t->e < end; t->e++) {
      touch_row(t, how);
    }
  }
}

/* Takes an access by several lanes if all of it is settled; else returns false. */
static bool touch_lanes(Touch *t, const How *how) {
  uint32_t lanes = is_across(t) ? 1 : t->a->mask;
  bool ok = true;
  Run r;
  for (int pass = 0; pass < 2 && ok; pass++) {
    for (uint32_t rest = lanes; rest != 0 && ok; rest &= rest - 1) {
      for (t->e = 0; t->e < t->a->n && ok;) {
        int64_t n = run_at(t, t->e, ct_first_lane(rest), &r);
        if (pass == 0) {
          ok = how->is_settled(t, &r);
        } else {
          how->note(t, &r);
        }
        t->e += n;
      }
    }
  }
  return ok;
}

/* Has another warp of the group read the same, and nobody written since? Then it is the same read, if what was
   written comes before this warp's, too. Else it is noted where a later one finds it. */
static bool is_noted(Touch *t) {
  const CtAccess *a = t->a;
  const CtCheckEvent *e = &t->event;
  struct CtGroupRead now = {.in = a->in,
                            .role = a->role,
                            .component = e->component,
                            .clock = e->clock,
                            .off = ct_access_offset(a, 0, t->lane),
                            .rows = a->rows,
                            .cols = a->cols,
                            .n_writes = t->k->n_writes};
  uint32_t hash = (e->in * 4 + now.role + e->component * 11 + e->clock * 5) * 0x9E3779B1u;
  struct CtGroupRead *r = &t->k->readers->group[hash >> 27];
  bool is = r->in == now.in && r->role == now.role && r->component == now.component &&
            r->clock == now.clock && r->off == now.off && r->rows == now.rows &&
            r->cols == now.cols && r->n_writes == now.n_writes && r->n_writers < N_WRITERS;
  for (uint32_t i = 0; is && i < r->n_writers; i++) {
    is = is_settled(t, r->writers[i], true);
  }
  if (!is) {
    *r = now;
    t->group = r;
  }
  return is;
}

static void touch(CtCheckWorker *k, const CtAccess *a, uint32_t number, const How *how) {
  bool is_one = (a->mask & (a->mask - 1)) == 0;
  Touch t = {.k = k,
             .a = a,
             .number = number,
             .lane = is_one ? ct_first_lane(a->mask) : CT_NO_LANE,
             .all = {CT_ANY_LANE, is_one ? ct_first_lane(a->mask) : CT_NO_LANE}};
  if (k->n_races > (1 << 20)) {
    return;
  }
  ct_check_event(k, a, &t.event);
  t.n_warps = k->clocks->n_blocks * (size_t)k->clocks->n_warps;
  t.warp = (size_t)a->w->worker->rank * k->clocks->n_warps + (size_t)t.event.warp;
  t.warp -= t.event.agent == CT_AGENT_WGMMA ? (size_t)t.event.warp % WARP_GROUP : 0;
  bool in_runs = a->is_inside && (a->is_regular || a->is_swizzled) && !k->has_atomics &&
                 t.event.atomic == 0 && k->readers->loads == NULL;
  k->n_writes += a->writes;
  if (in_runs && is_one && t.event.agent == CT_AGENT_WGMMA && is_noted(&t)) {
    return;
  }
  if (in_runs && is_one) {
    touch_lane(&t, how);
  } else if (!in_runs || !touch_lanes(&t, how)) {
    for (t.e = 0; t.e < a->n; t.e++) {
      touch_row(&t, how);
    }
  }
}

void ct_clock_read(CtCheckWorker *k, const CtAccess *a, uint32_t number) {
  static const How how = {is_read_settled, note_read, read_granule};
  touch(k, a, number, &how);
}
void ct_clock_write(CtCheckWorker *k, const CtAccess *a, uint32_t number) {
  static const How how = {is_write_settled, note_write, write_granule};
  touch(k, a, number, &how);
}
