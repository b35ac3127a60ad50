/* front_expr.c: the runtime functions of expressions (contracts in rewrite.h): and, or, not,
   comparisons, indexing, calls, table constructors, names. */
#include <lauxlib.h>
#include <string.h>

#include "diag.h"
#include "front_state.h"
#include "source.h"
#include "tensor.h"

static char anchors_key;      /* registry: logic frames, which no Lua variable holds */
static char births_key;       /* registry: table -> clock of its birth, weak */
static char replacements_key; /* registry: C function -> what a kernel calls instead */
static char self_key;         /* registry: the object of a method call, for self() */

Half *half_test(lua_State *L, int idx) { return luaL_testudata(L, idx, HALF_TYPE); }

/* --- and, or --------------------------------------------------------------------------------------- */

enum { MAX_LOGIC = 100 };

static Frame *push_logic(lua_State *L, Front *f, bool is_or) {
  int depth = 0;
  for (const Frame *p = front_co(f, L)->top; p != NULL && p->kind == FRAME_LOGIC; p = p->parent) {
    depth++;
  }
  if (depth >= MAX_LOGIC) {
    diag_error(L, "'and' and 'or' nest deeper than %d; use a local for a part", MAX_LOGIC);
  }
  Frame *frame = frame_push(L, f, FRAME_LOGIC);
  frame->is_or = is_or;
  lua_rawgetp(L, LUA_REGISTRYINDEX, &anchors_key);
  lua_pushvalue(L, -2);
  lua_rawsetp(L, -2, frame);
  lua_pop(L, 2);
  return frame;
}

static Frame pop_logic(lua_State *L, Front *f) {
  Frame *frame = front_co(f, L)->top;
  if (frame == NULL || frame->kind != FRAME_LOGIC) {
    luaL_error(L, "the state of the trace is damaged: 'and' or 'or' without its left side");
    return (Frame){0};
  }
  Frame copy = *frame;
  frame->co->top = frame->parent;
  frame->is_open = false;
  lua_rawgetp(L, LUA_REGISTRYINDEX, &anchors_key);
  lua_pushnil(L);
  lua_rawsetp(L, -2, frame);
  lua_pop(L, 1);
  return copy;
}

/* Opens the region in which the right side runs. */
static void open_logic(lua_State *L, Front *f, Frame *frame, CtVal cond, bool when) {
  front_at(L, f);
  frame->cond = cond;
  frame->runtime = true;
  frame->runtime_at = ++f->clock;
  frame->if_op = ct_ir_if(f->ir, when ? cond : ct_ir_unary(f->ir, CT_OP_LNOT, cond));
}

static int fail_choice(lua_State *L, int idx, const char *op) {
  return diag_error(
      L, "'c %s x' under a run-time condition can only choose numbers or booleans, got a %s", op,
      tensor_test(L, idx) != NULL ? "tensor" : luaL_typename(L, idx));
}

static bool is_bool(lua_State *L, const Front *f, int idx) {
  CtVal v;
  return lua_isboolean(L, idx) || (value_test(L, idx, &v) && ct_inst(f->ir, v)->type == CT_bool);
}

static bool is_number(lua_State *L, const Front *f, int idx) {
  CtVal v;
  return lua_type(L, idx) == LUA_TNUMBER ||
         (value_test(L, idx, &v) && ct_inst(f->ir, v)->type != CT_bool);
}

/* Closes the region of a boolean right side and pushes the joined value: eager where the region may as
   well always run, else through a variable. */
static void join_bools(lua_State *L, Front *f, const Frame *frame, int idx) {
  CtIr *ir = f->ir;
  CtVal right = value_to(L, idx, CT_bool, "the right side of 'and' or 'or'");
  CtVal ignored[2];
  ct_ir_end(ir, frame->if_op);
  if (ct_ir_flatten_if(ir, frame->if_op, 0, ignored)) {
    value_push(L, ct_ir_binary(ir, frame->is_or ? CT_OP_LOR : CT_OP_LAND, frame->cond, right));
    return;
  }
  CtVal var = ct_ir_var(ir, CT_bool, frame->is_or ? "either" : "both");
  ct_ir_set_before(ir, var, ct_ir_const_int(ir, CT_bool, frame->is_or), frame->if_op);
  ir->cur = ct_inst(ir, frame->if_op)->u.regions[0];
  ct_ir_set(ir, var, right);
  ct_ir_end(ir, frame->if_op);
  value_push(L, ct_ir_get(ir, var));
}

