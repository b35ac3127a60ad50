/* nccl_types.h: our declarations of NCCL, for the files that call it and for the test that compares
   them with the real header. */
#ifndef CT_NCCL_TYPES_H
#define CT_NCCL_TYPES_H

#include <stddef.h>

typedef unsigned NcclResult, NcclDataType, NcclRedOp;
typedef struct ncclComm *NcclComm;
typedef struct CUstream_st *NcclStream;

typedef struct NcclId { /* says where the ranks of a communicator meet */
  char bytes[128];
} NcclId;

/* The first part of NCCL's own, which takes as much as `size` says. */
typedef struct NcclConfig {
  size_t size;
  unsigned magic, version;
  int blocking;
} NcclConfig;

enum { CT_NCCL_SUCCESS = 0, CT_NCCL_IN_PROGRESS = 7 };
enum { CT_NCCL_CONFIG_VERSION = 21400 }; /* that has these fields */
#define CT_NCCL_CONFIG_MAGIC 0xcafebeefU
enum { CT_NCCL_SUM = 0, CT_NCCL_LARGEST = 2, CT_NCCL_LEAST = 3 };

enum {
  CT_NCCL_INT8 = 0,
  CT_NCCL_UINT8 = 1,
  CT_NCCL_INT32 = 2,
  CT_NCCL_UINT32 = 3,
  CT_NCCL_INT64 = 4,
  CT_NCCL_UINT64 = 5,
  CT_NCCL_FLOAT16 = 6,
  CT_NCCL_FLOAT32 = 7,
  CT_NCCL_FLOAT64 = 8,
  CT_NCCL_BFLOAT16 = 9,
  CT_NCCL_FLOAT8E4M3 = 10,
  CT_NCCL_FLOAT8E5M2 = 11
};

#endif
