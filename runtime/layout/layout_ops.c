/* layout_ops.c: the algebra on one layout: coalesce, filter, flatten, complement, inverses, and what
   follows from them: common vectors, layouts like another. */
#include "layout_flat.h"

#include <string.h>

/* --- coalesce, filter, flatten ----------------------------------------------------------------- */

/* coalesce and filter differ in what they push. */
typedef CtStatus (*PushLayout)(CtFlat *f, const CtCx *cx, CtLayout l, CtErr *err);

static CtStatus push_all(CtFlat *f, const CtCx *cx, CtLayout l, CtErr *err) {
  return ct_flat_push_layout(f, cx, l, false, err);
}

static void build_at_profile(CtBuild *b, const CtCx *cx, CtLayout a, CtTuple profile,
                             PushLayout push) {
  if (b->status != CT_OK) { /* keep the first error's message */
    return;
  }
  if (profile == NULL || ct_is_leaf(profile)) {
    CtFlat f;
    ct_flat_init(&f);
    ct_build_fail(b, push(&f, cx, a, b->err));
    ct_flat_emit(&f, b, a.shape->name);
    return;
  }
  int rank = ct_layout_rank(a);
  if (profile->rank > rank) {
    ct_build_fail(
        b, ct_fail(b->err, CT_EINVAL,
                   "%s: profile %s has rank %d but %s has rank %d; give at most one entry "
                   "per mode",
                   b->op, ct_show_tuple(cx, profile), profile->rank, ct_show_layout(cx, a), rank));
    return;
  }
  ct_build_open_named(b, ct_whole_name(a));
  for (int i = 0; i < rank; i++) {
    if (i < profile->rank) {
      build_at_profile(b, cx, ct_mode(a, i), ct_child(profile, i), push);
    } else {
      ct_build_layout(b, ct_mode(a, i));
    }
  }
  ct_build_close(b);
}

CtStatus ct_coalesce(const CtCx *cx, CtLayout a, CtTuple profile, CtLayout *out, CtErr *err) {
  CtBuild b;
  ct_build_init_layout(&b, cx, "coalesce", err);
  build_at_profile(&b, cx, a, profile, push_all);
  return ct_build_finish_layout(&b, out);
}

CtStatus ct_filter(const CtCx *cx, CtLayout a, CtTuple profile, CtLayout *out, CtErr *err) {
  CtBuild b;
  ct_build_init_layout(&b, cx, "filter", err);
  build_at_profile(&b, cx, a, profile, ct_flat_push_filtered);
  return ct_build_finish_layout(&b, out);
}

CtStatus ct_flatten(const CtCx *cx, CtLayout a, CtLayout *out, CtErr *err) {
  CtBuild b;
  if (ct_is_leaf(a.shape)) {
    return ct_layout_copy(cx->arena, a, out, err);
  }
  ct_build_init_layout(&b, cx, "flatten", err);
  ct_build_open_named(&b, a.shape->name);
  for (uint32_t i = 0; i < a.shape->len; i++) {
    if (ct_is_leaf(&a.shape[i])) {
      ct_build_leaf_named(&b, a.shape[i].name, a.shape[i].i, a.stride[i].i);
    }
  }
  ct_build_close(&b);
  return ct_build_finish_layout(&b, out);
}

/* Sets to 1 the extents whose stride is 0. */
static void clear_zeros(CtNode *shape, CtTuple stride) {
  uint32_t len = shape->len;
  for (uint32_t i = 0; i < len; i++) {
    if (ct_is_leaf(&shape[i]) && ct_is_const(stride[i].i, 0)) {
      shape[i].i = ct_int(1);
    }
  }
}

static CtNode *filtered_shape(const CtCx *cx, CtLayout a) {
  CtNode *nodes = ct_arena_alloc(cx->arena, a.shape->len * sizeof *nodes);
  if (nodes != NULL) {
    memcpy(nodes, a.shape, a.shape->len * sizeof *nodes);
    clear_zeros(nodes, a.stride);
  }
  return nodes;
}

