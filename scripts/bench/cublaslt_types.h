/* cublaslt_types.h: our declarations of cuBLASLt, for bench_tools.c and for the test that compares
   them with the real header. */
#ifndef CUBLASLT_TYPES_H
#define CUBLASLT_TYPES_H

#include "runtime/device/cublas_types.h"

typedef unsigned CublasLtDescAttribute, CublasLtPreferenceAttribute;
typedef struct cublasLtContext *CublasLtHandle;
typedef struct CtLtDesc *CublasLtMatmulDesc; /* opaque to us, as the next two */
typedef struct CtLtLayout *CublasLtMatrixLayout;
typedef struct CtLtPreference *CublasLtPreference;

enum { CT_CUBLASLT_TRANSA = 3, CT_CUBLASLT_TRANSB = 4, CT_CUBLASLT_FAST_ACCUM = 25 };
enum { CT_CUBLASLT_MAX_WORKSPACE_BYTES = 1 };

typedef struct CublasLtAlgo {
  uint64_t data[8];
} CublasLtAlgo;

typedef struct CublasLtHeuristic {
  CublasLtAlgo algo;
  size_t workspace_bytes;
  CublasStatus state;
  float waves;
  int reserved[4];
} CublasLtHeuristic;

#endif
