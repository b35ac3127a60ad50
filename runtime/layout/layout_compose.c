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
#include <string.h>

#include "layout_algebra.h"

/* The furthest that all modes of B together step within one mode of A: the sum of (n-1)*s. */
typedef struct Reach {
  int64_t sum;
  int64_t top_stride, below; /* the largest step; the sum without it */
  bool top_fits;             /* the largest steps are known to have n * s <= S */
  bool up, down;             /* some modes of B step up here, some down */
} Reach;

typedef struct Compose {
  CtAlg *g;
  const char *op;
  CtLayout a, b;    /* b: the part being composed */
  CtFlat flat;      /* of a */
  CtFlatMode *part; /* result modes of one mode of b */
  int n_part;
  Reach *reach; /* per mode of flat */
  int n_basis;  /* strides of b so far that are basis elements */
  CtBuild *out;
} Compose;

/* --- what can be wrong ------------------------------------------------------------------------- */

static const char *show_b(const Compose *c) { return al_show_layout(c->g, c->b); }

static const char *show_extent(const Compose *c, int mode) {
  return al_show_int(c->g, c->flat.mode[mode].shape);
}

static const char *show_flat(const Compose *c) {
  CtAlg trial = al_trial(c->g);
  CtFlat f = c->flat;
  f.g = &trial;
  CtLayout l = ct_flat_take(&f, c->op);
  return al_show_layout(c->g, al_ok(&trial) ? l : c->a);
}

static void fail_stride(const Compose *c, int mode, CtInt stride) {
  al_fail(c->g, CT_EINVAL,
          "%s: stride %s in %s does not fit extent %s of mode %d in %s; one must divide the other",
          c->op, al_show_int(c->g, stride), show_b(c), show_extent(c, mode), mode, show_flat(c));
}

static void fail_shape(const Compose *c, int mode, CtInt n, CtInt stride) {
  bool is_tile = strcmp(c->op, "composition") != 0;
  al_fail(
      c->g, CT_EINVAL,
      "%s: %s steps of %s in %s cross the end of mode %d (extent %s) in %s unevenly; the number "
      "of steps must be a multiple of those that fit in the mode%s",
      c->op, al_show_int(c->g, n), al_show_int(c->g, stride), show_b(c), mode, show_extent(c, mode),
      show_flat(c),
      is_tile ? "; a nested mode may have a tile with an extent for each part, as in {{8, 4}, 16}"
              : "");
}

static void fail_unknown(const Compose *c, int mode, CtInt n, CtInt stride) {
  al_fail(c->g, CT_EUNSUPPORTED,
          "%s: cannot tell while tracing how %s steps of %s in %s run through mode %d (extent %s) "
          "in %s; use static extents, or tile mode by mode",
          c->op, al_show_int(c->g, n), al_show_int(c->g, stride), show_b(c), mode,
          show_extent(c, mode), show_flat(c));
}

static void fail_carry(const Compose *c, int mode) {
  bool known = c->flat.mode[mode].shape.kind == CT_STATIC && ct_layout_is_static(c->b);
  al_fail(c->g, known ? CT_EINVAL : CT_EUNSUPPORTED,
          "%s: the modes of %s together %sstep past mode %d (extent %s) in %s; their sum must stay "
          "within it",
          c->op, show_b(c), known ? "" : "may ", mode, show_extent(c, mode), show_flat(c));
}

static void fail_signs(const Compose *c, int down) {
  al_fail(c->g, CT_EINVAL,
          "%s: %s steps down in mode %d (extent %s) and up in another one of %s; steps of both "
          "signs must stay in one mode",
          c->op, show_b(c), down, show_extent(c, down), show_flat(c));
}

/* --- one mode of B ----------------------------------------------------------------------------- */

static int64_t add_saturated(int64_t a, int64_t b) {
  int64_t r;
  return ct_add_overflow(a, b, &r) ? INT64_MAX : r;
}

static CtFacts facts(const Compose *c, CtInt i) { return ct_int_facts(&c->g->cx, i); }

/* (n - 1) * s at most */
static int64_t most_steps(const Compose *c, CtInt n, CtInt stride) {
  int64_t steps = facts(c, n).hi, s = facts(c, stride).hi, reach;
  steps = steps > 0 ? steps - 1 : 0;
  return ct_mul_overflow(steps, s, &reach) ? INT64_MAX : reach;
}

