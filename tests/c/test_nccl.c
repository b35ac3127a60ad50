/* test_nccl.c: collectives on a driver and an NCCL in host memory (fake_cuda.h, fake_nccl.h): what they compute, and
   what a user reads when a rank is missing, an error comes from elsewhere, or time is over. */
#include "runtime/device/nccl.h"

#include <dlfcn.h>
#include <unistd.h>

#include "fake_cuda.h"
#include "fake_nccl.h"
#include "interp/cuttle.h"
#include "runtime/base/clock.h"
#include "tap.h"

enum { N = 4 };
static FakeCuda *cuda;
static FakeNccl *nccl;
static CtErr err;
static volatile int interrupt;
static CtDevice *devices[2];
static int n_events; /* that devices keep */

static void *symbol_of(const char *path, const char *name) {
  void *lib = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  return lib == NULL ? NULL : dlsym(lib, name);
}

/* {====== Two devices, and a communicator over them ====== */

static bool blocks; /* communicators that are opened do */

typedef struct Pair {
  CtNccl *n;
  CtComm *comms[2];
  CtBuffer src[2], dst[2];
} Pair;

static CtStatus open_pair(Pair *p, CtAlloc alloc, int size) {
  CtNcclOptions o = {.alloc = alloc, .interrupt = &interrupt};
  const CtNcclMember members[2] = {{devices[0], 0, 0}, {devices[1], 1, 1}};
  CtNcclOpen open = {
      .what = "the first meeting", .size = size, .seconds = 0.1, .n = 2, .members = members};
  open.blocks = blocks;
  *p = (Pair){0};
  CtStatus s = ct_nccl_new(&o, &p->n, &err);
  return s == CT_OK ? ct_nccl_open(p->n, &open, p->comms, &err) : s;
}

static void open_good(Pair *p) {
  if (!OK(open_pair(p, ct_alloc_std, 2) == CT_OK, "opens")) {
    tap_diag("%s", err.msg);
    exit(done_testing());
  }
  for (int i = 0; i < 2; i++) {
    CtStream s = ct_device_stream(devices[i]);
    if (ct_buffer_new(devices[i], 2 * N * sizeof(float), s, &p->src[i], &err) != CT_OK ||
        ct_buffer_new(devices[i], 2 * N * sizeof(float), s, &p->dst[i], &err) != CT_OK) {
      exit(done_testing());
    }
  }
}

static void close_pair(Pair *p) {
  for (int i = 0; i < 2; i++) {
    ct_buffer_free(devices[i], &p->src[i], ct_device_stream(devices[i]));
    ct_buffer_free(devices[i], &p->dst[i], ct_device_stream(devices[i]));
  }
  ct_nccl_free(p->n);
  IS_INT(nccl->live, 0, "no communicator is left");
  IS_INT(nccl->n_open_groups, 0, "no group is open");
  IS_INT(cuda->live_events + cuda->live_buffers, n_events, "no event and no buffer is left");
  IS_INT(cuda->n_dead_streams, 0, "no stream was used after its end");
}

/* Rank i has i * 100 + 0, 1, 2, ...; nothing is where results go. */
static void fill(const Pair *p) {
  for (int i = 0; i < 2; i++) {
    float *src = (float *)(uintptr_t)p->src[i].ptr, *dst = (float *)(uintptr_t)p->dst[i].ptr;
    for (int k = 0; k < 2 * N; k++) {
      src[k] = (float)(i * 100 + k);
      dst[k] = -1;
    }
  }
}

static CtStatus run_as(const Pair *p, CtNcclOp op, CtReduce reduce, CtDtype dtype, int count,
                       double seconds) {
  CtNcclCall calls[2];
  for (int i = 0; i < 2; i++) {
    calls[i] = (CtNcclCall){.comm = p->comms[i],
                            .op = op,
                            .reduce = reduce,
                            .dtype = dtype,
                            .count = (uint64_t)count,
                            .src = p->src[i].ptr,
                            .dst = p->dst[i].ptr,
                            .peer = op == CT_SEND || op == CT_RECV ? 1 - i : 1,
                            .stream = ct_device_stream(devices[i])};
  }
  return ct_nccl_run(p->n, "all_reduce over 'data', x.lua:3", seconds, calls, 2, &err);
}

