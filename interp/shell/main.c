/* main.c: the `cuttle` program: reads the command line, runs scripts and commands, or the REPL.
   Everything happens inside one protected call, in the manner of lua.c. */
#include <lauxlib.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "interp/host/language.h"
#include "interp/algebra/bind.h"
#include "info.h"
#include "process.h"
#include "repl.h"
#include "worker.h"
#include "runtime/device/nvrtc.h"
#include "interp/host/std_modules.h"
#include "interp/state/state_language.h"

enum { EXIT_USAGE = 2, EXIT_INTERRUPT = 130, MAX_CHUNKS = 64, MAX_SM = 9999 };

/* Around the rows of the commands of the standard library. */
static const char head_usage[] =
    "usage: cuttle [options] [script.lua [arguments]]\n"
    "       cuttle COMMAND ...\n"
    "\n"
    "Without a script, cuttle reads inputs and prints their values.\n"
    "\n"
    "  script.lua            run it; its arguments are in `arg` and `...`; - is standard input\n"
    "  emit script.lua       run it and print the CUDA C of every specialisation that it launches\n"
    "  help [name]           print this text, or explain a command or a name of the language\n"
    "  info                  print version, devices, compilers, caches, and why they were chosen\n";
static const char tail_usage[] =
    "\n"
    "  -e CODE               run CODE; may be given more than once\n"
    "  -i                    run the script, then open the prompt\n"
    "  --device=DEVICE       auto, cpu, cpu:N, cuda or cuda:N; default: CUTTLE_DEVICE, or auto\n"
    "  --sm=N                emit: the compute capability times 10, such as 80, 90a or 100f; 90\n"
    "                        means 90a. Without such a device, launches run on the CPU engine\n"
    "  --compile             emit: also compile the CUDA C with NVRTC, for that capability\n"
    "  --ptx=FILE            emit: also write its PTX to a file\n"
    "  --cubin=FILE          emit: also write its machine code to a file\n"
    "  --traceback           show the calls that led to an error\n"
    "  --sandbox[=MIB]       first of all: run a script that you do not trust, without files and\n"
    "                        processes, on the CPU engine, in so much memory; default: 1024 MiB\n"
    "  --version, --help\n"
    "  --                    end of the options; those of a command may also follow its script\n"
    "\n"
    "docs: docs/ in the source tree; environment: CUTTLE_DEVICE, CUTTLE_CHECK, CUTTLE_CAPTURE,\n"
    "CUTTLE_THREADS, CUTTLE_ISA, CUTTLE_NVRTC, CUTTLE_LIBCUDA, CUTTLE_NCCL, CUTTLE_COMM_ID,\n"
    "CUTTLE_COMM_TIMEOUT, CUTTLE_COMM_BLOCKING, CUTTLE_CACHE, CUTTLE_HISTORY, CUTTLE_LIBEDIT,\n"
    "CUTTLE_PLAYGROUND\n";

static const char emit_usage[] =
    "usage: cuttle emit [--sm=N] [--compile] [--ptx=FILE] [--cubin=FILE] script.lua [arguments]\n"
    "\n"
    "Runs the script and prints the CUDA C of every specialisation that it launches, each once.\n"
    "nvcc can compile the output: if a kernel `sum` has more than one specialisation,\n"
    "they are called sum, sum_2, ... in the order of their first launches. For 90a, use\n"
    "nvcc -gencode arch=compute_90a,code=sm_90a; nvcc -arch=sm_90a would also need PTX for 90.\n"
    "\n"
    "  --sm=N                the compute capability to write for, times 10, such as 80, 90a or\n"
    "                        100f; 90 means 90a; default: the device's, or 90 without one.\n"
    "                        Without such a device, launches run on the CPU engine\n"
    "  --compile             also compile the CUDA C with NVRTC, for that capability\n"
    "  --ptx=FILE            also write its PTX, with the script's lines for other tools. A * in FILE\n"
    "                        stands for the kernel's name, so each specialisation has its own file\n"
    "  --cubin=FILE          also write its machine code, in the same way\n"
    "  --device=DEVICE       auto, cpu, cpu:N, cuda or cuda:N: where launches run\n"
    "\n"
    "Options may come before or after the script, up to `--`. The exit code is the script's, or 1 if a\n"
    "kernel does not compile.\n";

static const char info_usage[] =
    "usage: cuttle info [--device=DEVICE]\n"
    "\n"
    "Prints the version, the device, the CPU engine, NVRTC with the values of --sm that it\n"
    "supports, the cache of compiled kernels, and why they were chosen.\n";

