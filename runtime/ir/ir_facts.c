/* ir_facts.c: ranges and divisors of integers.

   Two kinds of integer arithmetic: the script's wraps around at its width, so a range that does not
   fit says nothing; the layout algebra's is exact (ct_ir_int_op), because a tensor's index type was
   chosen so that all its indices fit, and the range is cut to that type. */
#include "ir_build.h"

CtFacts ct_type_facts(CtDtype type) {
  if (ct_is_float(type) || type == CT_VOID) {
    return (CtFacts){INT64_MIN, INT64_MAX, 1};
  }
  return (CtFacts){ct_dtype_min(type), ct_dtype_max(type), 1};
}

CtFacts ct_const_facts(int64_t v) { return (CtFacts){v, v, v == INT64_MIN ? 1 : (v < 0 ? -v : v)}; }

/* An interval in 128 bits, so that sums and products of 64-bit ends are exact. */
__extension__ typedef __int128 Wide;
typedef struct Span {
  Wide lo, hi;
} Span;

static Span span_mul(CtFacts a, CtFacts b) {
  Wide p[4] = {(Wide)a.lo * b.lo, (Wide)a.lo * b.hi, (Wide)a.hi * b.lo, (Wide)a.hi * b.hi};
  Span s = {p[0], p[0]};
  for (int i = 1; i < 4; i++) {
    s.lo = p[i] < s.lo ? p[i] : s.lo;
    s.hi = p[i] > s.hi ? p[i] : s.hi;
  }
  return s;
}

/* The divisors that a quotient can have: not 0, for there is no quotient then. An extent, whose range
   begins at 0, divides as one from 1 on. */
static CtFacts without_zero(CtFacts b) {
  b.lo += b.lo == 0;
  b.hi -= b.hi == 0;
  return b;
}

/* Quotients by a positive divisor; anything otherwise. */
static Span span_floordiv(CtFacts a, CtFacts b, CtFacts all) {
  b = without_zero(b);
  if (b.lo <= 0 || b.hi < b.lo) {
    return (Span){all.lo, all.hi};
  }
  int64_t q[4] = {ct_floordiv(a.lo, b.lo), ct_floordiv(a.lo, b.hi), ct_floordiv(a.hi, b.lo),
                  ct_floordiv(a.hi, b.hi)};
  Span s = {q[0], q[0]};
  for (int i = 1; i < 4; i++) {
    s.lo = q[i] < s.lo ? q[i] : s.lo;
    s.hi = q[i] > s.hi ? q[i] : s.hi;
  }
  return s;
}

static Span span_floormod(CtFacts a, CtFacts b, CtFacts all) {
  b = without_zero(b);
  if (b.lo <= 0 || b.hi < b.lo) {
    return (Span){all.lo, all.hi};
  }
  if (a.lo >= 0 && a.hi < b.lo) {
    return (Span){a.lo, a.hi};
  }
  return (Span){0, (Wide)b.hi - 1};
}

static int64_t div_mul(int64_t a, int64_t b) {
  int64_t r;
  return ct_mul_overflow(a, b, &r) ? 1 : r;
}

/* Bits at and above the highest one of x >= 0 that may be set. */
static int64_t mask_of(int64_t x) {
  int64_t m = 0;
  while (m < x) {
    m = m * 2 + 1;
  }
  return m;
}

static Span span_bits(CtOp op, CtFacts a, CtFacts b, CtFacts all) {
  if (a.lo < 0 || b.lo < 0) {
    bool masked = op == CT_OP_AND && (a.lo >= 0 || b.lo >= 0);
    return masked ? (Span){0, a.lo >= 0 ? a.hi : b.hi} : (Span){all.lo, all.hi};
  }
  return op == CT_OP_AND ? (Span){0, ct_min(a.hi, b.hi)} : (Span){0, mask_of(ct_max(a.hi, b.hi))};
}

static int64_t pow2_part(int64_t d) { return d == 0 ? 0 : d & -d; }

/* The zeros that both end with, or, of an AND, that either does. 0 has all. */
static int64_t div_bits(CtOp op, int64_t a, int64_t b) {
  a = pow2_part(a);
  b = pow2_part(b);
  if (op == CT_OP_AND) {
    return a == 0 || b == 0 ? 0 : ct_max(a, b);
  }
  return a == 0 || b == 0 ? ct_max(a, b) : ct_min(a, b);
}

static Span span_shift(CtOp op, CtFacts a, CtFacts b, CtFacts all) {
  if (a.lo < 0 || b.lo < 0 || b.hi > 62) {
    return (Span){all.lo, all.hi};
  }
  return op == CT_OP_SHL ? (Span){(Wide)a.lo << b.lo, (Wide)a.hi << b.hi}
                         : (Span){a.lo >> b.hi, a.hi >> b.lo};
}

static int64_t arithmetic_shift(int64_t a, int64_t n) {
  return n > 62 ? -(a < 0) : ct_floordiv(a, (int64_t)1 << n);
}

