/* front_flow.c: the runtime functions of control flow (contracts in rewrite.h): functions and their
   returns, if, loops, goto. */
#include <lauxlib.h>
#include <limits.h>
#include <math.h>
#include <string.h>

#include "diag.h"
#include "front_state.h"
#include "range.h"

static Frame *frame_arg(lua_State *L, int idx) { return luaL_checkudata(L, idx, FRAME_TYPE); }

int front_truth(lua_State *L, int idx, const char *what, CtVal *c) {
  const Half *half = half_test(L, idx);
  if (half != NULL) {
    return diag_error(L, "'c and x' needs an 'or' before '%s' tests it; write 'c and x or y'",
                      what);
  }
  if (!value_test(L, idx, c)) {
    return lua_toboolean(L, idx);
  }
  CtDtype type = (CtDtype)ct_inst(front_ir(L), *c)->type;
  if (type != CT_bool) {
    return diag_error(L,
                      "'%s' tests a run-time %s, which Lua counts as true even when it is 0; write "
                      "'x ~= 0'",
                      what, value_kind(type));
  }
  return -1;
}

/* The four values of a generic for whose iterator's state is the frame at `frame`. */
static int return_loop(lua_State *L, lua_CFunction iter, int frame) {
  frame = lua_absindex(L, frame);
  lua_pushvalue(L, lua_upvalueindex(1));
  lua_pushcclosure(L, iter, 1);
  lua_pushvalue(L, frame);
  lua_pushnil(L);
  lua_pushvalue(L, frame);
  return 4;
}

static void become_runtime(Front *f, Frame *frame) {
  frame->runtime = true;
  frame->runtime_at = ++f->clock;
}

/* A decision that leaves no operation, for those who read the IR. */
static void note(lua_State *L, Front *f, const char *what, bool yes) {
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
    become_runtime(f, frame);
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
  Frame *frame = frame_arg(L, 1);
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
    note(L, f, "if", truth == 1);
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
  return return_loop(L, if_next, -1);
}

static int rt_ei(lua_State *L) {
  Front *f = front_up(L);
  Frame *frame = frame_top(L, f, FRAME_IF);
  CtVal c = 0;
  int truth = front_truth(L, 1, "elseif", &c);
  if (truth >= 0) {
    note(L, f, "elseif", truth == 1);
  }
  frame->turns = truth != 0;
  frame->is_last_arm = truth == 1;
  if (truth < 0) {
    open_arm(L, f, frame, c);
  }
  return 0;
}

/* --- loops ---------------------------------------------------------------------------------------- */

static void count_turn(lua_State *L, Front *f, Frame *frame) {
  if (f->ir == NULL) {
    return;
  }
  front_check_size(L, f);
  if (++frame->turns > FRONT_MAX_TURNS) {
    diag_error(
        L,
        "this loop was unrolled %d times while tracing; use 'for i in range(a, b)' for a loop "
        "in the kernel",
        FRONT_MAX_TURNS);
  }
}

/* A loop whose turns run while tracing goes on? Not behind a dead end. */
static bool goes_on(lua_State *L, Front *f, Frame *frame) {
  if (frame->is_done || (f->ir != NULL && f->dead)) {
    return false;
  }
  count_turn(L, f, frame);
  return true;
}

static void open_loop(lua_State *L, Front *f, Frame *frame) {
  front_at(L, f);
  frame->op = ct_ir_loop(f->ir);
  become_runtime(f, frame);
}

static int while_next(lua_State *L) {
  Front *f = front_up(L);
  Frame *frame = frame_arg(L, 1);
  if (frame->runtime || !goes_on(L, f, frame)) {
    return 0;
  }
  if (frame->wants_region) {
    open_loop(L, f, frame);
    lua_pushvalue(L, 1);
    return 1;
  }
  if (f->ir != NULL) {
    frame->position = ct_ir_position(f->ir);
    frame->probed_at = ++f->clock;
    frame->touched_before = f->touched;
    f->touched = UINT64_MAX;
  }
  lua_pushboolean(L, 0);
  return 1;
}

static int rt_while(lua_State *L) {
  Front *f = front_up(L);
  Frame *frame = frame_push(L, f, FRAME_LOOP);
  frame->loop = "while";
  return return_loop(L, while_next, -1);
}

