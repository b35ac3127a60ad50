/* simt_team.c: what one thread of the CPU engine does in a launch. It takes clusters as long as
   there are any and runs their blocks. In a block, each warp in turn runs to the next barrier. */
#include <sched.h>
#include <string.h>

#include "simt_plan.h"
#include "simt_team.h"
#include "runtime/base/bits.h"

enum { UNSET_BYTE = 0xFF };

/* --- one block ------------------------------------------------------------------------------------ */

static uint32_t lanes_of(const CtSimtProgram *p, int32_t warp) {
  int32_t n = p->n_threads - warp * CT_LANES;
  return n >= CT_LANES ? CT_ALL_LANES : (1u << n) - 1;
}

static void set_axes(CtWarp *w, const uint32_t at[3], const int64_t v[3]) {
  for (int i = 0; i < 3; i++) {
    if (at[i] != 0) { /* the kernel uses it */
      CT_AT(CtScalar, w, at[i])->i = v[i];
    }
  }
}

static void start_warp(CtWorker *k, CtWarp *w) {
  const CtSimtProgram *p = k->job->program;
  w->mask = w->live = lanes_of(p, w->index);
  w->is_waiting = false;
  w->has_arrived = false;
  w->n_arrived = 0;
  w->n_tallies = 0;
  w->spin_at = w->parked = w->at = NULL;
  w->has_turn = w->gave_way = w->tries = w->is_same = false;
  w->registers = p->first_registers;
  w->n_groups = 0;
  w->pc = k->job->code + p->body - 1; /* warps go on after pc */
  set_axes(w, p->bid_at, k->bid);
  memset(CT_AT(char, w, p->vars_at), 0, p->vars_end - p->vars_at);
  memset(CT_AT(char, w, p->regs_at), UNSET_BYTE, p->regs_end - p->regs_at);
}

/* The first warp that waits; NULL: all have ended, or two wait at different places. */
static CtWarp *first_waiting(CtWorker *k) {
  CtWarp *first = NULL;
  for (int32_t i = 0; i < k->job->program->n_warps; i++) {
    CtWarp *w = ct_simt_warp_at(k, i);
    if (w->pc == NULL) {
      continue;
    }
    if (first != NULL && first->pc != w->pc) {
      k->fail = (CtFail){.kind = CT_FAIL_BARRIER_WARPS,
                         .in = first->pc,
                         .other = w->pc,
                         .warp = first,
                         .other_warp = w,
                         .lane = ct_first_lane(first->mask)};
      return NULL;
    }
    first = first == NULL ? w : first;
  }
  return first;
}

bool ct_simt_meet(CtWorker *k) {
  CtWarp *first = first_waiting(k);
  CtSimtWatch *watch = k->job->watch;
  if (first == NULL) {
    return false;
  }
  if (ct_simt_stopping(first)) {
    k->fail = (CtFail){.kind = CT_FAIL_STOPPED, .in = first->pc, .warp = first};
    return false;
  }
  if (!ct_simt_pass_grid(first)) {
    return false;
  }
  for (int32_t i = 0; i < k->job->program->n_warps; i++) {
    ct_simt_warp_at(k, i)->is_waiting = ct_simt_warp_at(k, i)->is_same = false;
  }
  if (watch != NULL && watch->ops->barrier != NULL) {
    watch->ops->barrier(watch, k);
  }
  return true;
}

/* Gives the workers of a team the blocks of a cluster, of which `first` is the one of rank 0. */
static void set_blocks(CtWorker *team, const int64_t first[3]) {
  const int64_t *grid = team->job->launch->grid, *cluster = team->job->program->cluster;
  for (int rank = 0; rank < ct_simt_team_size(team); rank++) {
    CtWorker *k = &team[rank];
    k->bid[0] = first[0] + rank % cluster[0];
    k->bid[1] = first[1] + rank / cluster[0] % cluster[1];
    k->bid[2] = first[2] + rank / (cluster[0] * cluster[1]);
    k->block = (k->bid[2] * grid[1] + k->bid[1]) * grid[0] + k->bid[0];
  }
}

