/* needless.c: what a launch does not need: see needless.h. A launch without a place runs a copy of its program, in which
   the instructions of the place jump to the next one, or are relaxed. */
#include "needless.h"

#include <string.h>

#include "check_state.h"
#include "runtime/simt/run/simt_kept.h"

/* --- what orders ------------------------------------------------------------------------------------------- */

typedef enum What {
  NOTHING,
  SYNC_THREADS,
  SYNC_WARP,
  CP_ASYNC_WAIT,
  FENCE,
  RELEASE,
  ACQUIRE,
  WGMMA_FENCE,
  WGMMA_WAIT,
  FENCE_PROXY,
  STORE_WAIT,
  MBARRIER_WAIT,
  NAMED_SYNC,
  NAMED_ARRIVE,
  CLUSTER,
  SYNC_GRID,
  N_WHATS
} What;

static const char *const names[N_WHATS] = {[SYNC_THREADS] = "sync_threads()",
                                           [SYNC_WARP] = "sync_warp()",
                                           [CP_ASYNC_WAIT] = "cp_async_wait()",
                                           [FENCE] = "fence()",
                                           [RELEASE] = "the release of an atomic operation",
                                           [ACQUIRE] = "the acquire of an atomic operation",
                                           [WGMMA_FENCE] = "wgmma_fence()",
                                           [WGMMA_WAIT] = "wgmma_wait()",
                                           [FENCE_PROXY] = "fence_proxy_async()",
                                           [STORE_WAIT] = "tma_store_wait()",
                                           [MBARRIER_WAIT] = "the wait for an mbarrier",
                                           [NAMED_SYNC] = "sync() of a named barrier",
                                           [NAMED_ARRIVE] = "arrive() of a named barrier",
                                           [CLUSTER] = "the barrier of the cluster",
                                           [SYNC_GRID] = "sync_grid()"};

/* Instructions that may be places; what_of says more of some. */
static const uint8_t of_op[CT_SIMT_OP_COUNT] = {[CT_SIMT_BARRIER] = SYNC_THREADS,
                                                [CT_SIMT_SYNC_WARP] = SYNC_WARP,
                                                [CT_SIMT_SYNC_LANES] = SYNC_WARP,
                                                [CT_SIMT_CP_WAIT] = CP_ASYNC_WAIT,
                                                [CT_SIMT_FENCE] = FENCE,
                                                [CT_SIMT_ATOMIC] = ACQUIRE,
                                                [CT_SIMT_WGMMA_FENCE] = WGMMA_FENCE,
                                                [CT_SIMT_WGMMA_WAIT] = WGMMA_WAIT,
                                                [CT_SIMT_TMA_ORDER] = FENCE_PROXY,
                                                [CT_SIMT_MBAR] = MBARRIER_WAIT,
                                                [CT_SIMT_NAMED] = NAMED_SYNC,
                                                [CT_SIMT_CLUSTER_ARRIVE] = CLUSTER,
                                                [CT_SIMT_CLUSTER_WAIT] = CLUSTER,
                                                [CT_SIMT_GRID_BARRIER] = SYNC_GRID};

static bool is_same_line(const CtSimtProgram *p, uint32_t i, uint32_t k) {
  return p->locs[i].chunk == p->locs[k].chunk && p->locs[i].line == p->locs[k].line;
}

/* An atomic operation that releases has a fence before it, one that acquires a fence after it. */
static What of_fence(const CtSimtProgram *p, uint32_t i) {
  for (uint32_t k = i + 1; k < p->n_code && is_same_line(p, i, k); k++) {
    if (p->code[k].u.op == CT_SIMT_ATOMIC) {
      return RELEASE;
    }
  }
  for (uint32_t k = i; k-- > p->body && is_same_line(p, i, k);) {
    if (p->code[k].u.op == CT_SIMT_ATOMIC) {
      return ACQUIRE;
    }
  }
  return FENCE;
}

static What of_atomic(const CtIn *code) {
  const CtAtomicImm imm = {.imm = code->imm};
  bool orders = (imm.u.order & CT_ORDER_RELAXED) == 0;
  return orders && imm.u.op == CT_OP_ATOMIC_STORE  ? RELEASE
         : orders && imm.u.op == CT_OP_ATOMIC_LOAD ? ACQUIRE
                                                   : NOTHING;
}

