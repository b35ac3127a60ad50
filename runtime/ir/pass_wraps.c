/* pass_wraps.c: WRAPS of left shifts (ir_wraps.c). A left shift is arithmetic if its result is used as a number:
   in a sum, a comparison, an index, a store. If only operations on bits use it, as in ashr(x << 24, 24) and
   mask & (1 << lane), bits are meant to go, and its WRAPS goes, too. */
#include "pass.h"

#include <string.h>

typedef struct Uses {
  const CtIr *ir;
  bool *is_number; /* by value: is it used as a number? */
} Uses;

/* Does the operation take its operands as bits? */
static bool takes_bits(const CtInst *inst) {
  bool is_unsigned = ct_is_int((CtDtype)inst->type) && ct_is_unsigned((CtDtype)inst->type);
  return inst->op == CT_OP_WRAPS || ct_op_has((CtOp)inst->op, CT_TRAIT_OF_BITS) ||
         (inst->op == CT_OP_CAST && is_unsigned);
}

static void note_number(void *ud, CtVal v) { ((Uses *)ud)->is_number[v] = true; }

static void find_numbers(Uses *u) {
  for (CtVal v = 1; v < u->ir->n_insts; v++) {
    if (!takes_bits(ct_inst(u->ir, v))) {
      ct_ir_each_operand(u->ir, v, note_number, u);
    }
  }
}

/* The shift follows its WRAPS, unless the program had it before. */
static bool is_of_bits(const Uses *u, CtVal v) {
  const CtInst *wraps = ct_inst(u->ir, v), *shift = ct_inst(u->ir, wraps->next);
  return wraps->op == CT_OP_WRAPS && wraps->imm.i == CT_OP_SHL && wraps->next != 0 &&
         shift->op == CT_OP_SHL && shift->args[0] == wraps->args[1] &&
         shift->args[1] == wraps->args[2] && !u->is_number[wraps->next];
}

void ct_pass_wraps(CtIr *ir) {
  if (!ir->finds_overflow) {
    return;
  }
  Uses u = {ir, ct_alloc(ir->arena.alloc, ir->n_insts)};
  if (u.is_number == NULL) {
    ir->failed = true;
    return;
  }
  memset(u.is_number, 0, ir->n_insts);
  find_numbers(&u);
  for (CtVal v = 1; v < ir->n_insts; v++) {
    if (ct_inst(ir, v)->region != 0 && is_of_bits(&u, v)) {
      ct_ir_unlink(ir, v);
    }
  }
  ct_free(ir->arena.alloc, u.is_number, ir->n_insts);
}
