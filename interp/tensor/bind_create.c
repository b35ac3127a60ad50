/* bind_create.c: functions that make host tensors: tensor, zeros, ones, full, arange, rand, randn,
   from_table; and seed. Each takes an element type and a shape or layout, and makes its tensor on
   the current device. Elements are made in linear order, so they do not depend on the strides. */
#include <lauxlib.h>
#include <math.h>
#include <stdio.h>

#include "interp/algebra/bind.h"
#include "interp/openers.h"
#include "interp/state/diag.h"
#include "interp/state/recorder.h"
#include "interp/state/state.h"
#include "runtime/watch/check.h"
#include "tensor.h"

/* Pushes a tensor of the type and layout in arguments 1 and 2. */
static Tensor *push_tensor(lua_State *L, const char *op) {
  CtCx cx = bind_enter(L);
  if (lua_type(L, 1) == LUA_TNUMBER || lua_istable(L, 1)) { /* the shape, as elsewhere */
    diag_error(L, "%s: argument 1 is %s; the element type comes first: %s(f32, {4, 8})", op,
               diag_push_kind(L, 1), op);
  }
  CtDtype dtype = bind_to_dtype(L, 1, op);
  CtLayout layout = bind_to_layout(L, 2, &cx, op);
  return tensor_push_here(L, op, dtype, layout);
}

/* Extents listed side by side would lose all but the first. `example` is a call that is right. */
static void check_count(lua_State *L, int n, const char *op, const char *example) {
  if (lua_gettop(L) > n) {
    diag_error(L, "%s: %d arguments; a shape is one argument: %s", op, lua_gettop(L), example);
  }
}

static int generate(lua_State *L, const Tensor *t, TensorFill fn, void *ud) {
  state_host_uses(L, "a tensor with values");
  diag_try(L, tensor_generate(t, fn, ud, diag_err(L)));
  return 1;
}

/* {====== Values known beforehand ====== */

typedef struct Ramp {
  Elem start, step;
} Ramp;

/* Whether the last of n integers fits, as the first does. */
static CtStatus check_last(const Ramp *r, CtDtype dtype, int64_t n, CtErr *err) {
  int64_t last = 0;
  if (!ct_mul_overflow(n - 1, r->step.i, &last) && !ct_add_overflow(r->start.i, last, &last) &&
      ct_dtype_fits(dtype, last)) {
    return CT_OK;
  }
  return ct_fail(err, CT_EINVAL,
                 "arange: the last of %lld elements, %lld + %lld * %lld, does not fit %s; expected "
                 "%lld to %lld",
                 (long long)n, (long long)r->start.i, (long long)n - 1, (long long)r->step.i,
                 ct_dtypes[dtype].name, (long long)ct_dtype_min(dtype),
                 (long long)ct_dtype_max(dtype));
}

/* Element i is start + i * step. Floats are rounded; integers must fit. */
static CtStatus fill_ramp(void *ud, CtDtype dtype, void *dst, int64_t n, CtErr *err) {
  const Ramp *r = ud;
  Elem e = r->start;
  if (ct_is_int(dtype) && n > 0 && check_last(r, dtype, n, err) != CT_OK) {
    return CT_EINVAL;
  }
  for (int64_t i = 0; i < n; i++) {
    if (ct_is_float(dtype)) {
      e.f = r->start.f + (double)i * r->step.f;
    } else {
      e.i = r->start.i + i * r->step.i;
    }
    elem_store(dtype, (char *)dst + ct_dense_bytes(dtype, (size_t)i), e);
  }
  return CT_OK;
}

static Elem elem_of(CtDtype dtype, int v) {
  return ct_is_float(dtype) ? (Elem){.f = v} : (Elem){.i = v};
}

static int fill_constant(lua_State *L, const Tensor *t, Elem e) {
  Ramp ramp = {e, elem_of(t->dtype, 0)};
  return generate(L, t, fill_ramp, &ramp);
}

