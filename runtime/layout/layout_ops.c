/* layout_ops.c: the algebra on one layout: coalesce, filter, flatten, complement, inverses, and
   operations derived from them: common vectors, layouts like another. */
#include <string.h>

#include "layout_algebra.h"

/* --- coalesce, filter, flatten ----------------------------------------------------------------- */

static void check_profile(CtBuild *b, CtLayout a, CtTuple profile) {
  CtAlg *g = b->g;
  int rank = ct_layout_rank(a);
  if (profile->rank > rank) {
    al_fail(g, CT_EINVAL,
            "%s: profile %s has rank %d but %s has rank %d; write at most one entry per mode",
            b->op, al_show_tuple(g, profile), profile->rank, al_show_layout(g, a), rank);
  }
}

static void build_at_profile(CtBuild *b, CtLayout a, CtTuple profile, bool filter) {
  if (profile == NULL || ct_is_leaf(profile)) {
    CtFlat f;
    ct_flat_init(&f, b->g);
    if (filter) {
      ct_flat_push_filtered(&f, a);
    } else {
      ct_flat_push_layout(&f, a, false);
    }
    ct_flat_emit(&f, b, a.shape->name);
    return;
  }
  check_profile(b, a, profile);
  ct_build_open_named(b, ct_whole_name(a));
  for (int i = 0; al_ok(b->g) && i < ct_layout_rank(a); i++) {
    if (i < profile->rank) {
      build_at_profile(b, ct_mode(a, i), ct_child(profile, i), filter);
    } else {
      ct_build_layout(b, ct_mode(a, i));
    }
  }
  ct_build_close(b);
}

static CtLayout at_profile(CtAlg *g, const char *op, CtLayout a, CtTuple profile, bool filter) {
  CtBuild b;
  ct_build_init_layout(&b, g, op);
  if (al_ok(g)) {
    build_at_profile(&b, a, profile, filter);
  }
  return ct_build_take_layout(&b);
}

CtLayout al_coalesce(CtAlg *g, CtLayout a, CtTuple profile) {
  return at_profile(g, "coalesce", a, profile, false);
}

CtLayout al_filter(CtAlg *g, CtLayout a, CtTuple profile) {
  return at_profile(g, "filter", a, profile, true);
}

CtLayout al_flatten(CtAlg *g, CtLayout a) {
  CtBuild b;
  if (!al_ok(g) || ct_is_leaf(a.shape)) {
    return al_copy(g, a);
  }
  ct_build_init_layout(&b, g, "flatten");
  ct_build_open_named(&b, a.shape->name);
  for (CtLeaves w = ct_layout_leaves(a); ct_next_leaf(&w);) {
    ct_build_leaf_named(&b, w.shape->name, w.shape->i, w.stride->i);
  }
  ct_build_close(&b);
  return ct_build_take_layout(&b);
}

/* A copy of the shape with its names; extents whose stride is 0 become 1. */
static CtTuple filtered_shape(CtAlg *g, CtLayout a) {
  CtNode *nodes = al_nodes(g, a.shape);
  for (uint32_t i = 0; nodes != NULL && i < a.shape->len; i++) {
    nodes[i] = a.shape[i];
    if (ct_is_leaf(&nodes[i]) && ct_is_const(a.stride[i].i, 0)) {
      nodes[i].i = ct_int(1);
    }
  }
  return nodes;
}

CtLayout al_filter_zeros(CtAlg *g, CtLayout a) {
  return al_copy(g, (CtLayout){filtered_shape(g, a), a.stride});
}

/* --- complement -------------------------------------------------------------------------------- */

static void check_not_negative(CtAlg *g, const char *op, CtLayout a) {
  for (CtLeaves w = ct_layout_leaves(a); al_ok(g) && ct_next_leaf(&w);) {
    CtInt d = w.stride->i;
    if (ct_is_const(w.shape->i, 1)) {
      continue;
    }
    if (d.basis_depth > 0) {
      al_fail(g, CT_EINVAL,
              "%s: stride %s in layout %s is a basis element; strides must be numbers", op,
              al_show_int(g, d), al_show_layout(g, a));
    } else if (d.kind == CT_STATIC && d.v < 0) {
      al_fail(g, CT_EINVAL, "%s: stride %s in layout %s is negative; strides must be >= 0", op,
              al_show_int(g, d), al_show_layout(g, a));
    }
  }
}

typedef struct Complement {
  CtAlg *g;
  const char *op;
  CtLayout a;
  CtFlat flat;   /* of a, filtered; consumed in the order of strides */
  CtFlat result; /* the gaps between a's modes */
  CtInt end;     /* one past the last index that a and the result cover so far */
} Complement;

