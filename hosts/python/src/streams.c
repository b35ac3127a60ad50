/* streams.c: the C library's streams, under the names that Lua's objects have for them in this module: see the
   Makefile. They are set before anything of Lua's runs. */
#include <stdio.h>

#include "hosts/python/src/host.h"

extern FILE *cuttle_stdin, *cuttle_stdout, *cuttle_stderr;
FILE *cuttle_stdin, *cuttle_stdout, *cuttle_stderr;

void host_open_streams(void) {
  cuttle_stdin = stdin;
  cuttle_stdout = stdout;
  cuttle_stderr = stderr;
}
