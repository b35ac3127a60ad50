/* bind_ranks.c: what the modules of stdlib/mesh need of C, by names with a leading `_`:
     _mesh.tensor(dtype, n, device, rank, is_shared)  n elements without values in a row there ("cpu", "cuda:1"), a
                     part of that rank; is_shared: other processes can open it
     _mesh.copy(dst, dst_at, src, src_at, n)         copies n elements; both tensors are rows of elements,
     _mesh.combine(dst, dst_at, src, src_at, n, op)  on the host: dst = dst op src; "sum", "max", "min"
     _mesh.zero(t)   the bytes of a row become 0
     _mesh.row(t)    the elements of a compact tensor as a row, in the order of memory; nil where it is not compact;
                     then the rank whose part it is, or -1
     _mesh.view(t, at, layout, dtype)  the same memory from element `at` of a row on, as elements of that type; nil
                     where the layout leaves it, or the row begins within such an element
     _mesh.peer(t)   a tensor of another rank as kernels of the current device use it
     _mesh.ipc(t)    what another process needs of a tensor's memory: the handle of the allocation, where the memory
                     begins there, its bytes, and the tensor's first element; nil and why, if there is none
     _mesh.open(like, handle, at, bytes, first, who)  such a tensor of another process, with the type and the layout of
                     `like`, as kernels of the current device use it; `who` says whose it is
     _mesh.meet(list)  what the devices of these tensors are given from now on comes after what they were given so far
     _launch.choose_device(text)  as device(text), but opens none; gives the text of the one before
     _mesh.enter_rank(rank, n, seconds)  the function of a rank of m:run, of n in this process, runs from now on, and its
                     kernels may wait so long for other ranks (nil: for ever); nil: none runs
     _launch.rank()         that rank, or nil
     _mesh.kernels_on(device)  the kernels that may still run there, as a text; nil: none is known, or it is the CPU
     _host.script_place() "script.lua:12", where the script is in this coroutine; nil where it has none */
#include <lauxlib.h>
#include <string.h>

#include "interp/algebra/bind.h"
#include "interp/openers.h"
#include "interp/state/diag.h"
#include "interp/state/recorder.h"
#include "interp/state/state.h"
#include "interp/tensor/tensor.h"
#include "runtime/layout/walk.h"
#include "runtime/simt/run/simt_combine.h"

/* {====== Tensors ====== */

static int mesh_tensor(lua_State *L) {
  CuttleState *s = state_of(L);
  CtDtype dtype = bind_to_dtype(L, 1, "shard");
  CtDevice *device;
  CtNode shape[1] = {{.i = ct_int(luaL_checkinteger(L, 2)), .rank = CT_LEAF, .len = 1}};
  CtNode stride[1] = {{.i = ct_int(1), .rank = CT_LEAF, .len = 1}};
  int rank = (int)luaL_checkinteger(L, 4);
  diag_try(L, state_check_device(s, luaL_checkstring(L, 3), diag_err(L)));
  diag_try(L, state_named_device(s, lua_tostring(L, 3), &device, diag_err(L)));
  Tensor *(*push)(lua_State *, const char *, CtDtype, CtLayout, CtDevice *) =
      lua_toboolean(L, 5) ? tensor_push_shared : tensor_push_alloc;
  Tensor *t = push(L, "shard", dtype, (CtLayout){shape, stride}, device);
  t->storage->rank = rank;
  return 1;
}

/* The tensor at idx is a row of elements that has those from `at` on. */
static Tensor *check_row(lua_State *L, int idx, lua_Integer at, lua_Integer n) {
  Tensor *t = tensor_check_recordable(L, idx, "mesh");
  luaL_argcheck(
      L, ct_is_leaf(t->layout.shape) && (t->layout.stride->i.v == 1 || t->layout.shape->i.v <= 1),
      idx, "no row");
  luaL_argcheck(L, at >= 0 && n >= 0 && n <= t->layout.shape->i.v - at, idx, "out of range");
  if (ct_dtype_is_packed(t->dtype)) {
    diag_error(L,
               "mesh: two elements of %s share a byte, so a part of them is no row of bytes; "
               "shard the bytes, recast(t, u8)",
               ct_dtypes[t->dtype].name);
  }
  return t;
}

