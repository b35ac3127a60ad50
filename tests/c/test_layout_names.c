/* test_layout_names.c: names of modes through the algebra. Laws on random layouts: an operation with
   names taken away from its result is the operation on layouts without names; each result keeps what
   inttuple.h promises of names. Then where each operation puts the names. */
#include "runtime/layout/layout.h"

#include "tap.h"

static CtArena arena;
static CtCx cx = {&arena, NULL};
static CtErr err;

/* --- random layouts ---------------------------------------------------------------------------- */

static uint32_t state = 2024;

static uint32_t draw(uint32_t n) {
  state = state * 1664525u + 1013904223u;
  return (state >> 16) % n;
}

/* Appends a shape with names here and there, and a stride of the same nesting. */
static void draw_tree(CtText *shape, CtText *stride, int depth) {
  static const int extents[] = {1, 2, 2, 3, 4, 4, 6, 8}, strides[] = {0, 1, 1, 2, 3, 4, 8, 16, 32};
  static const char *const names[] = {"M=", "K=", "a=", "b=", "", "", ""};
  ct_text_puts(shape, names[draw(CT_ARRAY_LEN(names))]);
  if (depth == 0 || draw(2) == 0) {
    ct_text_printf(shape, "%d", extents[draw(CT_ARRAY_LEN(extents))]);
    ct_text_printf(stride, "%d", strides[draw(CT_ARRAY_LEN(strides))]);
    return;
  }
  ct_text_putc(shape, '(');
  ct_text_putc(stride, '(');
  for (uint32_t n = 1 + draw(3), i = 0; i < n; i++) {
    ct_text_puts(shape, i > 0 ? "," : "");
    ct_text_puts(stride, i > 0 ? "," : "");
    draw_tree(shape, stride, depth - 1);
  }
  ct_text_putc(shape, ')');
  ct_text_putc(stride, ')');
}

static CtLayout parse(const char *s) {
  CtLayout l = {NULL, NULL};
  if (ct_layout_parse(&arena, s, strlen(s), &l, &err) != CT_OK) {
    tap_diag("%s", err.msg);
    abort();
  }
  return l;
}

static CtLayout draw_layout(int depth) {
  CtText shape, stride;
  ct_text_init(&shape, ct_alloc_std);
  ct_text_init(&stride, ct_alloc_std);
  draw_tree(&shape, &stride, depth);
  if (draw(2) == 0) { /* half of them compact, so that more operations accept them */
    ct_text_puts(&shape, ":");
    ct_text_puts(&shape, ct_text_str(&stride));
  }
  CtLayout l = parse(ct_text_str(&shape));
  ct_text_clear(&shape);
  ct_text_clear(&stride);
  return l;
}

/* --- all operations ---------------------------------------------------------------------------- */

/* Operands: two layouts, a number, a coordinate. */
typedef struct Args {
  CtLayout a, b;
  int n;
  CtTuple crd;
} Args;

static CtTiler as_tiler(CtLayout l) { return (CtTiler){.kind = CT_TILER_LAYOUT, .layout = l}; }

/* By mode: a number for mode 0, a layout for mode 1, as far as there are modes. */
static CtTiler by_mode(const Args *g) {
  CtTiler *items = ct_arena_alloc(&arena, 2 * sizeof *items);
  if (items == NULL) {
    abort();
  }
  items[0] = (CtTiler){.kind = CT_TILER_LAYOUT,
                       .layout = {ct_leaf(&arena, ct_int(g->n)), ct_leaf(&arena, ct_int(1))},
                       .is_int = true};
  items[1] = as_tiler(g->b);
  return (CtTiler){.kind = CT_TILER_TUPLE, .n = ct_layout_rank(g->a) > 1 ? 2 : 1, .items = items};
}

static CtTuple numbers(const Args *g) { /* (n,1) */
  CtInt i[2] = {ct_int(g->n), ct_int(1)};
  return ct_tuple_ints(&arena, 2, i);
}

