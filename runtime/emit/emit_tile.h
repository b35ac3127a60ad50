/* emit_tile.h: how the emitter writes elements of views and loops over them; for emit_access.c,
   emit_each.c, emit_copy.c, emit_tile.c, emit_gemm.c and emit_mma.c. */
#ifndef CT_EMIT_TILE_H
#define CT_EMIT_TILE_H

#include "emit.h"

enum { CT_EMIT_MAX_MODES = 32, CT_UNROLL_NO = 0, CT_UNROLL_ALL = -1 /* or a factor */ };

/* d * times; for a static stride, d is all of it. */
typedef struct CtEmitStride {
  CtInt d;
  int64_t times;
} CtEmitStride;

typedef struct CtEmitLeaf {
  CtInt extent;
  CtEmitStride stride;
} CtEmitLeaf;

typedef struct CtEmitLeaves {
  int n;
  CtEmitLeaf leaf[CT_EMIT_MAX_MODES];
} CtEmitLeaves;

/* var / div % mod * stride; mod 0: not reduced. The digit is below n; n 0: no bound is known. */
typedef struct CtEmitTerm {
  const char *var;
  int64_t div, mod, n;
  CtEmitStride stride;
} CtEmitTerm;

/* How to write an element of a view: base[index + terms + plus], swizzled if the buffer is. */
typedef struct CtEmitOperand {
  const CtBuf *buf;
  const char *base;
  CtVal index;
  int64_t plus;
  bool is_wide; /* offsets may not fit int */
  CtSwizzle swizzle;
  bool is_widened;  /* its elements have been widened: a staged operand */
  bool is_early;    /* load_early reads it, see emit_early.c */
  const char *when; /* the condition for the element to be inside its guard; NULL: it is inside */
  int n;
  CtEmitTerm term[2 * CT_EMIT_MAX_MODES];
} CtEmitOperand;

typedef struct CtEmitNest {
  CtEmit *e;
  CtLoc loc;
  int n;
  size_t mark[CT_EMIT_MAX_MODES + 4];
} CtEmitNest;

/* --- emit_access.c ----------------------------------------------------------------------------- */

CtEmitStride ct_emit_times(CtEmitStride s, int64_t by);
static inline bool ct_emit_is_stride(CtEmitStride s, int64_t v) { return ct_is_const(s.d, v); }
/* Does a mode of stride `next` continue where a mode of extent n and stride s ends? */
bool ct_emit_continues(CtInt n, CtEmitStride s, CtEmitStride next);
/* The leaves of a layout except those of extent 1; merged if `coalesce`. False if there are too
   many. */
bool ct_emit_list_leaves(CtLayout l, bool coalesce, CtEmitLeaves *out);
int64_t ct_emit_leaves_size(const CtEmitLeaves *l); /* for static leaves */

CtEmitOperand ct_emit_operand(const CtEmit *e, const CtView *view);
static inline bool ct_emit_is_register(const CtEmitOperand *op) {
  return op->buf->space == CT_REGISTER;
}
/* An array that is larger than the registers of any thread. It lies in memory, so loops over it need not be
   unrolled, which would take the compiler minutes. */
bool ct_emit_is_large(const CtEmitOperand *op);
void ct_emit_add_term(CtEmitOperand *op,
                      CtEmitTerm term); /* none for a variable NULL, which is 0 */
/* Terms for the static leaves of a mode whose flat coordinate is `var`, a multiple of `step`; NULL: it is 0. */
void ct_emit_add_split(CtEmitOperand *op, const char *var, const CtEmitLeaves *l, int64_t step);
/* Of a copy whose atoms are mode 1: the first element of atom `var`, and how many atoms there are. */
CtEmitOperand ct_emit_atom_operand(CtEmit *e, CtLoc loc, const CtView *view, const char *var);
int64_t ct_emit_n_atoms(const CtView *view);

void ct_emit_coordinate(CtEmit *e, const CtEmitOperand *op); /* writes index + terms + plus */
/* Writes the coordinate plus `extra`, after `lead` if anything is written; false if the sum is 0
   and nothing is written. */
bool ct_emit_sum(CtEmit *e, const CtEmitOperand *op, int64_t extra, const char *lead);
/* The same sum, swizzled (emit_swizzle.c). */
bool ct_emit_swizzled(CtEmit *e, const CtEmitOperand *op, int64_t extra, const char *lead);
bool ct_emit_is_far(CtLayout l); /* offsets of its static modes may not fit int */
/* base[offset + extra]; base + offset; *reinterpret_cast<float4*>(base + offset). */
void ct_emit_element(CtEmit *e, const CtEmitOperand *op, int64_t extra);
void ct_emit_address(CtEmit *e, const CtEmitOperand *op);
void ct_emit_vector(CtEmit *e, const CtEmitOperand *op, int vec, bool is_read);
/* ct_emit_element, to be read: through the buffer's hint for caches. */
void ct_emit_read_element(CtEmit *e, const CtEmitOperand *op, int64_t extra);
/* Writes "x[i] = " or "__stcs(&x[i], "; the value follows, then the text that is returned. */
const char *ct_emit_begin_store(CtEmit *e, const CtEmitOperand *op, int vec);
/* The same elements, in the type that computes. */
void ct_emit_wide_element(CtEmit *e, const CtEmitOperand *op, int64_t extra);
/* The CUDA type of `vec` elements: 32-bit words if the elements are narrower. */
const char *ct_emit_vector_type(CtDtype type, int vec);
/* Element j of the vector v, which has `vec` elements. */
void ct_emit_lane(CtEmit *e, CtDtype type, int vec, const char *v, int j);
const char *ct_emit_unsigned(CtDtype type); /* for the integer type */

