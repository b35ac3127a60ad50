/* ir_tile.c: operations on whole tensors: their shapes are checked here, once for all engines, and
   the width of a copy is chosen. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "ir_build.h"

enum { MAX_VECTOR_BYTES = 16, MAX_LEAVES = 32, MAX_PLANNED = 1 << 16 };

const char *const ct_width_whys[CT_WIDTH_WHY_COUNT] = {
#define X(name, text) text,
    CT_WIDTH_WHYS(X)
#undef X
};

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
    fail_types(c, from, to, "nothing becomes narrower by itself, so cast the elements");
  } else if (x != y && ct_dtype_compute(x) != y) {
    fail_types(c, from, to, "the element types must be equal");
  }
}

static void check_sums(CtTileCx *c, CtView to) {
  CtDtype t = dtype_of(c, to);
  if (ct_is_narrow(t)) {
    ct_tile_fail(c, "%s is %s, which sums are not kept in; expected %s",
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
      both  ? "have different sizes; the shapes must agree"
      : one ? "may differ in size: one is known only at run time; tile it first, or take "
              "kernel(name, fn, {static_shapes = true})"
            : "may differ in size: both are known only at run time; tile them first");
}

/* The bits of another fragment, which recast made a copy of, stay as they are. */
void ct_tile_check_writable(CtTileCx *c, CtView v) {
  const char *name = ct_ir_view_name(c->ir, &v);
  if (c->ir->bufs[v.buf].cache == CT_CACHE_READ_ONLY) {
    ct_tile_fail(c,
                 "%s is cached as \"read_only\", which says that nobody writes it; write to the "
                 "tensor itself, and take another hint",
                 name);
  } else if (c->ir->bufs[v.buf].is_fixed) {
    ct_tile_fail(c,
                 "%s has the bits of a fragment (recast), which are only read through it; write to "
                 "that fragment, or to a copy of %s",
                 name, name);
  }
  if (c->ir->bufs[v.buf].space == CT_CONSTANT) {
    ct_tile_fail(
        c,
        "%s is constant memory, which kernels only read; write to a fragment, or to shared "
        "or global memory",
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

CtVal ct_tile_add(CtIr *ir, CtOp op, const CtTile *tile) {
  const CtView *views[] = {&tile->dst, &tile->a, &tile->b};
  for (size_t i = 0; ir->is_checked && i < CT_ARRAY_LEN(views); i++) {
    ct_ir_within_view(ir, views[i]);
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
  keep_atom(ir, own);
  ir->insts[v].u.tile = own;
  ct_ir_written(ir, tile->dst.buf);
  return v;
}

/* --- width of a copy ---------------------------------------------------------------------------- */

/* A layout as a counter: one digit per leaf, its index split in a static sum and dynamic digits. */
typedef struct Walk {
  int n;
  int64_t extent[MAX_LEAVES], digit[MAX_LEAVES];
  int64_t stride[MAX_LEAVES]; /* 0 if dynamic */
  int64_t div[MAX_LEAVES];    /* of a dynamic stride; 0 if static */
  int64_t index;              /* sum of static parts */
} Walk;

static bool walk_init(const CtIr *ir, CtLayout l, Walk *w) {
  *w = (Walk){0};
  for (CtLeaves leaf = ct_layout_leaves(l); ct_next_leaf(&leaf);) {
    CtInt s = leaf.shape->i, d = leaf.stride->i;
    if (w->n == MAX_LEAVES || s.kind != CT_STATIC) {
      return false;
    }
    bool dynamic = d.kind == CT_DYNAMIC && s.v != 1;
    w->extent[w->n] = s.v;
    w->stride[w->n] = dynamic ? 0 : d.v;
    w->div[w->n] = dynamic ? ct_ir_facts(ir, d).div : 0;
    w->n++;
  }
  return true;
}

/* Steps to the next coordinate; true when a digit with a dynamic stride changed. */
static bool walk_next(Walk *w) {
  bool jumped = false;
  for (int i = 0; i < w->n; i++) {
    jumped = jumped || w->div[i] != 0;
    w->index += w->stride[i];
    if (++w->digit[i] < w->extent[i]) {
      break;
    }
    w->index -= w->stride[i] * w->extent[i];
    w->digit[i] = 0;
  }
  return jumped;
}

/* Do groups of `vec` consecutive coordinates touch consecutive, aligned elements? WIDEST, or what is in
   the way. */
static CtWidthWhy refuse_layout(const CtIr *ir, CtLayout l, int64_t size, int64_t vec) {
  Walk w;
  if (size > MAX_PLANNED || !walk_init(ir, l, &w)) {
    return CT_WIDTH_EXTENT;
  }
  CtWidthWhy why = CT_WIDTH_WIDEST;
  for (int i = 0; i < w.n; i++) {
    why = w.div[i] % vec != 0 ? CT_WIDTH_STRIDE : why;
  }
  for (int64_t i = 0; i < size; i += vec) {
    int64_t first = w.index;
    why = why == CT_WIDTH_WIDEST && first % vec != 0 ? CT_WIDTH_MULTIPLE : why;
    for (int64_t j = 0; j < vec; j++) {
      if (w.index != first + j) {
        return CT_WIDTH_COMMON;
      }
      if (walk_next(&w) && j + 1 < vec) {
        return CT_WIDTH_COMMON;
      }
    }
  }
  return why;
}

bool ct_tile_is_packed(const CtIr *ir, CtView v, int64_t n) {
  CtCx cx = {0};
  CtInt size;
  CtErr err;
  return ct_layout_is_static(v.layout) && ct_size(&cx, v.layout, &size, &err) == CT_OK &&
         size.v % n == 0 && ct_ir_facts(ir, v.offset).div % n == 0 &&
         refuse_layout(ir, v.layout, size.v, n) == CT_WIDTH_WIDEST;
}

void ct_tile_use_words(CtIr *ir, uint32_t buf) { ir->bufs[buf].has_words = true; }

/* Does the index stay the same within each group of `vec` consecutive coordinates? */
static bool is_constant_of(const CtIr *ir, CtLayout l, int64_t size, int64_t vec) {
  Walk w;
  if (size > MAX_PLANNED || !walk_init(ir, l, &w)) {
    return false;
  }
  for (int64_t i = 0; i < size; i += vec) {
    int64_t first = w.index;
    for (int64_t j = 0; j < vec; j++) {
      if (w.index != first || (walk_next(&w) && j + 1 < vec)) {
        return false;
      }
    }
  }
  return true;
}

/* Is each group of `vec` consecutive elements inside or outside as a whole? */
static bool guard_allows(const CtIr *ir, const CtView *v, int64_t size, int64_t vec) {
  bool allowed = true;
  for (int i = 0; allowed && i < ct_guard_n(v); i++) {
    const CtGuardAxis *axis = &v->guard->axis[i];
    CtLayout l = ct_guard_layout(v, axis);
    bool aligned =
        ct_ir_facts(ir, axis->at).div % vec == 0 && ct_ir_facts(ir, axis->bound).div % vec == 0;
    allowed = (aligned && refuse_layout(ir, l, size, vec) == CT_WIDTH_WIDEST) ||
              is_constant_of(ir, l, size, vec);
  }
  return allowed;
}

size_t ct_ir_view_align(CtIr *ir, CtView v) {
  const CtBuf *buf = &ir->bufs[v.buf];
  int64_t bytes = (int64_t)ct_dtype_bytes(buf->dtype);
  int64_t div = ct_ir_facts(ir, v.offset).div;
  int64_t align = ct_min(buf->align, MAX_VECTOR_BYTES);
  if (ct_buf_is_swizzled(buf) && buf->swizzle.base < 4) { /* more bits would not matter */
    align = ct_min(align, bytes << buf->swizzle.base);
  }
  while (align > bytes && div != 0 && (div % (align / bytes)) != 0) {
    align /= 2;
  }
  return (size_t)align;
}

/* What keeps a view from vectors of `vec` elements; WIDEST: nothing. Registers can be packed in any
   order, so only a side in memory limits the width. */
CtWidthWhy ct_tile_refuse(CtIr *ir, CtView v, int64_t size, int64_t vec) {
  const CtBuf *buf = &ir->bufs[v.buf];
  size_t bytes = (size_t)vec * ct_dtype_bytes(buf->dtype);
  if (!guard_allows(ir, &v, size, vec)) {
    return CT_WIDTH_GUARD;
  }
  if (buf->space == CT_REGISTER) {
    return CT_WIDTH_WIDEST;
  }
  CtWidthWhy why = refuse_layout(ir, v.layout, size, vec);
  if (why == CT_WIDTH_WIDEST && ct_ir_view_align(ir, v) < bytes) {
    bool swizzled =
        ct_buf_is_swizzled(buf) && buf->swizzle.base < 4 && vec >> buf->swizzle.base > 1;
    why = swizzled ? CT_WIDTH_SWIZZLE : buf->align < bytes ? CT_WIDTH_POINTER : CT_WIDTH_OFFSET;
  }
  return why;
}

/* The first width that `count` is a multiple of and the views allow, from `most` down. */
static CtWidth find_width(CtIr *ir, int n, const CtView *views, const uint8_t *of, int64_t size,
                          int64_t count, int64_t most) {
  CtWidth w = {(uint8_t)most, CT_WIDTH_WIDEST, 0};
  for (; w.vec > 1; w.vec /= 2) {
    CtWidthWhy why = count % w.vec != 0 ? CT_WIDTH_SIZE : CT_WIDTH_WIDEST;
    uint8_t whose = of[0];
    for (int i = 0; i < n && why == CT_WIDTH_WIDEST; i++) {
      why = ct_tile_refuse(ir, views[i], size, w.vec);
      whose = of[i];
    }
    if (why == CT_WIDTH_WIDEST) {
      break;
    }
    w.why = (uint8_t)why;
    w.of = whose;
  }
  return w;
}

static CtWidth copy_width(CtIr *ir, CtView src, CtView dst, CtInt size) {
  const CtBuf *from = &ir->bufs[src.buf], *to = &ir->bufs[dst.buf];
  bool registers = from->space == CT_REGISTER || to->space == CT_REGISTER;
  if (from->dtype != to->dtype) {
    return (CtWidth){1, CT_WIDTH_CONVERTS, 0};
  }
  if (!ct_is_static(size) || size.v == 0) {
    return (CtWidth){1, CT_WIDTH_EXTENT, 0};
  }
  if ((from->space == CT_REGISTER && to->space == CT_REGISTER) ||
      (registers && to->dtype == CT_bool)) {
    return (CtWidth){1, CT_WIDTH_REGISTERS, 0};
  }
  return find_width(ir, 2, (CtView[]){src, dst}, (const uint8_t[]){1, 0}, size.v, size.v,
                    MAX_VECTOR_BYTES / (int64_t)ct_dtype_bytes(to->dtype));
}

/* How many consecutive rows of a GEMM's operand are read at once: contiguous, and aligned at every k. */
static CtWidth row_width(CtIr *ir, CtView v, uint8_t of) {
  CtCx cx = ct_ir_cx(ir);
  CtInt size = {0}, rows = {0};
  CtErr err;
  const CtBuf *buf = &ir->bufs[v.buf];
  if (buf->space == CT_REGISTER || buf->dtype == CT_bool) {
    return (CtWidth){1, CT_WIDTH_REGISTERS, of};
  }
  if (ct_guard_n(&v) > 0) {
    return (CtWidth){1, CT_WIDTH_GUARD, of};
  }
  if (ct_size(&cx, v.layout, &size, &err) != CT_OK ||
      ct_size(&cx, ct_mode(v.layout, 0), &rows, &err) != CT_OK || size.v == 0) {
    return (CtWidth){1, CT_WIDTH_EXTENT, of};
  }
  return find_width(ir, 1, &v, &of, size.v, rows.v,
                    MAX_VECTOR_BYTES / (int64_t)ct_dtype_bytes(buf->dtype));
}

/* The CPU engine stands for the newest devices: what holds for a kernel there, `check` looks at. */
static bool may_be_async(const CtIr *ir, const CtTile *t) {
  size_t bytes = t->vec * ct_dtype_bytes(ir->bufs[t->dst.buf].dtype);
  return ir->bufs[t->a.buf].dtype == ir->bufs[t->dst.buf].dtype &&
         ir->bufs[t->a.buf].space == CT_GLOBAL && ir->bufs[t->dst.buf].space == CT_SHARED &&
         ir->bufs[t->dst.buf].remote == 0 && (!ir->target.is_cuda || ir->target.sm >= 80) &&
         bytes >= 4;
}

void ct_tile_check_copy(CtTileCx *c, CtView src, CtView dst) {
  check_widens(c, src, dst);
  check_sizes(c, src, dst);
  ct_tile_check_writable(c, dst);
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

/* A predicate may be one for a whole vector only. */
static void limit_to_predicate(CtIr *ir, CtView pred, CtInt size, CtWidth *w) {
  while (w->vec > 1 && !is_constant_of(ir, pred.layout, size.v, w->vec)) {
    *w = (CtWidth){w->vec / 2, CT_WIDTH_PREDICATE, 2};
  }
}

static CtStatus add_copy(CtTileCx *c, CtTile tile) {
  CtInt size = al_size(&c->g, tile.dst.layout);
  if (!al_ok(&c->g)) {
    return c->g.status;
  }
  tile.width[0] = copy_width(c->ir, tile.a, tile.dst, size);
  if (tile.b.buf != 0) {
    limit_to_predicate(c->ir, tile.b, size, &tile.width[0]);
  }
  tile.vec = tile.width[0].vec;
  tile.async = may_be_async(c->ir, &tile);
  ct_tile_add(c->ir, CT_OP_COPY, &tile);
  return CT_OK;
}

CtStatus ct_ir_copy(CtIr *ir, CtView src, CtView dst, CtErr *err) {
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

CtStatus ct_ir_fill(CtIr *ir, CtView dst, CtVal value, CtErr *err) {
  CtTile tile = {.dst = dst, .vec = 1};
  CtTileCx c = ct_tile_begin(ir, "fill", NULL, err);
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
         (inst->op == CT_OP_WGMMA && !is_zero(ir, inst->args[0])) ||
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

static const CtGemmOrder by_columns = {2, {{.mode = 1, .step = 1}, {.mode = 0, .step = 1}}};

CtStatus ct_ir_gemm(CtIr *ir, CtView a, CtView b, CtView c, const CtGemmOrder *order, CtErr *err) {
  CtTile tile = {.dst = c, .a = a, .b = b, .vec = 1, .order = order->n == 0 ? by_columns : *order};
  const CtView views[] = {a, b, c};
  CtTileCx g = ct_tile_begin(ir, "gemm", NULL, err);
  for (size_t i = 0; i < CT_ARRAY_LEN(views); i++) {
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
    tile.width[0] = is_matrix ? row_width(ir, a, 1) : (CtWidth){1, CT_WIDTH_SCALAR, 1};
    tile.width[1] = is_matrix ? row_width(ir, b, 2) : (CtWidth){1, CT_WIDTH_SCALAR, 2};
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
