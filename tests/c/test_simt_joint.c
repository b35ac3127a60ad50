/* test_simt_joint.c: launches of several ranks that run at once on the CPU engine (ct_simt_run_joint): flags between
   ranks, the order of a rank's launches, deadlocks and failures with their ranks. */
#include "emit_kernels.h"

#include "runtime/simt/simt.h"

#include "tap.h"

enum { MAX_RANKS = 8, BLOCKS = 300, ROUNDS = 20 };

typedef struct Program {
  Kit k;
  CtSimtProgram *prog;
} Program;

/* A launch of a rank, with the memory of two tensors. */
typedef struct Launch {
  CtSlotValue slots[8];
  int64_t n_elems[4];
  CtSimtLaunch launch;
} Launch;

static void lower(Program *p) {
  kit_must(&p->k, ct_ir_finish(&p->k.ir, &p->k.err));
  kit_must(&p->k, ct_simt_lower(ct_alloc_std, &p->k.ir, &p->prog, &p->k.err));
}

static void done(Program *p) {
  ct_simt_free(p->prog);
  ct_ir_clear(&p->k.ir);
}

static CtTuple at1(Kit *k, CtVal i) { return crd(k, 1, (CtInt[]){dyn(k, i)}); }

static void give(const Program *p, Launch *l, int param, int32_t *data, int64_t n) {
  l->slots[p->k.ir.params[param].first_slot].ptr = data;
  l->n_elems[param] = n;
}

static CtSimtEntry entry_of(const Program *p, Launch *l, int rank, int32_t *mine, int32_t *theirs,
                            int64_t blocks) {
  give(p, l, 0, mine, BLOCKS);
  give(p, l, 1, theirs, BLOCKS);
  l->launch = (CtSimtLaunch){.grid = {blocks, 1, 1}, .slots = l->slots, .n_elems = l->n_elems};
  return (CtSimtEntry){p->prog, &l->launch, rank};
}

/* Waits at line 7 until mine[at] is not less than `least`. */
static void wait_for(Kit *k, CtView mine, CtVal at_, CtVal least) {
  at(k, 7);
  CtVal loop = ct_ir_loop(&k->ir);
  CtVal value = ct_ir_atomic_as(&k->ir, CT_OP_ATOMIC_LOAD, mine.buf, at_, 0, 0, CT_ORDER_SYS);
  CtVal leave = ct_ir_if(&k->ir, op2(k, CT_OP_LE, least, value));
  ct_ir_break(&k->ir, loop);
  ct_ir_end(&k->ir, leave);
  ct_ir_end(&k->ir, loop);
}

/* Block b adds 1 to theirs[b], then waits for mine[b], or mine[BLOCKS-1-b] if `crosses`. */
static void build_exchange(Program *p, bool crosses) {
  Kit *k = &p->k;
  kit_begin(k, "exchange", 0, 32, 1);
  CtView mine = tensor(k, "mine", CT_i32, "(300)", "(1)");
  CtView theirs = tensor(k, "theirs", CT_i32, "(300)", "(1)");
  CtVal b = bid(k, 0), first = ct_ir_if(&k->ir, op2(k, CT_OP_EQ, tid(k, 0), num(k, 0)));
  (void)ct_ir_atomic_as(&k->ir, CT_OP_ATOMIC_ADD, theirs.buf, b, num(k, 1), 0, CT_ORDER_SYS);
  CtVal from = crosses ? op2(k, CT_OP_SUB, num(k, BLOCKS - 1), b) : b;
  wait_for(k, mine, from, num(k, 1));
  ct_ir_end(&k->ir, first);
  lower(p);
}

static CtStatus run_joint(int n_threads, const CtSimtEntry *entries, size_t n, CtErr *err) {
  CtSimtEngine *e;
  if (ct_simt_open(ct_alloc_std, n_threads, NULL, &e, err) != CT_OK) {
    printf("Bail out! %s\n", err->msg);
    exit(1);
  }
  CtStatus status = ct_simt_run_joint(e, entries, n, err);
  ct_simt_close(e);
  return status;
}

