/* state_coroutine.c: which coroutines run, one inside another, so that an interrupt reaches them all:
   Lua's hooks belong to a coroutine, and nobody but us could tell which one it is. coroutine.resume
   and the functions of coroutine.wrap note it around Lua's own. */
#include <lauxlib.h>
#include <lualib.h>

#include "state.h"

/* Lua's own function, at the bottom of the stack, on what is above it, while `co` runs. */
static int run(lua_State *L, lua_State *co) {
  CuttleState *s = state_of(L);
  if (s->on_resume != NULL && co != NULL) {
    s->on_resume(L, co);
  }
  StateCoroutine frame = {co, s->running};
  s->running = &frame;
  state_hook_coroutine(s, co);
  int status = lua_pcall(L, lua_gettop(L) - 1, LUA_MULTRET, 0);
  s->running = frame.outer;
  return status == LUA_OK ? lua_gettop(L) : lua_error(L);
}

/* coroutine.resume(co, ...). Upvalue 1: Lua's own. */
static int resume(lua_State *L) {
  lua_State *co = lua_tothread(L, 1);
  luaL_argexpected(L, co != NULL, 1, "thread");
  lua_pushvalue(L, lua_upvalueindex(1));
  lua_insert(L, 1);
  return run(L, co);
}

/* What coroutine.wrap gives. Upvalues: Lua's own, its coroutine. An error has the position where it
   was raised, once: Lua's own puts that of the call before it when a script calls it. */
static int call_wrapped(lua_State *L) {
  lua_pushvalue(L, lua_upvalueindex(1));
  lua_insert(L, 1);
  return run(L, lua_tothread(L, lua_upvalueindex(2)));
}

/* coroutine.wrap(f). Upvalue 1: Lua's own, whose result has the coroutine as its upvalue. */
static int wrap(lua_State *L) {
  luaL_checktype(L, 1, LUA_TFUNCTION);
  lua_settop(L, 1);
  lua_pushvalue(L, lua_upvalueindex(1));
  lua_insert(L, 1);
  lua_call(L, 1, 1);
  if (lua_getupvalue(L, -1, 1) != NULL) {
    lua_pushcclosure(L, call_wrapped, 2);
  }
  return 1;
}

static const luaL_Reg wrappers[] = {{"resume", resume}, {"wrap", wrap}, {NULL, NULL}};

void state_wrap_coroutines(lua_State *L) {
  lua_getglobal(L, LUA_COLIBNAME);
  for (const luaL_Reg *w = wrappers; w->name != NULL; w++) {
    lua_getfield(L, -1, w->name);
    lua_pushcclosure(L, w->func, 1);
    lua_setfield(L, -2, w->name);
  }
  lua_pop(L, 1);
}
