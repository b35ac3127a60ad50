/* composed_compose.c: swizzles and layouts one after the other.

   A plain layout A after a swizzle, A(Sw(x)), is Sw'(A(x)) where A only moves bits about. A is
   flattened to modes of extents and strides; what each contributes to the index are bits of a range.
   If these ranges do not overlap, the sum is an xor; and if besides each bit of Sw's fields is one bit
   of a contribution, Sw' swaps these bits instead. Sw' must be a swizzle again: the bits of each field
   stay one run. Everything else is refused.

   Only coordinates that occur count: those below `end`, and what Sw makes of them. Pairs of bits whose
   upper bit none of them has are idle: they move as the others do, so that the form is CuTe's, if their
   images stay idle; else they are left out. */
#include <inttypes.h>

#include "composed.h"
#include "layout_flat.h"

/* --- a swizzle through a layout ---------------------------------------------------------------- */

typedef struct Through {
  const CtCx *cx;
  CtErr *err;
  CtLayout a;
  CtSwizzle sw;
  int64_t end;    /* coordinates are below, before the swizzle */
  int needed;     /* their bits */
  int reach;      /* bits after the swizzle: what a is given */
  int width;      /* those and the fields that no coordinate reaches */
  CtFlat flat;    /* of a */
  uint64_t taken; /* bits of the index that a mode before contributes to */
  uint64_t y, z;  /* fields of the new swizzle, so far */
  uint64_t idle;  /* those bits of y that come of bits beyond `needed` */
  bool in_order;  /* each field's bits keep their order */
} Through;

static CtStatus fail_through(const Through *t, const char *why) {
  return ct_fail(t->err, CT_EINVAL,
                 "composition: Sw<%d,%d,%d> cannot move in front of %s, %s; expected a layout that "
                 "maps the swizzled bits to bits",
                 t->sw.bits, t->sw.base, t->sw.shift, ct_show_layout(t->cx, t->a), why);
}

static int bit_length(uint64_t x) { return x == 0 ? 0 : 64 - __builtin_clzll(x); }

/* What the modes overlap with: each other, or only beyond the layout, where its last mode runs on. */
static CtStatus fail_overlap(const Through *t) {
  CtInt n;
  if (ct_size(t->cx, t->a, &n, NULL) != CT_OK || t->end <= n.v) {
    return fail_through(t, "whose modes overlap in the bits of the index");
  }
  return ct_fail(
      t->err, CT_EINVAL,
      "composition: Sw<%d,%d,%d> cannot move in front of %s: the swizzled layout reaches "
      "coordinate %" PRId64 ", beyond its %" PRId64 ", where its modes overlap in the bits "
      "of the index; expected one within",
      t->sw.bits, t->sw.base, t->sw.shift, ct_show_layout(t->cx, t->a), t->end - 1, n.v);
}

/* The bits that n steps of `stride` reach, none of them taken yet. */
static CtStatus take_bits(Through *t, int64_t n, int64_t stride) {
  int64_t reach;
  if (n <= 1 || stride == 0) {
    return CT_OK;
  }
  if (stride < 0 || ct_mul_overflow(n - 1, stride, &reach)) {
    return fail_through(t, "whose strides are negative or reach beyond 64 bits");
  }
  uint64_t low = ((uint64_t)stride & (0 - (uint64_t)stride)) - 1;
  uint64_t bits = (((uint64_t)1 << bit_length((uint64_t)reach)) - 1) & ~low;
  if ((t->taken & bits) != 0) {
    return fail_overlap(t);
  }
  t->taken |= bits;
  return CT_OK;
}

/* Adds the image of coordinate bit k, which is stride << (k - begin), to a field. */
static CtStatus move_bit(Through *t, uint64_t *moved, int64_t stride, int places) {
  uint64_t d = (uint64_t)stride;
  if (stride <= 0 || (d & (d - 1)) != 0 || bit_length(d) + places > 63) {
    return fail_through(t, "where a swizzled bit is no single bit of the index");
  }
  t->in_order = t->in_order && (d << places) > *moved;
  *moved |= d << places;
  return CT_OK;
}

/* The bits of both fields that lie in the mode of coordinate bits begin .. end - 1. */
static CtStatus move_mode(Through *t, int64_t stride, int begin, int end) {
  uint64_t y = ct_swizzle_y(t->sw), z = ct_swizzle_z(t->sw);
  CtStatus st = CT_OK;
  for (int k = begin; st == CT_OK && k < end; k++) {
    uint64_t before = t->y;
    if ((y >> k & 1) != 0) {
      st = move_bit(t, &t->y, stride, k - begin);
    }
    t->idle |= k >= t->needed ? t->y & ~before : 0;
    if (st == CT_OK && (z >> k & 1) != 0) {
      st = move_bit(t, &t->z, stride, k - begin);
    }
  }
  return st;
}