static void fail_order(const Complement *c, CtInt stride) {
  al_fail(c->g, CT_EUNSUPPORTED,
          "%s: cannot tell while tracing how stride %s in %s relates to the others; use static "
          "strides",
          c->op, al_show_int(c->g, stride), al_show_layout(c->g, c->a));
}

/* The first mode of the smallest stride; fails if run-time strides hide which mode that is. */
static int find_smallest(const Complement *c) {
  int best = 0;
  for (int i = 1; i < c->flat.n; i++) {
    CtInt d = c->flat.mode[i].stride, least = c->flat.mode[best].stride;
    if (al_le(c->g, least, d)) {
      continue;
    }
    if (!al_le(c->g, d, least)) {
      fail_order(c, d);
    }
    best = i;
  }
  return best;
}

/* Adds the gap before the mode s:d; cuts the quotient d / end, as CuTe does. */
static void add_gap(Complement *c, CtFlatMode m) {
  CtAlg *g = c->g;
  bool known = ct_is_static(m.stride) && ct_is_static(c->end);
  if (!known && !al_divides(g, c->end, m.stride)) {
    fail_order(c, m.stride);
  } else if (known && (c->end.v == 0 || m.stride.v / c->end.v == 0)) {
    al_fail(g, CT_EINVAL,
            "%s: the mode of stride %s in %s begins before the smaller strides end, at %s; modes "
            "must not overlap or interleave",
            c->op, al_show_int(g, m.stride), al_show_layout(g, c->a), al_show_int(g, c->end));
  }
  ct_flat_push(&c->result, al_div(g, m.stride, c->end), c->end);
  c->end = al_mul(g, m.stride, m.shape);
}

static void add_gaps(Complement *c) {
  while (c->flat.n > 0 && al_ok(c->g)) {
    int at = find_smallest(c);
    add_gap(c, c->flat.mode[at]);
    memmove(&c->flat.mode[at], &c->flat.mode[at + 1],
            (size_t)(c->flat.n - 1 - at) * sizeof *c->flat.mode);
    c->flat.n--;
  }
}

/* Divides the extents of cotarget by the size that a covers, from left to right. */
typedef struct Rest {
  CtInt divisor; /* the part of that size not divided by yet */
  CtInt stride;  /* of the next mode */
  CtInt before;  /* product of the extents so far */
  bool exact;    /* each extent so far was a multiple of the divisor: stride == before there */
} Rest;

/* Adds the mode ceil(extent / divisor). After exact divisions the next stride is the product of the
   extents themselves. That avoids run-time quotients that would be multiplied back. */
static void add_rest_mode(Complement *c, Rest *r, CtInt extent) {
  CtAlg *g = c->g;
  CtInt n = al_ceildiv(g, extent, r->divisor), left = ct_int(1);
  r->exact = r->exact && al_divides(g, r->divisor, extent);
  if (!r->exact && !ct_is_const(extent, 0)) {
    left = al_ceildiv(g, r->divisor, extent);
  }
  ct_flat_push(&c->result, n, r->stride);
  r->before = al_mul(g, r->before, extent);
  r->stride = r->exact ? r->before : al_mul(g, r->stride, n);
  r->divisor = left;
}

/* All static extents count as one extent, as CuTe coalesces the divided cotarget. */
static void add_static_rest(Complement *c, CtTuple cotarget) {
  CtInt divisor = c->end, size = ct_int(1);
  for (CtLeaves w = ct_leaves_of(cotarget); al_ok(c->g) && ct_next_leaf(&w);) {
    CtInt extent = w.shape->i;
    size = al_mul(c->g, size, al_ceildiv(c->g, extent, divisor));
    divisor = ct_is_const(extent, 0) ? divisor : al_ceildiv(c->g, divisor, extent);
  }
  ct_flat_push(&c->result, size, c->end);
}

static void add_rest(Complement *c, CtTuple cotarget) {
  Rest r = {c->end, c->end, ct_int(1), true};
  if (ct_all_static(cotarget) && ct_is_static(c->end)) {
    add_static_rest(c, cotarget);
    return;
  }
  for (CtLeaves w = ct_leaves_of(cotarget); al_ok(c->g) && ct_next_leaf(&w);) {
    add_rest_mode(c, &r, w.shape->i);
  }
}

