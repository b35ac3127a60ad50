/* counted.h: functions of the language refuse arguments that they would ignore. They get a check of how many their
   annotation in stdlib/meta names; methods of types written in Lua (tiles.new_type), of how many they take. Names
   that an object does not have are refused, too. */
#ifndef CUTTLE_COUNTED_H
#define CUTTLE_COUNTED_H

#include <lua.h>
#include <stdbool.h>

/* For the functions and methods of the language, whose table is at the top [-0, +0, m]. */
void counted_add(lua_State *L);
/* For the functions of that module of the library, whose table is at the top [-0, +0, m]. */
void counted_add_module(lua_State *L, const char *name);

/* Calls the function in Lua at the top with the arguments below it, n at the most. A helper is converted in a
   trace, as the script's own are; any other works on what the trace has made so far. Returns the results. */
int counted_call(lua_State *L, const char *name, int n, bool is_helper);
/* The most arguments of the function in Lua at the top; one that takes any number has a check of its own. */
int counted_most(lua_State *L);

/* What bind_refuse_name does: raises of the name at 2 that the value at 1 does not have. */
int counted_refuse_name(lua_State *L);

#endif
