/* tensor_core_oracle.h: sums of products as tensor cores may compute them, in integers and one at a
   time: what runtime/simt/model/tensor_core.c is held against, and what is fitted to a device's results. */
#ifndef TENSOR_CORE_ORACLE_H
#define TENSOR_CORE_ORACLE_H

#include <math.h>
#include <stddef.h>
#include <string.h>

#include "runtime/simt/model/tensor_core.h"

/* Compilations of the model. */
typedef struct Variant {
  const char *name;
  CtTcRows *rows;
  CtTcColsOf *cols;
  CtTcProduct *product;
} Variant;

static const Variant variants[] = {
    {"base", ct_tc_rows_base, ct_tc_cols_base, ct_tc_product_base},
#if defined(__x86_64__) && !defined(CT_SIMT_LACKS_avx2)
    {"avx2", ct_tc_rows_avx2, ct_tc_cols_avx2, ct_tc_product_avx2},
#endif
#if defined(__x86_64__) && !defined(CT_SIMT_LACKS_avx512)
    {"avx512", ct_tc_rows_avx512, ct_tc_cols_avx512, ct_tc_product_avx512},
#endif
};

enum { BLOCK_ROWS = 16 };

/* `width` columns from column j on, of a matrix of n columns: gathered into a dense one, or put back. */
static void gather(int rows, int n, int j, int width, const float *from, float *to) {
  for (int i = 0; i < rows; i++) {
    memcpy(to + i * width, from + (ptrdiff_t)i * n + j, (size_t)width * sizeof *to);
  }
}

static void scatter(int rows, int n, int j, int width, const float *from, float *to) {
  for (int i = 0; i < rows; i++) {
    memcpy(to + (ptrdiff_t)i * n + j, from + i * width, (size_t)width * sizeof *to);
  }
}

/* d (m,n) = c + a (m,k) b (k,n), all dense, by rows; d may be c. */
static void multiply(const Variant *v, const CtTcModel *model, int m, int n, int k, const float *a,
                     const float *b, const float *c, float *d) {
  CtTcRow rows[BLOCK_ROWS];
  CtTcCols cols;
  float some[CT_TC_MAX_K * CT_TC_LANES], sums[BLOCK_ROWS * CT_TC_LANES];
  for (int i = 0; i < m; i += BLOCK_ROWS) {
    int high = m - i < BLOCK_ROWS ? m - i : BLOCK_ROWS;
    v->rows(model, high, k, a + (ptrdiff_t)i * k, rows);
    for (int j = 0; j < n; j += CT_TC_LANES) {
      int width = n - j < CT_TC_LANES ? n - j : CT_TC_LANES;
      gather(k, n, j, width, b, some);
      gather(high, n, j, width, c + (ptrdiff_t)i * n, sums);
      v->cols(model, width, k, some, &cols);
      v->product(model, high, width, k, rows, &cols, sums, sums);
      scatter(high, n, j, width, sums, d + (ptrdiff_t)i * n);
    }
  }
}

static bool can_run(size_t variant) {
  const char *name = variants[variant].name;
#if defined(__x86_64__)
  if (strcmp(name, "avx2") == 0) {
    return __builtin_cpu_supports("avx2") != 0;
  }
  if (strcmp(name, "avx512") == 0) {
    return __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512dq");
  }
#endif
  return strcmp(name, "base") == 0;
}

/* Ways to be tried that the model does not have. */
typedef struct Guess {
  CtTcModel model;
  bool is_normalised; /* products of 2 or more count as of the next exponent */
  bool zeros_count;   /* 0 has the least exponent of its type, and not none */
  bool to_nearest;    /* results of f32, too */
  int order; /* of k: 0 as it is, 1 halves of four, 2 even ones first, 3 alternate halves */
} Guess;

typedef struct Number {
  uint64_t sig; /* with 23 binary places; of a product 46 */
  int e;
  bool negative;
} Number;

enum { NO_EXPONENT = -100000 };

static float float_from(uint32_t u) {
  float x;
  memcpy(&x, &u, sizeof x);
  return x;
}

static uint32_t bits_from(float x) {
  uint32_t u;
  memcpy(&u, &x, sizeof u);
  return u;
}

static float as_read(const Guess *g, float x) {
  return g->model.is_tf32 ? float_from(bits_from(x) & 0xFFFFE000u) : x;
}

static Number number_of(const Guess *g, float x, int side) {
  uint32_t u = bits_from(x);
  int field = (int)(u >> 23 & 255);
  int least = g->model.min_exponent[side];
  int e = field == 0 ? -126 : field - 127;
  Number n = {
      .negative = u >> 31 != 0, .sig = (u & 0x7FFFFFu) | (field != 0 ? 0x800000u : 0), .e = e};
  if (n.sig == 0) {
    n.e = g->zeros_count ? least : NO_EXPONENT;
  } else if (e < least) {
    n.sig >>= least - e; /* exact: the type has no such bits */
    n.e = least;
  } else {
    while (n.sig < 0x800000u &&
           n.e > least) { /* an f32's subnormal of a type with fewer exponents */
      n.sig <<= 1;
      n.e--;
    }
  }
  return n;
}

