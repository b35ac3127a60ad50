/* ir_file_rows.c: which fields of an IR a file holds. A field that is added to one of these structs needs
   a row here, or a place in the list of what is left out; then the fingerprint differs by itself. */
#include "ir_file_rows.h"

#include <string.h>

#define FIELD_SIZE(T, field) (sizeof(((T *)0)->field))
#define ROW(T, field, sort, lim)                                                                   \
  {                                                                                                \
    .name = #field, .at = offsetof(T, field), .size = FIELD_SIZE(T, field), .times = 1,            \
    .kind = CT_FIELD_##sort, .limit = CT_LIMIT_##lim                                               \
  }
#define EACH(T, field, sort, lim)                                                                  \
  {                                                                                                \
    .name = #field, .at = offsetof(T, field), .size = FIELD_SIZE(T, field[0]),                     \
    .times = FIELD_SIZE(T, field) / FIELD_SIZE(T, field[0]), .kind = CT_FIELD_##sort,              \
    .limit = CT_LIMIT_##lim                                                                        \
  }
#define PART(T, field, shape)                                                                      \
  {                                                                                                \
    .name = #field, .at = offsetof(T, field), .size = FIELD_SIZE(T, field), .times = 1,            \
    .kind = CT_FIELD_PART, .of = &(shape)                                                          \
  }
#define PARTS(T, field, shape)                                                                     \
  {                                                                                                \
    .name = #field, .at = offsetof(T, field), .size = FIELD_SIZE(T, field[0]),                     \
    .times = FIELD_SIZE(T, field) / FIELD_SIZE(T, field[0]), .kind = CT_FIELD_PART, .of = &(shape) \
  }
/* Of which so many count. */
#define COUNTED(T, field, n_field, shape)                                                          \
  {                                                                                                \
    .name = #field, .at = offsetof(T, field), .size = FIELD_SIZE(T, field[0]),                     \
    .times = FIELD_SIZE(T, field) / FIELD_SIZE(T, field[0]), .kind = CT_FIELD_PART,                \
    .of = &(shape), .n_at = offsetof(T, n_field), .n_size = FIELD_SIZE(T, n_field)                 \
  }
#define POINTER(T, field, shape)                                                                   \
  {                                                                                                \
    .name = #field, .at = offsetof(T, field), .size = FIELD_SIZE(T, field), .times = 1,            \
    .kind = CT_FIELD_ARRAY, .of = &(shape)                                                         \
  }
#define ARRAY(T, field, n_field, shape)                                                            \
  {                                                                                                \
    .name = #field, .at = offsetof(T, field), .size = FIELD_SIZE(T, field), .times = 1,            \
    .kind = CT_FIELD_ARRAY, .of = &(shape), .n_at = offsetof(T, n_field),                          \
    .n_size = FIELD_SIZE(T, n_field)                                                               \
  }
#define TABLE(field, n_field, cap_field, from, shape)                                              \
  {                                                                                                \
    .name = #field, .at = offsetof(CtIr, field), .size = FIELD_SIZE(CtIr, field), .times = 1,      \
    .kind = CT_FIELD_TABLE, .of = &(shape), .n_at = offsetof(CtIr, n_field),                       \
    .n_size = FIELD_SIZE(CtIr, n_field), .cap_at = offsetof(CtIr, cap_field), .first = (from)      \
  }
