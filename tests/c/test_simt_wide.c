/* test_simt_wide.c: a tensor whose offsets need more than 32 bits, on the CPU engine: 2 GiB that are
   lent by a host, of which a few pages are touched. */
#include <sys/mman.h>

#include "interp/cuttle.h"
#include "tap.h"

#ifndef MAP_ANONYMOUS
#define MAP_ANONYMOUS 0x20 /* Linux's; POSIX does not have it */
#endif

/* Strides that are arguments, and the same as constants. */
static const char script[] =
    "local function wide(t, j, far)\n"
    "  local i = threadIdx.x\n"
    "  t[{i, j}] = cast(i + 1, u8)\n" /* a scalar times the stride, and lanes */
    "  t[{i + 32, j}] = cast(t[{i, j}] + 1, u8)\n"
    "  t[{i + 64, i // 31}] = 9\n"              /* lanes times the stride */
    "  view(t, (1 << 31) + 128)[far + i] = 5\n" /* an offset that is given */
    "end\n"
    "kernel('dynamic', wide)\n"
    "kernel('static', wide, {static_shapes = true})\n";

static const size_t stride = (size_t)1 << 31, bytes = ((size_t)1 << 31) + 128;

static void test_kernel(cuttle_State *S, const char *name, uint8_t *t) {
  cuttle_Dim3 one = {1, 1, 1}, block = {32, 1, 1};
  cuttle_Tensor *tensor =
      cuttle_tensor_wrap(S, t, "u8", "(128,2):(1,2147483648)", NULL, NULL, NULL);
  cuttle_Arg args[] = {cuttle_tensor(tensor), cuttle_int(1), cuttle_int((int64_t)stride + 96)};
  cuttle_Status status = cuttle_launch(S, cuttle_kernel(S, name), one, block, 3, args);
  IS_STR(cuttle_error(S), "", "%s: the launch", name);
  IS_INT(status, CUTTLE_OK, "runs");
  IS_INT(t[stride] + t[stride + 31], 1 + 32, "beyond 2^31, by lane");
  IS_INT(t[stride + 32] + t[stride + 63], 2 + 33, "read and written");
  IS_INT(t[64] + t[94] + t[95] + t[stride + 95], 9 + 9 + 0 + 9, "lane by lane on either side");
  IS_INT(t[stride + 96] + t[stride + 127], 5 + 5, "at an offset of 64 bits");
  IS_INT(t[0] + t[96] + t[stride - 1], 0, "and nowhere else");
  memset(t, 0, 128);
  memset(t + stride, 0, 128);
}

int main(void) {
  uint8_t *t = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (t == MAP_FAILED) {
    return skip_all("no 2 GiB of addresses");
  }
  cuttle_Options options = {.size = sizeof options, .device = "cpu", .no_environment = 1};
  cuttle_State *S = cuttle_open(&options);
  IS_INT(cuttle_dostring(S, script, "=wide"), CUTTLE_OK, "the kernels");
  test_kernel(S, "dynamic", t);
  test_kernel(S, "static", t);
  cuttle_close(S);
  munmap(t, bytes);
  return done_testing();
}
