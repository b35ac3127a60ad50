/* ir.h: a traced kernel as a typed, structured program.

   A CtIr holds operations (CtInst), numbered from 1; an operation and its result share the number
   (CtVal). Operations stand in regions, in order; IF, FOR, LOOP and BLOCK contain regions. There
   are no phi nodes: what changes lives in a VAR, read by GET and written by SET. Operations on whole
   tensors (COPY, GEMM, ...) stay whole, so that each engine can do them well. Every operation knows
   the script line that made it.

   Memory is a table of buffers (CtBuf): global ones come from tensor arguments, shared and register
   ones are declared by the kernel. A CtView is a part of a buffer: an offset and a layout, whose
   integers are static or values of this IR. A buffer may be swizzled: views of it are linear like
   others, and its swizzle takes the sum of offset and index to where the element lies.

   What the launch supplies are slots (CtSlot): pointers, dynamic extents and strides, and numbers,
   in argument order. A PARAM operation is one slot.

   The builder folds constants, shares pure operations that dominate, keeps a range and a divisor
   for each integer, and never jumps: a failed call (out of memory) sets CtIr.failed and returns
   value 0, checked once at the end by ct_ir_finish. */
#ifndef CT_IR_H
#define CT_IR_H

#include "atom.h"
#include "runtime/layout/composed.h"
#include "runtime/base/dtype.h"
#include "gemm_order.h"

typedef enum CtOp {
  CT_OP_NONE,
#define OP(NAME, ...) CT_OP_##NAME,
#define PURE(NAME, ...) CT_OP_##NAME,
#include "ops.def"
  CT_OP_COUNT
} CtOp;

typedef enum CtOpClass {
  CT_CLS_LEAF,
  CT_CLS_PURE,
  CT_CLS_READ,
  CT_CLS_EFFECT,
  CT_CLS_REGION,
  CT_CLS_JUMP,
  CT_CLS_TILE
} CtOpClass;

typedef enum CtOpResult { CT_RES_VOID, CT_RES_SAME, CT_RES_BOOL, CT_RES_GIVEN } CtOpResult;

/* The data of an operation besides its scalar operands. */
typedef enum CtOpData {
  CT_DATA_NONE,
  CT_DATA_CONST,   /* imm: the value */
  CT_DATA_SLOT,    /* imm: the slot */
  CT_DATA_AXIS,    /* imm: 0..2 for x, y, z */
  CT_DATA_VAR,     /* imm: the VAR */
  CT_DATA_ELEMENT, /* imm: the CtBuf; operand 0 is the element's place in it */
  CT_DATA_ATOMIC,  /* the same, for an atomic operation */
  CT_DATA_BAR,     /* imm: the CtBuf of mbarriers; operand 0, if any, says which */
  CT_DATA_BUF,     /* imm: the CtBuf */
  CT_DATA_HINT,    /* imm: how often to unroll a loop; -1: fully, 0: the script does not say */
  CT_DATA_TARGET,  /* imm: the FOR, LOOP or BLOCK that is left */
  CT_DATA_NUMBER,  /* imm: a number */
  CT_DATA_NAMED,   /* imm: threads; operand 0 is the barrier */
  CT_DATA_GROUPS,  /* imm: groups of stores, << 1; bit 0: until they are written */
  CT_DATA_LANE,    /* imm: CtShfl, and the width << 8 */
  CT_DATA_VOTE,    /* imm: CtVote */
  CT_DATA_MASKED,  /* imm: CtMasked, the width << 8, CT_MASKED_WHOLE */
  CT_DATA_TILE,    /* u.tile */
  CT_DATA_TMA,     /* u.tma */
  CT_DATA_TEXT     /* u.escape */
} CtOpData;

/* The types of a PURE operation's operands, see ops.def. */
typedef enum CtOpTypes {
  CT_TYPES_NONE,
  CT_TYPES_NUMBERS,
  CT_TYPES_FLOATS,
  CT_TYPES_F32,
  CT_TYPES_INTS,
  CT_TYPES_SIGNED,
  CT_TYPES_WORDS,
  CT_TYPES_BOOL,
  CT_TYPES_WIDE,
  CT_TYPES_ANY
} CtOpTypes;

/* X(NAME, bit) */
#define CT_OP_TRAITS(X)                                                                            \
  X(COMMUTES, 0) /* its two operands may be exchanged */                                           \
  X(ORDERS, 1)   /* orders or divides: on u64 it differs from the same bits as i64 */              \
  X(NANS, 2)     /* for floats: may make a NaN, or an infinity, from other operands */             \
  X(FLOP, 3)     /* of floats: one operation for a profile, */                                     \
  X(FMA, 4)      /* a multiply-add, */                                                             \
  X(SPECIAL, 5)  /* or several instructions, or one of the special function unit */                \
  X(KEEPS, 6)    /* an effect that changes no memory that a load may see */                        \
  X(ARRIVES, 7)  /* plain asynchronous copies before it are complete */                            \
  X(SUMS, 8)     /* a tile operation that adds products to its destination */                      \
  X(PAIRS, 9)    /* of words that hold two floats of 16 bits each */
typedef enum CtOpTrait {
#define X(NAME, bit) CT_TRAIT_##NAME = 1 << (bit),
  CT_OP_TRAITS(X)
#undef X
} CtOpTrait;

typedef struct CtOpInfo {
  const char *text;
  uint8_t n_args;
  CtOpResult result;
  CtOpClass cls;
  CtOpData data;
  CtOpTypes types;
  unsigned traits; /* CtOpTrait */
} CtOpInfo;

extern const CtOpInfo ct_ops[CT_OP_COUNT];

static inline bool ct_op_has(CtOp op, CtOpTrait trait) { return (ct_ops[op].traits & trait) != 0; }
static inline bool ct_op_is_atomic(CtOp op) { return ct_ops[op].data == CT_DATA_ATOMIC; }
static inline bool ct_op_is_mbar(CtOp op) { return ct_ops[op].data == CT_DATA_BAR; }
static inline bool ct_op_is_tma(CtOp op) { return ct_ops[op].data == CT_DATA_TMA; }
static inline bool ct_op_has_text(CtOp op) { return ct_ops[op].data == CT_DATA_TEXT; }
/* Its imm is the buffer that operand 0 is a place in. */
static inline bool ct_op_has_buf(CtOp op) {
  CtOpData data = ct_ops[op].data;
  return data == CT_DATA_ELEMENT || data == CT_DATA_ATOMIC || data == CT_DATA_BAR;
}

