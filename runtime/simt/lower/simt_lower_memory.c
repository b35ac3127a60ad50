/* simt_lower_memory.c: lowering to the CPU engine: loads, stores and variables. */
#include "simt_lower.h"

CtVal ct_low_by_lane(const CtLow *l, uint32_t buf) {
  const CtBuf *b = &l->ir->bufs[buf];
  return b->chosen != 0 && ct_low_is(l, b->chosen, CT_VARYING) ? b->chosen : b->remote;
}

void ct_low_each(CtLow *l, uint32_t buf, uint32_t n) {
  CtVal by = ct_low_by_lane(l, buf);
  if (by != 0) {
    uint32_t row = l->ir->bufs[buf].remote != 0 ? CT_SIMT_EACH : CT_SIMT_EACH_AT;
    CT_EMIT(l, row, .d = n, .a = ct_low_lanes(l, by), .imm = buf);
  }
}

void ct_low_tensor_at(CtLow *l, CtVal v) {
  const CtInst *inst = ct_inst(l->ir, v);
  if (ct_low_by_lane(l, (uint32_t)inst->imm.i) == 0) {
    CT_EMIT(l, CT_SIMT_TURN, .a = ct_low_scalar(l, inst->args[0]), .imm = inst->imm.i);
  }
}

/* A load by lanes keeps its form (simt_peephole.c). */
static CtLowAddress address_of(CtLow *l, uint32_t buf, CtVal offset) {
  if (ct_low_by_lane(l, buf) == 0) {
    return ct_low_address(l, l->ir->bufs[buf].space, offset);
  }
  return (CtLowAddress){.lanes = ct_low_lanes(l, offset),
                        .is_i32 = ct_inst(l->ir, offset)->type == CT_i32};
}

void ct_low_load(CtLow *l, CtVal v) {
  const CtInst *inst = ct_inst(l->ir, v);
  const CtBuf *buf = &l->ir->bufs[inst->imm.i];
  const CtMoves *m = &ct_low_moves[buf->dtype];
  CtLowAddress at = address_of(l, (uint32_t)inst->imm.i, inst->args[0]);
  uint32_t c = ct_in_buf_field((uint32_t)inst->imm.i, at.is_i32);
  uint32_t d = ct_low_result(l, v, false);
  ct_low_each(l, (uint32_t)inst->imm.i, 1);
  if (at.lanes != 0) {
    CT_EMIT(l, at.is_i32 ? m->load_i32 : m->load_i64, .d = d, .b = at.lanes, .c = c);
  } else if (buf->space == CT_REGISTER) {
    CT_EMIT(l, m->load_r, .d = d, .a = at.base, .c = c, .imm = at.imm);
  } else if (!ct_low_varies(l, v)) {
    CT_EMIT(l, m->load_u, .d = d, .a = at.base, .c = c, .imm = at.imm);
  } else {
    uint32_t p = at.pattern != 0 ? at.pattern : ct_low_no_pattern(l);
    CT_EMIT(l, m->load_p, .d = d, .a = at.base, .b = p, .c = c, .imm = at.imm);
  }
}

void ct_low_store(CtLow *l, CtVal v) {
  const CtInst *inst = ct_inst(l->ir, v);
  const CtBuf *buf = &l->ir->bufs[inst->imm.i];
  const CtMoves *m = &ct_low_moves[buf->dtype];
  uint32_t value = ct_low_lanes(l, inst->args[1]);
  CtLowAddress at = address_of(l, (uint32_t)inst->imm.i, inst->args[0]);
  uint32_t c = ct_in_buf_field((uint32_t)inst->imm.i, at.is_i32);
  ct_low_each(l, (uint32_t)inst->imm.i, 1);
  if (at.lanes != 0) {
    CT_EMIT(l, at.is_i32 ? m->store_i32 : m->store_i64, .d = value, .b = at.lanes, .c = c);
  } else if (buf->space == CT_REGISTER) {
    CT_EMIT(l, m->store_r, .d = value, .a = at.base, .c = c, .imm = at.imm);
  } else {
    uint32_t p = at.pattern != 0 ? at.pattern : ct_low_no_pattern(l);
    CT_EMIT(l, m->store_p, .d = value, .a = at.base, .b = p, .c = c, .imm = at.imm);
  }
}

void ct_low_get(CtLow *l, CtVal v) {
  const CtInst *inst = ct_inst(l->ir, v);
  uint32_t var = ct_low_variable(l, (CtVal)inst->imm.i);
  uint32_t row = ct_low_varies(l, v) ? ct_low_moves[inst->type].move : CT_SIMT_MOVE_s;
  CT_EMIT(l, row, .d = ct_low_result(l, v, false), .a = var);
}

void ct_low_set(CtLow *l, CtVal v) {
  const CtInst *inst = ct_inst(l->ir, v);
  CtVal var = (CtVal)inst->imm.i;
  uint32_t slot = ct_low_variable(l, var), row = CT_SIMT_SET_s, value;
  if (ct_low_varies(l, var)) {
    row = ct_low_moves[ct_inst(l->ir, var)->type].set;
    value = ct_low_lanes(l, inst->args[0]);
  } else {
    value = ct_low_scalar(l, inst->args[0]);
  }
  bool whole = !l->is_divergent[inst->region]; /* for the peephole pass */
  CT_EMIT(l, row, .d = slot, .a = value, .imm = whole);
}
