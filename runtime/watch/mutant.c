/* mutant.c: which instructions order something, and each of them with less: see mutant.h. */
#include "mutant.h"

#define ONE(mutant) (1u << (mutant))

static const char *const names[CT_N_MUTANTS] = {
    [CT_NO_SYNC_THREADS] = "sync_threads()",
    [CT_NO_SYNC_WARP] = "sync_warp()",
    [CT_NO_CP_ASYNC_WAIT] = "cp_async_wait()",
    [CT_NO_FENCE] = "fence()",
    [CT_NO_RELEASE] = "the release of an atomic operation",
    [CT_NO_ACQUIRE] = "the acquire of an atomic operation",
    [CT_NO_WGMMA_FENCE] = "wgmma_fence()",
    [CT_NO_WGMMA_WAIT] = "wgmma_wait()",
    [CT_NO_FENCE_PROXY] = "fence_proxy_async()",
    [CT_NO_STORE_WAIT] = "tma_store_wait()",
    [CT_NO_STORE_DONE] = "the option done of tma_store_wait()",
    [CT_NO_MBARRIER_WAIT] = "the wait for an mbarrier",
    [CT_NO_NAMED_SYNC] = "sync() of a named barrier",
    [CT_NO_NAMED_ARRIVE] = "arrive() of a named barrier",
    [CT_NO_CLUSTER] = "the barrier of the cluster",
    [CT_NO_SYNC_GRID] = "sync_grid()",
    [CT_NO_TCGEN05_BEFORE] = "tcgen05_before_thread_sync()",
    [CT_NO_TCGEN05_AFTER] = "tcgen05_after_thread_sync()",
    [CT_NO_CP_ASYNC_COMMIT] = "cp_async_commit()",
    [CT_NO_STORE_COMMIT] = "tma_store_commit()",
    [CT_NO_WGMMA_COMMIT] = "wgmma_commit()",
    [CT_NO_TCGEN05_COMMIT] = "tcgen05_commit()",
    [CT_NO_ARRIVAL] = "the arrival at an mbarrier",
    [CT_NO_BYTES] = "the bytes that an mbarrier expects",
    [CT_NO_GRID_WAIT] = "grid_dependency_wait()",
    [CT_FENCE_NOT_SC] = "the order \"seq_cst\" of a fence",
    [CT_SCOPE_NOT_SYS] = "the scope \"sys\""};

/* Mutants that an instruction may have; ct_mutants_of says which of them one has. */
static const uint32_t of_op[CT_SIMT_OP_COUNT] = {
    [CT_SIMT_BARRIER] = ONE(CT_NO_SYNC_THREADS),
    [CT_SIMT_SYNC_WARP] = ONE(CT_NO_SYNC_WARP),
    [CT_SIMT_SYNC_LANES] = ONE(CT_NO_SYNC_WARP),
    [CT_SIMT_CP_FENCE] = ONE(CT_NO_CP_ASYNC_COMMIT),
    [CT_SIMT_CP_WAIT] = ONE(CT_NO_CP_ASYNC_WAIT),
    [CT_SIMT_FENCE] = ONE(CT_NO_FENCE) | ONE(CT_NO_RELEASE) | ONE(CT_NO_ACQUIRE) |
                      ONE(CT_FENCE_NOT_SC) | ONE(CT_SCOPE_NOT_SYS),
    [CT_SIMT_ATOMIC] = ONE(CT_NO_RELEASE) | ONE(CT_NO_ACQUIRE) | ONE(CT_SCOPE_NOT_SYS),
    [CT_SIMT_WGMMA_FENCE] = ONE(CT_NO_WGMMA_FENCE),
    [CT_SIMT_WGMMA_COMMIT] = ONE(CT_NO_WGMMA_COMMIT),
    [CT_SIMT_WGMMA_WAIT] = ONE(CT_NO_WGMMA_WAIT),
    [CT_SIMT_TMA_ORDER] = ONE(CT_NO_STORE_COMMIT) | ONE(CT_NO_STORE_WAIT) | ONE(CT_NO_STORE_DONE) |
                          ONE(CT_NO_FENCE_PROXY),
    [CT_SIMT_MBAR] = ONE(CT_NO_MBARRIER_WAIT) | ONE(CT_NO_ARRIVAL) | ONE(CT_NO_BYTES) |
                     ONE(CT_NO_TCGEN05_COMMIT),
    [CT_SIMT_TCGEN05] = ONE(CT_NO_TCGEN05_BEFORE) | ONE(CT_NO_TCGEN05_AFTER),
    [CT_SIMT_NAMED] = ONE(CT_NO_NAMED_ARRIVE) | ONE(CT_NO_NAMED_SYNC),
    [CT_SIMT_CLUSTER_ARRIVE] = ONE(CT_NO_CLUSTER),
    [CT_SIMT_CLUSTER_WAIT] = ONE(CT_NO_CLUSTER),
    [CT_SIMT_GRID_BARRIER] = ONE(CT_NO_SYNC_GRID),
    [CT_SIMT_GRID_WAIT] = ONE(CT_NO_GRID_WAIT)};

