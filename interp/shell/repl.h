/* repl.h: the read-eval-print loop of the program, and calls that Ctrl-C can stop. */
#ifndef CUTTLE_REPL_H
#define CUTTLE_REPL_H

#include "interp/state/state.h"

/* state_call, while Ctrl-C stops the script and the kernel that it runs; a second Ctrl-C ends the
   program. One state at a time. */
int repl_call(CuttleState *s, int n_args, int n_results);
/* The same of cuttle_synchronize; whether it came to its end. */
bool repl_wait(CuttleState *s);

/* Reads and runs inputs until the end of standard input or `exit`: with a prompt, line editing and
   a history where standard input is a terminal. Returns how many inputs failed. */
int repl_run(CuttleState *s);

/* For who gets inputs in another way than from standard input: errors are short from now on and, with a
   `way_out` that is not NULL, the greeting is printed, which may name it, and notes are taken. */
void repl_begin(CuttleState *s, const char *way_out);

/* Runs the input that input_load has left at the top, with the status that it returned: prints what it
   is worth, or its error, and the notes, of which some come from the input's text. Pops it. False: it failed. */
bool repl_run_input(CuttleState *s, int status, const char *text);

/* "cuttle: no such file", "script.lua:27: message": on standard error, with the program's name when
   the message does not say where it comes from. Pops the message at the top of the stack. */
void repl_report(lua_State *L);

/* The `log` of a state: warnings are for the user; notes, as on the choice of a device, are what `cuttle info`
   says. */
void repl_log(void *ud, const char *line);

#endif
