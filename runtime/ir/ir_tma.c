/* ir_tma.c: TMA_LOAD and TMA_STORE: the tensor maps of a kernel, and one instruction for each box of a tile
   (ir_tma_box.c). */
#include "ir_tma.h"

#include <string.h>

#include "ir_build.h"
#include "ir_tma_box.h"

#define FAIL(d, ...) ct_fail((d)->g.err, CT_EINVAL, __VA_ARGS__)

const char *const ct_tma_reductions[CT_TMA_REDUCE_COUNT] = {
#define X(name, text, ptx) text,
    CT_TMA_REDUCTIONS(X)
#undef X
};

CtStatus ct_ir_check_tma(const CtIr *ir, const char *op, CtErr *err) {
  const CtTarget *target = &ir->target;
  if (!target->is_cuda || target->sm >= 90) {
    return CT_OK;
  }
  return ct_fail(err, CT_EUNSUPPORTED,
                 "%s: it needs sm_90, but the kernel is compiled for sm_%d; the CPU engine runs it",
                 op, target->sm);
}

/* --- the map ----------------------------------------------------------------------------------------- */

static CtVal val_of(CtIr *ir, CtInt i) {
  return i.kind == CT_DYNAMIC ? i.id : ct_ir_const_int(ir, CT_i64, i.v);
}

/* The steps of the next dimension along the same tensor mode, in units of this one's; 0: there is
   no next. */
static int64_t radix_of(const CtTmaTile *d, int dim) {
  int64_t radix = 0;
  for (int i = 0; i < d->n_dims; i++) {
    if (d->dim[i].leaf == d->dim[dim].leaf && d->dim[i].step > d->dim[dim].step) {
      int64_t r = d->dim[i].step / d->dim[dim].step;
      radix = radix == 0 || r < radix ? r : radix;
    }
  }
  return radix;
}

static bool same_map(const CtTmaMap *a, const CtTmaMap *b) {
  bool same = a->buf == b->buf && a->offset == b->offset && a->swizzle == b->swizzle &&
              a->promotion == b->promotion && a->n == b->n;
  for (int i = 0; same && i < a->n; i++) {
    const CtTmaDim *x = &a->dim[i], *y = &b->dim[i];
    same = x->extent == y->extent && x->stride == y->stride && x->div == y->div &&
           x->mul == y->mul && x->box == y->box;
  }
  return same;
}

static uint32_t add_map(CtIr *ir, const CtTmaMap *map) {
  for (uint32_t i = 0; i < ir->n_maps; i++) {
    if (same_map(&ir->maps[i], map)) {
      return i;
    }
  }
  if (CT_GROW(ir->arena.alloc, ir->maps, ir->cap_maps, ir->n_maps + 1, NULL) != CT_OK) {
    ir->failed = true;
    return 0;
  }
  ir->maps[ir->n_maps] = *map;
  return (uint32_t)ir->n_maps++;
}

/* A tensor with a hint has the map of the tensor without. */
static uint32_t map_buf(const CtIr *ir, uint32_t buf) {
  uint32_t memory = ct_ir_memory(ir, buf);
  bool is_same = ir->bufs[memory].dtype == ir->bufs[buf].dtype;
  return is_same ? memory : buf;
}

static CtStatus make_map(CtTmaTile *d, bool is_load, uint32_t *out) {
  CtIr *ir = d->ir;
  const CtView *v = &d->source->view;
  CtTmaMap map = {.name = ir->bufs[v->buf].name,
                  .buf = map_buf(ir, v->buf),
                  .offset = val_of(ir, v->offset),
                  .dtype = ir->bufs[v->buf].dtype,
                  .swizzle = (uint8_t)d->swizzle,
                  .promotion = (uint16_t)(d->source->promotion >= 0 ? d->source->promotion
                                          : is_load                 ? 128
                                                                    : 0),
                  .n = d->n_dims};
  bool ok = ct_ir_is_of_launch(ir, map.offset);
  for (int i = 0; i < d->n_dims; i++) {
    const CtTmaLeaf *leaf = &d->leaf[d->dim[i].leaf];
    int64_t radix = radix_of(d, i);
    map.dim[i] = (CtTmaDim){.extent = val_of(ir, radix != 0 ? ct_int(radix) : leaf->extent),
                            .div = radix != 0 ? 1 : d->dim[i].step,
                            .stride = val_of(ir, leaf->stride),
                            .mul = d->dim[i].step,
                            .box = (uint32_t)d->dim[i].box};
    ok = ok && ct_ir_is_of_launch(ir, map.dim[i].extent) &&
         ct_ir_is_of_launch(ir, map.dim[i].stride);
  }
  if (!ok) {
    return FAIL(d,
                "%s: the place of %s in memory depends on more than the kernel's arguments, or "
                "on more than %d operations with them, but its tensor map is made before the "
                "launch; slice tma_tensor(...) instead of the tensor",
                d->call->op, d->tensor, CT_SIZE_MAX_OPS);
  }
  *out = add_map(ir, &map);
  return CT_OK;
}

