/* layout_host.c: the algebra as functions for C hosts. They return a status, fill a CtErr, and
   leave their outputs unchanged if they fail. Each calls the core's function in a context of its
   own. */
#include "layout_algebra.h"
#include "tuple_parse.h"

/* The parameters between the context and the result, and the call that makes the result. */
#define LIST(...) __VA_ARGS__
#define HOST(R, name, params, call)                                                                \
  CtStatus name(const CtCx *cx, LIST params, R *out, CtErr *err) {                                 \
    CtAlg g = al_begin(cx, err);                                                                   \
    R made = call;                                                                                 \
    if (al_ok(&g)) {                                                                               \
      *out = made;                                                                                 \
    }                                                                                              \
    return g.status;                                                                               \
  }

/* --- integers and tuples ------------------------------------------------------------------------ */

HOST(CtInt, ct_int_op, (CtIntOp op, CtInt a, CtInt b), al_op(&g, op, a, b))
HOST(CtInt, ct_product, (CtTuple t), al_product(&g, t))
HOST(bool, ct_compatible, (CtTuple a, CtTuple b), al_compatible(&g, a, b))

/* --- layouts ------------------------------------------------------------------------------------ */

#define TUPLE(name, params, call) HOST(CtTuple, name, params, call)
#define LAYOUT(name, params, call) HOST(CtLayout, name, params, call)
TUPLE(ct_compact_col_major, (CtTuple shape, CtInt start), al_compact(&g, shape, start, false))
TUPLE(ct_compact_row_major, (CtTuple shape, CtInt start), al_compact(&g, shape, start, true))
TUPLE(ct_compact_order, (CtTuple shape, CtTuple order), al_compact_order(&g, shape, order))
LAYOUT(ct_layout_make, (CtTuple shape, CtTuple stride), al_layout(&g, shape, stride))
LAYOUT(ct_layout_row_major, (CtTuple shape), al_row_major(&g, shape))
LAYOUT(ct_layout_ordered, (CtTuple shape, CtTuple order), al_ordered(&g, shape, order))
HOST(CtInt, ct_size, (CtLayout l), al_size(&g, l))
HOST(CtInt, ct_cosize, (CtLayout l), al_plain_cosize(&g, l))
HOST(CtInt, ct_crd2idx, (CtTuple crd, CtLayout l), al_plain_index(&g, crd, l))
HOST(CtInt, ct_crd2idx_shape, (CtTuple crd, CtTuple shape), al_crd2idx(&g, crd, shape))
TUPLE(ct_idx2crd, (CtInt idx, CtTuple shape), al_natural(&g, al_leaf(&g, idx), shape))
TUPLE(ct_crd_natural, (CtTuple crd, CtTuple shape), al_natural(&g, crd, shape))
TUPLE(ct_idx2crd_layout, (CtInt idx, CtLayout l), al_idx2crd(&g, idx, l))
TUPLE(ct_crd2crd, (CtTuple crd, CtTuple from, CtTuple to), al_crd2crd(&g, crd, from, to))
LAYOUT(ct_identity, (CtTuple shape), al_identity(&g, shape))
TUPLE(ct_evaluate, (CtTuple crd, CtLayout l), al_plain_evaluate(&g, crd, l))
TUPLE(ct_coord_add, (CtTuple a, CtTuple b), al_coord_add(&g, a, b))
LAYOUT(ct_dice, (CtTuple crd, CtLayout l), al_keep(&g, "dice", false, crd, l))
TUPLE(ct_slice_tuple, (CtTuple crd, CtTuple t), al_keep_tuple(&g, "slice", true, crd, t))
TUPLE(ct_dice_tuple, (CtTuple crd, CtTuple t), al_keep_tuple(&g, "dice", false, crd, t))
LAYOUT(ct_layout_concat, (int n, const CtLayout *modes), al_concat(&g, n, modes))
LAYOUT(ct_mode_at, (const char *op, CtLayout l, int n, const int *path),
       al_mode_at(&g, op, l, n, path))
