/* ir_check.c: the verifier. It states what every pass and engine may rely on: operands are defined
   where they are used, types agree with ops.def, a BREAK leaves something around it, tile operations
   have the views they need. A finding is a bug in the front end or in a pass, or (a value used after
   its region has ended) a script's way around the front end; all findings are in one message. */
#include <string.h>

#include "ir_build.h"
#include "ir_tma.h"

enum { MAX_FINDINGS = 8 };

typedef struct Checker {
  const CtIr *ir;
  CtText text; /* the findings */
  int n;
  CtVal at;   /* the operation under check */
  bool *seen; /* by value: visited before it */
} Checker;

static void find(Checker *c, const char *what, CtVal v) {
  const CtInst *inst = ct_inst(c->ir, c->at);
  if (c->n++ >= MAX_FINDINGS) {
    return;
  }
  ct_text_printf(&c->text, "%s%s:%d: %s: %s", c->n > 1 ? "; " : "", ct_ir_chunk(c->ir, inst->loc),
                 inst->loc.line, ct_ops[inst->op].text, what);
  if (v != 0) {
    ct_text_printf(&c->text, " %%%u", v);
  }
}

/* Operations are visited in order, so what was seen in an enclosing region is defined. */
static bool is_defined(const Checker *c, CtVal def, CtVal use) {
  const CtIr *ir = c->ir;
  const CtInst *d = ct_inst(ir, def);
  if (ct_ops[d->op].cls == CT_CLS_LEAF) {
    return true;
  }
  while (use != 0 && ct_inst(ir, use)->region != d->region) {
    use = ir->regions[ct_inst(ir, use)->region].owner;
    if (use == def) { /* a FOR's index, inside its body */
      return d->op == CT_OP_FOR;
    }
  }
  return use != 0 && d->region != 0 && c->seen[def] && d->op != CT_OP_FOR;
}

static void check_operand(void *ud, CtVal v) {
  Checker *c = ud;
  if (v == 0 || v >= c->ir->n_insts) {
    find(c, "an operand is missing", 0);
  } else if (!is_defined(c, v, c->at)) {
    find(c, "uses a value of a region that has ended,", v);
  }
}

/* Memory that begins where an operation says is used after that one. */
static void check_memory(Checker *c, uint32_t buf) {
  const CtBuf *b = &c->ir->bufs[buf];
  if (b->begins != 0 && b->begins != c->at) {
    check_operand(c, b->begins);
  }
}

/* Operations that narrow types are widened for. */
static bool computes(CtOp op) {
  return (ct_ops[op].cls == CT_CLS_PURE && ct_ops[op].types != CT_TYPES_ANY) || op == CT_OP_FOR;
}

static bool is_cast(CtDtype from, CtDtype to) {
  if (ct_is_narrow(from)) {
    return to == ct_dtype_compute(from);
  }
  return !ct_is_narrow(to) || (ct_is_float(to) && from != CT_bool) || from == CT_i32;
}

static void check_casts(Checker *c, const CtInst *inst) {
  CtDtype from = (CtDtype)ct_inst(c->ir, inst->args[0])->type;
  if (inst->op == CT_OP_CAST && !is_cast(from, (CtDtype)inst->type)) {
    find(c, "is no single conversion; see ct_ir_cast,", inst->args[0]);
  }
  if (inst->op == CT_OP_BITCAST && !ct_ir_can_rebit(from, (CtDtype)inst->type)) {
    find(c, "goes to a type of another width,", inst->args[0]);
  }
}

static void check_types(Checker *c, const CtInst *inst) {
  const CtOpInfo *info = &ct_ops[inst->op];
  bool has_condition = inst->op == CT_OP_SELECT || inst->op == CT_OP_WRAPS;
  int first = has_condition || ct_op_has_buf((CtOp)inst->op) ? 1 : 0;
  for (int i = first + 1; i < inst->n_args && !ct_op_has((CtOp)inst->op, CT_TRAIT_MIXED); i++) {
    if (inst->args[i] != 0 &&
        ct_inst(c->ir, inst->args[i])->type != ct_inst(c->ir, inst->args[first])->type) {
      find(c, "operands of two types, one of them", inst->args[i]);
    }
  }
  bool wrong = (info->result == CT_RES_VOID && inst->type != CT_VOID) ||
               (info->result == CT_RES_BOOL && inst->type != CT_bool) ||
               (info->result == CT_RES_SAME && inst->type != ct_inst(c->ir, inst->args[0])->type);
  if (wrong) {
    find(c, "has the wrong result type", 0);
  }
  if (inst->n_args > 0 && computes((CtOp)inst->op) &&
      ct_is_narrow((CtDtype)ct_inst(c->ir, inst->args[0])->type)) {
    find(c, "works on a narrow type; cast its operand to ct_dtype_compute first,", inst->args[0]);
  }
  if ((inst->op == CT_OP_IF || inst->op == CT_OP_SELECT) &&
      ct_inst(c->ir, inst->args[0])->type != CT_bool) {
    find(c, "the condition is not a bool", 0);
  }
}

static void check_break(Checker *c, const CtInst *inst) {
  CtVal target = (CtVal)inst->imm.i;
  CtRegion r = inst->region;
  while (r != 0 && c->ir->regions[r].owner != target) {
    CtVal owner = c->ir->regions[r].owner;
    r = owner == 0 ? 0 : ct_inst(c->ir, owner)->region;
  }
  if (r == 0 || ct_inst(c->ir, target)->op == CT_OP_IF) {
    find(c, "leaves nothing around it,", target);
  }
  if (inst->next != 0) {
    find(c, "is followed by unreachable operations", 0);
  }
}

