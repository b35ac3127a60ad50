/* simt_run.h: a launch of the CPU engine under way: its workers, their warps, and what goes wrong. The files
   of run/ share it; those who watch look into it.

   Handlers return the next instruction, or NULL when the warp stops: at a barrier, at its end
   (CtWarp.pc is set, or NULL at the end) or because something failed (CtWorker.fail is set). */
#ifndef CT_SIMT_RUN_H
#define CT_SIMT_RUN_H

#include <pthread.h>
#include <stdatomic.h>

#include "runtime/base/message.h"
#include "runtime/simt/code/simt_program.h"

typedef enum CtFailKind {
  CT_FAIL_NONE,
  CT_FAIL_BOUNDS,
  CT_FAIL_ZERO,          /* integer division by zero */
  CT_FAIL_STEP,          /* a loop's step is 0 */
  CT_FAIL_ASSERT,        /* off: index of the text */
  CT_FAIL_EXTENT,        /* a tensor's extent is negative */
  CT_FAIL_BARRIER_LANES, /* some lanes of a warp are elsewhere */
  CT_FAIL_WARP_LANES,    /* the same at an operation of the warp */
  CT_FAIL_WARP_ENDED,    /* some lanes of the warp have ended, or never were */
  CT_FAIL_BARRIER_WARPS, /* two warps wait at two barriers */
  CT_FAIL_REMOTE_RANK,   /* off: the rank of no block of the cluster */
  CT_FAIL_REMOTE_ENDED,  /* off: the rank of a block that has ended */
  CT_FAIL_CLUSTER,       /* arrives a second time before it waits, or waits before it arrives */
  CT_FAIL_MBAR_NEW,      /* an mbarrier is used that nobody has initialised */
  CT_FAIL_MBAR_ARRIVALS, /* more arrivals than complete a phase */
  CT_FAIL_MBAR_BYTES,    /* off: the bytes that a phase would miss */
  CT_FAIL_MBAR_RANK,     /* off: the rank of no block of the cluster */
  CT_FAIL_MBAR_PARITY,   /* off: it is neither 0 nor 1 */
  CT_FAIL_NAMED_ID,      /* off: the number of no named barrier */
  CT_FAIL_NAMED_LANES,   /* as BARRIER_LANES, of a named one */
  CT_FAIL_NAMED_THREADS, /* off: its number and threads << 8; another warp gives another count */
  CT_FAIL_TMA_START,     /* off: the element of its row with which a box begins */
  CT_FAIL_REGISTERS,     /* off: how many a thread has that asks for others the wrong way */
  CT_FAIL_WAITS,         /* warps wait at barriers, and nobody is left to complete them */
  CT_FAIL_DEADLOCK,      /* loops wait for what nothing can change */
  CT_FAIL_STOPPED        /* another block failed, or an interrupt */
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

/* A launch under way. */
typedef struct CtSimtJob {
  const CtSimtProgram *program;
  const CtIn *code; /* bound to handlers */
  const CtSimtLaunch *launch;
  const CtHandler *handlers; /* by index in code, of the watched instructions; NULL: no watcher */
  const volatile int *interrupt;
  CtSimtWatch *watch; /* the launch's; NULL: none */
  int64_t n_blocks;
  int64_t clusters[3], n_clusters; /* of the grid; of one block where the launch has none */
  int64_t band;                    /* see simt_order.c */
  _Atomic int64_t next;            /* position of the cluster to take */
  _Atomic int64_t fail_block;      /* lowest block that failed, INT64_MAX for none */
  _Atomic bool interrupted;
  _Atomic uint64_t n_changes; /* of memory, by atomic operations: what spin-waits wait for */
  CtAlloc alloc;
  pthread_mutex_t print_lock; /* held where a worker uses it: the host's may be for one thread */
  struct CtWorker *workers;   /* of this launch: a team for each thread */
  int n_workers;
} CtSimtJob;

/* What one thread printed at once. */
typedef struct CtPrinted {
  int64_t block;
  int32_t thread;
  uint32_t order;   /* among those of the worker */
  size_t at, len;   /* in the worker's text */
  const char *text; /* at the end */
} CtPrinted;

typedef struct CtPrinter {
  CtPrinted *lines;
  size_t n, cap;
  CtText text;
  uint64_t n_dropped;                        /* there was no room for these */
  uint64_t words[CT_LANES][CT_MESSAGE_ARGS]; /* the values of the printf that is gathered */
  uint8_t types[CT_MESSAGE_ARGS];
} CtPrinter;

/* A named barrier of a block. */
enum { CT_NAMED_BARRIERS = 16 };
typedef struct CtNamedBar {
  uint32_t n_arrived, n_threads; /* n_threads: of those that have arrived; 0: nobody has */
  uint32_t phase;                /* phases that were completed */
} CtNamedBar;

/* Runs one block at a time. The blocks of a cluster run together: theirs are a team of as many workers as
   the cluster has blocks, by rank, on one thread. */
typedef struct CtWorker {
  CtSimtJob *job;
  struct CtWorker *team;
  int rank;
  int64_t block; /* linear index */
  int64_t bid[3];
  char *warps; /* n_warps times warp_bytes */
  char *shared;
  char *scratch; /* for packed operands */
  CtFail fail;
  int64_t reported;   /* the lowest of its blocks that failed, INT64_MAX for none, */
  CtErr report;       /* and how; other blocks may have run since */
  CtPrinter *printer; /* NULL until it prints */
  int64_t tma_numbers[CT_TMA_NUMBERS]; /* of the TMA whose operands were gathered */
  int32_t tma_lanes[CT_TMA_OPERANDS][CT_LANES];
  void *watched; /* the watcher's own */
  CtNamedBar named[CT_NAMED_BARRIERS];
  int free_registers; /* that warps have given back */
  bool was_stuck;     /* no warp got on in the last turn */
  bool has_moved;     /* some warp came to a wait or past one in the last turn */
  _Atomic uint64_t
      stuck_at; /* n_changes + 1 when no warp could get on; 0: running; see simt_spin.c */
  _Atomic int64_t stuck_block;
} CtWorker;

struct CtWarp {
  uint32_t mask;   /* active lanes */
  uint32_t live;   /* lanes that have not ended */
  uint32_t *saved; /* rows of saved masks */
  const CtMem *mem;
  CtWorker *worker;
  const CtIn *pc;     /* where a stopped warp goes on; NULL at its end */
  int32_t index;      /* in the block */
  bool is_waiting;    /* stopped at a barrier; else in a loop that waits */
  bool has_arrived;   /* at the cluster's barrier, and has not waited since */
  uint32_t n_arrived; /* there, so far */
  bool is_same;       /* stopped in a loop, in the state of the last time */
  const CtIn *parked; /* stopped at an mbarrier or named barrier, to be tried again; NULL: not */
  uint32_t n_passed;  /* such stops that it has got past */
  uint32_t n_groups;  /* of wgmma, committed */
  int registers;      /* of each thread */
  uint32_t phase;     /* of the named barrier, as it was on arrival */
  uint32_t n_turns;
  const CtIn *spin_at;
  uint64_t spin_state;
};
_Static_assert(sizeof(CtWarp) <= CT_WARP_BYTES, "its slots come after it");

static inline bool ct_simt_interrupted(const CtSimtJob *job) {
  return ct_flag_is_up(job->interrupt);
}

static inline void ct_simt_note_change(CtSimtJob *job) { atomic_fetch_add(&job->n_changes, 1); }

/* Must this warp stop because of an interrupt, or of a failure in a block before it? */
static inline bool ct_simt_stopping(const CtWarp *w) {
  const CtSimtJob *job = w->worker->job;
  return ct_simt_interrupted(job) ||
         atomic_load_explicit(&job->fail_block, memory_order_relaxed) < w->worker->block;
}

/* Each records the failure and returns NULL. simt_fail.c */
const CtIn *ct_simt_fail_bounds(CtWarp *w, const CtIn *in, int lane, uint32_t buf, int64_t off,
                                bool is_write);
const CtIn *ct_simt_fail_kind(CtWarp *w, const CtIn *in, int lane, CtFailKind kind);
/* A worker's failure as a message. */
CtStatus ct_simt_fail_report(const CtWorker *worker, CtErr *err);
/* " at (3,5), extent (4,4)": element `off` of a buffer. */
void ct_simt_place(const CtSimtJob *job, uint32_t buf, int64_t off, char *out, size_t size);

/* Copies and fills, an element at a time for all lanes; false where they are not done, perhaps in part.
   simt_lanes.c */
bool ct_simt_tile_lanes(const CtIn *in, CtWarp *w);
/* Of one lane: the offset of element (i, j) of an operand, in elements; whether its guards let it be
   accessed; the number of elements of a mode (false: some extent is negative, or the product too large). */
/* Its first element in a lane, before the swizzle. */
int64_t ct_simt_arg_base(const CtWarp *w, const CtTileArg *arg, int lane);
int64_t ct_simt_arg_offset(const CtWarp *w, const CtTileArg *arg, int lane, int64_t i, int64_t j);
bool ct_simt_arg_is_inside(const CtWarp *w, const CtTileArg *arg, int lane, int64_t i, int64_t j);
bool ct_simt_mode_size(const CtWarp *w, uint32_t mode, int lane, int64_t *n);
/* simt_spin.c: a turn of a loop that may be waiting; `next` is its beginning. */
const CtIn *ct_simt_spin(const CtIn *in, const CtIn *next, CtWarp *w);
/* After all warps that could run did, from the time when n_changes was `changes`: can none of the
   launch ever get on? Then the failure is recorded. */
bool ct_simt_is_stuck(CtWorker *k, uint64_t changes);
void ct_simt_leave(CtWorker *k); /* the worker has no more blocks */
/* simt_order.c: how many rows of blocks are taken together, 1 for the order of their numbers; the block
   at a position in that order; are there no blocks before number `failed` at `position` or later? */
int64_t ct_simt_band(const CtSimtJob *job);
void ct_simt_block_at(const CtSimtJob *job, int64_t position, int64_t bid[3]);
bool ct_simt_is_over(const CtSimtJob *job, int64_t position, int64_t failed);
/* What the blocks up to `last` printed, in the order of blocks and threads, goes to the launch's
   print; the rest is dropped. */
void ct_simt_print_out(CtSimtJob *job, int64_t last);
/* The worker in whose block the warp's buffer of shared memory is now. */
CtWorker *ct_simt_owner(const CtWarp *w, uint32_t buf);
/* The blocks of the cluster that get the box of a lane, bit by bit. */
uint32_t ct_simt_tma_ranks(const CtWarp *w, const CtSimtTma *t, int lane);
/* Of the box of a lane, whose operands were gathered: tells of the bytes in each row that are inside the tensor,
   from the beginning of its memory on. Returns the bytes of the whole box. */
typedef void (*CtTmaVisit)(void *ud, int64_t off, int64_t bytes);
int64_t ct_simt_tma_rows(const CtWarp *w, const CtSimtTma *t, int lane, CtTmaVisit fn, void *ud);
/* The same in units of CT_TMA_UNIT bytes, with their places in the block's shared memory. */
typedef struct CtTmaUnit {
  int64_t place;    /* from the beginning of the shared memory */
  int64_t off;      /* from the beginning of the tensor's memory */
  int32_t from, to; /* bytes of the unit that are inside the tensor */
} CtTmaUnit;
typedef void (*CtTmaUnitVisit)(void *ud, const CtTmaUnit *unit);
void ct_simt_tma_units(const CtWarp *w, const CtSimtTma *t, int lane, CtTmaUnitVisit fn, void *ud);
int64_t ct_simt_tma_bytes(const CtSimtTma *t); /* of a box */
/* simt_warp.c */
/* One lane's ATOMIC at an address that is aligned to the element: what it wrote is another value. */
bool ct_simt_atomic_at(CtOp op, CtDtype dtype, char *at, const void *value);
/* The lane that a SHFL reads: PTX ISA, shfl.sync. */
int ct_simt_shfl_source(CtShfl kind, int lane, int by, int width);
/* simt_fail_sync.c: " waits at line 31 for full[2], ...": what a parked warp waits for; `one`: or " wait". */
void ct_simt_wait_text(const CtWorker *k, const CtWarp *w, bool one, char *out, size_t size);
/* What a warp of the block waits for at an mbarrier; false: it does not. */
typedef struct CtMbarWait {
  const CtIn *in;
  uint32_t buf;
  int32_t slot, parity;
} CtMbarWait;
bool ct_simt_mbar_wait(const CtWorker *k, int32_t warp, CtMbarWait *out);
/* Do two warps, one of them parked, wait for the same? */
bool ct_simt_waits_alike(const CtWorker *k, const CtWarp *a, const CtWarp *b);
/* The message of a failure of these. */
CtStatus ct_simt_report_sync(const CtWorker *k, CtErr *err);
/* Of a GUARD: are all elements of the tile operation that follows inside? */
bool ct_simt_is_whole(const CtIn *in, const CtWarp *w);
void ct_simt_pattern_i32(const int32_t *lanes, CtPattern *p);
void ct_simt_pattern_i64(const int64_t *lanes, CtPattern *p);

/* --- handlers ------------------------------------------------------------------------------------ */

/* Those of simt_common.def. */
#define X(name, ...) const CtIn *ct_simt_do_##name(const CtIn *in, CtWarp *w);
#include "runtime/simt/code/simt_common.def"
#undef X

/* The files of the others, each compiled once per instruction set: CT_SIMT_BASE, CT_SIMT_AVX2 or
   CT_SIMT_AVX512 says which. The table of each has NULL where the row is another part's. */
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

/* The table of the file that is compiled. */
#if defined(CT_SIMT_AVX512)
#define CT_SIMT_TABLE(part) ct_simt_##part##_avx512
#elif defined(CT_SIMT_AVX2)
#define CT_SIMT_TABLE(part) ct_simt_##part##_avx2
#else
#define CT_SIMT_TABLE(part) ct_simt_##part##_base
#endif

#endif
