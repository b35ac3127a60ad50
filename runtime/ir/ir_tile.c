/* ir_tile.c: operations on whole tensors: their shapes are checked here, once for all engines, and
   the width of a copy is chosen. */
#include <string.h>

#include "ir_build.h"

enum { MAX_VECTOR_BYTES = 16, MAX_LEAVES = 32, MAX_PLANNED = 1 << 16 };

const char *const ct_width_whys[CT_WIDTH_WHY_COUNT] = {
#define X(name, text) text,
    CT_WIDTH_WHYS(X)
#undef X
};

/* "tAsA (4,1):(32,1032)": a view as the user knows it. */
static void print_view(CtIr *ir, CtView v, CtText *out) {
  CtCx cx = ct_ir_cx(ir);
  ct_text_printf(out, "%s ", v.name != NULL ? v.name : ir->bufs[v.buf].name);
  CtComposed l = ct_ir_view_layout(ir, &v);
  ct_composed_print(&cx, &l, out);
}

/* Fails with "<op>: <a> and <b> <rule>", the views printed in place. */
CtStatus ct_tile_fail_views(CtIr *ir, const char *op, CtView a, CtView b, const char *rule,
                            CtErr *err) {
  CtText text;
  ct_text_init(&text, ir->arena.alloc);
  print_view(ir, a, &text);
  ct_text_puts(&text, " and ");
  print_view(ir, b, &text);
  CtStatus status = ct_fail(err, CT_EINVAL, "%s: %s %s", op, ct_text_str(&text), rule);
  ct_text_clear(&text);
  return status;
}

CtStatus ct_tile_fail(CtIr *ir, const char *op, CtView v, const char *rule, CtErr *err) {
  CtText text;
  ct_text_init(&text, ir->arena.alloc);
  print_view(ir, v, &text);
  CtStatus status = ct_fail(err, CT_EINVAL, "%s: %s %s", op, ct_text_str(&text), rule);
  ct_text_clear(&text);
  return status;
}

CtStatus ct_tile_size(CtIr *ir, CtView v, CtInt *size, CtErr *err) {
  CtCx cx = ct_ir_cx(ir);
  return ct_size(&cx, v.layout, size, err);
}

static CtStatus check_dtypes(CtIr *ir, const char *op, CtView a, CtView b, CtErr *err) {
  CtDtype x = ir->bufs[a.buf].dtype;
  CtDtype y = ir->bufs[b.buf].dtype;
  if (x != y) {
    return ct_fail(err, CT_EINVAL, "%s: %s is %s but %s is %s; the element types must be equal", op,
                   a.name != NULL ? a.name : ir->bufs[a.buf].name, ct_dtypes[x].name,
                   b.name != NULL ? b.name : ir->bufs[b.buf].name, ct_dtypes[y].name);
  }
  return CT_OK;
}

/* A narrow source is widened on the way; nothing becomes narrower, and no sum is kept in a narrow type. */
static CtStatus check_widens(CtIr *ir, const char *op, CtView from, CtView to, CtErr *err) {
  CtDtype x = ir->bufs[from.buf].dtype;
  CtDtype y = ir->bufs[to.buf].dtype;
  if (x != y && ct_dtype_compute(y) == x) {
    return ct_fail(err, CT_EINVAL,
                   "%s: %s is %s but %s is %s; nothing becomes narrower by itself, "
                   "so cast the elements",
                   op, from.name != NULL ? from.name : ir->bufs[from.buf].name, ct_dtypes[x].name,
                   to.name != NULL ? to.name : ir->bufs[to.buf].name, ct_dtypes[y].name);
  }
  return ct_dtype_compute(x) == y ? CT_OK : check_dtypes(ir, op, from, to, err);
}

static CtStatus check_sums(CtIr *ir, const char *op, CtView to, CtErr *err) {
  CtDtype t = ir->bufs[to.buf].dtype;
  if (!ct_is_narrow(t)) {
    return CT_OK;
  }
  return ct_fail(err, CT_EINVAL, "%s: %s is %s, which sums are not kept in; expected %s", op,
                 to.name != NULL ? to.name : ir->bufs[to.buf].name, ct_dtypes[t].name,
                 ct_dtypes[ct_dtype_compute(t)].name);
}

