/* layout_compose.c: composition R(c) = A(B(c)).

   A is flattened and coalesced to modes S0:D0, ..., Sk:Dk, of which the last is taken as endless.
   Each mode n:s of B steps through A by s, n times. Its steps are split over A's modes:
     - S divides s: nothing moves within this mode; go on with s / S.
     - s < S: the steps that stay within this mode are min(n, S / s); they step by s * D there. If n
       is larger, S / s must divide it, and the rest steps by 1 in the next mode.
   That is the whole function of a mode n:s only if s divides S or all n steps stay within the mode,
   and of several modes together only if their steps in one mode of A stay below S together. Both
   are checked; what run-time values leave open is an error too. A(-x) is -A(x), so that steps up and
   steps down may meet within one mode of A only: where they carry from one to the next, the digits
   of their sum are not the sums of their digits.

   Names: a mode of the result has the name of B's mode; without one the name of A itself; and when
   A has none either, the name that all of A's modes share in which the mode steps. */
#include "layout_flat.h"

#include <string.h>

/* The furthest that all modes of B together step within one mode of A: the sum of (n-1)*s. */
typedef struct Reach {
  int64_t sum;
  int64_t top_stride, below; /* the largest step; the sum without it */
  bool top_fits;             /* n * s <= S is known of the largest */
  bool up, down;             /* some modes of B step up here, some down */
} Reach;

typedef struct Compose {
  const CtCx *cx;
  CtErr *err;
  const char *op;
  CtLayout a, b;    /* b: the part in work */
  CtFlat flat;      /* of a */
  CtFlatMode *part; /* result modes of one mode of b */
  int n_part;
  Reach *reach; /* per mode of flat */
  int n_basis;  /* strides of b so far that are basis elements */
  CtBuild *out;
} Compose;

/* --- what can be wrong ------------------------------------------------------------------------- */

static const char *show_flat(const Compose *c) {
  CtLayout l = c->a;
  CtStatus st = ct_flat_finish(&c->flat, c->cx, c->op, &l, NULL);
  return ct_show_layout(c->cx, st == CT_OK ? l : c->a);
}

static CtStatus fail_stride(const Compose *c, int mode, CtInt stride) {
  return ct_fail(c->err, CT_EINVAL,
                 "%s: stride %s in %s does not fit extent %s of mode %d in %s; one must divide the "
                 "other",
                 c->op, ct_show_int(c->cx, stride), ct_show_layout(c->cx, c->b),
                 ct_show_int(c->cx, c->flat.mode[mode].shape), mode, show_flat(c));
}

static CtStatus fail_shape(const Compose *c, int mode, CtInt n, CtInt stride) {
  return ct_fail(
      c->err, CT_EINVAL,
      "%s: %s steps of %s in %s cross the end of mode %d (extent %s) in %s unevenly; the "
      "steps that fit in the mode must divide their number",
      c->op, ct_show_int(c->cx, n), ct_show_int(c->cx, stride), ct_show_layout(c->cx, c->b), mode,
      ct_show_int(c->cx, c->flat.mode[mode].shape), show_flat(c));
}

static CtStatus fail_unknown(const Compose *c, int mode, CtInt n, CtInt stride) {
  return ct_fail(c->err, CT_EUNSUPPORTED,
                 "%s: cannot tell while tracing how %s steps of %s in %s run through mode %d "
                 "(extent %s) in %s; use static extents, or tile mode by mode",
                 c->op, ct_show_int(c->cx, n), ct_show_int(c->cx, stride),
                 ct_show_layout(c->cx, c->b), mode, ct_show_int(c->cx, c->flat.mode[mode].shape),
                 show_flat(c));
}