static CtStatus run(const Pair *p, double seconds) {
  return run_as(p, CT_ALL_REDUCE, CT_REDUCE_SUM, CT_f32, N, seconds);
}

/* {====== What they compute ====== */

/* Element k of rank i, after. */
typedef int Want(int i, int k);
static int want_sum(int i, int k) { return i * 0 + 100 + 2 * k; }
static int want_max(int i, int k) { return i * 0 + 100 + k; }
static int want_min(int i, int k) { return i * 0 + k; }
static int want_scatter(int i, int k) { return 100 + 2 * (i * N + k); }
static int want_gather(int i, int k) { return i * 0 + k / N * 100 + k % N; }
static int want_swap(int i, int k) { return k / N * 100 + i * N + k % N; }

static const struct {
  CtNcclOp op;
  CtReduce reduce;
  int n; /* elements that change */
  Want *want;
} ops[] = {
    {CT_ALL_REDUCE, CT_REDUCE_SUM, N, want_sum},
    {CT_ALL_REDUCE, CT_REDUCE_MAX, N, want_max},
    {CT_ALL_REDUCE, CT_REDUCE_MIN, N, want_min},
    {CT_REDUCE_SCATTER, CT_REDUCE_SUM, N, want_scatter},
    {CT_ALL_GATHER, CT_REDUCE_SUM, 2 * N, want_gather},
    {CT_ALL_TO_ALL, CT_REDUCE_SUM, 2 * N, want_swap},
    {CT_BROADCAST, CT_REDUCE_SUM, N, want_max},
};

static bool holds(const Pair *p, Want *want, int n) {
  bool good = true;
  for (int i = 0; i < 2; i++) {
    const float *dst = (const float *)(uintptr_t)p->dst[i].ptr;
    for (int k = 0; k < 2 * N; k++) {
      good = good && (int)dst[k] == (k < n ? want(i, k) : -1);
    }
  }
  return good;
}

static void test_ops(void) {
  Pair p;
  open_good(&p);
  OK(ct_comm_rank(p.comms[1]) == 1 && ct_comm_size(p.comms[1]) == 2 &&
         ct_comm_device(p.comms[1]) == devices[1] && ct_comm_is_open(p.comms[1]),
     "a communicator's rank, size and device");
  IS_INT(ct_nccl_version(p.n), 22809, "the version");
  IS_INT(cuda->n_pool_access, 2, "both devices may use the memory of the other");
  for (size_t i = 0; i < CT_ARRAY_LEN(ops); i++) {
    fill(&p);
    setenv("FAKE_NCCL_SLOW", i % 2 == 0 ? "0" : "7", 1);
    OK(run_as(&p, ops[i].op, ops[i].reduce, CT_f32, N, 5) == CT_OK &&
           ct_nccl_wait(p.n, &err) == CT_OK && holds(&p, ops[i].want, ops[i].n),
       "%s %d", ct_nccl_ops[ops[i].op], (int)ops[i].reduce);
  }
  unsetenv("FAKE_NCCL_SLOW");
  close_pair(&p);
  IS_INT(nccl->n_aborted, 0, "none was aborted");
}

/* What a call costs beside NCCL's: marks without times, which a device does not stop for, and no question to NCCL or
   to the driver. */
