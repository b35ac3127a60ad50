/* laws_of_tiles.c: divides, products and tile_to_shape against their definitions. */
#include <string.h>

#include "law.h"

typedef CtStatus (*TilerOp)(const CtCx *, CtLayout, CtTiler, CtLayout *, CtErr *);

/* f over the first mode, then g */
static Fn join(const Fn *f, const Fn *g) {
  Fn r = *f;
  for (int i = 0; i < g->n && r.n < FN_MODES; i++, r.n++) {
    r.shape[r.n] = g->shape[i];
    r.stride[r.n] = g->stride[i];
  }
  return r;
}

/* R(x, y) = F(G(x) + H(y)) at all coordinates of the two-mode layout r. */
static Verdict maps_pairs(Run *run, const Fn *f, const Fn *g, const Fn *h, CtLayout r) {
  Wide n = fn_size(g), m = fn_size(h);
  if (ct_is_leaf(r.shape) || r.shape->rank != 2 || size_of(ct_child(r.shape, 0)) != n ||
      size_of(ct_child(r.shape, 1)) != m) {
    return broken(run, "not (%lld, %lld) elements", (long long)n, (long long)m);
  }
  Fn got = fn_of(r);
  for (int k = 0; k < n_points(n * m); k++) {
    Wide i = point(n * m, k), want = fn_at(f, fn_at(g, i % n) + fn_at(h, i / n));
    if (fn_at(&got, i) != want) {
      return broken(run, "at (%lld,%lld) it is %lld, not %lld", (long long)(i % n),
                    (long long)(i / n), (long long)fn_at(&got, i), (long long)want);
    }
  }
  return HOLDS;
}

static CtLayout int_as_layout(CtTiler t) {
  static CtNode one[2];
  if (t.is_int && t.layout.shape->i.v == 1) {
    one[0] = (CtNode){.rank = CT_LEAF, .len = 1, .i = ct_int(1)};
    one[1] = (CtNode){.rank = CT_LEAF, .len = 1, .i = ct_int(0)};
    return (CtLayout){&one[0], &one[1]};
  }
  return t.layout;
}

/* --- logical_divide: A o (B, complement(B, shape of A)) ------------------------------------------- */

static CtStatus rest_of(Run *run, CtLayout a, CtLayout b, CtLayout *rest) {
  CtLayout flat;
  CtStatus st = ct_coalesce(&run->cx, a, NULL, &flat, &run->err);
  return st == CT_OK ? ct_complement(&run->cx, b, flat.shape, rest, &run->err) : st;
}

/* Where tiles and rest cover size(A) exactly, r only rearranges A. */
static Verdict rearranges(Run *run, const Fn *f, const Fn *tiles, CtLayout r) {
  static int times[SEEN_MAX];
  Wide n = fn_size(f);
  Fn got = fn_of(r), m = fn_moving(tiles);
  if (n > ALL_POINTS || fn_size(tiles) != n || fn_size(&m) != n || fn_end(&m) != n ||
      !fn_is_chain(&m)) {
    return HOLDS;
  }
  memset(times, 0, sizeof times);
  for (int64_t i = 0; i < n; i++) {
    Wide v = fn_at(f, i), w = fn_at(&got, i);
    if (v < 0 || w < 0 || v >= SEEN_MAX || w >= SEEN_MAX) {
      return HOLDS;
    }
    times[v]++;
    times[w]--;
  }
  for (int v = 0; v < SEEN_MAX; v++) {
    if (times[v] != 0) {
      return broken(run, "index %d is reached %d times too rarely", v, times[v]);
    }
  }
  return HOLDS;
}

static Verdict divides(Run *run, CtLayout a, CtLayout b, CtLayout r) {
  CtLayout rest;
  if (rest_of(run, a, b, &rest) != CT_OK) {
    return broken(run, "divided, but the complement fails: %s", run->err.msg);
  }
  Fn f = fn_of(a), g = fn_of(b), h = fn_of(rest), tiles = join(&g, &h);
  Verdict v = maps_pairs(run, &f, &g, &h, r);
  return v == HOLDS ? rearranges(run, &f, &tiles, r) : v;
}

