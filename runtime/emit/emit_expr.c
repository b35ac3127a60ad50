/* emit_expr.c: values as C expressions, with as few parentheses as C needs and people expect.

   Integers of the language wrap around; C leaves signed overflow undefined. Where the range of a result
   does not show that it fits, arithmetic is done on unsigned numbers: (int)((unsigned)a + b). */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/convert.h"
#include "emit.h"

/* How an operation is written: between its operands, or as a call by type. */
typedef struct Spelling {
  const char *infix;
  CtPrec prec;
  CtPrec left, right; /* how weakly the operands may bind */
  const char *f32, *f64, *i;
} Spelling;

#define CALL(name32, name64)                                                                       \
  { .f32 = name32, .f64 = name64 }
#define INFIX(token, p, l, r)                                                                      \
  { .infix = token, .prec = CT_PREC_##p, .left = CT_PREC_##l, .right = CT_PREC_##r }

/* Operands of bit operations and of || are put in parentheses even where C would not need it. */
static const Spelling spellings[CT_OP_COUNT] = {
    [CT_OP_ADD] = INFIX("+", ADD, ADD, MUL),
    [CT_OP_SUB] = INFIX("-", ADD, ADD, MUL),
    [CT_OP_MUL] = INFIX("*", MUL, MUL, UNARY),
    [CT_OP_DIV] = INFIX("/", MUL, MUL, UNARY),
    [CT_OP_FLOORDIV] = INFIX("/", MUL, MUL, UNARY),
    [CT_OP_FLOORMOD] = INFIX("%", MUL, MUL, UNARY),
    [CT_OP_AND] = INFIX("&", AND, UNARY, UNARY),
    [CT_OP_OR] = INFIX("|", OR, UNARY, UNARY),
    [CT_OP_XOR] = INFIX("^", XOR, UNARY, UNARY),
    [CT_OP_SHL] = INFIX("<<", SHIFT, UNARY, UNARY),
    [CT_OP_SHR] = INFIX(">>", SHIFT, UNARY, UNARY),
    [CT_OP_ASHR] = INFIX(">>", SHIFT, UNARY, UNARY),
    [CT_OP_LT] = INFIX("<", REL, SHIFT, SHIFT),
    [CT_OP_LE] = INFIX("<=", REL, SHIFT, SHIFT),
    [CT_OP_EQ] = INFIX("==", EQ, SHIFT, SHIFT),
    [CT_OP_NE] = INFIX("!=", EQ, SHIFT, SHIFT),
    [CT_OP_LAND] = INFIX("&&", LAND, LAND, LAND),
    [CT_OP_LOR] = INFIX("||", LOR, EQ, EQ),
    [CT_OP_FMA] = CALL("fmaf", "fma"),
    [CT_OP_MIN] = {.f32 = "fminf", .f64 = "fmin", .i = "min"},
    [CT_OP_MAX] = {.f32 = "fmaxf", .f64 = "fmax", .i = "max"},
    [CT_OP_ABS] = {.f32 = "fabsf", .f64 = "fabs", .i = "abs"},
    [CT_OP_POW] = CALL("powf", "pow"),
    [CT_OP_SQRT] = CALL("sqrtf", "sqrt"),
    [CT_OP_RSQRT] = CALL("rsqrtf", "rsqrt"),
    [CT_OP_EXP] = CALL("expf", "exp"),
    [CT_OP_EXP2] = CALL("exp2f", "exp2"),
    [CT_OP_LOG] = CALL("logf", "log"),
    [CT_OP_LOG2] = CALL("log2f", "log2"),
    [CT_OP_SIN] = CALL("sinf", "sin"),
    [CT_OP_COS] = CALL("cosf", "cos"),
    [CT_OP_TANH] = CALL("tanhf", "tanh"),
    [CT_OP_FLOOR] = CALL("floorf", "floor"),
    [CT_OP_CEIL] = CALL("ceilf", "ceil"),
};

/* --- numbers ------------------------------------------------------------------------------------ */

void ct_emit_int(CtEmit *e, CtDtype type, int64_t v) {
  const char *suffix = type == CT_i64 || v != (int32_t)v ? "LL" : "";
  if (type == CT_bool) {
    ct_text_puts(&e->body, v != 0 ? "true" : "false");
  } else if (type == CT_u64 || type == CT_u32) {
    ct_text_printf(&e->body, "%" PRIu64 "%s", (uint64_t)v, type == CT_u64 ? "ull" : "u");
  } else if (v == INT64_MIN || (type == CT_i32 && v == INT32_MIN)) {
    ct_text_printf(&e->body, "(%" PRId64 "%s - 1)", v + 1, suffix);
  } else {
    ct_text_printf(&e->body, "%" PRId64 "%s", v, suffix);
  }
}

static void put_special(CtEmit *e, CtDtype type, double v) {
  uint64_t bits = ct_bits_of_float(type, v);
  if (type == CT_f64) {
    ct_text_printf(&e->body, "__longlong_as_double(0x%016" PRIx64 "LL)", bits);
  } else {
    ct_text_printf(&e->body, "__int_as_float(0x%08" PRIx64 ")", bits);
  }
}

/* The fewest digits that give the same number again, whatever the locale's decimal point is. */
static void shortest(CtDtype type, double v, char *text, size_t size) {
  for (int digits = 1; digits <= 17; digits++) {
    snprintf(text, size, "%.*g", digits, v);
    if (type == CT_f64 ? strtod(text, NULL) == v : strtof(text, NULL) == (float)v) {
      break;
    }
  }
  for (char *s = text; *s != '\0'; s++) {
    if (strchr("0123456789+-e", *s) == NULL) {
      *s = '.';
    }
  }
}

void ct_emit_float(CtEmit *e, CtDtype type, double v) {
  char text[40];
  if (ct_emit_is_bits(type)) {
    ct_emit_bits(e, type, v);
    return;
  }
  if (!isfinite(v)) {
    put_special(e, type, v);
    return;
  }
  shortest(type, v, text, sizeof text);
  if (strchr(text, 'e') != NULL && fabs(v) >= 1 && fabs(v) < 1e9) {
    snprintf(text, sizeof text, "%.0f", v); /* 100, not 1e+02 */
  }
  ct_text_puts(&e->body, text);
  if (strpbrk(text, ".e") == NULL) {
    ct_text_puts(&e->body, ".0");
  }
  ct_text_puts(&e->body, type == CT_f64 ? "" : "f");
}

static void put_const(CtEmit *e, const CtInst *inst, CtPrec min) {
  CtDtype type = (CtDtype)inst->type;
  bool is_negative = ct_is_float(type) ? signbit(inst->imm.f) != 0 : inst->imm.i < 0;
  bool has_sign = is_negative && !ct_is_unsigned(type) && !ct_emit_is_bits(type);
  bool paren = has_sign && min > CT_PREC_UNARY;
  ct_text_puts(&e->body, paren ? "(" : "");
  if (ct_is_float(type)) {
    ct_emit_float(e, type, inst->imm.f);
  } else {
    ct_emit_int(e, type, inst->imm.i);
  }
  ct_text_puts(&e->body, paren ? ")" : "");
}

/* --- wrapping integers --------------------------------------------------------------------------- */

static bool is_sum_or_product(const CtInst *inst) {
  return ct_is_int((CtDtype)inst->type) && (inst->op == CT_OP_ADD || inst->op == CT_OP_SUB ||
                                            inst->op == CT_OP_MUL || inst->op == CT_OP_NEG);
}

/* Is its operation written out, here and now? A declared value has a name. */
static bool is_spelled(const CtEmit *e, CtVal v) {
  return e->vals[v].name == NULL && !ct_emit_is_leaf(e->ir, v);
}

static bool may_wrap(const CtEmit *e, CtVal v) {
  return is_spelled(e, v) && is_sum_or_product(ct_inst(e->ir, v)) && !ct_emit_is_exact(e->ir, v);
}

static const char *unsigned_of(const CtInst *inst) {
  return ct_dtypes[inst->type].bits == 32 ? "unsigned" : "unsigned long long";
}

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
    ct_text_printf(&e->body, "(%s)", unsigned_of(inst));
    ct_emit_expr(e, v, CT_PREC_UNARY);
    return;
  }
  const Spelling *s = &spellings[inst->op == CT_OP_NEG ? CT_OP_SUB : inst->op];
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

