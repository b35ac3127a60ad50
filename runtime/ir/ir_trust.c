/* ir_trust.c: is an IR that was read as the builder makes them? ct_ir_check asks whether the operations of the
   body agree with each other; here are the rules that hold because the builder knows no other way: what a
   number says is the kind of thing that it should be, lists end, expressions have no circles. */
#include <string.h>

#include "ir_file_rows.h"

enum { BLOCK_THREADS = 1024, CLUSTER_BLOCKS = 16, DEEPEST = 1000, LARGEST = 1 << 30 };

typedef struct Trust {
  const CtIr *ir;
  const char *kind; /* of what is looked at: "buffer" */
  size_t at;        /* its number */
  CtStatus status;
  CtErr *err;
} Trust;

/* Holds the rule? If not, that is the failure, unless there is one. */
static bool rule(Trust *t, bool holds, const char *what) {
  if (!holds && t->status == CT_OK) {
    t->status = ct_fail(t->err, CT_EINVAL, "ir_read: %s %zu of kernel '%s': %s", t->kind, t->at,
                        t->ir->name == NULL ? "?" : t->ir->name, what);
  }
  return holds && t->status == CT_OK;
}

static bool is_power(uint64_t n) { return n != 0 && (n & (n - 1)) == 0; }

/* --- layouts and views -------------------------------------------------------------------------- */

static void trust_layout(Trust *t, CtLayout l) {
  rule(t, l.shape != NULL && l.stride != NULL && ct_congruent(l.shape, l.stride),
       "no layout: its shape and stride differ in nesting");
}

static bool is_plain(CtInt i) { return i.basis_depth == 0; }

static bool is_extent(CtInt i) {
  return i.basis_depth == 0 && (i.kind == CT_DYNAMIC || (i.kind == CT_STATIC && i.v >= 0));
}

static bool is_stride(CtInt i) { return i.basis_depth == 0 && i.kind != CT_ANY; }

static bool all_leaves(CtTuple tuple, bool (*is)(CtInt)) {
  uint32_t i = 0;
  while (i < tuple->len && (tuple[i].rank != CT_LEAF || is(tuple[i].i))) {
    i++;
  }
  return i == tuple->len;
}

/* Of memory: no wildcards, no basis elements, and its static elements can be counted. */
static void trust_memory_layout(Trust *t, CtLayout l) {
  trust_layout(t, l);
  if (t->status == CT_OK) {
    rule(t, all_leaves(l.shape, is_extent) && all_leaves(l.stride, is_stride),
         "no layout of memory");
  }
}

static bool is_offset(CtInt i) { return is_stride(i); }

/* Linear indices of a static layout: the lowest and the highest; false: they do not fit, or are dynamic. */
static bool bounds_of(CtLayout l, int64_t *lo, int64_t *hi) {
  bool is_known = true;
  *lo = *hi = 0;
  for (uint32_t i = 0; i < l.shape->len && is_known; i++) {
    CtInt n = l.shape[i].i, d = l.stride[i].i;
    int64_t way;
    if (l.shape[i].rank != CT_LEAF) {
      continue;
    }
    is_known = n.kind == CT_STATIC && d.kind == CT_STATIC &&
               !ct_mul_overflow(n.v == 0 ? 0 : n.v - 1, d.v, &way) &&
               !ct_add_overflow(way < 0 ? *lo : *hi, way, way < 0 ? lo : hi);
  }
  return is_known;
}

/* A view of declared memory, of which all is known, lies in it. */
static void trust_inside(Trust *t, const CtView *v) {
  const CtBuf *b = &t->ir->bufs[v->buf];
  int64_t lo, hi;
  if (b->space == CT_GLOBAL || v->offset.kind != CT_STATIC || !ct_all_static(v->layout.shape) ||
      !ct_all_static(v->layout.stride)) {
    return;
  }
  rule(t,
       bounds_of(v->layout, &lo, &hi) && !ct_add_overflow(lo, v->offset.v, &lo) &&
           !ct_add_overflow(hi, v->offset.v, &hi) && lo >= 0 && hi < b->n_elems.v,
       "a view that reaches past its memory");
}

static bool is_index(const Trust *t, CtInt i) {
  const CtInst *inst = &t->ir->insts[i.kind == CT_DYNAMIC ? i.id : 0];
  return i.kind != CT_DYNAMIC ||
         (inst->op != CT_OP_VAR && (inst->type == CT_i32 || inst->type == CT_i64));
}

