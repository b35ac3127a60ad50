/* check_async.c: `check` of asynchronous copies (cp.async) into shared memory. The thread that
   copies may use the data after a cp_async_wait that covers its group. Other threads may use it
   after a barrier that follows this wait. Until then nobody may read or write that memory. Under
   clocks, a copy that is waited for is an access of the time of the wait. If lanes of one copy wait apart, it stays one
   of the time when it began: so accesses of others may count as ordered that are not.

   The source may be read meanwhile, but not written. Who reads it is in the shadow of global
   memory, which check_global.c keeps. There a copy that comes before a write is not enough: its
   wait must come before it, too. So the copies are kept here, and once one is waited for, its
   event is that of the wait. */
#include "check_global.h"
#include "runtime/base/order.h"

enum { MAX_SOURCES = 1 << 12 }; /* without a barrier; then those that are done are forgotten */

/* One of n pending copies, which are in the order of their numbers. */
static const CtPending *find(const CtPending *pending, size_t n, uint32_t event) {
  size_t i;
  CT_FIRST_NOT_BEFORE(i, n, pending[i].event < event);
  return i < n && pending[i].event == event ? &pending[i] : NULL;
}

static void add(CtCheckWorker *k, CtPending **list, size_t *n, size_t *cap, CtPending p) {
  size_t room = *cap;
  if (CT_GROW(k->check->alloc, *list, room, *n + 1, NULL) != CT_OK) {
    k->no_memory = true;
    return;
  }
  *cap = room;
  p.group = k->warps[p.what.warp].n_groups;
  (*list)[(*n)++] = p;
}

bool ct_async_is_open(const CtCheckWorker *k, uint32_t number) {
  const CtPending *p = find(k->pending, k->n_pending, number);
  return p != NULL && !p->is_done && p->group == k->warps[p->what.warp].n_groups;
}

/* A number that comes again is of the same group. */
void ct_async_add(CtCheckWorker *k, const CtCheckEvent *e, uint32_t number, uint32_t lanes,
                  CtRange r) {
  const CtPending *old = find(k->pending, k->n_pending, number);
  if (old != NULL) {
    CtPending *p = &k->pending[old - k->pending];
    p->lanes |= lanes;
    p->lo = r.lo < p->lo ? r.lo : p->lo;
    p->hi = r.hi > p->hi ? r.hi : p->hi;
    return;
  }
  add(k, &k->pending, &k->n_pending, &k->cap_pending,
      (CtPending){.event = number, .what = *e, .lanes = lanes, .lo = r.lo, .hi = r.hi});
}

/* A number that comes again is of the same group, so it is under way already. */
void ct_async_add_source(CtCheckWorker *k, const CtCheckEvent *e, uint32_t number, uint32_t lanes) {
  const CtPending *old = find(k->sources, k->n_sources, number);
  if (old != NULL) {
    k->sources[old - k->sources].lanes |= lanes;
    return;
  }
  add(k, &k->sources, &k->n_sources, &k->cap_sources,
      (CtPending){.event = number, .what = *e, .lanes = lanes});
}

const CtPending *ct_async_source(const CtCheckWorker *k, uint32_t number) {
  return find(k->sources, k->n_sources, number);
}

static void note(CtCheckWorker *k, const CtAccess *a, int lane, int64_t off,
                 const CtCheckEvent *copy, int copy_lane, int how) {
  CtFound f = ct_finding_of(k, CT_CHECK_ASYNC, a, lane, off);
  f.other = copy->in;
  f.how = (uint8_t)how;
  f.other_block = copy->block;
  f.other_thread = ct_check_thread(copy->warp, copy_lane);
  ct_finding_note(k, &f);
}

static int how_of(const CtAccess *a, const CtPending *p) {
  bool is_far = p->what.block != a->w->worker->block; /* the memory may be another block's */
  return is_far ? (a->writes ? CT_ASYNC_FAR_WRITE : CT_ASYNC_FAR_READ)
                : (a->writes ? CT_ASYNC_WRITE : CT_ASYNC_READ);
}

static void look_at(CtCheckWorker *k, const CtAccess *a, int lane, int64_t off) {
  int n, copy_lane;
  int64_t g = ct_shadow_granule(k, a->buf, off, &n);
  for (int i = 0; i < n; i++) {
    uint32_t word = k->shadow[g + i];
    const CtPending *p = i > 0 && word == k->shadow[g + i - 1]
                             ? NULL
                             : find(k->pending, k->n_pending, word >> CT_EVENT_LANE_BITS);
    if (p == NULL) {
      continue;
    }
    copy_lane = (int)(word & CT_EVENT_LANE);
    bool own = p->what.warp == a->w->index && copy_lane == lane;
    bool synced = p->what.warp == a->w->index && p->done_sub != k->warps[a->w->index].sub;
    if (!p->is_done && (p->lanes >> copy_lane & 1) != 0) {
      note(k, a, lane, off, &p->what, copy_lane, how_of(a, p));
    } else if (p->is_done && !own && !synced &&
               word < k->epoch_word) { /* otherwise it is an ordinary race */
      note(k, a, lane, off, &p->what, copy_lane, CT_ASYNC_NO_BARRIER);
    }
  }
}

