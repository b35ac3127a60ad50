/* bench_tools.c: what measurements need besides the product: a clock, a pause, the device's sensors
   (NVML), and products of cuBLAS and of each of cuBLASLt's algorithms, launched at least cost. A Lua C
   module that uses the Lua API and the vendor's libraries only: of the product it takes declarations,
   and addresses as numbers.

   Products run in a stream of their own in the thread's current context, which is the product's, as
   its device was opened first. So whoever calls waits between the product's work and theirs; the
   stream has two events of its own to take times between. */
#include <dlfcn.h>
#include <lauxlib.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cublaslt_types.h"
#include "nvml_types.h"
#include "runtime/device/dl.h"

#define QUEUE_TYPE "bench_tools.queue"
#define PRODUCT_TYPE "bench_tools.product"

enum { MAX_ALGORITHMS = 32 };

int luaopen_bench_tools(lua_State *L);

/* {====== Libraries ====== */

typedef struct Driver {
#define X(need, name, args) CuResult(*name) args;
#include "runtime/device/cuda_syms.def"
#undef X
} Driver;

typedef struct Blas {
#define X(need, name, args) CublasStatus(*name) args;
#include "runtime/device/cublas_syms.def"
#undef X
} Blas;

typedef struct BlasLt {
#define X(need, name, args) CublasStatus(*name) args;
#include "cublaslt_syms.def"
#undef X
} BlasLt;

typedef struct Nvml {
#define X(need, name, args) NvmlResult(*name) args;
#include "nvml_syms.def"
#undef X
} Nvml;

static Driver driver;
static Blas blas;
static BlasLt lt;
static Nvml nvml;

enum { REQUIRED = 1, OPTIONAL = 0 };

typedef struct Symbol {
  const char *name;
  size_t offset;
  int need;
} Symbol;

#define X(need, name, args) {#name, offsetof(Driver, name), need},
static const Symbol driver_symbols[] = {
#include "runtime/device/cuda_syms.def"
    {NULL, 0, 0}};
#undef X
#define X(need, name, args) {#name, offsetof(Blas, name), need},
static const Symbol blas_symbols[] = {
#include "runtime/device/cublas_syms.def"
    {NULL, 0, 0}};
#undef X
#define X(need, name, args) {#name, offsetof(BlasLt, name), need},
static const Symbol lt_symbols[] = {
#include "cublaslt_syms.def"
    {NULL, 0, 0}};
#undef X
#define X(need, name, args) {#name, offsetof(Nvml, name), need},
static const Symbol nvml_symbols[] = {
#include "nvml_syms.def"
    {NULL, 0, 0}};
#undef X

/* A library: the variable that names its file, else the names to try. cuBLAS may lie where only the
   product looks; it is loaded by then, so that its name alone finds it. */
typedef struct Library {
  const char *env, *names[4];
  const Symbol *symbols;
  void *table;
  bool is_loaded;
} Library;

static Library libraries[] = {
    {"CUTTLE_LIBCUDA", {"libcuda.so.1", "libcuda.so"}, driver_symbols, &driver, false},
    {"CUTTLE_CUBLAS",
     {"libcublas.so.13", "libcublas.so.12", "libcublas.so"},
     blas_symbols,
     &blas,
     false},
    {"CUTTLE_CUBLASLT",
     {"libcublasLt.so.13", "libcublasLt.so.12", "libcublasLt.so"},
     lt_symbols,
     &lt,
     false},
    {"CUTTLE_NVML", {"libnvidia-ml.so.1"}, nvml_symbols, &nvml, false},
};
enum { DRIVER, BLAS, BLAS_LT, NVML };

static void *open_library(const Library *lib) {
  const char *path = getenv(lib->env);
  void *handle = path == NULL ? NULL : dlopen(path, RTLD_NOW | RTLD_LOCAL);
  for (int i = 0; path == NULL && handle == NULL && lib->names[i] != NULL; i++) {
    handle = dlopen(lib->names[i], RTLD_NOW | RTLD_LOCAL);
  }
  return handle;
}

