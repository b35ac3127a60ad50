/* check_flag.c: what lanes, warps and blocks know of each other by flags, and the barriers that hand it on; check_flag.h
   says how. */
#include "check_flag.h"

#include "check_clock.h"
#include "check_flag_lane.h"

/* {====== Memory ====== */

static void clear_lane(CtAlloc alloc, Lane *l) {
  ct_known_clear(alloc, &l->known);
  for (int i = 0; i < N_SCOPES; i++) {
    ct_known_clear(alloc, &l->pending[i]);
    ct_known_clear(alloc, &l->fenced[i]);
    ct_flag_drop_fence(alloc, &l->fence[i]);
  }
}

CtFlags *ct_flag_open(CtAlloc alloc, int n_jobs) {
  CtFlags *f = ct_alloc(alloc, sizeof *f);
  if (f == NULL) {
    return NULL;
  }
  *f = (CtFlags){.alloc = alloc, .n_jobs = n_jobs, .table = {.alloc = alloc}};
  ct_arena_init(&f->rows, alloc);
  pthread_mutex_init(&f->lock, NULL);
  f->grid = ct_arena_alloc(&f->rows, (size_t)n_jobs * sizeof *f->grid);
  f->grid_phase = ct_arena_alloc(&f->rows, (size_t)n_jobs * sizeof *f->grid_phase);
  if (f->grid == NULL || f->grid_phase == NULL) {
    (void)ct_flag_close(f);
    return NULL;
  }
  return f;
}

bool ct_flag_close(CtFlags *f) {
  if (f == NULL) {
    return false;
  }
  CtAlloc alloc = f->alloc;
  bool no_memory = atomic_load(&f->no_memory);
  for (int i = 0; f->grid != NULL && i < f->n_jobs; i++) {
    ct_known_drop(alloc, f->grid[i][0]);
    ct_known_drop(alloc, f->grid[i][1]);
  }
  ct_flag_table_clear(&f->table);
  pthread_mutex_destroy(&f->lock);
  ct_arena_clear(&f->rows);
  ct_free(alloc, f, sizeof *f);
  return no_memory;
}

static bool has_atomics(const CtSimtProgram *p) {
  bool has = false;
  for (uint32_t i = p->body; i < p->n_code && !has; i++) {
    has = ct_in_is(&p->code[i], CT_INS_ATOMIC);
    i += (uint32_t)ct_in_size(&p->code[i]) - 1;
  }
  return has;
}

/* Between ranks one program may release what another acquires. */
bool ct_flag_open_worker(CtCheckWorker *k) {
  const CtSimtProgram *p = k->check->job->program;
  bool wanted = k->check->ranks != NULL ? has_atomics(p) : ct_flag_is_wanted(p);
  size_t n = (size_t)p->n_warps * CT_LANES;
  k->lanes = wanted ? ct_arena_alloc(&k->check->arena, n * sizeof *k->lanes) : NULL;
  return !wanted || k->lanes != NULL;
}

static void free_views(CtCheckWorker *k);

void ct_flag_close_worker(CtCheckWorker *k) {
  free_views(k);
  CtAlloc alloc = k->check->alloc;
  int32_t n_warps = k->check->job->program->n_warps;
  ct_known_clear(alloc, &k->all_know);
  for (int32_t i = 0; k->warps != NULL && i < n_warps; i++) {
    ct_known_clear(alloc, &k->warps[i].known);
    for (uint32_t rest = k->warps[i].stirred; rest != 0; rest &= rest - 1) {
      clear_lane(alloc, ct_flag_lane(k, i, ct_first_lane(rest)));
    }
    k->warps[i].stirred = 0;
  }
}

void ct_flag_begin_block(CtCheckWorker *k, CtKnowledge *known) {
  ct_flag_close_worker(k);
  k->all_know = ct_known_share(known);
}

/* {====== Moments ====== */

/* Adds what a warp, or CT_ALL_WARPS, knows of its cluster by clocks. Call it with the lock. */
static void add_rows(CtCheckWorker *k, int32_t warp, CtMoment *m) {
  size_t n = k->clocks == NULL ? 0 : ct_clock_width(k);
  uint32_t *rows = n == 0 ? NULL : ct_arena_alloc(&ct_flags_of(k)->rows, 2 * n * sizeof *rows);
  if (rows != NULL) {
    ct_clock_snapshot(k, warp, rows);
    m->row = rows;
    m->agents = rows + n;
  } else if (n != 0) {
    ct_flag_fail(ct_flags_of(k));
  }
}

