/* simt_lower_warp.c: lowering to the CPU engine: operations of a warp, atomic operations, the
   clock, messages; and which loops may wait for other threads. */
#include "simt_lower.h"

#include <string.h>

void ct_low_shfl(CtLow *l, CtVal v) {
  const CtInst *inst = ct_inst(l->ir, v);
  uint32_t value = ct_low_lanes(l, inst->args[0]), by = ct_low_lanes(l, inst->args[1]);
  int64_t bytes = ct_low_class((CtDtype)inst->type) == CT_CLASS_LANES8 ? 8 : 4;
  CT_EMIT(l, CT_SIMT_SHFL, .d = ct_low_result(l, v, false), .a = value, .b = by,
          .c = ct_low_construct(l), .imm = inst->imm.i | bytes << 16);
}

void ct_low_sync_lanes(CtLow *l, CtVal v) {
  CtMaskedImm imm = {.u = {.construct = ct_low_construct(l)}};
  uint32_t mask = ct_low_lanes(l, ct_inst(l->ir, v)->args[0]);
  CT_EMIT(l, CT_SIMT_SYNC_LANES, .c = mask, .imm = imm.imm);
}

void ct_low_masked(CtLow *l, CtVal v) {
  const CtInst *inst = ct_inst(l->ir, v);
  CtDtype type = (CtDtype)ct_inst(l->ir, inst->args[0])->type;
  CtMaskedImm imm = {.u = {.kind = (uint8_t)(inst->imm.i & 0xff),
                           .width = (uint8_t)(inst->imm.i >> 8 & 0xff),
                           .bytes = ct_low_class(type) == CT_CLASS_LANES8 ? 8 : 4,
                           .is_whole = (inst->imm.i & CT_MASKED_WHOLE) != 0,
                           .is_unsigned = type == CT_u32,
                           .construct = ct_low_construct(l)}};
  uint32_t value = ct_low_lanes(l, inst->args[0]), by = ct_low_lanes(l, inst->args[1]);
  uint32_t mask = ct_low_lanes(l, inst->args[2]);
  CT_EMIT(l, CT_SIMT_MASKED, .d = ct_low_result(l, v, false), .a = value, .b = by, .c = mask,
          .imm = imm.imm);
}

void ct_low_counted(CtLow *l, CtVal v) {
  const CtInst *inst = ct_inst(l->ir, v);
  uint32_t cond = ct_low_lanes(l, inst->args[0]);
  CT_EMIT(l, CT_SIMT_TALLY, .a = cond, .imm = inst->op);
  CT_EMIT(l, CT_SIMT_BARRIER, .d = ct_low_construct(l));
  CT_EMIT(l, CT_SIMT_TALLIED, .d = ct_low_result(l, v, false), .imm = inst->op);
}

static bool is_used(const CtIr *ir, CtVal v) {
  CtVal user = 1;
  while (user < ir->n_insts && !ct_ir_uses(ir, user, v)) {
    user++;
  }
  return user < ir->n_insts;
}

void ct_low_atomic(CtLow *l, CtVal v) {
  const CtInst *inst = ct_inst(l->ir, v);
  CtDtype dtype = l->ir->bufs[inst->imm.i].dtype;
  bool is_i32 = ct_inst(l->ir, inst->args[0])->type == CT_i32;
  CtAtomicImm imm = {.u = {.buf = (uint32_t)inst->imm.i,
                           .op = inst->op,
                           .dtype = (uint8_t)dtype,
                           .is_i32 = is_i32,
                           .is_blind = inst->op == CT_OP_ATOMIC_EXCH && !is_used(l->ir, v),
                           .order = inst->order & CT_ORDER_ALL}};
  uint32_t at[3] = {0, 0, 0};
  for (int i = 0; i < inst->n_args; i++) {
    at[i] = ct_low_lanes(l, inst->args[i]);
  }
  uint32_t bytes = (uint32_t)ct_dense_bytes(dtype, CT_LANES);
  uint32_t d = inst->type != CT_VOID ? ct_low_result(l, v, false)
                                     : ct_low_slot(l, ct_low_class(dtype), bytes, false);
  ct_low_each(l, (uint32_t)inst->imm.i, 1);
  CT_EMIT(l, CT_SIMT_ATOMIC, .d = d, .a = at[0], .b = at[1], .c = at[2], .imm = imm.imm);
}

