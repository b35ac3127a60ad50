/* math.h: functions of floats that both engines compute by the same text, and so with the same bits.

   math_f32.def and math_f64.def hold the text. Here it is C; the emitter writes it as CUDA C
   (emit_prelude.def). It uses only what IEEE 754 defines to the last bit, under the names that CUDA
   has for it. C must be compiled without contraction. */
#ifndef CT_MATH_H
#define CT_MATH_H

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "fma.h"

/* NOLINTBEGIN(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp): CUDA's names */
static inline int __float_as_int(float x) {
  int bits;
  memcpy(&bits, &x, sizeof bits);
  return bits;
}
static inline float __int_as_float(int bits) {
  float x;
  memcpy(&x, &bits, sizeof x);
  return x;
}
static inline long long __double_as_longlong(double x) {
  long long bits;
  memcpy(&bits, &x, sizeof bits);
  return bits;
}
static inline double __longlong_as_double(long long bits) {
  double x;
  memcpy(&x, &bits, sizeof x);
  return x;
}
static inline float __fmul_rn(float x, float y) { return x * y; }
static inline double __dmul_rn(double x, double y) { return x * y; }
/* Rounded correctly: the quotient's error in double is far smaller than its distance from the middle
   of two floats. */
static inline float __frsqrt_rn(float x) { return (float)(1.0 / sqrt((double)x)); }
static inline unsigned long long __umul64hi(unsigned long long x, unsigned long long y) {
  const unsigned long long x0 = (unsigned)x, x1 = x >> 32, y0 = (unsigned)y, y1 = y >> 32;
  const unsigned long long low = x0 * y1 + (x0 * y0 >> 32);
  const unsigned long long mid = x1 * y0 + (low & 0xffffffffu);
  return x1 * y1 + (low >> 32) + (mid >> 32);
}
/* NOLINTEND(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp) */

/* Of plain numbers, for operations that CUDA has no such function for. */
static inline double ct_rcp_f64(double x) { return 1.0 / x; }
static inline double ct_div_f64(double x, double y) { return x / y; }

/* Always inline, so that the loops over lanes of the CPU engine vectorise. */
#define CT_FN(T, name, parameters, ...)                                                            \
  static inline __attribute__((always_inline)) T name parameters __VA_ARGS__
#define fma(x, y, z) ct_fma(x, y, z)
#define fmaf(x, y, z) ct_fma_f32(x, y, z)
#include "runtime/math/math_f32.def"
#include "runtime/math/math_f64.def"
#undef fma
#undef fmaf
#undef CT_FN

#endif
