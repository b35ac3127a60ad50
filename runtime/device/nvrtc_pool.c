/* nvrtc_pool.c: threads that take jobs one after the other; see nvrtc_pool.h. */
#include "nvrtc_pool.h"

#include <pthread.h>
#include <time.h>
#include <unistd.h>

enum { MOST_THREADS = 32, POLL_MS = 10, STACK_BYTES = 16 << 20 };

typedef struct Pool {
  const CtNvrtcJob *jobs;
  size_t n;
  const CtCache *cache;
  size_t next, n_done; /* by __atomic operations */
} Pool;

static void build(const CtNvrtcJob *given, const CtCache *cache) {
  CtNvrtcJob job = *given;
  CtNvrtcOutput out;
  CtErr err;
  job.alloc = ct_alloc_std;
  if (ct_nvrtc_build(&job, cache, &out, &err) == CT_OK) {
    ct_nvrtc_output_clear(&out);
  }
}

static void *thread_main(void *ud) {
  Pool *p = ud;
  for (;;) {
    size_t i = __atomic_fetch_add(&p->next, 1, __ATOMIC_ACQ_REL);
    if (i >= p->n) {
      return NULL;
    }
    build(&p->jobs[i], p->cache);
    __atomic_fetch_add(&p->n_done, 1, __ATOMIC_ACQ_REL);
  }
}

static int count_threads(size_t n_jobs) {
  long n = sysconf(_SC_NPROCESSORS_ONLN);
  n = n < 1 ? 1 : n > MOST_THREADS ? MOST_THREADS : n;
  return (size_t)n < n_jobs ? (int)n : (int)n_jobs;
}

/* How many threads could be started. */
static int start(Pool *p, pthread_t threads[MOST_THREADS]) {
  pthread_attr_t attr;
  int n = 0, wanted = count_threads(p->n);
  if (pthread_attr_init(&attr) != 0) {
    return 0;
  }
  (void)pthread_attr_setstacksize(&attr, STACK_BYTES);
  while (n < wanted && pthread_create(&threads[n], &attr, thread_main, p) == 0) {
    n++;
  }
  (void)pthread_attr_destroy(&attr);
  return n;
}

/* Until all jobs are done, or those that have begun if the caller wants no more. */
static void wait_for(Pool *p, CtNvrtcPoll *poll, void *ud) {
  const struct timespec step = {.tv_nsec = POLL_MS * 1000000L};
  size_t n_done;
  while ((n_done = __atomic_load_n(&p->n_done, __ATOMIC_ACQUIRE)) < p->n) {
    if (!poll(ud, n_done)) {
      __atomic_store_n(&p->next, p->n, __ATOMIC_RELEASE);
      return;
    }
    (void)nanosleep(&step, NULL);
  }
}

size_t ct_nvrtc_build_all(const CtNvrtcJob *jobs, size_t n, const CtCache *cache, CtNvrtcPoll *poll,
                          void *ud) {
  pthread_t threads[MOST_THREADS];
  Pool p = {.jobs = jobs, .n = n, .cache = cache};
  int major, minor;
  /* The library is loaded here, before threads ask for it. */
  if (n == 0 || ct_nvrtc_version(&major, &minor, NULL) != CT_OK) {
    return 0;
  }
  int n_threads = start(&p, threads);
  if (n_threads > 0) {
    wait_for(&p, poll, ud);
  }
  for (int i = 0; i < n_threads; i++) {
    (void)pthread_join(threads[i], NULL);
  }
  return p.n_done;
}
