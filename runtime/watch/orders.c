/* orders.c: what a planned run did: its choices, its events and their clocks. orders_touch.c says which events depend
   on each other. */
#include "orders_state.h"

#include <string.h>

/* --- threads ------------------------------------------------------------------------------------------- */

/* Do copies complete on the barriers of this buffer? */
static bool is_copied_to(const CtSimtProgram *p, uint32_t buf) {
  bool is = false;
  for (uint32_t i = 0; i < p->n_tmas && !is; i++) {
    is = !p->tmas[i].is_store && p->tmas[i].bar == buf;
  }
  for (uint32_t b = 1; b < p->n_bufs && !is; b++) {
    is = p->bufs[b].bar == buf; /* by ST_ASYNC */
  }
  return is;
}

/* The barriers of buffers below `end` on which copies complete. */
static int32_t n_copied_to(const CtSimtProgram *p, uint32_t end) {
  int64_t n = 0;
  for (uint32_t b = 1; b < end; b++) {
    n += p->bufs[b].arrivals > 0 && is_copied_to(p, b) ? p->bufs[b].n : 0;
  }
  return (int32_t)ct_min(n, CT_ORDER_THREADS + 1);
}

/* Numbers all warps of all launches, and the barriers of copies. False: there are too many. */
static bool number_threads(CtOrders *o, const CtSimtGroup *g) {
  int64_t n = 0, n_warps = 0;
  o->group = g;
  o->n_jobs = g->n_jobs;
  bool ok = CT_GROW(o->alloc, o->jobs, o->cap_jobs, (size_t)g->n_jobs + 1, NULL) == CT_OK;
  for (int i = 0; ok && i < g->n_jobs; i++) {
    const CtSimtProgram *p = g->jobs[i].program;
    int64_t n_blocks = ct_min(g->jobs[i].n_blocks, CT_ORDER_WARPS + 1);
    o->jobs[i] = (CtOrderJob){.program = p,
                              .first = (uint32_t)n,
                              .n_warps = p->n_warps,
                              .n_threads = p->n_warps + n_copied_to(p, p->n_bufs)};
    n += n_blocks * o->jobs[i].n_threads;
    n_warps += n_blocks * p->n_warps;
    ok = n_warps <= CT_ORDER_WARPS && n <= CT_ORDER_THREADS;
  }
  o->n_threads = ok ? (size_t)n : 0;
  size_t words = o->n_threads * o->n_threads;
  ok = ok && CT_GROW(o->alloc, o->now, o->cap_now, words, NULL) == CT_OK &&
       CT_GROW(o->alloc, o->last_hash, o->cap_last, o->n_threads, NULL) == CT_OK &&
       CT_GROW(o->alloc, o->join, o->cap_join, o->n_threads, NULL) == CT_OK;
  if (ok) {
    memset(o->now, 0, words * sizeof *o->now);
    memset(o->last_hash, 0, o->n_threads * sizeof *o->last_hash);
  }
  return ok;
}

uint32_t ct_order_thread_of(const CtOrders *o, const CtWarp *w) {
  const CtWorker *k = w->worker;
  const CtOrderJob *job = &o->jobs[k->job->number];
  return job->first + (uint32_t)(k->block * job->n_threads + w->index);
}

uint32_t ct_order_copies_of(const CtOrders *o, const CtWorker *to, uint32_t buf, int64_t slot) {
  const CtOrderJob *job = &o->jobs[to->job->number];
  int32_t at = job->n_warps + n_copied_to(job->program, buf) + (int32_t)slot;
  return job->first + (uint32_t)(to->block * job->n_threads + at);
}

static uint32_t thread_of_turn(const CtOrders *o, const CtSimtTurn *turn) {
  const CtSimtCopy *c = turn->copy;
  return c == NULL ? ct_order_thread_of(o, turn->w)
                   : ct_order_copies_of(o, ct_simt_copy_to(c), c->buf, c->slot);
}

CtOrderThread ct_orders_thread(const CtOrders *o, uint32_t thread) {
  CtOrderThread t = {.warp = -1};
  while (t.job + 1 < o->n_jobs && o->jobs[t.job + 1].first <= thread) {
    ++t.job;
  }
  const CtOrderJob *job = &o->jobs[t.job];
  int64_t at = (int64_t)thread - job->first, in_block = at % job->n_threads;
  t.block = at / job->n_threads;
  if (in_block < job->n_warps) {
    t.warp = (int32_t)in_block;
    return t;
  }
  t.slot = in_block - job->n_warps;
  for (t.buf = 1; n_copied_to(job->program, t.buf + 1) <= t.slot; t.buf++) {}
  t.slot -= n_copied_to(job->program, t.buf);
  return t;
}

