/* simt_fail.c: what stopped a launch on the CPU engine. Handlers record it in a few words; this
   file makes a message of them at the end. */
#include "simt_run.h"

#include <stdio.h>
#include <string.h>

#include "runtime/ir/ir_tma.h"
#include "runtime/layout/tuple_leaves.h"

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

/* --- parts of messages ------------------------------------------------------------------------------ */

enum { MAX_LEAVES = 32, PART_BYTES = 256 };
typedef struct Part {
  char s[PART_BYTES];
  size_t len;
} Part;

static void add(Part *p, const char *s) {
  size_t n = strlen(s);
  size_t room = sizeof p->s - 1 - p->len;
  n = n < room ? n : room;
  memcpy(p->s + p->len, s, n);
  p->len += n;
  p->s[p->len] = '\0';
}

static void add_int(Part *p, int64_t v) {
  char text[32];
  snprintf(text, sizeof text, "%lld", (long long)v);
  add(p, text);
}

static Part triple(const int64_t v[3]) {
  Part p = {.len = 0};
  snprintf(p.s, sizeof p.s, "(%lld,%lld,%lld)", (long long)v[0], (long long)v[1], (long long)v[2]);
  p.len = strlen(p.s);
  return p;
}

static Part thread_of(const CtSimtProgram *prog, const CtWarp *w, int lane) {
  int64_t i = (int64_t)w->index * CT_LANES + lane;
  int64_t xy = prog->block[0] * prog->block[1];
  int64_t t[3] = {i % prog->block[0], i % xy / prog->block[0], i / xy};
  return triple(t);
}

/* A tuple with the profile of t, whose leaves come from *leaves. The depth of a tuple is
   limited. */
static const int64_t *add_tuple(Part *p, CtTuple t, const int64_t *leaves) {
  if (ct_is_leaf(t)) {
    add_int(p, *leaves);
    return leaves + 1;
  }
  add(p, "(");
  for (CtTuple c = ct_first(t); c != ct_end(t); c = ct_next(c)) {
    add(p, c == ct_first(t) ? "" : ",");
    leaves = add_tuple(p, c, leaves);
  }
  add(p, ")");
  return leaves;
}

/* --- coordinates ------------------------------------------------------------------------------------ */

/* The leaves of a shape or stride as numbers; false if there are too many or one is unknown. */
static bool leaf_values(CtTuple t, const CtSlotValue *slots, int64_t out[MAX_LEAVES], int *n) {
  *n = 0;
  for (CtLeaves w = ct_leaves_of(t); ct_next_leaf(&w);) {
    CtInt i = w.shape->i;
    if (*n == MAX_LEAVES || i.kind == CT_ANY) {
      return false;
    }
    out[(*n)++] = i.kind == CT_DYNAMIC ? slots[i.id].i : i.v;
  }
  return true;
}

/* The remaining leaf with the largest stride; a leaf of extent 1 only if there is no other. */
static int next_leaf(int n, const int64_t *extent, const int64_t *stride, const bool *done) {
  int best = -1;
  for (int i = 0; i < n; i++) {
    if (done[i] || stride[i] <= 0) {
      continue;
    }
    bool wins = best < 0 || (extent[i] > 1) > (extent[best] > 1) ||
                ((extent[i] > 1) == (extent[best] > 1) && stride[i] > stride[best]);
    best = wins ? i : best;
  }
  return best;
}

/* The coordinate of an offset, inside or outside the layout. Works from the largest stride down, so
   that only the slowest mode leaves its extent. */
static void coordinate(int n, const int64_t *extent, const int64_t *stride, int64_t off,
                       int64_t crd[MAX_LEAVES]) {
  bool done[MAX_LEAVES] = {false};
  memset(crd, 0, MAX_LEAVES * sizeof *crd);
  for (int i = next_leaf(n, extent, stride, done); i >= 0; i = next_leaf(n, extent, stride, done)) {
    crd[i] = ct_floordiv(off, stride[i]);
    off -= crd[i] * stride[i];
    done[i] = true;
  }
}

/* For a tensor of rank n in memory, one number for each mode: nested modes, such as those of
   tile_to_shape, are the rows and columns of a script by their linear coordinates. Returns the
   rank; 0: no mode is nested. */
