/* simt.c: the CPU engine: threads run the blocks of a launch (simt_team.c). The handlers are in the files of
   CT_SIMT_PARTS, programs come from simt_lower.c, and simt_open.c makes the engine. */
#include "simt_pool.h"

#include <string.h>
#include <time.h>

#include "runtime/base/size.h"
#include "runtime/simt/run/simt_kept.h"
#include "runtime/simt/run/simt_plan.h"
#include "runtime/simt/run/simt_watch.h"

enum { LOOK_NS = 20 * 1000 * 1000, SECOND_NS = 1000 * 1000 * 1000 };
enum { CACHE_LINE = 64 };
enum { MAX_RESIDENT = 1 << 14 }; /* blocks of a cooperative launch; no GPU has as many at once */
enum { MAX_JOINT = 1 << 14 };    /* launches of ranks that run at once */

/* --- the pool --------------------------------------------------------------------------------------- */

/* Waits until the other threads are done, or for a while: false. */
static bool wait_for_others(CtSimtEngine *e) {
  struct timespec until;
  pthread_mutex_lock(&e->lock);
  if (e->n_busy > 0) {
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += LOOK_NS;
    until.tv_sec += until.tv_nsec / SECOND_NS;
    until.tv_nsec %= SECOND_NS;
    (void)pthread_cond_timedwait(&e->done, &e->lock, &until);
  }
  bool is_done = e->n_busy == 0;
  pthread_mutex_unlock(&e->lock);
  return is_done;
}

/* Runs the launches on the group's threads, of which this one is the first. */
static void run_group(CtSimtEngine *e, CtSimtGroup *g) {
  pthread_mutex_lock(&e->lock);
  e->round++;
  e->n_called = g->n_threads;
  e->group = g;
  e->n_busy = g->n_threads - 1;
  if (g->n_threads > 1) {
    pthread_cond_broadcast(&e->wake);
  }
  pthread_mutex_unlock(&e->lock);
  ct_simt_work(g, 0);
  while (!wait_for_others(e)) {
    if (ct_flag_value(g->jobs[0].interrupt) == CT_FLAG_ASK) {
      (void)ct_flag_answer(g->jobs[0].interrupt);
    }
    if (ct_simt_is_of_parent(e)) { /* who answered has forked, and nobody else works here */
      atomic_store(&g->jobs[0].interrupted, true);
      return;
    }
  }
}

/* --- code --------------------------------------------------------------------------------------------- */

/* The launches' code, one after the other. */
static CtStatus bind_code(CtSimtEngine *e, CtSimtGroup *g, CtErr *err) {
  size_t n = 0, at = 0;
  for (int i = 0; i < g->n_jobs; i++) {
    n += g->jobs[i].program->n_code;
  }
  CtStatus status = CT_GROW(e->alloc, e->code, e->cap_code, n, err);
  for (int i = 0; i < g->n_jobs && status == CT_OK; i++) {
    CtSimtJob *job = &g->jobs[i];
    CtIn *code = &e->code[at];
    for (uint32_t k = 0; k < job->program->n_code; k++) {
      const CtIn *in = &job->program->code[k];
      code[k] = job->watch != NULL ? ct_simt_watched_form(*in) : *in;
      code[k].u.handler = e->handlers[code[k].u.op];
    }
    job->code = code;
    at += job->program->n_code;
  }
  return status;
}

/* The launches' watchers begin, those that there are. *n: so many have begun. */
static CtStatus begin_watches(CtSimtEngine *e, CtSimtGroup *g, int *n, CtErr *err) {
  size_t at =
      (size_t)(g->jobs[g->n_jobs - 1].code - e->code) + g->jobs[g->n_jobs - 1].program->n_code;
  CtStatus status = CT_OK;
  bool any = false;
  for (int i = 0; i < g->n_jobs; i++) {
    any = any || g->jobs[i].watch != NULL;
  }
  if (any) {
    status = CT_GROW(e->alloc, e->watched, e->cap_watched, at, err);
  }
  for (*n = 0; *n < g->n_jobs && status == CT_OK; ++*n) {
    CtSimtJob *job = &g->jobs[*n];
    size_t first = (size_t)(job->code - e->code);
    if (job->watch == NULL) {
      continue;
    }
    job->handlers = &e->watched[first];
    status = job->watch->ops->begin(job->watch, job, err);
    if (status != CT_OK) {
      break;
    }
    ct_simt_watch_code(job, &e->code[first], &e->watched[first]);
  }
  return status;
}

