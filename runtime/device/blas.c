/* blas.c: cuBLAS and a host's CBLAS by dlopen. Both tables are filled at first use, under a lock,
   and then stay. */
#include "blas.h"

#include <pthread.h>

#include "cublas_types.h"
#include "device_priv.h"

enum { REQUIRED = 1 };

typedef struct Cublas {
#define X(need, name, args) CublasStatus(*name) args;
#include "cublas_syms.def"
#undef X
} Cublas;

static const CtDlSymbol cublas_symbols[] = {
#define X(need, name, args) {#name, offsetof(Cublas, name), need},
#include "cublas_syms.def"
#undef X
};

/* CBLAS with 32-bit integers, as every Linux distribution builds it by default. */
enum { CBLAS_COL_MAJOR = 102, CBLAS_NO_TRANS = 111, CBLAS_TRANS = 112 };

typedef struct Cblas {
  void (*cblas_sgemm)(int order, int op_a, int op_b, int m, int n, int k, float alpha,
                      const float *A, int lda, const float *B, int ldb, float beta, float *C,
                      int ldc);
  void (*cblas_dgemm)(int order, int op_a, int op_b, int m, int n, int k, double alpha,
                      const double *A, int lda, const double *B, int ldb, double beta, double *C,
                      int ldc);
  char path[CT_DL_PATH_BYTES];
} Cblas;

static const CtDlSymbol cblas_symbols[] = {
    {"cblas_sgemm", offsetof(Cblas, cblas_sgemm), REQUIRED},
    {"cblas_dgemm", offsetof(Cblas, cblas_dgemm), REQUIRED},
};

static const char *const cublas_names[] = {"libcublas.so.13", "libcublas.so.12", "libcublas.so"};
static const char *const cblas_names[] = {"libopenblas.so.0", "libopenblas.so", "libblas.so.3",
                                          "libcblas.so.3"};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of the two tables */
static Cublas cublas_table;
static Cblas cblas_table;
static bool cublas_loaded, cblas_loaded;

struct CtCublas {
  CtDevice *device;
  const Cublas *lib;
  CublasHandle handle;
};

/* {====== cuBLAS ====== */

static CtStatus load_cublas(CtErr *err) {
  static const CtDlSpec spec = {
      .what = "cublas",
      .env = "CUTTLE_CUBLAS",
      .advice = "install cuBLAS or set CUTTLE_CUBLAS to its path",
      .names = cublas_names,
      .n_names = CT_ARRAY_LEN(cublas_names),
  };
  void *handle = NULL;
  char path[CT_DL_PATH_BYTES];
  CtStatus s = ct_dl_open(&spec, &handle, path, err);
  if (s != CT_OK) {
    return s;
  }
  s = ct_dl_fill("cublas", handle, path, cublas_symbols, CT_ARRAY_LEN(cublas_symbols),
                 &cublas_table, err);
  if (s != CT_OK) {
    ct_dl_close(handle);
  }
  cublas_loaded = s == CT_OK;
  return s;
}

static CtStatus get_cublas(const Cublas **out, CtErr *err) {
  pthread_mutex_lock(&lock);
  CtStatus s = cublas_loaded ? CT_OK : load_cublas(err);
  pthread_mutex_unlock(&lock);
  if (s == CT_OK) {
    *out = &cublas_table;
  }
  return s;
}

/* Ends a call: cuBLAS reports by numbers of its own. */
static CtStatus done(CtDevice *d, const char *call, CublasStatus r, CtErr *err) {
  ct_device_leave(d);
  return r == CT_CUBLAS_SUCCESS
             ? CT_OK
             : ct_fail(err, CT_EDEVICE, "%s: status %u on '%s'", call, r, ct_device_info(d)->name);
}

