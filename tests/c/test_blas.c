/* test_blas.c: the host's BLAS against the definition of the product. Skipped where there is none. */
#include "runtime/device/blas.h"

#include "tap.h"

enum { M = 5, N = 4, K = 3, LDA = 7, LDB = 6, LDC = 5 };

static double element(int i) { return (double)(i * 7 % 11) - 5.0; }

/* op(A)(i,k) of a column-major matrix. */
static double at(const double *A, bool trans, int ld, int i, int k) {
  return trans ? A[k + i * ld] : A[i + k * ld];
}

static void test_product(bool f64, bool trans_a, bool trans_b) {
  double A[LDA * LDA], B[LDB * LDB], C[LDC * N], want[LDC * N];
  float fA[LDA * LDA], fB[LDB * LDB], fC[LDC * N];
  CtErr err = {0};
  CtGemm g = {.dtype = f64 ? CT_f64 : CT_f32,
              .trans_a = trans_a,
              .trans_b = trans_b,
              .m = M,
              .n = N,
              .k = K,
              .lda = LDA,
              .ldb = LDB,
              .ldc = LDC,
              .alpha = 2.0,
              .beta = -1.0};
  for (int i = 0; i < LDA * LDA; i++) {
    A[i] = element(i);
    fA[i] = (float)A[i];
  }
  for (int i = 0; i < LDB * LDB; i++) {
    B[i] = element(i + 3);
    fB[i] = (float)B[i];
  }
  for (int i = 0; i < LDC * N; i++) {
    C[i] = want[i] = element(i + 5);
    fC[i] = (float)C[i];
  }
  for (int j = 0; j < N; j++) {
    for (int i = 0; i < M; i++) {
      double sum = 0;
      for (int k = 0; k < K; k++) {
        sum += at(A, trans_a, LDA, i, k) * at(B, trans_b, LDB, k, j);
      }
      want[i + j * LDC] = 2.0 * sum - want[i + j * LDC];
    }
  }
  CtStatus s = f64 ? ct_hostblas_gemm(&g, A, B, C, &err) : ct_hostblas_gemm(&g, fA, fB, fC, &err);
  bool good = s == CT_OK;
  for (int i = 0; i < LDC * N; i++) {
    good = good && (f64 ? C[i] : (double)fC[i]) == want[i]; /* small integers: exact */
  }
  OK(good, "%s, A%s B%s %s", f64 ? "f64" : "f32", trans_a ? "'" : "", trans_b ? "'" : "", err.msg);
}

int main(void) {
  if (ct_hostblas_name() == NULL) {
    return skip_all("no BLAS on this machine");
  }
  OK(strstr(ct_hostblas_name(), "blas") != NULL, "uses %s", ct_hostblas_name());
  for (int i = 0; i < 8; i++) {
    test_product((i & 1) != 0, (i & 2) != 0, (i & 4) != 0);
  }
  return done_testing();
}
