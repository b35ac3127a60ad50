/* orders_marks.c: what happened in a planned run, step by step, for the page that shows it:
   stdlib/microscope/schedule_page.lua reads the text. */
#include "orders_state.h"

#include <stdio.h>
#include <string.h>

/* --- marks ------------------------------------------------------------------------------------------------ */

static const char *const verbs[CT_MARK_COUNT] = {
    [CT_MARK_ATOMIC] = "atomic", [CT_MARK_BEGIN] = "begin",   [CT_MARK_COMPLETE] = "complete",
    [CT_MARK_ARRIVE] = "arrive", [CT_MARK_EXPECT] = "expect", [CT_MARK_PASS] = "pass",
    [CT_MARK_TEST] = "test",     [CT_MARK_MEET] = "meet",     [CT_MARK_STUCK] = "stuck"};

static bool add(CtOrders *o, CtOrderMark m) {
  m.step = o->n_steps;
  if (o->n_marks < CT_ORDER_EVENTS &&
      CT_GROW(o->alloc, o->marks, o->cap_marks, o->n_marks + 1, NULL) == CT_OK) {
    CT_ASSERT(o->marks != NULL);
    o->marks[o->n_marks++] = m;
    return true;
  }
  return false;
}

static uint32_t index_of(const CtWarp *w, const CtIn *in) {
  return (uint32_t)(in - w->worker->job->code);
}

/* What an instruction acts on, as far as its operands tell. */
static void set_place(CtOrderMark *m, const CtWarp *w, const CtIn *in) {
  const CtIn *code = &w->worker->job->program->code[index_of(w, in)];
  const CtAtomicImm atomic = {.imm = code->imm};
  const CtMbarImm bar = {.imm = code->imm};
  int lane = w->mask != 0 ? ct_first_lane(w->mask) : 0;
  switch (code->u.op) {
    case CT_SIMT_ATOMIC:
      m->place = CT_PLACE_WORD;
      m->buf = atomic.u.buf;
      m->slot = atomic.u.is_i32 ? CT_CAT(int32_t, w, in->a)[lane] : CT_CAT(int64_t, w, in->a)[lane];
      break;
    case CT_SIMT_MBAR:
      m->place = CT_PLACE_MBAR;
      m->buf = bar.u.buf;
      m->slot = CT_CAT(int32_t, w, in->a)[lane];
      break;
    case CT_SIMT_NAMED:
      m->place = CT_PLACE_NAMED;
      m->slot = CT_CAT(int32_t, w, in->a)[lane];
      break;
    default: break;
  }
}

void ct_order_mark_turn(CtOrders *o, const CtWarp *w) {
  CtOrderMark m = {.thread = ct_order_thread_of(o, w), .in = index_of(w, w->at)};
  const CtIn *code = &w->worker->job->program->code[m.in];
  const CtMbarImm bar = {.imm = code->imm};
  bool is_test = code->u.op == CT_SIMT_MBAR && bar.u.op == CT_OP_MBAR_TEST;
  m.kind = is_test ? CT_MARK_TEST : CT_MARK_ATOMIC;
  m.block = w->worker->block;
  if (is_test || code->u.op == CT_SIMT_ATOMIC) {
    set_place(&m, w, w->at);
    (void)add(o, m);
  }
}

void ct_order_mark_met(CtOrders *o, const CtWorker *k) {
  const CtWarp *w = CT_CAT(CtWarp, k->warps, 0);
  (void)add(o, (CtOrderMark){.kind = CT_MARK_MEET,
                             .thread = ct_order_thread_of(o, w),
                             .in = UINT32_MAX,
                             .block = k->block});
}

void ct_order_mark_stuck(CtOrders *o, const CtWarp *w) {
  const CtIn *in = w->parked != NULL ? w->parked : w->gave_way ? w->spin_at : w->pc;
  CtOrderMark m = {.kind = CT_MARK_STUCK,
                   .thread = ct_order_thread_of(o, w),
                   .in = index_of(w, in),
                   .block = w->worker->block};
  if (w->parked != NULL) {
    set_place(&m, w, in);
  }
  (void)add(o, m);
}

/* {kind, place} of each note; kind 0: no mark is made. */
static const uint8_t noted[][2] = {[CT_SYNC_ARRIVE] = {CT_MARK_ARRIVE, CT_PLACE_MBAR},
                                   [CT_SYNC_EXPECT] = {CT_MARK_EXPECT, CT_PLACE_MBAR},
                                   [CT_SYNC_ISSUE] = {CT_MARK_BEGIN, CT_PLACE_MBAR},
                                   [CT_SYNC_COMPLETE] = {CT_MARK_COMPLETE, CT_PLACE_MBAR},
                                   [CT_SYNC_PASS] = {CT_MARK_PASS, CT_PLACE_MBAR},
                                   [CT_SYNC_NAMED_ARRIVE] = {CT_MARK_ARRIVE, CT_PLACE_NAMED},
                                   [CT_SYNC_NAMED_PASS] = {CT_MARK_PASS, CT_PLACE_NAMED},
                                   [CT_SYNC_CLUSTER_ARRIVE] = {CT_MARK_ARRIVE, CT_PLACE_CLUSTER},
                                   [CT_SYNC_CLUSTER_PASS] = {CT_MARK_PASS, CT_PLACE_CLUSTER},
                                   [CT_SYNC_GRID_ARRIVE] = {CT_MARK_ARRIVE, CT_PLACE_GRID},
                                   [CT_SYNC_GRID_PASS] = {CT_MARK_PASS, CT_PLACE_GRID},
                                   [CT_SYNC_WAIT] = {0}};

