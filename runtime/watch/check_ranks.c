/* check_ranks.c: what orders the launches of several ranks; check_ranks.h says how. */
#include "check_ranks.h"

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

enum { ANY_RANK = -1, ALL_WARPS = -1 };

/* An element where something was released. */
typedef struct Place {
  const char *at; /* NULL: free */
  CtReachList list;
  uint64_t version; /* grows with each release */
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

static int compare(const CtReach *a, const CtReach *b) {
  const int64_t keys[][2] = {{a->job, b->job},
                             {a->block, b->block},
                             {a->warp, b->warp},
                             {a->rank, b->rank},
                             {a->by, b->by}};
  for (size_t i = 0; i < CT_ARRAY_LEN(keys); i++) {
    if (keys[i][0] != keys[i][1]) {
      return keys[i][0] < keys[i][1] ? -1 : 1;
    }
  }
  return 0;
}

/* Adds a reach, or makes the one of the same kind later. False: no memory. */
static bool add(CtAlloc alloc, CtReachList *l, const CtReach *r) {
  size_t lo = 0, hi = l->n;
  while (lo < hi) {
    size_t mid = lo + (hi - lo) / 2;
    if (compare(&l->items[mid], r) < 0) {
      lo = mid + 1;
    } else {
      hi = mid;
    }
  }
  if (lo < l->n && compare(&l->items[lo], r) == 0) {
    if (l->items[lo].time < r->time) {
      l->items[lo] = *r;
    }
    return true;
  }
  if (ct_grow(alloc, &l->items, &l->cap, l->n + 1, sizeof *l->items, NULL) != CT_OK) {
    return false;
  }
  memmove(&l->items[lo + 1], &l->items[lo], (l->n - lo) * sizeof *l->items);
  l->items[lo] = *r;
  l->n++;
  return true;
}

static void clear(CtAlloc alloc, CtReachList *l) {
  ct_free(alloc, l->items, l->cap * sizeof *l->items);
  *l = (CtReachList){NULL, 0, 0};
}

static CtRanks *ranks_of(const CtCheckWorker *k) { return k->check->ranks; }
static const CtSimtJob *job_of(const CtCheckWorker *k) { return k->k->job; }

/* What a block knows belongs to the first block of its cluster. */
static CtRankView *view_of(CtCheckWorker *k) { return &(k - k->k->rank)->view; }

static void learn(CtCheckWorker *k, CtReachList *to, CtReach r, int32_t by) {
  r.by = by;
  r.rank = ANY_RANK;
  r.got = atomic_load(&k->check->root->clock);
  k->no_memory = !add(k->check->alloc, to, &r) || k->no_memory;
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

/* What the warp hands on: its own reach, and what it knows. */
static void put(CtCheckWorker *k, CtReachList *l, int32_t warp, uint64_t time, int rank) {
  const CtRankView *v = view_of(k);
  CtReach own = {.job = job_of(k)->number,
                 .block = k->k->block,
                 .warp = warp,
                 .rank = rank,
                 .by = ALL_WARPS,
                 .epoch = k->epoch,
                 .time = time,
                 .acq = k->block_acq,
                 .in_acq = k->warps[warp].acq};
  bool ok = time == 0 || add(k->check->alloc, l, &own);
  for (size_t i = 0; i < v->known.n && ok; i++) {
    CtReach r = v->known.items[i];
    if (r.by == ALL_WARPS || r.by == warp || k->clocks != NULL) {
      r.rank = rank;
      r.by = ALL_WARPS;
      ok = add(k->check->alloc, l, &r);
    }
  }
  k->no_memory = k->no_memory || !ok;
}

/* Releases at scope "gpu" what came before `time`, and at scope "sys" what came before `time_sys`. */
static void release(CtCheckWorker *k, int32_t warp, uint64_t time, uint64_t time_sys) {
  CtRanks *r = ranks_of(k);
  CtRankView *v = view_of(k);
  int rank = job_of(k)->rank;
  pthread_mutex_lock(&r->lock);
  for (int i = 0; i < v->n_places; i++) {
    Place *p = time == 0 && time_sys == 0 ? NULL : place_of(r, v->places[i], true);
    if (p != NULL && time != 0) {
      put(k, &p->list, warp, time, rank);
    }
    if (p != NULL && time_sys != 0) {
      put(k, &p->list, warp, time_sys, ANY_RANK);
    }
    if (p != NULL) {
      p->version++;
    }
  }
  pthread_mutex_unlock(&r->lock);
  const CtGlobal *g = k->check->global;
  if (time_sys != 0 && g->released_sys != NULL) {
    atomic_store(&g->released_sys[k->k->block], time_sys);
  }
}

static void note_places(CtRankView *v, const CtAccess *a) {
  v->n_places = 0;
  for (uint32_t rest = a->mask; rest != 0; rest &= rest - 1) {
    int64_t off;
    if (ct_access_at(a, 0, ct_first_lane(rest), &off)) {
      const char *at = (const char *)a->mem->ptr + off * (int64_t)a->mem->elem_bytes;
      bool is_new = v->n_places == 0 || v->places[v->n_places - 1] != at;
      v->places[v->n_places] = at;
      v->n_places += is_new;
    }
  }
}

void ct_ranks_atomic(CtCheckWorker *k, const CtAccess *a, CtOp op, unsigned order) {
  CtRankView *v = view_of(k);
  bool is_store = op == CT_OP_ATOMIC_STORE, is_load = op == CT_OP_ATOMIC_LOAD;
  bool is_relaxed = (order & CT_ORDER_RELAXED) != 0 || !(is_store || is_load);
  note_places(v, a);
  v->is_sys = (order & CT_ORDER_SYS) != 0;
  v->acquires = is_load && !is_relaxed;
  if (!is_load) {
    uint64_t now = atomic_load(&k->check->root->clock);
    uint64_t time = is_relaxed ? k->block_fence : now;
    uint64_t time_sys = !v->is_sys ? 0 : is_relaxed ? v->fence_sys : now;
    release(k, a->w->index, time, time_sys);
  }
  v->n_places = is_store ? 0 : v->n_places;
}

/* {====== Acquires ====== */

/* What an operation of that scope learns of a place. */
static bool may_learn(const CtCheckWorker *k, const CtReach *r, bool is_sys) {
  return r->rank == job_of(k)->rank || (is_sys && r->rank == ANY_RANK);
}

static void read_place(CtCheckWorker *k, CtRankView *v, const Place *p, int32_t warp) {
  if (v->last == p->at && v->last_version == p->version && v->n_places == 1) {
    return; /* a loop that waits */
  }
  v->last = p->at;
  v->last_version = p->version;
  for (size_t i = 0; i < p->list.n; i++) {
    CtReach r = p->list.items[i];
    if (may_learn(k, &r, v->is_sys) && v->acquires) {
      learn(k, &v->known, r, warp);
    } else if (may_learn(k, &r, v->is_sys)) {
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
    const Place *p = place_of(r, v->places[i], false);
    if (p != NULL) {
      read_place(k, v, p, warp);
    }
  }
  pthread_mutex_unlock(&r->lock);
  if (v->is_sys && v->acquires) {
    v->acq_sys = atomic_load(&k->check->root->clock);
  }
  v->n_places = 0;
}

void ct_ranks_fence(CtCheckWorker *k, int32_t warp, bool is_sys) {
  CtRankView *v = view_of(k);
  uint64_t now = atomic_load(&k->check->root->clock);
  for (size_t i = 0; i < v->pending.n; i++) {
    if (may_learn(k, &v->pending.items[i], is_sys)) {
      learn(k, &v->known, v->pending.items[i], warp);
    }
  }
  v->acq_sys = is_sys ? now : v->acq_sys;
  v->fence_sys = is_sys ? now : v->fence_sys;
  v->last = NULL;
}

/* {====== Blocks ====== */

static void learn_all(CtCheckWorker *k, const CtReachList *from) {
  CtReachList *known = &view_of(k)->known;
  for (size_t i = 0; i < from->n; i++) {
    learn(k, known, from->items[i], ALL_WARPS);
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
    v->acq_sys = v->fence_sys = 0;
    pthread_mutex_lock(&r->lock);
    learn_all(k, base_of(k, job_of(k)));
    pthread_mutex_unlock(&r->lock);
  }
}

static void hand_over(CtCheckWorker *k, CtReachList *to) {
  const CtRankView *v = view_of(k);
  pthread_mutex_lock(&ranks_of(k)->lock);
  for (size_t i = 0; i < v->known.n; i++) {
    CtReach r = v->known.items[i];
    r.by = ALL_WARPS;
    k->no_memory = !add(k->check->alloc, to, &r) || k->no_memory;
  }
  pthread_mutex_unlock(&ranks_of(k)->lock);
}

void ct_ranks_end_block(CtCheckWorker *k) { hand_over(k, &ranks_of(k)->ended[job_of(k)->number]); }

void ct_ranks_barrier(CtCheckWorker *k) {
  bool any = false;
  for (size_t i = 0; i < view_of(k)->known.n && !any; i++) {
    any = view_of(k)->known.items[i].by != ALL_WARPS;
  }
  if (!any) {
    return;
  }
  CtReachList *known = &view_of(k)->known, old = *known;
  *known = (CtReachList){NULL, 0, 0};
  learn_all(k, &old);
  if (known->n < old.n && k->no_memory) { /* rather what some warps know */
    clear(k->check->alloc, known);
    *known = old;
    return;
  }
  clear(k->check->alloc, &old);
}

void ct_ranks_grid(CtCheckWorker *k, int64_t phase, bool passes) {
  CtRanks *r = ranks_of(k);
  CtReachList *grid = &r->grid[job_of(k)->number][phase % 2];
  if (!passes) {
    hand_over(k, grid);
    return;
  }
  pthread_mutex_lock(&r->lock);
  learn_all(k, grid);
  pthread_mutex_unlock(&r->lock);
}

void ct_ranks_close_worker(CtCheckWorker *k) {
  clear(k->check->alloc, &k->view.known);
  clear(k->check->alloc, &k->view.pending);
}

/* {====== Order ====== */

/* Does the warp know the reach? */
static bool knows(const CtCheckWorker *k, const CtReach *r, int32_t warp) {
  return r->by == ALL_WARPS || r->by == warp || k->clocks != NULL || k->warps[warp].acq > r->got;
}

/* Does the reach, of the same rank as the access, cover it? */
static bool covers(const CtCheckWorker *k, const CtReach *r, const CtCheckEvent *old) {
  const CtCheck *part = ranks_of(k)->by_job[old->job];
  if (r->job != (int)old->job || r->time <= old->seq) {
    return r->job > (int)old->job;
  }
  if (r->block == old->block) {
    return r->warp == old->warp || r->epoch > old->epoch || r->in_acq > old->seq ||
           part->has_clocks;
  }
  bool in_cluster =
      part->job->program->n_cluster > 1 && ct_global_in_cluster(part->job, r->block, old->block);
  return in_cluster ||
         (r->acq > old->seq && ct_global_released(part->global, old->block) > old->seq);
}

bool ct_ranks_is_before(const CtCheckWorker *k, const CtCheckEvent *old, const CtCheckEvent *now) {
  int rank = ranks_of(k)->group->jobs[old->job].rank;
  const CtReachList *known = &(k - k->k->rank)->view.known;
  if (rank == job_of(k)->rank || (ct_check_both_atomic(old, now) && old->is_sys && now->is_sys)) {
    return true;
  }
  for (size_t i = 0; i < known->n; i++) {
    const CtReach *r = &known->items[i];
    if (ranks_of(k)->group->jobs[r->job].rank == rank && knows(k, r, now->warp) &&
        covers(k, r, old)) {
      return true;
    }
  }
  return false;
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
