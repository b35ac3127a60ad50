/* simt_ops.h: what the parts of the CPU engine share: the program (simt_lower.c makes it), its
   instructions (simt_ops.def) and the state they work on (simt.c).

   A warp's state is one block of memory: a CtWarp, then its slots. An operand of an instruction is
   the offset in bytes of a slot from the CtWarp. A slot holds a scalar (8 bytes), a lane mask (4),
   32 lanes of 4 or 8 bytes, an address pattern, a table of offsets, or registers of the kernel.

   An address in a buffer, in elements, is scalar + pattern[lane] + table[element] + constant. The
   pattern depends on the thread's index and the launch only; it is made and classified once per
   launch and warp, so that most accesses are known to be contiguous or the same in each chunk of
   lanes. Values that depend on nothing else are computed by the prologue, once per launch and warp.

   Handlers return the next instruction, or NULL when the warp stops: at a barrier, at its end
   (CtWarp.pc is set, or NULL at the end) or because something failed (CtWorker.fail is set). */
#ifndef CT_SIMT_OPS_H
#define CT_SIMT_OPS_H

#include <pthread.h>
#include <stdatomic.h>

#include "runtime/base/message.h"
#include "runtime/ir/ir_tma.h"
#include "runtime/simt/simt.h"
#include "runtime/simt/model/tensor_core.h"

enum { CT_LANES = 32, CT_LEVELS = 6 };
#define CT_ALL_LANES 0xFFFFFFFFu

typedef enum CtSimtOp {
#define X(name, roles) CT_SIMT_##name,
#include "simt_ops.def"
  CT_SIMT_OP_COUNT
} CtSimtOp;

typedef union CtScalar {
  int64_t i; /* i64; i32 sign-extended; u64 and u32 as these; bool 0 or 1; narrow types: bits */
  double f64;
  float f32;
} CtScalar;

typedef struct CtWarp CtWarp;
typedef struct CtIn CtIn;
typedef const CtIn *(*CtHandler)(const CtIn *in, CtWarp *w);

/* An instruction. In the program `op` says which; a launch puts the chosen handler in its place. */
struct CtIn {
  union {
    uint32_t op;
    CtHandler handler;
  } u;
  uint32_t d, a, b, c; /* offsets of slots, or numbers; a jump is relative: (int32_t)c */
  int64_t imm;
};

/* How a chunk of 2, 4, ... 32 lanes (level 1 .. 5) lies in memory, in all chunks of that size. */
typedef enum CtChunkKind { CT_GATHER, CT_CONTIGUOUS, CT_SAME } CtChunkKind;

typedef struct CtPattern {
  int64_t lo, hi; /* of all lanes; lo > hi where the distance does not fit */
  uint8_t kind[CT_LEVELS];
  int64_t pos[CT_LANES];
} CtPattern;

/* Offsets of all elements of a mode. */
typedef struct CtTable {
  int64_t lo, hi;
  int64_t off[];
} CtTable;

/* A buffer as a warp sees it. */
typedef struct CtMem {
  char *ptr;
  int64_t n;           /* elements */
  uint32_t elem_bytes; /* from one element to the next: 32 lanes of them for registers */
  uint32_t lane_bytes; /* from one lane to the next: 0 except for registers */
} CtMem;

/* --- the program -------------------------------------------------------------------------------- */

/* A static number, or a slot: a scalar, or lanes of i32 or i64. */
typedef enum CtRefKind {
  CT_REF_STATIC,
  CT_REF_SCALAR,
  CT_REF_LANES_i32,
  CT_REF_LANES_i64
} CtRefKind;
typedef struct CtRef {
  int64_t v; /* the number, or the slot */
  CtRefKind kind;
} CtRef;

typedef struct CtTileLeaf {
  CtRef extent, stride;
} CtTileLeaf;

/* One mode of an operand (the whole of it except for GEMM), flattened. */
typedef struct CtTileMode {
  int64_t n;            /* elements; -1: known at run time only */
  const CtTable *fixed; /* static offsets, or NULL */
  uint32_t table;       /* slot of the table made by TABLE, or 0 */
  uint32_t n_leaves;
  CtTileLeaf *leaves;
} CtTileMode;

typedef struct CtTileArg {
  uint32_t buf;
  CtSpace space;
  CtSwizzle swizzle; /* of the buffer: takes an offset to where the element lies */
  uint32_t staged; /* of a swizzled one: bytes in the scratch, from where its elements may stand */
  CtDtype dtype;   /* of its elements: the operation's, or a narrow one to be widened */
  uint32_t base;   /* scalar slot */
  int64_t imm;
  uint32_t pattern;         /* slot; 0: no lane's offset differs, or see lanes */
  CtRef lanes;              /* of kind LANES: offsets by lane, instead of base, imm and pattern */
  bool is_i32;              /* offsets wrap around at 32 bits */
  uint32_t mode[2];         /* indices of CtTileMode; GEMM: (m,k), (n,k), (m,n); MMA: see CtMma */
  uint32_t guard, n_guards; /* which CtTileGuards: elements outside are 0, or not written */
} CtTileArg;

