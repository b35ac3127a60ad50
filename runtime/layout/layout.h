/* layout.h: a layout is a function from coordinates to indices, given by two congruent IntTuples:
   shape:stride. Its value at the natural coordinate (c0, c1, ...) is the sum of ci * stride_i; an
   integer coordinate is first split colexicographically (leftmost mode fastest), and the last mode
   is not reduced, so indices run on past the end along it.

   Meanings and printed forms are those of CuTe C++. Where CuTe accepts inputs whose result is not
   the function that the operation promises, these functions fail instead. Everything works with
   dynamic integers too; a question that cannot be decided while tracing fails with CT_EUNSUPPORTED.

   Modes may have names (inttuple.h). Names follow the modes through every operation, see
   layout_names.c below, and decide nothing: without names the results are the same.

   layout.c holds values and evaluation, layout_coord.c values that are coordinates; layout_names.c
   names; layout_modes.c slicing and operations on the list of modes; layout_ops.c, layout_compose.c
   and layout_divide.c the algebra; partition.c tile and parallelize. Results live in cx->arena and
   share nothing with the arguments, except where "a view" is said. */
#ifndef CT_LAYOUT_H
#define CT_LAYOUT_H

#include "inttuple.h"

typedef struct CtLayout {
  CtTuple shape, stride; /* congruent */
} CtLayout;

/* How a divide, product or composition addresses its left operand. */
typedef enum CtTilerKind { CT_TILER_ANY, CT_TILER_LAYOUT, CT_TILER_TUPLE } CtTilerKind;
typedef struct CtTiler {
  CtTilerKind kind;
  CtLayout layout;             /* CT_TILER_LAYOUT: acts on the whole operand; n stands for n:1 */
  bool is_int;                 /* CT_TILER_LAYOUT: it was given as the integer n */
  int n;                       /* CT_TILER_TUPLE: by mode */
  const struct CtTiler *items; /* CT_TILER_TUPLE */
} CtTiler;

/* --- layout.c ------------------------------------------------------------------------------- */

/* Compact strides: the leftmost (col) or rightmost (row) mode varies fastest; modes of size 1 get
   stride 0 and do not advance the running product. `start` is the first stride. */
CtStatus ct_compact_col_major(const CtCx *cx, CtTuple shape, CtInt start, CtTuple *out,
                              CtErr *err) CT_NODISCARD;
CtStatus ct_compact_row_major(const CtCx *cx, CtTuple shape, CtInt start, CtTuple *out,
                              CtErr *err) CT_NODISCARD;
/* Compact strides: modes with smaller values of `order` vary faster; equal ones start at the same
   stride. An integer of `order` against a tuple covers it, column-major inside. Dynamic values
   count as larger than all static ones, in their sequence. */
CtStatus ct_compact_order(const CtCx *cx, CtTuple shape, CtTuple order, CtTuple *out,
                          CtErr *err) CT_NODISCARD;

/* stride NULL: column-major. An integer stride under a tuple shape is an error. Extents >= 0. */
CtStatus ct_layout_make(const CtCx *cx, CtTuple shape, CtTuple stride, CtLayout *out,
                        CtErr *err) CT_NODISCARD;
CtStatus ct_layout_row_major(const CtCx *cx, CtTuple shape, CtLayout *out, CtErr *err) CT_NODISCARD;
CtStatus ct_layout_ordered(const CtCx *cx, CtTuple shape, CtTuple order, CtLayout *out,
                           CtErr *err) CT_NODISCARD;
CtStatus ct_layout_copy(CtArena *a, CtLayout l, CtLayout *out, CtErr *err) CT_NODISCARD;

CtLayout ct_mode(CtLayout l, int i); /* i-th mode, 0 <= i < rank; a view, no copy */
static inline int ct_layout_rank(CtLayout l) { return ct_rank(l.shape); }
bool ct_layout_equal(CtLayout a, CtLayout b);
bool ct_layout_is_static(CtLayout l);
CtStatus ct_size(const CtCx *cx, CtLayout l, CtInt *out, CtErr *err) CT_NODISCARD;
/* Largest index + 1, with strides taken by magnitude; 0 for an empty layout. */
CtStatus ct_cosize(const CtCx *cx, CtLayout l, CtInt *out, CtErr *err) CT_NODISCARD;

/* Index of a coordinate. The coordinate may stop at any level of the shape; `_` counts as 0.
   Another nesting is an error that shows both. */
