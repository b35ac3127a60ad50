/* lineage.c: the watcher of `trace`; see lineage.h. It takes up to three launches. The first one
   finds the blocks that write an element. It leaves out operations on whole tensors that do not
   matter for that (lineage_lean.c). The second one records these blocks: each worker records the
   block that it runs, and walks the history backwards when the block ends. Others do not run if
   blocks cannot see each other. If a block did not write an element again, for example because
   blocks take their work in turn, a third launch records all blocks. */
#include "lineage.h"

#include <stdlib.h>
#include <string.h>

#include "history.h"
#include "runtime/simt/run/simt_watch.h"
#include "runtime/base/order.h"

typedef enum Phase { PHASE_NONE, PHASE_FIND, PHASE_FOUND, PHASE_ALL, PHASE_DONE } Phase;

/* A find: a block that writes an element; the place of this one in CtLineage.off. */
static int64_t find_of(int64_t block, size_t i) {
  return block * CT_LINEAGE_MAX_ELEMENTS + (int64_t)i;
}
static int64_t block_of(int64_t find) { return find / CT_LINEAGE_MAX_ELEMENTS; }

/* What one worker of the engine does. */
typedef struct Tracer {
  CtHistory history;
  CtLineageRows rows;
  CtTrail trail;
  int64_t *blocks; /* FIND: finds */
  size_t n_blocks, cap_blocks;
  uint64_t open;   /* FIND: a bit for each element that this block has not written yet */
  bool is_on;      /* this block is recorded */
  bool has_missed; /* a block that wrote one in the first launch writes none now */
} Tracer;

struct CtLineage {
  CtSimtWatch watch; /* first: it is one */
  CtAlloc alloc;
  const char *param;
  const int64_t *off;
  size_t n_off;
  size_t max_bytes;
  Phase phase;
  uint32_t buf; /* of the parameter; 0: there is none */
  Tracer *tracers;
  int n_tracers;
  int64_t *blocks; /* finds, in order */
  size_t n_blocks;
  int64_t *only; /* FOUND: positions of their clusters, in order; NULL: all run */
  bool *idle;    /* FIND: by index in the code; NULL: unknown */
  const CtSimtProgram *idle_of;
  int64_t grid[3];
  bool failed, keeps_trail;
  CtLineageRow *all;
  size_t n_all;
};

static CtLineage *trace_of(CtSimtWatch *watch) { return (CtLineage *)(void *)watch; }

static Tracer *tracer_of(CtLineage *t, const CtWorker *k) {
  return &t->tracers[k - k->job->workers];
}

static uint32_t find_buf(const CtLineage *t, const CtSimtProgram *p) {
  for (uint32_t i = 1; i < p->n_bufs; i++) {
    if (p->bufs[i].space == CT_GLOBAL && p->bufs[i].memory == i &&
        strcmp(p->bufs[i].name, t->param) == 0) {
      return i;
    }
  }
  return 0;
}

/* --- launches ------------------------------------------------------------------------------------------- */

static int by_number(const void *a, const void *b) {
  const int64_t *x = a, *y = b;
  return (*x > *y) - (*x < *y);
}

static void clear_tracers(CtLineage *t) {
  for (int i = 0; i < t->n_tracers; i++) {
    Tracer *r = &t->tracers[i];
    ct_history_clear(&r->history);
    ct_free(t->alloc, r->rows.row, r->rows.cap * sizeof *r->rows.row);
    ct_hash_table_clear(&r->rows.table, t->alloc);
    ct_free(t->alloc, r->trail.mark, r->trail.cap * sizeof *r->trail.mark);
    ct_free(t->alloc, r->blocks, r->cap_blocks * sizeof *r->blocks);
  }
  ct_free(t->alloc, t->tracers, (size_t)t->n_tracers * sizeof *t->tracers);
  t->tracers = NULL;
  t->n_tracers = 0;
}