/* After the watchers: a warp stops before the watcher hears of what it will do. */
static CtStatus plan_code(CtSimtEngine *e, CtSimtGroup *g, CtErr *err) {
  const CtSimtJob *last = &g->jobs[g->n_jobs - 1];
  size_t n = (size_t)(last->code - e->code) + last->program->n_code;
  CtStatus status = CT_GROW(e->alloc, e->turns, e->cap_turns, n, err);
  for (int i = 0; i < g->n_jobs && status == CT_OK; i++) {
    CtSimtJob *job = &g->jobs[i];
    size_t first = (size_t)(job->code - e->code);
    job->turns = &e->turns[first];
    ct_simt_plan_code(job, &e->code[first], &e->turns[first]);
  }
  return status;
}

static void end_watches(const CtSimtGroup *g, int n) {
  for (int i = 0; i < n; i++) {
    CtSimtJob *job = &g->jobs[i];
    if (job->watch != NULL && job->watch->ops->end != NULL) {
      job->watch->ops->end(job->watch, job);
    }
  }
}

/* --- workers ------------------------------------------------------------------------------------------ */

static size_t round_up(size_t n) { return (n + CACHE_LINE - 1) / CACHE_LINE * CACHE_LINE; }

/* Bytes of warps, and of a worker. */
static size_t warps_bytes(const CtSimtProgram *p) {
  return ct_size_mul((size_t)p->n_warps, p->warp_bytes);
}
static size_t tma_bytes(const CtSimtProgram *p) {
  return p->n_tmas > 0 ? round_up((size_t)p->n_warps * sizeof(CtTmaOperands)) : 0;
}
static size_t worker_bytes(const CtSimtProgram *p) {
  return ct_size_add(warps_bytes(p),
                     round_up(p->block_bytes) + round_up(p->scratch_bytes) + tma_bytes(p));
}

static char *give_memory(const CtSimtJob *job, char *at) {
  const CtSimtProgram *p = job->program;
  for (int i = 0; i < job->n_workers; i++, at += worker_bytes(p)) {
    job->workers[i].warps = at;
    job->workers[i].shared = at + warps_bytes(p);
    job->workers[i].scratch = job->workers[i].shared + round_up(p->block_bytes);
    job->workers[i].tma =
        (CtTmaOperands *)(void *)(job->workers[i].scratch + round_up(p->scratch_bytes));
  }
  return at;
}

/* Launches of one rank use the same memory, one after the other. */
static CtStatus give_memories(CtSimtEngine *e, const CtSimtGroup *g, CtErr *err) {
  size_t need = CACHE_LINE, most = 0;
  for (int i = 0; i < g->n_jobs; i++) {
    const CtSimtJob *job = &g->jobs[i];
    size_t bytes = ct_size_mul(worker_bytes(job->program), (size_t)job->n_workers);
    most = bytes > most ? bytes : most;
    if (job->then == NULL) {
      need = ct_size_add(need, most);
      most = 0;
    }
  }
  if (need > e->mem_bytes) {
    ct_free(e->alloc, e->mem, e->mem_bytes);
    e->mem = need > PTRDIFF_MAX ? NULL : ct_alloc(e->alloc, need);
    e->mem_bytes = e->mem == NULL ? 0 : need;
    if (e->mem == NULL) {
      return ct_fail_nomem(err);
    }
  }
  char *at = e->mem + (CACHE_LINE - (uintptr_t)e->mem % CACHE_LINE) % CACHE_LINE, *end = at;
  for (int i = 0; i < g->n_jobs; i++) {
    char *to = give_memory(&g->jobs[i], at);
    end = to > end ? to : end;
    at = g->jobs[i].then == NULL ? end : at;
  }
  return CT_OK;
}

