/* simt_run.h: a launch of the CPU engine under way: its workers, their warps, and what goes
   wrong. The files of run/ share it, and watchers read it.

   A handler returns the next instruction, or NULL if the warp stops. A warp stops at a barrier
   (CtWarp.pc says where it goes on), at its end (CtWarp.pc is NULL), or because something failed
   (CtWorker.fail is set). */
#ifndef CT_SIMT_RUN_H
#define CT_SIMT_RUN_H

#include <pthread.h>
#include <stdatomic.h>

#include "runtime/base/message.h"
#include "runtime/simt/code/simt_program.h"

typedef enum CtFailKind {
#define X(name, finding) CT_FAIL_##name,
#include "simt_fails.def"
} CtFailKind;

typedef struct CtFail {
  CtFailKind kind;
  const CtIn *in, *other;
  const CtWarp *warp, *other_warp;
  int lane;
  int64_t off;
  uint32_t buf;
  bool is_write;
} CtFail;

/* Launches that run at the same time: one, or those of several ranks (ct_simt_run_joint). */
typedef struct CtSimtGroup {
  struct CtSimtJob *jobs; /* in the order of ranks, those of a rank in the order of its launches */
  int n_jobs;
  struct CtWorker **teams; /* the first worker of each team, job by job */
  int n_teams;
  int n_threads;
  struct CtSimtPlan *plan;    /* NULL: the launches run in no planned order */
  _Atomic uint64_t n_changes; /* changes of memory by atomic operations: spin loops wait for them */
  /* Has a block failed; was a deadlock found, so that nothing will change? */
  _Atomic bool has_failed, is_dead;
} CtSimtGroup;

/* A launch that is running. */
typedef struct CtSimtJob {
  CtSimtGroup *group;
  int number; /* in the group */
  int rank;   /* of its launch; -1: it has none */
  /* The rank's first launch; the next one, which begins when this one has ended. Of the first: how
     many launches the rank has, and which one runs; NULL: all have ended. */
  struct CtSimtJob *first, *then;
  int n_of_rank;
  _Atomic(struct CtSimtJob *) current;
  int first_team;     /* its teams' place in the group's, */
  int n_teams;        /* and their number; */
  _Atomic int n_left; /* so many have not ended */
  bool is_skipped;    /* a launch of the rank before it failed; set when it begins */
  bool gives_none;    /* no cluster gets the work of another one */
  const CtSimtProgram *program;
  const CtIn *code; /* bound to handlers */
  const CtSimtLaunch *launch;
  const CtHandler *handlers; /* by index in code, for watched instructions; NULL: no watcher */
  const CtHandler *turns;    /* the same for instructions before which warps stop; NULL: no plan */
  const volatile int *interrupt;
  CtSimtWatch *watch; /* the launch's; NULL: there is none */
  int64_t n_blocks;
  int64_t clusters[3], n_clusters; /* those of the grid; without the option each block is one */
  int64_t band;                    /* see simt_order.c */
  /* Positions are so many clusters apart, around the grid: 1, but in a watched launch that runs a sample; its band is
     1. */
  int64_t stride;
  /* NULL, or of a watched launch: the cluster of each position, in the order of the numbers. */
  const int64_t *only;
  _Atomic int64_t next; /* position of the next cluster to take */
  int64_t
      n_from_end; /* clusters at the last positions that were taken, too: in a planned launch only */
  _Atomic int64_t fail_block; /* the lowest block that failed; INT64_MAX: no block failed */
  _Atomic bool interrupted;
  /* Of a cooperative launch: how often all blocks have passed the grid's barrier, how many have
     arrived there since. */
  _Atomic uint64_t grid_phase;
  _Atomic int64_t n_at_grid;
  CtAlloc alloc;
  /* a worker holds it to print: the host's print may not be thread-safe */
  pthread_mutex_t print_lock;
  bool has_printed;         /* some worker has a printer */
  struct CtWorker *workers; /* the workers of this launch: its teams */
  int n_workers;
} CtSimtJob;

