/* simt_tile_gemm.h: vectors in memory, and GEMM of simt_tile.c for one type of C. Included once for each: T its C type, N(name)
   the name with the type's suffix, V its vector, LEVEL and WIDTH the lanes of one. */

/* One chunk of lanes at p; `pos`: the positions of its lanes in elements. */
static inline V N(get)(const char *p, const int64_t *pos, CtChunkKind kind) {
  const T *s = (const T *)(const void *)p;
  if (kind == CT_CONTIGUOUS) {
    return N(ct_vec_load)(s + pos[0]);
  }
  if (kind == CT_SAME) {
    return N(ct_vec_splat)(s[pos[0]]);
  }
  V v;
  for (int i = 0; i < WIDTH; i++) {
    v[i] = s[pos[i]];
  }
  return v;
}

static inline void N(put)(char *p, const int64_t *pos, CtChunkKind kind, V v) {
  T *d = (T *)(void *)p;
  if (kind == CT_CONTIGUOUS) {
    N(ct_vec_store)(d + pos[0], v);
    return;
  }
  for (int i = 0; i < WIDTH; i++) {
    d[pos[i]] = v[i];
  }
}

/* --- gemm ------------------------------------------------------------------------------------------- */

#if !IS_SOFT
/* acc(i,j) += sum over k of a(i,k) * b(j,k), for mb times nb accumulators kept in registers. */
ALWAYS_INLINE void N(block)(Gemm *g, int mb, int nb, CtChunkKind ka, CtChunkKind kb, int64_t m,
                            int64_t n, const char *a, const char *b, char *c) {
  V acc[MAX_MB][MAX_NB];
  const char *ap[MAX_MB], *bp[MAX_NB];
  for (int i = 0; i < mb; i++) {
    ap[i] = a + g->am[m + i];
  }
  for (int j = 0; j < nb; j++) {
    bp[j] = b + g->bn[n + j];
  }
  for (int i = 0; i < mb; i++) {
    for (int j = 0; j < nb; j++) {
      acc[i][j] = N(ct_vec_load)(c + g->cm[m + i] + g->cn[n + j]);
    }
  }
  for (int64_t k = 0; k < g->k; k++) {
    int64_t ak = g->ak[k], bk = g->bk[k];
    static const int64_t zero[WIDTH] = {0};
    V bv[MAX_NB];
    for (int j = 0; j < nb; j++) {
      bv[j] = N(get)(bp[j] + bk, zero, kb);
      CT_VEC_PIN(bv[j]);
    }
    for (int i = 0; i < mb; i++) {
      V av = N(get)(ap[i] + ak, zero, ka);
      CT_VEC_PIN(av);
      for (int j = 0; j < nb; j++) {
        acc[i][j] = N(ct_vec_fma)(av, bv[j], acc[i][j]);
      }
    }
  }
  for (int i = 0; i < mb; i++) {
    for (int j = 0; j < nb; j++) {
      N(ct_vec_store)(c + g->cm[m + i] + g->cn[n + j], acc[i][j]);
    }
  }
}
#endif

/* Rows from m to `end`. */
ALWAYS_INLINE void N(chunk_as)(Gemm *g, CtChunkKind ka, CtChunkKind kb, int64_t m, int64_t end,
                               const char *a, const char *b, char *c) {
  for (; m + MAX_MB <= end; m += MAX_MB) {
    int64_t n = 0;
    for (; n + MAX_NB <= g->n; n += MAX_NB) {
      N(block)(g, MAX_MB, MAX_NB, ka, kb, m, n, a, b, c);
    }
    for (; n < g->n; n++) {
      N(block)(g, MAX_MB, 1, ka, kb, m, n, a, b, c);
    }
  }
  for (; m < end; m++) {
    for (int64_t n = 0; n < g->n; n++) {
      N(block)(g, 1, 1, ka, kb, m, n, a, b, c);
    }
  }
}

static void N(chunk)(Gemm *g, CtChunkKind ka, CtChunkKind kb, int64_t m, int64_t end, const char *a,
                     const char *b, char *c) {
  if (ka == CT_CONTIGUOUS) {
    if (kb == CT_CONTIGUOUS) {
      N(chunk_as)(g, CT_CONTIGUOUS, CT_CONTIGUOUS, m, end, a, b, c);
    } else {
      N(chunk_as)(g, CT_CONTIGUOUS, CT_SAME, m, end, a, b, c);
    }
  } else if (kb == CT_CONTIGUOUS) {
    N(chunk_as)(g, CT_SAME, CT_CONTIGUOUS, m, end, a, b, c);
  } else {
    N(chunk_as)(g, CT_SAME, CT_SAME, m, end, a, b, c);
  }
}

/* The elements of an operand for the chunk of lanes from i on, for the offsets in *g: in place, or
   packed, (row, k) -> row * n_k + k. */
static const char *N(packed)(const Side *s, int64_t n_rows, int64_t n_k, int i, char *out) {
  int64_t step = packed_step(s);
  if (step == 0) {
    return s->base + s->pos[i] * (int64_t)sizeof(T);
  }
  if (widen[s->dtype] != NULL) {
    widen[s->dtype](s, n_rows, n_k, s->pos + i, out);
    return out;
  }
  char *to = out;
  for (int64_t r = 0; r < n_rows; r++) {
    for (int64_t k = 0; k < n_k; k++, to += step) {
      const char *from = s->base + (s->off[r] + s->off_k[k]) * s->scale;
      N(ct_vec_store)(to, N(get)(from, s->pos + i, CT_GATHER));
    }
  }
  return out;
}

static const CtIn *N(GEMM)(const CtIn *in, CtWarp *w) {
  const CtTileOp *t = tile_of(in, w);
  Side a, b, c;
  if (!resolve(w, &t->dst, LEVEL, &c) || c.kind != CT_CONTIGUOUS || !resolve(w, &t->a, LEVEL, &a) ||
      !resolve(w, &t->b, LEVEL, &b)) {
    return ct_simt_do_TILE(in, w);
  }
  Gemm g = {
      .m = mode_of(w, &t->a, 0)->n, .n = mode_of(w, &t->b, 0)->n, .k = mode_of(w, &t->a, 1)->n};
  char *pack_a = gemm_offsets(&g, &a, &b, &c, w->worker->scratch);
  char *pack_b = pack_a + g.m * g.k * packed_step(&a);
  int64_t rows = rows_between_looks(&g);
  for (int i = 0; i < CT_LANES; i += WIDTH) {
    const char *pa = N(packed)(&a, g.m, g.k, i, pack_a);
    const char *pb = N(packed)(&b, g.n, g.k, i, pack_b);
    char *pc = c.base + c.pos[i] * (int64_t)sizeof(T);
    for (int64_t m = 0; m < g.m; m += rows) {
      if (m > 0 && ct_simt_stopping(w)) {
        return ct_simt_stop(w, in);
      }
      N(chunk)(&g, packed_kind(&a), packed_kind(&b), m, ct_min(m + rows, g.m), pa, pb, pc);
    }
  }
  return in + 1;
}