typedef struct Program {
  CuttleState *s;
  lua_State *L;
  int argc;
  char **argv;
  int at;                         /* the argument that is looked at */
  const char *chunks[MAX_CHUNKS]; /* of -e */
  int n_chunks;
  const char *command;                                 /* NULL: run a script or the REPL */
  bool interactive, help, version, has_device, has_sm; /* options that were given */
  bool answers;                                        /* a request of `cuttle mcp` */
  bool is_over;                                        /* `--` has ended them */
  int exit_code;
} Program;

/* {====== The command line ====== */

CT_PRINTF(2, 3) static void usage_error(Program *p, const char *fmt, ...) {
  va_list args;
  fputs("cuttle: ", stderr);
  va_start(args, fmt);
  vfprintf(stderr, fmt, args);
  va_end(args);
  fprintf(stderr, "; see cuttle %s%s--help\n", p->command == NULL ? "" : p->command,
          p->command == NULL ? "" : " ");
  p->exit_code = EXIT_USAGE;
}

typedef bool Taker(Program *p);

/* The value of --name=value or --name value; NULL when this is another option. */
static const char *option_value(Program *p, const char *name) {
  const char *arg = p->argv[p->at];
  size_t len = strlen(name);
  if (strncmp(arg, name, len) != 0 || (arg[len] != '=' && arg[len] != '\0')) {
    return NULL;
  }
  if (arg[len] == '=') {
    return arg + len + 1;
  }
  return p->at + 1 < p->argc ? p->argv[++p->at] : "";
}

static bool take_device(Program *p) {
  CtErr err;
  const char *value = option_value(p, "--device");
  if (value != NULL && state_choose_device(p->s, value, &err) != CT_OK) {
    usage_error(p, "%s", err.msg);
  }
  p->has_device = p->has_device || value != NULL;
  return value != NULL;
}

static bool take_sm(Program *p) {
  const char *value = option_value(p, "--sm");
  if (value != NULL) {
    char *end;
    CtErr err;
    long sm = strtol(value, &end, 10);
    bool has_suffix = (*end == 'a' || *end == 'f') && end[1] == '\0';
    if (end == value || (*end != '\0' && !has_suffix) || sm < 0 || sm > MAX_SM) {
      usage_error(p, "--sm=%s is not a compute capability; 90 and 90a stand for 9.0", value);
    } else if (ct_nvrtc_check_arch((int)sm, *end, &err) != CT_OK) {
      usage_error(p, "--sm: %s", err.msg);
    } else {
      p->has_sm = true;
      p->s->emit.sm = (int)sm;
      ct_nvrtc_arch((int)sm, p->s->emit.arch);
      if (has_suffix) {
        snprintf(p->s->emit.arch, sizeof p->s->emit.arch, "sm_%s", value);
      }
    }
  }
  return value != NULL;
}

static bool take_chunk(Program *p) {
  const char *arg = p->argv[p->at];
  if (strncmp(arg, "-e", 2) != 0) {
    return false;
  }
  if (arg[2] == '\0' && p->at + 1 == p->argc) {
    usage_error(p, "-e needs an argument");
  } else if (p->n_chunks == MAX_CHUNKS) {
    usage_error(p, "-e more than %d times", MAX_CHUNKS);
  } else {
    p->chunks[p->n_chunks++] = arg[2] != '\0' ? arg + 2 : p->argv[++p->at];
  }
  return true;
}

static bool take_traceback(Program *p) {
  bool known = strcmp(p->argv[p->at], "--traceback") == 0;
  if (known) {
    diag_set_traceback(p->L, true);
  }
  return known;
}

static bool take_compile(Program *p) {
  bool known = strcmp(p->argv[p->at], "--compile") == 0;
  p->s->emit.compiles = p->s->emit.compiles || known;
  return known;
}

static bool take_image(Program *p, const char *name, StateImages *files) {
  const char *value = option_value(p, name);
  if (value != NULL && *value == '\0') {
    usage_error(p, "%s needs a file", name);
  }
  files->path = value != NULL ? value : files->path;
  return value != NULL;
}

static bool take_ptx(Program *p) { return take_image(p, "--ptx", &p->s->emit.ptx); }
static bool take_cubin(Program *p) { return take_image(p, "--cubin", &p->s->emit.cubin); }

static bool take_help(Program *p) {
  const char *arg = p->argv[p->at];
  bool known = strcmp(arg, "--help") == 0 || strcmp(arg, "-h") == 0;
  p->help = p->help || known;
  return known;
}

static bool take_flag(Program *p) {
  const char *arg = p->argv[p->at];
  bool known = true;
  if (strcmp(arg, "-i") == 0) {
    p->interactive = true;
  } else if (strcmp(arg, "--version") == 0 || strcmp(arg, "-v") == 0) {
    p->version = true;
  } else {
    known = false;
  }
  return known;
}

