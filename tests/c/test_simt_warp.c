/* test_simt_warp.c: operations of warps, atomic operations, waits and messages on the CPU engine, on more
   threads of the host than it has cores: shuffles and atomic operations against plain C, chains of blocks,
   deadlocks, the order of what is printed, memory that runs out. */
#include "emit_kernels.h"

#include "runtime/simt/simt.h"

#include "tap.h"

enum { MAX_PARAMS = 4, HOST_THREADS = 8 };

typedef struct Run {
  Kit k;
  CtSimtProgram *prog;
  CtSlotValue slots[8];
  int64_t n_elems[MAX_PARAMS];
  CtSimtLaunch launch;
  CtText printed;
  CtErr err;
} Run;

static void note(void *ud, const char *text, size_t len) { ct_text_add(ud, text, len); }

static void lower(Run *r) {
  kit_must(&r->k, ct_ir_finish(&r->k.ir, &r->k.err));
  kit_must(&r->k, ct_simt_lower(ct_alloc_std, &r->k.ir, &r->prog, &r->k.err));
  ct_text_init(&r->printed, ct_alloc_std);
  r->launch = (CtSimtLaunch){.grid = {1, 1, 1},
                             .slots = r->slots,
                             .n_elems = r->n_elems,
                             .print = note,
                             .print_ud = &r->printed};
}

static void give(Run *r, int param, void *data, int64_t n) {
  r->slots[r->k.ir.params[param].first_slot].ptr = data;
  r->n_elems[param] = n;
}

static CtStatus run(Run *r, CtAlloc alloc, int64_t grid) {
  CtSimtEngine *e;
  kit_must(&r->k, ct_simt_open(alloc, HOST_THREADS, NULL, &e, &r->k.err));
  r->launch.grid[0] = grid;
  CtStatus status = ct_simt_run(e, r->prog, &r->launch, &r->err);
  ct_simt_close(e);
  return status;
}

static void done(Run *r) {
  ct_simt_free(r->prog);
  ct_text_clear(&r->printed);
  ct_ir_clear(&r->k.ir);
}

static CtTuple at1(Kit *k, CtVal i) { return crd(k, 1, (CtInt[]){dyn(k, i)}); }
static CtVal eq(Kit *k, CtVal a, CtVal b) { return op2(k, CT_OP_EQ, a, b); }

/* --- shuffles --------------------------------------------------------------------------------------- */

static int source_of(int kind, int lane, int by, int width) {
  int first = lane / width * width, end = first + width;
  int j = kind == CT_SHFL_UP     ? lane - by
          : kind == CT_SHFL_DOWN ? lane + by
          : kind == CT_SHFL_XOR  ? lane ^ by
                                 : first + by % width;
  bool inside = kind == CT_SHFL_UP ? j >= first : j < end;
  return inside ? j : lane;
}

/* Each lane has a distance of its own. */
static int count_wrong(int kind, int width, CtDtype dtype) {
  Run r = {.slots = {{0}}};
  Kit *k = &r.k;
  int64_t out[64] = {0};
  int32_t by[64];
  kit_begin(k, "shuffle", 0, 64, 1);
  CtView outs = tensor(k, "out", CT_i64, "(64)", "(1)"),
         bys = tensor(k, "by", CT_i32, "(64)", "(1)");
  CtVal t = tid(k, 0);
  CtVal v = ct_ir_cast(&k->ir, add(k, t, num(k, 1)), dtype);
  v = ct_ir_shfl(&k->ir, (CtShfl)kind, v, load_at(k, bys, at1(k, t)), width);
  store_at(k, outs, at1(k, t), ct_ir_cast(&k->ir, v, CT_i64));
  lower(&r);
  give(&r, 0, out, 64);
  give(&r, 1, by, 64);
  for (int i = 0; i < 64; i++) {
    by[i] = (i * 37 + kind * 5 + width) % 96; /* distances count modulo 32 */
  }
  int wrong = run(&r, ct_alloc_std, 1) != CT_OK;
  for (int i = 0; i < 64; i++) {
    wrong += out[i] != i / 32 * 32 + source_of(kind, i % 32, by[i] % 32, width) + 1;
  }
  done(&r);
  return wrong;
}

