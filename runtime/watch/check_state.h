/* check_state.h: what the parts of `check` share. check.c is the watcher, which check_launch.c
   prepares for a launch. Each part has one subject:

     check_shadow.c   shared memory             check_within.c   coordinates outside their mode
     check_async.c    asynchronous copies       check_wrap.c     offsets that do not fit in 32 bits
     check_global.c   global memory             check_finding.c  keeps what the others find
     check_streams.c  launches in several streams
     check_early.c    dependent launches        check_quick.c    handlers for instructions that
     check_regs.c     fragments                                  cannot go wrong
     check_nan.c      float results             check_overflow.c signed integers that wrap around
     check_latest.h   accesses of one kind      check_unset.c    shared memory that nobody wrote
     check_touch.c    shared memory by clocks   check_line.c     the shadow of global memory
     check_blank.c    global memory that nobody wrote
     check_fail.c     failures of the engine
     check_ranks.c    launches of several ranks at once, each checked by a part
     check_known.c    what threads know of each other's work
     check_flag.c     what atomic operations, fences and barriers tell of it
     check_before.h   whether an access comes before another: the rule

   What a race is. Two accesses of one place by different threads race if at least one is a write
   and nothing orders them, by the rule of check_before.h. Two atomic operations of the same width do
   not race.

   The check may regard too much as ordered, never too little: it may miss a race, but it invents
   none. Two writes of the same value are not reported. Launches are ordered, except for what a
   dependent launch does before it waits (check_early.c).

   How accesses are kept. A write into shared or global memory is noted at once in a shadow of
   that memory. The shadow has one word for each granule, the smallest element of the buffers
   there: which event wrote it last; in global memory, 16 neighbouring granules share a word while all
   accesses take them alike (check_line.c). Plain writes exclude each other, so the last one is enough:
   what came before it is ordered before it, or was reported. Atomic operations do not race with
   each other, so they have words of their own (check_latest.h) and never hide a plain write.
   Reads of shared memory go to a log until the next barrier, one entry for a whole operand. They
   are compared only with writes since the last barrier that overlap them. */
#ifndef CT_WATCH_CHECK_STATE_H
#define CT_WATCH_CHECK_STATE_H

#include "needless.h"
#include "runtime/simt/run/simt_watch.h"

typedef struct CtClocks CtClocks;       /* check_clock.h */
typedef struct CtPhases CtPhases;       /* check_phase.h */
typedef struct CtLatest CtLatest;       /* check_latest.h */
typedef struct CtKnowledge CtKnowledge; /* check_known.h */
typedef struct CtFlags CtFlags;         /* check_flag.h */

/* A point in the work of lanes of a warp; see check_known.h. */
typedef struct CtMoment {
  uint64_t who; /* ct_known_who */
  uint32_t lanes, epoch, sub, time;
  const uint32_t *row; /* NULL: its kernel has no clocks that say more */
} CtMoment;

/* Where in its warp's work an event is over. */
typedef struct CtEventEnd {
  uint32_t epoch, sub, time, component, clock;
} CtEventEnd;

/* An instruction of a warp that accessed memory: what later accesses are compared with. */
typedef struct CtCheckEvent {
  uint32_t in;      /* index in the code */
  uint32_t ordinal; /* its number among the warp's events since the barrier */
  uint32_t sub;     /* how many sync_warps of the warp came before it */
  uint32_t epoch;   /* how many barriers of the block came before it */
  int32_t warp;
  uint8_t atomic; /* bytes of an atomic operation; 0: it is not atomic */
  int64_t block;
  int64_t home; /* the first block of its cluster */
  uint64_t seq; /* the launch's clock, which proxy fences advance */
  uint64_t
      done; /* of an asynchronous copy's source: when it was waited for, or CT_NOT_DONE; else 0 */
  uint32_t time;                 /* of the warp, which its releases and fences advance */
  uint32_t component, clock;     /* check_clock.h */
  CtEventEnd end;                /* of a copy that was waited for: then */
  const struct CtLaneView *view; /* what its lanes know of others in this epoch; NULL: nothing */
  uint8_t rank;                  /* of its block in the cluster */
  uint8_t agent;                 /* CtAgent */
  bool is_sys;                   /* an atomic operation at the scope of the system */
  bool is_store;                 /* an atomic store: what was there does not matter */
  bool is_copied; /* a copy to shared memory that was waited for: it counts as of that time */
  uint16_t job;   /* of launches that run together: the number of its launch */
} CtCheckEvent;

#define CT_NOT_DONE UINT64_MAX

