/* test_embed_cuda.c: a host application on a CUDA device: tensors there, memory, a context and a stream
   of its own lent to a state. */
#include <stdio.h>
#include <string.h>

#include "interp/cuttle.h"
#include "runtime/device/device.h"
#include "tests/c/tap.h"

enum { N = 1000 };

static const char script[] = "kernel('scale', function(a, x)\n"
                             "  local i = blockIdx.x * blockDim.x + threadIdx.x\n"
                             "  if i < size(x) then x[i] = a * x[i] end\n"
                             "end)\n";

static float data[N], back[N];
static const cuttle_Dim3 grid = {8, 1, 1}, block = {128, 1, 1};

static cuttle_State *open_on(CtDevice *d) {
  cuttle_Options o = {.size = sizeof o, .device = "cuda"};
  if (d != NULL) {
    o.cuda_context = ct_device_context(d);
    o.cuda_stream = ct_device_stream(d);
    o.use_stream = 1;
  }
  cuttle_State *S = cuttle_open(&o);
  cuttle_dostring(S, script, "=scale");
  return S;
}

static bool scale(cuttle_State *S, cuttle_Tensor *t, double a) {
  cuttle_Arg args[] = {cuttle_float(a), cuttle_tensor(t)};
  bool ok = cuttle_launch(S, cuttle_kernel(S, "scale"), grid, block, 2, args) == CUTTLE_OK;
  if (!ok) {
    tap_diag("%s", cuttle_error(S));
  }
  return ok;
}

/* back[i] == a * i */
static bool is_scaled(float a) {
  for (int i = 0; i < N; i++) {
    if (back[i] != a * (float)i) {
      tap_diag("element %d is %g", i, (double)back[i]);
      return false;
    }
  }
  return true;
}

static void test_own_memory(void) {
  cuttle_State *S = open_on(NULL);
  cuttle_Tensor *t = cuttle_tensor_new(S, "f32", "1000");
  OK(t != NULL, "a tensor on the device");
  OK(cuttle_tensor_read(S, t, back, sizeof back) == CUTTLE_OK && is_scaled(0), "is zero");
  IS_INT(cuttle_tensor_write(S, t, data, sizeof data), CUTTLE_OK, "written");
  OK(scale(S, t, 3.0), "a kernel is launched on it");
  IS_INT(cuttle_tensor_read(S, t, back, sizeof back), CUTTLE_OK, "a read waits for the kernel");
  OK(is_scaled(3.0F), "which did its work");
  cuttle_Tensor *host = cuttle_tensor_wrap(S, data, "f32", "1000", NULL, NULL, NULL);
  cuttle_Arg args[] = {cuttle_float(1.0), cuttle_tensor(host)};
  IS_INT(cuttle_launch(S, cuttle_kernel(S, "scale"), grid, block, 2, args), CUTTLE_OK,
         "memory of the host is launched on the CPU engine");
  cuttle_close(S);
}

static int n_freed;

static void note_free(void *ud, void *ptr, size_t bytes) {
  (void)ud;
  (void)ptr;
  n_freed += bytes == sizeof data;
}

static void test_lent_memory(void) {
  CtErr err;
  CtDevice *d;
  CtBuffer buf;
  CtDeviceOptions o = {.alloc = ct_alloc_std};
  if (!OK(ct_device_open(&o, &d, &err) == CT_OK, "the host opens the device") ||
      !OK(ct_buffer_new(d, sizeof data, ct_device_stream(d), &buf, &err) == CT_OK, "and memory") ||
      !OK(ct_device_write(d, buf.ptr, data, sizeof data, ct_device_stream(d), &err) == CT_OK,
          "fills it")) {
    return;
  }
  cuttle_State *S = open_on(d);
  void *ptr = (void *)(uintptr_t)buf.ptr;
  cuttle_Tensor *t = cuttle_tensor_wrap(S, ptr, "f32", "1000", "cuda", note_free, NULL);
  if (OK(t != NULL, "and lends it")) {
    OK(scale(S, t, 2.0), "a kernel runs on the host's stream");
    OK(ct_device_read(d, back, buf.ptr, sizeof back, ct_device_stream(d), &err) == CT_OK,
       "where the host reads");
    OK(is_scaled(2.0F), "what it made");
  } else {
    tap_diag("%s", cuttle_error(S));
  }
  cuttle_close(S);
  IS_INT(n_freed, 1, "closing gives the memory back");
  ct_buffer_free(d, &buf, ct_device_stream(d));
  ct_device_close(d);
}

/* What kernels print: its length, its semicolons, and the last text. */
typedef struct Heard {
  size_t len, n;
  char last[64], first[64];
} Heard;

static void hear(void *ud, const char *text, size_t len) {
  Heard *h = ud;
  for (size_t i = 0; i < len; i++) {
    h->n += text[i] == ';';
  }
  snprintf(h->last, sizeof h->last, "%.*s", (int)len, text);
  size_t room = sizeof h->first - 1;
  if (h->len < room) {
    size_t more = len < room - h->len ? len : room - h->len;
    memcpy(h->first + h->len, text, more);
    h->first[h->len + more] = '\0';
  }
  h->len += len;
}

static void launch_says(cuttle_State *S, unsigned blocks) {
  const cuttle_Dim3 many = {blocks, 1, 1};
  IS_INT(cuttle_launch(S, cuttle_kernel(S, "says"), many, block, 0, NULL), CUTTLE_OK, "prints");
}

/* The texts come to the callback at a wait, in order; what finds no room is counted. */
static void test_print(void) {
  Heard h = {0};
  cuttle_Options o = {.size = sizeof o, .device = "cuda", .print = hear, .print_ud = &h};
  cuttle_State *S = cuttle_open(&o);
  cuttle_dostring(S,
                  "kernel('says', function()\n"
                  "  printf('%d.%d;', blockIdx.x, threadIdx.x)\n"
                  "end)\n",
                  "=says");
  launch_says(S, 2);
  IS_INT(cuttle_synchronize(S), CUTTLE_OK, "waits");
  IS_INT(h.n, 256, "every thread is heard");
  OK(strncmp(h.first, "0.0;0.1;0.2;0.3;", 16) == 0 && strcmp(h.last, "1.127;") == 0, "in order: %s",
     h.first);
  h = (Heard){0};
  launch_says(S, 1000);
  IS_INT(cuttle_synchronize(S), CUTTLE_OK, "waits");
  unsigned long lost = 0;
  OK(sscanf(h.last, "printf: no room for %lu more", &lost) == 1, "the log was full: %s", h.last);
  IS_INT(h.n, (1 << 20) / 32, "it has place for 32768 records of 4 words");
  IS_INT(h.n + lost, 128000, "all others were counted");
  h = (Heard){0};
  launch_says(S, 1);
  cuttle_close(S);
  IS_INT(h.n, 128, "then there is room again, and closing waits");
}

int main(void) {
  int n;
  CtErr err;
  if (ct_device_count(&n, &err) != CT_OK || n == 0) {
    return skip_all("no CUDA device");
  }
  for (int i = 0; i < N; i++) {
    data[i] = (float)i;
  }
  test_own_memory();
  test_lent_memory();
  test_print();
  return done_testing();
}
