/* blas.c: cuBLAS by dlopen, at first use. */
#include "blas.h"

#include "blas_call.h"

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
  s = CT_CUBLAS_CALL(&made, err, cublasCreate_v2, (&made.handle));
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

bool ct_cublas_has(CtDtype dtype, CtDtype result) {
  bool is_sum = result == ct_dtype_compute(dtype);
  return ct_cublas_kind(dtype).has && (is_sum || (result == dtype && ct_is_float(dtype)));
}

CtStatus ct_cublas_gemm(CtCublas *b, const CtGemm *g, CtDevPtr A, CtDevPtr B, CtDevPtr C,
                        CtStream stream, CtErr *err) {
  CtCublasKind kind = ct_cublas_kind(g->dtype);
  CublasDataType result = ct_cublas_kind(g->result == CT_VOID ? g->dtype : g->result).data;
  CtCublasFactor alpha = ct_cublas_factor(kind, g->alpha), beta = ct_cublas_factor(kind, g->beta);
  CtStatus s = CT_CUBLAS_CALL(b, err, cublasSetStream_v2, (b->handle, stream));
  if (s != CT_OK) {
    return s;
  }
  return CT_CUBLAS_CALL(b, err, cublasGemmEx,
                        (b->handle, ct_cublas_op(g->trans_a), ct_cublas_op(g->trans_b), g->m, g->n,
                         g->k, &alpha, (const void *)(uintptr_t)A, kind.data, g->lda,
                         (const void *)(uintptr_t)B, kind.data, g->ldb, &beta, (void *)(uintptr_t)C,
                         result, g->ldc, kind.compute, CT_CUBLAS_GEMM_DEFAULT));
}
