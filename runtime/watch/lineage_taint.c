/* lineage_taint.c: can a float of a buffer decide what is written where?

   A float that a load brings is followed through slots, in the order of the code: temporary slots
   are defined before they are used, and variables keep what any assignment gave them. Arithmetic of
   floats, moves and shuffles pass it on, and a store may write it. Any other use is a decision. */
#include <string.h>

#include "history.h"

typedef struct Taint {
  const CtSimtProgram *p;
  const bool *needed; /* by buffer that owns memory: its values are right anyway */
  bool *is;           /* by 4 bytes of a warp's slots */
  bool decides, changed;
} Taint;

static bool is_read(char role) { return role != '\0' && strchr("svmpt*", role) != NULL; }

static bool *slot_of(const Taint *t, const CtIn *in, int i) {
  const uint32_t fields[4] = {in->d, in->a, in->b, in->c};
  return &t->is[fields[i] / 4];
}

static bool is_wrong(const Taint *t, uint32_t buf) {
  return ct_is_float(t->p->bufs[buf].dtype) && !t->needed[t->p->bufs[buf].memory];
}

static bool writes_needed(const Taint *t, const CtIn *in) {
  CtOperand operands[CT_MAX_OPERANDS];
  bool writes = false;
  for (int n = ct_simt_operands(t->p, in, operands); n-- > 0;) {
    writes = writes || (operands[n].writes && t->needed[t->p->bufs[operands[n].buf].memory]);
  }
  return writes;
}

static bool is_arithmetic(const CtSimtRow *row) {
  switch (row->does) {
    case CT_OP_ADD:
    case CT_OP_SUB:
    case CT_OP_MUL:
    case CT_OP_DIV:
    case CT_OP_MIN:
    case CT_OP_MAX:
    case CT_OP_FMA:
    case CT_OP_NEG:
    case CT_OP_EXP:
    case CT_OP_EXP2:
    case CT_OP_EX2:
    case CT_OP_ABS:
    case CT_OP_FAST_EXP:
    case CT_OP_FAST_LOG2:
    case CT_OP_FAST_RCP:
    case CT_OP_TANH:
    case CT_OP_ERF:
    case CT_OP_LOG:
    case CT_OP_LOG2:
    case CT_OP_SQRT:
    case CT_OP_RSQRT:
    case CT_OP_CAST: return ct_is_float((CtDtype)row->type);
    default: return false;
  }
}

/* A bit for each field that may have such a float. */
static unsigned allowed(const Taint *t, const CtIn *in) {
  enum { D = 1, A = 2, B = 4, C = 8 };
  const CtSimtRow *row = ct_in_row(in);
  if (row->selects) {
    return B | C;
  }
  if (row->moves != CT_MOVES_NOT) {
    return D | A;
  }
  if (ct_in_is(in, CT_INS_DOT)) {
    return C;
  }
  if (ct_in_is(in, CT_INS_PLAIN)) {
    return is_arithmetic(row) ? A | B | C : 0;
  }
  if (ct_in_is(in, CT_INS_MEMORY) || ct_in_is(in, CT_INS_TILE)) {
    return writes_needed(t, in) ? 0 : ct_in_is(in, CT_INS_TILE) ? D | A : D;
  }
  return in->u.op == CT_SIMT_SHFL ? A : 0;
}

static bool is_in_ref(const Taint *t, CtRef r) { return r.kind != CT_REF_STATIC && t->is[r.v / 4]; }

static bool is_in_address(const Taint *t, const CtTileArg *arg) {
  return t->is[arg->base / 4] || t->is[arg->pattern / 4] || is_in_ref(t, arg->lanes);
}

/* Is it in what an operation on tensors takes beside its fields? */
static bool is_hidden(const Taint *t, const CtTileArg *arg) {
  bool is = arg->buf != 0 && is_in_address(t, arg);
  for (uint32_t i = 0; arg->buf != 0 && i < arg->n_guards; i++) {
    const CtTileGuard *g = &t->p->guards[arg->guard + i];
    is = is || is_in_address(t, &g->at) || is_in_ref(t, g->bound);
  }
  return is;
}

static void visit(Taint *t, const CtIn *in) {
  const CtSimtRow *row = ct_in_row(in);
  unsigned may = allowed(t, in);
  bool has = false;
  for (int i = 0; i < 4; i++) {
    bool is = is_read(row->roles[i]) && *slot_of(t, in, i);
    has = has || is;
    t->decides = t->decides || (is && (may >> i & 1) == 0);
  }
  if (ct_in_is(in, CT_INS_TILE)) {
    const CtTileOp *op = &t->p->tiles[in->imm];
    t->decides = t->decides || is_hidden(t, &op->dst) || is_hidden(t, &op->a) ||
                 is_hidden(t, &op->b) || is_hidden(t, &op->sf[0]) || is_hidden(t, &op->sf[1]);
  }
  if (ct_in_is(in, CT_INS_MEMORY) && !ct_in_stores(in)) {
    has = is_wrong(t, ct_in_buf(in));
  }
  has = has || ct_in_is(in, CT_INS_DOT);
  if (in->d == 0) {
    return; /* it has no slot there */
  }
  if (row->roles[0] >= 'A' && row->roles[0] <= 'Z') {
    *slot_of(t, in, 0) = has;
  } else if (row->moves == CT_MOVES_TO_VARIABLE && has && !*slot_of(t, in, 0)) {
    *slot_of(t, in, 0) = t->changed = true;
  }
}

bool ct_lineage_floats_decide(const CtSimtProgram *p, const bool *needed, CtAlloc alloc) {
  size_t n = p->warp_bytes / 4 + 1;
  Taint t = {.p = p, .needed = needed, .is = ct_alloc(alloc, n), .changed = true};
  if (t.is == NULL) {
    return true;
  }
  memset(t.is, 0, n);
  while (t.changed && !t.decides) {
    t.changed = false;
    for (uint32_t i = p->body; i < p->n_code && !t.decides; i++) {
      visit(&t, &p->code[i]);
    }
  }
  ct_free(alloc, t.is, n);
  return t.decides;
}
