/* simt_tile.c: handlers of the operations on whole tensors: the big instructions that make the CPU
   engine fast. Compiled once per instruction set, as all of CT_SIMT_PARTS.

   If every access is inside its buffer, a handler works on all 32 lanes, in chunks of a vector. All
   other cases (masks, lanes that diverge, an access outside) go to ct_simt_do_TILE, one element at
   a time. A handler sees an operand as a Side: the address of (element e, lane i) is base + off[e]
   * scale + pos[i] elements, in registers as well as in memory. Narrow elements are first widened
   into the scratch if the handler computes with them. */
#include "simt_run.h"

#include <string.h>

#include "simt_narrow.h"
#include "simt_next.h"
#include "simt_vec.h"

#if defined(CT_SIMT_AVX512)
enum { LEVEL_4 = 4, LEVEL_8 = 3, MAX_MB = 4, MAX_NB = 4 };
#elif defined(CT_SIMT_AVX2)
enum { LEVEL_4 = 3, LEVEL_8 = 2, MAX_MB = 4, MAX_NB = 2 };
#else
enum { LEVEL_4 = 2, LEVEL_8 = 1, MAX_MB = 4, MAX_NB = 2 };
#endif

enum { MAX_PRODUCTS = 1 << 20 }; /* of a lane, before a GEMM looks whether to stop */

#define ALWAYS_INLINE static inline __attribute__((always_inline))

/* An operand in swizzled memory: (element, lane) is at the place of at + off[row] + off_k[col] +
   pos[lane]. Every step-th lane has a place of its own, `lanes` in all; the lanes in between have
   the same element or, in a run, the next ones. lanes 0: it is in plain memory. */
typedef struct Raw {
  char *ptr;
  CtSwizzle swizzle;
  int lanes, step;
  bool is_run;
  int64_t at, n_rows, n_cols;
  const int64_t *pos, *off, *off_k;
} Raw;

typedef struct Side {
  char *base;
  int64_t scale;        /* bytes */
  const int64_t *pos;   /* of the lanes */
  const int64_t *off;   /* of the elements: mode 0 */
  const int64_t *off_k; /* GEMM: mode 1 */
  CtChunkKind kind;
  CtDtype dtype;
  Raw raw;
} Side;

/* Offsets in bytes of the rows and columns of a GEMM's operands. */
typedef struct Gemm {
  int64_t m, n, k;
  int64_t *am, *ak, *bn, *bk, *cm, *cn;
  bool exact; /* simt_tile_soft.h */
} Gemm;

/* Lanes of registers lie side by side. */
static const CtPattern register_lanes = {
    .kind = {CT_CONTIGUOUS, CT_CONTIGUOUS, CT_CONTIGUOUS, CT_CONTIGUOUS, CT_CONTIGUOUS,
             CT_CONTIGUOUS},
    .pos = {0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15,
            16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31},
};
/* The same element for all lanes. */
static const CtPattern no_lanes = {.kind = {CT_SAME, CT_SAME, CT_SAME, CT_SAME, CT_SAME, CT_SAME}};

static inline const CtTileOp *tile_of(const CtIn *in, const CtWarp *w) {
  return &w->worker->job->program->tiles[in->imm];
}

static inline const CtTileMode *mode_of(const CtWarp *w, const CtTileArg *arg, int i) {
  return &w->worker->job->program->modes[arg->mode[i]];
}

static inline const CtTable *table_of(const CtWarp *w, const CtTileMode *m) {
  return m->fixed != NULL ? m->fixed : CT_CAT(CtTable, w, m->table);
}

static inline bool is_in(int64_t i, int64_t n) { return (uint64_t)i < (uint64_t)n; }

#include "simt_swizzle.h"

/* True if all lanes are active and every element of every lane is inside the buffer. Sums of 32-bit
   offsets need no wrapping here: two sums that are congruent modulo 2^32 and inside are equal. */
