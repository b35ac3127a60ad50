/* test_layout_dynamic.c: the algebra on run-time integers. First the forms that kernels meet, as
   formulas; then random cases, in which the results under the variables' values must be those of
   the same operation on numbers. */
#include "runtime/layout/layout.h"

#include "symbolic.h"
#include "tap.h"

static Sym sym;
static CtDyn dyn;
static CtArena arena;
static CtCx cx;
static CtErr err;

static void begin(void) {
  ct_arena_init(&arena, ct_alloc_std);
  dyn = sym_open(&sym);
  cx = (CtCx){&arena, &dyn};
}

static void end(void) {
  sym_close(&sym);
  ct_arena_clear(&arena);
}

static CtFacts facts(int64_t lo, int64_t hi, int64_t div) { return (CtFacts){lo, hi, div}; }

/* The inputs of the tests are well formed; a failure here is one of the test itself. */
static void must(bool ok) {
  if (!ok) {
    tap_diag("%s", err.msg);
    abort();
  }
}

static CtTuple ints(int n, const CtInt *items) {
  CtTuple t = ct_tuple_ints(&arena, n, items);
  must(t != NULL);
  return t;
}

static CtTuple pair(CtInt a, CtInt b) { return ints(2, (CtInt[]){a, b}); }

static CtTuple tuple(const char *s) {
  CtTuple t = NULL;
  must(ct_tuple_parse(&arena, s, strlen(s), &t, &err) == CT_OK);
  return t;
}

static CtTiler tiler(const char *s) {
  CtTiler t = {.kind = CT_TILER_ANY};
  must(ct_tiler_parse(&arena, s, strlen(s), &t, &err) == CT_OK);
  return t;
}

static CtLayout layout(const char *s) {
  CtLayout l = {NULL, NULL};
  must(ct_layout_parse(&arena, s, strlen(s), &l, &err) == CT_OK);
  return l;
}

static CtLayout make(CtTuple shape, CtTuple stride) {
  CtLayout l = {NULL, NULL};
  must(ct_layout_make(&cx, shape, stride, &l, &err) == CT_OK);
  return l;
}

/* Text in the arena: "layout + offset" or the error. */
static const char *text_of(CtStatus st, const CtLayout *l, const CtInt *offset) {
  CtText t;
  if (st != CT_OK) {
    return err.msg;
  }
  ct_text_init(&t, ct_alloc_std);
  ct_layout_print(&cx, *l, &t);
  if (offset != NULL) {
    ct_text_puts(&t, " + ");
    ct_int_print(&cx, *offset, &t);
  }
  const char *s = ct_arena_strdup(&arena, ct_text_str(&t), t.len);
  ct_text_clear(&t);
  return s;
}

/* --- forms ------------------------------------------------------------------------------------- */

static void test_matmul_tiles(void) {
  CtLayout g, t;
  CtInt at;
  begin();
  CtInt M = sym_var(&sym, "M", 2048, facts(128, INT32_MAX, 128));
  CtInt K = sym_var(&sym, "K", 256, facts(8, INT32_MAX, 8));
  CtInt lda = sym_var(&sym, "lda", 2048, facts(1, INT32_MAX, 4));
  CtInt bx = sym_var(&sym, "bx", 3, facts(0, 65535, 1));
  CtInt tx = sym_var(&sym, "tx", 77, facts(0, 255, 1));
  CtLayout a = make(pair(M, K), pair(ct_int(1), lda));
  CtStatus st = ct_tile(&cx, a, tiler("(128,8)"), pair(bx, ct_any()), NULL, &g, &at, &err);
  IS_STR(text_of(st, &g, &at), "(128,8,K/8):(1,lda,lda*8) + bx*128", "tile of A");
  st = ct_parallelize(&cx, g, layout("(32,8):(1,32)"), tx, NULL, &t, &at, &err);
  IS_STR(text_of(st, &t, &at), "(4,1,K/8):(32,0,lda*8) + tx%32+tx/32*lda",
         "threads of A: one remainder, one quotient");
  st = ct_parallelize(&cx, layout("(128,8):(1,129)"), layout("(16,16):(1,16)"), tx, tuple("(1,_)"),
                      &t, &at, &err);
  IS_STR(text_of(st, &t, &at), "(8,8):(16,129) + tx%16", "rows of tC");
  st = ct_parallelize(&cx, layout("(128,8):(1,129)"), layout("(16,16):(1,16)"), tx, tuple("(_,1)"),
                      &t, &at, &err);
  IS_STR(text_of(st, &t, &at), "(8,8):(16,129) + tx/16", "columns of tC");
  st = ct_parallelize(&cx, layout("(128,8):(1,128)"), layout("((4,8),8):((1,4),32)"), tx, NULL, &t,
                      &at, &err);
  IS_STR(text_of(st, &t, &at), "(4,1):(32,0) + tx%32+tx/32*128",
         "a nested thread mode is one remainder");
  CtInt k = sym_var(&sym, "k", 5, facts(0, INT32_MAX, 1));
  CtInt crd[3] = {ct_any(), ct_any(), k};
  st = ct_slice(&cx, ints(3, crd), g, &t, &at, &err);
  IS_STR(text_of(st, &t, &at), "(128,8):(1,lda) + k*lda*8", "a slice at a run-time index");
  end();
}

