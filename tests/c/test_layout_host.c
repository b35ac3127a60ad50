/* test_layout_host.c: functions of ct.h that only C hosts call: layouts text in, text out. The others have tests
   beside those of the algebra. */
#include "runtime/layout/composed.h"
#include "runtime/layout/layout.h"
#include "runtime/layout/swizzle.h"

#include "tap.h"

static CtArena arena;
static CtCx cx = {&arena, NULL};
static CtErr err;

/* What a text of this program cannot fail at. */
static void must(CtStatus st) {
  if (st != CT_OK) {
    tap_diag("%s", err.msg);
    abort();
  }
}

static CtTuple tuple(const char *s) {
  CtTuple t = NULL;
  must(ct_tuple_parse(&arena, s, strlen(s), &t, &err));
  return t;
}

static CtComposed composed(const char *s) {
  CtComposed c;
  must(ct_composed_parse(&arena, s, strlen(s), &c, &err));
  return c;
}

static CtLayout layout(const char *s) { return composed(s).layout; }

static const char *keep(CtText *t) {
  const char *s = ct_arena_strdup(&arena, ct_text_str(t), t->len);
  ct_text_clear(t);
  return s;
}

/* "layout + offset", each if it is there, or the message of the failure. */
static const char *show(CtStatus st, const CtComposed *c, CtTuple offset) {
  CtText t;
  if (st != CT_OK) {
    return err.msg;
  }
  ct_text_init(&t, ct_alloc_std);
  if (c != NULL) {
    ct_composed_print(&cx, c, &t);
  }
  if (offset != NULL) {
    ct_text_puts(&t, c == NULL ? "" : " + ");
    ct_tuple_print(&cx, offset, &t);
  }
  return keep(&t);
}

static void test_strides(void) {
  CtTuple t = NULL;
  CtStatus st = ct_compact_col_major(&cx, tuple("(2,(3,1))"), ct_int(4), &t, &err);
  IS_STR(show(st, NULL, t), "(4,(8,0))", "column-major from 4");
  st = ct_compact_row_major(&cx, tuple("(2,(3,4))"), ct_int(1), &t, &err);
  IS_STR(show(st, NULL, t), "(12,(4,1))", "row-major");
  st = ct_compact_order(&cx, tuple("(2,3,4)"), tuple("(2,0,1)"), &t, &err);
  IS_STR(show(st, NULL, t), "(12,1,3)", "in an order");
  st = ct_crd_natural(&cx, tuple("(5,1)"), tuple("((2,3),4)"), &t, &err);
  IS_STR(show(st, NULL, t), "((1,2),1)", "a natural coordinate");
}

static void test_slices(void) {
  CtTuple t = NULL, at = NULL;
  CtLayout l = {NULL, NULL};
  CtStatus st = ct_slice_tuple(&cx, tuple("(_,1)"), tuple("(2,3)"), &t, &err);
  IS_STR(show(st, NULL, t), "(2)", "what _ keeps of a tuple");
  st = ct_dice_tuple(&cx, tuple("(_,1)"), tuple("(2,3)"), &t, &err);
  IS_STR(show(st, NULL, t), "(3)", "what _ leaves out of a tuple");
  st = ct_slice_at(&cx, tuple("(1,_)"), layout("(4,8):(8,1)"), &l, &at, &err);
  CtComposed c = ct_composed_plain(l);
  IS_STR(show(st, &c, at), "(8):(1) + 8", "a slice and where it begins");
}

static void test_parts(void) {
  CtTuple at = NULL;
  CtLayout l = {NULL, NULL};
  CtTiler tiler;
  must(ct_tiler_parse(&arena, "(2,4)", 5, &tiler, &err));
  CtStatus st = ct_tile_at(&cx, layout("(4,8):(8,1)"), tiler, tuple("(1,1)"), NULL, &l, &at, &err);
  CtComposed c = ct_composed_plain(l);
  IS_STR(show(st, &c, at), "(2,4):(8,1) + 20", "a tile");
  CtInt index = ct_int(0);
  CtLayout coords = layout("(4,8):(1@0,1@1)");
  st = ct_tile(&cx, coords, tiler, tuple("(1,0)"), NULL, &l, &index, &err);
  OK(st == CT_OK && index.v == 2, "a tile of coordinates begins at one basis element");
  OK(ct_tile(&cx, coords, tiler, tuple("(1,1)"), NULL, &l, &index, &err) != CT_OK,
     "or there is no integer for it: %s", err.msg);
  st = ct_parallelize_at(&cx, layout("(4,8):(8,1)"), layout("(2,4):(4,1)"), ct_int(5), NULL, &l,
                         &at, &err);
  c = ct_composed_plain(l);
  IS_STR(show(st, &c, at), "(2,2):(16,4) + 9", "a thread's part");
  CtComposed of = composed("Sw<1,0,3> o 0 o (4,8):(8,1)");
  st = ct_composed_parallelize(&cx, &of, layout("(2,4):(4,1)"), ct_int(5), NULL, &c, &at, &err);
  IS_STR(show(st, &c, at), "Sw<1,0,3> o 9 o (2,2):(16,4) + 0",
         "a thread's part of a swizzled layout");
}

static void test_swizzles(void) {
  CtSwizzle sw = {0};
  CtComposed c;
  CtInt x = ct_int(0);
  OK(ct_swizzle_make(3, 0, 2, &sw, &err) != CT_OK, "a shift less than the bits: %s", err.msg);
  OK(ct_swizzle_make(1, 0, 3, &sw, &err) == CT_OK, "a swizzle");
  OK(ct_swizzle_apply(&cx, sw, ct_int(8), &x, &err) == CT_OK && x.v == 9, "it makes 9 of 8");
  CtStatus st = ct_composed_make(&cx, sw, ct_int(0), layout("(4,8):(8,1)"), &c, &err);
  IS_STR(show(st, &c, NULL), "Sw<1,0,3> o 0 o (4,8):(8,1)", "a swizzled layout");
  CtComposed wide = composed("Sw<1,1,3> o 0 o (4,8):(8,1)");
  st = ct_composed_upcast(&cx, &wide, 2, &c, &err);
  IS_STR(show(st, &c, NULL), "Sw<1,0,3> o 0 o (4,4):(4,1)", "in elements twice as large");
}

int main(void) {
  ct_arena_init(&arena, ct_alloc_std);
  test_strides();
  test_slices();
  test_parts();
  test_swizzles();
  ct_arena_clear(&arena);
  return done_testing();
}