static bool resolve(const CtWarp *w, const CtTileArg *arg, int level, Side *s) {
  const CtMem *mem = &w->mem[arg->buf];
  const CtTable *rows = table_of(w, mode_of(w, arg, 0));
  const CtTable *cols = table_of(w, mode_of(w, arg, 1));
  const CtPattern *p = arg->space == CT_REGISTER ? &register_lanes
                       : arg->pattern == 0       ? &no_lanes
                                                 : CT_CAT(CtPattern, w, arg->pattern);
  int64_t base, lo, hi;
  if (ct_add_overflow(CT_CAT(CtScalar, w, arg->base)->i, arg->imm, &base) ||
      ct_add_overflow(base, rows->lo, &lo) || ct_add_overflow(lo, cols->lo, &lo) ||
      ct_add_overflow(lo, p->lo, &lo) || ct_add_overflow(base, rows->hi, &hi) ||
      ct_add_overflow(hi, cols->hi, &hi) || ct_add_overflow(hi, p->hi, &hi)) {
    return false;
  }
  bool whole = rows->lo <= rows->hi && cols->lo <= cols->hi && p->lo <= p->hi;
  if (w->mask != CT_ALL_LANES || !whole || !is_in(lo, mem->n) || !is_in(hi, mem->n)) {
    return false;
  }
  s->scale = mem->elem_bytes;
  s->base = mem->ptr + base * s->scale;
  s->pos = p->pos;
  s->off = rows->off;
  s->off_k = cols->off;
  s->kind = (CtChunkKind)p->kind[level];
  s->dtype = arg->dtype;
  s->raw.lanes = 0;
  if (arg->swizzle.bits != 0) { /* a swizzle keeps offsets inside */
    s->raw = (Raw){.ptr = mem->ptr,
                   .swizzle = arg->swizzle,
                   .at = base,
                   .n_rows = mode_of(w, arg, 0)->n,
                   .n_cols = mode_of(w, arg, 1)->n,
                   .pos = p->pos,
                   .off = rows->off,
                   .off_k = cols->off};
    stage(w, arg, p, level, s);
  }
  return true;
}

/* A handler of an operation on one or on two operands begins with this: with n, the destination's elements. */
#define OPEN_TO(level)                                                                             \
  const CtTileOp *t = tile_of(in, w);                                                              \
  Side d;                                                                                          \
  if (!resolve(w, &t->dst, level, &d)) {                                                           \
    return ct_simt_do_TILE(in, w);                                                                 \
  }                                                                                                \
  int64_t n = mode_of(w, &t->dst, 0)->n;
#define OPEN_FROM_TO(level)                                                                        \
  const CtTileOp *t = tile_of(in, w);                                                              \
  Side d, s;                                                                                       \
  if (!resolve(w, &t->dst, level, &d) || !resolve(w, &t->a, level, &s)) {                          \
    return ct_simt_do_TILE(in, w);                                                                 \
  }                                                                                                \
  int64_t n = mode_of(w, &t->dst, 0)->n;

/* --- widening --------------------------------------------------------------------------------------- */

enum { WIDTH_4 = CT_VEC_BYTES / 4 };

/* Widens all elements of an operand for the chunk of lanes at pos: (row, k) -> row * n_k + k
   vectors, or single numbers if the lanes share them. */
typedef void (*Widen)(const Side *s, int64_t n_rows, int64_t n_k, const int64_t *pos, char *out);

/* One vector, from elements t, held as T, to C. */
#define CAST_VECTOR(t, T, C, S)                                                                    \
  ALWAYS_INLINE void cast_##t(C *restrict to, const T *restrict bits) {                            \
    for (int i = 0; i < WIDTH_4; i++) {                                                            \
      to[i] = CAST_##S##_##t(bits[i]);                                                             \
    }                                                                                              \
  }
#if CT_VEC_HAS_F16
ALWAYS_INLINE void cast_f16(float *to, const uint16_t *bits) {
  ct_vec_store_f32(to, ct_vec_widen_f16(bits));
}
#else
CAST_VECTOR(f16, uint16_t, float, f32)
#endif
#define CUT(...)
#define HALF(...)
#define NARROW(t, bits, compute, cuda, ctype, ...) CAST_VECTOR(t, ctype, float, f32)
#include "runtime/base/dtypes.def"
CAST_VECTOR(u16, uint16_t, int32_t, i32)
CT_NARROW_INTS(CAST_VECTOR)

/* A whole operand. Elements that all lanes share are gathered first, so that they are cast in
   vectors too. The vectors may reach beyond the last element, but not beyond the room of its
   vector. */
