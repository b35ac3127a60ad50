/* check_ranks.c: what orders the launches of several ranks; check_ranks.h says how. */
#include "check_ranks.h"

#include "check_flag.h"

#include <pthread.h>

struct CtRanks {
  CtCheck *parent;          /* of the parts */
  const CtSimtGroup *group; /* while they run; NULL before the first launch begins */
  int n_jobs;
  CtCheck **by_job; /* parts by the number of the launch */
  CtGlobal *global;
  CtFlags *flags;
  uint32_t **region_of; /* by number */
  CtArena arena;
  pthread_mutex_t lock; /* of what follows */
  CtKnowledge **ended;  /* by number: what the launch's blocks knew at their ends */
  CtKnowledge **base;   /* by number: the same of the rank's launches before; */
  bool *has_base;       /* it is complete */
  bool no_memory;
};

static CtRanks *ranks_of(const CtCheckWorker *k) { return k->check->ranks; }
static const CtSimtJob *job_of(const CtCheckWorker *k) { return k->k->job; }

/* {====== Blocks ====== */

/* The launches before it have ended. */
static CtKnowledge *base_of(CtRanks *r, const CtSimtJob *job) {
  CtAlloc alloc = r->parent->alloc;
  CtKnowledge **base = &r->base[job->number];
  if (!r->has_base[job->number] && job != job->first) {
    CtKnowledge *before = base_of(r, job - 1);
    r->no_memory = !ct_known_join(alloc, base, before) ||
                   !ct_known_join(alloc, base, r->ended[job->number - 1]) || r->no_memory;
    r->has_base[job->number] = true;
  }
  return *base;
}

CtKnowledge *ct_ranks_base(CtCheckWorker *k) {
  CtRanks *r = ranks_of(k);
  pthread_mutex_lock(&r->lock);
  CtKnowledge *base = base_of(r, job_of(k));
  pthread_mutex_unlock(&r->lock);
  return base;
}

void ct_ranks_end_block(CtCheckWorker *k) {
  CtRanks *r = ranks_of(k);
  pthread_mutex_lock(&r->lock);
  ct_flag_gather(k, &r->ended[job_of(k)->number]);
  pthread_mutex_unlock(&r->lock);
}

/* {====== Order ====== */

/* Does the lane know of a later launch of the rank, before which the event is over? */
static bool knows_later(const CtCheckWorker *k, const CtCheckEvent *old, const CtCheckEvent *now,
                        int lane) {
  const CtSimtJob *first = ranks_of(k)->group->jobs[old->job].first;
  return ct_flag_knows_job(k, now->warp, lane, (int)old->job + 1, first->number + first->n_of_rank);
}

bool ct_ranks_has_order(const CtCheckWorker *k, const CtCheckEvent *old, int old_lane,
                        const CtCheckEvent *now, int lane) {
  const CtSimtJob *job = &ranks_of(k)->group->jobs[old->job];
  return job->rank == job_of(k)->rank || ct_flag_knows(k, now->warp, lane, old, old_lane) ||
         knows_later(k, old, now, lane);
}

bool ct_ranks_is_before(const CtCheckWorker *k, const CtCheckEvent *old, int old_lane,
                        const CtCheckEvent *now, int lane) {
  return (ct_check_both_atomic(old, now) && old->is_sys && now->is_sys) ||
         ct_ranks_has_order(k, old, old_lane, now, lane);
}

static bool has_fenced(const CtGlobal *g, const CtCheckEvent *e, uint64_t since) {
  return g->proxied != NULL && atomic_load(&g->proxied[e->block]) > since;
}

bool ct_ranks_is_seen(const CtCheckWorker *k, const CtCheckEvent *old, const CtCheckEvent *now,
                      int lane) {
  const CtRanks *r = ranks_of(k);
  const CtGlobal *from = r->by_job[old->job]->global, *to = k->check->global;
  return r->group->jobs[old->job].rank == job_of(k)->rank || from->has_too_many ||
         to->has_too_many || has_fenced(from, old, old->seq) || has_fenced(to, now, old->seq) ||
         knows_later(k, old, now, lane);
}

