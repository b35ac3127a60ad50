/* tensor_core.c: products of matrices with the bits of a tensor core. Compiled once per instruction
   set.

   There are two ways. Tiles with all exponents near 0 are computed in vectors of floats. All
   others, including those with infinities and NaNs, are computed in doubles, one element at a time.
   Both ways compute products and sums exactly: they add products as integers, in units of the last
   place that is kept. */
#include "tensor_core.h"

#include <math.h>
#include <string.h>

#include "runtime/base/bits.h"

#if defined(CT_SIMT_AVX512) || defined(CT_SIMT_AVX2)
#include <immintrin.h>
enum { LANES = 8 };
#elif defined(__aarch64__)
#include <arm_neon.h>
enum { LANES = 4 };
#else
enum { LANES = 4 };
#endif
#if defined(CT_SIMT_AVX512)
enum { PARTS = 1 }; /* vectors of LANES doubles */
#else
enum { PARTS = 2 };
#endif

enum {
  TILE = 4,          /* rows of D computed at once */
  NEAR = 50,         /* exponents that the floats can hold: of the operands, up to this one, */
  LEAST = -2 * NEAR, /* and of accumulators, from this one on */
};

typedef CtTcRow Row;

/* LANES columns of a CtTcCols. */
typedef struct Cols {
  const float (*v)[CT_TC_LANES];
  const int32_t (*e)[CT_TC_LANES];
} Cols;

typedef float VecF __attribute__((vector_size(4 * LANES)));
typedef int32_t VecI __attribute__((vector_size(4 * LANES)));
typedef uint32_t VecU __attribute__((vector_size(4 * LANES)));
typedef float PartF __attribute__((vector_size(4 * LANES / PARTS)));
typedef int32_t PartI __attribute__((vector_size(4 * LANES / PARTS)));
typedef double PartD __attribute__((vector_size(8 * LANES / PARTS)));
typedef int64_t PartL __attribute__((vector_size(8 * LANES / PARTS)));
typedef float AnyVecF __attribute__((vector_size(4 * LANES), aligned(4), may_alias));
typedef int32_t AnyVecI __attribute__((vector_size(4 * LANES), aligned(4), may_alias));

static inline double power_of_2(int e) { return ct_f64_of_bits((uint64_t)(e + 1023) << 52); }

static inline int32_t max_i32(int32_t a, int32_t b) { return a > b ? a : b; }

/* {====== Operands ====== */

static inline VecI max_vec(VecI a, VecI b) {
#if defined(CT_SIMT_AVX512) || defined(CT_SIMT_AVX2)
  return (VecI)_mm256_max_epi32((__m256i)a, (__m256i)b);
#elif defined(__aarch64__)
  return (VecI)vmaxq_s32((int32x4_t)a, (int32x4_t)b);
#else
  VecI is_a = a > b;
  return (a & is_a) | (b & ~is_a);
#endif
}

static inline bool any_lane(VecI x) {
#if defined(CT_SIMT_AVX512) || defined(CT_SIMT_AVX2)
  return _mm256_testz_si256((__m256i)x, (__m256i)x) == 0;
#elif defined(__aarch64__)
  return vmaxvq_u32((uint32x4_t)x) != 0;
#else
  uint64_t u[sizeof x / 8];
  memcpy(u, &x, sizeof u);
  return (u[0] | u[1]) != 0;
#endif
}

/* LANES numbers. Sets all bits of `far` if one of them is not 0 and its exponent is beyond NEAR.
   Numbers that are not finite have such exponents. */
static inline void decode(const CtTcModel *model, int side, const float *x, float *v, int32_t *e,
                          VecI *far) {
  VecI u = *(const AnyVecI *)x & (model->is_tf32 ? -0x2000 : -1);
  VecU magnitude = (VecU)u << 1, field = magnitude >> 24;
  VecI none = magnitude == 0;
  *far |= (VecI)(field - (127 - NEAR) > 2 * NEAR) & ~none;
  none |= field == 255;
  VecI exponent = max_vec((VecI)field - 127, (VecI){0} + model->min_exponent[side]);
  *(AnyVecI *)v = u;
  *(AnyVecI *)e = (exponent & ~none) | (none & CT_TC_NONE);
}

