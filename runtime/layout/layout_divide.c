/* layout_divide.c: divides and products, by a layout or mode by mode.

   By a layout T: logical_divide(A, T) = A o (T, T*), T* the complement of T in A's shape: the tile
   and the arrangement of tiles. logical_product(A, T) = (A, A* o T): the block and its repetitions.
   By a tuple each mode is divided on its own. The zipped, tiled and flat forms sort the resulting
   pairs into ((tiles...), (rests...)) and unpack the second, or both. */
#include "layout_flat.h"

/* --- logical divide and product ---------------------------------------------------------------- */

/* One mode's work: builds the pair for layout a and layout t. */
typedef void (*BuildPair)(CtBuild *b, const CtCx *cx, CtLayout a, CtLayout t);

/* The shape of a, coalesced, is what the tiles must fill. */
static CtStatus flat_shape(CtBuild *b, const CtCx *cx, CtLayout a, CtTuple *out) {
  CtFlat f;
  CtLayout l;
  ct_flat_init(&f);
  CtStatus st = ct_flat_push_layout(&f, cx, a, false, b->err);
  if (st == CT_OK) {
    st = ct_flat_finish(&f, cx, b->op, &l, b->err);
  }
  if (st == CT_OK) {
    *out = l.shape;
  }
  return st;
}

/* An extent 0 has no number of tiles. */
static CtStatus check_tile(CtBuild *b, const CtCx *cx, CtLayout a, CtLayout t) {
  return ct_is_leaf(t.shape) && ct_is_const(t.shape->i, 0)
             ? ct_fail(b->err, CT_EINVAL, "%s: tiler 0 of %s; tiles must have elements", b->op,
                       ct_show_layout(cx, a))
             : CT_OK;
}

static void build_divide(CtBuild *b, const CtCx *cx, CtLayout a, CtLayout t) {
  CtTuple cotarget;
  CtLayout parts[2] = {t, t};
  CtStatus st = check_tile(b, cx, a, t);
  if (st == CT_OK) {
    st = flat_shape(b, cx, a, &cotarget);
  }
  if (st == CT_OK) {
    st = ct_complement_as(cx, b->op, t, cotarget, &parts[1], b->err);
  }
  ct_build_fail(b, st);
  ct_build_open_named(b, a.shape->name);
  ct_build_compositions(b, cx, a, 2, parts);
  ct_build_close(b);
}

/* The complement of the block up to size(block) * cosize(t). */
static CtStatus block_complement(CtBuild *b, const CtCx *cx, CtLayout block, CtLayout t,
                                 CtLayout *out) {
  CtInt size, cosize;
  CtNode cotarget = {.rank = CT_LEAF, .len = 1};
  CtStatus st = ct_size(cx, block, &size, b->err);
  if (st == CT_OK) {
    st = ct_cosize(cx, t, &cosize, b->err);
  }
  if (st == CT_OK) {
    st = ct_int_op(cx, CT_INT_MUL, size, cosize, &cotarget.i, b->err);
  }
  return st == CT_OK ? ct_complement_as(cx, b->op, block, &cotarget, out, b->err) : st;
}

/* Where the gaps of the block were cut off, its complement may end before t does; its last mode would
   then run on into the block itself. */
static CtStatus check_repeats(CtBuild *b, const CtCx *cx, CtLayout block, CtLayout t,
                              CtLayout rest) {
  CtInt n, needed, end, last = rest.stride[rest.stride->len - 1].i;
  CtStatus st = ct_size(cx, rest, &n, b->err);
  if (st == CT_OK) {
    st = ct_cosize(cx, t, &needed, b->err);
  }
  if (st == CT_OK) {
    st = ct_cosize(cx, block, &end, b->err);
  }
  if (st == CT_OK && ct_int_le(cx, needed, n) == CT_KNOWN_NO &&
      ct_int_le(cx, end, last) == CT_KNOWN_NO) {
    st = ct_fail(b->err, CT_EINVAL,
                 "%s: copies of %s would overlap: it leaves room for %s, %s reaches %s; give a "
                 "block whose gaps are multiples of the smaller strides",
                 b->op, ct_show_layout(cx, block), ct_show_int(cx, n), ct_show_layout(cx, t),
                 ct_show_int(cx, needed));
  }
  return st;
}

