/* bind_check.c: what the module cuttle.check is made of: all launches on the CPU engine are checked
   (launch_check.h) until it stops them. Names of the module begin with `_`: they are not the
   language's. */
#include <lauxlib.h>

#include "interp/algebra/bind.h"
#include "interp/launch/launch.h"
#include "interp/launch/launch_check.h"
#include "runtime/watch/check.h"
#include "interp/openers.h"

/* --- the module ----------------------------------------------------------------------------------------- */

/* _check(options): a holder; all launches on the CPU engine are checked until stop(). */
static int check_begin(lua_State *L) {
  LaunchConfig c = {0};
  if (!lua_isnoneornil(L, 1)) {
    luaL_checktype(L, 1, LUA_TTABLE);
    launch_check_read(L, 1, &c);
  }
  launch_check_watch(L, &c, false);
  return 1;
}

/* _choose_cpu(): the default device is the CPU engine from now on. */
static int choose_cpu(lua_State *L) {
  CtErr err;
  diag_check(L, state_choose_device(state_of(L), "cpu", &err), &err);
  return 0;
}

/* What a script raised, as main says it; what is no message, such as the script's exit, stays as it is. */
static int script_handler(lua_State *L) {
  return lua_type(L, 1) == LUA_TSTRING ? diag_handler(L) : 1;
}

/* _call_script(f, ...) -> whether there was an interrupt, and what pcall returns. The interrupt is
   forgotten, so that what was found until then can be reported. */
static int call_script(lua_State *L) {
  luaL_checkany(L, 1);
  lua_pushcfunction(L, script_handler);
  lua_pushnil(L);
  lua_pushnil(L);
  lua_rotate(L, 1, 3); /* stack: handler, nil, nil, f, ... */
  int status = lua_pcall(L, lua_gettop(L) - 4, LUA_MULTRET, 1);
  lua_remove(L, 1);
  bool is_interrupted = state_is_interrupted(state_of(L));
  if (is_interrupted) {
    state_resume(state_of(L));
  }
  lua_pushboolean(L, is_interrupted);
  lua_replace(L, 1);
  lua_pushboolean(L, status == LUA_OK);
  lua_replace(L, 2);
  return lua_gettop(L);
}

static CheckHolder *holder_of(lua_State *L) {
  CheckHolder *h = luaL_checkudata(L, 1, CHECK_TYPE);
  luaL_argcheck(L, h->check != NULL, 1, "the check is closed");
  return h;
}

static int check_stop(lua_State *L) {
  launch_check_stop(holder_of(L));
  return 0;
}

static int check_launches(lua_State *L) {
  lua_pushinteger(L, (lua_Integer)ct_check_launches(holder_of(L)->check));
  return 1;
}

static void set_text(lua_State *L, const char *key, const char *value) {
  lua_pushstring(L, value);
  lua_setfield(L, -2, key);
}

static void set_integer(lua_State *L, const char *key, int64_t value) {
  lua_pushinteger(L, value);
  lua_setfield(L, -2, key);
}

static void set_triple(lua_State *L, const char *key, const int64_t v[3]) {
  lua_createtable(L, 3, 0);
  for (int i = 0; i < 3; i++) {
    lua_pushinteger(L, v[i]);
    lua_rawseti(L, -2, i + 1);
  }
  lua_setfield(L, -2, key);
}

static void push_finding(lua_State *L, const CtFinding *f) {
  lua_createtable(L, 0, 12);
  set_text(L, "kind", ct_check_names[f->kind]);
  set_text(L, "kernel", f->kernel);
  set_text(L, "chunk", f->chunk);
  set_integer(L, "line", f->line);
  if (f->other_chunk != NULL) {
    set_text(L, "other_chunk", f->other_chunk);
    set_integer(L, "other_line", f->other_line);
  }
  set_text(L, "buffer", f->buffer); /* none: NULL is nil */
  set_integer(L, "count", f->count > INT64_MAX ? INT64_MAX : (int64_t)f->count);
  set_text(L, "message", f->text);
  set_triple(L, "block", f->block);
  set_triple(L, "thread", f->thread);
}

static int check_findings(lua_State *L) {
  const CtCheck *c = holder_of(L)->check;
  lua_createtable(L, (int)ct_check_count(c), 0);
  for (size_t i = 0; i < ct_check_count(c); i++) {
    push_finding(L, ct_check_finding(c, i));
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  lua_pushboolean(L, ct_check_is_partial(c));
  lua_setfield(L, -2, "is_partial");
  return 1;
}

/* --- opening ------------------------------------------------------------------------------------------------ */

void bind_open_check(lua_State *L) {
  static const luaL_Reg meta[] = {
      {"__close", launch_check_close}, {"__gc", launch_check_close}, {NULL, NULL}};
  static const luaL_Reg methods[] = {{"stop", check_stop},
                                     {"launches", check_launches},
                                     {"findings", check_findings},
                                     {NULL, NULL}};
  bind_new_type(L, CHECK_TYPE, meta, methods);
  lua_pushcfunction(L, check_begin);
  lua_setfield(L, -2, "_check");
  lua_pushcfunction(L, choose_cpu);
  lua_setfield(L, -2, "_choose_cpu");
  lua_pushcfunction(L, call_script);
  lua_setfield(L, -2, "_call_script");
}
