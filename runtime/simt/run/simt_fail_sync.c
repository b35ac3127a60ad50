/* simt_fail_sync.c: messages for failures at mbarriers and named barriers, and for warps that wait
   for ever: which warps, where, for what. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "simt_place.h"
#include "simt_team.h"
#include "simt_sync.h"

enum { TEXT_BYTES = 900 };
typedef struct Text {
  char s[TEXT_BYTES];
  size_t len;
} Text;

static void add(Text *t, const char *fmt, ...) CT_PRINTF(2, 3);
static void add(Text *t, const char *fmt, ...) {
  va_list args;
  va_start(args, fmt);
  int n = vsnprintf(t->s + t->len, sizeof t->s - t->len, fmt, args);
  va_end(args);
  t->len += n > 0 ? (size_t)n : 0;
  t->len = t->len < sizeof t->s ? t->len : sizeof t->s - 1;
}

static CtIn code_of(const CtSimtJob *job, const CtIn *in) {
  return job->program->code[in - job->code];
}

static int line_of(const CtSimtJob *job, const CtIn *in) {
  return job->program->locs[in - job->code].line;
}

/* What a parked warp waits for. */
typedef struct Wait {
  const CtIn *in;
  uint32_t op; /* CT_SIMT_MBAR, NAMED, SETMAXNREG, WGMMA_WAIT */
  uint32_t buf;
  int32_t slot, parity; /* slot: the number of a named barrier */
} Wait;

static Wait wait_of(const CtWorker *k, const CtWarp *w) {
  const CtIn *in = w->parked;
  Wait x = {.in = in, .op = code_of(k->job, in).u.op};
  if (x.op == CT_SIMT_SETMAXNREG || x.op == CT_SIMT_WGMMA_WAIT || x.op == CT_SIMT_CLUSTER_WAIT) {
    return x;
  }
  bool is_named = x.op == CT_SIMT_NAMED;
  const int32_t *slot = CT_CAT(int32_t, w, in->a), *parity = CT_CAT(int32_t, w, in->b);
  x.buf = is_named ? 0 : (CtMbarImm){.imm = in->imm}.u.buf;
  for (uint32_t rest = w->mask; rest != 0; rest &= rest - 1) {
    int lane = ct_first_lane(rest);
    x.slot = slot[lane];
    x.parity = is_named ? 0 : parity[lane];
    if (is_named || !ct_mbar_is_done(ct_mbar_at(w, x.buf, x.slot), x.parity)) {
      break;
    }
  }
  return x;
}

bool ct_simt_mbar_wait(const CtWorker *k, int32_t warp, CtMbarWait *out) {
  const CtWarp *w = ct_simt_warp_at(k, warp);
  if (w->pc == NULL || w->parked == NULL) {
    return false;
  }
  Wait x = wait_of(k, w);
  *out = (CtMbarWait){x.in, x.buf, x.slot, x.parity};
  return x.op == CT_SIMT_MBAR;
}

bool ct_simt_waits_alike(const CtWorker *k, const CtWarp *a, const CtWarp *b) {
  if (a->pc == NULL || b->pc == NULL || (a->parked == NULL) != (b->parked == NULL)) {
    return a->pc == NULL && b->pc == NULL;
  }
  if (a->parked == NULL) {
    return a->is_waiting == b->is_waiting && a->pc == b->pc;
  }
  Wait x = wait_of(k, a), y = wait_of(k, b);
  return x.in == y.in && x.slot == y.slot && x.parity == y.parity;
}

/* "1 arrival and 49152 bytes are missing" */
static void add_missing(Text *t, const CtMbar *b) {
  uint32_t n = ct_mbar_missing(b);
  if (n > 0) {
    add(t, "%u arrivals", n);
  }
  if (b->tx > 0) {
    add(t, "%s%d bytes", n > 0 ? " and " : "", b->tx);
  }
  if (n > 0 || b->tx > 0) {
    add(t, " are missing");
  }
  if (b->tx < 0) {
    add(t, "%s%d bytes have arrived that no arrive_expect_tx has counted", n > 0 ? ", and " : "",
        -b->tx);
  }
}

static void add_wait(Text *t, const CtWorker *k, const CtWarp *w, bool one) {
  Wait x = wait_of(k, w);
  int line = line_of(k->job, x.in);
  if (x.op == CT_SIMT_SETMAXNREG) {
    add(t,
        " %s at line %d for registers: %d for each thread instead of %d, where %d of the block are free",
        one ? "waits" : "wait", line, (int)x.in->imm, w->registers, k->free_registers);
    return;
  }
  if (x.op == CT_SIMT_WGMMA_WAIT) {
    add(t, " %s at line %d for a product of the warp group, which its other warps have not reached",
        one ? "waits" : "wait", line);
    return;
  }
  if (x.op == CT_SIMT_CLUSTER_WAIT) {
    add(t, " %s at line %d for the cluster", one ? "waits" : "wait", line);
    return;
  }
  if (x.op == CT_SIMT_NAMED) {
    const CtNamedBar *bar = &k->named[x.slot];
    add(t, " %s at line %d for named barrier %d: %u of %u threads are missing",
        one ? "waits" : "wait", line, x.slot, bar->n_threads - bar->n_arrived, bar->n_threads);
    return;
  }
  const CtSimtBuf *buf = &k->job->program->bufs[x.buf];
  add(t, " %s at line %d for %s[%d], parity %d: ", one ? "waits" : "wait", line, buf->name, x.slot,
      x.parity);
  const CtMbar *bar = ct_mbar_at(w, x.buf, x.slot);
  add_missing(t, bar);
  if (x.parity == 1 && (bar->state & CT_MBAR_TURNED) != 0 && (bar->state & CT_MBAR_SEEN) == 0) {
    add(t, " (its first phase is complete, and nobody has waited for that: begin with parity 0)");
  }
}

