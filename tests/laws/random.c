/* random.c: random layouts, tilers and coordinates. */
#include "random.h"

#include <stdlib.h>
#include <string.h>

/* --- numbers ------------------------------------------------------------------------------------ */

uint64_t rng_next(Rng *r) { /* SplitMix64 */
  uint64_t z = r->state += 0x9E3779B97F4A7C15u;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return z ^ (z >> 31);
}

int64_t rng_below(Rng *r, int64_t n) { return n <= 0 ? 0 : (int64_t)(rng_next(r) % (uint64_t)n); }

bool rng_chance(Rng *r, int percent) { return rng_below(r, 100) < percent; }

int64_t random_divisor(Rng *r, int64_t n) {
  int64_t d;
  do {
    d = 1 + rng_below(r, ct_min(n, 64));
  } while (n > 0 && n % d != 0);
  return d;
}

static void *must(void *p) {
  if (p == NULL) {
    abort();
  }
  return p;
}

/* --- shapes ------------------------------------------------------------------------------------- */

enum { MAX_LEAVES = 8, MAX_TREE = 32 };

typedef struct Tree {
  Rng *r;
  CtNode node[MAX_TREE];
  uint32_t len;
  int leaves;
  int64_t room; /* the size may still grow by this factor */
} Tree;

static const int64_t extents[] = {1, 2, 2, 2, 3, 3, 4, 4, 4, 5, 6, 7, 8, 8, 9, 12, 16};

static int64_t random_extent(Tree *t) {
  int64_t n = extents[rng_below(t->r, CT_ARRAY_LEN(extents))];
  if (t->room > 100000 && rng_chance(t->r, 50)) {
    n <<= rng_below(t->r, 20);
  }
  if (rng_below(t->r, 2000) == 0) {
    return 0;
  }
  n = n > t->room ? 1 + rng_below(t->r, t->room) : n;
  t->room /= n;
  return n;
}

static void grow_tree(Tree *t, int depth) {
  uint32_t at = t->len++;
  bool leaf = depth == 0 || t->leaves >= MAX_LEAVES - 4 || t->len + 6 > MAX_TREE;
  if (leaf || (at > 0 && rng_chance(t->r, 50))) {
    t->node[at] = (CtNode){.rank = CT_LEAF, .len = 1, .i = ct_int(random_extent(t))};
    t->leaves++;
    return;
  }
  int rank = (int)rng_below(t->r, 12);
  rank = rank == 0 ? 1 : 2 + rank % 3;
  t->node[at] = (CtNode){.rank = rank};
  for (int i = 0; i < rank; i++) {
    grow_tree(t, depth - 1);
  }
  t->node[at].len = t->len - at;
}

static CtTuple keep_nodes(CtArena *a, const CtNode *nodes, uint32_t n) {
  CtNode *copy = must(ct_arena_alloc(a, n * sizeof *copy));
  memcpy(copy, nodes, n * sizeof *copy);
  return copy;
}

CtTuple random_shape(Rng *r, CtArena *a, int64_t max) {
  Tree t = {.r = r, .room = max};
  grow_tree(&t, rng_chance(r, 12) ? 0 : 1 + (int)rng_below(r, 3));
  return keep_nodes(a, t.node, t.len);
}

/* --- strides ------------------------------------------------------------------------------------ */

typedef struct Strides {
  Rng *r;
  int n;
  int order[MAX_LEAVES * 8]; /* the modes, fastest first */
  int64_t shape[MAX_LEAVES * 8], stride[MAX_LEAVES * 8];
} Strides;

static void shuffle(Rng *r, int *items, int n) {
  for (int i = n - 1; i > 0; i--) {
    int k = (int)rng_below(r, i + 1), t = items[i];
    items[i] = items[k];
    items[k] = t;
  }
}

static void order_modes(Strides *s, int how) { /* 0: column-major, 1: row-major, 2: random */
  for (int i = 0; i < s->n; i++) {
    s->order[i] = how == 1 ? s->n - 1 - i : i;
  }
  if (how == 2) {
    shuffle(s->r, s->order, s->n);
  }
}

/* Compact in the order of modes; a `pad` percent of the modes begin later. */
static void stack_modes(Strides *s, int pad, bool odd_gaps) {
  int64_t d = 1;
  for (int i = 0; i < s->n; i++) {
    int k = s->order[i];
    if (rng_chance(s->r, pad)) {
      d = odd_gaps ? d + rng_below(s->r, 4) : d * (1 + rng_below(s->r, 4));
    }
    s->stride[k] = s->shape[k] == 1 && rng_chance(s->r, 70) ? 0 : d;
    if (ct_mul_overflow(d, ct_max(s->shape[k], 1), &d) || d > INT64_MAX / 64) {
      d = 1;
    }
  }
}

