/* test_simt_check.c: `check` of the CPU engine from C: what scripts cannot make (misaligned vectors), memory
   that runs out, and whether simt_access.h tells all that instructions write: every byte of memory is
   compared before and after each instruction. */
#include "emit_kernels.h"

#include "runtime/watch/check.h"
#include "runtime/simt/run/simt_watch.h"

#include "tap.h"

enum { MAX_PARAMS = 4, MAX_BYTES = 1 << 19, PARAM_FLOATS = 1 << 14 };

typedef struct Run {
  Kit k;
  CtSimtProgram *prog;
  CtSlotValue slots[32];
  int64_t n_elems[MAX_PARAMS];
  CtSimtLaunch launch;
  CtErr err;
} Run;

static void lower(Run *r) {
  kit_must(&r->k, ct_ir_finish(&r->k.ir, &r->k.err));
  kit_must(&r->k, ct_simt_lower(ct_alloc_std, &r->k.ir, &r->prog, &r->k.err));
  r->launch = (CtSimtLaunch){.grid = {1, 1, 1}, .slots = r->slots, .n_elems = r->n_elems};
}

static CtStatus run(Run *r, CtAlloc alloc, int64_t x, int64_t y, CtSimtWatch *watch) {
  CtSimtEngine *e;
  kit_must(&r->k, ct_simt_open(ct_alloc_std, 1, NULL, &e, &r->k.err));
  (void)alloc;
  r->launch.grid[0] = x;
  r->launch.grid[1] = y;
  r->launch.watch = watch;
  CtStatus status = ct_simt_run(e, r->prog, &r->launch, &r->err);
  ct_simt_close(e);
  return status;
}

static void done(Run *r) {
  ct_simt_free(r->prog);
  ct_ir_clear(&r->k.ir);
}

static int first_slot(const Run *r, int param) { return (int)r->k.ir.params[param].first_slot; }

static void give(Run *r, int param, void *data, int64_t n) {
  r->slots[first_slot(r, param)].ptr = data;
  r->n_elems[param] = n;
}

/* --- misaligned vectors ------------------------------------------------------------------------------ */

/* The builder is told of 16 bytes. */
static void test_misaligned(void) {
  static _Alignas(16) float x[64];
  Run r = {.slots = {{0}}};
  Kit *k = &r.k;
  CtCheck *check;
  kit_begin(k, "vectors", 0, 1, 1);
  at(k, 1);
  CtView a = tensor(k, "a", CT_f32, "(32)", "(1)");
  CtView f = ct_ir_fragment(&k->ir, "f", CT_f32, lay(k, "4"));
  a.layout = lay(k, "4");
  at(k, 7);
  copy(k, a, f);
  copy(k, f, a);
  lower(&r);
  for (int by = 0; by < 2; by++) {
    give(&r, 0, x + by, 32);
    kit_must(k, ct_check_open(ct_alloc_std, &(CtCheckOptions){.nan = false}, &check, &k->err));
    OK(run(&r, ct_alloc_std, 1, 1, ct_check_watch(check)) == CT_OK, "it runs");
    IS_INT(ct_check_count(check), by == 0 ? 0 : 1, "%d floats off: one finding or none", by);
    if (by == 1 && ct_check_count(check) == 1) {
      const CtFinding *found = ct_check_finding(check, 0);
      IS_STR(found->text,
             "misaligned: read of a at (0), extent (32), by thread (0,0,0) of block (0,0,0), of 16 "
             "bytes at once: the address is not a multiple of that",
             "says what is misaligned");
      IS_INT(found->line, 7, "and where");
      IS_INT(found->count, 2, "read and write");
    }
    ct_check_close(check);
  }
  done(&r);
}

/* --- memory that runs out ------------------------------------------------------------------------------ */

typedef struct Scarce {
  int left, n_live;
} Scarce;

static void *scarce(void *ud, void *ptr, size_t old_bytes, size_t new_bytes) {
  Scarce *s = ud;
  if (new_bytes > 0 && s->left-- <= 0) {
    return NULL;
  }
  s->n_live += (ptr == NULL && new_bytes > 0) - (ptr != NULL && new_bytes == 0);
  return ct_alloc_std.fn(ct_alloc_std.ud, ptr, old_bytes, new_bytes);
}

/* Threads read what others wrote, shared and global. */
static void build_faulty(Run *r) {
  Kit *k = &r->k;
  kit_begin(k, "faulty", 0, 64, 1);
  at(k, 1);
  CtView x = tensor(k, "x", CT_f32, "(64)", "(1)");
  CtView s = ct_ir_shared(&k->ir, "s", CT_f32, lay(k, "(64)"));
  CtVal t = tid(k, 0);
  at(k, 2);
  store_at(k, s, crd(k, 1, (CtInt[]){dyn(k, t)}), load_at(k, x, crd(k, 1, (CtInt[]){dyn(k, t)})));
  at(k, 3);
  CtVal back = op2(k, CT_OP_SUB, num(k, 63), t);
  CtVal v = load_at(k, s, crd(k, 1, (CtInt[]){dyn(k, back)}));
  at(k, 4);
  store_at(k, x, crd(k, 1, (CtInt[]){dyn(k, back)}), add(k, v, f32(k, 1)));
  lower(r);
}

