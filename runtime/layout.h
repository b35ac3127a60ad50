/* layout.h: a layout is a function from coordinates to indices, given by two congruent IntTuples:
   shape:stride. Its value at the natural coordinate (c0, c1, ...) is the sum of ci * stride_i; an
   integer coordinate is first split colexicographically (leftmost mode fastest), and the last mode
   is not reduced, so indices run on past the end along it.

   Meanings and printed forms are those of CuTe C++. Where CuTe accepts inputs whose result is not
   the function the operation promises, these functions fail instead.

   layout.c holds values, evaluation, text and slicing; layout_ops.c the algebra. */
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
  int n;                       /* CT_TILER_TUPLE: by mode */
  const struct CtTiler *items; /* CT_TILER_TUPLE */
} CtTiler;

/* --- layout.c ------------------------------------------------------------------------------- */

/* Compact strides where the leftmost (col) or rightmost (row) mode varies fastest; size-1 modes get
   stride 0 and do not advance the running product. `start` is the first stride. */
CtStatus ct_compact_col_major(const CtCx *cx, CtTuple shape, CtInt start, CtTuple *out, CtErr *err) CT_NODISCARD;
CtStatus ct_compact_row_major(const CtCx *cx, CtTuple shape, CtInt start, CtTuple *out, CtErr *err) CT_NODISCARD;
/* Compact strides where smaller values of `order` vary faster. */
CtStatus ct_compact_order(const CtCx *cx, CtTuple shape, CtTuple order, CtTuple *out, CtErr *err) CT_NODISCARD;

/* stride NULL: column-major. An integer stride under a tuple shape is an error. Extents >= 0. */
CtStatus ct_layout_make(const CtCx *cx, CtTuple shape, CtTuple stride, CtLayout *out, CtErr *err) CT_NODISCARD;
CtStatus ct_layout_row_major(const CtCx *cx, CtTuple shape, CtLayout *out, CtErr *err) CT_NODISCARD;
CtStatus ct_layout_ordered(const CtCx *cx, CtTuple shape, CtTuple order, CtLayout *out, CtErr *err) CT_NODISCARD;
CtStatus ct_layout_concat(const CtCx *cx, int n, const CtLayout *modes, CtLayout *out, CtErr *err) CT_NODISCARD;
CtStatus ct_layout_copy(CtArena *a, CtLayout l, CtLayout *out, CtErr *err) CT_NODISCARD;

CtLayout ct_mode(CtLayout l, int i); /* i-th mode, 0 <= i < rank; a view, no copy */
static inline int ct_layout_rank(CtLayout l) { return ct_rank(l.shape); }
bool ct_layout_equal(CtLayout a, CtLayout b);
bool ct_layout_is_static(CtLayout l);
CtStatus ct_size(const CtCx *cx, CtLayout l, CtInt *out, CtErr *err) CT_NODISCARD;
CtStatus ct_cosize(const CtCx *cx, CtLayout l, CtInt *out, CtErr *err) CT_NODISCARD; /* largest index + 1 */

/* Index of a coordinate. The coordinate may stop at any level of the shape; `_` counts as 0. Another
   nesting is an error that shows both. */
CtStatus ct_crd2idx(const CtCx *cx, CtTuple crd, CtLayout l, CtInt *out, CtErr *err) CT_NODISCARD;
/* Natural coordinate of a linear one; the last mode is not reduced. */
CtStatus ct_idx2crd(const CtCx *cx, CtInt idx, CtTuple shape, CtTuple *out, CtErr *err) CT_NODISCARD;
/* Through the strides of a compact layout: (idx / stride) % shape in each mode. */
CtStatus ct_idx2crd_layout(const CtCx *cx, CtInt idx, CtLayout l, CtTuple *out, CtErr *err) CT_NODISCARD;
/* The static index at a linear coordinate of a static layout: the fast form for loops. */
int64_t ct_layout_at(CtLayout l, int64_t i);

/* slice: the layout of the modes under `_`, and the index of the fixed part. dice: the modes under
   the integers instead (on layouts and on tuples). */
CtStatus ct_slice(const CtCx *cx, CtTuple crd, CtLayout l, CtLayout *out, CtInt *offset, CtErr *err) CT_NODISCARD;
CtStatus ct_dice(const CtCx *cx, CtTuple crd, CtLayout l, CtLayout *out, CtErr *err) CT_NODISCARD;
CtStatus ct_slice_tuple(const CtCx *cx, CtTuple crd, CtTuple t, CtTuple *out, CtErr *err) CT_NODISCARD;
CtStatus ct_dice_tuple(const CtCx *cx, CtTuple crd, CtTuple t, CtTuple *out, CtErr *err) CT_NODISCARD;

/* Text: "(4,8):(8,1)"; without a colon, the column-major layout of a shape. */
CtStatus ct_layout_parse(CtArena *a, const char *s, size_t len, CtLayout *out, CtErr *err) CT_NODISCARD;
void ct_layout_print(const CtCx *cx, CtLayout l, CtText *out);
/* Text: an integer, a shape (by mode), a layout, "_", or "<3:4,(2,4):(1,8),_,5>". */
CtStatus ct_tiler_parse(CtArena *a, const char *s, size_t len, CtTiler *out, CtErr *err) CT_NODISCARD;
void ct_tiler_print(const CtCx *cx, CtTiler t, CtText *out);
CtStatus ct_tiler_from_tuple(CtArena *a, CtTuple t, CtTiler *out, CtErr *err) CT_NODISCARD;