/* Are the threads numbered? If there are too many, a run may go on, but without marks. */
static bool has_numbers(CtOrders *o, const CtWarp *w) {
  if (o->group == NULL) {
    (void)number_threads(o, w->worker->job->group);
  }
  return o->n_threads > 0;
}

/* False: the run is too large. */
static bool is_known(CtOrders *o, const CtWarp *w) {
  if (!has_numbers(o, w)) {
    o->end = CT_ORDER_TOO_LARGE;
  }
  return o->end != CT_ORDER_TOO_LARGE;
}

/* --- clocks ---------------------------------------------------------------------------------------------- */

uint16_t *ct_order_now(CtOrders *o, uint32_t thread) { return &o->now[thread * o->n_threads]; }

void ct_order_join(const CtOrders *o, uint16_t *to, const uint16_t *from) {
  for (size_t i = 0; i < o->n_threads; i++) {
    to[i] = from[i] > to[i] ? from[i] : to[i];
  }
}

static void met(CtSimtPlan *plan, CtWorker *k) {
  CtOrders *o = (CtOrders *)(void *)plan;
  int32_t n = k->job->program->n_warps;
  const CtWarp *first = CT_CAT(CtWarp, k->warps, 0);
  if (has_numbers(o, first)) {
    ct_order_mark_met(o, k);
  }
  if (!o->is_kept || !is_known(o, first)) {
    return;
  }
  uint32_t thread = ct_order_thread_of(o, first);
  memset(o->join, 0, o->n_threads * sizeof *o->join);
  for (int32_t i = 0; i < n; i++) {
    ct_order_join(o, o->join, ct_order_now(o, thread + (uint32_t)i));
  }
  for (int32_t i = 0; i < n; i++) {
    ct_order_join(o, ct_order_now(o, thread + (uint32_t)i), o->join);
  }
}

/* --- events ---------------------------------------------------------------------------------------------- */

/* The completion of a copy comes after the event that began it. */
static uint64_t follow_begin(CtOrders *o, const CtSimtCopy *copy, uint32_t thread) {
  if (copy->number < o->n_copies) {
    ct_order_join(o, ct_order_now(o, thread), &o->copy_clocks[copy->number * o->n_threads]);
    return ct_order_mix(o->copies[copy->number].hash);
  }
  return 0;
}

static bool begin_event(CtOrders *o, const CtSimtTurn *turn) {
  const CtWarp *w = turn->w;
  const CtWorker *of = turn->copy == NULL ? w->worker : ct_simt_copy_to(turn->copy);
  const CtIn *in = turn->copy == NULL ? w->at : turn->copy->in;
  uint32_t thread = thread_of_turn(o, turn);
  uint16_t *now = ct_order_now(o, thread);
  size_t i = o->n_events;
  uint64_t begun = turn->copy == NULL ? 0 : follow_begin(o, turn->copy, thread);
  bool ok = i < CT_ORDER_EVENTS && now[thread] < UINT16_MAX &&
            CT_GROW(o->alloc, o->events, o->cap_events, i + 1, NULL) == CT_OK &&
            CT_GROW(o->alloc, o->clocks, o->cap_clocks, 2 * (i + 1) * o->n_threads, NULL) == CT_OK;
  if (!ok) {
    o->end = CT_ORDER_TOO_LARGE;
    return false;
  }
  const CtSimtJob *job = w->worker->job;
  memcpy(ct_order_before(o, i), now, o->n_threads * sizeof *now);
  now[thread]++;
  o->events[i] = (CtOrderEvent){.thread = (uint16_t)thread,
                                .local = now[thread],
                                .in = (uint32_t)(in - job->code),
                                .block = of->block,
                                .changes = atomic_load(&job->group->n_changes),
                                .before = o->last_hash[thread] ^ begun};
  o->events[i].hash =
      ct_order_mix(o->events[i].before ^ ((uint64_t)thread << 32 | o->events[i].in));
  o->last_hash[thread] = o->events[i].hash;
  memcpy(ct_order_clock(o, i), now, o->n_threads * sizeof *now);
  o->n_events++;
  return true;
}

