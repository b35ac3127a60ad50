/* ir_fold.c: the pure operations: constants are folded, and identities that keep every bit are applied.
   Ranges are in ir_facts.c, casts in ir_cast.c. */
#include <math.h>

#include "runtime/base/convert.h"
#include "runtime/math/math.h"
#include "ir_build.h"

/* --- constants -------------------------------------------------------------------------------- */

CtVal ct_ir_const_int(CtIr *ir, CtDtype type, int64_t v) {
  v = ct_dtype_wrap(type, v);
  CtInst key = {.op = CT_OP_CONST, .type = (uint8_t)type, .imm = {.i = v}};
  key.facts = ct_const_facts(v);
  return ct_ir_shared_inst(ir, &key);
}

CtVal ct_ir_const_float(CtIr *ir, CtDtype type, double v) {
  CtInst key = {.op = CT_OP_CONST, .type = (uint8_t)type};
  key.imm.f = ct_round_float(type, v);
  return ct_ir_shared_inst(ir, &key);
}

CtVal ct_ir_axis(CtIr *ir, CtOp op, int axis) {
  int64_t block = ir->block[axis];
  int64_t max_grid = axis == 0 ? INT32_MAX / block : 65535;
  CtInst key = {.op = (uint16_t)op, .type = CT_i32, .imm = {.i = axis}};
  key.facts = op == CT_OP_TID   ? (CtFacts){0, block - 1, block == 1 ? 0 : 1}
              : op == CT_OP_BID ? (CtFacts){0, max_grid - 1, 1}
                                : (CtFacts){ir->cluster[axis], max_grid, ir->cluster[axis]};
  return op == CT_OP_TID && block == 1 ? ct_ir_const_int(ir, CT_i32, 0)
                                       : ct_ir_shared_inst(ir, &key);
}

static const CtInst *at(const CtIr *ir, CtVal v) { return &ir->insts[v]; }
static bool is_const(const CtIr *ir, CtVal v) { return at(ir, v)->op == CT_OP_CONST; }
static bool is_int_const(const CtIr *ir, CtVal v, int64_t c) {
  return is_const(ir, v) && !ct_is_float((CtDtype)at(ir, v)->type) && at(ir, v)->imm.i == c;
}
static bool is_float_const(const CtIr *ir, CtVal v, double c) {
  return is_const(ir, v) && ct_is_float((CtDtype)at(ir, v)->type) && at(ir, v)->imm.f == c &&
         signbit(at(ir, v)->imm.f) == signbit(c);
}

static int64_t shift_left(CtDtype type, int64_t a, int64_t n) {
  int64_t width = ct_dtypes[type].bits;
  uint64_t bits = ct_bits_of_int(type, a);
  if (n <= -width || n >= width) {
    return 0;
  }
  return (int64_t)(n >= 0 ? bits << n : bits >> -n);
}

static int64_t opposite(int64_t n) { return n == INT64_MIN ? INT64_MAX : -n; }

/* Two integers of a type: as int64_t, and their bits. */
typedef struct Ints {
  CtDtype type;
  int64_t a, b;
  uint64_t x, y;
  bool is_u64, is_less;
} Ints;

/* Counts of u64 are never negative. */
static int64_t shift(const Ints *n, int64_t by) {
  return shift_left(n->type, n->a, n->is_u64 && n->b < 0 ? 64 : by);
}

/* Of 32 bits from the whole product; of 64 bits the signed one from the unsigned one. */
static uint64_t high_half(const Ints *n) {
  bool is_wide = ct_dtypes[n->type].bits == 64, is_signed = !ct_is_unsigned(n->type);
  uint64_t minus = (n->a < 0 ? n->y : 0) + (n->b < 0 ? n->x : 0);
  uint64_t high = __umul64hi(n->x, n->y) - (is_signed ? minus : 0);
  return is_wide ? high : (uint64_t)((int64_t)(n->x * n->y) >> 32);
}

static double float_mod(double a, double b) { /* Lua's */
  double r = fmod(a, b);
  return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}

