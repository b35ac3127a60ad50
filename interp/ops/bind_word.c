/* bind_word.c: operations on words of 32 bits: bytes, and shifts of two words. */
#include <lauxlib.h>

#include "interp/algebra/bind.h"
#include "interp/openers.h"
#include "interp/trace/front_state.h"
#include "interp/front/front_parts.h"
#include "runtime/base/convert.h"
#include "access.h"

enum { MAX_WORDS = 3 };

static int fail_word(lua_State *L, const char *name, CtDtype type) {
  const char *instead = ct_is_float(type) ? "bitcast(x, u32) gives the bits of an f32"
                        : type == CT_bool ? "write where(c, 1, 0)"
                                          : "cast(x, u32) gives the low bits";
  return diag_error(L, "%s: words of 32 bits expected, got %s; %s", name, ct_dtypes[type].name,
                    instead);
}

/* The type of the word at idx; CT_VOID of a Lua integer. */
static CtDtype word_type(lua_State *L, int idx, const char *name, bool takes_wide) {
  CtVal v;
  int is_integer;
  if (lua_type(L, idx) == LUA_TNUMBER) {
    (void)lua_tointegerx(L, idx, &is_integer);
    if (!is_integer) {
      diag_error(L, "%s: integers expected, got %s", name, luaL_tolstring(L, idx, NULL));
    }
    return CT_VOID;
  }
  const CtIr *ir = front_here(L, name);
  v = value_operand(L, idx, name);
  CtDtype type = (CtDtype)ct_inst(ir, v)->type;
  if (!ct_is_int(type) || (ct_dtypes[type].bits > 32 && !takes_wide)) {
    fail_word(L, name, type);
  }
  return type;
}

/* The low 32 bits of the integer at idx. */
static CtVal read_word(lua_State *L, int idx, CtDtype type, const char *name) {
  CtIr *ir = front_here(L, name);
  if (lua_type(L, idx) == LUA_TNUMBER) {
    return ct_ir_const_int(ir, type, ct_int_of_bits(type, (uint32_t)lua_tointeger(L, idx)));
  }
  return ct_ir_cast(ir, value_operand(L, idx, name), type);
}

static bool has_value(lua_State *L) {
  return value_test(L, 1, NULL) || value_test(L, 2, NULL) || value_test(L, 3, NULL);
}

static void read_words(lua_State *L, CtDtype type, const char *name, CtVal words[MAX_WORDS]) {
  for (int i = 0; i < MAX_WORDS; i++) {
    words[i] = read_word(L, i + 1, type, name);
  }
}

static void push_word(lua_State *L, CtOp op, CtDtype type, const char *name) {
  CtVal words[MAX_WORDS];
  read_words(L, type, name, words);
  value_push(L, ct_ir_word(front_ir(L), op, words));
}

/* Of two words and a count or a selector, of which the low bits matter. Upvalue 1: the CtOp. */
static int call_word(lua_State *L) {
  CtOp op = (CtOp)lua_tointeger(L, lua_upvalueindex(1));
  const char *name = ct_ops[op].text;
  diag_take_args(L, name, MAX_WORDS);
  for (int i = 1; i <= MAX_WORDS; i++) {
    word_type(L, i, name, i == MAX_WORDS);
  }
  if (has_value(L)) {
    push_word(L, op, CT_u32, name);
  } else {
    lua_pushinteger(L, ct_word_op(op, (uint32_t)lua_tointeger(L, 1), (uint32_t)lua_tointeger(L, 2),
                                  (uint32_t)lua_tointeger(L, 3)));
  }
  return 1;
}

static void swap_factors(lua_State *L) {
  lua_pushvalue(L, 1);
  lua_copy(L, 2, 1);
  lua_replace(L, 2);
}

/* The products of four bytes fit; added to operand 2 they may wrap around. */
static void note_dp4a(CtIr *ir, CtOp op, const CtVal words[MAX_WORDS]) {
  if (ir->finds_overflow && op != CT_OP_DP4A_U) {
    const CtVal products[MAX_WORDS] = {words[0], words[1], ct_ir_const_int(ir, CT_i32, 0)};
    ct_ir_wraps(ir, CT_OP_ADD, words[2], ct_ir_word(ir, op, products));
  }
}

/* dp4a(a, b, c): the bytes of a u32 are unsigned, others signed. */
static int lang_dp4a(lua_State *L) {
  lua_settop(L, MAX_WORDS);
  bool is_signed[] = {word_type(L, 1, "dp4a", false) != CT_u32,
                      word_type(L, 2, "dp4a", false) != CT_u32};
  word_type(L, 3, "dp4a", true);
  if (!has_value(L)) {
    uint32_t a = (uint32_t)lua_tointeger(L, 1), b = (uint32_t)lua_tointeger(L, 2);
    lua_Unsigned c = (lua_Unsigned)lua_tointeger(L, 3);
    lua_pushinteger(L, (lua_Integer)(c + (lua_Unsigned)(int32_t)ct_word_op(CT_OP_DP4A, a, b, 0)));
    return 1;
  }
  if (!is_signed[0] && is_signed[1]) {
    swap_factors(L);
  }
  bool is_any_signed = is_signed[0] || is_signed[1];
  CtOp op = is_signed[0] && is_signed[1] ? CT_OP_DP4A
            : is_any_signed              ? CT_OP_DP4A_SU
                                         : CT_OP_DP4A_U;
  CtVal words[MAX_WORDS];
  read_words(L, is_any_signed ? CT_i32 : CT_u32, "dp4a", words);
  note_dp4a(front_ir(L), op, words);
  value_push(L, ct_ir_word(front_ir(L), op, words));
  return 1;
}

void bind_open_word(lua_State *L) { /* language table on top */
  static const CtOp words[] = {CT_OP_FUNNEL_L, CT_OP_FUNNEL_R, CT_OP_BYTE_PERM};
  for (size_t i = 0; i < CT_ARRAY_LEN(words); i++) {
    lua_pushinteger(L, words[i]);
    lua_pushcclosure(L, call_word, 1);
    lua_setfield(L, -2, ct_ops[words[i]].text);
  }
  lua_pushcfunction(L, lang_dp4a);
  lua_setfield(L, -2, "dp4a");
}
