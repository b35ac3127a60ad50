/* check_clock.c: `check` by vector clocks: what orders, and what came before what; see check_clock.h. */
#include "check_clock.h"
#include "check_clock_row.h"
#include "check_flag.h"
#include "check_latest.h"

#include <string.h>

/* --- components and rows ---------------------------------------------------------------------------- */

static uint32_t *named_row(const CtClocks *c, int rank, int64_t id, int which) {
  return ct_clock_row(c, c->named,
                      ((size_t)rank * CT_NAMED_BARRIERS + (size_t)id) * 2 + (size_t)which);
}
static CtKnowledge **named_known(const CtClocks *c, int rank, int64_t id, int which) {
  return &c->named_known[((size_t)rank * CT_NAMED_BARRIERS + (size_t)id) * 2 + (size_t)which];
}

/* What the warp's accesses of tensor memory come after. */
static uint32_t *tensor_row(const CtClocks *c, int rank, int32_t warp) {
  return &c->tensor[((size_t)rank * c->n_warps + (size_t)warp) * c->n];
}

static void join(const CtClocks *c, uint32_t *to, const uint32_t *from) {
  for (uint32_t i = 0; i < 2 * c->n; i++) {
    to[i] = to[i] > from[i] ? to[i] : from[i];
  }
}

static void join_half(const CtClocks *c, uint32_t *to, const uint32_t *from) {
  for (uint32_t i = 0; i < c->n; i++) {
    to[i] = to[i] > from[i] ? to[i] : from[i];
  }
}

/* Makes a component's clock known in both halves of a row: to threads and to agents. */
static void set(const CtClocks *c, uint32_t *to, uint32_t component, uint32_t clock) {
  to[component] = to[component] > clock ? to[component] : clock;
  to[c->n + component] = to[c->n + component] > clock ? to[c->n + component] : clock;
}

static void clear_row(const CtClocks *c, uint32_t *r) { memset(r, 0, 2 * c->n * sizeof *r); }

/* The warp's later events get a later stamp than what it has handed on. So whoever takes the row
   over knows what came before the hand-over, and nothing after it. */
static void advance(const CtClocks *c, int rank, int32_t warp) {
  ct_clock_warp_row(c, rank, warp)[ct_clock_of_warp(c, rank, warp)]++;
}

/* The warp takes over what was handed on. If that row has work of the warp itself, a lane handed
   it on. What one lane waits for counts for all: up to that clock, the lanes now know each
   other's work. */
static void take_over(const CtClocks *c, int rank, int32_t warp, const uint32_t *from) {
  uint32_t *seen = &c->own[(size_t)rank * c->n_warps + (size_t)warp];
  uint32_t own = from[ct_clock_of_warp(c, rank, warp)];
  join(c, ct_clock_warp_row(c, rank, warp), from);
  *seen = *seen > own ? *seen : own;
}

/* --- lanes that are apart ------------------------------------------------------------------------------ */

/* Some lanes have waited: what was handed on is theirs, until they meet the others. Without memory it is the warp's. */
static void take_over_apart(CtCheckWorker *k, const CtWarp *w, const uint32_t *from) {
  const CtClocks *c = k->clocks;
  int rank = k->k->rank;
  uint32_t *apart = ct_clock_apart_of(c, rank, w->index);
  for (uint32_t rest = w->mask; rest != 0; rest &= rest - 1) {
    int lane = ct_first_lane(rest);
    uint32_t **row = ct_clock_lane_row(c, rank, w->index, lane);
    if (*row == NULL) {
      *row = ct_alloc(k->check->alloc, 2 * (size_t)c->n * sizeof **row);
    }
    if (*row == NULL) {
      take_over(c, rank, w->index, from);
      continue;
    }
    if ((*apart >> lane & 1) == 0) {
      clear_row(c, *row);
    }
    *apart |= 1u << lane;
    join(c, *row, from);
  }
}

