/* test_gpu_device.c: the device layer on a real GPU: kernels through NVRTC and the disk cache,
   memory, streams, events, launches and what they cost, cuBLAS, faults and the way back. Skipped
   where there is no device. */
#include <pthread.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "runtime/device/blas.h"
#include "runtime/device/dl.h"
#include "runtime/device/nvrtc.h"
#include "tests/c/loaded.h"
#include "tap.h"

static const char source[] =
    "extern \"C\" __global__ void saxpy(const float *x, float *y, float a, int n) {\n"
    "  int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
    "  if (i < n) { y[i] = a * x[i] + y[i]; }\n"
    "}\n"
    "extern \"C\" __global__ void empty0() {}\n"
    "extern \"C\" __global__ void empty8(float *a, float *b, float *c, float *d, int e, int f,\n"
    "                                  long long g, float h) {}\n"
    "extern \"C\" __global__ void reverse(const int *x, int *y, int n) {\n"
    "  extern __shared__ int s[];\n"
    "  for (int i = threadIdx.x; i < n; i += blockDim.x) { s[i] = x[i]; }\n"
    "  __syncthreads();\n"
    "  for (int i = threadIdx.x; i < n; i += blockDim.x) { y[i] = s[n - 1 - i]; }\n"
    "}\n"
    "extern \"C\" __global__ void spin(long long ns, int *out) {\n"
    "  long long start, now;\n"
    "  asm volatile(\"mov.u64 %0, %%globaltimer;\" : \"=l\"(start));\n"
    "  do { asm volatile(\"mov.u64 %0, %%globaltimer;\" : \"=l\"(now)); } while (now - start < ns);\n"
    "  out[0] += 1;\n"
    "}\n"
    "extern \"C\" __global__ void __launch_bounds__(256) narrow(int *p) { p[threadIdx.x] = 1; }\n"
    "extern \"C\" __global__ void wild(int *p) { p[0] = 1; }\n";

static const char cluster_source[] = "extern \"C\" __global__ void ranks(int *out) {\n"
                                     "  unsigned rank, n;\n"
                                     "  asm(\"mov.u32 %0, %%cluster_ctarank;\" : \"=r\"(rank));\n"
                                     "  asm(\"mov.u32 %0, %%cluster_nctarank;\" : \"=r\"(n));\n"
                                     "  out[blockIdx.x] = rank + 100 * n;\n"
                                     "}\n";

static CtErr err;
static volatile sig_atomic_t interrupt;

static int64_t now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* What went wrong belongs to the report; after most failures there is no point in going on. */
static bool good(CtStatus s, const char *what) {
  bool ok = OK(s == CT_OK, "%s", what);
  if (!ok) {
    tap_diag("%s", err.msg);
  }
  return ok;
}

static void need(CtStatus s, const char *what) {
  if (s != CT_OK) {
    OK(false, "%s", what);
    tap_diag("%s", err.msg);
    exit(done_testing());
  }
}

static CtModule *build(CtDevice *d, const char *text, const CtCache *cache, bool ptx,
                       bool *from_cache) {
  CtNvrtcOutput out;
  CtModule *m = NULL;
  CtNvrtcJob job = {.alloc = ct_alloc_std,
                    .source = text,
                    .name = "test",
                    .ptx = ptx,
                    .arch = ct_device_info(d)->arch};
  need(ct_nvrtc_build(&job, cache, &out, &err), "compiles");
  if (from_cache != NULL) {
    *from_cache = out.from_cache;
  }
  need(ct_module_new(d, out.image.s, &m, &err), "loads");
  ct_nvrtc_output_clear(&out);
  return m;
}

static CtFunction *find(CtModule *m, const char *name, int line) {
  CtFunction *f = NULL;
  need(ct_module_function(m, name, name, "gpu.lua", line, SIZE_MAX, &f, &err), name);
  return f;
}