/* What constants fold to: X(NAME, bits of two integers, a float), before it is rounded or wrapped to its type.
   An operation that has no row is left to the engines, whose own functions decide the last bit. */
#define BINARY_FOLDS(X)                                                                            \
  X(ADD, n->x + n->y, a + b)                                                                       \
  X(SUB, n->x - n->y, a - b)                                                                       \
  X(MUL, (n->x) * (n->y), (a) * (b))                                                               \
  X(FLOORDIV, n->is_u64 ? n->x / n->y : (uint64_t)ct_floordiv(n->a, n->b),                         \
    floor(ct_round_float(type, a / b)))                                                            \
  X(FLOORMOD, n->is_u64 ? n->x % n->y : (uint64_t)ct_floormod(n->a, n->b), float_mod(a, b))        \
  X(MIN, n->is_less ? n->x : n->y, a == b ? (signbit(a) ? a : b) : fmin(a, b)) /* -0 is below 0 */ \
  X(MAX, n->is_less ? n->y : n->x, a == b ? (signbit(a) ? b : a) : fmax(a, b))                     \
  X(LT, n->is_less, a < b)                                                                         \
  X(LE, n->is_less || n->x == n->y, a <= b)                                                        \
  X(EQ, n->x == n->y, a == b)                                                                      \
  X(NE, n->x != n->y, a != b)
#define INT_FOLDS(X)                                                                               \
  X(AND, (n->x) & (n->y))                                                                          \
  X(LAND, (n->x) & (n->y))                                                                         \
  X(OR, n->x | n->y)                                                                               \
  X(LOR, n->x | n->y)                                                                              \
  X(XOR, n->x ^ n->y)                                                                              \
  X(MULHI, high_half(n))                                                                           \
  X(SHL, (uint64_t)shift(n, n->b))                                                                 \
  X(SHR, (uint64_t)shift(n, opposite(n->b)))                                                       \
  X(ASHR, (uint64_t)(n->b < 0 ? shift(n, opposite(n->b)) : ct_arithmetic_shift(n->a, n->b)))

#define INT_FUNCTION(NAME, bits)                                                                   \
  static uint64_t int_##NAME(const Ints *n) { return bits; }
#define FLOAT_FUNCTION(NAME, number)                                                               \
  static double float_##NAME(CtDtype type, double a, double b) {                                   \
    (void)type;                                                                                    \
    return number;                                                                                 \
  }
#define FUNCTIONS(NAME, bits, number)                                                              \
  INT_FUNCTION(NAME, bits)                                                                         \
  FLOAT_FUNCTION(NAME, number)
BINARY_FOLDS(FUNCTIONS)
INT_FOLDS(INT_FUNCTION)
FLOAT_FUNCTION(DIV, a / b)

static const struct {
  uint64_t (*of_ints)(const Ints *n);
  double (*of_floats)(CtDtype type, double a, double b);
} folds[CT_OP_COUNT] = {
#define ROW(NAME, bits, number) [CT_OP_##NAME] = {int_##NAME, float_##NAME},
#define INT_ROW(NAME, bits) [CT_OP_##NAME] = {int_##NAME, NULL},
    [CT_OP_DIV] = {NULL, float_DIV}, BINARY_FOLDS(ROW) INT_FOLDS(INT_ROW)};

bool ct_fold_ints(CtOp op, CtDtype type, int64_t a, int64_t b, int64_t *r) {
  Ints n = {type, a, b, (uint64_t)a, (uint64_t)b, type == CT_u64, a < b};
  bool divides = op == CT_OP_FLOORDIV || op == CT_OP_FLOORMOD;
  n.is_less = n.is_u64 ? n.x < n.y : a < b;
  if (folds[op].of_ints == NULL || (divides && b == 0)) {
    return false;
  }
  *r = (int64_t)folds[op].of_ints(&n);
  return true;
}

/* --- identities ------------------------------------------------------------------------------- */

/* Of integers and bools. x op right and left op x are x; x op absorbing, or absorbing op x, is absorbing;
   x op x is same. */
