/* check_ranks.c: what orders the launches of several ranks; check_ranks.h says how. */
#include "check_ranks.h"

#include "check_clock.h"

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

enum { ANY_RANK = -1 };
enum { STAMPS_KEPT = 4 }; /* of one kind of reach that a warp has learned again and again */

/* An element where something was released. */
typedef struct Place {
  const char *at; /* NULL: free */
  CtReachList list;
  uint64_t version; /* grows with each release */
  int n_running;    /* atomic operations there that have begun and not ended */
  int job;          /* of an element of shared memory: whose it is; -1: of global memory */
  int64_t block;
} Place;

struct CtRanks {
  CtCheck *parent;          /* of the parts */
  const CtSimtGroup *group; /* while they run; NULL before the first launch begins */
  int n_jobs;
  CtCheck **by_job; /* parts by the number of the launch */
  CtGlobal *global;
  uint32_t **region_of; /* by number */
  CtArena arena;
  pthread_mutex_t lock; /* of what follows */
  Place *places;
  size_t n_places, cap_places; /* a hash table; cap is 0 or a power of 2 */
  CtReachList *ended;          /* by number: what the launch's blocks knew at their ends */
  CtReachList
      *base; /* by number: the same of the rank's launches before; has_base: it is complete */
  bool *has_base;
  CtReachList (*grid)[2]; /* by number: what blocks knew when they came to the grid's barrier */
  bool no_memory;
};

/* {====== Lists ====== */

/* By what they are of, who knows it, and when that warp learned it; n_keys: how much of that counts. */
enum { SAME_KIND = 7, SAME_STAMP = 8 };

static int order(int64_t a, int64_t b) { return (a > b) - (a < b); }

static int compare(const CtReach *a, const CtReach *b, size_t n_keys) {
  int is = order(a->job, b->job);
  is = is != 0 ? is : order(a->block, b->block);
  is = is != 0 ? is : order(a->warp, b->warp);
  is = is != 0 ? is : order(a->rank, b->rank);
  is = is != 0 ? is : order(a->by, b->by);
  is = is != 0 ? is : order(a->lanes, b->lanes);
  is = is != 0 ? is : order(a->by_lanes, b->by_lanes);
  return is != 0 || n_keys == SAME_KIND ? is : order(a->clock, b->clock);
}

/* Where a reach belongs: before the first that is not less. */
static size_t find_reach(const CtReachList *l, const CtReach *r, size_t n_keys) {
  size_t lo = 0, hi = l->n;
  while (lo < hi) {
    size_t mid = lo + (hi - lo) / 2;
    if (compare(&l->items[mid], r, n_keys) < 0) {
      lo = mid + 1;
    } else {
      hi = mid;
    }
  }
  return lo;
}

/* Adds a reach, or makes the one of the same kind later. False: no memory. */
static bool add(CtAlloc alloc, CtReachList *l, const CtReach *r) {
  bool is_last = l->last < l->n && compare(&l->items[l->last], r, SAME_STAMP) == 0;
  size_t at = is_last ? l->last : find_reach(l, r, SAME_STAMP);
  l->last = at;
  if (at < l->n && compare(&l->items[at], r, SAME_STAMP) == 0) {
    if (l->items[at].time < r->time) {
      l->items[at] = *r;
    }
    return true;
  }
  if (ct_grow(alloc, &l->items, &l->cap, l->n + 1, sizeof *l->items, NULL) != CT_OK) {
    return false;
  }
  memmove(&l->items[at + 1], &l->items[at], (l->n - at) * sizeof *l->items);
  l->items[at] = *r;
  l->n++;
  return true;
}

static void to_all(CtReach *r) {
  r->by = CT_ALL_WARPS;
  r->by_lanes = CT_ALL_LANES;
  r->component = r->clock = 0;
}

static void clear(CtAlloc alloc, CtReachList *l) {
  ct_free(alloc, l->items, l->cap * sizeof *l->items);
  *l = (CtReachList){.items = NULL};
}

static CtRanks *ranks_of(const CtCheckWorker *k) { return k->check->ranks; }
static const CtSimtJob *job_of(const CtCheckWorker *k) { return k->k->job; }

/* What a block knows belongs to the first block of its cluster. */
static CtRankView *view_of(CtCheckWorker *k) { return &(k - k->k->rank)->view; }