/* What one thread printed at once. */
typedef struct CtPrinted {
  int64_t block;
  int32_t thread;   /* 0 of all where the order is that of the run */
  uint32_t order;   /* its number among the worker's texts */
  size_t at, len;   /* in the worker's text */
  const char *text; /* at the end */
} CtPrinted;

typedef struct CtPrinter {
  CtPrinted *lines;
  size_t n, cap;
  CtText text;
  uint64_t n_dropped;                        /* texts for which there was no room */
  uint64_t words[CT_LANES][CT_MESSAGE_ARGS]; /* the values of the printf that is being gathered */
  uint8_t types[CT_MESSAGE_ARGS];
} CtPrinter;

/* A named barrier of a block. */
enum { CT_NAMED_BARRIERS = 16 };
typedef struct CtNamedBar {
  /* n_threads: the count of the first warp to arrive; 0: nobody has arrived */
  uint32_t n_arrived, n_threads;
  uint32_t phase; /* how many phases are complete */
} CtNamedBar;

/* The operands of a warp's TMA, gathered. A planned launch may let other warps go first. */
typedef struct CtTmaOperands {
  int64_t numbers[CT_TMA_NUMBERS];
  int32_t lanes[CT_TMA_OPERANDS][CT_LANES];
} CtTmaOperands;

/* A worker runs one block at a time. The blocks of a cluster run together, on a team: as many
   workers as the cluster has blocks, by rank, all on one thread. */
typedef struct CtWorker {
  CtSimtJob *job;
  struct CtWorker *team;
  int rank;
  int64_t block; /* linear index */
  int64_t bid[3];
  char *warps; /* n_warps times warp_bytes */
  char *shared;
  char *scratch;             /* for packed operands */
  struct CtTmaOperands *tma; /* of each warp, if the program has any */
  CtFail fail;
  CtFail
      prologue_fail;  /* what ended its prologue: its warps lack values, and no block of it runs */
  int64_t reported;   /* the lowest of its blocks that failed; INT64_MAX: none, */
  CtErr report;       /* and why; other blocks may have run since */
  CtPrinter *printer; /* NULL until it prints */
  void *watched;      /* the watcher's state for this worker */
  CtNamedBar named[CT_NAMED_BARRIERS];
  int32_t tallies[3];  /* of barriers that count, in turn; see simt_lanes.c */
  int free_registers;  /* registers that warps have given back */
  bool has_seen_end;   /* the block has seen that no cluster gives it work */
  bool was_stuck;      /* no warp made progress in the last round */
  bool is_at_grid;     /* all warps wait at the grid's barrier: */
  uint64_t grid_phase; /* for the end of this phase */
  /* of a team that takes turns with others: it is set up, it has blocks, no more blocks will come */
  bool is_set_up, is_running, has_ended;
  bool has_moved;            /* a warp came to a wait or past one in the last round */
  _Atomic uint64_t stuck_at; /* n_changes + 1 if no warp could go on; 0: running; see simt_spin.c */
  _Atomic int64_t stuck_block;
  _Atomic bool stuck_loops; /* a warp of the team repeats a loop; the others wait */
  _Atomic(const CtIn *) stuck_in;
} CtWorker;

struct CtWarp {
  uint32_t mask;   /* active lanes */
  uint32_t live;   /* lanes that have not ended */
  uint32_t *saved; /* rows of saved masks */
  const CtMem *mem;
  CtWorker *worker;
  const CtIn *pc;   /* where a stopped warp goes on; NULL at its end */
  int32_t index;    /* in the block */
  bool is_waiting;  /* stopped at a barrier; false: stopped in a loop that waits */
  bool has_arrived; /* it arrived at the cluster's barrier and has not waited since */
  bool
      has_turn; /* in a planned launch (simt_plan.h): it may do the operation before which it stopped; */
  bool gave_way;      /* it stopped in a loop that waits; */
  uint32_t n_arrived; /* how often it arrived there */
  bool is_same;       /* stopped in a loop, in the same state as the last time */
  bool tries;         /* in a planned launch: it tries once more, and */
  const CtIn *parked; /* the instruction at which it is parked; NULL: it is not parked */
  uint32_t n_passed;  /* how many parked waits it has passed */
  uint32_t n_tallies; /* how many barriers that count it came to */
  uint32_t n_groups;  /* groups of wgmma that it committed */
  int registers;      /* of each thread */
  uint32_t phase;     /* the phase of the named barrier at its arrival */
  uint32_t n_turns;
  const CtIn *spin_at;
  uint64_t spin_state;
  const CtIn *at; /* in a planned launch: the operation before which it stopped; NULL: none */
  uint64_t seen;  /* CtSimtGroup.n_changes when it stopped in a loop */
};
_Static_assert(sizeof(CtWarp) <= CT_WARP_BYTES, "its slots come after it");

