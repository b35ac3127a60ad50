/* storage.c: memory of tensors, on the host or on a device. */
#include "storage.h"

#include <string.h>

#include "storage_mirror.h"

static size_t padded(size_t bytes) { return bytes + CT_STORAGE_ALIGN; }

static CtStatus new_host(CtStorage *s, CtErr *err) {
  if (s->bytes > SIZE_MAX / 2) {
    return ct_fail_nomem(err);
  }
  s->block = ct_alloc(s->alloc, padded(s->bytes));
  if (s->block == NULL) {
    return ct_fail(err, CT_ENOMEM, "not enough memory for a tensor of %zu bytes", s->bytes);
  }
  size_t past = (uintptr_t)s->block % CT_STORAGE_ALIGN;
  s->host = (char *)s->block + (CT_STORAGE_ALIGN - past);
  return CT_OK;
}

static CtStatus new_device(CtStorage *s, CtErr *err) {
  s->stream = ct_device_stream(s->device);
  return s->is_shared ? ct_shared_new(s->device, s->bytes, s->stream, &s->buf, err)
                      : ct_buffer_take(s->device, s->bytes, &s->buf, err);
}

static CtStatus new_storage(CtAlloc alloc, CtDevice *device, size_t bytes, bool is_shared,
                            CtStorage **out, CtErr *err) {
  CtStorage *s = ct_alloc(alloc, sizeof *s);
  if (s == NULL) {
    return ct_fail_nomem(err);
  }
  *s = (CtStorage){.alloc = alloc, .n_refs = 1, .bytes = bytes, .device = device, .rank = -1};
  s->is_shared = is_shared && device != NULL;
  CtStatus status = device == NULL ? new_host(s, err) : new_device(s, err);
  if (status != CT_OK) {
    ct_free(alloc, s, sizeof *s);
    return status;
  }
  *out = s;
  return CT_OK;
}

CtStatus ct_storage_new(CtAlloc alloc, CtDevice *device, size_t bytes, CtStorage **out,
                        CtErr *err) {
  return new_storage(alloc, device, bytes, false, out, err);
}

CtStatus ct_storage_new_shared(CtAlloc alloc, CtDevice *device, size_t bytes, CtStorage **out,
                               CtErr *err) {
  return new_storage(alloc, device, bytes, true, out, err);
}

CtStatus ct_storage_wrap(CtAlloc alloc, CtDevice *device, void *ptr, size_t bytes,
                         CtStorageFree free, void *free_ud, CtStorage **out, CtErr *err) {
  CtStorage *s = ct_alloc(alloc, sizeof *s);
  if (s == NULL) {
    return ct_fail_nomem(err);
  }
  *s = (CtStorage){.alloc = alloc, .n_refs = 1, .bytes = bytes, .device = device, .is_lent = true};
  s->free = free;
  s->rank = -1;
  s->free_ud = free_ud;
  if (device == NULL) {
    s->host = ptr;
  } else {
    s->stream = ct_device_stream(device);
    s->buf = (CtBuffer){.ptr = (CtDevPtr)(uintptr_t)ptr, .bytes = bytes};
  }
  *out = s;
  return CT_OK;
}

CtStatus ct_storage_address(CtStorage *s, uint64_t *address, CtErr *err) {
  s->is_exposed = true;
  *address = ct_storage_place(s);
  return s->device == NULL ? CT_OK : ct_device_settle(s->device, err);
}

static void release_of(void *of, void *ptr, size_t bytes) {
  (void)ptr;
  (void)bytes;
  ct_storage_release(of);
}

CtStatus ct_storage_peer(CtStorage *of, CtDevice *device, CtStorage **out, CtErr *err) {
  uint64_t at;
  CtStatus status = ct_storage_address(of, &at, err);
  void *ptr = (void *)(uintptr_t)at;
  status = status == CT_OK
               ? ct_storage_wrap(of->alloc, device, ptr, of->bytes, release_of, of, out, err)
               : status;
  if (status == CT_OK) {
    (*out)->of = ct_storage_retain(of);
    (*out)->is_peer = true;
    (*out)->is_read_only = of->is_read_only;
    ct_blank_settle(of->blank);
  }
  return status;
}

CtStatus ct_storage_ipc(CtStorage *s, CtIpcHandle *handle, uint64_t *offset, CtErr *err) {
  if (!s->is_shared && !s->is_lent && ct_device_info(s->device)->has_pools) {
    return ct_fail(err, CT_EUNSUPPORTED,
                   "it is in memory private to this process; use a part of a sharded tensor, as "
                   "m:zeros(dtype, shape, spec) makes it");
  }
  uint64_t at;
  CtStatus status = ct_storage_address(s, &at, err);
  return status == CT_OK ? ct_ipc_get(s->device, at, handle, offset, err) : status;
}

