/* program_options.c: the options of the command line: those in front, those of every command, and those of emit after
   its script. */
#include <lauxlib.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "program.h"
#include "interp/state/diag.h"
#include "runtime/device/nvrtc.h"

void program_usage_error(Program *p, const char *fmt, ...) {
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
    program_usage_error(p, "%s", err.msg);
  }
  p->has_device = p->has_device || value != NULL;
  return value != NULL;
}

static bool take_sm(Program *p) {
  const char *value = option_value(p, "--sm");
  int sm;
  CtErr err;
  char arch[16];
  const char *suffix = value == NULL ? NULL : ct_nvrtc_read_arch(value, &sm, arch);
  if (value != NULL && suffix == NULL) {
    program_usage_error(p, "--sm=%s is not a compute capability; 90 and 90a stand for 9.0", value);
  } else if (value != NULL && ct_nvrtc_check_arch(sm, *suffix, &err) != CT_OK) {
    program_usage_error(p, "--sm: %s", err.msg);
  } else if (value != NULL) {
    p->has_sm = true;
    p->s->emit.sm = sm;
    memcpy(p->s->emit.arch, arch, sizeof arch);
  }
  return value != NULL;
}

static bool take_chunk(Program *p) {
  const char *arg = p->argv[p->at];
  if (strncmp(arg, "-e", 2) != 0) {
    return false;
  }
  if (arg[2] == '\0' && p->at + 1 == p->argc) {
    program_usage_error(p, "-e needs an argument");
  } else if (p->n_chunks == PROGRAM_MAX_CHUNKS) {
    program_usage_error(p, "-e more than %d times", PROGRAM_MAX_CHUNKS);
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
    program_usage_error(p, "%s needs a file", name);
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
    program_usage_error(p, "%s must be the first option", p->argv[p->at]);
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

void program_read_options(Program *p) {
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
      program_usage_error(p, "unknown option %s", arg);
    }
  }
}

/* A function of cuttle.options with texts. Results: n_results. */
void program_call_options(Program *p, const char *name, const char *const texts[3], int n_results) {
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
      program_call_options(p, "note_late", (const char *const[]){p->command, arg, names}, 0);
    }
    p->argv[to++] = p->argv[p->at];
  }
  p->argc = to;
  p->at = before;
}

void program_read_common_options(Program *p) {
  Taker *const takers[] = {take_device, take_traceback};
  read_options_among(p, p->at, takers, CT_ARRAY_LEN(takers), NULL);
}

void program_read_late_options(Program *p) {
  Taker *const takers[] = {take_device, take_traceback, take_sm,  take_compile,
                           take_ptx,    take_cubin,     take_help};
  read_options_among(p, p->at + 1, takers, CT_ARRAY_LEN(takers),
                     "device traceback sm compile ptx cubin");
}
