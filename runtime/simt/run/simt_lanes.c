/* simt_lanes.c: handlers of the CPU engine for operations of some lanes of a warp, and for barriers
   that count.

   Masks. Lanes run in step, so the lanes of a mask are here together or not at all. The masks of the
   lanes that are here must divide them into groups: each lane's mask names the lane itself and only
   lanes that are here, and all of these have the same mask.

   Tallies. Warps add to the block's tally before the barrier and read it after that. A warp may come to
   the next barrier before another one has read. So three tallies take turns, and a reader clears the
   one before its own: all warps have read that, and nobody adds to it before the next barrier. */
#include "simt_run.h"

enum { N_TALLIES = CT_ARRAY_LEN(((CtWorker *)NULL)->tallies) };

/* --- masks ------------------------------------------------------------------------------------------ */

/* Records the failure, and returns true. */
static bool fails(const CtIn *in, CtWarp *w, int lane, CtFailKind kind, int other) {
  (void)ct_simt_fail_kind(w, in, lane, kind);
  w->worker->fail.off = other;
  return true;
}

static bool is_wrong_group(const CtIn *in, CtWarp *w, const uint32_t *mask, int lane) {
  uint32_t group = mask[lane], absent = group & ~w->mask;
  if ((group >> lane & 1) == 0) {
    return fails(in, w, lane, CT_FAIL_MASK_OWN, lane);
  }
  if (absent != 0) {
    return fails(in, w, lane, CT_FAIL_MASK_ABSENT, ct_first_lane(absent));
  }
  for (uint32_t rest = group; rest != 0; rest &= rest - 1) {
    int other = ct_first_lane(rest);
    if (mask[other] != group) {
      return fails(in, w, lane, CT_FAIL_MASK_OTHER, other);
    }
  }
  return false;
}

static bool are_wrong(const CtIn *in, CtWarp *w, const uint32_t *mask) {
  for (uint32_t rest = w->mask; rest != 0; rest &= ~mask[ct_first_lane(rest)]) {
    if (is_wrong_group(in, w, mask, ct_first_lane(rest))) {
      return true;
    }
  }
  return false;
}

/* --- what a group does ---------------------------------------------------------------------------- */

/* Values of 4 bytes are widened without a sign. */
typedef struct Lanes {
  CtMaskedImm imm;
  uint64_t value[CT_LANES], result[CT_LANES];
  const int32_t *by;
} Lanes;

static uint32_t lanes_with(const Lanes *l, uint32_t group, uint64_t value) {
  uint32_t same = 0;
  for (; group != 0; group &= group - 1) {
    int lane = ct_first_lane(group);
    same |= (uint32_t)(l->value[lane] == value) << lane;
  }
  return same;
}

static void give(Lanes *l, uint32_t group, uint64_t result) {
  for (; group != 0; group &= group - 1) {
    l->result[ct_first_lane(group)] = result;
  }
}

/* A lane outside the group has no value to give: the reader keeps its own. */
static void shuffle(Lanes *l, uint32_t group) {
  for (uint32_t rest = group; rest != 0; rest &= rest - 1) {
    int lane = ct_first_lane(rest);
    int from = ct_simt_shfl_source((CtShfl)l->imm.u.kind, lane, l->by[lane], l->imm.u.width);
    l->result[lane] = l->value[(group >> from & 1) != 0 ? from : lane];
  }
}

static void any(Lanes *l, uint32_t group) { give(l, group, lanes_with(l, group, 0) != group); }
static void all(Lanes *l, uint32_t group) { give(l, group, lanes_with(l, group, 0) == 0); }
static void ballot(Lanes *l, uint32_t group) { give(l, group, group & ~lanes_with(l, group, 0)); }

/* A hash table of the lanes' values: those of each, and the first of them. */
enum { MATCH_BITS = 6, MATCH_SLOTS = 1 << MATCH_BITS };

typedef struct Match {
  uint32_t lanes[MATCH_SLOTS]; /* 0: the slot is free */
  uint8_t first[MATCH_SLOTS];
} Match;

