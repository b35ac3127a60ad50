/* composed_compose.c: swizzles and layouts one after the other.

   A plain layout A after a swizzle, A(Sw(x)), is Sw'(A(x)) if A only moves bits. We flatten A to
   modes of extents and strides; each mode contributes the bits of a range to the index. If these
   ranges do not overlap, the sum is an xor. If, in addition, each bit of Sw's fields is one bit of
   a contribution, Sw' swaps these bits instead. Sw' must be a swizzle again: the bits of each field
   must stay one run. Everything else is refused.

   Only coordinates that occur count: those below `end`, and their images under Sw. A pair of bits
   is idle if no such coordinate has its upper bit. Idle pairs move as the others do if their images
   stay idle, so that the form is CuTe's; otherwise they are left out. */
#include <inttypes.h>

#include "layout_algebra.h"

/* --- a swizzle through a layout ---------------------------------------------------------------- */

typedef struct Through {
  CtAlg *g;
  CtLayout a;
  CtSwizzle sw;
  int64_t end;    /* coordinates are below this, before the swizzle */
  int needed;     /* their bits */
  int reach;      /* bits after the swizzle: the bits of a's argument */
  int width;      /* those, and the fields that no coordinate reaches */
  CtFlat flat;    /* of a */
  uint64_t taken; /* bits of the index that earlier modes contribute to */
  uint64_t y, z;  /* fields of the new swizzle so far */
  uint64_t idle;  /* the bits of y that come from bits beyond `needed` */
  bool in_order;  /* each field's bits keep their order */
} Through;

static void fail_through(const Through *t, const char *why) {
  al_fail(t->g, CT_EINVAL,
          "composition: Sw<%d,%d,%d> cannot move in front of %s, %s; expected a layout that maps "
          "the swizzled bits to bits",
          t->sw.bits, t->sw.base, t->sw.shift, al_show_layout(t->g, t->a), why);
}

static int bit_length(uint64_t x) { return x == 0 ? 0 : 64 - __builtin_clzll(x); }

/* Says what the modes overlap with: each other, or only beyond the layout, where its last mode
   continues. */
static void fail_overlap(const Through *t) {
  CtAlg trial = al_trial(t->g);
  CtInt n = al_size(&trial, t->a);
  if (!al_ok(&trial) || t->end <= n.v) {
    fail_through(t, "whose modes overlap in the bits of the index");
    return;
  }
  al_fail(t->g, CT_EINVAL,
          "composition: Sw<%d,%d,%d> cannot move in front of %s: the swizzled layout reaches "
          "coordinate %" PRId64 ", beyond its %" PRId64 ", where its modes overlap in the bits of "
          "the index; expected one within",
          t->sw.bits, t->sw.base, t->sw.shift, al_show_layout(t->g, t->a), t->end - 1, n.v);
}

/* Takes the bits that n steps of `stride` reach. None of them may be taken yet. */
static void take_bits(Through *t, int64_t n, int64_t stride) {
  int64_t reach;
  if (n <= 1 || stride == 0) {
    return;
  }
  if (stride < 0 || ct_mul_overflow(n - 1, stride, &reach)) {
    fail_through(t, "whose strides are negative or reach beyond 64 bits");
    return;
  }
  uint64_t low = ((uint64_t)stride & (0 - (uint64_t)stride)) - 1;
  uint64_t bits = (((uint64_t)1 << bit_length((uint64_t)reach)) - 1) & ~low;
  if ((t->taken & bits) != 0) {
    fail_overlap(t);
  }
  t->taken |= bits;
}

/* Adds the image of coordinate bit k, which is stride << (k - begin), to a field. */
static void move_bit(Through *t, uint64_t *moved, int64_t stride, int places) {
  uint64_t d = (uint64_t)stride;
  if (stride <= 0 || (d & (d - 1)) != 0 || bit_length(d) + places > 63) {
    fail_through(t, "where a swizzled bit is not a single bit of the index");
    return;
  }
  t->in_order = t->in_order && (d << places) > *moved;
  *moved |= d << places;
}

