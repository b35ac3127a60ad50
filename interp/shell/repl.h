/* repl.h: the read-eval-print loop of the program, and calls that Ctrl-C can stop. */
#ifndef CUTTLE_REPL_H
#define CUTTLE_REPL_H

#include "interp/state/state.h"

/* state_call, while Ctrl-C stops the script and the kernel that it runs; a second Ctrl-C ends the
   program. One state at a time. */
int repl_call(CuttleState *s, int n_args, int n_results);

/* Reads and runs inputs until the end of standard input or `exit`: with a prompt, line editing and
   a history where standard input is a terminal. Returns how many inputs failed. */
int repl_run(CuttleState *s);

/* "cuttle: no such file", "script.lua:27: message": on standard error, with the program's name when
   the message does not say where it comes from. Pops the message at the top of the stack. */
void repl_report(lua_State *L);

#endif