static inline CtTmaOperands *ct_simt_tma_of(const CtWarp *w) { return &w->worker->tma[w->index]; }

static inline bool ct_simt_interrupted(const CtSimtJob *job) {
  return ct_flag_is_up(job->interrupt);
}

static inline void ct_simt_note_change(CtSimtJob *job) {
  atomic_fetch_add(&job->group->n_changes, 1);
}

/* Does the launch take turns with others on each thread, all of whose blocks may wait for each other? */
static inline bool ct_simt_is_together(const CtSimtGroup *g) {
  return g->n_jobs > 1 || g->jobs[0].launch->is_cooperative;
}

/* Must this warp stop because of an interrupt, or because a block before it failed? */
static inline bool ct_simt_stopping(const CtWarp *w) {
  const CtSimtJob *job = w->worker->job;
  return ct_simt_interrupted(job) ||
         atomic_load_explicit(&job->fail_block, memory_order_relaxed) < w->worker->block;
}

/* Handlers of whole tensors look once in so many elements that all lanes have: a tile may have 2^62. */
enum { CT_SIMT_LOOK = 1 << 12 };

/* The same, for a handler that has done n elements and calls this after each. */
static inline bool ct_simt_stops_at(const CtWarp *w, int64_t n) {
  return n % CT_SIMT_LOOK == 0 && ct_simt_stopping(w);
}

/* simt_fail.c: each records the failure and returns NULL. */
const CtIn *ct_simt_fail_bounds(CtWarp *w, const CtIn *in, int lane, uint32_t buf, int64_t off,
                                bool is_write);
const CtIn *ct_simt_fail_kind(CtWarp *w, const CtIn *in, int lane, CtFailKind kind);
static inline const CtIn *ct_simt_stop(CtWarp *w, const CtIn *in) {
  return ct_simt_fail_kind(w, in, ct_first_lane(w->mask), CT_FAIL_STOPPED);
}
/* Makes a message of a worker's failure. */
CtStatus ct_simt_fail_report(const CtWorker *worker, CtErr *err);
/* "s at (3,5), extent (4,4)": element `off` of a buffer, which begins at `begin`. */
void ct_simt_place(const CtSimtJob *job, uint32_t buf, const char *begin, int64_t off, char *out,
                   size_t size);

/* For one lane: the offset of element (i, j) of an operand, in elements; whether its guards let
   it be accessed; how many elements a mode has (false: an extent is negative, or the product too
   large). */
/* The offset of a lane's first element, before the swizzle. */
int64_t ct_simt_arg_base(const CtWarp *w, const CtTileArg *arg, int lane);
int64_t ct_simt_arg_offset(const CtWarp *w, const CtTileArg *arg, int lane, int64_t i, int64_t j);
bool ct_simt_arg_is_inside(const CtWarp *w, const CtTileArg *arg, int lane, int64_t i, int64_t j);
bool ct_simt_mode_size(const CtWarp *w, uint32_t mode, int lane, int64_t *n);
/* Are base and the offsets of both tables among the n elements of a buffer? If not, *outside is an element
   that is not. The base comes from the script, so the sums may be too large. */
