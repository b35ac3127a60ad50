/* laws_of_coords.c: coordinates, slices, lists of modes, compact strides, relations of tuples, and
   the text of tilers. */
#include <stdlib.h>
#include <string.h>

#include "law.h"

/* --- coordinates -------------------------------------------------------------------------------- */

static void make_coord(Rng *r, CtArena *a, Case *c) {
  make_one(r, a, c);
  c->c = random_coord(r, a, c->a.shape, 5);
}

static Verdict check_crd2idx(Run *run, const Case *c) {
  CtInt got;
  CtStatus st = ct_crd2idx(&run->cx, c->c, c->a, &got, &run->err);
  if (st != CT_OK) {
    return refused(run, c, st);
  }
  Wide want = at_crd(c->a, c->c);
  return got.v == want ? HOLDS : broken(run, "%lld, not %lld", (long long)got.v, (long long)want);
}

/* ct_layout_at and the value at a linear coordinate, past the end too. */
static void make_index(Rng *r, CtArena *a, Case *c) {
  make_one(r, a, c);
  Wide n = size_of(c->a.shape);
  c->n = rng_below(r, n > 0 && n < 1000000 ? 3 * (int64_t)n : 100);
}

static Verdict check_value(Run *run, const Case *c) {
  CtInt got;
  CtNode i = {.rank = CT_LEAF, .len = 1, .i = ct_int(c->n)};
  Wide want = at(c->a, c->n);
  if (ct_layout_at(c->a, c->n) != (int64_t)want) {
    return broken(run, "the fast form gives %lld, not %lld", (long long)ct_layout_at(c->a, c->n),
                  (long long)want);
  }
  CtStatus st = ct_crd2idx(&run->cx, &i, c->a, &got, &run->err);
  if (st != CT_OK) {
    return refused(run, c, st);
  }
  return got.v == want ? HOLDS : broken(run, "%lld, not %lld", (long long)got.v, (long long)want);
}

/* The digits of n in the shape: each within its extent but the last, and they sum to n. */
static Verdict is_natural(Run *run, CtTuple crd, CtTuple shape, Wide n) {
  Wide sum = 0, weight = 1;
  if (!same_nesting(crd, shape)) {
    return broken(run, "not nested like the shape");
  }
  for (uint32_t i = 0; i < shape->len; i++) {
    if (!ct_is_leaf(&shape[i])) {
      continue;
    }
    bool last = i == shape->len - 1;
    if (crd[i].i.v < 0 || (!last && crd[i].i.v >= shape[i].i.v)) {
      return broken(run, "digit %lld of extent %lld", (long long)crd[i].i.v,
                    (long long)shape[i].i.v);
    }
    sum += crd[i].i.v * weight;
    weight *= shape[i].i.v;
  }
  return sum == n ? HOLDS : broken(run, "it stands for %lld", (long long)sum);
}

static Verdict check_idx2crd(Run *run, const Case *c) {
  CtTuple crd;
  CtInt back;
  CtStatus st = ct_idx2crd(&run->cx, ct_int(c->n), c->a.shape, &crd, &run->err);
  if (st != CT_OK) {
    return refused(run, c, st);
  }
  Verdict v = is_natural(run, crd, c->a.shape, c->n);
  st = ct_crd2idx_shape(&run->cx, crd, c->a.shape, &back, &run->err);
  return v != HOLDS || (st == CT_OK && back.v == c->n) ? v : broken(run, "crd2idx does not return");
}

static void make_compact(Rng *r, CtArena *a, Case *c) {
  c->a = random_compact(r, a, 256);
  c->n = rng_below(r, (int64_t)size_of(c->a.shape));
}

/* Of a compact layout: L(idx2crd(i)) = i. */
static Verdict check_idx2crd_layout(Run *run, const Case *c) {
  CtTuple crd;
  CtStatus st = ct_idx2crd_layout(&run->cx, ct_int(c->n), c->a, &crd, &run->err);
  if (st != CT_OK) {
    return refused(run, c, st);
  }
  return at_crd(c->a, crd) == c->n ? HOLDS
                                   : broken(run, "its value is %lld", (long long)at_crd(c->a, crd));
}