/* A shadow's word: the event's number << 5 | lane. */
enum {
  CT_EVENT_LANE_BITS = 5,
  CT_EVENT_LANE = 31,
  CT_MAX_EVENT = INT32_MAX >> (CT_EVENT_LANE_BITS - 1) /* the largest number that a word holds */
};

/* A read of shared memory, kept until the barrier. */
typedef struct CtRead {
  CtCheckEvent event;
  uint32_t buf, mask;
  int64_t n, n_rows, base, lo, hi, step; /* lo, hi: granules */
  const int64_t *pos, *rows, *cols;      /* pos NULL: they are in the worker's own_pos */
  size_t own_pos;
} CtRead;

/* An asynchronous copy under way, or waited for since the last barrier. Of its source, no range is
   kept. */
typedef struct CtPending {
  uint32_t event; /* number */
  CtCheckEvent what;
  uint32_t group;
  int64_t lo, hi; /* granules */
  bool is_done;
  uint32_t done_sub; /* the `sub` of its warp when it was waited for */
} CtPending;

typedef struct CtRange {
  int64_t lo, hi; /* granules; empty if lo > hi */
} CtRange;

/* A regular read of shared memory that came before. When it comes again in the same block, its
   elements are known to be initialised. When it comes again in the same epoch and `sub`, and
   no flag came between, it is in the log already. */
typedef struct CtKnownRead {
  const CtIn *in;
  const CtPattern *pattern;
  int64_t base;
  uint32_t mask;
  int32_t warp;
  uint32_t sub;
  uint16_t role;
  uint64_t block; /* of the worker's blocks, the one in which all of it was initialised */
  uint64_t epoch; /* of the worker's epochs, the one in whose log it is */
  uint32_t time;  /* of the warp, then */
  CtRead read;    /* its latest entry in the log */
} CtKnownRead;
enum { CT_KNOWN_BITS = 11, CT_N_KNOWN = 1 << CT_KNOWN_BITS };

/* A slot whose value wrapped around: what it holds, and what it should hold. It counts only as
   long as the slot still holds `got`. */
typedef struct CtTaint {
  uint32_t slot;
  int32_t warp;
  char role; /* 's', 'v' or 'p', as in simt_ops.def; 'w': lanes of 8 bytes */
  int64_t want[CT_LANES], got[CT_LANES];
} CtTaint;

enum { CT_N_RECENT = 16 };
typedef struct CtCheckWarp {
  uint32_t sub, ordinal;
  uint32_t time;      /* how many releases and fences it has come to */
  CtKnowledge *known; /* by all of its lanes */
  uint32_t stirred;   /* lanes that know something of their own, or have fenced */
  bool is_near; /* without clocks: it knows something of its block that came since the barrier */
  struct CtLaneView *view;      /* of that, as it is now; NULL: not made yet */
  size_t first_read;            /* in the log, since the last sync_warp */
  CtRange wrote;                /* since the last sync_warp */
  uint32_t n_groups;            /* of asynchronous copies, closed */
  uint32_t recent[CT_N_RECENT]; /* with clocks: events by instruction, for using them again */
  uint32_t atomic_event;        /* the latest atomic event, for using it again; 0: none */
  uint32_t global_event;
  uint32_t waited,
      behind;        /* lanes that called grid_dependency_wait; lanes known to come after one */
  CtCheckEvent wait; /* the first such wait, if waited is not 0, */
  int wait_lane;     /* and by whom */
} CtCheckWarp;

typedef struct CtFound {
  CtCheckKind kind;
  uint32_t in, other; /* indices in the code; other: UINT32_MAX for none */
  uint32_t buf;       /* 0: none */
  const char *begin;  /* where the buffer was at that time */
  uint8_t how;        /* what the message says: an enumeration of the kind's part */
  uint64_t count;
  int64_t block, other_block;
  int32_t thread, other_thread;
  int64_t off, extra;
  int64_t operands[2];        /* ARITHMETIC */
  uint8_t agent, other_agent; /* CtAgent, of races */
  const char *kernel;         /* DEPENDENT: the earlier launch's kernel; NULL: one of many */
  /* a race of two ranks: the launches that `in` and `other` are of; NULL: the worker's */
  const CtSimtJob *job, *other_job;
  char *text; /* a message that needs the block's state and so is made at once; in the arena */
} CtFound;

