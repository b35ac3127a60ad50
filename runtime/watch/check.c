/* check.c: the watcher of `check`. It asks what each instruction accesses and passes that to the
   part that checks this kind of memory (check_state.h). */
#include "check_clock.h"
#include "check_flag.h"
#include "check_parts.h"
#include "check_ranks.h"
#include "explore.h"
#include "needless.h"

#include <string.h>

enum { MAX_HELD = 1 << 20 }; /* accesses of a block that are left out; then the launch ends */

/* --- one event ------------------------------------------------------------------------------------------- */

/* The warp and the memory may belong to different blocks. The barriers of copies are those of
   the block that owns the memory. */
void ct_check_event(const CtCheckWorker *k, const CtAccess *a, CtCheckEvent *e) {
  uint8_t atomic = a->is_atomic ? (uint8_t)ct_value_bytes(a->buf->dtype) : 0;
  ct_check_event_of(ct_check_worker(a->w->worker), a->in, a->w->index, atomic, e);
  if (a->is_atomic && ct_in_is(&k->code[e->in], CT_INS_ATOMIC)) {
    const CtAtomicImm imm = {.imm = k->code[e->in].imm};
    e->is_sys = (imm.u.order & CT_ORDER_SYS) != 0;
    e->is_store = imm.u.op == CT_OP_ATOMIC_STORE;
  }
  e->role = a->agent == CT_AGENT_UMMA ? (uint8_t)a->role : 0;
  if (k->clocks != NULL && a->agent != CT_AGENT_NONE) {
    ct_clock_stamp(k, a->w->index, a, e);
  }
}

/* --- one access ------------------------------------------------------------------------------------------- */

static CtFound found_at(const CtCheckWorker *k, const CtAccess *a, int lane, CtCheckKind kind) {
  CtFound f = ct_finding_of(k, kind, a, lane, 0);
  f.how = a->writes ? CT_BOUNDS_WRITE : CT_BOUNDS_READ;
  return f;
}

static void note_outside(CtCheckWorker *k, const CtAccess *a, uint32_t lanes, int64_t off) {
  CtFound f = found_at(k, a, ct_first_lane(lanes), CT_CHECK_BOUNDS);
  f.count = (uint64_t)__builtin_popcount(lanes);
  f.off = off;
  ct_finding_note(k, &f);
}

/* Are the offsets of all vectors multiples of their size, given that of the buffer's beginning? */
static bool are_aligned(const CtAccess *a, uint64_t begin, uint64_t bytes) {
  uint64_t some = begin;
  for (int i = 0; i < CT_LANES; i++) {
    some |= (uint64_t)a->pos[i] * a->mem->elem_bytes;
  }
  for (int64_t e = 0; e < a->n; e += a->vec) {
    some |= (uint64_t)(ct_access_offset(a, e, 0) - a->pos[0]) * a->mem->elem_bytes;
  }
  return some % bytes == 0;
}

/* Reports vectors that do not begin at a multiple of their size. */
static void look_at_alignment(CtCheckWorker *k, const CtAccess *a) {
  uint64_t bytes = (uint64_t)ct_dtype_span(a->buf->dtype, a->vec);
  uint64_t begin = a->buf->space == CT_GLOBAL ? (uint64_t)(uintptr_t)a->mem->ptr : a->buf->at;
  int64_t off[CT_LANES];
  if (a->vec <= 1 || a->buf->space == CT_REGISTER ||
      (a->is_regular && are_aligned(a, begin, bytes))) {
    return;
  }
  for (int64_t e = 0; e < a->n; e += a->vec) {
    for (uint32_t rest = ct_access_row(a, e, off); rest != 0; rest &= rest - 1) {
      int lane = ct_first_lane(rest);
      if ((begin + (uint64_t)off[lane] * a->mem->elem_bytes) % bytes != 0) {
        CtFound f = found_at(k, a, lane, CT_CHECK_MISALIGNED);
        f.off = off[lane];
        f.extra = (int64_t)bytes;
        ct_finding_note(k, &f);
      }
    }
  }
}

/* The worker that keeps the shadow of the memory that is accessed. */
static CtCheckWorker *home_of(CtCheckWorker *k, const CtAccess *a) {
  return a->buf->is_remote ? ct_check_worker(ct_simt_owner(a->w, a->buf_index)) : k;
}

