/* fake_libcuda.c: the driver that fake_cuda.h describes. -DWITHOUT_<THING> leaves entry points out,
   -DSTUB makes it a toolkit's stub, -DFAKE_VERSION=n sets the CUDA version,
   -DFAKE_DEVICES=n the devices, -DNO_PEERS=1 keeps them from each other's memory.

   FAKE_MEET="all_reduce 2": the n-th launch of this function on a device ends when the first 2 devices have had n. Until
   then nothing that would wait for it may be called: the program ends, and says what it called. FAKE_SIGINT=n: the n-th time that such a launch is asked for, the process gets SIGINT. FAKE_STUCK=1: the call gets
   SIGINT, and does not return. FAKE_FAIL="cuGraphUpload 4": the 4th call of this entry point fails. */
#include "fake_cuda.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>

#ifndef FAKE_VERSION
#define FAKE_VERSION 13000
#endif
#ifndef NO_PEERS
#define NO_PEERS 0
#endif
#ifndef FAKE_DEVICES
#define FAKE_DEVICES 2
#endif

#ifdef WITH_MAPS /* tensor maps, and launches that have some */
#define MAPS 1
#else
#define MAPS 0
#endif

FakeCuda fake = {.version = FAKE_VERSION,
                 .n_devices = FAKE_DEVICES,
                 .sm = 90,
                 .has_pools = 1,
                 .has_clusters = 1,
                 .no_peers = NO_PEERS};

#define X(need, name, args) CuResult name args;
#include "runtime/device/cuda_syms.def"
#undef X

static _Thread_local CuContext stack[16];
static _Thread_local int depth;

/* Everything that lives in a context goes with it, and with the library. */
static void *blocks[4096];

static void *new_block(size_t bytes) {
  for (size_t i = 0; i < sizeof blocks / sizeof blocks[0]; i++) {
    if (blocks[i] == NULL) {
      blocks[i] = calloc(1, bytes);
      return blocks[i];
    }
  }
  return NULL;
}

static int is_block(const void *block) {
  for (size_t i = 0; i < sizeof blocks / sizeof blocks[0]; i++) {
    if (block != NULL && blocks[i] == block) {
      return 1;
    }
  }
  return 0;
}

/* The real driver reads a stream that was destroyed, and may crash. */
static void use_stream(CuStream s) { fake.n_dead_streams += s != NULL && !is_block(s); }

static void free_block(const void *block) {
  for (size_t i = 0; i < sizeof blocks / sizeof blocks[0]; i++) {
    if (blocks[i] == block) {
      free(blocks[i]);
      blocks[i] = NULL;
    }
  }
}

__attribute__((destructor)) static void free_blocks(void) {
  for (size_t i = 0; i < sizeof blocks / sizeof blocks[0]; i++) {
    free(blocks[i]);
    blocks[i] = NULL;
  }
}

static int is_to_fail(const char *name) {
  static int n;
  const char *text = getenv("FAKE_FAIL");
  size_t len = text == NULL ? 0 : strcspn(text, " ");
  int is = text != NULL && strncmp(name, text, len) == 0 && name[len] == '\0';
  n += is;
  return is && n == strtol(text + len, NULL, 10);
}

static CuResult result(const char *name) {
  if (is_to_fail(name)) {
    return 1;
  }
  if (strcmp(fake.fail_name, name) == 0) {
    fake.fail_name[0] = '\0';
    return fake.fail_result;
  }
  return CT_CUDA_SUCCESS;
}

#define CHECK                                                                                      \
  do {                                                                                             \
    CuResult r_ = result(__func__);                                                                \
    if (r_ != CT_CUDA_SUCCESS) {                                                                   \
      return r_;                                                                                   \
    }                                                                                              \
  } while (0)

/* {====== Kernels that wait for each other ====== */

static int n_met[16]; /* launches of the function, by device */

/* How many devices there must be; 0: the function waits for nobody. */
static int meets(const char *name) {
  const char *text = getenv("FAKE_MEET");
  size_t len = text == NULL ? 0 : strcspn(text, " ");
  bool is = text != NULL && (name == NULL || (strncmp(name, text, len) == 0 && name[len] == '\0'));
  return is ? (int)strtol(text + len, NULL, 10) : 0;
}

static int is_waiting(int device) {
  int least = n_met[device];
  for (int i = 0; i < meets(NULL); i++) {
    least = n_met[i] < least ? n_met[i] : least;
  }
  return n_met[device] > least;
}

/* The real one would wait here, and the launch that is missing would never come. `of`: a device; -1: any. */
static void would_wait(const char *name, int of) {
  for (int i = 0; i < meets(NULL); i++) {
    if (is_waiting(i) && (of < 0 || of == i)) {
      fprintf(stderr, "driver: %s, but device %d waits for a launch of another one\n", name, i);
      if (getenv("FAKE_STUCK") != NULL) {
        (void)raise(SIGINT);
        for (;;) {
          (void)pause();
        }
      }
      _exit(97);
    }
  }
}

/* 600, not ready, while the device waits. */
static int asked_while_waiting(int device) {
  static int n;
  const char *text = getenv("FAKE_SIGINT");
  if (!is_waiting(device)) {
    return 0;
  }
  if (text != NULL && ++n == strtol(text, NULL, 10)) {
    (void)raise(SIGINT);
  }
  return 1;
}