void ct_simt_wait_text(const CtWorker *k, const CtWarp *w, bool one, char *out, size_t size) {
  Text t = {.len = 0};
  add_wait(&t, k, w, one);
  snprintf(out, size, "%s", t.s);
}

/* Appends what each warp of the block waits for. */
static void add_waits(Text *t, const CtWorker *k) {
  int32_t n = k->job->program->n_warps;
  const char *sep = "";
  for (int32_t from = 0, to; from < n; from = to + 1) {
    const CtWarp *w = ct_simt_warp_at(k, from);
    for (to = from; to + 1 < n && ct_simt_waits_alike(k, w, ct_simt_warp_at(k, to + 1)); to++) {}
    if (w->pc == NULL) {
      continue;
    }
    add(t, "%s", sep);
    sep = "; ";
    if (from == to) {
      add(t, "warp %d", from);
    } else {
      add(t, "warps %d to %d", from, to);
    }
    if (w->parked != NULL) {
      add_wait(t, k, w, from == to);
    } else {
      add(t, " %s in sync_threads at line %d", from == to ? "waits" : "wait",
          line_of(k->job, w->pc));
    }
  }
}

static bool has_ended(const CtWorker *k) {
  bool ended = true;
  for (int32_t i = 0; i < k->job->program->n_warps; i++) {
    ended = ended && ct_simt_warp_at(k, i)->pc == NULL;
  }
  return ended;
}

/* Appends the other blocks of the cluster; blocks whose waits match `text` are only counted. */
static void add_others(Text *t, const CtWorker *k, const char *text) {
  enum { MAX_NAMED = 3 };
  int n_alike = 0, n_others = 0;
  Text others = {.len = 0};
  for (int i = 0; i < k->job->program->n_cluster; i++) {
    const CtWorker *other = &k->team[i];
    Text waits = {.len = 0};
    if (other == k || has_ended(other)) {
      continue;
    }
    add_waits(&waits, other);
    bool is_alike = strcmp(waits.s, text) == 0;
    n_alike += is_alike;
    n_others += !is_alike;
    if (!is_alike && n_others <= MAX_NAMED) {
      add(&others, "; in block (%lld,%lld,%lld) of the cluster %s", (long long)other->bid[0],
          (long long)other->bid[1], (long long)other->bid[2], waits.s);
    }
  }
  if (n_alike > 0) {
    add(t, "; the same holds for %d more blocks of the cluster", n_alike);
  }
  add(t, "%s", others.s);
  if (n_others > MAX_NAMED) {
    add(t, "; and %d more", n_others - MAX_NAMED);
  }
}

/* Does the warp wait for the first phase of an mbarrier at which nothing has arrived? */
static bool waits_untouched(const CtWorker *k, const CtWarp *w, uint32_t *buf) {
  Wait x = {0};
  if (w->parked != NULL) {
    x = wait_of(k, w);
  }
  if (w->parked == NULL || x.op != CT_SIMT_MBAR) {
    return false;
  }
  const CtMbar *bar = ct_mbar_at(w, x.buf, x.slot);
  *buf = x.buf;
  return (bar->state & CT_MBAR_TURNED) == 0 && bar->tx == 0 &&
         ct_mbar_missing(bar) == k->job->program->bufs[x.buf].arrivals;
}

/* Each role waits for the other one to begin. */
static bool nobody_begins(const CtWorker *k) {
  uint32_t first = 0, buf = 0;
  bool differ = false;
  for (int32_t i = 0; i < k->job->program->n_warps; i++) {
    const CtWarp *w = ct_simt_warp_at(k, i);
    if (w->pc == NULL) {
      continue;
    }
    if (!waits_untouched(k, w, &buf)) {
      return false;
    }
    differ = differ || (first != 0 && buf != first);
    first = buf;
  }
  return differ;
}

static CtStatus report_waits(const CtWorker *k, CtErr *err) {
  Text t = {.len = 0}, others = {.len = 0};
  add_waits(&t, k);
  add_others(&others, k, t.s);
  if (nobody_begins(k)) {
    add(&others,
        "; nobody begins: slots are empty at first, so the warp that fills them begins with parity "
        "1, as in pipeline_state(n, {parity = 1})");
  }
  return ct_fail(err, CT_EINVAL, "deadlock in block %s: %s%s", ct_part_block(k).s, t.s, others.s);
}

