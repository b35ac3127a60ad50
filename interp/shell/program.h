/* program.h: one run of the program: its command line, and what it has come to. */
#ifndef CUTTLE_PROGRAM_H
#define CUTTLE_PROGRAM_H

#include "interp/host/std_modules.h"
#include "interp/state/state.h"

enum { EXIT_USAGE = 2, EXIT_INTERRUPT = 130, PROGRAM_MAX_CHUNKS = 64 };

typedef struct Program {
  CuttleState *s;
  lua_State *L;
  int argc;
  char **argv;
  int at;                                 /* of the argument to read */
  const char *chunks[PROGRAM_MAX_CHUNKS]; /* of -e */
  int n_chunks;
  const char *command;                                 /* NULL: run a script or the REPL */
  bool interactive, help, version, has_device, has_sm; /* options that were given */
  bool answers;                                        /* a request of `cuttle mcp` */
  bool is_over;                                        /* `--` has ended them */
  int exit_code;
} Program;

/* {====== program_options.c ====== */

/* Prints what is wrong with the command line, and where to read about it; the exit code is EXIT_USAGE. */
CT_PRINTF(2, 3) void program_usage_error(Program *p, const char *fmt, ...);

/* Reads options up to the first argument that is not one. */
void program_read_options(Program *p);
/* A command of the standard library has options of its own: only those that every command has are read here. */
void program_read_common_options(Program *p);
/* Options of emit after its script. */
void program_read_late_options(Program *p);

/* Calls a function of cuttle.options with texts. Results: n_results. */
void program_call_options(Program *p, const char *name, const char *const texts[3], int n_results);

/* {====== program_run.c ====== */

/* Sets the table `arg`: the script at 0, its arguments from 1, what stands before it below 0. */
void program_set_arg(const Program *p);
/* Calls the function at the top, and reports its failure. */
bool program_call(Program *p, int n_args);
/* Runs the script at argv[at], with the rest as its arguments. */
bool program_run_script(Program *p);
/* The chunks of -e, then the script, then the prompt if it was asked for. */
void program_run_plain(Program *p);
/* What the environment says and nobody understands fails before anything runs. */
bool program_can_start(Program *p);
/* The command that a module is; NULL: it is none. */
const char *program_command_of(const StdModule *m);

/* {====== program_commands.c ====== */

/* The command that argv[at] names, or, if it names none, as program_run_plain. */
void program_run_command(Program *p);

/* usage.c: the texts of --help that are not of a command of the standard library. */

extern const char emit_usage[], info_usage[];

/* Prints the usage of the program, with a row for each command of the standard library. */
void put_usage(void);

/* info.c: what `cuttle info` prints. */

/* Prints version, device, CPU engine, NVRTC with its targets, and cache, and why they were chosen. */
void info_print(CuttleState *s);

/* worker.c: the program in a sandbox: `cuttle --sandbox script.lua`, and with `--answer` the process that answers a
   request of `cuttle mcp`. */

/* Takes `--sandbox` or `--sandbox=MIB`, the program's first argument, into the options of its state; NULL, or what is
   wrong with it. */
const char *worker_take_sandbox(int argc, char **argv, cuttle_Options *options);
/* Is this argument `--sandbox`? */
bool worker_is_sandbox(const char *arg);

/* Lets no more than the first MiB of the output through. */
void worker_limit_output(cuttle_Options *options);

/* Reads a request from standard input, answers it at PROCESS_REPLY_FD, and returns the exit code. The module
   cuttle.mcp_answer makes the answer. */
int worker_answer(CuttleState *s);

#endif
