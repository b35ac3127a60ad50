/* ir_cluster.c: blocks of one cluster, and launches that depend on one another. */
#include "ir_build.h"

int64_t ct_ir_cluster_size(const CtIr *ir) {
  return ir->cluster[0] * ir->cluster[1] * ir->cluster[2];
}

/* Ranks count along x first; a cluster begins at every multiple of its extents. */
CtVal ct_ir_cluster_rank(CtIr *ir) {
  CtVal rank = ct_ir_const_int(ir, CT_i32, 0);
  int64_t stride = 1;
  for (int i = 0; i < 3; i++) {
    if (ir->cluster[i] > 1) {
      CtVal at = ct_ir_binary(ir, CT_OP_FLOORMOD, ct_ir_axis(ir, CT_OP_BID, i),
                              ct_ir_const_int(ir, CT_i32, ir->cluster[i]));
      at = ct_ir_binary(ir, CT_OP_MUL, at, ct_ir_const_int(ir, CT_i32, stride));
      rank = ct_ir_binary(ir, CT_OP_ADD, rank, at);
      stride *= ir->cluster[i];
    }
  }
  return rank;
}

/* The previous launch may change memory while this one runs, though no operation here writes it. */
void ct_ir_grid_wait(CtIr *ir) {
  ir->may_overlap = true;
  ir->waits_for_grids = true;
  ct_ir_effect(ir, CT_OP_GRID_WAIT, 0);
}

void ct_ir_grid_barrier(CtIr *ir) {
  if (!ct_ir_has_grid_barrier(ir)) {
    ir->grid_barrier = ir->cur_loc;
  }
  ct_ir_effect(ir, CT_OP_GRID_BARRIER, 0);
}

CtView ct_ir_remote(CtIr *ir, CtView v, CtVal rank) {
  CtBuf buf = ir->bufs[v.buf];
  uint32_t root = ct_ir_memory(ir, v.buf);
  buf.name = NULL;
  buf.alias_of = root;
  buf.remote = rank;
  buf.loc = ir->cur_loc;
  v.buf = ct_ir_new_buf(ir, &buf);
  CtVal op = ct_ir_append(ir, CT_OP_REMOTE, CT_VOID);
  ir->insts[op].imm.i = v.buf;
  ir->insts[op].args[0] = rank;
  ir->bufs[v.buf].begins = op;
  return v;
}

void ct_ir_async_store(CtIr *ir, CtOp op, const CtAsyncStore *s) {
  CtVal offset = ct_ir_place(ir, s->buf, s->offset);
  CtView there = ct_ir_remote(ir, (CtView){.buf = s->buf}, s->rank);
  CtVal v = ct_ir_append(ir, op, CT_VOID);
  ir->bufs[there.buf].bar = s->bar;
  ir->insts[v].imm.i = there.buf;
  ir->insts[v].args[0] = offset;
  ir->insts[v].args[1] = s->value;
  ir->insts[v].args[2] = s->slot;
  ct_ir_written(ir, there.buf);
}

CtStatus ct_ir_check_own(const CtIr *ir, const char *op, CtView v, CtErr *err) {
  const CtBuf *buf = &ir->bufs[v.buf];
  if (buf->remote == 0) {
    return CT_OK;
  }
  return ct_fail(err, CT_EINVAL,
                 "%s: %s is in the shared memory of another block, which it cannot reach; plain "
                 "reads and writes, copy, fill and atomic operations can",
                 op, ct_ir_view_name(ir, &v));
}
