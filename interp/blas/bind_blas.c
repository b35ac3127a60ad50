/* bind_blas.c: products of tensors by a device's libraries: cuBLAS for reference.matmul; and, for
   benchmarks, functions that launch cuBLAS or each of cuBLASLt's algorithms on the same operands again
   at least cost. The names of these begin with `_`: they are not the language's. */
#include "bind_blas.h"

#include <lauxlib.h>
#include <limits.h>

#include "interp/state/diag.h"
#include "runtime/device/blas_lt.h"
#include "interp/state/state.h"

#define LIBRARIES_TYPE "cuttle.libraries"
#define PLAN_TYPE "cuttle.product"

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

static CtDevPtr address_of(const Tensor *t) {
  return t->storage->buf.ptr + (uint64_t)t->offset.v * ct_dtype_bytes(t->dtype);
}

/* {====== The libraries' handles ====== */

typedef struct Libraries {
  CtCublas *cublas;
  CtBlasLt *lt;
} Libraries;

static int libraries_gc(lua_State *L) {
  Libraries *l = luaL_checkudata(L, 1, LIBRARIES_TYPE);
  ct_cublas_free(l->cublas);
  ct_blaslt_free(l->lt);
  *l = (Libraries){NULL, NULL};
  return 0;
}

/* Pushes the handles for a device, which are kept in the registry [-0, +1, m]. cublas is NULL where there
   is none; lt is made by who needs it. */
static Libraries *push_libraries(lua_State *L, CtDevice *device) {
  if (lua_rawgetp(L, LUA_REGISTRYINDEX, device) == LUA_TNIL) {
    lua_pop(L, 1);
    Libraries *made = lua_newuserdatauv(L, sizeof *made, 0);
    *made = (Libraries){NULL, NULL};
    luaL_setmetatable(L, LIBRARIES_TYPE);
    if (ct_cublas_new(device, &made->cublas, NULL) != CT_OK) {
      made->cublas = NULL;
    }
    lua_pushvalue(L, -1);
    lua_rawsetp(L, LUA_REGISTRYINDEX, device);
  }
  return lua_touserdata(L, -1);
}

/* {====== reference.matmul on a device ====== */

/* The product as cuBLAS takes it, and the handle; NULL where it cannot. */
static CtCublas *prepare_cublas(lua_State *L, const CtCx *cx, const Product *p, const Tensor *A,
                                const Tensor *B, CtDtype result, CtGemm *out) {
  if (!ct_cublas_has(A->dtype, result) || !as_gemm(cx, p, A, B, result, out)) {
    return NULL;
  }
  CtCublas *handle = push_libraries(L, A->storage->device)->cublas;
  lua_pop(L, 1);
  return handle;
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
  return cublas != NULL && ct_cublas_gemm(cublas, &g, address_of(A), address_of(B), address_of(C),
                                          C->storage->stream, NULL) == CT_OK;
}

/* {====== Launches for benchmarks ====== */

/* A product that is launched again and again. Its functions have it and the three tensors as upvalues;
   its user value holds the libraries. */
typedef struct Plan {
  CtCublas *cublas; /* borrowed from the libraries, or NULL: */
  CtLtPlan *lt;     /* owned */
  CtGemm gemm;
} Plan;

static int plan_gc(lua_State *L) {
  Plan *plan = luaL_checkudata(L, 1, PLAN_TYPE);
  ct_lt_plan_free(plan->lt);
  plan->lt = NULL;
  return 0;
}

enum { UP_PLAN = 1, UP_A, UP_B, UP_C, UP_INDEX, N_UPVALUES = UP_INDEX };

static const Tensor *operand(lua_State *L, int upvalue) {
  const Tensor *t = lua_touserdata(L, lua_upvalueindex(upvalue));
  if (t->storage == NULL) {
    diag_error(L, "a product's operand is closed");
  }
  return t;
}

static int launch(lua_State *L) {
  const Plan *plan = lua_touserdata(L, lua_upvalueindex(UP_PLAN));
  CtDevPtr A = address_of(operand(L, UP_A)), B = address_of(operand(L, UP_B));
  const Tensor *t = operand(L, UP_C);
  CtDevPtr C = address_of(t);
  CtStream stream = t->storage->stream;
  CtErr err;
  int i = (int)lua_tointeger(L, lua_upvalueindex(UP_INDEX));
  diag_check(L,
             plan->cublas != NULL ? ct_cublas_gemm(plan->cublas, &plan->gemm, A, B, C, stream, &err)
                                  : ct_lt_plan_run(plan->lt, i, A, B, C, stream, &err),
             &err);
  return 0;
}

/* Pushes a function that launches algorithm i of the plan at stack place `plan`. */
static void push_launch(lua_State *L, int plan, int i) {
  lua_pushvalue(L, plan);
  for (int arg = 1; arg <= 3; arg++) {
    lua_pushvalue(L, arg);
  }
  lua_pushinteger(L, i);
  lua_pushcclosure(L, launch, N_UPVALUES);
}