/* Notes that some part of B moves in a mode, in one direction. */
static void note_direction(Compose *c, int mode, bool negative) {
  Reach *r = &c->reach[mode];
  r->up = r->up || !negative;
  r->down = r->down || negative;
}

/* Notes that n steps of `size` are taken in a mode; fits: they tile the mode. */
static void note_reach(Compose *c, int mode, CtInt n, CtInt size, bool fits) {
  Reach *r = &c->reach[mode];
  int64_t reach = most_steps(c, n, size), s = facts(c, size).lo;
  if (s > r->top_stride) {
    r->below = r->sum;
    r->top_stride = s;
    r->top_fits = fits;
  } else {
    r->below = add_saturated(r->below, reach);
  }
  r->sum = add_saturated(r->sum, reach);
}

/* Adds n steps within a mode to the result. */
static void add_part(Compose *c, int mode, CtInt n, CtInt stride) {
  stride = al_mul(c->g, stride, c->flat.mode[mode].stride);
  c->part[c->n_part++] = (CtFlatMode){n, stride, 0};
}

/* The steps of B that are not placed yet: n of sign * size. */
typedef struct Steps {
  CtInt n, size;
  bool negative;
} Steps;

static CtInt signed_stride(const Compose *c, const Steps *s) {
  return s->negative ? al_sub(c->g, ct_int(0), s->size) : s->size;
}

/* The steps that stay within `mode`; s->size < extent or both are run-time values. */
static void step_within(Compose *c, int mode, Steps *s) {
  CtAlg *g = c->g;
  CtInt extent = c->flat.mode[mode].shape, stride = signed_stride(c, s);
  bool exact = al_divides(g, s->size, extent);
  note_direction(c, mode, s->negative);
  if (most_steps(c, s->n, s->size) < facts(c, extent).lo) { /* all fit */
    note_reach(c, mode, s->n, s->size, exact);
    add_part(c, mode, s->n, stride);
    s->n = s->size = ct_int(1);
    return;
  }
  if (exact) {
    CtInt fit = al_div(g, extent, s->size);
    if (al_divides(g, fit, s->n)) {
      note_reach(c, mode, fit, s->size, true);
      add_part(c, mode, fit, stride);
      s->size = ct_int(1);
      s->n = al_div(g, s->n, fit);
      return;
    }
  }
  bool known = ct_is_static(s->n) && ct_is_static(s->size) && ct_is_static(extent);
  (known ? fail_shape : fail_unknown)(c, mode, s->n, stride);
}

static void step_mode(Compose *c, int mode, Steps *s) {
  CtInt extent = c->flat.mode[mode].shape;
  if (al_divides(c->g, extent, s->size)) {
    s->size = al_div(c->g, s->size, extent);
  } else if (ct_is_static(s->size) && ct_is_static(extent) && s->size.v >= extent.v) {
    fail_stride(c, mode, signed_stride(c, s));
  } else if (ct_is_const(s->n, 1)) {
    s->size = ct_int(1);
  } else {
    step_within(c, mode, s);
  }
}