/* One row each: name, expression of g, out and err. */
#define OPS(X)                                                                                     \
  X(coalesce, ct_coalesce(&cx, g->a, NULL, out, &err))                                             \
  X(coalesce_by_mode, ct_coalesce(&cx, g->a, numbers(g), out, &err))                               \
  X(flatten, ct_flatten(&cx, g->a, out, &err))                                                     \
  X(filter, ct_filter(&cx, g->a, NULL, out, &err))                                                 \
  X(filter_zeros, ct_filter_zeros(&cx, g->a, out, &err))                                           \
  X(complement, ct_complement(&cx, g->a, NULL, out, &err))                                         \
  X(right_inverse, ct_right_inverse(&cx, g->a, out, &err))                                         \
  X(left_inverse, ct_left_inverse(&cx, g->a, out, &err))                                           \
  X(max_common_layout, ct_max_common_layout(&cx, g->a, g->b, out, &err))                           \
  X(layout_like, ct_layout_like(&cx, g->a, out, &err))                                             \
  X(fragment_layout_like, ct_fragment_layout_like(&cx, g->a, out, &err))                           \
  X(composition, ct_compose(&cx, g->a, g->b, out, &err))                                           \
  X(composition_by_mode, ct_composition(&cx, g->a, by_mode(g), out, &err))                         \
  X(logical_divide, ct_logical_divide(&cx, g->a, as_tiler(g->b), out, &err))                       \
  X(logical_divide_by_mode, ct_logical_divide(&cx, g->a, by_mode(g), out, &err))                   \
  X(zipped_divide, ct_zipped_divide(&cx, g->a, by_mode(g), out, &err))                             \
  X(tiled_divide, ct_tiled_divide(&cx, g->a, by_mode(g), out, &err))                               \
  X(flat_divide, ct_flat_divide(&cx, g->a, by_mode(g), out, &err))                                 \
  X(logical_product, ct_logical_product(&cx, g->a, as_tiler(g->b), out, &err))                     \
  X(zipped_product, ct_zipped_product(&cx, g->a, by_mode(g), out, &err))                           \
  X(tiled_product, ct_tiled_product(&cx, g->a, by_mode(g), out, &err))                             \
  X(flat_product, ct_flat_product(&cx, g->a, by_mode(g), out, &err))                               \
  X(blocked_product, ct_blocked_product(&cx, g->a, g->b, out, &err))                               \
  X(raked_product, ct_raked_product(&cx, g->a, g->b, out, &err))                                   \
  X(tile_to_shape, ct_tile_to_shape(&cx, g->a, g->b.shape, NULL, out, &err))                       \
  X(upcast, ct_upcast(&cx, g->a, g->n, out, &err))                                                 \
  X(downcast, ct_downcast(&cx, g->a, g->n, out, &err))                                             \
  X(nullspace, ct_nullspace(&cx, g->a, out, &err))                                                 \
  X(domain_distribute, ct_domain_distribute(&cx, g->a.shape, g->n, out, &err))                     \
  X(ordered, ct_layout_ordered(&cx, g->a.shape, g->a.stride, out, &err))                           \
  X(row_major, ct_layout_row_major(&cx, g->a.shape, out, &err))                                    \
  X(concat, ct_layout_concat(&cx, 2, (CtLayout[]){g->a, g->b}, out, &err))                         \
  X(group, ct_group(&cx, g->a, 0, g->n, out, &err))                                                \
  X(take, ct_take(&cx, g->a, 1, 1 + g->n, out, &err))                                              \
  X(select, ct_select(&cx, g->a, 2, (int[]){1, 0}, out, &err))                                     \
  X(append, ct_append(&cx, g->a, g->b, 0, out, &err))                                              \
  X(prepend, ct_prepend(&cx, g->a, g->b, 4, out, &err))                                            \
  X(replace, ct_replace(&cx, g->a, g->n, g->b, out, &err))                                         \
  X(slice, slice(g, out))                                                                          \
  X(dice, ct_dice(&cx, g->crd, g->a, out, &err))                                                   \
  X(tile, tile(g, out))                                                                            \
  X(parallelize, parallelize(g, out))                                                              \
  X(tv_layout, tv_layout(g, out))                                                                  \
  X(tv_partition, tv_partition(g, out))

static CtStatus slice(const Args *g, CtLayout *out) {
  CtInt offset;
  return ct_slice(&cx, g->crd, g->a, out, &offset, &err);
}

static CtStatus tile(const Args *g, CtLayout *out) {
  CtInt offset;
  return ct_tile(&cx, g->a, by_mode(g), ct_leaf(&arena, ct_any()), NULL, out, &offset, &err);
}

static CtStatus parallelize(const Args *g, CtLayout *out) {
  CtInt offset;
  return ct_parallelize(&cx, g->a, g->b, ct_int(0), NULL, out, &offset, &err);
}

static CtStatus tv_layout(const Args *g, CtLayout *out) {
  CtTuple tiler;
  return ct_tv_layout(&cx, g->a, g->b, out, &tiler, &err);
}

