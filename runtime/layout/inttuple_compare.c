/* inttuple_compare.c: relations between tuples: nesting, compatibility, orders of coordinates. */
#include "inttuple.h"

bool ct_weakly_congruent(CtTuple a, CtTuple b) {
  if (ct_is_leaf(a)) {
    return true;
  }
  if (ct_is_leaf(b) || a->rank != b->rank) {
    return false;
  }
  CtTuple y = ct_first(b);
  for (CtTuple x = ct_first(a); x != ct_end(a); x = ct_next(x), y = ct_next(y)) {
    if (!ct_weakly_congruent(x, y)) {
      return false;
    }
  }
  return true;
}

CtStatus ct_compatible(const CtCx *cx, CtTuple a, CtTuple b, bool *out, CtErr *err) {
  bool all = true;
  if (ct_is_leaf(a)) {
    CtInt size;
    CtStatus st = ct_product(cx, b, &size, err);
    if (st == CT_OK) {
      *out = ct_int_equal(a->i, size);
    }
    return st;
  }
  if (ct_is_leaf(b) || a->rank != b->rank) {
    *out = false;
    return CT_OK;
  }
  CtTuple y = ct_first(b);
  for (CtTuple x = ct_first(a); all && x != ct_end(a); x = ct_next(x), y = ct_next(y)) {
    CtStatus st = ct_compatible(cx, x, y, &all, err);
    if (st != CT_OK) {
      return st;
    }
  }
  *out = all;
  return CT_OK;
}

/* --- orders ------------------------------------------------------------------------------------ */

typedef enum Order { LESS, EQUAL, GREATER, UNORDERED } Order; /* UNORDERED: integer against tuple */

static Order compare_numbers(int64_t a, int64_t b) {
  return a < b ? LESS : a == b ? EQUAL : GREATER;
}

/* The first entry that differs decides; of a tuple and its beginning the beginning is less. */
static Order compare(CtTuple a, CtTuple b, bool from_right) {
  if (ct_is_leaf(a) != ct_is_leaf(b)) {
    return UNORDERED;
  }
  if (ct_is_leaf(a)) {
    return compare_numbers(a->i.v, b->i.v);
  }
  int least = a->rank < b->rank ? a->rank : b->rank;
  for (int i = 0; i < least; i++) {
    Order o = compare(ct_child(a, from_right ? a->rank - 1 - i : i),
                      ct_child(b, from_right ? b->rank - 1 - i : i), from_right);
    if (o != EQUAL) {
      return o;
    }
  }
  return compare_numbers(a->rank, b->rank);
}

static Order compare_entries(CtTuple a, CtTuple b) { /* LESS when each entry is; else GREATER */
  if (ct_is_leaf(a) != ct_is_leaf(b)) {
    return UNORDERED;
  }
  if (ct_is_leaf(a)) {
    return a->i.v < b->i.v ? LESS : GREATER;
  }
  if (a->rank > b->rank) {
    return GREATER;
  }
  for (int i = 0; i < a->rank; i++) {
    Order o = compare_entries(ct_child(a, i), ct_child(b, i));
    if (o != LESS) {
      return o;
    }
  }
  return LESS;
}

static CtStatus check_static(const char *op, CtTuple a, CtTuple b, CtErr *err) {
  if (ct_all_static(a) && ct_all_static(b)) {
    return CT_OK;
  }
  return ct_fail(err, CT_EUNSUPPORTED,
                 "%s: coordinates with '_' or run-time values; expected numbers", op);
}

static CtStatus decide(const char *op, Order o, bool *out, CtErr *err) {
  if (o == UNORDERED) {
    return ct_fail(err, CT_EINVAL,
                   "%s: an integer against a tuple; expected coordinates of the "
                   "same nesting",
                   op);
  }
  *out = o == LESS;
  return CT_OK;
}

CtStatus ct_lex_less(CtTuple a, CtTuple b, bool *out, CtErr *err) {
  CtStatus st = check_static("lex_less", a, b, err);
  return st == CT_OK ? decide("lex_less", compare(a, b, false), out, err) : st;
}

CtStatus ct_colex_less(CtTuple a, CtTuple b, bool *out, CtErr *err) {
  CtStatus st = check_static("colex_less", a, b, err);
  return st == CT_OK ? decide("colex_less", compare(a, b, true), out, err) : st;
}

CtStatus ct_elem_less(CtTuple a, CtTuple b, bool *out, CtErr *err) {
  CtStatus st = check_static("elem_less", a, b, err);
  return st == CT_OK ? decide("elem_less", compare_entries(a, b), out, err) : st;
}
