/* device.c: a CUDA device: opening it, its memory, streams and events, waiting, and what happens
   after a fault. */
#include "device_priv.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "runtime/base/fork.h"

/* Errors after which a context can do nothing more, and what to do about each. */
typedef struct Sticky {
  CuResult result;
  const char *advice;
} Sticky;

#define FIND_ACCESS "run 'cuttle check' to find the access"
#define FIND_CAUSE "run 'cuttle check' to find the cause"

static const Sticky sticky[] = {
    {CT_CUDA_ERROR_ILLEGAL_ADDRESS, FIND_ACCESS},
    {CT_CUDA_ERROR_MISALIGNED_ADDRESS, FIND_ACCESS},
    {CT_CUDA_ERROR_INVALID_ADDRESS_SPACE, FIND_ACCESS},
    {CT_CUDA_ERROR_LAUNCH_FAILED, FIND_CAUSE},
    {CT_CUDA_ERROR_ILLEGAL_INSTRUCTION, FIND_CAUSE},
    {CT_CUDA_ERROR_INVALID_PC, FIND_CAUSE},
    {CT_CUDA_ERROR_HARDWARE_STACK_ERROR, FIND_CAUSE},
    {CT_CUDA_ERROR_ASSERT, "the kernel's own assertion failed"},
    {CT_CUDA_ERROR_LAUNCH_TIMEOUT, "the kernel ran longer than the system allows"},
    {CT_CUDA_ERROR_TENSOR_MEMORY_LEAK, "the kernel must free its tensor memory"},
    {CT_CUDA_ERROR_CONTEXT_IS_DESTROYED, "the host destroyed the context"},
    {CT_CUDA_ERROR_ECC_UNCORRECTABLE, "the device's memory is faulty"},
    {CT_CUDA_ERROR_NVLINK_UNCORRECTABLE, "the link between devices is faulty"},
    {CT_CUDA_ERROR_CONTAINED, "the device had a fault"},
};

/* {====== Errors ====== */

static const Sticky *find_sticky(CuResult r) {
  for (size_t i = 0; i < CT_ARRAY_LEN(sticky); i++) {
    if (sticky[i].result == r) {
      return &sticky[i];
    }
  }
  return NULL;
}

static const char *result_name(const CtCuda *cu, CuResult r) {
  const char *name = NULL;
  return cu->cuGetErrorName(r, &name) == CT_CUDA_SUCCESS && name != NULL ? name : "unknown error";
}

/* Appends to a text of fixed size; what does not fit is cut. */
CT_PRINTF(3, 4) static void append(char *out, size_t cap, const char *fmt, ...) {
  size_t len = strlen(out);
  va_list args;
  va_start(args, fmt);
  vsnprintf(out + len, cap - len, fmt, args);
  va_end(args);
}

static void append_label(char *out, size_t cap, const CtLabel *l) {
  append(out, cap, "'%s'", l->name);
  if (l->chunk[0] != '\0') {
    append(out, cap, " (%s:%d)", l->chunk, l->line);
  }
}

/* Lists the labels of launches that may still run, the newest first, each once. */
static size_t find_suspects(const CtDevice *d, const CtLabel *found[CT_RING_LEN]) {
  size_t n = 0;
  for (unsigned back = 1; back <= CT_RING_LEN; back++) {
    const CtLabel *l = d->ring[(d->n_launched - back) % CT_RING_LEN].label;
    bool known = l == NULL;
    for (size_t i = 0; i < n && !known; i++) {
      known = found[i] == l;
    }
    if (!known) {
      found[n++] = l;
    }
  }
  return n;
}

/* "kernel 'a' (f.lua:3)", or "one of the kernels 'a' (f.lua:3), 'b' (f.lua:9)". */
size_t ct_device_suspects(const CtDevice *d, char *out, size_t cap) {
  const CtLabel *found[CT_RING_LEN];
  size_t n = find_suspects(d, found);
  out[0] = '\0';
  if (n == 0) {
    return 0;
  }
  append(out, cap, n == 1 ? "kernel " : "one of the kernels ");
  for (size_t i = 0; i < n; i++) {
    append(out, cap, i == 0 ? "" : ", ");
    append_label(out, cap, found[i]);
  }
  if (d->n_pending > CT_RING_LEN) {
    append(out, cap, " or one launched before");
  }
  return n;
}

