/* ir_build.h: what the files that build and change an IR share (ir*.c, pass_*.c); not for others. */
#ifndef CT_IR_BUILD_H
#define CT_IR_BUILD_H

#include "ir_guard.h"
#include "ir_make.h"
#include "runtime/layout/layout_algebra.h"

/* A context of the layout algebra: results in the IR's arena, arithmetic as operations of the IR. */
static inline CtAlg ct_ir_alg(CtIr *ir, CtErr *err) {
  CtCx cx = ct_ir_cx(ir);
  return al_begin(&cx, err);
}

/* Makes room for `need` entries of one of the IR's arrays; false: no memory, the IR has failed. */
#define CT_IR_GROW(ir, array, n, cap, need)                                                        \
  (CT_GROW((ir)->arena.alloc, (ir)->array, (ir)->cap, (need), NULL) == CT_OK                       \
       ? true                                                                                      \
       : ((ir)->failed = true, false))

CtVal ct_ir_new(CtIr *ir, CtOp op, CtDtype type);    /* in no region; 0 when out of memory */
CtVal ct_ir_append(CtIr *ir, CtOp op, CtDtype type); /* at the end of the current region */
void ct_ir_link(CtIr *ir, CtVal v, CtRegion region, CtVal before); /* before 0: at the end */
void ct_ir_unlink(CtIr *ir, CtVal v);
/* An operation with a CtEscape; names may be NULL. */
CtVal ct_ir_text_op(CtIr *ir, CtOp op, CtDtype type, const char *text, int n,
                    const char *const *names, const CtVal *vals);
/* 0 when out of memory. */
CtRegion ct_ir_new_region(CtIr *ir, CtVal owner);
/* A copy; of NULL: NULL. */
const char *ct_ir_intern(CtIr *ir, const char *s);
bool ct_ir_encloses(const CtIr *ir, CtRegion outer, CtRegion inner); /* or is it */

uint32_t ct_ir_new_buf(CtIr *ir, const CtBuf *buf);
/* Its layout says nothing of coordinates: messages name offsets. */
void ct_ir_forget_coordinates(CtIr *ir, CtBuf *buf);
/* A buffer that begins where `chosen` says; `buf` has what else is known of it. */
CtView ct_ir_chosen(CtIr *ir, CtBuf buf, CtVal chosen);
/* One that begins there and was asked for before, as this type; 0: there is none. */
uint32_t ct_ir_find_chosen(const CtIr *ir, uint32_t list, CtVal chosen, CtDtype dtype);
/* One of elements of type t that begins where this chosen one does. */
uint32_t ct_ir_chosen_as(CtIr *ir, uint32_t buf, CtDtype t);
/* Says that an operation writes the buffer. */
static inline void ct_ir_written(CtIr *ir, uint32_t buf) {
  ir->bufs[ct_ir_memory(ir, buf)].is_written = true;
}

/* Arithmetic of the layout algebra: exact, since indices of a tensor fit the type chosen for it. */
CtVal ct_ir_int_op(CtIr *ir, CtIntOp op, CtInt a, CtInt b);

/* Lines that a script may have; none is -1 or 0. */
enum { CT_MOST_LINES = 1 << 30 };
static inline bool ct_loc_is(CtLoc loc) { return loc.line >= -1 && loc.line < CT_MOST_LINES; }

/* Bytes that no block has more of, whatever the target; what a launch gives counts by itself. */
enum { CT_MOST_SHARED = 1 << 20 };

/* What is wrong with an operation by itself (ir_check_op.c), with a view, and with an entry of a table
   (ir_check_memory.c); NULL: nothing. */
const char *ct_ir_op_fault(const CtIr *ir, CtVal v);
const char *ct_ir_view_fault(const CtIr *ir, const CtView *v);
const char *ct_ir_buf_fault(const CtIr *ir, uint32_t buf);
const char *ct_ir_shared_fault(const CtIr *ir); /* with a block's shared memory as a whole */
const char *ct_ir_param_fault(const CtIr *ir, size_t param);
const char *ct_ir_slot_fault(const CtIr *ir, size_t slot);
const char *ct_ir_map_fault(const CtIr *ir, size_t map);
const char *ct_ir_require_fault(const CtIr *ir, size_t require);

