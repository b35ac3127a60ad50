/* timeline.c: the watcher of `timeline`; see timeline.h. One team of workers runs all blocks
   that are recorded, so the record has a single writer. */
#include "timeline.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "runtime/simt/run/simt_watch.h"

enum { MAX_EVENTS = 1 << 20, NONE = -1 };

const char *const ct_time_kinds[CT_TIME_KIND_COUNT] = {
#define X(name, text) text,
    CT_TIME_KINDS(X)
#undef X
};

/* A flag that a warp reads again and again is one event: its last read. */
typedef struct Polled {
  uint32_t flag;
  size_t event;
} Polled;

typedef struct WarpState {
  int64_t last;  /* its latest event; NONE */
  int32_t named; /* the phase in which it arrived at the named barrier */
  int n_polled;  /* since it came to another line */
  Polled polled[CT_LANES];
} WarpState;

typedef struct Flag {
  const char *at;
  int32_t told;
  char name[32];
} Flag;

struct CtFlags {
  CtAlloc alloc;
  pthread_mutex_t lock;
  Flag *items;
  size_t n, cap;
};

struct CtTimeline {
  CtSimtWatch watch; /* first */
  CtAlloc alloc;
  int64_t block[3];
  bool runs_all;
  CtFlags *flags; /* NULL: it records none */
  CtTimeEvent *events;
  size_t n_events, cap_events;
  bool is_too_long, has_no_memory;
  /* From here on: the current launch. All of it is in the arena, and so are the results. */
  CtArena arena;
  const char **chunks;
  int64_t position; /* the cluster that is recorded */
  int rank;
  uint32_t n_slots, n_meets;
  uint32_t *slot_of; /* by buffer: the number of its first mbarrier in the block */
  CtMeet *meets;     /* by rank: mbarriers, named ones, the block's; then the cluster's */
  int32_t *phases;   /* by barrier: how many phases are complete */
  WarpState *warps;  /* by rank and warp */
};

static CtTimeline *timeline_of(CtSimtWatch *watch) { return (CtTimeline *)(void *)watch; }

/* --- barriers ------------------------------------------------------------------------------------------- */

static uint32_t per_block(const CtTimeline *t) { return t->n_slots + CT_NAMED_BARRIERS + 1; }

static uint32_t mbar_at(const CtTimeline *t, int rank, uint32_t buf, int64_t slot) {
  return (uint32_t)rank * per_block(t) + t->slot_of[buf] + (uint32_t)slot;
}
static uint32_t named_at(const CtTimeline *t, int rank, int64_t id) {
  return (uint32_t)rank * per_block(t) + t->n_slots + (uint32_t)id;
}
static uint32_t block_at(const CtTimeline *t, int rank) {
  return ((uint32_t)rank + 1) * per_block(t) - 1;
}
static uint32_t cluster_at(const CtTimeline *t) { return t->n_meets - 1; }

static void name_meets(CtTimeline *t, const CtSimtProgram *p, int rank) {
  for (uint32_t b = 1; b < p->n_bufs; b++) {
    for (int64_t i = 0; p->bufs[b].arrivals > 0 && i < p->bufs[b].n; i++) {
      const char *name = ct_arena_strdup(&t->arena, p->bufs[b].name, strlen(p->bufs[b].name));
      t->has_no_memory = t->has_no_memory || name == NULL;
      t->meets[mbar_at(t, rank, b, i)] = (CtMeet){CT_MEET_MBAR, rank, name, i};
    }
  }
  for (int id = 0; id < CT_NAMED_BARRIERS; id++) {
    t->meets[named_at(t, rank, id)] = (CtMeet){CT_MEET_NAMED, rank, NULL, id};
  }
  t->meets[block_at(t, rank)] = (CtMeet){CT_MEET_BLOCK, rank, NULL, 0};
}

/* --- events ----------------------------------------------------------------------------------------------- */

static bool is_recorded(const CtTimeline *t, const CtWorker *k) {
  const int64_t *cluster = k->job->program->cluster;
  for (int i = 0; i < 3; i++) {
    if (k->bid[i] / cluster[i] != t->block[i] / cluster[i]) {
      return false;
    }
  }
  return true;
}