static CtStatus fail_sticky(CtDevice *d, const char *call, const Sticky *s, CtErr *err) {
  char suspects[400];
  if (ct_device_suspects(d, suspects, sizeof suspects) == 0) {
    append(suspects, sizeof suspects, "no kernel launched here since the last wait");
  }
  d->lost = true;
  snprintf(d->lost_msg, sizeof d->lost_msg, "%s: %s (%u): %s", call, result_name(d->cu, s->result),
           s->result, suspects);
  if (s->result != CT_CUDA_ERROR_CONTEXT_IS_DESTROYED) { /* which took the logs' memory */
    ct_device_print_lost(d);
  }
  return ct_fail(err, CT_EDEVICE, "%s; %s", d->lost_msg, s->advice);
}

/* What a user can do about errors of captures. */
static const Sticky captures[] = {
    {CT_CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED,
     "a stream is being captured for a graph; do this before the capture or after it"},
    {CT_CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, "an error before this one ended the capture"},
    {CT_CUDA_ERROR_STREAM_CAPTURE_ISOLATION,
     "the event was recorded before the graph, which begins after all that was launched before it; "
     "leave the wait out, or record the event in the graph"},
    {CT_CUDA_ERROR_STREAM_CAPTURE_IMPLICIT,
     "a stream is being captured for a graph, and the legacy default stream waits for it; use "
     "another stream"},
    {CT_CUDA_ERROR_CAPTURED_EVENT,
     "the event was recorded in a graph, where it orders streams and has no time; record it before "
     "and after the graph's launch"},
};

static const char *capture_advice(CuResult r) {
  for (size_t i = 0; i < CT_ARRAY_LEN(captures); i++) {
    if (captures[i].result == r) {
      return captures[i].advice;
    }
  }
  return NULL;
}

static CtStatus fail_call(CtDevice *d, const char *call, CuResult r, CtErr *err,
                          const char *details) {
  const Sticky *s = find_sticky(r);
  if (s != NULL) {
    return fail_sticky(d, call, s, err);
  }
  const char *advice = capture_advice(r);
  if (advice != NULL) {
    return ct_fail(err, CT_EDEVICE, "%s: %s (%u): %s", call, result_name(d->cu, r), r, advice);
  }
  CtStatus status = r == CT_CUDA_ERROR_OUT_OF_MEMORY ? CT_ENOMEM : CT_EDEVICE;
  return ct_fail(err, status, "%s: %s (%u)%s%s", call, result_name(d->cu, r), r,
                 details[0] == '\0' ? "" : ": ", details);
}

CtStatus ct_device_fail(CtDevice *d, const char *call, CuResult r, CtErr *err, const char *fmt,
                        ...) {
  char details[400];
  va_list args;
  va_start(args, fmt);
  vsnprintf(details, sizeof details, fmt, args);
  va_end(args);
  return fail_call(d, call, r, err, details);
}

/* {====== The current context ====== */

static bool is_of_parent(const CtDevice *d) { return d->forks != ct_fork_count(); }

static CtStatus fail_lost(const CtDevice *d, CtErr *err) {
  if (is_of_parent(d)) {
    return ct_fail(err, CT_EDEVICE,
                   "device: '%s' was opened before this process was forked, and CUDA does not work "
                   "in the child; start processes with spawn",
                   d->info.name);
  }
  return ct_fail(err, CT_EDEVICE, "device: '%s' is lost since %s; restart the program",
                 d->info.name, d->lost_msg);
}

/* Makes the context current even when the device is lost. */
static CuResult make_current(CtDevice *d) {
  CuContext current = NULL;
  d->pushed = false;
  CuResult r = d->cu->cuCtxGetCurrent(&current);
  if (r != CT_CUDA_SUCCESS || current == d->context) {
    return r;
  }
  if (current == NULL) {
    return d->cu->cuCtxSetCurrent(d->context);
  }
  r = d->cu->cuCtxPushCurrent_v2(d->context);
  d->pushed = r == CT_CUDA_SUCCESS;
  return r;
}