static void build_product(CtBuild *b, const CtCx *cx, CtLayout block, CtLayout t) {
  CtLayout rest;
  CtStatus st = block_complement(b, cx, block, t, &rest);
  if (st == CT_OK) {
    st = check_repeats(b, cx, block, t, rest);
  }
  ct_build_fail(b, st);
  if (st == CT_OK) {
    ct_build_open(b);
    ct_build_layout(b, block);
    ct_build_compositions(b, cx, rest, 1, &t);
    ct_build_close(b);
  }
}

/* The integer n is the layout n:1 (and 1 is 1:0). */
static CtLayout tiler_layout(CtTiler t, CtLeafLayout *nodes) {
  if (t.is_int && ct_is_const(t.layout.shape->i, 1)) {
    return ct_leaf_layout(nodes, ct_int(1), ct_int(0));
  }
  return t.layout;
}

static void build_logical(CtBuild *b, const CtCx *cx, CtLayout a, CtTiler t, BuildPair pair) {
  CtLeafLayout nodes;
  int rank = ct_layout_rank(a);
  if (b->status != CT_OK) { /* keep the first error's message */
    return;
  }
  switch (t.kind) {
    case CT_TILER_ANY: ct_build_layout(b, a); return;
    case CT_TILER_LAYOUT: pair(b, cx, a, tiler_layout(t, &nodes)); return;
    case CT_TILER_TUPLE: break;
  }
  if (t.n > rank) {
    ct_build_fail(b, ct_fail(b->err, CT_EINVAL,
                             "%s: tiler %s has rank %d but %s has rank %d; give one tile size per "
                             "mode",
                             b->op, ct_show_tiler(cx, t), t.n, ct_show_layout(cx, a), rank));
    return;
  }
  ct_build_open_named(b, ct_whole_name(a));
  for (int i = 0; i < rank; i++) {
    if (i < t.n) {
      build_logical(b, cx, ct_mode(a, i), t.items[i], pair);
    } else {
      ct_build_layout(b, ct_mode(a, i));
    }
  }
  ct_build_close(b);
}

static CtStatus logical(const CtCx *cx, const char *op, CtLayout a, CtTiler t, BuildPair pair,
                        CtLayout *out, CtErr *err) {
  CtBuild b;
  ct_build_init_layout(&b, cx, op, err);
  build_logical(&b, cx, a, t, pair);
  return ct_build_finish_layout(&b, out);
}

CtStatus ct_logical_divide(const CtCx *cx, CtLayout a, CtTiler t, CtLayout *out, CtErr *err) {
  return logical(cx, "logical_divide", a, t, build_divide, out, err);
}

CtStatus ct_logical_product(const CtCx *cx, CtLayout a, CtTiler t, CtLayout *out, CtErr *err) {
  return logical(cx, "logical_product", a, t, build_product, out, err);
}

/* --- zipped, tiled, flat ----------------------------------------------------------------------- */

/* Which half of each pair to collect. */
typedef enum Half { TILES, RESTS } Half;

static void build_half(CtBuild *b, const CtCx *cx, CtLayout pairs, CtTiler t, Half half);

/* The halves of all pairs; to the rests come the modes that the tiler does not reach. */
static void build_halves(CtBuild *b, const CtCx *cx, CtLayout pairs, CtTiler t, Half half) {
  int rank = ct_layout_rank(pairs);
  for (int i = 0; i < t.n; i++) {
    build_half(b, cx, ct_mode(pairs, i), t.items[i], half);
  }
  for (int i = t.n; half == RESTS && i < rank; i++) {
    ct_build_layout(b, ct_mode(pairs, i));
  }
}

static void build_half(CtBuild *b, const CtCx *cx, CtLayout pairs, CtTiler t, Half half) {
  if (b->status != CT_OK) { /* keep the first error's message */
    return;
  }
  if (t.kind == CT_TILER_TUPLE) {
    ct_build_open_named(b, ct_whole_name(pairs));
    build_halves(b, cx, pairs, t, half);
    ct_build_close(b);
    return;
  }
  if (ct_layout_rank(pairs) != 2) {
    ct_build_fail(b, ct_fail(b->err, CT_EINVAL,
                             "%s: '_' leaves mode %s undivided; it has no tile and rest to sort, "
                             "use logical_divide or logical_product, or give a tile size",
                             b->op, ct_show_layout(cx, pairs)));
    return;
  }
  ct_build_layout(b, ct_mode(pairs, (int)half));
}

