/* simt_tile_soft.h: products of f32s for simt_tile.c where fused multiply-adds are made of other
   instructions (simt_fma.h): the block of GEMM, and DOT. Sums stay f64s from one step to the next,
   two lanes to a vector, each with the value of an f32. Code that is quick keeps no result in which a
   step is in doubt; the same code, exact, then computes it again. */
#ifndef CT_SIMT_TILE_SOFT_H
#define CT_SIMT_TILE_SOFT_H

enum { HALF = 2 }; /* lanes of a vector of f64s */

/* Lanes c and c + 1 of an element at p. */
ALWAYS_INLINE CtVec_f64 soft_get(const char *p, const int64_t *pos, int c, CtChunkKind kind) {
  const float *s = (const float *)(const void *)p;
  if (kind == CT_CONTIGUOUS) {
    return ct_wide_load(s + pos[0] + c);
  }
  if (kind == CT_SAME) {
    return ct_vec_splat_f64((double)s[pos[0]]);
  }
  return (CtVec_f64){(double)s[pos[c]], (double)s[pos[c + 1]]};
}

static inline void soft_put(float *to, CtVec_f64 v) {
  CtVec_f32 rounded = ct_wide_round((CtWide){v, v});
  memcpy(to, &rounded, HALF * sizeof *to);
}

/* --- gemm --------------------------------------------------------------------------------------------- */

/* Any element of rows r to r + n of an operand whose products are in doubt, in four lanes. */
static bool soft_is_small(const char *p, const int64_t *rows, const int64_t *cols, int n, int64_t k,
                          CtChunkKind kind) {
  CtVec_i32 small = {0};
  for (int i = 0; i < n; i++) {
    for (int64_t l = 0; l < k; l++) {
      const char *at = p + rows[i] + cols[l];
      small |= ct_vec_is_small(kind == CT_SAME ? ct_vec_splat_f32(*(const float *)(const void *)at)
                                               : ct_vec_load_f32(at));
    }
  }
  return ct_vec_any(small);
}

/* acc(i,j) += sum over k of a(i,k) * b(j,k) for HALF lanes from c on. False, with nothing written, if
   it is in doubt. */
ALWAYS_INLINE bool soft_half(const Gemm *g, bool exact, int mb, int nb, CtChunkKind ka,
                             CtChunkKind kb, int64_t m, int64_t n, const char *a, const char *b,
                             char *c, int lane) {
  static const int64_t zero[1] = {0};
  CtVec_f64 acc[MAX_MB][MAX_NB];
  CtVec_i32 doubt = {0};
  const char *ap[MAX_MB], *bp[MAX_NB];
  for (int j = 0; j < nb; j++) {
    bp[j] = b + g->bn[n + j];
  }
  for (int i = 0; i < mb; i++) {
    ap[i] = a + g->am[m + i];
    for (int j = 0; j < nb; j++) {
      acc[i][j] = soft_get(c + g->cm[m + i] + g->cn[n + j], zero, lane, CT_CONTIGUOUS);
    }
  }
  for (int64_t k = 0; k < g->k; k++) {
    int64_t ak = g->ak[k], bk = g->bk[k];
    CtVec_f64 bv[MAX_NB];
    for (int j = 0; j < nb; j++) {
      bv[j] = soft_get(bp[j] + bk, zero, lane, kb);
    }
    for (int i = 0; i < mb; i++) {
      CtVec_f64 av = soft_get(ap[i] + ak, zero, lane, ka), s[MAX_NB];
      for (int j = 0; j < nb; j++) {
        CtVec_f64 p = av * bv[j];
        s[j] = exact ? ct_vec_odd_sum(p, acc[i][j]) : p + acc[i][j];
        acc[i][j] = ct_wide_round_half(s[j]);
      }
      doubt = exact ? doubt : ct_vec_note_halfway(doubt, s[0], s[nb - 1]);
    }
  }
  if (!exact && ct_vec_any(ct_vec_is_halfway(doubt))) {
    return false;
  }
  for (int i = 0; i < mb; i++) {
    for (int j = 0; j < nb; j++) {
      soft_put((float *)(void *)(c + g->cm[m + i] + g->cn[n + j]) + lane, acc[i][j]);
    }
  }
  return true;
}

/* Rows and columns of an operand are looked at once: those of a with n = 0, those of b with m = 0. */
ALWAYS_INLINE void block_f32(Gemm *g, int mb, int nb, CtChunkKind ka, CtChunkKind kb, int64_t m,
                             int64_t n, const char *a, const char *b, char *c) {
  g->exact |= (n == 0 && soft_is_small(a, g->am + m, g->ak, mb, g->k, ka)) ||
              (m == 0 && soft_is_small(b, g->bn + n, g->bk, nb, g->k, kb));
  for (int lane = 0; lane < WIDTH_4; lane += HALF) {
    if (g->exact || !soft_half(g, false, mb, nb, ka, kb, m, n, a, b, c, lane)) {
      g->exact = true;
      (void)soft_half(g, true, mb, nb, ka, kb, m, n, a, b, c, lane);
    }
  }
}

/* --- dot ----------------------------------------------------------------------------------------------- */

enum { DOT_PARTS = 8, DOT_LANES = DOT_PARTS * HALF }; /* lanes of sums kept in registers */

ALWAYS_INLINE bool soft_dot(float *d, const float *acc, Row a, Row b, int64_t n, bool exact, int c,
                            CtChunkKind ka, CtChunkKind kb) {
  CtVec_f64 sum[DOT_PARTS];
  CtVec_i32 halfway = {0}, small = {0};
  for (int j = 0; j < DOT_PARTS; j++) {
    sum[j] = ct_wide_load(acc + c + j * HALF);
  }
  for (int64_t i = 0; i < n; i++) {
    for (int j = 0; j < DOT_PARTS; j += 2) {
      CtVec_f64 p[2], s[2];
      for (int h = 0; h < 2; h++) {
        int at = c + (j + h) * HALF, first = at / WIDTH_4 * WIDTH_4;
        p[h] = soft_get(a.ptr, a.pos + first, at - first, ka) *
               soft_get(b.ptr, b.pos + first, at - first, kb);
        s[h] = exact ? ct_vec_odd_sum(p[h], sum[j + h]) : p[h] + sum[j + h];
        sum[j + h] = ct_wide_round_half(s[h]);
      }
      halfway = exact ? halfway : ct_vec_note_halfway(halfway, s[0], s[1]);
      small |= exact ? small : ct_vec_is_small_product(p[0], p[1]);
    }
    a.ptr += a.step * (int64_t)sizeof(float);
    b.ptr += b.step * (int64_t)sizeof(float);
  }
  if (!exact && ct_vec_any(ct_vec_is_halfway(halfway) | small)) {
    return false;
  }
  for (int j = 0; j < DOT_PARTS; j++) {
    soft_put(d + c + j * HALF, sum[j]);
  }
  return true;
}

ALWAYS_INLINE void dot_as_f32(float *d, const float *acc, Row a, Row b, int64_t n, CtChunkKind ka,
                              CtChunkKind kb) {
  for (int c = 0; c < CT_LANES; c += DOT_LANES) {
    if (!soft_dot(d, acc, a, b, n, false, c, ka, kb)) {
      (void)soft_dot(d, acc, a, b, n, true, c, ka, kb);
    }
  }
}

#endif
