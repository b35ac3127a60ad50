/* simt_masked.c: the handler of TILE, any operation on whole tensors: an element at a time for all lanes
   that have it, every access checked. The handlers of simt_tile.c come here where lanes are not all active,
   diverge, or may be outside; guards, copy_if and swizzles are done here too. Where an operand's offsets are
   tables the lanes are a vector, else each is computed on its own. */
#include "simt_run.h"

#include <math.h>
#include <string.h>

#include "runtime/base/convert.h"
#include "simt_scalar.h"
#include "runtime/base/bits.h"

/* So that the offsets of the lanes, which no pointer reaches, are vectors. */
#define ALWAYS_INLINE static inline __attribute__((always_inline))

enum { MAX_GUARDS = 8, MAX_BYTES = 8 * CT_LANES };

/* Offsets of the elements of an operand: base[lane] + rows[i] + cols[j], wrapped around and swizzled. */
typedef struct Offsets {
  int64_t base[CT_LANES];
  const int64_t *rows, *cols;
  bool is_i32;
  CtSwizzle swizzle;
} Offsets;

/* has_tables: of all that follows; else ct_simt_arg_offset and ct_simt_arg_is_inside say it. */
typedef struct Operand {
  const CtTileArg *arg;
  const CtMem *mem;
  size_t bytes; /* of an element */
  bool has_tables;
  Offsets at;
  uint32_t n_guards;
  Offsets guard[MAX_GUARDS];
  int64_t bound[MAX_GUARDS][CT_LANES];
} Operand;

/* An operation by some lanes of the warp. */
typedef struct Masked {
  const CtIn *in;
  CtWarp *w;
  const CtTileOp *t;
  uint32_t lanes;
  bool tells; /* a failure is recorded: there is one lane only, whose first failure it is */
  bool stops; /* it ended because the warp must stop: nothing failed */
  int64_t n_done;
  Operand d, a, b;
} Masked;

/* --- operands ----------------------------------------------------------------------------------------- */

static void get_lanes(const CtWarp *w, CtRef r, int64_t out[CT_LANES]) {
  bool is_one = r.kind == CT_REF_STATIC || r.kind == CT_REF_SCALAR;
  int64_t v = is_one ? ct_ref_value(w, r, 0) : 0;
  for (int lane = 0; lane < CT_LANES; lane++) {
    out[lane] = is_one ? v : ct_ref_value(w, r, lane);
  }
}

static bool open_offsets(const CtWarp *w, const CtTileArg *arg, Offsets *o) {
  const CtTable *rows = ct_simt_table(w, arg->mode[0]), *cols = ct_simt_table(w, arg->mode[1]);
  if (rows == NULL || cols == NULL) {
    return false;
  }
  memset(o->base, 0, sizeof o->base);
  if (arg->lanes.kind != CT_REF_STATIC) {
    get_lanes(w, arg->lanes, o->base);
  } else if (arg->pattern != 0) {
    memcpy(o->base, CT_CAT(CtPattern, w, arg->pattern)->pos, sizeof o->base);
  }
  int64_t add =
      arg->lanes.kind != CT_REF_STATIC ? 0 : ADD_i64(CT_CAT(CtScalar, w, arg->base)->i, arg->imm);
  for (int i = 0; i < CT_LANES; i++) {
    o->base[i] = ADD_i64(o->base[i], add);
  }
  o->rows = rows->off;
  o->cols = cols->off;
  o->is_i32 = arg->is_i32;
  o->swizzle = arg->swizzle;
  return true;
}

static void open_operand(const CtWarp *w, const CtTileArg *arg, Operand *o) {
  if (arg->buf == 0) {
    return; /* the operation has no such operand */
  }
  o->arg = arg;
  o->mem = &w->mem[arg->buf];
  o->bytes = ct_value_bytes(arg->dtype);
  o->n_guards = arg->n_guards;
  o->has_tables = arg->n_guards <= MAX_GUARDS && open_offsets(w, arg, &o->at);
  for (uint32_t i = 0; i < arg->n_guards && o->has_tables; i++) {
    const CtTileGuard *g = &w->worker->job->program->guards[arg->guard + i];
    o->has_tables = open_offsets(w, &g->at, &o->guard[i]);
    get_lanes(w, g->bound, o->bound[i]);
  }
}