static int fold(CtTuple shape, int64_t extent[MAX_LEAVES], int64_t crd[MAX_LEAVES]) {
  int leaf = 0, n = ct_is_leaf(shape) ? 0 : shape->rank;
  bool is_nested = false;
  for (int i = 0; i < n; i++) {
    CtTuple mode = ct_child(shape, i);
    int64_t at = 0, size = 1;
    is_nested = is_nested || !ct_is_leaf(mode);
    for (uint32_t k = 0; k < mode->len; k++) {
      if (mode[k].rank == CT_LEAF) {
        at += crd[leaf] * size;
        size *= extent[leaf++];
      }
    }
    crd[i] = at;
    extent[i] = size;
  }
  return is_nested ? n : 0;
}

static void add_list(Part *p, const int64_t *v, int n) {
  for (int i = 0; i < n; i++) {
    add(p, i > 0 ? "," : "(");
    add_int(p, v[i]);
  }
  add(p, ")");
}

/* The row of the member that begins there; -1: there is none, or the buffer is no member of a list. */
static int64_t member_at(const CtSimtJob *job, const CtSimtBuf *buf, const char *begin) {
  const CtSimtList *l =
      buf->list == 0 ? NULL : &job->launch->lists[job->program->bufs[buf->list].param];
  for (int64_t i = 0; l != NULL && i < l->n; i++) {
    if (l->members[i].begin == begin) {
      return i;
    }
  }
  return -1;
}

/* What the dynamic leaves of a buffer's layout are numbers in; NULL: they are not known. */
static const CtSlotValue *leaves_of(const CtSimtJob *job, const CtSimtBuf *buf, int64_t row) {
  const CtSimtBuf *table = &job->program->bufs[buf->list];
  if (buf->list == 0) {
    return job->launch->slots;
  }
  const int64_t *rows = job->launch->slots[table->slot].ptr;
  return row < 0 ? NULL : (const void *)(rows + row * table->n_columns);
}

/* " at (0,2048), extent (2048,2048)". A swizzle is its own inverse. */
static Part coordinates(const CtSimtBuf *buf, const CtSlotValue *leaves, int64_t off,
                        int64_t n_elems) {
  int64_t extent[MAX_LEAVES] = {0}, stride[MAX_LEAVES] = {0}, crd[MAX_LEAVES];
  int n_extents, n_strides;
  Part p = {.len = 0};
  if (leaves == NULL || !leaf_values(buf->layout.shape, leaves, extent, &n_extents) ||
      !leaf_values(buf->layout.stride, leaves, stride, &n_strides) || n_extents != n_strides) {
    snprintf(p.s, sizeof p.s, " at offset %lld of %lld", (long long)off, (long long)n_elems);
    p.len = strlen(p.s);
    return p;
  }
  coordinate(n_extents, extent, stride, ct_swizzle_at(buf->swizzle, off), crd);
  int rank = buf->space == CT_REGISTER ? 0 : fold(buf->layout.shape, extent, crd);
  if (rank > 0) {
    add(&p, " at ");
    add_list(&p, crd, rank);
    add(&p, ", extent ");
    add_list(&p, extent, rank);
    return p;
  }
  add(&p, " at ");
  add_tuple(&p, buf->layout.shape, crd);
  add(&p, ", extent ");
  add_tuple(&p, buf->layout.shape, extent);
  return p;
}

/* The same; of a list's table, which tensor was asked for. */
static Part place(const CtSimtJob *job, const CtSimtBuf *buf, const char *begin, int64_t off,
                  int64_t n_elems) {
  Part p = {.len = 0};
  if (buf->n_columns != 0) {
    add(&p, " at index ");
    add_int(&p, ct_floordiv(off, buf->n_columns) + 1);
    add(&p, ", number of tensors ");
    add_int(&p, job->launch->lists[buf->param].n);
    return p;
  }
  if (buf->is_chosen && buf->list == 0) {
    add(&p, " at offset ");
    add_int(&p, off);
    add(&p, ", where the memory at its address ends after ");
    add_int(&p, n_elems);
    return p;
  }
  return coordinates(buf, leaves_of(job, buf, member_at(job, buf, begin)), off, n_elems);
}

/* "x", or "l[2]" of a list's tensor. */
static Part name_of(const CtSimtJob *job, const CtSimtBuf *buf, const char *begin) {
  int64_t row = member_at(job, buf, begin);
  Part p = {.len = 0};
  const char *name = row < 0 ? buf->name : job->program->bufs[buf->list].name;
  add(&p, name == NULL ? "a recast tensor" : name);
  if (row >= 0) {
    add(&p, "[");
    add_int(&p, row + 1);
    add(&p, "]");
  }
  return p;
}

