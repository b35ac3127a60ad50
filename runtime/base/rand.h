/* rand.h: random numbers for test data, the same on every machine and at every optimisation: only
   integer arithmetic and IEEE's basic operations are used. Not for secrets.

   The generator is counter-based: number i of the sequence of a seed is a 64-bit mix of
   seed and i, so a sequence can be continued, skipped and computed in parallel. */
#ifndef CT_RAND_H
#define CT_RAND_H

#include "base.h"

typedef struct CtRand {
  uint64_t key;   /* the mixed seed */
  uint64_t count; /* numbers drawn so far */
} CtRand;

/* Starts the sequence of a seed. A CtRand of zeros is a valid sequence, too. */
void ct_rand_seed(CtRand *r, uint64_t seed);

float ct_rand_f32(CtRand *r);  /* a multiple of 2^-24 in [0, 1), each equally likely */
double ct_rand_f64(CtRand *r); /* a multiple of 2^-53 in [0, 1), each equally likely */

/* An integer in lo <= x <= hi, each equally likely (by rejection, so one call may draw more than
   one number). */
int64_t ct_rand_int(CtRand *r, int64_t lo, int64_t hi);

/* Standard normal, by Marsaglia's polar method: one number from each accepted point of the disc. */
double ct_rand_normal(CtRand *r);

#endif
