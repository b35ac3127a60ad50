/* simt_check.c: `check`, the watcher: asks of each instruction what it accesses, and hands that to what
   looks after that memory. */
#include "simt_check_clock.h"

#include <string.h>

#include "runtime/base/convert.h"

/* --- what an access writes ------------------------------------------------------------------------------ */

static uint64_t bits_at(const char *p, size_t bytes) {
  uint64_t bits = 0;
  memcpy(&bits, p, bytes); /* little-endian */
  return bits;
}

/* Lane of a slot that holds `bytes` each; of masks for bool. */
static uint64_t slot_bits(const CtWarp *w, uint32_t at, CtDtype t, int lane) {
  size_t bytes = ct_dtype_bytes(t);
  if (t == CT_bool) {
    return *CT_CAT(uint32_t, w, at) >> lane & 1;
  }
  return bits_at(CT_CAT(char, w, at) + (size_t)lane * (bytes == 8 ? 8 : 4), bytes);
}

/* What a copy moves into its element e. */
static bool copied_bits(const CtAccess *a, const CtTileOp *t, int64_t e, int lane, uint64_t *bits) {
  const CtMem *mem = &a->w->mem[t->a.buf];
  int64_t off = ct_simt_arg_offset(a->w, &t->a, lane, e, 0);
  if (!ct_simt_arg_is_inside(a->w, &t->a, lane, e, 0)) {
    *bits = 0;
    return true;
  }
  if ((uint64_t)off >= (uint64_t)mem->n) {
    return false;
  }
  const char *p = mem->ptr + off * (int64_t)mem->elem_bytes + (int64_t)lane * mem->lane_bytes;
  *bits = ct_convert(t->dst.dtype, t->a.dtype, bits_at(p, ct_dtype_bytes(t->a.dtype)));
  return true;
}

/* The bits that the access writes into element e; false: not known before. */
static bool written_bits(const CtAccess *a, int64_t e, int lane, uint64_t *bits) {
  const CtSimtProgram *p = a->w->worker->job->program;
  const CtIn *code = &p->code[a->in - a->w->worker->job->code];
  if (a->is_atomic || a->agent != CT_AGENT_NONE) {
    return false;
  }
  if (a->arg == NULL) {
    *bits = slot_bits(a->w, code->d, a->buf->dtype, lane);
    return true;
  }
  const CtTileOp *t = &p->tiles[code->imm];
  if (t->op == CT_OP_FILL) {
    *bits = slot_bits(a->w, code->d, t->dtype, lane);
    return true;
  }
  return t->op == CT_OP_COPY && !t->zero_fill && copied_bits(a, t, e, lane, bits);
}

bool ct_check_is_same(const CtAccess *a, int64_t e, int lane, int64_t off) {
  uint64_t bits;
  const char *p = a->mem->ptr + off * (int64_t)a->mem->elem_bytes;
  return written_bits(a, e, lane, &bits) && bits == bits_at(p, ct_dtype_bytes(a->buf->dtype));
}

bool ct_check_write_early(const CtAccess *a, int64_t e, int lane, int64_t off) {
  uint64_t bits;
  bool is_known = written_bits(a, e, lane, &bits);
  if (is_known) { /* little-endian, as bits_at */
    memcpy(a->mem->ptr + off * (int64_t)a->mem->elem_bytes, &bits, ct_dtype_bytes(a->buf->dtype));
  }
  return is_known;
}

/* The element that a lane writes to `off`: most likely e. */
static int64_t element_at(const CtAccess *a, int lane, int64_t off, int64_t e) {
  int64_t at;
  if (ct_access_at(a, e, lane, &at) && at == off) {
    return e;
  }
  for (e = 0; e < a->n && !(ct_access_at(a, e, lane, &at) && at == off); e++) {}
  return e;
}

bool ct_check_is_same_in(const CtAccess *a, int64_t e, int lane, int other, int64_t off) {
  uint64_t here, there;
  int64_t f = element_at(a, other, off, e);
  return f < a->n && written_bits(a, e, lane, &here) && written_bits(a, f, other, &there) &&
         here == there;
}