static CtBuffer new_buffer(CtDevice *d, size_t bytes) {
  CtBuffer b;
  need(ct_buffer_new(d, bytes, ct_device_stream(d), &b, &err), "allocates");
  return b;
}

static CtLaunch launch_of(CtDevice *d, unsigned grid, unsigned block) {
  return (CtLaunch){.grid = {grid, 1, 1}, .block = {block, 1, 1}, .stream = ct_device_stream(d)};
}

static void report_device(const CtDevice *d) {
  const CtDeviceInfo *i = ct_device_info(d);
  tap_diag("%s, %s, %d SMs, %d MHz, %zu MiB, L2 %zu KiB, shared %zu/%zu/%zu, driver %d, pools %d",
           i->name, i->arch, i->n_sms, i->clock_khz / 1000, i->memory_bytes >> 20,
           i->l2_bytes >> 10, i->shared_block_bytes, i->shared_block_optin_bytes,
           i->shared_sm_bytes, i->driver_version, (int)i->has_pools);
  OK(i->sm >= 75 && i->n_sms > 0 && i->memory_bytes > 0 && i->l2_bytes > 0 && i->registers_sm > 0,
     "the device tells what it is");
  OK(strncmp(i->uuid, "GPU-", 4) == 0 && strlen(i->uuid) == 40, "uuid %s", i->uuid);
}

/* {====== Kernels ====== */

static void test_saxpy(CtDevice *d, CtModule *m) {
  enum { N = 1 << 20 };
  CtFunction *f = find(m, "saxpy", 3);
  CtBuffer x = new_buffer(d, N * sizeof(float)), y = new_buffer(d, N * sizeof(float));
  CtStream s = ct_device_stream(d);
  float *host = malloc(2 * N * sizeof *host);
  struct {
    CtDevPtr x, y;
    float a;
    int n;
  } params = {x.ptr, y.ptr, 1.7F, N};
  CtLaunch l = launch_of(d, (N + 255) / 256, 256);
  int n_wrong = 0;
  if (host == NULL) {
    return;
  }
  for (int i = 0; i < N; i++) {
    host[i] = (float)i * 0.37F;
    host[N + i] = (float)(N - i) * 0.11F;
  }
  need(ct_device_write(d, x.ptr, host, N * sizeof(float), s, &err), "writes");
  need(ct_device_write(d, y.ptr, host + N, N * sizeof(float), s, &err), "writes");
  good(ct_function_launch(f, &l, &params, 24, &err), "launches");
  float *back = malloc(N * sizeof *back);
  need(back == NULL ? ct_fail_nomem(&err)
                    : ct_device_read(d, back, y.ptr, N * sizeof(float), s, &err),
       "reads");
  for (int i = 0; i < N; i++) {
    float product = 1.7F * host[i];
    n_wrong += back[i] != product + host[N + i];
  }
  IS_INT(n_wrong, 0, "saxpy: the host's bits");
  OK(ct_function_info(f)->registers > 0 && ct_function_info(f)->local_bytes == 0, "no spills");
  int n_blocks = 0;
  good(ct_function_occupancy(f, 256, 0, &n_blocks, &err), "occupancy");
  OK(n_blocks >= 4, "%d blocks of 256 per SM", n_blocks);
  IS_INT(ct_function_launch(f, &l, &params, 16, &err), CT_EINVAL, "a short block of parameters");
  HAS_STR(err.msg, "launch: kernel 'saxpy' takes 24 bytes of parameters, got 16", "is refused");
  free(host);
  free(back);
  ct_buffer_free(d, &x, s);
  ct_buffer_free(d, &y, s);
}

static void test_ptx(CtDevice *d) {
  CtModule *m = build(d, source, NULL, true, NULL);
  OK(find(m, "saxpy", 1) != NULL, "the driver compiles PTX");
  ct_module_free(m);
}

