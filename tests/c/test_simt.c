/* test_simt.c: the CPU engine as a whole: blocks, barriers, errors with their places, interrupts,
   memory that runs out, several engines at once. Operations are in test_simt_ops.c, tensors in
   test_simt_tile.c, control flow in test_simt_random.c. */
#include "emit_kernels.h"

#include "runtime/simt/simt.h"

#include <math.h>
#include <pthread.h>
#include <time.h>

#include "simt_listing.h"
#include "tap.h"
#include "threads.h"

/* --- running one kernel ------------------------------------------------------------------------------ */

enum { MAX_SLOTS = 32 };
typedef struct Run {
  Kit k;
  CtSimtProgram *prog;
  CtSlotValue slots[MAX_SLOTS];
  int64_t n_elems[MAX_SLOTS];
  CtSimtLaunch launch;
  CtErr err;
} Run;

/* After the kernel is built in r->k: a launch of one block. */
static void lower_unfinished(Run *r) {
  kit_must(&r->k, ct_ir_check(&r->k.ir, &r->k.err));
  kit_must(&r->k, ct_simt_lower(ct_alloc_std, &r->k.ir, &r->prog, &r->k.err));
  memset(r->slots, 0, sizeof r->slots);
  memset(r->n_elems, 0, sizeof r->n_elems);
  r->launch = (CtSimtLaunch){.grid = {1, 1, 1}, .slots = r->slots, .n_elems = r->n_elems};
  r->err = (CtErr){0};
}

static void lower(Run *r) {
  kit_must(&r->k, ct_ir_finish(&r->k.ir, &r->k.err));
  lower_unfinished(r);
}

/* Gives a tensor parameter its memory; its dynamic leaves in order. */
static void give(Run *r, int param, void *data, int64_t n, const int64_t *leaves) {
  const CtParam *p = &r->k.ir.params[param];
  r->slots[p->first_slot].ptr = data;
  for (uint32_t i = 1; i < p->n_slots; i++) {
    r->slots[p->first_slot + i].i = leaves[i - 1];
  }
  r->n_elems[param] = n;
}
static void give_number(Run *r, int param, int64_t v) {
  r->slots[r->k.ir.params[param].first_slot].i = v;
}

static CtSimtEngine *open_engine(int n_threads) {
  CtSimtEngine *e;
  CtErr err;
  if (ct_simt_open(ct_alloc_std, n_threads, NULL, &e, &err) != CT_OK) {
    printf("Bail out! %s\n", err.msg);
    exit(1);
  }
  return e;
}

static CtStatus run_on(Run *r, CtSimtEngine *e) {
  return ct_simt_run(e, r->prog, &r->launch, &r->err);
}

static CtStatus run(Run *r, int n_threads) {
  CtSimtEngine *e = open_engine(n_threads);
  CtStatus status = run_on(r, e);
  ct_simt_close(e);
  return status;
}

static void done(Run *r) {
  ct_simt_free(r->prog);
  ct_ir_clear(&r->k.ir);
}

/* "file:line: message", as the user sees it. */
static const char *message(const CtErr *err) {
  static char text[1200];
  snprintf(text, sizeof text, "%s:%d: %s", err->chunk, err->line, err->msg);
  return text;
}

static CtTuple at1(Kit *k, CtVal i) { return crd(k, 1, (CtInt[]){dyn(k, i)}); }
static CtVal i32_of(Kit *k, const char *name) {
  return ct_ir_number(&k->ir, name, CT_i32, (CtFacts){INT32_MIN, INT32_MAX, 1});
}
static void barrier(Kit *k) { ct_ir_effect(&k->ir, CT_OP_BARRIER, 0); }

/* --- indices ------------------------------------------------------------------------------------------- */

/* out[block][thread] = all six indices and the grid, packed. */
static void test_indices(void) {
  Run r;
  Kit *k = &r.k;
  const int64_t block[3] = {5, 3, 4};
  memset(k, 0, sizeof *k);
  ct_ir_init(&k->ir, ct_alloc_std, (CtTarget){.name = "test"}, block);
  k->chunk = "indices";
  at(k, 1);
  CtView out = tensor(k, "out", CT_i64, "(?)", "(1)");
  CtVal packed = ct_ir_const_int(&k->ir, CT_i64, 0), ten = ct_ir_const_int(&k->ir, CT_i64, 10);
  for (int op = CT_OP_TID; op <= CT_OP_GDIM; op++) {
    for (int axis = 0; axis < 3; axis++) {
      CtVal v = ct_ir_cast(&k->ir, ct_ir_axis(&k->ir, (CtOp)op, axis), CT_i64);
      packed = add(k, mul(k, packed, ten), v);
    }
  }
  CtVal t = add(k, tid(k, 0), mul(k, add(k, tid(k, 1), mul(k, tid(k, 2), num(k, 3))), num(k, 5)));
  CtVal b = add(k, bid(k, 0), mul(k, add(k, bid(k, 1), mul(k, bid(k, 2), num(k, 3))), num(k, 2)));
  store_at(k, out, at1(k, add(k, mul(k, b, num(k, 60)), t)), packed);
  lower(&r);
  int64_t data[60 * 24], n = 60 * 24;
  give(&r, 0, data, n, &n);
  memcpy(r.launch.grid, (int64_t[]){2, 3, 4}, sizeof r.launch.grid);
  IS_INT(run(&r, 2), CT_OK, "blocks of (5,3,4) on a grid of (2,3,4) run");
  int wrong = 0;
  for (int64_t i = 0; i < n; i++) {
    int64_t x = i % 60, y = i / 60;
    int64_t d[9] = {x % 5, x / 5 % 3, x / 15, y % 2, y / 2 % 3, y / 6, 2, 3, 4}, want = 0;
    for (int j = 0; j < 9; j++) {
      want = want * 10 + d[j];
    }
    wrong += data[i] != want;
  }
  IS_INT(wrong, 0, "threadIdx, blockIdx and gridDim in three dimensions");
  memcpy(r.launch.grid, (int64_t[]){2, 0, 4}, sizeof r.launch.grid);
  IS_INT(run(&r, 2), CT_OK, "an empty grid does nothing");
  memcpy(r.launch.grid, (int64_t[]){2, -1, 4}, sizeof r.launch.grid);
  IS_INT(run(&r, 2), CT_EINVAL, "a negative grid is refused");
  IS_STR(r.err.msg, "kernel: grid (2,-1,4); expected extents from 0 to 2^31-1", "and says so");
  done(&r);
}

