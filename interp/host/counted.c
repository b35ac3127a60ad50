/* counted.c: see counted.h. */
#include "counted.h"

#include <lauxlib.h>
#include <string.h>

#include "interp/algebra/bind.h"
#include "interp/ops/call.h"
#include "interp/state/diag.h"
#include "std_modules.h"

/* Upvalues: the function, its name, and how many arguments it takes. */
static int counted(lua_State *L) {
  const char *name = lua_tostring(L, lua_upvalueindex(2));
  diag_check_count(L, name, lua_gettop(L), (int)lua_tointeger(L, lua_upvalueindex(3)));
  return lua_tocfunction(L, lua_upvalueindex(1))(L);
}

/* These say more of arguments that are too many. */
static bool counts_itself(const char *name) {
  static const char *const names[] = {"L",    "arange",    "col_major", "full", "layout",
                                      "ones", "row_major", "tensor",    "view", "zeros"};
  size_t i = 0;
  while (i < CT_ARRAY_LEN(names) && strcmp(names[i], name) != 0) {
    i++;
  }
  return i < CT_ARRAY_LEN(names);
}

/* The table of the methods of a type [-0, +1, m]; nil: there is none. */
static void push_methods(lua_State *L, const char *type) {
  if (luaL_getmetatable(L, type) == LUA_TNIL) {
    return;
  }
  if (lua_getfield(L, -1, METHODS) == LUA_TNIL) {
    lua_pop(L, 1);
    lua_getfield(L, -1, "__index");
  }
  lua_remove(L, -2);
}

/* Of others with upvalues, those that are written in Lua count by themselves. */
static bool is_plain(lua_State *L) {
  if (!lua_iscfunction(L, -1)) {
    return false;
  }
  bool has_upvalue = lua_getupvalue(L, -1, 1) != NULL;
  lua_pop(L, has_upvalue);
  return !has_upvalue;
}

/* Stack: a table, one of its values. */
static void add_count(lua_State *L, const StdCount *c) {
  if (call_set_count(L, c->n) || !is_plain(L) || counts_itself(c->name)) {
    return;
  }
  lua_pushstring(L, c->name);
  lua_pushinteger(L, c->n);
  lua_pushcclosure(L, counted, 3);
  lua_setfield(L, -2, c->name);
}

void counted_add(lua_State *L) {
  for (const StdCount *c = std_counts; c->name != NULL; c++) {
    int top = lua_gettop(L);
    if (c->type == NULL) {
      lua_pushvalue(L, -1);
    } else {
      push_methods(L, c->type);
    }
    if (lua_istable(L, -1)) {
      lua_getfield(L, -1, c->name);
      add_count(L, c);
    }
    lua_settop(L, top);
  }
}
