/* emit_expr.c: values as C expressions, with as few parentheses as C needs and people expect.

   Integers of the language wrap around; C leaves signed overflow undefined. If the range of a
   result does not show that it fits, we compute with unsigned numbers: (int)((unsigned)a + b). */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/convert.h"
#include "emit.h"

/* How to write an operation: between its operands, before its operand, or as a call chosen by
   type. */
typedef struct Spelling {
  void (*put)(CtEmit *e, CtVal v, CtPrec min);
  const char *infix, *prefix;
  const char *f32, *f64, *i;
  CtPrec prec;
  CtPrec left, right; /* how weakly the operands may bind */
  CtHelper helper, helper64;
  CtHelper soft; /* PAIR: for targets before `sm` */
  int sm;
} Spelling;

static const Spelling *spelling_of(const CtInst *inst);

/* --- wrapping integers --------------------------------------------------------------------------- */

static bool is_sum_or_product(const CtInst *inst) {
  return ct_is_int((CtDtype)inst->type) && (inst->op == CT_OP_ADD || inst->op == CT_OP_SUB ||
                                            inst->op == CT_OP_MUL || inst->op == CT_OP_NEG);
}

/* Will its operation be written out here? A declared value has a name instead. */
static bool is_spelled(const CtEmit *e, CtVal v) {
  return e->vals[v].name == NULL && !ct_emit_is_leaf(e->ir, v);
}

static bool may_wrap(const CtEmit *e, CtVal v) {
  return is_spelled(e, v) && is_sum_or_product(ct_inst(e->ir, v)) && !ct_emit_is_exact(e->ir, v);
}

static const char *unsigned_of(const CtInst *inst) {
  return ct_dtypes[inst->type].bits == 32 ? "unsigned" : "unsigned long long";
}

static const Spelling difference = {
    .infix = "-", .prec = CT_PREC_ADD, .left = CT_PREC_ADD, .right = CT_PREC_MUL};

/* An unsigned expression that is v modulo 2^width. */
static void put_modular(CtEmit *e, CtVal v, CtPrec min) {
  const CtInst *inst = ct_inst(e->ir, v);
  if (inst->op == CT_OP_CONST) {
    uint64_t bits = inst->type == CT_i32 ? (uint32_t)inst->imm.i : (uint64_t)inst->imm.i;
    ct_text_printf(&e->body, "%" PRIu64 "%s", bits, inst->type == CT_i32 ? "u" : "ull");
    return;
  }
  bool whole = is_spelled(e, v) && is_sum_or_product(inst);
  if (!whole) {
    ct_emit_put(e, "(%s)%u", unsigned_of(inst), v);
    return;
  }
  const Spelling *s = inst->op == CT_OP_NEG ? &difference : spelling_of(inst);
  CtVal right = inst->args[inst->op == CT_OP_NEG ? 0 : 1];
  ct_text_puts(&e->body, s->prec < min ? "(" : "");
  if (inst->op == CT_OP_NEG) {
    ct_text_puts(&e->body, inst->type == CT_i32 ? "0u" : "0ull");
  } else {
    put_modular(e, inst->args[0], s->left);
  }
  ct_text_printf(&e->body, " %s ", s->infix);
  if (may_wrap(e, right)) {
    put_modular(e, right, s->right);
  } else {
    ct_emit_expr(e, right, s->right);
  }
  ct_text_puts(&e->body, s->prec < min ? ")" : "");
}

static void put_wrapped(CtEmit *e, CtVal v) {
  ct_text_printf(&e->body, "(%s)(", ct_dtypes[ct_inst(e->ir, v)->type].cuda);
  put_modular(e, v, CT_PREC_ANY);
  ct_text_putc(&e->body, ')');
}

/* --- operations ----------------------------------------------------------------------------------- */

static void put_named(CtEmit *e, const char *name, const CtInst *inst) {
  ct_text_printf(&e->body, "%s(", name);
  for (int i = 0; i < inst->n_args; i++) {
    ct_emit_put(e, i > 0 ? ", %c" : "%c", inst->args[i]);
  }
  ct_text_putc(&e->body, ')');
}