static Span span_arithmetic_shift(CtFacts a, CtFacts b, CtFacts all) {
  if (b.lo < 0) {
    return (Span){all.lo, all.hi};
  }
  return (Span){arithmetic_shift(a.lo, a.lo < 0 ? b.lo : b.hi),
                arithmetic_shift(a.hi, a.hi < 0 ? b.hi : b.lo)};
}

/* A u64 is kept as an int64_t of the same bits, and so is its range. Sums, differences and products
   of bits do not care; what orders or divides does, unless both are known to be below 2^63. */
bool ct_is_signed_view(CtOp op, CtDtype type, CtFacts a, CtFacts b) {
  return type == CT_u64 && ct_op_has(op, CT_TRAIT_ORDERS) && (a.lo < 0 || b.lo < 0);
}

/* That of a type's smallest number is the number itself. */
static Span span_abs(CtFacts a, CtFacts all) {
  if (a.lo >= 0) {
    return (Span){a.lo, a.hi};
  }
  return a.lo == all.lo ? (Span){all.lo, all.hi} : (Span){0, ct_max(a.hi, -a.lo)};
}

/* Range of an integer operation before it is fitted to its type, and its divisor. */
static Span op_span(CtOp op, CtFacts a, CtFacts b, CtFacts all, int64_t *div) {
  *div = 1;
  switch (op) {
    case CT_OP_ADD:
      *div = ct_gcd(a.div, b.div);
      return (Span){(Wide)a.lo + b.lo, (Wide)a.hi + b.hi};
    case CT_OP_SUB:
      *div = ct_gcd(a.div, b.div);
      return (Span){(Wide)a.lo - b.hi, (Wide)a.hi - b.lo};
    case CT_OP_MUL: *div = div_mul(a.div, b.div); return span_mul(a, b);
    case CT_OP_NEG: *div = a.div; return (Span){-(Wide)a.hi, -(Wide)a.lo};
    case CT_OP_FLOORDIV:
      if (ct_facts_is_one(b) && b.lo > 0 && a.div % b.lo == 0) {
        *div = a.div / b.lo;
      }
      return span_floordiv(a, b, all);
    case CT_OP_FLOORMOD: *div = ct_gcd(a.div, b.div); return span_floormod(a, b, all);
    case CT_OP_MIN:
      *div = ct_gcd(a.div, b.div);
      return (Span){ct_min(a.lo, b.lo), ct_min(a.hi, b.hi)};
    case CT_OP_MAX:
      *div = ct_gcd(a.div, b.div);
      return (Span){ct_max(a.lo, b.lo), ct_max(a.hi, b.hi)};
    case CT_OP_ABS: *div = a.div; return span_abs(a, all);
    case CT_OP_AND:
    case CT_OP_OR:
    case CT_OP_XOR: *div = div_bits(op, a.div, b.div); return span_bits(op, a, b, all);
    case CT_OP_SHL:
    case CT_OP_SHR:
      if (op == CT_OP_SHR && ct_facts_is_one(b) && b.lo >= 0 && b.lo < 62 && a.lo >= 0) {
        *div = ct_max(pow2_part(a.div) >> b.lo, a.div == 0 ? 0 : 1);
      }
      if (op == CT_OP_SHL && ct_facts_is_one(b) && b.lo >= 0 && b.lo < 62) {
        *div = div_mul(a.div, (int64_t)1 << b.lo);
      }
      return span_shift(op, a, b, all);
    case CT_OP_ASHR:
      if (ct_facts_is_one(b) && b.lo >= 0 && b.lo < 62) {
        *div = ct_max(pow2_part(a.div) >> b.lo, a.div == 0 ? 0 : 1);
      }
      return span_arithmetic_shift(a, b, all);
    default: return (Span){all.lo, all.hi};
  }
}

static bool can_wrap(CtOp op) {
  return op == CT_OP_ADD || op == CT_OP_SUB || op == CT_OP_MUL || op == CT_OP_NEG ||
         op == CT_OP_SHL;
}

/* If the result of a sum or product is known to fit (`exact`), its range is cut to just inside the
   type's ends: one that reaches an end stands for a value that may have wrapped around. */
CtFacts ct_op_facts(CtOp op, CtDtype type, CtFacts a, CtFacts b, bool exact) {
  CtFacts all = ct_type_facts(type);
  CtFacts f;
  if (ct_is_signed_view(op, type, a, b)) {
    return all;
  }
  Span s = op_span(op, a, b, all, &f.div);
  if (exact && can_wrap(op)) {
    f.lo = s.lo <= all.lo ? all.lo + 1 : (int64_t)s.lo;
    f.hi = s.hi >= all.hi ? all.hi - 1 : (int64_t)s.hi;
  } else if (s.lo >= all.lo && s.hi <= all.hi) {
    f.lo = (int64_t)s.lo;
    f.hi = (int64_t)s.hi;
  } else {
    f.lo = all.lo;
    f.hi = all.hi;
    f.div = pow2_part(f.div);
  }
  if (f.div == 0 && (f.lo != 0 || f.hi != 0)) {
    f.div = 1;
  }
  return f;
}
