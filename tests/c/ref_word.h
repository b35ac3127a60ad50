/* ref_word.h: what operations on words of 32 bits give, computed in another way than the engine does:
   floats of 16 bits exactly, as integers times powers of two, and then rounded. */
#ifndef CT_TEST_REF_WORD_H
#define CT_TEST_REF_WORD_H

#include <math.h>

#include "runtime/base/convert.h"
#include "runtime/ir/ir_make.h"

__extension__ typedef __int128 RefWide;

enum { REF_APART = 70 };

/* v = n * 2^e, exactly. */
static inline int64_t ref_parts(double v, int *e) {
  double m = frexp(v, e);
  *e -= 53;
  return (int64_t)ldexp(m, 53);
}

/* n * 2^e as the nearest number of the type, ties to even. */
static inline uint32_t ref_round(CtDtype t, RefWide n, int e) {
  int fraction = ct_dtypes[t].fraction, bias = (1 << (ct_dtypes[t].exponent - 1)) - 1;
  uint32_t sign = n < 0 ? 0x8000 : 0;
  n = n < 0 ? -n : n;
  int least = 1 - bias - fraction, cut = 0;
  while (cut < 120 && (e + cut < least || n >> cut >= (RefWide)2 << fraction)) {
    cut++;
  }
  if (e + cut < least) {
    return sign; /* below half of the least number */
  }
  RefWide half = cut == 0 ? 0 : (RefWide)1 << (cut - 1), rest = n & (((RefWide)1 << cut) - 1);
  RefWide kept = n >> cut;
  kept += cut > 0 && (rest > half || (rest == half && (kept & 1) != 0));
  double v = ldexp((double)(int64_t)kept, e + cut);
  return sign | (uint32_t)ct_bits_of_float(t, v);
}

/* x * y + z. The smaller one of two terms that are far apart only says on which side of the larger one
   the sum lies. */
static inline uint32_t ref_fma_half(CtDtype t, double x, double y, double z) {
  double about = x * y + z;
  if (isnan(about)) {
    return 0x7fff;
  }
  if (isinf(x) || isinf(y) || isinf(z) || about == 0) {
    return (uint32_t)ct_bits_of_float(t, about);
  }
  int ex, ey, ez;
  RefWide p = (RefWide)ref_parts(x, &ex) * (ref_parts(y, &ey) >> 40), c = ref_parts(z, &ez);
  int ep = ex + ey + 40; /* 53 bits of a 16-bit float end in 40 zeros or more */
  if (p == 0 || c == 0) {
    return p == 0 ? ref_round(t, c, ez) : ref_round(t, p, ep);
  }
  while ((p & 1) == 0) {
    p >>= 1;
    ep++;
  }
  while ((c & 1) == 0) {
    c >>= 1;
    ez++;
  }
  if (ep - ez > REF_APART) {
    p = p * ((RefWide)1 << REF_APART) + (c < 0 ? -1 : 1);
    return ref_round(t, p, ep - REF_APART);
  }
  if (ez - ep > REF_APART) {
    c = c * ((RefWide)1 << REF_APART) + (p < 0 ? -1 : 1);
    return ref_round(t, c, ez - REF_APART);
  }
  int e = ep < ez ? ep : ez;
  return ref_round(t, p * ((RefWide)1 << (ep - e)) + c * ((RefWide)1 << (ez - e)), e);
}

static inline uint32_t ref_least(CtDtype t, double x, double y, bool is_min) {
  bool first = isnan(y) || (x == y ? signbit(x) == is_min : is_min ? x < y : x > y);
  double v = isnan(x) ? y : first ? x : y;
  return isnan(v) ? 0x7fff : (uint32_t)ct_bits_of_float(t, v);
}

static inline uint32_t ref_half(CtOp op, uint32_t a, uint32_t b, uint32_t c) {
  bool is_f16 = op == CT_OP_ADD_F16X2 || op == CT_OP_SUB_F16X2 || op == CT_OP_MUL_F16X2 ||
                op == CT_OP_FMA_F16X2 || op == CT_OP_MIN_F16X2 || op == CT_OP_MAX_F16X2;
  CtDtype t = is_f16 ? CT_f16 : CT_bf16;
  double x = ct_float_of_bits(t, a & 0xffff), y = ct_float_of_bits(t, b & 0xffff);
  double z = ct_float_of_bits(t, c & 0xffff);
  switch (op) {
    case CT_OP_ADD_F16X2:
    case CT_OP_ADD_BF16X2: return ref_fma_half(t, x, 1, y);
    case CT_OP_SUB_F16X2:
    case CT_OP_SUB_BF16X2: return ref_fma_half(t, y, -1, x);
    case CT_OP_MUL_F16X2:
    case CT_OP_MUL_BF16X2: return ref_fma_half(t, x, y, -0.0);
    case CT_OP_MIN_F16X2:
    case CT_OP_MIN_BF16X2: return ref_least(t, x, y, true);
    case CT_OP_MAX_F16X2:
    case CT_OP_MAX_BF16X2: return ref_least(t, x, y, false);
    default: return ref_fma_half(t, x, y, z);
  }
}

static inline uint32_t ref_word(CtOp op, uint32_t a, uint32_t b, uint32_t c) {
  if (op < CT_OP_ADD_F16X2) { /* the words of ops.def come before its pairs */
    return ct_word_op(op, a, b, c);
  }
  return ref_half(op, a, b, c) | ref_half(op, a >> 16, b >> 16, c >> 16) << 16;
}

static inline bool is_word_op(CtOp op) {
  return ct_ops[op].types == CT_TYPES_U32 || ct_ops[op].types == CT_TYPES_I32;
}

#endif
