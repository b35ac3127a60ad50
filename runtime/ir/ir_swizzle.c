/* ir_swizzle.c: where the elements of swizzled buffers lie. A swizzle is linear over bits, so what is
   known of an offset is taken out of it: a constant part costs one exclusive or, or nothing. */
#include "ir_build.h"

enum { BITS_DEPTH = 12 };

uint64_t ct_facts_bits(CtFacts f) {
  uint64_t low = (uint64_t)(f.div & -f.div), high = f.lo < 0 ? UINT64_MAX : 0;
  while (high < (uint64_t)f.hi && high != UINT64_MAX) {
    high = high * 2 + 1;
  }
  return f.div == 0 ? 0 : high & (0 - low);
}

static uint64_t bits_of(const CtIr *ir, CtVal v, int depth);

/* The bits of a sum: those of both operands, if no carry can occur. */
static uint64_t bits_of_sum(const CtIr *ir, const CtInst *sum, int depth) {
  uint64_t a = bits_of(ir, sum->args[0], depth), b = bits_of(ir, sum->args[1], depth);
  return (a & b) == 0 ? a | b : UINT64_MAX;
}

/* By a constant power of two: a product, a quotient or a rest. */
static uint64_t bits_scaled(const CtIr *ir, const CtInst *inst, int depth) {
  const CtInst *by = ct_inst(ir, inst->args[1]);
  uint64_t n = (uint64_t)by->imm.i, x = bits_of(ir, inst->args[0], depth);
  if (by->op != CT_OP_CONST || by->imm.i <= 0 || (n & (n - 1)) != 0) {
    return UINT64_MAX;
  }
  int k = __builtin_ctzll(n);
  bool negative = x >> 63 != 0;
  return inst->op == CT_OP_MUL        ? x << k
         : inst->op == CT_OP_FLOORMOD ? x & (n - 1)
         : negative                   ? UINT64_MAX
                                      : x >> k;
}

static uint64_t bits_of_and(const CtIr *ir, const CtInst *inst, int depth) {
  return bits_of(ir, inst->args[0], depth) & bits_of(ir, inst->args[1], depth);
}

static uint64_t bits_of_or(const CtIr *ir, const CtInst *inst, int depth) {
  return bits_of(ir, inst->args[0], depth) | bits_of(ir, inst->args[1], depth);
}

static uint64_t (*const bits_by_op[CT_OP_COUNT])(const CtIr *ir, const CtInst *inst, int depth) = {
    [CT_OP_ADD] = bits_of_sum,      [CT_OP_MUL] = bits_scaled, [CT_OP_FLOORDIV] = bits_scaled,
    [CT_OP_FLOORMOD] = bits_scaled, [CT_OP_AND] = bits_of_and, [CT_OP_OR] = bits_of_or,
    [CT_OP_XOR] = bits_of_or};

static uint64_t bits_of(const CtIr *ir, CtVal v, int depth) {
  const CtInst *inst = ct_inst(ir, v);
  if (inst->op == CT_OP_CONST) {
    return (uint64_t)inst->imm.i;
  }
  bool looks = depth > 0 && !ct_is_unsigned((CtDtype)inst->type) && bits_by_op[inst->op] != NULL;
  uint64_t bits = looks ? bits_by_op[inst->op](ir, inst, depth - 1) : UINT64_MAX;
  return bits & ct_facts_bits(inst->facts);
}

uint64_t ct_ir_bits(const CtIr *ir, CtVal v) { return bits_of(ir, v, BITS_DEPTH); }

static CtVal constant(CtIr *ir, CtVal like, int64_t v) {
  return ct_ir_const_int(ir, (CtDtype)ct_inst(ir, like)->type, v);
}

/* x ^ moved(x & deciding bits). */
static CtVal swizzle_value(CtIr *ir, CtSwizzle sw, CtVal x) {
  CtVal y = ct_ir_binary(ir, CT_OP_AND, x, constant(ir, x, (int64_t)ct_swizzle_y(sw)));
  CtOp op = sw.shift > 0 ? CT_OP_SHR : CT_OP_SHL;
  CtVal moved = ct_ir_binary(ir, op, y, constant(ir, x, sw.shift > 0 ? sw.shift : -sw.shift));
  return ct_ir_binary(ir, CT_OP_XOR, x, moved);
}

/* A value without its constant addend, which may wrap around: *plus. */
static CtVal split(const CtIr *ir, CtVal v, int64_t *plus) {
  *plus = 0;
  while (ct_inst(ir, v)->op == CT_OP_ADD &&
         ct_inst(ir, ct_inst(ir, v)->args[1])->op == CT_OP_CONST) {
    *plus += ct_inst(ir, ct_inst(ir, v)->args[1])->imm.i;
    v = ct_inst(ir, v)->args[0];
  }
  return v;
}

uint64_t ct_ir_bits_of_int(const CtIr *ir, CtInt i) {
  return i.kind == CT_DYNAMIC ? ct_ir_bits(ir, i.id) : (uint64_t)i.v;
}

CtVal ct_ir_place(CtIr *ir, uint32_t buf, CtVal offset) {
  CtSwizzle sw = ir->bufs[buf].swizzle;
  if (ir->failed || sw.bits == 0) {
    return offset;
  }
  int64_t plus, period = ct_swizzle_period(sw), unit = (int64_t)1 << sw.base;
  CtVal x = split(ir, offset, &plus);
  uint64_t bits = ct_ir_bits(ir, x);
  int64_t within = ct_floormod(plus, period), after = plus - within, low = within % unit;
  if ((bits & (uint64_t)low) == 0) { /* no carry from below the swizzled bits */
    after += low;
    within -= low;
  }
  if ((bits & (uint64_t)within) == 0) {
    x = ct_ir_binary(ir, CT_OP_XOR, swizzle_value(ir, sw, x),
                     constant(ir, x, ct_swizzle_at(sw, within)));
  } else {
    x = swizzle_value(ir, sw, ct_ir_binary(ir, CT_OP_ADD, x, constant(ir, x, within)));
  }
  return ct_ir_binary(ir, CT_OP_ADD, x, constant(ir, x, after));
}

CtComposed ct_ir_view_layout(const CtIr *ir, const CtView *v) {
  const CtBuf *buf = &ir->bufs[v->buf];
  if (!ct_buf_is_swizzled(buf)) {
    return ct_composed_plain(v->layout);
  }
  return (CtComposed){
      .layout = v->layout, .offset = v->offset, .swizzle = buf->swizzle, .is_swizzled = true};
}