static void test_ragged_tiles(void) {
  CtLayout g;
  CtInt at;
  begin();
  CtInt M = sym_var(&sym, "M", 1000, facts(0, INT32_MAX, 1));
  CtInt N = sym_var(&sym, "N", 77, facts(0, INT32_MAX, 1));
  CtLayout c = make(pair(M, N), pair(N, ct_int(1)));
  CtStatus st = ct_tile(&cx, c, tiler("(64,32)"), tuple("(_,_)"), NULL, &g, &at, &err);
  IS_STR(text_of(st, &g, &at), "(64,32,M/^64,N/^32):(N,1,N*64,32) + 0",
         "extents that may not divide are rounded up");
  CtInt size;
  CtStatus ok = ct_size(&cx, c, &size, &err);
  IS_INT(ok == CT_OK ? sym_value(&sym, size) : -1, 77000, "size");
  end();
}

static void test_whole_tensor(void) {
  CtLayout l, z;
  CtInt i;
  begin();
  CtInt M = sym_var(&sym, "M", 512, facts(128, INT32_MAX, 128));
  CtInt K = sym_var(&sym, "K", 24, facts(1, INT32_MAX, 1));
  CtInt lda = sym_var(&sym, "lda", 600, facts(1, INT32_MAX, 1));
  CtInt x = sym_var(&sym, "x", 1000, facts(0, INT32_MAX, 1));
  CtStatus st = ct_coalesce(&cx, make(pair(M, K), pair(ct_int(1), M)), NULL, &l, &err);
  IS_STR(text_of(st, &l, NULL), "M*K:1", "a compact tensor coalesces");
  CtLayout a = make(pair(M, K), pair(ct_int(1), lda));
  st = ct_coalesce(&cx, a, NULL, &l, &err);
  IS_STR(text_of(st, &l, NULL), "(M,K):(1,lda)", "a padded one does not");
  st = ct_zipped_divide(&cx, a, tiler("128:1"), &z, &err);
  IS_STR(text_of(st, &z, NULL), "(128,(M/128,K)):(1,(128,lda))", "linear tiles of a padded tensor");
  CtNode leaf = {.rank = CT_LEAF, .len = 1, .i = x};
  st = ct_crd2idx(&cx, &leaf, a, &i, &err);
  IS_INT(st == CT_OK ? sym_value(&sym, i) : -1, 1000 % 512 + 1000 / 512 * 600, "linear coordinate");
  st = ct_crd2idx(&cx, &leaf, make(pair(M, K), pair(ct_int(1), M)), &i, &err);
  OK(st == CT_OK && ct_int_equal(i, x), "the linear coordinate of a compact tensor is the index");
  int64_t n = 0;
  st = ct_max_common_vector(&cx, layout("(8,4):(1,8)"), make(tuple("(8,4)"), pair(ct_int(1), lda)),
                            &n, &err);
  IS_INT(st == CT_OK ? n : -1, 8, "common vector up to a run-time stride");
  st = ct_max_common_vector(&cx, a, a, &n, &err);
  IS_INT(st == CT_OK ? n : -1, 1, "no common vector of run-time length");
  end();
}

