/* test_device.c: the device layer on a driver in host memory that records what it is asked and fails
   when told to (fake_cuda.h): what reaches the driver, and what a user reads when it refuses.
   tests/device/test_gpu_device.c does the same with a real one. */
#include "runtime/device/storage.h"

#include <dlfcn.h>
#include <pthread.h>
#include <unistd.h>

#include "fake_device.h"

static CtFunction *load(CtDevice *d, const char *symbol, const char *chunk, int line,
                        CtModule **m) {
  CtFunction *f = NULL;
  if (!OK(ct_module_new(d, "add 20;empty 0;big 8;", m, &err) == CT_OK &&
              ct_module_function(*m, symbol, symbol, chunk, line, SIZE_MAX, &f, &err) == CT_OK,
          "loads '%s'", symbol)) {
    tap_diag("%s", err.msg);
    exit(done_testing());
  }
  return f;
}

static void nothing_left(const char *what) {
  IS_INT(fake->live_buffers + fake->live_streams + fake->live_events + fake->live_modules +
             fake->live_pools + fake->live_host + fake->retained,
         0, "%s: nothing is left in the driver", what);
}

/* The driver lets go of a context that a fault destroyed, and of all that was in it. */
static void lose_context(void) {
  fake->fault = 0;
  fake->live_buffers = fake->live_streams = fake->live_events = fake->live_modules = 0;
  fake->live_pools = fake->live_host = 0;
}

static void test_open(void) {
  int n = 0;
  OK(ct_device_count(&n, &err) == CT_OK && n == 2, "counts devices");
  CtDevice *d = open_with((CtDeviceOptions){.ordinal = 1});
  const CtDeviceInfo *info = ct_device_info(d);
  IS_STR(info->name, "Fake 1", "name");
  IS_STR(info->arch, "sm_90a", "architecture");
  IS_STR(info->uuid, "GPU-01122334-4556-6778-899a-abbccddeef00", "uuid");
  IS_INT(info->sm, 90, "compute capability");
  IS_INT(info->n_sms, 132, "SMs");
  IS_INT(info->shared_block_optin_bytes, 232448, "shared memory");
  IS_INT(info->max_grid.y, 65535, "grid limit");
  IS_INT(info->driver_version, 13000, "driver version");
  OK(info->has_pools && info->has_clusters, "pools and clusters");
  IS_INT(info->registers_sm, 0, "an attribute that the driver does not know is 0");
  OK(ct_device_stream(d) != NULL, "has a stream of its own");
  ct_device_close(d);
  nothing_left("open and close");
}

typedef struct OpenFailure {
  const char *entry;
  CuResult result;
  int ordinal;
  CtStatus status;
  const char *msg;
} OpenFailure;

static const OpenFailure open_failures[] = {
    {"cuInit", 100, 0, CT_EMISSING,
     "cuInit: CUDA_ERROR_NO_DEVICE (100): no CUDA-capable device is detected"},
    {"", 0, 2, CT_EMISSING,
     "device: there is no CUDA device 2; this machine has 2, counted from 0"},
    {"", 0, -1, CT_EMISSING,
     "device: there is no CUDA device -1; this machine has 2, counted from 0"},
    {"cuDevicePrimaryCtxRetain", 2, 0, CT_EMISSING,
     "cuDevicePrimaryCtxRetain: CUDA_ERROR_OUT_OF_MEMORY (2): some error"},
    {"cuStreamCreate", 1, 0, CT_EDEVICE, "cuStreamCreate: CUDA_ERROR_INVALID_VALUE (1)"},
};

static void fail_next(const char *entry, CuResult r) {
  snprintf(fake->fail_name, sizeof fake->fail_name, "%s", entry);
  fake->fail_result = r;
}

static void test_open_failures(void) {
  for (size_t i = 0; i < CT_ARRAY_LEN(open_failures); i++) {
    const OpenFailure *f = &open_failures[i];
    CtDevice *d = NULL;
    CtDeviceOptions o = {.alloc = ct_alloc_std, .ordinal = f->ordinal};
    fail_next(f->entry, f->result);
    IS_INT(ct_device_open(&o, &d, &err), f->status, "open fails: status");
    IS_STR(err.msg, f->msg, "open fails: message");
    OK(d == NULL, "open fails: no device");
    nothing_left("open fails");
  }
  int n = 7;
  fake->n_devices = 0;
  IS_INT(ct_device_count(&n, &err), CT_EMISSING, "no device: status");
  IS_STR(err.msg, "cuda driver: this machine has no CUDA device", "no device: message");
  IS_INT(n, 7, "no device: the result is untouched");
  fake->n_devices = 2;
}