static void small_strides(Strides *s, int64_t max) {
  for (int i = 0; i < s->n; i++) {
    s->stride[i] = rng_below(s->r, max + 1);
  }
}

static void huge_strides(Strides *s) {
  for (int i = 0; i < s->n; i++) {
    s->stride[i] = (int64_t)1 << (30 + rng_below(s->r, 33));
    s->stride[i] += rng_chance(s->r, 50) ? 0 : rng_below(s->r, 1 << 20);
  }
}

static void change_some(Strides *s, int percent, int64_t factor) {
  for (int i = 0; i < s->n; i++) {
    if (rng_chance(s->r, percent)) {
      s->stride[i] *= factor;
    }
  }
}

static void choose_strides(Strides *s) {
  int kind = (int)rng_below(s->r, 100);
  order_modes(s, (int)rng_below(s->r, 3));
  if (kind < 36) {
    stack_modes(s, 0, false);
  } else if (kind < 51) {
    stack_modes(s, 40, false);
  } else if (kind < 63) {
    stack_modes(s, 40, true);
  } else if (kind < 85) {
    small_strides(s, 4 + rng_below(s->r, 20));
  } else if (kind < 97) {
    stack_modes(s, 20, false);
    change_some(s, 30, 0);
  } else if (kind < 98) {
    stack_modes(s, 20, false);
    change_some(s, 50, -1);
  } else {
    huge_strides(s);
  }
}

static CtLayout with_strides(Strides *s, CtArena *a, CtTuple shape, void (*choose)(Strides *)) {
  CtNode *stride = must(ct_arena_alloc(a, shape->len * sizeof *stride));
  memcpy(stride, shape, shape->len * sizeof *stride);
  s->n = 0;
  for (uint32_t i = 0; i < shape->len; i++) {
    if (ct_is_leaf(&shape[i])) {
      s->shape[s->n++] = shape[i].i.v;
    }
  }
  choose(s);
  for (uint32_t i = 0, k = 0; i < shape->len; i++) {
    if (ct_is_leaf(&shape[i])) {
      stride[i].i = ct_int(s->stride[k++]);
    }
  }
  return (CtLayout){shape, stride};
}

CtLayout random_layout(Rng *r, CtArena *a, int64_t max) {
  Strides s = {.r = r};
  max = rng_below(r, 50) == 0 ? (int64_t)1 << 40 : max;
  return with_strides(&s, a, random_shape(r, a, max), choose_strides);
}

static void choose_compact(Strides *s) {
  order_modes(s, (int)rng_below(s->r, 3));
  stack_modes(s, 0, false);
}

CtLayout random_compact(Rng *r, CtArena *a, int64_t max) {
  Strides s = {.r = r};
  return with_strides(&s, a, random_shape(r, a, max), choose_compact);
}

CtLayout random_bits(Rng *r, CtArena *a) {
  Strides s = {.r = r};
  CtInt extents_of[4];
  int rank = 1 + (int)rng_below(r, 4);
  for (int i = 0; i < rank; i++) {
    extents_of[i] = ct_int((int64_t)1 << rng_below(r, 4));
  }
  return with_strides(&s, a, must((void *)ct_tuple_ints(a, rank, extents_of)), choose_compact);
}

/* --- layouts that fit another ------------------------------------------------------------------- */

/* Steps through l: the prime factors of its extents from left to right, as n:s with s the product
   of all before. */
static int even_steps(Rng *r, CtLayout l, int64_t *shape, int64_t *stride, int max) {
  int64_t done = 1;
  int n = 0;
  for (uint32_t i = 0; i < l.shape->len; i++) {
    int64_t left = ct_is_leaf(&l.shape[i]) ? l.shape[i].i.v : 1;
    while (left > 1 && n < max) {
      int64_t d = random_divisor(r, left);
      d = d == 1 ? left : d;
      bool join = n > 0 && stride[n - 1] * shape[n - 1] == done && rng_chance(r, 30);
      if (join) {
        shape[n - 1] *= d;
      } else {
        shape[n] = d;
        stride[n++] = done;
      }
      left /= d;
      done *= d;
    }
  }
  return n;
}

/* n modes as a flat or nested layout. */
static CtLayout nest(Rng *r, CtArena *a, int n, const int64_t *shape, const int64_t *stride) {
  CtNode s[2 * MAX_LEAVES + 2], d[2 * MAX_LEAVES + 2];
  uint32_t len = 0, root = n > 1;
  int rank = 0;
  len += root;
  for (int i = 0; i < n; i++, rank++) {
    bool pair = i + 2 < n && rng_chance(r, 25);
    for (int k = pair ? -1 : 0; k < (pair ? 2 : 1); k++) {
      CtNode tuple = {.rank = 2, .len = 3};
      s[len] = k < 0 ? tuple : (CtNode){.rank = CT_LEAF, .len = 1, .i = ct_int(shape[i + k])};
      d[len] = k < 0 ? tuple : (CtNode){.rank = CT_LEAF, .len = 1, .i = ct_int(stride[i + k])};
      len++;
    }
    i += pair;
  }
  if (root) {
    s[0] = d[0] = (CtNode){.rank = rank, .len = len};
  }
  return (CtLayout){keep_nodes(a, s, len), keep_nodes(a, d, len)};
}