static void test_undecided(void) {
  CtLayout l;
  begin();
  CtInt M = sym_var(&sym, "M", 96, facts(1, INT32_MAX, 1));
  CtInt K = sym_var(&sym, "K", 8, facts(1, INT32_MAX, 1));
  CtInt lda = sym_var(&sym, "lda", 100, facts(1, INT32_MAX, 1));
  CtLayout a = make(pair(M, K), pair(ct_int(1), lda));
  CtStatus st = ct_compose(&cx, a, layout("64:1"), &l, &err);
  IS_INT(st, CT_EUNSUPPORTED, "steps through an extent of unknown size");
  IS_STR(err.msg,
         "composition: cannot tell while tracing how 64 steps of 1 in 64:1 run through mode 0 "
         "(extent M) in (M,K):(1,lda); use static extents, or tile mode by mode",
         "the message names mode and values");
  st = ct_complement(&cx, make(pair(ct_int(4), ct_int(4)), pair(M, lda)), NULL, &l, &err);
  IS_INT(st, CT_EUNSUPPORTED, "complement of unordered run-time strides");
  st = ct_left_inverse(&cx, a, &l, &err);
  IS_INT(st, CT_EUNSUPPORTED, "left inverse of run-time strides");
  cx.dyn = NULL;
  st = ct_size(&cx, a, &M, &err);
  IS_STR(st == CT_OK ? "" : err.msg,
         "integer: a run-time value outside a kernel; expected a number",
         "no arithmetic without a kernel");
  end();
}

/* --- random cases ------------------------------------------------------------------------------ */

static uint64_t seed = 88172645463325252u;

static int pick(int n) { /* 0 <= result < n */
  seed ^= seed << 13;
  seed ^= seed >> 7;
  seed ^= seed << 17;
  return (int)((seed >> 11) % (uint64_t)n);
}

/* v as it is, or as a variable of that value with true facts of random sharpness. */
static CtInt maybe_dynamic(int64_t v) {
  if (pick(2) == 0 || v < 2) { /* an extent or stride of 0 or 1 has a form of its own */
    return ct_int(v);
  }
  int64_t lo = pick(3) == 0 ? 1 : v - pick((int)ct_min(v, 4));
  int64_t div = 1;
  for (int64_t d = v; d > 1 && div == 1; d--) {
    div = v % d == 0 && pick(2) == 0 ? d : 1;
  }
  return sym_var(&sym, "v", v, facts(ct_max(lo, 1), v + pick(100), div));
}

typedef struct Twin { /* the same layout twice: as numbers, and partly dynamic */
  CtLayout numbers, mixed;
} Twin;

static void random_leaf(int64_t *shape, int64_t *stride) {
  static const int sizes[] = {1, 2, 3, 4, 6, 8, 12, 16, 5};
  *shape = sizes[pick(9)];
  *stride = pick(6) == 0 ? 0 : 1 + pick(3) * pick(24);
}

/* A flat layout of 1 to 3 modes; compact in half of the cases. */
static Twin random_twin(void) {
  CtInt s[2][3], d[2][3];
  int n = 1 + pick(3);
  bool compact = pick(2) == 0;
  int64_t next = 1;
  for (int i = 0; i < n; i++) {
    random_leaf(&s[0][i].v, &d[0][i].v);
    s[0][i] = ct_int(s[0][i].v);
    d[0][i] = ct_int(compact ? next : d[0][i].v);
    next *= s[0][i].v;
    s[1][i] = maybe_dynamic(s[0][i].v);
    d[1][i] = maybe_dynamic(d[0][i].v);
  }
  Twin t;
  t.numbers = make(ints(n, s[0]), ints(n, d[0]));
  t.mixed = make(ints(n, s[1]), ints(n, d[1]));
  return t;
}

/* Variables replaced by their values. */
static CtTuple valued(CtTuple t) {
  CtNode *n = ct_arena_alloc(&arena, t->len * sizeof *n);
  memcpy(n, t, t->len * sizeof *n);
  for (uint32_t i = 0; i < t->len; i++) {
    n[i].i = ct_int(ct_is_leaf(&n[i]) ? sym_value(&sym, n[i].i) : 0);
  }
  return n;
}