/* --- barriers ------------------------------------------------------------------------------------------- */

/* Reverses the n elements of each block of 100 threads through shared memory; lanes from n on return
   at once. `twice` does it two times in a loop. */
static void build_reverse(Kit *k, bool twice) {
  kit_begin(k, "reverse", 0, 100, 1);
  at(k, 1);
  CtView x = tensor(k, "x", CT_i32, "(?)", "(1)");
  CtVal n = i32_of(k, "n");
  CtView s = ct_ir_shared(&k->ir, "s", CT_i32, lay(k, "100:1"));
  CtVal block = ct_ir_block_begin(&k->ir);
  at(k, 2);
  CtVal out = ct_ir_if(&k->ir, op2(k, CT_OP_LE, n, tid(k, 0)));
  ct_ir_break(&k->ir, block);
  ct_ir_end(&k->ir, out);
  CtVal i = add(k, mul(k, bid(k, 0), n), tid(k, 0));
  CtVal loop = ct_ir_for(&k->ir, num(k, 0), num(k, twice ? 2 : 1), num(k, 1), 0, "j");
  at(k, 3);
  ct_ir_store(&k->ir, s.buf, tid(k, 0), load_at(k, x, at1(k, i)));
  barrier(k);
  at(k, 4);
  CtVal j = op2(k, CT_OP_SUB, op2(k, CT_OP_SUB, n, num(k, 1)), tid(k, 0));
  store_at(k, x, at1(k, i), ct_ir_load(&k->ir, s.buf, j));
  barrier(k);
  ct_ir_end(&k->ir, loop);
  ct_ir_block_end(&k->ir, block, true);
}

static void test_barriers(void) {
  static const int lengths[] = {100, 64, 70, 33, 1};
  for (int twice = 0; twice < 2; twice++) {
    Run r;
    build_reverse(&r.k, twice != 0);
    lower(&r);
    for (size_t l = 0; l < CT_ARRAY_LEN(lengths); l++) {
      int n = lengths[l];
      int32_t data[700];
      int64_t size = 7 * n;
      for (int i = 0; i < size; i++) {
        data[i] = i;
      }
      give(&r, 0, data, size, &size);
      give_number(&r, 1, n);
      r.launch.grid[0] = 7;
      bool ok = run(&r, 2) == CT_OK;
      for (int i = 0; i < size; i++) {
        ok = ok && data[i] == (twice != 0 ? i : i - i % n + n - 1 - i % n);
      }
      OK(ok, "%d of 100 threads reverse %s through shared memory, the others have returned", n,
         twice != 0 ? "twice" : "once");
    }
    done(&r);
  }
}

/* A barrier that only a part of the threads reaches: of a warp, or whole warps at two barriers. */
static void test_barrier_mismatch(void) {
  Run r;
  Kit *k = &r.k;
  kit_begin(k, "half", 0, 64, 1);
  at(k, 2);
  CtVal c = ct_ir_if(&k->ir, lt(k, tid(k, 0), num(k, 16)));
  at(k, 3);
  barrier(k);
  ct_ir_end(&k->ir, c);
  lower(&r);
  IS_INT(run(&r, 1), CT_EINVAL, "half a warp at a barrier is an error");
  IS_STR(message(&r.err),
         "half.lua:3: sync_threads: thread (0,0,0) of block (0,0,0) waits at line 3, but thread "
         "(16,0,0) is past line 2; all threads of a block must reach the same sync_threads",
         "and says who waits where");
  done(&r);

  kit_begin(k, "two", 0, 64, 1);
  at(k, 2);
  c = ct_ir_if(&k->ir, lt(k, tid(k, 0), num(k, 32)));
  at(k, 3);
  barrier(k);
  ct_ir_else(&k->ir, c);
  at(k, 5);
  barrier(k);
  ct_ir_end(&k->ir, c);
  lower(&r);
  IS_INT(run(&r, 1), CT_EINVAL, "warps at two barriers are an error");
  IS_STR(
      message(&r.err),
      "two.lua:3: sync_threads: thread (0,0,0) of block (0,0,0) waits at line 3, thread (32,0,0) "
      "at line 5; all threads of a block must reach the same sync_threads",
      "and names both lines");
  done(&r);

  kit_begin(k, "early", 0, 64, 1);
  at(k, 2);
  c = ct_ir_if(&k->ir, lt(k, tid(k, 0), num(k, 32)));
  at(k, 3);
  barrier(k);
  ct_ir_end(&k->ir, c);
  lower(&r);
  IS_INT(run(&r, 1), CT_OK, "a warp that has ended counts as arrived");
  done(&r);

  kit_begin(k, "loop", 0, 32, 1);
  at(k, 2);
  CtVal loop = ct_ir_for(&k->ir, num(k, 0), tid(k, 0), num(k, 1), 0, "i");
  at(k, 3);
  barrier(k);
  ct_ir_end(&k->ir, loop);
  lower(&r);
  IS_INT(run(&r, 1), CT_EINVAL, "a barrier in a loop of varying length is an error");
  IS_STR(message(&r.err),
         "loop.lua:3: sync_threads: thread (1,0,0) of block (0,0,0) waits at line 3, but thread "
         "(0,0,0) is past line 2; all threads of a block must reach the same sync_threads",
         "which names the loop");
  done(&r);
}

