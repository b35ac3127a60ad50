/* simt.c: the CPU engine: a pool of threads that run the blocks of a launch, the warps of a block in
   turn from barrier to barrier. The handlers are in the files of CT_SIMT_PARTS, programs come from
   simt_lower.c. */
#include "simt_watch.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

enum { CACHE_LINE = 64, UNSET_BYTE = 0xFF, MAX_THREADS = 1024 };

typedef struct Thread {
  CtSimtEngine *engine;
  pthread_t id;
  int index; /* of its worker */
} Thread;

struct CtSimtEngine {
  CtAlloc alloc;
  const char *isa;
  CtHandler handlers[CT_SIMT_OP_COUNT];
  int n_threads; /* that can run blocks, the caller's included */
  Thread *threads;
  CtWorker *workers; /* a team for each thread; kept for the next launch */
  size_t cap_workers;
  int max_threads;
  pthread_mutex_t launch; /* held by the one launch that runs */
  pthread_mutex_t lock;   /* of what follows */
  pthread_cond_t wake, done;
  uint64_t round;       /* counts launches */
  int n_called, n_busy; /* threads of this round; those still at it */
  int team;             /* workers of each */
  bool quit;
  char *mem; /* of all workers; kept for the next launch */
  size_t mem_bytes;
  CtIn *code; /* bound to handlers; kept likewise */
  size_t cap_code;
  CtHandler *watched; /* handlers of the code when there is a watcher; kept likewise */
  size_t cap_watched;
};

/* --- one block ------------------------------------------------------------------------------------ */

static CtWarp *warp_at(const CtWorker *k, int32_t i) {
  return (CtWarp *)(void *)(k->warps + (size_t)i * k->job->program->warp_bytes);
}

/* Runs a warp until it stops. */
static void run(CtWarp *w, const CtIn *in) {
  while (in != NULL) {
    in = in->u.handler(in, w);
  }
}

static uint32_t lanes_of(const CtSimtProgram *p, int32_t warp) {
  int32_t n = p->n_threads - warp * CT_LANES;
  return n >= CT_LANES ? CT_ALL_LANES : (1u << n) - 1;
}

static void set_axes(CtWarp *w, const uint32_t at[3], const int64_t v[3]) {
  for (int i = 0; i < 3; i++) {
    if (at[i] != 0) { /* the kernel uses it */
      CT_AT(CtScalar, w, at[i])->i = v[i];
    }
  }
}

static void start_warp(CtWorker *k, CtWarp *w) {
  const CtSimtProgram *p = k->job->program;
  w->mask = w->live = lanes_of(p, w->index);
  w->is_waiting = false;
  w->has_arrived = false;
  w->n_arrived = 0;
  w->spin_at = w->parked = NULL;
  w->registers = p->first_registers;
  w->n_groups = 0;
  w->pc = k->job->code + p->body - 1; /* warps go on after pc */
  set_axes(w, p->bid_at, k->bid);
  memset(CT_AT(char, w, p->vars_at), 0, p->vars_end - p->vars_at);
  memset(CT_AT(char, w, p->regs_at), UNSET_BYTE, p->regs_end - p->regs_at);
}

/* After all warps stopped: the ones that wait must wait at the same place. True to go on. */
static bool meet(CtWorker *k) {
  const CtWarp *first = NULL;
  for (int32_t i = 0; i < k->job->program->n_warps; i++) {
    CtWarp *w = warp_at(k, i);
    if (w->pc == NULL) {
      continue;
    }
    if (first != NULL && first->pc != w->pc) {
      k->fail = (CtFail){.kind = CT_FAIL_BARRIER_WARPS,
                         .in = first->pc,
                         .other = w->pc,
                         .warp = first,
                         .other_warp = w,
                         .lane = ct_first_lane(first->mask)};
      return false;
    }
    first = first == NULL ? w : first;
    w->is_waiting = false;
    w->is_same = false;
  }
  if (first != NULL && ct_simt_stopping(first)) {
    k->fail = (CtFail){.kind = CT_FAIL_STOPPED, .in = first->pc, .warp = first};
    return false;
  }
  CtSimtWatch *watch = k->job->launch->watch;
  if (first != NULL && watch != NULL && watch->ops->barrier != NULL) {
    watch->ops->barrier(watch, k);
  }
  return first != NULL;
}

static int team_of(const CtWorker *team) { return team->job->program->n_cluster; }

