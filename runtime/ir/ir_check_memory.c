/* ir_check_memory.c: what the tables of an IR must be: memory and its aliases, arguments and the values that are
   passed for them, tensor maps, assumptions. The rules are those of the functions that fill the tables (ir_buf.c,
   ir_recast.c, ir_list.c, ir_cluster.c, ir_tma.c), for traces and for files alike. */
#include "ir_build.h"
#include "ir_tma.h"
#include "runtime/layout/tuple_leaves.h"

enum { MOST_ELEMENTS = 1 << 30 };
static const int64_t MOST_PLACES = INT64_MAX / 16;

static bool is_power(uint64_t n) { return n != 0 && (n & (n - 1)) == 0; }

/* --- layouts ------------------------------------------------------------------------------------ */

/* Elements so far from the first have addresses of 64 bits, whatever their type. */
static bool is_place(int64_t at) { return at >= -MOST_PLACES && at <= MOST_PLACES; }

static bool is_index(const CtIr *ir, CtInt i) {
  const CtInst *inst = ct_inst(ir, i.kind == CT_DYNAMIC ? i.id : 0);
  return i.basis_depth == 0 && i.kind != CT_ANY && (i.kind != CT_STATIC || is_place(i.v)) &&
         (i.kind != CT_DYNAMIC ||
          (inst->op != CT_OP_VAR && (inst->type == CT_i32 || inst->type == CT_i64)));
}

static bool has_indices(const CtIr *ir, CtTuple t, int64_t least) {
  bool has = true;
  for (CtLeaves w = ct_leaves_of(t); has && ct_next_leaf(&w);) {
    CtInt i = w.shape->i;
    has = is_index(ir, i) && (i.kind != CT_STATIC || i.v >= least);
  }
  return has;
}

/* Linear indices of what is static in a layout: the lowest and the highest; false: they do not fit. */
static bool bounds_of(CtLayout l, int64_t *lo, int64_t *hi) {
  bool fits = true;
  *lo = *hi = 0;
  for (CtLeaves w = ct_layout_leaves(l); fits && ct_next_leaf(&w);) {
    CtInt n = w.shape->i, d = w.stride->i;
    int64_t way;
    if (n.kind == CT_STATIC && d.kind == CT_STATIC) {
      fits = !ct_mul_overflow(n.v == 0 ? 0 : n.v - 1, d.v, &way) &&
             !ct_add_overflow(way < 0 ? *lo : *hi, way, way < 0 ? lo : hi);
    }
  }
  return fits;
}

/* Elements of what is static, as a number. */
static bool has_size(CtTuple shape) {
  int64_t n = 1;
  bool has = true;
  for (CtLeaves w = ct_leaves_of(shape); has && ct_next_leaf(&w);) {
    CtInt i = w.shape->i;
    has = i.kind != CT_STATIC || i.v == 0 || !ct_mul_overflow(n, i.v, &n);
  }
  return has;
}

static const char *layout_fault(const CtIr *ir, CtLayout l) {
  int64_t lo, hi;
  if (l.shape == NULL || l.stride == NULL || !ct_congruent(l.shape, l.stride)) {
    return "a layout whose shape and stride differ in nesting";
  }
  if (!has_indices(ir, l.shape, 0) || !has_indices(ir, l.stride, INT64_MIN)) {
    return "a layout with an extent or stride that is not an integer, or exceeds 2^59";
  }
  return bounds_of(l, &lo, &hi) && has_size(l.shape) ? NULL : "a layout beyond 64 bits";
}

static bool is_empty(CtTuple shape) {
  bool is = false;
  for (CtLeaves w = ct_leaves_of(shape); !is && ct_next_leaf(&w);) {
    is = ct_is_const(w.shape->i, 0);
  }
  return is;
}

/* The lowest place of what is known of a view, and the highest; false: no memory has them. */
static bool places_of(const CtView *v, int64_t *lo, int64_t *hi) {
  int64_t offset = v->offset.kind == CT_STATIC ? v->offset.v : 0;
  return bounds_of(v->layout, lo, hi) && !ct_add_overflow(*lo, offset, lo) &&
         !ct_add_overflow(*hi, offset, hi) && is_place(*lo) && is_place(*hi);
}

