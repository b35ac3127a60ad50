/* bind_math.c: the functions of one or two numbers that ops.def names, mathematics of two results, and the tests of a
   float's kind. All take run-time values and Lua numbers. */
#include <lauxlib.h>
#include <math.h>

#include "interp/algebra/bind.h"
#include "interp/front/front_parts.h"
#include "interp/openers.h"
#include "interp/trace/front_state.h"
#include "runtime/math/math.h"
#include "access.h"

/* What the rows of ops.def say of functions by their texts: for Lua numbers, and of f64 the exact one (NONE: 1/x). */
static const struct {
  double (*one)(double);
  double (*two)(double, double);
  CtOp exact;
  bool is_fast, is_of_bits;
} functions[CT_OP_COUNT] = {
#define MATH2(host) .two = (host)
#define FAST(EXACT, host) .one = (host), .exact = CT_OP_##EXACT, .is_fast = true
#define FAST2(EXACT, host) .two = (host), .exact = CT_OP_##EXACT, .is_fast = true
#define MATH(host) .one = (host)
#define BITS .is_of_bits = true
#define NONE .one = NULL
#define PURE(NAME, text, n, result, types, traits, lang, ...) [CT_OP_##NAME] = {lang},
#define OP(...)
#include "runtime/ir/ops.def"
};

/* The float that v is taken as. */
static CtVal as_float(lua_State *L, const CtIr *ir, CtVal v, const char *name) {
  value_check_number(L, ir, v, name);
  return value_as_float(L, v);
}

static CtVal make_one(CtIr *ir, CtOp op, CtVal x) {
  CtDtype type = (CtDtype)ct_inst(ir, x)->type;
  if (!functions[op].is_fast || type != CT_f64) {
    return ct_ir_unary(ir, op, x);
  }
  return functions[op].exact == CT_OP_NONE
             ? ct_ir_binary(ir, CT_OP_DIV, ct_ir_const_float(ir, type, 1), x)
             : ct_ir_unary(ir, functions[op].exact, x);
}

/* Lua's functions of these names take a second number. Three arguments are a value and its place, as acc:map gives
   them. */
static void check_no_second(lua_State *L, CtOp op) {
  if (lua_gettop(L) == 2 && (op == CT_OP_LOG || op == CT_OP_ATAN)) {
    diag_error(L, "%s: 2 arguments; 1 was expected; write %s", ct_ops[op].text,
               op == CT_OP_LOG ? "log2(x), log10(x), or log(x) / log(base)" : "atan2(y, x)");
  }
}

/* A float function of one number. Upvalue 1: the CtOp. */
static int call_one(lua_State *L) {
  CtOp op = (CtOp)lua_tointeger(L, lua_upvalueindex(1));
  const char *name = ct_ops[op].text;
  check_no_second(L, op);
  if (lua_type(L, 1) == LUA_TNUMBER) {
    lua_pushnumber(L, functions[op].one(lua_tonumber(L, 1)));
    return 1;
  }
  Front *f = front_of(L);
  if (f->ir == NULL) {
    (void)diag_to_number(L, 1, name);
  }
  front_at(L, f);
  CtVal x = as_float(L, f->ir, value_operand(L, 1, name), name);
  value_push(L, make_one(f->ir, op, x));
  return 1;
}

/* For a Lua integer: of its 64 bits. Upvalue 1: the CtOp. */
static int call_bits(lua_State *L) {
  CtOp op = (CtOp)lua_tointeger(L, lua_upvalueindex(1));
  const char *name = ct_ops[op].text;
  if (lua_isinteger(L, 1)) {
    lua_pushinteger(L, ct_bits_op(op, 64, (uint64_t)lua_tointeger(L, 1)));
    return 1;
  }
  if (lua_type(L, 1) == LUA_TNUMBER) {
    return diag_error(L, "%s: an integer expected, got %s", name, luaL_tolstring(L, 1, NULL));
  }
  CtIr *ir = front_here(L, name);
  CtVal x = value_operand(L, 1, name);
  if (!value_is_int(ir, x)) {
    CtDtype type = (CtDtype)ct_inst(ir, x)->type;
    return diag_error(L, "%s: an integer expected, got %s%s", name, ct_dtypes[type].name,
                      ct_is_float(type) ? "; bitcast(x, u32) gives a float's bits" : "");
  }
  value_push(L, ct_ir_unary(ir, op, x));
  return 1;
}

/* A float function of two numbers. Upvalue 1: the CtOp. */
static int call_two(lua_State *L) {
  CtOp op = (CtOp)lua_tointeger(L, lua_upvalueindex(1));
  const char *name = ct_ops[op].text;
  Front *f = front_of(L);
  diag_take_args(L, name, 2);
  bool has_value = value_test(L, 1, NULL) || value_test(L, 2, NULL);
  if (f->ir == NULL || !has_value) {
    lua_pushnumber(L, functions[op].two(diag_to_number(L, 1, name), diag_to_number(L, 2, name)));
    return 1;
  }
  CtVal x, y;
  front_at(L, f);
  value_pair(L, 1, 2, name, &x, &y);
  x = as_float(L, f->ir, x, name);
  y = as_float(L, f->ir, y, name);
  bool is_exact = functions[op].is_fast && ct_inst(f->ir, x)->type != CT_f32;
  value_push(L, ct_ir_binary(f->ir, is_exact ? functions[op].exact : op, x, y));
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

/* Stack: language table, that of fast functions. */
static void add_functions(lua_State *L) {
  static const char fast[] = "fast.";
  for (int op = 0; op < CT_OP_COUNT; op++) {
    lua_CFunction call = functions[op].two != NULL   ? call_two
                         : functions[op].one != NULL ? call_one
                         : functions[op].is_of_bits  ? call_bits
                                                     : NULL;
    if (call != NULL) {
      const char *text = ct_ops[op].text;
      lua_pushinteger(L, op);
      lua_pushcclosure(L, call, 1);
      lua_setfield(L, functions[op].is_fast ? -2 : -3,
                   functions[op].is_fast ? text + sizeof fast - 1 : text);
    }
  }
}

void bind_open_math(lua_State *L) { /* language table on top */
  for (size_t i = 0; i < CT_ARRAY_LEN(kinds); i++) {
    lua_pushinteger(L, (lua_Integer)i);
    lua_pushcclosure(L, call_kind, 1);
    lua_setfield(L, -2, kinds[i].name);
  }
  lua_pushcfunction(L, lang_sincos);
  lua_setfield(L, -2, "sincos");
  lua_pushcfunction(L, lang_mulhi);
  lua_setfield(L, -2, "mulhi");
  lua_newtable(L);
  add_functions(L);
  lua_setfield(L, -2, "fast");
}
