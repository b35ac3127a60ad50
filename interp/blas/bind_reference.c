/* bind_reference.c: what results are checked against: allclose, and the table `reference` with
   plain operations that use another code than kernels do.

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

/* {====== allclose ====== */

/* How far floats may be apart: |a - b| <= atol + rtol * |b|. Sums of a few thousand products stay
   within these where no cancellation is strong. Integers and bools must be equal. */
typedef struct Tolerance {
  double rtol, atol;
} Tolerance;

static const Tolerance tolerances[CT_DTYPE_COUNT] = {
    [CT_f64] = {1e-9, 1e-12},   [CT_f32] = {1e-4, 1e-5},    [CT_tf32] = {2e-3, 1e-4},
    [CT_f16] = {2e-3, 1e-4},    [CT_bf16] = {1.6e-2, 1e-3}, [CT_f8e4m3] = {0.125, 0.01},
    [CT_f8e5m2] = {0.25, 0.01},
};

/* What a comparison found: how many elements differ, and which one by the most tolerances. */
typedef struct Worst {
  int64_t n_differ, at;
  double excess; /* of the worst: its distance divided by what is allowed */
  Elem a, b;
} Worst;

/* 0 when equal, at most 1 within the tolerance; NaN is close to nothing, an infinity to itself. */
static double excess_of(double a, double b, Tolerance tol) {
  if (a == b) {
    return 0;
  }
  double allowed = tol.atol + tol.rtol * fabs(b), distance = fabs(a - b);
  if (isnan(distance) || isinf(b)) {
    return HUGE_VAL;
  }
  return distance <= allowed ? 1 : allowed > 0 ? distance / allowed : HUGE_VAL;
}

static double as_double(CtDtype dtype, Elem e) {
  return ct_is_float(dtype) ? e.f : ct_round_int(CT_f64, dtype, e.i);
}

static double compare(CtDtype ta, Elem a, CtDtype tb, Elem b, Tolerance tol) {
  bool exact = !ct_is_float(ta) && !ct_is_float(tb);
  if (exact && tol.rtol == 0 && tol.atol == 0) { /* a double would lose bits of large integers */
    return a.i == b.i ? 0 : HUGE_VAL;
  }
  return excess_of(as_double(ta, a), as_double(tb, b), tol);
}

static Worst compare_all(CtDtype ta, const Dense *da, CtDtype tb, const Dense *db, Tolerance tol) {
  Worst w = {.at = -1};
  const char *pa = da->p, *pb = db->p;
  for (int64_t i = 0; i < da->n; i++, pa += ct_dtype_bytes(ta), pb += ct_dtype_bytes(tb)) {
    Elem a = elem_load(ta, pa), b = elem_load(tb, pb);
    double excess = compare(ta, a, tb, b, tol);
    if (excess > 1) {
      w.n_differ++;
      if (w.at < 0 || excess > w.excess) {
        w.excess = excess;
        w.at = i;
        w.a = a;
        w.b = b;
      }
    }
  }
  return w;
}

static double opt_tolerance(lua_State *L, const char *key, double absent) {
  if (lua_isnoneornil(L, 3)) {
    return absent;
  }
  if (!lua_istable(L, 3)) {
    diag_type_error(L, 3, "allclose", "a table {rtol = ..., atol = ...}");
  }
  lua_getfield(L, 3, key);
  double v = luaL_optnumber(L, -1, absent);
  lua_pop(L, 1);
  if (!(v >= 0)) {
    diag_error(L, "allclose: %s = %f is not a tolerance; expected a number >= 0", key, v);
  }
  return v;
}

/* A type with the looser tolerance of two decides. */
static Tolerance check_tolerance(lua_State *L, CtDtype a, CtDtype b) {
  Tolerance looser = tolerances[a].rtol > tolerances[b].rtol ? tolerances[a] : tolerances[b];
  Tolerance tol = {opt_tolerance(L, "rtol", looser.rtol), opt_tolerance(L, "atol", looser.atol)};
  return tol;
}