void ct_low_fence(CtLow *l, CtVal v) { CT_EMIT(l, CT_SIMT_FENCE, .imm = ct_inst(l->ir, v)->order); }

/* --- synchronisation objects -------------------------------------------------------------------------- */

void ct_low_mbar(CtLow *l, CtVal v) {
  const CtInst *inst = ct_inst(l->ir, v);
  CtMbarImm imm = {.u = {(uint32_t)inst->imm.i, inst->op, 0}};
  l->p->has_tcgen05 =
      l->p->has_tcgen05 || inst->op == CT_OP_TCGEN05_COMMIT || inst->op == CT_OP_TCGEN05_COMMIT_TO;
  uint32_t slot = inst->n_args > 0 ? ct_low_lanes(l, inst->args[0]) : 0;
  uint32_t b = inst->n_args > 1 ? ct_low_lanes(l, inst->args[1]) : 0;
  uint32_t d = inst->type != CT_VOID ? ct_low_result(l, v, false) : 0;
  CT_EMIT(l, CT_SIMT_MBAR, .d = d, .a = slot, .b = b, .imm = imm.imm);
}

/* The value is there at once; its bytes complete after it. */
void ct_low_st_async(CtLow *l, CtVal v) {
  const CtInst *inst = ct_inst(l->ir, v);
  const CtBuf *buf = &l->ir->bufs[inst->imm.i];
  CtMbarImm imm = {.u = {buf->bar, inst->op, (uint16_t)ct_value_bytes(buf->dtype)}};
  uint32_t slot = ct_low_lanes(l, inst->args[2]), rank = ct_low_lanes(l, buf->remote);
  ct_low_store(l, v);
  CT_EMIT(l, CT_SIMT_MBAR, .a = slot, .b = rank, .imm = imm.imm);
}

void ct_low_named(CtLow *l, CtVal v) {
  const CtInst *inst = ct_inst(l->ir, v);
  int64_t imm = inst->imm.i << 1 | (inst->op == CT_OP_NAMED_ARRIVE);
  uint32_t id = ct_low_lanes(l, inst->args[0]);
  l->p->has_named = true;
  CT_EMIT(l, CT_SIMT_NAMED, .a = id, .c = ct_low_construct(l), .imm = imm);
}

