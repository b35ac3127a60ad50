/* launch_lent.h: launches with memory that a host lends for one launch (cuttle_Memory). What the first launch learned
   of arguments like these stays with the kernel: launch_site.h. */
#ifndef CUTTLE_LAUNCH_LENT_H
#define CUTTLE_LAUNCH_LENT_H

#include "launch.h"

typedef struct LaunchLent {
  int n;
  const cuttle_Arg *args;
  const CtStream *stream; /* of the device of the arguments; NULL: the device's own */
  /* Pushes argument i, counted from 0, of the kernel at an index, if it is no memory; may raise. */
  void (*push)(lua_State *L, int kernel, int i, const cuttle_Arg *arg);
} LaunchLent;

/* Launches the kernel at `kernel` once. Raises: then, when no call of the host is in progress any more,
   site_end_all makes the state forget the memory. */
void launch_lent(lua_State *L, int kernel, LaunchConfig *config, const LaunchLent *lent);
/* The same launch, on a device, without Lua: where the last one like it found all in place, and nothing that it
   depends on can have changed since. `kernel` is not followed before it is known. False: launch_lent is to do it.
   True: it was tried, and *status says how that ended. */
bool launch_lent_again(CuttleState *s, const void *kernel, LaunchConfig *config,
                       const LaunchLent *lent, CtStatus *status, CtErr *err);

#endif
