/* simt_spin.c: loops that wait for other threads on the CPU engine, and the deadlocks that they
   may end in.

   Giving way. A loop that may wait for another thread gives way to the other warps of its block
   every TURNS iterations. Other workers run other blocks at the same time.

   Same state. The state of a warp is that of all its slots, taken as a hash of 64 bits. A loop
   of kind CT_SPIN_WAIT changes nothing but its variables and what its atomic operations change.
   So a warp that comes to the same back edge twice in the same state will do the same again,
   until memory changes.

   Stuck. A worker is stuck as of n if n atomic changes had been made, and since then each of its
   warps waits at a barrier or has come back in the same state. Other workers may still change
   memory and so let it go on.

   Ordinary writes do not count as changes, but another warp may wait for one. All that a worker
   wrote this way, it wrote before it was stuck for the first time. So that moment counts as one
   more change (was_stuck), and every worker has to look again.

   Blocks that wait at the grid's barrier (simt_grid.c) are stuck in the same sense: an arrival is a
   change.

   Launches that run together (CtSimtGroup) share the count of changes, so a block may wait for one
   of another rank. A rank's launch that has not begun changes nothing; the team that lets it begin
   counts it as running before that team leaves.

   Invariant: if all workers are stuck as of n, and n changes have been made, nothing will ever
   change. That is a deadlock. There is no time limit in this, so no slow kernel is taken for a
   deadlock. Only the worker with the lowest block reports it.

   Endless. A loop of kind CT_SPIN_ALONE reads nothing that anybody writes. So if one whole iteration
   leaves the warp in the same state, all others will. */
#include "simt_plan.h"
#include "simt_team.h"

#include <string.h>

enum { TURNS = 16 };

/* The state of a warp: a hash of its lanes and of all its slots. */
static uint64_t state_of(const CtWarp *w) {
  const CtSimtProgram *p = w->worker->job->program;
  uint64_t h = ((uint64_t)w->mask << 32 | w->live) + 0x9E3779B97F4A7C15u;
  for (uint32_t at = p->scalars_at; at + sizeof h <= p->warp_bytes; at += sizeof h) {
    uint64_t word;
    memcpy(&word, CT_CAT(char, w, at), sizeof word);
    h = (h ^ word) * 0xFF51AFD7ED558CCDu;
    h ^= h >> 29;
  }
  return h;
}

const CtIn *ct_simt_spin(const CtIn *in, const CtIn *next, CtWarp *w) {
  CtSimtGroup *g = w->worker->job->group;
  if (g->plan == NULL && ++w->n_turns % TURNS != 0) {
    return next;
  }
  uint64_t state = in->imm == CT_SPIN_WAIT ? state_of(w) : 0;
  w->is_same = in->imm == CT_SPIN_WAIT && w->spin_at == in && w->spin_state == state;
  w->spin_at = in;
  w->spin_state = state;
  w->is_waiting = false;
  w->pc = next - 1;
  if (g->plan != NULL) {
    w->gave_way = true;
    w->seen = atomic_load(&g->n_changes);
    if (in->imm == CT_SPIN_WAIT) {
      g->plan->waits(g->plan, w, next, in);
    }
  }
  return NULL;
}

const CtIn *ct_simt_alone(const CtIn *in, const CtIn *next, CtWarp *w) {
  if (ct_simt_is_together(w->worker->job->group)) {
    return next;
  }
  uint64_t state = state_of(w);
  const CtIn *at = next;
  do {
    at = at->u.handler(at, w);
  } while (at != NULL && at >= next && at < in);
  return at == in && w->mask != 0 && state_of(w) == state
             ? ct_simt_fail_kind(w, in, ct_first_lane(w->mask), CT_FAIL_ENDLESS)
             : at;
}

/* Can a warp of the team's blocks run on without waiting, or did one come to a wait or past one? */
static bool gets_on(const CtWorker *team) {
  const CtSimtProgram *p = team->job->program;
  for (int32_t i = 0; i < p->n_cluster * p->n_warps; i++) {
    const CtWarp *w = ct_simt_warp_at(&team[i / p->n_warps], i % p->n_warps);
    if (w->pc != NULL && !w->is_waiting && w->parked == NULL && !w->is_same) {
      return true;
    }
  }
  for (int i = 0; i < p->n_cluster; i++) {
    if (team[i].has_moved) {
      return true;
    }
  }
  return false;
}

