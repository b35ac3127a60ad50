/* front_expr.c: the runtime functions of expressions (contracts in rewrite.h): comparisons, indexing,
   calls, table constructors, names. */
#include <lauxlib.h>
#include <string.h>

#include "interp/algebra/bind.h"
#include "interp/state/diag.h"
#include "front_reads.h"
#include "interp/trace/front_state.h"
#include "source.h"
#include "interp/tensor/tensor.h"
#include "front_parts.h"

static char self_key; /* registry: the object of a method call, for self() */

/* --- comparisons ------------------------------------------------------------------------------------ */

/* What messages call the type: as Lua's own do, with the name of a userdata. */
static const char *type_of(lua_State *L, int idx) {
  bool is_named =
      lua_type(L, idx) == LUA_TUSERDATA && luaL_getmetafield(L, idx, "__name") == LUA_TSTRING;
  return is_named ? lua_tostring(L, -1) : luaL_typename(L, idx);
}

/* Lua's own comparison; its error needs a position, which lua_compare called from C does not add. */
static bool compare(lua_State *L, int a, int b, int op) {
  bool plain = (lua_type(L, a) == LUA_TNUMBER && lua_type(L, b) == LUA_TNUMBER) ||
               (lua_type(L, a) == LUA_TSTRING && lua_type(L, b) == LUA_TSTRING);
  const char *event = op == LUA_OPLT ? "__lt" : "__le";
  if (op != LUA_OPEQ && !plain && luaL_getmetafield(L, a, event) == LUA_TNIL &&
      luaL_getmetafield(L, b, event) == LUA_TNIL) {
    const char *x = type_of(L, a);
    const char *y = type_of(L, b);
    if (strcmp(x, y) == 0) {
      luaL_error(L, "attempt to compare two %s values", x);
    } else {
      luaL_error(L, "attempt to compare %s with %s", x, y);
    }
  }
  return lua_compare(L, a, b, op) != 0;
}

static void check_half(lua_State *L, int idx, const char *op) {
  if (half_test(L, idx) != NULL) {
    front_refuse(L, "'c and x' needs an 'or' before '%s' uses it; write 'c and x or y'", op);
  }
}

/* threadIdx and its like are no numbers, and equal to none. */
static void check_axes(lua_State *L, int idx, const char *op) {
  if (lua_type(L, idx) == LUA_TUSERDATA && luaL_testudata(L, idx, INDEX_TYPE) != NULL) {
    const char *name = luaL_tolstring(L, idx, NULL);
    luaL_error(L, "%s: %s has three axes; write %s.x", op, name, name);
  }
}

static int order(lua_State *L, int a, int b, CtOp op, const char *text) {
  Front *f = front_up(L);
  check_axes(L, a, text);
  check_axes(L, b, text);
  if (!value_test(L, a, NULL) && !value_test(L, b, NULL) && half_test(L, a) == NULL &&
      half_test(L, b) == NULL) {
    lua_pushboolean(L, compare(L, a, b, op == CT_OP_LT ? LUA_OPLT : LUA_OPLE));
    return 1;
  }
  CtVal x, y;
  check_half(L, a, text);
  check_half(L, b, text);
  front_at(L, f);
  value_pair(L, a, b, text, &x, &y);
  if (ct_inst(f->ir, x)->type == CT_bool) {
    return luaL_error(L, "attempt to compare two boolean values");
  }
  value_push(L, ct_ir_binary(f->ir, op, x, y));
  return 1;
}

static int rt_lt(lua_State *L) { return order(L, 1, 2, CT_OP_LT, "<"); }
static int rt_le(lua_State *L) { return order(L, 1, 2, CT_OP_LE, "<="); }
static int rt_gt(lua_State *L) { return order(L, 2, 1, CT_OP_LT, ">"); }
static int rt_ge(lua_State *L) { return order(L, 2, 1, CT_OP_LE, ">="); }

/* A bool and a number are never equal either, but value_pair() refuses them: the script means something else. */
static bool is_plain(lua_State *L, const Front *f, int idx) {
  return front_is_bool(L, f, idx) || front_is_number(L, f, idx);
}

/* A tensor is equal to no number, which `x == 0` does not say. */
static void check_tensor(lua_State *L, const Front *f, int idx, int other, const char *op) {
  if (front_is_number(L, f, other) && tensor_test(L, idx) != NULL) {
    luaL_error(
        L, "%s: a tensor and a number are never equal; write x[i] for an element, or size(x)", op);
  }
}

/* Two tables are compared by a metamethod of theirs, if there is one. */
static void note_equality(lua_State *L, Front *f) {
  if (f->ir != NULL && lua_istable(L, 1) && lua_istable(L, 2)) {
    front_note_event(L, f, 1, "__eq");
    front_note_event(L, f, 2, "__eq");
  }
}

