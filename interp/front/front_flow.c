/* front_flow.c: the runtime functions of control flow (contracts in rewrite.h): if and goto, and what all
   statements share. */
#include <lauxlib.h>

#include "interp/state/diag.h"
#include "interp/trace/front_state.h"
#include "front_parts.h"

Frame *frame_arg(lua_State *L) { return luaL_checkudata(L, 1, FRAME_TYPE); }

int front_truth(lua_State *L, int idx, const char *what, CtVal *c) {
  const Half *half = half_test(L, idx);
  if (half != NULL) {
    return front_refuse(L, "'c and x' needs an 'or' before '%s' tests it; write 'c and x or y'",
                        what);
  }
  if (!value_test(L, idx, c)) {
    front_check_missing(L, idx);
    return lua_toboolean(L, idx);
  }
  CtDtype type = (CtDtype)ct_inst(front_ir(L), *c)->type;
  if (type != CT_bool) {
    return front_refuse(L,
                        "'%s' tests a run-time %s, which Lua counts as true even when it is 0; "
                        "write 'x ~= 0', or 'x ~= nil' to ask whether it was passed",
                        what, value_kind(type));
  }
  return -1;
}

int front_return_loop(lua_State *L, lua_CFunction iter, int frame) {
  frame = lua_absindex(L, frame);
  lua_pushvalue(L, lua_upvalueindex(1));
  lua_pushcclosure(L, iter, 1);
  lua_pushvalue(L, frame);
  lua_pushnil(L);
  lua_pushvalue(L, frame);
  return 4;
}

void front_become_runtime(Front *f, Frame *frame) {
  frame->runtime = true;
  frame->runtime_at = ++f->clock;
}

void front_note(lua_State *L, Front *f, const char *what, bool yes) {
  if (f->ir != NULL && f->ir->wants_notes && !f->dead) {
    front_at(L, f);
    ct_ir_note(f->ir, what, yes);
  }
}

/* --- if ------------------------------------------------------------------------------------------ */

static int yield_once(lua_State *L) { /* (number, control): the number, then nil */
  lua_settop(L, lua_isnil(L, 2) ? 1 : 0);
  return lua_gettop(L);
}

static int return_static_arm(lua_State *L, int k) { /* k 0: no arm */
  lua_pushcfunction(L, yield_once);
  if (k == 0) {
    lua_pushnil(L);
    lua_pushboolean(L, 1); /* control: as if the number had been yielded */
    return 3;
  }
  lua_pushinteger(L, k);
  return 2;
}

/* Opens an IF of the kernel for the arm that comes next. */
static void open_arm(lua_State *L, Front *f, Frame *frame, CtVal cond) {
  front_at(L, f);
  CtVal op = ct_ir_if(f->ir, cond);
  if (!frame->runtime) {
    frame->op = op;
    front_become_runtime(f, frame);
    front_enter(L, f, frame);
  }
  frame->if_op = op;
  frame->before = f->assigned;
}

/* The end of a run-time arm: on into its else. */
static void close_arm(lua_State *L, Front *f, Frame *frame) {
  front_join(f, &frame->joined, &frame->some_live);
  front_at(L, f);
  ct_ir_else(f->ir, frame->if_op);
  f->dead = false;
  f->assigned = frame->before;
  front_reload(L, f, frame->opened_at);
}

static int yield_number(lua_State *L, Frame *frame, int k) {
  frame->last_k = k;
  lua_pushinteger(L, k);
  if (frame->runtime) {
    lua_pushvalue(L, 1);
  } else {
    lua_pushnil(L);
  }
  return 2;
}

/* What follows condition or arm i when it was not taken. */
static int yield_rest(lua_State *L, Front *f, Frame *frame, int i) {
  if (i < frame->n_conds) {
    return yield_number(L, frame, 2 * i);
  }
  if (frame->has_else) {
    return yield_number(L, frame, 2 * frame->n_conds);
  }
  if (frame->runtime) {
    front_join(f, &frame->joined, &frame->some_live); /* an else that does nothing */
  }
  return 0;
}

