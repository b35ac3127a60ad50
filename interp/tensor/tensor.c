/* tensor.c: the userdata of tensors, and what messages call them. */
#include "tensor.h"

#include <lauxlib.h>
#include <string.h>

#include "interp/algebra/bind.h"
#include "interp/state/diag.h"
#include "interp/trace/front.h"
#include "runtime/base/size.h"
#include "runtime/layout/walk.h"
#include "runtime/watch/check.h"
#include "interp/state/recorder.h"
#include "interp/state/state.h"

/* User values: the name's text; the layout as an object, if it remembers what made it. */
enum { NAME_SLOT = 1, LAYOUT_SLOT, WHOLE_SLOT, N_SLOTS = WHOLE_SLOT };

/* Compares metatables by address: arguments of launches are tested here, and a look-up by name costs
   more than the rest of the test. */
Tensor *tensor_peek_in(lua_State *L, const CuttleState *s, int idx) {
  Tensor *t = lua_touserdata(L, idx);
  if (t == NULL || lua_getmetatable(L, idx) == 0) {
    return NULL;
  }
  bool is_tensor = lua_topointer(L, -1) == s->types.tensor;
  lua_pop(L, 1);
  return is_tensor ? t : NULL;
}

Tensor *tensor_peek(lua_State *L, int idx) { return tensor_peek_in(L, state_of(L), idx); }

static void check_own(lua_State *L, int idx, const Tensor *t) {
  if (t->in_kernel && t->serial != front_serial(L)) {
    const char *title = tensor_push_title(L, idx);
    bool is_named = strncmp(title, "the ", 4) != 0;
    front_check_own(L, t->serial, lua_pushfstring(L, is_named ? "tensor %s" : "%s", title));
  }
}

Tensor *tensor_test(lua_State *L, int idx) {
  Tensor *t = tensor_peek(L, idx);
  if (t != NULL) {
    check_own(L, idx, t);
  }
  return t;
}

Tensor *tensor_check(lua_State *L, int idx, const char *op) {
  Tensor *t = tensor_test(L, idx);
  if (t == NULL) {
    diag_type_error(L, idx, op, "a tensor");
  }
  return t;
}

/* Raises "tile: A is closed", or "A is closed" for an access, which has no op. */
static void fail_tensor(lua_State *L, int idx, const char *op, const char *what) {
  diag_error(L, "%s%s%s %s", op == NULL ? "" : op, op == NULL ? "" : ": ",
             tensor_push_title(L, idx), what);
}

Tensor *tensor_check_live(lua_State *L, int idx, const char *op) {
  Tensor *t = tensor_check(L, idx, op == NULL ? "tensor" : op);
  CtErr err;
  if (!t->in_kernel && t->at == NULL && tensor_live(t, &err) != CT_OK) {
    fail_tensor(L, idx, op, err.msg);
  }
  return t;
}

void tensor_check_memory(lua_State *L, int idx, const char *op) {
  const Tensor *t = tensor_test(L, idx);
  if (t->at != NULL && t->tma != 0) {
    fail_tensor(L, idx, op,
                "is a tile of a tma_tensor; TMA copies it, with tma_load(tile, s, full[i]) or "
                "tma_store(s, tile)");
  }
  if (t->at != NULL) {
    fail_tensor(L, idx, op, "is a tensor of coordinates; expected one with memory");
  }
}

Tensor *tensor_check_host(lua_State *L, int idx, const char *op) {
  Tensor *t = tensor_check_recordable(L, idx, op);
  state_host_uses(L, op);
  return t;
}

