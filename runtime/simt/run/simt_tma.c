/* simt_tma.c: handlers of the CPU engine for the tensor memory accelerator. They do what the
   hardware does: a box of a map is dense in shared memory, and address bits permute its 16-byte
   units. Each lane moves its box at once. */
#include <string.h>

#include "runtime/ir/ir_tma.h"
#include "simt_copy.h"
#include "simt_plan.h"
#include "simt_sync.h"

const CtIn *ct_simt_do_TMA_NUMBER(const CtIn *in, CtWarp *w) {
  ct_simt_tma_of(w)->numbers[in->imm] = CT_CAT(CtScalar, w, in->a)->i;
  return in + 1;
}

const CtIn *ct_simt_do_TMA_LANES(const CtIn *in, CtWarp *w) {
  int32_t(*lanes)[CT_LANES] = ct_simt_tma_of(w)->lanes;
  memcpy(lanes[in->imm], CT_CAT(char, w, in->a), sizeof lanes[0]);
  return in + 1;
}

/* One lane's box. The map's numbers come from the script: a tensor may reach beyond its memory, and
   the offsets of its elements beyond 64 bits. So each_row, which finds all rows, and unit_at, which
   finds all places in shared memory, tell what is outside, and no other function makes an address. */
typedef struct Box {
  const CtSimtTma *t;
  char *global;                /* the tensor's memory */
  int64_t end;                 /* its bytes */
  char *shared;                /* the block's memory */
  int64_t at;                  /* bytes from there to the box, */
  int64_t lo, hi;              /* and to the first unit of the shared tensor and the last */
  int64_t bytes;               /* of an element */
  int64_t first;               /* elements from the beginning of the memory to the tensor's first */
  int64_t extent[CT_TMA_DIMS]; /* of the map's dimensions */
  int64_t stride[CT_TMA_DIMS]; /* in elements */
  int64_t crd[CT_TMA_DIMS];
  bool changed;
  uint64_t response[2]; /* of a request */
  /* move_row found one: a buffer, and the element that it does not have; 0: all were inside */
  uint32_t missed;
  int64_t missed_at;
} Box;

/* A row of a box, which begins `row` bytes after the box does. Its bytes from .. to are inside
   the tensor. Its byte 0 is `off` bytes after the beginning of the tensor's memory. If some of these
   bytes are outside the memory, from and to are the same, and `outside` is the first such element. */
typedef struct Row {
  int64_t row, off, from, to;
  bool is_outside;
  int64_t outside;
} Row;

/* A product that is too large is as far outside as any. */
static int64_t times(int64_t a, int64_t b) {
  int64_t product;
  return ct_mul_overflow(a, b, &product) ? INT64_MAX : product;
}

/* Coordinates have 32 bits: no element has one below 0, and none reaches an end that is further away. */
static int64_t extent_of(int64_t n) { return ct_min(ct_max(n, 0), (int64_t)1 << 40); }

static void open_box(const CtWarp *w, const CtSimtTma *t, int lane, Box *b) {
  const CtWorker *k = w->worker;
  const CtTmaOperands *given = ct_simt_tma_of(w);
  const CtMem *global = &w->mem[t->global], *shared = &w->mem[t->shared];
  *b = (Box){.t = t,
             .global = global->ptr,
             .end = global->n * (int64_t)global->elem_bytes,
             .shared = k->shared,
             .lo = k->job->program->bufs[t->shared].at,
             .bytes = (int64_t)ct_value_bytes(t->dtype),
             .first = given->numbers[CT_TMA_AT]};
  b->at = b->lo + given->lanes[CT_TMA_BOX_AT][lane] * b->bytes;
  b->hi = b->lo + shared->n * (int64_t)shared->elem_bytes - CT_TMA_UNIT;
  if (t->is_send) { /* it has no map: all of it is inside, or outside the memory */
    b->first = given->lanes[CT_TMA_CRD][lane];
    b->extent[0] = t->box[0];
    b->stride[0] = 1;
    return;
  }
  for (int i = 0; i < t->n; i++) {
    b->extent[i] = extent_of(given->numbers[CT_TMA_EXTENT + i] / t->div[i]);
    b->stride[i] = times(given->numbers[CT_TMA_STRIDE + i], t->mul[i]);
    b->crd[i] = given->lanes[CT_TMA_CRD + i][lane];
  }
}

/* Where the row at x begins, in elements from the beginning of the memory; false: further away than
   64 bits can say. *is_inside: its coordinates are inside the tensor, except the first. */
