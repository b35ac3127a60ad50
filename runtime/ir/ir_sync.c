/* ir_sync.c: builds operations of synchronisation objects: mbarriers, named barriers, warp-group roles. */
#include "ir_build.h"

enum { REGISTERS = 65536, STEP = 8 };

uint32_t ct_ir_mbarrier(CtIr *ir, int64_t n, uint32_t count) {
  CtCx cx = ct_ir_cx(ir);
  CtLayout layout;
  CtErr err;
  CtTuple shape = ct_leaf(&ir->arena, ct_int(n));
  if (shape == NULL || ct_layout_make(&cx, shape, NULL, &layout, &err) != CT_OK) {
    ir->failed = true;
    return 0;
  }
  CtView v = ct_ir_shared(ir, NULL, CT_u64, layout);
  if (ir->failed) {
    return 0;
  }
  ir->bufs[v.buf].arrivals = count;
  ct_ir_written(ir, v.buf);
  CtVal init = ct_ir_append(ir, CT_OP_MBAR_INIT, CT_VOID);
  ir->insts[init].imm.i = v.buf;
  return v.buf;
}

CtVal ct_ir_mbar(CtIr *ir, CtOp op, uint32_t buf, CtVal slot, CtVal b) {
  CT_ASSERT(ct_op_is_mbar(op) && (ir->failed || ir->bufs[buf].arrivals > 0));
  CtVal v = ct_ir_append(ir, op, op == CT_OP_MBAR_TEST ? CT_bool : CT_VOID);
  ir->insts[v].imm.i = buf;
  ir->insts[v].args[0] = slot;
  ir->insts[v].args[1] = b;
  return op == CT_OP_MBAR_TEST ? v : 0;
}

void ct_ir_named_barrier(CtIr *ir, CtOp op, CtVal id, int64_t threads) {
  CtVal v = ct_ir_append(ir, op, CT_VOID);
  ir->insts[v].imm.i = threads;
  ir->insts[v].args[0] = id;
}

CtVal ct_ir_elect(CtIr *ir) { return ct_ir_append(ir, CT_OP_ELECT, CT_bool); }

int ct_ir_first_registers(const CtIr *ir) {
  int64_t threads = ct_ir_block_size(ir);
  int64_t blocks = ct_max(ir->min_blocks, 1);
  int64_t warps = ct_ceildiv(threads, 32) * 32 * blocks;
  return (int)ct_min(REGISTERS / warps / STEP * STEP, 255);
}