/* NULL: the library's table is filled; else why it is not. */
static const char *load(lua_State *L, int which) {
  Library *lib = &libraries[which];
  void *handle = lib->is_loaded ? NULL : open_library(lib);
  if (!lib->is_loaded && handle == NULL) {
    return lua_pushfstring(L, "cannot load '%s'; %s may name its file", lib->names[0], lib->env);
  }
  for (const Symbol *s = lib->symbols; !lib->is_loaded && s->name != NULL; s++) {
    void *found = dlsym(handle, s->name);
    if (found == NULL && s->need == REQUIRED) {
      return lua_pushfstring(L, "'%s' has no %s", lib->names[0], s->name);
    }
    memcpy((char *)lib->table + s->offset, &found, sizeof found);
  }
  lib->is_loaded = true;
  return NULL;
}

static int fail_softly(lua_State *L, const char *why) {
  lua_pushnil(L);
  lua_pushstring(L, why);
  return 2;
}

/* Raises if a call failed; vendors' statuses all have 0 as success. */
static void check(lua_State *L, unsigned status, const char *call) {
  if (status != 0) {
    luaL_error(L, "%s: status %d", call, (int)status);
  }
}

/* {====== The clock, a pause, sensors ====== */

/* now() -> milliseconds by a clock that only goes on. */
static int now(lua_State *L) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  lua_pushnumber(L, (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6);
  return 1;
}

/* pause(ms): does nothing for so long, or until a signal comes. */
static int pause_for(lua_State *L) {
  double ms = luaL_checknumber(L, 1);
  luaL_argcheck(L, ms <= 60e3, 1, "at most a minute");
  if (ms > 0) {
    long whole = (long)(ms / 1e3);
    struct timespec t = {whole, (long)((ms - (double)whole * 1e3) * 1e6)};
    (void)nanosleep(&t, NULL);
  }
  return 0;
}

/* "GPU-00112233-4455-6677-8899-aabbccddeeff", as NVML calls the device of the current context. */
static void write_uuid(lua_State *L, char out[48]) {
  static const int dashes = 1 << 4 | 1 << 6 | 1 << 8 | 1 << 10;
  CuUuid uuid;
  CuDevice device = 0;
  check(L, driver.cuCtxGetDevice(&device), "cuCtxGetDevice");
  check(L, driver.cuDeviceGetUuid_v2(&uuid, device), "cuDeviceGetUuid");
  int at = snprintf(out, 48, "GPU-");
  for (int i = 0; i < 16; i++) {
    at += snprintf(out + at, 48 - (size_t)at, "%s%02x", dashes >> i & 1 ? "-" : "",
                   (unsigned)(unsigned char)uuid.bytes[i]);
  }
}

/* The power of now, where the driver tells, else the average of the last second. */
static double read_watts(lua_State *L, NvmlDevice device) {
  NvmlField field = {.field = CT_NVML_POWER_INSTANT};
  unsigned milliwatts = 0;
  if (nvml.nvmlDeviceGetFieldValues != NULL &&
      nvml.nvmlDeviceGetFieldValues(device, 1, &field) == CT_NVML_SUCCESS &&
      field.result == CT_NVML_SUCCESS) {
    milliwatts = field.value.u32;
  } else {
    check(L, nvml.nvmlDeviceGetPowerUsage(device, &milliwatts), "nvmlDeviceGetPowerUsage");
  }
  return milliwatts * 1e-3;
}

/* sensors() -> the SM clock in MHz and the power in watts of the current context's device, or nil and
   why there are none. */