static What of_agent(const CtIn *code) {
  CtSyncKind kind = (CtSyncKind)(code->imm & 0xFF);
  return kind == CT_SYNC_COMMIT ? NOTHING : kind == CT_SYNC_WAIT ? STORE_WAIT : FENCE_PROXY;
}

static bool has(const CtSimtProgram *p, CtSimtOp op) {
  bool found = false;
  for (uint32_t i = p->body; i < p->n_code && !found; i++) {
    found = p->code[i].u.op == (uint32_t)op;
  }
  return found;
}

/* Waits that nobody wrote (pass_async.c) are no places. They have the line of what comes after them, and where they
   are, nothing is committed. */
static What of_copy_wait(const CtSimtProgram *p, uint32_t i) {
  return has(p, CT_SIMT_CP_FENCE) || !is_same_line(p, i, i + 1) ? CP_ASYNC_WAIT : NOTHING;
}

static What what_of(const CtSimtProgram *p, uint32_t i) {
  const CtIn *code = &p->code[i];
  const CtMbarImm bar = {.imm = code->imm};
  switch (code->u.op) {
    case CT_SIMT_BARRIER: return code[1].u.op == CT_SIMT_TALLIED ? NOTHING : SYNC_THREADS;
    case CT_SIMT_CP_WAIT: return of_copy_wait(p, i);
    case CT_SIMT_FENCE: return of_fence(p, i);
    case CT_SIMT_ATOMIC: return of_atomic(code);
    case CT_SIMT_TMA_ORDER: return of_agent(code);
    case CT_SIMT_MBAR: return bar.u.op == CT_OP_MBAR_WAIT ? MBARRIER_WAIT : NOTHING;
    case CT_SIMT_NAMED: return (code->imm & 1) != 0 ? NAMED_ARRIVE : NAMED_SYNC;
    default: return (What)of_op[code->u.op];
  }
}

/* The instruction without what it orders. */
static CtIn without(CtIn in) {
  if (in.u.op == CT_SIMT_ATOMIC) {
    CtAtomicImm imm = {.imm = in.imm};
    imm.u.order |= CT_ORDER_RELAXED;
    in.imm = imm.imm;
    return in;
  }
  return (CtIn){.u.op = CT_SIMT_JUMP, .c = 1};
}

/* --- what runs --------------------------------------------------------------------------------------------- */

/* A watcher that notes which places a launch runs. */
typedef struct Probe {
  CtSimtWatch watch; /* first */
  _Atomic bool *ran; /* by instruction */
} Probe;

static bool wants(const CtIn *code) { return of_op[code->u.op] != NOTHING; }

static CtStatus begin(CtSimtWatch *watch, CtSimtJob *job, CtErr *err) {
  (void)watch;
  (void)job;
  (void)err;
  return CT_OK;
}

static uint32_t step(CtSimtWatch *watch, const CtIn *code, const CtIn *in, CtWarp *w) {
  const Probe *probe = (const Probe *)(const void *)watch;
  (void)in;
  if (w->mask != 0) {
    atomic_store_explicit(&probe->ran[code - w->worker->job->program->code], true,
                          memory_order_relaxed);
  }
  return w->mask;
}

static const CtWatchOps probe_ops = {
    .wants = wants, .any_order = true, .begin = begin, .step = step};

/* --- a launch ---------------------------------------------------------------------------------------------- */

/* A launch, or those of ranks that run at once. */
typedef struct Trial {
  CtCheck *c;
  CtSimtEngine *engine;
  size_t n;
  CtArena arena;              /* of what follows */
  const CtSimtEntry *entries; /* as they are */
  CtSimtEntry *changed;       /* those that run, with programs, code and launches of their own */
  CtSimtProgram *programs;
  CtSimtLaunch *launches;
  Probe *probes;
  CtSimtKept before, after; /* memory before and after the launch as it is */
} Trial;

