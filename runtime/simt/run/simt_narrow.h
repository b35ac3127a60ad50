/* simt_narrow.h: casts from and to narrow types on one lane, CAST_<to>_<from>, for simt_arith.c and
   simt_tile.c. A lane of a narrow type holds its bits, zero-extended. They give the results of
   convert.c with no branch and no table, so that loops over lanes become vector code. */
#ifndef CT_SIMT_NARROW_H
#define CT_SIMT_NARROW_H

#include "runtime/base/base.h"
#include "runtime/base/bits.h"
#include "runtime/base/convert.h"

#define NARROW_INLINE static inline __attribute__((always_inline))

/* The narrow integers: X(type, what holds its bits, what it is computed in, that type's name). No
   operation multiplies u16. */
#define CT_NARROW_INTS(X)                                                                          \
  X(i16, uint16_t, int32_t, i32) X(i8, uint8_t, int32_t, i32) X(u8, uint8_t, int32_t, i32)

/* 2^e as the bits of an f32 and of an f64. */
#define EXP2_BITS32(e) ((uint32_t)((e) + 127) << 23)
#define EXP2_BITS64(e) ((uint64_t)((e) + 1023) << 52)

/* The least power of two that is not smaller than the number whose bits, without sign, are x: e is its
   exponent with the bias of f8ue8m0, and is_above says that it is more than 2^e. */
NARROW_INLINE uint32_t ct_scale_of(const CtFormat n, int64_t e, bool is_above) {
  int64_t up = e + is_above;
  return (uint32_t)(up < 0 ? 0 : up > (int64_t)n.max ? (int64_t)n.overflow : up);
}

NARROW_INLINE uint32_t ct_scale_from_f32(const CtFormat n, uint32_t x) {
  uint32_t e = x >> 23; /* of a subnormal number 0, which is 2^-127 here */
  uint32_t pattern = ct_scale_of(n, e, (x & 0x7FFFFF) > (e == 0 ? 0x400000u : 0));
  return x > 0x7F800000 ? (uint32_t)n.nan : pattern;
}

NARROW_INLINE uint32_t ct_scale_from_f64(const CtFormat n, uint64_t x) {
  uint32_t pattern = ct_scale_of(n, (int64_t)(x >> 52) - 1023 + n.bias, (x & CT_ONES(52)) != 0);
  return x > EXP2_BITS64(1024) ? (uint32_t)n.nan : pattern;
}

NARROW_INLINE float ct_scale_to_f32(const CtFormat n, uint32_t bits) {
  uint32_t r = bits == 0 ? 0x400000 : bits << 23;
  return ct_f32_of_bits(bits > n.max ? 0x7FFFFFFF : r);
}

/* The formats are constants at every call. From f32: rounds the pattern as an integer; a carry raises the exponent. Below the smallest
   normal number, adding a large number does the rounding: it leaves the pattern in the low bits. */
NARROW_INLINE uint32_t ct_narrow_from_f32(const CtFormat n, float v) {
  uint32_t bits = ct_bits_of_f32(v), x = bits & 0x7FFFFFFF;
  int s = 23 - n.fraction;
  if (n.is_scale) {
    return ct_scale_from_f32(n, x);
  }
  uint32_t even = n.ties_away ? 1 : x >> s & 1;
  uint32_t pattern =
      ((x + ((1u << (s - 1)) - 1) + even) >> s) - ((uint32_t)(127 - n.bias) << n.fraction);
  if (n.bias != 127) {
    uint32_t large = EXP2_BITS32(1 - n.bias + s);
    uint32_t tiny = ct_bits_of_f32(ct_f32_of_bits(x) + ct_f32_of_bits(large)) - large;
    pattern = x < EXP2_BITS32(1 - n.bias) ? tiny : pattern;
  }
  pattern = pattern > (uint32_t)n.max ? (uint32_t)n.overflow : pattern;
  pattern = pattern << n.shift | (n.has_sign ? (bits >> 31) << (n.bits - 1) : 0);
  return x > 0x7F800000 ? (uint32_t)n.nan << n.shift : pattern;
}

/* The same from f64. A sum rounds ties to even, so ties that must round away from zero are
   corrected. */