/* Of n steps in the mode of coordinate bits from `begin` on, those that coordinates make. */
static int64_t made_steps(const Through *t, int64_t n, int begin) {
  int bits = t->reach > begin ? t->reach - begin : 0;
  return bits < 63 ? ct_min(n, (int64_t)1 << bits) : n;
}

/* Goes over the modes from left to right; *begin is the first coordinate bit of the next one. */
static CtStatus through_modes(Through *t) {
  int top = bit_length(ct_swizzle_y(t->sw) | ct_swizzle_z(t->sw)), begin = 0;
  CtStatus st = CT_OK;
  for (int i = 0; st == CT_OK && i < t->flat.n && begin < t->width; i++) {
    CtFlatMode m = t->flat.mode[i];
    bool last = i == t->flat.n - 1;
    int64_t n = last ? (int64_t)1 << (t->width - begin) : m.shape.v;
    bool whole_bits = n > 0 && (n & (n - 1)) == 0;
    int end = whole_bits ? begin + bit_length((uint64_t)n) - 1 : t->width;
    if (!whole_bits && (begin < top || n == 0)) {
      return fail_through(t, "whose extents are no powers of 2");
    }
    st = take_bits(t, made_steps(t, n, begin), m.stride.v);
    if (st == CT_OK) {
      st = move_mode(t, m.stride.v, begin, end);
    }
    begin = whole_bits ? end : begin; /* above the fields only whether modes overlap matters */
  }
  return st;
}

/* Which bits of y some coordinate of so many bits has, and the bits that they change. */
static uint64_t live_y(CtSwizzle sw, int needed) {
  return needed < 64 ? ct_swizzle_y(sw) & (((uint64_t)1 << needed) - 1) : ct_swizzle_y(sw);
}

static uint64_t live_z(CtSwizzle sw, int needed) {
  uint64_t y = live_y(sw, needed);
  return sw.shift > 0 ? y >> sw.shift : y << -sw.shift;
}

/* All of sw in front of a, for coordinates below `end`. */
static CtStatus move_whole(const CtCx *cx, CtLayout a, CtSwizzle sw, int64_t end, CtSwizzle *out,
                           CtErr *err) {
  int top = bit_length(ct_swizzle_y(sw) | ct_swizzle_z(sw)), needed = bit_length((uint64_t)end - 1);
  Through t = {
      .cx = cx, .err = err, .a = a, .sw = sw, .end = end, .needed = needed, .in_order = true};
  int changed = bit_length(live_z(sw, needed));
  t.reach = changed > needed ? changed : needed;
  t.width = top > t.reach ? top : t.reach;
  ct_flat_init(&t.flat);
  CtStatus st = ct_flat_push_layout(&t.flat, cx, a, true, err);
  if (st == CT_OK && !ct_layout_is_static(a)) {
    st = fail_through(&t, "which has run-time extents or strides");
  }
  if (st == CT_OK) {
    st = through_modes(&t);
  }
  bool apart = !t.in_order || (t.idle & t.taken) != 0;
  if (st == CT_OK &&
      (apart || ct_swizzle_from_masks((int64_t)t.y, (int64_t)t.z, out, NULL) != CT_OK)) {
    st = fail_through(&t, "which takes the swizzled bits apart");
  }
  return st;
}

/* a after sw, for coordinates below `end`: *out after a. */
static CtStatus move_through(const CtCx *cx, CtLayout a, CtSwizzle sw, int64_t end, CtSwizzle *out,
                             CtErr *err) {
  int needed = bit_length((uint64_t)end - 1);
  uint64_t y = live_y(sw, needed), z = live_z(sw, needed);
  CtSwizzle live = {0};
  if (sw.bits == 0) {
    *out = sw;
    return CT_OK;
  }
  CtStatus st = move_whole(cx, a, sw, end, out, err);
  if (st == CT_OK || y == ct_swizzle_y(sw) || st == CT_ENOMEM) {
    return st;
  }
  if (y == 0) { /* it changes nothing here */
    *out = live;
    return CT_OK;
  }
  return ct_swizzle_from_masks((int64_t)y, (int64_t)z, &live, NULL) == CT_OK
             ? move_whole(cx, a, live, end, out, err)
             : st;
}

/* --- composition ------------------------------------------------------------------------------- */

