/* tensor_print.c: a tensor as text: what it is, then its elements as a matrix for each slice of the
   modes after the second. If there are many, the middle is left out. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "tensor.h"

enum { MAX_ROWS = 12, MAX_COLS = 10, MAX_SLICES = 4, CELL_BYTES = 32 };

/* Which coordinates of a mode are shown: all n, or n_head from the front and n_tail from the end.
   */
typedef struct Axis {
  int64_t n;
  int n_shown, n_head;
} Axis;

static Axis make_axis(int64_t n, int max) {
  if (n <= max) {
    return (Axis){n, (int)n, (int)n};
  }
  return (Axis){n, max - 1, max / 2};
}

static int64_t axis_at(const Axis *a, int i) { return i < a->n_head ? i : a->n - a->n_shown + i; }

static bool is_elided_at(const Axis *a, int i) { return i == a->n_head && a->n_shown < a->n; }

typedef struct Printer {
  const CtCx *cx;
  const Tensor *t;
  CtText *out;
  CtErr *err;
  Axis rows, cols;
  char cells[MAX_ROWS * MAX_COLS][CELL_BYTES];
} Printer;

static int64_t mode_size(CtLayout l, int mode) {
  CtInt n;
  CtCx none = {NULL, NULL};
  return mode < ct_layout_rank(l) && ct_size(&none, ct_mode(l, mode), &n, NULL) == CT_OK ? n.v : 1;
}

/* What the coordinate c of a mode adds to the index; 0 for a mode that is not there. */
static CtStatus mode_index(Printer *p, int mode, int64_t c, int64_t *sum) {
  CtInt at;
  if (mode >= ct_layout_rank(p->t->layout)) {
    return CT_OK;
  }
  CtTuple crd = ct_leaf(p->cx->arena, ct_int(c));
  if (crd == NULL) {
    return ct_fail_nomem(p->err);
  }
  CtStatus status = ct_crd2idx(p->cx, crd, ct_mode(p->t->layout, mode), &at, p->err);
  *sum += status == CT_OK ? at.v : 0;
  return status;
}

static void format_cell(CtDtype dtype, Elem e, char *cell) {
  if (ct_is_float(dtype)) {
    snprintf(cell, CELL_BYTES, "%.5g", e.f);
  } else if (ct_is_int(dtype)) {
    snprintf(cell, CELL_BYTES, dtype == CT_u64 ? "%" PRIu64 : "%" PRId64, e.i);
  } else {
    snprintf(cell, CELL_BYTES, "%s", e.i != 0 ? "true" : "false");
  }
}

/* A vector is shown as one row, so its only mode is the columns. */
static CtStatus read_cell(Printer *p, int64_t base, int i, int j, char *cell) {
  Elem e;
  int64_t at = base;
  bool is_vector = ct_layout_rank(p->t->layout) == 1;
  CtStatus status = is_vector ? CT_OK : mode_index(p, 0, axis_at(&p->rows, i), &at);
  if (status == CT_OK) {
    status = mode_index(p, is_vector ? 0 : 1, axis_at(&p->cols, j), &at);
  }
  if (status == CT_OK && !tensor_has_element(p->t, at)) { /* of a division that rounds up */
    snprintf(cell, CELL_BYTES, "-");
    return CT_OK;
  }
  status = status == CT_OK ? tensor_get(p->t, at, &e, p->err) : status;
  if (status == CT_OK) {
    format_cell(p->t->dtype, e, cell);
  }
  return status;
}

static void print_row(Printer *p, int i, int width) {
  if (is_elided_at(&p->rows, i)) {
    ct_text_printf(p->out, "\n %*s", width, "...");
  }
  ct_text_putc(p->out, '\n');
  for (int j = 0; j < p->cols.n_shown; j++) {
    if (is_elided_at(&p->cols, j)) {
      ct_text_puts(p->out, "  ...");
    }
    ct_text_printf(p->out, " %*s", width, p->cells[i * MAX_COLS + j]);
  }
}