CtStatus ct_crd2idx(const CtCx *cx, CtTuple crd, CtLayout l, CtInt *out, CtErr *err) CT_NODISCARD;
/* The colexicographic number of a coordinate of a shape. */
CtStatus ct_crd2idx_shape(const CtCx *cx, CtTuple crd, CtTuple shape, CtInt *out,
                          CtErr *err) CT_NODISCARD;
/* Natural coordinate of a linear one; the last mode is not reduced. */
CtStatus ct_idx2crd(const CtCx *cx, CtInt idx, CtTuple shape, CtTuple *out,
                    CtErr *err) CT_NODISCARD;
/* Natural coordinate of any coordinate: its integers are split by the parts of shape they cover. */
CtStatus ct_crd_natural(const CtCx *cx, CtTuple crd, CtTuple shape, CtTuple *out,
                        CtErr *err) CT_NODISCARD;
/* Through the strides of a compact layout: (idx / stride) % shape in each mode. */
CtStatus ct_idx2crd_layout(const CtCx *cx, CtInt idx, CtLayout l, CtTuple *out,
                           CtErr *err) CT_NODISCARD;
/* Converts a coordinate of `from` to a natural coordinate of `to`. */
CtStatus ct_crd2crd(const CtCx *cx, CtTuple crd, CtTuple from, CtTuple to, CtTuple *out,
                    CtErr *err) CT_NODISCARD;
/* The static index at a linear coordinate of a static layout: the fast form for loops. */
int64_t ct_layout_at(CtLayout l, int64_t i);

/* Text: "(4,8):(8,1)"; without a colon, the column-major layout of a shape. */
CtStatus ct_layout_parse(CtArena *a, const char *s, size_t len, CtLayout *out,
                         CtErr *err) CT_NODISCARD;
void ct_layout_print(const CtCx *cx, CtLayout l, CtText *out);
/* Text: an integer, a shape (by mode), a layout, "_", or "<3:4,(2,4):(1,8),_,5>". */
CtStatus ct_tiler_parse(CtArena *a, const char *s, size_t len, CtTiler *out,
                        CtErr *err) CT_NODISCARD;
void ct_tiler_print(const CtCx *cx, CtTiler t, CtText *out);
CtStatus ct_tiler_from_tuple(CtArena *a, CtTuple t, CtTiler *out, CtErr *err) CT_NODISCARD;

/* --- layout_coord.c: layouts whose values are coordinates -------------------------------------

   A stride may be a scaled basis element, v * E(i, j, ...): a step of v along mode (i, j, ...) of some
   other shape. The values of a layout with such strides are coordinates of that shape: tuples, with 0
   where no stride steps. cosize, complement and the inverses refuse such layouts. */

bool ct_has_basis(CtTuple stride);
/* The layout of a shape whose values are its own natural coordinates. */
CtStatus ct_identity(const CtCx *cx, CtTuple shape, CtLayout *out, CtErr *err) CT_NODISCARD;
/* The value at a coordinate, as ct_crd2idx: an integer, or a coordinate if the layout has basis
   strides. All values of a layout have the same nesting. */
CtStatus ct_evaluate(const CtCx *cx, CtTuple crd, CtLayout l, CtTuple *out,
                     CtErr *err) CT_NODISCARD;
/* The sum of two values, entry by entry. A missing entry counts as 0, and v * E(i) as its
   coordinate. */
CtStatus ct_coord_add(const CtCx *cx, CtTuple a, CtTuple b, CtTuple *out, CtErr *err) CT_NODISCARD;

/* --- layout_modes.c: the list of modes ------------------------------------------------------- */

/* slice: the layout of the modes under `_`, and the index of the fixed part. dice: the modes under
   the integers instead (for layouts and tuples). If no mode is kept, the result is the empty tuple
   (). */
CtStatus ct_slice(const CtCx *cx, CtTuple crd, CtLayout l, CtLayout *out, CtInt *offset,
                  CtErr *err) CT_NODISCARD;
/* The same, but the offset of a layout with basis strides is a coordinate. */
CtStatus ct_slice_at(const CtCx *cx, CtTuple crd, CtLayout l, CtLayout *out, CtTuple *offset,
                     CtErr *err) CT_NODISCARD;
CtStatus ct_dice(const CtCx *cx, CtTuple crd, CtLayout l, CtLayout *out, CtErr *err) CT_NODISCARD;
CtStatus ct_slice_tuple(const CtCx *cx, CtTuple crd, CtTuple t, CtTuple *out,
                        CtErr *err) CT_NODISCARD;
