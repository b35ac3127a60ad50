/* bind_number.c: abs, min, max and fma of numbers, casts, choices and cdiv. They take run-time values and Lua numbers.
   In a kernel Lua's own math library calls these, and those of bind_math.c. */
#include <lauxlib.h>
#include <math.h>
#include <string.h>

#include "access.h"
#include "interp/algebra/bind.h"
#include "interp/trace/front_state.h"
#include "interp/tensor/tensor.h"
#include "interp/openers.h"
#include "interp/front/front_parts.h"
#include "runtime/math/math.h"

/* --- functions of numbers ----------------------------------------------------------------------------- */

static int lang_abs(lua_State *L) {
  Front *f = front_of(L);
  if (lua_isinteger(L, 1)) {
    lua_Integer i = lua_tointeger(L, 1);
    lua_pushinteger(L, i < 0 ? (lua_Integer)(0u - (lua_Unsigned)i) : i);
  } else if (lua_type(L, 1) == LUA_TNUMBER || f->ir == NULL) {
    lua_pushnumber(L, fabs(diag_to_number(L, 1, "abs")));
  } else {
    front_at(L, f);
    CtVal x = value_operand(L, 1, "abs");
    value_check_number(L, f->ir, x, "abs");
    ct_ir_wraps(f->ir, CT_OP_ABS, x, 0);
    value_push(L, ct_ir_unary(f->ir, CT_OP_ABS, x));
  }
  return 1;
}

/* A single argument of min and max is not compared with anything, so we check it here. */
static void check_alone(lua_State *L, const char *name) {
  if (lua_isnone(L, 1)) {
    (void)diag_to_number(L, 1, name);
  }
  if (lua_gettop(L) > 1) {
    return;
  }
  if (tensor_test(L, 1) != NULL) {
    diag_error(L, "%s: numbers expected, got a tensor; write reduce(t, \"%s\")", name, name);
  }
  if (!value_test(L, 1, NULL)) {
    (void)diag_to_number(L, 1, name);
  }
}

static bool is_nan(lua_State *L, int idx) { return !lua_compare(L, idx, idx, LUA_OPEQ); }

/* Does the number at i replace the one at so_far? As in kernels, -0 is below 0, and any number replaces NaN. */
static bool is_beyond(lua_State *L, CtOp op, int i, int so_far) {
  if (is_nan(L, so_far)) {
    return !is_nan(L, i);
  }
  int low = op == CT_OP_MIN ? i : so_far, high = op == CT_OP_MIN ? so_far : i;
  if (lua_compare(L, i, so_far, LUA_OPEQ) && !lua_isinteger(L, i) && !lua_isinteger(L, so_far)) {
    return signbit(lua_tonumber(L, low)) && !signbit(lua_tonumber(L, high));
  }
  return lua_compare(L, low, high, LUA_OPLT);
}

/* min and max of one or more numbers. */
static int fold_numbers(lua_State *L, CtOp op, const char *name) {
  int n = lua_gettop(L);
  check_alone(L, name);
  lua_pushvalue(L, 1); /* the result so far */
  for (int i = 2; i <= n; i++) {
    int so_far = lua_gettop(L);
    if (lua_type(L, i) == LUA_TNUMBER && lua_type(L, so_far) == LUA_TNUMBER) {
      lua_pushvalue(L, is_beyond(L, op, i, so_far) ? i : so_far);
    } else {
      Front *f = front_of(L);
      CtVal x, y;
      if (f->ir == NULL) {
        (void)diag_to_number(L, i == 2 ? 1 : so_far, name);
        (void)diag_to_number(L, i, name);
      }
      front_at(L, f);
      value_pair(L, so_far, i, name, &x, &y);
      value_check_number(L, f->ir, x, name);
      value_push(L, ct_ir_binary(f->ir, op, x, y));
    }
    lua_remove(L, so_far);
  }
  return 1;
}

static int lang_min(lua_State *L) { return fold_numbers(L, CT_OP_MIN, "min"); }
static int lang_max(lua_State *L) { return fold_numbers(L, CT_OP_MAX, "max"); }

/* What decides the type of fma(a, b, c). */
typedef struct Three {
  CtDtype typed,
      open; /* of floats that have a type, and of those that have none; CT_VOID: there are none */
  bool has_number; /* one is a float of Lua */
} Three;

