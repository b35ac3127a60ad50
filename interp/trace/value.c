/* value.c: run-time values and what becomes of Lua values beside them. */
#include "value.h"

#include <lauxlib.h>

#include "interp/state/diag.h"
#include "front_state.h"
#include "interp/state/types.h"
#include "number.h"
#include "runtime/base/convert.h"

typedef struct Value {
  CtVal v;
  uint32_t serial; /* of the trace that it belongs to */
} Value;

void value_push(lua_State *L, CtVal v) {
  const Front *f = front_of(L);
  if (v == 0) {
    luaL_error(L, "not enough memory");
    return;
  }
  const CtInst *inst = ct_inst(f->ir, v);
  if (inst->op == CT_OP_CONST && inst->type == CT_bool) { /* static again: it decides an 'if' */
    lua_pushboolean(L, inst->imm.i != 0);
    return;
  }
  Value *value = lua_newuserdatauv(L, sizeof *value, 0);
  *value = (Value){v, f->serial};
  luaL_setmetatable(L, VALUE_TYPE);
}

bool value_test(lua_State *L, int idx, CtVal *out) {
  if (lua_type(L, idx) != LUA_TUSERDATA) {
    return false;
  }
  const Value *value = luaL_testudata(L, idx, VALUE_TYPE);
  if (value == NULL) {
    return false;
  }
  front_check_own(L, value->serial, "a run-time value");
  if (out != NULL) {
    *out = value->v;
  }
  return true;
}

bool value_known(lua_State *L, int idx, int64_t *out) {
  CtVal v;
  if (lua_type(L, idx) == LUA_TNUMBER || !value_test(L, idx, &v)) {
    return false;
  }
  const CtInst *inst = ct_inst(front_ir(L), v);
  bool is_known = inst->op == CT_OP_CONST && (inst->type == CT_i32 || inst->type == CT_i64);
  if (is_known) {
    *out = inst->imm.i;
  }
  return is_known;
}

bool value_settle(lua_State *L, int idx) {
  int64_t i;
  bool is_known = value_known(L, idx, &i);
  if (is_known) {
    idx = lua_absindex(L, idx);
    lua_pushinteger(L, i);
    lua_replace(L, idx);
  }
  return is_known;
}

const char *value_kind(CtDtype type) {
  return type == CT_bool ? "bool" : (ct_is_float(type) ? "float" : "int");
}

/* A Lua value that is no operand of type `want`. */
static int fail_operand(lua_State *L, int idx, CtDtype want, const char *what) {
  idx = lua_absindex(L, idx);
  const char *expected = want == CT_VOID ? "a number or boolean" : ct_dtypes[want].name;
  if (half_test(L, idx) != NULL) {
    return diag_error(L, "'c and x' needs an 'or' to be a value; write 'c and x or y'");
  }
  if (lua_type(L, idx) == LUA_TNUMBER) {
    return diag_error(L, "%s: %s expected, got %s", what, expected, luaL_tolstring(L, idx, NULL));
  }
  const char *instead = "";
  TypedNumber typed;
  if (luaL_testudata(L, idx, TENSOR_TYPE) != NULL) {
    luaL_callmeta(L, idx, "__check_own"); /* raises for one of another trace, which is worse */
    instead = "; write t[i] for an element of it";
  } else if (luaL_testudata(L, idx, INDEX_TYPE) != NULL) {
    instead = lua_pushfstring(L, "; write %s.x", luaL_tolstring(L, idx, NULL));
  } else if (number_test(L, idx, &typed) && typed.dtype != CT_VOID) {
    instead = lua_pushfstring(L, "; keep the plain number, and write %s(n) in the kernel",
                              ct_dtypes[typed.dtype].name);
  }
  return diag_error(L, "%s: %s expected, got %s%s", what, expected, diag_push_kind(L, idx),
                    instead);
}

/* An integer may be rounded to a float that computes. */
bool value_converts(CtDtype is, CtDtype want) {
  return want == CT_VOID || ct_dtype_holds(want, is) ||
         (ct_is_int(is) && ct_is_float(want) && !ct_is_narrow(want));
}

/* --- numbers without a type --------------------------------------------------------------------------- */

CtDtype value_float_type(lua_State *L) {
  const Front *f = front_of(L);
  return f->is_wide != NULL && f->is_wide(L, f) ? CT_f64 : CT_f32;
}