static CtStatus fail_carry(const Compose *c, int mode) {
  bool known = c->flat.mode[mode].shape.kind == CT_STATIC && ct_layout_is_static(c->b);
  return ct_fail(c->err, known ? CT_EINVAL : CT_EUNSUPPORTED,
                 "%s: the modes of %s together %sstep past mode %d (extent %s) in %s; their sum "
                 "must stay within it",
                 c->op, ct_show_layout(c->cx, c->b), known ? "" : "may ", mode,
                 ct_show_int(c->cx, c->flat.mode[mode].shape), show_flat(c));
}

static CtStatus fail_signs(const Compose *c, int down) {
  return ct_fail(c->err, CT_EINVAL,
                 "%s: %s steps down in mode %d (extent %s) and up in another one of %s; steps of "
                 "both signs must stay in one mode",
                 c->op, ct_show_layout(c->cx, c->b), down,
                 ct_show_int(c->cx, c->flat.mode[down].shape), show_flat(c));
}

/* --- one mode of B ----------------------------------------------------------------------------- */

static int64_t add_saturated(int64_t a, int64_t b) {
  int64_t r;
  return ct_add_overflow(a, b, &r) ? INT64_MAX : r;
}

/* (n - 1) * s at most */
static int64_t most_steps(const Compose *c, CtInt n, CtInt stride) {
  int64_t steps = ct_int_facts(c->cx, n).hi, reach;
  int64_t s = ct_int_facts(c->cx, stride).hi;
  steps = steps > 0 ? steps - 1 : 0;
  return ct_mul_overflow(steps, s, &reach) ? INT64_MAX : reach;
}

/* Notes that some of B moves in a mode, in one direction. */
static void note_direction(Compose *c, int mode, bool negative) {
  Reach *r = &c->reach[mode];
  r->up = r->up || !negative;
  r->down = r->down || negative;
}

/* Adds n steps of |stride| within a mode to the result and to the mode's reach. */
static CtStatus take_part(Compose *c, int mode, CtInt n, CtInt stride, CtInt size, bool fits) {
  CtFlatMode *p = &c->part[c->n_part++];
  Reach *r = &c->reach[mode];
  int64_t reach = most_steps(c, n, size), s = ct_int_facts(c->cx, size).lo;
  if (s > r->top_stride) {
    r->below = r->sum;
    r->top_stride = s;
    r->top_fits = fits;
  } else {
    r->below = add_saturated(r->below, reach);
  }
  r->sum = add_saturated(r->sum, reach);
  p->shape = n;
  p->name = 0;
  return ct_int_op(c->cx, CT_INT_MUL, stride, c->flat.mode[mode].stride, &p->stride, c->err);
}

/* The steps of B that are still to be placed: n of sign * size. */
typedef struct Steps {
  CtInt n, size;
  bool negative;
} Steps;

static CtStatus signed_stride(const Compose *c, const Steps *s, CtInt *out) {
  *out = s->size;
  return s->negative ? ct_int_op(c->cx, CT_INT_SUB, ct_int(0), s->size, out, c->err) : CT_OK;
}

/* The steps that stay within `mode`; s->size < extent or both are run-time values. */
static CtStatus step_within(Compose *c, int mode, Steps *s) {
  CtInt extent = c->flat.mode[mode].shape, stride, fit;
  CtKnown exact = ct_int_divides(c->cx, s->size, extent);
  CtStatus st = signed_stride(c, s, &stride);
  if (st != CT_OK) {
    return st;
  }
  note_direction(c, mode, s->negative);
  if (most_steps(c, s->n, s->size) < ct_int_facts(c->cx, extent).lo) { /* all fit */
    st = take_part(c, mode, s->n, stride, s->size, exact == CT_KNOWN_YES);
    s->n = s->size = ct_int(1);
    return st;
  }
  bool known = ct_is_static(s->n) && ct_is_static(s->size) && ct_is_static(extent);
  if (exact == CT_KNOWN_YES) {
    st = ct_int_op(c->cx, CT_INT_DIV, extent, s->size, &fit, c->err);
    if (st == CT_OK && ct_int_divides(c->cx, fit, s->n) == CT_KNOWN_YES) {
      st = take_part(c, mode, fit, stride, s->size, true);
      s->size = ct_int(1);
      return st == CT_OK ? ct_int_op(c->cx, CT_INT_DIV, s->n, fit, &s->n, c->err) : st;
    }
  }
  if (st != CT_OK) {
    return st;
  }
  return known ? fail_shape(c, mode, s->n, stride) : fail_unknown(c, mode, s->n, stride);
}