static Verdict divides_by(Run *run, CtLayout a, CtTiler t, CtLayout r) {
  Verdict v = HOLDS;
  switch (t.kind) {
    case CT_TILER_ANY: return same_layout(run, r, a);
    case CT_TILER_LAYOUT: return divides(run, a, int_as_layout(t), r);
    case CT_TILER_TUPLE: break;
  }
  if (ct_layout_rank(r) != ct_layout_rank(a)) {
    return broken(run, "the rank changed");
  }
  for (int i = 0; v == HOLDS && i < ct_layout_rank(a); i++) {
    CtLayout mode = ct_mode(a, i);
    v = i < t.n ? divides_by(run, mode, t.items[i], ct_mode(r, i))
                : same_layout(run, ct_mode(r, i), mode);
  }
  return v;
}

/* Refused, although complement and composition of the definition exist? */
static bool is_divisible(Run *run, CtLayout a, CtTiler t) {
  CtLayout parts[2], both, r;
  if (t.kind == CT_TILER_ANY) {
    return true;
  }
  if (t.kind == CT_TILER_LAYOUT) {
    parts[0] = int_as_layout(t);
    return rest_of(run, a, parts[0], &parts[1]) == CT_OK &&
           ct_layout_concat(&run->cx, 2, parts, &both, NULL) == CT_OK &&
           ct_compose(&run->cx, a, both, &r, NULL) == CT_OK;
  }
  for (int i = 0; i < t.n; i++) {
    if (t.n > ct_layout_rank(a) || !is_divisible(run, ct_mode(a, i), t.items[i])) {
      return false;
    }
  }
  return true;
}

static Verdict divide_refused(Run *run, const Case *c, CtStatus st) {
  Verdict v = refused(run, c, st);
  return v == REFUSED && is_divisible(run, c->a, c->t)
             ? broken(run, "refused, but complement and composition exist")
             : v;
}

static Verdict check_logical_divide(Run *run, const Case *c) {
  CtLayout r;
  CtStatus st = ct_logical_divide(&run->cx, c->a, c->t, &r, &run->err);
  return st == CT_OK ? divides_by(run, c->a, c->t, r) : divide_refused(run, c, st);
}

/* The value of a coalesced, whose modes are those of `natural`, at the natural coordinate that counts
   to i in the extents of `a`: the padded layout must have a's there. */
static Wide at_natural(const Fn *natural, const Fn *a, Wide i) {
  Wide value = 0;
  for (int k = 0; k < a->n; k++) {
    bool last = k == a->n - 1;
    value += (last ? i : i % a->shape[k]) * natural->stride[k];
    i = last ? 0 : i / a->shape[k];
  }
  return value;
}

/* Longer modes only, by less than a tile; what is inside is a's; and its divide is a divide. */
static Verdict check_padded_divide(Run *run, const Case *c) {
  CtLayout p, flat, r;
  bool padded;
  CtStatus st = ct_pad_for_tiles(&run->cx, "divide", c->a, c->t, &p, &padded, &run->err);
  if (st != CT_OK || c->t.kind != CT_TILER_LAYOUT || !padded) {
    return VACUOUS;
  }
  if (ct_logical_divide(&run->cx, c->a, c->t, &r, &run->err) == CT_OK ||
      ct_coalesce(&run->cx, c->a, NULL, &flat, &run->err) != CT_OK) {
    return broken(run, "padded without need");
  }
  Fn f = fn_of(flat), g = fn_of(p), tile = fn_of(c->t.layout), moving = fn_moving(&tile);
  if (!fn_is_chain(&moving)) {
    return VACUOUS; /* no tile: refused */
  }
  if (f.n != g.n) {
    return broken(run, "%d modes, not %d", g.n, f.n);
  }
  for (int k = 0; k < f.n; k++) {
    if (g.stride[k] != f.stride[k] || g.shape[k] < f.shape[k] ||
        g.shape[k] >= f.shape[k] + fn_end(&moving)) {
      return broken(run, "mode %d is (%lld:%lld)", k, (long long)g.shape[k],
                    (long long)g.stride[k]);
    }
  }
  for (int k = 0; k < n_points(fn_size(&f)); k++) {
    Wide i = point(fn_size(&f), k);
    if (at_natural(&g, &f, i) != at(c->a, i)) {
      return broken(run, "at %lld it is not a's", (long long)i);
    }
  }
  st = ct_logical_divide(&run->cx, p, c->t, &r, &run->err);
  return st == CT_OK ? divides_by(run, p, c->t, r) : refused(run, c, st);
}

