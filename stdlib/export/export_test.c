/* NAME_test.c: launches what NAME.c has on the data of the examples, and compares with what Cuttle's CPU engine
   computed. Made by `cuttle export` of Cuttle @VERSION@. Build: cc NAME_test.c NAME.c -o NAME_test -ldl -pthread -lm
   It prints TAP. Without a GPU it says so, and exits with 77.@CPU_NOTE@ */
#ifndef _POSIX_C_SOURCE
#define _POSIX_C_SOURCE 200809L
#endif
#include "NAME.h"

#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What is not called if all examples are too large for this file. */
#define UNUSED __attribute__((unused))

/* {====== The driver ====== */

static struct {
  int (*init)(unsigned flags);
  int (*device)(int *device, int ordinal);
  int (*retain)(void **context, int device);
  int (*use)(void *context);
  int (*alloc)(uint64_t *p, size_t bytes);
  int (*release)(uint64_t p);
  int (*write)(uint64_t dst, const void *src, size_t bytes);
  int (*read)(void *dst, uint64_t src, size_t bytes);
  int (*fill)(uint64_t dst, unsigned char byte, size_t bytes);
  int (*wait)(void);
} cu;

@HOST@static int find(void *library, const char *name, void *slot) {
  void *p = library == NULL ? NULL : dlsym(library, name);
  memcpy(slot, &p, sizeof p);
  return p != NULL;
}

/* Opens device 0; 0: there is none. */
static int open_device(void) {
  void *library = dlopen("libcuda.so.1", RTLD_NOW), *context = NULL;
  int device = 0;
  return find(library, "cuInit", &cu.init) && find(library, "cuDeviceGet", &cu.device) &&
         find(library, "cuDevicePrimaryCtxRetain", &cu.retain) &&
         find(library, "cuCtxSetCurrent", &cu.use) && find(library, "cuMemAlloc_v2", &cu.alloc) &&
         find(library, "cuMemFree_v2", &cu.release) &&
         find(library, "cuMemcpyHtoD_v2", &cu.write) && find(library, "cuMemcpyDtoH_v2", &cu.read) &&
         find(library, "cuMemsetD8_v2", &cu.fill) && find(library, "cuCtxSynchronize", &cu.wait) &&
         cu.init(0) == 0 && cu.device(&device, 0) == 0 && cu.retain(&context, device) == 0 &&
         cu.use(context) == 0;
}

@END_HOST@static void must(int result, const char *what) {
  if (result != 0) {
    printf("Bail out! %s failed: CUresult %d\n", what, result);
    exit(1);
  }
}

/* {====== Data ====== */

/* Memory of the GPU that an example uses. */
typedef struct Memory {
  uint64_t at; /* as far from a multiple of 256 as the example's was from one of 16 */
  uint64_t whole;
  size_t bytes;
} Memory;

UNUSED static Memory memory_new(size_t bytes, size_t skew, const void *data) {
  Memory m;
  m.whole = 0;
  m.bytes = bytes;
  must(cu.alloc(&m.whole, bytes + skew + 16), "cuMemAlloc");
  must(cu.fill(m.whole, 0, bytes + skew + 16), "cuMemsetD8");
  m.at = m.whole + skew;
  if (data != NULL && bytes > 0) {
    must(cu.write(m.at, data, bytes), "cuMemcpyHtoD");
  }
  return m;
}

UNUSED static void *address(const Memory *m, size_t offset) { return (void *)(uintptr_t)(m->at + offset); }

UNUSED static NAME_tensor tensor_of(void *data, NAME_dtype dtype, int rank, const int64_t *shape,
                             const int64_t *stride) {
  NAME_tensor t;
  memset(&t, 0, sizeof t);
  t.data = data;
  t.dtype = dtype;
  t.rank = rank;
  for (int i = 0; i < rank; i++) {
    t.shape[i] = shape[i];
    t.stride[i] = stride[i];
  }
  return t;
}

/* {====== Comparing ====== */

