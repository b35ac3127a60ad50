/* launch_brief.h: a launch that was worked out before, in few lines of memory: the driver's work between two launches
   takes the rest out of the caches. It holds as long as nothing that launches depend on has changed, which
   launch_lent.c knows. */
#ifndef CUTTLE_LAUNCH_BRIEF_H
#define CUTTLE_LAUNCH_BRIEF_H

#include "launch_lent.h"

enum { BRIEF_PACKS = 48, BRIEF_BYTES = 256 }; /* a launch with more has none */

typedef struct LaunchBrief {
  CtFunction *fn; /* NULL: there is none */
  CtDevice *device;
  bool is_captured; /* as Spec has it */
  int n_packs;
  unsigned n_bytes;
  CtLaunch launch;
  unsigned char params[BRIEF_BYTES];
  Pack packs[BRIEF_PACKS];
} LaunchBrief;

/* Of a launch that has just gone well, whose parameter block the specialisation still has. */
void launch_brief_note(LaunchBrief *b, const Spec *spec, const LaunchConfig *config);
/* The same launch with other values. False: it needs more. */
bool launch_brief_run(LaunchBrief *b, const CtSlotValue *slots, const LaunchLent *lent,
                      CtStatus *status, CtErr *err);

/* The value of an argument that is a number, as a kernel's parameter of that type has it. */
CtSlotValue launch_host_number(const cuttle_Arg *a, CtDtype dtype);

#endif
