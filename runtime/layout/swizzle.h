/* swizzle.h: Sw<B,M,S>, an involution on indices that permutes banks: it xors the B bits that begin
   at bit M with the B bits |S| places above them. S > 0: the lower field changes; S < 0: the higher
   one, from bit M + |S|, changes by the lower one. B = 0 is the identity. The two fields do not
   overlap (|S| >= B) and lie within 62 bits, so indices stay >= 0. */
#ifndef CT_SWIZZLE_H
#define CT_SWIZZLE_H

#include "inttuple.h"

typedef struct CtSwizzle {
  int8_t bits, base, shift; /* B, M, S */
} CtSwizzle;

/* Fails unless B >= 0, M >= 0, |S| >= B and both fields fit. */
CtStatus ct_swizzle_make(int64_t bits, int64_t base, int64_t shift, CtSwizzle *out,
                         CtErr *err) CT_NODISCARD;

static inline bool ct_swizzle_equal(CtSwizzle a, CtSwizzle b) {
  return a.bits == b.bits && a.base == b.base && a.shift == b.shift;
}

/* The bits that decide (y) and those that change (z): value(x) = x ^ shifted(x & y). */
uint64_t ct_swizzle_y(CtSwizzle sw);
uint64_t ct_swizzle_z(CtSwizzle sw);

/* Does the text begin like a swizzle: "Sw<", as CuTe and Cuttle print one, or "S<", as CuTe DSL does? */
bool ct_begins_swizzle(const char *text, size_t len);

int64_t ct_swizzle_at(CtSwizzle sw, int64_t x);
/* The swizzle permutes indices within blocks of this size, and in the same way in all blocks whose
   number has the same deciding bits. Adding a multiple of the period commutes with the swizzle.
   Both are powers of two. */
int64_t ct_swizzle_block(CtSwizzle sw);
int64_t ct_swizzle_period(CtSwizzle sw);
/* The smallest count, n or more, such that indices below it stay below and others stay at or above. */
CtStatus ct_swizzle_extent(CtSwizzle sw, int64_t n, int64_t *out, CtErr *err) CT_NODISCARD;
/* For an integer that may be dynamic; then it must be >= 0. */
CtStatus ct_swizzle_apply(const CtCx *cx, CtSwizzle sw, CtInt x, CtInt *out,
                          CtErr *err) CT_NODISCARD;

/* The swizzle whose deciding and changing bits are these masks: two runs with equally many bits.
   Empty masks give Sw<0,0,0>. */
CtStatus ct_swizzle_from_masks(int64_t y, int64_t z, CtSwizzle *out, CtErr *err) CT_NODISCARD;

/* a after b, if that is a swizzle again: the shifts are equal, or one of the two is the
   identity. */
CtStatus ct_swizzle_compose(CtSwizzle a, CtSwizzle b, CtSwizzle *out, CtErr *err) CT_NODISCARD;

/* The same memory in elements n times larger, n times smaller (n a power of 2), or of another number
   of bits. Drops the bits below a larger element, as CuTe does. */
CtStatus ct_swizzle_upcast(CtSwizzle sw, int64_t n, CtSwizzle *out, CtErr *err) CT_NODISCARD;
CtStatus ct_swizzle_downcast(CtSwizzle sw, int64_t n, CtSwizzle *out, CtErr *err) CT_NODISCARD;
CtStatus ct_swizzle_recast(CtSwizzle sw, int64_t from_bits, int64_t to_bits, CtSwizzle *out,
                           CtErr *err) CT_NODISCARD;

/* Text: "Sw<2,0,3>". */
CtStatus ct_swizzle_parse(CtArena *a, const char *s, size_t len, CtSwizzle *out,
                          CtErr *err) CT_NODISCARD;
void ct_swizzle_print(CtSwizzle sw, CtText *out);

#endif
