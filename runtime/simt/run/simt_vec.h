/* simt_vec.h: vectors of the instruction set that the including file is compiled for: CtVec_f32,
   CtVec_i32 and CtVec_f64 of CT_VEC_BYTES bytes, loads and stores at any address, splats, fused
   multiply-add, and casts of f16 if the set has instructions for them. */
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
#define CT_MM(name) _mm512_##name
#elif defined(CT_SIMT_AVX2)
#define CT_VEC_BYTES 32
#define CT_MM(name) _mm256_##name
#else
#define CT_VEC_BYTES 16
#endif

typedef float CtVec_f32 __attribute__((vector_size(CT_VEC_BYTES)));
typedef double CtVec_f64 __attribute__((vector_size(CT_VEC_BYTES)));
typedef float CtVecAny_f32 __attribute__((vector_size(CT_VEC_BYTES), aligned(1), may_alias));
typedef double CtVecAny_f64 __attribute__((vector_size(CT_VEC_BYTES), aligned(1), may_alias));

/* Keeps a value in a register, unchanged: otherwise compilers read it from memory again for each
   use. */
#if defined(CT_SIMT_AVX512)
#define CT_VEC_PIN(v) __asm__("" : "+v"(v))
#elif defined(__x86_64__)
#define CT_VEC_PIN(v) __asm__("" : "+x"(v))
#elif defined(__aarch64__)
#define CT_VEC_PIN(v) __asm__("" : "+w"(v))
#elif defined(__wasm_simd128__)
#define CT_VEC_PIN(v) __asm__("" : "+r"(v))
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

#if defined(CT_MM)

static inline CtVec_f32 ct_vec_splat_f32(float x) { return CT_MM(set1_ps)(x); }
static inline CtVec_f64 ct_vec_splat_f64(double x) { return CT_MM(set1_pd)(x); }
static inline CtVec_f32 ct_vec_fma_f32(CtVec_f32 a, CtVec_f32 b, CtVec_f32 c) {
  return CT_MM(fmadd_ps)(a, b, c);
}
static inline CtVec_f64 ct_vec_fma_f64(CtVec_f64 a, CtVec_f64 b, CtVec_f64 c) {
  return CT_MM(fmadd_pd)(a, b, c);
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
#define CT_VEC_SOFT_FMA 1
#include "simt_fma.h"
#endif

#endif

#ifndef CT_VEC_SOFT_FMA
#define CT_VEC_SOFT_FMA 0
#endif

/* --- f16 --------------------------------------------------------------------------------------------- */

/* One vector of f32s and as many f16s, in halves of memory or as bits in lanes of 4 bytes. The
   results are those of CAST_f32_f16 and CAST_f16_f32. Only NaNs need more than the instruction. */
#if defined(CT_SIMT_AVX512)
#define CT_VEC_HAS_F16 1

static inline CtVec_f32 ct_vec_of_halves(__m256i h) {
  __m512 v = _mm512_cvtph_ps(h);
  __mmask16 nan = _mm512_cmp_ps_mask(v, v, _CMP_UNORD_Q);
  return _mm512_mask_mov_ps(v, nan, _mm512_castsi512_ps(_mm512_set1_epi32(0x7FFFFFFF)));
}
static inline CtVec_f32 ct_vec_widen_f16(const void *halves) {
  return ct_vec_of_halves(_mm256_loadu_si256(halves));
}
static inline void ct_vec_CAST_f32_f16(float *d, const uint32_t *bits) {
  ct_vec_store_f32(d, ct_vec_of_halves(_mm512_cvtepi32_epi16(_mm512_loadu_si512(bits))));
}
static inline void ct_vec_CAST_f16_f32(uint32_t *d, const float *v) {
  __m512 x = _mm512_loadu_ps(v);
  __mmask16 nan = _mm512_cmp_ps_mask(x, x, _CMP_UNORD_Q);
  __m512i bits = _mm512_cvtepu16_epi32(_mm512_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT));
  _mm512_storeu_si512(d, _mm512_mask_mov_epi32(bits, nan, _mm512_set1_epi32(0x7FFF)));
}

#elif defined(CT_SIMT_AVX2)
#define CT_VEC_HAS_F16 1

static inline CtVec_f32 ct_vec_of_halves(__m128i h) {
  __m256 v = _mm256_cvtph_ps(h);
  __m256 nan = _mm256_castsi256_ps(_mm256_set1_epi32(0x7FFFFFFF));
  return _mm256_blendv_ps(v, nan, _mm256_cmp_ps(v, v, _CMP_UNORD_Q));
}
static inline CtVec_f32 ct_vec_widen_f16(const void *halves) {
  return ct_vec_of_halves(_mm_loadu_si128(halves));
}
static inline void ct_vec_CAST_f32_f16(float *d, const uint32_t *bits) {
  __m256i x = _mm256_loadu_si256((const __m256i *)(const void *)bits);
  __m256i packed = _mm256_permute4x64_epi64(_mm256_packus_epi32(x, x), 0x08);
  ct_vec_store_f32(d, ct_vec_of_halves(_mm256_castsi256_si128(packed)));
}
static inline void ct_vec_CAST_f16_f32(uint32_t *d, const float *v) {
  __m256 x = _mm256_loadu_ps(v);
  __m256 nan = _mm256_cmp_ps(x, x, _CMP_UNORD_Q);
  __m256i bits = _mm256_cvtepu16_epi32(_mm256_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT));
  bits = _mm256_blendv_epi8(bits, _mm256_set1_epi32(0x7FFF), _mm256_castps_si256(nan));
  _mm256_storeu_si256((__m256i *)(void *)d, bits);
}

#elif defined(__aarch64__)
#define CT_VEC_HAS_F16 1

static inline CtVec_f32 ct_vec_of_halves(uint16x4_t h) {
  float32x4_t v = vcvt_f32_f16(vreinterpret_f16_u16(h));
  return (CtVec_f32)vbslq_f32(vceqq_f32(v, v), v, vreinterpretq_f32_u32(vdupq_n_u32(0x7FFFFFFF)));
}
static inline CtVec_f32 ct_vec_widen_f16(const void *halves) {
  uint16x4_t h;
  memcpy(&h, halves, sizeof h);
  return ct_vec_of_halves(h);
}
static inline void ct_vec_CAST_f32_f16(float *d, const uint32_t *bits) {
  ct_vec_store_f32(d, ct_vec_of_halves(vmovn_u32(vld1q_u32(bits))));
}
static inline void ct_vec_CAST_f16_f32(uint32_t *d, const float *v) {
  float32x4_t x = vld1q_f32(v);
  uint32x4_t bits = vmovl_u16(vreinterpret_u16_f16(vcvt_f16_f32(x)));
  vst1q_u32(d, vbslq_u32(vceqq_f32(x, x), bits, vdupq_n_u32(0x7FFF)));
}
#else
#define CT_VEC_HAS_F16 0
#endif

#endif