/* tensor(dtype, shape|layout): elements are not set. */
static int tensor(lua_State *L) {
  check_count(L, 2, "tensor",
              "tensor(f32, {4, 8}), with strides tensor(f32, layout({4, 8}, {8, 1}))");
  const Tensor *t = push_tensor(L, "tensor");
  const CuttleState *of = state_of(L);
  if (of->taps.check != NULL && of->taps.recorder == NULL && of->rank < 0) {
    tensor_is_blank(L, t);
  }
  return 1;
}

/* The memory of zeros is filled in the device's own stream; check compares that with other streams. */
static CtStatus note_zeros(CuttleState *s, const CtStorage *storage, CtErr *err) {
  StateOrder *o = &s->taps.order;
  StateRow row;
  if (s->taps.check == NULL || s->taps.recorder != NULL || s->rank >= 0 ||
      storage->device != NULL || !order_has_streams(o)) {
    return CT_OK;
  }
  CtStatus status = order_launch(o, s->alloc, 0, &row, err);
  if (status == CT_OK) {
    o->n_fills++;
    order_launched(o, 0);
    ct_check_filled(s->taps.check, storage->host, storage->bytes, row.known[0],
                    s->n_host - o->n_fills);
  }
  return status;
}

static int zeros(lua_State *L) {
  check_count(L, 2, "zeros", "zeros(f32, {4, 8})");
  const Tensor *t = push_tensor(L, "zeros");
  CtErr err; /* with the gaps between elements: one call on a device */
  CuttleState *s = state_of(L);
  s->n_host++;
  CtStatus status = s->taps.recorder != NULL
                        ? recorder_set(s->taps.recorder, t->storage, 0, 0, t->storage->bytes, &err)
                        : ct_storage_set(t->storage, 0, 0, t->storage->bytes, &err);
  status = status == CT_OK ? note_zeros(s, t->storage, &err) : status;
  diag_check(L, status, &err);
  return 1;
}

static int ones(lua_State *L) {
  check_count(L, 2, "ones", "ones(f32, {4, 8})");
  const Tensor *t = push_tensor(L, "ones");
  return fill_constant(L, t, elem_of(t->dtype, 1));
}

static Elem check_elem(lua_State *L, int idx, CtDtype dtype, const char *op) {
  Elem e;
  diag_try(L, elem_from_lua(L, idx, dtype, op, &e, diag_err(L)));
  return e;
}

static Elem opt_elem(lua_State *L, int idx, CtDtype dtype, const char *op, int absent) {
  return lua_isnoneornil(L, idx) ? elem_of(dtype, absent) : check_elem(L, idx, dtype, op);
}

/* full(dtype, shape|layout, value) */
static int full(lua_State *L) {
  check_count(L, 3, "full", "full(f32, {4, 8}, 1)");
  const Tensor *t = push_tensor(L, "full");
  return fill_constant(L, t, check_elem(L, 3, t->dtype, "full"));
}

/* arange(dtype, shape|layout[, start = 0[, step = 1]]): t[i] = start + i * step. */
static int arange(lua_State *L) {
  if (lua_gettop(L) > 4) {
    return diag_error(L,
                      "arange: %d arguments; arange(dtype, shape, start, step) was expected, 1 "
                      "to 48 being arange(i32, 48, 1)",
                      lua_gettop(L));
  }
  lua_settop(L, 4);
  const Tensor *t = push_tensor(L, "arange");
  if (ct_dtypes[t->dtype].cls == CT_CLASS_BOOL) {
    return diag_error(L, "arange: elements of type bool cannot count; expected a number type");
  }
  Ramp ramp = {opt_elem(L, 3, t->dtype, "arange", 0), opt_elem(L, 4, t->dtype, "arange", 1)};
  return generate(L, t, fill_ramp, &ramp);
}

/* {====== Random values ====== */

typedef struct Uniform {
  CtRand *rand;
  Elem lo, hi;
} Uniform;

/* Floats: lo + u * (hi - lo) with u of the type's own 24 or 53 bits, or fewer, and at most the number before
   hi. If the range is [0, 1), that is u itself: below 1 without rounding. */
