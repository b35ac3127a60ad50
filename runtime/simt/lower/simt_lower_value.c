/* simt_lower_value.c: lowering to the CPU engine: slots, instructions, and values in the requested
   form. Each is made once if it can be reused. */
#include "simt_lower.h"

#include <string.h>

#include "runtime/base/bits.h"
#include "runtime/base/convert.h"

/* n: bytes of a lane; mem: the element types in memory. */
#define MOVES(c, n, mem, splat_row, load_row)                                                      \
  {                                                                                                \
    .cls = (c), .splat = CT_SIMT_##splat_row, .move = CT_SIMT_MOVE_##n, .set = CT_SIMT_SET_##n,    \
    .select_m = CT_SIMT_SELECT_##n##m, .select_s = CT_SIMT_SELECT_##n##s,                          \
    .load_u = CT_SIMT_##load_row, .load_p = CT_SIMT_LOAD_##mem##_p,                                \
    .load_i32 = CT_SIMT_LOAD_##mem##_i32, .load_i64 = CT_SIMT_LOAD_##mem##_i64,                    \
    .load_r = CT_SIMT_LOAD_##mem##_r, .store_p = CT_SIMT_STORE_##mem##_p,                          \
    .store_i32 = CT_SIMT_STORE_##mem##_i32, .store_i64 = CT_SIMT_STORE_##mem##_i64,                \
    .store_r = CT_SIMT_STORE_##mem##_r                                                             \
  }
/* By the C type of an element's place. */
#define MOVES_double MOVES(CT_CLASS_LANES8, 8, 8, SPLAT_8, LOAD_f64_u)
#define MOVES_float MOVES(CT_CLASS_LANES4, 4, 4, SPLAT_4f, LOAD_f32_u)
#define MOVES_int64_t MOVES(CT_CLASS_LANES8, 8, 8, SPLAT_8, LOAD_i64_u)
#define MOVES_int32_t MOVES(CT_CLASS_LANES4, 4, 4, SPLAT_4i, LOAD_i32_u)
#define MOVES_int16_t MOVES(CT_CLASS_LANES4, 4, u16, SPLAT_4i, LOAD_u16_u)
#define MOVES_int8_t MOVES(CT_CLASS_LANES4, 4, u8, SPLAT_4i, LOAD_u8_u)
#define MOVES_uint64_t MOVES_int64_t
#define MOVES_uint32_t MOVES_int32_t
#define MOVES_uint16_t MOVES_int16_t
#define MOVES_uint8_t MOVES_int8_t
#define MOVES_FLOAT(ctype) MOVES_##ctype
#define MOVES_INT(ctype) MOVES_##ctype
#define MOVES_UINT(ctype) MOVES_##ctype
#define MOVES_BOOL(ctype) MOVES(CT_CLASS_MASK, 1, 1, SPLAT_1, LOAD_b_u)
const CtMoves ct_low_moves[CT_DTYPE_COUNT] = {
#define DTYPE(name, bits, kind, compute, cuda, ctype, ...) [CT_##name] = MOVES_##kind(ctype),
#define CUT(name, ...) [CT_##name] = MOVES_float,
#include "runtime/base/dtypes.def"
};

static const uint32_t class_bytes[] = {
    [CT_CLASS_SCALAR] = 8,
    [CT_CLASS_MASK] = 4,
    [CT_CLASS_LANES4] = 4 * CT_LANES,
    [CT_CLASS_LANES8] = 8 * CT_LANES,
};

CtSlotClass ct_low_class(CtDtype t) { return ct_low_moves[t].cls; }

/* --- slots and instructions --------------------------------------------------------------------------- */

uint32_t ct_low_slot(CtLow *l, CtSlotClass cls, uint32_t bytes, bool fixed) {
  if (!CT_LOW_GROW(l, slots, n_slots, cap_slots)) {
    return 0;
  }
  l->slots[l->n_slots] = (CtLowSlot){.cls = cls, .fixed = fixed, .bytes = bytes, .def = UINT32_MAX};
  return (uint32_t)l->n_slots++;
}

uint32_t ct_low_temp(CtLow *l, CtSlotClass cls, bool fixed) {
  return ct_low_slot(l, cls, class_bytes[cls], fixed);
}

