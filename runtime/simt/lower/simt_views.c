/* simt_views.c: lowering to the CPU engine: operations on whole tensors. Each operand's layout is
   flattened into modes whose offsets stand in tables. A table is made here if the layout is static,
   by the prologue if the launch fixes the layout, and before the operation if the strides are the
   same for a warp. Modes without a table (a dynamic shape, strides that differ by thread) take the
   general path. */
#include "simt_lower.h"
#include "runtime/layout/tuple_leaves.h"

#include <string.h>

enum { KEY_TABLE = 32, MAX_TABLE = 1 << 16, MAX_SCRATCH = 1 << 26, MAX_VEC_BYTES = 64 };

/* --- modes -------------------------------------------------------------------------------------------- */

static CtRef ref_of(CtLow *l, CtInt i) {
  if (i.kind != CT_DYNAMIC) {
    return (CtRef){i.v, CT_REF_STATIC};
  }
  if (!ct_low_is(l, i.id, CT_VARYING)) {
    return (CtRef){ct_low_scalar(l, i.id), CT_REF_SCALAR};
  }
  bool is_i32 = ct_inst(l->ir, i.id)->type == CT_i32;
  return (CtRef){ct_low_lanes(l, i.id), is_i32 ? CT_REF_LANES_i32 : CT_REF_LANES_i64};
}

static bool is_lanes(CtRef r) { return r.kind == CT_REF_LANES_i32 || r.kind == CT_REF_LANES_i64; }

static bool same_ref(CtRef a, CtRef b) { return a.kind == b.kind && a.v == b.v; }

static bool same_mode(const CtTileMode *a, const CtTileMode *b) {
  if (a->n_leaves != b->n_leaves) {
    return false;
  }
  for (uint32_t i = 0; i < a->n_leaves; i++) {
    if (!same_ref(a->leaves[i].extent, b->leaves[i].extent) ||
        !same_ref(a->leaves[i].stride, b->leaves[i].stride)) {
      return false;
    }
  }
  return true;
}

static uint32_t hash_mode(const CtTileMode *m) {
  uint64_t h = m->n_leaves;
  for (uint32_t i = 0; i < m->n_leaves; i++) {
    h = ct_hash_table_mix(h, (uint64_t)m->leaves[i].extent.v);
    h = ct_hash_table_mix(h, (uint64_t)m->leaves[i].stride.v);
  }
  return (uint32_t)h;
}

/* The leaves of a layout, in the program's memory. Extents of 1 are dropped. */
static void flatten(CtLow *l, CtLayout layout, CtTileMode *m) {
  m->leaves = ct_arena_alloc(&l->p->arena, layout.shape->len * sizeof *m->leaves);
  if (m->leaves == NULL) {
    l->failed = true;
    return;
  }
  for (CtLeaves w = ct_leaves(layout.shape, layout.stride); ct_next_leaf(&w);) {
    if (!ct_is_const(w.shape->i, 1)) {
      m->leaves[m->n_leaves++] = (CtTileLeaf){ref_of(l, w.shape->i), ref_of(l, w.stride->i)};
    }
  }
}

/* The number of elements, or -1 if it is not static. */
static int64_t count(const CtTileMode *m) {
  int64_t n = 1;
  for (uint32_t i = 0; i < m->n_leaves; i++) {
    CtRef e = m->leaves[i].extent;
    if (e.kind != CT_REF_STATIC || ct_mul_overflow(n, e.v, &n)) {
      return -1;
    }
  }
  return n;
}

static bool strides_are(const CtTileMode *m, bool (*is)(CtRef)) {
  for (uint32_t i = 0; i < m->n_leaves; i++) {
    if (!is(m->leaves[i].stride)) {
      return false;
    }
  }
  return true;
}

static bool is_static(CtRef r) { return r.kind == CT_REF_STATIC; }
static bool is_one_per_warp(CtRef r) { return !is_lanes(r); }

