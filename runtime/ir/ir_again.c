/* ir_again.c: an IR that was read from a file goes through the builder. Each operation on whole tensors is made once
   more, by the function that traces call, from what the file says of it: its tensors, its atom, its order. So
   what a script may not say no file can, and what follows from that (widths, descriptors, which memory is
   written) is what the builder finds, whatever the file says. What was made so is dropped again. */
#include <string.h>

#include "ir_file_rows.h"
#include "ir_tma.h"

typedef struct Again {
  CtIr *ir;
  size_t n_insts, n_regions; /* of the file's */
  CtErr *err;
} Again;

static CtDtype dtype_of(const CtIr *ir, const CtView *v) { return ir->bufs[v->buf].dtype; }
static CtSpace space_of(const CtIr *ir, const CtView *v) { return ir->bufs[v->buf].space; }

/* A cast of fragments; see ct_ir_convert. */
static bool is_convert(const CtIr *ir, const CtTile *t) {
  return dtype_of(ir, &t->a) != dtype_of(ir, &t->dst) && t->b.buf == 0 &&
         space_of(ir, &t->a) == CT_REGISTER && space_of(ir, &t->dst) == CT_REGISTER &&
         t->a.guard == NULL && t->dst.guard == NULL;
}

static CtStatus make_copy(const Again *g, const CtTile *t) {
  CtIr *ir = g->ir;
  const CtView *pred = t->b.buf != 0 ? &t->b : NULL;
  if (t->atom != NULL) {
    return ct_ir_copy_by(ir, t->atom, dtype_of(ir, &t->a), pred, t->a, t->dst, g->err);
  }
  return pred != NULL        ? ct_ir_copy_if(ir, t->b, t->a, t->dst, g->err)
         : is_convert(ir, t) ? ct_ir_convert(ir, t->a, t->dst, g->err)
                             : ct_ir_copy(ir, t->a, t->dst, g->err);
}

static CtStatus make(const Again *g, const CtInst *inst, const CtTile *t) {
  CtIr *ir = g->ir;
  CtMmaOpts opts = {.order = t->order,
                    .accumulate = inst->n_args > 0 ? inst->args[0] : 0,
                    .sfa = t->sfa,
                    .sfb = t->sfb};
  switch (inst->op) {
    case CT_OP_COPY:
    case CT_OP_WARP_COPY:
    case CT_OP_TCGEN05_CP:
    case CT_OP_TCGEN05_COPY: return make_copy(g, t);
    case CT_OP_FILL: return ct_ir_fill(ir, t->dst, inst->args[0], g->err);
    case CT_OP_AXPBY: return ct_ir_axpby(ir, inst->args[0], t->a, inst->args[1], t->dst, g->err);
    case CT_OP_GEMM: return ct_ir_gemm(ir, t->a, t->b, t->dst, &t->order, g->err);
    default: return ct_ir_mma(ir, t->atom, t->a, t->b, t->dst, &opts, g->err);
  }
}

/* What follows from the rest. */
static void take(CtTile *t, const CtTile *made) {
  t->vec = made->vec;
  memcpy(t->width, made->width, sizeof t->width);
  t->async = made->async;
  t->zero_fill = made->zero_fill;
  t->order = made->order;
  t->wgmma = made->wgmma;
}

/* The operation that was made last; 0: there is none. */
static CtVal find_made(const Again *g) {
  CtVal v = (CtVal)g->ir->n_insts - 1;
  while (v >= g->n_insts && ct_ops[g->ir->insts[v].op].cls != CT_CLS_TILE) {
    v--;
  }
  return v >= g->n_insts ? v : 0;
}

static void drop_made(const Again *g) {
  CtIr *ir = g->ir;
  while (ir->n_insts > g->n_insts) {
    CtVal v = (CtVal)ir->n_insts - 1;
    if (ir->insts[v].region != 0 && ir->insts[v].region < g->n_regions) {
      ct_ir_unlink(ir, v);
    }
    ir->n_insts--;
  }
  ir->n_regions = g->n_regions;
  ct_hash_table_clear(&ir->cse, ir->arena.alloc);
}

static CtStatus fail(const Again *g, CtVal v, const char *why) {
  char text[sizeof g->err->msg];
  memcpy(text, why, strlen(why) + 1);
  return ct_fail(g->err, CT_EINVAL, "ir_read: operation %u of kernel '%s': %.700s", v, g->ir->name,
                 text);
}

static CtStatus make_again(const Again *g, CtVal v) {
  CtIr *ir = g->ir;
  const CtInst inst = ir->insts[v];
  CtTile *t = (CtTile *)(uintptr_t)inst.u.tile;
  ir->cur = inst.region;
  ir->cur_loc = inst.loc;
  CtStatus status = make(g, &inst, t);
  CtVal made = status == CT_OK && !ir->failed ? find_made(g) : 0;
  bool is_same = made != 0 && ir->insts[made].op == inst.op;
  if (is_same) {
    take(t, ir->insts[made].u.tile);
  }
  drop_made(g);
  if (status == CT_ENOMEM || ir->failed) {
    return ct_fail_nomem(g->err);
  }
  return status != CT_OK ? fail(g, v, g->err->msg)
         : is_same       ? CT_OK
                         : fail(g, v, "an operation that these tensors cannot have");
}

/* What the builder notes of the other operations in the IR and its buffers. */
static void note(CtIr *ir, CtVal v) {
  const CtInst *inst = &ir->insts[v];
  const CtOp op = (CtOp)inst->op;
  if (ct_op_has(op, CT_TRAIT_WRITES) || ct_op_is_atomic(op)) {
    ct_ir_written(ir, ct_op_is_tma(op) ? inst->u.tma->buf : (uint32_t)inst->imm.i);
  }
  switch (inst->op) {
    case CT_OP_TMEM_ALLOC: ct_ir_written(ir, ir->bufs[inst->imm.i].address); break;
    case CT_OP_TMA_STORE: ct_ir_written(ir, ir->maps[inst->u.tma->map].buf); break;
    case CT_OP_TENSOR_AT: ir->may_overlap = true; break;
    case CT_OP_GRID_WAIT: ir->may_overlap = ir->waits_for_grids = true; break;
    case CT_OP_GRID_BARRIER:
      if (!ct_ir_has_grid_barrier(ir)) {
        ir->grid_barrier = inst->loc;
        ir->grid_barrier.line = inst->loc.line == 0 ? -1 : inst->loc.line; /* 0: there is none */
      }
      break;
    default: break;
  }
  ir->may_overlap = ir->may_overlap || (inst->order & CT_ORDER_SYS) != 0;
}

CtStatus ct_ir_make_again(CtIr *ir, CtErr *err) {
  const Again g = {ir, ir->n_insts, ir->n_regions, err};
  const bool is_checked = ir->is_checked;
  CtStatus status = CT_OK;
  ir->is_checked = false; /* its WITHINs are there */
  for (CtVal v = 1; v < g.n_insts && status == CT_OK; v++) {
    if (ir->insts[v].region == 0) {
      continue;
    }
    note(ir, v);
    if (ct_ops[ir->insts[v].op].cls == CT_CLS_TILE) {
      status = make_again(&g, v);
    }
  }
  ir->is_checked = is_checked;
  ir->cur = CT_BODY;
  return status;
}
