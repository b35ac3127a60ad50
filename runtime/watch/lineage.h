/* lineage.h: which threads, lines and elements made elements of a tensor what they are, in a
   launch on the CPU engine. Watchers (simt_watch.h) find the blocks that write the elements. They
   record what these blocks run, and the other blocks of their clusters. At the end of a cluster,
   its history is walked backwards from each element: what gave its value, what gave those values,
   and so on. The walk follows values only, not conditions or indices. It ends where the cluster
   read global memory that it did not write itself. */
#ifndef CT_WATCH_LINEAGE_H
#define CT_WATCH_LINEAGE_H

#include "runtime/layout/composed.h"
#include "runtime/simt/simt.h"

typedef enum CtLineageKind {
  CT_LINEAGE_READS,
  CT_LINEAGE_WRITES,
  CT_LINEAGE_COMPUTES,
  CT_LINEAGE_ZEROS /* a box, or a copy of a guarded tensor, brings 0 from outside buf; off is 0 */
} CtLineageKind;

/* One event: a thread at a line. It reads or writes memory, not registers. */
typedef struct CtLineageRow {
  CtLineageKind kind;
  CtLoc loc;
  int64_t block;  /* linear indices */
  int32_t thread; /* in the block */
  uint32_t buf;   /* READS, WRITES: index in the program's bufs */
  int64_t off;    /* READS, WRITES: the element of that buffer */
  int64_t owner;  /* shared memory: the block that owns it; else `block` */
  uint32_t order; /* when it came for the first time in the cluster, for sorting */
  uint32_t n;     /* how often; 0: the thread only moved a value */
} CtLineageRow;

/* The walk itself, for those who want to know how values depend on each other. A walk begins with BEGIN. A value is
   one TAKE or more, of the places that it was put in, and then a WANT for each operand, in order, with a BYTE for each
   further byte of it. An operand that a guard made 0 has a WANT of NOWHERE, so that each value has its own operands.
   The walk goes backwards, so the last value comes first. */
enum { CT_TRAIL_NOWHERE = 0 };
typedef enum CtTrailKind {
  CT_TRAIL_BEGIN,
  CT_TRAIL_TAKE,
  CT_TRAIL_WANT,
  CT_TRAIL_BYTE
} CtTrailKind;
typedef struct CtTrailMark {
  CtTrailKind kind;
  uint32_t step, code; /* the step of the history, and its instruction in the program */
  int32_t thread;      /* in the block */
  int64_t block;
  uint64_t place; /* a byte of memory or a lane of a slot; nothing but a name */
  uint32_t buf;   /* WANT of global memory: index in the program's bufs; else 0 */
  int64_t off;    /* and the element of that buffer; BEGIN: the element of the walk */
} CtTrailMark;
typedef struct CtTrail {
  CtTrailMark *mark;
  size_t n, cap;
} CtTrail;

typedef struct CtLineage CtLineage;

enum { CT_LINEAGE_MAX_ELEMENTS = 64 };
/* Opens the lineage of n elements of a tensor, at these offsets: 1 to CT_LINEAGE_MAX_ELEMENTS. `param` names its
   parameter and must outlive the lineage, as `off` must. `max_bytes` limits the history of a cluster. */
CtStatus ct_lineage_open(CtAlloc alloc, const char *param, const int64_t *off, size_t n,
                         size_t max_bytes, CtLineage **out, CtErr *err) CT_NODISCARD;
void ct_lineage_close(CtLineage *t);
/* Before the launches: keep the trails of the walks too. */
void ct_lineage_keep_trail(CtLineage *t);
/* After ct_lineage_rows: the trail of walk i, in any order of walks; NULL: there is no such walk. */
const CtTrail *ct_lineage_trail(const CtLineage *t, int i);
/* What an instruction is. */
typedef struct CtLineageCode {
  const char *name;  /* of the operation: an instruction of the engine, or of the kernel's tiles */
  const char *chunk; /* of the script */
  int line;
  bool moves; /* the value stays as it is */
  int mma_k;  /* how many products a tensor core adds at once; 0: none */
} CtLineageCode;
bool ct_lineage_code(const CtSimtProgram *p, uint32_t code,
                     CtLineageCode *out); /* false: after the last */
const char *ct_lineage_name(const CtSimtProgram *p, uint32_t buf);
/* The watcher of the next launch, or NULL if no more launches are needed. Each launch is the
   same, on tensors with the same contents. Only the first one prints. */
CtSimtWatch *ct_lineage_next(CtLineage *t);
/* After the launches: the rows, by block, then in the order of their first times. The lineage owns
   them. It is an error if there was no memory for the history. */
CtStatus ct_lineage_rows(CtLineage *t, const CtLineageRow **rows, size_t *n,
                         CtErr *err) CT_NODISCARD;
const int64_t *ct_lineage_grid(const CtLineage *t); /* three extents */

/* A row in words. The program is that of the launch. */
typedef struct CtLineagePlace {
  const char *tensor; /* as the script names it; NULL: COMPUTES */
  CtSpace space;
  const char *chunk;
} CtLineagePlace;
CtLineagePlace ct_lineage_place(const CtSimtProgram *p, const CtLineageRow *row);

/* The program's tensors, from 1 on; false after the last one. */
typedef struct CtLineageTensor {
  const char *name;
  CtSpace space;
  CtDtype dtype;
  CtComposed layout;
  bool is_alias;   /* it shares the memory of another tensor: rows name that one */
  bool is_written; /* by some instruction of the kernel */
} CtLineageTensor;
bool ct_lineage_tensor(const CtSimtProgram *p, uint32_t i, CtLineageTensor *out);
const int64_t *ct_lineage_block(const CtSimtProgram *p); /* three extents */

#endif