/* Elements are inside where `at`, which counts coordinates instead of a buffer's elements, is below
   the bound. */
typedef struct CtTileGuard {
  CtTileArg at;
  CtRef bound;
} CtTileGuard;

/* How numbers of an MMA are read from registers: words as they are, numbers of so many bits. */
typedef enum CtLoad {
  CT_LOAD_WORDS_4,
  CT_LOAD_WORDS_8,
  CT_LOAD_f16,
  CT_LOAD_bf16,
  CT_LOAD_f8e4m3,
  CT_LOAD_f8e5m2,
  CT_LOAD_i16,
  CT_LOAD_i8,
  CT_LOAD_u8,
  CT_LOAD_i4,
  CT_LOAD_u4,
  CT_LOAD_COUNT
} CtLoad;

typedef enum CtMmaKind { CT_MMA_FLOAT, CT_MMA_F64, CT_MMA_INT, CT_MMA_BITS } CtMmaKind;

/* What an MMA computes: in each warp the products of `groups` groups of threads, m x k by k x n, rest[0] x
   rest[1] times for each of rest[2]. Arrays by CtAtomOperand, A to C. */
typedef struct CtMma {
  CtMmaKind kind;
  CtTcModel model; /* of FLOAT */
  bool saturates;  /* INT */
  bool is_xor;     /* BITS */
  int word;        /* k of one number: 32 of BITS */
  int m, n, k, threads, groups;
  CtLoad load[3];
  int size[3];                      /* numbers of one matrix */
  int values[3];                    /* of a thread in one atom */
  const uint16_t *place[3];         /* of (lane, value) in the matrices of all groups */
  int64_t rest[3];                  /* M, N, K */
  bool is_a_shared, is_mn_major[2]; /* WGMMA, see ct_low_mma */
} CtMma;
/* What a WARP_COPY moves, in granules of `bytes` bytes: 2, or 1 of narrower elements. Of each atom a lane
   has n_src elements of the source and n_dst of the destination, at most 16 bytes. */
enum { CT_MOVE_BYTES = 16 };
typedef struct CtMove {
  uint32_t readers,
      writers; /* lanes whose elements of the source, of the destination are accessed */
  int n_src, n_dst, bytes;
  const uint16_t
      *from; /* by (lane, granule) of the destination: source lane * 16 + byte of its elements */
} CtMove;

/* Bytes of one atom's operand A or B, all groups, taken apart as tensor_core.h does. */
static inline int64_t ct_mma_apart(const CtMma *m, CtAtomOperand of) {
  return m->groups *
         (of == CT_ATOM_A ? m->m * (int64_t)sizeof(CtTcRow) : (int64_t)sizeof(CtTcCols));
}

/* FILL has its value in the instruction's operand d, AXPBY alpha and beta in d and a: lanes, masks
   for bool. */
typedef struct CtTileOp {
  CtOp op;
  CtDtype dtype;
  bool contract;    /* AXPBY: fma(alpha, a, beta * dst) */
  bool elementwise; /* GEMM of vectors: dst(v) = fma(a(v), b(v), dst(v)) */
  bool reads_dst;   /* sums of GEMM and AXPBY, but for a beta that is known to be 0 */
  bool async;       /* COPY: as CtTile; the engine copies at once */
  bool zero_fill;   /* COPY: as CtTile */
  uint8_t vec;      /* COPY: as CtTile */
  CtWidth width[2]; /* as CtTile */
  CtTileArg dst, a, b;
  const CtMma
      *mma; /* MMA; its operands have the values in mode 0, (M,K), (N,K) or (M,N) in mode 1 */
  const CtMove
      *move; /* WARP_COPY; its operands have the elements of an atom in mode 0, atoms in mode 1 */
} CtTileOp;

/* An instruction of the tensor memory accelerator: a CtTma and its CtTmaMap, but for what TMA_NUMBER
   (CT_TMA_AT, extents, strides) and TMA_LANES (CT_TMA_BOX_AT, CT_TMA_BAR, CT_TMA_MASK, coordinates) bring. */