static void make_table(CtLow *l, CtTileMode *m) {
  if (m->n < 0 || m->n > MAX_TABLE || !strides_are(m, is_one_per_warp)) {
    return;
  }
  size_t bytes = sizeof(CtTable) + (size_t)m->n * sizeof(int64_t);
  if (!strides_are(m, is_static)) {
    m->table = ct_low_slot(l, CT_CLASS_BYTES, (uint32_t)bytes, true);
    return;
  }
  CtTable *t = ct_arena_alloc(&l->p->arena, bytes);
  if (t == NULL) {
    l->failed = true;
    return;
  }
  ct_table_fill(NULL, m, t);
  m->fixed = t;
}

/* Index of the mode for a layout. */
static uint32_t find_mode(CtLow *l, CtLayout layout) {
  CtTileMode m = {0};
  flatten(l, layout, &m);
  if (!ct_low_reserve(l, &l->mode_at)) {
    return 0;
  }
  uint32_t hash = hash_mode(&m);
  CtHashSlot *at = ct_hash_table_first(&l->mode_at, hash);
  while (at->number != 0 && !same_mode(&l->modes[at->number - 1], &m)) {
    at = ct_hash_table_next(&l->mode_at, at);
  }
  if (at->number != 0) {
    return at->number - 1;
  }
  m.n = count(&m);
  make_table(l, &m);
  if (!CT_LOW_GROW(l, modes, n_modes, cap_modes)) {
    return 0;
  }
  l->modes[l->n_modes++] = m;
  ct_hash_table_put(&l->mode_at, at, hash, (uint32_t)l->n_modes);
  return at->number - 1;
}

static bool is_invariant(const CtLow *l, CtTuple t) {
  for (CtLeaves w = ct_leaves_of(t); ct_next_leaf(&w);) {
    if (w.shape->i.kind == CT_DYNAMIC && !ct_low_is(l, w.shape->i.id, CT_INVARIANT)) {
      return false;
    }
  }
  return true;
}

/* Makes the offsets of a mode available to the next operation to be lowered. */
static uint32_t use_mode(CtLow *l, CtLayout layout) {
  uint32_t i = find_mode(l, layout);
  const uint64_t key[4] = {KEY_TABLE, i, 0, 0};
  uint32_t slot;
  if (l->failed || l->modes[i].table == 0 || ct_low_find(l, key, &slot)) {
    return i;
  }
  bool hoist = is_invariant(l, layout.stride);
  slot = l->modes[i].table;
  CT_EMIT_OR_HOIST(l, hoist, CT_SIMT_TABLE, .d = slot, .imm = i);
  ct_low_remember(l, key, slot, hoist);
  return i;
}

/* --- operands ----------------------------------------------------------------------------------------- */

static CtLayout unit_layout(void) {
  static const CtNode one = {.rank = CT_LEAF, .len = 1, .i = {.v = 1}};
  static const CtNode zero = {.rank = CT_LEAF, .len = 1, .i = {.v = 0}};
  return (CtLayout){&one, &zero};
}

static void set_offset(CtLow *l, CtTileArg *arg, CtInt offset) {
  if (offset.kind != CT_DYNAMIC) {
    arg->base = ct_low_const(l, (CtScalar){.i = 0});
    arg->imm = offset.v;
    return;
  }
  CtLowAddress at = ct_low_address(l, arg->space, offset.id);
  arg->is_i32 = at.is_i32;
  if (at.lanes != 0) {
    arg->lanes = (CtRef){at.lanes, at.is_i32 ? CT_REF_LANES_i32 : CT_REF_LANES_i64};
    return;
  }
  arg->base = at.base;
  arg->pattern = at.pattern;
  arg->imm = at.imm;
}