void ct_device_owe(CtDevice *d, CtDeviceSettle settle, void *ud) {
  d->settle = settle;
  d->settle_ud = ud;
}

CtDeviceSettle ct_device_owed(const CtDevice *d, void **ud) {
  *ud = d->settle_ud;
  return d->settle;
}

CtStatus ct_device_settle(CtDevice *d, CtErr *err) {
  CtDeviceSettle settle = d->settle;
  d->settle = NULL; /* what it does enters the device */
  return settle == NULL ? CT_OK : settle(d->settle_ud, err);
}

bool ct_device_enter(CtDevice *d, CtErr *err) {
  if (d->lost || is_of_parent(d)) {
    return fail_lost(d, err) == CT_OK;
  }
  if (d->settle != NULL && ct_device_settle(d, err) != CT_OK) {
    return false;
  }
  CuResult r = make_current(d);
  return r == CT_CUDA_SUCCESS || fail_call(d, "cuCtxSetCurrent", r, err, "") == CT_OK;
}

/* A driver without captures needs nothing. */
bool ct_device_enter_aside(CtDevice *d, CtErr *err) {
  if (!ct_device_enter(d, err)) {
    return false;
  }
  d->mode = CT_CU_STREAM_CAPTURE_MODE_RELAXED;
  d->relaxed = d->cu->cuThreadExchangeStreamCaptureMode != NULL &&
               d->cu->cuThreadExchangeStreamCaptureMode(&d->mode) == CT_CUDA_SUCCESS;
  return true;
}

void ct_device_leave(CtDevice *d) {
  if (d->relaxed) {
    (void)d->cu->cuThreadExchangeStreamCaptureMode(&d->mode);
    d->relaxed = false;
  }
  if (d->pushed) {
    CuContext ours;
    (void)d->cu->cuCtxPopCurrent_v2(&ours);
    d->pushed = false;
  }
}

CtStatus ct_device_done(CtDevice *d, const char *call, CuResult r, CtErr *err, const char *fmt,
                        ...) {
  char details[400];
  ct_device_leave(d);
  if (r == CT_CUDA_SUCCESS) {
    return CT_OK;
  }
  va_list args;
  va_start(args, fmt);
  vsnprintf(details, sizeof details, fmt, args);
  va_end(args);
  return fail_call(d, call, r, err, details);
}

/* {====== Opening ====== */

static CtStatus fail_driver(const CtCuda *cu, const char *call, CuResult r, CtErr *err) {
  const char *text = NULL;
  (void)cu->cuGetErrorString(r, &text);
  return ct_fail(err, CT_EMISSING, "%s: %s (%u): %s", call, result_name(cu, r), r,
                 text == NULL ? "no device can be used" : text);
}

static CtStatus start_driver(const CtCuda **cu, CtErr *err) {
  CtStatus s = ct_dl_cuda(cu, err);
  if (s != CT_OK) {
    return s;
  }
  CuResult r = (*cu)->cuInit(0);
  return r == CT_CUDA_SUCCESS ? CT_OK : fail_driver(*cu, "cuInit", r, err);
}

static CtStatus count_devices(const CtCuda *cu, int *n, CtErr *err) {
  CuResult r = cu->cuDeviceGetCount(n);
  if (r != CT_CUDA_SUCCESS) {
    return fail_driver(cu, "cuDeviceGetCount", r, err);
  }
  return *n > 0 ? CT_OK : ct_fail(err, CT_EMISSING, "cuda driver: this machine has no CUDA device");
}

CtStatus ct_device_count(int *n, CtErr *err) {
  const CtCuda *cu;
  int count = 0;
  CtStatus s = start_driver(&cu, err);
  s = s == CT_OK ? count_devices(cu, &count, err) : s;
  if (s == CT_OK) {
    *n = count;
  }
  return s;
}

