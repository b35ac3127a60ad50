/* front_for.c: the runtime functions of for (contracts in rewrite.h): numeric, over a range of the kernel,
   generic. */
#include <lauxlib.h>
#include <limits.h>
#include <math.h>

#include "interp/state/diag.h"
#include "interp/trace/front_state.h"
#include "interp/trace/range.h"
#include "front_parts.h"

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

/* Bounds of a type count in it, while tracing as in a loop of the kernel. */
static void push_counted(lua_State *L, const Front *f, const Frame *frame) {
  if (frame->type == CT_VOID) {
    lua_pushinteger(L, frame->i);
  } else {
    value_push(L, ct_ir_const_int(f->ir, frame->type, frame->i));
  }
}

static int range_next(lua_State *L) { /* (frame, control) of a static numeric for */
  Front *f = front_up(L);
  Frame *frame = frame_arg(L);
  if (!front_goes_on(L, f, frame)) {
    return 0;
  }
  if (frame->is_float) {
    int n = float_turn(L, frame);
    if (n > 0) {
      front_note(L, f, "for", true);
    }
    return n;
  }
  front_note(L, f, "for", true);
  push_counted(L, f, frame);
  frame->is_done = frame->left-- == 0;
  frame->i = (int64_t)((uint64_t)frame->i + (uint64_t)frame->step);
  return 1;
}

static void push_index(lua_State *L, const Frame *frame) { value_push(L, frame->position); }

/* A loop of the kernel: one turn with a symbolic index. */
static int for_next(lua_State *L) { /* (frame, control) */
  const Frame *frame = frame_arg(L);
  if (!lua_isnil(L, 2)) {
    return 0;
  }
  push_index(L, frame);
  lua_pushvalue(L, 1);
  return 2;
}

/* What the function at the top assigns to its upvalues outlives the turn. */
static void promote_upvalues(lua_State *L, Front *f, const Frame *frame) {
  int fn = lua_gettop(L);
  for (int i = 1; lua_getupvalue(L, fn, i) != NULL; i++) {
    if (box_test(L, -1) != NULL) {
      lua_insert(L, 2);
      box_promote(L, f, frame);
      lua_remove(L, 2);
    } else {
      lua_pop(L, 1);
    }
  }
}

/* The same for the values that the range's function makes of the index. */
static int mapped_next(lua_State *L) { /* (frame, control) */
  Front *f = front_up(L);
  const Frame *frame = frame_arg(L);
  if (!lua_isnil(L, 2)) {
    return 0;
  }
  lua_settop(L, 1);
  lua_getiuservalue(L, 1, 1);
  promote_upvalues(L, f, frame);
  push_index(L, frame);
  lua_call(L, 1, frame->n_names);
  lua_pushvalue(L, 1);
  return frame->n_names + 1;
}