static CtMoment moment_of(CtCheckWorker *k, int32_t warp, uint32_t lanes) {
  CtCheckWarp *w = &k->warps[warp];
  return (CtMoment){.who = ct_known_who(k->k->job->number, k->k->team[0].block, k->k->rank, warp),
                    .lanes = lanes,
                    .epoch = k->epoch,
                    .sub = w->sub,
                    .time = ++w->time};
}

CtMoment ct_flag_moment(CtCheckWorker *k, int32_t warp, uint32_t lanes) {
  CtMoment m = moment_of(k, warp, lanes);
  add_rows(k, warp, &m);
  return m;
}

uint32_t ct_flag_behind_of(CtCheckWorker *k, int32_t warp) {
  return k->check->is_tracked ? ct_early_behind(k, warp) : 0;
}

void ct_flag_put_moment(CtCheckWorker *k, CtKnowledge **to, const CtMoment *m, bool is_behind) {
  CtAlloc alloc = k->check->alloc;
  if (!ct_known_add(alloc, to, m) || (is_behind && !ct_known_set_behind(alloc, to))) {
    ct_flag_fail(ct_flags_of(k));
  }
}

void ct_flag_add_moment(CtCheckWorker *k, int32_t warp, uint32_t lanes, CtKnowledge **to) {
  const CtMoment m = moment_of(k, warp, lanes);
  ct_flag_put_moment(k, to, &m, (ct_flag_behind_of(k, warp) & lanes) != 0);
}

/* {====== Views ====== */

struct CtLaneView {
  struct CtLaneView *next;
  CtKnowledge *warp, *lanes[CT_LANES];
};

static void free_views(CtCheckWorker *k) {
  CtAlloc alloc = k->check->alloc;
  for (struct CtLaneView *v = k->views, *next; v != NULL; v = next) {
    next = v->next;
    ct_known_drop(alloc, v->warp);
    for (int lane = 0; lane < CT_LANES; lane++) {
      ct_known_drop(alloc, v->lanes[lane]);
    }
    ct_free(alloc, v, sizeof *v);
  }
  k->views = NULL;
}

void ct_flag_end_epoch(CtCheckWorker *k) {
  free_views(k);
  for (int32_t i = 0; k->lanes != NULL && i < k->check->job->program->n_warps; i++) {
    k->warps[i].is_near = false;
    k->warps[i].view = NULL;
  }
}

bool ct_flag_view_covers(const struct CtLaneView *v, int lane, const CtCheckEvent *old,
                         int old_lane) {
  return v != NULL && (ct_known_covers(v->warp, old, old_lane) ||
                       ct_known_covers(v->lanes[lane], old, old_lane));
}

void ct_flag_note_news(CtCheckWorker *k, int32_t warp, const CtKnowledge *more) {
  CtCheckWarp *w = &k->warps[warp];
  uint64_t who = ct_known_who(k->k->job->number, k->k->team[0].block, k->k->rank, warp);
  w->is_near = w->is_near || (k->clocks == NULL && ct_known_has_news_of(more, who, k->epoch));
}

void ct_flag_renew_view(CtCheckWorker *k, int32_t warp) {
  CtCheckWarp *w = &k->warps[warp];
  struct CtLaneView *v = w->is_near ? ct_alloc(k->check->alloc, sizeof *v) : NULL;
  if (v == NULL) {
    if (w->is_near) {
      ct_flag_fail(ct_flags_of(k));
    }
    return;
  }
  *v = (struct CtLaneView){.next = k->views, .warp = ct_known_share(w->known)};
  for (uint32_t rest = w->stirred; rest != 0; rest &= rest - 1) {
    int lane = ct_first_lane(rest);
    v->lanes[lane] = ct_known_share(ct_flag_lane(k, warp, lane)->known);
  }
  k->views = v;
  w->view = v;
}

