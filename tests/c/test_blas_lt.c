/* test_blas_lt.c: cuBLASLt and NVML on libraries that record what they are asked (fake_libraries.h):
   what a product becomes, that nothing is left behind whatever fails, and what a reader is told. */
#include "runtime/device/blas_lt.h"

#include <dlfcn.h>
#include <unistd.h>

#include "fake_cuda.h"
#include "fake_libraries.h"
#include "runtime/device/cublas_types.h"
#include "runtime/device/nvml.h"
#include "tap.h"

static FakeLibraries *fake;
static FakeCuda *fake_driver;
static char temp_dir[] = "/tmp/cuttle-test-XXXXXX", driver[256], libraries[256];
static CtErr err;

enum { WORKSPACE = 4096 };

static const CtLtOptions options = {.n_algorithms = 8, .workspace_bytes = WORKSPACE};

/* C (48,16) = A (48,32) * B (32,16), A stored as its transpose. */
static CtGemm gemm_of(CtDtype dtype, CtDtype result) {
  return (CtGemm){.dtype = dtype,
                  .result = result,
                  .trans_a = true,
                  .m = 48,
                  .n = 16,
                  .k = 32,
                  .lda = 40,
                  .ldb = 36,
                  .ldc = 50,
                  .alpha = 2,
                  .beta = -1};
}

static void fail_next(const char *call) {
  snprintf(fake->fail_name, sizeof fake->fail_name, "%s", call);
}

static void test_product(CtBlasLt *lt) {
  CtGemm g = gemm_of(CT_bf16, CT_bf16);
  CtLtPlan *p = NULL;
  if (!OK(ct_lt_plan_new(lt, &g, &options, &p, &err) == CT_OK, "plans: %s", err.msg)) {
    return;
  }
  IS_INT(ct_lt_plan_count(p), 3, "keeps the good algorithms");
  IS_INT(fake->compute, CT_CUBLAS_COMPUTE_32F, "sums in f32");
  IS_INT(fake->scale, CT_CUBLAS_R_32F, "alpha in f32");
  OK(fake->op_a == CT_CUBLAS_OP_T && fake->op_b == CT_CUBLAS_OP_N, "transposes A");
  OK(fake->rows[0] == 32 && fake->columns[0] == 48 && fake->ld[0] == 40, "A as stored");
  OK(fake->rows[1] == 32 && fake->columns[1] == 16 && fake->ld[1] == 36, "B");
  OK(fake->rows[2] == 48 && fake->columns[2] == 16 && fake->ld[2] == 50, "C");
  IS_INT(fake->workspace, WORKSPACE, "workspace");
  OK(ct_lt_plan_run(p, 1, 100, 200, 300, NULL, &err) == CT_OK && fake->algorithm == 200,
     "runs the second of them");
  OK((uintptr_t)fake->A == 100 && (uintptr_t)fake->B == 200 && (uintptr_t)fake->C == 300,
     "on these operands");
  OK(fake->alpha == 2.0F && fake->beta == -1.0F, "with alpha and beta");
  fail_next("cublasLtMatmul");
  OK(ct_lt_plan_run(p, 0, 1, 2, 3, NULL, &err) == CT_EDEVICE, "reports a failure");
  IS_STR(err.msg, "cublasLtMatmul: status 7 on 'Fake 0'", "by the call and its status");
  ct_lt_plan_free(p);
  IS_INT(fake->live, 1, "only the handle is left");
  IS_INT(fake_driver->live_buffers, 0, "no workspace is left");
}

static void test_types(CtBlasLt *lt) {
  static const struct {
    CtDtype dtype, result;
    unsigned compute, scale, in, out;
  } cases[] = {
      {CT_f16, CT_f16, CT_CUBLAS_COMPUTE_32F, CT_CUBLAS_R_32F, CT_CUBLAS_R_16F, CT_CUBLAS_R_16F},
      {CT_f8e4m3, CT_bf16, CT_CUBLAS_COMPUTE_32F, CT_CUBLAS_R_32F, CT_CUBLAS_R_8F_E4M3,
       CT_CUBLAS_R_16BF},
      {CT_tf32, CT_f32, CT_CUBLAS_COMPUTE_32F_FAST_TF32, CT_CUBLAS_R_32F, CT_CUBLAS_R_32F,
       CT_CUBLAS_R_32F},
      {CT_i8, CT_i32, CT_CUBLAS_COMPUTE_32I, CT_CUBLAS_R_32I, CT_CUBLAS_R_8I, CT_CUBLAS_R_32I},
  };
  for (size_t i = 0; i < CT_ARRAY_LEN(cases); i++) {
    CtLtOptions fast = options;
    CtGemm g = gemm_of(cases[i].dtype, cases[i].result);
    CtLtPlan *p = NULL;
    fast.fast_sums = cases[i].dtype == CT_f8e4m3;
    OK(ct_blaslt_has(g.dtype, g.result) && ct_lt_plan_new(lt, &g, &fast, &p, &err) == CT_OK,
       "%s: plans", ct_dtypes[g.dtype].name);
    OK(fake->compute == cases[i].compute && fake->scale == cases[i].scale &&
           fake->types[0] == cases[i].in && fake->types[1] == cases[i].in &&
           fake->types[2] == cases[i].out && fake->fast_sums == (fast.fast_sums ? 1 : 0),
       "%s: types", ct_dtypes[g.dtype].name);
    ct_lt_plan_free(p);
  }
  OK(!ct_blaslt_has(CT_f8e4m3, CT_f8e4m3) && !ct_blaslt_has(CT_i32, CT_i32), "not every type");
}