CtLayout random_fitting(Rng *r, CtArena *a, CtLayout l) {
  int64_t shape[32], stride[32], s[MAX_LEAVES], d[MAX_LEAVES];
  int order[32], n = even_steps(r, l, shape, stride, 32), kept = 0;
  for (int i = 0; i < n; i++) {
    order[i] = i;
  }
  if (rng_chance(r, 70)) {
    shuffle(r, order, n);
  }
  int most = 1 + (int)rng_below(r, 4);
  for (int i = 0; i < n && kept < most; i++, kept++) {
    s[kept] = shape[order[i]];
    d[kept] = rng_chance(r, 4) ? 0 : stride[order[i]];
  }
  if (kept == 0) {
    s[kept] = 1;
    d[kept++] = 0;
  }
  return nest(r, a, kept, s, d);
}

/* --- tilers ------------------------------------------------------------------------------------- */

CtTiler layout_tiler(CtLayout l) { return (CtTiler){.kind = CT_TILER_LAYOUT, .layout = l}; }

static CtTiler int_tiler(CtArena *a, int64_t n) {
  CtNode s = {.rank = CT_LEAF, .len = 1, .i = ct_int(n)}, d = s;
  d.i = ct_int(1);
  CtLayout l = {keep_nodes(a, &s, 1), keep_nodes(a, &d, 1)};
  return (CtTiler){.kind = CT_TILER_LAYOUT, .layout = l, .is_int = true};
}

static int64_t static_size(CtTuple t) {
  int64_t n = 1;
  for (uint32_t i = 0; i < t->len; i++) {
    n *= ct_is_leaf(&t[i]) ? t[i].i.v : 1;
  }
  return n;
}

static CtTiler random_part(Rng *r, CtArena *a, CtLayout l, bool with_any, int depth) {
  int64_t size = static_size(l.shape);
  int kind = (int)rng_below(r, 100);
  if (depth > 0 && !ct_is_leaf(l.shape) && kind < (depth == 3 ? 60 : 25)) {
    int n = l.shape->rank;
    CtTiler *items = must(ct_arena_alloc(a, (size_t)n * sizeof *items + 1));
    n -= n > 1 && rng_chance(r, 15);
    for (int i = 0; i < n; i++) {
      items[i] = random_part(r, a, ct_mode(l, i), with_any, depth - 1);
    }
    return (CtTiler){.kind = CT_TILER_TUPLE, .n = n, .items = items};
  }
  if (with_any && kind < 35) {
    return (CtTiler){.kind = CT_TILER_ANY};
  }
  if (kind < 75) {
    return int_tiler(a, rng_chance(r, 80) ? random_divisor(r, size) : 1 + rng_below(r, 12));
  }
  return layout_tiler(rng_chance(r, 85) ? random_fitting(r, a, l) : random_layout(r, a, 16));
}

CtTiler random_tiler(Rng *r, CtArena *a, CtLayout l, bool with_any) {
  return random_part(r, a, l, with_any, 3);
}

/* --- coordinates -------------------------------------------------------------------------------- */

CtTuple random_natural(Rng *r, CtArena *a, CtTuple shape) {
  CtNode *c = must(ct_arena_alloc(a, shape->len * sizeof *c));
  memcpy(c, shape, shape->len * sizeof *c);
  for (uint32_t i = 0; i < shape->len; i++) {
    if (ct_is_leaf(&c[i])) {
      c[i].i = ct_int(rng_below(r, shape[i].i.v));
    }
  }
  return c;
}

static uint32_t stop_somewhere(Rng *r, CtTuple shape, int any, CtNode *out) {
  bool is_any = rng_chance(r, any);
  if (is_any || ct_is_leaf(shape) || rng_chance(r, 30)) {
    CtInt i = is_any ? ct_any() : ct_int(rng_below(r, static_size(shape)));
    *out = (CtNode){.rank = CT_LEAF, .len = 1, .i = i};
    return 1;
  }
  uint32_t len = 1;
  for (CtTuple s = ct_first(shape); s != ct_end(shape); s = ct_next(s)) {
    len += stop_somewhere(r, s, any, out + len);
  }
  *out = (CtNode){.rank = shape->rank, .len = len};
  return len;
}

CtTuple random_coord(Rng *r, CtArena *a, CtTuple shape, int any) {
  CtNode *c = must(ct_arena_alloc(a, shape->len * sizeof *c));
  stop_somewhere(r, shape, any, c);
  return c;
}
