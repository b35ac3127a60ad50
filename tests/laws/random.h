/* random.h: random layouts, tilers and coordinates, of the kinds that layouts of real programs are
   made of and of those that are not. Everything lives in the arena that is passed. */
#ifndef CT_TESTS_RANDOM_H
#define CT_TESTS_RANDOM_H

#include "runtime/layout/layout.h"

typedef struct Rng {
  uint64_t state;
} Rng;

uint64_t rng_next(Rng *r);
int64_t rng_below(Rng *r, int64_t n); /* 0 ... n-1 */
bool rng_chance(Rng *r, int percent);

/* A shape of at most `max` elements; rank 1 to 4, up to three levels. */
CtTuple random_shape(Rng *r, CtArena *a, int64_t max);
/* Strides for a shape: compact in some order, padded, with zeros, small, negative or huge ones. */
CtLayout random_layout(Rng *r, CtArena *a, int64_t max);
/* Compact strides in a random order of the modes: a bijection. */
CtLayout random_compact(Rng *r, CtArena *a, int64_t max);
/* Likewise of powers of two. */
CtLayout random_bits(Rng *r, CtArena *a);
/* A layout whose values are coordinates of l and step evenly through its modes. */
CtLayout random_fitting(Rng *r, CtArena *a, CtLayout l);
/* An integer, a layout, `_` or a tuple of them that mostly fits l. */
CtTiler random_tiler(Rng *r, CtArena *a, CtLayout l, bool with_any);
CtTiler layout_tiler(CtLayout l);
/* A natural coordinate of the shape; one that stops at some level, with `any` percent of `_`. */
CtTuple random_natural(Rng *r, CtArena *a, CtTuple shape);
CtTuple random_coord(Rng *r, CtArena *a, CtTuple shape, int any);
int64_t random_divisor(Rng *r, int64_t n);

#endif