CtStatus ct_dice_tuple(const CtCx *cx, CtTuple crd, CtTuple t, CtTuple *out,
                       CtErr *err) CT_NODISCARD;

CtStatus ct_layout_concat(const CtCx *cx, int n, const CtLayout *modes, CtLayout *out,
                          CtErr *err) CT_NODISCARD;
/* The sub-layout at a path of mode numbers; a view. Errors name the operation `op`. */
CtStatus ct_mode_at(const CtCx *cx, const char *op, CtLayout l, int n, const int *path,
                    CtLayout *out, CtErr *err) CT_NODISCARD;
/* Modes [first, last) as one mode; only these modes; the listed modes. */
CtStatus ct_group(const CtCx *cx, CtLayout l, int first, int last, CtLayout *out,
                  CtErr *err) CT_NODISCARD;
CtStatus ct_take(const CtCx *cx, CtLayout l, int first, int last, CtLayout *out,
                 CtErr *err) CT_NODISCARD;
CtStatus ct_select(const CtCx *cx, CtLayout l, int n, const int *modes, CtLayout *out,
                   CtErr *err) CT_NODISCARD;
/* Appends or prepends x as one more mode; with rank > 0, as often as it takes to reach rank. */
CtStatus ct_append(const CtCx *cx, CtLayout l, CtLayout x, int rank, CtLayout *out,
                   CtErr *err) CT_NODISCARD;
CtStatus ct_prepend(const CtCx *cx, CtLayout l, CtLayout x, int rank, CtLayout *out,
                    CtErr *err) CT_NODISCARD;
CtStatus ct_replace(const CtCx *cx, CtLayout l, int i, CtLayout x, CtLayout *out,
                    CtErr *err) CT_NODISCARD;

/* --- layout_names.c -------------------------------------------------------------------------- */

/* The names of results. Operations that keep modes, or their integers, keep their names: slice,
   dice, take, select, append, flatten, filter_zeros, upcast, layout_like and so on; group makes a
   mode without.
     coalesce, filter  a mode merged from several has the name that all of them have
     divides           tile and rest of mode M are both of M; in place, M=(tile,rest)
     products          the block's modes keep theirs, the arrangement's theirs; the pairs of
                       blocked_product, raked_product and tile_to_shape have the block's name, or
                       else the arrangement's (tile_to_shape: that of the shape's mode)
     composition       b's; a mode of b without one has that of the modes of a that it steps in, if
                       it is one. Where run-time extents hide these: none
     complement, inverses, tv_layout  none: their modes are not those of an operand */

/* The path of the mode with this name, as n numbers; n is 0 if it is l itself. If more than one
   mode has the name, takes the one least deep; two of these are an error that gives their paths.
   `op` is the operation that asks. */
CtStatus ct_find_mode(const CtCx *cx, const char *op, CtLayout l, CtModeName name,
                      int path[CT_MAX_DEPTH], int *n, CtErr *err) CT_NODISCARD;
/* The name of child i itself, not of a mode around it; 0: it has none. A leaf is its own child
   0. */
CtModeName ct_own_name(CtTuple t, int i);
/* Names the node at a path of a copied shape; 0 removes the name. Parts of it that have names of
   their own keep them. */
void ct_rename_mode(CtNode *shape, int n, const int *path, CtModeName name);
/* The same layout without names. */
CtStatus ct_without_names(const CtCx *cx, CtLayout l, CtLayout *out, CtErr *err) CT_NODISCARD;

/* --- layout_ops.c ---------------------------------------------------------------------------- */

/* With a profile: coalesces at each of its integers and keeps modes beyond it. An empty result is
   1:0. */
CtStatus ct_coalesce(const CtCx *cx, CtLayout a, CtTuple profile /* or NULL */, CtLayout *out,
                     CtErr *err) CT_NODISCARD;
CtStatus ct_flatten(const CtCx *cx, CtLayout a, CtLayout *out, CtErr *err) CT_NODISCARD;
CtStatus ct_filter_zeros(const CtCx *cx, CtLayout a, CtLayout *out, CtErr *err) CT_NODISCARD;
CtStatus ct_filter(const CtCx *cx, CtLayout a, CtTuple profile /* or NULL */, CtLayout *out,
                   CtErr *err) CT_NODISCARD;
