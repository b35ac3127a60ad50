/* launch_capture.h: launches as files (runtime/capture): by `capture`, and with CUTTLE_CAPTURE each launch before
   it runs; its file goes when it has ended well. launch_replay.c makes kernels of such files. */
#ifndef CUTTLE_LAUNCH_CAPTURE_H
#define CUTTLE_LAUNCH_CAPTURE_H

#include "launch_tap.h"

/* Writes the launch to a file. `why` and the arguments' data are optional. Raises. */
void launch_capture(lua_State *L, int kernel, const LaunchConfig *config, const LaunchArgs *args,
                    const char *path, const char *why, bool with_data);

/* Pushes what such a file would hold, and text: "BEGIN BYTES " for each of its spans, as they lie in memory. Raises. */
void launch_capture_push(lua_State *L, int kernel, const LaunchConfig *config,
                         const LaunchArgs *args, const char *why, bool with_data);

/* The tap `capture`: where launches are to be captured, one is written before it runs. Afterwards the file goes, or stays,
   and the launch's error says where it is. */
TapAnswer launch_file_before(Launch *l, CtErr *err);
CtStatus launch_file_after(Launch *l, CtStatus status, CtErr *err);

/* launch_replay.c. Pushes a kernel, a configuration's table, a table of arguments with n, and a table of what
   is known of the launch in the file. `trusts`: the file may name options of NVRTC, hold CUDA C, and ask for much
   memory. Raises. */
int launch_file_load(lua_State *L, const char *path, bool trusts);
/* The same of the bytes at idx. Its spans lie in the memory of the list at `memory`: for each a tensor of u8, and where
   it begins there. */
int launch_file_load_part(lua_State *L, int idx, bool trusts, int memory);
/* Pushes a table of what is known, and makes nothing of the file. Raises. */
int launch_file_describe(lua_State *L, const char *path);
/* A specialisation of such a kernel, as spec_trace makes one. */
Spec *launch_file_spec(lua_State *L, int kernel, const LaunchConfig *config, const LaunchArgs *args,
                       CtTarget target, CtErr *err);

#endif
