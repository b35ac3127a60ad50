/* simt_warp.c: handlers of the CPU engine for operations of a warp and for atomic operations. They
   need no special instruction set. Blocks run on several threads, so atomic operations are those of
   the C compiler; lanes take turns in order. */
#include "simt_run.h"
#include "runtime/base/clock.h"

#include <string.h>

#include "simt_narrow.h"
#include "simt_scalar.h"

/* --- the warp ------------------------------------------------------------------------------------- */

static const CtIn *fail_lanes(const CtIn *in, CtWarp *w) {
  return ct_simt_fail_kind(w, in, ct_first_lane(w->mask), CT_FAIL_WARP_LANES);
}

static inline int source_of(CtShfl kind, int lane, int by, int width) {
  int first = lane & ~(width - 1), last = first | (width - 1), j = lane;
  by &= CT_LANES - 1;
  switch (kind) {
    case CT_SHFL_UP: j = lane - by >= first ? lane - by : lane; break;
    case CT_SHFL_DOWN: j = lane + by <= last ? lane + by : lane; break;
    case CT_SHFL_XOR: j = (lane ^ by) <= last ? lane ^ by : lane; break;
    case CT_SHFL_IDX: j = first | (by & (width - 1)); break;
    case CT_SHFL_COUNT: break;
  }
  return j;
}

int ct_simt_shfl_source(CtShfl kind, int lane, int by, int width) {
  return source_of(kind, lane, by, width);
}

/* The lane that each lane reads. Each loop is for one kind. */
static void find_sources(CtShfl kind, const int32_t *by, int width, int32_t out[CT_LANES]) {
#define SOURCES(k)                                                                                 \
  case k:                                                                                          \
    for (int i = 0; i < CT_LANES; i++) {                                                           \
      out[i] = source_of(k, i, by[i], width);                                                      \
    }                                                                                              \
    break;
  switch (kind) {
    SOURCES(CT_SHFL_UP)
    SOURCES(CT_SHFL_DOWN)
    SOURCES(CT_SHFL_XOR)
    SOURCES(CT_SHFL_IDX)
    case CT_SHFL_COUNT: CT_UNREACHABLE();
  }
#undef SOURCES
}

/* If the source lane has ended or never existed, the reader gets its own value. */
const CtIn *ct_simt_do_SHFL(const CtIn *in, CtWarp *w) {
  CtShfl kind = (CtShfl)(in->imm & 0xff);
  int width = (int)(in->imm >> 8 & 0xff);
  size_t bytes = (size_t)(in->imm >> 16);
  const int32_t *by = CT_AT(int32_t, w, in->b);
  char *d = CT_AT(char, w, in->d), from[8 * CT_LANES];
  int32_t source[CT_LANES];
  if (w->mask != w->live) {
    return fail_lanes(in, w);
  }
  memcpy(from, CT_AT(char, w, in->a), bytes * CT_LANES);
  find_sources(kind, by, width, source);
  for (int i = 0; w->mask != CT_ALL_LANES && i < CT_LANES; i++) {
    source[i] = (w->mask >> source[i] & 1) != 0 ? source[i] : i;
  }
  for (int i = 0; bytes == 4 && i < CT_LANES; i++) {
    memcpy(d + (size_t)i * 4, from + (size_t)source[i] * 4, 4);
  }
  for (int i = 0; bytes != 4 && i < CT_LANES; i++) {
    memcpy(d + (size_t)i * bytes, from + (size_t)source[i] * bytes, bytes);
  }
  return in + 1;
}

const CtIn *ct_simt_do_VOTE(const CtIn *in, CtWarp *w) {
  uint32_t some = *CT_AT(uint32_t, w, in->a) & w->mask;
  CtScalar *d = CT_AT(CtScalar, w, in->d);
  if (w->mask != w->live) {
    return fail_lanes(in, w);
  }
  switch ((CtVote)in->imm) {
    case CT_VOTE_ANY: d->i = some != 0; break;
    case CT_VOTE_ALL: d->i = some == w->mask; break;
    case CT_VOTE_COUNT:
    case CT_VOTE_BALLOT: d->i = (int32_t)some; break; /* a u32 as the i32 of the same bits */
  }
  return in + 1;
}

const CtIn *ct_simt_do_CLOCK(const CtIn *in, CtWarp *w) {
  CT_AT(CtScalar, w, in->d)->i = ct_now_ns();
  return in + 1;
}

const CtIn *ct_simt_do_FENCE(const CtIn *in, CtWarp *w) {
  (void)w;
  __atomic_thread_fence(__ATOMIC_SEQ_CST);
  return in + 1;
}

/* --- atomic operations ------------------------------------------------------------------------------ */

