/* check_flag_op.c: atomic operations and fences as they run: what they release and acquire; check_flag.h says how. */
#include "check_flag.h"

#include "check_flag_lane.h"
#include "check_global.h"

#include <string.h>

enum { MAX_READERS = 64 };     /* if there are more, all count as readers */
enum { MAX_PLACES = 1 << 16 }; /* where nothing was released; of more, no reads are kept */

/* {====== Releases ====== */

/* Hands on what these lanes did and know. */
static void release_now(CtCheckWorker *k, int32_t warp, uint32_t lanes, const CtMoment *now,
                        uint32_t behind, CtKnowledge **to) {
  CtMoment m = *now;
  m.lanes = lanes;
  ct_flag_arrive(k, warp, lanes, to);
  ct_flag_put_moment(k, to, &m, (behind & lanes) != 0);
}

/* Hands on what came before their last fences. */
static void release_fenced(CtCheckWorker *k, int32_t warp, uint32_t lanes, int scope,
                           CtKnowledge **to) {
  for (uint32_t rest = lanes; rest != 0;) {
    int first = ct_first_lane(rest);
    const CtFence *f = ct_flag_lane(k, warp, first)->fence[scope];
    uint32_t same = 0; /* lanes of the same fence */
    for (uint32_t others = rest; others != 0; others &= others - 1) {
      int lane = ct_first_lane(others);
      same |= ct_flag_lane(k, warp, lane)->fence[scope] == f ? 1u << lane : 0;
    }
    rest &= ~same;
    if (f == NULL) {
      continue;
    }
    for (uint32_t others = same; others != 0; others &= others - 1) {
      ct_flag_learn(k, to, ct_flag_lane(k, warp, ct_first_lane(others))->fenced[scope]);
    }
    CtMoment m = f->moment;
    m.lanes = same;
    ct_flag_learn(k, to, f->known);
    ct_flag_put_moment(k, to, &m, (f->behind & same) != 0);
  }
}

static bool has_fence(const CtCheckWorker *k, int32_t warp, uint32_t lanes) {
  bool has = false;
  for (; lanes != 0 && !has; lanes &= lanes - 1) {
    has = ct_flag_lane(k, warp, ct_first_lane(lanes))->fence[OF_RANK] != NULL;
  }
  return has;
}

/* The thread, if it is one. */
static uint64_t thread_of(const CtCheckWorker *k, int32_t warp, uint32_t lanes) {
  uint64_t who = ct_known_who(k->k->job->number, k->k->team[0].block, k->k->rank, warp);
  return (lanes & (lanes - 1)) != 0 ? 0 : (who * CT_LANES + (uint64_t)ct_first_lane(lanes)) + 1;
}

/* Who comes after a warp's later read comes after the first, too: so that is enough. */
static void note_reader(CtCheckWorker *k, CtFlagElement *p, const CtCheckEvent *e, uint32_t lanes) {
  for (size_t i = 0; i < p->n_readers; i++) {
    const CtCheckEvent *old = &p->readers[i].event;
    if (old->job == e->job && old->block == e->block && old->warp == e->warp) {
      lanes &= ~p->readers[i].lanes;
    }
  }
  if (lanes == 0 || p->n_readers > MAX_READERS) {
    return;
  }
  if (!ct_flag_add_reader(&ct_flags_of(k)->table, p, &(CtFlagReader){*e, lanes})) {
    ct_flag_fail(ct_flags_of(k));
  }
}

/* Does the event, by a thread of any launch, come before what the lane does now? */
static bool is_before(const CtCheckWorker *k, const CtCheckEvent *old, int old_lane, int32_t warp,
                      int lane) {
  bool is_own = old->job == k->k->job->number && old->block == k->k->block;
  bool in_warp = is_own && old->warp == warp;
  return (is_own && old->epoch != k->epoch) ||
         (in_warp && (old_lane == lane || old->sub != k->warps[warp].sub)) ||
         (k->clocks != NULL && old->job == k->k->job->number && old->home == k->k->team[0].block &&
          ct_clock_is_before(k, old->component, old->clock, warp, lane, false)) ||
         ct_flag_knows(k, warp, lane, old, old_lane);
}

/* Has the lane, or one that comes before it, read all atomic writes at the place? */
static bool has_read(const CtCheckWorker *k, const CtFlagElement *p, int32_t warp, int lane) {
  bool has = p->n_readers > MAX_READERS;
  for (size_t i = 0; i < p->n_readers && !has; i++) {
    const CtFlagReader *r = &p->readers[i];
    for (uint32_t rest = r->lanes; rest != 0 && !has; rest &= rest - 1) {
      has = is_before(k, &r->event, ct_first_lane(rest), warp, lane);
    }
  }
  return has;
}

/* Of lanes that change one element, the last one has read what the others wrote. */
static void note_write(CtCheckWorker *k, CtFlagElement *p, int32_t warp, uint32_t lanes) {
  int lane = CT_LANES - 1 - __builtin_clz(lanes);
  bool knows = k->flag.reads || !p->is_written || has_read(k, p, warp, lane);
  CtCheckEvent now;
  p->is_written = true;
  p->n_readers = 0;
  if (knows) {
    ct_check_event_of(k, k->flag.in, warp, 0, &now);
    note_reader(k, p, &now, 1u << lane);
  }
}

