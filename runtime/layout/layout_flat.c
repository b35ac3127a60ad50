/* layout_flat.c: coalescing lists of modes; layouts that were built. */
#include <string.h>

#include "layout_algebra.h"

void ct_flat_init(CtFlat *f, CtAlg *g) {
  f->g = g;
  f->mode = f->inline_modes;
  f->n = 0;
  f->cap = CT_FLAT_INLINE;
  f->has_names = false;
}

static bool grow(CtFlat *f) {
  CtFlatMode *modes = al_alloc(f->g, 2 * (size_t)f->cap, sizeof *modes);
  if (modes != NULL) {
    memcpy(modes, f->mode, (size_t)f->n * sizeof *modes);
    f->mode = modes;
    f->cap *= 2;
  }
  return modes != NULL;
}

/* Is shape * stride == next? For dynamic operands only if no product has to be computed. */
static bool continues(CtInt shape, CtInt stride, CtInt next) {
  int64_t end;
  if (shape.kind == CT_STATIC && stride.kind == CT_STATIC && next.kind == CT_STATIC) {
    return ct_same_basis(stride, next) && !ct_mul_overflow(shape.v, stride.v, &end) &&
           end == next.v;
  }
  return (ct_is_const(stride, 1) && ct_int_equal(shape, next)) ||
         (ct_is_const(stride, 0) && ct_is_const(next, 0));
}

void ct_flat_push_named(CtFlat *f, CtModeName name, CtInt shape, CtInt stride) {
  f->has_names = f->has_names || name != 0;
  if (ct_is_const(shape, 1)) {
    return;
  }
  CtFlatMode *last = f->mode + (f->n > 0 ? f->n - 1 : 0);
  if (f->n > 0 && continues(last->shape, last->stride, stride)) {
    last->name = last->name == name ? name : 0;
    last->shape = al_mul(f->g, last->shape, shape);
  } else if (f->n < f->cap || grow(f)) {
    f->mode[f->n++] = (CtFlatMode){shape, stride, name};
  }
}

void ct_flat_push_layout(CtFlat *f, CtLayout l, bool endless) {
  for (CtLeaves w = ct_layout_leaves(l); ct_next_leaf(&w);) {
    bool stays = endless && w.at == l.shape->len - 1 && ct_is_const(w.shape->i, 1);
    ct_flat_push_named(f, w.shape->name, stays ? ct_int(2) : w.shape->i, w.stride->i);
  }
}

void ct_flat_push_filtered(CtFlat *f, CtLayout l) {
  for (CtLeaves w = ct_layout_leaves(l); ct_next_leaf(&w);) {
    if (!ct_is_const(w.stride->i, 0)) {
      ct_flat_push_named(f, w.shape->name, w.shape->i, w.stride->i);
    }
  }
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

CtLayout ct_flat_take(const CtFlat *f, const char *op) {
  CtBuild b;
  ct_build_init_layout(&b, f->g, op);
  ct_flat_emit(f, &b, 0);
  return ct_build_take_layout(&b);
}

CtLayout ct_build_take_layout(CtBuild *b) {
  CtLayout l = {ct_build_take(b, 0), ct_build_take(b, 1)};
  return al_ok(b->g) ? l : AL_NO_LAYOUT;
}