/* main has taken it where it may stand: first. */
static bool take_sandbox(Program *p) {
  bool known = worker_is_sandbox(p->argv[p->at]);
  if (known && p->at != 1) {
    usage_error(p, "%s must be the first option", p->argv[p->at]);
  }
  return known;
}

/* `--answer=run` or `--answer=emit`, by which `cuttle mcp` starts the program. */
static bool take_answer(Program *p) {
  const char *value = p->s->options.sandbox ? option_value(p, "--answer") : NULL;
  p->answers = p->answers || value != NULL;
  if (value != NULL) {
    worker_limit_output(&p->s->options);
    p->s->mode = strcmp(value, "emit") == 0 ? STATE_EMIT : STATE_RUN;
  }
  return value != NULL;
}

/* Reads options up to the first argument that is not one. */
static void read_options(Program *p) {
  Taker *const takers[] = {take_device,  take_traceback, take_sm,    take_chunk,
                           take_compile, take_ptx,       take_cubin, take_help,
                           take_flag,    take_sandbox,   take_answer};
  for (; p->at < p->argc && p->exit_code == 0; p->at++) {
    const char *arg = p->argv[p->at];
    bool known = false;
    if (arg[0] != '-' || arg[1] == '\0') {
      return;
    }
    if (strcmp(arg, "--") == 0) {
      p->is_over = true;
      p->at++;
      return;
    }
    for (size_t i = 0; i < CT_ARRAY_LEN(takers) && !known; i++) {
      known = takers[i](p);
    }
    if (!known) {
      usage_error(p, "unknown option %s", arg);
    }
  }
}

/* A function of cuttle.options with texts. Results: n_results. */
static void call_options(Program *p, const char *name, const char *const texts[3], int n_results) {
  lua_getglobal(p->L, "require");
  lua_pushliteral(p->L, "cuttle.options");
  lua_call(p->L, 1, 1);
  lua_getfield(p->L, -1, name);
  lua_remove(p->L, -2);
  for (int i = 0; i < 3; i++) {
    lua_pushstring(p->L, texts[i]);
  }
  lua_call(p->L, 3, n_results);
}

/* Takes the options among the arguments from `first` on, up to `--`, and leaves the others there. `names`, if not
   NULL: the others are a script's, and one that looks like an option of these names is told; `--` goes, too. */
static void read_options_among(Program *p, int first, Taker *const takers[], size_t n,
                               const char *names) {
  int before = p->at, to = first;
  bool is_over = false;
  for (p->at = first; p->at < p->argc && p->exit_code == 0; p->at++) {
    const char *arg = p->argv[p->at];
    bool known = false, ends = !is_over && strcmp(arg, "--") == 0;
    is_over = is_over || ends;
    for (size_t i = 0; i < n && !known && !is_over; i++) {
      known = takers[i](p);
    }
    if (known || (ends && names != NULL)) {
      continue;
    }
    if (names != NULL && !is_over) {
      call_options(p, "note_late", (const char *const[]){p->command, arg, names}, 0);
    }
    p->argv[to++] = p->argv[p->at];
  }
  p->argc = to;
  p->at = before;
}

/* A command of the standard library has options of its own: only those that every command has are read here. */
static void read_common_options(Program *p) {
  Taker *const takers[] = {take_device, take_traceback};
  read_options_among(p, p->at, takers, CT_ARRAY_LEN(takers), NULL);
}

/* Options of emit after its script. */
static void read_late_options(Program *p) {
  Taker *const takers[] = {take_device, take_traceback, take_sm,  take_compile,
                           take_ptx,    take_cubin,     take_help};
  read_options_among(p, p->at + 1, takers, CT_ARRAY_LEN(takers),
                     "device traceback sm compile ptx cubin");
}

/* {====== Running ====== */

static int failure(const Program *p) {
  return state_is_interrupted(p->s) ? EXIT_INTERRUPT : EXIT_FAILURE;
}

/* Calls the function at the top, and reports its failure. */
static bool call(Program *p, int n_args) {
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
    return call(p, n_args);
  }
  if (status == LUA_ERRFILE) { /* says what it could not do, but not who */
    fputs("cuttle: ", stderr);
  }
  repl_report(p->L);
  p->exit_code = EXIT_FAILURE;
  return false;
}

