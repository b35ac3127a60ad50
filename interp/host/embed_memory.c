/* embed_memory.c: the memory of a script's tensors, as a host describes memory, and held by it. */
#include "interp/algebra/bind.h"
#include "interp/host/embed.h"
#include "interp/state/recorder.h"
#include "interp/state/state.h"

typedef struct Modes {
  int n, max;
  int64_t *shape, *stride;
} Modes;

static bool add_mode(Modes *m, CtTuple shape, CtTuple stride) {
  if (m->n == m->max || !ct_is_static(shape->i) || !ct_is_static(stride->i)) {
    return false;
  }
  m->shape[m->n] = shape->i.v;
  m->stride[m->n] = stride->i.v;
  m->n++;
  return true;
}

/* One mode of a tensor: as few modes of memory as can say it. */
static bool add_modes(lua_State *L, Modes *m, const CtCx *cx, CtLayout mode) {
  CtErr err;
  CtLayout flat;
  diag_check(L, ct_coalesce(cx, mode, NULL, &flat, &err), &err);
  if (ct_is_leaf(flat.shape)) {
    return add_mode(m, flat.shape, flat.stride);
  }
  for (int i = 0; i < ct_rank(flat.shape); i++) {
    CtLayout one = ct_mode(flat, i);
    if (!add_mode(m, one.shape, one.stride)) {
      return false;
    }
  }
  return true;
}

static bool describe(lua_State *L, const Tensor *t, Modes *m) {
  CtCx cx = bind_enter(L);
  bool is_one = ct_is_leaf(t->layout.shape);
  for (int i = 0; i < ct_layout_rank(t->layout); i++) {
    if (!add_modes(L, m, &cx, is_one ? t->layout : ct_mode(t->layout, i))) {
      return false;
    }
  }
  return true;
}

/* The tensor at idx if it has memory that strides can say; else NULL. */
static const Tensor *find_tensor(lua_State *L, int idx) {
  CtErr err;
  const Tensor *t = tensor_peek(L, idx);
  bool has_memory = t != NULL && !t->in_kernel && t->at == NULL && t->storage != NULL &&
                    tensor_live(t, &err) == CT_OK;
  return has_memory && t->swizzle.bits == 0 && ct_is_static(t->offset) &&
                 ct_layout_is_static(t->layout) && t->dtype >= (CtDtype)CUTTLE_F64 &&
                 t->dtype < (CtDtype)CUTTLE_F4E2M1
             ? t
             : NULL;
}

int cuttle_describe(cuttle_State *S, int idx, cuttle_Memory *memory, int64_t *extents,
                    int max_rank) {
  lua_State *L = S->L;
  const Tensor *t = find_tensor(L, idx);
  Modes m = {.max = max_rank};
  m.shape = extents;
  m.stride = extents + max_rank;
  if (t == NULL || !tensor_begins_at_byte(t) || !describe(L, t, &m)) {
    return 0;
  }
  state_host_uses(L, "cuttle_describe");
  const CtStorage *storage = t->storage;
  uint64_t first = 0;
  CtErr err;
  if (ct_storage_address(t->storage, &first, &err) != CT_OK) {
    return 0; /* the device is lost */
  }
  uint64_t at = first + tensor_byte(t, 0);
  *memory = (cuttle_Memory){
      .ptr = storage->bytes == 0 ? NULL
                                 : (void *)(uintptr_t)at, /* NOLINT(performance-no-int-to-ptr) */
      .shape = m.shape,
      .stride = m.stride,
      .rank = m.n,
      .dtype = (cuttle_DType)t->dtype,
      .device = storage->device == NULL ? -1 : ct_device_info(storage->device)->ordinal,
      .is_read_only = storage->is_read_only};
  return 1;
}

cuttle_Hold *cuttle_hold(cuttle_State *S, int idx) {
  const Tensor *t = find_tensor(S->L, idx);
  if (t == NULL || t->storage->is_lent) {
    return NULL;
  }
  ct_blank_settle(t->storage->blank); /* the host may write it, and nobody is told */
  return (cuttle_Hold *)(void *)ct_storage_retain(t->storage);
}

/* Whoever used memory of a device may still do so, in a stream of its own. A device that fails fails later, too. */
void cuttle_drop(cuttle_State *S, cuttle_Hold *hold) {
  CtStorage *storage = (CtStorage *)(void *)hold;
  bool waits = S != NULL && storage != NULL && storage->device != NULL && storage->n_refs == 1;
  if (waits && ct_device_synchronize(storage->device, NULL) != CT_OK) {
    state_log(S, "a device failed while memory was given back");
  }
  ct_storage_release(storage);
}
