/* simt_mma.c: the handler of MMA: products of matrices by the lanes of a warp together. Compiled once per
   instruction set, as all of CT_SIMT_PARTS.

   The values of all lanes are gathered into dense matrices, as numbers to compute with; the sums go back
   to the registers at the end. Which arithmetic: floats as tensor_core.h says; f64 fused multiply-adds, k
   ascending; integers exact, wrapped around or, .satfinite, saturated when the products of one instruction
   have been added; bits counted. */
#include <string.h>

#include "simt_narrow.h"
#include "simt_ops.h"
#include "simt_vec.h"

/* --- loading and storing lanes --------------------------------------------------------------------- */

/* One value of all lanes, as numbers of 4 bytes; or of 8. */
#define LOAD(t, T, C, S)                                                                           \
  static void load_##t(const char *p, void *out) {                                                 \
    T bits[CT_LANES];                                                                              \
    C to[CT_LANES];                                                                                \
    memcpy(bits, p, sizeof bits);                                                                  \
    for (int i = 0; i < CT_LANES; i++) {                                                           \
      to[i] = CAST_##S##_##t(bits[i]);                                                             \
    }                                                                                              \
    memcpy(out, to, sizeof to);                                                                    \
  }
#if CT_VEC_HAS_F16
static void load_f16(const char *p, void *out) {
  for (int i = 0; i < CT_LANES; i += CT_VEC_BYTES / 4) {
    ct_vec_store_f32((float *)out + i, ct_vec_widen_f16(p + 2 * i));
  }
}
#else
LOAD(f16, uint16_t, float, f32)
#endif
LOAD(bf16, uint16_t, float, f32)
LOAD(f8e4m3, uint8_t, float, f32)
LOAD(f8e5m2, uint8_t, float, f32)
LOAD(i16, uint16_t, int32_t, i32)
LOAD(i8, uint8_t, int32_t, i32)
LOAD(u8, uint8_t, int32_t, i32)

static void load_words_4(const char *p, void *out) { memcpy(out, p, 4 * (size_t)CT_LANES); }
static void load_words_8(const char *p, void *out) { memcpy(out, p, 8 * (size_t)CT_LANES); }

typedef void (*Load)(const char *p, void *out);
static const Load loads[CT_LOAD_COUNT] = {
    [CT_LOAD_WORDS_4] = load_words_4, [CT_LOAD_WORDS_8] = load_words_8,
    [CT_LOAD_f16] = load_f16,         [CT_LOAD_bf16] = load_bf16,
    [CT_LOAD_f8e4m3] = load_f8e4m3,   [CT_LOAD_f8e5m2] = load_f8e5m2,
    [CT_LOAD_i16] = load_i16,         [CT_LOAD_i8] = load_i8,
    [CT_LOAD_u8] = load_u8,           [CT_LOAD_i4] = load_words_4,
    [CT_LOAD_u4] = load_words_4,
};

/* --- operands -------------------------------------------------------------------------------------------- */

/* An operand of the warp: value v of atom r is 32 lanes at ptr + (v_off[v] + r_off[r]) * bytes. */
typedef struct Fragment {
  char *ptr;
  int64_t bytes; /* of one element of all lanes */
  const int64_t *v_off, *r_off;
} Fragment;

/* False after reporting that it reaches outside. */
static bool find_fragment(const CtIn *in, CtWarp *w, const CtTileArg *arg, bool is_write,
                          Fragment *f) {
  const CtTileMode *modes = w->worker->job->program->modes;
  const CtTable *values = modes[arg->mode[0]].fixed, *rest = modes[arg->mode[1]].fixed;
  const CtMem *mem = &w->mem[arg->buf];
  int lane = ct_first_lane(w->mask);
  CT_ASSERT(values != NULL && rest != NULL);
  int64_t base = ct_simt_arg_offset(w, arg, lane, 0, 0) - values->off[0] - rest->off[0];
  int64_t lo = base + values->lo + rest->lo, hi = base + values->hi + rest->hi;
  if (lo < 0 || hi >= mem->n) {
    ct_simt_fail_bounds(w, in, lane, arg->buf, lo < 0 ? lo : hi, is_write);
    return false;
  }
  f->bytes = mem->elem_bytes;
  f->ptr = mem->ptr + base * f->bytes;
  f->v_off = values->off;
  f->r_off = rest->off;
  return true;
}

static inline char *lanes_of(const Fragment *f, int v, int64_t r) {
  return f->ptr + (f->v_off[v] + f->r_off[r]) * f->bytes;
}

/* Eight numbers of 4 bits to places `step` apart. */
static void put_nibbles(const uint32_t words[CT_LANES], const uint16_t *place, int step,
                        bool is_signed, uint32_t *matrix) {
  for (int i = 0; i < CT_LANES; i++) {
    for (int j = 0; j < 8; j++) {
      uint32_t v = words[i] >> (4 * j) & 15;
      matrix[place[i] + j * step] = is_signed ? (v ^ 8) - 8 : v;
    }
  }
}