/* The slot of the lane's value. Half of the slots stay free, so the search ends. */
static size_t match_slot(const Lanes *l, const Match *m, int lane) {
  size_t slot = (size_t)(l->value[lane] * UINT64_C(0x9E3779B97F4A7C15) >> (64 - MATCH_BITS));
  while (m->lanes[slot] != 0 && l->value[m->first[slot]] != l->value[lane]) {
    slot = (slot + 1) % MATCH_SLOTS;
  }
  return slot;
}

static void match_any(Lanes *l, uint32_t group) {
  Match m = {.lanes = {0}};
  size_t slots[CT_LANES];
  for (uint32_t rest = group; rest != 0; rest &= rest - 1) {
    int lane = ct_first_lane(rest);
    size_t slot = slots[lane] = match_slot(l, &m, lane);
    m.first[slot] = m.lanes[slot] == 0 ? (uint8_t)lane : m.first[slot];
    m.lanes[slot] |= 1u << lane;
  }
  for (uint32_t rest = group; rest != 0; rest &= rest - 1) {
    l->result[ct_first_lane(rest)] = m.lanes[slots[ct_first_lane(rest)]];
  }
}

static void match_all(Lanes *l, uint32_t group) {
  uint32_t same = lanes_with(l, group, l->value[ct_first_lane(group)]);
  give(l, group, same == group ? group : 0);
}

static bool is_less(const Lanes *l, uint32_t a, uint32_t b) {
  return l->imm.u.is_unsigned ? a < b : (int32_t)a < (int32_t)b;
}

static uint32_t combine(const Lanes *l, uint32_t a, uint32_t b) {
  switch ((CtMasked)l->imm.u.kind) {
    case CT_MASKED_ADD: return a + b;
    case CT_MASKED_MIN: return is_less(l, b, a) ? b : a;
    case CT_MASKED_MAX: return is_less(l, a, b) ? b : a;
    case CT_MASKED_AND: return a & b;
    case CT_MASKED_OR: return a | b;
    case CT_MASKED_XOR: return a ^ b;
    case CT_MASKED_ANY:
    case CT_MASKED_ALL:
    case CT_MASKED_BALLOT:
    case CT_MASKED_MATCH_ANY:
    case CT_MASKED_MATCH_ALL:
    case CT_MASKED_COUNT: break;
  }
  CT_UNREACHABLE(); /* the others combine no words */
}

static void reduce(Lanes *l, uint32_t group) {
  uint32_t r = (uint32_t)l->value[ct_first_lane(group)];
  for (uint32_t rest = group & (group - 1); rest != 0; rest &= rest - 1) {
    r = combine(l, r, (uint32_t)l->value[ct_first_lane(rest)]);
  }
  give(l, group, r);
}

static void (*const kinds[CT_MASKED_COUNT])(Lanes *l,
                                            uint32_t group) = {[CT_SHFL_UP] = shuffle,
                                                               [CT_SHFL_DOWN] = shuffle,
                                                               [CT_SHFL_XOR] = shuffle,
                                                               [CT_SHFL_IDX] = shuffle,
                                                               [CT_MASKED_ANY] = any,
                                                               [CT_MASKED_ALL] = all,
                                                               [CT_MASKED_BALLOT] = ballot,
                                                               [CT_MASKED_MATCH_ANY] = match_any,
                                                               [CT_MASKED_MATCH_ALL] = match_all,
                                                               [CT_MASKED_ADD] = reduce,
                                                               [CT_MASKED_MIN] = reduce,
                                                               [CT_MASKED_MAX] = reduce,
                                                               [CT_MASKED_AND] = reduce,
                                                               [CT_MASKED_OR] = reduce,
                                                               [CT_MASKED_XOR] = reduce};

