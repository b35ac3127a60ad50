/* walk.c: the elements of a layout, run by run. */
#include "walk.h"

#include "tuple_leaves.h"

#include <string.h>

/* Widens [lo, hi] by the indices that one mode adds. */
static CtStatus widen(int64_t extent, int64_t stride, int64_t *lo, int64_t *hi, CtErr *err) {
  int64_t reach;
  int64_t *end = stride < 0 ? lo : hi;
  if (ct_mul_overflow(extent - 1, stride, &reach) || ct_add_overflow(*end, reach, end)) {
    return ct_fail(err, CT_EOVERFLOW, "the layout's indices do not fit 64 bits");
  }
  return CT_OK;
}

/* The size first: an empty layout has no indices, whatever its strides are. */
static CtStatus count(CtLayout layout, int64_t *size, CtErr *err) {
  int64_t n = 1;
  bool is_empty = false;
  for (CtLeaves w = ct_leaves(layout.shape, layout.stride); ct_next_leaf(&w);) {
    CtInt s = w.shape->i, d = w.stride->i;
    if (!ct_is_static(s) || !ct_is_static(d) || d.basis_depth > 0) {
      return ct_fail(err, CT_EINVAL, "the layout's extents and strides are not all plain numbers");
    }
    is_empty = is_empty || s.v <= 0;
    if (s.v > 0 && ct_mul_overflow(n, s.v, &n)) {
      return ct_fail(err, CT_EOVERFLOW, "the layout has more than 2^63 elements");
    }
  }
  *size = is_empty ? 0 : n;
  return CT_OK;
}

CtStatus ct_walk_bounds(CtLayout layout, int64_t *lo, int64_t *hi, int64_t *size, CtErr *err) {
  int64_t n = 0, first = 0, last = 0;
  CtStatus status = count(layout, &n, err);
  CtLeaves w = ct_leaves(layout.shape, layout.stride);
  while (status == CT_OK && n > 0 && ct_next_leaf(&w)) {
    status = widen(w.shape->i.v, w.stride->i.v, &first, &last, err);
  }
  if (status == CT_OK) {
    *size = n;
    *lo = first;
    *hi = n == 0 ? -1 : last;
  }
  return status;
}

/* Appends a mode to the n before it; merges it with the last one if it continues that. */
static int push_mode(CtWalkMode *modes, int n, int64_t extent, int64_t stride) {
  if (extent == 1) {
    return n;
  }
  int64_t next;
  if (n > 0 && !ct_mul_overflow(modes[n - 1].stride, modes[n - 1].extent, &next) &&
      next == stride) {
    modes[n - 1].extent *= extent;
    return n;
  }
  modes[n] = (CtWalkMode){.extent = extent, .stride = stride};
  return n + 1;
}

CtStatus ct_walk_init(CtWalk *w, CtArena *arena, CtLayout layout, CtErr *err) {
  CtWalk made = {.n = 1};
  int n = 0;
  CtStatus status = ct_walk_bounds(layout, &made.lo, &made.hi, &made.size, err);
  if (status != CT_OK) {
    return status;
  }
  CtWalkMode *modes = ct_arena_alloc(arena, (layout.shape->len + 1) * sizeof *modes);
  if (modes == NULL) {
    return ct_fail_nomem(err);
  }
  CtLeaves leaves = ct_leaves(layout.shape, layout.stride);
  while (made.size > 0 && ct_next_leaf(&leaves)) {
    n = push_mode(modes, n, leaves.shape->i.v, leaves.stride->i.v);
  }
  if (n > 0) {
    made.n = modes[0].extent;
    made.stride = modes[0].stride;
    made.outer = modes + 1;
    made.n_outer = n - 1;
  }
  *w = made;
  return CT_OK;
}

/* Moves to the next run; false after the last. */
static bool next_run(CtWalk *w) {
  if (!w->started) {
    w->started = true;
    return w->size > 0;
  }
  for (int i = 0; i < w->n_outer; i++) {
    CtWalkMode *m = &w->outer[i];
    w->index += m->stride;
    if (++m->at < m->extent) {
      return true;
    }
    w->index -= m->stride * m->extent;
    m->at = 0;
  }
  return false;
}

/* One loop for each element size: the compiler turns a copy of constant size into plain moves. */
#define COPY_RUN(bytes, n, dst, dst_step, src, src_step)                                           \
  for (int64_t i_ = 0; i_ < (n); i_++) {                                                           \
    memcpy((dst) + i_ * (dst_step) * (bytes), (src) + i_ * (src_step) * (bytes), (size_t)(bytes)); \
  }

static void copy_run(int64_t bytes, int64_t n, char *dst, int64_t dst_step, const char *src,
                     int64_t src_step) {
  if (dst_step == 1 && src_step == 1) {
    memmove(dst, src, (size_t)(n * bytes));
  } else if (bytes == 4) {
    COPY_RUN(4, n, dst, dst_step, src, src_step)
  } else if (bytes == 8) {
    COPY_RUN(8, n, dst, dst_step, src, src_step)
  } else {
    COPY_RUN(bytes, n, dst, dst_step, src, src_step)
  }
}

void ct_walk_gather(CtWalk *w, size_t bytes, const void *base, void *dst) {
  int64_t size = (int64_t)bytes;
  char *to = dst;
  while (next_run(w)) {
    copy_run(size, w->n, to, 1, (const char *)base + w->index * size, w->stride);
    to += w->n * size;
  }
}

void ct_walk_scatter(CtWalk *w, size_t bytes, void *base, const void *src) {
  int64_t size = (int64_t)bytes;
  const char *from = src;
  while (next_run(w)) {
    copy_run(size, w->n, (char *)base + w->index * size, w->stride, from, 1);
    from += w->n * size;
  }
}

/* Element `at` of packed memory, counted from its first byte. */
static unsigned char get_half(const unsigned char *base, int64_t at) {
  return base[at >> 1] >> (at & 1) * 4 & 15;
}

static void set_half(unsigned char *base, int64_t at, unsigned char v) {
  int shift = (int)(at & 1) * 4;
  base[at >> 1] = (unsigned char)((base[at >> 1] & ~(15 << shift)) | (v & 15) << shift);
}

void ct_walk_gather_packed(CtWalk *w, const void *base, int64_t first, void *dst) {
  unsigned char *to = dst;
  while (next_run(w)) {
    for (int64_t i = 0; i < w->n; i++) {
      *to++ = get_half(base, first + w->index + i * w->stride);
    }
  }
}

void ct_walk_scatter_packed(CtWalk *w, void *base, int64_t first, const void *src) {
  const unsigned char *from = src;
  while (next_run(w)) {
    for (int64_t i = 0; i < w->n; i++) {
      set_half(base, first + w->index + i * w->stride, *from++);
    }
  }
}