static CtStatus step_mode(Compose *c, int mode, Steps *s) {
  CtInt extent = c->flat.mode[mode].shape, stride;
  if (ct_int_divides(c->cx, extent, s->size) == CT_KNOWN_YES) {
    return ct_int_op(c->cx, CT_INT_DIV, s->size, extent, &s->size, c->err);
  }
  CtStatus st = signed_stride(c, s, &stride);
  if (st != CT_OK) {
    return st;
  }
  bool known = ct_is_static(s->size) && ct_is_static(extent);
  if (known && s->size.v >= extent.v) {
    return fail_stride(c, mode, stride);
  }
  if (ct_is_const(s->n, 1)) {
    s->size = ct_int(1);
    return CT_OK;
  }
  return step_within(c, mode, s);
}

/* Places all steps: leaves c->part with the result's modes. */
static CtStatus place_steps(Compose *c, Steps s) {
  int last = c->flat.n - 1;
  CtStatus st = CT_OK;
  c->n_part = 0;
  for (int mode = 0; st == CT_OK && mode < last; mode++) {
    if (c->n_part > 0 && ct_is_const(s.n, 1)) {
      return CT_OK;
    }
    st = step_mode(c, mode, &s);
  }
  if (st == CT_OK && (c->n_part == 0 || !ct_is_const(s.n, 1))) {
    CtFlatMode *p = &c->part[c->n_part++];
    CtInt stride;
    p->shape = s.n;
    p->name = 0;
    if (!ct_is_const(s.n, 1)) {
      note_direction(c, last, s.negative);
    }
    st = signed_stride(c, &s, &stride);
    if (st == CT_OK) {
      st = ct_int_op(c->cx, CT_INT_MUL, stride, c->flat.mode[last].stride, &p->stride, c->err);
    }
  }
  return st;
}

/* The name that the leaves from node `from` to node `to` share, or that of the innermost mode around
   them. */
static CtModeName common_name(CtTuple shape, uint32_t from, uint32_t to) {
  CtTuple around = shape;
  bool same = true;
  for (uint32_t i = from; i <= to; i++) {
    bool counts = ct_is_leaf(&shape[i]) && (i == to || !ct_is_const(shape[i].i, 1));
    same = same && (!counts || shape[i].name == shape[from].name);
  }
  for (CtTuple p = shape; p <= shape + from; p++) {
    if (p + p->len > shape + to) {
      around = p;
    }
  }
  return same ? shape[from].name : around->name;
}

/* The name of what n steps of s, both static, run through in the shape: that of all leaves in which
   they move, or of the innermost mode around these. */
static CtModeName name_of_steps(CtTuple shape, int64_t n, int64_t s) {
  uint32_t last = shape->len - 1, from = 0, to;
  int64_t begin = 1, end, reach; /* the steps that leaf `from` counts are of `begin` */
  for (; from < last; from++) {
    if (!ct_is_leaf(&shape[from])) {
      continue;
    }
    if (!ct_is_static(shape[from].i)) {
      return shape->name;
    }
    if (ct_mul_overflow(begin, shape[from].i.v, &end) || end == 0 || s % end != 0) {
      break;
    }
    begin = end;
  }
  bool endless = ct_mul_overflow(n - 1, s, &reach);
  for (to = from; to < last; to++) {
    if (!ct_is_leaf(&shape[to])) {
      continue;
    }
    if (!ct_is_static(shape[to].i)) {
      return shape->name;
    }
    if (ct_mul_overflow(begin, shape[to].i.v, &begin) || (!endless && reach < begin)) {
      break;
    }
  }
  return common_name(shape, from, to);
}

