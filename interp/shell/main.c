/* main.c: the `cuttle` program: reads the command line, runs scripts and commands, or the REPL.
   Everything happens inside one protected call, in the manner of lua.c. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "interp/host/language.h"
#include "program.h"
#include "repl.h"

static int run_program(lua_State *L) {
  Program *p = lua_touserdata(L, 1);
  lua_settop(L, 0);
  program_read_options(p);
  if (p->exit_code != 0) {
    return 0;
  }
  if (p->answers) {
    p->exit_code = worker_answer(p->s);
  } else if (p->help) {
    put_usage();
  } else if (p->version) {
    printf("Cuttle %s, %s\n", CUTTLE_VERSION, LUA_RELEASE);
  } else {
    program_run_command(p);
  }
  return 0;
}

/* However the program ends, os.exit included, output that could not be written is an error. print flushes, too, so
   that the stream may know already. */
static void check_output(void) {
  if (fflush(stdout) != 0 || ferror(stdout)) {
    fputs("cuttle: cannot write to standard output\n", stderr);
    _exit(EXIT_FAILURE);
  }
}

int main(int argc, char **argv) {
  atexit(check_output);
  cuttle_Options options = {.size = sizeof options, .log = repl_log};
  const char *refused = worker_take_sandbox(argc, argv, &options);
  if (refused != NULL) {
    fprintf(stderr, "cuttle: %s\n", refused);
    return EXIT_USAGE;
  }
  CuttleState *s = language_new_state(&options);
  if (s == NULL) {
    fputs("cuttle: not enough memory\n", stderr);
    return EXIT_FAILURE;
  }
  s->owns_process = true;
  Program p = {.s = s, .L = s->L, .argc = argc, .argv = argv, .at = 1};
  lua_pushcfunction(s->L, run_program);
  lua_pushlightuserdata(s->L, &p);
  if (lua_pcall(s->L, 1, 0, 0) != LUA_OK) {
    repl_report(s->L);
    p.exit_code = EXIT_FAILURE;
  }
  if (p.exit_code != 0 && !state_settle(s)) { /* libraries would wait at exit, too */
    check_output();
    _exit(p.exit_code);
  }
  state_free(s);
  return p.exit_code;
}
