/* exact_product.h: products of narrow floats, with scales or without, as the CPU engine adds them where nobody has
   published how the hardware does.

   The k elements of a row of A and of a column of B are cut into `vec` blocks. Of each block the products are
   added exactly, the sum is multiplied exactly by the scale of A and that of B, and the result is added to the
   accumulator, which is then rounded once, to nearest even: block by block, k ascending, from c. Without scales
   there is one block. A sum of 0 is +0, and a NaN is 0x7FFFFFFF.

   PTX says that elements are multiplied "with specified precision" and that sums have at least single precision, in
   any order, with any rounding. So if products and scales are exact there, an element of the hardware's result is
   within (k + 1) 2^-23 (|c| + sum of |a b| times their scales) of the exact one in f32, unless a sum overflows; the CPU
   engine's is within vec 2^-24 of the same, or 2^-24 without scales. */
#ifndef CT_EXACT_PRODUCT_H
#define CT_EXACT_PRODUCT_H

#include "runtime/ir/atom.h"

enum { CT_EXACT_MAX_M = 16, CT_EXACT_MAX_N = 8, CT_EXACT_MAX_K = 64 };

/* Are the atom's products computed so? Of these there is no ct_tc_model. */
static inline bool ct_is_exact(const CtAtom *atom) {
  return atom->kind == CT_ATOM_MMA && atom->targets != CT_TARGETS_FROM &&
         (atom->sm / 10 == 12 || (ct_sm_has_tcgen05(atom->sm) && atom->vec > 0));
}

typedef struct CtExact {
  int m, n, k;
  int groups;  /* of n columns: B, SFB and C of one follow those of the other */
  int vec;     /* scales of a row of A and of a column of B; 0: none */
  CtDtype sum; /* f32 or f16: what c holds and is rounded to */
} CtExact;

/* c[i][j] += sum of a[i][l] b[l][j]: all dense, by rows, as f32. Elements other than infinities and NaNs are multiples of
   2^-16, smaller than 2^16, with at most 4 significant bits. sfa[i][block], sfb[j][block]: powers of two, 0, or numbers of at most 4
   significant bits for elements that are multiples of 2^-1 up to 6 (f4e2m1). */
void ct_exact_product(const CtExact *x, const float *a, const float *b, const float *sfa,
                      const float *sfb, float *c);

#endif
