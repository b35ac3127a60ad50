/* ir_tma_box.h: a tile as boxes of a tensor map: what ir_tma_box.c finds, for ir_tma.c; not for others. */
#ifndef CT_IR_TMA_BOX_H
#define CT_IR_TMA_BOX_H

#include "ir_build.h"
#include "ir_tma.h"

enum { CT_TMA_LEAVES = 16, CT_TMA_MODES = 32 };

/* An integer mode of the tensor, in order, and where the tile begins along it. */
typedef struct CtTmaLeaf {
  CtInt extent, stride, at;
} CtTmaLeaf;

typedef struct CtTmaMode {
  int64_t n, step, place;
  int leaf;
} CtTmaMode;

/* A dimension of the box: elements `step` apart in a mode of the tensor. */
typedef struct CtTmaBoxDim {
  int leaf;
  int64_t step, box;
} CtTmaBoxDim;

typedef struct CtTmaTile {
  CtIr *ir;
  const CtTmaCall *call;
  const CtTmaSource *source;
  CtAlg g;
  const char *tensor, *tile, *shared; /* names, for messages */
  int64_t bytes;                      /* of an element */
  int swizzle;                        /* as in CtTmaMap */
  int n_leaves, n_modes, n_dims, n_loops;
  CtTmaLeaf leaf[CT_TMA_LEAVES];
  CtTmaMode mode[CT_TMA_MODES];
  CtTmaBoxDim dim[CT_TMA_DIMS];
  CtTmaMode *loop; /* the last n_loops of mode */
  CtTmaBoxes boxes;
} CtTmaTile;

/* Fills in what is below `g`, from the call and its source. */
CtStatus ct_tma_derive(CtTmaTile *d) CT_NODISCARD;
/* The layout of the shared view, for messages. */
const char *ct_tma_shared_text(CtTmaTile *d);

#endif