typedef struct Opened { /* what free_ud of such a storage is */
  CtStorage *storage;
  CtDevPtr base;
} Opened;

static void close_opened(void *ud, void *ptr, size_t bytes) {
  Opened *o = ud;
  CtStorage *s = o->storage;
  (void)ptr;
  (void)bytes;
  ct_ipc_close(s->device, o->base, s->stream);
  ct_free(s->alloc, o, sizeof *o);
}

static CtStatus wrap_opened(CtAlloc alloc, CtDevice *device, Opened *o, uint64_t offset,
                            size_t bytes, CtErr *err) {
  void *ptr = (void *)(uintptr_t)(o->base + offset);
  CtStatus s = ct_storage_wrap(alloc, device, ptr, bytes, close_opened, o, &o->storage, err);
  if (s == CT_OK) {
    o->storage->is_peer = true;
  } else {
    ct_ipc_close(device, o->base, ct_device_stream(device));
  }
  return s;
}

CtStatus ct_storage_open(CtAlloc alloc, CtDevice *device, const CtIpcHandle *handle,
                         uint64_t offset, size_t bytes, const char *who, CtStorage **out,
                         CtErr *err) {
  Opened *o = ct_alloc(alloc, sizeof *o);
  if (o == NULL) {
    return ct_fail_nomem(err);
  }
  CtStatus s = ct_ipc_open(device, handle, who, &o->base, err);
  s = s == CT_OK ? wrap_opened(alloc, device, o, offset, bytes, err) : s;
  if (s != CT_OK) {
    ct_free(alloc, o, sizeof *o);
    return s;
  }
  *out = o->storage;
  return CT_OK;
}

static void free_memory(CtStorage *s) {
  if (!s->is_lent && s->device == NULL) {
    ct_free(s->alloc, s->block, padded(s->bytes));
  } else if (s->is_shared) {
    ct_shared_free(s->device, &s->buf, s->stream);
  } else if (!s->is_lent) {
    ct_buffer_keep(s->device, &s->buf, s->stream);
  } else if (s->free != NULL) {
    s->free(s->free_ud, s->device == NULL ? s->host : (void *)(uintptr_t)s->buf.ptr, s->bytes);
  }
}

void ct_storage_enter(CtStorage *s, CtStorageSet *set) {
  s->set = set;
  s->prev = NULL;
  s->next = set->first;
  if (set->first != NULL) {
    set->first->prev = s;
  }
  set->first = s;
  set->n++;
  set->n_changes++;
}

void ct_storage_leave(CtStorage *s) {
  if (s->set == NULL) {
    return;
  }
  *(s->prev == NULL ? &s->set->first : &s->prev->next) = s->next;
  if (s->next != NULL) {
    s->next->prev = s->prev;
  }
  s->set->n--;
  s->set->n_changes++;
  s->set = NULL;
}

void ct_storage_release(CtStorage *s) {
  if (s == NULL || --s->n_refs > 0) {
    return;
  }
  ct_storage_leave(s);
  ct_mirror_drop(s);
  ct_blank_free(s->alloc, s->blank);
  free_memory(s);
  ct_free(s->alloc, s, sizeof *s);
}

static void assert_within(const CtStorage *s, size_t at, size_t bytes) {
  CT_ASSERT(at <= s->bytes && bytes <= s->bytes - at);
  (void)s;
  (void)at;
  (void)bytes;
}

static void copy_bytes(void *dst, const void *src, size_t bytes) {
  if (bytes > 0) {
    memmove(dst, src, bytes);
  }
}

static char *host_at(const CtStorage *s, size_t at) {
  return s->host == NULL ? NULL : (char *)s->host + at;
}

CtStatus ct_storage_may_write(CtStorage *s, CtErr *err) {
  if (!s->is_lent) {
    return CT_OK;
  }
  if (s->is_read_only) {
    return ct_fail(err, CT_EINVAL, "the memory is read-only: its owner lent it so; write a copy");
  }
  s->is_written = true;
  return s->of == NULL ? CT_OK : ct_storage_may_write(s->of, err);
}

/* Is there something to write, which may be written? */
static bool begin_write(CtStorage *s, size_t at, size_t bytes, CtStatus *status, CtErr *err) {
  assert_within(s, at, bytes);
  *status = bytes == 0 ? CT_OK : ct_storage_may_write(s, err);
  return bytes > 0 && *status == CT_OK;
}

