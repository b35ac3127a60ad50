/* test_layout.c: layouts text in, text out: the published examples, evaluation, the whole message of
   each kind of error, and running out of memory at every request. Conformance, laws and run-time
   integers have programs of their own. */
#include "runtime/layout/layout.h"

#include <stdlib.h>

#include "tap.h"

static CtArena arena;
static CtCx cx = {&arena, NULL};
static CtErr err;

/* --- text to values and back -------------------------------------------------------------------- */

static CtLayout layout(const char *s) {
  CtLayout l = {NULL, NULL};
  if (ct_layout_parse(&arena, s, strlen(s), &l, &err) != CT_OK) {
    tap_diag("%s", err.msg);
    abort();
  }
  return l;
}

static CtTuple tuple(const char *s) {
  CtTuple t = NULL;
  if (ct_tuple_parse(&arena, s, strlen(s), &t, &err) != CT_OK) {
    tap_diag("%s", err.msg);
    abort();
  }
  return t;
}

static CtTiler tiler(const char *s) {
  CtTiler t;
  if (ct_tiler_parse(&arena, s, strlen(s), &t, &err) != CT_OK) {
    tap_diag("%s", err.msg);
    abort();
  }
  return t;
}

static const char *keep(CtText *t) {
  const char *s = ct_arena_strdup(&arena, ct_text_str(t), t->len);
  ct_text_clear(t);
  return s;
}

static const char *show(CtStatus st, CtLayout l) {
  CtText t;
  if (st != CT_OK) {
    return err.msg;
  }
  ct_text_init(&t, ct_alloc_std);
  ct_layout_print(&cx, l, &t);
  return keep(&t);
}

static const char *show_at(CtStatus st, CtLayout l, CtInt offset) {
  CtText t;
  if (st != CT_OK) {
    return err.msg;
  }
  ct_text_init(&t, ct_alloc_std);
  ct_layout_print(&cx, l, &t);
  ct_text_printf(&t, " + %lld", (long long)offset.v);
  return keep(&t);
}

/* A function that gives the text of a layout that `call` makes in l. */
#define TEXT_OF(name, params, call)                                                                \
  static const char *name params {                                                                 \
    CtLayout l = {NULL, NULL};                                                                     \
    CtStatus st = call;                                                                            \
    return show(st, l);                                                                            \
  }

TEXT_OF(parsed, (const char *s), ct_layout_parse(&arena, s, strlen(s), &l, &err))
TEXT_OF(coalesce, (const char *a), ct_coalesce(&cx, layout(a), NULL, &l, &err))
TEXT_OF(compose, (const char *a, const char *b), ct_composition(&cx, layout(a), tiler(b), &l, &err))
TEXT_OF(complement, (const char *a, const char *n),
        ct_complement(&cx, layout(a), tuple(n), &l, &err))
TEXT_OF(right_inverse, (const char *a), ct_right_inverse(&cx, layout(a), &l, &err))
TEXT_OF(left_inverse, (const char *a), ct_left_inverse(&cx, layout(a), &l, &err))
TEXT_OF(divide, (const char *a, const char *b),
        ct_logical_divide(&cx, layout(a), tiler(b), &l, &err))
TEXT_OF(zipped, (const char *a, const char *b),
        ct_zipped_divide(&cx, layout(a), tiler(b), &l, &err))
TEXT_OF(product, (const char *a, const char *b),
        ct_logical_product(&cx, layout(a), tiler(b), &l, &err))
TEXT_OF(blocked, (const char *a, const char *b),
        ct_blocked_product(&cx, layout(a), layout(b), &l, &err))

static const char *slice(const char *a, const char *crd) {
  CtLayout l = {NULL, NULL};
  CtInt at = ct_int(0);
  CtStatus st = ct_slice(&cx, tuple(crd), layout(a), &l, &at, &err);
  return show_at(st, l, at);
}

