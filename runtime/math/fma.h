/* fma.h: a b + c of doubles, and of floats, with one rounding, on each machine and with each C library. */
#ifndef CT_FMA_H
#define CT_FMA_H

#include <stdbool.h>
#include <stdint.h>

/* The sum of p and d rounded to odd: a rounding to fewer bits is then the only one with an effect. Of
   the two differences that give what the sum lost, each has its sign or is 0, and one is not 0. */
static inline double ct_odd_sum(double p, double d) {
  union {
    double f;
    int64_t i;
  } s = {.f = p + d};
  double lost = (d - (s.f - p)) + (p - (s.f - d));
  bool fix = (lost < 0 || lost > 0) && (s.i & 1) == 0;
  int64_t away = (lost > 0) == (s.f > 0) ? 1 : -1;
  s.i += fix ? away : 0;
  return s.f;
}

#if defined(__FMA__) || defined(__AVX512F__) || defined(__aarch64__)
static inline double ct_fma(double a, double b, double c) { return __builtin_fma(a, b, c); }
static inline float ct_fma_f32(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
#else
/* Where a product that is too small for a double meets 0, musl's fma has the wrong sign of 0. */
static inline double ct_fma(double a, double b, double c) {
  return c == 0 && a != 0 && b != 0 ? a * b : __builtin_fma(a, b, c);
}
/* The product is exact in double. musl's fmaf rounds twice where the rounding mode cannot be set. */
static inline float ct_fma_f32(float a, float b, float c) {
  return (float)ct_odd_sum((double)a * (double)b, (double)c);
}
#endif

#endif