/* A view of declared memory, of which all is known, lies in it. */
static bool is_inside(const CtIr *ir, const CtView *v) {
  const CtBuf *b = &ir->bufs[v->buf];
  int64_t lo, hi;
  if (is_empty(v->layout.shape)) {
    return true;
  }
  bool is_known =
      b->space != CT_GLOBAL && v->offset.kind == CT_STATIC && ct_layout_is_static(v->layout);
  return places_of(v, &lo, &hi) && (!is_known || (lo >= 0 && hi < b->n_elems.v));
}

const char *ct_ir_view_fault(const CtIr *ir, const CtView *v) {
  if (v->buf == 0 || v->buf >= ir->n_bufs) {
    return "a tensor without memory";
  }
  const char *fault = layout_fault(ir, v->layout);
  if (fault == NULL && !is_index(ir, v->offset)) {
    fault = "a tensor whose offset is not an integer, or exceeds 2^59";
  }
  for (int i = 0; i < ct_guard_n(v) && fault == NULL; i++) {
    const CtGuardAxis *axis = &v->guard->axis[i];
    bool is = is_index(ir, axis->at) && is_index(ir, axis->bound);
    fault = is ? layout_fault(ir, ct_guard_layout(v, axis)) : "a guard without numbers";
  }
  return fault != NULL || is_inside(ir, v) ? fault : "a tensor that reaches beyond its memory";
}

/* --- memory ------------------------------------------------------------------------------------- */

/* Is it what TENSOR_AT or REMOTE recorded for this buffer? */
static bool begins_by(const CtIr *ir, const CtBuf *b, CtOp op, CtVal of) {
  const CtInst *inst = ct_inst(ir, b->begins);
  return inst->op == op && inst->imm.i == b - ir->bufs && inst->args[0] == of;
}

static const char *chosen_fault(const CtIr *ir, const CtBuf *b) {
  CtDtype type = (CtDtype)ct_inst(ir, b->chosen)->type;
  if (b->space != CT_GLOBAL || !begins_by(ir, b, CT_OP_TENSOR_AT, b->chosen)) {
    return "a tensor that nothing begins";
  }
  if (b->list == 0) {
    return type == CT_u64 && ir->has_addresses ? NULL : "a tensor whose address is not a number";
  }
  const CtBuf *list = &ir->bufs[b->list];
  bool is_member = list->members != NULL;
  return is_member && type == CT_i32 ? NULL : "a member of no list";
}

/* Another view of earlier memory has no more of it. */
static const char *alias_fault(const CtIr *ir, const CtBuf *b) {
  const CtBuf *of = &ir->bufs[b->alias_of];
  int64_t mine, its;
  if (of >= b || of->alias_of != 0 || of->space != b->space || b->chosen != 0 ||
      b->members != of->members || b->arrivals != of->arrivals) {
    return "memory of a buffer that no earlier operation declares";
  }
  if (b->remote != 0 && (b->space != CT_SHARED || !begins_by(ir, b, CT_OP_REMOTE, b->remote))) {
    return "remote memory that belongs to no other block";
  }
  if (b->bar != 0 && (b->remote == 0 || ir->bufs[b->bar].arrivals == 0)) {
    return "asynchronous stores without an mbarrier";
  }
  if (b->space == CT_GLOBAL) {
    return b->param == of->param ? NULL : "memory of another argument";
  }
  bool fits = !ct_mul_overflow(b->n_elems.v, ct_dtype_pitch(b->dtype), &mine) &&
              !ct_mul_overflow(of->n_elems.v, ct_dtype_pitch(of->dtype), &its) &&
              mine <= (its + 7) / 8 * 8;
  return fits ? NULL : "memory that is larger than the memory that it aliases";
}

