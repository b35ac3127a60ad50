/* ir_tile.c: operations on whole tensors: their shapes are checked here, once for all engines. How
   wide accesses are is in ir_width.c. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "ir_build.h"

void ct_ir_put_view(CtIr *ir, CtView v, CtText *out) {
  CtCx cx = ct_ir_cx(ir);
  ct_text_printf(out, "%s ", ct_ir_view_name(ir, &v));
  CtComposed l = ct_ir_view_layout(ir, &v);
  ct_composed_print(&cx, &l, out);
}

/* --- failures ----------------------------------------------------------------------------------- */

/* "<op>: <views> <what>" */
CT_PRINTF(4, 0)
static void fail_with(CtTileCx *c, int n, const CtView *views, const char *what, va_list args) {
  char rest[sizeof((CtErr *)0)->msg];
  CtText text;
  if (!al_ok(&c->g)) {
    return; /* views may be nothing */
  }
  ct_text_init(&text, c->ir->arena.alloc);
  for (int i = 0; i < n; i++) {
    ct_text_puts(&text, i > 0 ? "and " : "");
    ct_ir_put_view(c->ir, views[i], &text);
    ct_text_putc(&text, ' ');
  }
  vsnprintf(rest, sizeof rest, what, args);
  al_fail(&c->g, CT_EINVAL, "%s: %s%s", c->op, ct_text_str(&text), rest);
  ct_text_clear(&text);
}

void ct_tile_fail(CtTileCx *c, const char *what, ...) {
  va_list args;
  va_start(args, what);
  fail_with(c, 0, NULL, what, args);
  va_end(args);
}

void ct_tile_fail_view(CtTileCx *c, CtView v, const char *what, ...) {
  va_list args;
  va_start(args, what);
  fail_with(c, 1, &v, what, args);
  va_end(args);
}

void ct_tile_fail_views(CtTileCx *c, CtView a, CtView b, const char *what, ...) {
  va_list args;
  va_start(args, what);
  fail_with(c, 2, (const CtView[]){a, b}, what, args);
  va_end(args);
}

/* --- checks ------------------------------------------------------------------------------------- */

static CtDtype dtype_of(const CtTileCx *c, CtView v) { return c->ir->bufs[v.buf].dtype; }

static void fail_types(CtTileCx *c, CtView a, CtView b, const char *rule) {
  ct_tile_fail(c, "%s is %s but %s is %s; %s", ct_ir_view_name(c->ir, &a),
               ct_dtypes[dtype_of(c, a)].name, ct_ir_view_name(c->ir, &b),
               ct_dtypes[dtype_of(c, b)].name, rule);
}

/* A narrow source is widened on the way; nothing becomes narrower, and no sum is kept in a narrow type. */
static void check_widens(CtTileCx *c, CtView from, CtView to) {
  CtDtype x = dtype_of(c, from), y = dtype_of(c, to);
  if (x != y && ct_dtype_compute(y) == x) {
    fail_types(c, from, to, "nothing is narrowed implicitly, so cast the elements");
  } else if (x != y && ct_dtype_compute(x) != y) {
    fail_types(c, from, to, "the element types must be equal");
  }
}

static void check_sums(CtTileCx *c, CtView to) {
  CtDtype t = dtype_of(c, to);
  if (ct_is_narrow(t)) {
    ct_tile_fail(c, "%s is %s, a type that sums cannot have; expected %s",
                 ct_ir_view_name(c->ir, &to), ct_dtypes[t].name,
                 ct_dtypes[ct_dtype_compute(t)].name);
  }
}

static void check_sizes(CtTileCx *c, CtView a, CtView b) {
  CtInt m = al_size(&c->g, a.layout), n = al_size(&c->g, b.layout);
  if (ct_int_equal(m, n)) {
    return;
  }
  bool one = ct_is_static(m) || ct_is_static(n), both = ct_is_static(m) && ct_is_static(n);
  ct_tile_fail_views(
      c, a, b, "%s",
      both  ? "have different sizes; the sizes must agree"
      : one ? "may differ in size: one is known only at run time; tile it first, or use "
              "kernel(name, fn, {static_shapes = true})"
            : "may differ in size: both are known only at run time; tile them first");
}

