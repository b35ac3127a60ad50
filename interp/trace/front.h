/* front.h: the trace in progress: a kernel's Lua function runs once, rewritten (interp/text/rewrite.h),
   with symbolic arguments, and what it does is recorded as IR. front_trace.h starts and ends traces; the
   files of interp/front/ are the runtime functions of rewrite.h. */
#ifndef CUTTLE_FRONT_H
#define CUTTLE_FRONT_H

#include <lua.h>

#include "runtime/ir/ir_make.h"

/* The IR of the running trace, or NULL. */
CtIr *front_ir(lua_State *L);
/* True also while a function of static_fn runs, when the trace has no IR to record in. */
bool front_is_tracing(lua_State *L);
/* May kernels run now, which nobody asked for and nobody is to see? */
bool front_may_launch(lua_State *L);
/* The same for callers that ask often, with what front_find gives: it lives as long as the Lua state. */
typedef struct Front Front;
const Front *front_find(lua_State *L);
bool front_traces(const Front *f);
CtIr *front_ir_in(const Front *f);
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

#endif
