/* simt_wgmma.c: the handlers of WGMMA and TCGEN05_MMA. Of the first, each warp computes its 16 rows of the warpgroup's
   64, from shared memory and registers to registers, at once; of the other, one thread computes all rows. Compiled once per
   instruction set, as all of CT_SIMT_PARTS.

   Columns of B and of the sums are in blocks of 8, as tensor_core.h takes them: B is a (block, k,
   column) matrix, and the sums are (block, row, column). Tiles are read in rows of 16 bytes: the
   canonical layouts have such rows (ir_wgmma_tile.c), and no swizzle splits them. */
#include "simt_mma.h"

#include "runtime/simt/model/exact_product.h"

static const CtAtomOperand A = CT_ATOM_A, B = CT_ATOM_B, C = CT_ATOM_C;
enum { ROWS = 16, COLS = 8, UNIT = 16, WARPS = 4 };

/* --- tiles in shared memory ---------------------------------------------------------------------------- */

/* Atom r's element (row, k) is at the place of base + v_off[row + rows * k] + r_off[r]. */
typedef struct Tile {
  const char *ptr;
  CtSwizzle swizzle;
  int64_t base;
  const int64_t *v_off, *r_off;
  int64_t rows, bytes, unit; /* bytes: of an element; unit: elements in 16 bytes */
  const char *own;           /* ptr in the block that issues */
} Tile;

static bool find_tile(const CtIn *in, CtWarp *w, const CtTileArg *arg, int64_t rows, Tile *t) {
  const CtTileMode *modes = w->worker->job->program->modes;
  const CtTable *values = modes[arg->mode[0]].fixed, *rest = modes[arg->mode[1]].fixed;
  const CtMem *mem = &w->mem[arg->buf];
  int lane = ct_first_lane(w->mask);
  CT_ASSERT(values != NULL && rest != NULL);
  int64_t base = ct_simt_arg_base(w, arg, lane), outside;
  if (!ct_simt_reaches_inside(base, values, rest, mem->n, &outside)) {
    ct_simt_fail_bounds(w, in, lane, arg->buf, outside, false);
    return false;
  }
  *t = (Tile){.ptr = mem->ptr,
              .own = mem->ptr,
              .swizzle = arg->swizzle,
              .base = base,
              .v_off = values->off,
              .r_off = rest->off,
              .rows = rows,
              .bytes = mem->elem_bytes,
              .unit = UNIT / (int64_t)mem->elem_bytes};
  return true;
}

static inline const char *row_at(const Tile *t, int64_t r, int64_t row, int64_t k) {
  int64_t at = t->base + t->v_off[row + t->rows * k] + t->r_off[r];
  return t->ptr + ct_swizzle_at(t->swizzle, at) * t->bytes;
}

/* Writes one row of 16 bytes to elements `step` bytes apart. */
static inline void spread(const char *from, char *to, int64_t step, int64_t bytes) {
  for (int64_t i = 0; i < UNIT / bytes; i++, from += bytes, to += step) {
    switch (bytes) {
      case 1: *to = *from; break;
      case 2: memcpy(to, from, 2); break;
      default: memcpy(to, from, 4); break;
    }
  }
}

/* 16 rows of A, as bits: (row, k), with k contiguous. */
static void read_a(const Tile *t, bool is_mn_major, int64_t first, int64_t n_k, int64_t r,
                   char *to) {
  for (int64_t row = 0; row < ROWS; row += is_mn_major ? t->unit : 1) {
    for (int64_t k = 0; k < n_k; k += is_mn_major ? 1 : t->unit) {
      const char *from = row_at(t, r, first + row, k);
      char *at = to + (row * n_k + k) * t->bytes;
      if (is_mn_major) {
        spread(from, at, n_k * t->bytes, t->bytes);
      } else {
        memcpy(at, from, UNIT);
      }
    }
  }
}

/* All of B, as bits: (block, k, column). */
static void read_b(const Tile *t, bool is_mn_major, int64_t n_k, int64_t r, char *to) {
  for (int64_t row = 0; row < t->rows; row += is_mn_major ? t->unit : 1) {
    char *block = to + (row / COLS * n_k * COLS + row % COLS) * t->bytes;
    for (int64_t k = 0; k < n_k; k += is_mn_major ? 1 : t->unit) {
      const char *from = row_at(t, r, row, k);
      if (is_mn_major) {
        memcpy(block + k * COLS * t->bytes, from, UNIT);
      } else {
        spread(from, block + k * COLS * t->bytes, COLS * t->bytes, t->bytes);
      }
    }
  }
}

