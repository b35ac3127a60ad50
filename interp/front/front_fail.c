/* front_fail.c: assert and error in a kernel. Where only some threads may get to, they are an assertion of the kernel:
   a thread that gets there ends, and the launch fails. Where all do, they are errors of the trace. */
#include <lauxlib.h>
#include <limits.h>

#include "front_parts.h"
#include "interp/state/diag.h"
#include "interp/trace/front_state.h"
#include "runtime/ir/ir_make.h"

/* Does a run-time condition that began later than `since` decide who comes here? Those that have left the kernel do
   not. */
static bool is_conditional(lua_State *L, Front *f, uint64_t since) {
  for (const Co *co = front_co(f, L); co != NULL; co = co->resumer) {
    for (const Frame *frame = co->top; frame != NULL; frame = frame->parent) {
      if ((frame->runtime && frame->runtime_at > since) ||
          (frame->has_exit && frame->pending_at > since)) {
        return true;
      }
    }
  }
  return false;
}

/* Is what the script says here said by a thread? Not what the library says of its arguments, nor what the script's own
   pcall catches. Raises if a thread would have to go back to a pcall. */
static bool is_of_thread(lua_State *L, Front *f, const char *name) {
  if (f->ir == NULL || front_is_library_calling(L) || !is_conditional(L, f, f->began)) {
    return false;
  }
  if (f->protected_at == 0) {
    return true;
  }
  if (is_conditional(L, f, f->protected_at)) {
    front_refuse(L,
                 "%s: no pcall catches errors of threads, and this pcall contains the 'if'; "
                 "write the 'if' around the pcall, or return a value that reports the failure",
                 name);
  }
  return false;
}

static const char *check_message(lua_State *L, int idx, const char *name) {
  if (!lua_isstring(L, idx)) {
    front_refuse(L,
                 "%s: the message of a run-time condition is a string, not %s; write printf to "
                 "show values",
                 name, diag_push_kind(L, idx));
  }
  return lua_tostring(L, idx);
}

/* What follows is said of the line that error(message, level) blames. */
static void at_level(lua_State *L, Front *f, lua_Integer level) {
  lua_Debug ar;
  front_at(L, f);
  if (level > 1 && level < INT_MAX && lua_getstack(L, (int)level, &ar) != 0 &&
      lua_getinfo(L, "Sl", &ar) != 0 && ar.currentline > 0) {
    ct_ir_at(f->ir, ar.short_src, ar.currentline);
  }
}

/* Every thread that gets here ends. */
static void end_thread(lua_State *L, Front *f, const char *message, lua_Integer level) {
  at_level(L, f, level);
  ct_ir_assert(f->ir, ct_ir_const_int(f->ir, CT_bool, 0), message);
  f->dead = true;
}

int front_errs(lua_State *L) { /* message, level */
  lua_Integer level = luaL_optinteger(L, 2, 1);
  Front *f = front_of(L);
  lua_settop(L, 1);
  if (is_of_thread(L, f, "error")) {
    const char *message = lua_isnil(L, 1) ? "error" : check_message(L, 1, "error");
    end_thread(L, f, message, level);
    return 0;
  }
  if (lua_type(L, 1) == LUA_TSTRING && level > 0) {
    luaL_where(L, level < INT_MAX ? (int)level : INT_MAX);
    lua_insert(L, 1);
    lua_concat(L, 2);
  }
  return lua_error(L);
}

static const char *assert_message(lua_State *L) {
  return lua_isnoneornil(L, 2) ? "assertion failed!" : check_message(L, 2, "assert");
}

int front_asserts(lua_State *L) { /* condition, message, ... */
  CtVal v;
  Front *f = front_of(L);
  if (half_test(L, 1) != NULL) {
    return front_refuse(L, "assert: 'c and x' needs an 'or' to be a value; write 'c and x or y'");
  }
  if (value_test(L, 1, &v) && ct_inst(front_ir(L), v)->type == CT_bool) {
    const char *message = assert_message(L);
    front_at(L, f);
    ct_ir_assert(front_ir(L), v, message);
    return lua_gettop(L);
  }
  if (lua_gettop(L) > 0 && !lua_toboolean(L, 1) && is_of_thread(L, f, "assert")) {
    end_thread(L, f, assert_message(L), 1);
    return 0;
  }
  return standard_call_original(L);
}