/* Tiles of few elements, mostly neighbours, that end somewhere. */
static void make_padded(Rng *r, CtArena *a, Case *c) {
  c->a = random_layout(r, a, 300);
  c->t = random_tiler(r, a, c->a, false);
  CtTuple n = ct_leaf(a, ct_int(2 + (int64_t)rng_below(r, 12)));
  CtTuple d = ct_leaf(a, ct_int(rng_chance(r, 70) ? 1 : 1 + (int64_t)rng_below(r, 4)));
  if (n != NULL && d != NULL && rng_chance(r, 90)) {
    c->t = (CtTiler){.kind = CT_TILER_LAYOUT, .layout = {n, d}};
  }
}

static void make_divide(Rng *r, CtArena *a, Case *c) {
  c->a = random_layout(r, a, 300);
  c->t = random_tiler(r, a, c->a, true);
}

static void make_zipped(Rng *r, CtArena *a, Case *c) {
  c->a = random_layout(r, a, 300);
  c->t = random_tiler(r, a, c->a, false);
}

/* --- zipped, tiled, flat: the pairs of the logical form in another order -------------------------- */

typedef struct Sorted {
  CtLayout items[FN_MODES];
  int n;
} Sorted;

/* All of one half of a pair, or of each pair under the tiler's tuples; with the nesting of the
   tiler. */
static CtLayout half_of(Run *run, CtLayout pairs, CtTiler t, int half) {
  Sorted s = {.n = 0};
  CtLayout r = pairs;
  if (t.kind != CT_TILER_TUPLE) {
    return ct_mode(pairs, half);
  }
  for (int i = 0; i < ct_layout_rank(pairs); i++) {
    if (i < t.n) {
      s.items[s.n++] = half_of(run, ct_mode(pairs, i), t.items[i], half);
    } else if (half == 1) {
      s.items[s.n++] = ct_mode(pairs, i);
    }
  }
  return ct_layout_concat(&run->cx, s.n, s.items, &r, NULL) == CT_OK ? r : pairs;
}

static void unpack(Sorted *s, CtLayout l, bool open) {
  int n = open ? ct_layout_rank(l) : 1;
  for (int i = 0; i < n; i++) {
    s->items[s->n++] = open && n > 1 ? ct_mode(l, i) : l;
  }
}

/* The logical form first; then: zipped 0, tiled 1, flat 2. */
static Verdict is_sorted(Run *run, const Case *c, TilerOp logical, TilerOp op, int how) {
  CtLayout pairs, r, want;
  Sorted s = {.n = 0};
  CtStatus st = op(&run->cx, c->a, c->t, &r, &run->err);
  CtErr err = run->err;
  CtStatus logical_st = logical(&run->cx, c->a, c->t, &pairs, &run->err);
  if (st != logical_st) {
    return broken(run, "status %d, but %d of the logical form: %s", (int)st, (int)logical_st,
                  err.msg);
  }
  if (st != CT_OK) {
    return refused(run, c, st);
  }
  unpack(&s, half_of(run, pairs, c->t, 0), how == 2);
  unpack(&s, half_of(run, pairs, c->t, 1), how >= 1);
  if (ct_layout_concat(&run->cx, s.n, s.items, &want, &run->err) != CT_OK) {
    return broken(run, "%s", run->err.msg);
  }
  return same_layout(run, r, want);
}

#define SORTED(op, how)                                                                            \
  static Verdict check_##op##_divide(Run *run, const Case *c) {                                    \
    return is_sorted(run, c, ct_logical_divide, ct_##op##_divide, how);                            \
  }                                                                                                \
  static Verdict check_##op##_product(Run *run, const Case *c) {                                   \
    return is_sorted(run, c, ct_logical_product, ct_##op##_product, how);                          \
  }
SORTED(zipped, 0)
SORTED(tiled, 1)
SORTED(flat, 2)
#undef SORTED

/* --- logical_product: (A, complement(A, size(A) * cosize(B)) o B) ---------------------------------- */