static void test_peers(void) {
  CtDevice *a = open_fake(), *b = open_with((CtDeviceOptions){.ordinal = 1});
  fake->no_peers = 1;
  IS_INT(ct_device_reach(a, b, &err), CT_EUNSUPPORTED, "no way to another device: status");
  IS_STR(
      err.msg,
      "peer_tensor: kernels of cuda:0 cannot reach the memory of cuda:1, because the hardware does not "
      "connect them directly; use collectives, such as r:all_gather(src, dst)",
      "no way: message");
  fake->no_peers = 0;
  fail_next("cuDeviceCanAccessPeer", CT_CUDA_ERROR_INVALID_VALUE);
  IS_INT(ct_device_reach(a, b, &err), CT_EDEVICE, "the driver fails");
  OK(ct_device_reach(a, a, &err) == CT_OK && fake->n_peers == 0, "its own memory needs nothing");
  OK(ct_device_reach(a, b, &err) == CT_OK && fake->n_peers == 1, "reaches it");
  OK(fake->n_pool_access == 1 && fake->accessor == 0, "and the memory of its pool");
  OK(ct_device_reach(a, b, &err) == CT_OK && fake->n_peers == 1, "asks once");
  OK(ct_device_reach(b, a, &err) == CT_OK && fake->n_peers == 2 && fake->accessor == 1,
     "the way back, where the host gave access before");
  ct_device_close(a);
  ct_device_close(b);
  nothing_left("peers");
}

static void test_memory(void) {
  CtDevice *d = open_fake();
  CtStream s = ct_device_stream(d);
  CtBuffer a, b;
  char out[6] = "";
  fake->n_pool_allocs = 0;
  OK(ct_buffer_new(d, 6, s, &a, &err) == CT_OK && ct_buffer_new(d, 6, s, &b, &err) == CT_OK,
     "allocates");
  IS_INT(fake->n_pool_allocs, 2, "from the pool");
  OK(ct_device_write(d, a.ptr, "hello", 6, s, &err) == CT_OK, "writes");
  OK(ct_device_copy(d, b.ptr, a.ptr, 6, s, &err) == CT_OK, "copies");
  OK(ct_device_set(d, b.ptr, 'j', 1, s, &err) == CT_OK, "fills");
  OK(ct_device_read(d, out, b.ptr, 6, s, &err) == CT_OK, "reads");
  IS_STR(out, "jello", "what was written");
  CtBuffer none;
  OK(ct_buffer_new(d, 0, s, &none, &err) == CT_OK && none.ptr == 0, "an empty buffer");
  OK(ct_device_write(d, 0, NULL, 0, s, &err) == CT_OK, "writing nothing");
  ct_buffer_free(d, &none, s);
  ct_buffer_free(d, &a, s);
  ct_buffer_free(d, &b, s);
  ct_buffer_free(d, &b, s);
  IS_INT(fake->live_buffers, 0, "freed, once each");
  IS_INT(ct_buffer_new(d, (size_t)2 << 30, s, &a, &err), CT_ENOMEM, "too much: status");
  IS_STR(err.msg,
         "cuMemAllocFromPoolAsync: CUDA_ERROR_OUT_OF_MEMORY (2): 2147483648 bytes on "
         "'Fake 0'",
         "too much: message");
  void *host = NULL;
  OK(ct_device_host_new(d, 64, &host, &err) == CT_OK && host != NULL, "page-locked memory");
  ct_device_host_free(d, host);
  ct_device_host_free(d, NULL);
  ct_device_close(d);
  nothing_left("memory");
}

/* Writes through pages of a storage are done before anything else is asked of the device. */
static void test_kept(CtDevice *d, CtAlloc alloc) {
  CtStorage *s, *lent;
  uint64_t at;
  int32_t v = 7, back = 0;
  OK(ct_storage_new(alloc, d, 200000, &s, &err) == CT_OK && ct_storage_is_kept(s), "kept");
  OK(ct_storage_put(s, 131072, &v, 4, &err) == CT_OK, "an element");
  OK(ct_storage_get(s, 131072, &back, 4, &err) == CT_OK && back == 7, "it is there");
  OK(memcmp((void *)(uintptr_t)(s->buf.ptr + 131072), &v, 4) != 0, "not yet on the device");
  OK(ct_device_synchronize(d, &err) == CT_OK && s->mirror == NULL, "a call of the device");
  OK(memcmp((void *)(uintptr_t)(s->buf.ptr + 131072), &v, 4) == 0, "comes after it");
  OK(ct_storage_put(s, 0, &v, 4, &err) == CT_OK, "another");
  OK(ct_storage_address(s, &at, &err) == CT_OK && memcmp((void *)(uintptr_t)at, &v, 4) == 0,
     "whoever has the address sees it");
  OK(!ct_storage_is_kept(s), "and nothing is kept from then on");
  v = 8;
  OK(ct_storage_put(s, 4, &v, 4, &err) == CT_OK && ((int32_t *)(uintptr_t)at)[1] == 8, "at once");
  OK(ct_storage_wrap(alloc, d, (void *)(uintptr_t)at, 64, NULL, NULL, &lent, &err) == CT_OK &&
         !ct_storage_is_kept(lent),
     "lent memory is not kept");
  ((int32_t *)(uintptr_t)at)[1] = 9;
  OK(ct_storage_get(lent, 4, &back, 4, &err) == CT_OK && back == 9, "its owner may change it");
  ct_storage_release(lent);
  ct_storage_release(s);
}