static CtStatus zip_pairs(const CtCx *cx, const char *op, CtLayout pairs, CtTiler t, CtLayout *out,
                          CtErr *err) {
  CtBuild b;
  ct_build_init_layout(&b, cx, op, err);
  ct_build_open_named(&b, pairs.shape->name);
  build_half(&b, cx, pairs, t, TILES);
  build_half(&b, cx, pairs, t, RESTS);
  ct_build_close(&b);
  return ct_build_finish_layout(&b, out);
}

static CtStatus zipped(const CtCx *cx, const char *op, CtLayout a, CtTiler t, BuildPair pair,
                       CtLayout *out, CtErr *err) {
  CtLayout pairs;
  CtStatus st = logical(cx, op, a, t, pair, &pairs, err);
  return st == CT_OK ? zip_pairs(cx, op, pairs, t, out, err) : st;
}

CtStatus ct_zipped_divide_as(const CtCx *cx, const char *op, CtLayout a, CtTiler t, CtLayout *out,
                             CtErr *err) {
  return zipped(cx, op, a, t, build_divide, out, err);
}

/* The mode's own modes, or itself when it has just one. */
static void build_unpacked(CtBuild *b, CtLayout mode, bool unpack) {
  int rank = ct_layout_rank(mode);
  if (!unpack || rank == 1) {
    uint32_t at = b->len;
    ct_build_layout(b, mode);
    if (unpack && !ct_is_leaf(mode.shape)) { /* ((K=8)) becomes K=(8) */
      ct_build_name_tuple(b, at);
    }
    return;
  }
  for (int i = 0; i < rank; i++) {
    ct_build_layout(b, ct_mode(mode, i));
  }
}

static CtStatus unpacked(const CtCx *cx, const char *op, CtLayout a, CtTiler t, BuildPair pair,
                         bool both, CtLayout *out, CtErr *err) {
  CtBuild b;
  CtLayout z;
  CtStatus st = zipped(cx, op, a, t, pair, &z, err);
  if (st != CT_OK) {
    return st;
  }
  ct_build_init_layout(&b, cx, op, err);
  ct_build_open_named(&b, z.shape->name);
  build_unpacked(&b, ct_mode(z, 0), both);
  build_unpacked(&b, ct_mode(z, 1), true);
  ct_build_close(&b);
  return ct_build_finish_layout(&b, out);
}

CtStatus ct_zipped_divide(const CtCx *cx, CtLayout a, CtTiler t, CtLayout *out, CtErr *err) {
  return zipped(cx, "zipped_divide", a, t, build_divide, out, err);
}

CtStatus ct_tiled_divide(const CtCx *cx, CtLayout a, CtTiler t, CtLayout *out, CtErr *err) {
  return unpacked(cx, "tiled_divide", a, t, build_divide, false, out, err);
}

CtStatus ct_flat_divide(const CtCx *cx, CtLayout a, CtTiler t, CtLayout *out, CtErr *err) {
  return unpacked(cx, "flat_divide", a, t, build_divide, true, out, err);
}

CtStatus ct_zipped_product(const CtCx *cx, CtLayout a, CtTiler t, CtLayout *out, CtErr *err) {
  return zipped(cx, "zipped_product", a, t, build_product, out, err);
}

CtStatus ct_tiled_product(const CtCx *cx, CtLayout a, CtTiler t, CtLayout *out, CtErr *err) {
  return unpacked(cx, "tiled_product", a, t, build_product, false, out, err);
}

CtStatus ct_flat_product(const CtCx *cx, CtLayout a, CtTiler t, CtLayout *out, CtErr *err) {
  return unpacked(cx, "flat_product", a, t, build_product, true, out, err);
}

/* --- blocked and raked products ---------------------------------------------------------------- */