static bool has_indices(const Trust *t, CtTuple tuple) {
  uint32_t i = 0;
  while (i < tuple->len && (tuple[i].rank != CT_LEAF || is_index(t, tuple[i].i))) {
    i++;
  }
  return i == tuple->len;
}

static void trust_view(void *ud, const CtView *v, bool is_written) {
  Trust *t = ud;
  (void)is_written;
  if (!rule(t, v->buf != 0, "a view of no memory")) {
    return;
  }
  trust_memory_layout(t, v->layout);
  rule(t, is_offset(v->offset), "a view that begins nowhere");
  rule(t,
       t->status != CT_OK || (is_index(t, v->offset) && has_indices(t, v->layout.shape) &&
                              has_indices(t, v->layout.stride)),
       "a view by values that are no integers");
  for (int i = 0; i < ct_guard_n(v) && t->status == CT_OK; i++) {
    const CtGuardAxis *axis = &v->guard->axis[i];
    rule(t,
         is_offset(axis->at) && is_offset(axis->bound) && is_index(t, axis->at) &&
             is_index(t, axis->bound),
         "a guard without numbers");
    trust_memory_layout(t, ct_guard_layout(v, axis));
    rule(t, t->status != CT_OK || has_indices(t, axis->stride), "a guard without numbers");
  }
  if (t->status == CT_OK) {
    trust_inside(t, v);
  }
}

/* --- memory ------------------------------------------------------------------------------------- */

static void trust_global(Trust *t, const CtBuf *b) {
  const CtIr *ir = t->ir;
  bool is_chosen = b->chosen != 0, is_named = false;
  if (!is_chosen && b->param < ir->n_params) {
    is_named = ir->params[b->param].is_tensor;
  }
  rule(t, is_chosen || is_named, "a tensor of no argument");
  rule(t, !is_chosen || ir->insts[b->begins].op == CT_OP_TENSOR_AT, "a tensor that nothing begins");
  rule(t, b->list == 0 || ir->bufs[b->list].members != NULL, "a member of no list");
}

/* The numbers of the columns, in order. */
static bool has_columns(CtTuple tuple, uint32_t *next) {
  bool holds = tuple != NULL;
  for (uint32_t i = 0; holds && i < tuple->len; i++) {
    if (tuple[i].rank == CT_LEAF && tuple[i].i.kind == CT_DYNAMIC) {
      holds = tuple[i].i.id == (*next)++;
    }
  }
  return holds;
}

static void trust_members(Trust *t, const CtTensorSpec *m) {
  uint32_t next = 1;
  bool holds = m->name != NULL && has_columns(m->shape, &next) && has_columns(m->stride, &next);
  if (rule(t, holds && is_power(m->align), "a list of no tensors")) {
    trust_layout(t, (CtLayout){m->shape, m->stride});
  }
  rule(t, m->index == CT_i32 || m->index == CT_i64, "a list with no indices");
}

static void trust_alias(Trust *t, const CtBuf *b) {
  const CtBuf *of = &t->ir->bufs[b->alias_of];
  rule(t, b->alias_of < t->at && of->space == b->space, "memory that is that of a later buffer");
}

static void trust_swizzle(Trust *t, CtSwizzle s) {
  CtSwizzle again;
  rule(t, s.bits == 0 || ct_swizzle_make(s.bits, s.base, s.shift, &again, NULL) == CT_OK,
       "no swizzle");
}

static void trust_buf(Trust *t, const CtBuf *b) {
  rule(t, b->name != NULL && b->dtype != CT_VOID && is_power(b->align), "memory of no elements");
  rule(t,
       b->space == CT_GLOBAL ||
           (b->n_elems.kind == CT_STATIC && b->n_elems.v >= 0 && b->n_elems.v <= LARGEST),
       "declared memory of no size");
  rule(t, (b->space == CT_CONSTANT) == (b->data != NULL), "constants without elements");
  rule(t, b->arrivals == 0 || (b->space == CT_SHARED && b->dtype == CT_u64),
       "barriers that are not in shared memory");
  trust_swizzle(t, b->swizzle);
  trust_layout(t, b->layout); /* which may be said to be unknown */
  rule(t,
       t->status != CT_OK ||
           (all_leaves(b->layout.shape, is_plain) && all_leaves(b->layout.stride, is_plain)),
       "no layout of memory");
  if (b->members != NULL) {
    trust_members(t, b->members);
  }
  if (b->alias_of != 0) {
    trust_alias(t, b);
  }
  if (b->space == CT_GLOBAL && b->alias_of == 0) {
    trust_global(t, b);
  }
}