static const char *tile(const char *a, const char *t, const char *crd, const char *proj) {
  CtLayout l = {NULL, NULL};
  CtInt at = ct_int(0);
  CtStatus st = ct_tile(&cx, layout(a), tiler(t), tuple(crd), proj == NULL ? NULL : tuple(proj), &l,
                        &at, &err);
  return show_at(st, l, at);
}

static const char *parallelize(const char *a, const char *thr, int64_t idx, const char *proj) {
  CtLayout l = {NULL, NULL};
  CtInt at = ct_int(0);
  CtStatus st = ct_parallelize(&cx, layout(a), layout(thr), ct_int(idx),
                               proj == NULL ? NULL : tuple(proj), &l, &at, &err);
  return show_at(st, l, at);
}

static const char *retiler(const char *s) {
  CtTiler t;
  CtText text;
  if (ct_tiler_parse(&arena, s, strlen(s), &t, &err) != CT_OK) {
    return err.msg;
  }
  ct_text_init(&text, ct_alloc_std);
  ct_tiler_print(&cx, t, &text);
  return keep(&text);
}

/* --- examples ----------------------------------------------------------------------------------- */

static void test_text(void) {
  IS_STR(parsed("(4,8):(8,1)"), "(4,8):(8,1)", "a layout");
  IS_STR(parsed("(4,(2,3))"), "(4,(2,3)):(1,(4,8))", "a shape alone is column-major");
  IS_STR(parsed("8"), "8:1", "an integer");
  IS_STR(parsed("(4,2):(-1,4)"), "(4,2):(-1,4)", "negative strides");
  IS_STR(parsed("(4,8):(1@0,1@1)"), "(4,8):(1@0,1@1)", "coordinate-valued strides");
  IS_STR(retiler("<3:4,(2,4):(1,8),_,5>"), "<3:4,(2,4):(1,8),_,5>", "a tiler");
  IS_STR(retiler("(3,(_,8))"), "(3,(_,8))", "a tiler of sizes");
  IS_STR(retiler("<3,<4,5>>"), "(3,(4,5))", "prints as sizes where it can");
  IS_STR(retiler("8:1"), "8:1", "a layout tiler");
}

static void test_text_errors(void) {
  IS_STR(parsed("(4,(2,3"), "layout: expected ')' at column 7 of '(4,(2,3'", "not closed");
  IS_STR(parsed("(4,2):"), "layout: expected a number at column 6 of '(4,2):'", "no stride");
  IS_STR(parsed("(4,2):(1,2):3"), "layout: unexpected text at column 11 of '(4,2):(1,2):3'",
         "two colons");
  IS_STR(parsed("(4,2):1"),
         "layout: stride 1 is not nested like shape (4,2); write one stride per extent",
         "an integer stride under a tuple");
  IS_STR(parsed("(4,-2)"), "layout: extent -2 in shape (4,-2) is negative; extents must be >= 0",
         "a negative extent");
  IS_STR(parsed("(4,_):(1,4)"), "layout: extent _ in shape (4,_); expected a number",
         "a wildcard extent");
  IS_STR(parsed("(4,2):(1,_)"), "layout: stride (1,_) has a '_'; expected numbers",
         "a wildcard stride");
  IS_STR(parsed("(4611686018427387904,4,4)"),
         "integer: 4611686018427387904 * 4 does not fit in 64 bits", "overflow");
  IS_STR(retiler("<3,"), "tiler: expected a number at column 3 of '<3,'", "a broken tiler");
  IS_STR(retiler("(3,-4)"), "tiler: -4 is not a tile size; expected a number >= 0",
         "a negative tile size");
}

