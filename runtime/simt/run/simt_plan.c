/* simt_plan.c: launches in a planned order: see simt_plan.h. */
#include "simt_plan.h"

#include "simt_team.h"

enum { READY = 1 << 12 }; /* a plan chooses among so many turns */

/* --- the code ------------------------------------------------------------------------------------------ */

static bool is_meeting(const CtSimtProgram *p, const CtIn *code) {
  const CtMbarImm bar = {.imm = code->imm};
  switch (code->u.op) {
    case CT_SIMT_ATOMIC:
    case CT_SIMT_NAMED: return true;
    case CT_SIMT_MBAR: return bar.u.op != CT_OP_MBAR_INIT;
    case CT_SIMT_TMA: return !p->tmas[code->imm].is_store || p->tmas[code->imm].reduce != 0;
    default: return false;
  }
}

/* The instructions after this one that it runs itself. */
static uint32_t inside(const CtIn *code) {
  bool each = code->u.op == CT_SIMT_EACH || code->u.op == CT_SIMT_EACH_AT;
  bool part = code->u.op == CT_SIMT_ONLY || code->u.op == CT_SIMT_UNLESS;
  return each ? code->d : part ? code->a : 0;
}

/* Does a warp stop before this instruction of the program? */
static bool is_turn(const CtSimtProgram *p, const CtIn *code) {
  bool found = is_meeting(p, code);
  for (uint32_t i = 1; i <= inside(code) && !found; i++) {
    found = is_meeting(p, code + i);
  }
  return found;
}

/* The warp stops before the instruction, unless it is its turn or it has begun to wait there. */
static const CtIn *take_turn(const CtIn *in, CtWarp *w) {
  const CtSimtJob *job = w->worker->job;
  if (!w->has_turn && w->parked != in) {
    w->at = in;
    w->pc = in - 1;
    return NULL;
  }
  w->has_turn = false;
  return job->turns[in - job->code](in, w);
}

void ct_simt_plan_code(const CtSimtJob *job, CtIn *code, CtHandler *turns) {
  const CtSimtProgram *p = job->program;
  for (uint32_t i = p->body; i < p->n_code; i++) {
    if (is_turn(p, &p->code[i])) {
      turns[i] = code[i].u.handler;
      code[i].u.handler = take_turn;
    }
    i += inside(&p->code[i]) + (uint32_t)ct_in_size(&p->code[i]) - 1;
  }
}

/* --- who can go on ------------------------------------------------------------------------------------- */

typedef struct Run {
  CtSimtGroup *g;
  CtSimtPlan *plan;
  CtSimtTurn ready[READY];
  int n_ready;
  bool has_tried; /* since a warp last got on, each warp in a loop that waits has tried once more */
  bool is_settled; /* nothing ended or began to wait since all teams were settled */
} Run;

/* Has it come back in the same state, so that it waits for memory to change? */
static bool is_stuck_in_loop(const CtWarp *w) { return w->gave_way && w->is_same; }

static bool can_go(const Run *r, CtWarp *w) {
  if (w->pc == NULL || w->is_waiting) {
    return false;
  }
  if (w->parked != NULL || w->at != NULL) {
    return ct_simt_is_ready(w, w->parked != NULL ? w->parked : w->at);
  }
  return !is_stuck_in_loop(w) || w->tries || w->seen != atomic_load(&r->g->n_changes);
}

/* Is the warp still in the loop in which it came back in the same state? */
static bool is_still_in_loop(const CtWarp *w) {
  const CtIn *first = w->spin_at == NULL ? NULL : w->spin_at + (int32_t)w->spin_at->c;
  return w->is_same && (w->gave_way || (w->at != NULL && w->at >= first && w->at < w->spin_at));
}

static bool has_failed(const CtWorker *team) {
  bool failed = false;
  for (int i = 0; i < ct_simt_team_size(team); i++) {
    failed = failed || team[i].fail.kind != CT_FAIL_NONE;
  }
  return failed;
}

/* Runs the warp until it stops before the next operation, waits, ends or fails. */
static void go(Run *r, CtWarp *w) {
  w->has_turn = w->at != NULL;
  w->at = NULL;
  w->gave_way = w->tries = false;
  ct_simt_run_warp(w, w->pc + 1);
  w->is_same = is_still_in_loop(w);
  r->has_tried = r->has_tried && w->is_same;
  r->is_settled = r->is_settled && w->pc != NULL && !w->is_waiting && !has_failed(w->worker->team);
}