/* A function of the prelude by type: X(NAME) has one for each type. */
typedef CtHelper Helpers[CT_DTYPE_COUNT];

static void put_help(CtEmit *e, const Helpers helpers, const CtInst *inst) {
  put_named(e, ct_emit_help(e, helpers[inst->type]), inst);
}

static void put_call(CtEmit *e, CtVal v, CtPrec min) {
  const CtInst *inst = ct_inst(e->ir, v);
  const Spelling *s = spelling_of(inst);
  const char *by_type = inst->type == CT_f32 ? s->f32 : inst->type == CT_f64 ? s->f64 : s->i;
  (void)min; /* nothing binds as tightly */
  put_named(e, s->f32 == NULL ? ct_emit_help(e, s->helper) : by_type, inst);
}

/* Before their instructions, pairs are computed half by half. */
static void put_pair(CtEmit *e, CtVal v, CtPrec min) {
  static const CtHelper casts[] = {CT_HELP_F16_TO_F32, CT_HELP_F32_TO_F16, CT_HELP_BF16_TO_F32,
                                   CT_HELP_F32_TO_BF16_SOFT, CT_HELP_FMA_BF16X2_SOFT};
  const CtInst *inst = ct_inst(e->ir, v);
  const Spelling *s = spelling_of(inst);
  bool is_hard = e->ir->target.sm >= s->sm;
  (void)min;
  for (size_t i = 0; i < CT_ARRAY_LEN(casts) && !is_hard; i++) {
    (void)ct_emit_help(e, casts[i]);
  }
  put_named(e, ct_emit_help(e, is_hard ? s->helper : s->soft), inst);
}

/* A function of runtime/math. */
static void put_own(CtEmit *e, CtVal v, CtPrec min) {
  const CtInst *inst = ct_inst(e->ir, v);
  const Spelling *s = spelling_of(inst);
  (void)min;
  put_named(e, ct_emit_help(e, inst->type == CT_f32 ? s->helper : s->helper64), inst);
}

static void put_get(CtEmit *e, CtVal v, CtPrec min) {
  (void)min;
  ct_text_puts(&e->body, e->vals[ct_inst(e->ir, v)->imm.i].name);
}

static void put_load(CtEmit *e, CtVal v, CtPrec min) {
  const CtInst *inst = ct_inst(e->ir, v);
  (void)min;
  ct_emit_load(e, (uint32_t)inst->imm.i, inst->args[0]);
}

static bool is_natural(const CtIr *ir, CtVal v) {
  return ct_is_int((CtDtype)ct_inst(ir, v)->type) && ct_inst(ir, v)->facts.lo >= 0;
}

/* a + (b + c) may be written a + b + c if no partial sum can be larger than the whole. */
static CtPrec right_prec(const CtEmit *e, CtVal v) {
  const CtInst *inst = ct_inst(e->ir, v);
  const CtInst *right = ct_inst(e->ir, inst->args[1]);
  bool is_sum = inst->op == CT_OP_ADD && right->op == CT_OP_ADD &&
                is_natural(e->ir, inst->args[0]) && is_spelled(e, inst->args[1]) &&
                is_natural(e->ir, right->args[0]) && is_natural(e->ir, right->args[1]);
  return is_sum ? CT_PREC_ADD : spelling_of(inst)->right;
}

static CtPrec left_prec(const CtEmit *e, CtVal v) {
  const CtInst *inst = ct_inst(e->ir, v);
  const Spelling *s = spelling_of(inst);
  bool same = ct_inst(e->ir, inst->args[0])->op == inst->op && s->left > s->prec;
  bool chains = inst->op == CT_OP_AND || inst->op == CT_OP_OR || inst->op == CT_OP_XOR ||
                inst->op == CT_OP_LOR;
  return same && chains ? s->prec : s->left;
}

