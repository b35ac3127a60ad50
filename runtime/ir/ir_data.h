/* ir_data.h: the data of operations: memory and views of it, tiles, exchanges of a warp, the texts of a
   script. */
#ifndef CT_IR_DATA_H
#define CT_IR_DATA_H

#include "atom.h"
#include "gemm_order.h"
#include "runtime/base/dtype.h"
#include "runtime/layout/composed.h"

typedef uint32_t CtVal;    /* 0: no value */
typedef uint32_t CtRegion; /* 0: no region */
enum { CT_BODY = 1 };      /* the region that is the kernel's body */

typedef struct CtLoc {
  uint32_t chunk; /* index in CtIr.chunks */
  int32_t line;
} CtLoc;

/* --- memory ---------------------------------------------------------------------------------- */

typedef enum CtSpace { CT_GLOBAL, CT_SHARED, CT_REGISTER, CT_CONSTANT, CT_TENSOR } CtSpace;
extern const char *const ct_spaces[CT_TENSOR + 1]; /* "global", ... "tensor" */

/* Tensor memory of a block: lanes and columns of words of 32 bits. Elements of a buffer there count down the lanes of
   a column, then the columns: element e of 32 bits is at lane e % 128 and column e / 128; narrower ones share words. */
enum { CT_TMEM_LANES = 128, CT_TMEM_COLUMNS = 512, CT_TMEM_LEAST = 32 };

/* What an atomic operation or a fence orders beside what its row of ops.def says: flags. */
enum {
  CT_ORDER_SYS = 1,     /* at the scope of the system: other devices see it, too */
  CT_ORDER_RELAXED = 2, /* a load or store that orders nothing */
  CT_ORDER_ACQ_REL = 4, /* a fence that acquires and releases; else it is sequentially consistent */
  CT_ORDER_ALL = 7
};

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
  /* With `remote`: ST_ASYNCs write it, and complete on mbarriers of this buffer there; 0: others do. */
  uint32_t bar;
  bool
      is_written; /* some STORE or tile operation writes it; not said of an alias, see ct_ir_memory */
  uint32_t address;  /* tensor: the shared buffer of one word that says where it begins */
  uint32_t arrivals; /* shared: that complete a phase of its mbarriers; 0: it holds none */
  bool has_words;    /* register: instructions take its elements as words of 32 bits */
  bool is_local;     /* register: may be indexed at run time, so a GPU keeps it in local memory */
  bool
      is_fixed; /* register: holds the bits of another one (ct_ir_recast), and is not written again */
  const void *data; /* constant: its elements */
  CtLoc loc;
} CtBuf;

/* The bytes that n of its elements take: packed in global and shared memory, dense elsewhere. */
static inline int64_t ct_buf_bytes(const CtBuf *b, int64_t n) {
  return b->space == CT_GLOBAL || b->space == CT_SHARED
             ? ct_dtype_span(b->dtype, n)
             : (int64_t)ct_dense_bytes(b->dtype, (size_t)n);
}

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
  X(EXTENT, "extent")       /* that number is known only at run time */                            \
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
  CtView dst, a, b;  /* COPY: a is the source, b (if any) bools: which elements are copied;
                       FILL: dst only; AXPBY: a; GEMM, MMA, WGMMA, TCGEN05_MMA: a, b */
  const CtView *sfa; /* MMA of an atom with scales: those of a and of b; or NULL */
  const CtView *sfb;
  uint8_t vec;          /* COPY: elements per access, a power of two; 1 elsewhere */
  CtWidth width[2];     /* COPY: [0], of both sides; GEMM: of a and b, along their rows */
  bool async;           /* COPY: may be cp.async */
  CtGemmOrder order;    /* GEMM, MMA, WGMMA */
  bool zero_fill;       /* COPY: elements that b leaves out become 0 */
  const CtAtom *atom;   /* the instruction that was asked for, or NULL */
  const CtWgmma *wgmma; /* WGMMA, TCGEN05_MMA */
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

/* --- asking ---------------------------------------------------------------------------------- */

static inline bool ct_buf_is_swizzled(const CtBuf *buf) { return buf->swizzle.bits != 0; }
static inline CtLayout ct_guard_layout(const CtView *v, const CtGuardAxis *axis) {
  CtLayout l = {v->layout.shape, axis->stride};
  return l;
}
static inline int ct_guard_n(const CtView *v) { return v->guard == NULL ? 0 : v->guard->n; }

#endif
