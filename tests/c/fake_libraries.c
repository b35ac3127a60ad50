/* fake_libraries.c: the libraries that fake_libraries.h describes. */
#include "fake_libraries.h"

#include <stdlib.h>
#include <string.h>

#include "scripts/bench/cublaslt_types.h"
#include "scripts/bench/nvml_types.h"

FakeLibraries fake = {.n_good = 3};

#define X(need, name, args) CublasStatus name args;
#include "runtime/device/cublas_syms.def"
#include "scripts/bench/cublaslt_syms.def"
#undef X
#define X(need, name, args) NvmlResult name args;
#include "scripts/bench/nvml_syms.def"
#undef X

static unsigned result(const char *name) {
  if (strcmp(fake.fail_name, name) == 0) {
    fake.fail_name[0] = '\0';
    return 7;
  }
  return 0;
}

#define CHECK                                                                                      \
  do {                                                                                             \
    unsigned r_ = result(__func__);                                                                \
    if (r_ != 0) {                                                                                 \
      return r_;                                                                                   \
    }                                                                                              \
  } while (0)

/* Whatever is made is a block of memory, so that leaks and wrong frees are seen. */
static void *new_object(void) {
  fake.live++;
  return malloc(1);
}

static CublasStatus drop(void *object) {
  fake.live--;
  free(object);
  return 0;
}

CublasStatus cublasLtCreate(CublasLtHandle *h) {
  CHECK;
  *h = new_object();
  return 0;
}

CublasStatus cublasLtDestroy(CublasLtHandle h) { return drop(h); }

CublasStatus cublasLtMatmulDescCreate(CublasLtMatmulDesc *desc, CublasComputeType compute,
                                      CublasDataType scale) {
  CHECK;
  *desc = new_object();
  fake.compute = compute;
  fake.scale = scale;
  fake.n_layouts = 0;
  fake.op_a = fake.op_b = 0;
  fake.fast_sums = 0;
  return 0;
}

CublasStatus cublasLtMatmulDescDestroy(CublasLtMatmulDesc desc) { return drop(desc); }

CublasStatus cublasLtMatmulDescSetAttribute(CublasLtMatmulDesc desc,
                                            CublasLtDescAttribute attribute, const void *value,
                                            size_t bytes) {
  (void)desc;
  CHECK;
  void *to = attribute == CT_CUBLASLT_TRANSA   ? (void *)&fake.op_a
             : attribute == CT_CUBLASLT_TRANSB ? (void *)&fake.op_b
                                               : (void *)&fake.fast_sums;
  if (bytes != (attribute == CT_CUBLASLT_FAST_ACCUM ? 1 : 4)) {
    return 8;
  }
  memcpy(to, value, bytes);
  return 0;
}

CublasStatus cublasLtMatrixLayoutCreate(CublasLtMatrixLayout *layout, CublasDataType type,
                                        uint64_t rows, uint64_t columns, int64_t ld) {
  CHECK;
  int i = fake.n_layouts++;
  *layout = new_object();
  fake.types[i] = type;
  fake.rows[i] = rows;
  fake.columns[i] = columns;
  fake.ld[i] = ld;
  return 0;
}

CublasStatus cublasLtMatrixLayoutDestroy(CublasLtMatrixLayout layout) { return drop(layout); }

CublasStatus cublasLtMatmulPreferenceCreate(CublasLtPreference *preference) {
  CHECK;
  *preference = new_object();
  return 0;
}

CublasStatus cublasLtMatmulPreferenceDestroy(CublasLtPreference preference) {
  return drop(preference);
}

CublasStatus cublasLtMatmulPreferenceSetAttribute(CublasLtPreference preference,
                                                  CublasLtPreferenceAttribute attribute,
                                                  const void *value, size_t bytes) {
  (void)preference;
  CHECK;
  if (attribute != CT_CUBLASLT_MAX_WORKSPACE_BYTES || bytes != sizeof fake.workspace) {
    return 8;
  }
  memcpy(&fake.workspace, value, bytes);
  return 0;
}

