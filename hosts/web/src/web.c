/* web.c: prompts for a page. Each function is one protected call, as main.c is. */
#include "web.h"

#include <lauxlib.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "interp/host/language.h"
#include "interp/shell/repl.h"
#include "interp/shell/repl_parts.h"
#include "interp/state/state_language.h"

enum { N_STATES = 3, QUIET_STATE = 2, INCOMPLETE = -1 };

static CuttleState *states[N_STATES];
static int n_inputs[N_STATES];

/* A call, and what it returned. */
typedef struct Call {
  CuttleState *s;
  int state;
  const char *text, *path, *shows;
  int number; /* of a cell */
  int result;
} Call;

/* {====== States ====== */

int web_open(int state, int greets) {
  cuttle_Options options = {
      .size = sizeof options, .log = repl_log, .interrupted_by_own_thread = 1};
  if (states[state] != NULL) {
    state_free(states[state]);
  }
  n_inputs[state] = 0;
  states[state] = language_new_state(&options);
  if (states[state] == NULL) {
    fputs("cuttle: not enough memory\n", stderr);
    return EXIT_FAILURE;
  }
  repl_begin(states[state], greets ? "exit ends" : NULL);
  fflush(stdout);
  return 0;
}

/* Runs `function` with the call as a light userdata, in its state. */
static int protect(Call *c, lua_CFunction function) {
  c->result = EXIT_FAILURE;
  if (states[c->state] == NULL && web_open(c->state, 0) != 0) {
    return EXIT_FAILURE;
  }
  c->s = states[c->state];
  lua_State *L = c->s->L;
  lua_settop(L, 0);
  lua_pushcfunction(L, function);
  lua_pushlightuserdata(L, c);
  if (lua_pcall(L, 1, 0, 0) != LUA_OK) {
    repl_report(L);
  }
  fflush(stdout);
  return c->result;
}

/* {====== Inputs ====== */

static int run_input(lua_State *L) {
  Call *c = lua_touserdata(L, 1);
  bool more;
  lua_pushstring(L, c->text);
  int status = input_load_text(L, ++n_inputs[c->state], &more);
  if (more) {
    n_inputs[c->state]--;
    c->result = INCOMPLETE;
  } else {
    c->result = repl_run_input(c->s, status, c->text) ? 0 : EXIT_FAILURE;
  }
  return 0;
}

int web_input(int state, const char *text) {
  Call c = {.state = state, .text = text};
  return protect(&c, run_input);
}

/* os.exit of a script ends the script, not the engine with the prompt's state. */
static const char has_exited[] = "cuttle.web.exited";

static int end_script(lua_State *L) {
  lua_pushboolean(L, 1);
  lua_setfield(L, LUA_REGISTRYINDEX, has_exited);
  return luaL_error(L, "os.exit");
}

/* What a program has: its arguments, of which there are none, and a way to end. */
static void set_program(lua_State *L) {
  lua_createtable(L, 0, 1);
  lua_pushliteral(L, "script");
  lua_rawseti(L, -2, 0);
  lua_setglobal(L, "arg");
  lua_getglobal(L, "os");
  lua_pushcfunction(L, end_script);
  lua_setfield(L, -2, "exit");
  lua_pop(L, 1);
  lua_pushnil(L);
  lua_setfield(L, LUA_REGISTRYINDEX, has_exited);
}

static int run_script(lua_State *L) {
  Call *c = lua_touserdata(L, 1);
  set_program(L);
  int status = input_load_chunk(L, c->text, "=script");
  if (status == LUA_OK) {
    status = repl_call(c->s, 0, 0);
  }
  if (lua_getfield(L, LUA_REGISTRYINDEX, has_exited) == LUA_TBOOLEAN) {
    status = LUA_OK;
  }
  lua_pop(L, 1);
  if (status != LUA_OK) {
    repl_report(L);
  }
  c->result = status;
  return 0;
}

int web_script(int state, const char *text) {
  Call c = {.state = state, .text = text};
  return protect(&c, run_script);
}

/* {====== Completion ====== */

static int join_candidates(lua_State *L) {
  const Call *c = lua_touserdata(L, 1);
  char **list = complete_line(L, c->text, strlen(c->text));
  luaL_Buffer b;
  luaL_buffinit(L, &b);
  for (char **p = list == NULL ? NULL : list + 1; p != NULL && *p != NULL; p++) {
    luaL_addstring(&b, *p);
    luaL_addchar(&b, '\n');
    free(*p);
  }
  if (list != NULL) {
    free(list[0]);
    free(list);
  }
  luaL_pushresult(&b);
  lua_setfield(L, LUA_REGISTRYINDEX, "cuttle.web.candidates");
  return 0;
}

const char *web_complete(int state, const char *line) {
  Call c = {.state = state, .text = line};
  protect(&c, join_candidates);
  if (c.s == NULL) {
    return "";
  }
  lua_getfield(c.s->L, LUA_REGISTRYINDEX, "cuttle.web.candidates");
  const char *candidates = lua_tostring(c.s->L, -1);
  lua_pop(c.s->L, 1); /* the registry has it */
  return candidates == NULL ? "" : candidates;
}

