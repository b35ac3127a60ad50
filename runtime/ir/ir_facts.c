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

CtFacts ct_ir_facts(const CtIr *ir, CtInt i) {
  return i.kind == CT_DYNAMIC ? ir->insts[i.id].facts : ct_const_facts(i.v);
}

/* An interval in 128 bits, so that sums and products of 64-bit ends are exact. */
__extension__ typedef __int128 Wide;
typedef struct Span {
  Wide lo, hi;
} Span;

/* An operation on integers. The functions below give the range of its result before that is fitted to the type,
   and a divisor of it in *div, which is 1. */
typedef struct Operands {
  CtOp op;
  CtFacts a, b, all; /* all: of the type */
} Operands;

static Span span_all(const Operands *o) { return (Span){o->all.lo, o->all.hi}; }

static Span span_add(const Operands *o, int64_t *div) {
  *div = ct_gcd(o->a.div, o->b.div);
  return (Span){(Wide)o->a.lo + o->b.lo, (Wide)o->a.hi + o->b.hi};
}

static Span span_sub(const Operands *o, int64_t *div) {
  *div = ct_gcd(o->a.div, o->b.div);
  return (Span){(Wide)o->a.lo - o->b.hi, (Wide)o->a.hi - o->b.lo};
}

static Span span_neg(const Operands *o, int64_t *div) {
  *div = o->a.div;
  return (Span){-(Wide)o->a.hi, -(Wide)o->a.lo};
}

static Span span_min(const Operands *o, int64_t *div) {
  *div = ct_gcd(o->a.div, o->b.div);
  return (Span){ct_min(o->a.lo, o->b.lo), ct_min(o->a.hi, o->b.hi)};
}

static Span span_max(const Operands *o, int64_t *div) {
  *div = ct_gcd(o->a.div, o->b.div);
  return (Span){ct_max(o->a.lo, o->b.lo), ct_max(o->a.hi, o->b.hi)};
}

/* The span of four corners. */
static Span hull(const Wide p[4]) {
  Span s = {p[0], p[0]};
  for (int i = 1; i < 4; i++) {
    s.lo = p[i] < s.lo ? p[i] : s.lo;
    s.hi = p[i] > s.hi ? p[i] : s.hi;
  }
  return s;
}

static int64_t div_mul(int64_t a, int64_t b) {
  int64_t r;
  return ct_mul_overflow(a, b, &r) ? 1 : r;
}

static Span span_mul(const Operands *o, int64_t *div) {
  CtFacts a = o->a, b = o->b;
  *div = div_mul(a.div, b.div);
  return hull(
      (const Wide[]){(Wide)a.lo * b.lo, (Wide)a.lo * b.hi, (Wide)a.hi * b.lo, (Wide)a.hi * b.hi});
}

/* The divisors that a quotient can have: not 0, for there is no quotient then. An extent, whose range
   begins at 0, divides as one from 1 on. */
static CtFacts without_zero(CtFacts b) {
  b.lo += b.lo == 0;
  b.hi -= b.hi == 0;
  return b;
}

/* Quotients by a positive divisor; anything otherwise. */
static Span span_floordiv(const Operands *o, int64_t *div) {
  CtFacts a = o->a, b = without_zero(o->b);
  if (ct_facts_is_one(o->b) && o->b.lo > 0 && a.div % o->b.lo == 0) {
    *div = a.div / o->b.lo;
  }
  if (b.lo <= 0 || b.hi < b.lo) {
    return span_all(o);
  }
  return hull((const Wide[]){ct_floordiv(a.lo, b.lo), ct_floordiv(a.lo, b.hi),
                             ct_floordiv(a.hi, b.lo), ct_floordiv(a.hi, b.hi)});
}

static Span span_floormod(const Operands *o, int64_t *div) {
  CtFacts a = o->a, b = without_zero(o->b);
  *div = ct_gcd(a.div, o->b.div);
  if (b.lo <= 0 || b.hi < b.lo) {
    return span_all(o);
  }
  return a.lo >= 0 && a.hi < b.lo ? (Span){a.lo, a.hi} : (Span){0, (Wide)b.hi - 1};
}

/* That of a type's smallest number is the number itself. */
static Span span_abs(const Operands *o, int64_t *div) {
  *div = o->a.div;
  if (o->a.lo >= 0) {
    return (Span){o->a.lo, o->a.hi};
  }
  return o->a.lo == o->all.lo ? span_all(o) : (Span){0, ct_max(o->a.hi, -o->a.lo)};
}

