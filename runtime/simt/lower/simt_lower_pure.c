/* simt_lower_pure.c: lowering to the CPU engine: pure operations, whose rows depend on the type. */
#include "simt_lower.h"

/* The first row of an operation on a type; 0 (which is an ADD) if there is none. */
static const uint16_t first_row[CT_OP_COUNT][CT_DTYPE_COUNT] = {
#define BIN(op, t) [CT_OP_##op][CT_##t] = CT_SIMT_##op##_##t##_ss,
#define CMP(op, t) [CT_OP_##op][CT_##t] = CT_SIMT_##op##_##t##_ss,
#define DIV_INT(op, t) CMP(op, t)
#define UN(op, t) [CT_OP_##op][CT_##t] = CT_SIMT_##op##_##t##_s,
#define FMA(t) [CT_OP_FMA][CT_##t] = CT_SIMT_FMA_##t##_sss,
#define THREE(op, t) UN(op, t)
#define CAST(t, f)
#define BOOLCAST(t)
#define X(name, ...)
#include "runtime/simt/code/simt_ops.def"
};

/* first_cast[to][from] */
static const uint16_t first_cast[CT_DTYPE_COUNT][CT_DTYPE_COUNT] = {
#define BIN(op, t)
#define CMP(op, t)
#define DIV_INT(op, t)
#define UN(op, t)
#define FMA(t)
#define THREE(op, t)
#define CAST(t, f) [CT_##t][CT_##f] = CT_SIMT_CAST_##t##_##f##_s,
#define BOOLCAST(t)                                                                                \
  [CT_##t][CT_bool] = CT_SIMT_CAST_##t##_b_s, [CT_bool][CT_##t] = CT_SIMT_CAST_b_##t##_s,
#define X(name, ...)
#include "runtime/simt/code/simt_ops.def"
};

/* Operations on booleans: on scalars, on masks. */
static const uint16_t bool_rows[CT_OP_COUNT][2] = {
    [CT_OP_LAND] = {CT_SIMT_LAND_s, CT_SIMT_LAND_m}, [CT_OP_LOR] = {CT_SIMT_LOR_s, CT_SIMT_LOR_m},
    [CT_OP_LNOT] = {CT_SIMT_LNOT_s, CT_SIMT_LNOT_m}, [CT_OP_LT] = {CT_SIMT_LT_i64_ss, CT_SIMT_LT_m},
    [CT_OP_LE] = {CT_SIMT_LE_i64_ss, CT_SIMT_LE_m},  [CT_OP_EQ] = {CT_SIMT_EQ_i64_ss, CT_SIMT_EQ_m},
    [CT_OP_NE] = {CT_SIMT_NE_i64_ss, CT_SIMT_NE_m},
};

/* --- pure operations ------------------------------------------------------------------------------------ */

enum { FORM_SS, FORM_VV, FORM_VS, FORM_SV }; /* of rows of BIN and CMP */

static void lower_binary(CtLow *l, CtVal v, uint32_t row, bool hoist) {
  const CtVal *args = ct_inst(l->ir, v)->args;
  bool va = ct_low_varies(l, args[0]), vb = ct_low_varies(l, args[1]);
  uint32_t form = va ? (vb ? FORM_VV : FORM_VS) : vb ? FORM_SV : FORM_SS;
  uint32_t a = ct_low_natural(l, args[0]), b = ct_low_natural(l, args[1]);
  CT_EMIT_OR_HOIST(l, hoist, row + form, .d = ct_low_result(l, v, hoist), .a = a, .b = b);
}

/* LT or LE of an address and a scalar, in either order: mostly all lanes compare alike. */
static void lower_compare(CtLow *l, CtVal v, CtVal address) {
  static const CtSimtOp rows[2][2][2] = {
      {{CT_SIMT_LT_i64_p, CT_SIMT_GT_i64_p}, {CT_SIMT_LE_i64_p, CT_SIMT_GE_i64_p}},
      {{CT_SIMT_LT_i32_p, CT_SIMT_GT_i32_p}, {CT_SIMT_LE_i32_p, CT_SIMT_GE_i32_p}},
  };
  const CtInst *inst = ct_inst(l->ir, v);
  bool turned = address == inst->args[1];
  CtLowAddress at = ct_low_address(l, CT_GLOBAL, address);
  uint32_t bound = ct_low_scalar(l, inst->args[turned ? 0 : 1]);
  CtSimtOp row = rows[at.is_i32][inst->op == CT_OP_LE][turned];
  uint32_t pattern = at.pattern != 0 ? at.pattern : ct_low_no_pattern(l);
  CT_EMIT(l, row, .d = ct_low_result(l, v, false), .a = at.base, .b = pattern, .c = bound,
          .imm = at.imm);
}

static void lower_bool(CtLow *l, CtVal v, bool hoist) {
  const CtInst *inst = ct_inst(l->ir, v);
  bool lanes = ct_low_varies(l, v);
  uint32_t a[2] = {0, 0};
  for (int i = 0; i < inst->n_args; i++) {
    a[i] = lanes ? ct_low_lanes(l, inst->args[i]) : ct_low_scalar(l, inst->args[i]);
  }
  CT_EMIT_OR_HOIST(l, hoist, bool_rows[inst->op][lanes], .d = ct_low_result(l, v, hoist), .a = a[0],
                   .b = a[1]);
}

/* FMA rows: sss, vvv, vsv, vvs, vss; swaps the factors so that the first one varies. */
void ct_low_fma(CtLow *l, CtVal v) {
  bool hoist = ct_low_is(l, v, CT_INVARIANT);
  const CtInst *inst = ct_inst(l->ir, v);
  uint32_t row = first_row[CT_OP_FMA][inst->type];
  CtVal a = inst->args[0], b = inst->args[1], c = inst->args[2];
  if (!ct_low_varies(l, a) && ct_low_varies(l, b)) {
    a = inst->args[1];
    b = inst->args[0];
  }
  uint32_t sa = ct_low_varies(l, v) ? ct_low_lanes(l, a) : ct_low_scalar(l, a);
  uint32_t sb = ct_low_natural(l, b), sc = ct_low_natural(l, c);
  if (ct_low_varies(l, v)) {
    row += 1u + (ct_low_varies(l, b) ? 0u : 1u) + (ct_low_varies(l, c) ? 0u : 2u);
  }
  CT_EMIT_OR_HOIST(l, hoist, row, .d = ct_low_result(l, v, hoist), .a = sa, .b = sb, .c = sc);
}

void ct_low_select(CtLow *l, CtVal v) {
  bool hoist = ct_low_is(l, v, CT_INVARIANT);
  const CtInst *inst = ct_inst(l->ir, v);
  const CtVal *args = inst->args;
  uint32_t c = ct_low_natural(l, args[0]);
  if (!ct_low_varies(l, v)) {
    uint32_t a = ct_low_scalar(l, args[1]), b = ct_low_scalar(l, args[2]);
    CT_EMIT_OR_HOIST(l, hoist, CT_SIMT_SELECT_s, .d = ct_low_result(l, v, hoist), .a = c, .b = a,
                     .c = b);
    return;
  }
  const CtMoves *m = &ct_low_moves[inst->type];
  uint32_t a = ct_low_lanes(l, args[1]), b = ct_low_lanes(l, args[2]);
  CT_EMIT_OR_HOIST(l, hoist, ct_low_varies(l, args[0]) ? m->select_m : m->select_s,
                   .d = ct_low_result(l, v, hoist), .a = c, .b = a, .c = b);
}

static void lower_unary(CtLow *l, CtVal v, uint32_t row, bool hoist) {
  uint32_t a = ct_low_natural(l, ct_inst(l->ir, v)->args[0]);
  CT_EMIT_OR_HOIST(l, hoist, row + ct_low_varies(l, v), .d = ct_low_result(l, v, hoist), .a = a);
}

static void lower_three(CtLow *l, CtVal v, uint32_t row, bool hoist) {
  bool lanes = ct_low_varies(l, v);
  uint32_t slots[3];
  for (int i = 0; i < 3; i++) {
    CtVal arg = ct_inst(l->ir, v)->args[i];
    slots[i] = lanes ? ct_low_lanes(l, arg) : ct_low_scalar(l, arg);
  }
  CT_EMIT_OR_HOIST(l, hoist, row + lanes, .d = ct_low_result(l, v, hoist), .a = slots[0],
                   .b = slots[1], .c = slots[2]);
}

/* The signed type of the same width. */
static CtDtype signed_one(CtDtype t) { return t == CT_u64 ? CT_i64 : t == CT_u32 ? CT_i32 : t; }

/* Does a cast keep the bits of lanes and scalars as they are? */
static bool is_rename(CtDtype to, CtDtype from) {
  if (ct_is_int(to) && ct_is_int(from) && !ct_is_narrow(to) && !ct_is_narrow(from)) {
    return signed_one(to) == signed_one(from);
  }
  return to == from || from == CT_tf32 || (ct_is_narrow(from) && ct_is_unsigned(from));
}

/* A cast's row; an unsigned type without a row of its own takes the signed type's. */
static uint32_t cast_row(CtDtype to, CtDtype from) {
  to = to == CT_u16 ? CT_i16 : to == CT_u8 ? CT_i8 : to;
  const CtDtype as[2] = {to, signed_one(to)}, of[2] = {from, signed_one(from)};
  for (int i = 0; i < 4; i++) {
    uint32_t row = first_cast[as[i % 2]][of[i / 2]];
    if (row != 0) {
      return row;
    }
  }
  CT_UNREACHABLE();
}

/* An integer as the f64 from which a narrow float is rounded: exact, or rounded to odd. */
static uint32_t odd_row(CtDtype from) {
  return from == CT_i64   ? CT_SIMT_ODD_i64_s
         : from == CT_u64 ? CT_SIMT_ODD_u64_s
                          : cast_row(CT_f64, from);
}

static void lower_int_to_narrow(CtLow *l, CtVal v, CtDtype to, CtDtype from, bool hoist) {
  uint32_t a = ct_low_natural(l, ct_inst(l->ir, v)->args[0]);
  uint32_t wide = ct_low_temp(l, ct_low_varies(l, v) ? CT_CLASS_LANES8 : CT_CLASS_SCALAR, hoist);
  CT_EMIT_OR_HOIST(l, hoist, odd_row(from) + ct_low_varies(l, v), .d = wide, .a = a);
  CT_EMIT_OR_HOIST(l, hoist, cast_row(to, CT_f64) + ct_low_varies(l, v),
                   .d = ct_low_result(l, v, hoist), .a = wide);
}

void ct_low_cast(CtLow *l, CtVal v) {
  bool hoist = ct_low_is(l, v, CT_INVARIANT);
  const CtInst *inst = ct_inst(l->ir, v);
  CtDtype to = (CtDtype)inst->type, from = (CtDtype)ct_inst(l->ir, inst->args[0])->type;
  if (is_rename(to, from)) {
    l->slot_of[v] = ct_low_natural(l, inst->args[0]);
  } else if (ct_is_narrow(to) && ct_is_float(to) && ct_is_int(from)) {
    lower_int_to_narrow(l, v, to, from, hoist);
  } else {
    lower_unary(l, v, cast_row(to, from), hoist);
  }
}

/* Lanes hold bits. Scalars do too, except that 32-bit integers are sign-extended. */
void ct_low_bitcast(CtLow *l, CtVal v) {
  bool hoist = ct_low_is(l, v, CT_INVARIANT);
  const CtInst *inst = ct_inst(l->ir, v);
  CtDtype to = (CtDtype)inst->type, from = (CtDtype)ct_inst(l->ir, inst->args[0])->type;
  uint32_t a = ct_low_natural(l, inst->args[0]);
  if (ct_low_varies(l, v) || ct_dtypes[to].bits != 32 || ct_is_float(to) == ct_is_float(from)) {
    l->slot_of[v] = a;
  } else {
    uint32_t row = ct_is_float(from) ? CT_SIMT_BITCAST_i32_f32 : CT_SIMT_BITCAST_f32_i32;
    CT_EMIT_OR_HOIST(l, hoist, row, .d = ct_low_result(l, v, hoist), .a = a);
  }
}

/* The row of an operation on a type. */
static uint32_t op_row(CtOp op, CtDtype t) {
  uint32_t row = first_row[op][t];
  row = row != 0 ? row : first_row[op][signed_one(t)];
  CT_ASSERT(row != 0 || (op == CT_OP_ADD && t == CT_f64));
  return row;
}

static CtDtype operand_type(const CtLow *l, CtVal v) {
  return (CtDtype)ct_inst(l->ir, ct_inst(l->ir, v)->args[0])->type;
}

void ct_low_arith(CtLow *l, CtVal v) {
  const CtInst *inst = ct_inst(l->ir, v);
  CtDtype t = operand_type(l, v);
  bool hoist = ct_low_is(l, v, CT_INVARIANT);
  if (t == CT_bool) {
    lower_bool(l, v, hoist);
  } else {
    static void (*const lower[])(CtLow *, CtVal, uint32_t, bool) = {lower_unary, lower_binary,
                                                                    lower_three};
    lower[inst->n_args - 1](l, v, op_row((CtOp)inst->op, t), hoist);
  }
}

void ct_low_abs(CtLow *l, CtVal v) {
  if (ct_is_unsigned(operand_type(l, v))) {
    l->slot_of[v] = ct_low_natural(l, ct_inst(l->ir, v)->args[0]);
  } else {
    ct_low_arith(l, v);
  }
}

void ct_low_compare(CtLow *l, CtVal v) {
  CtVal address = operand_type(l, v) == CT_bool ? 0 : ct_low_compared(l, v);
  if (address != 0) {
    lower_compare(l, v, address);
  } else {
    ct_low_arith(l, v);
  }
}