/* The bits of another fragment, which recast made a copy of, stay as they are. */
void ct_tile_check_writable(CtTileCx *c, CtView v) {
  const char *name = ct_ir_view_name(c->ir, &v);
  if (c->ir->bufs[v.buf].cache == CT_CACHE_READ_ONLY) {
    ct_tile_fail(c,
                 "%s is cached as \"read_only\", so it cannot be written through it; write to "
                 "the tensor itself, or use another hint",
                 name);
  } else if (c->ir->bufs[v.buf].is_fixed) {
    ct_tile_fail(c,
                 "%s has the bits of a fragment (recast), which are only read through it; write to "
                 "that fragment, or to a copy of %s",
                 name, name);
  }
  if (c->ir->bufs[v.buf].space == CT_CONSTANT) {
    ct_tile_fail(c,
                 "%s is constant memory, which kernels only read; write to a fragment, or to "
                 "shared or global memory",
                 name);
  }
}

CtStatus ct_ir_check_writable(CtIr *ir, const char *op, CtView v, CtErr *err) {
  CtTileCx c = ct_tile_begin(ir, op, NULL, err);
  ct_tile_check_writable(&c, v);
  return c.g.status;
}

/* A view of declared memory must lie inside it; what is static is checked while tracing. */
void ct_tile_check_inside(CtTileCx *c, CtView v) {
  const CtBuf *buf = &c->ir->bufs[v.buf];
  if (al_ok(&c->g) && ct_ir_is_packed(c->ir, v.buf)) {
    ct_tile_fail_view(c, v,
                      "has elements of %s, two of which share a byte; use a fragment that "
                      "copy(src, dst) has filled, or recast it as u8",
                      ct_dtypes[buf->dtype].name);
  }
  if (!al_ok(&c->g) || buf->space == CT_GLOBAL || !ct_is_static(v.offset) ||
      !ct_layout_is_static(v.layout)) {
    return;
  }
  CtInt end = al_cosize(&c->g, ct_composed_plain(v.layout));
  if (v.offset.v < 0 || v.offset.v + end.v > buf->n_elems.v) {
    ct_tile_fail_view(c, v, "reaches past the end of its tensor");
  }
}

void ct_tile_check_static(CtTileCx *c, CtView v) {
  if (!ct_all_static(v.layout.shape)) {
    ct_tile_fail_view(c, v, "has a dynamic shape; tile it first");
  }
}

static void keep_guard(CtIr *ir, CtView *v) {
  CtGuard *g = ct_arena_alloc(&ir->arena, sizeof *g);
  if (g == NULL) {
    ir->failed = true;
    return;
  }
  *g = *v->guard;
  for (int i = 0; i < g->n; i++) {
    g->axis[i].stride = ct_tuple_copy(&ir->arena, g->axis[i].stride);
    ir->failed = ir->failed || g->axis[i].stride == NULL;
  }
  v->guard = g;
}

/* The IR outlives what made the view. */
static void keep_view(CtIr *ir, CtView *v) {
  CtErr err;
  if (v->buf != 0 && ct_layout_copy(&ir->arena, v->layout, &v->layout, &err) != CT_OK) {
    ir->failed = true;
  }
  if (v->name != NULL) {
    v->name = ct_arena_strdup(&ir->arena, v->name, strlen(v->name));
  }
  if (v->guard != NULL) {
    keep_guard(ir, v);
  }
}

static void keep_atom(CtIr *ir, CtTile *t) {
  CtAtom *own = t->atom == NULL ? NULL : ct_arena_alloc(&ir->arena, sizeof *own);
  if (own != NULL) {
    *own = *t->atom;
  }
  ir->failed = ir->failed || (t->atom != NULL && own == NULL);
  t->atom = own;
}

static const CtView *keep_scales(CtIr *ir, const CtView *v) {
  CtView *own = v == NULL ? NULL : ct_arena_alloc(&ir->arena, sizeof *own);
  if (own != NULL) {
    *own = *v;
    keep_view(ir, own);
  }
  ir->failed = ir->failed || (v != NULL && own == NULL);
  return own;
}

