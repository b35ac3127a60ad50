/* simt_word.h: the meaning of operations on words of 32 bits on one lane, for simt_arith.c: bytes,
   shifts of two words, and pairs of 16-bit floats. */
#ifndef CT_SIMT_WORD_H
#define CT_SIMT_WORD_H

#include "simt_narrow.h"
#include "simt_scalar.h"

static inline uint32_t FUNNEL_L_u32(uint32_t lo, uint32_t hi, uint32_t n) {
  return hi << (n & 31) | lo >> 1 >> (~n & 31);
}
static inline uint32_t FUNNEL_R_u32(uint32_t lo, uint32_t hi, uint32_t n) {
  return lo >> (n & 31) | hi << 1 << (~n & 31);
}

static inline uint32_t BYTE_PERM_u32(uint32_t a, uint32_t b, uint32_t which) {
  uint32_t word = 0;
  for (uint32_t i = 0; i < 32; i += 8) {
    uint32_t at = which >> i / 2;
    word |= ((at & 4 ? b : a) >> (at & 3) * 8 & 255) << i;
  }
  return word;
}

#define DOT(NAME, T, A, B)                                                                         \
  static inline T NAME(T a, T b, T c) {                                                            \
    uint32_t sum = (uint32_t)c;                                                                    \
    for (int i = 0; i < 32; i += 8) {                                                              \
      sum += (uint32_t)((int32_t)(A)((uint32_t)a >> i) * (int32_t)(B)((uint32_t)b >> i));          \
    }                                                                                              \
    return (T)sum;                                                                                 \
  }
DOT(DP4A_i32, int32_t, int8_t, int8_t)
DOT(DP4A_U_u32, uint32_t, uint8_t, uint8_t)
DOT(DP4A_SU_i32, int32_t, int8_t, uint8_t)
#undef DOT

/* Two halves of a word. Sums, products and multiply-adds of 16-bit floats are computed in double and
   rounded once. A product is exact there. So is a sum of f16; one of bf16 has more than twice the bits
   that are left, so rounding it twice changes nothing. A multiply-add is made odd first. */
#define HALVES(lo, hi) ((uint32_t)(lo) | (uint32_t)(hi) << 16)
#define LOW(a) ((a)&0xffff)
#define PAIR_1(NAME, T, t, F, expression)                                                          \
  NARROW_INLINE uint32_t ct_##NAME##_##t(uint32_t a, uint32_t b) {                                 \
    const F x = (F)CAST_f32_##t(a), y = (F)CAST_f32_##t(b);                                        \
    return CAST_##t##_##T(expression);                                                             \
  }                                                                                                \
  static inline uint32_t NAME(uint32_t a, uint32_t b) {                                            \
    return HALVES(ct_##NAME##_##t(LOW(a), LOW(b)), ct_##NAME##_##t(a >> 16, b >> 16));             \
  }
#define PAIRS(X2, t)                                                                               \
  PAIR_1(ADD_##X2##_u32, f64, t, double, x + y)                                                    \
  PAIR_1(SUB_##X2##_u32, f64, t, double, x - y)                                                    \
  PAIR_1(MUL_##X2##_u32, f64, t, double, x *y)                                                     \
  PAIR_1(MIN_##X2##_u32, f32, t, float, MIN_f32(x, y))                                             \
  PAIR_1(MAX_##X2##_u32, f32, t, float, MAX_f32(x, y))                                             \
  NARROW_INLINE uint32_t ct_fma_##t(uint32_t a, uint32_t b, uint32_t c) {                          \
    const double x = (double)CAST_f32_##t(a), y = (double)CAST_f32_##t(b);                         \
    return CAST_##t##_f64(ct_odd_sum(x * y, (double)CAST_f32_##t(c)));                             \
  }                                                                                                \
  static inline uint32_t FMA_##X2##_u32(uint32_t a, uint32_t b, uint32_t c) {                      \
    return HALVES(ct_fma_##t(LOW(a), LOW(b), LOW(c)), ct_fma_##t(a >> 16, b >> 16, c >> 16));      \
  }
PAIRS(F16X2, f16)
PAIRS(BF16X2, bf16)
#undef PAIRS
#undef PAIR_1
#undef HALVES
#undef LOW

/* Two floats of 32 bits in a word of 64, each rounded once. */
static inline float ct_float_of(uint64_t pair, int which) {
  return ct_f32_of_bits((uint32_t)(pair >> 32 * which));
}
static inline uint64_t ct_float_pair(float lo, float hi) {
  return (uint64_t)ct_bits_of_f32(hi) << 32 | ct_bits_of_f32(lo);
}
#define FLOATS(NAME, one)                                                                          \
  static inline uint64_t NAME##_F32X2_u64(uint64_t a, uint64_t b) {                                \
    return ct_float_pair(one(ct_float_of(a, 0), ct_float_of(b, 0)),                                \
                         one(ct_float_of(a, 1), ct_float_of(b, 1)));                               \
  }
FLOATS(ADD, ADD_f32)
FLOATS(SUB, SUB_f32)
FLOATS(MUL, MUL_f32)
#undef FLOATS
static inline uint64_t FMA_F32X2_u64(uint64_t a, uint64_t b, uint64_t c) {
  return ct_float_pair(FMA_f32(ct_float_of(a, 0), ct_float_of(b, 0), ct_float_of(c, 0)),
                       FMA_f32(ct_float_of(a, 1), ct_float_of(b, 1), ct_float_of(c, 1)));
}

#endif
