/* launch_joint.h: launches of the ranks of m:run on the CPU engine. A rank's function goes on after a launch, as on
   a device, and the launch waits until the ranks wait: then the launches of all ranks run at once, so that their
   blocks may wait for each other. Launches of one rank run in their order. If the host uses a tensor before, the
   launches gathered so far run first. */
#ifndef CUTTLE_LAUNCH_JOINT_H
#define CUTTLE_LAUNCH_JOINT_H

#include "launch.h"

/* Is this launch to be gathered? Not one that is recorded, timed, captured, or watched by what looks at one launch
   at a time. */
bool launch_joint_takes(const CuttleState *s, const LaunchConfig *config, const LaunchArgs *args);
/* Gathers n launches in a row. Raises. */
void launch_joint_add(lua_State *L, int kernel, const LaunchConfig *config, LaunchArgs *args,
                      Spec *spec, int64_t n);

/* A rank's launch that was not gathered ended with this error: if it waited for other ranks, *err says who ran it
   alone, and what to do. */
void launch_joint_explain(const CuttleState *s, CtErr *err);

#endif
