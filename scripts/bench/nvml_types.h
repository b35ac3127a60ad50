/* nvml_types.h: our declarations of NVML, for bench_tools.c and for the test that compares them with the
   real header. */
#ifndef NVML_TYPES_H
#define NVML_TYPES_H

typedef unsigned NvmlResult, NvmlClock, NvmlValueType;
typedef struct nvmlDevice_st *NvmlDevice;

enum { CT_NVML_SUCCESS = 0, CT_NVML_CLOCK_SM = 1, CT_NVML_POWER_INSTANT = 186 };

typedef struct NvmlField {
  unsigned field, scope;
  long long timestamp, latency_us;
  NvmlValueType type;
  NvmlResult result;
  union {
    double f64;
    unsigned u32;
    unsigned long long u64;
  } value;
} NvmlField;

#endif