static void test_shared(CtDevice *d, CtModule *m) {
  enum { N = 20000 }; /* 80000 bytes: more than a block has without asking */
  CtFunction *f = find(m, "reverse", 8);
  CtBuffer x = new_buffer(d, N * sizeof(int)), y = new_buffer(d, N * sizeof(int));
  CtStream s = ct_device_stream(d);
  static int host[N];
  struct {
    CtDevPtr x, y;
    int n;
  } params = {x.ptr, y.ptr, N};
  CtLaunch l = launch_of(d, 1, 512);
  l.shared_bytes = N * sizeof(int);
  bool right = true;
  for (int i = 0; i < N; i++) {
    host[i] = i;
  }
  need(ct_device_write(d, x.ptr, host, sizeof host, s, &err), "writes");
  good(ct_function_launch(f, &l, &params, 20, &err), "80000 bytes of shared memory");
  need(ct_device_read(d, host, y.ptr, sizeof host, s, &err), "reads");
  for (int i = 0; i < N; i++) {
    right = right && host[i] == N - 1 - i;
  }
  OK(right, "are all there");
  l.shared_bytes = 10 << 20;
  IS_INT(ct_function_launch(f, &l, &params, 20, &err), CT_EINVAL, "10 MiB are not");
  HAS_STR(err.msg, "launch: kernel 'reverse' needs 10485760 bytes of shared memory", "and why");
  ct_buffer_free(d, &x, s);
  ct_buffer_free(d, &y, s);
}

static void test_clusters(CtDevice *d) {
  enum { N = 32 };
  if (!ct_device_info(d)->has_clusters) {
    SKIP(2, "this device has no clusters");
    return;
  }
  CtModule *m = build(d, cluster_source, NULL, false, NULL);
  CtFunction *f = find(m, "ranks", 1);
  const unsigned sizes[] = {4, 16};
  for (size_t k = 0; k < CT_ARRAY_LEN(sizes); k++) {
    int host[N];
    bool right = true;
    unsigned size = sizes[k];
    CtBuffer out = new_buffer(d, sizeof host);
    CtLaunch l = launch_of(d, N, 32);
    l.cluster = (CtDim3){size, 1, 1};
    good(ct_function_launch(f, &l, &out.ptr, 8, &err), "launches clusters");
    need(ct_device_read(d, host, out.ptr, sizeof host, l.stream, &err), "reads");
    for (int i = 0; i < N; i++) {
      right = right && host[i] == i % (int)size + 100 * (int)size;
    }
    OK(right, "of %u blocks", size);
    ct_buffer_free(d, &out, l.stream);
  }
  ct_module_free(m);
}

static void test_refused(CtDevice *d, CtModule *m) {
  CtFunction *f = find(m, "narrow", 21);
  CtDevPtr p = 0;
  CtLaunch l = launch_of(d, 0, 32);
  need(ct_function_launch(f, &l, &p, 8, &err), "an empty grid");
  need(ct_stream_synchronize(d, l.stream, &err), "runs nothing");
  l = launch_of(d, 1, 512);
  IS_INT(ct_function_launch(f, &l, &p, 8, &err), CT_EDEVICE, "a block over the launch bounds");
  HAS_STR(err.msg, "; this kernel can have at most 256 threads per block", "is refused");
  tap_diag("%s", err.msg);
  OK(ct_device_synchronize(d, &err) == CT_OK, "and nothing is lost");
}

/* {====== Memory, streams, events ====== */

static void test_memory(CtDevice *d) {
  CtStream s = ct_device_stream(d);
  CtBuffer b;
  bool fine = true;
  int64_t start = now_ns();
  for (int i = 0; i < 1000; i++) {
    fine = fine && ct_buffer_new(d, (size_t)1 << 20, s, &b, &err) == CT_OK;
    ct_buffer_free(d, &b, s);
  }
  OK(fine, "a thousand allocations");
  tap_diag("allocate and free 1 MiB: %.2f us", (double)(now_ns() - start) / 1e6);
  IS_INT(ct_buffer_new(d, (size_t)1 << 50, s, &b, &err), CT_ENOMEM, "a petabyte");
  HAS_STR(err.msg, "CUDA_ERROR_OUT_OF_MEMORY (2): 1125899906842624 bytes on '", "is not there");
  OK(ct_device_synchronize(d, &err) == CT_OK, "and the device goes on");
}

