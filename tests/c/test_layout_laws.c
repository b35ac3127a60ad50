/* test_layout_laws.c: the operations against their definitions, by brute force over all small
   layouts. What an operation refuses is counted: a law with no case that holds is a failure. */
#include "runtime/layout/layout.h"

#include <stdlib.h>

#include "tap.h"

static CtArena arena;
static CtCx cx = {&arena, NULL};
static CtErr err;

/* --- all small layouts -------------------------------------------------------------------------- */

enum { MAX_LAYOUTS = 20000, INDEX_MAX = 4096 };

typedef struct All {
  CtLayout *item;
  int n;
  CtArena arena;
} All;

static const int64_t sizes[] = {1, 2, 3, 4, 6};
static const int64_t strides[] = {0, 1, 2, 3, 4, 6, 8, 12};

static void add(All *all, int rank, const CtInt *s, const CtInt *d) {
  CtCx own = {&all->arena, NULL};
  CtTuple shape = rank == 0 ? ct_leaf(&all->arena, s[0]) : ct_tuple_ints(&all->arena, rank, s);
  CtTuple stride = rank == 0 ? ct_leaf(&all->arena, d[0]) : ct_tuple_ints(&all->arena, rank, d);
  if (all->n < MAX_LAYOUTS && shape != NULL && stride != NULL &&
      ct_layout_make(&own, shape, stride, &all->item[all->n], &err) == CT_OK) {
    all->n++;
  }
}

/* Every s:d and (s0,s1):(d0,d1), and every `step`-th (s0,s1,s2):(d0,d1,d2). */
static All all_layouts(int step) {
  All all = {.item = calloc(MAX_LAYOUTS, sizeof *all.item)};
  int n_modes = (int)(CT_ARRAY_LEN(sizes) * CT_ARRAY_LEN(strides)), count = 0;
  CtInt s[3], d[3];
  ct_arena_init(&all.arena, ct_alloc_std);
  for (int i = 0; i < n_modes; i++) {
    s[0] = ct_int(sizes[(size_t)i % CT_ARRAY_LEN(sizes)]);
    d[0] = ct_int(strides[(size_t)i / CT_ARRAY_LEN(sizes)]);
    add(&all, 0, s, d);
    for (int j = 0; j < n_modes; j++) {
      s[1] = ct_int(sizes[(size_t)j % CT_ARRAY_LEN(sizes)]);
      d[1] = ct_int(strides[(size_t)j / CT_ARRAY_LEN(sizes)]);
      add(&all, 2, s, d);
      for (int k = 0; k < n_modes; k++) {
        s[2] = ct_int(sizes[(size_t)k % CT_ARRAY_LEN(sizes)]);
        d[2] = ct_int(strides[(size_t)k / CT_ARRAY_LEN(sizes)]);
        if (count++ % step == 0) {
          add(&all, 3, s, d);
        }
      }
    }
  }
  return all;
}

static void free_layouts(All *all) {
  free(all->item);
  ct_arena_clear(&all->arena);
}

/* --- helpers ------------------------------------------------------------------------------------ */

typedef struct Law {
  const char *name;
  int holds, refused, broken;
} Law;

static int64_t size_of(CtLayout l) {
  CtInt n;
  return ct_size(&cx, l, &n, &err) == CT_OK ? n.v : -1;
}

static int64_t cosize_of(CtLayout l) {
  CtInt n;
  return ct_cosize(&cx, l, &n, &err) == CT_OK ? n.v : -1;
}

static const char *show(CtLayout l) {
  CtText t;
  ct_text_init(&t, ct_alloc_std);
  ct_layout_print(&cx, l, &t);
  const char *s = ct_arena_strdup(&arena, ct_text_str(&t), t.len);
  ct_text_clear(&t);
  return s;
}

static void judge(Law *law, bool holds, CtLayout a, CtLayout b, CtLayout r) {
  if (holds) {
    law->holds++;
  } else if (law->broken++ < 5) {
    tap_diag("%s: %s, %s -> %s", law->name, show(a), show(b), show(r));
  }
}

/* The result when the operation was done; counts a refusal else. */
static bool done(Law *law, CtStatus st) {
  law->refused += st != CT_OK;
  return st == CT_OK;
}

static void report(const Law *law) {
  OK(law->broken == 0 && law->holds > 0, "%s: %d cases hold, %d refused, %d broken", law->name,
     law->holds, law->refused, law->broken);
}

/* Marks the values of l; false when one repeats (`once`) or does not fit. */
static bool mark(CtLayout l, unsigned char *seen, bool once) {
  int64_t n = size_of(l);
  for (int64_t i = 0; i < n; i++) {
    int64_t v = ct_layout_at(l, i);
    if (v < 0 || v >= INDEX_MAX || (once && seen[v] != 0)) {
      return false;
    }
    seen[v] = 1;
  }
  return true;
}

static bool is_injective(CtLayout l) {
  static unsigned char seen[INDEX_MAX];
  memset(seen, 0, sizeof seen);
  return mark(l, seen, true);
}