static bool is_blind(const CtCheckWorker *k, const CtAccess *a) {
  const CtIn *code = &k->code[ct_check_index(k, a->in)];
  const CtAtomicImm imm = {.imm = code->imm};
  return ct_in_is(code, CT_INS_ATOMIC) && imm.u.is_blind;
}

static void look_at_access(CtCheckWorker *k, const CtAccess *a, bool is_steady) {
  if (a->mask == 0 || a->n == 0) {
    return;
  }
  switch (a->buf->space) {
    case CT_REGISTER:
      if (k->wgmma != NULL) {
        ct_wgmma_access(k, a);
      }
      ct_regs_access(k, a);
      return;
    case CT_CONSTANT: return;
    case CT_GLOBAL:
      ct_check_blank_look(k, a, a->reads && !is_blind(k, a));
      ct_global_access(k, a);
      return;
    case CT_TENSOR: ct_tensor_access(k, a); break;
    case CT_SHARED:
      if (a->buf->is_remote && k->clocks != NULL) {
        ct_clock_look_at_remote(k, a, ct_simt_owner(a->w, a->buf_index));
      }
      k = home_of(k, a);
      break;
  }
  if (a->reads && !is_blind(k, a)) {
    ct_shadow_read(k, a, is_steady);
  }
  if (a->writes) {
    ct_shadow_write(k, a);
  }
}

/* --- one instruction ---------------------------------------------------------------------------------------- */

static uint64_t tick(CtCheckWorker *k) { return atomic_fetch_add(&k->check->root->clock, 1) + 1; }

/* Lanes that did not load get 0, not what was there before. */
static void clear_result(const CtIn *code, CtWarp *w, uint32_t lanes) {
  char role = ct_in_roles(code)[0];
  CtAtomicImm imm = {.imm = code->imm};
  uint8_t type = ct_in_is(code, CT_INS_ATOMIC) ? imm.u.dtype : ct_in_row(code)->type;
  bool wide = ct_value_bytes((CtDtype)type) == 8;
  if (role == 'S') {
    CT_AT(CtScalar, w, code->d)->i = 0;
  } else if (role == 'M') {
    *CT_AT(uint32_t, w, code->d) &= ~lanes;
  }
  for (uint32_t rest = lanes; role == 'V' && rest != 0; rest &= rest - 1) {
    int lane = ct_first_lane(rest);
    if (wide) {
      CT_AT(int64_t, w, code->d)[lane] = 0;
    } else {
      CT_AT(int32_t, w, code->d)[lane] = 0;
    }
  }
}

/* Leaves lanes out of an instruction: their access does not take place. */
static void hold(CtCheckWorker *k, const CtIn *code, CtWarp *w, CtAccess *a, int n,
                 uint32_t lanes) {
  for (int i = 0; i < n; i++) {
    if (a[i].buf->space == CT_REGISTER) {
      ct_regs_hold(k, &a[i], lanes);
    } else if (a[i].buf->space == CT_SHARED || a[i].buf->space == CT_TENSOR) {
      ct_shadow_hold(home_of(k, &a[i]), &a[i], lanes);
    }
    a[i].mask &= ~lanes;
  }
  clear_result(code, w, lanes);
}

typedef struct BoxLook {
  CtCheckWorker *k;
  CtAccess a;
} BoxLook;

static void look_at_row(void *ud, int64_t off, int64_t bytes) {
  BoxLook *l = ud;
  CtDtype dtype = l->a.buf->dtype;
  l->a.n = l->a.n_rows = ct_dtype_count(dtype, bytes);
  l->a.base = l->a.lo = ct_dtype_count(dtype, off);
  l->a.hi = l->a.base + l->a.n - 1;
  look_at_access(l->k, &l->a, false);
}

/* Checks what a box accesses of its tensor, row by row, or what a block sends of its memory; `ranks`: the blocks that get
   the box. */
