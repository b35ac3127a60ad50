/* oracle.c: layouts as functions, from the definition. */
#include "oracle.h"

#include <string.h>

Fn fn_of(CtLayout l) {
  Fn f = {.n = 0};
  for (uint32_t i = 0; i < l.shape->len; i++) {
    if (ct_is_leaf(&l.shape[i]) && f.n < FN_MODES) {
      f.shape[f.n] = l.shape[i].i.v;
      f.stride[f.n++] = l.stride[i].i.v;
    }
  }
  return f;
}

Fn fn_of_mode(CtLayout l, int i) { return fn_of(ct_mode(l, i)); }

Wide fn_size(const Fn *f) {
  Wide n = 1;
  for (int i = 0; i < f->n; i++) {
    n *= f->shape[i];
  }
  return n;
}

Wide size_of(CtTuple shape) {
  Wide n = 1;
  for (uint32_t i = 0; i < shape->len; i++) {
    n *= ct_is_leaf(&shape[i]) ? shape[i].i.v : 1;
  }
  return n;
}

/* Coordinates that fit 64 bits take the fast division. */
static Wide at_small(const Fn *f, int64_t i) {
  Wide sum = 0;
  int last = f->n - 1;
  for (int k = 0; k < last; k++) {
    if (f->shape[k] == 0) {
      return 0;
    }
    sum += (Wide)(i % f->shape[k]) * f->stride[k];
    i /= f->shape[k];
  }
  return last < 0 ? 0 : sum + (Wide)i * f->stride[last];
}

Wide fn_at(const Fn *f, Wide i) {
  Wide sum = 0;
  int last = f->n - 1;
  if (i == (int64_t)i) {
    return at_small(f, (int64_t)i);
  }
  for (int k = 0; k < last; k++) {
    if (f->shape[k] == 0) {
      return 0;
    }
    sum += i % f->shape[k] * f->stride[k];
    i /= f->shape[k];
  }
  return last < 0 ? 0 : sum + i * f->stride[last];
}

Wide at(CtLayout l, Wide i) {
  Fn f = fn_of(l);
  return fn_at(&f, i);
}

Wide at_crd(CtLayout l, CtTuple crd) {
  if (ct_is_leaf(crd)) {
    return crd->i.kind == CT_ANY ? 0 : at(l, crd->i.v);
  }
  Wide sum = 0;
  int i = 0;
  for (CtTuple c = ct_first(crd); c != ct_end(crd); c = ct_next(c)) {
    sum += at_crd(ct_mode(l, i++), c);
  }
  return sum;
}

Fn fn_moving(const Fn *f) {
  Fn r = {.n = 0};
  for (int i = 0; i < f->n; i++) {
    if (f->shape[i] == 1 || f->stride[i] == 0) {
      continue;
    }
    int k = r.n++;
    for (; k > 0 && r.stride[k - 1] > f->stride[i]; k--) {
      r.shape[k] = r.shape[k - 1];
      r.stride[k] = r.stride[k - 1];
    }
    r.shape[k] = f->shape[i];
    r.stride[k] = f->stride[i];
  }
  return r;
}

bool fn_has_negative(const Fn *f) {
  for (int i = 0; i < f->n; i++) {
    if (f->stride[i] < 0 && f->shape[i] != 1) {
      return true;
    }
  }
  return false;
}

Wide fn_end(const Fn *m) { return m->n == 0 ? 1 : (Wide)m->stride[m->n - 1] * m->shape[m->n - 1]; }

static bool is_stacked(const Fn *m, bool multiples) {
  Wide end = 1;
  for (int i = 0; i < m->n; i++) {
    if (m->stride[i] < end || (multiples && m->stride[i] % end != 0)) {
      return false;
    }
    end = (Wide)m->stride[i] * m->shape[i];
  }
  return true;
}

bool fn_is_separate(const Fn *moving) { return is_stacked(moving, false); }
bool fn_is_chain(const Fn *moving) { return is_stacked(moving, true); }

bool fn_is_compact(const Fn *f) {
  Fn m = fn_moving(f);
  Wide end = 1;
  for (int i = 0; i < m.n; i++) {
    if (m.stride[i] != end) {
      return false;
    }
    end *= m.shape[i];
  }
  return true;
}

bool fn_marks(const Fn *f, unsigned char *seen) {
  Wide n = fn_size(f);
  bool once = n <= SEEN_MAX;
  memset(seen, 0, SEEN_MAX);
  for (int64_t i = 0; once && i < n; i++) {
    Wide v = fn_at(f, i);
    once = v >= 0 && v < SEEN_MAX && seen[v]++ == 0;
  }
  return once;
}

bool fn_is_injective(const Fn *f) {
  static unsigned char seen[SEEN_MAX];
  return fn_marks(f, seen);
}

static int64_t smallest_prime(int64_t n) {
  for (int64_t p = 2; p * p <= n; p++) {
    if (n % p == 0) {
      return p;
    }
  }
  return n;
}

/* The first mode may be taken of a prime extent p: steps of `value(1)`; the rest is a layout again,
   of the multiples of p. */
static bool splits(ValueFn value, const void *ud, Wide base, Wide step, int64_t n, int64_t p) {
  Wide zero = value(ud, base), d = value(ud, base + step) - zero;
  for (int64_t q = 0; q < n; q += p) {
    Wide at_q = value(ud, base + step * q);
    for (int64_t k = 1; k < p; k++) {
      if (value(ud, base + step * (q + k)) != at_q + k * d) {
        return false;
      }
    }
  }
  return is_layout_fn(value, ud, base, step * p, n / p);
}

bool is_layout_fn(ValueFn value, const void *ud, Wide base, Wide step, int64_t n) {
  int64_t left = n;
  while (left > 1) {
    int64_t p = smallest_prime(left);
    if (splits(value, ud, base, step, n, p)) {
      return true;
    }
    while (left % p == 0) {
      left /= p;
    }
  }
  return n <= 1;
}

bool refines(CtTuple fine, CtTuple coarse) {
  if (ct_is_leaf(coarse)) {
    return size_of(fine) == coarse->i.v;
  }
  if (ct_is_leaf(fine) || fine->rank != coarse->rank) {
    return false;
  }
  CtTuple f = ct_first(fine);
  for (CtTuple c = ct_first(coarse); c != ct_end(coarse); c = ct_next(c), f = ct_next(f)) {
    if (!refines(f, c)) {
      return false;
    }
  }
  return true;
}

bool same_nesting(CtTuple a, CtTuple b) {
  if (a->len != b->len) {
    return false;
  }
  for (uint32_t i = 0; i < a->len; i++) {
    if (a[i].rank != b[i].rank) {
      return false;
    }
  }
  return true;
}