static CtDtype choice_type(lua_State *L, const Front *f, int idx, bool *weak) {
  CtVal v;
  *weak = !value_test(L, idx, &v);
  if (!*weak) {
    return (CtDtype)ct_inst(f->ir, v)->type;
  }
  if (!lua_isinteger(L, idx)) {
    return CT_f32;
  }
  return lua_tointeger(L, idx) == (int32_t)lua_tointeger(L, idx) ? CT_i32 : CT_i64;
}

static void push_half(lua_State *L, Front *f, const Half *value) {
  Half *half = lua_newuserdatauv(L, sizeof *half, 0);
  *half = *value;
  half->serial = f->serial;
  luaL_setmetatable(L, HALF_TYPE);
}

/* `c and x` with a number: the value waits in a variable for the other side. */
static void begin_choice(lua_State *L, Front *f, const Frame *frame, int idx) {
  Half half = {.cond = frame->cond, .if_op = frame->if_op};
  CtDtype type = choice_type(L, f, idx, &half.weak);
  half.var = ct_ir_var(f->ir, type, "chosen");
  ct_ir_set(f->ir, half.var, value_to(L, idx, type, "the right side of 'and'"));
  ct_ir_end(f->ir, frame->if_op);
  push_half(L, f, &half);
}

/* `c and (d and x)`: both conditions hold where x is chosen. */
static void nest_choice(lua_State *L, Front *f, const Frame *frame, const Half *inner) {
  CtIr *ir = f->ir;
  CtVal both = ct_ir_var(ir, CT_bool, "both");
  ct_ir_set_before(ir, both, ct_ir_const_int(ir, CT_bool, 0), frame->if_op);
  ct_ir_set(ir, both, inner->cond);
  ct_ir_end(ir, frame->if_op);
  Half half = {.cond = ct_ir_get(ir, both), .var = inner->var, .weak = inner->weak};
  push_half(L, f, &half);
}

static int rt_andb(lua_State *L) {
  Front *f = front_up(L);
  lua_settop(L, 1);
  Frame *frame = push_logic(L, f, false);
  const Half *half = half_test(L, 1);
  CtVal c;
  if (half != NULL) {
    open_logic(L, f, frame, half->cond, true);
  } else if (value_test(L, 1, &c) && ct_inst(f->ir, c)->type == CT_bool) {
    open_logic(L, f, frame, c, true);
  } else {
    return 1; /* static; a run-time number is true */
  }
  lua_pushboolean(L, 1);
  return 1;
}

static int rt_ande(lua_State *L) {
  Front *f = front_up(L);
  lua_settop(L, 1);
  const Frame frame = pop_logic(L, f);
  const Half *half = half_test(L, 1);
  if (!frame.runtime) {
    return 1;
  }
  front_at(L, f);
  if (half != NULL) {
    nest_choice(L, f, &frame, half);
  } else if (is_number(L, f, 1)) {
    begin_choice(L, f, &frame, 1);
  } else if (is_bool(L, f, 1)) {
    join_bools(L, f, &frame, 1);
  } else if (lua_isnil(L, 1)) {
    ct_ir_end(f->ir, frame.if_op);
    lua_pushboolean(L, 0);
  } else {
    return fail_choice(L, 1, "and");
  }
  f->dead = false;
  return 1;
}

static int rt_orb(lua_State *L) {
  Front *f = front_up(L);
  lua_settop(L, 1);
  Frame *frame = push_logic(L, f, true);
  const Half *half = half_test(L, 1);
  CtVal c;
  if (half != NULL) {
    frame->op = half->var;
    frame->has_else = half->weak;
    if (half->if_op != 0 && half->if_op == ct_ir_position(f->ir)) {
      front_at(L, f);
      ct_ir_else(f->ir, half->if_op);
      frame->if_op = half->if_op;
      frame->cond = half->cond;
      frame->runtime = true;
      frame->runtime_at = ++f->clock;
      frame->some_live = true; /* the IF chooses between both sides */
    } else {
      open_logic(L, f, frame, half->cond, false);
    }
  } else if (value_test(L, 1, &c) && ct_inst(f->ir, c)->type == CT_bool) {
    open_logic(L, f, frame, c, false);
  } else {
    return 1;
  }
  lua_pushboolean(L, 0);
  return 1;
}

