/* simt_sync.c: handlers of the CPU engine for mbarriers, named barriers and roles of warp
   groups.

   Parking. A handler that has to wait parks its warp: it stores the instruction in CtWarp.parked
   and steps the warp back before it. The engine lets the other warps run and then runs the
   instruction again (simt_team.c). So a handler runs once for each try, and only the first try
   may change anything. The later ones see `parked`, as in ct_simt_do_NAMED.

   Phases. The current phase of an mbarrier is complete when no arrival is missing (state) and no
   byte (tx). It turns over at once: the arrivals are counted from their full number again. So a
   barrier with no arrival missing waits for bytes only, and one more arrival is an error. Bytes
   may come before they are expected; tx is negative in between. */
#include "simt_copy.h"
#include "simt_sync.h"
#include "simt_team.h"
#include "simt_watch.h"

enum { WARP_GROUP = 4 };

/* --- mbarriers ------------------------------------------------------------------------------------- */

static void init_one(CtMbar *b, uint32_t count) { *b = (CtMbar){0, CT_MBAR_MADE | count}; }

/* Begins the next phase if nothing is missing in this one. */
static void turn_over(CtMbar *b, uint32_t count) {
  if (ct_mbar_missing(b) == 0 && b->tx == 0) {
    b->state = ((b->state & ~(uint32_t)CT_MBAR_MAX) ^ CT_MBAR_ODD) | CT_MBAR_TURNED | count;
  }
}

static CtFailKind arrive_one(CtMbar *b, uint32_t count) {
  if (!ct_mbar_is_made(b)) {
    return CT_FAIL_MBAR_NEW;
  }
  if (ct_mbar_missing(b) == 0) {
    return CT_FAIL_MBAR_ARRIVALS;
  }
  b->state--;
  turn_over(b, count);
  return CT_FAIL_NONE;
}

static CtFailKind add_bytes(CtMbar *b, int64_t bytes) {
  int64_t tx = b->tx + bytes;
  if (!ct_mbar_is_made(b)) {
    return CT_FAIL_MBAR_NEW;
  }
  if (tx > CT_MBAR_MAX || tx < -CT_MBAR_MAX) {
    return CT_FAIL_MBAR_BYTES;
  }
  b->tx = (int32_t)tx;
  return CT_FAIL_NONE;
}

static CtFailKind complete_one(CtMbar *b, uint32_t count, int64_t bytes) {
  CtFailKind kind = add_bytes(b, -bytes);
  if (kind == CT_FAIL_NONE) {
    turn_over(b, count);
  }
  return kind;
}

static const CtIn *fail_at(CtWarp *w, const CtIn *in, int lane, CtFailKind kind, uint32_t buf,
                           int64_t off) {
  (void)ct_simt_fail_kind(w, in, lane, kind);
  w->worker->fail.buf = buf;
  w->worker->fail.off = off;
  return NULL;
}

bool ct_simt_mbar_complete_at(CtWarp *w, const CtIn *in, int lane, int rank, uint32_t buf,
                              int64_t slot, int64_t bytes) {
  if (slot < 0 || slot >= w->mem[buf].n) {
    (void)ct_simt_fail_bounds(w, in, lane, buf, slot, true);
    return false;
  }
  uint32_t count = w->worker->job->program->bufs[buf].arrivals;
  CtMbar *bar = ct_mbar_of(w, rank, buf, slot);
  uint32_t before = bar->state;
  CtFailKind kind = complete_one(bar, count, bytes);
  ct_simt_note_change(w->worker->job);
  ct_simt_note_sync(&(CtSyncNote){.kind = CT_SYNC_COMPLETE,
                                  .in = in,
                                  .w = w,
                                  .lane = lane,
                                  .rank = rank,
                                  .buf = buf,
                                  .slot = slot,
                                  .turns = ((before ^ bar->state) & CT_MBAR_ODD) != 0,
                                  .missing = ct_mbar_missing(bar),
                                  .tx = bar->tx,
                                  .n = bytes});
  return kind == CT_FAIL_NONE || fail_at(w, in, lane, kind, buf, slot) != NULL;
}

static CtFailKind operate(CtOp op, CtMbar *bar, uint32_t count, int32_t b) {
  bool expects = op == CT_OP_MBAR_EXPECT || op == CT_OP_MBAR_ARRIVE_EXPECT;
  CtFailKind kind = expects ? add_bytes(bar, b) : CT_FAIL_NONE;
  return kind != CT_FAIL_NONE || op == CT_OP_MBAR_EXPECT ? kind : arrive_one(bar, count);
}