/* These lanes know it from now on. */
void ct_flag_pass(CtCheckWorker *k, const CtWarp *w, uint32_t lanes, CtKnowledge *at) {
  if (at == NULL) {
    return;
  }
  ct_flag_note_news(k, w->index, at);
  bool is_whole = (w->live & ~lanes) == 0 || k->lanes == NULL;
  if (is_whole) {
    ct_flag_learn(k, &k->warps[w->index].known, at);
  }
  for (uint32_t rest = is_whole ? 0 : lanes; rest != 0; rest &= rest - 1) {
    ct_flag_learn(k, &ct_flag_stir(k, w->index, ct_first_lane(rest))->known, at);
  }
  ct_flag_renew_view(k, w->index);
}

/* {====== Barriers ====== */

void ct_flag_arrive(CtCheckWorker *k, int32_t warp, uint32_t lanes, CtKnowledge **at) {
  ct_flag_learn(k, at, k->all_know);
  ct_flag_learn(k, at, k->warps[warp].known);
  for (lanes &= k->warps[warp].stirred; lanes != 0; lanes &= lanes - 1) {
    ct_flag_learn(k, at, ct_flag_lane(k, warp, ct_first_lane(lanes))->known);
  }
}

/* Adds to *to what is known, for agents: of the cluster, or, in global memory, of all. */
static void show_agents(CtCheckWorker *k, const CtKnowledge *known, bool in_global,
                        CtKnowledge **to) {
  CtAlloc alloc = k->check->alloc;
  uint64_t first = ct_known_who(k->k->job->number, k->k->team[0].block, 0, 0);
  if (!(in_global ? ct_known_add_for_tma(alloc, to, known)
                  : ct_known_add_for_agents(alloc, to, known, first))) {
    ct_flag_fail(ct_flags_of(k));
  }
}

/* Agents see what these lanes know, and the moment, if there is one. */
static void show(CtCheckWorker *k, const CtWarp *w, const CtMoment *now, bool in_global) {
  CtKnowledge *seen = NULL;
  if (now != NULL) {
    ct_flag_put_moment(k, &seen, now, false);
  }
  show_agents(k, k->all_know, in_global, &seen);
  show_agents(k, k->warps[w->index].known, in_global, &seen);
  for (uint32_t rest = w->mask & k->warps[w->index].stirred; rest != 0; rest &= rest - 1) {
    show_agents(k, ct_flag_lane(k, w->index, ct_first_lane(rest))->known, in_global, &seen);
  }
  ct_flag_pass(k, w, w->mask, seen);
  ct_known_drop(k->check->alloc, seen);
}

void ct_flag_proxy_fence(CtCheckWorker *k, const CtWarp *w) {
  bool is_whole = (w->live & ~w->mask) == 0;
  CtMoment now = is_whole ? (CtMoment){0} : moment_of(k, w->index, w->mask);
  now.who |= CT_WHO_FOR_AGENTS;
  show(k, w, is_whole ? NULL : &now, false);
}

void ct_flag_tma_fence(CtCheckWorker *k, const CtWarp *w) {
  pthread_mutex_lock(&ct_flags_of(k)->lock);
  CtMoment now = ct_flag_moment(k, w->index, w->mask);
  pthread_mutex_unlock(&ct_flags_of(k)->lock);
  now.who |= CT_WHO_FOR_TMA;
  show(k, w, &now, true);
}

void ct_flag_gather(CtCheckWorker *k, CtKnowledge **to) {
  ct_flag_learn(k, to, k->all_know);
  for (int32_t i = 0; i < k->k->job->program->n_warps; i++) {
    ct_flag_arrive(k, i, CT_ALL_LANES, to);
  }
}

void ct_flag_sync_warp(CtCheckWorker *k, const CtWarp *w) {
  CtKnowledge *all = NULL;
  for (uint32_t rest = w->mask & k->warps[w->index].stirred; rest != 0; rest &= rest - 1) {
    Lane *l = ct_flag_lane(k, w->index, ct_first_lane(rest));
    ct_flag_learn(k, &all, l->known);
    ct_known_clear(k->check->alloc, &l->known);
  }
  ct_flag_pass(k, w, w->mask, all);
  ct_known_drop(k->check->alloc, all);
}

