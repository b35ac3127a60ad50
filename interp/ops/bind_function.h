/* bind_function.h: functions of device_fn that a trace for a GPU has asked for. */
#ifndef CUTTLE_BIND_FUNCTION_H
#define CUTTLE_BIND_FUNCTION_H

#include <lua.h>
#include <stdbool.h>

#include "runtime/ir/ir_make.h"

/* A trace that calls a function with types that are new fails, and leaves what it wants: the function is
   traced on its own, with these types, and then the caller again. */
void function_begin(lua_State *L);       /* before the traces of a kernel: nothing is wanted */
void function_end(lua_State *L);         /* after them; never raises */
int function_count_wanted(lua_State *L); /* a function that is traced may want others */
/* Pushes the list of them; returns their number. Pushes the last one, which is traced next. */
int function_push_wanted(lua_State *L);
void function_push_call(lua_State *L);
const char *function_wanted_key(lua_State *L);
bool function_wanted_noinline(lua_State *L);
/* Pushes what is to be traced as a kernel. */
void function_push_body(lua_State *L);
/* Pushes its arguments, new numbers of the IR and what is known; returns how many. */
int function_push_arguments(lua_State *L, CtIr *ir, void *unused, int given);
void function_name(lua_State *L, CtIr *ir); /* and its line */
void function_is_made(lua_State *L);
/* NULL: the IR may be that of a function; else why not. */
const char *function_refuse(const CtIr *ir);

#endif
