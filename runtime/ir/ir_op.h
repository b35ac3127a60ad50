/* ir_op.h: the operations of an IR: their names, and what ops.def says about each. */
#ifndef CT_IR_OP_H
#define CT_IR_OP_H

#include <stdbool.h>
#include <stdint.h>

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
  CT_DATA_TENSOR,  /* imm: the CtBuf, of tensor memory */
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
  CT_TYPES_U32,
  CT_TYPES_U64,
  CT_TYPES_I32,
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
  X(ARRIVES, 7)  /* where there are plain asynchronous copies, a wait stands before it */          \
  X(SUMS, 8)     /* a tile operation that adds products to its destination */                      \
  X(PAIRS, 9)    /* of words that hold two floats of 16 bits each */                               \
  X(PASSES, 10)  /* an effect that tells no other thread how far this one is: pass_async.c */      \
  X(WRAPS, 11)   /* of signed integers: the exact result may not fit in their type */              \
  X(OF_BITS, 12) /* takes its integers as bits, not as numbers */                                  \
  X(UNIFORM, 13) /* an effect with one result for all lanes of a warp */                           \
  X(MIXED, 14)   /* its operands have types of their own */                                        \
  X(WRITES, 15)  /* writes the buffer of its data, and is no atomic operation */                   \
  X(SAID, 16) /* asynchronous, and called by its name in messages, not as a copy to an mbarrier */
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
/* A store to another block that completes on an mbarrier there; operand 2 is which one of CtBuf.bar. */
static inline bool ct_op_is_async_store(CtOp op) {
  return ct_ops[op].data == CT_DATA_ELEMENT && ct_op_has(op, CT_TRAIT_SAID);
}
/* A barrier of the block; ops.def has them side by side. */
static inline bool ct_op_is_barrier(CtOp op) {
  return op >= CT_OP_BARRIER && op <= CT_OP_BARRIER_OR;
}

#endif
