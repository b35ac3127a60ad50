/* simt_ops.h: the instructions of the CPU engine (simt_ops.def), as the program stores them and as
   a launch runs them, and the slots that they work on.

   A warp's state is one block of memory: a CtWarp, then its slots. An operand of an instruction is
   the offset in bytes of a slot from the CtWarp. A slot holds a scalar (8 bytes), a lane mask (4),
   32 lanes of 4 or 8 bytes, an address pattern, a table of offsets, or registers of the kernel.

   An address in a buffer, in elements, is scalar + pattern[lane] + table[element] + constant. The
   pattern depends only on the thread's index and the launch. The engine makes and classifies it
   once per launch and warp, so for most accesses it knows that each chunk of lanes is contiguous or
   has one address. The prologue computes all values that depend only on the thread's index and the
   launch, once per launch and warp. */
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

/* --- properties of an instruction
   -------------------------------------------------------------- */

typedef enum CtSimtClass {
  CT_INS_PLAIN,   /* works on slots only, and control goes to the next instruction */
  CT_INS_MEMORY,  /* loads or stores one element for each lane; c: the buffer */
  CT_INS_DOT,     /* a sum of products of elements; the next two instructions are its loads */
  CT_INS_CONTROL, /* jumps, masks, loops */
  CT_INS_SYNC,    /* orders threads, memory, or agents that work for threads */
  CT_INS_WARP,    /* for all lanes together, or for the machine */
  CT_INS_MESSAGE, /* printf, assert and notes for `check` */
  CT_INS_DATA,    /* an operand of the next instruction */
  CT_INS_ATOMIC,
  CT_INS_TMA,
  CT_INS_TILE,  /* a whole tensor: imm is the index of a CtTileOp */
  CT_INS_GUARD, /* before a TILE, with its operands */
  CT_INS_CLASS_COUNT
} CtSimtClass;

/* The instruction gives d the value of a. */
typedef enum CtSimtMoves {
  CT_MOVES_NOT,
  CT_MOVES_ALL,        /* a scalar, to all lanes */
  CT_MOVES_AS_IT_IS,   /* a copy */
  CT_MOVES_TO_VARIABLE /* an assignment by the active lanes */
} CtSimtMoves;