/* --- bounds ---------------------------------------------------------------------------------------------- */

static void test_bounds(void) {
  Run r;
  Kit *k = &r.k;
  static float data[64 * 64];
  kit_begin(k, "saxpy", 0, 32, 1);
  at(k, 11);
  CtView x = tensor(k, "x", CT_f32, "(?)", "(1)");
  at(k, 12);
  CtVal i = add(k, mul(k, bid(k, 0), num(k, 32)), tid(k, 0));
  store_at(k, x, at1(k, i), f32(k, 1));
  lower(&r);
  int64_t n = 50;
  give(&r, 0, data, n, &n);
  r.launch.grid[0] = 40;
  CtSimtEngine *e = open_engine(3);
  int wrong = 0;
  for (int j = 0; j < 50; j++) {
    wrong +=
        run_on(&r, e) != CT_EINVAL ||
        strcmp(message(&r.err), "saxpy.lua:12: out of bounds: write of x at (50), extent (50), "
                                "by thread (18,0,0) of block (1,0,0)") != 0;
  }
  if (!IS_INT(wrong, 0, "of many failing blocks and lanes the first one is reported, always")) {
    tap_diag("%s", message(&r.err));
  }
  r.launch.grid[0] = 1;
  IS_INT(run_on(&r, e), CT_OK, "the engine goes on after an error");
  ct_simt_close(e);
  done(&r);
}

/* C(i, j + 60) for a 64x64 matrix, column- or row-major, by a 2-D block; extents known at launch. */
static void test_bounds_matrix(bool row_major) {
  Run r;
  Kit *k = &r.k;
  static float data[64 * 64];
  kit_begin(k, "matrix", 0, 16, 8);
  at(k, 3);
  CtView C = tensor(k, "C", CT_f32, "(?,?)", row_major ? "(?,1)" : "(1,?)");
  CtVal j = add(k, tid(k, 1), num(k, 60));
  at(k, 4);
  CtTuple c =
      row_major ? crd2(k, dyn(k, j), dyn(k, tid(k, 0))) : crd2(k, dyn(k, tid(k, 0)), dyn(k, j));
  store_at(k, C, c, f32(k, 1));
  lower(&r);
  give(&r, 0, data, 64 * 64, (int64_t[]){64, 64, 64});
  IS_INT(run(&r, 2), CT_EINVAL, "a write past the end of a matrix is an error");
  IS_STR(message(&r.err),
         row_major ? "matrix.lua:4: out of bounds: write of C at (64,0), extent (64,64), by thread "
                     "(0,4,0) of block (0,0,0)"
                   : "matrix.lua:4: out of bounds: write of C at (0,64), extent (64,64), by thread "
                     "(0,4,0) of block (0,0,0)",
         "whose message has tensor, coordinate, extent, thread, block and line");
  done(&r);
}

static void expect_bounds(void (*build)(Kit *k, CtView g, CtView s, CtView f), const char *want) {
  Run r;
  Kit *k = &r.k;
  float data[32] = {0};
  int64_t n = 32;
  kit_begin(k, "k", 0, 32, 1);
  at(k, 1);
  CtView g = tensor(k, "g", CT_f32, "(?)", "(1)");
  CtView s = ct_ir_shared(&k->ir, "s", CT_f32, lay(k, "(4,8):(1,5)"));
  CtView f = ct_ir_fragment(&k->ir, "f", CT_f32, lay(k, "(2,3):(1,2)"));
  build(k, g, s, f);
  lower_unfinished(&r); /* the passes refuse registers with run-time indices */
  give(&r, 0, data, n, &n);
  IS_INT(run(&r, 1), CT_EINVAL, "out of bounds");
  IS_STR(message(&r.err), want, "and where");
  done(&r);
}