static bool same_function(CtLayout a, CtLayout b) {
  int64_t n = size_of(a);
  bool same = n == size_of(b);
  for (int64_t i = 0; same && i < n; i++) {
    same = ct_layout_at(a, i) == ct_layout_at(b, i);
  }
  return same;
}

/* --- laws of one layout -------------------------------------------------------------------------- */

static void check_coalesce(Law *law, CtLayout a) {
  CtLayout r;
  if (done(law, ct_coalesce(&cx, a, NULL, &r, &err))) {
    judge(law, same_function(a, r) && ct_depth(r.shape) <= 1, a, a, r);
  }
}

/* A(R(i)) == i, and no longer prefix of 0, 1, 2, ... lies among a's values along its modes. */
static void check_right_inverse(Law *law, CtLayout a) {
  CtLayout r;
  if (done(law, ct_right_inverse(&cx, a, &r, &err))) {
    bool holds = true;
    for (int64_t i = 0; holds && i < size_of(r); i++) {
      holds = ct_layout_at(a, ct_layout_at(r, i)) == i;
    }
    judge(law, holds, a, a, r);
  }
}

/* L(A(i)) == i where a is injective, stride-0 modes aside; A(L(A(i))) == A(i) always. */
static void check_left_inverse(Law *law, CtLayout a) {
  CtLayout r;
  if (done(law, ct_left_inverse(&cx, a, &r, &err))) {
    bool injective = is_injective(a), holds = true;
    for (int64_t i = 0; holds && i < size_of(a); i++) {
      int64_t v = ct_layout_at(a, i), back = ct_layout_at(r, v);
      holds = ct_layout_at(a, back) == v && (!injective || back == i);
    }
    judge(law, holds, a, a, r);
  }
}

/* Where the mode of the largest stride ends. */
static int64_t end_of(CtLayout a) {
  int64_t end = 1;
  for (uint32_t i = 0; i < a.shape->len; i++) {
    if (ct_is_leaf(&a.shape[i]) && a.shape[i].i.v > 1) {
      end = ct_max(end, a.shape[i].i.v * a.stride[i].i.v);
    }
  }
  return end;
}

/* C ordered; disjoint from a but for 0; together they reach the target. */
static void check_complement(Law *law, CtLayout a, int64_t target) {
  static unsigned char of_a[INDEX_MAX];
  CtLayout c;
  CtNode leaf = {.rank = CT_LEAF, .len = 1, .i = ct_int(target)};
  if (!done(law, ct_complement(&cx, a, &leaf, &c, &err))) {
    return;
  }
  memset(of_a, 0, sizeof of_a);
  bool holds = mark(a, of_a, false);
  int64_t before = 0, n = size_of(c);
  for (int64_t i = 1; holds && i < n; i++) {
    int64_t v = ct_layout_at(c, i);
    holds = v > before && (v >= INDEX_MAX || of_a[v] == 0);
    before = v;
  }
  judge(law, holds && n * end_of(a) >= target, a, a, c);
}

static void test_unary(const All *all) {
  Law coalesce = {"coalesce keeps the function", 0, 0, 0};
  Law right = {"A(right_inverse(i)) = i", 0, 0, 0};
  Law left = {"left_inverse(A(i)) = i", 0, 0, 0};
  Law complement = {"complement is ordered, disjoint and large enough", 0, 0, 0};
  for (int i = 0; i < all->n; i++) {
    check_coalesce(&coalesce, all->item[i]);
    check_right_inverse(&right, all->item[i]);
    check_left_inverse(&left, all->item[i]);
    check_complement(&complement, all->item[i], cosize_of(all->item[i]));
    check_complement(&complement, all->item[i], 60);
    ct_arena_clear(&arena);
  }
  report(&coalesce);
  report(&right);
  report(&left);
  report(&complement);
}

/* --- laws of two layouts ------------------------------------------------------------------------- */

/* R(i) = A(B(i)) */
static void check_composition(Law *law, CtLayout a, CtLayout b) {
  CtLayout r;
  if (done(law, ct_compose(&cx, a, b, &r, &err))) {
    bool holds = size_of(r) == size_of(b);
    for (int64_t i = 0; holds && i < size_of(r); i++) {
      holds = ct_layout_at(r, i) == ct_layout_at(a, ct_layout_at(b, i));
    }
    judge(law, holds, a, b, r);
  }
}

/* Do the tiles b and their arrangement cover 0 ... n-1 just once? */
static bool tiles_range(int64_t n, CtTiler b) {
  CtNode shape = {.rank = CT_LEAF, .len = 1, .i = ct_int(n)};
  CtNode stride = {.rank = CT_LEAF, .len = 1, .i = ct_int(1)};
  CtLayout r;
  return ct_logical_divide(&cx, (CtLayout){&shape, &stride}, b, &r, &err) == CT_OK &&
         size_of(r) == n && cosize_of(r) == n && is_injective(r);
}

