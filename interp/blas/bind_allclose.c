/* bind_allclose.c: allclose(a, b[, {rtol =, atol =}]). Tensors of one device with many elements are
   compared there, by kernels of stdlib/language/compare.lua; others on the host. Both find the same. */
#include <inttypes.h>
#include <lauxlib.h>
#include <math.h>
#include <stdio.h>

#include "bind_blas.h"
#include "interp/state/state.h"
#include "interp/state/state_language.h"
#include "interp/tensor/tensor.h"
#include "interp/trace/front.h"
#include "runtime/base/convert.h"

/* How far floats may be apart: |a - b| <= atol + rtol * |b|. Sums of a few thousand products stay
   within these where no cancellation is strong. Integers and bools must be equal. */
typedef struct Tolerance {
  double rtol, atol;
} Tolerance;

static const Tolerance tolerances[CT_DTYPE_COUNT] = {
#define TO_CLOSE(rtol, atol)                                                                       \
  { rtol, atol }
#define FLOAT(name, bits, compute, cuda, ctype, npy, e, f, ends, narrow, widen, tolerance, ...)    \
  [CT_##name] = TO_##tolerance,
#include "runtime/base/dtypes.def"
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

static bool is_exact(CtDtype ta, CtDtype tb, Tolerance tol) {
  return !ct_is_float(ta) && !ct_is_float(tb) && tol.rtol == 0 && tol.atol == 0;
}

static double compare(CtDtype ta, Elem a, CtDtype tb, Elem b, Tolerance tol) {
  if (is_exact(ta, tb, tol)) { /* a double would lose bits of large integers */
    return a.i == b.i ? 0 : HUGE_VAL;
  }
  return excess_of(as_double(ta, a), as_double(tb, b), tol);
}

static Worst compare_all(CtDtype ta, const Dense *da, CtDtype tb, const Dense *db, Tolerance tol) {
  Worst w = {.at = -1};
  const char *pa = da->p, *pb = db->p;
  for (int64_t i = 0; i < da->n; i++, pa += ct_dense_bytes(ta, 1), pb += ct_dense_bytes(tb, 1)) {
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

/* {====== On the host, on a device ====== */

static Worst compare_on_host(lua_State *L, const Tensor *a, const Tensor *b, Tolerance tol) {
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
  dense_close(&da);
  diag_check(L, status, &err);
  return w;
}

static int64_t count(lua_State *L, const CtCx *cx, const Tensor *t) {
  int64_t n = 1;
  for (int i = 0; i < ct_layout_rank(t->layout); i++) {
    n *= bind_mode_size(L, cx, t->layout, i).v;
  }
  return n;
}

/* The element with that number in linear order. */
static Elem element(lua_State *L, const Tensor *t, int64_t i) {
  Elem e;
  diag_try(L, tensor_get(t, ct_layout_at(t->layout, i), &e, diag_err(L)));
  return e;
}

/* What the worst elements are. False: there is no such place. */
static bool read_worst(lua_State *L, const Tensor *a, const Tensor *b, Worst *w) {
  CtCx cx = bind_enter(L);
  if (w->n_differ == 0) {
    return true;
  }
  if (w->at < 0 || w->at >= count(L, &cx, a)) {
    return false;
  }
  w->a = element(L, a, w->at);
  w->b = element(L, b, w->at);
  return true;
}

/* By kernels of compare.lua, of tensors on one device. False: it is left to the host. */
static bool compare_on_device(lua_State *L, const Tensor *a, const Tensor *b, Tolerance tol,
                              Worst *w) {
  if (a->storage->device != b->storage->device || !ct_storage_is_in_order(a->storage) ||
      !ct_storage_is_in_order(b->storage) || !front_may_launch(L)) {
    return false;
  }
  state_push_function(L, "cuttle.compare", "on_device");
  lua_pushvalue(L, 1);
  lua_pushvalue(L, 2);
  lua_pushnumber(L, tol.rtol);
  lua_pushnumber(L, tol.atol);
  lua_pushboolean(L, is_exact(a->dtype, b->dtype, tol));
  lua_call(L, 5, 2);
  bool is_done = lua_isinteger(L, -2);
  *w = (Worst){.n_differ = lua_tointeger(L, -2), .at = lua_tointeger(L, -1)};
  lua_pop(L, 2);
  return is_done && read_worst(L, a, b, w);
}

/* {====== Arguments and the report ====== */

static void check_options(lua_State *L) {
  if (lua_isnoneornil(L, 3)) {
    return;
  }
  if (!lua_istable(L, 3)) {
    diag_type_error(L, 3, "allclose", "a table {rtol = ..., atol = ...}");
  }
  bind_check_names(L, 3, "allclose", BIND_NAMES("rtol", "atol"));
}

static double opt_tolerance(lua_State *L, const char *key, double absent) {
  if (lua_isnoneornil(L, 3)) {
    return absent;
  }
  lua_getfield(L, 3, key);
  if (!lua_isnumber(L, -1) && !lua_isnil(L, -1)) {
    diag_error(L, "allclose: %s is %s; expected a number >= 0", key, diag_push_kind(L, -1));
  }
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
                  Tolerance tol) {
  char rule[96];
  snprintf(rule, sizeof rule, "%g + %g * |b|", tol.atol, tol.rtol);
  lua_pushboolean(L, 0);
  push_value(L, a->dtype, w->a);
  push_value(L, b->dtype, w->b);
  lua_pushfstring(L, "%I of %I elements differ by more than %s; the worst is %s: %s and %s",
                  (LUAI_UACINT)w->n_differ, (LUAI_UACINT)count(L, cx, a), rule,
                  coordinate_text(L, cx, a, w->at), lua_tostring(L, -2), lua_tostring(L, -1));
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
               tensor_push_role(L, 1, "the first tensor"), bind_tuple_text(cx, a->layout.shape),
               tensor_push_role(L, 2, "the second tensor"), bind_tuple_text(cx, b->layout.shape));
  }
}

/* allclose(a, b[, {rtol =, atol =}]) -> true, or false and what differs most. */
static int allclose(lua_State *L) {
  CtCx cx = bind_enter(L);
  const Tensor *a = tensor_check_host(L, 1, "allclose"), *b = tensor_check_host(L, 2, "allclose");
  check_options(L);
  Tolerance tol = check_tolerance(L, a->dtype, b->dtype);
  check_same_shape(L, &cx, a, b);
  Worst w;
  if (!compare_on_device(L, a, b, tol, &w)) {
    w = compare_on_host(L, a, b, tol);
  }
  cx = bind_enter(L); /* the kernels had it */
  if (w.n_differ > 0) {
    return report(L, &cx, a, b, &w, tol);
  }
  lua_pushboolean(L, 1);
  return 1;
}

/* _judge.tolerance(dtype): rtol and atol, as allclose has them for that type. */
static int type_tolerance(lua_State *L) {
  Tolerance tol = tolerances[bind_to_dtype(L, 1, "judge")];
  lua_pushnumber(L, tol.rtol);
  lua_pushnumber(L, tol.atol);
  return 2;
}

void bind_add_allclose(lua_State *L) {
  lua_pushcfunction(L, allclose);
  lua_setfield(L, -2, "allclose");
  lua_pushcfunction(L, type_tolerance);
  lua_setfield(L, -2, "_judge.tolerance");
}
