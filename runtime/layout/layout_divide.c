/* layout_divide.c: divides and products, by a layout or mode by mode.

   By a layout T: logical_divide(A, T) = A o (T, T*), T* the complement of T in A's shape: the tile
   and the arrangement of tiles. logical_product(A, T) = (A, A* o T): the block and its repetitions.
   By a tuple each mode is divided on its own. The zipped, tiled and flat forms sort the resulting
   pairs into ((tiles...), (rests...)) and unpack the second, or both. */
#include "layout_algebra.h"

/* --- logical divide and product ---------------------------------------------------------------- */

/* One mode's work: builds the pair for layout a and layout t. */
typedef void (*BuildPair)(CtBuild *b, CtLayout a, CtLayout t);

static void build_divide(CtBuild *b, CtLayout a, CtLayout t) {
  CtAlg *g = b->g;
  CtFlat f;
  if (ct_is_leaf(t.shape) && ct_is_const(t.shape->i, 0)) { /* it has no number of tiles */
    al_fail(g, CT_EINVAL, "%s: tiler 0 of %s; tiles must have elements", b->op,
            al_show_layout(g, a));
  }
  ct_flat_init(&f, g);
  ct_flat_push_layout(&f, a, false); /* the shape that tiles must fill */
  CtLayout parts[2] = {t, al_complement_as(g, b->op, t, ct_flat_take(&f, b->op).shape)};
  ct_build_open_named(b, a.shape->name);
  ct_build_compositions(b, a, 2, parts);
  ct_build_close(b);
}

/* If the gaps of the block were cut off, its complement may end before t does; its last mode would
   then run into the block itself. */
static void check_repeats(CtBuild *b, CtLayout block, CtLayout t, CtLayout rest) {
  CtAlg *g = b->g;
  CtInt n = al_size(g, rest), needed = al_plain_cosize(g, t), end = al_plain_cosize(g, block);
  if (al_ok(g) && ct_int_le(&g->cx, needed, n) == CT_KNOWN_NO &&
      ct_int_le(&g->cx, end, rest.stride[rest.stride->len - 1].i) == CT_KNOWN_NO) {
    al_fail(g, CT_EINVAL,
            "%s: copies of %s would overlap: it leaves room for %s, %s reaches %s; give a block "
            "whose gaps are multiples of the smaller strides",
            b->op, al_show_layout(g, block), al_show_int(g, n), al_show_layout(g, t),
            al_show_int(g, needed));
  }
}

/* The repetitions are in the complement of the block up to size(block) * cosize(t). */
static void build_product(CtBuild *b, CtLayout block, CtLayout t) {
  CtAlg *g = b->g;
  CtInt size = al_size(g, block);
  CtTuple cotarget = al_leaf(g, al_mul(g, size, al_plain_cosize(g, t)));
  CtLayout rest = al_complement_as(g, b->op, block, cotarget);
  check_repeats(b, block, t, rest);
  ct_build_open(b);
  ct_build_layout(b, block);
  ct_build_compositions(b, rest, 1, &t);
  ct_build_close(b);
}

/* The integer n is the layout n:1 (and 1 is 1:0). */
static CtLayout tiler_layout(CtTiler t, CtLeafLayout *nodes) {
  if (t.is_int && ct_is_const(t.layout.shape->i, 1)) {
    return ct_leaf_layout(nodes, ct_int(1), ct_int(0));
  }
  return t.layout;
}

static void build_logical(CtBuild *b, CtLayout a, CtTiler t, BuildPair pair) {
  CtLeafLayout nodes;
  switch (t.kind) {
    case CT_TILER_ANY: ct_build_layout(b, a); return;
    case CT_TILER_LAYOUT: pair(b, a, tiler_layout(t, &nodes)); return;
    case CT_TILER_TUPLE: break;
  }
  ct_build_check_tiler(b, a, t, "one tile size");
  ct_build_open_named(b, ct_whole_name(a));
  for (int i = 0; al_ok(b->g) && i < ct_layout_rank(a); i++) {
    if (i < t.n) {
      build_logical(b, ct_mode(a, i), t.items[i], pair);
    } else {
      ct_build_layout(b, ct_mode(a, i));
    }
  }
  ct_build_close(b);
}

static CtLayout logical(CtAlg *g, const char *op, CtLayout a, CtTiler t, BuildPair pair) {
  CtBuild b;
  ct_build_init_layout(&b, g, op);
  if (al_ok(g)) {
    build_logical(&b, a, t, pair);
  }
  return ct_build_take_layout(&b);
}

/* --- zipped, tiled, flat ----------------------------------------------------------------------- */

/* Which half of each pair to collect. */
typedef enum Half { TILES, RESTS } Half;

static void build_half(CtBuild *b, CtLayout pairs, CtTiler t, Half half);

