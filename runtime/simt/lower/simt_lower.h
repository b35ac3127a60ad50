/* simt_lower.h: what the stages of lowering to the CPU engine share. simt_analyse.c finds which
   values are one per warp, which depend on the launch and the thread only, and which are needed;
   simt_lower.c emits instructions over virtual slots, with simt_lower_*.c by kind of operation,
   simt_address.c for offsets and simt_views.c for tensors; simt_peephole.c tidies them up, with
   simt_hoist.c for loops;
   simt_slots.c gives the slots places and makes the program.

   After running out of memory the functions go on, with CtLow.failed set and slot 0. */
#ifndef CT_SIMT_LOWER_H
#define CT_SIMT_LOWER_H

#include "runtime/simt/code/simt_program.h"

/* The regions as one sequence. */
typedef enum CtStepKind { CT_STEP_OP, CT_STEP_ENTER, CT_STEP_ELSE, CT_STEP_LEAVE } CtStepKind;
typedef struct CtLowStep {
  CtStepKind kind;
  CtVal v;
} CtLowStep;

/* What is known of a value. */
enum {
  CT_VARYING = 1,   /* lanes may differ; else one scalar per warp */
  CT_INVARIANT = 2, /* depends on the launch and the thread only, and cannot fail */
  CT_NEEDED = 4,    /* must be computed; addresses need only their terms */
  CT_SPLITTING = 8, /* a LOOP, FOR or BLOCK that some lanes may leave before others */
  CT_LAST = 16      /* a BLOCK with nothing after it: to leave it is to end */
};

typedef enum CtSlotClass {
  CT_CLASS_SCALAR,
  CT_CLASS_MASK,
  CT_CLASS_LANES4,
  CT_CLASS_LANES8,
  CT_CLASS_VARIABLE, /* any of the above, for the whole kernel, zeroed for each block */
  CT_CLASS_REGS,     /* a fragment */
  CT_CLASS_BYTES     /* patterns, tables */
} CtSlotClass;

/* A virtual slot. One that lives as long as the launch is `fixed`. */
typedef struct CtLowSlot {
  CtSlotClass cls;
  bool fixed;
  uint32_t bytes;
  uint32_t def, last; /* positions in the body */
  uint32_t at;        /* its place, at the end */
  uint32_t next;      /* in the list of those that die at the same position */
} CtLowSlot;

typedef struct CtLowCode {
  CtIn *in;
  size_t n, cap;
  CtLoc *locs;
  size_t cap_locs;
} CtLowCode;

typedef struct CtLowTerm {
  CtVal v, by; /* by: a scalar that the launch fixes, or 0 for 1 */
  int64_t coef;
} CtLowTerm;

/* imm + sum of coef * v * by */
enum { CT_MAX_TERMS = 12 };
typedef struct CtLowSum {
  int64_t imm;
  int n;
  CtLowTerm t[CT_MAX_TERMS];
} CtLowSum;

/* An emitted address; see simt_ops.h. */
typedef struct CtLowAddress {
  uint32_t base;    /* scalar slot */
  uint32_t pattern; /* 0: none */
  uint32_t lanes;   /* else lanes of offsets, and the rest is unused */
  int64_t imm;
  bool is_i32;
} CtLowAddress;

/* A computed thing found again: valid in its region and those inside; region 0: everywhere. */
typedef struct CtMemo {
  uint64_t key[4];
  uint32_t slot;
  CtRegion region;
  uint32_t next;
} CtMemo;
enum { CT_MEMO_BUCKETS = 1024 };

typedef struct CtFrame {
  CtVal v;
  uint32_t row; /* of saved masks; unused by an IF on a scalar */
  bool is_scalar_if;
  bool in_then;                       /* of an IF with an else, before it */
  uint32_t on_else, on_next, on_exit; /* labels */
  uint32_t loop;                      /* index in loops, of LOOP and FOR */
  uint32_t construct;
  uint32_t left, step; /* FOR: slots of iterations left, and step */
} CtFrame;

typedef struct CtLoopSpan {
  uint32_t first, last; /* positions in the body */
} CtLoopSpan;

