/* test_newfile.c: files that are written whole or not at all, what of them lies on the disk when, and locks of
   their names. */
#include "runtime/base/newfile.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tap.h"

static char dir[64], path[80], other[128];

static const char *text_of(const char *name) {
  static char text[64];
  FILE *f = fopen(name, "rb");
  size_t n = f == NULL ? 0 : fread(text, 1, sizeof text - 1, f);
  text[n] = '\0';
  if (f != NULL) {
    fclose(f);
  }
  return f == NULL ? "none" : text;
}

static void make(const char *name, const char *text) {
  FILE *f = fopen(name, "wb");
  if (f != NULL) {
    fputs(text, f);
    fclose(f);
  }
}

static int count_files(void) {
  int n = 0;
  DIR *d = opendir(dir);
  for (const struct dirent *e; d != NULL && (e = readdir(d)) != NULL;) {
    n += e->d_name[0] != '.';
  }
  if (d != NULL) {
    closedir(d);
  }
  return n;
}

/* {====== On the disk ====== */

/* In place of the system's: what has the name when a file, 'f', or a folder, 'd', is asked to be on the disk. */
static char synced[64];
static int sync_error;

int fsync(int fd) {
  struct stat st;
  bool is_folder = fstat(fd, &st) == 0 && S_ISDIR(st.st_mode);
  size_t n = strlen(synced);
  snprintf(synced + n, sizeof synced - n, "%c %s;", is_folder ? 'd' : 'f', text_of(path));
  if (sync_error != 0) {
    errno = sync_error;
    return -1;
  }
  return 0;
}

static void test_lasting(void) {
  make(path, "old");
  OK(ct_newfile_write(path, "new", 3) == 0 && synced[0] == '\0', "nothing is asked for");
  IS_STR(text_of(path), "new", "which is written");
  OK(ct_newfile_write_lasting(path, "later", 5) == 0, "a lasting file");
  IS_STR(synced, "f new;d later;", "is on the disk before it has the name; so is the name");
  sync_error = EIO;
  OK(ct_newfile_write_lasting(path, "lost", 4) == EIO, "a disk that fails");
  IS_STR(text_of(path), "later", "leaves the file as it was");
  IS_INT(count_files(), 1, "and nothing beside it");
  sync_error = 0;
}

/* {====== A full disk ====== */