/* --- instructions -------------------------------------------------------------------------------------- */

/* v / n, which is exact; what the script multiplied by n is taken as it was. */
static CtInt divide_sum(CtIr *ir, CtInt i, int64_t n, int *left) {
  if (ct_is_static(i)) {
    return ct_int(i.v / n);
  }
  const CtInst *inst = ct_inst(ir, i.id);
  if (inst->op == CT_OP_ADD && ct_ir_step(left)) {
    CtInt a = ct_ir_int(ir, inst->args[0]), b = ct_ir_int(ir, inst->args[1]);
    if (ct_ir_facts(ir, a).div % n == 0 && ct_ir_facts(ir, b).div % n == 0) {
      a = divide_sum(ir, a, n, left);
      b = divide_sum(ir, b, n, left);
      return ct_ir_int(ir, ct_ir_int_op(ir, CT_INT_ADD, a, b));
    }
  }
  if (inst->op == CT_OP_MUL) {
    CtInt by = ct_ir_int(ir, inst->args[1]);
    CtInt of = ct_ir_int(ir, inst->args[0]);
    if (ct_is_static(by) && by.v % n == 0) {
      return by.v == n ? of : ct_ir_int(ir, ct_ir_int_op(ir, CT_INT_MUL, of, ct_int(by.v / n)));
    }
  }
  return ct_ir_int(ir, ct_ir_int_op(ir, CT_INT_DIV, i, ct_int(n)));
}

static CtInt divide(CtIr *ir, CtInt i, int64_t n) {
  int left = CT_WALK_STEPS;
  return divide_sum(ir, i, n, &left);
}

/* The box's coordinate in a dimension, `more` elements along its mode after the beginning of the
   tile. */
static CtVal coordinate(CtTmaTile *d, int dim, int64_t more, bool *fits) {
  const CtTmaBoxDim *of = &d->dim[dim];
  CtInt at = d->leaf[of->leaf].at;
  int64_t radix = radix_of(d, dim), digit = more / of->step;
  if (radix != 0) {
    digit %= radix;
    *fits = *fits && digit + of->box <= radix;
    return ct_ir_const_int(d->ir, CT_i32, digit);
  }
  at = divide(d->ir, at, of->step);
  if (ct_is_static(at)) {
    return ct_ir_const_int(d->ir, CT_i32, at.v + digit);
  }
  if (digit != 0) {
    at = ct_ir_int(d->ir, ct_ir_int_op(d->ir, CT_INT_ADD, at, ct_int(digit)));
  }
  return ct_ir_val(d->ir, at, CT_i32);
}

static void append(CtIr *ir, CtOp op, const CtTma *tma) {
  CtTma *own = ct_arena_alloc(&ir->arena, sizeof *own);
  CtVal v = ct_ir_append(ir, op, CT_VOID);
  if (own == NULL || v == 0) {
    ir->failed = true;
    return;
  }
  *own = *tma;
  ir->insts[v].u.tma = own;
}

