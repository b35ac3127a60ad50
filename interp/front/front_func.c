/* front_func.c: the runtime functions of functions and their returns (contracts in rewrite.h). */
#include <lauxlib.h>

#include "interp/state/diag.h"
#include "interp/trace/front_state.h"
#include "front_parts.h"

static int rt_func(lua_State *L) { /* name, is_kernel */
  Front *f = front_up(L);
  const Frame *outer = front_co(f, L)->top;
  while (outer != NULL && outer->kind != FRAME_FUNC) {
    outer = outer->parent;
  }
  int depth = outer == NULL ? 1 : outer->depth + 1;
  if (f->ir != NULL && depth > FRONT_MAX_DEPTH) {
    return front_refuse(L,
                        "'%s' calls itself %d levels deep while tracing; recursion must end on "
                        "a static value, not on a run-time one",
                        luaL_optstring(L, 1, "?"), FRONT_MAX_DEPTH);
  }
  Frame *frame = frame_push(L, f, FRAME_FUNC);
  frame->depth = depth;
  frame->is_kernel = lua_toboolean(L, 2);
  return 1;
}

/* Keeps the values above the frame in a table, for retv. */
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
  if (!front_is_scalar(L, idx)) {
    front_refuse(L,
                 "%s is returned under a run-time condition; only numbers, booleans, and "
                 "tables that the kernel made can differ by path",
                 diag_push_kind(L, idx));
  }
}

/* The value at idx as the result whose box is at the top, popped. */
static void record_value(lua_State *L, Front *f, int idx) {
  int at = lua_gettop(L);
  Box *box = lua_touserdata(L, at);
  bool is_record = record_is(L, f, idx);
  if (is_record ? box->var != 0 : box->kind == BOX_RECORD) {
    front_refuse(L, "%s is returned here but %s in line %d; return one type on every path",
                 diag_push_kind(L, idx), is_record ? "a number or boolean" : "a table", box->line);
  }
  if (is_record) {
    box->kind = BOX_RECORD;
    record_bind(L, f, at, idx);
  } else {
    check_result(L, idx);
    box_store(L, f, at, idx);
  }
  lua_pop(L, 1);
}

/* Pushes the result whose box is at the top, popped: an older table that was returned on each path is that table. */
static void push_result(lua_State *L, Front *f, const Frame *frame) {
  int at = lua_gettop(L);
  Box *box = lua_touserdata(L, at);
  if (box->kind == BOX_RECORD) {
    record_push_only(L, at);
    if (lua_isnil(L, -1) || front_birth(L, -1) > frame->opened_at) {
      lua_pop(L, 1);
      record_load(L, f, at);
      box_load(L, f, at);
    }
    box->is_gone = true;
  } else {
    box_load(L, f, at);
  }
  lua_remove(L, at);
}

/* Stores the values in the result variables of the frame, made by the first such return. */
static void record_values(lua_State *L, Front *f, Frame *frame, int n) {
  if (frame->n_results >= 0 && frame->n_results != n) {
    front_refuse(L,
                 "%d values are returned here but %d on another path; return as many on every path",
                 n, frame->n_results);
  }
  if (frame->n_results < 0) {
    frame->n_results = n;
    lua_createtable(L, n, 0);
    for (int i = 1; i <= n; i++) {
      Box *box = box_push(L, f, BOX_VAR, "result");
      box->is_result = true;
      box->nil_var = -1;
      lua_rawseti(L, -2, i);
    }
    lua_setiuservalue(L, 1, 2);
  }
  lua_getiuservalue(L, 1, 2);
  for (int i = 1; i <= n; i++) {
    lua_rawgeti(L, -1, i);
    record_value(L, f, i + 1);
  }
  lua_pop(L, 1);
}

static int rt_ret(lua_State *L) { /* F, ... */
  Front *f = front_up(L);
  Frame *frame = frame_arg(L);
  int n = lua_gettop(L) - 1;
  if (f->ir != NULL && frame->is_kernel && n > 0) {
    return front_refuse(L, "a kernel returns no values");
  }
  bool plain = f->ir == NULL || (!frame->pending && front_is_plain(f, L, frame));
  if (!plain && f->dead) { /* return error("x"): the thread has ended */
    lua_pushboolean(L, 0);
    return 1;
  }
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
  const Frame *frame = frame_arg(L);
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
  Frame *frame = frame_arg(L);
  if (f->ir == NULL || frame->n_results < 0) {
    return 0;
  }
  if (!f->dead && frame->n_results > 0) {
    return front_refuse(L, "a value is returned on some paths but not at the end of the function; "
                           "return one there, too");
  }
  frame_end(L, f, frame); /* the results are read after its block */
  luaL_checkstack(L, frame->n_results + 2, "too many results");
  lua_getiuservalue(L, 1, 2);
  for (int i = 1; i <= frame->n_results; i++) {
    lua_rawgeti(L, 2, i);
    push_result(L, f, frame);
  }
  return frame->n_results;
}

const luaL_Reg front_func_fns[] = {
    {"func", rt_func}, {"ret", rt_ret}, {"retv", rt_retv}, {"leave", rt_leave}, {NULL, NULL}};