static inline bool ct_simt_reaches_inside(int64_t base, const CtTable *a, const CtTable *b,
                                          int64_t n, int64_t *outside) {
  int64_t first, last;
  bool is_far = a->lo > a->hi || b->lo > b->hi;
  if (is_far || ct_add_overflow(base, a->lo + b->lo, &first) ||
      ct_add_overflow(base, a->hi + b->hi, &last)) {
    *outside = base;
    return false;
  }
  *outside = first < 0 ? first : last;
  return first >= 0 && last < n;
}
/* The offsets of a mode, or NULL where lanes differ. */
static inline const CtTable *ct_simt_table(const CtWarp *w, uint32_t mode) {
  const CtTileMode *m = &w->worker->job->program->modes[mode];
  return m->fixed != NULL ? m->fixed : m->table != 0 ? CT_CAT(CtTable, w, m->table) : NULL;
}
/* simt_spin.c: an iteration of a loop that may be waiting; `next` is its beginning. */
const CtIn *ct_simt_spin(const CtIn *in, const CtIn *next, CtWarp *w);

/* After each so many iterations of a loop of kind CT_SPIN_ALONE: fails if it is endless. */
enum { CT_ALONE_TURNS = 1 << 14 };
const CtIn *ct_simt_alone(const CtIn *in, const CtIn *next, CtWarp *w);
/* Call it after all warps ran that could, since n_changes was `changes`. Can no warp of the
   launch ever go on? Then it records the failure and returns true. */
bool ct_simt_is_stuck(CtWorker *k, uint64_t changes);
/* The worker has no more blocks. */
static inline void ct_simt_leave(CtWorker *k) {
  atomic_store(&k->stuck_at, UINT64_MAX);
  ct_simt_note_change(k->job);
}
/* simt_order.c: the block at a position of the order; are all blocks before number `failed` before `position`? */
void ct_simt_block_at(const CtSimtJob *job, int64_t position, int64_t bid[3]);
bool ct_simt_is_over(const CtSimtJob *job, int64_t position, int64_t failed);
/* Takes the work of a cluster that has not begun: the place of its first block. False: there is none to take. */
bool ct_simt_take_pending(CtSimtJob *job, int64_t bid[3]);
/* Passes what the blocks up to `last` printed to the launch's print, in the order of blocks and
   threads. Drops the rest. */
void ct_simt_print_lines(CtSimtJob *job, int64_t last);
static inline void ct_simt_print_out(CtSimtJob *job, int64_t last) {
  if (job->has_printed) {
    ct_simt_print_lines(job, last);
  }
}
/* The worker whose block has the warp's buffer of shared memory at this time. */
CtWorker *ct_simt_owner(const CtWarp *w, uint32_t buf);
/* Have all warps of the block ended? */
bool ct_simt_has_ended(const CtWorker *k);
/* Runs the instructions of EACH or EACH_AT once for each value that lanes have, by the lanes that have it. turn_to
   points the warp's buffer there first, for one of them; false: it has failed. */
const CtIn *ct_simt_each_value(const CtIn *in, CtWarp *w,
                               int64_t (*value_of)(const CtIn *in, const CtWarp *w, int lane),
                               bool (*turn_to)(const CtIn *in, CtWarp *w, int lane, int64_t value));
/* The blocks of the pair that the warp's block belongs to, the even one first; NULL: the other one has ended, and the
   instruction has failed. */
const CtWorker *ct_simt_pair(const CtIn *in, CtWarp *w);
/* The blocks of the cluster that get the box of a lane: one bit for each. */
uint32_t ct_simt_tma_ranks(const CtWarp *w, const CtSimtTma *t, int lane);
/* Visits the box of a lane, whose operands were gathered. It tells for each row which bytes are
   inside the tensor, counted from the beginning of its memory. Returns the bytes of the whole
   box. */