enum { NO, ZERO, ONE };
typedef struct Identity {
  uint8_t right, left, absorbing, same;
} Identity;

static const Identity identities[CT_OP_COUNT] = {
    [CT_OP_ADD] = {ZERO, ZERO, NO, NO},  [CT_OP_SUB] = {ZERO, NO, NO, ZERO},
    [CT_OP_MUL] = {ONE, ONE, ZERO, NO},  [CT_OP_FLOORDIV] = {ONE, NO, NO, NO},
    [CT_OP_AND] = {NO, NO, ZERO, NO},    [CT_OP_OR] = {ZERO, ZERO, NO, NO},
    [CT_OP_XOR] = {ZERO, ZERO, NO, NO},  [CT_OP_SHL] = {ZERO, NO, NO, NO},
    [CT_OP_SHR] = {ZERO, NO, NO, NO},    [CT_OP_ASHR] = {ZERO, NO, NO, NO},
    [CT_OP_LAND] = {ONE, ONE, ZERO, NO}, [CT_OP_LOR] = {ZERO, ZERO, ONE, NO},
    [CT_OP_EQ] = {NO, NO, NO, ONE},      [CT_OP_NE] = {NO, NO, NO, ZERO},
    [CT_OP_LE] = {NO, NO, NO, ONE},      [CT_OP_LT] = {NO, NO, NO, ZERO}};

static bool is_it(const CtIr *ir, CtVal v, int constant) {
  return constant != NO && is_int_const(ir, v, constant - ZERO);
}

/* How two ranges compare: this decides a comparison, or which operand MIN and MAX take. */
enum { BELOW = 1, NOT_ABOVE = 2, ABOVE = 4, NOT_BELOW = 8 };
static const struct {
  uint8_t yes, no; /* true or the left one; false or the right one */
} decisions[CT_OP_COUNT] = {
    [CT_OP_LT] = {BELOW, NOT_BELOW},      [CT_OP_LE] = {NOT_ABOVE, ABOVE},
    [CT_OP_EQ] = {0, BELOW | ABOVE},      [CT_OP_NE] = {BELOW | ABOVE, 0},
    [CT_OP_MIN] = {NOT_ABOVE, NOT_BELOW}, [CT_OP_MAX] = {NOT_BELOW, NOT_ABOVE}};

/* A comparison or division that the ranges of its integer operands decide: the value, or 0. */
static CtVal by_range(CtIr *ir, CtOp op, CtVal a, CtVal b) {
  CtFacts x = at(ir, a)->facts, y = at(ir, b)->facts;
  CtDtype type = (CtDtype)at(ir, a)->type;
  bool is_bool = ct_ops[op].result == CT_RES_BOOL;
  int holds = (x.hi < y.lo ? BELOW : 0) | (x.hi <= y.lo ? NOT_ABOVE : 0) |
              (x.lo > y.hi ? ABOVE : 0) | (x.lo >= y.hi ? NOT_BELOW : 0);
  if (ct_is_signed_view(op, type, x, y)) {
    return 0;
  }
  if ((holds & decisions[op].yes) != 0) {
    return is_bool ? ct_ir_const_int(ir, CT_bool, 1) : a;
  }
  if ((holds & decisions[op].no) != 0) {
    return is_bool ? ct_ir_const_int(ir, CT_bool, 0) : b;
  }
  if ((op == CT_OP_FLOORDIV || op == CT_OP_FLOORMOD) && x.lo >= 0 && y.lo > x.hi) {
    return op == CT_OP_FLOORMOD ? a : ct_ir_const_int(ir, type, 0);
  }
  bool is_multiple = ct_facts_is_one(y) && y.lo > 0 && x.div % y.lo == 0;
  return op == CT_OP_FLOORMOD && is_multiple ? ct_ir_const_int(ir, type, 0) : 0;
}

/* Its range shows that it did not wrap around. */
static bool is_exact(const CtInst *p) {
  CtFacts all = ct_type_facts((CtDtype)p->type);
  return ct_is_unsigned((CtDtype)p->type) ? p->facts.lo >= 0 && p->facts.hi < all.hi
                                          : p->facts.lo > all.lo && p->facts.hi < all.hi;
}

