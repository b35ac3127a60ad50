/* expression.c: sizes that depend on the arguments only, as C: what ct_ir_eval computes. */
#include <inttypes.h>

#include "describe.h"

enum { MAX_DEPTH = 200 };

/* How C writes an operation: before, between and after its operands. */
static const struct {
  const char *before, *between, *after;
} forms[CT_OP_COUNT] = {[CT_OP_ADD] = {"(", " + ", ")"},
                        [CT_OP_SUB] = {"(", " - ", ")"},
                        [CT_OP_MUL] = {"(", " * ", ")"},
                        [CT_OP_AND] = {"(", " & ", ")"},
                        [CT_OP_OR] = {"(", " | ", ")"},
                        [CT_OP_XOR] = {"(", " ^ ", ")"},
                        [CT_OP_SHL] = {"(", " << ", ")"},
                        [CT_OP_SHR] = {"(", " >> ", ")"},
                        [CT_OP_ASHR] = {"(", " >> ", ")"},
                        [CT_OP_MIN] = {"NAME_min(", ", ", ")"},
                        [CT_OP_MAX] = {"NAME_max(", ", ", ")"},
                        [CT_OP_FLOORDIV] = {"NAME_floordiv(", ", ", ")"},
                        [CT_OP_FLOORMOD] = {"NAME_floormod(", ", ", ")"}};

static bool put(const CtIr *ir, CtVal v, int depth, CtText *out) {
  const CtInst *inst = ct_inst(ir, v);
  if (depth > MAX_DEPTH || ct_is_float((CtDtype)inst->type)) {
    return false;
  }
  if (inst->op == CT_OP_CONST) {
    ct_text_printf(out, "INT64_C(%" PRId64 ")", inst->imm.i);
    return inst->imm.i != INT64_MIN;
  }
  if (inst->op == CT_OP_PARAM) {
    ct_text_printf(out, "s[%" PRId64 "]", inst->imm.i);
    return true;
  }
  if (inst->op == CT_OP_CAST || inst->op == CT_OP_DYNAMIC) { /* sizes fit their types */
    return put(ir, inst->args[0], depth + 1, out);
  }
  if (forms[inst->op].before == NULL || inst->n_args != 2) {
    return false;
  }
  ct_text_puts(out, forms[inst->op].before);
  bool ok = put(ir, inst->args[0], depth + 1, out);
  ct_text_puts(out, forms[inst->op].between);
  ok = ok && put(ir, inst->args[1], depth + 1, out);
  ct_text_puts(out, forms[inst->op].after);
  return ok;
}

CtStatus export_expression(const CtIr *ir, CtVal v, CtText *out, CtErr *err) {
  if (!put(ir, v, 0, out)) {
    return ct_fail(err, CT_EUNSUPPORTED,
                   "%s: a size is computed by '%s', which export cannot write as C; compute it in "
                   "the kernel, or pass it as a number",
                   ir->name, ct_ops[ct_inst(ir, v)->op].text);
  }
  return ct_text_status(out, err);
}
