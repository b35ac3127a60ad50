/* counted.c: see library.h. */
#include "library.h"

#include <lauxlib.h>
#include <string.h>

#include "interp/algebra/bind.h"
#include "interp/front/front_trace.h"
#include "interp/front/source.h"
#include "interp/ops/call.h"
#include "interp/state/diag.h"
#include "interp/state/state.h"
#include "interp/state/state_language.h"
#include "interp/trace/front.h"
#include "std_modules.h"

/* Upvalues: the function, its name, and how many arguments it takes. */
static int counted(lua_State *L) {
  const char *name = lua_tostring(L, lua_upvalueindex(2));
  diag_check_count(L, name, lua_gettop(L), (int)lua_tointeger(L, lua_upvalueindex(3)));
  return lua_tocfunction(L, lua_upvalueindex(1))(L);
}

/* {====== Functions written in Lua ====== */

static int end_call(lua_State *L, int status, lua_KContext trust) {
  (void)status;
  front_trust(L, -(int)trust);
  return lua_gettop(L);
}

int counted_call(lua_State *L, const char *name, int n, bool is_helper) {
  diag_check_count(L, name, lua_gettop(L) - 1, n);
  if (is_helper && front_ir(L) != NULL) {
    if (src_convert(L, -1, RW_HELPER) != LUA_OK) {
      return lua_error(L);
    }
    lua_remove(L, -2);
  }
  lua_insert(L, 1);
  int trust = is_helper ? 0 : 1;
  front_trust(L, trust);
  lua_callk(L, lua_gettop(L) - 1, LUA_MULTRET, trust, end_call);
  return end_call(L, LUA_OK, trust);
}

/* Upvalues as of counted. */
static int counted_in_lua(lua_State *L) {
  lua_pushvalue(L, lua_upvalueindex(1));
  return counted_call(L, lua_tostring(L, lua_upvalueindex(2)),
                      (int)lua_tointeger(L, lua_upvalueindex(3)), true);
}

int counted_most(lua_State *L) {
  lua_Debug ar;
  lua_pushvalue(L, -1);
  lua_getinfo(L, ">u", &ar);
  return ar.isvararg ? INT_MAX : ar.nparams;
}

/* Upvalues as of counted, and the name of the type whose method it is. */
static int method_in_lua(lua_State *L) {
  const char *type = lua_tostring(L, lua_upvalueindex(4));
  const char *name = lua_tostring(L, lua_upvalueindex(2));
  int n = lua_gettop(L);
  bool is_own = n > 0 && luaL_getmetafield(L, 1, "__name") == LUA_TSTRING &&
                strcmp(lua_tostring(L, -1), type) == 0;
  lua_settop(L, n);
  if (!is_own) {
    return diag_error(L,
                      "%s: it is called on %s; write t:%s(...), with a colon, for a t of type %s",
                      name, diag_push_kind(L, 1), name, type);
  }
  return counted_in_lua(L);
}

/* __newindex of a table of methods: one in Lua that would ignore arguments counts them. */
static int set_method(lua_State *L) {
  luaL_checktype(L, 1, LUA_TTABLE); /* scripts get this function from a metatable */
  lua_settop(L, 3);
  int n = lua_isfunction(L, 3) && !lua_iscfunction(L, 3) ? counted_most(L) : INT_MAX;
  if (n < INT_MAX) {
    lua_pushvalue(L, 2);
    lua_pushinteger(L, n);
    lua_pushvalue(L, lua_upvalueindex(1));
    lua_pushcclosure(L, method_in_lua, 4);
  }
  lua_rawset(L, 1);
  return 0;
}

/* close_methods(name, fields, methods): of a table that has no functions in Lua so far; see tiles.new_type. */
static int close_methods(lua_State *L) {
  lua_settop(L, 3);
  luaL_checktype(L, 3, LUA_TTABLE);
  if (!lua_isnil(L, 2)) {
    luaL_checktype(L, 2, LUA_TTABLE);
  }
  bind_close_methods(L, lua_tostring(L, 1));
  lua_getmetatable(L, 3);
  lua_pushvalue(L, 2);
  lua_setfield(L, -2, FIELDS);
  lua_pushvalue(L, 1);
  lua_pushcclosure(L, set_method, 1);
  lua_setfield(L, -2, "__newindex");
  return 0;
}