/* Pages in turns: the one that was used last is found first, and two may want one place (64 MiB apart). */
static void test_pages(CtDevice *d) {
  static const size_t at[] = {0, 65532, 65536, 4, 1 << 26, 131072, 0, (1 << 26) + 65536, 65536};
  CtStorage *s;
  int32_t back = 0;
  bool right = ct_storage_new(ct_alloc_std, d, (1 << 26) + 70000, &s, &err) == CT_OK;
  for (int32_t i = 0; i < (int32_t)CT_ARRAY_LEN(at); i++) {
    right = right && ct_storage_put(s, at[i], &i, 4, &err) == CT_OK;
  }
  static const int32_t want[] = {6, 1, 8, 3, 4, 5, 6, 7, 8};
  for (size_t i = 0; i < CT_ARRAY_LEN(at); i++) {
    right = right && ct_storage_get(s, at[i], &back, 4, &err) == CT_OK && back == want[i];
  }
  OK(right, "elements on many pages, in turns");
  ct_storage_release(s);
}

static void test_elements(void) {
  CtDevice *d = open_fake();
  test_kept(d, ct_alloc_std);
  test_pages(d);
  ct_device_close(d);
  nothing_left("elements");
}

static void test_without_pools(void) {
  fake->has_pools = 0;
  CtDevice *d = open_fake();
  CtBuffer a;
  fake->n_plain_allocs = fake->n_synchronizes = 0;
  OK(!ct_device_info(d)->has_pools, "a device without pools");
  OK(ct_buffer_new(d, 16, ct_device_stream(d), &a, &err) == CT_OK, "allocates");
  IS_INT(fake->n_plain_allocs, 1, "at once");
  ct_buffer_free(d, &a, ct_device_stream(d));
  IS_INT(fake->n_synchronizes, 1, "the stream is waited for before its memory goes");
  ct_device_close(d);
  nothing_left("without pools");
  fake->has_pools = 1;
}

static void test_launch(void) {
  CtDevice *d = open_fake();
  CtModule *m;
  CtFunction *f = load(d, "add", "add.lua", 4, &m);
  const CtFunctionInfo *info = ct_function_info(f);
  struct {
    uint64_t x, y;
    int32_t n;
  } params = {11, 22, 33};
  CtLaunch l = {
      .grid = {7, 6, 5}, .block = {4, 3, 2}, .shared_bytes = 100, .stream = ct_device_stream(d)};
  IS_INT(info->registers, 40, "registers");
  IS_INT(info->shared_bytes, 1024, "static shared memory");
  IS_INT(info->local_bytes, 8, "local memory");
  IS_INT(info->max_threads, 512, "threads");
  OK(ct_function_launch(f, &l, &params, 20, &err) == CT_OK, "launches");
  IS_STR(fake->function, "add", "the function");
  OK(fake->grid[0] == 7 && fake->grid[1] == 6 && fake->grid[2] == 5, "the grid");
  OK(fake->block[0] == 4 && fake->block[1] == 3 && fake->block[2] == 2, "the block");
  OK(fake->cluster[0] == 0, "no cluster");
  IS_INT(fake->shared_bytes, 100, "dynamic shared memory");
  OK(fake->stream == ct_device_stream(d), "the stream");
  OK(fake->params_bytes == 20 && memcmp(fake->params, &params, 20) == 0, "the parameters");
  IS_INT(fake->n_set_shared, 0, "little shared memory needs no permission");
  l.cluster = (CtDim3){2, 1, 1};
  OK(ct_function_launch(f, &l, &params, 20, &err) == CT_OK && fake->cluster[0] == 2, "a cluster");
  IS_INT(fake->n_large_cluster, 0, "of a size that every device has");
  l.cluster = (CtDim3){16, 1, 1};
  OK(ct_function_launch(f, &l, &params, 20, &err) == CT_OK && fake->cluster[0] == 16,
     "a large one");
  OK(ct_function_launch(f, &l, &params, 20, &err) == CT_OK && fake->n_large_cluster == 1,
     "is permitted once");
  int n_clusters = 0;
  OK(ct_function_clusters(f, &l, &n_clusters, &err) == CT_OK && n_clusters == 3,
     "how many run at a time");
  OK(fake->cluster[0] == 16 && fake->grid[0] == 16, "of a grid of one cluster");
  l.cluster = (CtDim3){0, 0, 0};
  OK(!fake->is_dependent, "a launch waits for the one before");
  l.is_dependent = true;
  OK(ct_function_launch(f, &l, &params, 20, &err) == CT_OK && fake->is_dependent &&
         fake->cluster[0] == 0,
     "a dependent launch");
  l.is_dependent = false;
  l.shared_bytes = 200000;
  OK(ct_function_launch(f, &l, &params, 20, &err) == CT_OK && fake->last_set_shared == 200000,
     "much shared memory is permitted first");
  OK(ct_function_launch(f, &l, &params, 20, &err) == CT_OK && fake->n_set_shared == 1, "once");
  int n_blocks = 0;
  OK(ct_function_occupancy(f, 256, 0, &n_blocks, &err) == CT_OK && n_blocks == 8, "occupancy");
  ct_module_free(m);
  CtFunction *empty = load(d, "empty", NULL, 0, &m);
  l.shared_bytes = 0;
  OK(ct_function_launch(empty, &l, NULL, 0, &err) == CT_OK && fake->params_bytes == 0,
     "no parameters");
  ct_module_free(m);
  ct_device_close(d);
  nothing_left("launch");
}

