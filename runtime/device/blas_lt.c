/* blas_lt.c: cuBLASLt by dlopen, at first use. */
#include "blas_lt.h"

#include "blas_call.h"

enum { REQUIRED = 1 };

typedef struct CublasLt {
#define X(need, name, args) CublasStatus(*name) args;
#include "cublaslt_syms.def"
#undef X
} CublasLt;

static const CtDlSymbol symbols[] = {
#define X(need, name, args) {#name, offsetof(CublasLt, name), need},
#include "cublaslt_syms.def"
#undef X
};

static const char *const names[] = {"libcublasLt.so.13", "libcublasLt.so.12", "libcublasLt.so"};
static CublasLt table;

static CtDlLibrary library = {
    .spec = {.what = "cublasLt",
             .env = "CUTTLE_CUBLASLT",
             .advice = "install cuBLAS or set CUTTLE_CUBLASLT to its path",
             .names = names,
             .n_names = CT_ARRAY_LEN(names)},
    .symbols = symbols,
    .n_symbols = CT_ARRAY_LEN(symbols),
    .table = &table,
};

struct CtBlasLt {
  CtDevice *device;
  const CublasLt *lib;
  CublasLtHandle handle;
};

struct CtLtPlan {
  CtBlasLt *lt;
  CublasLtMatmulDesc desc;
  CublasLtMatrixLayout a, b, c;
  CtCublasFactor alpha, beta;
  CtBuffer workspace;
  int n;
  CublasLtHeuristic algorithms[CT_LT_MAX_ALGORITHMS];
};

CtStatus ct_blaslt_new(CtDevice *d, CtBlasLt **out, CtErr *err) {
  CtBlasLt made = {.device = d, .lib = &table};
  CtStatus s = ct_dl_load(&library, err);
  if (s != CT_OK) {
    return s;
  }
  CtBlasLt *b = ct_alloc(d->alloc, sizeof *b);
  if (b == NULL) {
    return ct_fail_nomem(err);
  }
  s = CT_CUBLAS_CALL(&made, err, cublasLtCreate, (&made.handle));
  if (s != CT_OK) {
    ct_free(d->alloc, b, sizeof *b);
    return s;
  }
  *b = made;
  *out = b;
  return CT_OK;
}

void ct_blaslt_free(CtBlasLt *b) {
  if (b == NULL) {
    return;
  }
  if (ct_device_enter(b->device, NULL)) {
    (void)b->lib->cublasLtDestroy(b->handle);
    ct_device_leave(b->device);
  }
  ct_free(b->device->alloc, b, sizeof *b);
}

bool ct_blaslt_has(CtDtype dtype, CtDtype result) {
  return dtype == CT_f8e4m3 ? result == CT_f32 || result == CT_f16 || result == CT_bf16
                            : ct_cublas_has(dtype, result);
}

/* {====== Plans ====== */

static CtStatus set_attribute(CtLtPlan *p, CublasLtDescAttribute attribute, const void *value,
                              size_t bytes, CtErr *err) {
  return CT_CUBLAS_CALL(p->lt, err, cublasLtMatmulDescSetAttribute,
                        (p->desc, attribute, value, bytes));
}

static CtStatus make_desc(CtLtPlan *p, const CtGemm *g, bool fast_sums, CtErr *err) {
  CtCublasKind kind = ct_cublas_kind(g->dtype);
  CublasOp op_a = ct_cublas_op(g->trans_a), op_b = ct_cublas_op(g->trans_b);
  int8_t fast = 1;
  CtStatus s =
      CT_CUBLAS_CALL(p->lt, err, cublasLtMatmulDescCreate, (&p->desc, kind.compute, kind.scale));
  if (s == CT_OK) {
    s = set_attribute(p, CT_CUBLASLT_TRANSA, &op_a, sizeof op_a, err);
  }
  if (s == CT_OK) {
    s = set_attribute(p, CT_CUBLASLT_TRANSB, &op_b, sizeof op_b, err);
  }
  if (s == CT_OK && fast_sums) {
    s = set_attribute(p, CT_CUBLASLT_FAST_ACCUM, &fast, sizeof fast, err);
  }
  return s;
}

/* A matrix as it is stored: rows and columns change places where it is transposed. */
static CtStatus make_layout(CtBlasLt *b, CtDtype dtype, bool trans, int rows, int columns, int ld,
                            CublasLtMatrixLayout *out, CtErr *err) {
  uint64_t n_rows = (uint64_t)(trans ? columns : rows), n_cols = (uint64_t)(trans ? rows : columns);
  return CT_CUBLAS_CALL(b, err, cublasLtMatrixLayoutCreate,
                        (out, ct_cublas_kind(dtype).data, n_rows, n_cols, (int64_t)ld));
}