void ct_simt_place(const CtSimtJob *job, uint32_t buf, const char *begin, int64_t off, char *out,
                   size_t size) {
  const CtSimtBuf *b = &job->program->bufs[buf];
  int64_t n = b->space == CT_GLOBAL ? ct_simt_n_elems(job->launch, b) : b->n;
  if (b->is_chosen && b->list == 0) {
    const CtSimtSpan *memory = ct_simt_memory_at(job->launch, begin);
    n = memory == NULL ? 0 : (memory->end - begin) / (int64_t)ct_dtype_bytes(b->dtype);
  }
  snprintf(out, size, "%.80s%s", name_of(job, b, begin).s, place(job, b, begin, off, n).s);
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
  Part where = place(worker->job, buf, mem->ptr, f->off, mem->n);
  return ct_fail(err, CT_EINVAL, "out of bounds: %s of %s%s, %s", f->is_write ? "write" : "read",
                 name_of(worker->job, buf, mem->ptr).s, where.s, who);
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
                 op, thread_of(prog, f->warp, f->lane).s, triple(worker->bid).s,
                 loc_of(worker->job, f->in).line, thread_of(prog, f->warp, other).s,
                 prog->constructs[c].loc.line, who, op,
                 takes_mask(code_of(worker->job, f->in)) ? ", or {mask = m} must name those that do"
                                                         : "");
}

