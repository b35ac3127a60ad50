/* list.h: lists of tensors as a kernel sees them: l[i] and #l. */
#ifndef CUTTLE_OPS_LIST_H
#define CUTTLE_OPS_LIST_H

#include <lua.h>

#include "runtime/ir/ir.h"

/* Pushes the list of an argument of the running trace, whose table this is. */
void list_push_kernel(lua_State *L, CtView table);

#endif