static void test_examples(void) {
  IS_STR(coalesce("(2,(1,6)):(1,(6,2))"), "12:1", "coalesce");
  IS_STR(compose("(20,2):(16,4)", "(4,5):(1,4)"), "(4,5):(16,64)", "composition");
  IS_STR(compose("(6,2):(8,2)", "(4,3):(3,1)"), "((2,2),3):((24,2),8)", "composition that splits");
  IS_STR(compose("(12,(4,8)):(59,(13,1))", "<3:4,8:2>"), "(3,(2,4)):(236,(26,1))", "by mode");
  IS_STR(complement("4:1", "24"), "6:4", "complement");
  IS_STR(complement("(2,2):(1,6)", "24"), "(3,2):(2,12)", "complement with a gap");
  IS_STR(right_inverse("(4,8):(8,1)"), "(8,4):(4,1)", "right inverse");
  IS_STR(left_inverse("8:2"), "(2,8):(0,1)", "left inverse");
  IS_STR(divide("(4,2,3):(2,1,8)", "4:2"), "((2,2),(2,3)):((4,1),(2,8))", "logical divide");
  IS_STR(zipped("(9,(4,8)):(59,(13,1))", "<3:3,(2,4):(1,8)>"),
         "((3,(2,4)),(3,(2,2))):((177,(13,2)),(59,(26,1)))", "zipped divide");
  IS_STR(product("(2,2):(4,1)", "6:1"), "((2,2),(2,3)):((4,1),(2,8))", "logical product");
  IS_STR(blocked("(2,5):(5,1)", "(3,4):(1,3)"), "((2,3),(5,4)):((5,10),(1,30))", "blocked product");
}

static void test_partitions(void) {
  IS_STR(slice("((3,2),(2,5,2)):((4,1),(2,13,100))", "(_,5)"), "((3,2)):((4,1)) + 28", "slice");
  IS_STR(slice("(4,8):(8,1)", "(_,2)"), "(4):(8) + 2", "a column");
  IS_STR(slice("(4,8):(8,1)", "5"), "():() + 9", "a fixed coordinate keeps nothing");
  IS_STR(slice("(4,8):(8,1)", "_"), "(4,8):(8,1) + 0", "a wildcard keeps all");
  IS_STR(tile("(6,8):(1,6)", "(3,4)", "(1,2)", NULL), "(3,4):(1,6) + 51", "a tile past the end");
  IS_STR(tile("(512,256):(1,512)", "(128,128,8)", "(1,0,_)", "(1,_,1)"),
         "(128,8,32):(1,512,4096) + 128", "a projected tile");
  IS_STR(parallelize("(128,8):(1,128)", "(32,8):(1,32)", 37, NULL), "(4,1):(32,0) + 133",
         "a thread's part");
  IS_STR(parallelize("(128,8):(1,129)", "(16,16):(1,16)", 37, "(1,_)"), "(8,8):(16,129) + 5",
         "a projected thread layout");
}

static void test_evaluation(void) {
  CtInt i = ct_int(0);
  CtLayout l = layout("(3,(2,3)):(3,(12,1))");
  OK(ct_crd2idx(&cx, tuple("(1,(1,2))"), l, &i, &err) == CT_OK && i.v == 17, "natural coordinate");
  OK(ct_crd2idx(&cx, tuple("(1,5)"), l, &i, &err) == CT_OK && i.v == 17, "partly linear");
  OK(ct_crd2idx(&cx, tuple("16"), l, &i, &err) == CT_OK && i.v == 17, "linear");
  IS_INT(ct_layout_at(l, 16), 17, "fast form");
  IS_INT(ct_layout_at(l, 18), ct_layout_at(l, 0) + 3, "runs on past the end along the last mode");
  IS_INT(ct_layout_at(layout("(0,4):(1,0)"), 3), 0, "an empty layout");
  OK(ct_cosize(&cx, layout("(4,2):(-1,4)"), &i, &err) == CT_OK && i.v == 8, "cosize");
  OK(ct_cosize(&cx, layout("(0,2):(1,4)"), &i, &err) == CT_OK && i.v == 0, "cosize of nothing");
  IS_STR(tile("(0,8):(1,0)", "(4,4)", "(_,_)", NULL), "(4,4,0,2):(1,0,4,0) + 0",
         "an empty tensor has no tiles");
}