/* (x * c) // c is x when the product is exact. */
static CtVal undo_product(const CtIr *ir, CtVal a, CtVal b) {
  const CtInst *p = at(ir, a);
  bool is_positive = at(ir, b)->facts.lo > 0;
  return p->op == CT_OP_MUL && is_exact(p) && p->args[1] == b && is_positive ? p->args[0] : 0;
}

/* (x * c + y) // c is x, and (x * c + y) % c is y, if 0 <= y < c and nothing wraps around. */
static CtVal undo_sum(const CtIr *ir, CtOp op, CtVal a, CtVal b) {
  const CtInst *sum = at(ir, a);
  if (sum->op != CT_OP_ADD || !is_exact(sum)) {
    return 0;
  }
  for (int i = 0; i < 2; i++) {
    CtVal x = undo_product(ir, sum->args[i], b), y = sum->args[1 - i];
    CtFacts rest = at(ir, y)->facts;
    if (x != 0 && rest.lo >= 0 && rest.hi < at(ir, b)->facts.lo) {
      return op == CT_OP_FLOORDIV ? x : y;
    }
  }
  return 0;
}

/* x // c and x % c. */
static CtVal undo(const CtIr *ir, CtOp op, CtVal a, CtVal b) {
  CtVal x = op == CT_OP_FLOORDIV ? undo_product(ir, a, b) : 0;
  return x != 0 ? x : undo_sum(ir, op, a, b);
}

/* x & mask is 0 if no bit of the mask can be set in x. */
static bool is_masked_out(const CtIr *ir, CtVal a, CtVal b) {
  CtFacts x = at(ir, is_const(ir, a) ? b : a)->facts;
  int64_t mask = at(ir, is_const(ir, a) ? a : b)->imm.i;
  int64_t low = x.div & -x.div;
  bool above = x.lo >= 0 && mask > 0 && x.hi < (mask & -mask);
  return above || (mask > 0 && low > mask);
}

static CtVal int_identity(CtIr *ir, CtOp op, CtVal a, CtVal b) {
  CtDtype type = (CtDtype)at(ir, a)->type;
  const Identity *id = &identities[op];
  bool is_bool = ct_ops[op].result == CT_RES_BOOL;
  if (is_it(ir, a, id->absorbing) || is_it(ir, b, id->right)) {
    return a;
  }
  if (is_it(ir, b, id->absorbing) || is_it(ir, a, id->left)) {
    return b;
  }
  if (a == b && id->same != NO) {
    return ct_ir_const_int(ir, is_bool ? CT_bool : type, id->same - ZERO);
  }
  if (op == CT_OP_SUB && is_int_const(ir, a, 0)) {
    return ct_ir_unary(ir, CT_OP_NEG, b);
  }
  if (op == CT_OP_MUL && (is_int_const(ir, a, -1) || is_int_const(ir, b, -1))) {
    return ct_ir_unary(ir, CT_OP_NEG, is_const(ir, a) ? b : a);
  }
  bool is_zero =
      (op == CT_OP_FLOORMOD && is_int_const(ir, b, 1)) ||
      (op == CT_OP_AND && (is_const(ir, a) || is_const(ir, b)) && is_masked_out(ir, a, b));
  bool divides = op == CT_OP_FLOORDIV || op == CT_OP_FLOORMOD;
  return is_zero ? ct_ir_const_int(ir, type, 0) : divides ? undo(ir, op, a, b) : 0;
}

/* Only those that keep every bit, signed zeros and NaN included. */
static CtVal float_identity(const CtIr *ir, CtOp op, CtVal a, CtVal b) {
  double neutral = op == CT_OP_ADD ? -0.0 : op == CT_OP_SUB ? 0.0 : 1.0;
  bool has_one = op == CT_OP_ADD || op == CT_OP_SUB || op == CT_OP_MUL || op == CT_OP_DIV;
  if (!has_one || is_float_const(ir, b, neutral)) {
    return has_one ? a : 0;
  }
  return ct_op_has(op, CT_TRAIT_COMMUTES) && is_float_const(ir, a, neutral) ? b : 0;
}

