/* tuple_build.c: the preorder builder of tuples and of layouts. */
#include "tuple_build.h"

#include <string.h>

void ct_build_init(CtBuild *b, CtArena *arena, const char *op, bool paired, CtErr *err) {
  b->arena = arena;
  b->err = err;
  b->op = op;
  b->status = CT_OK;
  b->paired = paired;
  b->tree[0] = b->inline_nodes[0];
  b->tree[1] = b->inline_nodes[1];
  b->len = 0;
  b->cap = CT_BUILD_INLINE;
  b->depth = 0;
}

void ct_build_fail(CtBuild *b, CtStatus status) {
  if (b->status == CT_OK) {
    b->status = status;
  }
}

static bool grow(CtBuild *b, uint32_t need) {
  if (need > CT_MAX_NODES) {
    ct_build_fail(b, ct_fail(b->err, CT_EINVAL, "%s: more than %d nodes in a tuple; simplify it",
                             b->op, CT_MAX_NODES));
    return false;
  }
  uint32_t cap = b->cap;
  while (cap < need) {
    cap *= 2;
  }
  cap = cap < CT_MAX_NODES ? cap : CT_MAX_NODES;
  for (int t = 0; t < 1 + b->paired; t++) {
    CtNode *nodes = ct_arena_alloc(b->arena, cap * sizeof *nodes);
    if (nodes == NULL) {
      ct_build_fail(b, ct_fail_nomem(b->err));
      return false;
    }
    memcpy(nodes, b->tree[t], b->len * sizeof *nodes);
    b->tree[t] = nodes;
  }
  b->cap = cap;
  return true;
}

static bool reserve(CtBuild *b, uint32_t more) {
  return b->status == CT_OK && (b->len + more <= b->cap || grow(b, b->len + more));
}

/* One more child of the innermost open tuple. Returns its name: the given one, or the tuple's. */
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
  if (b->depth + more <= CT_MAX_DEPTH) {
    return true;
  }
  ct_build_fail(b, ct_fail(b->err, CT_EINVAL, "%s: nesting is deeper than %d; flatten it", b->op,
                           CT_MAX_DEPTH));
  return false;
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
  if (b->status != CT_OK) {
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
  if (b->status != CT_OK || t->name != 0) {
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

/* Names what has no name in the last `len` nodes. */
static void name_last(CtBuild *b, uint32_t len, CtModeName name) {
  CtNode *last = b->tree[0] + b->len - len;
  for (uint32_t i = 0; i < len; i++) {
    last[i].name = last[i].name != 0 ? last[i].name : name;
  }
}

void ct_build_copy(CtBuild *b, CtTuple shape, CtTuple stride) {
  if (!reserve(b, shape->len) || (shape->len > 1 && !fits_depth(b, ct_depth(shape)))) {
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

static CtStatus keep(CtBuild *b, int t, CtTuple *out) {
  CtNode *nodes = ct_arena_alloc(b->arena, b->len * sizeof *nodes);
  if (nodes == NULL) {
    return ct_fail_nomem(b->err);
  }
  memcpy(nodes, b->tree[t], b->len * sizeof *nodes);
  *out = nodes;
  return CT_OK;
}

CtStatus ct_build_finish(CtBuild *b, CtTuple *shape, CtTuple *stride) {
  CtTuple made[2] = {NULL, NULL};
  if (b->status != CT_OK) {
    return b->status;
  }
  CT_ASSERT(b->depth == 0 && b->len > 0 && b->tree[0]->len == b->len);
  CtStatus st = keep(b, 0, &made[0]);
  if (st == CT_OK && b->paired) {
    st = keep(b, 1, &made[1]);
  }
  if (st == CT_OK) {
    *shape = made[0];
    if (stride != NULL) {
      *stride = made[1];
    }
  }
  return st;
}
