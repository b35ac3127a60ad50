/* test_matmul.c: plain matrix products against the definition, and against a BLAS library. */
#include "runtime/reference/matmul.h"

#include "runtime/device/blas.h"
#include "runtime/base/rand.h"
#include "tap.h"

typedef struct Size {
  int64_t m, n, k;
} Size;

static const Size sizes[] = {{1, 1, 1},   {2, 3, 4},    {5, 7, 3}, {8, 1, 9},
                             {513, 3, 6}, {1030, 2, 5}, {3, 4, 0}, {0, 4, 3}};

static double *make_doubles(CtRand *r, int64_t n) {
  double *p = malloc((size_t)(n + 1) * sizeof *p);
  for (int64_t i = 0; i < n; i++) {
    p[i] = (double)ct_rand_int(r, -1000, 1000); /* small integers: every order of sums is exact */
  }
  return p;
}

static bool is_product(Size s, const double *A, const double *B, const double *C) {
  for (int64_t j = 0; j < s.n; j++) {
    for (int64_t i = 0; i < s.m; i++) {
      double sum = 0;
      for (int64_t k = 0; k < s.k; k++) {
        sum += A[i + k * s.m] * B[j + k * s.n];
      }
      if (C[i + j * s.m] != sum) {
        return false;
      }
    }
  }
  return true;
}

static void test_doubles(Size s) {
  CtRand r = {0};
  double *A = make_doubles(&r, s.m * s.k), *B = make_doubles(&r, s.n * s.k);
  double *C = make_doubles(&r, s.m * s.n);
  (void)ct_matmul_f64(s.m, s.n, s.k, A, B, C, NULL);
  OK(is_product(s, A, B, C), "f64 (%d,%d,%d)", (int)s.m, (int)s.n, (int)s.k);
  CtGemm g = {.dtype = CT_f64,
              .trans_b = true,
              .m = (int)s.m,
              .n = (int)s.n,
              .k = (int)s.k,
              .lda = (int)s.m,
              .ldb = (int)s.n,
              .ldc = (int)s.m,
              .alpha = 1};
  CtErr err;
  if (s.m * s.n * s.k > 0 && ct_hostblas_name() != NULL) {
    memset(C, 0, (size_t)(s.m * s.n) * sizeof *C);
    OK(ct_hostblas_gemm(&g, A, B, C, &err) == CT_OK && is_product(s, A, B, C), "%s agrees",
       ct_hostblas_name());
  }
  free(A);
  free(B);
  free(C);
}

static void test_integers(Size s) {
  CtRand r = {0};
  int64_t A[64], B[64], C[64];
  for (int i = 0; i < 64; i++) {
    A[i] = ct_rand_int(&r, INT64_MIN, INT64_MAX);
    B[i] = ct_rand_int(&r, INT64_MIN, INT64_MAX);
  }
  (void)ct_matmul_i64(s.m, s.n, s.k, A, B, C, NULL);
  bool same = true;
  for (int64_t i = 0; i < s.m * s.n; i++) {
    uint64_t sum = 0;
    for (int64_t k = 0; k < s.k; k++) {
      sum += (uint64_t)A[i % s.m + k * s.m] * (uint64_t)B[i / s.m + k * s.n];
    }
    same = same && C[i] == (int64_t)sum;
  }
  OK(same, "i64 (%d,%d,%d) wraps around", (int)s.m, (int)s.n, (int)s.k);
}

int main(void) {
  for (size_t i = 0; i < CT_ARRAY_LEN(sizes); i++) {
    test_doubles(sizes[i]);
  }
  for (size_t i = 0; i < 3; i++) {
    test_integers(sizes[i]);
  }
  return done_testing();
}
