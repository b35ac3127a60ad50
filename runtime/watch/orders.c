/* orders.c: what a planned run did: its choices, its events and their clocks. orders_touch.c says which events depend
   on each other. */
#include "orders_state.h"

#include <string.h>

/* --- threads ------------------------------------------------------------------------------------------- */

/* Numbers all warps of all launches. False: there are too many. */
static bool number_threads(CtOrders *o, const CtSimtGroup *g) {
  int64_t n = 0;
  o->group = g;
  o->n_jobs = g->n_jobs;
  bool ok = ct_grow(o->alloc, &o->jobs, &o->cap_jobs, (size_t)g->n_jobs + 1, sizeof *o->jobs,
                    NULL) == CT_OK;
  for (int i = 0; ok && i < g->n_jobs; i++) {
    o->jobs[i] = (CtOrderJob){(uint32_t)n, g->jobs[i].program->n_warps};
    n += g->jobs[i].n_blocks < CT_ORDER_THREADS ? g->jobs[i].n_blocks * g->jobs[i].program->n_warps
                                                : CT_ORDER_THREADS + 1;
    ok = n <= CT_ORDER_THREADS;
  }
  o->n_threads = ok ? (size_t)n : 0;
  size_t words = o->n_threads * o->n_threads;
  ok = ok && ct_grow(o->alloc, &o->now, &o->cap_now, words, sizeof *o->now, NULL) == CT_OK &&
       ct_grow(o->alloc, &o->last_hash, &o->cap_last, o->n_threads, sizeof *o->last_hash, NULL) ==
           CT_OK &&
       ct_grow(o->alloc, &o->join, &o->cap_join, o->n_threads, sizeof *o->join, NULL) == CT_OK;
  if (ok) {
    memset(o->now, 0, words * sizeof *o->now);
    memset(o->last_hash, 0, o->n_threads * sizeof *o->last_hash);
  }
  return ok;
}

uint32_t ct_order_thread_of(const CtOrders *o, const CtWarp *w) {
  const CtWorker *k = w->worker;
  return o->jobs[k->job->number].first + (uint32_t)(k->block * k->job->program->n_warps + w->index);
}

void ct_orders_thread(const CtOrders *o, uint32_t thread, int *job, int64_t *block, int32_t *warp) {
  *job = 0;
  while (*job + 1 < o->n_jobs && o->jobs[*job + 1].first <= thread) {
    ++*job;
  }
  int64_t n_warps = o->jobs[*job].n_warps, at = (int64_t)thread - o->jobs[*job].first;
  *block = at / n_warps;
  *warp = (int32_t)(at % n_warps);
}