/* Mode 0 is A o B; the two modes together reach each element of A just once when B tiles it. */
static void check_divide(Law *law, CtLayout a, CtLayout b) {
  CtLayout r, tile;
  CtTiler t = {.kind = CT_TILER_LAYOUT, .layout = b};
  if (!done(law, ct_logical_divide(&cx, a, t, &r, &err)) ||
      ct_compose(&cx, a, b, &tile, &err) != CT_OK) {
    return;
  }
  bool holds = ct_layout_rank(r) == 2 && same_function(ct_mode(r, 0), tile);
  if (holds && size_of(r) == size_of(a) && tiles_range(size_of(a), t)) {
    static int count_a[INDEX_MAX], count_r[INDEX_MAX];
    memset(count_a, 0, sizeof count_a);
    memset(count_r, 0, sizeof count_r);
    for (int64_t i = 0; i < size_of(a); i++) {
      count_a[ct_layout_at(a, i)]++;
      count_r[ct_layout_at(r, i) % INDEX_MAX]++;
    }
    holds = memcmp(count_a, count_r, sizeof count_a) == 0;
  }
  judge(law, holds, a, b, r);
}

/* Mode 0 is the block; each copy lies where no other does, when both operands are injective. */
static void check_product(Law *law, CtLayout a, CtLayout b) {
  CtLayout r;
  CtTiler t = {.kind = CT_TILER_LAYOUT, .layout = b};
  if (!done(law, ct_logical_product(&cx, a, t, &r, &err))) {
    return;
  }
  bool holds = ct_layout_equal(ct_mode(r, 0), a) && size_of(r) == size_of(a) * size_of(b);
  if (holds && is_injective(a) && is_injective(b) && cosize_of(r) <= INDEX_MAX) {
    holds = is_injective(r);
  }
  judge(law, holds, a, b, r);
}

/* blocked: mode i runs through the block, then through the blocks; raked the other way round. */
static void check_rank_products(Law *law, CtLayout a, CtLayout b) {
  CtLayout blocked, raked, swapped;
  if (!done(law, ct_blocked_product(&cx, a, b, &blocked, &err)) ||
      ct_raked_product(&cx, a, b, &raked, &err) != CT_OK) {
    return;
  }
  bool holds = ct_layout_rank(blocked) == ct_layout_rank(raked);
  for (int i = 0; holds && i < ct_layout_rank(blocked); i++) {
    CtLayout m = ct_mode(blocked, i);
    CtLayout back[2] = {ct_mode(m, 1), ct_mode(m, 0)};
    holds = ct_layout_concat(&cx, 2, back, &swapped, &err) == CT_OK &&
            ct_layout_equal(swapped, ct_mode(raked, i));
  }
  judge(law, holds, a, b, blocked);
}

/* a and b count up together for n elements: a(inv(i)) = b(inv(i)) = i. */
static void check_common(Law *law, CtLayout a, CtLayout b) {
  CtLayout r;
  int64_t n;
  if (!done(law, ct_max_common_layout(&cx, a, b, &r, &err)) ||
      ct_max_common_vector(&cx, a, b, &n, &err) != CT_OK) {
    return;
  }
  bool holds = n == size_of(r) && n <= size_of(a) && n <= size_of(b);
  for (int64_t i = 0; holds && i < n; i++) {
    holds = ct_layout_at(a, ct_layout_at(r, i)) == i && ct_layout_at(b, ct_layout_at(r, i)) == i;
  }
  judge(law, holds, a, b, r);
}

enum {
  EVERY = TAP_IS_SANITIZED ? 97 : 23
}; /* so many-th pair: under a sanitizer laws.c has random ones, too */

static void test_binary(const All *all) {
  Law compose = {"composition(A,B)(i) = A(B(i))", 0, 0, 0};
  Law divide = {"logical_divide splits A into tiles", 0, 0, 0};
  Law product = {"logical_product repeats the block", 0, 0, 0};
  Law rank_products = {"raked_product is blocked_product with pairs swapped", 0, 0, 0};
  Law common = {"max_common_layout counts up in both", 0, 0, 0};
  for (int i = 0; i < all->n; i++) {
    for (int j = i % EVERY; j < all->n; j += EVERY) {
      CtLayout a = all->item[i], b = all->item[j];
      check_composition(&compose, a, b);
      check_divide(&divide, a, b);
      check_product(&product, a, b);
      check_rank_products(&rank_products, a, b);
      check_common(&common, a, b);
      ct_arena_clear(&arena);
    }
  }
  report(&compose);
  report(&divide);
  report(&product);
  report(&rank_products);
  report(&common);
}

int main(void) {
  All unary = all_layouts(4), binary = all_layouts(400);
  ct_arena_init(&arena, ct_alloc_std);
  tap_diag("%d layouts alone, %d in pairs", unary.n, binary.n);
  test_unary(&unary);
  test_binary(&binary);
  free_layouts(&unary);
  free_layouts(&binary);
  ct_arena_clear(&arena);
  return done_testing();
}
