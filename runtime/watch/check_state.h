/* check_state.h: what the parts of `check` share. check.c is the watcher, whom
   check_launch.c prepares for a launch; check_shadow.c looks after shared memory,
   check_async.c after asynchronous copies, check_global.c after global memory,
   check_early.c after what dependent launches do there too early, check_regs.c after
   fragments, check_within.c after coordinates, check_wrap.c after offsets of 32 bits; check_quick.c is in place of them where
   nothing can be wrong; check_finding.c keeps what they find.

   Two accesses of the same place, not both atomic by the same number of bytes, at least one a write, by different threads, are a
   race unless they are ordered:
   - by a barrier of the block between them (epochs);
   - in one warp by a sync_warp between them (CtEvent.sub): nothing else orders lanes, not the order in
     which the engine runs them, nor shuffles or votes;
   - by a release of the one's warp after it and an acquire of the other's before it. A release is an
     atomic_store, or an atomic write after a fence; an acquire is an atomic_load, or a fence after an
     atomic operation. Between blocks any warp of the block may do it. The times of releases and
     acquires are compared, not their places, and the last release counts: more is taken for ordered
     than is, never less.
   Two writes of the same value are left alone. Launches are ordered, but for what dependent ones do
   before they wait (check_early.c).

   A write into shared or global memory is noted at once in a shadow of the memory: a word for each
   granule (the smallest element of the buffers there) says which event wrote it last. Reads of shared
   memory are kept in a log until the next barrier, a whole operand as one entry, and looked at only if
   something that was written since the last barrier overlaps them. */
#ifndef CT_WATCH_CHECK_STATE_H
#define CT_WATCH_CHECK_STATE_H

#include "check.h"
#include "runtime/simt/run/simt_watch.h"

/* An instruction of a warp that accessed memory, as others are compared with it. */
typedef struct CtClocks CtClocks; /* check_clock.h */
typedef struct CtPhases CtPhases; /* check_phase.h */

typedef struct CtEvent {
  uint32_t in;      /* index in the code */
  uint32_t ordinal; /* among those of the warp since the barrier */
  uint32_t sub;     /* sync_warps of the warp so far */
  uint32_t epoch;   /* barriers of the block so far */
  int32_t warp;
  uint8_t atomic; /* bytes of an atomic operation; 0: it is none */
  int64_t block;
  uint64_t seq;              /* the launch's clock, which releases and acquires advance */
  uint64_t acq;              /* when the warp last acquired (shared), or its block (global) */
  uint32_t component, clock; /* check_clock.h */
  uint8_t agent;             /* CtAgent */
} CtEvent;

/* A shadow's word: the event's number << 5 | lane. */
enum {
  CT_EVENT_LANE_BITS = 5,
  CT_EVENT_LANE = 31,
  CT_MAX_EVENT = INT32_MAX >> (CT_EVENT_LANE_BITS - 1) /* numbers, as many as 32 bits hold */
};

/* A read of shared memory, kept until the barrier. */
typedef struct CtRead {
  CtEvent event;
  uint32_t buf, mask;
  int64_t n, n_rows, base, lo, hi, step; /* lo, hi: granules */
  const int64_t *pos, *rows, *cols;      /* pos NULL: own_pos of the CtReadLog */
  size_t own_pos;
} CtRead;

/* An asynchronous copy under way, or waited for since the last barrier. */
typedef struct CtPending {
  uint32_t event; /* number */
  CtEvent what;
  uint32_t group;
  int64_t lo, hi; /* granules */
  bool is_done;
  uint32_t done_sub; /* of its warp, when it was waited for */
} CtPending;

typedef struct CtRange {
  int64_t lo, hi; /* granules; empty where lo > hi */
} CtRange;

/* A regular read of shared memory that was looked at: it need not be again. */
typedef struct CtKnownRead {
  const CtIn *in;
  const CtPattern *pattern;
  int64_t base;
  uint32_t mask;
  int32_t warp;
  uint32_t sub;
  uint16_t role;
  uint64_t block; /* counts the worker's blocks: all of it is initialised */
  uint64_t epoch; /* counts the worker's epochs: it is in the log */
  uint64_t seq;
  CtRead read; /* its latest entry in the log */
} CtKnownRead;
enum { CT_KNOWN_BITS = 9, CT_N_KNOWN = 1 << CT_KNOWN_BITS };

