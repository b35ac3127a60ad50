/* overwrite.h: the warning about a script that assigns to a name of the language. */
#ifndef CUTTLE_OVERWRITE_H
#define CUTTLE_OVERWRITE_H

#include <lua.h>
#include <stddef.h>

/* Looks through the text of a chunk that is about to run, shown as `shown` in messages, for
   assignments to globals that are names of the language, and logs one line for each name, once in
   the life of the state, if the host takes a log. Notes in the state that a name of the language or of Lua's
   libraries is assigned [-0, +0, m]. */
void overwrite_check(lua_State *L, const char *shown, const char *text, size_t len);

#endif