static void test_no_memory(void) {
  static float x[64];
  Run r = {.slots = {{0}}};
  int n = 0, n_refused = 0, n_leaks = 0;
  size_t n_found = 0;
  build_faulty(&r);
  give(&r, 0, x, 64);
  for (; n < 500 && n_found < 2; n++) {
    Scarce s = {.left = n};
    CtAlloc alloc = {scarce, &s};
    CtCheck *check = NULL;
    CtStatus status = ct_check_open(alloc, &(CtCheckOptions){.nan = false}, &check, &r.err);
    if (status == CT_OK) {
      status = run(&r, alloc, 2, 1, ct_check_watch(check));
      n_found = ct_check_count(check);
      ct_check_close(check);
    }
    n_refused += status == CT_ENOMEM;
    n_leaks += s.n_live;
  }
  OK(n_found >= 2, "with enough memory it finds both races");
  OK(n_refused > 3, "with little the launch does not take place (%d times)", n_refused);
  IS_INT(n_leaks, 0, "nothing is left behind (%d runs)", n);
  done(&r);
}

/* Threads read what the launch before has written. */
static void build_step(Run *r) {
  Kit *k = &r->k;
  kit_begin(k, "step", 0, 64, 1);
  at(k, 1);
  CtView x = tensor(k, "x", CT_f32, "(64)", "(1)");
  CtView y = tensor(k, "y", CT_f32, "(64)", "(1)");
  CtVal t = tid(k, 0);
  at(k, 2);
  store_at(k, y, crd(k, 1, (CtInt[]){dyn(k, t)}), load_at(k, x, crd(k, 1, (CtInt[]){dyn(k, t)})));
  lower(r);
}

/* y = x, and then x = y before that is over, if it has not waited. */
static size_t run_dependent(Run *r, CtAlloc alloc, CtCheck *check, CtStatus *status) {
  static float x[64], y[64];
  r->launch.may_overlap = true;
  for (int i = 0; i < 2 && *status == CT_OK; i++) {
    give(r, 0, i == 0 ? x : y, 64);
    give(r, 1, i == 0 ? y : x, 64);
    r->launch.is_dependent = i == 1;
    *status = run(r, alloc, 1, 1, ct_check_watch(check));
  }
  return ct_check_count(check);
}

static void test_no_memory_to_keep(void) {
  Run r = {.slots = {{0}}};
  int n = 0, n_leaks = 0, n_silent = 0;
  size_t n_found = 0;
  build_step(&r);
  for (; n < 500 && n_found < 2; n++) {
    Scarce s = {.left = n};
    CtAlloc alloc = {scarce, &s};
    CtCheck *check = NULL;
    CtStatus status = ct_check_open(alloc, &(CtCheckOptions){.nan = false}, &check, &r.err);
    if (status == CT_OK) {
      n_found = run_dependent(&r, alloc, check, &status);
      n_silent += status == CT_OK && n_found < 2 && !ct_check_is_partial(check);
      ct_check_close(check);
    }
    n_leaks += s.n_live;
  }
  IS_INT(n_found, 2, "with enough memory it finds what is read and what is written too early");
  IS_INT(n_silent, 0, "with little it says that something may be missing");
  IS_INT(n_leaks, 0, "nothing is left behind (%d runs)", n);
  done(&r);
}

/* --- what instructions write ----------------------------------------------------------------------------- */

typedef struct Probe {
  CtSimtWatch watch; /* first */
  CtSimtJob *job;
  char *before;
  size_t n_writes, n_unclaimed, n_silent;
  char first[64];
} Probe;

static Probe *probe_of(CtSimtWatch *w) { return (Probe *)(void *)w; }

static bool wants_memory(const CtIn *code) {
  return ct_in_roles(code)[3] == 'b' || code->u.op >= CT_SIMT_DOT_f64;
}

static CtStatus begin(CtSimtWatch *watch, CtSimtJob *job, CtErr *err) {
  (void)err;
  probe_of(watch)->job = job;
  return CT_OK;
}

/* Bytes of a buffer as the warp sees it. */
static size_t bytes_of(const CtMem *m) { return (size_t)m->n * m->elem_bytes; }

