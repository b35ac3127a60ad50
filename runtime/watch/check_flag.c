/* check_flag.c: what atomic operations and fences order; check_flag.h says how. */
#include "check_flag.h"

#include "check_clock.h"
#include "check_flag_table.h"
#include "check_global.h"

#include <pthread.h>
#include <string.h>

enum { MAX_READERS = 64 };     /* if there are more, all count as readers */
enum { MAX_PLACES = 1 << 16 }; /* where nothing was released; of more, no reads are kept */

struct CtFlags {
  CtAlloc alloc;
  CtKnowledge *(*grid)[2]; /* by number of the launch: handed on in even and odd phases */
  int64_t *grid_phase;     /* the newest phase in which a block arrived + 1 */
  int n_jobs;
  _Atomic bool no_memory;
  pthread_mutex_t lock; /* of what follows */
  CtArena rows;
  CtFlagTable table;
};

/* What a relaxed operation after it releases: for these lanes. */
typedef struct CtFence {
  _Atomic uint32_t refs;
  uint32_t behind;    /* lanes that come after a grid_dependency_wait */
  CtKnowledge *known; /* by all lanes of the warp */
  CtMoment moment;
} CtFence;

enum { OF_RANK, OF_ALL, N_SCOPES };

struct CtLaneKnown {
  CtKnowledge *known;             /* what its warp does not know */
  CtKnowledge *pending[N_SCOPES]; /* read by relaxed operations: a fence makes it known */
  CtFence *fence[N_SCOPES];       /* the last one: of any scope; of scope "sys" */
  CtKnowledge *fenced[N_SCOPES];  /* `known` at that time */
};

typedef struct CtLaneKnown Lane;

/* {====== Memory ====== */

static CtFlags *flags_of(const CtCheckWorker *k) { return k->check->flags; }

static void fail(CtFlags *f) { atomic_store(&f->no_memory, true); }

static void learn(CtCheckWorker *k, CtKnowledge **to, CtKnowledge *more) {
  if (!ct_known_join(k->check->alloc, to, more)) {
    fail(flags_of(k));
  }
}

static void replace(CtCheckWorker *k, CtKnowledge **to, CtKnowledge *by) {
  CtKnowledge *old = *to;
  *to = ct_known_share(by);
  ct_known_drop(k->check->alloc, old);
}

static void drop_fence(CtAlloc alloc, CtFence **f) {
  if (*f != NULL && atomic_fetch_sub(&(*f)->refs, 1) == 1) {
    ct_known_drop(alloc, (*f)->known);
    ct_free(alloc, *f, sizeof **f);
  }
  *f = NULL;
}

static void clear_lane(CtAlloc alloc, Lane *l) {
  ct_known_clear(alloc, &l->known);
  for (int i = 0; i < N_SCOPES; i++) {
    ct_known_clear(alloc, &l->pending[i]);
    ct_known_clear(alloc, &l->fenced[i]);
    drop_fence(alloc, &l->fence[i]);
  }
}

CtFlags *ct_flag_open(CtAlloc alloc, int n_jobs) {
  CtFlags *f = ct_alloc(alloc, sizeof *f);
  if (f == NULL) {
    return NULL;
  }
  *f = (CtFlags){.alloc = alloc, .n_jobs = n_jobs, .table = {.alloc = alloc}};
  ct_arena_init(&f->rows, alloc);
  pthread_mutex_init(&f->lock, NULL);
  f->grid = ct_arena_alloc(&f->rows, (size_t)n_jobs * sizeof *f->grid);
  f->grid_phase = ct_arena_alloc(&f->rows, (size_t)n_jobs * sizeof *f->grid_phase);
  if (f->grid == NULL || f->grid_phase == NULL) {
    (void)ct_flag_close(f);
    return NULL;
  }
  return f;
}

bool ct_flag_close(CtFlags *f) {
  if (f == NULL) {
    return false;
  }
  CtAlloc alloc = f->alloc;
  bool no_memory = atomic_load(&f->no_memory);
  for (int i = 0; f->grid != NULL && i < f->n_jobs; i++) {
    ct_known_drop(alloc, f->grid[i][0]);
    ct_known_drop(alloc, f->grid[i][1]);
  }
  ct_flag_table_clear(&f->table);
  pthread_mutex_destroy(&f->lock);
  ct_arena_clear(&f->rows);
  ct_free(alloc, f, sizeof *f);
  return no_memory;
}