CtLayout al_complement_as(CtAlg *g, const char *op, CtLayout a, CtTuple cotarget) {
  Complement c = {.g = g, .op = op, .a = a, .end = ct_int(1)};
  ct_flat_init(&c.flat, g);
  ct_flat_init(&c.result, g);
  check_not_negative(g, op, a);
  ct_flat_push_filtered(&c.flat, a);
  if (cotarget == NULL) {
    cotarget = al_leaf(g, al_plain_cosize(g, ct_flat_take(&c.flat, op)));
  }
  add_gaps(&c);
  add_rest(&c, cotarget);
  return ct_flat_take(&c.result, op);
}

CtLayout al_complement(CtAlg *g, CtLayout a, CtTuple cotarget) {
  for (CtLeaves w = ct_leaves_of(cotarget); ct_next_leaf(&w);) {
    if (w.shape->i.kind == CT_STATIC && w.shape->i.v < 0) {
      al_fail(g, CT_EINVAL, "complement: cotarget %s is negative; a size was expected",
              al_show_tuple(g, cotarget));
    }
  }
  return al_complement_as(g, "complement", a, cotarget);
}

/* --- inverses ---------------------------------------------------------------------------------- */

typedef struct Inverse {
  CtAlg *g;
  CtLayout a;
  CtFlat flat; /* of a */
  CtFlat result;
  int *order; /* its modes of static stride, by stride */
  int n;
} Inverse;

/* Sorts as CuTe does, so that modes of equal stride come in the same order. */
static void sort_by_stride(Inverse *v) {
  const CtFlatMode *m = v->flat.mode;
  for (int i = 0; i < v->n; i++) {
    for (int j = i + 1; j < v->n; j++) {
      if (m[v->order[j]].stride.v < m[v->order[i]].stride.v) {
        int t = v->order[i];
        v->order[i] = v->order[j];
        v->order[j] = t;
      }
    }
  }
}

static void begin_inverse(Inverse *v, CtAlg *g, const char *op, CtLayout a) {
  v->g = g;
  v->a = a;
  v->n = 0;
  check_not_negative(g, op, a);
  ct_flat_init(&v->result, g);
  ct_flat_init(&v->flat, g);
  ct_flat_push_layout(&v->flat, a, false);
  v->order = al_alloc(g, (size_t)v->flat.n + 1, sizeof *v->order);
  for (int i = 0; al_ok(g) && i < v->flat.n; i++) {
    if (ct_is_static(v->flat.mode[i].stride)) {
      v->order[v->n++] = i;
    }
  }
  sort_by_stride(v);
}

/* The size of the modes before mode i: its step in a's coordinate. */
static CtInt size_before(const Inverse *v, int i) {
  CtInt size = ct_int(1);
  for (int k = 0; k < i; k++) {
    size = al_mul(v->g, size, v->flat.mode[k].shape);
  }
  return size;
}

CtLayout al_plain_right_inverse(CtAlg *g, CtLayout a) {
  Inverse v;
  CtInt end = ct_int(1); /* indices below are reached */
  begin_inverse(&v, g, "right_inverse", a);
  for (int k = 0; al_ok(g) && k < v.n; k++) {
    CtFlatMode m = v.flat.mode[v.order[k]];
    if (ct_int_equal(m.stride, end)) {
      ct_flat_push(&v.result, m.shape, size_before(&v, v.order[k]));
      end = al_mul(g, m.shape, m.stride);
    }
  }
  return ct_flat_take(&v.result, "right_inverse");
}

static void fail_left(const Inverse *v, CtInt stride, CtInt below, const char *what,
                      const char *expected) {
  al_fail(v->g, CT_EINVAL, "left_inverse: stride %s in %s %s %s; %s", al_show_int(v->g, stride),
          al_show_layout(v->g, v->a), what, al_show_int(v->g, below), expected);
}

/* What is known about the strides below the current one. */
typedef struct Below {
  CtInt stride; /* the largest */
  CtInt end;    /* its mode ends there; 0 before the first */
} Below;

/* The gap up to the next stride. Modes that overlap have no inverse. If a stride is not a multiple
   of the stride below, no layout is the inverse. */
static CtInt gap_above(const Inverse *v, const Below *b, CtInt stride) {
  if (!al_divides(v->g, b->stride, stride)) {
    fail_left(v, stride, b->stride, "is not a multiple of the smaller stride",
              "strides must divide each other");
  } else if (!al_le(v->g, b->end, stride)) {
    fail_left(v, stride, b->end, "begins before the smaller strides end, at",
              "modes must not overlap");
  }
  return al_div(v->g, stride, b->stride);
}

