/* std_chunks.h: the standard library's modules as chunks. A process with several states, as one with ranks or a host has,
   does not parse a module for each of them. */
#ifndef CUTTLE_STD_CHUNKS_H
#define CUTTLE_STD_CHUNKS_H

#include <lua.h>
#include <stdbool.h>

#include "std_modules.h"

/* src_load of the module's text, which is called so. `keeps`: what Lua made of it may serve later states [-0, +1, m]. */
int std_chunk_load(lua_State *L, const StdModule *m, const char *name, bool keeps);

#endif
