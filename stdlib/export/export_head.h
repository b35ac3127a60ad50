/* NAME.h: @WHAT@
   Made by `cuttle export` of Cuttle @VERSION@: do not edit, export again. Compile NAME.c with the program; it
   needs the C library only, and loads libcuda.so.1 when it first launches. */
#ifndef UPPER_H
#define UPPER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum NAME_status {
  UPPER_OK,
  UPPER_BAD_ARGUMENT,  /* an argument is not what the kernel was exported for; see error.text */
  UPPER_NO_DEVICE,     /* no driver, no GPU, or no CUDA context is current */
  UPPER_NO_CODE,       /* this file holds no code for the GPU */
  UPPER_DRIVER_ERROR,  /* a call of the driver failed; error.driver is its CUresult */
  UPPER_ASSERT_FAILED, /* an assert in a kernel failed: NAME_check */
  UPPER_CPU_ERROR      /* the CPU twin stopped: an access out of bounds, a failed assert, a deadlock */
} NAME_status;

/* What went wrong. Every function takes NULL instead. */
typedef struct NAME_error {
  NAME_status status;
  int driver;
  char text[512];
} NAME_error;

typedef enum NAME_dtype {
@DTYPES@
} NAME_dtype;

enum { UPPER_MAX_RANK = @RANK@ };

/* A tensor in the GPU's memory. Element (i, j, ...) is element i*stride[0] + j*stride[1] + ... of `data`. */
typedef struct NAME_tensor {
  void *data;  /* address on the GPU, of the element at coordinate 0 */
  NAME_dtype dtype;
  int rank;
  int64_t shape[UPPER_MAX_RANK];
  int64_t stride[UPPER_MAX_RANK];  /* in elements */
} NAME_tensor;

@LIST@typedef struct NAME_dim3 {
  unsigned x, y, z;
} NAME_dim3;

/* All functions may be called from any thread. A launch goes to the context that is current in the thread.
   `stream` is a CUstream or cudaStream_t; NULL is the default stream. `grid` is the number of blocks in x, y
   and z; NULL stands for the grid of the example, if the extents are those of the example. */

