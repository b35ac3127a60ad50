/* order.h: what things in an order need: comparisons for qsort, and a search by halving. */
#ifndef CT_ORDER_H
#define CT_ORDER_H

#include "base.h"

/* As qsort wants it: the first pair of numbers that differ decides, each pair {of the one, of the other}. */
static inline int ct_compare_pairs(const int64_t pairs[][2], size_t n) {
  for (size_t i = 0; i < n; i++) {
    if (pairs[i][0] != pairs[i][1]) {
      return pairs[i][0] < pairs[i][1] ? -1 : 1;
    }
  }
  return 0;
}
#define CT_COMPARE_PAIRS(pairs) ct_compare_pairs(pairs, CT_ARRAY_LEN(pairs))

/* Sets i to the first number of [0, n) for which `is_before`, an expression of i, is false; n: there is none. What it
   is true of comes before what it is false of. */
#define CT_FIRST_NOT_BEFORE(i, n, is_before)                                                       \
  do {                                                                                             \
    size_t lo_ = 0, hi_ = (n);                                                                     \
    while (lo_ < hi_) {                                                                            \
      (i) = lo_ + (hi_ - lo_) / 2;                                                                 \
      if (is_before) {                                                                             \
        lo_ = (i) + 1;                                                                             \
      } else {                                                                                     \
        hi_ = (i);                                                                                 \
      }                                                                                            \
    }                                                                                              \
    (i) = lo_;                                                                                     \
  } while (0)

#endif