static void look_at_rows(CtCheckWorker *k, const CtSimtTma *t, const CtAccess *shared,
                         uint32_t ranks) {
  BoxLook l = {k, *shared};
  CtWarp *w = shared->w;
  int lane = ct_first_lane(shared->mask);
  l.a.buf_index = t->global;
  l.a.buf = &w->worker->job->program->bufs[t->global];
  l.a.mem = &w->mem[t->global];
  l.a.reads = !t->is_store || t->reduce != 0;
  l.a.writes = t->is_store;
  l.a.is_atomic = t->reduce != 0;
  l.a.agent = t->is_store ? CT_AGENT_BULK_WRITE : shared->agent;
  l.a.bar_rank = (int8_t)ct_first_lane(ranks);
  l.a.ends =
      (ranks & (ranks - 1)) != 0 && k->clocks != NULL ? ct_clock_ends(k, shared, ranks) : NULL;
  l.a.pos = l.a.own_pos;
  memset(l.a.own_pos, 0, sizeof l.a.own_pos);
  (void)ct_simt_tma_rows(w, t, lane, look_at_row, &l);
  if (t->is_send && k->clocks != NULL) {
    ct_clock_note_sent(k, &l.a);
  }
}

/* Checks what a product or a copy of two blocks accesses: the same in both. */
static void look_at_pair(CtCheckWorker *k, const CtAccess *a) {
  const CtWorker *own = a->w->worker, *other = &own->team[own->rank ^ 1];
  look_at_access(k, a, false);
  if (k->clocks != NULL && a->mask != 0) {
    ct_clock_look_at_remote(k, a, other);
  }
  look_at_access(ct_check_worker(other), a, false);
}

/* Is it a product by tcgen05 of two blocks, or a copy of their scales? */
static bool is_of_pair(const CtSimtProgram *p, const CtIn *code) {
  return (code->u.op == CT_SIMT_TCGEN05_MMA || code->u.op == CT_SIMT_TCGEN05_CP) &&
         p->tiles[code->imm].blocks == 2;
}

/* Checks a lane's box: in the shared memory of each block of the cluster that gets it, and in the tensor. */
static void look_at_box(CtCheckWorker *k, const CtSimtTma *t, const CtAccess *a) {
  const CtWorker *worker = a->w->worker;
  const CtSimtProgram *p = worker->job->program;
  uint32_t ranks = ct_simt_tma_ranks(a->w, t, ct_first_lane(a->mask));
  ranks &= (1u << p->n_cluster) - 1;
  for (uint32_t rest = ranks; rest != 0; rest &= rest - 1) {
    int rank = ct_first_lane(rest);
    if (t->is_send && k->clocks != NULL) {
      ct_clock_look_at_remote(k, a, &worker->team[rank]);
    }
    look_at_access(k - worker->rank + rank, a, false);
  }
  if (ranks != 0 && (t->is_send || ct_global_is_watched(k->check, t->global))) {
    look_at_rows(k, t, a, ranks);
  }
}

/* The lanes may name different blocks and barriers. */
static void look_at_boxes(CtCheckWorker *k, const CtIn *code, const CtAccess *a) {
  const CtSimtTma *t = &a->w->worker->job->program->tmas[code->imm];
  const int32_t(*lanes)[CT_LANES] = (const int32_t(*)[CT_LANES])ct_simt_tma_of(a->w)->lanes;
  CtAccess one = *a;
  one.pos = one.own_pos;
  for (uint32_t rest = a->mask; rest != 0; rest &= rest - 1) {
    one.mask = rest & -rest;
    one.bar_slot = lanes[CT_TMA_BAR][ct_first_lane(rest)];
    if (t->is_store || (uint64_t)one.bar_slot < (uint64_t)a->w->mem[t->bar].n) {
      look_at_box(k, t, &one);
    }
  }
}

/* The lanes of an ST_ASYNC may name different barriers. What names none ends the launch. */
static void look_at_stores(CtCheckWorker *k, const CtIn *code, const CtAccess *a) {
  const int32_t *slots = ct_simt_slots_of(a->w, code);
  CtAccess one = *a;
  for (uint32_t rest = a->mask; rest != 0; rest &= ~one.mask) {
    one.bar_slot = slots[ct_first_lane(rest)];
    one.mask = 0;
    for (uint32_t same = rest; same != 0; same &= same - 1) {
      int lane = ct_first_lane(same);
      one.mask |= slots[lane] == one.bar_slot ? 1u << lane : 0;
    }
    if ((uint64_t)one.bar_slot < (uint64_t)a->w->mem[a->bar].n) {
      look_at_access(k, &one, false);
    }
  }
}