/* Moves the bits of both fields that lie in the mode of coordinate bits begin .. end - 1. */
static void move_mode(Through *t, int64_t stride, int begin, int end) {
  uint64_t y = ct_swizzle_y(t->sw), z = ct_swizzle_z(t->sw);
  for (int k = begin; al_ok(t->g) && k < end; k++) {
    uint64_t before = t->y;
    if ((y >> k & 1) != 0) {
      move_bit(t, &t->y, stride, k - begin);
    }
    t->idle |= k >= t->needed ? t->y & ~before : 0;
    if ((z >> k & 1) != 0) {
      move_bit(t, &t->z, stride, k - begin);
    }
  }
}

/* The number of the n steps, in the mode of coordinate bits from `begin` on, that coordinates
   make. */
static int64_t made_steps(const Through *t, int64_t n, int begin) {
  int bits = t->reach > begin ? t->reach - begin : 0;
  return bits < 63 ? ct_min(n, (int64_t)1 << bits) : n;
}

/* Goes over the modes from left to right; `begin` is the first coordinate bit of the next one. */
static void through_modes(Through *t) {
  int top = bit_length(ct_swizzle_y(t->sw) | ct_swizzle_z(t->sw)), begin = 0;
  for (int i = 0; al_ok(t->g) && i < t->flat.n && begin < t->width; i++) {
    CtFlatMode m = t->flat.mode[i];
    bool last = i == t->flat.n - 1;
    int64_t n = last ? (int64_t)1 << (t->width - begin) : m.shape.v;
    bool whole_bits = n > 0 && (n & (n - 1)) == 0;
    int end = whole_bits ? begin + bit_length((uint64_t)n) - 1 : t->width;
    if (!whole_bits && (begin < top || n == 0)) {
      fail_through(t, "whose extents are not powers of 2");
      return;
    }
    take_bits(t, made_steps(t, n, begin), m.stride.v);
    move_mode(t, m.stride.v, begin, end);
    begin = whole_bits ? end : begin; /* above the fields only whether modes overlap matters */
  }
}

/* The bits of y that coordinates of `needed` bits have, and the bits that they change. */
static uint64_t live_y(CtSwizzle sw, int needed) {
  return needed < 64 ? ct_swizzle_y(sw) & (((uint64_t)1 << needed) - 1) : ct_swizzle_y(sw);
}

static uint64_t live_z(CtSwizzle sw, int needed) {
  uint64_t y = live_y(sw, needed);
  return sw.shift > 0 ? y >> sw.shift : y << -sw.shift;
}

/* Moves all of sw to the front of a, for coordinates below `end`. */
static CtSwizzle move_whole(CtAlg *g, CtLayout a, CtSwizzle sw, int64_t end) {
  int top = bit_length(ct_swizzle_y(sw) | ct_swizzle_z(sw)), needed = bit_length((uint64_t)end - 1);
  Through t = {.g = g, .a = a, .sw = sw, .end = end, .needed = needed, .in_order = true};
  int changed = bit_length(live_z(sw, needed));
  CtAlg trial = al_trial(g);
  t.reach = changed > needed ? changed : needed;
  t.width = top > t.reach ? top : t.reach;
  ct_flat_init(&t.flat, g);
  ct_flat_push_layout(&t.flat, a, true);
  if (al_ok(g) && !ct_layout_is_static(a)) {
    fail_through(&t, "which has run-time extents or strides");
  }
  through_modes(&t);
  CtSwizzle moved = al_swizzle_masks(&trial, (int64_t)t.y, (int64_t)t.z);
  if (al_ok(g) && (!t.in_order || (t.idle & t.taken) != 0 || !al_ok(&trial))) {
    fail_through(&t, "which separates the swizzled bits");
  }
  return moved;
}