LAYOUT(ct_group, (CtLayout l, int first, int last), al_group(&g, l, first, last))
LAYOUT(ct_take, (CtLayout l, int first, int last), al_take(&g, l, first, last))
LAYOUT(ct_select, (CtLayout l, int n, const int *modes), al_select(&g, l, n, modes))
LAYOUT(ct_append, (CtLayout l, CtLayout x, int rank), al_append(&g, l, x, rank))
LAYOUT(ct_prepend, (CtLayout l, CtLayout x, int rank), al_prepend(&g, l, x, rank))
LAYOUT(ct_replace, (CtLayout l, int i, CtLayout x), al_replace(&g, l, i, x))
LAYOUT(ct_without_names, (CtLayout l), al_copy(&g, (CtLayout){al_nodes(&g, l.shape), l.stride}))
LAYOUT(ct_coalesce, (CtLayout a, CtTuple profile), al_coalesce(&g, a, profile))
LAYOUT(ct_flatten, (CtLayout a), al_flatten(&g, a))
LAYOUT(ct_filter_zeros, (CtLayout a), al_filter_zeros(&g, a))
LAYOUT(ct_filter, (CtLayout a, CtTuple profile), al_filter(&g, a, profile))
LAYOUT(ct_complement, (CtLayout a, CtTuple cotarget), al_complement(&g, a, cotarget))
LAYOUT(ct_right_inverse, (CtLayout a), al_plain_right_inverse(&g, a))
LAYOUT(ct_left_inverse, (CtLayout a), al_plain_left_inverse(&g, a))
LAYOUT(ct_max_common_layout, (CtLayout a, CtLayout b), al_common_layout(&g, a, b))
HOST(int64_t, ct_max_common_vector, (CtLayout a, CtLayout b), al_common_vector(&g, a, b))
LAYOUT(ct_layout_like, (CtLayout a), al_layout_like(&g, a))
LAYOUT(ct_fragment_layout_like, (CtLayout a), al_fragment_like(&g, a))
LAYOUT(ct_composition, (CtLayout a, CtTiler t), al_composition(&g, a, t))
LAYOUT(ct_compose, (CtLayout a, CtLayout b), al_plain_compose(&g, a, b))
LAYOUT(ct_logical_divide, (CtLayout a, CtTiler t), al_logical_divide(&g, a, t))
LAYOUT(ct_zipped_divide, (CtLayout a, CtTiler t), al_zipped_divide(&g, a, t))
LAYOUT(ct_tiled_divide, (CtLayout a, CtTiler t), al_tiled_divide(&g, a, t))
LAYOUT(ct_flat_divide, (CtLayout a, CtTiler t), al_flat_divide(&g, a, t))
LAYOUT(ct_logical_product, (CtLayout a, CtTiler t), al_logical_product(&g, a, t))
LAYOUT(ct_zipped_product, (CtLayout a, CtTiler t), al_zipped_product(&g, a, t))
LAYOUT(ct_tiled_product, (CtLayout a, CtTiler t), al_tiled_product(&g, a, t))
LAYOUT(ct_flat_product, (CtLayout a, CtTiler t), al_flat_product(&g, a, t))
LAYOUT(ct_blocked_product, (CtLayout a, CtLayout b), al_blocked_product(&g, a, b))
LAYOUT(ct_raked_product, (CtLayout a, CtLayout b), al_raked_product(&g, a, b))
LAYOUT(ct_tile_to_shape, (CtLayout a, CtTuple shape, CtTuple order),
       al_tile_to_shape(&g, a, shape, order))
HOST(bool, ct_evenly_divides, (CtTuple shape, CtTiler t), al_evenly_divides(&g, shape, t))
LAYOUT(ct_upcast, (CtLayout a, int64_t n), al_plain_upcast(&g, a, n))
LAYOUT(ct_downcast, (CtLayout a, int64_t n), al_plain_downcast(&g, a, n))
LAYOUT(ct_recast, (CtLayout a, int64_t from_bits, int64_t to_bits),
       al_recast(&g, ct_composed_plain(a), from_bits, to_bits).layout)
LAYOUT(ct_recast_elements, (CtLayout a, int64_t from_bits, int64_t to_bits),
       al_recast(&g, ct_composed_plain(from_bits > to_bits ? al_parts_adjacent(&g, a) : a),
                 from_bits, to_bits)
           .layout)
LAYOUT(ct_nullspace, (CtLayout a), al_nullspace(&g, a))
LAYOUT(ct_domain_distribute, (CtTuple shape, int64_t n), al_domain_distribute(&g, shape, n))

CtStatus ct_layout_copy(CtArena *a, CtLayout l, CtLayout *out, CtErr *err) {
  CtAlg g = {.cx = {.arena = a}, .err = err};
  CtLayout copy = al_copy(&g, l);
  *out = al_ok(&g) ? copy : *out;
  return g.status;
}

CtStatus ct_tiler_from_tuple(CtArena *a, CtTuple t, CtTiler *out, CtErr *err) {
  CtAlg g = {.cx = {.arena = a}, .err = err};
  CtTiler made = al_tiler(&g, t);
  *out = al_ok(&g) ? made : *out;
  return g.status;
}

