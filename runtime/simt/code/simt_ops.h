/* simt_ops.h: the instructions of the CPU engine (simt_ops.def), as the program has them and as a launch
   runs them, and the slots that they work on.

   A warp's state is one block of memory: a CtWarp, then its slots. An operand of an instruction is
   the offset in bytes of a slot from the CtWarp. A slot holds a scalar (8 bytes), a lane mask (4),
   32 lanes of 4 or 8 bytes, an address pattern, a table of offsets, or registers of the kernel.

   An address in a buffer, in elements, is scalar + pattern[lane] + table[element] + constant. The
   pattern depends on the thread's index and the launch only; it is made and classified once per
   launch and warp, so that most accesses are known to be contiguous or the same in each chunk of
   lanes. Values that depend on nothing else are computed by the prologue, once per launch and warp. */
#ifndef CT_SIMT_OPS_H
#define CT_SIMT_OPS_H

#include <stdbool.h>
#include <stdint.h>

#include "runtime/ir/ir.h"

enum { CT_LANES = 32, CT_LEVELS = 6, CT_WARP_BYTES = 128 }; /* before the slots: a CtWarp */
#define CT_ALL_LANES 0xFFFFFFFFu

typedef enum CtSimtOp {
#define X(name, ...) CT_SIMT_##name,
#include "simt_ops.def"
  CT_SIMT_OP_COUNT
} CtSimtOp;

/* --- what is known of an instruction ----------------------------------------------------------------- */

typedef enum CtSimtClass {
  CT_INS_PLAIN,  /* works on slots only, and goes on with the next instruction */
  CT_INS_MEMORY, /* loads or stores an element of each lane; c: the buffer */
  CT_INS_DOT,    /* a sum of products of elements; the two instructions that follow are its loads */
  CT_INS_CONTROL, /* jumps, masks, loops */
  CT_INS_SYNC,    /* orders threads, memory, or what works for them */
  CT_INS_WARP,    /* of all lanes together, or of the machine */
  CT_INS_MESSAGE, /* for people */
  CT_INS_DATA,    /* an operand of the instruction that follows */
  CT_INS_ATOMIC,
  CT_INS_TMA,
  CT_INS_TILE,  /* a whole tensor: imm is the index of a CtTileOp */
  CT_INS_GUARD, /* before a TILE, with its operands */
  CT_INS_CLASS_COUNT
} CtSimtClass;

/* d is what a is. */
typedef enum CtSimtMoves {
  CT_MOVES_NOT,
  CT_MOVES_ALL,        /* a scalar, to all lanes */
  CT_MOVES_AS_IT_IS,   /* a copy */
  CT_MOVES_TO_VARIABLE /* an assignment by the active lanes */
} CtSimtMoves;

/* A row of simt_ops.def. */
typedef struct CtSimtRow {
  const char *name;
  char roles[5];
  uint8_t cls;  /* CtSimtClass */
  uint8_t type; /* CtDtype: of d; of a comparison, of what is compared; where only bits are moved an
                      unsigned integer of their width; CT_VOID: neither */
  uint8_t moves;   /* CtSimtMoves */
  uint8_t offsets; /* CtDtype of MEMORY: of lanes of offsets in b; CT_VOID: there are none */
  uint16_t does;   /* CtOp of arithmetic, which has its traits; CT_OP_NONE: none of them */
  bool hoists;  /* cannot fail: may be computed before a loop in which its operands stay the same */
  bool selects; /* d = a ? b : c */
  bool splits;  /* may send lanes of a warp different ways */
  bool loops;   /* the back edge of a loop */
  bool counts;  /* and changes the counter d and what is left, a */
} CtSimtRow;
extern const CtSimtRow ct_simt_rows[CT_SIMT_OP_COUNT];

typedef union CtScalar {
  int64_t i; /* i64; i32 sign-extended; u64 and u32 as these; bool 0 or 1; narrow types: bits */
  double f64;
  float f32;
} CtScalar;

typedef struct CtWarp CtWarp;
typedef struct CtIn CtIn;
typedef const CtIn *(*CtHandler)(const CtIn *in, CtWarp *w);