/* --- arguments ---------------------------------------------------------------------------------- */

static void trust_param(Trust *t, const CtParam *p) {
  const CtIr *ir = t->ir;
  rule(t, p->name != NULL && p->dtype != CT_VOID, "an argument without a name or a type");
  rule(t, (size_t)p->first_slot + p->n_slots <= ir->n_slots && p->n_slots > 0,
       "an argument that nothing is passed for");
  rule(t, !p->is_tensor || (p->buf != 0 && ir->bufs[p->buf].space == CT_GLOBAL),
       "a tensor of no memory");
  rule(t, t->status != CT_OK || (ir->slots[p->first_slot].kind == CT_SLOT_POINTER) == p->is_tensor,
       "a tensor without an address");
}

static void trust_slot(Trust *t, const CtSlot *s) {
  const CtInst *inst = &t->ir->insts[s->val];
  rule(t, s->name != NULL && s->dtype != CT_VOID && s->param < t->ir->n_params,
       "a value of no argument");
  rule(t,
       s->kind == CT_SLOT_POINTER
           ? s->val == 0
           : inst->op == CT_OP_PARAM && inst->imm.i == (int64_t)t->at && inst->type == s->dtype,
       "a value that is not passed as one");
}

static void trust_map(Trust *t, const CtTmaMap *m) {
  const CtIr *ir = t->ir;
  rule(t, m->name != NULL && m->buf != 0 && ir->bufs[m->buf].space == CT_GLOBAL && m->offset != 0,
       "a tensor map of no tensor");
  rule(t, m->dtype != CT_VOID && m->swizzle <= 3 && m->n > 0, "a tensor map of no box");
  for (int i = 0; i < m->n; i++) {
    const CtTmaDim *d = &m->dim[i];
    rule(t, d->extent != 0 && d->stride != 0 && d->div > 0 && d->box > 0 && d->box <= CT_TMA_BOX,
         "a tensor map of no box");
  }
}

static void trust_require(Trust *t, const CtRequire *r) {
  rule(t,
       r->value != 0 && r->modulus > 0 && r->op != NULL && r->mode != NULL && r->name != NULL &&
           r->divisor != NULL,
       "an assumption of nothing");
}

/* --- operations --------------------------------------------------------------------------------- */

static bool is_buf(const Trust *t, int64_t i) { return i > 0 && i < (int64_t)t->ir->n_bufs; }

static bool is_lane_width(int64_t n) { return n <= 32 && n > 0 && is_power((uint64_t)n); }

/* What imm holds, by the column `data`. */
static bool has_imm(const Trust *t, const CtInst *inst) {
  const CtIr *ir = t->ir;
  int64_t i = inst->imm.i, kind = i & 0xff, width = i >> 8 & 0xff;
  switch (ct_ops[inst->op].data) {
    case CT_DATA_SLOT: return i >= 0 && i < (int64_t)ir->n_slots && ir->slots[i].val == t->at;
    case CT_DATA_AXIS: return i >= 0 && i < 3;
    case CT_DATA_VAR: return i > 0 && i < (int64_t)ir->n_insts && ir->insts[i].op == CT_OP_VAR;
    case CT_DATA_ELEMENT:
    case CT_DATA_ATOMIC:
    case CT_DATA_BUF: return is_buf(t, i);
    case CT_DATA_BAR: return is_buf(t, i) && ir->bufs[i].arrivals > 0;
    case CT_DATA_TARGET: return i > 0 && i < (int64_t)ir->n_insts;
    case CT_DATA_NAMED: return i > 0 && i <= BLOCK_THREADS && i % 32 == 0;
    case CT_DATA_LANE: return kind < CT_SHFL_COUNT && i >= 0 && is_lane_width(i >> 8);
    case CT_DATA_VOTE: return i >= 0 && i < CT_VOTE_COUNT;
    case CT_DATA_MASKED:
      return i >= 0 && i >> 17 == 0 && kind < CT_MASKED_COUNT &&
             (width == 0 || is_lane_width(width));
    case CT_DATA_NUMBER:
    case CT_DATA_GROUPS: return i >= 0 && i < LARGEST;
    case CT_DATA_HINT: return i >= -1 && i < LARGEST;
    case CT_DATA_TEXT:
      return inst->op == CT_OP_ASSERT   ? i >= 0 && i < ir->n_asserts
             : inst->op == CT_OP_PRINT  ? i >= 0 && i < ir->n_prints
             : inst->op == CT_OP_WITHIN ? is_buf(t, i)
                                        : true;
    case CT_DATA_NONE:
    case CT_DATA_CONST:
    case CT_DATA_TILE:
    case CT_DATA_TMA: break;
  }
  return true;
}