static void put_call(CtEmit *e, const char *name, const CtInst *inst) {
  ct_text_printf(&e->body, "%s(", name);
  for (int i = 0; i < inst->n_args; i++) {
    ct_text_puts(&e->body, i > 0 ? ", " : "");
    ct_emit_expr(e, inst->args[i], CT_PREC_COND);
  }
  ct_text_putc(&e->body, ')');
}

static bool is_natural(const CtIr *ir, CtVal v) {
  return ct_is_int((CtDtype)ct_inst(ir, v)->type) && ct_inst(ir, v)->facts.lo >= 0;
}

/* a + (b + c) may be written a + b + c where no partial sum can be larger than the whole. */
static CtPrec right_prec(const CtEmit *e, CtVal v) {
  const CtInst *inst = ct_inst(e->ir, v);
  const CtInst *right = ct_inst(e->ir, inst->args[1]);
  bool is_sum = inst->op == CT_OP_ADD && right->op == CT_OP_ADD &&
                is_natural(e->ir, inst->args[0]) && is_spelled(e, inst->args[1]) &&
                is_natural(e->ir, right->args[0]) && is_natural(e->ir, right->args[1]);
  return is_sum ? CT_PREC_ADD : spellings[inst->op].right;
}

static CtPrec left_prec(const CtEmit *e, CtVal v) {
  const CtInst *inst = ct_inst(e->ir, v);
  const Spelling *s = &spellings[inst->op];
  bool same = ct_inst(e->ir, inst->args[0])->op == inst->op && s->left > s->prec;
  bool chains = inst->op == CT_OP_AND || inst->op == CT_OP_OR || inst->op == CT_OP_XOR ||
                inst->op == CT_OP_LOR;
  return same && chains ? s->prec : s->left;
}

