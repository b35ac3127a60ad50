/* matmul.h: plain matrix products on the host: what references use where no BLAS library is, and
   what tests compare libraries with. Blocked for the first cache, else as simple as can be. */
#ifndef CT_MATMUL_H
#define CT_MATMUL_H

#include "runtime/base/base.h"

/* C (m,n) = A (m,k) * B (n,k)', all column-major and dense. The sums run over k upwards, four
   products at a time. False: `interrupt`, which may be NULL and is read atomically, became other than 0
   before the end. */
bool ct_matmul_f64(int64_t m, int64_t n, int64_t k, const double *A, const double *B, double *C,
                   const volatile int *interrupt);

/* The same modulo 2^64. */
bool ct_matmul_i64(int64_t m, int64_t n, int64_t k, const int64_t *A, const int64_t *B, int64_t *C,
                   const volatile int *interrupt);

#endif
