/* blas_lt.h: matrix products of cuBLASLt, by dlopen: its heuristics name several algorithms for a
   problem, of which each can be run. For benchmarks: what a kernel is measured against. Matrices are
   column-major, as in BLAS. */
#ifndef CT_BLAS_LT_H
#define CT_BLAS_LT_H

#include "blas.h"

typedef struct CtBlasLt CtBlasLt;
typedef struct CtLtPlan CtLtPlan;

CtStatus ct_blaslt_new(CtDevice *d, CtBlasLt **out, CtErr *err) CT_NODISCARD;
void ct_blaslt_free(CtBlasLt *b); /* after its plans; NULL is allowed */

enum { CT_LT_MAX_ALGORITHMS = 32 };

typedef struct CtLtOptions {
  int n_algorithms;       /* at most so many, 1..CT_LT_MAX_ALGORITHMS */
  size_t workspace_bytes; /* what algorithms may use; the plan owns it */
  bool fast_sums;         /* of fp8: sums as the tensor cores make them, not promoted on the way */
} CtLtOptions;

/* True of the types of ct_cublas_has and of f8e4m3 with a result of f32, f16 or bf16. */
bool ct_blaslt_has(CtDtype dtype, CtDtype result);

/* Asks the heuristics about the problem. CT_EUNSUPPORTED: they know no algorithm. The caller owns
   *out. */
CtStatus ct_lt_plan_new(CtBlasLt *b, const CtGemm *g, const CtLtOptions *options, CtLtPlan **out,
                        CtErr *err) CT_NODISCARD;
void ct_lt_plan_free(CtLtPlan *p); /* waits for nothing; NULL is allowed */

int ct_lt_plan_count(const CtLtPlan *p);

/* Enqueues the product by algorithm i, 0 the one that the heuristics like best. */
CtStatus ct_lt_plan_run(CtLtPlan *p, int i, CtDevPtr A, CtDevPtr B, CtDevPtr C, CtStream stream,
                        CtErr *err) CT_NODISCARD;

#endif
