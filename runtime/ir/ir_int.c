/* ir_int.c: integers of the layout algebra that are values of an IR: arithmetic on them, and their values on the
   host. */
#include "ir_build.h"

CtInt ct_ir_int(const CtIr *ir, CtVal v) {
  if (ct_inst(ir, v)->op == CT_OP_CONST) {
    return ct_int(ct_inst(ir, v)->imm.i);
  }
  return (CtInt){.id = v, .kind = CT_DYNAMIC};
}

CtVal ct_ir_val(CtIr *ir, CtInt i, CtDtype type) {
  if (i.kind == CT_DYNAMIC) {
    return ct_ir_cast(ir, i.id, type);
  }
  return ct_ir_const_int(ir, type, i.v);
}

static bool fits_i32(const CtIr *ir, CtInt i) {
  if (i.kind == CT_DYNAMIC) {
    return ct_inst(ir, i.id)->type == CT_i32;
  }
  return i.v >= INT32_MIN && i.v <= INT32_MAX;
}

static const CtOp int_ops[] = {
    [CT_INT_ADD] = CT_OP_ADD,      [CT_INT_SUB] = CT_OP_SUB, [CT_INT_MUL] = CT_OP_MUL,
    [CT_INT_MIN] = CT_OP_MIN,      [CT_INT_MAX] = CT_OP_MAX, [CT_INT_DIV] = CT_OP_FLOORDIV,
    [CT_INT_MOD] = CT_OP_FLOORMOD, [CT_INT_XOR] = CT_OP_XOR,
};

CtVal ct_ir_int_op(CtIr *ir, CtIntOp op, CtInt a, CtInt b) {
  CtDtype type = fits_i32(ir, a) && fits_i32(ir, b) ? CT_i32 : CT_i64;
  CtVal x = ct_ir_val(ir, a, type);
  CtVal y = ct_ir_val(ir, b, type);
  if (x == 0 || y == 0) {
    return 0;
  }
  if (op != CT_INT_CEILDIV) {
    return ct_ir_binary_exact(ir, int_ops[op], x, y);
  }
  CtFacts d = ct_inst(ir, y)->facts;
  if (ct_facts_is_one(d) && d.lo > 0 && ct_inst(ir, x)->facts.div % d.lo != 0) {
    x = ct_ir_binary_exact(ir, CT_OP_ADD, x, ct_ir_const_int(ir, type, d.lo - 1));
  } else if (!ct_facts_is_one(d)) {
    CtVal less = ct_ir_binary_exact(ir, CT_OP_SUB, y, ct_ir_const_int(ir, type, 1));
    x = ct_ir_binary_exact(ir, CT_OP_ADD, x, less);
  }
  return x == 0 ? 0 : ct_ir_binary_exact(ir, CT_OP_FLOORDIV, x, y);
}

/* --- evaluation on the host --------------------------------------------------------------------- */

enum { EVAL_DEPTH = 200 };

static bool eval(const CtIr *ir, CtVal v, const CtSlotValue *slots, int depth, int64_t *out) {
  const CtInst *inst = ct_inst(ir, v);
  int64_t a, b;
  if (depth > EVAL_DEPTH || ct_is_float((CtDtype)inst->type)) {
    return false;
  }
  if (inst->op == CT_OP_CONST) {
    *out = inst->imm.i;
    return true;
  }
  if (inst->op == CT_OP_PARAM) {
    *out = slots[inst->imm.i].i;
    return true;
  }
  if (ct_ops[inst->op].cls != CT_CLS_PURE || inst->n_args == 0 || inst->n_args > 2 ||
      !eval(ir, inst->args[0], slots, depth + 1, &a)) {
    return false;
  }
  if (inst->op == CT_OP_CAST || inst->op == CT_OP_DYNAMIC) {
    *out = ct_dtype_wrap((CtDtype)inst->type, a);
    return true;
  }
  if (inst->n_args != 2 || !eval(ir, inst->args[1], slots, depth + 1, &b) ||
      !ct_fold_ints((CtOp)inst->op, (CtDtype)ct_inst(ir, inst->args[0])->type, a, b, out)) {
    return false;
  }
  *out = ct_dtype_wrap((CtDtype)inst->type, *out);
  return true;
}

CtStatus ct_ir_eval(const CtIr *ir, CtVal v, const CtSlotValue *slots, int64_t *out, CtErr *err) {
  if (!eval(ir, v, slots, 0, out)) {
    return ct_fail(err, CT_EINVAL, "a size depends on more than the kernel's arguments");
  }
  return CT_OK;
}
