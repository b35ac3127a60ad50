/* blas.c: cuBLAS by dlopen, at first use. */
#include "blas.h"

#include "cublas_types.h"
#include "device_priv.h"

enum { REQUIRED = 1 };

typedef struct Cublas {
#define X(need, name, args) CublasStatus(*name) args;
#include "cublas_syms.def"
#undef X
} Cublas;

static const CtDlSymbol symbols[] = {
#define X(need, name, args) {#name, offsetof(Cublas, name), need},
#include "cublas_syms.def"
#undef X
};

static const char *const names[] = {"libcublas.so.13", "libcublas.so.12", "libcublas.so"};
static Cublas table;

static CtDlLibrary library = {
    .spec = {.what = "cublas",
             .env = "CUTTLE_CUBLAS",
             .advice = "install cuBLAS or set CUTTLE_CUBLAS to its path",
             .names = names,
             .n_names = CT_ARRAY_LEN(names)},
    .symbols = symbols,
    .n_symbols = CT_ARRAY_LEN(symbols),
    .table = &table,
};

struct CtCublas {
  CtDevice *device;
  const Cublas *lib;
  CublasHandle handle;
};

/* {====== Calls ====== */

/* Ends a call. What only frees may ignore the result. */
static CtStatus done(CtDevice *d, const char *call, CublasStatus r, CtErr *err) {
  ct_device_leave(d);
  return r == CT_CUBLAS_SUCCESS
             ? CT_OK
             : ct_fail(err, CT_EDEVICE, "%s: status %u on '%s'", call, r, ct_device_info(d)->name);
}

/* One call of a function of b->lib in the context of b->device, as a CtStatus. */
#define CALL(b, err, name, args)                                                                   \
  (ct_device_enter((b)->device, (err)) ? done((b)->device, #name, (b)->lib->name args, (err))      \
                                       : CT_EDEVICE)

/* {====== Handles ====== */

CtStatus ct_cublas_new(CtDevice *d, CtCublas **out, CtErr *err) {
  CtCublas made = {.device = d, .lib = &table};
  CtStatus s = ct_dl_load(&library, err);
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

/* {====== Products ====== */

/* What elements are, what sums are kept in, and what alpha and beta are. */
typedef struct Kind {
  bool has; /* cuBLAS multiplies them */
  CublasDataType data;
  CublasComputeType compute;
  CublasDataType scale;
} Kind;

#define BLAS_GEMM(data, compute, scale)                                                            \
  { true, CT_CUBLAS_##data, CT_CUBLAS_COMPUTE_##compute, CT_CUBLAS_##scale }
#define BLAS_RESULT(data, compute, scale)                                                          \
  { false, CT_CUBLAS_##data, CT_CUBLAS_COMPUTE_##compute, CT_CUBLAS_##scale }
#define BLAS_NONE                                                                                  \
  { 0 }
#define DTYPE(name, bits, kind, compute, cuda, ctype, npy, dlpack, map, nccl, blas)                \
  [CT_##name] = BLAS_##blas,
static const Kind kinds[CT_DTYPE_COUNT] = {
#include "runtime/base/dtypes.def"
};

static CublasOp op_of(bool trans) { return trans ? CT_CUBLAS_OP_T : CT_CUBLAS_OP_N; }

/* Alpha or beta in the type that it has. */
typedef union Factor {
  double f64;
  float f32;
  int32_t i32;
} Factor;

static Factor factor_of(const Kind *kind, double v) {
  return kind->scale == CT_CUBLAS_R_64F   ? (Factor){.f64 = v}
         : kind->scale == CT_CUBLAS_R_32I ? (Factor){.i32 = (int32_t)v}
                                          : (Factor){.f32 = (float)v};
}

bool ct_cublas_has(CtDtype dtype, CtDtype result) {
  bool is_sum = result == ct_dtype_compute(dtype);
  return kinds[dtype].has && (is_sum || (result == dtype && ct_is_float(dtype)));
}

CtStatus ct_cublas_gemm(CtCublas *b, const CtGemm *g, CtDevPtr A, CtDevPtr B, CtDevPtr C,
                        CtStream stream, CtErr *err) {
  const Kind *kind = &kinds[g->dtype];
  CublasDataType result = kinds[g->result == CT_VOID ? g->dtype : g->result].data;
  Factor alpha = factor_of(kind, g->alpha), beta = factor_of(kind, g->beta);
  CtStatus s = CALL(b, err, cublasSetStream_v2, (b->handle, stream));
  if (s != CT_OK) {
    return s;
  }
  return CALL(b, err, cublasGemmEx,
              (b->handle, op_of(g->trans_a), op_of(g->trans_b), g->m, g->n, g->k, &alpha,
               (const void *)(uintptr_t)A, kind->data, g->lda, (const void *)(uintptr_t)B,
               kind->data, g->ldb, &beta, (void *)(uintptr_t)C, result, g->ldc, kind->compute,
               CT_CUBLAS_GEMM_DEFAULT));
}