/* Brings the variable of a choice and the value at idx to one type. */
static CtVal choice_value(lua_State *L, Front *f, const Frame *frame, int idx) {
  CtIr *ir = f->ir;
  bool weak;
  CtDtype is = (CtDtype)ct_inst(ir, frame->op)->type;
  CtDtype given = choice_type(L, f, idx, &weak);
  bool float_wins = ct_is_float(given) && !ct_is_float(is);
  bool wider = ct_dtypes[given].cls == ct_dtypes[is].cls && !weak && !value_converts(given, is);
  bool adopts =
      !weak && frame->has_else && ct_is_narrow(given) && ct_dtypes[given].cls == ct_dtypes[is].cls;
  if (adopts && ct_ir_retype(ir, frame->op, given)) {
    is = given;
  } else if (float_wins || wider) {
    if (!frame->has_else || !ct_ir_retype(ir, frame->op, given)) {
      diag_error(L, "'c and x or y' chooses between %s and %s; cast one of them",
                 ct_dtypes[is].name, ct_dtypes[given].name);
    }
    is = given;
  }
  return value_to(L, idx, is, "the right side of 'or'");
}

static void end_choice(lua_State *L, Front *f, const Frame *frame, int idx) {
  CtIr *ir = f->ir;
  CtVal set[2];
  ct_ir_set(ir, frame->op, choice_value(L, f, frame, idx));
  ct_ir_end(ir, frame->if_op);
  if (frame->some_live && ct_ir_flatten_if(ir, frame->if_op, frame->op, set)) {
    value_push(L, ct_ir_select(ir, frame->cond, set[0], set[1]));
  } else {
    value_push(L, ct_ir_get(ir, frame->op));
  }
}

static int rt_ore(lua_State *L) {
  Front *f = front_up(L);
  lua_settop(L, 1);
  const Frame frame = pop_logic(L, f);
  if (!frame.runtime) {
    return 1;
  }
  front_at(L, f);
  if (frame.op != 0) {
    if (!is_number(L, f, 1)) {
      return diag_error(L, "'c and x or y' has a number for x but a %s for y",
                        is_bool(L, f, 1) ? "boolean" : luaL_typename(L, 1));
    }
    end_choice(L, f, &frame, 1);
  } else if (is_bool(L, f, 1)) {
    join_bools(L, f, &frame, 1);
  } else if (is_number(L, f, 1)) {
    return diag_error(L,
                      "'c or x' has a run-time condition for c and a number for x; write 'c and y "
                      "or x'");
  } else {
    return fail_choice(L, 1, "or");
  }
  f->dead = false;
  return 1;
}

static int rt_not(lua_State *L) {
  Front *f = front_up(L);
  CtVal c = 0;
  int truth = front_truth(L, 1, "not", &c);
  if (truth >= 0) {
    lua_pushboolean(L, !truth);
  } else {
    front_at(L, f);
    value_push(L, ct_ir_unary(f->ir, CT_OP_LNOT, c));
  }
  return 1;
}

/* --- comparisons ------------------------------------------------------------------------------------ */

/* Lua's own comparison; its error needs a position, which lua_compare called from C does not add. */
static bool compare(lua_State *L, int a, int b, int op) {
  bool plain = (lua_type(L, a) == LUA_TNUMBER && lua_type(L, b) == LUA_TNUMBER) ||
               (lua_type(L, a) == LUA_TSTRING && lua_type(L, b) == LUA_TSTRING);
  const char *event = op == LUA_OPLT ? "__lt" : "__le";
  if (op != LUA_OPEQ && !plain && luaL_getmetafield(L, a, event) == LUA_TNIL &&
      luaL_getmetafield(L, b, event) == LUA_TNIL) {
    const char *x = luaL_typename(L, a);
    const char *y = luaL_typename(L, b);
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
    diag_error(L, "'c and x' needs an 'or' before '%s' uses it; write 'c and x or y'", op);
  }
}