/* What these lanes know that their warp does not. */
static void join_apart(const CtClocks *c, int rank, int32_t warp, uint32_t lanes, uint32_t *to) {
  for (uint32_t rest = lanes & *ct_clock_apart_of(c, rank, warp); rest != 0; rest &= rest - 1) {
    join(c, to, *ct_clock_lane_row(c, rank, warp, ct_first_lane(rest)));
  }
}

/* The lanes of the warp have met. */
static void meet(const CtClocks *c, int rank, int32_t warp) {
  uint32_t *apart = ct_clock_apart_of(c, rank, warp);
  for (uint32_t rest = *apart; rest != 0; rest &= rest - 1) {
    take_over(c, rank, warp, *ct_clock_lane_row(c, rank, warp, ct_first_lane(rest)));
  }
  *apart = 0;
}

/* --- blocks ------------------------------------------------------------------------------------------------ */

void ct_clock_begin_block(CtCheckWorker *k) {
  CtClocks *c = k->clocks;
  int rank = k->k->rank;
  size_t slots = (size_t)rank * c->n_slots;
  for (int32_t i = 0; i < (int32_t)c->n_warps; i++) {
    clear_row(c, ct_clock_warp_row(c, rank, i));
    *ct_clock_apart_of(c, rank, i) = 0;
    advance(c, rank, i); /* to 1; agents still see 0: they know nothing before a fence */
    c->own[(size_t)rank * c->n_warps + (size_t)i] = 0;
    c->stores[(size_t)rank * c->n_warps + (size_t)i] = (CtLastStore){0};
    memset(ct_clock_groups_of(c, rank, i, CT_AGENT_WGMMA), 0, c->n_agents * sizeof *c->groups);
    if (c->n_agents == CT_CLOCK_AGENTS_OF_TCGEN05) {
      memset(tensor_row(c, rank, i), 0, c->n * sizeof *c->tensor);
    }
  }
  ct_clock_forget_promises(k, slots, c->n_slots);
  memset(&c->sent[slots * c->n_blocks], 0, (size_t)c->n_blocks * c->n_slots * sizeof *c->sent);
  ct_clock_clear_known(k, &c->acc_known[slots], c->n_slots);
  ct_clock_clear_known(k, &c->done_known[slots], c->n_slots);
  ct_clock_clear_known(k, named_known(c, rank, 0, 0), 2 * CT_NAMED_BARRIERS);
  for (size_t i = slots; i < slots + c->n_slots; i++) {
    clear_row(c, ct_clock_row(c, c->acc, i));
    clear_row(c, ct_clock_row(c, c->done, i));
    c->made[i] = c->begun[i] = c->copies[i] = c->turns[i] = c->passed[i] = 0;
  }
  for (int id = 0; id < CT_NAMED_BARRIERS; id++) {
    clear_row(c, named_row(c, rank, id, 0));
    clear_row(c, named_row(c, rank, id, 1));
  }
  if (rank == 0) {
    ct_clock_clear_known(k, c->cluster_known, 2);
    clear_row(c, ct_clock_row(c, c->cluster, 0));
    clear_row(c, ct_clock_row(c, c->cluster, 1));
    clear_row(c, ct_clock_row(c, c->grid, 0));
    clear_row(c, ct_clock_row(c, c->grid, 1));
    c->phase = c->grid_phase = 0;
    memset(c->far, 0, c->n_blocks * (size_t)c->n * sizeof *c->far);
  }
}

/* --- what orders ---------------------------------------------------------------------------------------- */

/* These lanes of the warp hand on what it knows, and of its own work what its lanes know of each other; what these
   lanes did besides goes to `known`, as a moment. Agents may see more of it: threads have to know it, too. */
