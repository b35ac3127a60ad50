/* repl_print.h: how the read-eval-print loop shows what an input is worth. */
#ifndef CUTTLE_REPL_PRINT_H
#define CUTTLE_REPL_PRINT_H

#include <lua.h>

/* A lua_CFunction that prints its arguments as `print` does, but a plain table by its contents; on a
   terminal a small layout is drawn as well. */
int print_values(lua_State *L);

#endif