static int equal(lua_State *L, CtOp op, const char *text) {
  Front *f = front_up(L);
  bool runtime = value_test(L, 1, NULL) || value_test(L, 2, NULL);
  luaL_checkany(L, 2);
  check_half(L, 1, text);
  check_half(L, 2, text);
  if (!lua_isnil(L, 1) && !lua_isnil(L, 2)) {
    check_axes(L, 1, text);
    check_axes(L, 2, text);
  }
  check_tensor(L, f, 1, 2, text);
  check_tensor(L, f, 2, 1, text);
  if (runtime && is_plain(L, f, 1) && is_plain(L, f, 2)) {
    CtVal x, y;
    front_at(L, f);
    value_pair(L, 1, 2, text, &x, &y);
    value_push(L, ct_ir_binary(f->ir, op, x, y));
  } else {
    front_check_missing(L, 1);
    front_check_missing(L, 2);
    note_equality(L, f);
    bool same = !runtime && compare(L, 1, 2, LUA_OPEQ);
    lua_pushboolean(L, op == CT_OP_EQ ? same : !same);
  }
  return 1;
}

static int rt_eq(lua_State *L) { return equal(L, CT_OP_EQ, "=="); }
static int rt_ne(lua_State *L) { return equal(L, CT_OP_NE, "~="); }

/* --- tables ----------------------------------------------------------------------------------------- */

/* By what is no assignment: under conditions that are newer than the table that cannot be. */
void front_check_change(lua_State *L, int idx) {
  Front *f = front_of(L);
  if (f->ir == NULL || !lua_istable(L, idx)) {
    return;
  }
  uint64_t born = front_birth(L, idx);
  if (front_since(f, L, born).any) {
    front_refuse(
        L, "a Lua table is changed by a function of Lua's library under a run-time condition; "
           "assign its fields: t.x = v");
  }
  if (record_is_bound(L, f, idx)) {
    front_refuse(L,
                 "the table of line %d was chosen by a run-time condition and is changed by a "
                 "function of Lua's library; assign its fields: t.x = v",
                 front_birth_line(L, idx));
  }
  front_note_change(L, idx);
  front_touch_state(f, born);
  front_forget_fields(L, idx);
}

void front_check_key(lua_State *L, int table, int key) {
  if (lua_istable(L, table) && !value_settle(L, key) && value_test(L, key, NULL)) {
    front_refuse(L,
                 "a Lua table is indexed by a run-time value; use a tensor, such as "
                 "from_table(f32, t), or unroll the loop; a list of tensors passed as an argument "
                 "allows any index");
  }
  check_half(L, key, "[]");
}

/* Moves one element of the table at 1 from a key that is a known value to its integer; false: there is none. */
static bool settle_key(lua_State *L) {
  lua_settop(L, 1);
  lua_pushnil(L);
  while (lua_next(L, 1) != 0) {
    lua_pushvalue(L, 2);
    front_check_key(L, 1, 4);
    if (lua_type(L, 2) == LUA_TUSERDATA && lua_isinteger(L, 4)) {
      lua_insert(L, 3);
      lua_rawset(L, 1);
      lua_pushnil(L);
      lua_rawset(L, 1);
      return true;
    }
    lua_settop(L, 2);
  }
  return false;
}

static int rt_t(lua_State *L) { /* table, computed */
  Front *f = front_up(L);
  bool looks = f->ir != NULL && lua_toboolean(L, 2);
  while (looks && settle_key(L)) {}
  lua_settop(L, 1);
  if (f->ir != NULL) {
    front_set_birth(L, f);
  }
  return 1;
}

/* Lua's own message, which lua_gettable called from C would raise without a position. */
static void check_indexable(lua_State *L, int idx, const char *event, int desc) {
  if (lua_istable(L, idx) || luaL_getmetafield(L, idx, event) != LUA_TNIL) {
    return;
  }
  const char *what = lua_tostring(L, desc);
  bool runtime = value_test(L, idx, NULL);
  luaL_error(L, "attempt to index a %s value%s%s%s%s", runtime ? "run-time" : type_of(L, idx),
             what != NULL ? " (" : "", what != NULL ? what : "", what != NULL ? ")" : "",
             runtime ? "; only tensors and tables have elements" : "");
}

static void note_read(lua_State *L, int t, int key) {
  Front *f = front_up(L);
  if (f->ir == NULL) {
    return;
  }
  if (lua_istable(L, t)) {
    front_note_table_read(L, f, t);
  }
  front_note_field(L, f, t, key);
}

static int rt_ix(lua_State *L) { /* t, k, desc */
  lua_settop(L, 3);
  front_check_key(L, 1, 2);
  check_indexable(L, 1, "__index", 3);
  lua_settop(L, 3);
  note_read(L, 1, 2);
  lua_pushvalue(L, 2);
  if (lua_gettable(L, 1) == LUA_TNIL) {
    front_note_nil(L, 2);
  }
  front_check_missing(L, -1);
  return 1;
}

static int rt_len(lua_State *L) { /* v, desc */
  Front *f = front_up(L);
  lua_settop(L, 2);
  if (!lua_istable(L, 1) && lua_type(L, 1) != LUA_TSTRING &&
      luaL_getmetafield(L, 1, "__len") == LUA_TNIL) {
    const char *what = lua_tostring(L, 2);
    return luaL_error(L, "attempt to get length of a %s value%s%s%s", type_of(L, 1),
                      what != NULL ? " (" : "", what != NULL ? what : "", what != NULL ? ")" : "");
  }
  lua_settop(L, 1);
  if (f->ir != NULL) {
    front_note_length(L, f, 1);
  }
  return 1;
}

