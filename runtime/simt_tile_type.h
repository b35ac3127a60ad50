/* simt_tile_type.h: the tile operations of simt_tile.c for one element type. Included once for each:
   T its C type, N(name) the name with the type's suffix, LEVEL and WIDTH the lanes of a vector. */

#define V N(CtVec)

/* One chunk of lanes at p, `pos` the positions of its lanes in elements. */
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

/* --- copy ----------------------------------------------------------------------------------------- */

ALWAYS_INLINE void N(copy_as)(const Side *d, const Side *s, int64_t n, CtChunkKind kd,
                              CtChunkKind ks) {
  for (int64_t e = 0; e < n; e++) {
    char *to = d->base + d->off[e] * d->scale;
    const char *from = s->base + s->off[e] * s->scale;
    for (int c = 0; c < CT_LANES; c += WIDTH) {
      N(put)(to, d->pos + c, kd, N(get)(from, s->pos + c, ks));
    }
  }
}

static const CtIn *N(COPY)(const CtIn *in, CtWarp *w) {
  const CtTileOp *t = tile_of(in, w);
  Side d, s;
  if (!resolve(w, &t->dst, LEVEL, &d) || !resolve(w, &t->a, LEVEL, &s)) {
    return ct_simt_tile_slow(in, w);
  }
  int64_t n = mode_of(w, &t->dst, 0)->n;
  if (d.kind == CT_CONTIGUOUS) {
    switch (s.kind) {
      case CT_CONTIGUOUS: N(copy_as)(&d, &s, n, CT_CONTIGUOUS, CT_CONTIGUOUS); break;
      case CT_SAME: N(copy_as)(&d, &s, n, CT_CONTIGUOUS, CT_SAME); break;
      case CT_GATHER: N(copy_as)(&d, &s, n, CT_CONTIGUOUS, CT_GATHER); break;
    }
  } else {
    switch (s.kind) {
      case CT_CONTIGUOUS: N(copy_as)(&d, &s, n, CT_GATHER, CT_CONTIGUOUS); break;
      case CT_SAME: N(copy_as)(&d, &s, n, CT_GATHER, CT_SAME); break;
      case CT_GATHER: N(copy_as)(&d, &s, n, CT_GATHER, CT_GATHER); break;
    }
  }
  return in + 1;
}

/* --- fill, axpby ------------------------------------------------------------------------------------ */

static const CtIn *N(FILL)(const CtIn *in, CtWarp *w) {
  const CtTileOp *t = tile_of(in, w);
  const T *value = CT_AT(T, w, in->d);
  Side d;
  if (!resolve(w, &t->dst, LEVEL, &d)) {
    return ct_simt_tile_slow(in, w);
  }
  int64_t n = mode_of(w, &t->dst, 0)->n;
  for (int64_t e = 0; e < n; e++) {
    char *to = d.base + d.off[e] * d.scale;
    for (int c = 0; c < CT_LANES; c += WIDTH) {
      N(put)(to, d.pos + c, d.kind, N(ct_vec_load)(value + c));
    }
  }
  return in + 1;
}

static const CtIn *N(AXPBY)(const CtIn *in, CtWarp *w) {
  const CtTileOp *t = tile_of(in, w);
  const T *alpha = CT_AT(T, w, in->d);
  const T *beta = CT_AT(T, w, in->a);
  Side d, s;
  if (!resolve(w, &t->dst, LEVEL, &d) || !resolve(w, &t->a, LEVEL, &s)) {
    return ct_simt_tile_slow(in, w);
  }
  int64_t n = mode_of(w, &t->dst, 0)->n;
  for (int64_t e = 0; e < n; e++) {
    char *to = d.base + d.off[e] * d.scale;
    const char *from = s.base + s.off[e] * s.scale;
    for (int c = 0; c < CT_LANES; c += WIDTH) {
      V x = N(get)(from, s.pos + c, s.kind);
      V y = N(ct_vec_load)(beta + c) * N(get)(to, d.pos + c, d.kind);
      V a = N(ct_vec_load)(alpha + c);
      N(put)(to, d.pos + c, d.kind, t->contract ? N(ct_vec_fma)(a, x, y) : a * x + y);
    }
  }
  return in + 1;
}

