/* simt_mma.c: the handler of MMA: products of matrices that the lanes of a warp compute together.
   Compiled once per instruction set, as all of CT_SIMT_PARTS.

   The handler gathers the values of all lanes into dense matrices, as numbers to compute with, and
   writes the sums back to the registers at the end. The arithmetic of floats is that of
   tensor_core.h. f64 takes fused multiply-adds, k ascending. Integers are exact and wrap around;
   with .satfinite they saturate after the products of one instruction have been added. For bits the
   sum counts the ones. Narrow floats of sm_120 are those of exact_product.h. */
#include <string.h>

#include "simt_mma.h"

#include "runtime/simt/model/exact_product.h"

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

/* The matrices in the scratch. */
typedef struct Matrices {
  char *ptr;
  int64_t bytes; /* for one atom, all groups */
} Matrices;

static inline char *matrix_at(const Matrices *x, int64_t r) { return x->ptr + r * x->bytes; }

static void gather_all(const CtMma *m, CtAtomOperand of, const Fragment *f, int64_t first,
                       int64_t n, const Matrices *to) {
  for (int64_t r = 0; r < n; r++) {
    gather(m, of, f, first + r, matrix_at(to, r));
  }
}

/* Takes floats apart once; all their products share the result. */
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

/* What the products of two matrices take, by CtAtomOperand, C and the scales among them. */
typedef struct Operands {
  const char *a, *b, *sfa, *sfb;
  char *c;
} Operands;

static void multiply_exact(const CtMma *m, const Operands *x) {
  const CtExact of = {.m = m->m,
                      .n = m->n,
                      .k = m->k,
                      .groups = 1,
                      .vec = m->vec,
                      .sum = m->load[CT_ATOM_C] == CT_LOAD_f16 ? CT_f16 : CT_f32};
  ct_exact_product(&of, (const float *)(const void *)x->a, (const float *)(const void *)x->b,
                   (const float *)(const void *)x->sfa, (const float *)(const void *)x->sfb,
                   (float *)(void *)x->c);
}

/* The products of one atom, group by group. */
static void multiply_groups(const CtMma *m, const char *a, const char *b, char *c) {
  size_t bytes = m->kind == CT_MMA_F64 ? 8 : 4;
  for (int g = 0; g < m->groups; g++) {
    size_t at = (size_t)g * bytes;
    multiplies[m->kind](m, a + at * (size_t)m->size[CT_ATOM_A], b + at * (size_t)m->size[CT_ATOM_B],
                        c + at * (size_t)m->size[CT_ATOM_C]);
  }
}

static void multiply(const CtMma *m, const Operands *x) {
  switch (m->kind) {
    case CT_MMA_FLOAT: multiply_float(m, x->a, x->b, x->c); break;
    case CT_MMA_EXACT: multiply_exact(m, x); break;
    case CT_MMA_F64:
    case CT_MMA_INT:
    case CT_MMA_BITS: multiply_groups(m, x->a, x->b, x->c); break;
  }
}

/* False: the warp must stop. */
static bool multiply_all(const CtMma *m, const CtWarp *w, const Fragment f[CT_ATOM_OPERANDS]) {
  int64_t n_m = m->rest[0], n_n = m->rest[1], each = m->kind == CT_MMA_F64 ? 8 : 4;
  bool is_float = m->kind == CT_MMA_FLOAT;
  Matrices x[CT_ATOM_OPERANDS], apart[2];
  char *at = w->worker->scratch;
  const int64_t counts[CT_ATOM_OPERANDS] = {[CT_ATOM_A] = n_m,
                                            [CT_ATOM_B] = n_n,
                                            [CT_ATOM_C] = n_m * n_n,
                                            [CT_ATOM_SFA] = n_m,
                                            [CT_ATOM_SFB] = n_n};
  for (int of = CT_ATOM_A; is_float && of <= CT_ATOM_B; of++) {
    apart[of] = (Matrices){at, ct_mma_apart(m, (CtAtomOperand)of)};
    at += counts[of] * apart[of].bytes;
  }
  for (int of = CT_ATOM_A; of < CT_ATOM_OPERANDS; of++) {
    x[of] = (Matrices){at, each * m->groups * m->size[of]};
    at += counts[of] * x[of].bytes;
  }
  gather_all(m, CT_ATOM_C, &f[CT_ATOM_C], 0, n_m * n_n, &x[CT_ATOM_C]);
  for (int64_t k = 0; k < m->rest[2]; k++) {
    gather_all(m, CT_ATOM_A, &f[CT_ATOM_A], k * n_m, n_m, &x[CT_ATOM_A]);
    gather_all(m, CT_ATOM_B, &f[CT_ATOM_B], k * n_n, n_n, &x[CT_ATOM_B]);
    for (int of = CT_ATOM_SFA; m->vec > 0 && of <= CT_ATOM_SFB; of++) {
      gather_all(m, (CtAtomOperand)of, &f[of], k * counts[of], counts[of], &x[of]);
    }
    for (int of = CT_ATOM_A; is_float && of <= CT_ATOM_B; of++) {
      take_apart(m, (CtAtomOperand)of, &x[of], counts[of], &apart[of]);
    }
    const Matrices *a = is_float ? &apart[CT_ATOM_A] : &x[CT_ATOM_A];
    const Matrices *b = is_float ? &apart[CT_ATOM_B] : &x[CT_ATOM_B];
    for (int64_t i = 0; i < n_m * n_n; i++) {
      if (stops_at_product(w, k * n_m * n_n + i)) {
        return false;
      }
      multiply(m, &(Operands){.a = matrix_at(a, i % n_m),
                              .b = matrix_at(b, i / n_m),
                              .sfa = matrix_at(&x[CT_ATOM_SFA], i % n_m),
                              .sfb = matrix_at(&x[CT_ATOM_SFB], i / n_m),
                              .c = matrix_at(&x[CT_ATOM_C], i)});
    }
  }
  for (int64_t i = 0; i < n_m * n_n; i++) {
    scatter(m, &f[CT_ATOM_C], i, w->mask, matrix_at(&x[CT_ATOM_C], i));
  }
  return true;
}

static const CtIn *MMA(const CtIn *in, CtWarp *w) {
  const CtTileOp *t = &w->worker->job->program->tiles[in->imm];
  Fragment f[CT_ATOM_OPERANDS];
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
      !find_fragment(in, w, &t->dst, true, &f[CT_ATOM_C]) ||
      (t->mma->vec > 0 && (!find_fragment(in, w, &t->sf[0], false, &f[CT_ATOM_SFA]) ||
                           !find_fragment(in, w, &t->sf[1], false, &f[CT_ATOM_SFB])))) {
    return NULL;
  }
  return multiply_all(t->mma, w, f) ? in + 1 : ct_simt_stop(w, in);
}

const CtHandler CT_SIMT_TABLE(mma)[CT_SIMT_OP_COUNT] = {[CT_SIMT_MMA] = MMA};