static void hand_on(CtCheckWorker *k, const CtWarp *w, uint32_t lanes, uint32_t *to,
                    CtKnowledge **known) {
  const CtClocks *c = k->clocks;
  int rank = k->k->rank;
  uint32_t *warp = ct_clock_warp_row(c, rank, w->index), i = ct_clock_of_warp(c, rank, w->index);
  uint32_t own = c->own[(size_t)rank * c->n_warps + (size_t)w->index];
  const uint32_t now = warp[i];
  bool is_whole = (w->live & ~w->mask) == 0;
  warp[i] = is_whole || now < own ? now : own;
  join(c, to, warp);
  join_apart(c, rank, w->index, lanes, to);
  warp[i] = now;
  ct_flag_arrive(k, w->index, lanes, known);
  if (!is_whole) {
    ct_flag_add_moment(k, w->index, lanes, known);
  }
  advance(c, rank, w->index);
}

void ct_clock_sync_warp(CtCheckWorker *k, int32_t warp) {
  const CtClocks *c = k->clocks;
  int rank = k->k->rank;
  meet(c, rank, warp);
  c->own[(size_t)rank * c->n_warps + (size_t)warp] =
      ct_clock_warp_row(c, rank, warp)[ct_clock_of_warp(c, rank, warp)];
  advance(c, rank, warp);
}

void ct_clock_barrier(CtCheckWorker *k) {
  CtClocks *c = k->clocks;
  int rank = k->k->rank;
  uint32_t *all = ct_clock_warp_row(c, rank, 0);
  for (int32_t i = 0; i < (int32_t)c->n_warps; i++) {
    meet(c, rank, i);
  }
  for (int32_t i = 1; i < (int32_t)c->n_warps; i++) {
    join(c, all, ct_clock_warp_row(c, rank, i));
  }
  for (int32_t i = 0; i < (int32_t)c->n_warps; i++) {
    take_over(c, rank, i, all);
  }
  for (int32_t i = 0; i < (int32_t)c->n_warps; i++) {
    advance(c, rank, i);
  }
}

/* The phase is complete: those who wait for it may take what was handed on in it. */
static void turn(CtCheckWorker *k, uint32_t *acc, uint32_t *done, CtKnowledge **acc_known,
                 CtKnowledge **done_known) {
  const CtClocks *c = k->clocks;
  join(c, done, acc);
  clear_row(c, acc);
  k->no_memory = !ct_known_join(k->check->alloc, done_known, *acc_known) || k->no_memory;
  ct_known_clear(k->check->alloc, acc_known);
}

/* The warp's products so far, and its copies of tensor memory, which a commit has a fence for. What the warp has waited for
   came before its products, and so before the arrival; its own work by threads need not have. */
static void commit_products(const CtClocks *c, int rank, const CtWarp *w, uint32_t *to) {
  int32_t warp = w->index;
  uint32_t *row = ct_clock_warp_row(c, rank, warp), i = ct_clock_of_warp(c, rank, warp);
  const uint32_t own[] = {row[i], row[c->n + i]};
  row[i] = row[c->n + i] = 0;
  join(c, to, row);
  row[i] = own[0];
  row[c->n + i] = own[1];
  join_apart(c, rank, warp, w->mask, to);
  for (int agent = CT_AGENT_UMMA; agent <= CT_AGENT_TMEM; agent++) {
    uint32_t clock = ++*ct_clock_groups_of(c, rank, warp, (CtAgent)agent);
    set(c, to, ct_clock_of_agent(c, rank, warp, (CtAgent)agent), clock);
  }
}

/* Is it an ST_ASYNC? Its bytes release what its thread did before (PTX ISA, st.async). */
static bool is_of_store(const CtCheckWorker *k, const CtSyncNote *note) {
  return k->code[ct_check_index(k, note->in)].u.op == CT_SIMT_MBAR;
}

/* What a lane hands on at an mbarrier, perhaps another block's. */
static void hand_on_from(CtCheckWorker *k, const CtSyncNote *note, uint32_t *acc, size_t slot) {
  const CtClocks *c = k->clocks;
  uint32_t component = ct_clock_of_warp(c, k->k->rank, note->w->index);
  ct_clock_keep_far(k, note, component,
                    ct_clock_warp_row(c, k->k->rank, note->w->index)[component]);
  hand_on(k, note->w, 1u << note->lane, acc, &c->acc_known[slot]);
}