typedef uint32_t CtVal;    /* 0: no value */
typedef uint32_t CtRegion; /* 0: no region; 1: the kernel's body */

typedef struct CtLoc {
  uint32_t chunk; /* index in CtIr.chunks */
  int32_t line;
} CtLoc;

/* --- memory ---------------------------------------------------------------------------------- */

typedef enum CtSpace { CT_GLOBAL, CT_SHARED, CT_REGISTER, CT_CONSTANT } CtSpace;

/* How caches should treat what goes through a tensor: X(NAME, text). Words of CUDA and CUTLASS. */
#define CT_CACHES(X)                                                                               \
  X(STREAMING, "streaming")         /* it is used once: .cs */                                     \
  X(GLOBAL, "global")               /* in L2 only: .cg */                                          \
  X(LAST_USE, "last_use")           /* nobody reads it again: .lu */                               \
  X(VOLATILE, "volatile")           /* fetched again each time: .cv */                             \
  X(WRITE_THROUGH, "write_through") /* stores go to memory: .wt */                                 \
  X(READ_ONLY, "read_only")         /* it does not change while the kernel runs: .nc */            \
  X(NO_ALLOCATE, "no_allocate")     /* no line of L1 for it */                                     \
  X(EVICT_FIRST, "evict_first")     /* its lines go first */                                       \
  X(EVICT_LAST, "evict_last")       /* its lines stay longest */
typedef enum CtCacheHint {
  CT_CACHE_NONE,
#define X(NAME, text) CT_CACHE_##NAME,
  CT_CACHES(X)
#undef X
      CT_CACHE_COUNT
} CtCacheHint;
extern const char *const ct_caches[CT_CACHE_COUNT];

typedef struct CtBuf {
  const char *name; /* of the argument or the script's local; unique in the kernel */
  CtSpace space;
  CtDtype dtype;
  uint32_t align; /* bytes, of element 0 */
  CtLayout
      layout; /* of the whole buffer, for messages and for the extent that accesses must stay in */
  CtInt
      n_elems; /* cosize of the layout; CT_ANY of a global one: the launch says. A multiple of what
                     the swizzle permutes, so that it keeps offsets inside and outside where they are */
  CtSwizzle swizzle; /* applies to offsets on every access; bits 0: there is no swizzle */
  uint32_t param;    /* global: index in CtIr.params; of none if it has `chosen` */
  CtVal chosen;  /* global: says at run time where it begins, see ir_list.c; 0: the launch does */
  CtVal begins;  /* with `chosen` or `remote`: the operation that recorded it */
  uint32_t list; /* with `chosen`: the table that has its row; 0: `chosen` is an address */
  const struct CtTensorSpec *members; /* global: it is the table of a list of these; or NULL */
  bool is_wide; /* global: its indices need 64 bits, and so does arithmetic with coordinates */
  uint32_t
      alias_of; /* the earlier buffer whose memory this is as another type (ct_ir_recast) or under a
                   swizzle (ct_ir_view_swizzled), or 0 */
  CtCacheHint cache; /* an alias: the hint of what is accessed through it (ct_ir_cached) */
  CtVal remote; /* an alias: as the block of this rank in the cluster has it; 0: the own block */
  bool
      is_written; /* some STORE or tile operation writes it; not said of an alias, see ct_ir_memory */
  uint32_t arrivals; /* shared: that complete a phase of its mbarriers; 0: it holds none */
  bool has_words;    /* register: instructions take its elements as words of 32 bits */
  bool is_local;     /* register: may be indexed at run time, so a GPU keeps it in local memory */
  bool
      is_fixed; /* register: holds the bits of another one (ct_ir_recast), and is not written again */
  const void *data; /* constant: its elements */
  CtLoc loc;
} CtBuf;

/* One condition on the elements of a view: the element at coordinate c is inside where
   at + (shape:stride)(c) < bound, shape being that of the view. */
typedef struct CtGuardAxis {
  CtInt at, bound;
  CtTuple stride; /* congruent with the view's shape */
} CtGuardAxis;

/* What tiles of a guarded tensor may overhang: only elements inside along every axis are accessed;
   others read as 0, and what is written to them is dropped. Axes that are known to hold are left
   out. */
enum { CT_GUARD_MAX = 8 };
typedef struct CtGuard {
  int n;
  CtGuardAxis axis[CT_GUARD_MAX];
} CtGuard;

/* A coordinate that the part was cut out by, which should lie below the extent of its mode; see ir_within.c. */
typedef struct CtWithin {
  const struct CtWithin *next;
  CtInt crd, extent;
  const char *what; /* as a message says it: "in mode 1 of x" */
} CtWithin;

typedef struct CtView {
  uint32_t buf; /* index in CtIr.bufs */
  CtInt offset; /* elements from the start of the buffer */
  CtLayout layout;
  const char *name;       /* the script's local, or NULL */
  const CtGuard *guard;   /* NULL: every element is inside */
  const CtWithin *within; /* in traces that are checked */
} CtView;

/* Why a thread does not take twice as many elements at once: X(NAME, text). */
#define CT_WIDTH_WHYS(X)                                                                           \
  X(WIDEST, "widest")       /* it takes 16 bytes */                                                \
  X(SCALAR, "scalar")       /* the operation takes elements one by one */                          \
  X(SIZE, "size")           /* the number of elements is no multiple */                            \
  X(EXTENT, "extent")       /* that number is known at run time only */                            \
  X(COMMON, "common")       /* consecutive coordinates are not consecutive in memory */            \
  X(MULTIPLE, "multiple")   /* they are, but a static stride is no multiple */                     \
  X(STRIDE, "stride")       /* a run-time stride is not known to be a multiple */                  \
  X(POINTER, "pointer")     /* the alignment of the tensor's first element */                      \
  X(OFFSET, "offset")       /* that of the view's, in the tensor */                                \
  X(SWIZZLE, "swizzle")     /* a swizzle takes consecutive elements apart */                       \
  X(GUARD, "guard")         /* a guard may end within a vector */                                  \
  X(PREDICATE, "predicate") /* so may copy_if's predicate */                                       \
  X(CONVERTS, "converts")   /* the elements are widened on the way */                              \
  X(REGISTERS, "registers") /* from registers to registers, or bools, which are not packed */      \
  X(ATOM, "atom")           /* the script's copy atom says how many */
