/* emit_gemm.c: products of matrices as unrolled loops. For each k, operands in memory are first
   read into registers, several rows at once if they are adjacent. Then come all products of that k,
   in the requested order. That order is index arithmetic, which disappears when the loops are
   unrolled: listed statements would take the compiler many times as long. */
#include <inttypes.h>

#include "emit_tile.h"

enum {
  MAX_FMAS = 8192,      /* in a gemm that is unrolled entirely */
  GEMM_BODY_FMAS = 2048 /* in one iteration of a gemm that is not */
};

/* An axis of an operand's guard, as a matrix of coordinates. */
typedef struct Axis {
  CtEmitMatrix modes;
  CtEmitOperand at;
  CtInt bound;
} Axis;

/* A matrix operand, and where its elements are. */
typedef struct Matrix {
  const CtView *view;
  int vec; /* rows read at once */
  CtEmitMatrix modes;
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
    if (!ct_emit_list_modes(e, inst->loc, ct_guard_layout(x->view, from), 0, x->op.base,
                            &axis->modes)) {
      return false;
    }
  }
  return true;
}

/* The element at (m, k), with its condition. */
static CtEmitOperand element_at(CtEmit *e, const Matrix *x, const char *m, int64_t step,
                                const char *k) {
  CtEmitOperand op = ct_emit_at(&x->op, &x->modes, m, step, k);
  for (int i = 0; i < x->n_axes; i++) {
    CtEmitOperand at = ct_emit_at(&x->axes[i].at, &x->axes[i].modes, m, step, k);
    op.when = ct_emit_and(e, op.when, ct_emit_below(e, &at, x->axes[i].bound));
  }
  return op;
}

static bool init_matrix(CtEmit *e, const CtInst *inst, const CtView *view, Matrix *out) {
  *out = (Matrix){.view = view, .op = ct_emit_operand(e, view)};
  return ct_emit_list_modes(e, inst->loc, view->layout, 0, out->op.base, &out->modes) &&
         init_axes(e, inst, out);
}

/* m + j; m NULL: 0 */
static void put_row(CtEmit *e, const char *m, int j) {
  if (m == NULL || j > 0) {
    ct_text_printf(&e->body, "%s%s%d", m != NULL ? m : "", m != NULL ? " + " : "", j);
  } else {
    ct_text_puts(&e->body, m);
  }
}

/* a[m] = v.x; a[m + 1] = v.y; ... */
static void put_rows(CtEmit *e, CtDtype type, int vec, const char *array, const char *m,
                     const char *v) {
  CtEmitWrap w =
      ct_is_float(type) ? ct_emit_wrap(e, ct_dtype_compute(type), type) : (CtEmitWrap){.close = ""};
  for (int j = 0; j < vec; j++) {
    ct_text_printf(&e->body, "%s%s[", j > 0 ? " " : "", array);
    put_row(e, m, j);
    ct_text_printf(&e->body, "] = %s", w.open);
    ct_emit_lane(e, type, vec, v, j);
    ct_text_printf(&e->body, "%s;", w.close);
  }
}

/* Reads the rows of one k into a register array of that name. */
static void stage(Gemm *g, CtEmitNest *nest, Matrix *x, const char *array, char var,
                  const char *k) {
  CtEmit *e = g->e;
  int vec = x->vec;
  const char *m = ct_emit_enter_loop(nest, var, ct_int(x->modes.size[0]), vec, CT_UNROLL_ALL);
  CtEmitOperand from = element_at(e, x, m, vec, k);
  ct_emit_begin(e, g->inst->loc);
  if (vec == 1) {
    ct_text_printf(&e->body, "%s[", array);
    put_row(e, m, 0);
    ct_text_puts(&e->body, "] = ");
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
  if (m != NULL) {
    ct_emit_leave(nest);
  }
}

/* After staging, array[row] is the operand. */
static void use_array(Matrix *x, const char *array) {
  static const CtEmitStride unit = {{.v = 1}, 1};
  x->op = (CtEmitOperand){.buf = x->op.buf, .base = array, .is_widened = true};
  x->modes.mode[0].n = 1;
  x->modes.mode[0].leaf[0] = (CtEmitLeaf){ct_int(x->modes.size[0]), unit};
  x->modes.mode[1].n = 0;
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
                     x[i]->modes.size[0]);
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

static bool has_large(const Gemm *g) {
  return ct_emit_is_large(&g->a.op) || ct_emit_is_large(&g->b.op) || ct_emit_is_large(&g->c.op);
}

/* Unrolls all of k, unless that is a lot of text for the compiler and no register is indexed by
   k. */
static int unroll_k(const Gemm *g) {
  bool fixed_index = (ct_emit_is_register(&g->a.op) && g->a.modes.mode[1].n > 0) ||
                     (ct_emit_is_register(&g->b.op) && g->b.modes.mode[1].n > 0);
  int64_t per_k = g->m * g->n;
  int64_t factor = 1;
  if (!has_large(g) && (fixed_index || per_k * g->k <= MAX_FMAS)) {
    return CT_UNROLL_ALL;
  }
  while (factor * 2 * per_k <= GEMM_BODY_FMAS) {
    factor *= 2;
  }
  return (int)factor;
}

static void put_gemm(Gemm *g) {
  CtEmitNest nest = {.e = g->e, .loc = g->inst->loc};
  const char *k = ct_emit_enter_loop(&nest, 'k', ct_int(g->k), 1, unroll_k(g));
  if (k == NULL) {
    ct_emit_line(g->e, g->inst->loc, "{");
    ct_emit_enter_scope(&nest);
  }
  stage_operands(g, &nest, k);
  CtEmitProducts w = {g->e, g->inst->loc, g->m, g->n, put_multiply, g, ct_emit_is_large(&g->c.op)};
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
  g.m = g.a.modes.size[0];
  g.n = g.b.modes.size[0];
  g.k = g.a.modes.size[1];
  if (g.m > 0 && g.n > 0 && g.k > 0) {
    put_gemm(&g);
  }
}
