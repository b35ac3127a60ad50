/* simt_fma.h: fused multiply-adds in vectors of 16 bytes, where no instruction does them. Bit for bit
   those of the instruction. Part of simt_vec.h.

   A product of two f32s is exact in f64. If its sum with an f32, rounded to f64, is rounded again to
   f32, only two sorts of sums go wrong. Halfway ones: the f64 lies half way between two f32s, but the
   exact sum beside it. And tiny ones, below the normal f32s, where half ways look different. Quick
   code computes so, remembers the doubt, and its results count only if there was none. The exact
   code rounds the sum to odd instead. */
#ifndef CT_SIMT_FMA_H
#define CT_SIMT_FMA_H

#if defined(__wasm_simd128__)
#include <wasm_simd128.h>
#elif defined(__SSE2__)
#include <emmintrin.h>
#endif

typedef int64_t CtVec_i64 __attribute__((vector_size(16)));

/* --- f32s as f64s, two to a vector ----------------------------------------------------------------- */

/* f32s 0 and 1, and 2 and 3. */
typedef struct CtWide {
  CtVec_f64 lo, hi;
} CtWide;

#if defined(__wasm_simd128__)

static inline CtWide ct_wide(CtVec_f32 v) {
  v128_t high = wasm_i32x4_shuffle((v128_t)v, (v128_t)v, 2, 3, 2, 3);
  return (CtWide){(CtVec_f64)wasm_f64x2_promote_low_f32x4((v128_t)v),
                  (CtVec_f64)wasm_f64x2_promote_low_f32x4(high)};
}
static inline CtVec_f64 ct_wide_load(const float *p) {
  return (CtVec_f64)wasm_f64x2_promote_low_f32x4(wasm_v128_load64_zero(p));
}
static inline CtVec_f32 ct_wide_round(CtWide w) {
  v128_t lo = wasm_f32x4_demote_f64x2_zero((v128_t)w.lo);
  v128_t hi = wasm_f32x4_demote_f64x2_zero((v128_t)w.hi);
  return (CtVec_f32)wasm_i32x4_shuffle(lo, hi, 0, 1, 4, 5);
}
static inline CtVec_f64 ct_wide_round_half(CtVec_f64 v) {
  v128_t rounded = wasm_f32x4_demote_f64x2_zero((v128_t)v);
  CT_VEC_PIN(rounded); /* clang 14 makes scalar code of the two together */
  return (CtVec_f64)wasm_f64x2_promote_low_f32x4(rounded);
}
static inline CtVec_i32 ct_wide_low_words(CtVec_f64 a, CtVec_f64 b) {
  return (CtVec_i32)wasm_i32x4_shuffle((v128_t)a, (v128_t)b, 0, 2, 4, 6);
}
static inline CtVec_i32 ct_wide_high_words(CtVec_f64 a, CtVec_f64 b) {
  return (CtVec_i32)wasm_i32x4_shuffle((v128_t)a, (v128_t)b, 1, 3, 5, 7);
}
static inline bool ct_vec_any(CtVec_i32 v) { return wasm_v128_any_true((v128_t)v); }

#elif defined(__SSE2__)

static inline CtWide ct_wide(CtVec_f32 v) {
  __m128 high = _mm_movehl_ps((__m128)v, (__m128)v);
  return (CtWide){(CtVec_f64)_mm_cvtps_pd((__m128)v), (CtVec_f64)_mm_cvtps_pd(high)};
}
static inline CtVec_f64 ct_wide_load(const float *p) {
  return (CtVec_f64)_mm_cvtps_pd(
      _mm_castsi128_ps(_mm_loadl_epi64((const __m128i_u *)(const void *)p)));
}
static inline CtVec_f32 ct_wide_round(CtWide w) {
  __m128 lo = _mm_cvtpd_ps((__m128d)w.lo), hi = _mm_cvtpd_ps((__m128d)w.hi);
  return (CtVec_f32)_mm_movelh_ps(lo, hi);
}
static inline CtVec_f64 ct_wide_round_half(CtVec_f64 v) {
  return (CtVec_f64)_mm_cvtps_pd(_mm_cvtpd_ps((__m128d)v));
}
static inline CtVec_i32 ct_wide_low_words(CtVec_f64 a, CtVec_f64 b) {
  return (CtVec_i32)_mm_shuffle_ps((__m128)a, (__m128)b, _MM_SHUFFLE(2, 0, 2, 0));
}
static inline CtVec_i32 ct_wide_high_words(CtVec_f64 a, CtVec_f64 b) {
  return (CtVec_i32)_mm_shuffle_ps((__m128)a, (__m128)b, _MM_SHUFFLE(3, 1, 3, 1));
}
static inline bool ct_vec_any(CtVec_i32 v) { return _mm_movemask_epi8((__m128i)v) != 0; }