static void reset_worker(CtSimtJob *job, int i) {
  CtWorker *k = &job->workers[i];
  int team = job->program->n_cluster;
  k->job = job;
  k->team = &job->workers[i / team * team];
  k->rank = i % team;
  k->fail.kind = CT_FAIL_NONE;
  k->reported = INT64_MAX;
  k->printer = NULL;
  k->is_set_up = k->is_running = k->has_ended = false;
  /* the first of a team speaks, once its launch may begin */
  atomic_store(&k->stuck_at, i % team == 0 && job->first == job ? 0 : UINT64_MAX);
}

/* Gives each launch its teams: one for each thread, or for each cluster if all run at once. */
static CtStatus make_workers(CtSimtEngine *e, CtSimtGroup *g, int n_threads, CtErr *err) {
  size_t n_workers = 0, n_teams = 0;
  for (int i = 0; i < g->n_jobs; i++) {
    CtSimtJob *job = &g->jobs[i];
    int64_t at_once = g->plan != NULL ? g->plan->n_resident : n_threads;
    int64_t n = job->launch->is_cooperative ? job->n_clusters : ct_min(at_once, job->n_clusters);
    atomic_store(&job->n_left, (int)n);
    job->n_teams = (int)n;
    job->first_team = (int)n_teams;
    job->n_workers = (int)n * job->program->n_cluster;
    n_workers += (size_t)job->n_workers;
    n_teams += (size_t)n;
  }
  CtStatus status = CT_GROW(e->alloc, e->workers, e->cap_workers, n_workers, err);
  status = status == CT_OK ? CT_GROW(e->alloc, e->teams, e->cap_teams, n_teams, err) : status;
  CtWorker *at = e->workers;
  g->teams = e->teams;
  g->n_teams = 0;
  for (int i = 0; i < g->n_jobs && status == CT_OK; i++) {
    CtSimtJob *job = &g->jobs[i];
    job->workers = at;
    at += job->n_workers;
    for (int k = 0; k < job->n_workers; k++) {
      reset_worker(job, k);
    }
    for (int k = 0; k < job->n_workers; k += job->program->n_cluster) {
      g->teams[g->n_teams++] = &job->workers[k];
    }
    /* all of a cooperative launch begin at once */
    atomic_store(&job->next, job->launch->is_cooperative ? job->n_clusters : 0);
  }
  g->n_threads = (int)ct_min(n_threads, g->n_teams);
  return status == CT_OK ? give_memories(e, g, err) : status;
}

/* --- launching ---------------------------------------------------------------------------------------- */

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
  if (job->launch->is_cooperative && n > MAX_RESIDENT) {
    return ct_fail(
        err, CT_EINVAL,
        "%s: a cooperative grid of %lld blocks; the CPU engine keeps at most %d resident. "
        "Launch fewer blocks, and let each do several parts of the work",
        p->name, (long long)n, MAX_RESIDENT);
  }
  return CT_OK;
}

/* The first launch that failed, and in it the lowest block, speaks for all. */
static CtStatus outcome_of(const CtSimtJob *job, CtErr *err) {
  int64_t failed = atomic_load(&job->fail_block);
  for (int i = 0; i < job->n_workers; i++) {
    const CtWorker *k = &job->workers[i];
    if (k->reported == failed && failed != INT64_MAX) {
      if (err != NULL) {
        *err = k->report;
      }
      return k->report.status;
    }
  }
  return CT_OK;
}

static CtStatus outcome(const CtSimtGroup *g, CtErr *err) {
  CtStatus status = CT_OK;
  for (int i = 0; i < g->n_jobs && status == CT_OK; i++) {
    status = outcome_of(&g->jobs[i], err);
  }
  for (int i = 0; i < g->n_jobs && status == CT_OK; i++) {
    if (atomic_load(&g->jobs[i].interrupted)) {
      return ct_fail(err, CT_EINTERRUPTED, "%s: interrupted", g->jobs[i].program->name);
    }
  }
  return status;
}

