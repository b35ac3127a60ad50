/* run.c: a CUDA driver without a GPU, which runs the machine code of kernels on the host and counts what each of its
   memory instructions asks for. It is the driver of the tests (tests/c/fake_libcuda.c) with modules and launches of
   its own; scripts/profile_beside_sass.lua builds it. Environment: SASS_FOLDER, a folder for what it makes;
   SASS_CUTTLE, the program that runs translate.lua. At the end the folder has a file "counts": a line for each
   kernel (kernel, name, image, launches, was it run), and for each of its memory instructions (access, kernel, op,
   space, bits, file:line, requests, sectors, wavefronts). */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>

/* Device memory begins at multiples of 512 bytes, as a driver's does. */
static void *aligned_zeros(size_t n, size_t size) {
  enum { ALIGNMENT = 512 };
  size_t bytes = (n * size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
  void *p = aligned_alloc(ALIGNMENT, bytes);
  return p == NULL ? NULL : memset(p, 0, bytes);
}

#define calloc aligned_zeros
#define cuModuleLoadDataEx fake_module_load
#define cuModuleGetFunction fake_module_function
#define cuFuncGetAttribute fake_function_attribute
#define cuFuncGetParamInfo fake_function_param
#define cuLaunchKernelEx fake_launch
#include "tests/c/fake_libcuda.c"
#undef calloc
#undef cuModuleLoadDataEx
#undef cuModuleGetFunction
#undef cuFuncGetAttribute
#undef cuFuncGetParamInfo
#undef cuLaunchKernelEx

#include "run.h"
#include "runtime/watch/banks.h"

enum { MAX_ACCESSES = 1 << 13, MAX_KERNELS = 512 };

typedef struct Access {
  char op[16], space[16], place[512];
  int bits;
  uint64_t n, sectors, wavefronts;
} Access;

typedef struct Kernel {
  char name[128];
  int image, n_launches, n_accesses;
  SassStep step;
  Access *accesses;
} Kernel;

Launch launch;
static Kernel kernels[MAX_KERNELS];
static int n_kernels, n_images;
static Kernel *now;

/* --- counting ----------------------------------------------------------------------------------------------- */

void sass_count(int counted, uint32_t mask, const uint64_t *at) {
  Access *a = &now->accesses[counted];
  int64_t places[LANES], sectors[CT_MAX_SECTORS];
  bool is_shared = a->space[0] == 's';
  if (mask == 0) {
    return;
  }
  for (int l = 0; l < LANES; l++) {
    places[l] = (int64_t)(is_shared ? at[l] & (BLOCK_SHARED - 1) : at[l]);
  }
  a->n++;
  if (is_shared) {
    bool is_load = a->op[0] == 'l';
    a->wavefronts += (uint64_t)ct_wavefronts(places, mask, a->bits / 8, !is_load).n;
  } else {
    a->sectors += (uint64_t)ct_sectors(places, mask, a->bits / 8, sectors);
  }
}

_Noreturn void sass_stop(const char *why, uint32_t pc) {
  fprintf(stderr, "sass_run: %s in %s at %04x\n", why, now->name, pc);
  exit(1);
}

/* --- warps and blocks --------------------------------------------------------------------------------------- */

/* The lanes that run and are first, in order of their places; `stop` gets where the next ones are. */
static uint32_t next_lanes(const Warp *w, uint32_t *stop) {
  uint32_t least = UINT32_MAX, mask = 0;
  *stop = UINT32_MAX;
  for (int l = 0; l < LANES; l++) {
    if (w->state[l] == RUNS && w->pc[l] < least) {
      least = w->pc[l];
    }
  }
  for (int l = 0; l < LANES; l++) {
    if (w->state[l] == RUNS && w->pc[l] == least) {
      mask |= 1u << l;
    } else if (w->state[l] == RUNS && w->pc[l] < *stop) {
      *stop = w->pc[l];
    }
  }
  return mask;
}

/* False: nothing of it can run. */
static bool run_warp(Warp *w) {
  uint32_t stop, mask = next_lanes(w, &stop);
  if (mask != 0) {
    now->step(w, mask, stop);
    sass_rejoin(w);
  }
  return mask != 0;
}

static uint32_t volume_of(const uint32_t d[3]) { return d[0] * d[1] * d[2]; }

typedef struct Running {
  Block block;
  Warp *warps; /* NULL: it is over */
  uint32_t n;
} Running;

static void start_warp(Warp *w, Block *block, uint32_t index) {
  w->index = index;
  w->block = block;
  w->P[7] = UINT32_MAX;
  w->UP[7] = 1;
  for (uint32_t l = 0; l < LANES; l++) {
    bool is_there = index * LANES + l < block->n_threads;
    w->state[l] = is_there ? RUNS : EXITED;
    w->live |= (uint32_t)is_there << l;
  }
}

static void start_block(Running *r, uint32_t number) {
  uint32_t n = volume_of(launch.shape), *id = r->block.id;
  r->n = (n + LANES - 1) / LANES;
  r->block.shared = calloc(1, BLOCK_SHARED);
  r->block.n_threads = n;
  id[0] = number % launch.grid[0];
  id[1] = number / launch.grid[0] % launch.grid[1];
  id[2] = number / launch.grid[0] / launch.grid[1];
  r->warps = calloc(r->n, sizeof *r->warps);
  for (uint32_t i = 0; i < r->n; i++) {
    start_warp(&r->warps[i], &r->block, i);
  }
}

static void end_block(Running *r) {
  for (uint32_t i = 0; i < r->n; i++) {
    for (int l = 0; l < LANES; l++) {
      free(r->warps[i].local[l]);
    }
  }
  free(r->warps);
  free(r->block.shared);
  r->warps = NULL;
}

static uint32_t count_waiting(const Warp *w, uint32_t barrier) {
  uint32_t n = 0;
  for (int l = 0; l < LANES; l++) {
    n += w->state[l] == WAITS_BLOCK && w->named[l] % N_BARRIERS == barrier;
  }
  return n;
}

static bool release_barrier(Running *r, uint32_t barrier) {
  uint32_t live = 0, here = 0, need = r->block.needed[barrier];
  for (uint32_t i = 0; i < r->n; i++) {
    live += (uint32_t)__builtin_popcount(r->warps[i].live);
    here += count_waiting(&r->warps[i], barrier);
  }
  need = need == 0 || need > live ? live : need;
  if (here == 0 || here + r->block.arrived[barrier] < need) {
    return false;
  }
  r->block.arrived[barrier] = 0;
  for (uint32_t i = 0; i < r->n; i++) {
    Warp *w = &r->warps[i];
    for (int l = 0; l < LANES; l++) {
      bool waits = w->state[l] == WAITS_BLOCK && w->named[l] % N_BARRIERS == barrier;
      w->state[l] = waits ? RUNS : w->state[l];
    }
  }
  return true;
}

static bool is_over(const Running *r) {
  bool over = true;
  for (uint32_t i = 0; i < r->n; i++) {
    over = over && r->warps[i].live == 0;
  }
  return over;
}

/* Up to so many turns of its warps. False: it is not over. */
static bool run_block(Running *r, int turns) {
  enum { STEPS = 2000 };
  for (int turn = 0; turn < turns; turn++) {
    bool any = false;
    for (uint32_t i = 0; i < r->n; i++) {
      for (int k = 0; k < STEPS && run_warp(&r->warps[i]); k++) {
        any = true;
      }
    }
    for (uint32_t b = 0; b < N_BARRIERS; b++) {
      any = release_barrier(r, b) || any;
    }
    if (!any && !is_over(r)) {
      sass_stop("lanes wait forever", r->warps[0].pc[0]);
    }
    if (!any) {
      end_block(r);
      return true;
    }
  }
  return false;
}

/* A block runs alone until it is over or waits too long: then for another one. */
static void run_grid(void) {
  enum { ALONE = 2000, AMONG_OTHERS = 4, MAX_ROUNDS = 1000000 };
  uint32_t n = volume_of(launch.grid), n_over = 0, n_started = 0;
  Running *all = calloc(n, sizeof *all);
  for (int round = 0; n_over < n && round < MAX_ROUNDS; round++) {
    for (uint32_t i = 0; i < n_started; i++) {
      n_over += all[i].warps != NULL && run_block(&all[i], AMONG_OTHERS);
    }
    if (n_started < n) {
      start_block(&all[n_started], n_started);
      n_over += run_block(&all[n_started++], ALONE);
    }
  }
  free(all);
  if (n_over < n) {
    sass_stop("blocks wait forever", 0);
  }
}

/* --- modules ------------------------------------------------------------------------------------------------ */

static uint64_t number_at(const unsigned char *p, size_t n) {
  uint64_t v = 0;
  memcpy(&v, p, n);
  return v;
}

/* The length of an ELF file in memory. */
static size_t image_bytes(const unsigned char *elf) {
  uint64_t rows = number_at(elf + 40, 8), each = number_at(elf + 58, 2);
  uint64_t n = number_at(elf + 60, 2), end = rows + n * each;
  for (uint64_t i = 0; i < n; i++) {
    const unsigned char *row = elf + rows + i * each;
    uint64_t upto = number_at(row + 24, 8) + number_at(row + 32, 8);
    bool is_in_file = number_at(row + 4, 4) != 8;
    end = is_in_file && upto > end ? upto : end;
  }
  uint64_t segments = number_at(elf + 32, 8) + number_at(elf + 54, 2) * number_at(elf + 56, 2);
  return segments > end ? segments : end;
}

static void path_of(char path[600], int image, const char *rest) {
  snprintf(path, 600, "%s/%d%s", getenv("SASS_FOLDER"), image, rest);
}

CuResult cuModuleLoadDataEx(CuModule *m, const void *image, unsigned n, CuJitOption *options,
                            void **values) {
  CuResult r = fake_module_load(m, image, n, options, values);
  if (r == CT_CUDA_SUCCESS && ((const char *)image)[0] == '\177') {
    char path[600];
    path_of(path, n_images, ".cubin");
    FILE *f = fopen(path, "wb");
    if (f != NULL) {
      fwrite(image, 1, image_bytes(image), f);
      fclose(f);
    }
    snprintf((*m)->image, sizeof(*m)->image, "%d", n_images++);
  }
  return r;
}

CuResult cuModuleGetFunction(CuFunction *f, CuModule m, const char *name) {
  struct CUfunc_st *found = calloc(1, sizeof *found);
  if (found == NULL || n_kernels == MAX_KERNELS) {
    return 2;
  }
  Kernel *k = &kernels[n_kernels];
  snprintf(found->name, sizeof found->name, "%.60s", name);
  snprintf(k->name, sizeof k->name, "%s", name);
  k->image = (int)strtol(m->image, NULL, 10);
  found->params_bytes = (size_t)n_kernels++;
  *f = found;
  return CT_CUDA_SUCCESS;
}

CuResult cuFuncGetAttribute(int *value, CuFunctionAttribute a, CuFunction f) {
  static const int values[] = {1024, 0, 0, 0, 40, 90, 90};
  (void)f;
  *value = a < sizeof values / sizeof values[0] ? values[a] : 0;
  return CT_CUDA_SUCCESS;
}

CuResult cuFuncGetParamInfo(CuFunction f, size_t i, size_t *offset, size_t *bytes) {
  (void)f;
  (void)i;
  (void)offset;
  (void)bytes;
  return 1;
}

/* --- launches ----------------------------------------------------------------------------------------------- */

static void read_accesses(Kernel *k, const char *path) {
  FILE *f = fopen(path, "r");
  char line[1024];
  k->accesses = calloc(MAX_ACCESSES, sizeof *k->accesses);
  while (f != NULL && k->n_accesses < MAX_ACCESSES && fgets(line, sizeof line, f) != NULL) {
    Access *a = &k->accesses[k->n_accesses++];
    if (sscanf(line, "%15s %15s %d %511[^\n]", a->op, a->space, &a->bits, a->place) != 4) {
      sass_stop("bad list of accesses", 0);
    }
  }
  if (f != NULL) {
    fclose(f);
  }
}

/* What is translated finds our symbols. */
static void show_symbols(void) {
  (void)dlopen(getenv("CUTTLE_LIBCUDA"), RTLD_NOW | RTLD_GLOBAL | RTLD_NOLOAD);
}

static void translate(Kernel *k) {
  char command[4096], rest[200], path[600], image[600];
  snprintf(rest, sizeof rest, ".%s", k->name);
  path_of(path, k->image, rest);
  path_of(image, k->image, ".cubin");
  snprintf(command, sizeof command,
           "env -u CUTTLE_LIBCUDA CUTTLE_DEVICE=cpu '%s' scripts/sass_run/translate.lua '%s' '%s' "
           "'%s' && cc -w -O0 -std=gnu11 -shared -fPIC -I. -o '%s.so' '%s.c' 1>&2",
           getenv("SASS_CUTTLE"), image, k->name, path, path, path);
  if (system(command) != 0) {
    return;
  }
  show_symbols();
  snprintf(command, sizeof command, "%s.so", path);
  void *handle = dlopen(command, RTLD_NOW);
  void *found = handle == NULL ? NULL : dlsym(handle, "sass_step");
  memcpy(&k->step, &found, sizeof found);
  snprintf(command, sizeof command, "%s.accesses", path);
  read_accesses(k, command);
}

/* Bank 0, as an ABI has it: shape, grid, where generic addresses of shared memory begin, the stack, parameters. */
static void fill_constants(const CuLaunchConfig *config, void **extra) {
  enum { SHAPE = 0, GRID = 0xc, WINDOW = 0x18, STACK = 0x28, OLD_PARAMS = 0x160, PARAMS = 0x210 };
  uint32_t top = STACK_TOP;
  uint64_t window = UINT64_C(1) << 60;
  memcpy(launch.grid, config->grid, sizeof launch.grid);
  memcpy(launch.shape, config->block, sizeof launch.shape);
  memset(launch.constants, 0, CONSTANT_BYTES);
  memcpy(launch.constants + SHAPE, launch.shape, sizeof launch.shape);
  memcpy(launch.constants + GRID, launch.grid, sizeof launch.grid);
  memcpy(launch.constants + WINDOW, &window, sizeof window);
  memcpy(launch.constants + STACK, &top, sizeof top);
  if (extra != NULL) {
    unsigned char *at = launch.constants + (fake.sm >= 90 ? PARAMS : OLD_PARAMS);
    memcpy(at, extra[1], *(size_t *)extra[3]);
  }
}

/* Kernels with maps of TMA are not run. */
CuResult cuLaunchKernelEx(const CuLaunchConfig *config, CuFunction f, void **params, void **extra) {
  static unsigned char constants[CONSTANT_BYTES];
  Kernel *k = &kernels[f->params_bytes];
  now = k;
  if (k->n_launches++ == 0) {
    translate(k);
  }
  if (k->step != NULL && params == NULL) {
    launch.constants = constants;
    fill_constants(config, extra);
    run_grid();
  }
  return CT_CUDA_SUCCESS;
}

static void write_kernel(FILE *out, const Kernel *k) {
  fprintf(out, "kernel\t%s\t%d\t%d\t%d\n", k->name, k->image, k->n_launches, k->step != NULL);
  for (int i = 0; i < k->n_accesses; i++) {
    const Access *a = &k->accesses[i];
    fprintf(out, "access\t%s\t%s\t%s\t%d\t%s\t%llu\t%llu\t%llu\n", k->name, a->op, a->space,
            a->bits, a->place, (unsigned long long)a->n, (unsigned long long)a->sectors,
            (unsigned long long)a->wavefronts);
  }
}

__attribute__((destructor)) static void write_counts(void) {
  char path[600];
  snprintf(path, sizeof path, "%s/counts", getenv("SASS_FOLDER"));
  FILE *out = fopen(path, "w");
  for (int i = 0; out != NULL && i < n_kernels; i++) {
    if (kernels[i].n_launches > 0) {
      write_kernel(out, &kernels[i]);
    }
  }
  if (out != NULL) {
    fclose(out);
  }
}
