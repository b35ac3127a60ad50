/* device_ipc.c: memory that processes on one machine share, by CUDA's IPC handles. Memory of a pool has none, so what
   is to be shared is allocated by itself, and kept for reuse as a pool would keep it. */
#include <string.h>

#include "device_priv.h"

_Static_assert(sizeof(CtIpcHandle) == sizeof(CuIpcMemHandle), "a handle of the driver's");

/* {====== Memory that can be shared ====== */

/* The driver cuts smaller allocations out of blocks of this size, and a handle opens the whole block. */
static const size_t GRAIN = (size_t)2 << 20;

static size_t padded(size_t bytes) { return (bytes + GRAIN - 1) / GRAIN * GRAIN; }

static CtShared *find_free(const CtDevice *d, size_t bytes) {
  for (size_t i = 0; i < d->n_shared; i++) {
    CtShared *s = &d->shared[i];
    if (s->is_free && s->block.bytes >= bytes && s->block.bytes - bytes <= bytes / 8) {
      return s;
    }
  }
  return NULL;
}

/* Gives back what is free, and what no other process was told of. */
static void drop_free(CtDevice *d) {
  size_t kept = 0;
  for (size_t i = 0; i < d->n_shared; i++) {
    const CtShared *s = &d->shared[i];
    if (s->is_free && !s->is_open && ct_device_enter_aside(d, NULL)) {
      (void)d->cu->cuStreamSynchronize(s->stream);
      (void)d->cu->cuMemFree_v2(s->block.ptr);
      ct_device_leave(d);
    } else {
      d->shared[kept++] = *s;
    }
  }
  d->n_shared = kept;
}

static CtStatus allocate(CtDevice *d, size_t bytes, CuDevicePtr *p, CtErr *err) {
  return CT_CALL_ASIDE(d, err, cuMemAlloc_v2, (p, bytes), "%zu bytes on '%s'", bytes, d->info.name);
}

static CtStatus add_block(CtDevice *d, size_t bytes, CtShared **out, CtErr *err) {
  CuDevicePtr p = 0;
  if (CT_GROW(d->alloc, d->shared, d->cap_shared, d->n_shared + 1, err) != CT_OK) {
    return CT_ENOMEM;
  }
  CtStatus s = allocate(d, bytes, &p, err);
  if (s == CT_ENOMEM && !ct_device_is_capturing(d, d->stream)) {
    drop_free(d);
    s = allocate(d, bytes, &p, err);
  }
  if (s == CT_OK) {
    *out = &d->shared[d->n_shared++];
    **out = (CtShared){.block = {.ptr = p, .bytes = bytes}};
  }
  return s;
}

/* Another stream may still use what it freed. */
static CtStatus reuse(CtDevice *d, CtShared *s, CtStream stream, CtErr *err) {
  return s->stream == stream ? CT_OK : ct_stream_synchronize(d, s->stream, err);
}

CtStatus ct_shared_new(CtDevice *d, size_t bytes, CtStream stream, CtBuffer *out, CtErr *err) {
  if (bytes == 0) {
    *out = (CtBuffer){0};
    return CT_OK;
  }
  CtShared *found = find_free(d, padded(bytes));
  CtStatus s =
      found != NULL ? reuse(d, found, stream, err) : add_block(d, padded(bytes), &found, err);
  if (s == CT_OK) {
    found->is_free = false;
    *out = (CtBuffer){.ptr = found->block.ptr, .bytes = bytes};
  }
  return s;
}

static CtShared *find_block(const CtDevice *d, CtDevPtr p) {
  for (size_t i = 0; i < d->n_shared; i++) {
    CtShared *s = &d->shared[i];
    if (p >= s->block.ptr && p - s->block.ptr < s->block.bytes) {
      return s;
    }
  }
  return NULL;
}

void ct_shared_free(CtDevice *d, CtBuffer *b, CtStream stream) {
  CtShared *s = b->ptr == 0 ? NULL : find_block(d, b->ptr);
  if (s != NULL) {
    s->is_free = true;
    s->stream = stream;
  }
  *b = (CtBuffer){0};
}

/* {====== Handles ====== */