static void write_before(Kit *k, CtView g, CtView s, CtView f) {
  (void)s, (void)f;
  at(k, 5);
  CtVal i = op2(k, CT_OP_SUB, tid(k, 0), num(k, 3));
  store_at(k, g, at1(k, i), f32(k, 1));
}
static void read_shared(Kit *k, CtView g, CtView s, CtView f) {
  (void)f;
  at(k, 6);
  CtVal i = mul(k, tid(k, 0), num(k, 2)); /* lane 20: 40 = (0,8) */
  store_at(k, g, at1(k, tid(k, 0)), ct_ir_load(&k->ir, s.buf, i));
}
static void write_registers(Kit *k, CtView g, CtView s, CtView f) {
  (void)g, (void)s;
  at(k, 7);
  CtVal i = op2(k, CT_OP_FLOORDIV, tid(k, 0), num(k, 3)); /* lane 18: 6 = (0,3) */
  ct_ir_store(&k->ir, f.buf, i, f32(k, 1));
}
static void copy_tile(Kit *k, CtView g, CtView s, CtView f) {
  (void)s;
  at(k, 8);
  CtView from = moved(k, g, lay(k, "(2,3):(1,2)"), dyn(k, tid(k, 0)), "from");
  copy(k, from, f); /* lane 27: 27 + 5 = 32 */
}
static void read_one(Kit *k, CtView g, CtView s, CtView f) {
  (void)s, (void)f;
  at(k, 9);
  CtVal far = mul(k, ct_ir_axis(&k->ir, CT_OP_GDIM, 0), num(k, 99));
  CtVal some = ct_ir_if(&k->ir, lt(k, num(k, 20), tid(k, 0)));
  store_at(k, g, at1(k, tid(k, 0)), load_at(k, g, at1(k, far)));
  ct_ir_end(&k->ir, some);
}
static void gather(Kit *k, CtView g, CtView s, CtView f) {
  (void)s, (void)f;
  at(k, 10);
  CtVal v = load_at(k, g, at1(k, tid(k, 0)));
  CtVal i = add(k, ct_ir_cast(&k->ir, v, CT_i32), mul(k, tid(k, 0), tid(k, 0)));
  store_at(k, g, at1(k, i), f32(k, 1)); /* lane 6: 36 */
}

static void test_bounds_everywhere(void) {
  expect_bounds(write_before, "k.lua:5: out of bounds: write of g at (-3), extent (32), by thread "
                              "(0,0,0) of block (0,0,0)");
  expect_bounds(read_shared, "k.lua:6: out of bounds: read of s at (0,8), extent (4,8), by thread "
                             "(20,0,0) of block (0,0,0)");
  expect_bounds(write_registers, "k.lua:7: out of bounds: write of f at (0,3), extent (2,3), by "
                                 "thread (18,0,0) of block (0,0,0)");
  expect_bounds(copy_tile, "k.lua:8: out of bounds: read of g at (32), extent (32), by thread "
                           "(27,0,0) of block (0,0,0)");
  expect_bounds(read_one, "k.lua:9: out of bounds: read of g at (99), extent (32), by thread "
                          "(21,0,0) of block (0,0,0)");
  expect_bounds(gather,
                "k.lua:10: out of bounds: write of g at (36), extent (32), by thread (6,0,0) "
                "of block (0,0,0)");
}

/* --- other errors ------------------------------------------------------------------------------------------ */

static void test_zero(void) {
  Run r;
  Kit *k = &r.k;
  int32_t data[64];
  int64_t n = 64;
  for (int mod = 0; mod < 2; mod++) {
    kit_begin(k, "zero", 0, 64, 1);
    at(k, 2);
    CtView x = tensor(k, "x", CT_i32, "(?)", "(1)");
    CtVal d = op2(k, CT_OP_SUB, tid(k, 0), num(k, 40));
    at(k, 3);
    CtVal v = op2(k, mod ? CT_OP_FLOORMOD : CT_OP_FLOORDIV, num(k, 7), d);
    store_at(k, x, at1(k, tid(k, 0)), v);
    lower(&r);
    give(&r, 0, data, n, &n);
    IS_INT(run(&r, 1), CT_EINVAL, "integer division by zero is an error");
    IS_STR(message(&r.err),
           mod ? "zero.lua:3: %: the divisor is 0, by thread (40,0,0) of block (0,0,0)"
               : "zero.lua:3: //: the divisor is 0, by thread (40,0,0) of block (0,0,0)",
           "and says where");
    done(&r);
  }
  kit_begin(k, "step", 0, 64, 1);
  at(k, 2);
  CtVal step = i32_of(k, "step");
  at(k, 3);
  CtVal loop = ct_ir_for(&k->ir, num(k, 0), num(k, 9), step, 0, "i");
  at(k, 4);
  barrier(k);
  ct_ir_end(&k->ir, loop);
  lower(&r);
  IS_INT(run(&r, 1), CT_EINVAL, "a loop with step 0 is an error");
  IS_STR(message(&r.err), "step.lua:3: for: the step is 0, by thread (0,0,0) of block (0,0,0)",
         "and says where");
  give_number(&r, 0, -3);
  IS_INT(run(&r, 1), CT_OK, "with a negative one it may not run at all");
  done(&r);
}

