/* pass_contract.c: a*b + c becomes one fma where the product has no other use; of two products the
   left one. Deciding it here, and not in NVRTC or gcc, makes both engines round alike. Dead operations are gone before,
   as their uses do not count. */
#include <string.h>

#include "pass.h"

typedef struct Uses {
  uint32_t *n; /* by value; saturating is not needed, a kernel has < 2^32 operands */
} Uses;

static void count(void *ud, CtVal v) {
  Uses *u = ud;
  u->n[v]++;
}

static bool is_product(const CtIr *ir, const Uses *u, CtVal v) {
  return ct_inst(ir, v)->op == CT_OP_MUL && u->n[v] == 1;
}

/* Negates v; the negation is placed before `before`. */
static CtVal negated(CtIr *ir, CtVal v, CtVal before) {
  CtVal n = ct_ir_new(ir, CT_OP_NEG, (CtDtype)ct_inst(ir, v)->type);
  if (n != 0) {
    ir->insts[n].args[0] = v;
    ir->insts[n].loc = ir->insts[before].loc;
    ct_ir_link(ir, n, ir->insts[before].region, before);
  }
  return n;
}

static void become_fma(CtIr *ir, CtVal v, CtVal a, CtVal b, CtVal c) {
  CtInst *inst = &ir->insts[v];
  inst->op = CT_OP_FMA;
  inst->n_args = 3;
  inst->args[0] = a;
  inst->args[1] = b;
  inst->args[2] = c;
}

static void contract(CtIr *ir, const Uses *u, CtVal v) {
  CtInst inst = ir->insts[v];
  if (!ct_is_float((CtDtype)inst.type) || (inst.op != CT_OP_ADD && inst.op != CT_OP_SUB)) {
    return;
  }
  bool left = is_product(ir, u, inst.args[0]);
  if (!left && !is_product(ir, u, inst.args[1])) {
    return;
  }
  const CtVal product_at = inst.args[left ? 0 : 1];
  const CtInst product = ir->insts[product_at];
  CtVal other = inst.args[left ? 1 : 0];
  CtVal factor = product.args[0];
  if (inst.op == CT_OP_SUB && left) {
    other = negated(ir, other, v); /* a*b - c */
  } else if (inst.op == CT_OP_SUB) {
    factor = negated(ir, factor, v); /* c - a*b */
  }
  if (other != 0 && factor != 0) {
    become_fma(ir, v, factor, product.args[1], other);
    ct_ir_unlink(ir, product_at);
  }
}

void ct_pass_contract(CtIr *ir) {
  size_t n = ir->n_insts;
  Uses u = {ct_alloc(ir->arena.alloc, n * sizeof *u.n)};
  if (u.n == NULL) {
    ir->failed = true;
    return;
  }
  memset(u.n, 0, n * sizeof *u.n);
  for (CtVal v = 1; v < n; v++) {
    if (ir->insts[v].region != 0) {
      ct_ir_each_operand(ir, v, count, &u);
    }
  }
  for (CtVal v = 1; v < n; v++) {
    if (ir->insts[v].region != 0) {
      contract(ir, &u, v);
    }
  }
  ct_free(ir->arena.alloc, u.n, n * sizeof *u.n);
}
