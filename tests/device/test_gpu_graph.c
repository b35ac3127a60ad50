/* test_gpu_graph.c: graphs on a CUDA device: a host captures its stream while it launches a script's kernels;
   and a script's graph of twenty small launches takes as long as the same graph of plain calls of the driver. */
#include <stdio.h>
#include <string.h>

#include "interp/cuttle.h"
#include "runtime/base/clock.h"
#include "runtime/device/device.h"
#include "runtime/device/dl.h"
#include "runtime/device/nvrtc.h"
#include "tests/c/tap.h"

enum { N = 4096, LAUNCHES = 20, ROUNDS = 9, TIMES = 500 };

static const char script[] =
    "kernel('add', function(x, c)\n"
    "  local i = blockIdx.x * blockDim.x + threadIdx.x\n"
    "  if i < size(x) then x[i] = x[i] + c end\n"
    "end)\n"
    "kernel('meet', function(x)\n"
    "  local c = x[blockIdx.x]\n"
    "  sync_grid()\n"
    "  if threadIdx.x == 0 then x[(blockIdx.x + 1) % gridDim.x] = c + 1 end\n"
    "end)\n";
static const cuttle_Dim3 grid = {N / 128, 1, 1}, block = {128, 1, 1};
static const CtCuda *cu;
static CtDevice *device;
static CtErr err;
static float data[N], back[N];

/* {====== A host's graph ====== */

static cuttle_State *open_on_stream(void) {
  cuttle_Options o = {.size = sizeof o,
                      .device = "cuda",
                      .cuda_context = ct_device_context(device),
                      .cuda_stream = ct_device_stream(device),
                      .use_stream = 1};
  cuttle_State *S = cuttle_open(&o);
  if (cuttle_dostring(S, script, "=graph") != CUTTLE_OK) {
    tap_diag("%s", cuttle_error(S));
  }
  return S;
}

static bool add(cuttle_State *S, cuttle_Tensor *t, double c) {
  cuttle_Arg args[] = {cuttle_tensor(t), cuttle_float(c)};
  bool ok = cuttle_launch(S, cuttle_kernel(S, "add"), grid, block, 2, args) == CUTTLE_OK;
  if (!ok) {
    tap_diag("%s", cuttle_error(S));
  }
  return ok;
}

static bool all_are(float v) {
  for (int i = 0; i < N; i++) {
    if (back[i] != v) {
      tap_diag("element %d is %g, not %g", i, (double)back[i], (double)v);
      return false;
    }
  }
  return true;
}

static CuGraphExec end_capture(CuStream s) {
  CuGraph graph = NULL;
  CuGraphExec exec = NULL;
  OK(cu->cuStreamEndCapture(s, &graph) == CT_CUDA_SUCCESS && graph != NULL,
     "the capture ends well");
  OK(cu->cuGraphInstantiateWithFlags(&exec, graph, 0) == CT_CUDA_SUCCESS, "a graph is made");
  (void)cu->cuGraphDestroy(graph);
  return exec;
}

/* The kernels are traced, compiled and loaded during the capture. */
static void test_host_captures(void) {
  CuStream s = ct_device_stream(device);
  cuttle_State *S = open_on_stream();
  cuttle_Tensor *t = cuttle_tensor_new(S, "f32", "4096");
  cuttle_Arg arg = cuttle_tensor(t);
  cuttle_Launch options = {.size = sizeof options, .grid = {32, 1, 1}, .block = {32, 1, 1}};
  options.cooperative = 1;
  IS_INT(cuttle_tensor_write(S, t, data, sizeof data), CUTTLE_OK, "a tensor");
  if (!OK(cu->cuStreamBeginCapture_v2(s, CT_CU_STREAM_CAPTURE_MODE_THREAD_LOCAL) == CT_CUDA_SUCCESS,
          "the host captures its stream")) {
    return;
  }
  bool ok = true;
  for (int i = 0; i < LAUNCHES; i++) {
    ok = ok && add(S, t, 1.0);
  }
  OK(ok, "launches join");
  OK(cuttle_tensor_read(S, t, back, sizeof back) != CUTTLE_OK &&
         strstr(cuttle_error(S), "cannot be recorded") != NULL,
     "a read is refused: %s", cuttle_error(S));
  IS_INT(cuttle_synchronize(S), CUTTLE_ERROR, "a wait is refused");
  cuttle_Tensor *late = cuttle_tensor_new(S, "f32", "100");
  OK(late != NULL, "a tensor is made: %s", cuttle_error(S));
  cuttle_tensor_release(S, late);
  OK(cuttle_launch_with(S, cuttle_kernel(S, "meet"), &options, 1, &arg) == CUTTLE_OK,
     "a cooperative launch joins: %s", cuttle_error(S));
  CuGraphExec exec = end_capture(s);
  IS_INT(cuttle_tensor_read(S, t, back, sizeof back), CUTTLE_OK, "afterwards reads are reads");
  OK(all_are(0), "nothing has run");
  for (int i = 0; i < 3; i++) {
    OK(cu->cuGraphLaunch(exec, s) == CT_CUDA_SUCCESS, "the host launches its graph");
  }
  IS_INT(cuttle_tensor_read(S, t, back, sizeof back), CUTTLE_OK, "a read");
  OK(back[N - 1] == 3 * LAUNCHES && back[5] == 3 * LAUNCHES + 3, "has all launches: %g, %g",
     (double)back[N - 1], (double)back[5]);
  (void)cu->cuGraphExecDestroy(exec);
  cuttle_close(S);
}

/* {====== The time of a graph ====== */

