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

   ir_op.h has the operations, ir_data.h what they work on, ir_make.h the functions that make an IR. This
   header has the program as a whole, and what engines and tools ask of it. */
#ifndef CT_IR_H
#define CT_IR_H

#include "ir_data.h"
#include "ir_op.h"
#include "runtime/base/hash_table.h"

/* --- arguments ------------------------------------------------------------------------------- */

typedef enum CtSlotKind {
  CT_SLOT_POINTER,
  CT_SLOT_EXTENT,
  CT_SLOT_STRIDE,
  CT_SLOT_NUMBER
} CtSlotKind;

/* No extent of a tensor whose offsets have 32 bits reaches CT_MOST_NARROW, nor does what it spans, in bytes: there
   is room at the end of what 32 bits count, for tiles of a guarded tensor that overhang. Larger tiles ask more of
   the extents (CtRequire). */
enum { CT_NARROW_ROOM = 1 << 20, CT_MOST_NARROW = INT32_MAX - CT_NARROW_ROOM };
/* The same in elements, which 32 bits count, too, where two share a byte. */
static inline int64_t ct_most_narrow(CtDtype t) {
  return (int64_t)ct_dense_count(t, CT_MOST_NARROW);
}

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

/* How the name of an argument begins that is one of a kernel's `...`: "...[1]". */
#define CT_VARARG_NAME "...["

typedef struct CtParam {
  const char *name;
  bool is_tensor;
  CtDtype dtype;
  uint32_t buf;        /* of a tensor */
  uint32_t first_slot; /* pointer, then dynamic extents, then dynamic strides; or the number */
  uint32_t n_slots;
} CtParam;

/* An assumption of the trace about the sizes; each launch checks it: value % modulus == 0, and value <= most. */
typedef struct CtRequire {
  CtVal value; /* of slots and constants only */
  int64_t modulus;
  int64_t most;            /* 0: as much as there may be */
  const char *op;          /* who asks: "tile" */
  const char *mode, *name; /* what has the value: mode "0 (M)" of "A" */
  const char *divisor;     /* what has the size `modulus`: "tile" or "thread layout" */
  CtLoc loc;
} CtRequire;

/* What is known of a tensor that is an argument, or a member of a list. */
typedef struct CtTensorSpec {
  const char *name;
  CtDtype dtype;
  CtDtype index; /* CT_i32 if the tensor spans < 2^31 bytes, else CT_i64 */
  uint32_t align;
  CtTuple shape, stride; /* static leaves are constants; CT_DYNAMIC ones become slots */
  const CtFacts *facts;  /* of the dynamic leaves, shape first, in order */
} CtTensorSpec;

/* --- operations ------------------------------------------------------------------------------- */

typedef union CtImm {
  int64_t i;
  double f;
} CtImm;

/* What the script has not given a type yet: a float that was made of plain numbers alone. In the order of how
   much is lost if it is an f32. */
typedef enum CtUntyped {
  CT_TYPED,
  CT_UNTYPED_COMPUTED, /* arithmetic rounds it */
  CT_UNTYPED_KEPT,     /* some number of the script as it is, chosen or passed on */
  CT_UNTYPED_EXACT     /* the same, and an f32 holds it: nothing is lost */
} CtUntyped;

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
  uint8_t order;       /* of atomic operations and fences: CT_ORDER_* */
  bool is_conditional; /* its facts hold by the condition of an IF around it: it stays there */
  uint8_t untyped;     /* CtUntyped; only while the IR is made */
  bool is_met;         /* untyped, an f32, and needed more exactly: the script is traced again */
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
  bool is_common;    /* it stands for a whole family: sm_100f */
  int sm;            /* compute capability times 10: 90 */
  size_t shared_max; /* bytes of shared memory a block may have */
  const char *name;  /* of the device, for messages */
} CtTarget;

/* How a kernel is written and compiled; results are the same. 0, false: nothing is said, and the text is as ever. */
enum { CT_EMISSION_ORDERS = 16 };
typedef struct CtEmission {
  int registers;         /* of a thread, at most: what ptxas is told */
  int planned_registers; /* what the compiler before it is told */
  int unroll;            /* turns of the innermost loops in one */
  int order;             /* of declared arrays, 1 .. CT_EMISSION_ORDERS; 1: as they come */
  bool pin;              /* integers that are computed before loops stay in registers */
  bool cutlass;          /* the name says so, and ptxas takes other rules */
} CtEmission;

/* What a function gives back: a value that it computes, one without a type that an f32 holds, or what is known
   while it is traced. */
typedef enum CtReturnKind {
  CT_RETURN_VALUE,
  CT_RETURN_EXACT,
  CT_RETURN_INT,
  CT_RETURN_FLOAT,
  CT_RETURN_BOOL
} CtReturnKind;
typedef struct CtReturn {
  CtReturnKind kind;
  CtImm known;
} CtReturn;