static void check_view(void *ud, const CtView *view, bool is_written) {
  Checker *c = ud;
  (void)is_written;
  const char *fault = ct_ir_view_fault(c->ir, view);
  if (fault != NULL) {
    find(c, fault, 0);
  } else {
    check_memory(c, view->buf);
  }
}

static void check_register_view(void *ud, const CtView *view, bool is_written) {
  Checker *c = ud;
  (void)is_written;
  if (c->n == 0 && c->ir->bufs[view->buf].space != CT_REGISTER) {
    find(c, "an operand of an instruction that is not in a register", 0);
  }
}

static void check_tile(Checker *c, const CtInst *inst) {
  ct_ir_each_view(inst, check_view, c);
  bool has_atom = inst->op == CT_OP_MMA || inst->op == CT_OP_WGMMA || inst->op == CT_OP_WARP_COPY ||
                  inst->op == CT_OP_TCGEN05_MMA || inst->op == CT_OP_TCGEN05_COPY ||
                  inst->op == CT_OP_TCGEN05_CP;
  if (has_atom && inst->u.tile->atom == NULL) {
    find(c, "has no atom", 0);
  }
  if (inst->op == CT_OP_MMA) {
    ct_ir_each_view(inst, check_register_view, c);
  }
}

static void check_region(Checker *c, CtRegion r, int depth);

static void check_inst(Checker *c, CtVal v, int depth) {
  const CtInst *inst = ct_inst(c->ir, v);
  c->at = v;
  c->seen[v] = true;
  ct_ir_each_operand(c->ir, v, check_operand, c);
  if (ct_op_has_buf((CtOp)inst->op)) {
    check_memory(c, (uint32_t)inst->imm.i);
  }
  if (c->n == 0) {
    check_types(c, inst);
  }
  const char *fault = c->n == 0 ? ct_ir_op_fault(c->ir, v) : NULL;
  if (fault != NULL) {
    find(c, fault, 0);
  }
  if (c->n == 0 && (inst->op == CT_OP_CAST || inst->op == CT_OP_BITCAST)) {
    check_casts(c, inst);
  }
  switch (ct_ops[inst->op].cls) {
    case CT_CLS_REGION:
      check_region(c, inst->u.regions[0], depth + 1);
      if (inst->op == CT_OP_IF && inst->u.regions[1] != 0) {
        check_region(c, inst->u.regions[1], depth + 1);
      }
      break;
    case CT_CLS_JUMP: check_break(c, inst); break;
    case CT_CLS_TILE: check_tile(c, inst); break;
    case CT_CLS_LEAF: find(c, "a leaf stands in a region", 0); break;
    case CT_CLS_PURE:
    case CT_CLS_READ:
    case CT_CLS_EFFECT: break;
  }
}

enum { MAX_NESTING = 250 };

static void check_region(Checker *c, CtRegion r, int depth) {
  if (depth > MAX_NESTING) {
    find(c, "ifs and loops nest deeper than 250, those of helpers included; make them flatter", 0);
    return;
  }
  for (CtVal v = c->ir->regions[r].first; v != 0; v = ct_inst(c->ir, v)->next) {
    check_inst(c, v, depth);
  }
}

static void find_in(Checker *c, const char *kind, size_t at, const char *name, const char *fault) {
  if (fault != NULL && c->n++ < MAX_FINDINGS) {
    ct_text_printf(&c->text, "%s%s %zu ('%s'): %s", c->n > 1 ? "; " : "", kind, at,
                   name == NULL ? "?" : name, fault);
  }
}

static void check_tables(Checker *c) {
  const CtIr *ir = c->ir;
  for (uint32_t i = 1; i < ir->n_bufs; i++) {
    find_in(c, "tensor", i, ir->bufs[i].name, ct_ir_buf_fault(ir, i));
  }
  if (c->n == 0) {
    find_in(c, "memory of block", 0, ir->name, ct_ir_shared_fault(ir));
  }
  for (size_t i = 0; i < ir->n_slots; i++) {
    find_in(c, "value", i, ir->slots[i].name, ct_ir_slot_fault(ir, i));
  }
  for (size_t i = 0; i < ir->n_params && c->n == 0; i++) {
    find_in(c, "argument", i, ir->params[i].name, ct_ir_param_fault(ir, i));
  }
  for (size_t i = 0; i < ir->n_maps; i++) {
    find_in(c, "tensor map", i, ir->maps[i].name, ct_ir_map_fault(ir, i));
  }
  for (size_t i = 0; i < ir->n_requires; i++) {
    find_in(c, "assumption", i, ir->requires_[i].name, ct_ir_require_fault(ir, i));
  }
}

CtStatus ct_ir_check(const CtIr *ir, CtErr *err) {
  Checker c = {.ir = ir};
  c.seen = ct_alloc(ir->arena.alloc, ir->n_insts);
  if (c.seen == NULL) {
    return ct_fail_nomem(err);
  }
  memset(c.seen, 0, ir->n_insts);
  ct_text_init(&c.text, ir->arena.alloc);
  check_tables(&c);
  if (c.n == 0) {
    check_region(&c, 1, 0);
  }
  ct_free(ir->arena.alloc, c.seen, ir->n_insts);
  CtStatus status = CT_OK;
  if (c.n > 0) {
    status =
        ct_fail(err, CT_EINVAL, "kernel '%s' is malformed: %s", ir->name, ct_text_str(&c.text));
  }
  ct_text_clear(&c.text);
  return status;
}