/* Does the stuck block of `other` come before that of k? */
static bool is_lower(const CtWorker *other, const CtWorker *k) {
  return other->job == k->job ? atomic_load(&other->stuck_block) < k->block
                              : other->job->number < k->job->number;
}

/* Are all teams stuck as of `changes`, and has this one the lowest block? A team that has left
   counts as stuck: it changes nothing any more. So does one whose launch waits for another one of
   its rank. */
static bool is_deadlock(const CtWorker *k, uint64_t changes) {
  const CtSimtGroup *g = k->job->group;
  for (int i = 0; i < g->n_teams; i++) {
    const CtWorker *other = g->teams[i];
    uint64_t at = atomic_load(&other->stuck_at);
    if (at != UINT64_MAX && (at != changes + 1 || is_lower(other, k))) {
      return false;
    }
  }
  return atomic_load(&g->n_changes) == changes;
}

/* The first warp of a team that repeats a loop, or else that waits at the grid's barrier. */
static const CtWarp *first_stuck(const CtWorker *team) {
  const CtSimtProgram *p = team->job->program;
  const CtWarp *at_grid = NULL;
  for (int32_t i = 0; i < p->n_cluster * p->n_warps; i++) {
    const CtWorker *k = &team[i / p->n_warps];
    const CtWarp *w = ct_simt_warp_at(k, i % p->n_warps);
    if (w->pc != NULL && !w->is_waiting && w->parked == NULL) {
      return w;
    }
    at_grid = at_grid == NULL && w->pc != NULL && k->is_at_grid ? w : at_grid;
  }
  return at_grid;
}

/* Did another block fail, so that this deadlock only follows from that? */
static bool has_cause(const CtSimtJob *job) {
  return atomic_load(&job->fail_block) != INT64_MAX ||
         (ct_simt_is_together(job->group) && atomic_load(&job->group->has_failed));
}

static bool any_loops(const CtSimtGroup *g) {
  bool found = false;
  for (int i = 0; i < g->n_teams && !found; i++) {
    const CtWorker *k = g->teams[i];
    found = atomic_load(&k->stuck_at) != UINT64_MAX && atomic_load(&k->stuck_loops);
  }
  return found;
}

/* A block that waits at the grid's barrier leaves it to one that repeats a loop to report. */
static void fail(CtWorker *team, const CtWarp *first) {
  CtFailKind kind = !first->is_waiting             ? CT_FAIL_DEADLOCK
                    : !any_loops(team->job->group) ? CT_FAIL_GRID
                                                   : CT_FAIL_STOPPED;
  kind = has_cause(team->job) ? CT_FAIL_STOPPED : kind;
  first->worker->fail = (CtFail){.kind = kind,
                                 .in = first->is_waiting ? first->pc : first->spin_at,
                                 .warp = first,
                                 .lane = ct_first_lane(first->mask)};
}

static void note_stuck(CtWorker *k, const CtWarp *first, uint64_t changes) {
  atomic_store(&k->stuck_block, k->block);
  atomic_store(&k->stuck_loops, !first->is_waiting);
  atomic_store(&k->stuck_in, first->is_waiting ? first->pc : first->spin_at);
  atomic_store(&k->stuck_at, changes + 1);
}

bool ct_simt_is_stuck(CtWorker *k, uint64_t changes) {
  if (gets_on(k)) {
    k->was_stuck = false;
    atomic_store(&k->stuck_at, 0);
    return false;
  }
  if (!k->was_stuck) { /* what it wrote before may be what others wait for */
    k->was_stuck = true;
    ct_simt_note_change(k->job);
    return false;
  }
  const CtWarp *first = first_stuck(k);
  CT_ASSERT(first != NULL); /* else nobody would ask */
  note_stuck(k, first, changes);
  if (!atomic_load(&k->job->group->is_dead) && !is_deadlock(k, changes)) {
    return false;
  }
  fail(k, first);
  return true;
}

bool ct_simt_note_stuck(CtWorker *team, uint64_t changes) {
  const CtWarp *first = first_stuck(team);
  if (first != NULL) {
    note_stuck(team, first, changes);
  }
  return first != NULL;
}

void ct_simt_fail_stuck(CtWorker *team) { fail(team, first_stuck(team)); }