/* The result is (d0, d1/d0, ..., last shape):(0, step0, step1, ...), by increasing strides d. */
static void push_left_inverse(Inverse *v) {
  Below below = {ct_int(1), ct_int(0)};
  CtInt step = ct_int(0), last = ct_int(1);
  for (int k = 0; al_ok(v->g) && k < v->n; k++) {
    CtFlatMode m = v->flat.mode[v->order[k]];
    last = m.shape;
    if (!ct_is_const(m.stride, 0)) {
      ct_flat_push(&v->result, gap_above(v, &below, m.stride), step);
      step = size_before(v, v->order[k]);
      below = (Below){m.stride, al_mul(v->g, m.stride, m.shape)};
    }
  }
  ct_flat_push(&v->result, last, step);
}

CtLayout al_plain_left_inverse(CtAlg *g, CtLayout a) {
  Inverse v;
  begin_inverse(&v, g, "left_inverse", a);
  if (al_ok(g) && v.n < v.flat.n) {
    al_fail(g, CT_EUNSUPPORTED, "left_inverse: run-time strides in %s; they must be static",
            al_show_layout(g, a));
  }
  push_left_inverse(&v);
  return ct_flat_take(&v.result, "left_inverse");
}

/* --- common vectors ---------------------------------------------------------------------------- */

static int64_t static_size(CtLayout l) { /* -1 if it is not known */
  int64_t n = 1;
  for (CtLeaves w = ct_layout_leaves(l); ct_next_leaf(&w);) {
    if (!ct_is_static(w.shape->i) || ct_mul_overflow(n, w.shape->i.v, &n)) {
      return -1;
    }
  }
  return n;
}

static int64_t clamp(int64_t n, CtLayout l) {
  int64_t size = static_size(l);
  return size >= 0 && size < n ? size : n;
}

/* The largest n such that a(inverse(i)) == i for all i < n; static, and at most the size of a or
   b. */
static int64_t common_vector(CtAlg *g, CtLayout a, CtLayout b, CtLayout *inverse) {
  CtFlat common;
  CtAlg trial = {g->cx, g->err, g->status};
  *inverse = al_plain_right_inverse(&trial, b);
  CtLayout both = al_plain_compose(&trial, a, *inverse);
  if (trial.status == CT_EUNSUPPORTED) { /* hidden by run-time values */
    return 1;
  }
  g->status = trial.status;
  ct_flat_init(&common, g);
  ct_flat_push_layout(&common, both, false);
  const CtFlatMode *first = &common.mode[0];
  bool adjacent = al_ok(g) && common.n > 0 && ct_is_const(first->stride, 1);
  return adjacent && ct_is_static(first->shape) ? clamp(clamp(first->shape.v, a), b) : 1;
}

int64_t al_common_vector(CtAlg *g, CtLayout a, CtLayout b) {
  CtLayout inverse;
  return common_vector(g, a, b, &inverse);
}

CtLayout al_common_layout(CtAlg *g, CtLayout a, CtLayout b) {
  CtLayout inverse;
  CtLeafLayout nodes;
  int64_t n = common_vector(g, a, b, &inverse);
  return n == 1 ? al_copy(g, ct_leaf_layout(&nodes, ct_int(1), ct_int(0)))
                : al_plain_compose(g, inverse, ct_leaf_layout(&nodes, ct_int(n), ct_int(1)));
}

/* --- layouts like another ---------------------------------------------------------------------- */

CtLayout al_layout_like(CtAlg *g, CtLayout a) {
  al_check_numbers(g, "layout_like", a);
  return al_copy(g, (CtLayout){a.shape, al_compact_order(g, filtered_shape(g, a), a.stride)});
}

/* Mode 0, column-major, zeros kept. */
static CtLayout fragment_block(CtAlg *g, CtLayout mode0) {
  CtTuple stride = al_compact(g, filtered_shape(g, mode0), ct_int(1), false);
  return al_copy(g, (CtLayout){mode0.shape, stride});
}

CtLayout al_fragment_like(CtAlg *g, CtLayout a) {
  int rank = al_ok(g) ? ct_layout_rank(a) : 0;
  if (rank <= 1 || !ct_all_static(a.shape)) {
    return al_layout(g, a.shape, NULL);
  }
  al_check_numbers(g, "fragment_layout_like", a);
  CtLayout block = fragment_block(g, ct_mode(a, 0)), rest = al_take(g, a, 1, rank);
  rest = al_ordered(g, rest.shape, rest.stride);
  return al_tiled_product(g, block, (CtTiler){.kind = CT_TILER_LAYOUT, .layout = rest});
}