typedef enum CtPlanKind {
  CT_PLAN_NONE,
  CT_PLAN_MEMORY,
  CT_PLAN_SYNC_WARP,
  CT_PLAN_SYNC_LANES,
  CT_PLAN_SHUFFLE, /* by a mask */
  CT_PLAN_CP_FENCE,
  CT_PLAN_CP_WAIT,
  CT_PLAN_FENCE,
  CT_PLAN_WGMMA, /* the instructions that order wgmma */
  CT_PLAN_GRID_WAIT,
  CT_PLAN_GRID_LAUNCH,
  CT_PLAN_WITHIN,
  CT_PLAN_WRAP, /* integer arithmetic from which an offset is computed */
  CT_PLAN_OVERFLOW,
  CT_PLAN_FLOAT /* a float result, if NaN are reported */
} CtPlanKind;

typedef struct CtPlan {
  const CtOperand *operands; /* MEMORY: its n_operands */
  uint8_t kind, n_operands;
  bool is_steady; /* a tile operation none of whose tables changes in the body */
  bool is_bounds; /* a load by scalar and pattern from memory that nobody writes: only bounds */
  /* If NaN are reported: the types of the floats in slots that it takes and gives; CT_VOID: none. Of
     pairs, a slot has two. */
  uint8_t from, to;
  bool is_pair;
  bool is_sum; /* if overflow is reported: it adds signed integers in memory or registers */
} CtPlan;

/* A read of shared memory that was not initialised at that time. If another thread writes it
   before the barrier, that is a race, and only the race is reported. */
typedef struct CtUnset {
  CtFound f;
  int64_t granule;
} CtUnset;

typedef struct CtWgmmaRegs CtWgmmaRegs; /* check_wgmma.c */

/* An element of an atomic operation, and the lanes that access it. */
typedef struct CtFlagPlace {
  const char *at;
  uint32_t lanes;
} CtFlagPlace;

/* The atomic operation that runs: check_flag.c. */
typedef struct CtFlagOp {
  CtFlagPlace places[CT_LANES];
  int n_places;
  uint32_t behind; /* lanes that come after a grid_dependency_wait */
  int job;         /* of shared memory: whose it is; else -1 */
  int64_t block;
  CtMoment moment; /* of an operation that releases */
  const CtIn *in;
  bool is_running, is_store, is_relaxed, is_sys, acquires, reads, writes;
} CtFlagOp;

enum { CT_ALL_WARPS = -1, CT_ANY_LANE = -1, CT_NO_LANE = -2 };

typedef struct CtCheckWorker {
  CtCheck *check;
  CtKnowledge *all_know; /* by all threads of the block: check_flag.c */
  CtKnowledge
      *agents_know; /* of shared memory: what threads of the block knew at their proxy fences */
  struct CtLaneKnown *lanes; /* what single lanes know; NULL: the program has no flags */
  CtFlagOp flag;
  struct CtLaneView *views; /* of this epoch */
  CtWorker *k;
  const char *begin; /* of the global tensor whose access is looked at */
  const CtIn *code;  /* these are the launch's, copied here to be near */
  const CtPlan *plans;
  const CtIn *bound;
  const CtHandler *handlers;
  bool nan;
  uint8_t rank_cause;   /* of the race that is being noted, of two ranks: CT_RANKS_* */
  uint8_t atomic_bytes; /* of each atomic operation on shared memory that writes; 0: they differ */
  int granule_bits;
  CtCheckWarp *warps;
  CtClocks *clocks;          /* NULL: epochs do */
  CtPhases *phases;          /* with clocks */
  struct CtReaders *readers; /* of shared memory, with clocks: check_clock.h */
  CtArena texts;
  /* shared memory */
  uint32_t *shadow;
  CtLatest *atomics;    /* by granule; NULL: the program has no atomic operation on shared memory */
  CtCheckEvent *events; /* of this epoch, from number first_event on */
  size_t cap_events;
  uint32_t first_event, next_event;
  uint32_t block_word,
      epoch_word; /* smaller shadow words are of earlier blocks; of earlier epochs */
  uint64_t n_blocks, n_epochs;
  uint64_t n_writes; /* with clocks: accesses that write, in all blocks */
  uint32_t epoch;    /* barriers of the block */
  CtRead *reads;
  size_t n_reads, cap_reads;
  int64_t *own_pos;
  size_t n_own_pos, cap_own_pos;
  CtUnset *unset;
  size_t n_unset, cap_unset;
  CtRange *written; /* by buffer: what was written in this epoch */
  bool has_written;
  bool has_atomics; /* on shared memory, in this epoch; with clocks, in this block */
  CtKnownRead *known;
  CtPending *pending;
  size_t n_pending, cap_pending;
  CtPending *sources; /* of copies under way, if the kernel writes that memory; by global event */
  size_t n_sources, cap_sources;
  /* fragments: initialised lanes by warp and row; buffers that are wholly initialised, by warp */
  uint32_t *rows;
  bool *full;
  CtWgmmaRegs *wgmma; /* NULL: the program has none */
  /* global memory */
  uint32_t free_event, end_event;
  uint64_t block_acq, block_acq_sys; /* times: the block's last acquire; of scope "sys" */
  bool lets_early; /* the block let the next launch begin before it waited for the earlier ones */
  _Atomic uint32_t
      writing; /* the event whose writes are in the shadow, perhaps not in memory; 0: none */
  /* offsets */
  CtTaint *taints;
  size_t n_taints, cap_taints;
  /* nan: lanes with operands that were NaN, or infinite */
  uint32_t looked_at, nan_before, inf_before;
  /* overflow: what the instruction adds, and to which elements; what an MMA adds to */
  bool overflow;
  int64_t added[CT_LANES], added_at[CT_LANES];
  int32_t *sums;
  size_t n_sums, cap_sums;
  uint64_t n_races; /* noted in this launch */
  uint64_t n_held;  /* accesses of the block that were left out */
  CtFound *found;
  size_t n_found, cap_found;
  bool no_memory; /* for lack of memory something was left out */
} CtCheckWorker;