static void began(CtSimtPlan *plan, const CtSimtCopy *copy) {
  CtOrders *o = (CtOrders *)(void *)plan;
  if (!o->is_kept || !is_known(o, copy->w)) {
    return;
  }
  uint32_t thread = ct_order_thread_of(o, copy->w);
  size_t n = (size_t)copy->number + 1;
  if (CT_GROW(o->alloc, o->copies, o->cap_copies, n, NULL) != CT_OK ||
      CT_GROW(o->alloc, o->copy_clocks, o->cap_copy_clocks, n * o->n_threads, NULL) != CT_OK) {
    o->end = CT_ORDER_TOO_LARGE;
    return;
  }
  o->copies[copy->number] = (CtOrderCopy){o->last_hash[thread]};
  memcpy(&o->copy_clocks[copy->number * o->n_threads], ct_order_now(o, thread),
         o->n_threads * sizeof *o->copy_clocks);
  o->n_copies = n;
}

/* The events of this round of a loop that waits were none: the loop goes on, and nothing was changed. */
static void waits(CtSimtPlan *plan, CtWarp *w, const CtIn *next, const CtIn *in) {
  CtOrders *o = (CtOrders *)(void *)plan;
  const CtSimtJob *job = w->worker->job;
  uint32_t from = (uint32_t)(next - job->code), to = (uint32_t)(in - job->code);
  if (!o->is_kept || !is_known(o, w)) {
    return;
  }
  uint32_t thread = ct_order_thread_of(o, w);
  ct_order_settle(o);
  for (size_t i = o->n_events; i-- > 0;) {
    CtOrderEvent *e = &o->events[i];
    if (e->thread != thread || e->is_dead) {
      continue;
    }
    if (e->in < from || e->in >= to || (e->may_change && e->changed)) {
      break;
    }
    to =
        e->in; /* an event at this place, or after it, was of the round before, or of an earlier loop */
    e->is_dead = true;
    memcpy(ct_order_now(o, thread), ct_order_before(o, i), o->n_threads * sizeof *o->now);
    o->last_hash[thread] = e->before;
  }
}

/* --- choices ----------------------------------------------------------------------------------------------- */

static const CtSimtTurn *find(const CtOrders *o, const CtSimtTurn *ready, int n, uint32_t thread) {
  for (int i = 0; i < n; i++) {
    if (thread_of_turn(o, &ready[i]) == thread) {
      return &ready[i];
    }
  }
  return NULL;
}

/* The warp that went on last, if it stands before an operation and can go on. */
static const CtSimtTurn *last_of(const CtOrders *o, const CtSimtTurn *ready, int n) {
  const CtSimtTurn *last = o->has_last ? find(o, ready, n, o->last) : NULL;
  return last != NULL && last->w->at != NULL ? last : NULL;
}

/* What comes first in CT_ORDER_STAY? Warps in loops that work come last, in turn. */
typedef enum Place { PLACE_COPY, PLACE_WARP, PLACE_LATE_COPY, PLACE_LOOP } Place;

static Place place_of(const CtSimtTurn *t) {
  return t->copy != NULL    ? (t->copy->is_late ? PLACE_LATE_COPY : PLACE_COPY)
         : t->w->at != NULL ? PLACE_WARP
                            : PLACE_LOOP;
}

static const CtSimtTurn *stay(CtOrders *o, const CtSimtTurn *ready, int n) {
  const CtSimtTurn *first = &ready[0], *last = last_of(o, ready, n);
  for (int i = 1; i < n; i++) {
    first = place_of(&ready[i]) < place_of(first) ? &ready[i] : first;
  }
  if (place_of(first) == PLACE_LOOP) {
    return &ready[o->n_loops++ % (uint32_t)n];
  }
  return place_of(first) == PLACE_WARP && last != NULL ? last : first;
}

/* They come by launch, block and warp, and then copies. */
static const CtSimtTurn *take_turns(CtOrders *o, const CtSimtTurn *ready, int n) {
  const CtSimtTurn *best = &ready[0], *next = NULL;
  if (ready[n - 1].copy != NULL) {
    return &ready[n - 1];
  }
  for (int i = 0; i < n; i++) {
    next = next == NULL && ready[i].w->worker->block > o->last_block ? &ready[i] : next;
  }
  best = next == NULL ? best : next;
  best = best->w->at == NULL ? &ready[o->n_loops++ % (uint32_t)n] : best;
  o->last_block = best->w->worker->block;
  return best;
}