/* What changes memory may wait for all devices, since each has access to that of others. */
#define WAITS would_wait(__func__, -1)
#define WAITS_HERE would_wait(__func__, this_device())

/* {====== Captures ====== */

static _Thread_local CuCaptureMode mode; /* global, unless it was exchanged */

static int this_device(void);
static void note_order(const char *what);

/* Captures in progress, of several devices at once if they are relaxed. */
enum { N_CAPTURES = 8 };
static struct Capture {
  CuStream streams[8]; /* the first one began it */
  int n;               /* 0: it is free */
  CuCaptureMode mode;
  char nodes[64];
  int n_nodes, n_meets;
} captures[N_CAPTURES];

static struct Capture *capture_of(CuStream s) {
  for (int i = 0; i < N_CAPTURES * 8; i++) {
    struct Capture *c = &captures[i / 8];
    if (i % 8 < c->n && c->streams[i % 8] == s) {
      return c;
    }
  }
  return NULL;
}

static int is_captured(CuStream s) {
  return capture_of(s) != NULL || (s != NULL && s == fake.host_captured);
}

/* Does a capture forbid what may wait? */
static int is_capture(void) {
  int forbids = fake.host_captured != NULL;
  for (int i = 0; i < N_CAPTURES; i++) {
    forbids |= captures[i].n > 0 && captures[i].mode != CT_CU_STREAM_CAPTURE_MODE_RELAXED;
  }
  return forbids;
}

/* Whether the call becomes a node, and is not carried out. */
static int becomes_node(CuStream s, char kind) {
  struct Capture *c = capture_of(s);
  if (c != NULL && c->n_nodes < 63) {
    c->nodes[c->n_nodes++] = kind;
  }
  return is_captured(s);
}

#define NOT_CAPTURED(s)                                                                            \
  do {                                                                                             \
    if (is_captured(s)) {                                                                          \
      fake.n_forbidden++;                                                                          \
      return 900;                                                                                  \
    }                                                                                              \
  } while (0)

/* Not while any stream is captured, unless the thread said that it knows what it does. */
#define SAFE                                                                                       \
  do {                                                                                             \
    if (is_capture() && mode != CT_CU_STREAM_CAPTURE_MODE_RELAXED) {                               \
      fake.n_forbidden++;                                                                          \
      return 900;                                                                                  \
    }                                                                                              \
  } while (0)

#ifndef WITHOUT_GRAPHS
CuResult cuThreadExchangeStreamCaptureMode(CuCaptureMode *m) {
  CuCaptureMode old = mode;
  mode = *m;
  *m = old;
  return CT_CUDA_SUCCESS;
}

CuResult cuStreamIsCapturing(CuStream s, CuCaptureStatus *status) {
  *status = (CuCaptureStatus)is_captured(s);
  return CT_CUDA_SUCCESS;
}

CuResult cuStreamBeginCapture_v2(CuStream s, CuCaptureMode m) {
  CHECK;
  int i = 0;
  while (i < N_CAPTURES && captures[i].n > 0) {
    i += m == CT_CU_STREAM_CAPTURE_MODE_RELAXED ? 1 : N_CAPTURES;
  }
  if (s == NULL || i >= N_CAPTURES || m == 0) {
    return 1;
  }
  captures[i] = (struct Capture){.streams = {s}, .n = 1, .mode = m};
  fake.n_captures++;
  return CT_CUDA_SUCCESS;
}

struct CUgraph_st {
  int n_nodes, n_meets;
};

struct CUgraphExec_st {
  int n_meets, is_uploaded;
};

CuResult cuStreamEndCapture(CuStream s, CuGraph *graph) {
  struct Capture *c = capture_of(s), was;
  if (c == NULL) {
    return 1;
  }
  was = *c;
  c->n = 0;
  CHECK;
  if (was.streams[0] != s) {
    return 1;
  }
  *graph = new_block(sizeof **graph);
  (*graph)->n_nodes = was.n_nodes;
  (*graph)->n_meets = was.n_meets;
  fake.live_graphs++;
  memset(fake.nodes, 0, sizeof fake.nodes);
  memcpy(fake.nodes, was.nodes, (size_t)was.n_nodes);
  fake.n_nodes = was.n_nodes;
  return CT_CUDA_SUCCESS;
}

CuResult cuGraphInstantiateWithFlags(CuGraphExec *exec, CuGraph graph, unsigned long long flags) {
  CHECK;
  WAITS;
  *exec = new_block(sizeof **exec);
  (*exec)->n_meets = graph->n_meets;
  (*exec)->is_uploaded = 0;
  fake.live_execs++;
  fake.n_instantiated++;
  return is_block(graph) && flags == 0 ? CT_CUDA_SUCCESS : 1;
}

CuResult cuGraphExecUpdate_v2(CuGraphExec exec, CuGraph graph, CuGraphUpdate *why) {
  CHECK;
  memset(why, 0, sizeof *why);
  if (fake.refuse_update || !is_block(exec) || !is_block(graph)) {
    return 910;
  }
  exec->n_meets = graph->n_meets;
  exec->is_uploaded = 0;
  fake.n_updated++;
  return CT_CUDA_SUCCESS;
}

