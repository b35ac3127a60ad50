/* check_flag_lane.h: what single lanes know and have fenced, for check_flag.c, which keeps it and hands it on at
   barriers, and check_flag_op.c, whose atomic operations and fences change it. */
#ifndef CT_WATCH_CHECK_FLAG_LANE_H
#define CT_WATCH_CHECK_FLAG_LANE_H

#include "check_flag_table.h"

#include <pthread.h>

struct CtFlags {
  CtAlloc alloc;
  CtKnowledge *(*grid)[2]; /* by number of the launch: handed on in even and odd phases */
  int64_t *grid_phase;     /* the newest phase in which a block arrived + 1 */
  int n_jobs;
  _Atomic bool no_memory;
  pthread_mutex_t lock; /* of what follows */
  CtArena rows;
  CtFlagTable table;
};

/* What a relaxed operation after it releases: for these lanes. */
typedef struct CtFence {
  _Atomic uint32_t refs;
  uint32_t behind;    /* lanes that come after a grid_dependency_wait */
  CtKnowledge *known; /* by all lanes of the warp */
  CtMoment moment;
} CtFence;

enum { OF_RANK, OF_ALL, N_SCOPES };

struct CtLaneKnown {
  CtKnowledge *known;             /* what its warp does not know */
  CtKnowledge *pending[N_SCOPES]; /* read by relaxed operations: a fence makes it known */
  CtFence *fence[N_SCOPES];       /* the last one: of any scope; of scope "sys" */
  CtKnowledge *fenced[N_SCOPES];  /* `known` at that time */
};

typedef struct CtLaneKnown Lane;

static inline CtFlags *ct_flags_of(const CtCheckWorker *k) { return k->check->flags; }

static inline void ct_flag_fail(CtFlags *f) { atomic_store(&f->no_memory, true); }

static inline void ct_flag_learn(CtCheckWorker *k, CtKnowledge **to, CtKnowledge *more) {
  if (!ct_known_join(k->check->alloc, to, more)) {
    ct_flag_fail(ct_flags_of(k));
  }
}

static inline void ct_flag_drop_fence(CtAlloc alloc, CtFence **f) {
  if (*f != NULL && atomic_fetch_sub(&(*f)->refs, 1) == 1) {
    ct_known_drop(alloc, (*f)->known);
    ct_free(alloc, *f, sizeof **f);
  }
  *f = NULL;
}

static inline Lane *ct_flag_lane(const CtCheckWorker *k, int32_t warp, int lane) {
  return &k->lanes[(size_t)warp * CT_LANES + (size_t)lane];
}

/* The same, which is about to know something of its own. */
static inline Lane *ct_flag_stir(CtCheckWorker *k, int32_t warp, int lane) {
  k->warps[warp].stirred |= 1u << lane;
  return ct_flag_lane(k, warp, lane);
}

/* The present moment of these lanes of a warp. What they do from now on is after it. Call it with the lock. */
CtMoment ct_flag_moment(CtCheckWorker *k, int32_t warp, uint32_t lanes);
/* The lanes of the warp that come after a grid_dependency_wait; 0 if that is not tracked. */
uint32_t ct_flag_behind_of(CtCheckWorker *k, int32_t warp);
/* *to also has the moment. */
void ct_flag_put_moment(CtCheckWorker *k, CtKnowledge **to, const CtMoment *m, bool is_behind);

/* The warp learns `more`: does its next view have to keep it? */
void ct_flag_note_news(CtCheckWorker *k, int32_t warp, const CtKnowledge *more);
/* Makes a view of what the warp knows now, if its events need one. */
void ct_flag_renew_view(CtCheckWorker *k, int32_t warp);

#endif
