/* layout_coord.c: layouts with basis strides, whose values are coordinates, and sums of these.

   E(i, j) is the coordinate with a 1 at mode j of mode i and 0 elsewhere. The nesting of a value
   follows from the strides alone: each path that a stride names is a place in it, and a mode that no
   path names is 0. The entry at a place is what the layout gives when the strides of that path count
   as numbers and all others as 0. */
#include <string.h>

#include "layout_flat.h"

bool ct_has_basis(CtTuple stride) {
  for (CtTuple p = stride; p != stride + stride->len; p++) {
    if (ct_is_leaf(p) && p->i.basis_depth > 0) {
      return true;
    }
  }
  return false;
}

CtStatus ct_check_numbers(const CtCx *cx, const char *op, CtLayout a, CtErr *err) {
  return !ct_has_basis(a.stride)
             ? CT_OK
             : ct_fail(err, CT_EINVAL,
                       "%s: the values of %s are coordinates; expected strides that are numbers",
                       op, ct_show_layout(cx, a));
}

/* --- identity ---------------------------------------------------------------------------------- */

/* Makes the nodes of a shape's copy the basis elements of its modes; `path` leads to `node`. */
static bool number_modes(CtNode *node, CtInt path) {
  node->name = 0;
  if (node->rank == CT_LEAF) {
    node->i = path;
    return true;
  }
  if (path.basis_depth == CT_BASIS_MAX || node->rank > UINT8_MAX + 1) {
    return false;
  }
  CtNode *child = node + 1;
  path.basis_depth++;
  for (int i = 0; i < node->rank; i++) {
    path.basis[path.basis_depth - 1] = (uint8_t)i;
    if (!number_modes(child, path)) {
      return false;
    }
    child += child->len;
  }
  return true;
}

CtStatus ct_identity(const CtCx *cx, CtTuple shape, CtLayout *out, CtErr *err) {
  CtNode *nodes = ct_arena_alloc(cx->arena, shape->len * sizeof *nodes);
  if (nodes == NULL) {
    return ct_fail_nomem(err);
  }
  memcpy(nodes, shape, shape->len * sizeof *nodes);
  if (!number_modes(nodes, ct_int(1))) {
    return ct_fail(err, CT_EINVAL,
                   "identity: shape %s; expected at most %d levels, and %d modes at each",
                   ct_show_tuple(cx, shape), CT_BASIS_MAX, UINT8_MAX + 1);
  }
  return ct_layout_make(cx, shape, nodes, out, err);
}

/* --- evaluation -------------------------------------------------------------------------------- */

typedef struct Places {
  const CtCx *cx;
  CtErr *err;
  CtTuple crd;
  CtLayout l;
  CtNode *stride; /* room for the strides of one path */
} Places;

static bool same_path(CtInt a, CtInt b) {
  return a.basis_depth == b.basis_depth && memcmp(a.basis, b.basis, a.basis_depth) == 0;
}

/* The entry at a place. */
static CtStatus value_at(const Places *p, CtInt path, CtInt *out) {
  for (uint32_t i = 0; i < p->l.stride->len; i++) {
    CtInt d = p->l.stride[i].i;
    bool here = ct_is_leaf(&p->l.stride[i]) && same_path(d, path);
    p->stride[i] = p->l.stride[i];
    d.basis_depth = 0;
    p->stride[i].i = here ? d : ct_int(0);
  }
  return ct_crd2idx(p->cx, p->crd, (CtLayout){p->l.shape, p->stride}, out, p->err);
}

/* How the strides go on behind a path: none, one that ends there, the number of modes below. */
typedef struct Below {
  bool here;
  int n_modes;
} Below;

static Below look_below(CtTuple stride, CtInt path) {
  Below r = {false, 0};
  for (CtTuple p = stride; p != stride + stride->len; p++) {
    CtInt d = p->i;
    if (!ct_is_leaf(p) || ct_is_const(d, 0) || d.basis_depth < path.basis_depth ||
        memcmp(d.basis, path.basis, path.basis_depth) != 0) {
      continue;
    }
    if (d.basis_depth == path.basis_depth) {
      r.here = true;
    } else if (d.basis[path.basis_depth] >= r.n_modes) {
      r.n_modes = d.basis[path.basis_depth] + 1;
    }
  }
  return r;
}

static CtStatus fail_mixed(const Places *p) {
  return ct_fail(
      p->err, CT_EINVAL,
      "layout: the strides of %s name a mode as well as a part of it; a value would be a "
      "number and a tuple",
      ct_show_layout(p->cx, p->l));
}

