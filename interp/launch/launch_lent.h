/* launch_lent.h: launches with memory that a host lends for one launch (cuttle_Memory). What the first launch
   learned of arguments like these stays with the kernel as a site: the tensors, and the arguments as they were
   read. A later launch puts its addresses and numbers there. */
#ifndef CUTTLE_LAUNCH_LENT_H
#define CUTTLE_LAUNCH_LENT_H

#include "launch.h"

typedef struct LaunchLent {
  int n;
  const cuttle_Arg *args;
  bool use_stream;
  CtStream stream;                                   /* of the device of the arguments */
  void (*push)(lua_State *L, const cuttle_Arg *arg); /* pushes what is no memory; may raise */
} LaunchLent;

/* Launches the kernel at `kernel` once. Raises: then, when no call of the host is in progress any more,
   launch_lent_failed makes the state forget the memory. */
void launch_lent(lua_State *L, int kernel, LaunchConfig *config, const LaunchLent *lent);
/* The same launch, on a device, without Lua: where the last one like it found all in place, and nothing that it
   depends on can have changed since. `kernel` is not followed before it is known. False: launch_lent is to do it.
   True: it was tried, and *status says how that ended. */
bool launch_lent_again(CuttleState *s, const void *kernel, LaunchConfig *config,
                       const LaunchLent *lent, CtStatus *status, CtErr *err);
void launch_lent_failed(CuttleState *s);

/* Pushes a tensor without memory, of the extents and strides of *m [-0, +1, e]. `what` is how messages call it.
   *bytes: those that its elements span. */
Tensor *launch_push_lent(lua_State *L, const cuttle_Memory *m, const char *what, size_t *bytes);
/* Puts the host's memory into such a tensor, which `free` (may be NULL) gives back. */
CtStatus launch_lend(CuttleState *s, Tensor *t, const cuttle_Memory *m, size_t bytes,
                     CtStorageFree free, void *free_ud, CtErr *err) CT_NODISCARD;

#endif
