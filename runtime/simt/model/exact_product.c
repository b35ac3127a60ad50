/* exact_product.c: exact sums of products of narrow floats. Elements are integers in units of 2^-16, so a product is one
   in units of 2^-32, and the sum of a block is one of less than 70 bits. Where the products' own unit is coarse enough
   doubles have the sum, and are added in vectors; else it is an integer, which two doubles have. these, the scales and
   the accumulator are added with one rounding by way of a rounding to odd (Boldo and Melquiond, "Emulation of a
   FMA and correctly rounded sums: proved algorithms using rounding to odd"). */
#include "exact_product.h"

#include "runtime/base/bits.h"
#include "runtime/base/convert.h"

enum { UNIT = 16 };

__extension__ typedef __int128 Wide;

/* Numbers of all columns, in vectors that every processor has. */
enum { PAIRS = CT_EXACT_MAX_N / 2 };
typedef double Pair __attribute__((vector_size(16)));
typedef union Columns {
  Pair pair[PAIRS];
  double v[CT_EXACT_MAX_N];
} Columns;

/* One operand as integers, rows of k, and what they have in common. */
typedef struct Side {
  int64_t v[CT_EXACT_MAX_M][CT_EXACT_MAX_K];
  bool is_special[CT_EXACT_MAX_M]; /* has an infinity or a NaN */
  int64_t most, bits;              /* the largest; all bits that any has */
} Side;

static bool is_finite(double x) { return x - x == 0; }

static void set_element(Side *s, int row, int l, float v) {
  bool finite = is_finite((double)v);
  int64_t units = finite ? (int64_t)(v * (float)(1 << UNIT)) : 0;
  s->v[row][l] = units;
  s->is_special[row] |= !finite;
  s->most = ct_max(s->most, units < 0 ? -units : units);
  s->bits |= units;
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

/* {====== Sums of a block ====== */

/* How the sums of a block are exact. */
typedef enum Exact { IN_DOUBLES, IN_INT64, IN_WIDE } Exact;

typedef struct Sides {
  const Side *rows, *cols;
  const Columns *b; /* the elements of B, row by row; IN_DOUBLES */
  Exact exact;
} Sides;

static int trailing_zeros(int64_t bits) { return bits == 0 ? 0 : __builtin_ctzll((uint64_t)bits); }

static Exact choose(const Side *rows, const Side *cols) {
  int64_t unit = trailing_zeros(rows->bits) + trailing_zeros(cols->bits);
  double most = (double)rows->most * (double)cols->most * CT_EXACT_MAX_K; /* twice what occurs */
  return most < (double)((uint64_t)1 << 53) * (double)((uint64_t)1 << unit) ? IN_DOUBLES
         : most < 0x1p62                                                    ? IN_INT64
                                                                            : IN_WIDE;
}

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

static Columns sum_doubles(const int64_t *a, const Columns *b, int n) {
  Pair s0 = {0}, s1 = {0}, s2 = {0}, s3 = {0};
  for (int l = 0; l < n; l++) {
    double v = (double)a[l];
    s0 += v * b[l].pair[0];
    s1 += v * b[l].pair[1];
    s2 += v * b[l].pair[2];
    s3 += v * b[l].pair[3];
  }
  return (Columns){{s0, s1, s2, s3}};
}

/* Of a row by each column: hi + lo, in units of 2^-32. */
static void sum_block(const Sides *x, int i, int first, int n, Columns *hi, Columns *lo) {
  const int64_t *a = x->rows->v[i] + first;
  *lo = (Columns){{{0}}};
  if (x->exact == IN_DOUBLES) {
    *hi = sum_doubles(a, x->b + first, n);
    return;
  }
  for (int j = 0; j < CT_EXACT_MAX_N; j++) {
    Wide sum = sum_of(a, x->cols->v[j] + first, n, x->exact == IN_INT64);
    hi->v[j] = (double)sum;
    lo->v[j] = (double)(sum - (Wide)hi->v[j]);
  }
}

/* {====== Sums ====== */

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

/* Of a row by all columns whose `is_special` is false. */
static void finite_sums(const CtExact *x, const Sides *sides, int i, const float *sfa,
                        const float *sfb, const bool *is_special, float *c) {
  int blocks = x->vec == 0 ? 1 : x->vec, each = x->k / blocks;
  for (int block = 0; block < blocks; block++) {
    Columns hi, lo;
    sum_block(sides, i, block * each, each, &hi, &lo);
    for (int j = 0; j < x->n; j++) {
      double scale = x->vec == 0 ? 1 : (double)sfa[block] * (double)sfb[j * x->vec + block];
      if (!is_special[j] && is_finite((double)c[j])) { /* else what is finite does not change it */
        scale *= 0x1p-32;
        c[j] = add_three(x, (double)c[j], hi.v[j] * scale, lo.v[j] * scale);
      }
    }
  }
}

static void multiply_row(const CtExact *x, const Sides *sides, int i, const float *a,
                         const float *b, const float *sfa, const float *sfb, float *c) {
  bool is_special[CT_EXACT_MAX_N], any = false, all = true;
  for (int j = 0; j < x->n; j++) {
    is_special[j] = sides->rows->is_special[i] || sides->cols->is_special[j] ||
                    !is_finite((double)c[j]) || !are_scales(x, sfa, sfb + j * x->vec);
    any = any || is_special[j];
    all = all && is_special[j];
  }
  for (int j = 0; any && j < x->n; j++) {
    if (is_special[j]) {
      c[j] = special_sum(x, a, b + j, sfa, sfb + j * x->vec, (double)c[j]);
    }
  }
  if (!all) {
    finite_sums(x, sides, i, sfa, sfb, is_special, c);
  }
}

static void set_rows(const CtExact *x, const float *a, Side *rows) {
  for (int i = 0; i < x->m; i++) {
    for (int l = 0; l < x->k; l++) {
      set_element(rows, i, l, a[i * x->k + l]);
    }
  }
}

static void multiply_group(const CtExact *x, const Side *rows, const float *a, const float *b,
                           const float *sfa, const float *sfb, float *c) {
  Side cols = {.most = 0};
  Columns columns[CT_EXACT_MAX_K] = {{{{0}}}};
  for (int l = 0; l < x->k; l++) {
    for (int j = 0; j < x->n; j++) {
      set_element(&cols, j, l, b[l * x->n + j]);
      columns[l].v[j] = (double)cols.v[j][l];
    }
  }
  const Sides sides = {rows, &cols, columns, choose(rows, &cols)};
  for (int i = 0; i < x->m; i++) {
    multiply_row(x, &sides, i, a + i * x->k, b, sfa + i * x->vec, sfb, c + i * x->n);
  }
}

void ct_exact_product(const CtExact *x, const float *a, const float *b, const float *sfa,
                      const float *sfb, float *c) {
  Side rows = {.most = 0};
  CT_ASSERT(x->m <= CT_EXACT_MAX_M && x->n <= CT_EXACT_MAX_N && x->k <= CT_EXACT_MAX_K);
  set_rows(x, a, &rows);
  for (int i = 0; i < x->groups; i++) {
    multiply_group(x, &rows, a, b + i * x->n * x->k, sfa, sfb + i * x->n * x->vec,
                   c + i * x->m * x->n);
  }
}