/* Of an integer of Lua as a constant of a float type: rounded once. */
static double number_of(lua_State *L, int idx, CtDtype type) {
  return lua_isinteger(L, idx) ? ct_round_int(type, CT_i64, lua_tointeger(L, idx))
                               : lua_tonumber(L, idx);
}

uint8_t value_untyped(lua_State *L, int idx) {
  CtVal v;
  if (value_test(L, idx, &v)) {
    return ct_inst(front_ir(L), v)->untyped;
  }
  return lua_type(L, idx) == LUA_TNUMBER ? ct_untyped_number(lua_tonumber(L, idx)) : CT_TYPED;
}

void value_meet(lua_State *L, CtVal v, CtDtype type) {
  Front *f = front_of(L);
  CtInst *inst = &f->ir->insts[v];
  bool is_finer = type == CT_f64 || (type != CT_f32 && inst->untyped == CT_UNTYPED_KEPT);
  if (inst->type == CT_f32 && is_finer && inst->untyped != CT_UNTYPED_EXACT) {
    inst->is_met = true;
    f->met_at = f->met == 0 ? f->ir->cur_loc : f->met_at;
    f->met = f->met == 0 ? v : f->met;
  }
}

CtVal value_take(lua_State *L, CtVal v, CtDtype type) {
  value_meet(L, v, type);
  return ct_ir_cast(front_ir(L), v, type);
}

CtVal value_constant(lua_State *L, int idx, CtDtype type) {
  CtIr *ir = front_ir(L);
  return lua_isinteger(L, idx) ? ct_ir_untyped_int(ir, type, CT_i64, lua_tointeger(L, idx))
                               : ct_ir_untyped_float(ir, type, lua_tonumber(L, idx));
}

CtVal value_as_float(lua_State *L, CtVal v) {
  CtIr *ir = front_ir(L);
  return value_is_int(ir, v) ? ct_ir_untyped_cast(ir, v, value_float_type(L)) : v;
}

CtVal value_shown(lua_State *L, CtVal v) {
  const CtInst *inst = ct_inst(front_ir(L), v);
  bool is_wide = inst->untyped != CT_TYPED && inst->type == CT_f64;
  return is_wide ? ct_ir_cast(front_ir(L), v, CT_f32) : v;
}

/* May a value without a type take this one unasked? A sum does not become narrower than it was computed. */
static bool takes(const CtInst *inst, CtDtype want) {
  return inst->untyped != CT_TYPED && ct_is_float(want) &&
         (!ct_is_narrow(want) || inst->untyped != CT_UNTYPED_COMPUTED);
}

static CtVal convert(lua_State *L, CtIr *ir, CtVal v, CtDtype want, const char *what) {
  CtDtype is = (CtDtype)ct_inst(ir, v)->type;
  if (want != is && takes(ct_inst(ir, v), want)) {
    return value_take(L, v, want);
  }
  if (!value_converts(is, want)) {
    const char *instead = want == CT_bool ? "write x ~= 0"
                          : is == CT_bool
                              ? "write where(c, 1, 0)"
                              : lua_pushfstring(L, "use cast(x, %s)", ct_dtypes[want].name);
    diag_error(L, "%s: %s expected, got %s; %s", what, ct_dtypes[want].name, ct_dtypes[is].name,
               instead);
  }
  return want == CT_VOID ? v : ct_ir_cast(ir, v, want);
}

static CtVal number(lua_State *L, CtIr *ir, int idx, CtDtype want, const char *what) {
  if (want == CT_VOID) {
    int64_t i = lua_tointeger(L, idx);
    if (!lua_isinteger(L, idx)) {
      return value_constant(L, idx, value_float_type(L));
    }
    want = i == (int32_t)i ? CT_i32 : CT_i64;
  }
  if (ct_is_float(want)) {
    return ct_ir_const_float(ir, want, number_of(L, idx, want));
  }
  int is_int;
  int64_t i = lua_tointegerx(L, idx, &is_int);
  if (want == CT_bool || !is_int) {
    fail_operand(L, idx, want, what);
  }
  if (!ct_dtype_fits(want, i)) {
    diag_error(L, "%s: %I does not fit %s; expected %I to %I", what, (LUAI_UACINT)i,
               ct_dtypes[want].name, (LUAI_UACINT)ct_dtype_min(want),
               (LUAI_UACINT)ct_dtype_max(want));
  }
  return ct_ir_const_int(ir, want, i);
}

