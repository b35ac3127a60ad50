/* launch_collect.h: texts of kernels that are to be compiled at once rather than one by one: while a
   collection is open, a launch on a device that would compile adds its text, and raises in place of running. */
#ifndef CUTTLE_LAUNCH_COLLECT_H
#define CUTTLE_LAUNCH_COLLECT_H

#include "runtime/base/text.h"
#include "runtime/device/nvrtc.h"

typedef struct LaunchCollection LaunchCollection;

/* Copies the job. CT_EINVAL where it has been added, as nothing was compiled: the launch is to end. */
CtStatus launch_collect(LaunchCollection *c, const CtNvrtcJob *job, CtErr *err) CT_NODISCARD;

#endif