/* "x - 3" for x + -3; the least number has no opposite of its type. */
static bool put_difference(CtEmit *e, const CtInst *inst) {
  const CtInst *right = ct_inst(e->ir, inst->args[1]);
  if (inst->op != CT_OP_ADD || right->op != CT_OP_CONST || !ct_is_int((CtDtype)inst->type) ||
      right->imm.i >= 0 || right->imm.i == ct_type_facts((CtDtype)inst->type).lo) {
    return false;
  }
  ct_emit_expr(e, inst->args[0], CT_PREC_ADD);
  ct_text_puts(&e->body, " - ");
  ct_emit_int(e, CT_i32, -right->imm.i);
  return true;
}

/* "x > 3" for 3 < x. */
static bool put_mirrored(CtEmit *e, const CtInst *inst) {
  bool is_order = inst->op == CT_OP_LT || inst->op == CT_OP_LE;
  if (!is_order || ct_inst(e->ir, inst->args[0])->op != CT_OP_CONST) {
    return false;
  }
  ct_emit_put(e, "%h %s %h", inst->args[1], inst->op == CT_OP_LT ? ">" : ">=", inst->args[0]);
  return true;
}

/* A small constant after a 64-bit operand needs no LL. */
static void put_right(CtEmit *e, CtVal v) {
  const CtInst *inst = ct_inst(e->ir, v);
  const CtInst *right = ct_inst(e->ir, inst->args[1]);
  if (right->op == CT_OP_CONST && right->type == CT_i64 && right->imm.i >= 0 &&
      right->imm.i <= INT32_MAX) {
    ct_emit_int(e, CT_i32, right->imm.i);
  } else {
    ct_emit_expr(e, inst->args[1], right_prec(e, v));
  }
}

static void put_infix(CtEmit *e, CtVal v, CtPrec min) {
  const CtInst *inst = ct_inst(e->ir, v);
  const Spelling *s = spelling_of(inst);
  ct_text_puts(&e->body, s->prec < min ? "(" : "");
  if (!put_difference(e, inst) && !put_mirrored(e, inst)) {
    ct_emit_expr(e, inst->args[0], left_prec(e, v));
    ct_text_printf(&e->body, " %s ", s->infix);
    put_right(e, v);
  }
  ct_text_puts(&e->body, s->prec < min ? ")" : "");
}

static void put_operand(CtEmit *e, CtVal v, CtPrec min) {
  ct_emit_expr(e, ct_inst(e->ir, v)->args[0], min);
}

static void put_prefix(CtEmit *e, CtVal v, CtPrec min) {
  const CtInst *inst = ct_inst(e->ir, v);
  const char *token = spelling_of(inst)->prefix;
  bool paren = min > CT_PREC_UNARY;
  ct_text_puts(&e->body, paren ? "(" : "");
  ct_text_puts(&e->body, token);
  /* not two minus signs in a row */
  ct_emit_expr(e, inst->args[0], token[0] == '-' ? CT_PREC_PRIMARY : CT_PREC_UNARY);
  ct_text_puts(&e->body, paren ? ")" : "");
}

/* Integers wrap around. */
static void put_sum(CtEmit *e, CtVal v, CtPrec min) {
  if (is_sum_or_product(ct_inst(e->ir, v)) && !ct_emit_is_exact(e->ir, v)) {
    put_wrapped(e, v);
  } else {
    put_infix(e, v, min);
  }
}

/* The assembler may lose the sign of an operand of MIN and MAX: see NEGATED in the prelude. */
static void put_neg(CtEmit *e, CtVal v, CtPrec min) {
  if (e->vals[v].in_extreme && ct_inst(e->ir, v)->type == CT_i32) {
    put_named(e, ct_emit_help(e, CT_HELP_NEGATED), ct_inst(e->ir, v));
  } else if (is_sum_or_product(ct_inst(e->ir, v)) && !ct_emit_is_exact(e->ir, v)) {
    put_wrapped(e, v);
  } else {
    put_prefix(e, v, min);
  }
}

