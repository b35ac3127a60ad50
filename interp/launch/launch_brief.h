/* launch_brief.h: a launch that was worked out before, in few lines of memory: the driver's work between two launches
   takes the rest out of the caches. It holds as long as nothing that launches depend on has changed, which
   launch_lent.c knows. */
#ifndef CUTTLE_LAUNCH_BRIEF_H
#define CUTTLE_LAUNCH_BRIEF_H

#include "launch_lent.h"

enum { BRIEF_ARGS = 16, BRIEF_BYTES = 256 }; /* a launch with more has none */

/* What an argument changes in the parameter block. */
typedef struct BriefArg {
  bool is_tensor;
  unsigned char dtype;    /* of a number */
  uint16_t offset, bytes; /* of the address or the number; 0 bytes: the kernel does not take it */
  uint64_t begin, end;    /* what a tensor spans, from its address on */
} BriefArg;

typedef struct LaunchBrief {
  CtFunction *fn; /* NULL: there is none */
  CtDevice *device;
  bool overlap;     /* as LaunchArgs has it */
  bool is_captured; /* as Spec has it */
  unsigned n_bytes;
  CtLaunch launch;
  unsigned char params[BRIEF_BYTES];
  BriefArg args[BRIEF_ARGS];
} LaunchBrief;

/* Of a launch that has just gone well, whose parameter block the specialisation still has. */
void launch_brief_note(LaunchBrief *b, const Spec *spec, const LaunchConfig *config,
                       const LaunchArgs *args);
/* The same launch with other addresses and numbers. False: it needs more. */
bool launch_brief_run(LaunchBrief *b, const LaunchLent *lent, CtStatus *status, CtErr *err);

/* The value of an argument that is a number, as a kernel's parameter of that type has it. */
CtSlotValue launch_host_number(const cuttle_Arg *a, CtDtype dtype);

#endif