/* Parks the warp: the engine runs this instruction again after the other warps. */
static const CtIn *park(const CtIn *in, CtWarp *w) {
  w->parked = in;
  w->pc = in - 1;
  return NULL;
}

/* Notes that lanes have passed their barriers: once for the first lane, and for each lane with
   another barrier. */
static void note_passes(const CtIn *in, CtWarp *w, uint32_t buf, uint32_t lanes) {
  const int32_t *slot = CT_AT(int32_t, w, in->a);
  for (uint32_t rest = lanes; rest != 0; rest &= rest - 1) {
    int lane = ct_first_lane(rest);
    if (rest == lanes || slot[lane] != slot[ct_first_lane(lanes)]) {
      ct_simt_note_sync(&(CtSyncNote){.kind = CT_SYNC_PASS,
                                      .in = in,
                                      .w = w,
                                      .lane = lane,
                                      .rank = w->worker->rank,
                                      .buf = buf,
                                      .slot = slot[lane]});
    }
  }
}

static const CtIn *pass(const CtIn *in, CtWarp *w) {
  w->n_passed += w->parked != NULL;
  w->parked = NULL;
  return in + 1;
}

/* The lanes for which the phase that they wait for is complete. */
static uint32_t lanes_done(const CtIn *in, CtWarp *w, uint32_t buf) {
  const int32_t *slot = CT_AT(int32_t, w, in->a), *parity = CT_AT(int32_t, w, in->b);
  uint32_t done = 0;
  for (uint32_t rest = w->mask; rest != 0; rest &= rest - 1) {
    int lane = ct_first_lane(rest);
    CtMbar *bar = ct_mbar_at(w, buf, slot[lane]);
    bool is_done = ct_mbar_is_done(bar, parity[lane]);
    bar->state |= is_done ? CT_MBAR_SEEN : 0;
    done |= (uint32_t)is_done << lane;
  }
  return done;
}

/* The barrier that a lane changes: its own block's, or that of the rank it names; NULL if there
   is no such block. */
static CtMbar *target(const CtIn *in, CtWarp *w, CtMbarImm imm, int lane) {
  int32_t slot = CT_AT(int32_t, w, in->a)[lane], rank = CT_AT(int32_t, w, in->b)[lane];
  if (imm.u.op != CT_OP_MBAR_ARRIVE_AT) {
    return ct_mbar_at(w, imm.u.buf, slot);
  }
  bool is_there = rank >= 0 && rank < w->worker->job->program->n_cluster;
  return is_there ? ct_mbar_of(w, rank, imm.u.buf, slot) : NULL;
}

/* Are the slot, and the parity of an operation that has one, valid? If not, the failure is
   recorded. */
static bool check_lane(const CtIn *in, CtWarp *w, CtMbarImm imm, int lane) {
  int32_t slot = CT_AT(int32_t, w, in->a)[lane], b = CT_AT(int32_t, w, in->b)[lane];
  bool has_parity = imm.u.op == CT_OP_MBAR_WAIT || imm.u.op == CT_OP_MBAR_TEST;
  if (slot < 0 || slot >= w->mem[imm.u.buf].n) {
    (void)ct_simt_fail_bounds(w, in, lane, imm.u.buf, slot, false);
    return false;
  }
  if (!ct_mbar_is_made(ct_mbar_at(w, imm.u.buf, slot))) {
    (void)fail_at(w, in, lane, CT_FAIL_MBAR_NEW, imm.u.buf, slot);
    return false;
  }
  if (has_parity && b != 0 && b != 1) {
    (void)fail_at(w, in, lane, CT_FAIL_MBAR_PARITY, imm.u.buf, b);
    return false;
  }
  return true;
}

static const CtIn *init(const CtIn *in, CtWarp *w, uint32_t buf) {
  uint32_t count = w->worker->job->program->bufs[buf].arrivals;
  for (int64_t i = 0; w->index == 0 && (w->mask & 1) != 0 && i < w->mem[buf].n; i++) {
    init_one(ct_mbar_at(w, buf, i), count);
  }
  if (w->index == 0) {
    ct_simt_note_sync(&(CtSyncNote){.kind = CT_SYNC_INIT, .in = in, .w = w, .buf = buf});
  }
  return in + 1;
}

