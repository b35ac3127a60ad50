/* blas.h: matrix products of other libraries, by dlopen, as references: cuBLAS on a
   device, OpenBLAS (or any CBLAS) on the host. Both are optional: CT_EMISSING lists the names tried.
   Matrices are column-major, as in BLAS. */
#ifndef CT_BLAS_H
#define CT_BLAS_H

#include "device.h"
#include "runtime/base/dtype.h"

/* C = alpha * op(A) * op(B) + beta * C; op(A) is m x k, op(B) is k x n, C is m x n. */
typedef struct CtGemm {
  CtDtype dtype;  /* of A and B: f32 in true single precision, no TF32; f64; on a device also tf32,
                     f16 and bf16 with sums in f32, i8 with sums in i32 */
  CtDtype result; /* of C: dtype, or on a device the type of the sums; CT_VOID: dtype */
  bool trans_a, trans_b;
  int m, n, k;
  int lda, ldb, ldc; /* elements between columns as stored */
  double alpha, beta;
} CtGemm;

typedef struct CtCublas CtCublas;

CtStatus ct_cublas_new(CtDevice *d, CtCublas **out, CtErr *err) CT_NODISCARD;
void ct_cublas_free(CtCublas *b);

bool ct_cublas_has(CtDtype dtype, CtDtype result);

/* Enqueues the product on `stream`. */
CtStatus ct_cublas_gemm(CtCublas *b, const CtGemm *g, CtDevPtr A, CtDevPtr B, CtDevPtr C,
                        CtStream stream, CtErr *err) CT_NODISCARD;

/* The product on the host; A, B, C point to float or double as g->dtype says. */
CtStatus ct_hostblas_gemm(const CtGemm *g, const void *A, const void *B, void *C,
                          CtErr *err) CT_NODISCARD;

/* The library in use, for reports: its file name, or NULL when there is none. */
const char *ct_hostblas_name(void);

#endif