typedef struct CtGlobal CtGlobal;   /* check_global.h */
typedef struct CtEarly CtEarly;     /* check_early.c */
typedef struct CtStreams CtStreams; /* check_streams.c */
typedef struct CtRanks CtRanks;     /* check_ranks.c */

struct CtCheck {
  CtSimtWatch watch; /* first */
  CtAlloc alloc;
  CtCheckOptions options;
  CtArena texts;
  CtFinding *findings;
  size_t n_findings, cap_findings;
  CtExploreOptions orders; /* that are asked for */
  CtExplored *explored;
  size_t n_explored, cap_explored;
  CtNeedless *needless;
  size_t n_needless, cap_needless;
  uint64_t n_judged; /* launches */
  uint64_t n_launches;
  bool tries_without; /* launches are judged: needless.h */
  bool tries_mutants; /* then also by what tests the check */
  bool tries_each;    /* each instruction by itself */
  CtNeedless without; /* what all launches run without; what == NULL: nothing */
  bool no_memory;     /* for lack of memory something was left out */
  CtEarly *early;     /* what earlier launches did; NULL: nothing is kept */
  CtStreams *streams; /* the same, if there are several streams */
  CtCheck *root;      /* who has the clock: this one; of a part, the one that it is a part of */
  CtRanks *ranks;     /* of a part: what it shares with the others; NULL: a single launch runs */
  CtCheck *
      *parts; /* check_join.c: while launches of ranks run, one for each, and what they share */
  size_t n_parts, cap_parts;
  CtRanks *shared;
  /* from here on: the current launch */
  CtSimtJob *job;
  CtArena arena;
  CtCheckWorker *workers;
  int n_workers;
  CtPlan *plans; /* by index in the code */
  bool has_clocks;
  uint32_t granule; /* bytes, of shared memory: 1 << granule_bits */
  int granule_bits;
  uint32_t n_granules;
  uint32_t *first_row; /* by buffer: its first row of registers */
  uint32_t n_rows;
  _Atomic uint64_t clock;
  CtFlags *flags;         /* of a part, those of all */
  CtGlobal *global;       /* NULL: the launch uses no global memory that needs a check */
  CtBlank **blanks;       /* memory without contents that the launch uses */
  uint8_t **blank_states; /* theirs before the launch, if it may run again */
  size_t n_blanks;
  bool is_tracked; /* its accesses to global memory are kept for later dependent launches */
};

static inline CtCheckWorker *ct_check_worker(const CtWorker *k) { return k->watched; }

static inline int32_t ct_check_thread(int32_t warp, int lane) { return warp * CT_LANES + lane; }
static inline uint32_t ct_check_index(const CtCheckWorker *k, const CtIn *in) {
  return (uint32_t)(in - k->k->job->code);
}

/* Atomic operations of different widths are not atomic to each other. */
static inline bool ct_check_both_atomic(const CtCheckEvent *a, const CtCheckEvent *b) {
  return a->atomic != 0 && a->atomic == b->atomic;
}

/* check_clock.c: stamps an event of the warp with its component and clock. The access a names
   the agent; NULL: the warp did it itself. */
