/* simt_tma.c: handlers of the CPU engine for the tensor memory accelerator, as the hardware does it: boxes of
   a map, densely in shared memory, their 16-byte units permuted by the bits of the addresses. Each lane that
   comes here moves its box at once. */
#include <string.h>

#include "ir_tma.h"
#include "simt_sync.h"

const CtIn *ct_simt_tma_number(const CtIn *in, CtWarp *w) {
  w->worker->tma_numbers[in->imm] = CT_CAT(CtScalar, w, in->a)->i;
  return in + 1;
}

const CtIn *ct_simt_tma_lanes(const CtIn *in, CtWarp *w) {
  memcpy(w->worker->tma_lanes[in->imm], CT_CAT(char, w, in->a), sizeof w->worker->tma_lanes[0]);
  return in + 1;
}

/* One lane's box. */
typedef struct Box {
  const CtSimtTma *t;
  char *global;                /* the tensor's first element */
  char *shared;                /* the block's shared memory */
  int64_t at;                  /* bytes from its beginning to the box */
  int64_t bytes;               /* of an element */
  int64_t extent[CT_TMA_DIMS]; /* of the map's dimensions */
  int64_t stride[CT_TMA_DIMS]; /* in elements */
  int64_t crd[CT_TMA_DIMS];
  bool changed;
} Box;

/* Where a byte of the box lies: bits 4.. of the address change by the bits 7.. */
static int64_t place_of(const Box *b, int64_t byte) {
  int64_t at = b->at + byte, mask = ((int64_t)1 << b->t->swizzle) - 1;
  return at ^ ((at >> 7 & mask) << 4);
}

static void reduce(Box *b, char *to, const char *from, int64_t bytes) {
  static const CtOp ops[CT_TMA_REDUCE_COUNT] = {
      [CT_TMA_ADD] = CT_OP_ATOMIC_ADD, [CT_TMA_MIN] = CT_OP_ATOMIC_MIN,
      [CT_TMA_MAX] = CT_OP_ATOMIC_MAX, [CT_TMA_AND] = CT_OP_ATOMIC_AND,
      [CT_TMA_OR] = CT_OP_ATOMIC_OR,   [CT_TMA_XOR] = CT_OP_ATOMIC_XOR};
  for (int64_t i = 0; i < bytes; i += b->bytes) {
    b->changed = ct_simt_atomic_at(ops[b->t->reduce], b->t->dtype, to + i, from + i) || b->changed;
  }
}

/* Bytes [from, to) of a row of the box, that begins at byte `row` of it; global: where byte 0 of the row is, NULL
   where the row is outside. A load sets the others to 0. */
static void move_row(Box *b, int64_t row, int64_t width, char *global, int64_t from, int64_t to) {
  for (int64_t i = 0; i < width; i += CT_TMA_UNIT) {
    char *unit = b->shared + place_of(b, row + i);
    int64_t lo = global == NULL ? CT_TMA_UNIT : ct_min(ct_max(from - i, 0), CT_TMA_UNIT);
    int64_t hi = global == NULL ? CT_TMA_UNIT : ct_max(ct_min(to - i, CT_TMA_UNIT), lo);
    size_t n = (size_t)(hi - lo);
    if (!b->t->is_store) {
      memset(unit, 0, n < CT_TMA_UNIT ? CT_TMA_UNIT : 0);
      memcpy(unit + lo, n > 0 ? global + i + lo : unit + lo, n);
    } else if (n > 0 && b->t->reduce != CT_TMA_NONE) {
      reduce(b, global + i + lo, unit + lo, hi - lo);
    } else if (n > 0) {
      memcpy(global + i + lo, unit + lo, n);
    }
  }
}

static void move_box(Box *b) {
  const CtSimtTma *t = b->t;
  int64_t x[CT_TMA_DIMS] = {0}, width = t->box[0] * b->bytes, row = 0;
  int64_t from = ct_max(-b->crd[0], 0) * b->bytes;
  int64_t to = ct_min(b->extent[0] - b->crd[0], t->box[0]) * b->bytes;
  for (int done = 0; done < t->n; row += width) {
    int64_t off = b->crd[0];
    bool is_inside = to > from;
    for (int i = 1; i < t->n; i++) {
      int64_t c = b->crd[i] + x[i];
      is_inside = is_inside && c >= 0 && c < b->extent[i];
      off += c * b->stride[i];
    }
    move_row(b, row, width, is_inside ? b->global + off * b->bytes : NULL, from, to);
    for (done = 1; done < t->n && ++x[done] == t->box[done]; done++) {
      x[done] = 0;
    }
  }
}

static int64_t box_bytes(const CtSimtTma *t) {
  int64_t n = (int64_t)ct_dtype_bytes(t->dtype);
  for (int i = 0; i < t->n; i++) {
    n *= t->box[i];
  }
  return n;
}

const CtIn *ct_simt_tma(const CtIn *in, CtWarp *w) {
  CtWorker *k = w->worker;
  const CtSimtProgram *p = k->job->program;
  const CtSimtTma *t = &p->tmas[in->imm];
  const CtMem *shared = &w->mem[t->shared];
  Box b = {.t = t, .shared = k->shared, .bytes = (int64_t)ct_dtype_bytes(t->dtype)};
  int64_t n = box_bytes(t) / b.bytes;
  b.global = w->mem[t->global].ptr + k->tma_numbers[CT_TMA_AT] * b.bytes;
  for (int i = 0; i < t->n; i++) {
    b.extent[i] = k->tma_numbers[CT_TMA_EXTENT + i] / t->div[i];
    b.stride[i] = k->tma_numbers[CT_TMA_STRIDE + i] * t->mul[i];
  }
  for (uint32_t rest = w->mask; rest != 0; rest &= rest - 1) {
    int lane = ct_first_lane(rest);
    int64_t off = k->tma_lanes[CT_TMA_BOX_AT][lane];
    if (off < 0 || off + n > shared->n) {
      return ct_simt_fail_bounds(w, in, lane, t->shared, off < 0 ? off : off + n - 1, !t->is_store);
    }
    b.at = p->bufs[t->shared].at + off * b.bytes;
    for (int i = 0; i < t->n; i++) {
      b.crd[i] = k->tma_lanes[CT_TMA_CRD + i][lane];
    }
    move_box(&b);
    if (!t->is_store && !ct_simt_mbar_complete_tx(w, in, lane, t->bar,
                                                  k->tma_lanes[CT_TMA_BAR][lane], n * b.bytes)) {
      return NULL;
    }
  }
  if (b.changed) {
    ct_simt_note_change(k->job);
  }
  return in + 1;
}
