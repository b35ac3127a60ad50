/* ir_threads.c: which threads of a block come to the place where the builder is, as far as the conditions
   around it say.

   threadIdx.x lies in 0 .. block[0]-1, and each IF around narrows that: comparisons of threadIdx.x with
   constants, and what LAND, LOR and LNOT make of them. A condition that is the same for all threads of a
   block narrows nothing. Any other, and a BREAK that some threads took before, may leave out any thread. */
#include "ir_build.h"

typedef struct Threads {
  const CtIr *ir;
  int64_t lo, hi;
  bool is_known; /* false: some of lo .. hi may not come here */
  int left;      /* steps into conditions; what is further away is not known */
} Threads;

static bool is_thread(const CtIr *ir, CtVal v) {
  const CtInst *inst = ct_inst(ir, v);
  return inst->op == CT_OP_TID && inst->imm.i == 0;
}

/* The same for all threads of a block, whatever the launch? */
static bool is_of_block(Threads *t, CtVal v) {
  const CtInst *inst = ct_inst(t->ir, v);
  bool is_leaf = inst->op == CT_OP_CONST || inst->op == CT_OP_PARAM || inst->op == CT_OP_BID ||
                 inst->op == CT_OP_GDIM;
  bool is_so = is_leaf || (ct_ops[inst->op].cls == CT_CLS_PURE && ct_ir_step(&t->left));
  for (int i = 0; is_so && !is_leaf && i < inst->n_args; i++) {
    is_so = is_of_block(t, inst->args[i]);
  }
  return is_so;
}

/* x < n, or x <= n - 1; `holds`: does it, or its opposite? */
static void below(Threads *t, int64_t n, bool holds) {
  if (holds) {
    t->hi = ct_min(t->hi, n - 1);
  } else {
    t->lo = ct_max(t->lo, n);
  }
}

/* A comparison of threadIdx.x with a constant. */
static bool compare(Threads *t, const CtInst *inst, bool holds) {
  bool is_left = is_thread(t->ir, inst->args[0]);
  const CtInst *other = ct_inst(t->ir, inst->args[is_left ? 1 : 0]);
  bool is_equal = inst->op == CT_OP_EQ || inst->op == CT_OP_NE;
  if ((!is_left && !is_thread(t->ir, inst->args[1])) || other->op != CT_OP_CONST ||
      other->imm.i < -INT32_MAX || other->imm.i > INT32_MAX) {
    return false;
  }
  int64_t n = other->imm.i;
  if (is_equal && holds == (inst->op == CT_OP_EQ)) {
    below(t, n + 1, true);
    below(t, n, false);
  } else if (is_equal) { /* all others: an end of the range, or a gap in it */
    t->hi -= t->hi == n;
    t->lo += t->lo == n;
  } else if (is_left) { /* x < n, x <= n */
    below(t, n + (inst->op == CT_OP_LE), holds);
  } else { /* n < x, n <= x */
    below(t, n + (inst->op == CT_OP_LT), !holds);
  }
  return true;
}

static void narrow(Threads *t, CtVal cond, bool holds) {
  const CtInst *inst = ct_inst(t->ir, cond);
  bool is_and = inst->op == CT_OP_LAND && holds, is_or = inst->op == CT_OP_LOR && !holds;
  bool is_comparison =
      inst->op == CT_OP_LT || inst->op == CT_OP_LE || inst->op == CT_OP_EQ || inst->op == CT_OP_NE;
  if (inst->op == CT_OP_LNOT && ct_ir_step(&t->left)) {
    narrow(t, inst->args[0], !holds);
  } else if ((is_and || is_or) && ct_ir_step(&t->left)) {
    narrow(t, inst->args[0], holds);
    narrow(t, inst->args[1], holds);
  } else if (!(is_comparison && compare(t, inst, holds)) && !is_of_block(t, cond)) {
    t->is_known = false;
  }
}

/* Has something around this place been left before? A BLOCK stands in no region until it is ended. */
static bool may_have_left(const CtIr *ir) {
  for (CtVal v = 1; v < ir->n_insts; v++) {
    const CtInst *inst = ct_inst(ir, v);
    if (inst->op == CT_OP_BREAK && inst->region != 0) {
      const CtInst *left = ct_inst(ir, (CtVal)inst->imm.i);
      if (left->region == 0 || ct_ir_encloses(ir, left->u.regions[0], ir->cur)) {
        return true;
      }
    }
  }
  return false;
}

bool ct_ir_come_threads(const CtIr *ir, int64_t n, int64_t *lo, int64_t *hi) {
  Threads t = {.ir = ir, .hi = ir->block[0] - 1, .is_known = true, .left = CT_WALK_STEPS};
  CtRegion at = ir->cur;
  for (CtVal v = ir->regions[at].owner; v != 0; v = ir->regions[at].owner) {
    const CtInst *inst = ct_inst(ir, v);
    if (inst->op == CT_OP_IF) {
      narrow(&t, inst->args[0], inst->u.regions[0] == at);
    }
    at = inst->region;
  }
  *lo = ct_max(t.lo, n);
  *hi = t.hi;
  return *lo <= *hi && t.is_known && !may_have_left(ir);
}