CtStatus ct_filter_zeros(const CtCx *cx, CtLayout a, CtLayout *out, CtErr *err) {
  CtNode *shape = filtered_shape(cx, a);
  return shape == NULL ? ct_fail_nomem(err)
                       : ct_layout_copy(cx->arena, (CtLayout){shape, a.stride}, out, err);
}

/* --- complement -------------------------------------------------------------------------------- */

static CtStatus check_not_negative(const CtCx *cx, const char *op, CtLayout a, CtErr *err) {
  for (uint32_t i = 0; i < a.shape->len; i++) {
    CtInt d = a.stride[i].i;
    if (!ct_is_leaf(&a.shape[i]) || ct_is_const(a.shape[i].i, 1)) {
      continue;
    }
    if (d.basis_depth > 0) {
      return ct_fail(err, CT_EINVAL,
                     "%s: stride %s in layout %s is a basis element; strides must be numbers", op,
                     ct_show_int(cx, d), ct_show_layout(cx, a));
    }
    if (d.kind == CT_STATIC && d.v < 0) {
      return ct_fail(err, CT_EINVAL, "%s: stride %s in layout %s is negative; strides must be >= 0",
                     op, ct_show_int(cx, d), ct_show_layout(cx, a));
    }
  }
  return CT_OK;
}

typedef struct Complement {
  const CtCx *cx;
  CtErr *err;
  const char *op;
  CtLayout a;
  CtFlat flat;   /* of a, filtered; consumed in the order of strides */
  CtFlat result; /* the gaps between a's modes */
  CtInt end;     /* one past what a and the result cover so far */
} Complement;

static CtStatus fail_overlap(const Complement *c, CtInt stride) {
  return ct_fail(c->err, CT_EINVAL,
                 "%s: the mode of stride %s in %s begins before the smaller strides end, at %s; "
                 "modes must not overlap or interleave",
                 c->op, ct_show_int(c->cx, stride), ct_show_layout(c->cx, c->a),
                 ct_show_int(c->cx, c->end));
}

static CtStatus fail_order(const Complement *c, CtInt stride) {
  return ct_fail(c->err, CT_EUNSUPPORTED,
                 "%s: cannot tell while tracing how stride %s in %s stands to the others; use "
                 "static strides",
                 c->op, ct_show_int(c->cx, stride), ct_show_layout(c->cx, c->a));
}

/* The first mode of the smallest stride; fails when run-time strides hide which one it is. */
static CtStatus find_smallest(const Complement *c, int *at) {
  int best = 0;
  for (int i = 1; i < c->flat.n; i++) {
    CtInt d = c->flat.mode[i].stride, least = c->flat.mode[best].stride;
    if (ct_int_le(c->cx, least, d) == CT_KNOWN_YES) {
      continue;
    }
    if (ct_int_le(c->cx, d, least) != CT_KNOWN_YES) {
      return fail_order(c, d);
    }
    best = i;
  }
  *at = best;
  return CT_OK;
}

/* Adds the gap before the mode s:d; the quotient d / end is cut, as in CuTe. */
static CtStatus add_gap(Complement *c, CtFlatMode m) {
  CtInt gap;
  bool known = ct_is_static(m.stride) && ct_is_static(c->end);
  if (!known && ct_int_divides(c->cx, c->end, m.stride) != CT_KNOWN_YES) {
    return fail_order(c, m.stride);
  }
  if (known && (c->end.v == 0 || m.stride.v / c->end.v == 0)) {
    return fail_overlap(c, m.stride);
  }
  CtStatus st = ct_int_op(c->cx, CT_INT_DIV, m.stride, c->end, &gap, c->err);
  if (st == CT_OK) {
    st = ct_flat_push(&c->result, c->cx, gap, c->end, c->err);
  }
  return st == CT_OK ? ct_int_op(c->cx, CT_INT_MUL, m.stride, m.shape, &c->end, c->err) : st;
}

