/* edges.c: linked into programs that clang compiles with -fsanitize-coverage=trace-pc-guard,pc-table, it notes which
   edges of their flow graphs are taken, for scripts/covering.lua. All processes of one module note them in one file
   of the folder that the environment variable CUTTLE_EDGES names, shared memory, so that a process may end as it
   likes. The file of n edges has n bytes, 1 where the edge was taken, and then clang's table of n pairs of words: the
   address of the edge, and whether a function begins there. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

void __sanitizer_cov_trace_pc_guard_init(uint32_t *start, uint32_t *stop);
void __sanitizer_cov_pcs_init(const uintptr_t *start, const uintptr_t *stop);
void __sanitizer_cov_trace_pc_guard(uint32_t *guard);

static uint32_t *guards;
static unsigned char *taken;
void __sanitizer_cov_trace_pc_guard_init(uint32_t *start, uint32_t *stop) {
  (void)stop;
  guards = start;
}

/* The file of this module: its path, with other signs for what a name cannot have. */
static int open_file(const char *folder) {
  Dl_info info;
  char name[4096], path[8192];
  ssize_t n = readlink("/proc/self/exe", name, sizeof name - 1);
  name[n < 0 ? 0 : n] = '\0';
  if (dladdr(guards, &info) != 0 && strstr(info.dli_fname, ".so") != NULL) {
    snprintf(name, sizeof name, "%s", info.dli_fname);
  }
  for (char *c = name; *c != '\0'; c++) {
    *c = *c == '/' ? '%' : *c;
  }
  snprintf(path, sizeof path, "%s/%s", folder, name);
  return open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
}

/* Guards get their numbers, from 1, only where a file takes what they say: those without one stay 0. */
void __sanitizer_cov_pcs_init(const uintptr_t *start, const uintptr_t *stop) {
  const char *folder = getenv("CUTTLE_EDGES");
  size_t n = (size_t)(stop - start) / 2, n_bytes = n + n * 2 * sizeof *start;
  int file = folder == NULL || taken != NULL ? -1 : open_file(folder);
  if (file < 0) {
    return;
  }
  void *map = MAP_FAILED;
  if (ftruncate(file, (off_t)n_bytes) == 0) {
    map = mmap(NULL, n_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  }
  close(file);
  if (map == MAP_FAILED) {
    return;
  }
  taken = map;
  uintptr_t first = 0;
  memcpy(&first, taken + n, sizeof first);
  if (first == 0) {
    memcpy(taken + n, start, n * 2 * sizeof *start);
  }
  for (size_t i = 0; i < n; i++) {
    guards[i] = (uint32_t)i + 1;
  }
}

void __sanitizer_cov_trace_pc_guard(uint32_t *guard) {
  if (*guard != 0) {
    taken[*guard - 1] = 1;
    *guard = 0;
  }
}
