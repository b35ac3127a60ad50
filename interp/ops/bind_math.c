/* bind_math.c: mathematics of two operands or two results, and the tests of a float's kind. All take
   run-time values and Lua numbers. */
#include <lauxlib.h>
#include <math.h>

#include "interp/algebra/bind.h"
#include "interp/front/front_parts.h"
#include "interp/openers.h"
#include "interp/trace/front_state.h"
#include "access.h"

static const struct {
  CtOp op;
  double (*host)(double, double); /* for Lua numbers */
} pairs[] = {
    {CT_OP_FMOD, fmod}, {CT_OP_COPYSIGN, copysign}, {CT_OP_HYPOT, hypot}, {CT_OP_ATAN2, atan2}};

/* The float that v is taken as: an integer becomes an f32. */
static CtVal as_float(lua_State *L, CtIr *ir, CtVal v, const char *name) {
  CtDtype type = (CtDtype)ct_inst(ir, v)->type;
  if (type == CT_bool) {
    diag_error(L, "%s: a number expected, got a run-time bool; write where(c, 1, 0)", name);
  }
  return ct_is_float(type) ? v : ct_ir_cast(ir, v, CT_f32);
}

/* A float function of two numbers. Upvalue 1: the place in pairs. */
static int call_pair(lua_State *L) {
  int at = (int)lua_tointeger(L, lua_upvalueindex(1));
  const char *name = ct_ops[pairs[at].op].text;
  Front *f = front_of(L);
  lua_settop(L, 2);
  bool has_value = value_test(L, 1, NULL) || value_test(L, 2, NULL);
  if (f->ir == NULL || !has_value) {
    lua_pushnumber(L, pairs[at].host(luaL_checknumber(L, 1), luaL_checknumber(L, 2)));
    return 1;
  }
  CtVal x, y;
  front_at(L, f);
  value_pair(L, 1, 2, name, &x, &y);
  x = as_float(L, f->ir, x, name);
  value_push(L, ct_ir_binary(f->ir, pairs[at].op, x, as_float(L, f->ir, y, name)));
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
    lua_pushboolean(L, kinds[at].host(luaL_checknumber(L, 1)));
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
    double x = luaL_checknumber(L, 1);
    lua_pushnumber(L, sin(x));
    lua_pushnumber(L, cos(x));
    return 2;
  }
  front_at(L, f);
  CtVal x = as_float(L, f->ir, value_operand(L, 1, "sincos"), "sincos");
  value_push(L, ct_ir_unary(f->ir, CT_OP_SIN, x));
  value_push(L, ct_ir_unary(f->ir, CT_OP_COS, x));
  return 2;
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
}