static CtStatus room_of(Run *run, CtLayout a, CtLayout b, CtLayout *room) {
  Fn f = fn_of(a), g = fn_of(b);
  Wide last = 0;
  for (int i = 0; i < g.n; i++) {
    Wide d = g.stride[i] < 0 ? -(Wide)g.stride[i] : g.stride[i];
    last += d * (g.shape[i] - 1);
  }
  Wide target = fn_size(&f) * (fn_size(&g) == 0 ? 0 : last + 1);
  CtNode cotarget = {.rank = CT_LEAF, .len = 1, .i = ct_int((int64_t)target)};
  return target > INT64_MAX ? CT_EOVERFLOW : ct_complement(&run->cx, a, &cotarget, room, &run->err);
}

static bool fits_marks(const Fn *f) {
  Fn m = fn_moving(f);
  return fn_size(f) <= 4000 && fn_size(f) > 0 && !fn_has_negative(f) &&
         fn_at(&m, fn_size(&m) - 1) < SEEN_MAX;
}

static Verdict multiplies(Run *run, CtLayout a, CtLayout b, CtLayout r) {
  CtLayout room;
  if (room_of(run, a, b, &room) != CT_OK) {
    return broken(run, "multiplied, but the complement fails: %s", run->err.msg);
  }
  Fn f = fn_of(a), g = fn_of(b), h = fn_of(room), got = fn_of(r);
  if (ct_layout_rank(r) != 2 || same_layout(run, ct_mode(r, 0), a) != HOLDS ||
      !refines(ct_child(r.shape, 1), b.shape)) {
    return broken(run, "not (block, repetitions)");
  }
  Fn copies = fn_of_mode(r, 1);
  for (int k = 0; k < n_points(fn_size(&g)); k++) {
    Wide i = point(fn_size(&g), k), want = fn_at(&h, fn_at(&g, i));
    if (fn_at(&copies, i) != want) {
      return broken(run, "copy %lld begins at %lld, not %lld", (long long)i,
                    (long long)fn_at(&copies, i), (long long)want);
    }
  }
  bool apart = fits_marks(&f) && fits_marks(&g) && fn_is_injective(&f) && fn_is_injective(&g);
  return !apart || !fits_marks(&got) || fn_is_injective(&got)
             ? HOLDS
             : broken(run, "copies of the block overlap");
}

static Verdict multiplies_by(Run *run, CtLayout a, CtTiler t, CtLayout r) {
  Verdict v = HOLDS;
  switch (t.kind) {
    case CT_TILER_ANY: return same_layout(run, r, a);
    case CT_TILER_LAYOUT: return multiplies(run, a, int_as_layout(t), r);
    case CT_TILER_TUPLE: break;
  }
  for (int i = 0; v == HOLDS && i < ct_layout_rank(a); i++) {
    CtLayout mode = ct_mode(a, i);
    v = i < t.n ? multiplies_by(run, mode, t.items[i], ct_mode(r, i))
                : same_layout(run, ct_mode(r, i), mode);
  }
  return v;
}

/* Refused although (A, room o B) exists and its copies lie apart? */
static Verdict product_refused(Run *run, const Case *c, CtLayout a, CtTiler t, CtStatus st) {
  CtLayout room, copies, both[2];
  Verdict v = refused(run, c, st);
  if (v != REFUSED || t.kind != CT_TILER_LAYOUT || room_of(run, a, t.layout, &room) != CT_OK ||
      ct_compose(&run->cx, room, int_as_layout(t), &copies, NULL) != CT_OK) {
    return v;
  }
  both[0] = a;
  both[1] = copies;
  Fn f = fn_of(both[0]), g = fn_of(both[1]), all = join(&f, &g);
  return fits_marks(&all) && fn_is_injective(&all) ? AVOIDABLE : v;
}

static Verdict check_logical_product(Run *run, const Case *c) {
  CtLayout r;
  CtStatus st = ct_logical_product(&run->cx, c->a, c->t, &r, &run->err);
  return st == CT_OK ? multiplies_by(run, c->a, c->t, r) : product_refused(run, c, c->a, c->t, st);
}

static void make_product(Rng *r, CtArena *a, Case *c) {
  c->a = random_layout(r, a, 48);
  c->t = rng_chance(r, 60) ? layout_tiler(random_layout(r, a, 24)) : random_tiler(r, a, c->a, true);
}