void ct_clock_stamp(const CtCheckWorker *k, int32_t warp, const CtAccess *a, CtCheckEvent *e);
/* Does the warp know of that clock of a component? By what its lane knows, too, or, CT_ANY_LANE, by what one of them does;
   CT_NO_LANE: by what all know. `by_agent`: before what an agent of the warp does, which needs a proxy fence after
   ordinary writes. */
bool ct_clock_is_before(const CtCheckWorker *k, uint32_t component, uint32_t clock, int32_t warp,
                        int lane, bool by_agent);

/* Where the event is over; false: it is a copy that nobody has waited for. */
static inline bool ct_check_end_of(const CtCheckEvent *e, CtEventEnd *end) {
  uint64_t done = __atomic_load_n(&e->done, __ATOMIC_ACQUIRE);
  *end = done != 0 ? e->end : (CtEventEnd){e->epoch, e->sub, e->time, e->component, e->clock};
  return done != CT_NOT_DONE;
}

/* Makes the event of what the warp does now. */
static inline void ct_check_event_of(const CtCheckWorker *k, const CtIn *in, int32_t warp,
                                     uint8_t atomic, CtCheckEvent *e) {
  const CtCheckWarp *w = &k->warps[warp];
  e->in = ct_check_index(k, in);
  e->ordinal = w->ordinal;
  e->sub = w->sub;
  e->epoch = k->epoch;
  e->warp = warp;
  e->atomic = atomic;
  e->block = k->k->block;
  e->job = (uint16_t)k->k->job->number;
  e->is_sys = e->is_store = e->is_copied = false;
  e->view = w->view;
  e->home = k->k->team[0].block;
  e->rank = (uint8_t)k->k->rank;
  e->time = w->time;
  e->done = 0;
  e->seq = atomic_load_explicit(&k->check->root->clock, memory_order_relaxed);
  e->component = e->clock = 0;
  e->agent = CT_AGENT_NONE;
  if (k->clocks != NULL) {
    ct_clock_stamp(k, warp, NULL, e);
  }
}
/* check.c: makes the event of an access, which its agent may do. */
void ct_check_event(const CtCheckWorker *k, const CtAccess *a, CtCheckEvent *e);

/* check_fail.c: notes why the worker's block failed; false: no memory. */
bool ct_check_fail(CtSimtWatch *watch, CtWorker *worker);

/* check_launch.c: makes the plans and workers of a launch; frees them. */
CtStatus ct_check_begin(CtCheck *c, CtSimtJob *job, CtErr *err) CT_NODISCARD;
void ct_check_end(CtCheck *c);

/* check_value.c: does element e of the lane, which goes to `off`, have the value that is there
   already? */
bool ct_check_is_same(const CtAccess *a, int64_t e, int lane, int64_t off);
/* Does it have the value that another lane of the same instruction writes there? */
bool ct_check_is_same_in(const CtAccess *a, int64_t e, int lane, int other, int64_t off);

/* Writes now what the access is about to write into element `off`; false: the value is not known
   yet. */
bool ct_check_write_early(const CtAccess *a, int64_t e, int lane, int64_t off);

/* check_shadow.c */
void ct_shadow_begin_block(CtCheckWorker *k);
void ct_shadow_read(CtCheckWorker *k, const CtAccess *a, bool is_steady);
void ct_shadow_write(CtCheckWorker *k, const CtAccess *a);
void ct_shadow_hold(CtCheckWorker *k, const CtAccess *a,
                    uint32_t lanes); /* lanes whose access does not take place */
void ct_shadow_sync_warp(CtCheckWorker *k, const CtWarp *w);
void ct_shadow_barrier(CtCheckWorker *k); /* also at a block's end */
/* check_unset.c: looks for elements of a read that nobody has written. */
void ct_unset_look(CtCheckWorker *k, const CtAccess *a, CtRange r);
/* Reports them. Call it before the log is compared. If memory ran out, a write may be lost, so nothing
   is reported. */
void ct_unset_tell(CtCheckWorker *k);
/* The event with this number: one of this epoch, or of a copy under way. */
static inline const CtCheckEvent *ct_shadow_event(const CtCheckWorker *k, uint32_t number) {
  return &k->events[number - k->first_event];
}
/* Element `off` of a shared buffer covers *n granules; returns the first. */
static inline int64_t ct_shadow_granule(const CtCheckWorker *k, const CtSimtBuf *buf, int64_t off,
                                        int *n) {
  int64_t bytes = (int64_t)ct_dtype_bytes(buf->dtype);
  *n = (int)(bytes >> k->granule_bits);
  return (buf->at + off * bytes) >> k->granule_bits;
}

/* Does the access go to 32 neighbouring granules for each element, none of which needs a closer
   look? */
