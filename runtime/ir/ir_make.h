/* ir_make.h: the builder, which makes an IR: its arguments, memory, operations and their order.

   It folds constants, shares pure operations that dominate, keeps a range and a divisor for each
   integer, and never jumps: a failed call (out of memory) sets CtIr.failed and returns value 0, checked
   once at the end by ct_ir_finish. */
#ifndef CT_IR_MAKE_H
#define CT_IR_MAKE_H

#include "ir.h"

void ct_ir_init(CtIr *ir, CtAlloc alloc, CtTarget target, const int64_t block[3]);
void ct_ir_clear(CtIr *ir);

/* The script line of the operations that follow; the chunk's name is interned. */
void ct_ir_at(CtIr *ir, const char *chunk, int line);

/* Arguments, in order. A tensor: the given layout's dynamic leaves (ct_ir_dynamic) become slots of
   type `index` (i32 or i64) with the given facts. Returns the buffer's view; its layout has the slots'
   values. `align` is of the pointer, in bytes. */
CtView ct_ir_tensor(CtIr *ir, const CtTensorSpec *spec);
/* ir_list.c. A list of tensors that are as `spec` says: an argument whose buffer is a table of i64. A row is
   the address of a tensor, then its dynamic extents and strides. Only the members below look into it. */
CtView ct_ir_list(CtIr *ir, const CtTensorSpec *spec);
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
/* Tensor memory (CtSpace), with the shared word that gets its address, and its TMEM_ALLOC; and the end of that. */
CtView ct_ir_tmem(CtIr *ir, CtDtype dtype, CtLayout layout);
void ct_ir_tmem_dealloc(CtIr *ir, uint32_t buf);
CtView ct_ir_fragment(CtIr *ir, const char *name, CtDtype dtype, CtLayout layout);
/* Constant memory that holds `elements`, which are given in linear order. Memory of the same elements is
   declared once. */
CtView ct_ir_constant(CtIr *ir, CtDtype dtype, CtLayout layout, const void *elements);
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

/* Constants: an integer or bool, wrapped to its type; a float, rounded to it. */
CtVal ct_ir_const_int(CtIr *ir, CtDtype type, int64_t v);
CtVal ct_ir_const_float(CtIr *ir, CtDtype type, double v);
/* ir_untyped.c. A float that has this type because it needs one: what is made of it has no type either (CtUntyped).
   Then the same of an integer of type `from`, rounded once, and of an integer value that a float operation takes. */
CtVal ct_ir_untyped_float(CtIr *ir, CtDtype type, double v);
CtVal ct_ir_untyped_int(CtIr *ir, CtDtype type, CtDtype from, int64_t v);
uint8_t ct_untyped_number(double v); /* KEPT or EXACT */
CtVal ct_ir_untyped_cast(CtIr *ir, CtVal v, CtDtype type);
CtVal ct_ir_axis(CtIr *ir, CtOp op, int axis); /* TID BID GDIM: i32, with their ranges */
CtVal ct_ir_cluster_rank(CtIr *ir);            /* of the block in its cluster */

/* PURE operations. Operands have the types ops.def asks for (asserted; arithmetic and comparisons take
   no narrow type: cast to ct_dtype_compute first); `type` of SELECT and CAST is the result's. Constants are
   folded, simple identities applied where they keep every bit. */
CtVal ct_ir_unary(CtIr *ir, CtOp op, CtVal a);
/* POPC, CLZ, FFS or BREV of the low `width` bits of v. */
int64_t ct_bits_op(CtOp op, int width, uint64_t v);
CtVal ct_ir_binary(CtIr *ir, CtOp op, CtVal a, CtVal b);
CtVal ct_ir_fma(CtIr *ir, CtVal a, CtVal b, CtVal c);
/* ir_int.c: of two integers of a type that computes, the quotient rounded up: the type's low bits of the
   exact one. Of several operations. */
CtVal ct_ir_ceildiv(CtIr *ir, CtVal x, CtVal y);
/* ir_word.c: an operation on WORDS, with 2 operands or 3. */
CtVal ct_ir_word(CtIr *ir, CtOp op, const CtVal *args);
/* FUNNEL_L, FUNNEL_R, BYTE_PERM or DP4A... of known words. */
uint32_t ct_word_op(CtOp op, uint32_t a, uint32_t b, uint32_t c);
CtVal ct_ir_select(CtIr *ir, CtVal c, CtVal a, CtVal b);
/* A cast, as ct_convert. Made of several operations where narrow types are far apart, so that CAST goes
   from a narrow type to its compute type only, to a narrow float from compute types, to a narrow integer
   from i32. */
CtVal ct_ir_cast(CtIr *ir, CtVal a, CtDtype type);
/* Between f32 and f64, put before `op` in op's region; 0: here. */
CtVal ct_ir_cast_before(CtIr *ir, CtVal a, CtDtype type, CtVal op);
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
CtStatus ct_ir_fill(CtIr *ir, CtView dst, CtVal value, CtErr *err) CT_NODISCARD;
/* y = alpha * x + beta * y; if beta is 0, y is not read, as in BLAS. */
CtStatus ct_ir_axpby(CtIr *ir, CtVal alpha, CtView x, CtVal beta, CtView y,
                     CtErr *err) CT_NODISCARD;
CtStatus ct_ir_gemm(CtIr *ir, CtView a, CtView b, CtView c, const CtGemmOrder *order,
                    CtErr *err) CT_NODISCARD;
typedef struct CtMmaOpts {
  CtGemmOrder order;
  /* for wgmma: a bool, false to start the sums from 0; 0: the script does not say, so true */
  CtVal accumulate;
  /* for atoms with scales: (V,M,K) of a and (V,N,K) of b, V the scales of one atom; else NULL */
  const CtView *sfa, *sfb;
} CtMmaOpts;
/* ir_mma.c, ir_wgmma.c: by an MMA atom; a is (V,M,K), b (V,N,K), c (V,M,N), each thread's part, V the values of one
   atom; also (V,M), (V,N), (V,M,N), and (V), (V), (V). */