static int order(lua_State *L, int a, int b, CtOp op, const char *text) {
  Front *f = front_up(L);
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

/* Values of different kinds are never equal, whatever they are at run time. */
static bool may_be_equal(lua_State *L, const Front *f) {
  return (is_bool(L, f, 1) && is_bool(L, f, 2)) || (is_number(L, f, 1) && is_number(L, f, 2));
}

static int equal(lua_State *L, CtOp op, const char *text) {
  Front *f = front_up(L);
  bool runtime = value_test(L, 1, NULL) || value_test(L, 2, NULL);
  luaL_checkany(L, 2);
  check_half(L, 1, text);
  check_half(L, 2, text);
  if (runtime && may_be_equal(L, f)) {
    CtVal x, y;
    front_at(L, f);
    value_pair(L, 1, 2, text, &x, &y);
    value_push(L, ct_ir_binary(f->ir, op, x, y));
  } else {
    bool same = !runtime && compare(L, 1, 2, LUA_OPEQ);
    lua_pushboolean(L, op == CT_OP_EQ ? same : !same);
  }
  return 1;
}

static int rt_eq(lua_State *L) { return equal(L, CT_OP_EQ, "=="); }
static int rt_ne(lua_State *L) { return equal(L, CT_OP_NE, "~="); }

/* --- tables ----------------------------------------------------------------------------------------- */

uint64_t front_birth(lua_State *L, int idx) {
  idx = lua_absindex(L, idx);
  lua_rawgetp(L, LUA_REGISTRYINDEX, &births_key);
  lua_pushvalue(L, idx);
  lua_rawget(L, -2);
  uint64_t at = (uint64_t)lua_tointeger(L, -1);
  lua_pop(L, 2);
  return at;
}

/* Remembers that the table or coroutine at the top is born now. */
static void set_birth(lua_State *L, Front *f) {
  lua_rawgetp(L, LUA_REGISTRYINDEX, &births_key);
  lua_pushvalue(L, -2);
  lua_pushinteger(L, (lua_Integer)++f->clock);
  lua_rawset(L, -3);
  lua_pop(L, 1);
}

void front_touch(lua_State *L, uint64_t born, const char *message) {
  Front *f = front_of(L);
  uint64_t condition = front_condition(f, L);
  if (condition != 0 && condition > born) {
    diag_error(L, "%s", message);
  }
  f->touched = born < f->touched ? born : f->touched;
}

/* A table may change where no condition is active that began after its birth. */
void front_check_change(lua_State *L, int idx) {
  if (front_of(L)->ir != NULL && lua_istable(L, idx)) {
    front_touch(L, front_birth(L, idx),
                "a Lua table is changed under a run-time condition; make it before the 'if' in a "
                "local number, or use a fragment");
  }
}

static void check_key(lua_State *L, int table, int key) {
  if (lua_istable(L, table) && value_test(L, key, NULL)) {
    diag_error(L, "a Lua table is indexed by a run-time value; use a tensor, or unroll the loop");
  }
  check_half(L, key, "[]");
}

static int rt_t(lua_State *L) { /* table, computed */
  Front *f = front_up(L);
  if (f->ir != NULL && lua_toboolean(L, 2)) {
    lua_settop(L, 1);
    lua_pushnil(L);
    while (lua_next(L, 1) != 0) {
      check_key(L, 1, 2);
      lua_pop(L, 1);
    }
  }
  lua_settop(L, 1);
  if (f->ir != NULL) {
    set_birth(L, f);
  }
  return 1;
}

/* What messages call the type: as Lua's own do, with the name of a userdata. */
static const char *type_of(lua_State *L, int idx) {
  bool is_named =
      lua_type(L, idx) == LUA_TUSERDATA && luaL_getmetafield(L, idx, "__name") == LUA_TSTRING;
  return is_named ? lua_tostring(L, -1) : luaL_typename(L, idx);
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

static int rt_ix(lua_State *L) { /* t, k, desc */
  lua_settop(L, 3);
  check_key(L, 1, 2);
  check_indexable(L, 1, "__index", 3);
  lua_settop(L, 3);
  lua_pushvalue(L, 2);
  lua_gettable(L, 1);
  return 1;
}

static int rt_set(lua_State *L) { /* desc, t, k, v */
  lua_settop(L, 4);
  check_key(L, 2, 3);
  front_check_change(L, 2);
  check_indexable(L, 2, "__newindex", 1);
  lua_settop(L, 4);
  if (half_test(L, 4) != NULL) {
    return diag_error(L, "'c and x' needs an 'or' before it is stored; write 'c and x or y'");
  }
  if (lua_istable(L, 2) && lua_isnil(L, 3)) {
    return luaL_error(L, "index is nil");
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
static void push_callee(lua_State *L, Front *f, int idx, int desc) {
  int top = lua_gettop(L);
  if (f->ir != NULL && lua_iscfunction(L, idx)) {
    lua_rawgetp(L, LUA_REGISTRYINDEX, &replacements_key);
    lua_pushvalue(L, idx);
    if (lua_rawget(L, -2) == LUA_TNIL) {
      lua_pushvalue(L, idx);
    }
  } else if (f->ir != NULL && lua_isfunction(L, idx)) {
    if (src_convert(L, idx, RW_HELPER) != LUA_OK) {
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
  push_callee(L, front_up(L), 1, 2);
  return 1;
}

static int rt_m(lua_State *L) { /* o, name, desc */
  lua_settop(L, 3);
  check_indexable(L, 1, "__index", 3);
  lua_settop(L, 3);
  lua_pushvalue(L, 1);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &self_key);
  lua_pushvalue(L, 2);
  lua_gettable(L, 1);
  lua_pushfstring(L, "method '%s'", lua_tostring(L, 2));
  push_callee(L, front_up(L), 4, 5);
  return 1;
}

static int rt_self(lua_State *L) {
  lua_rawgetp(L, LUA_REGISTRYINDEX, &self_key);
  lua_pushnil(L);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &self_key);
  return 1;
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
  } else if (t != NULL && t->in_kernel && t->serial == f->serial) {
    if (t->at == NULL) {
      ct_ir_name_buf(f->ir, t->buf, name);
    }
    tensor_set_name(L, 1, name);
  }
  lua_settop(L, 1);
  return 1;
}

/* --- what a kernel calls instead of some C functions -------------------------------------------------- */

/* Each has the original as upvalue 1. */
int front_call_original(lua_State *L) {
  lua_pushvalue(L, lua_upvalueindex(1));
  lua_insert(L, 1);
  lua_call(L, lua_gettop(L) - 1, LUA_MULTRET);
  return lua_gettop(L);
}

static int changes_table(lua_State *L) { /* insert, remove */
  front_check_change(L, 1);
  return front_call_original(L);
}

static int sets_raw(lua_State *L) {
  check_key(L, 1, 2);
  return changes_table(L);
}

static int moves(lua_State *L) { /* table.move(from, first, last, at, to) */
  front_check_change(L, lua_isnoneornil(L, 5) ? 1 : 5);
  return front_call_original(L);
}

/* print, random numbers: the world outside knows how often. */
static int acts(lua_State *L) {
  Front *f = front_of(L);
  f->touched = 0;
  return front_call_original(L);
}

static int yields(lua_State *L) {
  Front *f = front_of(L);
  for (const Frame *frame = front_co(f, L)->top; frame != NULL; frame = frame->parent) {
    if (frame->runtime || frame->pending) {
      return diag_error(L, "coroutine.yield inside a run-time if or loop");
    }
  }
  return lua_yield(L, lua_gettop(L));
}

/* Nothing but blocks, which functions and loops begin with, was recorded since there were n operations. */
static bool is_unchanged(const CtIr *ir, size_t n) {
  while (n < ir->n_insts && ct_inst(ir, (CtVal)n)->op == CT_OP_BLOCK) {
    n++;
  }
  return n == ir->n_insts;
}

/* pcall and xpcall: what was recorded cannot be taken back, so an error behind it goes on. */
static int protects(lua_State *L) {
  Front *f = front_of(L);
  Co *co = front_co(f, L);
  const Front before = *f;
  Frame *top = co->top;
  size_t n_insts = f->ir->n_insts;
  CtRegion region = f->ir->cur;
  CtVal position = ct_ir_position(f->ir);
  for (int i = 1; i <= 2; i++) { /* xpcall has a handler */
    if (lua_isfunction(L, i)) {
      push_callee(L, f, i, 0);
      lua_replace(L, i);
    }
  }
  front_call_original(L);
  if (!lua_toboolean(L, 1)) {
    if (!is_unchanged(f->ir, n_insts)) {
      lua_settop(L, 2);
      return lua_error(L);
    }
    f->ir->cur = region;
    ct_ir_rollback(f->ir, position);
    f->dead = before.dead;
    f->assigned = before.assigned;
    f->n_trusted = before.n_trusted;
    co->top = top;
    f->cur = co;
  }
  return lua_gettop(L);
}

/* coroutine.create, and wrap: its function has the coroutine as its last upvalue. */
static int starts_coroutine(lua_State *L) {
  Front *f = front_of(L);
  if (lua_isfunction(L, 1)) {
    push_callee(L, f, 1, 0);
    lua_replace(L, 1);
  }
  int n = front_call_original(L);
  for (int i = 2; i > 0 && !lua_isthread(L, -1); i--) {
    if (lua_getupvalue(L, n, i) != NULL && !lua_isthread(L, -1)) {
      lua_pop(L, 1);
    }
  }
  if (lua_isthread(L, -1)) {
    set_birth(L, f);
  }
  lua_settop(L, n);
  return n;
}

/* --- functions that ask what a value is: a run-time value is a number or a boolean ------------------ */

static int asks_type(lua_State *L) {
  CtVal v;
  if (value_test(L, 1, &v)) {
    bool is_bool = ct_inst(front_ir(L), v)->type == CT_bool;
    lua_pushstring(L, is_bool ? "boolean" : "number");
    return 1;
  }
  return front_call_original(L);
}

static int asks_math_type(lua_State *L) {
  CtVal v;
  if (value_test(L, 1, &v) && ct_inst(front_ir(L), v)->type != CT_bool) {
    bool is_int = ct_is_int((CtDtype)ct_inst(front_ir(L), v)->type);
    lua_pushstring(L, is_int ? "integer" : "float");
    return 1;
  }
  return front_call_original(L);
}

static int asks_number(lua_State *L) { /* tonumber */
  CtVal v;
  if (lua_gettop(L) == 1 && value_test(L, 1, &v) && ct_inst(front_ir(L), v)->type != CT_bool) {
    return 1;
  }
  return front_call_original(L);
}

static int asks_integer(lua_State *L) { /* math.tointeger */
  CtVal v;
  if (value_test(L, 1, &v)) {
    CtDtype type = (CtDtype)ct_inst(front_ir(L), v)->type;
    if (!ct_is_int(type)) {
      return diag_error(L, "math.tointeger of a run-time %s; use cast(x, i32)", value_kind(type));
    }
    lua_settop(L, 1);
    return 1;
  }
  return front_call_original(L);
}

/* rawequal, and rawget by the key: a run-time value equals no other without Lua asking it. */
static int compares_raw(lua_State *L) {
  if (value_test(L, 1, NULL) || value_test(L, 2, NULL)) {
    return diag_error(L, "a raw access cannot tell what a run-time value is; use == or a tensor");
  }
  return front_call_original(L);
}

static int asserts(lua_State *L) {
  CtVal v;
  if (half_test(L, 1) != NULL) {
    return diag_error(L, "assert: 'c and x' needs an 'or' to be a value; write 'c and x or y'");
  }
  if (!value_test(L, 1, &v) || ct_inst(front_ir(L), v)->type != CT_bool) {
    return front_call_original(L);
  }
  if (!lua_isnoneornil(L, 2) && !lua_isstring(L, 2)) {
    return diag_error(L,
                      "assert: the message of a run-time condition is a text, not %s; write "
                      "printf to show values",
                      diag_push_kind(L, 2));
  }
  front_at(L, front_of(L));
  ct_ir_assert(front_ir(L), v, luaL_optstring(L, 2, "assertion failed!"));
  return lua_gettop(L);
}

typedef struct Replacement {
  const char *lib, *name;
  lua_CFunction fn;
} Replacement;

static const Replacement replacements[] = {
    {"_G", "pcall", protects},
    {"_G", "xpcall", protects},
    {"_G", "rawset", sets_raw},
    {"_G", "rawget", compares_raw},
    {"_G", "rawequal", compares_raw},
    {"_G", "type", asks_type},
    {"_G", "tonumber", asks_number},
    {"_G", "assert", asserts},
    {"math", "type", asks_math_type},
    {"math", "tointeger", asks_integer},
    {"table", "insert", changes_table},
    {"table", "remove", changes_table},
    {"table", "move", moves},
    {"_G", "print", acts},
    {"io", "write", acts},
    {"io", "read", acts},
    {"math", "random", acts},
    {"math", "randomseed", acts},
    {"coroutine", "yield", yields},
    {"coroutine", "create", starts_coroutine},
    {"coroutine", "wrap", starts_coroutine},
};

static void new_registry_table(lua_State *L, const void *key, const char *mode) {
  lua_newtable(L);
  if (mode != NULL) {
    lua_createtable(L, 0, 1);
    lua_pushstring(L, mode);
    lua_setfield(L, -2, "__mode");
    lua_setmetatable(L, -2);
  }
  lua_rawsetp(L, LUA_REGISTRYINDEX, key);
}

/* A half-finished choice used as a value. */
static int half_used(lua_State *L) {
  return diag_error(L, "'c and x' needs an 'or' to be a value; write 'c and x or y'");
}

static void open_half(lua_State *L) {
  static const char *const events[] = {"__add",  "__sub", "__mul",  "__div",   "__mod",
                                       "__pow",  "__unm", "__idiv", "__band",  "__bor",
                                       "__bxor", "__shl", "__shr",  "__bnot",  "__concat",
                                       "__len",  "__lt",  "__le",   "__index", "__call"};
  luaL_newmetatable(L, HALF_TYPE);
  for (size_t i = 0; i < CT_ARRAY_LEN(events); i++) {
    lua_pushcfunction(L, half_used);
    lua_setfield(L, -2, events[i]);
  }
  lua_pop(L, 1);
  luaL_newmetatable(L, BOX_TYPE);
  lua_pop(L, 1);
}

void front_open_expr(lua_State *L) {
  new_registry_table(L, &anchors_key, NULL);
  new_registry_table(L, &births_key, "k");
  new_registry_table(L, &replacements_key, NULL);
  open_half(L);
  for (size_t i = 0; i < CT_ARRAY_LEN(replacements); i++) {
    const Replacement *r = &replacements[i];
    lua_rawgeti(L, LUA_REGISTRYINDEX, LUA_RIDX_GLOBALS);
    if (lua_getfield(L, -1, r->lib) == LUA_TTABLE) {
      lua_getfield(L, -1, r->name);
      lua_pushvalue(L, -1);
      lua_pushcclosure(L, r->fn, 1);
      front_replace(L, -2);
      lua_pop(L, 1);
    }
    lua_pop(L, 2);
  }
}

void front_replace(lua_State *L, int idx) {
  idx = lua_absindex(L, idx);
  if (lua_iscfunction(L, idx)) {
    lua_rawgetp(L, LUA_REGISTRYINDEX, &replacements_key);
    lua_pushvalue(L, idx);
    lua_pushvalue(L, -3);
    lua_rawset(L, -3);
    lua_pop(L, 1);
  }
  lua_pop(L, 1);
}

const luaL_Reg front_expr_fns[] = {
    {"andb", rt_andb}, {"ande", rt_ande}, {"orb", rt_orb}, {"ore", rt_ore}, {"not", rt_not},
    {"lt", rt_lt},     {"le", rt_le},     {"gt", rt_gt},   {"ge", rt_ge},   {"eq", rt_eq},
    {"ne", rt_ne},     {"ix", rt_ix},     {"set", rt_set}, {"fn", rt_fn},   {"m", rt_m},
    {"self", rt_self}, {"t", rt_t},       {"nm", rt_nm},   {NULL, NULL}};