static void note_operand(lua_State *L, const CtIr *ir, int idx, Three *t) {
  CtVal v;
  if (!value_test(L, idx, &v)) {
    t->has_number = t->has_number || (lua_type(L, idx) == LUA_TNUMBER && !lua_isinteger(L, idx));
    return;
  }
  CtDtype type = ct_dtype_compute((CtDtype)ct_inst(ir, v)->type);
  CtDtype *of = value_is_untyped(ir, v) ? &t->open : &t->typed;
  if (ct_is_float(type) && (*of == CT_VOID || type == CT_f64)) {
    *of = type;
  }
}

/* The operands in their one type: the widest that one has, else that of numbers without a type. */
static void read_three(lua_State *L, const CtIr *ir, CtVal v[3]) {
  Three t = {CT_VOID, CT_VOID, false};
  for (int i = 1; i <= 3; i++) {
    note_operand(L, ir, i, &t);
  }
  if (t.typed == CT_VOID && t.open == CT_VOID && !t.has_number) {
    diag_error(L, "fma: floats expected, got integers; write a * b + c");
  }
  CtDtype open = t.open != CT_VOID ? t.open : value_float_type(L);
  for (int i = 1; i <= 3; i++) {
    bool is_constant = t.typed == CT_VOID && lua_type(L, i) == LUA_TNUMBER;
    v[i - 1] = is_constant ? value_constant(L, i, open)
                           : value_to(L, i, t.typed != CT_VOID ? t.typed : open, "fma");
  }
}

static int lang_fma(lua_State *L) {
  Front *f = front_of(L);
  lua_settop(L, 3);
  bool has_value = value_test(L, 1, NULL) || value_test(L, 2, NULL) || value_test(L, 3, NULL);
  if (f->ir == NULL || !has_value) {
    lua_pushnumber(L, ct_fma(diag_to_number(L, 1, "fma"), diag_to_number(L, 2, "fma"),
                             diag_to_number(L, 3, "fma")));
    return 1;
  }
  front_at(L, f);
  CtVal v[3];
  read_three(L, f->ir, v);
  value_push(L, ct_ir_fma(f->ir, v[0], v[1], v[2]));
  return 1;
}

/* cast(v, dtype): to an integer truncates and saturates; a bool becomes 0 or 1. Of a tensor a fragment. */
static int lang_cast(lua_State *L) {
  CtDtype type = bind_to_dtype(L, 2, "cast");
  if (tensor_test(L, 1) != NULL) {
    return traced_cast(L, type);
  }
  front_here(L, "cast");
  value_push(L, value_cast(L, 1, type, "cast"));
  return 1;
}

/* bitcast(v, dtype): the same bits as a value of another type of that width. */
static int lang_bitcast(lua_State *L) {
  CtVal v;
  CtDtype type = bind_to_dtype(L, 2, "bitcast");
  CtIr *ir = front_here(L, "bitcast");
  if (!value_test(L, 1, &v)) {
    return diag_error(L,
                      "bitcast: %s has no type, so its width is not known; expected a run-time "
                      "value, like f32(x)",
                      diag_push_kind(L, 1));
  }
  v = value_shown(L, v);
  CtDtype is = (CtDtype)ct_inst(ir, v)->type;
  if (is == CT_bool || type == CT_bool) {
    return diag_error(L, "bitcast: a bool is true or false, not bits; write %s",
                      is == CT_bool ? "where(c, 1, 0)" : "x ~= 0");
  }
  if (ct_dtypes[is].bits != ct_dtypes[type].bits) {
    const CtDtypeInfo *from = &ct_dtypes[is], *to = &ct_dtypes[type];
    bool was_narrow = is == CT_i32 && (to->bits == 8 || to->bits == 16);
    const char *hint =
        was_narrow ? lua_pushfstring(L, "; arithmetic widens narrow integers: bitcast(u%d(x), %s)",
                                     to->bits, to->name)
                   : "";
    return diag_error(L, "bitcast: %s has %d bits but %s has %d; expected types of equal width%s",
                      from->name, from->bits, to->name, to->bits, hint);
  }
  value_push(L, ct_ir_bitcast(ir, v, type));
  return 1;
}

/* Can a choice be made from the argument: a value, a number or a boolean? */
static bool is_scalar(lua_State *L, int idx) {
  return value_test(L, idx, NULL) || lua_type(L, idx) == LUA_TNUMBER || lua_isboolean(L, idx);
}

/* where(c, a, b) with a known condition: one of them unchanged, but next to a value it gets the
   type that both would have. */