/* Gives the workers of a team the blocks of a cluster, of which `first` is the one of rank 0. */
static void set_blocks(CtWorker *team, const int64_t first[3]) {
  const int64_t *grid = team->job->launch->grid, *cluster = team->job->program->cluster;
  for (int rank = 0; rank < team_of(team); rank++) {
    CtWorker *k = &team[rank];
    k->bid[0] = first[0] + rank % cluster[0];
    k->bid[1] = first[1] + rank / cluster[0] % cluster[1];
    k->bid[2] = first[2] + rank / (cluster[0] * cluster[1]);
    k->block = (k->bid[2] * grid[1] + k->bid[1]) * grid[0] + k->bid[0];
  }
}

static bool is_looping(const CtWarp *w) {
  return w->pc != NULL && !w->is_waiting && w->parked == NULL;
}

/* Runs a warp until it stops; did it come to a wait, past one, or to its end? */
static bool has_moved(CtWarp *w) {
  const CtIn *parked = w->parked;
  uint32_t n_passed = w->n_passed;
  run(w, w->pc + 1);
  return parked == NULL ? !is_looping(w) : w->n_passed != n_passed;
}

/* Each warp of a block runs until it stops. Those in loops that wait, and those at mbarriers, go on in the next
   turn: *loops and *parked say whether there are any. False when something failed. */
static bool run_warps(CtWorker *k, bool *loops, bool *parked) {
  *loops = *parked = k->has_moved = false;
  for (int32_t i = 0; i < k->job->program->n_warps; i++) {
    CtWarp *w = warp_at(k, i);
    if (w->pc != NULL && !w->is_waiting) {
      k->has_moved = has_moved(w) || k->has_moved;
    }
    if (k->fail.kind != CT_FAIL_NONE) {
      return false;
    }
    *loops = *loops || is_looping(w);
    *parked = *parked || w->parked != NULL;
  }
  return true;
}

/* Nobody is left to complete what parked warps of a team wait for: the first one fails that does not just wait for
   the rest of its cluster, if there is one. */
static void fail_waits(CtWorker *team) {
  const CtSimtProgram *p = team->job->program;
  CtWarp *found = NULL;
  bool is_cause = false;
  for (int32_t i = 0; i < p->n_cluster * p->n_warps && !is_cause; i++) {
    CtWarp *w = warp_at(&team[i / p->n_warps], i % p->n_warps);
    if (w->parked != NULL) {
      is_cause = p->code[w->parked - team->job->code].u.op != CT_SIMT_CLUSTER_WAIT;
      found = found == NULL || is_cause ? w : found;
    }
  }
  if (found != NULL) {
    found->worker->fail = (CtFail){.kind = CT_FAIL_WAITS,
                                   .in = found->parked,
                                   .warp = found,
                                   .lane = ct_first_lane(found->mask)};
  }
}

/* A turn of each block of a team, to its barrier where all its warps have come there. False when all have
   ended, or one failed. */
static bool take_turns(CtWorker *team) {
  uint64_t changes = atomic_load(&team->job->n_changes);
  bool any_loops = false, goes_on = false, any_parked = false, any_moved = false;
  for (int i = 0; i < team_of(team); i++) {
    bool loops, parked;
    if (!run_warps(&team[i], &loops, &parked)) {
      return false;
    }
    bool met = !loops && !parked && meet(&team[i]);
    any_loops = any_loops || loops;
    any_parked = any_parked || parked;
    any_moved = any_moved || team[i].has_moved;
    goes_on = goes_on || loops || met;
    if (team[i].fail.kind != CT_FAIL_NONE) {
      return false;
    }
  }
  if (any_loops && !ct_simt_is_stuck(team, changes) && team->was_stuck) {
    sched_yield(); /* other blocks */
  }
  if (any_parked && !goes_on && !any_moved) {
    fail_waits(team);
  }
  goes_on = goes_on || (any_parked && any_moved);
  for (int i = 0; i < team_of(team); i++) {
    goes_on = goes_on && team[i].fail.kind == CT_FAIL_NONE;
  }
  return goes_on;
}

static void begin_block(CtWorker *k) {
  const CtSimtProgram *p = k->job->program;
  CtSimtWatch *watch = k->job->launch->watch;
  k->was_stuck = false;
  memset(k->shared, UNSET_BYTE, p->shared_bytes);
  k->free_registers = 0;
  if (p->has_named) {
    memset(k->named, 0, sizeof k->named);
  }
  for (int32_t i = 0; i < p->n_warps; i++) {
    start_warp(k, warp_at(k, i));
  }
  if (watch != NULL && watch->ops->begin_block != NULL) {
    watch->ops->begin_block(watch, k);
  }
}