static bool is_looping(const CtWarp *w) {
  return w->pc != NULL && !w->is_waiting && w->parked == NULL;
}

/* Runs a warp until it stops; did it come to a wait, past one, or to its end? */
static bool has_moved(CtWarp *w) {
  const CtIn *parked = w->parked;
  uint32_t n_passed = w->n_passed;
  ct_simt_run_warp(w, w->pc + 1);
  return parked == NULL ? !is_looping(w) : w->n_passed != n_passed;
}

/* Runs each warp of a block until it stops. Warps in loops that wait, and warps at mbarriers, go
   on in the next round: *loops and *parked say whether there are any. False: something failed. */
static bool run_warps(CtWorker *k, bool *loops, bool *parked) {
  *loops = *parked = k->has_moved = false;
  if (k->prologue_fail.kind != CT_FAIL_NONE) {
    k->fail = k->prologue_fail;
    return false;
  }
  for (int32_t i = 0; i < k->job->program->n_warps; i++) {
    CtWarp *w = ct_simt_warp_at(k, i);
    if (w->pc != NULL && !w->is_waiting) {
      k->has_moved = has_moved(w) || k->has_moved;
    }
    if (k->fail.kind != CT_FAIL_NONE) {
      return false;
    }
    *loops = *loops || is_looping(w);
    *parked = *parked || w->parked != NULL;
  }
  return true;
}

/* The first that does not merely wait for the rest of its cluster fails, if there is one. */
void ct_simt_fail_waits(CtWorker *team) {
  const CtSimtProgram *p = team->job->program;
  CtWarp *found = NULL;
  bool is_cause = false;
  for (int32_t i = 0; i < p->n_cluster * p->n_warps && !is_cause; i++) {
    CtWarp *w = ct_simt_warp_at(&team[i / p->n_warps], i % p->n_warps);
    if (w->parked != NULL) {
      is_cause = p->code[w->parked - team->job->code].u.op != CT_SIMT_CLUSTER_WAIT;
      found = found == NULL || is_cause ? w : found;
    }
  }
  if (found != NULL) {
    found->worker->fail = (CtFail){.kind = CT_FAIL_WAITS,
                                   .in = found->parked,
                                   .warp = found,
                                   .lane = ct_first_lane(found->mask)};
  }
}

/* One round: runs each block of a team, and lets it pass its barrier if all its warps are there.
   False: all blocks have ended, or one failed. */
static bool take_turns(CtWorker *team) {
  uint64_t changes = atomic_load(&team->job->group->n_changes);
  bool any_loops = false, goes_on = false, any_parked = false, any_moved = false, at_grid = false;
  for (int i = 0; i < ct_simt_team_size(team); i++) {
    bool loops, parked;
    if (!run_warps(&team[i], &loops, &parked)) {
      return false;
    }
    bool met = !loops && !parked && ct_simt_meet(&team[i]);
    any_loops = any_loops || loops;
    any_parked = any_parked || parked;
    any_moved = any_moved || team[i].has_moved;
    goes_on = goes_on || loops || met;
    at_grid = at_grid || team[i].is_at_grid;
    if (team[i].fail.kind != CT_FAIL_NONE) {
      return false;
    }
  }
  if (any_parked && !goes_on && !any_moved) {
    ct_simt_fail_waits(team);
  } else if ((any_loops || at_grid) && !ct_simt_is_stuck(team, changes) && team->was_stuck) {
    sched_yield(); /* lets other blocks run */
  }
  goes_on = goes_on || at_grid || (any_parked && any_moved);
  for (int i = 0; i < ct_simt_team_size(team); i++) {
    goes_on = goes_on && team[i].fail.kind == CT_FAIL_NONE;
  }
  return goes_on;
}

static void begin_block(CtWorker *k) {
  const CtSimtProgram *p = k->job->program;
  CtSimtWatch *watch = k->job->watch;
  k->was_stuck = k->is_at_grid = k->has_seen_end = false;
  memset(k->shared, UNSET_BYTE, p->block_bytes);
  k->free_registers = 0;
  memset(k->tallies, 0, sizeof k->tallies);
  if (p->has_named) {
    memset(k->named, 0, sizeof k->named);
  }
  for (int32_t i = 0; i < p->n_warps; i++) {
    start_warp(k, ct_simt_warp_at(k, i));
  }
  if (watch != NULL && watch->ops->begin_block != NULL) {
    watch->ops->begin_block(watch, k);
  }
}

