/* simt_bands.c: lowering to the CPU engine: may the engine run rows of blocks together? If a loop
   reads global memory, we assume that blocks read what other blocks have read; see simt_order.c. */
#include "simt_lower.h"

static bool reads_global(const CtSimtProgram *p, const CtIn *in) {
  return ct_in_is(in, CT_INS_MEMORY) && !ct_in_stores(in) &&
         p->bufs[ct_in_buf(in)].space == CT_GLOBAL;
}

bool ct_low_has_bands(const CtSimtProgram *p) {
  uint32_t last_read = 0; /* position + 1 */
  bool rereads = false;
  for (uint32_t i = p->body; i < p->n_code; i++) {
    const CtIn *in = &p->code[i];
    if (in->u.op == CT_SIMT_ATOMIC || (in->u.op == CT_SIMT_AGAIN && ct_spin_waits(in->imm))) {
      return false;
    }
    last_read = reads_global(p, in) ? i + 1 : last_read;
    rereads = rereads || (ct_in_row(in)->loops && last_read > i + in->c);
  }
  return rereads;
}
