/* check_async.c: `check` of asynchronous copies (cp.async) into shared memory. The thread that
   copies may use the data after a cp_async_wait that covers its group. Other threads may use it
   after a barrier that follows this wait. Until then nobody may read or write that memory. */
#include "check_state.h"

void ct_async_add(CtCheckWorker *k, const CtAccess *a, const CtCheckEvent *e, uint32_t number,
                  CtRange r) {
  if (ct_grow(k->check->alloc, &k->pending, &k->cap_pending, k->n_pending + 1, sizeof *k->pending,
              NULL) != CT_OK) {
    k->no_memory = true;
    return;
  }
  k->pending[k->n_pending++] = (CtPending){
      .event = number, .what = *e, .group = k->warps[a->w->index].n_groups, .lo = r.lo, .hi = r.hi};
}

/* The pending copies are in the order of their numbers. */
static const CtPending *find(const CtCheckWorker *k, uint32_t event) {
  size_t lo = 0, hi = k->n_pending;
  while (lo < hi) {
    size_t mid = (lo + hi) / 2;
    if (k->pending[mid].event < event) {
      lo = mid + 1;
    } else {
      hi = mid;
    }
  }
  return lo < k->n_pending && k->pending[lo].event == event ? &k->pending[lo] : NULL;
}

static void note(CtCheckWorker *k, const CtAccess *a, int lane, int64_t off, const CtPending *p,
                 int copy_lane, int how) {
  CtFound f = {.kind = CT_CHECK_ASYNC,
               .in = ct_check_index(k, a->in),
               .other = p->what.in,
               .buf = a->buf_index,
               .how = (uint8_t)how,
               .count = 1,
               .block = k->k->block,
               .other_block = k->k->block,
               .thread = ct_check_thread(a->w->index, lane),
               .other_thread = ct_check_thread(p->what.warp, copy_lane),
               .off = off};
  ct_finding_note(k, &f);
}

static void look_at(CtCheckWorker *k, const CtAccess *a, int lane, int64_t off) {
  int n, copy_lane;
  int64_t g = ct_shadow_granule(k, a->buf, off, &n);
  for (int i = 0; i < n; i++) {
    uint32_t word = k->shadow[g + i];
    const CtPending *p =
        i > 0 && word == k->shadow[g + i - 1] ? NULL : find(k, word >> CT_EVENT_LANE_BITS);
    if (p == NULL) {
      continue;
    }
    copy_lane = (int)(word & CT_EVENT_LANE);
    bool own = p->what.warp == a->w->index && copy_lane == lane;
    bool synced = p->what.warp == a->w->index && p->done_sub != k->warps[a->w->index].sub;
    if (!p->is_done) {
      note(k, a, lane, off, p, copy_lane, a->writes ? CT_ASYNC_WRITE : CT_ASYNC_READ);
    } else if (!own && !synced && word < k->epoch_word) { /* otherwise it is an ordinary race */
      note(k, a, lane, off, p, copy_lane, CT_ASYNC_NO_BARRIER);
    }
  }
}

/* Call it before the access is noted in the shadow. */
void ct_async_look(CtCheckWorker *k, const CtAccess *a, CtRange r) {
  bool meets = false;
  for (size_t i = 0; i < k->n_pending && !meets; i++) {
    meets = k->pending[i].lo <= r.hi && r.lo <= k->pending[i].hi;
  }
  for (int64_t e = 0; meets && e < a->n; e++) {
    for (uint32_t rest = a->mask; rest != 0; rest &= rest - 1) {
      int lane = ct_first_lane(rest);
      int64_t off;
      if (ct_access_at(a, e, lane, &off) && (uint64_t)off < (uint64_t)a->mem->n) {
        look_at(k, a, lane, off);
      }
    }
  }
}

void ct_async_fence(CtCheckWorker *k, const CtWarp *w) { k->warps[w->index].n_groups++; }

/* Leaves n groups pending. With 0 it also waits for copies that belong to no group yet. */
void ct_async_wait(CtCheckWorker *k, const CtWarp *w, int64_t n) {
  const CtCheckWarp *warp = &k->warps[w->index];
  for (size_t i = 0; i < k->n_pending; i++) {
    CtPending *p = &k->pending[i];
    if (p->what.warp == w->index && !p->is_done && (n == 0 || p->group + n < warp->n_groups)) {
      p->is_done = true;
      p->done_sub = warp->sub;
    }
  }
  if (k->clocks != NULL) { /* the clocks know who may see it */
    ct_async_barrier(k);
  }
}

void ct_async_barrier(CtCheckWorker *k) {
  size_t n = 0;
  for (size_t i = 0; i < k->n_pending; i++) {
    if (!k->pending[i].is_done) {
      k->pending[n++] = k->pending[i];
    }
  }
  k->n_pending = n;
}
