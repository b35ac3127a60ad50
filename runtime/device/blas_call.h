/* blas_call.h: what blas.c and blas_lt.c share: calls of cuBLAS and cuBLASLt, and their numbers for
   our types. */
#ifndef CT_BLAS_CALL_H
#define CT_BLAS_CALL_H

#include "cublas_types.h"
#include "device_priv.h"
#include "runtime/base/dtype.h"

/* Ends a call; both libraries report by the same numbers. What only frees may ignore the result. */
CtStatus ct_cublas_done(CtDevice *d, const char *call, CublasStatus r, CtErr *err);

/* One call of a function of b->lib in the context of b->device, as a CtStatus. */
#define CT_CUBLAS_CALL(b, err, name, args)                                                         \
  (ct_device_enter((b)->device, (err))                                                             \
       ? ct_cublas_done((b)->device, #name, (b)->lib->name args, (err))                            \
       : CT_EDEVICE)

/* What elements are, what sums are kept in, and what alpha and beta are. */
typedef struct CtCublasKind {
  bool has; /* cuBLAS multiplies them */
  CublasDataType data;
  CublasComputeType compute;
  CublasDataType scale;
} CtCublasKind;

CtCublasKind ct_cublas_kind(CtDtype dtype);

CublasOp ct_cublas_op(bool trans);

/* Alpha or beta in the type that it has. */
typedef union CtCublasFactor {
  double f64;
  float f32;
  int32_t i32;
} CtCublasFactor;

CtCublasFactor ct_cublas_factor(CtCublasKind kind, double v);

#endif