/* Claims: bytes after the copies of all buffers. */
static uint32_t before_step(CtSimtWatch *watch, const CtIn *code, const CtIn *in, CtWarp *w) {
  Probe *p = probe_of(watch);
  const CtSimtProgram *prog = p->job->program;
  char *at = p->before, *claimed = p->before + MAX_BYTES;
  char *start[16] = {0};
  memset(claimed, 0, MAX_BYTES);
  for (uint32_t b = 1; b < prog->n_bufs; b++) {
    start[b] = at;
    memcpy(at, w->mem[b].ptr, bytes_of(&w->mem[b]));
    at += bytes_of(&w->mem[b]);
  }
  CtAccess a[CT_MAX_OPERANDS];
  int n = ct_simt_accesses(code, in, w, a);
  for (int i = 0; i < n; i++) {
    for (int64_t e = 0; a[i].writes && e < a[i].n; e++) {
      for (int lane = 0; lane < CT_LANES; lane++) {
        int64_t off;
        if ((a[i].mask >> lane & 1) != 0 && ct_access_at(&a[i], e, lane, &off)) {
          size_t to = (size_t)off * a[i].mem->elem_bytes + (size_t)lane * a[i].mem->lane_bytes;
          memset(start[a[i].buf_index] + MAX_BYTES + to, 1, ct_value_bytes(a[i].buf->dtype));
        }
      }
    }
  }
  return w->mask;
}

static void after_step(CtSimtWatch *watch, const CtIn *code, const CtIn *in, CtWarp *w) {
  Probe *p = probe_of(watch);
  const CtSimtProgram *prog = p->job->program;
  const char *at = p->before;
  (void)in;
  for (uint32_t b = 1; b < prog->n_bufs; b++) {
    for (size_t i = 0; i < bytes_of(&w->mem[b]); i++, at++) {
      bool changed = *at != w->mem[b].ptr[i], claimed = at[MAX_BYTES] != 0;
      p->n_writes += changed;
      p->n_silent += claimed && !changed;
      if (changed && !claimed && p->n_unclaimed++ == 0) {
        snprintf(p->first, sizeof p->first, "%s of %s", ct_simt_rows[code->u.op].name,
                 prog->bufs[b].name);
      }
    }
  }
}

static const CtWatchOps probe_ops = {
    .wants = wants_memory, .begin = begin, .step = before_step, .after = after_step};

static void probe(Run *r, const char *name, int64_t x, int64_t y) {
  Probe p = {.watch = {&probe_ops}, .before = calloc(2, MAX_BYTES)};
  OK(run(r, ct_alloc_std, x, y, &p.watch) == CT_OK, "%s runs: %s", name, r->err.msg);
  OK(p.n_writes > 0, "%s: %zu bytes change", name, p.n_writes);
  IS_INT(p.n_unclaimed, 0, "%s: all of them by accesses that are told%s%s", name,
         p.first[0] == '\0' ? "" : "; not by ", p.first);
  OK(p.n_silent < p.n_writes, "%s: most of what is told changes (%zu bytes do not)", name,
     p.n_silent);
  free(p.before);
  done(r);
}

static float params[MAX_PARAMS][PARAM_FLOATS];

static void fill_params(void) {
  for (int i = 0; i < MAX_PARAMS; i++) {
    for (int j = 0; j < PARAM_FLOATS; j++) {
      params[i][j] = (float)(i * 1000 + j % 977 + 1);
    }
  }
}

/* Extents and strides follow the pointer's slot, where they are dynamic. */
static void give_matrix(Run *r, int param, int64_t m, int64_t n, int64_t stride) {
  int slot = first_slot(r, param);
  give(r, param, params[param], m * n);
  r->slots[slot + 1].i = m;
  r->slots[slot + 2].i = n;
  r->slots[slot + 3].i = stride;
}

static void test_writes(void) {
  Run r = {.slots = {{0}}};
  fill_params();
  build_moye_matmul(&r.k, 0);
  lower(&r);
  give_matrix(&r, 0, 128, 16, 128);
  give_matrix(&r, 1, 128, 16, 128);
  give_matrix(&r, 2, 128, 128, 128);
  probe(&r, "matmul", 1, 1);

  fill_params();
  r = (Run){.slots = {{0}}};
  build_notebook(&r.k, 0);
  lower(&r);
  give_matrix(&r, 0, 20, 35, 35);
  give_matrix(&r, 1, 35, 19, 19);
  give_matrix(&r, 2, 20, 19, 19);
  probe(&r, "notebook", 2, 2);

  fill_params();
  r = (Run){.slots = {{0}}};
  build_transpose(&r.k, 0);
  lower(&r);
  give_matrix(&r, 0, 64, 96, 64);
  give_matrix(&r, 1, 96, 64, 96);
  probe(&r, "transpose", 2, 3);
}

int main(void) {
  test_misaligned();
  test_no_memory();
  test_no_memory_to_keep();
  test_writes();
  return done_testing();
}