/* Two shapes of one size and rank, nested differently. */
static void make_shapes(Rng *r, CtArena *a, Case *c) {
  c->a = random_compact(r, a, 256);
  c->s = c->a.shape;
  if (!ct_is_leaf(c->s) && rng_chance(r, 70)) {
    CtInt sizes[8];
    for (int i = 0; i < c->s->rank; i++) {
      sizes[i] = ct_int((int64_t)size_of(ct_child(c->s, i)));
    }
    c->s = ct_tuple_ints(a, c->s->rank, sizes);
  } else if (rng_chance(r, 50)) {
    c->s = ct_leaf(a, ct_int((int64_t)size_of(c->s)));
  }
  c->c = random_natural(r, a, c->s);
}

static Verdict check_crd2crd(Run *run, const Case *c) {
  CtTuple crd, back;
  CtInt from, to;
  CtStatus st = ct_crd2crd(&run->cx, c->c, c->s, c->a.shape, &crd, &run->err);
  if (st == CT_OK) {
    st = ct_crd2crd(&run->cx, crd, c->a.shape, c->s, &back, &run->err);
  }
  if (st == CT_OK) {
    st = ct_crd2idx_shape(&run->cx, c->c, c->s, &from, &run->err);
  }
  if (st == CT_OK) {
    st = ct_crd2idx_shape(&run->cx, crd, c->a.shape, &to, &run->err);
  }
  if (st != CT_OK) {
    return refused(run, c, st);
  }
  if (from.v != to.v || is_natural(run, crd, c->a.shape, from.v) != HOLDS) {
    return broken(run, "number %lld became %lld", (long long)from.v, (long long)to.v);
  }
  return is_natural(run, back, c->s, from.v);
}

/* --- slices ------------------------------------------------------------------------------------- */

static void make_slice(Rng *r, CtArena *a, Case *c) {
  make_one(r, a, c);
  c->c = random_coord(r, a, c->a.shape, 35);
}

/* Pairs each kept part of the slice with its part of the full coordinate, which has all else from
   crd: *kept sums what the slice's parts give, *full what L gives. */
typedef struct Sliced {
  Rng r;
  CtLayout slice;
  bool whole; /* the slice is L itself */
  int at;     /* the next part */
  Wide kept, full;
} Sliced;

static void add_parts(Sliced *s, CtTuple crd, CtLayout l, bool dice) {
  if (!ct_is_leaf(crd)) {
    int i = 0;
    for (CtTuple c = ct_first(crd); c != ct_end(crd); c = ct_next(c)) {
      add_parts(s, c, ct_mode(l, i++), dice);
    }
    return;
  }
  bool keep = (crd->i.kind == CT_ANY) != dice;
  if (!keep) {
    s->full += crd->i.kind == CT_ANY ? 0 : at(l, crd->i.v);
    return;
  }
  Wide n = size_of(l.shape), i = n > 0 ? (Wide)(rng_next(&s->r) >> 1) % n : 0;
  i = dice ? crd->i.v : i;
  s->full += at(l, i);
  s->kept += at(s->whole ? s->slice : ct_mode(s->slice, s->at), i);
  s->at++;
}

static Verdict check_slice(Run *run, const Case *c) {
  CtLayout r;
  CtInt offset;
  CtStatus st = ct_slice(&run->cx, c->c, c->a, &r, &offset, &run->err);
  if (st != CT_OK) {
    return refused(run, c, st);
  }
  for (int k = 0; k < 20; k++) {
    Sliced s = {.r = {(uint64_t)k}, .slice = r, .whole = ct_is_leaf(c->c)};
    add_parts(&s, c->c, c->a, false);
    int rank = r.shape->rank == 0 ? 0 : ct_layout_rank(r);
    if (!s.whole && s.at != rank) {
      return broken(run, "%d modes, not %d", rank, s.at);
    }
    if (s.kept + offset.v != s.full) {
      return broken(run, "offset %lld + %lld, not %lld", (long long)offset.v, (long long)s.kept,
                    (long long)s.full);
    }
  }
  return HOLDS;
}

/* dice keeps what slice fixes: its value at the fixed integers is the slice's offset. */
static Verdict check_dice(Run *run, const Case *c) {
  CtLayout r;
  CtStatus st = ct_dice(&run->cx, c->c, c->a, &r, &run->err);
  if (st != CT_OK) {
    return refused(run, c, st);
  }
  Sliced s = {.slice = r, .whole = ct_is_leaf(c->c)};
  add_parts(&s, c->c, c->a, true);
  return s.kept == at_crd(c->a, c->c)
             ? HOLDS
             : broken(run, "%lld, not %lld", (long long)s.kept, (long long)at_crd(c->a, c->c));
}

/* --- lists of modes ----------------------------------------------------------------------------- */