/* Atom r of an operand as matrices, of all groups. */
static void gather(const CtMma *m, CtAtomOperand of, const Fragment *f, int64_t r, void *matrix) {
  uint64_t numbers[CT_LANES];
  CtLoad load = m->load[of];
  for (int v = 0; v < m->values[of]; v++) {
    const uint16_t *place = m->place[of] + v * CT_LANES;
    loads[load](lanes_of(f, v, r), numbers);
    if (load == CT_LOAD_WORDS_8) {
      for (int i = 0; i < CT_LANES; i++) {
        ((uint64_t *)matrix)[place[i]] = numbers[i];
      }
      continue;
    }
    uint32_t words[CT_LANES];
    memcpy(words, numbers, sizeof words);
    if (load == CT_LOAD_i4 || load == CT_LOAD_u4) {
      put_nibbles(words, place, of == CT_ATOM_A ? 1 : m->n, load == CT_LOAD_i4, matrix);
      continue;
    }
    for (int i = 0; i < CT_LANES; i++) {
      ((uint32_t *)matrix)[place[i]] = words[i];
    }
  }
}

/* The sums of atom r, to the active lanes. */
static void scatter(const CtMma *m, const Fragment *f, int64_t r, uint32_t mask,
                    const void *matrix) {
  for (int v = 0; v < m->values[CT_ATOM_C]; v++) {
    const uint16_t *place = m->place[CT_ATOM_C] + v * CT_LANES;
    char *to = lanes_of(f, v, r);
    for (int i = 0; i < CT_LANES; i++) {
      if ((mask >> i & 1) == 0) {
        continue;
      }
      if (m->load[CT_ATOM_C] == CT_LOAD_WORDS_8) {
        memcpy(to + 8 * i, (const char *)matrix + 8 * (size_t)place[i], 8);
      } else if (m->load[CT_ATOM_C] == CT_LOAD_WORDS_4) {
        memcpy(to + 4 * i, (const char *)matrix + 4 * (size_t)place[i], 4);
      } else {
        uint16_t half = (uint16_t)CAST_f16_f32(((const float *)matrix)[place[i]]);
        memcpy(to + 2 * i, &half, sizeof half);
      }
    }
  }
}

/* --- products ---------------------------------------------------------------------------------------------- */

static void multiply_f64(const CtMma *m, const void *a, const void *b, void *c) {
  const double *x = a, *y = b;
  double *z = c;
  for (int i = 0; i < m->m; i++) {
    for (int l = 0; l < m->k; l++) {
      for (int j = 0; j < m->n; j++) {
        z[i * m->n + j] = FMA_f64(x[i * m->k + l], y[l * m->n + j], z[i * m->n + j]);
      }
    }
  }
}

enum { MAX_N = 8 };

static uint32_t saturated_sum(uint32_t c, uint32_t sum) {
  int64_t v = (int64_t)(int32_t)c + (int32_t)sum;
  return (uint32_t)(int32_t)(v > INT32_MAX ? INT32_MAX : v < INT32_MIN ? INT32_MIN : v);
}

/* The products of one instruction never overflow where it saturates. */
static void multiply_int(const CtMma *m, const void *a, const void *b, void *c) {
  const uint32_t *x = a, *y = b;
  uint32_t *z = c;
  int n = m->n;
  CT_ASSERT(n <= MAX_N);
  for (int i = 0; i < m->m; i++) {
    uint32_t sum[MAX_N] = {0};
    for (int l = 0; l < m->k; l++) {
      for (int j = 0; j < n; j++) {
        sum[j] += x[i * m->k + l] * y[l * n + j];
      }
    }
    for (int j = 0; j < n; j++) {
      uint32_t *to = &z[i * n + j];
      *to = m->saturates ? saturated_sum(*to, sum[j]) : *to + sum[j];
    }
  }
}

static void multiply_bits(const CtMma *m, const void *a, const void *b, void *c) {
  const uint32_t *x = a, *y = b;
  uint32_t *z = c;
  for (int i = 0; i < m->m; i++) {
    for (int l = 0; l < m->k; l++) {
      uint32_t u = x[i * m->k + l];
      for (int j = 0; j < m->n; j++) {
        uint32_t v = y[l * m->n + j];
        z[i * m->n + j] += (uint32_t)__builtin_popcount(m->is_xor ? u ^ v : u & v);
      }
    }
  }
}

typedef void (*Multiply)(const CtMma *m, const void *a, const void *b, void *c);
static const Multiply multiplies[] = {
    [CT_MMA_F64] = multiply_f64, [CT_MMA_INT] = multiply_int, [CT_MMA_BITS] = multiply_bits};

/* Matrices in the scratch. */
typedef struct Matrices {
  char *ptr;
  int64_t bytes; /* of one atom, all groups */
} Matrices;

static inline char *matrix_at(const Matrices *x, int64_t r) { return x->ptr + r * x->bytes; }

static void gather_all(const CtMma *m, CtAtomOperand of, const Fragment *f, int64_t first,
                       int64_t n, const Matrices *to) {
  for (int64_t r = 0; r < n; r++) {
    gather(m, of, f, first + r, matrix_at(to, r));
  }
}

