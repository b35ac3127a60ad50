/* ir_untyped.c: floats that have no type yet: what the script's plain numbers become where a kernel computes with
   them, or chooses one of them, before they meet a type. Such a value is an f32 or an f64 as every other; that the
   script has not said so is noted with it. What a front end makes of that is its own affair. */
#include "runtime/base/convert.h"
#include "ir_build.h"

uint8_t ct_untyped_number(double v) {
  return v != v || ct_round_float(CT_f32, v) == v ? CT_UNTYPED_EXACT : CT_UNTYPED_KEPT;
}

static CtVal constant(CtIr *ir, CtDtype type, double v, uint8_t untyped) {
  CtInst key = {.op = CT_OP_CONST, .type = (uint8_t)type, .untyped = untyped};
  key.imm.f = ct_round_float(type, v);
  return ct_ir_shared_inst(ir, &key);
}

CtVal ct_ir_untyped_float(CtIr *ir, CtDtype type, double v) {
  return constant(ir, type, v, ct_untyped_number(v));
}

CtVal ct_ir_untyped_int(CtIr *ir, CtDtype type, CtDtype from, int64_t v) {
  return constant(ir, type, ct_round_int(type, from, v),
                  ct_untyped_number(ct_round_int(CT_f64, from, v)));
}

CtVal ct_ir_untyped_cast(CtIr *ir, CtVal v, CtDtype type) {
  const CtInst *x = ct_inst(ir, v);
  if (x->op == CT_OP_CONST) {
    return ct_ir_untyped_int(ir, type, (CtDtype)x->type, x->imm.i);
  }
  CtInst key = {.op = CT_OP_CAST,
                .type = (uint8_t)type,
                .args = {ct_ir_cast(ir, v, ct_dtype_compute((CtDtype)x->type))},
                .untyped = CT_UNTYPED_COMPUTED};
  key.facts = ct_type_facts(type);
  return ct_ir_shared_inst(ir, &key);
}

CtVal ct_ir_cast_before(CtIr *ir, CtVal a, CtDtype type, CtVal op) {
  const CtInst *x = ct_inst(ir, a);
  if (op == 0 || x->type == type || x->op == CT_OP_CONST) {
    return ct_ir_cast(ir, a, type);
  }
  CtVal v = ct_ir_new(ir, CT_OP_CAST, type);
  if (v != 0) {
    ir->insts[v].args[0] = a;
    ct_ir_link(ir, v, ir->insts[op].region, op);
  }
  return v;
}
