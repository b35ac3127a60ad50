/* check_launch.c: prepares `check` for one launch: a plan for each instruction, and the state of
   each worker. */
#include "check_clock.h"
#include "check_flag.h"
#include "check_latest.h"
#include "check_parts.h"
#include "check_ranks.h"

#include <string.h>

/* How `check` treats the instructions of a class, */
static const uint8_t plan_of_class[CT_INS_CLASS_COUNT] = {[CT_INS_MEMORY] = CT_PLAN_MEMORY,
                                                          [CT_INS_DOT] = CT_PLAN_MEMORY,
                                                          [CT_INS_ATOMIC] = CT_PLAN_MEMORY,
                                                          [CT_INS_TMA] = CT_PLAN_MEMORY,
                                                          [CT_INS_TILE] = CT_PLAN_MEMORY};

/* and some single instructions. */
static const uint8_t plan_of_op[CT_SIMT_OP_COUNT] = {
    [CT_SIMT_SYNC_LANES] = CT_PLAN_SYNC_LANES,   [CT_SIMT_MASKED] = CT_PLAN_SHUFFLE,
    [CT_SIMT_SYNC_WARP] = CT_PLAN_SYNC_WARP,     [CT_SIMT_CP_FENCE] = CT_PLAN_CP_FENCE,
    [CT_SIMT_CP_WAIT] = CT_PLAN_CP_WAIT,         [CT_SIMT_FENCE] = CT_PLAN_FENCE,
    [CT_SIMT_WGMMA_FENCE] = CT_PLAN_WGMMA,       [CT_SIMT_WGMMA_COMMIT] = CT_PLAN_WGMMA,
    [CT_SIMT_WGMMA_WAIT] = CT_PLAN_WGMMA,        [CT_SIMT_GRID_WAIT] = CT_PLAN_GRID_WAIT,
    [CT_SIMT_GRID_LAUNCH] = CT_PLAN_GRID_LAUNCH, [CT_SIMT_WITHIN] = CT_PLAN_WITHIN};

static uint8_t plan_of(const CtIn *code) {
  uint8_t plan = plan_of_op[code->u.op];
  return plan != CT_PLAN_NONE ? plan : plan_of_class[ct_in_row(code)->cls];
}

/* Finds the operands of an instruction; false: no memory. */
static bool plan_operands(CtCheck *c, CtPlan *plan, const CtIn *in) {
  CtOperand operands[CT_MAX_OPERANDS];
  int n = ct_simt_operands(c->job->program, in, operands);
  CtOperand *kept = n == 0 ? NULL : ct_arena_alloc(&c->arena, (size_t)n * sizeof *kept);
  if (kept != NULL) {
    memcpy(kept, operands, (size_t)n * sizeof *kept);
  }
  plan->operands = kept;
  plan->n_operands = (uint8_t)n;
  return n == 0 || kept != NULL;
}

/* Do the tables of a tile operation stay as the prologue made them? */
static bool is_steady(const CtPlan *plan, const bool *is_late) {
  for (int i = 0; i < plan->n_operands; i++) {
    const CtTileArg *arg = plan->operands[i].arg;
    if (arg != NULL && (is_late[arg->mode[0]] || is_late[arg->mode[1]])) {
      return false;
    }
  }
  return true;
}

/* Call it after the global part knows which memory is written. */
static void plan_bounds(CtCheck *c) {
  const CtSimtProgram *p = c->job->program;
  for (uint32_t i = p->body; i < p->n_code; i++) {
    const CtIn *code = &p->code[i];
    uint32_t buf = ct_in_buf(code);
    c->plans[i].is_bounds = c->plans[i].kind == CT_PLAN_MEMORY && ct_in_is(code, CT_INS_MEMORY) &&
                            !ct_in_stores(code) && ct_in_roles(code)[2] == 'p' &&
                            p->bufs[buf].space == CT_GLOBAL && !ct_global_is_watched(c, buf);
  }
}