/* A row of simt_ops.def. */
typedef struct CtSimtRow {
  const char *name;
  uint16_t does; /* the CtOp whose traits this arithmetic has; CT_OP_NONE: it is not arithmetic */
  char roles[5];
  uint8_t cls; /* CtSimtClass */
  /* CtDtype: of d; for a comparison, of its operands; if only bits move, an unsigned integer of
     their width; CT_VOID: neither */
  uint8_t type;
  uint8_t moves;   /* CtSimtMoves */
  uint8_t offsets; /* MEMORY: CtDtype of the lanes of offsets in b; CT_VOID: it has none */
  bool hoists;     /* cannot fail: may move before a loop in which its operands do not change */
  bool selects;    /* d = a ? b : c */
  bool splits;     /* may send the lanes of a warp different ways */
  bool loops;      /* the back edge of a loop */
  bool counts;     /* changes the counter d and the remaining count a */
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

/* An instruction. In the program `op` says which; a launch replaces it by the chosen handler. */
struct CtIn {
  union {
    uint32_t op;
    CtHandler handler;
  } u;
  uint32_t d, a, b, c; /* offsets of slots, or numbers; a jump is relative: (int32_t)c */
  int64_t imm;
};

/* How each chunk of 2, 4, ... 32 lanes (level 1 .. 5) lies in memory. */
typedef enum CtChunkKind { CT_GATHER, CT_CONTIGUOUS, CT_SAME } CtChunkKind;

typedef struct CtPattern {
  int64_t lo, hi; /* of all lanes, or far: ct_range_close */
  uint8_t kind[CT_LEVELS];
  int64_t pos[CT_LANES];
} CtPattern;

/* The offsets of all elements of a mode. */
typedef struct CtTable {
  int64_t lo, hi; /* of all elements, or far */
  int64_t off[];
} CtTable;

/* The parts of an address may be so far from 0 that their sum is inside a buffer, but a part in bytes, or a pointer
   to which only some are added, does not fit in 64 bits. So a range that reaches further than CT_FAR is far:
   lo > hi, and no base puts both ends inside a buffer, not even modulo 2^64. What works on whole ranges leaves it
   to code that looks at each lane or element. Other parts, and the bases that belong to them, have room for sums. */
#define CT_FAR ((int64_t)1 << 40)
static inline void ct_range_close(int64_t *lo, int64_t *hi) {
  if (*lo < -CT_FAR || *hi > CT_FAR) {
    *lo = 0;
    *hi = INT64_MIN;
  }
}

/* Are all lanes of the pattern inside a buffer of n elements? Exact, and false of one that is far. */
static inline bool ct_pattern_is_inside(const CtPattern *p, int64_t base, int64_t n) {
  return (uint64_t)base + (uint64_t)p->lo < (uint64_t)n &&
         (uint64_t)base + (uint64_t)p->hi < (uint64_t)n;
}

/* A buffer as a warp sees it. */
typedef struct CtMem {
  char *ptr;
  int64_t n;           /* elements */
  uint32_t elem_bytes; /* from one element to the next; in registers 32 lanes lie in between */
  uint32_t lane_bytes; /* from one lane to the next; 0 outside registers */
} CtMem;

#define CT_AT(type, w, at) ((type *)(void *)((char *)(w) + (at)))
#define CT_CAT(type, w, at) ((const type *)(const void *)((const char *)(w) + (at)))

static inline int ct_first_lane(uint32_t mask) { return __builtin_ctz(mask); }

/* Does a loop wait for other threads? In the imm of its back edge. */
typedef enum CtSpin {
  CT_SPIN_NOT,
  CT_SPIN_WAIT, /* its iterations change only variables and what atomic operations change */
  CT_SPIN_WORK, /* its iterations may change more: such a loop is never stuck */
  CT_SPIN_ALONE /* it does not wait, and how it goes on depends on its own variables alone */
} CtSpin;

static inline bool ct_spin_waits(int64_t imm) { return imm == CT_SPIN_WAIT || imm == CT_SPIN_WORK; }

/* Events that order warps. A watcher hears of each after it has taken place. */
typedef enum CtSyncKind {
  CT_SYNC_INIT,     /* all mbarriers of a buffer */
  CT_SYNC_ARRIVE,   /* at an mbarrier */
  CT_SYNC_EXPECT,   /* an mbarrier expects bytes, and nothing arrives */
  CT_SYNC_ISSUE,    /* a copy has begun that completes its bytes there, */
  CT_SYNC_COMPLETE, /* and they have arrived */
  CT_SYNC_PASS,     /* a wait has ended, or a test was true */
  CT_SYNC_NAMED_ARRIVE,
  CT_SYNC_NAMED_PASS,
  CT_SYNC_CLUSTER_ARRIVE,
  CT_SYNC_CLUSTER_PASS,
  CT_SYNC_GRID_ARRIVE, /* of a whole block, told once; n: how many phases came before */
  CT_SYNC_GRID_PASS,
  CT_SYNC_PROXY,        /* the warp's agents now see all that the warp has seen in shared memory */
  CT_SYNC_PROXY_GLOBAL, /* the same of global memory */
  CT_SYNC_COMMIT,       /* a group of work of the warp's agent ends here */
  CT_SYNC_WAIT,         /* all groups of the agent are complete, except the last n */
  CT_SYNC_TMEM_ALLOC,   /* of a buffer of tensor memory, by the block's first warp; */
  CT_SYNC_TMEM_DEALLOC, /* it is given back */
  CT_SYNC_BEFORE,       /* what the warp did with tensor memory is part of what it hands on; */
  CT_SYNC_AFTER         /* what it does with it comes after what was handed on to it */
} CtSyncKind;

/* --- instructions in parts
   --------------------------------------------------------------------- */

static inline const CtSimtRow *ct_in_row(const CtIn *code) { return &ct_simt_rows[code->u.op]; }
static inline const char *ct_in_roles(const CtIn *code) { return ct_simt_rows[code->u.op].roles; }
static inline bool ct_in_is(const CtIn *code, CtSimtClass cls) {
  return ct_simt_rows[code->u.op].cls == (uint8_t)cls;
}

/* The buffer of a load or store. The top bit of its number is a flag: offsets wrap around at 32
   bits. */
enum { CT_IN_WRAPS_BIT = 31 };
static inline uint32_t ct_in_buf_field(uint32_t buf, bool wraps) {
  return buf | (uint32_t)wraps << CT_IN_WRAPS_BIT;
}
static inline uint32_t ct_in_buf(const CtIn *in) { return in->c & ~(1u << CT_IN_WRAPS_BIT); }
static inline bool ct_in_wraps(const CtIn *in) { return in->c >> CT_IN_WRAPS_BIT != 0; }

/* Does a load or store write memory? If so, it reads its field d. */
static inline bool ct_in_stores(const CtIn *code) {
  return ct_simt_rows[code->u.op].roles[0] >= 'a';
}

/* The number of instructions of an operation, with those that are its data. */
static inline int ct_in_size(const CtIn *code) { return ct_in_is(code, CT_INS_DOT) ? 3 : 1; }

#endif