typedef struct CtLow {
  CtAlloc alloc;
  CtArena tmp;
  const CtIr *ir;
  CtSimtProgram *p;
  bool failed;     /* out of memory */
  CtStatus status; /* of what cannot be lowered, told in *err */
  CtErr *err;
  CtLowStep *steps;
  size_t n_steps, cap_steps;
  uint8_t *flags;     /* by value */
  bool *is_divergent; /* by region: some lanes of a warp may be elsewhere, and come back */
  uint32_t *slot_of;  /* by value */
  CtLowSlot *slots;   /* [0] unused */
  size_t n_slots, cap_slots;
  CtLowCode prologue, body;
  CtLoc loc;
  CtRegion region; /* of the instruction being lowered */
  CtMemo *memos;   /* [0] unused */
  size_t n_memos, cap_memos;
  uint32_t buckets[CT_MEMO_BUCKETS];
  int32_t *labels; /* positions in the body; -1 until placed */
  size_t n_labels, cap_labels;
  CtFrame *frames;
  size_t n_frames, cap_frames;
  CtLoopSpan *loops;
  size_t n_loops, cap_loops;
  uint32_t n_rows, max_rows;
  CtScalar *consts; /* their slots are the first scalars */
  uint32_t *const_slots;
  size_t n_consts, cap_consts, cap_const_slots;
  CtSimtParam *params; /* `at` is a slot until the end */
  size_t n_params, cap_params;
  CtTileMode *modes; /* table and leaves refer to slots until the end */
  size_t n_modes, cap_modes;
  CtTileOp *tiles;
  size_t n_tiles, cap_tiles;
  CtTileGuard *guards; /* slots as those of tiles */
  size_t n_guards, cap_guards;
  CtConstruct *constructs;
  size_t n_constructs, cap_constructs;
  uint32_t tid[3], bid[3], gdim[3]; /* slots; 0: not used */
  uint32_t *reg_slots;              /* by buffer */
  CtSimtTma *tmas;
  size_t n_tmas, cap_tmas;
  const char **texts; /* of PRINT and ASSERT, in the program's arena */
  size_t n_texts, cap_texts;
  int64_t scratch_bytes;
  uint32_t *loop_at;     /* by position in the body: innermost loop + 1, 0 for none */
  uint32_t *loop_parent; /* by loop + 1: likewise */
  uint32_t *dying;       /* by position: first of the slots whose last use is there */
} CtLow;

/* simt_lower.c: the program of an IR. */
CtStatus ct_low_program(CtAlloc alloc, const CtIr *ir, CtSimtProgram **out,
                        CtErr *err) CT_NODISCARD;

static inline bool ct_low_is(const CtLow *l, CtVal v, uint8_t flag) {
  return (l->flags[v] & flag) != 0;
}

/* Makes room for one more element of an array; on failure sets l->failed. */
#define CT_LOW_GROW(l, array, n, cap)                                                              \
  (ct_grow((l)->alloc, &(l)->array, &(l)->cap, (l)->n + 1, sizeof *(l)->array, NULL) == CT_OK      \
       ? true                                                                                      \
       : ((l)->failed = true, false))

/* simt_analyse.c */
void ct_low_analyse(CtLow *l);
/* An integer as a sum; false when it is too large (then *s is the value itself). */
void ct_low_sum(const CtLow *l, CtVal v, CtLowSum *s);
/* May the sum be split in scalar and pattern? (In registers: scalar only.) */
bool ct_low_is_affine(const CtLow *l, const CtLowSum *s, CtSpace space);
/* The operand of a comparison that may be split so, the other one being a scalar; 0 where there is none. */
CtVal ct_low_compared(const CtLow *l, CtVal v);

/* simt_lower_value.c: slots, emission, and values in the form that is asked for. */

/* What differs by element type: instructions that move values. */
typedef struct CtMoves {
  CtSlotClass cls;
  uint16_t splat, move, set, select_m, select_s;
  uint16_t load_u, load_p, load_i32, load_i64, load_r;
  uint16_t store_p, store_i32, store_i64, store_r;
} CtMoves;
extern const CtMoves ct_low_moves[CT_DTYPE_COUNT];

static inline bool ct_low_varies(const CtLow *l, CtVal v) { return ct_low_is(l, v, CT_VARYING); }
CtSlotClass ct_low_class(CtDtype t); /* of lanes of a type; masks for bool */
uint32_t ct_low_slot(CtLow *l, CtSlotClass cls, uint32_t bytes, bool fixed);
uint32_t ct_low_temp(CtLow *l, CtSlotClass cls, bool fixed); /* a slot of the class's size */
uint32_t ct_low_variable(CtLow *l, CtVal var);
uint32_t ct_low_const(CtLow *l, CtScalar v);
uint32_t ct_low_natural(CtLow *l, CtVal v); /* scalar or lanes, as it is */
uint32_t ct_low_scalar(CtLow *l, CtVal v);  /* not for varying ones */
uint32_t ct_low_lanes(CtLow *l, CtVal v);   /* lanes, or a mask for bool */
/* A new slot for a value; `hoist`: it is computed in the prologue. */
uint32_t ct_low_result(CtLow *l, CtVal v, bool hoist);
/* CT_EMIT(l, CT_SIMT_LEA_i64, .d = slot, .a = base, ...): an instruction and its fields, at the end of the
   body; CT_HOIST: of the prologue. */
