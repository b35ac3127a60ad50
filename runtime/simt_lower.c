/* simt_lower.c: lowering to the CPU engine, second stage: instructions over virtual slots.

   What depends on the launch and the thread only goes to the prologue. Structure becomes masks and
   jumps: a construct that lanes may leave one by one keeps the mask to go on with in a row of saved
   masks, rows being numbered by nesting; a BREAK takes its lanes out of the rows of all constructs
   inside its target. Wherever lanes come together the mask may turn out empty, and then control goes
   to the next such place outwards. */
#include "simt_lower.h"

#include <string.h>

#include "convert.h"

/* --- tables ------------------------------------------------------------------------------------------ */

/* The first row of an operation on a type, 0 (which is an ADD) where there is none. */
static const uint16_t first_row[CT_OP_COUNT][CT_DTYPE_COUNT] = {
#define BIN(op, t) [CT_OP_##op][CT_##t] = CT_SIMT_##op##_##t##_ss,
#define CMP(op, t) [CT_OP_##op][CT_##t] = CT_SIMT_##op##_##t##_ss,
#define UN(op, t) [CT_OP_##op][CT_##t] = CT_SIMT_##op##_##t##_s,
#define FMA(t) [CT_OP_FMA][CT_##t] = CT_SIMT_FMA_##t##_sss,
#define CAST(t, f)
#define BOOLCAST(t)
#define X(name, roles)
#include "simt_ops.def"
};