static CtStatus add_gaps(Complement *c) {
  while (c->flat.n > 0) {
    int at = 0;
    CtStatus st = find_smallest(c, &at);
    if (st == CT_OK) {
      st = add_gap(c, c->flat.mode[at]);
    }
    if (st != CT_OK) {
      return st;
    }
    memmove(&c->flat.mode[at], &c->flat.mode[at + 1],
            (size_t)(c->flat.n - 1 - at) * sizeof *c->flat.mode);
    c->flat.n--;
  }
  return CT_OK;
}

/* How the extents of cotarget are divided by what a covers, from left to right. */
typedef struct Rest {
  CtInt divisor; /* still to be divided by */
  CtInt stride;  /* of the next mode */
  CtInt before;  /* product of the extents so far */
  bool exact;    /* so far, each extent was a multiple of the divisor: stride == before there */
} Rest;

/* Adds the mode ceil(extent / divisor). After exact divisions the next stride is the product of the
   extents themselves, which spares run-time quotients that are multiplied back. */
static CtStatus add_rest_mode(Complement *c, Rest *r, CtInt extent) {
  const CtCx *cx = c->cx;
  CtInt n, left = ct_int(1);
  CtStatus st = ct_int_op(cx, CT_INT_CEILDIV, extent, r->divisor, &n, c->err);
  r->exact = r->exact && ct_int_divides(cx, r->divisor, extent) == CT_KNOWN_YES;
  if (st == CT_OK && !r->exact && !ct_is_const(extent, 0)) {
    st = ct_int_op(cx, CT_INT_CEILDIV, r->divisor, extent, &left, c->err);
  }
  if (st == CT_OK) {
    st = ct_flat_push(&c->result, cx, n, r->stride, c->err);
  }
  if (st == CT_OK) {
    st = ct_int_op(cx, CT_INT_MUL, r->before, extent, &r->before, c->err);
  }
  if (st == CT_OK && r->exact) {
    r->stride = r->before;
  } else if (st == CT_OK) {
    st = ct_int_op(cx, CT_INT_MUL, r->stride, n, &r->stride, c->err);
  }
  r->divisor = left;
  return st;
}

/* All static extents count as one, as CuTe coalesces the divided cotarget. */
static CtStatus add_static_rest(Complement *c, CtTuple cotarget) {
  CtInt divisor = c->end, size = ct_int(1);
  CtStatus st = CT_OK;
  for (CtTuple p = cotarget; st == CT_OK && p != cotarget + cotarget->len; p++) {
    CtInt n;
    if (!ct_is_leaf(p)) {
      continue;
    }
    st = ct_int_op(c->cx, CT_INT_CEILDIV, p->i, divisor, &n, c->err);
    if (st == CT_OK) {
      st = ct_int_op(c->cx, CT_INT_MUL, size, n, &size, c->err);
    }
    if (st == CT_OK && !ct_is_const(p->i, 0)) {
      st = ct_int_op(c->cx, CT_INT_CEILDIV, divisor, p->i, &divisor, c->err);
    }
  }
  return st == CT_OK ? ct_flat_push(&c->result, c->cx, size, c->end, c->err) : st;
}

static CtStatus add_rest(Complement *c, CtTuple cotarget) {
  Rest r = {c->end, c->end, ct_int(1), true};
  if (ct_all_static(cotarget) && ct_is_static(c->end)) {
    return add_static_rest(c, cotarget);
  }
  for (CtTuple p = cotarget; p != cotarget + cotarget->len; p++) {
    if (ct_is_leaf(p)) {
      CtStatus st = add_rest_mode(c, &r, p->i);
      if (st != CT_OK) {
        return st;
      }
    }
  }
  return CT_OK;
}

/* cotarget, or the cosize of a without its zeros. */
static CtStatus default_cotarget(const Complement *c, CtTuple given, CtNode *leaf, CtTuple *out) {
  *out = given;
  if (given != NULL) {
    return CT_OK;
  }
  CtLayout filtered;
  CtStatus st = ct_flat_finish(&c->flat, c->cx, c->op, &filtered, c->err);
  *leaf = (CtNode){.rank = CT_LEAF, .len = 1};
  *out = leaf;
  return st == CT_OK ? ct_cosize(c->cx, filtered, &leaf->i, c->err) : st;
}