CtStatus ct_composed_swizzle(const CtCx *cx, CtSwizzle sw, const CtComposed *c, CtComposed *out,
                             CtErr *err) {
  if (c->is_swizzled) {
    CtStatus st = ct_swizzle_compose(sw, c->swizzle, &sw, err);
    if (st != CT_OK) {
      return st;
    }
  }
  return ct_composed_make(cx, sw, c->offset, c->layout, out, err);
}

/* The offset of b moved to the front, through a: only where a is one mode, as others may carry. */
static CtStatus offset_through(const CtCx *cx, CtLayout a, CtInt offset, CtInt *out, CtErr *err) {
  CtFlat flat;
  if (ct_is_const(offset, 0)) {
    *out = offset;
    return CT_OK;
  }
  ct_flat_init(&flat);
  CtStatus st = ct_flat_push_layout(&flat, cx, a, true, err);
  if (st == CT_OK && flat.n != 1) {
    st =
        ct_fail(err, CT_EINVAL,
                "composition: offset %s cannot move in front of %s; expected offset 0, or a layout "
                "of one mode",
                ct_show_int(cx, offset), ct_show_layout(cx, a));
  }
  return st == CT_OK ? ct_int_op(cx, CT_INT_MUL, offset, flat.mode[0].stride, out, err) : st;
}

static bool has_negative(CtTuple stride) {
  for (CtTuple p = stride; p != stride + stride->len; p++) {
    if (ct_is_leaf(p) && p->i.kind == CT_STATIC && p->i.v < 0) {
      return true;
    }
  }
  return false;
}

/* One past the coordinates that the inner layout and the offset of b give. */
static CtStatus static_end(const CtCx *cx, const CtComposed *b, int64_t *out, CtErr *err) {
  CtInt n;
  CtStatus st = ct_cosize(cx, b->layout, &n, err);
  if (st == CT_OK) {
    st = ct_int_op(cx, CT_INT_ADD, n, b->offset, &n, err);
  }
  if (st != CT_OK) {
    return st;
  }
  int64_t end = ct_int_facts(cx, n).hi;
  if (end >= INT64_MAX / 2 || ct_int_facts(cx, b->offset).lo < 0 ||
      has_negative(b->layout.stride)) {
    return ct_fail(err, CT_EUNSUPPORTED,
                   "composition: the indices of %s are not known to be within bounds; use static "
                   "extents and no negative strides",
                   ct_show_composed(cx, b));
  }
  *out = ct_max(end, 1);
  return CT_OK;
}

/* The plain layout a after the swizzled b. */
static CtStatus compose_plain(const CtCx *cx, CtLayout a, const CtComposed *b, CtComposed *out,
                              CtErr *err) {
  CtSwizzle sw;
  CtInt offset;
  CtLayout l;
  int64_t end = 1;
  CtStatus st = static_end(cx, b, &end, err);
  if (st == CT_OK) {
    st = move_through(cx, a, b->swizzle, end, &sw, err);
  }
  if (st == CT_OK) {
    st = offset_through(cx, a, b->offset, &offset, err);
  }
  if (st == CT_OK) {
    st = ct_compose(cx, a, b->layout, &l, err);
  }
  return st == CT_OK ? ct_composed_make(cx, sw, offset, l, out, err) : st;
}

CtStatus ct_composed_compose(const CtCx *cx, const CtComposed *a, const CtComposed *b,
                             CtComposed *out, CtErr *err) {
  CtComposed r;
  if (!b->is_swizzled) {
    r = *a;
    CtStatus st = ct_compose(cx, a->layout, b->layout, &r.layout, err);
    if (st == CT_OK) {
      *out = r;
    }
    return st;
  }
  CtStatus st = compose_plain(cx, a->layout, b, &r, err);
  if (st != CT_OK || !a->is_swizzled) {
    if (st == CT_OK) {
      *out = r;
    }
    return st;
  }
  if (!ct_is_const(a->offset, 0) && r.swizzle.bits > 0) {
    return ct_fail(err, CT_EINVAL,
                   "composition: the offset of %s lies between two swizzles; expected offset 0",
                   ct_show_composed(cx, a));
  }
  st = ct_int_op(cx, CT_INT_ADD, a->offset, r.offset, &r.offset, err);
  return st == CT_OK ? ct_composed_swizzle(cx, a->swizzle, &r, out, err) : st;
}

/* --- inverses ----------------------------------------------------------------------------------- */

typedef CtStatus (*Invert)(const CtCx *cx, CtLayout a, CtLayout *out, CtErr *err);

