/* convert.h: casts between all element types, on bit patterns, to the last bit what both engines give.

   The bits of an element are those in memory, in the low end of 64. Float to float rounds once, to
   nearest even; tf32 to nearest with ties away from 0. Beyond the range are infinities, and the largest
   finite numbers of types of 8 bits or fewer. NaN becomes the type's NaN with all fraction bits set and no
   sign, or the largest number where there is none. Types without a sign take the size of a number, and
   f8ue8m0 the least power of two that is not smaller; f64 and f32 pass theirs on to each other, bf16 and tf32 theirs to f32. Float to integer
   truncates, saturates, and makes NaN 0. Integer to integer keeps the low bits, integer to float rounds
   the exact integer once. To bool: is it not 0? */
#ifndef CT_CONVERT_H
#define CT_CONVERT_H

#include "dtype.h"

/* A binary format: sign, exponent, fraction. Patterns are without the sign; what is behind `shift` low
   zeros counts. */
typedef struct CtFormat {
  uint64_t max, overflow, nan; /* the largest finite, what stands for more, the canonical NaN */
  int bits, fraction, bias;    /* of all; of the fraction; what is added to the exponent */
  int shift;
  bool has_inf, ties_away, has_sign;
  bool is_scale; /* pattern n is 2^(n - bias), and numbers between two are rounded up */
} CtFormat;

/* From the columns of dtypes.def: e bits of exponent, f of fraction. */
enum {
  CT_ENDS_INF,
  CT_ENDS_AWAY,
  CT_ENDS_SATURATES,
  CT_ENDS_NUMBERS,
  CT_ENDS_FINITE,
  CT_ENDS_UNSIGNED,
  CT_ENDS_SCALE
};
#define CT_ONES(n) (((uint64_t)1 << (n)) - 1)
#define CT_LARGEST(e, f, ends)                                                                     \
  ((ends) >= CT_ENDS_NUMBERS ? CT_ONES((e) + (f)) - ((ends) != CT_ENDS_NUMBERS)                    \
                             : (CT_ONES(e) << (f)) - 1)
#define CT_FORMAT(n, e, f, ends)                                                                   \
  {                                                                                                \
    .max = CT_LARGEST(e, f, CT_ENDS_##ends),                                                       \
    .overflow =                                                                                    \
        CT_ENDS_##ends <= CT_ENDS_AWAY ? CT_ONES(e) << (f) : CT_LARGEST(e, f, CT_ENDS_##ends),     \
    .nan = CT_ONES((e) + (f)), .bits = (n), .fraction = (f), .bias = (1 << ((e)-1)) - 1,           \
    .shift = CT_ENDS_##ends < CT_ENDS_UNSIGNED ? (n)-1 - (e) - (f) : 0,                            \
    .has_inf = CT_ENDS_##ends <= CT_ENDS_SATURATES, .ties_away = CT_ENDS_##ends == CT_ENDS_AWAY,   \
    .has_sign = CT_ENDS_##ends < CT_ENDS_UNSIGNED, .is_scale = CT_ENDS_##ends == CT_ENDS_SCALE     \
  }

const CtFormat *ct_dtype_format(CtDtype t); /* of a float */

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