/* `if (c) break`, c a run-time bool. */
static void emit_exit_if(lua_State *L, Front *f, Frame *frame, CtVal c) {
  bool ignored = false;
  front_at(L, f);
  CtVal op = ct_ir_if(f->ir, c);
  ct_ir_break(f->ir, frame->op);
  ct_ir_end(f->ir, op);
  front_join(f, &frame->joined, &ignored);
  frame->loop_exit = true;
}

/* The condition was evaluated; whether that changed something that was there before. */
static bool end_probe(Front *f, const Frame *frame) {
  bool changed = f->touched < frame->probed_at;
  f->touched = f->touched < frame->touched_before ? f->touched : frame->touched_before;
  return changed;
}

static int rt_wc(lua_State *L) {
  Front *f = front_up(L);
  Frame *frame = frame_top(L, f, FRAME_LOOP);
  CtVal c = 0;
  int truth = front_truth(L, 1, "while", &c);
  bool changed = f->ir != NULL && !frame->wants_region && end_probe(f, frame);
  if (truth >= 0) {
    note(L, f, "while", truth == 1);
    frame->is_done = truth == 0;
    if (truth == 0 && frame->runtime) {
      front_exit(L, f, frame);
    }
    lua_pushboolean(L, truth);
  } else if (frame->runtime) {
    front_at(L, f);
    emit_exit_if(L, f, frame, ct_ir_unary(f->ir, CT_OP_LNOT, c));
    lua_pushboolean(L, 1);
  } else if (changed) {
    return diag_error(L,
                      "the condition of a run-time while changes Lua state; write 'while true do "
                      "... if not c then break end'");
  } else {
    ct_ir_rollback(f->ir, frame->position);
    frame->wants_region = true;
    lua_pushboolean(L, 0);
  }
  return 1;
}

/* In a trace one turn; on the host until left. */
static int loop_next(lua_State *L) {
  Front *f = front_up(L);
  Frame *frame = frame_arg(L, 1);
  if (f->ir == NULL) {
    lua_pushboolean(L, 1);
    return frame->is_done ? 0 : 1;
  }
  if (frame->runtime) {
    if (!frame->loop_exit && !frame->pending) {
      return diag_error(L, "this loop has no exit; write 'break' under a condition");
    }
    return 0;
  }
  open_loop(L, f, frame);
  lua_pushvalue(L, 1);
  return 1;
}

static int rt_loop(lua_State *L) {
  Frame *frame = frame_push(L, front_up(L), FRAME_LOOP);
  frame->loop = "loop";
  return return_loop(L, loop_next, -1);
}

static int rt_until(lua_State *L) {
  Front *f = front_up(L);
  Frame *frame = frame_top(L, f, FRAME_LOOP);
  CtVal c = 0;
  int truth = front_truth(L, 1, "until", &c);
  if (truth < 0) {
    emit_exit_if(L, f, frame, c);
  } else if (truth == 1 && f->ir != NULL) {
    front_exit(L, f, frame);
  } else {
    frame->is_done = truth == 1;
  }
  return 0;
}

/* --- numeric for ---------------------------------------------------------------------------------- */

static void check_for_number(lua_State *L, int idx, const char *what) {
  if (lua_type(L, idx) != LUA_TNUMBER) { /* Lua's own wording; strings are not converted */
    luaL_error(L, "'for' %s must be a number", what);
  }
}

/* Lua's own rule: clips a limit to integers; true when the loop does not run at all. */
static bool clip_limit(lua_State *L, int idx, int64_t start, int64_t step, int64_t *limit) {
  if (lua_isinteger(L, idx)) {
    *limit = lua_tointeger(L, idx);
  } else {
    double x = lua_tonumber(L, idx);
    if (isnan(x)) {
      return true;
    }
    double whole = step < 0 ? ceil(x) : floor(x);
    if (whole >= 9223372036854775808.0) {
      *limit = INT64_MAX;
      if (step < 0) {
        return true;
      }
    } else if (whole < -9223372036854775808.0) {
      *limit = INT64_MIN;
      if (step > 0) {
        return true;
      }
    } else {
      *limit = (int64_t)whole;
    }
  }
  return step > 0 ? start > *limit : start < *limit;
}

