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

static bool same_basis(CtInt a, CtInt b) {
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
  return same && (same_basis(a, b) || ct_is_const((CtInt){.v = a.v, .kind = a.kind}, 0));
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

/* CT_EOVERFLOW also stands for a division by zero; the caller words both. */
static CtStatus fold(CtIntOp op, int64_t a, int64_t b, int64_t *r) {
  bool bad = false;
  switch (op) {
    case CT_INT_ADD: bad = ct_add_overflow(a, b, r); break;
    case CT_INT_SUB: bad = ct_sub_overflow(a, b, r); break;
    case CT_INT_MUL: bad = ct_mul_overflow(a, b, r); break;
    case CT_INT_DIV: bad = b == 0 || (b == -1 && a == INT64_MIN) || (*r = a / b, false); break;
    case CT_INT_MOD: bad = b == 0 || (*r = b == -1 ? 0 : a % b, false); break;
    case CT_INT_CEILDIV:
      bad = b == 0 || (b == -1 && a == INT64_MIN) || (*r = a / b + (a % b != 0), false);
      break;
    case CT_INT_MIN: *r = ct_min(a, b); break;
    case CT_INT_MAX: *r = ct_max(a, b); break;
    case CT_INT_XOR: *r = (int64_t)((uint64_t)a ^ (uint64_t)b); break;
  }
  return bad ? CT_EOVERFLOW : CT_OK;
}

static CtStatus fail_fold(CtIntOp op, int64_t a, int64_t b, CtErr *err) {
  if (b == 0 && op >= CT_INT_DIV && op <= CT_INT_CEILDIV) {
    return ct_fail(err, CT_EINVAL, "integer: %" PRId64 " %s 0; the divisor must not be 0", a,
                   op_text[op]);
  }
  return ct_fail(err, CT_EOVERFLOW, "integer: %" PRId64 " %s %" PRId64 " does not fit in 64 bits",
                 a, op_text[op], b);
}

/* x op y, for plain x and y of which one is dynamic, where it is x, y or a number. The quotients
   need the sign of their operands, which the facts must show. */
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

static CtStatus static_op(CtIntOp op, int64_t a, int64_t b, CtInt *out, CtErr *err) {
  int64_t r = 0;
  if (fold(op, a, b, &r) != CT_OK) {
    return fail_fold(op, a, b, err);
  }
  *out = ct_int(r);
  return CT_OK;
}

/* On plain integers (no `_`, no basis). */
static CtStatus plain_op(const CtCx *cx, CtIntOp op, CtInt a, CtInt b, CtInt *out, CtErr *err) {
  if (a.kind == CT_STATIC && b.kind == CT_STATIC) {
    return static_op(op, a.v, b.v, out, err);
  }
  if (ct_is_const(b, 0) && op >= CT_INT_DIV && op <= CT_INT_CEILDIV) {
    return ct_fail(err, CT_EINVAL, "integer: a run-time value %s 0; the divisor must not be 0",
                   op_text[op]);
  }
  if (simplify(cx, op, a, b, out)) {
    return CT_OK;
  }
  if (cx->dyn == NULL) {
    return ct_fail(err, CT_EINVAL, "integer: a run-time value outside a kernel; expected a number");
  }
  if (op == CT_INT_CEILDIV && ct_int_divides(cx, b, a) == CT_KNOWN_YES) {
    op = CT_INT_DIV;
  }
  bool swap = (op == CT_INT_ADD || op == CT_INT_MUL || op == CT_INT_XOR) &&
              ct_is_static(a); /* numbers go right */
  return cx->dyn->binary(cx->dyn->ud, op, swap ? b : a, swap ? a : b, out, err);
}

static CtInt without_basis(CtInt a) {
  a.basis_depth = 0;
  memset(a.basis, 0, sizeof a.basis);
  return a;
}

/* The basis of the result, or a failure when the operands' bases do not go together. */
static CtStatus join_basis(CtIntOp op, CtInt a, CtInt b, CtInt *basis, CtErr *err) {
  bool sum = op == CT_INT_ADD || op == CT_INT_SUB;
  *basis = a.basis_depth > 0 ? a : b;
  if (sum ? same_basis(a, b) : b.basis_depth == 0 || (op == CT_INT_MUL && a.basis_depth == 0)) {
    return CT_OK;
  }
  return ct_fail(err, CT_EINVAL,
                 sum ? "integer: sum of strides with different basis elements; it is a coordinate, "
                       "not a number"
                     : "integer: '%s' with a basis element; only scaling by a number has a meaning",
                 op_text[op]);
}

static CtStatus basis_op(const CtCx *cx, CtIntOp op, CtInt a, CtInt b, CtInt *out, CtErr *err) {
  CtInt basis, r;
  if (op == CT_INT_ADD && (ct_is_const(a, 0) || ct_is_const(b, 0))) {
    *out = ct_is_const(a, 0) ? b : a;
    return CT_OK;
  }
  CtStatus st = join_basis(op, a, b, &basis, err);
  if (st == CT_OK) {
    st = plain_op(cx, op, without_basis(a), without_basis(b), &r, err);
  }
  if (st == CT_OK) {
    if (!ct_is_const(r, 0)) {
      r.basis_depth = basis.basis_depth;
      memcpy(r.basis, basis.basis, sizeof r.basis);
    }
    *out = r;
  }
  return st;
}

CtStatus ct_int_op(const CtCx *cx, CtIntOp op, CtInt a, CtInt b, CtInt *out, CtErr *err) {
  if ((a.kind | b.kind | a.basis_depth | b.basis_depth) == CT_STATIC) { /* most calls */
    return static_op(op, a.v, b.v, out, err);
  }
  if (a.kind == CT_ANY || b.kind == CT_ANY) {
    return ct_fail(err, CT_EINVAL, "integer: '_' has no value; expected a number");
  }
  if (a.basis_depth != 0 || b.basis_depth != 0) {
    return basis_op(cx, op, a, b, out, err);
  }
  return plain_op(cx, op, a, b, out, err);
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
  for (CtTuple p = t; p != t + t->len; p++) {
    n += ct_is_leaf(p);
  }
  return n;
}

static bool some_leaf(CtTuple t, CtIntKind kind) {
  for (CtTuple p = t; p != t + t->len; p++) {
    if (ct_is_leaf(p) && p->i.kind == kind) {
      return true;
    }
  }
  return false;
}

bool ct_all_static(CtTuple t) { return !some_leaf(t, CT_DYNAMIC) && !some_leaf(t, CT_ANY); }

bool ct_has_any(CtTuple t) { return some_leaf(t, CT_ANY); }

bool ct_has_names(CtTuple t) {
  for (CtTuple p = t; p != t + t->len; p++) {
    if (p->name != 0) {
      return true;
    }
  }
  return false;
}

CtTuple ct_leaf(CtArena *a, CtInt i) {
  CtNode *n = ct_arena_alloc(a, sizeof *n);
  if (n != NULL) {
    *n = (CtNode){.rank = CT_LEAF, .len = 1, .i = i};
  }
  return n;
}

CtTuple ct_tuple(CtArena *a, int n, const CtTuple *items) {
  CtTuple t = NULL;
  CtBuild b;
  ct_build_init(&b, a, "tuple", false, NULL);
  ct_build_open(&b);
  for (int i = 0; i < n; i++) {
    ct_build_copy(&b, items[i], NULL);
  }
  ct_build_close(&b);
  return ct_build_finish(&b, &t, NULL) == CT_OK ? t : NULL;
}

CtTuple ct_tuple_ints(CtArena *a, int n, const CtInt *items) {
  CtTuple t = NULL;
  CtBuild b;
  ct_build_init(&b, a, "tuple", false, NULL);
  ct_build_open(&b);
  for (int i = 0; i < n; i++) {
    ct_build_leaf(&b, items[i], ct_int(0));
  }
  ct_build_close(&b);
  return ct_build_finish(&b, &t, NULL) == CT_OK ? t : NULL;
}

CtTuple ct_tuple_copy(CtArena *a, CtTuple t) {
  CtNode *n = ct_arena_alloc(a, t->len * sizeof *n);
  return n == NULL ? NULL : memcpy(n, t, t->len * sizeof *n);
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
    if (a[i].rank != b[i].rank) { /* equal ranks in preorder: equal trees */
      return false;
    }
  }
  return true;
}

