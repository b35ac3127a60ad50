/* openers.h: declares the functions of openers.def for the files that define them and for the one that
   calls them (host/language.c). Stack of each: the table of the language's names [-0, +0, e]. */
#ifndef CUTTLE_OPENERS_H
#define CUTTLE_OPENERS_H

#include <lua.h>

#define CUTTLE_OPENER(name) void bind_open_##name(lua_State *L);
#include "interp/openers.def"
#undef CUTTLE_OPENER

#endif
