/* ir_check_op.c: what an operation must be by itself: the types of its operands and of its result, its number, its
   text, its box. The rules are ops.def's, for traces and for files alike; what stands around it is for
   ir_check.c. */
#include "ir_build.h"
#include "ir_tma.h"
#include "runtime/base/message.h"

enum { MOST_THREADS = 1024, MOST = 1 << 30 };

static bool is_buf(const CtIr *ir, int64_t i) { return i > 0 && i < (int64_t)ir->n_bufs; }
static bool is_val(const CtIr *ir, int64_t i) { return i > 0 && i < (int64_t)ir->n_insts; }
static bool is_lane_width(int64_t n) { return n > 0 && n <= 32 && (n & (n - 1)) == 0; }

/* --- types -------------------------------------------------------------------------------------- */

#define SET(type) (1u << CT_##type)
enum {
  WORD_SET = SET(i32) | SET(u32),
  INT_SET = WORD_SET | SET(i64) | SET(u64),
  FLOAT_SET = SET(f32) | SET(f64),
  INDEX_SET = SET(i32) | SET(i64)
};
#define ANY_SET (~SET(VOID))

/* The types of the operands of a PURE operation, by the column `types`. */
static unsigned set_of(CtOpTypes types) {
  switch (types) {
    case CT_TYPES_NUMBERS: return INT_SET | FLOAT_SET;
    case CT_TYPES_FLOATS: return FLOAT_SET;
    case CT_TYPES_F32: return SET(f32);
    case CT_TYPES_INTS: return INT_SET;
    case CT_TYPES_SIGNED: return INDEX_SET;
    case CT_TYPES_U32: return SET(u32);
    case CT_TYPES_U64: return SET(u64);
    case CT_TYPES_I32: return SET(i32);
    case CT_TYPES_BOOL: return SET(bool);
    case CT_TYPES_WIDE: return INT_SET | FLOAT_SET | SET(bool);
    case CT_TYPES_NONE:
    case CT_TYPES_ANY: break;
  }
  return ANY_SET;
}

static bool has_type(const CtIr *ir, CtVal v, unsigned set) {
  const CtInst *inst = ct_inst(ir, v);
  return inst->op != CT_OP_VAR && (set >> inst->type & 1) != 0;
}

/* Operands whose types ops.def says in words. */
typedef struct OperandRow {
  uint16_t op;
  uint8_t operand;
  unsigned set;
} OperandRow;
static const OperandRow operand_rows[] = {{CT_OP_SELECT, 0, SET(bool)},
                                          {CT_OP_IF, 0, SET(bool)},
                                          {CT_OP_FOR, 0, INDEX_SET},
                                          {CT_OP_WGMMA, 0, SET(bool)},
                                          {CT_OP_TCGEN05_MMA, 0, SET(bool)},
                                          {CT_OP_BARRIER_COUNT, 0, SET(bool)},
                                          {CT_OP_BARRIER_AND, 0, SET(bool)},
                                          {CT_OP_BARRIER_OR, 0, SET(bool)},
                                          {CT_OP_REMOTE, 0, SET(i32)},
                                          {CT_OP_SHFL, 1, SET(i32)},
                                          {CT_OP_VOTE, 0, SET(bool)},
                                          {CT_OP_MASKED, 1, SET(i32)},
                                          {CT_OP_MASKED, 2, SET(u32)},
                                          {CT_OP_SYNC_LANES, 0, SET(u32)},
                                          {CT_OP_ASSERT, 0, SET(bool)},
                                          {CT_OP_WITHIN, 0, INDEX_SET},
                                          {CT_OP_NAMED_SYNC, 0, SET(i32)},
                                          {CT_OP_NAMED_ARRIVE, 0, SET(i32)},
                                          {CT_OP_SHFL, 0, INT_SET | FLOAT_SET},
                                          {CT_OP_CLC_IS_CANCELED, 0, SET(u64)},
                                          {CT_OP_CLC_IS_CANCELED, 1, SET(u64)},
                                          {CT_OP_CLC_FIRST_CTAID, 0, SET(u64)},
                                          {CT_OP_CLC_FIRST_CTAID, 1, SET(u64)},
                                          {CT_OP_WRAPS, 0, SET(bool)},
                                          {CT_OP_WRAPS, 1, INDEX_SET},
                                          {CT_OP_WRAPS, 2, INDEX_SET}};

