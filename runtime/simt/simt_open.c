/* simt_open.c: opens and closes the CPU engine: a pool of threads, and memory that launches leave for the next ones. */
#include "simt_pool.h"

#include <sched.h>
#include <signal.h>
#include <unistd.h>

#include "runtime/simt/lower/simt_lower.h"

enum { MAX_THREADS = 1024 };

static void *thread_main(void *ud) {
  const CtSimtThread *t = ud;
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
    ct_simt_work(e->group, t->index);
    pthread_mutex_lock(&e->lock);
    if (--e->n_busy == 0) {
      pthread_cond_signal(&e->done);
    }
  }
  pthread_mutex_unlock(&e->lock);
  return NULL;
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
  e->forks = ct_fork_count();
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &old);
  for (e->n_threads = 1; e->n_threads < e->max_threads; e->n_threads++) {
    CtSimtThread *t = &e->threads[e->n_threads];
    *t = (CtSimtThread){.engine = e, .index = e->n_threads};
    if (pthread_create(&t->id, NULL, thread_main, t) != 0) {
      break;
    }
  }
  pthread_sigmask(SIG_SETMASK, &old, NULL);
}

static void make_locks(CtSimtEngine *e) {
  pthread_mutex_init(&e->launch, NULL);
  pthread_mutex_init(&e->lock, NULL);
  pthread_cond_init(&e->wake, NULL);
  pthread_cond_init(&e->done, NULL);
}

void ct_simt_adopt(CtSimtEngine *e) {
  e->round = 0; /* so that the new threads wait for the next one */
  e->n_busy = 0;
  make_locks(e);
  start_threads(e);
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
  make_locks(e);
  start_threads(e);
  *out = e;
  return CT_OK;
}

static void end_threads(CtSimtEngine *e) {
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
}

void ct_simt_close(CtSimtEngine *e) {
  if (e == NULL) {
    return;
  }
  CtAlloc alloc = e->alloc;
  if (!ct_simt_is_of_parent(e)) { /* else nobody is there to wait for */
    end_threads(e);
  }
  ct_free(alloc, e->code, e->cap_code * sizeof *e->code);
  ct_free(alloc, e->watched, e->cap_watched * sizeof *e->watched);
  ct_free(alloc, e->turns, e->cap_turns * sizeof *e->turns);
  ct_free(alloc, e->mem, e->mem_bytes);
  ct_free(alloc, e->threads, (size_t)e->max_threads * sizeof *e->threads);
  ct_free(alloc, e->workers, e->cap_workers * sizeof *e->workers);
  ct_free(alloc, (void *)e->teams, e->cap_teams * sizeof *e->teams);
  ct_free(alloc, e, sizeof *e);
}

int ct_simt_threads(const CtSimtEngine *e) { return e->n_threads; }
const char *ct_simt_isa(const CtSimtEngine *e) { return e->isa; }

CtStatus ct_simt_lower(CtAlloc alloc, const CtIr *ir, CtSimtProgram **out, CtErr *err) {
  return ct_low_program(alloc, ir, out, err);
}
