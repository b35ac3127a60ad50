/* source.h: from a Lua function to its converted twin. Finds the text of a function among those of
   chunks (source_load.h) and proves that it is what runs, has it rewritten (rewrite.h), loads
   the wrapper and joins its upvalues with the function's own. What it makes is cached: a wrapper
   per prototype, a converted function per closure, weakly. Knows nothing of traces. */
#ifndef CUTTLE_SOURCE_H
#define CUTTLE_SOURCE_H

#include <lua.h>

#include "interp/text/rewrite.h"
#include <stddef.h>

/* Takes the table of runtime functions, by the names of rewrite.h, from the top of the stack: what
   functions converted from now on call [-1, +0, m]. */
void src_set_runtime(lua_State *L);

/* Pushes what a kernel runs in place of the function at idx: the converted closure; the function
   itself if it is one already or is a C function. Returns LUA_OK; else pushes a message with
   position and returns LUA_ERRRUN [-0, +1, m]. */
int src_convert(lua_State *L, int idx, RwKind kind);

/* Pushes a list of the names of globals that the function at idx, which was converted, and those in it read;
   or nil [-0, +1, m]. */
void src_push_globals(lua_State *L, int idx);

/* The number of the upvalue `name` of the Lua function at fn; 0 if it has none of that name [-0, +0, -]. */
int src_find_upvalue(lua_State *L, int fn, const char *name);

/* Whether the function at idx runs rewritten code: was converted, or made by converted code. */
bool src_is_converted(lua_State *L, int idx);

/* bytecode.c: functions in what lua_dump writes. */

/* How many functions of the dump `all`, its main function and those in it, are byte for byte the main function of
   the dump `part`. Bytes of constants are no function, whatever they hold. 0 where one is not as Lua 5.4 writes it. */
int bytecode_count(const char *all, size_t all_len, const char *part, size_t part_len);

#endif