/* (dst, dst_at, src, src_at, n, ...) */
typedef struct Move {
  Tensor *dst, *src;
  size_t dst_at, src_at; /* bytes in the storages */
  lua_Integer n;
} Move;

static Move check_move(lua_State *L) {
  lua_Integer dst_at = luaL_checkinteger(L, 2), src_at = luaL_checkinteger(L, 4);
  lua_Integer n = luaL_checkinteger(L, 5);
  Move m = {.dst = check_row(L, 1, dst_at, n), .src = check_row(L, 3, src_at, n), .n = n};
  luaL_argcheck(L, m.dst->dtype == m.src->dtype, 3, "another type");
  m.dst_at = tensor_byte(m.dst, dst_at);
  m.src_at = tensor_byte(m.src, src_at);
  return m;
}

static int mesh_copy(lua_State *L) {
  Move m = check_move(L);
  StateRecorder *r = state_of(L)->taps.recorder;
  if (r != NULL) {
    diag_try(L, recorder_copy(r, m.src->storage, m.src_at, m.dst->storage, m.dst_at,
                              (size_t)ct_dtype_span(m.src->dtype, m.n), diag_err(L)));
    return 0;
  }
  state_host_uses(L, "a collective");
  diag_try(L, ct_storage_copy(m.src->storage, m.src_at, m.dst->storage, m.dst_at,
                              (size_t)ct_dtype_span(m.src->dtype, m.n), diag_err(L)));
  return 0;
}

static char *host_at(lua_State *L, const Tensor *t, size_t at) {
  if (t->storage->device != NULL) {
    diag_error(L, "mesh: the tensor is not on the host");
  }
  ct_blank_settle(t->storage->blank);
  return (char *)t->storage->host + at;
}

static int mesh_combine(lua_State *L) {
  static const char *const names[] = {"sum", "max", "min", NULL};
  Move m = check_move(L);
  CtCombine op = (CtCombine)luaL_checkoption(L, 6, "sum", names);
  state_host_uses(L, "a collective");
  diag_try(L, ct_storage_may_write(m.dst->storage, diag_err(L)));
  lua_pushboolean(L, ct_combine(m.dst->dtype, op, host_at(L, m.dst, m.dst_at),
                                host_at(L, m.src, m.src_at), m.n));
  return 1;
}

static int mesh_zero(lua_State *L) {
  const Tensor *t = check_row(L, 1, 0, 0);
  StateRecorder *r = state_of(L)->taps.recorder;
  size_t bytes = (size_t)ct_dtype_span(t->dtype, t->layout.shape->i.v);
  if (r != NULL) {
    diag_try(L, recorder_set(r, t->storage, tensor_byte(t, 0), 0, bytes, diag_err(L)));
    return 0;
  }
  state_host_uses(L, "a collective");
  diag_try(L, ct_storage_set(t->storage, tensor_byte(t, 0), 0, bytes, diag_err(L)));
  return 0;
}

static int mesh_row(lua_State *L) {
  CtCx cx = bind_enter(L);
  const Tensor *t = tensor_check_live(L, 1, "mesh");
  int64_t n;
  if (!bind_is_compact(&cx, t->layout, &n)) {
    lua_pushnil(L);
    lua_pushinteger(L, t->storage->rank);
    return 2;
  }
  CtNode shape[1] = {{.i = ct_int(n), .rank = CT_LEAF, .len = 1}};
  CtNode stride[1] = {{.i = ct_int(1), .rank = CT_LEAF, .len = 1}};
  tensor_push_host(L, t->dtype, (CtLayout){shape, stride}, t->offset, t->storage);
  lua_pushinteger(L, t->storage->rank);
  return 2;
}

/* The first element of a row, in elements of another type; false: it does not begin at one. */
static bool first_of(const Tensor *t, CtDtype dtype, int64_t *first) {
  *first = ct_dtype_count(dtype, (int64_t)tensor_byte(t, 0));
  return tensor_begins_at_byte(t) && ct_dtype_byte(dtype, *first) == (int64_t)tensor_byte(t, 0);
}