static CtDtype index_type(lua_State *L, CtIr *ir, int first) {
  for (int i = first; i < first + 3; i++) {
    CtVal v;
    if (value_test(L, i, &v)) {
      CtDtype type = (CtDtype)ct_inst(ir, v)->type;
      if (!ct_is_int(type)) {
        front_refuse(L,
                     "a run-time 'for' counts with integers, got a run-time %s; write a while loop",
                     value_kind(type));
      }
      if (type == CT_u64) {
        front_refuse(L, "a run-time 'for' counts with i32 or i64, got a u64; use cast(x, i64)");
      }
      if (type == CT_i64 || type == CT_u32) {
        return CT_i64;
      }
    } else if (lua_type(L, i) == LUA_TNUMBER && !lua_isinteger(L, i)) {
      front_refuse(L, "a run-time 'for' counts with integers, got the float %s; write a while loop",
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
  const CtInst *inst = ct_inst(ir, step);
  const char *name = inst->name == NULL ? "n" : inst->name;
  if (inst->facts.lo > 0 || inst->facts.hi < 0) {
    return;
  }
  if (inst->op == CT_OP_CONST) {
    luaL_error(L, "'for' step is zero");
  }
  front_refuse(L,
               "the step%s%s%s of a run-time 'for' may be 0 or negative; its sign must be "
               "known: write max(%s, 1), pass static(%s) to the kernel, or write a while loop",
               inst->name == NULL ? "" : " '", inst->name == NULL ? "" : name,
               inst->name == NULL ? "" : "'", name, name);
}

/* A loop of the kernel as the IR has it, from start to before end. If `first` is not 0, the script's
   index is first + by times the IR's. */
typedef struct Count {
  CtVal start, end, step, first, by;
} Count;

/* i32 with a limit that may be the last one: counted in i64. */
static void count_wider(CtIr *ir, Count *c, CtVal stop, bool upwards) {
  c->start = ct_ir_cast(ir, c->start, CT_i64);
  c->step = ct_ir_cast(ir, c->step, CT_i64);
  c->end = ct_ir_binary(ir, upwards ? CT_OP_ADD : CT_OP_SUB, ct_ir_cast(ir, stop, CT_i64),
                        ct_ir_const_int(ir, CT_i64, 1));
}

/* So many turns lie between the farthest start and the last i64 that no loop ever gets there. */
static bool is_endless(const CtIr *ir, const Count *c, bool upwards) {
  const int64_t turns = (int64_t)1 << 53;
  CtFacts start = ct_inst(ir, c->start)->facts, step = ct_inst(ir, c->step)->facts;
  uint64_t way =
      upwards ? (uint64_t)INT64_MAX - (uint64_t)start.hi : (uint64_t)start.lo - (uint64_t)INT64_MIN;
  uint64_t most = upwards ? (uint64_t)step.hi : 0 - (uint64_t)step.lo;
  return way / most > (uint64_t)turns;
}

/* i64 with a limit that may be the last one: the limit before it, if nobody can tell. */
static void count_before_last(CtIr *ir, Count *c, CtVal stop, bool upwards) {
  CtVal last = ct_ir_const_int(ir, CT_i64, upwards ? INT64_MAX - 1 : INT64_MIN + 1);
  CtVal clipped = ct_ir_binary(ir, upwards ? CT_OP_MIN : CT_OP_MAX, stop, last);
  c->end =
      ct_ir_binary(ir, upwards ? CT_OP_ADD : CT_OP_SUB, clipped, ct_ir_const_int(ir, CT_i64, 1));
}

/* Else the turns are counted, in u64 as Lua does, up to 2^63 - 1 of them. */
static void count_turns(CtIr *ir, Count *c, CtVal stop, bool upwards) {
  CtVal from = upwards ? c->start : stop, to = upwards ? stop : c->start;
  CtVal by = upwards ? c->step : ct_ir_unary(ir, CT_OP_NEG, c->step);
  CtVal way = ct_ir_binary(ir, CT_OP_SUB, ct_ir_cast(ir, to, CT_u64), ct_ir_cast(ir, from, CT_u64));
  CtVal turns = ct_ir_binary(ir, CT_OP_FLOORDIV, way, ct_ir_cast(ir, by, CT_u64));
  turns = ct_ir_binary(ir, CT_OP_MIN, turns, ct_ir_const_int(ir, CT_u64, INT64_MAX - 1));
  turns =
      ct_ir_binary(ir, CT_OP_ADD, ct_ir_cast(ir, turns, CT_i64), ct_ir_const_int(ir, CT_i64, 1));
  CtVal zero = ct_ir_const_int(ir, CT_i64, 0), one = ct_ir_const_int(ir, CT_i64, 1);
  CtVal end = ct_ir_select(ir, ct_ir_binary(ir, CT_OP_LE, from, to), turns, zero);
  *c = (Count){.start = zero, .end = end, .step = one, .first = c->start, .by = c->step};
}

/* Makes of Lua's inclusive limit the end that the IR's loop has, which the type need not hold. */
static void count_inclusive(CtIr *ir, Count *c, CtVal stop, bool upwards) {
  c->end = exclusive_stop(ir, stop, upwards);
  if (c->end != 0) {
    return;
  }
  if (ct_inst(ir, stop)->type == CT_i32) {
    count_wider(ir, c, stop, upwards);
  } else if (is_endless(ir, c, upwards)) {
    count_before_last(ir, c, stop, upwards);
  } else {
    count_turns(ir, c, stop, upwards);
  }
}

/* The script's index in the loop that begins here. */
static CtVal index_of(CtIr *ir, const Count *c, CtVal loop, CtDtype type) {
  if (c->first == 0) {
    return ct_ir_cast(ir, loop, type);
  }
  return ct_ir_binary(ir, CT_OP_ADD, c->first, ct_ir_binary(ir, CT_OP_MUL, loop, c->by));
}

/* for i = a, b, s with values at first, first + 1, first + 2 (nil: 1); `inclusive` as Lua's own. */
static void begin_for(lua_State *L, Front *f, Frame *frame, const char *name, int first,
                      bool inclusive, int64_t unroll) {
  CtIr *ir = f->ir;
  front_at(L, f);
  CtDtype type = index_type(L, ir, first);
  Count c = {.start = value_to(L, first, type, "the start of 'for'")};
  c.end = value_to(L, first + 1, type, "the limit of 'for'");
  c.step = lua_isnoneornil(L, first + 2) ? ct_ir_const_int(ir, type, 1)
                                         : value_to(L, first + 2, type, "the step of 'for'");
  check_step(L, ir, c.step);
  if (inclusive) {
    count_inclusive(ir, &c, c.end, ct_inst(ir, c.step)->facts.lo > 0);
  }
  frame->op = ct_ir_for(ir, c.start, c.end, c.step, unroll, name);
  frame->position = index_of(ir, &c, frame->op, type);
  frame->loop_exit = true; /* it ends by itself, too */
  bool ignored = false;
  front_join(f, &frame->joined, &ignored);
  front_become_runtime(f, frame);
  front_enter(L, f, frame);
}

/* Are start, limit and step known while tracing? *type: of those that have one, else CT_VOID. */
static bool is_static_range(lua_State *L, const Front *f, CtDtype *type) {
  bool is_typed = false;
  *type = CT_VOID;
  for (int i = 2; i <= 4; i++) {
    int64_t ignored;
    bool is_known = value_known(L, i, &ignored);
    if (!is_known && value_test(L, i, NULL)) {
      return false;
    }
    is_typed = is_typed || is_known;
  }
  if (is_typed) {
    *type = index_type(L, f->ir, 2);
    for (int i = 2; i <= 4; i++) {
      (void)value_settle(L, i);
    }
  }
  return true;
}

/* Does a static numeric for have too many turns to be unrolled without being asked? */
static bool has_many_turns(const Front *f, const Frame *frame) {
  uint64_t most = f->ir != NULL && f->ir->max_unroll > 0 ? (uint64_t)f->ir->max_unroll
                                                         : (uint64_t)FRONT_MAX_UNROLL;
  return f->ir != NULL && !frame->is_done && frame->left >= most;
}

static int rt_range(lua_State *L) { /* name, a, b, s */
  Front *f = front_up(L);
  lua_settop(L, 4);
  for (int i = 2; i <= 4; i++) {
    if (half_test(L, i) != NULL) {
      return front_refuse(L, "'c and x' needs an 'or' before 'for' counts with it");
    }
  }
  Frame *frame = frame_push(L, f, FRAME_LOOP);
  frame->loop = "for";
  if (!is_static_range(L, f, &frame->type)) {
    begin_for(L, f, frame, lua_tostring(L, 1), 2, true, 0);
    return front_return_loop(L, for_next, -1);
  }
  check_for_number(L, 2, "initial value");
  check_for_number(L, 3, "limit");
  if (!lua_isnoneornil(L, 4)) {
    check_for_number(L, 4, "step");
  }
  bool integers = lua_isinteger(L, 2) && (lua_isnoneornil(L, 4) || lua_isinteger(L, 4));
  (integers ? prepare_integers : prepare_floats)(L, frame);
  if (integers && has_many_turns(f, frame)) {
    frame->kept = lua_tostring(L, 1);
    begin_for(L, f, frame, frame->kept, 2, true, 0);
    return front_return_loop(L, for_next, -1);
  }
  front_note(L, f, "for", false);
  return front_return_loop(L, range_next, -1);
}

/* --- generic for ---------------------------------------------------------------------------------- */

static int iter_next(lua_State *L) { /* (frame, control): calls the script's own iterator */
  Front *f = front_up(L);
  Frame *frame = frame_arg(L);
  if (!front_goes_on(L, f, frame)) {
    return 0;
  }
  lua_settop(L, 2);
  lua_getiuservalue(L, 1, 1);
  lua_getiuservalue(L, 1, 2);
  lua_pushvalue(L, 2);
  lua_call(L, 2, LUA_MULTRET);
  if (lua_gettop(L) > 2 && !lua_isnil(L, 3)) {
    front_note(L, f, "for", true);
  }
  return lua_gettop(L) - 2;
}

static int count_names(const char *names) {
  int n = 1;
  for (; *names != '\0'; names++) {
    n += *names == ',';
  }
  return n;
}

/* The function of the range at 2, converted, becomes the frame's; stack: ..., frame. */
static bool take_function(lua_State *L, Frame *frame, const Range *r, const char *names) {
  frame->n_names = count_names(names);
  if (frame->n_names != r->n_values) {
    front_refuse(L, "a loop over %s has %d names, but there are %d values; write 'for %s in'",
                 r->what, frame->n_names, r->n_values,
                 r->n_values == 1   ? "i"
                 : r->n_values == 2 ? "m, n"
                                    : "a, b, c");
  }
  if (lua_getiuservalue(L, 2, 1) == LUA_TNIL) {
    lua_pop(L, 1);
    return false;
  }
  lua_getfield(L, lua_upvalueindex(2), "fn");
  lua_insert(L, -2);
  lua_pushliteral(L, "for iterator 'for iterator'");
  lua_call(L, 2, 1);
  lua_setiuservalue(L, -2, 1);
  return true;
}

static int begin_range(lua_State *L, Front *f, const char *name, const Range *r) {
  front_check_own(L, r->serial, r->what);
  Frame *frame = frame_push(L, f, FRAME_LOOP);
  frame->loop = "in";
  int base = lua_gettop(L);
  bool is_mapped = take_function(L, frame, r, name);
  for (int i = 0; i < 3; i++) {
    CtInt part = i == 0 ? r->start : (i == 1 ? r->stop : r->step);
    if (part.kind == CT_DYNAMIC) {
      value_push(L, part.id);
    } else if (r->is_i64) {
      value_push(L, ct_ir_const_int(f->ir, CT_i64, part.v));
    } else {
      lua_pushinteger(L, part.v);
    }
  }
  begin_for(L, f, frame, is_mapped ? r->what : name, base + 1, false, r->unroll);
  lua_settop(L, base);
  return front_return_loop(L, is_mapped ? mapped_next : for_next, base);
}

static int rt_iter(lua_State *L) { /* name, f, s, c, closing */
  Front *f = front_up(L);
  lua_settop(L, 5);
  const Range *range = range_test(L, 2);
  if (range != NULL) {
    return begin_range(L, f, lua_tostring(L, 1), range);
  }
  if (f->ir != NULL) {
    front_check_iterator(L, 2);
  }
  front_note(L, f, "for", false);
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
    return front_refuse(
        L, "a 'for' with a closing value cannot run in a kernel; close it after the loop");
  }
  lua_pushvalue(L, lua_upvalueindex(1));
  lua_pushcclosure(L, iter_next, 1);
  lua_pushvalue(L, 6);
  lua_pushvalue(L, 4);
  lua_pushvalue(L, 6);
  return 4;
}

const luaL_Reg front_for_fns[] = {{"range", rt_range}, {"iter", rt_iter}, {NULL, NULL}};