/* All elements lie in the memory; of lent memory the lender has said so. */
static void check_span(lua_State *L, int idx, const char *op, const Tensor *t) {
  int64_t lo, hi, size;
  CtErr err;
  if (t->storage->is_lent) {
    return;
  }
  diag_check(L, ct_walk_bounds(t->layout, &lo, &hi, &size, &err), &err);
  if (size > 0 && (!tensor_has_element(t, lo) || !tensor_has_element(t, hi))) {
    int64_t n = ct_dtype_count(t->dtype, (int64_t)t->storage->bytes);
    lo += t->offset.v;
    hi += t->offset.v;
    fail_tensor(L, idx, op,
                lua_pushfstring(L,
                                "leads from element %I to %I of a memory of %I: its division into "
                                "tiles rounds up; use tiles that lie inside, or divide it in a "
                                "kernel, under guard(t)",
                                (LUAI_UACINT)lo, (LUAI_UACINT)hi, (LUAI_UACINT)n));
  }
}

Tensor *tensor_check_recordable(lua_State *L, int idx, const char *op) {
  Tensor *t = tensor_check_live(L, idx, op);
  if (t->in_kernel) {
    fail_tensor(L, idx, op, "is a tensor of a kernel; expected one of the host");
  }
  tensor_check_memory(L, idx, op);
  CuttleState *s = state_of(L);
  if (tensor_is_foreign(t, s->rank)) {
    fail_tensor(L, idx, op,
                lua_pushfstring(L,
                                "is a part of rank %d, but rank %d uses it; in m:run a rank uses "
                                "its own part, x:part(r.rank)",
                                t->storage->rank, s->rank));
  }
  if (t->storage->is_peer) {
    fail_tensor(L, idx, op,
                "is memory of another rank, which only kernels can use; do that on its own rank");
  }
  check_span(L, idx, op, t);
  s->n_host++;
  state_await(L, t->storage);
  return t;
}

/* Copies a layout after the struct; its nodes need no pointers of their own. */
static CtLayout place_layout(CtNode *at, CtLayout l) {
  memcpy(at, l.shape, l.shape->len * sizeof *at);
  memcpy(at + l.shape->len, l.stride, l.stride->len * sizeof *at);
  return (CtLayout){at, at + l.shape->len};
}

static size_t guard_bytes(const CtGuard *g) {
  size_t n_nodes = 0;
  for (int i = 0; i < g->n; i++) {
    n_nodes += g->axis[i].stride->len;
  }
  return sizeof *g + n_nodes * sizeof(CtNode);
}

static const CtGuard *place_guard(CtNode *at, const CtGuard *g) {
  CtGuard *copy = (CtGuard *)(void *)at;
  CtNode *nodes = (CtNode *)(void *)(copy + 1);
  *copy = *g;
  for (int i = 0; i < g->n; i++) {
    memcpy(nodes, g->axis[i].stride, g->axis[i].stride->len * sizeof *nodes);
    copy->axis[i].stride = nodes;
    nodes += g->axis[i].stride->len;
  }
  return copy;
}

/* Pushes a tensor that owns nothing yet. */
static Tensor *push_guarded(lua_State *L, CtDtype dtype, CtLayout layout, CtInt offset,
                            const CtGuard *guard) {
  size_t n_nodes = (size_t)layout.shape->len + layout.stride->len;
  size_t more = guard == NULL || guard->n == 0 ? 0 : guard_bytes(guard);
  luaL_checkstack(L, 4, NULL);
  Tensor *t = lua_newuserdatauv(L, sizeof *t + n_nodes * sizeof(CtNode) + more, N_SLOTS);
  *t = (Tensor){.dtype = dtype, .space = CT_GLOBAL, .offset = offset};
  t->id = ++state_of(L)->tensors.n_made;
  t->layout = place_layout((CtNode *)(t + 1), layout);
  t->guard = more == 0 ? NULL : place_guard((CtNode *)(t + 1) + n_nodes, guard);
  luaL_setmetatable(L, TENSOR_TYPE);
  return t;
}

Tensor *tensor_push_new(lua_State *L, CtDtype dtype, CtLayout layout, CtInt offset) {
  return push_guarded(L, dtype, layout, offset, NULL);
}

