/* nvrtc_cubin.h: what a cubin says of a kernel, read from the file: no device is needed. */
#ifndef CT_NVRTC_CUBIN_H
#define CT_NVRTC_CUBIN_H

#include "runtime/base/err.h"

typedef struct CtCubinInfo {
  int registers;   /* per thread */
  int stack_bytes; /* per thread: arrays and spilled registers */
} CtCubinInfo;

/* Of the kernel of that (unmangled C) name. False: this is no cubin that is understood. */
bool ct_cubin_info(const void *image, size_t len, const char *kernel, CtCubinInfo *out);

#endif