static void make_range(Rng *r, CtArena *a, Case *c) {
  make_one(r, a, c);
  int rank = ct_layout_rank(c->a);
  c->n = rng_below(r, rank);
  c->m = c->n + 1 + rng_below(r, rank - c->n);
}

/* group keeps the function and the leaves; its mode n is take's result; replacing mode n by the
   group's own is no change. */
static Verdict check_group(Run *run, const Case *c) {
  CtLayout r, taken, same;
  CtStatus st = ct_group(&run->cx, c->a, (int)c->n, (int)c->m, &r, &run->err);
  if (st == CT_OK) {
    st = ct_take(&run->cx, c->a, (int)c->n, (int)c->m, &taken, &run->err);
  }
  if (st == CT_OK) {
    st = ct_replace(&run->cx, r, (int)c->n, taken, &same, &run->err);
  }
  if (st != CT_OK) {
    return refused(run, c, st);
  }
  Fn f = fn_of(c->a), g = fn_of(r);
  int rank = ct_layout_rank(c->a) - (int)(c->m - c->n) + 1;
  if (f.n != g.n || ct_layout_rank(r) != rank || same_layout(run, r, same) != HOLDS) {
    return broken(run, "modes %lld to %lld are not one", (long long)c->n, (long long)c->m);
  }
  for (int i = 0; i < ct_layout_rank(taken); i++) {
    if (same_layout(run, ct_mode(taken, i), ct_mode(c->a, (int)c->n + i)) != HOLDS) {
      return BROKEN;
    }
  }
  return same_values(run, &g, &f, fn_size(&f));
}

static Verdict check_select(Run *run, const Case *c) {
  CtLayout r, back;
  int modes[8] = {0}, rank = ct_layout_rank(c->a);
  for (int i = 0; i < rank; i++) { /* rotated by n, then back */
    modes[i] = (i + (int)c->n) % rank;
  }
  CtStatus st = ct_select(&run->cx, c->a, rank, modes, &r, &run->err);
  for (int i = 0; i < rank; i++) {
    modes[i] = (i + rank - (int)c->n) % rank;
  }
  if (st == CT_OK) {
    st = ct_select(&run->cx, r, rank, modes, &back, &run->err);
  }
  if (st != CT_OK) {
    return refused(run, c, st);
  }
  for (int i = 0; i < rank; i++) {
    if (same_layout(run, ct_mode(r, i), ct_mode(c->a, (i + (int)c->n) % rank)) != HOLDS ||
        same_layout(run, ct_mode(back, i), ct_mode(c->a, i)) != HOLDS) {
      return broken(run, "mode %d", i);
    }
  }
  return HOLDS;
}

/* --- compact strides ---------------------------------------------------------------------------- */

static void make_order(Rng *r, CtArena *a, Case *c) {
  CtInt order[8];
  int ranks[8];
  c->s = random_shape(r, a, 256);
  int n = ct_rank(c->s);
  for (int i = 0; i < n; i++) {
    ranks[i] = i;
  }
  for (int i = n - 1; i > 0; i--) {
    int k = (int)rng_below(r, i + 1), t = ranks[i];
    ranks[i] = ranks[k];
    ranks[k] = t;
  }
  for (int i = 0; i < n; i++) {
    order[i] = ct_int(ranks[i] * 3 - 4);
  }
  c->c = ct_is_leaf(c->s) ? ct_leaf(a, ct_int(7)) : ct_tuple_ints(a, n, order);
}

/* At any coordinate: the numbers of the modes, weighted by the sizes of all modes of smaller order. */
static Verdict check_ordered(Run *run, const Case *c) {
  CtLayout r;
  CtStatus st = ct_layout_ordered(&run->cx, c->s, c->c, &r, &run->err);
  if (st != CT_OK) {
    return refused(run, c, st);
  }
  int rank = ct_rank(c->s);
  Wide size = size_of(c->s);
  Fn got = fn_of(r);
  for (int k = 0; k < n_points(size); k++) {
    Wide i = point(size, k), left = i, want = 0;
    for (int m = 0; m < rank; m++) {
      Wide extent = size_of(ct_child(c->s, m)), weight = 1;
      for (int o = 0; o < rank; o++) {
        bool before = ct_child(c->c, o)->i.v < ct_child(c->c, m)->i.v;
        weight *= before ? size_of(ct_child(c->s, o)) : 1;
      }
      want += left % extent * weight;
      left /= extent;
    }
    if (fn_at(&got, i) != want) {
      return broken(run, "at %lld it is %lld, not %lld", (long long)i, (long long)fn_at(&got, i),
                    (long long)want);
    }
  }
  return HOLDS;
}