static void push_value(lua_State *L, CtDtype dtype, Elem e) {
  char text[64];
  if (ct_is_float(dtype)) {
    snprintf(text, sizeof text, dtype == CT_f64 ? "%.17g" : "%.9g", e.f);
    lua_pushstring(L, text);
  } else if (ct_is_int(dtype)) {
    snprintf(text, sizeof text, dtype == CT_u64 ? "%" PRIu64 : "%" PRId64, e.i);
    lua_pushstring(L, text);
  } else {
    lua_pushstring(L, e.i != 0 ? "true" : "false");
  }
}

/* "(3,5)": the coordinate of linear element i. */
static const char *coordinate_text(lua_State *L, const CtCx *cx, const Tensor *t, int64_t i) {
  CtTuple crd;
  diag_try(L, ct_idx2crd(cx, ct_int(i), t->layout.shape, &crd, diag_err(L)));
  return bind_tuple_text(cx, crd);
}

static int report(lua_State *L, const CtCx *cx, const Tensor *a, const Tensor *b, const Worst *w,
                  int64_t n, Tolerance tol) {
  char rule[96];
  snprintf(rule, sizeof rule, "%g + %g * |b|", tol.atol, tol.rtol);
  lua_pushboolean(L, 0);
  push_value(L, a->dtype, w->a);
  push_value(L, b->dtype, w->b);
  lua_pushfstring(L, "%I of %I elements differ by more than %s; the worst is %s: %s and %s",
                  (LUAI_UACINT)w->n_differ, (LUAI_UACINT)n, rule, coordinate_text(L, cx, a, w->at),
                  lua_tostring(L, -2), lua_tostring(L, -1));
  lua_replace(L, -3);
  lua_pop(L, 1);
  return 2;
}

static void check_same_shape(lua_State *L, const CtCx *cx, const Tensor *a, const Tensor *b) {
  bool same = ct_layout_rank(a->layout) == ct_layout_rank(b->layout);
  for (int i = 0; same && i < ct_layout_rank(a->layout); i++) {
    same = ct_int_equal(bind_mode_size(L, cx, a->layout, i), bind_mode_size(L, cx, b->layout, i));
  }
  if (!same) {
    diag_error(L, "allclose: %s has shape %s but %s has %s; expected modes of the same sizes",
               tensor_push_title(L, 1), bind_tuple_text(cx, a->layout.shape),
               tensor_push_title(L, 2), bind_tuple_text(cx, b->layout.shape));
  }
}

/* allclose(a, b[, {rtol =, atol =}]) -> true, or false and what differs most. */
static int allclose(lua_State *L) {
  CtCx cx = bind_enter(L);
  const Tensor *a = tensor_check_host(L, 1, "allclose"), *b = tensor_check_host(L, 2, "allclose");
  Tolerance tol = check_tolerance(L, a->dtype, b->dtype);
  check_same_shape(L, &cx, a, b);
  Dense da, db;
  CtErr err;
  Worst w = {.n_differ = 0};
  CtStatus status = dense_open(&da, a, &err);
  diag_check(L, status, &err);
  status = dense_open(&db, b, &err);
  if (status == CT_OK) {
    w = compare_all(a->dtype, &da, b->dtype, &db, tol);
    dense_close(&db);
  }
  int64_t n = da.n;
  dense_close(&da);
  diag_check(L, status, &err);
  if (w.n_differ > 0) {
    return report(L, &cx, a, b, &w, n, tol);
  }
  lua_pushboolean(L, 1);
  return 1;
}

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
  if (status == CT_OK) {
    status = tensor_load(B, b, err);
  }
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
  state_push_module(L, "cuttle.reference_grouped");
  lua_getfield(L, -1, "matmul");
  lua_remove(L, -2);
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

static const luaL_Reg functions[] = {{"allclose", allclose}, {NULL, NULL}};
static const luaL_Reg reference[] = {
    {"matmul", matmul}, {"library", library}, {NULL, NULL}}; /* and those of bind_reference_*.c */

void bind_open_reference(lua_State *L) {
  int module = lua_gettop(L);
  bind_add_blas(L);
  luaL_setfuncs(L, functions, 0);
  luaL_newlib(L, reference);
  bind_add_reference_bits(L);
  bind_add_reference_attention(L, module);
  lua_setfield(L, -2, "reference");
}
