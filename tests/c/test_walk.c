/* test_walk.c: walking over the elements of a layout, against evaluation element by element. */
#include "runtime/layout/walk.h"

#include "tap.h"

static CtArena arena;

static CtLayout parse(const char *text) {
  CtLayout l;
  CtErr err;
  if (ct_layout_parse(&arena, text, strlen(text), &l, &err) != CT_OK) {
    printf("Bail out! %s: %s\n", text, err.msg);
    exit(1);
  }
  return l;
}

/* What a walk gathers of an array whose elements are their indices: those of the linear coordinates. */
static bool same_as_evaluation(CtLayout l, const CtWalk *start) {
  enum { MAX = 4096 };
  static int64_t array[MAX], got[MAX];
  CtCx cx = {&arena, NULL};
  CtWalk w = *start;
  CtErr err;
  int64_t lo = 0, hi = -1;
  if (w.size > MAX || w.hi - w.lo >= MAX) {
    return false;
  }
  for (int64_t i = w.lo; i <= w.hi; i++) {
    array[i - w.lo] = i;
  }
  ct_walk_gather(&w, sizeof *array, array - w.lo, got);
  bool same = true;
  for (int64_t i = 0; i < start->size; i++) {
    CtInt want;
    CtTuple crd = ct_leaf(&arena, ct_int(i));
    same = same && ct_crd2idx(&cx, crd, l, &want, &err) == CT_OK && got[i] == want.v;
    lo = i == 0 || got[i] < lo ? got[i] : lo;
    hi = i == 0 || got[i] > hi ? got[i] : hi;
  }
  return same && lo == start->lo && hi == start->hi;
}

static void test_orders(void) {
  static const struct {
    const char *layout;
    int64_t n;
    int n_outer;
    bool dense;
  } rows[] = {
      {"8:1", 8, 0, true},
      {"8:2", 8, 0, false},
      {"1:0", 1, 0, true},
      {"(4,8):(1,4)", 32, 0, true},
      {"(4,8):(8,1)", 4, 1, false},
      {"(4,8):(1,5)", 4, 1, false},
      {"(4,(2,3)):(1,(4,8))", 24, 0, true},
      {"(4,(2,3)):(6,(3,1))", 4, 2, false},
      {"((2,2),(1,3),4):((1,2),(0,4),12)", 48, 0, true},
      {"(4,8):(0,1)", 4, 1, false},
      {"(4,8):(-1,4)", 4, 1, false},
      {"(4,8):(-8,-1)", 4, 1, false},
      {"(0,8):(1,0)", 1, 0, true},
      {"(3,2,5,2):(20,2,4,1)", 3, 2, false},
  };
  for (size_t i = 0; i < CT_ARRAY_LEN(rows); i++) {
    CtLayout l = parse(rows[i].layout);
    CtWalk w;
    CtErr err;
    OK(ct_walk_init(&w, &arena, l, &err) == CT_OK, "%s", rows[i].layout);
    OK(same_as_evaluation(l, &w), "%s: the indices", rows[i].layout);
    IS_INT(ct_walk_is_dense(&w), rows[i].dense, "%s: dense", rows[i].layout);
    if (w.size > 0) {
      IS_INT(w.n, rows[i].n, "%s: elements of a run", rows[i].layout);
      IS_INT(w.n_outer, rows[i].n_outer, "%s: outer modes", rows[i].layout);
    }
  }
}

static void test_copies(size_t bytes) {
  CtLayout l = parse("(3,(2,2)):(5,(20,1))");
  char memory[64 * 16], dense[12 * 16], back[64 * 16];
  CtWalk w;
  CtErr err;
  for (size_t i = 0; i < sizeof memory; i++) {
    memory[i] = (char)(i * 7);
  }
  memset(back, 0, sizeof back);
  OK(ct_walk_init(&w, &arena, l, &err) == CT_OK, "walk");
  ct_walk_gather(&w, bytes, memory, dense);
  OK(memcmp(dense + bytes, memory + 5 * bytes, bytes) == 0, "(1,0) of %zu bytes", bytes);
  OK(memcmp(dense + 6 * bytes, memory + 1 * bytes, bytes) == 0, "(0,(0,1)) of %zu bytes", bytes);
  OK(ct_walk_init(&w, &arena, l, &err) == CT_OK, "walk");
  ct_walk_scatter(&w, bytes, back, dense);
  OK(memcmp(back + 31 * bytes, memory + 31 * bytes, bytes) == 0, "(2,(1,1)) is back");
  OK(back[2 * bytes] == 0, "what lies between stays");
}

static const char *refusal(const char *text) {
  static CtErr err;
  int64_t lo, hi, size;
  return ct_walk_bounds(parse(text), &lo, &hi, &size, &err) == CT_OK ? "" : err.msg;
}

int main(void) {
  ct_arena_init(&arena, ct_alloc_std);
  test_orders();
  test_copies(1);
  test_copies(4);
  test_copies(8);
  test_copies(16);
  IS_STR(refusal("(4,8):(1@0,1@1)"), "the layout's extents and strides are not all plain numbers",
         "coordinates as strides");
  IS_STR(refusal("(4,4611686018427387904):(1,4)"), "the layout has more than 2^63 elements",
         "too many elements");
  IS_STR(refusal("(4,4):(4611686018427387904,1)"), "the layout's indices do not fit 64 bits",
         "indices too large");
  ct_arena_clear(&arena);
  return done_testing();
}
