/* simt_lower.h: what the stages of lowering to the CPU engine share. simt_analyse.c finds which
   values are one per warp, which depend on the launch and the thread only, and which are needed;
   simt_lower.c emits instructions over virtual slots, with simt_lower_*.c by kind of operation,
   simt_address.c for offsets and simt_views.c for tensors; simt_peephole.c tidies them up, with
   simt_hoist.c for loops; simt_slots.c gives the slots places and makes the program.

   If memory runs out, the functions carry on with CtLow.failed set and slot 0. */
#ifndef CT_SIMT_LOWER_H
#define CT_SIMT_LOWER_H

#include "runtime/base/hash_table.h"
#include "runtime/simt/code/simt_program.h"

/* The regions as one sequence. */
typedef enum CtStepKind { CT_STEP_OP, CT_STEP_ENTER, CT_STEP_ELSE, CT_STEP_LEAVE } CtStepKind;
typedef struct CtLowStep {
  CtStepKind kind;
  CtVal v;
} CtLowStep;

/* Facts about a value. */
enum {
  CT_VARYING = 1,   /* lanes may differ; else one scalar per warp */
  CT_INVARIANT = 2, /* depends only on the launch and the thread, and cannot fail */
  CT_NEEDED = 4,    /* must be computed; addresses need only their terms */
  CT_SPLITTING = 8, /* a LOOP, FOR or BLOCK that some lanes may leave earlier than others */
  CT_LAST = 16      /* a BLOCK with nothing after it: to leave it is to end */
};

typedef enum CtSlotClass {
  CT_CLASS_SCALAR,
  CT_CLASS_MASK,
  CT_CLASS_LANES4,
  CT_CLASS_LANES8,
  /* a variable of any class above: lives for the whole kernel, zeroed for each block */
  CT_CLASS_VARIABLE,
  CT_CLASS_REGS, /* a fragment */
  CT_CLASS_BYTES /* patterns, tables */
} CtSlotClass;

/* A virtual slot. A `fixed` slot lives as long as the launch. */
typedef struct CtLowSlot {
  CtSlotClass cls;
  bool fixed;
  uint32_t bytes;
  uint32_t def, last; /* positions in the body */
  uint32_t at;        /* its final place */
  uint32_t next;      /* in the list of slots that die at the same position */
} CtLowSlot;

typedef struct CtLowCode {
  CtIn *in;
  size_t n, cap;
  CtLoc *locs;
  size_t cap_locs;
} CtLowCode;

typedef struct CtLowTerm {
  CtVal v, by; /* by: a scalar that is fixed in a launch, or 0 for 1 */
  int64_t coef;
} CtLowTerm;

/* imm + sum of coef * v * by */
enum { CT_MAX_TERMS = 12 };
typedef struct CtLowSum {
  int64_t imm;
  int n;
  CtLowTerm t[CT_MAX_TERMS];
} CtLowSum;

/* An address that has been emitted; see simt_ops.h. */
typedef struct CtLowAddress {
  uint32_t base;    /* scalar slot */
  uint32_t pattern; /* 0: it has none */
  uint32_t lanes;   /* else lanes of offsets, and the other fields are unused */
  int64_t imm;
  bool is_i32;
} CtLowAddress;

/* A computed thing to reuse: valid in its region and in regions inside it; region 0: everywhere. */
typedef struct CtMemo {
  uint64_t key[4];
  uint32_t slot;
  CtRegion region;
} CtMemo;