/* Lets each warp that waits for memory try once more: writes that are not atomic do not count as changes. */
static void try_again(Run *r) {
  r->has_tried = true;
  for (int i = 0; i < r->g->n_teams; i++) {
    CtWorker *team = r->g->teams[i];
    const CtSimtProgram *p = team->job->program;
    for (int32_t k = 0; team->is_running && k < p->n_cluster * p->n_warps; k++) {
      CtWarp *w = ct_simt_warp_at(&team[k / p->n_warps], k % p->n_warps);
      w->tries = w->pc != NULL && is_stuck_in_loop(w);
    }
  }
}

/* Does the warp stand where no plan has to be asked: it has not begun, or its wait is over? */
static bool goes_at_once(const CtWarp *w) {
  return w->parked != NULL || (w->at == NULL && (!w->gave_way || w->is_same));
}

/* --- blocks ---------------------------------------------------------------------------------------------- */

typedef enum BlockState { BLOCK_RUNS, BLOCK_STOPPED, BLOCK_ENDED } BlockState;

static BlockState state_of(const CtWorker *k) {
  BlockState state = BLOCK_ENDED;
  for (int32_t i = 0; i < k->job->program->n_warps; i++) {
    const CtWarp *w = ct_simt_warp_at(k, i);
    if (w->pc != NULL && !w->is_waiting) {
      return BLOCK_RUNS;
    }
    state = w->pc != NULL ? BLOCK_STOPPED : state;
  }
  return state;
}

/* Lets the blocks of a team pass their barriers, and ends the team's cluster if it is over. True: something
   happened. */
static bool settle(const Run *r, CtWorker *team) {
  bool moved = false, ended = true;
  for (int i = 0; i < ct_simt_team_size(team) && !has_failed(team); i++) {
    BlockState state = state_of(&team[i]);
    bool met = state == BLOCK_STOPPED && ct_simt_meet(&team[i]);
    if (met) {
      r->plan->met(r->plan, &team[i]);
    }
    moved = moved || met;
    ended = ended && state == BLOCK_ENDED;
  }
  if (has_failed(team)) {
    ct_simt_copy_drop(team->job->alloc, &r->plan->copies, team);
  } else if (!ended || ct_simt_copy_is_any(&r->plan->copies, team)) {
    return moved;
  }
  ct_simt_end_cluster(team);
  return true;
}

/* --- teams ------------------------------------------------------------------------------------------------ */

/* Begins what may begin, and settles what runs. False: all launches have ended. */
static bool settle_all(const Run *r, bool *moved) {
  bool goes_on = false;
  *moved = false;
  for (int i = 0; i < r->g->n_teams; i++) {
    CtWorker *team = r->g->teams[i];
    bool is_current = atomic_load(&team->job->first->current) == team->job;
    if (team->has_ended || !is_current) {
      goes_on = goes_on || !team->has_ended;
      continue;
    }
    goes_on = true;
    if (team->is_running) {
      *moved = settle(r, team) || *moved;
    } else {
      *moved = true;
      if (!ct_simt_begin_team(team)) {
        ct_simt_end_team(team);
      }
    }
  }
  return goes_on;
}

/* Collects the warps that can go on; true: one went on at once. */
static bool collect_team(Run *r, CtWorker *team) {
  const CtSimtProgram *p = team->job->program;
  for (int32_t i = 0; i < p->n_cluster * p->n_warps; i++) {
    CtWorker *k = &team[i / p->n_warps];
    CtWarp *w = ct_simt_warp_at(k, i % p->n_warps);
    if (k->fail.kind != CT_FAIL_NONE || !can_go(r, w)) {
      continue;
    }
    if (goes_at_once(w)) {
      go(r, w);
      return true;
    }
    if (r->n_ready < READY) {
      r->ready[r->n_ready++] = (CtSimtTurn){w, NULL};
    }
  }
  return false;
}