/* As `declare` has it: what the layout reaches, and the swizzle does not lead out. */
static const char *declared_fault(const CtIr *ir, const CtBuf *b) {
  int64_t lo, hi, n;
  if (b->n_elems.kind != CT_STATIC || b->n_elems.v < 0 || b->n_elems.v > MOST_ELEMENTS ||
      ct_swizzle_extent(b->swizzle, b->n_elems.v, &n, NULL) != CT_OK || n != b->n_elems.v) {
    return "declared memory without a size";
  }
  bool is_known = b->alias_of == 0 && ct_layout_is_static(b->layout);
  if (is_known &&
      (!bounds_of(b->layout, &lo, &hi) || lo < 0 || hi >= MOST_ELEMENTS ||
       ct_swizzle_extent(b->swizzle, is_empty(b->layout.shape) ? 0 : hi + 1, &n, NULL) != CT_OK ||
       n != b->n_elems.v)) {
    return "declared memory whose size is not that of its layout";
  }
  if (b->alias_of == 0 && b->space == CT_REGISTER &&
      b->n_elems.v > (b->is_local ? (int64_t)ct_dense_count(b->dtype, CT_LOCAL_BYTES)
                                  : CT_FRAGMENT_ELEMENTS)) {
    return "more registers than a thread has";
  }
  bool is_smem = (uint32_t)(b - ir->bufs) == ir->smem_buf;
  return is_smem && ct_dtype_span(b->dtype, b->n_elems.v) > ir->smem
             ? "more shared memory than the launch gives"
             : NULL;
}

const char *ct_ir_shared_fault(const CtIr *ir) {
  if (ct_ir_tmem_columns(ir, UINT32_MAX) > CT_TMEM_COLUMNS) {
    return "more tensor memory than any block has";
  }
  return ct_ir_shared_bytes(ir) + ct_ir_shared_slack(ir) > CT_MOST_SHARED
             ? "more shared memory than any block has"
             : NULL;
}

/* As ct_ir_tmem makes it. */
static const char *tmem_fault(const CtIr *ir, const CtBuf *b) {
  bool is_whole = b->alias_of == 0 && b->address != 0 && b->address < ir->n_bufs &&
                  ir->bufs[b->address].space == CT_SHARED && ir->bufs[b->address].dtype == CT_u32 &&
                  ir->bufs[b->address].n_elems.v == 1 && b->swizzle.bits == 0 &&
                  !ct_dtype_is_packed(b->dtype);
  return is_whole && ct_buf_columns(b) <= CT_TMEM_COLUMNS ? NULL
                                                          : "tensor memory that no block has";
}

static const char *tensor_fault(const CtIr *ir, const CtBuf *b) {
  if (b->chosen != 0) {
    return chosen_fault(ir, b);
  }
  bool is_named = b->param < ir->n_params && ir->params[b->param].is_tensor &&
                  ir->params[b->param].buf == (uint32_t)(b - ir->bufs);
  return b->alias_of != 0 || is_named ? NULL : "a tensor of no argument";
}

/* The numbers of the columns, in order. */
static bool has_columns(CtTuple tuple, uint32_t *next) {
  bool has = tuple != NULL;
  for (CtLeaves w = ct_leaves_of(tuple); has && ct_next_leaf(&w);) {
    CtInt i = w.shape->i;
    has = i.basis_depth == 0 && i.kind != CT_ANY && (i.kind != CT_DYNAMIC || i.id == (*next)++);
  }
  return has;
}

static const char *members_fault(const CtBuf *b) {
  const CtTensorSpec *m = b->members;
  uint32_t next = 1;
  if (m == NULL) {
    return NULL;
  }
  bool is = b->space == CT_GLOBAL && b->dtype == CT_i64 && m->name != NULL && m->shape != NULL &&
            m->stride != NULL && has_columns(m->shape, &next) && has_columns(m->stride, &next) &&
            ct_congruent(m->shape, m->stride) && is_power(m->align) && m->dtype != CT_VOID &&
            (m->index == CT_i32 || m->index == CT_i64) && (next == 1 || m->facts != NULL);
  return is ? NULL : "a list of no tensors";
}

