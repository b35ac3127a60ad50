/* emit_gemm.c: products of matrices as unrolled loops. For each k the operands that are in memory are
   read into registers, several rows at once where they lie together; then all products of that k, in
   the order asked for. That order is index arithmetic, which disappears when the loops are unrolled:
   listed statements would take the compiler many times as long. */
#include <inttypes.h>

#include "emit_tile.h"

enum {
  MAX_FMAS = 8192,      /* of a gemm that is unrolled entirely */
  GEMM_BODY_FMAS = 2048 /* of one that is not, in one iteration */
};

/* An axis of an operand's guard, as a matrix of coordinates. */
typedef struct Axis {
  CtEmitLeaves mode[2];
  CtEmitOperand at;
  CtInt bound;
} Axis;

/* A matrix operand: leaves of its modes (rows, then k or columns), where its elements are. */
typedef struct Matrix {
  const CtView *view;
  int vec; /* rows that are read at once */
  CtEmitLeaves mode[2];
  int64_t size[2];
  CtEmitOperand op;
  int n_axes;
  Axis *axes;
} Matrix;

typedef struct Gemm {
  CtEmit *e;
  const CtInst *inst;
  Matrix a, b, c;
  int64_t m, n, k;
} Gemm;

static bool list_modes(CtEmit *e, const CtInst *inst, CtLayout l, const char *name,
                       CtEmitLeaves mode[2]) {
  for (int i = 0; i < ct_layout_rank(l) && i < 2; i++) {
    if (!ct_emit_list_leaves(ct_mode(l, i), true, &mode[i])) {
      ct_emit_fail(e, inst->loc, CT_EUNSUPPORTED, "gemm: '%s' has more than %d modes", name,
                   CT_EMIT_MAX_MODES);
      return false;
    }
  }
  return true;
}

static bool init_axes(CtEmit *e, const CtInst *inst, Matrix *x) {
  int n = ct_guard_n(x->view);
  x->axes = n == 0 ? NULL : ct_arena_alloc(&e->arena, (size_t)n * sizeof *x->axes);
  if (n > 0 && x->axes == NULL) {
    ct_emit_fail(e, inst->loc, CT_ENOMEM, "out of memory");
    return false;
  }
  for (int i = 0; i < n; i++) {
    const CtGuardAxis *from = &x->view->guard->axis[i];
    Axis *axis = &x->axes[x->n_axes++];
    *axis = (Axis){.at = ct_emit_axis(e, x->view, from), .bound = from->bound};
    if (!list_modes(e, inst, ct_guard_layout(x->view, from), x->op.base, axis->mode)) {
      return false;
    }
  }
  return true;
}

/* The element at (m, k), with its condition. */
static CtEmitOperand element_at(CtEmit *e, const Matrix *x, const char *m, int64_t step,
                                const char *k) {
  CtEmitOperand op = x->op;
  ct_emit_add_split(&op, m, &x->mode[0], step);
  ct_emit_add_split(&op, k, &x->mode[1], 1);
  for (int i = 0; i < x->n_axes; i++) {
    CtEmitOperand at = x->axes[i].at;
    ct_emit_add_split(&at, m, &x->axes[i].mode[0], step);
    ct_emit_add_split(&at, k, &x->axes[i].mode[1], 1);
    op.when = ct_emit_and(e, op.when, ct_emit_below(e, &at, x->axes[i].bound));
  }
  return op;
}

static bool init_matrix(CtEmit *e, const CtInst *inst, const CtView *view, Matrix *out) {
  *out = (Matrix){.view = view, .size = {1, 1}, .op = ct_emit_operand(e, view)};
  if (!list_modes(e, inst, view->layout, out->op.base, out->mode)) {
    return false;
  }
  for (int i = 0; i < ct_layout_rank(view->layout) && i < 2; i++) {
    out->size[i] = ct_emit_leaves_size(&out->mode[i]);
  }
  return init_axes(e, inst, out);
}

/* a[m] = v.x; a[m + 1] = v.y; ... */
static void put_rows(CtEmit *e, CtDtype type, int vec, const char *array, const char *m,
                     const char *v) {
  CtEmitWrap w =
      ct_is_float(type) ? ct_emit_wrap(e, ct_dtype_compute(type), type) : (CtEmitWrap){.close = ""};
  for (int j = 0; j < vec; j++) {
    if (j == 0) {
      ct_text_printf(&e->body, "%s[%s] = %s", array, m, w.open);
    } else {
      ct_text_printf(&e->body, " %s[%s + %d] = %s", array, m, j, w.open);
    }
    ct_emit_lane(e, type, vec, v, j);
    ct_text_printf(&e->body, "%s;", w.close);
  }
}

