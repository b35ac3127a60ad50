/* fake_cuda.h: a CUDA driver for tests, in host memory: it records what it is asked and fails when
   told to. fake_libcuda.c is compiled to a shared library by the test that uses it (build_fake) and
   named by CUTTLE_LIBCUDA, so that the product loads it as it loads the real one. */
#ifndef FAKE_CUDA_H
#define FAKE_CUDA_H

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/device/dl.h"

typedef struct FakeCuda {
  int version, n_devices, sm, has_pools, has_clusters;
  char fail_name[64]; /* the next call of this entry point fails ... */
  CuResult fail_result;
  CuResult fault; /* what every wait and copy returns, until the context is reset */
  int busy;       /* so many queries say "not ready" */
  int hung; /* streams are, and events recorded meanwhile: they are ready when this is 0 again */

  int n_launches; /* and the last of them: */
  unsigned grid[3], block[3], cluster[3], shared_bytes;
  int is_dependent, is_cooperative;
  CuStream stream;
  char function[64];
  const void *handle; /* of the function */
  unsigned char params[256];
  size_t params_bytes;

  /* Captures. A call that the mode forbids while a stream is captured fails, and is counted. */
  CuStream host_captured; /* the host captures this stream */
  int n_forbidden, n_captures, n_instantiated, n_updated, n_graph_launches;
  int n_nodes;       /* of the last capture */
  char nodes[64];    /* L a launch, C a copy, S a set, W a wait, R a record */
  int refuse_update; /* updates fail: the graph has another form */
  int live_graphs, live_execs;

  /* Memory of other devices: none reaches it; access that was given, and who has access to whose pool. */
  int no_peers, n_peers, n_pool_access, accessor;
  int live_opened; /* allocations of other processes, as often as they were opened */
  int n_sets;      /* of memory, in a stream */
  int n_timed;     /* records of events that carry times */
  int n_queries;   /* of events */
  int n_set_shared, n_large_cluster, last_set_shared;
  int n_dead_streams; /* uses of streams that were destroyed */
  int n_pool_allocs, n_plain_allocs, n_pushes, n_pops, n_synchronizes;
  int live_buffers, live_streams, live_events, live_modules, live_pools, live_host, retained;
} FakeCuda;

/* Compiles `file`, which lies beside `source` (a __FILE__), into `dir` with extra flags. Writes the
   library's path. */
static inline bool build_fake_file(const char *file, const char *source, const char *dir,
                                   const char *flags, char *path, size_t cap) {
  char command[1024];
  const char *cc = getenv("CC");
  const char *slash = strrchr(source, '/');
  int dir_len = slash == NULL ? 0 : (int)(slash - source + 1);
  static int n;
  snprintf(path, cap, "%s/libfake%d.so", dir, n++);
  snprintf(command, sizeof command,
           "%s -std=c11 -D_POSIX_C_SOURCE=200809L -shared -fPIC -I%.*s../.. %s -o %s %.*s%s",
           cc == NULL || cc[0] == '\0' ? "cc" : cc, dir_len, source, flags, path, dir_len, source,
           file);
  return system(command) == 0; // NOLINT(cert-env33-c): a fixed command
}

static inline bool build_fake(const char *source, const char *dir, const char *flags, char *path,
                              size_t cap) {
  return build_fake_file("fake_libcuda.c", source, dir, flags, path, cap);
}

/* The driver, built into a new folder and loaded as the product will load it; NULL without a C compiler. */
static inline FakeCuda *load_fake(const char *source, char *new_folder) {
  char path[256];
  if (mkdtemp(new_folder) == NULL || !build_fake(source, new_folder, "", path, sizeof path)) {
    return NULL;
  }
  setenv("CUTTLE_LIBCUDA", path, 1);
  void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  return handle == NULL ? NULL : dlsym(handle, "fake");
}

/* At the end of a test that has built no other library. */
static inline void remove_fake(const char *folder) {
  (void)unlink(getenv("CUTTLE_LIBCUDA"));
  (void)rmdir(folder);
}

#endif