/* Results whose types ops.def gives in words. */
typedef struct ResultRow {
  uint16_t op;
  unsigned set;
} ResultRow;
static const ResultRow result_rows[] = {{CT_OP_POPC, SET(i32)},
                                        {CT_OP_CLZ, SET(i32)},
                                        {CT_OP_FFS, SET(i32)},
                                        {CT_OP_TID, SET(i32)},
                                        {CT_OP_BID, SET(i32)},
                                        {CT_OP_GDIM, SET(i32)},
                                        {CT_OP_BARRIER_COUNT, SET(i32)},
                                        {CT_OP_ACTIVE_MASK, SET(u32)},
                                        {CT_OP_CLC_FIRST_CTAID, SET(i32)},
                                        {CT_OP_CLOCK, SET(i64)},
                                        {CT_OP_VAR, ANY_SET},
                                        {CT_OP_CONST, ANY_SET},
                                        {CT_OP_CAST, ANY_SET},
                                        {CT_OP_BITCAST, ANY_SET},
                                        {CT_OP_VOTE, SET(bool) | SET(u32)}};

static bool has_operand_types(const CtIr *ir, CtVal v) {
  const CtInst *inst = ct_inst(ir, v);
  bool is_pure = ct_ops[inst->op].cls == CT_CLS_PURE;
  unsigned set = is_pure ? set_of(ct_ops[inst->op].types) : ANY_SET;
  bool has = true;
  for (int i = 0; i < inst->n_args; i++) {
    has = has && inst->args[i] != v && (inst->args[i] == 0 || has_type(ir, inst->args[i], set));
  }
  for (size_t i = 0; i < CT_ARRAY_LEN(operand_rows); i++) {
    const OperandRow *row = &operand_rows[i];
    has = has && (row->op != inst->op || has_type(ir, inst->args[row->operand], row->set));
  }
  return has;
}

static bool has_result_type(const CtIr *ir, const CtInst *inst) {
  const CtInst *insts = ir->insts;
  unsigned own = 1u << inst->type;
  bool has = true;
  for (size_t i = 0; i < CT_ARRAY_LEN(result_rows); i++) {
    has = has && (result_rows[i].op != inst->op || (result_rows[i].set & own) != 0);
  }
  switch (inst->op) {
    case CT_OP_SELECT: return inst->type == insts[inst->args[1]].type;
    case CT_OP_GET: return inst->type == insts[inst->imm.i].type;
    case CT_OP_SET: return insts[inst->args[0]].type == insts[inst->imm.i].type;
    case CT_OP_PARAM: return inst->type == ir->slots[inst->imm.i].dtype;
    case CT_OP_VOTE: return (inst->type == CT_u32) == (inst->imm.i == CT_VOTE_BALLOT);
    default: return has;
  }
}

/* Of MASKED by its kind; see CtMasked. */
static bool has_masked_types(const CtIr *ir, const CtInst *inst) {
  int64_t kind = inst->imm.i & 0xff;
  CtDtype of = (CtDtype)ct_inst(ir, inst->args[0])->type, is = (CtDtype)inst->type;
  bool is_word = (WORD_SET >> of & 1) != 0, is_number = ((INT_SET | FLOAT_SET) >> of & 1) != 0;
  if (kind < CT_SHFL_COUNT) {
    return is == of && is_number;
  }
  switch (kind) {
    case CT_MASKED_ANY:
    case CT_MASKED_ALL: return of == CT_i32 && is == CT_i32;
    case CT_MASKED_BALLOT: return of == CT_i32 && is == CT_u32;
    case CT_MASKED_MATCH_ANY:
    case CT_MASKED_MATCH_ALL: return is_number && is == CT_u32;
    default: return is_word && is == of;
  }
}

