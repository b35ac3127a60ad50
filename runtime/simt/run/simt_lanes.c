/* simt_lanes.c: copies and fills whose lanes are not all active, or whose elements are left out
   by guards, chosen by copy_if, or swizzled. They go one element at a time for all lanes.
   Everything else, and every failure, is left to simt_slow.c, which begins again. */
#include "simt_run.h"

#include <string.h>

#include "simt_scalar.h"

enum { MAX_GUARDS = 8 };

/* Offsets of the elements of an operand: base[lane] + off[e], wrapped around and swizzled. */
typedef struct Offsets {
  int64_t base[CT_LANES];
  const int64_t *off;
  bool is_i32;
  CtSwizzle swizzle;
} Offsets;

typedef struct Operand {
  const CtMem *mem;
  Offsets at;
  uint32_t n_guards;
  Offsets guard[MAX_GUARDS];
  int64_t bound[MAX_GUARDS][CT_LANES];
} Operand;

/* --- operands ----------------------------------------------------------------------------------------- */

static const CtTileMode *mode_of(const CtWarp *w, const CtTileArg *arg, int i) {
  return &w->worker->job->program->modes[arg->mode[i]];
}

/* The offsets of a mode, or NULL where lanes differ. */
static const CtTable *table_of(const CtWarp *w, const CtTileMode *m) {
  return m->fixed != NULL ? m->fixed : m->table != 0 ? CT_CAT(CtTable, w, m->table) : NULL;
}

static void get_lanes(const CtWarp *w, CtRef r, int64_t out[CT_LANES]) {
  for (int i = 0; i < CT_LANES; i++) {
    switch (r.kind) {
      case CT_REF_STATIC: out[i] = r.v; break;
      case CT_REF_SCALAR: out[i] = CT_CAT(CtScalar, w, r.v)->i; break;
      case CT_REF_LANES_i32: out[i] = CT_CAT(int32_t, w, r.v)[i]; break;
      case CT_REF_LANES_i64: out[i] = CT_CAT(int64_t, w, r.v)[i]; break;
    }
  }
}

static bool open_offsets(const CtWarp *w, const CtTileArg *arg, Offsets *o) {
  const CtTable *rows = table_of(w, mode_of(w, arg, 0)), *cols = table_of(w, mode_of(w, arg, 1));
  if (rows == NULL || cols == NULL || mode_of(w, arg, 1)->n != 1) {
    return false;
  }
  int64_t add = cols->off[0];
  if (arg->lanes.kind != CT_REF_STATIC) {
    get_lanes(w, arg->lanes, o->base);
  } else {
    add = ADD_i64(add, ADD_i64(CT_CAT(CtScalar, w, arg->base)->i, arg->imm));
    if (arg->pattern == 0) {
      memset(o->base, 0, sizeof o->base);
    } else {
      memcpy(o->base, CT_CAT(CtPattern, w, arg->pattern)->pos, sizeof o->base);
    }
  }
  for (int i = 0; i < CT_LANES; i++) {
    o->base[i] = ADD_i64(o->base[i], add);
  }
  o->off = rows->off;
  o->is_i32 = arg->is_i32;
  o->swizzle = arg->swizzle;
  return true;
}

static bool open_operand(const CtWarp *w, const CtTileArg *arg, Operand *o) {
  if (arg->n_guards > MAX_GUARDS || !open_offsets(w, arg, &o->at)) {
    return false;
  }
  o->mem = &w->mem[arg->buf];
  o->n_guards = arg->n_guards;
  for (uint32_t i = 0; i < arg->n_guards; i++) {
    const CtTileGuard *g = &w->worker->job->program->guards[arg->guard + i];
    if (!open_offsets(w, &g->at, &o->guard[i])) {
      return false;
    }
    get_lanes(w, g->bound, o->bound[i]);
  }
  return true;
}

/* --- one element of all lanes ---------------------------------------------------------------------------- */

static uint32_t bits_of(const uint8_t is[CT_LANES]) {
  uint32_t bits = 0;
  for (int i = 0; i < CT_LANES; i++) {
    bits |= (uint32_t)is[i] << i;
  }
  return bits;
}

