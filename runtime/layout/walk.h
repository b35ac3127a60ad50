/* walk.h: visits the elements of a static layout in linear (colexicographic) order, as runs of
   equally spaced indices, so that inner loops are plain. Refuses layouts whose strides are
   coordinates (a basis) or not static. */
#ifndef CT_WALK_H
#define CT_WALK_H

#include "layout.h"

typedef struct CtWalkMode {
  int64_t extent, stride;
  int64_t at; /* coordinate of the current run */
} CtWalkMode;

typedef struct CtWalk {
  int64_t index;  /* of the current run's first element */
  int64_t n;      /* elements of each run */
  int64_t stride; /* between the elements of a run */
  int64_t size;   /* elements in all */
  int64_t lo, hi; /* smallest and largest index; 0 and -1 if there are no elements */
  int n_outer;
  CtWalkMode *outer; /* modes over the runs, fastest first */
  bool started;
} CtWalk;

/* Begins a walk; the arena owns its modes. */
CtStatus ct_walk_init(CtWalk *w, CtArena *arena, CtLayout layout, CtErr *err) CT_NODISCARD;

/* Are all elements adjacent, in linear order? */
static inline bool ct_walk_is_dense(const CtWalk *w) {
  return w->n_outer == 0 && (w->n <= 1 || w->stride == 1);
}

/* Smallest and largest index of a layout, and its size; no memory needed. */
CtStatus ct_walk_bounds(CtLayout layout, int64_t *lo, int64_t *hi, int64_t *size,
                        CtErr *err) CT_NODISCARD;

/* Copies elements of `bytes` bytes: gather to a dense array, scatter from one. `base` is the
   address of index 0. The walk ends. */
void ct_walk_gather(CtWalk *w, size_t bytes, const void *base, void *dst);
void ct_walk_scatter(CtWalk *w, size_t bytes, void *base, const void *src);

/* The same of elements of 4 bits, two in a byte: index 0 is element `first` from `base` on. In the dense array each has
   a byte. */
void ct_walk_gather_packed(CtWalk *w, const void *base, int64_t first, void *dst);
void ct_walk_scatter_packed(CtWalk *w, void *base, int64_t first, const void *src);

#endif