/* The place of each product in the order of summing. */
static void find_places(const CtTcModel *model, int k, int *place) {
  for (int l = 0; l < k; l++) {
    place[l] = model->halves_of_4 ? l % 4 / 2 * (k / 2) + l / 4 * 2 + l % 2 : l;
  }
}

void ct_tc_rows(const CtTcModel *model, int m, int k, const float *a, CtTcRow *rows) {
  CT_ASSERT(k <= CT_TC_MAX_K && k % 4 == 0);
  int place[CT_TC_MAX_K];
  float x[CT_TC_MAX_K + LANES] = {0};
  bool is_copied = model->halves_of_4 || k % LANES != 0;
  find_places(model, k, place);
  for (int i = 0; i < m; i++) {
    const float *from = a + (size_t)i * (size_t)k;
    VecI far = {0};
    for (int l = 0; is_copied && l < k; l += 2) { /* two keep together */
      memcpy(&x[place[l]], &from[l], 2 * sizeof *x);
    }
    from = is_copied ? x : from;
    for (int l = 0; l < k; l += LANES) {
      decode(model, 0, from + l, rows[i].v + l, rows[i].e + l, &far);
    }
    rows[i].is_far = any_lane(far);
  }
}

void ct_tc_cols(const CtTcModel *model, int n, int k, const float *b, CtTcCols *cols) {
  CT_ASSERT(n <= CT_TC_LANES && k <= CT_TC_MAX_K && k % 4 == 0);
  int place[CT_TC_MAX_K];
  float x[CT_TC_LANES] = {0};
  VecI far = {0};
  find_places(model, k, place);
  for (int l = 0; l < k; l++) {
    int at = place[l];
    const float *from = b + (size_t)l * (size_t)n;
    if (n < CT_TC_LANES) {
      memcpy(x, from, (size_t)n * sizeof *x);
      from = x;
    }
    for (int j = 0; j < CT_TC_LANES; j += LANES) {
      decode(model, 1, from + j, cols->v[at] + j, cols->e[at] + j, &far);
    }
  }
  cols->is_far = any_lane(far);
}

/* {====== Rounding: doubles that are exact, to doubles of fewer bits ====== */

/* Towards 0 to `places` binary places, to multiples of 2^(-126 - places), infinite from 2^128 on. A
   result of 0 is +0. */
static inline double truncate(double x, int places) {
  uint64_t u = ct_bits_of_f64(x);
  int32_t e = (int32_t)(u >> 52 & 2047) - 1023;
  int32_t drop = 52 - places + max_i32(-126 - e, 0);
  drop = drop > 53 ? 53 : drop;
  u &= drop == 53 ? UINT64_C(1) << 63 : ~UINT64_C(0) << (drop > 52 ? 52 : drop);
  u = e >= 128 ? (u & UINT64_C(1) << 63) | UINT64_C(2047) << 52 : u;
  return ct_f64_of_bits(u) + 0.0;
}

static inline double round_f16(double x) {
  int32_t e = max_i32((int32_t)(ct_bits_of_f64(x) >> 52 & 2047) - 1023, -14);
  double magic = 1.5 * power_of_2(e - 10 + 52);
  double r = (x + magic) - magic;
  uint64_t sign = ct_bits_of_f64(x) & UINT64_C(1) << 63;
  uint64_t u = ct_bits_of_f64(r) & ~(UINT64_C(1) << 63);
  return ct_f64_of_bits(sign | (e >= 16 || r >= 65536 || r <= -65536 ? UINT64_C(2047) << 52 : u));
}

/* {====== Sums, in doubles ====== */

/* The sum if an addend is not finite: an infinity or NaN; 0 if all are finite. */
static double special_sum(int k, const Row *row, const Cols *cols, int first, int j, double c) {
  double sum = c - c == 0 ? 0 : c;
  for (int l = first; l < first + k; l++) {
    double p = (double)row->v[l] * (double)cols->v[l][j];
    sum += p - p == 0 ? 0 : p;
  }
  return sum;
}