static const CtSimtTurn *any_of(CtOrders *o, const CtSimtTurn *ready, int n) {
  o->seed = ct_order_mix(o->seed + 0x9E3779B97F4A7C15u);
  return &ready[o->seed % (uint64_t)n];
}

/* Notes a choice that CT_ORDER_STAY would not have made; `last` could have gone on. */
static bool note_choice(CtOrders *o, const CtSimtTurn *usual, const CtSimtTurn *last,
                        const CtSimtTurn *turn) {
  CtStatus status = CT_OK;
  o->n_preemptions += last != NULL && place_of(turn) == PLACE_WARP && last != turn;
  if (usual == turn) {
    return true;
  }
  if (usual->copy != NULL) {
    usual->copy->is_late = true;
  }
  status = CT_GROW(o->alloc, o->choices, o->cap_choices, o->n_choices + 1, NULL);
  if (status == CT_OK) {
    o->choices[o->n_choices++] =
        (CtOrderChoice){.step = o->n_steps,
                        .thread = thread_of_turn(o, turn),
                        .late = usual->copy != NULL ? 1 + thread_of_turn(o, usual) : 0};
  }
  return status == CT_OK;
}

/* In turns, or at random. */
static const CtSimtTurn *choose_freely(CtOrders *o, const CtSimtTurn *ready, int n) {
  return o->policy == CT_ORDER_TURNS ? take_turns(o, ready, n) : any_of(o, ready, n);
}

/* The next of the warps in loops that work; NULL: there is none. */
static const CtSimtTurn *next_in_loop(CtOrders *o, const CtSimtTurn *ready, int n) {
  for (int i = 0; i < n; i++) {
    const CtSimtTurn *t = &ready[(o->n_fills + (uint32_t)i) % (uint32_t)n];
    if (place_of(t) == PLACE_LOOP) {
      o->n_fills += (uint32_t)i + 1;
      return t;
    }
  }
  return NULL;
}

/* The list has only events. What loops that work do before, so that the next event can come, is in no list. */
static const CtSimtTurn *pick_forced(CtOrders *o, const CtSimtTurn *ready, int n) {
  enum { MOST = 1 << 12 };
  const CtSimtTurn *t = find(o, ready, n, o->forced[o->at_forced]);
  if (t != NULL && place_of(t) != PLACE_LOOP) {
    o->at_forced++;
    o->n_waited = 0;
    return t;
  }
  t = t != NULL ? t : next_in_loop(o, ready, n);
  return o->n_waited++ < MOST ? t : NULL;
}

/* The one that was asked for, else as usual. NULL: it cannot go on. */
static const CtSimtTurn *pick(CtOrders *o, const CtSimtTurn *ready, int n,
                              const CtSimtTurn *usual) {
  if (o->at_forced < o->n_forced) {
    return pick_forced(o, ready, n);
  }
  bool is_told = o->at_choice < o->n_told && o->told[o->at_choice].step == o->n_steps;
  return is_told ? find(o, ready, n, o->told[o->at_choice++].thread) : usual;
}

static const CtSimtTurn *choose_next(CtOrders *o, const CtSimtTurn *ready, int n) {
  ct_order_settle(o);
  const CtSimtTurn *usual = stay(o, ready, n), *turn = pick(o, ready, n, usual);
  if (turn == NULL) {
    o->end = CT_ORDER_NOT_POSSIBLE;
    return NULL;
  }
  bool is_event = turn->copy != NULL || turn->w->at != NULL;
  if (!note_choice(o, usual, last_of(o, ready, n), turn) || (is_event && !begin_event(o, turn))) {
    o->end = CT_ORDER_TOO_LARGE;
    return NULL;
  }
  if (turn->copy != NULL) {
    o->is_open = true;
    return turn;
  }
  if (is_event || o->at_forced == o->n_forced) {
    o->has_last = true;
    o->last = ct_order_thread_of(o, turn->w);
  }
  if (is_event) {
    ct_order_touch_atomic(o, turn->w);
  }
  return turn;
}

static const CtSimtTurn *choose(CtSimtPlan *plan, const CtSimtTurn *ready, int n) {
  CtOrders *o = (CtOrders *)(void *)plan;
  const CtSimtTurn *turn = NULL;
  if (o->n_steps++ >= CT_ORDER_STEPS && o->end == CT_ORDER_WHOLE) {
    o->end = CT_ORDER_TOO_LARGE;
  }
  if (o->end == CT_ORDER_WHOLE && !o->is_kept) {
    turn = choose_freely(o, ready, n);
  } else if (o->end == CT_ORDER_WHOLE && is_known(o, ready[0].w)) {
    turn = choose_next(o, ready, n);
  }
  if (turn != NULL && turn->copy == NULL && turn->w->at != NULL && has_numbers(o, turn->w)) {
    ct_order_mark_turn(o, turn->w);
  }
  return turn;
}