/* 132 multiprocessors, each with 2048 threads; of clusters three run at a time. */
static void test_cooperative(void) {
  CtDevice *d = open_fake();
  CtModule *m;
  CtFunction *f = load(d, "empty", NULL, 0, &m);
  CtLaunch l = {.grid = {132, 8, 1}, .block = {256, 1, 1}, .is_cooperative = true};
  OK(ct_function_launch(f, &l, NULL, 0, &err) == CT_OK && fake->is_cooperative, "as many as fit");
  l.grid.y = 9;
  int n = fake->n_launches;
  IS_INT(ct_function_launch(f, &l, NULL, 0, &err), CT_EINVAL, "more: status");
  IS_STR(err.msg,
         "launch: a cooperative grid of 1188 blocks; 'Fake 0' runs at most 1056 blocks of kernel "
         "'empty' at once. Launch at most that many, and let each do several parts of the work",
         "more: message");
  IS_INT(fake->n_launches, n, "more: not launched");
  IS_INT(fake->n_pushes, fake->n_pops, "more: the thread has its own context again");
  l.grid = (CtDim3){6, 1, 1};
  l.cluster = (CtDim3){2, 1, 1};
  OK(ct_function_launch(f, &l, NULL, 0, &err) == CT_OK && fake->cluster[0] == 2, "three clusters");
  l.grid.x = 8;
  IS_INT(ct_function_launch(f, &l, NULL, 0, &err), CT_EINVAL, "four clusters");
  l = (CtLaunch){.grid = {132, 9, 1}, .block = {256, 1, 1}};
  OK(ct_function_launch(f, &l, NULL, 0, &err) == CT_OK && !fake->is_cooperative,
     "a launch that is not cooperative");
  ct_module_free(m);
  ct_device_close(d);
  nothing_left("cooperative launches");
}

/* Each stream has a word, which every launch finds at 0. */
static void test_grid_words(void) {
  CtDevice *d = open_fake();
  CtStream a = ct_device_stream(d), b;
  CtDevPtr word, again, other;
  OK(ct_stream_new(d, &b, &err) == CT_OK, "another stream");
  OK(ct_grid_word(d, a, &word, &err) == CT_OK, "a word");
  *(unsigned *)(uintptr_t)word = 0x80000003u;
  OK(ct_grid_word(d, a, &again, &err) == CT_OK && again == word, "the stream keeps its word");
  OK(ct_grid_clear(d, a, word, &err) == CT_OK, "which is cleared before each launch");
  IS_INT(*(unsigned *)(uintptr_t)word, 0, "it is 0 then");
  OK(ct_grid_word(d, b, &other, &err) == CT_OK && other != word, "another stream has another");
  ct_stream_free(d, b);
  ct_device_close(d);
  nothing_left("words of grids");
}

static void test_launch_failures(void) {
  CtDevice *d = open_fake();
  CtModule *m;
  CtFunction *f = load(d, "big", "big.lua", 9, &m);
  int64_t p = 0;
  CtLaunch good = {.grid = {1, 1, 1}, .block = {32, 1, 1}, .stream = ct_device_stream(d)}, l;
  l = good;
  l.grid.y = 70000;
  fail_next("cuLaunchKernelEx", CT_CUDA_ERROR_INVALID_VALUE);
  IS_INT(ct_function_launch(f, &l, &p, 8, &err), CT_EDEVICE, "a tall grid: status");
  IS_STR(err.msg,
         "cuLaunchKernelEx: CUDA_ERROR_INVALID_VALUE (1): grid (1,70000,1) block (32,1,1) "
         "shared 0 bytes, kernel 'big'; each extent of the grid must be 1 to "
         "(2147483647,65535,65535)",
         "a tall grid: message");
  l = good;
  l.block.z = 65;
  OK(ct_function_launch(f, &l, &p, 8, &err) == CT_EDEVICE, "deep block");
  HAS_STR(err.msg,
          "block (32,1,65) shared 0 bytes, kernel 'big'; each extent of the block must be "
          "1 to (1024,1024,64)",
          "deep block: message");
  l = good;
  l.block.x = 1024;
  OK(ct_function_launch(f, &l, &p, 8, &err) == CT_EDEVICE, "too many threads");
  HAS_STR(err.msg, "; this kernel can have at most 512 threads per block (40 registers each)",
          "too many threads: message");
  l = good;
  l.shared_bytes = 240000;
  IS_INT(ct_function_launch(f, &l, &p, 8, &err), CT_EINVAL, "too much shared memory: status");
  IS_STR(err.msg,
         "launch: kernel 'big' needs 241024 bytes of shared memory (1024 static, 240000 "
         "dynamic); 'Fake 0' has 232448 per block",
         "too much shared memory: message");
  IS_INT(ct_function_launch(f, &good, &p, 4, &err), CT_EINVAL, "short parameters: status");
  IS_STR(err.msg, "launch: kernel 'big' takes 8 bytes of parameters, got 4",
         "short parameters: message");
  CtFunction *none;
  OK(ct_module_function(m, "none", "none", NULL, 0, SIZE_MAX, &none, &err) == CT_EDEVICE,
     "no such function");
  IS_STR(err.msg, "cuModuleGetFunction: CUDA_ERROR_NOT_FOUND (500): 'none'", "message");
  CtModule *bad;
  OK(ct_module_new(d, "!", &bad, &err) == CT_EDEVICE, "an image that does not load");
  IS_STR(err.msg, "cuModuleLoadDataEx: CUDA_ERROR_INVALID_IMAGE (200): bad image", "message");
  OK(ct_device_synchronize(d, &err) == CT_OK, "none of these loses the device");
  ct_module_free(m);
  ct_device_close(d);
  nothing_left("launch failures");
}

