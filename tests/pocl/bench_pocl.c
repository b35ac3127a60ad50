/* bench_pocl.c: the CPU engine beside PoCL, which compiles kernels with LLVM; `make bench-pocl`. Usage:
     bench_pocl [rounds]
   In turns, each round, the kernels of two examples and their twins in OpenCL C (products.cl) compute the
   same products; a row gives the medians over the rounds, per second of the CPU time of all threads, as the
   machine may be busy. Results are compared bit for bit with each other and, at a few thousand places, with
   a loop of fmaf. OpenCL is loaded at run time: scripts/deps.sh pocl installs it. */
#include <dlfcn.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "interp/cuttle.h"

enum { MAX_ROUNDS = 101, ROUNDS = 9, PLACES = 4000 };
static const double min_seconds = 0.25; /* of CPU time in a round */

static void die(const char *what, const char *why) {
  fprintf(stderr, "bench_pocl: %s: %s\n", what, why);
  exit(1);
}

/* --- OpenCL: as much of its API as is needed ------------------------------------------------------------ */

typedef void *Handle; /* of a platform, device, context, queue, program, kernel or buffer */

enum {
  DEVICE_TYPE_CPU = 2,
  MEM_READ_WRITE = 1,
  MEM_USE_HOST_PTR = 8,
  DEVICE_NAME = 0x102B,
  DEVICE_VERSION = 0x102F,
  PROGRAM_BUILD_LOG = 0x1183,
  MAP_READ = 1
};

#define OPENCL_API(X)                                                                              \
  X(int32_t, GetPlatformIDs, (uint32_t, Handle *, uint32_t *))                                     \
  X(int32_t, GetDeviceIDs, (Handle, uint64_t, uint32_t, Handle *, uint32_t *))                     \
  X(int32_t, GetDeviceInfo, (Handle, uint32_t, size_t, void *, size_t *))                          \
  X(Handle, CreateContext,                                                                         \
    (const intptr_t *, uint32_t, const Handle *, void *, void *, int32_t *))                       \
  X(Handle, CreateCommandQueue, (Handle, Handle, uint64_t, int32_t *))                             \
  X(Handle, CreateProgramWithSource, (Handle, uint32_t, const char **, const size_t *, int32_t *)) \
  X(int32_t, BuildProgram, (Handle, uint32_t, const Handle *, const char *, void *, void *))       \
  X(int32_t, GetProgramBuildInfo, (Handle, Handle, uint32_t, size_t, void *, size_t *))            \
  X(Handle, CreateKernel, (Handle, const char *, int32_t *))                                       \
  X(Handle, CreateBuffer, (Handle, uint64_t, size_t, void *, int32_t *))                           \
  X(int32_t, SetKernelArg, (Handle, uint32_t, size_t, const void *))                               \
  X(int32_t, EnqueueNDRangeKernel,                                                                 \
    (Handle, Handle, uint32_t, const size_t *, const size_t *, const size_t *, uint32_t,           \
     const Handle *, Handle *))                                                                    \
  X(void *, EnqueueMapBuffer,                                                                      \
    (Handle, Handle, uint32_t, uint64_t, size_t, size_t, uint32_t, const Handle *, Handle *,       \
     int32_t *))                                                                                   \
  X(int32_t, EnqueueUnmapMemObject, (Handle, Handle, void *, uint32_t, const Handle *, Handle *))  \
  X(int32_t, Finish, (Handle))                                                                     \
  X(int32_t, ReleaseMemObject, (Handle))

static struct {
#define X(result, name, args) result(*name) args;
  OPENCL_API(X)
#undef X
} cl;

typedef struct Pocl {
  Handle device, context, queue, program;
} Pocl;

static void check(int32_t code, const char *what) {
  if (code != 0) {
    char why[32];
    snprintf(why, sizeof why, "OpenCL error %d", (int)code);
    die(what, why);
  }
}

