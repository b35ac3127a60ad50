/* test_inttuple.c: integers and tuples: arithmetic with overflow, simplification of run-time values
   by facts, text and its errors, limits. */
#include "runtime/layout/inttuple.h"

#include "symbolic.h"
#include "tap.h"

static CtArena arena;
static CtErr err;

static const char *round_trip(const char *s) {
  static char text[4096];
  CtTuple t;
  CtText out;
  if (ct_tuple_parse(&arena, s, strlen(s), &t, &err) != CT_OK) {
    return err.msg;
  }
  ct_text_init(&out, ct_alloc_std);
  ct_tuple_print(NULL, t, &out);
  snprintf(text, sizeof text, "%s", ct_text_str(&out));
  ct_text_clear(&out);
  return text;
}

static CtTuple tuple(const char *s) {
  CtTuple t = NULL;
  if (ct_tuple_parse(&arena, s, strlen(s), &t, &err) != CT_OK) {
    abort();
  }
  return t;
}

static void test_text(void) {
  IS_STR(round_trip("(4,(2,3))"), "(4,(2,3))", "nested");
  IS_STR(round_trip(" ( 4 , ( 2,3 ) ) "), "(4,(2,3))", "spaces");
  IS_STR(round_trip("-7"), "-7", "negative");
  IS_STR(round_trip("(_,1,_)"), "(_,1,_)", "wildcards");
  IS_STR(round_trip("(4)"), "(4)", "a tuple of one is kept");
  IS_STR(round_trip("()"), "()", "the empty tuple");
  IS_STR(round_trip("(1@0,2@1@0)"), "(1@0,2@1@0)", "basis elements");
  IS_STR(round_trip("9223372036854775807"), "9223372036854775807", "the largest number");
  IS_STR(round_trip("-9223372036854775808"), "-9223372036854775808", "the smallest number");
  CtTuple e = tuple("2@1@0");
  OK(e != NULL && e->i.basis_depth == 2 && e->i.basis[0] == 0 && e->i.basis[1] == 1,
     "2@1@0 is 2 * E(0,1)");
}

static void test_text_errors(void) {
  IS_STR(round_trip("(4,(2,3"), "tuple: expected ')' at column 7 of '(4,(2,3'", "not closed");
  IS_STR(round_trip(""), "tuple: expected a number at column 0 of ''", "empty");
  IS_STR(round_trip("(4,)"), "tuple: expected a number at column 3 of '(4,)'", "missing item");
  IS_STR(round_trip("(4,2)x"), "tuple: unexpected text at column 5 of '(4,2)x'", "trailing");
  IS_STR(round_trip("(4;2)"), "tuple: expected ')' at column 2 of '(4;2)'", "wrong separator");
  IS_STR(round_trip("4\n2"), "tuple: unexpected text at column 1 of '4?2'", "control bytes");
  IS_STR(round_trip("9223372036854775808"),
         "tuple: number beyond 64 bits at column 0 of '9223372036854775808'", "too large");
  IS_STR(round_trip("1@256"), "tuple: mode number out of range at column 2 of '1@256'", "basis");
  char deep[200];
  memset(deep, '(', sizeof deep);
  deep[CT_MAX_DEPTH] = '4';
  memset(deep + CT_MAX_DEPTH + 1, ')', CT_MAX_DEPTH);
  deep[2 * CT_MAX_DEPTH + 1] = '\0';
  IS_STR(round_trip(deep), deep, "the deepest nesting");
  memset(deep, '(', 100);
  deep[100] = '\0';
  HAS_STR(round_trip(deep), "tuple: nesting too deep at column 32 of '((((", "one level more");
}

static void test_limits(void) {
  CtTuple t = tuple("1");
  for (int i = 0; i < CT_MAX_DEPTH; i++) {
    t = t == NULL ? NULL : ct_tuple(&arena, 1, &t);
  }
  IS_INT(t == NULL ? -1 : ct_depth(t), CT_MAX_DEPTH, "building up to the depth limit");
  OK(t != NULL && ct_tuple(&arena, 1, &t) == NULL, "and no further");
  static CtInt many[CT_MAX_NODES];
  OK(ct_tuple_ints(&arena, CT_MAX_NODES - 1, many) != NULL, "as many nodes as are allowed");
  OK(ct_tuple_ints(&arena, CT_MAX_NODES, many) == NULL, "and no more");
}

