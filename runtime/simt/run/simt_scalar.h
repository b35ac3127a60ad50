/* simt_scalar.h: the meaning of each pure operation on one lane, for simt_arith.c. One function per
   operation and type, ADD_f32 and so on, the names of ops.def. */
#ifndef CT_SIMT_SCALAR_H
#define CT_SIMT_SCALAR_H

#include <float.h>
#include <math.h>

#include "runtime/base/base.h"
#include "runtime/math/math.h"

typedef double CtT_f64;
typedef float CtT_f32;
typedef int64_t CtT_i64;
typedef int32_t CtT_i32;
typedef uint64_t CtT_u64;
typedef uint32_t CtT_u32;

/* The sign bit, in a form that vectorises. */
static inline bool ct_is_negative_f64(double a) {
  int64_t bits;
  __builtin_memcpy(&bits, &a, sizeof bits);
  return bits < 0;
}
static inline bool ct_is_negative_f32(float a) {
  int32_t bits;
  __builtin_memcpy(&bits, &a, sizeof bits);
  return bits < 0;
}

/* Floats. MIN and MAX prefer the number to a NaN, and -0 is less than +0; no jumps, so that loops
   vectorise. */
#define FLOAT_OPS(T, S, F)                                                                         \
  static inline T ADD_##S(T a, T b) { return a + b; }                                              \
  static inline T SUB_##S(T a, T b) { return a - b; }                                              \
  static inline T MUL_##S(T a, T b) { return a * b; }                                              \
  static inline T DIV_##S(T a, T b) { return a / b; }                                              \
  static inline T NEG_##S(T a) { return -a; }                                                      \
  static inline T ABS_##S(T a) { return __builtin_fabs##F(a); }                                    \
  static inline T FLOOR_##S(T a) { return __builtin_floor##F(a); }                                 \
  static inline T CEIL_##S(T a) { return __builtin_ceil##F(a); }                                   \
  static inline T TRUNC_##S(T a) { return __builtin_trunc##F(a); }                                 \
  static inline T ROUND_##S(T a) { return __builtin_round##F(a); }                                 \
  static inline T RINT_##S(T a) { return __builtin_nearbyint##F(a); }                              \
  static inline T SQRT_##S(T a) { return __builtin_sqrt##F(a); }                                   \
  static inline T FMOD_##S(T a, T b) { return fmod##F(a, b); }                                     \
  static inline T COPYSIGN_##S(T a, T b) { return __builtin_copysign##F(a, b); }                   \
  static inline T MIN_##S(T a, T b) {                                                              \
    bool left = (a < b) | ((a == b) & ct_is_negative_##S(a)) | (b != b);                           \
    return left ? a : b;                                                                           \
  }                                                                                                \
  static inline T MAX_##S(T a, T b) {                                                              \
    bool left = (a > b) | ((a == b) & ct_is_negative_##S(b)) | (b != b);                           \
    return left ? a : b;                                                                           \
  }                                                                                                \
  static inline T FLOORDIV_##S(T a, T b) { return __builtin_floor##F(a / b); }                     \
  static inline T FLOORMOD_##S(T a, T b) {                                                         \
    T r = fmod##F(a, b);                                                                           \
    return r != 0 && (r < 0) != (b < 0) ? r + b : r;                                               \
  }
FLOAT_OPS(double, f64, )
FLOAT_OPS(float, f32, f)
#undef FLOAT_OPS
/* Inlined, so that loops over lanes vectorise. */
#define INLINE static inline __attribute__((always_inline))
#define ONE(NAME, name)                                                                            \
  INLINE double NAME##_f64(double a) { return ct_##name##_f64(a); }                                \
  INLINE float NAME##_f32(float a) { return ct_##name##_f32(a); }
#define TWO(NAME, name)                                                                            \
  INLINE double NAME##_f64(double a, double b) { return ct_##name##_f64(a, b); }                   \
  INLINE float NAME##_f32(float a, float b) { return ct_##name##_f32(a, b); }
#include "runtime/math/math_names.def"
#undef ONE
#undef TWO
#undef INLINE

/* Fast functions of a GPU, here as exact as the others. */
#define FAST(NAME, result)                                                                         \
  static inline float FAST_##NAME##_f32(float a) { return result; }
FAST(EXP, ct_exp_f32(a))
FAST(EXP10, ct_exp10_f32(a))
FAST(LOG, ct_log_f32(a))
FAST(LOG2, ct_log2_f32(a))
FAST(LOG10, ct_log10_f32(a))
FAST(SIN, ct_sin_f32(a))
FAST(COS, ct_cos_f32(a))
FAST(TANH, ct_tanh_f32(a))
FAST(RCP, 1.0f / a)
FAST(SQRT, SQRT_f32(a))
FAST(RSQRT, ct_rsqrt_f32(a))
#undef FAST
static inline float FAST_DIV_f32(float a, float b) { return a / b; }
static inline float FAST_POW_f32(float a, float b) { return ct_pow_f32(a, b); }

