/* ask.c: see ask.h. The ticker is the thread that puts up the flags of owners at work. It exists while there are
   owners, and sleeps while none of them has worked for a while. */
#include "ask.h"

#include <pthread.h>
#include <signal.h>
#include <time.h>

#include "base.h"

enum { TICK_NS = 50 * 1000 * 1000, SECOND_NS = 1000 * 1000 * 1000, IDLE_TICKS = 40 };

static _Thread_local CtAsk *current; /* of the innermost work of this thread */

/* `life` is held while the ticker is started or ended, `lock` while anything below is looked at. */
static pthread_mutex_t life = PTHREAD_MUTEX_INITIALIZER, lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t wake = PTHREAD_COND_INITIALIZER;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_t thread;
static CtAsk *first;
static bool runs, quits;
static atomic_bool is_deaf = true; /* there is no ticker, or it sleeps */

/* {====== The ticker ====== */

static bool anyone_works(void) {
  bool any = false;
  for (CtAsk *a = first; a != NULL; a = a->next) {
    any = any || atomic_load(&a->is_busy);
  }
  return any;
}

static void put_up_flags(void) {
  for (CtAsk *a = first; a != NULL; a = a->next) {
    int none = 0;
    if (atomic_load(&a->is_busy)) {
      (void)__atomic_compare_exchange_n(a->flag, &none, CT_FLAG_ASK, false, __ATOMIC_RELAXED,
                                        __ATOMIC_RELAXED);
    }
  }
}

static void wait_a_tick(void) {
  struct timespec until;
  clock_gettime(CLOCK_REALTIME, &until);
  until.tv_nsec += TICK_NS;
  until.tv_sec += until.tv_nsec / SECOND_NS;
  until.tv_nsec %= SECOND_NS;
  (void)pthread_cond_timedwait(&wake, &lock, &until);
}

/* Whoever begins work sees is_deaf, or is seen here. */
static void sleep_until_work(void) {
  atomic_store(&is_deaf, true);
  while (!quits && !anyone_works()) {
    (void)pthread_cond_wait(&wake, &lock);
  }
  atomic_store(&is_deaf, false);
}

static void *tick(void *none) {
  int idle = 0;
  pthread_mutex_lock(&lock);
  while (!quits) {
    wait_a_tick();
    put_up_flags();
    idle = anyone_works() ? 0 : idle + 1;
    if (idle == IDLE_TICKS) {
      sleep_until_work();
      idle = 0;
    }
  }
  pthread_mutex_unlock(&lock);
  return none;
}

/* {====== Starting and ending it, under `life` ====== */

/* Without a ticker nobody is asked. It takes no signals: the host's threads do. */
static void start(void) {
  sigset_t all, old;
  sigfillset(&all);
  quits = false;
  pthread_sigmask(SIG_SETMASK, &all, &old);
  runs = pthread_create(&thread, NULL, tick, NULL) == 0;
  pthread_sigmask(SIG_SETMASK, &old, NULL);
  atomic_store(&is_deaf, !runs);
}

static void end(void) {
  pthread_mutex_lock(&lock);
  quits = true;
  pthread_cond_signal(&wake);
  pthread_mutex_unlock(&lock);
  (void)pthread_join(thread, NULL);
  runs = false;
  atomic_store(&is_deaf, true);
}

static void rouse(void) {
  pthread_mutex_lock(&life);
  if (!runs) {
    start();
  }
  pthread_mutex_lock(&lock);
  pthread_cond_signal(&wake);
  pthread_mutex_unlock(&lock);
  pthread_mutex_unlock(&life);
}

/* {====== Forks: the child has no ticker ====== */

static void before_fork(void) {
  pthread_mutex_lock(&life);
  pthread_mutex_lock(&lock);
}

static void after_fork(void) {
  pthread_mutex_unlock(&lock);
  pthread_mutex_unlock(&life);
}

static void after_fork_in_child(void) {
  pthread_cond_init(&wake, NULL); /* the ticker waited for the old one */
  runs = false;
  atomic_store(&is_deaf, true);
  after_fork();
}

static void watch_forks(void) {
  (void)pthread_atfork(before_fork, after_fork, after_fork_in_child);
}

/* {====== Owners ====== */

void ct_ask_open(CtAsk *a) {
  (void)pthread_once(&once, watch_forks);
  pthread_mutex_lock(&lock);
  a->next = first;
  first = a;
  pthread_mutex_unlock(&lock);
}

static bool remove_owner(const CtAsk *a) {
  pthread_mutex_lock(&lock);
  CtAsk **p = &first;
  while (*p != a) {
    p = &(*p)->next;
  }
  *p = a->next;
  bool is_last = first == NULL;
  pthread_mutex_unlock(&lock);
  return is_last;
}

void ct_ask_close(CtAsk *a) {
  pthread_mutex_lock(&life);
  if (remove_owner(a) && runs) {
    end();
  }
  pthread_mutex_unlock(&life);
}

void ct_ask_begin(CtAsk *a) {
  a->outer = current;
  current = a;
  atomic_store(&a->is_busy, true);
  if (atomic_load(&is_deaf)) {
    rouse();
  }
}

/* Puts the flag down if it still asks; else it stays as it is. */
static void settle(const CtAsk *a, int to) {
  int asks = CT_FLAG_ASK;
  (void)__atomic_compare_exchange_n(a->flag, &asks, to, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
}

void ct_ask_end(CtAsk *a) {
  atomic_store(&a->is_busy, false);
  current = a->outer;
  settle(a, 0);
}

bool ct_flag_answer(const volatile int *flag) {
  CtAsk *a = current;
  if (a == NULL || a->flag != flag || a->is_asking) {
    return false;
  }
  a->is_asking = true;
  bool stops = a->stops(a->ud);
  a->is_asking = false;
  settle(a, stops ? CT_FLAG_STOP : 0);
  return ct_flag_value(flag) == CT_FLAG_STOP;
}