CtStatus ct_product(const CtCx *cx, CtTuple t, CtInt *out, CtErr *err) {
  CtInt r = ct_int(1);
  for (CtTuple p = t; p != t + t->len; p++) {
    if (ct_is_leaf(p)) {
      CtStatus st = ct_int_op(cx, CT_INT_MUL, r, p->i, &r, err);
      if (st != CT_OK) {
        return st;
      }
    }
  }
  *out = r;
  return CT_OK;
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

static CtStatus parse_all(CtParse *p, CtTuple *out) {
  CtTuple t;
  CtStatus st = ct_parse_tuple(p, &t);
  if (st == CT_OK) {
    st = ct_parse_end(p);
  }
  if (st == CT_OK) {
    *out = t;
  }
  return st;
}

CtStatus ct_tuple_parse(CtArena *a, const char *s, size_t len, CtTuple *out, CtErr *err) {
  CtParse p;
  ct_parse_init(&p, a, "tuple", s, len, err);
  p.unnamed = "only the modes of a shape have names; unexpected name";
  return parse_all(&p, out);
}

CtStatus ct_shape_parse(CtArena *a, const char *s, size_t len, CtTuple *out, CtErr *err) {
  CtParse p;
  ct_parse_init(&p, a, "shape", s, len, err);
  return parse_all(&p, out);
}
