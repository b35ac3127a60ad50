/* orders_touch.c: which events of a planned run depend on each other, and which of them race: see orders.h. */
#include "orders_state.h"

#include <string.h>

#include "runtime/simt/run/simt_sync.h"

enum { RACES = 1 << 16 };

/* --- places ---------------------------------------------------------------------------------------------- */

/* Room for one more place, and for its clocks. */
static bool reserve_place(CtOrders *o) {
  size_t n_clocks = o->n_place_clocks + 2 * o->n_threads;
  return ct_hash_table_reserve(&o->place_at, o->alloc) &&
         CT_GROW(o->alloc, o->places, o->cap_places, o->place_at.n + 1, NULL) == CT_OK &&
         CT_GROW(o->alloc, o->place_clocks, o->cap_place_clocks, n_clocks, NULL) == CT_OK;
}

static CtPlace new_place(CtOrders *o, uint64_t key) {
  CtPlace p = {.key = key, .last = UINT32_MAX, .clock = o->n_place_clocks};
  memset(&o->place_clocks[p.clock], 0, 2 * o->n_threads * sizeof *o->place_clocks);
  o->n_place_clocks += 2 * o->n_threads;
  return p;
}

/* NULL: out of memory, and the run ends. */
static CtPlace *place_of(CtOrders *o, uint64_t key) {
  CtHashTable *t = &o->place_at;
  if (!reserve_place(o)) {
    o->end = CT_ORDER_TOO_LARGE;
    return NULL;
  }
  uint32_t hash = (uint32_t)ct_order_mix(key);
  CtHashSlot *at = ct_hash_table_first(t, hash);
  while (at->number != 0 && o->places[at->number - 1].key != key) {
    at = ct_hash_table_next(t, at);
  }
  if (at->number == 0) {
    o->places[t->n] = new_place(o, key);
    ct_hash_table_put(t, at, hash, (uint32_t)t->n + 1);
  }
  return &o->places[at->number - 1];
}

/* Of the current phase, or of the one before it; of a barrier whose phases have numbers, by parity. */
static uint16_t *clock_of(const CtOrders *o, const CtPlace *p, size_t which) {
  return &o->place_clocks[p->clock + which * o->n_threads];
}

/* --- races ------------------------------------------------------------------------------------------------ */

/* Does event a come before what has this clock? */
static bool is_before(const CtOrders *o, uint32_t a, const uint16_t *clock) {
  const CtOrderEvent *e = &o->events[a];
  return clock[e->thread] >= e->local;
}

static void note_found(CtOrders *o, uint32_t event) {
  for (size_t i = 0; i < o->n_found; i++) {
    if (o->found[i] == event) {
      return;
    }
  }
  if (CT_GROW(o->alloc, o->found, o->cap_found, o->n_found + 1, NULL) == CT_OK) {
    o->found[o->n_found++] = event;
  }
}

/* Those found race with the event, unless another one comes between. */
static void note_races(CtOrders *o, uint32_t event) {
  for (size_t i = 0; i < o->n_found; i++) {
    bool direct = true;
    for (size_t k = 0; k < o->n_found && direct; k++) {
      direct = k == i || !is_before(o, o->found[i], ct_order_clock(o, o->found[k]));
    }
    if (direct && o->n_races < RACES &&
        CT_GROW(o->alloc, o->races, o->cap_races, o->n_races + 1, NULL) == CT_OK) {
      o->races[o->n_races++] = (CtRacePair){o->found[i], event};
    }
  }
  o->n_found = 0;
}

/* --- touches ------------------------------------------------------------------------------------------------ */

static bool arrives(const CtTouch *t) {
  return t->kind == CT_TOUCH_ARRIVE || t->kind == CT_TOUCH_COMPLETE;
}

static bool is_of_phase_before(const CtTouch *before, const CtTouch *t) {
  return arrives(before) && before->phase + 1 == t->phase;
}

/* Might the last arrival of a phase have ended it without an earlier touch of the phase? */
static bool holds_open(const CtTouch *before, const CtTouch *t) {
  return before->phase == t->phase && ((t->is_short && before->kind == CT_TOUCH_COMPLETE) ||
                                       (t->is_last && before->kind == CT_TOUCH_EXPECT));
}