static CtStatus tv_partition(const Args *g, CtLayout *out) {
  CtInt offset;
  return ct_tv_partition(&cx, g->a, by_mode(g), g->b, ct_int(0), out, &offset, &err);
}

#define DEFINE(name, call)                                                                         \
  static CtStatus op_##name(const Args *g, CtLayout *out) { return call; }
OPS(DEFINE)
#undef DEFINE

static const struct {
  const char *name;
  CtStatus (*fn)(const Args *g, CtLayout *out);
} ops[] = {
#define ROW(name, call) {#name, op_##name},
    OPS(ROW)
#undef ROW
};

/* --- laws -------------------------------------------------------------------------------------- */

static CtLayout unnamed(CtLayout l) {
  CtLayout r = l;
  if (ct_without_names(&cx, l, &r, &err) != CT_OK) {
    abort();
  }
  return r;
}

/* Below a named node all are named; names come from the operands. */
static bool keeps_names(CtTuple t, CtModeName around, const Args *g) {
  bool known = t->name == 0;
  for (uint32_t i = 0; i < g->a.shape->len; i++) {
    known = known || g->a.shape[i].name == t->name;
  }
  for (uint32_t i = 0; i < g->b.shape->len; i++) {
    known = known || g->b.shape[i].name == t->name;
  }
  if (!known || (around != 0 && t->name == 0)) {
    return false;
  }
  for (CtTuple c = t + 1; !ct_is_leaf(t) && c != ct_end(t); c = ct_next(c)) {
    if (!keeps_names(c, t->name, g)) {
      return false;
    }
  }
  return true;
}

/* `_` or 0 for each mode of the first level, and within the first mode. */
static CtTuple draw_coordinate(CtTuple shape, int depth) {
  CtTuple items[8];
  if (ct_is_leaf(shape) || depth == 0 || shape->rank > 8) {
    return ct_leaf(&arena, draw(2) == 0 ? ct_any() : ct_int(0));
  }
  for (int i = 0; i < shape->rank; i++) {
    items[i] = draw_coordinate(ct_child(shape, i), depth - 1);
  }
  return ct_tuple(&arena, shape->rank, items);
}

static const char *show(CtLayout l) {
  static char text[4][512];
  static int at;
  CtText t;
  ct_text_init(&t, ct_alloc_std);
  ct_layout_print(&cx, l, &t);
  at = (at + 1) % 4;
  snprintf(text[at], sizeof text[at], "%s", ct_text_str(&t));
  ct_text_clear(&t);
  return text[at];
}

typedef struct Tally {
  int done, same, kept, named;
} Tally;

static void check_one(size_t op, const Args *g, Tally *tally) {
  CtLayout r = {NULL, NULL}, plain = {NULL, NULL};
  const Args p = {unnamed(g->a), unnamed(g->b), g->n, g->crd};
  CtStatus st = ops[op].fn(g, &r);
  if (ops[op].fn(&p, &plain) != st) {
    tap_diag("%s of %s and %s: %s", ops[op].name, show(g->a), show(g->b), err.msg);
    tally->done++;
    return;
  }
  if (st != CT_OK) {
    return;
  }
  CtLayout bare = unnamed(r);
  bool same = ct_layout_equal(r, plain) && !ct_has_names(plain.shape);
  bool kept = keeps_names(r.shape, 0, g) && !ct_has_names(r.stride) && !ct_has_names(bare.shape);
  tally->done++;
  tally->same += same;
  tally->kept += kept;
  tally->named += ct_has_names(r.shape);
  if (!same || !kept) {
    tap_diag("%s of %s and %s: %s", ops[op].name, show(g->a), show(g->b), show(r));
  }
}

static bool forgets_names(const char *name) {
  static const char *const those[] = {"complement", "right_inverse", "left_inverse",
                                      "max_common_layout", "tv_layout"};
  for (size_t i = 0; i < CT_ARRAY_LEN(those); i++) {
    if (strcmp(name, those[i]) == 0) {
      return true;
    }
  }
  return false;
}