enum { CT_TMA_AT = 0, CT_TMA_EXTENT = 1, CT_TMA_STRIDE = 6, CT_TMA_NUMBERS = 11 };
enum { CT_TMA_BOX_AT = 0, CT_TMA_BAR = 1, CT_TMA_MASK = 2, CT_TMA_CRD = 3, CT_TMA_OPERANDS = 8 };
typedef struct CtSimtTma {
  bool is_store, has_mask;
  uint8_t reduce; /* CtTmaReduce */
  uint8_t swizzle;
  CtDtype dtype;
  uint32_t global, shared, bar; /* buffers */
  int n;
  int64_t div[5], mul[5], box[5];
  CtTmaBoxes boxes; /* of its call */
} CtSimtTma;

/* Which ATOMIC, packed. */
typedef union CtAtomicImm {
  int64_t imm;
  struct {
    uint32_t buf;
    uint16_t op; /* CtOp */
    uint8_t dtype, is_i32;
  } u;
} CtAtomicImm;
_Static_assert(sizeof(CtAtomicImm) == 8, "it travels in CtIn.imm");

/* Which MBAR, packed. */
typedef union CtMbarImm {
  int64_t imm;
  struct {
    uint32_t buf;
    uint32_t op; /* CtOp */
  } u;
} CtMbarImm;

/* IF, LOOP, ... around a BARRIER, to say where the other lanes are. */
typedef struct CtConstruct {
  uint32_t row;    /* of saved masks */
  uint32_t parent; /* 0: none */
  CtLoc loc;
} CtConstruct;

/* What the program keeps of the IR's buffers, for messages. */
typedef struct CtSimtBuf {
  const char *name;
  CtSpace space;
  CtDtype dtype;
  CtDtype of; /* the type that the memory was made for; dtype itself unless this is an alias */
  int64_t n;  /* elements; of a global one the launch says it */
  uint32_t arrivals; /* as CtBuf */
  bool is_remote;    /* CtBuf.remote: an EACH before each access says which block's it is */
  uint32_t memory;   /* the buffer whose memory this is: itself unless this is an alias */
  uint32_t param;    /* global */
  uint32_t slot;     /* global: of the pointer */
  uint32_t at;       /* shared: offset in the block's memory; register: slot */
  CtSwizzle swizzle;
  CtLayout layout; /* dynamic leaves have the number of a CtSlot as id; CT_ANY where not one */
} CtSimtBuf;

typedef struct CtSimtParam { /* a number that the launch gives, and its scalar slot */
  uint32_t slot, at;
  CtDtype dtype;
} CtSimtParam;

struct CtSimtProgram {
  CtArena arena;
  CtAlloc alloc;
  const char *name;
  int64_t block[3];
  int64_t cluster[3]; /* blocks */
  int n_cluster;      /* in all; 1: the launch has no clusters */
  int32_t n_threads, n_warps;
  int first_registers; /* of a thread, which SETMAXNREG counts from */
  CtIn *code;          /* prologue, then body, each ended by END */
  CtLoc *locs;
  uint32_t n_code, body;
  const char **chunks;
  uint32_t n_chunks;
  uint32_t warp_bytes, shared_bytes, scratch_bytes;
  uint32_t saved_at;                       /* rows of saved masks */
  uint32_t mem_at;                         /* CtMem by buffer */
  uint32_t tid_at[3];                      /* lanes; 0: not used */
  uint32_t bid_at[3], gdim_at[3];          /* scalars */
  uint32_t vars_at, vars_end;              /* zeroed for each block */
  uint32_t regs_at, regs_end;              /* filled for each block */
  uint32_t scalars_at, masks_at, lanes_at; /* for the listing */
  uint32_t consts_at, n_consts;
  CtScalar *consts;
  CtSimtParam *params;
  CtSimtBuf *bufs; /* [0] unused */
  uint32_t n_params, n_bufs;
  CtTileOp *tiles;
  CtTileMode *modes;
  uint32_t n_tiles, n_modes;
  CtTileGuard *guards;
  CtSimtTma *tmas;
  uint32_t n_guards, n_tmas;
  const char **texts;      /* of PRINT and ASSERT */
  CtConstruct *constructs; /* [0] unused */
  uint32_t n_constructs;
  bool has_bands; /* see simt_order.c */
  bool has_named; /* named barriers */
  bool has_wgmma;
};

extern const char *const ct_simt_names[CT_SIMT_OP_COUNT];
extern const char ct_simt_roles[CT_SIMT_OP_COUNT][5];

/* --- running ------------------------------------------------------------------------------------ */

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

#define CT_AT(type, w, at) ((type *)(void *)((char *)(w) + (at)))
#define CT_CAT(type, w, at) ((const type *)(const void *)((const char *)(w) + (at)))

static inline int ct_first_lane(uint32_t mask) { return __builtin_ctz(mask); }

static inline bool ct_simt_interrupted(const CtSimtJob *job) {
  return ct_flag_is_up(job->interrupt);
}

static inline void ct_simt_note_change(CtSimtJob *job) { atomic_fetch_add(&job->n_changes, 1); }

