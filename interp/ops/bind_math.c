/* bind_math.c: mathematics of two operands or two results, and the tests of a float's kind. All take
   run-time values and Lua numbers. */
#include <lauxlib.h>
#include <math.h>

#include "interp/algebra/bind.h"
#include "interp/front/front_parts.h"
#include "interp/openers.h"
#include "interp/trace/front_state.h"
#include "runtime/math/math.h"
#include "access.h"

static const struct {
  CtOp op;
  double (*host)(double, double); /* for Lua numbers */
} pairs[] = {{CT_OP_FMOD, fmod},
             {CT_OP_COPYSIGN, copysign},
             {CT_OP_HYPOT, ct_hypot_f64},
             {CT_OP_ATAN2, ct_atan2_f64}};

/* The float that v is taken as. */
static CtVal as_float(lua_State *L, const CtIr *ir, CtVal v, const char *name) {
  value_check_number(L, ir, v, name);
  return value_as_float(L, v);
}

/* A float function of two numbers. Upvalue 1: the place in pairs. */
static int call_pair(lua_State *L) {
  int at = (int)lua_tointeger(L, lua_upvalueindex(1));
  const char *name = ct_ops[pairs[at].op].text;
  Front *f = front_of(L);
  lua_settop(L, 2);
  bool has_value = value_test(L, 1, NULL) || value_test(L, 2, NULL);
  if (f->ir == NULL || !has_value) {
    lua_pushnumber(L, pairs[at].host(diag_to_number(L, 1, name), diag_to_number(L, 2, name)));
    return 1;
  }
  CtVal x, y;
  front_at(L, f);
  value_pair(L, 1, 2, name, &x, &y);
  x = as_float(L, f->ir, x, name);
  value_push(L, ct_ir_binary(f->ir, pairs[at].op, x, as_float(L, f->ir, y, name)));
  return 1;
}

static void check_integer(lua_State *L, const CtIr *ir, CtVal v) {
  CtDtype type = (CtDtype)ct_inst(ir, v)->type;
  if (!ct_is_int(type)) {
    diag_error(
        L, "mulhi: integers expected, got %s; write cast(x, i32), or bitcast(x, u32) for its bits",
        ct_dtypes[type].name);
  }
}

static lua_Unsigned host_word(lua_State *L, int idx) {
  if (!lua_isinteger(L, idx)) {
    (void)diag_to_number(L, idx, "mulhi");
    diag_error(L, "mulhi: an integer expected, got %s", luaL_tolstring(L, idx, NULL));
  }
  return (lua_Unsigned)lua_tointeger(L, idx);
}

/* Of two Lua integers. */
static int mulhi_host(lua_State *L) {
  lua_Unsigned x = host_word(L, 1), y = host_word(L, 2);
  lua_Unsigned minus = ((lua_Integer)x < 0 ? y : 0) + ((lua_Integer)y < 0 ? x : 0);
  lua_pushinteger(L, (lua_Integer)(__umul64hi(x, y) - minus));
  return 1;
}

/* mulhi(x, y): the high half of the product; Lua integers have 64 bits. */
static int lang_mulhi(lua_State *L) {
  Front *f = front_of(L);
  CtVal x, y;
  lua_settop(L, 2);
  if (f->ir == NULL || !(value_test(L, 1, NULL) || value_test(L, 2, NULL))) {
    return mulhi_host(L);
  }
  front_at(L, f);
  value_pair(L, 1, 2, "mulhi", &x, &y);
  check_integer(L, f->ir, x);
  value_push(L, ct_ir_binary(f->ir, CT_OP_MULHI, x, y));
  return 1;
}

static CtVal is_nan(CtIr *ir, CtVal x) { return ct_ir_binary(ir, CT_OP_NE, x, x); }

static CtVal beside_infinity(CtIr *ir, CtOp op, CtVal x) {
  CtVal infinity = ct_ir_const_float(ir, (CtDtype)ct_inst(ir, x)->type, INFINITY);
  return ct_ir_binary(ir, op, ct_ir_unary(ir, CT_OP_ABS, x), infinity);
}

static CtVal is_inf(CtIr *ir, CtVal x) { return beside_infinity(ir, CT_OP_EQ, x); }
static CtVal is_finite(CtIr *ir, CtVal x) { return beside_infinity(ir, CT_OP_LT, x); }

static bool host_nan(double x) { return x != x; }
static bool host_inf(double x) { return fabs(x) == INFINITY; }
static bool host_finite(double x) { return fabs(x) < INFINITY; }

static const struct {
  const char *name;
  CtVal (*of_value)(CtIr *ir, CtVal x);
  bool (*host)(double x);
} kinds[] = {
    {"isnan", is_nan, host_nan}, {"isinf", is_inf, host_inf}, {"isfinite", is_finite, host_finite}};

/* isnan, isinf, isfinite. Upvalue 1: the place in kinds. */
static int call_kind(lua_State *L) {
  int at = (int)lua_tointeger(L, lua_upvalueindex(1));
  Front *f = front_of(L);
  if (f->ir == NULL || !value_test(L, 1, NULL)) {
    lua_pushboolean(L, kinds[at].host(diag_to_number(L, 1, kinds[at].name)));
    return 1;
  }
  front_at(L, f);
  CtVal x = as_float(L, f->ir, value_operand(L, 1, kinds[at].name), kinds[at].name);
  value_push(L, kinds[at].of_value(f->ir, x));
  return 1;
}

