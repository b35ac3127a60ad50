/* test_device_ipc.c: memory of two processes on the driver that fake_cuda.h describes. tests/device/ipc.lua does the
   same with a real one. */
#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fake_device.h"
#include "runtime/device/storage.h"

static void fail_next(const char *entry, CuResult r) {
  snprintf(fake->fail_name, sizeof fake->fail_name, "%s", entry);
  fake->fail_result = r;
}

static void nothing_left(const char *what) {
  IS_INT(fake->live_buffers + fake->live_opened + fake->retained, 0, "%s: nothing is left", what);
}

/* {====== What is allocated ====== */

static void test_blocks(void) {
  CtDevice *d = open_fake();
  CtStream s = ct_device_stream(d), other = NULL;
  CtBuffer a = {0}, b = {0}, none = {0};
  fake->n_plain_allocs = 0;
  OK(ct_shared_new(d, 100, s, &a, &err) == CT_OK && a.bytes == 100, "allocates");
  OK(ct_shared_new(d, 0, s, &none, &err) == CT_OK && none.ptr == 0, "nothing");
  CtDevPtr first = a.ptr;
  ct_shared_free(d, &none, s);
  ct_shared_free(d, &a, s);
  OK(a.ptr == 0 && fake->live_buffers == 1, "keeps what is freed");
  OK(ct_shared_new(d, 2 << 20, s, &a, &err) == CT_OK && a.ptr == first, "for another one");
  OK(ct_shared_new(d, 100, s, &b, &err) == CT_OK && b.ptr != first, "which does not share it");
  OK(ct_stream_new(d, &other, &err) == CT_OK, "a stream");
  ct_shared_free(d, &b, other);
  OK(ct_shared_new(d, 100, s, &b, &err) == CT_OK, "what another stream used");
  IS_INT(fake->n_plain_allocs, 2, "is taken, too");
  ct_shared_free(d, &b, s);
  OK(ct_shared_new(d, 5 << 20, s, &b, &err) == CT_OK, "a larger one");
  IS_INT(fake->n_plain_allocs, 3, "is new");
  ct_device_close(d);
  nothing_left("blocks");
}

/* Out of memory: what is free goes back, but not what another process was told of. */
static void test_pressure(void) {
  CtDevice *d = open_fake();
  CtStream s = ct_device_stream(d);
  CtBuffer a, b, c;
  CtIpcHandle handle;
  uint64_t offset;
  OK(ct_shared_new(d, 1, s, &a, &err) == CT_OK && ct_shared_new(d, 1, s, &b, &err) == CT_OK,
     "two blocks");
  OK(ct_ipc_get(d, a.ptr, &handle, &offset, &err) == CT_OK, "one is shared");
  ct_shared_free(d, &a, s);
  ct_shared_free(d, &b, s);
  IS_INT(ct_shared_new(d, (size_t)2 << 30, s, &c, &err), CT_ENOMEM, "too much");
  IS_INT(fake->live_buffers, 1, "the one that is shared is kept");
  ct_device_close(d);
  nothing_left("pressure");
}

/* {====== Two processes ====== */

typedef struct Message {
  CtIpcHandle handle;
  uint64_t offset;
} Message;

/* The other process: adds 1 to what it finds. */
static int child(int from) {
  CtDevice *d = open_fake();
  Message m;
  CtStorage *x = NULL, *again = NULL;
  float v = 0;
  bool ok = read(from, &m, sizeof m) == (ssize_t)sizeof m;
  ok = ok && ct_storage_open(ct_alloc_std, d, &m.handle, m.offset, 4, "rank 0", &x, &err) == CT_OK;
  ok = ok && ct_storage_open(ct_alloc_std, d, &m.handle, 0, 4, "rank 0", &again, &err) == CT_OK;
  ok = ok && x->is_peer && ct_storage_read(x, 0, &v, 4, &err) == CT_OK && v == 41;
  v++;
  ok = ok && ct_storage_write(x, 0, &v, 4, &err) == CT_OK && fake->live_opened == 2;
  ct_storage_release(again);
  ct_storage_release(x);
  ok = ok && fake->live_opened == 0;
  ct_device_close(d);
  return ok ? 0 : 1;
}

