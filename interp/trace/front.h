/* front.h: the tracing front end: a kernel's Lua function is run once, rewritten (rewrite.h), with
   symbolic arguments, and what it does is recorded as IR. front.c starts and ends traces;
   front_flow.c, front_var.c and front_expr.c are the runtime functions of rewrite.h. */
#ifndef CUTTLE_FRONT_H
#define CUTTLE_FRONT_H

#include <lua.h>

#include "runtime/ir/ir.h"

void front_open(lua_State *L); /* once per state, before the first of the functions below */

/* The IR of the running trace, or NULL. */
CtIr *front_ir(lua_State *L);
/* Also while a function of static_fn runs, where the trace has no IR to record in. */
bool front_is_tracing(lua_State *L);
/* The same as front_ir; outside a trace raises `'<name>' exists only inside a kernel`. Sets the script line of
   the operations that follow to the caller's. */
CtIr *front_here(lua_State *L, const char *name);
/* Arithmetic on dynamic integers for the layout algebra; NULL outside a trace. */
const CtDyn *front_dyn(lua_State *L);
uint32_t front_serial(lua_State *L); /* number of the running trace; 0 outside */
/* front_owner.c. Raises unless the running trace has this number: names the kernel that `what` (as in
   "tensor x") was made in, and where it is used. */
void front_check_own(lua_State *L, uint32_t serial, const char *what);
/* Pushes "kernel 'k' (file.lua:3)", whose trace had this number. */
const char *front_push_owner(lua_State *L, uint32_t serial);

/* Pushes the kernel's arguments, symbolic in the running trace, and returns how many. May raise. */
typedef int (*FrontPushArgs)(lua_State *L, CtIr *ir, void *ud);

/* Traces: calls the function at `fn` as a kernel, recording in *ir, then runs the passes. On failure
   *err has the message with the script line. Leaves the stack as it was. */
CtStatus front_trace(lua_State *L, int fn, FrontPushArgs push, void *ud, CtIr *ir, CtErr *err);

/* +1 before a call of a function of ours that works on the trace without being converted, such as
   show; -1 after it. An error that a script catches puts it back. */
void front_trust(lua_State *L, int by);

/* Converts the function at idx, so that run-time values work in it as in the kernel; any other value
   stays. */
void front_convert(lua_State *L, int idx);

#endif