static void clear_idle(CtLineage *t) {
  if (t->idle != NULL) {
    ct_free(t->alloc, t->idle, t->idle_of->n_code + t->idle_of->n_bufs);
    t->idle = NULL;
  }
}

/* The position of the block's cluster in the order of the numbers. */
static int64_t cluster_of(const CtSimtJob *job, int64_t block) {
  const int64_t *grid = job->launch->grid, *of = job->program->cluster, *n = job->clusters;
  int64_t x = block % grid[0], y = block / grid[0] % grid[1], z = block / (grid[0] * grid[1]);
  return (z / of[2] * n[1] + y / of[1]) * n[0] + x / of[0];
}

/* Only the clusters of the blocks that were found are to run. */
static CtStatus choose_clusters(CtLineage *t, CtSimtJob *job, CtErr *err) {
  int64_t n = 0;
  t->only = ct_alloc(t->alloc, t->n_blocks * sizeof *t->only);
  if (t->only == NULL) {
    return ct_fail_nomem(err);
  }
  for (size_t i = 0; i < t->n_blocks; i++) {
    t->only[i] = cluster_of(job, block_of(t->blocks[i]));
  }
  qsort(t->only, t->n_blocks, sizeof *t->only, by_number);
  for (size_t i = 0; i < t->n_blocks; i++) {
    if (n == 0 || t->only[n - 1] != t->only[i]) {
      t->only[n++] = t->only[i];
    }
  }
  job->only = t->only;
  job->n_clusters = n;
  return CT_OK;
}

static CtStatus begin(CtSimtWatch *watch, CtSimtJob *job, CtErr *err) {
  CtLineage *t = trace_of(watch);
  clear_tracers(t);
  t->buf = find_buf(t, job->program);
  memcpy(t->grid, job->launch->grid, sizeof t->grid);
  t->tracers = ct_alloc(t->alloc, (size_t)job->n_workers * sizeof *t->tracers);
  if (t->tracers == NULL) {
    return ct_fail_nomem(err);
  }
  t->n_tracers = job->n_workers;
  for (int i = 0; i < t->n_tracers; i++) {
    t->tracers[i] = (Tracer){.rows = {.alloc = t->alloc}};
    t->tracers[i].rows.trail = t->keeps_trail ? &t->tracers[i].trail : NULL;
    ct_history_init(&t->tracers[i].history, t->alloc, t->max_bytes);
  }
  if (t->phase == PHASE_FIND) {
    t->idle = ct_lineage_idle(job->program, t->alloc);
    t->idle_of = job->program;
    return t->idle == NULL ? ct_fail_nomem(err) : CT_OK;
  }
  bool may_choose = t->phase == PHASE_FOUND && !job->launch->is_cooperative &&
                    ct_lineage_blocks_are_apart(job->program);
  return may_choose ? choose_clusters(t, job, err) : CT_OK;
}

/* The place of the first find that is not less. */
static size_t place_of(const CtLineage *t, int64_t find) {
  size_t i;
  CT_FIRST_NOT_BEFORE(i, t->n_blocks, t->blocks[i] < find);
  return i;
}

static bool is_found(const CtLineage *t, int64_t block) {
  size_t at = place_of(t, find_of(block, 0));
  return t->phase == PHASE_ALL || (at < t->n_blocks && block_of(t->blocks[at]) == block);
}

/* Is the element worth a walk in the cluster? */
static bool is_written_by(const CtLineage *t, const CtWorker *team, size_t i) {
  bool is = t->phase == PHASE_ALL;
  for (int rank = 0; rank < team->job->program->n_cluster && !is; rank++) {
    int64_t find = find_of(team[rank].block, i);
    size_t at = place_of(t, find);
    is = at < t->n_blocks && t->blocks[at] == find;
  }
  return is;
}

