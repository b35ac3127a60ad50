/* rand.c: random numbers from a mixed counter. */
#include "rand.h"

#include <math.h>

/* A bijection of 64 bits: multiplications spread low bits upwards, shifts bring high ones down. The
   multipliers and the counter's step (2^64 / golden ratio, odd) are those of SplitMix64 (Steele,
   Lea, Flood: Fast splittable pseudorandom number generators, 2014). */
static uint64_t mix(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9U;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebU;
  return x ^ (x >> 31);
}

static const uint64_t step = 0x9e3779b97f4a7c15U;

/* Mixing the seed keeps the sequences of neighbouring seeds from overlapping after a few numbers.
   */
void ct_rand_seed(CtRand *r, uint64_t seed) {
  *r = (CtRand){.key = mix(seed ^ 0x6a09e667f3bcc908U)};
}

/* Uniform, all 64 bits. */
static uint64_t next_bits(CtRand *r) {
  r->count++;
  return mix(r->key + r->count * step);
}

float ct_rand_f32(CtRand *r) { return (float)(next_bits(r) >> 40) * 0x1p-24F; }

double ct_rand_f64(CtRand *r) { return (double)(next_bits(r) >> 11) * 0x1p-53; }

int64_t ct_rand_int(CtRand *r, int64_t lo, int64_t hi) {
  uint64_t n = (uint64_t)hi - (uint64_t)lo + 1; /* 0: all 2^64 */
  if (n == 0) {
    return (int64_t)next_bits(r);
  }
  uint64_t n_bad = (0 - n) % n; /* 2^64 mod n: what keeps the rest from being equally likely */
  uint64_t x;
  do {
    x = next_bits(r);
  } while (x < n_bad);
  return (int64_t)((uint64_t)lo + x % n);
}

/* ln x for finite x > 0: x = m * 2^e with m in [sqrt(1/2), sqrt 2), then ln m = 2 atanh t with
   t = (m - 1) / (m + 1), |t| < 0.172, by its series: the first term left out is below 2^-58. libm's
   log differs between machines in the last bit. */
static double ln(double x) {
  int e;
  double m = frexp(x, &e);
  if (m < 0.70710678118654752) {
    m *= 2;
    e--;
  }
  double t = (m - 1) / (m + 1), t2 = t * t, sum = 0;
  for (int k = 23; k >= 1; k -= 2) {
    sum = sum * t2 + 1.0 / k;
  }
  return 2 * t * sum + e * 0.69314718055994531;
}

double ct_rand_normal(CtRand *r) {
  for (;;) {
    double u = 2 * ct_rand_f64(r) - 1;
    double v = 2 * ct_rand_f64(r) - 1;
    double s = u * u + v * v;
    if (s > 0 && s < 1) {
      return u * sqrt(-2 * ln(s) / s);
    }
  }
}
