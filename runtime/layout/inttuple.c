/* inttuple.c: static and dynamic integers, nested tuples of them, and their text. */
#include "inttuple.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "tuple_build.h"
#include "tuple_parse.h"

/* --- integers -------------------------------------------------------------------------------- */

static const char *const op_text[] = {"+",   "-",   "*",  "/", "%", "ceil-divided by",
                                      "min", "max", "xor"};
_Static_assert(CT_STATIC == 0, "ct_int_op tests for all static with one comparison");
_Static_assert(CT_ARRAY_LEN(op_text) == CT_INT_XOR + 1, "one text for each CtIntOp");

bool ct_same_basis(CtInt a, CtInt b) {
  return a.basis_depth == b.basis_depth && memcmp(a.basis, b.basis, a.basis_depth) == 0;
}

bool ct_int_equal(CtInt a, CtInt b) {
  if (a.kind != b.kind) {
    return false;
  }
  if (a.kind == CT_ANY) {
    return true;
  }
  bool same = a.kind == CT_STATIC ? a.v == b.v : a.id == b.id;
  return same && (ct_same_basis(a, b) || ct_is_const((CtInt){.v = a.v, .kind = a.kind}, 0));
}

CtFacts ct_int_facts(const CtCx *cx, CtInt a) {
  if (a.kind == CT_STATIC) {
    return (CtFacts){a.v, a.v, ct_gcd(a.v, 0)};
  }
  if (a.kind == CT_DYNAMIC && cx->dyn != NULL) {
    return cx->dyn->facts(cx->dyn->ud, a);
  }
  return (CtFacts){INT64_MIN, INT64_MAX, 1};
}

CtKnown ct_int_divides(const CtCx *cx, CtInt d, CtInt x) {
  if (d.kind == CT_STATIC && x.kind == CT_STATIC) {
    bool exact = d.v == -1 || (d.v == 0 ? x.v == 0 : x.v % d.v == 0);
    return exact ? CT_KNOWN_YES : CT_KNOWN_NO;
  }
  if (ct_int_equal(d, x) || ct_is_const(d, 1) || ct_is_const(x, 0)) {
    return CT_KNOWN_YES;
  }
  if (d.kind == CT_STATIC && d.v != 0 && ct_int_facts(cx, x).div % d.v == 0) {
    return CT_KNOWN_YES;
  }
  return CT_KNOWN_MAYBE;
}

CtKnown ct_int_le(const CtCx *cx, CtInt a, CtInt b) {
  if (a.kind == CT_STATIC && b.kind == CT_STATIC) {
    return a.v <= b.v ? CT_KNOWN_YES : CT_KNOWN_NO;
  }
  CtFacts fa = ct_int_facts(cx, a), fb = ct_int_facts(cx, b);
  if (fa.hi <= fb.lo || ct_int_equal(a, b)) {
    return CT_KNOWN_YES;
  }
  return fa.lo > fb.hi ? CT_KNOWN_NO : CT_KNOWN_MAYBE;
}

/* False: the result does not fit, or the divisor is 0. */
static bool fold(CtIntOp op, int64_t a, int64_t b, int64_t *r) {
  switch (op) {
    case CT_INT_ADD: return !ct_add_overflow(a, b, r);
    case CT_INT_SUB: return !ct_sub_overflow(a, b, r);
    case CT_INT_MUL: return !ct_mul_overflow(a, b, r);
    case CT_INT_DIV: return b != 0 && (b != -1 || a != INT64_MIN) && (*r = a / b, true);
    case CT_INT_MOD: return b != 0 && (*r = b == -1 ? 0 : a % b, true);
    case CT_INT_CEILDIV:
      return b != 0 && (b != -1 || a != INT64_MIN) && (*r = ct_ceildiv(a, b), true);
    case CT_INT_MIN: *r = ct_min(a, b); return true;
    case CT_INT_MAX: *r = ct_max(a, b); return true;
    case CT_INT_XOR: *r = (int64_t)((uint64_t)a ^ (uint64_t)b); return true;
  }
  CT_UNREACHABLE();
}

static bool divides(CtIntOp op) { return op >= CT_INT_DIV && op <= CT_INT_CEILDIV; }

