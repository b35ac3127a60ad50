/* standard.h: what belongs to Lua's libraries and to the language: names of globals with their values, and
   tables. A script may give such a name another meaning; what it meant is kept here. */
#ifndef CUTTLE_STANDARD_H
#define CUTTLE_STANDARD_H

#include <lua.h>
#include <stdbool.h>
#include <stddef.h>

void standard_open(lua_State *L); /* takes the globals of now, which are Lua's */
void standard_add(lua_State *L);  /* and the names of the language, whose table is at the top */
bool standard_is_name(lua_State *L, const char *name, size_t len);
bool standard_is_field(lua_State *L, const char *name, size_t len); /* of one of their tables */
/* The value at the top is what the language or Lua's libraries mean by the global at `name`. */
bool standard_is(lua_State *L, int name);
bool standard_owns(lua_State *L, int idx); /* the value is one of the libraries' tables */
bool standard_has(lua_State *L, int t,
                  int key); /* such a table still holds there what it held at first */

/* Makes fn, with the libraries' own function as upvalue 1, the field `name` of the table at the top [-0, +0, m]. */
void standard_replace(lua_State *L, const char *name, lua_CFunction fn);
/* Of such a function: calls upvalue 1 with all that is on the stack, and returns the number of results. */
int standard_call_original(lua_State *L);

#endif