/* Every cast that the check of an IR lets through has a row in the engine: lowering asserts it. */
static void test_casts(void) {
  int n = 0;
  for (CtDtype from = CT_VOID + 1; from < CT_DTYPE_COUNT; from++) {
    for (CtDtype to = CT_VOID + 1; to < CT_DTYPE_COUNT; to++) {
      Kit k;
      CtSimtProgram *program = NULL;
      kit_begin(&k, "casts", 0, 32, 1);
      at(&k, 1);
      CtView x = tensor(&k, "x", from, "(?)", "(1)"), y = tensor(&k, "y", to, "(?)", "(1)");
      CtVal v = ct_ir_load(&k.ir, x.buf, tid(&k, 0));
      v = ct_ir_word(&k.ir, CT_OP_CAST, &v); /* of one type, which it gets here */
      k.ir.insts[v].type = (uint8_t)to;
      k.ir.insts[v].facts = ct_type_facts(to);
      ct_ir_store(&k.ir, y.buf, tid(&k, 0), v);
      if (ct_ir_check(&k.ir, &k.err) == CT_OK) {
        kit_must(&k, ct_simt_lower(ct_alloc_std, &k.ir, &program, &k.err));
        n++;
      }
      ct_simt_free(program);
      ct_ir_clear(&k.ir);
    }
  }
  OK(n > 50, "%d casts that an IR may have are lowered", n);
}

/* What the threads of all blocks need is computed once, before them. If that fails, no block runs: its values are
   not there. */
static void test_zero_before_blocks(void) {
  Run r;
  Kit *k = &r.k;
  kit_begin(k, "early", 0, 64, 1);
  at(k, 1);
  CtView out = tensor(k, "out", CT_i32, "(?)", "(1)");
  CtVal n = ct_ir_number(&k->ir, "n", CT_i32, (CtFacts){1, 100, 1}); /* as the caller promises */
  at(k, 2);
  store_at(k, out, at1(k, tid(k, 0)), num(k, 1));
  at(k, 3);
  store_at(k, out, at1(k, op2(k, CT_OP_FLOORMOD, tid(k, 0), n)), num(k, 2));
  lower(&r);
  int32_t data[64] = {0};
  int64_t size = 64;
  give(&r, 0, data, size, &size);
  give_number(&r, 1, 0);
  r.launch.grid[0] = 3;
  IS_INT(run(&r, 1), CT_EINVAL, "a divisor that is 0 though it never is");
  IS_STR(message(&r.err), "early.lua:3: %: the divisor is 0, by thread (0,0,0) of block (0,0,0)",
         "with the operation");
  OK(data[0] == 0 && data[63] == 0, "and no block ran");
  done(&r);
}

static void test_escape(void) {
  Kit k;
  CtSimtProgram *p;
  kit_begin(&k, "escape", 0, 32, 1);
  at(&k, 7);
  ct_ir_escape(&k.ir, CT_VOID, "__nanosleep(100);", 0, NULL, NULL);
  kit_must(&k, ct_ir_finish(&k.ir, &k.err));
  IS_INT(ct_simt_lower(ct_alloc_std, &k.ir, &p, &k.err), CT_EUNSUPPORTED, "CUDA C is refused");
  IS_STR(message(&k.err),
         "escape.lua:7: cuda[[...]]: the CPU engine cannot run CUDA C; give a Lua twin or run on a "
         "CUDA device",
         "at its line");
  ct_ir_clear(&k.ir);
}

static void test_open(void) {
  CtSimtEngine *e;
  CtErr err;
  IS_INT(ct_simt_open(ct_alloc_std, 0, "sse9", &e, &err), CT_EUNSUPPORTED, "an unknown set");
  IS_STR(err.msg,
         "CPU engine: this CPU or build has no instruction set 'sse9'; expected base, avx2 or "
         "avx512, or none for the best",
         "is named");
  IS_INT(ct_simt_open(ct_alloc_std, -1, NULL, &e, &err), CT_EINVAL, "-1 threads are refused");
  e = open_engine(0);
  OK(ct_simt_threads(e) >= 1, "as many threads as cores: %d, with %s", ct_simt_threads(e),
     ct_simt_isa(e));
  ct_simt_close(e);
  ct_simt_close(NULL);
  e = open_engine(5);
  IS_INT(ct_simt_threads(e), has_threads() ? 5 : 1, "or as many as asked for");
  ct_simt_close(e);
}

/* --- interrupts ----------------------------------------------------------------------------------------------- */

static void *interrupt_soon(void *flag) {
  nanosleep(&(struct timespec){.tv_nsec = 20 * 1000 * 1000}, NULL);
  __atomic_store_n((int *)flag, 1, __ATOMIC_RELAXED);
  return NULL;
}

static void build_endless(Kit *k, int kind) {
  kit_begin(k, "endless", 0, 64, 1);
  at(k, 2);
  CtVal far = i32_of(k, "far");
  CtView x = tensor(k, "x", CT_i32, "(?)", "(1)");
  CtVal stop = kind == 1 ? add(k, far, tid(k, 0)) : far;
  CtVal loop =
      kind == 2 ? ct_ir_loop(&k->ir) : ct_ir_for(&k->ir, num(k, 0), stop, num(k, 1), 0, "i");
  CtVal var = ct_ir_var(&k->ir, CT_i32, "v");
  ct_ir_set(&k->ir, var, kind == 2 ? far : loop);
  if (kind == 2) { /* it reads what it writes, so the engine cannot know that it is endless */
    store_at(k, x, at1(k, tid(k, 0)), load_at(k, x, at1(k, tid(k, 0))));
  }
  ct_ir_end(&k->ir, loop);
  store_at(k, x, at1(k, tid(k, 0)), ct_ir_get(&k->ir, var));
}