/* What a commit does at the barriers of the cluster's blocks whose bits are set. */
static const CtIn *commit_to(const CtIn *in, CtWarp *w, CtMbarImm imm) {
  int lane = ct_first_lane(w->mask), n = w->worker->job->program->n_cluster;
  int64_t slot = CT_AT(int32_t, w, in->a)[lane];
  uint32_t count = w->worker->job->program->bufs[imm.u.buf].arrivals;
  for (uint32_t rest = (uint32_t)CT_AT(int32_t, w, in->b)[lane] & 0xffff; rest != 0;
       rest &= rest - 1) {
    int rank = ct_first_lane(rest);
    if (rank >= n) {
      return fail_at(w, in, lane, CT_FAIL_MBAR_RANK, imm.u.buf, rank);
    }
    CtMbar *bar = ct_mbar_of(w, rank, imm.u.buf, slot);
    if (!ct_mbar_is_made(bar)) {
      return fail_at(w, in, lane, CT_FAIL_MBAR_NEW, imm.u.buf, slot);
    }
    uint32_t before = bar->state;
    CtFailKind kind = operate(CT_OP_TCGEN05_COMMIT, bar, count, 0);
    ct_simt_note_sync(&(CtSyncNote){.kind = CT_SYNC_ARRIVE,
                                    .in = in,
                                    .w = w,
                                    .lane = lane,
                                    .rank = rank,
                                    .buf = imm.u.buf,
                                    .slot = slot,
                                    .turns = ((before ^ bar->state) & CT_MBAR_ODD) != 0,
                                    .missing = ct_mbar_missing(bar),
                                    .tx = bar->tx,
                                    .agent = CT_AGENT_UMMA});
    if (kind != CT_FAIL_NONE) {
      return fail_at(w, in, lane, kind, imm.u.buf, slot);
    }
  }
  ct_simt_note_change(w->worker->job);
  return in + 1;
}

static bool complete_store(const CtSimtCopy *copy) {
  return ct_simt_mbar_complete_at(copy->w, copy->in, copy->lane, copy->rank, copy->buf, copy->slot,
                                  copy->bytes);
}

/* What the lanes have stored to other blocks is there. */
static const CtIn *complete_to(const CtIn *in, CtWarp *w, CtMbarImm imm) {
  const int32_t *slot = CT_AT(int32_t, w, in->a), *rank = CT_AT(int32_t, w, in->b);
  for (uint32_t rest = w->mask; rest != 0; rest &= rest - 1) {
    int lane = ct_first_lane(rest);
    if (!ct_simt_copy_begin(&(CtSimtCopy){.in = in,
                                          .w = w,
                                          .lane = lane,
                                          .rank = rank[lane],
                                          .buf = imm.u.buf,
                                          .slot = slot[lane],
                                          .bytes = imm.u.bytes,
                                          .complete = complete_store})) {
      return NULL;
    }
  }
  return in + 1;
}

/* An operation that changes barriers, lane by lane. */
static const CtIn *change(const CtIn *in, CtWarp *w, CtMbarImm imm) {
  const int32_t *slot = CT_AT(int32_t, w, in->a), *b = CT_AT(int32_t, w, in->b);
  uint32_t count = w->worker->job->program->bufs[imm.u.buf].arrivals;
  bool is_to = imm.u.op == CT_OP_TCGEN05_COMMIT_TO;
  bool is_commit = imm.u.op == CT_OP_TCGEN05_COMMIT || is_to;
  if (is_commit && (w->mask & (w->mask - 1)) != 0) {
    return fail_at(w, in, ct_first_lane(w->mask), CT_FAIL_ISSUE, imm.u.buf,
                   __builtin_popcount(w->mask));
  }
  if (is_to && w->mask != 0) {
    return commit_to(in, w, imm);
  }
  if (imm.u.bytes > 0) {
    return complete_to(in, w, imm);
  }
  for (uint32_t rest = w->mask; rest != 0; rest &= rest - 1) {
    int lane = ct_first_lane(rest);
    CtMbar *bar = target(in, w, imm, lane);
    if (bar == NULL) {
      return fail_at(w, in, lane, CT_FAIL_MBAR_RANK, imm.u.buf, b[lane]);
    }
    uint32_t before = bar->state;
    CtFailKind kind = operate((CtOp)imm.u.op, bar, count, b[lane]);
    bool is_far = imm.u.op == CT_OP_MBAR_ARRIVE_AT;
    bool arrives = imm.u.op != CT_OP_MBAR_EXPECT;
    ct_simt_note_sync(&(CtSyncNote){.kind = arrives ? CT_SYNC_ARRIVE : CT_SYNC_EXPECT,
                                    .in = in,
                                    .w = w,
                                    .lane = lane,
                                    .rank = is_far ? b[lane] : w->worker->rank,
                                    .buf = imm.u.buf,
                                    .slot = slot[lane],
                                    .turns = ((before ^ bar->state) & CT_MBAR_ODD) != 0,
                                    .missing = ct_mbar_missing(bar),
                                    .tx = bar->tx,
                                    .agent = is_commit ? CT_AGENT_UMMA : CT_AGENT_NONE});
    if (kind != CT_FAIL_NONE) {
      return fail_at(w, in, lane, kind, imm.u.buf, slot[lane]);
    }
  }
  ct_simt_note_change(w->worker->job);
  return in + 1;
}

