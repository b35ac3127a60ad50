/* storage.h: the memory behind tensors: a block of bytes on the host or on a device, shared by all
   tensors that look at it, with a count of them. It knows neither element types nor layouts.

   A storage is used by one thread at a time (the thread of its state): the count is a plain number.
   Device memory is freed in stream order, so a launch that still uses it finishes first. */
#ifndef CT_STORAGE_H
#define CT_STORAGE_H

#include "runtime/base/arena.h"
#include "runtime/base/blank.h"
#include "device.h"

/* Bytes, of memory on the host that is made here: a line of a GPU's cache, so that `profile` counts the same lines. */
enum { CT_STORAGE_ALIGN = 128 };

/* Takes back memory that a host application lent; called once, when the last tensor is gone. */
typedef void (*CtStorageFree)(void *ud, void *ptr, size_t bytes);

/* Some storages, to be looked through; each is in one set at most, and leaves it when it is freed. */
typedef struct CtStorageSet {
  struct CtStorage *first;
  size_t n;
  uint64_t n_changes;
} CtStorageSet;

typedef struct CtMirror CtMirror; /* storage_mirror.c */

typedef struct CtStorage {
  CtStorageSet *set; /* that it is in, or NULL, and its neighbours there */
  struct CtStorage *prev, *next;
  CtAlloc alloc;
  size_t n_refs;
  size_t bytes;
  void *host;         /* the memory when device is NULL; may be NULL when bytes is 0 */
  CtDevice *device;   /* NULL: on the host. Outlives the storage */
  CtBuffer buf;       /* the memory when device is set */
  CtStream stream;    /* device memory is freed in the order of this stream, and copied on it; a
                         launch on another stream puts its own stream here, after an event */
  void *block;        /* what was allocated on the host; NULL for lent memory */
  CtStorageFree free; /* of lent memory; may be NULL */
  void *free_ud;
  bool is_lent;
  bool is_read_only;    /* lent, to be read only */
  bool is_written;      /* lent, and something may have written it: ct_storage_may_write */
  bool is_shared;       /* other processes can open it */
  bool is_peer;         /* memory of another rank: only kernels use it */
  bool is_exposed;      /* somebody outside has its address and may use it at any time */
  CtMirror *mirror;     /* what the host keeps of memory on a device, or NULL */
  struct CtStorage *of; /* of a peer: whose memory this is; NULL: its own */
  bool is_awaited; /* a launch that has not begun uses it: the host must not, before that ran */
  int rank;        /* of a mesh, whose part it holds; -1: none */
  /* What nobody has written; NULL: all counts as written. Whoever writes `host` past these functions, or lets
     others do so, calls ct_blank_write or ct_blank_settle. */
  CtBlank *blank;
} CtStorage;

/* New memory with one reference; contents undefined. device NULL: on the host. */
CtStatus ct_storage_new(CtAlloc alloc, CtDevice *device, size_t bytes, CtStorage **out,
                        CtErr *err) CT_NODISCARD;

/* The same, which other processes can open where `device` is set. */
CtStatus ct_storage_new_shared(CtAlloc alloc, CtDevice *device, size_t bytes, CtStorage **out,
                               CtErr *err) CT_NODISCARD;

/* Memory of the host application: `ptr` is an address on the host, or, with a device, a CtDevPtr.
   `free` (or NULL) is called when the last reference goes; on failure it is not called. */
CtStatus ct_storage_wrap(CtAlloc alloc, CtDevice *device, void *ptr, size_t bytes,
                         CtStorageFree free, void *free_ud, CtStorage **out,
                         CtErr *err) CT_NODISCARD;

/* The same memory as kernels of another device use it, which must reach it (ct_device_reach). It keeps `of`. */
CtStatus ct_storage_peer(CtStorage *of, CtDevice *device, CtStorage **out, CtErr *err) CT_NODISCARD;

/* What another process needs to open the memory, which is on a device. CT_EUNSUPPORTED: it cannot be. */
CtStatus ct_storage_ipc(CtStorage *s, CtIpcHandle *handle, uint64_t *offset,
                        CtErr *err) CT_NODISCARD;

/* `bytes` from `offset` on of an allocation of another process, until the last reference goes. */
CtStatus ct_storage_open(CtAlloc alloc, CtDevice *device, const CtIpcHandle *handle,
                         uint64_t offset, size_t bytes, const char *who, CtStorage **out,
                         CtErr *err) CT_NODISCARD;

void ct_storage_enter(CtStorage *s, CtStorageSet *set);
void ct_storage_leave(CtStorage *s); /* the set that it is in; none: nothing happens */

static inline CtStorage *ct_storage_retain(CtStorage *s) {
  s->n_refs++;
  return s;
}
void ct_storage_release(CtStorage *s); /* NULL is allowed */

/* Address for a launch on the memory's own side: a host pointer, or a device pointer as an integer. For uses
   by way of this device's functions only. */
static inline uint64_t ct_storage_place(const CtStorage *s) {
  return s->device == NULL ? (uint64_t)(uintptr_t)s->host : s->buf.ptr;
}

/* The same for whoever may use it past these functions, now or later: nothing is kept of the memory from now
   on. */
CtStatus ct_storage_address(CtStorage *s, uint64_t *address, CtErr *err) CT_NODISCARD;

/* {====== Single elements ======

   The host keeps pages of a device's memory in which it reads or writes elements one by one. They hold as long
   as nothing else is asked of the device: the next call of any other function writes what changed and forgets
   them (ct_device_owe). Memory that others may change is not kept: lent, shared, exposed or a peer's. */

/* `bytes` (at most 8) at `at`, a multiple of them; a read waits for the work before it. */
CtStatus ct_storage_get(CtStorage *s, size_t at, void *dst, size_t bytes, CtErr *err) CT_NODISCARD;
CtStatus ct_storage_put(CtStorage *s, size_t at, const void *src, size_t bytes,
                        CtErr *err) CT_NODISCARD;

/* Whether such accesses keep pages; if not, each is a transfer. */
bool ct_storage_is_kept(const CtStorage *s);

/* May the memory be written? Whoever writes it past these functions, or for a launch, asks first. Lent memory is then
   noted as written, and so is that of a peer. */
CtStatus ct_storage_may_write(CtStorage *s, CtErr *err) CT_NODISCARD;

/* Copies between a storage and host memory, or two storages, wherever they are; a read waits for
   the work before it, and a write returns when `src` may be reused. Byte ranges lie inside
   (asserted). */
CtStatus ct_storage_read(const CtStorage *s, size_t at, void *dst, size_t bytes,
                         CtErr *err) CT_NODISCARD;
CtStatus ct_storage_write(CtStorage *s, size_t at, const void *src, size_t bytes,
                          CtErr *err) CT_NODISCARD;
/* Of memory that nothing enqueued uses: done at once, also while a stream is captured. */
CtStatus ct_storage_fill(CtStorage *s, const void *src, size_t bytes, CtErr *err) CT_NODISCARD;
CtStatus ct_storage_copy(const CtStorage *src, size_t src_at, CtStorage *dst, size_t dst_at,
                         size_t bytes, CtErr *err) CT_NODISCARD;
CtStatus ct_storage_set(CtStorage *s, size_t at, int byte, size_t bytes, CtErr *err) CT_NODISCARD;
/* Is it a device's, whose launches so far and from now on are in its own stream? Another stream's are not ordered
   with what is launched there now. */
bool ct_storage_is_in_order(const CtStorage *s);

#endif
