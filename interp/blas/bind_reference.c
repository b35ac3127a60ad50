/* bind_reference.c: what results are checked against: the table `reference` with plain operations
   that use another code than kernels do.

   reference.matmul on the host works in double precision and rounds once, whatever the elements are
   (integers: exact, modulo 2^64); on a device cuBLAS works in the precision of the elements,
   sums of narrow ones in f32. */
#include <inttypes.h>
#include <lauxlib.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "interp/algebra/bind.h"
#include "bind_blas.h"
#include "interp/state/diag.h"
#include "runtime/base/convert.h"
#include "runtime/reference/matmul.h"
#include "runtime/layout/walk.h"
#include "interp/state/state.h"
#include "interp/tensor/tensor.h"
#include "interp/openers.h"
#include "interp/state/state_language.h"

/* {====== matmul: the product on the host ====== */

/* A library would go on to its end, with threads and memory of its own: none in a sandbox. False: it was
   interrupted. */
static bool multiply_doubles(const CuttleState *s, const Product *p, const double *A,
                             const double *B, double *C) {
  CtGemm g = bind_gemm_of(p, CT_f64, CT_f64);
  CtErr err;
  bool may_load = s->options.sandbox == 0;
  return (may_load && bind_fits_blas(p) && ct_hostblas_gemm(&g, A, B, C, &err) == CT_OK) ||
         ct_matmul_f64(p->m, p->n, p->k, A, B, C, &s->interrupt);
}

static CtStatus multiply_elems(const CuttleState *s, const Product *p, const Tensor *A,
                               const Tensor *B, const Tensor *C, Elem *a, Elem *b, Elem *c,
                               CtErr *err) {
  CtStatus status = tensor_load(A, a, err);
  status = status == CT_OK ? tensor_load(B, b, err) : status;
  if (status != CT_OK) {
    return status;
  }
  bool is_done = ct_is_float(A->dtype)
                     ? multiply_doubles(s, p, &a->f, &b->f, &c->f)
                     : ct_matmul_i64(p->m, p->n, p->k, &a->i, &b->i, &c->i, &s->interrupt);
  return is_done ? tensor_store(C, c, err)
                 : ct_fail(err, CT_EINTERRUPTED, "reference.matmul: interrupted");
}

static CtStatus multiply_host(const CuttleState *s, const Product *p, const Tensor *A,
                              const Tensor *B, const Tensor *C, CtErr *err) {
  CtAlloc alloc = C->storage->alloc;
  int64_t n_a = p->m * p->k, n_b = p->n * p->k, n_c = p->m * p->n;
  size_t bytes;
  Elem *block = tensor_new_elems(alloc, (const int64_t[]){n_a, n_b, n_c}, 3, &bytes);
  if (block == NULL) {
    return ct_fail_nomem(err);
  }
  CtStatus status = multiply_elems(s, p, A, B, C, block, block + n_a, block + n_a + n_b, err);
  ct_free(alloc, block, bytes);
  return status;
}

/* {====== matmul ====== */

static const Tensor *check_operand(lua_State *L, const CtCx *cx, int idx, const char *modes) {
  const Tensor *t = tensor_check_host(L, idx, "reference.matmul");
  if (ct_layout_rank(t->layout) != 2) {
    diag_error(L, "reference.matmul: %s %s has rank %d; expected a matrix %s",
               tensor_push_title(L, idx), bind_layout_text(cx, t->layout),
               ct_layout_rank(t->layout), modes);
  }
  return t;
}

static Product check_product(lua_State *L, const CtCx *cx, const Tensor *A, const Tensor *B) {
  Product p = {bind_mode_size(L, cx, A->layout, 0).v, bind_mode_size(L, cx, B->layout, 0).v,
               bind_mode_size(L, cx, A->layout, 1).v};
  if (bind_mode_size(L, cx, B->layout, 1).v != p.k) {
    diag_error(L, "reference.matmul: A is %s and B is %s; expected (M,K) and (N,K)",
               bind_tuple_text(cx, A->layout.shape), bind_tuple_text(cx, B->layout.shape));
  }
  if (A->dtype != B->dtype || ct_dtypes[A->dtype].cls == CT_CLASS_BOOL) {
    diag_error(L, "reference.matmul: A is %s and B is %s; expected two of one number type",
               ct_dtypes[A->dtype].name, ct_dtypes[B->dtype].name);
  }
  return p;
}

