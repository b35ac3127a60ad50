/* simt_tile.c: handlers of the operations on whole tensors: the big instructions that make the CPU
   engine fast. Compiled once per instruction set, as simt_ops.c is.

   A handler works on all 32 lanes, in chunks of a vector, when every access is inside its buffer;
   what that does not cover (masks, lanes that diverge, an access outside) is done by
   ct_simt_tile_slow, one element at a time. An operand is seen as a Side: the address of (element e,
   lane i) is base + off[e] * scale + pos[i] elements, for registers as well as for memory. */
#include "simt_ops.h"

#include <string.h>

#include "simt_vec.h"

#if defined(CT_SIMT_AVX512)
#define TABLE_NAME ct_simt_tile_avx512
enum { LEVEL_4 = 4, LEVEL_8 = 3, MAX_MB = 4, MAX_NB = 4 };
#elif defined(CT_SIMT_AVX2)
#define TABLE_NAME ct_simt_tile_avx2
enum { LEVEL_4 = 3, LEVEL_8 = 2, MAX_MB = 4, MAX_NB = 2 };
#else
#define TABLE_NAME ct_simt_tile_base
enum { LEVEL_4 = 2, LEVEL_8 = 1, MAX_MB = 4, MAX_NB = 2 };
#endif

#define ALWAYS_INLINE static inline __attribute__((always_inline))

typedef struct Side {
  char *base;
  int64_t scale;        /* bytes */
  const int64_t *pos;   /* of the lanes */
  const int64_t *off;   /* of the elements: mode 0 */
  const int64_t *off_k; /* GEMM: mode 1 */
  CtChunkKind kind;
} Side;

/* Offsets in bytes of the rows and columns of a GEMM's operands. */
typedef struct Gemm {
  int64_t m, n, k;
  int64_t *am, *ak, *bn, *bk, *cm, *cn;
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

/* True when all lanes are active and every element of every lane is inside the buffer. Sums of
   32-bit offsets need no wrapping here: congruent modulo 2^32 and inside, they are the same. */
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
  return true;
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

/* Fills *g's offsets, in scratch; returns what is left of it. */
static char *gemm_offsets(Gemm *g, const Side *a, const Side *b, const Side *c, char *scratch) {
  int64_t *at = (int64_t *)(void *)scratch;
  bool pack_a = a->kind == CT_GATHER, pack_b = b->kind == CT_GATHER;
  g->am =
      pack_a ? count_by(g->m, g->k * CT_VEC_BYTES, at) : scale_offsets(a->off, g->m, a->scale, at);
  g->cm = scale_offsets(c->off, g->m, c->scale, at += g->m);
  g->bn = pack_b ? count_by(g->n, g->k * CT_VEC_BYTES, at += g->m)
                 : scale_offsets(b->off, g->n, b->scale, at += g->m);
  g->cn = scale_offsets(c->off_k, g->n, c->scale, at += g->n);
  g->ak = pack_a ? count_by(g->k, CT_VEC_BYTES, at += g->n)
                 : scale_offsets(a->off_k, g->k, a->scale, at += g->n);
  g->bk = pack_b ? count_by(g->k, CT_VEC_BYTES, at += g->k)
                 : scale_offsets(b->off_k, g->k, b->scale, at += g->k);
  at += g->k;
  return (char *)at;
}

/* A row of elements for each lane, at constant distances: what DOT adds up. */
typedef struct Row {
  const char *ptr;
  const int64_t *pos;
  int64_t step; /* elements */
  CtChunkKind kind;
} Row;

enum { BUF_MASK = 0x7FFFFFFF };

/* From the load of the first element; false where one of the n elements may be outside. */
static bool row_of(const CtWarp *w, const CtIn *load, int64_t step, int64_t n, int level, Row *r) {
  const CtPattern *p = CT_CAT(CtPattern, w, load->b);
  const CtMem *mem = &w->mem[load->c & BUF_MASK];
  int64_t first, last, ends[4];
  if (ct_add_overflow(CT_CAT(CtScalar, w, load->a)->i, load->imm, &first) ||
      ct_add_overflow(first, (n - 1) * step, &last) || ct_add_overflow(first, p->lo, &ends[0]) ||
      ct_add_overflow(first, p->hi, &ends[1]) || ct_add_overflow(last, p->lo, &ends[2]) ||
      ct_add_overflow(last, p->hi, &ends[3]) || p->lo > p->hi || !is_in(ends[0], mem->n) ||
      !is_in(ends[1], mem->n) || !is_in(ends[2], mem->n) || !is_in(ends[3], mem->n)) {
    return false;
  }
  *r =
      (Row){mem->ptr + first * (int64_t)mem->elem_bytes, p->pos, step, (CtChunkKind)p->kind[level]};
  return true;
}

#define T float
#define N(name) name##_f32
#define LEVEL LEVEL_4
#define WIDTH (CT_VEC_BYTES / 4)
#include "simt_tile_type.h"

#define T double
#define N(name) name##_f64
#define LEVEL LEVEL_8
#define WIDTH (CT_VEC_BYTES / 8)
#include "simt_tile_type.h"

const CtHandler TABLE_NAME[CT_SIMT_OP_COUNT] = {
    [CT_SIMT_DOT_f32] = DOT_f32,     [CT_SIMT_DOT_f64] = DOT_f64,     [CT_SIMT_COPY_4] = COPY_f32,
    [CT_SIMT_COPY_8] = COPY_f64,     [CT_SIMT_FILL_4] = FILL_f32,     [CT_SIMT_FILL_8] = FILL_f64,
    [CT_SIMT_AXPBY_f32] = AXPBY_f32, [CT_SIMT_AXPBY_f64] = AXPBY_f64, [CT_SIMT_GEMM_f32] = GEMM_f32,
    [CT_SIMT_GEMM_f64] = GEMM_f64,
};
