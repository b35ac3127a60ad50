/* posix.c: what the sources ask of POSIX and WebAssembly lacks. There are no shared libraries, and one
   thread on one core, to which no signals come. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "runtime/math/fma.h"

/* {====== Shared libraries: none ====== */

void *dlopen(const char *path, int flags) {
  (void)path, (void)flags;
  return NULL;
}

void *dlsym(void *restrict handle, const char *restrict name) {
  (void)handle, (void)name;
  return NULL;
}

int dlclose(void *handle) {
  (void)handle;
  return -1;
}

/* {====== One thread ====== */

int sched_getaffinity(pid_t pid, size_t bytes, cpu_set_t *set) {
  (void)pid;
  memset(set, 0, bytes);
  set->__bits[0] = 1;
  return 0;
}

/* What CPU_COUNT is a macro for. */
int __sched_cpucount(size_t bytes, const cpu_set_t *set) {
  int n = 0;
  for (size_t i = 0; i < bytes / sizeof *set->__bits; i++) {
    n += __builtin_popcountl(set->__bits[i]);
  }
  return n;
}

int pthread_kill(pthread_t thread, int signal_number) {
  (void)thread, (void)signal_number;
  return ENOSYS;
}

/* {====== The terminal: as wide as $COLUMNS says, if a page shows one ====== */

int ioctl(int fd, int request, ...) {
  const char *columns = getenv("COLUMNS");
  va_list args;
  if (request != TIOCGWINSZ || isatty(fd) != 1) {
    errno = ENOTTY;
    return -1;
  }
  va_start(args, request);
  struct winsize *size = va_arg(args, struct winsize *);
  va_end(args);
  *size = (struct winsize){.ws_col = (unsigned short)(columns == NULL ? 0 : atoi(columns))};
  return 0;
}

/* {====== Floats ====== */

/* The library's rounds twice, because the rounding mode cannot be set. */
float fmaf(float x, float y, float z) { return ct_fma_f32(x, y, z); }
