/* repl_locals.h: locals that outlive their input. A `local` of an input's outermost block is a variable of the
   session: later inputs see it as a function in one chunk would, by reference, until another one shadows it. */
#ifndef CUTTLE_REPL_LOCALS_H
#define CUTTLE_REPL_LOCALS_H

#include <lua.h>
#include <stdbool.h>
#include <stddef.h>

/* As src_load of an input's text: pushes a function that sees the session's locals and keeps its own for the
   session when it has come to its end; or the message [-0, +1, m]. */
int locals_load(lua_State *L, const char *text, size_t len, const char *chunkname);

/* Pushes the value of the session's local; false: there is none, and nothing is pushed [-0, +0..1, m]. */
bool locals_push(lua_State *L, const char *name, size_t len);
/* Pushes a table with their names as keys [-0, +1, m]. */
void locals_push_names(lua_State *L);

#endif