/* Algorithm i carries i * 100; the first is called bad. */
CublasStatus cublasLtMatmulAlgoGetHeuristic(CublasLtHandle h, CublasLtMatmulDesc desc,
                                            CublasLtMatrixLayout A, CublasLtMatrixLayout B,
                                            CublasLtMatrixLayout C, CublasLtMatrixLayout D,
                                            CublasLtPreference preference, int n_wanted,
                                            CublasLtHeuristic *results, int *n_found) {
  (void)h;
  (void)desc;
  (void)A;
  (void)B;
  (void)preference;
  CHECK;
  if (C != D) {
    return 8;
  }
  *n_found = fake.n_good + 1 < n_wanted ? fake.n_good + 1 : n_wanted;
  for (int i = 0; i < *n_found; i++) {
    results[i].state = i == 0 ? 15 : 0;
    results[i].algo.data[0] = (uint64_t)i * 100;
  }
  return 0;
}

CublasStatus cublasLtMatmul(CublasLtHandle h, CublasLtMatmulDesc desc, const void *alpha,
                            const void *A, CublasLtMatrixLayout layout_A, const void *B,
                            CublasLtMatrixLayout layout_B, const void *beta, const void *C,
                            CublasLtMatrixLayout layout_C, void *D, CublasLtMatrixLayout layout_D,
                            const CublasLtAlgo *algo, void *workspace, size_t workspace_bytes,
                            CublasStream stream) {
  (void)h;
  (void)desc;
  (void)layout_A;
  (void)layout_B;
  (void)layout_C;
  (void)layout_D;
  (void)stream;
  CHECK;
  if (C != D || workspace == NULL || workspace_bytes != fake.workspace) {
    return 8;
  }
  fake.algorithm = algo->data[0];
  fake.A = A;
  fake.B = B;
  fake.C = C;
  memcpy(&fake.alpha, alpha, sizeof fake.alpha);
  memcpy(&fake.beta, beta, sizeof fake.beta);
  return 0;
}

CublasStatus cublasCreate_v2(CublasHandle *h) {
  CHECK;
  *h = new_object();
  return 0;
}

CublasStatus cublasDestroy_v2(CublasHandle h) { return drop(h); }

CublasStatus cublasSetStream_v2(CublasHandle h, CublasStream s) {
  (void)h;
  (void)s;
  CHECK;
  return 0;
}

CublasStatus cublasGemmEx(CublasHandle h, CublasOp op_a, CublasOp op_b, int m, int n, int k,
                          const void *alpha, const void *A, CublasDataType type_a, int lda,
                          const void *B, CublasDataType type_b, int ldb, const void *beta, void *C,
                          CublasDataType type_c, int ldc, CublasComputeType compute,
                          CublasAlgo algo) {
  (void)h;
  (void)alpha;
  (void)B;
  (void)beta;
  (void)C;
  CHECK;
  fake.n_gemms++;
  fake.from = A;
  fake.op_a = (int32_t)op_a;
  fake.op_b = (int32_t)op_b;
  fake.compute = compute;
  fake.types[0] = type_a;
  fake.types[1] = type_b;
  fake.types[2] = type_c;
  fake.ld[0] = lda;
  fake.ld[1] = ldb;
  fake.ld[2] = ldc;
  fake.rows[0] = (uint64_t)m;
  fake.rows[1] = (uint64_t)n;
  fake.rows[2] = (uint64_t)k;
  return algo == CT_CUBLAS_GEMM_DEFAULT ? 0 : 8;
}

NvmlResult nvmlInit_v2(void) { return result(__func__); }

NvmlResult nvmlDeviceGetHandleByUUID(const char *uuid, NvmlDevice *device) {
  CHECK;
  *device = NULL;
  return strcmp(uuid, "GPU-00112233-4455-6677-8899-aabbccddeeff") == 0 ? 0 : 6;
}

NvmlResult nvmlDeviceGetClockInfo(NvmlDevice device, NvmlClock which, unsigned *mhz) {
  (void)device;
  CHECK;
  *mhz = which == CT_NVML_CLOCK_SM ? 1455 : 1;
  return 0;
}

NvmlResult nvmlDeviceGetPowerUsage(NvmlDevice device, unsigned *milliwatts) {
  (void)device;
  CHECK;
  *milliwatts = 650000;
  return 0;
}

NvmlResult nvmlDeviceGetFieldValues(NvmlDevice device, int n, NvmlField *fields) {
  (void)device;
  CHECK;
  fields->result = n == 1 && fields->field == CT_NVML_POWER_INSTANT && fake.has_fields ? 0 : 3;
  fields->value.u32 = 700500;
  return 0;
}
