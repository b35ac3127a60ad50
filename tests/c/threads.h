/* threads.h: whether this machine has threads: WebAssembly has one only. */
#ifndef TEST_THREADS_H
#define TEST_THREADS_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

static void *do_nothing(void *arg) { return arg; }

static inline bool has_threads(void) {
  pthread_t thread;
  return pthread_create(&thread, NULL, do_nothing, NULL) == 0 && pthread_join(thread, NULL) == 0;
}

#endif