static int rt_set(lua_State *L) { /* desc, t, k, v */
  lua_settop(L, 4);
  front_check_key(L, 2, 3);
  check_indexable(L, 2, "__newindex", 1);
  lua_settop(L, 4);
  if (half_test(L, 4) != NULL) {
    return front_refuse(L, "'c and x' needs an 'or' before it is stored; write 'c and x or y'");
  }
  if (lua_istable(L, 2) && lua_isnil(L, 3)) {
    return luaL_error(L, "index is nil");
  }
  Front *f = front_up(L);
  if (f->ir != NULL && lua_istable(L, 2)) {
    front_note_write(L, 2, 3);
    if (front_set_field(L, f, 2, 3, 4, 1)) {
      return 0;
    }
  }
  lua_settable(L, 2);
  return 0;
}

/* --- calls ------------------------------------------------------------------------------------------ */

static int fail_call(lua_State *L, int idx, int desc) {
  const char *what = lua_tostring(L, desc);
  const char *type = value_test(L, idx, NULL) ? "run-time" : type_of(L, idx);
  return what != NULL ? luaL_error(L, "attempt to call a %s value (%s)", type, what)
                      : luaL_error(L, "attempt to call a %s value", type);
}

/* Pushes what a kernel calls for the function at idx, and only that. */
void front_push_callee(lua_State *L, Front *f, int idx, int desc) {
  int top = lua_gettop(L);
  if (f->ir != NULL && lua_iscfunction(L, idx)) {
    front_push_replacement(L, idx);
  } else if (f->ir != NULL && lua_isfunction(L, idx)) {
    if (front_convert_function(L, idx, RW_HELPER) != LUA_OK) {
      lua_error(L);
    }
  } else if (lua_isfunction(L, idx) || luaL_getmetafield(L, idx, "__call") != LUA_TNIL) {
    lua_pushvalue(L, idx);
  } else {
    fail_call(L, idx, desc);
  }
  lua_copy(L, -1, top + 1);
  lua_settop(L, top + 1);
}

static int rt_fn(lua_State *L) { /* f, desc */
  lua_settop(L, 2);
  front_push_callee(L, front_up(L), 1, 2);
  return 1;
}

static int rt_m(lua_State *L) { /* o, name, desc */
  lua_settop(L, 3);
  check_indexable(L, 1, "__index", 3);
  lua_settop(L, 3);
  lua_pushvalue(L, 1);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &self_key);
  note_read(L, 1, 2);
  lua_pushvalue(L, 2);
  lua_gettable(L, 1);
  lua_pushfstring(L, "method '%s'", lua_tostring(L, 2));
  front_push_callee(L, front_up(L), 4, 5);
  return 1;
}

static int rt_self(lua_State *L) {
  lua_rawgetp(L, LUA_REGISTRYINDEX, &self_key);
  lua_pushnil(L);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &self_key);
  return 1;
}

bool front_is_library_calling(lua_State *L) {
  lua_Debug ar;
  return lua_getstack(L, 1, &ar) != 0 && lua_getinfo(L, "S", &ar) != 0 && diag_is_stdlib(ar.source);
}

static int rt_nm(lua_State *L) { /* v, name */
  Front *f = front_up(L);
  CtVal v;
  lua_settop(L, 2);
  if (f->ir == NULL) {
    lua_settop(L, 1);
    return 1;
  }
  const char *name = lua_tostring(L, 2);
  const Tensor *t = tensor_test(L, 1);
  if (value_test(L, 1, &v)) {
    ct_ir_name(f->ir, v, name);
  } else if (t != NULL && t->in_kernel && t->serial == f->serial &&
             /* locals of the library say less to the script than the name that a tensor has */
             (t->name == NULL || !front_is_library_calling(L))) {
    if (t->at == NULL) {
      ct_ir_name_buf(f->ir, t->buf, name);
    }
    tensor_set_name(L, 1, name);
  } else if (lua_type(L, 1) == LUA_TUSERDATA && luaL_getmetafield(L, 1, "__named") != LUA_TNIL) {
    lua_pushvalue(L, 1);
    lua_pushstring(L, name);
    lua_call(L, 2, 0);
  }
  lua_settop(L, 1);
  return 1;
}

void front_open_expr(lua_State *L) {
  front_open_births(L);
  luaL_newmetatable(L, BOX_TYPE);
  lua_pop(L, 1);
}

const luaL_Reg front_expr_fns[] = {{"lt", rt_lt},   {"le", rt_le}, {"gt", rt_gt}, {"ge", rt_ge},
                                   {"eq", rt_eq},   {"ne", rt_ne}, {"ix", rt_ix}, {"len", rt_len},
                                   {"set", rt_set}, {"fn", rt_fn}, {"m", rt_m},   {"self", rt_self},
                                   {"t", rt_t},     {"nm", rt_nm}, {NULL, NULL}};