Tensor *tensor_push_coords(lua_State *L, const Tensor *of, CtLayout layout, CtTuple at) {
  uint32_t serial = front_serial(L);
  size_t n_nodes = (size_t)layout.shape->len + layout.stride->len;
  luaL_checkstack(L, 4, NULL);
  Tensor *t = lua_newuserdatauv(L, sizeof *t + (n_nodes + at->len) * sizeof(CtNode), N_SLOTS);
  *t = (Tensor){.in_kernel = serial != 0,
                .is_guarded = true,
                .serial = serial,
                .tma = of == NULL ? 0 : of->tma};
  CtNode *nodes = (CtNode *)(t + 1);
  t->layout = place_layout(nodes, layout);
  memcpy(nodes + n_nodes, at, at->len * sizeof *nodes);
  t->at = nodes + n_nodes;
  luaL_setmetatable(L, TENSOR_TYPE);
  return t;
}

Tensor *tensor_push_host(lua_State *L, CtDtype dtype, CtLayout layout, CtInt offset,
                         CtStorage *storage) {
  Tensor *t = tensor_push_new(L, dtype, layout, offset);
  t->storage = ct_storage_retain(storage);
  return t;
}

Tensor *tensor_push_kernel(lua_State *L, CtDtype dtype, CtSpace space, CtView view,
                           uint32_t serial) {
  Tensor *t = tensor_push_new(L, dtype, view.layout, view.offset);
  t->in_kernel = true;
  t->space = space;
  t->buf = view.buf;
  t->swizzle = front_ir(L)->bufs[view.buf].swizzle;
  t->within = view.within;
  t->serial = serial;
  if (view.name != NULL) {
    tensor_set_name(L, -1, view.name);
  }
  return t;
}

Tensor *tensor_push_part(lua_State *L, const Tensor *of, CtLayout layout, CtInt offset,
                         const CtGuard *guard) {
  Tensor *t = push_guarded(L, of->dtype, layout, offset, guard);
  t->in_kernel = of->in_kernel;
  t->is_guarded = of->is_guarded;
  t->space = of->space;
  t->buf = of->buf;
  t->swizzle = of->swizzle;
  t->serial = of->serial;
  t->within = of->within;
  t->is_closed = of->is_closed;
  if (of->storage != NULL) {
    t->storage = ct_storage_retain(of->storage);
  }
  if (of->name != NULL) {
    tensor_set_name(L, -1, of->name);
  }
  return t;
}

void tensor_set_name(lua_State *L, int idx, const char *name) {
  Tensor *t = tensor_test(L, idx);
  CT_ASSERT(t != NULL);
  idx = lua_absindex(L, idx);
  const char *kept = lua_pushstring(L, name);
  lua_setiuservalue(L, idx, NAME_SLOT);
  t->name = kept;
}

void tensor_keep_layout(lua_State *L, int idx) { lua_setiuservalue(L, idx, LAYOUT_SLOT); }

void tensor_keep_whole(lua_State *L, int idx, int whole, int coordinate) {
  idx = lua_absindex(L, idx);
  lua_createtable(L, 2, 0);
  lua_pushvalue(L, whole);
  lua_rawseti(L, -2, 1);
  lua_pushvalue(L, coordinate);
  lua_rawseti(L, -2, 2);
  lua_setiuservalue(L, idx, WHOLE_SLOT);
}

int tensor_push_whole(lua_State *L, int idx) {
  if (lua_getiuservalue(L, idx, WHOLE_SLOT) != LUA_TTABLE) {
    return 0;
  }
  lua_rawgeti(L, -1, 1);
  lua_rawgeti(L, -2, 2);
  return 2;
}

CtComposed tensor_layout(const Tensor *t) {
  if (t->swizzle.bits == 0) {
    return ct_composed_plain(t->layout);
  }
  return (CtComposed){
      .layout = t->layout, .offset = t->offset, .swizzle = t->swizzle, .is_swizzled = true};
}

