/* bench_simt.c: how fast the CPU engine runs; not part of `make test`. Usage:
     bench_simt [isa] [threads] [kernel]
   Each result is compared with a plain loop at a few thousand places. */
#include "emit_kernels.h"

#include "runtime/simt/simt.h"

#include <math.h>
#include <time.h>

static double now(clockid_t clock) {
  struct timespec t;
  clock_gettime(clock, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static float *random_floats(size_t n, uint32_t seed) {
  float *p = malloc(n * sizeof *p);
  for (size_t i = 0; p != NULL && i < n; i++) {
    seed = seed * 1664525u + 1013904223u;
    p[i] = (float)(int32_t)seed * 0x1p-31f;
  }
  return p;
}

typedef struct Problem {
  int64_t m, n, k;
  bool row_major; /* the notebook's: out = A * B; else C = A * B', column-major */
} Problem;

static size_t a_at(const Problem *p, int64_t i, int64_t k) {
  return (size_t)(p->row_major ? i * p->k + k : i + k * p->m);
}
static size_t b_at(const Problem *p, int64_t j, int64_t k) {
  return (size_t)(p->row_major ? k * p->n + j : j + k * p->n);
}
static size_t c_at(const Problem *p, int64_t i, int64_t j) {
  return (size_t)(p->row_major ? i * p->n + j : i + j * p->m);
}

static int count_wrong(const Problem *p, const float *a, const float *b, const float *c) {
  int wrong = 0;
  for (int64_t s = 0; s < 4000; s++) {
    int64_t i = s * 7919 % p->m, j = s * 104729 % p->n;
    float sum = 0;
    for (int64_t k = 0; k < p->k; k++) {
      sum = fmaf(a[a_at(p, i, k)], b[b_at(p, j, k)], sum);
    }
    wrong += memcmp(&sum, &c[c_at(p, i, j)], sizeof sum) != 0;
  }
  return wrong;
}

/* Extents and strides as the kernels of emit_kernels.h take them. */
static void set_slots(const Problem *p, float *const data[3], CtSlotValue *s) {
  const int64_t shape[2][3][2] = {{{p->m, p->k}, {p->n, p->k}, {p->m, p->n}},
                                  {{p->m, p->k}, {p->k, p->n}, {p->m, p->n}}};
  for (int t = 0; t < 3; t++) {
    const int64_t *e = shape[p->row_major][t];
    s[t * 4].ptr = data[t];
    s[t * 4 + 1].i = e[0];
    s[t * 4 + 2].i = e[1];
    s[t * 4 + 3].i = p->row_major ? e[1] : e[0];
  }
}

static void bench(const char *name, void (*build)(Kit *, int), Problem p, int64_t tile,
                  CtSimtEngine *e) {
  Kit k;
  CtSimtProgram *prog;
  build(&k, 80);
  kit_must(&k, ct_ir_finish(&k.ir, &k.err));
  kit_must(&k, ct_simt_lower(ct_alloc_std, &k.ir, &prog, &k.err));
  size_t sizes[3] = {(size_t)(p.m * p.k), (size_t)(p.n * p.k), (size_t)(p.m * p.n)};
  float *data[3];
  int64_t n_elems[3];
  for (int t = 0; t < 3; t++) {
    data[t] = random_floats(sizes[t], (uint32_t)t + 1);
    n_elems[t] = (int64_t)sizes[t];
  }
  CtSlotValue slots[12];
  set_slots(&p, data, slots);
  CtSimtLaunch launch = {.slots = slots, .n_elems = n_elems};
  int64_t gm = ct_ceildiv(p.m, tile), gn = ct_ceildiv(p.n, tile);
  launch.grid[0] = p.row_major ? gn : gm;
  launch.grid[1] = p.row_major ? gm : gn;
  launch.grid[2] = 1;
  double best = 1e9, best_cpu = 1e9;
  for (int r = 0; r < 7; r++) {
    double t = now(CLOCK_MONOTONIC), cpu = now(CLOCK_PROCESS_CPUTIME_ID);
    kit_must(&k, ct_simt_run(e, prog, &launch, &k.err));
    t = now(CLOCK_MONOTONIC) - t;
    cpu = now(CLOCK_PROCESS_CPUTIME_ID) - cpu;
    best = t < best ? t : best;
    best_cpu = cpu < best_cpu ? cpu : best_cpu;
  }
  double flop = 2e-9 * (double)p.m * (double)p.n * (double)p.k;
  printf("%-10s %lldx%lldx%lld %s, %d threads: %.1f GFLOP/s, %.1f per CPU second; %d wrong\n", name,
         (long long)p.m, (long long)p.n, (long long)p.k, ct_simt_isa(e), ct_simt_threads(e),
         flop / best, flop / best_cpu, count_wrong(&p, data[0], data[1], data[2]));
  for (int t = 0; t < 3; t++) {
    free(data[t]);
  }
  ct_simt_free(prog);
  ct_ir_clear(&k.ir);
}

/* n elements each of x and y, column-major matrices where there are two extents. */
static void bench_bytes(const char *name, void (*build)(Kit *, int), int64_t side, bool matrix,
                        CtSimtEngine *e) {
  Kit k;
  CtSimtProgram *prog;
  build(&k, 80);
  kit_must(&k, ct_ir_finish(&k.ir, &k.err));
  kit_must(&k, ct_simt_lower(ct_alloc_std, &k.ir, &prog, &k.err));
  int64_t n = matrix ? side * side : side, n_elems[3] = {0};
  CtSlotValue slots[16];
  float *data[2] = {random_floats((size_t)n, 1), random_floats((size_t)n, 2)};
  for (size_t i = 0, t = 0; i < k.ir.n_params; i++) {
    const CtParam *p = &k.ir.params[i];
    slots[p->first_slot].f32 = 2;
    if (p->is_tensor) {
      slots[p->first_slot].ptr = data[t++];
      n_elems[i] = n;
    }
    for (uint32_t j = 1; j < p->n_slots; j++) {
      slots[p->first_slot + j].i = side;
    }
  }
  CtSimtLaunch launch = {.slots = slots, .n_elems = n_elems};
  int64_t blocks = ct_ceildiv(side, matrix ? 32 : 256);
  memcpy(launch.grid, (int64_t[]){blocks, matrix ? blocks : 1, 1}, sizeof launch.grid);
  double best = 1e9;
  for (int r = 0; r < 20; r++) {
    double t = now(CLOCK_MONOTONIC);
    kit_must(&k, ct_simt_run(e, prog, &launch, &k.err));
    t = now(CLOCK_MONOTONIC) - t;
    best = t < best ? t : best;
  }
  printf("%-10s %lld elements, %s: %.2f ns per element, %.1f us\n", name, (long long)n,
         ct_simt_isa(e), best * 1e9 / (double)n, best * 1e6);
  free(data[0]);
  free(data[1]);
  ct_simt_free(prog);
  ct_ir_clear(&k.ir);
}

int main(int argc, char **argv) {
  CtErr err = {0};
  CtSimtEngine *e;
  const char *isa = argc > 1 && strcmp(argv[1], "best") != 0 ? argv[1] : NULL;
  const char *only = argc > 3 ? argv[3] : "";
  if (ct_simt_open(ct_alloc_std, argc > 2 ? atoi(argv[2]) : 0, isa, &e, &err) != CT_OK) {
    fprintf(stderr, "%s\n", err.msg);
    return 1;
  }
  if (strstr("moye", only) != NULL) {
    bench("moye", build_moye_matmul, (Problem){2048, 2048, 256, false}, 128, e);
  }
  if (strstr("notebook", only) != NULL) {
    bench("notebook", build_notebook, (Problem){2048, 2048, 256, true}, 16, e);
    bench("notebook", build_notebook, (Problem){2000, 2032, 240, true}, 16, e);
  }
  if (strstr("bytes", only) != NULL) {
    bench_bytes("saxpy", build_saxpy, 1 << 22, false, e);
    bench_bytes("saxpy", build_saxpy, 256, false, e);
    bench_bytes("transpose", build_transpose, 2048, true, e);
  }
  ct_simt_close(e);
  return 0;
}