/* The attributes that fill a CtDeviceInfo. Those that a driver does not know stay 0. */
#define INT_ATTRIBUTES(X)                                                                          \
  X(n_sms, MULTIPROCESSOR_COUNT)                                                                   \
  X(clock_khz, CLOCK_RATE)                                                                         \
  X(memory_clock_khz, MEMORY_CLOCK_RATE)                                                           \
  X(memory_bus_bits, GLOBAL_MEMORY_BUS_WIDTH)                                                      \
  X(registers_sm, MAX_REGISTERS_PER_MULTIPROCESSOR)                                                \
  X(max_threads_block, MAX_THREADS_PER_BLOCK)                                                      \
  X(max_threads_sm, MAX_THREADS_PER_MULTIPROCESSOR)

#define SIZE_ATTRIBUTES(X)                                                                         \
  X(l2_bytes, L2_CACHE_SIZE)                                                                       \
  X(shared_block_bytes, MAX_SHARED_MEMORY_PER_BLOCK)                                               \
  X(shared_block_optin_bytes, MAX_SHARED_MEMORY_PER_BLOCK_OPTIN)                                   \
  X(shared_sm_bytes, MAX_SHARED_MEMORY_PER_MULTIPROCESSOR)

#define DIM_ATTRIBUTES(X)                                                                          \
  X(max_block.x, MAX_BLOCK_DIM_X)                                                                  \
  X(max_block.y, MAX_BLOCK_DIM_Y)                                                                  \
  X(max_block.z, MAX_BLOCK_DIM_Z)                                                                  \
  X(max_grid.x, MAX_GRID_DIM_X)                                                                    \
  X(max_grid.y, MAX_GRID_DIM_Y)                                                                    \
  X(max_grid.z, MAX_GRID_DIM_Z)

static int get_attribute(const CtDevice *d, CuDeviceAttribute a) {
  int value = 0;
  return d->cu->cuDeviceGetAttribute(&value, a, d->device) == CT_CUDA_SUCCESS ? value : 0;
}

