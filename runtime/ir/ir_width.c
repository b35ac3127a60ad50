/* ir_width.c: how many elements a thread takes at once, and why not more. */
#include "ir_build.h"

enum { MAX_VECTOR_BYTES = 16, ATOM_BYTES = 32, MAX_LEAVES = 32, MAX_PLANNED = 1 << 16 };

const char *const ct_width_whys[CT_WIDTH_WHY_COUNT] = {
#define X(name, text) text,
    CT_WIDTH_WHYS(X)
#undef X
};

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

/* a + b * n; the step after the last coordinate may leave 64 bits. */
static int64_t wrapping_add(int64_t a, int64_t b, int64_t n) {
  return (int64_t)((uint64_t)a + (uint64_t)b * (uint64_t)n);
}

/* Steps to the next coordinate; true when a digit with a dynamic stride changed. */
static bool walk_next(Walk *w) {
  bool jumped = false;
  for (int i = 0; i < w->n; i++) {
    jumped = jumped || w->div[i] != 0;
    w->index = wrapping_add(w->index, w->stride[i], 1);
    if (++w->digit[i] < w->extent[i]) {
      break;
    }
    w->index = wrapping_add(w->index, w->stride[i], -w->extent[i]);
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
  int64_t bits = ct_dtype_pitch(buf->dtype);
  int64_t div = ct_ir_facts(ir, v.offset).div;
  int64_t align = ct_min(buf->align, ct_buf_is_swizzled(buf) ? MAX_VECTOR_BYTES : ATOM_BYTES);
  if (ct_buf_is_swizzled(buf) && buf->swizzle.base < 4) { /* more bits would not matter */
    align = ct_min(align, ct_max((bits << buf->swizzle.base) / 8, 1));
  }
  while (align > ct_max(bits / 8, 1) && div != 0 && (div % (8 * align / bits)) != 0) {
    align /= 2;
  }
  return (size_t)align;
}

/* Registers can be packed in any
   order, so only a side in memory limits the width. */
CtWidthWhy ct_tile_refuse(CtIr *ir, CtView v, int64_t size, int64_t vec) {
  const CtBuf *buf = &ir->bufs[v.buf];
  size_t bytes = ct_dense_bytes(buf->dtype, (size_t)vec);
  if (!guard_allows(ir, &v, size, vec)) {
    return CT_WIDTH_GUARD;
  }
  if (buf->space == CT_REGISTER) {
    return CT_WIDTH_WIDEST;
  }
  CtWidthWhy why = refuse_layout(ir, v.layout, size, vec);
  if (why == CT_WIDTH_WIDEST && ct_ir_view_align(ir, v) < bytes) {
    bool swizzled =
        ct_buf_is_swizzled(buf) &&
        (bytes > MAX_VECTOR_BYTES || (buf->swizzle.base < 4 && vec >> buf->swizzle.base > 1));
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

CtWidth ct_tile_copy_width(CtIr *ir, CtView src, CtView dst, CtInt size) {
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
                    (int64_t)ct_dense_count(to->dtype, MAX_VECTOR_BYTES));
}

CtWidth ct_tile_row_width(CtIr *ir, CtView v, uint8_t of) {
  CtCx cx = {0}; /* the shape is static */
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
                    (int64_t)ct_dense_count(buf->dtype, MAX_VECTOR_BYTES));
}

void ct_tile_limit_width(CtIr *ir, CtView pred, CtInt size, CtWidth *w) {
  while (w->vec > 1 && !is_constant_of(ir, pred.layout, size.v, w->vec)) {
    *w = (CtWidth){w->vec / 2, CT_WIDTH_PREDICATE, 2};
  }
}
