/* simt_fail.c: what stopped a launch on the CPU engine. Handlers record it in a few words; this
   file makes a message of them at the end. */
#include "simt_place.h"
#include "simt_team.h"

#include <stdio.h>
#include <string.h>

#include "runtime/ir/ir_tma.h"

const CtIn *ct_simt_fail_kind(CtWarp *w, const CtIn *in, int lane, CtFailKind kind) {
  w->worker->fail = (CtFail){.kind = kind, .in = in, .warp = w, .lane = lane};
  return NULL;
}

const CtIn *ct_simt_fail_bounds(CtWarp *w, const CtIn *in, int lane, uint32_t buf, int64_t off,
                                bool is_write) {
  w->worker->fail = (CtFail){.kind = CT_FAIL_BOUNDS,
                             .in = in,
                             .warp = w,
                             .lane = lane,
                             .off = off,
                             .buf = buf,
                             .is_write = is_write};
  return NULL;
}

/* --- messages --------------------------------------------------------------------------------------- */

static CtLoc loc_of(const CtSimtJob *job, const CtIn *in) {
  return job->program->locs[in - job->code];
}

/* The instruction as the program has it, not bound to a handler. */
static const CtIn *code_of(const CtSimtJob *job, const CtIn *in) {
  return &job->program->code[in - job->code];
}

static CtStatus report_bounds(const CtWorker *worker, const char *who, CtErr *err) {
  const CtFail *f = &worker->fail;
  const CtSimtBuf *buf = &worker->job->program->bufs[f->buf];
  const CtMem *mem = &f->warp->mem[f->buf];
  CtPart where = ct_part_place(worker->job, buf, mem->ptr, f->off, mem->n);
  return ct_fail(err, CT_EINVAL, "out of bounds: %s of %s%s, %s", f->is_write ? "write" : "read",
                 ct_part_name(worker->job, buf, mem->ptr).s, where.s, who);
}

/* The construct around c, or c itself, at whose end a lane waits that is not there with the others. */
static uint32_t left_construct(const CtSimtProgram *prog, const CtWarp *w, uint32_t c, int lane) {
  while (prog->constructs[c].parent != 0 && (w->saved[prog->constructs[c].row] >> lane & 1) == 0) {
    c = prog->constructs[c].parent;
  }
  return c;
}

static bool takes_mask(const CtIn *in) {
  return in->u.op == CT_SIMT_SHFL || in->u.op == CT_SIMT_VOTE || in->u.op == CT_SIMT_MASKED;
}

/* Names a live lane that is not at the barrier, and the construct at whose end it waits. */
static CtStatus report_lanes(const CtWorker *worker, uint32_t c, const char *op, const char *who,
                             CtErr *err) {
  const CtFail *f = &worker->fail;
  const CtSimtProgram *prog = worker->job->program;
  uint32_t absent = f->warp->live & ~f->warp->mask;
  int other = ct_first_lane(absent);
  c = left_construct(prog, f->warp, c, other);
  return ct_fail(err, CT_EINVAL,
                 "%s: thread %s of block %s waits at line %d, but thread %s is past line "
                 "%d; all threads of a %s must reach the same %s%s",
                 op, ct_part_thread(prog, f->warp, f->lane).s, ct_part_block(worker).s,
                 loc_of(worker->job, f->in).line, ct_part_thread(prog, f->warp, other).s,
                 prog->constructs[c].loc.line, who, op,
                 takes_mask(code_of(worker->job, f->in)) ? ", or {mask = m} must name those that do"
                                                         : "");
}

