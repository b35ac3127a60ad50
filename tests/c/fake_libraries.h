/* fake_libraries.h: cuBLAS, cuBLASLt and NVML for tests: they record what they are asked and fail when told
   to. fake_libraries.c is compiled by the test that uses it, as fake_libcuda.c is. */
#ifndef FAKE_LIBRARIES_H
#define FAKE_LIBRARIES_H

#include <stdint.h>

typedef struct FakeLibraries {
  char fail_name[64]; /* the next call of this entry point fails with status 7 */
  int live;           /* handles, descriptors, layouts and preferences */
  int n_good;         /* so many of the algorithms that are asked for are good; the first is not */
  unsigned compute, scale, types[3]; /* the last descriptor's; layouts' in the order A, B, C */
  uint64_t rows[3], columns[3];
  int64_t ld[3];
  int n_layouts;
  int32_t op_a, op_b;
  int8_t fast_sums;
  uint64_t workspace;
  uint64_t algorithm; /* of the last product, and its operands */
  const void *A, *B, *C;
  float alpha, beta;
  int has_fields;   /* NVML tells the power of now */
  int n_gemms;      /* products of cuBLAS */
  const void *from; /* A of the last of them */
} FakeLibraries;

#endif