static void test_costs(void) {
  Pair p;
  int n = 0;
  blocks = true;
  open_good(&p);
  blocks = false;
  fill(&p);
  int n_timed = cuda->n_timed, n_asked = nccl->n_asked, n_queries = cuda->n_queries;
  while (n < 8 && run(&p, 5) == CT_OK) {
    n++;
  }
  IS_INT(n, 8, "calls that block the host");
  IS_INT(cuda->n_timed - n_timed, 0, "no mark carries a time");
  IS_INT(nccl->n_asked - n_asked, 0, "nobody asks NCCL whether they are enqueued");
  IS_INT(cuda->n_queries - n_queries, 0, "nor the driver whether they are done");
  OK(ct_nccl_wait(p.n, &err) == CT_OK && holds(&p, want_sum, N), "they are right");
  while (n < 1000 && run(&p, 5) == CT_OK) {
    n++;
  }
  OK(n == 1000 && cuda->n_queries - n_queries < 1000, "of 1000 calls few ask: %d questions",
     cuda->n_queries - n_queries);
  close_pair(&p);
}

/* One rank sends to itself and to the other. */
static void test_messages(void) {
  Pair p;
  open_good(&p);
  fill(&p);
  const CtNcclCall calls[] = {
      {.comm = p.comms[0],
       .op = CT_SEND,
       .dtype = CT_i16,
       .count = 4,
       .src = p.src[0].ptr,
       .peer = 1},
      {.comm = p.comms[0],
       .op = CT_SEND,
       .dtype = CT_f32,
       .count = 1,
       .src = p.src[0].ptr + 4,
       .peer = 1},
      {.comm = p.comms[1],
       .op = CT_RECV,
       .dtype = CT_i16,
       .count = 4,
       .dst = p.dst[1].ptr,
       .peer = 0},
      {.comm = p.comms[1],
       .op = CT_RECV,
       .dtype = CT_f32,
       .count = 1,
       .dst = p.dst[1].ptr + 8,
       .peer = 0},
  };
  const float *got = (const float *)(uintptr_t)p.dst[1].ptr;
  OK(ct_nccl_run(p.n, "messages", 5, calls, 4, &err) == CT_OK && (double)got[1] == 1 &&
         (double)got[2] == 1 && (double)got[3] == -1,
     "messages of one rank to another, in order, whatever their type");
  close_pair(&p);
}

static void test_split(void) {
  Pair p;
  CtComm *halves[2];
  open_good(&p);
  const CtNcclPart parts[2] = {{p.comms[0], 0, 0, 1}, {p.comms[1], 1, 0, 1}};
  setenv("FAKE_NCCL_SLOW", "3", 1);
  OK(ct_nccl_split(p.n, "the communicators of axis 'data'", 5, true, parts, 2, halves, &err) ==
         CT_OK,
     "splits");
  unsetenv("FAKE_NCCL_SLOW");
  OK(ct_comm_size(halves[1]) == 1 && ct_comm_rank(halves[1]) == 0, "into two of one rank");
  fill(&p);
  Pair half = p;
  memcpy(half.comms, halves, sizeof halves);
  OK(run(&half, 5) == CT_OK && (double)((float *)(uintptr_t)p.dst[1].ptr)[2] == 102,
     "in which a sum is what it was");
  close_pair(&p);
}

/* {====== Element types ====== */

static void test_dtypes(void) {
  Pair p;
  open_good(&p);
  int n_sums = 0;
  for (CtDtype t = (CtDtype)1; t < CT_DTYPE_COUNT; t++) {
    n_sums += run_as(&p, CT_ALL_REDUCE, CT_REDUCE_SUM, t, 1, 5) == CT_OK;
    OK(run_as(&p, CT_ALL_GATHER, CT_REDUCE_SUM, t, 1, 5) == CT_OK, "%s can be gathered",
       ct_dtypes[t].name);
  }
  IS_INT(n_sums, CT_DTYPE_COUNT - 1 - 9,
         "all but tf32, i16, u16, bool and five narrow floats are added");
  OK(run_as(&p, CT_ALL_REDUCE, CT_REDUCE_SUM, CT_i16, 1, 5) == CT_EUNSUPPORTED, "i16 is not");
  IS_STR(err.msg, "all_reduce: NCCL has no sum of i16; cast to i32 first",
         "and the message says so");
  OK(run_as(&p, CT_REDUCE_SCATTER, CT_REDUCE_SUM, CT_tf32, 1, 5) == CT_EUNSUPPORTED, "nor is tf32");
  IS_STR(err.msg, "reduce_scatter: NCCL has no sum of tf32; cast to f32 first", "and the message");
  OK(run_as(&p, CT_ALL_REDUCE, CT_REDUCE_MAX, CT_bool, 1, 5) == CT_OK, "bools have a maximum");
  OK(ct_comm_is_open(p.comms[0]), "bad types abort nothing");
  close_pair(&p);
}

