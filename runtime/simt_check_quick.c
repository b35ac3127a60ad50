/* simt_check_quick.c: `check`, handlers of what is most frequent and rarely found fault with: they know
   what these instructions access without simt_access.h. What one cannot settle at once it leaves to
   ct_simt_step. */
#include "simt_check_state.h"

static const CtIn *run(const CtCheckWorker *k, const CtIn *in, CtWarp *w) {
  return k->handlers[in - k->bound](in, w);
}

static uint32_t buf_of(const CtIn *code) { return code->c & ~(1u << 31); }

/* Of an access by scalar and pattern. */
static inline bool is_inside(const CtIn *code, const CtWarp *w) {
  const CtMem *m = &w->mem[buf_of(code)];
  const CtPattern *p = CT_CAT(CtPattern, w, code->b);
  int64_t base = CT_CAT(CtScalar, w, code->a)->i, lo, hi;
  return !ct_add_overflow(base, code->imm, &base) && !ct_add_overflow(base, p->lo, &lo) &&
         !ct_add_overflow(base, p->hi, &hi) && lo >= 0 && hi < m->n;
}

static const CtIn *load_inside(const CtIn *in, CtWarp *w) {
  const CtCheckWorker *k = ct_check_worker(w->worker);
  return k->n_taints == 0 && is_inside(in, w) ? run(k, in, w) : ct_simt_step(in, w);
}

static const CtIn *lea_that_fits(const CtIn *in, CtWarp *w) {
  const CtCheckWorker *k = ct_check_worker(w->worker);
  return k->n_taints == 0 && ct_wrap_fits(in, w) ? run(k, in, w) : ct_simt_step(in, w);
}

/* --- writes of shared memory -------------------------------------------------------------------------- */

/* 32 lanes that write 32 granules side by side, none of which was written since the barrier. */
static bool note_run(CtCheckWorker *k, const CtIn *in, const CtWarp *w) {
  const CtPattern *p = CT_CAT(CtPattern, w, in->b);
  uint32_t buf = buf_of(in), number = k->next_event;
  int64_t first = CT_CAT(CtScalar, w, in->a)->i + in->imm + p->pos[0];
  int n;
  int64_t g = ct_shadow_granule(k, &k->k->job->program->bufs[buf], first, &n);
  if (k->next_event - k->first_event >= k->cap_events ||
      !ct_shadow_write_run(&k->shadow[g], k->epoch_word, number << CT_EVENT_LANE_BITS)) {
    return false;
  }
  CtCheckWarp *warp = &k->warps[w->index];
  CtRange r = {g, g + CT_LANES - 1};
  warp->ordinal++;
  ct_check_event_of(k, in, w->index, false, &k->events[number - k->first_event]);
  k->next_event++;
  ct_range_widen(&k->written[buf], r);
  ct_range_widen(&warp->wrote, r);
  k->has_written = true;
  return true;
}

static const CtIn *store_run(const CtIn *in, CtWarp *w) {
  CtCheckWorker *k = ct_check_worker(w->worker);
  bool is_run = w->mask == CT_ALL_LANES &&
                CT_CAT(CtPattern, w, in->b)->kind[CT_LEVELS - 1] == CT_CONTIGUOUS &&
                k->n_taints == 0 && k->n_pending == 0 && k->next_event < CT_MAX_EVENT &&
                is_inside(in, w) && note_run(k, in, w);
  return is_run ? run(k, in, w) : ct_simt_step(in, w);
}

/* --- which ---------------------------------------------------------------------------------------------- */

/* By scalar and pattern, elements of one granule? */
static bool is_shared_store(const CtCheck *c, const CtIn *code) {
  const char *roles = ct_simt_roles[code->u.op];
  const CtSimtBuf *buf = roles[3] == 'b' ? &c->job->program->bufs[buf_of(code)] : NULL;
  return buf != NULL && roles[0] >= 'a' && roles[2] == 'p' && buf->space == CT_SHARED &&
         ct_dtype_bytes(buf->dtype) == c->granule;
}

CtHandler ct_quick_handler(const CtCheck *c, uint32_t index) {
  const CtIn *code = &c->job->program->code[index];
  const CtPlan *plan = &c->plans[index];
  if (plan->is_bounds) {
    return load_inside;
  }
  if (plan->kind == CT_PLAN_WRAP) {
    return code->u.op == CT_SIMT_LEA_i32 ? lea_that_fits : NULL;
  }
  return plan->kind == CT_PLAN_MEMORY && is_shared_store(c, code) ? store_run : NULL;
}
