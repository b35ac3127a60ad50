/* ir_cast.c: casts: which operations one is made of, and what constants become. */
#include <math.h>

#include "runtime/base/convert.h"
#include "ir_build.h"

static CtVal fold_cast(CtIr *ir, const CtInst *x, CtDtype type) {
  CtDtype from = (CtDtype)x->type;
  if (ct_is_float(type)) {
    return ct_ir_const_float(ir, type,
                             ct_is_float(from) ? x->imm.f : ct_round_int(type, from, x->imm.i));
  }
  if (type == CT_bool) {
    return ct_ir_const_int(ir, type, ct_is_float(from) ? x->imm.f != 0 : x->imm.i != 0);
  }
  return ct_ir_const_int(ir, type,
                         ct_is_float(from) ? ct_truncate_float(type, x->imm.f) : x->imm.i);
}

static CtVal add_cast(CtIr *ir, CtVal a, CtDtype type) {
  const CtInst *x = ct_inst(ir, a);
  CtInst key = {.op = CT_OP_CAST, .type = (uint8_t)type, .args = {a}};
  CtFacts all = ct_type_facts(type);
  bool is_view = x->type == CT_u64 || type == CT_u64; /* its range is of the bits */
  key.facts = all;
  if (!ct_is_float((CtDtype)x->type) && x->facts.lo >= (is_view ? 0 : all.lo) &&
      x->facts.hi <= all.hi) {
    key.facts = x->facts;
  }
  return ct_ir_shared_inst(ir, &key);
}

/* To a narrow integer: of floats saturated first, of 64 bits and of unsigned ones the low bits. */
static CtVal cast_to_narrow_int(CtIr *ir, CtVal a, CtDtype type) {
  bool from_float = ct_is_float((CtDtype)ct_inst(ir, a)->type);
  CtVal v = ct_ir_cast(ir, a, CT_i32);
  if (from_float && v != 0) {
    CtFacts all = ct_type_facts(type);
    v = ct_ir_binary(ir, CT_OP_MAX, v, ct_ir_const_int(ir, CT_i32, all.lo));
    v = ct_ir_binary(ir, CT_OP_MIN, v, ct_ir_const_int(ir, CT_i32, all.hi));
  }
  return v == 0 ? 0 : add_cast(ir, v, type);
}

/* To a narrow float: an integer that an f32 holds exactly goes by way of it. */
static CtVal cast_to_narrow_float(CtIr *ir, CtVal a, CtDtype type) {
  const int64_t exact = (int64_t)1 << 24;
  const CtInst *x = ct_inst(ir, a);
  bool fits = x->type == CT_bool ||
              (ct_is_int((CtDtype)x->type) && x->facts.lo >= -exact && x->facts.hi <= exact);
  CtVal v = fits ? ct_ir_cast(ir, a, CT_f32) : a;
  return v == 0 ? 0 : add_cast(ir, v, type);
}

/* x of a narrow type, cast(x, its compute type), cast back: the bits may be another NaN's. */
CtVal ct_ir_cast(CtIr *ir, CtVal a, CtDtype type) {
  const CtInst *x = ct_inst(ir, a);
  CtDtype from = (CtDtype)x->type;
  if (from == type || a == 0) {
    return a;
  }
  if (x->op == CT_OP_CONST) {
    CtInst copy = *x;
    return fold_cast(ir, &copy, type);
  }
  if (ct_is_narrow(from) && ct_dtype_compute(from) != type) {
    return ct_ir_cast(ir, add_cast(ir, a, ct_dtype_compute(from)), type);
  }
  if (!ct_is_narrow(type)) {
    return add_cast(ir, a, type);
  }
  return ct_is_float(type) ? cast_to_narrow_float(ir, a, type) : cast_to_narrow_int(ir, a, type);
}

/* The bits of a constant; false for a NaN, because a constant does not keep a NaN's bits. */
static bool const_bits(const CtInst *x, uint64_t *bits) {
  CtDtype type = (CtDtype)x->type;
  if (ct_is_float(type)) {
    *bits = ct_bits_of_float(type, x->imm.f);
    return !isnan(x->imm.f);
  }
  *bits = ct_bits_of_int(type, x->imm.i);
  return true;
}

CtVal ct_ir_bitcast(CtIr *ir, CtVal a, CtDtype type) {
  const CtInst *x = ct_inst(ir, a);
  uint64_t bits;
  CT_ASSERT(ct_dtypes[x->type].bits == ct_dtypes[type].bits || ir->failed);
  if (x->type == type || a == 0) {
    return a;
  }
  if (x->op == CT_OP_BITCAST) {
    return ct_ir_bitcast(ir, x->args[0], type);
  }
  if (x->op == CT_OP_CONST && const_bits(x, &bits)) {
    if (!ct_is_float(type)) {
      return ct_ir_const_int(ir, type, ct_int_of_bits(type, bits));
    }
    double v = ct_float_of_bits(type, bits);
    if (!isnan(v)) {
      return ct_ir_const_float(ir, type, v);
    }
  }
  CtInst key = {.op = CT_OP_BITCAST, .type = (uint8_t)type, .args = {a}};
  key.facts = ct_type_facts(type);
  return ct_ir_shared_inst(ir, &key);
}

/* Between it and 0: so its sign and a bound are known, but the kernel compares with it. */
CtVal ct_ir_dynamic(CtIr *ir, CtVal a) {
  const CtInst *x = ct_inst(ir, a);
  if (x->op != CT_OP_CONST) {
    return a;
  }
  CtInst key = {.op = CT_OP_DYNAMIC, .type = x->type, .args = {a}};
  key.facts = ct_type_facts((CtDtype)x->type);
  if (ct_is_int((CtDtype)x->type)) {
    key.facts = x->facts;
    key.facts.lo = ct_min(x->facts.lo, 0);
    key.facts.hi = ct_max(x->facts.hi, 0);
  }
  return ct_ir_shared_inst(ir, &key);
}

CtSlotValue ct_slot_float(CtDtype type, double v) {
  if (type == CT_f64) {
    return (CtSlotValue){.f64 = v};
  }
  return type == CT_f32 ? (CtSlotValue){.f32 = (float)v}
                        : (CtSlotValue){.i = (int64_t)ct_bits_of_float(type, v)};
}