void ct_order_mark_sync(CtOrders *o, const CtSyncNote *note) {
  const CtWorker *k = note->w->worker;
  CtOrderMark m = {.kind = noted[note->kind][0],
                   .place = noted[note->kind][1],
                   .turns = note->turns,
                   .in = index_of(note->w, note->in),
                   .buf = note->buf,
                   .slot = note->slot,
                   .thread = ct_order_thread_of(o, note->w),
                   .block = k->block};
  if (m.kind == 0) {
    return;
  }
  if (m.place == CT_PLACE_MBAR) {
    m.block = k->team[note->rank].block;
  }
  if (m.kind == CT_MARK_COMPLETE) {
    m.thread = ct_order_copies_of(o, &k->team[note->rank], note->buf, note->slot);
  }
  const CtOrderMark *last = o->n_marks > 0 ? &o->marks[o->n_marks - 1] : NULL;
  bool again = last != NULL && last->thread == m.thread && last->in == m.in &&
               last->kind == m.kind && last->slot == m.slot && last->step == o->n_steps;
  if (again) { /* lanes of one warp */
    o->marks[o->n_marks - 1].turns = last->turns || m.turns;
  } else {
    (void)add(o, m);
  }
}

/* --- text ------------------------------------------------------------------------------------------------- */

static void put(CtText *t, const char *s) { ct_text_add(t, s, strlen(s)); }

/* " of block 3 of rank 1" */
static void put_block(CtText *t, const CtSimtEntry *e, int64_t block) {
  char text[80];
  snprintf(text, sizeof text, " of block %lld", (long long)block);
  put(t, text);
  snprintf(text, sizeof text, " of rank %d", e->rank);
  put(t, e->rank >= 0 ? text : "");
}

void ct_orders_put_thread(const CtOrders *o, const CtSimtEntry *entries, uint32_t thread,
                          CtText *t) {
  const CtOrderThread who = ct_orders_thread(o, thread);
  const CtSimtEntry *e = &entries[who.job];
  char text[160];
  if (who.warp >= 0) {
    snprintf(text, sizeof text, "warp %d", who.warp);
  } else {
    snprintf(text, sizeof text, "copy to %.80s[%lld]", e->program->bufs[who.buf].name,
             (long long)who.slot);
  }
  put(t, text);
  put_block(t, e, who.block);
}

static void put_place(const CtOrders *o, const CtOrderMark *m, const CtSimtEntry *e, CtText *t) {
  const CtOrderThread who = ct_orders_thread(o, m->thread);
  const char *name = e->program->bufs[m->buf].name;
  char text[160] = "";
  switch ((CtMarkPlace)m->place) {
    case CT_PLACE_MBAR:
    case CT_PLACE_WORD: snprintf(text, sizeof text, "%.80s[%lld]", name, (long long)m->slot); break;
    case CT_PLACE_NAMED:
      snprintf(text, sizeof text, "named barrier %lld", (long long)m->slot);
      break;
    case CT_PLACE_CLUSTER: put(t, "the cluster's barrier"); break;
    case CT_PLACE_GRID: put(t, "the grid's barrier"); break;
    case CT_PLACE_NONE: break;
  }
  put(t, text);
  if (m->place == CT_PLACE_MBAR && m->block != who.block) {
    put_block(t, e, m->block);
  }
}

/* What an atomic operation is called; else what the mark is. */
static const char *verb_of(const CtOrderMark *m, const CtSimtEntry *e) {
  const CtAtomicImm imm = {.imm = m->in == UINT32_MAX ? 0 : e->program->code[m->in].imm};
  return m->kind == CT_MARK_ATOMIC ? ct_ops[imm.u.op].text : verbs[m->kind];
}

static void put_mark(const CtOrders *o, const CtOrderMark *m, const CtSimtEntry *entries,
                     CtText *t) {
  const CtSimtEntry *e = &entries[ct_orders_thread(o, m->thread).job];
  char text[120];
  snprintf(text, sizeof text, "event\t%u\t%u\t%d\t%s\t", m->step, m->thread,
           m->in == UINT32_MAX ? 0 : e->program->locs[m->in].line, verb_of(m, e));
  put(t, text);
  put_place(o, m, e, t);
  put(t, m->turns ? "\tturns\n" : "\t\n");
}

/* The marks that are told: from shortly before the first choice on, and all of warps that are stuck. */
typedef struct Window {
  size_t first, end;
} Window;

static Window window_of(const CtOrders *o) {
  enum { BEFORE = 40, MOST = 400 };
  uint32_t from = o->n_choices == 0 ? 0 : o->choices[0].step;
  size_t first = 0;
  while (first < o->n_marks && o->marks[first].step < from) {
    first++;
  }
  first = first > BEFORE ? first - BEFORE : 0;
  return (Window){first, first + MOST};
}

static bool is_told(const CtOrders *o, Window w, size_t i) {
  return (i >= w.first && i < w.end) || o->marks[i].kind == CT_MARK_STUCK;
}

static bool is_first_of_thread(const CtOrders *o, Window w, size_t i) {
  for (size_t k = w.first; k < i; k++) {
    if (o->marks[k].thread == o->marks[i].thread && is_told(o, w, k)) {
      return false;
    }
  }
  return true;
}

void ct_orders_put_events(const CtOrders *o, const CtSimtEntry *entries, CtText *t) {
  const Window w = window_of(o);
  char text[32];
  for (size_t i = w.first; i < o->n_marks; i++) {
    if (is_told(o, w, i) && is_first_of_thread(o, w, i)) {
      snprintf(text, sizeof text, "thread\t%u\t", o->marks[i].thread);
      put(t, text);
      ct_orders_put_thread(o, entries, o->marks[i].thread, t);
      put(t, "\n");
    }
    if (is_told(o, w, i)) {
      put_mark(o, &o->marks[i], entries, t);
    }
  }
}
