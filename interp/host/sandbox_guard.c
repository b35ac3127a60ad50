/* sandbox_guard.c: the sandbox's pcall, xpcall, setmetatable and getmetatable. Lua calls no hook while it runs a
   finalizer, nor while it runs the message handler of an error that a hook raised: a loop there could not
   be stopped. So scripts give tables no finalizers, and such a handler runs once the stack is unwound. */
#include <lauxlib.h>

#include "interp/state/diag.h"
#include "sandbox.h"

static const char copies_key = 0; /* its address names a table: metatable of a userdata -> copy */

/* {====== xpcall ====== */

/* Upvalues: the script's handler, whether it was put off. */
static int handle(lua_State *L) {
  if (state_of(L)->raised_in_hook) {
    lua_pushboolean(L, 1);
    lua_replace(L, lua_upvalueindex(2));
    return 1; /* the message as it is */
  }
  return standard_call_original(L);
}

/* Stack: true, handle, then the results, or a message. */
static int end_xpcall(lua_State *L, int status, lua_KContext unused) {
  (void)unused;
  if (status == LUA_OK || status == LUA_YIELD) {
    lua_remove(L, 2);
    return lua_gettop(L);
  }
  state_charge(L, state_of(L), 1); /* raises if the state is to stop */
  lua_getupvalue(L, 2, 2);
  if (lua_toboolean(L, -1)) {
    lua_getupvalue(L, 2, 1);
    lua_pushvalue(L, -3);
    lua_call(L, 1, 1);
    lua_replace(L, -3);
  }
  lua_pop(L, lua_gettop(L) - 3);
  lua_pushboolean(L, 0);
  lua_insert(L, 3);
  return 2;
}

/* Stack: true, then the results, or a message. */
static int end_pcall(lua_State *L, int status, lua_KContext unused) {
  (void)unused;
  if (status == LUA_OK || status == LUA_YIELD) {
    return lua_gettop(L);
  }
  lua_pushboolean(L, 0);
  lua_insert(L, -2);
  return 2;
}

/* pcall(f, ...) */
static int call_safely(lua_State *L) {
  luaL_checkany(L, 1);
  state_charge(L, state_of(L), 0);
  lua_pushboolean(L, 1);
  lua_insert(L, 1);
  int n = lua_gettop(L) - 2;
  return end_pcall(L, lua_pcallk(L, n, LUA_MULTRET, 0, 0, end_pcall), 0);
}

/* xpcall(f, handler, ...) */
static int call_protected(lua_State *L) {
  luaL_checktype(L, 2, LUA_TFUNCTION);
  state_charge(L, state_of(L), 0);
  int n = lua_gettop(L) - 2;
  lua_pushboolean(L, 1);
  lua_pushvalue(L, 2);
  lua_pushboolean(L, 0);
  lua_pushcclosure(L, handle, 2);
  lua_pushvalue(L, 1);
  lua_rotate(L, 3, 3); /* stack: f, handler, true, handle, f, ... */
  lua_remove(L, 2);
  lua_remove(L, 1);
  return end_xpcall(L, lua_pcallk(L, n, LUA_MULTRET, 2, 0, end_xpcall), 0);
}

/* {====== Metatables ====== */

/* setmetatable(t, metatable). Upvalue 1: Lua's own, which looks for a finalizer just then. */
static int set_metatable(lua_State *L) {
  if (lua_istable(L, 2)) {
    lua_pushliteral(L, "__gc");
    lua_rawget(L, 2);
    if (!lua_isnil(L, -1)) {
      return diag_error(L, "setmetatable: the metatable has a __gc, and a sandboxed script has no "
                           "finalizers; close what is to be closed by a function or by __close");
    }
    lua_pop(L, 1);
  }
  return standard_call_original(L);
}

/* Stack: metatable; becomes its copy, always the same one. */
static void replace_by_copy(lua_State *L) {
  lua_rawgetp(L, LUA_REGISTRYINDEX, &copies_key);
  lua_pushvalue(L, -2);
  if (lua_rawget(L, -2) == LUA_TNIL) {
    lua_pop(L, 1);
    lua_newtable(L); /* stack: metatable, copies, copy */
    lua_pushvalue(L, -3);
    lua_pushvalue(L, -2);
    lua_rawset(L, -4);
    for (lua_pushnil(L); lua_next(L, -4) != 0;) {
      lua_pushvalue(L, -2);
      lua_insert(L, -2);
      lua_rawset(L, -4);
    }
  }
  lua_replace(L, -3);
  lua_pop(L, 1);
}

/* getmetatable(x). A userdata's metatable is copied: with the original a script could add a finalizer. */
static int get_metatable(lua_State *L) {
  bool is_userdata = lua_type(L, 1) == LUA_TUSERDATA;
  luaL_checkany(L, 1);
  lua_settop(L, 1);
  lua_pushvalue(L, lua_upvalueindex(1));
  lua_insert(L, 1);
  lua_call(L, 1, 1);
  if (is_userdata && lua_istable(L, -1)) {
    replace_by_copy(L);
  }
  return 1;
}

void sandbox_open_guards(lua_State *L) {
  lua_newtable(L);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &copies_key);
  lua_pushglobaltable(L);
  standard_replace(L, "pcall", call_safely);
  standard_replace(L, "xpcall", call_protected);
  standard_replace(L, "setmetatable", set_metatable);
  standard_replace(L, "getmetatable", get_metatable);
  lua_pop(L, 1);
}