/* Names the parts of B's mode n:s, which follow each other in A: the next one steps by all of the
   one before. *name: of the mode; found when it has none. */
static void name_parts(Compose *c, CtInt n, CtInt s, CtModeName *name) {
  bool known = ct_is_static(n) && ct_is_static(s);
  CtModeName whole = *name, around = c->a.shape->name;
  if (known && s.v < 0) {
    known = !ct_sub_overflow(0, s.v, &s.v);
  }
  if (whole == 0) {
    *name = known ? name_of_steps(c->a.shape, n.v, s.v) : around;
  }
  for (int i = 0; i < c->n_part; i++) {
    CtInt extent = c->part[i].shape;
    known = known && ct_is_static(extent);
    c->part[i].name = whole != 0 ? whole
                      : known    ? name_of_steps(c->a.shape, extent.v, s.v)
                                 : around;
    known = known && !ct_mul_overflow(s.v, extent.v, &s.v);
  }
}

/* As one mode of this name. */
static void emit_parts(Compose *c, CtModeName name) {
  if (c->n_part > 1) {
    ct_build_open_named(c->out, name);
  }
  for (int i = 0; i < c->n_part; i++) {
    const CtFlatMode *p = &c->part[i];
    ct_build_leaf_named(c->out, p->name != 0 ? p->name : name, p->shape, p->stride);
  }
  if (c->n_part > 1) {
    ct_build_close(c->out);
  }
}

/* A stride v * E(path) steps by v within A's mode at that path. */
static CtLayout mode_of_basis(CtLayout a, CtInt stride) {
  for (int i = 0; i < stride.basis_depth; i++) {
    a = ct_mode(a, stride.basis[i]);
  }
  return a;
}

static CtStatus compose_basis(Compose *c, CtModeName name, CtInt n, CtInt stride) {
  CtLayout a = c->a;
  CtLeafLayout nodes;
  c->n_basis++;
  for (int i = 0; i < stride.basis_depth; i++) {
    if (stride.basis[i] >= ct_layout_rank(a)) {
      return ct_fail(c->err, CT_EINVAL, "%s: stride %s in %s names a mode that %s lacks", c->op,
                     ct_show_int(c->cx, stride), ct_show_layout(c->cx, c->b),
                     ct_show_layout(c->cx, c->a));
    }
    a = ct_mode(a, stride.basis[i]);
  }
  stride.basis_depth = 0;
  CtLayout part = ct_leaf_layout(&nodes, n, stride);
  nodes.shape.name = name;
  ct_build_compositions(c->out, c->cx, a, 1, &part);
  return c->out->status;
}

static CtStatus compose_leaf(Compose *c, CtModeName name, CtInt n, CtInt stride) {
  if (ct_is_const(stride, 0)) {
    ct_build_leaf_named(c->out, name != 0 ? name : c->a.shape->name, n, stride);
    return CT_OK;
  }
  if (stride.basis_depth > 0) {
    return compose_basis(c, name, n, stride);
  }
  Steps s = {n, stride, false};
  if (ct_is_static(stride) && stride.v < 0 && c->flat.n > 1) {
    CtStatus st = ct_int_op(c->cx, CT_INT_SUB, ct_int(0), stride, &s.size, c->err);
    if (st != CT_OK) {
      return st;
    }
    s.negative = true;
  }
  CtStatus st = place_steps(c, s);
  if (st == CT_OK && c->flat.has_names) {
    name_parts(c, n, s.size, &name);
  }
  if (st == CT_OK) {
    emit_parts(c, name);
  }
  return st;
}

