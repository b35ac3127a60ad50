/* inttuple_compare.c: relations between tuples: nesting, compatibility, orders of coordinates. */
#include "tuple_context.h"

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

bool al_compatible(CtAlg *g, CtTuple a, CtTuple b) {
  if (!al_ok(g) || ct_is_leaf(a)) {
    return al_ok(g) && ct_int_equal(a->i, al_product(g, b));
  }
  bool all = !ct_is_leaf(b) && a->rank == b->rank;
  CtTuple y = ct_first(b);
  for (CtTuple x = ct_first(a); all && x != ct_end(a); x = ct_next(x), y = ct_next(y)) {
    all = al_compatible(g, x, y);
  }
  return all;
}

/* --- orders ------------------------------------------------------------------------------------ */

typedef enum Order { LESS, EQUAL, GREATER, UNORDERED } Order; /* UNORDERED: integer against tuple */

static Order compare_numbers(int64_t a, int64_t b) {
  return a < b ? LESS : a == b ? EQUAL : GREATER;
}

/* The first entry that differs decides. If one tuple is the beginning of the other, it is less. */
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

/* LESS if each entry is less; otherwise GREATER */
static Order compare_entries(CtTuple a, CtTuple b) {
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

static CtStatus decide(const char *op, CtTuple a, CtTuple b, Order o, bool *out, CtErr *err) {
  if (!ct_all_static(a) || !ct_all_static(b)) {
    return ct_fail(err, CT_EUNSUPPORTED,
                   "%s: coordinates with '_' or run-time values; expected numbers", op);
  }
  if (o == UNORDERED) {
    return ct_fail(
        err, CT_EINVAL,
        "%s: an integer is compared with a tuple; expected coordinates of the same nesting", op);
  }
  *out = o == LESS;
  return CT_OK;
}

CtStatus ct_lex_less(CtTuple a, CtTuple b, bool *out, CtErr *err) {
  return decide("lex_less", a, b, compare(a, b, false), out, err);
}

CtStatus ct_colex_less(CtTuple a, CtTuple b, bool *out, CtErr *err) {
  return decide("colex_less", a, b, compare(a, b, true), out, err);
}

CtStatus ct_elem_less(CtTuple a, CtTuple b, bool *out, CtErr *err) {
  return decide("elem_less", a, b, compare_entries(a, b), out, err);
}
