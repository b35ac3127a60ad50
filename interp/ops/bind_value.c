/* bind_value.c: the operators of run-time values, and ashr. */
#include <lauxlib.h>

#include "interp/algebra/bind.h"
#include "interp/trace/front_state.h"
#include "interp/openers.h"
#include "interp/front/front_parts.h"

/* --- operators -------------------------------------------------------------------------------------- */

/* An operator on run-time values, and what it accepts: numbers, integers or floats. */
typedef struct Operator {
  const char *event; /* its metamethod */
  const char *text;  /* as scripts write it */
  CtOp op;
  enum { NUMBERS, INTEGERS, FLOATS } takes;
  const char *instead; /* FLOATS: what to write for integers */
} Operator;

static const Operator binaries[] = {
    {"__add", "+", CT_OP_ADD, NUMBERS, NULL},
    {"__sub", "-", CT_OP_SUB, NUMBERS, NULL},
    {"__mul", "*", CT_OP_MUL, NUMBERS, NULL},
    {"__idiv", "//", CT_OP_FLOORDIV, NUMBERS, NULL},
    {"__mod", "%", CT_OP_FLOORMOD, NUMBERS, NULL},
    {"__div", "/", CT_OP_DIV, FLOATS, "'//' or cast(x, f32) / y"},
    {"__pow", "^", CT_OP_POW, FLOATS, "cast(x, f32) ^ y"},
    {"__band", "&", CT_OP_AND, INTEGERS, NULL},
    {"__bor", "|", CT_OP_OR, INTEGERS, NULL},
    {"__bxor", "~", CT_OP_XOR, INTEGERS, NULL},
    {"__shl", "<<", CT_OP_SHL, INTEGERS, NULL},
    {"__shr", ">>", CT_OP_SHR, INTEGERS, NULL},
};

/* If the divisor is zero whatever the other operand will be, raises with Lua's own words. */
static void check_divisor(lua_State *L, const char *text) {
  CtVal x;
  int64_t divisor = lua_isinteger(L, 2) ? lua_tointeger(L, 2) : 1;
  bool is_int = !value_test(L, 1, &x) ? lua_isinteger(L, 1) : value_is_int(front_ir(L), x);
  (void)value_known(L, 2, &divisor);
  if (is_int && divisor == 0) {
    luaL_error(L, "attempt to perform 'n%s0'", text);
  }
}

/* The operands have the type of x. '/' and '^' are float operations in Lua; for two integers that
   would mean double, which nobody wants in a kernel. */
static void check_type(lua_State *L, const CtIr *ir, const Operator *o, CtVal x) {
  CtDtype type = (CtDtype)ct_inst(ir, x)->type;
  if (o->takes == INTEGERS && !ct_is_int(type)) {
    diag_error(L, "%s: integers expected, got %s%s", o->text, ct_dtypes[type].name,
               type == CT_bool ? "; write 'and', 'or' or '~='" : "");
  }
  value_check_number(L, ir, x, o->text);
  if (o->takes == FLOATS && ct_is_int(type)) {
    diag_error(L, "'%s' of two integers makes a Lua float; use %s", o->text, o->instead);
  }
}

static bool is_shift(CtOp op) { return op == CT_OP_SHL || op == CT_OP_SHR || op == CT_OP_ASHR; }

/* x ^ 2 is a product; ashr without a sign to keep is >>. */
static CtVal combine(CtIr *ir, CtOp op, CtVal x, CtVal y) {
  ct_ir_wraps(ir, op, x, y);
  const CtInst *exponent = ct_inst(ir, y);
  if (op == CT_OP_POW && exponent->op == CT_OP_CONST && exponent->imm.f == 2.0) {
    return ct_ir_binary(ir, CT_OP_MUL, x, x);
  }
  bool is_plain = op == CT_OP_ASHR && ct_is_unsigned((CtDtype)ct_inst(ir, x)->type);
  return ct_ir_binary(ir, is_plain ? CT_OP_SHR : op, x, y);
}

static int operate(lua_State *L, const Operator *o) {
  Front *f = front_of(L);
  CtVal x, y;
  if (o->op == CT_OP_FLOORDIV || o->op == CT_OP_FLOORMOD) {
    check_divisor(L, o->text);
  }
  front_at(L, f);
  if (is_shift(o->op)) {
    value_shift(L, 1, 2, o->text, &x, &y);
  } else {
    value_pair(L, 1, 2, o->text, &x, &y);
  }
  check_type(L, f->ir, o, x);
  value_push(L, combine(f->ir, o->op, x, y));
  return 1;
}

