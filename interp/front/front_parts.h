/* front_parts.h: what the runtime functions of rewrite.h share, file by file; not for other rooms but where a
   function says so. */
#ifndef CUTTLE_FRONT_PARTS_H
#define CUTTLE_FRONT_PARTS_H

#include "interp/trace/front_state.h"

/* Variables. */
Box *box_push(lua_State *L, Front *f, BoxKind kind, const char *name); /* on the stack */
Box *box_test(lua_State *L, int idx);
/* The box at stack place 2 becomes a variable, stored before the operation of q; or frozen. */
void box_promote(lua_State *L, Front *f, const Frame *q);
void box_load(lua_State *L, Front *f, int idx);             /* pushes a snapshot */
void box_store(lua_State *L, Front *f, int idx, int value); /* into a variable */

/* A condition: 1 or 0 when it is static, else -1 and *c is the run-time bool. `what` tests it ("if"). */
int front_truth(lua_State *L, int idx, const char *what, CtVal *c);

bool front_is_bool(lua_State *L, const Front *f, int idx); /* static or run-time */
bool front_is_number(lua_State *L, const Front *f, int idx);

/* front_flow.c: what the statements share. */
Frame *frame_arg(lua_State *L, int idx);
/* The four values of a generic for whose iterator's state is the frame at `frame`. */
int front_return_loop(lua_State *L, lua_CFunction iter, int frame);
void front_become_runtime(Front *f, Frame *frame);
/* A decision that leaves no operation, for those who read the IR. */
void front_note(lua_State *L, Front *f, const char *what, bool yes);
/* front_loop.c: does a loop whose turns run while tracing go on? Not after a dead end. */
bool front_goes_on(lua_State *L, Front *f, Frame *frame);
void front_count_turn(lua_State *L, Front *f, Frame *frame); /* raises when there are too many */

/* State of Lua that was born at the clock `born` changes: an error with that message where a run-time
   condition is active that began later. A while that is being probed must hear of it. */
void front_touch(lua_State *L, uint64_t born, const char *message);
uint64_t front_birth(lua_State *L,
                     int idx); /* clock of the birth of a table or coroutine; 0: unknown */
bool front_is_library_calling(lua_State *L); /* is the caller Lua code of the standard library? */
void front_check_change(lua_State *L, int idx); /* front_touch for the table at idx, if it is one */
void front_set_birth(lua_State *L, Front *f);   /* of the table or coroutine at the top: now */
void front_check_key(lua_State *L, int table, int key); /* refuses a run-time key of a table */
/* Pushes what a kernel calls for the function at idx; desc: what messages call it, or 0. */
void front_push_callee(lua_State *L, Front *f, int idx, int desc);
void front_push_replacement(lua_State *L, int idx); /* for a C function: another, or itself */
int front_call_original(
    lua_State *L); /* of a replacement: calls upvalue 1 with the same arguments */

/* front_watch.c: what a trace reaches without the rewriter's help. */
void front_open_watch(lua_State *L);
void front_watch(lua_State *L, bool on);   /* refuses calls of functions that were not converted */
void front_patch_metatables(lua_State *L); /* metamethods convert themselves ... */
void front_restore_metatables(lua_State *L); /* ... no more */
/* Raises the message at the line of the innermost converted function. */
int front_fail_unconverted(lua_State *L, const char *what);

/* front_refuse.c: what C cannot do with what a kernel has. */
void front_check_iterator(lua_State *L, int idx); /* raises for a value, a tensor, a layout */
/* Adds the reason to the message at the top, if Lua complains of a run-time value [-1, +1, m]. */
void front_explain(lua_State *L);

/* The runtime functions of the rewriter, by file. */
extern const luaL_Reg front_flow_fns[], front_loop_fns[], front_for_fns[], front_func_fns[],
    front_var_fns[], front_logic_fns[], front_expr_fns[];
void front_open_logic(lua_State *L);
void front_open_expr(lua_State *L);
void front_open_replace(lua_State *L);
void front_open_refuse(lua_State *L); /* after all others that replace */

/* A kernel calls the function on top of the stack (popped) instead of the C function at idx. */
void front_replace(lua_State *L, int idx);

#endif
