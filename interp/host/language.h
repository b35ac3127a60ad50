/* language.h: opens the language: the one place that knows all rooms of interp/. */
#ifndef CUTTLE_LANGUAGE_H
#define CUTTLE_LANGUAGE_H

#include <lua.h>

#include "interp/state/state.h"

/* The language's names in their table, which state_push_language gives; once per state [-0, +0, e]. */
void language_open(lua_State *L);
/* A new Lua state with everything in it. NULL when out of memory. */
CuttleState *language_new_state(const cuttle_Options *options);

#endif