static Number product_of(const Guess *g, float a, float b) {
  Number x = number_of(g, a, 0), y = number_of(g, b, 1);
  Number p = {.negative = x.negative != y.negative, .sig = x.sig * y.sig, .e = x.e + y.e};
  if (p.sig == 0 && !g->zeros_count) {
    p.e = NO_EXPONENT;
  } else if (g->is_normalised && p.sig >> 47 != 0) {
    p.e++;
    p.sig >>= 1; /* of 24-bit operands the last bit; those of tensor cores have 11 */
  }
  return p;
}

/* The float nearest to sum * 2^e of those with so many places and exponents from `least` on. 0 is +0. */
static float rounded(int64_t sum, int e, int places, int least, int infinite, bool to_nearest) {
  uint64_t u = sum < 0 ? 0 - (uint64_t)sum : (uint64_t)sum;
  if (u == 0) {
    return 0;
  }
  int top = e + 63 - __builtin_clzll(u);
  int last = (top < least ? least : top) - places;
  if (last > e) {
    int drop = last - e;
    uint64_t q = drop > 63 ? 0 : u >> drop;
    uint64_t rest = drop > 63 ? u : u - (q << drop);
    uint64_t half = drop > 64 ? UINT64_MAX : UINT64_C(1) << (drop - 1);
    q += to_nearest && drop < 64 && (rest > half || (rest == half && (q & 1) != 0));
    u = q;
    e = last;
  }
  double r = ldexp((double)u, e); /* u has few bits: exact */
  r = r >= ldexp(1, infinite) ? (double)INFINITY : r;
  return (float)(sum < 0 && r != 0 ? -r : r);
}

static float round_sum(const Guess *g, int64_t sum, int e) {
  switch (g->model.round) {
    case CT_TC_F32: return rounded(sum, e, 23, -126, 128, g->to_nearest);
    case CT_TC_E8M13: return rounded(sum, e, 13, -126, 128, g->to_nearest);
    case CT_TC_F16: return rounded(sum, e, 10, -14, 16, true);
  }
  return 0;
}

/* Adds the products from `first` to `end` to c, as read. */
static float fused_oracle(const Guess *g, int first, int end, const float *a, const float *b,
                          float c) {
  float special = c - c == 0 ? 0 : c;
  for (int l = first; l < end; l++) {
    bool finite = a[l] - a[l] == 0 && b[l] - b[l] == 0;
    special += finite ? 0 : a[l] * b[l];
  }
  if (special != 0) {
    return special;
  }
  Number n[CT_TC_MAX_K + 1];
  int count = 0, top = g->model.floor;
  n[count] = number_of(g, c, 2);
  n[count++].sig <<= 23;
  for (int l = first; l < end; l++) {
    n[count++] = product_of(g, a[l], b[l]);
  }
  for (int i = 0; i < count; i++) {
    top = n[i].e > top ? n[i].e : top;
  }
  int64_t sum = 0;
  for (int i = 0; i < count; i++) {
    int drop = top - n[i].e + 46 - g->model.fraction_bits;
    int64_t part = drop > 63 ? 0 : (int64_t)(n[i].sig >> drop);
    sum += n[i].negative ? -part : part;
  }
  return round_sum(g, sum, top - g->model.fraction_bits);
}

static int ordered(const Guess *g, int k, int i) {
  int h = k / 2;
  switch (g->order) {
    case 1: return i < h ? i / 2 * 4 + i % 2 : (i - h) / 2 * 4 + 2 + i % 2;
    case 2: return i < h ? 2 * i : 2 * (i - h) + 1;
    case 3: return i % 2 * h + i / 2;
    default: return i;
  }
}

static float oracle(const Guess *g, int k, const float *a, const float *b, float c) {
  float x[CT_TC_MAX_K] = {0}, y[CT_TC_MAX_K] = {0}, p[4];
  for (int i = 0; i < k; i++) {
    x[i] = as_read(g, a[ordered(g, k, i)]);
    y[i] = as_read(g, b[ordered(g, k, i)]);
  }
  float sum = g->model.c_last ? 0 : c;
  if (g->model.sum != CT_TC_FUSED) {
    for (int i = 0; i < 4; i++) {
      p[i] = x[i] * y[i];
    }
    if (g->model.sum == CT_TC_CHAIN) {
      sum = fmaf(x[3], y[3], fmaf(x[2], y[2], fmaf(x[1], y[1], fmaf(x[0], y[0], 0)))) + c;
    } else {
      sum = (c + fmaf(x[1], y[1], p[0])) + fmaf(x[3], y[3], p[2]);
    }
  } else {
    for (int l = 0; l < k; l += g->model.block) {
      sum = fused_oracle(g, l, l + g->model.block < k ? l + g->model.block : k, x, y, sum);
    }
    sum = g->model.c_last ? sum + c : sum;
  }
  bool needs_f16 = g->model.round == CT_TC_F16 && (g->model.c_last || g->model.sum != CT_TC_FUSED);
  if (needs_f16 && sum - sum == 0) {
    int e;
    float f = frexpf(sum, &e);
    float r = rounded((int64_t)ldexpf(f, 24), e - 24, 10, -14, 16, true);
    sum = copysignf(r, sum); /* an ordinary instruction's 0 has a sign */
  }
  return sum != sum ? float_from(0x7FFFFFFF) : sum;
}

#endif