static const char source[] = "extern \"C\" __global__ void add(float *x, int n, float c) {\n"
                             "  int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
                             "  if (i < n) x[i] = x[i] + c;\n"
                             "}\n";

static CtFunction *compile(CtModule **m) {
  CtNvrtcOutput out;
  CtFunction *f = NULL;
  const CtNvrtcJob job = {
      .alloc = ct_alloc_std, .source = source, .name = "add", .arch = ct_device_info(device)->arch};
  if (!OK(ct_nvrtc_compile(&job, &out, &err) == CT_OK, "the same kernel in CUDA C")) {
    tap_diag("%s", err.msg);
    return NULL;
  }
  OK(ct_module_new(device, out.image.s, m, &err) == CT_OK &&
         ct_module_function(*m, "add", "add", NULL, 0, SIZE_MAX, &f, &err) == CT_OK,
     "is loaded");
  ct_nvrtc_output_clear(&out);
  return f;
}

static CuGraphExec plain_graph(CtFunction *f, CtDevPtr x) {
  CuStream s = ct_device_stream(device);
  struct {
    CtDevPtr x;
    int n;
    float c;
  } params = {x, N, 1.0F};
  const CtLaunch l = {.grid = {N / 128, 1, 1}, .block = {128, 1, 1}, .stream = s};
  OK(cu->cuStreamBeginCapture_v2(s, CT_CU_STREAM_CAPTURE_MODE_THREAD_LOCAL) == CT_CUDA_SUCCESS,
     "a capture");
  bool ok = true;
  for (int i = 0; i < LAUNCHES; i++) {
    ok = ct_function_launch(f, &l, &params, sizeof params, &err) == CT_OK && ok;
  }
  OK(ok, "twenty launches");
  return end_capture(s);
}

static double time_plain(CuGraphExec exec) {
  CuStream s = ct_device_stream(device);
  int64_t start = ct_now_ns();
  for (int i = 0; i < TIMES; i++) {
    (void)cu->cuGraphLaunch(exec, s);
  }
  (void)cu->cuStreamSynchronize(s);
  return (double)(ct_now_ns() - start) / TIMES / 1e3;
}

static double time_script(cuttle_State *S, const char *text) {
  int64_t start = ct_now_ns();
  if (cuttle_dostring(S, text, "=time") != CUTTLE_OK) {
    tap_diag("%s", cuttle_error(S));
  }
  return (double)(ct_now_ns() - start) / TIMES / 1e3;
}

static int compare(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static double median(double *us) {
  qsort(us, ROUNDS, sizeof *us, compare);
  return us[ROUNDS / 2];
}

static void test_time(void) {
  CtModule *m = NULL;
  CtBuffer x;
  double plain[ROUNDS], graph[ROUNDS], single[ROUNDS];
  CtFunction *f = compile(&m);
  cuttle_State *S = open_on_stream();
  if (f == NULL ||
      ct_buffer_new(device, sizeof data, ct_device_stream(device), &x, &err) != CT_OK) {
    return;
  }
  OK(ct_device_set(device, x.ptr, 0, sizeof data, ct_device_stream(device), &err) == CT_OK,
     "memory");
  CuGraphExec exec = plain_graph(f, x.ptr);
  char setup[400];
  snprintf(setup, sizeof setup,
           "x = zeros(f32, %d)\n"
           "k = kernel('add', function(x, c)\n"
           "  local i = blockIdx.x * blockDim.x + threadIdx.x\n"
           "  if i < size(x) then x[i] = x[i] + c end\n"
           "end){grid = %d, block = 128}\n"
           "function steps() for i = 1, %d do k(x, 1.0) end end\n"
           "g = graph(steps)\n",
           N, N / 128, LAUNCHES);
  IS_INT(cuttle_dostring(S, setup, "=setup"), CUTTLE_OK, "the script's graph: %s", cuttle_error(S));
  char run_graph[64], run_single[64];
  snprintf(run_graph, sizeof run_graph, "for i = 1, %d do g() end synchronize()", TIMES);
  snprintf(run_single, sizeof run_single, "for i = 1, %d do steps() end synchronize()", TIMES);
  (void)time_plain(exec);
  (void)time_script(S, run_graph);
  for (int i = 0; i < ROUNDS; i++) { /* in turns */
    plain[i] = time_plain(exec);
    graph[i] = time_script(S, run_graph);
    single[i] = time_script(S, run_single);
  }
  double a = median(plain), b = median(graph), c = median(single);
  tap_diag("20 launches: plain C graph %.2f us, graph of the script %.2f us (%.3f x), launches of "
           "the script one by one %.2f us",
           a, b, b / a, c);
  OK(b <= 1.1 * a, "the script's graph takes at most 1.1 x the time of the plain one");
  IS_INT(cuttle_dostring(S, "assert(x[7] == 20 * 500 * (2 * 9 + 1))", "=result"), CUTTLE_OK,
         "and did all its work: %s", cuttle_error(S));
  (void)cu->cuGraphExecDestroy(exec);
  cuttle_close(S);
  ct_module_free(m);
  ct_buffer_free(device, &x, ct_device_stream(device));
}

int main(void) {
  int n;
  const CtDeviceOptions o = {.alloc = ct_alloc_std};
  if (ct_device_count(&n, &err) != CT_OK || n == 0) {
    return skip_all("no CUDA device");
  }
  if (!OK(ct_device_open(&o, &device, &err) == CT_OK && ct_dl_cuda(&cu, &err) == CT_OK,
          "the host opens the device")) {
    return done_testing();
  }
  test_host_captures();
  test_time();
  ct_device_close(device);
  return done_testing();
}