CtStatus ct_find_mode(const CtCx *cx, const char *op, CtLayout l, CtModeName name,
                      int path[CT_MAX_DEPTH], int *n, CtErr *err) {
  CtAlg g = al_begin(cx, err);
  int found = al_find_mode(&g, op, l, name, path);
  *n = al_ok(&g) ? found : *n;
  return g.status;
}

CtStatus ct_pad_for_tiles(const CtCx *cx, const char *op, CtLayout a, CtTiler t, CtLayout *out,
                          bool *padded, CtErr *err) {
  CtAlg g = al_begin(cx, err);
  CtLayout made = al_pad(&g, op, a, t, padded);
  *out = al_ok(&g) ? made : *out;
  return g.status;
}

/* --- swizzles ----------------------------------------------------------------------------------- */

#define SWIZZLE(name, params, call)                                                                \
  CtStatus name(LIST params, CtSwizzle *out, CtErr *err) {                                         \
    CtAlg g = {.err = err};                                                                        \
    CtSwizzle made = call;                                                                         \
    if (al_ok(&g)) {                                                                               \
      *out = made;                                                                                 \
    }                                                                                              \
    return g.status;                                                                               \
  }
SWIZZLE(ct_swizzle_make, (int64_t bits, int64_t base, int64_t shift),
        al_swizzle_make(&g, bits, base, shift))
SWIZZLE(ct_swizzle_from_masks, (int64_t y, int64_t z), al_swizzle_masks(&g, y, z))
SWIZZLE(ct_swizzle_compose, (CtSwizzle a, CtSwizzle b), al_swizzle_join(&g, a, b))
SWIZZLE(ct_swizzle_upcast, (CtSwizzle sw, int64_t n), al_swizzle_upcast(&g, sw, n))
SWIZZLE(ct_swizzle_downcast, (CtSwizzle sw, int64_t n), al_swizzle_downcast(&g, sw, n))
SWIZZLE(ct_swizzle_recast, (CtSwizzle sw, int64_t from_bits, int64_t to_bits),
        al_swizzle_recast(&g, sw, from_bits, to_bits))
HOST(CtInt, ct_swizzle_apply, (CtSwizzle sw, CtInt x), al_swizzle(&g, sw, x))

/* --- layouts under a swizzle -------------------------------------------------------------------- */

#define COMPOSED(name, params, call) HOST(CtComposed, name, params, call)
COMPOSED(ct_composed_make, (CtSwizzle sw, CtInt offset, CtLayout l), al_composed(&g, sw, offset, l))
HOST(CtInt, ct_composed_crd2idx, (CtTuple crd, const CtComposed *c), al_index(&g, crd, *c))
TUPLE(ct_composed_evaluate, (CtTuple crd, const CtComposed *c), al_evaluate(&g, crd, *c))
HOST(CtInt, ct_composed_cosize, (const CtComposed *c), al_cosize(&g, *c))
COMPOSED(ct_composed_upcast, (const CtComposed *c, int64_t n), al_upcast(&g, *c, n))
COMPOSED(ct_composed_downcast, (const CtComposed *c, int64_t n), al_downcast(&g, *c, n))
COMPOSED(ct_composed_recast, (const CtComposed *c, int64_t from_bits, int64_t to_bits),
         al_recast(&g, *c, from_bits, to_bits))
HOST(int64_t, ct_composed_max_common_vector, (const CtComposed *a, const CtComposed *b),
     al_max_common_vector(&g, *a, *b))
LAYOUT(ct_composed_max_common_layout, (const CtComposed *a, const CtComposed *b),
       al_max_common_layout(&g, *a, *b))
COMPOSED(ct_composed_swizzle, (CtSwizzle sw, const CtComposed *c), al_swizzled(&g, sw, *c))
COMPOSED(ct_composed_compose, (const CtComposed *a, const CtComposed *b), al_compose(&g, *a, *b))
COMPOSED(ct_composed_right_inverse, (const CtComposed *c), al_right_inverse(&g, *c))
COMPOSED(ct_composed_left_inverse, (const CtComposed *c), al_left_inverse(&g, *c))

const char *ct_show_composed(const CtCx *cx, const CtComposed *c) {
  CtAlg g = al_begin(cx, NULL);
  return al_show_composed(&g, *c);
}

/* --- parts and where they begin ----------------------------------------------------------------- */

/* The part, and where it begins, from the result of `call`, which fills `at`. */
#define PART(R, At, name, params, call, part, offset_of)                                           \
  CtStatus name(const CtCx *cx, LIST params, R *out, At *offset, CtErr *err) {                     \
    CtAlg g = al_begin(cx, err);                                                                   \
    CtTuple at = NULL;                                                                             \
    CtComposed made = call;                                                                        \
    if (al_ok(&g)) {                                                                               \
      *out = part;                                                                                 \
      *offset = offset_of;                                                                         \
    }                                                                                              \
    return g.status;                                                                               \
  }
