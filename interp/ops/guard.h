/* guard.h: guarded tensors, whose tiles may overhang. Parts of one are cut from its coordinates (its
   identity layout); memory and conditions follow these (runtime/ir/ir_guard.c). */
#ifndef CUTTLE_GUARD_H
#define CUTTLE_GUARD_H

#include "interp/tensor/tensor.h"

/* Modes that tiles may overhang: the part of the shape from node `from` on, of size `bound`. */
typedef struct Overhang {
  uint32_t from;
  CtInt bound;
} Overhang;
typedef struct Overhangs {
  int n;
  Overhang mode[CT_GUARD_MAX];
  /* Coordinates that must be below a number of tiles, where the part does not depend on them: of modes
     of one tile, whose stride is 0. */
  int n_lone;
  CtInt lone[CT_GUARD_MAX], tiles[CT_GUARD_MAX];
} Overhangs;

/* Raises when there are too many. */
void guard_note(lua_State *L, Overhangs *o, uint32_t from, CtInt bound);
/* n elements side by side divide every part of a mode of that extent: no tile overhangs. */
bool guard_divides(const CtCx *cx, CtInt n, CtInt extent);

/* Coordinates of a tensor: a layout with basis strides over its shape. Raises. */
CtLayout guard_coordinates(lua_State *L, const CtCx *cx, const Tensor *t, const char *op);
/* Pushes the part of a guarded tensor whose elements have the coordinates at + coords(...). `t` is on
   the stack. */
void guard_push_part(lua_State *L, const CtCx *cx, const Tensor *t, const Overhangs *o,
                     CtLayout coords, CtTuple at);

/* An access to one element. open: false where the element is known to be outside; where it may be, enters
   an IF. close: leaves it; with a result, of the access (0 where it was not opened), that or 0. */
typedef struct GuardedAccess {
  CtDtype result; /* CT_VOID: none */
  CtVal if_, var; /* 0: nothing to compare */
} GuardedAccess;
bool guard_open(lua_State *L, const Tensor *t, CtTuple crd, CtDtype result, GuardedAccess *a);
CtVal guard_close(lua_State *L, GuardedAccess *a, CtVal v);

/* Of a tensor of coordinates: pushes one of them, or the part at a coordinate with `_`. */
int guard_push_coordinate(lua_State *L, const Tensor *t, CtTuple crd);
int guard_slice_coords(lua_State *L, const Tensor *t, CtTuple crd);

/* guard(t), copy_if: the functions that the table at `module` and the methods get. */
void bind_add_guard(lua_State *L, int module, int methods);

#endif