static void read_attributes(const CtDevice *d, CtDeviceInfo *info) {
#define X(field, name) info->field = get_attribute(d, CT_CU_DEVICE_ATTRIBUTE_##name);
  INT_ATTRIBUTES(X)
#undef X
#define X(field, name) info->field = (size_t)get_attribute(d, CT_CU_DEVICE_ATTRIBUTE_##name);
  SIZE_ATTRIBUTES(X)
#undef X
#define X(field, name) info->field = (unsigned)get_attribute(d, CT_CU_DEVICE_ATTRIBUTE_##name);
  DIM_ATTRIBUTES(X)
#undef X
  info->has_pools = get_attribute(d, CT_CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED) != 0;
  info->has_clusters = get_attribute(d, CT_CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH) != 0;
  info->sm = get_attribute(d, CT_CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR) * 10 +
             get_attribute(d, CT_CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
}

/* As nvidia-smi prints it: GPU-8-4-4-4-12 hexadecimal digits. */
static void read_uuid(const CtDevice *d, CtDeviceInfo *info) {
  CuUuid uuid;
  if (d->cu->cuDeviceGetUuid_v2 == NULL ||
      d->cu->cuDeviceGetUuid_v2(&uuid, d->device) != CT_CUDA_SUCCESS) {
    return;
  }
  append(info->uuid, sizeof info->uuid, "GPU");
  for (int i = 0; i < 16; i++) {
    bool dash = i == 0 || i == 4 || i == 6 || i == 8 || i == 10;
    append(info->uuid, sizeof info->uuid, "%s%02x", dash ? "-" : "",
           (unsigned)(unsigned char)uuid.bytes[i]);
  }
}

static void read_info(CtDevice *d, int ordinal) {
  CtDeviceInfo *info = &d->info;
  *info = (CtDeviceInfo){.ordinal = ordinal, .driver_version = d->cu->version};
  if (d->cu->cuDeviceGetName(info->name, (int)sizeof info->name, d->device) != CT_CUDA_SUCCESS) {
    snprintf(info->name, sizeof info->name, "CUDA device %d", ordinal);
  }
  (void)d->cu->cuDeviceTotalMem_v2(&info->memory_bytes, d->device);
  read_attributes(d, info);
  read_uuid(d, info);
  /* From 9.0 on, the architecture's own instructions need the suffix. */
  snprintf(info->arch, sizeof info->arch, "sm_%d%s", info->sm, info->sm >= 90 ? "a" : "");
}

static CtStatus find_device(CtDevice *d, int ordinal, CtErr *err) {
  int n = 0;
  CtStatus s = count_devices(d->cu, &n, err);
  if (s != CT_OK) {
    return s;
  }
  if (ordinal < 0 || ordinal >= n) {
    return ct_fail(err, CT_EMISSING,
                   "device: there is no CUDA device %d; this machine has %d, counted from 0",
                   ordinal, n);
  }
  CuResult r = d->cu->cuDeviceGet(&d->device, ordinal);
  return r == CT_CUDA_SUCCESS ? CT_OK : fail_driver(d->cu, "cuDeviceGet", r, err);
}

static CtStatus retain_primary(CtDevice *d, CtErr *err) {
  CuResult r = d->cu->cuDevicePrimaryCtxRetain(&d->context, d->device);
  d->owns_context = r == CT_CUDA_SUCCESS;
  return d->owns_context ? CT_OK : fail_driver(d->cu, "cuDevicePrimaryCtxRetain", r, err);
}

static CtStatus borrow_context(CtDevice *d, CtContext context, CtErr *err) {
  d->context = context;
  return CT_CALL(d, err, cuCtxGetDevice, (&d->device), "%s", "the context that the host gave");
}

/* Our own pool, so that keeping memory for the next allocation does not change the host's. Without
   one, allocations are not stream-ordered. */
static void make_pool(CtDevice *d) {
  const CtCuda *cu = d->cu;
  uint64_t keep = UINT64_MAX;
  CuMemPoolProps props = {.alloc_type = CT_CU_MEM_ALLOCATION_TYPE_PINNED,
                          .location_type = CT_CU_MEM_LOCATION_TYPE_DEVICE,
                          .location_id = d->device};
  if (!d->info.has_pools || cu->cuMemPoolCreate == NULL || cu->cuMemPoolDestroy == NULL ||
      cu->cuMemPoolSetAttribute == NULL || cu->cuMemAllocFromPoolAsync == NULL ||
      cu->cuMemFreeAsync == NULL || cu->cuMemPoolCreate(&d->pool, &props) != CT_CUDA_SUCCESS) {
    d->pool = NULL;
  } else {
    (void)cu->cuMemPoolSetAttribute(d->pool, CT_CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &keep);
  }
  d->info.has_pools = d->pool != NULL;
}

/* A stream that keeps order with the legacy default stream: what the host enqueued there before a
   launch is seen by it. */
static CtStatus make_stream(CtDevice *d, CtErr *err) {
  CtStatus s = CT_CALL(d, err, cuStreamCreate, (&d->stream, CT_CU_STREAM_DEFAULT), "%s", "");
  d->owns_stream = s == CT_OK;
  return s;
}

/* Makes all that the device keeps in its context. */
static CtStatus fill_context(CtDevice *d, bool needs_stream, CtErr *err) {
  if (!ct_device_enter(d, err)) {
    return CT_EDEVICE;
  }
  make_pool(d);
  ct_device_leave(d);
  return needs_stream ? make_stream(d, err) : CT_OK;
}

static CtStatus find_context(CtDevice *d, const CtDeviceOptions *o, CtErr *err) {
  bool borrowed = o->context != NULL;
  CtStatus s = borrowed ? borrow_context(d, o->context, err) : find_device(d, o->ordinal, err);
  if (s != CT_OK) {
    return s;
  }
  read_info(d, borrowed ? d->device : o->ordinal);
  return borrowed ? CT_OK : retain_primary(d, err);
}

static CtStatus open_device(CtDevice *d, const CtDeviceOptions *o, CtErr *err) {
  CtStatus s = start_driver(&d->cu, err);
  s = s == CT_OK ? find_context(d, o, err) : s;
  if (s != CT_OK) {
    return s;
  }
  d->stream = o->stream;
  return fill_context(d, !o->use_stream, err);
}

CtStatus ct_device_open(const CtDeviceOptions *options, CtDevice **out, CtErr *err) {
  CtDevice *d = ct_alloc(options->alloc, sizeof *d);
  if (d == NULL) {
    return ct_fail_nomem(err);
  }
  *d = (CtDevice){.alloc = options->alloc,
                  .forks = ct_fork_count(),
                  .interrupt = options->interrupt,
                  .print = options->print,
                  .print_ud = options->print_ud,
                  .print_bytes = options->print_bytes};
  CtStatus s = open_device(d, options, err);
  if (s != CT_OK) {
    ct_device_close(d);
    return s;
  }
  *out = d;
  return CT_OK;
}

/* {====== Closing ====== */

void ct_device_abandon(CtDevice *d) {
  char suspects[400];
  bool was_lost = d->lost;
  d->lost = d->is_abandoned = true;
  if (was_lost) {
    return;
  }
  if (ct_device_suspects(d, suspects, sizeof suspects) == 0) {
    append(suspects, sizeof suspects, "its work");
  }
  snprintf(d->lost_msg, sizeof d->lost_msg, "nobody waits any longer for %s", suspects);
}

static void forget_launches(CtDevice *d) {
  ct_device_note_all_waited(d);
  ct_device_prune_labels(d);
}

bool ct_device_is_abandoned(const CtDevice *d) { return d->is_abandoned; }

/* A thread must not be left with a context that may be gone. */
static void drop_current(CtDevice *d) {
  if (!d->pushed && d->owns_context) {
    (void)d->cu->cuCtxSetCurrent(NULL);
  }
  ct_device_leave(d);
}

static void destroy_streams_of_graphs(CtDevice *d) {
  if (d->root != NULL) {
    (void)d->cu->cuEventDestroy_v2(d->root);
  }
  if (d->recording != NULL) {
    (void)d->cu->cuStreamDestroy_v2(d->recording);
  }
  if (d->aside != NULL) {
    (void)d->cu->cuStreamDestroy_v2(d->aside);
  }
}

static void release_context(CtDevice *d) {
  if (d->context != NULL && make_current(d) == CT_CUDA_SUCCESS) {
    if (d->pool != NULL) {
      (void)d->cu->cuMemPoolDestroy(d->pool);
    }
    for (size_t i = 0; i < d->n_shared; i++) {
      (void)d->cu->cuMemFree_v2(d->shared[i].block.ptr);
    }
    destroy_streams_of_graphs(d);
    for (size_t i = 0; i < d->streams.n; i++) {
      (void)d->cu->cuStreamDestroy_v2(d->streams.items[i]);
    }
    if (d->owns_stream) {
      (void)d->cu->cuStreamDestroy_v2(d->stream);
    }
    drop_current(d);
  }
  if (d->owns_context) {
    (void)d->cu->cuDevicePrimaryCtxRelease_v2(d->device);
  }
}

static void free_grid_words(CtDevice *d) {
  while (d->grid_words != NULL) {
    CtGridWord *w = d->grid_words;
    d->grid_words = w->next;
    ct_buffer_free(d, &w->word, w->stream);
    ct_free(d->alloc, w, sizeof *w);
  }
}

void ct_device_close(CtDevice *d) {
  if (d == NULL) {
    return;
  }
  ct_device_free_logs(d);
  free_grid_words(d);
  ct_device_free_limits(d);
  ct_device_free_captured(d);
  ct_device_free_deferred(d);
  if (d->cu != NULL && !d->is_abandoned && !is_of_parent(d)) {
    ct_device_free_kept(d);
    release_context(d);
  }
  forget_launches(d);
  ct_free(d->alloc, d->streams.items, d->streams.cap * sizeof *d->streams.items);
  ct_free(d->alloc, d->shared, d->cap_shared * sizeof *d->shared);
  ct_free(d->alloc, d->deferred, d->cap_deferred * sizeof *d->deferred);
  ct_free(d->alloc, d->captured, d->cap_captured * sizeof *d->captured);
  ct_free(d->alloc, d, sizeof *d);
}

/* {====== Questions ====== */

const CtDeviceInfo *ct_device_info(const CtDevice *d) { return &d->info; }
CtContext ct_device_context(const CtDevice *d) { return d->context; }
CtStream ct_device_stream(const CtDevice *d) { return d->stream; }