/* Places all steps: leaves c->part with the result's modes. */
static void place_steps(Compose *c, Steps s) {
  int last = c->flat.n - 1;
  c->n_part = 0;
  for (int mode = 0; al_ok(c->g) && mode < last; mode++) {
    if (c->n_part > 0 && ct_is_const(s.n, 1)) {
      return;
    }
    step_mode(c, mode, &s);
  }
  if (c->n_part == 0 || !ct_is_const(s.n, 1)) {
    if (!ct_is_const(s.n, 1)) {
      note_direction(c, last, s.negative);
    }
    add_part(c, last, s.n, signed_stride(c, &s));
  }
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

/* The name of what n steps of s, both static, run through in the shape: the name that all leaves in
   which they move share, or that of the innermost mode around these. */
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

/* Names the parts of B's mode n:s, which follow one another in A: each part steps by the whole part
   before it. *name: the mode's name; found here if it has none. */
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

/* Emits the parts as one mode with this name. */
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

/* A stride v * E(path) steps by v within A's mode at that path. Fails if there is no such mode. */
static CtLayout mode_of_basis(CtLayout a, CtInt stride) {
  for (int i = 0; i < stride.basis_depth; i++) {
    if (stride.basis[i] >= ct_layout_rank(a)) {
      return AL_NO_LAYOUT;
    }
    a = ct_mode(a, stride.basis[i]);
  }
  return a;
}

static void compose_basis(Compose *c, CtModeName name, CtInt n, CtInt stride) {
  CtLayout a = mode_of_basis(c->a, stride);
  CtLeafLayout nodes;
  c->n_basis++;
  if (a.shape == NULL) {
    al_fail(c->g, CT_EINVAL, "%s: stride %s in %s names a mode that %s lacks", c->op,
            al_show_int(c->g, stride), show_b(c), al_show_layout(c->g, c->a));
  }
  stride.basis_depth = 0;
  CtLayout part = ct_leaf_layout(&nodes, n, stride);
  nodes.shape.name = name;
  ct_build_compositions(c->out, a, 1, &part);
}

static void compose_leaf(Compose *c, CtModeName name, CtInt n, CtInt stride) {
  if (ct_is_const(stride, 0)) {
    ct_build_leaf_named(c->out, name != 0 ? name : c->a.shape->name, n, stride);
    return;
  }
  if (stride.basis_depth > 0) {
    compose_basis(c, name, n, stride);
    return;
  }
  Steps s = {n, stride, false};
  if (ct_is_static(stride) && stride.v < 0 && c->flat.n > 1) {
    s.size = al_sub(c->g, ct_int(0), stride);
    s.negative = true;
  }
  place_steps(c, s);
  if (al_ok(c->g) && c->flat.has_names) {
    name_parts(c, n, s.size, &name);
  }
  emit_parts(c, name);
}

static void compose_node(Compose *c, CtTuple shape, CtTuple stride) {
  if (ct_is_leaf(shape)) {
    compose_leaf(c, shape->name, shape->i, stride->i);
    return;
  }
  CtTuple d = ct_first(stride);
  uint32_t at = c->out->len;
  ct_build_open_named(c->out, shape->name != 0 ? shape->name : c->a.shape->name);
  for (CtTuple s = ct_first(shape); al_ok(c->g) && s != ct_end(shape); s = ct_next(s)) {
    compose_node(c, s, d);
    d = ct_next(d);
  }
  ct_build_close(c->out);
  if (c->flat.has_names) {
    ct_build_name_tuple(c->out, at);
  }
}

/* --- all of B ---------------------------------------------------------------------------------- */

/* Do all steps in a mode of A stay below its extent together? Either their sum is below it, or the
   smaller steps sum to less than the largest step, whose own steps are known to tile the extent. */
static void check_reach(const Compose *c) {
  for (int i = 0; al_ok(c->g) && i < c->flat.n - 1; i++) {
    const Reach *r = &c->reach[i];
    bool below = r->sum < facts(c, c->flat.mode[i].shape).lo || r->sum == 0;
    if (!below && !(r->top_fits && r->below < r->top_stride)) {
      fail_carry(c, i);
    }
  }
}

/* If a mode of A has steps up and steps down, do they stay in that mode? */
static void check_signs(const Compose *c) {
  int down = -1, n_up = 0, n_down = 0, n_both = 0;
  for (int i = 0; i < c->flat.n; i++) {
    const Reach *r = &c->reach[i];
    down = r->down ? i : down;
    n_up += r->up;
    n_down += r->down;
    n_both += r->up && r->down;
  }
  if (n_up > 0 && n_down > 0 && n_up + n_down - n_both > 1 && al_ok(c->g)) {
    fail_signs(c, down);
  }
}

static void fail_basis(const Compose *c, CtStatus st, CtInt basis) {
  basis.v = 1;
  al_fail(c->g, st,
          "%s: the strides of %s in %s together %sstep past a mode of %s, through which they run; "
          "their sum must stay within it",
          c->op, al_show_int(c->g, basis), show_b(c), st == CT_EINVAL ? "" : "may ",
          al_show_layout(c->g, mode_of_basis(c->a, basis)));
}

/* Composes all modes of c->b, from node `at` on, whose strides are along one basis element, with
   that mode of a. Does nothing if an earlier node has already checked them. */
static void check_along(const Compose *c, uint32_t at, CtLeafLayout *nodes, CtLayout *modes) {
  CtInt basis = c->b.stride[at].i;
  CtAlg trial = al_trial(c->g);
  CtBuild scratch;
  int n = 0;
  for (CtLeaves w = ct_layout_leaves(c->b); ct_next_leaf(&w);) {
    CtInt stride = w.stride->i;
    if (!ct_same_basis(stride, basis)) {
      continue;
    }
    if (w.at < at) {
      return;
    }
    stride.basis_depth = 0;
    modes[n] = ct_leaf_layout(&nodes[n], w.shape->i, stride);
    n++;
  }
  if (n < 2) {
    return;
  }
  ct_build_init_layout(&scratch, &trial, c->op);
  ct_build_open(&scratch);
  ct_build_compositions(&scratch, mode_of_basis(c->a, basis), n, modes);
  if (!al_ok(&trial)) {
    fail_basis(c, trial.status, basis);
  }
}

/* Each stride that is a basis element was composed alone; strides along the same element meet in
   a. */
static void check_bases(const Compose *c) {
  size_t n = (size_t)c->n_basis;
  CtLeafLayout *nodes = al_alloc(c->g, n, sizeof *nodes);
  CtLayout *modes = al_alloc(c->g, n, sizeof *modes);
  for (CtLeaves w = ct_layout_leaves(c->b); al_ok(c->g) && ct_next_leaf(&w);) {
    if (w.stride->i.basis_depth > 0) {
      check_along(c, w.at, nodes, modes);
    }
  }
}

static void begin(Compose *c) {
  ct_flat_init(&c->flat, c->g);
  ct_flat_push_layout(&c->flat, c->a, true);
  if (c->flat.n == 0) { /* a is (): only the index 0 */
    c->flat.mode[c->flat.n++] = (CtFlatMode){ct_int(1), ct_int(0), 0};
  }
  c->part = al_alloc(c->g, (size_t)c->flat.n, sizeof *c->part);
  c->reach = al_alloc(c->g, (size_t)c->flat.n, sizeof *c->reach);
}

void ct_build_compositions(CtBuild *b, CtLayout a, int n, const CtLayout *parts) {
  Compose c = {.g = b->g, .op = b->op, .a = a, .b = parts[0], .out = b};
  begin(&c);
  for (int i = 0; al_ok(c.g) && i < n; i++) {
    c.b = parts[i];
    compose_node(&c, parts[i].shape, parts[i].stride);
    if (al_ok(c.g) && c.n_basis > 1) {
      check_bases(&c);
    }
  }
  if (al_ok(c.g)) {
    check_reach(&c);
    check_signs(&c);
  }
}

void ct_build_check_tiler(CtBuild *b, CtLayout a, CtTiler t, const char *most) {
  CtAlg *g = b->g;
  int rank = ct_layout_rank(a);
  if (t.n > rank) {
    al_fail(g, CT_EINVAL, "%s: tiler %s has rank %d but %s has rank %d; write %s per mode", b->op,
            al_show_tiler(g, t), t.n, al_show_layout(g, a), rank, most);
  }
}

static void build_by_mode(CtBuild *b, CtLayout a, CtTiler t) {
  switch (t.kind) {
    case CT_TILER_ANY: ct_build_layout(b, a); return;
    case CT_TILER_LAYOUT: ct_build_compositions(b, a, 1, &t.layout); return;
    case CT_TILER_TUPLE: break;
  }
  ct_build_check_tiler(b, a, t, "at most one entry");
  ct_build_open_named(b, ct_whole_name(a));
  for (int i = 0; al_ok(b->g) && i < t.n; i++) {
    build_by_mode(b, ct_mode(a, i), t.items[i]);
  }
  ct_build_close(b);
}

CtLayout al_composition(CtAlg *g, CtLayout a, CtTiler t) {
  CtBuild b;
  ct_build_init_layout(&b, g, "composition");
  if (al_ok(g)) {
    build_by_mode(&b, a, t);
  }
  return ct_build_take_layout(&b);
}

CtLayout al_plain_compose(CtAlg *g, CtLayout a, CtLayout b) {
  return al_composition(g, a, (CtTiler){.kind = CT_TILER_LAYOUT, .layout = b});
}