uint32_t ct_simt_lanes_read(const CtIn *code, const CtWarp *w, int lane, bool *is_outside) {
  const CtMaskedImm imm = {.imm = code->imm};
  bool is_masked = code->u.op == CT_SIMT_MASKED && !imm.u.is_whole;
  uint32_t group = is_masked ? CT_CAT(uint32_t, w, code->c)[lane] : w->mask;
  *is_outside = false;
  if (imm.u.kind >= CT_SHFL_COUNT) {
    return group;
  }
  int by = CT_CAT(int32_t, w, code->b)[lane];
  int from = ct_simt_shfl_source((CtShfl)imm.u.kind, lane, by, imm.u.width);
  *is_outside = (group >> from & 1) == 0;
  return *is_outside ? 1u << lane : 1u << from;
}

/* --- handlers --------------------------------------------------------------------------------------- */

static void load(Lanes *l, const CtIn *in, CtWarp *w) {
  l->imm.imm = in->imm;
  l->by = CT_AT(int32_t, w, in->b);
  for (int i = 0; i < CT_LANES; i++) {
    l->value[i] = l->imm.u.bytes == 8 ? CT_AT(uint64_t, w, in->a)[i] : CT_AT(uint32_t, w, in->a)[i];
  }
}

/* Only a shuffle has a result of 8 bytes. */
static void store(const Lanes *l, const CtIn *in, CtWarp *w) {
  bool is_wide = l->imm.u.bytes == 8 && l->imm.u.kind < CT_SHFL_COUNT;
  for (uint32_t rest = w->mask; rest != 0; rest &= rest - 1) {
    int lane = ct_first_lane(rest);
    if (is_wide) {
      CT_AT(uint64_t, w, in->d)[lane] = l->result[lane];
    } else {
      CT_AT(uint32_t, w, in->d)[lane] = (uint32_t)l->result[lane];
    }
  }
}

const CtIn *ct_simt_do_MASKED(const CtIn *in, CtWarp *w) {
  const uint32_t *mask = CT_AT(uint32_t, w, in->c);
  Lanes l;
  load(&l, in, w);
  if (l.imm.u.is_whole && w->mask != w->live) {
    return ct_simt_fail_kind(w, in, ct_first_lane(w->mask), CT_FAIL_WARP_LANES);
  }
  if (!l.imm.u.is_whole && are_wrong(in, w, mask)) {
    return NULL;
  }
  for (uint32_t rest = w->mask, group; rest != 0; rest &= ~group) {
    group = l.imm.u.is_whole ? w->mask : mask[ct_first_lane(rest)];
    kinds[l.imm.u.kind](&l, group);
  }
  store(&l, in, w);
  return in + 1;
}

const CtIn *ct_simt_do_SYNC_LANES(const CtIn *in, CtWarp *w) {
  return are_wrong(in, w, CT_AT(uint32_t, w, in->c)) ? NULL : in + 1;
}

const CtIn *ct_simt_do_ACTIVE_MASK(const CtIn *in, CtWarp *w) {
  for (int i = 0; i < CT_LANES; i++) {
    CT_AT(uint32_t, w, in->d)[i] = w->mask;
  }
  return in + 1;
}

/* --- barriers that count -------------------------------------------------------------------------- */

/* AND counts the lanes in which the condition does not hold. */
const CtIn *ct_simt_do_TALLY(const CtIn *in, CtWarp *w) {
  uint32_t lanes = *CT_AT(uint32_t, w, in->a);
  lanes = (in->imm == CT_OP_BARRIER_AND ? ~lanes : lanes) & w->mask;
  w->worker->tallies[w->n_tallies++ % N_TALLIES] += __builtin_popcount(lanes);
  return in + 1;
}

const CtIn *ct_simt_do_TALLIED(const CtIn *in, CtWarp *w) {
  uint32_t own = (w->n_tallies + N_TALLIES - 1) % N_TALLIES;
  int32_t n = w->worker->tallies[own];
  w->worker->tallies[(own + N_TALLIES - 1) % N_TALLIES] = 0;
  CT_AT(CtScalar, w, in->d)->i = in->imm == CT_OP_BARRIER_COUNT ? n
                                 : in->imm == CT_OP_BARRIER_AND ? n == 0
                                                                : n != 0;
  return in + 1;
}