static CtVal fold_binary(CtIr *ir, CtOp op, CtVal a, CtVal b) {
  const CtInst *x = at(ir, a), *y = at(ir, b);
  CtDtype type = (CtDtype)x->type;
  bool both = is_const(ir, a) && is_const(ir, b), is_bool = ct_ops[op].result == CT_RES_BOOL;
  int64_t i;
  if (ct_is_float(type)) {
    double f;
    if (!both) {
      return float_identity(ir, op, a, b);
    }
    if (folds[op].of_floats != NULL) {
      f = folds[op].of_floats(type, x->imm.f, y->imm.f);
    } else if (!ct_fold_math(op, type, x->imm.f, y->imm.f, &f)) {
      return float_identity(ir, op, a, b);
    }
    return is_bool ? ct_ir_const_int(ir, CT_bool, f != 0) : ct_ir_const_float(ir, type, f);
  }
  if (both && ct_fold_ints(op, type, x->imm.i, y->imm.i, &i)) {
    return ct_ir_const_int(ir, is_bool ? CT_bool : type, i);
  }
  CtVal v = int_identity(ir, op, a, b);
  return v != 0 ? v : by_range(ir, op, a, b);
}

/* Narrows x by `x < c` or `x <= c`, which holds here, or does not. */
static void narrow(const CtIr *ir, const CtInst *cond, bool holds, CtVal x, CtFacts *f) {
  bool is_less = cond->op == CT_OP_LT || cond->op == CT_OP_LE;
  int64_t last = cond->op == CT_OP_LT; /* the bound itself is out */
  if (is_less && cond->args[0] == x) {
    CtFacts c = at(ir, cond->args[1])->facts;
    if (holds) {
      f->hi = ct_min(f->hi, c.hi - last);
    } else {
      f->lo = ct_max(f->lo, c.lo + !last);
    }
  } else if (is_less && cond->args[1] == x) {
    CtFacts c = at(ir, cond->args[0])->facts;
    if (holds) {
      f->lo = ct_max(f->lo, c.lo + last);
    } else {
      f->hi = ct_min(f->hi, c.hi - !last);
    }
  }
}

/* The facts of a thread's index here: the roles of warp groups count their threads from 0, as in
   threadIdx.x - 128 where that is not less than 128. */
static CtFacts facts_here(const CtIr *ir, CtVal x) {
  CtFacts f = at(ir, x)->facts;
  for (CtRegion r = ir->cur; r > 1;) {
    const CtInst *owner = at(ir, ir->regions[r].owner);
    if (owner->op == CT_OP_IF) {
      narrow(ir, at(ir, owner->args[0]), owner->u.regions[0] == r, x, &f);
    }
    r = owner->region;
  }
  return f.lo <= f.hi ? f : at(ir, x)->facts;
}

static void take_condition(const CtIr *ir, CtOp op, CtVal a, CtVal b, CtInst *key) {
  if (op == CT_OP_SUB && key->facts.lo < 0 && at(ir, a)->op == CT_OP_TID && is_const(ir, b)) {
    CtFacts f = ct_op_facts(op, CT_i32, facts_here(ir, a), at(ir, b)->facts, false);
    key->is_conditional = f.lo >= 0;
    key->facts = f.lo >= 0 ? f : key->facts;
  }
}

/* A constant that operands were folded to; it has a type only if they have. */
static CtVal keep_untyped(CtIr *ir, CtVal folded, const CtVal *args, int n) {
  const CtInst *x = at(ir, folded);
  bool is_new = x->op == CT_OP_CONST && ct_is_float((CtDtype)x->type) && x->untyped == CT_TYPED;
  if (!is_new || ct_ir_untyped_of(ir, args, n, false) == CT_TYPED) {
    return folded;
  }
  CtInst key = {.op = CT_OP_CONST, .type = x->type, .imm = x->imm, .untyped = CT_UNTYPED_COMPUTED};
  return ct_ir_shared_inst(ir, &key);
}