static WarpState *state_of(const CtTimeline *t, const CtWarp *w) {
  return &t->warps[w->worker->rank * w->worker->job->program->n_warps + w->index];
}

static void add(CtTimeline *t, const CtIn *in, const CtWarp *w, const CtTimeEvent *event) {
  const CtSimtJob *job = w->worker->job;
  t->is_too_long = t->is_too_long || t->n_events == MAX_EVENTS;
  if (t->is_too_long || t->has_no_memory ||
      CT_GROW(t->alloc, t->events, t->cap_events, t->n_events + 1, NULL) != CT_OK) {
    t->has_no_memory = !t->is_too_long;
    return;
  }
  CtTimeEvent *e = &t->events[t->n_events];
  *e = *event;
  if (e->kind != CT_TIME_WORK && e->kind != CT_TIME_SEE) {
    state_of(t, w)->n_polled = 0;
  }
  e->rank = (int16_t)w->worker->rank;
  e->warp = w->index;
  e->loc = job->program->locs[in - job->code];
  state_of(t, w)->last = (int64_t)t->n_events++;
}

static void add_work(CtTimeline *t, const CtIn *in, const CtWarp *w, const CtTimeEvent *work) {
  const CtSimtJob *job = w->worker->job;
  int64_t last = state_of(t, w)->last;
  CtTimeEvent *e = last == NONE ? NULL : &t->events[last];
  if (e == NULL || e->kind != CT_TIME_WORK ||
      e->loc.line != job->program->locs[in - job->code].line) {
    if (e != NULL && e->loc.line != job->program->locs[in - job->code].line) {
      state_of(t, w)->n_polled = 0;
    }
    add(t, in, w, work);
    return;
  }
  e->n += work->n;
  e->global += work->global;
  e->shared += work->shared;
}

static void meet(CtTimeline *t, const CtIn *in, const CtWarp *w, CtTimeKind kind, uint32_t barrier,
                 int32_t phase) {
  add(t, in, w, &(CtTimeEvent){.kind = (uint8_t)kind, .barrier = barrier, .phase = phase});
}

/* --- flags ------------------------------------------------------------------------------------------------ */

CtFlags *ct_flags_open(CtAlloc alloc) {
  CtFlags *f = ct_alloc(alloc, sizeof *f);
  if (f != NULL) {
    *f = (CtFlags){.alloc = alloc};
    pthread_mutex_init(&f->lock, NULL);
  }
  return f;
}

void ct_flags_close(CtFlags *f) {
  if (f != NULL) {
    pthread_mutex_destroy(&f->lock);
    ct_free(f->alloc, f->items, f->cap * sizeof *f->items);
    ct_free(f->alloc, f, sizeof *f);
  }
}

const char *ct_flags_name(const CtFlags *f, uint32_t flag) {
  return flag < f->n ? f->items[flag].name : NULL;
}

/* The number of the flag, the last ones first; it has the name that those who read it have. Call it with the lock. */
static int64_t find_flag(CtFlags *f, const char *at, const char *name, bool tells) {
  size_t i = f->n;
  while (i > 0 && f->items[i - 1].at != at) {
    i--;
  }
  if (i > 0 && !tells) {
    snprintf(f->items[i - 1].name, sizeof f->items[i - 1].name, "%s", name);
  }
  if (i > 0) {
    return (int64_t)i - 1;
  }
  if (CT_GROW(f->alloc, f->items, f->cap, f->n + 1, NULL) != CT_OK) {
    return NONE;
  }
  Flag *flag = &f->items[f->n];
  *flag = (Flag){.at = at};
  snprintf(flag->name, sizeof flag->name, "%s", name);
  return (int64_t)f->n++;
}

static void see(CtTimeline *t, const CtIn *in, const CtWarp *w, uint32_t flag, int32_t told) {
  WarpState *state = state_of(t, w);
  int i = 0;
  while (i < state->n_polled && state->polled[i].flag != flag) {
    i++;
  }
  if (i < state->n_polled) {
    t->events[state->polled[i].event].phase = told;
    return;
  }
  size_t n = t->n_events;
  meet(t, in, w, CT_TIME_SEE, flag, told);
  if (t->n_events > n && i < CT_LANES) {
    state->polled[state->n_polled++] = (Polled){flag, n};
  }
}

