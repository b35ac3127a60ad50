/* emit_facts.c: questions that the plan and the text both ask about an operation: which form of C
   says it, and which parts that form has. One answer for both means that the plan counts exactly
   the uses in the text. */
#include "emit.h"

/* --- arithmetic --------------------------------------------------------------------------------- */

/* The ranges of its operands show that the result fits, even one that reaches an end of the type. */
static bool fits_by_operands(const CtIr *ir, const CtInst *inst) {
  bool is_sum = inst->op == CT_OP_ADD || inst->op == CT_OP_SUB || inst->op == CT_OP_MUL;
  return is_sum && ct_op_fits((CtOp)inst->op, (CtDtype)inst->type,
                              ct_inst(ir, inst->args[0])->facts, ct_inst(ir, inst->args[1])->facts);
}

bool ct_emit_is_exact(const CtIr *ir, CtVal v) {
  const CtInst *inst = ct_inst(ir, v);
  CtFacts all = ct_type_facts((CtDtype)inst->type);
  if (ct_is_unsigned((CtDtype)inst->type)) {
    return true; /* C's unsigned numbers wrap around as ours do */
  }
  return (inst->facts.lo > all.lo && inst->facts.hi < all.hi) || fits_by_operands(ir, inst);
}

bool ct_emit_is_plain_division(const CtIr *ir, const CtInst *inst) {
  return ct_is_unsigned((CtDtype)inst->type) ||
         (ct_inst(ir, inst->args[0])->facts.lo >= 0 && ct_inst(ir, inst->args[1])->facts.lo >= 0);
}

bool ct_emit_is_bit_division(const CtIr *ir, const CtInst *inst) {
  const CtInst *by = ct_inst(ir, inst->args[1]);
  return ct_is_int((CtDtype)inst->type) && by->op == CT_OP_CONST && by->imm.i > 0 &&
         (by->imm.i & (by->imm.i - 1)) == 0 && !ct_emit_is_plain_division(ir, inst);
}

CtForForm ct_emit_for_form(const CtIr *ir, const CtInst *loop) {
  CtFacts stop = ct_inst(ir, loop->args[1])->facts;
  CtFacts step = ct_inst(ir, loop->args[2])->facts;
  int64_t max = loop->type == CT_i32 ? INT32_MAX : INT64_MAX;
  bool up = step.lo > 0;
  bool down = step.hi < 0;
  bool fits = up ? stop.hi == INT64_MIN || stop.hi - 1 <= max - step.hi
                 : down && (stop.lo == INT64_MAX || stop.lo + 1 >= -max - 1 - step.lo);
  if (fits) {
    return CT_FOR_PLAIN;
  }
  return (up || down) && loop->type == CT_i32 ? CT_FOR_WIDE : CT_FOR_COUNTED;
}

/* --- warps -------------------------------------------------------------------------------------- */

bool ct_emit_is_exchange(const CtInst *inst) {
  return inst->op == CT_OP_SHFL || inst->op == CT_OP_VOTE || inst->op == CT_OP_MASKED;
}

/* --- offsets ------------------------------------------------------------------------------------ */

CtVal ct_emit_split_offset(const CtIr *ir, CtInt offset, int64_t *plus) {
  *plus = 0;
  if (offset.kind != CT_DYNAMIC) {
    *plus = offset.v;
    return 0;
  }
  CtVal v = offset.id;
  while (ct_inst(ir, v)->op == CT_OP_ADD && ct_emit_is_exact(ir, v) &&
         ct_inst(ir, ct_inst(ir, v)->args[1])->op == CT_OP_CONST) {
    *plus += ct_inst(ir, ct_inst(ir, v)->args[1])->imm.i;
    v = ct_inst(ir, v)->args[0];
  }
  return v;
}

CtEmitPtr *ct_emit_find_ptr(const CtEmit *e, uint32_t buf, CtVal v) {
  CtEmitPtr *p = e->vals[v].ptrs;
  while (p != NULL && p->buf != buf) {
    p = p->next;
  }
  return p;
}

