/* test_dl.c: loading the driver and NVRTC, what is said when there is none, and our declarations of
   these, of cuBLAS and of NCCL against the real headers where these are on the include path. */
#include "runtime/device/dl.h"

#include "runtime/device/cublas_types.h"
#include "runtime/device/nccl_types.h"
#include "scripts/bench/cublaslt_types.h"
#include "scripts/bench/nvml_types.h"

#include <dlfcn.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fake_cuda.h"
#include "loaded.h"
#include "tap.h"

#ifdef __has_include
#if __has_include(<cuda.h>) && __has_include(<nvrtc.h>) && __has_include(<cublas_v2.h>) && \
    __has_include(<cublasLt.h>)
#define HAS_HEADERS 1
#endif
#endif

#ifdef HAS_HEADERS
#if __has_include(<nccl.h>) && __has_include(<cuda_runtime.h>)
#define HAS_NCCL 1
#endif
#include <cublasLt.h>
#include <cublas_v2.h>
#include <cuda.h>
#include <nvrtc.h>

/* {====== Our declarations are the headers', row by row, when the program compiles ====== */

#define SAME_TYPE(ours, theirs)                                                                    \
  _Static_assert(__builtin_types_compatible_p(ours, theirs), #ours " is " #theirs)
#define SAME_SIZE(ours, theirs)                                                                    \
  _Static_assert(sizeof(ours) == sizeof(theirs) && _Alignof(ours) == _Alignof(theirs), #ours)
#define SAME_PLACE(ours, field, theirs, their_field)                                               \
  _Static_assert(offsetof(ours, field) == offsetof(theirs, their_field), #ours "." #field)

#define X(name, value) _Static_assert((long long)(name) == CT_##name, #name);
#include "runtime/device/cuda_consts.def"
#undef X
_Static_assert((int)CT_NVRTC_SUCCESS == (int)NVRTC_SUCCESS, "NVRTC_SUCCESS");
_Static_assert((int)CT_NVRTC_ERROR_INVALID_OPTION == (int)NVRTC_ERROR_INVALID_OPTION, "option");
_Static_assert((int)CT_NVRTC_ERROR_COMPILATION == (int)NVRTC_ERROR_COMPILATION, "compilation");

_Static_assert((int)CT_CUBLAS_SUCCESS == (int)CUBLAS_STATUS_SUCCESS, "cuBLAS's success");
_Static_assert((int)CT_CUBLAS_OP_N == (int)CUBLAS_OP_N, "no transposition");
_Static_assert((int)CT_CUBLAS_OP_T == (int)CUBLAS_OP_T, "transposition");
_Static_assert((int)CT_CUBLAS_GEMM_DEFAULT == (int)CUBLAS_GEMM_DEFAULT, "the algorithm");
_Static_assert((int)CT_CUBLAS_R_32F == (int)CUDA_R_32F, "f32");
_Static_assert((int)CT_CUBLAS_R_64F == (int)CUDA_R_64F, "f64");
_Static_assert((int)CT_CUBLAS_R_16F == (int)CUDA_R_16F, "f16");
_Static_assert((int)CT_CUBLAS_R_16BF == (int)CUDA_R_16BF, "bf16");
_Static_assert((int)CT_CUBLAS_R_8I == (int)CUDA_R_8I, "i8");
_Static_assert((int)CT_CUBLAS_R_32I == (int)CUDA_R_32I, "i32");
_Static_assert((int)CT_CUBLAS_COMPUTE_32F == (int)CUBLAS_COMPUTE_32F, "sums in f32");
_Static_assert((int)CT_CUBLAS_COMPUTE_64F == (int)CUBLAS_COMPUTE_64F, "sums in f64");
_Static_assert((int)CT_CUBLAS_COMPUTE_32I == (int)CUBLAS_COMPUTE_32I, "sums in i32");
_Static_assert((int)CT_CUBLAS_COMPUTE_32F_FAST_TF32 == (int)CUBLAS_COMPUTE_32F_FAST_TF32, "tf32");

_Static_assert((int)CT_CUBLAS_R_8F_E4M3 == (int)CUDA_R_8F_E4M3, "f8e4m3");
_Static_assert((int)CT_CUBLAS_R_8F_E5M2 == (int)CUDA_R_8F_E5M2, "f8e5m2");
_Static_assert((int)CT_CUBLASLT_TRANSA == (int)CUBLASLT_MATMUL_DESC_TRANSA, "A's transposition");
_Static_assert((int)CT_CUBLASLT_TRANSB == (int)CUBLASLT_MATMUL_DESC_TRANSB, "B's transposition");
_Static_assert((int)CT_CUBLASLT_FAST_ACCUM == (int)CUBLASLT_MATMUL_DESC_FAST_ACCUM, "fast sums");
_Static_assert((int)CT_CUBLASLT_MAX_WORKSPACE_BYTES ==
                   (int)CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
               "the workspace");

SAME_TYPE(CublasHandle, cublasHandle_t);
SAME_TYPE(CublasLtHandle, cublasLtHandle_t);
SAME_SIZE(CublasLtDescAttribute, cublasLtMatmulDescAttributes_t);
SAME_SIZE(CublasLtPreferenceAttribute, cublasLtMatmulPreferenceAttributes_t);
SAME_SIZE(CublasLtMatmulDesc, cublasLtMatmulDesc_t);
SAME_SIZE(CublasLtMatrixLayout, cublasLtMatrixLayout_t);
SAME_SIZE(CublasLtPreference, cublasLtMatmulPreference_t);
SAME_SIZE(CublasLtAlgo, cublasLtMatmulAlgo_t);
SAME_SIZE(CublasLtHeuristic, cublasLtMatmulHeuristicResult_t);
SAME_PLACE(CublasLtHeuristic, algo, cublasLtMatmulHeuristicResult_t, algo);
SAME_PLACE(CublasLtHeuristic, workspace_bytes, cublasLtMatmulHeuristicResult_t, workspaceSize);
SAME_PLACE(CublasLtHeuristic, state, cublasLtMatmulHeuristicResult_t, state);
SAME_PLACE(CublasLtHeuristic, waves, cublasLtMatmulHeuristicResult_t, wavesCount);
SAME_TYPE(CublasStream, cudaStream_t);
SAME_SIZE(CublasStatus, cublasStatus_t);
SAME_SIZE(CublasOp, cublasOperation_t);
SAME_SIZE(CublasDataType, cudaDataType);
SAME_SIZE(CublasComputeType, cublasComputeType_t);
SAME_SIZE(CublasAlgo, cublasGemmAlgo_t);
SAME_TYPE(CuDevice, CUdevice);
SAME_TYPE(CuDevicePtr, CUdeviceptr);
SAME_TYPE(CuContext, CUcontext);
SAME_TYPE(CuStream, CUstream);
SAME_TYPE(CuEvent, CUevent);
SAME_TYPE(CuModule, CUmodule);
SAME_TYPE(CuFunction, CUfunction);
SAME_TYPE(CuMemPool, CUmemoryPool);
SAME_TYPE(CuGraph, CUgraph);
SAME_TYPE(CuGraphExec, CUgraphExec);
SAME_TYPE(CuGraphNode, CUgraphNode);
SAME_SIZE(CuCaptureMode, CUstreamCaptureMode);
SAME_SIZE(CuCaptureStatus, CUstreamCaptureStatus);
SAME_SIZE(CuGraphUpdate, CUgraphExecUpdateResultInfo);
SAME_PLACE(CuGraphUpdate, result, CUgraphExecUpdateResultInfo, result);
SAME_PLACE(CuGraphUpdate, node, CUgraphExecUpdateResultInfo, errorNode);
SAME_SIZE(CuResult, CUresult);
SAME_SIZE(CuDeviceAttribute, CUdevice_attribute);
SAME_SIZE(CuFunctionAttribute, CUfunction_attribute);
SAME_SIZE(CuMemPoolAttribute, CUmemPool_attribute);
SAME_SIZE(CuJitOption, CUjit_option);
SAME_SIZE(CuUuid, CUuuid);
SAME_SIZE(CuIpcMemHandle, CUipcMemHandle);
_Static_assert(sizeof(CuTensorMap) == sizeof(CUtensorMap), "a tensor map");
_Static_assert(_Alignof(CuTensorMap) >= _Alignof(CUtensorMap), "alignment of a tensor map");
SAME_SIZE(CuMapDtype, CUtensorMapDataType);
SAME_SIZE(CuMapInterleave, CUtensorMapInterleave);
SAME_SIZE(CuMapSwizzle, CUtensorMapSwizzle);
SAME_SIZE(CuMapPromotion, CUtensorMapL2promotion);
SAME_SIZE(CuMapFill, CUtensorMapFloatOOBfill);
SAME_SIZE(NvrtcResult, nvrtcResult);
SAME_SIZE(NvrtcProgram, nvrtcProgram);

SAME_SIZE(CuMemPoolProps, CUmemPoolProps);
SAME_PLACE(CuMemPoolProps, alloc_type, CUmemPoolProps, allocType);
SAME_PLACE(CuMemPoolProps, handle_types, CUmemPoolProps, handleTypes);
SAME_PLACE(CuMemPoolProps, location_type, CUmemPoolProps, location.type);
SAME_PLACE(CuMemPoolProps, location_id, CUmemPoolProps, location.id);
SAME_PLACE(CuMemPoolProps, max_bytes, CUmemPoolProps, maxSize);
SAME_PLACE(CuMemPoolProps, usage, CUmemPoolProps, usage);

SAME_SIZE(CuMemAccess, CUmemAccessDesc);
SAME_PLACE(CuMemAccess, location_type, CUmemAccessDesc, location.type);
SAME_PLACE(CuMemAccess, location_id, CUmemAccessDesc, location.id);
SAME_PLACE(CuMemAccess, flags, CUmemAccessDesc, flags);

SAME_SIZE(CuLaunchAttribute, CUlaunchAttribute);
SAME_PLACE(CuLaunchAttribute, id, CUlaunchAttribute, id);
SAME_PLACE(CuLaunchAttribute, value, CUlaunchAttribute, value);
SAME_PLACE(CuLaunchAttribute, value.cluster, CUlaunchAttribute, value.clusterDim);
SAME_PLACE(CuLaunchAttribute, value.is_dependent, CUlaunchAttribute,
           value.programmaticStreamSerializationAllowed);

SAME_SIZE(CuLaunchConfig, CUlaunchConfig);
SAME_PLACE(CuLaunchConfig, grid, CUlaunchConfig, gridDimX);
SAME_PLACE(CuLaunchConfig, grid[2], CUlaunchConfig, gridDimZ);
SAME_PLACE(CuLaunchConfig, block, CUlaunchConfig, blockDimX);
SAME_PLACE(CuLaunchConfig, shared_bytes, CUlaunchConfig, sharedMemBytes);
SAME_PLACE(CuLaunchConfig, stream, CUlaunchConfig, hStream);
SAME_PLACE(CuLaunchConfig, attributes, CUlaunchConfig, attrs);
SAME_PLACE(CuLaunchConfig, n_attributes, CUlaunchConfig, numAttrs);

/* The rows' own text, read with the headers' types in place of ours: these were compared above. */
#define CuResult CUresult
#define CuCaptureMode CUstreamCaptureMode
#define CuCaptureStatus CUstreamCaptureStatus
#define CuGraphUpdate CUgraphExecUpdateResultInfo
#define CuDeviceAttribute CUdevice_attribute
#define CuFunctionAttribute CUfunction_attribute
#define CuMemPoolAttribute CUmemPool_attribute
#define CuJitOption CUjit_option
#define CuUuid CUuuid
#define CuMemPoolProps CUmemPoolProps
#define CuMemAccess CUmemAccessDesc
#define CuIpcMemHandle CUipcMemHandle
#define CuTensorMap CUtensorMap
#define CuMapDtype CUtensorMapDataType
#define CuMapInterleave CUtensorMapInterleave
#define CuMapSwizzle CUtensorMapSwizzle
#define CuMapPromotion CUtensorMapL2promotion
#define CuMapFill CUtensorMapFloatOOBfill
#define CuLaunchConfig CUlaunchConfig
#define NvrtcProgram nvrtcProgram
#define CublasOp cublasOperation_t
#define CublasDataType cudaDataType
#define CublasComputeType cublasComputeType_t
#define CublasAlgo cublasGemmAlgo_t
#define CublasLtDescAttribute cublasLtMatmulDescAttributes_t
#define CublasLtPreferenceAttribute cublasLtMatmulPreferenceAttributes_t
#define CublasLtMatmulDesc cublasLtMatmulDesc_t
#define CublasLtMatrixLayout cublasLtMatrixLayout_t
#define CublasLtPreference cublasLtMatmulPreference_t
#define CublasLtAlgo cublasLtMatmulAlgo_t
#define CublasLtHeuristic cublasLtMatmulHeuristicResult_t

/* cuda.h renames some entry points to later versions than ours; the old ones keep their types. */
#ifdef cuEventElapsedTime
#undef cuEventElapsedTime
CUresult cuEventElapsedTime(float *ms, CUevent start, CUevent stop);
#endif

#define X(need, name, args) SAME_TYPE(__typeof__(&name), CUresult(*) args);
#include "runtime/device/cuda_syms.def"
#undef X
#define X(need, name, args) SAME_TYPE(__typeof__(&name), nvrtcResult(*) args);
#include "runtime/device/nvrtc_syms.def"
#undef X
#define X(need, name, args) SAME_TYPE(__typeof__(&name), cublasStatus_t(*) args);
#include "runtime/device/cublas_syms.def"
#undef X
#define X(need, name, args) SAME_TYPE(__typeof__(&name), cublasStatus_t(*) args);
#include "scripts/bench/cublaslt_syms.def"
#undef X

#undef CuResult
#undef CuCaptureMode
#undef CuCaptureStatus
#undef CuGraphUpdate
#undef CuDeviceAttribute
#undef CuFunctionAttribute
#undef CuMemPoolAttribute
#undef CuJitOption
#undef CuUuid
#undef CuMemPoolProps
#undef CuMemAccess
#undef CuTensorMap
#undef CuMapDtype
#undef CuMapInterleave
#undef CuMapSwizzle
#undef CuMapPromotion
#undef CuMapFill
#undef CuLaunchConfig
#undef NvrtcProgram
#undef CublasOp
#undef CublasDataType
#undef CublasComputeType
#undef CublasAlgo
#undef CublasLtDescAttribute
#undef CublasLtPreferenceAttribute
#undef CublasLtMatmulDesc
#undef CublasLtMatrixLayout
#undef CublasLtPreference
#undef CublasLtAlgo
#undef CublasLtHeuristic
#endif

#ifdef __has_include
#if __has_include(<nvml.h>)
#include <nvml.h>
_Static_assert((int)CT_NVML_SUCCESS == (int)NVML_SUCCESS, "NVML's success");
_Static_assert((int)CT_NVML_CLOCK_SM == (int)NVML_CLOCK_SM, "the clock of multiprocessors");
SAME_SIZE(NvmlField, nvmlFieldValue_t);
SAME_PLACE(NvmlField, result, nvmlFieldValue_t, nvmlReturn);
SAME_PLACE(NvmlField, value, nvmlFieldValue_t, value);
#ifdef NVML_FI_DEV_POWER_INSTANT
_Static_assert((int)CT_NVML_POWER_INSTANT == (int)NVML_FI_DEV_POWER_INSTANT, "the power of now");
#endif
#define NvmlDevice nvmlDevice_t
#define NvmlField nvmlFieldValue_t
#define NvmlClock nvmlClockType_t
#define X(need, name, args)                                                                        \
  _Static_assert(__builtin_types_compatible_p(__typeof__(&name), nvmlReturn_t(*) args), #name);
#include "scripts/bench/nvml_syms.def"
#undef X
#undef NvmlDevice
#undef NvmlClock
#undef NvmlField
#endif
#endif

#ifdef HAS_NCCL
#include <nccl.h>
_Static_assert((int)CT_NCCL_SUCCESS == (int)ncclSuccess, "NCCL's success");
_Static_assert((int)CT_NCCL_IN_PROGRESS == (int)ncclInProgress, "in progress");
_Static_assert((int)CT_NCCL_SUM == (int)ncclSum, "sum");
_Static_assert((int)CT_NCCL_LARGEST == (int)ncclMax, "maximum");
_Static_assert((int)CT_NCCL_LEAST == (int)ncclMin, "minimum");
_Static_assert((int)CT_NCCL_INT8 == (int)ncclInt8, "i8");
_Static_assert((int)CT_NCCL_UINT8 == (int)ncclUint8, "u8");
_Static_assert((int)CT_NCCL_INT32 == (int)ncclInt32, "i32");
_Static_assert((int)CT_NCCL_UINT32 == (int)ncclUint32, "u32");
_Static_assert((int)CT_NCCL_INT64 == (int)ncclInt64, "i64");
_Static_assert((int)CT_NCCL_UINT64 == (int)ncclUint64, "u64");
_Static_assert((int)CT_NCCL_FLOAT16 == (int)ncclFloat16, "f16");
_Static_assert((int)CT_NCCL_FLOAT32 == (int)ncclFloat32, "f32");
_Static_assert((int)CT_NCCL_FLOAT64 == (int)ncclFloat64, "f64");
_Static_assert((int)CT_NCCL_BFLOAT16 == (int)ncclBfloat16, "bf16");
#if NCCL_VERSION_CODE >= 22400
_Static_assert((int)CT_NCCL_FLOAT8E4M3 == (int)ncclFloat8e4m3, "f8e4m3");
_Static_assert((int)CT_NCCL_FLOAT8E5M2 == (int)ncclFloat8e5m2, "f8e5m2");
#endif
SAME_TYPE(NcclComm, ncclComm_t);
SAME_TYPE(NcclStream, cudaStream_t);
SAME_SIZE(NcclId, ncclUniqueId);
SAME_SIZE(NcclResult, ncclResult_t);
SAME_SIZE(NcclDataType, ncclDataType_t);
SAME_SIZE(NcclRedOp, ncclRedOp_t);
SAME_PLACE(NcclConfig, size, ncclConfig_t, size);
SAME_PLACE(NcclConfig, magic, ncclConfig_t, magic);
SAME_PLACE(NcclConfig, version, ncclConfig_t, version);
SAME_PLACE(NcclConfig, blocking, ncclConfig_t, blocking);
_Static_assert(sizeof(NcclConfig) <= sizeof(ncclConfig_t), "a part of the configuration");
_Static_assert((int)CT_NCCL_CONFIG_VERSION == (int)NCCL_VERSION(2, 14, 0), "its version");

#define NcclId ncclUniqueId
#define NcclConfig ncclConfig_t
#define NcclResult ncclResult_t
#define NcclDataType ncclDataType_t
#define NcclRedOp ncclRedOp_t
#define X(need, name, args) SAME_TYPE(__typeof__(&name), ncclResult_t(*) args);
#include "runtime/device/nccl_syms.def"
#undef X
#undef NcclId
#undef NcclConfig
#undef NcclResult
#undef NcclDataType
#undef NcclRedOp
SAME_TYPE(__typeof__(&ncclGetErrorString), const char *(*)(ncclResult_t));
SAME_TYPE(__typeof__(&ncclGetLastError), const char *(*)(ncclComm_t));

/* What its initializer says. */
static void test_nccl(void) {
  const ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  OK(config.magic == CT_NCCL_CONFIG_MAGIC, "our declarations agree with nccl.h %d",
     NCCL_VERSION_CODE);
}
#else
static void test_nccl(void) { SKIP(1, "no nccl.h on the include path to compare with"); }
#endif

static void test_headers(void) {
  test_nccl();
#ifdef HAS_HEADERS
  OK(true, "our declarations agree with cuda.h %d, nvrtc.h, cublas_v2.h, cublasLt.h", CUDA_VERSION);
#else
  SKIP(1, "no cuda.h, nvrtc.h and cublas_v2.h on the include path to compare with");
#endif
}

/* {====== Loading: each case in a process of its own ====== */

typedef struct Case {
  const char *what;
  const char *libcuda; /* CUTTLE_LIBCUDA; NULL: what was built with `flags` */
  const char *flags;
  const char *nvrtc; /* CUTTLE_NVRTC */
  CtStatus (*run)(CtErr *err);
  CtStatus status;
  const char *msg; /* a part of the message */
} Case;

static CtStatus load_cuda(CtErr *err) {
  const CtCuda *cu;
  return ct_dl_cuda(&cu, err);
}

static CtStatus load_cuda_version(CtErr *err) {
  const CtCuda *cu;
  CtStatus s = ct_dl_cuda(&cu, err);
  if (s == CT_OK) {
    return ct_fail(err, CT_OK, "version %d, pools %d, param info %d", cu->version,
                   cu->cuMemAllocFromPoolAsync != NULL, cu->cuFuncGetParamInfo != NULL);
  }
  return s;
}

static CtStatus load_nvrtc(CtErr *err) {
  const CtNvrtc *nv;
  return ct_dl_nvrtc(&nv, err);
}

/* As in an environment that knows no toolkit. */
static CtStatus path_loads_nothing(CtErr *err) {
  char path[CT_DL_PATH_BYTES];
  CtStatus s = ct_dl_nvrtc_path(path, err);
  return s == CT_OK ? ct_fail(err, s, "loaded %d", (int)is_loaded(path)) : s;
}

static void *load_in_thread(void *ud) {
  const CtCuda **cu = ud;
  return ct_dl_cuda(cu, NULL) == CT_OK ? ud : NULL;
}

static CtStatus load_in_threads(CtErr *err) {
  enum { N = 8 };
  pthread_t threads[N];
  const CtCuda *tables[N] = {NULL};
  int n_good = 0;
  for (int i = 0; i < N; i++) {
    if (pthread_create(&threads[i], NULL, load_in_thread, &tables[i]) != 0) {
      return ct_fail(err, CT_ENOMEM, "no thread");
    }
  }
  for (int i = 0; i < N; i++) {
    void *result = NULL;
    pthread_join(threads[i], &result);
    n_good += result != NULL && tables[i] == tables[0];
  }
  return ct_fail(err, CT_OK, "%d of %d threads have one table", n_good, N);
}

/* A failure is not remembered: the library may appear. */
static CtStatus load_again(CtErr *err) {
  char path[512];
  const CtCuda *cu;
  snprintf(path, sizeof path, "%s", getenv("CUTTLE_LIBCUDA"));
  setenv("CUTTLE_LIBCUDA", "/nowhere.so", 1);
  CtStatus first = ct_dl_cuda(&cu, err);
  setenv("CUTTLE_LIBCUDA", path, 1);
  CtStatus second = ct_dl_cuda(&cu, err);
  return ct_fail(err, second, "first %d, then %d", (int)first, (int)second);
}

static CtStatus open_none(CtErr *err) {
  static const char *const names[] = {"libcuttle_none.so.2", "libcuttle_none.so.1"};
  static const CtDlSpec spec = {
      .what = "none", .advice = "install it", .names = names, .n_names = 2};
  void *handle;
  char path[CT_DL_PATH_BYTES];
  return ct_dl_open(&spec, &handle, path, err);
}

#define FAKE "fake"

static const Case cases[] = {
    {"the driver", FAKE, "", NULL, load_cuda_version, CT_OK,
     "version 13000, pools 1, param info 1"},
    {"optional entry points may be absent", FAKE, "-DWITHOUT_POOLS -DWITHOUT_PARAM_INFO", NULL,
     load_cuda_version, CT_OK, "version 13000, pools 0, param info 0"},
    {"a driver that lacks a required one", FAKE, "-DWITHOUT_CUMEMALLOC", NULL, load_cuda,
     CT_EMISSING, "has no symbol 'cuMemAlloc_v2'; a newer version is needed"},
    {"a driver at a wrong path", "/nowhere/libcuda.so.1", NULL, NULL, load_cuda, CT_EMISSING,
     "cuda driver: cannot load '/nowhere/libcuda.so.1', which CUTTLE_LIBCUDA names: "},
    {"a stub", FAKE, "-DSTUB", NULL, load_cuda, CT_EMISSING,
     "does not report its version; install the NVIDIA driver instead of a stub"},
    {"eight threads at once", FAKE, "", NULL, load_in_threads, CT_OK, "8 of 8"},
    {"a second try", FAKE, "", NULL, load_again, CT_OK, "first 6, then 0"},
    {"an NVRTC at a wrong path", "/nowhere", NULL, "/nowhere/libnvrtc.so.13", load_nvrtc,
     CT_EMISSING, "nvrtc: cannot load '/nowhere/libnvrtc.so.13': "},
    {"an NVRTC that is none", FAKE, "", FAKE, load_nvrtc, CT_EMISSING,
     "has no symbol 'nvrtcVersion'; a newer version is needed"},
    {"finding NVRTC", "/nowhere", NULL, "/some/libnvrtc.so", path_loads_nothing, CT_OK, "loaded 0"},
    {"a library that is nowhere", "/nowhere", NULL, NULL, open_none, CT_EMISSING,
     "none: cannot load any of 'libcuttle_none.so.2', 'libcuttle_none.so.1'; install it"},
};

static void set_or_clear(const char *name, const char *value) {
  if (value == NULL) {
    unsetenv(name);
  } else {
    setenv(name, value, 1);
  }
}

/* Runs a case in a child and brings its status and message back through a pipe. */
static bool run_case(const Case *c, const char *fake, CtStatus *status, CtErr *err) {
  int ends[2];
  if (pipe(ends) != 0) {
    return false;
  }
  fflush(stdout);
  pid_t pid = fork();
  if (pid == 0) {
    set_or_clear("CUTTLE_LIBCUDA", tap_same_str(c->libcuda, FAKE) ? fake : c->libcuda);
    set_or_clear("CUTTLE_NVRTC", tap_same_str(c->nvrtc, FAKE) ? fake : c->nvrtc);
    *err = (CtErr){0};
    *status = c->run(err);
    bool sent = write(ends[1], status, sizeof *status) == (ssize_t)sizeof *status &&
                write(ends[1], err, sizeof *err) == (ssize_t)sizeof *err;
    _exit(sent ? 0 : 1);
  }
  close(ends[1]);
  bool got = pid > 0 && read(ends[0], status, sizeof *status) == (ssize_t)sizeof *status &&
             read(ends[0], err, sizeof *err) == (ssize_t)sizeof *err;
  close(ends[0]);
  return pid > 0 && waitpid(pid, NULL, 0) == pid && got;
}

static void test_case(const Case *c, const char *dir) {
  char fake[256] = "";
  CtErr err = {0};
  CtStatus status = CT_OK;
  if (c->flags != NULL && !build_fake(__FILE__, dir, c->flags, fake, sizeof fake)) {
    SKIP(2, "no C compiler to build a driver for the test");
    return;
  }
  if (OK(run_case(c, fake, &status, &err), "%s: runs", c->what)) {
    IS_INT(status, c->status, "%s: status", c->what);
    HAS_STR(err.msg, c->msg, "%s: message", c->what);
  }
  if (fake[0] != '\0') {
    (void)unlink(fake);
  }
}

/* A machine without a driver says which names it looked for. */
static void test_no_driver(void) {
  void *real = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  CtErr err = {0};
  if (real != NULL) {
    SKIP(1, "this machine has a driver");
    return;
  }
  unsetenv("CUTTLE_LIBCUDA");
  const CtCuda *cu;
  OK(ct_dl_cuda(&cu, &err) == CT_EMISSING, "no driver is an ordinary error");
  IS_STR(err.msg,
         "cuda driver: cannot load 'libcuda.so.1'; install the NVIDIA driver or set "
         "CUTTLE_LIBCUDA to its path",
         "that lists the names tried");
}

/* {====== Which NVRTC ====== */

/* A folder with empty files named like NVRTCs: enough to choose among them. */
static void make_file(const char *dir, const char *name) {
  char path[512];
  snprintf(path, sizeof path, "%s/%s", dir, name);
  FILE *f = fopen(path, "w");
  if (f != NULL) {
    fclose(f);
  }
}

static void make_link(const char *dir, const char *target, const char *name) {
  char path[512];
  snprintf(path, sizeof path, "%s/%s", dir, name);
  if (symlink(target, path) != 0) {
    tap_diag("cannot make %s", path);
  }
}

static CtStatus found_nvrtc(CtErr *err) {
  char path[CT_DL_PATH_BYTES];
  CtStatus s = ct_dl_nvrtc_path(path, err);
  const char *slash = strrchr(path, '/');
  return s == CT_OK ? ct_fail(err, s, "%s", slash == NULL ? path : slash + 1) : s;
}

static void test_choice(const char *dir) {
  char old[256], command[512];
  Case newest = {"of several, the newest",
                 FAKE,
                 "-DFAKE_VERSION=99000",
                 NULL,
                 found_nvrtc,
                 CT_OK,
                 "libnvrtc.so"};
  Case old_driver = {
      "that the driver accepts", FAKE, "-DFAKE_VERSION=12040", NULL, found_nvrtc, CT_OK,
      "libnvrtc.so.12"};
  snprintf(old, sizeof old, "%s/lib", dir);
  snprintf(command, sizeof command, "mkdir -p %s", old);
  if (!OK(system(command) == 0, "a folder")) { // NOLINT(cert-env33-c): a fixed command
    return;
  }
  make_file(old, "libnvrtc.so.12.9.1");
  make_link(old, "libnvrtc.so.12.9.1", "libnvrtc.so.12");
  make_file(old, "libnvrtc.so.77.2.3");
  make_link(old, "libnvrtc.so.77.2.3", "libnvrtc.so");
  setenv("LD_LIBRARY_PATH", old, 1);
  test_case(&newest, dir);
  test_case(&old_driver, dir);
  unsetenv("LD_LIBRARY_PATH");
  snprintf(command, sizeof command, "rm -r %s", old);
  IS_INT(system(command), 0, "cleaned up"); // NOLINT(cert-env33-c): a fixed command
}

static CtStatus found_folder(CtErr *err) {
  char path[CT_DL_PATH_BYTES];
  CtStatus s = ct_dl_nvrtc_path(path, err);
  char *slash = strrchr(path, '/');
  if (slash != NULL) {
    *slash = '\0';
    slash = strrchr(path, '/');
  }
  return s == CT_OK ? ct_fail(err, s, "%s", slash == NULL ? path : slash + 1) : s;
}

/* More than are kept, 32, each newer than the one before. */
static void test_many(const char *dir) {
  enum { N = 40 };
  char list[N * 64] = "", folder[256], name[64], command[512];
  Case last = {
      "of many, the newest", FAKE, "-DFAKE_VERSION=99000", NULL, found_folder, CT_OK, "many40"};
  snprintf(command, sizeof command, "for i in $(seq %d); do mkdir -p %s/many$i; done", N, dir);
  IS_INT(system(command), 0, "many folders"); // NOLINT(cert-env33-c): a fixed command
  for (int i = 1; i <= N; i++) {
    snprintf(folder, sizeof folder, "%s/many%d", dir, i);
    snprintf(name, sizeof name, "libnvrtc.so.77.%d", i);
    make_file(folder, name);
    make_link(folder, name, "libnvrtc.so");
    snprintf(list + strlen(list), sizeof list - strlen(list), "%s%s", i > 1 ? ":" : "", folder);
  }
  setenv("LD_LIBRARY_PATH", list, 1);
  test_case(&last, dir);
  unsetenv("LD_LIBRARY_PATH");
  snprintf(command, sizeof command, "rm -r %s/many*", dir);
  IS_INT(system(command), 0, "cleaned up"); // NOLINT(cert-env33-c): a fixed command
}

int main(void) {
  char dir[] = "/tmp/cuttle-test-XXXXXX";
  test_headers();
  if (!OK(mkdtemp(dir) != NULL, "a folder")) {
    return done_testing();
  }
  for (size_t i = 0; i < CT_ARRAY_LEN(cases); i++) {
    test_case(&cases[i], dir);
  }
  test_choice(dir);
  test_many(dir);
  test_no_driver();
  (void)rmdir(dir);
  return done_testing();
}