/* The number of a warp in its cluster. */
static int32_t id_of(const CtCheckWorker *k, int32_t warp) {
  return (int32_t)k->k->rank * k->k->job->program->n_warps + warp;
}

/* Where a warp learns the same again and again, the oldest counts as known to all. */
static void forget_oldest(CtCheckWorker *k, CtReachList *l, const CtReach *r) {
  CtReach first = *r;
  first.clock = 0;
  size_t at = find_reach(l, &first, SAME_KIND), end = at;
  while (end < l->n && compare(&l->items[end], r, SAME_KIND) == 0) {
    end++;
  }
  if (end - at > STAMPS_KEPT) {
    first = l->items[at];
    memmove(&l->items[at], &l->items[at + 1], (l->n - at - 1) * sizeof *l->items);
    l->n--;
    to_all(&first);
    k->no_memory = !add(k->check->alloc, l, &first) || k->no_memory;
  }
}

/* These lanes of the warp know the reach from now on. */
static void learn(CtCheckWorker *k, CtReach r, int32_t warp, uint32_t lanes) {
  CtReachList *known = &view_of(k)->known;
  r.rank = ANY_RANK;
  r.by = id_of(k, warp);
  r.by_lanes = lanes;
  r.component = r.clock = 0;
  if (k->clocks != NULL) {
    CtCheckEvent now = {.agent = 0};
    ct_clock_stamp(k, warp, NULL, &now);
    r.component = now.component;
    r.clock = now.clock;
  }
  k->no_memory = !add(k->check->alloc, known, &r) || k->no_memory;
  if (k->clocks != NULL) {
    forget_oldest(k, known, &r);
  }
}

/* Does one of these lanes of the warp know the reach? */
static bool knows(const CtCheckWorker *k, const CtReach *r, int32_t warp, uint32_t lanes) {
  if (r->by == CT_ALL_WARPS || (r->by == id_of(k, warp) && (r->by_lanes & lanes) != 0)) {
    return true;
  }
  const CtCheckEvent learned = {.component = r->component, .clock = r->clock};
  return k->clocks != NULL && ct_clock_is_before(k, &learned, warp, false);
}

/* {====== Places ====== */

static size_t hash(const char *at, size_t cap) {
  return (size_t)((uint64_t)(uintptr_t)at * 0x9E3779B97F4A7C15u >> 20) & (cap - 1);
}

static Place *find(Place *places, size_t cap, const char *at) {
  size_t i = hash(at, cap);
  while (places[i].at != NULL && places[i].at != at) {
    i = (i + 1) & (cap - 1);
  }
  return &places[i];
}

static bool grow(CtRanks *r) {
  size_t cap = r->cap_places == 0 ? 64 : r->cap_places * 2;
  Place *places = ct_alloc(r->parent->alloc, cap * sizeof *places);
  if (places == NULL) {
    return false;
  }
  memset(places, 0, cap * sizeof *places);
  for (size_t i = 0; i < r->cap_places; i++) {
    if (r->places[i].at != NULL) {
      *find(places, cap, r->places[i].at) = r->places[i];
    }
  }
  ct_free(r->parent->alloc, r->places, r->cap_places * sizeof *r->places);
  r->places = places;
  r->cap_places = cap;
  return true;
}

/* The place of an element; NULL: nothing was released there, or, if it is to be made, no memory. */
static Place *place_of(CtRanks *r, const char *at, bool makes) {
  if (makes && r->n_places * 2 >= r->cap_places && !grow(r)) {
    r->no_memory = true;
    return NULL;
  }
  Place *p = r->cap_places == 0 ? NULL : find(r->places, r->cap_places, at);
  if (p != NULL && p->at == NULL && makes) {
    p->at = at;
    r->n_places++;
  }
  return p == NULL || p->at == NULL ? NULL : p;
}

/* {====== Releases ====== */

/* What a warp knows of its cluster by clocks; NULL: it has none, or no memory. Call it with the lock. */
static const uint32_t *row_of(CtCheckWorker *k, int32_t warp) {
  uint32_t n = k->clocks == NULL ? 0 : ct_clock_width(k);
  uint32_t *row = n == 0 ? NULL : ct_arena_alloc(&ranks_of(k)->arena, n * sizeof *row);
  if (row != NULL) {
    ct_clock_snapshot(k, warp, row);
  }
  k->no_memory = k->no_memory || (n != 0 && row == NULL);
  return row;
}