static void prepare_integers(lua_State *L, Frame *frame) {
  int64_t limit = 0;
  frame->i = lua_tointeger(L, 2);
  frame->step = lua_isnoneornil(L, 4) ? 1 : lua_tointeger(L, 4);
  if (frame->step == 0) {
    luaL_error(L, "'for' step is zero");
    return;
  }
  if (clip_limit(L, 3, frame->i, frame->step, &limit)) {
    frame->is_done = true;
    return;
  }
  uint64_t span =
      frame->step > 0 ? (uint64_t)limit - (uint64_t)frame->i : (uint64_t)frame->i - (uint64_t)limit;
  uint64_t by = frame->step > 0 ? (uint64_t)frame->step : 0 - (uint64_t)frame->step;
  frame->left = span / by;
}

static void prepare_floats(lua_State *L, Frame *frame) {
  frame->is_float = true;
  frame->fi = lua_tonumber(L, 2);
  frame->flimit = lua_tonumber(L, 3);
  frame->fstep = lua_isnoneornil(L, 4) ? 1.0 : lua_tonumber(L, 4);
  if (frame->fstep == 0) {
    luaL_error(L, "'for' step is zero");
  }
}

static int float_turn(lua_State *L, Frame *frame) {
  double i = frame->fi;
  if (frame->fstep > 0 ? !(i <= frame->flimit) : !(frame->flimit <= i)) {
    return 0;
  }
  frame->fi = i + frame->fstep;
  lua_pushnumber(L, i);
  return 1;
}

static int range_next(lua_State *L) { /* (frame, control) of a static numeric for */
  Front *f = front_up(L);
  Frame *frame = frame_arg(L, 1);
  if (!goes_on(L, f, frame)) {
    return 0;
  }
  if (frame->is_float) {
    int n = float_turn(L, frame);
    if (n > 0) {
      note(L, f, "for", true);
    }
    return n;
  }
  note(L, f, "for", true);
  lua_pushinteger(L, frame->i);
  frame->is_done = frame->left-- == 0;
  frame->i = (int64_t)((uint64_t)frame->i + (uint64_t)frame->step);
  return 1;
}

/* A loop of the kernel: one turn with a symbolic index. */
static int for_next(lua_State *L) { /* (frame, control) */
  Front *f = front_up(L);
  const Frame *frame = frame_arg(L, 1);
  if (!lua_isnil(L, 2)) {
    return 0;
  }
  value_push(L, frame->op);
  if (frame->position != 0) { /* the index is narrower than the counter */
    lua_pop(L, 1);
    value_push(L, frame->position);
  }
  lua_pushvalue(L, 1);
  (void)f;
  return 2;
}

static CtDtype index_type(lua_State *L, CtIr *ir, int first) {
  for (int i = first; i < first + 3; i++) {
    CtVal v;
    if (value_test(L, i, &v)) {
      CtDtype type = (CtDtype)ct_inst(ir, v)->type;
      if (!ct_is_int(type)) {
        diag_error(L,
                   "a run-time 'for' counts with integers, got a run-time %s; write a while loop",
                   value_kind(type));
      }
      if (type == CT_u64) {
        diag_error(L, "a run-time 'for' counts with i32 or i64, got a u64; use cast(x, i64)");
      }
      if (type == CT_i64 || type == CT_u32) {
        return CT_i64;
      }
    } else if (lua_type(L, i) == LUA_TNUMBER && !lua_isinteger(L, i)) {
      diag_error(L, "a run-time 'for' counts with integers, got the float %s; write a while loop",
                 lua_tostring(L, i));
    } else if (lua_isinteger(L, i) && lua_tointeger(L, i) != (int32_t)lua_tointeger(L, i)) {
      return CT_i64;
    }
  }
  return CT_i32;
}

/* The exclusive end of a loop with the inclusive limit `b`; 0 when b + 1 might not fit the type. */
static CtVal exclusive_stop(CtIr *ir, CtVal b, bool upwards) {
  const CtInst *inst = ct_inst(ir, b);
  CtDtype type = (CtDtype)inst->type;
  CtOp undone = upwards ? CT_OP_SUB : CT_OP_ADD;
  if (inst->op == undone && ct_inst(ir, inst->args[1])->op == CT_OP_CONST &&
      ct_inst(ir, inst->args[1])->imm.i == 1) {
    return inst->args[0];
  }
  int64_t max = type == CT_i32 ? INT32_MAX : INT64_MAX;
  int64_t min = type == CT_i32 ? INT32_MIN : INT64_MIN;
  if (upwards ? inst->facts.hi == max : inst->facts.lo == min) {
    return 0;
  }
  return ct_ir_binary(ir, upwards ? CT_OP_ADD : CT_OP_SUB, b, ct_ir_const_int(ir, type, 1));
}