static bool has_ipc(const CtCuda *cu) {
  return cu->cuMemGetAddressRange_v2 != NULL && cu->cuIpcGetMemHandle != NULL &&
         cu->cuIpcOpenMemHandle_v2 != NULL && cu->cuIpcCloseMemHandle != NULL;
}

static CtStatus check_ipc(const CtDevice *d, CtErr *err) {
  return has_ipc(d->cu) ? CT_OK
                        : ct_fail(err, CT_EUNSUPPORTED,
                                  "the CUDA driver shares no memory between processes; let one "
                                  "process have all devices");
}

/* The driver's name of a failure. */
static const char *name_of(const CtDevice *d, CuResult r) {
  const char *name = NULL;
  return d->cu->cuGetErrorName(r, &name) == CT_CUDA_SUCCESS && name != NULL ? name : "an error";
}

static CtStatus get(CtDevice *d, CtDevPtr p, CtIpcHandle *handle, uint64_t *offset, CtErr *err) {
  CuDevicePtr base = 0;
  size_t bytes = 0;
  CuIpcMemHandle h;
  if (!ct_device_enter_aside(d, err)) {
    return CT_EDEVICE;
  }
  CuResult r = d->cu->cuMemGetAddressRange_v2(&base, &bytes, p);
  r = r == CT_CUDA_SUCCESS ? d->cu->cuIpcGetMemHandle(&h, base) : r;
  ct_device_leave(d);
  if (r != CT_CUDA_SUCCESS) {
    return ct_fail(err, CT_EUNSUPPORTED,
                   "the driver does not share its memory with other processes (%s); memory of "
                   "cudaMalloc can be shared, and parts of sharded tensors",
                   name_of(d, r));
  }
  memcpy(handle->bytes, h.bytes, sizeof h.bytes);
  *offset = p - base;
  return CT_OK;
}

CtStatus ct_ipc_get(CtDevice *d, CtDevPtr p, CtIpcHandle *handle, uint64_t *offset, CtErr *err) {
  CtStatus s = check_ipc(d, err);
  CtShared *block = find_block(d, p);
  s = s == CT_OK ? get(d, p, handle, offset, err) : s;
  if (s == CT_OK && block != NULL) {
    block->is_open = true;
  }
  return s;
}

static CtStatus fail_open(CtDevice *d, const char *who, CuResult r, CtErr *err) {
  if (r == CT_CUDA_ERROR_PEER_ACCESS_UNSUPPORTED) {
    return ct_fail(
        err, CT_EUNSUPPORTED,
        "peer_tensor: kernels of cuda:%d cannot reach the memory of %s, because the hardware does "
        "not connect them directly; use collectives, such as r:all_gather(src, dst)",
        d->info.ordinal, who);
  }
  return ct_fail(
      err, CT_EUNSUPPORTED,
      "peer_tensor: cuda:%d cannot open the memory of %s (cuIpcOpenMemHandle: %s); processes "
      "that share memory need one container, and devices that both see",
      d->info.ordinal, who, name_of(d, r));
}

CtStatus ct_ipc_open(CtDevice *d, const CtIpcHandle *handle, const char *who, CtDevPtr *base,
                     CtErr *err) {
  CuIpcMemHandle h;
  CuDevicePtr p = 0;
  CtStatus s = check_ipc(d, err);
  if (s != CT_OK || !ct_device_enter_aside(d, err)) {
    return s != CT_OK ? s : CT_EDEVICE;
  }
  memcpy(h.bytes, handle->bytes, sizeof h.bytes);
  CuResult r = d->cu->cuIpcOpenMemHandle_v2(&p, h, CT_CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS);
  ct_device_leave(d);
  *base = p;
  return r == CT_CUDA_SUCCESS ? CT_OK : fail_open(d, who, r, err);
}

/* Launches of the stream may use it until now. */
void ct_ipc_close(CtDevice *d, CtDevPtr base, CtStream stream) {
  if (ct_device_enter_aside(d, NULL)) {
    (void)d->cu->cuStreamSynchronize(stream);
    (void)d->cu->cuIpcCloseMemHandle(base);
    ct_device_leave(d);
  }
}