static int mesh_view(lua_State *L) {
  CtCx cx = bind_enter(L);
  const Tensor *t = tensor_check_live(L, 1, "mesh");
  lua_Integer at = luaL_checkinteger(L, 2);
  CtLayout layout = bind_to_layout(L, 3, &cx, "mesh");
  CtDtype dtype = lua_isnoneornil(L, 4) ? t->dtype : bind_to_dtype(L, 4, "mesh");
  int64_t first, lo, hi, size;
  int64_t n = ct_dtype_count(dtype, ct_dtype_span(t->dtype, t->layout.shape->i.v));
  diag_try(L, ct_walk_bounds(layout, &lo, &hi, &size, diag_err(L)));
  if (at < 0 || !first_of(t, dtype, &first) || (size > 0 && (lo < 0 || hi >= n - at))) {
    return 0;
  }
  tensor_push_host(L, dtype, layout, ct_int(first + at), t->storage);
  return 1;
}

/* A tensor just made gets other memory. */
static void put_storage(Tensor *t, CtStorage *storage) {
  ct_storage_release(t->storage);
  t->storage = storage;
}

static int mesh_peer(lua_State *L) {
  CuttleState *s = state_of(L);
  const Tensor *t = tensor_check_live(L, 1, "peer_tensor");
  CtDevice *device;
  CtStorage *peer;
  diag_try(L, state_device(s, &device, diag_err(L)));
  if ((device == NULL) != (t->storage->device == NULL)) {
    return diag_error(L, "peer_tensor: the tensor is on %s, but kernels on %s are meant to use it",
                      t->storage->device == NULL ? "the CPU" : "a GPU",
                      device == NULL ? "the CPU engine" : "a GPU");
  }
  if (device != NULL) {
    diag_try(L, ct_device_reach(device, t->storage->device, diag_err(L)));
  }
  Tensor *out = tensor_push_part(L, t, t->layout, t->offset, NULL);
  diag_try(L, ct_storage_peer(t->storage, device, &peer, diag_err(L)));
  put_storage(out, peer);
  return 1;
}

/* The devices of the tensors in the list at 1, each once. */
static int list_devices(lua_State *L, CtDevice *devices[STATE_MAX_DEVICES]) {
  luaL_checktype(L, 1, LUA_TTABLE);
  lua_Integer n = luaL_len(L, 1);
  int count = 0;
  for (lua_Integer i = 1; i <= n; i++) {
    lua_rawgeti(L, 1, i);
    CtDevice *d = tensor_check_live(L, -1, "mesh")->storage->device;
    int at = 0;
    while (at < count && devices[at] != d) {
      at++;
    }
    if (d != NULL && at == count && count < STATE_MAX_DEVICES) {
      devices[count++] = d;
    }
    lua_pop(L, 1);
  }
  return count;
}

/* All main streams wait for an event on that of device i. */
static CtStatus wait_for(CtDevice *const *devices, int n, int i, CtErr *err) {
  CtEvent e = NULL;
  CtStatus s = ct_mark_new(devices[i], &e, err);
  s = s == CT_OK ? ct_event_record(devices[i], e, ct_device_stream(devices[i]), err) : s;
  for (int k = 0; k < n && s == CT_OK; k++) {
    s = k == i ? CT_OK : ct_stream_wait(devices[k], ct_device_stream(devices[k]), e, err);
  }
  ct_event_free(devices[i], e);
  return s;
}

static int mesh_meet(lua_State *L) {
  CtDevice *devices[STATE_MAX_DEVICES];
  int n = list_devices(L, devices);
  for (int i = 0; i < n && n > 1; i++) {
    diag_try(L, wait_for(devices, n, i, diag_err(L)));
  }
  return 0;
}

static int mesh_ipc(lua_State *L) {
  const Tensor *t = tensor_check_live(L, 1, "peers");
  CtIpcHandle handle;
  uint64_t offset = 0;
  CtErr err;
  if (t->storage->device == NULL) {
    lua_pushnil(L);
    lua_pushliteral(L, "it lies on the CPU");
    return 2;
  }
  if (ct_storage_ipc(t->storage, &handle, &offset, &err) != CT_OK) {
    lua_pushnil(L);
    lua_pushstring(L, err.msg);
    return 2;
  }
  lua_pushlstring(L, (const char *)handle.bytes, sizeof handle.bytes);
  lua_pushinteger(L, (lua_Integer)offset);
  lua_pushinteger(L, (lua_Integer)t->storage->bytes);
  lua_pushinteger(L, t->offset.v);
  return 4;
}

