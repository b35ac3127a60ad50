/* fork.c: see fork.h. */
#include "fork.h"

#include <pthread.h>
#include <stdatomic.h>

static atomic_uint count;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void count_one(void) { atomic_fetch_add(&count, 1); }
static void watch_forks(void) { (void)pthread_atfork(NULL, NULL, count_one); }

unsigned ct_fork_count(void) {
  (void)pthread_once(&once, watch_forks);
  return atomic_load_explicit(&count, memory_order_relaxed);
}
