/* tensor_core.c: products of matrices with the bits of a tensor core. Compiled once per instruction set.

   Eight columns of a row of D are computed side by side. Products are exact in double, and so are sums:
   they are added as integers, in units of the last place that is kept. */
#include "tensor_core.h"

#include <math.h>
#include <string.h>

enum {
  LANES = CT_TC_LANES,
  ZERO_EXPONENT = -10000, /* of 0: less than any other, also when added to one */
  INT_BLOCK = 16,         /* products whose sum fits 32 bits: 16 * 4 * 2^25 */
};

typedef CtTcRow Row;
typedef CtTcCols Cols;

#if defined(CT_SIMT_AVX512) || defined(CT_SIMT_AVX2)
/* Eight columns: compilers do not make vectors of casts by themselves. */
typedef double Doubles __attribute__((vector_size(LANES * sizeof(double)), aligned(8), may_alias));
typedef int32_t Ints __attribute__((vector_size(LANES * sizeof(int32_t)), aligned(4), may_alias));
#endif

static uint32_t bits_of(float x) {
  uint32_t u;
  memcpy(&u, &x, sizeof u);
  return u;
}

static float float_of(uint32_t u) {
  float x;
  memcpy(&x, &u, sizeof x);
  return x;
}

static inline uint64_t bits_of_double(double x) {
  uint64_t u;
  memcpy(&u, &x, sizeof u);
  return u;
}

static inline double double_of(uint64_t u) {
  double x;
  memcpy(&x, &u, sizeof x);
  return x;
}

static inline double power_of_2(int e) { return double_of((uint64_t)(e + 1023) << 52); }

static inline int32_t max_i32(int32_t a, int32_t b) { return a > b ? a : b; }

/* {====== Operands ====== */

/* True when x is not finite. */
static inline bool decode(const CtTcModel *model, int side, float x, float *raw, double *v,
                          int32_t *e) {
  uint32_t u = bits_of(x) & (model->is_tf32 ? 0xFFFFE000u : 0xFFFFFFFFu);
  int32_t field = (int32_t)(u >> 23 & 255);
  bool special = field == 255;
  bool zero = special || (u & 0x7FFFFFFF) == 0;
  *raw = float_of(u);
  *v = zero ? 0 : (double)*raw;
  *e = zero ? ZERO_EXPONENT : max_i32(field - 127, model->min_exponent[side]);
  return special;
}

/* The place, in the order of summing, of the l-th product. */
static int place_of(const CtTcModel *model, int k, int l) {
  return model->halves_of_4 ? l % 4 / 2 * (k / 2) + l / 4 * 2 + l % 2 : l;
}

static void decode_row(const CtTcModel *model, int k, const float *a, Row *row) {
  row->is_special = false;
  for (int l = 0; l < k; l++) {
    int at = place_of(model, k, l);
    row->is_special |= decode(model, 0, a[l], &row->raw[at], &row->v[at], &row->e[at]);
  }
}

/* Columns beyond n are zeros. */
static void decode_cols(const CtTcModel *model, int n, int stride, int k, const float *b,
                        Cols *cols) {
  memset(cols->is_special, 0, sizeof cols->is_special);
  for (int l = 0; l < k; l++) {
    int at = place_of(model, k, l);
    for (int j = 0; j < LANES; j++) {
      float x = j < n ? b[(size_t)l * (size_t)stride + (size_t)j] : 0;
      cols->is_special[j] |=
          decode(model, 1, x, &cols->raw[at][j], &cols->v[at][j], &cols->e[at][j]);
    }
  }
}

/* {====== Rounding: doubles that are exact, to doubles of fewer bits ====== */

/* Towards 0 to `places` binary places, multiples of 2^(-126 - places), infinite from 2^128 on. What
   becomes 0 is +0. */
static inline double truncate(double x, int places) {
  uint64_t u = bits_of_double(x);
  int32_t e = (int32_t)(u >> 52 & 2047) - 1023;
  int32_t drop = 52 - places + max_i32(-126 - e, 0);
  drop = drop > 53 ? 53 : drop;
  u &= drop == 53 ? UINT64_C(1) << 63 : ~UINT64_C(0) << (drop > 52 ? 52 : drop);
  u = e >= 128 ? (u & UINT64_C(1) << 63) | UINT64_C(2047) << 52 : u;
  return double_of(u) + 0.0;
}

