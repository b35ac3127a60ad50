/* tuple_leaves.h: the leaves of two congruent tuples, those of a layout, from left to right:
     for (CtLeaves w = ct_leaves(shape, stride); ct_next_leaf(&w);) { w.at, w.shape->i, w.stride->i }
   No tuple at all, NULL, has no leaves. */
#ifndef CT_TUPLE_LEAVES_H
#define CT_TUPLE_LEAVES_H

#include "inttuple.h"

typedef struct CtLeaves {
  CtTuple shape, stride; /* the leaf */
  uint32_t at, next, len;
  CtTuple shapes, strides;
} CtLeaves;

static inline CtLeaves ct_leaves(CtTuple shape, CtTuple stride) {
  return (CtLeaves){.len = shape == NULL ? 0 : shape->len, .shapes = shape, .strides = stride};
}
static inline CtLeaves ct_leaves_of(CtTuple t) { return ct_leaves(t, t); }
static inline bool ct_next_leaf(CtLeaves *w) {
  uint32_t i = w->next;
  while (i < w->len && !ct_is_leaf(&w->shapes[i])) {
    i++;
  }
  if (i == w->len) {
    return false;
  }
  w->at = i;
  w->next = i + 1;
  w->shape = &w->shapes[i];
  w->stride = &w->strides[i];
  return true;
}

#endif