/* first_cast[to][from] */
static const uint16_t first_cast[CT_DTYPE_COUNT][CT_DTYPE_COUNT] = {
#define BIN(op, t)
#define CMP(op, t)
#define UN(op, t)
#define FMA(t)
#define CAST(t, f) [CT_##t][CT_##f] = CT_SIMT_CAST_##t##_##f##_s,
#define BOOLCAST(t)                                                                                \
  [CT_##t][CT_bool] = CT_SIMT_CAST_##t##_b_s, [CT_bool][CT_##t] = CT_SIMT_CAST_b_##t##_s,
#define X(name, roles)
#include "simt_ops.def"
};

/* Operations on booleans: on scalars, on masks. */
static const uint16_t bool_rows[CT_OP_COUNT][2] = {
    [CT_OP_LAND] = {CT_SIMT_LAND_s, CT_SIMT_LAND_m}, [CT_OP_LOR] = {CT_SIMT_LOR_s, CT_SIMT_LOR_m},
    [CT_OP_LNOT] = {CT_SIMT_LNOT_s, CT_SIMT_LNOT_m}, [CT_OP_LT] = {CT_SIMT_LT_i64_ss, CT_SIMT_LT_m},
    [CT_OP_LE] = {CT_SIMT_LE_i64_ss, CT_SIMT_LE_m},  [CT_OP_EQ] = {CT_SIMT_EQ_i64_ss, CT_SIMT_EQ_m},
    [CT_OP_NE] = {CT_SIMT_NE_i64_ss, CT_SIMT_NE_m},
};

/* What differs by element type: instructions that move values. */
typedef struct Moves {
  CtSlotClass cls;
  uint16_t splat, move, set, select_m, select_s;
  uint16_t load_u, load_p, load_i32, load_i64, load_r;
  uint16_t store_p, store_i32, store_i64, store_r;
} Moves;

/* n: bytes of a lane; mem: which elements there are in memory. */
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
#define MOVES_16 MOVES(CT_CLASS_LANES4, 4, u16, SPLAT_4i, LOAD_u16_u)
#define MOVES_8 MOVES(CT_CLASS_LANES4, 4, u8, SPLAT_4i, LOAD_u8_u)
static const Moves moves[CT_DTYPE_COUNT] = {
    [CT_f64] = MOVES(CT_CLASS_LANES8, 8, 8, SPLAT_8, LOAD_f64_u),
    [CT_f32] = MOVES(CT_CLASS_LANES4, 4, 4, SPLAT_4f, LOAD_f32_u),
    [CT_tf32] = MOVES(CT_CLASS_LANES4, 4, 4, SPLAT_4f, LOAD_f32_u),
    [CT_f16] = MOVES_16,
    [CT_bf16] = MOVES_16,
    [CT_f8e4m3] = MOVES_8,
    [CT_f8e5m2] = MOVES_8,
    [CT_i64] = MOVES(CT_CLASS_LANES8, 8, 8, SPLAT_8, LOAD_i64_u),
    [CT_i32] = MOVES(CT_CLASS_LANES4, 4, 4, SPLAT_4i, LOAD_i32_u),
    [CT_i16] = MOVES_16,
    [CT_i8] = MOVES_8,
    [CT_u64] = MOVES(CT_CLASS_LANES8, 8, 8, SPLAT_8, LOAD_i64_u),
    [CT_u32] = MOVES(CT_CLASS_LANES4, 4, 4, SPLAT_4i, LOAD_i32_u),
    [CT_u16] = MOVES_16,
    [CT_u8] = MOVES_8,
    [CT_bool] = MOVES(CT_CLASS_MASK, 1, 1, SPLAT_1, LOAD_b_u),
};

static const uint32_t class_bytes[] = {
    [CT_CLASS_SCALAR] = 8,
    [CT_CLASS_MASK] = 4,
    [CT_CLASS_LANES4] = 4 * CT_LANES,
    [CT_CLASS_LANES8] = 8 * CT_LANES,
};

CtSlotClass ct_low_class(CtDtype t) { return moves[t].cls; }

/* --- slots and instructions --------------------------------------------------------------------------- */

uint32_t ct_low_slot(CtLow *l, CtSlotClass cls, uint32_t bytes, bool fixed) {
  if (!CT_LOW_GROW(l, slots, n_slots, cap_slots)) {
    return 0;
  }
  l->slots[l->n_slots] = (CtLowSlot){.cls = cls, .fixed = fixed, .bytes = bytes, .def = UINT32_MAX};
  return (uint32_t)l->n_slots++;
}

static uint32_t temp(CtLow *l, CtSlotClass cls, bool fixed) {
  return ct_low_slot(l, cls, class_bytes[cls], fixed);
}

CtIn *ct_low_emit(CtLow *l, bool hoist, CtSimtOp op, uint32_t d, uint32_t a, uint32_t b, uint32_t c,
                  int64_t imm) {
  CtStream *s = hoist ? &l->prologue : &l->body;
  if (ct_grow(l->alloc, &s->in, &s->cap, s->n + 1, sizeof *s->in, NULL) != CT_OK ||
      ct_grow(l->alloc, &s->locs, &s->cap_locs, s->n + 1, sizeof *s->locs, NULL) != CT_OK) {
    l->failed = true;
    return NULL;
  }
  s->locs[s->n] = l->loc;
  s->in[s->n] = (CtIn){.u.op = op, .d = d, .a = a, .b = b, .c = c, .imm = imm};
  return &s->in[s->n++];
}

#define EMIT(l, hoist, op, d, a, b, c)                                                             \
  ((void)ct_low_emit((l), (hoist), (CtSimtOp)(op), (d), (a), (b), (c), 0))

/* --- memo --------------------------------------------------------------------------------------------- */

static uint32_t *bucket_of(CtLow *l, const uint64_t key[4]) {
  uint64_t h = 0;
  for (int i = 0; i < 4; i++) {
    h = (h ^ key[i]) * 0xFF51AFD7ED558CCDu;
    h ^= h >> 32;
  }
  return &l->buckets[h % CT_MEMO_BUCKETS];
}

static bool encloses(const CtLow *l, CtRegion outer, CtRegion inner) {
  while (inner != 0 && inner != outer) {
    CtVal owner = l->ir->regions[inner].owner;
    inner = owner == 0 ? 0 : ct_inst(l->ir, owner)->region;
  }
  return inner == outer;
}

bool ct_low_find(CtLow *l, const uint64_t key[4], uint32_t *slot) {
  for (uint32_t i = *bucket_of(l, key); i != 0; i = l->memos[i].next) {
    const CtMemo *m = &l->memos[i];
    if (memcmp(m->key, key, sizeof m->key) == 0 &&
        (m->region == 0 || encloses(l, m->region, l->region))) {
      *slot = m->slot;
      return true;
    }
  }
  return false;
}

void ct_low_remember(CtLow *l, const uint64_t key[4], uint32_t slot, bool hoisted) {
  if (!CT_LOW_GROW(l, memos, n_memos, cap_memos)) {
    return;
  }
  uint32_t *bucket = bucket_of(l, key);
  CtMemo *m = &l->memos[l->n_memos];
  *m = (CtMemo){.slot = slot, .region = hoisted ? 0 : l->region, .next = *bucket};
  memcpy(m->key, key, sizeof m->key);
  *bucket = (uint32_t)l->n_memos++;
}

enum { KEY_CONST = 1, KEY_SPLAT };

/* --- values ------------------------------------------------------------------------------------------- */

uint32_t ct_low_const(CtLow *l, CtScalar v) {
  const uint64_t key[4] = {KEY_CONST, (uint64_t)v.i, 0, 0};
  uint32_t slot;
  if (ct_low_find(l, key, &slot)) {
    return slot;
  }
  slot = temp(l, CT_CLASS_SCALAR, true);
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
  uint32_t bits;
  switch (t) {
    case CT_f64: s.f64 = inst->imm.f; break;
    case CT_f32: s.f32 = (float)inst->imm.f; break;
    case CT_tf32:
      bits = (uint32_t)ct_bits_of_float(t, inst->imm.f);
      memcpy(&s.f32, &bits, sizeof bits);
      break;
    case CT_u32: s.i = (int32_t)inst->imm.i; break;
    default: s.i = inst->imm.i; break;
  }
  if (ct_is_narrow(t) && t != CT_tf32) {
    s.i = (int64_t)(ct_is_float(t) ? ct_bits_of_float(t, inst->imm.f)
                                   : ct_bits_of_int(t, inst->imm.i));
  }
  return s;
}

static uint32_t param(CtLow *l, const CtInst *inst) {
  uint32_t slot = temp(l, CT_CLASS_SCALAR, true);
  if (CT_LOW_GROW(l, params, n_params, cap_params)) {
    l->params[l->n_params++] = (CtSimtParam){(uint32_t)inst->imm.i, slot, (CtDtype)inst->type};
  }
  return slot;
}

static uint32_t axis(CtLow *l, uint32_t slots[3], int64_t i, CtSlotClass cls) {
  if (slots[i] == 0) {
    slots[i] = temp(l, cls, true);
  }
  return slots[i];
}

/* A leaf gets its slot when it is first used. */
static uint32_t leaf(CtLow *l, CtVal v) {
  const CtInst *inst = ct_inst(l->ir, v);
  switch ((CtOp)inst->op) {
    case CT_OP_CONST: return ct_low_const(l, const_value(inst));
    case CT_OP_PARAM: return param(l, inst);
    case CT_OP_TID: return axis(l, l->tid, inst->imm.i, CT_CLASS_LANES4);
    case CT_OP_BID: return axis(l, l->bid, inst->imm.i, CT_CLASS_SCALAR);
    case CT_OP_GDIM: return axis(l, l->gdim, inst->imm.i, CT_CLASS_SCALAR);
    default: CT_UNREACHABLE();
  }
}

static uint32_t natural(CtLow *l, CtVal v) {
  if (l->slot_of[v] == 0 && ct_ops[ct_inst(l->ir, v)->op].cls == CT_CLS_LEAF) {
    l->slot_of[v] = leaf(l, v);
  }
  CT_ASSERT(l->slot_of[v] != 0 || l->failed);
  return l->slot_of[v];
}

uint32_t ct_low_scalar(CtLow *l, CtVal v) {
  CT_ASSERT(!ct_low_is(l, v, CT_VARYING));
  return natural(l, v);
}

uint32_t ct_low_lanes(CtLow *l, CtVal v) {
  uint32_t s = natural(l, v);
  if (ct_low_is(l, v, CT_VARYING)) {
    return s;
  }
  const Moves *m = &moves[ct_inst(l->ir, v)->type];
  const uint64_t key[4] = {KEY_SPLAT, s, m->splat, 0};
  uint32_t slot;
  if (ct_low_find(l, key, &slot)) {
    return slot;
  }
  bool hoist = ct_low_is(l, v, CT_INVARIANT);
  slot = temp(l, m->cls, hoist);
  EMIT(l, hoist, m->splat, slot, s, 0, 0);
  ct_low_remember(l, key, slot, hoist);
  return slot;
}

/* The slot of a new value; `hoist` says where it is computed. */
static uint32_t result(CtLow *l, CtVal v, bool hoist) {
  CtDtype t = (CtDtype)ct_inst(l->ir, v)->type;
  CtSlotClass cls = ct_low_is(l, v, CT_VARYING) ? moves[t].cls : CT_CLASS_SCALAR;
  return l->slot_of[v] = temp(l, cls, hoist);
}

uint32_t ct_low_result(CtLow *l, CtVal v) { return result(l, v, false); }

/* --- pure operations ------------------------------------------------------------------------------------ */

enum { FORM_SS, FORM_VV, FORM_VS, FORM_SV }; /* of rows of BIN and CMP */

static bool varies(const CtLow *l, CtVal v) { return ct_low_is(l, v, CT_VARYING); }

static void lower_binary(CtLow *l, CtVal v, uint32_t row, bool hoist) {
  const CtVal *args = ct_inst(l->ir, v)->args;
  bool va = varies(l, args[0]), vb = varies(l, args[1]);
  uint32_t form = va ? (vb ? FORM_VV : FORM_VS) : vb ? FORM_SV : FORM_SS;
  uint32_t a = natural(l, args[0]), b = natural(l, args[1]);
  EMIT(l, hoist, row + form, result(l, v, hoist), a, b, 0);
}

static void lower_bool(CtLow *l, CtVal v, bool hoist) {
  const CtInst *inst = ct_inst(l->ir, v);
  bool lanes = varies(l, v);
  uint32_t a[2] = {0, 0};
  for (int i = 0; i < inst->n_args; i++) {
    a[i] = lanes ? ct_low_lanes(l, inst->args[i]) : ct_low_scalar(l, inst->args[i]);
  }
  EMIT(l, hoist, bool_rows[inst->op][lanes], result(l, v, hoist), a[0], a[1], 0);
}

/* FMA rows: sss, vvv, vsv, vvs, vss; the first factor is made the varying one. */
static void lower_fma(CtLow *l, CtVal v, bool hoist) {
  const CtInst *inst = ct_inst(l->ir, v);
  uint32_t row = first_row[CT_OP_FMA][inst->type];
  CtVal a = inst->args[0], b = inst->args[1], c = inst->args[2];
  if (!varies(l, a) && varies(l, b)) {
    a = inst->args[1];
    b = inst->args[0];
  }
  uint32_t sa = varies(l, v) ? ct_low_lanes(l, a) : ct_low_scalar(l, a);
  uint32_t sb = natural(l, b), sc = natural(l, c);
  if (varies(l, v)) {
    row += 1u + (varies(l, b) ? 0u : 1u) + (varies(l, c) ? 0u : 2u);
  }
  EMIT(l, hoist, row, result(l, v, hoist), sa, sb, sc);
}

static void lower_select(CtLow *l, CtVal v, bool hoist) {
  const CtInst *inst = ct_inst(l->ir, v);
  const CtVal *args = inst->args;
  uint32_t c = natural(l, args[0]);
  if (!varies(l, v)) {
    uint32_t a = ct_low_scalar(l, args[1]), b = ct_low_scalar(l, args[2]);
    EMIT(l, hoist, CT_SIMT_SELECT_s, result(l, v, hoist), c, a, b);
    return;
  }
  const Moves *m = &moves[inst->type];
  uint32_t a = ct_low_lanes(l, args[1]), b = ct_low_lanes(l, args[2]);
  EMIT(l, hoist, varies(l, args[0]) ? m->select_m : m->select_s, result(l, v, hoist), c, a, b);
}

static void lower_unary(CtLow *l, CtVal v, uint32_t row, bool hoist) {
  uint32_t a = natural(l, ct_inst(l->ir, v)->args[0]);
  EMIT(l, hoist, row + varies(l, v), result(l, v, hoist), a, 0, 0);
}

/* The signed type of the same bits. */
static CtDtype signed_one(CtDtype t) { return t == CT_u64 ? CT_i64 : t == CT_u32 ? CT_i32 : t; }

/* Does a cast keep the bits of lanes and scalars as they are? */
static bool is_rename(CtDtype to, CtDtype from) {
  if (ct_is_int(to) && ct_is_int(from) && !ct_is_narrow(to) && !ct_is_narrow(from)) {
    return signed_one(to) == signed_one(from);
  }
  return to == from || from == CT_tf32 || from == CT_u16 || from == CT_u8;
}

/* A cast's row; those of unsigned types are the signed ones' where they have none of their own. */
static uint32_t cast_row(CtDtype to, CtDtype from) {
  to = to == CT_u16 ? CT_i16 : to == CT_u8 ? CT_i8 : to;
  const CtDtype as[2] = {to, signed_one(to)}, of[2] = {from, signed_one(from)};
  for (int i = 0; i < 4; i++) {
    uint32_t row = first_cast[as[i % 2]][of[i / 2]];
    if (row != 0) {
      return row;
    }
  }
  CT_UNREACHABLE();
}

/* An integer as an f64 that a narrow float is rounded from: exact, or as good. */
static uint32_t odd_row(CtDtype from) {
  switch (from) {
    case CT_i64: return CT_SIMT_ODD_i64_s;
    case CT_u64: return CT_SIMT_ODD_u64_s;
    default: return cast_row(CT_f64, from);
  }
}

static void lower_int_to_narrow(CtLow *l, CtVal v, CtDtype to, CtDtype from, bool hoist) {
  uint32_t a = natural(l, ct_inst(l->ir, v)->args[0]);
  uint32_t wide = temp(l, varies(l, v) ? CT_CLASS_LANES8 : CT_CLASS_SCALAR, hoist);
  EMIT(l, hoist, odd_row(from) + varies(l, v), wide, a, 0, 0);
  EMIT(l, hoist, cast_row(to, CT_f64) + varies(l, v), result(l, v, hoist), wide, 0, 0);
}

static void lower_cast(CtLow *l, CtVal v, bool hoist) {
  const CtInst *inst = ct_inst(l->ir, v);
  CtDtype to = (CtDtype)inst->type, from = (CtDtype)ct_inst(l->ir, inst->args[0])->type;
  if (is_rename(to, from)) {
    l->slot_of[v] = natural(l, inst->args[0]);
  } else if (ct_is_narrow(to) && ct_is_float(to) && ct_is_int(from)) {
    lower_int_to_narrow(l, v, to, from, hoist);
  } else {
    lower_unary(l, v, cast_row(to, from), hoist);
  }
}

/* Lanes hold bits, and so do scalars but for those of 32-bit integers, which are sign-extended. */
static void lower_bitcast(CtLow *l, CtVal v, bool hoist) {
  const CtInst *inst = ct_inst(l->ir, v);
  CtDtype to = (CtDtype)inst->type, from = (CtDtype)ct_inst(l->ir, inst->args[0])->type;
  uint32_t a = natural(l, inst->args[0]);
  if (varies(l, v) || ct_dtypes[to].bits != 32 || ct_is_float(to) == ct_is_float(from)) {
    l->slot_of[v] = a;
  } else {
    uint32_t row = ct_is_float(from) ? CT_SIMT_BITCAST_i32_f32 : CT_SIMT_BITCAST_f32_i32;
    EMIT(l, hoist, row, result(l, v, hoist), a, 0, 0);
  }
}

/* The row of an operation on a type. */
static uint32_t op_row(CtOp op, CtDtype t) {
  uint32_t row = first_row[op][t];
  return row != 0 ? row : first_row[op][signed_one(t)];
}

static void lower_pure(CtLow *l, CtVal v) {
  const CtInst *inst = ct_inst(l->ir, v);
  bool hoist = ct_low_is(l, v, CT_INVARIANT);
  CtDtype t = (CtDtype)ct_inst(l->ir, inst->args[0])->type; /* that decides the row */
  switch ((CtOp)inst->op) {
    case CT_OP_FMA: lower_fma(l, v, hoist); return;
    case CT_OP_SELECT: lower_select(l, v, hoist); return;
    case CT_OP_CAST: lower_cast(l, v, hoist); return;
    case CT_OP_BITCAST: lower_bitcast(l, v, hoist); return;
    default: break;
  }
  if (t == CT_bool) {
    lower_bool(l, v, hoist);
  } else if (inst->op == CT_OP_ABS && ct_is_unsigned(t)) {
    l->slot_of[v] = natural(l, inst->args[0]);
  } else if (inst->n_args == 1) {
    lower_unary(l, v, op_row((CtOp)inst->op, t), hoist);
  } else {
    lower_binary(l, v, op_row((CtOp)inst->op, t), hoist);
  }
}

/* --- memory and variables --------------------------------------------------------------------------------- */

enum { WRAPS_BIT = 31 };
static uint32_t buf_field(uint32_t buf, bool is_i32) { return buf | (uint32_t)is_i32 << WRAPS_BIT; }

static void lower_load(CtLow *l, CtVal v) {
  const CtInst *inst = ct_inst(l->ir, v);
  const CtBuf *buf = &l->ir->bufs[inst->imm.i];
  const Moves *m = &moves[buf->dtype];
  CtLowAddress at = ct_low_address(l, buf->space, inst->args[0]);
  uint32_t c = buf_field((uint32_t)inst->imm.i, at.is_i32);
  uint32_t d = result(l, v, false);
  if (at.lanes != 0) {
    EMIT(l, false, at.is_i32 ? m->load_i32 : m->load_i64, d, 0, at.lanes, c);
  } else if (buf->space == CT_REGISTER) {
    (void)ct_low_emit(l, false, (CtSimtOp)m->load_r, d, at.base, 0, c, at.imm);
  } else if (!varies(l, v)) {
    (void)ct_low_emit(l, false, (CtSimtOp)m->load_u, d, at.base, 0, c, at.imm);
  } else {
    uint32_t p = at.pattern != 0 ? at.pattern : ct_low_no_pattern(l);
    (void)ct_low_emit(l, false, (CtSimtOp)m->load_p, d, at.base, p, c, at.imm);
  }
}

static void lower_store(CtLow *l, CtVal v) {
  const CtInst *inst = ct_inst(l->ir, v);
  const CtBuf *buf = &l->ir->bufs[inst->imm.i];
  const Moves *m = &moves[buf->dtype];
  uint32_t value = ct_low_lanes(l, inst->args[1]);
  CtLowAddress at = ct_low_address(l, buf->space, inst->args[0]);
  uint32_t c = buf_field((uint32_t)inst->imm.i, at.is_i32);
  if (at.lanes != 0) {
    EMIT(l, false, at.is_i32 ? m->store_i32 : m->store_i64, value, 0, at.lanes, c);
  } else if (buf->space == CT_REGISTER) {
    (void)ct_low_emit(l, false, (CtSimtOp)m->store_r, value, at.base, 0, c, at.imm);
  } else {
    uint32_t p = at.pattern != 0 ? at.pattern : ct_low_no_pattern(l);
    (void)ct_low_emit(l, false, (CtSimtOp)m->store_p, value, at.base, p, c, at.imm);
  }
}

static uint32_t variable(CtLow *l, CtVal var) {
  if (l->slot_of[var] == 0) {
    CtSlotClass cls = varies(l, var) ? moves[ct_inst(l->ir, var)->type].cls : CT_CLASS_SCALAR;
    l->slot_of[var] = ct_low_slot(l, CT_CLASS_VARIABLE, class_bytes[cls], true);
  }
  return l->slot_of[var];
}

static void lower_get(CtLow *l, CtVal v) {
  const CtInst *inst = ct_inst(l->ir, v);
  uint32_t var = variable(l, (CtVal)inst->imm.i);
  uint32_t row = varies(l, v) ? moves[inst->type].move : CT_SIMT_MOVE_s;
  EMIT(l, false, row, result(l, v, false), var, 0, 0);
}

static void lower_set(CtLow *l, CtVal v) {
  const CtInst *inst = ct_inst(l->ir, v);
  CtVal var = (CtVal)inst->imm.i;
  uint32_t slot = variable(l, var), row = CT_SIMT_SET_s, value;
  if (varies(l, var)) {
    row = moves[ct_inst(l->ir, var)->type].set;
    value = ct_low_lanes(l, inst->args[0]);
  } else {
    value = ct_low_scalar(l, inst->args[0]);
  }
  bool whole = !l->is_divergent[inst->region]; /* the peephole pass looks at it */
  (void)ct_low_emit(l, false, (CtSimtOp)row, slot, value, 0, 0, whole);
}

/* --- structure --------------------------------------------------------------------------------------------- */

static uint32_t new_label(CtLow *l) {
  if (!CT_LOW_GROW(l, labels, n_labels, cap_labels)) {
    return 0;
  }
  l->labels[l->n_labels] = -1;
  return (uint32_t)l->n_labels++;
}

static void place(CtLow *l, uint32_t label) {
  if (label < l->n_labels) {
    l->labels[label] = (int32_t)l->body.n;
  }
}

static uint32_t take_rows(CtLow *l, uint32_t n) {
  uint32_t first = l->n_rows;
  l->n_rows += n;
  l->max_rows = l->n_rows > l->max_rows ? l->n_rows : l->max_rows;
  return first;
}

/* Where control goes when no lane is active: the innermost place where lanes come together. */
static uint32_t outer_join(const CtLow *l) {
  for (size_t i = l->n_frames; i-- > 0;) {
    const CtFrame *f = &l->frames[i];
    if (!f->is_scalar_if) {
      return f->in_then ? f->on_else : f->on_next;
    }
  }
  return 0; /* the label of the end */
}

static uint32_t new_construct(CtLow *l, const CtFrame *f) {
  if (!CT_LOW_GROW(l, constructs, n_constructs, cap_constructs)) {
    return 0;
  }
  uint32_t parent = l->n_frames > 0 ? l->frames[l->n_frames - 1].construct : 0;
  l->constructs[l->n_constructs] = (CtConstruct){f->row, parent, ct_inst(l->ir, f->v)->loc};
  return f->is_scalar_if ? parent : (uint32_t)l->n_constructs++;
}

static void push(CtLow *l, CtFrame f) {
  f.construct = new_construct(l, &f);
  if (CT_LOW_GROW(l, frames, n_frames, cap_frames)) {
    l->frames[l->n_frames++] = f;
  }
}

static void enter_if(CtLow *l, CtVal v) {
  const CtInst *inst = ct_inst(l->ir, v);
  bool has_else = inst->u.regions[1] != 0;
  CtFrame f = {.v = v, .is_scalar_if = !varies(l, inst->args[0]), .in_then = has_else};
  f.on_else = new_label(l);
  f.on_next = f.on_exit = new_label(l);
  uint32_t cond = natural(l, inst->args[0]);
  uint32_t target = has_else ? f.on_else : f.on_exit;
  f.row = l->n_rows;
  if (f.is_scalar_if) {
    EMIT(l, false, CT_SIMT_IFNOT, cond, 0, 0, target);
  } else {
    f.row = take_rows(l, 1 + has_else);
    EMIT(l, false, has_else ? CT_SIMT_SPLIT_ELSE : CT_SIMT_SPLIT, f.row, cond, 0, target);
  }
  push(l, f);
}

static void enter_else(CtLow *l) {
  CtFrame *f = &l->frames[l->n_frames - 1];
  if (f->is_scalar_if) {
    EMIT(l, false, CT_SIMT_JUMP, 0, 0, 0, f->on_exit);
    place(l, f->on_else);
  } else {
    place(l, f->on_else);
    EMIT(l, false, CT_SIMT_ELSE, f->row + 1, 0, 0, f->on_exit);
  }
  f->in_then = false;
}

static void open_loop(CtLow *l, CtFrame *f) {
  f->loop = (uint32_t)l->n_loops;
  if (CT_LOW_GROW(l, loops, n_loops, cap_loops)) {
    l->loops[l->n_loops++] = (CtLoopSpan){(uint32_t)l->body.n, (uint32_t)l->body.n};
  }
}

static CtFrame loop_frame(CtLow *l, CtVal v) {
  CtFrame f = {.v = v, .row = take_rows(l, 1)};
  f.on_next = new_label(l);
  f.on_exit = new_label(l);
  return f;
}

static void enter_loop(CtLow *l, CtVal v) {
  CtFrame f = loop_frame(l, v);
  EMIT(l, false, CT_SIMT_SAVE, f.row, 0, 0, 0);
  open_loop(l, &f);
  push(l, f);
}

static void enter_block(CtLow *l, CtVal v) {
  CtFrame f = loop_frame(l, v);
  f.on_next = f.on_exit;
  EMIT(l, false, CT_SIMT_SAVE, f.row, 0, 0, 0);
  push(l, f);
}

/* A FOR counts its remaining iterations, so that its index cannot overflow. */
static void enter_for(CtLow *l, CtVal v) {
  const CtInst *inst = ct_inst(l->ir, v);
  bool lanes = varies(l, v);
  uint32_t s[3];
  for (int i = 0; i < 3; i++) {
    s[i] = lanes ? ct_low_lanes(l, inst->args[i]) : ct_low_scalar(l, inst->args[i]);
  }
  CtFrame f = loop_frame(l, v);
  f.step = s[2];
  f.left = temp(l, lanes ? CT_CLASS_LANES8 : CT_CLASS_SCALAR, false);
  uint32_t index = result(l, v, false);
  bool is_i32 = inst->type == CT_i32;
  if (lanes) {
    EMIT(l, false, is_i32 ? CT_SIMT_TRIPS_i32 : CT_SIMT_TRIPS_i64, f.left, s[0], s[1], s[2]);
    EMIT(l, false, moves[inst->type].move, index, s[0], 0, 0);
    EMIT(l, false, CT_SIMT_LANES_START, f.left, f.row, 0, f.on_exit);
  } else {
    EMIT(l, false, CT_SIMT_TRIPS, f.left, s[0], s[1], s[2]);
    EMIT(l, false, CT_SIMT_MOVE_s, index, s[0], 0, 0);
    EMIT(l, false, CT_SIMT_SAVE, f.row, 0, 0, 0);
    EMIT(l, false, CT_SIMT_IFNOT, f.left, 0, 0, f.on_exit);
  }
  open_loop(l, &f);
  push(l, f);
}

/* The back edge of a loop. `top` is a position, made relative with the labels at the end. */
static void close_loop(CtLow *l, const CtFrame *f) {
  const CtInst *inst = ct_inst(l->ir, f->v);
  if (l->failed) {
    return;
  }
  uint32_t top = new_label(l);
  if (l->failed) {
    return;
  }
  l->labels[top] = (int32_t)l->loops[f->loop].first;
  place(l, f->on_next);
  l->loops[f->loop].last = (uint32_t)l->body.n;
  CtSpin spin = ct_low_spin(l, f->v);
  if (inst->op == CT_OP_LOOP) {
    (void)ct_low_emit(l, false, CT_SIMT_AGAIN, 0, 0, 0, top, spin);
  } else {
    CtSimtOp op = !varies(l, f->v)       ? CT_SIMT_NEXT
                  : inst->type == CT_i32 ? CT_SIMT_LANES_NEXT_i32
                                         : CT_SIMT_LANES_NEXT_i64;
    (void)ct_low_emit(l, false, op, l->slot_of[f->v], f->left, f->step, top, spin);
  }
}

static void leave_construct(CtLow *l) {
  CtFrame f = l->frames[--l->n_frames];
  CtOp op = (CtOp)ct_inst(l->ir, f.v)->op;
  if (op == CT_OP_LOOP || op == CT_OP_FOR) {
    close_loop(l, &f);
  }
  if (op == CT_OP_IF && ct_inst(l->ir, f.v)->u.regions[1] == 0) {
    place(l, f.on_else);
  }
  place(l, f.on_exit);
  if (!f.is_scalar_if) {
    EMIT(l, false, CT_SIMT_JOIN, f.row, 0, 0, outer_join(l));
  }
  l->n_rows = f.row;
}

static void lower_break(CtLow *l, CtVal v) {
  const CtInst *inst = ct_inst(l->ir, v);
  CtVal target = (CtVal)inst->imm.i;
  size_t i = l->n_frames;
  while (i-- > 0 && l->frames[i].v != target) {}
  const CtFrame *f = &l->frames[i];
  if (ct_low_is(l, target, CT_LAST)) {
    EMIT(l, false, CT_SIMT_EXIT, f->row + 1, l->n_rows, 0, outer_join(l));
  } else if (l->is_divergent[inst->region]) {
    EMIT(l, false, CT_SIMT_BREAK, f->row + 1, l->n_rows, 0, outer_join(l));
  } else { /* no lane is elsewhere */
    EMIT(l, false, CT_SIMT_JUMP, 0, 0, 0, f->on_exit);
  }
}

uint32_t ct_low_construct(const CtLow *l) {
  return l->n_frames > 0 ? l->frames[l->n_frames - 1].construct : 0;
}

static void lower_barrier(CtLow *l) {
  EMIT(l, false, CT_SIMT_BARRIER, ct_low_construct(l), 0, 0, 0);
}

/* --- the program --------------------------------------------------------------------------------------------- */

static CtStatus fail_escape(const CtLow *l, CtErr *err) {
  CtStatus status = ct_fail(err, CT_EUNSUPPORTED,
                            "cuda[[...]]: the CPU engine cannot run CUDA C; give a Lua twin or run "
                            "on a CUDA device");
  ct_err_at(err, ct_ir_chunk(l->ir, l->loc), l->loc.line);
  return status;
}

static CtStatus lower_op(CtLow *l, CtVal v, CtErr *err) {
  const CtInst *inst = ct_inst(l->ir, v);
  CtOpClass cls = ct_ops[inst->op].cls;
  if ((cls == CT_CLS_PURE || cls == CT_CLS_READ) && !ct_low_is(l, v, CT_NEEDED)) {
    return CT_OK;
  }
  if (cls == CT_CLS_PURE) {
    lower_pure(l, v);
    return CT_OK;
  }
  if (cls == CT_CLS_TILE) {
    return ct_low_view_op(l, v, err);
  }
  switch ((CtOp)inst->op) {
    case CT_OP_LOAD: lower_load(l, v); break;
    case CT_OP_STORE: lower_store(l, v); break;
    case CT_OP_GET: lower_get(l, v); break;
    case CT_OP_SET: lower_set(l, v); break;
    case CT_OP_BREAK: lower_break(l, v); break;
    case CT_OP_BARRIER: lower_barrier(l); break;
    case CT_OP_ESCAPE: return fail_escape(l, err);
    case CT_OP_SYNC_WARP: EMIT(l, false, CT_SIMT_SYNC_WARP, 0, 0, 0, 0); break;
    case CT_OP_CP_FENCE: EMIT(l, false, CT_SIMT_CP_FENCE, 0, 0, 0, 0); break;
    case CT_OP_CP_WAIT:
      (void)ct_low_emit(l, false, CT_SIMT_CP_WAIT, 0, 0, 0, 0, inst->imm.i);
      break;
    default: ct_low_warp(l, v); break;
  }
  return CT_OK;
}

static void enter_construct(CtLow *l, CtVal v) {
  switch ((CtOp)ct_inst(l->ir, v)->op) {
    case CT_OP_IF: enter_if(l, v); break;
    case CT_OP_FOR: enter_for(l, v); break;
    case CT_OP_LOOP: enter_loop(l, v); break;
    default: enter_block(l, v); break;
  }
}

static CtStatus lower_events(CtLow *l, CtErr *err) {
  CtStatus status = CT_OK;
  (void)new_label(l); /* label 0: the end */
  for (size_t i = 0; i < l->n_events && status == CT_OK && !l->failed; i++) {
    CtEvent e = l->events[i];
    l->loc = ct_inst(l->ir, e.v)->loc;
    l->region = ct_inst(l->ir, e.v)->region;
    switch (e.kind) {
      case CT_EVENT_OP: status = lower_op(l, e.v, err); break;
      case CT_EVENT_ENTER: enter_construct(l, e.v); break;
      case CT_EVENT_ELSE: enter_else(l); break;
      case CT_EVENT_LEAVE: leave_construct(l); break;
    }
  }
  place(l, 0);
  EMIT(l, false, CT_SIMT_END, 0, 0, 0, 0);
  EMIT(l, true, CT_SIMT_END, 0, 0, 0, 0);
  return status;
}

static void *zeroed(CtLow *l, size_t n, size_t size) {
  void *p = ct_arena_alloc(&l->tmp, n * size + 1);
  l->failed = l->failed || p == NULL;
  return p;
}

/* Entry 0 of the arrays that have an unused one. */
static void add_sentinels(CtLow *l) {
  (void)ct_low_slot(l, CT_CLASS_SCALAR, 8, true);
  if (CT_LOW_GROW(l, memos, n_memos, cap_memos) &&
      CT_LOW_GROW(l, constructs, n_constructs, cap_constructs)) {
    l->memos[l->n_memos++] = (CtMemo){.slot = 0};
    l->constructs[l->n_constructs++] = (CtConstruct){.row = 0};
  }
}

static void open_low(CtLow *l, CtAlloc alloc, const CtIr *ir) {
  *l = (CtLow){.alloc = alloc, .ir = ir};
  ct_arena_init(&l->tmp, alloc);
  l->flags = zeroed(l, ir->n_insts, sizeof *l->flags);
  l->is_divergent = zeroed(l, ir->n_regions, sizeof *l->is_divergent);
  l->slot_of = zeroed(l, ir->n_insts, sizeof *l->slot_of);
  l->reg_slots = zeroed(l, ir->n_bufs, sizeof *l->reg_slots);
  add_sentinels(l);
}

static void close_stream(CtLow *l, CtStream *s) {
  ct_free(l->alloc, s->in, s->cap * sizeof *s->in);
  ct_free(l->alloc, s->locs, s->cap_locs * sizeof *s->locs);
}

static void close_low(CtLow *l) {
  CtAlloc a = l->alloc;
  ct_free(a, l->events, l->cap_events * sizeof *l->events);
  ct_free(a, l->slots, l->cap_slots * sizeof *l->slots);
  close_stream(l, &l->prologue);
  close_stream(l, &l->body);
  ct_free(a, l->memos, l->cap_memos * sizeof *l->memos);
  ct_free(a, l->labels, l->cap_labels * sizeof *l->labels);
  ct_free(a, l->frames, l->cap_frames * sizeof *l->frames);
  ct_free(a, l->loops, l->cap_loops * sizeof *l->loops);
  ct_free(a, l->consts, l->cap_consts * sizeof *l->consts);
  ct_free(a, l->const_slots, l->cap_const_slots * sizeof *l->const_slots);
  ct_free(a, l->params, l->cap_params * sizeof *l->params);
  ct_free(a, l->modes, l->cap_modes * sizeof *l->modes);
  ct_free(a, l->tiles, l->cap_tiles * sizeof *l->tiles);
  ct_free(a, l->guards, l->cap_guards * sizeof *l->guards);
  ct_free(a, l->constructs, l->cap_constructs * sizeof *l->constructs);
  ct_free(a, (void *)l->texts, l->cap_texts * sizeof *l->texts);
  ct_arena_clear(&l->tmp);
}

static CtStatus lower(CtLow *l, CtErr *err) {
  CtStatus status = CT_ENOMEM;
  if (!l->failed) {
    ct_low_analyse(l);
    status = l->failed ? CT_ENOMEM : lower_events(l, err);
  }
  if (status == CT_OK && !l->failed) {
    status = ct_low_finish(l, err);
  }
  return l->failed ? ct_fail_nomem(err) : status;
}

CtStatus ct_simt_lower(CtAlloc alloc, const CtIr *ir, CtSimtProgram **out, CtErr *err) {
  CtSimtProgram *p = ct_alloc(alloc, sizeof *p);
  if (p == NULL) {
    return ct_fail_nomem(err);
  }
  *p = (CtSimtProgram){.alloc = alloc};
  ct_arena_init(&p->arena, alloc);
  CtLow *l = ct_alloc(alloc, sizeof *l);
  CtStatus status = CT_ENOMEM;
  if (l != NULL) {
    open_low(l, alloc, ir);
    l->p = p;
    status = lower(l, err);
    close_low(l);
    ct_free(alloc, l, sizeof *l);
  } else {
    status = ct_fail_nomem(err);
  }
  if (status != CT_OK) {
    ct_simt_free(p);
    return status;
  }
  *out = p;
  return CT_OK;
}

void ct_simt_free(CtSimtProgram *p) {
  if (p != NULL) {
    CtAlloc alloc = p->alloc;
    ct_arena_clear(&p->arena);
    ct_free(alloc, p, sizeof *p);
  }
}