static void test_trees(void) {
  CtTuple t = tuple("((1,2),3,(4,(5)))");
  IS_INT(ct_rank(t), 3, "rank");
  IS_INT(ct_depth(t), 3, "depth");
  IS_INT(ct_n_leaves(t), 5, "leaves");
  IS_INT(ct_child(t, 1)->i.v, 3, "child");
  IS_INT(ct_rank(ct_child(t, 2)), 2, "child tuple");
  OK(ct_congruent(t, tuple("((0,0),0,(0,(0)))")), "congruent");
  OK(!ct_congruent(t, tuple("((0,0),0,(0,0))")), "(5) is not 5");
  OK(!ct_tuple_equal(t, tuple("((1,2),3,(4,(6)))")), "different numbers");
  OK(ct_has_any(tuple("(1,(_,2))")) && !ct_all_static(tuple("(1,(_,2))")), "wildcard found");
}

static CtStatus op(const CtCx *cx, CtIntOp o, CtInt a, CtInt b, CtInt *r) {
  return ct_int_op(cx, o, a, b, r, &err);
}

static void test_static_arithmetic(void) {
  CtCx cx = {&arena, NULL};
  CtInt r = ct_int(0), any = ct_any(), e0 = tuple("2@0")->i, e1 = tuple("3@1")->i;
  OK(op(&cx, CT_INT_CEILDIV, ct_int(7), ct_int(2), &r) == CT_OK && r.v == 4, "ceiling");
  OK(op(&cx, CT_INT_MIN, ct_int(7), ct_int(2), &r) == CT_OK && r.v == 2, "minimum");
  IS_INT(op(&cx, CT_INT_MUL, ct_int(INT64_MAX), ct_int(2), &r), CT_EOVERFLOW, "product too large");
  IS_STR(err.msg, "integer: 9223372036854775807 * 2 does not fit in 64 bits", "and its message");
  IS_INT(op(&cx, CT_INT_DIV, ct_int(INT64_MIN), ct_int(-1), &r), CT_EOVERFLOW,
         "quotient too large");
  IS_INT(op(&cx, CT_INT_MOD, ct_int(7), ct_int(0), &r), CT_EINVAL, "remainder by 0");
  IS_STR(err.msg, "integer: 7 % 0; the divisor must not be 0", "and its message");
  IS_INT(op(&cx, CT_INT_ADD, any, ct_int(1), &r), CT_EINVAL, "'_' has no value");
  OK(op(&cx, CT_INT_MUL, e0, ct_int(4), &r) == CT_OK && r.v == 8 && r.basis_depth == 1,
     "a basis element is scaled");
  OK(op(&cx, CT_INT_ADD, e0, e0, &r) == CT_OK && r.v == 4, "and added to itself");
  IS_INT(op(&cx, CT_INT_ADD, e0, e1, &r), CT_EINVAL, "but not to another");
  IS_INT(op(&cx, CT_INT_MUL, e0, e1, &r), CT_EINVAL, "nor multiplied");
}

__extension__ typedef __int128 Wide;

/* a / b rounded up, exactly. */
static Wide rounded_up(Wide a, Wide b) { return a / b + (a % b != 0 && (a < 0) == (b < 0)); }

/* Of all signs, up to the ends of what fits. */
static void test_ceilings(void) {
  static const int64_t edges[] = {
      INT64_MIN, INT64_MIN + 1, INT64_MIN / 2, -9,       -8, -7, -2, -1, 0, 1, 2, 7, 8,
      9,         INT64_MAX / 2, INT64_MAX - 1, INT64_MAX};
  CtCx cx = {&arena, NULL};
  int n_wrong = 0;
  for (size_t i = 0; i < CT_ARRAY_LEN(edges); i++) {
    for (size_t j = 0; j < CT_ARRAY_LEN(edges); j++) {
      int64_t a = edges[i], b = edges[j];
      CtInt r;
      CtStatus want = b == 0                                    ? CT_EINVAL
                      : rounded_up(a, b) == INT64_MAX + (Wide)1 ? CT_EOVERFLOW
                                                                : CT_OK;
      CtStatus got = op(&cx, CT_INT_CEILDIV, ct_int(a), ct_int(b), &r);
      n_wrong += got != want || (got == CT_OK && r.v != rounded_up(a, b));
    }
  }
  IS_INT(n_wrong, 0, "ceilings are exact, or refused");
}