#define WIDEN(t, T, C, S)                                                                          \
  static void widen_##t##_same(const Side *s, int64_t n_rows, int64_t n_k, int64_t pos, C *to) {   \
    T bits[WIDTH_4] = {0};                                                                         \
    int n = 0;                                                                                     \
    for (int64_t r = 0; r < n_rows; r++) {                                                         \
      for (int64_t k = 0; k < n_k; k++) {                                                          \
        const char *at = s->base + (s->off[r] + s->off_k[k]) * s->scale;                           \
        bits[n++] = ((const T *)(const void *)at)[pos];                                            \
        if (n == WIDTH_4) {                                                                        \
          cast_##t(to, bits);                                                                      \
          to += WIDTH_4;                                                                           \
          n = 0;                                                                                   \
        }                                                                                          \
      }                                                                                            \
    }                                                                                              \
    if (n > 0) {                                                                                   \
      cast_##t(to, bits);                                                                          \
    }                                                                                              \
  }                                                                                                \
  ALWAYS_INLINE void widen_##t##_as(const Side *s, int64_t n_rows, int64_t n_k,                    \
                                    const int64_t *pos, C *to, CtChunkKind kind) {                 \
    for (int64_t r = 0; r < n_rows; r++) {                                                         \
      for (int64_t k = 0; k < n_k; k++, to += WIDTH_4) {                                           \
        const char *at = s->base + (s->off[r] + s->off_k[k]) * s->scale;                           \
        const T *from = (const T *)(const void *)at;                                               \
        T bits[WIDTH_4];                                                                           \
        for (int i = 0; i < WIDTH_4; i++) {                                                        \
          bits[i] = kind == CT_GATHER ? from[pos[i]] : from[pos[0] + i];                           \
        }                                                                                          \
        cast_##t(to, bits);                                                                        \
      }                                                                                            \
    }                                                                                              \
  }                                                                                                \
  static void widen_##t(const Side *s, int64_t n_rows, int64_t n_k, const int64_t *pos,            \
                        char *out) {                                                               \
    C *to = (C *)(void *)out;                                                                      \
    switch (s->kind) {                                                                             \
      case CT_CONTIGUOUS: widen_##t##_as(s, n_rows, n_k, pos, to, CT_CONTIGUOUS); break;           \
      case CT_SAME: widen_##t##_same(s, n_rows, n_k, pos[0], to); break;                           \
      case CT_GATHER: widen_##t##_as(s, n_rows, n_k, pos, to, CT_GATHER); break;                   \
    }                                                                                              \
  }
#define CUT(...)
#define NARROW(t, bits, compute, cuda, ctype, ...) WIDEN(t, ctype, float, f32)
#include "runtime/base/dtypes.def"
WIDEN(u16, uint16_t, int32_t, i32)
CT_NARROW_INTS(WIDEN)

/* NULL: the elements already have the type that computes. A tf32 is an f32. */
static const Widen widen[CT_DTYPE_COUNT] = {
#define WIDENER(t, ...) [CT_##t] = widen_##t,
#define CUT(...)
#define NARROW WIDENER
#include "runtime/base/dtypes.def"
    [CT_u16] = widen_u16, CT_NARROW_INTS(WIDENER)};

/* The elements of a Side for one chunk of lanes: in place, or widened. */
typedef struct Source {
  const char *widened;
  const int64_t *pos;
  int64_t step; /* bytes between widened elements */
  CtChunkKind kind;
} Source;

static const int64_t no_pos[WIDTH_4] = {0};

static Source source_of(const Side *s, int64_t n, int lane, char *scratch) {
  if (widen[s->dtype] == NULL) {
    return (Source){.pos = s->pos + lane, .kind = s->kind};
  }
  widen[s->dtype](s, n, 1, s->pos + lane, scratch);
  bool same = s->kind == CT_SAME;
  return (Source){scratch, no_pos, same ? 4 : CT_VEC_BYTES, same ? CT_SAME : CT_CONTIGUOUS};
}

static inline const char *element_of(const Side *s, const Source *from, int64_t e) {
  return from->widened != NULL ? from->widened + e * from->step : s->base + s->off[e] * s->scale;
}

/* --- offsets of a GEMM ------------------------------------------------------------------------------ */

/* Bytes from one element of a packed operand to the next; 0 if it is used in place. */
static int64_t packed_step(const Side *s) {
  if (widen[s->dtype] != NULL) {
    return s->kind == CT_SAME ? 4 : CT_VEC_BYTES;
  }
  return s->kind == CT_GATHER ? CT_VEC_BYTES : 0;
}

static CtChunkKind packed_kind(const Side *s) {
  return s->kind == CT_GATHER ? CT_CONTIGUOUS : s->kind;
}