static void begin_block(CtSimtWatch *watch, CtWorker *k) {
  CtLineage *t = trace_of(watch);
  Tracer *r = tracer_of(t, k);
  r->open = t->buf == 0 ? 0 : ~(uint64_t)0 >> (CT_LINEAGE_MAX_ELEMENTS - t->n_off);
}

/* All blocks of a cluster share one history, that of the first block, because they read and write
   each other's memory. */
static void begin_recorded(CtSimtWatch *watch, CtWorker *k) {
  CtLineage *t = trace_of(watch);
  Tracer *r = tracer_of(t, k->team);
  if (k->rank == 0) {
    r->is_on = false;
    ct_history_reset(&r->history, k->team);
  }
  r->is_on = r->is_on || (t->buf != 0 && is_found(t, k->block));
}

static const char *wanted_bytes(const CtLineage *t, size_t i, const CtWarp *w, size_t *bytes) {
  *bytes = w->mem[t->buf].elem_bytes;
  return w->mem[t->buf].ptr + t->off[i] * (int64_t)*bytes;
}

static void walk_back(CtLineage *t, Tracer *r, size_t i, const CtWorker *k) {
  size_t bytes, begin = r->trail.n;
  const char *at = wanted_bytes(t, i, CT_CAT(CtWarp, k->warps, 0), &bytes);
  ct_simt_slice(k->job->program, &r->history, at, bytes, &r->rows);
  if (r->trail.n > begin) {
    r->trail.mark[begin].off = t->off[i];
  }
}

static void end_block(CtSimtWatch *watch, CtWorker *k) {
  CtLineage *t = trace_of(watch);
  Tracer *r = tracer_of(t, k->team);
  bool is_last = k->rank == k->job->program->n_cluster - 1;
  if (is_last && r->is_on && !r->history.failed) {
    size_t n = r->rows.n;
    for (size_t i = 0; i < t->n_off; i++) {
      if (is_written_by(t, k->team, i)) {
        walk_back(t, r, i, k);
      }
    }
    r->has_missed = r->has_missed || r->rows.n == n;
  }
}

/* --- finding -------------------------------------------------------------------------------------------- */

static bool writes_memory(const CtIn *code) {
  return (ct_in_is(code, CT_INS_MEMORY) && ct_in_stores(code)) || ct_in_is(code, CT_INS_ATOMIC) ||
         ct_in_is(code, CT_INS_TMA) || ct_in_is(code, CT_INS_TILE);
}

static bool touches(const CtAccess *a, const char *at, size_t bytes) {
  int64_t each = a->mem->elem_bytes, from = at - a->mem->ptr, off;
  int64_t lo = ct_floordiv(from, each), hi = ct_floordiv(from + (int64_t)bytes - 1, each);
  if (a->buf->space != CT_GLOBAL || !a->writes || (a->is_regular && (a->hi < lo || a->lo > hi))) {
    return false;
  }
  for (uint32_t rest = a->mask; rest != 0; rest &= rest - 1) {
    for (int64_t e = 0; e < a->n; e++) {
      if (ct_access_at(a, e, ct_first_lane(rest), &off) && off >= lo && off <= hi) {
        return true;
      }
    }
  }
  return false;
}

/* A search for bytes of the tensor among those that a box stores. */
typedef struct BoxSearch {
  const char *global, *at;
  size_t bytes;
  bool found;
} BoxSearch;

static void search_row(void *ud, int64_t off, int64_t bytes) {
  BoxSearch *s = ud;
  const char *first = s->global + off;
  s->found = s->found || (first < s->at + s->bytes && s->at < first + bytes);
}

static bool boxes_touch(const CtIn *code, const CtWarp *w, const char *at, size_t bytes) {
  const CtSimtTma *t = &w->worker->job->program->tmas[code->imm];
  BoxSearch s = {.global = w->mem[t->global].ptr, .at = at, .bytes = bytes};
  for (uint32_t rest = t->is_store ? w->mask : 0; rest != 0 && !s.found; rest &= rest - 1) {
    (void)ct_simt_tma_rows(w, t, ct_first_lane(rest), search_row, &s);
  }
  return s.found;
}

