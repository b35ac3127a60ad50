/* repl_print.c: prints results: stdlib/commands/results.lua says how. */
#include "repl_parts.h"
#include "interp/state/state_language.h"

#include <lauxlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "interp/algebra/bind.h"
#include "interp/state/state.h"

enum { DEFAULT_COLUMNS = 80, MAX_DRAWN_CELLS = 256 };

/* Columns of the terminal that is standard output. */
static int columns(void) {
  struct winsize size;
  bool known = ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
  return known ? size.ws_col : DEFAULT_COLUMNS;
}

static bool is_plain_table(lua_State *L, int idx) {
  if (lua_type(L, idx) != LUA_TTABLE) {
    return false;
  }
  bool has_text = luaL_getmetafield(L, idx, "__tostring") != LUA_TNIL;
  lua_pop(L, has_text ? 1 : 0);
  return !has_text;
}

/* Pushes a function of the module. */
static void push_function(lua_State *L, const char *name) {
  state_push_function(L, "cuttle.results", name);
}

static bool is_drawable(lua_State *L, int idx) {
  CtComposed c;
  CtInt n;
  if (!bind_test_composed(L, idx, &c) || !ct_composed_is_static(&c) ||
      ct_layout_rank(c.layout) < 1 || ct_layout_rank(c.layout) > 2) {
    return false;
  }
  CtCx cx = bind_enter(L);
  return ct_size(&cx, c.layout, &n, NULL) == CT_OK && n.v <= MAX_DRAWN_CELLS;
}

/* Pushes the texts of the n values from 1 on, with tabs between them and a newline. */
static void push_line(lua_State *L, int n, bool on_terminal) {
  luaL_Buffer b;
  luaL_buffinit(L, &b);
  for (int i = 1; i <= n; i++) {
    push_function(L, "text");
    lua_pushvalue(L, i);
    lua_pushinteger(L, columns());
    lua_pushboolean(L, is_plain_table(L, i));
    lua_pushboolean(L, on_terminal);
    if (!lua_isfunction(L, i) || !state_push_name(L, i)) {
      lua_pushnil(L);
    }
    lua_call(L, 5, 1);
    luaL_addvalue(&b);
    luaL_addchar(&b, i < n ? '\t' : '\n');
  }
  luaL_pushresult(&b);
}

/* Does the drawing of the layout at 1 have its text, which is at the top? */
static bool says_all(lua_State *L) {
  push_function(L, "says_all");
  lua_pushvalue(L, 1);
  lua_pushinteger(L, MAX_DRAWN_CELLS);
  lua_pushvalue(L, -4);
  lua_call(L, 3, 1);
  bool is = lua_toboolean(L, -1) != 0;
  lua_pop(L, 1);
  return is;
}

int print_values(lua_State *L) {
  int n = lua_gettop(L);
  bool on_terminal = isatty(STDOUT_FILENO) == 1;
  push_line(L, n, on_terminal);
  bool draws = n == 1 && on_terminal && is_drawable(L, 1);
  if (!draws || !says_all(L)) {
    size_t len;
    const char *s = lua_tolstring(L, -1, &len);
    state_print(state_of(L), s, len);
  }
  if (draws) {
    push_function(L, "draw");
    lua_pushvalue(L, 1);
    lua_pushinteger(L, MAX_DRAWN_CELLS);
    lua_call(L, 2, 0);
  }
  return 0;
}
