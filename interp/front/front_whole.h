/* front_whole.h: what functions read of the host that were not rewritten. */
#ifndef CUTTLE_FRONT_WHOLE_H
#define CUTTLE_FRONT_WHOLE_H

#include <lua.h>
#include <stdbool.h>

typedef struct Front Front;

/* For the hook on calls: the function at fn is called, which was not rewritten and looks into tables by itself. */
void front_note_call(lua_State *L, Front *f, const lua_Debug *ar, int fn);
/* Does the function at fn look into no table that is in a table, as next and the iterator of ipairs do not? */
bool front_is_flat(lua_State *L, int fn);
bool front_is_runtime(lua_State *L, const Front *f,
                      int fn); /* a runtime function of the rewriter */
/* A function that the trace runs as it is: what it reads, and what the functions do that it reaches. */
void front_note_host_function(lua_State *L, int fn);
void front_note_given(lua_State *L, int idx); /* the same for an argument of it */
void front_note_host_return(lua_State *L); /* it returns: what it has assigned is the trace's own */
void front_begin_whole(lua_State *L);      /* of a trace */
void front_open_whole(lua_State *L);       /* with the globals of Lua's libraries in place */

#endif