/* The formula of a op b, or the error. */
static const char *formula(const CtCx *cx, CtIntOp o, CtInt a, CtInt b) {
  static char text[256];
  CtInt r;
  CtText out;
  if (op(cx, o, a, b, &r) != CT_OK) {
    return err.msg;
  }
  ct_text_init(&out, ct_alloc_std);
  ct_int_print(cx, r, &out);
  snprintf(text, sizeof text, "%s", ct_text_str(&out));
  ct_text_clear(&out);
  return text;
}

static void test_dynamic_arithmetic(void) {
  Sym sym;
  CtDyn dyn = sym_open(&sym);
  CtCx cx = {&arena, &dyn};
  CtInt M = sym_var(&sym, "M", 256, (CtFacts){128, 4096, 128});
  CtInt n = sym_var(&sym, "n", 5, (CtFacts){0, 7, 1});
  IS_STR(formula(&cx, CT_INT_MUL, ct_int(1), M), "M", "1 * M");
  IS_STR(formula(&cx, CT_INT_MUL, M, ct_int(0)), "0", "M * 0");
  IS_STR(formula(&cx, CT_INT_ADD, ct_int(0), M), "M", "0 + M");
  IS_STR(formula(&cx, CT_INT_MUL, ct_int(4), M), "M*4", "numbers go right");
  IS_STR(formula(&cx, CT_INT_CEILDIV, M, ct_int(64)), "M/64", "an exact ceiling is a quotient");
  IS_STR(formula(&cx, CT_INT_CEILDIV, M, ct_int(96)), "M/^96", "an inexact one is not");
  IS_STR(formula(&cx, CT_INT_MOD, M, ct_int(64)), "0", "a known remainder");
  IS_STR(formula(&cx, CT_INT_MOD, n, ct_int(8)), "n", "a remainder in range");
  IS_STR(formula(&cx, CT_INT_MOD, n, ct_int(7)), "n%7", "one that may be out of range");
  IS_STR(formula(&cx, CT_INT_DIV, n, ct_int(8)), "0", "a quotient in range");
  IS_STR(formula(&cx, CT_INT_DIV, M, M), "1", "M / M");
  IS_STR(formula(&cx, CT_INT_SUB, M, M), "0", "M - M");
  IS_STR(formula(&cx, CT_INT_MIN, n, M), "n", "a known minimum");
  IS_STR(formula(&cx, CT_INT_MAX, n, ct_int(3)), "n max 3", "an unknown maximum");
  IS_STR(formula(&cx, CT_INT_DIV, n, ct_int(0)),
         "integer: a run-time value / 0; the divisor must not be 0", "division by 0");
  IS_STR(formula(&(CtCx){&arena, NULL}, CT_INT_ADD, n, n),
         "integer: a run-time value outside a kernel; expected a number", "no kernel");
  IS_INT(ct_int_divides(&cx, ct_int(32), M), CT_KNOWN_YES, "32 divides M");
  IS_INT(ct_int_divides(&cx, ct_int(96), M), CT_KNOWN_MAYBE, "96 may divide M");
  IS_INT(ct_int_le(&cx, n, M), CT_KNOWN_YES, "n <= M");
  IS_INT(ct_int_le(&cx, M, n), CT_KNOWN_NO, "M > n");
  IS_INT(ct_int_le(&cx, n, ct_int(6)), CT_KNOWN_MAYBE, "n <= 6 is open");
  sym_close(&sym);
}

int main(void) {
  ct_arena_init(&arena, ct_alloc_std);
  test_text();
  test_text_errors();
  test_limits();
  test_ceilings();
  test_trees();
  test_static_arithmetic();
  test_dynamic_arithmetic();
  ct_arena_clear(&arena);
  return done_testing();
}