/* Sets the mode of values and the mode of their atoms. */
static void set_mma_modes(CtLow *l, CtTileArg *arg, CtLayout layout) {
  CtCx cx = ct_ir_cx((CtIr *)(uintptr_t)l->ir);
  CtLayout rest = unit_layout();
  int rank = ct_layout_rank(layout);
  CtErr err;
  if (rank > 1 && ct_take(&cx, layout, 1, rank, &rest, &err) != CT_OK) {
    l->failed = true;
    return;
  }
  arg->mode[0] = use_mode(l, rank > 1 ? ct_mode(layout, 0) : layout);
  arg->mode[1] = use_mode(l, rest);
}

static void set_modes(CtLow *l, CtTileArg *arg, CtLayout layout, bool by_mode) {
  by_mode = by_mode && ct_layout_rank(layout) == 2 && !ct_is_leaf(layout.shape);
  arg->mode[0] = use_mode(l, by_mode ? ct_mode(layout, 0) : layout);
  arg->mode[1] = use_mode(l, by_mode ? ct_mode(layout, 1) : unit_layout());
}

static CtTileGuard make_guard(CtLow *l, const CtView *v, const CtGuardAxis *axis, bool by_mode) {
  CtTileGuard g = {.at = {.space = CT_GLOBAL}, .bound = ref_of(l, axis->bound)};
  set_offset(l, &g.at, axis->at);
  set_modes(l, &g.at, ct_guard_layout(v, axis), by_mode);
  return g;
}

static CtTileArg make_arg(CtLow *l, const CtView *v, bool by_mode) {
  const CtBuf *buf = &l->ir->bufs[v->buf];
  CtTileArg arg = {
      .buf = v->buf, .space = buf->space, .swizzle = buf->swizzle, .dtype = buf->dtype};
  set_offset(l, &arg, v->offset);
  set_modes(l, &arg, v->layout, by_mode);
  arg.guard = (uint32_t)l->n_guards;
  for (int i = 0; i < ct_guard_n(v); i++) {
    CtTileGuard g = make_guard(l, v, &v->guard->axis[i], by_mode);
    if (CT_LOW_GROW(l, guards, n_guards, cap_guards)) {
      l->guards[l->n_guards++] = g;
      arg.n_guards++;
    }
  }
  return arg;
}

/* --- operations --------------------------------------------------------------------------------------- */

static bool has_tables(const CtLow *l, const CtTileArg *arg) {
  for (int i = 0; i < 2; i++) {
    const CtTileMode *m = &l->modes[arg->mode[i]];
    if (m->fixed == NULL && m->table == 0) {
      return false;
    }
  }
  return arg->lanes.kind == CT_REF_STATIC;
}

/* The fast instructions of operations that compute. */
static const CtSimtOp fast_axpby[CT_DTYPE_COUNT] = {
    [CT_f32] = CT_SIMT_AXPBY_f32,
    [CT_f64] = CT_SIMT_AXPBY_f64,
};
static const CtSimtOp fast_gemm[CT_DTYPE_COUNT] = {
    [CT_f32] = CT_SIMT_GEMM_f32,
    [CT_f64] = CT_SIMT_GEMM_f64,
    [CT_i32] = CT_SIMT_GEMM_i32,
    [CT_u32] = CT_SIMT_GEMM_i32,
};

/* Instructions that move elements, by bytes per element. */
static const CtSimtOp fast_copy[] = {
    [1] = CT_SIMT_COPY_1, [2] = CT_SIMT_COPY_2, [4] = CT_SIMT_COPY_4, [8] = CT_SIMT_COPY_8};
static const CtSimtOp fast_fill[] = {
    [1] = CT_SIMT_FILL_1, [2] = CT_SIMT_FILL_2, [4] = CT_SIMT_FILL_4, [8] = CT_SIMT_FILL_8};