static void begin_blocks(CtWorker *team) {
  for (int i = 0; i < ct_simt_team_size(team); i++) {
    begin_block(&team[i]);
  }
}

static void end_blocks(CtWorker *team) {
  CtSimtWatch *watch = team->job->watch;
  bool tells = watch != NULL && watch->ops->end_block != NULL;
  for (int i = 0; tells && i < ct_simt_team_size(team); i++) {
    watch->ops->end_block(watch, &team[i]);
  }
}

/* Has the watcher noted the failure, so that the launch goes on? */
static bool is_noted(CtWorker *k) {
  CtSimtWatch *watch = k->job->watch;
  bool asks = watch != NULL && watch->ops->fail != NULL && k->fail.kind != CT_FAIL_STOPPED;
  if (!asks || !watch->ops->fail(watch, k)) {
    return false;
  }
  k->fail.kind = CT_FAIL_NONE;
  return true;
}

/* --- one worker ------------------------------------------------------------------------------------ */

/* A number of the launch as scalar slots hold it. */
static CtScalar scalar_of(CtDtype t, const CtSlotValue *v) {
  CtScalar s = {0};
  if (t == CT_f64) {
    s.f64 = v->f64;
  } else if (ct_is_float(t) && !ct_is_bits(t)) {
    s.f32 = ct_f32_of_bits((uint32_t)v->i);
  } else if (t == CT_bool || ct_dtypes[t].bits == 64) {
    s.i = t == CT_bool ? v->i != 0 : v->i;
  } else {
    s.i = ct_dtypes[t].bits == 32 ? (int32_t)v->i : v->i & ((1 << ct_dtypes[t].bits) - 1);
  }
  return s;
}

static void set_scalars(const CtSimtJob *job, CtWarp *w) {
  const CtSimtProgram *p = job->program;
  memcpy(CT_AT(char, w, p->consts_at), p->consts, p->n_consts * sizeof *p->consts);
  set_axes(w, p->gdim_at, job->launch->grid);
  for (uint32_t i = 0; i < p->n_params; i++) {
    const CtSlotValue *v = &job->launch->slots[p->params[i].slot];
    *CT_AT(CtScalar, w, p->params[i].at) = scalar_of(p->params[i].dtype, v);
  }
}

/* Of the threads from `first` on: number i of a block has the index i / stride % n. */
static void set_indices(int32_t *lanes, int64_t first, int64_t stride, int64_t n) {
  int64_t index = first / stride % n, left = stride - first % stride;
  for (int lane = 0; lane < CT_LANES; lane++) {
    lanes[lane] = (int32_t)index;
    if (--left == 0) {
      left = stride;
      index = index + 1 == n ? 0 : index + 1;
    }
  }
}

/* Sets thread indices. Lanes beyond the block get indices that continue in the same way. */
static void set_thread_indices(const CtSimtProgram *p, CtWarp *w) {
  int64_t stride = 1, n[3] = {p->block[0], p->block[1], INT64_MAX};
  for (int axis = 0; axis < 3; axis++) {
    if (p->tid_at[axis] != 0) {
      set_indices(CT_AT(int32_t, w, p->tid_at[axis]), (int64_t)w->index * CT_LANES, stride,
                  n[axis]);
    }
    stride *= p->block[axis];
  }
}

static CtMem mem_of(const CtWorker *k, CtWarp *w, const CtSimtBuf *b) {
  const CtSimtLaunch *launch = k->job->launch;
  uint32_t bytes = (uint32_t)ct_value_bytes(b->dtype);
  switch (b->space) {
    case CT_GLOBAL: {
      char *begin = b->is_chosen ? NULL : launch->slots[b->slot].ptr;
      return (CtMem){begin, ct_simt_n_elems(launch, b), bytes, 0};
    }
    case CT_TENSOR:
    case CT_SHARED: return (CtMem){k->shared + b->at, b->n, bytes, 0};
    case CT_REGISTER: return (CtMem){CT_AT(char, w, b->at), b->n, bytes * CT_LANES, bytes};
    case CT_CONSTANT: return (CtMem){(char *)(uintptr_t)b->data, b->n, bytes, 0}; /* only read */
  }
  CT_UNREACHABLE();
}

