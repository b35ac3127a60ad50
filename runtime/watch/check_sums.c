/* check_sums.c: float sums. They are atomic and do not race, but each rounds as it comes. A launch may promise that this
   changes no bit: then something must order them, those of other ranks, too. And blocks may take turns to add to global
   memory: a thread that has learnt by a flag that an older one began relies on their order. A copy of TMA is over only
   once its thread has waited until it is done. */
#include "check_before.h"
#include "check_flag.h"
#include "check_ranks.h"

static bool is_sum(const CtSimtProgram *p, uint32_t in) {
  const CtIn *code = &p->code[in];
  const CtAtomicImm imm = {.imm = code->imm};
  return ct_in_is(code, CT_INS_TMA) ? p->tmas[code->imm].reduce == CT_TMA_ADD
                                    : imm.u.op == CT_OP_ATOMIC_ADD || imm.u.op == CT_OP_ATOMIC_ADD2;
}

/* Does this launch promise an order of what the access adds? */
static bool promises(const CtSimtJob *job, const CtCheckWorker *k, const CtAccess *a) {
  return job->launch->is_deterministic && ct_is_float(a->buf->dtype) && a->is_atomic &&
         is_sum(k->k->job->program, ct_check_index(k, a->in));
}

bool ct_sums_are_promised(const CtCheckWorker *k, const CtAccess *a) {
  return promises(k->k->job, k, a);
}

/* The launch of the event, perhaps of another rank. */
static const CtSimtJob *job_of(const CtCheckWorker *k, const CtCheckEvent *e) {
  const CtSimtJob *job = k->k->job;
  return e->job == job->number ? job : &job->group->jobs[e->job];
}

static void note(CtCheckWorker *k, const CtAccess *a, const CtCheckEvent *now, int lane,
                 const CtCheckEvent *old, int old_lane, int64_t off, int how) {
  CtFound f = ct_finding_of(k, CT_CHECK_ORDER, a, lane, off);
  f.how = (uint8_t)how;
  f.other = old->in;
  f.other_block = old->block;
  f.other_thread = ct_check_thread(old->warp, old_lane);
  f.agent = now->agent;
  f.other_agent = old->agent;
  if (old->job != now->job) {
    f.job = k->k->job;
    f.other_job = job_of(k, old);
  }
  ct_finding_note(k, &f);
}

void ct_sums_note(CtCheckWorker *k, const CtAccess *a, const CtCheckEvent *now, int lane,
                  const CtCheckEvent *old, int old_lane, int64_t off) {
  if (is_sum(job_of(k, old)->program, old->in)) {
    note(k, a, now, lane, old, old_lane, off, CT_SUMS_PROMISED);
  }
}

/* Is it the work of an agent, whose end only a wait tells? */
static bool is_awaited(const CtCheckEvent *old) { return old->agent == CT_AGENT_BULK_WRITE; }

/* In two blocks, TMA adds in one order only if a proxy fence lies between (PTX ISA, Causality Order). */
static bool is_fenced(const CtCheckWorker *k, const CtCheckEvent *now, const CtCheckEvent *old) {
  return old->job != now->job || old->block == now->block || now->agent == CT_AGENT_NONE ||
         !is_awaited(old) || ct_global_is_fenced(k->check->global, old, now);
}

/* Do both add floats, and rely on an order although the launch promises none? Their threads are ordered by a flag. */
static bool is_of_turns(const CtCheckWorker *k, const CtAccess *a, const CtCheckEvent *now,
                        const CtCheckEvent *old, CtLanePair lanes) {
  const CtSimtProgram *p = k->k->job->program;
  CtCheckEvent begun = *old;
  begun.agent = CT_AGENT_NONE;
  return is_awaited(old) && old->job == now->job && old->block != now->block &&
         ct_is_float(a->buf->dtype) && is_sum(p, old->in) && is_sum(p, now->in) &&
         ct_flag_knows(k, now->warp, lanes.now, &begun, lanes.old);
}

void ct_sums_look(CtCheckWorker *k, const CtAccess *a, const CtCheckEvent *now,
                  const CtCheckEvent *old, CtLanePair lanes, int64_t off) {
  bool is_promised = ct_sums_are_promised(k, a) || promises(job_of(k, old), k, a);
  if (!is_sum(job_of(k, old)->program, old->in) ||
      (!is_promised && !is_of_turns(k, a, now, old, lanes))) {
    return;
  }
  bool is_ordered = old->job == now->job ? ct_is_before(k, old, now, lanes, is_awaited(old), false)
                                         : ct_ranks_has_order(k, old, lanes.old, now, lanes.now);
  if (!is_ordered || !is_fenced(k, now, old)) {
    note(k, a, now, lanes.now, old, lanes.old, off,
         is_ordered    ? CT_SUMS_UNFENCED
         : is_promised ? CT_SUMS_PROMISED
                       : CT_SUMS_OF_TURNS);
  }
}