/* CtUntyped of what is made of the operands; `kept`: without arithmetic. */
uint8_t ct_ir_untyped_of(const CtIr *ir, const CtVal *args, int n, bool kept);

/* The operation like *key: one that dominates this place, or a new one. */
CtVal ct_ir_shared_inst(CtIr *ir, const CtInst *given);

/* Facts (ir_facts.c). */
CtFacts ct_const_facts(int64_t v);
/* a >> n of n >= 0, with the sign kept: what C's own shift does to it is up to the compiler. */
static inline int64_t ct_arithmetic_shift(int64_t a, int64_t n) {
  return n > 62 ? -(a < 0) : ct_floordiv(a, (int64_t)1 << n);
}
static inline bool ct_facts_is_one(CtFacts f) { return f.lo == f.hi; }
/* A function of one or two floats of constants, with the bits of the engines; false: not folded. */
bool ct_fold_math(CtOp op, CtDtype type, double a, double b, double *out);
/* Facts about the result of an operation on integers. `exact`: the result is known to fit. */
CtFacts ct_op_facts(CtOp op, CtDtype type, CtFacts a, CtFacts b, bool exact);
/* The operation ORDERS u64 operands whose ranges say nothing: they are not known to be below 2^63. */
bool ct_is_signed_view(CtOp op, CtDtype type, CtFacts a, CtFacts b);

/* Folds a binary operation on two integer constants; false if it must happen at run time. */
bool ct_fold_ints(CtOp op, CtDtype type, int64_t a, int64_t b, int64_t *r);
/* As ct_ir_binary, of integers whose result is known to fit. */
CtVal ct_ir_binary_exact(CtIr *ir, CtOp op, CtVal a, CtVal b);

/* Tile operations (ir_tile.c). A CtTileCx is one that is being made: checks are written one after the other,
   and the first failure is kept, as in CtAlg. `op` begins the messages. */
typedef struct CtTileCx {
  CtIr *ir;
  const char *op;
  const CtAtom *atom; /* that was asked for, or NULL */
  CtAlg g;
} CtTileCx;

static inline CtTileCx ct_tile_begin(CtIr *ir, const char *op, const CtAtom *atom, CtErr *err) {
  return (CtTileCx){ir, op, atom, ct_ir_alg(ir, err)};
}
/* "<op>: <what is wrong>"; with a view or two in front of that, as people know them. */
void ct_tile_fail(CtTileCx *c, const char *what, ...) CT_PRINTF(2, 3);
void ct_tile_fail_view(CtTileCx *c, CtView v, const char *what, ...) CT_PRINTF(3, 4);
void ct_tile_fail_views(CtTileCx *c, CtView a, CtView b, const char *what, ...) CT_PRINTF(4, 5);
void ct_ir_put_view(CtIr *ir, CtView v, CtText *out); /* "tAsA (4,1):(32,1032)" */
/* Of one width; or a byte and a float of 4 or 6 bits, which are the low bits of a byte. */
static inline bool ct_ir_is_in_byte(CtDtype t) { return ct_is_float(t) && ct_dtypes[t].bits < 8; }
static inline bool ct_ir_can_rebit(CtDtype a, CtDtype b) {
  return ct_dtypes[a].bits == ct_dtypes[b].bits || (ct_ir_is_in_byte(a) && b == CT_u8) ||
         (a == CT_u8 && ct_ir_is_in_byte(b));
}
/* ir_recast.c. The low bits of a word (u32) as an element of a packed type, and such an element as a word; one element
   of a packed buffer. */
