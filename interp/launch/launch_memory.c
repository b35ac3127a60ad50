/* launch_memory.c: memory of a host as a tensor; launch_memory.h. */
#include "launch_site.h"

#include <lauxlib.h>

#include "interp/algebra/bind.h"
#include "interp/state/diag.h"
#include "runtime/base/size.h"
#include "runtime/layout/walk.h"

enum { MAX_RANK = 32 };

void launch_check_memory(lua_State *L, const cuttle_Memory *m, const char *what) {
  if (m == NULL) {
    diag_error(L, "%s: the memory is NULL", what);
  }
  if (m->rank < 0 || m->rank > MAX_RANK || (m->rank > 0 && m->shape == NULL)) {
    diag_error(L, "%s: memory of rank %d with its shape at %p; expected a rank of 0 to %d", what,
               (int)m->rank, (const void *)m->shape, MAX_RANK);
  }
  if ((int)m->dtype < CUTTLE_F64 || m->dtype >= CUTTLE_DTYPE_END) {
    diag_error(L, "%s: %d is not an element type; one of cuttle_DType was expected", what,
               (int)m->dtype);
  }
  if (m->device < -1 || m->device >= STATE_MAX_DEVICES) {
    diag_error(L, "%s: device %d; expected -1, the host, or the number of a CUDA device", what,
               (int)m->device);
  }
}

CtStatus launch_check_pointer(const char *what, const void *ptr, size_t bytes, CtDtype dtype,
                              CtErr *err) {
  if (ptr == NULL && bytes > 0) {
    return ct_fail(err, CT_EINVAL, "%s: the pointer is NULL; the elements span %zu bytes", what,
                   bytes);
  }
  if (!ct_dtype_begins_at(dtype, (uintptr_t)ptr)) {
    return ct_fail(err, CT_EINVAL,
                   "%s: the address %p is not a multiple of %zu, the bytes of an element of %s; "
                   "copy the elements to an address that is one",
                   what, ptr, ct_value_bytes(dtype), ct_dtypes[dtype].name);
  }
  return CT_OK;
}

static CtLayout layout_of(lua_State *L, const cuttle_Memory *m, const char *what) {
  CtInt shape[MAX_RANK], stride[MAX_RANK];
  CtCx cx = bind_enter(L);
  int64_t dense = 1;
  for (int i = m->rank - 1; i >= 0; i--) {
    shape[i] = ct_int(m->shape[i]);
    int64_t given = m->stride == NULL ? dense : m->stride[i];
    stride[i] = ct_int(m->shape[i] <= 1 && given < 0 ? 0 : given); /* it leads nowhere */
    dense = ct_call_next_stride(dense, m->shape[i]);
  }
  for (int i = 0; i < m->rank; i++) {
    if (shape[i].v < 0 || stride[i].v < 0) {
      diag_error(L, "%s: mode %d has extent %I and stride %I; expected both to be >= 0", what, i,
                 (LUAI_UACINT)shape[i].v, (LUAI_UACINT)stride[i].v);
    }
  }
  CtLayout l = {ct_leaf(cx.arena, m->rank == 1 ? shape[0] : ct_int(1)),
                ct_leaf(cx.arena, m->rank == 1 ? stride[0] : ct_int(0))};
  if (m->rank > 1) {
    l = (CtLayout){ct_tuple_ints(cx.arena, m->rank, shape),
                   ct_tuple_ints(cx.arena, m->rank, stride)};
  }
  if (l.shape == NULL || l.stride == NULL) {
    luaL_error(L, "not enough memory");
  }
  return l;
}

Tensor *launch_push_lent(lua_State *L, const cuttle_Memory *m, const char *what, size_t *bytes) {
  launch_check_memory(L, m, what);
  CtLayout l = layout_of(L, m, what);
  int64_t lo, hi, size;
  CtErr err;
  CtStatus status = ct_walk_bounds(l, &lo, &hi, &size, &err);
  if (status != CT_OK) {
    ct_err_prefix(&err, "%s", what);
  }
  diag_check(L, status, &err);
  int64_t last = hi < lo ? -1 : hi;
  if (last == INT64_MAX || !ct_dtype_span_fits((CtDtype)m->dtype, last + 1, bytes)) {
    diag_error(L, "%s: the memory spans more bytes than there can be", what);
  }
  diag_check(L, launch_check_pointer(what, m->ptr, *bytes, (CtDtype)m->dtype, &err), &err);
  return tensor_push_new(L, (CtDtype)m->dtype, l, ct_int(0));
}

CtStatus launch_lend(CuttleState *s, Tensor *t, const cuttle_Memory *m, size_t bytes,
                     CtStorageFree free, void *free_ud, CtErr *err) {
  CtDevice *d = NULL;
  CtStatus st = m->device < 0 ? CT_OK : state_cuda(s, m->device, &d, err);
  if (st != CT_OK) {
    ct_err_prefix(err, "memory with device = %d, a CUDA device; -1 is the host", (int)m->device);
  } else {
    st = ct_storage_wrap(s->alloc, d, m->ptr, bytes, free, free_ud, &t->storage, err);
  }
  if (st != CT_OK) {
    return st;
  }
  t->storage->is_read_only = m->is_read_only != 0;
  if (d == NULL) {
    ct_storage_enter(t->storage, &s->memory.storages);
  }
  return CT_OK;
}