static inline double round_f16(double x) {
  int32_t e = max_i32((int32_t)(bits_of_double(x) >> 52 & 2047) - 1023, -14);
  double magic = 1.5 * power_of_2(e - 10 + 52);
  double r = (x + magic) - magic;
  uint64_t sign = bits_of_double(x) & UINT64_C(1) << 63;
  uint64_t u = bits_of_double(r) & ~(UINT64_C(1) << 63);
  return double_of(sign | (e >= 16 || r >= 65536 || r <= -65536 ? UINT64_C(2047) << 52 : u));
}

/* {====== Sums ====== */

/* The sum where an addend is not finite: an infinity or NaN, or 0 where all are finite. */
static double special_sum(int k, const Row *row, const Cols *cols, int first, int j, double c) {
  double sum = c - c == 0 ? 0 : c;
  for (int l = first; l < first + k; l++) {
    double p = (double)row->raw[l] * (double)cols->raw[l][j];
    sum += p - p == 0 ? 0 : p;
  }
  return sum;
}

/* The largest exponents of products l and of accumulators. */
static inline void largest_exponents(const CtTcModel *model, const Row *row, const Cols *cols,
                                     int first, int end, const double *acc, int32_t *top) {
  int32_t least = model->min_exponent[2];
  for (int j = 0; j < LANES; j++) {
    int32_t field = (int32_t)(bits_of_double(acc[j]) >> 52 & 2047);
    top[j] = field == 0 ? model->floor : max_i32(field - 1023, least);
    top[j] = max_i32(top[j], model->floor);
  }
#if defined(CT_SIMT_AVX512) || defined(CT_SIMT_AVX2)
  Ints most = *(const Ints *)top;
  for (int l = first; l < end; l++) {
    Ints e = *(const Ints *)cols->e[l] + row->e[l], more = e > most;
    most = (e & more) | (most & ~more);
  }
  *(Ints *)top = most;
#else
  for (int l = first; l < end; l++) {
    for (int j = 0; j < LANES; j++) {
      top[j] = max_i32(top[j], row->e[l] + cols->e[l][j]);
    }
  }
#endif
}

/* The products [first, end), each cut to a multiple of 1 / scale[j], added up: to sum[j]. */
static inline void add_products(const Row *row, const Cols *cols, int first, int end,
                                const double *scale, int32_t *sum) {
#if defined(CT_SIMT_AVX512) || defined(CT_SIMT_AVX2)
  Doubles scales = *(const Doubles *)scale;
  Ints total = {0};
  for (int l = first; l < end; l++) {
    Doubles p = *(const Doubles *)cols->v[l] * row->v[l] * scales;
    total += __builtin_convertvector(p, Ints);
  }
  *(Ints *)sum = total;
#else
  memset(sum, 0, LANES * sizeof *sum);
  for (int l = first; l < end; l++) {
    double a = row->v[l];
    for (int j = 0; j < LANES; j++) {
      sum[j] += (int32_t)(a * cols->v[l][j] * scale[j]);
    }
  }
#endif
}

static inline void fused(const CtTcModel *model, const Row *row, const Cols *cols, int first,
                         int end, double *acc) {
  int32_t top[LANES];
  double scale[LANES], unit[LANES], total[LANES];
  largest_exponents(model, row, cols, first, end, acc, top);
  for (int j = 0; j < LANES; j++) {
    scale[j] = power_of_2(model->fraction_bits - top[j]);
    unit[j] = power_of_2(top[j] - model->fraction_bits);
    total[j] = (double)(int32_t)(acc[j] * scale[j]);
  }
  for (int l0 = first; l0 < end; l0 += INT_BLOCK) {
    int32_t sum[LANES];
    add_products(row, cols, l0, l0 + INT_BLOCK < end ? l0 + INT_BLOCK : end, scale, sum);
    for (int j = 0; j < LANES; j++) {
      total[j] += (double)sum[j];
    }
  }
  for (int j = 0; j < LANES; j++) {
    acc[j] = total[j] * unit[j];
  }
}

static void fused_block(const CtTcModel *model, const Row *row, const Cols *cols, int first,
                        int end, bool any_special, double *acc) {
  double finite[LANES], special[LANES] = {0};
  for (int j = 0; j < LANES; j++) {
    finite[j] = acc[j] - acc[j] == 0 ? acc[j] : 0;
    any_special |= finite[j] != acc[j];
  }
  if (any_special) {
    for (int j = 0; j < LANES; j++) {
      special[j] = special_sum(end - first, row, cols, first, j, acc[j]);
    }
  }
  fused(model, row, cols, first, end, finite);
  if (model->round == CT_TC_F16) {
    for (int j = 0; j < LANES; j++) {
      acc[j] = round_f16(finite[j]) + 0.0; /* what becomes 0 is +0 */
    }
  } else {
    int places = model->round == CT_TC_F32 ? 23 : 13;
    for (int j = 0; j < LANES; j++) {
      acc[j] = truncate(finite[j], places);
    }
  }
  for (int j = 0; any_special && j < LANES; j++) {
    acc[j] = special[j] == 0 ? acc[j] : special[j];
  }
}