static bool make_plans(CtCheck *c) {
  const CtSimtProgram *p = c->job->program;
  bool *is_late = ct_arena_alloc(&c->arena, p->n_modes + 1);
  c->plans = ct_arena_alloc(&c->arena, p->n_code * sizeof *c->plans);
  if (is_late == NULL || c->plans == NULL) {
    return false;
  }
  for (uint32_t i = p->body; i < p->n_code; i++) {
    if (p->code[i].u.op == CT_SIMT_TABLE) {
      is_late[p->code[i].imm] = true;
    }
  }
  for (uint32_t i = p->body; i < p->n_code; i++) {
    c->plans[i].kind = plan_of(&p->code[i]);
    if (!plan_operands(c, &c->plans[i], &p->code[i])) {
      return false;
    }
    c->plans[i].is_steady = is_steady(&c->plans[i], is_late);
    i += (uint32_t)ct_in_size(&p->code[i]) - 1; /* the loads of a DOT are data */
  }
  return true;
}

/* Gives each buffer its place in the shadows. */
static bool place_buffers(CtCheck *c) {
  const CtSimtProgram *p = c->job->program;
  uint32_t n_rows = 0;
  c->first_row = ct_arena_alloc(&c->arena, p->n_bufs * sizeof *c->first_row);
  c->granule = 8;
  for (uint32_t b = 1; c->first_row != NULL && b < p->n_bufs; b++) {
    if (p->bufs[b].space == CT_SHARED || p->bufs[b].space == CT_TENSOR) {
      uint32_t bytes = (uint32_t)ct_value_bytes(p->bufs[b].dtype);
      c->granule = bytes < c->granule ? bytes : c->granule;
    } else if (p->bufs[b].space == CT_REGISTER) {
      c->first_row[b] = n_rows;
      n_rows += (uint32_t)p->bufs[b].n;
    }
  }
  c->n_rows = n_rows;
  c->granule_bits = __builtin_ctz(c->granule);
  c->n_granules = p->block_bytes / c->granule + 1;
  return c->first_row != NULL;
}

/* How large the cache of compared reads is: for a read of shared memory, 16 places in each warp. An entry takes some
   300 bytes, so a small launch would spend its time on an empty cache. With clocks there is no use for one. */
static int known_bits(const CtCheck *c) {
  const CtSimtProgram *p = c->job->program;
  size_t n = 0;
  for (uint32_t i = c->has_clocks ? p->n_code : p->body; i < p->n_code; i++) {
    for (int j = 0; j < c->plans[i].n_operands; j++) {
      const CtOperand *operand = &c->plans[i].operands[j];
      n += operand->reads && p->bufs[operand->buf].space == CT_SHARED;
    }
  }
  int bits = 1;
  while (bits < CT_KNOWN_BITS && (size_t)1 << bits < n * (size_t)p->n_warps * 16) {
    bits++;
  }
  return bits;
}

static bool make_worker(CtCheck *c, CtCheckWorker *k) {
  const CtSimtProgram *p = c->job->program;
  size_t n_warps = (size_t)p->n_warps;
  k->check = c;
  k->code = p->code;
  k->plans = c->plans;
  k->nan = c->options.nan;
  k->overflow = c->options.overflow;
  k->granule_bits = c->granule_bits;
  k->next_event = 1;
  ct_arena_init(&k->texts, c->alloc);
  k->warps = ct_arena_alloc(&c->arena, n_warps * sizeof *k->warps);
  k->shadow = ct_arena_alloc(&c->arena, c->n_granules * sizeof *k->shadow);
  bool has_atomics = ct_latest_is_wanted(p, false, &k->atomic_bytes);
  k->atomics = has_atomics ? ct_arena_alloc(&c->arena, c->n_granules * sizeof *k->atomics) : NULL;
  k->written = ct_arena_alloc(&c->arena, p->n_bufs * sizeof *k->written);
  k->known_bits = known_bits(c);
  k->known = ct_arena_alloc(&c->arena, sizeof *k->known << k->known_bits);
  k->rows = ct_arena_alloc(&c->arena, (n_warps * c->n_rows + 1) * sizeof *k->rows);
  k->full = ct_arena_alloc(&c->arena, n_warps * p->n_bufs * sizeof *k->full);
  const CtWorker *worker = &c->job->workers[k - c->workers];
  bool has_clocks = true;
  if (c->has_clocks) {
    k->clocks = worker->rank == 0 ? ct_clock_open(c) : k[-worker->rank].clocks;
    k->phases = worker->rank == 0 ? ct_phase_open(c, k->clocks) : k[-worker->rank].phases;
    has_clocks = k->clocks != NULL && k->phases != NULL && ct_touch_open(k);
  }
  k->wgmma = p->has_wgmma ? ct_wgmma_open(c) : NULL;
  k->tensors = p->has_tcgen05 ? ct_tensor_open(c) : NULL;
  return has_clocks && (k->wgmma != NULL || !p->has_wgmma) &&
         (k->tensors != NULL || !p->has_tcgen05) && k->warps != NULL && k->shadow != NULL &&
         (k->atomics != NULL || !has_atomics) && k->written != NULL && k->known != NULL &&
         k->rows != NULL && k->full != NULL;
}

