/* simt_control.c: handlers of the CPU engine's structure: jumps, masks, loops and barriers. */
#include "simt_handler.h"
#include "simt_next.h"

static inline const CtIn *jump(const CtIn *in) { return in + (int32_t)in->c; }

/* The back edge of a loop. */
static inline const CtIn *again(const CtIn *in, CtWarp *w) {
  if (in->imm == CT_SPIN_NOT || (in->imm == CT_SPIN_ALONE && ++w->n_turns % CT_ALONE_TURNS != 0)) {
    return jump(in);
  }
  return (in->imm == CT_SPIN_ALONE ? ct_simt_alone : ct_simt_spin)(in, jump(in), w);
}

HANDLER(END) {
  (void)in;
  w->pc = NULL;
  return NULL;
}
HANDLER(JUMP) {
  (void)w;
  return jump(in);
}
HANDLER(IFNOT) { return SCALAR(in->d)->i != 0 ? in + 1 : jump(in); }
HANDLER(SAVE) {
  w->saved[in->d] = w->mask;
  return in + 1;
}
HANDLER(SPLIT) {
  w->saved[in->d] = w->mask;
  w->mask &= MASK(in->a);
  return w->mask != 0 ? in + 1 : jump(in);
}
HANDLER(SPLIT_ELSE) {
  w->saved[in->d] = w->mask;
  w->saved[in->d + 1] = w->mask & ~MASK(in->a);
  w->mask &= MASK(in->a);
  return w->mask != 0 ? in + 1 : jump(in);
}
HANDLER(JOIN) {
  w->mask = w->saved[in->d];
  return w->mask != 0 ? in + 1 : jump(in);
}
static inline const CtIn *run_by(const CtIn *in, CtWarp *w, uint32_t lanes) {
  const CtIn *at = in + 1, *end = at + in->a;
  uint32_t mask = w->mask;
  w->mask &= lanes;
  if (w->mask != 0) {
    while (at != end) {
      at = at->u.handler(at, w);
      if (at == NULL) {
        return NULL;
      }
    }
  }
  w->mask = mask;
  return end;
}
HANDLER(ONLY) { return run_by(in, w, MASK(in->d)); }
HANDLER(UNLESS) { return run_by(in, w, ~MASK(in->d)); }
HANDLER(BREAK) {
  for (uint32_t r = in->d; r < in->a; r++) {
    w->saved[r] &= ~w->mask;
  }
  w->mask = 0;
  return jump(in);
}
HANDLER(EXIT) {
  w->live &= ~w->mask;
  return BREAK(in, w);
}

/* Iterations of a loop from a towards b, as an unsigned number: it can be 2^64 - 1. */
static inline uint64_t trips(int64_t a, int64_t b, int64_t step) {
  if (step > 0) {
    return a < b ? ((uint64_t)b - (uint64_t)a - 1) / (uint64_t)step + 1 : 0;
  }
  return a > b ? ((uint64_t)a - (uint64_t)b - 1) / (0 - (uint64_t)step) + 1 : 0;
}
HANDLER(TRIPS) {
  int64_t step = SCALAR(in->c)->i;
  if (step == 0) {
    return ct_simt_fail_kind(w, in, ct_first_lane(w->mask), CT_FAIL_STEP);
  }
  SCALAR(in->d)->i = (int64_t)trips(SCALAR(in->a)->i, SCALAR(in->b)->i, step);
  return in + 1;
}
HANDLER(NEXT) {
  const CtIn *out;
  return ct_simt_next(in, w, &out) ? again(in, w) : out;
}

#define LANE_LOOP(t)                                                                               \
  HANDLER(TRIPS_##t) {                                                                             \
    uint64_t *d = CT_AT(uint64_t, w, in->d);                                                       \
    const CtT_##t *a = CT_AT(CtT_##t, w, in->a), *b = CT_AT(CtT_##t, w, in->b);                    \
    const CtT_##t *c = CT_AT(CtT_##t, w, in->c);                                                   \
    int lane;                                                                                      \
    if (has_zero_##t(w, c, &lane)) {                                                               \
      return ct_simt_fail_kind(w, in, lane, CT_FAIL_STEP);                                         \
    }                                                                                              \
    for (int i = 0; i < CT_LANES; i++) {                                                           \
      d[i] = c[i] == 0 ? 0 : trips(a[i], b[i], c[i]);                                              \
    }                                                                                              \
    return in + 1;                                                                                 \
  }                                                                                                \
  HANDLER(LANES_NEXT_##t) {                                                                        \
    CtT_##t *d = CT_AT(CtT_##t, w, in->d);                                                         \
    uint64_t *left = CT_AT(uint64_t, w, in->a);                                                    \
    const CtT_##t *b = CT_AT(CtT_##t, w, in->b);                                                   \
    uint32_t more = 0;                                                                             \
    if (w->mask != 0 && ct_simt_stopping(w)) {                                                     \
      return ct_simt_fail_kind(w, in, ct_first_lane(w->mask), CT_FAIL_STOPPED);                    \
    }                                                                                              \
    LANES {                                                                                        \
      d[i] = ADD_##t(d[i], b[i]);                                                                  \
      left[i] -= 1;                                                                                \
      more |= left[i] != 0 ? lane_bits[i] : 0;                                                     \
    }                                                                                              \
    w->mask &= more;                                                                               \
    return w->mask != 0 ? again(in, w) : in + 1;                                                   \
  }
LANE_LOOP(i64)
LANE_LOOP(i32)

HANDLER(LANES_START) {
  const uint64_t *left = CT_AT(uint64_t, w, in->d);
  uint32_t some = 0;
  LANES { some |= left[i] != 0 ? lane_bits[i] : 0; }
  w->saved[in->a] = w->mask;
  w->mask &= some;
  return w->mask != 0 ? in + 1 : jump(in);
}
HANDLER(AGAIN) {
  if (w->mask == 0) {
    return in + 1;
  }
  if (ct_simt_stopping(w)) {
    return ct_simt_fail_kind(w, in, ct_first_lane(w->mask), CT_FAIL_STOPPED);
  }
  return again(in, w);
}
HANDLER(SYNC_WARP) {
  (void)w;
  return in + 1;
}
HANDLER(BARRIER) {
  if (w->mask != w->live) {
    return ct_simt_fail_kind(w, in, ct_first_lane(w->mask), CT_FAIL_BARRIER_LANES);
  }
  w->pc = in;
  w->is_waiting = true;
  return NULL;
}

const CtHandler CT_SIMT_TABLE(control)[CT_SIMT_OP_COUNT] = {
#define ELSE JOIN
#define CP_FENCE SYNC_WARP
#define CP_WAIT SYNC_WARP
#define MARK SYNC_WARP
#define WGMMA_FENCE SYNC_WARP
#define GRID_WAIT SYNC_WARP
#define GRID_LAUNCH SYNC_WARP
#define X(name, ...) [CT_SIMT_##name] = name,
#include "runtime/simt/code/simt_control.def"
#undef X
};