/* The row for a copy of elements as they are, or for one that casts. */
static CtSimtOp copy_row(const CtTileOp *t) {
  CtDtype to = t->dtype, from = t->a.dtype;
  size_t bytes = ct_value_bytes(to);
  if (from == to || (from == CT_tf32 && to == CT_f32)) {
    return fast_copy[bytes];
  }
  if (ct_dtype_compute(from) == to) {
    return CT_SIMT_WIDEN_4;
  }
  bool narrows = from == CT_f32 && ct_is_float(to) && bytes < 4 && t->a.space == CT_REGISTER &&
                 t->dst.space == CT_REGISTER;
  return narrows ? CT_SIMT_NARROW : CT_SIMT_TILE;
}

/* The fast instruction for an operation; TILE if it has none. A tf32 is an f32. */
static CtSimtOp fast_row(const CtTileOp *t) {
  size_t bytes = ct_value_bytes(t->dtype);
  if (t->op == CT_OP_COPY) {
    return copy_row(t);
  }
  if (t->op == CT_OP_FILL) {
    return t->dtype != CT_bool ? fast_fill[bytes] : CT_SIMT_TILE;
  }
  CT_ASSERT(t->op == CT_OP_AXPBY || t->op == CT_OP_GEMM); /* others have their own instructions */
  CtSimtOp row = t->op == CT_OP_AXPBY ? fast_axpby[t->dtype] : fast_gemm[t->dtype];
  return row != 0 ? row : CT_SIMT_TILE;
}

/* The most memory that a GEMM's handler needs: offsets, and both operands packed for a chunk. */
static int64_t gemm_scratch(const CtLow *l, const CtTileOp *t) {
  int64_t m = l->modes[t->a.mode[0]].n, n = l->modes[t->b.mode[0]].n;
  int64_t k = l->modes[t->a.mode[1]].n;
  return 16 * (m + n + k) + MAX_VEC_BYTES * (m * k + n * k);
}

/* Memory for the widened elements of a chunk. */
static int64_t widened_scratch(const CtLow *l, const CtTileArg *a) {
  return ct_is_narrow(a->dtype) ? MAX_VEC_BYTES * l->modes[a->mode[0]].n : 0;
}

/* Room in the scratch, from `at` on, for an operand's elements in swizzled memory; see
   simt_swizzle.h. */
static int64_t staged_scratch(const CtLow *l, CtTileArg *arg, int64_t at) {
  if (arg->buf == 0 || arg->swizzle.bits == 0 || at > MAX_SCRATCH) {
    return at;
  }
  int64_t rows = l->modes[arg->mode[0]].n, cols = l->modes[arg->mode[1]].n;
  arg->staged = (uint32_t)ct_ceildiv(at, 64) * 64;
  return arg->staged + 8 * (CT_LANES + rows + cols) +
         (int64_t)ct_dense_bytes(arg->dtype, (size_t)(rows * cols * CT_LANES));
}

/* A swizzled destination is written at the end, and swizzled sources are read at the beginning, so
   both must not share memory. Sums of a product stay in registers. */
static bool may_stage(const CtLow *l, const CtTileOp *t) {
  bool any = t->dst.swizzle.bits != 0 || t->a.swizzle.bits != 0 || t->b.swizzle.bits != 0;
  uint32_t to = ct_ir_memory(l->ir, t->dst.buf);
  return !any || ((t->a.buf == 0 || ct_ir_memory(l->ir, t->a.buf) != to) &&
                  (t->b.buf == 0 || ct_ir_memory(l->ir, t->b.buf) != to) &&
                  (t->op != CT_OP_GEMM || t->dst.swizzle.bits == 0));
}

