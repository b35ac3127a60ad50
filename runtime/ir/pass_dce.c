/* pass_dce.c: removes what nothing needs: pure operations and reads without a use, SETs of variables
   that are never read, structure without effects. Then marks the slots that are left in use. */
#include <string.h>

#include "pass.h"

typedef struct Live {
  CtIr *ir;
  bool *live;   /* by value */
  CtVal *stack; /* live, operands not yet visited */
  CtVal *sets;  /* of a VAR: its first SET; of a SET: the next of its variable, or 0 */
  size_t n;
} Live;

static void mark(void *ud, CtVal v) {
  Live *l = ud;
  if (!l->live[v]) {
    l->live[v] = true;
    l->stack[l->n++] = v;
  }
}

static bool is_root(const CtInst *inst) {
  switch (ct_ops[inst->op].cls) {
    case CT_CLS_EFFECT: return inst->op != CT_OP_SET;
    case CT_CLS_REGION: return inst->op == CT_OP_LOOP; /* an endless one stays */
    case CT_CLS_JUMP:
    case CT_CLS_TILE: return true;
    case CT_CLS_LEAF:
    case CT_CLS_PURE:
    case CT_CLS_READ: return false;
  }
  CT_UNREACHABLE();
}

/* What is live needs its operands, its variable, and the structure around it; a variable its SETs. */
static void drain(Live *l) {
  while (l->n > 0) {
    CtVal v = l->stack[--l->n];
    const CtInst *inst = ct_inst(l->ir, v);
    ct_ir_each_operand(l->ir, v, mark, l);
    if (inst->region > 1) {
      mark(l, l->ir->regions[inst->region].owner);
    }
    if (inst->op == CT_OP_GET || inst->op == CT_OP_SET) {
      mark(l, (CtVal)inst->imm.i);
    }
    for (CtVal set = inst->op == CT_OP_VAR ? l->sets[v] : 0; set != 0; set = l->sets[set]) {
      mark(l, set);
    }
  }
}

/* The SETs that are there, by variable. */
static void list_sets(Live *l) {
  memset(l->sets, 0, l->ir->n_insts * sizeof *l->sets);
  for (CtVal v = 1; v < l->ir->n_insts; v++) {
    const CtInst *inst = ct_inst(l->ir, v);
    if (inst->op == CT_OP_SET && inst->region != 0) {
      l->sets[v] = l->sets[inst->imm.i];
      l->sets[inst->imm.i] = v;
    }
  }
}

static void sweep(Live *l, CtRegion r);

static void sweep_regions(Live *l, CtInst *inst) {
  CtRegion other = inst->op == CT_OP_IF ? inst->u.regions[1] : 0;
  sweep(l, inst->u.regions[0]);
  if (other != 0) {
    sweep(l, other);
    inst->u.regions[1] = l->ir->regions[other].first == 0 ? 0 : other;
  }
}

/* Removes dead operations from a region, inner regions first. */
static void sweep(Live *l, CtRegion r) {
  CtIr *ir = l->ir;
  for (CtVal v = ir->regions[r].first; v != 0;) {
    CtInst *inst = &ir->insts[v];
    CtVal next = inst->next;
    if (ct_ops[inst->op].cls == CT_CLS_REGION) {
      sweep_regions(l, inst);
    }
    if (!l->live[v]) {
      ct_ir_unlink(ir, v);
    }
    v = next;
  }
}

static void drop_empty(CtIr *ir, CtVal v) {
  CtInst *inst = &ir->insts[v];
  CtRegion other = inst->op == CT_OP_IF ? inst->u.regions[1] : 0;
  bool has_other = other != 0 && ir->regions[other].first != 0;
  if (other != 0 && !has_other) {
    inst->u.regions[1] = 0;
  }
  if (ir->regions[inst->u.regions[0]].first == 0 && !has_other) {
    ct_ir_unlink(ir, v);
  }
}

/* --- jumps to where control goes anyway --- */

enum { MAX_LOOK = 1024 };

/* The first operation of effect that follows v in its region, or 0. Not far from v: no operation without effect
   between two jumps is needed, so the next sweep removes those that have come to be there. */
static CtVal next_effect(const CtIr *ir, CtVal v) {
  v = ir->insts[v].next;
  for (int i = 0; v != 0 && i < MAX_LOOK; i++, v = ir->insts[v].next) {
    CtOpClass cls = ct_ops[ir->insts[v].op].cls;
    if (cls != CT_CLS_PURE && cls != CT_CLS_READ) {
      return v;
    }
  }
  return v;
}

/* Does control go from v to what follows the target, with nothing of effect in between? */
static bool leads_to(const CtIr *ir, CtVal v, CtVal target) {
  for (;;) {
    CtVal next = next_effect(ir, v);
    CtVal owner = ir->regions[ir->insts[v].region].owner;
    CtOp op = (CtOp)ir->insts[owner].op;
    if (next != 0) {
      return ir->insts[next].op == CT_OP_BREAK && (CtVal)ir->insts[next].imm.i == target;
    }
    if (owner == target || owner == 0 || (op != CT_OP_IF && op != CT_OP_BLOCK)) {
      return owner == target && op == CT_OP_BLOCK;
    }
    v = owner;
  }
}