/* "x >> 4" for x // 16, "x & 15" for x % 16. */
static void put_bit_division(CtEmit *e, CtVal v, CtPrec min) {
  const CtInst *inst = ct_inst(e->ir, v);
  bool is_div = inst->op == CT_OP_FLOORDIV;
  CtPrec prec = is_div ? CT_PREC_SHIFT : CT_PREC_AND;
  int64_t n = ct_inst(e->ir, inst->args[1])->imm.i;
  ct_text_puts(&e->body, prec < min ? "(" : "");
  ct_emit_expr(e, inst->args[0], CT_PREC_UNARY);
  ct_text_puts(&e->body, is_div ? " >> " : " & ");
  ct_emit_int(e, CT_i32, is_div ? __builtin_ctzll((uint64_t)n) : n - 1);
  ct_text_puts(&e->body, prec < min ? ")" : "");
}

/* Division of integers, without or with a function. */
static void put_division(CtEmit *e, CtVal v, CtPrec min, const Helpers helpers) {
  const CtInst *inst = ct_inst(e->ir, v);
  if (ct_emit_is_plain_division(e->ir, inst)) {
    put_infix(e, v, min);
  } else if (ct_emit_is_bit_division(e->ir, inst)) {
    put_bit_division(e, v, min);
  } else {
    put_help(e, helpers, inst);
  }
}

static void put_div(CtEmit *e, CtVal v, CtPrec min) {
  static const Helpers helpers = {[CT_i32] = CT_HELP_FLOORDIV_i32, [CT_i64] = CT_HELP_FLOORDIV_i64};
  const CtInst *inst = ct_inst(e->ir, v);
  if (!ct_is_float((CtDtype)inst->type)) {
    put_division(e, v, min, helpers);
    return;
  }
  ct_text_puts(&e->body, inst->type == CT_f32 ? "floorf(" : "floor(");
  put_infix(e, v, CT_PREC_ANY);
  ct_text_putc(&e->body, ')');
}

static void put_mod(CtEmit *e, CtVal v, CtPrec min) {
  static const Helpers helpers = {[CT_f32] = CT_HELP_FLOORMOD_f32,
                                  [CT_f64] = CT_HELP_FLOORMOD_f64,
                                  [CT_i32] = CT_HELP_FLOORMOD_i32,
                                  [CT_i64] = CT_HELP_FLOORMOD_i64};
  const CtInst *inst = ct_inst(e->ir, v);
  if (ct_is_float((CtDtype)inst->type)) {
    put_help(e, helpers, inst);
  } else {
    put_division(e, v, min, helpers);
  }
}

/* (int)((unsigned)x << 3); plain if x and the result are known not to be negative. */
static void put_shift_by(CtEmit *e, CtVal v, CtPrec min) {
  const CtInst *inst = ct_inst(e->ir, v);
  bool natural =
      ct_is_unsigned((CtDtype)inst->type) ||
      (is_natural(e->ir, inst->args[0]) && (inst->op == CT_OP_SHR || ct_emit_is_exact(e->ir, v)));
  if (natural) {
    put_infix(e, v, min);
    return;
  }
  ct_emit_put(e, "(%s)((%s)%u %s %u)", ct_dtypes[inst->type].cuda, unsigned_of(inst), inst->args[0],
              spelling_of(inst)->infix, inst->args[1]);
}

/* True for a shift count that C's shifts accept. */
static bool has_plain_count(const CtEmit *e, const CtInst *inst) {
  CtFacts count = ct_inst(e->ir, inst->args[1])->facts;
  return count.lo >= 0 && count.hi < ct_dtypes[inst->type].bits;
}