/* All that may fail does so before anything is enqueued. */
static void test_prepare(void) {
  CtDevice *d = open_fake();
  CtModule *m;
  CtFunction *f = load(d, "big", "big.lua", 9, &m);
  CtLaunch l = {.grid = {1, 1, 1}, .block = {512, 1, 1}, .stream = ct_device_stream(d)};
  int before = fake->n_launches, set = fake->n_set_shared;
  l.shared_bytes = 100000;
  OK(ct_function_prepare(f, &l, 8, &err) == CT_OK && fake->n_set_shared == set + 1,
     "shared memory is asked for");
  OK(ct_function_prepare(f, &l, 8, &err) == CT_OK && fake->n_set_shared == set + 1, "once");
  l.is_cooperative = true;
  l.grid.x = 100000;
  IS_INT(ct_function_prepare(f, &l, 8, &err), CT_EINVAL, "a grid that does not fit");
  IS_INT(fake->n_launches, before, "nothing was launched");
  ct_module_free(m);
  ct_device_close(d);
  nothing_left("prepared launches");
}

static void launch_ok(CtFunction *f, CtStream s) {
  CtLaunch l = {.grid = {1, 1, 1}, .block = {32, 1, 1}, .stream = s};
  if (ct_function_launch(f, &l, NULL, 0, &err) != CT_OK) {
    OK(false, "launch: %s", err.msg);
  }
}

/* Kernels 'a', 'b' ... without parameters, one per script line. */
static CtFunction *make_kernel(CtModule *m, const char *name, int line) {
  CtFunction *f = NULL;
  if (ct_module_function(m, "k", name, "faults.lua", line, SIZE_MAX, &f, &err) != CT_OK) {
    OK(false, "kernel: %s", err.msg);
    exit(done_testing());
  }
  return f;
}

static void test_fault(void) {
  CtDevice *d = open_fake();
  CtStream s = ct_device_stream(d);
  CtModule *m;
  CtBuffer kept, made;
  CtEvent event = NULL;
  OK(ct_module_new(d, "k 0;", &m, &err) == CT_OK && ct_event_new(d, &event, &err) == CT_OK &&
         ct_buffer_new(d, 8, s, &kept, &err) == CT_OK,
     "a device in use");
  CtFunction *a = make_kernel(m, "a", 3), *b = make_kernel(m, "b", 8);
  launch_ok(a, s);
  OK(ct_stream_synchronize(d, s, &err) == CT_OK, "'a' is over");
  launch_ok(b, s);
  fake->fault = 700;
  IS_INT(ct_stream_synchronize(d, s, &err), CT_EDEVICE, "a fault comes out of the wait");
  IS_STR(err.msg,
         "cuStreamSynchronize: CUDA_ERROR_ILLEGAL_ADDRESS (700): kernel 'b' "
         "(faults.lua:8); run 'cuttle check' to find the access",
         "and names the only suspect");
  IS_INT(ct_buffer_new(d, 8, s, &made, &err), CT_EDEVICE, "nothing works then");
  IS_STR(err.msg,
         "device: 'Fake 0' is lost since cuStreamSynchronize: CUDA_ERROR_ILLEGAL_ADDRESS "
         "(700): kernel 'b' (faults.lua:8); restart the program",
         "and says why");
  CtLaunch l = {.grid = {1, 1, 1}, .block = {1, 1, 1}, .stream = s};
  OK(ct_function_launch(a, &l, NULL, 0, &err) == CT_EDEVICE, "no launch either");

  ct_buffer_free(d, &kept, s);
  ct_event_free(d, event);
  ct_module_free(m);
  IS_INT(fake->live_buffers, 1, "freeing what is lost does not reach the driver");
  ct_device_close(d);
  lose_context();
  d = open_fake();
  OK(ct_buffer_new(d, 8, ct_device_stream(d), &made, &err) == CT_OK,
     "where a driver gives a new context, life goes on");
  ct_buffer_free(d, &made, ct_device_stream(d));
  ct_device_close(d);
  nothing_left("fault");
}

/* A module of the lost device is freed, and another device opened in a new context. */
static CtDevice *reopen(CtDevice *d, CtModule *m) {
  ct_module_free(m);
  ct_device_close(d);
  lose_context();
  return open_fake();
}

