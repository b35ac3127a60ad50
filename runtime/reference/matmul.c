/* matmul.c: plain matrix products, column by column of C. */
#include "matmul.h"

enum {
  ROWS = 512,
  DEPTH = 4
}; /* rows of A and C that stay in the first cache; columns at a time */

/* For each element type: c[0..rows) += a * b over DEPTH columns of A; over one; over all of them.
   */
#define MATMUL(suffix, word)                                                                       \
  static void add_columns_##suffix(word *c, const word *a, int64_t lda, const word b[DEPTH],       \
                                   int64_t rows) {                                                 \
    for (int64_t i = 0; i < rows; i++) {                                                           \
      c[i] += a[i] * b[0] + a[i + lda] * b[1] + a[i + 2 * lda] * b[2] + a[i + 3 * lda] * b[3];     \
    }                                                                                              \
  }                                                                                                \
                                                                                                   \
  static void add_column_##suffix(word *c, const word *a, word b, int64_t rows) {                  \
    for (int64_t i = 0; i < rows; i++) {                                                           \
      c[i] += a[i] * b;                                                                            \
    }                                                                                              \
  }                                                                                                \
                                                                                                   \
  static void add_block_##suffix(word *c, const word *a, const word *b, int64_t m, int64_t n,      \
                                 int64_t k, int64_t rows) {                                        \
    int64_t at = 0;                                                                                \
    for (; at + DEPTH <= k; at += DEPTH) {                                                         \
      const word row[DEPTH] = {b[at * n], b[(at + 1) * n], b[(at + 2) * n], b[(at + 3) * n]};      \
      add_columns_##suffix(c, a + at * m, m, row, rows);                                           \
    }                                                                                              \
    for (; at < k; at++) {                                                                         \
      add_column_##suffix(c, a + at * m, b[at * n], rows);                                         \
    }                                                                                              \
  }                                                                                                \
                                                                                                   \
  static bool multiply_##suffix(int64_t m, int64_t n, int64_t k, const word *A, const word *B,     \
                                word *C, const volatile int *interrupt) {                          \
    for (int64_t i = 0; i < m * n; i++) {                                                          \
      C[i] = 0;                                                                                    \
    }                                                                                              \
    for (int64_t i = 0; i < m; i += ROWS) {                                                        \
      for (int64_t j = 0; j < n; j++) {                                                            \
        if (ct_flag_is_up(interrupt)) {                                                            \
          return false;                                                                            \
        }                                                                                          \
        add_block_##suffix(C + i + j * m, A + i, B + j, m, n, k, ct_min(ROWS, m - i));             \
      }                                                                                            \
    }                                                                                              \
    return true;                                                                                   \
  }

MATMUL(f64, double)
MATMUL(u64, uint64_t)

bool ct_matmul_f64(int64_t m, int64_t n, int64_t k, const double *A, const double *B, double *C,
                   const volatile int *interrupt) {
  return multiply_f64(m, n, k, A, B, C, interrupt);
}

/* Unsigned arithmetic wraps where signed would be undefined; the bits are the same. */
bool ct_matmul_i64(int64_t m, int64_t n, int64_t k, const int64_t *A, const int64_t *B, int64_t *C,
                   const volatile int *interrupt) {
  return multiply_u64(m, n, k, (const uint64_t *)A, (const uint64_t *)B, (uint64_t *)C, interrupt);
}
