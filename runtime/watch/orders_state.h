/* orders_state.h: a planned run in progress: the files orders*.c share it. */
#ifndef CT_WATCH_ORDERS_STATE_H
#define CT_WATCH_ORDERS_STATE_H

#include "orders.h"
#include "runtime/base/hash_table.h"

/* The warps of all launches of a run whose events are kept, and the threads with those of copies; these events;
   the choices of a run, after which it ends. */
enum {
  CT_ORDER_WARPS = 1 << 10,
  CT_ORDER_THREADS = 1 << 11,
  CT_ORDER_EVENTS = 1 << 16,
  CT_ORDER_STEPS = 1 << 18
};

typedef struct CtOrderEvent {
  uint16_t thread, local; /* the number of the event among those of its thread, from 1 */
  uint32_t in;            /* its instruction */
  int64_t block;
  uint64_t changes;      /* CtSimtGroup.n_changes before it */
  uint64_t before, hash; /* of the thread's event before it; its own, with all that it depends on */
  bool may_change;       /* an atomic operation that is no load; */
  bool changed;          /* it changed memory */
  bool is_dead;          /* it counts no more: see `waits` in orders.c */
} CtOrderEvent;

typedef enum CtTouchKind {
  CT_TOUCH_LOAD,
  CT_TOUCH_CHANGE, /* an atomic operation that is no load */
  CT_TOUCH_ARRIVE,
  CT_TOUCH_COMPLETE, /* bytes of a copy arrive */
  CT_TOUCH_EXPECT,   /* bytes are expected, and nothing arrives */
  CT_TOUCH_PASS,     /* a wait at a barrier ends, or a test finds a phase complete, */
  CT_TOUCH_TEST      /* or may not find it complete */
} CtTouchKind;

/* What an event does to a word of memory or to a barrier. */
typedef struct CtTouch {
  uint8_t kind;
  bool turns;   /* it completed the phase */
  bool is_last; /* an arrival: the phase needs no other */
  bool
      is_short; /* such an arrival that did not end the phase, as more bytes have come than were expected */
  uint32_t event;
  uint32_t phase; /* of a barrier: the one that it arrives in, or found complete */
  uint32_t next;  /* the touch of the same place before it; UINT32_MAX: none */
} CtTouch;

/* A word or a barrier. */
typedef struct CtPlace {
  uint64_t key;
  uint32_t last; /* its last touch */
  uint32_t phase;
  uint64_t phase_hash[2]; /* of the arrivals in the current phase, and in the one before */
  size_t clock;           /* two clocks: the same */
} CtPlace;

/* What a mark tells of; 0: there is none. */
typedef enum CtMarkKind {
  CT_MARK_ATOMIC = 1,
  CT_MARK_BEGIN, /* a copy begins, */
  CT_MARK_COMPLETE,
  CT_MARK_ARRIVE,
  CT_MARK_EXPECT,
  CT_MARK_PASS,
  CT_MARK_TEST,
  CT_MARK_MEET,  /* the warps of a block, at sync_threads */
  CT_MARK_STUCK, /* nothing lets the warp go on */
  CT_MARK_COUNT
} CtMarkKind;
typedef enum CtMarkPlace {
  CT_PLACE_NONE,
  CT_PLACE_WORD,
  CT_PLACE_MBAR,
  CT_PLACE_NAMED,
  CT_PLACE_CLUSTER,
  CT_PLACE_GRID
} CtMarkPlace;

/* What happened at a step, for the page of a schedule. */
typedef struct CtOrderMark {
  uint32_t step, thread;
  uint32_t in; /* UINT32_MAX: no instruction */
  uint32_t buf;
  int64_t slot, block; /* of an mbarrier: the block that has it */
  uint8_t kind, place;
  bool turns; /* it completed the phase */
} CtOrderMark;

typedef struct CtRacePair {
  uint32_t first, second; /* events */
} CtRacePair;

/* A launch: its first thread, and the threads of a block: its warps, and the barriers on which copies complete. */
typedef struct {
  const CtSimtProgram *program;
  uint32_t first;
  int32_t n_warps, n_threads;
} CtOrderJob;