typedef enum CtWidthWhy {
#define X(name, text) CT_WIDTH_##name,
  CT_WIDTH_WHYS(X)
#undef X
      CT_WIDTH_WHY_COUNT
} CtWidthWhy;
extern const char *const ct_width_whys[CT_WIDTH_WHY_COUNT];

/* Elements that a thread takes at once, a power of two; why not more, and which operand is to blame:
   0 the destination, 1 a, 2 b. */
typedef struct CtWidth {
  uint8_t vec, why, of;
} CtWidth;

/* A tile that wgmma reads from shared memory, as its descriptor says it (PTX ISA, "Shared memory matrix
   layout"): rows contiguous along K or along M (of B: N), in a swizzle of so many bytes or none; offsets
   in bytes between what ir_wgmma.c calls groups. */
typedef struct CtWgmmaTile {
  bool is_mn_major;
  int swizzle; /* 0, 32, 64, 128 */
  int64_t leading, stride;
} CtWgmmaTile;
typedef struct CtWgmma {
  bool is_a_shared;
  CtWgmmaTile a, b;
} CtWgmma;

/* Operands of a TILE operation. */
typedef struct CtTile {
  CtView dst, a, b;     /* COPY: a is the source, b (if any) bools: which elements are copied;
                       FILL: dst only; AXPBY: a; GEMM, MMA, WGMMA: a, b */
  uint8_t vec;          /* COPY: elements per access, a power of two; 1 elsewhere */
  CtWidth width[2];     /* COPY: [0], of both sides; GEMM: of a and b, along their rows */
  bool async;           /* COPY: may be cp.async */
  CtGemmOrder order;    /* GEMM, MMA, WGMMA */
  bool zero_fill;       /* COPY: elements that b leaves out become 0 */
  const CtAtom *atom;   /* the instruction that was asked for, or NULL */
  const CtWgmma *wgmma; /* WGMMA */
} CtTile;

/* Which lane a SHFL reads, as the instruction shfl.sync of the PTX ISA: own lane where that one is
   outside the segment. */
typedef enum CtShfl { CT_SHFL_UP, CT_SHFL_DOWN, CT_SHFL_XOR, CT_SHFL_IDX, CT_SHFL_COUNT } CtShfl;
typedef enum CtVote { CT_VOTE_ANY, CT_VOTE_ALL, CT_VOTE_BALLOT, CT_VOTE_COUNT } CtVote;

/* What the lanes of a mask do together. MATCH compares bits: ANY gives the lanes of the mask with the
   same value, ALL the mask if all have it, else 0. The value of a vote is an i32, 0 or not, and so is
   the result of ANY and ALL. Reductions are of i32 and u32. */
typedef enum CtMasked {
  CT_MASKED_ANY = CT_SHFL_COUNT, /* below: CtShfl */
  CT_MASKED_ALL,
  CT_MASKED_BALLOT,
  CT_MASKED_MATCH_ANY,
  CT_MASKED_MATCH_ALL,
  CT_MASKED_ADD,
  CT_MASKED_MIN,
  CT_MASKED_MAX,
  CT_MASKED_AND,
  CT_MASKED_OR,
  CT_MASKED_XOR,
  CT_MASKED_COUNT
} CtMasked;
enum { CT_MASKED_WHOLE = 1 << 16 };

/* What a script's text does besides making its results. */
typedef enum CtTextEffect {
  CT_TEXT_PURE,  /* nothing: equal operands give equal results */
  CT_TEXT_FIXED, /* it stays where it is, but touches no memory: a shuffle, a clock */
  CT_TEXT_READS, /* it reads memory */
  CT_TEXT_WRITES /* it may do anything */
} CtTextEffect;

/* A result of an ESCAPE that stands in its text as a variable. */
typedef struct CtTextOut {
  const char *name;
  CtDtype type;
  CtVal from; /* what the variable holds before, or 0 */
  CtVal val;  /* the RESULT */
} CtTextOut;

/* An operand that is the address of an element: `at` is its place in the buffer. */
typedef struct CtTextPlace {
  const char *name;
  uint32_t buf;
  CtVal at;
} CtTextPlace;

typedef struct CtEscape {
  const char
      *text; /* CUDA C with $name where an operand stands; a format of C's printf; a message */
  int n;
  const char *const *names; /* of an ESCAPE */
  const CtVal *vals;
  const bool *is_literal; /* PTX: the constant stands in the text; NULL: none does */
  int n_outs, n_places;
  const CtTextOut *outs;
  const CtTextPlace *places;
  bool is_ptx;
  CtTextEffect effect;
} CtEscape;

/* --- arguments ------------------------------------------------------------------------------- */

typedef enum CtSlotKind {
  CT_SLOT_POINTER,
  CT_SLOT_EXTENT,
  CT_SLOT_STRIDE,
  CT_SLOT_NUMBER
} CtSlotKind;

/* One thing that the launch supplies; 8 bytes each in a CtSlotValue array, in the order of slots. */
typedef struct CtSlot {
  CtSlotKind kind;
  CtDtype dtype; /* of a POINTER: the element type */
  uint32_t param;
  uint32_t leaf;    /* EXTENT, STRIDE: which leaf of the shape or stride, in order */
  const char *name; /* unique: "A", "A_shape0", "A_stride1", "n" */
  CtVal val;        /* the PARAM operation; 0 for a POINTER */
  bool used;        /* by some operation; set by ct_ir_finish. Unused slots are not passed */
} CtSlot;