static uint32_t outside(CtCheckWorker *k, const CtIn *code, const CtAccess *a) {
  int64_t e, off = 0;
  uint32_t lanes = ct_wrap_look(k, code, a);
  uint32_t held = a->is_regular ? 0 : ct_access_outside(a, &e, &off);
  if ((held & ~lanes) != 0) {
    note_outside(k, a, held & ~lanes, off);
  }
  return held;
}

static uint32_t memory_step(CtCheckWorker *k, const CtPlan *plan, const CtIn *code, const CtIn *in,
                            CtWarp *w) {
  CtAccess a[CT_MAX_OPERANDS];
  int n = ct_simt_accesses_of(plan->operands, plan->n_operands, code, in, w, a);
  uint32_t held = 0;
  for (int i = 0; i < n; i++) {
    held |= !a[i].is_regular || k->n_taints > 0 ? outside(k, code, &a[i]) : 0;
  }
  if (held != 0) {
    hold(k, code, w, a, n, held);
    k->n_held += (uint64_t)__builtin_popcount(held);
  }
  if (k->n_held >= MAX_HELD) {
    (void)ct_simt_fail_kind(w, in, ct_first_lane(held | w->mask), CT_FAIL_REPEATS);
    k->k->fail.off = (int64_t)k->n_held;
  }
  k->warps[w->index].ordinal++;
  for (int i = 0; i < n; i++) {
    if (a[i].vec > 1) {
      look_at_alignment(k, &a[i]);
    }
    if (ct_in_is(code, CT_INS_TMA)) {
      if (a[i].agent == CT_AGENT_BULK && k->clocks != NULL && a[i].mask != 0) {
        ct_clock_note_store(k, &a[i]);
      }
      look_at_boxes(k, code, &a[i]);
    } else if (is_of_pair(k->k->job->program, code)) {
      look_at_pair(k, &a[i]);
    } else if (a[i].agent == CT_AGENT_BAR) {
      look_at_stores(k, code, &a[i]);
    } else {
      look_at_access(k, &a[i], plan->is_steady);
    }
  }
  if (ct_in_is(code, CT_INS_ATOMIC)) {
    ct_flag_before(k, &a[0], (CtAtomicImm){.imm = code->imm});
  }
  return w->mask & ~held;
}

/* Reports lanes that have not ended and did not reach the sync_warp. It still orders the lanes
   that did reach it. */
static void look_at_sync(CtCheckWorker *k, const CtIn *in, const CtWarp *w) {
  uint32_t others = w->live & ~w->mask;
  if (others != 0 && w->mask != 0) {
    CtFound f = ct_finding_in(k, CT_CHECK_BARRIER, in, w->index, ct_first_lane(w->mask));
    f.other_block = f.block;
    f.other_thread = ct_check_thread(w->index, ct_first_lane(others));
    ct_finding_note(k, &f);
  }
}

static void sync_warp(CtCheckWorker *k, const CtWarp *w) {
  ct_flag_sync_warp(k, w);
  ct_shadow_sync_warp(k, w);
  if (k->clocks != NULL) {
    ct_clock_sync_warp(k, w->index);
  }
}

/* Reports shuffles that read a lane outside of their mask. */
static void look_at_shuffle(CtCheckWorker *k, const CtIn *code, const CtIn *in, const CtWarp *w) {
  for (uint32_t rest = w->mask; rest != 0; rest &= rest - 1) {
    int lane = ct_first_lane(rest);
    bool is_outside;
    (void)ct_simt_lanes_read(code, w, lane, &is_outside);
    if (is_outside) {
      CtFound f = ct_finding_in(k, CT_CHECK_LANE, in, w->index, lane);
      f.other_block = f.block;
      ct_finding_note(k, &f);
    }
  }
}

static CtHandler handler(CtSimtWatch *watch, uint32_t index) {
  const CtCheck *c = (const CtCheck *)(const void *)watch;
  return c->options.nan ? NULL : ct_quick_handler(c, index);
}

