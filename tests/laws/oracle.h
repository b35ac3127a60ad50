/* oracle.h: what a layout means, worked out from the definition alone, for the laws to be held
   against: the value at the natural coordinate (c0, c1, ...) of the leaves is the sum of
   ci * stride_i; a linear coordinate is split colexicographically and the last digit is not reduced.
   Values are exact in 128 bits. Nothing here calls the algebra. */
#ifndef CT_TESTS_ORACLE_H
#define CT_TESTS_ORACLE_H

#include "runtime/layout/layout.h"

__extension__ typedef __int128 Wide;

enum { FN_MODES = 128, SEEN_MAX = 1 << 14 };

/* The leaves of a layout, from left to right. */
typedef struct Fn {
  int n;
  int64_t shape[FN_MODES], stride[FN_MODES];
} Fn;

Fn fn_of(CtLayout l);
Fn fn_of_mode(CtLayout l, int i);
Wide fn_size(const Fn *f);
Wide fn_at(const Fn *f, Wide i);
Wide size_of(CtTuple shape);
Wide at(CtLayout l, Wide i);

/* The value at a coordinate that may stop at any level; `_` counts as 0. */
Wide at_crd(CtLayout l, CtTuple crd);

/* The modes that move: extents above 1 with strides that are not 0, by increasing stride. */
Fn fn_moving(const Fn *f);
bool fn_has_negative(const Fn *f);
/* Of fn_moving's result: each mode begins where the smaller ones have ended; at a multiple of it. */
bool fn_is_separate(const Fn *moving);
bool fn_is_chain(const Fn *moving);
bool fn_is_compact(const Fn *f); /* its moving modes reach 0, 1, ..., n-1 */
Wide fn_end(const Fn *moving);   /* where the last mode ends; 1 of none */

/* The values of f lie in 0 ... SEEN_MAX-1 and none repeats. seen[v] counts them. */
bool fn_marks(const Fn *f, unsigned char *seen);
bool fn_is_injective(const Fn *f);

/* Is there a layout of n elements with the values value(ud, 0), ..., value(ud, n-1)? */
typedef Wide (*ValueFn)(const void *ud, Wide i);
bool is_layout_fn(ValueFn value, const void *ud, Wide base, Wide step, int64_t n);

/* Relations of nested tuples. */
bool refines(CtTuple fine, CtTuple coarse); /* nesting and sizes: compatible(coarse, fine) */
bool same_nesting(CtTuple a, CtTuple b);

#endif