static bool has_atomics(const CtSimtProgram *p) {
  bool has = false;
  for (uint32_t i = p->body; i < p->n_code && !has; i++) {
    has = ct_in_is(&p->code[i], CT_INS_ATOMIC);
    i += (uint32_t)ct_in_size(&p->code[i]) - 1;
  }
  return has;
}

/* Between ranks one program may release what another acquires. */
bool ct_flag_open_worker(CtCheckWorker *k) {
  const CtSimtProgram *p = k->check->job->program;
  bool wanted = k->check->ranks != NULL ? has_atomics(p) : ct_flag_is_wanted(p);
  size_t n = (size_t)p->n_warps * CT_LANES;
  k->lanes = wanted ? ct_arena_alloc(&k->check->arena, n * sizeof *k->lanes) : NULL;
  return !wanted || k->lanes != NULL;
}

static Lane *lane_of(const CtCheckWorker *k, int32_t warp, int lane) {
  return &k->lanes[(size_t)warp * CT_LANES + (size_t)lane];
}

/* The same, which is about to know something of its own. */
static Lane *stir_lane(CtCheckWorker *k, int32_t warp, int lane) {
  k->warps[warp].stirred |= 1u << lane;
  return lane_of(k, warp, lane);
}

static void free_views(CtCheckWorker *k);

static void clear_block(CtCheckWorker *k) {
  free_views(k);
  CtAlloc alloc = k->check->alloc;
  int32_t n_warps = k->check->job->program->n_warps;
  ct_known_clear(alloc, &k->all_know);
  ct_known_clear(alloc, &k->agents_know);
  for (int32_t i = 0; k->warps != NULL && i < n_warps; i++) {
    ct_known_clear(alloc, &k->warps[i].known);
    for (uint32_t rest = k->warps[i].stirred; rest != 0; rest &= rest - 1) {
      clear_lane(alloc, lane_of(k, i, ct_first_lane(rest)));
    }
    k->warps[i].stirred = 0;
  }
}

void ct_flag_close_worker(CtCheckWorker *k) { clear_block(k); }

void ct_flag_begin_block(CtCheckWorker *k, CtKnowledge *known) {
  clear_block(k);
  k->all_know = ct_known_share(known);
}

/* {====== Releases ====== */

/* What a warp knows of its cluster by clocks. Call it with the lock. */
static const uint32_t *row_of(CtCheckWorker *k, int32_t warp) {
  uint32_t n = k->clocks == NULL ? 0 : ct_clock_width(k);
  uint32_t *row = n == 0 ? NULL : ct_arena_alloc(&flags_of(k)->rows, n * sizeof *row);
  if (row != NULL) {
    ct_clock_snapshot(k, warp, row);
  } else if (n != 0) {
    fail(flags_of(k));
  }
  return row;
}

/* The present moment of these lanes of a warp. What they do from now on is after it. Call it with the lock. */
static CtMoment moment_of(CtCheckWorker *k, int32_t warp, uint32_t lanes) {
  CtCheckWarp *w = &k->warps[warp];
  return (CtMoment){.who = ct_known_who(k->k->job->number, k->k->team[0].block, k->k->rank, warp),
                    .lanes = lanes,
                    .epoch = k->epoch,
                    .sub = w->sub,
                    .time = ++w->time,
                    .row = row_of(k, warp)};
}

static uint32_t behind_of(CtCheckWorker *k, int32_t warp) {
  return k->check->is_tracked ? ct_early_behind(k, warp) : 0;
}

static void add_moment(CtCheckWorker *k, CtKnowledge **to, const CtMoment *m, bool is_behind) {
  CtAlloc alloc = k->check->alloc;
  if (!ct_known_add(alloc, to, m) || (is_behind && !ct_known_set_behind(alloc, to))) {
    fail(flags_of(k));
  }
}

void ct_flag_add_moment(CtCheckWorker *k, int32_t warp, uint32_t lanes, CtKnowledge **to) {
  CtCheckWarp *w = &k->warps[warp];
  const CtMoment m = {.who = ct_known_who(k->k->job->number, k->k->team[0].block, k->k->rank, warp),
                      .lanes = lanes,
                      .epoch = k->epoch,
                      .sub = w->sub,
                      .time = ++w->time};
  add_moment(k, to, &m, (behind_of(k, warp) & lanes) != 0);
}

/* Hands on what these lanes did and know. */
static void release_now(CtCheckWorker *k, int32_t warp, uint32_t lanes, const CtMoment *now,
                        uint32_t behind, CtKnowledge **to) {
  CtMoment m = *now;
  m.lanes = lanes;
  ct_flag_arrive(k, warp, lanes, to);
  add_moment(k, to, &m, (behind & lanes) != 0);
}

