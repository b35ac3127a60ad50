/* device_map.c: tensor maps, which the driver makes of the numbers. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "device_priv.h"

static const CuMapDtype dtypes[CT_DTYPE_COUNT] = {
#define DTYPE(name, bits, kind, compute, cuda, ctype, npy, dlpack, map, ...)                       \
  [CT_##name] = CT_CU_TENSOR_MAP_DATA_TYPE_##map,
#include "runtime/base/dtypes.def"
};

uint32_t ct_device_map_type(CtDtype dtype) { return (uint32_t)dtypes[dtype]; }

static CuMapPromotion promotion_of(int bytes) {
  switch (bytes) {
    case 64: return CT_CU_TENSOR_MAP_L2_PROMOTION_L2_64B;
    case 128: return CT_CU_TENSOR_MAP_L2_PROMOTION_L2_128B;
    case 256: return CT_CU_TENSOR_MAP_L2_PROMOTION_L2_256B;
    default: return CT_CU_TENSOR_MAP_L2_PROMOTION_NONE;
  }
}

/* "extents 4096 512, strides 2 1024 bytes, box 64 128" */
static const char *describe(const CtDeviceMap *m, char out[300]) {
  size_t n = 0;
  for (int part = 0; part < 3; part++) {
    static const char *const heads[] = {"extents", ", strides", " bytes, box"};
    n += (size_t)snprintf(out + n, 300 - n, "%s", heads[part]);
    for (int i = 0; i < m->n; i++) {
      uint64_t v = part == 0 ? m->extent[i] : part == 1 ? m->stride[i] : m->box[i];
      n += (size_t)snprintf(out + n, 300 - n, " %" PRIu64, v);
    }
  }
  return out;
}

CtStatus ct_device_map(CtDevice *d, const CtDeviceMap *map, unsigned char out[CT_MAP_BYTES],
                       CtErr *err) {
  static const uint32_t steps[CT_MAP_DIMS] = {1, 1, 1, 1, 1};
  CuTensorMap made;
  char text[300];
  if (d->cu->cuTensorMapEncodeTiled == NULL) {
    return ct_fail(err, CT_EUNSUPPORTED,
                   "the driver has no tensor maps (cuTensorMapEncodeTiled); tma_load and tma_store "
                   "need one of CUDA 12 or later");
  }
  _Static_assert(sizeof made == CT_MAP_BYTES, "a map travels in the parameters");
  CuMapSwizzle swizzle = (CuMapSwizzle)map->swizzle;
  CtStatus status =
      CT_CALL(d, err, cuTensorMapEncodeTiled,
              (&made, dtypes[map->dtype], (uint32_t)map->n, (void *)(uintptr_t)map->at, map->extent,
               map->stride + 1, map->box, steps, CT_CU_TENSOR_MAP_INTERLEAVE_NONE, swizzle,
               promotion_of(map->promotion), CT_CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE),
              "the tensor map of '%s': %s", map->name, describe(map, text));
  if (status == CT_OK) {
    memcpy(out, &made, sizeof made);
  }
  return status;
}
