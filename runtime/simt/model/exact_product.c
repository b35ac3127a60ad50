/* exact_product.c: exact sums of products of narrow floats. Elements are integers in units of 2^-16, so a product is one
   in units of 2^-32, and the sum of a block is one of less than 70 bits. It is two doubles; these, the scales and
   the accumulator are added with one rounding by way of a rounding to odd (Boldo and Melquiond, "Emulation of a
   FMA and correctly rounded sums: proved algorithms using rounding to odd"). */
#include "exact_product.h"

#include "runtime/base/bits.h"
#include "runtime/base/convert.h"

enum { UNIT = 16 };

__extension__ typedef __int128 Wide;

/* One operand as integers: rows of k. */
typedef struct Side {
  int64_t v[CT_EXACT_MAX_M][CT_EXACT_MAX_K];
  bool is_special[CT_EXACT_MAX_M]; /* has an infinity or a NaN */
  int64_t most;
} Side;

static bool is_finite(double x) { return x - x == 0; }

static void set_element(Side *s, int row, int l, float v) {
  bool finite = is_finite((double)v);
  int64_t units = finite ? (int64_t)(v * (float)(1 << UNIT)) : 0;
  s->v[row][l] = units;
  s->is_special[row] |= !finite;
  s->most = ct_max(s->most, units < 0 ? -units : units);
}

/* {====== Rounding ====== */

/* x + y, to the double next to it whose last bit is 1 unless it is exact. */
static double add_to_odd(double x, double y) {
  double s = x + y, t = s - x;
  double rest = (x - (s - t)) + (y - t);
  uint64_t u = ct_bits_of_f64(s);
  if (rest != 0 && (u & 1) == 0) {
    u = (rest > 0) == (s > 0) ? u + 1 : u - 1;
  }
  return ct_f64_of_bits(u);
}

/* acc + hi + lo, rounded once; hi is lo + hi rounded. */
static float add_three(const CtExact *x, double acc, double hi, double lo) {
  double s = acc + hi, t = s - acc;
  double rest = (acc - (s - t)) + (hi - t);
  double r = add_to_odd(s, add_to_odd(rest, lo));
  r = x->sum == CT_f16 ? ct_round_float(CT_f16, r) : r;
  return (float)r + 0.0F;
}

/* {====== Sums ====== */

static Wide sum_of(const int64_t *a, const int64_t *b, int n, bool is_small) {
  int64_t sum = 0;
  Wide wide = 0;
  for (int l = 0; is_small && l < n; l++) {
    sum += a[l] * b[l];
  }
  for (int l = 0; !is_small && l < n; l++) {
    wide += (Wide)a[l] * b[l];
  }
  return is_small ? sum : wide;
}

/* The sum where it is an infinity or a NaN: of what is not finite. */
static float special_sum(const CtExact *x, const float *a, const float *b, const float *sfa,
                         const float *sfb, double c) {
  double sum = is_finite(c) ? 0 : c;
  for (int l = 0; l < x->k; l++) {
    int at = x->vec == 0 ? 0 : l * x->vec / x->k;
    double scale = x->vec == 0 ? 1 : (double)sfa[at] * (double)sfb[at];
    double p = (double)a[l] * (double)b[l * x->n] * scale;
    sum += is_finite(p) ? 0 : p;
  }
  return sum != sum ? ct_f32_of_bits(0x7FFFFFFF) : (float)sum;
}

/* Whether the scales of a row and of a column are numbers. */
static bool are_scales(const CtExact *x, const float *sfa, const float *sfb) {
  bool are = true;
  for (int i = 0; i < x->vec; i++) {
    are = are && is_finite((double)sfa[i]) && is_finite((double)sfb[i]);
  }
  return are;
}

static float finite_sum(const CtExact *x, const int64_t *a, const int64_t *b, bool is_small,
                        const float *sfa, const float *sfb, float c) {
  int blocks = x->vec == 0 ? 1 : x->vec, each = x->k / blocks;
  for (int i = 0; i < blocks; i++) {
    Wide sum = sum_of(a + i * each, b + i * each, each, is_small);
    double hi = (double)sum, lo = (double)(sum - (Wide)hi);
    double scale = x->vec == 0 ? 1 : (double)sfa[i] * (double)sfb[i];
    scale *= 0x1p-32;
    c = add_three(x, (double)c, hi * scale, lo * scale);
    if (!is_finite((double)c)) {
      return c; /* what is finite does not change it */
    }
  }
  return c;
}

void ct_exact_product(const CtExact *x, const float *a, const float *b, const float *sfa,
                      const float *sfb, float *c) {
  Side rows = {.most = 0}, cols = {.most = 0};
  CT_ASSERT(x->m <= CT_EXACT_MAX_M && x->n <= CT_EXACT_MAX_N && x->k <= CT_EXACT_MAX_K);
  for (int l = 0; l < x->k; l++) {
    for (int i = 0; i < x->m; i++) {
      set_element(&rows, i, l, a[i * x->k + l]);
    }
    for (int j = 0; j < x->n; j++) {
      set_element(&cols, j, l, b[l * x->n + j]);
    }
  }
  bool is_small = rows.most == 0 || cols.most < (INT64_C(1) << 56) / rows.most;
  for (int at = 0; at < x->m * x->n; at++) {
    int i = at / x->n, j = at % x->n;
    const float *of_a = sfa + i * x->vec, *of_b = sfb + j * x->vec;
    bool is_special = rows.is_special[i] || cols.is_special[j] || !is_finite((double)c[at]) ||
                      !are_scales(x, of_a, of_b);
    c[at] = is_special ? special_sum(x, a + i * x->k, b + j, of_a, of_b, (double)c[at])
                       : finite_sum(x, rows.v[i], cols.v[j], is_small, of_a, of_b, c[at]);
  }
}
