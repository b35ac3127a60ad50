/* simt_slow.c: the parts of the CPU engine's handlers that need no speed: classification of address
   patterns and tables of offsets (once per launch and warp), and the general path of tile operations:
   lane by lane, element by element, every access checked. */
#include "simt_run.h"

#include <math.h>
#include <string.h>

#include "runtime/base/convert.h"
#include "simt_scalar.h"

/* --- patterns and tables -------------------------------------------------------------------------- */

static CtChunkKind classify(const int64_t *pos, int chunk) {
  bool contiguous = true, same = true;
  for (int i = 0; i < CT_LANES; i++) {
    int64_t first = pos[i - i % chunk];
    contiguous = contiguous && SUB_i64(pos[i], first) == i % chunk;
    same = same && pos[i] == first;
  }
  return contiguous ? CT_CONTIGUOUS : same ? CT_SAME : CT_GATHER;
}

void ct_simt_pattern_i64(const int64_t *lanes, CtPattern *p) {
  memcpy(p->pos, lanes, sizeof p->pos);
  p->lo = p->hi = lanes[0];
  for (int i = 1; i < CT_LANES; i++) {
    p->lo = ct_min(p->lo, lanes[i]);
    p->hi = ct_max(p->hi, lanes[i]);
  }
  int64_t distance;
  if (ct_sub_overflow(p->hi, p->lo, &distance)) {
    p->lo = INT64_MAX; /* no base puts both ends inside a buffer */
    p->hi = INT64_MIN;
  }
  p->kind[0] = CT_CONTIGUOUS;
  for (int level = 1; level < CT_LEVELS; level++) {
    p->kind[level] = (uint8_t)classify(p->pos, 1 << level);
  }
}

void ct_simt_pattern_i32(const int32_t *lanes, CtPattern *p) {
  int64_t wide[CT_LANES];
  for (int i = 0; i < CT_LANES; i++) {
    wide[i] = lanes[i];
  }
  ct_simt_pattern_i64(wide, p);
}

/* --- tile operations, the general path -------------------------------------------------------------- */

/* Where element (0, 0) of a lane is. */
int64_t ct_simt_arg_base(const CtWarp *w, const CtTileArg *arg, int lane) {
  if (arg->lanes.kind != CT_REF_STATIC) {
    return ct_ref_value(w, arg->lanes, lane);
  }
  int64_t base = ADD_i64(CT_CAT(CtScalar, w, arg->base)->i, arg->imm);
  return arg->pattern == 0 ? base : ADD_i64(base, CT_CAT(CtPattern, w, arg->pattern)->pos[lane]);
}

static int64_t mode_offset(const CtWarp *w, uint32_t mode, int lane, int64_t e) {
  const CtTileMode *m = &w->worker->job->program->modes[mode];
  if (m->fixed != NULL) {
    return m->fixed->off[e];
  }
  return m->table != 0 ? CT_CAT(CtTable, w, m->table)->off[e] : ct_mode_offset(w, m, lane, e);
}

int64_t ct_simt_arg_offset(const CtWarp *w, const CtTileArg *arg, int lane, int64_t i, int64_t j) {
  int64_t off = ADD_i64(ct_simt_arg_base(w, arg, lane), mode_offset(w, arg->mode[0], lane, i));
  off = ADD_i64(off, mode_offset(w, arg->mode[1], lane, j));
  return ct_swizzle_at(arg->swizzle, arg->is_i32 ? CAST_i32_i64(off) : off);
}

bool ct_simt_mode_size(const CtWarp *w, uint32_t mode, int lane, int64_t *n) {
  const CtTileMode *m = &w->worker->job->program->modes[mode];
  *n = m->n;
  if (m->n >= 0) {
    return true;
  }
  *n = 1;
  for (uint32_t i = 0; i < m->n_leaves; i++) {
    int64_t extent = ct_ref_value(w, m->leaves[i].extent, lane);
    if (extent < 0 || ct_mul_overflow(*n, extent, n)) {
      return false;
    }
  }
  return true;
}

static const CtTileGuard *guard_of(const CtWarp *w, const CtTileArg *arg, uint32_t i) {
  return &w->worker->job->program->guards[arg->guard + i];
}