static void keep_find(CtLineage *t, Tracer *r, const CtWarp *w, size_t i) {
  r->open &= ~((uint64_t)1 << i);
  if (CT_GROW(t->alloc, r->blocks, r->cap_blocks, r->n_blocks + 1, NULL) != CT_OK) {
    r->history.failed = true;
    return;
  }
  r->blocks[r->n_blocks++] = find_of(w->worker->block, i);
}

static void find(CtLineage *t, Tracer *r, const CtIn *code, const CtIn *in, CtWarp *w) {
  CtAccess accesses[CT_MAX_OPERANDS];
  bool is_tma = ct_in_is(code, CT_INS_TMA);
  int n = is_tma ? 0 : ct_simt_accesses(code, in, w, accesses);
  for (uint64_t open = r->open; open != 0; open &= open - 1) {
    size_t bytes, i = (size_t)__builtin_ctzll(open);
    const char *at = wanted_bytes(t, i, w, &bytes);
    bool found = is_tma && boxes_touch(code, w, at, bytes);
    for (int j = 0; j < n && !found; j++) {
      found = touches(&accesses[j], at, bytes);
    }
    if (found) {
      keep_find(t, r, w, i);
    }
  }
}

/* --- steps ---------------------------------------------------------------------------------------------- */

static uint32_t find_step(CtSimtWatch *watch, const CtIn *code, const CtIn *in, CtWarp *w) {
  CtLineage *t = trace_of(watch);
  Tracer *r = tracer_of(t, w->worker);
  if (r->open != 0) {
    find(t, r, code, in, w);
  }
  return t->idle[code - w->worker->job->program->code] ? 0 : w->mask;
}

static const CtIn *pass(const CtIn *in, CtWarp *w) {
  (void)w;
  return in + 1;
}

/* What is idle and writes no tensor in global memory is passed over. */
static CtHandler find_handler(CtSimtWatch *watch, uint32_t index) {
  const CtLineage *t = trace_of(watch);
  CtOperand operands[CT_MAX_OPERANDS];
  int n = ct_simt_operands(t->idle_of, &t->idle_of->code[index], operands);
  bool may_pass = t->idle[index];
  for (int i = 0; i < n; i++) {
    may_pass =
        may_pass && !(operands[i].writes && t->idle_of->bufs[operands[i].buf].space == CT_GLOBAL);
  }
  return may_pass ? pass : NULL;
}

/* Leaves out what the kernel prints: the first launch has printed it. */
static uint32_t record_step(CtSimtWatch *watch, const CtIn *code, const CtIn *in, CtWarp *w) {
  Tracer *r = tracer_of(trace_of(watch), w->worker->team);
  bool prints = code->u.op == CT_SIMT_PRINT || code->u.op == CT_SIMT_PRINT_ARG;
  if (r->is_on) {
    ct_history_step(&r->history, code, in, w);
  }
  return prints ? 0 : w->mask;
}

static bool wants_all(const CtIn *code) { return code->u.op != CT_SIMT_GUARD; }

/* --- results -------------------------------------------------------------------------------------------- */

static int by_block(const void *a, const void *b) {
  const CtLineageRow *x = a, *y = b;
  const int64_t pairs[][2] = {{x->block, y->block}, {x->order, y->order}, {x->thread, y->thread},
                              {x->kind, y->kind},   {x->owner, y->owner}, {x->off, y->off}};
  return CT_COMPARE_PAIRS(pairs);
}

