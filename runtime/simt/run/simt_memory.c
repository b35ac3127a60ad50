/* simt_memory.c: handlers of the CPU engine's loads and stores: of one element for all lanes, and of
   elements that are as wide as their lanes, or a bit of a mask. */
#include "simt_memory.h"

#define LOAD_U(t, T, PUT)                                                                          \
  HANDLER(LOAD_##t##_u) {                                                                          \
    const CtMem *m = &w->mem[buf_of(in)];                                                          \
    int64_t off = wrapped(in, scalar_base(in, w));                                                 \
    if ((uint64_t)off >= (uint64_t)m->n) {                                                         \
      return ct_simt_fail_bounds(w, in, ct_first_lane(w->mask), buf_of(in), off, false);           \
    }                                                                                              \
    T v;                                                                                           \
    memcpy(&v, m->ptr + off * (int64_t)sizeof v, sizeof v);                                        \
    PUT;                                                                                           \
    return in + 1;                                                                                 \
  }
LOAD_U(f64, double, SCALAR(in->d)->f64 = v)
LOAD_U(f32, float, SCALAR(in->d)->f32 = v)
LOAD_U(i64, int64_t, SCALAR(in->d)->i = v)
LOAD_U(i32, int32_t, SCALAR(in->d)->i = v)
LOAD_U(b, uint8_t, SCALAR(in->d)->i = v != 0)
LOAD_U(u16, uint16_t, SCALAR(in->d)->i = v)
LOAD_U(u8, uint8_t, SCALAR(in->d)->i = v)

/* The general path: every active lane checked, then moved. Inlined where `bytes` is known. */
ALWAYS_INLINE const CtIn *load_lanes(const CtIn *in, CtWarp *w, size_t bytes,
                                     const int64_t off[CT_LANES]) {
  const CtMem *m = &w->mem[buf_of(in)];
  char *d = CT_AT(char, w, in->d);
  int bad = find_outside(w, m, off);
  if (bad >= 0) {
    return ct_simt_fail_bounds(w, in, bad, buf_of(in), off[bad], false);
  }
  if (w->mask == CT_ALL_LANES && is_run(m, off)) {
    memcpy(d, m->ptr + off[0] * (int64_t)bytes, bytes * CT_LANES);
    return in + 1;
  }
  for (uint32_t rest = w->mask; rest != 0; rest &= rest - 1) {
    int lane = ct_first_lane(rest);
    memcpy(d + (size_t)lane * bytes, address(m, off[lane], lane), bytes);
  }
  return in + 1;
}
static const CtIn *load_mask(const CtIn *in, CtWarp *w, const int64_t off[CT_LANES]) {
  const CtMem *m = &w->mem[buf_of(in)];
  int bad = find_outside(w, m, off);
  if (bad >= 0) {
    return ct_simt_fail_bounds(w, in, bad, buf_of(in), off[bad], false);
  }
  uint32_t bits = 0;
  for (uint32_t rest = w->mask; rest != 0; rest &= rest - 1) {
    int lane = ct_first_lane(rest);
    bits |= *address(m, off[lane], lane) != 0 ? lane_bits[lane] : 0;
  }
  MASK(in->d) = bits;
  return in + 1;
}
ALWAYS_INLINE const CtIn *store_lanes(const CtIn *in, CtWarp *w, size_t bytes,
                                      const int64_t off[CT_LANES]) {
  const CtMem *m = &w->mem[buf_of(in)];
  const char *d = CT_AT(char, w, in->d);
  int bad = find_outside(w, m, off);
  if (bad >= 0) {
    return ct_simt_fail_bounds(w, in, bad, buf_of(in), off[bad], true);
  }
  if (w->mask == CT_ALL_LANES && is_run(m, off)) {
    memcpy(m->ptr + off[0] * (int64_t)bytes, d, bytes * CT_LANES);
    return in + 1;
  }
  for (uint32_t rest = w->mask; rest != 0; rest &= rest - 1) {
    int lane = ct_first_lane(rest);
    memcpy(address(m, off[lane], lane), d + (size_t)lane * bytes, bytes);
  }
  return in + 1;
}
static const CtIn *store_mask(const CtIn *in, CtWarp *w, const int64_t off[CT_LANES]) {
  const CtMem *m = &w->mem[buf_of(in)];
  uint32_t bits = MASK(in->d);
  int bad = find_outside(w, m, off);
  if (bad >= 0) {
    return ct_simt_fail_bounds(w, in, bad, buf_of(in), off[bad], true);
  }
  for (uint32_t rest = w->mask; rest != 0; rest &= rest - 1) {
    int lane = ct_first_lane(rest);
    *address(m, off[lane], lane) = (bits & lane_bits[lane]) != 0;
  }
  return in + 1;
}