/* {====== Failures ====== */

static int n_aborted_before;

static void begin_failure(Pair *p) {
  open_good(p);
  fill(p);
  n_aborted_before = nccl->n_aborted;
}

static void end_failure(Pair *p, const char *why) {
  IS_INT(nccl->n_aborted - n_aborted_before, 2, "both communicators were aborted");
  OK(!ct_comm_is_open(p->comms[0]), "and are not open");
  OK(run(p, 1) == CT_EDEVICE, "nor of use");
  HAS_STR(err.msg,
          "all_reduce: the communicators of this process were aborted since nccl: ", "who");
  HAS_STR(err.msg, why, "why");
  OK(ct_device_synchronize(devices[0], &err) == CT_OK, "the device is free");
  close_pair(p);
}

static void test_failed_call(void) {
  Pair p;
  begin_failure(&p);
  setenv("FAKE_NCCL_FAIL", "ncclAllReduce 5", 1);
  IS_INT(run(&p, 1), CT_EDEVICE, "a call fails");
  unsetenv("FAKE_NCCL_FAIL");
  IS_STR(err.msg,
         "nccl: rank 0: all_reduce over 'data', x.lua:3: invalid usage (5): the test wants "
         "ncclAllReduce to fail; the communicators of this process were aborted",
         "its message");
  end_failure(&p, "invalid usage (5)");
  begin_failure(&p);
  setenv("FAKE_NCCL_FAIL", "ncclGroupEnd 1", 1);
  IS_INT(run(&p, 1), CT_EDEVICE, "a group fails");
  unsetenv("FAKE_NCCL_FAIL");
  HAS_STR(err.msg, "nccl: all_reduce over 'data', x.lua:3: unhandled cuda error (1)",
          "its message");
  nccl->n_open_groups = 0;
  end_failure(&p, "unhandled cuda error (1)");
}

/* An error that comes while the host waits for the device. */
static void test_async(void) {
  Pair p;
  begin_failure(&p);
  setenv("FAKE_NCCL_MUTE", "1", 1);
  IS_INT(run(&p, 5), CT_OK, "enqueues");
  setenv("FAKE_NCCL_ASYNC", "6 1", 1);
  IS_INT(ct_device_synchronize(devices[0], &err), CT_EDEVICE, "the wait fails");
  unsetenv("FAKE_NCCL_ASYNC");
  unsetenv("FAKE_NCCL_MUTE");
  HAS_STR(err.msg,
          "all_reduce over 'data', x.lua:3: remote process exited or there was a network error (6)",
          "its message");
  end_failure(&p, "remote process exited");
}

typedef CtStatus Wait(const Pair *p);
static CtStatus wait_device(const Pair *p) {
  (void)p;
  return ct_device_synchronize(devices[1], &err);
}
static CtStatus wait_all(const Pair *p) { return ct_nccl_wait(p->n, &err); }
static CtStatus wait_read(const Pair *p) {
  float got;
  return ct_device_read(devices[0], &got, p->dst[0].ptr, sizeof got, ct_device_stream(devices[0]),
                        &err);
}

static void test_late(Wait *wait, const char *name) {
  Pair p;
  begin_failure(&p);
  setenv("FAKE_NCCL_MUTE", "1", 1);
  IS_INT(run(&p, 0.2), CT_OK, "enqueues");
  double begun = ct_now_ms();
  IS_INT(wait(&p), CT_EDEVICE, "%s ends", name);
  double passed = ct_now_ms() - begun;
  unsetenv("FAKE_NCCL_MUTE");
  OK(passed > 190 && passed < 2000, "at the limit: after %.0f ms", passed);
  HAS_STR(err.msg,
          " waited 0.2 s in all_reduce over 'data', x.lua:3; another rank may have ended, "
          "or be at another line; the communicators of this process were aborted",
          "its message");
  end_failure(&p, "waited 0.2 s");
}