/* What lanes of a warp release now. */
static CtRankFence moment_of(CtCheckWorker *k, int32_t warp, uint32_t lanes) {
  return (CtRankFence){.lanes = lanes,
                       .sub = warp == CT_ALL_WARPS ? 0 : k->warps[warp].sub,
                       .epoch = k->epoch,
                       .time = atomic_load(&k->check->root->clock),
                       .row = row_of(k, warp)};
}

/* Hands on what these lanes of the warp did before the moment, and what they know. */
static void put(CtCheckWorker *k, CtReachList *l, int32_t warp, const CtRankFence *m,
                uint32_t lanes, int rank) {
  const CtRankView *v = view_of(k);
  CtReach own = {.job = job_of(k)->number,
                 .block = k->k->block,
                 .warp = warp,
                 .lanes = lanes,
                 .rank = rank,
                 .by = CT_ALL_WARPS,
                 .by_lanes = CT_ALL_LANES,
                 .sub = m->sub,
                 .epoch = m->epoch,
                 .time = m->time,
                 .row = m->row};
  bool ok = add(k->check->alloc, l, &own);
  for (size_t i = 0; i < v->known.n && ok; i++) {
    CtReach r = v->known.items[i];
    if (knows(k, &r, warp, lanes)) {
      r.rank = rank;
      to_all(&r);
      ok = add(k->check->alloc, l, &r);
    }
  }
  k->no_memory = k->no_memory || !ok;
}

/* The lanes of a place release what came before these moments: for their rank; at scope "sys", for all. */
static void release_at(CtCheckWorker *k, int32_t warp, const CtRankPlace *at, Place *p) {
  const CtRankView *v = view_of(k);
  for (int i = 0; i < 2; i++) {
    uint32_t lanes = v->released[i].time == 0 ? 0 : v->released[i].lanes & at->lanes;
    if (lanes != 0) {
      put(k, &p->list, warp, &v->released[i], lanes, i == 0 ? job_of(k)->rank : ANY_RANK);
    }
  }
  p->version++;
}

/* An operation begins at a place. What it releases is there before others can read its value. */
static void begin_at(CtCheckWorker *k, int32_t warp, CtRankPlace *at, bool writes) {
  const CtRankView *v = view_of(k);
  bool releases = writes && (v->released[0].time | v->released[1].time) != 0;
  Place *p = place_of(ranks_of(k), at->at, releases);
  at->is_counted = p != NULL;
  if (p == NULL) {
    return;
  }
  p->n_running++;
  if (v->is_shared && (p->job != job_of(k)->number || p->block != k->k->block)) {
    p->list.n = 0;
  }
  p->job = v->is_shared ? job_of(k)->number : -1;
  p->block = v->is_shared ? k->k->block : 0;
  if (releases) {
    release_at(k, warp, at, p);
  }
}

/* It has ended. Who reads what was stored learns nothing of what was there before, unless it may have read that. */
static Place *end_at(CtCheckWorker *k, int32_t warp, const CtRankPlace *at) {
  Place *p = place_of(ranks_of(k), at->at, false);
  if (p != NULL && at->is_counted) {
    p->n_running--;
    if (view_of(k)->is_store && p->n_running == 0) {
      p->list.n = 0;
      release_at(k, warp, at, p);
    }
  }
  return p;
}

static void note_releases(CtCheckWorker *k, int32_t warp, bool is_relaxed) {
  CtRankView *v = view_of(k);
  CtRankFence now = {.time = 0};
  if (!is_relaxed) {
    now = moment_of(k, warp, CT_ALL_LANES);
  }
  for (int i = 0; i < 2; i++) {
    v->released[i] = is_relaxed ? v->fences[id_of(k, warp)][i] : now;
  }
  if (!v->is_sys) {
    v->released[1].time = 0;
  }
  const CtGlobal *g = k->check->global;
  if (v->released[1].time != 0 && g->released_sys != NULL) {
    atomic_store(&g->released_sys[k->k->block], v->released[1].time);
  }
}