static void check_step(lua_State *L, const CtIr *ir, CtVal step) {
  CtFacts s = ct_inst(ir, step)->facts;
  if (s.lo <= 0 && s.hi >= 0) {
    diag_error(L,
               ct_inst(ir, step)->op == CT_OP_CONST
                   ? "'for' step is zero"
                   : "the step of a run-time 'for' must be static or known to be positive; write a "
                     "while loop");
  }
}

/* for i = a, b, s with values at first, first + 1, first + 2 (nil: 1); `inclusive` as Lua's own. */
static void begin_for(lua_State *L, Front *f, Frame *frame, const char *name, int first,
                      bool inclusive, int64_t unroll) {
  CtIr *ir = f->ir;
  front_at(L, f);
  CtDtype type = index_type(L, ir, first);
  CtVal start = value_to(L, first, type, "the start of 'for'");
  CtVal stop = value_to(L, first + 1, type, "the limit of 'for'");
  CtVal step = lua_isnoneornil(L, first + 2) ? ct_ir_const_int(ir, type, 1)
                                             : value_to(L, first + 2, type, "the step of 'for'");
  check_step(L, ir, step);
  bool upwards = ct_inst(ir, step)->facts.lo > 0;
  CtVal end = inclusive ? exclusive_stop(ir, stop, upwards) : stop;
  bool widened = end == 0;
  if (widened) {
    start = ct_ir_cast(ir, start, CT_i64);
    step = ct_ir_cast(ir, step, CT_i64);
    end = ct_ir_binary(ir, upwards ? CT_OP_ADD : CT_OP_SUB, ct_ir_cast(ir, stop, CT_i64),
                       ct_ir_const_int(ir, CT_i64, 1));
  }
  frame->op = ct_ir_for(ir, start, end, step, unroll, name);
  frame->position = widened ? ct_ir_cast(ir, frame->op, type) : 0;
  frame->loop_exit = true; /* it ends by itself, too */
  bool ignored = false;
  front_join(f, &frame->joined, &ignored);
  become_runtime(f, frame);
}

static bool is_runtime_range(lua_State *L) {
  return value_test(L, 2, NULL) || value_test(L, 3, NULL) || value_test(L, 4, NULL);
}

static int rt_range(lua_State *L) { /* name, a, b, s */
  Front *f = front_up(L);
  lua_settop(L, 4);
  for (int i = 2; i <= 4; i++) {
    if (half_test(L, i) != NULL) {
      return diag_error(L, "'c and x' needs an 'or' before 'for' counts with it");
    }
  }
  Frame *frame = frame_push(L, f, FRAME_LOOP);
  frame->loop = "for";
  if (is_runtime_range(L)) {
    begin_for(L, f, frame, lua_tostring(L, 1), 2, true, 0);
    return return_loop(L, for_next, -1);
  }
  check_for_number(L, 2, "initial value");
  check_for_number(L, 3, "limit");
  if (!lua_isnoneornil(L, 4)) {
    check_for_number(L, 4, "step");
  }
  note(L, f, "for", false);
  bool integers = lua_isinteger(L, 2) && (lua_isnoneornil(L, 4) || lua_isinteger(L, 4));
  (integers ? prepare_integers : prepare_floats)(L, frame);
  return return_loop(L, range_next, -1);
}

/* --- generic for ---------------------------------------------------------------------------------- */

static int iter_next(lua_State *L) { /* (frame, control): calls the script's own iterator */
  Front *f = front_up(L);
  Frame *frame = frame_arg(L, 1);
  if (!goes_on(L, f, frame)) {
    return 0;
  }
  lua_settop(L, 2);
  lua_getiuservalue(L, 1, 1);
  lua_getiuservalue(L, 1, 2);
  lua_pushvalue(L, 2);
  lua_call(L, 2, LUA_MULTRET);
  if (lua_gettop(L) > 2 && !lua_isnil(L, 3)) {
    note(L, f, "for", true);
  }
  return lua_gettop(L) - 2;
}

