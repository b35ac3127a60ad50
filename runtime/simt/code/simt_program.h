/* simt_program.h: a lowered kernel: its instructions (simt_ops.h), the tables that they refer to by
   number, and the places of a warp's slots. lower/ makes it, run/ runs it, watchers read it. */
#ifndef CT_SIMT_PROGRAM_H
#define CT_SIMT_PROGRAM_H

#include "runtime/ir/ir_tma.h"
#include "runtime/simt/code/simt_launch.h"
#include "runtime/simt/code/simt_ops.h"
#include "runtime/simt/model/tensor_core.h"

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

/* One mode of an operand, flattened. An operand has one mode, except in GEMM. */
typedef struct CtTileMode {
  int64_t n;            /* number of elements; -1: known only at run time */
  const CtTable *fixed; /* static offsets, or NULL */
  uint32_t table;       /* slot of the table made by TABLE, or 0 */
  uint32_t n_leaves;
  CtTileLeaf *leaves;
} CtTileMode;

typedef struct CtTileArg {
  uint32_t buf;
  CtSpace space;
  CtSwizzle swizzle; /* of the buffer: maps an offset to the place of the element */
  uint32_t staged; /* swizzled operands: where in the scratch, in bytes, its elements are staged */
  CtDtype dtype;   /* of its elements: the operation's type, or a narrow one to be widened */
  uint32_t base;   /* scalar slot */
  int64_t imm;
  uint32_t pattern;         /* slot; 0: all lanes have the same offset, or see `lanes` */
  CtRef lanes;              /* kind LANES: offsets by lane, which replace base, imm and pattern */
  bool is_i32;              /* offsets wrap around at 32 bits */
  uint32_t mode[2];         /* indices of CtTileMode; GEMM: (m,k), (n,k), (m,n); MMA: see CtMma */
  uint32_t guard, n_guards; /* its CtTileGuards: elements outside read as 0 and are not written */
} CtTileArg;

/* An element is inside if `at` is below the bound. `at` counts coordinates, not elements of a
   buffer. */
typedef struct CtTileGuard {
  CtTileArg at;
  CtRef bound;
} CtTileGuard;

/* How an MMA reads numbers from registers: words as they are, or numbers of so many bits. */
typedef enum CtLoad {
  CT_LOAD_WORDS_4,
  CT_LOAD_WORDS_8,
#define CUT(...)
#define NARROW(t, ...) CT_LOAD_##t,
#include "runtime/base/dtypes.def"
  CT_LOAD_i16,
  CT_LOAD_i8,
  CT_LOAD_u8,
  CT_LOAD_i4,
  CT_LOAD_u4,
  CT_LOAD_f4, /* eight of f4e2m1 in a word */
  CT_LOAD_COUNT
} CtLoad;

typedef enum CtMmaKind {
  CT_MMA_FLOAT,
  CT_MMA_F64,
  CT_MMA_INT,
  CT_MMA_BITS,
  CT_MMA_EXACT /* narrow floats, with scales or without: see exact_product.h */
} CtMmaKind;

/* What an MMA computes. In each warp: for `groups` groups of threads the product of m x k by k x n,
   rest[0] x rest[1] times for each of rest[2]. Arrays are indexed by CtAtomOperand, A to C, or all. */
typedef struct CtMma {
  CtMmaKind kind;
  CtTcModel model; /* for FLOAT */
  bool saturates;  /* for INT */
  bool is_xor;     /* for BITS */
  int word;        /* elements of k in one number: 32 for BITS */
  int m, n, k, threads, groups;
  int vec; /* for EXACT: scales of a row and of a column; 0: none */
  CtLoad load[CT_ATOM_OPERANDS];
  int size[CT_ATOM_OPERANDS];   /* numbers in one matrix; of scales one more, which nobody reads */
  int values[CT_ATOM_OPERANDS]; /* values of a thread in one atom */
  /* place of (lane, value) in the matrices of all groups */
  const uint16_t *place[CT_ATOM_OPERANDS];
  int64_t rest[3];  /* M, N, K */
  int words;        /* WGMMA, TCGEN05_MMA: stored elements of a row of A or B along K */
  int rows, blocks; /* TCGEN05_MMA: of an atom in a block; blocks that share one */
  bool is_a_shared, is_mn_major[2]; /* for WGMMA, see ct_low_mma */
} CtMma;
/* What a WARP_COPY moves, in granules of `bytes` bytes: 2, or 1 for narrower elements. In each atom
   a lane has n_src elements of the source and n_dst of the destination, at most 16 bytes. */