/* What an ST_ASYNC that begins will hand on. */
static void promise(CtCheckWorker *k, const CtSyncNote *note, size_t slot) {
  CtPromise *p = ct_clock_add_promise(k, slot);
  if (p != NULL) {
    uint32_t component = ct_clock_of_warp(k->clocks, k->k->rank, note->w->index);
    p->clock = ct_clock_warp_row(k->clocks, k->k->rank, note->w->index)[component];
    hand_on(k, note->w, 1u << note->lane, p->row, &p->known);
  }
}

/* The bytes of the oldest one to the barrier have come. */
static void keep_promise(CtCheckWorker *k, const CtSyncNote *note, uint32_t *acc, size_t slot) {
  const CtClocks *c = k->clocks;
  const CtPromise *p = c->promised[slot];
  if (p != NULL) { /* NULL: there was no memory */
    ct_clock_keep_far(k, note, ct_clock_of_warp(c, k->k->rank, note->w->index), p->clock);
    join(c, acc, p->row);
    k->no_memory = !ct_known_join(k->check->alloc, &c->acc_known[slot], p->known) || k->no_memory;
    ct_clock_forget_promise(k, &c->promised[slot]);
  }
}

static void sync_mbarrier(CtCheckWorker *k, const CtSyncNote *note) {
  CtClocks *c = k->clocks;
  int own = k->k->rank;
  size_t slot = ct_clock_slot_index(c, note->rank, note->buf, note->slot);
  uint32_t *acc = ct_clock_row(c, c->acc, slot), *done = ct_clock_row(c, c->done, slot);
  if (note->kind != CT_SYNC_COMPLETE) { /* of a copy, its beginning counts */
    ct_clock_look_at_use(k, note, slot);
  }
  if (note->kind == CT_SYNC_ISSUE) {
    c->begun[slot]++;
    if (is_of_store(k, note)) {
      promise(k, note, slot);
    }
    return;
  }
  if (note->kind == CT_SYNC_PASS) {
    if (note->rank == own) {
      c->passed[slot] = c->turns[slot];
    }
    if ((note->w->live & ~note->w->mask) == 0) {
      take_over(c, own, note->w->index, done);
    } else {
      take_over_apart(k, note->w, done);
    }
    ct_flag_pass(k, note->w, note->w->mask, c->done_known[slot]);
    return;
  }
  if (note->kind == CT_SYNC_COMPLETE) {
    c->copied_in[slot] = ct_check_index(k, note->in);
    set(c, acc, ct_clock_of_slot(c, note->rank, (uint32_t)(slot % c->n_slots)), ++c->copies[slot]);
    if (is_of_store(k, note)) {
      keep_promise(k, note, acc, slot);
    }
  } else if (note->agent == CT_AGENT_UMMA) {
    commit_products(c, own, note->w, acc);
  } else {
    hand_on_from(k, note, acc, slot);
  }
  if (note->turns) {
    turn(k, acc, done, &c->acc_known[slot], &c->done_known[slot]);
    c->turns[slot]++;
  }
}

static void sync_init(CtCheckWorker *k, uint32_t buf) {
  CtClocks *c = k->clocks;
  int rank = k->k->rank;
  uint32_t now = ct_clock_warp_row(c, rank, 0)[ct_clock_of_warp(c, rank, 0)];
  for (int64_t i = 0; i < k->k->job->program->bufs[buf].n; i++) {
    c->made[ct_clock_slot_index(c, rank, buf, i)] = now;
  }
  advance(c, rank, 0);
}