/* Each rank tells the next one; the last tells the first. */
static void test_exchange(bool is_cooperative) {
  static int32_t flags[MAX_RANKS][BLOCKS];
  static Launch launches[MAX_RANKS * 2];
  Program p;
  CtErr err;
  build_exchange(&p, is_cooperative);
  for (int n = 1; n <= MAX_RANKS; n += n < 3 ? 1 : 5) {
    int wrong = 0;
    for (int round = 0; round < ROUNDS; round++) {
      CtSimtEntry entries[MAX_RANKS * 2];
      memset(flags, 0, sizeof flags);
      for (int i = 0; i < 2 * n; i++) { /* two launches of each rank */
        int r = i / 2;
        entries[i] = entry_of(&p, &launches[i], r, flags[r], flags[(r + 1) % n], BLOCKS);
        launches[i].launch.is_cooperative = is_cooperative;
      }
      wrong += run_joint(1 + round % 4, entries, (size_t)n * 2, &err) != CT_OK;
      for (int i = 0; i < n * BLOCKS; i++) {
        wrong += flags[i / BLOCKS][i % BLOCKS] != 2;
      }
    }
    IS_INT(wrong, 0, "%d ranks, two launches each%s: each block waits for one of the rank before",
           n, is_cooperative ? ", cooperative, for any block" : "");
  }
  done(&p);
}

/* mine[b] = 10 * mine[b] + 3, by ordinary accesses. */
static void build_step(Program *p) {
  Kit *k = &p->k;
  kit_begin(k, "step", 0, 1, 1);
  CtView mine = tensor(k, "mine", CT_i32, "(300)", "(1)");
  CtView theirs = tensor(k, "theirs", CT_i32, "(300)", "(1)");
  CtVal b = bid(k, 0), v = load_at(k, mine, at1(k, b));
  store_at(k, mine, at1(k, b), add(k, op2(k, CT_OP_MUL, v, num(k, 10)), num(k, 3)));
  (void)theirs;
  lower(p);
}

static void test_order(void) {
  static int32_t flags[2][BLOCKS];
  Launch launches[6];
  CtSimtEntry entries[6];
  Program p;
  CtErr err;
  int wrong = 0;
  build_step(&p);
  for (int round = 0; round < ROUNDS; round++) {
    memset(flags, 0, sizeof flags);
    for (int i = 0; i < 6; i++) {
      entries[i] = entry_of(&p, &launches[i], i / 3, flags[i / 3], flags[i / 3], BLOCKS);
    }
    wrong += run_joint(1 + round % 4, entries, 6, &err) != CT_OK;
    for (int i = 0; i < 2 * BLOCKS; i++) {
      wrong += flags[i / BLOCKS][i % BLOCKS] != 333;
    }
  }
  IS_INT(wrong, 0, "the launches of a rank run one after the other");
  done(&p);
}

/* Rank 0 waits for more than rank 1 gives. */
static void test_deadlock(void) {
  static int32_t flags[3][BLOCKS];
  Launch launches[3];
  CtSimtEntry entries[3];
  Program p, step;
  CtErr err = {0};
  int wrong = 0;
  build_exchange(&p, false);
  build_step(&step);
  for (int round = 0; round < ROUNDS; round++) {
    memset(flags, 0, sizeof flags);
    entries[0] = entry_of(&p, &launches[0], 3, flags[0], flags[1], 4);
    entries[1] = entry_of(&step, &launches[1], 3, flags[2], flags[2], 4);
    entries[2] = entry_of(&p, &launches[2], 5, flags[1], flags[1], 4);
    wrong += run_joint(1 + round % 4, entries, 3, &err) != CT_EINVAL || err.line != 7 ||
             strstr(err.msg, "deadlock: thread (0,0,0) of block (0,0,0) of rank 3 repeats the loop "
                             "at line 7") == NULL ||
             strstr(err.msg, "; rank 5 has ended") == NULL || flags[2][0] != 0;
  }
  IS_INT(wrong, 0, "a deadlock names the first rank that waits, and what the others do");
  printf("# %s\n", err.msg);
  done(&p);
  done(&step);
}