/* Block and arrangement, padded to the same rank. */
static CtStatus pad_ranks(const CtCx *cx, CtLayout *a, CtLayout *b, CtErr *err) {
  CtLeafLayout nodes;
  CtLayout one = ct_leaf_layout(&nodes, ct_int(1), ct_int(0));
  int ra = ct_layout_rank(*a), rb = ct_layout_rank(*b), rank = ra > rb ? ra : rb;
  CtStatus st = ct_append(cx, *a, one, rank, a, err);
  return st == CT_OK ? ct_append(cx, *b, one, rank, b, err) : st;
}

/* Mode i of one half of the product; all of it belongs to an integer operand, and to what an integer
   block is repeated by: CuTe pairs the halves as they are where the block is no tuple. */
static CtLayout part_of(CtLayout half, CtLayout block, CtLayout operand, int i) {
  return ct_is_leaf(block.shape) || ct_is_leaf(operand.shape) ? half : ct_mode(half, i);
}

static CtStatus paired_product(const CtCx *cx, const char *op, CtLayout a, CtLayout t, bool raked,
                               CtLayout *out, CtErr *err) {
  CtLayout pair;
  CtBuild b;
  CtStatus st = pad_ranks(cx, &a, &t, err);
  if (st == CT_OK) {
    CtTiler tiler = {.kind = CT_TILER_LAYOUT, .layout = t};
    st = logical(cx, op, a, tiler, build_product, &pair, err);
  }
  if (st != CT_OK) {
    return st;
  }
  ct_build_init_layout(&b, cx, op, err);
  ct_build_open_named(&b, ct_whole_name(a));
  for (int i = 0; i < ct_layout_rank(a); i++) {
    CtLayout block = part_of(ct_mode(pair, 0), a, a, i);
    CtLayout rest = part_of(ct_mode(pair, 1), a, t, i);
    ct_build_open_named(&b, block.shape->name != 0 ? block.shape->name : rest.shape->name);
    ct_build_layout(&b, raked ? rest : block);
    ct_build_layout(&b, raked ? block : rest);
    ct_build_close(&b);
  }
  ct_build_close(&b);
  return ct_build_finish_layout(&b, out);
}

CtStatus ct_blocked_product(const CtCx *cx, CtLayout a, CtLayout b, CtLayout *out, CtErr *err) {
  return paired_product(cx, "blocked_product", a, b, false, out, err);
}

CtStatus ct_raked_product(const CtCx *cx, CtLayout a, CtLayout b, CtLayout *out, CtErr *err) {
  return paired_product(cx, "raked_product", a, b, true, out, err);
}

/* --- filling a shape --------------------------------------------------------------------------- */

static CtStatus check_fills(const CtCx *cx, CtLayout a, CtTuple shape, CtErr *err) {
  if (ct_layout_rank(a) <= ct_rank(shape)) {
    return CT_OK;
  }
  return ct_fail(err, CT_EINVAL,
                 "tile_to_shape: %s has rank %d but shape %s has rank %d; give a shape of at least "
                 "that rank",
                 ct_show_layout(cx, a), ct_layout_rank(a), ct_show_tuple(cx, shape),
                 ct_rank(shape));
}

/* size(shape mode i) / size(block mode i), which must be exact. */
static CtStatus count_blocks(const CtCx *cx, CtLayout block, CtTuple shape, int i, CtInt *out,
                             CtErr *err) {
  CtInt have, want;
  CtStatus st = ct_size(cx, ct_mode(block, i), &have, err);
  if (st == CT_OK) {
    st = ct_product(cx, ct_child(shape, i), &want, err);
  }
  if (st != CT_OK) {
    return st;
  }
  if (ct_int_divides(cx, have, want) == CT_KNOWN_NO) {
    return ct_fail(err, CT_EINVAL,
                   "tile_to_shape: extent %s of mode %d in shape %s is not a multiple of %s, the "
                   "size of that mode in %s",
                   ct_show_int(cx, want), i, ct_show_tuple(cx, shape), ct_show_int(cx, have),
                   ct_show_layout(cx, block));
  }
  return ct_int_op(cx, CT_INT_CEILDIV, want, have, out, err);
}