void tensor_push_layout(lua_State *L, int idx) {
  const Tensor *t = tensor_test(L, idx);
  if (lua_getiuservalue(L, idx, LAYOUT_SLOT) == LUA_TNIL) {
    lua_pop(L, 1);
    CtComposed l = tensor_layout(t);
    bind_push_composed(L, &l);
  }
}

void tensor_close(lua_State *L, Tensor *t) {
  state_of(L)->tensors.n_closed++;
  ct_storage_release(t->storage);
  t->storage = NULL;
  t->is_closed = !t->in_kernel;
}

void tensor_give_back(lua_State *L, Tensor *t) {
  const CtStorage *s = t->storage;
  if (s != NULL && s->n_refs == 1 && !s->is_lent) {
    state_of(L)->tensors.given_back += s->bytes;
  }
  tensor_close(L, t);
}

/* {====== Titles: a search for a variable that holds the tensor, made for messages only ====== */

/* Pops a value; true when it is the tensor at idx. */
static bool pop_is(lua_State *L, int idx) {
  bool same = lua_rawequal(L, -1, idx) != 0;
  lua_pop(L, 1);
  return same;
}

/* The innermost local with the tensor: later ones shadow earlier ones. */
static const char *find_local(lua_State *L, const lua_Debug *ar, int idx) {
  const char *found = NULL, *name;
  for (int n = 1; (name = lua_getlocal(L, ar, n)) != NULL; n++) {
    if (pop_is(L, idx) && name[0] != '(') {
      found = name;
    }
  }
  return found;
}

static const char *find_upvalue(lua_State *L, int fn, int idx) {
  const char *name;
  for (int n = 1; (name = lua_getupvalue(L, fn, n)) != NULL; n++) {
    if (pop_is(L, idx)) {
      return name;
    }
  }
  return NULL;
}

static const char *find_global(lua_State *L, int idx) {
  const char *found = NULL;
  lua_pushglobaltable(L);
  lua_pushnil(L);
  while (lua_next(L, -2) != 0) {
    if (pop_is(L, idx) && lua_type(L, -1) == LUA_TSTRING) {
      found = lua_tostring(L, -1);
      lua_pop(L, 1);
      break;
    }
  }
  lua_pop(L, 1);
  return found;
}

/* The name of a variable that the calling Lua function can see. Names live as long as the function
   or the global table, which outlives the message. */
static const char *find_variable(lua_State *L, int idx) {
  lua_Debug ar;
  for (int level = 0; lua_getstack(L, level, &ar) != 0; level++) {
    lua_getinfo(L, "Sf", &ar);
    if (*ar.what != 'C') {
      const char *name = find_local(L, &ar, idx);
      name = name != NULL ? name : find_upvalue(L, lua_absindex(L, -1), idx);
      lua_pop(L, 1);
      return name != NULL ? name : find_global(L, idx);
    }
    lua_pop(L, 1);
  }
  return NULL;
}

const char *tensor_push_role(lua_State *L, int idx, const char *role) {
  const Tensor *t = tensor_peek(L, idx);
  idx = lua_absindex(L, idx);
  luaL_checkstack(L, 8, NULL);
  const char *name = t != NULL && t->name != NULL ? t->name : find_variable(L, idx);
  return lua_pushstring(L, name != NULL ? name : role);
}

const char *tensor_push_title(lua_State *L, int idx) {
  return tensor_push_role(L, idx, "the tensor");
}

/* {====== New memory ====== */

typedef CtStatus NewStorage(CtAlloc alloc, CtDevice *device, size_t bytes, CtStorage **out,
                            CtErr *err);