/* "x - 3" for x + -3. */
static bool put_difference(CtEmit *e, const CtInst *inst) {
  const CtInst *right = ct_inst(e->ir, inst->args[1]);
  if (inst->op != CT_OP_ADD || right->op != CT_OP_CONST || !ct_is_int((CtDtype)inst->type) ||
      right->imm.i >= 0 || right->imm.i == INT64_MIN) {
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
  ct_emit_expr(e, inst->args[1], CT_PREC_SHIFT);
  ct_text_puts(&e->body, inst->op == CT_OP_LT ? " > " : " >= ");
  ct_emit_expr(e, inst->args[0], CT_PREC_SHIFT);
  return true;
}

/* A small constant behind a 64-bit operand needs no LL. */
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
  const Spelling *s = &spellings[inst->op];
  ct_text_puts(&e->body, s->prec < min ? "(" : "");
  if (!put_difference(e, inst) && !put_mirrored(e, inst)) {
    ct_emit_expr(e, inst->args[0], left_prec(e, v));
    ct_text_printf(&e->body, " %s ", s->infix);
    put_right(e, v);
  }
  ct_text_puts(&e->body, s->prec < min ? ")" : "");
}

static void put_prefix(CtEmit *e, const char *token, CtVal operand, CtPrec min) {
  bool paren = min > CT_PREC_UNARY;
  ct_text_puts(&e->body, paren ? "(" : "");
  ct_text_puts(&e->body, token);
  /* not two minus signs in a row */
  ct_emit_expr(e, operand, token[0] == '-' ? CT_PREC_PRIMARY : CT_PREC_UNARY);
  ct_text_puts(&e->body, paren ? ")" : "");
}

