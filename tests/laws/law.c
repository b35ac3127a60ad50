/* law.c: what the laws share. */
#include "law.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

Verdict broken(Run *run, const char *fmt, ...) {
  va_list args;
  va_start(args, fmt);
  vsnprintf(run->why, sizeof run->why, fmt, args);
  va_end(args);
  return BROKEN;
}

/* --- errors ------------------------------------------------------------------------------------- */

/* The product of all extents and of the largest stride, as a power of two. */
static int layout_bits(CtLayout l) {
  double size = 1, stride = 1;
  for (uint32_t i = 0; l.shape != NULL && i < l.shape->len; i++) {
    if (ct_is_leaf(&l.shape[i])) {
      double d = l.stride[i].i.v < 0 ? -(double)l.stride[i].i.v : (double)l.stride[i].i.v;
      size *= l.shape[i].i.v > 1 ? (double)l.shape[i].i.v : 1;
      stride = d > stride ? d : stride;
    }
  }
  int bits = 0;
  for (double x = size * stride; x > 1; x /= 2) {
    bits++;
  }
  return bits;
}

static int tiler_bits(const CtTiler *t) {
  int bits = t->kind == CT_TILER_LAYOUT ? layout_bits(t->layout) : 0;
  for (int i = 0; t->kind == CT_TILER_TUPLE && i < t->n; i++) {
    bits += tiler_bits(&t->items[i]);
  }
  return bits;
}

bool is_small(const Case *c) {
  return layout_bits(c->a) + layout_bits(c->b) + tiler_bits(&c->t) + layout_bits(c->x.layout) +
             layout_bits(c->y.layout) <
         58;
}

Verdict refused(Run *run, const Case *c, CtStatus st) {
  const char *msg = run->err.msg;
  size_t len = strlen(msg);
  if (len == 0 || strchr(msg, '\n') != NULL || strchr(msg, ':') == NULL) {
    return broken(run, "an unreadable error: '%s'", msg);
  }
  if (st == CT_EOVERFLOW && is_small(c)) {
    return broken(run, "overflow of small numbers: %s", msg);
  }
  bool swizzled = c->x.is_swizzled || c->y.is_swizzled; /* where bounds cannot be told */
  if (st != CT_EOVERFLOW && st != CT_EINVAL && !(swizzled && st == CT_EUNSUPPORTED)) {
    return broken(run, "status %d for static input: %s", (int)st, msg);
  }
  return REFUSED;
}

/* --- comparing ---------------------------------------------------------------------------------- */

int n_points(Wide size) { return size <= ALL_POINTS ? (int)size : SOME_POINTS; }

Wide point(Wide size, int k) {
  Rng r = {(uint64_t)k};
  if (size <= ALL_POINTS || k < 4) {
    return k;
  }
  return k == 4 ? size - 1 : (Wide)(rng_next(&r) >> 1) % size;
}

Verdict same_values(Run *run, const Fn *f, const Fn *g, Wide n) {
  for (int k = 0; k < n_points(n); k++) {
    Wide i = point(n, k), got = fn_at(f, i), want = fn_at(g, i);
    if (got != want) {
      return broken(run, "at %lld it is %lld, not %lld", (long long)i, (long long)got,
                    (long long)want);
    }
  }
  return HOLDS;
}

Verdict same_layout(Run *run, CtLayout got, CtLayout want) {
  bool same = same_nesting(got.shape, want.shape);
  for (uint32_t i = 0; same && i < got.shape->len; i++) {
    same = !ct_is_leaf(&got.shape[i]) ||
           (got.shape[i].i.v == want.shape[i].i.v && got.stride[i].i.v == want.stride[i].i.v);
  }
  return same ? HOLDS : broken(run, "another layout was expected");
}

Wide sum_at(CtLayout l, const Wide *crd) {
  Wide sum = 0;
  for (int i = 0; i < ct_layout_rank(l); i++) {
    sum += at(ct_mode(l, i), crd[i]);
  }
  return sum;
}

/* --- cases -------------------------------------------------------------------------------------- */

void make_one(Rng *r, CtArena *a, Case *c) { c->a = random_layout(r, a, 256); }

void make_two(Rng *r, CtArena *a, Case *c) {
  c->a = random_layout(r, a, 200);
  c->b = rng_chance(r, 60) ? random_fitting(r, a, c->a) : random_layout(r, a, 40);
}