/* The lanes of the mask whose element is inside all guards. */
static uint32_t inside(const Operand *o, int64_t e, uint32_t mask) {
  for (uint32_t n = 0; n < o->n_guards; n++) {
    int64_t add = o->guard[n].off[e];
    uint8_t is[CT_LANES];
    for (int i = 0; i < CT_LANES; i++) {
      is[i] = ADD_i64(o->guard[n].base[i], add) < o->bound[n][i];
    }
    mask &= bits_of(is);
  }
  return mask;
}

static void swizzle(CtSwizzle sw, int64_t off[CT_LANES]) {
  uint64_t moved = ct_swizzle_y(sw);
  int right = sw.shift > 0 ? sw.shift : 0, left = sw.shift > 0 ? 0 : -sw.shift;
  for (int i = 0; i < CT_LANES; i++) {
    uint64_t x = (uint64_t)off[i];
    off[i] = (int64_t)(x ^ (x & moved) >> right << left);
  }
}

/* Where the element lies in each lane; false where a lane of the mask is outside the buffer. */
static bool find(const Operand *o, int64_t e, uint32_t mask, int64_t off[CT_LANES]) {
  const Offsets *at = &o->at;
  int64_t add = at->off[e];
  int64_t n = o->mem->n, outside = 0;
  for (int i = 0; i < CT_LANES; i++) {
    off[i] = ADD_i64(at->base[i], add);
  }
  for (int i = 0; at->is_i32 && i < CT_LANES; i++) {
    off[i] = CAST_i32_i64(off[i]);
  }
  if (at->swizzle.bits != 0) {
    swizzle(at->swizzle, off);
  }
  for (int i = 0; i < CT_LANES; i++) {
    outside |= off[i] | SUB_i64(n - 1, off[i]); /* negative: below 0, or n or more */
  }
  for (uint32_t rest = outside < 0 ? mask : 0; rest != 0; rest &= rest - 1) {
    if ((uint64_t)off[ct_first_lane(rest)] >= (uint64_t)n) {
      return false;
    }
  }
  return true;
}

static inline char *address(const Operand *o, const int64_t off[CT_LANES], int lane) {
  return o->mem->ptr + off[lane] * (int64_t)o->mem->elem_bytes + lane * (int64_t)o->mem->lane_bytes;
}

/* Do all lanes' elements lie side by side, or are they lanes of one register? Then the first one's address
   is that of all. */
static bool is_run(const Operand *o, const int64_t off[CT_LANES], uint32_t mask) {
  int64_t step = o->mem->lane_bytes == 0 ? 1 : 0, wrong = 0;
  for (int i = 0; i < CT_LANES; i++) {
    wrong |= SUB_i64(off[i], off[0]) ^ i * step;
  }
  return mask == CT_ALL_LANES && wrong == 0;
}

/* Elements of `bytes` bytes; 0 for the lanes that the mask leaves out. */
static inline void gather(const Operand *o, const int64_t off[CT_LANES], uint32_t mask,
                          size_t bytes, char *out) {
  memset(out, 0, bytes * CT_LANES);
  for (uint32_t rest = mask; rest != 0; rest &= rest - 1) {
    int lane = ct_first_lane(rest);
    memcpy(out + (size_t)lane * bytes, address(o, off, lane), bytes);
  }
}

static inline void scatter(const Operand *o, const int64_t off[CT_LANES], uint32_t mask,
                           size_t bytes, const char *values) {
  for (uint32_t rest = mask; rest != 0; rest &= rest - 1) {
    int lane = ct_first_lane(rest);
    memcpy(address(o, off, lane), values + (size_t)lane * bytes, bytes);
  }
}

static void gather_any(const Operand *o, const int64_t off[CT_LANES], uint32_t mask, size_t bytes,
                       char *out) {
  if (is_run(o, off, mask)) {
    memcpy(out, address(o, off, 0), bytes * CT_LANES);
    return;
  }
  switch (bytes) {
    case 1: gather(o, off, mask, 1, out); break;
    case 2: gather(o, off, mask, 2, out); break;
    case 4: gather(o, off, mask, 4, out); break;
    default: gather(o, off, mask, 8, out); break;
  }
}