/* Hands on what came before their last fences. */
static void release_fenced(CtCheckWorker *k, int32_t warp, uint32_t lanes, int scope,
                           CtKnowledge **to) {
  for (uint32_t rest = lanes; rest != 0;) {
    int first = ct_first_lane(rest);
    const CtFence *f = lane_of(k, warp, first)->fence[scope];
    uint32_t same = 0; /* lanes of the same fence */
    for (uint32_t others = rest; others != 0; others &= others - 1) {
      int lane = ct_first_lane(others);
      same |= lane_of(k, warp, lane)->fence[scope] == f ? 1u << lane : 0;
    }
    rest &= ~same;
    if (f == NULL) {
      continue;
    }
    for (uint32_t others = same; others != 0; others &= others - 1) {
      learn(k, to, lane_of(k, warp, ct_first_lane(others))->fenced[scope]);
    }
    CtMoment m = f->moment;
    m.lanes = same;
    learn(k, to, f->known);
    add_moment(k, to, &m, (f->behind & same) != 0);
  }
}

static bool has_fence(const CtCheckWorker *k, int32_t warp, uint32_t lanes) {
  bool has = false;
  for (; lanes != 0 && !has; lanes &= lanes - 1) {
    has = lane_of(k, warp, ct_first_lane(lanes))->fence[OF_RANK] != NULL;
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
  if (!ct_flag_add_reader(&flags_of(k)->table, p, &(CtFlagReader){*e, lanes})) {
    fail(flags_of(k));
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
  CtFlags *f = flags_of(k);
  const CtFlagOp *op = &k->flag;
  bool releases = !op->is_relaxed || has_fence(k, warp, at->lanes);
  bool makes = releases || f->table.by_address.n < MAX_PLACES;
  CtFlagElement *p = ct_flag_element(&f->table, op->job, op->block, at->at, makes);
  uint64_t thread = thread_of(k, warp, at->lanes);
  if (p == NULL) {
    if (makes) {
      fail(f);
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
    fail(f);
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

/* {====== Views ====== */

struct CtLaneView {
  struct CtLaneView *next;
  CtKnowledge *warp, *lanes[CT_LANES];
};

static void free_views(CtCheckWorker *k) {
  CtAlloc alloc = k->check->alloc;
  for (struct CtLaneView *v = k->views, *next; v != NULL; v = next) {
    next = v->next;
    ct_known_drop(alloc, v->warp);
    for (int lane = 0; lane < CT_LANES; lane++) {
      ct_known_drop(alloc, v->lanes[lane]);
    }
    ct_free(alloc, v, sizeof *v);
  }
  k->views = NULL;
}

void ct_flag_end_epoch(CtCheckWorker *k) {
  free_views(k);
  for (int32_t i = 0; k->lanes != NULL && i < k->check->job->program->n_warps; i++) {
    k->warps[i].is_near = false;
    k->warps[i].view = NULL;
  }
}

bool ct_flag_view_covers(const struct CtLaneView *v, int lane, const CtCheckEvent *old,
                         int old_lane) {
  return v != NULL && (ct_known_covers(v->warp, old, old_lane) ||
                       ct_known_covers(v->lanes[lane], old, old_lane));
}

/* The warp learns `more`. */
static void note_news(CtCheckWorker *k, int32_t warp, const CtKnowledge *more) {
  CtCheckWarp *w = &k->warps[warp];
  uint64_t who = ct_known_who(k->k->job->number, k->k->team[0].block, k->k->rank, warp);
  w->is_near = w->is_near || (k->clocks == NULL && ct_known_has_news_of(more, who, k->epoch));
}

/* Makes a view of what the warp knows now, if its events need one. */
static void renew_view(CtCheckWorker *k, int32_t warp) {
  CtCheckWarp *w = &k->warps[warp];
  struct CtLaneView *v = w->is_near ? ct_alloc(k->check->alloc, sizeof *v) : NULL;
  if (v == NULL) {
    if (w->is_near) {
      fail(flags_of(k));
    }
    return;
  }
  *v = (struct CtLaneView){.next = k->views, .warp = ct_known_share(w->known)};
  for (uint32_t rest = w->stirred; rest != 0; rest &= rest - 1) {
    int lane = ct_first_lane(rest);
    v->lanes[lane] = ct_known_share(lane_of(k, warp, lane)->known);
  }
  k->views = v;
  w->view = v;
}

/* {====== Acquires ====== */

static void note_acquire(CtCheckWorker *k, bool is_sys) {
  uint64_t time = k->check->ranks == NULL ? 0 : atomic_load(&k->check->root->clock);
  k->block_acq = time;
  k->block_acq_sys = is_sys ? time : k->block_acq_sys;
}

/* These lanes know it from now on. */
void ct_flag_pass(CtCheckWorker *k, const CtWarp *w, uint32_t lanes, CtKnowledge *at) {
  if (at == NULL) {
    return;
  }
  note_news(k, w->index, at);
  bool is_whole = (w->live & ~lanes) == 0 || k->lanes == NULL;
  if (is_whole) {
    learn(k, &k->warps[w->index].known, at);
  }
  for (uint32_t rest = is_whole ? 0 : lanes; rest != 0; rest &= rest - 1) {
    learn(k, &stir_lane(k, w->index, ct_first_lane(rest))->known, at);
  }
  renew_view(k, w->index);
}

static void read_place(CtCheckWorker *k, const CtWarp *w, const CtFlagPlace *at) {
  const CtFlagOp *op = &k->flag;
  CtFlagTable *table = &flags_of(k)->table;
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
      learn(k, &stir_lane(k, w->index, ct_first_lane(rest))->pending[i], seen[i]);
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
      const char *at = (const char *)a->mem->ptr + off * (int64_t)a->mem->elem_bytes;
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
  pthread_mutex_lock(&flags_of(k)->lock);
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
    op->behind = behind_of(k, w->index);
    op->moment = moment_of(k, w->index, w->mask);
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
    pthread_mutex_unlock(&flags_of(k)->lock);
  }
}

static void set_fence(CtCheckWorker *k, Lane *l, CtFence *f, int scope) {
  atomic_fetch_add(&f->refs, 1);
  drop_fence(k->check->alloc, &l->fence[scope]);
  l->fence[scope] = f;
  replace(k, &l->fenced[scope], l->known);
}

/* Each lane makes known what it has read itself. */
static void acquire_by_fence(CtCheckWorker *k, const CtWarp *w, bool is_sys) {
  for (uint32_t rest = w->mask; rest != 0; rest &= rest - 1) {
    Lane *l = lane_of(k, w->index, ct_first_lane(rest));
    for (int i = 0; i <= (int)is_sys; i++) {
      note_news(k, w->index, l->pending[i]);
      learn(k, &l->known, l->pending[i]);
      ct_known_clear(k->check->alloc, &l->pending[i]);
    }
  }
  renew_view(k, w->index);
}

void ct_flag_fence(CtCheckWorker *k, const CtWarp *w, bool is_sys) {
  if (k->lanes == NULL) {
    return;
  }
  CtFlags *flags = flags_of(k);
  CtFence *f = ct_alloc(k->check->alloc, sizeof *f);
  acquire_by_fence(k, w, is_sys);
  note_acquire(k, is_sys);
  if (f == NULL) {
    fail(flags);
    return;
  }
  *f = (CtFence){.refs = 1, .behind = behind_of(k, w->index)};
  f->known = ct_known_share(k->all_know);
  learn(k, &f->known, k->warps[w->index].known);
  pthread_mutex_lock(&flags->lock);
  f->moment = moment_of(k, w->index, w->mask);
  pthread_mutex_unlock(&flags->lock);
  for (uint32_t rest = w->mask; rest != 0; rest &= rest - 1) {
    for (int i = 0; i <= (int)is_sys; i++) {
      set_fence(k, stir_lane(k, w->index, ct_first_lane(rest)), f, i);
    }
  }
  drop_fence(k->check->alloc, &f);
}

/* {====== Barriers ====== */

void ct_flag_arrive(CtCheckWorker *k, int32_t warp, uint32_t lanes, CtKnowledge **at) {
  learn(k, at, k->all_know);
  learn(k, at, k->warps[warp].known);
  for (lanes &= k->warps[warp].stirred; lanes != 0; lanes &= lanes - 1) {
    learn(k, at, lane_of(k, warp, ct_first_lane(lanes))->known);
  }
}

void ct_flag_proxy_fence(CtCheckWorker *k, const CtWarp *w) {
  ct_flag_arrive(k, w->index, w->mask, &k->agents_know);
}

void ct_flag_gather(CtCheckWorker *k, CtKnowledge **to) {
  learn(k, to, k->all_know);
  for (int32_t i = 0; i < k->k->job->program->n_warps; i++) {
    ct_flag_arrive(k, i, CT_ALL_LANES, to);
  }
}

void ct_flag_sync_warp(CtCheckWorker *k, const CtWarp *w) {
  CtKnowledge *all = NULL;
  for (uint32_t rest = w->mask & k->warps[w->index].stirred; rest != 0; rest &= rest - 1) {
    Lane *l = lane_of(k, w->index, ct_first_lane(rest));
    learn(k, &all, l->known);
    ct_known_clear(k->check->alloc, &l->known);
  }
  ct_flag_pass(k, w, w->mask, all);
  ct_known_drop(k->check->alloc, all);
}

void ct_flag_barrier(CtCheckWorker *k) {
  for (int32_t i = 0; i < k->k->job->program->n_warps; i++) {
    learn(k, &k->all_know, k->warps[i].known);
    ct_known_clear(k->check->alloc, &k->warps[i].known);
    for (uint32_t rest = k->warps[i].stirred; rest != 0; rest &= rest - 1) {
      Lane *l = lane_of(k, i, ct_first_lane(rest));
      learn(k, &k->all_know, l->known);
      ct_known_clear(k->check->alloc, &l->known);
    }
  }
}

/* Blocks hand on all that their threads did and know. The arrivals of a phase are over before a block arrives in the
   next one but one. */
void ct_flag_grid(CtCheckWorker *k, int64_t phase, bool passes) {
  CtFlags *f = flags_of(k);
  int job = k->k->job->number;
  CtKnowledge **at = &f->grid[job][phase % 2];
  pthread_mutex_lock(&f->lock);
  if (passes) {
    learn(k, &k->all_know, *at);
    pthread_mutex_unlock(&f->lock);
    return;
  }
  if (f->grid_phase[job] <= phase) { /* the first */
    ct_known_clear(f->alloc, at);
    f->grid_phase[job] = phase + 1;
  }
  ct_flag_gather(k, at);
  bool is_behind = false;
  for (int32_t i = 0; k->check->is_tracked && i < k->k->job->program->n_warps; i++) {
    is_behind = is_behind || behind_of(k, i) != 0;
  }
  CtMoment m = moment_of(k, 0, 0);
  m.epoch++; /* its threads have met */
  if (m.row != NULL) {
    uint32_t *row = ct_arena_alloc(&f->rows, ct_clock_width(k) * sizeof *row);
    if (row != NULL) {
      ct_clock_snapshot(k, CT_ALL_WARPS, row);
    }
    m.row = row;
  }
  add_moment(k, at, &m, is_behind);
  pthread_mutex_unlock(&f->lock);
}

/* {====== Questions ====== */

bool ct_flag_knows(const CtCheckWorker *k, int32_t warp, int lane, const CtCheckEvent *old,
                   int old_lane) {
  return ct_known_covers(k->all_know, old, old_lane) ||
         ct_known_covers(k->warps[warp].known, old, old_lane) ||
         ((k->warps[warp].stirred >> lane & 1) != 0 &&
          ct_known_covers(lane_of(k, warp, lane)->known, old, old_lane)) ||
         atomic_load_explicit(&flags_of(k)->no_memory, memory_order_relaxed);
}

bool ct_flag_agents_know(const CtCheckWorker *k, const CtCheckEvent *old, int old_lane) {
  return ct_known_covers(k->agents_know, old, old_lane) ||
         atomic_load_explicit(&flags_of(k)->no_memory, memory_order_relaxed);
}

bool ct_flag_has_seen(const CtCheckWorker *k, const CtAccess *a, int lane, int64_t off) {
  CtFlags *f = flags_of(k);
  CtFlagOp owner;
  const char *at = (const char *)a->mem->ptr + off * (int64_t)a->mem->elem_bytes;
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

bool ct_flag_knows_job(const CtCheckWorker *k, int32_t warp, int lane, int first, int end) {
  return ct_known_has_job(k->all_know, first, end) ||
         ct_known_has_job(k->warps[warp].known, first, end) ||
         (k->lanes != NULL && ct_known_has_job(lane_of(k, warp, lane)->known, first, end));
}

uint32_t ct_flag_behind(const CtCheckWorker *k, int32_t warp) {
  if (ct_known_is_behind(k->all_know) || ct_known_is_behind(k->warps[warp].known)) {
    return CT_ALL_LANES;
  }
  uint32_t lanes = 0;
  for (uint32_t rest = k->warps[warp].stirred; rest != 0; rest &= rest - 1) {
    int lane = ct_first_lane(rest);
    lanes |= ct_known_is_behind(lane_of(k, warp, lane)->known) ? 1u << lane : 0;
  }
  return lanes;
}
