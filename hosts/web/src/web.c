/* web.c: prompts for a page. Each function is one protected call, as main.c is. */
#include "web.h"

#include <lauxlib.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "interp/host/language.h"
#include "interp/shell/repl.h"
#include "interp/shell/repl_complete.h"
#include "interp/shell/repl_input.h"
#include "interp/shell/repl_locals.h"
#include "interp/shell/repl_print.h"
#include "interp/state/state_language.h"

enum { N_STATES = 3, QUIET_STATE = 2, INCOMPLETE = -1 };

static CuttleState *states[N_STATES];
static int n_inputs[N_STATES];

/* A call, and what it returned. */
typedef struct Call {
  CuttleState *s;
  int state;
  const char *text, *path;
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
    c->result = repl_run_input(c->s, status) ? 0 : EXIT_FAILURE;
  }
  return 0;
}

int web_input(int state, const char *text) {
  Call c = {.state = state, .text = text};
  return protect(&c, run_input);
}

static int run_script(lua_State *L) {
  Call *c = lua_touserdata(L, 1);
  int status = locals_load(L, c->text, strlen(c->text), "=script");
  if (status == LUA_OK) {
    status = repl_call(c->s, 0, 0);
  }
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
  state_push_module(L, "cuttle.web");
  lua_getfield(L, -1, name);
  lua_remove(L, -2);
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