/* Does a touch depend on an earlier one? */
static bool depends(const CtTouch *before, const CtTouch *t) {
  switch ((CtTouchKind)t->kind) {
    case CT_TOUCH_LOAD: return before->kind == CT_TOUCH_CHANGE;
    case CT_TOUCH_CHANGE: return true;
    case CT_TOUCH_ARRIVE: return is_of_phase_before(before, t) || holds_open(before, t);
    case CT_TOUCH_COMPLETE: return is_of_phase_before(before, t);
    case CT_TOUCH_EXPECT: return is_of_phase_before(before, t) && before->turns;
    case CT_TOUCH_TEST: return arrives(before) && before->phase + 1 >= t->phase;
    case CT_TOUCH_PASS: return false; /* by the clock of the phase */
  }
  CT_UNREACHABLE();
}

/* Does an arrival of the same phase come after this touch, by more than the order of the run? */
static bool is_known_to_arrivals(const CtOrders *o, const CtPlace *p, const CtTouch *before,
                                 const CtTouch *t) {
  for (uint32_t i = p->last; i != UINT32_MAX; i = o->touches[i].next) {
    const CtTouch *other = &o->touches[i];
    if (other->phase < t->phase) {
      break;
    }
    if (other->kind == CT_TOUCH_ARRIVE &&
        is_before(o, before->event, ct_order_clock(o, other->event))) {
      return true;
    }
  }
  return false;
}

/* Does whatever depends on an earlier touch depend on this one, too? */
static bool is_wall(const CtTouch *before, const CtTouch *t) {
  return before->kind == CT_TOUCH_CHANGE || (arrives(before) && before->phase + 1 < t->phase);
}

/* The event comes after those that it depends on. */
static void follow(CtOrders *o, CtOrderEvent *e, const CtPlace *p, const CtTouch *t) {
  uint16_t *now = ct_order_now(o, e->thread);
  uint64_t sum = 0;
  uint32_t event = (uint32_t)(e - o->events);
  for (uint32_t i = p->last; i != UINT32_MAX; i = o->touches[i].next) {
    const CtTouch *before = &o->touches[i];
    const CtOrderEvent *b = &o->events[before->event];
    if (b->is_dead || b == e || !depends(before, t) ||
        (before->kind == CT_TOUCH_EXPECT && is_known_to_arrivals(o, p, before, t))) {
      continue;
    }
    sum += ct_order_mix(b->hash);
    if (b->thread != e->thread && !is_before(o, before->event, ct_order_before(o, event))) {
      note_found(o, before->event);
    }
    if (is_wall(before, t)) {
      break;
    }
  }
  for (size_t i = 0; i < o->n_found; i++) {
    ct_order_join(o, now, ct_order_clock(o, o->found[i]));
  }
  note_races(o, event);
  e->hash = ct_order_mix(e->hash + sum + ((uint64_t)t->phase << 8 | t->kind));
}

/* A phase is complete. Waits that found the phase before it complete could have come later. */
static void turn_over(CtOrders *o, CtPlace *p, uint32_t event) {
  uint16_t *clock = clock_of(o, p, 0);
  for (uint32_t i = p->last; i != UINT32_MAX; i = o->touches[i].next) {
    const CtTouch *t = &o->touches[i];
    const CtOrderEvent *e = &o->events[t->event];
    bool found = t->kind == CT_TOUCH_PASS ? t->phase + 1 == p->phase
                                          : t->kind == CT_TOUCH_TEST && t->phase == p->phase;
    if (found && !e->is_dead && t->event != event && !is_before(o, t->event, clock)) {
      note_found(o, t->event);
    }
    if (t->phase + 2 < p->phase) {
      break;
    }
  }
  note_races(o, event);
  memcpy(clock_of(o, p, 1), clock, o->n_threads * sizeof *clock);
  memset(clock, 0, o->n_threads * sizeof *clock);
  p->phase_hash[1] = p->phase_hash[0];
  p->phase_hash[0] = 0;
  p->phase++;
}

/* The open event of a thread; NULL: it has none. */
static CtOrderEvent *open_event(const CtOrders *o, uint32_t thread) {
  CtOrderEvent *e = o->is_open && o->n_events > 0 ? &o->events[o->n_events - 1] : NULL;
  return e != NULL && e->thread == thread ? e : NULL;
}

static bool add_touch(CtOrders *o, CtPlace *p, CtTouch t) {
  if (CT_GROW(o->alloc, o->touches, o->cap_touches, o->n_touches + 1, NULL) != CT_OK) {
    o->end = CT_ORDER_TOO_LARGE;
    return false;
  }
  t.next = p->last;
  p->last = (uint32_t)o->n_touches;
  o->touches[o->n_touches++] = t;
  return true;
}