static int sensors(lua_State *L) {
  bool was_loaded = libraries[NVML].is_loaded;
  const char *why = load(L, DRIVER);
  why = why == NULL ? load(L, NVML) : why;
  char uuid[48];
  NvmlDevice device = NULL;
  unsigned mhz = 0;
  if (why != NULL) {
    return fail_softly(L, why);
  }
  if (!was_loaded) {
    check(L, nvml.nvmlInit_v2(), "nvmlInit");
  }
  write_uuid(L, uuid);
  check(L, nvml.nvmlDeviceGetHandleByUUID(uuid, &device), "nvmlDeviceGetHandleByUUID");
  check(L, nvml.nvmlDeviceGetClockInfo(device, CT_NVML_CLOCK_SM, &mhz), "nvmlDeviceGetClockInfo");
  lua_pushinteger(L, (lua_Integer)mhz);
  lua_pushnumber(L, read_watts(L, device));
  return 2;
}

/* {====== A queue: a stream with two events and the libraries' handles ====== */

typedef struct Queue {
  CuStream stream;
  CuEvent begin, stop;
  CublasHandle blas;
  CublasLtHandle lt;
} Queue;

static Queue *check_queue(lua_State *L) { return luaL_checkudata(L, 1, QUEUE_TYPE); }

static int queue_close(lua_State *L) {
  Queue *q = check_queue(L);
  if (q->blas != NULL) {
    (void)blas.cublasDestroy_v2(q->blas);
  }
  if (q->lt != NULL) {
    (void)lt.cublasLtDestroy(q->lt);
  }
  if (q->begin != NULL) {
    (void)driver.cuEventDestroy_v2(q->begin);
  }
  if (q->stop != NULL) {
    (void)driver.cuEventDestroy_v2(q->stop);
  }
  if (q->stream != NULL) {
    (void)driver.cuStreamDestroy_v2(q->stream);
  }
  memset(q, 0, sizeof *q);
  return 0;
}

/* queue() -> a queue in the current context, or nil and why there is none. */
static int new_queue(lua_State *L) {
  const char *why = load(L, DRIVER);
  if (why != NULL) {
    return fail_softly(L, why);
  }
  Queue *q = lua_newuserdatauv(L, sizeof *q, 0);
  memset(q, 0, sizeof *q);
  luaL_setmetatable(L, QUEUE_TYPE);
  check(L, driver.cuStreamCreate(&q->stream, CT_CU_STREAM_DEFAULT), "cuStreamCreate");
  check(L, driver.cuEventCreate(&q->begin, 0), "cuEventCreate");
  check(L, driver.cuEventCreate(&q->stop, 0), "cuEventCreate");
  return 1;
}

/* queue:begin(), queue:stop(): marks to take the time between. */
static int queue_begin(lua_State *L) {
  const Queue *q = check_queue(L);
  check(L, driver.cuEventRecord(q->begin, q->stream), "cuEventRecord");
  return 0;
}

static int queue_stop(lua_State *L) {
  const Queue *q = check_queue(L);
  check(L, driver.cuEventRecord(q->stop, q->stream), "cuEventRecord");
  return 0;
}

/* queue:elapsed() -> milliseconds between them; waits for the second. */
static int queue_elapsed(lua_State *L) {
  const Queue *q = check_queue(L);
  float ms = 0;
  check(L, driver.cuEventSynchronize(q->stop), "cuEventSynchronize");
  check(L, driver.cuEventElapsedTime(&ms, q->begin, q->stop), "cuEventElapsedTime");
  lua_pushnumber(L, (lua_Number)ms);
  return 1;
}

/* queue:wait(): until all of it has ended. */
static int queue_wait(lua_State *L) {
  const Queue *q = check_queue(L);
  check(L, driver.cuStreamSynchronize(q->stream), "cuStreamSynchronize");
  return 0;
}

/* {====== Products ====== */

/* C (m,n) = op(A) * op(B), column-major as BLAS has it, between addresses of the device. */
typedef struct Gemm {
  int m, n, k, lda, ldb, ldc;
  CublasOp op_a, op_b;
  CublasDataType type, result, scale;
  CublasComputeType compute;
  CuDevicePtr A, B, C;
} Gemm;

