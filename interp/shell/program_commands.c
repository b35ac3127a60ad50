/* program_commands.c: `cuttle NAME`: emit, help and info, and the commands that are modules of the standard
   library. */
#include <lauxlib.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "program.h"
#include "process.h"
#include "repl.h"
#include "interp/state/state_language.h"

/* A launch is traced for the device that it runs on, and a script may ask for that device's capability: where this
   is not the one to write for, launches run on the CPU engine, which takes all. */
static bool choose_emit_device(Program *p) {
  CtDevice *d = NULL;
  CtErr err;
  if (state_device(p->s, &d, &err) != CT_OK || d == NULL ||
      ct_device_info(d)->sm == p->s->emit.sm || (p->has_device && !p->has_sm)) {
    return true;
  }
  if (p->has_device) {
    program_usage_error(p,
                        "emit: --sm=%d, but --device=%s is sm_%d, and launches are traced for "
                        "the device that they run on; leave --device out, and they run on the CPU "
                        "engine",
                        p->s->emit.sm, p->s->device_text, ct_device_info(d)->sm);
    return false;
  }
  return state_choose_device(p->s, "cpu", &err) == CT_OK;
}

/* A script that launches nothing leaves the files that were asked for unwritten. */
static void check_images(Program *p) {
  const struct {
    const char *name;
    const StateImages *files;
  } images[] = {{"ptx", &p->s->emit.ptx}, {"cubin", &p->s->emit.cubin}};
  for (size_t i = 0; i < CT_ARRAY_LEN(images) && p->exit_code == 0; i++) {
    if (images[i].files->path != NULL && images[i].files->n == 0) {
      fprintf(stderr, "cuttle: emit: --%s=%s: the script launched no kernel, so there is no file\n",
              images[i].name, images[i].files->path);
      p->exit_code = EXIT_FAILURE;
    }
  }
  if (p->exit_code == 0 && p->s->emit.names.len == 0) {
    fputs("cuttle: emit: the script launched no kernel, so there is no CUDA C\n", stderr);
  }
}

static void run_emit(Program *p) {
  p->s->mode = STATE_EMIT;
  if (p->at >= p->argc) {
    program_usage_error(p, "emit needs a script");
    return;
  }
  if (!p->is_over) {
    program_read_late_options(p);
  }
  if (p->help) {
    fputs(emit_usage, stdout);
  }
  if (p->help || p->exit_code != 0) {
    return;
  }
  if (!program_can_start(p) || !choose_emit_device(p)) {
    return;
  }
  program_set_arg(p);
  if (program_run_script(p) && p->s->emit.failed) {
    fprintf(stderr, "cuttle: a kernel did not compile, though the script went on\n");
    p->exit_code = EXIT_FAILURE;
  }
  check_images(p);
}

static void run_info(Program *p) {
  if (p->at < p->argc) {
    program_usage_error(p, "info takes no argument, got %s", p->argv[p->at]);
  } else {
    info_print(p->s);
  }
}

/* Commands may start the program again; scripts find this module, too, but not in a sandbox. */
static int open_process(lua_State *L) {
  process_push(L);
  return 1;
}

static void offer_process(const Program *p) {
  if (!p->s->options.sandbox) {
    luaL_getsubtable(p->L, LUA_REGISTRYINDEX, LUA_PRELOAD_TABLE);
    lua_pushcfunction(p->L, open_process);
    lua_setfield(p->L, -2, "cuttle.process");
    lua_pop(p->L, 1);
  }
}

/* A command that the standard library has: cuttle.command_<name> is called with the arguments; the option -h
   in front is its --help. */
