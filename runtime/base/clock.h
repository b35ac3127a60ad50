/* clock.h: the time that passes, for measuring: since some moment of the past, and never back. */
#ifndef CT_CLOCK_H
#define CT_CLOCK_H

#include <stdint.h>
#include <time.h>

static inline int64_t ct_now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static inline double ct_now_ms(void) { return (double)ct_now_ns() * 1e-6; }

#endif
