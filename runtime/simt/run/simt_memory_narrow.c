/* simt_memory_narrow.c: handlers of the CPU engine's loads and stores of narrow elements. */
#include "simt_memory.h"

/* Elements of T, their bits in lanes of 4 bytes. The general path as load_lanes and store_lanes. */
#define NARROW_MEMORY(t, T)                                                                        \
  static const CtIn *load_lanes_##t(const CtIn *in, CtWarp *w, const int64_t off[CT_LANES]) {      \
    const CtMem *m = &w->mem[buf_of(in)];                                                          \
    uint32_t *d = CT_AT(uint32_t, w, in->d);                                                       \
    int bad = find_outside(w, m, off);                                                             \
    if (bad >= 0) {                                                                                \
      return ct_simt_fail_bounds(w, in, bad, buf_of(in), off[bad], false);                         \
    }                                                                                              \
    for (uint32_t rest = w->mask; rest != 0; rest &= rest - 1) {                                   \
      int lane = ct_first_lane(rest);                                                              \
      T v;                                                                                         \
      memcpy(&v, address(m, off[lane], lane), sizeof v);                                           \
      d[lane] = v;                                                                                 \
    }                                                                                              \
    return in + 1;                                                                                 \
  }                                                                                                \
  static const CtIn *store_lanes_##t(const CtIn *in, CtWarp *w, const int64_t off[CT_LANES]) {     \
    const CtMem *m = &w->mem[buf_of(in)];                                                          \
    const uint32_t *d = CT_AT(uint32_t, w, in->d);                                                 \
    int bad = find_outside(w, m, off);                                                             \
    if (bad >= 0) {                                                                                \
      return ct_simt_fail_bounds(w, in, bad, buf_of(in), off[bad], true);                          \
    }                                                                                              \
    for (uint32_t rest = w->mask; rest != 0; rest &= rest - 1) {                                   \
      int lane = ct_first_lane(rest);                                                              \
      T v = (T)d[lane];                                                                            \
      memcpy(address(m, off[lane], lane), &v, sizeof v);                                           \
    }                                                                                              \
    return in + 1;                                                                                 \
  }                                                                                                \
  HANDLER(LOAD_##t##_p) {                                                                          \
    const CtPattern *p = CT_AT(CtPattern, w, in->b);                                               \
    const CtMem *m = &w->mem[buf_of(in)];                                                          \
    int64_t base = scalar_base(in, w);                                                             \
    uint32_t *d = CT_AT(uint32_t, w, in->d);                                                       \
    if (!is_inside(p, base, m->n)) {                                                               \
      int64_t off[CT_LANES];                                                                       \
      offsets_p(in, w, off);                                                                       \
      return load_lanes_##t(in, w, off);                                                           \
    }                                                                                              \
    const T *s = (const T *)(const void *)m->ptr + base;                                           \
    if (p->kind[5] == CT_CONTIGUOUS) {                                                             \
      s += p->pos[0];                                                                              \
      LANES { d[i] = s[i]; }                                                                       \
    } else {                                                                                       \
      for (int i = 0; i < CT_LANES; i++) {                                                         \
        d[i] = s[p->pos[i]];                                                                       \
      }                                                                                            \
    }                                                                                              \
    return in + 1;                                                                                 \
  }                                                                                                \
  HANDLER(STORE_##t##_p) {                                                                         \
    const CtPattern *p = CT_AT(CtPattern, w, in->b);                                               \
    const CtMem *m = &w->mem[buf_of(in)];                                                          \
    int64_t base = scalar_base(in, w);                                                             \
    const uint32_t *d = CT_AT(uint32_t, w, in->d);                                                 \
    if (w->mask != CT_ALL_LANES || !is_inside(p, base, m->n)) {                                    \
      int64_t off[CT_LANES];                                                                       \
      offsets_p(in, w, off);                                                                       \
      return store_lanes_##t(in, w, off);                                                          \
    }                                                                                              \
    T *s = (T *)(void *)m->ptr + base;                                                             \
    if (p->kind[5] == CT_CONTIGUOUS) {                                                             \
      s += p->pos[0];                                                                              \
      LANES { s[i] = (T)d[i]; }                                                                    \
    } else {                                                                                       \
      for (int i = 0; i < CT_LANES; i++) {                                                         \
        s[p->pos[i]] = (T)d[i];                                                                    \
      }                                                                                            \
    }                                                                                              \
    return in + 1;                                                                                 \
  }                                                                                                \
  HANDLER(LOAD_##t##_i32) {                                                                        \
    int64_t off[CT_LANES];                                                                         \
    offsets_i32(in, w, off);                                                                       \
    return load_lanes_##t(in, w, off);                                                             \
  }                                                                                                \
  HANDLER(LOAD_##t##_i64) {                                                                        \
    int64_t off[CT_LANES];                                                                         \
    offsets_i64(in, w, off);                                                                       \
    return load_lanes_##t(in, w, off);                                                             \
  }                                                                                                \
  HANDLER(STORE_##t##_i32) {                                                                       \
    int64_t off[CT_LANES];                                                                         \
    offsets_i32(in, w, off);                                                                       \
    return store_lanes_##t(in, w, off);                                                            \
  }                                                                                                \
  HANDLER(STORE_##t##_i64) {                                                                       \
    int64_t off[CT_LANES];                                                                         \
    offsets_i64(in, w, off);                                                                       \
    return store_lanes_##t(in, w, off);                                                            \
  }                                                                                                \
  HANDLER(LOAD_##t##_r) {                                                                          \
    int64_t off;                                                                                   \
    const T *s = (const T *)(const void *)row(in, w, &off);                                        \
    uint32_t *d = CT_AT(uint32_t, w, in->d);                                                       \
    if (s == NULL) {                                                                               \
      return ct_simt_fail_bounds(w, in, ct_first_lane(w->mask), buf_of(in), off, false);           \
    }                                                                                              \
    LANES { d[i] = s[i]; }                                                                         \
    return in + 1;                                                                                 \
  }                                                                                                \
  HANDLER(STORE_##t##_r) {                                                                         \
    int64_t off;                                                                                   \
    T *d = (T *)(void *)row(in, w, &off);                                                          \
    const uint32_t *s = CT_AT(uint32_t, w, in->d);                                                 \
    uint32_t m = w->mask;                                                                          \
    if (d == NULL) {                                                                               \
      return ct_simt_fail_bounds(w, in, ct_first_lane(m), buf_of(in), off, true);                  \
    }                                                                                              \
    LANES {                                                                                        \
      T y = d[i];                                                                                  \
      d[i] = (m & lane_bits[i]) != 0 ? (T)s[i] : y;                                                \
    }                                                                                              \
    return in + 1;                                                                                 \
  }
typedef uint16_t __attribute__((may_alias)) Word2;
typedef uint8_t __attribute__((may_alias)) Word1;
NARROW_MEMORY(u16, Word2)
NARROW_MEMORY(u8, Word1)

const CtHandler CT_SIMT_TABLE(memory_narrow)[CT_SIMT_OP_COUNT] = {
#define X(name, roles) [CT_SIMT_##name] = name,
#include "runtime/simt/code/simt_memory_narrow.def"
#undef X
};
