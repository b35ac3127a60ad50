/* ir_thread_number.c: is an integer the number of its thread in the block, x + X * (y + Y * z) in a block of
   (X,Y,Z)? Told by its form: sums of thread indices, times constants. */
#include "ir.h"

/* index[0] * x + index[1] * y + index[2] * z + constant */
typedef struct Linear {
  int64_t index[3], constant;
} Linear;

static bool is_const(const CtIr *ir, CtVal v) { return ct_inst(ir, v)->op == CT_OP_CONST; }

/* false: it does not fit, which no thread's number does. */
static bool scale(Linear *l, int64_t by) {
  bool overflows = ct_mul_overflow(l->constant, by, &l->constant);
  for (int i = 0; i < 3; i++) {
    overflows = ct_mul_overflow(l->index[i], by, &l->index[i]) || overflows;
  }
  return !overflows;
}

static bool add(Linear *l, const Linear *m) {
  bool overflows = ct_add_overflow(l->constant, m->constant, &l->constant);
  for (int i = 0; i < 3; i++) {
    overflows = ct_add_overflow(l->index[i], m->index[i], &l->index[i]) || overflows;
  }
  return !overflows;
}

static bool find(const CtIr *ir, CtVal v, int *left, Linear *out) {
  const CtInst *inst = ct_inst(ir, v);
  CtVal a = inst->args[0], b = inst->args[1];
  Linear other;
  *out = (Linear){.constant = 0};
  if (!ct_ir_step(left) || !ct_is_int((CtDtype)inst->type)) {
    return false;
  }
  if (inst->op == CT_OP_CONST) {
    out->constant = inst->imm.i;
    return true;
  }
  if (inst->op == CT_OP_TID) {
    out->index[inst->imm.i] = 1;
    return true;
  }
  if (inst->op == CT_OP_CAST) {
    return find(ir, a, left, out);
  }
  if (inst->op == CT_OP_ADD) {
    return find(ir, a, left, out) && find(ir, b, left, &other) && add(out, &other);
  }
  if (inst->op == CT_OP_MUL && (is_const(ir, a) || is_const(ir, b))) {
    CtVal by = is_const(ir, b) ? b : a;
    return find(ir, by == b ? a : b, left, out) && scale(out, ct_inst(ir, by)->imm.i);
  }
  int64_t shift = inst->op == CT_OP_SHL && is_const(ir, b) ? ct_inst(ir, b)->imm.i : -1;
  return shift >= 0 && shift < 32 && find(ir, a, left, out) && scale(out, (int64_t)1 << shift);
}

bool ct_ir_is_thread_number(const CtIr *ir, CtInt i) {
  Linear l;
  int64_t step = 1;
  int left = CT_WALK_STEPS;
  if (ct_is_static(i) || !find(ir, i.id, &left, &l) || l.constant != 0) {
    return false;
  }
  for (int k = 0; k < 3; k++) {
    if (ir->block[k] > 1 && l.index[k] != step) {
      return false;
    }
    step *= ir->block[k];
  }
  return true;
}