enum { CT_MOVE_BYTES = 16 };
typedef struct CtMove {
  uint32_t readers, writers; /* the lanes whose elements of the source (destination) are accessed */
  int n_src, n_dst, bytes;
  /* by (lane, granule) of the destination: source lane * 16 + byte within its elements */
  const uint16_t *from;
} CtMove;

/* Bytes for one atom's operand A or B, all groups, taken apart as in tensor_core.h. */
static inline int64_t ct_mma_apart(const CtMma *m, CtAtomOperand of) {
  return m->groups *
         (of == CT_ATOM_A ? m->m * (int64_t)sizeof(CtTcRow) : (int64_t)sizeof(CtTcCols));
}

/* For FILL, the instruction's operand d is the value; for AXPBY, d and a are alpha and beta. They
   are lanes, or masks for bool. */
typedef struct CtTileOp {
  CtOp op;
  CtDtype dtype;
  bool contract;    /* AXPBY: fma(alpha, a, beta * dst) */
  bool elementwise; /* GEMM of vectors: dst(v) = fma(a(v), b(v), dst(v)) */
  bool reads_dst;   /* GEMM and AXPBY add to the destination, unless beta is known to be 0 */
  bool async;       /* COPY: as CtTile; the engine copies at once */
  bool zero_fill;   /* COPY: as CtTile */
  uint8_t vec;      /* COPY: as CtTile */
  CtWidth width[2]; /* as CtTile */
  CtTileArg dst, a, b;
  CtTileArg sf[2]; /* MMA of an atom with scales: those of a and of b */
  /* MMA; its operands have the values in mode 0, (M,K), (N,K) or (M,N) in mode 1 */
  const CtMma *mma;
  /* WARP_COPY; its operands have the elements of an atom in mode 0, atoms in mode 1 */
  const CtMove *move;
  /* TCGEN05_COPY: of (lane, value of an atom), the element of tensor memory, from that of (0, 0) on */
  const int32_t *place;
  int blocks; /* TCGEN05_MMA, TCGEN05_CP: whose memory it uses, 1 or 2 */
} CtTileOp;

/* An instruction of the tensor memory accelerator: a CtTma and its CtTmaMap, except the operands
   that TMA_NUMBER (CT_TMA_AT, extents, strides) and TMA_LANES (CT_TMA_BOX_AT, CT_TMA_BAR,
   CT_TMA_MASK, coordinates) supply. */
enum { CT_TMA_AT = 0, CT_TMA_EXTENT = 1, CT_TMA_STRIDE = 6, CT_TMA_NUMBERS = 11 };
enum { CT_TMA_BOX_AT = 0, CT_TMA_BAR = 1, CT_TMA_MASK = 2, CT_TMA_CRD = 3, CT_TMA_OPERANDS = 8 };
typedef struct CtSimtTma {
  uint16_t op; /* CtOp */
  bool is_store, has_mask, is_of_pair;
  bool
      is_send; /* `global` is this block's shared memory; CT_TMA_CRD: from which element; CT_TMA_MASK: the rank of the
                   block whose `shared` gets it */
  bool
      is_cancel; /* two u64 of the response, dense; `global` is `shared`, of which it reads nothing */
  uint8_t reduce; /* CtTmaReduce */
  uint8_t swizzle;
  CtDtype dtype;
  uint32_t global, shared, bar; /* buffers */
  int n;
  int64_t div[5], mul[5], box[5];
  CtTmaBoxes boxes; /* boxes of its call */
} CtSimtTma;

/* The fields of an ATOMIC, packed. */
typedef union CtAtomicImm {
  int64_t imm;
  struct {
    uint32_t buf;
    uint16_t op; /* CtOp */
    uint8_t dtype;
    bool is_i32 : 1;
    uint8_t order : 4; /* CT_ORDER_* */
    bool is_blind : 1; /* an exchange whose result is not used: what was there does not matter */
  } u;
} CtAtomicImm;
_Static_assert(sizeof(CtAtomicImm) == 8, "it travels in CtIn.imm");

/* The fields of a MASKED, packed. */
typedef union CtMaskedImm {
  int64_t imm;
  struct {
    uint8_t kind; /* CtMasked */
    uint8_t width, bytes;
    bool is_whole : 1, is_unsigned : 1;
    uint32_t construct; /* as in BARRIER */
  } u;
} CtMaskedImm;
_Static_assert(sizeof(CtMaskedImm) == 8, "it travels in CtIn.imm");