#else

static inline CtWide ct_wide(CtVec_f32 v) {
  return (CtWide){{(double)v[0], (double)v[1]}, {(double)v[2], (double)v[3]}};
}
static inline CtVec_f64 ct_wide_load(const float *p) {
  return (CtVec_f64){(double)p[0], (double)p[1]};
}
static inline CtVec_f32 ct_wide_round(CtWide w) {
  return (CtVec_f32){(float)w.lo[0], (float)w.lo[1], (float)w.hi[0], (float)w.hi[1]};
}
static inline CtVec_f64 ct_wide_round_half(CtVec_f64 v) {
  return (CtVec_f64){(double)(float)v[0], (double)(float)v[1]};
}
static inline CtVec_i32 ct_wide_low_words(CtVec_f64 a, CtVec_f64 b) {
  CtVec_i64 x = (CtVec_i64)a, y = (CtVec_i64)b;
  return (CtVec_i32){(int32_t)x[0], (int32_t)x[1], (int32_t)y[0], (int32_t)y[1]};
}
static inline CtVec_i32 ct_wide_high_words(CtVec_f64 a, CtVec_f64 b) {
  CtVec_i64 x = (CtVec_i64)a >> 32, y = (CtVec_i64)b >> 32;
  return (CtVec_i32){(int32_t)x[0], (int32_t)x[1], (int32_t)y[0], (int32_t)y[1]};
}
static inline bool ct_vec_any(CtVec_i32 v) { return (v[0] | v[1] | v[2] | v[3]) != 0; }

#endif

/* --- f32 ----------------------------------------------------------------------------------------------- */

/* p + d, rounded to odd. What the sum lost has the sign of each of the two differences that is not 0,
   and one of them is not 0 if it lost anything. */
static inline CtVec_f64 ct_vec_odd_sum(CtVec_f64 p, CtVec_f64 d) {
  CtVec_f64 s = p + d;
  CtVec_f64 lost = (d - (s - p)) + (p - (s - d));
  CtVec_i64 more = lost > 0, less = lost < 0, any = more | less;
  CtVec_i64 to_0 = (less ^ (CtVec_i64)(s < 0)) & any;
  return (CtVec_f64)(((CtVec_i64)s + to_0) | (any & 1));
}

/* Gathers, from 0 on, whether any of the sums a and b may lie half way between two f32s. */
static inline CtVec_i32 ct_vec_note_halfway(CtVec_i32 doubt, CtVec_f64 a, CtVec_f64 b) {
  CtVec_i32 last = (CtVec_i32)((CtVec_u32)ct_wide_low_words(a, b) << 3);
#if defined(__wasm_simd128__)
  return (CtVec_i32)wasm_i32x4_min((v128_t)doubt, (v128_t)last);
#else
  return doubt | (last == INT32_MIN);
#endif
}
static inline CtVec_i32 ct_vec_is_halfway(CtVec_i32 doubt) {
#if defined(__wasm_simd128__)
  return doubt == INT32_MIN;
#else
  return doubt;
#endif
}

/* All bits of the lanes whose doubled bits are not 0, but less than `least`. */
static inline CtVec_i32 ct_vec_is_below(CtVec_i32 bits, uint32_t least) {
  CtVec_u32 from_1 = ((CtVec_u32)bits << 1) - 1;
  return (CtVec_i32)(from_1 ^ (uint32_t)INT32_MIN) < (int32_t)((least - 1) ^ (uint32_t)INT32_MIN);
}
/* The same for f32s of which a product may have bits below those of all f32s. Sums of other products
   are exact where they are tiny. */