/* One element of an atom of four products that ordinary instructions compute. Products of two f16s are
   exact in f32, so that a fused multiply-add is an addition. */
static float plain_sum(const CtTcModel *model, const float *p, float c) {
  if (model->sum == CT_TC_CHAIN) {
    float sum = 0;
    for (int l = 0; l < 4; l++) {
      sum += p[l];
    }
    return c + sum;
  }
  float first = p[0] + p[1];
  float second = p[2] + p[3];
  return (c + first) + second;
}

static void plain_block(const CtTcModel *model, const Row *row, const Cols *cols, const double *c,
                        double *acc) {
  for (int j = 0; j < LANES; j++) {
    float p[4];
    for (int l = 0; l < 4; l++) {
      p[l] = row->raw[l] * cols->raw[l][j];
    }
    double sum = (double)plain_sum(model, p, (float)c[j]);
    acc[j] = model->round == CT_TC_F16 && sum - sum == 0 ? round_f16(sum) : sum;
  }
}

/* {====== Matrices ====== */

/* c last: both are f32, or f16s whose sum is exact in f32 but for one rounding. */
static double add_last(const CtTcModel *model, double sum, double c) {
  double r = sum + c;
  if (r - r != 0) {
    return r;
  }
  return model->round == CT_TC_F16 ? round_f16(r) : (double)(float)r;
}

static void row_by_cols(const CtTcModel *model, int n, int k, const Row *row, const Cols *cols,
                        const float *c, float *d) {
  double acc[LANES] = {0}, first[LANES] = {0};
  bool any_special = row->is_special;
  for (int j = 0; j < n; j++) {
    first[j] = (double)c[j];
    any_special |= cols->is_special[j];
  }
  if (model->sum != CT_TC_FUSED) {
    plain_block(model, row, cols, first, acc);
  } else {
    if (!model->c_last) {
      memcpy(acc, first, sizeof acc);
    }
    for (int l = 0; l < k; l += model->block) {
      int end = l + model->block < k ? l + model->block : k;
      fused_block(model, row, cols, l, end, any_special, acc);
    }
  }
  for (int j = 0; j < n; j++) {
    double r = model->c_last ? add_last(model, acc[j], first[j]) : acc[j];
    d[j] = r != r ? float_of(0x7FFFFFFF) : (float)r;
  }
}

void ct_tc_rows(const CtTcModel *model, int m, int k, const float *a, CtTcRow *rows) {
  CT_ASSERT(k <= CT_TC_MAX_K);
  for (int i = 0; i < m; i++) {
    decode_row(model, k, a + (size_t)i * (size_t)k, &rows[i]);
  }
}

void ct_tc_cols(const CtTcModel *model, int n, int k, const float *b, CtTcCols *cols) {
  CT_ASSERT(n <= LANES && k <= CT_TC_MAX_K);
  decode_cols(model, n, n, k, b, cols);
}

void ct_tc_product(const CtTcModel *model, int m, int n, int k, const CtTcRow *rows,
                   const CtTcCols *cols, const float *c, float *d) {
  for (int i = 0; i < m; i++) {
    size_t at = (size_t)i * (size_t)n;
    row_by_cols(model, n, k, &rows[i], cols, c + at, d + at);
  }
}

void ct_tc_mma(const CtTcModel *model, int m, int n, int k, const float *a, const float *b,
               const float *c, float *d) {
  CT_ASSERT(k <= CT_TC_MAX_K && (model->sum == CT_TC_FUSED || k == 4));
  Row row;
  Cols cols;
  for (int j = 0; j < n; j += LANES) {
    int n_here = n - j < LANES ? n - j : LANES;
    decode_cols(model, n_here, n, k, b + j, &cols);
    for (int i = 0; i < m; i++) {
      size_t at = (size_t)i * (size_t)n + (size_t)j;
      decode_row(model, k, a + (size_t)i * (size_t)k, &row);
      row_by_cols(model, n_here, k, &row, &cols, c + at, d + at);
    }
  }
}
