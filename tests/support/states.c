/* states.c: a Lua interpreter for scripts/run_tests.lua that runs programs of Cuttle itself, each in a
   fresh state, so that a table of cases takes one process. Beside Lua's libraries scripts have
     run_in_state(text, name, seconds) -> out, err, code
   which does what `cuttle name` does with a file of that text, on the CPU engine: what it prints, what
   it writes to stderr, its exit code. A program that takes longer ends all.
     build/tests/support/states scripts/run_tests.lua tests/fails */
#include <lauxlib.h>
#include <lualib.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "interp/host/language.h"
#include "interp/state/state.h"
#include "interp/state/state_language.h"

enum { EXIT_TIME = 124 };

typedef struct Output {
  char *text;
  size_t len, capacity;
} Output;

static void append(void *ud, const char *text, size_t len) {
  Output *o = ud;
  if (o->len + len + 1 > o->capacity) {
    o->capacity = 2 * (o->len + len + 1);
    o->text = realloc(o->text, o->capacity);
    if (o->text == NULL) {
      abort();
    }
  }
  memcpy(o->text + o->len, text, len);
  o->len += len;
}

static void append_line(Output *o, const char *line) {
  append(o, line, strlen(line));
  append(o, "\n", 1);
}

/* As the program: notes are not shown. */
static void take_log(void *ud, const char *line) {
  if (strstr(line, ": warning: ") != NULL) {
    append_line(ud, line);
  }
}

static char running[128]; /* the program's name, for a signal handler */

static void out_of_time(int signal_number) {
  (void)signal_number;
  static const char text[] = ": out of time\n";
  ssize_t n = write(STDERR_FILENO, running, strlen(running));
  n += write(STDERR_FILENO, text, sizeof text - 1);
  _exit(n >= 0 ? EXIT_TIME : EXIT_FAILURE);
}

/* Loads and calls the text; the exit code. */
static int run(CuttleState *s, const char *text, size_t len, const char *chunkname, Output *err) {
  int status = state_load(s->L, text, len, chunkname);
  if (status == LUA_OK) {
    status = state_call(s, 0, 0);
  }
  if (status == LUA_OK) {
    return EXIT_SUCCESS;
  }
  const char *msg = lua_tostring(s->L, -1);
  append_line(err, msg == NULL ? "the error is not a string" : msg);
  lua_pop(s->L, 1);
  return EXIT_FAILURE;
}

static int push_results(lua_State *L, Output *out, Output *err, int code) {
  lua_pushlstring(L, out->text == NULL ? "" : out->text, out->len);
  lua_pushlstring(L, err->text == NULL ? "" : err->text, err->len);
  lua_pushinteger(L, code);
  free(out->text);
  free(err->text);
  return 3;
}

static int run_in_state(lua_State *L) {
  size_t len;
  const char *text = luaL_checklstring(L, 1, &len), *name = luaL_checkstring(L, 2);
  const char *chunkname = lua_pushfstring(L, "@%s", name);
  Output out = {0}, err = {0};
  cuttle_Options options = {.size = sizeof options,
                            .print = append,
                            .print_ud = &out,
                            .log = take_log,
                            .log_ud = &err,
                            .device = "cpu"};
  CuttleState *s = language_new_state(&options);
  if (s == NULL) {
    return luaL_error(L, "not enough memory for a state");
  }
  snprintf(running, sizeof running, "%s", name);
  alarm((unsigned)luaL_checkinteger(L, 3));
  int code = run(s, text, len, chunkname, &err);
  if (code == EXIT_SUCCESS && cuttle_synchronize(s) != CUTTLE_OK) {
    append_line(&err, cuttle_error(s));
    code = EXIT_FAILURE;
  }
  state_free(s);
  alarm(0);
  return push_results(L, &out, &err, code);
}

static void set_arg(lua_State *L, int argc, char **argv) {
  lua_newtable(L);
  for (int i = 1; i < argc; i++) {
    lua_pushstring(L, argv[i]);
    lua_rawseti(L, -2, i - 1);
  }
  lua_setglobal(L, "arg");
}

int main(int argc, char **argv) {
  lua_State *L = luaL_newstate();
  if (L == NULL || argc < 2) {
    fputs("usage: states script.lua [arguments]\n", stderr);
    return EXIT_FAILURE;
  }
  signal(SIGALRM, out_of_time);
  luaL_openlibs(L);
  lua_register(L, "run_in_state", run_in_state);
  set_arg(L, argc, argv);
  bool failed = luaL_loadfile(L, argv[1]) != LUA_OK;
  for (int i = 2; i < argc && !failed; i++) {
    lua_pushstring(L, argv[i]);
  }
  failed = failed || lua_pcall(L, argc - 2, 0, 0) != LUA_OK;
  if (failed) {
    fprintf(stderr, "%s\n", lua_tostring(L, -1));
  }
  lua_close(L);
  return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