static CtInt static_op(CtAlg *g, CtIntOp op, int64_t a, int64_t b) {
  int64_t r = 0;
  if (fold(op, a, b, &r)) {
    return ct_int(r);
  }
  if (b == 0 && divides(op)) {
    al_fail(g, CT_EINVAL, "integer: %" PRId64 " %s 0; the divisor must not be 0", a, op_text[op]);
  }
  al_fail(g, CT_EOVERFLOW, "integer: %" PRId64 " %s %" PRId64 " does not fit in 64 bits", a,
          op_text[op], b);
  return ct_int(1);
}

/* x op y for plain x and y, one of them dynamic, if the result is x, y or a number. Quotients need
   the sign of their operands, which the facts must show. */
static bool simplify_quotient(const CtCx *cx, CtIntOp op, CtInt x, CtInt y, CtInt *out) {
  bool exact = ct_int_divides(cx, y, x) == CT_KNOWN_YES;
  if (ct_is_const(y, 1) || ct_is_const(x, 0)) {
    *out = op == CT_INT_MOD ? ct_int(0) : x;
    return true;
  }
  if (exact && (op == CT_INT_MOD || ct_int_equal(x, y))) {
    *out = ct_int(op == CT_INT_MOD ? 0 : 1);
    return true;
  }
  CtFacts fx = ct_int_facts(cx, x), fy = ct_int_facts(cx, y);
  if (fx.lo >= 0 && fx.hi < fy.lo && op != CT_INT_CEILDIV) {
    *out = op == CT_INT_DIV ? ct_int(0) : x;
    return true;
  }
  if (fx.lo >= 1 && fx.hi <= fy.lo && op == CT_INT_CEILDIV) {
    *out = ct_int(1);
    return true;
  }
  return false;
}

static bool simplify(const CtCx *cx, CtIntOp op, CtInt x, CtInt y, CtInt *out) {
  switch (op) {
    case CT_INT_ADD:
    case CT_INT_XOR:
      *out = ct_is_const(x, 0) ? y : x;
      return ct_is_const(x, 0) || ct_is_const(y, 0);
    case CT_INT_SUB:
      *out = ct_is_const(y, 0) ? x : ct_int(0);
      return ct_is_const(y, 0) || ct_int_equal(x, y);
    case CT_INT_MUL:
      if (ct_is_const(x, 0) || ct_is_const(y, 0)) {
        *out = ct_int(0);
        return true;
      }
      *out = ct_is_const(x, 1) ? y : x;
      return ct_is_const(x, 1) || ct_is_const(y, 1);
    case CT_INT_DIV:
    case CT_INT_MOD:
    case CT_INT_CEILDIV: return simplify_quotient(cx, op, x, y, out);
    case CT_INT_MIN:
      *out = ct_int_le(cx, x, y) == CT_KNOWN_YES ? x : y;
      return ct_int_le(cx, x, y) == CT_KNOWN_YES || ct_int_le(cx, y, x) == CT_KNOWN_YES;
    case CT_INT_MAX:
      *out = ct_int_le(cx, x, y) == CT_KNOWN_YES ? y : x;
      return ct_int_le(cx, x, y) == CT_KNOWN_YES || ct_int_le(cx, y, x) == CT_KNOWN_YES;
  }
  CT_UNREACHABLE();
}

/* For plain integers (no `_`, no basis). */
static CtInt plain_op(CtAlg *g, CtIntOp op, CtInt a, CtInt b) {
  CtInt r = ct_int(1);
  const CtDyn *dyn = g->cx.dyn;
  if (a.kind == CT_STATIC && b.kind == CT_STATIC) {
    return static_op(g, op, a.v, b.v);
  }
  if (ct_is_const(b, 0) && divides(op)) {
    al_fail(g, CT_EINVAL, "integer: a run-time value %s 0; the divisor must not be 0", op_text[op]);
    return r;
  }
  if (simplify(&g->cx, op, a, b, &r)) {
    return r;
  }
  if (dyn == NULL) {
    al_fail(g, CT_EINVAL, "integer: a run-time value outside a kernel; expected a number");
    return r;
  }
  if (op == CT_INT_CEILDIV && al_divides(g, b, a)) {
    op = CT_INT_DIV;
  }
  /* numbers go right */
  bool swap = (op == CT_INT_ADD || op == CT_INT_MUL || op == CT_INT_XOR) && ct_is_static(a);
  if (al_ok(g)) {
    g->status = dyn->binary(dyn->ud, op, swap ? b : a, swap ? a : b, &r, g->err);
  }
  return r;
}

