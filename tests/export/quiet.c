/* quiet.c: a CUDA driver for threads: each thread has a context of its own choice, every call succeeds, and a launch
   leaves its first parameters where the thread can look. Nothing is shared, so that a data race that is found is
   one of the exported code. */
#include <stdint.h>
#include <string.h>

enum { WORDS = 16 };

static _Thread_local uint64_t words[WORDS];
static _Thread_local void *context;

uint64_t quiet_word(int i);
uint64_t quiet_word(int i) { return words[i]; }
void quiet_use(uintptr_t c);
void quiet_use(uintptr_t c) { context = (void *)c; }

#define ENTRY(name, args)                                                                          \
  int name args;                                                                                   \
  int name args

ENTRY(cuInit, (unsigned flags)) { return flags != 0; }
ENTRY(cuDeviceGetCount, (int *n)) {
  *n = 1;
  return 0;
}
ENTRY(cuDeviceGetAttribute, (int *value, int attribute, int device)) {
  *value = attribute == 75 ? 9 : 0;
  return device != 0;
}
ENTRY(cuCtxGetCurrent, (void **c)) {
  *c = context;
  return 0;
}
ENTRY(cuCtxGetDevice, (int *d)) {
  *d = 0;
  return 0;
}
ENTRY(cuGetErrorName, (int r, const char **name)) {
  *name = "CUDA_ERROR";
  return r < 0;
}
ENTRY(cuGetErrorString, (int r, const char **text)) {
  *text = "a failure";
  return r < 0;
}
ENTRY(cuModuleLoadData, (void **m, const void *image)) {
  *m = context;
  return image == NULL;
}
ENTRY(cuModuleUnload, (void *m)) { return m == NULL; }
ENTRY(cuModuleGetFunction, (void **f, void *m, const char *name)) {
  *f = m;
  return name == NULL;
}
ENTRY(cuFuncSetAttribute, (void *f, int attribute, int value)) {
  return f == NULL || attribute < 0 || value < 0;
}
ENTRY(cuMemsetD8Async, (uint64_t at, unsigned char byte, size_t n, void *stream)) {
  return at == 0 || byte != 0 || n == 0 || stream != NULL;
}
ENTRY(cuMemAllocHost_v2, (void **p, size_t n)) {
  *p = NULL;
  return n > 0;
}
ENTRY(cuMemAlloc_v2, (uint64_t * p, size_t n)) {
  *p = n;
  return 0;
}
ENTRY(cuMemcpyHtoD_v2, (uint64_t to, const void *from, size_t n)) {
  return to == 0 || from == NULL || n == 0;
}

/* The map's first word is the tensor's address. */
ENTRY(cuTensorMapEncodeTiled,
      (void *map, int dtype, uint32_t rank, void *at, const uint64_t *extents,
       const uint64_t *strides, const uint32_t *box, const uint32_t *steps, int interleave,
       int swizzle, int promotion, int outside)) {
  memset(map, 0, 128);
  memcpy(map, &at, sizeof at);
  return dtype < 0 || rank == 0 || extents == NULL || strides == NULL || box == NULL ||
         steps == NULL || interleave != 0 || swizzle < 0 || promotion < 0 || outside != 0;
}

/* threads.c launches a kernel of three parameters: an address, an extent and a map. The function is the context that it was loaded in: another one than the thread's is an error. */
ENTRY(cuLaunchKernelEx, (const void *config, void *function, void **params, void **extra)) {
  memcpy(&words[0], params[0], 8);
  memcpy(&words[1], params[2], 8);
  return config == NULL || function != context || extra != NULL;
}