CtStatus ct_complement_as(const CtCx *cx, const char *op, CtLayout a, CtTuple cotarget,
                          CtLayout *out, CtErr *err) {
  Complement c = {.cx = cx, .err = err, .op = op, .a = a, .end = ct_int(1)};
  CtNode leaf;
  ct_flat_init(&c.flat);
  ct_flat_init(&c.result);
  CtStatus st = check_not_negative(cx, op, a, err);
  if (st == CT_OK) {
    st = ct_flat_push_filtered(&c.flat, cx, a, err);
  }
  if (st == CT_OK) {
    st = default_cotarget(&c, cotarget, &leaf, &cotarget);
  }
  if (st == CT_OK) {
    st = add_gaps(&c);
  }
  if (st == CT_OK) {
    st = add_rest(&c, cotarget);
  }
  return st == CT_OK ? ct_flat_finish(&c.result, cx, op, out, err) : st;
}

CtStatus ct_complement(const CtCx *cx, CtLayout a, CtTuple cotarget, CtLayout *out, CtErr *err) {
  for (uint32_t i = 0; cotarget != NULL && i < cotarget->len; i++) {
    if (ct_is_leaf(&cotarget[i]) && cotarget[i].i.kind == CT_STATIC && cotarget[i].i.v < 0) {
      return ct_fail(err, CT_EINVAL, "complement: cotarget %s is negative; a size was expected",
                     ct_show_tuple(cx, cotarget));
    }
  }
  return ct_complement_as(cx, "complement", a, cotarget, out, err);
}

/* --- inverses ---------------------------------------------------------------------------------- */