/* A slot that holds something else than it should, by wrapping; only as long as it holds just that. */
typedef struct CtTaint {
  uint32_t slot;
  int32_t warp;
  char role; /* 's', 'v' or 'p', as in simt_ops.def; 'w': lanes of 8 bytes */
  int64_t want[CT_LANES], got[CT_LANES];
} CtTaint;

enum { CT_N_RECENT = 16 };
typedef struct CtCheckWarp {
  uint32_t sub, ordinal;
  uint64_t fence, acq, release; /* clocks: last fence; last acquire; what is released came before */
  bool had_atomic;              /* so that a fence acquires */
  size_t first_read;            /* in the log, since the last sync_warp */
  CtRange wrote;                /* since the last sync_warp */
  uint32_t n_groups;            /* of asynchronous copies, closed */
  uint32_t recent[CT_N_RECENT]; /* events, by instruction, to be used again; with clocks */
  uint32_t atomic_event;        /* the latest, to be used again; 0: none */
  uint32_t global_event;
  uint32_t waited, behind; /* lanes: came to grid_dependency_wait; are known to be behind one */
  CtEvent wait;            /* the first, where waited is not 0 */
} CtCheckWarp;

typedef struct CtFound {
  CtCheckKind kind;
  uint32_t in, other; /* indices in the code; other: UINT32_MAX for none */
  uint32_t buf;       /* 0: none */
  uint8_t how;        /* what the message says: an enumeration of the kind's part */
  uint64_t count;
  int64_t block, other_block;
  int32_t thread, other_thread;
  int64_t off, extra;
  uint8_t agent, other_agent; /* CtAgent, of races */
  const char *kernel;         /* DEPENDENT: of the earlier launch; NULL: one of many */
  char *text; /* made at once, for what the block's state is needed for; in the arena */
} CtFound;

typedef enum CtPlanKind {
  CT_PLAN_NONE,
  CT_PLAN_MEMORY,
  CT_PLAN_SYNC_WARP,
  CT_PLAN_CP_FENCE,
  CT_PLAN_CP_WAIT,
  CT_PLAN_FENCE,
  CT_PLAN_WGMMA, /* what orders it */
  CT_PLAN_GRID_WAIT,
  CT_PLAN_GRID_LAUNCH,
  CT_PLAN_WITHIN,
  CT_PLAN_WRAP, /* integer arithmetic on the way to an offset */
  CT_PLAN_FLOAT /* a floating result, looked at when NaN are */
} CtPlanKind;

typedef struct CtPlan {
  uint8_t kind;
  bool is_steady; /* of a tile operation: no table of it is made anew in the body */
  bool
      is_bounds; /* a load by scalar and pattern from memory that is not written: only its bounds */
} CtPlan;

/* A read of shared memory that was not initialised at that time. If another thread writes it before
   the barrier, that is a race, and the race is what is told. */
typedef struct CtUnset {
  CtFound f;
  int64_t granule;
} CtUnset;

typedef struct CtWgmmaRegs CtWgmmaRegs; /* check_wgmma.c */

typedef struct CtCheckWorker {
  CtCheck *check;
  CtWorker *k;
  const CtIn *code; /* these are the launch's: within reach */
  const CtPlan *plans;
  const CtIn *bound;
  const CtHandler *handlers;
  bool nan;
  int granule_bits;
  CtCheckWarp *warps;
  CtClocks *clocks;  /* NULL: epochs do */
  CtPhases *phases;  /* with clocks */
  uint32_t *readers; /* of shared memory, with clocks */
  CtArena texts;
  /* shared memory */
  uint32_t *shadow;
  CtEvent *events; /* of this epoch, from number first_event on */
  size_t cap_events;
  uint32_t first_event, next_event;
  uint32_t block_word, epoch_word; /* words from here on are of this block, this epoch */
  uint64_t n_blocks, n_epochs;
  uint32_t epoch; /* barriers of the block */
  CtRead *reads;
  size_t n_reads, cap_reads;
  int64_t *own_pos;
  size_t n_own_pos, cap_own_pos;
  CtUnset *unset;
  size_t n_unset, cap_unset;
  CtRange *written; /* of this epoch, by buffer */
  bool has_written;
  CtKnownRead *known;
  CtPending *pending;
  size_t n_pending, cap_pending;
  /* fragments: lanes that are initialised, by warp and row; whole buffers that are, by warp */
  uint32_t *rows;
  bool *full;
  CtWgmmaRegs *wgmma; /* NULL: the program has none */
  /* global memory */
  uint32_t free_event, end_event;
  uint64_t block_acq, block_fence; /* clocks: of any warp of the block */
  bool block_had_atomic;
  bool lets_early; /* the block let the next launch begin before it waited for those before */
  _Atomic uint32_t
      writing; /* the event whose writes are noted, but may not be in memory; 0: none */
  /* offsets */
  CtTaint *taints;
  size_t n_taints, cap_taints;
  /* nan: lanes with operands that were NaN, or infinite */
  uint32_t looked_at, nan_before, inf_before;
  uint64_t n_races; /* noted in this launch */
  CtFound *found;
  size_t n_found, cap_found;
  bool no_memory; /* something was left out */
} CtCheckWorker;