CuResult cuGraphUpload(CuGraphExec exec, CuStream s) {
  (void)s;
  CHECK;
  WAITS;
  exec->is_uploaded = 1;
  return is_block(exec) ? CT_CUDA_SUCCESS : 1;
}

CuResult cuGraphLaunch(CuGraphExec exec, CuStream s) {
  (void)s;
  CHECK;
  if (!is_block(exec)) {
    return 1;
  }
  if (!exec->is_uploaded) {
    WAITS;
  }
  exec->is_uploaded = 1;
  note_order("graph");
  n_met[this_device()] += exec->n_meets;
  fake.n_graph_launches++;
  return CT_CUDA_SUCCESS;
}

CuResult cuGraphExecDestroy(CuGraphExec exec) {
  free_block(exec);
  fake.live_execs--;
  return CT_CUDA_SUCCESS;
}

CuResult cuGraphDestroy(CuGraph graph) {
  free_block(graph);
  fake.live_graphs--;
  return CT_CUDA_SUCCESS;
}
#endif

static char contexts[8]; /* their addresses are the handles of the primary contexts */

static int this_device(void) { return (int)((char *)(void *)stack[depth - 1] - contexts); }

/* FAKE_CALLS_LOG: a file that gets the name of each call that needs a context. */
static void note_call(const char *name) {
  const char *path = getenv("FAKE_CALLS_LOG");
  FILE *f = path == NULL ? NULL : fopen(path, "a");
  if (f != NULL) {
    fprintf(f, "%s\n", name);
    fclose(f);
  }
}

/* Calls that need a current context. */
#define IN_CONTEXT                                                                                 \
  do {                                                                                             \
    CHECK;                                                                                         \
    note_call(__func__);                                                                           \
    if (depth == 0 || stack[depth - 1] == NULL) {                                                  \
      return 201;                                                                                  \
    }                                                                                              \
  } while (0)

#define SYNCHRONOUS                                                                                \
  do {                                                                                             \
    IN_CONTEXT;                                                                                    \
    if (fake.fault != CT_CUDA_SUCCESS) {                                                           \
      return fake.fault;                                                                           \
    }                                                                                              \
  } while (0)

CuResult cuInit(unsigned flags) {
  (void)flags;
  CHECK;
  return CT_CUDA_SUCCESS;
}

CuResult cuDriverGetVersion(int *version) {
  CHECK;
  *version = fake.version;
#ifdef STUB
  return CT_CUDA_ERROR_STUB_LIBRARY;
#else
  return CT_CUDA_SUCCESS;
#endif
}

static const struct {
  CuResult r;
  const char *name;
} names[] = {{1, "CUDA_ERROR_INVALID_VALUE"},
             {2, "CUDA_ERROR_OUT_OF_MEMORY"},
             {34, "CUDA_ERROR_STUB_LIBRARY"},
             {100, "CUDA_ERROR_NO_DEVICE"},
             {200, "CUDA_ERROR_INVALID_IMAGE"},
             {201, "CUDA_ERROR_INVALID_CONTEXT"},
             {500, "CUDA_ERROR_NOT_FOUND"},
             {700, "CUDA_ERROR_ILLEGAL_ADDRESS"},
             {905, "CUDA_ERROR_STREAM_CAPTURE_ISOLATION"},
             {710, "CUDA_ERROR_ASSERT"}};

CuResult cuGetErrorName(CuResult r, const char **name) {
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
    if (names[i].r == r) {
      *name = names[i].name;
      return CT_CUDA_SUCCESS;
    }
  }
  return 1;
}

CuResult cuGetErrorString(CuResult r, const char **text) {
  *text = r == 100 ? "no CUDA-capable device is detected" : "some error";
  return CT_CUDA_SUCCESS;
}

CuResult cuDeviceGetCount(int *n) {
  CHECK;
  *n = fake.n_devices;
  return CT_CUDA_SUCCESS;
}

CuResult cuDeviceGet(CuDevice *d, int ordinal) {
  CHECK;
  *d = ordinal;
  return CT_CUDA_SUCCESS;
}

CuResult cuDeviceGetName(char *name, int cap, CuDevice d) {
  CHECK;
  snprintf(name, (size_t)cap, "Fake %d", d);
  return CT_CUDA_SUCCESS;
}

CuResult cuDeviceCanAccessPeer(int *can, CuDevice d, CuDevice peer) {
  CHECK;
  *can = d != peer && fake.no_peers == 0;
  return CT_CUDA_SUCCESS;
}

CuResult cuDeviceTotalMem_v2(size_t *bytes, CuDevice d) {
  (void)d;
  *bytes = (size_t)8 << 30;
  return CT_CUDA_SUCCESS;
}

CuResult cuDeviceGetUuid_v2(CuUuid *uuid, CuDevice d) {
  for (int i = 0; i < 16; i++) {
    uuid->bytes[i] = (char)(i * 17 + d);
  }
  return CT_CUDA_SUCCESS;
}

