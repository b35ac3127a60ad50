/* bind_blas.h: products of tensors by cuBLAS (bind_blas.c). */
#ifndef CUTTLE_BIND_BLAS_H
#define CUTTLE_BIND_BLAS_H

#include <lua.h>

#include "interp/algebra/bind.h"
#include "runtime/device/blas.h"
#include "interp/tensor/tensor.h"

/* C (m,n) = A (m,k) * B (n,k)'. */
typedef struct Product {
  int64_t m, n, k;
} Product;

bool bind_fits_blas(const Product *p);

/* C, A and B column-major and dense. */
CtGemm bind_gemm_of(const Product *p, CtDtype dtype, CtDtype result);

/* Whether cuBLAS takes these operands. */
bool bind_cublas_takes(lua_State *L, const CtCx *cx, const Product *p, const Tensor *A,
                       const Tensor *B, CtDtype result);

/* True when cuBLAS computed the product; false when it cannot take these operands. */
bool bind_cublas_multiply(lua_State *L, const CtCx *cx, const Product *p, const Tensor *A,
                          const Tensor *B, const Tensor *C);

/* Adds the type of handles [-0, +0, m]. */
void bind_add_blas(lua_State *L);

/* With the module's table on top. */
void bind_add_allclose(lua_State *L);

/* With the table `reference` on top. */
void bind_add_reference_bits(lua_State *L);
void bind_add_reference_attention(lua_State *L, int module);

#endif
