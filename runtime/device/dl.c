/* dl.c: finds and loads shared libraries. NVRTC is looked for by file, not by the dynamic linker,
   so that the disk cache can tell which NVRTC would compile without loading its hundred
   megabytes. */
#include "dl.h"

#include <dlfcn.h>
#include <glob.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/base/env.h"

_Static_assert(sizeof(void *) == sizeof(void (*)(void)), "dlsym's result is a function pointer");

enum { REQUIRED = 1, OPTIONAL = 0 };

static const CtDlSymbol cuda_symbols[] = {
#define X(need, name, args) {#name, offsetof(CtCuda, name), need},
#include "cuda_syms.def"
#undef X
};

static const CtDlSymbol nvrtc_symbols[] = {
#define X(need, name, args) {#name, offsetof(CtNvrtc, name), need},
#include "nvrtc_syms.def"
#undef X
    {"nvrtcGetErrorString", offsetof(CtNvrtc, nvrtcGetErrorString), REQUIRED},
};

static const char *const nvrtc_names[] = {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"};

/* Where toolkits live, as glob patterns, in the order of preference among equal versions. Folders
   named by their version come first: the name tells the minor version. */
static const char *const toolkit_dirs[] = {
    "/usr/local/cuda-*/lib64",
    "/usr/local/cuda/lib64",
    "/opt/cuda/lib64",
    "/usr/lib/x86_64-linux-gnu",
    "/usr/lib/aarch64-linux-gnu",
    "/usr/lib64",
    "/usr/lib",
    "/usr/local/lib",
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of all tables */
static CtCuda cuda_table;
static CtNvrtc nvrtc_table;
static bool nvrtc_loaded;

/* {====== Searching ====== */

/* Calls `visit` with each existing folder that may hold a toolkit's libraries, until it returns
   true. */
static bool visit_dir(const char *dir, bool (*visit)(void *ud, const char *dir), void *ud) {
  struct stat st;
  return dir[0] == '/' && stat(dir, &st) == 0 && S_ISDIR(st.st_mode) && visit(ud, dir);
}

static bool visit_library_path(bool (*visit)(void *ud, const char *dir), void *ud) {
  char dir[CT_DL_PATH_BYTES];
  const char *s = ct_env("LD_LIBRARY_PATH");
  while (s != NULL && *s != '\0') {
    size_t len = strcspn(s, ":");
    if (len > 0 && len < sizeof dir) {
      memcpy(dir, s, len);
      dir[len] = '\0';
      if (visit_dir(dir, visit, ud)) {
        return true;
      }
    }
    s += len + (s[len] == ':');
  }
  return false;
}

static bool visit_home(const char *variable, bool (*visit)(void *ud, const char *dir), void *ud) {
  char dir[CT_DL_PATH_BYTES];
  const char *home = ct_env(variable);
  if (home == NULL) {
    return false;
  }
  int n = snprintf(dir, sizeof dir, "%s/lib64", home);
  return n > 0 && (size_t)n < sizeof dir && visit_dir(dir, visit, ud);
}

static bool visit_pattern(const char *pattern, bool (*visit)(void *ud, const char *dir), void *ud) {
  glob_t found;
  bool stopped = false;
  if (glob(pattern, GLOB_NOSORT, NULL, &found) == 0) {
    for (size_t i = 0; i < found.gl_pathc && !stopped; i++) {
      stopped = visit_dir(found.gl_pathv[i], visit, ud);
    }
    globfree(&found);
  }
  return stopped;
}

static bool visit_dirs(bool (*visit)(void *ud, const char *dir), void *ud) {
  if (visit_library_path(visit, ud) || visit_home("CUDA_HOME", visit, ud) ||
      visit_home("CUDA_PATH", visit, ud)) {
    return true;
  }
  for (size_t i = 0; i < CT_ARRAY_LEN(toolkit_dirs); i++) {
    if (visit_pattern(toolkit_dirs[i], visit, ud)) {
      return true;
    }
  }
  return false;
}

/* Writes "'a', 'b'" for messages. */
static void list_names(const char *const *names, size_t n, char *out, size_t cap) {
  size_t len = 0;
  out[0] = '\0';
  for (size_t i = 0; i < n && len < cap; i++) {
    int more = snprintf(out + len, cap - len, "%s'%s'", i == 0 ? "" : ", ", names[i]);
    len += more > 0 ? (size_t)more : 0;
  }
}

/* {====== Opening ====== */

/* glibc's dlopen does not promise anything about dlerror's text but that it has the cause. */
static const char *why(void) {
  const char *text = dlerror();
  return text == NULL ? "unknown reason" : text;
}

static void copy_path(char out[CT_DL_PATH_BYTES], const char *path) {
  snprintf(out, CT_DL_PATH_BYTES, "%s", path);
}

/* A static program, or one of WebAssembly, has no dynamic linker: it cannot even open itself. */
static CtStatus need_linker(const char *what, CtErr *err) {
  void *self = dlopen(NULL, RTLD_NOW | RTLD_LOCAL);
  if (self != NULL) {
    dlclose(self);
    return CT_OK;
  }
  return ct_fail(err, CT_EMISSING,
                 "%s: this build of Cuttle loads no libraries: it is a static program or runs as "
                 "WebAssembly; use one that is linked dynamically",
                 what);
}

static void *load(const char *path) { return dlopen(path, RTLD_NOW | RTLD_LOCAL); }

static CtStatus open_given(const CtDlSpec *lib, const char *path, void **handle,
                           char out[CT_DL_PATH_BYTES], CtErr *err) {
  void *h = load(path);
  if (h == NULL) {
    return ct_fail(err, CT_EMISSING,
                   "%s: cannot load '%s', which %s names: %s; give the path of the library",
                   lib->what, path, lib->env, why());
  }
  *handle = h;
  copy_path(out, path);
  return CT_OK;
}

typedef struct NamedSearch {
  const char *name;
  void *handle;
  char *path;
} NamedSearch;

static bool load_from(void *ud, const char *dir) {
  NamedSearch *s = ud;
  char path[CT_DL_PATH_BYTES];
  struct stat st;
  int n = snprintf(path, sizeof path, "%s/%s", dir, s->name);
  if (n < 0 || (size_t)n >= sizeof path || stat(path, &st) != 0) {
    return false;
  }
  s->handle = load(path);
  if (s->handle != NULL) {
    copy_path(s->path, path);
  }
  return s->handle != NULL;
}

static void *load_named(const char *name, char path[CT_DL_PATH_BYTES]) {
  void *h = load(name);
  if (h != NULL) {
    copy_path(path, name);
    return h;
  }
  NamedSearch s = {name, NULL, path};
  visit_dirs(load_from, &s);
  return s.handle;
}

CtStatus ct_dl_open(const CtDlSpec *lib, void **handle, char path[CT_DL_PATH_BYTES], CtErr *err) {
  const char *given = lib->env == NULL ? NULL : ct_env(lib->env);
  CtStatus s = need_linker(lib->what, err);
  if (s != CT_OK) {
    return s;
  }
  if (given != NULL && given[0] != '\0') {
    return open_given(lib, given, handle, path, err);
  }
  for (size_t i = 0; i < lib->n_names; i++) {
    void *h = load_named(lib->names[i], path);
    if (h != NULL) {
      *handle = h;
      return CT_OK;
    }
  }
  char tried[256];
  list_names(lib->names, lib->n_names, tried, sizeof tried);
  return ct_fail(err, CT_EMISSING, "%s: cannot load %s%s; %s", lib->what,
                 lib->n_names > 1 ? "any of " : "", tried, lib->advice);
}

CtStatus ct_dl_fill(const char *what, void *handle, const char *path, const CtDlSymbol *symbols,
                    size_t n_symbols, void *table, CtErr *err) {
  for (size_t i = 0; i < n_symbols; i++) {
    void *sym = dlsym(handle, symbols[i].name);
    if (sym == NULL && symbols[i].required) {
      return ct_fail(err, CT_EMISSING, "%s: '%s' has no symbol '%s'; a newer version is needed",
                     what, path, symbols[i].name);
    }
    memcpy((char *)table + symbols[i].offset, &sym, sizeof sym);
  }
  return CT_OK;
}

void ct_dl_close(void *handle) {
  if (handle != NULL) {
    dlclose(handle);
  }
}

static CtStatus load_locked(CtDlLibrary *lib, CtErr *err) {
  const CtDlSpec *spec = &lib->spec;
  void *handle = NULL;
  char path[CT_DL_PATH_BYTES];
  if (lib->is_loaded) {
    return CT_OK;
  }
  CtStatus s = ct_dl_open(spec, &handle, path, err);
  if (s != CT_OK) {
    return s;
  }
  s = ct_dl_fill(spec->what, handle, path, lib->symbols, lib->n_symbols, lib->table, err);
  if (s == CT_OK && lib->start != NULL) {
    s = lib->start(path, err);
  }
  if (s != CT_OK) {
    ct_dl_close(handle);
  }
  lib->is_loaded = s == CT_OK;
  return s;
}

CtStatus ct_dl_load(CtDlLibrary *lib, CtErr *err) {
  pthread_mutex_lock(&lock);
  CtStatus s = load_locked(lib, err);
  pthread_mutex_unlock(&lock);
  return s;
}

/* {====== The CUDA driver ====== */

static CtStatus start_cuda(const char *path, CtErr *err) {
  copy_path(cuda_table.path, path);
  return cuda_table.cuDriverGetVersion(&cuda_table.version) == CT_CUDA_SUCCESS
             ? CT_OK
             : ct_fail(err, CT_EMISSING,
                       "cuda driver: '%s' does not report its version; "
                       "install the NVIDIA driver instead of a stub",
                       path);
}

static const char *const cuda_names[] = {"libcuda.so.1"};

static CtDlLibrary cuda_lib = {
    .spec = {.what = "cuda driver",
             .env = "CUTTLE_LIBCUDA",
             .advice = "install the NVIDIA driver or set CUTTLE_LIBCUDA to its path",
             .names = cuda_names,
             .n_names = CT_ARRAY_LEN(cuda_names)},
    .symbols = cuda_symbols,
    .n_symbols = CT_ARRAY_LEN(cuda_symbols),
    .table = &cuda_table,
    .start = start_cuda,
};

CtStatus ct_dl_cuda(const CtCuda **out, CtErr *err) {
  CtStatus s = ct_dl_load(&cuda_lib, err);
  if (s == CT_OK) {
    *out = &cuda_table;
  }
  return s;
}

/* The version of CUDA that the driver is for, 0 without one. */
static int cuda_version_locked(void) {
  return load_locked(&cuda_lib, NULL) == CT_OK ? cuda_table.version : 0;
}

/* {====== NVRTC ====== */

enum { MAX_CANDIDATES = 32 };

typedef struct Candidate {
  int major, minor; /* as file and folder names tell; 0 when they do not */
  dev_t dev;
  ino_t ino;
  char path[CT_DL_PATH_BYTES];
} Candidate;

typedef struct Candidates {
  int n;
  int n_too_new; /* left out: the driver's major version is below theirs */
  int driver_version;
  Candidate items[MAX_CANDIDATES]; /* the best first */
} Candidates;

/* Reads "13" or "13.0" at s; false when there is no number. */
static bool read_version(const char *s, int *major, int *minor) {
  *minor = 0;
  return sscanf(s, "%4d.%4d", major, minor) >= 1;
}

/* Version of a library from its file's name (a link to libnvrtc.so.13.0.88), or its major from that
   and its minor from the toolkit's folder (/usr/local/cuda-13.0/lib64/libnvrtc.so.13). */
static void guess_version(Candidate *c) {
  char target[CT_DL_PATH_BYTES];
  int major = 0, minor = 0, dir_major = 0, dir_minor = 0;
  ssize_t n = readlink(c->path, target, sizeof target - 1);
  target[n < 0 ? 0 : n] = '\0';
  const char *so = strstr(n < 0 ? c->path : target, "libnvrtc.so.");
  const char *dir = strstr(c->path, "/cuda-");
  if (so != NULL) {
    (void)read_version(so + strlen("libnvrtc.so."), &major, &minor);
  }
  if (dir != NULL && read_version(dir + strlen("/cuda-"), &dir_major, &dir_minor) &&
      (major == 0 || (major == dir_major && minor == 0))) {
    major = dir_major;
    minor = dir_minor;
  }
  c->major = major;
  c->minor = minor;
}

static bool is_newer(const Candidate *a, const Candidate *b) {
  return a->major != b->major ? a->major > b->major : a->minor > b->minor;
}

static bool is_known(const Candidates *cs, const Candidate *c) {
  for (int i = 0; i < cs->n; i++) {
    if (cs->items[i].dev == c->dev && cs->items[i].ino == c->ino) {
      return true;
    }
  }
  return false;
}

/* A driver runs what any NVRTC of its own or an earlier major version made for its device. */
static bool is_too_new(int major, int driver_version) {
  return driver_version > 0 && major > driver_version / 1000;
}

/* Of more than MAX_CANDIDATES the worst ones go. */
static void insert_candidate(Candidates *cs, const Candidate *c) {
  if (cs->n == MAX_CANDIDATES && !is_newer(c, &cs->items[cs->n - 1])) {
    return;
  }
  int i = cs->n < MAX_CANDIDATES ? cs->n++ : cs->n - 1;
  for (; i > 0 && is_newer(c, &cs->items[i - 1]); i--) {
    cs->items[i] = cs->items[i - 1];
  }
  cs->items[i] = *c;
}

static void add_candidate(Candidates *cs, const char *dir, const char *name) {
  Candidate c = {0};
  struct stat st;
  int n = snprintf(c.path, sizeof c.path, "%s/%s", dir, name);
  if (n < 0 || (size_t)n >= sizeof c.path || stat(c.path, &st) != 0 || !S_ISREG(st.st_mode)) {
    return;
  }
  c.dev = st.st_dev;
  c.ino = st.st_ino;
  if (is_known(cs, &c)) {
    return;
  }
  guess_version(&c);
  if (is_too_new(c.major, cs->driver_version)) {
    cs->n_too_new++;
    return;
  }
  insert_candidate(cs, &c);
}

static bool add_dir(void *ud, const char *dir) {
  for (size_t i = 0; i < CT_ARRAY_LEN(nvrtc_names); i++) {
    add_candidate(ud, dir, nvrtc_names[i]);
  }
  return false;
}

static void find_candidates(Candidates *cs) {
  cs->n = cs->n_too_new = 0;
  cs->driver_version = cuda_version_locked();
  visit_dirs(add_dir, cs);
}

static CtStatus fill_nvrtc(void *handle, const char *path, int driver_version, CtErr *err) {
  CtNvrtc t = {0};
  CtStatus s =
      ct_dl_fill("nvrtc", handle, path, nvrtc_symbols, CT_ARRAY_LEN(nvrtc_symbols), &t, err);
  if (s != CT_OK) {
    return s;
  }
  if (t.nvrtcVersion(&t.major, &t.minor) != CT_NVRTC_SUCCESS) {
    return ct_fail(err, CT_EMISSING, "nvrtc: '%s' does not report its version", path);
  }
  if (is_too_new(t.major, driver_version)) {
    return ct_fail(err, CT_EMISSING,
                   "nvrtc: '%s' is version %d.%d, but the driver is for CUDA "
                   "%d.%d; install an NVRTC of that version or set CUTTLE_NVRTC to its path",
                   path, t.major, t.minor, driver_version / 1000, driver_version % 1000 / 10);
  }
  copy_path(t.path, path);
  nvrtc_table = t;
  nvrtc_loaded = true;
  return CT_OK;
}

static CtStatus try_nvrtc(const char *path, int driver_version, CtErr *err) {
  void *handle = load(path);
  if (handle == NULL) {
    return ct_fail(err, CT_EMISSING,
                   "nvrtc: cannot load '%s': %s; "
                   "repair it or set CUTTLE_NVRTC to the path of another",
                   path, why());
  }
  CtStatus s = fill_nvrtc(handle, path, driver_version, err);
  if (s != CT_OK) {
    ct_dl_close(handle);
  }
  return s;
}

/* The dynamic linker knows folders that we do not: those of /etc/ld.so.conf and of RPATHs. */
static CtStatus try_nvrtc_names(const Candidates *cs, CtErr *err) {
  for (size_t i = 0; i < CT_ARRAY_LEN(nvrtc_names); i++) {
    if (try_nvrtc(nvrtc_names[i], cs->driver_version, NULL) == CT_OK) {
      return CT_OK;
    }
  }
  if (cs->n_too_new > 0) {
    return ct_fail(err, CT_EMISSING,
                   "nvrtc: all that were found are newer than the driver, which is for CUDA %d.%d; "
                   "install an NVRTC of that version or set CUTTLE_NVRTC to its path",
                   cs->driver_version / 1000, cs->driver_version % 1000 / 10);
  }
  char tried[256];
  list_names(nvrtc_names, CT_ARRAY_LEN(nvrtc_names), tried, sizeof tried);
  return ct_fail(err, CT_EMISSING,
                 "nvrtc: cannot load any of %s, here or in /usr/local/cuda*; "
                 "install one or set CUTTLE_NVRTC to its path",
                 tried);
}

static CtStatus load_nvrtc(CtErr *err) {
  const char *given = ct_env("CUTTLE_NVRTC");
  CtStatus linked = need_linker("nvrtc", err);
  if (linked != CT_OK) {
    return linked;
  }
  if (given != NULL && given[0] != '\0') {
    return try_nvrtc(given, cuda_version_locked(), err);
  }
  Candidates cs;
  find_candidates(&cs);
  for (int i = 0; i < cs.n; i++) {
    if (try_nvrtc(cs.items[i].path, cs.driver_version, err) == CT_OK) {
      return CT_OK;
    }
  }
  CtErr none;
  CtStatus s = try_nvrtc_names(&cs, &none);
  if (s != CT_OK && cs.n == 0 && err != NULL) { /* a broken candidate's own reason is the better */
    *err = none;
  }
  return s;
}

CtStatus ct_dl_nvrtc(const CtNvrtc **out, CtErr *err) {
  pthread_mutex_lock(&lock);
  CtStatus s = nvrtc_loaded ? CT_OK : load_nvrtc(err);
  pthread_mutex_unlock(&lock);
  if (s == CT_OK) {
    *out = &nvrtc_table;
  }
  return s;
}

/* The best candidate's path; false when only loading can tell. */
static bool find_nvrtc_path(char path[CT_DL_PATH_BYTES]) {
  const char *given = ct_env("CUTTLE_NVRTC");
  if (nvrtc_loaded) {
    copy_path(path, nvrtc_table.path);
    return true;
  }
  if (given != NULL && given[0] != '\0') {
    copy_path(path, given);
    return true;
  }
  Candidates cs;
  find_candidates(&cs);
  if (cs.n > 0) {
    copy_path(path, cs.items[0].path);
  }
  return cs.n > 0;
}

CtStatus ct_dl_nvrtc_path(char path[CT_DL_PATH_BYTES], CtErr *err) {
  CtStatus s = CT_OK;
  pthread_mutex_lock(&lock);
  if (!find_nvrtc_path(path)) {
    s = load_nvrtc(err);
    if (s == CT_OK) {
      copy_path(path, nvrtc_table.path);
    }
  }
  pthread_mutex_unlock(&lock);
  return s;
}