/* Its layout may be unknown: ct_ir_forget_coordinates. */
static bool has_layout(const CtIr *ir, const CtBuf *b) {
  CtLayout l = b->layout;
  bool is_whole = l.shape != NULL && l.stride != NULL && ct_congruent(l.shape, l.stride);
  bool is_unknown = is_whole && ct_is_leaf(l.shape) && l.shape->i.kind == CT_ANY;
  return is_whole && (is_unknown ? ct_is_const(l.stride->i, 1) : layout_fault(ir, l) == NULL);
}

const char *ct_ir_buf_fault(const CtIr *ir, uint32_t buf) {
  const CtBuf *b = &ir->bufs[buf];
  CtSwizzle sw;
  if (b->name == NULL || b->dtype == CT_VOID || !is_power(b->align) || !ct_loc_is(b->loc)) {
    return "memory of no elements";
  }
  if (ct_swizzle_make(b->swizzle.bits, b->swizzle.base, b->swizzle.shift, &sw, NULL) != CT_OK) {
    return "an invalid swizzle";
  }
  if ((b->space == CT_CONSTANT && b->alias_of == 0) != (b->data != NULL && b->alias_of == 0)) {
    return "constants without elements";
  }
  if (b->arrivals != 0 && (b->space != CT_SHARED || b->dtype != CT_u64)) {
    return "barriers that are not in shared memory";
  }
  if ((b->remote != 0 || b->cache != CT_CACHE_NONE) && b->alias_of == 0) {
    return "a view without memory";
  }
  if ((b->chosen != 0 && b->space != CT_GLOBAL) || (b->list != 0 && b->chosen == 0) ||
      (b->begins != 0 && b->chosen == 0 && b->remote == 0)) {
    return "memory with an incomplete choice";
  }
  if (!has_layout(ir, b)) {
    return "a layout of no memory";
  }
  const char *fault = members_fault(b);
  fault = fault == NULL && b->space != CT_GLOBAL ? declared_fault(ir, b) : fault;
  fault = fault == NULL && b->alias_of != 0 ? alias_fault(ir, b) : fault;
  fault = fault == NULL && b->space == CT_TENSOR ? tmem_fault(ir, b) : fault;
  return fault == NULL && b->space == CT_GLOBAL ? tensor_fault(ir, b) : fault;
}

/* --- arguments ---------------------------------------------------------------------------------- */

/* Walks the slots of a tensor as make_slots makes them; the first that is another one, or NULL. */
static bool has_leaf_slots(const CtIr *ir, const CtParam *p, CtTuple t, CtSlotKind kind,
                           uint32_t *next) {
  const CtDtype index = ir->bufs[p->buf].is_wide ? CT_i64 : CT_i32;
  uint32_t leaf = 0;
  bool has = true;
  for (CtLeaves w = ct_leaves_of(t); has && ct_next_leaf(&w); leaf++) {
    if (w.shape->i.kind == CT_DYNAMIC) {
      const CtSlot *s = &ir->slots[*next];
      has = *next < p->first_slot + p->n_slots && s->kind == kind && s->leaf == leaf &&
            s->val == w.shape->i.id && s->dtype == index;
      ++*next;
    }
  }
  return has;
}

static const char *tensor_param_fault(const CtIr *ir, const CtParam *p) {
  const CtBuf *b = &ir->bufs[p->buf];
  const CtSlot *pointer = &ir->slots[p->first_slot];
  uint32_t next = p->first_slot + 1;
  if (p->buf == 0 || b->space != CT_GLOBAL || b->chosen != 0 || b->alias_of != 0 ||
      b->param != (uint32_t)(p - ir->params) || b->dtype != p->dtype) {
    return "a tensor without memory, or with other elements than its memory";
  }
  if (pointer->kind != CT_SLOT_POINTER || pointer->dtype != p->dtype) {
    return "a tensor without an address";
  }
  bool has = has_leaf_slots(ir, p, b->layout.shape, CT_SLOT_EXTENT, &next) &&
             has_leaf_slots(ir, p, b->layout.stride, CT_SLOT_STRIDE, &next);
  return has && next == p->first_slot + p->n_slots
             ? NULL
             : "a tensor whose layout is not the one that is passed";
}

