/* simt_memory.h: offsets and bounds of the CPU engine's loads and stores. */
#ifndef CT_SIMT_MEMORY_H
#define CT_SIMT_MEMORY_H

#include <string.h>

#include "simt_handler.h"

static inline int64_t wrapped(const CtIn *in, int64_t off) {
  return ct_in_wraps(in) ? CAST_i32_i64(off) : off;
}
static inline int64_t scalar_base(const CtIn *in, CtWarp *w) {
  return ADD_i64(SCALAR(in->a)->i, in->imm);
}

/* Offsets of the lanes, for the general path. */
static inline void offsets_p(const CtIn *in, CtWarp *w, int64_t off[CT_LANES]) {
  const CtPattern *p = CT_AT(CtPattern, w, in->b);
  int64_t base = scalar_base(in, w);
  for (int i = 0; i < CT_LANES; i++) {
    off[i] = wrapped(in, ADD_i64(base, p->pos[i]));
  }
}
static inline void offsets_i32(const CtIn *in, CtWarp *w, int64_t off[CT_LANES]) {
  const int32_t *v = CT_AT(int32_t, w, in->b);
  LANES { off[i] = v[i]; }
}
static inline void offsets_i64(const CtIn *in, CtWarp *w, int64_t off[CT_LANES]) {
  memcpy(off, CT_AT(int64_t, w, in->b), CT_LANES * sizeof *off);
}

/* The first active lane that is outside, or -1. */
static inline int find_outside(const CtWarp *w, const CtMem *m, const int64_t off[CT_LANES]) {
  uint32_t outside = 0;
  uint64_t n = (uint64_t)m->n;
  LANES { outside |= (uint64_t)off[i] >= n ? lane_bits[i] : 0; }
  outside &= w->mask;
  return outside != 0 ? ct_first_lane(outside) : -1;
}

/* Do the lanes lie side by side in memory? */
static inline bool is_run(const CtMem *m, const int64_t off[CT_LANES]) {
  int64_t wrong = 0;
  LANES { wrong |= (off[i] - i) ^ off[0]; }
  return wrong == 0 && m->lane_bytes == 0;
}

static inline char *address(const CtMem *m, int64_t off, int lane) {
  return m->ptr + off * (int64_t)m->elem_bytes + (int64_t)lane * (int64_t)m->lane_bytes;
}

/* A row of registers: element `off` of every lane. NULL when outside. */
static inline char *row(const CtIn *in, CtWarp *w, int64_t *off) {
  const CtMem *m = &w->mem[ct_in_buf(in)];
  *off = wrapped(in, scalar_base(in, w));
  return (uint64_t)*off < (uint64_t)m->n ? m->ptr + *off * (int64_t)m->elem_bytes : NULL;
}

static inline const CtIn *fail_row(const CtIn *in, CtWarp *w, int64_t off, bool is_write) {
  return ct_simt_fail_bounds(w, in, ct_first_lane(w->mask), ct_in_buf(in), off, is_write);
}

#endif