/* --- the number --------------------------------------------------------------------------------- */

static bool has_text_number(const CtIr *ir, const CtInst *inst) {
  int64_t i = inst->imm.i;
  return inst->op == CT_OP_ASSERT   ? i >= 0 && i < ir->n_asserts
         : inst->op == CT_OP_PRINT  ? i >= 0 && i < ir->n_prints
         : inst->op == CT_OP_WITHIN ? is_buf(ir, i)
                                    : true;
}

/* What imm holds, by the column `data`. */
static bool has_number(const CtIr *ir, CtVal v) {
  const CtInst *inst = ct_inst(ir, v);
  int64_t i = inst->imm.i, kind = i & 0xff, width = i >> 8 & 0xff;
  switch (ct_ops[inst->op].data) {
    case CT_DATA_SLOT: return i >= 0 && i < (int64_t)ir->n_slots && ir->slots[i].val == v;
    case CT_DATA_AXIS: return i >= 0 && i < 3;
    case CT_DATA_VAR: return is_val(ir, i) && ct_inst(ir, (CtVal)i)->op == CT_OP_VAR;
    case CT_DATA_ELEMENT:
    case CT_DATA_ATOMIC: return is_buf(ir, i);
    case CT_DATA_BUF: return is_buf(ir, i) && ir->bufs[i].begins == v;
    case CT_DATA_BAR: return is_buf(ir, i) && ir->bufs[i].arrivals > 0;
    case CT_DATA_TENSOR: return is_buf(ir, i) && ir->bufs[i].space == CT_TENSOR;
    case CT_DATA_TARGET: return is_val(ir, i);
    case CT_DATA_NAMED: return i > 0 && i <= MOST_THREADS && i % 32 == 0;
    case CT_DATA_LANE: return i >= 0 && kind < CT_SHFL_COUNT && is_lane_width(i >> 8);
    case CT_DATA_VOTE: return i >= 0 && i < CT_VOTE_COUNT;
    case CT_DATA_MASKED:
      return i >= 0 && i >> 17 == 0 && kind < CT_MASKED_COUNT &&
             (is_lane_width(width) || (width == 0 && kind >= CT_SHFL_COUNT));
    case CT_DATA_NUMBER:
      return i >= 0 && i < MOST &&
             (ct_inst(ir, v)->op != CT_OP_WRAPS ||
              (i < CT_OP_COUNT && ct_op_has((CtOp)i, CT_TRAIT_WRAPS))) &&
             (ct_inst(ir, v)->op != CT_OP_CLC_FIRST_CTAID || i < 3);
    case CT_DATA_GROUPS: return i >= 0 && i < MOST;
    case CT_DATA_HINT: return i >= -1 && i < MOST;
    case CT_DATA_TEXT: return has_text_number(ir, inst);
    case CT_DATA_NONE:
    case CT_DATA_CONST:
    case CT_DATA_TILE:
    case CT_DATA_TMA: break;
  }
  return true;
}

/* Other devices reach global memory only. */
static bool has_order(const CtIr *ir, const CtInst *inst) {
  bool is_atomic = ct_op_is_atomic((CtOp)inst->op);
  bool is_sys = (inst->order & CT_ORDER_SYS) != 0;
  return inst->order <= CT_ORDER_ALL &&
         (inst->order == 0 || is_atomic || inst->op == CT_OP_FENCE) &&
         (!is_sys || !is_atomic || ir->bufs[inst->imm.i].space == CT_GLOBAL);
}

/* Does the constant's type have it? */
static bool is_constant(const CtInst *inst) {
  CtFacts all = ct_type_facts((CtDtype)inst->type);
  return ct_is_float((CtDtype)inst->type) || inst->type == CT_u64 ||
         (inst->type == CT_bool ? inst->imm.i == 0 || inst->imm.i == 1
                                : inst->imm.i >= all.lo && inst->imm.i <= all.hi);
}

static bool has_operands(const CtInst *inst) {
  int i = 0;
  while (i < inst->n_args && inst->args[i] != 0) {
    i++;
  }
  for (int k = inst->n_args; k < 3; k++) {
    if (inst->args[k] != 0) {
      return false;
    }
  }
  return i == inst->n_args;
}