/* Reads the rows of one k into a register array of that name. */
static void stage(Gemm *g, CtEmitNest *nest, Matrix *x, const char *array, char var,
                  const char *k) {
  CtEmit *e = g->e;
  int vec = x->vec;
  const char *m = ct_emit_enter_loop(nest, var, ct_int(x->size[0]), vec, CT_UNROLL_ALL);
  CtEmitOperand from = element_at(e, x, m, vec, k);
  ct_emit_begin(e, g->inst->loc);
  if (vec == 1) {
    ct_text_printf(&e->body, "%s[%s] = ", array, m);
    ct_emit_value(e, &from, true);
    ct_text_putc(&e->body, ';');
  } else {
    const char *v = ct_names_add(&e->names, "v");
    ct_text_printf(&e->body, "const %s %s = ", ct_emit_vector_type(from.buf->dtype, vec), v);
    ct_emit_vector(e, &from, vec, true);
    ct_text_putc(&e->body, ';');
    ct_emit_end(e);
    ct_emit_begin(e, g->inst->loc);
    put_rows(e, from.buf->dtype, vec, array, m, v);
  }
  ct_emit_end(e);
  ct_emit_leave(nest);
}

/* After staging, the operand is array[row]. */
static void use_array(Matrix *x, const char *array) {
  static const CtEmitStride unit = {{.v = 1}, 1};
  x->op = (CtEmitOperand){.buf = x->op.buf, .base = array, .is_widened = true};
  x->mode[0].n = 1;
  x->mode[0].leaf[0] = (CtEmitLeaf){ct_int(x->size[0]), unit};
  x->mode[1].n = 0;
  x->n_axes = 0;
}

static void stage_operands(Gemm *g, CtEmitNest *nest, const char *k) {
  Matrix *x[2] = {&g->a, &g->b};
  static const char *const wanted[2] = {"a", "b"};
  static const char var[2] = {'m', 'n'};
  const char *array[2] = {NULL, NULL};
  const char *type = ct_dtypes[g->c.op.buf->dtype].cuda;
  CtText decl;
  ct_text_init(&decl, g->e->ir->arena.alloc);
  for (int i = 0; i < 2; i++) {
    if (!ct_emit_is_register(&x[i]->op)) {
      array[i] = ct_names_add(&g->e->names, wanted[i]);
      ct_text_printf(&decl, "%s%s[%" PRId64 "]", decl.len == 0 ? "" : ", ", array[i],
                     x[i]->size[0]);
    }
  }
  if (decl.len > 0) {
    ct_emit_line(g->e, g->inst->loc, "%s %s;", type, ct_text_str(&decl));
  }
  ct_text_clear(&decl);
  for (int i = 0; i < 2; i++) {
    if (array[i] != NULL) {
      stage(g, nest, x[i], array[i], var[i], k);
      use_array(x[i], array[i]);
    }
  }
}

static void put_multiply(void *ud, const char *m, const char *n, const char *k) {
  Gemm *g = ud;
  CtEmitNest nest = {.e = g->e, .loc = g->inst->loc};
  CtEmitOperand a = element_at(g->e, &g->a, m, 1, k);
  CtEmitOperand b = element_at(g->e, &g->b, n, 1, k);
  CtEmitOperand c = element_at(g->e, &g->c, m, 1, n);
  ct_emit_enter_when(&nest, c.when);
  c.when = NULL;
  ct_emit_begin(g->e, g->inst->loc);
  ct_emit_fma(g->e, &c, &a, &b);
  ct_emit_end(g->e);
  ct_emit_leave_all(&nest);
}

/* A row or column as what the loops over its mode counted. */
typedef struct Count {
  const char *var; /* of a loop without step, or NULL */
  CtText sum;
} Count;

/* Enters loop i over `left` rows or columns; adds what it counts. Returns its variable. */
static const char *enter_order(CtEmitNest *nest, const CtGemmLoop *loop, int64_t left,
                               const char *around, Count *count) {
  bool whole = loop->step == 1 && !loop->turns && count->sum.len == 0;
  int64_t turns = (left + loop->step - 1) / loop->step;
  char name = whole ? (loop->mode == 0 ? 'm' : 'n') : around == NULL ? 'p' : 'i';
  const char *var = ct_emit_enter_loop(nest, name, ct_int(turns), 1, CT_UNROLL_ALL);
  if (whole) {
    count->var = var;
    return var;
  }
  ct_text_puts(&count->sum, count->sum.len == 0 ? "" : " + ");
  if (loop->turns) {
    ct_text_printf(&count->sum, "(%s %% 2 == 0 ? %s : %" PRId64 " - %s)", around, var, turns - 1,
                   var);
  } else {
    ct_text_puts(&count->sum, var);
  }
  if (loop->step > 1) {
    ct_text_printf(&count->sum, " * %d", loop->step);
  }
  return var;
}