bool ct_simt_arg_is_inside(const CtWarp *w, const CtTileArg *arg, int lane, int64_t i, int64_t j) {
  for (uint32_t n = 0; n < arg->n_guards; n++) {
    const CtTileGuard *g = guard_of(w, arg, n);
    int64_t crd =
        ADD_i64(ct_simt_arg_base(w, &g->at, lane), mode_offset(w, g->at.mode[0], lane, i));
    crd = ADD_i64(crd, mode_offset(w, g->at.mode[1], lane, j));
    if (crd >= ct_ref_value(w, g->bound, lane)) {
      return false;
    }
  }
  return true;
}

typedef struct Slow {
  const CtIn *in;
  CtWarp *w;
  const CtTileOp *t;
  int lane;
  bool failed;
  char outside[16]; /* an element that a guard keeps out: reads as 0, takes what is written */
} Slow;

/* Elements of a mode in this lane. */
static int64_t mode_size(Slow *s, const CtTileArg *arg, int mode) {
  int64_t n = 0;
  if (!ct_simt_mode_size(s->w, arg->mode[mode], s->lane, &n)) {
    ct_simt_fail_kind(s->w, s->in, s->lane, CT_FAIL_EXTENT);
    s->failed = true;
    return 0;
  }
  return n;
}

/* The address of element (i, j), or NULL after reporting that it is outside. */
static char *element(Slow *s, const CtTileArg *arg, int64_t i, int64_t j, bool is_write) {
  const CtMem *mem = &s->w->mem[arg->buf];
  if (arg->n_guards > 0 && !ct_simt_arg_is_inside(s->w, arg, s->lane, i, j)) {
    memset(s->outside, 0, sizeof s->outside);
    return s->outside;
  }
  int64_t off = ct_simt_arg_offset(s->w, arg, s->lane, i, j);
  if ((uint64_t)off >= (uint64_t)mem->n) {
    ct_simt_fail_bounds(s->w, s->in, s->lane, arg->buf, off, is_write);
    s->failed = true;
    return NULL;
  }
  return mem->ptr + off * (int64_t)mem->elem_bytes + (int64_t)s->lane * (int64_t)mem->lane_bytes;
}

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
  uint64_t bits = ct_convert(t, from, read_bits(ct_dtype_bytes(from), p));
  uint32_t low = (uint32_t)bits;
  CtScalar v = {0};
  switch (t) {
    case CT_f64: memcpy(&v.f64, &bits, sizeof v.f64); break;
    case CT_f32: memcpy(&v.f32, &low, sizeof v.f32); break;
    case CT_i64:
    case CT_u64: v.i = (int64_t)bits; break;
    case CT_i32:
    case CT_u32: v.i = (int32_t)low; break;
    default: v.i = bits != 0; break;
  }
  return v;
}

static void write_as(CtDtype t, char *p, CtScalar v) {
  switch (t) {
    case CT_f64: memcpy(p, &v.f64, sizeof v.f64); break;
    case CT_f32: memcpy(p, &v.f32, sizeof v.f32); break;
    default: write_bits(ct_dtype_bytes(t), p, (uint64_t)v.i); break;
  }
}

/* a * b + c in a type: rounded once (fused), or the product first. */
static CtScalar multiply_add(CtDtype t, bool fused, CtScalar a, CtScalar b, CtScalar c) {
  CtScalar r = {0};
  switch (t) {
    case CT_f64: r.f64 = fused ? FMA_f64(a.f64, b.f64, c.f64) : a.f64 * b.f64 + c.f64; break;
    case CT_f32: r.f32 = fused ? FMA_f32(a.f32, b.f32, c.f32) : a.f32 * b.f32 + c.f32; break;
    case CT_i64:
    case CT_u64: r.i = ADD_i64(MUL_i64(a.i, b.i), c.i); break;
    case CT_i32:
    case CT_u32: r.i = CAST_i32_i64(ADD_i64(MUL_i64(a.i, b.i), c.i)); break;
    case CT_bool: r.i = (a.i & b.i) | c.i; break;
    default: CT_UNREACHABLE();
  }
  return r;
}

static CtScalar multiply(CtDtype t, CtScalar a, CtScalar b) {
  CtScalar r = {0};
  switch (t) {
    case CT_f64: r.f64 = a.f64 * b.f64; break;
    case CT_f32: r.f32 = a.f32 * b.f32; break;
    case CT_i64:
    case CT_u64: r.i = MUL_i64(a.i, b.i); break;
    case CT_i32:
    case CT_u32: r.i = CAST_i32_i64(MUL_i64(a.i, b.i)); break;
    case CT_bool: r.i = a.i & b.i; break;
    default: CT_UNREACHABLE();
  }
  return r;
}