/* --- elements ----------------------------------------------------------------------------------- */

static bool is_place(const CtIr *ir, CtVal v) { return has_type(ir, v, INT_SET); }

static const char *element_fault(const CtIr *ir, const CtInst *inst) {
  const CtBuf *b = &ir->bufs[inst->imm.i];
  CtDtype value = (CtDtype)(inst->op == CT_OP_LOAD ? inst->type : ct_inst(ir, inst->args[1])->type);
  if (!is_place(ir, inst->args[0])) {
    return "a coordinate that is not a number";
  }
  if (b->space == CT_TENSOR) {
    return "an element of tensor memory by itself";
  }
  if (inst->op == CT_OP_STORE && b->space == CT_CONSTANT) {
    return "writes constant memory";
  }
  if (ct_op_is_async_store((CtOp)inst->op) != (b->bar != 0)) {
    return "an asynchronous store and memory of others";
  }
  if (b->bar != 0 && (!has_type(ir, inst->args[2], SET(i32)) || ct_dtypes[value].bits < 32)) {
    return "an asynchronous store of such a value";
  }
  return value == b->dtype ? NULL : "an element of another type";
}

/* What is added to two elements of 16 bits at once is their bits. */
static const char *atomic_fault(const CtIr *ir, const CtInst *inst) {
  const CtBuf *b = &ir->bufs[inst->imm.i];
  CtDtype type = inst->op == CT_OP_ATOMIC_ADD2 ? CT_u32 : b->dtype;
  bool has_result = ct_ops[inst->op].result != CT_RES_VOID;
  if (!ct_ir_has_atomic((CtOp)inst->op, b->dtype) ||
      (b->space != CT_GLOBAL && b->space != CT_SHARED)) {
    return "an atomic operation that this memory does not have";
  }
  if (!is_place(ir, inst->args[0]) || (has_result && inst->type != type)) {
    return "an atomic operation on another type";
  }
  for (int i = 1; i < inst->n_args; i++) {
    if (ct_inst(ir, inst->args[i])->type != type) {
      return "an atomic operation on another type";
    }
  }
  return NULL;
}

static const char *mbar_fault(const CtIr *ir, const CtInst *inst) {
  for (int i = 0; i < inst->n_args; i++) {
    if (!has_type(ir, inst->args[i], SET(i32))) {
      return "a barrier that no i32 says";
    }
  }
  return NULL;
}

/* --- texts -------------------------------------------------------------------------------------- */

/* The results of a text come right after it, in their order. */
static bool is_result(const CtIr *ir, CtVal v, const CtEscape *e, int i) {
  const CtTextOut *out = &e->outs[i];
  const CtInst *text = ct_inst(ir, v), *result = ct_inst(ir, out->val);
  return out->val == v + 1 + (CtVal)i && result->op == CT_OP_RESULT && result->imm.i == i &&
         result->type == out->type && result->region == text->region;
}

static const char *result_fault(const CtIr *ir, CtVal v) {
  int64_t i = ct_inst(ir, v)->imm.i;
  CtVal of = i < 0 || i + 1 >= v ? 0 : v - 1 - (CtVal)i;
  const CtInst *text = ct_inst(ir, of);
  bool has = of != 0 && text->op == CT_OP_ESCAPE && text->u.escape != NULL &&
             i < text->u.escape->n_outs && text->u.escape->outs != NULL &&
             is_result(ir, of, text->u.escape, (int)i);
  return has ? NULL : "a result of no text";
}

static bool has_names(const CtIr *ir, CtVal v, const CtEscape *e) {
  bool has = true;
  for (int i = 0; has && i < e->n; i++) {
    has = e->names[i] != NULL && e->vals[i] != v && has_type(ir, e->vals[i], ANY_SET);
  }
  for (int i = 0; has && i < e->n_outs; i++) {
    const CtTextOut *out = &e->outs[i];
    has = out->name != NULL && out->type != CT_VOID && is_result(ir, v, e, i) &&
          (out->from == 0 || has_type(ir, out->from, 1u << out->type));
  }
  for (int i = 0; has && i < e->n_places; i++) {
    const CtTextPlace *p = &e->places[i];
    has = p->name != NULL && p->buf != 0 && p->at != v && has_type(ir, p->at, INDEX_SET);
  }
  return has;
}