/* 0 or the errno of writing n bytes, in a process whose files may have 512. */
static int write_short(size_t n, bool is_lasting) {
  static char data[100000];
  int status = 0;
  fflush(stdout);
  pid_t pid = fork();
  if (pid == 0) {
    signal(SIGXFSZ, SIG_IGN);
    setrlimit(RLIMIT_FSIZE, &(struct rlimit){512, 512});
    _exit(is_lasting ? ct_newfile_write_lasting(path, data, n) : ct_newfile_write(path, data, n));
  }
  waitpid(pid, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void test_full(void) {
  static const size_t sizes[] = {513, 600, 4000, 4096, 5000, 100000};
  make(path, "old");
  for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
    OK(write_short(sizes[i], false) == EFBIG, "%zu bytes do not fit", sizes[i]);
    OK(write_short(sizes[i], true) == EFBIG, "%zu bytes that are to last", sizes[i]);
    IS_STR(text_of(path), "old", "the file is as it was");
    IS_INT(count_files(), 1, "nothing is beside it");
  }
  OK(write_short(512, true) == 0, "512 do");
}

/* {====== Which file ====== */

/* No device of the system: a broken program would put a file into its place. */
static void test_pipe(void) {
  CtFileLock a;
  struct stat st = {0};
  char got[4] = "";
  int fd = mkfifo(other, 0600) == 0 ? open(other, O_RDONLY | O_NONBLOCK | O_CLOEXEC) : -1;
  OK(fd >= 0 && ct_newfile_write(other, "x", 1) == 0, "what is no plain file");
  OK(lstat(other, &st) == 0 && S_ISFIFO(st.st_mode), "stays what it is");
  OK(read(fd, got, 3) == 1 && got[0] == 'x', "and is written where it is");
  IS_INT(ct_filelock_take(&a, other, 0), ENOTSUP, "it has no lock");
  close(fd);
  unlink(other);
}

static void test_modes(void) {
  struct stat st = {0};
  make(path, "old");
  chmod(path, 0604);
  OK(ct_newfile_write(path, "new", 3) == 0 && stat(path, &st) == 0, "a file is replaced");
  IS_INT((int)(st.st_mode & 0777), 0604, "with its permissions");
  chmod(path, 0444);
  bool may_write = access(path, W_OK) == 0; /* whoever may write everywhere */
  IS_INT(ct_newfile_write(path, "more", 4), may_write ? 0 : EACCES, "one that may not be written");
  IS_STR(text_of(path), may_write ? "more" : "new", "is not replaced either");
  chmod(path, 0644);
  OK(symlink(path, other) == 0 && ct_newfile_write(other, "far", 3) == 0, "a link");
  OK(lstat(other, &st) == 0 && S_ISLNK(st.st_mode), "stays one");
  IS_STR(text_of(path), "far", "and what it names is replaced");
  unlink(other);
  IS_INT(ct_newfile_write(dir, "x", 1), EISDIR, "a folder");
  test_pipe();
  char name[PATH_MAX + 8];
  memset(name, 'x', sizeof name - 1);
  name[sizeof name - 1] = '\0';
  IS_INT(ct_newfile_write(name, "x", 1), ENAMETOOLONG, "a name that is too long");
}

/* {====== Links of others ====== */

enum { ME_NOT = 1234, OWNER = 1235 };

/* What writing and locking make of `link`, which leads to `path` and is `user`'s in a folder of the owner's. */
static void try_link(const char *folder, uid_t user, int want, const char *what) {
  char link[128];
  CtFileLock lock;
  snprintf(link, sizeof link, "%s/out", folder);
  make(path, "old");
  OK(symlink(path, link) == 0 && lchown(link, user, (gid_t)-1) == 0, "a link that is %s", what);
  IS_INT(ct_newfile_write(link, "new", 3), want, "is written through, or not");
  IS_STR(text_of(path), want == 0 ? "new" : "old", "as the file shows");
  IS_INT(ct_filelock_take(&lock, link, 0), want, "and locked");
  ct_filelock_drop(&lock);
  unlink(link);
}

/* A link that leads to a link of another. */
static void try_chain(const char *folder) {
  char link[128], first[128];
  snprintf(link, sizeof link, "%s/out", folder);
  snprintf(first, sizeof first, "%s/first", dir);
  make(path, "old");
  OK(symlink(path, link) == 0 && lchown(link, ME_NOT, (gid_t)-1) == 0 && symlink(link, first) == 0,
     "my link to another's");
  IS_INT(ct_newfile_write(first, "new", 3), EACCES, "leads nowhere");
  unlink(first);
  unlink(link);
  OK(symlink(first, first) == 0, "a link to itself");
  IS_INT(ct_newfile_write(first, "new", 3), ELOOP, "neither");
  unlink(first);
}

static void test_links_of_others(void) {
  char folder[96];
  snprintf(folder, sizeof folder, "%s/all", dir);
  if (geteuid() != 0) {
    SKIP(22, "only root makes files of others");
    return;
  }
  OK(mkdir(folder, 0777) == 0 && chmod(folder, 01777) == 0 && chown(folder, OWNER, (gid_t)-1) == 0,
     "a folder such as /tmp");
  try_link(folder, ME_NOT, EACCES, "another's");
  try_link(folder, OWNER, 0, "its owner's");
  try_link(folder, geteuid(), 0, "mine");
  try_chain(folder);
  OK(chmod(folder, 0755) == 0, "in a folder that is not everybody's");
  try_link(folder, ME_NOT, 0, "another's");
  rmdir(folder);
}

/* {====== Locks ====== */

/* A file that taking a lock made, and that nobody wrote to, as where the disk is full. */
static void test_unused_lock(void) {
  CtFileLock a;
  unlink(path);
  OK(ct_filelock_take(&a, path, 0) == 0, "a lock makes its file");
  ct_filelock_drop(&a);
  IS_INT(access(path, F_OK), -1, "which goes with it if nobody writes");
  OK(ct_filelock_take(&a, path, 0) == 0 && ct_newfile_write(path, "x", 1) == 0,
     "one that is written");
  ct_filelock_drop(&a);
  IS_STR(text_of(path), "x", "stays");
  make(path, "");
  OK(ct_filelock_take(&a, path, 0) == 0, "an empty file that was there");
  ct_filelock_drop(&a);
  IS_INT(access(path, F_OK), 0, "stays too");
}

static void test_locks(void) {
  CtFileLock a, b;
  OK(ct_filelock_take(&a, path, 0) == 0, "a lock");
  IS_INT(ct_filelock_take(&b, path, 0), EWOULDBLOCK, "is held by one");
  IS_INT(ct_filelock_take(&b, path, 30), EWOULDBLOCK, "as long as another waits");
  ct_filelock_drop(&b);
  ct_filelock_drop(&a);
  ct_filelock_drop(&a);
  OK(ct_filelock_take(&b, path, 0) == 0, "until it is dropped");
  ct_filelock_drop(&b);
  unlink(path);
  OK(ct_filelock_take(&a, path, 0) == 0, "a name without a file");
  IS_STR(text_of(path), "", "gets an empty one");
  ct_filelock_drop(&a);
  OK(ct_filelock_take(&a, dir, 0) != 0 && a.fd == -1, "a folder has no lock");
  IS_INT(ct_filelock_take(&a, "/nowhere/x", 0), ENOENT, "nor what cannot be");
}

#ifdef SYS_flock
/* In place of the system's: somebody else may write the file anew between its opening and its lock. */
static bool comes_between;

long syscall(long number, ...); /* no function of POSIX */

int flock(int fd, int how) {
  if (comes_between) {
    comes_between = false;
    OK(ct_newfile_write(path, "new", 3) == 0, "somebody takes the name");
  }
  return (int)syscall(SYS_flock, fd, how);
}

static void test_lock_of_new_file(void) {
  CtFileLock a, b;
  struct stat held, named;
  comes_between = true;
  IS_INT(ct_filelock_take(&a, path, 0), EWOULDBLOCK, "the lock of a file without its name is none");
  comes_between = true;
  OK(ct_filelock_take(&a, path, 1000) == 0, "who waits");
  OK(fstat(a.fd, &held) == 0 && stat(path, &named) == 0 && held.st_ino == named.st_ino,
     "gets that of the file that has the name");
  IS_INT(ct_filelock_take(&b, path, 0), EWOULDBLOCK, "which nobody else gets");
  ct_filelock_drop(&a);
}
#else
static void test_lock_of_new_file(void) { SKIP(6, "the system's lock has no number"); }
#endif

static const char *beside(const char *ending) {
  snprintf(other, sizeof other, "%s/k.tune%s", dir, ending);
  return other;
}

static void test_sweep(void) {
  static const char *const kept[] = {".tmp",    ".x.tmp",     ".-.tmp",    ".1-.tmp",
                                     ".-1.tmp", ".1-2.tmp.x", "x.1-2.tmp", ".1-2.tm"};
  static const char *const left[] = {".1-2.tmp", ".99999-0.tmp"};
  enum { N_KEPT = sizeof kept / sizeof kept[0], N_LEFT = sizeof left / sizeof left[0] };
  make(path, "old");
  for (int i = 0; i < N_KEPT; i++) {
    make(beside(kept[i]), "x");
  }
  for (int i = 0; i < N_LEFT; i++) {
    make(beside(left[i]), "x");
  }
  ct_filelock_sweep(path);
  IS_INT(count_files(), 1 + N_KEPT, "what writers left is removed, and nothing else");
  for (int i = 0; i < N_KEPT; i++) {
    IS_INT(unlink(beside(kept[i])), 0, "%s is kept", kept[i]);
  }
  ct_filelock_sweep("/nowhere/x");
}

int main(void) {
  snprintf(dir, sizeof dir, "/tmp/cuttle_newfile_XXXXXX");
  if (mkdtemp(dir) == NULL) {
    return skip_all("no folder for files");
  }
  snprintf(path, sizeof path, "%s/k.tune", dir);
  snprintf(other, sizeof other, "%s/link", dir);
  test_lasting();
  test_full();
  test_modes();
  test_links_of_others();
  test_locks();
  test_unused_lock();
  test_lock_of_new_file();
  test_sweep();
  unlink(path);
  IS_INT(rmdir(dir), 0, "nothing is left");
  return done_testing();
}
