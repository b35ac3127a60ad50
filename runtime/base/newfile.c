/* newfile.c: files that are written whole or not at all; see newfile.h. */
#include "newfile.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
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

/* {====== Links in folders that everybody writes to ====== */

enum { MAX_LINKS = 40 }; /* as the system's */

/* The folder of a name: its bytes with the slash, or those of "./". */
static int folder_of(const char *path, char folder[PATH_MAX]) {
  const char *slash = strrchr(path, '/');
  int n = slash == NULL ? 1 : (int)(slash - path) + 1;
  int said = snprintf(folder, PATH_MAX, "%.*s", n, slash == NULL ? "." : path);
  return said < 0 || said >= PATH_MAX ? ENAMETOOLONG : 0;
}

/* Linux's rule of protected_symlinks, which not every system has on, and which does not hold for realpath:
   in a folder such as /tmp, where everybody may write and nobody may remove what is another's, only links of
   this user or of the folder's owner lead on. */
static int may_follow(const struct stat *link, const char *folder) {
  struct stat in;
  if (stat(folder, &in) != 0) {
    return errno;
  }
  bool is_everybodys = (in.st_mode & S_ISVTX) != 0 && (in.st_mode & S_IWOTH) != 0;
  return is_everybodys && link->st_uid != geteuid() && link->st_uid != in.st_uid ? EACCES : 0;
}

/* Where the link leads, in `path`. */
static int follow(char path[PATH_MAX], const char *folder) {
  char target[PATH_MAX], next[PATH_MAX];
  ssize_t n = readlink(path, target, sizeof target - 1);
  if (n < 0) {
    return errno;
  }
  target[n] = '\0';
  int said = snprintf(next, sizeof next, "%s%s%s", target[0] == '/' ? "" : folder,
                      target[0] == '/' || folder[0] != '.' || folder[1] != '\0' ? "" : "/", target);
  if (said < 0 || (size_t)said >= sizeof next) {
    return ENAMETOOLONG;
  }
  memcpy(path, next, (size_t)said + 1);
  return 0;
}

/* 0 where the name is no link, or one, and those that it leads to, that may be followed. */
static int check_links(const char *name) {
  char path[PATH_MAX], folder[PATH_MAX];
  struct stat st;
  int n = snprintf(path, sizeof path, "%s", name);
  if (n < 0 || (size_t)n >= sizeof path) {
    return ENAMETOOLONG;
  }
  for (int i = 0; i < MAX_LINKS; i++) {
    if (lstat(path, &st) != 0 || !S_ISLNK(st.st_mode)) {
      return 0; /* whoever opens it hears what is wrong with it */
    }
    int why = folder_of(path, folder);
    why = why != 0 ? why : may_follow(&st, folder);
    why = why != 0 ? why : follow(path, folder);
    if (why != 0) {
      return why;
    }
  }
  return ELOOP;
}

/* {====== Writing ====== */

int ct_newfile_open(CtNewFile *f, const char *path) {
  struct stat old;
  int n = snprintf(f->path, sizeof f->path, "%s", path);
  f->file = NULL;
  int why = n < 0 || (size_t)n >= sizeof f->path ? ENAMETOOLONG : check_links(path);
  if (why != 0) {
    return why;
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

/* Of the folder too: it has the name. A folder that cannot be opened, or a system that cannot, is no error. */
static void sync_folder(const char *path) {
  char folder[PATH_MAX];
  int fd = folder_of(path, folder) != 0 ? -1 : open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd >= 0) {
    (void)fsync(fd);
    (void)close(fd);
  }
}

/* What is no plain file, as a pipe, cannot be synchronised. */
static int sync_file(const CtNewFile *f) {
  if (fflush(f->file) != 0) {
    return reason();
  }
  return f->temp[0] == '\0' || fsync(fileno(f->file)) == 0 ? 0 : reason();
}

static int write_all(const char *path, const void *data, size_t bytes, bool is_lasting) {
  CtNewFile f;
  int why = ct_newfile_open(&f, path);
  if (why != 0) {
    return why;
  }
  errno = 0;
  why = bytes > 0 && fwrite(data, 1, bytes, f.file) != bytes ? reason() : 0;
  why = why == 0 && is_lasting ? sync_file(&f) : why;
  int at_end = ct_newfile_close(&f, why == 0);
  if (why == 0 && at_end == 0 && is_lasting) {
    sync_folder(f.path);
  }
  return why != 0 ? why : at_end;
}

int ct_newfile_write(const char *path, const void *data, size_t bytes) {
  return write_all(path, data, bytes, false);
}

int ct_newfile_write_lasting(const char *path, const void *data, size_t bytes) {
  return write_all(path, data, bytes, true);
}

/* {====== Folders ====== */

int ct_newfile_folder(const char *path, unsigned mode) {
  char part[PATH_MAX];
  struct stat st;
  if (snprintf(part, sizeof part, "%s", path) >= (int)sizeof part) {
    return ENAMETOOLONG;
  }
  for (char *s = part + 1; part[0] != '\0' && *s != '\0'; s++) {
    if (*s == '/') {
      *s = '\0';
      (void)mkdir(part, mode); /* one that exists already is as good */
      *s = '/';
    }
  }
  int why = mkdir(part, mode) == 0 || errno == EEXIST ? 0 : errno;
  return why == 0 && (stat(part, &st) != 0 || !S_ISDIR(st.st_mode)) ? ENOTDIR : why;
}

bool ct_write_all(int fd, const void *data, size_t bytes) {
  for (const char *p = data; bytes > 0;) {
    ssize_t n = write(fd, p, bytes);
    if (n <= 0 && (n == 0 || errno != EINTR)) {
      return false;
    }
    p += n > 0 ? n : 0;
    bytes -= n > 0 ? (size_t)n : 0;
  }
  return true;
}

/* {====== Locks ====== */

enum { LOCK_STEP_MS = 5 };

static bool is_plain(int fd) {
  struct stat st;
  return fstat(fd, &st) == 0 && S_ISREG(st.st_mode);
}

/* Does the name still belong to the open file? Its holder may have written it anew meanwhile. */
static bool is_current(int fd, const char *path) {
  struct stat mine, named;
  return fstat(fd, &mine) == 0 && stat(path, &named) == 0 && mine.st_dev == named.st_dev &&
         mine.st_ino == named.st_ino;
}

/* Makes the file if there is none, and notes in l->made that it did. */
static int open_to_lock(CtFileLock *l, const char *path) {
  int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  int n = snprintf(l->made, sizeof l->made, "%s", fd >= 0 ? path : "");
  if (n < 0 || (size_t)n >= sizeof l->made) {
    l->made[0] = '\0';
  }
  return fd < 0 && errno == EEXIST ? open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666) : fd;
}

