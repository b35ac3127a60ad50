/* simt_vec.h: vectors of the instruction set that the including file is compiled for: CtVec_f32,
   CtVec_i32 and CtVec_f64 of CT_VEC_BYTES bytes, loads and stores at any address, splats, fused multiply-add. */
#ifndef CT_SIMT_VEC_H
#define CT_SIMT_VEC_H

#include "simt_scalar.h"

#if defined(CT_SIMT_AVX512) || defined(CT_SIMT_AVX2)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

#if defined(CT_SIMT_AVX512)
#define CT_VEC_BYTES 64
#elif defined(CT_SIMT_AVX2)
#define CT_VEC_BYTES 32
#else
#define CT_VEC_BYTES 16
#endif

typedef float CtVec_f32 __attribute__((vector_size(CT_VEC_BYTES)));
typedef double CtVec_f64 __attribute__((vector_size(CT_VEC_BYTES)));
typedef float CtVecAny_f32 __attribute__((vector_size(CT_VEC_BYTES), aligned(1), may_alias));
typedef double CtVecAny_f64 __attribute__((vector_size(CT_VEC_BYTES), aligned(1), may_alias));

/* Keeps a value in a register, just as it is: else compilers read it from memory again for each use. */
#if defined(CT_SIMT_AVX512)
#define CT_VEC_PIN(v) __asm__("" : "+v"(v))
#elif defined(__x86_64__)
#define CT_VEC_PIN(v) __asm__("" : "+x"(v))
#elif defined(__aarch64__)
#define CT_VEC_PIN(v) __asm__("" : "+w"(v))
#else
#define CT_VEC_PIN(v) ((void)0)
#endif

typedef int32_t CtVec_i32 __attribute__((vector_size(CT_VEC_BYTES)));
typedef uint32_t CtVec_u32 __attribute__((vector_size(CT_VEC_BYTES)));
typedef int32_t CtVecAny_i32 __attribute__((vector_size(CT_VEC_BYTES), aligned(1), may_alias));

static inline CtVec_i32 ct_vec_load_i32(const void *p) { return *(const CtVecAny_i32 *)p; }
static inline void ct_vec_store_i32(void *p, CtVec_i32 v) { *(CtVecAny_i32 *)p = v; }
static inline CtVec_i32 ct_vec_splat_i32(int32_t x) { return (CtVec_i32){0} + x; }
/* Integers wrap around. */
static inline CtVec_i32 ct_vec_fma_i32(CtVec_i32 a, CtVec_i32 b, CtVec_i32 c) {
  return (CtVec_i32)((CtVec_u32)a * (CtVec_u32)b + (CtVec_u32)c);
}

static inline CtVec_f32 ct_vec_load_f32(const void *p) { return *(const CtVecAny_f32 *)p; }
static inline CtVec_f64 ct_vec_load_f64(const void *p) { return *(const CtVecAny_f64 *)p; }
static inline void ct_vec_store_f32(void *p, CtVec_f32 v) { *(CtVecAny_f32 *)p = v; }
static inline void ct_vec_store_f64(void *p, CtVec_f64 v) { *(CtVecAny_f64 *)p = v; }

#if defined(CT_SIMT_AVX512)

static inline CtVec_f32 ct_vec_splat_f32(float x) { return _mm512_set1_ps(x); }
static inline CtVec_f64 ct_vec_splat_f64(double x) { return _mm512_set1_pd(x); }
static inline CtVec_f32 ct_vec_fma_f32(CtVec_f32 a, CtVec_f32 b, CtVec_f32 c) {
  return _mm512_fmadd_ps(a, b, c);
}
static inline CtVec_f64 ct_vec_fma_f64(CtVec_f64 a, CtVec_f64 b, CtVec_f64 c) {
  return _mm512_fmadd_pd(a, b, c);
}

#elif defined(CT_SIMT_AVX2)

static inline CtVec_f32 ct_vec_splat_f32(float x) { return _mm256_set1_ps(x); }
static inline CtVec_f64 ct_vec_splat_f64(double x) { return _mm256_set1_pd(x); }
static inline CtVec_f32 ct_vec_fma_f32(CtVec_f32 a, CtVec_f32 b, CtVec_f32 c) {
  return _mm256_fmadd_ps(a, b, c);
}
static inline CtVec_f64 ct_vec_fma_f64(CtVec_f64 a, CtVec_f64 b, CtVec_f64 c) {
  return _mm256_fmadd_pd(a, b, c);
}

#else

static inline CtVec_f32 ct_vec_splat_f32(float x) { return (CtVec_f32){x, x, x, x}; }
static inline CtVec_f64 ct_vec_splat_f64(double x) { return (CtVec_f64){x, x}; }

#if defined(__aarch64__)
static inline CtVec_f32 ct_vec_fma_f32(CtVec_f32 a, CtVec_f32 b, CtVec_f32 c) {
  return (CtVec_f32)vfmaq_f32((float32x4_t)c, (float32x4_t)a, (float32x4_t)b);
}
static inline CtVec_f64 ct_vec_fma_f64(CtVec_f64 a, CtVec_f64 b, CtVec_f64 c) {
  return (CtVec_f64)vfmaq_f64((float64x2_t)c, (float64x2_t)a, (float64x2_t)b);
}
#else
/* FMA_f32 on lanes: two halves in double, the sum rounded to odd. The result is pinned since gcc 12
   takes a pair of (double)(float)x for x, so that a sum of products would never be rounded. */
typedef int64_t CtBits __attribute__((vector_size(16)));
static inline CtVec_f64 ct_vec_fma_odd(CtVec_f64 a, CtVec_f64 b, CtVec_f64 d) {
  CtVec_f64 p = a * b;
  CtVec_f64 s = p + d;
  CtVec_f64 t = s - p;
  CtVec_f64 lost = (p - (s - t)) + (d - t);
  CtBits bits = (CtBits)s, more = lost > 0, less = lost<0, positive = s> 0;
  CtBits fix = (more | less) & ((bits & 1) - 1);
  CtBits away = (more ^ positive) | 1; /* 1 where lost and s have one sign, else -1 */
  return (CtVec_f64)(bits + (away & fix));
}
static inline CtVec_f64 ct_vec_pair(float x, float y) { return (CtVec_f64){(double)x, (double)y}; }
static inline CtVec_f32 ct_vec_fma_f32(CtVec_f32 a, CtVec_f32 b, CtVec_f32 c) {
  CtVec_f64 lo =
      ct_vec_fma_odd(ct_vec_pair(a[0], a[1]), ct_vec_pair(b[0], b[1]), ct_vec_pair(c[0], c[1]));
  CtVec_f64 hi =
      ct_vec_fma_odd(ct_vec_pair(a[2], a[3]), ct_vec_pair(b[2], b[3]), ct_vec_pair(c[2], c[3]));
  CtVec_f32 r = {(float)lo[0], (float)lo[1], (float)hi[0], (float)hi[1]};
  CT_VEC_PIN(r);
  return r;
}
static inline CtVec_f64 ct_vec_fma_f64(CtVec_f64 a, CtVec_f64 b, CtVec_f64 c) {
  return (CtVec_f64){FMA_f64(a[0], b[0], c[0]), FMA_f64(a[1], b[1], c[1])};
}
#endif

#endif

#endif
