/* simt_memory.c: handlers of the CPU engine's loads and stores: of one element for all lanes; of
   elements as wide as their lanes; of narrow elements in lanes of 4 bytes; of bools, which are bits
   of a mask. */
#include <string.h>

#include "simt_memory.h"

#define LOAD_U(t, T, PUT)                                                                          \
  HANDLER(LOAD_##t##_u) {                                                                          \
    const CtMem *m = &w->mem[ct_in_buf(in)];                                                       \
    int64_t off = wrapped(in, scalar_base(in, w));                                                 \
    if ((uint64_t)off >= (uint64_t)m->n) {                                                         \
      return ct_simt_fail_bounds(w, in, ct_first_lane(w->mask), ct_in_buf(in), off, false);        \
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

/* Elements are only moved; may_alias makes it right for floats too. */
typedef uint8_t __attribute__((may_alias)) Word1;
typedef uint16_t __attribute__((may_alias)) Word2;
typedef uint32_t __attribute__((may_alias)) Word4;
typedef uint64_t __attribute__((may_alias)) Word8;

/* Every access begins with this check: an active lane that is outside has failed. */
#define CHECK_LANES(is_write)                                                                      \
  const CtMem *m = &w->mem[ct_in_buf(in)];                                                         \
  int bad = find_outside(w, m, off);                                                               \
  if (bad >= 0) {                                                                                  \
    return ct_simt_fail_bounds(w, in, bad, ct_in_buf(in), off[bad], is_write);                     \
  }
#define EACH_LANE                                                                                  \
  for (uint32_t rest = w->mask, lane; rest != 0 && (lane = (uint32_t)ct_first_lane(rest), true);   \
       rest &= rest - 1)
#define CHUNKS(n) for (int c = 0; c < CT_LANES; c += (n))

/* --- by element: elements E in lanes of L ------------------------------------------------------------ */

/* The general path: checks every active lane, then moves. It is out of line, so that handlers that
   rarely need it are cheap to enter. If all lanes' elements are inside, there is no check, and no
   mask either, because reading does no harm. */
#define MEMORY(size, E, L)                                                                         \
  ALWAYS_INLINE void get_##size(L *d, const E *s, size_t n) {                                      \
    if (sizeof(E) == sizeof(L)) {                                                                  \
      memcpy(d, s, n * sizeof(E));                                                                 \
      return;                                                                                      \
    }                                                                                              \
    EACH_OF((int)n) { d[i] = s[i]; }                                                               \
  }                                                                                                \
  ALWAYS_INLINE void put_##size(E *d, const L *s, size_t n) {                                      \
    if (sizeof(E) == sizeof(L)) {                                                                  \
      memcpy(d, s, n * sizeof(E));                                                                 \
      return;                                                                                      \
    }                                                                                              \
    EACH_OF((int)n) { d[i] = (E)s[i]; }                                                            \
  }                                                                                                \
  ALWAYS_INLINE const CtIn *load_lanes_##size(const CtIn *in, CtWarp *w, const int64_t *off) {     \
    L *d = CT_AT(L, w, in->d);                                                                     \
    CHECK_LANES(false)                                                                             \
    if (w->mask == CT_ALL_LANES && is_run(m, off)) {                                               \
      const E *s = (const E *)(const void *)m->ptr + off[0];                                       \
      get_##size(d, s, CT_LANES);                                                                  \
      return in + 1;                                                                               \
    }                                                                                              \
    EACH_LANE { d[lane] = *(const E *)(const void *)address(m, off[lane], (int)lane); }            \
    return in + 1;                                                                                 \
  }                                                                                                \
  ALWAYS_INLINE const CtIn *store_lanes_##size(const CtIn *in, CtWarp *w, const int64_t *off) {    \
    const L *d = CT_AT(L, w, in->d);                                                               \
    CHECK_LANES(true)                                                                              \
    if (w->mask == CT_ALL_LANES && is_run(m, off)) {                                               \
      E *s = (E *)(void *)m->ptr + off[0];                                                         \
      put_##size(s, d, CT_LANES);                                                                  \
      return in + 1;                                                                               \
    }                                                                                              \
    EACH_LANE { *(E *)(void *)address(m, off[lane], (int)lane) = (E)d[lane]; }                     \
    return in + 1;                                                                                 \
  }                                                                                                \
  static __attribute__((noinline)) const CtIn *load_checked_##size(const CtIn *in, CtWarp *w) {    \
    int64_t off[CT_LANES];                                                                         \
    offsets_p(in, w, off);                                                                         \
    return load_lanes_##size(in, w, off);                                                          \
  }                                                                                                \
  static __attribute__((noinline)) const CtIn *store_checked_##size(const CtIn *in, CtWarp *w) {   \
    int64_t off[CT_LANES];                                                                         \
    offsets_p(in, w, off);                                                                         \
    return store_lanes_##size(in, w, off);                                                         \
  }                                                                                                \
  HANDLER(LOAD_##size##_p) {                                                                       \
    const CtPattern *p = CT_AT(CtPattern, w, in->b);                                               \
    const CtMem *m = &w->mem[ct_in_buf(in)];                                                       \
    int64_t base = scalar_base(in, w);                                                             \
    L *d = CT_AT(L, w, in->d);                                                                     \
    if (!ct_pattern_is_inside(p, base, m->n)) {                                                    \
      return load_checked_##size(in, w);                                                           \
    }                                                                                              \
    const E *s = (const E *)(const void *)m->ptr + base;                                           \
    if (p->kind[5] == CT_CONTIGUOUS) {                                                             \
      get_##size(d, s + p->pos[0], CT_LANES);                                                      \
    } else if (p->kind[4] == CT_CONTIGUOUS) {                                                      \
      CHUNKS(16) { get_##size(d + c, s + p->pos[c], 16); }                                         \
    } else if (p->kind[3] == CT_CONTIGUOUS) {                                                      \
      CHUNKS(8) { get_##size(d + c, s + p->pos[c], 8); }                                           \
    } else if (p->kind[3] == CT_SAME) {                                                            \
      CHUNKS(8) {                                                                                  \
        const E same = s[p->pos[c]];                                                               \
        EACH_OF(8) { d[c + i] = same; }                                                            \
      }                                                                                            \
    } else {                                                                                       \
      CHUNKS(1) { d[c] = s[p->pos[c]]; }                                                           \
    }                                                                                              \
    return in + 1;                                                                                 \
  }                                                                                                \
  HANDLER(STORE_##size##_p) {                                                                      \
    const CtPattern *p = CT_AT(CtPattern, w, in->b);                                               \
    const CtMem *m = &w->mem[ct_in_buf(in)];                                                       \
    int64_t base = scalar_base(in, w);                                                             \
    const L *d = CT_AT(L, w, in->d);                                                               \
    if (w->mask != CT_ALL_LANES || !ct_pattern_is_inside(p, base, m->n)) {                         \
      return store_checked_##size(in, w);                                                          \
    }                                                                                              \
    E *s = (E *)(void *)m->ptr + base;                                                             \
    if (p->kind[5] == CT_CONTIGUOUS) {                                                             \
      put_##size(s + p->pos[0], d, CT_LANES);                                                      \
    } else if (p->kind[3] == CT_CONTIGUOUS) {                                                      \
      CHUNKS(8) { put_##size(s + p->pos[c], d + c, 8); }                                           \
    } else {                                                                                       \
      CHUNKS(1) { s[p->pos[c]] = (E)d[c]; }                                                        \
    }                                                                                              \
    return in + 1;                                                                                 \
  }                                                                                                \
  HANDLER(LOAD_##size##_r) {                                                                       \
    int64_t off;                                                                                   \
    const E *s = (const E *)(const void *)row(in, w, &off);                                        \
    L *d = CT_AT(L, w, in->d);                                                                     \
    if (s == NULL) {                                                                               \
      return fail_row(in, w, off, false);                                                          \
    }                                                                                              \
    LANES { d[i] = s[i]; }                                                                         \
    return in + 1;                                                                                 \
  }                                                                                                \
  HANDLER(STORE_##size##_r) {                                                                      \
    int64_t off;                                                                                   \
    E *d = (E *)(void *)row(in, w, &off);                                                          \
    const L *s = CT_AT(L, w, in->d);                                                               \
    uint32_t m = w->mask;                                                                          \
    if (d == NULL) {                                                                               \
      return fail_row(in, w, off, true);                                                           \
    }                                                                                              \
    LANES {                                                                                        \
      E x = (E)s[i], y = d[i];                                                                     \
      d[i] = (m & lane_bits[i]) != 0 ? x : y;                                                      \
    }                                                                                              \
    return in + 1;                                                                                 \
  }
MEMORY(u8, Word1, Word4)
MEMORY(u16, Word2, Word4)
MEMORY(4, Word4, Word4)
MEMORY(8, Word8, Word8)

/* --- bools: bytes in memory, bits of a mask in slots -------------------------------------------------- */

static const CtIn *load_lanes_1(const CtIn *in, CtWarp *w, const int64_t *off) {
  uint32_t bits = 0;
  CHECK_LANES(false)
  EACH_LANE { bits |= *address(m, off[lane], (int)lane) != 0 ? lane_bits[lane] : 0; }
  MASK(in->d) = bits;
  return in + 1;
}
static const CtIn *store_lanes_1(const CtIn *in, CtWarp *w, const int64_t *off) {
  uint32_t bits = MASK(in->d);
  CHECK_LANES(true)
  EACH_LANE { *address(m, off[lane], (int)lane) = (bits & lane_bits[lane]) != 0; }
  return in + 1;
}
HANDLER(LOAD_1_r) {
  int64_t off;
  const char *s = row(in, w, &off);
  if (s == NULL) {
    return fail_row(in, w, off, false);
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
    return fail_row(in, w, off, true);
  }
  uint32_t bits = MASK(in->d), m = w->mask;
  for (int i = 0; i < CT_LANES; i++) {
    d[i] = (m & lane_bits[i]) != 0 ? (bits & lane_bits[i]) != 0 : d[i];
  }
  return in + 1;
}

/* --- by lanes of offsets; bools by a pattern, too ------------------------------------------------------- */

#define BY_LANES(n, t)                                                                             \
  HANDLER(LOAD_##n##_##t) {                                                                        \
    int64_t off[CT_LANES];                                                                         \
    offsets_##t(in, w, off);                                                                       \
    return load_lanes_##n(in, w, off);                                                             \
  }                                                                                                \
  HANDLER(STORE_##n##_##t) {                                                                       \
    int64_t off[CT_LANES];                                                                         \
    offsets_##t(in, w, off);                                                                       \
    return store_lanes_##n(in, w, off);                                                            \
  }
BY_LANES(1, p)
BY_LANES(1, i32)
BY_LANES(u8, i32)
BY_LANES(u16, i32)
BY_LANES(4, i32)
BY_LANES(8, i32)
BY_LANES(1, i64)
BY_LANES(u8, i64)
BY_LANES(u16, i64)
BY_LANES(4, i64)
BY_LANES(8, i64)

const CtHandler CT_SIMT_TABLE(memory)[CT_SIMT_OP_COUNT] = {
#define X(name, ...) [CT_SIMT_##name] = name,
#include "runtime/simt/code/simt_memory.def"
#undef X
};