static bool find_row(const Box *b, const int64_t x[CT_TMA_DIMS], int64_t *at, bool *is_inside) {
  bool fits = !ct_add_overflow(b->first, b->crd[0], at);
  *is_inside = true;
  for (int i = 1; i < b->t->n; i++) {
    int64_t c = b->crd[i] + x[i], step;
    *is_inside = *is_inside && c >= 0 && c < b->extent[i];
    fits = fits && !ct_mul_overflow(c, b->stride[i], &step) && !ct_add_overflow(*at, step, at);
  }
  return fits;
}

/* Looks whether the row is in the memory. It begins at element `at`; fits: that is known. */
static void check_row(const Box *b, bool fits, int64_t at, Row *row) {
  fits = fits && !ct_mul_overflow(at, b->bytes, &row->off);
  if (row->to == row->from) {
    row->off = 0; /* no byte of it is looked at */
    return;
  }
  if (fits && row->off >= -row->from && row->off <= b->end - row->to) {
    return;
  }
  bool is_below = fits && row->off < -row->from;
  row->is_outside = true;
  row->outside = !fits      ? INT64_MAX
                 : is_below ? at + row->from / b->bytes
                            : ct_max(at + row->from / b->bytes, b->end / b->bytes);
  row->to = row->from;
}

static void each_row(const Box *b, void (*fn)(void *ud, const Row *row), void *ud) {
  const CtSimtTma *t = b->t;
  int64_t x[CT_TMA_DIMS] = {0}, width = t->box[0] * b->bytes;
  Row row = {.row = 0};
  for (int done = 0; done < t->n; row.row += width) {
    int64_t at;
    bool is_inside, fits = find_row(b, x, &at, &is_inside);
    row.is_outside = false;
    row.from = is_inside ? ct_min(ct_max(-b->crd[0], 0), t->box[0]) * b->bytes : width;
    row.to = ct_max(ct_min(b->extent[0] - b->crd[0], t->box[0]) * b->bytes, row.from);
    check_row(b, fits, at, &row);
    fn(ud, &row);
    for (done = 1; done < t->n && ++x[done] == t->box[done]; done++) {
      x[done] = 0;
    }
  }
}

/* Where a unit of the box lies: the swizzle xors bits from 7 on into bits from 4 on. False: outside
   the shared tensor. */
static bool find_unit(const Box *b, int64_t byte, int64_t *place) {
  int64_t at = b->at + byte, mask = ((int64_t)1 << b->t->swizzle) - 1;
  *place = at ^ ((at >> 7 & mask) << 4);
  return *place >= b->lo && *place <= b->hi;
}