static int choose_static(lua_State *L) {
  int chosen = lua_toboolean(L, 1) ? 2 : 3;
  bool has_value = value_test(L, 2, NULL) || value_test(L, 3, NULL);
  if (!has_value || !is_scalar(L, 2) || !is_scalar(L, 3)) {
    lua_pushvalue(L, chosen);
    return 1;
  }
  CtVal v[2];
  (void)front_here(L, "where");
  value_choice(L, 2, 3, "where", &v[0], &v[1]);
  value_push(L, v[chosen - 2]);
  return 1;
}

/* where(c, a, b): both are evaluated. */
static int lang_where(lua_State *L) {
  CtVal c, a, b;
  if (lua_isnone(L, 3)) {
    return diag_error(L, "where: %d arguments; where(condition, a, b) was expected", lua_gettop(L));
  }
  if (tensor_test(L, 1) != NULL) { /* as a condition of Lua's it would be true */
    return diag_error(L, "where: argument 1 is a tensor; write t[i] for an element of it");
  }
  if (!value_test(L, 1, &c)) {
    return choose_static(L);
  }
  CtIr *ir = front_here(L, "where");
  c = value_to(L, 1, CT_bool, "where");
  bool are_numbers = lua_type(L, 2) == LUA_TNUMBER && lua_type(L, 3) == LUA_TNUMBER;
  if (are_numbers || value_test(L, 2, NULL) || value_test(L, 3, NULL)) {
    value_choice(L, 2, 3, "where", &a, &b);
  } else {
    a = value_to(L, 2, CT_VOID, "where");
    b = value_to(L, 3, (CtDtype)ct_inst(ir, a)->type, "where");
  }
  value_push(L, ct_ir_select(ir, c, a, b));
  return 1;
}

/* cdiv(a, b): the quotient rounded up; for tables element by element. */
static void push_cdiv(lua_State *L, int a, int b, int depth);

static void push_cdiv_tables(lua_State *L, int a, int b, int depth) {
  lua_Integer n = luaL_len(L, a);
  if (n > CT_MAX_NODES || depth >= CT_MAX_DEPTH) {
    diag_error(L, "cdiv: a tuple of more than %d elements or %d levels", CT_MAX_NODES,
               CT_MAX_DEPTH);
  }
  if (luaL_len(L, b) > n) {
    diag_error(L, "cdiv: tuples of %I and %I elements; give at most one divisor per element",
               (LUAI_UACINT)n, (LUAI_UACINT)luaL_len(L, b));
  }
  lua_createtable(L, (int)n, 0);
  int result = lua_gettop(L);
  for (lua_Integer i = 1; i <= n; i++) {
    lua_geti(L, a, i);
    if (lua_geti(L, b, i) == LUA_TNIL) {
      lua_pop(L, 1); /* not divided, as in CuTe */
    } else {
      push_cdiv(L, result + 1, result + 2, depth + 1);
    }
    lua_seti(L, result, i);
    lua_settop(L, result);
  }
}

static lua_Integer cdiv_operand(lua_State *L, int idx) {
  int is_integer;
  lua_Integer v = lua_tointegerx(L, idx, &is_integer);
  if (!is_integer) {
    diag_error(L, "cdiv: %s is not an integer; integers, or two tables nested alike, were expected",
               lua_istable(L, idx) ? "a table" : luaL_tolstring(L, idx, NULL));
  }
  return v;
}

static void push_cdiv(lua_State *L, int a, int b, int depth) {
  luaL_checkstack(L, 8, "cdiv: tuples nest too deep");
  if (lua_istable(L, a) && lua_istable(L, b)) {
    push_cdiv_tables(L, a, b, depth);
    return;
  }
  if (!value_test(L, a, NULL) && !value_test(L, b, NULL)) {
    lua_Integer x = cdiv_operand(L, a);
    lua_Integer y = cdiv_operand(L, b);
    if (y == 0) {
      diag_error(L, "cdiv: division by zero");
    }
    if (x == LUA_MININTEGER && y == -1) {
      diag_error(L, "cdiv: %I divided by -1 does not fit in 64 bits", (LUAI_UACINT)x);
    }
    lua_pushinteger(L, ct_ceildiv(x, y));
    return;
  }
  CtIr *ir = front_here(L, "cdiv");
  CtVal x, y;
  value_pair(L, a, b, "cdiv", &x, &y);
  if (!value_is_int(ir, x)) {
    diag_error(L, "cdiv: integers expected");
  }
  if (ct_inst(ir, y)->op == CT_OP_CONST && ct_inst(ir, y)->imm.i == 0) {
    diag_error(L, "cdiv: division by zero");
  }
  ct_ir_wraps(ir, CT_OP_FLOORDIV, x, y); /* rounded up, it wraps for the same operands */
  value_push(L, ct_ir_ceildiv(ir, x, y));
}

