/* emit_guard.c: the conditions of guarded views as C: one comparison for each axis, at the element
   (or vector) that the enclosing loops have reached. */
#include <string.h>

#include "emit_tile.h"

CtEmitOperand ct_emit_axis(const CtEmit *e, const CtView *view, const CtGuardAxis *axis) {
  CtEmitOperand op = {.buf = &e->ir->bufs[view->buf], .base = ""};
  op.index = ct_emit_split_offset(e->ir, axis->at, &op.plus);
  op.is_wide = ct_emit_is_far(ct_guard_layout(view, axis));
  return op;
}

static void put_bound(CtEmit *e, CtInt bound) {
  ct_text_puts(&e->body, " < ");
  if (bound.kind == CT_DYNAMIC) {
    ct_emit_expr(e, bound.id, CT_PREC_SHIFT);
  } else {
    ct_emit_int(e, bound.v == (int32_t)bound.v ? CT_i32 : CT_i64, bound.v);
  }
}

const char *ct_emit_and(CtEmit *e, const char *a, const char *b) {
  size_t mark = e->body.len;
  if (a == NULL || b == NULL) {
    return a == NULL ? b : a;
  }
  ct_text_printf(&e->body, "%s && %s", a, b);
  return ct_emit_cut(e, mark);
}

const char *ct_emit_below(CtEmit *e, const CtEmitOperand *at, CtInt bound) {
  size_t mark = e->body.len;
  ct_emit_coordinate(e, at);
  put_bound(e, bound);
  return ct_emit_cut(e, mark);
}

/* --- values that may be outside
   ------------------------------------------------------------------- */

static void put_zero_vector(CtEmit *e, const char *type) {
  size_t len = strlen(type);
  if (strncmp(type, "unsigned", 8) == 0) { /* one word */
    ct_text_puts(&e->body, "0");
    return;
  }
  ct_text_printf(&e->body, "make_%s(0", type);
  for (int i = type[len - 1] - '0'; i > 1; i--) {
    ct_text_puts(&e->body, ", 0");
  }
  ct_text_putc(&e->body, ')');
}

void ct_emit_value(CtEmit *e, const CtEmitOperand *op, bool widen) {
  CtDtype type = op->buf->dtype;
  if (op->when != NULL) {
    ct_text_printf(&e->body, "(%s ? ", op->when);
  }
  if (op->is_early && op->buf->cache == CT_CACHE_NONE) {
    ct_text_printf(&e->body, "%s(", ct_emit_help(e, CT_HELP_LOAD_EARLY));
    ct_emit_address(e, op);
    ct_text_putc(&e->body, ')');
  } else if (widen) {
    ct_emit_wide_element(e, op, 0);
  } else {
    ct_emit_read_element(e, op, 0);
  }
  if (op->when != NULL) { /* the stored bits of a 0 are 0 */
    bool is_number = ct_is_float(type) && (widen || ct_dtype_compute(type) == type);
    ct_text_puts(&e->body, " : ");
    if (is_number) {
      ct_emit_float(&e->body, ct_dtype_compute(type), 0);
    } else {
      ct_emit_int(e, CT_i32, 0);
    }
    ct_text_putc(&e->body, ')');
  }
}

void ct_emit_vector_value(CtEmit *e, const CtEmitOperand *op, int vec) {
  if (op->when == NULL) {
    ct_emit_vector(e, op, vec, true);
    return;
  }
  ct_text_printf(&e->body, "%s ? ", op->when);
  ct_emit_vector(e, op, vec, true);
  ct_text_puts(&e->body, " : ");
  put_zero_vector(e, ct_emit_vector_type(op->buf->dtype, vec));
}

void ct_emit_enter_when(CtEmitNest *nest, const char *when) {
  CtEmit *e = nest->e;
  if (when != NULL) {
    ct_emit_begin(e, nest->loc);
    ct_text_printf(&e->body, "if (%s) {", when);
    ct_emit_end(e);
    ct_emit_enter_scope(nest);
  }
}

const char *ct_emit_name_when(CtEmitNest *nest, const char *when) {
  CtEmit *e = nest->e;
  const char *name = ct_names_add(&e->names, "inside");
  ct_emit_begin(e, nest->loc);
  ct_text_printf(&e->body, "const bool %s = %s;", name, when);
  ct_emit_end(e);
  return name;
}