/* The bits of a scalar operand (alpha, beta, a fill's value) in this lane. */
static uint64_t operand_bits(const Slow *s, uint32_t at) {
  if (s->t->dtype == CT_bool) {
    return *CT_CAT(uint32_t, s->w, at) >> s->lane & 1;
  }
  size_t bytes = ct_dtype_bytes(s->t->dtype) == 8 ? 8 : 4;
  return read_bits(bytes, CT_CAT(char, s->w, at) + (size_t)s->lane * bytes);
}

static CtScalar scalar_operand(const Slow *s, uint32_t at) {
  char element[8];
  write_bits(ct_dtype_bytes(s->t->dtype), element, operand_bits(s, at));
  return read_as(s->t->dtype, s->t->dtype, element);
}

/* Of copy_if: whether element e is copied. */
static bool is_copied(Slow *s, const CtTileArg *pred, int64_t e) {
  const char *p = element(s, pred, e, 0, false);
  return p != NULL && *p != 0;
}

static void slow_copy(Slow *s) {
  CtDtype from_type = s->t->a.dtype, to_type = s->t->dst.dtype;
  const CtTileArg *d = &s->t->dst, *a = &s->t->a, *pred = s->t->b.buf != 0 ? &s->t->b : NULL;
  int64_t n = mode_size(s, d, 0);
  for (int64_t e = 0; e < n && !s->failed; e++) {
    bool copied = pred == NULL || is_copied(s, pred, e);
    if (!copied && !s->t->zero_fill) {
      continue;
    }
    const char *from =
        copied ? element(s, a, e, 0, false) : memset(s->outside, 0, sizeof s->outside);
    char *to = from == NULL ? NULL : element(s, d, e, 0, true);
    if (to != NULL) {
      uint64_t bits = read_bits(ct_dtype_bytes(from_type), from);
      write_bits(ct_dtype_bytes(to_type), to, ct_convert(to_type, from_type, bits));
    }
  }
}

static void slow_fill(Slow *s) {
  uint64_t bits = operand_bits(s, s->in->d);
  int64_t n = mode_size(s, &s->t->dst, 0);
  for (int64_t e = 0; e < n && !s->failed; e++) {
    char *to = element(s, &s->t->dst, e, 0, true);
    if (to != NULL) {
      write_bits(ct_dtype_bytes(s->t->dtype), to, bits);
    }
  }
}

static void slow_axpby(Slow *s) {
  CtDtype t = s->t->dtype;
  const CtTileArg *d = &s->t->dst, *a = &s->t->a;
  CtScalar alpha = scalar_operand(s, s->in->d), beta = scalar_operand(s, s->in->a);
  int64_t n = mode_size(s, d, 0);
  for (int64_t e = 0; e < n && !s->failed; e++) {
    const char *x = element(s, a, e, 0, false);
    char *y = x == NULL ? NULL : element(s, d, e, 0, true);
    if (y != NULL) {
      CtScalar from = read_as(t, s->t->a.dtype, x), sum = multiply(t, alpha, from);
      if (s->t->reads_dst) {
        sum = multiply_add(t, s->t->contract, alpha, from, multiply(t, beta, read_as(t, t, y)));
      }
      write_as(t, y, sum);
    }
  }
}

static void slow_gemm_at(Slow *s, int64_t m, int64_t n, int64_t k) {
  CtDtype t = s->t->dtype;
  const char *a = element(s, &s->t->a, m, k, false);
  const char *b = a == NULL ? NULL : element(s, &s->t->b, n, k, false);
  char *c = b == NULL ? NULL : element(s, &s->t->dst, m, n, true);
  if (c != NULL) {
    CtScalar x = read_as(t, s->t->a.dtype, a), y = read_as(t, s->t->b.dtype, b);
    write_as(t, c, multiply_add(t, true, x, y, read_as(t, t, c)));
  }
}

