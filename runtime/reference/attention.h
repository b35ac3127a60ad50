/* attention.h: attention of one head on the host in double precision: what kernels are compared with. As
   plain as can be. */
#ifndef CT_ATTENTION_H
#define CT_ATTENTION_H

#include "runtime/base/base.h"

typedef struct CtAttention {
  int64_t n_q, n_k; /* queries, keys */
  int64_t depth;    /* of a query and a key */
  int64_t depth_v;  /* of a value */
  double scale;     /* of the products */
  bool causal;      /* query i sees keys up to i + n_k - n_q: both end together */
} CtAttention;

/* O (n_q,depth_v) = softmax(scale Q K') V, and lse (n_q) the logarithm of each row's sum of exponentials,
   all dense, rows one after another. A query that sees no key has a row of zeros and -infinity. `p` is
   room for n_k numbers. False: `interrupt`, which may be NULL and is read atomically, became other than 0
   before the end. */
bool ct_attention_f64(const CtAttention *a, const double *Q, const double *K, const double *V,
                      double *O, double *lse, double *p, const volatile int *interrupt);

#endif