const char *ct_ir_param_fault(const CtIr *ir, size_t param) {
  const CtParam *p = &ir->params[param];
  uint32_t first =
      param == 0 ? 0 : ir->params[param - 1].first_slot + ir->params[param - 1].n_slots;
  bool is_last = param + 1 == ir->n_params;
  if (p->name == NULL || p->dtype == CT_VOID) {
    return "an argument without a name or a type";
  }
  if (p->first_slot != first || p->n_slots == 0 || p->n_slots > ir->n_slots - first ||
      (is_last && first + p->n_slots != ir->n_slots)) {
    return "an argument without values";
  }
  for (uint32_t i = first; i < first + p->n_slots; i++) {
    if (ir->slots[i].param != param) {
      return "an argument whose values belong to another argument";
    }
  }
  const CtSlot *s = &ir->slots[first];
  bool is_number = p->n_slots == 1 && s->kind == CT_SLOT_NUMBER && s->dtype == p->dtype;
  return p->is_tensor ? tensor_param_fault(ir, p) : is_number ? NULL : "a number of another type";
}

const char *ct_ir_slot_fault(const CtIr *ir, size_t slot) {
  const CtSlot *s = &ir->slots[slot];
  const CtInst *inst = ct_inst(ir, s->val);
  if (s->name == NULL || s->dtype == CT_VOID || s->param >= ir->n_params) {
    return "a value of no argument";
  }
  bool is_passed =
      s->kind == CT_SLOT_POINTER
          ? s->val == 0
          : inst->op == CT_OP_PARAM && inst->imm.i == (int64_t)slot && inst->type == s->dtype;
  return is_passed ? NULL : "a value that is not passed as a value";
}

/* --- what a launch computes --------------------------------------------------------------------- */

static bool is_step(int64_t n) { return n > 0 && n <= INT32_MAX; }

/* An integer that the host can compute. */
static bool is_of_launch(const CtIr *ir, CtVal v) {
  CtDtype type = (CtDtype)ct_inst(ir, v)->type;
  return v != 0 && (type == CT_i32 || type == CT_i64) && ct_ir_is_of_launch(ir, v);
}

const char *ct_ir_map_fault(const CtIr *ir, size_t map) {
  const CtTmaMap *m = &ir->maps[map];
  const CtBuf *b = &ir->bufs[m->buf];
  int64_t box = 1;
  if (m->name == NULL || m->buf == 0 || b->space != CT_GLOBAL || b->chosen != 0 ||
      m->dtype != b->dtype || m->dtype == CT_VOID || !is_of_launch(ir, m->offset)) {
    return "a tensor map without a tensor";
  }
  if (m->n < 1 || m->n > CT_TMA_DIMS || m->swizzle > 3) {
    return "a tensor map without a box";
  }
  for (int i = 0; i < m->n; i++) {
    const CtTmaDim *d = &m->dim[i];
    if (!is_of_launch(ir, d->extent) || !is_of_launch(ir, d->stride) || !is_step(d->div) ||
        !is_step(d->mul) || d->box < 1 || d->box > CT_TMA_BOX) {
      return "a tensor map without a box";
    }
    box *= d->box;
  }
  int64_t row = ct_dtype_span(m->dtype, m->dim[0].box);
  bool fits = row % CT_TMA_UNIT == 0 && ct_dtype_span(m->dtype, box) <= CT_TMA_MOST_BYTES &&
              (m->swizzle == 0 || row <= (int64_t)CT_TMA_UNIT << m->swizzle);
  return fits ? NULL : "a tensor map whose box no instruction moves";
}

const char *ct_ir_require_fault(const CtIr *ir, size_t require) {
  const CtRequire *r = &ir->requires_[require];
  bool is = r->value != 0 && ct_is_int((CtDtype)ct_inst(ir, r->value)->type) && r->modulus > 0 &&
            r->most >= 0 && r->op != NULL && r->mode != NULL && r->name != NULL &&
            r->divisor != NULL;
  return is ? NULL : "an assumption of nothing";
}