const CtIn *ct_simt_do_MBAR(const CtIn *in, CtWarp *w) {
  const CtMbarImm imm = {.imm = in->imm};
  if (imm.u.op == CT_OP_MBAR_INIT) {
    return init(in, w, imm.u.buf);
  }
  for (uint32_t rest = w->mask; rest != 0; rest &= rest - 1) {
    if (!check_lane(in, w, imm, ct_first_lane(rest))) {
      return NULL;
    }
  }
  bool is_test = imm.u.op == CT_OP_MBAR_TEST;
  if (!is_test && imm.u.op != CT_OP_MBAR_WAIT) {
    return change(in, w, imm);
  }
  uint32_t done = lanes_done(in, w, imm.u.buf);
  if (!is_test && done != w->mask) {
    return park(in, w);
  }
  note_passes(in, w, imm.u.buf, done);
  if (is_test) {
    *CT_AT(uint32_t, w, in->d) = done;
    return in + 1;
  }
  return pass(in, w);
}

/* --- named barriers ---------------------------------------------------------------------------------- */

/* The number that all lanes of the warp give; 0 if they differ or it is not the number of a
   barrier. */
static int32_t number_of(const CtIn *in, CtWarp *w) {
  const int32_t *id = CT_AT(int32_t, w, in->a);
  int32_t first = id[ct_first_lane(w->mask)];
  for (uint32_t rest = w->mask; rest != 0; rest &= rest - 1) {
    if (id[ct_first_lane(rest)] != first) {
      return 0;
    }
  }
  return first > 0 && first < CT_NAMED_BARRIERS ? first : 0;
}

static void note_named(const CtIn *in, CtWarp *w, CtSyncKind kind, int32_t id, bool turns) {
  ct_simt_note_sync(&(CtSyncNote){
      .kind = kind, .in = in, .w = w, .lane = ct_first_lane(w->mask), .slot = id, .turns = turns});
}

const CtIn *ct_simt_do_NAMED(const CtIn *in, CtWarp *w) {
  int lane = ct_first_lane(w->mask);
  int32_t id = number_of(in, w);
  uint32_t n_threads = (uint32_t)(in->imm >> 1);
  bool is_arrive = (in->imm & 1) != 0;
  if (w->mask != w->live) {
    return ct_simt_fail_kind(w, in, lane, CT_FAIL_NAMED_LANES);
  }
  if (id == 0) {
    return fail_at(w, in, lane, CT_FAIL_NAMED_ID, 0, CT_AT(int32_t, w, in->a)[lane]);
  }
  CtNamedBar *bar = &w->worker->named[id];
  if (w->parked != NULL) { /* it has arrived */
    if (bar->phase == w->phase) {
      return park(in, w);
    }
    note_named(in, w, CT_SYNC_NAMED_PASS, id, false);
    return pass(in, w);
  }
  if (bar->n_threads != 0 && bar->n_threads != n_threads) {
    return fail_at(w, in, lane, CT_FAIL_NAMED_THREADS, 0, (int64_t)bar->n_threads << 8 | id);
  }
  w->phase = bar->phase;
  bar->n_threads = n_threads;
  bar->n_arrived += CT_LANES;
  bool turns = bar->n_arrived == n_threads;
  note_named(in, w, CT_SYNC_NAMED_ARRIVE, id, turns);
  if (turns) {
    *bar = (CtNamedBar){.phase = bar->phase + 1};
  }
  if (turns && !is_arrive) {
    note_named(in, w, CT_SYNC_NAMED_PASS, id, false);
  }
  return turns || is_arrive ? in + 1 : park(in, w);
}

/* --- wgmma ------------------------------------------------------------------------------------------- */

/* Have all four warps of the warp group committed that many groups? The engine multiplies at
   once, each warp its own rows. But a product belongs to the whole warp group, so a wait for it
   ends only then. */
static bool has_come(const CtWarp *w, uint32_t groups) {
  const CtSimtProgram *p = w->worker->job->program;
  for (int32_t i = w->index - w->index % WARP_GROUP;
       i < p->n_warps && i / WARP_GROUP == w->index / WARP_GROUP; i++) {
    const CtWarp *other = CT_CAT(CtWarp, w->worker->warps, (size_t)i * p->warp_bytes);
    if (other->pc != NULL && other->n_groups < groups) {
      return false;
    }
  }
  return true;
}