/* The halves of all pairs; modes that the tiler does not reach join the rests. */
static void build_halves(CtBuild *b, CtLayout pairs, CtTiler t, Half half) {
  int rank = ct_layout_rank(pairs);
  for (int i = 0; al_ok(b->g) && i < t.n; i++) {
    build_half(b, ct_mode(pairs, i), t.items[i], half);
  }
  for (int i = t.n; half == RESTS && i < rank; i++) {
    ct_build_layout(b, ct_mode(pairs, i));
  }
}

static void build_half(CtBuild *b, CtLayout pairs, CtTiler t, Half half) {
  if (t.kind == CT_TILER_TUPLE) {
    ct_build_open_named(b, ct_whole_name(pairs));
    build_halves(b, pairs, t, half);
    ct_build_close(b);
  } else if (ct_layout_rank(pairs) == 2) {
    ct_build_layout(b, ct_mode(pairs, (int)half));
  } else {
    al_fail(b->g, CT_EINVAL,
            "%s: '_' leaves mode %s undivided; it has no tile and rest to sort, use logical_divide "
            "or logical_product, or give a tile size",
            b->op, al_show_layout(b->g, pairs));
  }
}

static CtLayout zipped(CtAlg *g, const char *op, CtLayout a, CtTiler t, BuildPair pair) {
  CtBuild b;
  CtLayout pairs = logical(g, op, a, t, pair);
  ct_build_init_layout(&b, g, op);
  if (al_ok(g)) {
    ct_build_open_named(&b, pairs.shape->name);
    build_half(&b, pairs, t, TILES);
    build_half(&b, pairs, t, RESTS);
    ct_build_close(&b);
  }
  return ct_build_take_layout(&b);
}

CtLayout al_zipped_divide_as(CtAlg *g, const char *op, CtLayout a, CtTiler t) {
  return zipped(g, op, a, t, build_divide);
}

/* The mode's own modes, or the mode itself if it has just one. */
static void build_unpacked(CtBuild *b, CtLayout mode) {
  int rank = ct_layout_rank(mode);
  if (rank == 1) {
    uint32_t at = b->len;
    ct_build_layout(b, mode);
    if (!ct_is_leaf(mode.shape)) { /* ((K=8)) becomes K=(8) */
      ct_build_name_tuple(b, at);
    }
    return;
  }
  for (int i = 0; i < rank; i++) {
    ct_build_layout(b, ct_mode(mode, i));
  }
}

static CtLayout unpacked(CtAlg *g, const char *op, CtLayout a, CtTiler t, BuildPair pair,
                         bool both) {
  CtBuild b;
  CtLayout z = zipped(g, op, a, t, pair);
  ct_build_init_layout(&b, g, op);
  if (al_ok(g)) {
    ct_build_open_named(&b, z.shape->name);
    (both ? build_unpacked : ct_build_layout)(&b, ct_mode(z, 0));
    build_unpacked(&b, ct_mode(z, 1));
    ct_build_close(&b);
  }
  return ct_build_take_layout(&b);
}

#define FORMS(kind)                                                                                \
  CtLayout al_logical_##kind(CtAlg *g, CtLayout a, CtTiler t) {                                    \
    return logical(g, "logical_" #kind, a, t, build_##kind);                                       \
  }                                                                                                \
  CtLayout al_zipped_##kind(CtAlg *g, CtLayout a, CtTiler t) {                                     \
    return zipped(g, "zipped_" #kind, a, t, build_##kind);                                         \
  }                                                                                                \
  CtLayout al_tiled_##kind(CtAlg *g, CtLayout a, CtTiler t) {                                      \
    return unpacked(g, "tiled_" #kind, a, t, build_##kind, false);                                 \
  }                                                                                                \
  CtLayout al_flat_##kind(CtAlg *g, CtLayout a, CtTiler t) {                                       \
    return unpacked(g, "flat_" #kind, a, t, build_##kind, true);                                   \
  }
FORMS(divide)
FORMS(product)
#undef FORMS

/* --- blocked and raked products ---------------------------------------------------------------- */

/* Mode i of one half of the product. An integer operand has the whole half, and so have the
   repetitions of an integer block: CuTe pairs the halves unchanged if the block is not a tuple. */
static CtLayout part_of(CtLayout half, CtLayout block, CtLayout operand, int i) {
  return ct_is_leaf(block.shape) || ct_is_leaf(operand.shape) ? half : ct_mode(half, i);
}

/* The product of block and arrangement, padded to the same rank. */
static CtLayout paired_product(CtAlg *g, const char *op, CtLayout a, CtLayout t, bool raked) {
  CtLeafLayout nodes;
  CtBuild b;
  CtLayout one = ct_leaf_layout(&nodes, ct_int(1), ct_int(0));
  int rank = al_ok(g) ? (int)ct_max(ct_layout_rank(a), ct_layout_rank(t)) : 1;
  a = al_append(g, a, one, rank);
  t = al_append(g, t, one, rank);
  CtLayout pair = logical(g, op, a, (CtTiler){.kind = CT_TILER_LAYOUT, .layout = t}, build_product);
  ct_build_init_layout(&b, g, op);
  if (al_ok(g)) {
    ct_build_open_named(&b, ct_whole_name(a));
    rank = ct_layout_rank(a);
  }
  for (int i = 0; al_ok(g) && i < rank; i++) {
    CtLayout block = part_of(ct_mode(pair, 0), a, a, i);
    CtLayout rest = part_of(ct_mode(pair, 1), a, t, i);
    ct_build_open_named(&b, block.shape->name != 0 ? block.shape->name : rest.shape->name);
    ct_build_layout(&b, raked ? rest : block);
    ct_build_layout(&b, raked ? block : rest);
    ct_build_close(&b);
  }
  ct_build_close(&b);
  return ct_build_take_layout(&b);
}