/* An order has one number for each mode of the shape, or one for all. */
static CtStatus check_order(const CtCx *cx, CtTuple shape, CtTuple order, CtErr *err) {
  bool fits =
      order == NULL || ct_is_leaf(order) ||
      (!ct_is_leaf(shape) && order->rank == shape->rank && ct_n_leaves(order) == order->rank);
  return fits ? CT_OK
              : ct_fail(err, CT_EINVAL,
                        "tile_to_shape: order %s does not fit shape %s; give one value per mode",
                        ct_show_tuple(cx, order), ct_show_tuple(cx, shape));
}

/* The arrangement of blocks: one number per mode, in the given order. */
static CtStatus block_arrangement(const CtCx *cx, CtLayout block, CtTuple shape, CtTuple order,
                                  CtLayout *out, CtErr *err) {
  CtBuild b;
  CtTuple counts = NULL;
  ct_build_init(&b, cx->arena, "tile_to_shape", false, err);
  if (!ct_is_leaf(shape)) {
    ct_build_open(&b);
  }
  for (int i = 0; i < ct_rank(shape); i++) {
    CtInt n = ct_int(1);
    ct_build_fail(&b, count_blocks(cx, block, shape, i, &n, err));
    ct_build_leaf_named(&b, ct_child(shape, i)->name, n, n);
    if (b.status != CT_OK) {
      return b.status;
    }
  }
  if (!ct_is_leaf(shape)) {
    ct_build_close(&b);
  }
  CtStatus st = ct_build_finish(&b, &counts, NULL);
  if (st != CT_OK) {
    return st;
  }
  return order == NULL ? ct_layout_make(cx, counts, NULL, out, err)
                       : ct_layout_ordered(cx, counts, order, out, err);
}

CtStatus ct_tile_to_shape(const CtCx *cx, CtLayout a, CtTuple shape, CtTuple order, CtLayout *out,
                          CtErr *err) {
  CtLeafLayout nodes;
  CtLayout block, blocks;
  CtStatus st = check_fills(cx, a, shape, err);
  if (st == CT_OK) {
    st = check_order(cx, shape, order, err);
  }
  if (st == CT_OK) {
    st =
        ct_append(cx, a, ct_leaf_layout(&nodes, ct_int(1), ct_int(0)), ct_rank(shape), &block, err);
  }
  if (st == CT_OK) {
    st = block_arrangement(cx, block, shape, order, &blocks, err);
  }
  return st == CT_OK ? paired_product(cx, "tile_to_shape", block, blocks, false, out, err) : st;
}

/* --- divisibility ------------------------------------------------------------------------------ */

/* size(shape) == size(t) * size of what t leaves of the shape */
static CtStatus layout_divides(const CtCx *cx, CtTuple shape, CtLayout t, bool *out, CtErr *err) {
  CtLayout rest;
  CtInt size, tile, tiles;
  CtStatus st = ct_complement_as(cx, "evenly_divides", t, shape, &rest, err);
  if (st == CT_OK) {
    st = ct_product(cx, shape, &size, err);
  }
  if (st == CT_OK) {
    st = ct_size(cx, t, &tile, err);
  }
  if (st == CT_OK) {
    st = ct_size(cx, rest, &tiles, err);
  }
  if (st == CT_OK) {
    st = ct_int_op(cx, CT_INT_MUL, tile, tiles, &tiles, err);
  }
  if (st == CT_OK) {
    *out = ct_int_equal(size, tiles);
  }
  return st;
}

CtStatus ct_evenly_divides(const CtCx *cx, CtTuple shape, CtTiler t, bool *out, CtErr *err) {
  CtLeafLayout nodes;
  bool all = true;
  switch (t.kind) {
    case CT_TILER_ANY: *out = true; return CT_OK;
    case CT_TILER_LAYOUT: return layout_divides(cx, shape, tiler_layout(t, &nodes), out, err);
    case CT_TILER_TUPLE: break;
  }
  if (t.n > ct_rank(shape)) {
    *out = false;
    return CT_OK;
  }
  for (int i = 0; all && i < t.n; i++) {
    CtStatus st = ct_evenly_divides(cx, ct_child(shape, i), t.items[i], &all, err);
    if (st != CT_OK) {
      return st;
    }
  }
  *out = all;
  return CT_OK;
}