CtVal ct_tile_add(CtIr *ir, CtOp op, const CtTile *tile) {
  const CtView *views[] = {&tile->dst, &tile->a, &tile->b, tile->sfa, tile->sfb};
  for (size_t i = 0; ir->is_checked && i < CT_ARRAY_LEN(views); i++) {
    if (views[i] != NULL) {
      ct_ir_within_view(ir, views[i]);
    }
  }
  CtTile *own = ct_arena_alloc(&ir->arena, sizeof *own);
  CtVal v = ct_ir_append(ir, op, CT_VOID);
  if (own == NULL || v == 0) {
    ir->failed = true;
    return 0;
  }
  *own = *tile;
  keep_view(ir, &own->dst);
  keep_view(ir, &own->a);
  keep_view(ir, &own->b);
  own->sfa = keep_scales(ir, tile->sfa);
  own->sfb = keep_scales(ir, tile->sfb);
  keep_atom(ir, own);
  ir->insts[v].u.tile = own;
  ct_ir_written(ir, tile->dst.buf);
  return v;
}

void ct_tile_use_words(CtIr *ir, uint32_t buf) { ir->bufs[buf].has_words = true; }

/* --- copies --------------------------------------------------------------------------------------- */

/* The CPU engine stands for the newest devices: what holds for a kernel there, `check` looks at. */
static bool may_be_async(const CtIr *ir, const CtTile *t) {
  int64_t bytes = ct_buf_bytes(&ir->bufs[t->dst.buf], t->vec);
  return ir->bufs[t->a.buf].dtype == ir->bufs[t->dst.buf].dtype &&
         ir->bufs[t->a.buf].space == CT_GLOBAL && ir->bufs[t->dst.buf].space == CT_SHARED &&
         ir->bufs[t->dst.buf].remote == 0 && (!ir->target.is_cuda || ir->target.sm >= 80) &&
         bytes >= 4;
}

/* Instructions of tcgen05 reach tensor memory, and no others. */
static void check_reached(CtTileCx *c, CtView v) {
  if (c->ir->bufs[v.buf].space == CT_TENSOR) {
    ct_tile_fail_view(c, v,
                      "is in tensor memory, which only copies by SM100_TMEM_LOAD and _STORE "
                      "atoms and products by SM100_MMA atoms reach: copy it to a fragment, as "
                      "copy(tmem_copy(\"SM100_TMEM_LOAD_32dp32b32x\", acc), src, dst)");
  }
}

void ct_tile_check_pair(CtTileCx *c, CtView src, CtView dst) {
  check_reached(c, src);
  check_reached(c, dst);
  check_widens(c, src, dst);
  check_sizes(c, src, dst);
  ct_tile_check_writable(c, dst);
}

void ct_tile_check_copy(CtTileCx *c, CtView src, CtView dst) {
  ct_tile_check_pair(c, src, dst);
  ct_tile_check_inside(c, src);
  ct_tile_check_inside(c, dst);
}

void ct_tile_check_pred(CtTileCx *c, CtView pred) {
  if (dtype_of(c, pred) != CT_bool) {
    ct_tile_fail(c, "predicate %s has elements %s; expected bool", ct_ir_view_name(c->ir, &pred),
                 ct_dtypes[dtype_of(c, pred)].name);
  }
  ct_tile_check_inside(c, pred);
}

static CtStatus add_copy(CtTileCx *c, CtTile tile) {
  CtInt size = al_size(&c->g, tile.dst.layout);
  if (!al_ok(&c->g)) {
    return c->g.status;
  }
  tile.width[0] = ct_tile_copy_width(c->ir, tile.a, tile.dst, size);
  if (tile.b.buf != 0) {
    ct_tile_limit_width(c->ir, tile.b, size, &tile.width[0]);
  }
  tile.vec = tile.width[0].vec;
  tile.async = may_be_async(c->ir, &tile);
  ct_tile_add(c->ir, CT_OP_COPY, &tile);
  return CT_OK;
}

CtStatus ct_tile_copy(CtIr *ir, CtView src, CtView dst, CtErr *err) {
  CtTileCx c = ct_tile_begin(ir, "copy", NULL, err);
  ct_tile_check_copy(&c, src, dst);
  return add_copy(&c, (CtTile){.dst = dst, .a = src});
}

CtStatus ct_ir_convert(CtIr *ir, CtView src, CtView dst, CtErr *err) {
  if (ir->failed) {
    return ct_fail_nomem(err); /* memory may have run out before a buffer was made */
  }
  CT_ASSERT(ir->bufs[src.buf].space == CT_REGISTER && ir->bufs[dst.buf].space == CT_REGISTER);
  CT_ASSERT(src.guard == NULL && dst.guard == NULL);
  CtTileCx c = ct_tile_begin(ir, "cast", NULL, err);
  check_sizes(&c, src, dst);
  ct_tile_check_inside(&c, src);
  return add_copy(&c, (CtTile){.dst = dst, .a = src});
}