static void test_errors(void) {
  CtInt i;
  CtStatus st = ct_crd2idx(&cx, tuple("(1,0)"), layout("4:1"), &i, &err);
  IS_STR(
      st == CT_OK ? "" : err.msg,
      "crd2idx: coordinate (1,0) does not fit shape 4: it has 2 modes, not 1; write an integer, or "
      "a tuple nested like the shape",
      "coordinate of another nesting");
  IS_STR(
      slice("(4,8):(8,1)", "(_,_,1)"),
      "slice: coordinate (_,_,1) does not fit shape (4,8): it has 3 modes, not 2; give one entry per "
      "mode, '_' to keep a mode",
      "slice of another rank");
  IS_STR(complement("(4,2):(-1,4)", "8"),
         "complement: stride -1 in layout (4,2):(-1,4) is negative; strides must be >= 0",
         "complement of a negative stride");
  IS_STR(right_inverse("(4,2):(1,-4)"),
         "right_inverse: stride -4 in layout (4,2):(1,-4) is negative; strides must be >= 0",
         "inverse of a negative stride");
  IS_STR(
      complement("(2,2):(2,3)", "24"),
      "complement: the mode of stride 3 in (2,2):(2,3) begins before the smaller strides end, at "
      "4; modes must not overlap or interleave",
      "complement of overlapping modes");
  IS_STR(left_inverse("(5,4):(128,12)"),
         "left_inverse: stride 128 in (5,4):(128,12) is not a multiple of the smaller stride 12; "
         "strides must divide each other",
         "left inverse without a layout");
  IS_STR(left_inverse("(4,4):(1,2)"),
         "left_inverse: stride 2 in (4,4):(1,2) begins before the smaller strides end, at 4; modes "
         "must not overlap",
         "left inverse of overlapping modes");
  IS_STR(compose("(12,32):(32,1)", "2:100"),
         "composition: stride 100 in 2:100 does not fit extent 12 of mode 0 in (12,32):(32,1); one "
         "must divide the other",
         "stride that does not divide");
  IS_STR(compose("(8,8):(8,1)", "6:3"),
         "composition: 6 steps of 3 in 6:3 cross the end of mode 0 (extent 8) in (8,8):(8,1) "
         "unevenly; the number of steps must be a multiple of those that fit in the mode",
         "steps that cross a mode unevenly");
  IS_STR(compose("(12,2):(3,4)", "(12,2):(1,4)"),
         "composition: the modes of (12,2):(1,4) together step past mode 0 (extent 12) in "
         "(12,2):(3,4); their sum must stay within it",
         "modes that carry together");
  IS_STR(compose("(4,2):(1,9)", "6:-1"),
         "composition: 6 steps of -1 in 6:-1 cross the end of mode "
         "0 (extent 4) in (4,2):(1,9) unevenly; the number of steps must be a multiple of "
         "those that fit in the mode",
         "steps down that cross a mode unevenly");
  IS_STR(compose("(4,2):(1,9)", "(2,2):(4,-1)"),
         "composition: (2,2):(4,-1) steps down in mode 0 (extent 4) and up in another one of "
         "(4,2):(1,9); steps of both signs must stay in one mode",
         "steps of both signs that carry");
  IS_STR(
      compose("(4,(2,3)):(1,(5,7))", "(2,2):(1@1,1@1)"),
      "composition: the strides of 1@1 in (2,2):(1@1,1@1) together step past a mode of (2,3):(5,7), "
      "through which they run; their sum must stay within it",
      "coordinates that carry together");
  IS_STR(compose("(4,(2,3)):(1,(5,7))", "((2,3),2):((1@1,2@1),2@0)"), "((2,3),2):((5,7),2)",
         "coordinates that do not");
  IS_STR(compose("(4,2):(1,9)", "(2,2):(2,-1)"), "(2,2):(2,-1)", "steps of both signs in a mode");
  IS_STR(divide("(4,2):(1,4)", "(2,2,2)"),
         "logical_divide: tiler (2,2,2) has rank 3 but (4,2):(1,4) has rank 2; write one tile size "
         "per mode",
         "tiler of a higher rank");
  IS_STR(tile("(2048,256):(1,2048)", "(128,8,4)", "(0,0,0)", NULL),
         "tile: tiler (128,8,4) has rank 3 but (2048,256):(1,2048) has rank 2; write one tile size "
         "per mode",
         "tile of a higher rank");
  IS_STR(tile("(8,8):(1,8)", "(4,4)", "(0,0,0)", NULL),
         "tile: coordinate (0,0,0) has rank 3 but there are 2 modes of tiles, (2,2); write at most "
         "one entry per mode",
         "tile coordinate of a higher rank");
  IS_STR(tile("(8,8):(1,8)", "(4,4)", "(0,0)", "(1,_,1)"),
         "tile: projection (1,_,1) does not fit tiler (4,4); give 1 or '_' for each tile size",
         "projection of another rank");
  IS_STR(
      parallelize("(8,8):(1,8)", "(4,2):(1,0)", 3, NULL),
      "parallelize: stride 0 in thread layout (4,2):(1,0); expected strides > 0, which give each "
      "thread its own place (use a projection to leave a mode out)",
      "threads that share a place");
  IS_STR(zipped("(8,8):(1,8)", "(_,4)"),
         "zipped_divide: '_' leaves mode 8:1 undivided; it has no tile and rest to sort, use "
         "logical_divide or logical_product, or give a tile size",
         "zipped with a wildcard");
  IS_STR(product("(2,2):(2,6)", "3:1"),
         "logical_product: copies of (2,2):(2,6) would overlap: it leaves room for 2, 3:1 reaches "
         "3; give a block whose gaps are multiples of the smaller strides",
         "product without room");
}