/* Floats of 4 bits, eight in a word; words of neighbouring columns follow each other, then the next eight rows. */
static void widen_4(const char *bits, int64_t n_words, int64_t columns, char *to) {
  float *out = (float *)(void *)to;
  for (int64_t w = 0; w < n_words; w++) {
    uint32_t word;
    memcpy(&word, bits + 4 * w, sizeof word);
    for (int j = 0; j < 8; j++) {
      out[(w / columns * 8 + j) * columns + w % columns] =
          CAST_f32_f4e2m1((uint8_t)(word >> (4 * j) & 15));
    }
  }
}

/* n elements, a multiple of 32, as numbers of 4 bytes. */
static void widen(const CtMma *m, CtAtomOperand of, const char *bits, int64_t bytes, int64_t n,
                  char *to) {
  if (m->load[of] == CT_LOAD_f4) { /* rows of A; blocks of 8 columns of B, word by word */
    widen_4(bits, n / 8, of == A ? 1 : COLS, to);
    return;
  }
  for (int64_t i = 0; i < n; i += CT_LANES) {
    loads[m->load[of]](bits + i * bytes, to + i * 4);
  }
}

/* --- products ------------------------------------------------------------------------------------------ */

typedef struct Wgmma {
  const CtMma *m;
  Tile tile[2]; /* A, unless it is in registers, and B */
  Tile sums_at; /* in tensor memory; else c */
  Tile sf[2];   /* scales of A and of B, in tensor memory; without v_off if m->vec is 0 */
  CtDtype scale;
  float *sfa, *sfb; /* of the atoms at hand: ROWS, and all columns, by `vec` */
  Fragment a, c;
  bool is_tensor;
  int64_t first_row;
  const CtWorker *pair; /* of tcgen05 with two blocks: the even one; else NULL */
  const CtWorker *self;
  char *bits, *numbers, *sums;
  CtTcRow *rows;
  CtTcCols *cols;
} Wgmma;

static void set_scratch(Wgmma *g, char *at) {
  const CtMma *m = g->m;
  int64_t most = ct_max(m->size[A], m->size[B]);
  g->rows = (CtTcRow *)(void *)at;
  at += ROWS * sizeof(CtTcRow);
  g->cols = (CtTcCols *)(void *)at;
  at += (size_t)m->groups * sizeof(CtTcCols);
  g->sums = at;
  at += 4 * m->rest[0] * m->rest[1] * m->size[C];
  g->sfa = (float *)(void *)at;
  g->sfb = g->sfa + (size_t)ROWS * (size_t)m->vec;
  at = (char *)(g->sfb + (size_t)m->groups * COLS * (size_t)m->vec);
  g->numbers = at;
  g->bits = at + 4 * (m->size[A] + most);
}

/* The tile as a block of the pair has it: at the same place of that block's memory. An operand that the product does
   not have is nowhere. */
static Tile tile_in(const Wgmma *g, const Tile *t, int block) {
  Tile there = *t;
  if (g->pair != NULL && t->own != NULL) {
    there.ptr = g->pair[block].shared + (t->own - g->self->shared);
  }
  return there;
}

/* Scales of rows first .. first + n - 1 of atom r: vec of each row. */
static void read_scales(const Wgmma *g, int side, int64_t first, int64_t n, int64_t r, float *out) {
  const Tile *t = &g->sf[side];
  for (int64_t i = 0; i < n * g->m->vec; i++) {
    int64_t row = first + i / g->m->vec, j = i % g->m->vec;
    int64_t at = t->base + t->v_off[row + t->rows * j] + t->r_off[r];
    out[i] = (float)ct_float_of_bits(g->scale, (uint8_t)t->ptr[at]);
  }
}

/* Takes B's atom r apart, or puts its integers into the scratch. Each block of a pair has half of its rows. */
static void load_b(const Wgmma *g, int64_t r) {
  const CtMma *m = g->m;
  char *to = g->numbers + 4 * (int64_t)m->size[A], *bits = g->bits;
  for (int i = 0; i < (g->pair != NULL ? 2 : 1); i++) {
    Tile t = tile_in(g, &g->tile[B], i);
    read_b(&t, m->is_mn_major[B], m->words, r, bits);
    bits += t.rows * m->words * t.bytes;
  }
  widen(m, B, g->bits, g->tile[B].bytes, m->size[B], to);
  if (g->sf[1].v_off != NULL) {
    read_scales(g, 1, 0, (int64_t)m->groups * COLS, r, g->sfb);
  }
  for (int i = 0; m->kind == CT_MMA_FLOAT && i < m->groups; i++) {
    ct_tc_cols(&m->model, COLS, m->k, (const float *)(const void *)to + i * COLS * m->k,
               &g->cols[i]);
  }
}