/* The first block that has ended; NULL: none. In a cooperative launch each worker has one block. */
static const CtWorker *first_ended(const CtSimtJob *job, int64_t *n) {
  const CtWorker *first = NULL;
  *n = 0;
  for (int i = 0; i < job->n_workers; i++) {
    const CtWorker *k = &job->workers[i];
    if (atomic_load(&k->team->stuck_at) == UINT64_MAX) {
      first = first == NULL ? k : first;
      ++*n;
    }
  }
  return first;
}

static CtStatus report_grid(const CtWorker *k, CtErr *err) {
  const CtSimtJob *job = k->job;
  int64_t n_ended, n_missing = job->n_blocks - atomic_load(&job->n_at_grid);
  const CtWorker *ended = first_ended(job, &n_ended);
  Text t = {.len = 0};
  if (ended != NULL) {
    add(&t, ": block (%lld,%lld,%lld)", (long long)ended->bid[0], (long long)ended->bid[1],
        (long long)ended->bid[2]);
    if (n_ended > 1) {
      add(&t, " and %lld more have ended", (long long)n_ended - 1);
    } else {
      add(&t, " has ended");
    }
  }
  return ct_fail(err, CT_EINVAL,
                 "sync_grid: block %s waits for %lld of %lld blocks that never come%s; all "
                 "blocks of the grid must reach it",
                 ct_part_block(k).s, (long long)n_missing, (long long)job->n_blocks, t.s);
}

static CtStatus report_arrivals(const CtWorker *k, const CtSimtBuf *buf, CtErr *err) {
  const CtFail *f = &k->fail;
  return ct_fail(
      err, CT_EINVAL,
      "arrive: this phase of %s[%lld] has had its %u arrivals, and it waits for %d bytes; "
      "one of the next phase must come after these",
      buf->name, (long long)f->off, buf->arrivals, (int)ct_mbar_at(f->warp, f->buf, f->off)->tx);
}

static CtStatus report_rank(const CtWorker *k, CtErr *err) {
  const CtFail *f = &k->fail;
  const CtSimtProgram *p = k->job->program;
  const CtIn *code = &p->code[f->in - k->job->code];
  const CtMbarImm imm = {.imm = code->imm};
  bool is_tma = code->u.op == CT_SIMT_TMA;
  bool is_send = is_tma && p->tmas[code->imm].is_send;
  bool is_commit = !is_tma && imm.u.op == CT_OP_TCGEN05_COMMIT_TO;
  return ct_fail(err, CT_EINVAL, "%s: rank %lld; a cluster of %d blocks has ranks 0 to %d",
                 is_send     ? "tma_store"
                 : is_tma    ? "tma_load: multicast"
                 : is_commit ? "tcgen05_commit: multicast"
                             : "arrive",
                 (long long)f->off, p->n_cluster, p->n_cluster - 1);
}

CtStatus ct_simt_report_sync(const CtWorker *k, CtErr *err) {
  const CtFail *f = &k->fail;
  const CtSimtBuf *buf = &k->job->program->bufs[f->buf];
  long long off = (long long)f->off;
  switch ((int)f->kind) { /* simt_fail.c has all kinds, and calls this for these */
    case CT_FAIL_MBAR_NEW:
      return ct_fail(err, CT_EINVAL, "%s[%lld] is used before it was initialised", buf->name, off);
    case CT_FAIL_MBAR_ARRIVALS: return report_arrivals(k, buf, err);
    case CT_FAIL_MBAR_BYTES:
      return ct_fail(err, CT_EINVAL, "%s[%lld]: a phase expects at most %d bytes", buf->name, off,
                     CT_MBAR_MAX);
    case CT_FAIL_MBAR_RANK: return report_rank(k, err);
    case CT_FAIL_MBAR_PARITY:
      return ct_fail(err, CT_EINVAL, "%s: parity %lld; 0 or 1 was expected", buf->name, off);
    case CT_FAIL_NAMED_ID:
      return ct_fail(err, CT_EINVAL,
                     "named_barrier: number %lld, or not the same in all lanes of a warp; 1 to 15 "
                     "was expected",
                     off);
    case CT_FAIL_NAMED_THREADS:
      return ct_fail(err, CT_EINVAL,
                     "named_barrier: barrier %lld waits for %lld threads, but another number is "
                     "given here; all calls for one barrier must give the same number",
                     off & 0xff, off >> 8);
    case CT_FAIL_REGISTERS:
      return ct_fail(err, CT_EINVAL,
                     "setmaxnreg: %lld registers instead of %lld; a warp group changes them once, "
                     "from the %d that it begins with",
                     (long long)f->in->imm, off, k->job->program->first_registers);
    case CT_FAIL_GRID: return report_grid(k, err);
    case CT_FAIL_WAITS: return report_waits(k, err);
  }
  CT_UNREACHABLE();
}