CuResult cuDeviceGetAttribute(int *value, CuDeviceAttribute a, CuDevice d) {
  static const struct {
    CuDeviceAttribute a;
    int value;
  } values[] = {
      {CT_CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK, 1024},
      {CT_CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X, 1024},
      {CT_CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y, 1024},
      {CT_CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z, 64},
      {CT_CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X, 2147483647},
      {CT_CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y, 65535},
      {CT_CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z, 65535},
      {CT_CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK, 49152},
      {CT_CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, 232448},
      {CT_CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR, 233472},
      {CT_CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 132},
  };
  (void)d;
  if (a == CT_CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED) {
    *value = fake.has_pools;
    return CT_CUDA_SUCCESS;
  }
  if (a == CT_CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH) {
    *value = fake.has_clusters;
    return CT_CUDA_SUCCESS;
  }
  if (a == CT_CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR ||
      a == CT_CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR) {
    bool major = a == CT_CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR;
    *value = major ? fake.sm / 10 : fake.sm % 10;
    return CT_CUDA_SUCCESS;
  }
  for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
    if (values[i].a == a) {
      *value = values[i].value;
      return CT_CUDA_SUCCESS;
    }
  }
  return 1;
}

CuResult cuDevicePrimaryCtxRetain(CuContext *c, CuDevice d) {
  WAITS;
  CHECK;
  fake.retained++;
  *c = (CuContext)(void *)&contexts[d];
  return CT_CUDA_SUCCESS;
}

CuResult cuDevicePrimaryCtxRelease_v2(CuDevice d) {
  WAITS;
  (void)d;
  fake.retained--;
  return CT_CUDA_SUCCESS;
}

CuResult cuCtxGetCurrent(CuContext *c) {
  *c = depth == 0 ? NULL : stack[depth - 1];
  return CT_CUDA_SUCCESS;
}

CuResult cuCtxSetCurrent(CuContext c) {
  depth = depth == 0 ? 1 : depth;
  stack[depth - 1] = c;
  return CT_CUDA_SUCCESS;
}

CuResult cuCtxPushCurrent_v2(CuContext c) {
  fake.n_pushes++;
  stack[depth++] = c;
  return CT_CUDA_SUCCESS;
}

CuResult cuCtxPopCurrent_v2(CuContext *c) {
  fake.n_pops++;
  *c = stack[--depth];
  return CT_CUDA_SUCCESS;
}

CuResult cuCtxGetDevice(CuDevice *d) {
  IN_CONTEXT;
  *d = this_device();
  return CT_CUDA_SUCCESS;
}

CuResult cuCtxSynchronize(void) {
  fake.n_synchronizes++;
  SYNCHRONOUS;
  WAITS_HERE;
  SAFE;
  return CT_CUDA_SUCCESS;
}

/* For the library of collectives, which waits for the device where it opens and where it aborts. */
void fake_would_wait(const char *name) { would_wait(name, this_device()); }

static int is_hung(void) { return __atomic_load_n(&fake.hung, __ATOMIC_ACQUIRE) != 0; }

static CuResult allocate(CuDevicePtr *p, size_t bytes) {
  void *block = bytes > (size_t)1 << 30 ? NULL : new_block(bytes);
  if (block == NULL) {
    return CT_CUDA_ERROR_OUT_OF_MEMORY;
  }
  *p = (CuDevicePtr)(uintptr_t)block;
  fake.live_buffers++;
  return CT_CUDA_SUCCESS;
}

/* {====== Memory of several processes: files ====== */

enum { SHARED_BYTES = 2 << 20, N_SHARED = 64 };

typedef struct Shared {
  void *at;
  size_t bytes;
  int n_opened;          /* 0: this process made it */
  CuIpcMemHandle handle; /* the path of the file */
} Shared;

static Shared shared[N_SHARED];

static Shared *find_shared(CuDevicePtr p) {
  for (int i = 0; i < N_SHARED; i++) {
    uintptr_t at = (uintptr_t)shared[i].at;
    if (shared[i].at != NULL && p >= at && p - at < shared[i].bytes) {
      return &shared[i];
    }
  }
  return NULL;
}

static Shared *unused_shared(void) {
  Shared *s = shared;
  while (s < shared + N_SHARED - 1 && s->at != NULL) {
    s++;
  }
  return s;
}

static void *map_file(const char *path, size_t bytes, int flags) {
  int fd = open(path, O_RDWR | flags, 0600);
  void *at = fd < 0 || ((flags & O_CREAT) != 0 && ftruncate(fd, (off_t)bytes) != 0)
                 ? MAP_FAILED
                 : mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (fd >= 0) {
    close(fd);
  }
  return at;
}

static CuResult allocate_shared(CuDevicePtr *p, size_t bytes) {
  static int n;
  Shared *s = unused_shared();
  snprintf(s->handle.bytes, sizeof s->handle.bytes, "%zu /tmp/fake_cuda_%d_%d", bytes,
           (int)getpid(), n++);
  void *at = bytes > (size_t)1 << 30
                 ? MAP_FAILED
                 : map_file(strchr(s->handle.bytes, '/'), bytes, O_CREAT | O_EXCL);
  if (at == MAP_FAILED) {
    return CT_CUDA_ERROR_OUT_OF_MEMORY;
  }
  s->at = at;
  s->bytes = bytes;
  s->n_opened = 0;
  *p = (CuDevicePtr)(uintptr_t)at;
  fake.live_buffers++;
  return CT_CUDA_SUCCESS;
}