static void touch(CtOrders *o, uint32_t thread, uint64_t key, CtTouch t) {
  CtOrderEvent *e = open_event(o, thread);
  CtPlace *p = e == NULL ? NULL : place_of(o, key);
  if (p == NULL) {
    return;
  }
  uint32_t event = (uint32_t)(e - o->events);
  uint16_t *now = ct_order_now(o, e->thread);
  t.event = event;
  t.phase = p->phase - (t.kind == CT_TOUCH_PASS);
  if (t.kind == CT_TOUCH_PASS) {
    ct_order_join(o, now, clock_of(o, p, 1));
    e->hash += p->phase_hash[1];
  }
  follow(o, e, p, &t);
  memcpy(ct_order_clock(o, event), now, o->n_threads * sizeof *now);
  o->last_hash[e->thread] = e->hash;
  if (arrives(&t)) {
    ct_order_join(o, clock_of(o, p, 0), now);
    p->phase_hash[0] += ct_order_mix(e->hash);
  }
  if (add_touch(o, p, t) && t.turns) {
    turn_over(o, p, event);
  }
}

static void touch_as(CtOrders *o, const CtWarp *w, uint64_t key, CtTouchKind kind) {
  touch(o, ct_order_thread_of(o, w), key, (CtTouch){.kind = (uint8_t)kind});
}

/* --- what instructions touch ----------------------------------------------------------------------------------- */

static uint64_t block_key(const CtWorker *k) {
  return ((uint64_t)k->job->number << 48) + (uint64_t)k->block + 1;
}

static uint64_t bar_key(const CtWarp *w, int rank, uint32_t buf, int64_t slot) {
  const CtWorker *k = &w->worker->team[rank];
  uint64_t at = k->job->program->bufs[buf].at + (uint64_t)slot * sizeof(CtMbar);
  return ct_order_mix(block_key(k)) + at;
}

static uint64_t named_key(const CtWarp *w, int64_t number) {
  return ct_order_mix(block_key(w->worker) ^ (uint64_t)1 << 62) + (uint64_t)number;
}

/* Memory that blocks have for themselves, one after the other at the same address, is another place in each. */
static uint64_t word_key(const CtWarp *w, const CtAtomicImm *imm, int64_t off) {
  const CtSimtBuf *b = &w->worker->job->program->bufs[imm->u.buf];
  const CtMem *m = &w->mem[imm->u.buf];
  const CtWorker *owner = ct_simt_owner(w, imm->u.buf);
  uint64_t at = (uint64_t)(uintptr_t)(m->ptr + off * (int64_t)m->elem_bytes);
  return b->space == CT_GLOBAL ? at / 4 * 4 : ct_order_mix(block_key(owner)) + at / 4 * 4;
}

static void touch_words(CtOrders *o, const CtWarp *w, const CtIn *in, CtAtomicImm imm) {
  bool is_load = imm.u.op == CT_OP_ATOMIC_LOAD;
  uint64_t last = 0;
  o->events[o->n_events - 1].may_change = !is_load;
  for (uint32_t rest = w->mask; rest != 0; rest &= rest - 1) {
    int lane = ct_first_lane(rest);
    int64_t off = imm.u.is_i32 ? CT_CAT(int32_t, w, in->a)[lane] : CT_CAT(int64_t, w, in->a)[lane];
    uint64_t key = word_key(w, &imm, off);
    if (key != last) {
      touch_as(o, w, key, is_load ? CT_TOUCH_LOAD : CT_TOUCH_CHANGE);
    }
    last = key;
  }
}

/* Instructions that run others: their operands are not known yet, so all of them touch one place. */
static void touch_anything(CtOrders *o, const CtWarp *w) {
  o->events[o->n_events - 1].may_change = true;
  touch_as(o, w, 1, CT_TOUCH_CHANGE);
}

static void touch_tested(CtOrders *o, const CtWarp *w, const CtIn *in, uint32_t buf) {
  for (uint32_t rest = w->mask; rest != 0; rest &= rest - 1) {
    int64_t slot = CT_CAT(int32_t, w, in->a)[ct_first_lane(rest)];
    touch_as(o, w, bar_key(w, w->worker->rank, buf, slot), CT_TOUCH_TEST);
  }
}