static CtStatus compose_node(Compose *c, CtTuple shape, CtTuple stride) {
  if (ct_is_leaf(shape)) {
    return compose_leaf(c, shape->name, shape->i, stride->i);
  }
  CtTuple d = ct_first(stride);
  uint32_t at = c->out->len;
  ct_build_open_named(c->out, shape->name != 0 ? shape->name : c->a.shape->name);
  for (CtTuple s = ct_first(shape); s != ct_end(shape); s = ct_next(s), d = ct_next(d)) {
    CtStatus st = compose_node(c, s, d);
    if (st != CT_OK) {
      return st;
    }
  }
  ct_build_close(c->out);
  if (c->flat.has_names) {
    ct_build_name_tuple(c->out, at);
  }
  return CT_OK;
}

/* --- all of B ---------------------------------------------------------------------------------- */

/* Do all steps in a mode of A stay below its extent together? Either their sum is below it, or the
   smaller steps sum to less than the largest step, whose own steps are known to tile the extent. */
static CtStatus check_reach(const Compose *c) {
  for (int i = 0; i < c->flat.n - 1; i++) {
    const Reach *r = &c->reach[i];
    bool below = r->sum < ct_int_facts(c->cx, c->flat.mode[i].shape).lo || r->sum == 0;
    if (!below && !(r->top_fits && r->below < r->top_stride)) {
      return fail_carry(c, i);
    }
  }
  return CT_OK;
}

/* Do steps down and steps up stay in one mode of A where both occur? */
static CtStatus check_signs(const Compose *c) {
  int down = -1, n_up = 0, n_down = 0, n_both = 0;
  for (int i = 0; i < c->flat.n; i++) {
    const Reach *r = &c->reach[i];
    down = r->down ? i : down;
    n_up += r->up;
    n_down += r->down;
    n_both += r->up && r->down;
  }
  bool meet = n_up > 0 && n_down > 0 && n_up + n_down - n_both > 1;
  return meet ? fail_signs(c, down) : CT_OK;
}

static CtStatus fail_basis(const Compose *c, CtStatus st, CtInt basis) {
  basis.v = 1;
  return ct_fail(
      c->err, st,
      "%s: the strides of %s in %s together %sstep past a mode of %s, through which they "
      "run; their sum must stay within it",
      c->op, ct_show_int(c->cx, basis), ct_show_layout(c->cx, c->b), st == CT_EINVAL ? "" : "may ",
      ct_show_layout(c->cx, mode_of_basis(c->a, basis)));
}

static bool same_basis(CtInt a, CtInt b) {
  return a.basis_depth == b.basis_depth && memcmp(a.basis, b.basis, a.basis_depth) == 0;
}

/* The modes of c->b from node `at` on whose strides are along one basis element: composed with that
   mode of a in one go. */
static CtStatus check_along(const Compose *c, uint32_t at, CtLeafLayout *nodes, CtLayout *modes) {
  CtInt basis = c->b.stride[at].i;
  CtBuild scratch;
  int n = 0;
  for (uint32_t i = 0; i < c->b.shape->len; i++) {
    CtInt stride = c->b.stride[i].i;
    if (!ct_is_leaf(&c->b.shape[i]) || stride.basis_depth == 0 || !same_basis(stride, basis)) {
      continue;
    }
    if (i < at) {
      return CT_OK; /* these were checked there */
    }
    stride.basis_depth = 0;
    modes[n] = ct_leaf_layout(&nodes[n], c->b.shape[i].i, stride);
    n++;
  }
  if (n < 2) {
    return CT_OK;
  }
  ct_build_init_layout(&scratch, c->cx, c->op, NULL);
  ct_build_open(&scratch);
  ct_build_compositions(&scratch, c->cx, mode_of_basis(c->a, basis), n, modes);
  return scratch.status == CT_OK ? CT_OK : fail_basis(c, scratch.status, basis);
}

