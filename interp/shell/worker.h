/* worker.h: the program in a sandbox: `cuttle --sandbox script.lua`, and with `--answer` the process that answers a
   request of `cuttle mcp`. */
#ifndef CUTTLE_WORKER_H
#define CUTTLE_WORKER_H

#include "interp/state/state.h"

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