/* The row or column: the variable itself, or one that is made of all. */
static const char *name_count(const CtEmitProducts *w, Count *count, const char *wanted) {
  if (count->var == NULL) {
    count->var = ct_names_add(&w->e->names, wanted);
    ct_emit_line(w->e, w->loc, "const int %s = %s;", count->var, ct_text_str(&count->sum));
  }
  return count->var;
}

/* Some rows or columns may be left out where a step does not divide them. */
static void skip_outside(const CtEmitProducts *w, const char *var, int64_t size,
                         int64_t first_step) {
  if (size % first_step != 0) {
    ct_emit_line(w->e, w->loc, "if (%s >= %" PRId64 ") continue;", var, size);
  }
}

void ct_emit_products(const CtEmitProducts *w, const CtGemmOrder *order, CtEmitNest *nest,
                      const char *k) {
  int64_t left[2] = {w->m, w->n}, first[2] = {0, 0};
  Count count[2] = {{0}, {0}};
  const char *around = NULL;
  for (int i = 0; i < 2; i++) {
    ct_text_init(&count[i].sum, w->e->ir->arena.alloc);
  }
  for (int i = 0; i < order->n; i++) {
    const CtGemmLoop *loop = &order->loop[i];
    int x = loop->mode;
    around = enter_order(nest, loop, left[x], around, &count[x]);
    first[x] = first[x] == 0 ? loop->step : first[x];
    left[x] = loop->step;
  }
  CT_ASSERT(first[0] > 0 && first[1] > 0); /* there is a loop over each */
  const char *m = name_count(w, &count[0], "m");
  const char *n = name_count(w, &count[1], "n");
  skip_outside(w, m, w->m, first[0]);
  skip_outside(w, n, w->n, first[1]);
  w->multiply(w->ud, m, n, k);
  for (int i = 0; i < 2; i++) {
    ct_text_clear(&count[i].sum);
  }
}

/* All of k, unless that is a lot of text for the compiler and no register is indexed by k. */
static int unroll_k(const Gemm *g) {
  bool fixed_index = (ct_emit_is_register(&g->a.op) && g->a.mode[1].n > 0) ||
                     (ct_emit_is_register(&g->b.op) && g->b.mode[1].n > 0);
  int64_t per_k = g->m * g->n;
  int64_t factor = 1;
  if (fixed_index || per_k * g->k <= MAX_FMAS) {
    return CT_UNROLL_ALL;
  }
  while (factor * 2 * per_k <= GEMM_BODY_FMAS) {
    factor *= 2;
  }
  return (int)factor;
}

static void put_gemm(Gemm *g) {
  CtEmitNest nest = {.e = g->e, .loc = g->inst->loc};
  const char *k = "";
  if (g->k > 1) {
    k = ct_emit_enter_loop(&nest, 'k', ct_int(g->k), 1, unroll_k(g));
  } else {
    ct_emit_line(g->e, g->inst->loc, "{");
    ct_emit_enter_scope(&nest);
  }
  stage_operands(g, &nest, k);
  CtEmitProducts w = {g->e, g->inst->loc, g->m, g->n, put_multiply, g};
  ct_emit_products(&w, &g->inst->u.tile->order, &nest, k);
  ct_emit_leave_all(&nest);
}

void ct_emit_gemm(CtEmit *e, const CtInst *inst) {
  const CtTile *t = inst->u.tile;
  Gemm g = {.e = e, .inst = inst};
  if (!ct_emit_has_numbers(e, inst, "gemm") || !init_matrix(e, inst, &t->a, &g.a) ||
      !init_matrix(e, inst, &t->b, &g.b) || !init_matrix(e, inst, &t->dst, &g.c)) {
    return;
  }
  g.a.vec = t->width[0].vec;
  g.b.vec = t->width[1].vec;
  g.m = g.a.size[0];
  g.n = g.b.size[0];
  g.k = g.a.size[1];
  if (g.m > 0 && g.n > 0 && g.k > 0) {
    put_gemm(&g);
  }
}