static bool is_same_line(const CtSimtProgram *p, uint32_t i, uint32_t k) {
  return p->locs[i].chunk == p->locs[k].chunk && p->locs[i].line == p->locs[k].line;
}

static uint32_t scope_of(unsigned order) {
  return (order & CT_ORDER_SYS) != 0 ? ONE(CT_SCOPE_NOT_SYS) : 0;
}

/* An atomic operation that releases has a fence before it, one that acquires a fence after it. */
static uint32_t of_fence(const CtSimtProgram *p, uint32_t i) {
  unsigned order = (unsigned)p->code[i].imm;
  uint32_t weaker = scope_of(order);
  for (uint32_t k = i + 1; k < p->n_code && is_same_line(p, i, k); k++) {
    if (p->code[k].u.op == CT_SIMT_ATOMIC) {
      return weaker | ONE(CT_NO_RELEASE);
    }
  }
  for (uint32_t k = i; k-- > p->body && is_same_line(p, i, k);) {
    if (p->code[k].u.op == CT_SIMT_ATOMIC) {
      return weaker | ONE(CT_NO_ACQUIRE);
    }
  }
  weaker |= (order & CT_ORDER_ACQ_REL) == 0 ? ONE(CT_FENCE_NOT_SC) : 0;
  return weaker | ONE(CT_NO_FENCE);
}

static uint32_t of_atomic(const CtIn *code) {
  const CtAtomicImm imm = {.imm = code->imm};
  bool orders = (imm.u.order & CT_ORDER_RELAXED) == 0;
  uint32_t order = orders && imm.u.op == CT_OP_ATOMIC_STORE  ? ONE(CT_NO_RELEASE)
                   : orders && imm.u.op == CT_OP_ATOMIC_LOAD ? ONE(CT_NO_ACQUIRE)
                                                             : 0;
  return order | scope_of(imm.u.order);
}

static uint32_t of_agent(const CtIn *code) {
  CtSyncKind kind = (CtSyncKind)(code->imm & 0xFF);
  return kind == CT_SYNC_COMMIT ? ONE(CT_NO_STORE_COMMIT)
         : kind == CT_SYNC_WAIT
             ? ONE(CT_NO_STORE_WAIT) | ((code->imm >> 8 & 1) != 0 ? ONE(CT_NO_STORE_DONE) : 0)
             : ONE(CT_NO_FENCE_PROXY);
}

static uint32_t of_tcgen05(const CtIn *code) {
  CtSyncKind kind = (CtSyncKind)(code->imm & 0xFF);
  return kind == CT_SYNC_BEFORE  ? ONE(CT_NO_TCGEN05_BEFORE)
         : kind == CT_SYNC_AFTER ? ONE(CT_NO_TCGEN05_AFTER)
                                 : 0;
}

static uint32_t of_mbarrier(const CtIn *code) {
  const CtMbarImm bar = {.imm = code->imm};
  switch (bar.u.op) {
    case CT_OP_MBAR_WAIT: return ONE(CT_NO_MBARRIER_WAIT);
    case CT_OP_MBAR_ARRIVE:
    case CT_OP_MBAR_ARRIVE_AT: return ONE(CT_NO_ARRIVAL);
    case CT_OP_MBAR_EXPECT: return ONE(CT_NO_BYTES);
    case CT_OP_TCGEN05_COMMIT:
    case CT_OP_TCGEN05_COMMIT_TO: return ONE(CT_NO_TCGEN05_COMMIT);
    case CT_OP_MBAR_ARRIVE_EXPECT: return ONE(CT_NO_ARRIVAL) | ONE(CT_NO_BYTES);
    default: return 0;
  }
}