/* What a leaves out: ordered, disjoint from a, and with a it reaches cotarget (default: a's cosize).
   A tuple cotarget is divided mode by mode. */
CtStatus ct_complement(const CtCx *cx, CtLayout a, CtTuple cotarget /* or NULL */, CtLayout *out,
                       CtErr *err) CT_NODISCARD;
CtStatus ct_right_inverse(const CtCx *cx, CtLayout a, CtLayout *out, CtErr *err) CT_NODISCARD;
CtStatus ct_left_inverse(const CtCx *cx, CtLayout a, CtLayout *out, CtErr *err) CT_NODISCARD;
/* The leading elements that both layouts keep contiguous and in the same order: the layout that
   points to them, and their number, at most the size of either. If run-time extents hide them: 1:0
   and 1. */
CtStatus ct_max_common_layout(const CtCx *cx, CtLayout a, CtLayout b, CtLayout *out,
                              CtErr *err) CT_NODISCARD;
CtStatus ct_max_common_vector(const CtCx *cx, CtLayout a, CtLayout b, int64_t *out,
                              CtErr *err) CT_NODISCARD;
/* Strides compact in the order of a's strides, zeros stay 0; fragment_like: mode 0 column-major
   first. */
CtStatus ct_layout_like(const CtCx *cx, CtLayout a, CtLayout *out, CtErr *err) CT_NODISCARD;
CtStatus ct_fragment_layout_like(const CtCx *cx, CtLayout a, CtLayout *out,
                                 CtErr *err) CT_NODISCARD;

/* --- layout_compose.c ------------------------------------------------------------------------ */

/* R(c) = a(b(c)), with a shape compatible with b's; by mode, modes of a beyond b are dropped. Fails
   unless each mode of b stays within, or evenly fills, the modes of a that it runs through. */
CtStatus ct_composition(const CtCx *cx, CtLayout a, CtTiler t, CtLayout *out,
                        CtErr *err) CT_NODISCARD;
CtStatus ct_compose(const CtCx *cx, CtLayout a, CtLayout b, CtLayout *out, CtErr *err) CT_NODISCARD;

/* --- layout_pad.c ---------------------------------------------------------------------------- */

/* a, with its inner modes lengthened to whole tiles, as a divide by t needs them; unchanged if
   tiles divide them. padded: some mode has become longer, so parts of the result are not in a. op:
   the divide, for errors. Only static integers are padded. */
CtStatus ct_pad_for_tiles(const CtCx *cx, const char *op, CtLayout a, CtTiler t, CtLayout *out,
                          bool *padded, CtErr *err) CT_NODISCARD;

/* --- layout_divide.c ------------------------------------------------------------------------- */

/* (tile, rest), mode by mode; ((tiles...), (rests...)); ((tiles...), rests...);
   (tiles..., rests...). A mode of n tiled by t has ceil(n / t) tiles; the last may overhang. Tiles that
   end inside an inner mode are refused: see ct_pad_for_tiles. */
CtStatus ct_logical_divide(const CtCx *cx, CtLayout a, CtTiler t, CtLayout *out,
                           CtErr *err) CT_NODISCARD;
CtStatus ct_zipped_divide(const CtCx *cx, CtLayout a, CtTiler t, CtLayout *out,
                          CtErr *err) CT_NODISCARD;
CtStatus ct_tiled_divide(const CtCx *cx, CtLayout a, CtTiler t, CtLayout *out,
                         CtErr *err) CT_NODISCARD;
CtStatus ct_flat_divide(const CtCx *cx, CtLayout a, CtTiler t, CtLayout *out,
                        CtErr *err) CT_NODISCARD;
CtStatus ct_logical_product(const CtCx *cx, CtLayout a, CtTiler t, CtLayout *out,
                            CtErr *err) CT_NODISCARD;
CtStatus ct_zipped_product(const CtCx *cx, CtLayout a, CtTiler t, CtLayout *out,
                           CtErr *err) CT_NODISCARD;
CtStatus ct_tiled_product(const CtCx *cx, CtLayout a, CtTiler t, CtLayout *out,
                          CtErr *err) CT_NODISCARD;
CtStatus ct_flat_product(const CtCx *cx, CtLayout a, CtTiler t, CtLayout *out,
                         CtErr *err) CT_NODISCARD;
/* Arranges block a by b, mode by mode: blocked (block, arrangement), raked (arrangement, block). */
CtStatus ct_blocked_product(const CtCx *cx, CtLayout a, CtLayout b, CtLayout *out,
                            CtErr *err) CT_NODISCARD;