static void end_find(CtSimtWatch *watch, CtSimtJob *job) {
  CtLineage *t = trace_of(watch);
  size_t n = 0;
  (void)job;
  clear_idle(t);
  for (int i = 0; i < t->n_tracers; i++) {
    n += t->tracers[i].n_blocks;
    t->failed = t->failed || t->tracers[i].history.failed;
  }
  t->blocks = n == 0 ? NULL : ct_alloc(t->alloc, n * sizeof *t->blocks);
  t->failed = t->failed || (n > 0 && t->blocks == NULL);
  for (int i = 0; i < t->n_tracers && t->blocks != NULL; i++) {
    const Tracer *r = &t->tracers[i];
    for (size_t b = 0; b < r->n_blocks; b++) {
      t->blocks[t->n_blocks++] = r->blocks[b];
    }
  }
  if (t->blocks != NULL) {
    qsort(t->blocks, t->n_blocks, sizeof *t->blocks, by_number);
  }
}

/* Puts the rows of all workers into one array. */
static void end_record(CtSimtWatch *watch, CtSimtJob *job) {
  CtLineage *t = trace_of(watch);
  size_t n = 0;
  bool has_missed = false;
  (void)job;
  for (int i = 0; i < t->n_tracers; i++) {
    const Tracer *r = &t->tracers[i];
    n += r->rows.n;
    has_missed = has_missed || r->has_missed;
    t->failed = t->failed || r->rows.failed || r->history.failed;
  }
  if (t->failed || (has_missed && t->phase == PHASE_FOUND)) {
    return;
  }
  t->phase = PHASE_DONE;
  t->all = n == 0 ? NULL : ct_alloc(t->alloc, n * sizeof *t->all);
  t->failed = n > 0 && t->all == NULL;
  for (int i = 0; i < t->n_tracers && t->all != NULL; i++) {
    const CtLineageRows *rows = &t->tracers[i].rows;
    if (rows->n > 0) {
      memcpy(t->all + t->n_all, rows->row, rows->n * sizeof *t->all);
      t->n_all += rows->n;
    }
  }
  if (t->all != NULL) {
    qsort(t->all, t->n_all, sizeof *t->all, by_block);
  }
}

static const CtWatchOps find_ops = {.wants = writes_memory,
                                    .begin = begin,
                                    .end = end_find,
                                    .begin_block = begin_block,
                                    .handler = find_handler,
                                    .step = find_step};
static const CtWatchOps record_ops = {.wants = wants_all,
                                      .begin = begin,
                                      .end = end_record,
                                      .begin_block = begin_recorded,
                                      .end_block = end_block,
                                      .step = record_step};

/* --- for users ------------------------------------------------------------------------------------------ */

CtStatus ct_lineage_open(CtAlloc alloc, const char *param, const int64_t *off, size_t n,
                         size_t max_bytes, CtLineage **out, CtErr *err) {
  CtLineage *t = ct_alloc(alloc, sizeof *t);
  if (t == NULL) {
    return ct_fail_nomem(err);
  }
  *t = (CtLineage){.alloc = alloc, .param = param, .off = off, .n_off = n, .max_bytes = max_bytes};
  *out = t;
  return CT_OK;
}

void ct_lineage_close(CtLineage *t) {
  if (t != NULL) {
    clear_tracers(t);
    clear_idle(t);
    ct_free(t->alloc, t->only, t->only == NULL ? 0 : t->n_blocks * sizeof *t->only);
    ct_free(t->alloc, t->blocks, t->n_blocks * sizeof *t->blocks);
    ct_free(t->alloc, t->all, t->n_all * sizeof *t->all);
    ct_free(t->alloc, t, sizeof *t);
  }
}

CtSimtWatch *ct_lineage_next(CtLineage *t) {
  bool is_over = t->failed || t->phase >= PHASE_ALL || (t->phase == PHASE_FIND && t->n_blocks == 0);
  if (is_over) {
    return NULL;
  }
  t->phase++;
  t->watch.ops = t->phase == PHASE_FIND ? &find_ops : &record_ops;
  return &t->watch;
}

void ct_lineage_keep_trail(CtLineage *t) { t->keeps_trail = true; }

