/* device_peer.c: lets kernels of one device use the memory of another one. */
#include "device_priv.h"

static CtStatus check_reach(CtDevice *d, const CtDevice *other, CtErr *err) {
  int can = 0;
  if (d->cu->cuDeviceCanAccessPeer == NULL || d->cu->cuCtxEnablePeerAccess == NULL) {
    return ct_fail(err, CT_EUNSUPPORTED,
                   "peer_tensor: the CUDA driver has no access to other devices");
  }
  CtStatus s = CT_CALL(d, err, cuDeviceCanAccessPeer, (&can, d->device, other->device), "%s", "");
  if (s == CT_OK && can == 0) {
    return ct_fail(
        err, CT_EUNSUPPORTED,
        "peer_tensor: kernels of cuda:%d cannot reach the memory of cuda:%d, because the hardware "
        "does not connect them directly; use collectives, such as r:all_gather(src, dst)",
        d->info.ordinal, other->info.ordinal);
  }
  return s;
}

/* The context may have had access before, by the host. */
static CtStatus enable(CtDevice *d, const CtDevice *other, CtErr *err) {
  if (!ct_device_enter(d, err)) {
    return CT_EDEVICE;
  }
  CuResult r = d->cu->cuCtxEnablePeerAccess(other->context, 0);
  r = r == CT_CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED ? CT_CUDA_SUCCESS : r;
  return ct_device_done(d, "cuCtxEnablePeerAccess", r, err, "cuda:%d", other->info.ordinal);
}

/* Memory of a pool has access rights of its own. */
static CtStatus open_pool(CtDevice *d, const CtDevice *other, CtErr *err) {
  const CuMemAccess access = {.location_type = CT_CU_MEM_LOCATION_TYPE_DEVICE,
                              .location_id = d->device,
                              .flags = CT_CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
  if (other->pool == NULL) {
    return CT_OK;
  }
  if (d->cu->cuMemPoolSetAccess == NULL) {
    return ct_fail(err, CT_EUNSUPPORTED,
                   "peer_tensor: the CUDA driver shares no memory that is allocated in a stream");
  }
  return CT_CALL(d, err, cuMemPoolSetAccess, (other->pool, &access, 1), "cuda:%d",
                 other->info.ordinal);
}

CtStatus ct_device_reach(CtDevice *d, CtDevice *other, CtErr *err) {
  uint64_t bit = (uint64_t)1 << (other->info.ordinal & 63);
  if (d == other || (d->reaches & bit) != 0) {
    return CT_OK;
  }
  CtStatus s = check_reach(d, other, err);
  s = s == CT_OK ? enable(d, other, err) : s;
  s = s == CT_OK ? open_pool(d, other, err) : s;
  d->reaches |= s == CT_OK ? bit : 0;
  return s;
}