static void unmap(Shared *s) {
  munmap(s->at, s->bytes);
  if (s->n_opened == 0) {
    unlink(strchr(s->handle.bytes, '/'));
  }
  s->at = NULL;
}

__attribute__((destructor)) static void unmap_all(void) {
  for (int i = 0; i < N_SHARED; i++) {
    if (shared[i].at != NULL) {
      unmap(&shared[i]);
    }
  }
}

CuResult cuMemGetAddressRange_v2(CuDevicePtr *base, size_t *bytes, CuDevicePtr p) {
  IN_CONTEXT;
  const Shared *s = find_shared(p);
  *base = s == NULL ? p : (CuDevicePtr)(uintptr_t)s->at;
  *bytes = s == NULL ? 1 : s->bytes;
  return CT_CUDA_SUCCESS;
}

CuResult cuIpcGetMemHandle(CuIpcMemHandle *handle, CuDevicePtr p) {
  IN_CONTEXT;
  CHECK;
  const Shared *s = find_shared(p);
  if (s == NULL) {
    return CT_CUDA_ERROR_INVALID_VALUE;
  }
  *handle = s->handle;
  return CT_CUDA_SUCCESS;
}

/* Programs cannot look at what they opened, so FAKE_IPC_LOG says what is there. */
static void note_ipc(const char *what, const Shared *s) {
  const char *log = getenv("FAKE_IPC_LOG");
  FILE *f = log == NULL ? NULL : fopen(log, "a");
  if (f != NULL) {
    fprintf(f, "%s %zu bytes: %g %g\n", what, s->bytes, (double)((const float *)s->at)[0],
            (double)((const float *)s->at)[1]);
    fclose(f);
  }
}

static Shared *find_opened(const CuIpcMemHandle *handle) {
  for (int i = 0; i < N_SHARED; i++) {
    if (shared[i].at != NULL && strcmp(shared[i].handle.bytes, handle->bytes) == 0) {
      return &shared[i];
    }
  }
  return NULL;
}

/* The second time it is the same address. */
CuResult cuIpcOpenMemHandle_v2(CuDevicePtr *p, CuIpcMemHandle handle, unsigned flags) {
  WAITS;
  IN_CONTEXT;
  CHECK;
  Shared *s = find_opened(&handle);
  if (flags != CT_CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS || (s != NULL && s->n_opened == 0)) {
    return 201;
  }
  if (s == NULL) {
    s = unused_shared();
    s->handle = handle;
    s->bytes = (size_t)strtoul(handle.bytes, NULL, 10);
    s->at = map_file(strchr(handle.bytes, '/'), s->bytes, 0);
    if (s->at == MAP_FAILED) {
      s->at = NULL;
      return CT_CUDA_ERROR_INVALID_VALUE;
    }
  }
  s->n_opened++;
  fake.live_opened++;
  note_ipc("open", s);
  *p = (CuDevicePtr)(uintptr_t)s->at;
  return CT_CUDA_SUCCESS;
}

CuResult cuIpcCloseMemHandle(CuDevicePtr p) {
  WAITS;
  IN_CONTEXT;
  Shared *s = find_shared(p);
  if (s == NULL || s->n_opened == 0) {
    return CT_CUDA_ERROR_INVALID_VALUE;
  }
  note_ipc("close", s);
  fake.live_opened--;
  if (s->n_opened == 1) {
    munmap(s->at, s->bytes);
    s->at = NULL;
  }
  s->n_opened--;
  return CT_CUDA_SUCCESS;
}

static CuResult release(CuDevicePtr p) {
  Shared *s = find_shared(p);
  if (s != NULL) {
    unmap(s);
    fake.live_buffers--;
    return CT_CUDA_SUCCESS;
  }
  free_block((void *)(uintptr_t)p);
  fake.live_buffers--;
  return CT_CUDA_SUCCESS;
}

#ifndef WITHOUT_CUMEMALLOC
CuResult cuMemAlloc_v2(CuDevicePtr *p, size_t bytes) {
  WAITS;
  IN_CONTEXT;
  SAFE;
  fake.n_plain_allocs++;
  return bytes < SHARED_BYTES ? allocate(p, bytes) : allocate_shared(p, bytes);
}
#endif

CuResult cuMemFree_v2(CuDevicePtr p) {
  WAITS;
  IN_CONTEXT;
  SAFE;
  return release(p);
}

#ifndef WITHOUT_POOLS
CuResult cuMemAllocFromPoolAsync(CuDevicePtr *p, size_t bytes, CuMemPool pool, CuStream s) {
  (void)pool;
  use_stream(s);
  IN_CONTEXT;
  NOT_CAPTURED(s);
  fake.n_pool_allocs++;
  return allocate(p, bytes);
}
#endif

/* What a stream that hangs may still use goes with the library. */
CuResult cuMemFreeAsync(CuDevicePtr p, CuStream s) {
  use_stream(s);
  IN_CONTEXT;
  NOT_CAPTURED(s);
  if (is_hung()) {
    fake.live_buffers--;
    return CT_CUDA_SUCCESS;
  }
  return release(p);
}

CuResult cuMemPoolCreate(CuMemPool *pool, const CuMemPoolProps *props) {
  IN_CONTEXT;
  fake.live_pools++;
  *pool = (CuMemPool)(void *)&contexts[props->location_id];
  return props->alloc_type == 1 && props->location_type == 1 ? CT_CUDA_SUCCESS : 1;
}