/* 16 rows of A in tensor memory, as bits: its elements lie apart. */
static void read_a_tensor(const Tile *t, int64_t first, int64_t n_k, int64_t r, char *to) {
  for (int64_t row = 0; row < ROWS; row++) {
    for (int64_t k = 0; k < n_k; k++) {
      int64_t at = t->base + t->v_off[first + row + t->rows * k] + t->r_off[r];
      memcpy(to + (row * n_k + k) * t->bytes, t->ptr + at * t->bytes, (size_t)t->bytes);
    }
  }
}

static void load_a(const Wgmma *g, int64_t r) {
  const CtMma *m = g->m;
  if (g->is_tensor && !m->is_a_shared) {
    read_a_tensor(&g->tile[A], g->first_row, m->words, r, g->bits);
    widen(m, A, g->bits, g->tile[A].bytes, m->size[A], g->numbers);
  } else if (m->is_a_shared) {
    read_a(&g->tile[A], m->is_mn_major[A], g->first_row, m->words, r, g->bits);
    widen(m, A, g->bits, g->tile[A].bytes, m->size[A], g->numbers);
  } else {
    gather(m, A, &g->a, r, g->numbers);
  }
  if (g->sf[0].v_off != NULL) {
    read_scales(g, 0, g->first_row, ROWS, r, g->sfa);
  }
  if (m->kind == CT_MMA_FLOAT) {
    ct_tc_rows(&m->model, ROWS, m->k, (const float *)(const void *)g->numbers, g->rows);
  }
}

static void multiply_exact(const Wgmma *g, char *sums) {
  const CtMma *m = g->m;
  const CtExact of = {
      .m = ROWS, .n = COLS, .k = m->k, .groups = m->groups, .vec = m->vec, .sum = CT_f32};
  const float *b = (const float *)(const void *)(g->numbers + 4 * (int64_t)m->size[A]);
  ct_exact_product(&of, (const float *)(const void *)g->numbers, b, g->sfa, g->sfb,
                   (float *)(void *)sums);
}

static void multiply(const Wgmma *g, char *sums) {
  const CtMma *m = g->m;
  if (m->kind == CT_MMA_EXACT) {
    multiply_exact(g, sums);
    return;
  }
  for (int i = 0; i < m->groups; i++, sums += 4 * ROWS * COLS) {
    if (m->kind == CT_MMA_FLOAT) {
      float *c = (float *)(void *)sums;
      ct_tc_product(&m->model, ROWS, COLS, m->k, g->rows, &g->cols[i], c, c);
    } else {
      const char *b = g->numbers + 4 * ((int64_t)m->size[A] + (int64_t)i * COLS * m->k);
      multiply_int(m, g->numbers, b, sums);
    }
  }
}

/* The sums of atom r's 16 rows, in blocks of 8 columns, from tensor memory or to it. */
static void move_sums(const Wgmma *g, int64_t r, bool is_load, char *sums) {
  const Tile *t = &g->sums_at;
  for (int64_t i = 0; i < g->m->size[C]; i++, sums += 4) {
    int64_t row = g->first_row + i / COLS % ROWS, col = i / (COLS * ROWS) * COLS + i % COLS;
    char *at =
        (char *)(uintptr_t)t->ptr + 4 * (t->base + t->v_off[row + t->rows * col] + t->r_off[r]);
    memcpy(is_load ? sums : at, is_load ? at : sums, 4);
  }
}

static void load_sums(const Wgmma *g, int64_t r, char *sums) {
  if (g->is_tensor) {
    move_sums(g, r, true, sums);
  } else {
    gather(g->m, C, &g->c, r, sums);
  }
}

static void store_sums(const Wgmma *g, const CtWarp *w, int64_t r, char *sums) {
  if (g->is_tensor) {
    move_sums(g, r, false, sums);
  } else {
    scatter(g->m, &g->c, r, w->mask, sums);
  }
}

/* False: the warp must stop. */
static bool multiply_all(const Wgmma *g, const CtWarp *w, bool accumulates) {
  const CtMma *m = g->m;
  int64_t n_m = m->rest[0], n_n = m->rest[1], each = 4 * (int64_t)m->size[C];
  if (!accumulates) {
    memset(g->sums, 0, (size_t)(n_m * n_n * each));
  }
  for (int64_t i = 0; accumulates && i < n_m * n_n; i++) {
    load_sums(g, i, g->sums + i * each);
  }
  for (int64_t k = 0; k < m->rest[2]; k++) {
    for (int64_t n = 0; n < n_n; n++) {
      load_b(g, k * n_n + n);
      for (int64_t i = 0; i < n_m; i++) {
        if (stops_at_product(w, (k * n_n + n) * n_m + i)) {
          return false;
        }
        load_a(g, k * n_m + i);
        multiply(g, g->sums + (n * n_m + i) * each);
      }
    }
  }
  for (int64_t i = 0; i < n_m * n_n; i++) {
    store_sums(g, w, i, g->sums + i * each);
  }
  return true;
}