/* The largest exponent among products l and accumulators. */
static inline void largest_exponents(const CtTcModel *model, const Row *row, const Cols *cols,
                                     int first, int end, const double *acc, int32_t *top) {
  int32_t least = model->min_exponent[2];
  for (int j = 0; j < LANES; j++) {
    int32_t field = (int32_t)(ct_bits_of_f64(acc[j]) >> 52 & 2047);
    top[j] = field == 0 ? model->floor : max_i32(field - 1023, least);
    top[j] = max_i32(top[j], model->floor);
  }
  for (int l = first; l < end; l++) {
    for (int j = 0; j < LANES; j++) {
      top[j] = max_i32(top[j], row->e[l] + cols->e[l][j]);
    }
  }
}

/* 0 if the number is not finite. */
static inline double counted(float v, int32_t e) { return e == CT_TC_NONE ? 0 : (double)v; }

static inline void fused(const CtTcModel *model, const Row *row, const Cols *cols, int first,
                         int end, double *acc) {
  int32_t top[LANES], sum[LANES] = {0};
  double scale[LANES], unit[LANES], c[LANES];
  largest_exponents(model, row, cols, first, end, acc, top);
  for (int j = 0; j < LANES; j++) {
    scale[j] = power_of_2(model->fraction_bits - top[j]);
    unit[j] = power_of_2(top[j] - model->fraction_bits);
    c[j] = (double)(int32_t)(acc[j] * scale[j]);
  }
  for (int l = first; l < end; l++) {
    double a = counted(row->v[l], row->e[l]);
    for (int j = 0; j < LANES; j++) {
      sum[j] += (int32_t)(a * counted(cols->v[l][j], cols->e[l][j]) * scale[j]);
    }
  }
  for (int j = 0; j < LANES; j++) {
    acc[j] = (c[j] + (double)sum[j]) * unit[j];
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
      acc[j] = round_f16(finite[j]) + 0.0; /* a result of 0 is +0 */
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

/* One element of an atom of four products that ordinary instructions compute. A product of two f16s
   is exact in f32, so a fused multiply-add is an addition. */
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
      p[l] = row->v[l] * cols->v[l][j];
    }
    double sum = (double)plain_sum(model, p, (float)c[j]);
    acc[j] = model->round == CT_TC_F16 && sum - sum == 0 ? round_f16(sum) : sum;
  }
}

/* {====== Sums, in floats ====== */

/* What the vectors need from a model. It has no pointer to the model, so that it stays in
   registers. */
typedef struct Plan {
  int block, fraction_bits;
  int32_t least; /* exponent of accumulators */
  uint32_t last; /* exponent field of results */
  int64_t kept;  /* bits of a double */
  bool is_f16, c_last;
} Plan;

static Plan plan_of(const CtTcModel *model) {
  bool is_f16 = model->round == CT_TC_F16;
  int dropped = 52 - (model->round == CT_TC_F32 ? 23 : 13);
  return (Plan){.block = model->block,
                .fraction_bits = model->fraction_bits,
                .least = model->min_exponent[2],
                .last = is_f16 ? 127 + 15 : 253,
                .kept = -(INT64_C(1) << dropped),
                .is_f16 = is_f16,
                .c_last = model->c_last};
}

/* Lanes whose accumulator is neither 0 nor in the range of the vectors. */
static inline VecI is_rare(const Plan *p, VecF acc) {
  VecU field = (VecU)acc >> 23 & 255;
  return (VecI)(acc != 0) & (VecI)(field - (LEAST + 127) > p->last - (LEAST + 127));
}

/* The largest exponent, but at least LEAST: products of 0 are then 0 in any unit. */
static inline VecI top_of(const Plan *p, VecF acc) {
  VecI is_zero = (VecI)(acc == 0);
  VecI e = max_vec(((VecI)acc >> 23 & 255) - 127, (VecI){0} + p->least);
  return max_vec(e & ~is_zero, (VecI){0} + LEAST) | (is_zero & LEAST);
}