/* The name that scripts use for an operation of the warp. */
static const char *warp_op_name(const CtIn *in) {
  static const char *const shuffles[] = {"shfl_up", "shfl_down", "shfl_xor", "shfl_idx"};
  static const char *const votes[] = {"vote_any", "vote_all", "ballot", "match_any", "match_all"};
  const CtMaskedImm masked = {.imm = in->imm};
  if (in->u.op == CT_SIMT_MASKED) {
    return masked.u.kind < CT_MASKED_ANY   ? shuffles[masked.u.kind]
           : masked.u.kind < CT_MASKED_ADD ? votes[masked.u.kind - CT_MASKED_ANY]
                                           : "warp_reduce";
  }
  if (in->u.op == CT_SIMT_SYNC_LANES) {
    return "sync_warp";
  }
  if (in->u.op == CT_SIMT_MMA || in->u.op == CT_SIMT_WGMMA || in->u.op == CT_SIMT_TCGEN05_MMA) {
    return "gemm";
  }
  if (in->u.op == CT_SIMT_WARP_COPY || in->u.op == CT_SIMT_TCGEN05_COPY ||
      in->u.op == CT_SIMT_TCGEN05_CP) {
    return "copy";
  }
  if (in->u.op == CT_SIMT_TCGEN05) {
    return (in->imm & 0xff) == CT_SYNC_TMEM_ALLOC ? "tmem" : "tmem_dealloc";
  }
  if (in->u.op == CT_SIMT_ELECT || in->u.op == CT_SIMT_SETMAXNREG) {
    return in->u.op == CT_SIMT_ELECT ? "elect_one" : "setmaxnreg";
  }
  return in->u.op == CT_SIMT_VOTE ? votes[in->imm] : shuffles[in->imm & 0xff];
}

/* The name of a barrier, and whose threads wait there together. */
static const char *barrier_name(const CtIn *in) {
  if (in->u.op == CT_SIMT_BARRIER && in[1].u.op == CT_SIMT_TALLIED) {
    return ct_ops[in[1].imm].text;
  }
  return in->u.op == CT_SIMT_CLUSTER_ARRIVE ? "cluster_arrive"
         : in->u.op == CT_SIMT_CLUSTER_WAIT ? "cluster_wait"
         : in->u.op == CT_SIMT_GRID_BARRIER ? "sync_grid"
                                            : "sync_threads";
}
static const char *barrier_group(const CtIn *in) {
  return in->u.op == CT_SIMT_BARRIER || in->u.op == CT_SIMT_GRID_BARRIER ? "block" : "warp";
}

/* A lane that a mask names but that is not there: "thread (5,0,0), which is past line 7". */
static CtPart absent_lane(const CtWorker *worker, const CtWarp *w, uint32_t c, int lane) {
  const CtSimtProgram *prog = worker->job->program;
  CtPart p = {.len = 0};
  if (w->index * CT_LANES + lane >= prog->n_threads) {
    ct_part_add(&p, "which the block does not have");
    return p;
  }
  ct_part_add(&p, "thread ");
  ct_part_add(&p, ct_part_thread(prog, w, lane).s);
  if ((w->live >> lane & 1) == 0) {
    ct_part_add(&p, ", which has ended");
    return p;
  }
  ct_part_add(&p, ", which is past line ");
  ct_part_int(&p, prog->constructs[left_construct(prog, w, c, lane)].loc.line);
  return p;
}

static CtStatus report_mask(const CtWorker *worker, const char *op, CtErr *err) {
  const CtFail *f = &worker->fail;
  const CtSimtProgram *prog = worker->job->program;
  const CtMaskedImm imm = {.imm = f->in->imm};
  const uint32_t *mask = CT_CAT(uint32_t, f->warp, f->in->c);
  int other = (int)f->off;
  CtPart who = ct_part_thread(prog, f->warp, f->lane), whom = ct_part_thread(prog, f->warp, other);
  CtPart block = ct_part_block(worker);
  if (f->kind == CT_FAIL_MASK_OWN) {
    return ct_fail(err, CT_EINVAL,
                   "%s: the mask 0x%x of thread %s of block %s does not name its "
                   "own lane, %d; each lane that gets here must be in its mask",
                   op, mask[f->lane], who.s, block.s, f->lane);
  }
  if (f->kind == CT_FAIL_MASK_OTHER) {
    return ct_fail(err, CT_EINVAL,
                   "%s: the mask 0x%x of thread %s of block %s names thread %s, "
                   "whose mask is 0x%x; all lanes of a mask must give the same mask",
                   op, mask[f->lane], who.s, block.s, whom.s, mask[other]);
  }
  return ct_fail(err, CT_EINVAL,
                 "%s: the mask 0x%x of thread %s of block %s names lane %d, %s; name only "
                 "lanes that reach it, such as ballot(condition) before the 'if'",
                 op, mask[f->lane], who.s, block.s, other,
                 absent_lane(worker, f->warp, imm.u.construct, other).s);
}