/* --- gemm ------------------------------------------------------------------------------------------- */

/* acc(i,j) += sum over k of a(i,k) * b(j,k), for mb times nb accumulators kept in registers. */
ALWAYS_INLINE void N(block)(const Gemm *g, int mb, int nb, CtChunkKind ka, CtChunkKind kb,
                            int64_t m, int64_t n, const char *a, const char *b, char *c) {
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

ALWAYS_INLINE void N(chunk_as)(const Gemm *g, CtChunkKind ka, CtChunkKind kb, const char *a,
                               const char *b, char *c) {
  int64_t m = 0;
  for (; m + MAX_MB <= g->m; m += MAX_MB) {
    int64_t n = 0;
    for (; n + MAX_NB <= g->n; n += MAX_NB) {
      N(block)(g, MAX_MB, MAX_NB, ka, kb, m, n, a, b, c);
    }
    for (; n < g->n; n++) {
      N(block)(g, MAX_MB, 1, ka, kb, m, n, a, b, c);
    }
  }
  for (; m < g->m; m++) {
    for (int64_t n = 0; n < g->n; n++) {
      N(block)(g, 1, 1, ka, kb, m, n, a, b, c);
    }
  }
}

static void N(chunk)(const Gemm *g, CtChunkKind ka, CtChunkKind kb, const char *a, const char *b,
                     char *c) {
  if (ka == CT_CONTIGUOUS) {
    if (kb == CT_CONTIGUOUS) {
      N(chunk_as)(g, CT_CONTIGUOUS, CT_CONTIGUOUS, a, b, c);
    } else {
      N(chunk_as)(g, CT_CONTIGUOUS, CT_SAME, a, b, c);
    }
  } else if (kb == CT_CONTIGUOUS) {
    N(chunk_as)(g, CT_SAME, CT_CONTIGUOUS, a, b, c);
  } else {
    N(chunk_as)(g, CT_SAME, CT_SAME, a, b, c);
  }
}

/* Gathers one chunk of all elements of an operand: (row, k) -> row * n_k + k vectors. */
static void N(pack)(const Side *s, int64_t n_rows, int64_t n_k, const int64_t *pos, char *out) {
  for (int64_t r = 0; r < n_rows; r++) {
    for (int64_t k = 0; k < n_k; k++) {
      const char *from = s->base + (s->off[r] + s->off_k[k]) * s->scale;
      N(ct_vec_store)(out, N(get)(from, pos, CT_GATHER));
      out += CT_VEC_BYTES;
    }
  }
}

static const CtIn *N(GEMM)(const CtIn *in, CtWarp *w) {
  const CtTileOp *t = tile_of(in, w);
  Side a, b, c;
  if (!resolve(w, &t->dst, LEVEL, &c) || c.kind != CT_CONTIGUOUS || !resolve(w, &t->a, LEVEL, &a) ||
      !resolve(w, &t->b, LEVEL, &b)) {
    return ct_simt_tile_slow(in, w);
  }
  Gemm g = {
      .m = mode_of(w, &t->a, 0)->n, .n = mode_of(w, &t->b, 0)->n, .k = mode_of(w, &t->a, 1)->n};
  char *packs = gemm_offsets(&g, &a, &b, &c, w->worker->scratch);
  char *pack_b = packs + (a.kind == CT_GATHER ? g.m * g.k * CT_VEC_BYTES : 0);
  for (int i = 0; i < CT_LANES; i += WIDTH) {
    const char *pa = a.base + a.pos[i] * (int64_t)sizeof(T);
    const char *pb = b.base + b.pos[i] * (int64_t)sizeof(T);
    CtChunkKind ka = a.kind, kb = b.kind;
    if (ka == CT_GATHER) {
      N(pack)(&a, g.m, g.k, a.pos + i, packs);
      pa = packs;
      ka = CT_CONTIGUOUS;
    }
    if (kb == CT_GATHER) {
      N(pack)(&b, g.n, g.k, b.pos + i, pack_b);
      pb = pack_b;
      kb = CT_CONTIGUOUS;
    }
    N(chunk)(&g, ka, kb, pa, pb, c.base + c.pos[i] * (int64_t)sizeof(T));
  }
  return in + 1;
}

/* --- dot ----------------------------------------------------------------------------------------- */

ALWAYS_INLINE void N(dot_as)(T *d, const T *acc, Row a, Row b, int64_t n, CtChunkKind ka,
                             CtChunkKind kb) {
  V sum[CT_LANES / WIDTH];
  for (int c = 0; c < CT_LANES / WIDTH; c++) {
    sum[c] = N(ct_vec_load)(acc + c * WIDTH);
  }
  for (int64_t i = 0; i < n; i++) {
    for (int c = 0; c < CT_LANES / WIDTH; c++) {
      V x = N(get)(a.ptr, a.pos + c * WIDTH, ka);
      sum[c] = N(ct_vec_fma)(x, N(get)(b.ptr, b.pos + c * WIDTH, kb), sum[c]);
    }
    a.ptr += a.step * (int64_t)sizeof(T);
    b.ptr += b.step * (int64_t)sizeof(T);
  }
  for (int c = 0; c < CT_LANES / WIDTH; c++) {
    N(ct_vec_store)(d + c * WIDTH, sum[c]);
  }
}

ALWAYS_INLINE void N(dot_with)(T *d, const T *acc, Row a, Row b, int64_t n, CtChunkKind ka) {
  switch (b.kind) {
    case CT_CONTIGUOUS: N(dot_as)(d, acc, a, b, n, ka, CT_CONTIGUOUS); break;
    case CT_SAME: N(dot_as)(d, acc, a, b, n, ka, CT_SAME); break;
    case CT_GATHER: N(dot_as)(d, acc, a, b, n, ka, CT_GATHER); break;
  }
}

/* With checked loads, one step after the other. NULL after a failure. */
static const CtIn *N(dot_slow)(const CtIn *in, CtWarp *w, int64_t step_a, int64_t step_b) {
  T *d = CT_AT(T, w, in->d);
  memmove(d, CT_AT(T, w, in->c), CT_LANES * sizeof(T));
  for (int64_t i = 0; i < in->imm; i++) {
    CtIn load_a = in[1], load_b = in[2];
    T a[CT_LANES], sum[CT_LANES];
    load_a.imm += i * step_a;
    load_b.imm += i * step_b;
    memcpy(sum, d, sizeof sum);
    const CtIn *ok = load_a.u.handler(&load_a, w);
    memcpy(a, CT_AT(T, w, load_a.d), sizeof a);
    if (ok == NULL || load_b.u.handler(&load_b, w) == NULL) {
      w->worker->fail.in = ok == NULL ? in + 1 : in + 2;
      return NULL;
    }
    const T *b = CT_AT(T, w, load_b.d);
    for (int lane = 0; lane < CT_LANES; lane++) {
      d[lane] = N(FMA)(a[lane], b[lane], sum[lane]);
    }
  }
  return in + 3;
}

static const CtIn *N(DOT)(const CtIn *in, CtWarp *w) {
  int64_t step_a = (int32_t)in->a, step_b = (int32_t)in->b;
  Row a, b;
  if (!row_of(w, in + 1, step_a, in->imm, LEVEL, &a) ||
      !row_of(w, in + 2, step_b, in->imm, LEVEL, &b)) {
    return N(dot_slow)(in, w, step_a, step_b);
  }
  T *d = CT_AT(T, w, in->d);
  const T *acc = CT_AT(T, w, in->c);
  switch (a.kind) {
    case CT_CONTIGUOUS: N(dot_with)(d, acc, a, b, in->imm, CT_CONTIGUOUS); break;
    case CT_SAME: N(dot_with)(d, acc, a, b, in->imm, CT_SAME); break;
    case CT_GATHER: N(dot_with)(d, acc, a, b, in->imm, CT_GATHER); break;
  }
  return in + 3;
}

#undef V
#undef T
#undef N
#undef LEVEL
#undef WIDTH