static inline PartF round_part_f16(PartD x) {
  PartD power = (PartD)((PartL)x & INT64_C(2047) << 52);
  PartL is_small = power < 0x1p-14;
  power = (PartD)(((PartL)power & ~is_small) | ((PartL)((PartD){0} + 0x1p-14) & is_small));
  power *= 1.5 * 0x1p42;
  return __builtin_convertvector((x + power) - power, PartF);
}

/* (sum + c) * unit; sum + c is exact in doubles. The last unit is at least 2^-125, so results are
   normal numbers or 0. */
static inline VecF rounded(const Plan *p, VecI sum, VecI c, VecF unit) {
  PartI sums[PARTS], cs[PARTS];
  PartF units[PARTS], r[PARTS];
  memcpy(sums, &sum, sizeof sums);
  memcpy(cs, &c, sizeof cs);
  memcpy(units, &unit, sizeof units);
  for (int i = 0; i < PARTS; i++) {
    PartD total = __builtin_convertvector(sums[i], PartD) + __builtin_convertvector(cs[i], PartD);
    if (p->is_f16) {
      r[i] = round_part_f16(total * __builtin_convertvector(units[i], PartD));
    } else {
      r[i] = __builtin_convertvector((PartD)((PartL)total & p->kept), PartF) * units[i];
    }
  }
  memcpy(&unit, r, sizeof r);
  return unit;
}

/* Adds the products from `first` to `end` to TILE rows of accumulators. Their operands are near. */
static inline void fused_vec(const Plan *p, const Row *rows, const Cols *cols, int first, int end,
                             VecF acc[TILE]) {
  VecI top[TILE], sum[TILE];
  VecF scale[TILE];
  for (int r = 0; r < TILE; r++) {
    top[r] = top_of(p, acc[r]);
    sum[r] = (VecI){0};
  }
  for (int l2 = first; l2 < end; l2 += 2) {
    for (int l = l2; l < l2 + 2; l++) {
      VecI e = *(const AnyVecI *)cols->e[l];
      for (int r = 0; r < TILE; r++) {
        top[r] = max_vec(top[r], e + rows[r].e[l]);
      }
    }
  }
  for (int r = 0; r < TILE; r++) {
    scale[r] = (VecF)((p->fraction_bits + 127 - top[r]) << 23);
  }
  for (int l2 = first; l2 < end; l2 += 2) {
    for (int l = l2; l < l2 + 2; l++) {
      VecF v = *(const AnyVecF *)cols->v[l];
      for (int r = 0; r < TILE; r++) {
        sum[r] += __builtin_convertvector(v * rows[r].v[l] * scale[r], VecI);
      }
    }
  }
  for (int r = 0; r < TILE; r++) {
    VecF unit = (VecF)((top[r] - p->fraction_bits + 127) << 23);
    VecI c = __builtin_convertvector(acc[r] * scale[r], VecI);
    acc[r] = rounded(p, sum[r], c, unit);
  }
}

/* Adds c last. */
static inline VecF add_last_vec(const Plan *p, VecF sum, VecF c) {
  PartF sums[PARTS], cs[PARTS];
  VecF r = sum + c;
  if (!p->is_f16) {
    return r;
  }
  memcpy(sums, &sum, sizeof sums);
  memcpy(cs, &c, sizeof cs);
  for (int i = 0; i < PARTS; i++) {
    sums[i] = round_part_f16(__builtin_convertvector(sums[i], PartD) +
                             __builtin_convertvector(cs[i], PartD));
  }
  memcpy(&r, sums, sizeof r);
  return r;
}