void ct_order_touch_atomic(CtOrders *o, CtWarp *w) {
  const CtSimtJob *job = w->worker->job;
  const CtIn *in = &job->program->code[w->at - job->code];
  const CtAtomicImm imm = {.imm = in->imm};
  const CtMbarImm bar = {.imm = in->imm};
  o->is_open = true;
  switch (in->u.op) {
    case CT_SIMT_ATOMIC: touch_words(o, w, in, imm); break;
    case CT_SIMT_TMA:
      if (job->program->tmas[in->imm].is_cancel) {
        o->events[o->n_events - 1].may_change = true;
        touch_as(o, w, (uint64_t)5 << 60 | (uint64_t)job->number, CT_TOUCH_CHANGE);
      }
      break;
    case CT_SIMT_EACH:
    case CT_SIMT_EACH_AT:
    case CT_SIMT_ONLY:
    case CT_SIMT_UNLESS: touch_anything(o, w); break;
    case CT_SIMT_MBAR:
      if (bar.u.op == CT_OP_MBAR_TEST) {
        touch_tested(o, w, in, bar.u.buf);
      }
      break;
    default: break;
  }
}

/* --- barriers ------------------------------------------------------------------------------------------------------ */

/* A barrier whose phases have numbers: all arrivals of a phase come before it ends. */
static void pass_numbered(CtOrders *o, const CtWarp *w, uint64_t key, int64_t phase, bool arrives) {
  CtPlace *p = place_of(o, key);
  if (p == NULL) {
    return;
  }
  uint16_t *now = ct_order_now(o, ct_order_thread_of(o, w));
  uint16_t *clock = clock_of(o, p, (size_t)(phase % 2));
  if (arrives) {
    ct_order_join(o, clock, now);
  } else {
    ct_order_join(o, now, clock);
  }
}

static void pass_grid(CtOrders *o, const CtSyncNote *note) {
  const CtWorker *k = note->w->worker;
  const CtSimtProgram *p = k->job->program;
  for (int32_t i = 0; i < p->n_warps; i++) {
    const CtWarp *w = CT_CAT(CtWarp, k->warps, (size_t)i * p->warp_bytes);
    pass_numbered(o, w, (uint64_t)3 << 60 | (uint64_t)k->job->number, note->n,
                  note->kind == CT_SYNC_GRID_ARRIVE);
  }
}

static void pass_named(CtOrders *o, const CtSyncNote *note) {
  CtPlace *p = place_of(o, named_key(note->w, note->slot));
  if (p != NULL) {
    ct_order_join(o, ct_order_now(o, ct_order_thread_of(o, note->w)), clock_of(o, p, 1));
  }
}

/* A wait for products comes after the warps of the warp group have committed as many groups as it needs. */
static void pass_products(CtOrders *o, const CtSyncNote *note) {
  enum { WARP_GROUP = 4 };
  const CtWarp *w = note->w;
  const CtSimtProgram *p = w->worker->job->program;
  bool commits = note->kind == CT_SYNC_COMMIT;
  uint32_t first = ct_order_thread_of(o, w) - (uint32_t)w->index % WARP_GROUP;
  int64_t groups = (int64_t)w->n_groups - (commits ? 0 : note->n);
  for (int32_t i = 0; i < WARP_GROUP && groups > 0; i++) {
    int32_t index = w->index - w->index % WARP_GROUP + i;
    if (index < p->n_warps && (!commits || index == w->index)) {
      uint64_t key = ct_order_mix((uint64_t)(first + (uint32_t)i) << 32) + (uint64_t)groups;
      pass_numbered(o, w, key, 0, commits);
    }
  }
}

static void touch_mbar(CtOrders *o, const CtSyncNote *note, CtTouchKind kind) {
  const CtWarp *w = note->w;
  CtTouch t = {.kind = (uint8_t)kind, .turns = note->turns};
  t.is_last = kind == CT_TOUCH_ARRIVE && (note->turns || note->missing == 0);
  t.is_short = t.is_last && !note->turns && note->tx < 0;
  uint32_t thread = kind == CT_TOUCH_COMPLETE
                        ? ct_order_copies_of(o, &w->worker->team[note->rank], note->buf, note->slot)
                        : ct_order_thread_of(o, w);
  touch(o, thread, bar_key(w, note->rank, note->buf, note->slot), t);
}

