/* repl_complete.h: what may stand at the cursor of a line: names, fields, methods, modes. */
#ifndef CUTTLE_REPL_COMPLETE_H
#define CUTTLE_REPL_COMPLETE_H

#include <lua.h>
#include <stddef.h>

/* The candidates for the name that ends at `cursor`, as readline takes them: their common beginning,
   then each, then NULL, all from malloc; NULL when there is none. Reads tables and metatables only:
   no script runs, except names() of a layout, and nothing raises. */
char **complete_line(lua_State *L, const char *line, size_t cursor);

#endif
