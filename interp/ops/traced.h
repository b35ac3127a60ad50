/* traced.h: functions on tensors while a kernel is traced. Those that return an int expect the
   stack that Lua gives the function, and return the number of results. All raise. */
#ifndef CUTTLE_TRACED_H
#define CUTTLE_TRACED_H

#include "interp/tensor/tensor.h"

/* The copy atom in an argument, which may be a tiled copy, and the type of its elements. */
const CtAtom *traced_copy_atom(lua_State *L, int idx, const char *op, CtDtype *dtype);
int traced_recast(lua_State *L, const Tensor *t, CtDtype to);
int traced_cast(lua_State *L, CtDtype to); /* of the tensor in argument 1; bind_block.c */
int traced_copy(lua_State *L);
int traced_fill(lua_State *L);
int traced_clear(lua_State *L);

#endif