/* Of a member of a list: the list. */
static const char *name_of(const CtSimtProgram *p, const CtSimtBuf *buf) {
  const char *name = buf->list != 0 ? p->bufs[buf->list].name : buf->name;
  return name == NULL || name[0] == '\0' ? "a flag" : name;
}

/* What is noted as told counts before it is in memory. So a read may be taken for one of an earlier time, never of a
   later one. */
static void use_flag(CtTimeline *t, const CtIn *in, const CtWarp *w, const CtAccess *a, int lane,
                     bool tells) {
  int64_t off, flag = NONE;
  int32_t told = 0;
  if (!ct_access_at(a, 0, lane, &off)) {
    return;
  }
  const char *at = ct_access_ptr(a, off);
  pthread_mutex_lock(&t->flags->lock);
  flag = find_flag(t->flags, at, name_of(w->worker->job->program, a->buf), tells);
  if (flag != NONE) {
    told = t->flags->items[flag].told += tells;
  }
  pthread_mutex_unlock(&t->flags->lock);
  t->has_no_memory = t->has_no_memory || flag == NONE;
  if (flag == NONE || !is_recorded(t, w->worker)) {
    return;
  }
  if (tells) {
    meet(t, in, w, CT_TIME_TELL, (uint32_t)flag, told);
  } else {
    see(t, in, w, (uint32_t)flag, told);
  }
}

/* The work between two reads of a flag that is not there yet counts once. */
static void forget_turn(CtTimeline *t, const CtIn *in, const CtWarp *w) {
  const CtSimtJob *job = w->worker->job;
  const WarpState *state = state_of(t, w);
  CtTimeEvent *e = state->last == NONE ? NULL : &t->events[state->last];
  if (e != NULL && state->n_polled > 0 && e->kind == CT_TIME_WORK &&
      e->loc.line == job->program->locs[in - job->code].line) {
    e->n = 0;
  }
}

/* An atomic operation of scope "sys"; false: it is none. */
static bool step_flag(CtTimeline *t, const CtIn *code, const CtIn *in, CtWarp *w) {
  const CtAtomicImm imm = {.imm = code->imm};
  CtAccess a[CT_MAX_OPERANDS];
  if (t->flags == NULL || !ct_in_is(code, CT_INS_ATOMIC) || (imm.u.order & CT_ORDER_SYS) == 0 ||
      ct_simt_accesses(code, in, w, a) == 0 || a[0].buf->space != CT_GLOBAL) {
    return false;
  }
  bool tells = imm.u.op != CT_OP_ATOMIC_LOAD;
  if (!tells && is_recorded(t, w->worker)) {
    forget_turn(t, in, w);
  }
  for (uint32_t rest = a[0].mask; rest != 0; rest &= rest - 1) {
    use_flag(t, in, w, &a[0], ct_first_lane(rest), tells);
  }
  return true;
}

/* --- instructions ----------------------------------------------------------------------------------------- */

/* Instructions that `sync` tells about, or that are part of the next instruction. */
static const bool is_told[CT_SIMT_OP_COUNT] = {
    [CT_SIMT_MBAR] = true,         [CT_SIMT_NAMED] = true,        [CT_SIMT_CLUSTER_ARRIVE] = true,
    [CT_SIMT_CLUSTER_WAIT] = true, [CT_SIMT_WGMMA_COMMIT] = true, [CT_SIMT_WGMMA_WAIT] = true,
    [CT_SIMT_TMA_NUMBER] = true,   [CT_SIMT_TMA_LANES] = true,    [CT_SIMT_GUARD] = true};

static bool wants(const CtIn *code) { return !is_told[code->u.op]; }

