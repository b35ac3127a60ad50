/* check_state.h: what `check` knows while a launch runs: its events, shadows and workers. check.c is the watcher,
   which check_launch.c prepares for a launch; check_parts.h lists the parts.

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
typedef struct CtPhases CtPhases;       /* check_parts.h */
typedef struct CtLatest CtLatest;       /* check_latest.h */
typedef struct CtKnowledge CtKnowledge; /* check_known.h */
typedef struct CtFlags CtFlags;         /* check_flag.h */

/* A point in the work of lanes of a warp; see check_known.h. */
typedef struct CtMoment {
  uint64_t who; /* ct_known_who */
  uint32_t lanes, epoch, sub, time;
  const uint32_t *row;    /* NULL: its kernel has no clocks that say more */
  const uint32_t *agents; /* with `row`: what agents would see there, as in rows of check_clock.h */
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
  uint32_t time;             /* of the warp, which its releases and fences advance */
  uint32_t component, clock; /* check_clock.h */
  const uint32_t *
      ends; /* of a copy to several blocks: by rank, the clock of its barrier there; NULL: of another event */
  CtEventEnd end;                /* of a copy that was waited for: then */
  const struct CtLaneView *view; /* what its lanes know of others in this epoch; NULL: nothing */
  uint8_t rank;                  /* of its block in the cluster */
  uint8_t agent;                 /* CtAgent */
  uint8_t role;                  /* CtAccessRole, of tcgen05 */
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
  uint32_t lanes;    /* those that copied, and have not waited */
  int64_t lo, hi;    /* granules */
  bool is_done;      /* no lane is left */
  bool is_apart;     /* lanes waited without others of them */
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
enum { CT_KNOWN_BITS = 11 }; /* of the number of entries, at most */

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
typedef struct CtTensors CtTensors;     /* check_tensor.c */

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
  CtKnowledge *all_know;     /* by all threads of the block: check_flag.c */
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
  uint8_t
      lacks_after; /* of the race in tensor memory that is being noted: only CT_SYNC_AFTER is missing */
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
  bool has_atomics;   /* on shared memory, in this epoch; with clocks, in this block */
  CtKnownRead *known; /* 1 << known_bits entries */
  int known_bits;
  CtPending *pending;
  size_t n_pending, cap_pending;
  CtPending *sources; /* of copies under way, if the kernel writes that memory; by global event */
  size_t n_sources, cap_sources;
  /* fragments: initialised lanes by warp and row; buffers that are wholly initialised, by warp */
  uint32_t *rows;
  bool *full;
  CtWgmmaRegs *wgmma; /* NULL: the program has none */
  CtTensors *tensors; /* tensor memory; NULL: the program has none */
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

/* Granules of 1 << bits bytes that an element has; packed elements are not accessed one by one. */
static inline size_t ct_check_granules(CtDtype t, int bits) { return ct_value_bytes(t) >> bits; }

/* Does it name two accesses that race? Races of tensor memory are of its kind. */
static inline bool ct_found_is_race(const CtFound *f) {
  return f->kind == CT_CHECK_RACE_SHARED || f->kind == CT_CHECK_RACE_GLOBAL ||
         (f->kind == CT_CHECK_TENSOR && f->text == NULL && f->other != UINT32_MAX);
}

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
  e->ends = NULL;
  e->agent = CT_AGENT_NONE;
  if (k->clocks != NULL) {
    ct_clock_stamp(k, warp, NULL, e);
  }
}

#endif