CtLayout al_blocked_product(CtAlg *g, CtLayout a, CtLayout b) {
  return paired_product(g, "blocked_product", a, b, false);
}

CtLayout al_raked_product(CtAlg *g, CtLayout a, CtLayout b) {
  return paired_product(g, "raked_product", a, b, true);
}

/* --- filling a shape --------------------------------------------------------------------------- */

/* An order has one number for each mode of the shape, or one for all. */
static void check_fills(CtAlg *g, CtLayout a, CtTuple shape, CtTuple order) {
  if (ct_layout_rank(a) > ct_rank(shape)) {
    al_fail(g, CT_EINVAL,
            "tile_to_shape: %s has rank %d but shape %s has rank %d; give a shape of at least that "
            "rank",
            al_show_layout(g, a), ct_layout_rank(a), al_show_tuple(g, shape), ct_rank(shape));
  }
  if (order != NULL && !ct_is_leaf(order) &&
      (ct_is_leaf(shape) || order->rank != shape->rank || ct_n_leaves(order) != order->rank)) {
    al_fail(g, CT_EINVAL, "tile_to_shape: order %s does not fit shape %s; give one value per mode",
            al_show_tuple(g, order), al_show_tuple(g, shape));
  }
}

/* size(shape mode i) / size(block mode i), which must be exact. */
static CtInt count_blocks(CtAlg *g, CtLayout block, CtTuple shape, int i) {
  CtInt have = al_size(g, ct_mode(block, i)), want = al_product(g, ct_child(shape, i));
  if (ct_int_divides(&g->cx, have, want) == CT_KNOWN_NO) {
    al_fail(g, CT_EINVAL,
            "tile_to_shape: extent %s of mode %d in shape %s is not a multiple of %s, the size of "
            "that mode in %s",
            al_show_int(g, want), i, al_show_tuple(g, shape), al_show_int(g, have),
            al_show_layout(g, block));
  }
  return al_ceildiv(g, want, have);
}

/* The arrangement of blocks: one number per mode, in the given order. */
static CtLayout block_arrangement(CtAlg *g, CtLayout block, CtTuple shape, CtTuple order) {
  CtBuild b;
  bool is_tuple = al_ok(g) && !ct_is_leaf(shape);
  ct_build_init(&b, g, "tile_to_shape", false);
  if (is_tuple) {
    ct_build_open(&b);
  }
  for (int i = 0; al_ok(g) && i < ct_rank(shape); i++) {
    CtInt n = count_blocks(g, block, shape, i);
    ct_build_leaf_named(&b, ct_child(shape, i)->name, n, n);
  }
  if (is_tuple) {
    ct_build_close(&b);
  }
  CtTuple counts = ct_build_take(&b, 0);
  return order == NULL ? al_layout(g, counts, NULL) : al_ordered(g, counts, order);
}

CtLayout al_tile_to_shape(CtAlg *g, CtLayout a, CtTuple shape, CtTuple order) {
  CtLeafLayout nodes;
  if (al_ok(g)) {
    check_fills(g, a, shape, order);
  }
  int rank = al_ok(g) ? ct_rank(shape) : 1;
  CtLayout block = al_append(g, a, ct_leaf_layout(&nodes, ct_int(1), ct_int(0)), rank);
  CtLayout blocks = block_arrangement(g, block, shape, order);
  return paired_product(g, "tile_to_shape", block, blocks, false);
}

/* --- divisibility ------------------------------------------------------------------------------ */

/* size(shape) == size(t) * size of the rest of the shape after t */
static bool layout_divides(CtAlg *g, CtTuple shape, CtLayout t) {
  CtLayout rest = al_complement_as(g, "evenly_divides", t, shape);
  CtInt size = al_product(g, shape), tile = al_size(g, t);
  CtInt covered = al_mul(g, tile, al_size(g, rest));
  return al_ok(g) && ct_int_equal(size, covered);
}

bool al_evenly_divides(CtAlg *g, CtTuple shape, CtTiler t) {
  CtLeafLayout nodes;
  if (!al_ok(g) || t.kind != CT_TILER_TUPLE) {
    return al_ok(g) &&
           (t.kind == CT_TILER_ANY || layout_divides(g, shape, tiler_layout(t, &nodes)));
  }
  bool all = t.n <= ct_rank(shape);
  for (int i = 0; all && i < t.n; i++) {
    all = al_evenly_divides(g, ct_child(shape, i), t.items[i]);
  }
  return all;
}