CuResult cuMemPoolSetAccess(CuMemPool pool, const CuMemAccess *access, size_t n) {
  WAITS;
  IN_CONTEXT;
  fake.n_pool_access += (int)n;
  fake.accessor = access->location_id;
  bool is_other = pool != (CuMemPool)(void *)&contexts[access->location_id];
  return is_other && access->location_type == 1 && access->flags == 3 ? CT_CUDA_SUCCESS : 1;
}

/* The second time it says that there is access. */
CuResult cuCtxEnablePeerAccess(CuContext peer, unsigned flags) {
  WAITS;
  IN_CONTEXT;
  (void)peer;
  return fake.n_peers++ > 0 || flags != 0 ? CT_CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED
                                          : CT_CUDA_SUCCESS;
}

CuResult cuMemPoolDestroy(CuMemPool pool) {
  WAITS;
  (void)pool;
  fake.live_pools--;
  return CT_CUDA_SUCCESS;
}

CuResult cuMemPoolSetAttribute(CuMemPool pool, CuMemPoolAttribute a, void *value) {
  (void)pool;
  return a == CT_CU_MEMPOOL_ATTR_RELEASE_THRESHOLD && *(uint64_t *)value == UINT64_MAX
             ? CT_CUDA_SUCCESS
             : 1;
}

CuResult cuMemAllocHost_v2(void **p, size_t bytes) {
  WAITS;
  IN_CONTEXT;
  SAFE;
  *p = new_block(bytes);
  fake.live_host++;
  return CT_CUDA_SUCCESS;
}

CuResult cuMemFreeHost(void *p) {
  WAITS;
  IN_CONTEXT;
  SAFE;
  free_block(p);
  fake.live_host--;
  return CT_CUDA_SUCCESS;
}

/* FAKE_ORDER_LOG: a file that gets "1: k" for a launch on device 1, "1: after 0" for a wait. */
static void note_order(const char *what) {
  const char *path = getenv("FAKE_ORDER_LOG");
  FILE *f = path == NULL ? NULL : fopen(path, "a");
  if (f != NULL) {
    fprintf(f, "%d: %s\n", this_device(), what);
    fclose(f);
  }
}

/* FAKE_COPY_LOG=1: the same of copies from and to the host: "0: write 4", "0: read 65536". */
static void note_copy(const char *what, size_t bytes) {
  char text[48];
  if (getenv("FAKE_COPY_LOG") != NULL) {
    snprintf(text, sizeof text, "%s %zu", what, bytes);
    note_order(text);
  }
}

CuResult cuMemcpyHtoDAsync_v2(CuDevicePtr dst, const void *src, size_t bytes, CuStream s) {
  use_stream(s);
  SYNCHRONOUS;
  NOT_CAPTURED(s);
  memcpy((void *)(uintptr_t)dst, src, bytes);
  note_copy("write", bytes);
  return CT_CUDA_SUCCESS;
}

CuResult cuMemcpyDtoHAsync_v2(void *dst, CuDevicePtr src, size_t bytes, CuStream s) {
  use_stream(s);
  SYNCHRONOUS;
  WAITS_HERE;
  NOT_CAPTURED(s);
  memcpy(dst, (const void *)(uintptr_t)src, bytes);
  note_copy("read", bytes);
  return CT_CUDA_SUCCESS;
}

CuResult cuMemcpyDtoDAsync_v2(CuDevicePtr dst, CuDevicePtr src, size_t bytes, CuStream s) {
  use_stream(s);
  SYNCHRONOUS;
  if (becomes_node(s, 'C')) {
    return CT_CUDA_SUCCESS;
  }
  memcpy((void *)(uintptr_t)dst, (const void *)(uintptr_t)src, bytes);
  return CT_CUDA_SUCCESS;
}

CuResult cuMemsetD8Async(CuDevicePtr dst, unsigned char byte, size_t bytes, CuStream s) {
  fake.n_sets++;
  use_stream(s);
  SYNCHRONOUS;
  if (becomes_node(s, 'S')) {
    return CT_CUDA_SUCCESS;
  }
  memset((void *)(uintptr_t)dst, byte, bytes);
  return CT_CUDA_SUCCESS;
}

CuResult cuStreamCreate(CuStream *s, unsigned flags) {
  WAITS;
  IN_CONTEXT;
  *s = new_block(1);
  fake.live_streams++;
  return flags <= 1 ? CT_CUDA_SUCCESS : 1;
}

CuResult cuStreamDestroy_v2(CuStream s) {
  WAITS;
  IN_CONTEXT;
  NOT_CAPTURED(s);
  free_block(s);
  fake.live_streams--;
  return CT_CUDA_SUCCESS;
}

CuResult cuStreamSynchronize(CuStream s) {
  use_stream(s);
  fake.n_synchronizes++;
  SYNCHRONOUS;
  WAITS_HERE;
  NOT_CAPTURED(s);
  if (fake.hung != 0) { /* the real one would wait forever */
    abort();
  }
  return CT_CUDA_SUCCESS;
}

static CuResult query(void) { return fake.busy > 0 ? fake.busy--, 600 : fake.fault; }

