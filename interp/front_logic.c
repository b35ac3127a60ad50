/* front_logic.c: the runtime functions of and, or, not (contracts in rewrite.h). */
#include <lauxlib.h>

#include "diag.h"
#include "front_state.h"
#include "tensor.h"

static char anchors_key; /* registry: logic frames, which no Lua variable holds */

Half *half_test(lua_State *L, int idx) {
  Half *half = lua_type(L, idx) == LUA_TUSERDATA ? luaL_testudata(L, idx, HALF_TYPE) : NULL;
  if (half != NULL) {
    front_check_own(L, half->serial, "a run-time 'c and x'");
  }
  return half;
}

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

bool front_is_bool(lua_State *L, const Front *f, int idx) {
  CtVal v;
  return lua_isboolean(L, idx) || (value_test(L, idx, &v) && ct_inst(f->ir, v)->type == CT_bool);
}

bool front_is_number(lua_State *L, const Front *f, int idx) {
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
  } else if (front_is_number(L, f, 1)) {
    begin_choice(L, f, &frame, 1);
  } else if (front_is_bool(L, f, 1)) {
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
    if (!front_is_number(L, f, 1)) {
      return diag_error(L, "'c and x or y' has a number for x but a %s for y",
                        front_is_bool(L, f, 1) ? "boolean" : luaL_typename(L, 1));
    }
    end_choice(L, f, &frame, 1);
  } else if (front_is_bool(L, f, 1)) {
    join_bools(L, f, &frame, 1);
  } else if (front_is_number(L, f, 1)) {
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
}

void front_open_logic(lua_State *L) {
  front_new_table(L, &anchors_key, NULL);
  open_half(L);
}

const luaL_Reg front_logic_fns[] = {{"andb", rt_andb}, {"ande", rt_ande}, {"orb", rt_orb},
                                    {"ore", rt_ore},   {"not", rt_not},   {NULL, NULL}};