/* A program that enqueues and never waits. The real driver would block it in the end. */
static void test_flood(void) {
  Pair p;
  CtModule *m = NULL;
  CtFunction *f = NULL;
  const CtLaunch launch = {
      .grid = {1, 1, 1}, .block = {1, 1, 1}, .stream = ct_device_stream(devices[0])};
  int n = 0;
  begin_failure(&p);
  setenv("FAKE_NCCL_MUTE", "1", 1);
  while (n < 1000 && run(&p, 0.2) == CT_OK) {
    n++;
  }
  OK(n > 16 && n < 200, "%d collectives are enqueued at most", n);
  HAS_STR(err.msg, " waited 0.2 s in all_reduce over 'data', x.lua:3; ", "then one waits");
  end_failure(&p, "waited 0.2 s");
  begin_failure(&p);
  OK(ct_module_new(devices[0], "empty 0;", &m, &err) == CT_OK &&
         ct_module_function(m, "empty", "empty", NULL, 0, SIZE_MAX, &f, &err) == CT_OK &&
         run(&p, 0.2) == CT_OK,
     "a collective that hangs");
  for (n = 0; n < 2000 && ct_function_launch(f, &launch, NULL, 0, &err) == CT_OK; n++) {}
  unsetenv("FAKE_NCCL_MUTE");
  OK(n > 100 && n < 600, "%d launches are enqueued after it at most", n);
  HAS_STR(err.msg, " waited 0.2 s in all_reduce over 'data', x.lua:3; ", "then one waits");
  ct_module_free(m);
  end_failure(&p, "waited 0.2 s");
}

static void test_interrupt(void) {
  Pair p;
  begin_failure(&p);
  setenv("FAKE_NCCL_MUTE", "1", 1);
  IS_INT(run(&p, 60), CT_OK, "enqueues");
  interrupt = 1;
  IS_INT(ct_nccl_wait(p.n, &err), CT_EINTERRUPTED, "an interrupt ends a wait");
  close_pair(&p);
  IS_INT(nccl->n_aborted - n_aborted_before, 2, "and closing, which aborts");
  interrupt = 0;
  unsetenv("FAKE_NCCL_MUTE");
  begin_failure(&p);
  setenv("FAKE_NCCL_SLOW", "1000000000", 1);
  interrupt = 1;
  IS_INT(run(&p, 60), CT_EINTERRUPTED, "it ends enqueueing");
  interrupt = 0;
  unsetenv("FAKE_NCCL_SLOW");
  end_failure(&p, "interrupted");
}

static void test_missing_rank(void) {
  Pair p;
  n_aborted_before = nccl->n_aborted;
  IS_INT(open_pair(&p, ct_alloc_std, 3), CT_EDEVICE, "a rank that does not come");
  IS_INT(nccl->n_aborted - n_aborted_before, 2, "both that came are aborted");
  HAS_STR(err.msg,
          "nccl: rank 0: the first meeting: the other ranks did not join it within 0.1 s; ",
          "the message");
  close_pair(&p);
}

/* What is enqueued comes to its end first; what does not end is aborted. */
static void test_close(void) {
  Pair p;
  begin_failure(&p);
  setenv("FAKE_NCCL_MUTE", "1", 1);
  IS_INT(run(&p, 0.1), CT_OK, "enqueues");
  close_pair(&p);
  IS_INT(nccl->n_aborted - n_aborted_before, 2, "closing waits up to the limit, then aborts");
  unsetenv("FAKE_NCCL_MUTE");
  open_good(&p);
  cuda->busy = 1000;
  for (int i = 0; i < 40; i++) {
    if (run(&p, 60) != CT_OK) {
      break;
    }
  }
  cuda->busy = 5;
  n_aborted_before = nccl->n_aborted;
  close_pair(&p);
  IS_INT(nccl->n_aborted - n_aborted_before, 0, "many collectives come to their end");
}