typedef struct CtGlobal CtGlobal; /* check_global.h */
typedef struct CtEarly CtEarly;   /* check_early.c */

struct CtCheck {
  CtSimtWatch watch; /* first */
  CtAlloc alloc;
  CtCheckOptions options;
  CtArena texts;
  CtFinding *findings;
  size_t n_findings, cap_findings;
  uint64_t n_launches;
  bool no_memory; /* something was left out */
  CtEarly *early; /* what earlier launches did; NULL: nothing is kept */
  /* of a launch */
  CtSimtJob *job;
  CtArena arena;
  CtCheckWorker *workers;
  int n_workers;
  CtPlan *plans; /* by index in the code */
  bool has_clocks;
  uint32_t granule; /* bytes, of shared memory: 1 << granule_bits */
  int granule_bits;
  uint32_t n_granules;
  uint32_t *first_row; /* by buffer: of registers */
  uint32_t n_rows;
  _Atomic uint64_t clock;
  CtGlobal *global; /* NULL: nothing to look at */
  bool is_tracked;  /* what it does to global memory is kept for dependent launches behind it */
};

static inline CtCheckWorker *ct_check_worker(const CtWorker *k) { return k->watched; }

static inline int32_t ct_check_thread(int32_t warp, int lane) { return warp * CT_LANES + lane; }
static inline uint32_t ct_check_index(const CtCheckWorker *k, const CtIn *in) {
  return (uint32_t)(in - k->k->job->code);
}

/* Is a, by lane la, ordered before b by a release and an acquire? `released`: see CtCheckWarp. */
static inline bool ct_check_handed_on(const CtEvent *a, const CtEvent *b, uint64_t released) {
  return b->acq > a->seq && (a->atomic != 0 || released > a->seq);
}

/* Atomic operations of different widths are not atomic to each other. */
static inline bool ct_check_both_atomic(const CtEvent *a, const CtEvent *b) {
  return a->atomic != 0 && a->atomic == b->atomic;
}

/* Who did it, and when, by its clock; a: NULL, or by which agent. check_clock.c */
void ct_clock_stamp(const CtCheckWorker *k, int32_t warp, const CtAccess *a, CtEvent *e);
/* Was `old` before what the warp does now? An agent of it needs what threads wrote to be fenced. */
bool ct_clock_is_before(const CtCheckWorker *k, const CtEvent *old, int32_t warp, bool by_agent);

/* Now, by the warp; acq as shared memory has it. */
static inline void ct_check_event_of(const CtCheckWorker *k, const CtIn *in, int32_t warp,
                                     uint8_t atomic, CtEvent *e) {
  const CtCheckWarp *w = &k->warps[warp];
  e->in = ct_check_index(k, in);
  e->ordinal = w->ordinal;
  e->sub = w->sub;
  e->epoch = k->epoch;
  e->warp = warp;
  e->atomic = atomic;
  e->block = k->k->block;
  e->seq = atomic_load_explicit(&k->check->clock, memory_order_relaxed);
  e->acq = w->acq;
  e->component = e->clock = 0;
  e->agent = CT_AGENT_NONE;
  if (k->clocks != NULL) {
    ct_clock_stamp(k, warp, NULL, e);
  }
}
/* Of an access, by its agent. check.c */
void ct_check_event(const CtCheckWorker *k, const CtAccess *a, CtEvent *e);

/* check_launch.c: makes plans and workers of the launch; lets go of them. */
CtStatus ct_check_begin(CtCheck *c, CtSimtJob *job, CtErr *err) CT_NODISCARD;
void ct_check_end(CtCheck *c);