static CtStatus make_layouts(CtLtPlan *p, const CtGemm *g, CtErr *err) {
  CtDtype result = g->result == CT_VOID ? g->dtype : g->result;
  CtStatus s = make_layout(p->lt, g->dtype, g->trans_a, g->m, g->k, g->lda, &p->a, err);
  if (s == CT_OK) {
    s = make_layout(p->lt, g->dtype, g->trans_b, g->k, g->n, g->ldb, &p->b, err);
  }
  if (s == CT_OK) {
    s = make_layout(p->lt, result, false, g->m, g->n, g->ldc, &p->c, err);
  }
  return s;
}

static CtStatus query(CtLtPlan *p, CublasLtPreference preference, const CtLtOptions *options,
                      CtErr *err) {
  uint64_t workspace = options->workspace_bytes;
  CtStatus s =
      CT_CUBLAS_CALL(p->lt, err, cublasLtMatmulPreferenceSetAttribute,
                     (preference, CT_CUBLASLT_MAX_WORKSPACE_BYTES, &workspace, sizeof workspace));
  if (s == CT_OK) {
    s = CT_CUBLAS_CALL(p->lt, err, cublasLtMatmulAlgoGetHeuristic,
                       (p->lt->handle, p->desc, p->a, p->b, p->c, p->c, preference,
                        options->n_algorithms, p->algorithms, &p->n));
  }
  return s;
}

/* Those that the heuristics call good come first already; the others are dropped. */
static CtStatus find_algorithms(CtLtPlan *p, const CtLtOptions *options, CtErr *err) {
  CublasLtPreference preference = NULL;
  CtStatus s = CT_CUBLAS_CALL(p->lt, err, cublasLtMatmulPreferenceCreate, (&preference));
  if (s != CT_OK) {
    return s;
  }
  s = query(p, preference, options, err);
  (void)CT_CUBLAS_CALL(p->lt, NULL, cublasLtMatmulPreferenceDestroy, (preference));
  int n = 0;
  for (int i = 0; i < p->n && s == CT_OK; i++) {
    if (p->algorithms[i].state == CT_CUBLAS_SUCCESS) {
      p->algorithms[n++] = p->algorithms[i];
    }
  }
  p->n = n;
  return s != CT_OK || n > 0
             ? s
             : ct_fail(err, CT_EUNSUPPORTED, "cublasLt: no algorithm for this product");
}

CtStatus ct_lt_plan_new(CtBlasLt *b, const CtGemm *g, const CtLtOptions *options, CtLtPlan **out,
                        CtErr *err) {
  CtLtPlan *p = ct_alloc(b->device->alloc, sizeof *p);
  if (p == NULL) {
    return ct_fail_nomem(err);
  }
  CtCublasKind kind = ct_cublas_kind(g->dtype);
  *p = (CtLtPlan){
      .lt = b, .alpha = ct_cublas_factor(kind, g->alpha), .beta = ct_cublas_factor(kind, g->beta)};
  CtStatus s = make_desc(p, g, options->fast_sums, err);
  if (s == CT_OK) {
    s = make_layouts(p, g, err);
  }
  if (s == CT_OK) {
    s = find_algorithms(p, options, err);
  }
  if (s == CT_OK) {
    s = ct_buffer_new(b->device, options->workspace_bytes, ct_device_stream(b->device),
                      &p->workspace, err);
  }
  if (s != CT_OK) {
    ct_lt_plan_free(p);
    return s;
  }
  *out = p;
  return CT_OK;
}

static void free_layout(CtBlasLt *b, CublasLtMatrixLayout layout) {
  if (layout != NULL) {
    (void)CT_CUBLAS_CALL(b, NULL, cublasLtMatrixLayoutDestroy, (layout));
  }
}

void ct_lt_plan_free(CtLtPlan *p) {
  if (p == NULL) {
    return;
  }
  CtBlasLt *b = p->lt;
  free_layout(b, p->a);
  free_layout(b, p->b);
  free_layout(b, p->c);
  if (p->desc != NULL) {
    (void)CT_CUBLAS_CALL(b, NULL, cublasLtMatmulDescDestroy, (p->desc));
  }
  if (p->workspace.ptr != 0) {
    ct_buffer_free(b->device, &p->workspace, ct_device_stream(b->device));
  }
  ct_free(b->device->alloc, p, sizeof *p);
}

int ct_lt_plan_count(const CtLtPlan *p) { return p->n; }

static const void *constant(CtDevPtr p) { return (const void *)(uintptr_t)p; }

CtStatus ct_lt_plan_run(CtLtPlan *p, int i, CtDevPtr A, CtDevPtr B, CtDevPtr C, CtStream stream,
                        CtErr *err) {
  void *out = (void *)(uintptr_t)C;
  void *workspace = (void *)(uintptr_t)p->workspace.ptr;
  return CT_CUBLAS_CALL(p->lt, err, cublasLtMatmul,
                        (p->lt->handle, p->desc, &p->alpha, constant(A), p->a, constant(B), p->b,
                         &p->beta, out, p->c, out, p->c, &p->algorithms[i].algo, workspace,
                         p->workspace.bytes, stream));
}