static CtStatus report_cluster(const CtWorker *worker, CtErr *err) {
  const CtFail *f = &worker->fail;
  bool is_wait = code_of(worker->job, f->in)->u.op == CT_SIMT_CLUSTER_WAIT;
  return ct_fail(err, CT_EINVAL,
                 is_wait ? "cluster_wait: thread %s of block %s waits without having arrived; a "
                           "cluster_arrive must come before each cluster_wait"
                         : "cluster_arrive: thread %s of block %s arrives a second time; a "
                           "cluster_wait must come between two cluster_arrive",
                 ct_part_thread(worker->job->program, f->warp, f->lane).s, ct_part_block(worker).s);
}

static CtStatus report_remote(const CtWorker *worker, const char *who, CtErr *err) {
  const CtFail *f = &worker->fail;
  const CtSimtProgram *p = worker->job->program;
  if (f->kind == CT_FAIL_REMOTE_RANK) {
    return ct_fail(err, CT_EINVAL, "%s: rank %lld, %s; a cluster of %d blocks has ranks 0 to %d",
                   p->bufs[f->buf].name, (long long)f->off, who, p->n_cluster, p->n_cluster - 1);
  }
  return ct_fail(err, CT_EINVAL,
                 "%s: block %s, whose memory it is, has ended; used %s. Let all "
                 "blocks reach a sync_cluster before they end",
                 p->bufs[f->buf].name, ct_part_block(&worker->team[f->off]).s, who);
}

/* A member that a list does not have, or an address that no tensor has. */
static CtStatus report_chosen(const CtWorker *worker, const char *who, CtErr *err) {
  const CtFail *f = &worker->fail;
  const CtSimtProgram *p = worker->job->program;
  const CtSimtBuf *buf = &p->bufs[f->buf];
  if (f->kind == CT_FAIL_MEMBER) {
    CtPart where = ct_part_place(worker->job, &p->bufs[buf->list], NULL, f->off, 0);
    return ct_fail(err, CT_EINVAL, "out of bounds: read of %s%s, %s", p->bufs[buf->list].name,
                   where.s, who);
  }
  if (f->off % (int64_t)buf->align != 0) {
    return ct_fail(err, CT_EINVAL,
                   "tensor_at: address 0x%llx of %s is not a multiple of %u bytes, %s",
                   (unsigned long long)f->off, buf->name, buf->align, who);
  }
  return ct_fail(err, CT_EINVAL,
                 "tensor_at: address 0x%llx of %s is in no tensor that the host keeps, %s; "
                 "addresses come from t.address, and the tensors must live during the launch",
                 (unsigned long long)f->off, buf->name, who);
}

static CtStatus report_tma_start(const CtWorker *worker, const char *who, CtErr *err) {
  const CtFail *f = &worker->fail;
  const CtSimtProgram *p = worker->job->program;
  const CtSimtTma *t = &p->tmas[f->in->imm];
  int unit = (int)ct_dtype_count(t->dtype, CT_TMA_UNIT);
  return ct_fail(err, CT_EINVAL,
                 "%s: a box of %s begins at element %lld of its rows, %s; TMA "
                 "begins at multiples of 16 bytes, %d elements of %s",
                 t->is_store ? "tma_store" : "tma_load", p->bufs[f->buf].name, (long long)f->off,
                 who, unit, ct_dtypes[t->dtype].name);
}

static CtStatus report_warps(const CtWorker *worker, CtErr *err) {
  const CtFail *f = &worker->fail;
  const CtSimtProgram *prog = worker->job->program;
  const char *name = barrier_name(code_of(worker->job, f->in));
  const char *other = barrier_name(code_of(worker->job, f->other));
  bool differ = strcmp(name, other) != 0;
  return ct_fail(err, CT_EINVAL,
                 "%s: thread %s of block %s waits at line %d, thread %s at line "
                 "%d%s%s; all threads of a block must reach the same %s",
                 name, ct_part_thread(prog, f->warp, ct_first_lane(f->warp->mask)).s,
                 ct_part_block(worker).s, loc_of(worker->job, f->in).line,
                 ct_part_thread(prog, f->other_warp, ct_first_lane(f->other_warp->mask)).s,
                 loc_of(worker->job, f->other).line, differ ? " in " : "", differ ? other : "",
                 name);
}