static int begin_range(lua_State *L, Front *f, const char *name, const Range *r) {
  if (f->ir == NULL) {
    return diag_error(L, "a loop over range() or axes() exists only inside a kernel");
  }
  if (r->serial != f->serial) {
    return diag_error(
        L, "a range was kept from a kernel whose trace has ended; make it in each kernel");
  }
  Frame *frame = frame_push(L, f, FRAME_LOOP);
  frame->loop = "in";
  int base = lua_gettop(L);
  for (int i = 0; i < 3; i++) {
    CtInt part = i == 0 ? r->start : (i == 1 ? r->stop : r->step);
    if (part.kind == CT_DYNAMIC) {
      value_push(L, part.id);
    } else {
      lua_pushinteger(L, part.v);
    }
  }
  begin_for(L, f, frame, name, base + 1, false, r->unroll);
  lua_settop(L, base);
  return return_loop(L, for_next, base);
}

static int rt_iter(lua_State *L) { /* name, f, s, c, closing */
  Front *f = front_up(L);
  lua_settop(L, 5);
  const Range *range = range_test(L, 2);
  if (range != NULL) {
    return begin_range(L, f, lua_tostring(L, 1), range);
  }
  note(L, f, "for", false);
  Frame *frame = frame_push(L, f, FRAME_LOOP);
  frame->loop = "in";
  lua_getfield(L, lua_upvalueindex(2), "fn"); /* the iterator is converted as any callee */
  lua_pushvalue(L, 2);
  lua_pushliteral(L, "for iterator 'for iterator'");
  lua_call(L, 2, 1);
  lua_setiuservalue(L, 6, 1);
  lua_pushvalue(L, 3);
  lua_setiuservalue(L, 6, 2);
  if (!lua_isnil(L, 5)) {
    return diag_error(
        L, "a 'for' with a closing value cannot run in a kernel; close it behind the loop");
  }
  lua_pushvalue(L, lua_upvalueindex(1));
  lua_pushcclosure(L, iter_next, 1);
  lua_pushvalue(L, 6);
  lua_pushvalue(L, 4);
  lua_pushvalue(L, 6);
  return 4;
}

static int rt_brk(lua_State *L) {
  Front *f = front_up(L);
  if (f->ir != NULL) {
    Frame *target = frame_top(L, f, FRAME_LOOP);
    if (target->runtime || !front_is_plain(f, L, target)) {
      front_exit(L, f, target);
      lua_pushboolean(L, 0);
      return 1;
    }
  }
  lua_pushboolean(L, 1);
  return 1;
}

/* --- goto ----------------------------------------------------------------------------------------- */

static int rt_mark(lua_State *L) {
  frame_push(L, front_up(L), FRAME_MARK);
  return 1;
}

static int rt_goto(lua_State *L) {
  Front *f = front_up(L);
  Frame *target = frame_arg(L, 1);
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
      return diag_error(L, "goto %s jumps back under a run-time condition; write a while loop",
                        lua_tostring(L, 2));
    }
  }
  if (f->ir != NULL && frame != NULL) {
    count_turn(L, f, (Frame *)lua_touserdata(L, 1));
  }
  return 0;
}

static int rt_dead(lua_State *L) {
  const Front *f = front_up(L);
  lua_pushboolean(L, f->ir != NULL && f->dead);
  return 1;
}

/* --- functions ------------------------------------------------------------------------------------- */

static int rt_func(lua_State *L) { /* name, is_kernel */
  Front *f = front_up(L);
  const Frame *outer = front_co(f, L)->top;
  while (outer != NULL && outer->kind != FRAME_FUNC) {
    outer = outer->parent;
  }
  int depth = outer == NULL ? 1 : outer->depth + 1;
  if (f->ir != NULL && depth > FRONT_MAX_DEPTH) {
    return diag_error(
        L,
        "'%s' calls itself %d levels deep while tracing; recursion must end on a static "
        "value, not on a run-time one",
        luaL_optstring(L, 1, "?"), FRONT_MAX_DEPTH);
  }
  Frame *frame = frame_push(L, f, FRAME_FUNC);
  frame->depth = depth;
  frame->is_kernel = lua_toboolean(L, 2);
  return 1;
}