/* The type of a new C: sums of narrow integers would not fit these. */
static CtDtype new_type(const Tensor *A) {
  return ct_is_float(A->dtype) ? A->dtype : ct_dtype_compute(A->dtype);
}

/* C of the right shape, type (that of A, or of its sums) and device: the third argument, or a new tensor
   on top of the stack. */
static const Tensor *result_tensor(lua_State *L, const CtCx *cx, const Product *p,
                                   const Tensor *A) {
  CtInt extents[] = {ct_int(p->m), ct_int(p->n)};
  CtLayout layout = {NULL, NULL};
  CtErr err;
  CtTuple shape = ct_tuple_ints(cx->arena, 2, extents);
  CtStatus status =
      shape == NULL ? ct_fail_nomem(&err) : ct_layout_make(cx, shape, NULL, &layout, &err);
  diag_check(L, status, &err);
  if (lua_isnoneornil(L, 3)) {
    return tensor_push_alloc(L, "reference.matmul", new_type(A), layout, A->storage->device);
  }
  const Tensor *C = tensor_check_host(L, 3, "reference.matmul");
  bool right_type = C->dtype == A->dtype || C->dtype == ct_dtype_compute(A->dtype);
  if (!right_type || C->storage->device != A->storage->device ||
      !ct_layout_equal(C->layout, layout)) {
    diag_error(L, "reference.matmul: C is %s %s; expected %s %s on the device of A",
               ct_dtypes[C->dtype].name, bind_layout_text(cx, C->layout), ct_dtypes[A->dtype].name,
               bind_layout_text(cx, layout));
  }
  lua_pushvalue(L, 3);
  return C;
}

/* Products of groups: the function of a Lua module, which calls matmul for each. */
static int matmul_grouped(lua_State *L) {
  state_push_function(L, "cuttle.reference_grouped", "matmul");
  lua_insert(L, 1);
  lua_call(L, lua_gettop(L) - 1, 1);
  return 1;
}

/* reference.matmul(A, B[, C]) -> C = A * B': A is (M,K), B is (N,K), C is (M,N), column-major, and new
   when it is not given. reference.matmul(A, B, {groups = ends}): see reference_grouped.lua. */
static int matmul(lua_State *L) {
  if (lua_istable(L, 3)) {
    return matmul_grouped(L);
  }
  CtCx cx = bind_enter(L);
  const Tensor *A = check_operand(L, &cx, 1, "(M,K)"), *B = check_operand(L, &cx, 2, "(N,K)");
  Product p = check_product(L, &cx, A, B);
  lua_settop(L, 3);
  const Tensor *C = result_tensor(L, &cx, &p, A);
  if (!bind_cublas_multiply(L, &cx, &p, A, B, C)) {
    diag_try(L, multiply_host(state_of(L), &p, A, B, C, diag_err(L)));
  }
  return 1;
}

/* reference.library(A, B[, C]) -> which library computes reference.matmul(A, B, C). */
static int library(lua_State *L) {
  CtCx cx = bind_enter(L);
  const Tensor *A = check_operand(L, &cx, 1, "(M,K)"), *B = check_operand(L, &cx, 2, "(N,K)");
  Product p = check_product(L, &cx, A, B);
  CtDtype result = lua_isnoneornil(L, 3) ? new_type(A) : tensor_check_host(L, 3, "library")->dtype;
  bool on_device = bind_cublas_takes(L, &cx, &p, A, B, result);
  bool on_host =
      state_of(L)->options.sandbox == 0 && ct_is_float(A->dtype) && ct_hostblas_name() != NULL;
  lua_pushstring(L, on_device ? "cuBLAS" : on_host ? "BLAS" : "none");
  return 1;
}

/* {====== Registration ====== */

static const luaL_Reg reference[] = {
    {"matmul", matmul}, {"library", library}, {NULL, NULL}}; /* and those of bind_reference_*.c */

void bind_open_reference(lua_State *L) {
  int module = lua_gettop(L);
  bind_add_blas(L);
  bind_add_allclose(L);
  luaL_newlib(L, reference);
  bind_add_reference_bits(L);
  bind_add_reference_attention(L, module);
  lua_setfield(L, -2, "reference");
}