/* For coordinates below `end`, a after sw equals the result after a. */
static CtSwizzle move_through(CtAlg *g, CtLayout a, CtSwizzle sw, int64_t end) {
  int needed = bit_length((uint64_t)end - 1);
  uint64_t y = live_y(sw, needed), z = live_z(sw, needed);
  CtAlg whole = *g, trial = al_trial(g);
  CtSwizzle moved = sw.bits == 0 || !al_ok(g) ? sw : move_whole(&whole, a, sw, end);
  if (al_ok(&whole) || whole.status == CT_ENOMEM || y == ct_swizzle_y(sw)) {
    *g = whole;
    return moved;
  }
  if (y == 0) { /* it changes nothing here */
    return (CtSwizzle){0};
  }
  CtSwizzle live = al_swizzle_masks(&trial, (int64_t)y, (int64_t)z);
  if (!al_ok(&trial)) {
    *g = whole;
    return moved;
  }
  return move_whole(g, a, live, end);
}

/* --- composition ------------------------------------------------------------------------------- */

CtComposed al_swizzled(CtAlg *g, CtSwizzle sw, CtComposed c) {
  return al_composed(g, c.is_swizzled ? al_swizzle_join(g, sw, c.swizzle) : sw, c.offset, c.layout);
}

/* Moves the offset of b through a to the front. a must be one mode, because more modes may
   carry. */
static CtInt offset_through(CtAlg *g, CtLayout a, CtInt offset) {
  CtFlat flat;
  if (ct_is_const(offset, 0)) {
    return offset;
  }
  ct_flat_init(&flat, g);
  ct_flat_push_layout(&flat, a, true);
  if (flat.n != 1) {
    al_fail(g, CT_EINVAL,
            "composition: offset %s cannot move in front of %s; expected offset 0, or a layout of "
            "one mode",
            al_show_int(g, offset), al_show_layout(g, a));
  }
  return al_ok(g) ? al_mul(g, offset, flat.mode[0].stride) : offset;
}

static bool has_negative(CtTuple stride) {
  for (CtLeaves w = ct_leaves_of(stride); ct_next_leaf(&w);) {
    if (w.shape->i.kind == CT_STATIC && w.shape->i.v < 0) {
      return true;
    }
  }
  return false;
}

/* One past the largest coordinate that the inner layout and the offset of b give. */
static int64_t static_end(CtAlg *g, CtComposed b) {
  CtInt n = al_add(g, al_plain_cosize(g, b.layout), b.offset);
  int64_t end = ct_int_facts(&g->cx, n).hi;
  if (end >= INT64_MAX / 2 || ct_int_facts(&g->cx, b.offset).lo < 0 ||
      has_negative(b.layout.stride)) {
    al_fail(g, CT_EUNSUPPORTED,
            "composition: the indices of %s are not known to be within bounds; use static extents "
            "and no negative strides",
            al_show_composed(g, b));
  }
  return ct_max(end, 1);
}

/* The plain layout a after the swizzled b. */
static CtComposed compose_plain(CtAlg *g, CtLayout a, CtComposed b) {
  int64_t end = static_end(g, b);
  CtSwizzle sw = move_through(g, a, b.swizzle, end);
  CtInt offset = offset_through(g, a, b.offset);
  return al_composed(g, sw, offset, al_plain_compose(g, a, b.layout));
}

CtComposed al_compose(CtAlg *g, CtComposed a, CtComposed b) {
  if (!b.is_swizzled) {
    return ct_composed_with(&a, al_plain_compose(g, a.layout, b.layout));
  }
  CtComposed r = compose_plain(g, a.layout, b);
  if (!al_ok(g) || !a.is_swizzled) {
    return r;
  }
  if (!ct_is_const(a.offset, 0) && r.swizzle.bits > 0) {
    al_fail(g, CT_EINVAL,
            "composition: the offset of %s lies between two swizzles; expected offset 0",
            al_show_composed(g, a));
  }
  r.offset = al_add(g, a.offset, r.offset);
  return al_swizzled(g, a.swizzle, r);
}

