/* composed.h: layouts under a swizzle: the value at c is Sw(offset + layout(c)).

   A CtLayout stays plain, so that no operation drops a swizzle unseen; a CtComposed is a layout
   with or without one. Some operations act on the coordinates alone (coalesce, group, composition
   with a tiler, divides, products, ...). For these, apply the operation of layout.h to its `layout`
   and keep the swizzle and the offset: ct_composed_with. This file has the operations that differ:
   a slice moves into the offset, a recast changes the swizzle too, a plain layout after a swizzle
   needs a new swizzle. Strides, complement and nullspace have no meaning under a swizzle. */
#ifndef CT_COMPOSED_H
#define CT_COMPOSED_H

#include "layout.h"
#include "swizzle.h"

typedef struct CtComposed {
  CtLayout layout;
  CtInt offset; /* 0 if the layout is plain */
  CtSwizzle swizzle;
  bool is_swizzled; /* false: the layout has no swizzle */
} CtComposed;

static inline CtComposed ct_composed_plain(CtLayout l) {
  CtComposed c = {l, ct_int(0), {0, 0, 0}, false};
  return c;
}
static inline CtComposed ct_composed_with(const CtComposed *c, CtLayout l) {
  CtComposed r = *c;
  r.layout = l;
  return r;
}

/* Plain if the swizzle is the identity and the offset is 0, as in CuTe. Fails if the offset or a
   stride is a basis element: coordinates cannot be swizzled. */
CtStatus ct_composed_make(const CtCx *cx, CtSwizzle sw, CtInt offset, CtLayout l, CtComposed *out,
                          CtErr *err) CT_NODISCARD;
bool ct_composed_equal(const CtComposed *a, const CtComposed *b);
bool ct_composed_is_static(const CtComposed *c);

CtStatus ct_composed_crd2idx(const CtCx *cx, CtTuple crd, const CtComposed *c, CtInt *out,
                             CtErr *err) CT_NODISCARD;
/* The same, but also accepts a plain layout with basis strides: then the value is a coordinate. */
CtStatus ct_composed_evaluate(const CtCx *cx, CtTuple crd, const CtComposed *c, CtTuple *out,
                              CtErr *err) CT_NODISCARD;
/* of a static layout: the fast form for loops */
int64_t ct_composed_at(const CtComposed *c, int64_t i);
/* Largest value + 1. If the image is not known to be 0..n-1, the function lists the values to find
   the largest. Then everything must be static, with at most CT_COSIZE_LISTED elements. */
enum { CT_COSIZE_LISTED = 1 << 22 };
CtStatus ct_composed_cosize(const CtCx *cx, const CtComposed *c, CtInt *out,
                            CtErr *err) CT_NODISCARD;

/* slice, tile and parallelize, as ct_slice_at and the others do. Under a swizzle the index of the
   fixed part moves into the offset of the result, and *offset is 0. */
CtStatus ct_composed_slice(const CtCx *cx, CtTuple crd, const CtComposed *c, CtComposed *out,
                           CtTuple *offset, CtErr *err) CT_NODISCARD;
CtStatus ct_composed_tile(const CtCx *cx, const CtComposed *c, CtTiler tiler, CtTuple crd,
                          CtTuple proj, CtComposed *out, CtTuple *offset, CtErr *err) CT_NODISCARD;
CtStatus ct_composed_parallelize(const CtCx *cx, const CtComposed *c, CtLayout thr, CtInt idx,
                                 CtTuple proj, CtComposed *out, CtTuple *offset,
                                 CtErr *err) CT_NODISCARD;

CtStatus ct_composed_upcast(const CtCx *cx, const CtComposed *c, int64_t n, CtComposed *out,
                            CtErr *err) CT_NODISCARD;
CtStatus ct_composed_downcast(const CtCx *cx, const CtComposed *c, int64_t n, CtComposed *out,
                              CtErr *err) CT_NODISCARD;
CtStatus ct_composed_recast(const CtCx *cx, const CtComposed *c, int64_t from_bits, int64_t to_bits,
                            CtComposed *out, CtErr *err) CT_NODISCARD;

/* As ct_max_common_*, limited to the 2^M elements that a swizzle keeps together, and to factors of
   the offset. */
CtStatus ct_composed_max_common_vector(const CtCx *cx, const CtComposed *a, const CtComposed *b,
                                       int64_t *out, CtErr *err) CT_NODISCARD;
CtStatus ct_composed_max_common_layout(const CtCx *cx, const CtComposed *a, const CtComposed *b,
                                       CtLayout *out, CtErr *err) CT_NODISCARD;

/* sw after c: merges the two swizzles. */
CtStatus ct_composed_swizzle(const CtCx *cx, CtSwizzle sw, const CtComposed *c, CtComposed *out,
                             CtErr *err) CT_NODISCARD;
/* a after b. Moves a swizzle of b through a to the front. Fails unless each bit of the swizzle's
   fields is also one bit of a's index that nothing else in a changes. */
CtStatus ct_composed_compose(const CtCx *cx, const CtComposed *a, const CtComposed *b,
                             CtComposed *out, CtErr *err) CT_NODISCARD;
/* The inverse of the layout after the swizzle, which is its own inverse; the offset must be 0. */
CtStatus ct_composed_right_inverse(const CtCx *cx, const CtComposed *c, CtComposed *out,
                                   CtErr *err) CT_NODISCARD;
CtStatus ct_composed_left_inverse(const CtCx *cx, const CtComposed *c, CtComposed *out,
                                  CtErr *err) CT_NODISCARD;

/* Text: "Sw<2,0,3> o 0 o (8,8):(8,1)", or the text of a plain layout. */
CtStatus ct_composed_parse(CtArena *a, const char *s, size_t len, CtComposed *out,
                           CtErr *err) CT_NODISCARD;
void ct_composed_print(const CtCx *cx, const CtComposed *c, CtText *out);
const char *ct_show_composed(const CtCx *cx, const CtComposed *c); /* for messages; in the arena */

#endif