static inline bool ct_shadow_is_run(const CtCheckWorker *k, const CtAccess *a) {
  return a->mask == CT_ALL_LANES && !k->has_atomics && a->pattern != NULL &&
         a->pattern->kind[CT_LEVELS - 1] == CT_CONTIGUOUS &&
         ct_dtype_bytes(a->buf->dtype) == k->check->granule;
}

/* The entry of the cache of compared reads for this read. The cache has one entry for each hash,
   so it may hold another read: compare before use. */
static inline CtKnownRead *ct_known_at(const CtCheckWorker *k, const CtIn *in, CtAccessRole role,
                                       int32_t warp, int64_t base, uint32_t mask) {
  uint64_t h = (uint64_t)(uintptr_t)in / sizeof *in * 8 + (uint64_t)role +
               (uint64_t)warp * 0x9E3779B1u + (uint64_t)base * 0x85EBCA6Bu + mask;
  return &k->known[(h * 0x9E3779B97F4A7C15u) >> (64 - CT_KNOWN_BITS)];
}

/* Notes a write of 32 neighbouring granules, one by each lane. If one of them was written in
   this epoch, it does nothing and returns false. */
static inline bool ct_shadow_write_run(uint32_t *shadow, uint32_t epoch_word, uint32_t word) {
  uint32_t some = 0;
  for (int i = 0; i < CT_LANES; i++) {
    some |= (uint32_t)(shadow[i] >= epoch_word);
  }
  if (some != 0) {
    return false;
  }
  for (uint32_t i = 0; i < CT_LANES; i++) {
    shadow[i] = word | i;
  }
  return true;
}
static inline void ct_range_widen(CtRange *r, CtRange by) {
  r->lo = ct_min(r->lo, by.lo);
  r->hi = ct_max(r->hi, by.hi);
}

/* check_quick.c: a handler that needs no watcher; NULL if the watcher must see the instruction. */
CtHandler ct_quick_handler(const CtCheck *c, uint32_t index);

/* check_clock.c: takes the access as event `number`; its elements are initialised. */
void ct_clock_read(CtCheckWorker *k, const CtAccess *a, uint32_t number);
void ct_clock_write(CtCheckWorker *k, const CtAccess *a, uint32_t number);

/* check_async.c */
void ct_async_add(CtCheckWorker *k, const CtCheckEvent *e, uint32_t number, CtRange r);
/* Is the event a copy that is under way, of the group that its warp has not closed yet? */
bool ct_async_is_open(const CtCheckWorker *k, uint32_t number);
void ct_async_look(CtCheckWorker *k, const CtAccess *a, CtRange r);
void ct_async_fence(CtCheckWorker *k, const CtWarp *w);
void ct_async_wait(CtCheckWorker *k, const CtWarp *w, int64_t n);
void ct_async_barrier(CtCheckWorker *k);
/* The copy of global event `number` is under way: the kernel may write what it reads. */
void ct_async_add_source(CtCheckWorker *k, const CtCheckEvent *e, uint32_t number);
/* That copy, also if it was waited for since the last barrier; NULL: none. */
const CtPending *ct_async_source(const CtCheckWorker *k, uint32_t number);
/* Reports an access that no order puts after the wait for a copy. */
void ct_async_note_copied(CtCheckWorker *k, const CtAccess *a, int lane, int64_t off,
                          const CtCheckEvent *copy, int copy_lane);
/* The access writes what the copy may still read. */
void ct_async_note_source(CtCheckWorker *k, const CtAccess *a, int lane, int64_t off,
                          const CtPending *p, int copy_lane);

/* check_regs.c */
void ct_regs_begin_block(CtCheckWorker *k);
void ct_regs_access(CtCheckWorker *k, const CtAccess *a);
/* Which lanes of the warp have set a row: element `off` of a buffer. */
static inline uint32_t *ct_regs_row(const CtCheckWorker *k, int32_t warp, uint32_t buf,
                                    int64_t off) {
  const CtCheck *c = k->check;
  return &k->rows[(size_t)warp * c->n_rows + c->first_row[buf] + (size_t)off];
}
void ct_regs_hold(CtCheckWorker *k, const CtAccess *a, uint32_t lanes);

/* check_wgmma.c: opens it, NULL without memory; takes accesses of registers, before
   ct_regs_access does; takes the instructions that order. */