NARROW_INLINE uint32_t ct_narrow_from_f64(const CtFormat n, double v) {
  const uint64_t inf = EXP2_BITS64(1024);
  uint64_t bits = ct_bits_of_f64(v), x = bits & (UINT64_MAX >> 1);
  int s = 52 - n.fraction;
  if (n.is_scale) {
    return ct_scale_from_f64(n, x);
  }
  uint64_t even = n.ties_away ? 1 : x >> s & 1;
  uint64_t pattern = ((x + (((uint64_t)1 << (s - 1)) - 1) + even) >> s) -
                     ((uint64_t)(1023 - n.bias) << n.fraction);
  uint64_t large_bits = EXP2_BITS64(1 - n.bias + s);
  double size = __builtin_fabs(v), large = ct_f64_of_bits(large_bits);
  double half = ct_f64_of_bits(EXP2_BITS64(-n.bias - n.fraction));
  double sum = size + large;
  uint64_t tiny = ct_bits_of_f64(sum) - large_bits;
  if (n.ties_away) {
    tiny += size - (sum - large) == half ? 1 : 0;
  }
  pattern = x < EXP2_BITS64(1 - n.bias) ? tiny : pattern;
  pattern = pattern > n.max ? n.overflow : pattern;
  pattern = pattern << n.shift | (n.has_sign ? (bits >> 63) << (n.bits - 1) : 0);
  return (uint32_t)(x > inf ? n.nan << n.shift : pattern);
}

/* To f32, exactly: reads the pattern as an f32 with another bias, then corrects the bias by a
   product. NaN becomes the f32 with all bits of the fraction set. With f32's own bias it is a part of
   an f32, which keeps NaN's bits. */
NARROW_INLINE float ct_narrow_to_f32(const CtFormat n, uint32_t bits) {
  const uint32_t sign_bit = 1u << (n.bits - 1), inf = (uint32_t)n.max + n.has_inf;
  uint32_t x = bits & (sign_bit - 1);
  uint32_t sign = n.has_sign && (bits & sign_bit) != 0 ? 0x80000000 : 0;
  if (n.is_scale) {
    return ct_scale_to_f32(n, bits);
  }
  if (n.bias == 127) {
    return ct_f32_of_bits(bits << (32 - n.bits));
  }
  float v = ct_f32_of_bits(x << (23 - n.fraction)) * ct_f32_of_bits(EXP2_BITS32(127 - n.bias));
  uint32_t r = ct_bits_of_f32(v) | sign;
  if (n.has_inf) {
    r = x == inf ? 0x7F800000 | sign : r;
  }
  return ct_f32_of_bits(x > inf ? 0x7FFFFFFF : r);
}

#define NARROW(t, n, compute, cuda, ctype, npy, e, f, ends, ...)                                   \
  static inline uint32_t CAST_##t##_f32(float v) {                                                 \
    return ct_narrow_from_f32((CtFormat)CT_FORMAT(n, e, f, ends), v);                              \
  }                                                                                                \
  static inline uint32_t CAST_##t##_f64(double v) {                                                \
    return ct_narrow_from_f64((CtFormat)CT_FORMAT(n, e, f, ends), v);                              \
  }                                                                                                \
  static inline float CAST_f32_##t(uint32_t a) {                                                   \
    return ct_narrow_to_f32((CtFormat)CT_FORMAT(n, e, f, ends), a);                                \
  }
#include "runtime/base/dtypes.def"

/* Integers. */
static inline int32_t CAST_i32_u16(uint32_t a) { return (int32_t)a; }
static inline int32_t CAST_i32_u8(uint32_t a) { return (int32_t)a; }
static inline int32_t CAST_i32_i16(uint32_t a) { return (int16_t)a; }
static inline int32_t CAST_i32_i8(uint32_t a) { return (int8_t)a; }
static inline uint32_t CAST_i16_i32(int32_t a) { return (uint16_t)a; }
static inline uint32_t CAST_i8_i32(int32_t a) { return (uint8_t)a; }

/* A 64-bit integer as an f64, with its last bit set if the cast is not exact. A narrow float
   rounded from that f64 is the one rounded from the integer itself. */
static inline double ODD_u64(uint64_t a) {
  uint64_t lost = a & 0x7FF;
  uint64_t kept = (a - lost) | (lost != 0 ? 0x800 : 0);
  return (double)(a >> 53 != 0 ? kept : a);
}
static inline double ODD_i64(int64_t a) {
  double size = ODD_u64(a < 0 ? 0 - (uint64_t)a : (uint64_t)a);
  return a < 0 ? -size : size;
}

#endif