static CtStatus build_value(const Places *p, CtBuild *b, CtInt path) {
  Below below = look_below(p->l.stride, path);
  CtInt v = ct_int(0);
  if (below.here && below.n_modes > 0) {
    return fail_mixed(p);
  }
  if (below.n_modes == 0) {
    CtStatus st = below.here ? value_at(p, path, &v) : CT_OK;
    ct_build_leaf(b, v, v);
    return st;
  }
  ct_build_open(b);
  path.basis_depth++;
  for (int i = 0; i < below.n_modes; i++) {
    path.basis[path.basis_depth - 1] = (uint8_t)i;
    CtStatus st = build_value(p, b, path);
    if (st != CT_OK) {
      return st;
    }
  }
  ct_build_close(b);
  return CT_OK;
}

static CtStatus evaluate_coord(const CtCx *cx, CtTuple crd, CtLayout l, CtTuple *out, CtErr *err) {
  CtBuild b;
  Places p = {.cx = cx, .err = err, .crd = crd, .l = l};
  p.stride = ct_arena_alloc(cx->arena, l.stride->len * sizeof *p.stride);
  if (p.stride == NULL) {
    return ct_fail_nomem(err);
  }
  ct_build_init(&b, cx->arena, "layout", false, err);
  CtStatus st = build_value(&p, &b, ct_int(0));
  return st == CT_OK ? ct_build_finish(&b, out, NULL) : st;
}

CtStatus ct_evaluate(const CtCx *cx, CtTuple crd, CtLayout l, CtTuple *out, CtErr *err) {
  CtInt i;
  if (ct_has_basis(l.stride)) {
    return evaluate_coord(cx, crd, l, out, err);
  }
  CtStatus st = ct_crd2idx(cx, crd, l, &i, err);
  if (st == CT_OK) {
    CtTuple leaf = ct_leaf(cx->arena, i);
    st = leaf == NULL ? ct_fail_nomem(err) : CT_OK;
    *out = st == CT_OK ? leaf : *out;
  }
  return st;
}

/* --- sums -------------------------------------------------------------------------------------- */

/* v * E(i, ...) as a coordinate; other values as they are. */
static CtStatus spread(const CtCx *cx, CtTuple t, CtTuple *out, CtErr *err) {
  CtNode one = {.rank = CT_LEAF, .len = 1, .i = ct_int(1)};
  CtLayout l = {&one, t};
  *out = t;
  return ct_is_leaf(t) && t->i.basis_depth > 0 ? evaluate_coord(cx, &one, l, out, err) : CT_OK;
}

static CtStatus build_sum(const CtCx *cx, CtBuild *b, CtTuple x, CtTuple y, CtErr *err) {
  CtTuple none = &(const CtNode){.rank = CT_LEAF, .len = 1, .i = {.v = 0}};
  CtInt sum;
  CtStatus st = spread(cx, x, &x, err);
  if (st == CT_OK) {
    st = spread(cx, y, &y, err);
  }
  if (st == CT_OK && ct_is_leaf(x) && ct_is_leaf(y)) {
    st = ct_int_op(cx, CT_INT_ADD, x->i, y->i, &sum, err);
    if (st == CT_OK) {
      ct_build_leaf(b, sum, sum);
    }
    return st;
  }
  bool no_x = ct_is_leaf(x) && ct_is_const(x->i, 0), no_y = ct_is_leaf(y) && ct_is_const(y->i, 0);
  if (st == CT_OK && ((ct_is_leaf(x) && !no_x) || (ct_is_leaf(y) && !no_y))) {
    st = ct_fail(err, CT_EINVAL, "coordinate: %s and %s cannot be added; expected equal nesting",
                 ct_show_tuple(cx, x), ct_show_tuple(cx, y));
  }
  int n_x = no_x ? 0 : ct_rank(x), n_y = no_y ? 0 : ct_rank(y);
  ct_build_open(b);
  for (int i = 0; st == CT_OK && i < (n_x > n_y ? n_x : n_y); i++) {
    st = build_sum(cx, b, i < n_x ? ct_child(x, i) : none, i < n_y ? ct_child(y, i) : none, err);
  }
  ct_build_close(b);
  return st;
}

CtStatus ct_coord_add(const CtCx *cx, CtTuple a, CtTuple b, CtTuple *out, CtErr *err) {
  CtBuild sum;
  CtInt i;
  if (ct_is_leaf(a) && ct_is_leaf(b) && ct_int_op(cx, CT_INT_ADD, a->i, b->i, &i, NULL) == CT_OK) {
    CtTuple leaf = ct_leaf(cx->arena, i); /* E(0) + 2 * E(0) is one basis element */
    *out = leaf == NULL ? *out : leaf;
    return leaf == NULL ? ct_fail_nomem(err) : CT_OK;
  }
  ct_build_init(&sum, cx->arena, "coordinate", false, err);
  CtStatus st = build_sum(cx, &sum, a, b, err);
  return st == CT_OK ? ct_build_finish(&sum, out, NULL) : st;
}