CtVal value_to(lua_State *L, int idx, CtDtype want, const char *what) {
  CtIr *ir = front_ir(L);
  if (ir == NULL) {
    ir = front_here(L, what); /* raises */
  }
  CtVal v;
  if (value_test(L, idx, &v)) {
    return convert(L, ir, v, want, what);
  }
  if (lua_type(L, idx) == LUA_TNUMBER) {
    return number(L, ir, idx, want, what);
  }
  if (lua_isboolean(L, idx) && (want == CT_VOID || want == CT_bool)) {
    return ct_ir_const_int(ir, CT_bool, lua_toboolean(L, idx));
  }
  fail_operand(L, idx, want, what);
  return 0;
}

static CtVal widen(CtIr *ir, CtVal v) {
  return ct_ir_cast(ir, v, ct_dtype_compute((CtDtype)ct_inst(ir, v)->type));
}

CtVal value_operand(lua_State *L, int idx, const char *what) {
  return widen(front_ir(L), value_to(L, idx, CT_VOID, what));
}

bool value_is_int(const CtIr *ir, CtVal v) { return ct_is_int((CtDtype)ct_inst(ir, v)->type); }

void value_check_number(lua_State *L, const CtIr *ir, CtVal v, const char *what) {
  if (ct_inst(ir, v)->type == CT_bool) {
    diag_error(L, "%s: a number expected, got a run-time bool; write where(c, 1, 0)", what);
  }
}

CtVal value_cast(lua_State *L, int idx, CtDtype type, const char *what) {
  bool is_number = lua_type(L, idx) == LUA_TNUMBER; /* rounded once, from what Lua has */
  CtDtype given = !is_number ? CT_VOID : lua_isinteger(L, idx) ? CT_i64 : CT_f64;
  CtVal v = value_to(L, idx, given, what);
  bool has_type = ct_inst(front_ir(L), v)->untyped == CT_TYPED;
  return has_type ? ct_ir_cast(front_ir(L), v, type) : value_take(L, v, type);
}

/* The type of a Lua number beside a run-time value of type `other`: a constant adapts, but is no
   bool. */
static CtDtype constant_type(lua_State *L, int idx, CtDtype other) {
  if (!lua_isinteger(L, idx)) {
    return ct_is_float(other) ? other : value_float_type(L);
  }
  int64_t i = lua_tointeger(L, idx);
  if (other == CT_bool) {
    return CT_i32;
  }
  return ct_is_float(other) || ct_dtype_fits(other, i) ? other : CT_i64;
}

/* The type in which two types compute; see docs/kernels_values.md. */
static CtDtype common_type(lua_State *L, CtDtype a, CtDtype b, const char *op) {
  if (ct_is_float(a) != ct_is_float(b)) {
    return ct_is_float(a) ? a : b;
  }
  if (ct_is_int(a) && ct_is_unsigned(a) != ct_is_unsigned(b)) {
    if (a == CT_u64 || b == CT_u64) {
      diag_error(L, "%s: %s and %s; no integer type holds both, so cast one of them", op,
                 ct_dtypes[a].name, ct_dtypes[b].name);
    }
    return CT_i64;
  }
  return ct_dtypes[a].bits >= ct_dtypes[b].bits ? a : b;
}

CtDtype value_common(lua_State *L, CtDtype a, CtDtype b, const char *op) {
  return common_type(L, ct_dtype_compute(a), ct_dtype_compute(b), op);
}

static CtDtype runtime_type(lua_State *L, const CtIr *ir, int idx) {
  CtVal v;
  if (value_test(L, idx, &v)) {
    return (CtDtype)ct_inst(ir, v)->type;
  }
  return lua_isboolean(L, idx) ? CT_bool : CT_VOID;
}

static CtDtype computed_type(lua_State *L, const CtIr *ir, int idx) {
  return ct_dtype_compute(runtime_type(L, ir, idx));
}

/* The same beside `other`: u8 and u16 are widened to an unsigned type where one stands beside them. */
static CtDtype type_beside(lua_State *L, const CtIr *ir, int idx, int other) {
  CtDtype t = runtime_type(L, ir, idx), u = computed_type(L, ir, other);
  return ct_is_unsigned(t) && ct_is_narrow(t) && ct_is_unsigned(u) ? u : ct_dtype_compute(t);
}

static void check_operands(lua_State *L, int a, int b, const char *op) {
  const int idx[2] = {a, b};
  for (int i = 0; i < 2; i++) {
    if (lua_type(L, idx[i]) != LUA_TNUMBER && !lua_isboolean(L, idx[i]) &&
        !value_test(L, idx[i], NULL)) {
      fail_operand(L, idx[i], CT_VOID, op);
    }
  }
}

