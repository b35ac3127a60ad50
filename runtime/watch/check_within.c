/* check_within.c: `check` of coordinates (runtime/ir/ir_within.c): a coordinate outside its mode
   whose element still lies inside the buffer. If the same line also reads or writes outside the
   buffer, the coordinate is not reported. */
#include "check_parts.h"

/* Lanes whose coordinate is not in 0 .. extent-1. */
static uint32_t outside_4(const CtIn *code, const CtWarp *w) {
  const uint32_t *crd = CT_CAT(uint32_t, w, code->a), *extent = CT_CAT(uint32_t, w, code->b);
  uint32_t some = 0, lanes = 0;
  for (int i = 0; i < CT_LANES; i++) {
    some |= (uint32_t)(crd[i] >= extent[i]);
  }
  for (int i = 0; some != 0 && i < CT_LANES; i++) {
    lanes |= crd[i] >= extent[i] ? 1u << i : 0;
  }
  return lanes;
}

static uint32_t outside_8(const CtIn *code, const CtWarp *w) {
  const uint64_t *crd = CT_CAT(uint64_t, w, code->a), *extent = CT_CAT(uint64_t, w, code->b);
  uint32_t lanes = 0;
  for (int i = 0; i < CT_LANES; i++) {
    lanes |= crd[i] >= extent[i] ? 1u << i : 0;
  }
  return lanes;
}

static int64_t lane_of(const CtIn *code, const CtWarp *w, uint32_t slot, int lane) {
  return code->d != 0 ? CT_CAT(int64_t, w, slot)[lane] : CT_CAT(int32_t, w, slot)[lane];
}

bool ct_within_look(CtCheckWorker *k, const CtIn *code, const CtIn *in, const CtWarp *w) {
  uint32_t lanes = (code->d != 0 ? outside_8(code, w) : outside_4(code, w)) & w->mask;
  if (lanes == 0) {
    return false;
  }
  int first = ct_first_lane(lanes);
  CtFound f = ct_finding_in(k, CT_CHECK_COORDINATE, in, w->index, first);
  f.buf = (uint32_t)(code->imm >> 32);
  f.count = (uint64_t)__builtin_popcount(lanes);
  f.off = lane_of(code, w, code->a, first);
  f.extra = lane_of(code, w, code->b, first);
  ct_finding_note(k, &f);
  return true;
}