static void test_streams(CtDevice *d, CtModule *m) {
  CtFunction *f = find(m, "spin", 14);
  CtStream main_stream = ct_device_stream(d), other = NULL;
  CtEvent start = NULL, stop = NULL;
  CtBuffer out = new_buffer(d, 4);
  struct {
    int64_t ns;
    CtDevPtr out;
  } params = {5000000, out.ptr};
  CtLaunch l = launch_of(d, 1, 1);
  double ms = 0;
  int value = 0;
  need(ct_stream_new(d, &other, &err), "a stream");
  need(ct_event_new(d, &start, &err), "an event");
  need(ct_event_new(d, &stop, &err), "another");
  need(ct_device_set(d, out.ptr, 0, 4, main_stream, &err), "clears");
  need(ct_event_record(d, start, main_stream, &err), "records");
  need(ct_function_launch(f, &l, &params, 16, &err), "spins for 5 ms");
  need(ct_event_record(d, stop, main_stream, &err), "records");
  need(ct_stream_wait(d, other, stop, &err), "the other stream waits");
  l.stream = other;
  need(ct_function_launch(f, &l, &params, 16, &err), "and spins too");
  need(ct_device_read(d, &value, out.ptr, 4, other, &err), "reads");
  IS_INT(value, 2, "in order");
  need(ct_event_synchronize(d, stop, &err), "waits");
  need(ct_event_elapsed(d, start, stop, &ms, &err), "elapsed");
  OK(ms >= 4.9 && ms < 50, "%.3f ms between the events", ms);
  ct_event_free(d, start);
  ct_event_free(d, stop);
  ct_stream_free(d, other);
  ct_buffer_free(d, &out, main_stream);
}

/* Bytes moved per second by the driver's own copy: the roof of every bandwidth bar. */
static void test_copy(CtDevice *d) {
  enum { REPS = 10 };
  size_t bytes = (size_t)1 << 30;
  CtStream s = ct_device_stream(d);
  CtEvent start = NULL, stop = NULL;
  CtBuffer a = new_buffer(d, bytes), b = new_buffer(d, bytes);
  double ms = 0;
  need(ct_event_new(d, &start, &err), "an event");
  need(ct_event_new(d, &stop, &err), "another");
  need(ct_device_copy(d, b.ptr, a.ptr, bytes, s, &err), "warms up");
  need(ct_event_record(d, start, s, &err), "records");
  for (int i = 0; i < REPS; i++) {
    need(ct_device_copy(d, b.ptr, a.ptr, bytes, s, &err), "copies");
  }
  need(ct_event_record(d, stop, s, &err), "records");
  need(ct_event_synchronize(d, stop, &err), "waits");
  need(ct_event_elapsed(d, start, stop, &ms, &err), "elapsed");
  OK(ms > 0, "device copy: %.0f GB/s", 2.0 * REPS * (double)bytes / ms / 1e6);
  ct_event_free(d, start);
  ct_event_free(d, stop);
  ct_buffer_free(d, &a, s);
  ct_buffer_free(d, &b, s);
}

/* {====== What a launch costs ====== */

enum { LAUNCHES = 10000, ROUNDS = 7 };

typedef struct Raw {
  const CtCuda *cu;
  CuFunction function;
  CuLaunchConfig config;
  unsigned char params[64];
  size_t params_bytes;
  void *pointers[8];
} Raw;

typedef void Launches(void *ud);