void ct_flag_barrier(CtCheckWorker *k) {
  for (int32_t i = 0; i < k->k->job->program->n_warps; i++) {
    ct_flag_learn(k, &k->all_know, k->warps[i].known);
    ct_known_clear(k->check->alloc, &k->warps[i].known);
    for (uint32_t rest = k->warps[i].stirred; rest != 0; rest &= rest - 1) {
      Lane *l = ct_flag_lane(k, i, ct_first_lane(rest));
      ct_flag_learn(k, &k->all_know, l->known);
      ct_known_clear(k->check->alloc, &l->known);
    }
  }
}

/* Blocks hand on all that their threads did and know. The arrivals of a phase are over before a block arrives in the
   next one but one. */
void ct_flag_grid(CtCheckWorker *k, int64_t phase, bool passes) {
  CtFlags *f = ct_flags_of(k);
  int job = k->k->job->number;
  CtKnowledge **at = &f->grid[job][phase % 2];
  pthread_mutex_lock(&f->lock);
  if (passes) {
    ct_flag_learn(k, &k->all_know, *at);
    pthread_mutex_unlock(&f->lock);
    return;
  }
  if (f->grid_phase[job] <= phase) { /* the first */
    ct_known_clear(f->alloc, at);
    f->grid_phase[job] = phase + 1;
  }
  ct_flag_gather(k, at);
  bool is_behind = false;
  for (int32_t i = 0; k->check->is_tracked && i < k->k->job->program->n_warps; i++) {
    is_behind = is_behind || ct_flag_behind_of(k, i) != 0;
  }
  CtMoment m = moment_of(k, 0, 0);
  m.epoch++; /* its threads have met */
  add_rows(k, CT_ALL_WARPS, &m);
  ct_flag_put_moment(k, at, &m, is_behind);
  pthread_mutex_unlock(&f->lock);
}

/* {====== Questions ====== */

typedef bool Covers(const CtKnowledge *k, const CtCheckEvent *old, int lane);

/* Is it so by what the lane knows? */
static bool is_covered(const CtCheckWorker *k, int32_t warp, int lane, const CtCheckEvent *old,
                       int old_lane, Covers *covers) {
  return covers(k->all_know, old, old_lane) || covers(k->warps[warp].known, old, old_lane) ||
         ((k->warps[warp].stirred >> lane & 1) != 0 &&
          covers(ct_flag_lane(k, warp, lane)->known, old, old_lane)) ||
         atomic_load_explicit(&ct_flags_of(k)->no_memory, memory_order_relaxed);
}

bool ct_flag_knows(const CtCheckWorker *k, int32_t warp, int lane, const CtCheckEvent *old,
                   int old_lane) {
  return is_covered(k, warp, lane, old, old_lane, ct_known_covers);
}

bool ct_flag_agents_see(const CtCheckWorker *k, int32_t warp, int lane, const CtCheckEvent *old,
                        int old_lane) {
  return is_covered(k, warp, lane, old, old_lane, ct_known_covers_for_agents);
}

bool ct_flag_tma_sees(const CtCheckWorker *k, int32_t warp, int lane, const CtCheckEvent *old,
                      int old_lane) {
  return is_covered(k, warp, lane, old, old_lane, ct_known_covers_for_tma);
}

bool ct_flag_knows_job(const CtCheckWorker *k, int32_t warp, int lane, int first, int end) {
  return ct_known_has_job(k->all_know, first, end) ||
         ct_known_has_job(k->warps[warp].known, first, end) ||
         (k->lanes != NULL && ct_known_has_job(ct_flag_lane(k, warp, lane)->known, first, end));
}

uint32_t ct_flag_behind(const CtCheckWorker *k, int32_t warp) {
  if (ct_known_is_behind(k->all_know) || ct_known_is_behind(k->warps[warp].known)) {
    return CT_ALL_LANES;
  }
  uint32_t lanes = 0;
  for (uint32_t rest = k->warps[warp].stirred; rest != 0; rest &= rest - 1) {
    int lane = ct_first_lane(rest);
    lanes |= ct_known_is_behind(ct_flag_lane(k, warp, lane)->known) ? 1u << lane : 0;
  }
  return lanes;
}