static CtVal binary(CtIr *ir, CtOp op, CtVal a, CtVal b, bool exact) {
  if (a == 0 || b == 0) {
    ir->failed = true;
    return 0;
  }
  CtDtype type = (CtDtype)at(ir, a)->type;
  CT_ASSERT((at(ir, b)->type == type && !ct_is_narrow(type)) || ir->failed);
  CtVal folded = fold_binary(ir, op, a, b);
  if (folded != 0) {
    return keep_untyped(ir, folded, (const CtVal[]){a, b}, 2);
  }
  if (ct_op_has(op, CT_TRAIT_COMMUTES) && is_const(ir, a)) {
    CtVal t = a;
    a = b;
    b = t;
  }
  CtInst key = {.op = (uint16_t)op, .type = (uint8_t)type, .args = {a, b}};
  if (ct_ops[op].result == CT_RES_BOOL) {
    key.type = CT_bool;
    key.facts = ct_type_facts(CT_bool);
  } else if (!ct_is_float(type)) {
    key.facts = ct_op_facts(op, type, at(ir, a)->facts, at(ir, b)->facts, exact);
    take_condition(ir, op, a, b, &key);
  }
  return ct_ir_shared_inst(ir, &key);
}

CtVal ct_ir_binary(CtIr *ir, CtOp op, CtVal a, CtVal b) { return binary(ir, op, a, b, false); }

CtVal ct_ir_binary_exact(CtIr *ir, CtOp op, CtVal a, CtVal b) { return binary(ir, op, a, b, true); }

/* For the low `width` bits of v. */
int64_t ct_bits_op(CtOp op, int width, uint64_t v) {
  uint64_t x = width == 64 ? v : v & (((uint64_t)1 << width) - 1), reversed = 0;
  for (int i = 0; i < width; i++) {
    reversed = reversed << 1 | (x >> i & 1);
  }
  return op == CT_OP_POPC  ? __builtin_popcountll(x)
         : op == CT_OP_CLZ ? (x == 0 ? width : __builtin_clzll(x) - (64 - width))
         : op == CT_OP_FFS ? __builtin_ffsll((long long)x)
                           : (int64_t)reversed;
}

/* POPC, CLZ and FFS have an i32. */
static CtDtype result_of(CtOp op, CtDtype type) {
  CtOpResult result = ct_ops[op].result;
  return result == CT_RES_BOOL ? CT_bool : result == CT_RES_GIVEN ? CT_i32 : type;
}

static int64_t int_neg(CtOp op, CtDtype type, int64_t a) {
  (void)op;
  (void)type;
  return (int64_t)(0 - (uint64_t)a);
}

static int64_t int_abs(CtOp op, CtDtype type, int64_t a) {
  return a < 0 ? int_neg(op, type, a) : a;
}

static int64_t int_not(CtOp op, CtDtype type, int64_t a) {
  (void)type;
  return op == CT_OP_LNOT ? a == 0 : ~a;
}

static int64_t int_bits(CtOp op, CtDtype type, int64_t a) {
  return ct_bits_op(op, ct_dtypes[type].bits, (uint64_t)a);
}

static double float_neg(double a) { return -a; }

/* The functions that fold constants, besides those of ct_fold_math. */
static const struct {
  int64_t (*of_int)(CtOp op, CtDtype type, int64_t a);
  double (*of_float)(double a);
} unary_folds[CT_OP_COUNT] = {
    [CT_OP_NEG] = {int_neg, float_neg}, [CT_OP_ABS] = {int_abs, fabs},
    [CT_OP_NOT] = {int_not, NULL},      [CT_OP_LNOT] = {int_not, NULL},
    [CT_OP_BREV] = {int_bits, NULL},    [CT_OP_POPC] = {int_bits, NULL},
    [CT_OP_CLZ] = {int_bits, NULL},     [CT_OP_FFS] = {int_bits, NULL},
    [CT_OP_FLOOR] = {NULL, floor},      [CT_OP_CEIL] = {NULL, ceil},
    [CT_OP_TRUNC] = {NULL, trunc},      [CT_OP_ROUND] = {NULL, round},
    [CT_OP_RINT] = {NULL, nearbyint},
};