void ct_order_sync(CtOrders *o, const CtSyncNote *note) {
  const CtWarp *w = note->w;
  uint64_t cluster = ct_order_mix(block_key(w->worker->team)) ^ (uint64_t)1 << 61;
  switch (note->kind) {
    case CT_SYNC_ARRIVE: touch_mbar(o, note, CT_TOUCH_ARRIVE); break;
    case CT_SYNC_COMPLETE: touch_mbar(o, note, CT_TOUCH_COMPLETE); break;
    case CT_SYNC_EXPECT: touch_mbar(o, note, CT_TOUCH_EXPECT); break;
    case CT_SYNC_PASS: touch_mbar(o, note, CT_TOUCH_PASS); break;
    case CT_SYNC_NAMED_ARRIVE:
      touch(o, ct_order_thread_of(o, w), named_key(w, note->slot),
            (CtTouch){.kind = CT_TOUCH_ARRIVE, .turns = note->turns});
      break;
    case CT_SYNC_NAMED_PASS: pass_named(o, note); break;
    case CT_SYNC_CLUSTER_ARRIVE: pass_numbered(o, w, cluster, w->n_arrived, true); break;
    case CT_SYNC_CLUSTER_PASS:
      pass_numbered(o, w, cluster, (int64_t)w->n_arrived - 1, false);
      break;
    case CT_SYNC_GRID_ARRIVE:
    case CT_SYNC_GRID_PASS: pass_grid(o, note); break;
    case CT_SYNC_INIT:
    case CT_SYNC_ISSUE:
    case CT_SYNC_PROXY:
    case CT_SYNC_TMEM_ALLOC:
    case CT_SYNC_TMEM_DEALLOC:
    case CT_SYNC_BEFORE:
    case CT_SYNC_AFTER:
    case CT_SYNC_PROXY_GLOBAL: break;
    case CT_SYNC_COMMIT:
    case CT_SYNC_WAIT:
      if (note->agent == CT_AGENT_WGMMA) {
        pass_products(o, note);
      }
      break;
  }
}

void ct_order_settle(CtOrders *o) {
  if (o->is_open) {
    CtOrderEvent *e = &o->events[o->n_events - 1];
    e->changed = atomic_load(&o->group->n_changes) != e->changes;
    o->is_open = false;
  }
}

void ct_order_reset(CtOrders *o) {
  o->n_touches = o->n_races = o->n_found = o->n_place_clocks = 0;
  o->is_open = false;
  ct_hash_table_empty(&o->place_at);
}

void ct_order_free(CtOrders *o) {
  ct_free(o->alloc, o->touches, o->cap_touches * sizeof *o->touches);
  ct_free(o->alloc, o->places, o->cap_places * sizeof *o->places);
  ct_hash_table_clear(&o->place_at, o->alloc);
  ct_free(o->alloc, o->place_clocks, o->cap_place_clocks * sizeof *o->place_clocks);
  ct_free(o->alloc, o->races, o->cap_races * sizeof *o->races);
  ct_free(o->alloc, o->found, o->cap_found * sizeof *o->found);
}

/* --- other orders ------------------------------------------------------------------------------------------------- */

size_t ct_orders_n_races(const CtOrders *o) { return o->n_races; }

int64_t ct_orders_race_block(const CtOrders *o, size_t i) {
  return o->events[o->races[i].second].block;
}

/* Does the event stay in front of the second one of the race? */
static bool stays(const CtOrders *o, const CtRacePair *r, uint32_t event) {
  return !o->events[event].is_dead && event != r->first &&
         (event < r->first || !is_before(o, r->first, ct_order_clock(o, event)));
}

uint16_t *ct_orders_turn_race(CtOrders *o, size_t i, size_t *n, uint64_t *sign) {
  const CtRacePair *r = &o->races[i];
  const CtOrderEvent *second = &o->events[r->second];
  *n = 1;
  for (uint32_t e = 0; e < r->second; e++) {
    *n += stays(o, r, e);
  }
  uint16_t *list = ct_alloc(o->alloc, *n * sizeof *list);
  size_t at = 0;
  *sign = ct_order_mix(second->before ^ ((uint64_t)second->thread << 32 | second->in) ^ 1);
  for (uint32_t e = 0; list != NULL && e < r->second; e++) {
    if (stays(o, r, e)) {
      list[at++] = o->events[e].thread;
      *sign += ct_order_mix(o->events[e].hash);
    }
  }
  if (list != NULL) {
    list[at] = second->thread;
  }
  return list;
}