/* The elements of a mode in each lane; false after a failure. *most: the largest number. */
static bool count(Masked *s, const CtTileArg *arg, int mode, int64_t n[CT_LANES], int64_t *most) {
  *most = 0;
  for (uint32_t rest = s->lanes; rest != 0; rest &= rest - 1) {
    int lane = ct_first_lane(rest);
    if (!ct_simt_mode_size(s->w, arg->mode[mode], lane, &n[lane])) {
      if (s->tells) {
        ct_simt_fail_kind(s->w, s->in, lane, CT_FAIL_EXTENT);
      }
      return false;
    }
    *most = ct_max(*most, n[lane]);
  }
  return true;
}

/* The lanes that have an element e. */
static uint32_t having(const Masked *s, const int64_t n[CT_LANES], int64_t e) {
  uint32_t lanes = 0;
  for (uint32_t rest = s->lanes; rest != 0; rest &= rest - 1) {
    lanes |= e < n[ct_first_lane(rest)] ? rest & -rest : 0;
  }
  return lanes;
}

/* After each element: may the operation go on? */
static inline bool goes_on(Masked *s) {
  s->stops = ct_simt_stops_at(s->w, ++s->n_done);
  return !s->stops;
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
ALWAYS_INLINE uint32_t inside(const Masked *s, const Operand *o, int64_t i, int64_t j,
                              uint32_t mask) {
  for (uint32_t n = 0; o->has_tables && n < o->n_guards; n++) {
    int64_t add = ADD_i64(o->guard[n].rows[i], o->guard[n].cols[j]);
    uint8_t is[CT_LANES];
    bool is_i32 = o->guard[n].is_i32;
    for (int lane = 0; lane < CT_LANES; lane++) {
      int64_t crd = ADD_i64(o->guard[n].base[lane], add);
      is[lane] = (is_i32 ? CAST_i32_i64(crd) : crd) < o->bound[n][lane];
    }
    mask &= bits_of(is);
  }
  for (uint32_t rest = o->has_tables || o->n_guards == 0 ? 0 : mask; rest != 0; rest &= rest - 1) {
    bool is = ct_simt_arg_is_inside(s->w, o->arg, ct_first_lane(rest), i, j);
    mask &= is ? UINT32_MAX : ~(rest & -rest);
  }
  return mask;
}

ALWAYS_INLINE void swizzle(CtSwizzle sw, int64_t *restrict off) {
  uint64_t moved = ct_swizzle_y(sw);
  int right = sw.shift > 0 ? sw.shift : 0, left = sw.shift > 0 ? 0 : -sw.shift;
  for (int i = 0; i < CT_LANES; i++) {
    uint64_t x = (uint64_t)off[i];
    off[i] = (int64_t)(x ^ (x & moved) >> right << left);
  }
}

ALWAYS_INLINE void get_offsets(const Masked *s, const Operand *o, int64_t i, int64_t j,
                               uint32_t mask, int64_t *restrict off) {
  const Offsets *at = &o->at;
  if (!o->has_tables) {
    memset(off, 0, CT_LANES * sizeof *off);
    for (; mask != 0; mask &= mask - 1) {
      int lane = ct_first_lane(mask);
      off[lane] = ct_simt_arg_offset(s->w, o->arg, lane, i, j);
    }
    return;
  }
  int64_t add = ADD_i64(at->rows[i], at->cols[j]);
  for (int lane = 0; lane < CT_LANES; lane++) {
    off[lane] = ADD_i64(at->base[lane], add);
  }
  for (int lane = 0; at->is_i32 && lane < CT_LANES; lane++) {
    off[lane] = CAST_i32_i64(off[lane]);
  }
  if (at->swizzle.bits != 0) {
    swizzle(at->swizzle, off);
  }
}

/* Where element (i, j) lies in each lane; false where a lane of the mask is outside the buffer. */
ALWAYS_INLINE bool find(Masked *s, const Operand *o, int64_t i, int64_t j, uint32_t mask,
                        int64_t *restrict off) {
  int64_t n = o->mem->n, outside = 0;
  get_offsets(s, o, i, j, mask, off);
  for (int lane = 0; lane < CT_LANES; lane++) {
    outside |= off[lane] | SUB_i64(n - 1, off[lane]); /* negative: below 0, or n or more */
  }
  for (uint32_t rest = outside < 0 ? mask : 0; rest != 0; rest &= rest - 1) {
    int lane = ct_first_lane(rest);
    if ((uint64_t)off[lane] >= (uint64_t)n) {
      if (s->tells) {
        ct_simt_fail_bounds(s->w, s->in, lane, o->arg->buf, off[lane], o == &s->d);
      }
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

/* The elements (i, j) of the lanes of the mask; 0 where a guard leaves one out. */
ALWAYS_INLINE bool read(Masked *s, const Operand *o, int64_t i, int64_t j, uint32_t mask,
                        char *values) {
  int64_t off[CT_LANES];
  uint32_t here = inside(s, o, i, j, mask);
  if (!find(s, o, i, j, here, off)) {
    return false;
  }
  gather_any(o, off, here, o->bytes, values);
  return true;
}

/* Where the destination's element (i, j) is; *mask: the lanes that a guard lets write. */
ALWAYS_INLINE bool aim(Masked *s, int64_t i, int64_t j, uint32_t *mask, int64_t off[CT_LANES]) {
  *mask = inside(s, &s->d, i, j, *mask);
  return find(s, &s->d, i, j, *mask, off);
}

/* --- numbers -------------------------------------------------------------------------------------------- */

static uint64_t read_bits(size_t bytes, const char *p) {
  uint8_t b1;
  uint16_t b2;
  uint32_t b4;
  uint64_t b8;
  switch (bytes) {
    case 1: memcpy(&b1, p, sizeof b1); return b1;
    case 2: memcpy(&b2, p, sizeof b2); return b2;
    case 4: memcpy(&b4, p, sizeof b4); return b4;
    default: memcpy(&b8, p, sizeof b8); return b8;
  }
}

static void write_bits(size_t bytes, char *p, uint64_t bits) {
  uint8_t b1 = (uint8_t)bits;
  uint16_t b2 = (uint16_t)bits;
  uint32_t b4 = (uint32_t)bits;
  switch (bytes) {
    case 1: memcpy(p, &b1, sizeof b1); break;
    case 2: memcpy(p, &b2, sizeof b2); break;
    case 4: memcpy(p, &b4, sizeof b4); break;
    default: memcpy(p, &bits, sizeof bits); break;
  }
}

/* An element of type `from`, widened to t, in which the operation computes. */
static CtScalar read_as(CtDtype t, CtDtype from, const char *p) {
  uint64_t bits = ct_convert(t, from, read_bits(ct_value_bytes(from), p));
  uint32_t low = (uint32_t)bits;
  CtScalar v = {.i = t == CT_bool ? bits != 0 : (int64_t)bits};
  if (t == CT_f64) {
    v.f64 = ct_f64_of_bits(bits);
  } else if (t == CT_f32) {
    v.f32 = ct_f32_of_bits(low);
  } else if (ct_dtypes[t].bits == 32) {
    v.i = (int32_t)low;
  }
  return v;
}

static void write_as(CtDtype t, char *p, CtScalar v) {
  uint64_t bits = t == CT_f64   ? ct_bits_of_f64(v.f64)
                  : t == CT_f32 ? ct_bits_of_f32(v.f32)
                                : (uint64_t)v.i;
  write_bits(ct_value_bytes(t), p, bits);
}

/* a * b + c in a type that computes: rounded once (fused), or the product first. */
static CtScalar multiply_add(CtDtype t, bool fused, CtScalar a, CtScalar b, CtScalar c) {
  CtScalar r = {0};
  if (t == CT_f64) {
    r.f64 = fused ? FMA_f64(a.f64, b.f64, c.f64) : a.f64 * b.f64 + c.f64;
  } else if (t == CT_f32) {
    r.f32 = fused ? FMA_f32(a.f32, b.f32, c.f32) : a.f32 * b.f32 + c.f32;
  } else if (t == CT_bool) {
    r.i = (a.i & b.i) | c.i;
  } else {
    CT_ASSERT(ct_is_int(t) && !ct_is_narrow(t));
    r.i = ADD_i64(MUL_i64(a.i, b.i), c.i);
    r.i = ct_dtypes[t].bits == 32 ? CAST_i32_i64(r.i) : r.i;
  }
  return r;
}

static CtScalar multiply(CtDtype t, CtScalar a, CtScalar b) {
  CtScalar r = {0};
  if (t == CT_f64) {
    r.f64 = a.f64 * b.f64;
  } else if (t == CT_f32) {
    r.f32 = a.f32 * b.f32;
  } else {
    return multiply_add(t, false, a, b, r);
  }
  return r;
}

/* A scalar operand (alpha, beta, a fill's value) as elements of the destination's type. */
static void operand_values(const Masked *s, uint32_t at, char *values) {
  size_t bytes = ct_value_bytes(s->t->dtype), step = bytes == 8 ? 8 : 4;
  for (int lane = 0; lane < CT_LANES; lane++) {
    uint64_t bits = s->t->dtype == CT_bool
                        ? *CT_CAT(uint32_t, s->w, at) >> lane & 1
                        : read_bits(step, CT_CAT(char, s->w, at) + (size_t)lane * step);
    write_bits(bytes, values + ct_dense_bytes(s->t->dtype, (size_t)lane), bits);
  }
}

/* --- operations ----------------------------------------------------------------------------------------- */

/* Takes the lanes out of *mask that copy_if does not choose. */
static bool choose(Masked *s, int64_t e, uint32_t *mask) {
  char is[MAX_BYTES];
  uint32_t chosen = 0;
  if (!read(s, &s->b, e, 0, *mask, is)) {
    return false;
  }
  for (int i = 0; i < CT_LANES; i++) {
    chosen |= (uint32_t)(is[i] != 0) << i;
  }
  *mask &= chosen;
  return true;
}

static void convert(const Masked *s, const char *from, char *to) {
  CtDtype a = s->t->a.dtype, d = s->t->dst.dtype;
  if (a == d) {
    memcpy(to, from, s->d.bytes * CT_LANES);
    return;
  }
  for (size_t lane = 0; lane < CT_LANES; lane++) {
    uint64_t bits = read_bits(s->a.bytes, from + lane * s->a.bytes);
    write_bits(s->d.bytes, to + lane * s->d.bytes, ct_convert(d, a, bits));
  }
}

static bool copy_element(Masked *s, int64_t e, uint32_t lanes) {
  int64_t off[CT_LANES];
  char from[MAX_BYTES], to[MAX_BYTES];
  uint32_t copied = lanes;
  if (s->t->b.buf != 0 && !choose(s, e, &copied)) {
    return false;
  }
  uint32_t written = s->t->zero_fill ? lanes : copied;
  if (!read(s, &s->a, e, 0, copied, from) || !aim(s, e, 0, &written, off)) {
    return false;
  }
  convert(s, from, to);
  scatter_any(&s->d, off, written, s->d.bytes, to);
  return true;
}

static bool fill_element(Masked *s, int64_t e, uint32_t lanes) {
  int64_t off[CT_LANES];
  char values[MAX_BYTES];
  if (!aim(s, e, 0, &lanes, off)) {
    return false;
  }
  operand_values(s, s->in->d, values);
  scatter_any(&s->d, off, lanes, s->d.bytes, values);
  return true;
}

static bool axpby_element(Masked *s, int64_t e, uint32_t lanes) {
  CtDtype t = s->t->dtype;
  char alphas[MAX_BYTES], betas[MAX_BYTES], from[MAX_BYTES], to[MAX_BYTES];
  int64_t off[CT_LANES];
  if (!read(s, &s->a, e, 0, lanes, from) || !aim(s, e, 0, &lanes, off)) {
    return false;
  }
  operand_values(s, s->in->d, alphas);
  operand_values(s, s->in->a, betas);
  gather_any(&s->d, off, lanes, s->d.bytes, to);
  for (uint32_t rest = lanes; rest != 0; rest &= rest - 1) {
    size_t lane = (size_t)ct_first_lane(rest), at = lane * s->d.bytes;
    CtScalar alpha = read_as(t, t, alphas + at);
    CtScalar x = read_as(t, s->t->a.dtype, from + lane * s->a.bytes);
    CtScalar sum = multiply(t, alpha, x);
    if (s->t->reads_dst) {
      CtScalar rest_of = multiply(t, read_as(t, t, betas + at), read_as(t, t, to + at));
      sum = multiply_add(t, s->t->contract, alpha, x, rest_of);
    }
    write_as(t, to + at, sum);
  }
  scatter_any(&s->d, off, lanes, s->d.bytes, to);
  return true;
}

/* dst(m, n) = fma(a(m, k), b(n, k), dst(m, n)), given as the coordinates of each operand. */
static bool add_product(Masked *s, const int64_t a[2], const int64_t b[2], const int64_t d[2],
                        uint32_t lanes) {
  CtDtype t = s->t->dtype;
  char x[MAX_BYTES], y[MAX_BYTES], z[MAX_BYTES];
  int64_t off[CT_LANES];
  if (!read(s, &s->a, a[0], a[1], lanes, x) || !read(s, &s->b, b[0], b[1], lanes, y) ||
      !aim(s, d[0], d[1], &lanes, off)) {
    return false;
  }
  gather_any(&s->d, off, lanes, s->d.bytes, z);
  for (uint32_t rest = lanes; rest != 0; rest &= rest - 1) {
    size_t lane = (size_t)ct_first_lane(rest);
    CtScalar u = read_as(t, s->t->a.dtype, x + lane * s->a.bytes);
    CtScalar v = read_as(t, s->t->b.dtype, y + lane * s->b.bytes);
    char *to = z + lane * s->d.bytes;
    write_as(t, to, multiply_add(t, true, u, v, read_as(t, t, to)));
  }
  scatter_any(&s->d, off, lanes, s->d.bytes, z);
  return true;
}

static bool product_element(Masked *s, int64_t e, uint32_t lanes) {
  const int64_t at[2] = {e, 0};
  return add_product(s, at, at, at, lanes);
}

static bool gemm(Masked *s) {
  int64_t m[CT_LANES], n[CT_LANES], k[CT_LANES], most_m, most_n, most_k;
  if (!count(s, &s->t->a, 0, m, &most_m) || !count(s, &s->t->b, 0, n, &most_n) ||
      !count(s, &s->t->a, 1, k, &most_k)) {
    return false;
  }
  if (most_m == 0 || most_n == 0) {
    return true; /* nor turns without elements, in which nobody would look whether to stop */
  }
  for (int64_t l = 0; l < most_k; l++) {
    for (int64_t j = 0; j < most_n; j++) {
      for (int64_t i = 0; i < most_m; i++) {
        uint32_t lanes = having(s, m, i) & having(s, n, j) & having(s, k, l);
        if (!add_product(s, (int64_t[]){i, l}, (int64_t[]){j, l}, (int64_t[]){i, j}, lanes) ||
            !goes_on(s)) {
          return false;
        }
      }
    }
  }
  return true;
}

/* All elements of the destination, in order. */
static bool each_element(Masked *s, bool (*fn)(Masked *s, int64_t e, uint32_t lanes)) {
  int64_t n[CT_LANES], most;
  if (!count(s, &s->t->dst, 0, n, &most)) {
    return false;
  }
  bool is_same = s->w->worker->job->program->modes[s->t->dst.mode[0]].n >= 0;
  for (int64_t e = 0; e < most; e++) {
    if (!fn(s, e, is_same ? s->lanes : having(s, n, e)) || !goes_on(s)) {
      return false;
    }
  }
  return true;
}

static bool run(Masked *s) {
  if (s->t->op == CT_OP_GEMM) {
    return s->t->elementwise ? each_element(s, product_element) : gemm(s);
  }
  CT_ASSERT(s->t->op == CT_OP_COPY || s->t->op == CT_OP_FILL || s->t->op == CT_OP_AXPBY);
  return each_element(s, s->t->op == CT_OP_COPY   ? copy_element
                         : s->t->op == CT_OP_FILL ? fill_element
                                                  : axpby_element);
}

/* What fails for all lanes together fails for one of them: that is found by taking them in turn, so that the
   failure told is the first of the lowest lane. */
const CtIn *ct_simt_do_TILE(const CtIn *in, CtWarp *w) {
  const CtTileOp *t = &w->worker->job->program->tiles[in->imm];
  Masked s; /* large, so what is not used is not cleared */
  s.in = in;
  s.w = w;
  s.t = t;
  s.lanes = w->mask;
  s.tells = s.stops = false;
  s.n_done = 0;
  open_operand(w, &t->dst, &s.d);
  open_operand(w, &t->a, &s.a);
  open_operand(w, &t->b, &s.b);
  if (run(&s)) {
    return in + 1;
  }
  s.tells = true;
  for (uint32_t rest = w->mask; rest != 0 && !s.stops; rest &= rest - 1) {
    s.lanes = rest & -rest;
    if (!run(&s) && !s.stops) {
      return NULL;
    }
  }
  return s.stops ? ct_simt_stop(w, in) : in + 1;
}