static void run_blocks(CtWorker *team) {
  CtSimtWatch *watch = team->job->launch->watch;
  for (int i = 0; i < team_of(team); i++) {
    begin_block(&team[i]);
  }
  while (take_turns(team)) {}
  bool tells = watch != NULL && watch->ops->end_block != NULL;
  for (int i = 0; tells && i < team_of(team); i++) {
    watch->ops->end_block(watch, &team[i]);
  }
}

/* Has the watcher noted the failure, so that the launch goes on? */
static bool is_noted(CtWorker *k) {
  CtSimtWatch *watch = k->job->launch->watch;
  bool asks = watch != NULL && watch->ops->fail != NULL && k->fail.kind != CT_FAIL_STOPPED;
  if (!asks || !watch->ops->fail(watch, k)) {
    return false;
  }
  k->fail.kind = CT_FAIL_NONE;
  return true;
}

/* --- one worker ------------------------------------------------------------------------------------ */

/* A number of the launch as scalar slots hold it. */
static CtScalar scalar_of(CtDtype t, const CtSlotValue *v) {
  CtScalar s = {0};
  uint32_t bits = (uint32_t)v->i;
  switch (t) {
    case CT_f64: s.f64 = v->f64; break;
    case CT_f32: s.f32 = v->f32; break;
    case CT_tf32: memcpy(&s.f32, &bits, sizeof bits); break;
    case CT_i64:
    case CT_u64: s.i = v->i; break;
    case CT_i32:
    case CT_u32: s.i = (int32_t)bits; break;
    case CT_bool: s.i = v->i != 0; break;
    default: s.i = ct_dtypes[t].bits == 16 ? (uint16_t)bits : (uint8_t)bits; break;
  }
  return s;
}

static void set_scalars(const CtSimtJob *job, CtWarp *w) {
  const CtSimtProgram *p = job->program;
  memcpy(CT_AT(char, w, p->consts_at), p->consts, p->n_consts * sizeof *p->consts);
  set_axes(w, p->gdim_at, job->launch->grid);
  for (uint32_t i = 0; i < p->n_params; i++) {
    const CtSlotValue *v = &job->launch->slots[p->params[i].slot];
    *CT_AT(CtScalar, w, p->params[i].at) = scalar_of(p->params[i].dtype, v);
  }
}

/* Thread indices; those of lanes beyond the block go on in the same way. */
static void set_thread_indices(const CtSimtProgram *p, CtWarp *w) {
  int64_t xy = p->block[0] * p->block[1];
  for (int lane = 0; lane < CT_LANES; lane++) {
    int64_t i = (int64_t)w->index * CT_LANES + lane;
    int64_t t[3] = {i % p->block[0], i % xy / p->block[0], i / xy};
    for (int axis = 0; axis < 3; axis++) {
      if (p->tid_at[axis] != 0) {
        CT_AT(int32_t, w, p->tid_at[axis])[lane] = (int32_t)t[axis];
      }
    }
  }
}

static CtMem mem_of(const CtWorker *k, CtWarp *w, const CtSimtBuf *b) {
  const CtSimtLaunch *launch = k->job->launch;
  uint32_t bytes = (uint32_t)ct_dtype_bytes(b->dtype);
  switch (b->space) {
    case CT_GLOBAL: {
      int64_t n = ct_max(launch->n_elems[b->param], 0) * (int64_t)ct_dtype_bytes(b->of) / bytes;
      return (CtMem){launch->slots[b->slot].ptr, n, bytes, 0};
    }
    case CT_SHARED: return (CtMem){k->shared + b->at, b->n, bytes, 0};
    case CT_REGISTER: return (CtMem){CT_AT(char, w, b->at), b->n, bytes * CT_LANES, bytes};
  }
  CT_UNREACHABLE();
}

/* What a launch fixes for each warp, and its prologue. */
static void set_up(CtWorker *k) {
  const CtSimtProgram *p = k->job->program;
  for (int32_t i = 0; i < p->n_warps; i++) {
    CtWarp *w = warp_at(k, i);
    CtMem *mem = CT_AT(CtMem, w, p->mem_at);
    *w = (CtWarp){.mask = CT_ALL_LANES,
                  .live = CT_ALL_LANES,
                  .worker = k,
                  .index = i,
                  .mem = mem,
                  .saved = CT_AT(uint32_t, w, p->saved_at)};
    for (uint32_t b = 1; b < p->n_bufs; b++) {
      mem[b] = mem_of(k, w, &p->bufs[b]);
    }
    set_scalars(k->job, w);
    set_thread_indices(p, w);
    run(w, k->job->code);
  }
}