/* Other devices reach global memory only. */
static bool has_order(const Trust *t, const CtInst *inst) {
  bool is_atomic = ct_op_is_atomic((CtOp)inst->op);
  bool is_sys = (inst->order & CT_ORDER_SYS) != 0;
  return inst->order <= CT_ORDER_ALL &&
         (inst->order == 0 || is_atomic || inst->op == CT_OP_FENCE) &&
         (!is_sys || !is_atomic || t->ir->bufs[inst->imm.i].space == CT_GLOBAL);
}

#define SET(type) (1u << CT_##type)
enum {
  WORD_SET = SET(i32) | SET(u32),
  INT_SET = WORD_SET | SET(i64) | SET(u64),
  FLOAT_SET = SET(f32) | SET(f64),
  INDEX_SET = SET(i32) | SET(i64)
};

/* The types of the operands of a PURE operation, by the column `types`. */
static unsigned set_of(CtOpTypes types) {
  switch (types) {
    case CT_TYPES_NUMBERS: return INT_SET | FLOAT_SET;
    case CT_TYPES_FLOATS: return FLOAT_SET;
    case CT_TYPES_F32: return SET(f32);
    case CT_TYPES_INTS: return INT_SET;
    case CT_TYPES_SIGNED: return INDEX_SET;
    case CT_TYPES_WORDS: return WORD_SET;
    case CT_TYPES_BOOL: return SET(bool);
    case CT_TYPES_WIDE: return INT_SET | FLOAT_SET | SET(bool);
    case CT_TYPES_NONE:
    case CT_TYPES_ANY: break;
  }
  return ~SET(VOID);
}

static bool has_type(const Trust *t, CtVal v, unsigned set) {
  const CtInst *inst = &t->ir->insts[v];
  return inst->op != CT_OP_VAR && (set >> inst->type & 1) != 0;
}

/* Operands whose types ops.def says in words. */
typedef struct OperandRow {
  uint16_t op;
  uint8_t operand;
  unsigned set;
} OperandRow;
static const OperandRow operand_rows[] = {
    {CT_OP_SELECT, 0, SET(bool)},        {CT_OP_IF, 0, SET(bool)},
    {CT_OP_FOR, 0, INDEX_SET},           {CT_OP_WGMMA, 0, SET(bool)},
    {CT_OP_BARRIER_COUNT, 0, SET(bool)}, {CT_OP_BARRIER_AND, 0, SET(bool)},
    {CT_OP_BARRIER_OR, 0, SET(bool)},    {CT_OP_REMOTE, 0, SET(i32)},
    {CT_OP_SHFL, 1, SET(i32)},           {CT_OP_VOTE, 0, SET(bool)},
    {CT_OP_MASKED, 2, SET(u32)},         {CT_OP_SYNC_LANES, 0, SET(u32)},
    {CT_OP_ASSERT, 0, SET(bool)},        {CT_OP_WITHIN, 0, INDEX_SET},
    {CT_OP_NAMED_SYNC, 0, SET(i32)},     {CT_OP_NAMED_ARRIVE, 0, SET(i32)},
    {CT_OP_SHFL, 0, INT_SET | FLOAT_SET}};

/* Results whose types ops.def gives in words. */
typedef struct ResultRow {
  uint16_t op;
  unsigned set;
} ResultRow;
static const ResultRow result_rows[] = {
    {CT_OP_POPC, SET(i32)},          {CT_OP_CLZ, SET(i32)},
    {CT_OP_FFS, SET(i32)},           {CT_OP_TID, SET(i32)},
    {CT_OP_BID, SET(i32)},           {CT_OP_GDIM, SET(i32)},
    {CT_OP_BARRIER_COUNT, SET(i32)}, {CT_OP_ACTIVE_MASK, SET(u32)},
    {CT_OP_CLOCK, SET(i64)},         {CT_OP_VAR, ~SET(VOID)},
    {CT_OP_CONST, ~SET(VOID)},       {CT_OP_CAST, ~SET(VOID)},
    {CT_OP_BITCAST, ~SET(VOID)},     {CT_OP_VOTE, SET(bool) | SET(u32)}};