static void test_fault(void) {
  Pair p;
  open_good(&p);
  n_aborted_before = nccl->n_aborted;
  IS_INT(run(&p, 60), CT_OK, "enqueues");
  cuda->fault = 700;
  IS_INT(ct_nccl_wait(p.n, &err), CT_EDEVICE, "a kernel's fault ends the wait");
  HAS_STR(err.msg, "CUDA_ERROR_ILLEGAL_ADDRESS", "and is told");
  IS_INT(nccl->n_aborted - n_aborted_before, 2, "the other device does not wait for ever");
  cuda->fault = 0;
  cuda->live_events = cuda->live_buffers = 0; /* the driver lets go of the lost context */
  ct_nccl_free(p.n);
  IS_INT(nccl->live, 0, "no communicator is left");
}

static void test_graph(void) {
  Pair p;
  open_good(&p);
  OK(ct_graph_begin(devices[0], &err) == CT_OK, "records a graph");
  IS_INT(run(&p, 5), CT_EUNSUPPORTED, "a collective of two devices cannot be a part of it");
  HAS_STR(err.msg,
          "all_reduce: a graph of one device is being recorded, but the call is of several",
          "its message");
  ct_graph_drop(devices[0]);
  n_events = 1;
  IS_INT(run(&p, 5), CT_OK, "after it, it can be enqueued");
  close_pair(&p);
}

/* {====== Memory ====== */

static int n_allocs, fail_at;

static void *failing_alloc(void *ud, void *ptr, size_t old_bytes, size_t new_bytes) {
  if (new_bytes > 0 && ++n_allocs == fail_at) {
    return NULL;
  }
  return ct_alloc_std.fn(ud, ptr, old_bytes, new_bytes);
}

static CtStatus use_once(void) {
  Pair p;
  CtComm *made[2];
  CtStatus s = open_pair(&p, (CtAlloc){failing_alloc, NULL}, 2);
  const CtNcclPart parts[2] = {{p.comms[0], 0, 0, 2}, {p.comms[1], 0, 1, 2}};
  s = s == CT_OK ? run_as(&p, CT_ALL_REDUCE, CT_REDUCE_SUM, CT_f32, 0, 5) : s;
  s = s == CT_OK ? ct_nccl_split(p.n, "halves", 5, false, parts, 2, made, &err) : s;
  s = s == CT_OK ? ct_nccl_wait(p.n, &err) : s;
  ct_nccl_free(p.n);
  return s;
}

static void test_nomem(void) {
  int n = 1, n_bad = 0;
  for (fail_at = 1; fail_at < 100; fail_at++) {
    n_allocs = 0;
    CtStatus s = use_once();
    n_bad += (s != CT_OK && s != CT_ENOMEM) || nccl->live != 0 || cuda->live_events != n_events;
    n = fail_at;
    if (s == CT_OK && n_allocs < fail_at) {
      break;
    }
  }
  OK(n > 6 && n < 99, "%d places ask for memory", n - 1);
  IS_INT(n_bad, 0, "each may fail, and nothing is left");
}

/* {====== A sandbox has the host's device, and no other ====== */

static const struct {
  const char *script;
  const char *msg;
} boxed[] = {
    {"assert(mesh{x = 1}:run(function(r) return r.rank end)[0] == 0)", NULL},
    {"mesh{x = 2}:run(function(r) return r.rank end)", "'cuda:1' is not what the host gave"},
    {"shard(zeros(f32, 4), '(M@x)', mesh{x = 2})", "'cuda:1' is not what the host gave"},
};