bool ct_program_has(const CtSimtProgram *p, CtSimtOp op) {
  bool found = false;
  for (uint32_t i = p->body; i < p->n_code && !found; i++) {
    found = p->code[i].u.op == (uint32_t)op;
  }
  return found;
}

/* Waits that nobody wrote (pass_async.c) have no mutants. They have the line of what comes after them, and where they
   are, nothing is committed. */
static uint32_t of_copy_wait(const CtSimtProgram *p, uint32_t i) {
  bool is_written = ct_program_has(p, CT_SIMT_CP_FENCE) || !is_same_line(p, i, i + 1);
  return is_written ? ONE(CT_NO_CP_ASYNC_WAIT) : 0;
}

/* cp_async_wait(0) also waits for copies of no group, so only other waits need commits. */
static uint32_t of_copy_commit(const CtSimtProgram *p) {
  bool counts = false;
  for (uint32_t i = p->body; i < p->n_code && !counts; i++) {
    counts = p->code[i].u.op == CT_SIMT_CP_WAIT && p->code[i].imm > 0;
  }
  return counts ? ONE(CT_NO_CP_ASYNC_COMMIT) : 0;
}

uint32_t ct_mutants_of(const CtSimtProgram *p, uint32_t i) {
  const CtIn *code = &p->code[i];
  switch (code->u.op) {
    case CT_SIMT_BARRIER: return code[1].u.op == CT_SIMT_TALLIED ? 0 : ONE(CT_NO_SYNC_THREADS);
    case CT_SIMT_CP_FENCE: return of_copy_commit(p);
    case CT_SIMT_CP_WAIT: return of_copy_wait(p, i);
    case CT_SIMT_FENCE: return of_fence(p, i);
    case CT_SIMT_ATOMIC: return of_atomic(code);
    case CT_SIMT_TMA_ORDER: return of_agent(code);
    case CT_SIMT_TCGEN05: return of_tcgen05(code);
    case CT_SIMT_MBAR: return of_mbarrier(code);
    case CT_SIMT_NAMED: return ONE((code->imm & 1) != 0 ? CT_NO_NAMED_ARRIVE : CT_NO_NAMED_SYNC);
    default: return of_op[code->u.op];
  }
}

bool ct_may_have_mutants(const CtIn *code) { return of_op[code->u.op] != 0; }

static CtIn with_order(CtIn in, unsigned set, unsigned clear) {
  CtAtomicImm imm = {.imm = in.imm};
  unsigned order = in.u.op == CT_SIMT_ATOMIC ? imm.u.order : (unsigned)in.imm;
  order = (order | set) & ~clear & CT_ORDER_ALL;
  imm.u.order = (uint8_t)(order & CT_ORDER_ALL);
  in.imm = in.u.op == CT_SIMT_ATOMIC ? imm.imm : (int64_t)order;
  return in;
}

CtIn ct_mutant(CtIn in, CtMutant mutant) {
  CtMbarImm bar = {.imm = in.imm};
  bool arrives = in.u.op == CT_SIMT_MBAR && bar.u.op == CT_OP_MBAR_ARRIVE_EXPECT;
  if (mutant == CT_SCOPE_NOT_SYS) {
    return with_order(in, 0, CT_ORDER_SYS);
  }
  if (mutant == CT_FENCE_NOT_SC) {
    return with_order(in, CT_ORDER_ACQ_REL, 0);
  }
  if (in.u.op == CT_SIMT_ATOMIC) {
    return with_order(in, CT_ORDER_RELAXED, 0);
  }
  if (mutant == CT_NO_STORE_DONE) {
    in.imm &= ~((int64_t)1 << 8);
    return in;
  }
  if (arrives) { /* which of the two is left */
    bar.u.op = mutant == CT_NO_BYTES ? CT_OP_MBAR_ARRIVE : CT_OP_MBAR_EXPECT;
    in.imm = bar.imm;
    return in;
  }
  return (CtIn){.u.op = CT_SIMT_JUMP, .c = 1};
}

const char *ct_mutant_name(CtMutant mutant) { return names[mutant]; }

const char *ct_mutant_object(const CtSimtProgram *p, uint32_t i) {
  const CtMbarImm bar = {.imm = p->code[i].imm};
  return p->code[i].u.op == CT_SIMT_MBAR ? p->bufs[bar.u.buf].name : NULL;
}