/* C's printf gets the text and these values. */
static const char *message_fault(const CtIr *ir, const CtEscape *e) {
  uint8_t types[CT_MESSAGE_ARGS] = {0};
  for (int i = 0; i < e->n && i < CT_MESSAGE_ARGS; i++) {
    types[i] = ct_inst(ir, e->vals[i])->type;
  }
  return ct_message_fault(e->text, e->n, types);
}

/* PTX is a statement, and only constants stand in its text; messages are no code. */
static bool is_code(const CtIr *ir, const CtInst *inst) {
  const CtEscape *e = inst->u.escape;
  bool is = inst->op == CT_OP_ESCAPE || (!e->is_ptx && e->n_outs == 0 && e->n_places == 0);
  is = is && (!e->is_ptx || inst->type == CT_VOID);
  for (int i = 0; is && e->is_literal != NULL && i < e->n; i++) {
    is = !e->is_literal[i] || ct_inst(ir, e->vals[i])->op == CT_OP_CONST;
  }
  return is;
}

static const char *text_fault(const CtIr *ir, CtVal v) {
  const CtInst *inst = ct_inst(ir, v);
  const CtEscape *e = inst->u.escape;
  bool is_whole = e != NULL && e->text != NULL &&
                  (e->n == 0 || (e->names != NULL && e->vals != NULL)) &&
                  (e->n_outs == 0 || e->outs != NULL) && (e->n_places == 0 || e->places != NULL);
  if (inst->op == CT_OP_WITHIN && is_whole) {
    return e->n == 0 ? NULL : "a text with operands";
  }
  if (!is_whole || !has_names(ir, v, e)) {
    return "a text without its operands";
  }
  if (!is_code(ir, inst)) {
    return "a text that is not code";
  }
  return inst->op == CT_OP_PRINT ? message_fault(ir, e) : NULL;
}

/* --- boxes -------------------------------------------------------------------------------------- */

static bool has_barrier(const CtIr *ir, const CtTma *tma) {
  return tma->bar != 0 && ir->bufs[tma->bar].arrivals > 0 && has_type(ir, tma->slot, SET(i32));
}

static const char *response_fault(const CtIr *ir, const CtTma *tma) {
  const CtBuf *b = &ir->bufs[tma->buf];
  bool is = tma->is_cancel && tma->map == 0 && !tma->is_of_pair && tma->reduce == CT_TMA_NONE;
  for (int i = 0; i < CT_TMA_DIMS; i++) {
    is = is && tma->crd[i] == 0;
  }
  return !is || tma->from != 0 ? "a request with options of boxes"
         : tma->buf == 0 || b->space != CT_SHARED || b->dtype != CT_u64 || b->remote != 0 ||
                 tma->offset == 0 || !has_type(ir, tma->offset, SET(i32)) ||
                 !has_barrier(ir, tma) || (tma->mask != 0 && !has_type(ir, tma->mask, SET(i32)))
             ? "a request without a place for its response, or without an mbarrier"
             : NULL;
}

static bool is_own_shared(const CtIr *ir, uint32_t buf) {
  return buf != 0 && ir->bufs[buf].space == CT_SHARED && ir->bufs[buf].remote == 0;
}