static CtStatus copy_entries(Trial *t, CtErr *err) {
  t->changed = ct_arena_alloc(&t->arena, t->n * sizeof *t->changed);
  t->programs = ct_arena_alloc(&t->arena, t->n * sizeof *t->programs);
  t->launches = ct_arena_alloc(&t->arena, t->n * sizeof *t->launches);
  t->probes = ct_arena_alloc(&t->arena, t->n * sizeof *t->probes);
  bool ok = t->changed != NULL && t->programs != NULL && t->launches != NULL && t->probes != NULL;
  for (size_t i = 0; i < t->n && ok; i++) {
    const CtSimtProgram *p = t->entries[i].program;
    t->programs[i] = *p;
    t->programs[i].code = ct_arena_alloc(&t->arena, p->n_code * sizeof *p->code);
    t->launches[i] = *t->entries[i].launch;
    t->launches[i].print = NULL;
    t->launches[i].watch = &t->probes[i].watch;
    t->changed[i] = (CtSimtEntry){&t->programs[i], &t->launches[i], t->entries[i].rank};
    t->probes[i].watch.ops = &probe_ops;
    t->probes[i].ran = ct_arena_alloc(&t->arena, p->n_code * sizeof *t->probes[i].ran);
    ok = t->programs[i].code != NULL && t->probes[i].ran != NULL;
    if (ok) {
      memcpy(t->programs[i].code, p->code, p->n_code * sizeof *p->code);
    }
  }
  return ok ? CT_OK : ct_fail_nomem(err);
}

/* Is the instruction one of the place's? */
static bool is_at(const CtSimtProgram *p, uint32_t i, const CtNeedless *place) {
  return p->locs[i].line == place->line && names[what_of(p, i)] == place->what &&
         strcmp(p->chunks[p->locs[i].chunk], place->chunk) == 0;
}

/* Takes the place out of the programs, or puts it back. True: it ran. */
static bool take_out(Trial *t, const CtNeedless *place, bool out) {
  bool ran = false;
  for (size_t e = 0; e < t->n; e++) {
    const CtSimtProgram *p = t->entries[e].program;
    for (uint32_t i = p->body; i < p->n_code; i++) {
      if (is_at(p, i, place)) {
        t->programs[e].code[i] = out ? without(p->code[i]) : p->code[i];
        ran = ran || atomic_load(&t->probes[e].ran[i]);
      }
      i += (uint32_t)ct_in_size(&p->code[i]) - 1;
    }
  }
  return ran;
}

/* Did the check find something that the launch as it is does not show? */
static bool is_worse(const Trial *t, const CtCheck *trial) {
  bool found = ct_check_is_partial(trial) || ct_simt_first_change(&t->after) != NULL;
  for (size_t i = 0; i < ct_check_count(trial) && !found; i++) {
    found = ct_finding_is_new(t->c, ct_check_finding(trial, i));
  }
  return found;
}

/* Runs the changed launch. */
static CtStatus try_it(Trial *t, bool *is_needed, CtErr *err) {
  CtCheckOptions options = t->c->options;
  CtCheck *trial;
  CtErr why; /* what fails is a finding */
  options.is_single = true;
  options.blanks = NULL;
  CtStatus status = ct_check_open(t->c->alloc, &options, &trial, err);
  if (status != CT_OK) {
    return status;
  }
  trial->orders = t->c->orders;
  trial->orders.has_schedule = false;
  ct_simt_put_back(&t->before);
  status = ct_explore(trial, t->engine, t->changed, t->n, &why);
  *is_needed = status != CT_OK || is_worse(t, trial);
  ct_check_close(trial);
  bool stops = status == CT_ENOMEM || status == CT_EINTERRUPTED;
  if (stops && err != NULL) {
    *err = why;
  }
  return stops ? status : CT_OK;
}

/* --- places ------------------------------------------------------------------------------------------------ */

/* Adds the place of an instruction to the places of all launches, unless it is there. */
static CtStatus add_place(CtCheck *c, const CtSimtProgram *p, uint32_t i, CtErr *err) {
  for (size_t k = 0; k < c->n_needless; k++) {
    if (is_at(p, i, &c->needless[k])) {
      c->needless[k].has_atomics = c->needless[k].has_atomics || has(p, CT_SIMT_ATOMIC);
      return CT_OK;
    }
  }
  const char *chunk = p->chunks[p->locs[i].chunk];
  CtNeedless place = {.chunk = ct_arena_strdup(&c->texts, chunk, strlen(chunk)),
                      .line = p->locs[i].line,
                      .what = names[what_of(p, i)],
                      .has_atomics = has(p, CT_SIMT_ATOMIC)};
  if (place.chunk == NULL) {
    return ct_fail_nomem(err);
  }
  CtStatus status = ct_grow(c->alloc, &c->needless, &c->cap_needless, c->n_needless + 1,
                            sizeof *c->needless, err);
  if (status == CT_OK) {
    c->needless[c->n_needless++] = place;
  }
  return status;
}