static uint32_t step(CtSimtWatch *watch, const CtIn *code, const CtIn *in, CtWarp *w) {
  (void)watch;
  CtCheckWorker *k = ct_check_worker(w->worker);
  const CtPlan *plan = &k->plans[code - k->code];
  switch ((CtPlanKind)plan->kind) {
    case CT_PLAN_MEMORY: {
      uint32_t lanes = memory_step(k, plan, code, in, w);
      if (k->nan) {
        ct_nan_before(k, code, w, lanes);
      }
      if (k->overflow) {
        ct_overflow_before(k, code, in, w, lanes);
      }
      return lanes;
    }
    case CT_PLAN_SYNC_WARP:
      look_at_sync(k, in, w);
      sync_warp(k, w);
      break;
    case CT_PLAN_SYNC_LANES: sync_warp(k, w); break;
    case CT_PLAN_SHUFFLE:
      look_at_shuffle(k, code, in, w);
      if (k->overflow) {
        ct_overflow_look_at_lanes(k, code, in, w);
      }
      break;
    case CT_PLAN_CP_FENCE: ct_async_fence(k, w); break;
    case CT_PLAN_CP_WAIT: ct_async_wait(k, w, code->imm); break;
    case CT_PLAN_FENCE: ct_flag_fence(k, w, (code->imm & CT_ORDER_SYS) != 0); break;
    case CT_PLAN_WGMMA: ct_wgmma_order(k, code, w); break;
    case CT_PLAN_GRID_WAIT: ct_early_wait(k, in, w); break;
    case CT_PLAN_GRID_LAUNCH: ct_early_launch(k, w); break;
    case CT_PLAN_WITHIN: (void)ct_within_look(k, code, in, w); break;
    case CT_PLAN_WRAP: ct_wrap_step(k, code, w); break;
    case CT_PLAN_OVERFLOW: (void)ct_overflow_look(k, code, in, w); break;
    case CT_PLAN_FLOAT: ct_nan_before(k, code, w, w->mask); break;
    case CT_PLAN_NONE: break;
  }
  return w->mask;
}

static void after(CtSimtWatch *watch, const CtIn *code, const CtIn *in, CtWarp *w) {
  (void)watch;
  CtCheckWorker *k = ct_check_worker(w->worker);
  ct_global_has_written(k);
  ct_flag_after(k, w);
  if (k->nan) {
    ct_nan_after(k, code, in, w);
  }
  if (k->overflow) {
    ct_overflow_after(k, code, in, w);
  }
}

/* --- blocks -------------------------------------------------------------------------------------------------- */

static void begin_block(CtSimtWatch *watch, CtWorker *worker) {
  (void)watch;
  CtCheckWorker *k = ct_check_worker(worker);
  const CtSimtProgram *p = worker->job->program;
  k->k = worker;
  k->block_acq = k->block_acq_sys = 0;
  k->lets_early = false;
  k->n_held = 0;
  ct_flag_begin_block(k, k->check->ranks == NULL ? NULL : ct_ranks_base(k));
  memset(k->warps, 0, (size_t)p->n_warps * sizeof *k->warps);
  ct_shadow_begin_block(k);
  if (k->clocks != NULL) {
    ct_clock_begin_block(k);
    ct_touch_begin_block(k);
    ct_phase_begin_block(k);
  }
  ct_regs_begin_block(k);
  ct_wgmma_begin_block(k);
  ct_tensor_begin_block(k);
}

static void end_block(CtSimtWatch *watch, CtWorker *worker) {
  (void)watch;
  CtCheckWorker *k = ct_check_worker(worker);
  bool failed = false;
  ct_global_has_written(k);
  ct_flag_stop(k);
  ct_early_end_block(k);
  if (k->check->ranks != NULL) {
    ct_ranks_end_block(k);
  }
  ct_shadow_barrier(k);
  for (int i = 0; i < worker->job->program->n_cluster; i++) {
    failed = failed || worker->team[i].fail.kind != CT_FAIL_NONE;
  }
  if (!failed) {
    ct_wgmma_end_block(k);
    ct_warps_look_at_registers(k);
  }
  if (k->clocks != NULL && !failed) {
    ct_tensor_end_block(k);
    ct_clock_end_block(k);
  }
  if (k->clocks != NULL && worker->rank == worker->job->program->n_cluster - 1 && !failed) {
    ct_clock_end_cluster(k);
  }
}

static void barrier(CtSimtWatch *watch, CtWorker *worker) {
  (void)watch;
  CtCheckWorker *k = ct_check_worker(worker);
  ct_warps_look_at_ended(k);
  ct_flag_barrier(k);
  ct_shadow_barrier(k);
}

