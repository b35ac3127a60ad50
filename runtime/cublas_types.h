/* cublas_types.h: our declarations of cuBLAS, for blas.c and for the test that compares them with
   the real header. */
#ifndef CT_CUBLAS_TYPES_H
#define CT_CUBLAS_TYPES_H

typedef unsigned CublasStatus, CublasOp;
typedef struct cublasContext *CublasHandle;
typedef struct CUstream_st *CublasStream;

enum { CT_CUBLAS_SUCCESS = 0, CT_CUBLAS_OP_N = 0, CT_CUBLAS_OP_T = 1 };

#endif