/* The fields of an MBAR, packed. */
typedef union CtMbarImm {
  int64_t imm;
  struct {
    uint32_t buf;
    uint16_t op; /* CtOp */
    uint16_t
        bytes; /* of an asynchronous store, which the instruction before it has made: these come */
  } u;
} CtMbarImm;

/* An IF, LOOP, ... around a BARRIER, to say in messages where the other lanes are. */
typedef struct CtConstruct {
  uint32_t row;    /* row of saved masks */
  uint32_t parent; /* 0: there is none */
  CtLoc loc;
} CtConstruct;

/* What the program keeps about the IR's buffers, for messages. */
typedef struct CtSimtBuf {
  const char *name;
  CtSpace space;
  CtDtype dtype;
  CtDtype of; /* the type that the memory was allocated as; dtype itself unless this is an alias */
  int64_t n;  /* elements; for a global buffer the launch says how many */
  uint32_t arrivals; /* as CtBuf */
  const void *data;  /* of constant memory */
  bool is_local;     /* CtBuf.is_local, and its line */
  int32_t line;
  bool is_remote;    /* CtBuf.remote: an EACH before each access says in which block */
  uint32_t bar;      /* CtBuf.bar: an MBAR follows each store, and says when it is complete */
  uint32_t memory;   /* the buffer that owns this memory: itself unless this is an alias */
  bool is_chosen;    /* CtBuf.chosen: the launch does not say where it is; TURN and EACH_AT do */
  uint32_t align;    /* chosen: what its address is a multiple of */
  uint32_t list;     /* chosen: the buffer of the list's table; 0: it is at an address */
  int32_t n_columns; /* the table of a list: columns of a row; 0: it is none */
  uint32_t param;    /* for global buffers; of chosen ones a number that no parameter has */
  uint32_t slot;     /* for global buffers that are not chosen: the slot of the pointer */
  uint32_t at;       /* shared: offset in the block's memory; register: slot */
  CtSwizzle swizzle;
  /* dynamic leaves have the number of a CtSlot as id, or CT_ANY if there is no such slot; of a member of a
     list: the number of their column */
  CtLayout layout;
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
  int n_cluster;      /* blocks per cluster; 1: the launch has no clusters */
  int32_t n_threads, n_warps;
  int first_registers; /* of a thread; SETMAXNREG counts from here */
  CtIn *code;          /* prologue, then body, each ended by END */
  CtLoc *locs;
  uint32_t n_code, body;
  const char **chunks;
  uint32_t n_chunks;
  uint32_t warp_bytes, shared_bytes, scratch_bytes;
  uint32_t block_bytes;                    /* the block's shared memory, then its tensor memory */
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
  const char **texts;      /* for PRINT and ASSERT */
  CtConstruct *constructs; /* [0] unused */
  uint32_t n_constructs;
  bool has_bands; /* see simt_order.c */
  bool meets;     /* what a block does may depend on what others have done: simt_meets.c */
  bool has_named; /* named barriers */
  bool has_wgmma, has_tcgen05;
};

/* Elements of a global buffer's memory; 0 of a chosen one. */
static inline int64_t ct_simt_n_elems(const CtSimtLaunch *l, const CtSimtBuf *b) {
  int64_t n = b->is_chosen ? 0 : ct_max(l->n_elems[b->param], 0);
  return b->of == b->dtype ? n : ct_dtype_count(b->dtype, ct_dtype_span(b->of, n));
}
static inline int64_t ct_simt_n_bytes(const CtSimtLaunch *l, const CtSimtBuf *b) {
  return ct_dtype_span(b->dtype, ct_simt_n_elems(l, b));
}

/* The memory of the launch that an address is in; NULL: none. */
const CtSimtSpan *ct_simt_memory_at(const CtSimtLaunch *l, const char *at);

/* --- simt_program.c. `slots`: the CtWarp before its slots; NULL if everything is static
   -------- */

/* The value of a reference in one lane. */
int64_t ct_ref_value(const void *slots, CtRef r, int lane);
/* Offset of element e of a mode: splits the linear coordinate over the leaves; the last leaf takes
   the rest. */
int64_t ct_mode_offset(const void *slots, const CtTileMode *m, int lane, int64_t e);
/* Fills a table from the leaves of its mode. Their extents are static. */
void ct_table_fill(const void *slots, const CtTileMode *m, CtTable *t);

#endif