typedef void (*CtTmaVisit)(void *ud, int64_t off, int64_t bytes);
int64_t ct_simt_tma_rows(const CtWarp *w, const CtSimtTma *t, int lane, CtTmaVisit fn, void *ud);
/* The same, in units of CT_TMA_UNIT bytes, with their places in the block's shared memory. */
typedef struct CtTmaUnit {
  int64_t place;    /* from the beginning of the shared memory */
  int64_t off;      /* from the beginning of the tensor's memory */
  int32_t from, to; /* bytes of the unit that are inside the tensor */
} CtTmaUnit;
typedef void (*CtTmaUnitVisit)(void *ud, const CtTmaUnit *unit);
void ct_simt_tma_units(const CtWarp *w, const CtSimtTma *t, int lane, CtTmaUnitVisit fn, void *ud);
int64_t ct_simt_tma_bytes(const CtSimtTma *t); /* of a box */
/* simt_warp.c */
/* One lane's ATOMIC at an address that is aligned to the element. Returns whether it changed the
   value. */
bool ct_simt_atomic_at(CtOp op, CtDtype dtype, char *at, const void *value);
/* The lane that a SHFL reads: PTX ISA, shfl.sync. */
int ct_simt_shfl_source(CtShfl kind, int lane, int by, int width);
/* simt_lanes.c: the lanes whose values a lane gets from a SHFL or a MASKED. A shuffle's lane is outside
   its mask if the script does not take care; *is_outside: then the lane gets its own value. */
uint32_t ct_simt_lanes_read(const CtIn *code, const CtWarp *w, int lane, bool *is_outside);
/* simt_fail_sync.c: " waits at line 31 for full[2], ...": what a parked warp waits for; `one`: or " wait". */
void ct_simt_wait_text(const CtWorker *k, const CtWarp *w, bool one, char *out, size_t size);
/* What a warp of the block waits for at an mbarrier; false: it does not wait at one. */
typedef struct CtMbarWait {
  const CtIn *in;
  uint32_t buf;
  int32_t slot, parity;
} CtMbarWait;
bool ct_simt_mbar_wait(const CtWorker *k, int32_t warp, CtMbarWait *out);
/* Do two warps, one of which is parked, wait for the same thing? */
bool ct_simt_waits_alike(const CtWorker *k, const CtWarp *a, const CtWarp *b);
/* Makes a message of a failure at a barrier. */
CtStatus ct_simt_report_sync(const CtWorker *k, CtErr *err);
/* For a GUARD: are all elements of the next tile operation inside? */
bool ct_simt_is_whole(const CtIn *in, const CtWarp *w);
void ct_simt_pattern_i32(const int32_t *lanes, CtPattern *p);
void ct_simt_pattern_i64(const int64_t *lanes, CtPattern *p);

/* --- handlers ------------------------------------------------------------------------------------ */

/* The handlers of simt_common.def. */
#define X(name, ...) const CtIn *ct_simt_do_##name(const CtIn *in, CtWarp *w);
#include "runtime/simt/code/simt_common.def"
#undef X

/* The files with the other handlers. Each is compiled once for each instruction set;
   CT_SIMT_BASE, CT_SIMT_AVX2 or CT_SIMT_AVX512 says which. The table of a file has NULL in the
   rows of other files. */
#define CT_SIMT_PARTS(X, isa)                                                                      \
  X(arith, isa)                                                                                    \
  X(moves, isa)                                                                                    \
  X(memory, isa) X(control, isa) X(tile, isa) X(mma, isa) X(wgmma, isa)

#define CT_SIMT_DECLARE(part, isa) extern const CtHandler ct_simt_##part##_##isa[CT_SIMT_OP_COUNT];
CT_SIMT_PARTS(CT_SIMT_DECLARE, base)
#if defined(__x86_64__)
CT_SIMT_PARTS(CT_SIMT_DECLARE, avx2)
CT_SIMT_PARTS(CT_SIMT_DECLARE, avx512)
#endif
#undef CT_SIMT_DECLARE

/* The table of the file that is being compiled. */
#if defined(CT_SIMT_AVX512)
#define CT_SIMT_TABLE(part) ct_simt_##part##_avx512
#elif defined(CT_SIMT_AVX2)
#define CT_SIMT_TABLE(part) ct_simt_##part##_avx2
#else
#define CT_SIMT_TABLE(part) ct_simt_##part##_base
#endif

#endif