static void note_failure(CtSimtJob *job, CtWorker *k) {
  if (k->fail.kind == CT_FAIL_STOPPED) {
    if (ct_simt_interrupted(job)) {
      atomic_store(&job->interrupted, true);
    }
  } else {
    int64_t lowest = atomic_load(&job->fail_block);
    (void)ct_simt_fail_report(k, &k->report);
    k->reported = k->block;
    while (k->block < lowest &&
           !atomic_compare_exchange_weak(&job->fail_block, &lowest, k->block)) {}
  }
  k->fail.kind = CT_FAIL_NONE;
}

/* Those below the lowest block that failed are run. */
static void take_cluster(CtWorker *team, int64_t position) {
  CtSimtJob *job = team->job;
  int64_t first[3];
  bool failed = false;
  ct_simt_block_at(job, position, first);
  set_blocks(team, first);
  if (team->block >= atomic_load(&job->fail_block)) {
    return;
  }
  run_blocks(team);
  for (int i = 0; i < team_of(team); i++) {
    if (team[i].fail.kind != CT_FAIL_NONE && !is_noted(&team[i])) {
      note_failure(job, &team[i]);
      failed = true;
    }
  }
  if (!failed) {
    atomic_store(&team->stuck_at, 0);
  }
}

/* Takes clusters until there are none, or a block before all that are left failed. */
static void take_clusters(CtWorker *team) {
  CtSimtJob *job = team->job;
  int64_t position = atomic_fetch_add(&job->next, 1);
  for (int i = 0; i < team_of(team) && position < job->n_clusters; i++) {
    set_up(&team[i]);
  }
  while (!ct_simt_is_over(job, position, atomic_load(&job->fail_block))) {
    if (ct_simt_interrupted(job)) {
      atomic_store(&job->interrupted, true);
      return;
    }
    take_cluster(team, position);
    position = atomic_fetch_add(&job->next, 1);
  }
}

static void work(CtWorker *team) {
  take_clusters(team);
  ct_simt_leave(team);
}

/* --- the pool --------------------------------------------------------------------------------------- */

static void *thread_main(void *ud) {
  const Thread *t = ud;
  CtSimtEngine *e = t->engine;
  uint64_t seen = 0;
  pthread_mutex_lock(&e->lock);
  for (;;) {
    while (!e->quit && (e->round == seen || t->index >= e->n_called)) {
      seen = e->round;
      pthread_cond_wait(&e->wake, &e->lock);
    }
    if (e->quit) {
      break;
    }
    seen = e->round;
    pthread_mutex_unlock(&e->lock);
    work(&e->workers[(size_t)t->index * (size_t)e->team]);
    pthread_mutex_lock(&e->lock);
    if (--e->n_busy == 0) {
      pthread_cond_signal(&e->done);
    }
  }
  pthread_mutex_unlock(&e->lock);
  return NULL;
}

/* Runs the teams 0 .. n-1, the first one here. */
static void run_teams(CtSimtEngine *e, int n, int team) {
  pthread_mutex_lock(&e->lock);
  e->round++;
  e->n_called = n;
  e->team = team;
  e->n_busy = n - 1;
  if (n > 1) {
    pthread_cond_broadcast(&e->wake);
  }
  pthread_mutex_unlock(&e->lock);
  work(&e->workers[0]);
  pthread_mutex_lock(&e->lock);
  while (e->n_busy > 0) {
    pthread_cond_wait(&e->done, &e->lock);
  }
  pthread_mutex_unlock(&e->lock);
}

static int count_cpus(void) {
#ifdef CPU_COUNT
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) == 0) {
    return CPU_COUNT(&set);
  }
#endif
  long n = sysconf(_SC_NPROCESSORS_ONLN);
  return n < 1 ? 1 : (int)ct_min(n, MAX_THREADS);
}

/* Starts what threads it can: with fewer an engine is slower, not wrong. They take no signals, so
   that the program's own threads handle Ctrl-C. */
