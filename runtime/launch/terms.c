/* terms.c: rows of what a trace takes for granted, and tensors of a launch compared with them. */
#include "terms.h"

enum { MOST_EXTENT_LOG = 7 }; /* a key says of an extent whether 128 divides it */

static int stride_log(CtDtype dtype) { /* and of a stride as much as accesses can use */
  int log = 0;
  while (((size_t)2 << log) * (size_t)ct_dtype_pitch(dtype) <= 8 * CT_CALL_STRIDE_BYTES) {
    log++;
  }
  return log;
}

static int most_log(bool is_extent, CtDtype dtype) {
  return is_extent ? MOST_EXTENT_LOG : stride_log(dtype);
}

int ct_divisor_log(bool is_extent, int64_t v, CtDtype dtype) {
  int most = most_log(is_extent, dtype), log = 0;
  while (log < most && v % ((int64_t)2 << log) == 0) {
    log++;
  }
  return log;
}

CtTerm ct_term_of(bool is_extent, int64_t v, CtDtype dtype, bool is_wide) {
  int log = ct_divisor_log(is_extent, v, dtype);
  uint64_t divisor = (uint64_t)1 << log;
  bool is_most = log == most_log(is_extent, dtype);
  int64_t most = ct_call_most(is_wide);
  bool is_negative = !is_extent && v < 0;
  return (CtTerm){.low = is_extent     ? 0
                         : is_negative ? -most
                                       : 2,
                  .high = is_negative ? -1 : most,
                  .mask = is_most ? divisor - 1 : 2 * divisor - 1,
                  .bits = is_most ? 0 : divisor};
}

void ct_term_bounds(bool is_extent, bool is_wide, int64_t *low, int64_t *high) {
  if (!is_extent) {
    *low = *low < 0 ? -INT64_MAX : *low;
    *high = *high < 0 ? *high : INT64_MAX;
  } else if (!is_wide) {
    *high = ct_min(*high, CT_MOST_NARROW - 1);
  }
}

CtTerm ct_term_constant(int64_t v) { return (CtTerm){.low = v, .high = v}; }

int64_t ct_terms_most_last(CtDtype dtype, bool is_wide) {
  int64_t wide = (int64_t)ct_dense_count(dtype, (uint64_t)ct_call_most(true));
  return (is_wide ? wide : ct_most_narrow(dtype)) - 1;
}

/* What follows is done at each launch, so it has few branches: tests are differences, below 0 if something is wrong. */

static inline int64_t test(const CtTerm *term, int64_t v) {
  uint64_t u = (uint64_t)v;
  return (int64_t)((u - (uint64_t)term->low) | ((uint64_t)term->high - u) |
                   (0 - ((u & term->mask) ^ term->bits)));
}

/* What the modes of a tensor add up to. */
typedef struct Reach {
  uint64_t last; /* the index of its last element */
  int64_t size;
  int64_t
      far; /* below 0: it reaches further than its terms allow, or has more elements than there can be, */
  int64_t least; /* below 0: it has no elements */
} Reach;

static inline void add_mode(Reach *r, int64_t extent, int64_t stride, int64_t most_last) {
  int64_t step, before = (int64_t)((uint64_t)extent - 1);
  bool is_far = __builtin_mul_overflow(before, stride, &step);
  is_far |= __builtin_mul_overflow(r->size, extent, &r->size);
  r->last += (uint64_t)step;
  r->far |= (int64_t)(r->last | ((uint64_t)most_last - r->last) | (0 - (uint64_t)is_far));
  r->least |= before;
}

static bool is_wide(const CtCallTensor *t, const Reach *r, int64_t last) {
  int64_t longest = 0;
  for (int i = 0; i < t->rank; i++) {
    longest = ct_max(longest, t->shape[i]);
  }
  return ct_call_is_wide(last, r->size, longest, t->dtype);
}

/* An extent of a narrow tensor is a term's; it has no more elements than one with strides of 1 could have. */
static bool has_width(const CtTerms *g, const CtCallTensor *t, const Reach *r, int64_t last) {
  return g->is_wide ? is_wide(t, r, last) : r->size <= ct_call_most_elements(false);
}

static bool is_as_taken(const CtTerms *g, const CtCallTensor *t) {
  int64_t differs = g->is_taken_dense != (t->stride == NULL);
  for (int i = 0; i < t->rank; i++) {
    differs |= t->shape[i] ^ g->taken[i];
  }
  for (int i = 0; i < t->rank && t->stride != NULL; i++) {
    differs |= t->stride[i] ^ g->taken[t->rank + i];
  }
  return g->is_taken && differs == 0;
}

/* Extents and strides. */
static bool take_modes(CtTerms *g, const CtCallTensor *t, CtSlotValue *slots) {
  const CtTerm *term = g->terms;
  Reach r = {.size = 1};
  int64_t tests = 0, dense = 1;
  for (int i = t->rank - 1; i >= 0;
       i--) { /* slot 0 is the address's, and gets before what needs none */
    const CtTerm *shape = &term[i], *strides = &term[g->rank + i];
    int64_t extent = t->shape[i], stride = t->stride == NULL ? dense : t->stride[i];
    tests |= test(shape, extent) | test(strides, stride);
    slots[shape->slot].i = g->taken[i] = extent;
    slots[strides->slot].i = g->taken[g->rank + i] = stride;
    dense = ct_call_next_stride(dense, extent);
    add_mode(&r, extent, stride, g->most_last);
  }
  int64_t last = r.least < 0 ? -1 : (int64_t)r.last;
  g->is_taken_dense = t->stride == NULL;
  g->is_taken = tests >= 0 && (r.far >= 0 || r.least < 0) && has_width(g, t, &r, last);
  /* Only of what is taken is `last` known to be small enough for its bytes to be counted. */
  g->taken_bytes = g->is_taken ? (uint64_t)ct_dtype_span(g->dtype, last + 1) : 0;
  return g->is_taken;
}

bool ct_terms_take(CtTerms *g, const CtCallTensor *t, CtSlotValue *slots, CtCallSpan *out) {
  if (t->dtype != g->dtype || t->rank != g->rank ||
      (!is_as_taken(g, t) && !take_modes(g, t, slots))) {
    return false;
  }
  out->begin = (uint64_t)(uintptr_t)t->data;
  out->end = out->begin + g->taken_bytes;
  slots[0].i = (int64_t)out->begin;
  return ct_call_align(out->begin) == g->align && (out->begin != 0 || out->end == 0);
}

static const CtCallSpan *span_at(const CtCallSpan *first, size_t step, int i) {
  return (const CtCallSpan *)(const void *)((const char *)first + step * (size_t)i);
}

bool ct_spans_overlap(const CtCallSpan *first, size_t step, int n) {
  for (int i = 1; i < n; i++) {
    const CtCallSpan *a = span_at(first, step, i);
    for (int j = 0; j < i; j++) {
      const CtCallSpan *b = span_at(first, step, j);
      if (a->begin < b->end && b->begin < a->end) {
        return true;
      }
    }
  }
  return false;
}
