/* ref_fma.h: what fma of doubles must give. musl's own has the wrong sign where the product of two numbers
   is too small for a double and 0 is added. */
#ifndef REF_FMA_H
#define REF_FMA_H

#include <math.h>

static inline double ref_fma(double a, double b, double c) {
  return c == 0 && a != 0 && b != 0 ? a * b : fma(a, b, c);
}

#endif
