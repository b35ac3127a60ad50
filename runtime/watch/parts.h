/* parts.h: which elements of which tensors the threads of a launch access, at which line, and at
   which step of the script's loops. It is a watcher (simt_watch.h) for pictures of a launch.

   A part is what one instruction of one warp accesses through one operand. Its lanes and its
   elements are vectors, each kept once: the offset of element e in lane l is
   base + lanes[l] + elems[e]. An access whose offsets are no such sum is one part for each lane.

   Steps: a loop with a wait in it, for a barrier or for copies, and without such a loop in it, is a
   step loop; in a program without any, each outermost loop is one. A warp that has begun n turns of
   step loops is at step 2n while it is inside one, and at 2n + 1 outside. So warps with different
   loops, such as producers and consumers, have the same steps. */
#ifndef CT_WATCH_PARTS_H
#define CT_WATCH_PARTS_H

#include "runtime/simt/simt.h"

typedef struct CtPart {
  int64_t base;
  uint32_t block; /* linear index */
  uint32_t warp, step;
  uint32_t site;         /* of ct_parts_site */
  uint32_t lanes, elems; /* numbers of vectors; a lane vector is a mask, then its lanes' offsets */
} CtPart;

/* Those of one worker of the engine. */
typedef struct CtPartList {
  const CtPart *part;
  size_t n;
  int64_t *const *vec; /* each with its length before its numbers */
  size_t n_vecs;
} CtPartList;

/* An operand of an instruction. */
typedef struct CtPartSite {
  CtLoc loc;
  int32_t loop;   /* the line of its step loop; 0: it is in none */
  uint32_t buf;   /* index in the program's bufs, of the tensor that owns the memory */
  int64_t at;     /* where the accessed buffer begins in that one, in bytes */
  uint32_t bytes; /* of an element of the accessed buffer */
  bool reads, writes, is_box, is_wgmma;
} CtPartSite;

typedef struct CtParts CtParts;
/* It keeps at most max_parts parts; blocks for which there is no room are left out. */
CtStatus ct_parts_open(CtAlloc alloc, size_t max_parts, CtParts **out, CtErr *err) CT_NODISCARD;
void ct_parts_close(CtParts *t);
CtSimtWatch *ct_parts_watch(CtParts *t);
/* After the launch. */
CtStatus ct_parts_list(const CtParts *t, int worker, CtPartList *out,
                       CtErr *err) CT_NODISCARD; /* out->part is NULL: there is no such worker */
void ct_parts_site(const CtParts *t, const CtSimtProgram *p, uint32_t site, CtPartSite *out);
int64_t ct_parts_left_out(const CtParts *t); /* blocks */
const int64_t *ct_parts_grid(const CtParts *t);

#endif