static CtIpcHandle check_handle(lua_State *L, int idx) {
  CtIpcHandle handle;
  size_t len;
  const char *bytes = luaL_checklstring(L, idx, &len);
  luaL_argcheck(L, len == sizeof handle.bytes, idx, "no handle");
  memcpy(handle.bytes, bytes, len);
  return handle;
}

static int mesh_open(lua_State *L) {
  CuttleState *s = state_of(L);
  const Tensor *like = tensor_check_live(L, 1, "peers");
  CtIpcHandle handle = check_handle(L, 2);
  uint64_t at = (uint64_t)luaL_checkinteger(L, 3);
  size_t bytes = (size_t)luaL_checkinteger(L, 4);
  CtInt first = ct_int(luaL_checkinteger(L, 5));
  CtDevice *device;
  CtStorage *opened;
  diag_try(L, state_device(s, &device, diag_err(L)));
  luaL_argcheck(L, device != NULL, 1, "no GPU");
  Tensor *out = tensor_push_part(L, like, like->layout, first, NULL);
  diag_try(L, ct_storage_open(s->alloc, device, &handle, at, bytes, luaL_checkstring(L, 6), &opened,
                              diag_err(L)));
  put_storage(out, opened);
  return 1;
}

/* {====== Ranks ====== */

/* A graph of all ranks records what the rank gives its device. */
static void record_device(lua_State *L, CuttleState *s) {
  StateRecorder *part;
  CtDevice *device;
  if (s->taps.recorder != NULL && s->taps.recorder->rank < 0 && s->rank >= 0) {
    diag_try(L, state_device(s, &device, diag_err(L)));
    diag_try(L, recorder_part(s->taps.recorder, device, &part, diag_err(L)));
  }
}

static int enter_rank(lua_State *L) {
  CuttleState *s = state_of(L);
  s->rank = lua_isnil(L, 1) ? -1 : (int)luaL_checkinteger(L, 1);
  s->n_ranks = (int)luaL_optinteger(L, 2, 0);
  s->rank_seconds = luaL_optnumber(L, 3, 0);
  record_device(L, s);
  return 0;
}

static int choose_device(lua_State *L) {
  CuttleState *s = state_of(L);
  lua_pushstring(L, s->device_text);
  diag_try(L, state_check_device(s, luaL_checkstring(L, 1), diag_err(L)));
  diag_try(L, state_choose_device(s, lua_tostring(L, 1), diag_err(L)));
  return 1;
}

static int rank_now(lua_State *L) {
  int rank = state_of(L)->rank;
  if (rank >= 0) {
    lua_pushinteger(L, rank);
  } else {
    lua_pushnil(L);
  }
  return 1;
}

static int kernels_on(lua_State *L) {
  CtDevice *device;
  char text[400];
  diag_try(L, state_named_device(state_of(L), luaL_checkstring(L, 1), &device, diag_err(L)));
  if (device != NULL && ct_device_suspects(device, text, sizeof text) > 0) {
    lua_pushstring(L, text);
  } else {
    lua_pushnil(L);
  }
  return 1;
}

static int script_place(lua_State *L) {
  lua_Debug ar;
  if (diag_find_script(L, &ar)) {
    lua_pushfstring(L, "%s:%d", ar.short_src, ar.currentline);
  } else {
    lua_pushnil(L);
  }
  return 1;
}

static const luaL_Reg functions[] = {{"_mesh.tensor", mesh_tensor},
                                     {"_mesh.copy", mesh_copy},
                                     {"_mesh.combine", mesh_combine},
                                     {"_mesh.zero", mesh_zero},
                                     {"_mesh.view", mesh_view},
                                     {"_mesh.row", mesh_row},
                                     {"_mesh.peer", mesh_peer},
                                     {"_launch.choose_device", choose_device},
                                     {"_mesh.ipc", mesh_ipc},
                                     {"_mesh.open", mesh_open},
                                     {"_mesh.meet", mesh_meet},
                                     {"_mesh.enter_rank", enter_rank},
                                     {"_launch.rank", rank_now},
                                     {"_mesh.kernels_on", kernels_on},
                                     {"_host.script_place", script_place},
                                     {NULL, NULL}};

void bind_open_ranks(lua_State *L) { luaL_setfuncs(L, functions, 0); }
