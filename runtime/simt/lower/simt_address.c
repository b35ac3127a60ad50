/* simt_address.c: lowering to the CPU engine: splits an offset into a scalar, a pattern of the
   lanes that is fixed in a launch, and a constant. Computes equal parts once if one dominates the
   others. */
#include "simt_lower.h"

enum { KEY_LEA = 16, KEY_PRODUCT, KEY_LANE_SUM, KEY_PATTERN, KEY_ZERO_LANES };

static CtSimtOp pick(bool is_i32, CtSimtOp i32, CtSimtOp i64) { return is_i32 ? i32 : i64; }

static uint32_t zero(CtLow *l) { return ct_low_const(l, (CtScalar){.i = 0}); }

static uint32_t hoisted_lanes(CtLow *l, bool is_i32) {
  CtSlotClass cls = is_i32 ? CT_CLASS_LANES4 : CT_CLASS_LANES8;
  return ct_low_slot(l, cls, (is_i32 ? 4 : 8) * CT_LANES, true);
}

/* --- the scalar part ----------------------------------------------------------------------------------- */

/* v * by, a scalar or lanes. */
static uint32_t product(CtLow *l, bool is_i32, CtLowTerm t) {
  bool varies = ct_low_is(l, t.v, CT_VARYING), hoist = ct_low_is(l, t.v, CT_INVARIANT);
  uint32_t v = varies ? ct_low_lanes(l, t.v) : ct_low_scalar(l, t.v);
  if (t.by == 0) {
    return v;
  }
  uint32_t by = ct_low_scalar(l, t.by);
  const uint64_t key[4] = {KEY_PRODUCT, v, by, is_i32};
  uint32_t slot;
  if (!ct_low_find(l, key, &slot)) {
    CtSimtOp op = varies ? pick(is_i32, CT_SIMT_MUL_i32_vs, CT_SIMT_MUL_i64_vs)
                         : pick(is_i32, CT_SIMT_MUL_i32_ss, CT_SIMT_MUL_i64_ss);
    slot = varies ? hoisted_lanes(l, is_i32) : ct_low_slot(l, CT_CLASS_SCALAR, 8, hoist);
    CT_EMIT_OR_HOIST(l, hoist, op, .d = slot, .a = v, .b = by);
    ct_low_remember(l, key, slot, hoist);
  }
  return slot;
}

/* prev + coef * v * by; prev 0: nothing so far. *hoist: prev is in the prologue. */
static uint32_t add_scalar(CtLow *l, bool is_i32, uint32_t prev, CtLowTerm t, bool *hoist) {
  uint32_t v = product(l, is_i32, t);
  *hoist = *hoist && ct_low_is(l, t.v, CT_INVARIANT);
  if (prev == 0 && t.coef == 1) {
    return v;
  }
  prev = prev == 0 ? zero(l) : prev;
  const uint64_t key[4] = {KEY_LEA, (uint64_t)prev << 32 | v, (uint64_t)t.coef, is_i32};
  uint32_t slot;
  if (!ct_low_find(l, key, &slot)) {
    slot = ct_low_slot(l, CT_CLASS_SCALAR, 8, *hoist);
    CT_EMIT_OR_HOIST(l, *hoist, pick(is_i32, CT_SIMT_LEA_i32, CT_SIMT_LEA_i64), .d = slot,
                     .a = prev, .b = v, .imm = t.coef);
    ct_low_remember(l, key, slot, *hoist);
  }
  return slot;
}

/* The terms that are fixed in a launch come first, so that they are computed once. */
static uint32_t scalar_part(CtLow *l, bool is_i32, const CtLowSum *s) {
  uint32_t sum = 0;
  bool hoist = true;
  for (int pass = 0; pass < 2; pass++) {
    for (int i = 0; i < s->n; i++) {
      CtVal v = s->t[i].v;
      if (!ct_low_is(l, v, CT_VARYING) && ct_low_is(l, v, CT_INVARIANT) == (pass == 0)) {
        sum = add_scalar(l, is_i32, sum, s->t[i], &hoist);
      }
    }
  }
  return sum == 0 ? zero(l) : sum;
}

/* --- the pattern ------------------------------------------------------------------------------------------ */

static uint32_t add_lanes(CtLow *l, bool is_i32, uint32_t prev, CtLowTerm t) {
  uint32_t v = product(l, is_i32, t);
  const uint64_t key[4] = {KEY_LANE_SUM, (uint64_t)prev << 32 | v, (uint64_t)t.coef, is_i32};
  uint32_t slot;
  if (ct_low_find(l, key, &slot)) {
    return slot;
  }
  slot = v;
  if (t.coef != 1) {
    uint32_t coef = ct_low_const(l, (CtScalar){.i = t.coef});
    slot = hoisted_lanes(l, is_i32);
    CT_HOIST(l, pick(is_i32, CT_SIMT_MUL_i32_vs, CT_SIMT_MUL_i64_vs), .d = slot, .a = v, .b = coef);
  }
  if (prev != 0) {
    uint32_t product = slot;
    slot = hoisted_lanes(l, is_i32);
    CT_HOIST(l, pick(is_i32, CT_SIMT_ADD_i32_vv, CT_SIMT_ADD_i64_vv), .d = slot, .a = prev,
             .b = product);
  }
  ct_low_remember(l, key, slot, true);
  return slot;
}

static uint32_t pattern_of(CtLow *l, bool is_i32, uint32_t lanes) {
  const uint64_t key[4] = {KEY_PATTERN, lanes, 0, 0};
  uint32_t slot;
  if (!ct_low_find(l, key, &slot)) {
    slot = ct_low_slot(l, CT_CLASS_BYTES, sizeof(CtPattern), true);
    CT_HOIST(l, pick(is_i32, CT_SIMT_PATTERN_i32, CT_SIMT_PATTERN_i64), .d = slot, .a = lanes);
    ct_low_remember(l, key, slot, true);
  }
  return slot;
}

static uint32_t pattern_part(CtLow *l, bool is_i32, const CtLowSum *s) {
  uint32_t sum = 0;
  for (int i = 0; i < s->n; i++) {
    if (ct_low_is(l, s->t[i].v, CT_VARYING)) {
      sum = add_lanes(l, is_i32, sum, s->t[i]);
    }
  }
  return sum == 0 ? 0 : pattern_of(l, is_i32, sum);
}

uint32_t ct_low_no_pattern(CtLow *l) {
  const uint64_t key[4] = {KEY_ZERO_LANES, 0, 0, 0};
  uint32_t slot;
  if (!ct_low_find(l, key, &slot)) {
    slot = hoisted_lanes(l, false);
    CT_HOIST(l, CT_SIMT_SPLAT_8, .d = slot, .a = zero(l));
    ct_low_remember(l, key, slot, true);
  }
  return pattern_of(l, false, slot);
}

/* --- the whole ------------------------------------------------------------------------------------------------ */

CtLowAddress ct_low_address(CtLow *l, CtSpace space, CtVal offset) {
  CtLowSum s;
  bool is_i32 = ct_inst(l->ir, offset)->type == CT_i32;
  ct_low_sum(l, offset, &s);
  if (!ct_low_is_affine(l, &s, space)) {
    return (CtLowAddress){.lanes = ct_low_lanes(l, offset), .is_i32 = is_i32};
  }
  return (CtLowAddress){.base = scalar_part(l, is_i32, &s),
                        .pattern = pattern_part(l, is_i32, &s),
                        .imm = s.imm,
                        .is_i32 = is_i32};
}
