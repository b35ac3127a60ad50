/* dlpack.h: DLPack 1.3, as much of its ABI as is read here: tensors in capsules of both kinds, and the C
   exchange interface. Written from the specification (https://dmlc.github.io/dlpack/latest/). */
#ifndef CUTTLE_PY_DLPACK_H
#define CUTTLE_PY_DLPACK_H

#include <stdint.h>

enum { DL_CPU = 1, DL_CUDA = 2, DL_CUDA_HOST = 3, DL_CUDA_MANAGED = 13 };
enum { DL_UINT = 1, DL_FLOAT = 2, DL_BFLOAT = 4, DL_BOOL = 6 }; /* codes */
enum { DL_MAJOR = 1 };
enum { DL_READ_ONLY = 1, DL_IS_COPIED = 2 }; /* flags */

typedef struct DLVersion {
  uint32_t major, minor;
} DLVersion;

typedef struct DLDevice {
  int32_t type, id;
} DLDevice;

typedef struct DLDataType {
  uint8_t code, bits;
  uint16_t lanes;
} DLDataType;

typedef struct DLTensor {
  void *data;
  DLDevice device;
  int32_t ndim;
  DLDataType dtype;
  int64_t *shape;
  int64_t *strides; /* in elements; NULL: row-major */
  uint64_t byte_offset;
} DLTensor;

typedef struct DLManaged { /* in capsules "dltensor" */
  DLTensor tensor;
  void *context;
  void (*deleter)(struct DLManaged *self);
} DLManaged;

typedef struct DLVersioned { /* in capsules "dltensor_versioned" */
  DLVersion version;
  void *context;
  void (*deleter)(struct DLVersioned *self);
  uint64_t flags;
  DLTensor tensor;
} DLVersioned;

/* In the capsule "dlpack_exchange_api" that a type has as __dlpack_c_exchange_api__. Functions return 0, or -1
   with a Python exception set; none of them synchronizes streams. */
typedef struct DLExchange {
  DLVersion version;
  const struct DLExchange *older; /* of a former major version, or NULL */
  void *allocate;
  int (*managed_from_object)(void *object, DLVersioned **out);
  void *to_object;
  /* What it fills in lives as long as the object does and stays as it is. May be NULL. */
  int (*tensor_from_object)(void *object, DLTensor *out);
  int (*current_stream)(int32_t device_type, int32_t device_id, void **out);
} DLExchange;

#endif