/* --- memory ------------------------------------------------------------------------------------- */

typedef struct Budget {
  int left; /* requests that still succeed */
} Budget;

static void *limited(void *ud, void *ptr, size_t old_bytes, size_t new_bytes) {
  Budget *b = ud;
  if (new_bytes > 0 && b->left-- <= 0) {
    return NULL;
  }
  return ct_alloc_std.fn(NULL, ptr, old_bytes, new_bytes);
}

/* A chain of operations with `requests` requests for memory; true when it was enough. */
static bool run_with(int requests) {
  static const char text[] = "((4,8),(2,16),6):((1,8),(4,64),1024)";
  static const char tiles[] = "<(4,2),(2,4):(1,4),3>";
  Budget budget = {requests};
  CtArena own;
  CtCx c = {&own, NULL};
  CtErr e = {.status = CT_OK};
  CtLayout l = {0}, r = {0};
  CtTiler t = {.kind = CT_TILER_ANY};
  ct_arena_init(&own, (CtAlloc){limited, &budget});
  CtStatus st = ct_layout_parse(&own, text, sizeof text - 1, &l, &e);
  for (int i = 0; st == CT_OK && i < 20; i++) { /* fills more than one block */
    st = ct_tiler_parse(&own, tiles, sizeof tiles - 1, &t, &e);
    if (st == CT_OK) {
      st = ct_zipped_divide(&c, l, t, &r, &e);
    }
    if (st == CT_OK) {
      st = ct_complement(&c, l, NULL, &r, &e);
    }
    if (st == CT_OK) {
      st = ct_layout_like(&c, l, &r, &e);
    }
  }
  OK(st == CT_OK || (st == CT_ENOMEM && e.status == CT_ENOMEM), "with %d requests: %s", requests,
     st == CT_OK ? "enough" : e.msg);
  ct_arena_clear(&own);
  return st == CT_OK;
}

int main(void) {
  ct_arena_init(&arena, ct_alloc_std);
  test_text();
  test_text_errors();
  test_examples();
  test_partitions();
  test_evaluation();
  test_errors();
  for (int n = 0; n < 200 && !run_with(n); n++) {}
  ct_arena_clear(&arena);
  return done_testing();
}
