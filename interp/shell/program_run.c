/* program_run.c: runs the chunks of -e, a script and the prompt, and reports how they failed. */
#include <lauxlib.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "program.h"
#include "repl.h"
#include "interp/algebra/bind.h"
#include "interp/state/state_language.h"

static int failure(const Program *p) {
  return state_is_interrupted(p->s) ? EXIT_INTERRUPT : EXIT_FAILURE;
}

bool program_call(Program *p, int n_args) {
  int status = repl_call(p->s, n_args, 0);
  if (status != LUA_OK) {
    repl_report(p->L);
    p->exit_code = failure(p);
  }
  return status == LUA_OK;
}

/* A function, or the message of why there is none, is at the top. */
static bool call_loaded(Program *p, int status, int n_args) {
  if (status == LUA_OK) {
    lua_insert(p->L, -1 - n_args);
    return program_call(p, n_args);
  }
  if (status == LUA_ERRFILE) { /* says what it could not do, but not who */
    fputs("cuttle: ", stderr);
  }
  repl_report(p->L);
  p->exit_code = EXIT_FAILURE;
  return false;
}

/* The table `arg`: the script at 0, its arguments from 1, what stands before it below 0. */
void program_set_arg(const Program *p) {
  int script = p->at < p->argc ? p->at : 0;
  lua_createtable(p->L, p->argc - script, script + 1);
  for (int i = 0; i < p->argc; i++) {
    lua_pushstring(p->L, p->argv[i]);
    lua_rawseti(p->L, -2, i - script);
  }
  lua_setglobal(p->L, "arg");
}

static bool run_chunks(Program *p) {
  for (int i = 0; i < p->n_chunks; i++) {
    char name[48] = "=(command line)";
    if (i > 0) {
      snprintf(name, sizeof name, "=(command line %d)", i + 1);
    }
    const char *text = p->chunks[i];
    if (!call_loaded(p, state_load(p->L, text, strlen(text), name), 0)) {
      return false;
    }
  }
  return true;
}

/* What the last launches on a GPU have to say comes out here, at the latest. */
static bool wait_for_devices(Program *p) {
  if (repl_wait(p->s)) {
    return true;
  }
  fprintf(stderr, "cuttle: %s\n", cuttle_error(p->s));
  p->exit_code = failure(p);
  return false;
}

const char *program_command_of(const StdModule *m) {
  static const char prefix[] = "cuttle.command_";
  return strncmp(m->name, prefix, sizeof prefix - 1) == 0 ? m->name + sizeof prefix - 1 : NULL;
}

/* What might have been meant by a word that is no script, after the message at the top. */
static void add_hint(Program *p, const char *word) {
  luaL_Buffer b;
  luaL_buffinit(p->L, &b);
  luaL_addstring(&b, "emit help info");
  for (const StdModule *m = std_modules; m->name != NULL; m++) {
    if (program_command_of(m) != NULL) {
      luaL_addchar(&b, ' ');
      luaL_addstring(&b, program_command_of(m));
    }
  }
  luaL_pushresult(&b); /* stack: message, commands */
  program_call_options(
      p, "hint", (const char *const[]){word, lua_tostring(p->L, -1), "version device traceback"},
      1);
  lua_pushfstring(p->L, "%s; %s", lua_tostring(p->L, -3), lua_tostring(p->L, -1));
  lua_replace(p->L, -4);
  lua_pop(p->L, 2);
}

/* The script at argv[at], with the rest as its arguments. */
bool program_run_script(Program *p) {
  const char *path = p->argv[p->at];
  int n_args = p->argc - p->at - 1;
  luaL_checkstack(p->L, n_args + 4, "too many arguments");
  for (int i = 0; i < n_args; i++) {
    lua_pushstring(p->L, p->argv[p->at + 1 + i]);
  }
  if (strcmp(path, "-") != 0) {
    lua_pushstring(p->L, path);
    lua_setfield(p->L, LUA_REGISTRYINDEX, STATE_LAST_FILE);
  }
  int status = state_load_file(p->L, strcmp(path, "-") == 0 ? NULL : path);
  if (status == LUA_ERRFILE && strpbrk(path, "./") == NULL) { /* a word: was a command meant? */
    add_hint(p, path);
  }
  return call_loaded(p, status, n_args);
}

static void run_repl(Program *p) {
  if (repl_run(p->s) > 0 && isatty(STDIN_FILENO) != 1) {
    p->exit_code = EXIT_FAILURE;
  }
}

bool program_can_start(Program *p) {
  const cuttle_Options o = {.size = sizeof o, .device = p->has_device ? "auto" : NULL};
  const char *refused = state_refuse_start(&o);
  if (refused != NULL) {
    fprintf(stderr, "cuttle: %s\n", refused);
    p->exit_code = EXIT_FAILURE;
  }
  return refused == NULL;
}

void program_run_plain(Program *p) {
  if (!program_can_start(p)) {
    return;
  }
  program_set_arg(p);
  bool has_script = p->at < p->argc;
  bool ok = run_chunks(p) && (!has_script || program_run_script(p)) && wait_for_devices(p);
  if ((ok || isatty(STDIN_FILENO) == 1) && (p->interactive || (!has_script && p->n_chunks == 0))) {
    p->exit_code = 0;
    run_repl(p);
  }
}