static void add_mma(CtTimeline *t, const CtIn *in, const CtWarp *w, const CtTileOp *op) {
  const CtMma *m = op->mma;
  CtTimeEvent e = {.kind = CT_TIME_MMA};
  int64_t rows = op->op == CT_OP_TCGEN05_MMA ? m->rows : m->m;
  e.n = m->rest[0] * m->rest[1] * m->rest[2] * rows * m->n * m->k * m->groups;
  e.agent = op->op == CT_OP_TCGEN05_MMA ? CT_AGENT_UMMA : CT_AGENT_WGMMA;
  e.bits = (uint32_t)ct_dtypes[op->b.dtype].bits;
  add(t, in, w, &e);
}

/* How many multiply-adds, or instructions of an atom, a thread executes for a product. */
static int64_t count_products(const CtSimtProgram *p, const CtTileOp *op) {
  if (op->op == CT_OP_MMA) {
    return op->mma->rest[0] * op->mma->rest[1] * op->mma->rest[2];
  }
  return op->op != CT_OP_GEMM
             ? 0
             : ct_max(p->modes[op->dst.mode[0]].n, 0) * ct_max(p->modes[op->dst.mode[1]].n, 0) *
                   (op->elementwise ? 1 : ct_max(p->modes[op->a.mode[1]].n, 0));
}

static void step_work(CtTimeline *t, const CtIn *code, const CtIn *in, CtWarp *w) {
  const CtSimtProgram *p = w->worker->job->program;
  CtAccess a[CT_MAX_OPERANDS];
  CtTimeEvent e = {.kind = CT_TIME_WORK, .n = 1};
  for (int n = ct_simt_accesses(code, in, w, a); n-- > 0;) {
    int64_t each = a[n].buf->space == CT_REGISTER ? 1 : ct_max(a[n].n / a[n].vec, 1);
    e.n = ct_max(e.n, each);
    e.global += a[n].buf->space == CT_GLOBAL && a[n].reads && !a[n].is_async;
    e.shared += a[n].buf->space == CT_SHARED && a[n].reads;
  }
  if (ct_in_is(code, CT_INS_TILE)) {
    e.n = ct_max(e.n, count_products(p, &p->tiles[code->imm]));
  }
  add_work(t, in, w, &e);
}

static uint32_t step(CtSimtWatch *watch, const CtIn *code, const CtIn *in, CtWarp *w) {
  CtTimeline *t = timeline_of(watch);
  const CtSimtProgram *p = w->worker->job->program;
  if (step_flag(t, code, in, w) || !is_recorded(t, w->worker)) {
    return w->mask;
  }
  switch (code->u.op) {
    case CT_SIMT_TCGEN05_MMA:
    case CT_SIMT_WGMMA: add_mma(t, in, w, &p->tiles[code->imm]); break;
    case CT_SIMT_TMA:
      if (p->tmas[code->imm].is_store) {
        add(t, in, w,
            &(CtTimeEvent){.kind = CT_TIME_STORE,
                           .n = ct_simt_tma_bytes(&p->tmas[code->imm]) *
                                __builtin_popcount(w->mask)});
      }
      break;
    case CT_SIMT_MARK: add(t, in, w, &(CtTimeEvent){.kind = CT_TIME_MARK, .n = code->imm}); break;
    case CT_SIMT_GRID_BARRIER: /* this block's part of it */
    case CT_SIMT_BARRIER: {
      uint32_t at = block_at(t, w->worker->rank);
      meet(t, in, w, CT_TIME_ARRIVE, at, t->phases[at]);
      meet(t, in, w, CT_TIME_PASS, at, t->phases[at]);
      break;
    }
    default: step_work(t, code, in, w); break;
  }
  return w->mask;
}

static void barrier(CtSimtWatch *watch, CtWorker *k) {
  CtTimeline *t = timeline_of(watch);
  if (is_recorded(t, k)) {
    t->phases[block_at(t, k->rank)]++;
  }
}

static void sync_named(CtTimeline *t, const CtSyncNote *note) {
  uint32_t at = named_at(t, note->w->worker->rank, note->slot);
  WarpState *w = state_of(t, note->w);
  if (note->kind == CT_SYNC_NAMED_PASS) {
    meet(t, note->in, note->w, CT_TIME_PASS, at, w->named);
    return;
  }
  w->named = t->phases[at];
  meet(t, note->in, note->w, CT_TIME_ARRIVE, at, w->named);
  t->phases[at] += note->turns;
}

