/* guard.h: guarded tensors, whose tiles may overhang. A part of one is cut from the tensor's
   coordinates (its identity layout); its memory and conditions follow from these
   (runtime/ir/ir_guard.c). */
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
  /* Coordinates that must be below a number of tiles although the part does not depend on them:
     those of modes of one tile, whose stride is 0. */
  int n_lone;
  CtInt lone[CT_GUARD_MAX], tiles[CT_GUARD_MAX];
} Overhangs;

/* Raises if there are too many. */
void guard_note(lua_State *L, Overhangs *o, uint32_t from, CtInt bound);
/* Do n adjacent elements divide every part of a mode of that extent? Then no tile overhangs. */
bool guard_divides(const CtCx *cx, CtInt n, CtInt extent);

/* Coordinates of a tensor: a layout with basis strides over its shape. Raises. */
CtLayout guard_coordinates(lua_State *L, const CtCx *cx, const Tensor *t, const char *op);
/* Pushes the part of a guarded tensor whose elements have the coordinates at + coords(...). `t` is on
   the stack. */
void guard_push_part(lua_State *L, const CtCx *cx, const Tensor *t, const Overhangs *o,
                     CtLayout coords, CtTuple at);

/* An access to one element. open: false if the element is known to be outside; enters an IF if it
   may be. close: leaves that IF. v is the result of the access, or 0 if it was not opened; returns
   v, or 0 for an element outside. */
typedef struct GuardedAccess {
  CtDtype result; /* CT_VOID: the access has no result */
  CtVal if_, var; /* 0: nothing has to be compared */
} GuardedAccess;
bool guard_open(lua_State *L, const Tensor *t, CtTuple crd, CtDtype result, GuardedAccess *a);
CtVal guard_close(lua_State *L, GuardedAccess *a, CtVal v);

/* For a tensor of coordinates: pushes one of them, or the part at a coordinate with `_`. */
int guard_push_coordinate(lua_State *L, const Tensor *t, CtTuple crd);
int guard_slice_coords(lua_State *L, const Tensor *t, CtTuple crd);

/* guard(t), copy_if: the functions that the table at `module` and the methods get. */
void bind_add_guard(lua_State *L, int module, int methods);

#endif