/* "x >> 4" for x // 16, "x & 15" for x % 16. */
static void put_bit_division(CtEmit *e, CtVal v, CtPrec min) {
  const CtInst *inst = ct_inst(e->ir, v);
  bool is_div = inst->op == CT_OP_FLOORDIV;
  const Spelling *s = &spellings[is_div ? CT_OP_SHR : CT_OP_AND];
  int64_t n = ct_inst(e->ir, inst->args[1])->imm.i;
  ct_text_puts(&e->body, s->prec < min ? "(" : "");
  ct_emit_expr(e, inst->args[0], s->left);
  ct_text_printf(&e->body, " %s ", s->infix);
  ct_emit_int(e, CT_i32, is_div ? __builtin_ctzll((uint64_t)n) : n - 1);
  ct_text_puts(&e->body, s->prec < min ? ")" : "");
}

static void put_floordiv(CtEmit *e, CtVal v, CtPrec min) {
  const CtInst *inst = ct_inst(e->ir, v);
  if (ct_is_float((CtDtype)inst->type)) {
    ct_text_puts(&e->body, inst->type == CT_f32 ? "floorf(" : "floor(");
    put_infix(e, v, CT_PREC_ANY);
    ct_text_putc(&e->body, ')');
  } else if (ct_emit_is_plain_division(e->ir, inst)) {
    put_infix(e, v, min);
  } else if (ct_emit_is_bit_division(e->ir, inst)) {
    put_bit_division(e, v, min);
  } else {
    CtHelper h = inst->type == CT_i32 ? CT_HELP_FLOORDIV_i32 : CT_HELP_FLOORDIV_i64;
    put_call(e, ct_emit_help(e, h, "floordiv"), inst);
  }
}

static void put_floormod(CtEmit *e, CtVal v, CtPrec min) {
  static const CtHelper helper[CT_DTYPE_COUNT] = {[CT_f32] = CT_HELP_FLOORMOD_f32,
                                                  [CT_f64] = CT_HELP_FLOORMOD_f64,
                                                  [CT_i32] = CT_HELP_FLOORMOD_i32,
                                                  [CT_i64] = CT_HELP_FLOORMOD_i64};
  const CtInst *inst = ct_inst(e->ir, v);
  if (ct_is_int((CtDtype)inst->type) && ct_emit_is_plain_division(e->ir, inst)) {
    put_infix(e, v, min);
  } else if (ct_emit_is_bit_division(e->ir, inst)) {
    put_bit_division(e, v, min);
  } else {
    put_call(e, ct_emit_help(e, helper[inst->type], "floormod"), inst);
  }
}

/* (int)((unsigned)x << 3); plain where x and the result are known not to be negative. */
static void put_shift_by(CtEmit *e, CtVal v, CtPrec min) {
  const CtInst *inst = ct_inst(e->ir, v);
  bool natural =
      ct_is_unsigned((CtDtype)inst->type) ||
      (is_natural(e->ir, inst->args[0]) && (inst->op == CT_OP_SHR || ct_emit_is_exact(e->ir, v)));
  if (natural) {
    put_infix(e, v, min);
    return;
  }
  ct_text_printf(&e->body, "(%s)((%s)", ct_dtypes[inst->type].cuda, unsigned_of(inst));
  ct_emit_expr(e, inst->args[0], CT_PREC_UNARY);
  ct_text_printf(&e->body, " %s ", spellings[inst->op].infix);
  ct_emit_expr(e, inst->args[1], CT_PREC_UNARY);
  ct_text_putc(&e->body, ')');
}