static void test_suspects(void) {
  CtDevice *d = open_fake();
  CtStream s = ct_device_stream(d), other = NULL;
  CtModule *m = NULL, *m2 = NULL;
  OK(ct_module_new(d, "k 0;", &m, &err) == CT_OK && ct_module_new(d, "k 0;", &m2, &err) == CT_OK &&
         ct_stream_new(d, &other, &err) == CT_OK,
     "two modules, two streams");
  CtFunction *a = make_kernel(m, "a", 3), *b = make_kernel(m2, "b", 8);
  launch_ok(a, s);
  launch_ok(b, other);
  launch_ok(a, s);
  ct_module_free(m2); /* the record still names its kernel */
  fake->fault = 700;
  char out[4];
  OK(ct_device_read(d, out, 64, 4, s, &err) == CT_EDEVICE, "a copy finds a fault too");
  IS_STR(err.msg,
         "cuMemcpyDtoHAsync_v2: CUDA_ERROR_ILLEGAL_ADDRESS (700): one of the kernels 'a' "
         "(faults.lua:3), 'b' (faults.lua:8); run 'cuttle check' to find the access",
         "and names all that may have done it");
  d = reopen(d, m);
  OK(ct_module_new(d, "k 0;", &m, &err) == CT_OK && ct_stream_new(d, &other, &err) == CT_OK,
     "again");
  a = make_kernel(m, "a", 3);
  b = make_kernel(m, "b", 8);
  s = ct_device_stream(d);
  launch_ok(a, s);
  launch_ok(b, other);
  OK(ct_stream_synchronize(d, other, &err) == CT_OK, "one stream is over");
  fake->fault = 710;
  OK(ct_device_synchronize(d, &err) == CT_EDEVICE, "an assertion");
  IS_STR(err.msg,
         "cuCtxSynchronize: CUDA_ERROR_ASSERT (710): kernel 'a' (faults.lua:3); "
         "the kernel's own assertion failed",
         "of the other");
  d = reopen(d, m);
  OK(ct_module_new(d, "k 0;", &m, &err) == CT_OK, "again");
  a = make_kernel(m, "a", 3);
  for (int i = 0; i < 20; i++) {
    launch_ok(a, ct_device_stream(d));
  }
  fake->fault = 700;
  OK(ct_device_synchronize(d, &err) == CT_EDEVICE, "more launches than the record holds");
  HAS_STR(err.msg, "kernel 'a' (faults.lua:3) or one launched before;", "are admitted");
  d = reopen(d, m);
  fake->fault = 700;
  OK(ct_device_synchronize(d, &err) == CT_EDEVICE, "a fault of nobody here");
  HAS_STR(err.msg, "(700): no kernel launched here since the last wait;", "is said to be one");
  ct_device_close(d);
  lose_context();
  nothing_left("suspects");
}

/* A failed assertion comes out of the next wait, once; the device goes on. */
static void test_assertions(void) {
  static const CtFaultSite sites[] = {{"first", "s.lua", 3}, {"second", "s.lua", 7}};
  CtDevice *d = open_fake();
  CtFault *f = NULL, *g = NULL;
  OK(ct_fault_new(d, sites, 2, &f, &err) == CT_OK && ct_fault_new(d, sites, 1, &g, &err) == CT_OK,
     "records of assertions");
  OK(ct_device_synchronize(d, &err) == CT_OK, "none has failed");
  int *record = (int *)(uintptr_t)ct_fault_address(f);
  const int failed[8] = {2, 5, 6, 7, 1, 2, 3, 1};
  memcpy(record, failed, sizeof failed);
  OK(ct_stream_synchronize(d, ct_device_stream(d), &err) == CT_EINVAL, "a wait tells of one");
  IS_STR(err.msg, "assert: second, by thread (5,6,7) of block (1,2,3)", "what it says");
  OK(strcmp(err.chunk, "s.lua") == 0 && err.line == 7, "where it was");
  OK(record[0] == 0 && record[7] == 0, "the record can be used again");
  OK(ct_device_synchronize(d, &err) == CT_OK, "it is told once");
  record[0] = 99;
  OK(ct_device_synchronize(d, &err) == CT_EINVAL, "a number that is none");
  ct_fault_free(f);
  ct_fault_free(g);
  ct_fault_free(NULL);
  ct_device_close(d);
  nothing_left("assertions");
}

static void test_streams_and_events(void) {
  CtDevice *d = open_fake();
  CtStream s = NULL;
  CtEvent start = NULL, stop = NULL;
  double ms = 0;
  OK(ct_stream_new(d, &s, &err) == CT_OK && ct_event_new(d, &start, &err) == CT_OK &&
         ct_event_new(d, &stop, &err) == CT_OK,
     "a stream and two events");
  OK(ct_event_record(d, start, s, &err) == CT_OK && ct_event_record(d, stop, s, &err) == CT_OK,
     "recorded");
  OK(ct_event_synchronize(d, stop, &err) == CT_OK &&
         ct_event_elapsed(d, start, stop, &ms, &err) == CT_OK && ms == 1.5,
     "elapsed time");
  OK(ct_stream_wait(d, ct_device_stream(d), stop, &err) == CT_OK, "one stream waits for another");
  ct_event_free(d, start);
  ct_event_free(d, stop);
  ct_stream_free(d, s);
  ct_device_close(d);
  nothing_left("streams and events");
}

