/* newfile.h: a file that is written beside the one whose name it is to have, and takes that name when
   it is whole: whoever reads the name finds the old contents or the new, never a part, and a disk that
   is full loses nothing that was there. What is no plain file, as a pipe or a terminal, is written
   where it is. */
#ifndef CT_NEWFILE_H
#define CT_NEWFILE_H

#include <limits.h>
#include <stdio.h>

#include "base.h"

#ifndef PATH_MAX
#define PATH_MAX 4096
#endif

typedef struct CtNewFile {
  FILE *file;          /* to write to */
  char path[PATH_MAX]; /* whose name it takes, links followed */
  char temp[PATH_MAX]; /* beside it; "" where the file is written in place */
} CtNewFile;

/* 0, or the errno of what failed: then nothing is open. */
int ct_newfile_open(CtNewFile *f, const char *path) CT_NODISCARD;

/* Closes it. With `keep` the file takes its name, unless not all of it could be written; else, and then,
   it is removed. 0, or the errno of what failed. */
int ct_newfile_close(CtNewFile *f, bool keep);

/* Opens, writes and closes. 0, or the errno of what failed. */
int ct_newfile_write(const char *path, const void *data, size_t bytes) CT_NODISCARD;

#endif
