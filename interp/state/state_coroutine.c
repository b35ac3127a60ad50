/* state_coroutine.c: which coroutines run, one inside another, so that an interrupt reaches them all:
   A hook of Lua belongs to one coroutine, and only we can tell which one runs. coroutine.resume,
   coroutine.close and the functions of coroutine.wrap note it around Lua's own.

   A coroutine that died of an error which a hook raised has no hooks any more: what it has still to
   close must not run, or nothing could stop that. */
#include <lauxlib.h>
#include <lualib.h>

#include "diag.h"
#include "standard.h"
#include "state.h"

static const char died_in_hook; /* its address, on top of such a coroutine's stack, marks it */

static bool is_dead_of_error(lua_State *co) {
  return lua_status(co) != LUA_OK && lua_status(co) != LUA_YIELD;
}

static bool has_mark(lua_State *co) {
  return is_dead_of_error(co) && lua_gettop(co) > 0 &&
         lua_touserdata(co, -1) == (const void *)&died_in_hook;
}

/* Its error has just been taken from the stack, which so has room. */
static void mark(const CuttleState *s, lua_State *co) {
  if (s->raised_in_hook && is_dead_of_error(co) && !has_mark(co)) {
    lua_pushlightuserdata(co, (void *)(uintptr_t)&died_in_hook);
  }
}

/* Lua's own function, at the bottom of the stack, on what is above it, while `co` runs. */
static int run(lua_State *L, lua_State *co) {
  CuttleState *s = state_of(L);
  StateCoroutine frame = {co, s->running};
  state_charge(L, s, 0); /* raises if coroutines are in each other too deeply */
  s->running = &frame;
  state_hook_coroutine(s, co);
  int status = lua_pcall(L, lua_gettop(L) - 1, LUA_MULTRET, 0);
  s->running = frame.outer;
  mark(s, co);
  if (status != LUA_OK) {
    return lua_error(L);
  }
  state_charge(L, s, 1);
  return lua_gettop(L);
}

static int run_resume(lua_State *L, lua_State *co) {
  const CuttleState *s = state_of(L);
  if (s->tracing.on_resume != NULL) {
    s->tracing.on_resume(L, co);
  }
  return run(L, co);
}

/* coroutine.resume(co, ...). Upvalue 1: Lua's own. */
static int resume(lua_State *L) {
  lua_State *co = lua_tothread(L, 1);
  luaL_argexpected(L, co != NULL, 1, "thread");
  lua_pushvalue(L, lua_upvalueindex(1));
  lua_insert(L, 1);
  return run_resume(L, co);
}

/* coroutine.close(co). Upvalue 1: Lua's own. */
static int close(lua_State *L) {
  lua_State *co = lua_tothread(L, 1);
  luaL_argexpected(L, co != NULL, 1, "thread");
  lua_settop(L, 1);
  if (has_mark(co)) {
    lua_pushboolean(L, 0);
    lua_pushliteral(L, "the coroutine was stopped; its pending __close functions do not run");
    return 2;
  }
  lua_pushvalue(L, lua_upvalueindex(1));
  lua_insert(L, 1);
  return run(L, co);
}

/* Closes the coroutine, which died of the error at the top; leaves the error that is to be told there.
   Upvalue 3: Lua's own close. */
static void close_failed(lua_State *L, lua_State *co) {
  lua_pushvalue(L, lua_upvalueindex(3));
  lua_pushvalue(L, lua_upvalueindex(2));
  lua_replace(L, 1);
  lua_insert(L, 1); /* stack: close, coroutine ... error */
  lua_settop(L, 2);
  run(L, co);
}

/* What coroutine.wrap gives. Upvalues: Lua's own resume, its coroutine, Lua's own close. An error has the
   position where it was raised, once: Lua's own puts that of the call before it. */
static int call_wrapped(lua_State *L) {
  lua_State *co = lua_tothread(L, lua_upvalueindex(2));
  lua_pushvalue(L, lua_upvalueindex(1));
  lua_insert(L, 1);
  lua_pushvalue(L, lua_upvalueindex(2));
  lua_insert(L, 2);
  int n = run_resume(L, co);
  if (lua_toboolean(L, 1)) {
    return n - 1;
  }
  if (is_dead_of_error(co) && !has_mark(co)) {
    close_failed(L, co);
  }
  return lua_error(L);
}

/* coroutine.wrap(f). Upvalues: Lua's own create, resume and close. */
static int wrap(lua_State *L) {
  luaL_checktype(L, 1, LUA_TFUNCTION);
  lua_settop(L, 1);
  lua_pushvalue(L, lua_upvalueindex(2));
  lua_pushvalue(L, lua_upvalueindex(1));
  lua_pushvalue(L, 1);
  lua_call(L, 1, 1);
  lua_pushvalue(L, lua_upvalueindex(3)); /* stack: f, resume, coroutine, close */
  lua_pushcclosure(L, call_wrapped, 3);
  return 1;
}

void state_wrap_coroutines(lua_State *L) {
  static const char *const own[] = {"create", "resume", "close"};
  lua_getglobal(L, LUA_COLIBNAME);
  for (int i = 0; i < 3; i++) {
    lua_getfield(L, -1 - i, own[i]);
  }
  lua_pushcclosure(L, wrap, 3);
  lua_setfield(L, -2, "wrap");
  standard_replace(L, "resume", resume);
  standard_replace(L, "close", close);
  lua_pop(L, 1);
}
