/* simt_trace.c: the watcher behind `trace`; see simt_trace.h. Each worker records the block that it runs, and
   walks it backwards when it ends. */
#include "simt_trace.h"

#include <stdlib.h>
#include <string.h>

#include "simt_record.h"
#include "simt_watch.h"

struct CtSimtTrace {
  CtSimtWatch watch; /* first: it is one */
  CtAlloc alloc;
  char param[64];
  int64_t off;
  size_t max_bytes;
  const CtSimtBuf *buf; /* of the parameter; NULL: there is none */
  uint32_t index;
  CtRecord *records; /* by worker */
  CtTraceRows *rows;
  int n_workers;
  bool failed;
  CtTraceRow *all;
  size_t n_all;
};

static CtSimtTrace *trace_of(CtSimtWatch *watch) { return (CtSimtTrace *)(void *)watch; }

static int worker_of(const CtWorker *k) { return (int)(k - k->job->workers); }

/* Everything that may give a value. */
static bool wants(const CtIn *code) { return code->u.op != CT_SIMT_GUARD; }

static void find_buf(CtSimtTrace *t, const CtSimtProgram *p) {
  for (uint32_t i = 1; i < p->n_bufs && t->buf == NULL; i++) {
    if (p->bufs[i].space == CT_GLOBAL && strcmp(p->bufs[i].name, t->param) == 0) {
      t->buf = &p->bufs[i];
    }
  }
}

static void clear(CtSimtTrace *t) {
  for (int i = 0; i < t->n_workers; i++) {
    CtTraceRows *rows = &t->rows[i];
    ct_record_clear(&t->records[i]);
    ct_free(t->alloc, rows->row, rows->cap * sizeof *rows->row);
    ct_free(t->alloc, rows->table, rows->cap_table * sizeof *rows->table);
  }
  ct_free(t->alloc, t->records, (size_t)t->n_workers * sizeof *t->records);
  ct_free(t->alloc, t->rows, (size_t)t->n_workers * sizeof *t->rows);
  ct_free(t->alloc, t->all, t->n_all * sizeof *t->all);
  t->records = NULL;
  t->rows = NULL;
  t->all = NULL;
  t->n_all = 0;
  t->n_workers = 0;
}

static CtStatus begin(CtSimtWatch *watch, CtSimtJob *job, CtErr *err) {
  CtSimtTrace *t = trace_of(watch);
  clear(t);
  find_buf(t, job->program);
  t->records = ct_alloc(t->alloc, (size_t)job->n_workers * sizeof *t->records);
  t->rows = ct_alloc(t->alloc, (size_t)job->n_workers * sizeof *t->rows);
  if (t->records == NULL || t->rows == NULL) {
    ct_free(t->alloc, t->records, (size_t)job->n_workers * sizeof *t->records);
    ct_free(t->alloc, t->rows, (size_t)job->n_workers * sizeof *t->rows);
    t->records = NULL;
    t->rows = NULL;
    return ct_fail_nomem(err);
  }
  t->n_workers = job->n_workers;
  for (int i = 0; i < t->n_workers; i++) {
    ct_record_init(&t->records[i], t->alloc, t->max_bytes);
    t->rows[i] = (CtTraceRows){.alloc = t->alloc};
  }
  return CT_OK;
}

static void begin_block(CtSimtWatch *watch, CtWorker *k) {
  ct_record_reset(&trace_of(watch)->records[worker_of(k)]);
}

static void end_block(CtSimtWatch *watch, CtWorker *k) {
  CtSimtTrace *t = trace_of(watch);
  CtRecord *r = &t->records[worker_of(k)];
  if (t->buf != NULL && !r->failed) {
    int64_t bytes = (int64_t)ct_dtype_bytes(t->buf->of);
    ct_simt_slice(k->job->program, r, k->block, t->buf->param, t->off * bytes, bytes,
                  &t->rows[worker_of(k)]);
  }
}

static uint32_t step(CtSimtWatch *watch, const CtIn *code, const CtIn *in, CtWarp *w) {
  ct_record_step(&trace_of(watch)->records[worker_of(w->worker)], code, in, w);
  return w->mask;
}