/* Removes BREAKs that stand alone in an arm and go where control goes anyway, from the last to the first; whether
   there were any. Others stay: an engine reads from them which code is an 'else'. */
static bool drop_jumps(CtIr *ir) {
  bool found = false;
  for (CtVal v = (CtVal)ir->n_insts - 1; v > 0; v--) {
    const CtInst *inst = &ir->insts[v];
    bool is_alone =
        inst->op == CT_OP_BREAK && inst->region != 0 && ir->regions[inst->region].first == v;
    if (is_alone && leads_to(ir, v, (CtVal)inst->imm.i)) {
      CtVal owner = ir->regions[inst->region].owner;
      ct_ir_unlink(ir, v);
      drop_empty(ir, owner);
      found = true;
    }
  }
  return found;
}

static void mark_slots(CtIr *ir, const Live *l) {
  for (size_t i = 0; i < ir->n_slots; i++) {
    CtSlot *slot = &ir->slots[i];
    slot->used = slot->val != 0 && l->live[slot->val];
  }
}

static void use_buffer(CtIr *ir, uint32_t buf) {
  const CtBuf *b = &ir->bufs[buf];
  if (b->space == CT_GLOBAL && b->list != 0) {
    use_buffer(ir, b->list);
  } else if (b->space == CT_GLOBAL && b->chosen == 0) {
    ir->slots[ir->params[ir->bufs[buf].param].first_slot].used = true;
  }
}

static void use_view(void *ud, const CtView *view, bool is_written) {
  (void)is_written;
  use_buffer(ud, view->buf);
}

static void mark_pointers(CtIr *ir) {
  for (CtVal v = 1; v < ir->n_insts; v++) {
    const CtInst *inst = ct_inst(ir, v);
    if (inst->region == 0) {
      continue;
    }
    if (ct_op_has_buf((CtOp)inst->op)) {
      use_buffer(ir, (uint32_t)inst->imm.i);
    }
    for (int i = 0; ct_op_has_text((CtOp)inst->op) && i < inst->u.escape->n_places; i++) {
      use_buffer(ir, inst->u.escape->places[i].buf);
    }
    ct_ir_each_view(inst, use_view, ir);
  }
}

static void run(Live *l) {
  CtIr *ir = l->ir;
  memset(l->live, 0, ir->n_insts * sizeof *l->live);
  l->n = 0;
  list_sets(l);
  for (CtVal v = 1; v < ir->n_insts; v++) {
    if (ir->insts[v].region != 0 && is_root(&ir->insts[v])) {
      mark(l, v);
    }
  }
  drain(l);
  sweep(l, 1);
}

CtStatus ct_pass_dce(CtIr *ir, CtErr *err) {
  CtAlloc a = ir->arena.alloc;
  size_t n = ir->n_insts;
  Live l = {.ir = ir,
            .live = ct_alloc(a, n * sizeof *l.live),
            .stack = ct_alloc(a, n * sizeof *l.stack),
            .sets = ct_alloc(a, n * sizeof *l.sets)};
  CtStatus status = CT_OK;
  if (l.live == NULL || l.stack == NULL || l.sets == NULL) {
    status = ct_fail_nomem(err);
  } else {
    do {
      run(&l);
    } while (drop_jumps(ir));
    mark_slots(ir, &l);
    mark_pointers(ir);
  }
  ct_free(a, l.live, n * sizeof *l.live);
  ct_free(a, l.stack, n * sizeof *l.stack);
  ct_free(a, l.sets, n * sizeof *l.sets);
  return status;
}

CtStatus ct_ir_finish(CtIr *ir, CtErr *err) {
  static const char *const names[CT_TENSOR + 1] = {[CT_GLOBAL] = "tensor",
                                                   [CT_SHARED] = "shared",
                                                   [CT_REGISTER] = "fragment",
                                                   [CT_CONSTANT] = "constant",
                                                   [CT_TENSOR] = "tmem"};
  if (ir->failed) {
    return ct_fail_nomem(err);
  }
  for (uint32_t i = 1; i < ir->n_bufs; i++) {
    const CtBuf *b = &ir->bufs[i];
    ct_ir_name_buf(ir, i, b->remote != 0 ? ir->bufs[b->alias_of].name : names[b->space]);
  }
  ct_pass_async(ir);
  ct_pass_wraps(ir);
  CtStatus status = ct_pass_dce(ir, err);
  if (ir->contract) {
    ct_pass_contract(ir);
  }
  ct_pass_early(ir);
  status = status == CT_OK ? ct_pass_registers(ir, err) : status;
  status = status == CT_OK ? ct_ir_check(ir, err) : status;
  return status == CT_OK && ir->failed ? ct_fail_nomem(err) : status;
}