/* Sets what is fixed for each warp in a launch, and runs its prologue. */
static void set_up(CtWorker *k) {
  const CtSimtProgram *p = k->job->program;
  k->fail.kind = CT_FAIL_NONE;
  for (int32_t i = 0; i < p->n_warps; i++) {
    CtWarp *w = ct_simt_warp_at(k, i);
    CtMem *mem = CT_AT(CtMem, w, p->mem_at);
    *w = (CtWarp){.mask = CT_ALL_LANES,
                  .live = CT_ALL_LANES,
                  .worker = k,
                  .index = i,
                  .mem = mem,
                  .saved = CT_AT(uint32_t, w, p->saved_at)};
    for (uint32_t b = 1; b < p->n_bufs; b++) {
      mem[b] = mem_of(k, w, &p->bufs[b]);
    }
    set_scalars(k->job, w);
    set_thread_indices(p, w);
    ct_simt_run_warp(w, k->fail.kind == CT_FAIL_NONE ? k->job->code : NULL);
  }
  k->prologue_fail = k->fail;
}

/* False: the watcher has noted it. */
static bool note_failure(CtSimtJob *job, CtWorker *k) {
  if (is_noted(k)) {
    return false;
  }
  if (k->fail.kind == CT_FAIL_STOPPED) {
    if (ct_simt_interrupted(job)) {
      atomic_store(&job->interrupted, true);
    }
  } else {
    int64_t lowest = atomic_load(&job->fail_block);
    (void)ct_simt_fail_report(k, &k->report);
    k->reported = k->block;
    while (k->block < lowest &&
           !atomic_compare_exchange_weak(&job->fail_block, &lowest, k->block)) {}
  }
  k->fail.kind = CT_FAIL_NONE;
  return true;
}

/* The report has been made: it says what the other blocks did, so they end only from here on. */
static void note_dead(CtSimtGroup *g, CtFailKind kind) {
  if (kind == CT_FAIL_GRID || kind == CT_FAIL_DEADLOCK) {
    atomic_store(&g->is_dead, ct_simt_is_together(g));
  }
}

/* Notes which blocks of a team failed; false: none. */
static bool note_failures(CtWorker *team) {
  bool failed = false;
  for (int i = 0; i < ct_simt_team_size(team); i++) {
    CtFailKind kind = team[i].fail.kind;
    if (kind != CT_FAIL_NONE) {
      if (kind != CT_FAIL_STOPPED) {
        atomic_store(&team->job->group->has_failed, true);
      }
      failed = note_failure(team->job, &team[i]) || failed;
      note_dead(team->job->group, kind);
    }
  }
  return failed;
}

/* Runs the cluster of which that is the first block, unless it is after the lowest block that failed. */
static void take_cluster(CtWorker *team, const int64_t first[3]) {
  CtSimtJob *job = team->job;
  set_blocks(team, first);
  if (team->block >= atomic_load(&job->fail_block)) {
    return;
  }
  begin_blocks(team);
  while (take_turns(team)) {}
  end_blocks(team);
  if (!note_failures(team)) {
    atomic_store(&team->stuck_at, 0);
  }
}

/* Takes clusters until none is left, or until a block failed that comes before all that are
   left. */
static void take_clusters(CtWorker *team) {
  CtSimtJob *job = team->job;
  int64_t position = atomic_fetch_add(&job->next, 1);
  for (int i = 0; i < ct_simt_team_size(team) && position < job->n_clusters; i++) {
    set_up(&team[i]);
  }
  while (!ct_simt_is_over(job, position, atomic_load(&job->fail_block))) {
    int64_t first[3];
    ct_simt_block_at(job, position, first);
    if (ct_simt_interrupted(job)) {
      atomic_store(&job->interrupted, true);
      return;
    }
    take_cluster(team, first);
    position = atomic_fetch_add(&job->next, 1);
  }
}