CtVal ct_ir_packed_element(CtIr *ir, CtVal bits, CtDtype t);
CtVal ct_ir_packed_bits(CtIr *ir, CtVal v);
CtVal ct_ir_load_packed(CtIr *ir, uint32_t buf, CtVal offset);
void ct_ir_store_packed(CtIr *ir, uint32_t buf, CtVal offset, CtVal value);
/* ir_tile.c: a copy and a fill of elements that share no bytes; what holds for copies of any elements. */
CtStatus ct_tile_copy(CtIr *ir, CtView src, CtView dst, CtErr *err) CT_NODISCARD;
CtStatus ct_tile_fill(CtIr *ir, CtView dst, CtVal value, CtErr *err) CT_NODISCARD;
void ct_tile_check_pair(CtTileCx *c, CtView src, CtView dst);
CtVal ct_tile_add(CtIr *ir, CtOp op, const CtTile *tile);
/* Fail where a view of declared memory reaches past its end; where it must not be written; where its shape
   is not static. */
void ct_tile_check_inside(CtTileCx *c, CtView v);
void ct_tile_check_writable(CtTileCx *c, CtView v);
void ct_tile_check_static(CtTileCx *c, CtView v);
void ct_tile_check_order(CtTileCx *c, const CtGemmOrder *order);
/* Types, sizes, and that both views lie in their tensors. */
void ct_tile_check_copy(CtTileCx *c, CtView src, CtView dst);
/* Bools, inside their tensor; of any size. */
void ct_tile_check_pred(CtTileCx *c, CtView pred);
/* Instructions take the 32-bit words of the fragment from now on. */
void ct_tile_use_words(CtIr *ir, uint32_t buf);

/* ir_width.c. Why a view of `size` elements cannot be accessed in vectors of `vec`; WIDEST: it can. */
CtWidthWhy ct_tile_refuse(CtIr *ir, CtView v, int64_t size, int64_t vec);
CtWidth ct_tile_copy_width(CtIr *ir, CtView src, CtView dst, CtInt size);
/* A predicate may be one for a whole vector only. */
void ct_tile_limit_width(CtIr *ir, CtView pred, CtInt size, CtWidth *w);
/* How many consecutive rows of a GEMM's operand are read at once: contiguous, and aligned at every k. */
CtWidth ct_tile_row_width(CtIr *ir, CtView v, uint8_t of);
/* Are groups of n consecutive coordinates of a static view n consecutive elements, from a multiple of n on? */
bool ct_tile_is_packed(const CtIr *ir, CtView v, int64_t n);

/* Products by wgmma (ir_wgmma.c): operands a, b, c of ct_ir_mma, already of the right ranks and
   types. */
void ct_ir_wgmma(CtTileCx *c, const CtView v[3], const CtMmaOpts *opts);
/* The same by tcgen05, and copies of tensor memory (ir_tcgen05.c). */
void ct_ir_tcgen05(CtTileCx *c, const CtView v[3], const CtMmaOpts *opts);
void ct_ir_tcgen05_copy(CtTileCx *c, CtDtype dtype, CtView src, CtView dst);
void ct_ir_tcgen05_cp(CtTileCx *c, CtDtype dtype, CtView src, CtView dst);
/* Values of mode 0 follow one another in a fragment, as an instruction names its registers. */
bool ct_wgmma_is_compact(CtTileCx *c, CtView v);
/* Adds the operation of a product whose B is in shared memory, of wgmma or tcgen05, if `check` and the order find no
   fault. What it knows of the operands, which `check` fills; NULL after a fault. */
typedef void CtWgmmaCheck(CtTileCx *c, const CtView v[3], CtWgmma *w);
CtWgmma *ct_wgmma_add(CtTileCx *c, CtOp operation, const CtView v[3], const CtMmaOpts *opts,
                      CtWgmmaCheck *check);
/* Of ir_mma.c: an operand in registers; the counts of atoms; a block of whole groups of `n` threads. */
void ct_mma_check_register(CtTileCx *c, CtView v, CtAtomOperand of);
void ct_mma_check_shapes(CtTileCx *c, const CtView v[3]);
void ct_mma_check_scale_shapes(CtTileCx *c, const CtView v[3], const CtMmaOpts *opts);
void ct_mma_check_block(CtTileCx *c, int64_t n, const char *group, const char *way);
/* The tile as a descriptor says it. */
void ct_wgmma_tile(CtTileCx *c, CtView v, CtAtomOperand of, CtWgmmaTile *out);

#endif
