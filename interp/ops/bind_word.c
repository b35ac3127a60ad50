/* bind_word.c: operations on words of 32 bits: bytes, shifts of two words, and the tables f16x2 and
   bf16x2, whose functions compute with two floats of 16 bits at once. */
#include <lauxlib.h>
#include <string.h>

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

/* {====== Pairs ======
   A pair is a word, a u32: the first half is in the low 16 bits. Upvalue 1 of each function is the
   place of its row in `functions`, upvalue 2 the place of the type in `pairs`. */

typedef struct PairType {
  const char *name;
  CtDtype half;
} PairType;

static const PairType pair_types[] = {{"f16x2", CT_f16}, {"bf16x2", CT_bf16}};

typedef struct PairFunction {
  const char *name;
  void (*push)(lua_State *L, const struct PairFunction *f, const PairType *t, const CtVal *w);
  CtOp op[CT_ARRAY_LEN(pair_types)];
  int n;           /* words */
  bool is_swapped; /* of comparisons: a > b is b < a */
} PairFunction;

static size_t place_of(const PairType *t) { return (size_t)(t - pair_types); }

/* Half i as a value of the narrow type. */
static CtVal half_of(CtIr *ir, const PairType *t, CtVal word, int i) {
  CtVal shift = ct_ir_const_int(ir, CT_u32, 16 * i);
  CtVal bits = ct_ir_cast(ir, ct_ir_binary(ir, CT_OP_SHR, word, shift), CT_u16);
  return ct_ir_bitcast(ir, bits, t->half);
}

static CtVal wide_half(CtIr *ir, const PairType *t, CtVal word, int i) {
  return ct_ir_cast(ir, half_of(ir, t, word, i), CT_f32);
}

static CtVal join(CtIr *ir, CtVal lo, CtVal hi) {
  CtVal high = ct_ir_binary(ir, CT_OP_SHL, hi, ct_ir_const_int(ir, CT_u32, 16));
  return ct_ir_binary(ir, CT_OP_OR, lo, high);
}

static void push_computed(lua_State *L, const PairFunction *f, const PairType *t, const CtVal *w) {
  value_push(L, ct_ir_word(front_ir(L), f->op[place_of(t)], w));
}

static CtVal with_mask(CtIr *ir, CtOp op, CtVal word, uint32_t mask) {
  return ct_ir_binary(ir, op, word, ct_ir_const_int(ir, CT_u32, mask));
}

static void push_neg(lua_State *L, const PairFunction *f, const PairType *t, const CtVal *w) {
  (void)f;
  (void)t;
  value_push(L, with_mask(front_ir(L), CT_OP_XOR, w[0], 0x80008000));
}

static void push_abs(lua_State *L, const PairFunction *f, const PairType *t, const CtVal *w) {
  (void)f;
  (void)t;
  value_push(L, with_mask(front_ir(L), CT_OP_AND, w[0], 0x7fff7fff));
}

/* All bits of a half where the comparison holds. */
static void push_compared(lua_State *L, const PairFunction *f, const PairType *t, const CtVal *w) {
  CtIr *ir = front_ir(L);
  CtVal half[2];
  for (int i = 0; i < 2; i++) {
    CtVal a = wide_half(ir, t, w[f->is_swapped], i), b = wide_half(ir, t, w[!f->is_swapped], i);
    half[i] = ct_ir_select(ir, ct_ir_binary(ir, f->op[0], a, b),
                           ct_ir_const_int(ir, CT_u32, 0xffff), ct_ir_const_int(ir, CT_u32, 0));
  }
  value_push(L, join(ir, half[0], half[1]));
}

static void push_selected(lua_State *L, const PairFunction *f, const PairType *t, const CtVal *w) {
  CtIr *ir = front_ir(L);
  (void)f;
  (void)t;
  CtVal a = ct_ir_binary(ir, CT_OP_AND, w[0], w[1]);
  CtVal b = ct_ir_binary(ir, CT_OP_AND, ct_ir_unary(ir, CT_OP_NOT, w[0]), w[2]);
  value_push(L, ct_ir_binary(ir, CT_OP_OR, a, b));
}

static void push_halves(lua_State *L, const PairFunction *f, const PairType *t, const CtVal *w) {
  (void)f;
  for (int i = 0; i < 2; i++) {
    value_push(L, wide_half(front_ir(L), t, w[0], i));
  }
}