typedef union CtSlotValue {
  void *ptr;
  int64_t i; /* integers and bool as ct_int_of_bits; narrow floats: their bits */
  double f64;
  float f32;
} CtSlotValue;

/* The slot that holds a double of the float type, rounded to it. */
CtSlotValue ct_slot_float(CtDtype type, double v);

typedef struct CtParam {
  const char *name;
  bool is_tensor;
  CtDtype dtype;
  uint32_t buf;        /* of a tensor */
  uint32_t first_slot; /* pointer, then dynamic extents, then dynamic strides; or the number */
  uint32_t n_slots;
} CtParam;

/* An assumption of the trace about the sizes; each launch checks it: value % modulus == 0. */
typedef struct CtRequire {
  CtVal value; /* of slots and constants only */
  int64_t modulus;
  const char *op;          /* who asks: "tile" */
  const char *mode, *name; /* what has the value: mode "0 (M)" of "A" */
  const char *divisor;     /* what has the size `modulus`: "tile" or "thread layout" */
  CtLoc loc;
} CtRequire;

/* --- operations ------------------------------------------------------------------------------- */

typedef union CtImm {
  int64_t i;
  double f;
} CtImm;

typedef struct CtInst {
  uint16_t op;  /* CtOp */
  uint8_t type; /* CtDtype of the result; CT_VOID: it has no result */
  uint8_t n_args;
  CtVal args[3];
  CtImm imm;
  union {
    const CtTile *tile;
    const CtEscape *escape;
    const struct CtTma *tma; /* TMA_LOAD, TMA_STORE: ir_tma.h */
    CtRegion regions[2];     /* body, or then and else; else may be 0 */
  } u;
  CtLoc loc;
  CtRegion region; /* the region that contains it; 0 for a leaf or a removed operation */
  CtVal prev, next;
  const char *name;    /* the script's local, or NULL */
  bool is_conditional; /* its facts hold by the condition of an IF around it: it stays there */
  CtFacts facts;       /* of an integer result; of u64 as if its bits were an i64's */
} CtInst;

typedef struct CtRegionInfo {
  CtVal first, last;
  CtVal owner; /* the operation that contains it; 0 for the body */
} CtRegionInfo;

/* A decision that the script made while it was traced, by line; it left no operation. */
typedef struct CtNote {
  CtLoc loc;
  const char *what;    /* "if", "elseif"; "for", "while" */
  int64_t n_yes, n_no; /* how often it was true and false; for a loop: iterations, and loops */
} CtNote;

typedef struct CtTarget {
  bool is_cuda;
  int sm;            /* compute capability times 10: 90 */
  size_t shared_max; /* bytes of shared memory a block may have */
  const char *name;  /* of the device, for messages */
} CtTarget;

typedef struct CtIr {
  CtArena arena;
  const char *name; /* of the kernel */
  CtLoc loc;        /* of its function */
  CtTarget target;
  int64_t block[3];   /* threads per block */
  int64_t cluster[3]; /* blocks per cluster; {1,1,1}: the launch has no clusters */
  int64_t smem;   /* bytes of shared memory that the launch gives beside what the kernel declares */
  int min_blocks; /* that must fit on a multiprocessor; 0: the script does not say */
  uint32_t smem_buf;    /* the buffer that has them, or 0 */
  int64_t max_unroll;   /* turns of a loop that tracing unrolls without being asked; 0: not said */
  bool contract;        /* a*b + c becomes fma */
  bool is_checked;      /* it has WITHIN; see ir_within.c */
  bool may_overlap;     /* others may write what a tensor reads: another tensor, a launch before */
  bool has_addresses;   /* has tensor_at: the CPU engine needs the spans of memory */
  bool waits_for_grids; /* has grid_dependency_wait */
  CtLoc grid_barrier;   /* its first GRID_BARRIER, which needs a cooperative launch; line 0: none */
  bool failed;          /* out of memory while building */
  CtDyn dyn;            /* for the layout algebra: arithmetic on this IR's values */
  CtInst *insts;
  size_t n_insts, cap_insts; /* [0] unused */
  CtRegionInfo *regions;
  size_t n_regions, cap_regions; /* [0] unused */
  CtBuf *bufs;
  size_t n_bufs, cap_bufs; /* [0] unused */
  CtParam *params;
  size_t n_params, cap_params;
  CtSlot *slots;
  size_t n_slots, cap_slots;
  CtRequire *requires_;
  size_t n_requires, cap_requires;
  struct CtIrFunction
      *functions;        /* that the kernel may call, the newest first; not freed with it */
  struct CtTmaMap *maps; /* tensor maps: ir_tma.h */
  size_t n_maps, cap_maps;
  struct CtTmaSource *tma_sources; /* [0] unused */
  size_t n_tma_sources, cap_tma_sources;
  uint32_t n_asserts, n_prints; /* made so far; each has a number */
  const char **chunks;
  size_t n_chunks, cap_chunks;
  CtRegion cur; /* where the builder appends */
  CtLoc cur_loc;
  uint32_t *cse;
  size_t cap_cse, n_cse; /* hash table of shareable operations */
  bool wants_notes;      /* of static decisions, for people */
  CtNote *notes;         /* in order of their first times */
  size_t n_notes, cap_notes;
  CtSlotValue *samples; /* of the traced launch, by slot, or NULL: messages show these values */
} CtIr;

/* A function of numbers, in CUDA C a __device__ function: its parameters are the numbers of its IR, its
   results what it stores in tensors of one element, which follow them. A function calls only those that
   were made before it. */
typedef struct CtIrFunction {
  struct CtIrFunction *next;
  char *key; /* what it was asked for by */
  bool is_noinline;
  CtIr ir; /* finished; its name is that of the function */
} CtIrFunction;

/* NULL: no memory. */
CtIrFunction *ct_ir_function_new(CtAlloc alloc, const char *key);
void ct_ir_functions_free(CtAlloc alloc, CtIrFunction *list);
const CtIrFunction *ct_ir_function_find(const CtIr *ir, const char *key);
/* Calls it; args[i] is the value of its parameter "a<i + 1>". The result is a text with results. */
CtVal ct_ir_call(CtIr *ir, const CtIrFunction *f, const CtVal *args);

