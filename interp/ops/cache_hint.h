/* cache_hint.h: hints for caches as scripts write them. Both functions raise. */
#ifndef CUTTLE_CACHE_HINT_H
#define CUTTLE_CACHE_HINT_H

#include <lua.h>

#include "runtime/ir/ir_data.h"

/* The hint whose name is at idx; `op` begins the messages. */
CtCacheHint cache_hint(lua_State *L, int idx, const char *op);
/* Whether the last argument of a copy is a table of options, {cache = hint}, which is taken off. */
bool cache_option(lua_State *L, CtCacheHint *out);

#endif