static void write_place(CtCheckWorker *k, int32_t warp, const CtFlagPlace *at) {
  CtFlags *f = ct_flags_of(k);
  const CtFlagOp *op = &k->flag;
  bool releases = !op->is_relaxed || has_fence(k, warp, at->lanes);
  bool makes = releases || f->table.by_address.n < MAX_PLACES;
  CtFlagElement *p = ct_flag_element(&f->table, op->job, op->block, at->at, makes);
  uint64_t thread = thread_of(k, warp, at->lanes);
  if (p == NULL) {
    if (makes) {
      ct_flag_fail(f);
    }
    return;
  }
  note_write(k, p, warp, at->lanes);
  if (op->is_store && (!op->is_relaxed || thread == 0 || p->stored_by != thread)) {
    ct_flag_element_clear(&f->table, p);
  }
  p->stored_by = op->is_store && (!op->is_relaxed || p->stored_by == thread) ? thread : 0;
  if (!releases) {
    return;
  }
  CtKnowledge **to = ct_flag_handed(&f->table, p, k->k->job->rank, true);
  if (to == NULL) {
    ct_flag_fail(f);
    return;
  }
  if (op->is_relaxed) {
    release_fenced(k, warp, at->lanes, OF_RANK, to);
  } else {
    release_now(k, warp, at->lanes, &op->moment, op->behind, to);
  }
  if (op->is_sys && op->is_relaxed) {
    release_fenced(k, warp, at->lanes, OF_ALL, &p->sys);
  } else if (op->is_sys) {
    release_now(k, warp, at->lanes, &op->moment, op->behind, &p->sys);
  }
}

/* When the block released, for the words of a race between ranks. */
static void note_release(CtCheckWorker *k, bool is_sys) {
  const CtGlobal *g = k->check->global;
  if (k->check->ranks == NULL || g == NULL) {
    return;
  }
  uint64_t time = atomic_fetch_add(&k->check->root->clock, 1) + 1;
  if (g->released != NULL) {
    atomic_store(&g->released[k->k->block], time);
  }
  if (is_sys && g->released_sys != NULL) {
    atomic_store(&g->released_sys[k->k->block], time);
  }
}

/* {====== Acquires ====== */

static void note_acquire(CtCheckWorker *k, bool is_sys) {
  uint64_t time = k->check->ranks == NULL ? 0 : atomic_load(&k->check->root->clock);
  k->block_acq = time;
  k->block_acq_sys = is_sys ? time : k->block_acq_sys;
}

static void read_place(CtCheckWorker *k, const CtWarp *w, const CtFlagPlace *at) {
  const CtFlagOp *op = &k->flag;
  CtFlagTable *table = &ct_flags_of(k)->table;
  CtFlagElement *p = ct_flag_element(table, op->job, op->block, at->at, false);
  CtKnowledge **of = p == NULL ? NULL : ct_flag_handed(table, p, k->k->job->rank, false);
  CtKnowledge *seen[N_SCOPES] = {of == NULL ? NULL : *of, p == NULL || !op->is_sys ? NULL : p->sys};
  CtCheckEvent now;
  if (p != NULL && p->is_written && !op->writes) {
    ct_check_event_of(k, op->in, w->index, 0, &now);
    note_reader(k, p, &now, at->lanes);
  }
  for (int i = 0; i < N_SCOPES; i++) {
    if (op->acquires) {
      ct_flag_pass(k, w, at->lanes, seen[i]);
    }
    for (uint32_t rest = op->acquires ? 0 : at->lanes; rest != 0; rest &= rest - 1) {
      ct_flag_learn(k, &ct_flag_stir(k, w->index, ct_first_lane(rest))->pending[i], seen[i]);
    }
  }
}

/* {====== Operations ====== */

/* Lanes often have one place in common. */
static void note_places(CtFlagOp *op, const CtAccess *a) {
  op->n_places = 0;
  for (uint32_t rest = a->mask; rest != 0; rest &= rest - 1) {
    int64_t off;
    int lane = ct_first_lane(rest);
    if (ct_access_at(a, 0, lane, &off)) {
      const char *at = ct_access_ptr(a, off);
      bool is_new = op->n_places == 0 || op->places[op->n_places - 1].at != at;
      op->n_places += is_new;
      CtFlagPlace *place = &op->places[op->n_places - 1];
      place->lanes = (is_new ? 0 : place->lanes) | 1u << lane;
      place->at = at;
    }
  }
}

/* Whose memory it is. */
static void set_owner(CtFlagOp *op, const CtCheckWorker *k, const CtAccess *a) {
  const CtWorker *owner = a->buf->is_remote ? ct_simt_owner(a->w, a->buf_index) : a->w->worker;
  bool is_shared = a->buf->space == CT_SHARED;
  op->job = is_shared ? k->k->job->number : -1;
  op->block = is_shared ? owner->block : -1;
}