void ct_emit_enter_scope(CtEmitNest *nest);
/* Begins a loop over [0, extent), named by the letter; returns the name of its variable. NULL: it would have one
   turn, in which its variable were 0, so there is no loop to leave. */
const char *ct_emit_enter_loop(CtEmitNest *nest, char wanted, CtInt extent, int step, int unroll);
void ct_emit_leave(CtEmitNest *nest);
void ct_emit_leave_all(CtEmitNest *nest);

/* --- emit_guard.c ------------------------------------------------------------------------------ */

/* The coordinate that an axis of a view's guard checks, without terms. */
CtEmitOperand ct_emit_axis(const CtEmit *e, const CtView *view, const CtGuardAxis *axis);
/* Conditions as text, in the arena: at < bound; and the conjunction of two, either of which may be
   NULL. */
const char *ct_emit_below(CtEmit *e, const CtEmitOperand *at, CtInt bound);
const char *ct_emit_and(CtEmit *e, const char *a, const char *b);
/* The element (widened, as by ct_emit_wide_element), or the vector; 0 if op->when is false. */
void ct_emit_value(CtEmit *e, const CtEmitOperand *op, bool widen);
void ct_emit_vector_value(CtEmit *e, const CtEmitOperand *op, int vec);
void ct_emit_enter_when(CtEmitNest *nest, const char *when); /* if (when) {; nothing if NULL */
/* const bool inside = when; returns the name. */
const char *ct_emit_name_when(CtEmitNest *nest, const char *when);

/* --- emit_tile_cast.c -------------------------------------------------------------------------- */

/* How many elements in registers to cast at once: 2 if the target packs or unpacks pairs. */
int ct_emit_cast_width(const CtEmit *e, CtDtype to, CtDtype from);
/* Statements that cast the elements at `vec` offsets from src into those from dst. A line is open
   before and after. */
void ct_emit_cast_elements(CtEmit *e, CtLoc loc, const CtEmitOperand *dst, const int64_t *dst_lanes,
                           const CtEmitOperand *src, const int64_t *src_lanes, int vec);

/* --- emit_early.c ------------------------------------------------------------------------------ */

bool ct_emit_is_early(const CtEmit *e, CtVal v); /* a copy whose loads must stay where they are */
/* True if the loads must be held here: the next operation is not an early copy, and ptxas would
   move them. */
bool ct_emit_ends_early(const CtEmit *e, CtVal v);

/* --- emit_products.c, emit_gemm.c ------------------------------------------------------------------- */

/* How to write a register of an operand: as an element of which C type, and for the assembler. */
typedef struct CtEmitWord {
  const char *type;
  char constraint;
} CtEmitWord;
CtEmitWord ct_emit_word(const CtAtom *atom, CtAtomOperand of);

/* The modes of a matrix: rows, then k or columns. */
typedef struct CtEmitMatrix {
  CtEmitLeaves mode[2];
  int64_t size[2];
} CtEmitMatrix;
/* Lists modes `first` and `first` + 1 of a layout; fails if they have too many leaves. */
bool ct_emit_list_modes(CtEmit *e, CtLoc loc, CtLayout l, int first, const char *name,
                        CtEmitMatrix *out);
void ct_emit_scale_modes(CtEmitMatrix *m, int64_t per); /* in units of `per` elements */
/* The operand's element at these variables, the first of which is a multiple of `step`. */
CtEmitOperand ct_emit_at(const CtEmitOperand *op, const CtEmitMatrix *m, const char *row,
                         int64_t step, const char *column);
/* c = a * b + c, rounded once; integers wrap around. */
void ct_emit_fma(CtEmit *e, const CtEmitOperand *c, const CtEmitOperand *a, const CtEmitOperand *b);
/* Fails and returns false if the destination's elements are bool. */
bool ct_emit_has_numbers(CtEmit *e, const CtInst *inst, const char *what);
void ct_emit_gemm(CtEmit *e, const CtInst *inst);
/* The m times n products of one k, in an order: loops, which are left open, and inside them what
   `multiply` writes. */
typedef struct CtEmitProducts {
  CtEmit *e;
  CtLoc loc;
  int64_t m, n;
  void (*multiply)(void *ud, const char *m, const char *n, const char *k);
  void *ud;
  bool is_rolled; /* the loops are not unrolled */
} CtEmitProducts;
void ct_emit_products(const CtEmitProducts *w, const CtGemmOrder *order, CtEmitNest *nest,
                      const char *k);
void ct_emit_copy(CtEmit *e, CtVal v);      /* emit_copy.c */
void ct_emit_mma(CtEmit *e, CtVal v);       /* emit_mma.c */
void ct_emit_wgmma(CtEmit *e, CtVal v);     /* emit_wgmma.c */
void ct_emit_warp_copy(CtEmit *e, CtVal v); /* emit_move.c */
/* emit_tcgen05.c */
void ct_emit_tcgen05_copy(CtEmit *e, CtVal v);
void ct_emit_tcgen05_cp(CtEmit *e, CtVal v);
/* emit_wgmma.c: lists of registers: "{%0, %1, ...}", and their constraints "=r"(r[0]), ... */
void ct_emit_register_list(CtText *out, int first, int n);
void ct_emit_constraints(CtText *out, const char *how, char constraint, const char *name, int n);

#endif