/* check_value.c: does the access write into element `off`, which is element e of the lane, what is there? */
bool ct_check_is_same(const CtAccess *a, int64_t e, int lane, int64_t off);
/* Likewise: what the other lane of the same instruction writes there? */
bool ct_check_is_same_in(const CtAccess *a, int64_t e, int lane, int other, int64_t off);

/* Writes now what the access is about to write into element `off`; false: not known before. */
bool ct_check_write_early(const CtAccess *a, int64_t e, int lane, int64_t off);

/* check_shadow.c */
void ct_shadow_begin_block(CtCheckWorker *k);
void ct_shadow_read(CtCheckWorker *k, const CtAccess *a, bool is_steady);
void ct_shadow_write(CtCheckWorker *k, const CtAccess *a);
void ct_shadow_hold(CtCheckWorker *k, const CtAccess *a,
                    uint32_t lanes); /* these do not take place */
void ct_shadow_sync_warp(CtCheckWorker *k, const CtWarp *w);
void ct_shadow_barrier(CtCheckWorker *k); /* also at a block's end */
/* The event with this number; of this epoch, or a copy under way. */
static inline const CtEvent *ct_shadow_event(const CtCheckWorker *k, uint32_t number) {
  return &k->events[number - k->first_event];
}
/* The granules of (element off) of a shared buffer: from *g, *n of them. */
static inline int64_t ct_shadow_granule(const CtCheckWorker *k, const CtSimtBuf *buf, int64_t off,
                                        int *n) {
  int64_t bytes = (int64_t)ct_dtype_bytes(buf->dtype);
  *n = (int)(bytes >> k->granule_bits);
  return (buf->at + off * bytes) >> k->granule_bits;
}

/* Where what is known of a read is kept, or of another one. */
static inline CtKnownRead *ct_known_at(const CtCheckWorker *k, const CtIn *in, CtAccessRole role,
                                       int32_t warp, int64_t base, uint32_t mask) {
  uint64_t h = (uint64_t)(uintptr_t)in / sizeof *in * 8 + (uint64_t)role +
               (uint64_t)warp * 0x9E3779B1u + (uint64_t)base * 0x85EBCA6Bu + mask;
  return &k->known[(h * 0x9E3779B97F4A7C15u) >> (64 - CT_KNOWN_BITS)];
}

/* 32 lanes side by side, each a granule. False, and nothing done: some were written in this epoch. */
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

/* check_quick.c: NULL where the watcher is to be told. */
CtHandler ct_quick_handler(const CtCheck *c, uint32_t index);

/* check_clock.c: the access as event `number`, its elements initialised. */
void ct_clock_read(CtCheckWorker *k, const CtAccess *a, uint32_t number);
void ct_clock_write(CtCheckWorker *k, const CtAccess *a, uint32_t number);

/* check_async.c */
void ct_async_add(CtCheckWorker *k, const CtAccess *a, const CtEvent *e, uint32_t number,
                  CtRange r);
void ct_async_look(CtCheckWorker *k, const CtAccess *a, CtRange r);
void ct_async_fence(CtCheckWorker *k, const CtWarp *w);
void ct_async_wait(CtCheckWorker *k, const CtWarp *w, int64_t n);
void ct_async_barrier(CtCheckWorker *k);

/* check_regs.c */
void ct_regs_begin_block(CtCheckWorker *k);
void ct_regs_access(CtCheckWorker *k, const CtAccess *a);
void ct_regs_hold(CtCheckWorker *k, const CtAccess *a, uint32_t lanes);

/* check_wgmma.c: NULL without memory; accesses of registers, before ct_regs_access; the instructions that
   order. */
CtWgmmaRegs *ct_wgmma_open(CtCheck *c);
void ct_wgmma_close(const CtCheckWorker *k);
void ct_wgmma_begin_block(CtCheckWorker *k);
void ct_wgmma_end_block(CtCheckWorker *k); /* one that has not failed */
void ct_wgmma_access(CtCheckWorker *k, const CtAccess *a);
void ct_wgmma_order(CtCheckWorker *k, const CtIn *code, const CtWarp *warp);

/* check_global.c */
CtStatus ct_global_begin(CtCheck *c, CtErr *err) CT_NODISCARD;
void ct_global_end(CtCheck *c);
void ct_global_access(CtCheckWorker *k, const CtAccess *a);
bool ct_global_is_watched(const CtCheck *c, uint32_t buf); /* is it looked at? */
void ct_global_release(CtCheckWorker *k, uint64_t time);   /* of what the block did before */
/* The instruction that was about to write has run. */
static inline void ct_global_has_written(CtCheckWorker *k) {
  if (atomic_load_explicit(&k->writing, memory_order_relaxed) != 0) {
    atomic_store_explicit(&k->writing, 0, memory_order_release);
  }
}