static CtLayout valued_layout(CtLayout l) { return (CtLayout){valued(l.shape), valued(l.stride)}; }

static int64_t size_of(CtLayout l) {
  CtInt n;
  return ct_size(&cx, l, &n, &err) == CT_OK ? n.v : -1;
}

static bool same_function(CtLayout a, CtLayout b) {
  int64_t n = size_of(a);
  bool same = n == size_of(b);
  for (int64_t i = 0; same && i < n; i++) {
    same = ct_layout_at(a, i) == ct_layout_at(b, i);
  }
  return same;
}

/* Outcomes of one operation over all its cases. */
typedef struct Tally {
  int same, refused, wrong, dynamic_only;
} Tally;

static void compare(Tally *t, CtStatus want_st, CtLayout want, CtInt want_at, CtStatus got_st,
                    CtLayout got, CtInt got_at) {
  if (got_st != CT_OK) {
    t->refused++;
  } else if (want_st != CT_OK) {
    t->dynamic_only++;
  } else if (same_function(want, valued_layout(got)) && want_at.v == sym_value(&sym, got_at)) {
    t->same++;
  } else if (t->wrong++ < 3) {
    tap_diag("want %s", text_of(CT_OK, &want, &want_at));
    tap_diag("got %s", text_of(CT_OK, &got, &got_at));
  }
}

typedef CtStatus (*Divide)(const CtCx *cx, CtLayout a, CtTiler b, CtLayout *out, CtErr *err);

static CtTiler random_tiler(int rank) {
  CtTiler *items = ct_arena_alloc(&arena, sizeof *items * 3);
  int n = 1 + pick(rank);
  for (int i = 0; i < n; i++) {
    CtNode leaf = {.rank = CT_LEAF, .len = 1, .i = ct_int(1 + pick(8))};
    must(ct_tiler_from_tuple(&arena, &leaf, &items[i], &err) == CT_OK);
  }
  return (CtTiler){.kind = CT_TILER_TUPLE, .n = n, .items = items};
}

static void one_divide(Divide divide, bool by_mode, Tally *t) {
  CtLayout want = {0}, got = {0};
  Twin a = random_twin();
  CtTiler b = by_mode ? random_tiler(ct_layout_rank(a.numbers))
                      : (CtTiler){.kind = CT_TILER_LAYOUT, .layout = random_twin().numbers};
  CtStatus st = divide(&cx, a.numbers, b, &want, &err);
  CtStatus sd = divide(&cx, a.mixed, b, &got, &err);
  compare(t, st, want, ct_int(0), sd, got, ct_int(0));
}

static void one_tile(Tally *t) {
  CtLayout want = {0}, got = {0};
  CtInt want_at = ct_int(0), got_at = ct_int(0), crd[3], crd_dyn[3];
  Twin a = random_twin();
  CtTiler b = random_tiler(ct_layout_rank(a.numbers));
  for (int i = 0; i < b.n; i++) {
    int64_t extent = size_of(ct_mode(a.numbers, i)), tile = b.items[i].layout.shape->i.v;
    crd[i] = pick(2) == 0 ? ct_any() : ct_int(pick((int)ct_ceildiv(extent, tile)));
    crd_dyn[i] = ct_is_static(crd[i]) ? maybe_dynamic(crd[i].v) : crd[i];
  }
  CtStatus st = ct_tile(&cx, a.numbers, b, ints(b.n, crd), NULL, &want, &want_at, &err);
  CtStatus sd = ct_tile(&cx, a.mixed, b, ints(b.n, crd_dyn), NULL, &got, &got_at, &err);
  compare(t, st, want, want_at, sd, got, got_at);
}