/* {====== Pictures, help ====== */

/* Pushes a function of the module. */
static void push_tool(lua_State *L, const char *name) {
  state_push_function(L, "cuttle.web", name);
}

/* Calls the function below n arguments; reports its error. */
static bool call(CuttleState *s, int n_args, int n_results) {
  int status = repl_call(s, n_args, n_results);
  if (status != LUA_OK) {
    repl_report(s->L);
  }
  return status == LUA_OK;
}

/* Pushes what the expression is worth. */
static bool push_value(const Call *c) {
  lua_State *L = c->s->L;
  bool more;
  lua_pushstring(L, c->text);
  if (input_load_text(L, ++n_inputs[c->state], &more) != LUA_OK) {
    repl_report(L);
    return false;
  }
  return call(c->s, 0, 1);
}

static int draw(lua_State *L) {
  Call *c = lua_touserdata(L, 1);
  if (!push_value(c)) {
    return 0;
  }
  lua_pushcfunction(L, print_values);
  lua_pushvalue(L, 2);
  if (call(c->s, 1, 0)) {
    push_tool(L, "picture");
    lua_pushvalue(L, 2);
    lua_pushstring(L, c->text);
    lua_pushstring(L, c->path);
    c->result = call(c->s, 3, 0) ? 0 : EXIT_FAILURE;
  }
  return 0;
}

int web_picture(int state, const char *expression, const char *path) {
  Call c = {.state = state, .text = expression, .path = path};
  return protect(&c, draw);
}

static int call_tool(lua_State *L) {
  Call *c = lua_touserdata(L, 1);
  push_tool(L, c->path);
  lua_pushstring(L, c->text);
  c->result = call(c->s, 1, 0) ? 0 : EXIT_FAILURE;
  return 0;
}

int web_call(const char *name, const char *argument) {
  Call c = {.state = QUIET_STATE, .text = argument, .path = name};
  return protect(&c, call_tool);
}

/* {====== Cells of a notebook ====== */

enum { SHOWN_NAMES = 1 << 20 }; /* numbers of inputs that only name a value */

static const char cell_value[] = "cuttle.web.cell";

static bool is_lua(lua_State *L, const char *before, const char *text) {
  lua_pushfstring(L, "%s%s", before, text);
  const char *chunk = lua_tostring(L, -1);
  bool is = luaL_loadbufferx(L, chunk, strlen(chunk), "=cell", "t") == LUA_OK;
  lua_pop(L, 2);
  return is;
}

static int form_of(lua_State *L, const char *text, bool is_loaded) {
  if (is_lua(L, "return ", text)) {
    return WEB_EXPRESSION;
  }
  return is_lua(L, "", text) ? WEB_STATEMENT : is_loaded ? WEB_LAYOUT : WEB_BROKEN;
}

/* Calls the function that it has, and keeps its first result. */
static int keep_result(lua_State *L) {
  lua_settop(L, 0);
  lua_pushvalue(L, lua_upvalueindex(1));
  lua_call(L, 0, LUA_MULTRET);
  if (lua_gettop(L) > 0) {
    lua_pushvalue(L, 1);
    lua_setfield(L, LUA_REGISTRYINDEX, cell_value);
  }
  return lua_gettop(L);
}

/* Runs and prints the text; *form: what it is. */
static bool run_text(const Call *c, const char *text, int number, int *form) {
  lua_State *L = c->s->L;
  bool more;
  lua_pushstring(L, text);
  int status = input_load_text(L, number, &more);
  *form = form_of(L, text, status == LUA_OK);
  if (status == LUA_OK) {
    lua_pushcclosure(L, keep_result, 1);
  }
  return repl_run_input(c->s, status, text);
}

/* Pushes what is kept; false where nothing is. */
static bool push_kept(lua_State *L) {
  return lua_getfield(L, LUA_REGISTRYINDEX, cell_value) != LUA_TNIL;
}

static int run_cell(lua_State *L) {
  Call *c = lua_touserdata(L, 1);
  int form, other;
  lua_pushnil(L);
  lua_setfield(L, LUA_REGISTRYINDEX, cell_value);
  bool ok = run_text(c, c->text, c->number, &form);
  c->result = form | (ok ? 0 : WEB_FAILED);
  if (ok && !push_kept(L) && c->shows != NULL) {
    run_text(c, c->shows, SHOWN_NAMES + c->number, &other);
  }
  if (ok && push_kept(L)) {
    push_tool(L, "draw");
    lua_insert(L, -2);
    lua_pushstring(L, c->path);
    call(c->s, 2, 0);
  }
  return 0;
}

int web_cell(int state, int number, const char *text, const char *shows, const char *path) {
  Call c = {.state = state, .number = number, .text = text, .path = path};
  c.shows = shows[0] == '\0' ? NULL : shows;
  return protect(&c, run_cell);
}