void ct_low_emit(CtLow *l, CtLowCode *s, CtIn in);
#define CT_EMIT(l, ...) ct_low_emit((l), &(l)->body, (CtIn){.u.op = __VA_ARGS__})
#define CT_HOIST(l, ...) ct_low_emit((l), &(l)->prologue, (CtIn){.u.op = __VA_ARGS__})
#define CT_EMIT_OR_HOIST(l, hoist, ...)                                                            \
  ct_low_emit((l), (hoist) ? &(l)->prologue : &(l)->body, (CtIn){.u.op = __VA_ARGS__})
bool ct_low_find(CtLow *l, const uint64_t key[4], uint32_t *slot);
void ct_low_remember(CtLow *l, const uint64_t key[4], uint32_t slot, bool hoisted);

/* Operations, as column engine of ops.def names them, by file. */
typedef void CtLowOp(CtLow *l, CtVal v);
CtLowOp ct_low_nothing, ct_low_escape; /* simt_lower.c */
CtLowOp ct_low_arith, ct_low_compare, ct_low_abs, ct_low_fma, ct_low_select, ct_low_cast,
    ct_low_bitcast;                                            /* simt_lower_pure.c */
CtLowOp ct_low_load, ct_low_store, ct_low_get, ct_low_set;     /* simt_lower_memory.c */
CtLowOp ct_low_break;                                          /* simt_lower_control.c */
CtLowOp ct_low_tma, ct_low_tma_order;                          /* simt_lower_tma.c */
CtLowOp ct_low_shfl, ct_low_atomic, ct_low_mbar, ct_low_named; /* simt_lower_warp.c */
CtLowOp ct_low_setmaxnreg, ct_low_print, ct_low_assert, ct_low_within;
CtLowOp ct_low_tile, ct_low_mma; /* simt_views.c */

/* Where the buffer is another block's: an EACH of the n instructions that come next. */
void ct_low_each(CtLow *l, uint32_t buf, uint32_t n);
CtSpin ct_low_spin(const CtLow *l, CtVal loop);
/* simt_lower_mma.c: what an MMA computes, in the memory of the program; the scratch that it needs. */
const CtMma *ct_low_make_mma(CtLow *l, const CtTile *t, int64_t *scratch);
/* simt_lower_move.c: what a copy atom moves, in the memory of the program. */
const CtMove *ct_low_make_move(CtLow *l, const CtAtom *atom, CtDtype dtype);

/* simt_lower_control.c: structure. */
void ct_low_begin(CtLow *l);
void ct_low_enter(CtLow *l, CtVal v); /* IF, FOR, LOOP, BLOCK */
void ct_low_else(CtLow *l);
void ct_low_leave(CtLow *l);
void ct_low_end(CtLow *l);
uint32_t ct_low_construct(const CtLow *l); /* the innermost around this place; 0: none */

/* simt_address.c */
CtLowAddress ct_low_address(CtLow *l, CtSpace space, CtVal offset);
uint32_t ct_low_no_pattern(CtLow *l); /* the pattern of one address for all lanes */

/* simt_hoist.c: what does not change in a loop of the body is moved before it. */
void ct_low_hoist(CtLow *l);

/* simt_peephole.c: fewer and larger instructions in the body. */
void ct_low_peephole(CtLow *l);

/* simt_slots.c. Visits the slots of an instruction, those that it names in a tile's descriptor (as
   hidden) included. */
typedef enum CtSlotUse { CT_SLOT_DEF, CT_SLOT_USE, CT_SLOT_HIDDEN } CtSlotUse;
typedef void (*CtSlotFn)(void *ud, uint32_t slot, uint32_t pos, CtSlotUse how);
void ct_low_each_slot(CtLow *l, const CtIn *in, uint32_t pos, CtSlotFn fn, void *ud);
void ct_low_replace_uses(CtIn *in, uint32_t old, uint32_t slot); /* not the hidden ones */
/* simt_bands.c: may rows of blocks of the program be taken together? */
bool ct_low_has_bands(const CtSimtProgram *p);
/* Fills the program. */
CtStatus ct_low_finish(CtLow *l, CtErr *err) CT_NODISCARD;

#endif