static void start_threads(CtSimtEngine *e) {
  sigset_t all, old;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &old);
  for (e->n_threads = 1; e->n_threads < e->max_threads; e->n_threads++) {
    Thread *t = &e->threads[e->n_threads];
    *t = (Thread){.engine = e, .index = e->n_threads};
    if (pthread_create(&t->id, NULL, thread_main, t) != 0) {
      break;
    }
  }
  pthread_sigmask(SIG_SETMASK, &old, NULL);
}

/* --- instruction sets -------------------------------------------------------------------------------- */

typedef struct Isa {
  const char *name;
  const CtHandler *const *parts; /* ended by NULL */
} Isa;

#define PART(part, isa) ct_simt_##part##_##isa,
static const CtHandler *const base_parts[] = {CT_SIMT_PARTS(PART, base) NULL};
#if defined(__x86_64__)
static const CtHandler *const avx2_parts[] = {CT_SIMT_PARTS(PART, avx2) NULL};
static const CtHandler *const avx512_parts[] = {CT_SIMT_PARTS(PART, avx512) NULL};
#endif
#undef PART

/* Best last. */
static const Isa isas[] = {
    {"base", base_parts},
#if defined(__x86_64__)
    {"avx2", avx2_parts},
    {"avx512", avx512_parts},
#endif
};

#if defined(__x86_64__)
/* By hand: not every compiler's __builtin_cpu_supports knows it. */
static bool has_f16c(void) {
  unsigned a, b, c, d;
  return __get_cpuid(1, &a, &b, &c, &d) != 0 && (c & bit_F16C) != 0;
}
#endif

static bool has_isa(const char *name) {
#if defined(__x86_64__)
  __builtin_cpu_init();
  if (strcmp(name, "avx2") == 0) {
    return __builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("fma") != 0 && has_f16c();
  }
  if (strcmp(name, "avx512") == 0) {
    return __builtin_cpu_supports("avx512f") != 0 && __builtin_cpu_supports("avx512dq") != 0 &&
           __builtin_cpu_supports("avx512bw") != 0 && __builtin_cpu_supports("avx512vl") != 0 &&
           has_f16c();
  }
#endif
  return strcmp(name, "base") == 0;
}

static CtStatus choose_isa(const char *name, const Isa **out, CtErr *err) {
  for (size_t i = CT_ARRAY_LEN(isas); i-- > 0;) {
    if ((name == NULL || strcmp(name, isas[i].name) == 0) && has_isa(isas[i].name)) {
      *out = &isas[i];
      return CT_OK;
    }
  }
  return ct_fail(
      err, CT_EUNSUPPORTED,
      "CPU engine: this CPU or build has no instruction set '%s'; expected base, avx2 or "
      "avx512, or none for the best",
      name);
}

/* Those that are the same for every instruction set. */
static const CtHandler common_handlers[CT_SIMT_OP_COUNT] = {
    [CT_SIMT_SHFL] = ct_simt_shfl,
    [CT_SIMT_VOTE] = ct_simt_vote,
    [CT_SIMT_ATOMIC] = ct_simt_atomic,
    [CT_SIMT_FENCE] = ct_simt_fence,
    [CT_SIMT_PRINT_ARG] = ct_simt_print_arg,
    [CT_SIMT_PRINT] = ct_simt_printf,
    [CT_SIMT_ASSERT] = ct_simt_assert,
    [CT_SIMT_CLOCK] = ct_simt_clock,
    [CT_SIMT_GUARD] = ct_simt_tile_guard,
    [CT_SIMT_TILE] = ct_simt_tile_slow,
    [CT_SIMT_MBAR] = ct_simt_mbar,
    [CT_SIMT_NAMED] = ct_simt_named,
    [CT_SIMT_ELECT] = ct_simt_elect,
    [CT_SIMT_SETMAXNREG] = ct_simt_setmaxnreg,
    [CT_SIMT_WGMMA_COMMIT] = ct_simt_wgmma_commit,
    [CT_SIMT_WGMMA_WAIT] = ct_simt_wgmma_wait,
    [CT_SIMT_WARP_COPY] = ct_simt_warp_copy,
    [CT_SIMT_CLUSTER_ARRIVE] = ct_simt_cluster_arrive,
    [CT_SIMT_CLUSTER_WAIT] = ct_simt_cluster_wait,
    [CT_SIMT_EACH] = ct_simt_each,
    [CT_SIMT_TMA_NUMBER] = ct_simt_tma_number,
    [CT_SIMT_TMA_LANES] = ct_simt_tma_lanes,
    [CT_SIMT_TMA] = ct_simt_tma,
    [CT_SIMT_TMA_ORDER] = ct_simt_tma_order,
};

