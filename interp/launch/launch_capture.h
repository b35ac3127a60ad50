/* launch_capture.h: launches as files (stdlib/microscope/launch_file.lua): by `capture`, and with CUTTLE_CAPTURE each
   launch before it runs; its file goes when it has ended well. launch_replay.c makes kernels of such files. */
#ifndef CUTTLE_LAUNCH_CAPTURE_H
#define CUTTLE_LAUNCH_CAPTURE_H

#include "launch_tap.h"

/* A launch that a file is to have. */
typedef struct LaunchCaptured {
  int kernel; /* on the stack */
  const LaunchConfig *config;
  const LaunchArgs *args;
  const char *why;
  bool with_data;   /* of its tensors */
  bool keeps_trace; /* for the next launch of the specialisation */
} LaunchCaptured;

/* Pushes what its file holds, and a list of the memory that its tensors lie in, {at =, bytes =}. Raises. */
void launch_capture_push(lua_State *L, const LaunchCaptured *c);

/* The tap `capture`: where launches are to be captured, one is written before it runs. Afterwards the file goes, or stays,
   and the launch's error says where it is. */
TapAnswer launch_file_before(Launch *l, CtErr *err);
CtStatus launch_file_after(Launch *l, CtStatus status, CtErr *err);

/* launch_replay.c. A specialisation of a kernel of a file, as spec_trace makes one. */
Spec *launch_file_spec(lua_State *L, int kernel, const LaunchConfig *config, const LaunchArgs *args,
                       CtTarget target, CtErr *err);
/* Pushes such a kernel. Stack: at 1 what the file says of it (launch_file.lua), at 2 the IR's bytes, at 3 a function
   whose parameters have the names of the arguments. `trusts`: the file may name options of NVRTC and hold CUDA C. */
void launch_file_push_kernel(lua_State *L, bool trusts);
/* Pushes what the IR at 1 says of a launch with the values of its slots in the list at 2. Raises. */
void launch_file_push_facts(lua_State *L);

#endif