void ct_low_setmaxnreg(CtLow *l, CtVal v) {
  l->p->first_registers = ct_ir_first_registers(l->ir);
  CT_EMIT(l, CT_SIMT_SETMAXNREG, .c = ct_low_construct(l), .imm = ct_inst(l->ir, v)->imm.i);
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

void ct_low_print(CtLow *l, CtVal v) {
  const CtInst *inst = ct_inst(l->ir, v);
  const CtEscape *message = inst->u.escape;
  for (int i = 0; i < message->n; i++) {
    uint32_t lanes = ct_low_lanes(l, message->vals[i]);
    int64_t imm = (int64_t)i << 8 | ct_inst(l->ir, message->vals[i])->type;
    CT_EMIT(l, CT_SIMT_PRINT_ARG, .a = lanes, .imm = imm);
  }
  CT_EMIT(l, CT_SIMT_PRINT, .imm = keep_text(l, message->text));
}

void ct_low_assert(CtLow *l, CtVal v) {
  const CtInst *inst = ct_inst(l->ir, v);
  uint32_t cond = ct_low_lanes(l, inst->args[0]);
  CT_EMIT(l, CT_SIMT_ASSERT, .d = cond, .imm = keep_text(l, inst->u.escape->text));
}

void ct_low_within(CtLow *l, CtVal v) {
  const CtInst *inst = ct_inst(l->ir, v);
  uint32_t crd = ct_low_lanes(l, inst->args[0]), extent = ct_low_lanes(l, inst->args[1]);
  CtDtype type = (CtDtype)ct_inst(l->ir, inst->args[0])->type;
  uint32_t wide = ct_low_class(type) == CT_CLASS_LANES8;
  int64_t imm = keep_text(l, inst->u.escape->text) | inst->imm.i << 32;
  CT_EMIT(l, CT_SIMT_WITHIN, .d = wide, .a = crd, .b = extent, .imm = imm);
}

void ct_low_wraps(CtLow *l, CtVal v) {
  const CtInst *inst = ct_inst(l->ir, v);
  CtDtype type = (CtDtype)ct_inst(l->ir, inst->args[1])->type;
  uint32_t counts = ct_low_lanes(l, inst->args[0]);
  uint32_t a = ct_low_lanes(l, inst->args[1]), b = ct_low_lanes(l, inst->args[2]);
  CT_EMIT(l, CT_SIMT_WRAPS, .a = a, .b = b, .c = counts, .imm = inst->imm.i | (int64_t)type << 16);
}

/* --- waiting loops ---------------------------------------------------------------------------------- */

typedef struct Body {
  const CtIr *ir;
  bool reads, atomics, works;
  bool is_open; /* what others write, or the time, may decide how it goes on */
} Body;

static bool is_shared_buf(const CtIr *ir, uint32_t buf) {
  buf = ct_ir_memory(ir, buf);
  return ir->bufs[buf].space != CT_REGISTER && ir->bufs[buf].is_written;
}

static bool is_closed(const CtIr *ir, const CtInst *inst) {
  static const CtOp closed[] = {CT_OP_STORE, CT_OP_GET,    CT_OP_SET,
                                CT_OP_PRINT, CT_OP_WITHIN, CT_OP_WRAPS};
  CtOp op = (CtOp)inst->op;
  CtOpClass cls = ct_ops[op].cls;
  bool is = cls == CT_CLS_PURE || cls == CT_CLS_REGION || cls == CT_CLS_JUMP ||
            (op == CT_OP_LOAD && !ir->may_overlap && !is_shared_buf(ir, (uint32_t)inst->imm.i));
  for (size_t i = 0; i < CT_ARRAY_LEN(closed); i++) {
    is = is || op == closed[i];
  }
  return is;
}

static void look(Body *b, const CtInst *inst) {
  CtOp op = (CtOp)inst->op;
  b->is_open = b->is_open || !is_closed(b->ir, inst);
  if (ct_op_is_atomic(op)) {
    b->atomics = true;
  } else if (op == CT_OP_MBAR_TEST) { /* WAIT stops the warp by itself */
    b->atomics = true;
  } else if (op == CT_OP_LOAD) {
    b->reads = b->reads || is_shared_buf(b->ir, (uint32_t)inst->imm.i);
  } else if (ct_ops[op].data == CT_DATA_ELEMENT) {
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

/* A FOR ends by itself, but others may have to run before it finds what it looks for. */
CtSpin ct_low_spin(const CtLow *l, CtVal loop) {
  const CtInst *inst = ct_inst(l->ir, loop);
  Body b = {.ir = l->ir};
  look_into(&b, inst->u.regions[0]);
  if (inst->op != CT_OP_LOOP) {
    return b.atomics ? CT_SPIN_WORK : CT_SPIN_NOT;
  }
  return !b.is_open               ? CT_SPIN_ALONE
         : !b.atomics && !b.reads ? CT_SPIN_NOT
         : b.works                ? CT_SPIN_WORK
                                  : CT_SPIN_WAIT;
}