/* --- building -------------------------------------------------------------------------------- */

/* How the name of an argument begins that is one of a kernel's `...`: "...[1]". */
#define CT_VARARG_NAME "...["
void ct_ir_init(CtIr *ir, CtAlloc alloc, CtTarget target, const int64_t block[3]);
void ct_ir_clear(CtIr *ir);
int64_t ct_ir_cluster_size(const CtIr *ir);
static inline int64_t ct_ir_block_size(const CtIr *ir) {
  return ir->block[0] * ir->block[1] * ir->block[2];
}
CtCx ct_ir_cx(CtIr *ir); /* context for the layout algebra: results in the IR's arena */

/* The script line of the operations that follow; the chunk's name is interned. */
void ct_ir_at(CtIr *ir, const char *chunk, int line);

/* Arguments, in order. A tensor: the given layout's dynamic leaves (ct_ir_dynamic) become slots of
   type `index` (i32 or i64) with the given facts. Returns the buffer's view; its layout has the slots'
   values. `align` is of the pointer, in bytes. */
typedef struct CtTensorSpec {
  const char *name;
  CtDtype dtype;
  CtDtype index; /* CT_i32 if the tensor spans < 2^31 bytes, else CT_i64 */
  uint32_t align;
  CtTuple shape, stride; /* static leaves are constants; CT_DYNAMIC ones become slots */
  const CtFacts *facts;  /* of the dynamic leaves, shape first, in order */
} CtTensorSpec;
CtView ct_ir_tensor(CtIr *ir, const CtTensorSpec *spec);
/* ir_list.c. A list of tensors that are as `spec` says: an argument whose buffer is a table of i64. A row is
   the address of a tensor, then its dynamic extents and strides. Only the members below look into it. */
CtView ct_ir_list(CtIr *ir, const CtTensorSpec *spec);
int ct_ir_list_columns(const CtTensorSpec *members);
CtVal ct_ir_list_size(CtIr *ir, uint32_t table); /* how many tensors: an i32 */
/* The row of an index from 1 on (i32). */
CtVal ct_ir_list_row(CtIr *ir, CtVal index);
/* The tensor in a row (an i32, from 0) of the table. */
CtView ct_ir_list_member(CtIr *ir, uint32_t table, CtVal row);
/* The global tensor at an address (u64). Its layout's dynamic leaves are values; facts are not read. */
CtView ct_ir_tensor_at(CtIr *ir, const CtTensorSpec *spec, CtVal address);
CtVal ct_ir_number(CtIr *ir, const char *name, CtDtype dtype, CtFacts facts);

/* Declares memory of the kernel. The layout is static. name NULL: ct_ir_name_buf may come, else
   ct_ir_finish finds one. */
CtView ct_ir_shared(CtIr *ir, const char *name, CtDtype dtype, CtLayout layout);
/* The same, but the view begins at the layout's offset; no index is below 0. */
CtView ct_ir_shared_composed(CtIr *ir, const char *name, CtDtype dtype, const CtComposed *layout);
/* The CtIr.smem bytes as one mode; the same buffer at each call, which must be of one dtype. */
CtView ct_ir_shared_of_launch(CtIr *ir, CtDtype dtype);
CtView ct_ir_fragment(CtIr *ir, const char *name, CtDtype dtype, CtLayout layout);
/* Constant memory that holds `elements`, which are given in linear order. Memory of the same elements is
   declared once. */
CtView ct_ir_constant(CtIr *ir, CtDtype dtype, CtLayout layout, const void *elements);
int64_t ct_ir_constant_bytes(const CtIr *ir);
/* A fragment that run-time values may index (CtBuf.is_local). */
CtView ct_ir_local(CtIr *ir, const char *name, CtDtype dtype, CtLayout layout);

/* The view's memory as elements of another type; of registers a fragment with a copy of their bits. */
CtStatus ct_ir_recast(CtIr *ir, CtView v, CtDtype t, CtView *out, CtErr *err) CT_NODISCARD;
/* Plain shared memory from the view's first element on under a static swizzled layout, which must lie in
   it. Fails unless the view begins at a multiple of the swizzle's period. */
CtStatus ct_ir_view_swizzled(CtIr *ir, CtView v, const CtComposed *l, CtView *out,
                             CtErr *err) CT_NODISCARD;
/* The same memory, whose accesses give a hint to the caches. */
CtStatus ct_ir_cached(CtIr *ir, CtView v, CtCacheHint cache, CtView *out, CtErr *err) CT_NODISCARD;
/* The buffer itself, or the one that it is an alias of. */
uint32_t ct_ir_memory(const CtIr *ir, uint32_t buf);

/* Constants: an integer or bool, wrapped to its type; a float, rounded to it. */
CtVal ct_ir_const_int(CtIr *ir, CtDtype type, int64_t v);
CtVal ct_ir_const_float(CtIr *ir, CtDtype type, double v);
CtVal ct_ir_axis(CtIr *ir, CtOp op, int axis); /* TID BID GDIM: i32, with their ranges */
CtVal ct_ir_cluster_rank(CtIr *ir);            /* of the block in its cluster */

/* PURE operations. Operands have the types ops.def asks for (asserted; arithmetic and comparisons take
   no narrow type: cast to ct_dtype_compute first); `type` of SELECT and CAST is the result's. Constants are folded, simple identities applied where they keep every bit. */
CtVal ct_ir_unary(CtIr *ir, CtOp op, CtVal a);
/* POPC, CLZ, FFS or BREV of the low `width` bits of v. */
int64_t ct_bits_op(CtOp op, int width, uint64_t v);
CtVal ct_ir_binary(CtIr *ir, CtOp op, CtVal a, CtVal b);
CtVal ct_ir_fma(CtIr *ir, CtVal a, CtVal b, CtVal c);
/* ir_word.c: an operation on WORDS, with 2 operands or 3. */
CtVal ct_ir_word(CtIr *ir, CtOp op, const CtVal *args);
/* FUNNEL_L, FUNNEL_R, BYTE_PERM or DP4A... of known words. */
uint32_t ct_word_op(CtOp op, uint32_t a, uint32_t b, uint32_t c);
CtVal ct_ir_select(CtIr *ir, CtVal c, CtVal a, CtVal b);
/* A cast, as ct_convert. Made of several operations where narrow types are far apart, so that CAST goes
   from a narrow type to its compute type only, to a narrow float from compute types, to a narrow integer
   from i32. */