static void sync_named(CtCheckWorker *k, const CtSyncNote *note) {
  const CtClocks *c = k->clocks;
  int rank = k->k->rank;
  uint32_t *acc = named_row(c, rank, note->slot, 0), *done = named_row(c, rank, note->slot, 1);
  CtKnowledge **acc_known = named_known(c, rank, note->slot, 0);
  CtKnowledge **done_known = named_known(c, rank, note->slot, 1);
  if (note->kind == CT_SYNC_NAMED_PASS) {
    take_over(c, rank, note->w->index, done);
    meet(c, rank, note->w->index);
    ct_flag_pass(k, note->w, note->w->mask, *done_known);
    return;
  }
  hand_on(k, note->w, note->w->mask, acc, acc_known);
  if (note->turns) {
    turn(k, acc, done, acc_known, done_known);
  }
}

/* No warp can be more than one phase ahead of another. So two rows are enough: when the first
   warp arrives in a phase, nobody needs the row of the phase before the last, and the new phase
   clears and uses it. */
static void arrive_together(const CtClocks *c, uint32_t *rows, uint32_t *newest, uint32_t phase,
                            int rank, int32_t warp) {
  uint32_t *handed_on = ct_clock_row(c, rows, phase % 2);
  if (phase > *newest) {
    clear_row(c, handed_on);
    *newest = phase;
  }
  meet(c, rank, warp);
  join(c, handed_on, ct_clock_warp_row(c, rank, warp));
  advance(c, rank, warp);
}

static void sync_cluster(CtCheckWorker *k, const CtSyncNote *note) {
  CtClocks *c = k->clocks;
  int rank = k->k->rank;
  uint32_t phase = note->w->n_arrived + (note->kind == CT_SYNC_CLUSTER_ARRIVE);
  CtKnowledge **known = &c->cluster_known[phase % 2];
  if (note->kind == CT_SYNC_CLUSTER_PASS) {
    take_over(c, rank, note->w->index, ct_clock_row(c, c->cluster, phase % 2));
    ct_flag_pass(k, note->w, note->w->mask, *known);
  } else {
    if (phase > c->phase) {
      ct_known_clear(k->check->alloc, known);
    }
    ct_flag_arrive(k, note->w->index, note->w->mask, known);
    arrive_together(c, c->cluster, &c->phase, phase, rank, note->w->index);
  }
}

/* Only the blocks of a cluster have clocks in common; check_global.c does the rest. */
static void sync_grid(CtCheckWorker *k, const CtSyncNote *note) {
  CtClocks *c = k->clocks;
  uint32_t phase = (uint32_t)note->n + 1;
  for (int32_t i = 0; i < (int32_t)c->n_warps; i++) {
    if (note->kind == CT_SYNC_GRID_PASS) {
      take_over(c, k->k->rank, i, ct_clock_row(c, c->grid, phase % 2));
    } else {
      arrive_together(c, c->grid, &c->grid_phase, phase, k->k->rank, i);
    }
  }
}

static void sync_agent(CtCheckWorker *k, const CtSyncNote *note) {
  const CtClocks *c = k->clocks;
  int rank = k->k->rank;
  uint32_t *groups = ct_clock_groups_of(c, rank, note->w->index, note->agent);
  const CtLastStore *last = &c->stores[(size_t)rank * c->n_warps + (size_t)note->w->index];
  if (note->agent == CT_AGENT_BULK && (note->w->mask & last->lanes) == 0) {
    return; /* none of these lanes has begun a store: their groups are empty */
  }
  if (note->kind == CT_SYNC_COMMIT) {
    (*groups)++;
  } else if (*groups > note->n) {
    uint32_t *row = ct_clock_warp_row(c, rank, note->w->index);
    uint32_t clock = *groups - (uint32_t)note->n;
    set(c, row, ct_clock_of_agent(c, rank, note->w->index, note->agent), clock);
    if (note->is_done) {
      set(c, row, ct_clock_of_agent(c, rank, note->w->index, CT_AGENT_BULK_WRITE), clock);
    }
  }
}

/* Lanes that are apart: agents see what these lanes know. */
static void fence_apart(const CtClocks *c, int rank, const CtWarp *w) {
  for (uint32_t rest = w->mask & *ct_clock_apart_of(c, rank, w->index); rest != 0;
       rest &= rest - 1) {
    uint32_t *r = *ct_clock_lane_row(c, rank, w->index, ct_first_lane(rest));
    for (uint32_t i = 0; i < c->n; i++) {
      r[c->n + i] = r[c->n + i] > r[i] ? r[c->n + i] : r[i];
    }
  }
}

