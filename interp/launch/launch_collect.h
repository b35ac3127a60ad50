/* launch_collect.h: texts of kernels that are to be compiled at once rather than one by one: while a
   collection is open, launches on a device add the texts that are not compiled yet. Nothing is launched, as
   later launches would work on what earlier ones have not written. */
#ifndef CUTTLE_LAUNCH_COLLECT_H
#define CUTTLE_LAUNCH_COLLECT_H

#include "launch.h"
#include "runtime/device/nvrtc.h"

typedef struct LaunchCollection LaunchCollection;

/* Copies the job of a specialisation of k. CT_EINVAL where it has been added, as nothing was compiled. */
CtStatus launch_collect(LaunchCollection *c, const Kernel *k, const Spec *spec,
                        const CtNvrtcJob *job, CtErr *err) CT_NODISCARD;

/* Was a text for these arguments added? */
bool launch_is_collected(const LaunchCollection *c, const LaunchArgs *a);
size_t launch_n_collected(const LaunchCollection *c);

/* A launch brought no new text. Fails after very many of them, because a script may wait for a result. */
CtStatus launch_collect_again(LaunchCollection *c, CtErr *err) CT_NODISCARD;

/* Compiles the jobs in processes, into the disk cache; equal ones once. The function at index f is called with how
   many are done; no more begin where it returns false or raises. How many were compiled: none in a sandbox, or
   where there is no cache. */
size_t launch_compile_all(lua_State *L, const CtNvrtcJob *jobs, size_t n, int f);

#endif