CtVal ct_ir_cast(CtIr *ir, CtVal a, CtDtype type);
CtVal ct_ir_bitcast(CtIr *ir, CtVal a, CtDtype type); /* types of equal width */
CtVal ct_ir_dynamic(CtIr *ir, CtVal a); /* hides a constant; other values are themselves */

/* The offset is that of a view: linear. The operation has the element's place. */
CtVal ct_ir_load(CtIr *ir, uint32_t buf, CtVal offset);
void ct_ir_store(CtIr *ir, uint32_t buf, CtVal offset, CtVal value);

CtVal ct_ir_var(CtIr *ir, CtDtype type, const char *name);
CtVal ct_ir_get(CtIr *ir, CtVal var);
void ct_ir_set(CtIr *ir, CtVal var, CtVal value);
/* The same, put before `op` in op's region; `value` must be defined there. op 0: at the end. */
void ct_ir_set_before(CtIr *ir, CtVal var, CtVal value, CtVal op);
CtVal ct_ir_get_before(CtIr *ir, CtVal var, CtVal op);
/* Changes the type of a variable that has held only constants, and of its reads, if these were only
   cast to that type so far. Otherwise returns false and changes nothing. */
bool ct_ir_retype(CtIr *ir, CtVal var, CtDtype type);

/* Structure. Each *_begin enters a region, ct_ir_end leaves it. */
CtVal ct_ir_if(CtIr *ir, CtVal cond); /* enters `then` */
void ct_ir_else(CtIr *ir, CtVal if_); /* from `then` to `else` */
CtVal ct_ir_for(CtIr *ir, CtVal start, CtVal stop, CtVal step, int64_t unroll, const char *name);
CtVal ct_ir_loop(CtIr *ir);
void ct_ir_end(CtIr *ir, CtVal op); /* of IF FOR LOOP */
/* A block around what is recorded between begin and end. Nothing changes when it was not `used`. */
CtVal ct_ir_block_begin(CtIr *ir);
/* A block of `region` that is left here for the first time: it begins just before the operation that
   holds this point, so that values from before it outlive it; or where the block `inner` does, if not 0:
   one that is open within it and was left before. */
void ct_ir_block_late(CtIr *ir, CtVal block, CtRegion region, CtVal inner);
void ct_ir_block_end(CtIr *ir, CtVal block, bool used);
void ct_ir_break(CtIr *ir, CtVal target);
/* A probe: forget what was recorded in the current region since the position. */
CtVal ct_ir_position(const CtIr *ir);
/* Replaces an IF by the contents of its regions, when all of them may as well run always: they read no
   memory and cannot fail. With var != 0 a region may end in a SET of var, which is dropped; set[0] and
   set[1] get the values (0: none). False: the IF stays. */
bool ct_ir_flatten_if(CtIr *ir, CtVal if_, CtVal var, CtVal set[2]);
void ct_ir_rollback(CtIr *ir, CtVal position);

/* Tile operations: shapes are checked here, and the width of a copy is chosen. */
CtStatus ct_ir_check_writable(CtIr *ir, const char *op, CtView v, CtErr *err) CT_NODISCARD;
CtStatus ct_ir_copy(CtIr *ir, CtView src, CtView dst, CtErr *err) CT_NODISCARD;
/* A COPY between fragments of one size and of any two types, each element cast as ct_convert does. */
CtStatus ct_ir_convert(CtIr *ir, CtView src, CtView dst, CtErr *err) CT_NODISCARD;
CtStatus ct_ir_copy_if(CtIr *ir, CtView pred, CtView src, CtView dst, CtErr *err) CT_NODISCARD;
/* ir_atom.c: through a copy atom, made for elements of `dtype`. It takes n of a thread's elements at once,
   the bits of its layout over theirs: elements 0 to n - 1 of both views first, counted colexicographically.
   pred: NULL, or bools for every element, of which the first of each n counts, or for every n-th. */
CtStatus ct_ir_copy_by(CtIr *ir, const CtAtom *atom, CtDtype dtype, const CtView *pred, CtView src,
                       CtView dst, CtErr *err) CT_NODISCARD;
/* What a copy atom does with the bits of its layouts' data: that of the destination, but of movmatrix, which
   CuTe says nothing of: it transposes. */
const char *ct_atom_moves_to(const CtAtom *atom);
/* Elements that a thread has on a side of a copy atom. */
int64_t ct_ir_atom_values(CtIr *ir, const CtAtom *atom, CtAtomSide side, CtDtype dtype);
CtStatus ct_ir_fill(CtIr *ir, CtView dst, CtVal value, CtErr *err) CT_NODISCARD;
/* y = alpha * x + beta * y; if beta is 0, y is not read, as in BLAS. */
CtStatus ct_ir_axpby(CtIr *ir, CtVal alpha, CtView x, CtVal beta, CtView y,
                     CtErr *err) CT_NODISCARD;
/* The operation adds to what its destination held. */
bool ct_tile_reads_dst(const CtIr *ir, const CtInst *inst);
CtStatus ct_ir_gemm(CtIr *ir, CtView a, CtView b, CtView c, const CtGemmOrder *order,
                    CtErr *err) CT_NODISCARD;
typedef struct CtMmaOpts {
  CtGemmOrder order;
  /* for wgmma: a bool, false to start the sums from 0; 0: the script does not say, so true */
  CtVal accumulate;
} CtMmaOpts;
/* ir_mma.c, ir_wgmma.c: by an MMA atom; a is (V,M,K), b (V,N,K), c (V,M,N), each thread's part, V the values of one
   atom; also (V,M), (V,N), (V,M,N), and (V), (V), (V). */
CtStatus ct_ir_mma(CtIr *ir, const CtAtom *atom, CtView a, CtView b, CtView c,
                   const CtMmaOpts *opts, CtErr *err) CT_NODISCARD;
