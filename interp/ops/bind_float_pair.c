/* bind_float_pair.c: the table f32x2, whose functions compute with two floats of 32 bits in a u64 at once. */
#include <lauxlib.h>

#include "interp/algebra/bind.h"
#include "interp/openers.h"
#include "interp/trace/front.h"
#include "interp/trace/value.h"

enum { ARGUMENTS = 3, HALF_BITS = 32 };

typedef struct Function {
  const char *name;
  CtOp op; /* NONE: unpack */
  int n;
} Function;

static const Function functions[] = {{"add", CT_OP_ADD_F32X2, 2},
                                     {"sub", CT_OP_SUB_F32X2, 2},
                                     {"mul", CT_OP_MUL_F32X2, 2},
                                     {"fma", CT_OP_FMA_F32X2, 3},
                                     {"unpack", CT_OP_NONE, 1}};

static CtVal read_pair(lua_State *L, int idx, const char *name) {
  CtVal v;
  bool is_value = value_test(L, idx, &v);
  CtDtype type = is_value ? (CtDtype)ct_inst(front_ir(L), v)->type : CT_VOID;
  if (type != CT_u64) {
    diag_error(L, "%s: argument %d is %s; a pair was expected, a u64: write f32x2(lo, hi)", name,
               idx - 1, is_value ? ct_dtypes[type].name : diag_push_kind(L, idx));
  }
  return v;
}

static CtVal half_of(CtIr *ir, CtVal pair, int which) {
  CtVal by = ct_ir_const_int(ir, CT_u64, HALF_BITS);
  CtVal word = which == 0 ? pair : ct_ir_binary(ir, CT_OP_SHR, pair, by);
  return ct_ir_bitcast(ir, ct_ir_cast(ir, word, CT_u32), CT_f32);
}

static int call_function(lua_State *L) {
  const Function *f = &functions[lua_tointeger(L, lua_upvalueindex(1))];
  const char *name = lua_pushfstring(L, "f32x2.%s", f->name);
  CtIr *ir = front_here(L, name);
  CtVal w[ARGUMENTS] = {0};
  lua_insert(L, 1); /* keeps the text */
  if (lua_gettop(L) - 1 != f->n) {
    return diag_error(L, "%s: %d arguments; expected %d", name, lua_gettop(L) - 1, f->n);
  }
  for (int i = 0; i < f->n; i++) {
    w[i] = read_pair(L, i + 2, name);
  }
  if (f->op == CT_OP_NONE) {
    value_push(L, half_of(ir, w[0], 0));
    value_push(L, half_of(ir, w[0], 1));
    return 2;
  }
  value_push(L, ct_ir_word(ir, f->op, w));
  return 1;
}

static CtVal read_half(lua_State *L, int idx, CtIr *ir) {
  CtVal half = value_cast(L, idx, CT_f32, "f32x2");
  return ct_ir_cast(ir, ct_ir_bitcast(ir, half, CT_u32), CT_u64);
}

/* f32x2(lo, hi), f32x2(both). */
static int pack(lua_State *L) { /* the table, lo, hi */
  CtIr *ir = front_here(L, "f32x2");
  int n = lua_gettop(L) - 1;
  if (n < 1 || n > 2) {
    return diag_error(L, "f32x2: %d arguments; the two floats were expected, or one for both", n);
  }
  CtVal lo = read_half(L, 2, ir), hi = n == 2 ? read_half(L, 3, ir) : lo;
  CtVal by = ct_ir_const_int(ir, CT_u64, HALF_BITS);
  value_push(L, ct_ir_binary(ir, CT_OP_OR, lo, ct_ir_binary(ir, CT_OP_SHL, hi, by)));
  return 1;
}

void bind_open_float_pair(lua_State *L) { /* language table on top */
  lua_createtable(L, 0, CT_ARRAY_LEN(functions));
  for (size_t i = 0; i < CT_ARRAY_LEN(functions); i++) {
    lua_pushinteger(L, (lua_Integer)i);
    lua_pushcclosure(L, call_function, 1);
    lua_setfield(L, -2, functions[i].name);
  }
  lua_createtable(L, 0, 1);
  lua_pushcfunction(L, pack);
  lua_setfield(L, -2, "__call");
  lua_setmetatable(L, -2);
  lua_setfield(L, -2, "f32x2");
}
