/* simt_operand.c: operands in memory of an instruction; see simt_operand.h. */
#include "simt_operand.h"

static CtOperand load_or_store(const CtIn *code) {
  bool writes = ct_in_stores(code);
  return (CtOperand){.buf = ct_in_buf(code),
                     .role = writes ? CT_ACCESS_DST : CT_ACCESS_A,
                     .reads = !writes,
                     .writes = writes,
                     .code = code};
}

static int of_atomic(const CtIn *code, CtOperand *out) {
  const CtAtomicImm imm = {.imm = code->imm};
  *out = (CtOperand){.buf = imm.u.buf,
                     .role = CT_ACCESS_DST,
                     .reads = imm.u.op != CT_OP_ATOMIC_STORE,
                     .writes = imm.u.op != CT_OP_ATOMIC_LOAD};
  return 1;
}

static int of_dot(const CtIn *code, CtOperand *out) {
  out[0] = load_or_store(&code[1]);
  out[1] = load_or_store(&code[2]);
  out[1].role = CT_ACCESS_B;
  return 2;
}

static int of_tma(const CtSimtTma *t, CtOperand *out) {
  const CtAccessRole tensor = t->is_store ? CT_ACCESS_DST : CT_ACCESS_A;
  const CtAccessRole box = t->is_store ? CT_ACCESS_A : CT_ACCESS_DST;
  bool reads_tensor = !t->is_cancel && (!t->is_store || t->reduce != CT_TMA_NONE);
  out[0] =
      (CtOperand){.buf = t->global, .role = tensor, .reads = reads_tensor, .writes = t->is_store};
  out[1] = (CtOperand){.buf = t->shared, .role = box, .reads = t->is_store, .writes = !t->is_store};
  return 2;
}

static int of_tile(const CtTileOp *t, CtOperand *out) {
  const CtTileArg *args[CT_MAX_OPERANDS] = {&t->a, &t->b, &t->sf[0], &t->sf[1], &t->dst};
  static const CtAccessRole roles[] = {CT_ACCESS_A, CT_ACCESS_B, CT_ACCESS_SFA, CT_ACCESS_SFB,
                                       CT_ACCESS_DST};
  int n = 0;
  for (int i = 0; i < CT_MAX_OPERANDS; i++) {
    bool writes = roles[i] == CT_ACCESS_DST;
    if (args[i]->buf != 0) {
      out[n++] = (CtOperand){.buf = args[i]->buf,
                             .role = roles[i],
                             .reads = !writes || t->reads_dst,
                             .writes = writes,
                             .arg = args[i]};
    }
  }
  return n;
}

int ct_simt_operands(const CtSimtProgram *p, const CtIn *code, CtOperand out[CT_MAX_OPERANDS]) {
  switch ((CtSimtClass)ct_in_row(code)->cls) {
    case CT_INS_MEMORY: out[0] = load_or_store(code); return 1;
    case CT_INS_DOT: return of_dot(code, out);
    case CT_INS_ATOMIC: return of_atomic(code, out);
    case CT_INS_TMA: return of_tma(&p->tmas[code->imm], out);
    case CT_INS_TILE: return of_tile(&p->tiles[code->imm], out);
    case CT_INS_PLAIN:
    case CT_INS_CONTROL:
    case CT_INS_SYNC:
    case CT_INS_WARP:
    case CT_INS_MESSAGE:
    case CT_INS_DATA:
    case CT_INS_GUARD:
    case CT_INS_CLASS_COUNT: break;
  }
  return 0;
}

CtOp ct_in_op(const CtSimtProgram *p, uint32_t in) {
  const CtIn *code = in < p->n_code ? &p->code[in] : NULL;
  if (code != NULL && code->u.op == CT_SIMT_TMA) {
    return (CtOp)p->tmas[code->imm].op;
  }
  if (code != NULL && ct_in_is(code, CT_INS_MEMORY) && p->bufs[ct_in_buf(code)].bar != 0) {
    code++; /* the MBAR that says when the store is complete */
  }
  const CtMbarImm imm = {.imm = code == NULL ? 0 : code->imm};
  return code != NULL && code->u.op == CT_SIMT_MBAR ? (CtOp)imm.u.op : CT_OP_NONE;
}