static void barrier(CtSimtWatch *watch, CtWorker *k) {
  (void)watch;
  (void)k;
}

static bool fail(CtSimtWatch *watch, CtWorker *k) {
  (void)watch;
  (void)k;
  return false;
}

static int by_block(const void *a, const void *b) {
  const CtTraceRow *x = a, *y = b;
  if (x->block != y->block) {
    return x->block < y->block ? -1 : 1;
  }
  if (x->order != y->order) {
    return x->order < y->order ? -1 : 1;
  }
  if (x->thread != y->thread) {
    return x->thread < y->thread ? -1 : 1;
  }
  return x->kind != y->kind ? (int)x->kind - (int)y->kind : (x->off > y->off) - (x->off < y->off);
}

/* All workers' rows in one array. */
static void end(CtSimtWatch *watch, CtSimtJob *job) {
  CtSimtTrace *t = trace_of(watch);
  size_t n = 0;
  (void)job;
  for (int i = 0; i < t->n_workers; i++) {
    n += t->rows[i].n;
    t->failed = t->failed || t->rows[i].failed || t->records[i].failed;
  }
  t->all = n == 0 ? NULL : ct_alloc(t->alloc, n * sizeof *t->all);
  if (n > 0 && t->all == NULL) {
    t->failed = true;
    return;
  }
  for (int i = 0; i < t->n_workers; i++) {
    if (t->rows[i].n > 0) {
      memcpy(t->all + t->n_all, t->rows[i].row, t->rows[i].n * sizeof *t->all);
      t->n_all += t->rows[i].n;
    }
  }
  if (t->n_all > 0) {
    qsort(t->all, t->n_all, sizeof *t->all, by_block);
  }
}

static const CtWatchOps ops = {.wants = wants,
                               .begin = begin,
                               .end = end,
                               .begin_block = begin_block,
                               .end_block = end_block,
                               .step = step,
                               .barrier = barrier,
                               .fail = fail};

CtStatus ct_simt_trace_open(CtAlloc alloc, const char *param, int64_t off, size_t max_bytes,
                            CtSimtTrace **out, CtErr *err) {
  CtSimtTrace *t = ct_alloc(alloc, sizeof *t);
  if (t == NULL) {
    return ct_fail_nomem(err);
  }
  *t = (CtSimtTrace){.watch = {.ops = &ops}, .alloc = alloc, .off = off, .max_bytes = max_bytes};
  strncpy(t->param, param, sizeof t->param - 1);
  *out = t;
  return CT_OK;
}

void ct_simt_trace_close(CtSimtTrace *t) {
  if (t != NULL) {
    clear(t);
    ct_free(t->alloc, t, sizeof *t);
  }
}

CtSimtWatch *ct_simt_trace_watch(CtSimtTrace *t) { return &t->watch; }

CtStatus ct_simt_trace_rows(CtSimtTrace *t, const CtTraceRow **rows, size_t *n, CtErr *err) {
  if (t->failed) {
    return ct_fail(err, CT_ENOMEM,
                   "trace: a block's record needs more than %zu MiB; trace a smaller problem",
                   t->max_bytes >> 20);
  }
  *rows = t->all;
  *n = t->n_all;
  return CT_OK;
}

CtTracePlace ct_simt_trace_place(const CtSimtProgram *p, const CtTraceRow *row) {
  const CtSimtBuf *buf = row->kind == CT_TRACE_COMPUTES ? NULL : &p->bufs[row->buf];
  return (CtTracePlace){.tensor = buf == NULL ? NULL : buf->name,
                        .space = buf == NULL ? CT_REGISTER : buf->space,
                        .chunk = p->chunks[row->loc.chunk]};
}

bool ct_simt_trace_buf(const CtSimtProgram *p, uint32_t i, const char **name, CtSpace *space,
                       CtLayout *layout) {
  if (i >= p->n_bufs) {
    return false;
  }
  *name = p->bufs[i].name;
  *space = p->bufs[i].space;
  *layout = p->bufs[i].layout;
  return true;
}
