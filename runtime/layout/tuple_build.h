/* tuple_build.h: builds one IntTuple, or the two congruent tuples of a layout in step, in preorder:
   open a tuple, add leaves and copies, close it, take. The context keeps errors (memory, depth,
   size); after a failure, additions are ignored. Internal to the algebra. */
#ifndef CT_TUPLE_BUILD_H
#define CT_TUPLE_BUILD_H

#include "tuple_context.h"

enum { CT_BUILD_INLINE = 24 }; /* nodes held without a request to the arena */

typedef struct CtBuild {
  CtAlg *g;
  const char *op;    /* the operation, for messages */
  bool paired;       /* two trees */
  CtNode *tree[2];   /* shape and stride of a layout */
  uint32_t len, cap; /* nodes of each tree */
  int depth;         /* open tuples */
  uint32_t open[CT_MAX_DEPTH];
  CtNode inline_nodes[2][CT_BUILD_INLINE];
} CtBuild;

void ct_build_init(CtBuild *b, CtAlg *g, const char *op, bool paired);
/* Nodes of the first tree may have names; a node added without one (0) gets the name of the open
   tuple around it. */
void ct_build_open_named(CtBuild *b, CtModeName name);
void ct_build_close(CtBuild *b);
/* ignores stride if the trees are not paired */
void ct_build_leaf_named(CtBuild *b, CtModeName name, CtInt shape, CtInt stride);
void ct_build_copy(CtBuild *b, CtTuple shape, CtTuple stride);

/* If the closed tuple at node `at` has no name and all its children share one, gives it that
   name. */
void ct_build_name_tuple(CtBuild *b, uint32_t at);

static inline void ct_build_open(CtBuild *b) { ct_build_open_named(b, 0); }
static inline void ct_build_leaf(CtBuild *b, CtInt shape, CtInt stride) {
  ct_build_leaf_named(b, 0, shape, stride);
}
static inline void ct_build_int(CtBuild *b, CtInt i) { ct_build_leaf_named(b, 0, i, i); }

/* A copy of the complete tree in the arena: the shape (0) or the stride (1). */
CtTuple ct_build_take(CtBuild *b, int tree);

#endif