void ct_ir_effect(CtIr *ir, CtOp op, int64_t imm); /* of no operands */
void ct_ir_grid_wait(CtIr *ir);
void ct_ir_grid_barrier(CtIr *ir);
static inline bool ct_ir_has_grid_barrier(const CtIr *ir) { return ir->grid_barrier.line != 0; }
/* The shared memory of a view as the block of a rank of the cluster has it. */
CtView ct_ir_remote(CtIr *ir, CtView v, CtVal rank);
/* Fails if the view is in another block's memory; the message says what `op` would do there. */
CtStatus ct_ir_check_own(const CtIr *ir, const char *op, CtView v, CtErr *err) CT_NODISCARD;
/* ir_escape.c: CUDA C of the script, which may do anything. */
CtVal ct_ir_escape(CtIr *ir, CtDtype type, const char *text, int n, const char *const *names,
                   const CtVal *vals);
/* The same with all that a CtEscape can say; it is copied, and gets its RESULTs. A text of PTX gets
   the effect that its instructions have. */
CtVal ct_ir_code(CtIr *ir, CtDtype type, const CtEscape *code);

/* Operations of a warp, and atomic ones: ir_warp.c. A shuffle of a type that has no 32 or 64 bits goes
   by way of one that has. `by` is an i32; width a power of two, at most 32. */
CtVal ct_ir_shfl(CtIr *ir, CtShfl kind, CtVal v, CtVal by, int width);
CtVal ct_ir_vote(CtIr *ir, CtVote kind, CtVal cond); /* bool; a ballot u32, bit i is lane i's */
/* The same for the lanes of a mask (u32); 0: for the whole warp. `by` is 0 unless it is a shuffle. */
CtVal ct_ir_masked(CtIr *ir, CtMasked kind, CtVal v, CtVal by, CtVal mask, int width);
void ct_ir_sync_lanes(CtIr *ir, CtVal mask);
CtVal ct_ir_active_mask(CtIr *ir);
/* A barrier of the block that counts; op: BARRIER_COUNT, _AND or _OR. */
CtVal ct_ir_counted(CtIr *ir, CtOp op, CtVal cond);
CtVal ct_ir_clock(CtIr *ir);
/* Is there an atomic operation on this element type? ADD2's value and result are u32. */
bool ct_ir_has_atomic(CtOp op, CtDtype type);
/* Value and compare have the buffer's type, or are 0 if ops.def has no such operand. Returns 0 for
   a STORE. */
CtVal ct_ir_atomic(CtIr *ir, CtOp op, uint32_t buf, CtVal offset, CtVal value, CtVal compare);
/* ir_sync.c: n mbarriers (u64 in shared memory), of which `count` arrivals complete a phase, and their
   MBAR_INIT. Without memory 0. */
uint32_t ct_ir_mbarrier(CtIr *ir, int64_t n, uint32_t count);
/* An operation on one of them; `b` as ops.def says, or 0. The result of a TEST, else 0. */
CtVal ct_ir_mbar(CtIr *ir, CtOp op, uint32_t buf, CtVal slot, CtVal b);
void ct_ir_named_barrier(CtIr *ir, CtOp op, CtVal id, int64_t threads);
CtVal ct_ir_elect(CtIr *ir);
/* Registers that a thread has when the kernel begins, which SETMAXNREG counts from. */
int ct_ir_first_registers(const CtIr *ir);
static inline bool ct_op_is_barrier(CtOp op) {
  return op >= CT_OP_BARRIER && op <= CT_OP_BARRIER_OR;
}
static inline bool ct_op_is_sync(CtOp op) { return op >= CT_OP_MBAR_INIT && op <= CT_OP_ELECT; }
/* ir_within.c, of traces that are checked. Is the coordinate known to be within 0 .. extent-1? */
bool ct_ir_is_within(const CtIr *ir, CtInt crd, CtInt extent);
/* The list with one more; `what` is copied. */
const CtWithin *ct_ir_within_add(CtIr *ir, const CtWithin *list, CtInt crd, CtInt extent,
                                 const char *what);
/* Records a WITHIN before an access of the buffer, unless it is known to hold. */
void ct_ir_within(CtIr *ir, uint32_t buf, CtInt crd, CtInt extent, const char *what);
void ct_ir_within_view(CtIr *ir, const CtView *v); /* all of the view's */
void ct_ir_printf(CtIr *ir, const char *format, int n, const CtVal *vals);
void ct_ir_assert(CtIr *ir, CtVal cond, const char *message);

void ct_ir_require(CtIr *ir, CtRequire r); /* at the current location; its texts are copied */
void ct_ir_name(CtIr *ir, CtVal v, const char *name);          /* keeps an earlier name */
void ct_ir_name_buf(CtIr *ir, uint32_t buf, const char *name); /* likewise */

/* --- values and layouts ------------------------------------------------------------------------ */

/* A value as an integer of the algebra (constants become static), and back. `type` is i32 or i64. */
CtInt ct_ir_int(const CtIr *ir, CtVal v);
CtVal ct_ir_val(CtIr *ir, CtInt i, CtDtype type);
/* Is it the number of its thread in the block, threadIdx.x + blockDim.x * (threadIdx.y + ...)? */
bool ct_ir_is_thread_number(const CtIr *ir, CtInt i);
CtFacts ct_ir_facts(const CtIr *ir, CtInt i);
CtFacts ct_type_facts(CtDtype type); /* what every integer of the type fulfils */
/* A coordinate for arithmetic with a buffer's layout: run-time entries as 64-bit values where its
   indices need them. NULL: no memory. */
CtTuple ct_ir_coordinate(CtIr *ir, uint32_t buf, CtTuple crd);
/* Linear offset in elements of a coordinate of a view, as a value (i32, or i64 if the buffer needs
   it). */
CtStatus ct_ir_offset(CtIr *ir, CtView v, CtTuple crd, CtVal *out, CtErr *err) CT_NODISCARD;
size_t ct_ir_view_align(CtIr *ir,
                        CtView v); /* bytes, of the view's first element; a power of two <= 16 */
/* ir_swizzle.c: the place of the element at a linear offset of a buffer, in elements from its
   start. */
