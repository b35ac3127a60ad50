/* launch_joint.h: launches of the ranks of m:run. A rank's function goes on after a launch, and the launch waits until
   the ranks wait: then the launches of all ranks run at once, so that their blocks may wait for each other. Launches of
   one rank run in their order. If the host uses a tensor before, the launches gathered so far run first. So it is with
   all launches on the CPU engine. On devices of one process it is so with those that may wait for another rank, and
   with what follows them: all are made ready, and then begin. */
#ifndef CUTTLE_LAUNCH_JOINT_H
#define CUTTLE_LAUNCH_JOINT_H

#include "launch_tap.h"

/* The tap `ranks`. It gathers launches, but not one that is captured, or watched by what looks at one launch at a time;
   nor one that is timed on the CPU engine. If one that was not gathered waited for other ranks and failed, its error
   then says who ran it alone, and what to do. Of a launch on a device the tables of lists are there. Raises. */
TapAnswer launch_joint_before(Launch *l, CtErr *err);
CtStatus launch_joint_after(Launch *l, CtStatus status, CtErr *err);

bool launch_joint_is_empty(const CuttleState *s);       /* nothing is gathered */
int launch_joint_count(const CuttleState *s, int rank); /* how many of a rank are */
/* Runs what is gathered; raises. Forgets it. */
void launch_joint_run(lua_State *L);
void launch_joint_drop(CuttleState *s);

#endif