/* 0, EWOULDBLOCK where somebody holds it, or what failed. */
static int try_lock(CtFileLock *l, const char *path) {
  int why = check_links(path);
  if (why != 0) {
    return why;
  }
  int fd = open_to_lock(l, path);
  if (fd < 0) {
    return errno;
  }
  why = is_plain(fd) ? 0 : ENOTSUP;
  if (why == 0 && flock(fd, LOCK_EX | LOCK_NB) != 0) {
    why = errno;
  }
  if (why == 0 && is_current(fd, path)) {
    l->fd = fd;
    return 0;
  }
  (void)close(fd);
  return why == 0 || why == EINTR ? EWOULDBLOCK : why;
}

int ct_filelock_take(CtFileLock *l, const char *path, int wait_ms) {
  const struct timespec step = {.tv_nsec = LOCK_STEP_MS * 1000000L};
  l->fd = -1;
  int why = try_lock(l, path);
  for (int ms = 0; why == EWOULDBLOCK && ms < wait_ms; ms += LOCK_STEP_MS) {
    (void)nanosleep(&step, NULL);
    why = try_lock(l, path);
  }
  return why;
}

/* Is it "BASE.123-0.tmp", as set_temp makes it? */
static bool is_temp_of(const char *name, const char *base) {
  size_t n = strlen(base);
  if (strncmp(name, base, n) != 0 || name[n] != '.') {
    return false;
  }
  const char *s = name + n + 1;
  size_t pid = strspn(s, "0123456789");
  size_t count = s[pid] == '-' ? strspn(s + pid + 1, "0123456789") : 0;
  return pid > 0 && count > 0 && strcmp(s + pid + 1 + count, ".tmp") == 0;
}

void ct_filelock_sweep(const char *path) {
  char full[PATH_MAX], temp[PATH_MAX];
  char *slash = realpath(path, full) == NULL ? NULL : strrchr(full, '/');
  if (slash == NULL) {
    return;
  }
  *slash = '\0';
  DIR *dir = opendir(full[0] == '\0' ? "/" : full);
  for (const struct dirent *e = NULL; dir != NULL && (e = readdir(dir)) != NULL;) {
    int n = snprintf(temp, sizeof temp, "%s/%s", full, e->d_name);
    if (is_temp_of(e->d_name, slash + 1) && n > 0 && (size_t)n < sizeof temp) {
      (void)unlink(temp);
    }
  }
  if (dir != NULL) {
    (void)closedir(dir);
  }
}

/* Is the file, which the lock made, still empty? Whoever waits for the lock sees that the name is gone. */
static bool is_unused(const CtFileLock *l) {
  struct stat st;
  return l->made[0] != '\0' && fstat(l->fd, &st) == 0 && st.st_size == 0 &&
         is_current(l->fd, l->made);
}

void ct_filelock_drop(CtFileLock *l) {
  if (l->fd >= 0) {
    if (is_unused(l)) {
      (void)unlink(l->made);
    }
    (void)close(l->fd);
    l->fd = -1;
  }
}
