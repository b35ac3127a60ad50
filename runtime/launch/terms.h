/* terms.h: what a trace takes for granted of a tensor that a launch passes, as rows with which the launch's numbers are
   compared. It is plain C: no Lua, and nothing of the trace is needed any more.

   Of a number v the key of a specialisation says its divisor: the largest power of two that divides it, up to a limit. So
   v fits a row if low <= v <= high and v & mask == bits. */
#ifndef CT_TERMS_H
#define CT_TERMS_H

#include "runtime/ir/ir.h"

/* An extent or a stride. Its place among the launch's values is counted from that of the address; 0: it is a constant,
   and no value. */
typedef struct CtTerm {
  int64_t low, high;
  uint64_t mask, bits;
  uint32_t slot;
} CtTerm;

/* Of a tensor. Most launches pass what the last one did, elsewhere: so the extents and strides that were taken are kept,
   whose values the slots still have. */
typedef struct CtTerms {
  CtDtype dtype;
  int rank;
  int align;                     /* of the address: ct_call_align */
  bool is_wide;                  /* ct_call_is_wide */
  bool is_taken, is_taken_dense; /* something was taken; that call gave no strides */
  int64_t most_last;             /* ct_terms_most_last */
  CtTerm *
      terms; /* of its extents, then of its strides; no extent of a narrow tensor reaches CT_MOST_NARROW */
  int64_t *taken;
  uint64_t taken_bytes; /* that such a tensor spans */
} CtTerms;

/* A tensor as a launch passes it: plain numbers, in elements. Strides NULL: it is row-major. The rank is at least 1. */
typedef struct CtCallTensor {
  const void *data;
  const int64_t *shape, *stride;
  int rank;
  CtDtype dtype;
} CtCallTensor;

/* The bytes that its elements span; empty: begin == end. */
typedef struct CtCallSpan {
  uint64_t begin, end;
} CtCallSpan;

/* Bytes of the widest access, and of what a key says of strides: those of an access that needs no atom. */
enum { CT_CALL_MAX_ALIGN = 32, CT_CALL_STRIDE_BYTES = 16 };

/* Bytes, a power of two up to the limit. */
static inline int ct_call_align(uint64_t address) {
  uint64_t low = address | CT_CALL_MAX_ALIGN;
  return (int)(low & (~low + 1));
}

/* A kernel counts no more elements of a tensor. With strides of 0 few bytes may have many. */
static inline int64_t ct_call_most_elements(bool is_wide) {
  return is_wide ? INT64_MAX : CT_MOST_NARROW - 1;
}

/* Offsets are 32 bits wide if the tensor, whose last element has the index `last`, spans less than 2^31 bytes, counts,
   with strides of 0, fewer elements than that, and has no longer mode. */
static inline bool ct_call_is_wide(int64_t last, int64_t size, int64_t longest, CtDtype dtype) {
  return last >= ct_most_narrow(dtype) || size > ct_call_most_elements(false) ||
         longest >= CT_MOST_NARROW;
}

/* No extent or stride is larger. */
static inline int64_t ct_call_most(bool is_wide) {
  return is_wide ? INT64_MAX >> 16 : INT32_MAX - 1;
}

/* log2 of the divisor of an extent or a stride, as far as a key says it. */
int ct_divisor_log(bool is_extent, int64_t v, CtDtype dtype);
static inline int64_t ct_divisor(bool is_extent, int64_t v, CtDtype dtype) {
  return (int64_t)1 << ct_divisor_log(is_extent, v, dtype);
}

/* The row of a number that is a value of the launch; that of a constant. */
CtTerm ct_term_of(bool is_extent, int64_t v, CtDtype dtype, bool is_wide);
CtTerm ct_term_constant(int64_t v);
/* What divides every number that fits a row. */
static inline int64_t ct_term_divisor(const CtTerm *leaf) {
  return (int64_t)(leaf->bits != 0 ? leaf->bits : leaf->mask + 1);
}

/* The bounds to which a launch holds a number that the trace took for low to high. No extent of a narrow tensor reaches
   CT_MOST_NARROW. How far strides may reach is asked of the whole tensor, and that of a mode of one element reaches
   nowhere. */
void ct_term_bounds(bool is_extent, bool is_wide, int64_t *low, int64_t *high);

/* The stride of the next mode of a row-major tensor, from that of a mode and its extent. An empty tensor has any strides. */
static inline int64_t ct_call_next_stride(int64_t stride, int64_t extent) {
  int64_t next;
  return extent > 0 && !__builtin_mul_overflow(stride, extent, &next) ? next : stride;
}

/* The largest index that an element of a tensor may have. */
int64_t ct_terms_most_last(CtDtype dtype, bool is_wide);

/* Does the tensor fit? Writes its address, extents and strides to slots, and what it spans. If it does not fit, what is
   written means nothing. A tensor with elements needs an address. */
bool ct_terms_take(CtTerms *g, const CtCallTensor *t, CtSlotValue *slots, CtCallSpan *out);

/* Do two of n spans, each `step` bytes after the one before, have bytes in common? */
bool ct_spans_overlap(const CtCallSpan *first, size_t step, int n);

#endif
