/* simt_message.c: printf and assert of threads on the CPU engine. Each worker keeps the text that
   its threads print. At the end of the launch the texts are put in the order that it asked
   for. */
#include "simt_run.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/bits.h"
#include "runtime/base/order.h"

enum { MAX_BYTES = 64 << 20 };

/* --- operands ------------------------------------------------------------------------------------- */

/* NULL if out of memory. */
static CtPrinter *lock_printer(CtWorker *k) {
  pthread_mutex_lock(&k->job->print_lock);
  k->job->has_printed = true;
  if (k->printer == NULL) {
    k->printer = ct_alloc(k->job->alloc, sizeof *k->printer);
    if (k->printer != NULL) {
      memset(k->printer, 0, sizeof *k->printer);
      ct_text_init(&k->printer->text, k->job->alloc);
    }
  }
  return k->printer;
}

static void unlock_printer(CtWorker *k) { pthread_mutex_unlock(&k->job->print_lock); }

static uint64_t word_of(CtDtype type, const CtWarp *w, uint32_t at, int lane) {
  if (type == CT_bool) {
    return *CT_CAT(uint32_t, w, at) >> lane & 1;
  }
  if (type == CT_f64) {
    return ct_bits_of_f64(CT_CAT(double, w, at)[lane]);
  }
  return ct_dtypes[type].bits == 32 ? CT_CAT(uint32_t, w, at)[lane] : CT_CAT(uint64_t, w, at)[lane];
}

const CtIn *ct_simt_do_PRINT_ARG(const CtIn *in, CtWarp *w) {
  CtPrinter *p = lock_printer(w->worker);
  int64_t i = in->imm >> 8;
  CtDtype type = (CtDtype)(in->imm & 0xff);
  if (p != NULL) {
    p->types[i] = (uint8_t)type;
    for (uint32_t rest = w->mask; rest != 0; rest &= rest - 1) {
      int lane = ct_first_lane(rest);
      p->words[lane][i] = word_of(type, w, in->a, lane);
    }
  }
  unlock_printer(w->worker);
  return in + 1;
}

/* --- lines ------------------------------------------------------------------------------------------- */

static bool add_line(const CtWorker *k, CtPrinter *p, const char *format, const CtWarp *w,
                     int lane) {
  size_t at = p->text.len;
  if (at > MAX_BYTES || CT_GROW(k->job->alloc, p->lines, p->cap, p->n + 1, NULL) != CT_OK) {
    return false;
  }
  ct_message_format(&p->text, format, p->types, p->words[lane]);
  if (p->text.failed) {
    return false;
  }
  bool by_thread = k->job->launch->print_order == CT_PRINT_BY_THREAD;
  p->lines[p->n] = (CtPrinted){.block = k->block,
                               .thread = by_thread ? w->index * CT_LANES + lane : 0,
                               .order = (uint32_t)p->n,
                               .at = at,
                               .len = p->text.len - at};
  p->n++;
  return true;
}

const CtIn *ct_simt_do_PRINT(const CtIn *in, CtWarp *w) {
  CtWorker *k = w->worker;
  CtPrinter *p = lock_printer(k);
  const char *format = k->job->program->texts[in->imm];
  for (uint32_t rest = w->mask; p != NULL && rest != 0; rest &= rest - 1) {
    if (!add_line(k, p, format, w, ct_first_lane(rest))) {
      p->n_dropped++;
    }
  }
  unlock_printer(k);
  return in + 1;
}

const CtIn *ct_simt_do_WITHIN(const CtIn *in, CtWarp *w) { /* does nothing; watchers look at it */
  (void)w;
  return in + 1;
}

const CtIn *ct_simt_do_WRAPS(const CtIn *in, CtWarp *w) { /* as WITHIN */
  (void)w;
  return in + 1;
}

const CtIn *ct_simt_do_ASSERT(const CtIn *in, CtWarp *w) {
  uint32_t failed = w->mask & ~*CT_AT(uint32_t, w, in->d);
  if (failed != 0) {
    w->worker->fail = (CtFail){
        .kind = CT_FAIL_ASSERT, .in = in, .warp = w, .lane = ct_first_lane(failed), .off = in->imm};
    return NULL;
  }
  return in + 1;
}

/* --- the end of the launch ------------------------------------------------------------------------------ */

static int compare(const void *a, const void *b) {
  const CtPrinted *x = a, *y = b;
  const int64_t pairs[][2] = {{x->block, y->block}, {x->thread, y->thread}, {x->order, y->order}};
  return CT_COMPARE_PAIRS(pairs);
}

/* Gathers the lines of blocks up to `last` from all workers; *n is their number. */
static CtPrinted *gather(const CtSimtJob *job, int64_t last, size_t total, size_t *n) {
  CtPrinted *all = ct_alloc(job->alloc, total * sizeof *all);
  *n = 0;
  for (int i = 0; i < job->n_workers && all != NULL; i++) {
    const CtPrinter *p = job->workers[i].printer;
    for (size_t j = 0; p != NULL && j < p->n; j++) {
      if (p->lines[j].block <= last) {
        all[*n] = p->lines[j];
        all[(*n)++].text = ct_text_str(&p->text) + p->lines[j].at;
      }
    }
  }
  return all;
}

static void send(const CtSimtJob *job, int64_t last, size_t total, uint64_t n_dropped) {
  const CtSimtLaunch *launch = job->launch;
  char note[96];
  size_t n;
  CtPrinted *all = gather(job, last, total, &n);
  if (all != NULL) {
    qsort(all, n, sizeof *all, compare);
    for (size_t i = 0; i < n; i++) {
      launch->print(launch->print_ud, all[i].text, all[i].len);
    }
  } else {
    n_dropped += total;
  }
  if (n_dropped > 0) {
    int len = snprintf(note, sizeof note, "printf: no room for %" PRIu64 " more\n", n_dropped);
    launch->print(launch->print_ud, note, (size_t)len);
  }
  ct_free(job->alloc, all, total * sizeof *all);
}

void ct_simt_print_lines(CtSimtJob *job, int64_t last) {
  job->has_printed = false;
  size_t total = 0;
  uint64_t n_dropped = 0;
  for (int i = 0; i < job->n_workers; i++) {
    const CtPrinter *p = job->workers[i].printer;
    total += p == NULL ? 0 : p->n;
    n_dropped += p == NULL ? 0 : p->n_dropped;
  }
  if (job->launch->print != NULL && total + n_dropped > 0) {
    send(job, last, total, n_dropped);
  }
  for (int i = 0; i < job->n_workers; i++) {
    CtPrinter *p = job->workers[i].printer;
    if (p != NULL) {
      ct_free(job->alloc, p->lines, p->cap * sizeof *p->lines);
      ct_text_clear(&p->text);
      ct_free(job->alloc, p, sizeof *p);
      job->workers[i].printer = NULL;
    }
  }
}