/* --- one event ------------------------------------------------------------------------------------------- */

/* The warp may be of another block than the memory, which has the barriers of copies. */
void ct_check_event(const CtCheckWorker *k, const CtAccess *a, CtEvent *e) {
  ct_check_event_of(ct_check_worker(a->w->worker), a->in, a->w->index, a->is_atomic, e);
  if (k->clocks != NULL && a->agent != CT_AGENT_NONE) {
    ct_clock_stamp(k, a->w->index, a, e);
  }
}

/* --- one access ------------------------------------------------------------------------------------------- */

static CtFound found_at(const CtCheckWorker *k, const CtAccess *a, int lane, CtCheckKind kind) {
  return (CtFound){.kind = kind,
                   .in = ct_check_index(k, a->in),
                   .other = UINT32_MAX,
                   .buf = a->buf_index,
                   .how = a->writes ? CT_BOUNDS_WRITE : CT_BOUNDS_READ,
                   .count = 1,
                   .block = k->k->block,
                   .thread = ct_check_thread(a->w->index, lane)};
}

static void note_outside(CtCheckWorker *k, const CtAccess *a, uint32_t lanes, int64_t off) {
  CtFound f = found_at(k, a, ct_first_lane(lanes), CT_CHECK_BOUNDS);
  f.count = (uint64_t)__builtin_popcount(lanes);
  f.off = off;
  ct_finding_note(k, &f);
}

/* Vectors that do not begin at a multiple of their size. */
static void look_at_alignment(CtCheckWorker *k, const CtAccess *a) {
  uint64_t bytes = a->vec * ct_dtype_bytes(a->buf->dtype);
  if (a->vec <= 1 || a->buf->space == CT_REGISTER) {
    return;
  }
  for (int64_t e = 0; e < a->n; e += a->vec) {
    for (uint32_t rest = a->mask; rest != 0; rest &= rest - 1) {
      int lane = ct_first_lane(rest);
      int64_t off;
      if (!ct_access_at(a, e, lane, &off)) {
        continue;
      }
      uint64_t at = (uint64_t)(off * (int64_t)a->mem->elem_bytes) +
                    (a->buf->space == CT_GLOBAL ? (uint64_t)(uintptr_t)a->mem->ptr : a->buf->at);
      if (at % bytes != 0) {
        CtFound f = found_at(k, a, lane, CT_CHECK_MISALIGNED);
        f.off = off;
        f.extra = (int64_t)bytes;
        ct_finding_note(k, &f);
      }
    }
  }
}

/* Who keeps the shadow of the memory that is accessed. */
static CtCheckWorker *home_of(CtCheckWorker *k, const CtAccess *a) {
  return a->buf->is_remote ? ct_check_worker(ct_simt_owner(a->w, a->buf_index)) : k;
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
    case CT_GLOBAL: ct_global_access(k, a); return;
    case CT_SHARED:
      if (a->buf->is_remote && k->clocks != NULL) {
        ct_clock_look_at_remote(k, a, ct_simt_owner(a->w, a->buf_index));
      }
      k = home_of(k, a);
      break;
  }
  if (a->reads) {
    ct_shadow_read(k, a, is_steady);
  }
  if (a->writes) {
    ct_shadow_write(k, a);
  }
}

/* --- one instruction ---------------------------------------------------------------------------------------- */

static uint64_t tick(CtCheckWorker *k) { return atomic_fetch_add(&k->check->clock, 1) + 1; }

static void acquire(CtCheckWorker *k, CtCheckWarp *w) { w->acq = k->block_acq = tick(k); }

/* What the warp did before `time` is released; for other blocks, what its block did. */
static void release(CtCheckWorker *k, CtCheckWarp *w, uint64_t time) {
  if (time > w->release) {
    w->release = time;
    ct_global_release(k, time);
  }
}