static CtInt without_basis(CtInt a) {
  a.basis_depth = 0;
  memset(a.basis, 0, sizeof a.basis);
  return a;
}

/* Fails if the bases of the operands do not match. */
static void check_bases(CtAlg *g, CtIntOp op, CtInt a, CtInt b) {
  bool sum = op == CT_INT_ADD || op == CT_INT_SUB;
  if (sum && !ct_same_basis(a, b)) {
    al_fail(g, CT_EINVAL,
            "integer: sum of strides with different basis elements; it is a coordinate, not a "
            "number");
  }
  if (!sum && b.basis_depth > 0 && (op != CT_INT_MUL || a.basis_depth > 0)) {
    al_fail(g, CT_EINVAL,
            "integer: '%s' with a basis element; only scaling by a number has a meaning",
            op_text[op]);
  }
}

static CtInt basis_op(CtAlg *g, CtIntOp op, CtInt a, CtInt b) {
  CtInt basis = a.basis_depth > 0 ? a : b;
  if (op == CT_INT_ADD && (ct_is_const(a, 0) || ct_is_const(b, 0))) {
    return ct_is_const(a, 0) ? b : a;
  }
  check_bases(g, op, a, b);
  CtInt r = al_op(g, op, without_basis(a), without_basis(b));
  if (!ct_is_const(r, 0)) {
    r.basis_depth = basis.basis_depth;
    memcpy(r.basis, basis.basis, sizeof r.basis);
  }
  return r;
}

CtInt al_op(CtAlg *g, CtIntOp op, CtInt a, CtInt b) {
  if (al_are_numbers(a, b)) {
    return static_op(g, op, a.v, b.v);
  }
  if (!al_ok(g)) {
    return ct_int(1);
  }
  if (a.kind == CT_ANY || b.kind == CT_ANY) {
    al_fail(g, CT_EINVAL, "integer: '_' has no value; expected a number");
    return ct_int(1);
  }
  return a.basis_depth != 0 || b.basis_depth != 0 ? basis_op(g, op, a, b) : plain_op(g, op, a, b);
}

/* --- trees ----------------------------------------------------------------------------------- */

CtTuple ct_child(CtTuple t, int i) {
  if (ct_is_leaf(t)) {
    return t;
  }
  CtTuple c = ct_first(t);
  while (i-- > 0) {
    c = ct_next(c);
  }
  return c;
}

int ct_depth(CtTuple t) {
  int deepest = 0;
  if (ct_is_leaf(t)) {
    return 0;
  }
  for (CtTuple c = ct_first(t); c != ct_end(t); c = ct_next(c)) {
    int d = ct_depth(c);
    deepest = d > deepest ? d : deepest;
  }
  return deepest + 1;
}

int ct_n_leaves(CtTuple t) {
  int n = 0;
  for (CtLeaves w = ct_leaves_of(t); ct_next_leaf(&w);) {
    n++;
  }
  return n;
}

/* The kinds of a tuple's leaves, as bits. */
static unsigned kinds_of(CtTuple t) {
  unsigned kinds = 0;
  for (CtTuple p = t, end = t + t->len; p != end; p++) {
    kinds |= ct_is_leaf(p) ? 1U << p->i.kind : 0;
  }
  return kinds;
}

bool ct_all_static(CtTuple t) { return t == NULL || (kinds_of(t) & ~(1U << CT_STATIC)) == 0; }

bool ct_has_any(CtTuple t) { return (kinds_of(t) & 1U << CT_ANY) != 0; }

bool ct_has_names(CtTuple t) {
  for (CtTuple p = t; p != t + t->len; p++) {
    if (p->name != 0) {
      return true;
    }
  }
  return false;
}

/* For builders that need no context: a NULL result is the whole error. */
static CtAlg in_arena(CtArena *a) { return (CtAlg){.cx = {.arena = a}}; }

CtTuple ct_leaf(CtArena *a, CtInt i) {
  CtAlg g = in_arena(a);
  return al_leaf(&g, i);
}