/* Lanes often have one place in common. */
static void note_places(CtRankView *v, const CtAccess *a) {
  v->n_places = 0;
  for (uint32_t rest = a->mask; rest != 0; rest &= rest - 1) {
    int64_t off;
    int lane = ct_first_lane(rest);
    if (ct_access_at(a, 0, lane, &off)) {
      const char *at = (const char *)a->mem->ptr + off * (int64_t)a->mem->elem_bytes;
      bool is_new = v->n_places == 0 || v->places[v->n_places - 1].at != at;
      v->n_places += is_new;
      CtRankPlace *place = &v->places[v->n_places - 1];
      place->lanes = (is_new ? 0 : place->lanes) | 1u << lane;
      place->at = at;
    }
  }
}

void ct_ranks_atomic(CtCheckWorker *k, const CtAccess *a, CtOp op, unsigned order) {
  CtRankView *v = view_of(k);
  bool is_load = op == CT_OP_ATOMIC_LOAD;
  v->is_store = op == CT_OP_ATOMIC_STORE;
  v->is_shared = a->buf->space == CT_SHARED;
  if (v->is_shared && k->clocks != NULL) {
    return; /* clocks know it */
  }
  bool is_relaxed = (order & CT_ORDER_RELAXED) != 0 || !(v->is_store || is_load);
  note_places(v, a);
  v->is_sys = (order & CT_ORDER_SYS) != 0;
  v->acquires = is_load && !is_relaxed;
  pthread_mutex_lock(&ranks_of(k)->lock);
  if (!is_load) {
    note_releases(k, a->w->index, is_relaxed);
  }
  for (int i = 0; i < v->n_places; i++) {
    begin_at(k, a->w->index, &v->places[i], !is_load);
  }
  pthread_mutex_unlock(&ranks_of(k)->lock);
}

/* {====== Acquires ====== */

/* What an operation of that scope learns of a place. */
static bool may_learn(const CtCheckWorker *k, const CtReach *r, bool is_sys) {
  return r->rank == job_of(k)->rank || (is_sys && r->rank == ANY_RANK);
}

/* Has the warp, in a loop that waits, read the same before? */
static bool has_read(const CtCheckWorker *k, const CtRankView *v, const Place *p, int32_t warp,
                     uint32_t lanes) {
  return v->last == p->at && v->last_version == p->version && v->n_places == 1 &&
         v->last_warp == id_of(k, warp) && (lanes & ~v->last_lanes) == 0;
}

static void read_place(CtCheckWorker *k, CtRankView *v, const Place *p, int32_t warp,
                       uint32_t lanes) {
  bool is_other = v->is_shared && (p->job != job_of(k)->number || p->block != k->k->block);
  if (is_other || has_read(k, v, p, warp, lanes)) {
    return;
  }
  v->last = p->at;
  v->last_version = p->version;
  v->last_warp = id_of(k, warp);
  v->last_lanes = lanes;
  for (size_t i = 0; i < p->list.n; i++) {
    CtReach r = p->list.items[i];
    if (may_learn(k, &r, v->is_sys) && v->acquires) {
      learn(k, r, warp, lanes);
    } else if (may_learn(k, &r, v->is_sys)) {
      r.by = id_of(k, warp);
      r.by_lanes = lanes;
      k->no_memory = !add(k->check->alloc, &v->pending, &r) || k->no_memory;
    }
  }
}

void ct_ranks_after(CtCheckWorker *k, int32_t warp) {
  CtRankView *v = view_of(k);
  CtRanks *r = ranks_of(k);
  if (v->n_places == 0) {
    return;
  }
  pthread_mutex_lock(&r->lock);
  for (int i = 0; i < v->n_places; i++) {
    const Place *p = end_at(k, warp, &v->places[i]);
    if (p != NULL && !v->is_store) {
      read_place(k, v, p, warp, v->places[i].lanes);
    }
  }
  pthread_mutex_unlock(&r->lock);
  if (v->is_sys && v->acquires) {
    v->acq_sys = atomic_load(&k->check->root->clock);
  }
  v->n_places = 0;
}

/* A fence is of the lanes that come to it: each makes known what it has read itself. */
static void acquire_by_fence(CtCheckWorker *k, int32_t warp, uint32_t lanes, bool is_sys) {
  const CtRankView *v = view_of(k);
  for (size_t i = 0; i < v->pending.n; i++) {
    const CtReach *r = &v->pending.items[i];
    uint32_t both = r->by == id_of(k, warp) ? r->by_lanes & lanes : 0;
    if (both != 0 && may_learn(k, r, is_sys)) {
      learn(k, *r, warp, both);
    }
  }
}