static void miss(Box *b, uint32_t buf, int64_t at) {
  b->missed_at = b->missed == 0 ? at : b->missed_at;
  b->missed = b->missed == 0 ? buf : b->missed;
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

/* Moves bytes lo .. hi of a unit; its byte 0 is `off` bytes after the beginning of the tensor's memory. A load
   sets the others to 0. */
static void move_unit(Box *b, char *unit, int64_t off, int64_t lo, int64_t hi) {
  size_t n = (size_t)(hi - lo);
  if (!b->t->is_store && n == CT_TMA_UNIT) { /* nearly all units; the size is a constant */
    memcpy(unit, b->global + off, CT_TMA_UNIT);
    return;
  }
  if (!b->t->is_store) {
    memset(unit, 0, CT_TMA_UNIT);
  }
  if (n == 0) {
    return;
  }
  char *global = b->global + (off + lo);
  if (!b->t->is_store) {
    memcpy(unit + lo, global, n);
  } else if (b->t->reduce != CT_TMA_NONE) {
    reduce(b, global, unit + lo, hi - lo);
  } else {
    memcpy(global, unit + lo, n);
  }
}

static void move_row(void *ud, const Row *row) {
  Box *b = ud;
  int64_t width = b->t->box[0] * b->bytes, place;
  if (row->is_outside) {
    miss(b, b->t->global, row->outside);
    return;
  }
  for (int64_t i = 0; i < width; i += CT_TMA_UNIT) {
    if (!find_unit(b, row->row + i, &place)) {
      miss(b, b->t->shared, (place - b->lo) / b->bytes);
      return;
    }
    int64_t lo = ct_min(ct_max(row->from - i, 0), CT_TMA_UNIT);
    int64_t hi = ct_max(ct_min(row->to - i, CT_TMA_UNIT), lo);
    move_unit(b, b->shared + place, row->off + i, lo, hi);
  }
}

static int64_t box_size(const CtSimtTma *t) {
  int64_t n = 1;
  for (int i = 0; i < t->n; i++) {
    n *= t->box[i];
  }
  return n;
}

typedef struct Visit {
  CtTmaVisit fn;
  void *ud;
} Visit;

static void visit_row(void *ud, const Row *row) {
  const Visit *v = ud;
  if (row->to > row->from) {
    v->fn(v->ud, row->off + row->from, row->to - row->from);
  }
}

int64_t ct_simt_tma_rows(const CtWarp *w, const CtSimtTma *t, int lane, CtTmaVisit fn, void *ud) {
  Box b;
  if (t->is_cancel) {
    return ct_simt_tma_bytes(t);
  }
  Visit v = {fn, ud};
  open_box(w, t, lane, &b);
  each_row(&b, visit_row, &v);
  return box_size(t) * b.bytes;
}

typedef struct UnitVisit {
  CtTmaUnitVisit fn;
  void *ud;
  const Box *box;
} UnitVisit;

static void visit_units(void *ud, const Row *row) {
  const UnitVisit *v = ud;
  int64_t width = v->box->t->box[0] * v->box->bytes;
  for (int64_t i = 0; i < width; i += CT_TMA_UNIT) {
    int64_t lo = ct_min(ct_max(row->from - i, 0), CT_TMA_UNIT), place;
    if (!find_unit(v->box, row->row + i, &place)) {
      continue;
    }
    CtTmaUnit unit = {.place = place,
                      .off = row->off + i,
                      .from = (int32_t)lo,
                      .to = (int32_t)ct_max(ct_min(row->to - i, CT_TMA_UNIT), lo)};
    v->fn(v->ud, &unit);
  }
}

void ct_simt_tma_units(const CtWarp *w, const CtSimtTma *t, int lane, CtTmaUnitVisit fn, void *ud) {
  Box b;
  if (t->is_cancel) {
    return;
  }
  UnitVisit v = {fn, ud, &b};
  open_box(w, t, lane, &b);
  each_row(&b, visit_units, &v);
}

int64_t ct_simt_tma_bytes(const CtSimtTma *t) { return ct_dtype_span(t->dtype, box_size(t)); }

uint32_t ct_simt_tma_ranks(const CtWarp *w, const CtSimtTma *t, int lane) {
  int32_t given = ct_simt_tma_of(w)->lanes[CT_TMA_MASK][lane];
  enum { NO_RANK = 31 };
  return t->is_send    ? 1u << ((uint32_t)given < NO_RANK ? given : NO_RANK)
         : t->has_mask ? (uint32_t)given
                       : 1u << w->worker->rank;
}

/* False: a part is outside its buffer, and the failure is recorded. */
static bool move_box(const CtIn *in, CtWarp *w, int lane, Box *b) {
  if (b->t->is_cancel) {
    memcpy(b->shared + b->at, b->response, sizeof b->response);
    return true;
  }
  each_row(b, move_row, b);
  bool is_write = (b->missed == b->t->global) == b->t->is_store;
  return b->missed == 0 ||
         ct_simt_fail_bounds(w, in, lane, b->missed, b->missed_at, is_write) != NULL;
}

static bool complete(const CtSimtCopy *copy) {
  return move_box(copy->in, copy->w, copy->lane, copy->box) &&
         ct_simt_mbar_complete_at(copy->w, copy->in, copy->lane, copy->rank, copy->buf, copy->slot,
                                  copy->bytes);
}

/* Loads a box into the same place of each block that gets it, and completes its bytes on that
   block's barrier. */
static bool load_boxes(const CtIn *in, CtWarp *w, const CtSimtTma *t, int lane, Box *b) {
  CtWorker *k = w->worker;
  int64_t bytes = box_size(t) * b->bytes;
  for (uint32_t ranks = ct_simt_tma_ranks(w, t, lane); ranks != 0; ranks &= ranks - 1) {
    int rank = ct_first_lane(ranks);
    if (rank >= k->job->program->n_cluster) {
      (void)ct_simt_fail_kind(w, in, lane, CT_FAIL_MBAR_RANK);
      k->fail.off = t->is_send ? ct_simt_tma_of(w)->lanes[CT_TMA_MASK][lane] : rank;
      return false;
    }
    b->shared = k->team[rank].shared;
    if (!ct_simt_copy_begin(&(CtSimtCopy){.in = in,
                                          .w = w,
                                          .lane = lane,
                                          .rank = t->is_of_pair ? rank & ~1 : rank,
                                          .buf = t->bar,
                                          .slot = ct_simt_tma_of(w)->lanes[CT_TMA_BAR][lane],
                                          .bytes = bytes,
                                          .box = b,
                                          .box_bytes = sizeof *b,
                                          .complete = complete})) {
      return false;
    }
  }
  return true;
}

/* --- work of clusters that have not begun -------------------------------------------------------------- */

/* What a response holds is the engine's own choice: word 0 has x and y, word 1 has z and this bit if a cluster gave its
   work. */
static const uint64_t given = (uint64_t)1 << 63;

/* Takes the work when it is asked for, and answers when the copies complete. */
static void ask(CtSimtJob *job, uint64_t response[2]) {
  int64_t bid[3];
  response[0] = response[1] = 0;
  if (ct_simt_take_pending(job, bid)) {
    response[0] = (uint64_t)bid[0] | (uint64_t)bid[1] << 32;
    response[1] = (uint64_t)bid[2] | given;
  }
}

static bool try_cancel(const CtIn *in, CtWarp *w, const CtSimtTma *t, int lane, Box *b) {
  if (w->worker->has_seen_end) {
    (void)ct_simt_fail_kind(w, in, lane, CT_FAIL_CANCEL_AGAIN);
    return false;
  }
  ask(w->worker->job, b->response);
  return load_boxes(in, w, t, lane, b);
}

const CtIn *ct_simt_do_CLC_IS_CANCELED(const CtIn *in, CtWarp *w) {
  const uint64_t *word = CT_AT(uint64_t, w, in->b);
  uint32_t is = 0;
  for (int i = 0; i < CT_LANES; i++) {
    is |= (uint32_t)((word[i] & given) != 0) << i;
  }
  is &= w->mask;
  w->worker->has_seen_end = w->worker->has_seen_end || is != w->mask;
  *CT_AT(uint32_t, w, in->d) = is;
  return in + 1;
}

const CtIn *ct_simt_do_CLC_FIRST_CTAID(const CtIn *in, CtWarp *w) {
  const uint64_t *low = CT_AT(uint64_t, w, in->a), *high = CT_AT(uint64_t, w, in->b);
  int32_t *d = CT_AT(int32_t, w, in->d);
  for (uint32_t rest = w->mask; rest != 0; rest &= rest - 1) {
    int i = ct_first_lane(rest);
    if ((high[i] & given) == 0) {
      return ct_simt_fail_kind(w, in, i, CT_FAIL_CANCEL_PLACE);
    }
    d[i] = (int32_t)(in->imm == 2 ? high[i] : low[i] >> 32 * in->imm);
  }
  return in + 1;
}

const CtIn *ct_simt_do_TMA(const CtIn *in, CtWarp *w) {
  CtWorker *k = w->worker;
  const CtSimtTma *t = &k->job->program->tmas[in->imm];
  int64_t n = box_size(t);
  bool changed = false;
  for (uint32_t rest = w->mask; rest != 0; rest &= rest - 1) {
    int lane = ct_first_lane(rest);
    int64_t off = ct_simt_tma_of(w)->lanes[CT_TMA_BOX_AT][lane];
    Box b;
    if (off < 0 || off + n > w->mem[t->shared].n) {
      return ct_simt_fail_bounds(w, in, lane, t->shared, off < 0 ? off : off + n - 1, !t->is_store);
    }
    open_box(w, t, lane, &b);
    if (t->is_cancel) {
      if (!try_cancel(in, w, t, lane, &b)) {
        return NULL;
      }
      continue;
    }
    if (b.crd[0] * b.bytes % CT_TMA_UNIT != 0) {
      (void)ct_simt_fail_kind(w, in, lane, CT_FAIL_TMA_START);
      k->fail.off = b.crd[0];
      k->fail.buf = t->global;
      return NULL;
    }
    if (t->is_store ? !move_box(in, w, lane, &b) : !load_boxes(in, w, t, lane, &b)) {
      return NULL;
    }
    changed = changed || b.changed;
  }
  if (changed) {
    ct_simt_note_change(k->job);
  }
  return in + 1;
}

const CtIn *ct_simt_do_TMA_ORDER(const CtIn *in, CtWarp *w) {
  if (w->mask != 0) {
    ct_simt_note_sync(&(CtSyncNote){.kind = (CtSyncKind)(in->imm & 0xff),
                                    .in = in,
                                    .w = w,
                                    .lane = ct_first_lane(w->mask),
                                    .agent = CT_AGENT_BULK,
                                    .is_done = (in->imm >> 8 & 1) != 0,
                                    .n = in->imm >> 9});
  }
  return in + 1;
}