static bool has_operand_types(const Trust *t, const CtInst *inst) {
  bool pure = ct_ops[inst->op].cls == CT_CLS_PURE;
  bool has = true;
  for (int i = 0; i < inst->n_args; i++) {
    unsigned set = pure ? set_of(ct_ops[inst->op].types) : ~SET(VOID);
    has = has && inst->args[i] != t->at && (inst->args[i] == 0 || has_type(t, inst->args[i], set));
  }
  for (size_t i = 0; i < CT_ARRAY_LEN(operand_rows); i++) {
    const OperandRow *row = &operand_rows[i];
    has = has && (row->op != inst->op || has_type(t, inst->args[row->operand], row->set));
  }
  return has;
}

static bool has_result_type(const Trust *t, const CtInst *inst) {
  const CtInst *insts = t->ir->insts;
  unsigned own = 1u << inst->type;
  bool has = true;
  for (size_t i = 0; i < CT_ARRAY_LEN(result_rows); i++) {
    has = has && (result_rows[i].op != inst->op || (result_rows[i].set & own) != 0);
  }
  switch (inst->op) {
    case CT_OP_SELECT: return inst->type == insts[inst->args[1]].type;
    case CT_OP_GET: return inst->type == insts[inst->imm.i].type;
    case CT_OP_SET: return insts[inst->args[0]].type == insts[inst->imm.i].type;
    case CT_OP_PARAM: return inst->type == t->ir->slots[inst->imm.i].dtype;
    case CT_OP_VOTE: return (inst->type == CT_u32) == (inst->imm.i == CT_VOTE_BALLOT);
    default: return has;
  }
}

/* A constant that its type has. */
static bool is_constant(const CtInst *inst) {
  CtFacts all = ct_type_facts((CtDtype)inst->type);
  return ct_is_float((CtDtype)inst->type) || inst->type == CT_u64 ||
         (inst->type == CT_bool ? inst->imm.i == 0 || inst->imm.i == 1
                                : inst->imm.i >= all.lo && inst->imm.i <= all.hi);
}

/* Operand 1 of MASKED is there if it is a shuffle. */
static bool has_operands(const CtInst *inst) {
  int i = 0;
  while (i < inst->n_args && (inst->args[i] != 0 || (inst->op == CT_OP_MASKED && i == 1))) {
    i++;
  }
  for (int k = inst->n_args; k < 3; k++) {
    if (inst->args[k] != 0) {
      return false;
    }
  }
  return i == inst->n_args;
}

static bool has_names(const Trust *t, const CtEscape *e) {
  for (int i = 0; i < e->n; i++) {
    if (e->names[i] == NULL || e->vals[i] == t->at || !has_type(t, e->vals[i], ~SET(VOID))) {
      return false;
    }
  }
  for (int i = 0; i < e->n_outs; i++) {
    if (e->outs[i].name == NULL || e->outs[i].type == CT_VOID) {
      return false;
    }
  }
  for (int i = 0; i < e->n_places; i++) {
    if (e->places[i].name == NULL || e->places[i].buf == 0 || e->places[i].at == t->at ||
        !has_type(t, e->places[i].at, INDEX_SET)) {
      return false;
    }
  }
  return true;
}

static void trust_text(Trust *t, const CtInst *inst) {
  const CtEscape *e = inst->u.escape;
  bool is_whole = e != NULL && e->text != NULL &&
                  (e->n == 0 || (e->names != NULL && e->vals != NULL)) &&
                  (e->n_outs == 0 || e->outs != NULL) && (e->n_places == 0 || e->places != NULL);
  rule(t, is_whole && has_names(t, e), "a text without its operands");
}

static void trust_tma(Trust *t, const CtInst *inst) {
  const CtTma *tma = inst->u.tma;
  const CtIr *ir = t->ir;
  bool is_load = inst->op == CT_OP_TMA_LOAD;
  if (!rule(t, tma != NULL && tma->map < ir->n_maps && tma->offset != 0,
            "a box of no tensor map")) {
    return;
  }
  rule(t, tma->buf != 0 && ir->bufs[tma->buf].space == CT_SHARED, "a box that is not shared");
  rule(t, !is_load || (tma->bar != 0 && ir->bufs[tma->bar].arrivals > 0 && tma->slot != 0),
       "a box that nobody waits for");
  for (int i = 0; i < ir->maps[tma->map].n; i++) {
    rule(t, tma->crd[i] != 0, "a box without a coordinate");
  }
}