static void test_interrupt(void) {
  static const char *const what[] = {"a loop", "a loop of varying length", "an endless loop"};
  for (int kind = 0; kind < 3; kind++) {
    Run r;
    pthread_t thread;
    int flag = 0;
    build_endless(&r.k, kind);
    lower(&r);
    int32_t data[64];
    give_number(&r, 0, INT32_MAX - 100);
    give(&r, 1, data, 64, &(int64_t){64});
    r.launch.interrupt = &flag;
    r.launch.grid[0] = 1000;
    pthread_create(&thread, NULL, interrupt_soon, &flag);
    IS_INT(run(&r, 2), CT_EINTERRUPTED, "%s is interrupted", what[kind]);
    IS_STR(r.err.msg, "endless: interrupted", "with a message");
    pthread_join(thread, NULL);
    done(&r);
  }
}

/* --- memory ------------------------------------------------------------------------------------------------------ */

/* Fails the n-th request; counts what is not given back. */
typedef struct Failing {
  int64_t left;
  int64_t bytes;
} Failing;

static void *failing(void *ud, void *ptr, size_t old_bytes, size_t new_bytes) {
  Failing *f = ud;
  if (new_bytes > 0 && f->left-- <= 0) {
    return NULL;
  }
  f->bytes += (int64_t)new_bytes - (int64_t)old_bytes;
  return ct_alloc_std.fn(ct_alloc_std.ud, ptr, old_bytes, new_bytes);
}

/* Opens, lowers, runs; the status of the first failure. */
static CtStatus whole_life(Run *r, CtAlloc alloc) {
  CtSimtEngine *e;
  CtSimtProgram *p;
  CtErr err;
  CtStatus status = ct_simt_open(alloc, 2, NULL, &e, &err);
  if (status != CT_OK) {
    return status;
  }
  status = ct_simt_lower(alloc, &r->k.ir, &p, &err);
  if (status == CT_OK) {
    status = ct_simt_run(e, p, &r->launch, &err);
    ct_simt_free(p);
  }
  ct_simt_close(e);
  return status;
}

static void test_out_of_memory(void) {
  Run r;
  static float a[128 * 8], b[128 * 8], c[128 * 128];
  build_moye_matmul(&r.k, 80);
  lower(&r);
  give(&r, 0, a, 128 * 8, (int64_t[]){128, 8, 128});
  give(&r, 1, b, 128 * 8, (int64_t[]){128, 8, 128});
  give(&r, 2, c, 128 * 128, (int64_t[]){128, 128, 128});
  int n = 0, leaks = 0, others = 0;
  CtStatus status = CT_ENOMEM;
  while (status != CT_OK && n < 1000) {
    Failing f = {.left = n++};
    status = whole_life(&r, (CtAlloc){failing, &f});
    leaks += f.bytes != 0;
    others += status != CT_OK && status != CT_ENOMEM;
  }
  OK(status == CT_OK && n > 10, "each of %d requests for memory may fail", n - 1);
  IS_INT(leaks, 0, "nothing leaks");
  IS_INT(others, 0, "and all of them say that memory ran out");
  done(&r);
}

/* --- in parallel --------------------------------------------------------------------------------------------------- */

typedef struct Client {
  CtSimtEngine *e;
  int wrong;
  int32_t add;
} Client;

/* x[i] += add for 10000 elements, 40 times. */
static void *client_main(void *ud) {
  Client *c = ud;
  Run r;
  Kit *k = &r.k;
  static _Thread_local int32_t data[10000];
  int64_t n = 10000;
  kit_begin(k, "client", 0, 128, 1);
  at(k, 2);
  CtView x = tensor(k, "x", CT_i32, "(?)", "(1)");
  CtVal by = i32_of(k, "by");
  CtVal i = add(k, mul(k, bid(k, 0), num(k, 128)), tid(k, 0));
  CtVal inside = ct_ir_if(&k->ir, lt(k, i, x.layout.shape[1].i.id));
  store_at(k, x, at1(k, i), add(k, load_at(k, x, at1(k, i)), by));
  ct_ir_end(&k->ir, inside);
  lower(&r);
  give(&r, 0, data, n, &n);
  give_number(&r, 1, c->add);
  r.launch.grid[0] = 79;
  for (int j = 0; j < 40; j++) {
    c->wrong += run_on(&r, c->e) != CT_OK;
  }
  for (int j = 0; j < n; j++) {
    c->wrong += data[j] != 40 * c->add;
  }
  done(&r);
  return NULL;
}

static void test_parallel(bool one_engine) {
  enum { N = 4 };
  Client clients[N];
  pthread_t threads[N];
  CtSimtEngine *shared = one_engine ? open_engine(2) : NULL;
  for (int i = 0; i < N; i++) {
    clients[i] = (Client){.e = one_engine ? shared : open_engine(2), .add = i + 1};
    pthread_create(&threads[i], NULL, client_main, &clients[i]);
  }
  int wrong = 0;
  for (int i = 0; i < N; i++) {
    pthread_join(threads[i], NULL);
    wrong += clients[i].wrong;
    if (!one_engine) {
      ct_simt_close(clients[i].e);
    }
  }
  if (one_engine) {
    ct_simt_close(shared);
  }
  IS_INT(wrong, 0, "%d threads launch at once on %s", N, one_engine ? "one engine" : "their own");
}