/* What a location holds after an operation on the values `old` and `v`, as bits. */
#define INT_NEXT(T, S)                                                                             \
  static T next_##S(CtOp op, T old, T v) {                                                         \
    return op == CT_OP_ATOMIC_ADD   ? ADD_##S(old, v)                                              \
           : op == CT_OP_ATOMIC_MIN ? MIN_##S(old, v)                                              \
           : op == CT_OP_ATOMIC_MAX ? MAX_##S(old, v)                                              \
           : op == CT_OP_ATOMIC_AND ? AND_##S(old, v)                                              \
           : op == CT_OP_ATOMIC_OR  ? OR_##S(old, v)                                               \
           : op == CT_OP_ATOMIC_XOR ? XOR_##S(old, v)                                              \
                                    : v;                                                           \
  }
INT_NEXT(int32_t, i32)
INT_NEXT(int64_t, i64)

/* Unsigned integers differ only in their order. */
#define UINT_NEXT(T, U, S, I)                                                                      \
  static T next_##S(CtOp op, T old, T v) {                                                         \
    bool less = (U)v < (U)old;                                                                     \
    return op == CT_OP_ATOMIC_MIN   ? (less ? v : old)                                             \
           : op == CT_OP_ATOMIC_MAX ? (less ? old : v)                                             \
                                    : next_##I(op, old, v);                                        \
  }
UINT_NEXT(int32_t, uint32_t, u32, i32)
UINT_NEXT(int64_t, uint64_t, u64, i64)

#define FLOAT_NEXT(T, W, S)                                                                        \
  static W next_##S(CtOp op, W old_bits, W v_bits) {                                               \
    T old, v, r;                                                                                   \
    W bits;                                                                                        \
    memcpy(&old, &old_bits, sizeof old);                                                           \
    memcpy(&v, &v_bits, sizeof v);                                                                 \
    if (op != CT_OP_ATOMIC_ADD && op != CT_OP_ATOMIC_MIN && op != CT_OP_ATOMIC_MAX) {              \
      return v_bits;                                                                               \
    }                                                                                              \
    r = op == CT_OP_ATOMIC_ADD   ? ADD_##S(old, v)                                                 \
        : op == CT_OP_ATOMIC_MIN ? MIN_##S(old, v)                                                 \
                                 : MAX_##S(old, v);                                                \
    memcpy(&bits, &r, sizeof bits);                                                                \
    return bits;                                                                                   \
  }
FLOAT_NEXT(float, int32_t, f32)
FLOAT_NEXT(double, int64_t, f64)

/* Does one lane's operation on the word at p; gives the previous word. *changed: the word is a
   different one now. */
#define APPLY(W, bits)                                                                             \
  static W apply_##bits(CtAtomicImm imm, char *at, W b, W c, bool *changed) {                      \
    W *p = (W *)(void *)at;                                                                        \
    CtOp op = (CtOp)imm.u.op;                                                                      \
    W old = __atomic_load_n(p, __ATOMIC_ACQUIRE), next;                                            \
    if (op == CT_OP_ATOMIC_LOAD) {                                                                 \
      *changed = false;                                                                            \
      return old;                                                                                  \
    }                                                                                              \
    do {                                                                                           \
      if (op == CT_OP_ATOMIC_CAS) {                                                                \
        next = old == b ? c : old;                                                                 \
      } else if (ct_is_float((CtDtype)imm.u.dtype)) {                                              \
        next = next_f##bits(op, old, b);                                                           \
      } else if (ct_is_unsigned((CtDtype)imm.u.dtype)) {                                           \
        next = next_u##bits(op, old, b);                                                           \
      } else {                                                                                     \
        next = next_i##bits(op, old, b);                                                           \
      }                                                                                            \
    } while (                                                                                      \
        !__atomic_compare_exchange_n(p, &old, next, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE));   \
    *changed = next != old;                                                                        \
    return old;                                                                                    \
  }
APPLY(int32_t, 32)
APPLY(int64_t, 64)

/* The sum of two 16-bit floats: rounding the f32 sum to the narrow type gives the same as rounding
   the exact sum. */
static uint16_t sum_16(CtDtype t, uint32_t a, uint32_t b) {
  return (uint16_t)(t == CT_f16 ? CAST_f16_f32(CAST_f32_f16(a) + CAST_f32_f16(b))
                                : CAST_bf16_f32(CAST_f32_bf16(a) + CAST_f32_bf16(b)));
}

/* An ADD of 16 bits, or an ADD2. */
static uint32_t add_half(CtDtype t, char *at, uint32_t v, bool *changed) {
  uint16_t *p = (uint16_t *)(void *)at, next;
  uint16_t old = __atomic_load_n(p, __ATOMIC_ACQUIRE);
  do {
    next = sum_16(t, old, v);
  } while (!__atomic_compare_exchange_n(p, &old, next, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE));
  *changed = next != old;
  return old;
}

