/* bind_clone.c: copies of a launch's arguments: the tables among them, and the tensors in these.
     clone(args...)          copies where the tensors are; see stdlib/meta/tensor.lua
     _launch.copies(args...) the same in the host's memory */
#include <lauxlib.h>

#include "interp/algebra/bind.h"
#include "interp/openers.h"
#include "interp/state/recorder.h"
#include "launch_key.h"

/* {====== Tables ====== */

void launch_push_tensor(lua_State *L, int idx, const void *ud) {
  const Tensor *t = tensor_test(L, idx);
  (void)ud;
  Tensor *own = tensor_push_part(L, t, t->layout, t->offset, NULL);
  own->is_fixed = t->is_fixed;
  own->fixed = t->fixed;
}

static void push_copy(lua_State *L, int idx, LaunchPushTensor *push_tensor, const void *ud,
                      int depth) {
  luaL_checkstack(L, 8, "too many tables in an argument");
  if (tensor_test(L, idx) != NULL) {
    push_tensor(L, idx, ud);
    return;
  }
  if (!lua_istable(L, idx) || depth > CT_MAX_DEPTH) {
    lua_pushvalue(L, idx);
    return;
  }
  lua_newtable(L);
  int copy = lua_gettop(L);
  lua_pushnil(L);
  while (lua_next(L, idx) != 0) { /* stack: copy, key, value */
    lua_pushvalue(L, copy + 1);
    push_copy(L, copy + 2, push_tensor, ud, depth + 1);
    lua_rawset(L, copy);
    lua_settop(L, copy + 1);
  }
  if (lua_getmetatable(L, idx) != 0) {
    lua_setmetatable(L, copy);
  }
}

void launch_push_copy(lua_State *L, int idx, LaunchPushTensor *push_tensor, const void *ud) {
  push_copy(L, lua_absindex(L, idx), push_tensor, ud, 1);
}

/* {====== Tensors ====== */

typedef struct Copying {
  int known;      /* stack place of a table: storage -> a copied tensor of it */
  const char *op; /* NULL: to the host's memory, for the library */
} Copying;

/* All the memory that the tensor at idx looks at is copied, so that tensors that share it share the copy. */
static void push_tensor_copy(lua_State *L, int idx, const void *ud) {
  const Copying *c = ud;
  const Tensor *t =
      c->op == NULL ? tensor_check_live(L, idx, NULL) : tensor_check_host(L, idx, c->op);
  diag_try(L, tensor_live(t, diag_err(L)));
  state_await(L, t->storage);
  Tensor *copy = tensor_push_new(L, t->dtype, t->layout, t->offset);
  if (lua_rawgetp(L, c->known, t->storage) == LUA_TUSERDATA) {
    copy->storage = ct_storage_retain(tensor_test(L, -1)->storage);
  } else {
    size_t bytes = t->storage->bytes;
    CtDevice *device = c->op == NULL ? NULL : t->storage->device;
    diag_try(L, ct_storage_new(state_of(L)->alloc, device, bytes, &copy->storage, diag_err(L)));
    diag_try(L, ct_storage_copy(t->storage, 0, copy->storage, 0, bytes, diag_err(L)));
    lua_pushvalue(L, -2);
    lua_rawsetp(L, c->known, t->storage);
  }
  lua_pop(L, 1);
  copy->fixed = t->fixed;
  copy->is_fixed = t->is_fixed;
  if (t->name != NULL) {
    tensor_set_name(L, -1, t->name);
  }
}

static void push_copies(lua_State *L, int args, int n, const char *op) {
  luaL_checkstack(L, n + 8, "too many arguments");
  lua_newtable(L);
  const Copying c = {lua_gettop(L), op};
  for (int i = args; i < args + n; i++) {
    launch_push_copy(L, i, push_tensor_copy, &c);
  }
  lua_remove(L, c.known);
}

void launch_push_copies(lua_State *L, int args, int n) { push_copies(L, args, n, NULL); }

static int clone(lua_State *L) {
  int n = lua_gettop(L);
  push_copies(L, 1, n, "clone");
  return n;
}

static int copies(lua_State *L) {
  int n = lua_gettop(L);
  push_copies(L, 1, n, NULL);
  return n;
}

static const luaL_Reg functions[] = {{"clone", clone}, {"_launch.copies", copies}, {NULL, NULL}};

void bind_open_clone(lua_State *L) { luaL_setfuncs(L, functions, 0); }