/* Subnormal numbers count as 0, as in the instruction. */
static inline float EX2_f32(float a) {
  float y = ct_exp2_f32(__builtin_fabsf(a) < FLT_MIN ? 0.0f : a);
  return y < FLT_MIN ? 0.0f : y;
}

/* Integers wrap around; shifts are Lua's. FLOORDIV and FLOORMOD: b is not 0. */
#define INT_OPS(T, U, S, W)                                                                        \
  static inline T ADD_##S(T a, T b) { return (T)((U)a + (U)b); }                                   \
  static inline T SUB_##S(T a, T b) { return (T)((U)a - (U)b); }                                   \
  static inline T MUL_##S(T a, T b) { return (T)((U)a * (U)b); }                                   \
  static inline T NEG_##S(T a) { return (T)(0 - (U)a); }                                           \
  static inline T ABS_##S(T a) { return a < 0 ? (T)(0 - (U)a) : a; }                               \
  static inline T NOT_##S(T a) { return ~a; }                                                      \
  static inline T AND_##S(T a, T b) { return a & b; }                                              \
  static inline T OR_##S(T a, T b) { return a | b; }                                               \
  static inline T XOR_##S(T a, T b) { return a ^ b; }                                              \
  static inline T MIN_##S(T a, T b) { return a < b ? a : b; }                                      \
  static inline T MAX_##S(T a, T b) { return a > b ? a : b; }                                      \
  static inline T SHL_##S(T a, T b) {                                                              \
    U left = (U)a << ((U)b & (W - 1));                                                             \
    U right = (U)a >> ((U)NEG_##S(b) & (W - 1));                                                   \
    return (T)(b >= W || b <= -W ? 0 : b >= 0 ? left : right);                                     \
  }                                                                                                \
  static inline T SHR_##S(T a, T b) {                                                              \
    U right = (U)a >> ((U)b & (W - 1));                                                            \
    U left = (U)a << ((U)NEG_##S(b) & (W - 1));                                                    \
    return (T)(b >= W || b <= -W ? 0 : b >= 0 ? right : left);                                     \
  }                                                                                                \
  static inline T ASHR_##S(T a, T b) {                                                             \
    U sign = (U)0 - (U)(a < 0), n = (U)(b >= W ? W - 1 : b) & (W - 1);                             \
    U right = (((U)a ^ sign) >> n) ^ sign;                                                         \
    return b < 0 ? SHR_##S(a, b) : (T)right;                                                       \
  }                                                                                                \
  static inline T FLOORDIV_##S(T a, T b) { return (T)ct_floordiv(a, b); }                          \
  static inline T FLOORMOD_##S(T a, T b) { return (T)ct_floormod(a, b); }
INT_OPS(int64_t, uint64_t, i64, 64)
INT_OPS(int32_t, uint32_t, i32, 32)
#undef INT_OPS

/* The high half of a product. */
static inline int32_t MULHI_i32(int32_t a, int32_t b) {
  return (int32_t)(uint32_t)((uint64_t)((int64_t)a * b) >> 32);
}
static inline uint32_t MULHI_u32(uint32_t a, uint32_t b) {
  return (uint32_t)((uint64_t)a * b >> 32);
}
static inline uint64_t MULHI_u64(uint64_t a, uint64_t b) { return __umul64hi(a, b); }
static inline int64_t MULHI_i64(int64_t a, int64_t b) {
  uint64_t x = (uint64_t)a, y = (uint64_t)b;
  return (int64_t)(__umul64hi(x, y) - (a < 0 ? y : 0) - (b < 0 ? x : 0));
}

/* Bits of integers, by arithmetic that vectorises on every instruction set. */
#define BIT_OPS(T, U, S, W, ONES)                                                                  \
  static inline int32_t POPC_##S(T a) {                                                            \
    U x = (U)a;                                                                                    \
    x -= x >> 1 & ONES / 3;                                                                        \
    x = (x & ONES / 5) + (x >> 2 & ONES / 5);                                                      \
    x = (x + (x >> 4)) & ONES / 17;                                                                \
    return (int32_t)(x * (ONES / 255) >> (W - 8));                                                 \
  }                                                                                                \
  static inline int32_t CLZ_##S(T a) {                                                             \
    U x = (U)a;                                                                                    \
    for (int n = 1; n < W; n *= 2) {                                                               \
      x |= x >> n;                                                                                 \
    }                                                                                              \
    return W - POPC_##S((T)x);                                                                     \
  }                                                                                                \
  static inline int32_t FFS_##S(T a) {                                                             \
    U x = (U)a, lowest = x & (0 - x);                                                              \
    return x == 0 ? 0 : POPC_##S((T)(lowest - 1)) + 1;                                             \
  }                                                                                                \
  static inline T BREV_##S(T a) {                                                                  \
    U x = (U)a, half = ONES;                                                                       \
    for (int n = W / 2; n > 0; n /= 2) {                                                           \
      half ^= half << n;                                                                           \
      x = (x >> n & half) | (x & half) << n;                                                       \
    }                                                                                              \
    return (T)x;                                                                                   \
  }