static void stuck(CtSimtPlan *plan, const CtWarp *w) {
  CtOrders *o = (CtOrders *)(void *)plan;
  if (has_numbers(o, w)) {
    ct_order_mark_stuck(o, w);
  }
}

static void sync(CtSimtPlan *plan, const CtSyncNote *note) {
  CtOrders *o = (CtOrders *)(void *)plan;
  if (has_numbers(o, note->w)) {
    ct_order_mark_sync(o, note);
  }
  if (o->is_kept && is_known(o, note->w)) {
    ct_order_sync(o, note);
  }
}

/* --- a run ------------------------------------------------------------------------------------------------- */

CtStatus ct_orders_open(CtAlloc alloc, int n_resident, CtOrders **out, CtErr *err) {
  CtOrders *o = ct_alloc(alloc, sizeof *o);
  if (o == NULL) {
    return ct_fail_nomem(err);
  }
  *o = (CtOrders){.plan = {.n_resident = n_resident,
                           .choose = choose,
                           .began = began,
                           .sync = sync,
                           .met = met,
                           .stuck = stuck,
                           .waits = waits},
                  .alloc = alloc};
  *out = o;
  return CT_OK;
}

void ct_orders_close(CtOrders *o) {
  if (o == NULL) {
    return;
  }
  CtAlloc alloc = o->alloc;
  ct_free(alloc, o->jobs, o->cap_jobs * sizeof *o->jobs);
  ct_free(alloc, o->now, o->cap_now * sizeof *o->now);
  ct_free(alloc, o->join, o->cap_join * sizeof *o->join);
  ct_free(alloc, o->last_hash, o->cap_last * sizeof *o->last_hash);
  ct_free(alloc, o->events, o->cap_events * sizeof *o->events);
  ct_free(alloc, o->clocks, o->cap_clocks * sizeof *o->clocks);
  ct_free(alloc, o->choices, o->cap_choices * sizeof *o->choices);
  ct_free(alloc, o->marks, o->cap_marks * sizeof *o->marks);
  ct_free(alloc, o->copies, o->cap_copies * sizeof *o->copies);
  ct_free(alloc, o->copy_clocks, o->cap_copy_clocks * sizeof *o->copy_clocks);
  ct_order_free(o);
  ct_free(alloc, o, sizeof *o);
}

CtSimtPlan *ct_orders_plan(CtOrders *o) { return &o->plan; }

void ct_orders_begin(CtOrders *o, const uint16_t *forced, size_t n, CtOrderPolicy policy,
                     uint64_t seed) {
  o->group = NULL;
  o->plan.copies.n_begun = 0;
  o->plan.cancel_seed = policy == CT_ORDER_STAY ? 0 : seed | 1;
  o->n_threads = o->n_events = o->n_choices = o->n_copies = o->n_marks = 0;
  o->forced = forced;
  o->n_forced = n;
  o->at_forced = o->n_told = o->at_choice = 0;
  o->policy = policy;
  o->is_kept = policy == CT_ORDER_STAY;
  o->seed = seed;
  o->has_last = false;
  o->last_block = -1;
  o->n_steps = o->n_loops = o->n_fills = o->n_waited = 0;
  o->n_preemptions = 0;
  o->end = CT_ORDER_WHOLE;
  ct_order_reset(o);
}

void ct_orders_replay(CtOrders *o, const CtOrderChoice *choices, size_t n) {
  ct_orders_begin(o, NULL, 0, CT_ORDER_STAY, 0);
  o->told = choices;
  o->n_told = n;
}

CtOrderEnd ct_orders_end(const CtOrders *o) { return o->end; }
int ct_orders_preemptions(const CtOrders *o) { return o->n_preemptions; }

uint64_t ct_orders_hash(const CtOrders *o) {
  uint64_t sum = 0;
  for (size_t i = 0; i < o->n_events; i++) {
    sum += o->events[i].is_dead ? 0 : ct_order_mix(o->events[i].hash);
  }
  return sum;
}

const CtOrderChoice *ct_orders_choices(const CtOrders *o, size_t *n) {
  *n = o->n_choices;
  return o->choices;
}
