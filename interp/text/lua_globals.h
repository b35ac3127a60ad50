/* lua_globals.h: which globals a parsed chunk assigns. */
#ifndef CT_LUA_GLOBALS_H
#define CT_LUA_GLOBALS_H

#include "lua_parse.h"

/* Calls `each` for `name = ...` and `function name()`, in order of the functions of the chunk. A chunk
   that has an _ENV of its own, or assigns it, has no globals that could be told: none. */
void lp_each_global_write(const LpChunk *c, void (*each)(void *ud, const char *name, int line),
                          void *ud);
/* The same for globals whose fields are assigned: `name.field = ...` and `function name.field()`. */
void lp_each_field_write(const LpChunk *c, void (*each)(void *ud, const char *name, int line),
                         void *ud);
/* Does it have an _ENV of its own, or assign it? */
bool lp_has_env(const LpChunk *c);

#endif