typedef struct CtFrame {
  CtVal v;
  uint32_t row; /* of saved masks; an IF on a scalar has none */
  bool is_scalar_if;
  bool in_then;                       /* of an IF with an else, before its else */
  uint32_t on_else, on_next, on_exit; /* labels */
  uint32_t loop;                      /* index in loops, of LOOP and FOR */
  uint32_t construct;
  uint32_t left, step; /* for FOR: slots of the remaining iterations and of the step */
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
  CtStatus status; /* the error for something that cannot be lowered; *err describes it */
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
  CtMemo *memos;
  size_t n_memos, cap_memos;
  CtHashTable memo_at; /* by key: of indices + 1; a key may have a memo in several regions */
  int32_t *labels;     /* positions in the body; -1 until placed */
  size_t n_labels, cap_labels;
  CtFrame *frames;
  size_t n_frames, cap_frames;
  CtLoopSpan *loops;
  size_t n_loops, cap_loops;
  uint32_t n_rows, max_rows;
  CtScalar *consts; /* their slots are the first scalars */
  uint32_t *const_slots;
  size_t n_consts, cap_consts, cap_const_slots;
  CtSimtParam *params; /* `at` is a slot until the end, then a place */
  size_t n_params, cap_params;
  CtTileMode *modes; /* table and leaves refer to slots until the end, then to places */
  size_t n_modes, cap_modes;
  CtHashTable mode_at; /* of indices + 1 */
  CtTileOp *tiles;
  size_t n_tiles, cap_tiles;
  CtTileGuard *guards; /* slots as in tile modes */
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
  uint32_t *loop_at;     /* by position in the body: innermost loop + 1; 0: no loop */
  uint32_t *loop_parent; /* by loop + 1: the enclosing loop + 1; 0: no loop */
  uint32_t *dying;       /* by position: the first slot whose last use is there */
} CtLow;

/* simt_lower.c: makes the program of an IR. */
CtStatus ct_low_program(CtAlloc alloc, const CtIr *ir, CtSimtProgram **out,
                        CtErr *err) CT_NODISCARD;

static inline bool ct_low_is(const CtLow *l, CtVal v, uint8_t flag) {
  return (l->flags[v] & flag) != 0;
}

/* Makes room for one more element of an array; on failure sets l->failed. */
#define CT_LOW_GROW(l, array, n, cap)                                                              \
  (CT_GROW((l)->alloc, (l)->array, (l)->cap, (l)->n + 1, NULL) == CT_OK                            \
       ? true                                                                                      \
       : ((l)->failed = true, false))

/* Makes room in a hash table; on failure sets l->failed. */
static inline bool ct_low_reserve(CtLow *l, CtHashTable *t) {
  bool has_room = ct_hash_table_reserve(t, l->alloc);
  l->failed = l->failed || !has_room;
  return has_room;
}

/* simt_analyse.c */
void ct_low_analyse(CtLow *l);
/* An integer as a sum; false if it has too many terms (then *s is the value itself). */
void ct_low_sum(const CtLow *l, CtVal v, CtLowSum *s);
/* Can the sum be split into scalar and pattern? (In registers: into a scalar only.) */
bool ct_low_is_affine(const CtLow *l, const CtLowSum *s, CtSpace space);
/* The operand of a comparison that can be split in that way, if the other operand is a scalar; else
   0. */
CtVal ct_low_compared(const CtLow *l, CtVal v);

/* simt_lower_value.c: slots, emission, and values in the requested form. */

/* Instructions that move values, by element type. */
typedef struct CtMoves {
  CtSlotClass cls;
  uint16_t splat, move, set, select_m, select_s;
  uint16_t load_u, load_p, load_i32, load_i64, load_r;
  uint16_t store_p, store_i32, store_i64, store_r;
} CtMoves;
extern const CtMoves ct_low_moves[CT_DTYPE_COUNT];

static inline bool ct_low_varies(const CtLow *l, CtVal v) { return ct_low_is(l, v, CT_VARYING); }
CtSlotClass ct_low_class(CtDtype t); /* class of the lanes of a type; masks for bool */
uint32_t ct_low_slot(CtLow *l, CtSlotClass cls, uint32_t bytes, bool fixed);
uint32_t ct_low_temp(CtLow *l, CtSlotClass cls, bool fixed); /* a slot of the class's size */
uint32_t ct_low_variable(CtLow *l, CtVal var);
uint32_t ct_low_const(CtLow *l, CtScalar v);
uint32_t ct_low_natural(CtLow *l, CtVal v); /* scalar or lanes, whichever it is */
uint32_t ct_low_scalar(CtLow *l, CtVal v);  /* the value must not be varying */
uint32_t ct_low_lanes(CtLow *l, CtVal v);   /* lanes, or a mask for bool */
/* A new slot for a value; `hoist`: the prologue computes it. */
uint32_t ct_low_result(CtLow *l, CtVal v, bool hoist);
/* CT_EMIT(l, CT_SIMT_LEA_i64, .d = slot, .a = base, ...): appends an instruction with these fields
   to the body; CT_HOIST: to the prologue. */