static double next_float(const Uniform *u, CtDtype dtype) {
  double x = dtype == CT_f64 ? ct_rand_f64(u->rand) : (double)ct_rand_f32(u->rand);
  int64_t halves =
      ct_dtypes[dtype].exponent > 2 ? 2 : 1; /* 1/2 is a subnormal of 2 bits of exponent */
  double steps = (double)(halves << ct_dtypes[dtype].fraction);
  x = ct_is_narrow(dtype) ? floor(x * steps) / steps : x;
  return u->lo.f + x * (u->hi.f - u->lo.f);
}

static CtStatus fill_uniform(void *ud, CtDtype dtype, void *dst, int64_t n, CtErr *err) {
  const Uniform *u = ud;
  size_t bytes = ct_dense_bytes(dtype, 1);
  char *p = dst;
  (void)err;
  for (int64_t i = 0; i < n; i++, p += bytes) {
    Elem e = ct_is_float(dtype) ? (Elem){.f = next_float(u, dtype)}
                                : (Elem){.i = ct_rand_int(u->rand, u->lo.i, u->hi.i - 1)};
    elem_store(dtype, p, e);
  }
  return CT_OK;
}

/* Default ranges: [0, 1) of floats, 0 to 99 of integers, false and true of bool. */
static int default_end(CtDtype dtype) {
  static const int ends[] = {
      [CT_CLASS_NONE] = 0, [CT_CLASS_FLOAT] = 1, [CT_CLASS_INT] = 100, [CT_CLASS_BOOL] = 2};
  return ends[ct_dtypes[dtype].cls];
}

static bool is_empty_range(CtDtype dtype, const Uniform *u) {
  return ct_is_float(dtype) ? !(u->lo.f < u->hi.f) : u->lo.i >= u->hi.i;
}

/* The first number beyond a range; of a narrow integer type it need not be of the type. */
static Elem check_end(lua_State *L, int idx, CtDtype dtype) {
  bool is_next = ct_is_int(dtype) && ct_dtypes[dtype].bits < 64 && lua_isinteger(L, idx) &&
                 lua_tointeger(L, idx) == ct_dtype_max(dtype) + 1;
  return is_next ? (Elem){.i = lua_tointeger(L, idx)} : check_elem(L, idx, dtype, "rand");
}

/* rand(dtype, shape|layout[, lo, hi]): uniform, lo <= x < hi. */
static int uniform(lua_State *L) {
  diag_take_args(L, "rand", 4);
  const Tensor *t = push_tensor(L, "rand");
  Uniform u = {&state_of(L)->rand, elem_of(t->dtype, 0), elem_of(t->dtype, default_end(t->dtype))};
  if (lua_isnil(L, 3) != lua_isnil(L, 4)) {
    return diag_error(L,
                      "rand: the range has one end; rand(dtype, shape, lo, hi) was expected, and a "
                      "shape of several modes is a table: {4, 8}");
  }
  if (!lua_isnil(L, 3)) {
    u.lo = check_elem(L, 3, t->dtype, "rand");
    u.hi = check_end(L, 4, t->dtype);
  }
  if (is_empty_range(t->dtype, &u)) {
    return diag_error(L, "rand: no number lies in the range from %s to %s; expected lo < hi",
                      luaL_tolstring(L, 3, NULL), luaL_tolstring(L, 4, NULL));
  }
  return generate(L, t, fill_uniform, &u);
}

static CtStatus fill_normal(void *ud, CtDtype dtype, void *dst, int64_t n, CtErr *err) {
  size_t bytes = ct_dense_bytes(dtype, 1);
  char *p = dst;
  (void)err;
  for (int64_t i = 0; i < n; i++, p += bytes) {
    elem_store(dtype, p, (Elem){.f = ct_rand_normal(ud)});
  }
  return CT_OK;
}

/* randn(dtype, shape|layout): normal, mean 0, variance 1. */
static int randn(lua_State *L) {
  const Tensor *t = push_tensor(L, "randn");
  if (!ct_is_float(t->dtype)) {
    return diag_error(L, "randn: elements of type %s cannot be normal; expected a float type",
                      ct_dtypes[t->dtype].name);
  }
  return generate(L, t, fill_normal, &state_of(L)->rand);
}

