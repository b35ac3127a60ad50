/* convert.h: casts between all element types, on bit patterns, to the last bit what both engines give.

   The bits of an element are those in memory, in the low end of 64. Float to float rounds once, to
   nearest even; tf32 to nearest with ties away from 0. Beyond the range are infinities, and the largest
   finite numbers of f8e4m3 and f8e5m2. NaN becomes the type's NaN with all fraction bits set and no
   sign; f64 and f32 pass theirs on to each other, bf16 and tf32 theirs to f32. Float to integer
   truncates, saturates, and makes NaN 0. Integer to integer keeps the low bits, integer to float rounds
   the exact integer once. To bool: is it not 0? */
#ifndef CT_CONVERT_H
#define CT_CONVERT_H

#include "dtype.h"

uint64_t ct_convert(CtDtype to, CtDtype from, uint64_t bits);

/* The same with a C number on one side: double holds each value of each float type, int64_t each integer
   (of a u64 the bits). */
double ct_float_of_bits(CtDtype from, uint64_t bits);
uint64_t ct_bits_of_float(CtDtype to, double v);
int64_t ct_int_of_bits(CtDtype from, uint64_t bits); /* of an integer or a bool */
uint64_t ct_bits_of_int(CtDtype to, int64_t v);      /* keeps the low bits; bool: v != 0 */

/* Numbers between types: a double to the nearest of a float type or to an integer; an integer of type
   `from` to a float type. */
double ct_round_float(CtDtype to, double v);
int64_t ct_truncate_float(CtDtype to, double v);
double ct_round_int(CtDtype to, CtDtype from, int64_t v);

#endif