static int op_binary(lua_State *L) { /* upvalue 1: the row */
  return operate(L, lua_touserdata(L, lua_upvalueindex(1)));
}

static int op_unm(lua_State *L) {
  Front *f = front_of(L);
  front_at(L, f);
  CtVal x = value_operand(L, 1, "-");
  value_check_number(L, f->ir, x, "-");
  ct_ir_wraps(f->ir, CT_OP_NEG, x, 0);
  value_push(L, ct_ir_unary(f->ir, CT_OP_NEG, x));
  return 1;
}

static int op_bnot(lua_State *L) {
  Front *f = front_of(L);
  front_at(L, f);
  CtVal x = value_operand(L, 1, "~");
  if (!value_is_int(f->ir, x)) {
    return diag_error(L, "~: an integer expected, got %s", ct_dtypes[ct_inst(f->ir, x)->type].name);
  }
  value_push(L, ct_ir_unary(f->ir, CT_OP_NOT, x));
  return 1;
}

static int op_concat(lua_State *L) {
  for (int i = 1; i <= 2; i++) {
    if (!value_settle(L, i) && value_test(L, i, NULL)) {
      return diag_error(L, "'..' on a run-time value; use printf");
    }
  }
  lua_concat(L, 2);
  return 1;
}

static int op_len(lua_State *L) {
  return diag_error(L, "'#' on a run-time value; size(t) is the number of elements of a tensor");
}

/* Reached only from a function that the front end has not rewritten; blames its caller in the
   kernel. */
static int op_compare(lua_State *L) {
  value_test(L, 1, NULL); /* raises for a value of another trace */
  value_test(L, 2, NULL);
  return front_fail_unconverted(
      L, "run-time values are compared in a function that was not converted (a metamethod, or a "
         "callback of C); compare them in the kernel or a helper");
}

static int value_tostring(lua_State *L) {
  if (value_settle(L, 1)) {
    luaL_tolstring(L, 1, NULL);
    return 1;
  }
  CtVal v;
  if (!value_test(L, 1, &v)) {
    return diag_type_error(L, 1, "tostring", "a run-time value");
  }
  const CtInst *inst = ct_inst(front_ir(L), v);
  lua_pushfstring(L, "run-time %s %s", ct_dtypes[inst->type].name,
                  inst->name == NULL ? "value" : inst->name);
  return 1;
}

static const luaL_Reg value_meta[] = {{"__unm", op_unm},
                                      {"__bnot", op_bnot},
                                      {"__concat", op_concat},
                                      {"__len", op_len},
                                      {"__lt", op_compare},
                                      {"__le", op_compare},
                                      {"__eq", op_compare},
                                      {"__tostring", value_tostring},
                                      {NULL, NULL}};

/* --- ashr ---------------------------------------------------------------------------------------------- */

static lua_Integer shift_host(lua_Integer x, lua_Integer n) {
  if (n < 0) {
    return n > -64 ? (lua_Integer)((lua_Unsigned)x << -n) : 0;
  }
  return n > 62 ? -(x < 0) : ct_floordiv(x, (int64_t)1 << n);
}

/* ashr(x, n): >> that keeps the sign; Lua integers have 64 bits. */
static int lang_ashr(lua_State *L) {
  lua_settop(L, 2);
  if (lua_type(L, 1) == LUA_TNUMBER && lua_type(L, 2) == LUA_TNUMBER) {
    int is_integer, is_count;
    lua_Integer x = lua_tointegerx(L, 1, &is_integer), n = lua_tointegerx(L, 2, &is_count);
    if (is_integer == 0 || is_count == 0) {
      return diag_error(L, "ashr: integers expected, got %s",
                        luaL_tolstring(L, is_integer == 0 ? 1 : 2, NULL));
    }
    lua_pushinteger(L, shift_host(x, n));
    return 1;
  }
  static const Operator ashr = {NULL, "ashr", CT_OP_ASHR, INTEGERS, NULL};
  front_here(L, "ashr");
  return operate(L, &ashr);
}

void bind_open_value(lua_State *L) { /* language table on top */
  luaL_newmetatable(L, VALUE_TYPE);
  luaL_setfuncs(L, value_meta, 0);
  for (size_t i = 0; i < CT_ARRAY_LEN(binaries); i++) {
    lua_pushlightuserdata(L, (void *)(uintptr_t)&binaries[i]); /* read only */
    lua_pushcclosure(L, op_binary, 1);
    lua_setfield(L, -2, binaries[i].event);
  }
  lua_pop(L, 1);
  lua_pushcfunction(L, lang_ashr);
  lua_setfield(L, -2, "ashr");
}