/* not not a, not (a == b), not (a < b); with NaN not (a < b) is not b <= a. */
static CtVal fold_not(CtIr *ir, const CtInst *x) {
  bool is_order = x->op == CT_OP_LT || x->op == CT_OP_LE;
  if (x->op == CT_OP_LNOT) {
    return x->args[0];
  }
  if (x->op == CT_OP_EQ || x->op == CT_OP_NE) {
    return ct_ir_binary(ir, x->op == CT_OP_EQ ? CT_OP_NE : CT_OP_EQ, x->args[0], x->args[1]);
  }
  if (is_order && !ct_is_float((CtDtype)at(ir, x->args[0])->type)) {
    return ct_ir_binary(ir, x->op == CT_OP_LT ? CT_OP_LE : CT_OP_LT, x->args[1], x->args[0]);
  }
  return 0;
}

static CtVal fold_unary(CtIr *ir, CtOp op, CtVal a) {
  const CtInst *x = at(ir, a);
  CtDtype type = (CtDtype)x->type;
  if (op == CT_OP_ABS && ct_is_unsigned(type)) {
    return a;
  }
  if (!is_const(ir, a)) {
    return op == CT_OP_LNOT ? fold_not(ir, x) : 0;
  }
  if (ct_is_float(type)) {
    double (*fold)(double) = unary_folds[op].of_float;
    double f = fold != NULL ? fold(x->imm.f) : 0;
    bool known = fold != NULL || ct_fold_math(op, type, x->imm.f, 0, &f);
    return known ? ct_ir_const_float(ir, type, f) : 0;
  }
  int64_t (*fold)(CtOp, CtDtype, int64_t) = unary_folds[op].of_int;
  return fold == NULL ? 0 : ct_ir_const_int(ir, result_of(op, type), fold(op, type, x->imm.i));
}

CtVal ct_ir_unary(CtIr *ir, CtOp op, CtVal a) {
  CtDtype type = (CtDtype)at(ir, a)->type;
  CtVal folded = fold_unary(ir, op, a);
  if (folded != 0) {
    return keep_untyped(ir, folded, &a, 1);
  }
  CtInst key = {.op = (uint16_t)op, .type = (uint8_t)result_of(op, type), .args = {a}};
  if (key.type == CT_bool) {
    key.facts = ct_type_facts(CT_bool);
  } else if (ct_ops[op].result == CT_RES_GIVEN) { /* of bits */
    key.facts = (CtFacts){0, ct_dtypes[type].bits, 1};
  } else if (!ct_is_float(type)) {
    key.facts = ct_op_facts(op, type, at(ir, a)->facts, ct_const_facts(0), false);
  }
  return ct_ir_shared_inst(ir, &key);
}

CtVal ct_ir_fma(CtIr *ir, CtVal a, CtVal b, CtVal c) {
  CtInst key = {.op = CT_OP_FMA, .type = at(ir, a)->type, .args = {a, b, c}};
  return ct_ir_shared_inst(ir, &key);
}

CtVal ct_ir_select(CtIr *ir, CtVal c, CtVal a, CtVal b) {
  if (is_const(ir, c)) {
    return at(ir, c)->imm.i != 0 ? a : b;
  }
  if (a == b) {
    return a;
  }
  CtInst key = {.op = CT_OP_SELECT, .type = at(ir, a)->type, .args = {c, a, b}};
  CtFacts x = at(ir, a)->facts;
  CtFacts y = at(ir, b)->facts;
  key.facts = (CtFacts){ct_min(x.lo, y.lo), ct_max(x.hi, y.hi), ct_gcd(x.div, y.div)};
  return ct_ir_shared_inst(ir, &key);
}