static void test_shuffles(void) {
  static const CtDtype types[] = {CT_i32, CT_i64, CT_u32, CT_u64, CT_f32,
                                  CT_f64, CT_f16, CT_i16, CT_u8};
  int wrong = 0;
  for (int kind = 0; kind < CT_SHFL_COUNT; kind++) {
    for (int width = 1; width <= 32; width *= 2) {
      for (size_t t = 0; t < CT_ARRAY_LEN(types); t++) {
        wrong += count_wrong(kind, width, types[t]);
      }
    }
  }
  IS_INT(wrong, 0, "shuffles of each kind, width and type, by a distance of each lane");
}

/* --- atomic operations -------------------------------------------------------------------------------- */

static void test_atomics(void) {
  Run r = {.slots = {{0}}};
  Kit *k = &r.k;
  int64_t sum = 0;
  double most = -1;
  kit_begin(k, "atomics", 0, 96, 1);
  CtView s = tensor(k, "sum", CT_i64, "(1)", "(1)"), m = tensor(k, "most", CT_f64, "(1)", "(1)");
  CtVal t = add(k, tid(k, 0), mul(k, bid(k, 0), num(k, 96))), zero = num(k, 0);
  (void)ct_ir_atomic(&k->ir, CT_OP_ATOMIC_ADD, s.buf, zero, ct_ir_cast(&k->ir, t, CT_i64), 0);
  (void)ct_ir_atomic(&k->ir, CT_OP_ATOMIC_MAX, m.buf, zero, ct_ir_cast(&k->ir, t, CT_f64), 0);
  lower(&r);
  give(&r, 0, &sum, 1);
  give(&r, 1, &most, 1);
  OK(run(&r, ct_alloc_std, 500) == CT_OK, "48000 threads meet at two elements");
  OK(sum == 48000LL * 47999 / 2, "no addition is lost");
  OK(most == 47999, "the maximum is that of all");
  done(&r);
}

/* --- waits --------------------------------------------------------------------------------------------- */

/* Each block waits for the one `ahead` of it, if there is one. */
static void build_chain(Run *r, int ahead) {
  Kit *k = &r->k;
  kit_begin(k, "chain", 0, 32, 1);
  CtView c = tensor(k, "c", CT_i32, "(1000)", "(1)");
  CtVal b = bid(k, 0), from = add(k, b, num(k, ahead));
  CtVal first = ct_ir_if(&k->ir, eq(k, tid(k, 0), num(k, 0)));
  CtVal has = op2(k, CT_OP_LAND, op2(k, CT_OP_LE, num(k, 0), from), lt(k, from, num(k, 1000)));
  CtVal value = ct_ir_var(&k->ir, CT_i32, "value");
  ct_ir_set(&k->ir, value, num(k, 0));
  CtVal waits = ct_ir_if(&k->ir, has);
  at(k, 7);
  CtVal loop = ct_ir_loop(&k->ir);
  ct_ir_set(&k->ir, value, ct_ir_atomic(&k->ir, CT_OP_ATOMIC_LOAD, c.buf, from, 0, 0));
  CtVal leave = ct_ir_if(&k->ir, op2(k, CT_OP_NE, ct_ir_get(&k->ir, value), num(k, 0)));
  ct_ir_break(&k->ir, loop);
  ct_ir_end(&k->ir, leave);
  ct_ir_end(&k->ir, loop);
  ct_ir_end(&k->ir, waits);
  CtVal next = add(k, ct_ir_get(&k->ir, value), num(k, 1));
  (void)ct_ir_atomic(&k->ir, CT_OP_ATOMIC_STORE, c.buf, b, next, 0);
  ct_ir_end(&k->ir, first);
  lower(r);
}

