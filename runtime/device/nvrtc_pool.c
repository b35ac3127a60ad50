/* nvrtc_pool.c: processes that take jobs one after the other; see nvrtc_pool.h. NVRTC compiles one text at a time
   in a process, as it holds a lock. So threads do it only where no process can be made, and in programs of others:
   a child has what their threads hold locked. A child calls NVRTC and the cache, and no driver. */
#include "nvrtc_pool.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { MOST_WORKERS = 32, POLL_MS = 10, STACK_BYTES = 16 << 20 };

typedef struct Pool {
  const CtNvrtcJob *jobs;
  size_t n;
  const CtCache *cache;
  size_t next, n_done; /* by __atomic operations */
  pid_t parent;
  pid_t children[MOST_WORKERS]; /* 0: it has ended */
  int n_children;
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

static bool is_same(const CtNvrtcJob *a, const CtNvrtcJob *b) {
  bool same = strcmp(a->source, b->source) == 0 && strcmp(a->name, b->name) == 0 &&
              strcmp(a->arch, b->arch) == 0 && a->n_options == b->n_options &&
              a->no_lines == b->no_lines && a->ptx == b->ptx;
  for (int i = 0; same && i < a->n_options; i++) {
    same = strcmp(a->options[i], b->options[i]) == 0;
  }
  return same;
}

/* Does an earlier job give the same image? */
static bool is_again(const CtNvrtcJob *jobs, size_t i) {
  bool again = false;
  for (size_t k = 0; k < i && !again; k++) {
    again = is_same(&jobs[k], &jobs[i]);
  }
  return again;
}

/* A child whose parent is gone takes no more. */
static void work(Pool *p, bool is_child) {
  while (!is_child || getppid() == p->parent) {
    size_t i = __atomic_fetch_add(&p->next, 1, __ATOMIC_ACQ_REL);
    if (i >= p->n) {
      return;
    }
    if (!is_again(p->jobs, i)) {
      build(&p->jobs[i], p->cache);
    }
    __atomic_fetch_add(&p->n_done, 1, __ATOMIC_ACQ_REL);
  }
}

static void *thread_main(void *ud) {
  work(ud, false);
  return NULL;
}

static int count_workers(size_t n_jobs) {
  long n = sysconf(_SC_NPROCESSORS_ONLN);
  n = n < 1 ? 1 : n > MOST_WORKERS ? MOST_WORKERS : n;
  return (size_t)n < n_jobs ? (int)n : (int)n_jobs;
}

/* How many threads could be started. */
static int start(Pool *p, pthread_t threads[MOST_WORKERS]) {
  pthread_attr_t attr;
  int n = 0, wanted = count_workers(p->n);
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

/* How many processes could be started. */
static int start_children(Pool *p) {
  int wanted = count_workers(p->n);
  pid_t child = 0;
  p->parent = getpid();
  while (wanted > 1 && p->n_children < wanted && (child = fork()) > 0) {
    p->children[p->n_children++] = child;
  }
  if (wanted > 1 && child == 0) {
    work(p, true);
    _exit(0);
  }
  return p->n_children;
}

/* Waits for children: for those that have ended, or for all. How many are left. */
static int reap(Pool *p, bool for_all) {
  int n_left = 0;
  for (int i = 0; i < p->n_children; i++) {
    pid_t child = p->children[i], ended = child;
    while (child != 0 && (ended = waitpid(child, NULL, for_all ? 0 : WNOHANG)) < 0 &&
           errno == EINTR) {}
    p->children[i] = ended == 0 ? child : 0;
    n_left += p->children[i] != 0;
  }
  return n_left;
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
    if (p->n_children > 0 && reap(p, false) == 0) { /* one was killed */
      return;
    }
    (void)nanosleep(&step, NULL);
  }
}

static void run_threads(Pool *p, CtNvrtcPoll *poll, void *ud) {
  pthread_t threads[MOST_WORKERS];
  int n = start(p, threads);
  if (n > 0) {
    wait_for(p, poll, ud);
  }
  for (int i = 0; i < n; i++) {
    (void)pthread_join(threads[i], NULL);
  }
}

/* False: none could be started. */
static bool run_children(Pool *p, CtNvrtcPoll *poll, void *ud) {
  if (start_children(p) == 0) {
    return false;
  }
  wait_for(p, poll, ud);
  (void)reap(p, true);
  return true;
}

/* Memory that children share; NULL: there is none. */
static Pool *new_shared(void) {
  int zero = open("/dev/zero", O_RDWR | O_CLOEXEC);
  void *at =
      zero < 0 ? MAP_FAILED : mmap(NULL, sizeof(Pool), PROT_READ | PROT_WRITE, MAP_SHARED, zero, 0);
  if (zero >= 0) {
    (void)close(zero);
  }
  return at == MAP_FAILED ? NULL : at;
}

size_t ct_nvrtc_build_all(const CtNvrtcJob *jobs, size_t n, const CtCache *cache, bool may_fork,
                          CtNvrtcPoll *poll, void *ud) {
  int major, minor;
  /* The library is loaded here, before children and threads ask for it. */
  if (n == 0 || ct_nvrtc_version(&major, &minor, NULL) != CT_OK) {
    return 0;
  }
  Pool own, *shared = may_fork ? new_shared() : NULL, *p = shared != NULL ? shared : &own;
  *p = (Pool){.jobs = jobs, .n = n, .cache = cache};
  if (shared == NULL || !run_children(p, poll, ud)) {
    run_threads(p, poll, ud);
  }
  size_t n_done = p->n_done;
  if (shared != NULL) {
    (void)munmap(shared, sizeof *shared);
  }
  return n_done;
}