void ct_flag_before(CtCheckWorker *k, const CtAccess *a, CtAtomicImm imm) {
  CtFlagOp *op = &k->flag;
  if (k->lanes == NULL || a->mask == 0) {
    return;
  }
  bool is_load = imm.u.op == CT_OP_ATOMIC_LOAD;
  op->is_store = imm.u.op == CT_OP_ATOMIC_STORE;
  op->is_relaxed = (imm.u.order & CT_ORDER_RELAXED) != 0 || !(op->is_store || is_load);
  op->is_sys = (imm.u.order & CT_ORDER_SYS) != 0;
  op->acquires = is_load && !op->is_relaxed;
  op->reads = !op->is_store;
  op->writes = !is_load;
  op->in = a->in;
  set_owner(op, k, a);
  note_places(op, a);
  op->is_running = true;
  pthread_mutex_lock(&ct_flags_of(k)->lock);
}

void ct_flag_after(CtCheckWorker *k, const CtWarp *w) {
  CtFlagOp *op = &k->flag;
  if (!op->is_running) {
    return;
  }
  for (int i = 0; op->reads && i < op->n_places; i++) {
    read_place(k, w, &op->places[i]);
  }
  if (op->writes && !op->is_relaxed) {
    op->behind = ct_flag_behind_of(k, w->index);
    op->moment = ct_flag_moment(k, w->index, w->mask);
  }
  for (int i = 0; op->writes && i < op->n_places; i++) {
    write_place(k, w->index, &op->places[i]);
  }
  if (op->writes && (!op->is_relaxed || has_fence(k, w->index, w->mask))) {
    note_release(k, op->is_sys);
  }
  if (op->acquires) {
    note_acquire(k, op->is_sys);
  }
  ct_flag_stop(k);
}

void ct_flag_stop(CtCheckWorker *k) {
  if (k->flag.is_running) {
    k->flag.is_running = false;
    pthread_mutex_unlock(&ct_flags_of(k)->lock);
  }
}

static void replace(CtCheckWorker *k, CtKnowledge **to, CtKnowledge *by) {
  CtKnowledge *old = *to;
  *to = ct_known_share(by);
  ct_known_drop(k->check->alloc, old);
}

static void set_fence(CtCheckWorker *k, Lane *l, CtFence *f, int scope) {
  atomic_fetch_add(&f->refs, 1);
  ct_flag_drop_fence(k->check->alloc, &l->fence[scope]);
  l->fence[scope] = f;
  replace(k, &l->fenced[scope], l->known);
}

/* Each lane makes known what it has read itself. */
static void acquire_by_fence(CtCheckWorker *k, const CtWarp *w, bool is_sys) {
  for (uint32_t rest = w->mask; rest != 0; rest &= rest - 1) {
    Lane *l = ct_flag_lane(k, w->index, ct_first_lane(rest));
    for (int i = 0; i <= (int)is_sys; i++) {
      ct_flag_note_news(k, w->index, l->pending[i]);
      ct_flag_learn(k, &l->known, l->pending[i]);
      ct_known_clear(k->check->alloc, &l->pending[i]);
    }
  }
  ct_flag_renew_view(k, w->index);
}

void ct_flag_fence(CtCheckWorker *k, const CtWarp *w, bool is_sys) {
  if (k->lanes == NULL) {
    return;
  }
  CtFlags *flags = ct_flags_of(k);
  CtFence *f = ct_alloc(k->check->alloc, sizeof *f);
  acquire_by_fence(k, w, is_sys);
  note_acquire(k, is_sys);
  if (f == NULL) {
    ct_flag_fail(flags);
    return;
  }
  *f = (CtFence){.refs = 1, .behind = ct_flag_behind_of(k, w->index)};
  f->known = ct_known_share(k->all_know);
  ct_flag_learn(k, &f->known, k->warps[w->index].known);
  pthread_mutex_lock(&flags->lock);
  f->moment = ct_flag_moment(k, w->index, w->mask);
  pthread_mutex_unlock(&flags->lock);
  for (uint32_t rest = w->mask; rest != 0; rest &= rest - 1) {
    for (int i = 0; i <= (int)is_sys; i++) {
      set_fence(k, ct_flag_stir(k, w->index, ct_first_lane(rest)), f, i);
    }
  }
  ct_flag_drop_fence(k->check->alloc, &f);
}

bool ct_flag_has_seen(const CtCheckWorker *k, const CtAccess *a, int lane, int64_t off) {
  CtFlags *f = ct_flags_of(k);
  CtFlagOp owner;
  const char *at = ct_access_ptr(a, off);
  if (k->lanes == NULL) {
    return false;
  }
  set_owner(&owner, k, a);
  pthread_mutex_lock(&f->lock);
  const CtFlagElement *p = ct_flag_element(&f->table, owner.job, owner.block, at, false);
  bool has = p != NULL && has_read(k, p, a->w->index, lane);
  pthread_mutex_unlock(&f->lock);
  return has;
}