CtStatus ct_ir_copy_if(CtIr *ir, CtView pred, CtView src, CtView dst, CtErr *err) {
  CtTileCx c = ct_tile_begin(ir, "copy_if", NULL, err);
  ct_tile_check_copy(&c, src, dst);
  ct_tile_check_pred(&c, pred);
  check_sizes(&c, pred, src);
  return add_copy(&c, (CtTile){.dst = dst, .a = src, .b = pred});
}

/* --- the others --------------------------------------------------------------------------------- */

CtStatus ct_tile_fill(CtIr *ir, CtView dst, CtVal value, CtErr *err) {
  CtTile tile = {.dst = dst, .vec = 1};
  CtTileCx c = ct_tile_begin(ir, "fill", NULL, err);
  check_reached(&c, dst);
  ct_tile_check_writable(&c, dst);
  ct_tile_check_inside(&c, dst);
  if (al_ok(&c.g)) {
    CtVal v = ct_tile_add(ir, CT_OP_FILL, &tile);
    ir->insts[v].args[0] = value;
  }
  return c.g.status;
}

static bool is_zero(const CtIr *ir, CtVal v) {
  const CtInst *inst = ct_inst(ir, v);
  return inst->op == CT_OP_CONST &&
         (ct_is_float((CtDtype)inst->type) ? inst->imm.f == 0 : inst->imm.i == 0);
}

static CtVal zero_like(CtIr *ir, CtVal v) {
  CtDtype type = (CtDtype)ct_inst(ir, v)->type;
  return ct_is_float(type) ? ct_ir_const_float(ir, type, 0) : ct_ir_const_int(ir, type, 0);
}

bool ct_tile_reads_dst(const CtIr *ir, const CtInst *inst) {
  return inst->op == CT_OP_GEMM || inst->op == CT_OP_MMA ||
         ((inst->op == CT_OP_WGMMA || inst->op == CT_OP_TCGEN05_MMA) &&
          !is_zero(ir, inst->args[0])) ||
         (inst->op == CT_OP_AXPBY && !is_zero(ir, inst->args[1]));
}

static void add_axpby(CtIr *ir, const CtTile *tile, CtVal alpha, CtVal beta) {
  CtVal v = ct_tile_add(ir, CT_OP_AXPBY, tile);
  ir->insts[v].args[0] = alpha;
  ir->insts[v].args[1] = beta;
}

CtStatus ct_ir_axpby(CtIr *ir, CtVal alpha, CtView x, CtVal beta, CtView y, CtErr *err) {
  CtTile tile = {.dst = y, .a = x, .vec = 1};
  CtTileCx c = ct_tile_begin(ir, "axpby", NULL, err);
  check_reached(&c, x);
  check_reached(&c, y);
  ct_tile_check_writable(&c, y);
  check_sums(&c, y);
  check_widens(&c, x, y);
  check_sizes(&c, x, y);
  ct_tile_check_inside(&c, x);
  ct_tile_check_inside(&c, y);
  if (al_ok(&c.g) && ct_inst(ir, beta)->op == CT_OP_CONST) {
    add_axpby(ir, &tile, alpha, beta);
  } else if (al_ok(&c.g)) { /* the launch says whether y is read */
    CtVal zero = zero_like(ir, beta);
    CtVal when = ct_ir_if(ir, ct_ir_binary(ir, CT_OP_EQ, beta, zero));
    add_axpby(ir, &tile, alpha, zero);
    ct_ir_else(ir, when);
    add_axpby(ir, &tile, alpha, beta);
    ct_ir_end(ir, when);
  }
  return c.g.status;
}

/* The static sizes of mode `i` of two views must agree. */
static void check_mode(CtTileCx *c, CtView a, int i, CtView b, int j, const char *rule) {
  CtInt m = al_size(&c->g, ct_mode(a.layout, i)), n = al_size(&c->g, ct_mode(b.layout, j));
  if (!ct_int_equal(m, n)) {
    ct_tile_fail_views(c, a, b, "%s", rule);
  }
}

