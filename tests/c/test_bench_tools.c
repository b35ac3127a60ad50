/* test_bench_tools.c: the C part of scripts/bench on libraries that record what they are asked
   (fake_libraries.h): what a product becomes, that nothing is left behind whatever fails, and what a
   reader is told. */
#include <dlfcn.h>
#include <lauxlib.h>
#include <lualib.h>
#include <stdbool.h>
#include <unistd.h>

#include "fake_cuda.h"
#include "fake_libraries.h"
#include "runtime/device/cublas_types.h"
#include "runtime/device/device.h"
#include "tap.h"

int luaopen_bench_tools(lua_State *L);

static FakeLibraries *fake;
static FakeCuda *fake_driver;
static char temp_dir[] = "/tmp/cuttle-test-XXXXXX", driver_path[256], libraries_path[256];

enum { WORKSPACE = 4096 };

static void fail_next(const char *call) {
  snprintf(fake->fail_name, sizeof fake->fail_name, "%s", call);
}

/* Runs Lua text; what it returns, or its error, as text. */
static const char *run(lua_State *L, const char *text) {
  lua_settop(L, 0);
  if (luaL_dostring(L, text) != LUA_OK) {
    return lua_tostring(L, -1);
  }
  return lua_gettop(L) == 0 ? "" : luaL_tolstring(L, 1, NULL);
}

/* C (48,16) = A (48,32) * B (32,16), A stored as its transpose, bf16; product(changes) is a copy. */
static const char setup[] =
    "tools = require 'bench_tools'\n"
    "local problem = {m = 48, n = 16, k = 32, lda = 40, ldb = 36, ldc = 50, trans_a = true,\n"
    "  type = 14, result = 14, compute = 68, scale = 0, A = 100, B = 200, C = 300,\n"
    "  algorithms = 8, workspace = 4096}\n"
    "function product(changes)\n"
    "  local p = {}\n"
    "  for k, v in pairs(problem) do p[k] = v end\n"
    "  for k, v in pairs(changes or {}) do p[k] = v end\n"
    "  return p\n"
    "end\n"
    "function gone() queue = nil; launches = nil; collectgarbage(); collectgarbage() end\n"
    "function lt(changes)\n"
    "  queue = queue or assert(tools.queue())\n"
    "  launches = assert(queue:cublas_lt(product(changes)))\n"
    "  return #launches\n"
    "end\n";

static void test_lt(lua_State *L) {
  IS_STR(run(L, "return lt()"), "3", "keeps the good algorithms");
  IS_INT(fake->compute, CT_CUBLAS_COMPUTE_32F, "sums in f32");
  IS_INT(fake->scale, CT_CUBLAS_R_32F, "alpha in f32");
  OK(fake->op_a == CT_CUBLAS_OP_T && fake->op_b == CT_CUBLAS_OP_N, "transposes A");
  OK(fake->rows[0] == 32 && fake->columns[0] == 48 && fake->ld[0] == 40, "A as stored");
  OK(fake->rows[1] == 32 && fake->columns[1] == 16 && fake->ld[1] == 36, "B");
  OK(fake->rows[2] == 48 && fake->columns[2] == 16 && fake->ld[2] == 50, "C");
  IS_INT(fake->workspace, WORKSPACE, "workspace");
  IS_STR(run(L, "launches[2]()"), "", "runs the second of them");
  OK(fake->algorithm == 200 && (uintptr_t)fake->A == 100 && (uintptr_t)fake->B == 200 &&
         (uintptr_t)fake->C == 300,
     "on these operands");
  OK(fake->alpha == 1.0F && fake->beta == 0.0F, "with alpha and beta");
  fail_next("cublasLtMatmul");
  HAS_STR(run(L, "launches[1]()"), "cublasLtMatmul: status 7", "reports a failure");
  run(L, "launches = nil; collectgarbage(); collectgarbage()");
  IS_INT(fake->live, 1, "only the handle is left");
  IS_INT(fake_driver->live_buffers, 0, "no workspace is left");
}

static void test_types(lua_State *L) {
  run(L, "lt{type = 28, compute = 68, fast_sums = true}");
  OK(fake->types[0] == CT_CUBLAS_R_8F_E4M3 && fake->types[2] == CT_CUBLAS_R_16BF &&
         fake->fast_sums == 1,
     "fp8 with fast sums");
  run(L, "lt{type = 3, result = 10, compute = 72, scale = 10}");
  OK(fake->types[0] == CT_CUBLAS_R_8I && fake->types[2] == CT_CUBLAS_R_32I &&
         fake->compute == CT_CUBLAS_COMPUTE_32I && fake->fast_sums == 0,
     "integers");
  run(L, "launches = nil; collectgarbage(); collectgarbage()");
}