static int64_t *scale_offsets(const int64_t *off, int64_t n, int64_t scale, int64_t *out) {
  for (int64_t i = 0; i < n; i++) {
    out[i] = off[i] * scale;
  }
  return out;
}

static int64_t *count_by(int64_t n, int64_t step, int64_t *out) {
  for (int64_t i = 0; i < n; i++) {
    out[i] = i * step;
  }
  return out;
}

/* Fills *g's offsets, in scratch; returns the rest of the scratch. */
static char *gemm_offsets(Gemm *g, const Side *a, const Side *b, const Side *c, char *scratch) {
  int64_t *at = (int64_t *)(void *)scratch;
  int64_t step_a = packed_step(a), step_b = packed_step(b);
  g->am =
      step_a != 0 ? count_by(g->m, g->k * step_a, at) : scale_offsets(a->off, g->m, a->scale, at);
  g->cm = scale_offsets(c->off, g->m, c->scale, at += g->m);
  g->bn = step_b != 0 ? count_by(g->n, g->k * step_b, at += g->m)
                      : scale_offsets(b->off, g->n, b->scale, at += g->m);
  g->cn = scale_offsets(c->off_k, g->n, c->scale, at += g->n);
  g->ak = step_a != 0 ? count_by(g->k, step_a, at += g->n)
                      : scale_offsets(a->off_k, g->k, a->scale, at += g->n);
  g->bk = step_b != 0 ? count_by(g->k, step_b, at += g->k)
                      : scale_offsets(b->off_k, g->k, b->scale, at += g->k);
  at += g->k;
  return (char *)at;
}

/* After so many rows a GEMM looks whether to stop: a multiple of what a block takes. */
static int64_t rows_between_looks(const Gemm *g) {
  return (MAX_PRODUCTS / MAX_MB / (g->n * g->k + 1) + 1) * MAX_MB;
}

/* --- DOT ---------------------------------------------------------------------------------------------- */

/* A row of elements for each lane, at constant distances: DOT adds up their products. */
typedef struct Row {
  const char *ptr;
  const int64_t *pos;
  int64_t step; /* elements */
  CtChunkKind kind;
} Row;

/* From the load of the first element, whose base is given; also for a load of one element for all
   lanes. False if one of the n elements may be outside. Sums may wrap around, but if the ends are
   inside they are exact, because |n * step| is far below 2^63. */
static inline bool row_at(const CtWarp *w, const CtIn *load, int64_t base, int64_t step, int64_t n,
                          int level, Row *r) {
  const CtPattern *p = load->b == 0 ? &no_lanes : CT_CAT(CtPattern, w, load->b);
  const CtMem *mem = &w->mem[ct_in_buf(load)];
  uint64_t size = (uint64_t)mem->n, first = (uint64_t)base + (uint64_t)load->imm;
  uint64_t last = first + (uint64_t)((n - 1) * step), lo = (uint64_t)p->lo, hi = (uint64_t)p->hi;
  if (p->lo > p->hi || first + lo >= size || first + hi >= size || last + lo >= size ||
      last + hi >= size) {
    return false;
  }
  *r = (Row){mem->ptr + (int64_t)first * (int64_t)mem->elem_bytes, p->pos, step,
             (CtChunkKind)p->kind[level]};
  return true;
}

static inline bool row_of(const CtWarp *w, const CtIn *load, int64_t step, int64_t n, int level,
                          Row *r) {
  return row_at(w, load, CT_CAT(CtScalar, w, load->a)->i, step, n, level, r);
}

/* --- loops of sums ---------------------------------------------------------------------------------- */

enum { MIN_TURNS = 4, MAX_TURNS = 4096, SUM_LOADS = 2 };

/* Computes the bases of a loop's loads for counter `index`. The loop's other instructions, up to
   the FMA, are arithmetic of scalars without effects. */
static void bases_at(const CtIn *in, CtWarp *w, const CtIn *const loads[SUM_LOADS], const CtIn *fma,
                     int64_t index, int64_t base[SUM_LOADS]) {
  CT_AT(CtScalar, w, in->d)->i = index;
  for (const CtIn *at = in + (int32_t)in->c; at != fma; at++) {
    if (at == loads[0] || at == loads[1]) {
      base[at == loads[1]] = CT_CAT(CtScalar, w, at->a)->i;
    } else {
      (void)at->u.handler(at, w);
    }
  }
}