/* Column-major counts coordinates colexicographically, row-major lexicographically. */
static Verdict check_majors(Run *run, const Case *c) {
  CtLayout col, row;
  CtStatus st = ct_layout_make(&run->cx, c->s, NULL, &col, &run->err);
  if (st == CT_OK) {
    st = ct_layout_row_major(&run->cx, c->s, &row, &run->err);
  }
  if (st != CT_OK) {
    return refused(run, c, st);
  }
  Wide size = size_of(c->s);
  Fn f = fn_of(col), g = fn_of(row);
  for (int k = 0; k < n_points(size); k++) {
    Wide i = point(size, k), left = i, number = 0;
    for (int m = 0; m < g.n; m++) {
      number = number * g.shape[m] + left % g.shape[m];
      left /= g.shape[m];
    }
    if (fn_at(&f, i) != i || fn_at(&g, i) != number) {
      return broken(run, "at %lld: %lld and %lld", (long long)i, (long long)fn_at(&f, i),
                    (long long)fn_at(&g, i));
    }
  }
  return HOLDS;
}

static void make_spread(Rng *r, CtArena *a, Case *c) {
  c->s = random_shape(r, a, 256);
  c->n = 1 + rng_below(r, 200);
}

/* From the left each extent takes what it shares with the rest of n. */
static Verdict check_distribute(Run *run, const Case *c) {
  CtLayout r;
  CtStatus st = ct_domain_distribute(&run->cx, c->s, c->n, &r, &run->err);
  if (st != CT_OK) {
    return refused(run, c, st);
  }
  Fn want = {.n = 0}, got = fn_of(r);
  int64_t n = c->n, step = 1;
  for (uint32_t i = 0; i < c->s->len; i++) {
    if (ct_is_leaf(&c->s[i])) {
      int64_t extent = c->s[i].i.v, d = n;
      while (extent % d != 0 || n % d != 0) {
        d--;
      }
      want.shape[want.n] = d;
      want.stride[want.n++] = step;
      n /= d;
      step *= extent;
    }
  }
  return fn_size(&want) == fn_size(&got) ? same_values(run, &got, &want, fn_size(&want))
                                         : broken(run, "of size %lld", (long long)fn_size(&got));
}

/* --- relations of tuples ------------------------------------------------------------------------ */

/* Two shapes, the second perhaps a coarser form of the first. */
static uint32_t coarsen(Rng *r, CtTuple t, CtNode *out) {
  if (ct_is_leaf(t) || rng_chance(r, 40)) {
    int64_t n = (int64_t)size_of(t) + (rng_chance(r, 10) ? 1 : 0);
    *out = (CtNode){.rank = CT_LEAF, .len = 1, .i = ct_int(n)};
    return 1;
  }
  uint32_t len = 1;
  for (CtTuple c = ct_first(t); c != ct_end(t); c = ct_next(c)) {
    len += coarsen(r, c, out + len);
  }
  *out = (CtNode){.rank = t->rank, .len = len};
  return len;
}

static void make_related(Rng *r, CtArena *a, Case *c) {
  c->s = random_shape(r, a, 256);
  CtNode *t = ct_arena_alloc(a, c->s->len * sizeof *t);
  coarsen(r, c->s, t);
  c->c = rng_chance(r, 90) ? t : random_shape(r, a, 256);
}

/* The nesting of `fine` goes at least as deep as that of `coarse`. */
static bool refines_nesting(CtTuple fine, CtTuple coarse) {
  if (ct_is_leaf(coarse)) {
    return true;
  }
  if (ct_is_leaf(fine) || fine->rank != coarse->rank) {
    return false;
  }
  CtTuple f = ct_first(fine);
  for (CtTuple c = ct_first(coarse); c != ct_end(coarse); c = ct_next(c), f = ct_next(f)) {
    if (!refines_nesting(f, c)) {
      return false;
    }
  }
  return true;
}

static Verdict check_relations(Run *run, const Case *c) {
  bool compatible;
  CtStatus st = ct_compatible(&run->cx, c->c, c->s, &compatible, &run->err);
  if (st != CT_OK) {
    return refused(run, c, st);
  }
  if (compatible != refines(c->s, c->c) ||
      ct_weakly_congruent(c->c, c->s) != refines_nesting(c->s, c->c) ||
      ct_congruent(c->c, c->s) != same_nesting(c->c, c->s)) {
    return broken(run, "compatible %d, weakly_congruent %d, congruent %d", compatible,
                  ct_weakly_congruent(c->c, c->s), ct_congruent(c->c, c->s));
  }
  return HOLDS;
}