/* Where the warps of a block are. Warps at one line share one entry: "warps 0-3 wait in ...". */
static bool waits_alike(const CtWorker *worker, const CtWarp *a, const CtWarp *b) {
  if (a->pc != NULL && b->pc != NULL && (a->parked != NULL || b->parked != NULL)) {
    return ct_simt_waits_alike(worker, a, b);
  }
  return (a->pc == NULL) == (b->pc == NULL) &&
         (a->pc == NULL || (a->is_waiting == b->is_waiting &&
                            (a->is_waiting ? a->pc == b->pc : a->spin_at == b->spin_at)));
}

static void add_wait(CtPart *p, const CtWorker *worker, int32_t from, int32_t to) {
  const CtWarp *w = ct_simt_warp_at(worker, from);
  bool one = from == to;
  const CtIn *in = w->is_waiting ? w->pc : w->spin_at;
  ct_part_add(p, one ? "; warp " : "; warps ");
  ct_part_int(p, from);
  if (!one) {
    ct_part_add(p, "-");
    ct_part_int(p, to);
  }
  if (w->parked != NULL) {
    char text[CT_PART_BYTES];
    ct_simt_wait_text(worker, w, one, text, sizeof text);
    ct_part_add(p, text);
    return;
  }
  if (w->is_waiting) {
    ct_part_add(p, one ? " waits in " : " wait in ");
    ct_part_add(p, barrier_name(code_of(worker->job, in)));
    ct_part_add(p, " at line ");
  } else {
    ct_part_add(p, one ? " repeats the loop at line " : " repeat the loop at line ");
  }
  ct_part_int(p, loc_of(worker->job, in).line);
}

/* What each warp of the block waits for, if there is more than one warp. */
static CtPart warp_waits(const CtWorker *worker) {
  int32_t n = worker->job->program->n_warps;
  CtPart p = {.len = 0};
  for (int32_t from = 0, to; n > 1 && from < n; from = to + 1) {
    for (to = from; to + 1 < n && waits_alike(worker, ct_simt_warp_at(worker, from),
                                              ct_simt_warp_at(worker, to + 1));) {
      to++;
    }
    if (ct_simt_warp_at(worker, from)->pc != NULL) {
      add_wait(&p, worker, from, to);
    }
  }
  return p;
}

/* Lanes that have left the loop, or never entered it, wait for the lanes that repeat it. */
static const char *lanes_wait(const CtWarp *w, const CtSimtProgram *prog, CtPart *p) {
  *p = (CtPart){.len = 0};
  uint32_t others = w->live & ~w->mask;
  if (others != 0) {
    ct_part_add(p, "; thread ");
    ct_part_add(p, ct_part_thread(prog, w, ct_first_lane(others)).s);
    ct_part_add(p, " of its warp waits for it, as lanes of a warp run in step: none can wait for "
                   "another, so ");
    ct_part_add(p, "let one lane of each warp take a lock, as in 'if threadIdx.x % 32 == 0'");
  }
  return p->s;
}

/* What a launch's first team that has not ended waits for. */
static void add_team(CtPart *p, const CtSimtJob *job) {
  for (int i = 0; i < job->n_workers; i += job->program->n_cluster) {
    const CtWorker *k = &job->workers[i];
    if (atomic_load(&k->stuck_at) != UINT64_MAX) {
      const CtIn *in = atomic_load(&k->stuck_in);
      ct_part_add(p, atomic_load(&k->stuck_loops) ? " repeats the loop at line "
                                                  : " waits in sync_grid at line ");
      ct_part_int(p, loc_of(job, in).line);
      return;
    }
  }
}

/* What the other ranks do. */
static void add_ranks(CtPart *p, const CtSimtJob *own) {
  const CtSimtGroup *g = own->group;
  for (int i = 0; i < g->n_jobs; i += g->jobs[i].n_of_rank) {
    const CtSimtJob *at = atomic_load(&g->jobs[i].current);
    if (g->jobs[i].rank != own->rank) {
      ct_part_add(p, "; rank ");
      ct_part_int(p, g->jobs[i].rank);
      if (at == NULL) {
        ct_part_add(p, " has ended");
      } else {
        add_team(p, at);
      }
    }
  }
}