static void note_groups(const CtIn *in, CtWarp *w, CtSyncKind kind) {
  ct_simt_note_sync(&(CtSyncNote){.kind = kind,
                                  .in = in,
                                  .w = w,
                                  .lane = ct_first_lane(w->live),
                                  .agent = CT_AGENT_WGMMA,
                                  .n = in->imm});
}

const CtIn *ct_simt_do_WGMMA_COMMIT(const CtIn *in, CtWarp *w) {
  w->n_groups++;
  note_groups(in, w, CT_SYNC_COMMIT);
  return in + 1;
}

const CtIn *ct_simt_do_WGMMA_WAIT(const CtIn *in, CtWarp *w) {
  if (w->n_groups > in->imm && !has_come(w, w->n_groups - (uint32_t)in->imm)) {
    return park(in, w);
  }
  note_groups(in, w, CT_SYNC_WAIT);
  return pass(in, w);
}

/* --- roles --------------------------------------------------------------------------------------------- */

/* PTX does not say which lane is elected. A launch that is judged elects the last one: so lane 0 is not taken for it. */
const CtIn *ct_simt_do_ELECT(const CtIn *in, CtWarp *w) {
  if (w->mask != w->live) {
    return ct_simt_fail_kind(w, in, ct_first_lane(w->mask), CT_FAIL_WARP_LANES);
  }
  const CtSimtWatch *watch = w->worker->job->watch;
  bool is_judged = watch != NULL && watch->ops->one_order;
  int last = CT_LANES - 1 - __builtin_clz(w->mask);
  *CT_AT(uint32_t, w, in->d) = 1u << (is_judged ? last : ct_first_lane(w->mask));
  return in + 1;
}

/* A block owns the registers with which its threads begin. A warp that asks for more waits until
   other warps have given theirs back. */
const CtIn *ct_simt_do_SETMAXNREG(const CtIn *in, CtWarp *w) {
  if (w->mask != w->live) {
    return ct_simt_fail_kind(w, in, ct_first_lane(w->mask), CT_FAIL_WARP_LANES);
  }
  int n = (int)in->imm, more = (n - w->registers) * CT_LANES;
  if (n > w->worker->job->program->first_registers ? more < 0 : more > 0) {
    return fail_at(w, in, ct_first_lane(w->mask), CT_FAIL_REGISTERS, 0, w->registers);
  }
  if (more > w->worker->free_registers) {
    return park(in, w);
  }
  w->worker->free_registers -= more;
  w->registers = n;
  return pass(in, w);
}

/* --- what a plan asks -------------------------------------------------------------------------------- */

/* A wait that would fail is ready too. */
static bool mbar_is_ready(const CtIn *in, CtWarp *w) {
  const CtMbarImm imm = {.imm = in->imm};
  const int32_t *slot = CT_AT(int32_t, w, in->a), *parity = CT_AT(int32_t, w, in->b);
  bool all = true;
  for (uint32_t rest = imm.u.op == CT_OP_MBAR_WAIT ? w->mask : 0; rest != 0; rest &= rest - 1) {
    int lane = ct_first_lane(rest);
    bool is_valid = slot[lane] >= 0 && slot[lane] < w->mem[imm.u.buf].n;
    const CtMbar *bar = is_valid ? ct_mbar_at(w, imm.u.buf, slot[lane]) : NULL;
    if (bar == NULL || !ct_mbar_is_made(bar)) {
      return true;
    }
    all = all && ct_mbar_is_done(bar, parity[lane]);
  }
  return all;
}

bool ct_simt_is_ready(CtWarp *w, const CtIn *in) {
  const CtSimtJob *job = w->worker->job;
  switch (job->program->code[in - job->code].u.op) {
    case CT_SIMT_MBAR: return mbar_is_ready(in, w);
    case CT_SIMT_NAMED:
      return w->parked == NULL || w->worker->named[number_of(in, w)].phase != w->phase;
    case CT_SIMT_CLUSTER_WAIT: return ct_simt_cluster_is_ready(w);
    case CT_SIMT_WGMMA_WAIT:
      return w->n_groups <= in->imm || has_come(w, w->n_groups - (uint32_t)in->imm);
    case CT_SIMT_SETMAXNREG:
      return ((int)in->imm - w->registers) * CT_LANES <= w->worker->free_registers;
    default: return true;
  }
}