static void raw_pointers(void *ud) {
  Raw *r = ud;
  for (int i = 0; i < LAUNCHES; i++) {
    (void)r->cu->cuLaunchKernelEx(&r->config, r->function, r->pointers, NULL);
  }
}

static void raw_packed(void *ud) {
  Raw *r = ud;
  void *extra[] = {(void *)(uintptr_t)1, r->params, (void *)(uintptr_t)2, &r->params_bytes, NULL};
  for (int i = 0; i < LAUNCHES; i++) {
    (void)r->cu->cuLaunchKernelEx(&r->config, r->function, NULL,
                                  r->params_bytes == 0 ? NULL : extra);
  }
}

typedef struct Ours {
  CtFunction *function;
  CtLaunch launch;
  const void *params;
  size_t params_bytes;
  int n_failed;
} Ours;

static void ours(void *ud) {
  Ours *o = ud;
  for (int i = 0; i < LAUNCHES; i++) {
    o->n_failed +=
        ct_function_launch(o->function, &o->launch, o->params, o->params_bytes, NULL) != CT_OK;
  }
}

static int by_value(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/* Nanoseconds per launch of 10,000 back to back, the queue empty at the start. */
static double time_once(CtDevice *d, Launches *run, void *ud) {
  need(ct_device_synchronize(d, &err), "waits");
  int64_t start = now_ns();
  run(ud);
  return (double)(now_ns() - start) / LAUNCHES;
}

static double median(double *t) {
  qsort(t, ROUNDS, sizeof *t, by_value);
  return t[ROUNDS / 2];
}

static void test_launch_cost(CtDevice *d, const char *symbol, size_t params_bytes) {
  static const size_t offsets[] = {0, 8, 16, 24, 32, 36, 40, 48};
  Raw raw = {.params_bytes = params_bytes};
  CuModule module = NULL;
  CtModule *m = build(d, source, NULL, false, NULL);
  double t_pointers[ROUNDS], t_packed[ROUNDS], t_ours[ROUNDS];
  need(ct_dl_cuda(&raw.cu, &err), "driver");
  CtNvrtcOutput out;
  CtNvrtcJob job = {
      .alloc = ct_alloc_std, .source = source, .name = "test", .arch = ct_device_info(d)->arch};
  need(ct_nvrtc_compile(&job, &out, &err), "compiles");
  bool loaded = raw.cu->cuModuleLoadDataEx(&module, out.image.s, 0, NULL, NULL) == 0 &&
                raw.cu->cuModuleGetFunction(&raw.function, module, symbol) == 0;
  ct_nvrtc_output_clear(&out);
  if (!OK(loaded, "the same kernel, by hand")) {
    return;
  }
  raw.config =
      (CuLaunchConfig){.grid = {1, 1, 1}, .block = {32, 1, 1}, .stream = ct_device_stream(d)};
  for (size_t i = 0; i < CT_ARRAY_LEN(offsets); i++) {
    raw.pointers[i] = raw.params + offsets[i];
  }
  Ours mine = {find(m, symbol, 6), launch_of(d, 1, 32), raw.params, params_bytes, 0};
  for (int i = 0; i < ROUNDS; i++) {
    t_pointers[i] = time_once(d, raw_pointers, &raw);
    t_packed[i] = time_once(d, raw_packed, &raw);
    t_ours[i] = time_once(d, ours, &mine);
  }
  double base = median(t_pointers), packed = median(t_packed), our = median(t_ours);
  tap_diag("%s: cuLaunchKernelEx with pointers %.0f ns, packed %.0f ns, ct_function_launch %.0f ns",
           symbol, base, packed, our);
  IS_INT(mine.n_failed, 0, "%s: every launch went out", symbol);
  OK(our - base <= 300, "%s: %.0f ns over a C loop of cuLaunchKernelEx", symbol, our - base);
  need(ct_device_synchronize(d, &err), "waits");
  (void)raw.cu->cuModuleUnload(module);
  ct_module_free(m);
}

/* {====== Cache ====== */

/* In a process of its own: fills the cache. */
static int fill_cache(const CtCache *cache) {
  CtDevice *d;
  CtNvrtcId id;
  bool from_cache = true;
  CtDeviceOptions o = {.alloc = ct_alloc_std};
  if (ct_device_open(&o, &d, &err) != CT_OK || ct_nvrtc_identity(&id, &err) != CT_OK) {
    return 2;
  }
  CtModule *m = build(d, source, cache, false, &from_cache);
  ct_module_free(m);
  ct_device_close(d);
  return from_cache ? 1 : 0;
}

/* Before this process touches the driver, which does not survive a fork. */
static bool fill_in_child(const CtCache *cache) {
  int status = -1;
  pid_t pid = fork();
  if (pid == 0) {
    _exit(fill_cache(cache));
  }
  return pid > 0 && waitpid(pid, &status, 0) == pid && status == 0;
}

static void test_cache(CtDevice *d, const CtCache *cache) {
  bool from_cache = false;
  CtLaunch l = launch_of(d, 1, 32);
  need(ct_device_synchronize(d, &err), "waits");
  int64_t start = now_ns();
  CtModule *m = build(d, source, cache, false, &from_cache);
  CtFunction *f = find(m, "empty0", 5);
  CtStatus s = ct_function_launch(f, &l, NULL, 0, &err);
  double ms = (double)(now_ns() - start) / 1e6;
  good(s, "launches");
  CtNvrtcId id;
  OK(from_cache && ct_nvrtc_identity(&id, &err) == CT_OK && !is_loaded(id.path),
     "a cache hit loads no NVRTC");
  OK(ms <= 2.0, "%.3f ms from the cache to a launch", ms);
  need(ct_device_synchronize(d, &err), "waits");
  ct_module_free(m);
}

/* {====== cuBLAS ====== */

static void test_cublas(CtDevice *d) {
  enum { M = 64, N = 48, K = 32 };
  CtCublas *b = NULL;
  CtStream s = ct_device_stream(d);
  float A[M * K], B[N * K], C[M * N];
  bool right = true;
  if (ct_cublas_new(d, &b, &err) == CT_EMISSING) {
    SKIP(2, err.msg);
    return;
  }
  CtBuffer dA = new_buffer(d, sizeof A), dB = new_buffer(d, sizeof B), dC = new_buffer(d, sizeof C);
  CtGemm g = {.trans_b = true, .m = M, .n = N, .k = K, .lda = M, .ldb = N, .ldc = M, .alpha = 1};
  for (int i = 0; i < M * K; i++) {
    A[i] = (float)(i % 13 - 6);
  }
  for (int i = 0; i < N * K; i++) {
    B[i] = (float)(i % 7 - 3);
  }
  need(ct_device_write(d, dA.ptr, A, sizeof A, s, &err), "writes");
  need(ct_device_write(d, dB.ptr, B, sizeof B, s, &err), "writes");
  good(ct_cublas_gemm(b, &g, dA.ptr, dB.ptr, dC.ptr, s, &err), "cuBLAS multiplies");
  need(ct_device_read(d, C, dC.ptr, sizeof C, s, &err), "reads");
  for (int i = 0; i < M; i++) {
    for (int j = 0; j < N; j++) {
      float sum = 0;
      for (int k = 0; k < K; k++) {
        sum += A[i + k * M] * B[j + k * N];
      }
      right = right && C[i + j * M] == sum; /* small integers: exact */
    }
  }
  OK(right, "and is right");
  ct_buffer_free(d, &dA, s);
  ct_buffer_free(d, &dB, s);
  ct_buffer_free(d, &dC, s);
  ct_cublas_free(b);
}

/* {====== Interrupt, fault ====== */

static void *press_ctrl_c(void *ud) {
  const struct timespec nap = {0, 20 * 1000 * 1000};
  nanosleep(&nap, NULL);
  interrupt = 1;
  return ud;
}

static void test_interrupt(CtDevice *d, CtModule *m) {
  CtFunction *f = find(m, "spin", 14);
  CtBuffer out = new_buffer(d, 4);
  struct {
    int64_t ns;
    CtDevPtr out;
  } params = {300000000, out.ptr};
  CtLaunch l = launch_of(d, 1, 1);
  pthread_t thread;
  need(ct_function_launch(f, &l, &params, 16, &err), "spins for 300 ms");
  int64_t start = now_ns();
  bool started = pthread_create(&thread, NULL, press_ctrl_c, NULL) == 0;
  CtStatus s = ct_device_synchronize(d, &err);
  double ms = (double)(now_ns() - start) / 1e6;
  if (started) {
    pthread_join(thread, NULL);
  }
  IS_INT(s, CT_EINTERRUPTED, "an interrupt ends the wait");
  OK(ms < 150, "soon: after %.1f ms", ms);
  interrupt = 0;
  good(ct_device_synchronize(d, &err), "the kernel ends in peace");
  ct_buffer_free(d, &out, l.stream);
}

static void test_fault(CtDevice *d, CtModule *m) {
  CtFunction *f = find(m, "wild", 22);
  CtBuffer kept = new_buffer(d, 64), b;
  CtDevPtr nowhere = 16;
  CtLaunch l = launch_of(d, 1, 1);
  need(ct_device_synchronize(d, &err), "waits");
  good(ct_function_launch(f, &l, &nowhere, 8, &err), "a wild write is launched");
  IS_INT(ct_device_synchronize(d, &err), CT_EDEVICE, "and comes out of the wait");
  HAS_STR(err.msg,
          "CUDA_ERROR_ILLEGAL_ADDRESS (700): kernel 'wild' (gpu.lua:22); run 'cuttle "
          "check' to find the access",
          "with its kernel");
  tap_diag("%s", err.msg);
  OK(ct_buffer_new(d, 64, l.stream, &b, &err) == CT_EDEVICE, "nothing works then");
  HAS_STR(err.msg, "restart the program", "and the message says what to do");
  ct_buffer_free(d, &kept, NULL);
  ct_module_free(m);
}

int main(void) {
  char dir[] = "/tmp/cuttle-test-XXXXXX", command[64];
  CtCache cache = {.cap_bytes = 1 << 24};
  CtDevice *d = NULL;
  CtDeviceOptions o = {.alloc = ct_alloc_std, .interrupt = &interrupt};
  CtNvrtcId id;
  if (mkdtemp(dir) == NULL) {
    return skip_all("no folder for the cache");
  }
  snprintf(cache.dir, sizeof cache.dir, "%s", dir);
  bool filled = fill_in_child(&cache);
  if (ct_device_open(&o, &d, &err) != CT_OK || ct_nvrtc_identity(&id, &err) != CT_OK) {
    (void)rmdir(dir);
    ct_device_close(d);
    return skip_all(err.msg);
  }
  OK(filled, "another process fills the cache");
  report_device(d);
  test_cache(d, &cache);
  CtModule *m = build(d, source, NULL, false, NULL);
  test_saxpy(d, m);
  test_ptx(d);
  test_shared(d, m);
  test_clusters(d);
  test_refused(d, m);
  test_memory(d);
  test_streams(d, m);
  test_copy(d);
  test_launch_cost(d, "empty0", 0);
  test_launch_cost(d, "empty8", 52);
  test_cublas(d);
  test_interrupt(d, m);
  test_fault(d, m);
  ct_device_close(d);
  snprintf(command, sizeof command, "rm -r %s", dir);
  IS_INT(system(command), 0, "cleaned up"); // NOLINT(cert-env33-c): a fixed command
  return done_testing();
}