/* --- one verdict ---------------------------------------------------------------------------------------- */

/* A watcher that judges a launch (CtWatchOps.one_order) must find the same each time, on any number of threads. If
   blocks meet, what they do depends on their order, so one thread runs them all. Other launches run on all
   threads. If that finds anything, it may depend on which of two blocks came first. So the launch runs once more
   from the same memory, on one thread, and only that counts. */

static bool is_judged(const CtSimtGroup *g) {
  bool found = false;
  for (int i = 0; i < g->n_jobs; i++) {
    const CtSimtWatch *watch = g->jobs[i].watch;
    found = found || (watch != NULL && watch->ops->one_order);
  }
  return found;
}

/* Keeps the memory of a judged launch that may run on several threads. False: it may not. */
static bool keep_memory(const CtSimtEngine *e, const CtSimtGroup *g, CtSimtKept *kept) {
  const CtSimtJob *job = &g->jobs[0];
  const CtSimtEntry entry = {job->program, job->launch, job->rank};
  bool may = g->plan == NULL && !ct_simt_is_together(g) && !job->program->meets && e->n_threads > 1;
  return may && ct_simt_keep(e->alloc, &entry, 1, kept, NULL) == CT_OK;
}

/* Binds the code, runs the launches on at most so many threads, and leaves their watchers open. */
static CtStatus run_on(CtSimtEngine *e, CtSimtGroup *g, int n_threads, int *n_watched, CtErr *err) {
  CtStatus status = bind_code(e, g, err);
  status = status == CT_OK ? make_workers(e, g, n_threads, err) : status;
  status = status == CT_OK ? begin_watches(e, g, n_watched, err) : status;
  status = status == CT_OK && g->plan != NULL ? plan_code(e, g, err) : status;
  if (status == CT_OK) {
    run_group(e, g);
  }
  return status;
}

static bool asks_again(const CtSimtGroup *g) {
  CtSimtJob *job = &g->jobs[0];
  return g->n_threads > 1 && !atomic_load(&job->interrupted) &&
         job->watch->ops->again(job->watch, job);
}

/* Once more, after the watcher has forgotten the first time. */
static CtStatus run_again(CtSimtEngine *e, CtSimtGroup *g, const CtSimtKept *kept, int *n_watched,
                          CtErr *err) {
  ct_simt_print_out(&g->jobs[0], -1);
  ct_simt_put_back(kept);
  atomic_store(&g->jobs[0].fail_block, INT64_MAX);
  atomic_store(&g->has_failed, false);
  *n_watched = 0;
  return run_on(e, g, 1, n_watched, err);
}

static CtStatus run_locked(CtSimtEngine *e, CtSimtGroup *g, CtErr *err) {
  CtSimtKept kept = {.alloc = e->alloc};
  bool judged = is_judged(g), is_kept = judged && keep_memory(e, g, &kept);
  int n_watched = 0;
  bool is_alone = g->plan != NULL || (judged && !is_kept);
  CtStatus status = run_on(e, g, is_alone ? 1 : e->n_threads, &n_watched, err);
  if (status == CT_OK && is_kept && asks_again(g)) {
    status = run_again(e, g, &kept, &n_watched, err);
  }
  if (judged) {
    ct_simt_drop(&kept);
  }
  end_watches(g, n_watched);
  for (int i = 0; i < g->n_jobs && status == CT_OK; i++) {
    ct_simt_print_out(&g->jobs[i], atomic_load(&g->jobs[i].fail_block));
  }
  return status == CT_OK ? outcome(g, err) : status;
}

/* How many rows of blocks are taken together (simt_order.c), 1 for the order of their numbers. MAX_BLOCKS: in a band.
   After a block fails, the work on later blocks of its band is wasted. */
