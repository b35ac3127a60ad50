/* size.h: from sizes of layouts, which have 64 bits on each machine, to sizes of memory. */
#ifndef CT_SIZE_H
#define CT_SIZE_H

#include "base.h"

/* Whether n >= 0 things of so many bytes fit into what pointers reach; *all gets their bytes. */
static inline bool ct_fits_memory(int64_t n, size_t bytes, size_t *all) {
  uint64_t product;
  if (__builtin_mul_overflow((uint64_t)n, (uint64_t)bytes, &product) ||
      product > (uint64_t)PTRDIFF_MAX) {
    return false;
  }
  *all = (size_t)product;
  return true;
}

/* The product and the sum, or SIZE_MAX, which no allocator gives. */
static inline size_t ct_size_mul(size_t a, size_t b) {
  size_t product;
  return ct_size_mul_overflow(a, b, &product) ? SIZE_MAX : product;
}
static inline size_t ct_size_add(size_t a, size_t b) { return a > SIZE_MAX - b ? SIZE_MAX : a + b; }

#endif