/* Out of line: the handlers that seldom come here are then cheap to enter. */
#define CHECKED_P(bytes)                                                                           \
  static __attribute__((noinline)) const CtIn *load_checked_##bytes(const CtIn *in, CtWarp *w) {   \
    int64_t off[CT_LANES];                                                                         \
    offsets_p(in, w, off);                                                                         \
    return load_lanes(in, w, bytes, off);                                                          \
  }                                                                                                \
  static __attribute__((noinline)) const CtIn *store_checked_##bytes(const CtIn *in, CtWarp *w) {  \
    int64_t off[CT_LANES];                                                                         \
    offsets_p(in, w, off);                                                                         \
    return store_lanes(in, w, bytes, off);                                                         \
  }
CHECKED_P(4)
CHECKED_P(8)

/* All lanes' elements are inside: no check, and no mask, as reading harms nothing. */
#define LOAD_P(bytes, T)                                                                           \
  HANDLER(LOAD_##bytes##_p) {                                                                      \
    const CtPattern *p = CT_AT(CtPattern, w, in->b);                                               \
    const CtMem *m = &w->mem[buf_of(in)];                                                          \
    int64_t base = scalar_base(in, w);                                                             \
    T *d = CT_AT(T, w, in->d);                                                                     \
    if (!is_inside(p, base, m->n)) {                                                               \
      return load_checked_##bytes(in, w);                                                          \
    }                                                                                              \
    const T *s = (const T *)(const void *)m->ptr + base;                                           \
    if (p->kind[5] == CT_CONTIGUOUS) {                                                             \
      memcpy(d, s + p->pos[0], bytes * CT_LANES);                                                  \
    } else if (p->kind[4] == CT_CONTIGUOUS) {                                                      \
      for (int c = 0; c < CT_LANES; c += 16) {                                                     \
        memcpy(d + c, s + p->pos[c], bytes * 16);                                                  \
      }                                                                                            \
    } else if (p->kind[3] == CT_CONTIGUOUS) {                                                      \
      for (int c = 0; c < CT_LANES; c += 8) {                                                      \
        memcpy(d + c, s + p->pos[c], bytes * 8);                                                   \
      }                                                                                            \
    } else if (p->kind[3] == CT_SAME) {                                                            \
      for (int c = 0; c < CT_LANES; c += 8) {                                                      \
        T v = s[p->pos[c]];                                                                        \
        for (int i = 0; i < 8; i++) {                                                              \
          d[c + i] = v;                                                                            \
        }                                                                                          \
      }                                                                                            \
    } else {                                                                                       \
      for (int i = 0; i < CT_LANES; i++) {                                                         \
        d[i] = s[p->pos[i]];                                                                       \
      }                                                                                            \
    }                                                                                              \
    return in + 1;                                                                                 \
  }                                                                                                \
  HANDLER(STORE_##bytes##_p) {                                                                     \
    const CtPattern *p = CT_AT(CtPattern, w, in->b);                                               \
    const CtMem *m = &w->mem[buf_of(in)];                                                          \
    int64_t base = scalar_base(in, w);                                                             \
    const T *d = CT_AT(T, w, in->d);                                                               \
    if (w->mask != CT_ALL_LANES || !is_inside(p, base, m->n)) {                                    \
      return store_checked_##bytes(in, w);                                                         \
    }                                                                                              \
    T *s = (T *)(void *)m->ptr + base;                                                             \
    if (p->kind[5] == CT_CONTIGUOUS) {                                                             \
      memcpy(s + p->pos[0], d, bytes * CT_LANES);                                                  \
    } else if (p->kind[3] == CT_CONTIGUOUS) {                                                      \
      for (int c = 0; c < CT_LANES; c += 8) {                                                      \
        memcpy(s + p->pos[c], d + c, bytes * 8);                                                   \
      }                                                                                            \
    } else {                                                                                       \
      for (int i = 0; i < CT_LANES; i++) {                                                         \
        s[p->pos[i]] = d[i];                                                                       \
      }                                                                                            \
    }                                                                                              \
    return in + 1;                                                                                 \
  }
/* Elements are only moved; may_alias makes it right for floats too. */
typedef uint32_t __attribute__((may_alias)) Word4;
typedef uint64_t __attribute__((may_alias)) Word8;
LOAD_P(4, Word4)
LOAD_P(8, Word8)