static int64_t band_of(const CtSimtJob *job) {
  enum { BAND = 8, MAX_BLOCKS = 1 << 24 };
  const int64_t *grid = job->clusters;
  bool is_free = job->watch == NULL || job->watch->ops->any_order;
  bool has_bands = job->program->has_bands && is_free;
  return has_bands && grid[0] <= MAX_BLOCKS / BAND ? ct_min(BAND, grid[1]) : 1;
}

static CtStatus make_job(CtSimtEngine *e, CtSimtGroup *g, const CtSimtEntry *entry, CtErr *err) {
  CtSimtJob *job = &g->jobs[g->n_jobs];
  *job = (CtSimtJob){.group = g,
                     .number = g->n_jobs,
                     .rank = entry->rank,
                     .program = entry->program,
                     .launch = entry->launch,
                     .interrupt = entry->launch->interrupt,
                     .watch = entry->launch->watch,
                     .alloc = e->alloc,
                     .stride = 1,
                     .fail_block = INT64_MAX};
  CtStatus status = count_clusters(job, err);
  if (status != CT_OK || job->n_clusters == 0) {
    return status;
  }
  bool is_next = g->n_jobs > 0 && job->rank == job[-1].rank;
  job->first = is_next ? job[-1].first : job;
  job->first->n_of_rank++;
  if (is_next) {
    job[-1].then = job;
  }
  atomic_store(&job->first->current, job->first);
  job->band = band_of(job);
  pthread_mutex_init(&job->print_lock, NULL);
  g->n_jobs++;
  return CT_OK;
}

/* Runs the entries in the given memory of jobs. */
static CtStatus run_entries(CtSimtEngine *e, CtSimtJob *jobs, const CtSimtEntry *entries, size_t n,
                            CtSimtPlan *plan, CtErr *err) {
  CtSimtGroup g = {.jobs = jobs, .plan = plan};
  CtStatus status = CT_OK;
  for (size_t i = 0; i < n && status == CT_OK; i++) {
    status = make_job(e, &g, &entries[i], err);
  }
  if (ct_simt_is_of_parent(e)) {
    ct_simt_adopt(e);
  }
  if (status == CT_OK && g.n_jobs > 0) {
    pthread_mutex_lock(&e->launch);
    status = run_locked(e, &g, err);
    pthread_mutex_unlock(&e->launch);
  }
  for (int i = 0; i < g.n_jobs; i++) {
    pthread_mutex_destroy(&jobs[i].print_lock);
  }
  return status;
}

CtStatus ct_simt_run(CtSimtEngine *e, const CtSimtProgram *p, const CtSimtLaunch *launch,
                     CtErr *err) {
  const CtSimtEntry entry = {p, launch, -1};
  return ct_simt_run_planned(e, &entry, 1, NULL, err);
}

CtStatus ct_simt_run_joint(CtSimtEngine *e, const CtSimtEntry *entries, size_t n, CtErr *err) {
  return ct_simt_run_planned(e, entries, n, NULL, err);
}

CtStatus ct_simt_run_planned(CtSimtEngine *e, const CtSimtEntry *entries, size_t n,
                             CtSimtPlan *plan, CtErr *err) {
  for (size_t i = 0; i < n && n > 1; i++) {
    CT_ASSERT(entries[i].rank >= 0 && (i == 0 || entries[i].rank >= entries[i - 1].rank));
  }
  if (n > MAX_JOINT) {
    return ct_fail(err, CT_EINVAL,
                   "%zu launches of ranks at once; the CPU engine runs at most %d. Let the ranks "
                   "wait for each other in between, as with r:barrier()",
                   n, MAX_JOINT);
  }
  CtSimtJob one, *jobs = n <= 1 ? &one : ct_alloc(e->alloc, n * sizeof *jobs);
  if (jobs == NULL) {
    return ct_fail_nomem(err);
  }
  CtStatus status = run_entries(e, jobs, entries, n, plan, err);
  if (jobs != &one) {
    ct_free(e->alloc, jobs, n * sizeof *jobs);
  }
  return status;
}