static void one_parallelize(Tally *t) {
  static const char *const threads[] = {"(4,2):(1,4)", "(2,4):(4,1)", "8:1", "((2,2),2):((1,2),4)"};
  CtLayout want = {0}, got = {0};
  CtInt want_at = ct_int(0), got_at = ct_int(0);
  Twin a = random_twin();
  CtLayout thr = layout(threads[pick(4)]);
  int idx = pick(8);
  CtInt dynamic = sym_var(&sym, "tx", idx, facts(0, pick(2) == 0 ? 7 : 63, 1));
  CtStatus st = ct_parallelize(&cx, a.numbers, thr, ct_int(idx), NULL, &want, &want_at, &err);
  CtStatus sd = ct_parallelize(&cx, a.mixed, thr, dynamic, NULL, &got, &got_at, &err);
  compare(t, st, want, want_at, sd, got, got_at);
}

static void one_crd2idx(Tally *t) {
  CtInt want = ct_int(0), got = ct_int(0);
  Twin a = random_twin();
  int64_t n = size_of(a.numbers);
  CtNode at = {.rank = CT_LEAF, .len = 1, .i = ct_int(pick((int)n))};
  CtNode dynamic = {.rank = CT_LEAF, .len = 1, .i = maybe_dynamic(at.i.v)};
  CtLayout none = layout("1:0");
  CtStatus st = ct_crd2idx(&cx, &at, a.numbers, &want, &err);
  CtStatus sd = ct_crd2idx(&cx, &dynamic, a.mixed, &got, &err);
  compare(t, st, none, want, sd, none, got);
}

static void one_coalesce(Tally *t) {
  CtLayout want = {0}, got = {0};
  Twin a = random_twin();
  CtStatus st = ct_coalesce(&cx, a.numbers, NULL, &want, &err);
  CtStatus sd = ct_coalesce(&cx, a.mixed, NULL, &got, &err);
  compare(t, st, want, ct_int(0), sd, got, ct_int(0));
}

/* The dynamic result against the definition: R(i) = A(B(i)). */
static void one_composition(Tally *t) {
  CtLayout got = {0};
  Twin a = random_twin(), b = random_twin();
  if (ct_compose(&cx, a.mixed, b.mixed, &got, &err) != CT_OK) {
    t->refused++;
    return;
  }
  CtLayout r = valued_layout(got);
  int64_t n = size_of(r);
  bool same = n == size_of(b.numbers);
  for (int64_t i = 0; same && i < n; i++) {
    same = ct_layout_at(r, i) == ct_layout_at(a.numbers, ct_layout_at(b.numbers, i));
  }
  *(same ? &t->same : &t->wrong) += 1;
}

static void one_complement(Tally *t) {
  CtLayout want = {0}, got = {0};
  Twin a = random_twin();
  CtNode target = {.rank = CT_LEAF, .len = 1, .i = ct_int(1 + pick(200))};
  CtStatus st = ct_complement(&cx, a.numbers, &target, &want, &err);
  CtStatus sd = ct_complement(&cx, a.mixed, &target, &got, &err);
  compare(t, st, want, ct_int(0), sd, got, ct_int(0));
}

static void report(const char *name, Tally t, int least) {
  OK(t.wrong == 0 && t.same >= SOME_OF(least),
     "%s: %d cases equal, %d refused while tracing, %d wrong", name, t.same, t.refused, t.wrong);
}

static void test_random(bool no_sharing) {
  Tally t[9] = {{0}};
  for (int i = 0; i < SOME_OF(4000); i++) {
    begin();
    sym.no_sharing = no_sharing;
    one_divide(ct_zipped_divide, true, &t[0]);
    one_divide(ct_logical_divide, false, &t[1]);
    one_tile(&t[2]);
    one_parallelize(&t[3]);
    one_crd2idx(&t[4]);
    one_coalesce(&t[5]);
    one_composition(&t[6]);
    one_complement(&t[7]);
    one_divide(ct_logical_product, false, &t[8]);
    end();
  }
  report("zipped_divide by mode", t[0], 2500);
  report("logical_divide by a layout", t[1], 50);
  report("tile", t[2], 2500);
  report("parallelize", t[3], 1000);
  report("crd2idx", t[4], 4000);
  report("coalesce", t[5], 4000);
  report("composition", t[6], 300);
  report("complement", t[7], 300);
  report("logical_product", t[8], 50);
}

int main(void) {
  test_matmul_tiles();
  test_ragged_tiles();
  test_whole_tensor();
  test_undecided();
  test_random(false);
  test_random(true);
  return done_testing();
}