CtEmitUnits ct_emit_units(const CtIr *ir, CtVal v, int64_t per, int *left) {
  const CtInst *inst = ct_inst(ir, v);
  if (inst->n_args != 2) {
    return CT_UNITS_WHOLE;
  }
  const CtInst *x = ct_inst(ir, inst->args[0]), *y = ct_inst(ir, inst->args[1]);
  if (inst->op == CT_OP_ADD && x->facts.div % per == 0 && y->facts.div % per == 0 &&
      ct_ir_step(left)) {
    return CT_UNITS_SUM;
  }
  bool is_product = inst->op == CT_OP_MUL && y->op == CT_OP_CONST && y->imm.i % per == 0;
  return is_product ? CT_UNITS_PRODUCT : CT_UNITS_WHOLE;
}

/* A value made of constants and of the variables of unrolled loops only. */
static bool is_of_turns(const CtIr *ir, CtVal v, int *left) {
  enum { FULLY = -1 };
  const CtInst *inst = ct_inst(ir, v);
  if (inst->op == CT_OP_CONST || inst->op == CT_OP_FOR) {
    return inst->op == CT_OP_CONST || inst->imm.i == FULLY;
  }
  bool all = ct_ops[inst->op].cls == CT_CLS_PURE && ct_ir_step(left);
  for (int i = 0; all && i < inst->n_args; i++) {
    all = is_of_turns(ir, inst->args[i], left);
  }
  return all;
}

/* Does the sum have a value that should be taken out of it? */
static bool has_pullable(const CtIr *ir, int64_t period, CtVal v, int *left) {
  const CtInst *inst = ct_inst(ir, v);
  if (inst->facts.div % period == 0 || is_of_turns(ir, v, left)) {
    return true;
  }
  return inst->op == CT_OP_ADD && ct_ir_step(left) &&
         (has_pullable(ir, period, inst->args[0], left) ||
          has_pullable(ir, period, inst->args[1], left));
}

/* Sorts the values of a sum; false if there are too many. */
static bool pull(const CtIr *ir, int64_t period, CtVal v, int *left, CtEmitPulled *out) {
  const CtInst *inst = ct_inst(ir, v);
  if (inst->op == CT_OP_CONST) {
    return !ct_add_overflow(out->plus, inst->imm.i, &out->plus);
  }
  if (inst->facts.div % period == 0) {
    out->after[out->n_after++] = v;
  } else if (inst->op == CT_OP_ADD && has_pullable(ir, period, v, left)) {
    return pull(ir, period, inst->args[0], left, out) && pull(ir, period, inst->args[1], left, out);
  } else if (out->turns == 0 && is_of_turns(ir, v, left)) {
    out->turns = v;
  } else {
    out->own[out->n_own++] = v;
  }
  return out->n_own < CT_EMIT_MAX_PULLED && out->n_after < CT_EMIT_MAX_PULLED;
}

void ct_emit_pull(const CtIr *ir, CtSwizzle sw, CtVal offset, CtEmitPulled *out) {
  int left = CT_WALK_STEPS;
  *out = (CtEmitPulled){.turns = 0};
  if (!pull(ir, ct_swizzle_period(sw), offset, &left, out)) {
    *out = (CtEmitPulled){.n_own = 1, .own = {offset}};
  }
  for (int i = 0; i < out->n_own; i++) {
    uint64_t bits = ct_ir_bits(ir, out->own[i]);
    out->own_bits = (bits & out->own_bits) != 0 ? UINT64_MAX : out->own_bits | bits;
  }
  out->turns_bits = out->turns == 0 ? 0 : ct_ir_bits(ir, out->turns);
  if ((out->turns_bits & out->own_bits) != 0) {
    out->own[out->n_own++] = out->turns;
    out->own_bits = UINT64_MAX;
    out->turns = 0;
    out->turns_bits = 0;
  }
}