static void close_worker(CtCheck *c, CtCheckWorker *k) {
  ct_touch_close(k);
  ct_free(c->alloc, k->events, k->cap_events * sizeof *k->events);
  ct_free(c->alloc, k->reads, k->cap_reads * sizeof *k->reads);
  ct_free(c->alloc, k->unset, k->cap_unset * sizeof *k->unset);
  ct_free(c->alloc, k->own_pos, k->cap_own_pos * sizeof *k->own_pos);
  ct_free(c->alloc, k->pending, k->cap_pending * sizeof *k->pending);
  ct_free(c->alloc, k->sources, k->cap_sources * sizeof *k->sources);
  ct_free(c->alloc, k->taints, k->cap_taints * sizeof *k->taints);
  ct_free(c->alloc, k->sums, k->cap_sums * sizeof *k->sums);
  ct_free(c->alloc, k->found, k->cap_found * sizeof *k->found);
  ct_wgmma_close(k);
  ct_flag_close_worker(k);
  if (k->clocks != NULL && c->job->workers[k - c->workers].rank == 0) {
    ct_clock_close(k);
  }
  ct_arena_clear(&k->texts);
}

void ct_check_end(CtCheck *c) {
  ct_global_end(c);
  for (int i = 0; i < c->n_workers; i++) {
    close_worker(c, &c->workers[i]);
  }
  if (c->ranks == NULL) {
    c->no_memory = ct_flag_close(c->flags) || c->no_memory;
  }
  c->flags = NULL;
  c->n_workers = 0;
  c->job = NULL;
  ct_arena_clear(&c->arena);
}

CtStatus ct_check_begin(CtCheck *c, CtSimtJob *job, CtErr *err) {
  c->job = job;
  c->n_launches++;
  if (c->ranks == NULL) {
    atomic_store(&c->clock, 1);
  }
  c->workers = ct_arena_alloc(&c->arena, (size_t)job->n_workers * sizeof *c->workers);
  c->has_clocks = ct_clock_is_wanted(job->program);
  c->flags = c->ranks != NULL ? NULL : ct_flag_open(c->alloc, 1);
  bool ok = c->workers != NULL && (c->ranks != NULL || c->flags != NULL) && make_plans(c) &&
            place_buffers(c);
  for (int i = 0; ok && i < job->n_workers; i++) {
    c->n_workers = i + 1;
    ok = make_worker(c, &c->workers[i]);
    c->workers[i].k = &job->workers[i];
    c->workers[i].bound = job->code;
    c->workers[i].handlers = job->handlers;
    job->workers[i].watched = &c->workers[i];
    ok = ok && ct_flag_open_worker(&c->workers[i]);
  }
  CtStatus status = !ok                ? ct_fail_nomem(err)
                    : c->ranks != NULL ? ct_ranks_begin(c, err)
                                       : ct_global_begin(c, err);
  c->flags = status == CT_OK && c->ranks != NULL ? ct_ranks_flags(c) : c->flags;
  if (status == CT_OK && !ct_check_blank_begin(c)) {
    status = ct_fail_nomem(err);
  }
  status = status == CT_OK ? ct_early_begin(c, err) : status;
  if (status == CT_OK) {
    plan_bounds(c);
    ct_wrap_plan(c);
    ct_nan_plan(c);
    ct_overflow_plan(c);
  } else {
    ct_check_end(c);
  }
  return status;
}