static bool has_a(CtOp op) { return op != CT_OP_FILL; }
static bool has_b(CtOp op) { return ct_op_has(op, CT_TRAIT_SUMS); }

static void trust_tile(Trust *t, const CtInst *inst) {
  const CtTile *tile = inst->u.tile;
  CtOp op = (CtOp)inst->op;
  if (!rule(t,
            tile != NULL && tile->dst.buf != 0 && (tile->a.buf != 0 || !has_a(op)) &&
                (tile->b.buf != 0 || !has_b(op)),
            "an operation on tensors that lacks one")) {
    return;
  }
  rule(t, is_power(tile->vec) && tile->vec <= 16, "a vector of no size");
  ct_ir_each_view(inst, trust_view, t);
}

static void trust_element(Trust *t, const CtInst *inst) {
  const CtBuf *b = &t->ir->bufs[inst->imm.i];
  const CtInst *at = &t->ir->insts[inst->args[0]];
  bool is_known = b->space != CT_GLOBAL && at->op == CT_OP_CONST;
  rule(t, ct_is_int((CtDtype)at->type), "a place that is no number");
  rule(t, !is_known || (at->imm.i >= 0 && at->imm.i < b->n_elems.v),
       "an element past the end of its memory");
  rule(t, inst->op != CT_OP_LOAD || inst->type == b->dtype, "an element of another type");
  rule(t, inst->op != CT_OP_STORE || t->ir->insts[inst->args[1]].type == b->dtype,
       "an element of another type");
}

/* Of an operation that was taken out it is of no account. */
static void trust_regions(Trust *t, const CtInst *inst) {
  const CtIr *ir = t->ir;
  CtRegion body = inst->u.regions[0], other = inst->u.regions[1];
  rule(t,
       inst->region == 0 || (body > 1 && ir->regions[body].owner == t->at && body != other &&
                             (other == 0 || (other > 1 && inst->op == CT_OP_IF &&
                                             ir->regions[other].owner == t->at))),
       "structure without a body");
}

static void trust_inst(Trust *t, const CtInst *inst) {
  CtOp op = (CtOp)inst->op;
  CtOpClass cls = ct_ops[op].cls;
  if (op == CT_OP_NONE) {
    rule(t, inst->region == 0 && inst->type == CT_VOID, "no operation");
    return;
  }
  rule(t, inst->region == 0 || cls != CT_CLS_LEAF, "a leaf that stands in a region");
  rule(t, has_operands(inst), "an operation without its operands");
  rule(t, inst->facts.lo <= inst->facts.hi && inst->facts.div >= 0, "facts that nothing fulfils");
  if (!rule(t, has_imm(t, inst), "an operation of nothing")) {
    return;
  }
  rule(t, has_order(t, inst), "an order of an operation that has none");
  rule(t, has_operand_types(t, inst) && has_result_type(t, inst), "an operation on another type");
  rule(t, op != CT_OP_CONST || is_constant(inst), "a constant that its type does not have");
  if (cls == CT_CLS_REGION) {
    trust_regions(t, inst);
  } else if (cls == CT_CLS_TILE) {
    trust_tile(t, inst);
  } else if (ct_op_has_text(op)) {
    trust_text(t, inst);
  } else if (ct_op_is_tma(op)) {
    trust_tma(t, inst);
  } else if (ct_ops[op].data == CT_DATA_ELEMENT) {
    trust_element(t, inst);
  }
}

/* --- structure ---------------------------------------------------------------------------------- */

static void trust_region(Trust *t, const CtRegionInfo *r) {
  const CtIr *ir = t->ir;
  CtRegion at = (CtRegion)t->at;
  int depth = 0;
  rule(t, (at == 1) == (r->owner == 0), "a region that belongs to nothing");
  rule(t, at == 1 || ct_ops[ir->insts[r->owner].op].cls == CT_CLS_REGION,
       "a region of no structure");
  while (at > 1 && depth++ < DEEPEST) {
    at = ir->insts[ir->regions[at].owner].region;
  }
  rule(t, depth < DEEPEST, "regions that nest in a circle");
}