/* sincos(x): both. */
static int lang_sincos(lua_State *L) {
  Front *f = front_of(L);
  if (f->ir == NULL || !value_test(L, 1, NULL)) {
    double x = diag_to_number(L, 1, "sincos");
    lua_pushnumber(L, ct_sin_f64(x));
    lua_pushnumber(L, ct_cos_f64(x));
    return 2;
  }
  front_at(L, f);
  CtVal x = as_float(L, f->ir, value_operand(L, 1, "sincos"), "sincos");
  value_push(L, ct_ir_unary(f->ir, CT_OP_SIN, x));
  value_push(L, ct_ir_unary(f->ir, CT_OP_COS, x));
  return 2;
}

/* --- fast functions ------------------------------------------------------------------------------ */

static double rcp_host(double x) { return 1.0 / x; }
static double div_host(double x, double y) { return x / y; }

/* The fast function of f32; of f64 the exact one (NONE: 1/x); of Lua numbers one of the others. */
static const struct {
  CtOp op, exact;
  double (*host)(double);
  double (*host_two)(double, double);
} fasts[] = {{CT_OP_FAST_EXP, CT_OP_EXP, ct_exp_f64, NULL},
             {CT_OP_FAST_EXP10, CT_OP_EXP10, ct_exp10_f64, NULL},
             {CT_OP_EX2, CT_OP_EXP2, ct_exp2_f64, NULL},
             {CT_OP_FAST_LOG, CT_OP_LOG, ct_log_f64, NULL},
             {CT_OP_FAST_LOG2, CT_OP_LOG2, ct_log2_f64, NULL},
             {CT_OP_FAST_LOG10, CT_OP_LOG10, ct_log10_f64, NULL},
             {CT_OP_FAST_SIN, CT_OP_SIN, ct_sin_f64, NULL},
             {CT_OP_FAST_COS, CT_OP_COS, ct_cos_f64, NULL},
             {CT_OP_FAST_TANH, CT_OP_TANH, ct_tanh_f64, NULL},
             {CT_OP_FAST_RCP, CT_OP_NONE, rcp_host, NULL},
             {CT_OP_FAST_SQRT, CT_OP_SQRT, sqrt, NULL},
             {CT_OP_FAST_RSQRT, CT_OP_RSQRT, ct_rsqrt_f64, NULL},
             {CT_OP_FAST_DIV, CT_OP_DIV, NULL, div_host},
             {CT_OP_FAST_POW, CT_OP_POW, NULL, ct_pow_f64}};

static const char *fast_name(size_t at) { return ct_ops[fasts[at].op].text; }

static CtVal fast_one(CtIr *ir, int at, CtVal x) {
  CtDtype type = (CtDtype)ct_inst(ir, x)->type;
  if (type != CT_f64) {
    return ct_ir_unary(ir, fasts[at].op, x);
  }
  return fasts[at].exact == CT_OP_NONE
             ? ct_ir_binary(ir, CT_OP_DIV, ct_ir_const_float(ir, type, 1), x)
             : ct_ir_unary(ir, fasts[at].exact, x);
}

/* Upvalue 1: the place in fasts. */
static int call_fast(lua_State *L) {
  int at = (int)lua_tointeger(L, lua_upvalueindex(1));
  const char *name = fast_name((size_t)at);
  Front *f = front_of(L);
  lua_settop(L, 1);
  if (f->ir == NULL || !value_test(L, 1, NULL)) {
    lua_pushnumber(L, fasts[at].host(diag_to_number(L, 1, name)));
    return 1;
  }
  front_at(L, f);
  CtVal x = as_float(L, f->ir, value_operand(L, 1, name), name);
  value_push(L, fast_one(f->ir, at, x));
  return 1;
}

static int call_fast_two(lua_State *L) {
  int at = (int)lua_tointeger(L, lua_upvalueindex(1));
  const char *name = fast_name((size_t)at);
  Front *f = front_of(L);
  CtVal x, y;
  lua_settop(L, 2);
  if (f->ir == NULL || !(value_test(L, 1, NULL) || value_test(L, 2, NULL))) {
    lua_pushnumber(L, fasts[at].host_two(diag_to_number(L, 1, name), diag_to_number(L, 2, name)));
    return 1;
  }
  front_at(L, f);
  value_pair(L, 1, 2, name, &x, &y);
  x = as_float(L, f->ir, x, name);
  y = as_float(L, f->ir, y, name);
  bool is_f32 = ct_inst(f->ir, x)->type == CT_f32;
  value_push(L, ct_ir_binary(f->ir, is_f32 ? fasts[at].op : fasts[at].exact, x, y));
  return 1;
}

static void add(lua_State *L, lua_CFunction call, size_t at, const char *name) {
  lua_pushinteger(L, (lua_Integer)at);
  lua_pushcclosure(L, call, 1);
  lua_setfield(L, -2, name);
}

void bind_open_math(lua_State *L) { /* language table on top */
  for (size_t i = 0; i < CT_ARRAY_LEN(pairs); i++) {
    add(L, call_pair, i, ct_ops[pairs[i].op].text);
  }
  for (size_t i = 0; i < CT_ARRAY_LEN(kinds); i++) {
    add(L, call_kind, i, kinds[i].name);
  }
  lua_pushcfunction(L, lang_sincos);
  lua_setfield(L, -2, "sincos");
  lua_pushcfunction(L, lang_mulhi);
  lua_setfield(L, -2, "mulhi");
  lua_createtable(L, 0, (int)CT_ARRAY_LEN(fasts));
  for (size_t i = 0; i < CT_ARRAY_LEN(fasts); i++) {
    add(L, fasts[i].host != NULL ? call_fast : call_fast_two, i, fast_name(i) + sizeof "fast." - 1);
  }
  lua_setfield(L, -2, "fast");
}