static double small_float(unsigned bits, int exponent_bits, int fraction_bits) {
  int exponent = (int)(bits >> fraction_bits) & ((1 << exponent_bits) - 1);
  int bias = (1 << (exponent_bits - 1)) - 1;
  double fraction = (double)(bits & ((1U << fraction_bits) - 1)) / (double)(1 << fraction_bits);
  double v = exponent == 0 ? ldexp(fraction, 1 - bias) : ldexp(1.0 + fraction, exponent - bias);
  if (exponent == (1 << exponent_bits) - 1 && exponent_bits != 4) {
    v = fraction == 0.0 ? INFINITY : NAN;
  }
  return (bits >> (exponent_bits + fraction_bits) & 1) != 0 ? -v : v;
}

/* The element as a number; *step: how far neighbours of a number of its type lie from one another, relative to it. */
static double element(NAME_dtype dtype, const unsigned char *p, double *step) {
  double f64 = 0;
  float f32 = 0;
  uint16_t bits = 0;
  memcpy(&f64, p, dtype == UPPER_F64 ? sizeof f64 : 0);
  memcpy(&f32, p, dtype == UPPER_F32 || dtype == UPPER_TF32 ? sizeof f32 : 0);
  memcpy(&bits, p, dtype == UPPER_F16 || dtype == UPPER_BF16 ? sizeof bits : 0);
  switch (dtype) {
    case UPPER_F64: *step = ldexp(1, -52); return f64;
    case UPPER_F32: *step = ldexp(1, -23); return f32;
    case UPPER_TF32: *step = ldexp(1, -10); return f32;
    case UPPER_F16: *step = ldexp(1, -10); return small_float(bits, 5, 10);
    case UPPER_BF16: *step = ldexp(1, -7); return small_float(bits, 8, 7);
    case UPPER_F8E4M3: *step = ldexp(1, -3); return small_float(*p, 4, 3);
    case UPPER_F8E5M2: *step = ldexp(1, -2); return small_float(*p, 5, 2);
    default: *step = 0; return *p; /* of integers all bits count */
  }
}

static int n_tests = 0, n_failed = 0;

static void report(int ok, const char *what, const char *note) {
  n_failed += !ok;
  printf("%sok %d - %s%s%s\n", ok ? "" : "not ", ++n_tests, what, note[0] == '\0' ? "" : ": ", note);
}

/* Tensor cores and approximate functions of a GPU do not define every bit. So sums that differ in their last bits
   pass, and the report says by how much; all else must have the same bits. */
@LIMIT@

UNUSED static void compare(const char *what, NAME_dtype dtype, size_t bytes, const Memory *m, size_t offset,
                    const unsigned char *expected, size_t n) {
  unsigned char *got = (unsigned char *)malloc(n + 1);
  size_t n_different = 0, n_wrong = 0;
  double largest = 0, scale = 0, step = 0, worst = 0;
  char note[128] = "the same bits";
  must(got == NULL, "malloc");
  must(cu.read(got, m->at + offset, n), "cuMemcpyDtoH");
  for (size_t i = 0; i + bytes <= n; i += bytes) {
    double v = fabs(element(dtype, expected + i, &step));
    scale = v > scale && v < INFINITY ? v : scale;
  }
  for (size_t i = 0; i + bytes <= n; i += bytes) {
    if (memcmp(got + i, expected + i, bytes) != 0) {
      double e = element(dtype, expected + i, &step), g = element(dtype, got + i, &step);
      double by = fabs(g - e), limit = STEPS * (step < 1e-6 ? step : step / 16) * scale;
      n_different++;
      n_wrong += !(by <= limit) && !(isnan(g) && isnan(e));
      largest = by > largest ? by : largest;
    }
  }
  worst = scale > 0 ? largest / scale : largest;
  if (n_different > 0) {
    snprintf(note, sizeof note, "%zu of %zu elements differ, by at most %.2g of the largest", n_different,
             n / bytes, worst);
  }
  report(n_wrong == 0, what, note);
  free(got);
}

@EXAMPLES@
int main(void) {
  NAME_error error;
  memset(&error, 0, sizeof error);
  if (!open_device()) {
    printf("1..0 # SKIP no device\n");
    return 77;
  }
@CALLS@
  printf("1..%d\n", n_tests);
  return n_failed > 0;
}
