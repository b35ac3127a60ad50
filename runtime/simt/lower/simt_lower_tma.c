/* simt_lower_tma.c: lowering to the CPU engine: instructions of the tensor memory accelerator. One
   instruction supplies each operand, so the launch can give a map's numbers and each lane its
   coordinates. */
#include "runtime/ir/ir_tma.h"
#include "simt_lower.h"

static void number(CtLow *l, CtVal v, int which) {
  CT_EMIT(l, CT_SIMT_TMA_NUMBER, .a = ct_low_scalar(l, v), .imm = which);
}

static void lanes(CtLow *l, CtVal v, int which) {
  CT_EMIT(l, CT_SIMT_TMA_LANES, .a = ct_low_lanes(l, v), .imm = which);
}

static bool is_made(const CtLow *l, CtVal v) {
  return ct_ops[ct_inst(l->ir, v)->op].cls == CT_CLS_LEAF || l->slot_of[v] != 0;
}

/* A trace for a GPU keeps no operations for its maps, which the host fills in. */
static bool is_whole(const CtLow *l, const CtTmaMap *map) {
  bool is = is_made(l, map->offset);
  for (int i = 0; i < map->n; i++) {
    is = is && is_made(l, map->dim[i].extent) && is_made(l, map->dim[i].stride);
  }
  return is;
}

static void add_tma(CtLow *l, const CtInst *inst, const CtSimtTma *t) {
  const CtTma *tma = inst->u.tma;
  lanes(l, tma->offset, CT_TMA_BOX_AT);
  if (tma->slot != 0) {
    lanes(l, tma->slot, CT_TMA_BAR);
  }
  if (tma->mask != 0) {
    lanes(l, tma->mask, CT_TMA_MASK);
  }
  if (CT_LOW_GROW(l, tmas, n_tmas, cap_tmas)) {
    l->tmas[l->n_tmas] = *t;
    l->tmas[l->n_tmas].op = inst->op;
    CT_EMIT(l, CT_SIMT_TMA, .imm = (int64_t)l->n_tmas++);
  }
}

static void add_request(CtLow *l, const CtInst *inst) {
  const CtTma *tma = inst->u.tma;
  enum { WORDS = 2 };
  const CtSimtTma t = {.is_cancel = true,
                       .has_mask = tma->mask != 0,
                       .dtype = CT_u64,
                       .global = tma->buf,
                       .shared = tma->buf,
                       .bar = tma->bar,
                       .n = 1,
                       .div = {1},
                       .mul = {1},
                       .box = {WORDS},
                       .boxes = {.n = 1, .fewest = 1, .n_dims = 1, .box = {WORDS}}};
  add_tma(l, inst, &t);
}

static void add_send(CtLow *l, const CtInst *inst) {
  const CtTma *tma = inst->u.tma;
  const CtSimtTma t = {.is_send = true,
                       .dtype = l->ir->bufs[tma->buf].dtype,
                       .global = tma->from,
                       .shared = tma->buf,
                       .bar = tma->bar,
                       .n = 1,
                       .div = {1},
                       .mul = {1},
                       .box = {tma->count}};
  lanes(l, tma->crd[0], CT_TMA_CRD);
  add_tma(l, inst, &t);
}

void ct_low_query_cancel(CtLow *l, CtVal v) {
  const CtInst *inst = ct_inst(l->ir, v);
  uint32_t a = ct_low_lanes(l, inst->args[0]), b = ct_low_lanes(l, inst->args[1]);
  uint32_t d = ct_low_result(l, v, false);
  if (inst->op == CT_OP_CLC_IS_CANCELED) {
    CT_EMIT(l, CT_SIMT_CLC_IS_CANCELED, .d = d, .a = a, .b = b);
  } else {
    CT_EMIT(l, CT_SIMT_CLC_FIRST_CTAID, .d = d, .a = a, .b = b, .imm = inst->imm.i);
  }
}

void ct_low_tma(CtLow *l, CtVal v) {
  const CtInst *inst = ct_inst(l->ir, v);
  const CtTma *tma = inst->u.tma;
  if (tma->is_cancel) {
    add_request(l, inst);
    return;
  }
  if (tma->from != 0) {
    add_send(l, inst);
    return;
  }
  const CtTmaMap *map = &l->ir->maps[tma->map];
  if (!is_whole(l, map)) {
    l->status = ct_fail(l->err, CT_EUNSUPPORTED,
                        "%s: the kernel was traced for a GPU, where the host makes its tensor "
                        "maps; trace it for the CPU engine",
                        ct_ops[inst->op].text);
    ct_err_at(l->err, ct_ir_chunk(l->ir, inst->loc), inst->loc.line);
    return;
  }
  CtSimtTma t = {.is_store = inst->op == CT_OP_TMA_STORE,
                 .has_mask = tma->mask != 0,
                 .is_of_pair = tma->is_of_pair,
                 .reduce = (uint8_t)tma->reduce,
                 .swizzle = map->swizzle,
                 .dtype = map->dtype,
                 .global = map->buf,
                 .shared = tma->buf,
                 .bar = tma->bar,
                 .n = map->n,
                 .boxes = tma->boxes};
  number(l, map->offset, CT_TMA_AT);
  for (int i = 0; i < map->n; i++) {
    t.div[i] = map->dim[i].div;
    t.mul[i] = map->dim[i].mul;
    t.box[i] = map->dim[i].box;
    number(l, map->dim[i].extent, CT_TMA_EXTENT + i);
    number(l, map->dim[i].stride, CT_TMA_STRIDE + i);
    lanes(l, tma->crd[i], CT_TMA_CRD + i);
  }
  add_tma(l, inst, &t);
}

void ct_low_tcgen05(CtLow *l, CtVal v) {
  const CtInst *inst = ct_inst(l->ir, v);
  int64_t kind = inst->op == CT_OP_TMEM_ALLOC       ? CT_SYNC_TMEM_ALLOC
                 : inst->op == CT_OP_TMEM_DEALLOC   ? CT_SYNC_TMEM_DEALLOC
                 : inst->op == CT_OP_TCGEN05_BEFORE ? CT_SYNC_BEFORE
                                                    : CT_SYNC_AFTER;
  l->p->has_tcgen05 = true;
  CT_EMIT(l, CT_SIMT_TCGEN05, .c = ct_low_construct(l), .imm = kind | inst->imm.i << 8);
}

/* The engine moves boxes at once; only watchers need this instruction. */
void ct_low_tma_order(CtLow *l, CtVal v) {
  const CtInst *inst = ct_inst(l->ir, v);
  int64_t imm = inst->op == CT_OP_TMA_COMMIT           ? CT_SYNC_COMMIT
                : inst->op == CT_OP_TMA_WAIT           ? CT_SYNC_WAIT | inst->imm.i << 8
                : inst->op == CT_OP_PROXY_FENCE_GLOBAL ? CT_SYNC_PROXY_GLOBAL
                                                       : CT_SYNC_PROXY;
  CT_EMIT(l, CT_SIMT_TMA_ORDER, .imm = imm);
}