static void test_failures(CtDevice *d, CtBlasLt *lt) {
  static const char *const calls[] = {
      "cublasLtMatmulDescCreate",       "cublasLtMatmulDescSetAttribute",
      "cublasLtMatrixLayoutCreate",     "cublasLtMatmulPreferenceCreate",
      "cublasLtMatmulAlgoGetHeuristic", "cublasLtMatmulPreferenceSetAttribute"};
  CtGemm g = gemm_of(CT_bf16, CT_bf16);
  CtLtPlan *p = NULL;
  for (size_t i = 0; i < CT_ARRAY_LEN(calls); i++) {
    fail_next(calls[i]);
    OK(ct_lt_plan_new(lt, &g, &options, &p, &err) == CT_EDEVICE && fake->live == 1,
       "%s fails: nothing is left", calls[i]);
    HAS_STR(err.msg, calls[i], "and the message names it");
  }
  fake->n_good = 0;
  OK(ct_lt_plan_new(lt, &g, &options, &p, &err) == CT_EUNSUPPORTED && fake->live == 1,
     "no algorithm is good: %s", err.msg);
  fail_next("cublasLtCreate");
  OK(ct_blaslt_new(d, &lt, &err) == CT_EDEVICE, "no handle: %s", err.msg);
  ct_blaslt_free(NULL);
  ct_lt_plan_free(NULL);
}

static void test_sensors(CtDevice *d) {
  CtSensors s = {0};
  OK(ct_nvml_read(d, &s, &err) == CT_OK && s.sm_mhz == 1455 && s.watts == 650.0,
     "clock and average power");
  fake->has_fields = 1;
  OK(ct_nvml_read(d, &s, &err) == CT_OK && s.watts == 700.5, "power of now");
  fail_next("nvmlDeviceGetClockInfo");
  OK(ct_nvml_read(d, &s, &err) == CT_EDEVICE, "reports a failure");
  IS_STR(err.msg, "nvmlDeviceGetClockInfo: status 7", "by the call and its status");
}

/* Builds both fakes and has them loaded; false where there is no compiler. */
static bool load_fakes(void) {
  if (mkdtemp(temp_dir) == NULL || !build_fake(__FILE__, temp_dir, "", driver, sizeof driver) ||
      !build_fake_file("fake_libraries.c", __FILE__, temp_dir, "", libraries, sizeof libraries)) {
    return false;
  }
  setenv("CUTTLE_LIBCUDA", driver, 1);
  setenv("CUTTLE_CUBLASLT", libraries, 1);
  setenv("CUTTLE_NVML", libraries, 1);
  void *d = dlopen(driver, RTLD_NOW | RTLD_LOCAL), *l = dlopen(libraries, RTLD_NOW | RTLD_LOCAL);
  fake_driver = d == NULL ? NULL : dlsym(d, "fake");
  fake = l == NULL ? NULL : dlsym(l, "fake");
  return fake_driver != NULL && fake != NULL;
}

int main(void) {
  CtDevice *d = NULL;
  CtBlasLt *lt = NULL;
  CtDeviceOptions o = {.alloc = ct_alloc_std};
  if (!load_fakes()) {
    return skip_all("no C compiler to build libraries for the test");
  }
  OK(ct_device_open(&o, &d, &err) == CT_OK, "a device");
  if (d != NULL && OK(ct_blaslt_new(d, &lt, &err) == CT_OK, "a handle: %s", err.msg)) {
    test_product(lt);
    test_types(lt);
    test_failures(d, lt);
    ct_blaslt_free(lt);
    IS_INT(fake->live, 0, "nothing is left in the library");
    test_sensors(d);
  }
  ct_device_close(d);
  (void)unlink(driver);
  (void)unlink(libraries);
  (void)rmdir(temp_dir);
  return done_testing();
}
