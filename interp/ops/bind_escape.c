/* bind_escape.c: cuda[[...]], CUDA C as it is with named operands, and the Lua function that may stand
   in for it on the CPU engine. */
#include <lauxlib.h>

#include "interp/algebra/bind.h"
#include "interp/trace/front.h"
#include "interp/front/front_reads.h"
#include "interp/state/state.h"
#include "interp/trace/value.h"
#include "interp/openers.h"

enum { MAX_OPERANDS = 32 };

enum { TEXT = 1, OPERANDS, TYPE, TWIN }; /* the arguments, after arrange */

/* A function may take the place of any optional argument: it is the twin. */
static void arrange(lua_State *L) {
  luaL_checkstring(L, TEXT);
  int twin = OPERANDS;
  while (twin < TWIN && !lua_isfunction(L, twin)) {
    twin++;
  }
  lua_settop(L, twin < TWIN && lua_isfunction(L, twin) ? twin : TWIN);
  while (lua_gettop(L) < TWIN) {
    lua_pushnil(L);
    lua_insert(L, -2);
  }
  if (!lua_isnil(L, OPERANDS) && !lua_istable(L, OPERANDS)) {
    diag_type_error(L, OPERANDS, "cuda", "a table of operands, {name = value},");
  }
  if (lua_iscfunction(L, TWIN)) {
    diag_error(L, "cuda: the Lua twin is a C function, whose parameters have no names; write "
                  "function(x) return f(x) end");
  } else if (!lua_isnil(L, TWIN) && !lua_isfunction(L, TWIN)) {
    diag_type_error(L, TWIN, "cuda", "a Lua function, the text's twin,");
  }
}

/* Takes the operands' names and values; returns their number. The table holds the names. */
static int take_operands(lua_State *L, const char *names[], CtVal vals[]) {
  int n = 0;
  if (lua_isnil(L, OPERANDS)) {
    return 0;
  }
  lua_pushnil(L);
  while (lua_next(L, OPERANDS) != 0) {
    if (n == MAX_OPERANDS || lua_type(L, -2) != LUA_TSTRING) {
      diag_error(L, "cuda: operands are named, and at most %d", MAX_OPERANDS);
    }
    names[n] = lua_tostring(L, -2);
    vals[n++] = value_to(L, -1, CT_VOID, "cuda");
    lua_pop(L, 1);
  }
  return n;
}

/* Pushes the operand for each parameter of the twin; returns their number. */
static int push_twin_arguments(lua_State *L) {
  int n = 0;
  for (;; n++) {
    luaL_checkstack(L, 4, NULL);
    lua_pushvalue(L, TWIN);
    const char *name = lua_getlocal(L, NULL, n + 1);
    lua_pop(L, 1);
    if (name == NULL) {
      return n;
    }
    if (lua_isnil(L, OPERANDS) || lua_getfield(L, OPERANDS, name) == LUA_TNIL) {
      diag_error(L,
                 "cuda: the Lua twin has a parameter '%s', but there is no operand of that name; "
                 "its parameters have the names of the operands",
                 name);
    }
  }
}

/* Traces the twin in place of the text; returns the number of results on the stack. */
static int call_twin(lua_State *L, CtDtype type) {
  int expected = type == CT_VOID ? 0 : 1;
  int base = lua_gettop(L);
  if (front_convert_function(L, TWIN, RW_HELPER) != LUA_OK) {
    return lua_error(L);
  }
  lua_call(L, push_twin_arguments(L), LUA_MULTRET);
  int n = lua_gettop(L) - base;
  front_here(L, "cuda");
  if (n != expected) {
    return diag_error(
        L,
        expected == 1 ? "cuda: the Lua twin of an expression returns %d values; expected one"
                      : "cuda: the Lua twin of a statement returns %d values; expected none, or "
                        "give the expression's type",
        n);
  }
  if (expected == 1) {
    value_push(L, value_to(L, -1, type, "cuda: the Lua twin"));
  }
  return expected;
}

/* cuda[[text]] or cuda([[text]][, {name = value, ...}][, dtype][, twin]): CUDA C as it is, $name for
   operands; with a dtype it is an expression of that type. The CPU engine runs the twin. */
static int escape(lua_State *L) {
  CtIr *ir = front_here(L, "cuda");
  const char *names[MAX_OPERANDS];
  CtVal vals[MAX_OPERANDS];
  arrange(L);
  CtDtype type = lua_isnil(L, TYPE) ? CT_VOID : bind_to_dtype(L, TYPE, "cuda");
  int n = take_operands(L, names, vals);
  if (!ir->target.is_cuda && !lua_isnil(L, TWIN)) {
    return call_twin(L, type);
  }
  CtVal v = ct_ir_escape(ir, type, lua_tostring(L, TEXT), n, names, vals);
  if (type == CT_VOID) {
    return 0;
  }
  value_push(L, v);
  return 1;
}

/* The same for scripts. In a sandbox no text reaches a compiler, because the compiler would read
   the files that the text includes. */
static int lang_cuda(lua_State *L) {
  const CtIr *ir = front_here(L, "cuda");
  if (ir->target.is_cuda && state_of(L)->options.sandbox != 0) {
    return diag_error(L,
                      "cuda: a sandboxed script brings no CUDA C of its own: it could include the "
                      "host's files; on the CPU engine its Lua twin runs");
  }
  return escape(L);
}

/* The library's own texts are trusted. */
static const luaL_Reg escape_functions[] = {{"cuda", lang_cuda}, {"_cuda", escape}, {NULL, NULL}};

void bind_open_escape(lua_State *L) { luaL_setfuncs(L, escape_functions, 0); }