static void put_shift(CtEmit *e, CtVal v, CtPrec min) {
  static const CtHelper helper[CT_DTYPE_COUNT][2] = {[CT_i32] = {CT_HELP_SHR_i32, CT_HELP_SHL_i32},
                                                     [CT_i64] = {CT_HELP_SHR_i64, CT_HELP_SHL_i64},
                                                     [CT_u32] = {CT_HELP_SHR_u32, CT_HELP_SHL_u32},
                                                     [CT_u64] = {CT_HELP_SHR_u64, CT_HELP_SHL_u64}};
  const CtInst *inst = ct_inst(e->ir, v);
  CtFacts count = ct_inst(e->ir, inst->args[1])->facts;
  bool left = inst->op == CT_OP_SHL;
  if (count.lo >= 0 && count.hi < ct_dtypes[inst->type].bits) {
    put_shift_by(e, v, min);
  } else {
    put_call(e, ct_emit_help(e, helper[inst->type][left], left ? "shift_left" : "shift_right"),
             inst);
  }
}

/* >> of a signed integer of CUDA C is arithmetic. */
static void put_arithmetic_shift(CtEmit *e, CtVal v, CtPrec min) {
  const CtInst *inst = ct_inst(e->ir, v);
  CtFacts count = ct_inst(e->ir, inst->args[1])->facts;
  if (count.lo >= 0 && count.hi < ct_dtypes[inst->type].bits) {
    put_infix(e, v, min);
  } else {
    CtHelper h = inst->type == CT_i32 ? CT_HELP_ASHR_i32 : CT_HELP_ASHR_i64;
    put_call(e, ct_emit_help(e, h, "arithmetic_shift"), inst);
  }
}

static void put_abs(CtEmit *e, CtVal v) {
  const CtInst *inst = ct_inst(e->ir, v);
  bool fits = ct_emit_is_exact(e->ir, inst->args[0]);
  if (inst->type == CT_f32 || inst->type == CT_f64 || fits) {
    const Spelling *s = &spellings[CT_OP_ABS];
    put_call(e, inst->type == CT_f32 ? s->f32 : (inst->type == CT_f64 ? s->f64 : s->i), inst);
  } else {
    CtHelper h = inst->type == CT_i32 ? CT_HELP_ABS_i32 : CT_HELP_ABS_i64;
    put_call(e, ct_emit_help(e, h, "wrapping_abs"), inst);
  }
}

/* The functions know two widths, and no signs: what is unsigned of an int is made one again. */
static void put_bits_of(CtEmit *e, const CtInst *inst, CtPrec min) {
  static const char *const names[CT_OP_COUNT][2] = {[CT_OP_POPC] = {"__popc", "__popcll"},
                                                    [CT_OP_CLZ] = {"__clz", "__clzll"},
                                                    [CT_OP_FFS] = {"__ffs", "__ffsll"},
                                                    [CT_OP_BREV] = {"__brev", "__brevll"}};
  CtDtype type = (CtDtype)ct_inst(e->ir, inst->args[0])->type;
  bool casts = inst->op == CT_OP_BREV && !ct_is_unsigned(type);
  bool paren = casts && min > CT_PREC_UNARY;
  ct_text_puts(&e->body, paren ? "(" : "");
  if (casts) {
    ct_text_printf(&e->body, "(%s)", ct_dtypes[type].cuda);
  }
  put_call(e, names[inst->op][ct_dtypes[type].bits == 64], inst);
  ct_text_puts(&e->body, paren ? ")" : "");
}

static void put_select(CtEmit *e, const CtInst *inst, CtPrec min) {
  bool paren = min > CT_PREC_COND;
  ct_text_puts(&e->body, paren ? "(" : "");
  ct_emit_expr(e, inst->args[0], CT_PREC_LOR);
  ct_text_puts(&e->body, " ? ");
  ct_emit_expr(e, inst->args[1], CT_PREC_LOR);
  ct_text_puts(&e->body, " : ");
  ct_emit_expr(e, inst->args[2], CT_PREC_COND);
  ct_text_puts(&e->body, paren ? ")" : "");
}