/* Replaces a text at idx by the tuple that it describes. */
static void read_tuple(lua_State *L, int idx) {
  if (lua_type(L, idx) == LUA_TSTRING) {
    CtCx cx = bind_cx(L);
    bind_push_tuple(L, bind_to_tuple(L, idx, &cx, "cdiv"));
    lua_replace(L, idx);
  }
}

static int lang_cdiv(lua_State *L) {
  lua_settop(L, 2);
  read_tuple(L, 1);
  read_tuple(L, 2);
  push_cdiv(L, 1, 2, 0);
  return 1;
}

/* --- Lua's math library in a kernel -------------------------------------------------------------------- */

/* math.floor and math.ceil give integers. */
static int math_round(lua_State *L) {
  CtOp op = (CtOp)lua_tointeger(L, lua_upvalueindex(2));
  CtVal x;
  if (!value_test(L, 1, &x)) {
    return standard_call_original(L);
  }
  const char *name = op == CT_OP_FLOOR ? "math.floor" : "math.ceil";
  CtIr *ir = front_here(L, name);
  x = value_operand(L, 1, name);
  value_check_number(L, ir, x, name);
  if (!value_is_int(ir, x)) {
    x = ct_ir_cast(ir, ct_ir_unary(ir, op, x), CT_i32);
  }
  value_push(L, x);
  return 1;
}

/* Upvalues: Lua's function, ours. Calls ours if an argument is a run-time value, or a tensor; for a
   tensor ours says what to write instead. */
static int math_either(lua_State *L) {
  bool is_ours = false;
  int n = lua_gettop(L);
  for (int i = 1; i <= n; i++) {
    is_ours = is_ours || value_test(L, i, NULL) || tensor_test(L, i) != NULL;
  }
  lua_pushvalue(L, lua_upvalueindex(is_ours ? 2 : 1));
  lua_insert(L, 1);
  lua_call(L, n, LUA_MULTRET);
  return lua_gettop(L);
}

/* math.log(x, base). Upvalues as for math_either. */
static int math_log(lua_State *L) {
  if (lua_gettop(L) < 2 || (!value_test(L, 1, NULL) && !value_test(L, 2, NULL))) {
    return math_either(L);
  }
  for (int i = 1; i <= 2; i++) {
    lua_pushvalue(L, lua_upvalueindex(2));
    lua_pushvalue(L, i);
    lua_call(L, 1, 1);
  }
  lua_arith(L, LUA_OPDIV);
  return 1;
}

static const luaL_Reg plain_functions[] = {
    {"abs", lang_abs},     {"min", lang_min},   {"max", lang_max},
    {"fma", lang_fma},     {"cast", lang_cast}, {"bitcast", lang_bitcast},
    {"where", lang_where}, {"cdiv", lang_cdiv}, {NULL, NULL}};

/* stack: ..., language table, math. Replaces math[name] by a closure over it and language[name]. */
static void replace_math(lua_State *L, const char *name) {
  if (lua_getfield(L, -1, name) != LUA_TFUNCTION) {
    lua_pop(L, 1);
    return;
  }
  bool rounds = strcmp(name, "floor") == 0 || strcmp(name, "ceil") == 0;
  lua_CFunction either = strcmp(name, "log") == 0 ? math_log : math_either;
  lua_pushvalue(L, -1);
  if (rounds) {
    lua_pushinteger(L, strcmp(name, "floor") == 0 ? CT_OP_FLOOR : CT_OP_CEIL);
  } else {
    lua_getfield(L, -4, name);
  }
  lua_pushcclosure(L, rounds ? math_round : either, 2);
  front_replace(L);
  lua_pop(L, 1);
}

void bind_open_number(lua_State *L) { /* language table on top */
  luaL_setfuncs(L, plain_functions, 0);
  static const char *const names[] = {"abs",  "min",  "max",  "floor", "ceil", "exp",
                                      "sin",  "cos",  "sqrt", "log",   "sinh", "cosh",
                                      "tanh", "asin", "acos", "log10"};
  if (lua_getglobal(L, "math") == LUA_TTABLE) {
    for (size_t i = 0; i < CT_ARRAY_LEN(names); i++) {
      replace_math(L, names[i]);
    }
  }
  lua_pop(L, 1);
}
