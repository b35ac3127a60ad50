/* launch_capture.h: launches as files (runtime/capture): by `capture`, and with CUTTLE_CAPTURE each launch before
   it runs; its file goes when it has ended well. launch_replay.c makes kernels of such files. */
#ifndef CUTTLE_LAUNCH_CAPTURE_H
#define CUTTLE_LAUNCH_CAPTURE_H

#include "launch.h"

/* Writes the launch to a file. `why` and the arguments' data are optional. Raises. */
void launch_capture(lua_State *L, int kernel, const LaunchConfig *config, const LaunchArgs *args,
                    const char *path, const char *why, bool with_data);

/* Where launches are to be captured: writes the one that is about to run, and returns true. _end removes the
   file, or keeps it and says so in *err, which is the launch's. */
typedef struct LaunchFile {
  char path[512];
  double begin_ms;
} LaunchFile;
bool launch_file_begin(lua_State *L, int kernel, const LaunchConfig *config, const LaunchArgs *args,
                       LaunchFile *f);
CtStatus launch_file_end(const Kernel *k, const LaunchArgs *args, const LaunchFile *f,
                         CtStatus status, CtErr *err);

/* launch_replay.c. Pushes a kernel, a configuration's table, a table of arguments with n, and a table of what
   is known of the launch in the file. `trusts`: the file may name options of NVRTC, hold CUDA C, and ask for much
   memory. Raises. */
int launch_file_load(lua_State *L, const char *path, bool trusts);
/* Pushes a table of what is known, and makes nothing of the file. Raises. */
int launch_file_describe(lua_State *L, const char *path);
/* A specialisation of such a kernel, as spec_trace makes one. */
Spec *launch_file_spec(lua_State *L, int kernel, const LaunchConfig *config, const LaunchArgs *args,
                       CtTarget target, CtErr *err);

#endif