static void take_handlers(CtHandler *to, const CtHandler *part) {
  for (int op = 0; op < CT_SIMT_OP_COUNT; op++) {
    to[op] = part[op] != NULL ? part[op] : to[op];
  }
}

static void gather_handlers(CtHandler *to, const Isa *isa) {
  take_handlers(to, common_handlers);
  for (const CtHandler *const *part = isa->parts; *part != NULL; part++) {
    take_handlers(to, *part);
  }
  for (int op = 0; op < CT_SIMT_OP_COUNT; op++) {
    CT_ASSERT(to[op] != NULL);
  }
}

/* --- opening and closing ------------------------------------------------------------------------------ */

CtStatus ct_simt_open(CtAlloc alloc, int n_threads, const char *isa, CtSimtEngine **out,
                      CtErr *err) {
  const Isa *chosen = NULL;
  CtStatus status = choose_isa(isa, &chosen, err);
  if (status != CT_OK) {
    return status;
  }
  if (n_threads < 0 || n_threads > MAX_THREADS) {
    return ct_fail(err, CT_EINVAL, "CPU engine: %d threads; expected 0 (one per core) to %d",
                   n_threads, MAX_THREADS);
  }
  CtSimtEngine *e = ct_alloc(alloc, sizeof *e);
  if (e == NULL) {
    return ct_fail_nomem(err);
  }
  *e = (CtSimtEngine){.alloc = alloc, .isa = chosen->name};
  gather_handlers(e->handlers, chosen);
  e->max_threads = n_threads == 0 ? count_cpus() : n_threads;
  e->threads = ct_alloc(alloc, (size_t)e->max_threads * sizeof *e->threads);
  if (e->threads == NULL) {
    ct_free(alloc, e, sizeof *e);
    return ct_fail_nomem(err);
  }
  pthread_mutex_init(&e->launch, NULL);
  pthread_mutex_init(&e->lock, NULL);
  pthread_cond_init(&e->wake, NULL);
  pthread_cond_init(&e->done, NULL);
  start_threads(e);
  *out = e;
  return CT_OK;
}

void ct_simt_close(CtSimtEngine *e) {
  if (e == NULL) {
    return;
  }
  CtAlloc alloc = e->alloc;
  pthread_mutex_lock(&e->lock);
  e->quit = true;
  pthread_cond_broadcast(&e->wake);
  pthread_mutex_unlock(&e->lock);
  for (int i = 1; i < e->n_threads; i++) {
    pthread_join(e->threads[i].id, NULL);
  }
  pthread_cond_destroy(&e->done);
  pthread_cond_destroy(&e->wake);
  pthread_mutex_destroy(&e->lock);
  pthread_mutex_destroy(&e->launch);
  ct_free(alloc, e->code, e->cap_code * sizeof *e->code);
  ct_free(alloc, e->watched, e->cap_watched * sizeof *e->watched);
  ct_free(alloc, e->mem, e->mem_bytes);
  ct_free(alloc, e->threads, (size_t)e->max_threads * sizeof *e->threads);
  ct_free(alloc, e->workers, e->cap_workers * sizeof *e->workers);
  ct_free(alloc, e, sizeof *e);
}

int ct_simt_threads(const CtSimtEngine *e) { return e->n_threads; }
const char *ct_simt_isa(const CtSimtEngine *e) { return e->isa; }

/* --- launching ---------------------------------------------------------------------------------------- */

/* The instruction after one that no lane runs. */
static const CtIn *skip(const CtIn *in, const CtIn *code) {
  bool is_dot = code->u.op == CT_SIMT_DOT_f32 || code->u.op == CT_SIMT_DOT_f64;
  return in + (is_dot ? 3 : 1);
}

/* Runs an instruction by those lanes that the watcher leaves. */
static const CtIn *step(const CtIn *in, CtWarp *w, CtHandler handler) {
  const CtSimtJob *job = w->worker->job;
  CtSimtWatch *watch = job->watch;
  const CtIn *code = &job->program->code[in - job->code], *next;
  uint32_t mask = w->mask;
  uint32_t lanes = watch->ops->step(watch, code, in, w);
  if (lanes == mask) {
    next = handler(in, w);
  } else if (lanes == 0) {
    return skip(in, code);
  } else {
    w->mask = lanes;
    next = handler(in, w);
    w->mask = mask;
  }
  if (watch->ops->after != NULL && next != NULL) {
    watch->ops->after(watch, code, in, w);
  }
  return next;
}

