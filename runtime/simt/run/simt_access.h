/* simt_access.h: what an instruction of the CPU engine reads and writes in memory. Watchers of a
   launch (simt_watch.h) hear of it before the instruction runs. Registers of the kernel (fragments)
   count as memory here. */
#ifndef CT_SIMT_ACCESS_H
#define CT_SIMT_ACCESS_H

#include "runtime/simt/code/simt_operand.h"
#include "simt_run.h"

/* Who accesses: the thread, or an agent that works for it while it goes on; see check_clock.h. */
typedef enum CtAgent {
  CT_AGENT_NONE,
  CT_AGENT_BAR, /* a copy that completes on an mbarrier */
  CT_AGENT_WGMMA,
  CT_AGENT_BULK,       /* a copy from shared memory reads; threads wait for groups of them */
  CT_AGENT_BULK_WRITE, /* the same copy writes: over later than it has read */
  CT_AGENT_UMMA,       /* products by tcgen05, which complete on an mbarrier */
  CT_AGENT_TMEM, /* a copy of tensor memory, which is over; CT_SYNC_BEFORE makes it part of what is handed on */
  CT_AGENT_COUNT
} CtAgent;

/* One operand of one instruction of one warp. Each lane of `mask` accesses elements 0 .. n-1, in
   the order in which a thread takes them. In a matrix of a GEMM, element e is (e % n_rows, e /
   n_rows); other operands have one mode. */
typedef struct CtAccess {
  const CtIn *in; /* as the launch runs it */
  CtWarp *w;
  const CtSimtBuf *buf;
  const CtMem *mem;
  uint32_t buf_index;
  CtAccessRole role;
  bool reads, writes; /* both: atomic operations, and sums that are added to */
  bool is_atomic;
  bool is_async;   /* both sides of a copy that may be cp.async */
  bool is_of_pair; /* agent BAR: its mbarrier is that of the pair's even block */
  int8_t bar_rank; /* agent BAR: the block that has the mbarrier; -1: that of the memory */
  uint8_t agent;   /* CtAgent */
  uint8_t vec;     /* consecutive elements that a thread takes at once; if not 1, it divides n */
  uint32_t mask;
  uint32_t bar;         /* agent BAR: the buffer of its mbarrier, */
  int64_t bar_slot;     /* and which mbarrier of it */
  const uint32_t *ends; /* for `check`: CtCheckEvent.ends */
  int64_t n, n_rows;

  /* Every element is accessed and inside the buffer. The offset, in elements, of (element, lane) is
     base + pos[lane] + row(e % n_rows) + col(e / n_rows), row(i) being rows[i], or i * step without
     a table, and so for columns. lo and hi are the least and the largest. Else: ct_access_row. */
  bool is_regular;
  /* Every element is accessed, and the swizzle maps that sum to its offset. */
  bool is_swizzled;
  /* Every element is inside the buffer: from lo to hi. */
  bool is_inside;
  int64_t base, lo, hi;
  const int64_t *pos;
  /* it has pos; NULL: own_pos has it, or all lanes have the same offset */
  const CtPattern *pattern;
  const int64_t *rows, *cols;
  int64_t step;

  const CtTileArg *arg, *pred; /* the operand of a tile operation; the predicate of a copy_if */
  int64_t own_pos[CT_LANES];   /* pos points here if no pattern has it */
} CtAccess;

/* Lists the accesses of an instruction by the active lanes, and returns their number. The
   instruction is given as the program has it (`code`) and as the launch runs it (`in`). 0: it
   touches no memory, or an extent is not valid. */
int ct_simt_accesses(const CtIn *code, const CtIn *in, CtWarp *w, CtAccess out[CT_MAX_OPERANDS]);

/* The same, given the instruction's n operands (ct_simt_operands). */
int ct_simt_accesses_of(const CtOperand *operands, int n, const CtIn *code, const CtIn *in,
                        CtWarp *w, CtAccess out[CT_MAX_OPERANDS]);

/* Of the store of an ST_ASYNC: each lane's mbarrier, which the MBAR after it names. */
static inline const int32_t *ct_simt_slots_of(CtWarp *w, const CtIn *code) {
  return CT_AT(int32_t, w, code[1].a);
}

/* The offset, in elements of the buffer, of element e in a lane of the mask; it may be outside
   the buffer. False: the lane does not access it, because a guard or a predicate leaves it out,
   or the lane has fewer elements. */
bool ct_access_at(const CtAccess *a, int64_t e, int lane, int64_t *off);

/* The offsets of element e in those lanes that access it inside the buffer. Returns these lanes. */
uint32_t ct_access_row(const CtAccess *a, int64_t e, int64_t off[CT_LANES]);

/* How many elements from e on, at least one, a lane has in neighbouring places, and where the first is. Only of an access
   that is_inside, and is_regular or is_swizzled. */
int64_t ct_access_run(const CtAccess *a, int64_t e, int lane, int64_t *off);

/* The offset of (element, lane) of a regular access. */
static inline int64_t ct_access_offset(const CtAccess *a, int64_t e, int lane) {
  int64_t i = e % a->n_rows, j = e / a->n_rows;
  return a->base + a->pos[lane] + (a->rows != NULL ? a->rows[i] : i * a->step) +
         (a->cols != NULL ? a->cols[j] : 0);
}

/* The address of element `off`. */
static inline char *ct_access_ptr(const CtAccess *a, int64_t off) {
  return a->mem->ptr + off * (int64_t)a->mem->elem_bytes;
}

/* The lanes of the mask that access an element outside the buffer. *e and *off are the first
   such element of the lowest of these lanes. */
uint32_t ct_access_outside(const CtAccess *a, int64_t *e, int64_t *off);

#endif
