/* layout_algebra.h: the algebra of layouts as the core itself calls it: values under a context, see
   tuple_context.h. layout.h, composed.h and swizzle.h say what each operation means: they declare
   the same operations for C hosts, as functions that return a status (layout_host.c). Here a
   CtComposed is any layout: an operation that differs under a swizzle takes a CtComposed, and one
   that acts on coordinates alone takes a CtLayout. */
#ifndef CT_LAYOUT_ALGEBRA_H
#define CT_LAYOUT_ALGEBRA_H

#include "composed.h"
#include "tuple_build.h"

#define AL_NO_LAYOUT ((CtLayout){NULL, NULL})

static inline CtLeaves ct_layout_leaves(CtLayout l) { return ct_leaves(l.shape, l.stride); }

/* --- layout.c --------------------------------------------------------------------------------- */

CtTuple al_compact(CtAlg *g, CtTuple shape, CtInt start, bool from_right);
CtTuple al_compact_order(CtAlg *g, CtTuple shape, CtTuple order);
CtLayout al_layout(CtAlg *g, CtTuple shape, CtTuple stride /* or NULL */);
CtLayout al_row_major(CtAlg *g, CtTuple shape);
CtLayout al_ordered(CtAlg *g, CtTuple shape, CtTuple order);
CtLayout al_copy(CtAlg *g, CtLayout l);
CtInt al_size(CtAlg *g, CtLayout l);
CtInt al_plain_cosize(CtAlg *g, CtLayout l);
CtInt al_plain_index(CtAlg *g, CtTuple crd, CtLayout l); /* ct_crd2idx */
CtInt al_crd2idx(CtAlg *g, CtTuple crd, CtTuple shape);
CtTuple al_natural(CtAlg *g, CtTuple crd, CtTuple shape);
CtTuple al_idx2crd(CtAlg *g, CtInt idx, CtLayout l); /* through its strides */
CtTuple al_crd2crd(CtAlg *g, CtTuple crd, CtTuple from, CtTuple to);
/* Fails if the coordinate's nesting is neither the shape's nor a beginning of it. */
void al_check_crd(CtAlg *g, const char *op, CtTuple crd, CtTuple shape, const char *expected);

/* --- layout_text.c, composed.c, swizzle.c ------------------------------------------------------ */

struct CtParse; /* tuple_parse.h */
CtLayout ct_parse_layout(struct CtParse *p);
CtTiler ct_parse_tiler(struct CtParse *p);
CtSwizzle ct_parse_swizzle(struct CtParse *p);
CtComposed ct_parse_composed(struct CtParse *p);
CtTiler al_tiler(CtAlg *g, CtTuple t); /* ct_tiler_from_tuple */
const char *al_show_layout(const CtAlg *g, CtLayout l);
const char *al_show_tiler(const CtAlg *g, CtTiler t);
const char *al_show_composed(const CtAlg *g, CtComposed c);

/* --- layout_coord.c ---------------------------------------------------------------------------- */

CtLayout al_identity(CtAlg *g, CtTuple shape);
CtTuple al_plain_evaluate(CtAlg *g, CtTuple crd, CtLayout l);
CtTuple al_coord_add(CtAlg *g, CtTuple x, CtTuple y);
/* Fails for a layout with basis strides; for operations on indices. */
void al_check_numbers(CtAlg *g, const char *op, CtLayout a);

/* --- layout_modes.c, layout_names.c ------------------------------------------------------------ */

/* The part of a layout or tuple that a coordinate keeps: under `_` (slice), or under integers
   (dice). */
CtLayout al_keep(CtAlg *g, const char *op, bool any, CtTuple crd, CtLayout l);
CtTuple al_keep_tuple(CtAlg *g, const char *op, bool any, CtTuple crd, CtTuple t);
CtLayout al_concat(CtAlg *g, int n, const CtLayout *modes);
CtLayout al_mode_at(CtAlg *g, const char *op, CtLayout l, int n, const int *path);
CtLayout al_group(CtAlg *g, CtLayout l, int first, int last);
CtLayout al_take(CtAlg *g, CtLayout l, int first, int last);
CtLayout al_select(CtAlg *g, CtLayout l, int n, const int *modes);
CtLayout al_append(CtAlg *g, CtLayout l, CtLayout x, int rank);
CtLayout al_prepend(CtAlg *g, CtLayout l, CtLayout x, int rank);
CtLayout al_replace(CtAlg *g, CtLayout l, int i, CtLayout x);
/* Returns the number of modes in the path. */
int al_find_mode(CtAlg *g, const char *op, CtLayout l, CtModeName name, int path[CT_MAX_DEPTH]);

/* --- layout_ops.c, layout_compose.c, layout_pad.c, layout_divide.c, layout_recast.c ------------ */