static void test_laws(void) {
  static Tally tally[CT_ARRAY_LEN(ops)];
  for (int i = 0; i < SOME_OF(6000); i++) {
    Args g = {draw_layout(3), draw_layout(1), 1 + (int)draw(3), NULL};
    g.crd = draw_coordinate(g.a.shape, 2);
    for (size_t op = 0; op < CT_ARRAY_LEN(ops); op++) {
      check_one(op, &g, &tally[op]);
    }
    ct_arena_reset(&arena);
  }
  for (size_t op = 0; op < CT_ARRAY_LEN(ops); op++) {
    const Tally *t = &tally[op];
    OK(t->done > SOME_OF(50) && t->same == t->done && t->kept == t->done,
       "%s: of %d results %d are those without names, %d keep the rules", ops[op].name, t->done,
       t->same, t->kept);
    OK((t->named > 0) != forgets_names(ops[op].name), "%s: %d of them have names", ops[op].name,
       t->named);
  }
}

/* A mode of the composition of A with a layout without names says M only if it steps in modes of A
   that say M: brute force over coordinates of A. */
static bool steps_within(CtLayout a, CtModeName name, int64_t n, int64_t s) {
  for (int64_t i = 0; i < n; i++) {
    int64_t rest = i * s;
    for (uint32_t k = 0; k < a.shape->len; k++) {
      if (!ct_is_leaf(&a.shape[k])) {
        continue;
      }
      bool is_last = k == a.shape->len - 1;
      int64_t extent = a.shape[k].i.v, digit = is_last ? rest : rest % extent;
      rest = is_last ? 0 : rest / extent;
      if (digit != 0 && a.shape[k].name != name) {
        return false;
      }
    }
  }
  return true;
}

static void test_composition_law(void) {
  int n_done = 0, n_right = 0, n_named = 0;
  for (int i = 0; i < 40000; i++) {
    CtLayout a = draw_layout(2), r;
    int64_t n = 1 + draw(12), s = 1 + draw(12);
    char text[40];
    snprintf(text, sizeof text, "%d:%d", (int)n, (int)s);
    if (ct_has_names(a.shape) && ct_compose(&cx, a, parse(text), &r, &err) == CT_OK) {
      CtModeName name = r.shape->name;
      bool nested = false; /* the name of a mode around others that have names themselves */
      for (uint32_t k = 0; k < a.shape->len; k++) {
        nested = nested || (a.shape[k].name == name && !ct_is_leaf(&a.shape[k]));
      }
      n_done++;
      n_named += name != 0;
      bool right = name == 0 || nested || steps_within(a, name, n, s);
      n_right += right;
      if (!right) {
        tap_diag("%s of %s: %s", show(a), text, show(r));
      }
    }
    ct_arena_reset(&arena);
  }
  OK(n_done > 1000 && n_named > 500, "%d compositions with a mode, %d named", n_done, n_named);
  IS_INT(n_right, n_done, "which step in modes of that name");
}

/* Finding by brute force: the least deep nodes that say the name and whose parent does not. */
static void count_named(CtTuple t, CtModeName around, CtModeName name, int depth, int *counts) {
  counts[depth] += t->name == name && around != name;
  for (CtTuple c = t + 1; !ct_is_leaf(t) && c != ct_end(t); c = ct_next(c)) {
    count_named(c, t->name, name, depth + 1, counts);
  }
}

static void test_finding(void) {
  int n_done = 0, n_right = 0, path[CT_MAX_DEPTH], n = 0;
  CtModeName name = 0;
  if (ct_mode_name_pack("M", 1, &name, &err) != CT_OK) {
    abort();
  }
  for (int i = 0; i < 5000; i++) {
    CtLayout l = draw_layout(3), part = l;
    int counts[CT_MAX_DEPTH + 1] = {0}, depth = 0;
    count_named(l.shape, 0, name, 0, counts);
    while (depth < CT_MAX_DEPTH && counts[depth] == 0) {
      depth++;
    }
    CtStatus st = ct_find_mode(&cx, "size", l, name, path, &n, &err);
    if (st == CT_OK) {
      n_right += counts[depth] == 1 && n == depth &&
                 ct_mode_at(&cx, "mode", l, n, path, &part, &err) == CT_OK &&
                 part.shape->name == name;
    } else if (counts[depth] == 0) {
      n_right += strstr(err.msg, "size: no mode is named 'M' in ") == err.msg;
    } else {
      n_right += counts[depth] > 1 && strstr(err.msg, "; give a path") != NULL;
    }
    n_done++;
    ct_arena_reset(&arena);
  }
  IS_INT(n_right, n_done, "a name is found, missed or ambiguous as a search by hand says");
}

int main(void) {
  ct_arena_init(&arena, ct_alloc_std);
  test_laws();
  test_composition_law();
  test_finding();
  ct_arena_clear(&arena);
  return done_testing();
}
