/* info.h: what `cuttle info` prints. */
#ifndef CUTTLE_INFO_H
#define CUTTLE_INFO_H

#include "interp/state/state.h"

/* Prints version, device, CPU engine, NVRTC with its targets, and cache, and why they were chosen. */
void info_print(CuttleState *s);

#endif
