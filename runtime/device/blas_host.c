/* blas_host.c: a host's CBLAS by dlopen: the first library that has one. The table is filled at first
   use, under a lock, and then stays. */
#include "blas.h"

#include <pthread.h>

#include "dl.h"

enum { REQUIRED = 1 };

/* CBLAS with 32-bit integers, as every Linux distribution builds it by default. */
enum { CBLAS_COL_MAJOR = 102, CBLAS_NO_TRANS = 111, CBLAS_TRANS = 112 };

typedef struct Cblas {
  void (*cblas_sgemm)(int order, int op_a, int op_b, int m, int n, int k, float alpha,
                      const float *A, int lda, const float *B, int ldb, float beta, float *C,
                      int ldc);
  void (*cblas_dgemm)(int order, int op_a, int op_b, int m, int n, int k, double alpha,
                      const double *A, int lda, const double *B, int ldb, double beta, double *C,
                      int ldc);
  char path[CT_DL_PATH_BYTES];
} Cblas;

static const CtDlSymbol cblas_symbols[] = {
    {"cblas_sgemm", offsetof(Cblas, cblas_sgemm), REQUIRED},
    {"cblas_dgemm", offsetof(Cblas, cblas_dgemm), REQUIRED},
};

static const char *const cblas_names[] = {"libopenblas.so.0", "libopenblas.so", "libblas.so.3",
                                          "libcblas.so.3"};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of the table */
static Cblas table;
static bool is_loaded;

/* A library may load and have no CBLAS in it, so each name is tried to the end. */
static bool try_cblas(const char *const *name) {
  const CtDlSpec spec = {.what = "blas", .advice = "", .names = name, .n_names = 1};
  void *handle = NULL;
  if (ct_dl_open(&spec, &handle, table.path, NULL) != CT_OK) {
    return false;
  }
  is_loaded = ct_dl_fill("blas", handle, table.path, cblas_symbols, CT_ARRAY_LEN(cblas_symbols),
                         &table, NULL) == CT_OK;
  if (!is_loaded) {
    ct_dl_close(handle);
  }
  return is_loaded;
}

static bool load_cblas(void) {
  for (size_t i = 0; i < CT_ARRAY_LEN(cblas_names) && !is_loaded; i++) {
    (void)try_cblas(&cblas_names[i]);
  }
  return is_loaded;
}

static const Cblas *get_cblas(void) {
  pthread_mutex_lock(&lock);
  bool loaded = load_cblas();
  pthread_mutex_unlock(&lock);
  return loaded ? &table : NULL;
}

CtStatus ct_hostblas_gemm(const CtGemm *g, const void *A, const void *B, void *C, CtErr *err) {
  const Cblas *lib = get_cblas();
  int op_a = g->trans_a ? CBLAS_TRANS : CBLAS_NO_TRANS;
  int op_b = g->trans_b ? CBLAS_TRANS : CBLAS_NO_TRANS;
  if (lib == NULL) {
    return ct_fail(err, CT_EMISSING,
                   "blas: cannot load any of 'libopenblas.so.0', "
                   "'libopenblas.so', 'libblas.so.3', 'libcblas.so.3'; install OpenBLAS");
  }
  if (g->dtype == CT_f64) {
    lib->cblas_dgemm(CBLAS_COL_MAJOR, op_a, op_b, g->m, g->n, g->k, g->alpha, A, g->lda, B, g->ldb,
                     g->beta, C, g->ldc);
  } else {
    lib->cblas_sgemm(CBLAS_COL_MAJOR, op_a, op_b, g->m, g->n, g->k, (float)g->alpha, A, g->lda, B,
                     g->ldb, (float)g->beta, C, g->ldc);
  }
  return CT_OK;
}

const char *ct_hostblas_name(void) {
  const Cblas *lib = get_cblas();
  return lib == NULL ? NULL : lib->path;
}