/* The largest n' <= n such that the swizzle keeps 0..n'-1 among themselves, as far as a whole number
   of blocks shows it. */
static int64_t closed_prefix(CtSwizzle sw, int64_t n) {
  uint64_t lowest_y = ct_swizzle_y(sw) & (0 - ct_swizzle_y(sw));
  if (sw.bits == 0 || (uint64_t)n <= lowest_y) {
    return n;
  }
  uint64_t block = (uint64_t)1 << bit_length(ct_swizzle_z(sw));
  uint64_t whole = (uint64_t)n / block * block;
  return (int64_t)(whole > 0 ? whole : lowest_y);
}

/* inverse(layout) after the swizzle, on 0 .. size(inverse) - 1 */
static CtStatus invert(const CtCx *cx, const char *op, const CtComposed *c, Invert inverse,
                       bool closed, CtComposed *out, CtErr *err) {
  CtLayout inner;
  CtLeafLayout nodes;
  CtInt n;
  CtStatus st = inverse(cx, c->layout, &inner, err);
  if (st != CT_OK || !c->is_swizzled) {
    if (st == CT_OK) {
      *out = ct_composed_plain(inner);
    }
    return st;
  }
  if (!ct_is_const(c->offset, 0)) {
    return ct_fail(err, CT_EINVAL, "%s: the offset of %s is not 0; expected a swizzle alone", op,
                   ct_show_composed(cx, c));
  }
  st = ct_size(cx, inner, &n, err);
  if (st == CT_OK && ct_is_static(n) && closed) {
    n.v = closed_prefix(c->swizzle, n.v);
  }
  if (st != CT_OK) {
    return st;
  }
  CtComposed domain = {.layout = ct_leaf_layout(&nodes, n, ct_int(1)),
                       .offset = ct_int(0),
                       .swizzle = c->swizzle,
                       .is_swizzled = true};
  st = compose_plain(cx, inner, &domain, out, err);
  if (st != CT_OK) {
    ct_err_prefix(err, "%s", op);
  }
  return st;
}

CtStatus ct_composed_right_inverse(const CtCx *cx, const CtComposed *c, CtComposed *out,
                                   CtErr *err) {
  return invert(cx, "right_inverse", c, ct_right_inverse, true, out, err);
}

CtStatus ct_composed_left_inverse(const CtCx *cx, const CtComposed *c, CtComposed *out,
                                  CtErr *err) {
  return invert(cx, "left_inverse", c, ct_left_inverse, false, out, err);
}

/* --- cosize -------------------------------------------------------------------------------------- */

/* The values without the swizzle are 0..n-1, each reached, and the swizzle keeps them so. */
static bool is_whole_range(const CtCx *cx, const CtComposed *c, int64_t n) {
  CtLayout inverse;
  CtInt size;
  return ct_is_const(c->offset, 0) && closed_prefix(c->swizzle, n) == n &&
         ct_right_inverse(cx, c->layout, &inverse, NULL) == CT_OK &&
         ct_size(cx, inverse, &size, NULL) == CT_OK && ct_is_const(size, n);
}

static int64_t listed_cosize(const CtComposed *c, int64_t size) {
  int64_t largest = -1;
  for (int64_t i = 0; i < size; i++) {
    largest = ct_max(largest, ct_composed_at(c, i));
  }
  return largest + 1;
}

CtStatus ct_composed_cosize(const CtCx *cx, const CtComposed *c, CtInt *out, CtErr *err) {
  CtInt n, size, end;
  CtStatus st = ct_cosize(cx, c->layout, &n, err);
  if (st != CT_OK || !c->is_swizzled) {
    if (st == CT_OK) {
      *out = n;
    }
    return st;
  }
  st = ct_size(cx, c->layout, &size, err);
  if (st == CT_OK) {
    st = ct_int_op(cx, CT_INT_ADD, c->offset, n, &end, err); /* no value overflows */
  }
  if (st != CT_OK) {
    return st;
  }
  if (ct_is_static(n) && is_whole_range(cx, c, n.v)) {
    *out = n;
    return CT_OK;
  }
  if (!ct_composed_is_static(c) || size.v > CT_COSIZE_LISTED) {
    return ct_fail(err, CT_EUNSUPPORTED,
                   "cosize: the largest value of %s cannot be told; expected a static layout of at "
                   "most %d elements, or one that reaches each index",
                   ct_show_composed(cx, c), CT_COSIZE_LISTED);
  }
  *out = ct_int(listed_cosize(c, size.v));
  return CT_OK;
}