/* manual_seed(n): starts the sequence of rand and randn anew. A state begins with that of manual_seed(0). */
static int seed(lua_State *L) {
  ct_rand_seed(&state_of(L)->rand, (uint64_t)bind_to_static(L, 1, "manual_seed"));
  return 0;
}

/* {====== From Lua tables ====== */

/* A table read into a tensor: nested tables by mode, or a flat one in linear order. */
typedef struct Table {
  lua_State *L;             /* the table of the current level is on top of its stack */
  const char *op;           /* begins messages */
  int rank;                 /* levels of tables */
  int64_t n[CT_MAX_DEPTH];  /* entries at each level, as along the first entries */
  int64_t at[CT_MAX_DEPTH]; /* where the reading is */
} Table;

/* Finds rank and extents along the first entries of the table at idx. */
static void measure(lua_State *L, const char *op, int idx, Table *t) {
  *t = (Table){.L = L, .op = op};
  luaL_checkstack(L, CT_MAX_DEPTH + 8, NULL);
  lua_pushvalue(L, idx);
  while (lua_istable(L, -1)) {
    if (t->rank == CT_MAX_DEPTH) {
      diag_error(L, "%s: the table is nested deeper than %d levels", op, CT_MAX_DEPTH);
    }
    t->n[t->rank++] = (int64_t)lua_rawlen(L, -1);
    lua_rawgeti(L, -1, 1);
  }
  lua_pop(L, t->rank + 1);
}

/* "from_table: t[2][3]": the entry of `level` that is being read, as Lua counts. */
static const char *entry_name(const Table *t, int level, char *out, size_t cap) {
  size_t n = (size_t)snprintf(out, cap, "%s: t", t->op);
  for (int i = 0; i <= level && n < cap; i++) {
    n += (size_t)snprintf(out + n, cap - n, "[%lld]", (long long)t->at[i] + 1);
  }
  return out;
}

static CtStatus check_entry(const Table *t, int level, CtErr *err) {
  char name[256];
  entry_name(t, level, name, sizeof name);
  if (!lua_istable(t->L, -1)) {
    ct_fail(err, CT_EINVAL, "%s is %s; expected a table, as the first entry is", name,
            diag_push_kind(t->L, -1));
    lua_pop(t->L, 1);
    return CT_EINVAL;
  }
  if ((int64_t)lua_rawlen(t->L, -1) != t->n[level + 1]) {
    return ct_fail(err, CT_EINVAL, "%s has length %llu; expected %lld, as the first one has", name,
                   (unsigned long long)lua_rawlen(t->L, -1), (long long)t->n[level + 1]);
  }
  return CT_OK;
}

static CtStatus read_entry(const Table *t, int level, CtDtype dtype, char *dst, CtErr *err) {
  char name[256];
  Elem e;
  CtStatus status = elem_from_lua(t->L, -1, dtype, NULL, &e, err);
  if (status == CT_OK) {
    elem_store(dtype, dst, e);
  } else {
    ct_err_prefix(err, "%s", entry_name(t, level, name, sizeof name));
  }
  return status;
}

/* Reads the table on top; its entries lie `step` bytes apart. */
static CtStatus read_level(Table *t, int level, CtDtype dtype, char *dst, size_t step, CtErr *err) {
  CtStatus status = CT_OK;
  for (int64_t i = 0; status == CT_OK && i < t->n[level]; i++, dst += step) {
    t->at[level] = i;
    lua_rawgeti(t->L, -1, i + 1);
    if (level + 1 < t->rank) {
      status = check_entry(t, level, err);
      status = status == CT_OK
                   ? read_level(t, level + 1, dtype, dst, step * (size_t)t->n[level], err)
                   : status;
    } else {
      status = read_entry(t, level, dtype, dst, err);
    }
    lua_pop(t->L, 1);
  }
  return status;
}

static CtStatus fill_from_table(void *ud, CtDtype dtype, void *dst, int64_t n, CtErr *err) {
  (void)n;
  return read_level(ud, 0, dtype, dst, ct_value_bytes(dtype), err);
}

