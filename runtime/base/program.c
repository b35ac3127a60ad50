/* program.c: the path of the program's file, as the system tells it. */
#include "program.h"

#ifdef __APPLE__
#include <mach-o/dyld.h>
#include <stdint.h>
#else
#include <unistd.h>
#endif

#ifdef __APPLE__

bool ct_program_path(char *path, size_t bytes) {
  uint32_t n = bytes > UINT32_MAX ? UINT32_MAX : (uint32_t)bytes;
  return _NSGetExecutablePath(path, &n) == 0;
}

#else

bool ct_program_path(char *path, size_t bytes) {
  ssize_t n = readlink("/proc/self/exe", path, bytes);
  if (n < 0 || (size_t)n >= bytes) { /* a path that fills all may have been cut */
    return false;
  }
  path[n] = '\0';
  return true;
}

#endif