static void sync_mbar(CtTimeline *t, const CtSyncNote *note) {
  uint32_t at = mbar_at(t, note->rank, note->buf, note->slot);
  CtTimeEvent e = {
      .kind = CT_TIME_ARRIVE, .barrier = at, .phase = t->phases[at], .agent = (uint8_t)note->agent};
  if (note->kind == CT_SYNC_PASS) {
    e.kind = CT_TIME_PASS;
    e.phase--;
  } else if (note->kind == CT_SYNC_COMPLETE) {
    e.kind = CT_TIME_LOAD;
    e.n = note->n;
    const CtSimtProgram *p = note->w->worker->job->program;
    const CtIn *code = &p->code[note->in - note->w->worker->job->code];
    bool is_remote = code->u.op == CT_SIMT_MBAR || p->tmas[code->imm].is_send;
    e.agent = is_remote ? CT_AGENT_BAR : CT_AGENT_NONE;
  }
  add(t, note->in, note->w, &e);
  t->phases[at] += note->kind != CT_SYNC_PASS && note->turns;
}

static void sync(CtSimtWatch *watch, const CtSyncNote *note) {
  CtTimeline *t = timeline_of(watch);
  CtTimeEvent e = {.agent = (uint8_t)note->agent, .n = note->n};
  if (!is_recorded(t, note->w->worker)) {
    return;
  }
  switch (note->kind) {
    case CT_SYNC_INIT:
    case CT_SYNC_EXPECT:
    case CT_SYNC_ISSUE:
    case CT_SYNC_GRID_ARRIVE:
    case CT_SYNC_GRID_PASS:
    case CT_SYNC_PROXY:
    case CT_SYNC_TMEM_ALLOC:
    case CT_SYNC_TMEM_DEALLOC:
    case CT_SYNC_BEFORE:
    case CT_SYNC_AFTER:
    case CT_SYNC_PROXY_GLOBAL: break;
    case CT_SYNC_ARRIVE:
    case CT_SYNC_COMPLETE:
    case CT_SYNC_PASS: sync_mbar(t, note); break;
    case CT_SYNC_NAMED_ARRIVE:
    case CT_SYNC_NAMED_PASS: sync_named(t, note); break;
    case CT_SYNC_CLUSTER_ARRIVE:
      meet(t, note->in, note->w, CT_TIME_ARRIVE, cluster_at(t), (int32_t)note->w->n_arrived);
      break;
    case CT_SYNC_CLUSTER_PASS:
      meet(t, note->in, note->w, CT_TIME_PASS, cluster_at(t), (int32_t)note->w->n_arrived - 1);
      break;
    case CT_SYNC_COMMIT:
    case CT_SYNC_WAIT:
      e.kind = note->kind == CT_SYNC_COMMIT ? CT_TIME_COMMIT : CT_TIME_WAIT;
      add(t, note->in, note->w, &e);
      break;
  }
}

/* --- launches --------------------------------------------------------------------------------------------- */

static bool keep_program(CtTimeline *t, const CtSimtProgram *p) {
  t->slot_of = ct_arena_alloc(&t->arena, p->n_bufs * sizeof *t->slot_of);
  t->chunks = ct_arena_alloc(&t->arena, (p->n_chunks + 1) * sizeof *t->chunks);
  for (uint32_t i = 0; t->chunks != NULL && i < p->n_chunks; i++) {
    t->chunks[i] = ct_arena_strdup(&t->arena, p->chunks[i], strlen(p->chunks[i]));
    t->has_no_memory = t->has_no_memory || t->chunks[i] == NULL;
  }
  for (uint32_t b = 1; t->slot_of != NULL && b < p->n_bufs; b++) {
    t->slot_of[b] = t->n_slots;
    t->n_slots += p->bufs[b].arrivals > 0 ? (uint32_t)p->bufs[b].n : 0;
  }
  t->n_meets = (uint32_t)p->n_cluster * per_block(t) + 1;
  t->meets = ct_arena_alloc(&t->arena, t->n_meets * sizeof *t->meets);
  t->phases = ct_arena_alloc(&t->arena, t->n_meets * sizeof *t->phases);
  t->warps = ct_arena_alloc(&t->arena, (size_t)(p->n_cluster * p->n_warps) * sizeof *t->warps);
  return t->slot_of != NULL && t->chunks != NULL && t->meets != NULL && t->phases != NULL &&
         t->warps != NULL;
}