CtWgmmaRegs *ct_wgmma_open(CtCheck *c);
void ct_wgmma_close(const CtCheckWorker *k);
void ct_wgmma_begin_block(CtCheckWorker *k);
void ct_wgmma_end_block(CtCheckWorker *k); /* a block that has not failed */
void ct_wgmma_access(CtCheckWorker *k, const CtAccess *a);
void ct_wgmma_order(CtCheckWorker *k, const CtIn *code, const CtWarp *warp);

/* check_global.c */
CtStatus ct_global_begin(CtCheck *c, CtErr *err) CT_NODISCARD;
void ct_global_end(CtCheck *c);
void ct_global_access(CtCheckWorker *k, const CtAccess *a);
bool ct_global_is_watched(const CtCheck *c, uint32_t buf); /* does the check need its accesses? */
/* The block's fence_proxy_async of global memory, at that time. */
void ct_global_proxy_fence(CtCheckWorker *k, uint64_t time);
/* The instruction that was about to write has run. */
static inline void ct_global_has_written(CtCheckWorker *k) {
  if (atomic_load_explicit(&k->writing, memory_order_relaxed) != 0) {
    atomic_store_explicit(&k->writing, 0, memory_order_release);
  }
}

/* check_blank.c: a launch begins (its global memory is known; false: no memory), and ends, before its
   findings are merged. */
bool ct_check_blank_begin(CtCheck *c) CT_NODISCARD;
void ct_check_blank_end(CtCheck *c);
void ct_check_blank_forget(CtCheck *c); /* the launch begins again */
void ct_check_blank_look(CtCheckWorker *k, const CtAccess *a, bool reads);

/* check_early.c: a launch begins (its global memory is known); it has ended. */
CtStatus ct_early_begin(CtCheck *c, CtErr *err) CT_NODISCARD;
void ct_early_end(CtCheck *c);
void ct_early_close(CtCheck *c);
void ct_early_forget(CtCheck *c, const char *begin,
                     size_t bytes); /* the host made new memory here */
void ct_early_wait(CtCheckWorker *k, const CtIn *in, const CtWarp *w);
void ct_early_launch(CtCheckWorker *k, const CtWarp *w);
/* Only in launches that are tracked: */
void ct_early_access(CtCheckWorker *k, const CtAccess *a);
uint32_t ct_early_behind(CtCheckWorker *k, int32_t warp); /* lanes that come after a wait */
void ct_early_end_block(const CtCheckWorker *k);

/* check_streams.c, called by check_early.c: as these; false: no memory. */
bool ct_streams_begin(CtCheck *c) CT_NODISCARD;
void ct_streams_end(CtCheck *c);
void ct_streams_close(CtCheck *c);
void ct_streams_forget(CtCheck *c, const char *begin, size_t bytes);
void ct_streams_access(CtCheckWorker *k, const CtAccess *a);
bool ct_streams_fill(CtCheck *c, const char *begin, size_t bytes, uint32_t number,
                     uint64_t n_waits) CT_NODISCARD;

/* check_within.c: notes coordinates outside their modes; returns whether a lane has one. */
bool ct_within_look(CtCheckWorker *k, const CtIn *code, const CtIn *in, const CtWarp *w);

/* check_wrap.c */
void ct_wrap_plan(CtCheck *c);
void ct_wrap_step(CtCheckWorker *k, const CtIn *code, CtWarp *w);
bool ct_wrap_fits(const CtIn *code, const CtWarp *w); /* does the result of a LEA_i32 fit? */
/* Notes and returns the lanes whose offset is wrong because arithmetic before it wrapped around. */
uint32_t ct_wrap_look(CtCheckWorker *k, const CtIn *code, const CtAccess *a);

/* check_nan.c */
void ct_nan_plan(CtCheck *c);
void ct_nan_before(CtCheckWorker *k, const CtIn *code, CtWarp *w, uint32_t lanes);
void ct_nan_after(CtCheckWorker *k, const CtIn *code, const CtIn *in, CtWarp *w);

/* check_overflow.c */
void ct_overflow_plan(CtCheck *c);
bool ct_overflow_look(CtCheckWorker *k, const CtIn *code, const CtIn *in, const CtWarp *w);
void ct_overflow_look_at_lanes(CtCheckWorker *k, const CtIn *code, const CtIn *in, const CtWarp *w);
void ct_overflow_before(CtCheckWorker *k, const CtIn *code, const CtIn *in, CtWarp *w,
                        uint32_t lanes);
void ct_overflow_after(CtCheckWorker *k, const CtIn *code, const CtIn *in, CtWarp *w);
/* What an instruction with such a finding computes. */
void ct_overflow_operation(const CtSimtProgram *p, uint32_t in, CtOp *op, CtDtype *type);

