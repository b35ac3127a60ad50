/* bind_pair.c: the tables f16x2, bf16x2 and f32x2, whose functions compute with two floats at once. A pair is a word,
   a u32 or a u64: the first float is in its low half. Upvalue 1 of each function is the place of its row in
   `functions`, upvalue 2 the place of the type in `pair_types`. */
#include <lauxlib.h>

#include "interp/algebra/bind.h"
#include "interp/openers.h"
#include "interp/trace/front.h"
#include "interp/trace/value.h"

enum { MAX_WORDS = 3 }; /* of a call */

typedef struct PairType {
  const char *name;
  CtDtype half, half_bits, word; /* the type of a float, of its bits, and of both */
} PairType;

static const PairType pair_types[] = {{"f16x2", CT_f16, CT_u16, CT_u32},
                                      {"bf16x2", CT_bf16, CT_u16, CT_u32},
                                      {"f32x2", CT_f32, CT_u32, CT_u64}};

typedef struct PairFunction {
  const char *name;
  void (*push)(lua_State *L, const struct PairFunction *f, const PairType *t, const CtVal *w);
  CtOp op[CT_ARRAY_LEN(pair_types)];
  int n;           /* words */
  bool is_swapped; /* of comparisons: a > b is b < a */
  bool has_f32;    /* f32x2 has it, too */
} PairFunction;

static size_t place_of(const PairType *t) { return (size_t)(t - pair_types); }

static int bits_of(const PairType *t) { return ct_dtypes[t->half].bits; }

/* Half i as a value of its type. */
static CtVal half_of(CtIr *ir, const PairType *t, CtVal word, int i) {
  CtVal shift = ct_ir_const_int(ir, t->word, (int64_t)bits_of(t) * i);
  CtVal shifted = i == 0 ? word : ct_ir_binary(ir, CT_OP_SHR, word, shift);
  return ct_ir_bitcast(ir, ct_ir_cast(ir, shifted, t->half_bits), t->half);
}

static CtVal wide_half(CtIr *ir, const PairType *t, CtVal word, int i) {
  return ct_ir_cast(ir, half_of(ir, t, word, i), CT_f32);
}

static CtVal join(CtIr *ir, const PairType *t, CtVal lo, CtVal hi) {
  CtVal high = ct_ir_binary(ir, CT_OP_SHL, hi, ct_ir_const_int(ir, t->word, bits_of(t)));
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
  value_push(L, join(ir, t, half[0], half[1]));
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
#define ALL(NAME)                                                                                  \
  { CT_OP_##NAME##_F16X2, CT_OP_##NAME##_BF16X2, CT_OP_##NAME##_F32X2 }
static const PairFunction functions[] = {
    {"add", push_computed, ALL(ADD), 2, false, true},
    {"sub", push_computed, ALL(SUB), 2, false, true},
    {"mul", push_computed, ALL(MUL), 2, false, true},
    {"fma", push_computed, ALL(FMA), 3, false, true},
    {"min", push_computed, BOTH(MIN), 2, false, false},
    {"max", push_computed, BOTH(MAX), 2, false, false},
    {"lt", push_compared, {CT_OP_LT}, 2, false, false},
    {"le", push_compared, {CT_OP_LE}, 2, false, false},
    {"gt", push_compared, {CT_OP_LT}, 2, true, false},
    {"ge", push_compared, {CT_OP_LE}, 2, true, false},
    {"eq", push_compared, {CT_OP_EQ}, 2, false, false},
    {"ne", push_compared, {CT_OP_NE}, 2, false, false},
    {"neg", push_neg, {CT_OP_NONE}, 1, false, false},
    {"abs", push_abs, {CT_OP_NONE}, 1, false, false},
    {"select", push_selected, {CT_OP_NONE}, 3, false, false},
    {"unpack", push_halves, {CT_OP_NONE}, 1, false, true},
};

static bool has(const PairType *t, const PairFunction *f) {
  return f->has_f32 || t->half != CT_f32;
}

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
  const CtDtypeInfo *word = &ct_dtypes[t->word];
  if (type != t->word) {
    bool is_word = ct_is_int(type) && ct_dtypes[type].bits == word->bits;
    diag_error(L, "%s: a pair is a word of type %s, got %s; write %s", name, word->name,
               ct_dtypes[type].name,
               is_word ? lua_pushfstring(L, "cast(x, %s)", word->name)
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

/* A number as the bits of a half, in a word. */
static CtVal read_half(lua_State *L, int idx, const PairType *t) {
  CtIr *ir = front_here(L, t->name);
  CtVal v;
  CtDtype type = value_test(L, idx, &v) ? (CtDtype)ct_inst(ir, v)->type : CT_VOID;
  if (type == t->word || type == CT_bool) {
    const char *word = ct_dtypes[type].name;
    diag_error(L, "%s: a float expected, got %s; %s", t->name, word,
               type == CT_bool
                   ? "write where(c, 1, 0)"
                   : lua_pushfstring(
                         L, "a %s is already a pair, and cast(x, f32) converts its number", word));
  }
  CtVal half = value_cast(L, idx, t->half, t->name);
  return ct_ir_cast(ir, ct_ir_bitcast(ir, half, t->half_bits), t->word);
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
  value_push(L, join(ir, t, lo, n == 2 ? read_half(L, 3, t) : lo));
  return 1;
}

/* A name that the table does not have. Upvalue 1: the place in pair_types. */
static int fail_name(lua_State *L) {
  const PairType *t = &pair_types[lua_tointeger(L, lua_upvalueindex(1))];
  luaL_Buffer b;
  luaL_buffinit(L, &b);
  for (size_t i = 0; i < CT_ARRAY_LEN(functions); i++) {
    if (has(t, &functions[i])) {
      luaL_addstring(&b, i > 0 ? ", " : "");
      luaL_addstring(&b, functions[i].name);
    }
  }
  luaL_pushresult(&b);
  const char *names = lua_tostring(L, -1), *name = luaL_tolstring(L, 2, NULL);
  return diag_error(L, "%s has no function '%s'; expected %s", t->name, name, names);
}

static void open_type(lua_State *L, size_t at) {
  lua_createtable(L, 0, CT_ARRAY_LEN(functions));
  for (size_t i = 0; i < CT_ARRAY_LEN(functions); i++) {
    if (has(&pair_types[at], &functions[i])) {
      lua_pushinteger(L, (lua_Integer)i);
      lua_pushinteger(L, (lua_Integer)at);
      lua_pushcclosure(L, call_pair, 2);
      lua_setfield(L, -2, functions[i].name);
    }
  }
  lua_createtable(L, 0, 2);
  lua_pushinteger(L, (lua_Integer)at);
  lua_pushcclosure(L, pack, 1);
  lua_setfield(L, -2, "__call");
  lua_pushinteger(L, (lua_Integer)at);
  lua_pushcclosure(L, fail_name, 1);
  lua_setfield(L, -2, "__index");
  lua_setmetatable(L, -2);
  lua_setfield(L, -2, pair_types[at].name);
}

void bind_open_pair(lua_State *L) { /* language table on top */
  for (size_t i = 0; i < CT_ARRAY_LEN(pair_types); i++) {
    open_type(L, i);
  }
}
