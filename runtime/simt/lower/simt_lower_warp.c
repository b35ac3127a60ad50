/* simt_lower_warp.c: lowering to the CPU engine: operations of a warp, atomic operations, the clock,
   messages; and which loops may be waiting. */
#include "simt_lower.h"

#include <string.h>

static void lower_shfl(CtLow *l, CtVal v) {
  const CtInst *inst = ct_inst(l->ir, v);
  uint32_t value = ct_low_lanes(l, inst->args[0]), by = ct_low_lanes(l, inst->args[1]);
  int64_t bytes = ct_low_class((CtDtype)inst->type) == CT_CLASS_LANES8 ? 8 : 4;
  (void)ct_low_emit(l, false, CT_SIMT_SHFL, ct_low_result(l, v, false), value, by,
                    ct_low_construct(l), inst->imm.i | bytes << 16);
}

static void lower_vote(CtLow *l, CtVal v) {
  const CtInst *inst = ct_inst(l->ir, v);
  uint32_t cond = ct_low_lanes(l, inst->args[0]);
  (void)ct_low_emit(l, false, CT_SIMT_VOTE, ct_low_result(l, v, false), cond, 0,
                    ct_low_construct(l), inst->imm.i);
}

static void lower_atomic(CtLow *l, CtVal v) {
  const CtInst *inst = ct_inst(l->ir, v);
  CtDtype dtype = l->ir->bufs[inst->imm.i].dtype;
  bool is_i32 = ct_inst(l->ir, inst->args[0])->type == CT_i32;
  CtAtomicImm imm = {.u = {(uint32_t)inst->imm.i, inst->op, (uint8_t)dtype, is_i32}};
  uint32_t at[3] = {0, 0, 0};
  for (int i = 0; i < inst->n_args; i++) {
    at[i] = ct_low_lanes(l, inst->args[i]);
  }
  uint32_t bytes = (uint32_t)ct_dtype_bytes(dtype) * CT_LANES;
  uint32_t d = inst->type != CT_VOID ? ct_low_result(l, v, false)
                                     : ct_low_slot(l, ct_low_class(dtype), bytes, false);
  ct_low_each(l, (uint32_t)inst->imm.i, 1);
  (void)ct_low_emit(l, false, CT_SIMT_ATOMIC, d, at[0], at[1], at[2], imm.imm);
}

/* --- synchronisation objects -------------------------------------------------------------------------- */

static void lower_mbar(CtLow *l, CtVal v) {
  const CtInst *inst = ct_inst(l->ir, v);
  CtMbarImm imm = {.u = {(uint32_t)inst->imm.i, inst->op}};
  uint32_t slot = inst->n_args > 0 ? ct_low_lanes(l, inst->args[0]) : 0;
  uint32_t b = inst->n_args > 1 ? ct_low_lanes(l, inst->args[1]) : 0;
  uint32_t d = inst->type != CT_VOID ? ct_low_result(l, v, false) : 0;
  (void)ct_low_emit(l, false, CT_SIMT_MBAR, d, slot, b, 0, imm.imm);
}

static void lower_named(CtLow *l, const CtInst *inst) {
  int64_t imm = inst->imm.i << 1 | (inst->op == CT_OP_NAMED_ARRIVE);
  uint32_t id = ct_low_lanes(l, inst->args[0]);
  l->p->has_named = true;
  (void)ct_low_emit(l, false, CT_SIMT_NAMED, 0, id, 0, ct_low_construct(l), imm);
}

static void lower_sync(CtLow *l, CtVal v) {
  const CtInst *inst = ct_inst(l->ir, v);
  switch ((CtOp)inst->op) {
    case CT_OP_NAMED_SYNC:
    case CT_OP_NAMED_ARRIVE: lower_named(l, inst); break;
    case CT_OP_ELECT:
      (void)ct_low_emit(l, false, CT_SIMT_ELECT, ct_low_result(l, v, false), 0, 0,
                        ct_low_construct(l), 0);
      break;
    case CT_OP_SETMAXNREG:
      l->p->first_registers = ct_ir_first_registers(l->ir);
      (void)ct_low_emit(l, false, CT_SIMT_SETMAXNREG, 0, 0, 0, ct_low_construct(l), inst->imm.i);
      break;
    default: lower_mbar(l, v); break;
  }
}

/* --- messages ----------------------------------------------------------------------------------------- */

static int64_t keep_text(CtLow *l, const char *text) {
  size_t len = strlen(text);
  const char *copy = ct_arena_strdup(&l->p->arena, text, len);
  if (copy == NULL || !CT_LOW_GROW(l, texts, n_texts, cap_texts)) {
    l->failed = true;
    return 0;
  }
  l->texts[l->n_texts] = copy;
  return (int64_t)l->n_texts++;
}