/* The handler of instructions that are watched, and of the GUARD of one, which may run it itself. */
const CtIn *ct_simt_step(const CtIn *in, CtWarp *w) {
  const CtSimtJob *job = w->worker->job;
  return step(in, w, job->handlers[in - job->code]);
}
static const CtIn *step_guarded(const CtIn *in, CtWarp *w) {
  return ct_simt_is_whole(in, w) ? in + 1 : step(in + 1, w, ct_simt_tile_slow);
}

static bool is_wanted(CtSimtWatch *watch, const CtSimtProgram *p, uint32_t i) {
  return watch->ops->wants(&p->code[i]) &&
         (watch->ops->wants_at == NULL || watch->ops->wants_at(watch, i));
}

/* Puts the watcher, who has begun, between the code and its handlers. */
static void bind_watched(CtSimtEngine *e, const CtSimtJob *job) {
  const CtSimtProgram *p = job->program;
  CtSimtWatch *watch = job->launch->watch;
  for (uint32_t i = watch->ops->has_prologue ? 0 : p->body; i < p->n_code; i++) {
    e->watched[i] = e->code[i].u.handler;
    if (p->code[i].u.op == CT_SIMT_GUARD && is_wanted(watch, p, i + 1)) {
      e->code[i].u.handler = step_guarded;
    } else if (is_wanted(watch, p, i)) {
      CtHandler own = watch->ops->handler == NULL ? NULL : watch->ops->handler(watch, i);
      e->code[i].u.handler = own != NULL ? own : ct_simt_step;
    }
  }
}

/* The watcher begins, if there is one. */
static CtStatus begin_watch(CtSimtEngine *e, CtSimtJob *job, CtErr *err) {
  CtSimtWatch *watch = job->launch->watch;
  if (watch == NULL) {
    return CT_OK;
  }
  CtStatus status = ct_grow(e->alloc, &e->watched, &e->cap_watched, job->program->n_code,
                            sizeof *e->watched, err);
  job->handlers = e->watched;
  status = status == CT_OK ? watch->ops->begin(watch, job, err) : status;
  if (status == CT_OK) {
    bind_watched(e, job);
  }
  return status;
}

/* Those who watch see each turn of a loop. */
static CtIn watched_form(CtIn in) {
  if (in.u.op == CT_SIMT_NEXT_SUM_f32 || in.u.op == CT_SIMT_NEXT_SUM_f64) {
    in.u.op = CT_SIMT_NEXT;
    in.imm = CT_SPIN_NOT;
  }
  return in;
}

static CtStatus bind_code(CtSimtEngine *e, const CtSimtProgram *p, bool is_watched, CtErr *err) {
  CtStatus status = ct_grow(e->alloc, &e->code, &e->cap_code, p->n_code, sizeof *e->code, err);
  if (status != CT_OK) {
    return status;
  }
  for (uint32_t i = 0; i < p->n_code; i++) {
    CtIn in = is_watched ? watched_form(p->code[i]) : p->code[i];
    uint32_t op = in.u.op;
    e->code[i] = in;
    e->code[i].u.handler = e->handlers[op];
  }
  return CT_OK;
}

static size_t round_up(size_t n) { return (n + CACHE_LINE - 1) / CACHE_LINE * CACHE_LINE; }

/* Gives each of n workers its memory. */
static CtStatus give_memory(CtSimtEngine *e, const CtSimtProgram *p, int n, CtErr *err) {
  size_t warps = (size_t)p->n_warps * p->warp_bytes;
  size_t shared = round_up(p->shared_bytes), scratch = round_up(p->scratch_bytes);
  size_t each = warps + shared + scratch;
  size_t need = each * (size_t)n + CACHE_LINE;
  CtStatus status =
      ct_grow(e->alloc, &e->workers, &e->cap_workers, (size_t)n, sizeof *e->workers, err);
  if (status != CT_OK) {
    return status;
  }
  if (need > e->mem_bytes) {
    ct_free(e->alloc, e->mem, e->mem_bytes);
    e->mem = ct_alloc(e->alloc, need);
    e->mem_bytes = e->mem == NULL ? 0 : need;
    if (e->mem == NULL) {
      return ct_fail_nomem(err);
    }
  }
  char *at = e->mem + (CACHE_LINE - (uintptr_t)e->mem % CACHE_LINE) % CACHE_LINE;
  for (int i = 0; i < n; i++, at += each) {
    e->workers[i].warps = at;
    e->workers[i].shared = at + warps;
    e->workers[i].scratch = at + warps + shared;
  }
  return CT_OK;
}