static CtStatus report_deadlock(const CtWorker *worker, CtErr *err) {
  const CtFail *f = &worker->fail;
  const CtSimtJob *job = worker->job;
  CtPart rest = warp_waits(worker), lanes;
  int64_t left = job->n_clusters - ct_min(atomic_load(&job->next), job->n_clusters);
  if (left > 0) {
    ct_part_add(&rest, "; ");
    left *= job->program->n_cluster;
    ct_part_int(&rest, left);
    ct_part_add(&rest,
                " blocks have not begun: wait only for blocks with lower numbers, or launch with "
                "cooperative = true");
  }
  int64_t n_at_grid = atomic_load(&job->n_at_grid);
  if (n_at_grid > 0) {
    ct_part_add(&rest, "; ");
    ct_part_int(&rest, n_at_grid);
    ct_part_add(&rest, " blocks wait in sync_grid");
  }
  add_ranks(&rest, job);
  return ct_fail(err, CT_EINVAL,
                 "deadlock: thread %s of block %s repeats the loop at line %d, "
                 "and nothing that runs can end it%s%s",
                 ct_part_thread(job->program, f->warp, f->lane).s, ct_part_block(worker).s,
                 loc_of(job, f->in).line, lanes_wait(f->warp, job->program, &lanes), rest.s);
}

static CtStatus report_issue(const CtWorker *worker, CtErr *err) {
  const CtFail *f = &worker->fail;
  uint32_t code = code_of(worker->job, f->in)->u.op;
  const char *op = code == CT_SIMT_TCGEN05_MMA  ? "gemm"
                   : code == CT_SIMT_TCGEN05_CP ? "copy"
                                                : ct_ops[CT_OP_TCGEN05_COMMIT].text;
  return ct_fail(err, CT_EINVAL,
                 "%s: one thread issues it, but %lld threads of the warp of "
                 "thread %s of block %s come here, and each would issue it again; put it in `if "
                 "elect_one() then`, in one warp",
                 op, (long long)f->off, ct_part_thread(worker->job->program, f->warp, f->lane).s,
                 ct_part_block(worker).s);
}

/* Of 32 bits, which is what tensor memory has. */
static CtStatus report_tmem_lanes(const CtWorker *worker, CtErr *err) {
  const CtFail *f = &worker->fail;
  const CtSimtBuf *buf = &worker->job->program->bufs[f->buf];
  int64_t word = f->off * ct_dtype_width(buf->dtype) / 32;
  int64_t first = f->warp->index % 4 * CT_LANES;
  return ct_fail(err, CT_EINVAL,
                 "copy: thread %s of block %s has lane %lld, column %lld of %s as its part, but "
                 "warp %d of the block reaches lanes %lld to %lld only, each thread the part of "
                 "its own place in the warp; take get_slice(threadIdx.x %% 128) of tmem_copy",
                 ct_part_thread(worker->job->program, f->warp, f->lane).s, ct_part_block(worker).s,
                 (long long)(word % CT_TMEM_LANES), (long long)(word / CT_TMEM_LANES), buf->name,
                 (int)f->warp->index, (long long)first, (long long)(first + CT_LANES - 1));
}