static const CtIn *WGMMA(const CtIn *in, CtWarp *w) {
  const CtTileOp *t = &w->worker->job->program->tiles[in->imm];
  const CtMma *m = t->mma;
  Wgmma g = {.m = m, .first_row = w->index % WARPS * ROWS};
  if (w->mask != w->live) {
    return ct_simt_fail_kind(w, in, ct_first_lane(w->mask), CT_FAIL_WARP_LANES);
  }
  if (w->mask != CT_ALL_LANES) {
    return ct_simt_fail_kind(w, in, ct_first_lane(w->mask), CT_FAIL_WARP_ENDED);
  }
  if (m->rest[0] * m->rest[1] * m->rest[2] == 0) {
    return in + 1;
  }
  if ((m->is_a_shared ? !find_tile(in, w, &t->a, ROWS * WARPS, &g.tile[A])
                      : !find_fragment(in, w, &t->a, false, &g.a)) ||
      !find_tile(in, w, &t->b, (int64_t)m->groups * COLS, &g.tile[B]) ||
      !find_fragment(in, w, &t->dst, true, &g.c)) {
    return NULL;
  }
  set_scratch(&g, w->worker->scratch);
  bool accumulates = (*CT_AT(uint32_t, w, in->a) & 1) != 0;
  return multiply_all(&g, w, accumulates) ? in + 1 : ct_simt_stop(w, in);
}

/* Finds the pair of blocks that multiply together; false: the other one has ended. */
static bool find_pair(const CtIn *in, CtWarp *w, Wgmma *g) {
  g->self = w->worker;
  g->pair = ct_simt_pair(in, w);
  return g->pair != NULL;
}

/* The rows of one block, 16 at a time. */
static bool multiply_block(Wgmma *g, const CtWarp *w, int block, bool accumulates) {
  const Tile a = g->tile[A], sums = g->sums_at, sf[] = {g->sf[0], g->sf[1]};
  g->tile[A] = tile_in(g, &a, block);
  g->sums_at = tile_in(g, &sums, block);
  g->sf[0] = tile_in(g, &sf[0], block);
  g->sf[1] = tile_in(g, &sf[1], block);
  bool ok = true;
  for (g->first_row = 0; ok && g->first_row < g->m->rows; g->first_row += ROWS) {
    ok = multiply_all(g, w, accumulates);
  }
  g->tile[A] = a;
  g->sums_at = sums;
  memcpy(g->sf, sf, sizeof sf);
  return ok;
}

/* One thread issues the product of the whole block, or of two. */
static const CtIn *TCGEN05_MMA(const CtIn *in, CtWarp *w) {
  const CtTileOp *t = &w->worker->job->program->tiles[in->imm];
  const CtMma *m = t->mma;
  Wgmma g = {.m = m, .is_tensor = true};
  if ((w->mask & (w->mask - 1)) != 0) {
    (void)ct_simt_fail_kind(w, in, ct_first_lane(w->mask), CT_FAIL_ISSUE);
    w->worker->fail.off = __builtin_popcount(w->mask);
    return NULL;
  }
  if (w->mask == 0 || m->rest[0] * m->rest[1] * m->rest[2] == 0) {
    return in + 1;
  }
  if (!find_tile(in, w, &t->a, m->rows, &g.tile[A]) ||
      !find_tile(in, w, &t->b, (int64_t)m->groups * COLS / m->blocks, &g.tile[B]) ||
      !find_tile(in, w, &t->dst, m->rows, &g.sums_at) ||
      (m->blocks == 2 && !find_pair(in, w, &g))) {
    return NULL;
  }
  if (m->vec > 0) {
    g.scale = t->sf[0].dtype;
    if (!find_tile(in, w, &t->sf[0], m->rows, &g.sf[0]) ||
        !find_tile(in, w, &t->sf[1], (int64_t)m->groups * COLS, &g.sf[1])) {
      return NULL;
    }
  }
  set_scratch(&g, w->worker->scratch);
  bool accumulates = (*CT_AT(uint32_t, w, in->a) & w->mask) != 0;
  for (int i = 0; i < m->blocks; i++) {
    if (!multiply_block(&g, w, i, accumulates)) {
      return ct_simt_stop(w, in);
    }
  }
  return in + 1;
}

const CtHandler CT_SIMT_TABLE(wgmma)[CT_SIMT_OP_COUNT] = {
    [CT_SIMT_WGMMA] = WGMMA, [CT_SIMT_TCGEN05_MMA] = TCGEN05_MMA};