static inline CtVec_i32 ct_vec_is_small(CtVec_f32 v) {
  return ct_vec_is_below((CtVec_i32)v, (uint32_t)(127 - 51) << 24);
}
static inline CtVec_i32 ct_vec_is_small_product(CtVec_f64 a, CtVec_f64 b) {
  return ct_vec_is_below(ct_wide_high_words(a, b), (uint32_t)(1023 - 101) << 21);
}

static inline CtVec_f32 ct_vec_fma_f32(CtVec_f32 a, CtVec_f32 b, CtVec_f32 c) {
  CtWide x = ct_wide(a), y = ct_wide(b), z = ct_wide(c);
  CtVec_f64 p = x.lo * y.lo, q = x.hi * y.hi, s = p + z.lo, t = q + z.hi;
  CtVec_i32 halfway = ct_vec_is_halfway(ct_vec_note_halfway((CtVec_i32){0}, s, t));
  if (__builtin_expect(ct_vec_any(halfway | ct_vec_is_small_product(p, q)), 0)) {
    s = ct_vec_odd_sum(p, z.lo);
    t = ct_vec_odd_sum(q, z.hi);
  }
  return ct_wide_round((CtWide){s, t});
}

/* --- f64 ----------------------------------------------------------------------------------------------- */

static inline CtVec_f64 ct_vec_high_half(CtVec_f64 v) {
  CtVec_f64 scaled = v * 0x8000001p0;
  return scaled - (scaled - v);
}

/* What the product p of a and b lost. */
static inline CtVec_f64 ct_vec_product_error(CtVec_f64 a, CtVec_f64 b, CtVec_f64 p) {
  CtVec_f64 ah = ct_vec_high_half(a), bh = ct_vec_high_half(b), al = a - ah, bl = b - bh;
  return al * bl - (((p - ah * bh) - al * bh) - ah * bl);
}
static inline CtVec_f64 ct_vec_sum_error(CtVec_f64 a, CtVec_f64 b, CtVec_f64 s) {
  CtVec_f64 t = s - a;
  return (a - (s - t)) + (b - t);
}

/* All bits of the lanes whose intermediate results neither overflow nor underflow. */
static inline CtVec_i64 ct_vec_is_mild(CtVec_f64 a, CtVec_f64 b, CtVec_f64 c, CtVec_f64 p) {
  CtVec_i64 large = (a < 0x1p500) & (a > -0x1p500) & (b < 0x1p500) & (b > -0x1p500) &
                    (c < 0x1p1001) & (c > -0x1p1001);
  return large & ((p > 0x1p-900) | (p < -0x1p-900) | (a == 0) | (b == 0));
}

/* Boldo and Melquiond, Emulation of FMA and correctly rounded sums, 2008. */
static inline CtVec_f64 ct_vec_fma_f64(CtVec_f64 a, CtVec_f64 b, CtVec_f64 c) {
  CtVec_f64 p = a * b;
  if (__builtin_expect(ct_vec_any(~(CtVec_i32)ct_vec_is_mild(a, b, c, p)), 0)) {
    return (CtVec_f64){FMA_f64(a[0], b[0], c[0]), FMA_f64(a[1], b[1], c[1])};
  }
  CtVec_f64 p_lost = ct_vec_product_error(a, b, p);
  CtVec_f64 low = c + p_lost, low_lost = ct_vec_sum_error(c, p_lost, low);
  CtVec_f64 high = p + low, high_lost = ct_vec_sum_error(p, low, high);
  CtVec_f64 r = high + ct_vec_odd_sum(low_lost, high_lost);
  CtVec_i64 is_0 = r == 0; /* of the sign of an exact sum */
  return (CtVec_f64)(((CtVec_i64)(p + c) & is_0) | ((CtVec_i64)r & ~is_0));
}

#endif