/* Call it before the access is noted in the shadow. */
void ct_async_look(CtCheckWorker *k, const CtAccess *a, CtRange r) {
  bool meets = false;
  for (size_t i = 0; i < k->n_pending && !meets; i++) {
    meets = k->pending[i].lo <= r.hi && r.lo <= k->pending[i].hi;
  }
  int64_t off[CT_LANES];
  for (int64_t e = 0; meets && e < a->n; e++) {
    for (uint32_t rest = ct_access_row(a, e, off); rest != 0; rest &= rest - 1) {
      look_at(k, a, ct_first_lane(rest), off[ct_first_lane(rest)]);
    }
  }
}

void ct_async_note_source(CtCheckWorker *k, const CtAccess *a, int lane, int64_t off,
                          const CtPending *p, int copy_lane) {
  bool own = p->what.warp == a->w->index && copy_lane == lane;
  note(k, a, lane, off, &p->what, copy_lane, own ? CT_ASYNC_SOURCE : CT_ASYNC_SOURCE_OF);
}

void ct_async_note_copied(CtCheckWorker *k, const CtAccess *a, int lane, int64_t off,
                          const CtCheckEvent *copy, int copy_lane) {
  k->n_races++;
  note(k, a, lane, off, copy, copy_lane, CT_ASYNC_NOT_HANDED_ON);
}

void ct_async_fence(CtCheckWorker *k, const CtWarp *w) { k->warps[w->index].n_groups++; }

/* Does the warp's wait cover the copy? It leaves n groups pending. With 0 it also waits for copies
   that belong to no group yet. */
static bool is_covered(const CtCheckWarp *warp, int32_t index, int64_t n, const CtPending *p) {
  return p->what.warp == index && !p->is_done && (n == 0 || p->group + n < warp->n_groups);
}

/* These lanes have waited for it. */
static void leave(CtPending *p, uint32_t lanes) {
  p->is_done = (p->lanes & ~lanes) == 0;
  p->is_apart = p->is_apart || !p->is_done;
  p->lanes &= ~lanes;
}

static void mark_done(CtCheckWorker *k, const CtWarp *w, int64_t n) {
  const CtCheckWarp *warp = &k->warps[w->index];
  for (size_t i = 0; i < k->n_pending; i++) {
    CtPending *p = &k->pending[i];
    if (is_covered(warp, w->index, n, p)) {
      leave(p, w->mask);
      p->done_sub = warp->sub;
    }
  }
}

static void mark_sources_done(CtCheckWorker *k, const CtWarp *w, int64_t n) {
  for (size_t i = 0; i < k->n_sources; i++) {
    CtPending *p = &k->sources[i];
    if (!is_covered(&k->warps[w->index], w->index, n, p)) {
      continue;
    }
    leave(p, w->mask);
    if (p->is_done) {
      ct_check_event_of(k, &k->k->job->code[p->what.in], w->index, 0, &p->what);
      ct_global_copy_done(k->check->global, p->event, &p->what);
    }
  }
}

/* Under clocks: the copies that are done, which nothing is kept of, become accesses of now. */
static void end_copies(CtCheckWorker *k) {
  for (size_t i = 0; i < k->n_pending; i++) {
    const CtPending *p = &k->pending[i];
    CtCheckEvent *e = &k->events[p->event - k->first_event];
    if (p->is_done && !p->is_apart) {
      ct_check_event_of(k, &k->k->job->code[p->what.in], p->what.warp, 0, e);
      e->is_copied = true;
    }
  }
}

/* Drops what is done; returns how many remain. */
static size_t drop_done(CtPending *pending, size_t n_pending) {
  size_t n = 0;
  for (size_t i = 0; i < n_pending; i++) {
    if (!pending[i].is_done) {
      pending[n++] = pending[i];
    }
  }
  return n;
}

void ct_async_wait(CtCheckWorker *k, const CtWarp *w, int64_t n) {
  mark_done(k, w, n);
  mark_sources_done(k, w, n);
  if (k->clocks != NULL) { /* the clocks know who may see it */
    end_copies(k);
    k->n_pending = drop_done(k->pending, k->n_pending);
  }
  if (k->n_sources > MAX_SOURCES) {
    k->n_sources = drop_done(k->sources, k->n_sources);
  }
}

void ct_async_barrier(CtCheckWorker *k) {
  k->n_pending = drop_done(k->pending, k->n_pending);
  k->n_sources = drop_done(k->sources, k->n_sources);
}
