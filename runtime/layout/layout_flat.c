/* layout_flat.c: coalescing lists of modes; texts for messages. */
#include "layout_flat.h"

#include <string.h>

enum { SHOWN_BYTES = 200 };

void ct_flat_init(CtFlat *f) {
  f->mode = f->inline_modes;
  f->n = 0;
  f->cap = CT_FLAT_INLINE;
  f->has_names = false;
}

static CtStatus grow(CtFlat *f, const CtCx *cx, CtErr *err) {
  CtFlatMode *modes = ct_arena_alloc(cx->arena, 2 * (size_t)f->cap * sizeof *modes);
  if (modes == NULL) {
    return ct_fail_nomem(err);
  }
  memcpy(modes, f->mode, (size_t)f->n * sizeof *modes);
  f->mode = modes;
  f->cap *= 2;
  return CT_OK;
}

static bool same_basis(CtInt a, CtInt b) {
  return a.basis_depth == b.basis_depth && memcmp(a.basis, b.basis, a.basis_depth) == 0;
}

/* Is shape * stride == next? With dynamic operands only where no product has to be computed. */
static bool continues(CtInt shape, CtInt stride, CtInt next) {
  int64_t end;
  if (shape.kind == CT_STATIC && stride.kind == CT_STATIC && next.kind == CT_STATIC) {
    return same_basis(stride, next) && !ct_mul_overflow(shape.v, stride.v, &end) && end == next.v;
  }
  return (ct_is_const(stride, 1) && ct_int_equal(shape, next)) ||
         (ct_is_const(stride, 0) && ct_is_const(next, 0));
}

CtStatus ct_flat_push_named(CtFlat *f, const CtCx *cx, CtModeName name, CtInt shape, CtInt stride,
                            CtErr *err) {
  f->has_names = f->has_names || name != 0;
  if (ct_is_const(shape, 1)) {
    return CT_OK;
  }
  if (f->n > 0) {
    CtFlatMode *last = &f->mode[f->n - 1];
    if (continues(last->shape, last->stride, stride)) {
      last->name = last->name == name ? name : 0;
      return ct_int_op(cx, CT_INT_MUL, last->shape, shape, &last->shape, err);
    }
  }
  if (f->n == f->cap) {
    CtStatus st = grow(f, cx, err);
    if (st != CT_OK) {
      return st;
    }
  }
  f->mode[f->n++] = (CtFlatMode){shape, stride, name};
  return CT_OK;
}

CtStatus ct_flat_push_layout(CtFlat *f, const CtCx *cx, CtLayout l, bool unbounded, CtErr *err) {
  uint32_t len = l.shape->len;
  for (uint32_t i = 0; i < len; i++) {
    if (ct_is_leaf(&l.shape[i])) {
      CtInt s = l.shape[i].i;
      if (unbounded && i == len - 1 && ct_is_const(s, 1)) {
        s = ct_int(2);
      }
      CtStatus st = ct_flat_push_named(f, cx, l.shape[i].name, s, l.stride[i].i, err);
      if (st != CT_OK) {
        return st;
      }
    }
  }
  return CT_OK;
}

CtStatus ct_flat_push_filtered(CtFlat *f, const CtCx *cx, CtLayout l, CtErr *err) {
  for (uint32_t i = 0; i < l.shape->len; i++) {
    if (ct_is_leaf(&l.shape[i]) && !ct_is_const(l.stride[i].i, 0)) {
      CtStatus st = ct_flat_push_named(f, cx, l.shape[i].name, l.shape[i].i, l.stride[i].i, err);
      if (st != CT_OK) {
        return st;
      }
    }
  }
  return CT_OK;
}

void ct_flat_emit(const CtFlat *f, CtBuild *b, CtModeName name) {
  if (f->n == 0) {
    ct_build_leaf_named(b, name, ct_int(1), ct_int(0));
    return;
  }
  if (f->n > 1) {
    ct_build_open_named(b, name);
  }
  for (int i = 0; i < f->n; i++) {
    const CtFlatMode *m = &f->mode[i];
    ct_build_leaf_named(b, m->name != 0 ? m->name : name, m->shape, m->stride);
  }
  if (f->n > 1) {
    ct_build_close(b);
  }
}

CtStatus ct_flat_finish(const CtFlat *f, const CtCx *cx, const char *op, CtLayout *out,
                        CtErr *err) {
  CtBuild b;
  ct_build_init_layout(&b, cx, op, err);
  ct_flat_emit(f, &b, 0);
  return ct_build_finish_layout(&b, out);
}

CtStatus ct_build_finish_layout(CtBuild *b, CtLayout *out) {
  return ct_build_finish(b, &out->shape, &out->stride);
}

const char *ct_keep_text(const CtCx *cx, CtText *t) {
  size_t n = t->len < SHOWN_BYTES ? t->len : SHOWN_BYTES;
  char *s = ct_arena_alloc(cx->arena, n + 4);
  if (s != NULL) {
    memcpy(s, ct_text_str(t), n);
    memcpy(s + n, t->len > n ? "..." : "", t->len > n ? 4 : 1);
  }
  ct_text_clear(t);
  return s == NULL ? "?" : s;
}

const char *ct_show_int(const CtCx *cx, CtInt i) {
  CtText t;
  ct_text_init(&t, cx->arena->alloc);
  ct_int_print(cx, i, &t);
  return ct_keep_text(cx, &t);
}

const char *ct_show_tuple(const CtCx *cx, CtTuple tuple) {
  CtText t;
  ct_text_init(&t, cx->arena->alloc);
  ct_tuple_print(cx, tuple, &t);
  return ct_keep_text(cx, &t);
}

const char *ct_show_layout(const CtCx *cx, CtLayout l) {
  CtText t;
  ct_text_init(&t, cx->arena->alloc);
  ct_layout_print(cx, l, &t);
  return ct_keep_text(cx, &t);
}

const char *ct_show_tiler(const CtCx *cx, CtTiler tiler) {
  CtText t;
  ct_text_init(&t, cx->arena->alloc);
  ct_tiler_print(cx, tiler, &t);
  return ct_keep_text(cx, &t);
}
