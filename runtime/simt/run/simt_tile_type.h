/* simt_tile_type.h: the tile operations of simt_tile.c except GEMM, and DOT, for one element type.
   Included once for each, after simt_tile_gemm.h, which documents the names. */

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
  OPEN_FROM_TO(LEVEL)
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
  return finish(in, &d);
}

/* --- fill, axpby ------------------------------------------------------------------------------------ */

static const CtIn *N(FILL)(const CtIn *in, CtWarp *w) {
  const T *value = CT_AT(T, w, in->d);
  OPEN_TO(LEVEL)
  for (int64_t e = 0; e < n; e++) {
    char *to = d.base + d.off[e] * d.scale;
    for (int c = 0; c < CT_LANES; c += WIDTH) {
      N(put)(to, d.pos + c, d.kind, N(ct_vec_load)(value + c));
    }
  }
  return finish(in, &d);
}

static const CtIn *N(AXPBY)(const CtIn *in, CtWarp *w) {
  const T *alpha = CT_AT(T, w, in->d);
  const T *beta = CT_AT(T, w, in->a);
  OPEN_FROM_TO(LEVEL)
  for (int c = 0; c < CT_LANES; c += WIDTH) {
    Source from = source_of(&s, n, c, w->worker->scratch);
    V a = N(ct_vec_load)(alpha + c), b = N(ct_vec_load)(beta + c);
    for (int64_t e = 0; e < n; e++) {
      char *to = d.base + d.off[e] * d.scale;
      V x = N(get)(element_of(&s, &from, e), from.pos, from.kind);
      V sum = a * x;
      if (t->reads_dst) {
        V y = b * N(get)(to, d.pos + c, d.kind);
        sum = t->contract ? N(ct_vec_fma)(a, x, y) : sum + y;
      }
      N(put)(to, d.pos + c, d.kind, sum);
    }
  }
  return finish(in, &d);
}

/* --- dot ----------------------------------------------------------------------------------------- */

#if !IS_SOFT
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
#endif

ALWAYS_INLINE void N(dot_with)(T *d, const T *acc, Row a, Row b, int64_t n, CtChunkKind ka) {
  switch (b.kind) {
    case CT_CONTIGUOUS: N(dot_as)(d, acc, a, b, n, ka, CT_CONTIGUOUS); break;
    case CT_SAME: N(dot_as)(d, acc, a, b, n, ka, CT_SAME); break;
    case CT_GATHER: N(dot_as)(d, acc, a, b, n, ka, CT_GATHER); break;
  }
}

/* Checks each load and takes one step after the other. NULL after a failure. */
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

ALWAYS_INLINE void N(dot)(T *d, const T *acc, Row a, Row b, int64_t n) {
  switch (a.kind) {
    case CT_CONTIGUOUS: N(dot_with)(d, acc, a, b, n, CT_CONTIGUOUS); break;
    case CT_SAME: N(dot_with)(d, acc, a, b, n, CT_SAME); break;
    case CT_GATHER: N(dot_with)(d, acc, a, b, n, CT_GATHER); break;
  }
}

static const CtIn *N(DOT)(const CtIn *in, CtWarp *w) {
  int64_t step_a = (int32_t)in->a, step_b = (int32_t)in->b;
  Row a, b;
  if (!row_of(w, in + 1, step_a, in->imm, LEVEL, &a) ||
      !row_of(w, in + 2, step_b, in->imm, LEVEL, &b)) {
    return N(dot_slow)(in, w, step_a, step_b);
  }
  N(dot)(CT_AT(T, w, in->d), CT_AT(T, w, in->c), a, b, in->imm);
  return in + 3;
}

static const CtIn *N(NEXT_SUM)(const CtIn *in, CtWarp *w) {
  CtScalar *left = CT_AT(CtScalar, w, in->a);
  uint64_t turns = (uint64_t)left->i - 1;
  const CtIn *out;
  if (w->mask == CT_ALL_LANES && turns >= MIN_TURNS) {
    int64_t n = turns < MAX_TURNS ? (int64_t)turns : MAX_TURNS;
    T *sum = CT_AT(T, w, (in - ((uint64_t)in->imm >> 16 & 0xFF))->c);
    Row r[SUM_LOADS];
    if (sum_rows(in, w, n, LEVEL, r)) {
      N(dot)(sum, sum, r[0], r[1], n);
      left->i = (int64_t)((uint64_t)left->i - (uint64_t)n);
    }
  }
  return ct_simt_next(in, w, &out) ? in + (int32_t)in->c : out;
}