/* Agents see what the warp knows; of its own work, if some lanes call the fence, what all know. */
static void fence(CtCheckWorker *k, const CtWarp *w) {
  const CtClocks *c = k->clocks;
  int rank = k->k->rank;
  uint32_t *warp = ct_clock_warp_row(c, rank, w->index), i = ct_clock_of_warp(c, rank, w->index);
  uint32_t own = c->own[(size_t)rank * c->n_warps + (size_t)w->index], now = warp[i];
  bool is_whole = (w->live & ~w->mask) == 0;
  warp[i] = is_whole || now < own ? now : own;
  join_half(c, &warp[c->n], warp);
  warp[i] = now;
  fence_apart(c, rank, w);
  ct_flag_proxy_fence(k, w);
  advance(c, rank, w->index);
}

/* What the warp knows, and those of its lanes that are here, comes before its later accesses of tensor memory. */
static void take_into_tensor(const CtClocks *c, int rank, const CtWarp *w) {
  uint32_t *to = tensor_row(c, rank, w->index);
  join_half(c, to, ct_clock_warp_row(c, rank, w->index));
  for (uint32_t rest = w->mask & *ct_clock_apart_of(c, rank, w->index); rest != 0;
       rest &= rest - 1) {
    join_half(c, to, *ct_clock_lane_row(c, rank, w->index, ct_first_lane(rest)));
  }
}

bool ct_clock_tensor_is_before(const CtCheckWorker *k, const CtCheckEvent *old, int32_t warp,
                               bool in_order) {
  const CtClocks *c = k->clocks;
  bool is_own = old->component == ct_clock_of_agent(c, k->k->rank, warp, (CtAgent)old->agent);
  return (in_order && is_own) || tensor_row(c, k->k->rank, warp)[old->component] >= old->clock;
}

uint32_t ct_clock_of(const CtCheckWorker *k, int32_t warp, CtAgent agent, uint32_t *component) {
  const CtClocks *c = k->clocks;
  int rank = k->k->rank;
  bool is_thread = agent == CT_AGENT_NONE;
  *component =
      is_thread ? ct_clock_of_warp(c, rank, warp) : ct_clock_of_agent(c, rank, warp, agent);
  return is_thread ? ct_clock_warp_row(c, rank, warp)[*component]
                   : *ct_clock_groups_of(c, rank, warp, agent) + 1;
}

bool ct_clock_knows(const CtCheckWorker *k, int32_t warp, uint32_t component, uint32_t clock) {
  const CtClocks *c = k->clocks;
  return ct_clock_warp_row(c, k->k->rank, warp)[component] >= clock ||
         ct_clock_has_reached(c, k->k->rank, warp, CT_ANY_LANE, component, clock);
}

void ct_clock_sync(CtCheckWorker *k, const CtSyncNote *note) {
  CtClocks *c = k->clocks;
  int rank = k->k->rank;
  uint32_t *warp = ct_clock_warp_row(c, rank, note->w->index);
  switch (note->kind) {
    case CT_SYNC_INIT: sync_init(k, note->buf); break;
    case CT_SYNC_EXPECT:
      break; /* an arrival of the phase comes after it, or it is of the next one */
    case CT_SYNC_ISSUE:
    case CT_SYNC_ARRIVE:
    case CT_SYNC_COMPLETE:
    case CT_SYNC_PASS: sync_mbarrier(k, note); break;
    case CT_SYNC_NAMED_ARRIVE:
    case CT_SYNC_NAMED_PASS: sync_named(k, note); break;
    case CT_SYNC_CLUSTER_ARRIVE:
    case CT_SYNC_CLUSTER_PASS: sync_cluster(k, note); break;
    case CT_SYNC_GRID_ARRIVE:
    case CT_SYNC_GRID_PASS: sync_grid(k, note); break;
    case CT_SYNC_PROXY: fence(k, note->w); break;
    case CT_SYNC_PROXY_GLOBAL: break; /* clocks are of shared memory */
    case CT_SYNC_COMMIT:
    case CT_SYNC_WAIT: sync_agent(k, note); break;
    case CT_SYNC_BEFORE:
      set(c, warp, ct_clock_of_agent(c, rank, note->w->index, CT_AGENT_TMEM),
          ++*ct_clock_groups_of(c, rank, note->w->index, CT_AGENT_TMEM));
      break;
    case CT_SYNC_AFTER: take_into_tensor(c, rank, note->w); break;
    case CT_SYNC_TMEM_ALLOC:
    case CT_SYNC_TMEM_DEALLOC: break; /* check_tensor.c */
  }
}

