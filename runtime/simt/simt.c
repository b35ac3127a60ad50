/* simt.c: the CPU engine: a pool of threads that run the blocks of a launch (simt_team.c). The handlers
   are in the files of CT_SIMT_PARTS, programs come from simt_lower.c. */
#include "runtime/simt/simt.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "runtime/simt/lower/simt_lower.h"
#include "runtime/simt/run/simt_engine.h"
#include "runtime/simt/run/simt_watch.h"

enum { CACHE_LINE = 64, MAX_THREADS = 1024 };
enum { MAX_RESIDENT = 1 << 14 }; /* blocks of a cooperative launch; no GPU has as many at once */

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
    ct_simt_work(&e->workers[(size_t)t->index * (size_t)e->team]);
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
  ct_simt_work(&e->workers[0]);
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

/* --- opening and closing ------------------------------------------------------------------------------ */

CtStatus ct_simt_open(CtAlloc alloc, int n_threads, const char *isa, CtSimtEngine **out,
                      CtErr *err) {
  CtSimtEngine made = {.alloc = alloc};
  CtStatus status = ct_simt_choose_isa(isa, &made.isa, made.handlers, err);
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
  *e = made;
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

CtStatus ct_simt_lower(CtAlloc alloc, const CtIr *ir, CtSimtProgram **out, CtErr *err) {
  return ct_low_program(alloc, ir, out, err);
}

/* --- launching ---------------------------------------------------------------------------------------- */

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
    ct_simt_watch_code(job, e->code, e->watched);
  }
  return status;
}

static CtStatus bind_code(CtSimtEngine *e, const CtSimtProgram *p, bool is_watched, CtErr *err) {
  CtStatus status = ct_grow(e->alloc, &e->code, &e->cap_code, p->n_code, sizeof *e->code, err);
  if (status != CT_OK) {
    return status;
  }
  for (uint32_t i = 0; i < p->n_code; i++) {
    CtIn in = is_watched ? ct_simt_watched_form(p->code[i]) : p->code[i];
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
  int n = (job->launch->is_cooperative ? (int)job->n_clusters : n_threads) * team;
  CtSimtWatch *watch = job->launch->watch;
  CtStatus status = bind_code(e, job->program, watch != NULL, err);
  status = status == CT_OK ? give_memory(e, job->program, n, err) : status;
  if (status != CT_OK) {
    return status;
  }
  job->code = e->code;
  job->workers = e->workers;
  job->n_workers = n;
  job->n_threads = n_threads;
  atomic_store(&job->next,
               job->launch->is_cooperative ? job->n_clusters : 0); /* all begin at once */
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
  if (launch->is_cooperative && job.n_blocks > MAX_RESIDENT) {
    return ct_fail(
        err, CT_EINVAL,
        "%s: a cooperative grid of %lld blocks; the CPU engine keeps at most %d resident. "
        "Launch fewer blocks, and let each take several parts of the work",
        p->name, (long long)job.n_blocks, MAX_RESIDENT);
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