static CtStatus new_storage(lua_State *L, NewStorage *make, CtDevice *device, size_t bytes,
                            CtStorage **out, CtErr *err) {
  CtAlloc alloc = state_of(L)->alloc;
  CtStatus status = make(alloc, device, bytes, out, err);
  if (status == CT_ENOMEM || status == CT_EDEVICE) {
    lua_gc(L, LUA_GCCOLLECT); /* tensors that nobody uses any more may hold what is missing */
    status = make(alloc, device, bytes, out, err);
  }
  if (status == CT_OK && device == NULL) {
    ct_storage_enter(*out, &state_of(L)->memory.storages);
  }
  return status;
}

/* Lua sees a small userdata: tell its collector what hangs on it. */
static void count_garbage(lua_State *L, size_t bytes) {
  CuttleState *s = state_of(L);
  size_t paid = bytes < s->tensors.given_back ? bytes : s->tensors.given_back;
  s->tensors.given_back -= paid;
  bytes -= paid;
  if (bytes >= 1024) {
    size_t kib = bytes / 1024;
    lua_gc(L, LUA_GCSTEP, kib < INT32_MAX / 2 / 1024 ? (int)kib : INT32_MAX / 2 / 1024);
  }
}

void tensor_is_new(lua_State *L, const Tensor *t) {
  CtCheck *check = state_of(L)->taps.check;
  if (check != NULL && t->storage->device == NULL) {
    ct_check_forget(check, t->storage->host, t->storage->bytes);
  }
}

void tensor_is_blank(lua_State *L, const Tensor *t) {
  CtStorage *s = t->storage;
  if (s->device == NULL && s->bytes > 0) {
    s->blank = ct_blank_new(s->alloc, &state_of(L)->memory.blanks, s->host, s->bytes,
                            ct_value_bytes(t->dtype));
  }
}

/* The same number, of memory that can exist. */
static size_t memory_for(lua_State *L, const char *op, int64_t bytes) {
  size_t room = 0;
  if (!ct_fits_memory(bytes, 1, &room)) {
    diag_error(L, "%s: not enough memory for a tensor of %I bytes; pointers of %d bits reach %I",
               op, (LUAI_UACINT)bytes, (int)(8 * sizeof room), (LUAI_UACINT)PTRDIFF_MAX);
  }
  return room;
}

static Tensor *push_alloc(lua_State *L, const char *op, NewStorage *make, CtDtype dtype,
                          CtLayout layout, CtDevice *device) {
  int64_t lo, hi, size, bytes, n = 0;
  CtErr err;
  CtStatus status = ct_walk_bounds(layout, &lo, &hi, &size, &err);
  if (status == CT_OK && (ct_sub_overflow(hi, lo, &bytes) || ct_add_overflow(bytes, 1, &n) ||
                          ct_dtype_span_overflow(dtype, n, &bytes))) {
    status = ct_fail(&err, CT_EOVERFLOW, "the tensor has more than 2^63 bytes");
  }
  if (status != CT_OK) {
    ct_err_prefix(&err, "%s", op);
    diag_raise(L, &err);
  }
  size_t room = memory_for(L, op, bytes);
  Tensor *t = tensor_push_new(L, dtype, layout, ct_int(-lo));
  count_garbage(L, room);
  if (new_storage(L, make, device, room, &t->storage, &err) != CT_OK) {
    ct_err_prefix(&err, "%s", op);
    diag_raise(L, &err);
  }
  tensor_is_new(L, t);
  return t;
}

Tensor *tensor_push_alloc(lua_State *L, const char *op, CtDtype dtype, CtLayout layout,
                          CtDevice *device) {
  return push_alloc(L, op, ct_storage_new, dtype, layout, device);
}

Tensor *tensor_push_shared(lua_State *L, const char *op, CtDtype dtype, CtLayout layout,
                           CtDevice *device) {
  return push_alloc(L, op, ct_storage_new_shared, dtype, layout, device);
}

Tensor *tensor_push_here(lua_State *L, const char *op, CtDtype dtype, CtLayout layout) {
  CtDevice *device;
  diag_try(L, state_device(state_of(L), &device, diag_err(L)));
  return tensor_push_alloc(L, op, dtype, layout, device);
}