static void test_cublas(lua_State *L) {
  IS_STR(run(L, "launch = assert(queue:cublas(product())); launch() launch()"), "", "cublasGemmEx");
  OK(fake->n_gemms == 2 && (uintptr_t)fake->from == 100 && fake->op_a == CT_CUBLAS_OP_T &&
         fake->ld[2] == 50 && fake->types[2] == CT_CUBLAS_R_16BF,
     "on these operands");
  fail_next("cublasGemmEx");
  HAS_STR(run(L, "launch()"), "cublasGemmEx: status 7", "reports a failure");
  IS_STR(run(L, "queue:begin() launch() queue:stop() queue:wait() return queue:elapsed()"), "1.5",
         "times by the queue's events");
  run(L, "launch = nil");
}

static void test_failures(lua_State *L) {
  static const char *const calls[] = {
      "cublasLtMatmulDescCreate",       "cublasLtMatmulDescSetAttribute",
      "cublasLtMatrixLayoutCreate",     "cublasLtMatmulPreferenceCreate",
      "cublasLtMatmulAlgoGetHeuristic", "cublasLtMatmulPreferenceSetAttribute"};
  run(L, "gone()");
  IS_INT(fake->live, 0, "nothing is left in the libraries");
  for (size_t i = 0; i < CT_ARRAY_LEN(calls); i++) {
    fail_next(calls[i]);
    HAS_STR(run(L, "return lt()"), calls[i], "the message names the call that failed");
    run(L, "gone()");
    IS_INT(fake->live, 0, "and nothing is left");
  }
  fake->n_good = 0;
  HAS_STR(run(L, "return lt()"), "no algorithm for this product", "no algorithm is good");
  fail_next("cublasLtCreate");
  HAS_STR(run(L, "gone() return lt()"), "cublasLtCreate: status 7", "no handle");
  HAS_STR(run(L, "return lt{algorithms = 33}"), "1 to 32 algorithms", "too many are refused");
  run(L, "gone()");
  IS_INT(fake->live, 0, "nothing is left at the end");
  OK(fake_driver->live_events == 0 && fake_driver->live_streams == 1, "nor in the driver");
}

static void test_sensors(lua_State *L) {
  static const char both[] = "return table.concat({tools.sensors()}, ' ')";
  IS_STR(run(L, both), "1455 650.0", "clock and average power");
  fake->has_fields = 1;
  IS_STR(run(L, both), "1455 700.5", "power of now");
  fail_next("nvmlDeviceGetClockInfo");
  HAS_STR(run(L, both), "nvmlDeviceGetClockInfo: status 7", "reports a failure");
}

static void test_clock(lua_State *L) {
  IS_STR(run(L, "local t = tools.now(); tools.pause(2); return tools.now() - t >= 2"), "true",
         "the clock goes on in a pause");
  HAS_STR(run(L, "tools.pause(1e9)"), "at most a minute", "a long pause is refused");
}

/* Builds both fakes and has them loaded; false where there is no compiler. */
static bool load_fakes(void) {
  if (mkdtemp(temp_dir) == NULL ||
      !build_fake(__FILE__, temp_dir, "", driver_path, sizeof driver_path) ||
      !build_fake_file("fake_libraries.c", __FILE__, temp_dir, "", libraries_path,
                       sizeof libraries_path)) {
    return false;
  }
  setenv("CUTTLE_LIBCUDA", driver_path, 1);
  setenv("CUTTLE_CUBLAS", libraries_path, 1);
  setenv("CUTTLE_CUBLASLT", libraries_path, 1);
  setenv("CUTTLE_NVML", libraries_path, 1);
  void *d = dlopen(driver_path, RTLD_NOW | RTLD_LOCAL);
  void *l = dlopen(libraries_path, RTLD_NOW | RTLD_LOCAL);
  fake_driver = d == NULL ? NULL : dlsym(d, "fake");
  fake = l == NULL ? NULL : dlsym(l, "fake");
  return fake_driver != NULL && fake != NULL;
}

static void test_all(lua_State *L) {
  luaL_openlibs(L);
  luaL_requiref(L, "bench_tools", luaopen_bench_tools, 0);
  IS_STR(run(L, setup), "", "the module loads");
  test_clock(L);
  test_sensors(L);
  test_lt(L);
  test_types(L);
  test_cublas(L);
  test_failures(L);
}

int main(void) {
  CtDevice *d = NULL;
  CtErr err;
  CtDeviceOptions o = {.alloc = ct_alloc_std};
  lua_State *L = luaL_newstate();
  if (!load_fakes()) {
    return skip_all("no C compiler to build libraries for the test");
  }
  if (OK(ct_device_open(&o, &d, &err) == CT_OK, "a device") && L != NULL) {
    test_all(L);
  }
  lua_close(L);
  ct_device_close(d);
  (void)unlink(driver_path);
  (void)unlink(libraries_path);
  (void)rmdir(temp_dir);
  return done_testing();
}