/* The name that scripts use for an operation of the warp. */
static const char *warp_op_name(const CtIn *in) {
  static const char *const shuffles[] = {"shfl_up", "shfl_down", "shfl_xor", "shfl_idx"};
  static const char *const votes[] = {"any", "all", "ballot", "match_any", "match_all"};
  const CtMaskedImm masked = {.imm = in->imm};
  if (in->u.op == CT_SIMT_MASKED) {
    return masked.u.kind < CT_MASKED_ANY   ? shuffles[masked.u.kind]
           : masked.u.kind < CT_MASKED_ADD ? votes[masked.u.kind - CT_MASKED_ANY]
                                           : "warp_reduce";
  }
  if (in->u.op == CT_SIMT_SYNC_LANES) {
    return "sync_warp";
  }
  if (in->u.op == CT_SIMT_MMA || in->u.op == CT_SIMT_WGMMA) {
    return "gemm";
  }
  if (in->u.op == CT_SIMT_WARP_COPY) {
    return "copy";
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
         : in->u.op == CT_SIMT_GRID_BARRIER ? "grid_barrier"
                                            : "sync_threads";
}
static const char *barrier_group(const CtIn *in) {
  return in->u.op == CT_SIMT_BARRIER || in->u.op == CT_SIMT_GRID_BARRIER ? "block" : "warp";
}

/* A lane that a mask names but that is not there: "thread (5,0,0), which is past line 7". */
static Part absent_lane(const CtWorker *worker, const CtWarp *w, uint32_t c, int lane) {
  const CtSimtProgram *prog = worker->job->program;
  Part p = {.len = 0};
  if (w->index * CT_LANES + lane >= prog->n_threads) {
    add(&p, "which the block does not have");
    return p;
  }
  add(&p, "thread ");
  add(&p, thread_of(prog, w, lane).s);
  if ((w->live >> lane & 1) == 0) {
    add(&p, ", which has ended");
    return p;
  }
  add(&p, ", which is past line ");
  add_int(&p, prog->constructs[left_construct(prog, w, c, lane)].loc.line);
  return p;
}

static CtStatus report_mask(const CtWorker *worker, const char *op, CtErr *err) {
  const CtFail *f = &worker->fail;
  const CtSimtProgram *prog = worker->job->program;
  const CtMaskedImm imm = {.imm = f->in->imm};
  const uint32_t *mask = CT_CAT(uint32_t, f->warp, f->in->c);
  int other = (int)f->off;
  Part who = thread_of(prog, f->warp, f->lane), whom = thread_of(prog, f->warp, other);
  Part block = triple(worker->bid);
  if (f->kind == CT_FAIL_MASK_OWN) {
    return ct_fail(
        err, CT_EINVAL,
        "%s: the mask 0x%x of thread %s of block %s does not name its own lane, %d; each "
        "lane that comes here must be in its mask",
        op, mask[f->lane], who.s, block.s, f->lane);
  }
  if (f->kind == CT_FAIL_MASK_OTHER) {
    return ct_fail(
        err, CT_EINVAL,
        "%s: the mask 0x%x of thread %s of block %s names thread %s, whose mask is 0x%x; "
        "all lanes of a mask must give the same mask",
        op, mask[f->lane], who.s, block.s, whom.s, mask[other]);
  }
  return ct_fail(err, CT_EINVAL,
                 "%s: the mask 0x%x of thread %s of block %s names lane %d, %s; name only "
                 "lanes that come here, as ballot(condition) before the 'if' does",
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
                 thread_of(worker->job->program, f->warp, f->lane).s, triple(worker->bid).s);
}

static CtStatus report_remote(const CtWorker *worker, const char *who, CtErr *err) {
  const CtFail *f = &worker->fail;
  const CtSimtProgram *p = worker->job->program;
  if (f->kind == CT_FAIL_REMOTE_RANK) {
    return ct_fail(err, CT_EINVAL, "%s: rank %lld, %s; a cluster of %d blocks has ranks 0 to %d",
                   p->bufs[f->buf].name, (long long)f->off, who, p->n_cluster, p->n_cluster - 1);
  }
  return ct_fail(err, CT_EINVAL,
                 "%s: block %s, whose memory it is, has ended; used %s. Let all blocks come to a "
                 "cluster_sync before they end",
                 p->bufs[f->buf].name, triple(worker->team[f->off].bid).s, who);
}

/* A member that a list does not have, or an address that no tensor has. */
static CtStatus report_chosen(const CtWorker *worker, const char *who, CtErr *err) {
  const CtFail *f = &worker->fail;
  const CtSimtProgram *p = worker->job->program;
  const CtSimtBuf *buf = &p->bufs[f->buf];
  if (f->kind == CT_FAIL_MEMBER) {
    Part where = place(worker->job, &p->bufs[buf->list], NULL, f->off, 0);
    return ct_fail(err, CT_EINVAL, "out of bounds: read of %s%s, %s", p->bufs[buf->list].name,
                   where.s, who);
  }
  if (f->off % (int64_t)buf->align != 0) {
    return ct_fail(err, CT_EINVAL, "tensor_at: address 0x%llx of %s is no multiple of %u bytes, %s",
                   (unsigned long long)f->off, buf->name, buf->align, who);
  }
  return ct_fail(
      err, CT_EINVAL,
      "tensor_at: address 0x%llx of %s is in no tensor that the host keeps, %s; addresses "
      "come from t.address, and the tensors must live during the launch",
      (unsigned long long)f->off, buf->name, who);
}

static CtStatus report_tma_start(const CtWorker *worker, const char *who, CtErr *err) {
  const CtFail *f = &worker->fail;
  const CtSimtProgram *p = worker->job->program;
  const CtSimtTma *t = &p->tmas[f->in->imm];
  int unit = CT_TMA_UNIT / (int)ct_dtype_bytes(t->dtype);
  return ct_fail(
      err, CT_EINVAL,
      "%s: a box of %s begins at element %lld of its rows, %s; TMA begins at multiples of 16 bytes, "
      "%d elements of %s",
      t->is_store ? "tma_store" : "tma_load", p->bufs[f->buf].name, (long long)f->off, who, unit,
      ct_dtypes[t->dtype].name);
}

static CtStatus report_warps(const CtWorker *worker, CtErr *err) {
  const CtFail *f = &worker->fail;
  const CtSimtProgram *prog = worker->job->program;
  const char *name = barrier_name(code_of(worker->job, f->in));
  const char *other = barrier_name(code_of(worker->job, f->other));
  bool differ = strcmp(name, other) != 0;
  return ct_fail(
      err, CT_EINVAL,
      "%s: thread %s of block %s waits at line %d, thread %s at line %d%s%s; all threads "
      "of a block must reach the same %s",
      name, thread_of(prog, f->warp, ct_first_lane(f->warp->mask)).s, triple(worker->bid).s,
      loc_of(worker->job, f->in).line,
      thread_of(prog, f->other_warp, ct_first_lane(f->other_warp->mask)).s,
      loc_of(worker->job, f->other).line, differ ? " in " : "", differ ? other : "", name);
}

/* Where the warps of a block are. Warps at one line share one entry: "warps 0-3 wait in ...". */
static const CtWarp *warp_of(const CtWorker *worker, int32_t i) {
  return (const CtWarp *)(const void *)(worker->warps +
                                        (size_t)i * worker->job->program->warp_bytes);
}

static bool waits_alike(const CtWorker *worker, const CtWarp *a, const CtWarp *b) {
  if (a->pc != NULL && b->pc != NULL && (a->parked != NULL || b->parked != NULL)) {
    return ct_simt_waits_alike(worker, a, b);
  }
  return (a->pc == NULL) == (b->pc == NULL) &&
         (a->pc == NULL || (a->is_waiting == b->is_waiting &&
                            (a->is_waiting ? a->pc == b->pc : a->spin_at == b->spin_at)));
}

static void add_wait(Part *p, const CtWorker *worker, int32_t from, int32_t to) {
  const CtWarp *w = warp_of(worker, from);
  bool one = from == to;
  const CtIn *in = w->is_waiting ? w->pc : w->spin_at;
  add(p, one ? "; warp " : "; warps ");
  add_int(p, from);
  if (!one) {
    add(p, "-");
    add_int(p, to);
  }
  if (w->parked != NULL) {
    char text[PART_BYTES];
    ct_simt_wait_text(worker, w, one, text, sizeof text);
    add(p, text);
    return;
  }
  if (w->is_waiting) {
    add(p, one ? " waits in " : " wait in ");
    add(p, barrier_name(code_of(worker->job, in)));
    add(p, " at line ");
  } else {
    add(p, one ? " repeats the loop at line " : " repeat the loop at line ");
  }
  add_int(p, loc_of(worker->job, in).line);
}

/* What each warp of the block waits for, if there is more than one warp. */
static Part warp_waits(const CtWorker *worker) {
  int32_t n = worker->job->program->n_warps;
  Part p = {.len = 0};
  for (int32_t from = 0, to; n > 1 && from < n; from = to + 1) {
    for (to = from;
         to + 1 < n && waits_alike(worker, warp_of(worker, from), warp_of(worker, to + 1));) {
      to++;
    }
    if (warp_of(worker, from)->pc != NULL) {
      add_wait(&p, worker, from, to);
    }
  }
  return p;
}

/* Lanes that have left the loop, or never entered it, wait for the lanes that repeat it. */
static const char *lanes_wait(const CtWarp *w, const CtSimtProgram *prog, Part *p) {
  *p = (Part){.len = 0};
  uint32_t others = w->live & ~w->mask;
  if (others != 0) {
    add(p, "; thread ");
    add(p, thread_of(prog, w, ct_first_lane(others)).s);
    add(p,
        " of its warp waits for it, as lanes of a warp run in step: none can wait for another, so ");
    add(p, "let one lane of each warp take a lock, as in 'if threadIdx.x % 32 == 0'");
  }
  return p->s;
}

static CtStatus report_deadlock(const CtWorker *worker, CtErr *err) {
  const CtFail *f = &worker->fail;
  const CtSimtJob *job = worker->job;
  Part rest = warp_waits(worker), lanes;
  int64_t left = job->n_clusters - ct_min(atomic_load(&job->next), job->n_clusters);
  if (left > 0) {
    add(&rest, "; ");
    left *= job->program->n_cluster;
    add_int(&rest, left);
    add(&rest, left == 1 ? " block has" : " blocks have");
    add(&rest, " not begun: wait only for blocks with lower numbers, or launch with "
               "cooperative = true");
  }
  int64_t n_at_grid = atomic_load(&job->n_at_grid);
  if (n_at_grid > 0) {
    add(&rest, "; ");
    add_int(&rest, n_at_grid);
    add(&rest, n_at_grid == 1 ? " block waits in grid_barrier" : " blocks wait in grid_barrier");
  }
  return ct_fail(
      err, CT_EINVAL,
      "deadlock: thread %s of block %s repeats the loop at line %d, and nothing that runs "
      "can end it%s%s",
      thread_of(job->program, f->warp, f->lane).s, triple(worker->bid).s, loc_of(job, f->in).line,
      lanes_wait(f->warp, job->program, &lanes), rest.s);
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
      return ct_fail(
          err, CT_EINVAL,
          "%s: all 32 threads of a warp are needed, but some of the warp of thread %s of "
          "block %s have ended; let all threads come here",
          warp_op_name(code_of(worker->job, f->in)),
          thread_of(worker->job->program, f->warp, f->lane).s, triple(worker->bid).s);
    case CT_FAIL_DEADLOCK: return report_deadlock(worker, err);
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
  char who[3 * PART_BYTES];
  snprintf(who, sizeof who, "by thread %s of block %s", thread_of(prog, f->warp, f->lane).s,
           triple(worker->bid).s);
  CtStatus status = report(worker, who, err);
  CtLoc loc = loc_of(worker->job, f->in);
  ct_err_at(err, prog->chunks[loc.chunk], loc.line);
  return status;
}