/* check_early.c. A launch, whose global memory is known and not let go of; one that has ended. */
CtStatus ct_early_begin(CtCheck *c, CtErr *err) CT_NODISCARD;
void ct_early_end(CtCheck *c);
void ct_early_close(CtCheck *c);
void ct_early_forget(CtCheck *c, const char *begin, size_t bytes); /* it is other memory now */
void ct_early_wait(CtCheckWorker *k, const CtIn *in, const CtWarp *w);
void ct_early_launch(CtCheckWorker *k, const CtWarp *w);
/* In launches that are tracked. */
void ct_early_access(CtCheckWorker *k, const CtAccess *a);
void ct_early_release(const CtCheckWorker *k, uint64_t time); /* as ct_global_release */
void ct_early_end_block(const CtCheckWorker *k);

/* check_within.c: notes coordinates outside their modes; false where all lanes are within. */
bool ct_within_look(CtCheckWorker *k, const CtIn *code, const CtIn *in, const CtWarp *w);

/* check_wrap.c */
void ct_wrap_plan(CtCheck *c);
void ct_wrap_step(CtCheckWorker *k, const CtIn *code, CtWarp *w);
bool ct_wrap_fits(const CtIn *code, const CtWarp *w); /* of a LEA_i32: does its result? */
/* Lanes whose offset came of arithmetic that wrapped around and is another one for it: noted. */
uint32_t ct_wrap_look(CtCheckWorker *k, const CtIn *code, const CtAccess *a);

/* check_nan.c */
void ct_nan_plan(CtCheck *c);
void ct_nan_before(CtCheckWorker *k, const CtIn *code, CtWarp *w, uint32_t lanes);
void ct_nan_after(CtCheckWorker *k, const CtIn *code, const CtIn *in, CtWarp *w);

/* check_order.c. Does a thread that has come past the other access come to this one again, in a loop or in its
   unrolled turns? */
bool ct_order_is_again(const CtSimtProgram *p, const CtFound *f);
/* Puts the accesses of a race in the order of the program, where it has one. */
void ct_order_turn_race(const CtSimtProgram *p, CtFound *f);

/* check_finding.c. `how` of the kinds. */
enum { CT_BOUNDS_READ, CT_BOUNDS_WRITE };
enum { /* races: the first access, the second */
       CT_RACE_WRITE_READ,
       CT_RACE_READ_WRITE,
       CT_RACE_WRITE_WRITE,
       CT_RACE_AT_ONCE,     /* lanes of one instruction */
       CT_RACE_HOW = 7,     /* mask of these */
       CT_RACE_IN_WARP = 8, /* flag: two lanes of a warp */
       CT_RACE_BLOCKS = 16, /* flag: of two blocks */
       CT_RACE_CLOCKS = 32, /* flag: in a kernel with mbarriers or named barriers */
       CT_RACE_WIDTHS = 64  /* flag: atomic operations of different widths */
};
enum { CT_EARLY_WRITE = 1, CT_EARLY_WROTE = 2 }; /* flags: this one writes; the earlier one wrote */
enum { CT_BARRIER_WARP, CT_BARRIER_ENDED }; /* sync_warp; sync_threads, extra: how many threads */
enum { CT_NAN_OF_FINITE, CT_NAN_OF_INFINITY };
enum { CT_ASYNC_READ, CT_ASYNC_WRITE, CT_ASYNC_NO_BARRIER };
enum { CT_WGMMA_READ, CT_WGMMA_WRITE, CT_WGMMA_A, CT_WGMMA_FENCE, CT_WGMMA_NO_FENCE };
void ct_finding_note(CtCheckWorker *k, const CtFound *f);
/* What is no access, in words of its own: the place, the block and the thread are f's. */
void ct_finding_note_text(CtCheckWorker *k, CtFound f, const char *text);
/* The first of two accesses that race is a. */
void ct_finding_race(CtCheckWorker *k, CtCheckKind kind, const CtEvent *a, int lane_a,
                     bool a_writes, const CtEvent *b, int lane_b, bool b_writes, uint32_t buf,
                     int64_t off);
void ct_finding_merge(CtCheck *c); /* of all workers, as texts */

#endif