static int if_next(lua_State *L) {
  Front *f = front_up(L);
  Frame *frame = frame_arg(L);
  int k = frame->last_k;
  if (k == 0) { /* first turn: the first condition decided */
    return frame->runtime ? yield_number(L, frame, 1) : yield_rest(L, f, frame, 1);
  }
  bool is_arm = k % 2 == 1;
  int i = (k + 1) / 2;
  if (!is_arm && k < 2 * frame->n_conds) { /* a condition: ei has said what comes */
    i = k / 2 + 1;
    return frame->turns != 0 ? yield_number(L, frame, 2 * i - 1) : yield_rest(L, f, frame, i);
  }
  if (!frame->runtime) {
    return 0;
  }
  if (!is_arm || frame->is_last_arm) {
    front_join(f, &frame->joined, &frame->some_live);
    return 0;
  }
  close_arm(L, f, frame);
  return yield_rest(L, f, frame, i);
}

static int rt_if(lua_State *L) {
  Front *f = front_up(L);
  int n = (int)lua_tointeger(L, 1);
  bool has_else = lua_toboolean(L, 2);
  CtVal c = 0;
  int truth = front_truth(L, 3, "if", &c);
  if (truth >= 0) {
    front_note(L, f, "if", truth == 1);
  }
  if (truth == 1) {
    return return_static_arm(L, 1);
  }
  if (truth == 0 && n == 1) {
    return return_static_arm(L, has_else ? 2 : 0);
  }
  Frame *frame = frame_push(L, f, FRAME_IF);
  frame->n_conds = n;
  frame->has_else = has_else;
  if (truth < 0) {
    open_arm(L, f, frame, c);
  }
  return front_return_loop(L, if_next, -1);
}

static int rt_ei(lua_State *L) {
  Front *f = front_up(L);
  Frame *frame = frame_top(L, f, FRAME_IF);
  CtVal c = 0;
  int truth = front_truth(L, 1, "elseif", &c);
  if (truth >= 0) {
    front_note(L, f, "elseif", truth == 1);
  }
  frame->turns = truth != 0;
  frame->is_last_arm = truth == 1;
  if (truth < 0) {
    open_arm(L, f, frame, c);
  }
  return 0;
}

/* --- goto ----------------------------------------------------------------------------------------- */

static int rt_mark(lua_State *L) {
  frame_push(L, front_up(L), FRAME_MARK);
  return 1;
}

static int rt_goto(lua_State *L) {
  Front *f = front_up(L);
  Frame *target = frame_arg(L);
  bool plain = f->ir == NULL || front_is_plain(f, L, target);
  if (!plain) {
    front_exit(L, f, target);
  }
  lua_pushboolean(L, plain);
  return 1;
}

static int rt_here(lua_State *L) {
  lua_pushlightuserdata(L, front_co(front_up(L), L)->top);
  return 1;
}

static int rt_back(lua_State *L) { /* H, label */
  Front *f = front_up(L);
  const Frame *point = lua_touserdata(L, 1);
  const Frame *frame = front_co(f, L)->top;
  for (; frame != NULL && frame != point; frame = frame->parent) {
    if (frame->runtime || frame->pending) {
      return front_refuse(L, "goto %s jumps back under a run-time condition; write a while loop",
                          lua_tostring(L, 2));
    }
  }
  if (f->ir != NULL && frame != NULL) {
    front_count_turn(L, f, (Frame *)lua_touserdata(L, 1));
  }
  return 0;
}

static int rt_dead(lua_State *L) {
  const Front *f = front_up(L);
  lua_pushboolean(L, f->ir != NULL && f->dead);
  return 1;
}

const luaL_Reg front_flow_fns[] = {{"if", rt_if},     {"ei", rt_ei},     {"mark", rt_mark},
                                   {"goto", rt_goto}, {"here", rt_here}, {"back", rt_back},
                                   {"dead", rt_dead}, {NULL, NULL}};