CtTuple ct_tuple(CtArena *a, int n, const CtTuple *items) {
  CtBuild b;
  CtAlg g = in_arena(a);
  ct_build_init(&b, &g, "tuple", false);
  ct_build_open(&b);
  for (int i = 0; i < n; i++) {
    ct_build_copy(&b, items[i], NULL);
  }
  ct_build_close(&b);
  return ct_build_take(&b, 0);
}

CtTuple ct_tuple_ints(CtArena *a, int n, const CtInt *items) {
  CtAlg g = in_arena(a);
  return al_ints(&g, n, items);
}

CtTuple ct_tuple_copy(CtArena *a, CtTuple t) {
  CtAlg g = in_arena(a);
  return al_tuple_copy(&g, t);
}

CtTuple al_leaf(CtAlg *g, CtInt i) {
  CtNode *n = al_alloc(g, 1, sizeof *n);
  if (n != NULL) {
    *n = (CtNode){.rank = CT_LEAF, .len = 1, .i = i};
  }
  return n;
}

CtTuple al_ints(CtAlg *g, int n, const CtInt *items) {
  CtBuild b;
  ct_build_init(&b, g, "tuple", false);
  ct_build_open(&b);
  for (int i = 0; i < n; i++) {
    ct_build_int(&b, items[i]);
  }
  ct_build_close(&b);
  return ct_build_take(&b, 0);
}

CtTuple al_tuple_copy(CtAlg *g, CtTuple t) {
  CtNode *n = al_ok(g) ? al_alloc(g, t->len, sizeof *n) : NULL;
  return n == NULL ? NULL : memcpy(n, t, t->len * sizeof *n);
}

CtNode *al_nodes(CtAlg *g, CtTuple t) {
  CtNode *nodes = al_ok(g) ? al_alloc(g, t->len, sizeof *nodes) : NULL;
  for (uint32_t i = 0; nodes != NULL && i < t->len; i++) {
    nodes[i] = t[i];
    nodes[i].name = 0;
  }
  return nodes;
}

bool ct_tuple_equal(CtTuple a, CtTuple b) {
  if (!ct_congruent(a, b)) {
    return false;
  }
  for (uint32_t i = 0; i < a->len; i++) {
    if (ct_is_leaf(&a[i]) && !ct_int_equal(a[i].i, b[i].i)) {
      return false;
    }
  }
  return true;
}

bool ct_congruent(CtTuple a, CtTuple b) {
  if (a->len != b->len) {
    return false;
  }
  for (uint32_t i = 0; i < a->len; i++) {
    if (a[i].rank != b[i].rank) { /* two trees are equal if their ranks in preorder are */
      return false;
    }
  }
  return true;
}

CtInt al_product(CtAlg *g, CtTuple t) {
  CtInt r = ct_int(1);
  for (CtLeaves w = ct_leaves_of(t); ct_next_leaf(&w);) {
    r = al_mul(g, r, w.shape->i);
  }
  return r;
}

/* --- text ------------------------------------------------------------------------------------ */

void ct_int_print(const CtCx *cx, CtInt i, CtText *out) {
  switch ((CtIntKind)i.kind) {
    case CT_STATIC: ct_text_printf(out, "%" PRId64, i.v); break;
    case CT_ANY: ct_text_putc(out, '_'); break;
    case CT_DYNAMIC:
      if (cx != NULL && cx->dyn != NULL) {
        cx->dyn->print(cx->dyn->ud, without_basis(i), out);
      } else {
        ct_text_putc(out, '?');
      }
      break;
  }
  for (int k = i.basis_depth; k > 0; k--) {
    ct_text_printf(out, "@%d", i.basis[k - 1]);
  }
}

static void print_node(const CtCx *cx, CtTuple t, CtModeName around, CtText *out) {
  if (t->name != around) {
    ct_mode_name_print(t->name, out);
    ct_text_putc(out, '=');
  }
  if (ct_is_leaf(t)) {
    ct_int_print(cx, t->i, out);
    return;
  }
  ct_text_putc(out, '(');
  for (CtTuple c = ct_first(t); c != ct_end(t); c = ct_next(c)) {
    if (c != ct_first(t)) {
      ct_text_putc(out, ',');
    }
    print_node(cx, c, t->name, out);
  }
  ct_text_putc(out, ')');
}

void ct_tuple_print(const CtCx *cx, CtTuple t, CtText *out) { print_node(cx, t, 0, out); }
