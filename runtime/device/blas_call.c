/* blas_call.c: calls of cuBLAS and cuBLASLt, and their numbers for our types. */
#include "blas_call.h"

CtStatus ct_cublas_done(CtDevice *d, const char *call, CublasStatus r, CtErr *err) {
  ct_device_leave(d);
  return r == CT_CUBLAS_SUCCESS
             ? CT_OK
             : ct_fail(err, CT_EDEVICE, "%s: status %u on '%s'", call, r, ct_device_info(d)->name);
}

static const CtCublasKind kinds[CT_DTYPE_COUNT] = {
    [CT_f64] = {true, CT_CUBLAS_R_64F, CT_CUBLAS_COMPUTE_64F, CT_CUBLAS_R_64F},
    [CT_f32] = {true, CT_CUBLAS_R_32F, CT_CUBLAS_COMPUTE_32F, CT_CUBLAS_R_32F},
    [CT_tf32] = {true, CT_CUBLAS_R_32F, CT_CUBLAS_COMPUTE_32F_FAST_TF32, CT_CUBLAS_R_32F},
    [CT_f16] = {true, CT_CUBLAS_R_16F, CT_CUBLAS_COMPUTE_32F, CT_CUBLAS_R_32F},
    [CT_bf16] = {true, CT_CUBLAS_R_16BF, CT_CUBLAS_COMPUTE_32F, CT_CUBLAS_R_32F},
    [CT_i8] = {true, CT_CUBLAS_R_8I, CT_CUBLAS_COMPUTE_32I, CT_CUBLAS_R_32I},
    [CT_i32] = {false, CT_CUBLAS_R_32I, CT_CUBLAS_COMPUTE_32I, CT_CUBLAS_R_32I}, /* of results */
    /* of cuBLASLt only */
    [CT_f8e4m3] = {false, CT_CUBLAS_R_8F_E4M3, CT_CUBLAS_COMPUTE_32F, CT_CUBLAS_R_32F},
};

CtCublasKind ct_cublas_kind(CtDtype dtype) { return kinds[dtype]; }

CublasOp ct_cublas_op(bool trans) { return trans ? CT_CUBLAS_OP_T : CT_CUBLAS_OP_N; }

CtCublasFactor ct_cublas_factor(CtCublasKind kind, double v) {
  return kind.scale == CT_CUBLAS_R_64F   ? (CtCublasFactor){.f64 = v}
         : kind.scale == CT_CUBLAS_R_32I ? (CtCublasFactor){.i32 = (int32_t)v}
                                         : (CtCublasFactor){.f32 = (float)v};
}
