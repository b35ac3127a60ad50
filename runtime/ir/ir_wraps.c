/* ir_wraps.c: signed integers that wrap around, for `check`.

   A trace that finds overflow (CtIr.finds_overflow) records a WRAPS before each operation of the script on
   signed integers, at its place: what the passes and engines make of the operation does not matter. Left out
   is what is known to fit. Other traces have none. Arithmetic that the library does on purpose modulo 2^n
   is not recorded either, because only the operators of the language do so. */
#include "ir_build.h"

static bool is_false(const CtIr *ir, CtVal v) {
  return v != 0 && ct_inst(ir, v)->op == CT_OP_CONST && ct_inst(ir, v)->imm.i == 0;
}

void ct_ir_wraps(CtIr *ir, CtOp op, CtVal x, CtVal y) {
  if (!ir->finds_overflow || !ct_op_has(op, CT_TRAIT_WRAPS) || is_false(ir, ir->overflow_if)) {
    return;
  }
  CtDtype type = (CtDtype)ct_inst(ir, x)->type;
  y = y == 0 ? x : y;
  if ((type != CT_i32 && type != CT_i64) ||
      ct_op_fits(op, type, ct_inst(ir, x)->facts, ct_inst(ir, y)->facts)) {
    return;
  }
  CtInst key = {.op = CT_OP_WRAPS, .type = CT_VOID, .imm = {.i = op}};
  key.args[0] = ir->overflow_if == 0 ? ct_ir_const_int(ir, CT_bool, 1) : ir->overflow_if;
  key.args[1] = x;
  key.args[2] = y;
  (void)ct_ir_shared_inst(ir, &key);
}

CtVal ct_ir_overflow_where(CtIr *ir, CtVal cond) {
  CtVal outer = ir->overflow_if;
  if (ir->finds_overflow && cond != 0) {
    ir->overflow_if = outer == 0 ? cond : ct_ir_binary(ir, CT_OP_LAND, outer, cond);
  }
  return outer;
}

void ct_ir_overflow_again(CtIr *ir, CtVal outer) { ir->overflow_if = outer; }