/* The rows that the next n iterations add up, and the counter in the last of them; false if they
   may reach outside. The bases are linear in the counter, except when they wrap around at 32 bits,
   which shows at the ends. */
static bool sum_rows(const CtIn *in, CtWarp *w, int64_t n, int level, Row r[SUM_LOADS]) {
  const uint64_t imm = (uint64_t)in->imm;
  const CtIn *const loads[SUM_LOADS] = {in - (imm & 0xFF), in - (imm >> 8 & 0xFF)};
  const CtIn *fma = in - (imm >> 16 & 0xFF);
  int64_t index = CT_CAT(CtScalar, w, in->d)->i, by = CT_CAT(CtScalar, w, in->b)->i;
  int64_t first[SUM_LOADS] = {0}, second[SUM_LOADS] = {0}, last[SUM_LOADS] = {0};
  bases_at(in, w, loads, fma, index + by, first);
  bases_at(in, w, loads, fma, index + 2 * by, second);
  bases_at(in, w, loads, fma, index + n * by, last);
  bool is_good = true;
  for (int i = 0; i < SUM_LOADS && is_good; i++) {
    int64_t step, reach;
    is_good = !ct_sub_overflow(second[i], first[i], &step) && step == (int32_t)step &&
              !ct_sub_overflow(last[i], first[i], &reach) && reach == (n - 1) * step &&
              row_at(w, loads[i], first[i], step, n, level, &r[i]);
  }
  if (!is_good) {
    CT_AT(CtScalar, w, in->d)->i = index;
  }
  return is_good;
}

/* --- by element type ---------------------------------------------------------------------------------- */

#define V N(CtVec)

#if CT_VEC_SOFT_FMA
#include "simt_tile_soft.h"
#endif
#define IS_SOFT CT_VEC_SOFT_FMA

#define T float
#define N(name) name##_f32
#define LEVEL LEVEL_4
#define WIDTH (CT_VEC_BYTES / 4)
#include "simt_tile_gemm.h"
#include "simt_tile_type.h"
#undef T
#undef N
#undef IS_SOFT
#define IS_SOFT 0

#define T int32_t
#define N(name) name##_i32
#include "simt_tile_gemm.h"
#undef T
#undef N
#undef LEVEL
#undef WIDTH

#define T double
#define N(name) name##_f64
#define LEVEL LEVEL_8
#define WIDTH (CT_VEC_BYTES / 8)
#include "simt_tile_gemm.h"
#include "simt_tile_type.h"
#undef T
#undef N
#undef LEVEL
#undef WIDTH

/* --- narrow elements ---------------------------------------------------------------------------------- */

/* A copy that widens to f32 or i32. It only moves bits. */
static const CtIn *WIDEN_4(const CtIn *in, CtWarp *w) {
  OPEN_FROM_TO(LEVEL_4)
  for (int c = 0; c < CT_LANES; c += WIDTH_4) {
    Source from = source_of(&s, n, c, w->worker->scratch);
    for (int64_t e = 0; e < n; e++) {
      CtVec_i32 v = get_i32(element_of(&s, &from, e), from.pos, from.kind);
      put_i32(d.base + d.off[e] * d.scale, d.pos + c, d.kind, v);
    }
  }
  return finish(in, &d);
}

/* COPY and FILL of 2 and 1 bytes: runs of 8 lanes at once if the lanes are adjacent. */
enum { RUN = 8, LEVEL_RUN = 3 };