static void put_by_table(CtEmit *e, CtVal v, CtPrec min) {
  const CtInst *inst = ct_inst(e->ir, v);
  const Spelling *s = &spellings[inst->op];
  if (s->infix != NULL) {
    put_infix(e, v, min);
  } else {
    put_call(e, inst->type == CT_f32 ? s->f32 : (inst->type == CT_f64 ? s->f64 : s->i), inst);
  }
}

/* The text of an operation that is written where it is used. */
static void put_operation(CtEmit *e, CtVal v, CtPrec min) {
  const CtInst *inst = ct_inst(e->ir, v);
  switch ((CtOp)inst->op) {
    case CT_OP_GET: ct_text_puts(&e->body, e->vals[inst->imm.i].name); break;
    case CT_OP_LOAD:
      ct_text_printf(&e->body, "%s[", e->buf_names[inst->imm.i]);
      ct_emit_expr(e, inst->args[0], CT_PREC_ANY);
      ct_text_putc(&e->body, ']');
      break;
    case CT_OP_ADD:
    case CT_OP_SUB:
    case CT_OP_MUL:
    case CT_OP_NEG:
      if (is_sum_or_product(inst) && !ct_emit_is_exact(e->ir, v)) {
        put_wrapped(e, v);
      } else if (inst->op == CT_OP_NEG) {
        put_prefix(e, "-", inst->args[0], min);
      } else {
        put_infix(e, v, min);
      }
      break;
    case CT_OP_FLOORDIV: put_floordiv(e, v, min); break;
    case CT_OP_FLOORMOD: put_floormod(e, v, min); break;
    case CT_OP_SHL:
    case CT_OP_SHR: put_shift(e, v, min); break;
    case CT_OP_ASHR: put_arithmetic_shift(e, v, min); break;
    case CT_OP_ABS: put_abs(e, v); break;
    case CT_OP_EX2: put_call(e, ct_emit_help(e, CT_HELP_EX2, "exp2_approx"), inst); break;
    case CT_OP_NOT: put_prefix(e, "~", inst->args[0], min); break;
    case CT_OP_POPC:
    case CT_OP_CLZ:
    case CT_OP_FFS:
    case CT_OP_BREV: put_bits_of(e, inst, min); break;
    case CT_OP_LNOT: put_prefix(e, "!", inst->args[0], min); break;
    case CT_OP_CAST: ct_emit_cast(e, inst, min); break;
    case CT_OP_BITCAST: ct_emit_bitcast(e, inst, min); break;
    case CT_OP_SELECT: put_select(e, inst, min); break;
    default: put_by_table(e, v, min); break;
  }
}

/* While a value is being declared it has no name yet, so its operation is written. */
void ct_emit_expr(CtEmit *e, CtVal v, CtPrec min) {
  const CtInst *inst = ct_inst(e->ir, v);
  if (inst->op == CT_OP_CONST) {
    put_const(e, inst, min);
  } else if (inst->op == CT_OP_PARAM) {
    ct_text_puts(&e->body, e->slot_names[inst->imm.i]);
  } else if (e->vals[v].name != NULL) {
    ct_text_puts(&e->body, e->vals[v].name);
  } else {
    put_operation(e, v, min);
  }
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
    ct_text_putc(&e->body, '!');
    ct_emit_expr(e, v, CT_PREC_UNARY);
  } else {
    bool is_equal = opposite == CT_OP_EQ || opposite == CT_OP_NE;
    bool is_const = ct_inst(e->ir, inst->args[0])->op == CT_OP_CONST;
    int left = is_equal || !is_const ? 0 : 1; /* not (a < b): a >= b, not (3 < b): b <= 3 */
    const char *token = is_equal    ? spellings[opposite].infix
                        : left == 1 ? spellings[opposite].infix
                                    : (opposite == CT_OP_LE ? ">=" : ">");
    ct_emit_expr(e, inst->args[left], CT_PREC_SHIFT);
    ct_text_printf(&e->body, " %s ", token);
    ct_emit_expr(e, inst->args[1 - left], CT_PREC_SHIFT);
  }
}