/* Two coordinates of one shape. */
static void make_coords(Rng *r, CtArena *a, Case *c) {
  CtTuple shape = random_shape(r, a, 64);
  c->s = random_natural(r, a, shape);
  c->c = random_natural(r, a, shape);
}

static Verdict check_less(Run *run, const Case *c) {
  bool lex, colex, elem, want_lex = false, want_colex = false, want_elem = true, differ = false;
  CtStatus st = ct_lex_less(c->s, c->c, &lex, &run->err);
  if (st == CT_OK) {
    st = ct_colex_less(c->s, c->c, &colex, &run->err);
  }
  if (st == CT_OK) {
    st = ct_elem_less(c->s, c->c, &elem, &run->err);
  }
  if (st != CT_OK) {
    return refused(run, c, st);
  }
  for (uint32_t i = 0; i < c->s->len; i++) {
    int64_t x = c->s[i].i.v, y = c->c[i].i.v;
    if (ct_is_leaf(&c->s[i])) {
      want_lex = differ ? want_lex : x < y;     /* by the first that differs */
      want_colex = x != y ? x < y : want_colex; /* by the last */
      want_elem = want_elem && x < y;
      differ = differ || x != y;
    }
  }
  return lex == want_lex && colex == want_colex && elem == want_elem
             ? HOLDS
             : broken(run, "lex %d, colex %d, elem %d", lex, colex, elem);
}

/* --- text of tilers ----------------------------------------------------------------------------- */

static void make_tiler(Rng *r, CtArena *a, Case *c) {
  c->a = random_layout(r, a, 300);
  c->t = random_tiler(r, a, c->a, true);
}

static bool same_tiler(CtTiler a, CtTiler b) {
  if (a.kind != b.kind) {
    return false;
  }
  if (a.kind == CT_TILER_LAYOUT) {
    return a.is_int == b.is_int && ct_tuple_equal(a.layout.shape, b.layout.shape) &&
           ct_tuple_equal(a.layout.stride, b.layout.stride);
  }
  bool same = a.kind == CT_TILER_ANY || a.n == b.n;
  for (int i = 0; same && a.kind == CT_TILER_TUPLE && i < a.n; i++) {
    same = same_tiler(a.items[i], b.items[i]);
  }
  return same;
}

static Verdict check_tiler_text(Run *run, const Case *c) {
  CtTiler r;
  CtText t;
  ct_text_init(&t, ct_alloc_std);
  ct_tiler_print(&run->cx, c->t, &t);
  CtStatus st = ct_tiler_parse(run->cx.arena, ct_text_str(&t), t.len, &r, &run->err);
  ct_text_clear(&t);
  if (st != CT_OK) {
    return broken(run, "not read: %s", run->err.msg);
  }
  return same_tiler(r, c->t) ? HOLDS : broken(run, "read as another tiler");
}

const Law laws_of_coords[] = {
    {"value", "$a($n)", make_index, check_value, false},
    {"crd2idx", "$a($c)", make_coord, check_crd2idx, false},
    {"idx2crd", "idx2crd($n, shape($a))", make_index, check_idx2crd, false},
    {"idx2crd of layouts", "idx2crd($n, $a)", make_compact, check_idx2crd_layout, false},
    {"crd2crd", "crd2crd($c, $s, shape($a))", make_shapes, check_crd2crd, false},
    {"slice", "slice($c, $a)", make_slice, check_slice, true},
    {"dice", "dice($c, $a)", make_slice, check_dice, true},
    {"group, take, replace", "group_modes($a, $n, $m)", make_range, check_group, true},
    {"select", "$a: the modes rotated by $n", make_range, check_select, true},
    {"ordered", "ordered($s, $c)", make_order, check_ordered, true},
    {"col_major, row_major", "row_major($s)", make_order, check_majors, true},
    {"domain_distribute", "domain_distribute($s, $n)", make_spread, check_distribute, true},
    {"compatible, congruent", "compatible($c, $s)", make_related, check_relations, true},
    {"lex_less, colex_less, elem_less", "lex_less($s, $c)", make_coords, check_less, true},
    {"text of tilers", "logical_divide($a, $t)", make_tiler, check_tiler_text, true},
    {0},
};