static CtSimtOp choose(CtLow *l, CtTileOp *t) {
  bool is_copy_if = t->op == CT_OP_COPY && t->b.buf != 0;
  CtSimtOp row = is_copy_if ? CT_SIMT_TILE : fast_row(t);
  bool fast = has_tables(l, &t->dst) && (t->a.buf == 0 || has_tables(l, &t->a)) &&
              (t->b.buf == 0 || has_tables(l, &t->b));
  if (!fast || row == CT_SIMT_TILE || !may_stage(l, t)) {
    return CT_SIMT_TILE;
  }
  int64_t scratch = t->op == CT_OP_GEMM ? gemm_scratch(l, t) : widened_scratch(l, &t->a);
  scratch = staged_scratch(l, &t->dst, scratch);
  scratch = staged_scratch(l, &t->a, scratch);
  scratch = staged_scratch(l, &t->b, scratch);
  if (scratch > MAX_SCRATCH || (t->op == CT_OP_GEMM && (t->elementwise || t->dst.buf == t->a.buf ||
                                                        t->dst.buf == t->b.buf))) {
    return CT_SIMT_TILE;
  }
  l->scratch_bytes = ct_max(l->scratch_bytes, scratch);
  return row;
}

/* FILL and AXPBY compute in their tensor's type. */
static bool check_operands(CtLow *l, const CtInst *inst, CtDtype type) {
  for (int i = 0; i < inst->n_args; i++) {
    CtDtype t = (CtDtype)ct_inst(l->ir, inst->args[i])->type;
    if (t != type) {
      l->status = ct_fail(l->err, CT_EINVAL, "%s: a value of type %s for a tensor of %s",
                          ct_ops[inst->op].text, ct_dtypes[t].name, ct_dtypes[type].name);
      ct_err_at(l->err, ct_ir_chunk(l->ir, inst->loc), inst->loc.line);
      return false;
    }
  }
  return true;
}

/* Its layout is static; a register's offset is the same in all lanes, and a tile's in the whole
   warp. */
static CtTileArg make_fragment(CtLow *l, const CtView *v) {
  const CtBuf *buf = &l->ir->bufs[v->buf];
  CtTileArg arg = {
      .buf = v->buf, .space = buf->space, .swizzle = buf->swizzle, .dtype = buf->dtype};
  set_offset(l, &arg, v->offset);
  set_mma_modes(l, &arg, v->layout);
  return arg;
}

void ct_low_mma(CtLow *l, CtVal v) {
  const CtInst *inst = ct_inst(l->ir, v);
  const CtTile *tile = inst->u.tile;
  int64_t scratch = 0;
  bool is_tcgen05 = inst->op == CT_OP_TCGEN05_MMA;
  bool is_tiles = inst->op == CT_OP_WGMMA || is_tcgen05;
  CtTileOp t = {.op = (CtOp)inst->op,
                .dtype = l->ir->bufs[tile->dst.buf].dtype,
                .reads_dst = ct_tile_reads_dst(l->ir, inst),
                .width = {tile->width[0], tile->width[1]},
                .dst = make_fragment(l, &tile->dst),
                .a = make_fragment(l, &tile->a),
                .b = make_fragment(l, &tile->b)};
  if (tile->sfa != NULL && tile->sfb != NULL) {
    t.sf[0] = make_fragment(l, tile->sfa);
    t.sf[1] = make_fragment(l, tile->sfb);
  }
  t.mma = ct_low_make_mma(l, tile, &scratch);
  t.blocks = ct_atom_blocks(tile->atom);
  l->p->has_tcgen05 = l->p->has_tcgen05 || is_tcgen05;
  l->p->has_wgmma = l->p->has_wgmma || inst->op == CT_OP_WGMMA;
  l->scratch_bytes = ct_max(l->scratch_bytes, scratch);
  uint32_t accumulate = is_tiles ? ct_low_lanes(l, inst->args[0]) : 0;
  if (!l->failed && CT_LOW_GROW(l, tiles, n_tiles, cap_tiles)) {
    l->tiles[l->n_tiles] = t;
    CtSimtOp row = is_tcgen05 ? CT_SIMT_TCGEN05_MMA : is_tiles ? CT_SIMT_WGMMA : CT_SIMT_MMA;
    CT_EMIT(l, row, .a = accumulate, .c = ct_low_construct(l), .imm = (int64_t)l->n_tiles++);
  }
}

