/* program.h: where the running program lies, so that it finds what is installed beside it. */
#ifndef CT_PROGRAM_H
#define CT_PROGRAM_H

#include <stddef.h>

#include "base.h"

/* Writes the path of the program's file, ended by NUL, links followed where the system does so; false
   where the system does not tell, or the path takes more bytes. */
bool ct_program_path(char *path, size_t bytes) CT_NODISCARD;

#endif