/* Memory is freed in the order of the stream that used it last, also if that is closed by then. */
static void test_memory_outlives_its_stream(void) {
  CtDevice *d = open_fake();
  CtStream s = NULL, next = NULL;
  CtBuffer b = {0};
  OK(ct_stream_new(d, &s, &err) == CT_OK && ct_buffer_new(d, 16, s, &b, &err) == CT_OK,
     "memory of a stream");
  ct_stream_free(d, s);
  ct_buffer_free(d, &b, s);
  IS_INT(fake->n_dead_streams, 0, "freed by way of a stream that the driver still knows");
  OK(ct_stream_new(d, &next, &err) == CT_OK && next == s, "which is the next stream that is made");
  ct_stream_free(d, next);
  ct_stream_free(d, next);
  OK(ct_stream_new(d, &s, &err) == CT_OK && ct_stream_new(d, &next, &err) == CT_OK && s != next,
     "to free a stream twice frees it once");
  ct_device_close(d);
  nothing_left("streams that were closed");
}

static volatile sig_atomic_t interrupt;

static void test_interrupt(void) {
  CtDevice *d = open_with((CtDeviceOptions){.interrupt = &interrupt});
  CtStream s = ct_device_stream(d);
  fake->busy = 20;
  OK(ct_stream_synchronize(d, s, &err) == CT_OK && fake->busy == 0, "waits by asking");
  fake->busy = 1 << 30;
  interrupt = 1;
  IS_INT(ct_stream_synchronize(d, s, &err), CT_EINTERRUPTED, "an interrupt ends the wait");
  IS_STR(err.msg, "device: the wait was interrupted; what was enqueued may still run on cuda:0",
         "message");
  IS_INT(ct_device_synchronize(d, &err), CT_EINTERRUPTED, "that for the device too");
  interrupt = 0;
  fake->busy = 3;
  OK(ct_device_synchronize(d, &err) == CT_OK, "and the device is as it was");
  ct_device_close(d);
  nothing_left("interrupt");
}

/* The driver would wait for a kernel that never ends, whatever is freed. */
static void test_abandon(void) {
  CtDevice *d = open_with((CtDeviceOptions){.interrupt = &interrupt});
  CtModule *m;
  CtBuffer b;
  CtFunction *f = load(d, "empty", "a.lua", 3, &m);
  launch_ok(f, ct_device_stream(d));
  OK(ct_buffer_new(d, 16, ct_device_stream(d), &b, &err) == CT_OK, "memory");
  fake->busy = 1 << 30;
  interrupt = 1;
  IS_INT(ct_device_synchronize(d, &err), CT_EINTERRUPTED, "an interrupted wait");
  IS_STR(err.msg,
         "device: the wait was interrupted; kernel 'empty' (a.lua:3) may still run on cuda:0",
         "names the kernel");
  interrupt = fake->busy = 0;
  ct_device_abandon(d);
  IS_INT(ct_device_synchronize(d, &err), CT_EDEVICE, "nobody waits any more");
  ct_buffer_free(d, &b, ct_device_stream(d));
  ct_module_free(m);
  ct_device_close(d);
  OK(fake->live_buffers == 1 && fake->live_modules == 1 && fake->live_pools == 1 &&
         fake->live_streams == 1 && fake->retained == 1,
     "the driver keeps everything");
  fake->live_buffers = fake->live_modules = fake->live_pools = fake->live_streams = fake->retained =
      0;
}

static void *use_in_thread(void *ud) {
  CtDevice *d = ud;
  CtBuffer b;
  static const char text[] = "thread";
  char back[sizeof text] = "";
  CtErr e;
  bool good = ct_buffer_new(d, sizeof text, ct_device_stream(d), &b, &e) == CT_OK &&
              ct_device_write(d, b.ptr, text, sizeof text, ct_device_stream(d), &e) == CT_OK &&
              ct_device_read(d, back, b.ptr, sizeof text, ct_device_stream(d), &e) == CT_OK &&
              strcmp(back, text) == 0;
  ct_buffer_free(d, &b, ct_device_stream(d));
  return good ? d : NULL;
}

static void test_contexts(const CtCuda *cu) {
  CtDevice *d = open_fake(), *e = open_with((CtDeviceOptions){.ordinal = 1});
  CuContext current = NULL;
  CtBuffer b;
  OK(ct_device_synchronize(d, &err) == CT_OK, "a call");
  OK(cu->cuCtxGetCurrent(&current) == 0 && current == ct_device_context(d),
     "a thread without a context keeps the device's");
  fake->n_pushes = fake->n_pops = 0;
  OK(ct_buffer_new(e, 8, ct_device_stream(e), &b, &err) == CT_OK, "a call of another device");
  OK(cu->cuCtxGetCurrent(&current) == 0 && current == ct_device_context(d),
     "the context that was current is restored");
  OK(fake->n_pushes == 1 && fake->n_pops == 1, "pushed and popped");
  ct_buffer_free(e, &b, ct_device_stream(e));
  pthread_t thread;
  void *result = NULL;
  OK(pthread_create(&thread, NULL, use_in_thread, e) == 0 && pthread_join(thread, &result) == 0 &&
         result == e,
     "a device works from any thread");
  ct_device_close(e);
  OK(cu->cuCtxGetCurrent(&current) == 0 && current == ct_device_context(d),
     "closing one leaves the other current");
  ct_device_close(d);
  OK(cu->cuCtxGetCurrent(&current) == 0 && current == NULL, "a closed one is current nowhere");
  nothing_left("contexts");
}