typedef union Factor {
  double f64;
  float f32;
  int32_t i32;
} Factor;

/* A product that is launched again and again. Its user value holds the queue. */
typedef struct Product {
  Queue *queue;
  Gemm gemm;
  Factor alpha, beta;
  CublasLtMatmulDesc desc;
  CublasLtMatrixLayout layouts[3];
  CuDevicePtr workspace;
  size_t workspace_bytes;
  int n;
  CublasLtHeuristic algorithms[MAX_ALGORITHMS];
} Product;

static int product_close(lua_State *L) {
  Product *p = luaL_checkudata(L, 1, PRODUCT_TYPE);
  for (int i = 0; i < 3; i++) {
    if (p->layouts[i] != NULL) {
      (void)lt.cublasLtMatrixLayoutDestroy(p->layouts[i]);
      p->layouts[i] = NULL;
    }
  }
  if (p->desc != NULL) {
    (void)lt.cublasLtMatmulDescDestroy(p->desc);
    p->desc = NULL;
  }
  if (p->workspace != 0) {
    (void)driver.cuMemFree_v2(p->workspace);
    p->workspace = 0;
  }
  return 0;
}

static Factor factor_of(CublasDataType scale, int v) {
  return scale == CT_CUBLAS_R_64F   ? (Factor){.f64 = v}
         : scale == CT_CUBLAS_R_32I ? (Factor){.i32 = v}
                                    : (Factor){.f32 = (float)v};
}

static lua_Integer field(lua_State *L, const char *key) {
  lua_getfield(L, 2, key);
  lua_Integer v = luaL_checkinteger(L, -1);
  lua_pop(L, 1);
  return v;
}

static bool flag(lua_State *L, const char *key) {
  lua_getfield(L, 2, key);
  bool v = lua_toboolean(L, -1) != 0;
  lua_pop(L, 1);
  return v;
}

static CublasOp op_field(lua_State *L, const char *key) {
  return flag(L, key) ? CT_CUBLAS_OP_T : CT_CUBLAS_OP_N;
}

static Gemm check_gemm(lua_State *L) {
  luaL_checktype(L, 2, LUA_TTABLE);
  return (Gemm){.m = (int)field(L, "m"),
                .n = (int)field(L, "n"),
                .k = (int)field(L, "k"),
                .lda = (int)field(L, "lda"),
                .ldb = (int)field(L, "ldb"),
                .ldc = (int)field(L, "ldc"),
                .op_a = op_field(L, "trans_a"),
                .op_b = op_field(L, "trans_b"),
                .type = (CublasDataType)field(L, "type"),
                .result = (CublasDataType)field(L, "result"),
                .scale = (CublasDataType)field(L, "scale"),
                .compute = (CublasComputeType)field(L, "compute"),
                .A = (CuDevicePtr)field(L, "A"),
                .B = (CuDevicePtr)field(L, "B"),
                .C = (CuDevicePtr)field(L, "C")};
}

static void *pointer(CuDevicePtr p) { return (void *)(uintptr_t)p; }

static unsigned run_blas(const Product *p) {
  const Gemm *g = &p->gemm;
  return blas.cublasGemmEx(p->queue->blas, g->op_a, g->op_b, g->m, g->n, g->k, &p->alpha,
                           pointer(g->A), g->type, g->lda, pointer(g->B), g->type, g->ldb, &p->beta,
                           pointer(g->C), g->result, g->ldc, g->compute, CT_CUBLAS_GEMM_DEFAULT);
}

static unsigned run_lt(const Product *p, int i) {
  const Gemm *g = &p->gemm;
  return lt.cublasLtMatmul(p->queue->lt, p->desc, &p->alpha, pointer(g->A), p->layouts[0],
                           pointer(g->B), p->layouts[1], &p->beta, pointer(g->C), p->layouts[2],
                           pointer(g->C), p->layouts[2], &p->algorithms[i].algo,
                           pointer(p->workspace), p->workspace_bytes, p->queue->stream);
}

