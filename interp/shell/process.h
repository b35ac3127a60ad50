/* process.h: the program started again. `cuttle mcp` answers each request in such a process, so that a crash is only
   an error and a cancelled request is killed; `cuttle watch` runs a command in one at each save. */
#ifndef CUTTLE_PROCESS_H
#define CUTTLE_PROCESS_H

#include <lua.h>

/* Where a process that was started with `reply` finds the pipe for its answer. */
enum { PROCESS_REPLY_FD = 3 };

/* Pushes a table of functions [-0, +1, m]:
     start(arguments[, input])  starts the program with a list of texts. With `input`, its standard input is that text,
                       its output and its errors are kept, and it has a pipe for its answer; else it shares this
                       program's. Returns a process, or nil and why not
     wait(processes, ms, with_input)  waits for answers, for the end of a process, or for this program's own input.
                       Is there input, or its end? A signal ends the wait, too
     input()           what can be read from standard input now; nil at its end
     now()             seconds of a clock that only runs forward
     changed(path)     a text that differs once the file has changed; nil if there is no such file
   A process has the methods
     reply()           what its answer has more; nil once the process has ended
     output(), errors()  the texts that it printed so far
     status()          its exit code, or nil and the signal that killed it; waits for its end
     kill()            ends it. So does the collector */
void process_push(lua_State *L);

#endif