void ct_low_emit(CtLow *l, CtLowCode *s, CtIn in) {
  if (CT_GROW(l->alloc, s->in, s->cap, s->n + 1, NULL) != CT_OK ||
      CT_GROW(l->alloc, s->locs, s->cap_locs, s->n + 1, NULL) != CT_OK) {
    l->failed = true;
    return;
  }
  s->locs[s->n] = l->loc;
  s->in[s->n++] = in;
}

/* --- memo --------------------------------------------------------------------------------------------- */

static uint32_t hash_of(const uint64_t key[4]) {
  uint64_t h = 0;
  for (int i = 0; i < 4; i++) {
    h = ct_hash_table_mix(h, key[i]);
  }
  return (uint32_t)h;
}

static bool encloses(const CtLow *l, CtRegion outer, CtRegion inner) {
  while (inner != 0 && inner != outer) {
    CtVal owner = l->ir->regions[inner].owner;
    inner = owner == 0 ? 0 : ct_inst(l->ir, owner)->region;
  }
  return inner == outer;
}

static bool is_memo_of(const CtLow *l, const CtMemo *m, const uint64_t key[4]) {
  return memcmp(m->key, key, sizeof m->key) == 0 &&
         (m->region == 0 || encloses(l, m->region, l->region));
}

bool ct_low_find(CtLow *l, const uint64_t key[4], uint32_t *slot) {
  if (!ct_low_reserve(l, &l->memo_at)) {
    return false;
  }
  const CtHashSlot *at = ct_hash_table_first(&l->memo_at, hash_of(key));
  while (at->number != 0 && !is_memo_of(l, &l->memos[at->number - 1], key)) {
    at = ct_hash_table_next(&l->memo_at, at);
  }
  if (at->number != 0) {
    *slot = l->memos[at->number - 1].slot;
  }
  return at->number != 0;
}

void ct_low_remember(CtLow *l, const uint64_t key[4], uint32_t slot, bool hoisted) {
  if (!CT_LOW_GROW(l, memos, n_memos, cap_memos) || !ct_low_reserve(l, &l->memo_at)) {
    return;
  }
  CtMemo *m = &l->memos[l->n_memos++];
  *m = (CtMemo){.slot = slot, .region = hoisted ? 0 : l->region};
  memcpy(m->key, key, sizeof m->key);
  uint32_t hash = hash_of(key);
  CtHashSlot *at = ct_hash_table_first(&l->memo_at, hash);
  while (at->number != 0) {
    at = ct_hash_table_next(&l->memo_at, at);
  }
  ct_hash_table_put(&l->memo_at, at, hash, (uint32_t)l->n_memos);
}

enum { KEY_CONST = 1, KEY_SPLAT };

/* --- values ------------------------------------------------------------------------------------------- */

uint32_t ct_low_const(CtLow *l, CtScalar v) {
  const uint64_t key[4] = {KEY_CONST, (uint64_t)v.i, 0, 0};
  uint32_t slot;
  if (ct_low_find(l, key, &slot)) {
    return slot;
  }
  slot = ct_low_temp(l, CT_CLASS_SCALAR, true);
  if (CT_LOW_GROW(l, consts, n_consts, cap_consts) &&
      CT_LOW_GROW(l, const_slots, n_consts, cap_const_slots)) {
    l->consts[l->n_consts] = v;
    l->const_slots[l->n_consts++] = slot;
    ct_low_remember(l, key, slot, true);
  }
  return slot;
}

static CtScalar const_value(const CtInst *inst) {
  CtDtype t = (CtDtype)inst->type;
  CtScalar s = {0};
  if (ct_is_bits(t)) {
    s.i = (int64_t)ct_bits_of_float(t, inst->imm.f);
  } else if (t == CT_f64) {
    s.f64 = inst->imm.f;
  } else if (ct_is_float(t)) {
    s.f32 = ct_f32_of_bits((uint32_t)ct_bits_of_float(t, inst->imm.f));
  } else if (ct_is_narrow(t)) {
    s.i = (int64_t)ct_bits_of_int(t, inst->imm.i);
  } else {
    s.i = t == CT_u32 ? (int32_t)inst->imm.i : inst->imm.i;
  }
  return s;
}

/* A leaf gets its slot at its first use. */
static uint32_t leaf_const(CtLow *l, const CtInst *inst) {
  return ct_low_const(l, const_value(inst));
}