/* Each stride that is a basis element was composed alone; those along the same one meet in a. */
static CtStatus check_bases(const Compose *c) {
  size_t n = (size_t)c->n_basis;
  CtLeafLayout *nodes = ct_arena_alloc(c->cx->arena, n * sizeof *nodes);
  CtLayout *modes = ct_arena_alloc(c->cx->arena, n * sizeof *modes);
  if (nodes == NULL || modes == NULL) {
    return ct_fail_nomem(c->err);
  }
  for (uint32_t i = 0; i < c->b.shape->len; i++) {
    if (ct_is_leaf(&c->b.shape[i]) && c->b.stride[i].i.basis_depth > 0) {
      CtStatus st = check_along(c, i, nodes, modes);
      if (st != CT_OK) {
        return st;
      }
    }
  }
  return CT_OK;
}

static CtStatus begin(Compose *c) {
  ct_flat_init(&c->flat);
  CtStatus st = ct_flat_push_layout(&c->flat, c->cx, c->a, true, c->err);
  if (st != CT_OK) {
    return st;
  }
  if (c->flat.n == 0) { /* a is (): only the index 0 */
    c->flat.mode[c->flat.n++] = (CtFlatMode){ct_int(1), ct_int(0), 0};
  }
  c->part = ct_arena_alloc(c->cx->arena, (size_t)c->flat.n * sizeof *c->part);
  c->reach = ct_arena_alloc(c->cx->arena, (size_t)c->flat.n * sizeof *c->reach);
  return c->part == NULL || c->reach == NULL ? ct_fail_nomem(c->err) : CT_OK;
}

void ct_build_compositions(CtBuild *b, const CtCx *cx, CtLayout a, int n, const CtLayout *parts) {
  Compose c = {.cx = cx, .err = b->err, .op = b->op, .a = a, .b = parts[0], .out = b};
  if (b->status != CT_OK) {
    return;
  }
  CtStatus st = begin(&c);
  for (int i = 0; st == CT_OK && i < n; i++) {
    c.b = parts[i];
    st = compose_node(&c, parts[i].shape, parts[i].stride);
    if (st == CT_OK && c.n_basis > 1) {
      st = check_bases(&c);
    }
  }
  if (st == CT_OK) {
    st = check_reach(&c);
  }
  if (st == CT_OK) {
    st = check_signs(&c);
  }
  ct_build_fail(b, st);
}

static void build_by_mode(CtBuild *b, const CtCx *cx, CtLayout a, CtTiler t) {
  if (b->status != CT_OK) { /* keep the first error's message */
    return;
  }
  switch (t.kind) {
    case CT_TILER_ANY: ct_build_layout(b, a); return;
    case CT_TILER_LAYOUT: ct_build_compositions(b, cx, a, 1, &t.layout); return;
    case CT_TILER_TUPLE: break;
  }
  if (t.n > ct_layout_rank(a)) {
    ct_build_fail(b, ct_fail(b->err, CT_EINVAL,
                             "%s: tiler %s has rank %d but %s has rank %d; give at most one entry "
                             "per mode",
                             b->op, ct_show_tiler(cx, t), t.n, ct_show_layout(cx, a),
                             ct_layout_rank(a)));
    return;
  }
  ct_build_open_named(b, ct_whole_name(a));
  for (int i = 0; i < t.n; i++) {
    build_by_mode(b, cx, ct_mode(a, i), t.items[i]);
  }
  ct_build_close(b);
}

CtStatus ct_composition(const CtCx *cx, CtLayout a, CtTiler t, CtLayout *out, CtErr *err) {
  CtBuild b;
  ct_build_init_layout(&b, cx, "composition", err);
  build_by_mode(&b, cx, a, t);
  return ct_build_finish_layout(&b, out);
}

CtStatus ct_compose(const CtCx *cx, CtLayout a, CtLayout b, CtLayout *out, CtErr *err) {
  return ct_composition(cx, a, (CtTiler){.kind = CT_TILER_LAYOUT, .layout = b}, out, err);
}
