/* test_composed.c: swizzles, layouts under them and coordinates as values, from C: with run-time
   integers, and when memory runs out at every request. Samples and laws are in tests/lua/layout,
   tests/conformance and tests/laws. */
#include "runtime/layout/composed.h"

#include <stdlib.h>

#include "symbolic.h"
#include "tap.h"

static CtArena arena;
static CtCx cx = {&arena, NULL};
static CtErr err;

static CtComposed composed(const char *s) {
  CtComposed c = {.offset = ct_int(0)};
  if (ct_composed_parse(&arena, s, strlen(s), &c, &err) != CT_OK) {
    tap_diag("%s", err.msg);
    abort();
  }
  return c;
}

static const char *text(CtStatus st, const CtComposed *c) {
  return st == CT_OK ? ct_show_composed(&cx, c) : err.msg;
}

static bool is_text(const char *got, const char *want) {
  if (strcmp(got, want) != 0) {
    tap_diag("got %s", got);
  }
  return strcmp(got, want) == 0;
}

/* --- run-time integers -------------------------------------------------------------------------- */

/* A swizzled value as a formula, and its number. */
static void check_value(const Sym *sym, const CtComposed *c, CtInt i, const char *formula) {
  CtInt at = ct_int(0);
  CtNode leaf = {.rank = CT_LEAF, .len = 1, .i = i};
  CtStatus st = ct_composed_crd2idx(&cx, &leaf, c, &at, &err);
  CtText t;
  ct_text_init(&t, ct_alloc_std);
  ct_int_print(&cx, at, &t);
  OK(st == CT_OK && is_text(ct_text_str(&t), formula), "value: %s", formula);
  OK(sym_value(sym, at) == ct_composed_at(c, sym_value(sym, i)), "and its number");
  ct_text_clear(&t);
}

static void test_dynamic(void) {
  Sym sym;
  CtDyn dyn = sym_open(&sym);
  CtComposed c = composed("Sw<2,0,3> o 0 o 64:1"), part;
  cx.dyn = &dyn;
  CtInt i = sym_var(&sym, "i", 29, (CtFacts){0, 63, 1});
  CtInt low = sym_var(&sym, "low", 5, (CtFacts){0, 7, 1});
  check_value(&sym, &c, i, "i^i/8%4");
  check_value(&sym, &c, low, "low"); /* the deciding bits are known to be 0 */

  c = composed("Sw<2,0,3> o 0 o (8,8):(8,1)");
  CtTuple offset = NULL;
  CtNode crd[3] = {{.rank = 2, .len = 3},
                   {.rank = CT_LEAF, .len = 1, .i = low},
                   {.rank = CT_LEAF, .len = 1, .i = ct_any()}};
  CtStatus st = ct_composed_slice(&cx, crd, &c, &part, &offset, &err);
  OK(st == CT_OK && is_text(text(st, &part), "Sw<2,0,3> o low*8 o (8):(1)"), "a slice's offset");
  OK(st == CT_OK && ct_is_const(offset->i, 0), "moves inside");
  st = ct_composed_max_common_vector(&cx, &part, &part, &(int64_t){0}, &err);
  OK(st == CT_OK, "common vector");
  CtInt n;
  OK(ct_composed_cosize(&cx, &part, &n, &err) == CT_EUNSUPPORTED, "cosize: %s", err.msg);

  CtLayout id;
  CtTuple value = NULL;
  CtInt shape[2] = {i, ct_int(4)};
  st = ct_identity(&cx, ct_tuple_ints(&arena, 2, shape), &id, &err);
  crd[2].i = ct_int(3);
  if (st == CT_OK) {
    st = ct_evaluate(&cx, crd, id, &value, &err);
  }
  OK(st == CT_OK && value->rank == 2 && ct_int_equal(value[1].i, low) && ct_is_const(value[2].i, 3),
     "a coordinate of run-time entries");
  cx.dyn = NULL;
  sym_close(&sym);
}

/* --- bounds ------------------------------------------------------------------------------------- */

static void test_bounds(void) {
  CtInt n;
  CtComposed c = composed("Sw<1,0,1> o 9223372036854775807 o 4:1"), out;
  CtNode three = {.rank = CT_LEAF, .len = 1, .i = ct_int(3)};
  OK(ct_composed_crd2idx(&cx, &three, &c, &n, &err) == CT_EOVERFLOW, "value: %s", err.msg);
  OK(ct_composed_cosize(&cx, &c, &n, &err) == CT_EOVERFLOW, "cosize: %s", err.msg);
  OK(ct_composed_downcast(&cx, &c, 4, &out, &err) == CT_EOVERFLOW, "downcast: %s", err.msg);
  c = composed("Sw<1,0,1> o 0 o (4,0):(1,4)");
  OK(ct_composed_cosize(&cx, &c, &n, &err) == CT_OK && n.v == 0, "cosize of an empty layout");
  CtSwizzle sw;
  OK(ct_swizzle_downcast((CtSwizzle){3, 50, 3}, 1024, &sw, &err) == CT_EINVAL, "%s", err.msg);
}

/* --- memory ------------------------------------------------------------------------------------- */

typedef struct Failing {
  int n; /* requests that succeed */
} Failing;

static void *fail_after(void *ud, void *ptr, size_t old_bytes, size_t new_bytes) {
  Failing *f = ud;
  if (new_bytes > 0 && f->n-- <= 0) {
    return NULL;
  }
  return ct_alloc_std.fn(ct_alloc_std.ud, ptr, old_bytes, new_bytes);
}

static CtStatus use_memory(const CtCx *own, CtErr *e) {
  CtComposed c, r;
  CtTuple value;
  CtLayout id;
  CtNode crd = {.rank = CT_LEAF, .len = 1, .i = ct_int(5)};
  const char *s = "Sw<2,0,3> o 0 o (8,8):(8,1)";
  CtStatus st = ct_composed_parse(own->arena, s, strlen(s), &c, e);
  st = st == CT_OK ? ct_composed_compose(own, &(CtComposed){.layout = c.layout}, &c, &r, e) : st;
  st = st == CT_OK ? ct_composed_right_inverse(own, &c, &r, e) : st;
  st = st == CT_OK ? ct_composed_evaluate(own, &crd, &r, &value, e) : st;
  st = st == CT_OK ? ct_identity(own, c.layout.shape, &id, e) : st;
  st = st == CT_OK ? ct_evaluate(own, &crd, id, &value, e) : st;
  return st == CT_OK ? ct_coord_add(own, value, value, &value, e) : st;
}

static void test_memory(void) {
  int n = 0;
  CtStatus st = CT_ENOMEM;
  for (; st == CT_ENOMEM && n < 1000; n++) {
    Failing f = {n};
    CtArena own;
    CtErr e = {.status = CT_OK};
    ct_arena_init(&own, (CtAlloc){fail_after, &f});
    st = use_memory(&(CtCx){&own, NULL}, &e);
    ct_arena_clear(&own);
  }
  OK(st == CT_OK && n > 1, "out of memory at each of %d requests is an error", n - 1);
}

int main(void) {
  ct_arena_init(&arena, ct_alloc_std);
  test_dynamic();
  test_bounds();
  test_memory();
  ct_arena_clear(&arena);
  return done_testing();
}