BIT_OPS(int64_t, uint64_t, i64, 64, UINT64_MAX)
BIT_OPS(int32_t, uint32_t, i32, 32, UINT32_MAX)
#undef BIT_OPS

/* Unsigned integers, if they differ from the signed ones of the same bits. FLOORDIV and FLOORMOD: b
   is not 0. */
#define UINT_OPS(U, S, W)                                                                          \
  static inline U MIN_##S(U a, U b) { return a < b ? a : b; }                                      \
  static inline U MAX_##S(U a, U b) { return a > b ? a : b; }                                      \
  static inline U SHL_##S(U a, U b) { return b >= W ? 0 : a << (b & (W - 1)); }                    \
  static inline U SHR_##S(U a, U b) { return b >= W ? 0 : a >> (b & (W - 1)); }                    \
  static inline U FLOORDIV_##S(U a, U b) { return a / b; }                                         \
  static inline U FLOORMOD_##S(U a, U b) { return a % b; }
UINT_OPS(uint64_t, u64, 64)
UINT_OPS(uint32_t, u32, 32)
#undef UINT_OPS

#define COMPARISONS(T, S)                                                                          \
  static inline bool LT_##S(T a, T b) { return a < b; }                                            \
  static inline bool LE_##S(T a, T b) { return a <= b; }                                           \
  static inline bool EQ_##S(T a, T b) { return a == b; }                                           \
  static inline bool NE_##S(T a, T b) { return a != b; }
COMPARISONS(double, f64)
COMPARISONS(float, f32)
COMPARISONS(int64_t, i64)
COMPARISONS(int32_t, i32)
COMPARISONS(uint64_t, u64)
COMPARISONS(uint32_t, u32)
#undef COMPARISONS

/* Conversions, CAST_<to>_<from>. Float to integer truncates and saturates, NaN gives 0. */
static inline double CAST_f64_f32(float a) { return (double)a; }
static inline double CAST_f64_i64(int64_t a) { return (double)a; }
static inline double CAST_f64_i32(int32_t a) { return (double)a; }
static inline float CAST_f32_f64(double a) { return (float)a; }
static inline float CAST_f32_i64(int64_t a) { return (float)a; }
static inline float CAST_f32_i32(int32_t a) { return (float)a; }
static inline int64_t CAST_i64_i32(int32_t a) { return a; }
static inline int32_t CAST_i32_i64(int64_t a) { return (int32_t)(uint32_t)(uint64_t)a; }
static inline int64_t CAST_i64_f64(double a) {
  return a != a ? 0 : a >= 0x1p63 ? INT64_MAX : a < -0x1p63 ? INT64_MIN : (int64_t)a;
}
static inline int32_t CAST_i32_f64(double a) {
  return a != a ? 0 : a >= 0x1p31 ? INT32_MAX : a <= -0x1p31 ? INT32_MIN : (int32_t)a;
}
static inline int64_t CAST_i64_f32(float a) { return CAST_i64_f64((double)a); }
static inline int32_t CAST_i32_f32(float a) {
  return a != a ? 0 : a >= 0x1p31f ? INT32_MAX : a < -0x1p31f ? INT32_MIN : (int32_t)a;
}
/* Casts of unsigned integers that differ from those of the signed ones. A comparison with a NaN is
   false. */
static inline double CAST_f64_u64(uint64_t a) { return (double)a; }
static inline double CAST_f64_u32(uint32_t a) { return (double)a; }
static inline float CAST_f32_u64(uint64_t a) { return (float)a; }
static inline float CAST_f32_u32(uint32_t a) { return (float)a; }
static inline int64_t CAST_i64_u32(uint32_t a) { return a; }
static inline uint64_t CAST_u64_f64(double a) {
  return !(a > 0) ? 0 : a >= 0x1p64 ? UINT64_MAX : (uint64_t)a;
}
static inline uint32_t CAST_u32_f64(double a) {
  return !(a > 0) ? 0 : a >= 0x1p32 ? UINT32_MAX : (uint32_t)a;
}
static inline uint64_t CAST_u64_f32(float a) { return CAST_u64_f64((double)a); }
static inline uint32_t CAST_u32_f32(float a) {
  return !(a > 0) ? 0 : a >= 0x1p32f ? UINT32_MAX : (uint32_t)a;
}

static inline float FMA_f32(float a, float b, float c) { return ct_fma_f32(a, b, c); }
static inline double FMA_f64(double a, double b, double c) { return ct_fma(a, b, c); }

#endif