/* Upvalues: the product, and which algorithm of cuBLASLt's; -1: cublasGemmEx. */
static int launch(lua_State *L) {
  const Product *p = lua_touserdata(L, lua_upvalueindex(1));
  int i = (int)lua_tointeger(L, lua_upvalueindex(2));
  check(L, i < 0 ? run_blas(p) : run_lt(p, i), i < 0 ? "cublasGemmEx" : "cublasLtMatmul");
  return 0;
}

static void push_launch(lua_State *L, int product, int i) {
  lua_pushvalue(L, product);
  lua_pushinteger(L, i);
  lua_pushcclosure(L, launch, 2);
}

static Product *push_product(lua_State *L, const Gemm *g) {
  Product *p = lua_newuserdatauv(L, sizeof *p, 1);
  memset(p, 0, sizeof *p);
  luaL_setmetatable(L, PRODUCT_TYPE);
  p->queue = check_queue(L);
  p->gemm = *g;
  p->alpha = factor_of(g->scale, 1);
  p->beta = factor_of(g->scale, 0);
  lua_pushvalue(L, 1);
  lua_setiuservalue(L, -2, 1);
  return p;
}

/* queue:cublas(problem) -> a function that launches cublasGemmEx's default, or nil and why not. */
static int queue_cublas(lua_State *L) {
  Queue *q = check_queue(L);
  Gemm g = check_gemm(L);
  const char *why = load(L, BLAS);
  if (why != NULL) {
    return fail_softly(L, why);
  }
  if (q->blas == NULL) {
    check(L, blas.cublasCreate_v2(&q->blas), "cublasCreate");
    check(L, blas.cublasSetStream_v2(q->blas, q->stream), "cublasSetStream");
  }
  (void)push_product(L, &g);
  push_launch(L, lua_gettop(L), -1);
  return 1;
}

static void make_desc(lua_State *L, Product *p, bool fast_sums) {
  const Gemm *g = &p->gemm;
  static const char set[] = "cublasLtMatmulDescSetAttribute";
  int8_t fast = 1;
  check(L, lt.cublasLtMatmulDescCreate(&p->desc, g->compute, g->scale), "cublasLtMatmulDescCreate");
  check(L, lt.cublasLtMatmulDescSetAttribute(p->desc, CT_CUBLASLT_TRANSA, &g->op_a, sizeof g->op_a),
        set);
  check(L, lt.cublasLtMatmulDescSetAttribute(p->desc, CT_CUBLASLT_TRANSB, &g->op_b, sizeof g->op_b),
        set);
  if (fast_sums) {
    check(L, lt.cublasLtMatmulDescSetAttribute(p->desc, CT_CUBLASLT_FAST_ACCUM, &fast, sizeof fast),
          set);
  }
}

/* A matrix as it is stored: rows and columns change places where it is transposed. */
static void make_layout(lua_State *L, Product *p, int i, CublasDataType type, CublasOp op,
                        const int extents[3]) {
  bool trans = op == CT_CUBLAS_OP_T;
  uint64_t rows = (uint64_t)extents[trans ? 1 : 0], columns = (uint64_t)extents[trans ? 0 : 1];
  check(L, lt.cublasLtMatrixLayoutCreate(&p->layouts[i], type, rows, columns, extents[2]),
        "cublasLtMatrixLayoutCreate");
}

static void make_layouts(lua_State *L, Product *p) {
  const Gemm *g = &p->gemm;
  make_layout(L, p, 0, g->type, g->op_a, (const int[]){g->m, g->k, g->lda});
  make_layout(L, p, 1, g->type, g->op_b, (const int[]){g->k, g->n, g->ldb});
  make_layout(L, p, 2, g->result, CT_CUBLAS_OP_N, (const int[]){g->m, g->n, g->ldc});
}