/* Whether a loop may be waiting for what other threads do, in the imm of its back edge. */
typedef enum CtSpin {
  CT_SPIN_NOT,
  CT_SPIN_WAIT, /* its turns change nothing but variables and what atomic operations change */
  CT_SPIN_WORK  /* they may change more: such a loop is never stuck */
} CtSpin;

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

/* Any tile operation, lane by lane and element by element, every access checked. simt_slow.c */
const CtIn *ct_simt_tile_slow(const CtIn *in, CtWarp *w);
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
/* simt_order.c: whether rows of blocks may be taken together; how many rows of blocks are taken together, 1 for the order of their numbers; the block
   at a position in that order; are there no blocks before number `failed` at `position` or later? */
bool ct_simt_has_bands(const CtSimtProgram *p);
int64_t ct_simt_band(const CtSimtJob *job);
void ct_simt_block_at(const CtSimtJob *job, int64_t position, int64_t bid[3]);
bool ct_simt_is_over(const CtSimtJob *job, int64_t position, int64_t failed);
/* simt_message.c */
const CtIn *ct_simt_print_arg(const CtIn *in, CtWarp *w);
const CtIn *ct_simt_printf(const CtIn *in, CtWarp *w);
const CtIn *ct_simt_assert(const CtIn *in, CtWarp *w);
const CtIn *ct_simt_within(const CtIn *in, CtWarp *w);
/* What the blocks up to `last` printed, in the order of blocks and threads, goes to the launch's
   print; the rest is dropped. */
void ct_simt_print_out(CtSimtJob *job, int64_t last);
/* simt_cluster.c */
const CtIn *ct_simt_cluster_arrive(const CtIn *in, CtWarp *w);
const CtIn *ct_simt_cluster_wait(const CtIn *in, CtWarp *w);
const CtIn *ct_simt_each(const CtIn *in, CtWarp *w);
/* The worker in whose block the warp's buffer of shared memory is now. */
CtWorker *ct_simt_owner(const CtWarp *w, uint32_t buf);
/* simt_move.c */
const CtIn *ct_simt_warp_copy(const CtIn *in, CtWarp *w);
/* simt_tma.c */
const CtIn *ct_simt_tma_number(const CtIn *in, CtWarp *w);
const CtIn *ct_simt_tma_lanes(const CtIn *in, CtWarp *w);
const CtIn *ct_simt_tma(const CtIn *in, CtWarp *w);
const CtIn *ct_simt_tma_order(const CtIn *in, CtWarp *w);
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
const CtIn *ct_simt_shfl(const CtIn *in, CtWarp *w);
/* The lane that a SHFL reads: PTX ISA, shfl.sync. */
int ct_simt_shfl_source(CtShfl kind, int lane, int by, int width);
const CtIn *ct_simt_vote(const CtIn *in, CtWarp *w);
const CtIn *ct_simt_atomic(const CtIn *in, CtWarp *w);
const CtIn *ct_simt_fence(const CtIn *in, CtWarp *w);
/* simt_sync.c */
const CtIn *ct_simt_mbar(const CtIn *in, CtWarp *w);
const CtIn *ct_simt_named(const CtIn *in, CtWarp *w);
const CtIn *ct_simt_elect(const CtIn *in, CtWarp *w);
const CtIn *ct_simt_setmaxnreg(const CtIn *in, CtWarp *w);
const CtIn *ct_simt_wgmma_commit(const CtIn *in, CtWarp *w);
const CtIn *ct_simt_wgmma_wait(const CtIn *in, CtWarp *w);
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
const CtIn *ct_simt_clock(const CtIn *in, CtWarp *w);
const CtIn *ct_simt_tile_guard(const CtIn *in, CtWarp *w);
/* Of a GUARD: are all elements of the tile operation that follows inside? */
bool ct_simt_is_whole(const CtIn *in, const CtWarp *w);
/* Fills a table from the leaves of its mode, whose extents are static. */
void ct_simt_table_fill(const CtWarp *w, const CtTileMode *m, CtTable *t);
void ct_simt_pattern_i32(const int32_t *lanes, CtPattern *p);
void ct_simt_pattern_i64(const int64_t *lanes, CtPattern *p);

/* --- tables of handlers ------------------------------------------------------------------------- */

/* The files of handlers, each compiled once per instruction set: CT_SIMT_BASE, CT_SIMT_AVX2 or
   CT_SIMT_AVX512 says which. The table of each has NULL where the row is another part's. */
#define CT_SIMT_PARTS(X, isa)                                                                      \
  X(arith, isa)                                                                                    \
  X(moves, isa)                                                                                    \
  X(memory, isa) X(memory_narrow, isa) X(control, isa) X(tile, isa) X(mma, isa) X(wgmma, isa)

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