static uint32_t leaf_param(CtLow *l, const CtInst *inst) {
  uint32_t slot = ct_low_temp(l, CT_CLASS_SCALAR, true);
  if (CT_LOW_GROW(l, params, n_params, cap_params)) {
    l->params[l->n_params++] = (CtSimtParam){(uint32_t)inst->imm.i, slot, (CtDtype)inst->type};
  }
  return slot;
}

static uint32_t axis(CtLow *l, uint32_t slots[3], int64_t i, CtSlotClass cls) {
  if (slots[i] == 0) {
    slots[i] = ct_low_temp(l, cls, true);
  }
  return slots[i];
}

static uint32_t leaf_tid(CtLow *l, const CtInst *inst) {
  return axis(l, l->tid, inst->imm.i, CT_CLASS_LANES4);
}
static uint32_t leaf_bid(CtLow *l, const CtInst *inst) {
  return axis(l, l->bid, inst->imm.i, CT_CLASS_SCALAR);
}
static uint32_t leaf_gdim(CtLow *l, const CtInst *inst) {
  return axis(l, l->gdim, inst->imm.i, CT_CLASS_SCALAR);
}
static uint32_t leaf_variable(CtLow *l, const CtInst *inst) { /* see ct_low_variable */
  (void)l;
  (void)inst;
  CT_UNREACHABLE();
}

static uint32_t (*const leaves[CT_OP_COUNT])(CtLow *l, const CtInst *inst) = {
#define LOW(name) leaf_##name
#define IN(NAME)
#define ROW_LEAF(NAME, engine) [CT_OP_##NAME] = engine,
#define ROW_PURE(...)
#define ROW_READ(...)
#define ROW_EFFECT(...)
#define ROW_JUMP(...)
#define ROW_TILE(...)
#define ROW_REGION(...)
#define OP(NAME, text, n, result, cls, data, traits, engine, ...) ROW_##cls(NAME, engine)
#include "runtime/ir/ops.def"
};

uint32_t ct_low_natural(CtLow *l, CtVal v) {
  const CtInst *inst = ct_inst(l->ir, v);
  if (l->slot_of[v] == 0 && leaves[inst->op] != NULL) {
    l->slot_of[v] = leaves[inst->op](l, inst);
  }
  CT_ASSERT(l->slot_of[v] != 0 || l->failed);
  return l->slot_of[v];
}

uint32_t ct_low_scalar(CtLow *l, CtVal v) {
  CT_ASSERT(!ct_low_is(l, v, CT_VARYING));
  return ct_low_natural(l, v);
}

uint32_t ct_low_lanes(CtLow *l, CtVal v) {
  uint32_t s = ct_low_natural(l, v);
  if (ct_low_is(l, v, CT_VARYING)) {
    return s;
  }
  const CtMoves *m = &ct_low_moves[ct_inst(l->ir, v)->type];
  const uint64_t key[4] = {KEY_SPLAT, s, m->splat, 0};
  uint32_t slot;
  if (ct_low_find(l, key, &slot)) {
    return slot;
  }
  bool hoist = ct_low_is(l, v, CT_INVARIANT);
  slot = ct_low_temp(l, m->cls, hoist);
  CT_EMIT_OR_HOIST(l, hoist, m->splat, .d = slot, .a = s);
  ct_low_remember(l, key, slot, hoist);
  return slot;
}

uint32_t ct_low_result(CtLow *l, CtVal v, bool hoist) {
  CtDtype t = (CtDtype)ct_inst(l->ir, v)->type;
  CtSlotClass cls = ct_low_is(l, v, CT_VARYING) ? ct_low_moves[t].cls : CT_CLASS_SCALAR;
  return l->slot_of[v] = ct_low_temp(l, cls, hoist);
}

uint32_t ct_low_variable(CtLow *l, CtVal var) {
  if (l->slot_of[var] == 0) {
    CtSlotClass cls =
        ct_low_varies(l, var) ? ct_low_moves[ct_inst(l->ir, var)->type].cls : CT_CLASS_SCALAR;
    l->slot_of[var] = ct_low_slot(l, CT_CLASS_VARIABLE, class_bytes[cls], true);
  }
  return l->slot_of[var];
}