/* An instruction. In the program `op` says which; a launch puts the chosen handler in its place. */
struct CtIn {
  union {
    uint32_t op;
    CtHandler handler;
  } u;
  uint32_t d, a, b, c; /* offsets of slots, or numbers; a jump is relative: (int32_t)c */
  int64_t imm;
};

/* How a chunk of 2, 4, ... 32 lanes (level 1 .. 5) lies in memory, in all chunks of that size. */
typedef enum CtChunkKind { CT_GATHER, CT_CONTIGUOUS, CT_SAME } CtChunkKind;

typedef struct CtPattern {
  int64_t lo, hi; /* of all lanes; lo > hi where the distance does not fit */
  uint8_t kind[CT_LEVELS];
  int64_t pos[CT_LANES];
} CtPattern;

/* Offsets of all elements of a mode. */
typedef struct CtTable {
  int64_t lo, hi;
  int64_t off[];
} CtTable;

/* A buffer as a warp sees it. */
typedef struct CtMem {
  char *ptr;
  int64_t n;           /* elements */
  uint32_t elem_bytes; /* from one element to the next: 32 lanes of them for registers */
  uint32_t lane_bytes; /* from one lane to the next: 0 except for registers */
} CtMem;

#define CT_AT(type, w, at) ((type *)(void *)((char *)(w) + (at)))
#define CT_CAT(type, w, at) ((const type *)(const void *)((const char *)(w) + (at)))

static inline int ct_first_lane(uint32_t mask) { return __builtin_ctz(mask); }

/* Whether a loop may be waiting for what other threads do, in the imm of its back edge. */
typedef enum CtSpin {
  CT_SPIN_NOT,
  CT_SPIN_WAIT, /* its turns change nothing but variables and what atomic operations change */
  CT_SPIN_WORK  /* they may change more: such a loop is never stuck */
} CtSpin;

/* What orders warps, told when it has taken place. */
typedef enum CtSyncKind {
  CT_SYNC_INIT,     /* of all mbarriers of a buffer */
  CT_SYNC_ARRIVE,   /* at an mbarrier */
  CT_SYNC_COMPLETE, /* bytes have come at one */
  CT_SYNC_PASS,     /* a wait is over, or a test was true */
  CT_SYNC_NAMED_ARRIVE,
  CT_SYNC_NAMED_PASS,
  CT_SYNC_CLUSTER_ARRIVE,
  CT_SYNC_CLUSTER_PASS,
  CT_SYNC_PROXY,  /* what the warp has seen, its agents see from now on */
  CT_SYNC_COMMIT, /* a group of what an agent of the warp does ends here */
  CT_SYNC_WAIT    /* all groups of the agent but the last n are complete */
} CtSyncKind;

/* --- instructions that are taken apart ---------------------------------------------------------------- */

static inline const CtSimtRow *ct_in_row(const CtIn *code) { return &ct_simt_rows[code->u.op]; }
static inline const char *ct_in_roles(const CtIn *code) { return ct_simt_rows[code->u.op].roles; }
static inline bool ct_in_is(const CtIn *code, CtSimtClass cls) {
  return ct_simt_rows[code->u.op].cls == (uint8_t)cls;
}

/* The buffer of a load or store, whose number carries a flag in its top bit: offsets wrap around at 32
   bits. */
enum { CT_IN_WRAPS_BIT = 31 };
static inline uint32_t ct_in_buf_field(uint32_t buf, bool wraps) {
  return buf | (uint32_t)wraps << CT_IN_WRAPS_BIT;
}
static inline uint32_t ct_in_buf(const CtIn *in) { return in->c & ~(1u << CT_IN_WRAPS_BIT); }
static inline bool ct_in_wraps(const CtIn *in) { return in->c >> CT_IN_WRAPS_BIT != 0; }

/* Does a load or store write memory? It reads its field d then. */
static inline bool ct_in_stores(const CtIn *code) {
  return ct_simt_rows[code->u.op].roles[0] >= 'a';
}

/* Instructions of the operation, with those that are its data. */
static inline int ct_in_size(const CtIn *code) { return ct_in_is(code, CT_INS_DOT) ? 3 : 1; }

#endif