#define ANY_PART(name, params, call) PART(CtComposed, CtTuple, name, params, call, made, at)
#define PLAIN_PART(name, params, call) PART(CtLayout, CtTuple, name, params, call, made.layout, at)
#define INDEX_PART(name, params, call)                                                             \
  PART(CtLayout, CtInt, name, params, call; at = as_integer(&g, at), made.layout, at->i)

/* A coordinate as one integer: a basis element if only one of its entries is not 0. */
static CtTuple as_integer(CtAlg *g, CtTuple at) {
  return at == NULL || ct_is_leaf(at) ? at : al_leaf(g, al_plain_index(g, at, al_identity(g, at)));
}

/* The offset is always an index, whatever the strides are. */
static CtComposed slice_index(CtAlg *g, CtTuple crd, CtLayout l, CtTuple *at) {
  CtLayout kept = al_keep(g, "slice", true, crd, l);
  *at = al_leaf(g, al_plain_index(g, crd, l));
  return ct_composed_plain(kept);
}

ANY_PART(ct_composed_slice, (CtTuple crd, const CtComposed *c), al_slice(&g, crd, *c, &at))
PLAIN_PART(ct_slice_at, (CtTuple crd, CtLayout l), al_slice(&g, crd, ct_composed_plain(l), &at))
INDEX_PART(ct_slice, (CtTuple crd, CtLayout l), slice_index(&g, crd, l, &at))

ANY_PART(ct_composed_tile, (const CtComposed *c, CtTiler tiler, CtTuple crd, CtTuple proj),
         al_tile(&g, *c, tiler, crd, proj, &at))
PLAIN_PART(ct_tile_at, (CtLayout a, CtTiler tiler, CtTuple crd, CtTuple proj),
           al_tile(&g, ct_composed_plain(a), tiler, crd, proj, &at))
INDEX_PART(ct_tile, (CtLayout a, CtTiler tiler, CtTuple crd, CtTuple proj),
           al_tile(&g, ct_composed_plain(a), tiler, crd, proj, &at))

ANY_PART(ct_composed_parallelize, (const CtComposed *c, CtLayout thr, CtInt idx, CtTuple proj),
         al_parallelize(&g, *c, thr, idx, proj, &at))
PLAIN_PART(ct_parallelize_at, (CtLayout a, CtLayout thr, CtInt idx, CtTuple proj),
           al_parallelize(&g, ct_composed_plain(a), thr, idx, proj, &at))
INDEX_PART(ct_parallelize, (CtLayout a, CtLayout thr, CtInt idx, CtTuple proj),
           al_parallelize(&g, ct_composed_plain(a), thr, idx, proj, &at))

INDEX_PART(ct_tv_partition, (CtLayout a, CtTiler tiler, CtLayout tv, CtInt idx),
           al_tv_partition(&g, ct_composed_plain(a), tiler, tv, idx, &at))

CtStatus ct_tv_layout(const CtCx *cx, CtLayout thr, CtLayout val, CtLayout *tv, CtTuple *tiler,
                      CtErr *err) {
  CtAlg g = al_begin(cx, err);
  CtTuple tile;
  CtLayout made = al_tv_layout(&g, thr, val, &tile);
  if (al_ok(&g)) {
    *tv = made;
    *tiler = tile;
  }
  return g.status;
}

/* --- texts -------------------------------------------------------------------------------------- */

#define PARSE(R, name, what, call)                                                                 \
  CtStatus name(CtArena *a, const char *s, size_t len, R *out, CtErr *err) {                       \
    CtParse p;                                                                                     \
    ct_parse_init(&p, a, what, s, len, err);                                                       \
    R made = call(&p);                                                                             \
    if (ct_parse_end(&p) == CT_OK) {                                                               \
      *out = made;                                                                                 \
    }                                                                                              \
    return p.g.status;                                                                             \
  }
PARSE(CtTuple, ct_tuple_parse, "tuple", ct_parse_unnamed)
PARSE(CtTuple, ct_shape_parse, "shape", ct_parse_tuple)
PARSE(CtLayout, ct_layout_parse, "layout", ct_parse_layout)
PARSE(CtTiler, ct_tiler_parse, "tiler", ct_parse_tiler)
PARSE(CtSwizzle, ct_swizzle_parse, "swizzle", ct_parse_swizzle)
PARSE(CtComposed, ct_composed_parse, "layout", ct_parse_composed)