/* The copies that may complete. */
static void collect_copies(Run *r) {
  CtSimtCopies *copies = &r->plan->copies;
  for (size_t i = 0; i < copies->n && r->n_ready < READY; i++) {
    CtSimtCopy *c = &copies->list[i];
    if (ct_simt_copy_is_next(copies, i)) {
      r->ready[r->n_ready++] = (CtSimtTurn){c->w, c};
    }
  }
}

static bool collect(Run *r) {
  r->n_ready = 0;
  for (int i = 0; i < r->g->n_teams; i++) {
    CtWorker *team = r->g->teams[i];
    if (team->is_running && collect_team(r, team)) {
      return true;
    }
  }
  collect_copies(r);
  return false;
}

/* --- nobody can go on --------------------------------------------------------------------------------------- */

/* Warps that stand before a wait begin to wait: messages tell what a warp is parked at. Tells the plan. */
static void park_all(Run *r, const CtWorker *team) {
  const CtSimtProgram *p = team->job->program;
  for (int32_t i = 0; i < p->n_cluster * p->n_warps; i++) {
    CtWarp *w = ct_simt_warp_at(&team[i / p->n_warps], i % p->n_warps);
    if (w->pc != NULL && w->at != NULL) {
      go(r, w);
    }
    if (w->pc != NULL) {
      r->plan->stuck(r->plan, w);
    }
  }
}

/* Ends all clusters that run; those in which nothing failed are only stopped. */
static void end_all(Run *r) {
  r->is_settled = false;
  atomic_store(&r->g->is_dead, true);
  ct_simt_copy_drop(r->g->jobs[0].alloc, &r->plan->copies, NULL);
  for (int i = 0; i < r->g->n_teams; i++) {
    CtWorker *team = r->g->teams[i];
    if (team->is_running) {
      CtWarp *w = ct_simt_warp_at(team, 0);
      if (!has_failed(team)) {
        team->fail = (CtFail){.kind = CT_FAIL_STOPPED, .in = team->job->code, .warp = w};
      }
      ct_simt_end_cluster(team);
    }
  }
}

/* A team all of whose warps wait for their own cluster is the cause, if there is one. */
static void fail_stuck(Run *r) {
  uint64_t changes = atomic_load(&r->g->n_changes);
  CtWorker *waits = NULL, *loops = NULL;
  for (int i = 0; i < r->g->n_teams; i++) {
    CtWorker *team = r->g->teams[i];
    if (team->is_running) {
      park_all(r, team);
      bool stuck = ct_simt_note_stuck(team, changes);
      loops = loops == NULL && stuck ? team : loops;
      waits = waits == NULL && !stuck ? team : waits;
    }
  }
  if (waits != NULL) {
    ct_simt_fail_waits(waits);
  } else {
    ct_simt_fail_stuck(loops);
  }
  end_all(r);
}

/* --- a launch ------------------------------------------------------------------------------------------------ */

/* A warp goes on, or a copy completes. */
static void take(Run *r, const CtSimtTurn *turn) {
  if (turn->copy == NULL) {
    go(r, turn->w);
    return;
  }
  r->has_tried = false;
  ct_simt_copy_end(r->g->jobs[0].alloc, &r->plan->copies, turn->copy);
}

/* One step; false: all launches have ended. */
static bool step(Run *r) {
  bool moved = false;
  if (!r->is_settled && !settle_all(r, &moved)) {
    return false;
  }
  r->is_settled = !moved;
  if (moved || collect(r)) {
    r->has_tried = r->has_tried && !moved;
    return true;
  }
  if (r->n_ready == 0 && !r->has_tried) {
    try_again(r);
  } else if (r->n_ready == 0) {
    fail_stuck(r);
  } else {
    const CtSimtTurn *turn = r->plan->choose(r->plan, r->ready, r->n_ready);
    if (turn != NULL) {
      take(r, turn);
    } else {
      end_all(r);
    }
  }
  return true;
}

void ct_simt_work_planned(CtSimtGroup *g) {
  Run r = {.g = g, .plan = g->plan};
  while (step(&r)) {
    if (ct_simt_interrupted(&g->jobs[0])) {
      atomic_store(&g->jobs[0].interrupted, true);
      end_all(&r);
    }
  }
  ct_simt_copy_drop(g->jobs[0].alloc, &r.plan->copies, NULL);
}