/* --- events ----------------------------------------------------------------------------------------------- */

void ct_clock_stamp(const CtCheckWorker *k, int32_t warp, const CtAccess *a, CtCheckEvent *e) {
  const CtClocks *c = k->clocks;
  int rank = k->k->rank;
  CtAgent agent = a == NULL ? CT_AGENT_NONE : (CtAgent)a->agent;
  size_t slot;
  e->agent = (uint8_t)agent;
  switch (agent) {
    case CT_AGENT_BAR:
      rank = a->bar_rank >= 0 ? a->bar_rank : a->is_of_pair ? rank & ~1 : rank;
      e->ends = a->ends;
      slot = ct_clock_slot_index(c, rank, a->bar, a->bar_slot);
      e->component = ct_clock_of_slot(c, rank, (uint32_t)(slot % c->n_slots));
      e->clock = c->begun[slot] + 1;
      break;
    case CT_AGENT_WGMMA:
    case CT_AGENT_BULK:
    case CT_AGENT_BULK_WRITE:
    case CT_AGENT_UMMA:
    case CT_AGENT_TMEM:
      rank = a->w->worker->rank; /* a product may reach another block's memory */
      e->component = ct_clock_of_agent(c, rank, warp, agent);
      e->clock = *ct_clock_groups_of(c, rank, warp, agent) + 1;
      break;
    case CT_AGENT_NONE:
    case CT_AGENT_COUNT:
      e->component = ct_clock_of_warp(c, rank, warp);
      e->clock = ct_clock_warp_row(c, rank, warp)[e->component];
      break;
  }
}

uint32_t ct_clock_width(const CtCheckWorker *k) { return k->clocks->n; }

void ct_clock_snapshot(const CtCheckWorker *k, int32_t warp, uint32_t *out) {
  const CtClocks *c = k->clocks;
  int rank = k->k->rank;
  int32_t first = warp == CT_ALL_WARPS ? 0 : warp;
  int32_t end = warp == CT_ALL_WARPS ? (int32_t)c->n_warps : warp + 1;
  memset(out, 0, 2 * c->n * sizeof *out);
  for (int32_t w = first; w < end; w++) {
    join(c, out, ct_clock_warp_row(c, rank, w));
    join_apart(c, rank, w, CT_ALL_LANES, out);
  }
  if (warp != CT_ALL_WARPS) {
    out[ct_clock_of_warp(c, rank, warp)] = c->own[(size_t)rank * c->n_warps + (size_t)warp];
  }
}

bool ct_clock_is_before(const CtCheckWorker *k, uint32_t component, uint32_t clock, int32_t warp,
                        int lane, bool by_agent) {
  const CtClocks *c = k->clocks;
  int rank = k->k->rank;
  uint32_t at = (by_agent ? c->n : 0) + component;
  bool is_own = !by_agent && component == ct_clock_of_warp(c, rank, warp);
  const uint32_t *seen = is_own ? &c->own[(size_t)rank * c->n_warps + (size_t)warp]
                                : &ct_clock_warp_row(c, rank, warp)[at];
  return *seen >= clock || ct_clock_has_reached(c, rank, warp, lane, at, clock);
}