/* --- the listing ------------------------------------------------------------------------------------------------------ */

static void test_print(void) {
  Run r;
  CtText text;
  build_saxpy(&r.k, 80);
  lower(&r);
  ct_text_init(&text, ct_alloc_std);
  list_program(r.prog, &text);
  const char *s = ct_text_str(&text);
  HAS_STR(s, "saxpy: 256 threads, ", "the listing begins with the kernel");
  HAS_STR(s, "; saxpy.lua:4\n", "it has the script's lines");
  HAS_STR(s, "LOAD_4_p       v", "and instructions");
  HAS_STR(s, ", x\n", "with the names of tensors");
  HAS_STR(s, "FMA_f32_", "a product and a sum are fused");
  ct_text_clear(&text);
  done(&r);
}

/* --- 64-bit offsets, memory that nobody wrote ---------------------------------------------------------------------------- */

static void test_wide_offsets(void) {
  Run r;
  Kit *k = &r.k;
  int64_t data[96] = {0}, n = 96;
  kit_begin(k, "wide", 0, 32, 1);
  at(k, 2);
  CtView x = tensor(k, "x", CT_i64, "(?)", "(1)");
  CtVal by = ct_ir_number(&k->ir, "by", CT_i64, (CtFacts){INT64_MIN, INT64_MAX, 1});
  CtVal t = ct_ir_cast(&k->ir, tid(k, 0), CT_i64);
  CtVal i = add(k, mul(k, t, ct_ir_const_int(&k->ir, CT_i64, 3)), by);
  at(k, 3);
  ct_ir_store(&k->ir, x.buf, i, t);
  lower(&r);
  give(&r, 0, data, n, &n);
  give_number(&r, 1, 2);
  bool ok = run(&r, 1) == CT_OK;
  for (int j = 0; j < 32; j++) {
    ok = ok && data[3 * j + 2] == j;
  }
  OK(ok, "offsets of 64 bits");
  give_number(&r, 1, INT64_MAX - 40);
  IS_INT(run(&r, 1), CT_EINVAL, "that wrap around");
  IS_STR(message(&r.err),
         "wide.lua:3: out of bounds: write of x at (9223372036854775767), extent (96), by thread "
         "(0,0,0) of block (0,0,0)",
         "are found");
  done(&r);
}

static void test_unset_memory(void) {
  Run r;
  Kit *k = &r.k;
  float data[64];
  int64_t n = 64;
  kit_begin(k, "unset", 0, 32, 1);
  at(k, 2);
  CtView x = tensor(k, "x", CT_f32, "(?)", "(1)");
  CtView s = ct_ir_shared(&k->ir, "s", CT_f32, lay(k, "32:1"));
  CtView f = ct_ir_fragment(&k->ir, "f", CT_f32, lay(k, "2:1"));
  store_at(k, x, at1(k, tid(k, 0)), ct_ir_load(&k->ir, s.buf, tid(k, 0)));
  CtVal v = ct_ir_load(&k->ir, f.buf, num(k, 1));
  store_at(k, x, at1(k, add(k, tid(k, 0), num(k, 32))), v);
  ct_ir_store(&k->ir, s.buf, tid(k, 0), f32(k, 1));
  ct_ir_store(&k->ir, f.buf, num(k, 1), f32(k, 1));
  lower(&r);
  give(&r, 0, data, n, &n);
  r.launch.grid[0] = 3;
  bool ok = run(&r, 1) == CT_OK;
  for (int i = 0; i < n; i++) {
    ok = ok && isnan(data[i]);
  }
  OK(ok, "shared memory and registers that nobody wrote are NaN in each block");
  done(&r);
}

/* --- matrix products ------------------------------------------------------------------------------- */

/* C = A * B' column-major, or A * B row-major; the product by one fmaf after the other. */
static int wrong_products(bool row_major, int m, int n, int k, const float *a, const float *b,
                          const float *c) {
  int wrong = 0;
  for (int i = 0; i < m; i++) {
    for (int j = 0; j < n; j++) {
      float sum = 0;
      for (int l = 0; l < k; l++) {
        sum = row_major ? fmaf(a[i * k + l], b[l * n + j], sum)
                        : fmaf(a[i + l * m], b[j + l * n], sum);
      }
      wrong += memcmp(&sum, &c[row_major ? i * n + j : i + j * m], sizeof sum) != 0;
    }
  }
  return wrong;
}