/* The table `arg`: the script at 0, its arguments from 1, what stands before it below 0. */
static void set_arg(const Program *p) {
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

/* The command that a module is; NULL: it is none. */
static const char *command_of(const StdModule *m) {
  static const char prefix[] = "cuttle.command_";
  return strncmp(m->name, prefix, sizeof prefix - 1) == 0 ? m->name + sizeof prefix - 1 : NULL;
}

/* What might have been meant by a word that is no script, after the message at the top. */
static void add_hint(Program *p, const char *word) {
  luaL_Buffer b;
  luaL_buffinit(p->L, &b);
  luaL_addstring(&b, "emit help info");
  for (const StdModule *m = std_modules; m->name != NULL; m++) {
    if (command_of(m) != NULL) {
      luaL_addchar(&b, ' ');
      luaL_addstring(&b, command_of(m));
    }
  }
  luaL_pushresult(&b); /* stack: message, commands */
  call_options(p, "hint",
               (const char *const[]){word, lua_tostring(p->L, -1), "version device traceback"}, 1);
  lua_pushfstring(p->L, "%s; %s", lua_tostring(p->L, -3), lua_tostring(p->L, -1));
  lua_replace(p->L, -4);
  lua_pop(p->L, 2);
}

/* The script at argv[at], with the rest as its arguments. */
static bool run_script(Program *p) {
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

/* A device that the environment names and nobody knows fails before anything runs. */
static bool knows_device(Program *p) {
  const char *refused = p->has_device ? NULL : state_refuse_device(NULL);
  if (refused != NULL) {
    fprintf(stderr, "cuttle: %s\n", refused);
    p->exit_code = EXIT_FAILURE;
  }
  return refused == NULL;
}

static void run_plain(Program *p) {
  if (!knows_device(p)) {
    return;
  }
  set_arg(p);
  bool has_script = p->at < p->argc;
  bool ok = run_chunks(p) && (!has_script || run_script(p)) && wait_for_devices(p);
  if ((ok || isatty(STDIN_FILENO) == 1) && (p->interactive || (!has_script && p->n_chunks == 0))) {
    p->exit_code = 0;
    run_repl(p);
  }
}

/* {====== Commands ====== */

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
    usage_error(p,
                "emit: --sm=%d, but --device=%s is sm_%d, and launches are traced for the device "
                "that they run on; leave --device out, and they run on the CPU engine",
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
}

static void run_emit(Program *p) {
  p->s->mode = STATE_EMIT;
  if (p->at >= p->argc) {
    usage_error(p, "emit needs a script");
    return;
  }
  if (!p->is_over) {
    read_late_options(p);
  }
  if (p->help) {
    fputs(emit_usage, stdout);
  }
  if (p->help || p->exit_code != 0) {
    return;
  }
  if (!knows_device(p) || !choose_emit_device(p)) {
    return;
  }
  set_arg(p);
  if (run_script(p) && p->s->emit.failed) {
    fprintf(stderr, "cuttle: a kernel did not compile, though the script went on\n");
    p->exit_code = EXIT_FAILURE;
  }
  check_images(p);
}

static void run_info(Program *p) {
  if (p->at < p->argc) {
    usage_error(p, "info takes no argument, got %s", p->argv[p->at]);
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
    usage_error(p, "--sandbox runs a script or emit, and %s needs files", p->command);
    return;
  }
  if (!knows_device(p)) {
    return;
  }
  snprintf(module, sizeof module, "cuttle.command_%s", p->command);
  set_arg(p);
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
    call(p, n_args);
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

static void put_usage(void) {
  fputs(head_usage, stdout);
  fputs(std_command_rows, stdout);
  fputs(tail_usage, stdout);
}

static bool is_std_command(const char *name) {
  for (const StdModule *m = std_modules; m->name != NULL; m++) {
    if (command_of(m) != NULL && strcmp(command_of(m), name) == 0) {
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
  bool is_command = find_command(word) != NULL, has_name = is_name(p->L, word);
  if (is_command && !has_name) {
    help_command(p, word);
    return;
  }
  lua_getglobal(p->L, "help");
  lua_pushstring(p->L, word);
  if (call(p, 1) && is_command) {
    printf("\nThe command of this name: cuttle %s --help\n", word);
  }
}

static void run_command_or_plain(Program *p) {
  void (*run)(Program *) = p->at < p->argc ? find_command(p->argv[p->at]) : NULL;
  if (run == NULL) {
    run_plain(p);
    return;
  }
  p->command = p->argv[p->at++];
  if (run == run_std_command) {
    read_common_options(p);
  } else {
    read_options(p); /* `cuttle emit --sm=80 x.lua` */
  }
  if (p->exit_code == 0 && p->help) {
    (void)put_usage_of(p->command);
  } else if (p->exit_code == 0) {
    run(p);
  }
}

/* {====== The program ====== */

static int run_program(lua_State *L) {
  Program *p = lua_touserdata(L, 1);
  lua_settop(L, 0);
  read_options(p);
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
    run_command_or_plain(p);
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