/* LANES columns of TILE rows; false, with nothing written, where vectors do not reach. */
static inline bool tile_by_cols(const Plan *p, int n, int k, const Row *rows, const Cols *cols,
                                const float *c, float *d) {
  VecF first[TILE], acc[TILE];
  VecI bad = {0};
  for (int r = 0; r < TILE; r++) {
    first[r] = *(const AnyVecF *)(c + (size_t)r * (size_t)n);
    bad |= is_rare(p, first[r]);
    acc[r] = p->c_last ? (VecF){0} : first[r];
  }
  for (int l = 0; l < k; l += p->block) {
    fused_vec(p, rows, cols, l, l + p->block < k ? l + p->block : k, acc);
    for (int r = 0; r < TILE; r++) {
      bad |= is_rare(p, acc[r]);
    }
  }
  for (int r = 0; p->c_last && r < TILE; r++) {
    acc[r] = add_last_vec(p, acc[r], first[r]);
    bad |= is_rare(p, acc[r]);
  }
  if (any_lane(bad)) {
    return false;
  }
  for (int r = 0; r < TILE; r++) {
    *(AnyVecF *)(d + (size_t)r * (size_t)n) = acc[r];
  }
  return true;
}

/* {====== Matrices ====== */

/* Adds c last: both are f32, or f16s whose sum is exact in f32 except for one rounding. */
static double add_last(const CtTcModel *model, double sum, double c) {
  double r = sum + c;
  if (r - r != 0) {
    return r;
  }
  return model->round == CT_TC_F16 ? round_f16(r) : (double)(float)r;
}

/* Whether any operand is not finite. */
static bool has_special(int k, const Row *row, const Cols *cols) {
  bool any = false;
  for (int l = 0; l < k; l++) {
    any |= row->v[l] - row->v[l] != 0;
    for (int j = 0; j < LANES; j++) {
      any |= cols->v[l][j] - cols->v[l][j] != 0;
    }
  }
  return any;
}

static void row_by_cols(const CtTcModel *model, int n, int k, const Row *row, const Cols *cols,
                        const float *c, float *d) {
  double acc[LANES] = {0}, first[LANES] = {0};
  bool any_special = has_special(k, row, cols);
  for (int j = 0; j < n; j++) {
    first[j] = (double)c[j];
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
    d[j] = r != r ? ct_f32_of_bits(0x7FFFFFFF) : (float)r;
  }
}

/* n <= LANES columns, near if `is_near`; c and d have rows `stride` apart. */
static void rows_by_cols(const CtTcModel *model, int m, int n, int stride, int k, const Row *rows,
                         const Cols *cols, bool is_near, const float *c, float *d) {
  const Plan plan = plan_of(model);
  is_near = is_near && model->sum == CT_TC_FUSED && n == LANES;
  for (int i = 0; i < m; i += TILE) {
    int m_here = m - i < TILE ? m - i : TILE;
    size_t at = (size_t)i * (size_t)stride;
    uint32_t is_far = m_here < TILE;
    for (int r = i; r < i + m_here; r++) {
      is_far |= rows[r].is_far;
    }
    if (is_near && is_far == 0 && tile_by_cols(&plan, stride, k, &rows[i], cols, c + at, d + at)) {
      continue;
    }
    for (int r = i; r < i + m_here; r++, at += (size_t)stride) {
      row_by_cols(model, n, k, &rows[r], cols, c + at, d + at);
    }
  }
}

static void assert_model(const CtTcModel *model, int k) {
  CT_ASSERT(k <= CT_TC_MAX_K && k % 4 == 0 && model->block % 4 == 0);
  CT_ASSERT(model->sum == CT_TC_FUSED || k == 4);
  /* Significands have at most 11 bits, so products are far enough below 4 that sums fit 32 bits. */
  CT_ASSERT(model->block <= 32 && model->block << model->fraction_bits <= 1 << 29);
}

void ct_tc_product(const CtTcModel *model, int m, int n, int k, const CtTcRow *rows,
                   const CtTcCols *cols, const float *c, float *d) {
  assert_model(model, k);
  for (int j = 0; j < n; j += LANES) {
    Cols some = {(const float(*)[CT_TC_LANES])(cols->v[0] + j),
                 (const int32_t(*)[CT_TC_LANES])(cols->e[0] + j)};
    rows_by_cols(model, m, n - j < LANES ? n - j : LANES, n, k, rows, &some, cols->is_far == 0,
                 c + j, d + j);
  }
}
