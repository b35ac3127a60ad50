/* bind_blas.c: products of tensors by cuBLAS, for reference.matmul. */
#include "bind_blas.h"

#include <lauxlib.h>
#include <limits.h>

#include "interp/state/diag.h"
#include "interp/state/recorder.h"
#include "interp/state/state.h"

#define CUBLAS_TYPE "cuttle.cublas"

/* {====== Operands ====== */

bool bind_fits_blas(const Product *p) {
  return p->m > 0 && p->n > 0 && p->k > 0 && p->m <= INT_MAX && p->n <= INT_MAX && p->k <= INT_MAX;
}

CtGemm bind_gemm_of(const Product *p, CtDtype dtype, CtDtype result) {
  return (CtGemm){.dtype = dtype,
                  .result = result,
                  .trans_b = true,
                  .m = (int)p->m,
                  .n = (int)p->n,
                  .k = (int)p->k,
                  .lda = (int)p->m,
                  .ldb = (int)p->n,
                  .ldc = (int)p->m,
                  .alpha = 1};
}

/* A matrix as BLAS takes it: column-major or its transpose, `ld` elements between columns. */
typedef struct Matrix {
  bool is_row_major;
  int ld;
} Matrix;

/* False when the layout is no such matrix. */
static bool as_matrix(const CtCx *cx, CtLayout l, Matrix *out) {
  CtLayout flat[2];
  CtInt shape[2], stride[2];
  for (int i = 0; i < 2; i++) {
    if (ct_coalesce(cx, ct_mode(l, i), NULL, &flat[i], NULL) != CT_OK ||
        !ct_is_leaf(flat[i].shape)) {
      return false;
    }
    shape[i] = flat[i].shape->i;
    stride[i] = flat[i].stride->i;
  }
  int unit = stride[0].v == 1 || shape[0].v == 1 ? 0 : 1;
  int64_t ld = shape[1 - unit].v == 1 ? shape[unit].v : stride[1 - unit].v;
  if ((stride[unit].v != 1 && shape[unit].v != 1) || ld < shape[unit].v || ld > INT_MAX) {
    return false;
  }
  *out = (Matrix){unit == 1, (int)ld};
  return true;
}

/* The product as a library takes it; false where the operands are no matrices of one device. */
static bool as_gemm(const CtCx *cx, const Product *p, const Tensor *A, const Tensor *B,
                    CtDtype result, CtGemm *out) {
  Matrix a, b;
  CtDevice *device = A->storage->device;
  if (device == NULL || B->storage->device != device || !bind_fits_blas(p) ||
      !as_matrix(cx, A->layout, &a) || !as_matrix(cx, B->layout, &b)) {
    return false;
  }
  *out = bind_gemm_of(p, A->dtype, result);
  out->trans_a = a.is_row_major;
  out->trans_b = !b.is_row_major;
  out->lda = a.ld;
  out->ldb = b.ld;
  return true;
}

static CtDevPtr address_of(const Tensor *t) { return t->storage->buf.ptr + tensor_byte(t, 0); }

/* {====== The library's handles ====== */

static int cublas_gc(lua_State *L) {
  CtCublas **cublas = luaL_checkudata(L, 1, CUBLAS_TYPE);
  ct_cublas_free(*cublas);
  *cublas = NULL;
  return 0;
}

/* The handle for a device, which is kept in the registry [-0, +0, m]; NULL where there is none. */
static CtCublas *cublas_of(lua_State *L, CtDevice *device) {
  if (lua_rawgetp(L, LUA_REGISTRYINDEX, device) == LUA_TNIL) {
    lua_pop(L, 1);
    CtCublas **made = lua_newuserdatauv(L, sizeof *made, 0);
    *made = NULL;
    luaL_setmetatable(L, CUBLAS_TYPE);
    if (ct_cublas_new(device, made, NULL) != CT_OK) {
      *made = NULL;
    }
    lua_pushvalue(L, -1);
    lua_rawsetp(L, LUA_REGISTRYINDEX, device);
  }
  CtCublas **cublas = lua_touserdata(L, -1);
  lua_pop(L, 1);
  return *cublas;
}

/* {====== reference.matmul on a device ====== */

/* The product as cuBLAS takes it, and the handle; NULL where it cannot. */
static CtCublas *prepare_cublas(lua_State *L, const CtCx *cx, const Product *p, const Tensor *A,
                                const Tensor *B, CtDtype result, CtGemm *out) {
  if (!ct_cublas_has(A->dtype, result) || !as_gemm(cx, p, A, B, result, out)) {
    return NULL;
  }
  return cublas_of(L, A->storage->device);
}

bool bind_cublas_takes(lua_State *L, const CtCx *cx, const Product *p, const Tensor *A,
                       const Tensor *B, CtDtype result) {
  CtGemm g;
  return prepare_cublas(L, cx, p, A, B, result, &g) != NULL;
}

bool bind_cublas_multiply(lua_State *L, const CtCx *cx, const Product *p, const Tensor *A,
                          const Tensor *B, const Tensor *C) {
  CtGemm g;
  CtCublas *cublas = prepare_cublas(L, cx, p, A, B, C->dtype, &g);
  diag_try(L, ct_storage_may_write(C->storage, diag_err(L)));
  state_await_device(L, C->storage->device);
  return cublas != NULL && ct_cublas_gemm(cublas, &g, address_of(A), address_of(B), address_of(C),
                                          C->storage->stream, NULL) == CT_OK;
}

/* {====== Registration ====== */

static const luaL_Reg cublas_meta[] = {{"__gc", cublas_gc}, {NULL, NULL}};

void bind_add_blas(lua_State *L) { bind_new_type(L, CUBLAS_TYPE, cublas_meta, NULL); }