static void make_zipped_product(Rng *r, CtArena *a, Case *c) {
  c->a = random_layout(r, a, 48);
  c->t =
      rng_chance(r, 50) ? layout_tiler(random_layout(r, a, 24)) : random_tiler(r, a, c->a, false);
}

static void make_blocks(Rng *r, CtArena *a, Case *c) {
  c->a = rng_chance(r, 50) ? random_compact(r, a, 40) : random_layout(r, a, 40);
  c->b = random_layout(r, a, 24);
}

/* Mode i is (block mode i, arrangement mode i); the missing modes of either are 1:0. */
static Verdict pairs_modes(Run *run, CtLayout pair, CtLayout a, CtLayout b, CtLayout r,
                           bool raked) {
  int ra = ct_layout_rank(a), rb = ct_layout_rank(b), rank = ra > rb ? ra : rb;
  if (ct_is_leaf(r.shape) || r.shape->rank != rank) {
    return broken(run, "of rank %d, not %d", ct_layout_rank(r), rank);
  }
  for (int i = 0; i < rank; i++) {
    CtLayout m = ct_mode(r, i);
    CtLayout half[2] = {ct_mode(m, raked), ct_mode(m, !raked)};
    Fn block = fn_of(half[0]), copies = fn_of(half[1]), none = {.n = 1, .shape = {1}};
    CtLayout all = ct_mode(pair, 1);
    Fn want = i < ra ? fn_of_mode(a, i) : none;
    Fn want_copies = i >= rb ? none : ct_is_leaf(b.shape) ? fn_of(all) : fn_of_mode(all, i);
    if (ct_layout_rank(m) != 2 || fn_size(&block) != fn_size(&want) ||
        fn_size(&copies) != fn_size(&want_copies)) {
      return broken(run, "mode %d has other sizes", i);
    }
    if (same_values(run, &block, &want, fn_size(&want)) != HOLDS ||
        same_values(run, &copies, &want_copies, fn_size(&want_copies)) != HOLDS) {
      return BROKEN;
    }
  }
  return HOLDS;
}

static Verdict check_blocks(Run *run, const Case *c, bool raked) {
  CtLayout r, pair;
  CtStatus st = raked ? ct_raked_product(&run->cx, c->a, c->b, &r, &run->err)
                      : ct_blocked_product(&run->cx, c->a, c->b, &r, &run->err);
  if (st != CT_OK) {
    return product_refused(run, c, c->a, layout_tiler(c->b), st);
  }
  if (ct_logical_product(&run->cx, c->a, layout_tiler(c->b), &pair, &run->err) != CT_OK) {
    return broken(run, "logical_product fails: %s", run->err.msg);
  }
  return pairs_modes(run, pair, c->a, c->b, r, raked);
}

static Verdict check_blocked(Run *run, const Case *c) { return check_blocks(run, c, false); }
static Verdict check_raked(Run *run, const Case *c) { return check_blocks(run, c, true); }

/* --- tile_to_shape -------------------------------------------------------------------------------- */

/* A shape of the block's rank or above, and perhaps an order. */
static void make_filling(Rng *r, CtArena *a, Case *c) {
  CtInt shape[8], order[8];
  c->a = rng_chance(r, 75) ? random_compact(r, a, 32) : random_layout(r, a, 32);
  int ra = ct_layout_rank(c->a), rank = ra + (int)rng_below(r, 2);
  for (int i = 0; i < rank; i++) {
    int64_t size = i < ra ? (int64_t)size_of(ct_child(c->a.shape, i)) : 1;
    shape[i] = ct_int(size * (1 + rng_below(r, 4)) + (rng_chance(r, 3) ? 1 : 0));
    order[i] = ct_int(i);
  }
  for (int i = rank - 1; i > 0; i--) {
    int k = (int)rng_below(r, i + 1);
    CtInt t = order[i];
    order[i] = order[k];
    order[k] = t;
  }
  c->s = ct_tuple_ints(a, rank, shape);
  c->c = rng_chance(r, 60) ? ct_tuple_ints(a, rank, order) : NULL;
}