static void scatter_any(const Operand *o, const int64_t off[CT_LANES], uint32_t mask, size_t bytes,
                        const char *values) {
  if (is_run(o, off, mask)) {
    memcpy(address(o, off, 0), values, bytes * CT_LANES);
    return;
  }
  switch (bytes) {
    case 1: scatter(o, off, mask, 1, values); break;
    case 2: scatter(o, off, mask, 2, values); break;
    case 4: scatter(o, off, mask, 4, values); break;
    default: scatter(o, off, mask, 8, values); break;
  }
}

/* Takes the lanes out of *mask that copy_if does not choose; false at an element outside. */
static bool choose(const Operand *pred, int64_t e, uint32_t *mask) {
  int64_t off[CT_LANES];
  char is[CT_LANES];
  uint32_t here = inside(pred, e, *mask), chosen = 0;
  if (!find(pred, e, here, off)) {
    return false;
  }
  gather(pred, off, here, 1, is);
  for (int i = 0; i < CT_LANES; i++) {
    chosen |= (uint32_t)(is[i] != 0) << i;
  }
  *mask = chosen;
  return true;
}

static bool copy(const CtTileOp *t, CtWarp *w) {
  size_t bytes = ct_dtype_bytes(t->dst.dtype);
  Operand d, s, pred;
  bool has_pred = t->b.buf != 0;
  if (t->a.dtype != t->dst.dtype || !open_operand(w, &t->dst, &d) || !open_operand(w, &t->a, &s) ||
      (has_pred && !open_operand(w, &t->b, &pred))) {
    return false;
  }
  int64_t n = mode_of(w, &t->dst, 0)->n;
  for (int64_t e = 0; e < n; e++) {
    int64_t from[CT_LANES], to[CT_LANES];
    char values[8 * CT_LANES];
    uint32_t mask = w->mask;
    if (has_pred && !choose(&pred, e, &mask)) {
      return false;
    }
    uint32_t read = inside(&s, e, mask);
    uint32_t written = inside(&d, e, t->zero_fill ? w->mask : mask);
    if (!find(&s, e, read, from) || !find(&d, e, written, to)) {
      return false;
    }
    gather_any(&s, from, read, bytes, values);
    scatter_any(&d, to, written, bytes, values);
  }
  return true;
}

/* Elements of `bytes` bytes from lanes of 4 or 8. */
static void pack(const char *lanes, size_t bytes, char *values) {
  const uint32_t *bits = (const uint32_t *)(const void *)lanes;
  if (bytes >= 4) {
    memcpy(values, lanes, bytes * CT_LANES);
    return;
  }
  for (size_t i = 0; i < CT_LANES; i++) {
    uint8_t b1 = (uint8_t)bits[i];
    uint16_t b2 = (uint16_t)bits[i];
    memcpy(values + i * bytes, bytes == 1 ? (const void *)&b1 : (const void *)&b2, bytes);
  }
}

static bool fill(const CtIn *in, const CtTileOp *t, CtWarp *w) {
  size_t bytes = ct_dtype_bytes(t->dst.dtype);
  char values[8 * CT_LANES];
  Operand d;
  if (t->dtype == CT_bool || t->dst.dtype != t->dtype || !open_operand(w, &t->dst, &d)) {
    return false;
  }
  pack(CT_CAT(char, w, in->d), bytes, values);
  int64_t n = mode_of(w, &t->dst, 0)->n;
  for (int64_t e = 0; e < n; e++) {
    int64_t to[CT_LANES];
    uint32_t written = inside(&d, e, w->mask);
    if (!find(&d, e, written, to)) {
      return false;
    }
    scatter_any(&d, to, written, bytes, values);
  }
  return true;
}

bool ct_simt_tile_lanes(const CtIn *in, CtWarp *w) {
  const CtTileOp *t = &w->worker->job->program->tiles[in->imm];
  switch (t->op) {
    case CT_OP_COPY: return copy(t, w);
    case CT_OP_FILL: return fill(in, t, w);
    default: return false;
  }
}