/* --- layout_ops.c ---------------------------------------------------------------------------- */

CtStatus ct_coalesce(const CtCx *cx, CtLayout a, CtTuple profile /* or NULL */, CtLayout *out, CtErr *err) CT_NODISCARD;
CtStatus ct_flatten(const CtCx *cx, CtLayout a, CtLayout *out, CtErr *err) CT_NODISCARD;
CtStatus ct_filter_zeros(const CtCx *cx, CtLayout a, CtLayout *out, CtErr *err) CT_NODISCARD;
CtStatus ct_filter(const CtCx *cx, CtLayout a, CtTuple profile /* or NULL */, CtLayout *out, CtErr *err) CT_NODISCARD;
CtStatus ct_composition(const CtCx *cx, CtLayout a, CtTiler b, CtLayout *out, CtErr *err) CT_NODISCARD;
CtStatus ct_compose(const CtCx *cx, CtLayout a, CtLayout b, CtLayout *out, CtErr *err) CT_NODISCARD; /* R(c) = a(b(c)) */
CtStatus ct_complement(const CtCx *cx, CtLayout a, CtTuple cotarget /* or NULL */, CtLayout *out, CtErr *err) CT_NODISCARD;
CtStatus ct_right_inverse(const CtCx *cx, CtLayout a, CtLayout *out, CtErr *err) CT_NODISCARD;
CtStatus ct_left_inverse(const CtCx *cx, CtLayout a, CtLayout *out, CtErr *err) CT_NODISCARD;
CtStatus ct_max_common_layout(const CtCx *cx, CtLayout a, CtLayout b, CtLayout *out, CtErr *err) CT_NODISCARD;
CtStatus ct_max_common_vector(const CtCx *cx, CtLayout a, CtLayout b, int64_t *out, CtErr *err) CT_NODISCARD;
CtStatus ct_logical_divide(const CtCx *cx, CtLayout a, CtTiler b, CtLayout *out, CtErr *err) CT_NODISCARD;
CtStatus ct_zipped_divide(const CtCx *cx, CtLayout a, CtTiler b, CtLayout *out, CtErr *err) CT_NODISCARD;
CtStatus ct_tiled_divide(const CtCx *cx, CtLayout a, CtTiler b, CtLayout *out, CtErr *err) CT_NODISCARD;
CtStatus ct_flat_divide(const CtCx *cx, CtLayout a, CtTiler b, CtLayout *out, CtErr *err) CT_NODISCARD;
CtStatus ct_logical_product(const CtCx *cx, CtLayout a, CtTiler b, CtLayout *out, CtErr *err) CT_NODISCARD;
CtStatus ct_zipped_product(const CtCx *cx, CtLayout a, CtTiler b, CtLayout *out, CtErr *err) CT_NODISCARD;
CtStatus ct_tiled_product(const CtCx *cx, CtLayout a, CtTiler b, CtLayout *out, CtErr *err) CT_NODISCARD;
CtStatus ct_flat_product(const CtCx *cx, CtLayout a, CtTiler b, CtLayout *out, CtErr *err) CT_NODISCARD;
CtStatus ct_blocked_product(const CtCx *cx, CtLayout a, CtLayout b, CtLayout *out, CtErr *err) CT_NODISCARD;
CtStatus ct_raked_product(const CtCx *cx, CtLayout a, CtLayout b, CtLayout *out, CtErr *err) CT_NODISCARD;
/* Strides compact in the order of a's strides, zeros stay 0; fragment_like: mode 0 column-major first. */
CtStatus ct_layout_like(const CtCx *cx, CtLayout a, CtLayout *out, CtErr *err) CT_NODISCARD;
CtStatus ct_fragment_layout_like(const CtCx *cx, CtLayout a, CtLayout *out, CtErr *err) CT_NODISCARD;

/* --- partition.c: tile and parallelize on (offset, layout) ------------------------------------ */

/* tile (CuTe local_tile): divide by `tiler` (by mode), keep the tile, pick the tile at `crd` (missing
   trailing entries count as `_`, `_` keeps that rest mode). `proj` (or NULL): entries of tiler and
   crd under `_` are removed first. *offset is the index where the tile begins. */
CtStatus ct_tile(const CtCx *cx, CtLayout a, CtTiler tiler, CtTuple crd, CtTuple proj, CtLayout *out, CtInt *offset, CtErr *err) CT_NODISCARD;
/* parallelize (CuTe local_partition): thread `idx` of the layout `thr`, through thr's strides, keeps
   its elements of each tile of thr's shape: result (rest...), *offset where they begin. */
CtStatus ct_parallelize(const CtCx *cx, CtLayout a, CtLayout thr, CtInt idx, CtTuple proj, CtLayout *out, CtInt *offset, CtErr *err) CT_NODISCARD;
/* Thread-value layout: (thread, value) -> column-major index in the tile; *tiler is the tile's shape. */
CtStatus ct_tv_layout(const CtCx *cx, CtLayout thr, CtLayout val, CtLayout *tv, CtTuple *tiler, CtErr *err) CT_NODISCARD;

#endif