/* check_order.c: does a thread that has passed the other access come to this one again, in a
   loop or in its unrolled iterations? */
bool ct_order_is_again(const CtSimtProgram *p, const CtFound *f);
/* Puts the accesses of a race in the order of the program, if the program orders them. */
void ct_order_turn_race(const CtSimtProgram *p, CtFound *f);

/* check_finding.c. Values of CtFound.how, by kind. */
enum { CT_BOUNDS_READ, CT_BOUNDS_WRITE };
enum { /* races: the first access, the second */
       CT_RACE_WRITE_READ,
       CT_RACE_READ_WRITE,
       CT_RACE_WRITE_WRITE,
       CT_RACE_AT_ONCE,     /* by lanes of one instruction */
       CT_RACE_HOW = 7,     /* mask of these */
       CT_RACE_IN_WARP = 8, /* flag: two lanes of a warp */
       CT_RACE_BLOCKS = 16, /* flag: of two blocks */
       CT_RACE_CLOCKS = 32, /* flag: in a kernel with mbarriers or named barriers */
       CT_RACE_WIDTHS = 64, /* flag: both are atomic operations, but not to each other */
       CT_RACE_RANKS = 128  /* flag: of two ranks */
};
/* CtFound.extra of such a race: a flag is missing; they order by scope "gpu" only; TMA does not see what was written;
   nobody has waited for a copy of TMA. */
enum { CT_RANKS_FLAG, CT_RANKS_SCOPE, CT_RANKS_PROXY, CT_RANKS_COPY };
enum { CT_EARLY_WRITE = 1, CT_EARLY_WROTE = 2 }; /* flags: this one writes; the earlier one wrote */
/* sync_warp; sync_threads, sync_grid; extra: how many threads */
enum { CT_BARRIER_WARP, CT_BARRIER_ENDED, CT_BARRIER_ENDED_GRID };
/* extra: the result that it has in its type. operands: of the operation; [0]: the exact sum */
enum { CT_OVERFLOW_OF_TWO, CT_OVERFLOW_ATOMIC, CT_OVERFLOW_SUM, CT_OVERFLOW_KNOWN_SUM };
enum { CT_NAN_OF_FINITE, CT_NAN_OF_INFINITY, CT_NAN_NARROWED };
enum {
  CT_ASYNC_READ,
  CT_ASYNC_WRITE,
  CT_ASYNC_NO_BARRIER,
  CT_ASYNC_FAR_READ, /* by another block of the cluster */
  CT_ASYNC_FAR_WRITE,
  CT_ASYNC_NOT_HANDED_ON, /* waited for, but nothing orders that wait before the access */
  CT_ASYNC_SOURCE,        /* written by the thread that copies it */
  CT_ASYNC_SOURCE_OF      /* by another thread */
};
enum { CT_WGMMA_READ, CT_WGMMA_WRITE, CT_WGMMA_A, CT_WGMMA_FENCE, CT_WGMMA_NO_FENCE };
/* A finding of one access of an element by a lane; its block may be another one than k's. */
CtFound ct_finding_of(const CtCheckWorker *k, CtCheckKind kind, const CtAccess *a, int lane,
                      int64_t off);
void ct_finding_note(CtCheckWorker *k, const CtFound *f);
/* A finding with a text of its own, for what is not an access. Kind, place, block and thread are f's. */
void ct_finding_note_text(CtCheckWorker *k, CtFound f, const char *text);
/* Two accesses race; the first one is a. */
void ct_finding_race(CtCheckWorker *k, CtCheckKind kind, const CtCheckEvent *a, int lane_a,
                     bool a_writes, const CtCheckEvent *b, int lane_b, bool b_writes, uint32_t buf,
                     int64_t off);
/* check_text.c: a finding in words; the coordinates of a thread of a block, of a block of the grid. */
void ct_check_put_text(CtText *out, const CtSimtJob *job, const CtFound *f);
void ct_check_thread_of(const CtSimtProgram *p, int32_t i, int64_t t[3]);
void ct_check_block_of(const CtSimtJob *job, int64_t i, int64_t b[3]);
void ct_finding_merge(CtCheck *c); /* makes texts of the findings of all workers */
void ct_finding_take(CtCheck *c, const CtCheck *part);
/* Was nothing found at the same place before? If so, _add_new adds it. */
bool ct_finding_is_new(CtCheck *c, const CtFinding *f);
void ct_finding_add_new(CtCheck *c, const CtFinding *f); /* adds the findings of a part */
uint64_t ct_finding_total(const CtCheck *c);             /* how often something was found */

#endif
