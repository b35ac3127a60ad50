/* repl_files.h: the files that a path, typed so far, may become. */
#ifndef CUTTLE_REPL_FILES_H
#define CUTTLE_REPL_FILES_H

#include <lua.h>

/* Pushes the list of what the path lacks of each file's name, with a '/' after a folder's; hidden ones only after a
   dot [-0, +1, m]. */
void files_push(lua_State *L, const char *path);

#endif