/* The heuristics' answer; those that they call good come first already, the others are dropped. */
static void find_algorithms(lua_State *L, Product *p, int n_wanted) {
  CublasLtPreference preference = NULL;
  uint64_t bytes = p->workspace_bytes;
  int n_found = 0;
  check(L, lt.cublasLtMatmulPreferenceCreate(&preference), "cublasLtMatmulPreferenceCreate");
  unsigned set = lt.cublasLtMatmulPreferenceSetAttribute(
      preference, CT_CUBLASLT_MAX_WORKSPACE_BYTES, &bytes, sizeof bytes);
  unsigned found =
      set != 0 ? set
               : lt.cublasLtMatmulAlgoGetHeuristic(p->queue->lt, p->desc, p->layouts[0],
                                                   p->layouts[1], p->layouts[2], p->layouts[2],
                                                   preference, n_wanted, p->algorithms, &n_found);
  (void)lt.cublasLtMatmulPreferenceDestroy(preference);
  check(L, set, "cublasLtMatmulPreferenceSetAttribute");
  check(L, found, "cublasLtMatmulAlgoGetHeuristic");
  for (int i = 0; i < n_found; i++) {
    if (p->algorithms[i].state == CT_CUBLAS_SUCCESS) {
      p->algorithms[p->n++] = p->algorithms[i];
    }
  }
}

/* queue:cublas_lt(problem) -> a list of functions that launch each of the algorithms that the
   heuristics name, the best-liked first, or nil and why not. The problem has `algorithms`, `workspace`
   (bytes) and, for fp8, `fast_sums`: sums as the tensor cores make them, not promoted on the way. */
static int queue_cublas_lt(lua_State *L) {
  Queue *q = check_queue(L);
  Gemm g = check_gemm(L);
  int n = (int)field(L, "algorithms");
  luaL_argcheck(L, n >= 1 && n <= MAX_ALGORITHMS, 2, "1 to 32 algorithms");
  const char *why = load(L, BLAS_LT);
  if (why != NULL) {
    return fail_softly(L, why);
  }
  if (q->lt == NULL) {
    check(L, lt.cublasLtCreate(&q->lt), "cublasLtCreate");
  }
  Product *p = push_product(L, &g);
  int product = lua_gettop(L);
  p->workspace_bytes = (size_t)field(L, "workspace");
  make_desc(L, p, flag(L, "fast_sums"));
  make_layouts(L, p);
  find_algorithms(L, p, n);
  if (p->n == 0) {
    return fail_softly(L, "cublasLt: no algorithm for this product");
  }
  check(L, driver.cuMemAlloc_v2(&p->workspace, p->workspace_bytes), "cuMemAlloc");
  lua_createtable(L, p->n, 0);
  for (int i = 0; i < p->n; i++) {
    push_launch(L, product, i);
    lua_rawseti(L, -2, i + 1);
  }
  return 1;
}

/* {====== The module ====== */

static const luaL_Reg queue_methods[] = {{"begin", queue_begin},     {"stop", queue_stop},
                                         {"elapsed", queue_elapsed}, {"wait", queue_wait},
                                         {"cublas", queue_cublas},   {"cublas_lt", queue_cublas_lt},
                                         {"__gc", queue_close},      {NULL, NULL}};
static const luaL_Reg product_meta[] = {{"__gc", product_close}, {NULL, NULL}};
static const luaL_Reg functions[] = {
    {"now", now}, {"pause", pause_for}, {"sensors", sensors}, {"queue", new_queue}, {NULL, NULL}};

int luaopen_bench_tools(lua_State *L) {
  luaL_newmetatable(L, QUEUE_TYPE);
  luaL_setfuncs(L, queue_methods, 0);
  lua_pushvalue(L, -1);
  lua_setfield(L, -2, "__index");
  luaL_newmetatable(L, PRODUCT_TYPE);
  luaL_setfuncs(L, product_meta, 0);
  luaL_newlib(L, functions);
  return 1;
}