/* Floats are taken apart once for all products with the others. */
static void take_apart(const CtMma *m, CtAtomOperand of, const Matrices *from, int64_t n,
                       const Matrices *to) {
  for (int64_t r = 0; r < n * m->groups; r++) {
    const float *x = (const float *)(const void *)(from->ptr + r * m->size[of] * 4);
    if (of == CT_ATOM_A) {
      ct_tc_rows(&m->model, m->m, m->k, x, (CtTcRow *)(void *)to->ptr + r * m->m);
    } else {
      ct_tc_cols(&m->model, m->n, m->k, x, (CtTcCols *)(void *)to->ptr + r);
    }
  }
}

static void multiply_float(const CtMma *m, const char *rows, const char *cols, char *c) {
  for (int g = 0; g < m->groups; g++) {
    float *sums = (float *)(void *)c + (size_t)g * (size_t)m->size[CT_ATOM_C];
    ct_tc_product(&m->model, m->m, m->n, m->k, (const CtTcRow *)(const void *)rows + g * m->m,
                  (const CtTcCols *)(const void *)cols + g, sums, sums);
  }
}

/* The products of one atom, group by group. */
static void multiply(const CtMma *m, const char *a, const char *b, char *c) {
  size_t bytes = m->kind == CT_MMA_F64 ? 8 : 4;
  for (int g = 0; g < m->groups; g++) {
    size_t at = (size_t)g * bytes;
    multiplies[m->kind](m, a + at * (size_t)m->size[CT_ATOM_A], b + at * (size_t)m->size[CT_ATOM_B],
                        c + at * (size_t)m->size[CT_ATOM_C]);
  }
}

static void multiply_all(const CtMma *m, const CtWarp *w, const Fragment f[3]) {
  int64_t n_m = m->rest[0], n_n = m->rest[1], each = m->kind == CT_MMA_F64 ? 8 : 4;
  bool is_float = m->kind == CT_MMA_FLOAT;
  Matrices x[3], apart[2];
  char *at = w->worker->scratch;
  const int64_t counts[3] = {n_m, n_n, n_m * n_n};
  for (int of = CT_ATOM_A; is_float && of <= CT_ATOM_B; of++) {
    apart[of] = (Matrices){at, ct_mma_apart(m, (CtAtomOperand)of)};
    at += counts[of] * apart[of].bytes;
  }
  for (int of = CT_ATOM_A; of <= CT_ATOM_C; of++) {
    x[of] = (Matrices){at, each * m->groups * m->size[of]};
    at += counts[of] * x[of].bytes;
  }
  gather_all(m, CT_ATOM_C, &f[CT_ATOM_C], 0, n_m * n_n, &x[CT_ATOM_C]);
  for (int64_t k = 0; k < m->rest[2]; k++) {
    gather_all(m, CT_ATOM_A, &f[CT_ATOM_A], k * n_m, n_m, &x[CT_ATOM_A]);
    gather_all(m, CT_ATOM_B, &f[CT_ATOM_B], k * n_n, n_n, &x[CT_ATOM_B]);
    for (int of = CT_ATOM_A; is_float && of <= CT_ATOM_B; of++) {
      take_apart(m, (CtAtomOperand)of, &x[of], counts[of], &apart[of]);
    }
    const Matrices *a = is_float ? &apart[CT_ATOM_A] : &x[CT_ATOM_A];
    const Matrices *b = is_float ? &apart[CT_ATOM_B] : &x[CT_ATOM_B];
    for (int64_t i = 0; i < n_m * n_n; i++) {
      (is_float ? multiply_float : multiply)(m, matrix_at(a, i % n_m), matrix_at(b, i / n_m),
                                             matrix_at(&x[CT_ATOM_C], i));
    }
  }
  for (int64_t i = 0; i < n_m * n_n; i++) {
    scatter(m, &f[CT_ATOM_C], i, w->mask, matrix_at(&x[CT_ATOM_C], i));
  }
}

static const CtIn *MMA(const CtIn *in, CtWarp *w) {
  const CtTileOp *t = &w->worker->job->program->tiles[in->imm];
  Fragment f[3];
  if (t->mma->threads > 1 && w->mask != w->live) {
    return ct_simt_fail_kind(w, in, ct_first_lane(w->mask), CT_FAIL_WARP_LANES);
  }
  if (t->mma->threads > 1 && w->mask != CT_ALL_LANES) {
    return ct_simt_fail_kind(w, in, ct_first_lane(w->mask), CT_FAIL_WARP_ENDED);
  }
  if (t->mma->rest[0] * t->mma->rest[1] * t->mma->rest[2] == 0) {
    return in + 1;
  }
  if (!find_fragment(in, w, &t->a, false, &f[CT_ATOM_A]) ||
      !find_fragment(in, w, &t->b, false, &f[CT_ATOM_B]) ||
      !find_fragment(in, w, &t->dst, true, &f[CT_ATOM_C])) {
    return NULL;
  }
  multiply_all(t->mma, w, f);
  return in + 1;
}

const CtHandler CT_SIMT_TABLE(mma)[CT_SIMT_OP_COUNT] = {[CT_SIMT_MMA] = MMA};
