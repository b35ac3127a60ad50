/* front_logic.c: the runtime functions of and, or, not (contracts in rewrite.h). */
#include <lauxlib.h>

#include "interp/state/diag.h"
#include "interp/trace/front_state.h"
#include "front_parts.h"

static char anchors_key; /* registry: logic frames, which no Lua variable holds */

enum { MAX_LOGIC = 100 };

/* Pushes the frame that pop_logic finds. With the half at idx 1, if it is one. */
static Frame *push_logic(lua_State *L, Front *f, bool is_or) {
  int depth = 0;
  for (const Frame *p = front_co(f, L)->top; p != NULL && p->kind == FRAME_LOGIC; p = p->parent) {
    depth++;
  }
  if (depth >= MAX_LOGIC) {
    front_refuse(L, "'and' and 'or' nest deeper than %d; use a local for a part", MAX_LOGIC);
  }
  Frame *frame = frame_push(L, f, FRAME_LOGIC);
  frame->is_or = is_or;
  lua_pushvalue(L, 1);
  lua_setiuservalue(L, -2, 1);
  lua_rawgetp(L, LUA_REGISTRYINDEX, &anchors_key);
  lua_pushvalue(L, -2);
  lua_rawsetp(L, -2, frame);
  lua_pop(L, 2);
  return frame;
}

/* Pushes the left side. */
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
  lua_rawgetp(L, -1, frame);
  lua_getiuservalue(L, -1, 1);
  lua_insert(L, -3); /* stack: left, anchors, frame */
  lua_pushnil(L);
  lua_rawsetp(L, -3, frame);
  lua_pop(L, 2);
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
  return front_refuse(
      L, "'c %s x' under a run-time condition can only choose numbers or booleans, got %s", op,
      diag_push_kind(L, idx));
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

/* Lua's own false or nil: the side chooses nothing. */
static bool is_never(lua_State *L, int idx) {
  return lua_isnil(L, idx) || (lua_isboolean(L, idx) && !lua_toboolean(L, idx));
}

/* `half or`: the right side is for those for whom the half's condition is false. */
static void begin_other_half(lua_State *L, Front *f, Frame *frame, const Half *half) {
  front_at(L, f);
  frame->has_else = true;
  if (choice_goes_on(f, frame, half)) {
    frame->runtime = true;
    frame->runtime_at = ++f->clock;
  } else {
    open_logic(L, f, frame, choice_taken(f->ir, half), false);
  }
}

/* After the left side. Pushes what tells the script to go on with the right one, or leaves the left one. */
static int begin_logic(lua_State *L, bool is_or) {
  Front *f = front_up(L);
  lua_settop(L, 1);
  Frame *frame = push_logic(L, f, is_or);
  const Half *half = half_test(L, 1);
  CtVal c;
  if (half != NULL && is_or) {
    begin_other_half(L, f, frame, half);
  } else if (half != NULL) {
    open_logic(L, f, frame, choice_taken(f->ir, half), true);
  } else if (value_test(L, 1, &c) && ct_inst(f->ir, c)->type == CT_bool) {
    open_logic(L, f, frame, c, !is_or);
  } else {
    return 1; /* static; a run-time number is true */
  }
  lua_pushboolean(L, !is_or);
  return 1;
}

static int rt_andb(lua_State *L) { return begin_logic(L, false); }
static int rt_orb(lua_State *L) { return begin_logic(L, true); }

static void end_and(lua_State *L, Front *f, const Frame *frame) {
  const Half *half = half_test(L, 1);
  if (half != NULL) {
    choice_nest(L, f, frame, half);
  } else if (front_is_number(L, f, 1)) {
    choice_begin(L, f, frame, 1);
  } else if (is_never(L, 1)) {
    ct_ir_end(f->ir, frame->if_op);
    lua_pushboolean(L, 0);
  } else if (front_is_bool(L, f, 1)) {
    join_bools(L, f, frame, 1);
  } else {
    fail_choice(L, 1, "and");
  }
}

/* `half or x`, where the left side, the half, is at `left`. */
static void end_half(lua_State *L, Front *f, const Frame *frame, int left) {
  const Half *right = half_test(L, 1);
  Half *half = half_test(L, left);
  if (right != NULL) {
    choice_join(L, f, frame, half, right);
  } else if (is_never(L, 1)) {
    choice_none(L, f, frame, left);
  } else if (front_is_number(L, f, 1)) {
    choice_end(L, f, frame, half, 1);
  } else {
    front_refuse(L, "'c and x or y' has a number for x but %s for y; write numbers on both sides",
                 front_is_bool(L, f, 1) ? "a boolean" : diag_push_kind(L, 1));
  }
}

static void end_or(lua_State *L, Front *f, const Frame *frame) {
  if (f->dead &&
      frame->has_else) { /* c and x or error("y"): no thread goes on with the right side */
    lua_pushinteger(L, 0);
    lua_replace(L, 1);
  }
  if (frame->has_else) {
    end_half(L, f, frame, 2);
  } else if (lua_isnil(L, 1)) {
    ct_ir_end(f->ir, frame->if_op);
    value_push(L, frame->cond);
  } else if (front_is_bool(L, f, 1)) {
    join_bools(L, f, frame, 1);
  } else if (front_is_number(L, f, 1) || half_test(L, 1) != NULL) {
    front_refuse(L, "'c or x' has a run-time condition for c and a number for x; write 'c and y "
                    "or x'");
  } else {
    fail_choice(L, 1, "or");
  }
}

/* After the right side: the value of both. */
static int rt_end_logic(lua_State *L) {
  Front *f = front_up(L);
  lua_settop(L, 1);
  const Frame frame = pop_logic(L, f);
  if (!frame.runtime) {
    lua_settop(L, 1);
    return 1;
  }
  front_at(L, f);
  if (frame.is_or) {
    end_or(L, f, &frame);
  } else {
    end_and(L, f, &frame);
  }
  f->dead = false;
  front_reload(L, f, frame.opened_at);
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
  return front_refuse(L, "'c and x' needs an 'or' to be a value; write 'c and x or y'");
}

void front_open_logic(lua_State *L) {
  front_new_table(L, &anchors_key, NULL);
  front_refuse_uses(L, HALF_TYPE, half_used);
  lua_pop(L, 1);
}

const luaL_Reg front_logic_fns[] = {{"andb", rt_andb},     {"ande", rt_end_logic}, {"orb", rt_orb},
                                    {"ore", rt_end_logic}, {"not", rt_not},        {NULL, NULL}};