void ct_ranks_fence(CtCheckWorker *k, int32_t warp, uint32_t lanes, bool is_sys) {
  CtRankView *v = view_of(k);
  acquire_by_fence(k, warp, lanes, is_sys);
  pthread_mutex_lock(&ranks_of(k)->lock);
  CtRankFence now = moment_of(k, warp, lanes);
  pthread_mutex_unlock(&ranks_of(k)->lock);
  for (int i = 0; i <= is_sys; i++) { /* lanes of an earlier fence count as those of this one */
    CtRankFence *f = &v->fences[id_of(k, warp)][i];
    now.lanes = lanes | f->lanes;
    *f = now;
  }
  v->acq_sys = is_sys ? now.time : v->acq_sys;
  v->last = NULL;
}

/* {====== Blocks ====== */

static size_t n_warps_of(const CtCheckWorker *k) { /* of the cluster */
  const CtSimtProgram *p = job_of(k)->program;
  return (size_t)p->n_cluster * (size_t)p->n_warps;
}

bool ct_ranks_open_worker(CtCheckWorker *k) {
  k->view.fences = ct_arena_alloc(&k->check->arena, n_warps_of(k) * sizeof *k->view.fences);
  return k->view.fences != NULL;
}

static void learn_all(CtCheckWorker *k, const CtReachList *from) {
  CtReachList *known = &view_of(k)->known;
  for (size_t i = 0; i < from->n; i++) {
    CtReach r = from->items[i];
    r.rank = ANY_RANK;
    to_all(&r);
    k->no_memory = !add(k->check->alloc, known, &r) || k->no_memory;
  }
}

/* What a block of the launch knows from the beginning. The launches before it have ended. */
static const CtReachList *base_of(CtCheckWorker *k, const CtSimtJob *job) {
  CtRanks *r = ranks_of(k);
  CtReachList *base = &r->base[job->number];
  if (r->has_base[job->number] || job == job->first) {
    return base;
  }
  const CtReachList *parts[] = {base_of(k, job - 1), &r->ended[job->number - 1]};
  for (int i = 0; i < 2; i++) {
    for (size_t m = 0; m < parts[i]->n; m++) {
      k->no_memory = !add(k->check->alloc, base, &parts[i]->items[m]) || k->no_memory;
    }
  }
  r->has_base[job->number] = true;
  return base;
}

void ct_ranks_begin_block(CtCheckWorker *k) {
  CtRanks *r = ranks_of(k);
  CtRankView *v = view_of(k);
  if (k->k->rank == 0) {
    v->known.n = v->pending.n = 0;
    v->n_places = 0;
    v->last = NULL;
    v->acq_sys = 0;
    memset((void *)v->fences, 0, n_warps_of(k) * sizeof *v->fences);
    pthread_mutex_lock(&r->lock);
    learn_all(k, base_of(k, job_of(k)));
    pthread_mutex_unlock(&r->lock);
  }
}

/* Call it with the lock. */
static void hand_over(CtCheckWorker *k, CtReachList *to) {
  const CtRankView *v = view_of(k);
  for (size_t i = 0; i < v->known.n; i++) {
    CtReach r = v->known.items[i];
    to_all(&r);
    k->no_memory = !add(k->check->alloc, to, &r) || k->no_memory;
  }
}

void ct_ranks_end_block(CtCheckWorker *k) {
  pthread_mutex_lock(&ranks_of(k)->lock);
  hand_over(k, &ranks_of(k)->ended[job_of(k)->number]);
  pthread_mutex_unlock(&ranks_of(k)->lock);
}

/* Makes known to all what these have learned: lanes of a warp, or warps. */
static void share(CtCheckWorker *k, int32_t id) {
  CtReachList *known = &view_of(k)->known, old = *known;
  bool any = false, ok = true;
  for (size_t i = 0; i < old.n; i++) {
    any = any ||
          (id == CT_ALL_WARPS ? old.items[i].by != CT_ALL_WARPS
                              : old.items[i].by == id && old.items[i].by_lanes != CT_ALL_LANES);
  }
  if (!any) {
    return;
  }
  *known = (CtReachList){.items = NULL};
  for (size_t i = 0; i < old.n && ok; i++) {
    CtReach r = old.items[i];
    if (id == CT_ALL_WARPS) {
      to_all(&r);
    } else if (r.by == id) {
      r.by_lanes = CT_ALL_LANES;
    }
    ok = add(k->check->alloc, known, &r);
  }
  k->no_memory = k->no_memory || !ok;
  if (ok) {
    clear(k->check->alloc, &old);
  } else { /* rather what some know */
    clear(k->check->alloc, known);
    *known = old;
  }
}