static void sync(CtSimtWatch *watch, const CtSyncNote *note) {
  (void)watch;
  CtCheckWorker *k = ct_check_worker(note->w->worker);
  if (note->kind == CT_SYNC_GRID_ARRIVE || note->kind == CT_SYNC_GRID_PASS) {
    ct_flag_grid(k, note->n, note->kind == CT_SYNC_GRID_PASS);
  }
  if (note->kind == CT_SYNC_PROXY_GLOBAL) {
    ct_global_proxy_fence(k, tick(k));
    ct_flag_tma_fence(k, note->w);
  }
  if (k->clocks != NULL) {
    ct_tensor_sync(k, note);
    ct_clock_sync(k, note);
    ct_phase_sync(k, note);
  }
}

static bool wants(const CtIn *code) {
  (void)code;
  return true; /* see wants_at */
}

static bool wants_at(CtSimtWatch *watch, uint32_t index) {
  return ((CtCheck *)(void *)watch)->plans[index].kind != CT_PLAN_NONE;
}

static CtStatus begin(CtSimtWatch *watch, CtSimtJob *job, CtErr *err) {
  return ct_check_begin((CtCheck *)(void *)watch, job, err);
}

static void end(CtSimtWatch *watch, CtSimtJob *job) {
  CtCheck *c = (CtCheck *)(void *)watch;
  (void)job;
  ct_check_blank_end(c);
  ct_finding_merge(c);
  ct_early_end(c);
  ct_check_end(c);
}

static bool again(CtSimtWatch *watch, CtSimtJob *job) {
  CtCheck *c = (CtCheck *)(void *)watch;
  (void)job;
  bool found = false;
  for (int i = 0; i < c->n_workers; i++) {
    found = found || c->workers[i].n_found > 0 || c->workers[i].no_memory;
  }
  if (found) {
    ct_check_blank_forget(c);
    ct_check_end(c);
    c->n_launches--;
  }
  return found;
}

static const CtWatchOps ops = {.wants = wants,
                               .wants_at = wants_at,
                               .handler = handler,
                               .any_order = true,
                               .one_order = true,
                               .again = again,
                               .has_prologue = true,
                               .begin = begin,
                               .end = end,
                               .begin_block = begin_block,
                               .end_block = end_block,
                               .step = step,
                               .after = after,
                               .barrier = barrier,
                               .sync = sync,
                               .fail = ct_check_fail};

CtStatus ct_check_open(CtAlloc alloc, const CtCheckOptions *options, CtCheck **out, CtErr *err) {
  CtCheck *c = ct_alloc(alloc, sizeof *c);
  if (c == NULL) {
    return ct_fail_nomem(err);
  }
  *c = (CtCheck){.watch = {&ops}, .alloc = alloc, .options = *options, .root = c};
  ct_arena_init(&c->texts, alloc);
  ct_arena_init(&c->arena, alloc);
  *out = c;
  return CT_OK;
}

void ct_check_close(CtCheck *c) {
  if (c != NULL) {
    CtAlloc alloc = c->alloc;
    ct_early_close(c);
    ct_free(alloc, c->findings, c->cap_findings * sizeof *c->findings);
    ct_free(alloc, c->explored, c->cap_explored * sizeof *c->explored);
    ct_free(alloc, c->needless, c->cap_needless * sizeof *c->needless);
    ct_arena_clear(&c->texts);
    ct_arena_clear(&c->arena);
    ct_free(alloc, c, sizeof *c);
  }
}

bool ct_check_finds_overflow(const CtCheck *c) { return c->options.overflow; }
CtSimtWatch *ct_check_watch(CtCheck *c) { return &c->watch; }
void ct_check_forget(CtCheck *c, const void *begin, size_t bytes) {
  ct_early_forget(c, begin, bytes);
}

void ct_check_filled(CtCheck *c, const void *begin, size_t bytes, uint32_t number,
                     uint64_t n_waits) {
  if (!c->options.no_global && !c->options.is_single &&
      !ct_streams_fill(c, begin, bytes, number, n_waits)) {
    c->no_memory = true;
  }
}
size_t ct_check_count(const CtCheck *c) { return c->n_findings; }
const CtFinding *ct_check_finding(const CtCheck *c, size_t i) { return &c->findings[i]; }
uint64_t ct_check_launches(const CtCheck *c) { return c->n_launches; }
bool ct_check_is_partial(const CtCheck *c) { return c->no_memory; }