typedef struct CtIr {
  CtArena arena;
  const char *name; /* of the kernel */
  const char
      *constants; /* arguments that are constants, for people: lines "sA = (4,8):(8,1)"; or NULL */
  CtLoc loc;      /* of its function */
  CtTarget target;
  int64_t block[3];   /* threads per block */
  int64_t cluster[3]; /* blocks per cluster; {1,1,1}: the launch has no clusters */
  int64_t smem;   /* bytes of shared memory that the launch gives beside what the kernel declares */
  int min_blocks; /* that must fit on a multiprocessor; 0: the script does not say */
  uint32_t smem_buf;  /* the buffer that has them, or 0 */
  int64_t max_unroll; /* turns of a loop that tracing unrolls without being asked; 0: not said */
  CtEmission emission;
  bool contract;        /* a*b + c becomes fma */
  bool is_checked;      /* it has WITHIN; see ir_within.c */
  bool finds_overflow;  /* it has WRAPS; see ir_wraps.c */
  CtVal overflow_if;    /* while it is built: where overflow counts, a bool; 0: everywhere */
  bool may_overlap;     /* others may write what a tensor reads: another tensor, a launch before */
  bool early_index;     /* index arithmetic moves before loops: pass_early.c */
  bool has_addresses;   /* has tensor_at: the CPU engine needs the spans of memory */
  bool waits_for_grids; /* has grid_dependency_wait */
  CtLoc grid_barrier;   /* its first GRID_BARRIER, which needs a cooperative launch; line 0: none */
  bool failed;          /* out of memory while building */
  uint8_t n_returns;    /* of a function */
  uint32_t open_results; /* of a function, a bit for each: it has no type yet (CtUntyped) */
  CtReturn *returns;     /* of a function: its results, in order */
  CtDyn dyn;             /* for the layout algebra: arithmetic on this IR's values */
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
  CtHashTable cse;  /* of shareable operations */
  bool wants_notes; /* of static decisions, for people */
  CtNote *notes;    /* in order of their first times */
  size_t n_notes, cap_notes;
  CtSlotValue
      *samples; /* of the traced launch, by slot, or NULL: messages show these values of numbers */
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

/* --- asking ------------------------------------------------------------------------------------- */

/* The script's name for the view, or that of its memory; of memory without a name what it is: "the fragment". */
const char *ct_ir_view_name(const CtIr *ir, const CtView *v);
static inline const CtInst *ct_inst(const CtIr *ir, CtVal v) { return &ir->insts[v]; }
const char *ct_ir_chunk(const CtIr *ir, CtLoc loc);
/* The name of a buffer in messages. What the script did not name of another block's memory has a name
   made of its tensor's, and is called as that. */
const char *ct_ir_shown_name(const CtIr *ir, uint32_t buf);
/* Operations share operands, so a walk from a value to its leaves may have 2^n ways through n of them,
   and the way to a leaf may be as long as the kernel. A walk without memory counts its steps, and takes
   what it does not reach for unknown. */
enum { CT_WALK_STEPS = 256 };
static inline bool ct_ir_step(int *left) { return *left > 0 && (*left)-- > 0; }
/* ir_threads.c: do threads with threadIdx.x from n on come to where the builder is, for certain? *lo to *hi
   are those. */
bool ct_ir_come_threads(const CtIr *ir, int64_t n, int64_t *lo, int64_t *hi);
/* Visits every value an operation uses: scalar operands, and the dynamic integers of its views. */
void ct_ir_each_operand(const CtIr *ir, CtVal v, void (*fn)(void *ud, CtVal operand), void *ud);
/* Is v one of them? */
bool ct_ir_uses(const CtIr *ir, CtVal user, CtVal v);
void ct_ir_each_view(const CtInst *inst, void (*fn)(void *ud, const CtView *view, bool is_written),
                     void *ud);
/* Do the arguments alone decide an integer, by at most CT_SIZE_MAX_OPS operations, so that ct_ir_eval computes
   it? */
enum { CT_SIZE_MAX_OPS = 255 };
bool ct_ir_is_of_launch(const CtIr *ir, CtVal v);
/* The value of an integer expression over slots and constants (a CtRequire, an extent). */
CtStatus ct_ir_eval(const CtIr *ir, CtVal v, const CtSlotValue *slots, int64_t *out,
                    CtErr *err) CT_NODISCARD;

int64_t ct_ir_cluster_size(const CtIr *ir);
static inline int64_t ct_ir_block_size(const CtIr *ir) {
  return ir->block[0] * ir->block[1] * ir->block[2];
}
static inline bool ct_ir_has_grid_barrier(const CtIr *ir) { return ir->grid_barrier.line != 0; }
/* Registers that a thread has when the kernel begins, which SETMAXNREG counts from. */
int ct_ir_first_registers(const CtIr *ir);
/* Of the table of a list, see ir_list.c. */
int ct_ir_list_columns(const CtTensorSpec *members);

CtCx ct_ir_cx(CtIr *ir); /* context for the layout algebra: results in the IR's arena */
/* A value as an integer of the algebra (constants become static); ct_ir_val is the way back. */
CtInt ct_ir_int(const CtIr *ir, CtVal v);
/* Is it the number of its thread in the block, threadIdx.x + blockDim.x * (threadIdx.y + ...)? */
bool ct_ir_is_thread_number(const CtIr *ir, CtInt i);
CtFacts ct_ir_facts(const CtIr *ir, CtInt i);
CtFacts ct_type_facts(CtDtype type); /* what every integer of the type fulfils */
/* Does the exact result of an operation that WRAPS fit in the signed type, whatever the
   operands are? */
bool ct_op_fits(CtOp op, CtDtype type, CtFacts a, CtFacts b);
/* The bits that may be set in a value, as far as its operations show. */
uint64_t ct_ir_bits(const CtIr *ir, CtVal v);
uint64_t ct_ir_bits_of_int(const CtIr *ir, CtInt i);
uint64_t ct_facts_bits(CtFacts f);

/* The layout of a view as the language shows it: of a swizzled buffer with swizzle and offset. */
CtComposed ct_ir_view_layout(const CtIr *ir, const CtView *v);
/* Has the buffer elements of which two share a byte? */
static inline bool ct_ir_is_packed(const CtIr *ir, uint32_t buf) {
  const CtBuf *b = &ir->bufs[buf];
  return ct_dtype_is_packed(b->dtype) && (b->space == CT_GLOBAL || b->space == CT_SHARED);
}
/* The buffer itself, or the one that it is an alias of. */
uint32_t ct_ir_memory(const CtIr *ir, uint32_t buf);
/* Bytes that the address of a global buffer is a multiple of, as far as the operations rely on it: those of an element
   where all of them access single elements, else as many as are known. */
uint32_t ct_ir_relied_align(const CtIr *ir, uint32_t buf);
/* Does the kernel write at addresses that it is given (tensor_at)? */
bool ct_ir_writes_at(const CtIr *ir);
int64_t ct_ir_constant_bytes(const CtIr *ir);
/* Bytes of all shared buffers that the kernel declares, each aligned to 16 bytes or more; smem_buf is
   not among them, it begins behind them. */
int64_t ct_ir_shared_bytes(const CtIr *ir);
int64_t ct_ir_shared_offset(const CtIr *ir, uint32_t buf); /* its offset within that memory */

/* Columns of tensor memory: of a buffer, a power of two; of all buffers below `before`. */
int64_t ct_buf_columns(const CtBuf *buf);
/* Does it multiply by pairs of blocks? Then all that it does with tensor memory is of pairs, as PTX wants. */
bool ct_ir_has_pairs(const CtIr *ir);
int64_t ct_ir_tmem_columns(const CtIr *ir, uint32_t before);
/* Which element of tensor memory the thread's value i of an atom is, from the first one on, in elements of `width` bits.
   `layout`: the atom's, parsed. */
int64_t ct_atom_tmem_at(const CtAtom *atom, CtLayout layout, int width, int thread, int64_t i);

/* What each thread may have of its own: elements of a tensor in registers, bytes of a local array. */
enum { CT_FRAGMENT_ELEMENTS = 1 << 16, CT_LOCAL_BYTES = 1 << 19 };

/* What a shared buffer is aligned to at most. Beyond CT_SHARED_DYNAMIC_ALIGN no declaration of dynamic
   shared memory is sure to give it: it is rounded up to, and ct_ir_shared_slack more bytes are asked for. */
enum { CT_SHARED_DYNAMIC_ALIGN = 128 };
int64_t ct_ir_shared_slack(const CtIr *ir);
uint32_t ct_ir_shared_align(const CtIr *ir);

/* The operation adds to what its destination held. */
bool ct_tile_reads_dst(const CtIr *ir, const CtInst *inst);
/* What a copy atom does with the bits of its layouts' data: that of the destination, but of movmatrix, which
   CuTe says nothing of: it transposes. */
const char *ct_atom_moves_to(const CtAtom *atom);
/* Elements that a thread has on a side of a copy atom. */
int64_t ct_ir_atom_values(CtIr *ir, const CtAtom *atom, CtAtomSide side, CtDtype dtype);
/* Is there an atomic operation on this element type? ADD2's value and result are u32. */
bool ct_ir_has_atomic(CtOp op, CtDtype type);

/* Does the size fulfil it? Else the error says why not; it has no place yet. */
CtStatus ct_require_check(const CtRequire *r, int64_t value, CtErr *err) CT_NODISCARD;

/* --- passes, each in its pass_<name>.c; ct_ir_finish runs them in order and verifies ----------- */

CtStatus ct_ir_finish(CtIr *ir, CtErr *err) CT_NODISCARD;
CtStatus ct_ir_check(const CtIr *ir,
                     CtErr *err) CT_NODISCARD;       /* ir_check.c: all findings, in one message */
void ct_ir_print(const CtIr *ir, CtText *out);       /* ir_print.c */
void ct_ir_print_notes(const CtIr *ir, CtText *out); /* ir_note.c: static decisions */

#endif