/* The number of the block at a coordinate of blocks, counted in the given order. */
static Wide block_number(CtTuple order, int rank, const Wide *blocks, const Wide *crd) {
  Wide number = 0, weight = 1;
  for (int k = 0; k < rank; k++) { /* the mode that is k-th to be filled */
    for (int i = 0; i < rank; i++) {
      if (order == NULL ? i == k : ct_child(order, i)->i.v == k) {
        number += crd[i] * weight;
        weight *= blocks[i];
      }
    }
  }
  return number;
}

/* At x: the block's value at x mod its shape, moved by where block number x div its shape begins. */
static Verdict fills(Run *run, const Case *c, CtLayout r) {
  int rank = c->s->rank, ra = ct_layout_rank(c->a);
  Wide size[8], blocks[8], total = 1;
  CtLayout room;
  for (int i = 0; i < rank; i++) {
    size[i] = i < ra ? size_of(ct_child(c->a.shape, i)) : 1;
    blocks[i] = ct_child(c->s, i)->i.v / size[i];
    total *= ct_child(c->s, i)->i.v;
  }
  Fn got = fn_of(r);
  CtNode target = {.rank = CT_LEAF, .len = 1, .i = ct_int((int64_t)total)};
  if (ct_complement(&run->cx, c->a, &target, &room, &run->err) != CT_OK) {
    return broken(run, "filled, but the complement fails: %s", run->err.msg);
  }
  Fn start = fn_of(room);
  for (int k = 0; k < n_points(total); k++) {
    Wide i = point(total, k), left = i, inside[8], outside[8], want = 0;
    for (int m = 0; m < rank; m++) {
      Wide x = left % ct_child(c->s, m)->i.v;
      left /= ct_child(c->s, m)->i.v;
      inside[m] = x % size[m];
      outside[m] = x / size[m];
    }
    want = sum_at(c->a, inside) + fn_at(&start, block_number(c->c, rank, blocks, outside));
    if (fn_at(&got, i) != want) {
      return broken(run, "at %lld it is %lld, not %lld", (long long)i, (long long)fn_at(&got, i),
                    (long long)want);
    }
  }
  return HOLDS;
}

static Verdict check_tile_to_shape(Run *run, const Case *c) {
  CtLayout r;
  CtStatus st = ct_tile_to_shape(&run->cx, c->a, c->s, c->c, &r, &run->err);
  if (size_of(c->a.shape) == 0) {
    return VACUOUS;
  }
  bool fits = true;
  for (int i = 0; i < ct_layout_rank(c->a); i++) {
    fits = fits && ct_child(c->s, i)->i.v % size_of(ct_child(c->a.shape, i)) == 0;
  }
  if (st != CT_OK) {
    Fn f = fn_of(c->a);
    Verdict v = refused(run, c, st);
    bool right = !fits || st == CT_EOVERFLOW || !fn_is_compact(&f);
    return v != REFUSED || right ? v : broken(run, "refused: %s", run->err.msg);
  }
  if (!fits || ct_layout_rank(r) != c->s->rank || !refines(r.shape, c->s)) {
    return broken(run, "not of that shape");
  }
  return fills(run, c, r);
}

const Law laws_of_tiles[] = {
    {"logical_divide", "logical_divide($a, $t)", make_divide, check_logical_divide, false},
    {"divide of padded modes", "logical_divide($a, $t)", make_padded, check_padded_divide, false},
    {"zipped_divide", "zipped_divide($a, $t)", make_zipped, check_zipped_divide, false},
    {"tiled_divide", "tiled_divide($a, $t)", make_zipped, check_tiled_divide, false},
    {"flat_divide", "flat_divide($a, $t)", make_zipped, check_flat_divide, false},
    {"logical_product", "logical_product($a, $t)", make_product, check_logical_product, false},
    {"zipped_product", "zipped_product($a, $t)", make_zipped_product, check_zipped_product, false},
    {"tiled_product", "tiled_product($a, $t)", make_zipped_product, check_tiled_product, false},
    {"flat_product", "flat_product($a, $t)", make_zipped_product, check_flat_product, false},
    {"blocked_product", "blocked_product($a, $b)", make_blocks, check_blocked, false},
    {"raked_product", "raked_product($a, $b)", make_blocks, check_raked, false},
    {"tile_to_shape", "tile_to_shape($a, $s, $c)", make_filling, check_tile_to_shape, false},
    {0},
};
