/* tuple_build.c: the preorder builder of tuples and of layouts. */
#include "tuple_build.h"

#include <string.h>

void ct_build_init(CtBuild *b, CtAlg *g, const char *op, bool paired) {
  b->g = g;
  b->op = op;
  b->paired = paired;
  b->tree[0] = b->inline_nodes[0];
  b->tree[1] = b->inline_nodes[1];
  b->len = 0;
  b->cap = CT_BUILD_INLINE;
  b->depth = 0;
}

static bool grow(CtBuild *b, uint32_t need) {
  if (need > CT_MAX_NODES) {
    al_fail(b->g, CT_EINVAL, "%s: more than %d nodes in a tuple; simplify it", b->op, CT_MAX_NODES);
    return false;
  }
  while (b->cap < need) {
    b->cap *= 2;
  }
  b->cap = b->cap < CT_MAX_NODES ? b->cap : CT_MAX_NODES;
  for (int t = 0; t < 1 + b->paired; t++) {
    CtNode *nodes = al_alloc(b->g, b->cap, sizeof *nodes);
    if (nodes == NULL) {
      return false;
    }
    memcpy(nodes, b->tree[t], b->len * sizeof *nodes);
    b->tree[t] = nodes;
  }
  return true;
}

static bool reserve(CtBuild *b, uint32_t more) {
  return al_ok(b->g) && (b->len + more <= b->cap || grow(b, b->len + more));
}

/* Counts one more child of the innermost open tuple. Returns its name: the given one, or the
   tuple's. */
static inline CtModeName count_child(CtBuild *b, CtModeName name) {
  if (b->depth == 0) {
    return name;
  }
  uint32_t parent = b->open[b->depth - 1];
  CtNode *p = &b->tree[0][parent];
  p->rank++;
  if (b->paired) {
    b->tree[1][parent].rank++;
  }
  return name != 0 ? name : p->name;
}

static bool fits_depth(CtBuild *b, int more) {
  if (b->depth + more > CT_MAX_DEPTH) {
    al_fail(b->g, CT_EINVAL, "%s: nesting is deeper than %d; flatten it", b->op, CT_MAX_DEPTH);
  }
  return b->depth + more <= CT_MAX_DEPTH;
}

void ct_build_open_named(CtBuild *b, CtModeName name) {
  if (!reserve(b, 1) || !fits_depth(b, 1)) {
    return;
  }
  name = count_child(b, name);
  b->tree[0][b->len] = (CtNode){.rank = 0, .len = 1, .name = name};
  if (b->paired) {
    b->tree[1][b->len] = (CtNode){.rank = 0, .len = 1};
  }
  b->open[b->depth++] = b->len++;
}

void ct_build_close(CtBuild *b) {
  if (!al_ok(b->g)) {
    return;
  }
  CT_ASSERT(b->depth > 0);
  uint32_t at = b->open[--b->depth], len = b->len - at;
  b->tree[0][at].len = len;
  if (b->paired) {
    b->tree[1][at].len = len;
  }
}

void ct_build_name_tuple(CtBuild *b, uint32_t at) {
  CtTuple t = b->tree[0] + at;
  if (!al_ok(b->g) || t->name != 0) {
    return;
  }
  CtModeName name = t->rank > 0 ? ct_first(t)->name : 0;
  for (CtTuple c = ct_first(t); c != ct_end(t); c = ct_next(c)) {
    name = c->name == name ? name : 0;
  }
  b->tree[0][at].name = name;
}

void ct_build_leaf_named(CtBuild *b, CtModeName name, CtInt shape, CtInt stride) {
  if (reserve(b, 1)) {
    name = count_child(b, name);
    b->tree[0][b->len] = (CtNode){.rank = CT_LEAF, .len = 1, .name = name, .i = shape};
    if (b->paired) {
      b->tree[1][b->len] = (CtNode){.rank = CT_LEAF, .len = 1, .i = stride};
    }
    b->len++;
  }
}

/* Names the unnamed nodes among the last `len`. */
static void name_last(CtBuild *b, uint32_t len, CtModeName name) {
  CtNode *last = b->tree[0] + b->len - len;
  for (uint32_t i = 0; i < len; i++) {
    last[i].name = last[i].name != 0 ? last[i].name : name;
  }
}

void ct_build_copy(CtBuild *b, CtTuple shape, CtTuple stride) {
  if (!al_ok(b->g) || !reserve(b, shape->len) ||
      (shape->len > 1 && !fits_depth(b, ct_depth(shape)))) {
    return;
  }
  CtModeName name = count_child(b, shape->name);
  memcpy(b->tree[0] + b->len, shape, shape->len * sizeof *shape);
  if (b->paired) {
    CT_ASSERT(shape->len == stride->len);
    memcpy(b->tree[1] + b->len, stride, stride->len * sizeof *stride);
  }
  b->len += shape->len;
  if (shape->name != name) {
    name_last(b, shape->len, name);
  }
}

CtTuple ct_build_take(CtBuild *b, int tree) {
  CtNode *nodes = al_alloc(b->g, b->len, sizeof *nodes);
  if (nodes != NULL) {
    CT_ASSERT(b->depth == 0 && b->len > 0 && b->tree[0]->len == b->len);
    memcpy(nodes, b->tree[tree], b->len * sizeof *nodes);
  }
  return nodes;
}
