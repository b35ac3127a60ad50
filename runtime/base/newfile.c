/* newfile.c: files that are written whole or not at all; see newfile.h. */
#include "newfile.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MAX_TRIES = 100 };

/* Name number `i` beside f->path. False: it is too long. */
static bool set_temp(CtNewFile *f, int i) {
  int n = snprintf(f->temp, sizeof f->temp, "%s.%ld-%d.tmp", f->path, (long)getpid(), i);
  return n > 0 && (size_t)n < sizeof f->temp;
}

/* Makes the file beside. The new one gets the permissions of the old one, if there is any. */
static int open_beside(CtNewFile *f, const struct stat *old) {
  int fd = -1;
  for (int i = 0; fd < 0 && i < MAX_TRIES; i++) {
    if (!set_temp(f, i)) {
      return ENAMETOOLONG;
    }
    fd = open(f->temp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd < 0 && errno != EEXIST) {
      return errno;
    }
  }
  f->file = fd < 0 ? NULL : fdopen(fd, "wb");
  if (f->file == NULL) {
    return errno;
  }
  if (old != NULL) {
    (void)fchmod(fd, old->st_mode & 0777);
  }
  return 0;
}

static int open_in_place(CtNewFile *f) {
  f->temp[0] = '\0';
  f->file = fopen(f->path, "wb");
  return f->file == NULL ? errno : 0;
}

/* The file that is there: one that may not be written is not replaced either. */
static int open_over(CtNewFile *f, const char *path, const struct stat *old) {
  if (!S_ISREG(old->st_mode)) {
    return open_in_place(f);
  }
  if (realpath(path, f->path) == NULL || access(f->path, W_OK) != 0) {
    return errno;
  }
  return open_beside(f, old);
}

int ct_newfile_open(CtNewFile *f, const char *path) {
  struct stat old;
  int n = snprintf(f->path, sizeof f->path, "%s", path);
  f->file = NULL;
  if (n < 0 || (size_t)n >= sizeof f->path) {
    return ENAMETOOLONG;
  }
  if (stat(path, &old) == 0) {
    return open_over(f, path, &old);
  }
  return errno == ENOENT ? open_beside(f, NULL) : errno;
}

/* errno is not set by all that fail. */
static int reason(void) { return errno != 0 ? errno : EIO; }

int ct_newfile_close(CtNewFile *f, bool keep) {
  errno = 0;
  int why = fflush(f->file) != 0 || ferror(f->file) ? reason() : 0;
  if (fclose(f->file) != 0 && why == 0) {
    why = reason();
  }
  f->file = NULL;
  if (f->temp[0] == '\0') {
    return why;
  }
  if (keep && why == 0 && rename(f->temp, f->path) != 0) {
    why = reason();
  }
  if (!keep || why != 0) {
    (void)unlink(f->temp);
  }
  return why;
}

int ct_newfile_write(const char *path, const void *data, size_t bytes) {
  CtNewFile f;
  int why = ct_newfile_open(&f, path);
  if (why != 0) {
    return why;
  }
  errno = 0;
  why = bytes > 0 && fwrite(data, 1, bytes, f.file) != bytes ? reason() : 0;
  int at_end = ct_newfile_close(&f, why == 0);
  return why != 0 ? why : at_end;
}