static void test_waits(void) {
  static int32_t c[1000];
  for (int ahead = -3; ahead < 0; ahead++) {
    Run r = {.slots = {{0}}};
    memset(c, 0, sizeof c);
    build_chain(&r, ahead);
    give(&r, 0, c, 1000);
    OK(run(&r, ct_alloc_std, 1000) == CT_OK && c[999] == 1 + 999 / -ahead,
       "each of 1000 blocks waits for the one %d before", -ahead);
    done(&r);
  }
  Run r = {.slots = {{0}}};
  memset(c, 0, sizeof c);
  build_chain(&r, 1);
  give(&r, 0, c, 1000);
  int wrong = 0;
  for (int i = 0; i < 50; i++) {
    wrong += run(&r, ct_alloc_std, 1000) != CT_EINVAL || r.err.line != 7 ||
             strstr(r.err.msg, "deadlock: thread (0,0,0) of block (0,0,0) repeats the loop at "
                               "line 7") == NULL;
  }
  IS_INT(wrong, 0,
         "a wait for the block behind is a deadlock, told of the first block, every time");
  done(&r);
}

/* --- messages ------------------------------------------------------------------------------------------- */

static void build_print(Run *r) {
  Kit *k = &r->k;
  kit_begin(k, "print", 0, 64, 1);
  CtVal t = tid(k, 0), b = bid(k, 0);
  CtVal some = ct_ir_if(&k->ir, eq(k, op2(k, CT_OP_FLOORMOD, t, num(k, 40)), num(k, 7)));
  ct_ir_printf(&k->ir, "%d:%d;", 2, (CtVal[]){b, t});
  ct_ir_printf(&k->ir, "%s%%\n", 1, (CtVal[]){lt(k, t, num(k, 10))});
  ct_ir_end(&k->ir, some);
  lower(r);
}

static void test_order(void) {
  Run r = {.slots = {{0}}};
  CtText want;
  ct_text_init(&want, ct_alloc_std);
  for (int b = 0; b < 300; b++) {
    ct_text_printf(&want, "%d:7;true%%\n%d:47;false%%\n", b, b);
  }
  build_print(&r);
  OK(run(&r, ct_alloc_std, 300) == CT_OK, "threads print");
  OK(strcmp(ct_text_str(&r.printed), ct_text_str(&want)) == 0,
     "in the order of blocks and threads");
  ct_text_clear(&want);
  done(&r);
}

/* Fails the n-th request and those after it; from several threads, under the engine's lock. */
static void *scarce(void *ud, void *p, size_t old_bytes, size_t new_bytes) {
  int *left = ud;
  if (new_bytes > 0 && (*left)-- <= 0) {
    return NULL;
  }
  return ct_alloc_std.fn(ct_alloc_std.ud, p, old_bytes, new_bytes);
}

static void test_scarce_memory(void) {
  Run r = {.slots = {{0}}};
  int n_failed = 0, n_dropped = 0, n = 1;
  build_print(&r);
  for (; n < 60; n++) {
    int left = 1 << 20;
    CtSimtEngine *e;
    kit_must(&r.k, ct_simt_open((CtAlloc){scarce, &left}, 2, NULL, &e, &r.k.err));
    left = n;
    r.launch.grid[0] = 20;
    r.printed.len = 0;
    CtStatus status = ct_simt_run(e, r.prog, &r.launch, &r.err);
    n_failed += status == CT_ENOMEM;
    n_dropped += status == CT_OK && strstr(ct_text_str(&r.printed), "printf: no room for") != NULL;
    left = 1 << 20;
    ct_simt_close(e);
  }
  OK(n_failed > 0, "without memory a launch fails");
  OK(n_dropped > 0, "without memory for what is printed it runs, and says so");
  done(&r);
}

int main(void) {
  test_shuffles();
  test_atomics();
  test_waits();
  test_order();
  test_scarce_memory();
  return done_testing();
}