/* --- launches whose teams take turns ----------------------------------------------------------------- */

/* The position of the next cluster of a team. In a cooperative launch each team has one. False: there is none. */
static bool next_cluster(CtWorker *team, int64_t *position) {
  CtSimtJob *job = team->job;
  if (job->launch->is_cooperative) {
    *position = (team - job->workers) / ct_simt_team_size(team);
    return !team->is_set_up;
  }
  if (ct_simt_interrupted(job)) {
    atomic_store(&job->interrupted, true);
    return false;
  }
  *position = atomic_fetch_add(&job->next, 1);
  return !atomic_load(&job->group->is_dead) &&
         !ct_simt_is_over(job, *position, atomic_load(&job->fail_block));
}

bool ct_simt_begin_team(CtWorker *team) {
  int64_t first[3], position;
  if (team->job->is_skipped || !next_cluster(team, &position)) {
    return false;
  }
  for (int i = 0; i < ct_simt_team_size(team) && !team->is_set_up; i++) {
    set_up(&team[i]);
  }
  ct_simt_block_at(team->job, position, first);
  set_blocks(team, first);
  begin_blocks(team);
  atomic_store(&team->stuck_at, 0);
  team->is_set_up = team->is_running = true;
  return true;
}

/* All teams of a launch have ended: the next launch of its rank begins, unless this one failed. Its teams count as
   running before the last team of this one leaves (simt_spin.c). */
static void begin_next(CtSimtJob *job) {
  CtSimtJob *next = job->then;
  for (int i = 0; next != NULL && i < next->n_teams; i++) {
    atomic_store(&next->group->teams[next->first_team + i]->stuck_at, 0);
  }
  if (next != NULL) {
    next->is_skipped = job->is_skipped || atomic_load(&job->fail_block) != INT64_MAX ||
                       atomic_load(&job->interrupted) || atomic_load(&job->group->is_dead);
  }
  atomic_store(&job->first->current, next);
}

void ct_simt_end_team(CtWorker *team) {
  team->has_ended = true;
  if (atomic_fetch_sub(&team->job->n_left, 1) == 1) {
    begin_next(team->job);
  }
  ct_simt_leave(team);
}

void ct_simt_end_cluster(CtWorker *team) {
  team->is_running = false;
  end_blocks(team);
  (void)note_failures(team);
}

/* One round of a team; false: no more blocks will come. */
static bool continue_team(CtWorker *team) {
  if (team->has_ended) {
    return false;
  }
  if (!team->is_running && !ct_simt_begin_team(team)) {
    ct_simt_end_team(team);
    return false;
  }
  if (!take_turns(team)) {
    ct_simt_end_cluster(team);
  }
  return true;
}

/* One round of the thread's teams of a launch; false: they have ended. */
static bool continue_job(const CtSimtJob *job, int thread) {
  const CtSimtGroup *g = job->group;
  bool goes_on = false;
  int skip = (thread - job->first_team % g->n_threads + g->n_threads) % g->n_threads;
  for (int i = skip; i < job->n_teams; i += g->n_threads) {
    goes_on = continue_team(g->teams[job->first_team + i]) || goes_on;
  }
  return goes_on;
}

/* The thread's share: its teams of the launches that the ranks are at take turns, until all have ended. */
static void run_together(const CtSimtGroup *g, int thread) {
  for (bool goes_on = true; goes_on;) {
    bool works = false;
    goes_on = false;
    for (int i = 0; i < g->n_jobs; i += g->jobs[i].n_of_rank) {
      const CtSimtJob *job = atomic_load(&g->jobs[i].current);
      goes_on = goes_on || job != NULL;
      works = (job != NULL && continue_job(job, thread)) || works;
    }
    if (!works) {
      sched_yield();
    }
  }
}

void ct_simt_work(CtSimtGroup *group, int thread) {
  if (group->plan != NULL) {
    ct_simt_work_planned(group);
    return;
  }
  if (ct_simt_is_together(group)) {
    run_together(group, thread);
    return;
  }
  take_clusters(group->teams[thread]);
  ct_simt_leave(group->teams[thread]);
}