static void note_fence(CtCheckWorker *k, CtCheckWarp *w) {
  w->fence = tick(k);
  k->block_fence = w->fence;
  if (w->had_atomic || k->block_had_atomic) {
    w->acq = k->block_acq = w->fence;
  }
}

/* After the access is noted: it releases what came before it. */
static void note_atomic(CtCheckWorker *k, CtCheckWarp *w, CtOp op) {
  w->had_atomic = true;
  k->block_had_atomic = true;
  if (op == CT_OP_ATOMIC_LOAD) {
    acquire(k, w);
  } else {
    /* by a fence of any warp, that a barrier may have ordered before */
    release(k, w, op == CT_OP_ATOMIC_STORE ? tick(k) : k->block_fence);
  }
}

/* Lanes that did not load get 0, not what was there before. */
static void clear_result(const CtIn *code, CtWarp *w, uint32_t lanes) {
  char role = ct_simt_roles[code->u.op][0];
  bool wide = code->u.op == CT_SIMT_LOAD_8_p || code->u.op == CT_SIMT_LOAD_8_i32 ||
              code->u.op == CT_SIMT_LOAD_8_i64 || code->u.op == CT_SIMT_LOAD_8_r ||
              code->u.op == CT_SIMT_DOT_f64;
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

/* Leaves lanes out of an instruction. */
static void hold(CtCheckWorker *k, const CtIn *code, CtWarp *w, CtAccess *a, int n,
                 uint32_t lanes) {
  for (int i = 0; i < n; i++) {
    if (a[i].buf->space == CT_REGISTER) {
      ct_regs_hold(k, &a[i], lanes);
    } else if (a[i].buf->space == CT_SHARED) {
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
  int64_t element = (int64_t)ct_dtype_bytes(l->a.buf->dtype);
  l->a.n = l->a.n_rows = bytes / element;
  l->a.base = l->a.lo = off / element;
  l->a.hi = l->a.base + l->a.n - 1;
  look_at_access(l->k, &l->a, false);
}

/* What a box accesses of the tensor, row by row, in each lane. */
static void look_at_rows(CtCheckWorker *k, const CtSimtTma *t, const CtAccess *shared) {
  BoxLook l = {k, *shared};
  CtWarp *w = shared->w;
  l.a.buf_index = t->global;
  l.a.buf = &w->worker->job->program->bufs[t->global];
  l.a.mem = &w->mem[t->global];
  l.a.reads = !t->is_store || t->reduce != 0;
  l.a.writes = t->is_store;
  l.a.is_atomic = t->reduce != 0;
  l.a.pos = l.a.own_pos;
  memset(l.a.own_pos, 0, sizeof l.a.own_pos);
  for (uint32_t rest = shared->mask; rest != 0; rest &= rest - 1) {
    l.a.mask = rest & -rest;
    (void)ct_simt_tma_rows(w, t, ct_first_lane(rest), look_at_row, &l);
  }
}

/* The shared side is in the blocks of the cluster that get the box, those of the first lane's. */
static void look_at_box(CtCheckWorker *k, const CtIn *code, const CtAccess *a) {
  const CtWorker *worker = a->w->worker;
  const CtSimtProgram *p = worker->job->program;
  const CtSimtTma *t = &p->tmas[code->imm];
  uint32_t ranks = ct_simt_tma_ranks(a->w, t, ct_first_lane(a->w->mask));
  for (; ranks != 0; ranks &= ranks - 1) {
    int rank = ct_first_lane(ranks);
    if (rank < p->n_cluster) {
      look_at_access(k - worker->rank + rank, a, false);
    }
  }
  if (ct_global_is_written(k->check, t->global)) {
    look_at_rows(k, t, a);
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
  CtAccess a[CT_MAX_ACCESSES];
  int n = ct_simt_accesses(code, in, w, a);
  uint32_t held = 0;
  for (int i = 0; i < n; i++) {
    held |= !a[i].is_regular || k->n_taints > 0 ? outside(k, code, &a[i]) : 0;
  }
  if (held != 0) {
    hold(k, code, w, a, n, held);
  }
  k->warps[w->index].ordinal++;
  for (int i = 0; i < n; i++) {
    if (a[i].vec > 1) {
      look_at_alignment(k, &a[i]);
    }
    if (code->u.op == CT_SIMT_TMA) {
      look_at_box(k, code, &a[i]);
    } else {
      look_at_access(k, &a[i], plan->is_steady);
    }
  }
  if (code->u.op == CT_SIMT_ATOMIC) {
    CtAtomicImm imm = {.imm = code->imm};
    note_atomic(k, &k->warps[w->index], (CtOp)imm.u.op);
  }
  return w->mask & ~held;
}

/* All lanes that have not ended must be there. It orders those that are, nevertheless. */
static void look_at_sync(CtCheckWorker *k, const CtIn *in, const CtWarp *w) {
  uint32_t others = w->live & ~w->mask;
  CtFound f = {.kind = CT_CHECK_BARRIER,
               .in = ct_check_index(k, in),
               .other = UINT32_MAX,
               .count = 1,
               .block = k->k->block,
               .other_block = k->k->block};
  if (others != 0 && w->mask != 0) {
    f.thread = ct_check_thread(w->index, ct_first_lane(w->mask));
    f.other_thread = ct_check_thread(w->index, ct_first_lane(others));
    ct_finding_note(k, &f);
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
      return lanes;
    }
    case CT_PLAN_SYNC_WARP:
      look_at_sync(k, in, w);
      ct_shadow_sync_warp(k, w);
      break;
    case CT_PLAN_CP_FENCE: ct_async_fence(k, w); break;
    case CT_PLAN_CP_WAIT: ct_async_wait(k, w, code->imm); break;
    case CT_PLAN_FENCE: note_fence(k, &k->warps[w->index]); break;
    case CT_PLAN_WGMMA: ct_wgmma_order(k, code, w); break;
    case CT_PLAN_WRAP: ct_wrap_step(k, code, w); break;
    case CT_PLAN_FLOAT: ct_nan_before(k, code, w, w->mask); break;
    case CT_PLAN_NONE: break;
  }
  return w->mask;
}

static void after(CtSimtWatch *watch, const CtIn *code, const CtIn *in, CtWarp *w) {
  (void)watch;
  CtCheckWorker *k = ct_check_worker(w->worker);
  ct_global_has_written(k);
  if (k->nan) {
    ct_nan_after(k, code, in, w);
  }
}

/* --- blocks -------------------------------------------------------------------------------------------------- */

static void begin_block(CtSimtWatch *watch, CtWorker *worker) {
  (void)watch;
  CtCheckWorker *k = ct_check_worker(worker);
  const CtSimtProgram *p = worker->job->program;
  k->k = worker;
  k->block_acq = 0;
  k->block_fence = 0;
  k->block_had_atomic = false;
  memset(k->warps, 0, (size_t)p->n_warps * sizeof *k->warps);
  ct_shadow_begin_block(k);
  if (k->clocks != NULL) {
    ct_clock_begin_block(k);
  }
  ct_regs_begin_block(k);
  ct_wgmma_begin_block(k);
}

static void end_block(CtSimtWatch *watch, CtWorker *worker) {
  (void)watch;
  CtCheckWorker *k = ct_check_worker(worker);
  bool failed = false;
  ct_global_has_written(k);
  ct_shadow_barrier(k);
  for (int i = 0; i < worker->job->program->n_cluster; i++) {
    failed = failed || worker->team[i].fail.kind != CT_FAIL_NONE;
  }
  if (!failed) {
    ct_wgmma_end_block(k);
  }
  if (k->clocks != NULL && worker->rank == worker->job->program->n_cluster - 1 && !failed) {
    ct_clock_end_cluster(k);
  }
}

static void barrier(CtSimtWatch *watch, CtWorker *worker) {
  (void)watch;
  ct_shadow_barrier(ct_check_worker(worker));
}

static void sync(CtSimtWatch *watch, const CtSyncNote *note) {
  (void)watch;
  CtCheckWorker *k = ct_check_worker(note->w->worker);
  if (k->clocks != NULL) {
    ct_clock_sync(k, note);
  }
}

static CtCheckKind kind_of_fail(CtFailKind kind) {
  switch (kind) {
    case CT_FAIL_BOUNDS: return CT_CHECK_BOUNDS;
    case CT_FAIL_BARRIER_LANES:
    case CT_FAIL_WARP_LANES:
    case CT_FAIL_CLUSTER:
    case CT_FAIL_MBAR_NEW:
    case CT_FAIL_MBAR_ARRIVALS:
    case CT_FAIL_MBAR_BYTES:
    case CT_FAIL_MBAR_PARITY:
    case CT_FAIL_MBAR_RANK:
    case CT_FAIL_NAMED_ID:
    case CT_FAIL_NAMED_LANES:
    case CT_FAIL_NAMED_THREADS:
    case CT_FAIL_BARRIER_WARPS: return CT_CHECK_BARRIER;
    case CT_FAIL_WAITS:
    case CT_FAIL_DEADLOCK: return CT_CHECK_DEADLOCK;
    default: return CT_CHECK_FAILED;
  }
}

static bool note_fail(CtSimtWatch *watch, CtWorker *worker) {
  (void)watch;
  CtCheckWorker *k = ct_check_worker(worker);
  const CtFail *fail = &worker->fail;
  CtErr err;
  (void)ct_simt_fail_report(worker, &err);
  CtFound f = {.kind = kind_of_fail(fail->kind),
               .in = ct_check_index(k, fail->in),
               .other = fail->other == NULL ? UINT32_MAX : ct_check_index(k, fail->other),
               .buf = fail->buf,
               .count = 1,
               .block = worker->block,
               .thread = ct_check_thread(fail->warp->index, fail->lane)};
  f.text = ct_arena_strdup(&k->texts, err.msg, strlen(err.msg));
  k->no_memory = k->no_memory || f.text == NULL;
  if (f.text != NULL) {
    ct_finding_note(k, &f);
  }
  return f.text != NULL;
}

/* --- launches -------------------------------------------------------------------------------------------------- */

static bool is_tile(uint32_t op) { return op >= CT_SIMT_COPY_4 && op != CT_SIMT_GUARD; }

static bool is_memory(uint32_t op) {
  return is_tile(op) || ct_simt_roles[op][3] == 'b' || op == CT_SIMT_ATOMIC || op == CT_SIMT_TMA ||
         op == CT_SIMT_DOT_f32 || op == CT_SIMT_DOT_f64;
}

static CtPlanKind plan_of(uint32_t op) {
  switch (op) {
    case CT_SIMT_SYNC_WARP: return CT_PLAN_SYNC_WARP;
    case CT_SIMT_CP_FENCE: return CT_PLAN_CP_FENCE;
    case CT_SIMT_CP_WAIT: return CT_PLAN_CP_WAIT;
    case CT_SIMT_FENCE: return CT_PLAN_FENCE;
    case CT_SIMT_WGMMA_FENCE:
    case CT_SIMT_WGMMA_COMMIT:
    case CT_SIMT_WGMMA_WAIT: return CT_PLAN_WGMMA;
    default: return is_memory(op) ? CT_PLAN_MEMORY : CT_PLAN_NONE;
  }
}

static bool wants(const CtIn *code) {
  (void)code;
  return true; /* see wants_at */
}

static bool wants_at(CtSimtWatch *watch, uint32_t index) {
  return ((CtCheck *)(void *)watch)->plans[index].kind != CT_PLAN_NONE;
}

/* Do the tables of a tile operation stay what the prologue made them? */
static bool is_steady(const CtSimtProgram *p, const bool *is_late, const CtIn *in) {
  if (!is_tile(in->u.op)) {
    return true;
  }
  const CtTileOp *t = &p->tiles[in->imm];
  const CtTileArg *args[] = {&t->dst, &t->a, &t->b};
  for (size_t i = 0; i < CT_ARRAY_LEN(args); i++) {
    if (args[i]->buf != 0 && (is_late[args[i]->mode[0]] || is_late[args[i]->mode[1]])) {
      return false;
    }
  }
  return true;
}

/* After the global part knows what is written. */
static void plan_bounds(CtCheck *c) {
  const CtSimtProgram *p = c->job->program;
  for (uint32_t i = p->body; i < p->n_code; i++) {
    const char *roles = ct_simt_roles[p->code[i].u.op];
    uint32_t buf = p->code[i].c & ~(1u << 31);
    c->plans[i].is_bounds = c->plans[i].kind == CT_PLAN_MEMORY && roles[0] < 'a' &&
                            roles[2] == 'p' && roles[3] == 'b' && p->bufs[buf].space == CT_GLOBAL &&
                            !ct_global_is_written(c, buf);
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
    c->plans[i].kind = (uint8_t)plan_of(p->code[i].u.op);
    c->plans[i].is_steady = is_steady(p, is_late, &p->code[i]);
    if (p->code[i].u.op == CT_SIMT_DOT_f32 || p->code[i].u.op == CT_SIMT_DOT_f64) {
      i += 2; /* its loads are data */
    }
  }
  return true;
}

/* Places in the shadows. */
static bool place_buffers(CtCheck *c) {
  const CtSimtProgram *p = c->job->program;
  uint32_t n_rows = 0;
  c->first_row = ct_arena_alloc(&c->arena, p->n_bufs * sizeof *c->first_row);
  c->granule = 8;
  for (uint32_t b = 1; c->first_row != NULL && b < p->n_bufs; b++) {
    if (p->bufs[b].space == CT_SHARED) {
      uint32_t bytes = (uint32_t)ct_dtype_bytes(p->bufs[b].dtype);
      c->granule = bytes < c->granule ? bytes : c->granule;
    } else if (p->bufs[b].space == CT_REGISTER) {
      c->first_row[b] = n_rows;
      n_rows += (uint32_t)p->bufs[b].n;
    }
  }
  c->n_rows = n_rows;
  c->granule_bits = __builtin_ctz(c->granule);
  c->n_granules = p->shared_bytes / c->granule + 1;
  return c->first_row != NULL;
}

static bool make_worker(CtCheck *c, CtCheckWorker *k) {
  const CtSimtProgram *p = c->job->program;
  size_t n_warps = (size_t)p->n_warps;
  k->check = c;
  k->code = p->code;
  k->plans = c->plans;
  k->nan = c->options.nan;
  k->granule_bits = c->granule_bits;
  k->next_event = 1;
  ct_arena_init(&k->texts, c->alloc);
  k->warps = ct_arena_alloc(&c->arena, n_warps * sizeof *k->warps);
  k->shadow = ct_arena_alloc(&c->arena, c->n_granules * sizeof *k->shadow);
  k->written = ct_arena_alloc(&c->arena, p->n_bufs * sizeof *k->written);
  k->known = ct_arena_alloc(&c->arena, CT_N_KNOWN * sizeof *k->known);
  k->rows = ct_arena_alloc(&c->arena, (n_warps * c->n_rows + 1) * sizeof *k->rows);
  k->full = ct_arena_alloc(&c->arena, n_warps * p->n_bufs * sizeof *k->full);
  const CtWorker *worker = &c->job->workers[k - c->workers];
  if (c->has_clocks) {
    k->clocks = worker->rank == 0 ? ct_clock_open(c) : k[-worker->rank].clocks;
    k->readers = ct_clock_readers(c);
  }
  bool has_clocks = !c->has_clocks || (k->clocks != NULL && k->readers != NULL);
  k->wgmma = p->has_wgmma ? ct_wgmma_open(c) : NULL;
  return has_clocks && (k->wgmma != NULL || !p->has_wgmma) && k->warps != NULL &&
         k->shadow != NULL && k->written != NULL && k->known != NULL && k->rows != NULL &&
         k->full != NULL;
}

static void close_worker(CtCheck *c, CtCheckWorker *k) {
  ct_free(c->alloc, k->events, k->cap_events * sizeof *k->events);
  ct_free(c->alloc, k->reads, k->cap_reads * sizeof *k->reads);
  ct_free(c->alloc, k->unset, k->cap_unset * sizeof *k->unset);
  ct_free(c->alloc, k->own_pos, k->cap_own_pos * sizeof *k->own_pos);
  ct_free(c->alloc, k->pending, k->cap_pending * sizeof *k->pending);
  ct_free(c->alloc, k->taints, k->cap_taints * sizeof *k->taints);
  ct_free(c->alloc, k->found, k->cap_found * sizeof *k->found);
  ct_arena_clear(&k->texts);
}

static void close_launch(CtCheck *c) {
  ct_global_end(c);
  for (int i = 0; i < c->n_workers; i++) {
    close_worker(c, &c->workers[i]);
  }
  c->n_workers = 0;
  c->job = NULL;
  ct_arena_clear(&c->arena);
}

static CtStatus begin(CtSimtWatch *watch, CtSimtJob *job, CtErr *err) {
  CtCheck *c = (CtCheck *)(void *)watch;
  c->job = job;
  c->n_launches++;
  atomic_store(&c->clock, 1);
  c->workers = ct_arena_alloc(&c->arena, (size_t)job->n_workers * sizeof *c->workers);
  c->has_clocks = ct_clock_is_wanted(job->program);
  bool ok = c->workers != NULL && make_plans(c) && place_buffers(c);
  for (int i = 0; ok && i < job->n_workers; i++) {
    c->n_workers = i + 1;
    ok = make_worker(c, &c->workers[i]);
    c->workers[i].k = &job->workers[i];
    c->workers[i].bound = job->code;
    c->workers[i].handlers = job->handlers;
    job->workers[i].watched = &c->workers[i];
  }
  CtStatus status = ok ? ct_global_begin(c, err) : ct_fail_nomem(err);
  if (status == CT_OK) {
    plan_bounds(c);
    ct_wrap_plan(c);
    ct_nan_plan(c);
  } else {
    close_launch(c);
  }
  return status;
}

static void end(CtSimtWatch *watch, CtSimtJob *job) {
  CtCheck *c = (CtCheck *)(void *)watch;
  (void)job;
  ct_finding_merge(c);
  close_launch(c);
}

static const CtWatchOps ops = {.wants = wants,
                               .wants_at = wants_at,
                               .handler = handler,
                               .any_order = true,
                               .has_prologue = true,
                               .begin = begin,
                               .end = end,
                               .begin_block = begin_block,
                               .end_block = end_block,
                               .step = step,
                               .after = after,
                               .barrier = barrier,
                               .sync = sync,
                               .fail = note_fail};

CtStatus ct_check_open(CtAlloc alloc, const CtCheckOptions *options, CtCheck **out, CtErr *err) {
  CtCheck *c = ct_alloc(alloc, sizeof *c);
  if (c == NULL) {
    return ct_fail_nomem(err);
  }
  *c = (CtCheck){.watch = {&ops}, .alloc = alloc, .options = *options};
  ct_arena_init(&c->texts, alloc);
  ct_arena_init(&c->arena, alloc);
  *out = c;
  return CT_OK;
}

void ct_check_close(CtCheck *c) {
  if (c != NULL) {
    CtAlloc alloc = c->alloc;
    ct_free(alloc, c->findings, c->cap_findings * sizeof *c->findings);
    ct_arena_clear(&c->texts);
    ct_arena_clear(&c->arena);
    ct_free(alloc, c, sizeof *c);
  }
}

CtSimtWatch *ct_check_watch(CtCheck *c) { return &c->watch; }
size_t ct_check_count(const CtCheck *c) { return c->n_findings; }
const CtFinding *ct_check_finding(const CtCheck *c, size_t i) { return &c->findings[i]; }
uint64_t ct_check_launches(const CtCheck *c) { return c->n_launches; }
bool ct_check_is_partial(const CtCheck *c) { return c->no_memory; }