/* Of a cluster the clocks say which warps know it. */
void ct_ranks_barrier(CtCheckWorker *k) {
  if (job_of(k)->program->n_cluster == 1) {
    share(k, CT_ALL_WARPS);
  }
}

void ct_ranks_sync_warp(CtCheckWorker *k, int32_t warp) { share(k, id_of(k, warp)); }

void ct_ranks_grid(CtCheckWorker *k, int64_t phase, bool passes) {
  CtRanks *r = ranks_of(k);
  CtReachList *grid = &r->grid[job_of(k)->number][phase % 2];
  pthread_mutex_lock(&r->lock);
  if (passes) {
    learn_all(k, grid);
  } else {
    atomic_fetch_add(&k->check->root->clock, 1);
    CtRankFence now = moment_of(k, CT_ALL_WARPS, CT_ALL_LANES);
    put(k, grid, CT_ALL_WARPS, &now, CT_ALL_LANES, ANY_RANK);
    hand_over(k, grid);
  }
  pthread_mutex_unlock(&r->lock);
}

void ct_ranks_close_worker(CtCheckWorker *k) {
  clear(k->check->alloc, &k->view.known);
  clear(k->check->alloc, &k->view.pending);
}

/* {====== Order ====== */

/* Does the reach, of the same rank as the access, cover it? */
static bool covers(const CtCheckWorker *k, const CtReach *r, const CtCheckEvent *old,
                   int old_lane) {
  const CtSimtJob *job = &ranks_of(k)->group->jobs[old->job];
  if (r->job != (int)old->job || r->time <= ct_global_end_of(old)) {
    return r->job > (int)old->job;
  }
  bool in_block = r->block == old->block;
  if (!in_block &&
      (job->program->n_cluster == 1 || !ct_global_in_cluster(job, r->block, old->block))) {
    return false;
  }
  if (r->row != NULL && r->row[old->component] >= old->clock) {
    return true;
  }
  if (!in_block || old->agent != CT_AGENT_NONE) {
    return false; /* only a wait says that an agent's work is done */
  }
  bool is_lane = r->warp == old->warp && (r->sub != old->sub || (r->lanes >> old_lane & 1) != 0);
  return r->warp == CT_ALL_WARPS || r->epoch > old->epoch || is_lane;
}

/* Does a reach that the lane knows cover the older access? `by_launch`: one of a later launch. */
static bool is_covered(const CtCheckWorker *k, const CtCheckEvent *old, int old_lane,
                       const CtCheckEvent *now, int lane, bool by_launch) {
  const CtSimtGroup *group = ranks_of(k)->group;
  const CtReachList *known = &(k - k->k->rank)->view.known;
  int rank = group->jobs[old->job].rank;
  for (size_t i = 0; i < known->n; i++) {
    const CtReach *r = &known->items[i];
    if (group->jobs[r->job].rank == rank && (!by_launch || r->job > (int)old->job) &&
        covers(k, r, old, old_lane) && knows(k, r, now->warp, 1u << lane)) {
      return true;
    }
  }
  return false;
}

bool ct_ranks_is_before(const CtCheckWorker *k, const CtCheckEvent *old, int old_lane,
                        const CtCheckEvent *now, int lane) {
  int rank = ranks_of(k)->group->jobs[old->job].rank;
  return rank == job_of(k)->rank ||
         (ct_check_both_atomic(old, now) && old->is_sys && now->is_sys) ||
         is_covered(k, old, old_lane, now, lane, false);
}

static bool has_fenced(const CtGlobal *g, const CtCheckEvent *e, uint64_t since) {
  return g->proxied != NULL && atomic_load(&g->proxied[e->block]) > since;
}