/* Bits at and above the highest one of x >= 0 that may be set. */
static int64_t mask_of(int64_t x) {
  int64_t m = 0;
  while (m < x) {
    m = m * 2 + 1;
  }
  return m;
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

static Span span_bits(const Operands *o, int64_t *div) {
  CtFacts a = o->a, b = o->b;
  bool is_and = o->op == CT_OP_AND;
  *div = div_bits(o->op, a.div, b.div);
  if (a.lo < 0 || b.lo < 0) {
    bool masked = is_and && (a.lo >= 0 || b.lo >= 0);
    return masked ? (Span){0, a.lo >= 0 ? a.hi : b.hi} : span_all(o);
  }
  return is_and ? (Span){0, ct_min(a.hi, b.hi)} : (Span){0, mask_of(ct_max(a.hi, b.hi))};
}

/* Is the shift count a single known number? */
static bool is_known_count(CtFacts b) { return ct_facts_is_one(b) && b.lo >= 0 && b.lo < 62; }

static int64_t div_right(CtFacts a, int64_t count) {
  return ct_max(pow2_part(a.div) >> count, a.div == 0 ? 0 : 1);
}

static Span span_shift(const Operands *o, int64_t *div) {
  CtFacts a = o->a, b = o->b;
  bool left = o->op == CT_OP_SHL;
  if (is_known_count(b) && (left || a.lo >= 0)) {
    *div = left ? div_mul(a.div, (int64_t)1 << b.lo) : div_right(a, b.lo);
  }
  if (a.lo < 0 || b.lo < 0 || b.hi > 62) {
    return span_all(o);
  }
  return left ? (Span){(Wide)a.lo << b.lo, (Wide)a.hi << b.hi} : (Span){a.lo >> b.hi, a.hi >> b.lo};
}

static Span span_ashr(const Operands *o, int64_t *div) {
  CtFacts a = o->a, b = o->b;
  if (is_known_count(b)) {
    *div = div_right(a, b.lo);
  }
  if (b.lo < 0) {
    return span_all(o);
  }
  return (Span){ct_arithmetic_shift(a.lo, a.lo < 0 ? b.lo : b.hi),
                ct_arithmetic_shift(a.hi, a.hi < 0 ? b.hi : b.lo)};
}

/* If an operation has no row, every value of its type is possible. */
static Span (*const spans[CT_OP_COUNT])(const Operands *o, int64_t *div) = {
    [CT_OP_ADD] = span_add,   [CT_OP_SUB] = span_sub,           [CT_OP_MUL] = span_mul,
    [CT_OP_NEG] = span_neg,   [CT_OP_FLOORDIV] = span_floordiv, [CT_OP_FLOORMOD] = span_floormod,
    [CT_OP_MIN] = span_min,   [CT_OP_MAX] = span_max,           [CT_OP_ABS] = span_abs,
    [CT_OP_AND] = span_bits,  [CT_OP_OR] = span_bits,           [CT_OP_XOR] = span_bits,
    [CT_OP_SHL] = span_shift, [CT_OP_SHR] = span_shift,         [CT_OP_ASHR] = span_ashr,
};

/* A u64 is kept as an int64_t of the same bits, and so is its range. Sums, differences and products
   of bits do not care; what ORDERS does, unless both are known to be below 2^63. */
bool ct_is_signed_view(CtOp op, CtDtype type, CtFacts a, CtFacts b) {
  return type == CT_u64 && ct_op_has(op, CT_TRAIT_ORDERS) && (a.lo < 0 || b.lo < 0);
}

static bool can_wrap(CtOp op) {
  return op == CT_OP_ADD || op == CT_OP_SUB || op == CT_OP_MUL || op == CT_OP_NEG ||
         op == CT_OP_SHL;
}

bool ct_op_fits(CtOp op, CtDtype type, CtFacts a, CtFacts b) {
  const Operands o = {op, a, b, ct_type_facts(type)};
  bool has_least = a.lo == o.all.lo; /* the only operand whose opposite does not fit */
  int64_t div;
  if (op == CT_OP_NEG || op == CT_OP_ABS) {
    return !has_least;
  }
  if (op == CT_OP_FLOORDIV) {
    return !has_least || b.lo > -1 || b.hi < -1;
  }
  if (op == CT_OP_SHL && (a.lo < 0 || b.lo < 0 || b.hi > 62)) {
    return false;
  }
  Span s = spans[op](&o, &div);
  return s.lo >= o.all.lo && s.hi <= o.all.hi;
}

/* If the result of a sum or product is known to fit (`exact`), its range is cut to just inside the
   type's ends: one that reaches an end stands for a value that may have wrapped around. */
CtFacts ct_op_facts(CtOp op, CtDtype type, CtFacts a, CtFacts b, bool exact) {
  CtFacts all = ct_type_facts(type);
  CtFacts f;
  if (ct_is_signed_view(op, type, a, b)) {
    return all;
  }
  f.div = 1;
  const Operands o = {op, a, b, all};
  Span s = spans[op] == NULL ? span_all(&o) : spans[op](&o, &f.div);
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