/* A tensor's layout before its elements become smaller: the strides of a single element say nothing, so its parts are
   made adjacent along the first mode. */
CtLayout al_parts_adjacent(CtAlg *g, CtLayout a);

CtLayout al_coalesce(CtAlg *g, CtLayout a, CtTuple profile /* or NULL */);
CtLayout al_filter(CtAlg *g, CtLayout a, CtTuple profile /* or NULL */);
CtLayout al_flatten(CtAlg *g, CtLayout a);
CtLayout al_filter_zeros(CtAlg *g, CtLayout a);
CtLayout al_complement(CtAlg *g, CtLayout a, CtTuple cotarget /* or NULL */);
CtLayout al_plain_right_inverse(CtAlg *g, CtLayout a);
CtLayout al_plain_left_inverse(CtAlg *g, CtLayout a);
int64_t al_common_vector(CtAlg *g, CtLayout a, CtLayout b);
CtLayout al_common_layout(CtAlg *g, CtLayout a, CtLayout b);
CtLayout al_layout_like(CtAlg *g, CtLayout a);
CtLayout al_fragment_like(CtAlg *g, CtLayout a);
CtLayout al_composition(CtAlg *g, CtLayout a, CtTiler t);
CtLayout al_plain_compose(CtAlg *g, CtLayout a, CtLayout b);
CtLayout al_pad(CtAlg *g, const char *op, CtLayout a, CtTiler t, bool *padded);
CtLayout al_logical_divide(CtAlg *g, CtLayout a, CtTiler t);
CtLayout al_zipped_divide(CtAlg *g, CtLayout a, CtTiler t);
CtLayout al_tiled_divide(CtAlg *g, CtLayout a, CtTiler t);
CtLayout al_flat_divide(CtAlg *g, CtLayout a, CtTiler t);
CtLayout al_logical_product(CtAlg *g, CtLayout a, CtTiler t);
CtLayout al_zipped_product(CtAlg *g, CtLayout a, CtTiler t);
CtLayout al_tiled_product(CtAlg *g, CtLayout a, CtTiler t);
CtLayout al_flat_product(CtAlg *g, CtLayout a, CtTiler t);
CtLayout al_blocked_product(CtAlg *g, CtLayout a, CtLayout b);
CtLayout al_raked_product(CtAlg *g, CtLayout a, CtLayout b);
CtLayout al_tile_to_shape(CtAlg *g, CtLayout a, CtTuple shape, CtTuple order /* or NULL */);
bool al_evenly_divides(CtAlg *g, CtTuple shape, CtTiler t);
CtLayout al_plain_upcast(CtAlg *g, CtLayout a, int64_t n);
CtLayout al_plain_downcast(CtAlg *g, CtLayout a, int64_t n);
CtLayout al_nullspace(CtAlg *g, CtLayout a);
CtLayout al_domain_distribute(CtAlg *g, CtTuple shape, int64_t n);

/* --- swizzle.c --------------------------------------------------------------------------------- */

CtSwizzle al_swizzle_make(CtAlg *g, int64_t bits, int64_t base, int64_t shift);
CtSwizzle al_swizzle_masks(CtAlg *g, int64_t y, int64_t z);
CtSwizzle al_swizzle_join(CtAlg *g, CtSwizzle a, CtSwizzle b); /* ct_swizzle_compose */
CtSwizzle al_swizzle_upcast(CtAlg *g, CtSwizzle sw, int64_t n);
CtSwizzle al_swizzle_downcast(CtAlg *g, CtSwizzle sw, int64_t n);
CtSwizzle al_swizzle_recast(CtAlg *g, CtSwizzle sw, int64_t from_bits, int64_t to_bits);
CtInt al_swizzle(CtAlg *g, CtSwizzle sw, CtInt x); /* ct_swizzle_apply */
/* Fails, and returns false, unless both are numbers of bits; for recasts. */
bool al_check_bits(CtAlg *g, int64_t from_bits, int64_t to_bits);

/* --- any layout: composed.c, composed_compose.c, partition.c ----------------------------------- */

CtComposed al_composed(CtAlg *g, CtSwizzle sw, CtInt offset, CtLayout l);
CtInt al_index(CtAlg *g, CtTuple crd, CtComposed c);
CtTuple al_evaluate(CtAlg *g, CtTuple crd, CtComposed c);
CtInt al_cosize(CtAlg *g, CtComposed c);
CtComposed al_slice(CtAlg *g, CtTuple crd, CtComposed c, CtTuple *offset);
CtComposed al_tile(CtAlg *g, CtComposed c, CtTiler tiler, CtTuple crd, CtTuple proj,
                   CtTuple *offset);
CtComposed al_parallelize(CtAlg *g, CtComposed c, CtLayout thr, CtInt idx, CtTuple proj,
                          CtTuple *offset);