static void put_shift(CtEmit *e, CtVal v, CtPrec min) {
  static const Helpers left = {[CT_i32] = CT_HELP_SHL_i32,
                               [CT_i64] = CT_HELP_SHL_i64,
                               [CT_u32] = CT_HELP_SHL_u32,
                               [CT_u64] = CT_HELP_SHL_u64};
  static const Helpers right = {[CT_i32] = CT_HELP_SHR_i32,
                                [CT_i64] = CT_HELP_SHR_i64,
                                [CT_u32] = CT_HELP_SHR_u32,
                                [CT_u64] = CT_HELP_SHR_u64};
  const CtInst *inst = ct_inst(e->ir, v);
  if (has_plain_count(e, inst)) {
    put_shift_by(e, v, min);
  } else {
    put_help(e, inst->op == CT_OP_SHL ? left : right, inst);
  }
}

/* >> of a signed integer is arithmetic in CUDA C. */
static void put_ashr(CtEmit *e, CtVal v, CtPrec min) {
  static const Helpers helpers = {[CT_i32] = CT_HELP_ASHR_i32, [CT_i64] = CT_HELP_ASHR_i64};
  const CtInst *inst = ct_inst(e->ir, v);
  if (has_plain_count(e, inst)) {
    put_infix(e, v, min);
  } else {
    put_help(e, helpers, inst);
  }
}

static void put_abs(CtEmit *e, CtVal v, CtPrec min) {
  static const Helpers helpers = {[CT_i32] = CT_HELP_ABS_i32, [CT_i64] = CT_HELP_ABS_i64};
  const CtInst *inst = ct_inst(e->ir, v);
  CtDtype type = (CtDtype)inst->type;
  if (ct_is_float(type) || ct_inst(e->ir, inst->args[0])->facts.lo > ct_type_facts(type).lo) {
    put_call(e, v, min);
  } else {
    put_help(e, helpers, inst);
  }
}

/* CUDA's functions have two widths and one signedness: an unsigned result for an int is cast
   back. */
static void put_bits(CtEmit *e, CtVal v, CtPrec min) {
  const CtInst *inst = ct_inst(e->ir, v);
  const Spelling *s = spelling_of(inst);
  CtDtype type = (CtDtype)ct_inst(e->ir, inst->args[0])->type;
  bool casts = inst->op == CT_OP_BREV && !ct_is_unsigned(type);
  bool paren = casts && min > CT_PREC_UNARY;
  ct_text_puts(&e->body, paren ? "(" : "");
  if (casts) {
    ct_text_printf(&e->body, "(%s)", ct_dtypes[type].cuda);
  }
  put_named(e, ct_dtypes[type].bits == 64 ? s->f64 : s->f32, inst);
  ct_text_puts(&e->body, paren ? ")" : "");
}

static void put_mulhi(CtEmit *e, CtVal v, CtPrec min) {
  static const char *const names[CT_DTYPE_COUNT] = {
      [CT_i32] = "__mulhi", [CT_u32] = "__umulhi", [CT_i64] = "__mul64hi", [CT_u64] = "__umul64hi"};
  const CtInst *inst = ct_inst(e->ir, v);
  (void)min;
  put_named(e, names[inst->type], inst);
}

static void put_select(CtEmit *e, CtVal v, CtPrec min) {
  const CtInst *inst = ct_inst(e->ir, v);
  bool paren = min > CT_PREC_COND;
  ct_emit_put(e, paren ? "(%l ? %l : %c)" : "%l ? %l : %c", inst->args[0], inst->args[1],
              inst->args[2]);
}

/* Of a warp (emit_warp.c). What CUDA's function returns may be compared or cast. */
static void put_exchange(CtEmit *e, CtVal v, CtPrec min) {
  static void (*const writers[CT_OP_COUNT])(CtEmit *, const CtInst *) = {
      [CT_OP_SHFL] = ct_emit_shuffle, [CT_OP_VOTE] = ct_emit_vote, [CT_OP_MASKED] = ct_emit_masked};
  const CtInst *inst = ct_inst(e->ir, v);
  bool paren = min > CT_PREC_EQ && inst->op != CT_OP_SHFL;
  ct_text_puts(&e->body, paren ? "(" : "");
  writers[inst->op](e, inst);
  ct_text_puts(&e->body, paren ? ")" : "");
}

/* --- all of them -------------------------------------------------------------------------------- */