/* A copy, when it began: the hash of its warp's last event. */
typedef struct {
  uint64_t hash;
} CtOrderCopy;

struct CtOrders {
  CtSimtPlan plan;
  CtAlloc alloc;
  const CtSimtGroup *group; /* NULL: the run has not begun; only to be read while it goes on */
  CtOrderJob *jobs;         /* its launches, also when it is over */
  size_t cap_jobs;
  int n_jobs;
  size_t n_threads;
  uint16_t *now, *join; /* a clock for each thread; one for a while */
  size_t cap_now, cap_join;
  uint64_t *last_hash; /* by thread */
  size_t cap_last;
  CtOrderEvent *events;
  size_t n_events, cap_events;
  uint16_t *clocks; /* by event */
  size_t cap_clocks;
  CtOrderCopy *copies; /* by number */
  size_t n_copies, cap_copies;
  uint16_t *copy_clocks; /* by number: the clock of its warp when it began */
  size_t cap_copy_clocks;
  CtTouch *touches;
  size_t n_touches, cap_touches;
  CtPlace *places;
  size_t cap_places;
  CtHashTable place_at; /* by key */
  uint16_t *place_clocks;
  size_t n_place_clocks, cap_place_clocks;
  CtOrderMark *marks;
  size_t n_marks, cap_marks;
  CtRacePair *races;
  size_t n_races, cap_races;
  uint32_t *found; /* events that race with the one at hand */
  size_t n_found, cap_found;
  const uint16_t *forced;
  size_t n_forced, at_forced;
  const CtOrderChoice *told;
  size_t n_told, at_choice;
  CtOrderChoice *choices;
  size_t n_choices, cap_choices;
  CtOrderPolicy policy;
  uint64_t seed;
  bool has_last;
  uint32_t last, n_steps, n_loops; /* the thread that went on last */
  uint32_t n_fills, n_waited;      /* turns of loops that work; those since the last forced event */
  int64_t last_block;
  int n_preemptions;
  bool is_kept; /* the run's events are kept: it leads to other orders */
  bool is_open; /* the last event is not over */
  CtOrderEnd end;
};

static inline uint64_t ct_order_mix(uint64_t h) {
  h = (h ^ h >> 32) * 0xD6E8FEB86659FD93u;
  h = (h ^ h >> 29) * 0xFF51AFD7ED558CCDu;
  return h ^ h >> 32;
}

/* The clock of an event, and that of its thread before it. */
static inline uint16_t *ct_order_clock(const CtOrders *o, size_t event) {
  return &o->clocks[2 * event * o->n_threads];
}
static inline uint16_t *ct_order_before(const CtOrders *o, size_t event) {
  return &o->clocks[(2 * event + 1) * o->n_threads];
}

uint32_t ct_order_thread_of(const CtOrders *o, const CtWarp *w);
/* The thread of copies to a barrier. */
uint32_t ct_order_copies_of(const CtOrders *o, const CtWorker *to, uint32_t buf, int64_t slot);
uint16_t *ct_order_now(CtOrders *o, uint32_t thread);
void ct_order_join(const CtOrders *o, uint16_t *to, const uint16_t *from);

/* orders_marks.c: called at each step of any plan. The warp has its turn; the block's warps have met; the warp is
   stuck; a note. */
void ct_order_mark_turn(CtOrders *o, const CtWarp *w);
void ct_order_mark_met(CtOrders *o, const CtWorker *k);
void ct_order_mark_stuck(CtOrders *o, const CtWarp *w);
void ct_order_mark_sync(CtOrders *o, const CtSyncNote *note);

/* orders_touch.c. The event of the warp has begun: notes the words that it will touch. */
void ct_order_touch_atomic(CtOrders *o, CtWarp *w);
void ct_order_sync(CtOrders *o, const CtSyncNote *note);
/* The last event is over. */
void ct_order_settle(CtOrders *o);
void ct_order_reset(CtOrders *o);
void ct_order_free(CtOrders *o);

#endif