static pid_t start(int pipes[2]) {
  if (pipe(pipes) != 0) {
    return -1;
  }
  pid_t pid = fork();
  if (pid == 0) {
    _exit(child(pipes[0]));
  }
  return pid;
}

static void test_processes(void) {
  int pipes[2], status = -1;
  pid_t pid = start(pipes);
  CtDevice *d = open_fake();
  CtStorage *x = NULL;
  Message m = {.offset = 0};
  float v = 41;
  OK(ct_storage_new_shared(ct_alloc_std, d, 256, &x, &err) == CT_OK && x->is_shared, "allocates");
  OK(ct_storage_ipc(x, &m.handle, &m.offset, &err) == CT_OK && m.offset == 0, "a handle");
  OK(ct_ipc_get(d, x->buf.ptr + 8, &m.handle, &m.offset, &err) == CT_OK && m.offset == 8,
     "of a place inside");
  OK(ct_storage_write(x, 8, &v, 4, &err) == CT_OK, "writes");
  OK(write(pipes[1], &m, sizeof m) == (ssize_t)sizeof m, "tells the other process");
  OK(waitpid(pid, &status, 0) == pid && status == 0, "which reads it, writes and closes it");
  OK(ct_storage_read(x, 8, &v, 4, &err) == CT_OK && v == 42, "what it wrote is here");
  ct_storage_release(x);
  ct_device_close(d);
  nothing_left("processes");
}

/* {====== What cannot be ====== */

static void test_failures(void) {
  CtDevice *d = open_fake();
  CtStorage *x = NULL, *pooled = NULL, *opened = NULL;
  CtIpcHandle handle;
  uint64_t offset;
  OK(ct_storage_new_shared(ct_alloc_std, d, 4, &x, &err) == CT_OK &&
         ct_storage_new(ct_alloc_std, d, 4, &pooled, &err) == CT_OK,
     "two tensors");
  IS_INT(ct_storage_ipc(pooled, &handle, &offset, &err), CT_EUNSUPPORTED, "memory of a pool");
  IS_STR(err.msg,
         "it is in memory private to this process; use a part of a sharded tensor, as "
         "m:zeros(dtype, shape, spec) makes it",
         "memory of a pool: message");
  fail_next("cuIpcGetMemHandle", 1);
  IS_INT(ct_storage_ipc(x, &handle, &offset, &err), CT_EUNSUPPORTED, "the driver has no handle");
  IS_STR(err.msg,
         "the driver does not share its memory with other processes (CUDA_ERROR_INVALID_VALUE); "
         "memory of cudaMalloc can be shared, and parts of sharded tensors",
         "no handle: message");
  OK(ct_storage_ipc(x, &handle, &offset, &err) == CT_OK, "a handle");
  fail_next("cuIpcOpenMemHandle_v2", CT_CUDA_ERROR_PEER_ACCESS_UNSUPPORTED);
  IS_INT(ct_storage_open(ct_alloc_std, d, &handle, 0, 4, "rank 3", &opened, &err), CT_EUNSUPPORTED,
         "no way to the device");
  IS_STR(
      err.msg,
      "peer_tensor: kernels of cuda:0 cannot reach the memory of rank 3, because the hardware does not "
      "connect them directly; use collectives, such as r:all_gather(src, dst)",
      "no way: message");
  IS_INT(ct_storage_open(ct_alloc_std, d, &handle, 0, 4, "rank 3", &opened, &err), CT_EUNSUPPORTED,
         "memory of this process");
  IS_STR(err.msg,
         "peer_tensor: cuda:0 cannot open the memory of rank 3 (cuIpcOpenMemHandle: "
         "CUDA_ERROR_INVALID_CONTEXT); processes that share memory need one container, and devices "
         "that both see",
         "memory of this process: message");
  ct_storage_release(x);
  ct_storage_release(pooled);
  ct_device_close(d);
  nothing_left("failures");
}

int main(void) {
  fake = load_fake(__FILE__, temp_dir);
  if (fake == NULL) {
    return skip_all("no C compiler to build a driver for the test");
  }
  test_blocks();
  test_pressure();
  test_processes();
  test_failures();
  remove_fake(temp_dir);
  return done_testing();
}