static void load_opencl(void) {
  void *lib = dlopen("libOpenCL.so.1", RTLD_NOW);
  if (lib == NULL) {
    die("libOpenCL.so.1 is not here; install it with scripts/deps.sh pocl", dlerror());
  }
#define X(result, name, args)                                                                      \
  {                                                                                                \
    void *symbol = dlsym(lib, "cl" #name);                                                         \
    if (symbol == NULL) {                                                                          \
      die("cl" #name, "libOpenCL.so.1 has no such function");                                      \
    }                                                                                              \
    memcpy(&cl.name, &symbol, sizeof symbol);                                                      \
  }
  OPENCL_API(X)
#undef X
}

static char *read_text(const char *path) {
  FILE *f = fopen(path, "rb");
  char *text = calloc(1, 1 << 16);
  if (f == NULL || text == NULL || fread(text, 1, (1 << 16) - 1, f) == 0) {
    die(path, "cannot be read");
  }
  fclose(f);
  return text;
}

static Pocl open_pocl(void) {
  Pocl p = {0};
  Handle platform;
  int32_t code;
  char name[256] = "", version[256] = "", log[4096] = "";
  load_opencl();
  check(cl.GetPlatformIDs(1, &platform, NULL), "no OpenCL platform: scripts/deps.sh pocl");
  check(cl.GetDeviceIDs(platform, DEVICE_TYPE_CPU, 1, &p.device, NULL), "no CPU device");
  cl.GetDeviceInfo(p.device, DEVICE_NAME, sizeof name - 1, name, NULL);
  cl.GetDeviceInfo(p.device, DEVICE_VERSION, sizeof version - 1, version, NULL);
  printf("PoCL compiles for: %s (%s)\n", name, version);
  p.context = cl.CreateContext(NULL, 1, &p.device, NULL, NULL, &code);
  check(code, "clCreateContext");
  p.queue = cl.CreateCommandQueue(p.context, p.device, 0, &code);
  check(code, "clCreateCommandQueue");
  const char *text = read_text("tests/pocl/products.cl");
  p.program = cl.CreateProgramWithSource(p.context, 1, &text, NULL, &code);
  check(code, "clCreateProgramWithSource");
  code = cl.BuildProgram(p.program, 1, &p.device, "-cl-fast-relaxed-math", NULL, NULL);
  if (code != 0) {
    cl.GetProgramBuildInfo(p.program, p.device, PROGRAM_BUILD_LOG, sizeof log - 1, log, NULL);
    die("tests/pocl/products.cl", log);
  }
  return p;
}

/* --- the products ----------------------------------------------------------------------------------------- */

typedef struct Product {
  const char *example, *kernel;
  int m, n, k, tile;
  bool row_major; /* out = A * B, else C = A * B' in columns */
  uint32_t block[2];
} Product;

static const Product products[] = {
    {"examples/moye_matmul.lua", "matmul", 2048, 2048, 256, 128, false, {256, 1}},
    {"examples/notebook_shared_matmul.lua", "matmul_static16", 2048, 2048, 256, 16, true, {16, 16}},
    {"examples/notebook_shared_matmul.lua", "matmul_static16", 2001, 2043, 249, 16, true, {16, 16}},
};

typedef struct Data {
  const Product *p;
  float *a, *b, *ours, *theirs;
  size_t n_a, n_b, n_c;
} Data;

static float *floats(size_t n, uint32_t seed) {
  float *p = aligned_alloc(4096, (n * sizeof *p + 4095) / 4096 * 4096);
  if (p == NULL) {
    die("matrix", "out of memory");
  }
  for (size_t i = 0; i < n; i++) {
    seed = seed * 1664525u + 1013904223u;
    p[i] = (float)(int32_t)seed * 0x1p-31f;
  }
  return p;
}

static Data make_data(const Product *p) {
  Data d = {.p = p,
            .n_a = (size_t)p->m * (size_t)p->k,
            .n_b = (size_t)p->n * (size_t)p->k,
            .n_c = (size_t)p->m * (size_t)p->n};
  d.a = floats(d.n_a, 1);
  d.b = floats(d.n_b, 2);
  d.ours = floats(d.n_c, 3);
  d.theirs = floats(d.n_c, 4);
  return d;
}

static void free_data(Data *d) {
  free(d->a);
  free(d->b);
  free(d->ours);
  free(d->theirs);
}

/* The element of row i and column j as a loop of fmaf has it; *at: where it is. */
static float expected(const Data *d, size_t i, size_t j, size_t *at) {
  const size_t m = (size_t)d->p->m, n = (size_t)d->p->n, k = (size_t)d->p->k;
  float sum = 0;
  for (size_t x = 0; x < k; x++) {
    sum = d->p->row_major ? fmaf(d->a[i * k + x], d->b[x * n + j], sum)
                          : fmaf(d->a[i + x * m], d->b[j + x * n], sum);
  }
  *at = d->p->row_major ? i * n + j : i + j * m;
  return sum;
}

/* Elements of ours that differ from fmaf's, of theirs from ours, and by how much at most. */
static bool compare(const Data *d) {
  int wrong = 0;
  size_t other = 0;
  double worst = 0;
  for (size_t s = 0; s < PLACES; s++) {
    size_t at;
    float e = expected(d, s * 7919 % (size_t)d->p->m, s * 104729 % (size_t)d->p->n, &at);
    wrong += memcmp(&e, &d->ours[at], sizeof e) != 0;
  }
  for (size_t i = 0; i < d->n_c; i++) {
    other += memcmp(&d->ours[i], &d->theirs[i], sizeof(float)) != 0;
    worst = fmax(worst, fabs((double)d->ours[i] - (double)d->theirs[i]));
  }
  printf(
      "  %d of %d places differ from a loop of fmaf; %zu of %zu elements differ from PoCL's, by at "
      "most %.2g\n",
      wrong, PLACES, other, d->n_c, worst);
  return wrong == 0 && worst < 1e-3;
}

/* --- one side of the comparison -------------------------------------------------------------------------------- */

typedef struct Side {
  void (*run)(struct Side *);
  Pocl *pocl;
  cuttle_State *state;
  Handle cl_kernel, buffer[3];
  size_t global[2], local[2];
  cuttle_Kernel *kernel;
  cuttle_Dim3 grid, block;
  cuttle_Arg args[3];
} Side;

static void run_ours(Side *s) {
  if (cuttle_launch(s->state, s->kernel, s->grid, s->block, 3, s->args) != CUTTLE_OK) {
    die("launch", cuttle_error(s->state));
  }
}

static void run_theirs(Side *s) {
  check(cl.EnqueueNDRangeKernel(s->pocl->queue, s->cl_kernel, 2, NULL, s->global, s->local, 0, NULL,
                                NULL),
        "clEnqueueNDRangeKernel");
  check(cl.Finish(s->pocl->queue), "clFinish");
}

static void drop(void *ud, const char *text, size_t len) {
  (void)ud;
  (void)text;
  (void)len;
}

static cuttle_State *open_ours(void) {
  const cuttle_Options options = {.size = sizeof options, .device = "cpu", .print = drop};
  cuttle_State *s = cuttle_open(&options);
  if (s == NULL) {
    die("cuttle_open", "out of memory");
  }
  return s;
}

static cuttle_Arg wrapped(cuttle_State *s, float *p, int rows, int cols, bool row_major) {
  char layout[64];
  snprintf(layout, sizeof layout, "(%d,%d):(%d,%d)", rows, cols, row_major ? cols : 1,
           row_major ? 1 : rows);
  cuttle_Tensor *t = cuttle_tensor_wrap(s, p, "f32", layout, NULL, NULL, NULL);
  if (t == NULL) {
    die("tensor", cuttle_error(s));
  }
  return cuttle_tensor(t);
}

/* The example runs on small matrices, which defines its kernels. */
static Side ours_of(const Data *d, cuttle_State *state) {
  const Product *p = d->p;
  if (cuttle_dostring(state, "arg = {128, 128, 128}; os.exit = function() end", "=arguments") !=
          CUTTLE_OK ||
      cuttle_dofile(state, p->example) != CUTTLE_OK) {
    die(p->example, cuttle_error(state));
  }
  uint32_t gm = (uint32_t)((p->m + p->tile - 1) / p->tile);
  uint32_t gn = (uint32_t)((p->n + p->tile - 1) / p->tile);
  Side s = {.run = run_ours, .state = state, .kernel = cuttle_kernel(state, p->kernel)};
  if (s.kernel == NULL) {
    die(p->kernel, cuttle_error(state));
  }
  s.grid = p->row_major ? (cuttle_Dim3){gn, gm, 1} : (cuttle_Dim3){gm, gn, 1};
  s.block = (cuttle_Dim3){p->block[0], p->block[1], 1};
  s.args[0] = wrapped(state, d->a, p->m, p->k, p->row_major);
  s.args[1] = p->row_major ? wrapped(state, d->b, p->k, p->n, true)
                           : wrapped(state, d->b, p->n, p->k, false);
  s.args[2] = wrapped(state, d->ours, p->m, p->n, p->row_major);
  return s;
}

static Side theirs_of(const Data *d, Pocl *pocl, const Side *ours) {
  const Product *p = d->p;
  float *const data[3] = {d->a, d->b, d->theirs};
  const size_t sizes[3] = {d->n_a, d->n_b, d->n_c};
  const int32_t numbers[3] = {p->m, p->n, p->k};
  int32_t code;
  Side s = {.run = run_theirs, .pocl = pocl};
  s.cl_kernel = cl.CreateKernel(pocl->program, p->kernel, &code);
  check(code, "clCreateKernel");
  for (uint32_t i = 0; i < 3; i++) {
    s.buffer[i] = cl.CreateBuffer(pocl->context, MEM_READ_WRITE | MEM_USE_HOST_PTR,
                                  sizes[i] * sizeof(float), data[i], &code);
    check(code, "clCreateBuffer");
    check(cl.SetKernelArg(s.cl_kernel, i, sizeof s.buffer[i], &s.buffer[i]), "clSetKernelArg");
    check(cl.SetKernelArg(s.cl_kernel, i + 3, sizeof numbers[i], &numbers[i]), "clSetKernelArg");
  }
  for (int i = 0; i < 2; i++) {
    s.local[i] = p->block[i];
    s.global[i] = p->block[i] * (size_t)(i == 0 ? ours->grid.x : ours->grid.y);
  }
  return s;
}

/* Makes the results visible in the host's memory. */
static void close_theirs(Side *s, const Data *d) {
  int32_t code;
  void *p = cl.EnqueueMapBuffer(s->pocl->queue, s->buffer[2], 1, MAP_READ, 0,
                                d->n_c * sizeof(float), 0, NULL, NULL, &code);
  check(code, "clEnqueueMapBuffer");
  check(cl.EnqueueUnmapMemObject(s->pocl->queue, s->buffer[2], p, 0, NULL, NULL),
        "clEnqueueUnmapMemObject");
  check(cl.Finish(s->pocl->queue), "clFinish");
  for (int i = 0; i < 3; i++) {
    cl.ReleaseMemObject(s->buffer[i]);
  }
}

/* --- measuring -------------------------------------------------------------------------------------------------- */

typedef struct Time {
  double cpu, wall;
} Time;

static Time now(void) {
  struct rusage u;
  struct timespec t;
  getrusage(RUSAGE_SELF, &u);
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (Time){(double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
                    1e-6 * (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec),
                (double)t.tv_sec + 1e-9 * (double)t.tv_nsec};
}

/* Seconds of one run: of as many as take min_seconds. */
static Time time_side(Side *s) {
  Time begin = now(), end;
  int n = 0;
  do {
    s->run(s);
    n++;
    end = now();
  } while (end.cpu - begin.cpu < min_seconds);
  return (Time){(end.cpu - begin.cpu) / n, (end.wall - begin.wall) / n};
}

static int by_value(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static double median(double *v, int n) {
  qsort(v, (size_t)n, sizeof *v, by_value);
  return n % 2 == 1 ? v[n / 2] : 0.5 * (v[n / 2 - 1] + v[n / 2]);
}

/* The columns of a row: GFLOP/s per CPU-second, and by the clock; the ratio is that of each round. */
static bool bench(const Product *p, Pocl *pocl, cuttle_State *state, int rounds) {
  Data d = make_data(p);
  Side ours = ours_of(&d, state), theirs = theirs_of(&d, pocl, &ours);
  double cpu[2][MAX_ROUNDS], wall[2][MAX_ROUNDS], ratio[MAX_ROUNDS];
  double gflop = 2e-9 * (double)p->m * (double)p->n * (double)p->k;
  ours.run(&ours); /* compiles */
  theirs.run(&theirs);
  for (int r = 0; r < rounds; r++) {
    Time t[2] = {time_side(&ours), time_side(&theirs)};
    for (int i = 0; i < 2; i++) {
      cpu[i][r] = gflop / t[i].cpu;
      wall[i][r] = gflop / t[i].wall;
    }
    ratio[r] = t[1].cpu / t[0].cpu;
  }
  close_theirs(&theirs, &d);
  double middle = median(ratio, rounds);
  printf("%-16s %4dx%4dx%3d %8.1f %8.1f %7.2f  (%.2f to %.2f) %8.1f %8.1f\n", p->kernel, p->m, p->n,
         p->k, median(cpu[0], rounds), median(cpu[1], rounds), middle, ratio[0], ratio[rounds - 1],
         median(wall[0], rounds), median(wall[1], rounds));
  bool ok = compare(&d);
  fflush(stdout);
  for (int i = 0; i < 3; i++) {
    cuttle_tensor_release(state, ours.args[i].u.tensor);
  }
  free_data(&d);
  return ok;
}

int main(int argc, char **argv) {
  int rounds = argc > 1 ? atoi(argv[1]) : ROUNDS;
  if (rounds < 1 || rounds > MAX_ROUNDS) {
    die("rounds", "expected 1 to 101");
  }
  Pocl pocl = open_pocl();
  cuttle_State *state = open_ours();
  bool ok = true;
  printf(
      "GFLOP/s per CPU-second: ours, PoCL, ratio (of all rounds); by the clock: ours, PoCL; medians of "
      "%d rounds\n",
      rounds);
  for (size_t i = 0; i < sizeof products / sizeof *products; i++) {
    ok = bench(&products[i], &pocl, state, rounds) && ok;
  }
  cuttle_close(state);
  return ok ? 0 : 1;
}