/* The column-major layout of the table's own shape: n, or (n0,n1,...). */
static CtLayout table_layout(lua_State *L, const CtCx *cx, const Table *t) {
  CtInt extents[CT_MAX_DEPTH];
  CtLayout layout = {NULL, NULL};
  CtErr err;
  for (int i = 0; i < t->rank; i++) {
    extents[i] = ct_int(t->n[i]);
  }
  CtTuple shape =
      t->rank == 1 ? ct_leaf(cx->arena, extents[0]) : ct_tuple_ints(cx->arena, t->rank, extents);
  CtStatus status =
      shape == NULL ? ct_fail_nomem(&err) : ct_layout_make(cx, shape, NULL, &layout, &err);
  diag_check(L, status, &err);
  return layout;
}

/* A flat table has as many entries as the layout; a nested one the sizes of its modes. */
static void check_fits(lua_State *L, const CtCx *cx, const Table *t, CtLayout layout) {
  bool is_flat = t->rank == 1;
  bool fits = is_flat || t->rank == ct_layout_rank(layout);
  for (int i = 0; fits && i < t->rank; i++) {
    CtInt n;
    CtErr err;
    diag_check(L, ct_size(cx, is_flat ? layout : ct_mode(layout, i), &n, &err), &err);
    fits = ct_is_const(n, t->n[i]);
  }
  if (!fits) {
    diag_error(L,
               "%s: a table of shape %s does not fit the layout %s; expected a flat "
               "table of its size or nested ones of its modes' sizes",
               t->op, bind_tuple_text(cx, table_layout(L, cx, t).shape),
               bind_layout_text(cx, layout));
  }
}

/* Measures the table at 2; the layout at 3 if there is one, else the table's own. */
static CtLayout read_shape(lua_State *L, const char *op, const CtCx *cx, Table *t) {
  if (!lua_istable(L, 2)) {
    diag_type_error(L, 2, op, "a table");
  }
  measure(L, op, 2, t);
  if (lua_isnoneornil(L, 3)) {
    return table_layout(L, cx, t);
  }
  CtLayout layout = bind_to_layout(L, 3, cx, op);
  check_fits(L, cx, t, layout);
  return layout;
}

void *tensor_read_table(lua_State *L, const char *op, CtDtype dtype, const CtCx *cx,
                        CtLayout *layout) {
  Table t;
  CtInt n;
  *layout = read_shape(L, op, cx, &t);
  diag_try(L, ct_size(cx, *layout, &n, diag_err(L)));
  char *data = ct_arena_alloc(cx->arena, ct_dense_bytes(dtype, (size_t)n.v) + 1);
  if (data == NULL) {
    luaL_error(L, "not enough memory");
  }
  lua_pushvalue(L, 2);
  diag_try(L, fill_from_table(&t, dtype, data, n.v, diag_err(L)));
  lua_pop(L, 1);
  return data;
}

/* from_table(dtype, table[, layout]): entry [i + 1][j + 1] of nested tables is element (i,j); with
   a layout, entry i + 1 of a flat table is element i, in linear order. */
static int from_table(lua_State *L) {
  Table t;
  diag_take_args(L, "from_table", 3);
  CtCx cx = bind_enter(L);
  CtDtype dtype = bind_to_dtype(L, 1, "from_table");
  CtLayout layout = read_shape(L, "from_table", &cx, &t);
  const Tensor *made = tensor_push_here(L, "from_table", dtype, layout);
  lua_pushvalue(L, 2); /* stack: ...; tensor; table */
  diag_try(L, tensor_generate(made, fill_from_table, &t, diag_err(L)));
  lua_pop(L, 1);
  return 1;
}

/* {====== Registration ====== */

static const luaL_Reg functions[] = {
    {"tensor", tensor},         {"zeros", zeros}, {"ones", ones},     {"full", full},
    {"rand", uniform},          {"randn", randn}, {"arange", arange}, {"manual_seed", seed},
    {"from_table", from_table}, {NULL, NULL}};

void bind_open_create(lua_State *L) { luaL_setfuncs(L, functions, 0); }
