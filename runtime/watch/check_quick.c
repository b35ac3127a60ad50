/* check_quick.c: fast handlers of `check` for the most frequent instructions, which rarely have
   faults. They know what these instructions access without simt_access.h. A handler that cannot
   decide at once leaves the instruction to ct_simt_step. */
#include "check_parts.h"
#include "runtime/simt/run/simt_scalar.h"

static const CtIn *run(const CtCheckWorker *k, const CtIn *in, CtWarp *w) {
  return k->handlers[in - k->bound](in, w);
}

/* Is an access by scalar and pattern inside its buffer? */
static inline bool is_inside(const CtIn *code, const CtWarp *w) {
  const CtMem *m = &w->mem[ct_in_buf(code)];
  int64_t base = ADD_i64(CT_CAT(CtScalar, w, code->a)->i, code->imm);
  return ct_pattern_is_inside(CT_CAT(CtPattern, w, code->b), base, m->n);
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

/* Notes a write of 32 neighbouring granules, one by each lane; false if one of them was written
   since the barrier. */
static bool note_run(CtCheckWorker *k, const CtIn *in, const CtWarp *w) {
  const CtPattern *p = CT_CAT(CtPattern, w, in->b);
  uint32_t buf = ct_in_buf(in), number = k->next_event;
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
  ct_check_event_of(k, in, w->index, 0, &k->events[number - k->first_event]);
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
                k->n_taints == 0 && k->n_pending == 0 && !k->has_atomics &&
                k->next_event < CT_MAX_EVENT && is_inside(in, w) && note_run(k, in, w);
  return is_run ? run(k, in, w) : ct_simt_step(in, w);
}

/* --- reads of shared memory ----------------------------------------------------------------------------- */

static bool has_room(const CtCheckWorker *k) {
  return k->n_taints == 0 && k->n_pending == 0 && !k->no_memory && k->n_reads + 2 <= k->cap_reads;
}

/* The entry for the read that `code` makes, as a part of `in`; NULL if not all of it is known to
   be initialised. */
static inline CtKnownRead *known_read(const CtCheckWorker *k, const CtIn *in, const CtIn *code,
                                      CtAccessRole role, const CtWarp *w) {
  int64_t base = ADD_i64(CT_CAT(CtScalar, w, code->a)->i, code->imm);
  CtKnownRead *s = ct_known_at(k, in, role, w->index, base, w->mask);
  bool is_it = s->block == k->n_blocks && s->in == in && s->base == base && s->mask == w->mask &&
               s->pattern == CT_CAT(CtPattern, w, code->b) && s->warp == w->index &&
               s->role == role;
  return is_it ? s : NULL;
}

/* Logs a read again: as it was before, but at the present time. */
static inline void log_again(CtCheckWorker *k, CtKnownRead *s) {
  const CtCheckWarp *w = &k->warps[s->warp];
  if (s->epoch != k->n_epochs || s->sub != w->sub || s->time != w->time || w->is_near) {
    CtRead *read = &k->reads[k->n_reads++];
    *read = s->read;
    ct_check_event_of(k, s->in, s->warp, 0, &read->event);
    s->epoch = k->n_epochs;
    s->sub = w->sub;
    s->time = w->time;
  }
}

static const CtIn *load_again(const CtIn *in, CtWarp *w) {
  CtCheckWorker *k = ct_check_worker(w->worker);
  CtKnownRead *s = has_room(k) ? known_read(k, in, in, CT_ACCESS_A, w) : NULL;
  if (s == NULL) {
    return ct_simt_step(in, w);
  }
  k->warps[w->index].ordinal++;
  log_again(k, s);
  return run(k, in, w);
}

/* The two loads of a DOT follow it in the code. */
static const CtIn *dot_again(const CtIn *in, CtWarp *w) {
  CtCheckWorker *k = ct_check_worker(w->worker);
  CtKnownRead *a = has_room(k) ? known_read(k, in, &in[1], CT_ACCESS_A, w) : NULL;
  CtKnownRead *b = a == NULL ? NULL : known_read(k, in, &in[2], CT_ACCESS_B, w);
  if (b == NULL) {
    return ct_simt_step(in, w);
  }
  k->warps[w->index].ordinal++;
  log_again(k, a);
  log_again(k, b);
  return run(k, in, w);
}

/* --- registers ------------------------------------------------------------------------------------------ */

/* A row of registers: one element of all lanes. */
static const CtIn *row_again(const CtIn *in, CtWarp *w) {
  CtCheckWorker *k = ct_check_worker(w->worker);
  uint32_t buf = ct_in_buf(in);
  int64_t off = ADD_i64(CT_CAT(CtScalar, w, in->a)->i, in->imm);
  bool is_in = (uint64_t)off < (uint64_t)w->mem[buf].n;
  uint32_t none = 0;
  uint32_t *row = is_in ? ct_regs_row(k, w->index, buf, off) : &none;
  if (!is_in || k->n_taints > 0 || (*row & w->mask) != w->mask) {
    return ct_simt_step(in, w);
  }
  return run(k, in, w);
}

/* --- coordinates --------------------------------------------------------------------------------------- */

static const CtIn *within(const CtIn *in, CtWarp *w) {
  (void)ct_within_look(ct_check_worker(w->worker), in, in, w);
  return in + 1;
}

/* --- signed integers ------------------------------------------------------------------------------------- */

static const CtIn *operation(const CtIn *in, CtWarp *w) {
  (void)ct_overflow_look(ct_check_worker(w->worker), in, in, w);
  return in + 1;
}

/* --- which ---------------------------------------------------------------------------------------------- */

/* Is it an access to shared memory by scalar and pattern? */
static bool is_shared(const CtCheck *c, const CtIn *code) {
  const char *roles = ct_in_roles(code);
  return ct_in_is(code, CT_INS_MEMORY) && roles[1] == 's' && roles[2] == 'p' &&
         c->job->program->bufs[ct_in_buf(code)].space == CT_SHARED;
}

/* Is it an access to a row of registers, which wgmma never touches? */
static bool is_row(const CtCheck *c, const CtIn *code) {
  const CtSimtProgram *p = c->job->program;
  const char *roles = ct_in_roles(code);
  return ct_in_is(code, CT_INS_MEMORY) && !p->has_wgmma &&
         p->bufs[ct_in_buf(code)].space == CT_REGISTER && roles[1] == 's' && roles[2] == '.';
}

static CtHandler of_memory(const CtCheck *c, const CtIn *code) {
  if (is_row(c, code)) {
    return row_again;
  }
  if (ct_in_is(code, CT_INS_DOT)) {
    return !c->has_clocks && is_shared(c, &code[1]) && is_shared(c, &code[2]) ? dot_again : NULL;
  }
  if (c->has_clocks || !is_shared(c, code)) {
    return NULL;
  }
  bool has_granule = ct_value_bytes(c->job->program->bufs[ct_in_buf(code)].dtype) == c->granule;
  return !ct_in_stores(code) ? load_again : has_granule ? store_run : NULL;
}

CtHandler ct_quick_handler(const CtCheck *c, uint32_t index) {
  const CtIn *code = &c->job->program->code[index];
  const CtPlan *plan = &c->plans[index];
  if (plan->is_bounds) {
    return load_inside;
  }
  if (plan->kind == CT_PLAN_WITHIN) {
    return within;
  }
  if (plan->kind == CT_PLAN_OVERFLOW) {
    return operation;
  }
  if (plan->kind == CT_PLAN_WRAP) {
    return code->u.op == CT_SIMT_LEA_i32 ? lea_that_fits : NULL;
  }
  return plan->kind == CT_PLAN_MEMORY ? of_memory(c, code) : NULL;
}
