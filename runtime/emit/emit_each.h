/* emit_each.h: loops over the elements of some views, for operations on whole tensors.

   The views of an elementwise operation have the same size but may have different shapes: element i,
   counted colexicographically, belongs to element i. If the shapes have a common refinement, each
   of its modes is one loop; else one loop counts the elements and each view splits the number. */
#ifndef CT_EMIT_EACH_H
#define CT_EMIT_EACH_H

#include "emit_tile.h"

enum {
  CT_EACH_MAX_VIEWS = 3,
  CT_EACH_MAX_PARTS = 16, /* views and the axes of their guards */
  CT_EACH_MAX_VEC = 32    /* of 8 bits, for 256 */
};

enum { CT_EACH_DST, CT_EACH_SRC, CT_EACH_SRC_B };

/* What the caller says. */
typedef struct CtEmitViews {
  const char *what; /* error messages begin with it */
  const CtInst *inst;
  bool is_early; /* the source is read by load_early */
  int n;
  const CtView *view[CT_EACH_MAX_VIEWS];
} CtEmitViews;

/* What ct_emit_each makes of it: it is too large for a stack. */
typedef struct CtEmitEach {
  const char *what;
  const CtInst *inst;
  int n_views;
  int n_parts; /* parts [n_views, n_parts) are axes: coordinates instead of offsets */
  CtLayout layout[CT_EACH_MAX_PARTS];
  CtEmitOperand op[CT_EACH_MAX_PARTS];
  int view_of[CT_EACH_MAX_PARTS]; /* for axes: the guarded view */
  CtInt bound[CT_EACH_MAX_PARTS]; /* for axes */
  /* names of the conditions that are the same for all elements, or NULL */
  const char *when[CT_EACH_MAX_VIEWS];
  int vec;
  int64_t lane[CT_EACH_MAX_PARTS][CT_EACH_MAX_VEC]; /* offsets of the elements of a vector */
  int n_modes;                                      /* the common refinement */
  CtInt extent[CT_EMIT_MAX_MODES];
  CtEmitStride stride[CT_EACH_MAX_PARTS][CT_EMIT_MAX_MODES];
} CtEmitEach;

typedef void (*CtEmitEachBody)(CtEmit *e, const CtEmitEach *each);

/* Writes the loops; `body` writes what happens to one element inside them, or to vec of them. */
void ct_emit_each(CtEmit *e, const CtEmitViews *views, int vec, CtEmitEachBody body);

#endif