CuResult cuStreamQuery(CuStream s) {
  use_stream(s);
  IN_CONTEXT;
  CHECK;
  NOT_CAPTURED(s);
  return is_hung() || asked_while_waiting(this_device()) ? 600 : query();
}

CuResult cuStreamWaitEvent(CuStream s, CuEvent e, unsigned flags) {
  char text[16];
  use_stream(s);
  IN_CONTEXT;
  if (e == NULL || flags != 0) {
    return 1;
  }
  struct Capture *of = *(char *)e == 'r' ? &captures[(unsigned char)((char *)e)[3]] : NULL;
  if (is_captured(s) && (of == NULL || of != capture_of(s))) {
    return CT_CUDA_ERROR_STREAM_CAPTURE_ISOLATION;
  }
  if (of != NULL && of->n > 0 && !is_captured(s) && of->n < 8) {
    of->streams[of->n++] = s;
  }
  becomes_node(s, 'W');
  snprintf(text, sizeof text, "after %d", ((char *)e)[1]);
  note_order(text);
  return CT_CUDA_SUCCESS;
}

CuResult cuEventCreate(CuEvent *e, unsigned flags) {
  IN_CONTEXT;
  *e = new_block(4); /* captured or hung, the device, no time, the capture */
  ((char *)*e)[2] = flags == CT_CU_EVENT_DISABLE_TIMING;
  fake.live_events++;
  return flags == CT_CU_EVENT_DEFAULT || flags == CT_CU_EVENT_DISABLE_TIMING ? CT_CUDA_SUCCESS : 1;
}

CuResult cuEventDestroy_v2(CuEvent e) {
  IN_CONTEXT;
  free_block(e);
  fake.live_events--;
  return CT_CUDA_SUCCESS;
}

CuResult cuEventRecord(CuEvent e, CuStream s) {
  use_stream(s);
  IN_CONTEXT;
  ((char *)e)[1] = (char)this_device();
  fake.n_timed += !((char *)e)[2];
  if (becomes_node(s, 'R')) {
    struct Capture *c = capture_of(s);
    *(char *)e = 'r'; /* of the capture */
    ((char *)e)[3] = (char)(c == NULL ? 0 : c - captures);
    return CT_CUDA_SUCCESS;
  }
  *(char *)e = is_hung() ? 'h' : is_waiting(this_device()) ? 'w' : 0;
  return CT_CUDA_SUCCESS;
}

CuResult cuEventSynchronize(CuEvent e) {
  (void)e;
  SYNCHRONOUS;
  WAITS_HERE;
  return CT_CUDA_SUCCESS;
}

CuResult cuEventQuery(CuEvent e) {
  IN_CONTEXT;
  fake.n_queries++;
  return (*(char *)e == 'h' && is_hung()) ||
                 (*(char *)e == 'w' && asked_while_waiting(((char *)e)[1]))
             ? 600
             : query();
}

CuResult cuEventElapsedTime(float *ms, CuEvent start, CuEvent stop) {
  IN_CONTEXT;
  *ms = 1.5F;
  return ((char *)start)[2] || ((char *)stop)[2] ? 400 : CT_CUDA_SUCCESS;
}

/* A module's image is a list of functions, each with its bytes of parameters: "add 20;empty 0;". A
   cubin of NVRTC has every function that it is asked for. */
struct CUmod_st {
  char image[256];
};

struct CUfunc_st {
  char name[64];
  size_t params_bytes;
};

static struct CUfunc_st functions[64];
static int n_functions;

CuResult cuModuleLoadDataEx(CuModule *m, const void *image, unsigned n, CuJitOption *options,
                            void **values) {
  WAITS;
  IN_CONTEXT;
  SAFE;
  if (((const char *)image)[0] == '!') {
    if (n == 2 && options[0] == CT_CU_JIT_ERROR_LOG_BUFFER) {
      snprintf(values[0], (size_t)(uintptr_t)values[1], "bad image\nsecond line");
    }
    return 200;
  }
  *m = new_block(sizeof **m);
  snprintf((*m)->image, sizeof(*m)->image, "%s", (const char *)image);
  fake.live_modules++;
  return CT_CUDA_SUCCESS;
}

CuResult cuModuleUnload(CuModule m) {
  WAITS;
  IN_CONTEXT;
  SAFE;
  free_block(m);
  fake.live_modules--;
  return CT_CUDA_SUCCESS;
}

/* All variables of all modules are one, of zeros at first. */
CuResult cuModuleGetGlobal_v2(CuDevicePtr *p, size_t *bytes, CuModule m, const char *name) {
  static char variable[1 << 20];
  (void)m;
  (void)name;
  IN_CONTEXT;
  *p = (CuDevicePtr)(uintptr_t)variable;
  *bytes = sizeof variable;
  return CT_CUDA_SUCCESS;
}

CuResult cuModuleGetFunction(CuFunction *f, CuModule m, const char *name) {
  IN_CONTEXT;
  size_t len = strlen(name);
  for (const char *s = m->image; s != NULL && *s != '\0'; s = strchr(s, ';') + 1) {
    bool is_cubin = s[0] == '\177';
    if (is_cubin || (strncmp(s, name, len) == 0 && s[len] == ' ')) {
      struct CUfunc_st *found = &functions[n_functions++ % 64];
      snprintf(found->name, sizeof found->name, "%s", name);
      found->params_bytes = is_cubin ? 0 : (size_t)strtoul(s + len, NULL, 10);
      *f = found;
      return CT_CUDA_SUCCESS;
    }
  }
  return 500;
}

