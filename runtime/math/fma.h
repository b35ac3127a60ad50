/* fma.h: a b + c of doubles with one rounding, on each machine and with each C library. */
#ifndef CT_FMA_H
#define CT_FMA_H

#if defined(__FMA__) || defined(__AVX512F__) || defined(__aarch64__)
static inline double ct_fma(double a, double b, double c) { return __builtin_fma(a, b, c); }
#else
/* Where a product that is too small for a double meets 0, musl's fma has the wrong sign of 0. */
static inline double ct_fma(double a, double b, double c) {
  return c == 0 && a != 0 && b != 0 ? a * b : __builtin_fma(a, b, c);
}
#endif

#endif