/* Marks what stands in the body, directly or deeper. */
static void mark_linked(const CtIr *ir, CtRegion r, bool *is_linked) {
  for (CtVal v = ir->regions[r].first; v != 0; v = ir->insts[v].next) {
    is_linked[v] = true;
    if (ct_ops[ir->insts[v].op].cls == CT_CLS_REGION) {
      mark_linked(ir, ir->insts[v].u.regions[0], is_linked);
      mark_linked(ir, ir->insts[v].u.regions[1], is_linked);
    }
  }
}

/* ct_ir_check sees what stands in the body; what was taken out of it is still read, as an extent is. So it has
   only operands before it. */
static void trust_order(Trust *t, const bool *is_linked) {
  for (CtVal v = 1; v < t->ir->n_insts; v++) {
    const CtInst *inst = &t->ir->insts[v];
    t->at = v;
    for (int i = 0; !is_linked[v] && i < inst->n_args; i++) {
      rule(t, inst->args[i] < v || is_linked[inst->args[i]], "an expression in a circle");
    }
  }
}

static void trust_expressions(Trust *t) {
  bool *is_linked = ct_alloc(t->ir->arena.alloc, t->ir->n_insts);
  if (is_linked == NULL) {
    t->status = ct_fail_nomem(t->err);
    return;
  }
  memset(is_linked, 0, t->ir->n_insts);
  mark_linked(t->ir, 1, is_linked);
  trust_order(t, is_linked);
  ct_free(t->ir->arena.alloc, is_linked, t->ir->n_insts);
}

static void trust_head(Trust *t) {
  const CtIr *ir = t->ir;
  const int64_t *b = ir->block, *c = ir->cluster;
  rule(t, ir->name != NULL && ir->name[0] != '\0', "a kernel without a name");
  for (int i = 0; i < 3; i++) {
    rule(t, b[i] > 0 && b[i] <= BLOCK_THREADS && c[i] > 0 && c[i] <= CLUSTER_BLOCKS,
         "no block or cluster");
  }
  rule(t,
       t->status != CT_OK ||
           (b[0] * b[1] * b[2] <= BLOCK_THREADS && c[0] * c[1] * c[2] <= CLUSTER_BLOCKS),
       "a block or a cluster that is too large");
  rule(t, ir->smem >= 0 && ir->smem <= LARGEST, "shared memory of no size");
  rule(t, ir->n_asserts <= ir->n_insts && ir->n_prints <= ir->n_insts,
       "more messages than operations");
  rule(t, ir->smem_buf == 0 || ir->bufs[ir->smem_buf].space == CT_SHARED,
       "memory that is not shared");
  for (size_t i = 1; i < ir->n_chunks; i++) {
    rule(t, ir->chunks[i] != NULL, "a script without a name");
  }
  rule(t, ir->n_notes == 0 || ir->notes != NULL, "notes that are not there");
  for (size_t i = 0; i < ir->n_notes && t->status == CT_OK; i++) {
    rule(t, ir->notes[i].what != NULL, "a note of nothing");
  }
}

/* Looks at each element of a table. */
#define TRUST_EACH(t, what, table, n, first, fn)                                                   \
  for ((t)->kind = (what), (t)->at = (first); (t)->at < (n) && (t)->status == CT_OK; (t)->at++) {  \
    fn((t), &(table)[(t)->at]);                                                                    \
  }

CtStatus ct_ir_trust(const CtIr *ir, CtErr *err) {
  Trust t = {.ir = ir, .kind = "head", .err = err};
  trust_head(&t);
  TRUST_EACH(&t, "buffer", ir->bufs, ir->n_bufs, 1, trust_buf)
  TRUST_EACH(&t, "argument", ir->params, ir->n_params, 0, trust_param)
  TRUST_EACH(&t, "value", ir->slots, ir->n_slots, 0, trust_slot)
  TRUST_EACH(&t, "map", ir->maps, ir->n_maps, 0, trust_map)
  TRUST_EACH(&t, "assumption", ir->requires_, ir->n_requires, 0, trust_require)
  TRUST_EACH(&t, "region", ir->regions, ir->n_regions, 1, trust_region)
  TRUST_EACH(&t, "operation", ir->insts, ir->n_insts, 1, trust_inst)
  if (t.status == CT_OK) {
    trust_expressions(&t);
  }
  return t.status;
}
