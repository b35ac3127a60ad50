/* cublas_types.h: our declarations of cuBLAS, for blas.c and for the test
   that compares them with the real header. */
#ifndef CT_CUBLAS_TYPES_H
#define CT_CUBLAS_TYPES_H

#include <stddef.h>
#include <stdint.h>

typedef unsigned CublasStatus, CublasOp, CublasDataType, CublasComputeType;
typedef int CublasAlgo;
typedef struct cublasContext *CublasHandle;
typedef struct CUstream_st *CublasStream;

enum { CT_CUBLAS_SUCCESS = 0, CT_CUBLAS_OP_N = 0, CT_CUBLAS_OP_T = 1, CT_CUBLAS_GEMM_DEFAULT = -1 };

enum {
  CT_CUBLAS_R_32F = 0,
  CT_CUBLAS_R_64F = 1,
  CT_CUBLAS_R_16F = 2,
  CT_CUBLAS_R_8I = 3,
  CT_CUBLAS_R_32I = 10,
  CT_CUBLAS_R_16BF = 14,
  CT_CUBLAS_R_8F_E4M3 = 28,
  CT_CUBLAS_R_8F_E5M2 = 29
};

enum {
  CT_CUBLAS_COMPUTE_32F = 68,
  CT_CUBLAS_COMPUTE_64F = 70,
  CT_CUBLAS_COMPUTE_32I = 72,
  CT_CUBLAS_COMPUTE_32F_FAST_TF32 = 77
};

#endif