/* Adds the copy of one box: that at `place` of the shared tile, `more` beyond the tile's coordinates. */
static CtStatus add_instruction(CtTmaTile *d, CtOp op, uint32_t map, const int64_t *more,
                                int64_t place) {
  CtIr *ir = d->ir;
  CtTma tma = {.map = map,
               .buf = d->call->shared.buf,
               .bar = d->call->bar,
               .slot = d->call->slot,
               .mask = d->call->mask,
               .is_of_pair = d->call->is_of_pair,
               .reduce = d->call->reduce,
               .cache = ir->bufs[d->source->view.buf].cache,
               .boxes = d->boxes};
  bool fits = true;
  for (int i = 0; i < d->n_dims; i++) {
    tma.crd[i] = coordinate(d, i, more[d->dim[i].leaf], &fits);
  }
  const CtInst *first = ct_inst(ir, tma.crd[0]);
  if (first->op == CT_OP_CONST && first->imm.i * d->bytes % CT_TMA_UNIT != 0) {
    return FAIL(d,
                "%s: a box of %s begins at element %lld of its rows; TMA begins at multiples of 16 "
                "bytes, %d elements of %s",
                d->call->op, d->tensor, (long long)first->imm.i, (int)(CT_TMA_UNIT / d->bytes),
                ct_dtypes[ir->bufs[d->source->view.buf].dtype].name);
  }
  if (!fits) {
    return FAIL(d, "%s: %s %s is not a box of %s; use a layout made by gmma_layout", d->call->op,
                d->shared, ct_tma_shared_text(d), d->tensor);
  }
  CtInt offset = d->call->shared.offset;
  offset = ct_is_static(offset) ? ct_int(offset.v + place)
           : place == 0         ? offset
                        : ct_ir_int(ir, ct_ir_int_op(ir, CT_INT_ADD, offset, ct_int(place)));
  tma.offset = ct_ir_val(ir, offset, CT_i32);
  append(ir, op, &tma);
  return CT_OK;
}

/* One instruction for each element of the modes that are not in the box. */
static CtStatus add_instructions(CtTmaTile *d, CtOp op, uint32_t map) {
  int64_t n = 1;
  CtStatus status = CT_OK;
  for (int i = 0; i < d->n_loops; i++) {
    n *= d->loop[i].n;
  }
  d->boxes.n = (uint8_t)n;
  for (int64_t k = 0; k < n && status == CT_OK; k++) {
    int64_t more[CT_TMA_LEAVES] = {0}, place = 0, rest = k;
    for (int i = 0; i < d->n_loops; i++) {
      int64_t x = rest % d->loop[i].n;
      rest /= d->loop[i].n;
      more[d->loop[i].leaf] += x * d->loop[i].step;
      place += x * d->loop[i].place;
    }
    status = add_instruction(d, op, map, more, place);
  }
  return status;
}

static CtStatus add_call(CtIr *ir, const CtTmaCall *call, CtOp op, CtErr *err) {
  const CtTmaSource *source = &ir->tma_sources[call->source];
  CtTmaTile *d = ct_arena_alloc(&ir->arena, sizeof *d);
  uint32_t map = 0;
  if (d == NULL) {
    return ct_fail_nomem(err);
  }
  if (ct_ir_is_packed(ir, source->view.buf)) {
    return ct_fail(err, CT_EINVAL,
                   "tma: %s has elements of %s, two of which share a byte; recast it as u8 first",
                   ct_ir_view_name(ir, &source->view),
                   ct_dtypes[ir->bufs[source->view.buf].dtype].name);
  }
  *d = (CtTmaTile){.ir = ir,
                   .call = call,
                   .source = source,
                   .g = ct_ir_alg(ir, err),
                   .tensor = ct_ir_view_name(ir, &source->view),
                   .shared = ct_ir_view_name(ir, &call->shared),
                   .bytes = (int64_t)ct_value_bytes(ir->bufs[source->view.buf].dtype)};
  d->tile = call->name != NULL ? call->name : "the tile";
  CtStatus status = ct_tma_derive(d);
  status = status == CT_OK ? make_map(d, op == CT_OP_TMA_LOAD, &map) : status;
  if (status != CT_OK) {
    return status;
  }
  ct_ir_align_shared(ir, call->shared.buf,
                     d->swizzle > 0 ? (uint32_t)(8 * CT_TMA_UNIT << d->swizzle)
                                    : (uint32_t)CT_TMA_ALIGN);
  ct_ir_written(ir, op == CT_OP_TMA_LOAD ? call->shared.buf : source->view.buf);
  return add_instructions(d, op, map);
}

CtStatus ct_ir_tma_load(CtIr *ir, const CtTmaCall *call, CtErr *err) {
  return add_call(ir, call, CT_OP_TMA_LOAD, err);
}