static CtStatus check_sizes(CtIr *ir, const char *op, CtView a, CtView b, CtErr *err) {
  CtInt m, n;
  CtStatus status = ct_tile_size(ir, a, &m, err);
  if (status == CT_OK) {
    status = ct_tile_size(ir, b, &n, err);
  }
  if (status != CT_OK || ct_int_equal(m, n)) {
    return status;
  }
  if (ct_is_static(m) && ct_is_static(n)) {
    return ct_tile_fail_views(ir, op, a, b, "have different sizes; the shapes must agree", err);
  }
  return ct_tile_fail_views(
      ir, op, a, b,
      ct_is_static(m) || ct_is_static(n)
          ? "may differ in size: one is known only at run time; tile it first, or take "
            "kernel(name, fn, {static_shapes = true})"
          : "may differ in size: both are known only at run time; tile them first",
      err);
}

/* The bits of another fragment, which recast made a copy of, stay as they are. */
CtStatus ct_ir_check_writable(const CtIr *ir, const char *op, CtView v, CtErr *err) {
  const char *name = v.name != NULL ? v.name : ir->bufs[v.buf].name;
  return !ir->bufs[v.buf].is_fixed
             ? CT_OK
             : ct_fail(
                   err, CT_EINVAL,
                   "%s: %s has the bits of a fragment (recast), which are only read through it; write to "
                   "that fragment, or to a copy of %s",
                   op, name, name);
}

/* A view of declared memory must lie inside it; what is static is checked while tracing. */
CtStatus ct_tile_check_inside(CtIr *ir, const char *op, CtView v, CtErr *err) {
  const CtBuf *buf = &ir->bufs[v.buf];
  if (buf->space == CT_GLOBAL || !ct_is_static(v.offset) || !ct_layout_is_static(v.layout)) {
    return CT_OK;
  }
  CtCx cx = ct_ir_cx(ir);
  CtInt end;
  CtStatus status = ct_cosize(&cx, v.layout, &end, err);
  if (status == CT_OK && (v.offset.v < 0 || v.offset.v + end.v > buf->n_elems.v)) {
    return ct_tile_fail(ir, op, v, "reaches past the end of its tensor", err);
  }
  return status;
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
  int64_t stride[MAX_LEAVES]; /* 0 where dynamic */
  int64_t div[MAX_LEAVES];    /* of a dynamic stride; 0 where static */
  int64_t index;              /* sum of static parts */
} Walk;