typedef struct Inverse {
  const CtCx *cx;
  CtErr *err;
  const char *op;
  CtLayout a;
  CtFlat flat; /* of a */
  int *order;  /* its modes of static stride, by stride */
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

static CtStatus begin_inverse(Inverse *v) {
  CtStatus st = check_not_negative(v->cx, v->op, v->a, v->err);
  ct_flat_init(&v->flat);
  if (st == CT_OK) {
    st = ct_flat_push_layout(&v->flat, v->cx, v->a, false, v->err);
  }
  if (st != CT_OK) {
    return st;
  }
  v->order = ct_arena_alloc(v->cx->arena, ((size_t)v->flat.n + 1) * sizeof *v->order);
  if (v->order == NULL) {
    return ct_fail_nomem(v->err);
  }
  for (int i = 0; i < v->flat.n; i++) {
    if (ct_is_static(v->flat.mode[i].stride)) {
      v->order[v->n++] = i;
    }
  }
  sort_by_stride(v);
  return CT_OK;
}

/* The size of the modes before mode i: its step in a's coordinate. */
static CtStatus size_before(const Inverse *v, int i, CtInt *out) {
  *out = ct_int(1);
  for (int k = 0; k < i; k++) {
    CtStatus st = ct_int_op(v->cx, CT_INT_MUL, *out, v->flat.mode[k].shape, out, v->err);
    if (st != CT_OK) {
      return st;
    }
  }
  return CT_OK;
}

CtStatus ct_right_inverse(const CtCx *cx, CtLayout a, CtLayout *out, CtErr *err) {
  Inverse v = {.cx = cx, .err = err, .op = "right_inverse", .a = a};
  CtFlat result;
  CtInt end = ct_int(1); /* indices below are reached */
  ct_flat_init(&result);
  CtStatus st = begin_inverse(&v);
  for (int k = 0; st == CT_OK && k < v.n; k++) {
    CtFlatMode m = v.flat.mode[v.order[k]];
    CtInt step;
    if (!ct_int_equal(m.stride, end)) {
      continue;
    }
    st = size_before(&v, v.order[k], &step);
    if (st == CT_OK) {
      st = ct_flat_push(&result, cx, m.shape, step, err);
    }
    if (st == CT_OK) {
      st = ct_int_op(cx, CT_INT_MUL, m.shape, m.stride, &end, err);
    }
  }
  return st == CT_OK ? ct_flat_finish(&result, cx, v.op, out, err) : st;
}

static CtStatus fail_left(const Inverse *v, CtInt stride, CtInt below, const char *what,
                          const char *expected) {
  return ct_fail(v->err, CT_EINVAL, "left_inverse: stride %s in %s %s %s; %s",
                 ct_show_int(v->cx, stride), ct_show_layout(v->cx, v->a), what,
                 ct_show_int(v->cx, below), expected);
}

/* What is known of the strides below the one in work. */
typedef struct Below {
  CtInt stride; /* the largest */
  CtInt end;    /* its mode ends there; 0 before the first */
} Below;

/* The gap up to the next stride. Modes that overlap have no inverse; one that is not a multiple of
   the stride below cannot be written as a layout. */
static CtStatus gap_above(const Inverse *v, const Below *b, CtInt stride, CtInt *gap) {
  if (ct_int_divides(v->cx, b->stride, stride) != CT_KNOWN_YES) {
    return fail_left(v, stride, b->stride, "is not a multiple of the smaller stride",
                     "strides must divide each other");
  }
  if (ct_int_le(v->cx, b->end, stride) != CT_KNOWN_YES) {
    return fail_left(v, stride, b->end, "begins before the smaller strides end, at",
                     "modes must not overlap");
  }
  return ct_int_op(v->cx, CT_INT_DIV, stride, b->stride, gap, v->err);
}

/* The result is (d0, d1/d0, ..., last shape):(0, step0, step1, ...), by increasing strides d. */
static CtStatus left_inverse_modes(const Inverse *v, CtFlat *result) {
  Below below = {ct_int(1), ct_int(0)};
  CtInt step = ct_int(0), last = ct_int(1);
  for (int k = 0; k < v->n; k++) {
    CtFlatMode m = v->flat.mode[v->order[k]];
    CtInt gap;
    last = m.shape;
    if (ct_is_const(m.stride, 0)) {
      continue;
    }
    CtStatus st = gap_above(v, &below, m.stride, &gap);
    if (st == CT_OK) {
      st = ct_flat_push(result, v->cx, gap, step, v->err);
    }
    if (st == CT_OK) {
      st = size_before(v, v->order[k], &step);
    }
    if (st == CT_OK) {
      below.stride = m.stride;
      st = ct_int_op(v->cx, CT_INT_MUL, m.stride, m.shape, &below.end, v->err);
    }
    if (st != CT_OK) {
      return st;
    }
  }
  return ct_flat_push(result, v->cx, last, step, v->err);
}

CtStatus ct_left_inverse(const CtCx *cx, CtLayout a, CtLayout *out, CtErr *err) {
  Inverse v = {.cx = cx, .err = err, .op = "left_inverse", .a = a};
  CtFlat result;
  ct_flat_init(&result);
  CtStatus st = begin_inverse(&v);
  if (st == CT_OK && v.n < v.flat.n) {
    st = ct_fail(err, CT_EUNSUPPORTED, "left_inverse: run-time strides in %s; they must be static",
                 ct_show_layout(cx, a));
  }
  if (st == CT_OK) {
    st = left_inverse_modes(&v, &result);
  }
  return st == CT_OK ? ct_flat_finish(&result, cx, v.op, out, err) : st;
}

/* --- common vectors ---------------------------------------------------------------------------- */

static int64_t static_size(CtLayout l) { /* -1 when it is not known */
  int64_t n = 1;
  for (CtTuple p = l.shape; p != l.shape + l.shape->len; p++) {
    if (ct_is_leaf(p) && (p->i.kind != CT_STATIC || ct_mul_overflow(n, p->i.v, &n))) {
      return -1;
    }
  }
  return n;
}

static int64_t clamp(int64_t n, CtLayout l) {
  int64_t size = static_size(l);
  return size >= 0 && size < n ? size : n;
}

/* a(inverse(i)) == i for all i < *n; *n is static and at most the size of a or b. */
static CtStatus common_vector(const CtCx *cx, CtLayout a, CtLayout b, CtLayout *inverse, int64_t *n,
                              CtErr *err) {
  CtLayout both;
  CtFlat common;
  *n = 1;
  CtStatus st = ct_right_inverse(cx, b, inverse, err);
  if (st == CT_OK) {
    st = ct_compose(cx, a, *inverse, &both, err);
  }
  if (st == CT_EUNSUPPORTED) {
    return CT_OK; /* hidden by run-time values */
  }
  ct_flat_init(&common);
  if (st == CT_OK) {
    st = ct_flat_push_layout(&common, cx, both, false, err);
  }
  if (st == CT_OK && common.n > 0 && ct_is_const(common.mode[0].stride, 1) &&
      ct_is_static(common.mode[0].shape)) {
    *n = clamp(clamp(common.mode[0].shape.v, a), b);
  }
  return st;
}

CtStatus ct_max_common_vector(const CtCx *cx, CtLayout a, CtLayout b, int64_t *out, CtErr *err) {
  CtLayout inverse;
  int64_t n;
  CtStatus st = common_vector(cx, a, b, &inverse, &n, err);
  if (st == CT_OK) {
    *out = n;
  }
  return st;
}

CtStatus ct_max_common_layout(const CtCx *cx, CtLayout a, CtLayout b, CtLayout *out, CtErr *err) {
  CtLayout inverse;
  CtLeafLayout nodes;
  int64_t n;
  CtStatus st = common_vector(cx, a, b, &inverse, &n, err);
  if (st != CT_OK) {
    return st;
  }
  if (n == 1) {
    return ct_layout_copy(cx->arena, ct_leaf_layout(&nodes, ct_int(1), ct_int(0)), out, err);
  }
  return ct_compose(cx, inverse, ct_leaf_layout(&nodes, ct_int(n), ct_int(1)), out, err);
}

/* --- layouts like another ---------------------------------------------------------------------- */

CtStatus ct_layout_like(const CtCx *cx, CtLayout a, CtLayout *out, CtErr *err) {
  CtNode *shape = filtered_shape(cx, a);
  CtTuple stride = NULL;
  if (shape == NULL) {
    return ct_fail_nomem(err);
  }
  CtStatus st = ct_check_numbers(cx, "layout_like", a, err);
  if (st == CT_OK) {
    st = ct_compact_order(cx, shape, a.stride, &stride, err);
  }
  return st == CT_OK ? ct_layout_copy(cx->arena, (CtLayout){a.shape, stride}, out, err) : st;
}

/* Mode 0, column-major, zeros kept. */
static CtStatus fragment_block(const CtCx *cx, CtLayout mode0, CtLayout *out, CtErr *err) {
  CtNode *shape = filtered_shape(cx, mode0);
  CtTuple stride = NULL;
  if (shape == NULL) {
    return ct_fail_nomem(err);
  }
  CtStatus st = ct_compact_col_major(cx, shape, ct_int(1), &stride, err);
  return st == CT_OK ? ct_layout_copy(cx->arena, (CtLayout){mode0.shape, stride}, out, err) : st;
}

CtStatus ct_fragment_layout_like(const CtCx *cx, CtLayout a, CtLayout *out, CtErr *err) {
  CtLayout block, rest;
  int rank = ct_layout_rank(a);
  if (rank <= 1 || !ct_all_static(a.shape)) {
    return ct_layout_make(cx, a.shape, NULL, out, err);
  }
  CtStatus st = ct_check_numbers(cx, "fragment_layout_like", a, err);
  if (st == CT_OK) {
    st = fragment_block(cx, ct_mode(a, 0), &block, err);
  }
  if (st == CT_OK) {
    st = ct_take(cx, a, 1, rank, &rest, err);
  }
  if (st == CT_OK) {
    st = ct_layout_ordered(cx, rest.shape, rest.stride, &rest, err);
  }
  if (st != CT_OK) {
    return st;
  }
  return ct_tiled_product(cx, block, (CtTiler){.kind = CT_TILER_LAYOUT, .layout = rest}, out, err);
}
