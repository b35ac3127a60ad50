/* simt_chosen.c: handlers of the CPU engine for tensors whose place is known only at run time: members of
   lists, and tensors at an address. A warp's buffer is turned to the memory of the one that is meant,
   with its end, before it is accessed. */
#include "simt_run.h"

static bool fail_at(const CtIn *in, CtWarp *w, int lane, CtFailKind kind, int64_t off) {
  (void)ct_simt_fail_kind(w, in, lane, kind);
  w->worker->fail.buf = (uint32_t)in->imm;
  w->worker->fail.off = off;
  return false;
}

static void turn(CtWarp *w, uint32_t buf, char *begin, const char *end) {
  CtMem *mem = &CT_AT(CtMem, w, w->worker->job->program->mem_at)[buf];
  mem->ptr = begin;
  mem->n = (end - begin) / (int64_t)mem->elem_bytes;
}

static bool turn_to_member(const CtIn *in, CtWarp *w, int lane, const CtSimtBuf *b, int64_t at) {
  const CtSimtJob *job = w->worker->job;
  const CtSimtBuf *table = &job->program->bufs[b->list];
  const CtSimtList *l = &job->launch->lists[table->param];
  int64_t row = ct_floordiv(at, table->n_columns);
  if (row < 0 || row >= l->n) {
    return fail_at(in, w, lane, CT_FAIL_MEMBER, at);
  }
  turn(w, (uint32_t)in->imm, l->members[row].begin, l->members[row].end);
  return true;
}

static bool turn_to_place(const CtIn *in, CtWarp *w, int lane, int64_t at) {
  const CtSimtJob *job = w->worker->job;
  const CtSimtBuf *b = &job->program->bufs[in->imm];
  if (b->list != 0) {
    return turn_to_member(in, w, lane, b, at);
  }
  const CtSimtSpan *memory = ct_simt_memory_at(job->launch, (const char *)(uintptr_t)at);
  if (memory == NULL || at % (int64_t)b->align != 0) {
    return fail_at(in, w, lane, CT_FAIL_ADDRESS, at);
  }
  turn(w, (uint32_t)in->imm, memory->begin + ((uintptr_t)at - (uintptr_t)memory->begin),
       memory->end);
  return true;
}

const CtIn *ct_simt_do_TURN(const CtIn *in, CtWarp *w) {
  bool ok =
      w->mask == 0 || turn_to_place(in, w, ct_first_lane(w->mask), CT_CAT(CtScalar, w, in->a)->i);
  return ok ? in + 1 : NULL;
}

static int64_t place_of(const CtIn *in, const CtWarp *w, int lane) {
  bool is_row = w->worker->job->program->bufs[in->imm].list != 0;
  return is_row ? CT_CAT(int32_t, w, in->a)[lane] : CT_CAT(int64_t, w, in->a)[lane];
}

const CtIn *ct_simt_each_value(const CtIn *in, CtWarp *w,
                               int64_t (*value_of)(const CtIn *in, const CtWarp *w, int lane),
                               bool (*turn_to)(const CtIn *in, CtWarp *w, int lane,
                                               int64_t value)) {
  const CtIn *end = in + 1 + in->d, *at = end;
  uint32_t mask = w->mask;
  for (uint32_t rest = mask; rest != 0 && at != NULL; rest &= ~w->mask, w->mask = mask) {
    int first = ct_first_lane(rest);
    int64_t value = value_of(in, w, first);
    w->mask = 0;
    for (int i = first; i < CT_LANES; i++) {
      w->mask |= (rest >> i & 1) != 0 && value_of(in, w, i) == value ? 1u << i : 0;
    }
    at = turn_to(in, w, first, value) ? in + 1 : NULL;
    while (at != NULL && at < end) {
      at = at->u.handler(at, w);
    }
    if (at == NULL) {
      return NULL;
    }
  }
  return end;
}

const CtIn *ct_simt_do_EACH_AT(const CtIn *in, CtWarp *w) {
  return ct_simt_each_value(in, w, place_of, turn_to_place);
}