static void slow_gemm(Slow *s) {
  int64_t n_m = mode_size(s, &s->t->a, 0), n_n = mode_size(s, &s->t->b, 0);
  int64_t n_k = mode_size(s, &s->t->a, 1);
  for (int64_t k = 0; k < n_k; k++) {
    for (int64_t n = 0; n < n_n; n++) {
      for (int64_t m = 0; m < n_m && !s->failed; m++) {
        slow_gemm_at(s, m, n, k);
      }
    }
  }
}

/* dst(v) = fma(a(v), b(v), dst(v)): all three have one mode, the other is of size 1. */
static void slow_elementwise(Slow *s) {
  CtDtype t = s->t->dtype;
  const CtTileArg *a = &s->t->a, *b = &s->t->b, *d = &s->t->dst;
  int64_t n = mode_size(s, d, 0);
  for (int64_t e = 0; e < n && !s->failed; e++) {
    const char *x = element(s, a, e, 0, false);
    const char *y = x == NULL ? NULL : element(s, b, e, 0, false);
    char *z = y == NULL ? NULL : element(s, d, e, 0, true);
    if (z != NULL) {
      CtScalar u = read_as(t, s->t->a.dtype, x), v = read_as(t, s->t->b.dtype, y);
      write_as(t, z, multiply_add(t, true, u, v, read_as(t, t, z)));
    }
  }
}

static void slow_lane(Slow *s) {
  switch (s->t->op) {
    case CT_OP_COPY: slow_copy(s); break;
    case CT_OP_FILL: slow_fill(s); break;
    case CT_OP_AXPBY: slow_axpby(s); break;
    default: (s->t->elementwise ? slow_elementwise : slow_gemm)(s); break;
  }
}

const CtIn *ct_simt_do_TILE(const CtIn *in, CtWarp *w) {
  Slow s = {.in = in, .w = w, .t = &w->worker->job->program->tiles[in->imm]};
  if (ct_simt_tile_lanes(in, w)) {
    return in + 1;
  }
  for (uint32_t rest = w->mask; rest != 0 && !s.failed; rest &= rest - 1) {
    s.lane = ct_first_lane(rest);
    slow_lane(&s);
  }
  return s.failed ? NULL : in + 1;
}

/* --- guards ------------------------------------------------------------------------------------- */

/* The offsets of a mode, or NULL where lanes differ. */
static const CtTable *table_of(const CtWarp *w, uint32_t mode) {
  const CtTileMode *m = &w->worker->job->program->modes[mode];
  return m->fixed != NULL ? m->fixed : m->table != 0 ? CT_CAT(CtTable, w, m->table) : NULL;
}

/* Every element of every lane is known to be inside: the largest coordinate is. */
static bool is_whole(const CtWarp *w, const CtTileGuard *g) {
  const CtTable *rows = table_of(w, g->at.mode[0]), *cols = table_of(w, g->at.mode[1]);
  if (rows == NULL || cols == NULL || g->at.lanes.kind != CT_REF_STATIC ||
      (g->bound.kind != CT_REF_STATIC && g->bound.kind != CT_REF_SCALAR)) {
    return false;
  }
  const CtPattern *p = g->at.pattern == 0 ? NULL : CT_CAT(CtPattern, w, g->at.pattern);
  int64_t top = CT_CAT(CtScalar, w, g->at.base)->i;
  const int64_t parts[] = {g->at.imm, rows->hi, cols->hi, p == NULL ? 0 : p->hi};
  for (size_t i = 0; i < CT_ARRAY_LEN(parts); i++) {
    if (ct_add_overflow(top, parts[i], &top)) {
      return false;
    }
  }
  return (p == NULL || p->lo <= p->hi) && top < ct_ref_value(w, g->bound, 0);
}

static bool is_whole_arg(const CtWarp *w, const CtTileArg *arg) {
  for (uint32_t i = 0; i < arg->n_guards; i++) {
    if (!is_whole(w, guard_of(w, arg, i))) {
      return false;
    }
  }
  return true;
}

bool ct_simt_is_whole(const CtIn *in, const CtWarp *w) {
  const CtTileOp *t = &w->worker->job->program->tiles[in->imm];
  return is_whole_arg(w, &t->dst) && is_whole_arg(w, &t->a) && is_whole_arg(w, &t->b);
}

const CtIn *ct_simt_do_GUARD(const CtIn *in, CtWarp *w) {
  return ct_simt_is_whole(in, w) ? in + 1 : ct_simt_do_TILE(in + 1, w);
}