static CtStatus count_clusters(CtSimtJob *job, CtErr *err) {
  const CtSimtProgram *p = job->program;
  const int64_t *grid = job->launch->grid, *cluster = p->cluster;
  int64_t n;
  if (grid[0] < 0 || grid[1] < 0 || grid[2] < 0 || ct_mul_overflow(grid[0], grid[1], &n) ||
      ct_mul_overflow(n, grid[2], &n) || grid[0] > INT32_MAX || grid[1] > INT32_MAX ||
      grid[2] > INT32_MAX) {
    return ct_fail(err, CT_EINVAL, "%s: grid (%lld,%lld,%lld); expected extents from 0 to 2^31-1",
                   p->name, (long long)grid[0], (long long)grid[1], (long long)grid[2]);
  }
  for (int i = 0; i < 3; i++) {
    if (grid[i] % cluster[i] != 0) {
      return ct_fail(err, CT_EINVAL,
                     "%s: grid (%lld,%lld,%lld) is not made of clusters (%lld,%lld,%lld)", p->name,
                     (long long)grid[0], (long long)grid[1], (long long)grid[2],
                     (long long)cluster[0], (long long)cluster[1], (long long)cluster[2]);
    }
    job->clusters[i] = grid[i] / cluster[i];
  }
  job->n_blocks = n;
  job->n_clusters = n / p->n_cluster;
  return CT_OK;
}

/* The lowest failed block speaks for the launch. */
static CtStatus outcome(const CtSimtEngine *e, const CtSimtJob *job, int n, CtErr *err) {
  int64_t failed = atomic_load(&job->fail_block);
  for (int i = 0; i < n; i++) {
    const CtWorker *k = &e->workers[i];
    if (k->reported == failed && failed != INT64_MAX) {
      if (err != NULL) {
        *err = k->report;
      }
      return k->report.status;
    }
  }
  if (atomic_load(&job->interrupted)) {
    return ct_fail(err, CT_EINTERRUPTED, "%s: interrupted", job->program->name);
  }
  return CT_OK;
}

static CtStatus run_locked(CtSimtEngine *e, CtSimtJob *job, CtErr *err) {
  int n_threads = (int)ct_min(e->n_threads, job->n_clusters), team = job->program->n_cluster;
  int n = n_threads * team;
  CtSimtWatch *watch = job->launch->watch;
  CtStatus status = bind_code(e, job->program, watch != NULL, err);
  status = status == CT_OK ? give_memory(e, job->program, n, err) : status;
  if (status != CT_OK) {
    return status;
  }
  job->code = e->code;
  job->workers = e->workers;
  job->n_workers = n;
  for (int i = 0; i < n; i++) {
    e->workers[i].job = job;
    e->workers[i].team = &e->workers[i / team * team];
    e->workers[i].rank = i % team;
    e->workers[i].fail.kind = CT_FAIL_NONE;
    e->workers[i].reported = INT64_MAX;
    e->workers[i].printer = NULL;
    atomic_store(&e->workers[i].stuck_at, i % team == 0 ? 0 : UINT64_MAX); /* the first speaks */
  }
  status = begin_watch(e, job, err);
  if (status != CT_OK) {
    return status;
  }
  run_teams(e, n_threads, team);
  if (watch != NULL && watch->ops->end != NULL) {
    watch->ops->end(watch, job);
  }
  ct_simt_print_out(job, atomic_load(&job->fail_block));
  return outcome(e, job, n, err);
}

CtStatus ct_simt_run(CtSimtEngine *e, const CtSimtProgram *p, const CtSimtLaunch *launch,
                     CtErr *err) {
  CtSimtJob job = {.program = p,
                   .launch = launch,
                   .interrupt = launch->interrupt,
                   .watch = launch->watch,
                   .fail_block = INT64_MAX};
  CtStatus status = count_clusters(&job, err);
  if (status != CT_OK || job.n_clusters == 0) {
    return status;
  }
  job.alloc = e->alloc;
  job.band = ct_simt_band(&job);
  pthread_mutex_init(&job.print_lock, NULL);
  pthread_mutex_lock(&e->launch);
  status = run_locked(e, &job, err);
  pthread_mutex_unlock(&e->launch);
  pthread_mutex_destroy(&job.print_lock);
  return status;
}