static CtStatus report(const CtWorker *worker, const char *who, CtErr *err) {
  const CtFail *f = &worker->fail;
  switch (f->kind) {
    case CT_FAIL_BOUNDS: return report_bounds(worker, who, err);
    case CT_FAIL_ZERO:
      return ct_fail(err, CT_EINVAL, "%s: the divisor is 0, %s",
                     ct_in_row(code_of(worker->job, f->in))->does == CT_OP_FLOORDIV ? "//" : "%",
                     who);
    case CT_FAIL_ASSERT:
      return ct_fail(err, CT_EINVAL, "assert: %s, %s", worker->job->program->texts[f->off], who);
    case CT_FAIL_STEP: return ct_fail(err, CT_EINVAL, "for: the step is 0, %s", who);
    case CT_FAIL_EXTENT:
      return ct_fail(err, CT_EINVAL, "tensor: an extent is negative or too large, %s", who);
    case CT_FAIL_BARRIER_LANES: {
      const CtIn *in = code_of(worker->job, f->in);
      return report_lanes(worker, in->d, barrier_name(in), barrier_group(in), err);
    }
    case CT_FAIL_CLUSTER: return report_cluster(worker, err);
    case CT_FAIL_REPEATS:
      return ct_fail(err, CT_EINVAL,
                     "%s: accesses outside were left out %lld times in one block, the last one %s; "
                     "a loop may wait for what they would have done, so check ends the launch",
                     worker->job->program->name, (long long)f->off, who);
    case CT_FAIL_TMA_START: return report_tma_start(worker, who, err);
    case CT_FAIL_MEMBER:
    case CT_FAIL_ADDRESS: return report_chosen(worker, who, err);
    case CT_FAIL_REMOTE_RANK:
    case CT_FAIL_REMOTE_ENDED: return report_remote(worker, who, err);
    case CT_FAIL_WARP_LANES: {
      const CtIn *in = code_of(worker->job, f->in);
      const CtMaskedImm imm = {.imm = in->imm};
      uint32_t construct = in->u.op == CT_SIMT_MASKED ? imm.u.construct : in->c;
      return report_lanes(worker, construct, warp_op_name(in), "warp", err);
    }
    case CT_FAIL_MASK_ABSENT:
    case CT_FAIL_MASK_OWN:
    case CT_FAIL_MASK_OTHER:
      return report_mask(worker, warp_op_name(code_of(worker->job, f->in)), err);
    case CT_FAIL_WARP_ENDED:
      return ct_fail(err, CT_EINVAL,
                     "%s: all 32 threads of a warp are needed, but some of the "
                     "warp of thread %s of block %s have ended; let all threads get here",
                     warp_op_name(code_of(worker->job, f->in)),
                     ct_part_thread(worker->job->program, f->warp, f->lane).s,
                     ct_part_block(worker).s);
    case CT_FAIL_ISSUE: return report_issue(worker, err);
    case CT_FAIL_CANCEL_AGAIN:
      return ct_fail(err, CT_EINVAL,
                     "clc_try_cancel: this block has seen an answer without work, "
                     "and asks again, %s; then PTX does not define what happens, so leave the loop",
                     who);
    case CT_FAIL_CANCEL_PLACE:
      return ct_fail(err, CT_EINVAL,
                     "clc_get_first_ctaid: no cluster gave its work, so the "
                     "answer has no place, %s; read it only if clc_is_canceled is true",
                     who);
    case CT_FAIL_TMEM_LANES: return report_tmem_lanes(worker, err);
    case CT_FAIL_DEADLOCK: return report_deadlock(worker, err);
    case CT_FAIL_ENDLESS:
      return ct_fail(err, CT_EINVAL,
                     "endless loop: an iteration changes nothing that the loop's "
                     "condition depends on, %s; change a variable of the condition in the loop",
                     who);
    case CT_FAIL_BARRIER_WARPS: return report_warps(worker, err);
    case CT_FAIL_NAMED_LANES:
      return report_lanes(worker, code_of(worker->job, f->in)->c, "named_barrier", "warp", err);
    case CT_FAIL_MBAR_NEW:
    case CT_FAIL_MBAR_ARRIVALS:
    case CT_FAIL_MBAR_BYTES:
    case CT_FAIL_MBAR_RANK:
    case CT_FAIL_MBAR_PARITY:
    case CT_FAIL_NAMED_ID:
    case CT_FAIL_NAMED_THREADS:
    case CT_FAIL_REGISTERS:
    case CT_FAIL_GRID:
    case CT_FAIL_WAITS: return ct_simt_report_sync(worker, err);
    case CT_FAIL_NONE:
    case CT_FAIL_STOPPED: break;
  }
  return ct_fail(err, CT_EINTERRUPTED, "%s: interrupted", worker->job->program->name);
}

CtStatus ct_simt_fail_report(const CtWorker *worker, CtErr *err) {
  const CtFail *f = &worker->fail;
  const CtSimtProgram *prog = worker->job->program;
  char who[3 * CT_PART_BYTES];
  snprintf(who, sizeof who, "by thread %s of block %s", ct_part_thread(prog, f->warp, f->lane).s,
           ct_part_block(worker).s);
  CtStatus status = report(worker, who, err);
  CtLoc loc = loc_of(worker->job, f->in);
  ct_err_at(err, prog->chunks[loc.chunk], loc.line);
  return status;
}