static void test_borrowed(const CtCuda *cu) {
  CuContext host = NULL, current = NULL;
  CuStream stream = (CuStream)(void *)&host;
  if (!OK(cu->cuDevicePrimaryCtxRetain(&host, 1) == 0, "a context of the host's")) {
    return;
  }
  CtDevice *d = open_with((CtDeviceOptions){.context = host, .use_stream = true, .stream = stream});
  IS_STR(ct_device_info(d)->name, "Fake 1", "its device is found");
  OK(ct_device_stream(d) == stream && fake->live_streams == 0, "the host's stream is used");
  IS_INT(fake->retained, 1, "nothing more is retained");
  ct_device_close(d);
  IS_INT(fake->retained, 1, "and it outlives the device");
  (void)cu->cuCtxSetCurrent(NULL);
  (void)cu->cuCtxGetCurrent(&current);
  (void)cu->cuDevicePrimaryCtxRelease_v2(1);
  nothing_left("borrowed context");
}

/* Every allocation in turn fails: an error each time, and nothing leaks. */
typedef struct Budget {
  int left;
} Budget;

static void *alloc_budget(void *ud, void *ptr, size_t old_bytes, size_t new_bytes) {
  Budget *b = ud;
  if (new_bytes != 0 && b->left-- <= 0) {
    return NULL;
  }
  return ct_alloc_std.fn(ct_alloc_std.ud, ptr, old_bytes, new_bytes);
}

static CtStatus use_all(CtDeviceOptions o) {
  CtDevice *d;
  CtModule *m = NULL;
  CtFunction *f;
  CtStream s;
  CtEvent e;
  CtStatus status = ct_device_open(&o, &d, &err);
  if (status != CT_OK) {
    return status;
  }
  status = ct_module_new(d, "k 0;", &m, &err);
  status =
      status == CT_OK ? ct_module_function(m, "k", "k", "k.lua", 1, SIZE_MAX, &f, &err) : status;
  status = status == CT_OK ? ct_stream_new(d, &s, &err) : status;
  if (status == CT_OK) {
    status = ct_event_new(d, &e, &err);
    if (status == CT_OK) {
      ct_event_free(d, e);
    }
    ct_stream_free(d, s);
  }
  ct_module_free(m);
  ct_device_close(d);
  return status;
}

static void test_out_of_memory(void) {
  Budget budget;
  CtDeviceOptions o = {.alloc = {alloc_budget, &budget}};
  int n = 0;
  for (CtStatus s = CT_ENOMEM; s != CT_OK && n < 100; n++) {
    budget.left = n;
    s = use_all(o);
    if (s != CT_OK) {
      IS_INT(s, CT_ENOMEM, "allocation %d fails", n);
    }
  }
  OK(n > 4 && n < 20, "%d allocations in all", n - 1);
  nothing_left("out of memory");
}

/* The n-th allocation fails. Nothing is lost but what could not be kept. */
static void test_elements_out_of_memory(void) {
  CtDevice *d = open_fake();
  for (int n = 0; n < 3; n++) {
    Budget budget = {.left = 1 + n};
    CtStorage *s;
    int32_t v = 1;
    OK(ct_storage_new((CtAlloc){alloc_budget, &budget}, d, 64, &s, &err) == CT_OK, "memory");
    CtStatus status = ct_storage_put(s, 0, &v, 4, &err);
    IS_INT(status, n < 2 ? CT_ENOMEM : CT_OK, "%d allocations", n);
    OK(ct_device_synchronize(d, &err) == CT_OK, "the device works");
    ct_storage_release(s);
  }
  ct_device_close(d);
  nothing_left("elements out of memory");
}

int main(void) {
  fake = load_fake(__FILE__, temp_dir);
  if (fake == NULL) {
    return skip_all("no C compiler to build a driver for the test");
  }
  const CtCuda *cu = NULL;
  if (!OK(ct_dl_cuda(&cu, &err) == CT_OK, "the driver loads")) {
    return done_testing();
  }
  test_open();
  test_open_failures();
  test_peers();
  test_memory();
  test_elements();
  test_without_pools();
  test_launch();
  test_cooperative();
  test_grid_words();
  test_launch_failures();
  test_prepare();
  test_fault();
  test_assertions();
  test_suspects();
  test_streams_and_events();
  test_memory_outlives_its_stream();
  test_interrupt();
  test_abandon();
  test_contexts(cu);
  test_borrowed(cu);
  test_out_of_memory();
  test_elements_out_of_memory();
  remove_fake(temp_dir);
  return done_testing();
}
