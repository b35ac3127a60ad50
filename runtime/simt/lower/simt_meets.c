/* simt_meets.c: lowering to the CPU engine: may blocks of a launch meet, that is, may what a block does
   depend on what another block has done so far? They meet by atomic operations on memory that they share,
   by loops that wait, at the grid's barrier, and when one takes the work of another. */
#include "runtime/simt/code/simt_operand.h"
#include "simt_lower.h"

/* Does the loop that ends here read memory that other blocks may write? */
static bool reads_global(const CtSimtProgram *p, const CtIn *end) {
  bool found = false;
  for (const CtIn *in = end + (int32_t)end->c; in < end && !found; in += ct_in_size(in)) {
    CtOperand operands[CT_MAX_OPERANDS];
    for (int n = ct_simt_operands(p, in, operands); n-- > 0;) {
      found = found || (operands[n].reads && p->bufs[operands[n].buf].space == CT_GLOBAL);
    }
  }
  return found;
}

static bool is_meeting(const CtSimtProgram *p, const CtIn *in) {
  switch (in->u.op) {
    case CT_SIMT_GRID_BARRIER: return true;
    case CT_SIMT_AGAIN: return ct_spin_waits(in->imm) && reads_global(p, in);
    case CT_SIMT_TMA: return p->tmas[in->imm].reduce != 0 || p->tmas[in->imm].is_cancel;
    default: break;
  }
  const CtAtomicImm imm = {.imm = in->imm};
  return ct_in_is(in, CT_INS_ATOMIC) && p->bufs[imm.u.buf].space == CT_GLOBAL;
}

bool ct_low_meets(const CtSimtProgram *p) {
  bool found = false;
  for (uint32_t i = p->body; i < p->n_code && !found; i++) {
    found = is_meeting(p, &p->code[i]);
    i += (uint32_t)ct_in_size(&p->code[i]) - 1;
  }
  return found;
}