CtStatus ct_ir_mma(CtIr *ir, const CtAtom *atom, CtView a, CtView b, CtView c,
                   const CtMmaOpts *opts, CtErr *err) CT_NODISCARD;
void ct_ir_effect(CtIr *ir, CtOp op, int64_t imm); /* of no operands */
void ct_ir_grid_wait(CtIr *ir);
void ct_ir_grid_barrier(CtIr *ir);
/* The shared memory of a view as the block of a rank of the cluster has it. */
CtView ct_ir_remote(CtIr *ir, CtView v, CtVal rank);
/* A value of 4 or 8 bytes to an element of shared memory, and its bytes to an mbarrier, both in the block of a rank. */
typedef struct CtAsyncStore {
  uint32_t buf, bar; /* as the own block has them */
  CtVal offset, value, slot, rank;
} CtAsyncStore;
void ct_ir_async_store(CtIr *ir, CtOp op, const CtAsyncStore *s); /* ct_op_is_async_store(op) */
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
/* Value and compare have the buffer's type, or are 0 if ops.def has no such operand. Returns 0 for
   a STORE. */
CtVal ct_ir_atomic(CtIr *ir, CtOp op, uint32_t buf, CtVal offset, CtVal value, CtVal compare);
/* The same with CT_ORDER_*; a fence. With CT_ORDER_SYS other devices may write what the kernel reads. */
CtVal ct_ir_atomic_as(CtIr *ir, CtOp op, uint32_t buf, CtVal offset, CtVal value, CtVal compare,
                      unsigned order);
void ct_ir_fence(CtIr *ir, unsigned order);
/* ir_sync.c: n mbarriers (u64 in shared memory), of which `count` arrivals complete a phase, and their
   MBAR_INIT. Without memory 0. */
uint32_t ct_ir_mbarrier(CtIr *ir, int64_t n, uint32_t count);
/* An operation on one of them; `b` as ops.def says, or 0. The result of a TEST, else 0. */
CtVal ct_ir_mbar(CtIr *ir, CtOp op, uint32_t buf, CtVal slot, CtVal b);
void ct_ir_named_barrier(CtIr *ir, CtOp op, CtVal id, int64_t threads);
CtVal ct_ir_elect(CtIr *ir);
/* ir_within.c, of traces that are checked. Is the coordinate known to be within 0 .. extent-1? */
bool ct_ir_is_within(const CtIr *ir, CtInt crd, CtInt extent);
/* The list with one more; `what` is copied. */
const CtWithin *ct_ir_within_add(CtIr *ir, const CtWithin *list, CtInt crd, CtInt extent,
                                 const char *what);
/* Records a WITHIN before an access of the buffer, unless it is known to hold. */
void ct_ir_within(CtIr *ir, uint32_t buf, CtInt crd, CtInt extent, const char *what);
void ct_ir_within_view(CtIr *ir, const CtView *v); /* all of the view's */

/* ir_wraps.c, of traces that find overflow (CtIr.finds_overflow). Records a WRAPS before an operation of
   the script on x and y, which have one type, unless its result is known to fit. y is 0 if the operation
   has one operand. */
void ct_ir_wraps(CtIr *ir, CtOp op, CtVal x, CtVal y);
/* From here on overflow counts only where cond, a bool, holds too. Returns where it counted before, which
   _again restores. */
CtVal ct_ir_overflow_where(CtIr *ir, CtVal cond);
void ct_ir_overflow_again(CtIr *ir, CtVal outer);
void ct_ir_printf(CtIr *ir, const char *format, int n, const CtVal *vals);
void ct_ir_assert(CtIr *ir, CtVal cond, const char *message);

void ct_ir_require(CtIr *ir, CtRequire r); /* at the current location; its texts are copied */
void ct_ir_name(CtIr *ir, CtVal v, const char *name);          /* keeps an earlier name */
void ct_ir_name_buf(CtIr *ir, uint32_t buf, const char *name); /* so does this */

/* --- functions that kernels call --------------------------------------------------------------- */

/* NULL: no memory. */
CtIrFunction *ct_ir_function_new(CtAlloc alloc, const char *key);
void ct_ir_functions_free(CtAlloc alloc, CtIrFunction *list);
/* Is it called? Not if a result has no type yet, or all of them are known. */
bool ct_ir_function_is_called(const CtIrFunction *f);
/* Frees those that are not; returns the others. */
CtIrFunction *ct_ir_functions_called(CtAlloc alloc, CtIrFunction *list) CT_NODISCARD;
const CtIrFunction *ct_ir_function_find(const CtIr *ir, const char *key);
/* Calls it; args[i] is the value of its parameter "a<i + 1>". The result is a text with results. */
CtVal ct_ir_call(CtIr *ir, const CtIrFunction *f, const CtVal *args);
bool ct_text_is_call(const CtEscape *e); /* is it made by ct_ir_call? */

/* --- values and layouts ------------------------------------------------------------------------ */

/* An integer of the algebra as a value; `type` is i32 or i64. */
CtVal ct_ir_val(CtIr *ir, CtInt i, CtDtype type);
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
/* The memory of a shared buffer must begin at a multiple of so many bytes, a power of two. */
void ct_ir_align_shared(CtIr *ir, uint32_t buf, uint32_t bytes);

/* ir_note.c: a static decision at the current location. `what` lives for ever. Without memory, and
   beyond some hundred lines, nothing is noted. */
void ct_ir_note(CtIr *ir, const char *what, bool yes);

#endif
