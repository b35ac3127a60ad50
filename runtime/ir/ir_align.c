/* ir_align.c: the alignment of an address that a kernel's accesses need. */
#include "ir.h"
#include "ir_op.h"
#include "ir_tma.h"

enum {
  VECTOR_BYTES = 16
}; /* an access may have as many, where the address is known to be aligned for it; a copy atom may take more */

typedef struct Relied {
  const CtIr *ir;
  uint32_t buf, bytes;
  uint32_t of_view; /* what the instruction at hand relies on */
} Relied;

static void rely(Relied *r, uint32_t buf, uint32_t bytes) {
  if (ct_ir_memory(r->ir, buf) == r->buf && bytes > r->bytes) {
    r->bytes = bytes;
  }
}

static void rely_on_view(void *ud, const CtView *view, bool is_written) {
  (void)is_written;
  Relied *r = ud;
  rely(r, view->buf, r->of_view);
}

/* Of the tiles of a copy, what its width takes. */
static uint32_t bytes_of_views(const CtIr *ir, const CtInst *inst) {
  const CtTile *tile = inst->op == CT_OP_COPY ? inst->u.tile : NULL;
  size_t bytes = tile == NULL ? 0 : ct_dense_bytes(ir->bufs[tile->dst.buf].dtype, tile->vec);
  return bytes > VECTOR_BYTES ? (uint32_t)bytes : VECTOR_BYTES;
}

static void rely_on_inst(Relied *r, const CtInst *inst) {
  CtOpData data = ct_ops[inst->op].data;
  if (data == CT_DATA_ELEMENT || data == CT_DATA_ATOMIC) { /* a CT_DATA_BUF accesses nothing */
    uint32_t buf = (uint32_t)inst->imm.i;
    bool is_single = !ct_op_has((CtOp)inst->op, CT_TRAIT_PAIRS) && inst->op != CT_OP_ATOMIC_ADD2;
    rely(r, buf, is_single ? (uint32_t)ct_value_bytes(r->ir->bufs[buf].dtype) : VECTOR_BYTES);
  } else if (data == CT_DATA_TEXT) {
    for (int i = 0; i < inst->u.escape->n_places; i++) {
      rely(r, inst->u.escape->places[i].buf, VECTOR_BYTES);
    }
  }
  r->of_view = bytes_of_views(r->ir, inst);
  ct_ir_each_view(inst, rely_on_view, r);
}

uint32_t ct_ir_relied_align(const CtIr *ir, uint32_t buf) {
  Relied r = {ir, buf, (uint32_t)ct_value_bytes(ir->bufs[buf].dtype), VECTOR_BYTES};
  for (size_t i = 0; i < ir->n_maps; i++) {
    rely(&r, ir->maps[i].buf, VECTOR_BYTES);
  }
  for (size_t v = 1; v < ir->n_insts; v++) {
    if (ir->insts[v].region != 0) {
      rely_on_inst(&r, &ir->insts[v]);
    }
  }
  return r.bytes < ir->bufs[buf].align ? r.bytes : ir->bufs[buf].align;
}