#define MOVE_NARROW(bytes, T)                                                                      \
  static const CtIn *COPY_##bytes(const CtIn *in, CtWarp *w) {                                     \
    OPEN_FROM_TO(LEVEL_RUN)                                                                        \
    bool runs = d.kind == CT_CONTIGUOUS && s.kind == CT_CONTIGUOUS;                                \
    for (int64_t e = 0; e < n; e++) {                                                              \
      T *to = (T *)(void *)(d.base + d.off[e] * d.scale);                                          \
      const T *from = (const T *)(const void *)(s.base + s.off[e] * s.scale);                      \
      for (int i = 0; runs && i < CT_LANES; i += RUN) {                                            \
        memcpy(to + d.pos[i], from + s.pos[i], RUN * sizeof *to);                                  \
      }                                                                                            \
      for (int i = 0; !runs && i < CT_LANES; i++) {                                                \
        to[d.pos[i]] = from[s.pos[i]];                                                             \
      }                                                                                            \
    }                                                                                              \
    return finish(in, &d);                                                                         \
  }                                                                                                \
  static const CtIn *FILL_##bytes(const CtIn *in, CtWarp *w) {                                     \
    const uint32_t *lanes = CT_AT(uint32_t, w, in->d);                                             \
    OPEN_TO(LEVEL_RUN)                                                                             \
    T value[CT_LANES];                                                                             \
    for (int i = 0; i < CT_LANES; i++) {                                                           \
      value[i] = (T)lanes[i];                                                                      \
    }                                                                                              \
    for (int64_t e = 0; e < n; e++) {                                                              \
      T *to = (T *)(void *)(d.base + d.off[e] * d.scale);                                          \
      if (d.kind == CT_CONTIGUOUS) {                                                               \
        for (int i = 0; i < CT_LANES; i += RUN) {                                                  \
          memcpy(to + d.pos[i], value + i, RUN * sizeof *to);                                      \
        }                                                                                          \
      } else {                                                                                     \
        for (int i = 0; i < CT_LANES; i++) {                                                       \
          to[d.pos[i]] = value[i];                                                                 \
        }                                                                                          \
      }                                                                                            \
    }                                                                                              \
    return finish(in, &d);                                                                         \
  }
MOVE_NARROW(2, uint16_t)
MOVE_NARROW(1, uint8_t)

/* A cast of registers, in which the lanes of an element are adjacent. */
#define NARROW_TO(t, T)                                                                            \
  static void narrow_##t(const Side *d, const Side *s, int64_t n) {                                \
    for (int64_t e = 0; e < n; e++) {                                                              \
      const char *at = s->base + s->off[e] * s->scale;                                             \
      char *restrict to = d->base + d->off[e] * d->scale;                                          \
      float v[CT_LANES];                                                                           \
      T bits[CT_LANES];                                                                            \
      memcpy(v, at, sizeof v);                                                                     \
      for (int i = 0; i < CT_LANES; i++) {                                                         \
        bits[i] = (T)CAST_##t##_f32(v[i]);                                                         \
      }                                                                                            \
      memcpy(to, bits, sizeof bits);                                                               \
    }                                                                                              \
  }
#define CUT(...)
#define NARROW(t, bits, compute, cuda, ctype, ...) NARROW_TO(t, ctype)
#include "runtime/base/dtypes.def"

static void (*const narrowers[CT_DTYPE_COUNT])(const Side *d, const Side *s, int64_t n) = {
#define CUT(...)
#define NARROW(t, ...) [CT_##t] = narrow_##t,
#include "runtime/base/dtypes.def"
};

static const CtIn *NARROW(const CtIn *in, CtWarp *w) {
  const CtTileOp *t = tile_of(in, w);
  Side d, s;
  if (narrowers[t->dtype] == NULL || !resolve(w, &t->dst, 0, &d) || !resolve(w, &t->a, 0, &s)) {
    return ct_simt_do_TILE(in, w);
  }
  int64_t n = mode_of(w, &t->dst, 0)->n;
  narrowers[t->dtype](&d, &s, n);
  return in + 1;
}

const CtHandler CT_SIMT_TABLE(tile)[CT_SIMT_OP_COUNT] = {
    [CT_SIMT_NEXT_SUM_f32] = NEXT_SUM_f32,
    [CT_SIMT_NEXT_SUM_f64] = NEXT_SUM_f64,
    [CT_SIMT_DOT_f32] = DOT_f32,
    [CT_SIMT_DOT_f64] = DOT_f64,
    [CT_SIMT_COPY_4] = COPY_f32,
    [CT_SIMT_COPY_8] = COPY_f64,
    [CT_SIMT_COPY_2] = COPY_2,
    [CT_SIMT_COPY_1] = COPY_1,
    [CT_SIMT_WIDEN_4] = WIDEN_4,
    [CT_SIMT_NARROW] = NARROW,
    [CT_SIMT_FILL_4] = FILL_f32,
    [CT_SIMT_FILL_8] = FILL_f64,
    [CT_SIMT_FILL_2] = FILL_2,
    [CT_SIMT_FILL_1] = FILL_1,
    [CT_SIMT_AXPBY_f32] = AXPBY_f32,
    [CT_SIMT_AXPBY_f64] = AXPBY_f64,
    [CT_SIMT_GEMM_f32] = GEMM_f32,
    [CT_SIMT_GEMM_f64] = GEMM_f64,
    [CT_SIMT_GEMM_i32] = GEMM_i32,
};