static void test_matmul(const char *isa, bool row_major) {
  enum { M = 128, N = 256, K = 48 };
  static float a[M * K], b[N * K], c[M * N];
  CtSimtEngine *e;
  Run r;
  for (int i = 0; i < N * K; i++) {
    a[i % (M * K)] = (float)(i * 37 % 101) / 7 - 5;
    b[i] = (float)(i * 53 % 89) / 3 - 11;
  }
  memset(c, 0, sizeof c);
  (row_major ? build_notebook : build_moye_matmul)(&r.k, 80);
  lower(&r);
  if (ct_simt_open(ct_alloc_std, 2, isa, &e, &r.err) != CT_OK) {
    SKIP(1, "this CPU has no such instruction set");
    done(&r);
    return;
  }
  give(&r, 0, a, M * K, row_major ? (int64_t[]){M, K, K} : (int64_t[]){M, K, M});
  give(&r, 1, b, N * K, row_major ? (int64_t[]){K, N, N} : (int64_t[]){N, K, N});
  give(&r, 2, c, M * N, row_major ? (int64_t[]){M, N, N} : (int64_t[]){M, N, M});
  r.launch.grid[0] = row_major ? N / 16 : M / 128;
  r.launch.grid[1] = row_major ? M / 16 : N / 128;
  bool ran = run_on(&r, e) == CT_OK;
  OK(ran && wrong_products(row_major, M, N, K, a, b, c) == 0, "%s: the %s product, bit for bit",
     isa, row_major ? "notebook's" : "tiled");
  ct_simt_close(e);
  done(&r);
}

/* x[t] = t + the sum of s[t % 8 + 8 * i] * s[t / 8 + 7 - i] for i < n, by the threads t < threads. */
static void build_sum(Kit *k, int n, int threads) {
  kit_begin(k, "sum", 0, 32, 1);
  at(k, 2);
  CtView x = tensor(k, "x", CT_f32, "(?)", "(1)");
  CtView s = ct_ir_shared(&k->ir, "s", CT_f32, lay(k, "39:1"));
  CtVal t = tid(k, 0), c = ct_ir_cast(&k->ir, t, CT_f32);
  CtVal row = op2(k, CT_OP_FLOORMOD, t, num(k, 8)), col = op2(k, CT_OP_FLOORDIV, t, num(k, 8));
  ct_ir_store(&k->ir, s.buf, t, c);
  ct_ir_store(&k->ir, s.buf, add(k, row, num(k, 31)),
              add(k, f32(k, 31), ct_ir_cast(&k->ir, row, CT_f32)));
  barrier(k);
  CtVal some = ct_ir_if(&k->ir, lt(k, t, num(k, threads)));
  at(k, 3);
  for (int i = 0; i < n; i++) {
    CtVal u = ct_ir_load(&k->ir, s.buf, add(k, row, num(k, 8 * i)));
    CtVal v = ct_ir_load(&k->ir, s.buf, add(k, col, num(k, 7 - i)));
    c = ct_ir_fma(&k->ir, u, v, c);
  }
  store_at(k, x, at1(k, t), c);
  ct_ir_end(&k->ir, some);
}

/* An unrolled sum of products is one instruction; it checks every element that a thread reads. */
static void test_sum_of_products(int n, int threads, const char *error) {
  Run r;
  float data[32] = {0};
  int64_t size = 32;
  build_sum(&r.k, n, threads);
  lower(&r);
  give(&r, 0, data, size, &size);
  CtText text;
  ct_text_init(&text, ct_alloc_std);
  list_program(r.prog, &text);
  HAS_STR(ct_text_str(&text), "DOT_f32", "a sum of products is one instruction");
  ct_text_clear(&text);
  CtStatus status = run(&r, 1);
  if (error != NULL) {
    IS_INT(status, CT_EINVAL, "one that leaves its tensor is an error");
    IS_STR(message(&r.err), error, "as for any other read");
  } else {
    int wrong = status != CT_OK;
    for (int t = 0; t < 32; t++) {
      float want = t < threads ? (float)t : 0;
      for (int i = 0; i < n && t < threads; i++) {
        want = fmaf((float)(t % 8 + 8 * i), (float)(t / 8 + 7 - i), want);
      }
      wrong += data[t] != want;
    }
    IS_INT(wrong, 0, "%d products for %d threads", n, threads);
  }
  done(&r);
}

int main(void) {
  test_indices();
  test_barriers();
  test_barrier_mismatch();
  test_bounds();
  test_bounds_matrix(false);
  test_bounds_matrix(true);
  test_bounds_everywhere();
  test_zero();
  test_zero_before_blocks();
  test_casts();
  test_escape();
  test_open();
  test_out_of_memory();
  if (has_threads()) {
    test_interrupt();
    test_parallel(false);
    test_parallel(true);
  } else {
    SKIP(8, "no second thread");
  }
  test_print();
  test_wide_offsets();
  test_unset_memory();
  static const char *const isas[] = {"base", "avx2", "avx512"};
  for (size_t i = 0; i < CT_ARRAY_LEN(isas); i++) {
    test_matmul(isas[i], false);
    test_matmul(isas[i], true);
  }
  test_sum_of_products(4, 32, NULL);
  test_sum_of_products(4, 5, NULL);
  test_sum_of_products(5, 7, NULL); /* the others would leave s */
  test_sum_of_products(5, 32,
                       "sum.lua:3: out of bounds: read of s at 39, extent 39, by thread (7,0,0) of "
                       "block (0,0,0)");
  test_sum_of_products(9, 1,
                       "sum.lua:3: out of bounds: read of s at 40, extent 39, by thread (0,0,0) of "
                       "block (0,0,0)");
  test_sum_of_products(5, 1, NULL);
  return done_testing();
}