static void check_gemm(CtTileCx *g, CtView a, CtView b, CtView c) {
  int ra = ct_layout_rank(a.layout), rb = ct_layout_rank(b.layout), rc = ct_layout_rank(c.layout);
  bool is_flat = ra == 1 && rb == 1 && (rc == 1 || rc == 2);
  if (is_flat && rc == 1) {
    check_sizes(g, a, c);
    check_sizes(g, b, c);
  } else if (!is_flat && !(ra == 2 && rb == 2 && rc == 2)) {
    ct_tile_fail(g,
                 "A, B and C have ranks %d, %d and %d; expected (M,K), (N,K), (M,N), or (M), "
                 "(N), (M,N), or (V), (V), (V)",
                 ra, rb, rc);
  } else {
    check_mode(g, a, 0, c, 0, "differ in M, mode 0 of A and mode 0 of C");
    check_mode(g, b, 0, c, 1, "differ in N, mode 0 of B and mode 1 of C");
    if (ra == 2) {
      check_mode(g, a, 1, b, 1, "differ in K, mode 1 of both");
    }
  }
}

void ct_tile_check_order(CtTileCx *c, const CtGemmOrder *order) {
  if (!ct_gemm_order_is(order)) {
    ct_tile_fail(c, "an order that does not visit each row and each column exactly once");
  }
}

static const CtGemmOrder by_columns = {2, {{.mode = 1, .step = 1}, {.mode = 0, .step = 1}}};

CtStatus ct_ir_gemm(CtIr *ir, CtView a, CtView b, CtView c, const CtGemmOrder *order, CtErr *err) {
  CtTile tile = {.dst = c, .a = a, .b = b, .vec = 1, .order = order->n == 0 ? by_columns : *order};
  const CtView views[] = {a, b, c};
  CtTileCx g = ct_tile_begin(ir, "gemm", NULL, err);
  ct_tile_check_order(&g, &tile.order);
  for (size_t i = 0; i < CT_ARRAY_LEN(views); i++) {
    check_reached(&g, views[i]);
    ct_tile_check_static(&g, views[i]);
  }
  if (al_ok(&g.g)) {
    check_gemm(&g, a, b, c);
  }
  ct_tile_check_writable(&g, c);
  check_sums(&g, c);
  check_widens(&g, a, c);
  check_widens(&g, b, c);
  for (size_t i = 0; i < CT_ARRAY_LEN(views); i++) {
    ct_tile_check_inside(&g, views[i]);
  }
  if (al_ok(&g.g)) {
    bool is_matrix = ct_layout_rank(c.layout) == 2;
    tile.width[0] = is_matrix ? ct_tile_row_width(ir, a, 1) : (CtWidth){1, CT_WIDTH_SCALAR, 1};
    tile.width[1] = is_matrix ? ct_tile_row_width(ir, b, 2) : (CtWidth){1, CT_WIDTH_SCALAR, 2};
    ct_tile_add(ir, CT_OP_GEMM, &tile);
  }
  return g.g.status;
}

CtTuple ct_ir_coordinate(CtIr *ir, uint32_t buf, CtTuple crd) {
  if (!ir->bufs[buf].is_wide || ct_all_static(crd)) {
    return crd;
  }
  CtNode *nodes = ct_arena_alloc(&ir->arena, crd->len * sizeof *nodes);
  for (uint32_t i = 0; nodes != NULL && i < crd->len; i++) {
    nodes[i] = crd[i];
    if (crd[i].rank == CT_LEAF && crd[i].i.kind == CT_DYNAMIC) {
      nodes[i].i.id = ct_ir_cast(ir, crd[i].i.id, CT_i64);
    }
  }
  return nodes;
}

CtStatus ct_ir_offset(CtIr *ir, CtView v, CtTuple crd, CtVal *out, CtErr *err) {
  CtCx cx = ct_ir_cx(ir);
  CtInt index, offset;
  crd = ct_ir_coordinate(ir, v.buf, crd);
  if (crd == NULL) {
    return ct_fail_nomem(err);
  }
  CtStatus status = ct_crd2idx(&cx, crd, v.layout, &index, err);
  status = status == CT_OK ? ct_int_op(&cx, CT_INT_ADD, v.offset, index, &offset, err) : status;
  if (status == CT_OK) {
    bool wide = offset.kind == CT_DYNAMIC ? ir->insts[offset.id].type == CT_i64
                                          : offset.v != (int32_t)offset.v;
    *out = ct_ir_val(ir, offset, wide ? CT_i64 : CT_i32);
  }
  return status;
}