static void test_sandbox(void) {
  for (size_t i = 0; i < CT_ARRAY_LEN(boxed); i++) {
    cuttle_Options o = {.size = sizeof o, .device = "cuda:0", .sandbox = 1};
    cuttle_State *S = cuttle_open(&o);
    cuttle_Status s = cuttle_dostring(S, boxed[i].script, "x");
    if (boxed[i].msg == NULL) {
      OK(s == CUTTLE_OK, "a mesh of the host's device: %s", cuttle_error(S));
    } else {
      HAS_STR(cuttle_error(S), boxed[i].msg, "another one: %s", boxed[i].script);
    }
    cuttle_close(S);
  }
}

/* {====== All ====== */

static bool open_devices(void) {
  bool ok = true;
  for (int i = 0; i < 2 && ok; i++) {
    CtDeviceOptions o = {.alloc = ct_alloc_std, .ordinal = i, .interrupt = &interrupt};
    ok = OK(ct_device_open(&o, &devices[i], &err) == CT_OK, "device %d", i);
  }
  return ok;
}

static void close_devices(void) {
  for (int i = 0; i < 2; i++) {
    ct_device_close(devices[i]);
  }
}

/* NCCL waits for the kernels of a device, even to abort. */
static void test_abandoned(void) {
  Pair p;
  open_good(&p);
  n_aborted_before = nccl->n_aborted;
  ct_device_abandon(devices[1]);
  ct_nccl_free(p.n);
  IS_INT(nccl->live, 2, "communicators of a device that was given up are left as they are");
  IS_INT(nccl->n_aborted - n_aborted_before, 0, "they are not aborted");
  nccl->forget(); /* or a sanitizer takes them for a leak */
}

/* One device failed, and kernels of the other may wait for it. */
static void test_held(void) {
  Pair p;
  open_good(&p);
  n_aborted_before = nccl->n_aborted;
  cuda->hung = interrupt = 1;
  snprintf(cuda->fail_name, sizeof cuda->fail_name, "cuStreamQuery");
  cuda->fail_result = 700;
  ct_nccl_free(p.n);
  cuda->hung = interrupt = 0;
  IS_STR(cuda->fail_name, "", "a device has failed");
  OK(ct_device_is_abandoned(devices[0]) != ct_device_is_abandoned(devices[1]),
     "the other one, which is held, is given up");
  IS_INT(nccl->n_aborted - n_aborted_before, 0, "NCCL, which would wait for it, is not called");
  nccl->forget();
}

static void run_all(void) {
  if (!open_devices()) {
    return;
  }
  test_ops();
  test_costs();
  test_messages();
  test_split();
  test_dtypes();
  test_failed_call();
  test_async();
  test_late(wait_device, "a wait for the device");
  test_late(wait_all, "a wait for collectives");
  test_late(wait_read, "reading a result");
  test_flood();
  test_interrupt();
  test_missing_rank();
  test_close();
  test_graph();
  test_nomem();
  test_sandbox();
  IS_STR(getenv("NCCL_NVLS_ENABLE"), "0", "NVLink multicast is off");
  test_fault();
  close_devices();
  if (open_devices()) {
    test_abandoned();
    close_devices();
  }
  if (open_devices()) {
    test_held();
    close_devices();
  }
}

int main(void) {
  char dir[] = "/tmp/cuttle-test-XXXXXX", libcuda[256], libnccl[256], command[300];
  if (mkdtemp(dir) == NULL || !build_fake(__FILE__, dir, "", libcuda, sizeof libcuda) ||
      !build_fake_file("fake_nccl.c", __FILE__, dir, "-pthread", libnccl, sizeof libnccl)) {
    return skip_all("no C compiler to build a driver for the test");
  }
  setenv("CUTTLE_LIBCUDA", libcuda, 1);
  setenv("CUTTLE_NCCL", libnccl, 1);
  cuda = symbol_of(libcuda, "fake");
  nccl = symbol_of(libnccl, "fake_nccl");
  run_all();
  snprintf(command, sizeof command, "rm -r %s", dir);
  IS_INT(system(command), 0, "cleaned up"); // NOLINT(cert-env33-c): a fixed command
  return done_testing();
}