/* False: the run is too large. */
static bool is_known(CtOrders *o, const CtWarp *w) {
  if (o->group == NULL && !number_threads(o, w->worker->job->group)) {
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

static bool begin_event(CtOrders *o, CtWarp *w) {
  uint32_t thread = ct_order_thread_of(o, w);
  uint16_t *now = ct_order_now(o, thread);
  size_t i = o->n_events;
  bool ok =
      i < CT_ORDER_EVENTS && now[thread] < UINT16_MAX &&
      ct_grow(o->alloc, &o->events, &o->cap_events, i + 1, sizeof *o->events, NULL) == CT_OK &&
      ct_grow(o->alloc, &o->clocks, &o->cap_clocks, 2 * (i + 1) * o->n_threads, sizeof *o->clocks,
              NULL) == CT_OK;
  if (!ok) {
    o->end = CT_ORDER_TOO_LARGE;
    return false;
  }
  const CtSimtJob *job = w->worker->job;
  memcpy(ct_order_before(o, i), now, o->n_threads * sizeof *now);
  now[thread]++;
  o->events[i] = (CtOrderEvent){.thread = (uint16_t)thread,
                                .local = now[thread],
                                .in = (uint32_t)(w->at - job->code),
                                .block = w->worker->block,
                                .changes = atomic_load(&job->group->n_changes),
                                .before = o->last_hash[thread]};
  o->events[i].hash =
      ct_order_mix(o->events[i].before ^ ((uint64_t)thread << 32 | o->events[i].in));
  o->last_hash[thread] = o->events[i].hash;
  memcpy(ct_order_clock(o, i), now, o->n_threads * sizeof *now);
  o->n_events++;
  return true;
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
    if (e->in < from || e->in > to || (e->may_change && e->changed)) {
      break;
    }
    e->is_dead = true;
    memcpy(ct_order_now(o, thread), ct_order_before(o, i), o->n_threads * sizeof *o->now);
    o->last_hash[thread] = e->before;
  }
}

/* --- choices ----------------------------------------------------------------------------------------------- */

static CtWarp *find(const CtOrders *o, CtWarp **ready, int n, uint32_t thread) {
  for (int i = 0; i < n; i++) {
    if (ct_order_thread_of(o, ready[i]) == thread) {
      return ready[i];
    }
  }
  return NULL;
}

/* The last one if it can go on, else the lowest; warps in loops that work come last, in turn. */
static CtWarp *stay(CtOrders *o, CtWarp **ready, int n) {
  CtWarp *last = o->has_last ? find(o, ready, n, o->last) : NULL;
  if (last != NULL && last->at != NULL) {
    return last;
  }
  for (int i = 0; i < n; i++) {
    if (ready[i]->at != NULL) {
      return ready[i];
    }
  }
  return ready[o->n_loops++ % (uint32_t)n];
}

static CtWarp *take_turns(CtOrders *o, CtWarp **ready, int n) {
  CtWarp *best = ready[0], *next = NULL;
  int64_t block = o->last_block;
  for (int i = 0; i < n; i++) { /* they come by launch, block and warp */
    int64_t at = ready[i]->worker->block;
    next = next == NULL && at > block ? ready[i] : next;
  }
  best = next == NULL ? best : next;
  return best->at == NULL ? ready[o->n_loops++ % (uint32_t)n] : best;
}

static CtWarp *any_of(CtOrders *o, CtWarp **ready, int n) {
  o->seed = ct_order_mix(o->seed + 0x9E3779B97F4A7C15u);
  return ready[o->seed % (uint64_t)n];
}

/* Notes a choice that CT_ORDER_STAY would not have made. */
static bool note_choice(CtOrders *o, const CtWarp *usual, const CtWarp *w) {
  CtStatus status = CT_OK;
  const CtWarp *last =
      usual != NULL && o->has_last && ct_order_thread_of(o, usual) == o->last ? usual : NULL;
  o->n_preemptions += last != NULL && last != w;
  if (usual != w) {
    status =
        ct_grow(o->alloc, &o->choices, &o->cap_choices, o->n_choices + 1, sizeof *o->choices, NULL);
    if (status == CT_OK) {
      o->choices[o->n_choices++] = (CtOrderChoice){o->n_steps, ct_order_thread_of(o, w)};
    }
  }
  return status == CT_OK;
}

/* In turns, or at random. */
static CtWarp *choose_freely(CtOrders *o, CtWarp **ready, int n) {
  CtWarp *w = o->policy == CT_ORDER_TURNS ? take_turns(o, ready, n) : any_of(o, ready, n);
  o->last_block = w->worker->block;
  return w;
}

/* The one that was asked for, else as usual. NULL: it cannot go on. */
static CtWarp *pick(CtOrders *o, CtWarp **ready, int n, CtWarp *usual) {
  if (o->at_forced < o->n_forced) {
    return find(o, ready, n, o->forced[o->at_forced++]);
  }
  bool is_told = o->at_choice < o->n_told && o->told[o->at_choice].step == o->n_steps;
  return is_told ? find(o, ready, n, o->told[o->at_choice++].thread) : usual;
}

static CtWarp *choose_next(CtOrders *o, CtWarp **ready, int n) {
  ct_order_settle(o);
  CtWarp *usual = stay(o, ready, n), *w = pick(o, ready, n, usual);
  if (w == NULL) {
    o->end = CT_ORDER_NOT_POSSIBLE;
    return NULL;
  }
  if (!note_choice(o, usual, w) || (w->at != NULL && !begin_event(o, w))) {
    o->end = CT_ORDER_TOO_LARGE;
    return NULL;
  }
  o->has_last = true;
  o->last = ct_order_thread_of(o, w);
  if (w->at != NULL) {
    ct_order_touch_atomic(o, w);
  }
  return w;
}

static CtWarp *choose(CtSimtPlan *plan, CtWarp **ready, int n) {
  CtOrders *o = (CtOrders *)(void *)plan;
  if (o->n_steps++ >= CT_ORDER_STEPS && o->end == CT_ORDER_WHOLE) {
    o->end = CT_ORDER_TOO_LARGE;
  }
  if (o->end != CT_ORDER_WHOLE) {
    return NULL;
  }
  if (!o->is_kept) {
    return choose_freely(o, ready, n);
  }
  return is_known(o, ready[0]) ? choose_next(o, ready, n) : NULL;
}

static void sync(CtSimtPlan *plan, const CtSyncNote *note) {
  CtOrders *o = (CtOrders *)(void *)plan;
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
                           .sync = sync,
                           .met = met,
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
  ct_order_free(o);
  ct_free(alloc, o, sizeof *o);
}

CtSimtPlan *ct_orders_plan(CtOrders *o) { return &o->plan; }

void ct_orders_begin(CtOrders *o, const uint16_t *forced, size_t n, CtOrderPolicy policy,
                     uint64_t seed) {
  o->group = NULL;
  o->n_threads = o->n_events = o->n_choices = 0;
  o->forced = forced;
  o->n_forced = n;
  o->at_forced = o->n_told = o->at_choice = 0;
  o->policy = policy;
  o->is_kept = policy == CT_ORDER_STAY;
  o->seed = seed;
  o->has_last = false;
  o->last_block = -1;
  o->n_steps = o->n_loops = 0;
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