const CtTrail *ct_lineage_trail(const CtLineage *t, int i) {
  return i < t->n_tracers ? &t->tracers[i].trail : NULL;
}

static const char *op_name(const CtSimtProgram *p, const CtIn *in) {
  CtAtomicImm imm = {.imm = in->imm};
  bool is_atomic = ct_in_is(in, CT_INS_ATOMIC);
  CtOp op = is_atomic ? imm.u.op : ct_in_is(in, CT_INS_TILE) ? p->tiles[in->imm].op : CT_OP_NONE;
  return op == CT_OP_NONE ? ct_in_row(in)->name : ct_ops[op].text;
}

bool ct_lineage_code(const CtSimtProgram *p, uint32_t code, CtLineageCode *out) {
  if (code >= p->n_code) {
    return false;
  }
  const CtIn *in = &p->code[code];
  bool is_mma =
      in->u.op == CT_SIMT_MMA || in->u.op == CT_SIMT_WGMMA || in->u.op == CT_SIMT_TCGEN05_MMA;
  *out = (CtLineageCode){.name = op_name(p, in),
                         .chunk = p->chunks[p->locs[code].chunk],
                         .line = p->locs[code].line,
                         .moves = ct_in_row(in)->moves != CT_MOVES_NOT,
                         .mma_k = is_mma ? p->tiles[in->imm].mma->k : 0};
  return true;
}

const char *ct_lineage_name(const CtSimtProgram *p, uint32_t buf) { return p->bufs[buf].name; }

static bool is_too_much(const CtLineage *t) {
  bool is = false;
  for (int i = 0; i < t->n_tracers; i++) {
    is = is || t->tracers[i].history.bytes > t->max_bytes;
  }
  return is;
}

CtStatus ct_lineage_rows(CtLineage *t, const CtLineageRow **rows, size_t *n, CtErr *err) {
  if (t->failed && !is_too_much(t)) {
    return ct_fail_nomem(err);
  }
  if (t->failed) {
    return ct_fail(err, CT_ENOMEM,
                   "trace: what one block does takes more than %zu bytes to record; trace a "
                   "smaller problem",
                   t->max_bytes);
  }
  *rows = t->all;
  *n = t->n_all;
  return CT_OK;
}

const int64_t *ct_lineage_grid(const CtLineage *t) { return t->grid; }

CtLineagePlace ct_lineage_place(const CtSimtProgram *p, const CtLineageRow *row) {
  const CtSimtBuf *buf = row->kind == CT_LINEAGE_COMPUTES ? NULL : &p->bufs[row->buf];
  return (CtLineagePlace){.tensor = buf == NULL ? NULL : buf->name,
                          .space = buf == NULL ? CT_REGISTER : buf->space,
                          .chunk = p->chunks[row->loc.chunk]};
}

static bool is_written(const CtSimtProgram *p, uint32_t buf) {
  for (uint32_t i = p->body; i < p->n_code; i++) {
    CtOperand operands[CT_MAX_OPERANDS];
    for (int n = ct_simt_operands(p, &p->code[i], operands); n-- > 0;) {
      if (operands[n].writes && p->bufs[operands[n].buf].memory == buf) {
        return true;
      }
    }
  }
  return false;
}

bool ct_lineage_tensor(const CtSimtProgram *p, uint32_t i, CtLineageTensor *out) {
  if (i >= p->n_bufs) {
    return false;
  }
  const CtSimtBuf *buf = &p->bufs[i];
  CtComposed layout = ct_composed_plain(buf->layout);
  layout.swizzle = buf->swizzle;
  layout.is_swizzled = buf->swizzle.bits != 0;
  *out = (CtLineageTensor){.name = buf->name,
                           .space = buf->space,
                           .dtype = buf->dtype,
                           .layout = layout,
                           .is_alias = buf->memory != i,
                           .is_written = is_written(p, i)};
  return true;
}

const int64_t *ct_lineage_block(const CtSimtProgram *p) { return p->block; }