bool ct_ranks_lacks_scope(const CtCheckWorker *k, const CtCheckEvent *old) {
  const CtGlobal *from = ranks_of(k)->by_job[old->job]->global;
  bool released = ct_global_released(from, old->block) > old->seq;
  bool released_sys = ct_global_released_sys(from, old->block) > old->seq;
  bool acquired = k->block_acq > old->seq, acquired_sys = k->block_acq_sys > old->seq;
  return (released && !released_sys) || (acquired && !acquired_sys);
}

bool ct_ranks_is_writing(const CtCheckWorker *k, uint32_t number) {
  const CtRanks *r = ranks_of(k);
  for (int i = 0; i < r->group->n_jobs; i++) {
    const CtCheck *c = r->by_job[i];
    for (int w = 0; w < c->n_workers; w++) {
      if (c->job->workers[w].team != k->k->team && atomic_load(&c->workers[w].writing) == number) {
        return true;
      }
    }
  }
  return false;
}

/* {====== Beginning and ending ====== */

static CtStatus begin_all(CtRanks *r, const CtSimtGroup *g, CtErr *err) {
  size_t n = (size_t)g->n_jobs;
  r->by_job = ct_arena_alloc(&r->arena, n * sizeof *r->by_job);
  r->ended = ct_arena_alloc(&r->arena, n * sizeof *r->ended);
  r->base = ct_arena_alloc(&r->arena, n * sizeof *r->base);
  r->has_base = ct_arena_alloc(&r->arena, n * sizeof *r->has_base);
  r->flags = ct_flag_open(r->parent->alloc, g->n_jobs);
  r->region_of = ct_arena_alloc(&r->arena, n * sizeof *r->region_of);
  if (r->by_job == NULL || r->ended == NULL || r->base == NULL || r->has_base == NULL ||
      r->flags == NULL || r->region_of == NULL) {
    return ct_fail_nomem(err);
  }
  atomic_store(&r->parent->clock, 1);
  r->global = r->parent->options.no_global
                  ? NULL
                  : ct_global_make(&r->arena, g->jobs, g->n_jobs, r->region_of);
  if (r->global == NULL && !r->parent->options.no_global) {
    return ct_fail_nomem(err);
  }
  r->group = g;
  r->n_jobs = g->n_jobs;
  return CT_OK;
}

CtStatus ct_ranks_begin(CtCheck *part, CtErr *err) {
  CtRanks *r = part->ranks;
  CtStatus status = r->group == NULL ? begin_all(r, part->job->group, err) : CT_OK;
  if (status != CT_OK) {
    return status;
  }
  r->by_job[part->job->number] = part;
  return r->global == NULL ? CT_OK
                           : ct_global_share(part, r->global, r->region_of[part->job->number], err);
}

CtFlags *ct_ranks_flags(const CtCheck *part) { return part->ranks->flags; }

CtRanks *ct_ranks_open(CtCheck *c) {
  CtRanks *r = ct_alloc(c->alloc, sizeof *r);
  if (r != NULL) {
    *r = (CtRanks){.parent = c};
    ct_arena_init(&r->arena, c->alloc);
    pthread_mutex_init(&r->lock, NULL);
  }
  return r;
}

bool ct_ranks_close(CtRanks *r) {
  CtAlloc alloc = r->parent->alloc;
  bool no_memory = r->no_memory;
  for (int i = 0; i < r->n_jobs; i++) {
    ct_known_drop(alloc, r->ended[i]);
    ct_known_drop(alloc, r->base[i]);
  }
  no_memory = ct_flag_close(r->flags) || no_memory;
  if (r->global != NULL) {
    ct_global_free(alloc, r->global);
  }
  pthread_mutex_destroy(&r->lock);
  ct_arena_clear(&r->arena);
  ct_free(alloc, r, sizeof *r);
  return no_memory;
}