/* Keeps the values behind the frame in a table, for retv. */
static void keep_values(lua_State *L, Frame *frame, int n) {
  frame->turns = n;
  lua_createtable(L, n, 0);
  for (int i = 1; i <= n; i++) {
    lua_pushvalue(L, i + 1);
    lua_rawseti(L, -2, i);
  }
  lua_setiuservalue(L, 1, 1);
}

static void check_result(lua_State *L, int idx) {
  if (!value_test(L, idx, NULL) && lua_type(L, idx) != LUA_TNUMBER && !lua_isboolean(L, idx)) {
    diag_error(
        L,
        "a %s is returned under a run-time condition; only numbers and booleans can differ by "
        "path",
        luaL_typename(L, idx));
  }
}

/* Stores the values in the result variables of the frame, made by the first such return. */
static void record_values(lua_State *L, Front *f, Frame *frame, int n) {
  if (frame->n_results >= 0 && frame->n_results != n) {
    diag_error(L, "%d values are returned here but %d elsewhere; the counts must agree", n,
               frame->n_results);
  }
  if (frame->n_results < 0) {
    frame->n_results = n;
    lua_createtable(L, n, 0);
    for (int i = 1; i <= n; i++) {
      Box *box = box_push(L, f, BOX_VAR, "result");
      box->nil_var = -1;
      lua_rawseti(L, -2, i);
    }
    lua_setiuservalue(L, 1, 2);
  }
  lua_getiuservalue(L, 1, 2);
  for (int i = 1; i <= n; i++) {
    check_result(L, i + 1);
    lua_rawgeti(L, -1, i);
    box_store(L, f, lua_gettop(L), i + 1);
    lua_pop(L, 1);
  }
  lua_pop(L, 1);
}

static int rt_ret(lua_State *L) { /* F, ... */
  Front *f = front_up(L);
  Frame *frame = frame_arg(L, 1);
  int n = lua_gettop(L) - 1;
  if (f->ir != NULL && frame->is_kernel && n > 0) {
    return diag_error(L, "a kernel returns no values");
  }
  bool plain = f->ir == NULL || (!frame->pending && front_is_plain(f, L, frame));
  if (plain) {
    keep_values(L, frame, n);
  } else {
    front_at(L, f);
    record_values(L, f, frame, n);
    front_exit(L, f, frame);
  }
  lua_pushboolean(L, plain);
  return 1;
}

static int rt_retv(lua_State *L) {
  const Frame *frame = frame_arg(L, 1);
  int n = frame->turns;
  luaL_checkstack(L, n + 1, "too many results");
  lua_getiuservalue(L, 1, 1);
  for (int i = 1; i <= n; i++) {
    lua_rawgeti(L, 2, i);
  }
  return n;
}

static int rt_leave(lua_State *L) {
  Front *f = front_up(L);
  Frame *frame = frame_arg(L, 1);
  if (f->ir == NULL || frame->n_results < 0) {
    return 0;
  }
  if (!f->dead && frame->n_results > 0) {
    return diag_error(L, "a value is returned on some paths but not at the end of the function");
  }
  frame_end(f, frame); /* the results are read behind its block */
  luaL_checkstack(L, frame->n_results + 2, "too many results");
  lua_getiuservalue(L, 1, 2);
  for (int i = 1; i <= frame->n_results; i++) {
    lua_rawgeti(L, 2, i);
    box_load(L, f, lua_gettop(L));
    lua_remove(L, -2);
  }
  return frame->n_results;
}

const luaL_Reg front_flow_fns[] = {
    {"func", rt_func}, {"ret", rt_ret},     {"retv", rt_retv},   {"leave", rt_leave},
    {"if", rt_if},     {"ei", rt_ei},       {"while", rt_while}, {"wc", rt_wc},
    {"loop", rt_loop}, {"until", rt_until}, {"range", rt_range}, {"iter", rt_iter},
    {"brk", rt_brk},   {"mark", rt_mark},   {"goto", rt_goto},   {"here", rt_here},
    {"back", rt_back}, {"dead", rt_dead},   {NULL, NULL}};