#define put_cast ct_emit_cast
#define put_bitcast ct_emit_bitcast

/* Operations of class PURE and READ, by the columns of ops.def. */
static const Spelling spellings[CT_OP_COUNT] = {
#define INFIX(token, p, l, r)                                                                      \
  .infix = (token), .prec = CT_PREC_##p, .left = CT_PREC_##l, .right = CT_PREC_##r
#define PREFIX(token) .prefix = (token)
#define CALL(name32, name64) .f32 = (name32), .f64 = (name64)
#define CALLS(name32, name64, int_name) .f32 = (name32), .f64 = (name64), .i = (int_name)
#define ON_WORDS(name) .f32 = (name), .i = (name)
#define HELPER(NAME) .helper = CT_HELP_##NAME
#define PAIR(NAME, SOFT, first) .helper = CT_HELP_##NAME, .soft = CT_HELP_##SOFT, .sm = (first)
#define OWN(name) .helper = CT_HELP_ct_##name##_f32, .helper64 = CT_HELP_ct_##name##_f64
#define NONE .infix = NULL
#define PURE(NAME, text, n, result, types, traits, lang, engine, write, ...)                       \
  [CT_OP_##NAME] = {.put = put_##write, __VA_ARGS__},
#define OP(NAME, text, n, result, cls, data, traits, engine, write, ...) ROW_##cls(NAME, write)
#define ROW_READ(NAME, write) [CT_OP_##NAME] = {.put = put_##write},
#define ROW_LEAF(NAME, write)
#define ROW_EFFECT(NAME, write)
#define ROW_REGION(NAME, write)
#define ROW_JUMP(NAME, write)
#define ROW_TILE(NAME, write)
#include "runtime/ir/ops.def"
    [CT_OP_SHFL] = {.put = put_exchange},
    [CT_OP_VOTE] = {.put = put_exchange},
    [CT_OP_MASKED] = {.put = put_exchange},
};

static const Spelling *spelling_of(const CtInst *inst) { return &spellings[inst->op]; }

void ct_emit_operation(CtEmit *e, CtVal v, CtPrec min) {
  spelling_of(ct_inst(e->ir, v))->put(e, v, min);
}

/* not (a < b) is b <= a, unless one may be NaN. */
static CtOp opposite_of(const CtIr *ir, const CtInst *inst) {
  static const CtOp opposite[CT_OP_COUNT] = {
      [CT_OP_EQ] = CT_OP_NE, [CT_OP_NE] = CT_OP_EQ, [CT_OP_LT] = CT_OP_LE, [CT_OP_LE] = CT_OP_LT};
  bool is_order = inst->op == CT_OP_LT || inst->op == CT_OP_LE;
  bool is_float = is_order && ct_is_float((CtDtype)ct_inst(ir, inst->args[0])->type);
  return is_float ? CT_OP_NONE : opposite[inst->op];
}

void ct_emit_not(CtEmit *e, CtVal v) {
  const CtInst *inst = ct_inst(e->ir, v);
  CtOp opposite = is_spelled(e, v) ? opposite_of(e->ir, inst) : CT_OP_NONE;
  if (is_spelled(e, v) && inst->op == CT_OP_LNOT) {
    ct_emit_expr(e, inst->args[0], CT_PREC_ANY);
  } else if (opposite == CT_OP_NONE) {
    ct_emit_put(e, "!%u", v);
  } else {
    bool is_equal = opposite == CT_OP_EQ || opposite == CT_OP_NE;
    bool is_const = ct_inst(e->ir, inst->args[0])->op == CT_OP_CONST;
    int left = is_equal || !is_const ? 0 : 1; /* not (a < b): a >= b, not (3 < b): b <= 3 */
    const char *token = is_equal || left == 1  ? spellings[opposite].infix
                        : opposite == CT_OP_LE ? ">="
                                               : ">";
    ct_emit_put(e, "%h %s %h", inst->args[left], token, inst->args[1 - left]);
  }
}
