/* watch_source.h: what a launch that is watched on the CPU engine would run on a device: of its cubin
   stdlib/model/profile_machine.lua reads registers and accesses. */
#ifndef CUTTLE_WATCH_SOURCE_H
#define CUTTLE_WATCH_SOURCE_H

#include "interp/launch/launch.h"

/* Sets fields of the table at the top of the stack [-0, +0, m]: the CUDA C that this launch would run on a device
   of that capability, times 10 (source), the kernel's name in it (symbol) and what NVRTC is told (options). What
   keeps them from being made is kept instead (why). */
void watch_keep_source(lua_State *L, int sm, int kernel, const LaunchConfig *config,
                       LaunchArgs *args);

#endif
