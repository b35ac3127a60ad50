/* ir_file_rows.c: which fields of an IR a file holds. A field that is added to one of these structs needs
   a row here, or a place in the list of what is left out; then the fingerprint differs by itself. */
#include "ir_file_rows.h"

#include <stdatomic.h>
#include <stdatomic.h>
#include <string.h>

/* A struct that has changed needs a row for its new field, and this number; where pointers have 64 bits. */
#define KNOWN(T, bytes)                                                                            \
  _Static_assert(sizeof(void *) != 8 || sizeof(T) == (bytes),                                      \
                 #T " has changed: give its new field a row here")

KNOWN(CtTensorSpec, 48);
KNOWN(CtBuf, 144);
KNOWN(CtGuardAxis, 40);
KNOWN(CtGuard, 328);
KNOWN(CtWithin, 48);
KNOWN(CtView, 64);
KNOWN(CtTile, 256);
KNOWN(CtWgmma, 56);
KNOWN(CtTextOut, 24);
KNOWN(CtTextPlace, 16);
KNOWN(CtEscape, 72);
KNOWN(CtTma, 80);
KNOWN(CtInst, 96);
KNOWN(CtRegionInfo, 12);
KNOWN(CtParam, 32);
KNOWN(CtSlot, 32);
KNOWN(CtRequire, 64);
KNOWN(CtTmaDim, 32);
KNOWN(CtTmaMap, 192);
KNOWN(CtNote, 32);
KNOWN(CtTarget, 24);
KNOWN(CtEmission, 20);
KNOWN(CtIr, 552);
KNOWN(CtIrFunction, 576);

/* --- values ------------------------------------------------------------------------------------- */

static const CtField text_row[] = {{.size = sizeof(char *), .times = 1, .kind = CT_FIELD_TEXT}};
static const CtShape shape_string = CT_SHAPE(string, char *, text_row);
static const CtField value_row[] = {
    {.size = sizeof(CtVal), .times = 1, .kind = CT_FIELD_UINT, .limit = CT_LIMIT_VALUES}};
static const CtShape shape_value = CT_SHAPE(value, CtVal, value_row);
static const CtField bool_row[] = {{.size = sizeof(bool), .times = 1, .kind = CT_FIELD_BOOL}};
static const CtShape shape_bool = CT_SHAPE(bool, bool, bool_row);

static const CtField loc_rows[] = {CT_ROW(CtLoc, line, INT, NONE),
                                   CT_ROW(CtLoc, chunk, UINT, CHUNKS)};
static const CtShape shape_loc = CT_SHAPE(CtLoc, CtLoc, loc_rows);

static const CtField facts_rows[] = {CT_ROW(CtFacts, lo, INT, NONE), CT_ROW(CtFacts, hi, INT, NONE),
                                     CT_ROW(CtFacts, div, INT, NONE)};
static const CtShape shape_facts = CT_SHAPE(CtFacts, CtFacts, facts_rows);

static const CtField layout_rows[] = {CT_ROW(CtLayout, shape, TUPLE, VALUES),
                                      CT_ROW(CtLayout, stride, TUPLE, VALUES)};
static const CtShape shape_layout = CT_SHAPE(CtLayout, CtLayout, layout_rows);

static const CtField swizzle_rows[] = {CT_ROW(CtSwizzle, bits, INT, NONE),
                                       CT_ROW(CtSwizzle, base, INT, NONE),
                                       CT_ROW(CtSwizzle, shift, INT, NONE)};
static const CtShape shape_swizzle = CT_SHAPE(CtSwizzle, CtSwizzle, swizzle_rows);

/* --- memory ------------------------------------------------------------------------------------- */

static const CtField members_rows[] = {CT_ROW(CtTensorSpec, name, TEXT, NONE),
                                       CT_ROW(CtTensorSpec, dtype, UINT, DTYPES),
                                       CT_ROW(CtTensorSpec, index, UINT, DTYPES),
                                       CT_ROW(CtTensorSpec, align, UINT, WORDS),
                                       CT_ROW(CtTensorSpec, shape, TUPLE, WORDS),
                                       CT_ROW(CtTensorSpec, stride, TUPLE, WORDS),
                                       {CT_ONE(CtTensorSpec, facts), .kind = CT_FIELD_ARRAY,
                                        .of = &shape_facts, .n_size = CT_COUNT_COLUMNS}};
static const CtShape shape_members = CT_SHAPE(CtTensorSpec, CtTensorSpec, members_rows);

static const CtField buf_rows[] = {
    CT_ROW(CtBuf, name, TEXT, NONE),        CT_ROW(CtBuf, space, UINT, SPACES),
    CT_ROW(CtBuf, dtype, UINT, DTYPES),     CT_ROW(CtBuf, align, UINT, WORDS),
    CT_PART(CtBuf, layout, shape_layout),   CT_ROW(CtBuf, n_elems, INTEGER, VALUES),
    CT_PART(CtBuf, swizzle, shape_swizzle), CT_ROW(CtBuf, param, UINT, PARAMS),
    CT_ROW(CtBuf, chosen, UINT, VALUES),    CT_ROW(CtBuf, begins, UINT, VALUES),
    CT_ROW(CtBuf, list, UINT, BUFS),        CT_POINTER(CtBuf, members, shape_members),
    CT_ROW(CtBuf, is_wide, BOOL, NONE),     CT_ROW(CtBuf, alias_of, UINT, BUFS),
    CT_ROW(CtBuf, cache, UINT, CACHES),     CT_ROW(CtBuf, remote, UINT, VALUES),
    CT_ROW(CtBuf, bar, UINT, BUFS),         CT_ROW(CtBuf, is_written, BOOL, NONE),
    CT_ROW(CtBuf, address, UINT, BUFS),     CT_ROW(CtBuf, arrivals, UINT, WORDS),
    CT_ROW(CtBuf, has_words, BOOL, NONE),   CT_ROW(CtBuf, is_local, BOOL, NONE),
    CT_ROW(CtBuf, is_fixed, BOOL, NONE),    CT_ROW(CtBuf, data, BYTES, NONE),
    CT_PART(CtBuf, loc, shape_loc)};
static const CtShape shape_buf = CT_SHAPE(CtBuf, CtBuf, buf_rows);

static const CtField axis_rows[] = {CT_ROW(CtGuardAxis, at, INTEGER, VALUES),
                                    CT_ROW(CtGuardAxis, bound, INTEGER, VALUES),
                                    CT_ROW(CtGuardAxis, stride, TUPLE, VALUES)};
static const CtShape shape_axis = CT_SHAPE(CtGuardAxis, CtGuardAxis, axis_rows);
static const CtField guard_rows[] = {CT_ROW(CtGuard, n, UINT, AXES),
                                     CT_COUNTED(CtGuard, axis, n, shape_axis)};
static const CtShape shape_guard = CT_SHAPE(CtGuard, CtGuard, guard_rows);

static const CtShape shape_within;
static const CtField within_rows[] = {
    CT_POINTER(CtWithin, next, shape_within), CT_ROW(CtWithin, crd, INTEGER, VALUES),
    CT_ROW(CtWithin, extent, INTEGER, VALUES), CT_ROW(CtWithin, what, TEXT, NONE)};
static const CtShape shape_within = CT_SHAPE(CtWithin, CtWithin, within_rows);

static const CtField view_rows[] = {
    CT_ROW(CtView, buf, UINT, BUFS),        CT_ROW(CtView, offset, INTEGER, VALUES),
    CT_PART(CtView, layout, shape_layout),  CT_ROW(CtView, name, TEXT, NONE),
    CT_POINTER(CtView, guard, shape_guard), CT_POINTER(CtView, within, shape_within)};
static const CtShape shape_view = CT_SHAPE(CtView, CtView, view_rows);

/* --- operations --------------------------------------------------------------------------------- */

static const CtField loop_rows[] = {CT_ROW(CtGemmLoop, mode, UINT, MODES),
                                    CT_ROW(CtGemmLoop, step, UINT, STEPS),
                                    CT_ROW(CtGemmLoop, turns, BOOL, NONE)};
static const CtShape shape_loop = CT_SHAPE(CtGemmLoop, CtGemmLoop, loop_rows);
static const CtField order_rows[] = {CT_ROW(CtGemmOrder, n, UINT, LOOPS),
                                     CT_COUNTED(CtGemmOrder, loop, n, shape_loop)};
static const CtShape shape_order = CT_SHAPE(CtGemmOrder, CtGemmOrder, order_rows);

/* Left out: what the builder finds again, from the rest (ir_again.c). */
static const CtField tile_rows[] = {
    CT_PART(CtTile, dst, shape_view),    CT_PART(CtTile, a, shape_view),
    CT_PART(CtTile, b, shape_view),      CT_POINTER(CtTile, sfa, shape_view),
    CT_POINTER(CtTile, sfb, shape_view), CT_PART(CtTile, order, shape_order),
    CT_ROW(CtTile, atom, ATOM, NONE)};
const CtShape ct_shape_tile = CT_SHAPE(CtTile, CtTile, tile_rows);

static const CtField out_rows[] = {
    CT_ROW(CtTextOut, name, TEXT, NONE), CT_ROW(CtTextOut, type, UINT, DTYPES),
    CT_ROW(CtTextOut, from, UINT, VALUES), CT_ROW(CtTextOut, val, UINT, VALUES)};
static const CtShape shape_out = CT_SHAPE(CtTextOut, CtTextOut, out_rows);
static const CtField place_rows[] = {CT_ROW(CtTextPlace, name, TEXT, NONE),
                                     CT_ROW(CtTextPlace, buf, UINT, BUFS),
                                     CT_ROW(CtTextPlace, at, UINT, VALUES)};
static const CtShape shape_place = CT_SHAPE(CtTextPlace, CtTextPlace, place_rows);

static const CtField escape_rows[] = {CT_ROW(CtEscape, text, TEXT, NONE),
                                      CT_ROW(CtEscape, n, UINT, WORDS),
                                      CT_ARRAY(CtEscape, names, n, shape_string),
                                      CT_ARRAY(CtEscape, vals, n, shape_value),
                                      CT_ARRAY(CtEscape, is_literal, n, shape_bool),
                                      CT_ROW(CtEscape, n_outs, UINT, WORDS),
                                      CT_ROW(CtEscape, n_places, UINT, WORDS),
                                      CT_ARRAY(CtEscape, outs, n_outs, shape_out),
                                      CT_ARRAY(CtEscape, places, n_places, shape_place),
                                      CT_ROW(CtEscape, is_ptx, BOOL, NONE),
                                      CT_ROW(CtEscape, effect, UINT, EFFECTS)};
const CtShape ct_shape_text = CT_SHAPE(CtEscape, CtEscape, escape_rows);

static const CtField boxes_rows[] = {
    CT_ROW(CtTmaBoxes, n, UINT, NONE), CT_ROW(CtTmaBoxes, fewest, UINT, NONE),
    CT_ROW(CtTmaBoxes, n_dims, UINT, DIMS), CT_EACH(CtTmaBoxes, box, UINT, NONE)};
static const CtShape shape_boxes = CT_SHAPE(CtTmaBoxes, CtTmaBoxes, boxes_rows);
static const CtField tma_rows[] = {
    CT_ROW(CtTma, is_cancel, BOOL, NONE),  CT_ROW(CtTma, map, UINT, MAPS),
    CT_ROW(CtTma, buf, UINT, BUFS),        CT_ROW(CtTma, offset, UINT, VALUES),
    CT_EACH(CtTma, crd, UINT, VALUES),     CT_ROW(CtTma, bar, UINT, BUFS),
    CT_ROW(CtTma, slot, UINT, VALUES),     CT_ROW(CtTma, mask, UINT, VALUES),
    CT_ROW(CtTma, from, UINT, BUFS),       CT_ROW(CtTma, count, UINT, NONE),
    CT_ROW(CtTma, is_of_pair, BOOL, NONE), CT_ROW(CtTma, reduce, UINT, REDUCTIONS),
    CT_ROW(CtTma, cache, UINT, CACHES),    CT_PART(CtTma, boxes, shape_boxes)};
const CtShape ct_shape_tma = CT_SHAPE(CtTma, CtTma, tma_rows);

/* Left out: n_args is of ops.def, and `args` holds it; region, prev and next are of the regions. */
static const CtField inst_rows[] = {
    CT_ROW(CtInst, op, UINT, OPS),
    CT_ROW(CtInst, type, UINT, DTYPES),
    CT_EACH(CtInst, args, UINT, VALUES),
    CT_ROW(CtInst, imm, IMM, NONE),
    CT_ROW(CtInst, u, DATA, NONE),
    CT_PART(CtInst, loc, shape_loc),
    CT_ROW(CtInst, name, TEXT, NONE),
    CT_ROW(CtInst, order, UINT, NONE),
    CT_ROW(CtInst, is_conditional, BOOL, NONE),
    {CT_ONE(CtInst, facts), .kind = CT_FIELD_FACTS, .of = &shape_facts}};
static const CtShape shape_inst = CT_SHAPE(CtInst, CtInst, inst_rows);

static const CtField region_rows[] = {CT_ROW(CtRegionInfo, owner, UINT, VALUES),
                                      CT_ROW(CtRegionInfo, first, MEMBERS, NONE)};
static const CtShape shape_region = CT_SHAPE(CtRegionInfo, CtRegionInfo, region_rows);

/* --- arguments ---------------------------------------------------------------------------------- */

static const CtField param_rows[] = {
    CT_ROW(CtParam, name, TEXT, NONE),        CT_ROW(CtParam, is_tensor, BOOL, NONE),
    CT_ROW(CtParam, dtype, UINT, DTYPES),     CT_ROW(CtParam, buf, UINT, BUFS),
    CT_ROW(CtParam, first_slot, UINT, SLOTS), CT_ROW(CtParam, n_slots, UINT, SLOTS)};
static const CtShape shape_param = CT_SHAPE(CtParam, CtParam, param_rows);

static const CtField slot_rows[] = {
    CT_ROW(CtSlot, kind, UINT, SLOT_KINDS), CT_ROW(CtSlot, dtype, UINT, DTYPES),
    CT_ROW(CtSlot, param, UINT, PARAMS),    CT_ROW(CtSlot, leaf, UINT, WORDS),
    CT_ROW(CtSlot, name, TEXT, NONE),       CT_ROW(CtSlot, val, UINT, VALUES),
    CT_ROW(CtSlot, used, BOOL, NONE)};
static const CtShape shape_slot = CT_SHAPE(CtSlot, CtSlot, slot_rows);

static const CtField require_rows[] = {
    CT_ROW(CtRequire, value, UINT, VALUES), CT_ROW(CtRequire, modulus, INT, NONE),
    CT_ROW(CtRequire, most, INT, NONE),     CT_ROW(CtRequire, op, TEXT, NONE),
    CT_ROW(CtRequire, mode, TEXT, NONE),    CT_ROW(CtRequire, name, TEXT, NONE),
    CT_ROW(CtRequire, divisor, TEXT, NONE), CT_PART(CtRequire, loc, shape_loc)};
static const CtShape shape_require = CT_SHAPE(CtRequire, CtRequire, require_rows);

static const CtField dim_rows[] = {
    CT_ROW(CtTmaDim, extent, UINT, VALUES), CT_ROW(CtTmaDim, stride, UINT, VALUES),
    CT_ROW(CtTmaDim, div, INT, NONE), CT_ROW(CtTmaDim, mul, INT, NONE),
    CT_ROW(CtTmaDim, box, UINT, WORDS)};
static const CtShape shape_dim = CT_SHAPE(CtTmaDim, CtTmaDim, dim_rows);
static const CtField map_rows[] = {
    CT_ROW(CtTmaMap, name, TEXT, NONE),     CT_ROW(CtTmaMap, buf, UINT, BUFS),
    CT_ROW(CtTmaMap, offset, UINT, VALUES), CT_ROW(CtTmaMap, dtype, UINT, DTYPES),
    CT_ROW(CtTmaMap, swizzle, UINT, NONE),  CT_ROW(CtTmaMap, promotion, UINT, NONE),
    CT_ROW(CtTmaMap, n, UINT, DIMS),        CT_COUNTED(CtTmaMap, dim, n, shape_dim)};
static const CtShape shape_map = CT_SHAPE(CtTmaMap, CtTmaMap, map_rows);

static const CtField note_rows[] = {
    CT_PART(CtNote, loc, shape_loc), CT_ROW(CtNote, what, TEXT, NONE),
    CT_ROW(CtNote, n_yes, INT, NONE), CT_ROW(CtNote, n_no, INT, NONE)};
static const CtShape shape_note = CT_SHAPE(CtNote, CtNote, note_rows);

/* --- the kernel --------------------------------------------------------------------------------- */

static const CtField target_rows[] = {
    CT_ROW(CtTarget, is_cuda, BOOL, NONE), CT_ROW(CtTarget, is_common, BOOL, NONE),
    CT_ROW(CtTarget, sm, INT, NONE), CT_ROW(CtTarget, shared_max, UINT, NONE),
    CT_ROW(CtTarget, name, TEXT, NONE)};
static const CtShape shape_target = CT_SHAPE(CtTarget, CtTarget, target_rows);

static const CtField emission_rows[] = {
    CT_ROW(CtEmission, registers, INT, NONE), CT_ROW(CtEmission, planned_registers, INT, NONE),
    CT_ROW(CtEmission, unroll, INT, NONE),    CT_ROW(CtEmission, order, INT, NONE),
    CT_ROW(CtEmission, pin, BOOL, NONE),      CT_ROW(CtEmission, cutlass, BOOL, NONE)};
static const CtShape shape_emission = CT_SHAPE(CtEmission, CtEmission, emission_rows);

static const CtField head_rows[] = {CT_ROW(CtIr, name, TEXT, NONE),
                                    CT_PART(CtIr, target, shape_target),
                                    CT_EACH(CtIr, block, INT, NONE),
                                    CT_EACH(CtIr, cluster, INT, NONE),
                                    CT_ROW(CtIr, smem, INT, NONE),
                                    CT_ROW(CtIr, min_blocks, INT, NONE),
                                    CT_ROW(CtIr, max_unroll, INT, NONE),
                                    CT_PART(CtIr, emission, shape_emission),
                                    CT_ROW(CtIr, contract, BOOL, NONE),
                                    CT_ROW(CtIr, is_checked, BOOL, NONE),
                                    CT_ROW(CtIr, finds_overflow, BOOL, NONE),
                                    CT_ROW(CtIr, may_overlap, BOOL, NONE),
                                    CT_ROW(CtIr, has_addresses, BOOL, NONE),
                                    CT_ROW(CtIr, waits_for_grids, BOOL, NONE),
                                    CT_ROW(CtIr, wants_notes, BOOL, NONE),
                                    CT_ROW(CtIr, n_asserts, UINT, WORDS),
                                    CT_ROW(CtIr, n_prints, UINT, WORDS),
                                    CT_ROW(CtIr, n_chunks, UINT, WORDS),
                                    CT_ROW(CtIr, n_insts, UINT, WORDS),
                                    CT_ROW(CtIr, n_regions, UINT, WORDS),
                                    CT_ROW(CtIr, n_bufs, UINT, WORDS),
                                    CT_ROW(CtIr, n_params, UINT, WORDS),
                                    CT_ROW(CtIr, n_slots, UINT, WORDS),
                                    CT_ROW(CtIr, n_requires, UINT, WORDS),
                                    CT_ROW(CtIr, n_maps, UINT, WORDS),
                                    CT_ROW(CtIr, n_notes, UINT, WORDS)};
const CtShape ct_shape_head = CT_SHAPE(head, CtIr, head_rows);

/* Left out is what only a trace needs: the sources of tensors of coordinates, samples, tables of what is
   shared, which floats have no type, the texts of constants. */
static const CtField body_rows[] = {CT_TABLE(chunks, n_chunks, cap_chunks, 1, shape_string),
                                    CT_TABLE(bufs, n_bufs, cap_bufs, 1, shape_buf),
                                    CT_TABLE(params, n_params, cap_params, 0, shape_param),
                                    CT_TABLE(slots, n_slots, cap_slots, 0, shape_slot),
                                    CT_TABLE(insts, n_insts, cap_insts, 1, shape_inst),
                                    CT_TABLE(regions, n_regions, cap_regions, 1, shape_region),
                                    CT_TABLE(requires_, n_requires, cap_requires, 0, shape_require),
                                    CT_TABLE(maps, n_maps, cap_maps, 0, shape_map),
                                    CT_ARRAY(CtIr, notes, n_notes, shape_note),
                                    CT_ROW(CtIr, smem_buf, UINT, BUFS),
                                    CT_PART(CtIr, loc, shape_loc),
                                    CT_PART(CtIr, grid_barrier, shape_loc)};
const CtShape ct_shape_body = CT_SHAPE(body, CtIr, body_rows);

const CtShape *const ct_shapes[] = {
    &shape_loc,    &shape_facts, &shape_layout,   &shape_swizzle, &shape_members,
    &shape_buf,    &shape_axis,  &shape_guard,    &shape_within,  &shape_view,
    &shape_loop,   &shape_order, &shape_target,   &shape_out,     &ct_shape_tile,
    &shape_place,  &shape_boxes, &shape_inst,     &shape_region,  &ct_shape_text,
    &ct_shape_tma, &shape_param, &shape_slot,     &shape_map,     &shape_require,
    &shape_dim,    &shape_note,  &shape_emission, &ct_shape_head, &ct_shape_body,
    NULL};

/* --- what both sides ask ------------------------------------------------------------------------ */

uint64_t ct_field_uint(const void *at, size_t size) {
  uint64_t v8;
  uint32_t v4;
  uint16_t v2;
  uint8_t v1;
  switch (size) {
    case 8: return memcpy(&v8, at, size), v8;
    case 4: return memcpy(&v4, at, size), v4;
    case 2: return memcpy(&v2, at, size), v2;
    default: return memcpy(&v1, at, 1), v1;
  }
}

uint64_t ct_field_count(const CtField *field, const void *base) {
  if (field->n_size == CT_COUNT_COLUMNS) {
    return (uint64_t)(ct_ir_list_columns(base) - 1);
  }
  return field->n_size == 0 ? 1 : ct_field_uint((const char *)base + field->n_at, field->n_size);
}

int ct_field_times(const CtField *field, const void *base) {
  uint64_t n = field->kind == CT_FIELD_PART && field->n_size > 0 ? ct_field_count(field, base)
                                                                 : field->times;
  return (int)(n < field->times ? n : field->times);
}

const CtShape *ct_shape_of_op(CtOp op) {
  return ct_ops[op].cls == CT_CLS_TILE ? &ct_shape_tile
         : ct_op_has_text(op)          ? &ct_shape_text
         : ct_op_is_tma(op)            ? &ct_shape_tma
                                       : NULL;
}

void ct_ir_file_limits(const CtIr *ir, uint64_t out[CT_LIMIT_COUNT]) {
  static const uint64_t limits[CT_LIMIT_COUNT] = {
#define X(NAME, value) [CT_LIMIT_##NAME] = (uint64_t)(value),
      CT_LIMITS(X)
#undef X
  };
  memcpy(out, limits, sizeof limits);
  out[CT_LIMIT_VALUES] = ir->n_insts;
  out[CT_LIMIT_REGIONS] = ir->n_regions;
  out[CT_LIMIT_BUFS] = ir->n_bufs;
  out[CT_LIMIT_PARAMS] = ir->n_params + 1;
  out[CT_LIMIT_SLOTS] = ir->n_slots + 1;
  out[CT_LIMIT_CHUNKS] = ir->n_chunks;
  out[CT_LIMIT_MAPS] = ir->n_maps + 1; /* box_fault looks whether it has one */
}

/* --- the fingerprint ---------------------------------------------------------------------------- */

static uint64_t mix(uint64_t h, uint64_t v) { /* FNV-1a by bytes */
  for (int i = 0; i < 8; i++) {
    h = (h ^ ((v >> (8 * i)) & 0xff)) * 0x100000001b3u;
  }
  return h;
}

static uint64_t mix_text(uint64_t h, const char *s) {
  for (; s != NULL && *s != '\0'; s++) {
    h = mix(h, (uint8_t)*s);
  }
  return mix(h, 0);
}

static uint64_t mix_op(uint64_t h, const CtOpInfo *op) {
  h = mix(mix_text(h, op->text), op->n_args);
  h = mix(mix(mix(h, op->result), op->cls), op->data);
  return mix(mix(h, op->types), op->traits);
}

static uint64_t rows_fingerprint(uint64_t h, const CtShape *shape) {
  h = mix_text(h, shape->name);
  for (int i = 0; i < shape->n; i++) {
    const CtField *f = &shape->fields[i];
    h = mix(mix(mix(mix_text(h, f->name), f->kind), f->limit), f->times);
  }
  return h;
}

static uint64_t make_fingerprint(void) {
  uint64_t h = 0xcbf29ce484222325u, limits[CT_LIMIT_COUNT];
  CtIr none = {.n_insts = 0};
  ct_ir_file_limits(&none, limits);
  for (int i = 0; i < CT_OP_COUNT; i++) {
    h = mix_op(h, &ct_ops[i]);
  }
  for (int i = 0; i < CT_DTYPE_COUNT; i++) {
    h = mix_text(h, ct_dtypes[i].name);
  }
  for (int i = 0; i < CT_LIMIT_COUNT; i++) {
    h = mix(h, limits[i]);
  }
  for (int i = 0; ct_shapes[i] != NULL; i++) {
    h = rows_fingerprint(h, ct_shapes[i]);
  }
  return h;
}

uint64_t ct_ir_file_fingerprint(void) {
  static _Atomic uint64_t known; /* it is the same for all threads */
  uint64_t h = atomic_load_explicit(&known, memory_order_relaxed);
  if (h == 0) {
    h = make_fingerprint();
    atomic_store_explicit(&known, h, memory_order_relaxed);
  }
  return h;
}