/* A kernel "spill137" has 137 bytes of local memory. */
CuResult cuFuncGetAttribute(int *value, CuFunctionAttribute a, CuFunction f) {
  static const int values[] = {512, 1024, 16, 8, 40, 90, 90};
  const char *spill = strstr(f->name, "spill");
  IN_CONTEXT;
  *value = a < sizeof values / sizeof values[0] ? values[a] : 0;
  if (a == CT_CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES && spill != NULL) {
    *value = (int)strtol(spill + strlen("spill"), NULL, 10);
  }
  return CT_CUDA_SUCCESS;
}

CuResult cuFuncSetAttribute(CuFunction f, CuFunctionAttribute a, int value) {
  (void)f;
  IN_CONTEXT;
  if (a == CT_CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES) {
    fake.n_set_shared++;
    fake.last_set_shared = value;
  } else if (a == CT_CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED) {
    fake.n_large_cluster++;
  }
  return CT_CUDA_SUCCESS;
}

#ifndef WITHOUT_PARAM_INFO
CuResult cuFuncGetParamInfo(CuFunction f, size_t i, size_t *offset, size_t *bytes) {
  IN_CONTEXT;
  if (i > 0 || f->params_bytes == 0) {
    return 1;
  }
  *offset = 0;
  *bytes = f->params_bytes;
  return CT_CUDA_SUCCESS;
}
#endif

CuResult cuOccupancyMaxActiveBlocksPerMultiprocessor(int *n_blocks, CuFunction f, int n_threads,
                                                     size_t shared_bytes) {
  (void)f;
  (void)shared_bytes;
  IN_CONTEXT;
  *n_blocks = 2048 / n_threads;
  return CT_CUDA_SUCCESS;
}

static void note_attributes(const CuLaunchConfig *config) {
  memset(fake.cluster, 0, sizeof fake.cluster);
  fake.is_dependent = fake.is_cooperative = 0;
  for (unsigned i = 0; i < config->n_attributes; i++) {
    const CuLaunchAttribute *a = &config->attributes[i];
    if (a->id == CT_CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION) {
      memcpy(fake.cluster, a->value.cluster, sizeof fake.cluster);
    } else if (a->id == CT_CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION) {
      fake.is_dependent = a->value.is_dependent;
    } else if (a->id == CT_CU_LAUNCH_ATTRIBUTE_COOPERATIVE) {
      fake.is_cooperative = a->value.is_cooperative;
    }
  }
}

CuResult cuOccupancyMaxActiveClusters(int *n_clusters, CuFunction f, const CuLaunchConfig *config) {
  (void)f;
  IN_CONTEXT;
  memcpy(fake.grid, config->grid, sizeof fake.grid);
  note_attributes(config);
  *n_clusters = 3;
  return CT_CUDA_SUCCESS;
}

CuResult cuLaunchKernelEx(const CuLaunchConfig *config, CuFunction f, void **params, void **extra) {
  IN_CONTEXT;
  unsigned n = config->block[0] * config->block[1] * config->block[2];
  unsigned blocks = config->grid[0] * config->grid[1] * config->grid[2];
  if (n == 0 || n > 512 || blocks == 0 || (params != NULL && MAPS == 0)) {
    return 1;
  }
  fake.n_launches += !becomes_node(config->stream, 'L');
  note_order(f->name);
  if (meets(f->name) > 0 && !is_captured(config->stream)) {
    n_met[this_device()]++;
  } else if (meets(f->name) > 0 && capture_of(config->stream) != NULL) {
    capture_of(config->stream)->n_meets++;
  }
  memcpy(fake.grid, config->grid, sizeof fake.grid);
  memcpy(fake.block, config->block, sizeof fake.block);
  note_attributes(config);
  fake.shared_bytes = config->shared_bytes;
  fake.stream = config->stream;
  snprintf(fake.function, sizeof fake.function, "%s", f->name);
  fake.handle = f;
  fake.params_bytes = 0;
  if (extra != NULL) {
    if ((uintptr_t)extra[0] != 1 || (uintptr_t)extra[2] != 2 || extra[4] != NULL) {
      return 1;
    }
    fake.params_bytes = *(size_t *)extra[3];
    memcpy(fake.params, extra[1], fake.params_bytes);
  }
  return CT_CUDA_SUCCESS;
}

#if MAPS
CuResult cuTensorMapEncodeTiled(CuTensorMap *map, CuMapDtype dtype, uint32_t rank, void *address,
                                const uint64_t *extents, const uint64_t *strides,
                                const uint32_t *box, const uint32_t *steps,
                                CuMapInterleave interleave, CuMapSwizzle swizzle,
                                CuMapPromotion promotion, CuMapFill fill) {
  (void)address, (void)extents, (void)strides, (void)box, (void)steps;
  *map = (CuTensorMap){.words = {dtype, rank, interleave, swizzle, promotion, fill}};
  return CT_CUDA_SUCCESS;
}
#endif