/* The product of the arguments A (M,K), B (N,K) and C (M,N), column-major and dense. */
static CtGemm check_gemm(lua_State *L, const CtCx *cx, const char *op) {
  const Tensor *t[3];
  CtInt extent[3][2];
  for (int i = 0; i < 3; i++) {
    t[i] = tensor_check(L, i + 1, op);
    if (t[i]->storage == NULL || ct_layout_rank(t[i]->layout) != 2) {
      diag_error(L, "%s: argument %d is no matrix in memory", op, i + 1);
    }
    for (int mode = 0; mode < 2; mode++) {
      extent[i][mode] = bind_mode_size(L, cx, t[i]->layout, mode);
    }
  }
  Product p = {extent[0][0].v, extent[1][0].v, extent[0][1].v};
  Matrix c;
  CtGemm g = {.m = 0};
  if (extent[1][1].v != p.k || extent[2][0].v != p.m || extent[2][1].v != p.n ||
      t[0]->dtype != t[1]->dtype || !as_gemm(cx, &p, t[0], t[1], t[2]->dtype, &g) ||
      !as_matrix(cx, t[2]->layout, &c) || c.is_row_major || c.ld != p.m) {
    diag_error(L, "%s: %s, %s and %s are no A (M,K), B (N,K) and column-major C (M,N) of a device",
               op, bind_layout_text(cx, t[0]->layout), bind_layout_text(cx, t[1]->layout),
               bind_layout_text(cx, t[2]->layout));
  }
  return g;
}

static Plan *push_plan(lua_State *L, const CtGemm *g) {
  Plan *plan = lua_newuserdatauv(L, sizeof *plan, 1);
  *plan = (Plan){.gemm = *g};
  luaL_setmetatable(L, PLAN_TYPE);
  return plan;
}

static int fail_softly(lua_State *L, const char *why) {
  lua_pushnil(L);
  lua_pushstring(L, why);
  return 2;
}

/* _cublas(A, B, C) -> a function that launches cublasGemmEx's default, or nil and why not. */
static int cublas(lua_State *L) {
  CtCx cx = bind_enter(L);
  lua_settop(L, 3);
  CtGemm g = check_gemm(L, &cx, "_cublas");
  if (!ct_cublas_has(g.dtype, g.result)) {
    return fail_softly(L, "cublasGemmEx has no product of these types");
  }
  Plan *plan = push_plan(L, &g);
  plan->cublas = push_libraries(L, tensor_check(L, 1, "_cublas")->storage->device)->cublas;
  lua_setiuservalue(L, 4, 1);
  if (plan->cublas == NULL) {
    return fail_softly(L, "there is no cuBLAS");
  }
  push_launch(L, 4, 0);
  return 1;
}

static int64_t integer_field(lua_State *L, int idx, const char *key) {
  lua_getfield(L, idx, key);
  int64_t v = luaL_checkinteger(L, -1);
  lua_pop(L, 1);
  return v;
}

static CtLtOptions check_options(lua_State *L, int idx) {
  luaL_checktype(L, idx, LUA_TTABLE);
  int64_t n = integer_field(L, idx, "algorithms"), bytes = integer_field(L, idx, "workspace");
  luaL_argcheck(L, n >= 1 && n <= CT_LT_MAX_ALGORITHMS && bytes >= 0, idx, "algorithms, workspace");
  lua_getfield(L, idx, "fast_sums");
  CtLtOptions options = {(int)n, (size_t)bytes, lua_toboolean(L, -1) != 0};
  lua_pop(L, 1);
  return options;
}

static CtStatus make_lt_plan(Libraries *l, CtDevice *device, const CtLtOptions *options, Plan *plan,
                             CtErr *err) {
  CtStatus s = l->lt == NULL ? ct_blaslt_new(device, &l->lt, err) : CT_OK;
  return s == CT_OK ? ct_lt_plan_new(l->lt, &plan->gemm, options, &plan->lt, err) : s;
}

/* _cublas_lt(A, B, C, {algorithms =, workspace =, fast_sums =}) -> a list of functions that launch each of
   the algorithms that the heuristics name, the best-liked first, or nil and why not. */
static int cublas_lt(lua_State *L) {
  CtCx cx = bind_enter(L);
  CtErr err;
  lua_settop(L, 4);
  CtGemm g = check_gemm(L, &cx, "_cublas_lt");
  CtLtOptions options = check_options(L, 4);
  if (!ct_blaslt_has(g.dtype, g.result)) {
    return fail_softly(L, "cublasLt has no product of these types");
  }
  CtDevice *device = tensor_check(L, 1, "_cublas_lt")->storage->device;
  Plan *plan = push_plan(L, &g);
  Libraries *libraries = push_libraries(L, device);
  lua_setiuservalue(L, 5, 1);
  if (make_lt_plan(libraries, device, &options, plan, &err) != CT_OK) {
    plan->lt = NULL;
    return fail_softly(L, err.msg);
  }
  int n = ct_lt_plan_count(plan->lt);
  lua_createtable(L, n, 0);
  for (int i = 0; i < n; i++) {
    push_launch(L, 5, i);
    lua_rawseti(L, -2, i + 1);
  }
  return 1;
}

/* {====== Registration ====== */

static const luaL_Reg libraries_meta[] = {{"__gc", libraries_gc}, {NULL, NULL}};
static const luaL_Reg plan_meta[] = {{"__gc", plan_gc}, {NULL, NULL}};
static const luaL_Reg functions[] = {{"_cublas", cublas}, {"_cublas_lt", cublas_lt}, {NULL, NULL}};

void bind_add_blas(lua_State *L) {
  bind_new_type(L, LIBRARIES_TYPE, libraries_meta, NULL);
  bind_new_type(L, PLAN_TYPE, plan_meta, NULL);
  luaL_setfuncs(L, functions, 0);
}