static CtStatus begin(CtSimtWatch *watch, CtSimtJob *job, CtErr *err) {
  CtTimeline *t = timeline_of(watch);
  const CtSimtProgram *p = job->program;
  const int64_t *grid = job->launch->grid, *b = t->block;
  if (b[0] >= grid[0] || b[1] >= grid[1] || b[2] >= grid[2]) {
    return ct_fail(err, CT_EINVAL,
                   "timeline: block (%lld,%lld,%lld) is outside the grid (%lld,%lld,%lld)",
                   (long long)b[0], (long long)b[1], (long long)b[2], (long long)grid[0],
                   (long long)grid[1], (long long)grid[2]);
  }
  t->n_events = 0;
  t->n_slots = 0;
  ct_arena_reset(&t->arena);
  if (!keep_program(t, p)) {
    return ct_fail_nomem(err);
  }
  t->rank = 0;
  for (int i = 2; i >= 0; i--) {
    t->rank = t->rank * (int)p->cluster[i] + (int)(b[i] % p->cluster[i]);
  }
  for (int rank = 0; rank < p->n_cluster; rank++) {
    name_meets(t, p, rank);
  }
  t->meets[cluster_at(t)] = (CtMeet){.kind = CT_MEET_CLUSTER};
  for (int i = 0; i < p->n_cluster * p->n_warps; i++) {
    t->warps[i].last = NONE;
  }
  t->position =
      (b[2] / p->cluster[2] * job->clusters[1] + b[1] / p->cluster[1]) * job->clusters[0] +
      b[0] / p->cluster[0];
  if (!t->runs_all && !job->launch->is_cooperative) {
    job->n_clusters = ct_min(job->n_clusters, t->position + 1);
  }
  return CT_OK;
}

static const CtWatchOps ops = {
    .wants = wants, .begin = begin, .step = step, .barrier = barrier, .sync = sync};

/* --- for users -------------------------------------------------------------------------------------------- */

CtStatus ct_timeline_open(CtAlloc alloc, const int64_t block[3], CtTimeline **out, CtErr *err) {
  CtTimeline *t = ct_alloc(alloc, sizeof *t);
  if (t == NULL) {
    return ct_fail_nomem(err);
  }
  *t = (CtTimeline){.watch = {.ops = &ops}, .alloc = alloc};
  memcpy(t->block, block, sizeof t->block);
  ct_arena_init(&t->arena, alloc);
  *out = t;
  return CT_OK;
}

void ct_timeline_close(CtTimeline *t) {
  if (t != NULL) {
    ct_free(t->alloc, t->events, t->cap_events * sizeof *t->events);
    ct_arena_clear(&t->arena);
    ct_free(t->alloc, t, sizeof *t);
  }
}

void ct_timeline_run_all(CtTimeline *t) { t->runs_all = true; }
void ct_timeline_use(CtTimeline *t, CtFlags *flags) { t->flags = flags; }
CtSimtWatch *ct_timeline_watch(CtTimeline *t) { return &t->watch; }

CtStatus ct_timeline_events(const CtTimeline *t, const CtTimeEvent **events, size_t *n,
                            CtErr *err) {
  if (t->is_too_long) {
    return ct_fail(err, CT_EUNSUPPORTED,
                   "timeline: the block does more than %d things; launch a smaller problem",
                   (int)MAX_EVENTS);
  }
  if (t->has_no_memory) {
    return ct_fail_nomem(err);
  }
  *events = t->events;
  *n = t->n_events;
  return CT_OK;
}

const CtMeet *ct_timeline_meets(const CtTimeline *t, size_t *n) {
  *n = t->n_meets;
  return t->meets;
}
int ct_timeline_rank(const CtTimeline *t) { return t->rank; }
const char *ct_timeline_chunk(const CtTimeline *t, uint32_t chunk) { return t->chunks[chunk]; }
