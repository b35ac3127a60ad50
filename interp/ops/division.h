/* division.h: do the tiles that divide a tensor fit? Checks for tile, parallelize, the divides and
   composition, with messages that name the tensor; for guarded tensors also the modes that tiles
   may overhang. */
#ifndef CUTTLE_DIVISION_H
#define CUTTLE_DIVISION_H

#include "interp/algebra/bind.h"
#include "guard.h"
#include "interp/tensor/tensor.h"

/* A division, that is a tensor and its tiler, for checks and their messages. */
typedef struct Division {
  lua_State *L;
  const CtCx *cx;
  const char *op;
  bool by_threads; /* parallelize: the tile is the shape of the thread layout */
  const Tensor *t;
  const char *title; /* of the tensor */
  CtTiler tiler;
  CtLayout thr;
  int n_modes;    /* modes that the tiler divides */
  CtInt *rests;   /* tiles along each of them, then the extents of the other modes */
  bool is_static; /* are all rests static? */
  Overhangs over; /* for a guarded tensor: modes that the tiles may not divide */
} Division;

CtInt division_size(const Division *d, CtLayout l);

/* All checks that need the tensor's name. The tiler is already projected. */
void division_check(Division *d);

/* Raises if tiles end inside inner modes of a tensor without a guard, which a divide then pads:
   elements in the padding are not its own. The tiler is already projected. */
void division_check_padding(const Division *d);

/* Checks the coordinate, if it is static, against the number of tiles. After division_check. */
void division_check_coordinate(const Division *d, CtTuple crd);

/* For a guarded tensor: notes a coordinate of a mode that is a single tile, or that continues one.
   Such a coordinate would give that tile whatever its value. After division_check. */
void division_note_lone(Division *d, CtTuple crd);

#endif