/* The matrix of the first two modes, at the index `base` of the others. */
static CtStatus print_matrix(Printer *p, int64_t base) {
  size_t width = 3;
  for (int i = 0; i < p->rows.n_shown; i++) {
    for (int j = 0; j < p->cols.n_shown; j++) {
      char *cell = p->cells[i * MAX_COLS + j];
      CtStatus status = read_cell(p, base, i, j, cell);
      if (status != CT_OK) {
        return status;
      }
      width = strlen(cell) > width ? strlen(cell) : width;
    }
  }
  for (int i = 0; i < p->rows.n_shown; i++) {
    print_row(p, i, (int)width + 1);
  }
  return CT_OK;
}

/* Number s of the slices, with its coordinate as a title: "(_,_,1,0)". */
static CtStatus print_slice(Printer *p, int64_t s) {
  int64_t base = 0;
  int rank = ct_layout_rank(p->t->layout);
  ct_text_puts(p->out, rank > 2 ? "\n(_,_" : "");
  for (int mode = 2; mode < rank; mode++) {
    int64_t n = mode_size(p->t->layout, mode), c = s % n;
    s /= n;
    CtStatus status = mode_index(p, mode, c, &base);
    if (status != CT_OK) {
      return status;
    }
    ct_text_printf(p->out, ",%" PRId64, c);
  }
  ct_text_puts(p->out, rank > 2 ? ")" : "");
  return print_matrix(p, base);
}

static CtStatus print_elements(Printer *p) {
  CtLayout l = p->t->layout;
  int rank = ct_layout_rank(l);
  int64_t n_slices = 1;
  p->rows = make_axis(rank == 1 ? 1 : mode_size(l, 0), MAX_ROWS);
  p->cols = make_axis(mode_size(l, rank == 1 ? 0 : 1), MAX_COLS);
  for (int mode = 2; mode < rank; mode++) {
    n_slices *= mode_size(l, mode);
  }
  if (p->rows.n * p->cols.n == 0) {
    return CT_OK;
  }
  Axis slices = make_axis(n_slices, MAX_SLICES);
  for (int i = 0; i < slices.n_shown; i++) {
    ct_text_puts(p->out, is_elided_at(&slices, i) ? "\n..." : "");
    CtStatus status = print_slice(p, axis_at(&slices, i));
    if (status != CT_OK) {
      return status;
    }
  }
  return CT_OK;
}

static void print_place(const CtCx *cx, const Tensor *t, CtText *out) {
  static const char *const spaces[] = {[CT_GLOBAL] = "global memory",
                                       [CT_SHARED] = "shared memory",
                                       [CT_REGISTER] = "registers",
                                       [CT_TENSOR] = "tensor memory",
                                       [CT_CONSTANT] = "constant memory"};
  if (t->at != NULL) {
    ct_text_puts(out, " from ");
    ct_tuple_print(cx, t->at, out);
  } else if (t->in_kernel) {
    ct_text_printf(out, " in %s", spaces[t->space]);
  } else if (t->storage != NULL && t->storage->device != NULL) {
    ct_text_printf(out, " on cuda:%d", ct_device_info(t->storage->device)->ordinal);
  } else {
    ct_text_puts(out, t->is_closed ? ", closed" : " on cpu");
  }
}

CtStatus tensor_print(const CtCx *cx, const Tensor *t, CtText *out, CtErr *err) {
  Printer p = {.cx = cx, .t = t, .out = out, .err = err};
  ct_text_puts(out, "tensor ");
  if (t->name != NULL) {
    ct_text_printf(out, "%s ", t->name);
  }
  ct_text_printf(out, "%s ", t->at != NULL ? "of coordinates" : ct_dtypes[t->dtype].name);
  CtComposed l = tensor_layout(t);
  ct_composed_print(cx, &l, out);
  print_place(cx, t, out);
  if (t->in_kernel || t->storage == NULL) {
    return CT_OK;
  }
  return print_elements(&p);
}