static uint32_t add_halves(CtDtype t, char *at, uint32_t v, bool *changed) {
  uint32_t *p = (uint32_t *)(void *)at, next;
  uint32_t old = __atomic_load_n(p, __ATOMIC_ACQUIRE);
  do {
    next = sum_16(t, old & 0xFFFF, v & 0xFFFF) | (uint32_t)sum_16(t, old >> 16, v >> 16) << 16;
  } while (!__atomic_compare_exchange_n(p, &old, next, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE));
  *changed = next != old;
  return old;
}

static int64_t offset_of(const CtWarp *w, const CtIn *in, bool is_i32, int lane) {
  return is_i32 ? CT_CAT(int32_t, w, in->a)[lane] : CT_CAT(int64_t, w, in->a)[lane];
}

/* Results may share a slot with operands, so each lane reads its own before it writes. */
static bool apply(const CtIn *in, CtWarp *w, CtAtomicImm imm, int lane, char *p) {
  bool changed;
  CtDtype t = (CtDtype)imm.u.dtype;
  if (ct_dtypes[t].bits == 16) {
    uint32_t b = CT_AT(uint32_t, w, in->b)[lane];
    bool two = imm.u.op == CT_OP_ATOMIC_ADD2;
    CT_AT(uint32_t, w, in->d)
    [lane] = two ? add_halves(t, p, b, &changed) : add_half(t, p, b, &changed);
  } else if (ct_dtypes[t].bits == 64) {
    int64_t b = CT_AT(int64_t, w, in->b)[lane], c = CT_AT(int64_t, w, in->c)[lane];
    CT_AT(int64_t, w, in->d)[lane] = apply_64(imm, p, b, c, &changed);
  } else {
    int32_t b = CT_AT(int32_t, w, in->b)[lane], c = CT_AT(int32_t, w, in->c)[lane];
    CT_AT(int32_t, w, in->d)[lane] = apply_32(imm, p, b, c, &changed);
  }
  return changed;
}

/* MIN or MAX of 16-bit floats; a number wins over a NaN. */
static uint16_t half_of(CtOp op, CtDtype t, uint16_t a, uint16_t b) {
  if (op == CT_OP_ATOMIC_ADD) {
    return sum_16(t, a, b);
  }
  float x = t == CT_f16 ? CAST_f32_f16(a) : CAST_f32_bf16(a);
  float y = t == CT_f16 ? CAST_f32_f16(b) : CAST_f32_bf16(b);
  bool takes_b = isnan(x) || (op == CT_OP_ATOMIC_MIN ? y < x : y > x);
  return takes_b ? b : a;
}

static bool half_at(CtOp op, CtDtype t, char *at, const void *value) {
  uint16_t *p = (uint16_t *)(void *)at, v, next;
  uint16_t old = __atomic_load_n(p, __ATOMIC_ACQUIRE);
  memcpy(&v, value, sizeof v);
  do {
    next = half_of(op, t, old, v);
  } while (!__atomic_compare_exchange_n(p, &old, next, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE));
  return next != old;
}

bool ct_simt_atomic_at(CtOp op, CtDtype dtype, char *at, const void *value) {
  const CtAtomicImm imm = {.u = {.op = (uint16_t)op, .dtype = (uint8_t)dtype}};
  bool changed = false;
  int64_t wide;
  int32_t word;
  switch (ct_dtypes[dtype].bits) {
    case 16: return half_at(op, dtype, at, value);
    case 64:
      memcpy(&wide, value, sizeof wide);
      (void)apply_64(imm, at, wide, 0, &changed);
      return changed;
    default:
      memcpy(&word, value, sizeof word);
      (void)apply_32(imm, at, word, 0, &changed);
      return changed;
  }
}

const CtIn *ct_simt_do_ATOMIC(const CtIn *in, CtWarp *w) {
  const CtAtomicImm imm = {.imm = in->imm};
  const CtMem *m = &w->mem[imm.u.buf];
  bool changed = false, is_write = imm.u.op != CT_OP_ATOMIC_LOAD;
  int64_t n = m->n - (imm.u.op == CT_OP_ATOMIC_ADD2); /* the last element has no next one */
  for (uint32_t rest = w->mask; rest != 0; rest &= rest - 1) {
    int lane = ct_first_lane(rest);
    int64_t off = offset_of(w, in, imm.u.is_i32 != 0, lane);
    if (off < 0 || off >= n) {
      off += off == n && n < m->n; /* the element that is outside */
      return ct_simt_fail_bounds(w, in, lane, imm.u.buf, off, is_write);
    }
    changed = apply(in, w, imm, lane, m->ptr + off * (int64_t)m->elem_bytes) || changed;
  }
  if (changed) {
    ct_simt_note_change(w->worker->job);
  }
  return in + 1;
}