#define BOTH(NAME)                                                                                 \
  { CT_OP_##NAME##_F16X2, CT_OP_##NAME##_BF16X2 }
static const PairFunction functions[] = {
    {"add", push_computed, BOTH(ADD), 2, false},
    {"sub", push_computed, BOTH(SUB), 2, false},
    {"mul", push_computed, BOTH(MUL), 2, false},
    {"fma", push_computed, BOTH(FMA), 3, false},
    {"min", push_computed, BOTH(MIN), 2, false},
    {"max", push_computed, BOTH(MAX), 2, false},
    {"lt", push_compared, {CT_OP_LT}, 2, false},
    {"le", push_compared, {CT_OP_LE}, 2, false},
    {"gt", push_compared, {CT_OP_LT}, 2, true},
    {"ge", push_compared, {CT_OP_LE}, 2, true},
    {"eq", push_compared, {CT_OP_EQ}, 2, false},
    {"ne", push_compared, {CT_OP_NE}, 2, false},
    {"neg", push_neg, {CT_OP_NONE}, 1, false},
    {"abs", push_abs, {CT_OP_NONE}, 1, false},
    {"select", push_selected, {CT_OP_NONE}, 3, false},
    {"unpack", push_halves, {CT_OP_NONE}, 1, false},
};

/* A pair in an argument. Numbers and floats are refused: they might mean a half or a word. */
static CtVal read_pair(lua_State *L, int idx, const char *name, const PairType *t) {
  CtVal v;
  if (!value_test(L, idx, &v)) {
    diag_error(L, "%s: a pair expected, got %s; write %s(x) for x in both halves", name,
               lua_type(L, idx) == LUA_TNUMBER ? luaL_tolstring(L, idx, NULL)
                                               : diag_push_kind(L, idx),
               t->name);
  }
  CtDtype type = (CtDtype)ct_inst(front_ir(L), v)->type;
  if (type != CT_u32) {
    diag_error(L, "%s: a pair is a word of type u32, got %s; write %s", name, ct_dtypes[type].name,
               type == CT_i32 ? "cast(x, u32)"
                              : lua_pushfstring(L, "%s(x) for x in both halves", t->name));
  }
  return v;
}

static int call_pair(lua_State *L) {
  const PairFunction *f = &functions[lua_tointeger(L, lua_upvalueindex(1))];
  const PairType *t = &pair_types[lua_tointeger(L, lua_upvalueindex(2))];
  const char *name = lua_pushfstring(L, "%s.%s", t->name, f->name);
  CtVal w[MAX_WORDS];
  lua_insert(L, 1); /* keeps the text */
  (void)front_here(L, name);
  if (lua_gettop(L) - 1 != f->n) {
    return diag_error(L, "%s: %d arguments; expected %d", name, lua_gettop(L) - 1, f->n);
  }
  for (int i = 0; i < f->n; i++) {
    w[i] = read_pair(L, i + 2, name, t);
  }
  int top = lua_gettop(L);
  f->push(L, f, t, w);
  return lua_gettop(L) - top;
}

/* A number as the bits of a half, in a u32. */
static CtVal read_half(lua_State *L, int idx, const PairType *t) {
  CtIr *ir = front_here(L, t->name);
  CtVal v;
  CtDtype type = value_test(L, idx, &v) ? (CtDtype)ct_inst(ir, v)->type : CT_VOID;
  if (type == CT_u32 || type == CT_bool) {
    diag_error(L, "%s: a float expected, got %s; %s", t->name, ct_dtypes[type].name,
               type == CT_bool ? "write where(c, 1, 0)"
                               : "a u32 is already a pair, and cast(x, f32) converts its number");
  }
  CtVal half = value_cast(L, idx, t->half, t->name);
  return ct_ir_cast(ir, ct_ir_bitcast(ir, half, CT_u16), CT_u32);
}

/* f16x2(lo, hi), f16x2(both). */
static int pack(lua_State *L) { /* the table, lo, hi */
  const PairType *t = &pair_types[lua_tointeger(L, lua_upvalueindex(1))];
  CtIr *ir = front_here(L, t->name);
  int n = lua_gettop(L) - 1;
  if (n < 1 || n > 2) {
    return diag_error(L, "%s: %d arguments; the two halves were expected, or one for both", t->name,
                      n);
  }
  CtVal lo = read_half(L, 2, t);
  value_push(L, join(ir, lo, n == 2 ? read_half(L, 3, t) : lo));
  return 1;
}

/* A name that the table does not have. Upvalue 1: the place in pair_types. */
static int fail_name(lua_State *L) {
  luaL_Buffer b;
  luaL_buffinit(L, &b);
  for (size_t i = 0; i < CT_ARRAY_LEN(functions); i++) {
    luaL_addstring(&b, i > 0 ? ", " : "");
    luaL_addstring(&b, functions[i].name);
  }
  luaL_pushresult(&b);
  const char *names = lua_tostring(L, -1), *name = luaL_tolstring(L, 2, NULL);
  return diag_error(L, "%s has no function '%s'; expected %s",
                    pair_types[lua_tointeger(L, lua_upvalueindex(1))].name, name, names);
}

static void open_pairs(lua_State *L, size_t at) {
  lua_createtable(L, 0, CT_ARRAY_LEN(functions));
  for (size_t i = 0; i < CT_ARRAY_LEN(functions); i++) {
    lua_pushinteger(L, (lua_Integer)i);
    lua_pushinteger(L, (lua_Integer)at);
    lua_pushcclosure(L, call_pair, 2);
    lua_setfield(L, -2, functions[i].name);
  }
  lua_createtable(L, 0, 1);
  lua_pushinteger(L, (lua_Integer)at);
  lua_pushcclosure(L, pack, 1);
  lua_setfield(L, -2, "__call");
  lua_pushinteger(L, (lua_Integer)at);
  lua_pushcclosure(L, fail_name, 1);
  lua_setfield(L, -2, "__index");
  lua_setmetatable(L, -2);
  lua_setfield(L, -2, pair_types[at].name);
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
  for (size_t i = 0; i < CT_ARRAY_LEN(pair_types); i++) {
    open_pairs(L, i);
  }
}
