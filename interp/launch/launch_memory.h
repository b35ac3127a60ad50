/* launch_memory.h: memory that a host describes (cuttle_Memory), as a tensor. */
#ifndef CUTTLE_LAUNCH_MEMORY_H
#define CUTTLE_LAUNCH_MEMORY_H

#include "launch.h"

/* Raises if it is not described soundly. `what` is how messages call it. */
void launch_check_memory(lua_State *L, const cuttle_Memory *m, const char *what);
/* Can elements that span so many bytes be at the host's address? Not at NULL, nor at one that no element of the type may
   have: a GPU faults there. */
CtStatus launch_check_pointer(const char *what, const void *ptr, size_t bytes, CtDtype dtype,
                              CtErr *err) CT_NODISCARD;
/* Pushes a tensor without memory, of the extents and strides of *m [-0, +1, e].
   *bytes: those that its elements span. */
Tensor *launch_push_lent(lua_State *L, const cuttle_Memory *m, const char *what, size_t *bytes);
/* Puts the host's memory into such a tensor, which `free` (may be NULL) gives back. */
CtStatus launch_lend(CuttleState *s, Tensor *t, const cuttle_Memory *m, size_t bytes,
                     CtStorageFree free, void *free_ud, CtErr *err) CT_NODISCARD;

#endif