bool ct_tma_can_reduce(CtTmaReduce reduce, CtDtype type) {
  bool is_wide = ct_dtypes[type].bits >= 32, is_half = type == CT_f16 || type == CT_bf16;
  if (reduce == CT_TMA_NONE || reduce == CT_TMA_ADD) {
    return reduce == CT_TMA_NONE || (is_wide && type != CT_tf32) || is_half;
  }
  bool is_order = reduce == CT_TMA_MIN || reduce == CT_TMA_MAX;
  return (is_wide && ct_is_int(type)) || (is_order && is_half);
}

CtStatus ct_ir_tma_store(CtIr *ir, const CtTmaCall *call, CtErr *err) {
  CtDtype type = ir->bufs[ir->tma_sources[call->source].view.buf].dtype;
  if (!ct_tma_can_reduce(call->reduce, type)) {
    bool is_half = type == CT_f16 || type == CT_bf16;
    return ct_fail(err, CT_EINVAL, "%s: the hardware has no reduction \"%s\" of %s; %s", call->op,
                   ct_tma_reductions[call->reduce], ct_dtypes[type].name,
                   ct_is_float(type) && !is_half && type != CT_tf32 ? "of this type it has \"add\""
                   : is_half
                       ? "of this type it has \"add\", \"min\" and \"max\""
                       : "it has those of f16, bf16, f32, f64 and integers of 32 and 64 bits");
  }
  CtTmaCall store = *call;
  store.bar = 0;
  store.slot = store.mask = 0;
  return add_call(ir, &store, CT_OP_TMA_STORE, err);
}

/* --- boxes without a map ------------------------------------------------------------------------------- */

/* How many elements of shared memory a view has, side by side, from a multiple of 16 bytes on; 0: it is none. */
static int64_t size_in_row(CtIr *ir, const CtView *v, CtErr *err) {
  CtAlg g = ct_ir_alg(ir, err);
  CtLayout flat = al_coalesce(&g, v->layout, NULL);
  const CtBuf *b = &ir->bufs[v->buf];
  if (!al_ok(&g) || !ct_layout_is_static(flat) || ct_guard_n(v) > 0 || b->swizzle.bits != 0 ||
      b->space != CT_SHARED || b->remote != 0 || ct_ir_is_packed(ir, v->buf)) {
    return 0;
  }
  CtInt n = al_size(&g, flat);
  bool in_row = n.v == 1 || (ct_layout_at(flat, 1) == 1 && ct_layout_at(flat, n.v - 1) == n.v - 1);
  int64_t unit = ct_dtype_count(b->dtype, CT_TMA_UNIT);
  return in_row && ct_ir_facts(ir, v->offset).div % unit == 0 ? n.v : 0;
}

/* Adds one that has no map. */
static CtStatus add_without_map(CtIr *ir, CtOp op, const CtTma *tma) {
  append(ir, op, tma);
  ct_ir_align_shared(ir, tma->buf, CT_TMA_UNIT);
  ct_ir_written(ir, tma->buf);
  return CT_OK;
}

static CtStatus check_row(CtIr *ir, const CtView *v, int64_t *n, CtErr *err) {
  *n = size_in_row(ir, v, err);
  if (*n == 0) {
    return ct_fail(err, CT_EINVAL,
                   "tma_store: the elements of %s do not lie side by side in the "
                   "block's own shared memory, from a multiple of 16 bytes on; between blocks, "
                   "bytes are copied as they lie: pass the whole memory, as of s = shared(f32, "
                   "64) and view(s, layout)",
                   ct_ir_view_name(ir, v));
  }
  return CT_OK;
}

CtStatus ct_ir_tma_send(CtIr *ir, const CtView *from, const CtView *to, uint32_t bar, CtVal slot,
                        CtVal rank, CtErr *err) {
  int64_t n, n_to;
  CtDtype dtype = ir->bufs[from->buf].dtype, to_dtype = ir->bufs[to->buf].dtype;
  CtStatus status = check_row(ir, from, &n, err);
  status = status == CT_OK ? check_row(ir, to, &n_to, err) : status;
  if (status != CT_OK) {
    return status;
  }
  if (n != n_to || dtype != to_dtype || ct_dtype_span(dtype, n) % CT_TMA_UNIT != 0) {
    return ct_fail(err, CT_EINVAL,
                   "tma_store: %s is %lld elements of %s, and %s %lld of %s; "
                   "between blocks both have one type and one size, a multiple of 16 bytes",
                   ct_ir_view_name(ir, from), (long long)n, ct_dtypes[dtype].name,
                   ct_ir_view_name(ir, to), (long long)n_to, ct_dtypes[to_dtype].name);
  }
  const CtTma tma = {.buf = to->buf,
                     .offset = ct_ir_val(ir, to->offset, CT_i32),
                     .crd = {ct_ir_val(ir, from->offset, CT_i32)},
                     .bar = bar,
                     .slot = slot,
                     .mask = rank,
                     .from = from->buf,
                     .count = (uint32_t)n};
  ct_ir_align_shared(ir, from->buf, CT_TMA_UNIT);
  return add_without_map(ir, CT_OP_TMA_SEND, &tma);
}