/* Operands whose place differs between lanes are located before each of the instructions. */
static void emit_eachs(CtLow *l, const CtTile *t, bool has_guards) {
  const uint32_t bufs[] = {t->dst.buf, t->a.buf, t->b.buf};
  uint32_t n = has_guards ? 2 : 1;
  for (size_t i = 0; i < CT_ARRAY_LEN(bufs); i++) {
    n += bufs[i] != 0 && ct_low_by_lane(l, bufs[i]) != 0;
  }
  for (size_t i = 0; i < CT_ARRAY_LEN(bufs); i++) {
    if (bufs[i] != 0 && ct_low_by_lane(l, bufs[i]) != 0) {
      ct_low_each(l, bufs[i], --n);
    }
  }
}

void ct_low_tile(CtLow *l, CtVal v) {
  const CtInst *inst = ct_inst(l->ir, v);
  const CtTile *tile = inst->u.tile;
  CtTileOp t = {.op = (CtOp)inst->op,
                .dtype = l->ir->bufs[tile->dst.buf].dtype,
                .contract = l->ir->contract,
                .async = tile->async,
                .zero_fill = tile->zero_fill,
                .vec = tile->vec,
                .width = {tile->width[0], tile->width[1]}};
  if (!check_operands(l, inst, t.dtype)) {
    return;
  }
  bool by_mode = t.op == CT_OP_GEMM || t.op == CT_OP_WARP_COPY || t.op == CT_OP_TCGEN05_COPY ||
                 t.op == CT_OP_TCGEN05_CP;
  t.reads_dst = ct_tile_reads_dst(l->ir, inst);
  t.elementwise = t.op == CT_OP_GEMM && ct_layout_rank(tile->dst.layout) == 1;
  t.dst = make_arg(l, &tile->dst, by_mode);
  if (tile->a.buf != 0) {
    t.a = make_arg(l, &tile->a, by_mode);
  }
  if (tile->b.buf != 0) {
    t.b = make_arg(l, &tile->b, by_mode);
  }
  uint32_t x = inst->n_args > 0 ? ct_low_lanes(l, inst->args[0]) : 0;
  uint32_t y = inst->n_args > 1 ? ct_low_lanes(l, inst->args[1]) : 0;
  if (t.op == CT_OP_TCGEN05_COPY) {
    t.place = ct_low_tmem_places(l, tile->atom, t.dtype);
  }
  if (t.op == CT_OP_TCGEN05_CP) {
    t.blocks = ct_atom_is_of_pair(tile->atom) ? 2 : 1;
  }
  if (t.op == CT_OP_WARP_COPY) {
    t.move = ct_low_make_move(l, tile->atom, t.dtype);
  }
  if (!l->failed && CT_LOW_GROW(l, tiles, n_tiles, cap_tiles)) {
    bool is_cp = t.op == CT_OP_TCGEN05_CP, is_tmem = t.op == CT_OP_TCGEN05_COPY || is_cp;
    l->p->has_tcgen05 = l->p->has_tcgen05 || is_tmem;
    CtSimtOp row = is_cp            ? CT_SIMT_TCGEN05_CP
                   : is_tmem        ? CT_SIMT_TCGEN05_COPY
                   : t.move != NULL ? CT_SIMT_WARP_COPY
                                    : choose(l, &t);
    uint32_t construct = is_tmem || t.move != NULL ? ct_low_construct(l) : 0;
    l->tiles[l->n_tiles] = t;
    bool has_guards = t.dst.n_guards + t.a.n_guards + t.b.n_guards > 0;
    emit_eachs(l, tile, has_guards);
    if (has_guards) {
      CT_EMIT(l, CT_SIMT_GUARD, .imm = (int64_t)l->n_tiles);
    }
    CT_EMIT(l, row, .d = x, .a = y, .c = construct, .imm = (int64_t)l->n_tiles++);
  }
}
