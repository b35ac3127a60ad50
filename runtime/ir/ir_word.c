/* ir_word.c: operations on words of 32 bits, and what they give for words that are known. */
#include "ir_build.h"
#include "runtime/base/convert.h"

static uint32_t funnel(CtOp op, uint32_t lo, uint32_t hi, uint32_t n) {
  uint64_t both = (uint64_t)hi << 32 | lo;
  n &= 31;
  return (uint32_t)(op == CT_OP_FUNNEL_L ? both << n >> 32 : both >> n);
}

static uint32_t permute(uint32_t a, uint32_t b, uint32_t which) {
  uint64_t both = (uint64_t)b << 32 | a;
  uint32_t word = 0;
  for (unsigned i = 0; i < 4; i++) {
    word |= (uint32_t)(both >> 8 * (which >> 4 * i & 7) & 255) << 8 * i;
  }
  return word;
}

static int32_t byte_at(uint32_t word, unsigned i, bool is_signed) {
  int32_t byte = (int32_t)(word >> 8 * i & 255);
  return is_signed ? (byte ^ 128) - 128 : byte;
}

static uint32_t dot(CtOp op, uint32_t a, uint32_t b, uint32_t sum) {
  for (unsigned i = 0; i < 4; i++) {
    sum += (uint32_t)(byte_at(a, i, op != CT_OP_DP4A_U) * byte_at(b, i, op == CT_OP_DP4A));
  }
  return sum;
}

static const struct {
  uint32_t (*of)(CtOp op, uint32_t a, uint32_t b, uint32_t c);
} folds[CT_OP_COUNT] = {
    [CT_OP_FUNNEL_L] = {funnel}, [CT_OP_FUNNEL_R] = {funnel}, [CT_OP_DP4A] = {dot},
    [CT_OP_DP4A_U] = {dot},      [CT_OP_DP4A_SU] = {dot},
};

uint32_t ct_word_op(CtOp op, uint32_t a, uint32_t b, uint32_t c) {
  return op == CT_OP_BYTE_PERM ? permute(a, b, c) : folds[op].of(op, a, b, c);
}

static bool is_known(const CtIr *ir, CtOp op, const CtVal *args) {
  bool known = op == CT_OP_BYTE_PERM || folds[op].of != NULL;
  for (int i = 0; i < ct_ops[op].n_args; i++) {
    known = known && ct_inst(ir, args[i])->op == CT_OP_CONST;
  }
  return known;
}

CtVal ct_ir_word(CtIr *ir, CtOp op, const CtVal *args) {
  CtDtype type = (CtDtype)ct_inst(ir, args[0])->type;
  if (is_known(ir, op, args)) {
    uint32_t w[3];
    for (int i = 0; i < 3; i++) {
      w[i] = (uint32_t)ct_inst(ir, args[i])->imm.i;
    }
    uint32_t word = ct_word_op(op, w[0], w[1], w[2]);
    return ct_ir_const_int(ir, type, ct_int_of_bits(type, word));
  }
  CtInst key = {.op = (uint16_t)op, .type = (uint8_t)type, .facts = ct_type_facts(type)};
  for (int i = 0; i < ct_ops[op].n_args; i++) {
    key.args[i] = args[i];
  }
  return ct_ir_shared_inst(ir, &key);
}
