/* ir_warp.c: builds operations of a warp, atomic operations, and messages from threads. */
#include "ir_build.h"

/* A type with 32 or 64 bits that holds all values of `type`. */
static CtDtype shuffled_type(CtDtype type) {
  return type == CT_bool ? CT_i32 : ct_dtype_compute(type);
}

CtVal ct_ir_shfl(CtIr *ir, CtShfl kind, CtVal v, CtVal by, int width) {
  CtDtype type = (CtDtype)ct_inst(ir, v)->type;
  CT_ASSERT(ct_inst(ir, by)->type == CT_i32 || ir->failed);
  if (ct_inst(ir, v)->op == CT_OP_CONST) {
    return v;
  }
  CtVal word = ct_ir_cast(ir, v, shuffled_type(type));
  CtVal r = ct_ir_append(ir, CT_OP_SHFL, shuffled_type(type));
  ir->insts[r].imm.i = (int64_t)kind | (int64_t)width << 8;
  ir->insts[r].args[0] = word;
  ir->insts[r].args[1] = by;
  if (ct_is_int((CtDtype)ir->insts[word].type)) {
    ir->insts[r].facts = ir->insts[word].facts;
  }
  ir->insts[r].untyped = ir->insts[word].untyped;
  return ct_ir_cast(ir, r, type);
}

CtVal ct_ir_vote(CtIr *ir, CtVote kind, CtVal cond) {
  CT_ASSERT(ct_inst(ir, cond)->type == CT_bool || ir->failed);
  CtVal r = ct_ir_append(ir, CT_OP_VOTE, kind == CT_VOTE_BALLOT ? CT_u32 : CT_bool);
  ir->insts[r].imm.i = (int64_t)kind;
  ir->insts[r].args[0] = cond;
  return r;
}

static CtDtype masked_type(CtMasked kind, CtDtype type) {
  bool is_mask = kind >= CT_MASKED_BALLOT && kind <= CT_MASKED_MATCH_ALL;
  bool is_vote = kind == CT_MASKED_ANY || kind == CT_MASKED_ALL;
  return is_mask ? CT_u32 : is_vote ? CT_i32 : type;
}

CtVal ct_ir_masked(CtIr *ir, CtMasked kind, CtVal v, CtVal by, CtVal mask, int width) {
  CtDtype type = (CtDtype)ct_inst(ir, v)->type;
  bool is_shuffle = (int)kind < CT_SHFL_COUNT;
  CtVal word = ct_ir_cast(ir, v, shuffled_type(type));
  CtVal zero = ct_ir_const_int(ir, CT_i32, 0), whole = ct_ir_const_int(ir, CT_u32, UINT32_MAX);
  CtVal r = ct_ir_append(ir, CT_OP_MASKED, masked_type(kind, shuffled_type(type)));
  CtInst *inst = &ir->insts[r];
  inst->imm.i = (int64_t)kind | (int64_t)width << 8 | (mask == 0 ? CT_MASKED_WHOLE : 0);
  inst->args[0] = word;
  inst->args[1] = is_shuffle ? by : zero;
  inst->args[2] = mask == 0 ? whole : mask;
  if (is_shuffle && ct_is_int((CtDtype)inst->type)) {
    inst->facts = ir->insts[word].facts;
  }
  inst->untyped = is_shuffle ? ir->insts[word].untyped : CT_TYPED;
  return is_shuffle ? ct_ir_cast(ir, r, type) : r;
}

void ct_ir_sync_lanes(CtIr *ir, CtVal mask) {
  CtVal r = ct_ir_append(ir, CT_OP_SYNC_LANES, CT_VOID);
  ir->insts[r].args[0] = mask;
}

CtVal ct_ir_active_mask(CtIr *ir) { return ct_ir_append(ir, CT_OP_ACTIVE_MASK, CT_u32); }

CtVal ct_ir_counted(CtIr *ir, CtOp op, CtVal cond) {
  CT_ASSERT(ct_inst(ir, cond)->type == CT_bool || ir->failed);
  CtVal r = ct_ir_append(ir, op, op == CT_OP_BARRIER_COUNT ? CT_i32 : CT_bool);
  ir->insts[r].args[0] = cond;
  return r;
}

CtVal ct_ir_clock(CtIr *ir) { return ct_ir_append(ir, CT_OP_CLOCK, CT_i64); }

bool ct_ir_has_atomic(CtOp op, CtDtype type) {
  bool is_word = ct_dtypes[type].bits >= 32 && !ct_is_narrow(type);
  bool is_half = type == CT_f16 || type == CT_bf16;
  bool is_bits = op == CT_OP_ATOMIC_AND || op == CT_OP_ATOMIC_OR || op == CT_OP_ATOMIC_XOR;
  if (op == CT_OP_ATOMIC_ADD || op == CT_OP_ATOMIC_ADD2) {
    return is_half || (is_word && op == CT_OP_ATOMIC_ADD);
  }
  return is_word && (ct_is_int(type) || !is_bits);
}

/* Other devices may change memory while this kernel runs, though no operation here writes it. */
static void set_order(CtIr *ir, CtVal v, unsigned order) {
  ir->insts[v].order = (uint8_t)order;
  ir->may_overlap = ir->may_overlap || (order & CT_ORDER_SYS) != 0;
}

void ct_ir_fence(CtIr *ir, unsigned order) {
  set_order(ir, ct_ir_append(ir, CT_OP_FENCE, CT_VOID), order);
}

CtVal ct_ir_atomic(CtIr *ir, CtOp op, uint32_t buf, CtVal offset, CtVal value, CtVal compare) {
  return ct_ir_atomic_as(ir, op, buf, offset, value, compare, 0);
}

CtVal ct_ir_atomic_as(CtIr *ir, CtOp op, uint32_t buf, CtVal offset, CtVal value, CtVal compare,
                      unsigned order) {
  CtDtype type = ir->bufs[buf].dtype;
  bool is_cas = op == CT_OP_ATOMIC_CAS;
  CT_ASSERT(ct_ir_has_atomic(op, type) || ir->failed);
  offset = ct_ir_place(ir, buf, offset);
  CtDtype result = op == CT_OP_ATOMIC_ADD2 ? CT_u32 : type;
  CtVal r = ct_ir_append(ir, op, ct_ops[op].result == CT_RES_VOID ? CT_VOID : result);
  CtInst *inst = &ir->insts[r];
  inst->imm.i = buf;
  inst->args[0] = offset;
  inst->args[1] = is_cas ? compare : value;
  inst->args[2] = is_cas ? value : 0;
  set_order(ir, r, order);
  ct_ir_written(ir, buf); /* by others at least: a plain const pointer would not do */
  return ct_ops[op].result == CT_RES_VOID ? 0 : r;
}

void ct_ir_printf(CtIr *ir, const char *format, int n, const CtVal *vals) {
  CtVal v = ct_ir_text_op(ir, CT_OP_PRINT, CT_VOID, format, n, NULL, vals);
  if (v != 0) {
    ir->insts[v].imm.i = ir->n_prints++;
  }
}

void ct_ir_assert(CtIr *ir, CtVal cond, const char *message) {
  CT_ASSERT(ct_inst(ir, cond)->type == CT_bool || ir->failed);
  CtVal v = ct_ir_text_op(ir, CT_OP_ASSERT, CT_VOID, message, 0, NULL, NULL);
  if (v != 0) {
    ir->insts[v].args[0] = cond;
    ir->insts[v].imm.i = ir->n_asserts++;
  }
}