void ct_low_emit(CtLow *l, CtLowCode *s, CtIn in);
#define CT_EMIT(l, ...) ct_low_emit((l), &(l)->body, (CtIn){.u.op = __VA_ARGS__})
#define CT_HOIST(l, ...) ct_low_emit((l), &(l)->prologue, (CtIn){.u.op = __VA_ARGS__})
#define CT_EMIT_OR_HOIST(l, hoist, ...)                                                            \
  ct_low_emit((l), (hoist) ? &(l)->prologue : &(l)->body, (CtIn){.u.op = __VA_ARGS__})
bool ct_low_find(CtLow *l, const uint64_t key[4], uint32_t *slot);
void ct_low_remember(CtLow *l, const uint64_t key[4], uint32_t slot, bool hoisted);

/* The lowering functions that the column `engine` of ops.def names, and that of its ROWS. */
typedef void CtLowOp(CtLow *l, CtVal v);
#define LOW(name) CtLowOp ct_low_##name;
#define IN(NAME)
#define ROWS(NAME)
#define DECLARE_PURE(engine) engine
#define DECLARE_READ(engine) engine
#define DECLARE_EFFECT(engine) engine
#define DECLARE_JUMP(engine) engine
#define DECLARE_TILE(engine) engine
#define DECLARE_LEAF(engine)   /* static, in simt_lower_value.c */
#define DECLARE_REGION(engine) /* and in simt_lower_control.c */
#define OP(NAME, text, n, result, cls, data, traits, engine, ...) DECLARE_##cls(engine)
#include "runtime/ir/ops.def"
#undef LOW
#undef IN
#undef ROWS
CtLowOp ct_low_arith;

/* The value that says lane by lane where the buffer is: an EACH or EACH_AT stands before each access; or 0. */
CtVal ct_low_by_lane(const CtLow *l, uint32_t buf);
/* That, before the next n instructions; or nothing. */
void ct_low_each(CtLow *l, uint32_t buf, uint32_t n);
CtSpin ct_low_spin(const CtLow *l, CtVal loop);
/* simt_lower_mma.c: what an MMA computes, allocated with the program; also the scratch that it
   needs. */
const CtMma *ct_low_make_mma(CtLow *l, const CtTile *t, int64_t *scratch);
/* simt_lower_move.c: what a copy atom moves, allocated with the program. */
const int32_t *ct_low_tmem_places(CtLow *l, const CtAtom *atom, CtDtype dtype);
const CtMove *ct_low_make_move(CtLow *l, const CtAtom *atom, CtDtype dtype);

/* simt_lower_control.c: structure. */
void ct_low_begin(CtLow *l);
void ct_low_enter(CtLow *l, CtVal v); /* IF, FOR, LOOP, BLOCK */
void ct_low_else(CtLow *l);
void ct_low_leave(CtLow *l);
void ct_low_end(CtLow *l);
/* the innermost construct around this place; 0: there is none */
uint32_t ct_low_construct(const CtLow *l);

/* simt_address.c */
CtLowAddress ct_low_address(CtLow *l, CtSpace space, CtVal offset);
uint32_t ct_low_no_pattern(CtLow *l); /* the pattern that gives all lanes one address */

/* simt_hoist.c: moves what does not change in a loop of the body before that loop. */
void ct_low_hoist(CtLow *l);

/* simt_peephole.c: makes the body's instructions fewer and larger. */
void ct_low_peephole(CtLow *l);

/* simt_slots.c. Visits the slots of an instruction; slots in a tile's descriptor count as
   hidden. */
typedef enum CtSlotUse { CT_SLOT_DEF, CT_SLOT_USE, CT_SLOT_HIDDEN } CtSlotUse;
typedef void (*CtSlotFn)(void *ud, uint32_t slot, uint32_t pos, CtSlotUse how);
void ct_low_each_slot(CtLow *l, const CtIn *in, uint32_t pos, CtSlotFn fn, void *ud);
void ct_low_replace_uses(CtIn *in, uint32_t old, uint32_t slot); /* not the hidden ones */
/* simt_bands.c: may the engine run rows of blocks of the program together? */
bool ct_low_has_bands(const CtSimtProgram *p);
bool ct_low_meets(const CtSimtProgram *p); /* simt_meets.c */
/* Fills the program. */
CtStatus ct_low_finish(CtLow *l, CtErr *err) CT_NODISCARD;

#endif
