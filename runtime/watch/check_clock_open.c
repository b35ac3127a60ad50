/* check_clock_open.c: the memory of vector clocks: see check_clock.h. */
#include "check_clock_row.h"
#include "check_known.h"

bool ct_clock_is_wanted(const CtSimtProgram *p) {
  bool wanted = p->n_cluster > 1 || p->has_named || p->has_wgmma || p->has_tcgen05 || p->n_tmas > 0;
  for (uint32_t b = 1; b < p->n_bufs; b++) {
    wanted = wanted || p->bufs[b].arrivals > 0;
  }
  return wanted;
}

static bool take(CtCheck *c, uint32_t **out, size_t n) {
  *out = ct_arena_alloc(&c->arena, (n + 1) * sizeof **out);
  return *out != NULL;
}

static size_t n_named(const CtClocks *c) { return 2 * CT_NAMED_BARRIERS * (size_t)c->n_blocks; }

CtClocks *ct_clock_open(CtCheck *check) {
  const CtSimtProgram *p = check->job->program;
  CtClocks *c = ct_arena_alloc(&check->arena, sizeof *c);
  if (c != NULL) {
    ct_arena_init(&c->ends, check->alloc);
  }
  if (c == NULL || !take(check, &c->slot_of, p->n_bufs)) {
    return NULL;
  }
  c->n_warps = (uint32_t)p->n_warps;
  c->n_blocks = (uint32_t)p->n_cluster;
  c->n_agents = p->has_tcgen05 ? CT_CLOCK_AGENTS_OF_TCGEN05 : CT_CLOCK_AGENTS;
  for (uint32_t b = 1; b < p->n_bufs; b++) {
    c->slot_of[b] = c->n_slots;
    c->n_slots += p->bufs[b].arrivals > 0 ? (uint32_t)p->bufs[b].n : 0;
  }
  c->n = c->n_blocks * ct_clock_per_block(c);
  size_t slots = (size_t)c->n_blocks * c->n_slots, warps = (size_t)c->n_blocks * c->n_warps;
  size_t width = 2 * (size_t)c->n;
  bool ok = take(check, &c->warps, warps * width) && take(check, &c->acc, slots * width) &&
            take(check, &c->done, slots * width) &&
            take(check, &c->named, 2 * CT_NAMED_BARRIERS * c->n_blocks * width) &&
            take(check, &c->cluster, 2 * width) && take(check, &c->grid, 2 * width) &&
            take(check, &c->made, slots) && take(check, &c->own, warps) &&
            take(check, &c->begun, slots) && take(check, &c->copies, slots) &&
            take(check, &c->copied_in, slots) && take(check, &c->turns, slots) &&
            take(check, &c->passed, slots) && take(check, &c->apart, warps) &&
            take(check, &c->groups, warps * c->n_agents) &&
            take(check, &c->tensor, p->has_tcgen05 ? warps * (size_t)c->n : 0);
  c->lane_rows = ct_arena_alloc(&check->arena, (warps * CT_LANES) * sizeof *c->lane_rows);
  ok = ok && c->lane_rows != NULL;
  c->acc_known = ct_arena_alloc(&check->arena, (slots + 1) * sizeof *c->acc_known);
  c->done_known = ct_arena_alloc(&check->arena, (slots + 1) * sizeof *c->done_known);
  c->named_known = ct_arena_alloc(&check->arena, n_named(c) * sizeof *c->named_known);
  c->cluster_known = ct_arena_alloc(&check->arena, 2 * sizeof *c->cluster_known);
  ok = ok && c->acc_known != NULL && c->done_known != NULL && c->named_known != NULL &&
       c->cluster_known != NULL;
  c->far = ct_arena_alloc(&check->arena, c->n_blocks * (size_t)c->n * sizeof *c->far);
  c->promised = ct_arena_alloc(&check->arena, (slots + 1) * sizeof(CtPromise *));
  c->sent = ct_arena_alloc(&check->arena, (c->n_blocks * slots + 1) * sizeof *c->sent);
  ok = ok && c->promised != NULL && c->sent != NULL;
  c->stores = ct_arena_alloc(&check->arena, warps * sizeof *c->stores);
  return ok && c->far != NULL && c->stores != NULL ? c : NULL;
}

void ct_clock_clear_known(const CtCheckWorker *k, CtKnowledge **known, size_t n) {
  for (size_t i = 0; known != NULL && i < n; i++) {
    ct_known_clear(k->check->alloc, &known[i]);
  }
}

void ct_clock_close(CtCheckWorker *k) {
  CtClocks *c = k->clocks;
  if (c != NULL) {
    ct_arena_clear(&c->ends);
    ct_clock_forget_promises(k, 0, (size_t)c->n_blocks * c->n_slots);
    ct_clock_clear_known(k, c->acc_known, (size_t)c->n_blocks * c->n_slots);
    ct_clock_clear_known(k, c->done_known, (size_t)c->n_blocks * c->n_slots);
    ct_clock_clear_known(k, c->named_known, n_named(c));
    ct_clock_clear_known(k, c->cluster_known, 2);
    for (size_t i = 0; c->lane_rows != NULL && i < (size_t)c->n_blocks * c->n_warps * CT_LANES;
         i++) {
      ct_free(k->check->alloc, c->lane_rows[i], 2 * (size_t)c->n * sizeof **c->lane_rows);
    }
  }
}