CtComposed al_upcast(CtAlg *g, CtComposed c, int64_t n);
CtComposed al_downcast(CtAlg *g, CtComposed c, int64_t n);
CtComposed al_recast(CtAlg *g, CtComposed c, int64_t from_bits, int64_t to_bits);
int64_t al_max_common_vector(CtAlg *g, CtComposed a, CtComposed b);
CtLayout al_max_common_layout(CtAlg *g, CtComposed a, CtComposed b);
CtComposed al_swizzled(CtAlg *g, CtSwizzle sw, CtComposed c); /* sw after c */
CtComposed al_compose(CtAlg *g, CtComposed a, CtComposed b);
CtComposed al_right_inverse(CtAlg *g, CtComposed c);
CtComposed al_left_inverse(CtAlg *g, CtComposed c);
CtLayout al_tv_layout(CtAlg *g, CtLayout thr, CtLayout val, CtTuple *tiler);
CtComposed al_tv_partition(CtAlg *g, CtComposed c, CtTiler tiler, CtLayout tv, CtInt idx,
                           CtTuple *offset);

/* The tiler that tile and parallelize divide by, projected. */
CtTiler al_project_tiler(CtAlg *g, CtTuple proj, CtTiler t);
CtTuple al_project(CtAlg *g, CtTuple proj, CtTuple crd);
CtLayout al_project_threads(CtAlg *g, CtTuple proj, CtLayout thr);
CtTiler al_thread_tiler(CtAlg *g, CtLayout thr); /* the sizes of the modes */

/* --- for the files of the algebra: flat modes, each coalesced with the one before it if possible - */

typedef struct CtFlatMode {
  CtInt shape, stride;
  CtModeName name; /* name of all the modes merged into it; 0 if they differ */
} CtFlatMode;

enum { CT_FLAT_INLINE = 12 };

typedef struct CtFlat {
  CtAlg *g;
  CtFlatMode *mode;
  int n, cap;
  bool has_names; /* some mode pushed had a name */
  CtFlatMode inline_modes[CT_FLAT_INLINE];
} CtFlat;

void ct_flat_init(CtFlat *f, CtAlg *g);
/* Drops size 1; merges s:d, t:(s*d) to (s*t):d; else appends. */
void ct_flat_push_named(CtFlat *f, CtModeName name, CtInt shape, CtInt stride);
static inline void ct_flat_push(CtFlat *f, CtInt shape, CtInt stride) {
  ct_flat_push_named(f, 0, shape, stride);
}
/* Pushes all modes of l. endless: keeps the function past the end too: a last mode of size 1
   stays, with its stride and an extent of 2 (the extent of the last mode never matters then). */
void ct_flat_push_layout(CtFlat *f, CtLayout l, bool endless);
/* The same, with the size of stride-0 modes taken as 1. */
void ct_flat_push_filtered(CtFlat *f, CtLayout l);
/* Emits 1:0, one mode s:d, or a tuple of modes, which is named `name` if its modes have different
   names. */
void ct_flat_emit(const CtFlat *f, CtBuild *b, CtModeName name);
CtLayout ct_flat_take(const CtFlat *f, const char *op);

static inline void ct_build_init_layout(CtBuild *b, CtAlg *g, const char *op) {
  ct_build_init(b, g, op, true);
}
static inline void ct_build_layout(CtBuild *b, CtLayout l) { ct_build_copy(b, l.shape, l.stride); }
CtLayout ct_build_take_layout(CtBuild *b);
/* Fails if the tiler has more entries than the layout has modes; `most`: what one writes for each. */
void ct_build_check_tiler(CtBuild *b, CtLayout a, CtTiler t, const char *most);

/* The name of a tuple of modes as a whole, for another tuple of the same modes. */
static inline CtModeName ct_whole_name(CtLayout l) {
  return ct_is_leaf(l.shape) ? 0 : l.shape->name;
}

/* s:d as a layout without an arena: the nodes belong to the caller. */
typedef struct CtLeafLayout {
  CtNode shape, stride;
} CtLeafLayout;
static inline CtLayout ct_leaf_layout(CtLeafLayout *n, CtInt shape, CtInt stride) {
  n->shape = (CtNode){.rank = CT_LEAF, .len = 1, .i = shape};
  n->stride = (CtNode){.rank = CT_LEAF, .len = 1, .i = stride};
  return (CtLayout){&n->shape, &n->stride};
}

/* Parts of other operations; errors name the operation op. */
CtLayout al_complement_as(CtAlg *g, const char *op, CtLayout a, CtTuple cotarget);
/* Builds composition(a, part) for each part; all parts together must stay within a's modes. */
void ct_build_compositions(CtBuild *b, CtLayout a, int n, const CtLayout *parts);
CtLayout al_zipped_divide_as(CtAlg *g, const char *op, CtLayout a, CtTiler t);

#endif