CtVal ct_ir_place(CtIr *ir, uint32_t buf, CtVal offset);
/* The bits that may be set in a value, as far as its operations show. */
uint64_t ct_ir_bits(const CtIr *ir, CtVal v);
uint64_t ct_ir_bits_of_int(const CtIr *ir, CtInt i);
uint64_t ct_facts_bits(CtFacts f);
static inline bool ct_buf_is_swizzled(const CtBuf *buf) { return buf->swizzle.bits != 0; }
/* The layout of a view as the language shows it: of a swizzled buffer with swizzle and offset. */
CtComposed ct_ir_view_layout(const CtIr *ir, const CtView *v);
/* Bytes of all shared buffers that the kernel declares, each aligned to 16 bytes or more; smem_buf is
   not among them, it begins behind them. */
int64_t ct_ir_shared_bytes(const CtIr *ir);
int64_t ct_ir_shared_offset(const CtIr *ir, uint32_t buf); /* its offset within that memory */
/* The memory of a shared buffer must begin at a multiple of so many bytes, a power of two. */
void ct_ir_align_shared(CtIr *ir, uint32_t buf, uint32_t bytes);
/* What a shared buffer is aligned to at most. Beyond CT_SHARED_DYNAMIC_ALIGN no declaration of dynamic
   shared memory is sure to give it: it is rounded up to, and ct_ir_shared_slack more bytes are asked for. */
enum { CT_SHARED_DYNAMIC_ALIGN = 128 };
int64_t ct_ir_shared_slack(const CtIr *ir);
uint32_t ct_ir_shared_align(const CtIr *ir);

/* --- guards (ir_guard.c) ------------------------------------------------------------------------ */

static inline CtLayout ct_guard_layout(const CtView *v, const CtGuardAxis *axis) {
  CtLayout l = {v->layout.shape, axis->stride};
  return l;
}
static inline int ct_guard_n(const CtView *v) { return v->guard == NULL ? 0 : v->guard->n; }

/* Adds an axis unless it is known to hold, or is there. `shape` is that of the view. */
CtStatus ct_ir_guard_add(CtIr *ir, CtGuard *g, CtTuple shape, CtGuardAxis axis,
                         CtErr *err) CT_NODISCARD;
/* Adds what a coordinate that is fixed in a mode of `size` must keep to. `shape`: of what is left. */
CtStatus ct_ir_guard_fix(CtIr *ir, CtGuard *guard, CtTuple shape, CtInt crd, CtInt size,
                         CtErr *err) CT_NODISCARD;
/* The guard of the part of a view at a coordinate whose `_` leave the modes of `rest`. `fixes`: the
   coordinate may lie outside the view's shape. */
CtStatus ct_ir_guard_slice(CtIr *ir, const CtView *v, CtTuple crd, CtTuple rest, bool fixes,
                           CtGuard *out, CtErr *err) CT_NODISCARD;
/* Is the element at a coordinate inside? `fix`: `fixes` as above. */
CtStatus ct_ir_guard_test(CtIr *ir, CtView v, CtTuple crd, bool fix, CtVal *out,
                          CtErr *err) CT_NODISCARD;
/* Every entry of a is less than b's, as ct_elem_less. */
CtStatus ct_ir_elem_less(CtIr *ir, CtTuple a, CtTuple b, CtVal *out, CtErr *err) CT_NODISCARD;

/* A linear function of coordinates, given by its strides over some shape, along a layout whose values
   are coordinates of that shape and begin at `at`: its strides over that layout, and its start. */
CtStatus ct_guard_along(const CtCx *cx, CtTuple stride, CtLayout coords, CtTuple at, CtTuple *out,
                        CtInt *start, CtErr *err) CT_NODISCARD;
CtTuple ct_guard_zero(const CtCx *cx, CtTuple shape); /* zeros, as many; NULL: no memory */
/* The strides of the linear coordinate within the part of a shape that begins at node `from`; 0 of
   the other modes. */
CtStatus ct_guard_linear(const CtCx *cx, CtTuple shape, uint32_t from, CtTuple *out,
                         CtErr *err) CT_NODISCARD;

/* --- reading ------------------------------------------------------------------------------------ */

/* The script's name for the view, or that of its memory. */
static inline const char *ct_ir_view_name(const CtIr *ir, const CtView *v) {
  return v->name != NULL ? v->name : ir->bufs[v->buf].name;
}
static inline const CtInst *ct_inst(const CtIr *ir, CtVal v) { return &ir->insts[v]; }
const char *ct_ir_chunk(const CtIr *ir, CtLoc loc);
/* ir_threads.c: do threads with threadIdx.x from n on come to where the builder is, for certain? *lo to *hi
   are those. */
bool ct_ir_come_threads(const CtIr *ir, int64_t n, int64_t *lo, int64_t *hi);
/* Visits every value an operation uses: scalar operands, and the dynamic integers of its views. */
void ct_ir_each_operand(const CtIr *ir, CtVal v, void (*fn)(void *ud, CtVal operand), void *ud);
void ct_ir_each_view(const CtInst *inst, void (*fn)(void *ud, const CtView *view, bool is_written),
                     void *ud);
/* The value of an integer expression over slots and constants (a CtRequire, an extent). */
CtStatus ct_ir_eval(const CtIr *ir, CtVal v, const CtSlotValue *slots, int64_t *out,
                    CtErr *err) CT_NODISCARD;

/* --- passes, each in its pass_<name>.c; ct_ir_finish runs them in order and verifies ----------- */

CtStatus ct_ir_finish(CtIr *ir, CtErr *err) CT_NODISCARD;
CtStatus ct_ir_check(const CtIr *ir,
                     CtErr *err) CT_NODISCARD; /* ir_check.c: all findings, in one message */
void ct_ir_print(const CtIr *ir, CtText *out); /* ir_print.c */

/* ir_note.c: a static decision at the current location. `what` lives for ever. Without memory, and
   beyond some hundred lines, nothing is noted. */
void ct_ir_note(CtIr *ir, const char *what, bool yes);
void ct_ir_print_notes(const CtIr *ir, CtText *out);

#endif