/* --- inverses ----------------------------------------------------------------------------------- */

/* The largest n' <= n such that the swizzle maps 0..n'-1 to itself, as far as whole blocks can
   show. */
static int64_t closed_prefix(CtSwizzle sw, int64_t n) {
  uint64_t lowest_y = ct_swizzle_y(sw) & (0 - ct_swizzle_y(sw));
  if (sw.bits == 0 || (uint64_t)n <= lowest_y) {
    return n;
  }
  uint64_t block = (uint64_t)1 << bit_length(ct_swizzle_z(sw));
  uint64_t whole = (uint64_t)n / block * block;
  return (int64_t)(whole > 0 ? whole : lowest_y);
}

/* inner, the inverse of c's layout, after c's swizzle, on 0 .. size(inner) - 1 */
static CtComposed invert(CtAlg *g, const char *op, CtComposed c, CtLayout inner, bool closed) {
  CtLeafLayout nodes;
  if (!al_ok(g) || !c.is_swizzled) {
    return ct_composed_plain(inner);
  }
  if (!ct_is_const(c.offset, 0)) {
    al_fail(g, CT_EINVAL, "%s: the offset of %s is not 0; expected a swizzle alone", op,
            al_show_composed(g, c));
    return c;
  }
  CtInt n = al_size(g, inner);
  if (ct_is_static(n) && closed) {
    n.v = closed_prefix(c.swizzle, n.v);
  }
  bool was_ok = al_ok(g);
  c.layout = ct_leaf_layout(&nodes, n, ct_int(1));
  CtComposed r = compose_plain(g, inner, c);
  if (was_ok && !al_ok(g)) {
    ct_err_prefix(g->err, "%s", op);
  }
  return r;
}

CtComposed al_right_inverse(CtAlg *g, CtComposed c) {
  return invert(g, "right_inverse", c, al_plain_right_inverse(g, c.layout), true);
}

CtComposed al_left_inverse(CtAlg *g, CtComposed c) {
  return invert(g, "left_inverse", c, al_plain_left_inverse(g, c.layout), false);
}

/* --- cosize -------------------------------------------------------------------------------------- */

/* The values without the swizzle are exactly 0..n-1, and the swizzle maps this range to itself. */
static bool is_whole_range(const CtAlg *g, CtComposed c, int64_t n) {
  CtAlg trial = al_trial(g);
  return ct_is_const(c.offset, 0) && closed_prefix(c.swizzle, n) == n &&
         ct_is_const(al_size(&trial, al_plain_right_inverse(&trial, c.layout)), n) && al_ok(&trial);
}

static int64_t listed_cosize(const CtComposed *c, int64_t size) {
  int64_t largest = -1;
  for (int64_t i = 0; i < size; i++) {
    largest = ct_max(largest, ct_composed_at(c, i));
  }
  return largest + 1;
}

CtInt al_cosize(CtAlg *g, CtComposed c) {
  CtInt n = al_plain_cosize(g, c.layout);
  if (!al_ok(g) || !c.is_swizzled) {
    return n;
  }
  CtInt size = al_size(g, c.layout);
  (void)al_add(g, c.offset, n); /* checks that no value overflows */
  if (!al_ok(g) || (ct_is_static(n) && is_whole_range(g, c, n.v))) {
    return n;
  }
  if (!ct_composed_is_static(&c) || size.v > CT_COSIZE_LISTED) {
    al_fail(g, CT_EUNSUPPORTED,
            "cosize: the largest value of %s cannot be determined; expected a "
            "static layout of at most %d elements, or one that reaches each index",
            al_show_composed(g, c), CT_COSIZE_LISTED);
    return n;
  }
  return ct_int(listed_cosize(&c, size.v));
}