bool ct_ranks_is_seen(const CtCheckWorker *k, const CtCheckEvent *old, int old_lane,
                      const CtCheckEvent *now, int lane) {
  const CtRanks *r = ranks_of(k);
  const CtGlobal *from = r->by_job[old->job]->global, *to = k->check->global;
  return r->group->jobs[old->job].rank == job_of(k)->rank || from->has_too_many ||
         to->has_too_many || has_fenced(from, old, old->seq) || has_fenced(to, now, old->seq) ||
         is_covered(k, old, old_lane, now, lane, true);
}

bool ct_ranks_lacks_scope(const CtCheckWorker *k, const CtCheckEvent *old) {
  const CtGlobal *from = ranks_of(k)->by_job[old->job]->global;
  bool released = ct_global_released(from, old->block) > old->seq;
  bool released_sys = ct_global_released_sys(from, old->block) > old->seq;
  bool acquired = k->block_acq > old->seq, acquired_sys = (k - k->k->rank)->view.acq_sys > old->seq;
  return (released && !released_sys) || (acquired && !acquired_sys);
}

bool ct_ranks_is_writing(const CtCheckWorker *k, uint32_t number) {
  const CtRanks *r = ranks_of(k);
  for (int i = 0; i < r->group->n_jobs; i++) {
    const CtCheck *c = r->by_job[i];
    for (int w = 0; w < c->n_workers; w++) {
      if (c->job->workers[w].team != k->k->team && atomic_load(&c->workers[w].writing) == number) {
        return true;
      }
    }
  }
  return false;
}

/* {====== Beginning and ending ====== */

static CtStatus begin_all(CtRanks *r, const CtSimtGroup *g, CtErr *err) {
  size_t n = (size_t)g->n_jobs;
  r->by_job = ct_arena_alloc(&r->arena, n * sizeof *r->by_job);
  r->ended = ct_arena_alloc(&r->arena, n * sizeof *r->ended);
  r->base = ct_arena_alloc(&r->arena, n * sizeof *r->base);
  r->has_base = ct_arena_alloc(&r->arena, n * sizeof *r->has_base);
  r->grid = ct_arena_alloc(&r->arena, n * sizeof *r->grid);
  r->region_of = ct_arena_alloc(&r->arena, n * sizeof *r->region_of);
  if (r->by_job == NULL || r->ended == NULL || r->base == NULL || r->has_base == NULL ||
      r->grid == NULL || r->region_of == NULL) {
    return ct_fail_nomem(err);
  }
  atomic_store(&r->parent->clock, 1);
  r->global = r->parent->options.no_global
                  ? NULL
                  : ct_global_make(&r->arena, g->jobs, g->n_jobs, r->region_of);
  if (r->global == NULL && !r->parent->options.no_global) {
    return ct_fail_nomem(err);
  }
  r->group = g;
  r->n_jobs = g->n_jobs;
  return CT_OK;
}

CtStatus ct_ranks_begin(CtCheck *part, CtErr *err) {
  CtRanks *r = part->ranks;
  CtStatus status = r->group == NULL ? begin_all(r, part->job->group, err) : CT_OK;
  if (status != CT_OK) {
    return status;
  }
  r->by_job[part->job->number] = part;
  return r->global == NULL ? CT_OK
                           : ct_global_share(part, r->global, r->region_of[part->job->number], err);
}

CtRanks *ct_ranks_open(CtCheck *c) {
  CtRanks *r = ct_alloc(c->alloc, sizeof *r);
  if (r != NULL) {
    *r = (CtRanks){.parent = c};
    ct_arena_init(&r->arena, c->alloc);
    pthread_mutex_init(&r->lock, NULL);
  }
  return r;
}

bool ct_ranks_close(CtRanks *r) {
  CtAlloc alloc = r->parent->alloc;
  bool no_memory = r->no_memory;
  for (size_t i = 0; i < r->cap_places; i++) {
    clear(alloc, &r->places[i].list);
  }
  for (int i = 0; i < r->n_jobs; i++) {
    clear(alloc, &r->ended[i]);
    clear(alloc, &r->base[i]);
    clear(alloc, &r->grid[i][0]);
    clear(alloc, &r->grid[i][1]);
  }
  if (r->global != NULL) {
    ct_global_free(alloc, r->global);
  }
  ct_free(alloc, r->places, r->cap_places * sizeof *r->places);
  pthread_mutex_destroy(&r->lock);
  ct_arena_clear(&r->arena);
  ct_free(alloc, r, sizeof *r);
  return no_memory;
}