#define SHAPE(name, T, rows)                                                                       \
  { #name, sizeof(T), CT_ARRAY_LEN(rows), rows }
/* A struct that has changed needs a row for its new field, and this number; where pointers have 64 bits. */
#define KNOWN(T, bytes)                                                                            \
  _Static_assert(sizeof(void *) != 8 || sizeof(T) == (bytes),                                      \
                 #T " has changed: give its new field a row here")

KNOWN(CtTensorSpec, 48);
KNOWN(CtBuf, 136);
KNOWN(CtGuardAxis, 40);
KNOWN(CtGuard, 328);
KNOWN(CtWithin, 48);
KNOWN(CtView, 64);
KNOWN(CtTile, 240);
KNOWN(CtWgmma, 56);
KNOWN(CtTextOut, 24);
KNOWN(CtTextPlace, 16);
KNOWN(CtEscape, 72);
KNOWN(CtTma, 68);
KNOWN(CtInst, 96);
KNOWN(CtRegionInfo, 12);
KNOWN(CtParam, 32);
KNOWN(CtSlot, 32);
KNOWN(CtRequire, 56);
KNOWN(CtTmaDim, 32);
KNOWN(CtTmaMap, 192);
KNOWN(CtNote, 32);
KNOWN(CtTarget, 24);
KNOWN(CtIr, 504);
KNOWN(CtIrFunction, 528);

/* --- values ------------------------------------------------------------------------------------- */

static const CtField text_row[] = {{.size = sizeof(char *), .times = 1, .kind = CT_FIELD_TEXT}};
static const CtShape shape_string = SHAPE(string, char *, text_row);
static const CtField value_row[] = {
    {.size = sizeof(CtVal), .times = 1, .kind = CT_FIELD_UINT, .limit = CT_LIMIT_VALUES}};
static const CtShape shape_value = SHAPE(value, CtVal, value_row);
static const CtField bool_row[] = {{.size = sizeof(bool), .times = 1, .kind = CT_FIELD_BOOL}};
static const CtShape shape_bool = SHAPE(bool, bool, bool_row);

static const CtField loc_rows[] = {ROW(CtLoc, line, INT, NONE), ROW(CtLoc, chunk, UINT, CHUNKS)};
static const CtShape shape_loc = SHAPE(CtLoc, CtLoc, loc_rows);

static const CtField facts_rows[] = {ROW(CtFacts, lo, INT, NONE), ROW(CtFacts, hi, INT, NONE),
                                     ROW(CtFacts, div, INT, NONE)};
static const CtShape shape_facts = SHAPE(CtFacts, CtFacts, facts_rows);

static const CtField layout_rows[] = {ROW(CtLayout, shape, TUPLE, VALUES),
                                      ROW(CtLayout, stride, TUPLE, VALUES)};
static const CtShape shape_layout = SHAPE(CtLayout, CtLayout, layout_rows);

static const CtField swizzle_rows[] = {ROW(CtSwizzle, bits, INT, NONE),
                                       ROW(CtSwizzle, base, INT, NONE),
                                       ROW(CtSwizzle, shift, INT, NONE)};
static const CtShape shape_swizzle = SHAPE(CtSwizzle, CtSwizzle, swizzle_rows);

/* --- memory ------------------------------------------------------------------------------------- */

static const CtField members_rows[] = {ROW(CtTensorSpec, name, TEXT, NONE),
                                       ROW(CtTensorSpec, dtype, UINT, DTYPES),
                                       ROW(CtTensorSpec, index, UINT, DTYPES),
                                       ROW(CtTensorSpec, align, UINT, WORDS),
                                       ROW(CtTensorSpec, shape, TUPLE, WORDS),
                                       ROW(CtTensorSpec, stride, TUPLE, WORDS),
                                       {.name = "facts",
                                        .at = offsetof(CtTensorSpec, facts),
                                        .size = sizeof(CtFacts *),
                                        .times = 1,
                                        .kind = CT_FIELD_ARRAY,
                                        .of = &shape_facts,
                                        .n_size = CT_COUNT_COLUMNS}};
static const CtShape shape_members = SHAPE(CtTensorSpec, CtTensorSpec, members_rows);

static const CtField buf_rows[] = {
    ROW(CtBuf, name, TEXT, NONE),        ROW(CtBuf, space, UINT, SPACES),
    ROW(CtBuf, dtype, UINT, DTYPES),     ROW(CtBuf, align, UINT, WORDS),
    PART(CtBuf, layout, shape_layout),   ROW(CtBuf, n_elems, INTEGER, VALUES),
    PART(CtBuf, swizzle, shape_swizzle), ROW(CtBuf, param, UINT, PARAMS),
    ROW(CtBuf, chosen, UINT, VALUES),    ROW(CtBuf, begins, UINT, VALUES),
    ROW(CtBuf, list, UINT, BUFS),        POINTER(CtBuf, members, shape_members),
    ROW(CtBuf, is_wide, BOOL, NONE),     ROW(CtBuf, alias_of, UINT, BUFS),
    ROW(CtBuf, cache, UINT, CACHES),     ROW(CtBuf, remote, UINT, VALUES),
    ROW(CtBuf, is_written, BOOL, NONE),  ROW(CtBuf, arrivals, UINT, WORDS),
    ROW(CtBuf, has_words, BOOL, NONE),   ROW(CtBuf, is_local, BOOL, NONE),
    ROW(CtBuf, is_fixed, BOOL, NONE),    ROW(CtBuf, data, BYTES, NONE),
    PART(CtBuf, loc, shape_loc)};
static const CtShape shape_buf = SHAPE(CtBuf, CtBuf, buf_rows);

static const CtField axis_rows[] = {ROW(CtGuardAxis, at, INTEGER, VALUES),
                                    ROW(CtGuardAxis, bound, INTEGER, VALUES),
                                    ROW(CtGuardAxis, stride, TUPLE, VALUES)};
static const CtShape shape_axis = SHAPE(CtGuardAxis, CtGuardAxis, axis_rows);
static const CtField guard_rows[] = {ROW(CtGuard, n, UINT, AXES),
                                     COUNTED(CtGuard, axis, n, shape_axis)};
static const CtShape shape_guard = SHAPE(CtGuard, CtGuard, guard_rows);

static const CtShape shape_within;
static const CtField within_rows[] = {
    POINTER(CtWithin, next, shape_within), ROW(CtWithin, crd, INTEGER, VALUES),
    ROW(CtWithin, extent, INTEGER, VALUES), ROW(CtWithin, what, TEXT, NONE)};
static const CtShape shape_within = SHAPE(CtWithin, CtWithin, within_rows);

static const CtField view_rows[] = {
    ROW(CtView, buf, UINT, BUFS),        ROW(CtView, offset, INTEGER, VALUES),
    PART(CtView, layout, shape_layout),  ROW(CtView, name, TEXT, NONE),
    POINTER(CtView, guard, shape_guard), POINTER(CtView, within, shape_within)};
static const CtShape shape_view = SHAPE(CtView, CtView, view_rows);

/* --- operations --------------------------------------------------------------------------------- */

static const CtField width_rows[] = {ROW(CtWidth, vec, UINT, NONE), ROW(CtWidth, why, UINT, WHYS),
                                     ROW(CtWidth, of, UINT, THREE)};
static const CtShape shape_width = SHAPE(CtWidth, CtWidth, width_rows);

static const CtField loop_rows[] = {ROW(CtGemmLoop, mode, UINT, MODES),
                                    ROW(CtGemmLoop, step, UINT, STEPS),
                                    ROW(CtGemmLoop, turns, BOOL, NONE)};
static const CtShape shape_loop = SHAPE(CtGemmLoop, CtGemmLoop, loop_rows);
static const CtField order_rows[] = {ROW(CtGemmOrder, n, UINT, LOOPS),
                                     COUNTED(CtGemmOrder, loop, n, shape_loop)};
static const CtShape shape_order = SHAPE(CtGemmOrder, CtGemmOrder, order_rows);

static const CtField wgmma_tile_rows[] = {
    ROW(CtWgmmaTile, is_mn_major, BOOL, NONE), ROW(CtWgmmaTile, swizzle, INT, NONE),
    ROW(CtWgmmaTile, leading, INT, NONE), ROW(CtWgmmaTile, stride, INT, NONE)};
static const CtShape shape_wgmma_tile = SHAPE(CtWgmmaTile, CtWgmmaTile, wgmma_tile_rows);
static const CtField wgmma_rows[] = {ROW(CtWgmma, is_a_shared, BOOL, NONE),
                                     PART(CtWgmma, a, shape_wgmma_tile),
                                     PART(CtWgmma, b, shape_wgmma_tile)};
static const CtShape shape_wgmma = SHAPE(CtWgmma, CtWgmma, wgmma_rows);

static const CtField tile_rows[] = {
    PART(CtTile, dst, shape_view),     PART(CtTile, a, shape_view),
    PART(CtTile, b, shape_view),       ROW(CtTile, vec, UINT, NONE),
    PARTS(CtTile, width, shape_width), ROW(CtTile, async, BOOL, NONE),
    PART(CtTile, order, shape_order),  ROW(CtTile, zero_fill, BOOL, NONE),
    ROW(CtTile, atom, ATOM, NONE),     POINTER(CtTile, wgmma, shape_wgmma)};
const CtShape ct_shape_tile = SHAPE(CtTile, CtTile, tile_rows);

static const CtField out_rows[] = {
    ROW(CtTextOut, name, TEXT, NONE), ROW(CtTextOut, type, UINT, DTYPES),
    ROW(CtTextOut, from, UINT, VALUES), ROW(CtTextOut, val, UINT, VALUES)};
static const CtShape shape_out = SHAPE(CtTextOut, CtTextOut, out_rows);
static const CtField place_rows[] = {ROW(CtTextPlace, name, TEXT, NONE),
                                     ROW(CtTextPlace, buf, UINT, BUFS),
                                     ROW(CtTextPlace, at, UINT, VALUES)};
static const CtShape shape_place = SHAPE(CtTextPlace, CtTextPlace, place_rows);

static const CtField escape_rows[] = {ROW(CtEscape, text, TEXT, NONE),
                                      ROW(CtEscape, n, UINT, WORDS),
                                      ARRAY(CtEscape, names, n, shape_string),
                                      ARRAY(CtEscape, vals, n, shape_value),
                                      ARRAY(CtEscape, is_literal, n, shape_bool),
                                      ROW(CtEscape, n_outs, UINT, WORDS),
                                      ROW(CtEscape, n_places, UINT, WORDS),
                                      ARRAY(CtEscape, outs, n_outs, shape_out),
                                      ARRAY(CtEscape, places, n_places, shape_place),
                                      ROW(CtEscape, is_ptx, BOOL, NONE),
                                      ROW(CtEscape, effect, UINT, EFFECTS)};
const CtShape ct_shape_text = SHAPE(CtEscape, CtEscape, escape_rows);

static const CtField boxes_rows[] = {
    ROW(CtTmaBoxes, n, UINT, NONE), ROW(CtTmaBoxes, fewest, UINT, NONE),
    ROW(CtTmaBoxes, n_dims, UINT, DIMS), EACH(CtTmaBoxes, box, UINT, NONE)};
static const CtShape shape_boxes = SHAPE(CtTmaBoxes, CtTmaBoxes, boxes_rows);
static const CtField tma_rows[] = {
    ROW(CtTma, map, UINT, MAPS),      ROW(CtTma, buf, UINT, BUFS),
    ROW(CtTma, offset, UINT, VALUES), EACH(CtTma, crd, UINT, VALUES),
    ROW(CtTma, bar, UINT, BUFS),      ROW(CtTma, slot, UINT, VALUES),
    ROW(CtTma, mask, UINT, VALUES),   ROW(CtTma, reduce, UINT, REDUCTIONS),
    ROW(CtTma, cache, UINT, CACHES),  PART(CtTma, boxes, shape_boxes)};
const CtShape ct_shape_tma = SHAPE(CtTma, CtTma, tma_rows);

/* Left out: n_args is of ops.def, and `args` holds it; region, prev and next are of the regions. */
static const CtField inst_rows[] = {ROW(CtInst, op, UINT, OPS),
                                    ROW(CtInst, type, UINT, DTYPES),
                                    EACH(CtInst, args, UINT, VALUES),
                                    ROW(CtInst, imm, IMM, NONE),
                                    ROW(CtInst, u, DATA, NONE),
                                    PART(CtInst, loc, shape_loc),
                                    ROW(CtInst, name, TEXT, NONE),
                                    ROW(CtInst, is_conditional, BOOL, NONE),
                                    {.name = "facts",
                                     .at = offsetof(CtInst, facts),
                                     .size = sizeof(CtFacts),
                                     .times = 1,
                                     .kind = CT_FIELD_FACTS,
                                     .of = &shape_facts}};
static const CtShape shape_inst = SHAPE(CtInst, CtInst, inst_rows);

static const CtField region_rows[] = {ROW(CtRegionInfo, owner, UINT, VALUES),
                                      ROW(CtRegionInfo, first, MEMBERS, NONE)};
static const CtShape shape_region = SHAPE(CtRegionInfo, CtRegionInfo, region_rows);

/* --- arguments ---------------------------------------------------------------------------------- */

static const CtField param_rows[] = {
    ROW(CtParam, name, TEXT, NONE),        ROW(CtParam, is_tensor, BOOL, NONE),
    ROW(CtParam, dtype, UINT, DTYPES),     ROW(CtParam, buf, UINT, BUFS),
    ROW(CtParam, first_slot, UINT, SLOTS), ROW(CtParam, n_slots, UINT, SLOTS)};
static const CtShape shape_param = SHAPE(CtParam, CtParam, param_rows);

static const CtField slot_rows[] = {
    ROW(CtSlot, kind, UINT, SLOT_KINDS), ROW(CtSlot, dtype, UINT, DTYPES),
    ROW(CtSlot, param, UINT, PARAMS),    ROW(CtSlot, leaf, UINT, WORDS),
    ROW(CtSlot, name, TEXT, NONE),       ROW(CtSlot, val, UINT, VALUES),
    ROW(CtSlot, used, BOOL, NONE)};
static const CtShape shape_slot = SHAPE(CtSlot, CtSlot, slot_rows);

static const CtField require_rows[] = {
    ROW(CtRequire, value, UINT, VALUES), ROW(CtRequire, modulus, INT, NONE),
    ROW(CtRequire, op, TEXT, NONE),      ROW(CtRequire, mode, TEXT, NONE),
    ROW(CtRequire, name, TEXT, NONE),    ROW(CtRequire, divisor, TEXT, NONE),
    PART(CtRequire, loc, shape_loc)};
static const CtShape shape_require = SHAPE(CtRequire, CtRequire, require_rows);

static const CtField dim_rows[] = {
    ROW(CtTmaDim, extent, UINT, VALUES), ROW(CtTmaDim, stride, UINT, VALUES),
    ROW(CtTmaDim, div, INT, NONE), ROW(CtTmaDim, mul, INT, NONE), ROW(CtTmaDim, box, UINT, WORDS)};
static const CtShape shape_dim = SHAPE(CtTmaDim, CtTmaDim, dim_rows);
static const CtField map_rows[] = {
    ROW(CtTmaMap, name, TEXT, NONE),     ROW(CtTmaMap, buf, UINT, BUFS),
    ROW(CtTmaMap, offset, UINT, VALUES), ROW(CtTmaMap, dtype, UINT, DTYPES),
    ROW(CtTmaMap, swizzle, UINT, NONE),  ROW(CtTmaMap, promotion, UINT, NONE),
    ROW(CtTmaMap, n, UINT, DIMS),        COUNTED(CtTmaMap, dim, n, shape_dim)};
static const CtShape shape_map = SHAPE(CtTmaMap, CtTmaMap, map_rows);

static const CtField note_rows[] = {PART(CtNote, loc, shape_loc), ROW(CtNote, what, TEXT, NONE),
                                    ROW(CtNote, n_yes, INT, NONE), ROW(CtNote, n_no, INT, NONE)};
static const CtShape shape_note = SHAPE(CtNote, CtNote, note_rows);

/* --- the kernel --------------------------------------------------------------------------------- */

static const CtField target_rows[] = {
    ROW(CtTarget, is_cuda, BOOL, NONE), ROW(CtTarget, sm, INT, NONE),
    ROW(CtTarget, shared_max, UINT, NONE), ROW(CtTarget, name, TEXT, NONE)};
static const CtShape shape_target = SHAPE(CtTarget, CtTarget, target_rows);

static const CtField head_rows[] = {
    ROW(CtIr, name, TEXT, NONE),          PART(CtIr, target, shape_target),
    EACH(CtIr, block, INT, NONE),         EACH(CtIr, cluster, INT, NONE),
    ROW(CtIr, smem, INT, NONE),           ROW(CtIr, min_blocks, INT, NONE),
    ROW(CtIr, max_unroll, INT, NONE),     ROW(CtIr, contract, BOOL, NONE),
    ROW(CtIr, is_checked, BOOL, NONE),    ROW(CtIr, may_overlap, BOOL, NONE),
    ROW(CtIr, has_addresses, BOOL, NONE), ROW(CtIr, waits_for_grids, BOOL, NONE),
    ROW(CtIr, wants_notes, BOOL, NONE),   ROW(CtIr, n_asserts, UINT, WORDS),
    ROW(CtIr, n_prints, UINT, WORDS),     ROW(CtIr, n_chunks, UINT, WORDS),
    ROW(CtIr, n_insts, UINT, WORDS),      ROW(CtIr, n_regions, UINT, WORDS),
    ROW(CtIr, n_bufs, UINT, WORDS),       ROW(CtIr, n_params, UINT, WORDS),
    ROW(CtIr, n_slots, UINT, WORDS),      ROW(CtIr, n_requires, UINT, WORDS),
    ROW(CtIr, n_maps, UINT, WORDS),       ROW(CtIr, n_notes, UINT, WORDS)};
const CtShape ct_shape_head = SHAPE(head, CtIr, head_rows);

/* Left out is what only a trace needs: the sources of tensors of coordinates, samples, tables of what is
   shared. */
static const CtField body_rows[] = {TABLE(chunks, n_chunks, cap_chunks, 1, shape_string),
                                    TABLE(bufs, n_bufs, cap_bufs, 1, shape_buf),
                                    TABLE(params, n_params, cap_params, 0, shape_param),
                                    TABLE(slots, n_slots, cap_slots, 0, shape_slot),
                                    TABLE(insts, n_insts, cap_insts, 1, shape_inst),
                                    TABLE(regions, n_regions, cap_regions, 1, shape_region),
                                    TABLE(requires_, n_requires, cap_requires, 0, shape_require),
                                    TABLE(maps, n_maps, cap_maps, 0, shape_map),
                                    ARRAY(CtIr, notes, n_notes, shape_note),
                                    ROW(CtIr, smem_buf, UINT, BUFS),
                                    PART(CtIr, loc, shape_loc),
                                    PART(CtIr, grid_barrier, shape_loc)};
const CtShape ct_shape_body = SHAPE(body, CtIr, body_rows);

const CtShape *const ct_shapes[] = {&shape_loc,     &shape_facts,      &shape_layout,
                                    &shape_swizzle, &shape_members,    &shape_buf,
                                    &shape_axis,    &shape_guard,      &shape_within,
                                    &shape_view,    &shape_width,      &shape_loop,
                                    &shape_order,   &shape_wgmma,      &shape_target,
                                    &shape_out,     &shape_wgmma_tile, &ct_shape_tile,
                                    &shape_place,   &shape_boxes,      &shape_inst,
                                    &shape_region,  &ct_shape_text,    &ct_shape_tma,
                                    &shape_param,   &shape_slot,       &shape_map,
                                    &shape_require, &shape_dim,        &shape_note,
                                    &ct_shape_head, &ct_shape_body,    NULL};

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
  out[CT_LIMIT_MAPS] = ir->n_maps;
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

static uint64_t mix_shape(uint64_t h, const CtShape *shape) {
  h = mix_text(h, shape->name);
  for (int i = 0; i < shape->n; i++) {
    const CtField *f = &shape->fields[i];
    h = mix(mix(mix(mix_text(h, f->name), f->kind), f->limit), f->times);
  }
  return h;
}

uint64_t ct_ir_file_fingerprint(void) {
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
    h = mix_shape(h, ct_shapes[i]);
  }
  return h;
}