static void lower_print(CtLow *l, const CtInst *inst) {
  const CtEscape *message = inst->u.escape;
  for (int i = 0; i < message->n; i++) {
    uint32_t lanes = ct_low_lanes(l, message->vals[i]);
    int64_t imm = (int64_t)i << 8 | ct_inst(l->ir, message->vals[i])->type;
    (void)ct_low_emit(l, false, CT_SIMT_PRINT_ARG, 0, lanes, 0, 0, imm);
  }
  (void)ct_low_emit(l, false, CT_SIMT_PRINT, 0, 0, 0, 0, keep_text(l, message->text));
}

static void lower_assert(CtLow *l, const CtInst *inst) {
  uint32_t cond = ct_low_lanes(l, inst->args[0]);
  (void)ct_low_emit(l, false, CT_SIMT_ASSERT, cond, 0, 0, 0, keep_text(l, inst->u.escape->text));
}

static void lower_within(CtLow *l, const CtInst *inst) {
  uint32_t crd = ct_low_lanes(l, inst->args[0]), extent = ct_low_lanes(l, inst->args[1]);
  CtDtype type = (CtDtype)ct_inst(l->ir, inst->args[0])->type;
  uint32_t wide = ct_low_class(type) == CT_CLASS_LANES8;
  int64_t imm = keep_text(l, inst->u.escape->text) | inst->imm.i << 32;
  (void)ct_low_emit(l, false, CT_SIMT_WITHIN, wide, crd, extent, 0, imm);
}

/* --- waiting loops ---------------------------------------------------------------------------------- */

typedef struct Body {
  const CtIr *ir;
  bool reads, atomics, works;
} Body;

static bool is_shared_buf(const CtIr *ir, uint32_t buf) {
  buf = ct_ir_memory(ir, buf);
  return ir->bufs[buf].space != CT_REGISTER && ir->bufs[buf].is_written;
}

static void look(Body *b, const CtInst *inst) {
  CtOp op = (CtOp)inst->op;
  if (ct_op_is_atomic(op)) {
    b->atomics = true;
  } else if (op == CT_OP_MBAR_TEST) { /* WAIT stops the warp by itself */
    b->atomics = true;
  } else if (op == CT_OP_LOAD) {
    b->reads = b->reads || is_shared_buf(b->ir, (uint32_t)inst->imm.i);
  } else if (op == CT_OP_STORE) {
    b->works = b->works || is_shared_buf(b->ir, (uint32_t)inst->imm.i);
  } else if (ct_ops[op].cls == CT_CLS_TILE) {
    b->works = b->works || is_shared_buf(b->ir, inst->u.tile->dst.buf);
  } else {
    b->works = b->works || op == CT_OP_CLOCK || op == CT_OP_PRINT || ct_op_is_tma(op);
  }
}

static void look_into(Body *b, CtRegion r) {
  for (CtVal v = b->ir->regions[r].first; r != 0 && v != 0; v = ct_inst(b->ir, v)->next) {
    const CtInst *inst = ct_inst(b->ir, v);
    look(b, inst);
    if (ct_ops[inst->op].cls == CT_CLS_REGION) {
      look_into(b, inst->u.regions[0]);
      if (inst->op == CT_OP_IF) {
        look_into(b, inst->u.regions[1]);
      }
    }
  }
}

/* A FOR ends by itself, but others may have to run before what it looks for is there. */
CtSpin ct_low_spin(const CtLow *l, CtVal loop) {
  const CtInst *inst = ct_inst(l->ir, loop);
  Body b = {.ir = l->ir};
  look_into(&b, inst->u.regions[0]);
  if (inst->op != CT_OP_LOOP) {
    return b.atomics ? CT_SPIN_WORK : CT_SPIN_NOT;
  }
  return !b.atomics && !b.reads ? CT_SPIN_NOT : b.works ? CT_SPIN_WORK : CT_SPIN_WAIT;
}

void ct_low_warp(CtLow *l, CtVal v) {
  CtOp op = (CtOp)ct_inst(l->ir, v)->op;
  switch (op) {
    case CT_OP_SHFL: lower_shfl(l, v); break;
    case CT_OP_VOTE: lower_vote(l, v); break;
    case CT_OP_FENCE: (void)ct_low_emit(l, false, CT_SIMT_FENCE, 0, 0, 0, 0, 0); break;
    case CT_OP_CLOCK:
      (void)ct_low_emit(l, false, CT_SIMT_CLOCK, ct_low_result(l, v, false), 0, 0, 0, 0);
      break;
    case CT_OP_PRINT: lower_print(l, ct_inst(l->ir, v)); break;
    case CT_OP_ASSERT: lower_assert(l, ct_inst(l->ir, v)); break;
    case CT_OP_WITHIN: lower_within(l, ct_inst(l->ir, v)); break;
    default:
      if (ct_op_is_sync(op)) {
        lower_sync(l, v);
      } else {
        CT_ASSERT(ct_op_is_atomic(op));
        lower_atomic(l, v);
      }
      break;
  }
}
