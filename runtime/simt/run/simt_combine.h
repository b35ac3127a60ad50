/* simt_combine.h: dst = dst op src for whole buffers on the host, in the elements' own type: what a
   reduction over devices does at each of its steps. */
#ifndef CT_SIMT_COMBINE_H
#define CT_SIMT_COMBINE_H

#include "runtime/base/dtype.h"

typedef enum CtCombine { CT_COMBINE_SUM, CT_COMBINE_MAX, CT_COMBINE_MIN, CT_N_COMBINES } CtCombine;

/* n elements; the buffers are the same or do not overlap. Each result is rounded to the type: sums of narrow
   floats are those of f32, rounded once, and tf32 is added as f32. Sums of integers wrap around. Of two
   numbers of which one is NaN, the extremes are the other. False: the type has no such operation (sums of
   bool). */
bool ct_combine(CtDtype dtype, CtCombine op, void *dst, const void *src, int64_t n);

#endif