static const char *send_fault(const CtIr *ir, const CtTma *tma) {
  bool is = !tma->is_cancel && tma->map == 0 && !tma->is_of_pair && tma->reduce == CT_TMA_NONE;
  for (int i = 1; i < CT_TMA_DIMS; i++) {
    is = is && tma->crd[i] == 0;
  }
  return !is ? "a copy to another block with options of boxes"
         : !is_own_shared(ir, tma->buf) || !is_own_shared(ir, tma->from) ||
                 ir->bufs[tma->buf].dtype != ir->bufs[tma->from].dtype || tma->count == 0 ||
                 ct_ir_is_packed(ir, tma->buf) ||
                 ct_dtype_span(ir->bufs[tma->buf].dtype, tma->count) % CT_TMA_UNIT != 0 ||
                 tma->offset == 0 || !has_type(ir, tma->offset, SET(i32)) ||
                 !has_type(ir, tma->crd[0], SET(i32)) || !has_barrier(ir, tma) ||
                 !has_type(ir, tma->mask, SET(i32))
             ? "a copy to another block without a tensor, an mbarrier or a rank"
             : NULL;
}

static const char *box_fault(const CtIr *ir, const CtInst *inst) {
  const CtTma *tma = inst->u.tma;
  bool is_load = inst->op == CT_OP_TMA_LOAD;
  if (inst->op == CT_OP_TMA_SEND && tma != NULL) {
    return send_fault(ir, tma);
  }
  if (inst->op == CT_OP_CLC_TRY_CANCEL && tma != NULL) {
    return response_fault(ir, tma);
  }
  if (tma != NULL && (tma->is_cancel || tma->from != 0)) {
    return "a box of a request";
  }
  if (tma == NULL || tma->map >= ir->n_maps || tma->offset == 0) {
    return "a box without a tensor map";
  }
  const CtTmaMap *map = &ir->maps[tma->map];
  const CtBuf *b = &ir->bufs[tma->buf];
  if (tma->buf == 0 || b->space != CT_SHARED || b->dtype != map->dtype || b->remote != 0) {
    return "a box that is not a shared tensor with the elements of its map";
  }
  if (!has_type(ir, tma->offset, SET(i32))) {
    return "a box without an offset";
  }
  if (is_load ? !has_barrier(ir, tma) || tma->reduce != CT_TMA_NONE
              : !ct_tma_can_reduce(tma->reduce, map->dtype)) {
    return is_load ? "a box without an mbarrier" : "an unknown reduction";
  }
  if (!is_load && (tma->bar != 0 || tma->slot != 0 || tma->mask != 0)) {
    return "a store with options of loads";
  }
  if (tma->mask != 0 && !has_type(ir, tma->mask, SET(i32))) {
    return "a box of no blocks";
  }
  for (int i = 0; i < CT_TMA_DIMS; i++) {
    if (i < map->n ? !has_type(ir, tma->crd[i], SET(i32)) : tma->crd[i] != 0) {
      return "a box whose coordinates are not those of its map";
    }
  }
  return NULL;
}

/* --- all ---------------------------------------------------------------------------------------- */

const char *ct_ir_op_fault(const CtIr *ir, CtVal v) {
  const CtInst *inst = ct_inst(ir, v);
  CtOp op = (CtOp)inst->op;
  if (!has_operands(inst)) {
    return "an operand is missing";
  }
  if (!ct_loc_is(inst->loc)) {
    return "a line that no script has";
  }
  if (inst->facts.lo > inst->facts.hi || inst->facts.div < 0) {
    return "facts that nothing fulfils";
  }
  if (!has_number(ir, v)) {
    return "an operation of nothing";
  }
  if (!has_order(ir, inst)) {
    return "an order for an operation that has no order";
  }
  if (!has_operand_types(ir, v) || !has_result_type(ir, inst) ||
      (op == CT_OP_MASKED && !has_masked_types(ir, inst))) {
    return "an operation on another type";
  }
  return op == CT_OP_CONST ? (is_constant(inst) ? NULL : "a constant that its type does not have")
         : ct_ops[op].data == CT_DATA_ELEMENT ? element_fault(ir, inst)
         : ct_op_is_atomic(op)                ? atomic_fault(ir, inst)
         : ct_op_is_mbar(op)                  ? mbar_fault(ir, inst)
         : ct_op_has_text(op)                 ? text_fault(ir, v)
         : op == CT_OP_RESULT                 ? result_fault(ir, v)
         : ct_op_is_tma(op)                   ? box_fault(ir, inst)
                                              : NULL;
}
