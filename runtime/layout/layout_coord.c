/* layout_coord.c: layouts with basis strides, whose values are coordinates, and sums of coordinates.

   E(i, j) is the coordinate with a 1 at mode j of mode i and 0 elsewhere. The nesting of a value
   follows from the strides alone: each path that a stride names is a place in it, and a mode that no
   path names is 0. The entry at a place is what the layout gives when the strides of that path count
   as numbers and all others as 0. */
#include <string.h>

#include "layout_algebra.h"

bool ct_has_basis(CtTuple stride) {
  for (CtLeaves w = ct_leaves_of(stride); ct_next_leaf(&w);) {
    if (w.shape->i.basis_depth > 0) {
      return true;
    }
  }
  return false;
}

void al_check_numbers(CtAlg *g, const char *op, CtLayout a) {
  if (al_ok(g) && ct_has_basis(a.stride)) {
    al_fail(g, CT_EINVAL, "%s: the values of %s are coordinates; expected strides that are numbers",
            op, al_show_layout(g, a));
  }
}

/* --- identity ---------------------------------------------------------------------------------- */

/* Turns the nodes of a shape's copy into the basis elements of its modes; `path` leads to
   `node`. */
static bool number_modes(CtNode *node, CtInt path) {
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

CtLayout al_identity(CtAlg *g, CtTuple shape) {
  CtNode *nodes = al_nodes(g, shape);
  if (nodes != NULL && !number_modes(nodes, ct_int(1))) {
    al_fail(g, CT_EINVAL,
            "identity_layout: shape %s; expected at most %d levels, and %d modes at each",
            al_show_tuple(g, shape), CT_BASIS_MAX, UINT8_MAX + 1);
  }
  return al_layout(g, shape, nodes);
}

/* --- evaluation -------------------------------------------------------------------------------- */

typedef struct Places {
  CtBuild *b;
  CtTuple crd;
  CtLayout l;
  CtNode *stride; /* room for the strides of one path */
} Places;

/* The entry at a place. */
static CtInt value_at(const Places *p, CtInt path) {
  for (CtLeaves w = ct_leaves_of(p->l.stride); ct_next_leaf(&w);) {
    CtInt d = w.shape->i;
    bool here = ct_same_basis(d, path);
    d.basis_depth = 0;
    p->stride[w.at].i = here ? d : ct_int(0);
  }
  return al_plain_index(p->b->g, p->crd, (CtLayout){p->l.shape, p->stride});
}

/* How the strides continue after a path: no stride does, one ends there, or the number of modes
   below. */
typedef struct Below {
  bool here;
  int n_modes;
} Below;

static Below look_below(CtTuple stride, CtInt path) {
  Below r = {false, 0};
  for (CtLeaves w = ct_leaves_of(stride); ct_next_leaf(&w);) {
    CtInt d = w.shape->i;
    if (ct_is_const(d, 0) || d.basis_depth < path.basis_depth ||
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

static void build_value(const Places *p, CtInt path) {
  Below below = look_below(p->l.stride, path);
  CtAlg *g = p->b->g;
  if (below.here && below.n_modes > 0) {
    al_fail(g, CT_EINVAL,
            "layout: the strides of %s name a mode as well as a part of it; a value would be a "
            "number and a tuple",
            al_show_layout(g, p->l));
  }
  if (below.n_modes == 0) {
    ct_build_int(p->b, below.here ? value_at(p, path) : ct_int(0));
    return;
  }
  ct_build_open(p->b);
  path.basis_depth++;
  for (int i = 0; al_ok(g) && i < below.n_modes; i++) {
    path.basis[path.basis_depth - 1] = (uint8_t)i;
    build_value(p, path);
  }
  ct_build_close(p->b);
}

static CtTuple evaluate_coord(CtAlg *g, CtTuple crd, CtLayout l) {
  CtBuild b;
  ct_build_init(&b, g, "layout", false);
  Places p = {.b = &b, .crd = crd, .l = l, .stride = al_nodes(g, l.stride)};
  if (al_ok(g)) {
    build_value(&p, ct_int(0));
  }
  return ct_build_take(&b, 0);
}

CtTuple al_plain_evaluate(CtAlg *g, CtTuple crd, CtLayout l) {
  return ct_has_basis(l.stride) ? evaluate_coord(g, crd, l) : al_leaf(g, al_plain_index(g, crd, l));
}

/* --- sums -------------------------------------------------------------------------------------- */

/* v * E(i, ...) as a coordinate; other values as they are. */
static CtTuple spread(CtAlg *g, CtTuple t) {
  CtNode one = {.rank = CT_LEAF, .len = 1, .i = ct_int(1)};
  return ct_is_leaf(t) && t->i.basis_depth > 0 ? evaluate_coord(g, &one, (CtLayout){&one, t}) : t;
}

static bool is_zero(CtTuple t) { return ct_is_leaf(t) && ct_is_const(t->i, 0); }

static void build_sum(CtBuild *b, CtTuple x, CtTuple y) {
  CtTuple none = &(const CtNode){.rank = CT_LEAF, .len = 1, .i = {.v = 0}};
  CtAlg *g = b->g;
  x = spread(g, x);
  y = spread(g, y);
  if (al_ok(g) && ct_is_leaf(x) && ct_is_leaf(y)) {
    ct_build_int(b, al_add(g, x->i, y->i));
    return;
  }
  if (al_ok(g) && ((ct_is_leaf(x) && !is_zero(x)) || (ct_is_leaf(y) && !is_zero(y)))) {
    al_fail(g, CT_EINVAL, "coordinate: %s and %s cannot be added; expected equal nesting",
            al_show_tuple(g, x), al_show_tuple(g, y));
  }
  if (!al_ok(g)) {
    return;
  }
  int n_x = ct_is_leaf(x) ? 0 : x->rank, n_y = ct_is_leaf(y) ? 0 : y->rank;
  ct_build_open(b);
  for (int i = 0; al_ok(g) && i < (n_x > n_y ? n_x : n_y); i++) {
    build_sum(b, i < n_x ? ct_child(x, i) : none, i < n_y ? ct_child(y, i) : none);
  }
  ct_build_close(b);
}

CtTuple al_coord_add(CtAlg *g, CtTuple x, CtTuple y) {
  CtBuild b;
  CtAlg trial = al_trial(g);
  if (al_ok(g) && ct_is_leaf(x) && ct_is_leaf(y)) {
    CtInt sum = al_add(&trial, x->i, y->i); /* E(0) + 2 * E(0) is one basis element */
    if (al_ok(&trial)) {
      return al_leaf(g, sum);
    }
  }
  ct_build_init(&b, g, "coordinate", false);
  if (al_ok(g)) {
    build_sum(&b, x, y);
  }
  return ct_build_take(&b, 0);
}
