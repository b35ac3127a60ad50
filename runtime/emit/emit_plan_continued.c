/* emit_plan_continued.c: `sum = sum + shuffle(sum)`: decides which values take over the name of the one that they
   gather more into. */
#include "emit.h"

/* What a value is called that gathers others by this operation; NULL: it does not. */
static const char *gathered_by(const CtInst *inst) {
  static const char *const names[CT_OP_COUNT] = {[CT_OP_ADD] = "sum",
                                                 [CT_OP_FMA] = "sum",
                                                 [CT_OP_MUL] = "product",
                                                 [CT_OP_MAX] = "highest",
                                                 [CT_OP_MIN] = "lowest"};
  return names[inst->op];
}

static CtVal gathered(const CtInst *inst) { return inst->args[inst->op == CT_OP_FMA ? 2 : 0]; }

/* max(max(x, a), b): the x under a name that v gathers more into. */
static CtVal start_of(const CtEmit *e, CtVal v) {
  const CtInst *inst = ct_inst(e->ir, v);
  CtVal x = gathered(inst);
  while (e->vals[x].print == CT_PRINT_INLINE && ct_inst(e->ir, x)->op == inst->op) {
    x = gathered(ct_inst(e->ir, x));
  }
  return x;
}

/* x + shuffle(x) */
static bool gathers_lanes(const CtEmit *e, const CtInst *inst, CtVal x) {
  for (int i = 0; i < inst->n_args; i++) {
    const CtInst *arg = ct_inst(e->ir, inst->args[i]);
    if (ct_emit_is_exchange(arg) && arg->args[0] == x &&
        e->vals[inst->args[i]].print == CT_PRINT_INLINE) {
      return true;
    }
  }
  return false;
}

/* `sum = sum + shuffle(sum)`: a value takes the name of the one that it gathers more into, if nobody
   asks for that one later. */
static void find_continued(CtEmit *e, CtVal v) {
  const CtInst *inst = ct_inst(e->ir, v);
  CtEmitVal *x = &e->vals[v];
  if (x->print != CT_PRINT_NAMED || gathered_by(inst) == NULL || x->ptrs != NULL ||
      ct_emit_is_pinned(e, v)) {
    return;
  }
  CtVal from = start_of(e, v);
  const CtInst *before = ct_inst(e->ir, from);
  CtEmitVal *y = &e->vals[from];
  if (y->print == CT_PRINT_NAMED && ct_emit_is_value((CtOp)before->op) && before->name == NULL &&
      before->type == inst->type && before->region == inst->region && y->until <= x->pos &&
      y->ptrs == NULL && !ct_emit_is_pinned(e, from) &&
      (before->op == inst->op || gathers_lanes(e, inst, from))) {
    x->continues = from;
    y->is_continued = true;
  }
}

/* The first of them gets the name of the last one. */
static void name_continued(CtEmit *e, CtVal v) {
  const CtInst *inst = ct_inst(e->ir, v);
  CtEmitVal *x = &e->vals[v];
  if (x->continues != 0) {
    const char *name = inst->name != NULL ? inst->name : x->wanted;
    ct_emit_want(e, x->continues, name != NULL ? name : gathered_by(inst),
                 inst->name == NULL && x->wanted != NULL ? x->suffix : "");
  }
}

void ct_emit_plan_continued(CtEmit *e) {
  for (uint32_t i = 1; i < e->n_order; i++) {
    find_continued(e, e->order[i]);
  }
  for (uint32_t i = e->n_order; i-- > 1;) {
    name_continued(e, e->order[i]);
  }
}