CtStatus ct_storage_read(const CtStorage *s, size_t at, void *dst, size_t bytes, CtErr *err) {
  assert_within(s, at, bytes);
  if (bytes == 0) {
    return CT_OK;
  }
  if (s->device != NULL) {
    return ct_device_read(s->device, dst, s->buf.ptr + at, bytes, s->stream, err);
  }
  copy_bytes(dst, host_at(s, at), bytes);
  return CT_OK;
}

CtStatus ct_storage_write(CtStorage *s, size_t at, const void *src, size_t bytes, CtErr *err) {
  CtStatus status;
  if (!begin_write(s, at, bytes, &status, err)) {
    return status;
  }
  if (s->device != NULL) {
    return ct_device_write(s->device, s->buf.ptr + at, src, bytes, s->stream, err);
  }
  ct_blank_write(s->blank, at, bytes);
  copy_bytes(host_at(s, at), src, bytes);
  return CT_OK;
}

CtStatus ct_storage_fill(CtStorage *s, const void *src, size_t bytes, CtErr *err) {
  CtStatus status;
  if (s->device == NULL || !begin_write(s, 0, bytes, &status, err)) {
    return s->device == NULL ? ct_storage_write(s, 0, src, bytes, err) : status;
  }
  return ct_device_write_new(s->device, s->buf.ptr, src, bytes, s->stream, err);
}

/* Between two devices, and between two streams: by way of the host, which also orders the work. */
static CtStatus copy_staged(const CtStorage *src, size_t src_at, CtStorage *dst, size_t dst_at,
                            size_t bytes, CtErr *err) {
  void *stage = ct_alloc(src->alloc, bytes);
  if (stage == NULL) {
    return ct_fail_nomem(err);
  }
  CtStatus status = ct_storage_read(src, src_at, stage, bytes, err);
  status = status == CT_OK ? ct_storage_write(dst, dst_at, stage, bytes, err) : status;
  ct_free(src->alloc, stage, bytes);
  return status;
}

CtStatus ct_storage_copy(const CtStorage *src, size_t src_at, CtStorage *dst, size_t dst_at,
                         size_t bytes, CtErr *err) {
  CtStatus status;
  assert_within(src, src_at, bytes);
  if (!begin_write(dst, dst_at, bytes, &status, err)) {
    return status;
  }
  if (src->device == NULL) {
    return ct_storage_write(dst, dst_at, host_at(src, src_at), bytes, err);
  }
  if (dst->device == NULL) {
    ct_blank_write(dst->blank, dst_at, bytes);
    return ct_storage_read(src, src_at, host_at(dst, dst_at), bytes, err);
  }
  if (src->device == dst->device && src->stream == dst->stream) {
    return ct_device_copy(src->device, dst->buf.ptr + dst_at, src->buf.ptr + src_at, bytes,
                          src->stream, err);
  }
  return copy_staged(src, src_at, dst, dst_at, bytes, err);
}

bool ct_storage_is_in_order(const CtStorage *s) {
  return s->device != NULL && s->stream == ct_device_stream(s->device);
}

CtStatus ct_storage_set(CtStorage *s, size_t at, int byte, size_t bytes, CtErr *err) {
  CtStatus status;
  if (!begin_write(s, at, bytes, &status, err)) {
    return status;
  }
  if (s->device != NULL) {
    return ct_device_set(s->device, s->buf.ptr + at, byte, bytes, s->stream, err);
  }
  ct_blank_write(s->blank, at, bytes);
  memset(host_at(s, at), byte, bytes);
  return CT_OK;
}

/* {====== Single elements ====== */

bool ct_storage_is_kept(const CtStorage *s) {
  return s->device != NULL && !s->is_lent && !s->is_shared && !s->is_peer && !s->is_exposed;
}

CtStatus ct_storage_get(CtStorage *s, size_t at, void *dst, size_t bytes, CtErr *err) {
  assert_within(s, at, bytes);
  return ct_storage_is_kept(s) ? ct_mirror_get(s, at, dst, bytes, err)
                               : ct_storage_read(s, at, dst, bytes, err);
}

CtStatus ct_storage_put(CtStorage *s, size_t at, const void *src, size_t bytes, CtErr *err) {
  assert_within(s, at, bytes);
  return ct_storage_is_kept(s) ? ct_mirror_put(s, at, src, bytes, err)
                               : ct_storage_write(s, at, src, bytes, err);
}