/* One call of cuBLAS in the device's context, as a CtStatus. */
#define CALL(b, err, name, args)                                                                   \
  (ct_device_enter((b)->device, (err)) ? done((b)->device, #name, (b)->lib->name args, (err))      \
                                       : CT_EDEVICE)

CtStatus ct_cublas_new(CtDevice *d, CtCublas **out, CtErr *err) {
  CtCublas made = {.device = d};
  CtStatus s = get_cublas(&made.lib, err);
  if (s != CT_OK) {
    return s;
  }
  CtCublas *b = ct_alloc(d->alloc, sizeof *b);
  if (b == NULL) {
    return ct_fail_nomem(err);
  }
  s = CALL(&made, err, cublasCreate_v2, (&made.handle));
  if (s != CT_OK) {
    ct_free(d->alloc, b, sizeof *b);
    return s;
  }
  *b = made;
  *out = b;
  return CT_OK;
}

void ct_cublas_free(CtCublas *b) {
  if (b == NULL) {
    return;
  }
  if (ct_device_enter(b->device, NULL)) {
    (void)b->lib->cublasDestroy_v2(b->handle);
    ct_device_leave(b->device);
  }
  ct_free(b->device->alloc, b, sizeof *b);
}

static CublasOp cublas_op(bool trans) { return trans ? CT_CUBLAS_OP_T : CT_CUBLAS_OP_N; }

/* cuBLAS's numbers for element types and for what sums are kept in; `has` is false of those that it
   does not multiply. */
typedef struct CublasKind {
  bool has;
  CublasDataType data;
  CublasComputeType compute;
} CublasKind;

static const CublasKind cublas_kinds[CT_DTYPE_COUNT] = {
    [CT_f64] = {true, CT_CUBLAS_R_64F, CT_CUBLAS_COMPUTE_64F},
    [CT_f32] = {true, CT_CUBLAS_R_32F, CT_CUBLAS_COMPUTE_32F},
    [CT_tf32] = {true, CT_CUBLAS_R_32F, CT_CUBLAS_COMPUTE_32F_FAST_TF32},
    [CT_f16] = {true, CT_CUBLAS_R_16F, CT_CUBLAS_COMPUTE_32F},
    [CT_bf16] = {true, CT_CUBLAS_R_16BF, CT_CUBLAS_COMPUTE_32F},
    [CT_i8] = {true, CT_CUBLAS_R_8I, CT_CUBLAS_COMPUTE_32I},
    [CT_i32] = {false, CT_CUBLAS_R_32I, CT_CUBLAS_COMPUTE_32I}, /* a type of results */
};

bool ct_cublas_has(CtDtype dtype, CtDtype result) {
  bool is_sum = result == ct_dtype_compute(dtype);
  return cublas_kinds[dtype].has && (is_sum || (result == dtype && ct_is_float(dtype)));
}

/* Alpha or beta in the type that sums have. */
typedef union Factor {
  double f64;
  float f32;
  int32_t i32;
} Factor;

static Factor factor_of(CublasComputeType compute, double v) {
  return compute == CT_CUBLAS_COMPUTE_64F   ? (Factor){.f64 = v}
         : compute == CT_CUBLAS_COMPUTE_32I ? (Factor){.i32 = (int32_t)v}
                                            : (Factor){.f32 = (float)v};
}

CtStatus ct_cublas_gemm(CtCublas *b, const CtGemm *g, CtDevPtr A, CtDevPtr B, CtDevPtr C,
                        CtStream stream, CtErr *err) {
  CublasKind kind = cublas_kinds[g->dtype];
  CublasDataType result = cublas_kinds[g->result == CT_VOID ? g->dtype : g->result].data;
  Factor alpha = factor_of(kind.compute, g->alpha), beta = factor_of(kind.compute, g->beta);
  CtStatus s = CALL(b, err, cublasSetStream_v2, (b->handle, stream));
  if (s != CT_OK) {
    return s;
  }
  return CALL(b, err, cublasGemmEx,
              (b->handle, cublas_op(g->trans_a), cublas_op(g->trans_b), g->m, g->n, g->k, &alpha,
               (const void *)(uintptr_t)A, kind.data, g->lda, (const void *)(uintptr_t)B, kind.data,
               g->ldb, &beta, (void *)(uintptr_t)C, result, g->ldc, kind.compute,
               CT_CUBLAS_GEMM_DEFAULT));
}

/* {====== The host's BLAS ====== */

/* A library may load and have no CBLAS in it, so each name is tried to the end. */
static bool try_cblas(const char *const *name) {
  const CtDlSpec spec = {.what = "blas", .advice = "", .names = name, .n_names = 1};
  void *handle = NULL;
  if (ct_dl_open(&spec, &handle, cblas_table.path, NULL) != CT_OK) {
    return false;
  }
  cblas_loaded = ct_dl_fill("blas", handle, cblas_table.path, cblas_symbols,
                            CT_ARRAY_LEN(cblas_symbols), &cblas_table, NULL) == CT_OK;
  if (!cblas_loaded) {
    ct_dl_close(handle);
  }
  return cblas_loaded;
}

static bool load_cblas(void) {
  for (size_t i = 0; i < CT_ARRAY_LEN(cblas_names) && !cblas_loaded; i++) {
    (void)try_cblas(&cblas_names[i]);
  }
  return cblas_loaded;
}

static const Cblas *get_cblas(void) {
  pthread_mutex_lock(&lock);
  bool loaded = load_cblas();
  pthread_mutex_unlock(&lock);
  return loaded ? &cblas_table : NULL;
}

CtStatus ct_hostblas_gemm(const CtGemm *g, const void *A, const void *B, void *C, CtErr *err) {
  const Cblas *lib = get_cblas();
  int op_a = g->trans_a ? CBLAS_TRANS : CBLAS_NO_TRANS;
  int op_b = g->trans_b ? CBLAS_TRANS : CBLAS_NO_TRANS;
  if (lib == NULL) {
    return ct_fail(err, CT_EMISSING,
                   "blas: cannot load any of 'libopenblas.so.0', "
                   "'libopenblas.so', 'libblas.so.3', 'libcblas.so.3'; install OpenBLAS");
  }
  if (g->dtype == CT_f64) {
    lib->cblas_dgemm(CBLAS_COL_MAJOR, op_a, op_b, g->m, g->n, g->k, g->alpha, A, g->lda, B, g->ldb,
                     g->beta, C, g->ldc);
  } else {
    lib->cblas_sgemm(CBLAS_COL_MAJOR, op_a, op_b, g->m, g->n, g->k, (float)g->alpha, A, g->lda, B,
                     g->ldb, (float)g->beta, C, g->ldc);
  }
  return CT_OK;
}

const char *ct_hostblas_name(void) {
  const Cblas *lib = get_cblas();
  return lib == NULL ? NULL : lib->path;
}