/* --- work of clusters that have not begun --------------------------------------------------------------- */

enum { RESPONSE_WORDS = 2 };

CtStatus ct_ir_try_cancel(CtIr *ir, const CtView *response, uint32_t bar, CtVal slot, CtVal mask,
                          CtErr *err) {
  if (ir->bufs[response->buf].dtype != CT_u64 || size_in_row(ir, response, err) != RESPONSE_WORDS) {
    return ct_fail(err, CT_EINVAL,
                   "clc_try_cancel: %s cannot take a response; it has 16 bytes of shared memory at "
                   "a multiple of 16: declare shared(u64, 2), or shared(u64, {2, n}) for n of them "
                   "and pass one as response(_, i)",
                   ct_ir_view_name(ir, response));
  }
  const CtTma tma = {.is_cancel = true,
                     .buf = response->buf,
                     .offset = ct_ir_val(ir, response->offset, CT_i32),
                     .bar = bar,
                     .slot = slot,
                     .mask = mask};
  return add_without_map(ir, CT_OP_CLC_TRY_CANCEL, &tma);
}

void ct_ir_load_response(CtIr *ir, const CtView *response, CtVal words[2]) {
  for (int i = 0; i < RESPONSE_WORDS; i++) {
    CtInt at = ct_ir_int(ir, ct_ir_int_op(ir, CT_INT_ADD, response->offset, ct_int(i)));
    words[i] = ct_ir_load(ir, response->buf, ct_ir_val(ir, at, CT_i32));
  }
}

CtVal ct_ir_query_cancel(CtIr *ir, CtOp op, const CtVal words[2], int axis) {
  CtVal v = ct_ir_append(ir, op, op == CT_OP_CLC_IS_CANCELED ? CT_bool : CT_i32);
  ir->insts[v].imm.i = axis;
  ir->insts[v].args[0] = words[0];
  ir->insts[v].args[1] = words[1];
  return v;
}

uint32_t ct_ir_tma_source(CtIr *ir, const CtTmaSource *source) {
  CtErr err;
  size_t need = ir->n_tma_sources == 0 ? 2 : ir->n_tma_sources + 1; /* entry 0 is unused */
  if (CT_GROW(ir->arena.alloc, ir->tma_sources, ir->cap_tma_sources, need, NULL) != CT_OK) {
    ir->failed = true;
    return 0;
  }
  ir->n_tma_sources = need;
  CtTmaSource *own = &ir->tma_sources[need - 1];
  *own = *source;
  own->view.guard = NULL;
  if (ct_layout_copy(&ir->arena, own->view.layout, &own->view.layout, &err) != CT_OK) {
    ir->failed = true;
  }
  if (own->view.name != NULL) {
    own->view.name = ct_arena_strdup(&ir->arena, own->view.name, strlen(own->view.name));
  }
  return (uint32_t)need - 1;
}

void ct_tma_each_operand(const CtIr *ir, const CtTma *tma, void (*fn)(void *ud, CtVal operand),
                         void *ud) {
  const CtTmaMap *map = tma->is_cancel || tma->from != 0 ? NULL : &ir->maps[tma->map];
  fn(ud, tma->offset);
  if (tma->from != 0) {
    fn(ud, tma->crd[0]);
  }
  for (int i = 0; map != NULL && i < map->n; i++) {
    fn(ud, tma->crd[i]);
  }
  if (tma->slot != 0) {
    fn(ud, tma->slot);
  }
  if (tma->mask != 0) {
    fn(ud, tma->mask);
  }
  if (!ir->target.is_cuda && map != NULL) {
    fn(ud, map->offset);
    for (int i = 0; i < map->n; i++) {
      fn(ud, map->dim[i].extent);
      fn(ud, map->dim[i].stride);
    }
  }
}
