/* repl_print.c: prints results. Text is what tostring says; tables are opened by stdlib/base/pretty.lua,
   layouts drawn by the language's `show`. */
#include "repl_print.h"
#include "interp/state/state_language.h"

#include <lauxlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "interp/algebra/bind.h"
#include "interp/state/state.h"

enum { DEFAULT_COLUMNS = 80, MAX_DRAWN_CELLS = 256, MAX_DRAWN_PANELS = 4 };

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

/* Pushes what a function of the language is; false when it is another one: nothing is pushed. */
static bool push_function(lua_State *L, int idx) {
  if (lua_type(L, idx) != LUA_TFUNCTION || !state_push_name(L, idx)) {
    return false;
  }
  const char *name = lua_tostring(L, -1);
  lua_pushfstring(L, "function %s; help(%s)", name, name);
  lua_remove(L, -2);
  return true;
}

/* Texts that are files, by how they begin, and what writes them. A terminal does not show these. */
static const struct {
  const char *begin, *kind, *maker;
} pictures[] = {{"<?xml ", "SVG", "svg(x, \"x.svg\")"},
                {"<!DOCTYPE html>", "HTML", "html(x, \"x.html\")"},
                {"\\documentclass", "LaTeX", "latex(x, \"x.tex\")"},
                {"\\begin{tikzpicture}", "LaTeX", "latex(x, \"x.tex\")"}};

/* Pushes "104 lines of SVG; ..." in place of a picture's text, on a terminal; false of any other value:
   nothing is pushed. */
static bool push_picture_size(lua_State *L, int idx) {
  const char *text = lua_type(L, idx) == LUA_TSTRING ? lua_tostring(L, idx) : "";
  size_t i = 0;
  while (i < CT_ARRAY_LEN(pictures) &&
         strncmp(text, pictures[i].begin, strlen(pictures[i].begin)) != 0) {
    i++;
  }
  if (i == CT_ARRAY_LEN(pictures) || isatty(STDOUT_FILENO) != 1) {
    return false;
  }
  int n_lines = 0;
  for (const char *at = strchr(text, '\n'); at != NULL; at = strchr(at + 1, '\n')) {
    n_lines++;
  }
  lua_pushfstring(L, "%d lines of %s; %s writes a file, print(ans) shows them", n_lines,
                  pictures[i].kind, pictures[i].maker);
  return true;
}

/* Pushes the text of the value at idx. */
static void push_text(lua_State *L, int idx) {
  if (push_picture_size(L, idx)) {
    return;
  }
  if (is_plain_table(L, idx)) {
    state_push_module(L, "cuttle.pretty");
    lua_getfield(L, -1, "text");
    lua_remove(L, -2);
    lua_pushvalue(L, idx);
    lua_pushinteger(L, columns());
    lua_call(L, 2, 1);
  } else if (!push_function(L, idx)) {
    luaL_tolstring(L, idx, NULL);
  }
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

/* Calls the language's `show`, if there is one, with the layout at idx; with_text: for its text, which
   is then at the top. */
static bool call_show(lua_State *L, int idx, bool with_text) {
  state_push_language(L);
  lua_pushliteral(L, "show");
  if (lua_rawget(L, -2) != LUA_TFUNCTION) {
    return false;
  }
  lua_pushvalue(L, idx);
  lua_createtable(L, 0, 3);
  lua_pushboolean(L, with_text);
  lua_setfield(L, -2, "text");
  lua_pushinteger(L, MAX_DRAWN_CELLS); /* of the operands too, which may be large */
  lua_setfield(L, -2, "max_cells");
  lua_pushinteger(L, MAX_DRAWN_PANELS);
  lua_setfield(L, -2, "max_panels");
  lua_call(L, 2, 1);
  return true;
}

/* Whether the first line of the picture at the top has the text at idx, which ends with a newline:
   then the picture says it all. */
static bool has_title(lua_State *L, int idx) {
  const char *title = lua_tostring(L, idx), *picture = lua_tostring(L, -1);
  size_t len = strcspn(title, "\n");
  size_t line = picture == NULL ? 0 : strcspn(picture, "\n");
  for (size_t i = 0; i + len <= line; i++) {
    if (memcmp(picture + i, title, len) == 0) {
      return true;
    }
  }
  return false;
}

/* Pushes the texts of the n values from 1 on, with tabs between them and a newline. */
static void push_line(lua_State *L, int n) {
  luaL_Buffer b;
  luaL_buffinit(L, &b);
  for (int i = 1; i <= n; i++) {
    push_text(L, i);
    luaL_addvalue(&b);
    luaL_addchar(&b, i < n ? '\t' : '\n');
  }
  luaL_pushresult(&b);
}

int print_values(lua_State *L) {
  int n = lua_gettop(L);
  push_line(L, n);
  int text = lua_gettop(L);
  bool draws = n == 1 && isatty(STDOUT_FILENO) == 1 && is_drawable(L, 1) && call_show(L, 1, true);
  if (!draws || !has_title(L, text)) {
    size_t len;
    const char *s = lua_tolstring(L, text, &len);
    state_print(state_of(L), s, len);
  }
  if (draws) {
    call_show(L, 1, false);
  }
  return 0;
}