static bool walk_init(const CtIr *ir, CtLayout l, Walk *w) {
  *w = (Walk){0};
  CtTuple s = l.shape;
  CtTuple d = l.stride;
  for (uint32_t i = 0; i < s->len; i++) {
    if (s[i].rank != CT_LEAF) {
      continue;
    }
    if (w->n == MAX_LEAVES || s[i].i.kind != CT_STATIC) {
      return false;
    }
    bool dynamic = d[i].i.kind == CT_DYNAMIC && s[i].i.v != 1;
    w->extent[w->n] = s[i].i.v;
    w->stride[w->n] = dynamic ? 0 : d[i].i.v;
    w->div[w->n] = dynamic ? ct_ir_facts(ir, d[i].i).div : 0;
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

CtStatus ct_tile_check_copy(CtIr *ir, const char *op, CtView src, CtView dst, CtErr *err) {
  CtStatus status = check_widens(ir, op, src, dst, err);
  status = status == CT_OK ? check_sizes(ir, op, src, dst, err) : status;
  status = status == CT_OK ? ct_ir_check_writable(ir, op, dst, err) : status;
  status = status == CT_OK ? ct_tile_check_inside(ir, op, src, err) : status;
  return status == CT_OK ? ct_tile_check_inside(ir, op, dst, err) : status;
}

CtStatus ct_tile_check_pred(CtIr *ir, CtView pred, CtErr *err) {
  const CtBuf *buf = &ir->bufs[pred.buf];
  if (buf->dtype != CT_bool) {
    return ct_fail(err, CT_EINVAL, "copy_if: predicate %s has elements %s; expected bool",
                   pred.name != NULL ? pred.name : buf->name, ct_dtypes[buf->dtype].name);
  }
  return ct_tile_check_inside(ir, "copy_if", pred, err);
}

/* A predicate may be one for a whole vector only. */
static void limit_to_predicate(CtIr *ir, CtView pred, CtInt size, CtWidth *w) {
  while (w->vec > 1 && !is_constant_of(ir, pred.layout, size.v, w->vec)) {
    *w = (CtWidth){w->vec / 2, CT_WIDTH_PREDICATE, 2};
  }
}

static CtStatus add_copy(CtIr *ir, CtTile *tile, CtErr *err) {
  CtInt size;
  CtStatus status = ct_tile_size(ir, tile->dst, &size, err);
  if (status != CT_OK) {
    return status;
  }
  tile->width[0] = copy_width(ir, tile->a, tile->dst, size);
  if (tile->b.buf != 0) {
    limit_to_predicate(ir, tile->b, size, &tile->width[0]);
  }
  tile->vec = tile->width[0].vec;
  tile->async = may_be_async(ir, tile);
  ct_tile_add(ir, CT_OP_COPY, tile);
  return CT_OK;
}

CtStatus ct_ir_copy(CtIr *ir, CtView src, CtView dst, CtErr *err) {
  CtTile tile = {.dst = dst, .a = src};
  CtStatus status = ct_tile_check_copy(ir, "copy", src, dst, err);
  return status == CT_OK ? add_copy(ir, &tile, err) : status;
}

CtStatus ct_ir_convert(CtIr *ir, CtView src, CtView dst, CtErr *err) {
  CtTile tile = {.dst = dst, .a = src};
  if (ir->failed) {
    return ct_fail_nomem(err); /* a buffer may not be there */
  }
  CT_ASSERT(ir->bufs[src.buf].space == CT_REGISTER && ir->bufs[dst.buf].space == CT_REGISTER);
  CT_ASSERT(src.guard == NULL && dst.guard == NULL);
  CtStatus status = check_sizes(ir, "cast", src, dst, err);
  status = status == CT_OK ? ct_tile_check_inside(ir, "cast", src, err) : status;
  return status == CT_OK ? add_copy(ir, &tile, err) : status;
}

CtStatus ct_ir_copy_if(CtIr *ir, CtView pred, CtView src, CtView dst, CtErr *err) {
  CtTile tile = {.dst = dst, .a = src, .b = pred};
  CtStatus status = ct_tile_check_copy(ir, "copy_if", src, dst, err);
  status = status == CT_OK ? ct_tile_check_pred(ir, pred, err) : status;
  status = status == CT_OK ? check_sizes(ir, "copy_if", pred, src, err) : status;
  return status == CT_OK ? add_copy(ir, &tile, err) : status;
}

/* --- the others --------------------------------------------------------------------------------- */

CtStatus ct_ir_fill(CtIr *ir, CtView dst, CtVal value, CtErr *err) {
  CtTile tile = {.dst = dst, .vec = 1};
  CtStatus status = ct_ir_check_writable(ir, "fill", dst, err);
  status = status == CT_OK ? ct_tile_check_inside(ir, "fill", dst, err) : status;
  if (status == CT_OK) {
    CtVal v = ct_tile_add(ir, CT_OP_FILL, &tile);
    ir->insts[v].args[0] = value;
  }
  return status;
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
  CtStatus status = ct_ir_check_writable(ir, "axpby", y, err);
  status = status == CT_OK ? check_sums(ir, "axpby", y, err) : status;
  status = status == CT_OK ? check_widens(ir, "axpby", x, y, err) : status;
  status = status == CT_OK ? check_sizes(ir, "axpby", x, y, err) : status;
  status = status == CT_OK ? ct_tile_check_inside(ir, "axpby", x, err) : status;
  status = status == CT_OK ? ct_tile_check_inside(ir, "axpby", y, err) : status;
  if (status == CT_OK && ct_inst(ir, beta)->op == CT_OP_CONST) {
    add_axpby(ir, &tile, alpha, beta);
  } else if (status == CT_OK) { /* the launch says whether y is read */
    CtVal zero = zero_like(ir, beta);
    CtVal when = ct_ir_if(ir, ct_ir_binary(ir, CT_OP_EQ, beta, zero));
    add_axpby(ir, &tile, alpha, zero);
    ct_ir_else(ir, when);
    add_axpby(ir, &tile, alpha, beta);
    ct_ir_end(ir, when);
  }
  return status;
}

/* The static sizes of mode `i` of two views must agree. */
static CtStatus check_mode(CtIr *ir, CtView a, int i, CtView b, int j, const char *rule,
                           CtErr *err) {
  CtCx cx = ct_ir_cx(ir);
  CtInt m, n;
  CtStatus status = ct_size(&cx, ct_mode(a.layout, i), &m, err);
  status = status == CT_OK ? ct_size(&cx, ct_mode(b.layout, j), &n, err) : status;
  if (status == CT_OK && !ct_int_equal(m, n)) {
    return ct_tile_fail_views(ir, "gemm", a, b, rule, err);
  }
  return status;
}

static bool has_ranks(CtView a, CtView b, CtView c, int ra, int rb, int rc) {
  return ct_layout_rank(a.layout) == ra && ct_layout_rank(b.layout) == rb &&
         ct_layout_rank(c.layout) == rc;
}

static CtStatus check_gemm(CtIr *ir, CtView a, CtView b, CtView c, CtErr *err) {
  if (has_ranks(a, b, c, 1, 1, 1)) {
    CtStatus status = check_sizes(ir, "gemm", a, c, err);
    return status == CT_OK ? check_sizes(ir, "gemm", b, c, err) : status;
  }
  if (!has_ranks(a, b, c, 2, 2, 2) && !has_ranks(a, b, c, 1, 1, 2)) {
    return ct_fail(
        err, CT_EINVAL,
        "gemm: A, B and C have ranks %d, %d and %d; expected (M,K), (N,K), (M,N), or (M), "
        "(N), (M,N), or (V), (V), (V)",
        ct_layout_rank(a.layout), ct_layout_rank(b.layout), ct_layout_rank(c.layout));
  }
  CtStatus status = check_mode(ir, a, 0, c, 0, "differ in M, mode 0 of A and mode 0 of C", err);
  status = status == CT_OK
               ? check_mode(ir, b, 0, c, 1, "differ in N, mode 0 of B and mode 1 of C", err)
               : status;
  if (status == CT_OK && ct_layout_rank(a.layout) == 2) {
    status = check_mode(ir, a, 1, b, 1, "differ in K, mode 1 of both", err);
  }
  return status;
}

static CtStatus check_static(CtIr *ir, const char *op, CtView v, CtErr *err) {
  if (!ct_all_static(v.layout.shape)) {
    return ct_tile_fail(ir, op, v, "has a dynamic shape; tile it first", err);
  }
  return CT_OK;
}

static const CtGemmOrder by_columns = {2, {{.mode = 1, .step = 1}, {.mode = 0, .step = 1}}};

CtStatus ct_ir_gemm(CtIr *ir, CtView a, CtView b, CtView c, const CtGemmOrder *order, CtErr *err) {
  CtTile tile = {.dst = c, .a = a, .b = b, .vec = 1, .order = order->n == 0 ? by_columns : *order};
  const CtView views[] = {a, b, c};
  CtStatus status = CT_OK;
  for (size_t i = 0; i < CT_ARRAY_LEN(views) && status == CT_OK; i++) {
    status = check_static(ir, "gemm", views[i], err);
  }
  status = status == CT_OK ? check_gemm(ir, a, b, c, err) : status;
  status = status == CT_OK ? ct_ir_check_writable(ir, "gemm", c, err) : status;
  status = status == CT_OK ? check_sums(ir, "gemm", c, err) : status;
  status = status == CT_OK ? check_widens(ir, "gemm", a, c, err) : status;
  status = status == CT_OK ? check_widens(ir, "gemm", b, c, err) : status;
  for (size_t i = 0; i < CT_ARRAY_LEN(views) && status == CT_OK; i++) {
    status = ct_tile_check_inside(ir, "gemm", views[i], err);
  }
  if (status == CT_OK) {
    bool is_matrix = ct_layout_rank(c.layout) == 2;
    tile.width[0] = is_matrix ? row_width(ir, a, 1) : (CtWidth){1, CT_WIDTH_SCALAR, 1};
    tile.width[1] = is_matrix ? row_width(ir, b, 2) : (CtWidth){1, CT_WIDTH_SCALAR, 2};
    ct_tile_add(ir, CT_OP_GEMM, &tile);
  }
  return status;
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