/* A rank whose launch fails ends the wait of the others; its next launch does not begin. */
static void test_failure(void) {
  static int32_t flags[4][BLOCKS];
  Launch launches[3];
  CtSimtEntry entries[3];
  Program p, step;
  CtErr err = {0};
  int wrong = 0;
  build_exchange(&p, false);
  build_step(&step);
  for (int round = 0; round < ROUNDS; round++) {
    memset(flags, 0, sizeof flags);
    entries[0] = entry_of(&p, &launches[0], 0, flags[0], flags[1], 4);
    entries[1] = entry_of(&step, &launches[1], 1, flags[3], flags[3], 4);
    launches[1].n_elems[0] = 2;
    entries[2] = entry_of(&step, &launches[2], 1, flags[2], flags[2], 4);
    wrong += run_joint(1 + round % 4, entries, 3, &err) != CT_EINVAL ||
             strstr(err.msg, "out of bounds: read of mine") == NULL ||
             strstr(err.msg, "by thread (0,0,0) of block (2,0,0) of rank 1") == NULL ||
             flags[2][0] != 0;
  }
  IS_INT(wrong, 0,
         "a failure names its rank, ends the others' wait and skips the rank's next launch");
  printf("# %s\n", err.msg);
  done(&p);
  done(&step);
}

static volatile int interrupt_flag = 1;

static void test_interrupt(void) {
  static int32_t flags[2][BLOCKS];
  Launch launches[2];
  CtSimtEntry entries[2];
  Program p;
  CtErr err;
  build_exchange(&p, false);
  for (int i = 0; i < 2; i++) {
    entries[i] = entry_of(&p, &launches[i], i, flags[0], flags[1], BLOCKS);
    launches[i].launch.interrupt = &interrupt_flag;
  }
  IS_INT(run_joint(2, entries, 2, &err), CT_EINTERRUPTED, "an interrupt ends all launches");
  IS_INT(run_joint(2, entries, 0, &err), CT_OK, "no launch at all");
  done(&p);
}

static void test_many(void) {
  enum { MOST = 1 << 14 };
  static CtSimtEntry entries[MOST + 1];
  static int32_t flags[BLOCKS];
  Launch launch;
  Program p;
  CtErr err;
  build_step(&p);
  for (int i = 0; i <= MOST; i++) {
    entries[i] = entry_of(&p, &launch, 0, flags, flags, 1);
  }
  IS_INT(run_joint(2, entries, MOST, &err), CT_OK, "16384 launches of a rank");
  OK(run_joint(2, entries, MOST + 1, &err) == CT_EINVAL && strstr(err.msg, "at most 16384") != NULL,
     "one more is an error: %s", err.msg);
  done(&p);
}

/* An allocator that fails from the `left`-th allocation on. */
static void *limited(void *ud, void *p, size_t old_bytes, size_t new_bytes) {
  int *left = ud;
  if (new_bytes > 0 && (*left)-- <= 0) {
    return NULL;
  }
  return ct_alloc_std.fn(ct_alloc_std.ud, p, old_bytes, new_bytes);
}

static void test_memory(void) {
  static int32_t flags[2][BLOCKS];
  Launch launches[2];
  CtSimtEntry entries[2];
  Program p;
  CtErr err;
  build_exchange(&p, false);
  int n_failed = 0;
  CtStatus status = CT_ENOMEM;
  for (int n = 0; n < 50 && status != CT_OK; n++) {
    int left = n;
    CtSimtEngine *e;
    memset(flags, 0, sizeof flags);
    for (int i = 0; i < 2; i++) {
      entries[i] = entry_of(&p, &launches[i], i, flags[i], flags[1 - i], 4);
    }
    status = ct_simt_open((CtAlloc){limited, &left}, 2, NULL, &e, &err);
    if (status == CT_OK) {
      status = ct_simt_run_joint(e, entries, 2, &err);
      ct_simt_close(e);
    }
    n_failed += status == CT_ENOMEM;
  }
  OK(status == CT_OK && n_failed > 4, "memory that runs out at any place is an error");
  done(&p);
}

int main(void) {
  test_exchange(false);
  test_exchange(true);
  test_order();
  test_deadlock();
  test_failure();
  test_interrupt();
  test_many();
  test_memory();
  return done_testing();
}
