/* front_trace.h: traces a kernel: runs its function once, converted, and records what it does as IR. */
#ifndef CUTTLE_FRONT_TRACE_H
#define CUTTLE_FRONT_TRACE_H

#include "interp/trace/front.h"

void front_open(lua_State *L); /* once per state, before any function of front.h */

/* Pushes the kernel's arguments, symbolic in the running trace, and returns how many. `given`: the place of what
   front_trace was given for it. May raise. */
typedef int (*FrontPushArgs)(lua_State *L, CtIr *ir, void *ud, int given);

/* Traces: calls the function at `fn` as a kernel, recording in *ir, then runs the passes. On failure
   *err has the message with the script line. Leaves the stack as it was. `given`: the place of a value that `push`
   needs, which runs on a stack of its own; 0: nothing. */
CtStatus front_trace(lua_State *L, int fn, int given, FrontPushArgs push, void *ud, CtIr *ir,
                     CtErr *err);

/* The type of the parameter in that slot, whose argument is a Lua float, in the running trace. */
CtDtype front_parameter_type(lua_State *L, int slot);

/* Before the traces of one kernel and key; whether the trace that has ended, and failed, is to be repeated with a
   new *ir: it has learnt of variables that must begin earlier. */
void front_begin_learning(lua_State *L);
bool front_goes_again(lua_State *L, CtErr *err); /* *err: why not, if it wanted to */

/* +1 before a call of a function of ours that works on the trace without being converted, such as
   show; -1 after it. An error that a script catches puts it back. */
void front_trust(lua_State *L, int by);

/* Converts the function at idx, so that run-time values work in it as in the kernel; any other value
   stays. */
void front_convert(lua_State *L, int idx);

#endif