HANDLER(LOAD_1_p) {
  int64_t off[CT_LANES];
  offsets_p(in, w, off);
  return load_mask(in, w, off);
}
HANDLER(STORE_1_p) {
  int64_t off[CT_LANES];
  offsets_p(in, w, off);
  return store_mask(in, w, off);
}

#define LOAD_V(t)                                                                                  \
  HANDLER(LOAD_4_##t) {                                                                            \
    int64_t off[CT_LANES];                                                                         \
    offsets_##t(in, w, off);                                                                       \
    return load_lanes(in, w, 4, off);                                                              \
  }                                                                                                \
  HANDLER(LOAD_8_##t) {                                                                            \
    int64_t off[CT_LANES];                                                                         \
    offsets_##t(in, w, off);                                                                       \
    return load_lanes(in, w, 8, off);                                                              \
  }                                                                                                \
  HANDLER(LOAD_1_##t) {                                                                            \
    int64_t off[CT_LANES];                                                                         \
    offsets_##t(in, w, off);                                                                       \
    return load_mask(in, w, off);                                                                  \
  }                                                                                                \
  HANDLER(STORE_4_##t) {                                                                           \
    int64_t off[CT_LANES];                                                                         \
    offsets_##t(in, w, off);                                                                       \
    return store_lanes(in, w, 4, off);                                                             \
  }                                                                                                \
  HANDLER(STORE_8_##t) {                                                                           \
    int64_t off[CT_LANES];                                                                         \
    offsets_##t(in, w, off);                                                                       \
    return store_lanes(in, w, 8, off);                                                             \
  }                                                                                                \
  HANDLER(STORE_1_##t) {                                                                           \
    int64_t off[CT_LANES];                                                                         \
    offsets_##t(in, w, off);                                                                       \
    return store_mask(in, w, off);                                                                 \
  }
LOAD_V(i32)
LOAD_V(i64)

#define ROW(bytes, T)                                                                              \
  HANDLER(LOAD_##bytes##_r) {                                                                      \
    int64_t off;                                                                                   \
    const char *s = row(in, w, &off);                                                              \
    if (s == NULL) {                                                                               \
      return ct_simt_fail_bounds(w, in, ct_first_lane(w->mask), buf_of(in), off, false);           \
    }                                                                                              \
    memcpy(CT_AT(char, w, in->d), s, bytes *CT_LANES);                                             \
    return in + 1;                                                                                 \
  }                                                                                                \
  HANDLER(STORE_##bytes##_r) {                                                                     \
    int64_t off;                                                                                   \
    T *d = (T *)(void *)row(in, w, &off);                                                          \
    const T *s = CT_AT(T, w, in->d);                                                               \
    uint32_t m = w->mask;                                                                          \
    if (d == NULL) {                                                                               \
      return ct_simt_fail_bounds(w, in, ct_first_lane(m), buf_of(in), off, true);                  \
    }                                                                                              \
    LANES {                                                                                        \
      T x = s[i], y = d[i];                                                                        \
      d[i] = (m & lane_bits[i]) != 0 ? x : y;                                                      \
    }                                                                                              \
    return in + 1;                                                                                 \
  }
ROW(4, Word4)
ROW(8, Word8)

HANDLER(LOAD_1_r) {
  int64_t off;
  const char *s = row(in, w, &off);
  if (s == NULL) {
    return ct_simt_fail_bounds(w, in, ct_first_lane(w->mask), buf_of(in), off, false);
  }
  uint32_t bits = 0;
  LANES { bits |= s[i] != 0 ? lane_bits[i] : 0; }
  MASK(in->d) = bits;
  return in + 1;
}
HANDLER(STORE_1_r) {
  int64_t off;
  char *d = row(in, w, &off);
  if (d == NULL) {
    return ct_simt_fail_bounds(w, in, ct_first_lane(w->mask), buf_of(in), off, true);
  }
  uint32_t bits = MASK(in->d), m = w->mask;
  for (int i = 0; i < CT_LANES; i++) {
    d[i] = (m & lane_bits[i]) != 0 ? (bits & lane_bits[i]) != 0 : d[i];
  }
  return in + 1;
}

const CtHandler CT_SIMT_TABLE(memory)[CT_SIMT_OP_COUNT] = {
#define X(name, roles) [CT_SIMT_##name] = name,
#include "runtime/simt/code/simt_memory.def"
#undef X
};