int counted_refuse_name(lua_State *L) {
  state_push_function(L, "cuttle.typed", "field_hint");
  lua_pushvalue(L, 1);
  lua_pushvalue(L, 2);
  front_trust(L, 1); /* it looks at names only */
  lua_call(L, 2, 1);
  front_trust(L, -1);
  const char *name = luaL_tolstring(L, 2, NULL), *hint = lua_tostring(L, -2);
  return diag_error(L, "%s has no field '%s'; %s", diag_push_kind(L, 1), name, hint);
}

static const luaL_Reg internals[] = {{"_host.close_methods", close_methods}, {NULL, NULL}};

/* {====== Functions written in C ====== */

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

/* The table of the methods of a type, or of that name in the language at the top [-0, +1, m]. */
static void push_methods(lua_State *L, const char *type) {
  if (luaL_getmetatable(L, type) == LUA_TNIL) {
    lua_pop(L, 1);
    lua_getfield(L, -1, type);
    return;
  }
  if (lua_getfield(L, -1, METHODS) == LUA_TNIL) {
    lua_pop(L, 1);
    lua_getfield(L, -1, "__index");
  }
  lua_remove(L, -2);
}

/* Is it a function in Lua, or in C and has no upvalues? Others count by themselves. */
static bool is_plain(lua_State *L) {
  bool has_upvalue = lua_iscfunction(L, -1) && lua_getupvalue(L, -1, 1) != NULL;
  lua_pop(L, has_upvalue);
  return lua_isfunction(L, -1) && !has_upvalue;
}

/* Stack: a table, one of its values. */
static void add_count(lua_State *L, const StdCount *c) {
  if (call_set_count(L, c->n) || !is_plain(L) || counts_itself(c->name)) {
    return;
  }
  lua_CFunction check = lua_iscfunction(L, -1) ? counted : counted_in_lua;
  if (c->type != NULL && !c->is_method) {
    lua_pushfstring(L, "%s.%s", c->type, c->name);
  } else {
    lua_pushstring(L, c->name);
  }
  lua_pushinteger(L, c->n);
  lua_pushcclosure(L, check, 3);
  lua_setfield(L, -2, c->name);
}

/* The same of a method that is a function of the language, which counts now if it has to. Stack: language, methods,
   one of them. */
static void add_counted(lua_State *L, const StdCount *c) {
  lua_getfield(L, -3, c->name);
  if (lua_tocfunction(L, -1) != counted) {
    return;
  }
  lua_getupvalue(L, -1, 1);
  bool is = lua_rawequal(L, -1, -3);
  lua_pop(L, 1);
  if (is) {
    lua_setfield(L, -3, c->name);
  }
}

void counted_add_module(lua_State *L, const char *name) {
  for (const StdCount *c = std_counts; lua_istable(L, -1) && c->name != NULL; c++) {
    if (c->type != NULL && !c->is_method && strcmp(c->type, name) == 0) {
      lua_getfield(L, -1, c->name);
      int top = lua_gettop(L);
      add_count(L, c);
      lua_settop(L, top - 1);
    }
  }
}

static bool is_same(const char *a, const char *b) {
  return a == NULL || b == NULL ? a == b : strcmp(a, b) == 0;
}

/* The table that functions of that type are in. Stack: language [-0, +1, m]. */
static void push_table(lua_State *L, const char *type) {
  if (type == NULL) {
    lua_pushvalue(L, -1);
  } else {
    push_methods(L, type);
  }
}

/* Stack: language, the table that the row's function is in. */
static void add_row(lua_State *L, const StdCount *c) {
  int table = lua_gettop(L);
  if (lua_istable(L, table)) {
    lua_getfield(L, table, c->name);
    if (c->n < 0) {
      add_counted(L, c);
    } else {
      add_count(L, c);
    }
  }
  lua_settop(L, table);
}

void counted_add(lua_State *L) {
  luaL_setfuncs(L, internals, 0);
  const StdCount *c = std_counts;
  while (c->name != NULL) {
    const char *type = c->type;
    push_table(L, type);
    for (; c->name != NULL && is_same(c->type, type); c++) {
      add_row(L, c);
    }
    lua_pop(L, 1);
  }
}
