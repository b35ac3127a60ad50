/* module_env.h: the globals of the library's modules: Lua's and the names of the language, in one table that no
   script reaches. A script may give its own globals other meanings; the library's keep theirs. */
#ifndef CUTTLE_MODULE_ENV_H
#define CUTTLE_MODULE_ENV_H

#include <lua.h>

void module_env_open(lua_State *L); /* makes the table, still empty [-0, +0, m] */
/* Fills it, again if need be, with the globals of now and the language's names but `cuda` and `ptx` [-0, +0, e]. */
void module_env_fill(lua_State *L);
/* Makes the table the _ENV of the chunk at the top, which was just loaded from text [-0, +0, -]. */
void module_env_give(lua_State *L);

#endif