CtStatus ct_raked_product(const CtCx *cx, CtLayout a, CtLayout b, CtLayout *out,
                          CtErr *err) CT_NODISCARD;

/* Repeats a until it fills shape, whose mode sizes must be multiples of a's; `order` ranks the modes
   to fill first. order NULL: from the left. */
CtStatus ct_tile_to_shape(const CtCx *cx, CtLayout a, CtTuple shape, CtTuple order, CtLayout *out,
                          CtErr *err) CT_NODISCARD;
/* Does the tiler divide the shape without a remainder? False if the tiler has a higher rank. */
CtStatus ct_evenly_divides(const CtCx *cx, CtTuple shape, CtTiler t, bool *out,
                           CtErr *err) CT_NODISCARD;

/* --- layout_recast.c -------------------------------------------------------------------------- */

/* The same memory in elements n times larger (strides and n must divide one way or the other), n
   times smaller (some stride must be 1), or of another number of bits. */
CtStatus ct_upcast(const CtCx *cx, CtLayout a, int64_t n, CtLayout *out, CtErr *err) CT_NODISCARD;
CtStatus ct_downcast(const CtCx *cx, CtLayout a, int64_t n, CtLayout *out, CtErr *err) CT_NODISCARD;
CtStatus ct_recast(const CtCx *cx, CtLayout a, int64_t from_bits, int64_t to_bits, CtLayout *out,
                   CtErr *err) CT_NODISCARD;
/* The same of a tensor, whose single element may have any stride. */
CtStatus ct_recast_elements(const CtCx *cx, CtLayout a, int64_t from_bits, int64_t to_bits,
                            CtLayout *out, CtErr *err) CT_NODISCARD;
/* The layout of the coordinates that stride-0 modes map to 0. */
CtStatus ct_nullspace(const CtCx *cx, CtLayout a, CtLayout *out, CtErr *err) CT_NODISCARD;
/* Spreads n over the modes of a static shape, from the left, by greatest common divisors. */
CtStatus ct_domain_distribute(const CtCx *cx, CtTuple shape, int64_t n, CtLayout *out,
                              CtErr *err) CT_NODISCARD;

/* --- partition.c: tile and parallelize on (offset, layout) ------------------------------------ */

/* tile (CuTe local_tile): divide by `tiler` (by mode), keep the tile, pick the tile at `crd`
   (missing trailing entries count as `_`, `_` keeps that rest mode). `proj` (or NULL): entries of
   tiler and crd under `_` are removed first. *offset is the index where the tile begins. */
CtStatus ct_tile(const CtCx *cx, CtLayout a, CtTiler tiler, CtTuple crd, CtTuple proj,
                 CtLayout *out, CtInt *offset, CtErr *err) CT_NODISCARD;
/* parallelize (CuTe local_partition): thread `idx` of the layout `thr`, through thr's strides,
   keeps its elements of each tile of thr's shape: result (rest...), *offset where they begin. */
CtStatus ct_parallelize(const CtCx *cx, CtLayout a, CtLayout thr, CtInt idx, CtTuple proj,
                        CtLayout *out, CtInt *offset, CtErr *err) CT_NODISCARD;
/* The same, but the offset of a layout with basis strides is a coordinate. */
CtStatus ct_tile_at(const CtCx *cx, CtLayout a, CtTiler tiler, CtTuple crd, CtTuple proj,
                    CtLayout *out, CtTuple *offset, CtErr *err) CT_NODISCARD;
CtStatus ct_parallelize_at(const CtCx *cx, CtLayout a, CtLayout thr, CtInt idx, CtTuple proj,
                           CtLayout *out, CtTuple *offset, CtErr *err) CT_NODISCARD;
/* Thread-value layout: (thread, value) -> column-major index in the tile; *tiler is the tile's
   shape. */
CtStatus ct_tv_layout(const CtCx *cx, CtLayout thr, CtLayout val, CtLayout *tv, CtTuple *tiler,
                      CtErr *err) CT_NODISCARD;
/* The elements of thread `idx` of a thread-value layout, in each tile: (values, rest). */
CtStatus ct_tv_partition(const CtCx *cx, CtLayout a, CtTiler tiler, CtLayout tv, CtInt idx,
                         CtLayout *out, CtInt *offset, CtErr *err) CT_NODISCARD;

#endif
