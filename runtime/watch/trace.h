/* trace.h: which threads, lines and elements made one element of a tensor what it is, in a launch on
   the CPU engine. Watchers (simt_watch.h) find the blocks that write the element and record what these
   run, with the other blocks of their clusters; at a cluster's end its record is walked backwards from the
   element: what gave its value, what gave those values, and so on. Values only: not the conditions and
   indices on the way. A trace ends where it reads global memory that the cluster has not written itself. */
#ifndef CT_WATCH_TRACE_H
#define CT_WATCH_TRACE_H

#include "runtime/simt/simt.h"

typedef enum CtTraceKind {
  CT_TRACE_READS,
  CT_TRACE_WRITES,
  CT_TRACE_COMPUTES,
  CT_TRACE_ZEROS /* a box, or a copy of a guarded tensor, brings 0 for what is outside buf; off: 0 */
} CtTraceKind;

/* One event: a thread at a line. What it reads or writes is in memory, not in registers. */
typedef struct CtTraceRow {
  CtTraceKind kind;
  CtLoc loc;
  int64_t block;  /* linear indices */
  int32_t thread; /* in the block */
  uint32_t buf;   /* READS, WRITES: index in the program's bufs */
  int64_t off;    /* likewise: elements of that buffer */
  int64_t owner;  /* likewise, shared memory: of this block; else `block` */
  uint32_t order; /* of the first time in the cluster, for sorting */
  uint32_t n;     /* times; 0: the thread only moved a value */
} CtTraceRow;

typedef struct CtSimtTrace CtSimtTrace;

/* Of the element at `off` of the tensor with that parameter's name, a text that outlives the trace.
   `max_bytes` limits what a cluster's record may take. */
CtStatus ct_simt_trace_open(CtAlloc alloc, const char *param, int64_t off, size_t max_bytes,
                            CtSimtTrace **out, CtErr *err) CT_NODISCARD;
void ct_simt_trace_close(CtSimtTrace *t);
/* The watcher of the next launch, or NULL when no more is needed. Each is the same launch, on tensors
   with the same contents. Only the first prints. */
CtSimtWatch *ct_simt_trace_next(CtSimtTrace *t);
/* After the launches: the rows, by block, then in the order of their first times. The rows are the trace's.
   An error when there was no memory for the record. */
CtStatus ct_simt_trace_rows(CtSimtTrace *t, const CtTraceRow **rows, size_t *n,
                            CtErr *err) CT_NODISCARD;
const int64_t *ct_simt_trace_grid(const CtSimtTrace *t); /* three extents */

/* Of a row, for people. The program is that of the launch. */
typedef struct CtTracePlace {
  const char *tensor; /* as the script names it; NULL: COMPUTES */
  CtSpace space;
  const char *chunk;
} CtTracePlace;
CtTracePlace ct_simt_trace_place(const CtSimtProgram *p, const CtTraceRow *row);

/* The program's tensors, from 1 on; false behind the last. */
typedef struct CtTraceTensor {
  const char *name;
  CtSpace space;
  CtDtype dtype;
  CtLayout layout;
  CtSwizzle swizzle; /* of offsets into it */
  bool is_alias;     /* another one's memory: rows name that */
  bool is_written;   /* by some instruction of the kernel */
} CtTraceTensor;
bool ct_simt_trace_tensor(const CtSimtProgram *p, uint32_t i, CtTraceTensor *out);
const int64_t *ct_simt_trace_block(const CtSimtProgram *p); /* three extents */

#endif