static void run_std_command(Program *p) {
  char module[64];
  if (p->s->options.sandbox) {
    program_usage_error(p, "--sandbox runs a script or emit, and %s needs files", p->command);
    return;
  }
  if (!program_can_start(p)) {
    return;
  }
  snprintf(module, sizeof module, "cuttle.command_%s", p->command);
  program_set_arg(p);
  offer_process(p);
  lua_getglobal(p->L, "require");
  lua_pushstring(p->L, module);
  int status = repl_call(p->s, 1, 1);
  if (status == LUA_OK) {
    int n_args = p->argc - p->at;
    luaL_checkstack(p->L, n_args + 4, "too many arguments");
    for (int i = p->at; i < p->argc; i++) {
      bool is_help = i == p->at && strcmp(p->argv[i], "-h") == 0;
      lua_pushstring(p->L, is_help ? "--help" : p->argv[i]);
    }
    program_call(p, n_args);
  } else {
    repl_report(p->L);
    p->exit_code = EXIT_FAILURE;
  }
}

static void run_help(Program *p);

/* `usage` NULL: that of the program. */
static const struct {
  const char *name;
  void (*run)(Program *p);
  const char *usage;
} commands[] = {
    {"emit", run_emit, emit_usage}, {"help", run_help, NULL}, {"info", run_info, info_usage}};

static bool is_std_command(const char *name) {
  for (const StdModule *m = std_modules; m->name != NULL; m++) {
    if (program_command_of(m) != NULL && strcmp(program_command_of(m), name) == 0) {
      return true;
    }
  }
  return false;
}

/* A word that names a command, unless there is a file of that name with .lua in it. */
static void (*find_command(const char *word))(Program *) {
  for (size_t i = 0; i < CT_ARRAY_LEN(commands); i++) {
    if (strcmp(commands[i].name, word) == 0) {
      return commands[i].run;
    }
  }
  return is_std_command(word) ? run_std_command : NULL;
}

/* Prints the text of --help of a command that is not of the standard library; false: there is no such one. */
static bool put_usage_of(const char *command) {
  for (size_t i = 0; i < CT_ARRAY_LEN(commands); i++) {
    if (strcmp(commands[i].name, command) == 0 && commands[i].usage != NULL) {
      return fputs(commands[i].usage, stdout) >= 0;
    }
    if (strcmp(commands[i].name, command) == 0) {
      put_usage();
      return true;
    }
  }
  return false;
}

static bool is_name(lua_State *L, const char *name) {
  state_push_language(L);
  bool found = lua_getfield(L, -1, name) != LUA_TNIL;
  lua_pop(L, 2);
  return found;
}

/* `cuttle help check`, of a command that is no name of the language. */
static void help_command(Program *p, const char *command) {
  static char help_option[] = "--help";
  if (put_usage_of(command)) {
    return;
  }
  p->command = command;
  p->argv[p->at] = help_option;
  run_std_command(p);
}

static void run_help(Program *p) {
  if (p->at == p->argc) {
    put_usage();
    return;
  }
  const char *word = p->argv[p->at];
  if (p->at + 1 < p->argc) {
    program_usage_error(p, "help explains one name, got %s and %s", word, p->argv[p->at + 1]);
    return;
  }
  bool is_command = find_command(word) != NULL, has_name = is_name(p->L, word);
  if (is_command && !has_name) {
    help_command(p, word);
    return;
  }
  lua_getglobal(p->L, "help");
  lua_pushstring(p->L, word);
  if (program_call(p, 1) && is_command) {
    printf("\nThe command of this name: cuttle %s --help\n", word);
  }
}

void program_run_command(Program *p) {
  void (*run)(Program *) = p->at < p->argc ? find_command(p->argv[p->at]) : NULL;
  if (run == NULL) {
    program_run_plain(p);
    return;
  }
  p->command = p->argv[p->at++];
  if (run == run_std_command) {
    program_read_common_options(p);
  } else {
    program_read_options(p); /* `cuttle emit --sm=80 x.lua` */
  }
  if (p->exit_code == 0 && p->help) {
    (void)put_usage_of(p->command);
  } else if (p->exit_code == 0) {
    run(p);
  }
}
