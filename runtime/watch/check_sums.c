/* check_sums.c: float sums in global memory that blocks take turns to add. They are atomic and do not race, but each
   rounds as it comes. A thread that has learnt by a flag that an older one began relies on their order. A copy of TMA is
   over only once its thread has waited until it is done. */
#include "check_before.h"
#include "check_flag.h"
#include "check_global.h"

static bool is_sum(const CtSimtProgram *p, uint32_t in) {
  const CtIn *code = &p->code[in];
  const CtAtomicImm imm = {.imm = code->imm};
  return ct_in_is(code, CT_INS_TMA) ? p->tmas[code->imm].reduce == CT_TMA_ADD
                                    : imm.u.op == CT_OP_ATOMIC_ADD || imm.u.op == CT_OP_ATOMIC_ADD2;
}

void ct_sums_look(CtCheckWorker *k, const CtAccess *a, const CtCheckEvent *now,
                  const CtCheckEvent *old, CtLanePair lanes, int64_t off) {
  const CtSimtProgram *p = k->k->job->program;
  CtCheckEvent begun = *old;
  begun.agent = CT_AGENT_NONE;
  if (old->agent != CT_AGENT_BULK_WRITE || old->job != now->job || old->block == now->block ||
      !ct_is_float(a->buf->dtype) || !is_sum(p, old->in) || !is_sum(p, now->in) ||
      ct_is_before(k, old, now, lanes, true, false) ||
      !ct_flag_knows(k, now->warp, lanes.now, &begun, lanes.old)) {
    return;
  }
  CtFound f = ct_finding_of(k, CT_CHECK_ORDER, a, lanes.now, off);
  f.other = old->in;
  f.other_block = old->block;
  f.other_thread = ct_check_thread(old->warp, lanes.old);
  f.agent = now->agent;
  f.other_agent = old->agent;
  ct_finding_note(k, &f);
}