/* Runs the launch as it is and adds the places that it runs. */
static CtStatus find_places(Trial *t, CtErr *err) {
  ct_simt_put_back(&t->before);
  CtStatus status = ct_simt_run_planned(t->engine, t->changed, t->n, NULL, err);
  for (size_t e = 0; e < t->n && status == CT_OK; e++) {
    const CtSimtProgram *p = t->entries[e].program;
    for (uint32_t i = p->body; i < p->n_code && status == CT_OK; i++) {
      bool is_place = atomic_load(&t->probes[e].ran[i]) && what_of(p, i) != NOTHING;
      status = is_place ? add_place(t->c, p, i, err) : CT_OK;
      i += (uint32_t)ct_in_size(&p->code[i]) - 1;
    }
  }
  return status;
}

static CtStatus judge_places(Trial *t, CtErr *err) {
  CtStatus status = CT_OK;
  for (size_t i = 0; i < t->c->n_needless && status == CT_OK; i++) {
    CtNeedless *place = &t->c->needless[i];
    if (place->is_needed) {
      continue;
    }
    if (take_out(t, place, true)) {
      bool is_needed = false;
      status = try_it(t, &is_needed, err);
      place->n_launches += status == CT_OK;
      place->is_needed = status == CT_OK && is_needed;
    }
    (void)take_out(t, place, false);
  }
  return status;
}

/* Judges the launch, which has run. */
static CtStatus judge(Trial *t, CtErr *err) {
  CtStatus status = ct_simt_keep(t->c->alloc, t->entries, t->n, &t->after, err);
  if (status != CT_OK) {
    return status;
  }
  status = copy_entries(t, err);
  status = status == CT_OK ? find_places(t, err) : status;
  status = status == CT_OK ? judge_places(t, err) : status;
  ct_simt_put_back(&t->after);
  t->c->n_judged += status == CT_OK;
  return status;
}

/* Does the launch begin after all before it have ended, and end before what comes after it? Only then it says all
   there is to say. */
static bool is_alone(const CtSimtEntry *entries, size_t n) {
  const CtSimtLaunch *l = entries[0].launch;
  return n == 1 && !l->is_dependent && l->known == NULL &&
         !has(entries[0].program, CT_SIMT_GRID_LAUNCH);
}

/* --- for users ---------------------------------------------------------------------------------------------- */

CtStatus ct_needless_run(CtCheck *c, CtSimtEngine *engine, const CtSimtEntry *entries, size_t n,
                         CtErr *err) {
  if (!c->tries_without || !is_alone(entries, n)) {
    return ct_explore(c, engine, entries, n, err);
  }
  Trial t = {.c = c,
             .engine = engine,
             .n = n,
             .entries = entries,
             .before = {.alloc = c->alloc},
             .after = {.alloc = c->alloc}};
  ct_arena_init(&t.arena, c->alloc);
  uint64_t n_before = ct_finding_total(c);
  CtStatus status = ct_simt_keep(c->alloc, entries, n, &t.before, err);
  status = status == CT_OK ? ct_explore(c, engine, entries, n, err) : status;
  if (status == CT_OK && ct_finding_total(c) == n_before) {
    status = judge(&t, err);
  }
  ct_simt_drop(&t.before);
  ct_simt_drop(&t.after);
  ct_arena_clear(&t.arena);
  return status;
}

void ct_needless_ask(CtCheck *c) { c->tries_without = true; }
size_t ct_needless_count(const CtCheck *c) { return c->n_needless; }
const CtNeedless *ct_needless(const CtCheck *c, size_t i) { return &c->needless[i]; }
uint64_t ct_needless_judged(const CtCheck *c) { return c->n_judged; }
