/* newfile.h: a file that is written beside the one whose name it is to have, and takes that name when
   it is whole: whoever reads the name finds the old contents or the new, never a part, and a disk that
   is full loses nothing that was there. What is no plain file, as a pipe or a terminal, is written
   where it is. In a folder such as /tmp a link of another user is not followed: EACCES. */
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

/* The same; after it the new contents also outlast a loss of power. */
int ct_newfile_write_lasting(const char *path, const void *data, size_t bytes) CT_NODISCARD;

/* Makes a folder, and those above it, with that mode if there is none. 0, or the errno of why there is no
   folder then. */
int ct_newfile_folder(const char *path, unsigned mode) CT_NODISCARD;

/* Writes all bytes, whatever a write takes at once. */
bool ct_write_all(int fd, const void *data, size_t bytes) CT_NODISCARD;

/* {====== Locks ====== */

/* Whoever holds the lock of a name may read the file and write it anew by the functions above; the next
   one gets the lock of what has the name then. The system takes the lock from a process that ends. */
typedef struct CtFileLock {
  int fd;              /* -1: none is held */
  char made[PATH_MAX]; /* the file if taking the lock made it, else "" */
} CtFileLock;

/* Takes the lock, and makes an empty file if there is none, which dropping the lock removes if nobody wrote to
   it; waits `wait_ms` at most. 0, or the errno of what
   failed: EWOULDBLOCK where somebody else held it all the time, ENOTSUP for what is no plain file. */
int ct_filelock_take(CtFileLock *l, const char *path, int wait_ms) CT_NODISCARD;
/* Removes what writers that were killed have left beside the file. For who holds the lock. */
void ct_filelock_sweep(const char *path);
void ct_filelock_drop(CtFileLock *l); /* more than once is allowed */

#endif