/* The operand as one of `type`; `is_open`: what it is beside has no type either, so a float has none. */
static CtVal operand_as(lua_State *L, int idx, CtDtype type, bool is_open, const char *op) {
  bool is_constant = is_open && ct_is_float(type) && lua_type(L, idx) == LUA_TNUMBER;
  return is_constant ? value_constant(L, idx, type) : value_to(L, idx, type, op);
}

/* Is it a float that decides the type of what has none? */
static bool decides(lua_State *L, int idx, CtDtype type) {
  return ct_is_float(type) && value_untyped(L, idx) == CT_TYPED;
}

void value_pair(lua_State *L, int a, int b, const char *op, CtVal *x, CtVal *y) {
  CtIr *ir = front_ir(L);
  CtDtype s = type_beside(L, ir, a, b);
  CtDtype t = type_beside(L, ir, b, a);
  check_operands(L, a, b, op);
  bool first = decides(L, a, s), second = decides(L, b, t);
  s = s == CT_VOID ? constant_type(L, a, t) : s;
  t = t == CT_VOID ? constant_type(L, b, s) : t;
  if ((s == CT_bool) != (t == CT_bool)) {
    diag_error(L, "%s: a bool and a number; write where(c, 1, 0) for the bool", op);
  }
  CtDtype type = first == second ? common_type(L, s, t, op) : first ? s : t;
  *x = operand_as(L, a, type, !first && !second, op);
  *y = operand_as(L, b, type, !first && !second, op);
}

/* Is the Lua value a number that a value of the narrow type may be, a float rounded? */
static bool adapts(lua_State *L, int idx, CtDtype type) {
  if (lua_type(L, idx) != LUA_TNUMBER) {
    return false;
  }
  return ct_is_float(type) || (lua_isinteger(L, idx) && ct_dtype_fits(type, lua_tointeger(L, idx)));
}

static bool fits_i32(lua_State *L, int idx) {
  return lua_tointeger(L, idx) == (int32_t)lua_tointeger(L, idx);
}

/* The same of two Lua numbers. */
static void choice_of_numbers(lua_State *L, int a, int b, const char *op, CtVal *x, CtVal *y) {
  bool are_ints = lua_isinteger(L, a) && lua_isinteger(L, b);
  CtDtype type = !are_ints                          ? value_float_type(L)
                 : fits_i32(L, a) && fits_i32(L, b) ? CT_i32
                                                    : CT_i64;
  *x = operand_as(L, a, type, true, op);
  *y = operand_as(L, b, type, true, op);
}

void value_choice(lua_State *L, int a, int b, const char *op, CtVal *x, CtVal *y) {
  const CtIr *ir = front_ir(L);
  if (lua_type(L, a) == LUA_TNUMBER && lua_type(L, b) == LUA_TNUMBER) {
    choice_of_numbers(L, a, b, op, x, y);
    return;
  }
  CtDtype s = runtime_type(L, ir, a);
  CtDtype t = runtime_type(L, ir, b);
  CtDtype narrow = s == t || adapts(L, b, s) ? s : (adapts(L, a, t) ? t : CT_VOID);
  if (!ct_is_narrow(narrow)) {
    value_pair(L, a, b, op, x, y);
    return;
  }
  *x = value_to(L, a, narrow, op);
  *y = value_to(L, b, narrow, op);
}

/* An unsigned count as a value of the type that it shifts. If that is narrower, a count of its width stands for all
   that are larger. */
static CtVal count_as(CtIr *ir, CtVal count, CtDtype type) {
  if (ct_dtypes[ct_inst(ir, count)->type].bits > ct_dtypes[type].bits) {
    CtVal width = ct_ir_const_int(ir, CT_u64, ct_dtypes[type].bits);
    count = ct_ir_binary(ir, CT_OP_MIN, ct_ir_cast(ir, count, CT_u64), width);
  }
  return ct_ir_cast(ir, count, type);
}

void value_shift(lua_State *L, int a, int b, const char *op, CtVal *x, CtVal *y) {
  CtIr *ir = front_ir(L);
  CtDtype s = computed_type(L, ir, a);
  CtVal count;
  if (!ct_is_unsigned(s) || !value_test(L, b, &count) ||
      !ct_is_int((CtDtype)ct_inst(ir, count)->type)) {
    value_pair(L, a, b, op, x, y);
    return;
  }
  *x = value_to(L, a, s, op);
  *y = count_as(ir, count, s);
}
