/* history.h: which instructions the blocks of a cluster ran. lineage.c records them, and
   lineage_slice.c walks the history backwards. */
#ifndef CT_WATCH_HISTORY_H
#define CT_WATCH_HISTORY_H

#include "runtime/base/hash_table.h"
#include "runtime/simt/run/simt_access.h"
#include "lineage.h"

/* An instruction of a warp that ran. */
typedef struct CtStep {
  uint32_t code; /* index in the program */
  int16_t rank;  /* of its block */
  int16_t warp;  /* in the block */
  uint32_t mask, live;
  uint32_t accesses, n_accesses; /* in CtHistory.accesses; for TMA in CtHistory.boxes */
  const uint32_t *from;          /* SHFL, MASKED: the lanes whose values each lane gets */
  /* SELECT: lanes that take its second operand, not the third; TALLY, TALLIED: which barrier, 0 or 1 in
     turn */
  uint32_t chosen;
} CtStep;

/* A box that a lane asked for. */
typedef struct CtHistoryBox {
  int lane;
  uint32_t ranks;     /* the blocks that get it; for a store, the block that has it */
  const char *global; /* the tensor's memory */
  CtTmaUnit *units;
  int64_t n;
} CtHistoryBox;

typedef struct CtHistory {
  CtAlloc alloc;
  const CtWorker *team; /* of the cluster */
  CtArena arena;        /* copies of data that the next instruction may change */
  CtStep *steps;
  size_t n_steps, cap_steps;
  CtAccess *accesses; /* the offsets of irregular ones are in own_offsets */
  int64_t **own_offsets;
  const char **
      ptrs; /* where the buffer of the access was at that time; a remote buffer changes its place */
  size_t n_accesses, cap_accesses, cap_offsets, cap_ptrs;
  CtHistoryBox *boxes;
  size_t n_boxes, cap_boxes;
  size_t bytes, max_bytes;
  bool failed; /* no memory, or more than max_bytes */
} CtHistory;

void ct_history_init(CtHistory *r, CtAlloc alloc, size_t max_bytes);
void ct_history_reset(CtHistory *r, const CtWorker *team); /* a new cluster */
void ct_history_clear(CtHistory *r);
void ct_history_step(CtHistory *r, const CtIn *code, const CtIn *in, CtWarp *w);
/* The offset of (element, lane) at that time; false if it was not accessed. */
bool ct_history_at(const CtHistory *r, uint32_t access, int64_t e, int lane, int64_t *off);

/* The rows that were found; equal events are one row. */
typedef struct CtLineageRows {
  CtAlloc alloc;
  CtLineageRow *row;
  size_t n, cap;
  CtHashTable table; /* of indices of rows + 1 */
  CtTrail *trail;    /* NULL: nobody asks in which order values were made */
  bool failed;
} CtLineageRows;

/* lineage_lean.c: by index in the code, is it an operation that changes nothing of what is written
   where? NULL: no memory. It has n_code + n_bufs elements, the caller's. */
bool *ct_lineage_idle(const CtSimtProgram *p, CtAlloc alloc);
/* lineage_taint.c: may floats that loads bring decide what is written where? Those of memory that is
   `needed` do not count. */
bool ct_lineage_floats_decide(const CtSimtProgram *p, const bool *needed, CtAlloc alloc);
/* Can no block see what another one has done? */
bool ct_lineage_blocks_are_apart(const CtSimtProgram *p);

/* lineage_slice.c: appends the events that made these bytes of global memory, if this cluster
   wrote them. The memory of the blocks must still be as they left it. */
void ct_simt_slice(const CtSimtProgram *p, const CtHistory *r, const char *at, size_t bytes,
                   CtLineageRows *rows);

#endif
