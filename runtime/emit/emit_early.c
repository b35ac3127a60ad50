/* emit_early.c: copies from global memory to registers that the script issues early. A barrier
   stands between such a copy and the first use of what it loads: the script fetches the next tile
   while it multiplies this one.
   The compilers do not know about the hurry. They would move the loads after the work that the
   loads are to overlap with. So we write them as load_early, which the first compiler does not move
   because it does not read constant memory. A __syncwarp follows; the second compiler (ptxas) moves
   no load across it, and emits a NOP for it.
   In kernels with "cutlass" in their name ptxas leaves loads where they are. There a __syncwarp
   would only disturb register allocation (docs/kernels.md says what else that name does). */
#include <string.h>

#include "emit_tile.h"

static bool is_of(const CtIr *ir, const CtView *v, uint32_t buf) {
  return v != NULL && ct_ir_memory(ir, v->buf) == buf;
}

static bool reads_registers(const CtIr *ir, const CtInst *inst, uint32_t buf) {
  if (ct_ops[inst->op].cls == CT_CLS_TILE) {
    const CtTile *t = inst->u.tile;
    return is_of(ir, &t->a, buf) || is_of(ir, &t->b, buf) || is_of(ir, t->sfa, buf) ||
           is_of(ir, t->sfb, buf) ||
           (ct_tile_reads_dst(ir, inst) && ct_ir_memory(ir, t->dst.buf) == buf);
  }
  return inst->op == CT_OP_LOAD && ct_ir_memory(ir, (uint32_t)inst->imm.i) == buf;
}

typedef enum Next { NEXT_NONE, NEXT_BARRIER, NEXT_OTHER } Next;

/* Which comes first from v to the end of its region: a barrier of that region, or an operation that
   reads the registers or may contain such a read. */
static Next first_of(const CtIr *ir, CtVal v, CtVal stop, uint32_t buf) {
  for (; v != 0 && v != stop; v = ct_inst(ir, v)->next) {
    const CtInst *inst = ct_inst(ir, v);
    if (ct_op_is_barrier((CtOp)inst->op)) {
      return NEXT_BARRIER;
    }
    if (ct_ops[inst->op].cls == CT_CLS_REGION || inst->op == CT_OP_BREAK ||
        inst->op == CT_OP_ESCAPE || reads_registers(ir, inst, buf)) {
      return NEXT_OTHER;
    }
  }
  return NEXT_NONE;
}

bool ct_emit_is_early(const CtEmit *e, CtVal v) {
  const CtIr *ir = e->ir;
  const CtInst *inst = ct_inst(ir, v);
  if (inst->op != CT_OP_COPY || ir->may_overlap) {
    return false;
  }
  const CtTile *t = inst->u.tile;
  const CtBuf *to = &ir->bufs[t->dst.buf], *from = &ir->bufs[t->a.buf];
  CtVal owner = ir->regions[inst->region].owner;
  bool in_loop =
      owner != 0 && (ct_inst(ir, owner)->op == CT_OP_FOR || ct_inst(ir, owner)->op == CT_OP_LOOP);
  if (!in_loop || to->space != CT_REGISTER || from->space != CT_GLOBAL ||
      to->dtype != from->dtype || ir->bufs[ct_ir_memory(ir, t->a.buf)].is_written ||
      ct_buf_bytes(from, t->vec) < 4) {
    return false;
  }
  uint32_t buf = ct_ir_memory(ir, t->dst.buf);
  Next next = first_of(ir, inst->next, 0, buf);
  return (next == NEXT_NONE ? first_of(ir, ir->regions[inst->region].first, v, buf) : next) ==
         NEXT_BARRIER;
}

bool ct_emit_ends_early(const CtEmit *e, CtVal v) {
  if (strstr(e->ir->name, "cutlass") != NULL) {
    return false;
  }
  CtVal next = ct_inst(e->ir, v)->next;
  while (next != 0 && ct_ops[ct_inst(e->ir, next)->op].cls == CT_CLS_PURE) {
    next = ct_inst(e->ir, next)->next;
  }
  return next == 0 || !ct_emit_is_early(e, next);
}
