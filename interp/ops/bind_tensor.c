/* bind_tensor.c: the tensor type in Lua: fields, elements, slices, tables, text and closing. */
#include <lauxlib.h>
#include <stdio.h>
#include <string.h>

#include "access.h"
#include "interp/algebra/bind.h"
#include "interp/state/diag.h"
#include "interp/front/front_trace.h"
#include "interp/trace/front.h"
#include "guard.h"
#include "runtime/base/size.h"
#include "runtime/layout/walk.h"
#include "interp/state/recorder.h"
#include "interp/state/state.h"
#include "interp/tensor/tensor.h"
#include "interp/openers.h"
#include "runtime/ir/ir_guard.h"

/* {====== Coordinates ====== */

/* Pushes an access as the user wrote it, for the beginning of a message: "C[{5,9}]", "C[5]" or
   "C(5,9)". */
static const char *push_access(lua_State *L, int idx, const CtCx *cx, CtTuple crd, bool is_call) {
  const char *title = tensor_push_title(L, idx);
  const char *text = bind_tuple_text(cx, crd);
  if (is_call) {
    return lua_pushfstring(L, ct_is_leaf(crd) ? "%s(%s)" : "%s%s", title, text);
  }
  text = luaL_gsub(L, luaL_gsub(L, text, "(", "{"), ")", "}");
  return lua_pushfstring(L, "%s[%s]", title, text);
}

static int fail_access(lua_State *L, int idx, const CtCx *cx, CtTuple crd, bool is_call,
                       const char *what) {
  return diag_error(L, "%s: %s", push_access(L, idx, cx, crd, is_call), what);
}

/* Whether an integer of the coordinate is the extent itself, as of one who counts from 1. */
static bool is_at_extent(CtTuple crd, CtTuple shape) {
  if (ct_is_leaf(crd)) {
    CtAlg g = {.status = CT_OK};
    CtInt n = ct_all_static(shape) ? al_product(&g, shape) : ct_int(-1);
    return ct_is_static(crd->i) && al_ok(&g) && n.v > 0 && crd->i.v == n.v;
  }
  CtTuple s = ct_first(shape);
  for (CtTuple c = ct_first(crd); c != ct_end(crd); c = ct_next(c), s = ct_next(s)) {
    if (is_at_extent(c, s)) {
      return true;
    }
  }
  return false;
}

static void check_inside(lua_State *L, int idx, const CtCx *cx, CtTuple crd, bool is_call) {
  const Tensor *t = tensor_test(L, idx);
  if (!t->is_whole && !bind_is_inside(crd, t->layout.shape)) {
    const char *what =
        lua_pushfstring(L, "coordinate %s is outside the shape %s%s", bind_tuple_text(cx, crd),
                        bind_tuple_text(cx, t->layout.shape),
                        is_at_extent(crd, t->layout.shape) ? "; counting starts at 0" : "");
    fail_access(L, idx, cx, crd, is_call, what);
  }
}

/* {====== Elements and slices ====== */

/* An access to a host tensor: its index, after all checks. */
static int64_t host_index(lua_State *L, int idx, const CtCx *cx, CtTuple crd, bool is_call) {
  const Tensor *t = tensor_check_live(L, idx, NULL);
  CtInt at;
  CtErr err;
  if (front_ir(L) != NULL) {
    fail_access(L, idx, cx, crd, is_call,
                "a tensor of the host is not available inside a kernel; pass it as an argument");
  }
  if (ct_crd2idx(cx, crd, t->layout, &at, &err) != CT_OK) {
    fail_access(L, idx, cx, crd, is_call, err.msg);
  }
  if (!tensor_has_element(t, at.v)) {
    fail_access(L, idx, cx, crd, is_call,
                "the element is not in the tensor's memory: the division into tiles rounds up");
  }
  return at.v;
}

static int load(lua_State *L, int idx, const CtCx *cx, CtTuple crd, bool is_call) {
  const Tensor *t = tensor_check_live(L, idx, NULL);
  Elem e;
  if (t->at != NULL) {
    return guard_push_coordinate(L, t, crd);
  }
  check_inside(L, idx, cx, crd, is_call);
  if (t->in_kernel) {
    access_load(L, t, crd);
    return 1;
  }
  int64_t at = host_index(L, idx, cx, crd, is_call);
  state_host_uses(L, NULL);
  state_await(L, t->storage);
  tensor_note_remote(L, t);
  diag_try(L, tensor_get(t, at, &e, diag_err(L)));
  elem_push(L, t->dtype, e);
  return 1;
}

static void store(lua_State *L, int idx, const CtCx *cx, CtTuple crd, int value) {
  const Tensor *t = tensor_check_live(L, idx, NULL);
  Elem e;
  CtErr err;
  tensor_check_memory(L, idx, NULL);
  check_inside(L, idx, cx, crd, false);
  if (t->in_kernel) {
    access_store(L, t, crd, value);
    return;
  }
  int64_t at = host_index(L, idx, cx, crd, false);
  if (elem_from_lua(L, value, t->dtype, NULL, &e, &err) != CT_OK) {
    fail_access(L, idx, cx, crd, false, err.msg);
  }
  state_host_uses(L, NULL);
  state_await(L, t->storage);
  tensor_note_remote(L, t);
  diag_check(L, tensor_set(t, at, e, &err), &err);
}

static int slice(lua_State *L, const CtCx *cx, CtTuple crd) {
  const Tensor *t = tensor_check_live(L, 1, NULL);
  CtLayout rest;
  CtInt at;
  CtErr err;
  if (t->at != NULL) {
    return guard_slice_coords(L, t, crd);
  }
  check_inside(L, 1, cx, crd, true);
  crd = access_coordinate(L, t, crd);
  if (ct_slice(cx, crd, t->layout, &rest, &at, &err) != CT_OK) {
    return fail_access(L, 1, cx, crd, true, err.msg);
  }
  diag_check(L, ct_int_op(cx, CT_INT_ADD, t->offset, at, &at, &err), &err);
  if (t->is_guarded) {
    CtGuard guard;
    CtView view = tensor_view(t);
    diag_check(L, ct_ir_guard_slice(front_ir(L), &view, crd, rest.shape, t->is_whole, &guard, &err),
               &err);
    tensor_push_part(L, t, rest, at, &guard)->is_whole = t->is_whole;
    return 1;
  }
  tensor_within_slice(L, t, crd, tensor_push_part(L, t, rest, at, NULL));
  return 1;
}

/* {i} also names element i of a tensor whose only mode is not a tuple. */
static CtTuple for_rank(CtTuple crd, const Tensor *t) {
  bool is_alone = !ct_is_leaf(crd) && crd->rank == 1 && ct_is_leaf(t->layout.shape);
  return is_alone ? ct_first(crd) : crd;
}

/* t(_, _, k): tile k of a tensor of tiles. Of a guarded one that is not tiled, k may lie outside. */
static bool is_one_of_tiles(const Tensor *t, CtTuple crd, int n_coordinates) {
  if (!t->in_kernel || t->is_whole || t->at != NULL || n_coordinates != 3 || ct_is_leaf(crd) ||
      crd->rank != 3) {
    return false;
  }
  CtTuple first = ct_first(crd), second = ct_next(first);
  return ct_is_leaf(first) && ct_has_any(first) && ct_is_leaf(second) && ct_has_any(second) &&
         !ct_has_any(ct_next(second));
}

static int call(lua_State *L) {
  int n_coordinates = lua_gettop(L) - 1;
  if (lua_gettop(L) > 1 && tensor_get_plain(L, 2, lua_gettop(L) - 1)) {
    return 1;
  }
  CtCx cx = bind_enter(L);
  const Tensor *t = tensor_check(L, 1, "index");
  CtTuple crd = for_rank(bind_to_coord(L, 2, &cx, "coordinate"), t);
  if (!ct_has_any(crd)) {
    return load(L, 1, &cx, crd, true);
  }
  bool is_tile = is_one_of_tiles(t, crd, n_coordinates);
  int n = slice(L, &cx, crd);
  if (is_tile) {
    tensor_keep_whole(L, -1, 1, 4);
  }
  return n;
}

static CtTuple check_key(lua_State *L, const CtCx *cx) {
  if (lua_isnil(L, 2)) {
    diag_error(L, "t[nil]: the coordinate has no value; elements are t[i] and t[{i,j}]");
  }
  CtTuple crd = for_rank(bind_to_tuple(L, 2, cx, "coordinate"), tensor_check(L, 1, "index"));
  if (ct_has_any(crd)) {
    fail_access(L, 1, cx, crd, false,
                "`_` keeps a mode, and [] is one element; write t(...) for a slice");
  }
  return crd;
}

/* {====== Fields ====== */

static void push_dtype(lua_State *L, const Tensor *t) {
  if (t->at != NULL) {
    lua_pushnil(L);
  } else {
    bind_push_dtype(L, t->dtype);
  }
}

static void push_layout(lua_State *L, const Tensor *t) {
  (void)t;
  tensor_push_layout(L, 1);
}

static void push_shape(lua_State *L, const Tensor *t) { bind_push_tuple(L, t->layout.shape); }

static void push_stride(lua_State *L, const Tensor *t) {
  CtComposed l = tensor_layout(t);
  if (l.is_swizzled) {
    CtCx cx = bind_cx(L);
    diag_error(L,
               "stride: %s %s is swizzled and has no strides; those of its layout are "
               "t.layout.layout.stride",
               tensor_push_title(L, 1), bind_composed_text(&cx, &l));
  }
  bind_push_tuple(L, t->layout.stride);
}

/* "cpu" or "cuda:1"; nil for a closed tensor, and in a kernel, where the launch decides. */
static void push_device(lua_State *L, const Tensor *t) {
  if (t->storage == NULL) {
    lua_pushnil(L);
  } else if (t->storage->device == NULL) {
    lua_pushliteral(L, "cpu");
  } else {
    lua_pushfstring(L, "cuda:%d", ct_device_info(t->storage->device)->ordinal);
  }
}

/* Of its first element, on its device. */
static void push_address(lua_State *L, const Tensor *t) {
  (void)tensor_check_recordable(L, 1, "address");
  if (state_of(L)->options.sandbox != 0) {
    diag_error(L, "address: a sandboxed script sees no addresses; pass tensors in a list, {a, b}");
  }
  if (!tensor_begins_at_byte(t)) {
    diag_error(L, "address: the tensor of %s begins within a byte, which has no address",
               ct_dtypes[t->dtype].name);
  }
  uint64_t first = tensor_byte(t, 0);
  uint64_t address;
  diag_try(L, ct_storage_address(t->storage, &address, diag_err(L)));
  ct_blank_settle(t->storage->blank); /* whoever has the address may write */
  address += first;
  lua_pushinteger(L, (lua_Integer)address);
}

static void push_name(lua_State *L, const Tensor *t) { lua_pushstring(L, t->name); }

static const struct {
  const char *name;
  void (*push)(lua_State *L, const Tensor *t);
} fields[] = {
    {"dtype", push_dtype},     {"layout", push_layout}, {"shape", push_shape},
    {"stride", push_stride},   {"device", push_device}, {"name", push_name},
    {"address", push_address},
};

/* A field, or a method from the table in upvalue 1. */
static int get_name(lua_State *L) {
  const Tensor *t = tensor_check(L, 1, "index");
  const char *name = lua_tostring(L, 2);
  for (size_t i = 0; i < CT_ARRAY_LEN(fields); i++) {
    if (strcmp(name, fields[i].name) == 0) {
      fields[i].push(L, t);
      return 1;
    }
  }
  lua_pushvalue(L, 2);
  return lua_rawget(L, lua_upvalueindex(1)) == LUA_TNIL ? bind_refuse_name(L) : 1;
}

static int get(lua_State *L) {
  if (lua_type(L, 2) == LUA_TSTRING) {
    return get_name(L);
  }
  if (tensor_get_plain(L, 2, 1)) {
    return 1;
  }
  CtCx cx = bind_enter(L);
  return load(L, 1, &cx, check_key(L, &cx), false);
}

static int set(lua_State *L) {
  if (lua_type(L, 2) == LUA_TSTRING) {
    return diag_error(L, "a tensor has no field '%s' to assign; elements are t[{i,j}]",
                      lua_tostring(L, 2));
  }
  if (tensor_set_plain(L, 2, 3)) {
    return 0;
  }
  CtCx cx = bind_enter(L);
  store(L, 1, &cx, check_key(L, &cx), 3);
  return 0;
}

/* {====== Text, closing ====== */

static int tostring(lua_State *L) {
  const Tensor *t = tensor_check(L, 1, "tostring");
  state_host_uses(L, "tostring");
  if (!t->in_kernel && t->at == NULL && t->storage != NULL) {
    state_await(L, t->storage);
  }
  front_trust(L, 1);
  tensor_push_text(L, 1);
  front_trust(L, -1);
  return 1;
}

/* Also a kernel's tensor. */
static Tensor *check_ended(lua_State *L) {
  Tensor *t = tensor_peek(L, 1);
  if (t == NULL) {
    diag_type_error(L, 1, "close", "a tensor");
  }
  return t;
}

static int gc(lua_State *L) {
  tensor_close(L, check_ended(L));
  return 0;
}

/* At the end of a variable's block; a tensor may be closed before. */
static int end_variable(lua_State *L) {
  tensor_give_back(L, check_ended(L));
  return 0;
}

static int close(lua_State *L) {
  Tensor *t = tensor_check(L, 1, "close");
  if (t->in_kernel) {
    return diag_error(L, "close: %s is a tensor of a kernel; it has no memory to give back",
                      tensor_push_title(L, 1));
  }
  tensor_give_back(L, t);
  return 0;
}

/* {====== Tables ====== */

/* Pushes nested tables over the modes from `mode` on: entry i + 1 has coordinate i of that mode.
   `step` is how far apart, in linear order, two neighbours of the mode are. */
static const char *push_nested(lua_State *L, const Tensor *t, int mode, const char *p,
                               int64_t step) {
  int64_t n = tensor_size_of(ct_mode(t->layout, mode).shape);
  size_t bytes = ct_dense_bytes(t->dtype, (size_t)step);
  bool is_last = mode + 1 == ct_layout_rank(t->layout);
  luaL_checkstack(L, 4, "too many modes");
  lua_createtable(L, n < INT32_MAX ? (int)n : 0, 0);
  for (int64_t i = 0; i < n; i++, p += bytes) {
    if (is_last) {
      elem_push(L, t->dtype, elem_load(t->dtype, p));
    } else {
      push_nested(L, t, mode + 1, p, step * n);
    }
    lua_rawseti(L, -2, i + 1);
  }
  return p;
}

/* t:totable() -> nested tables: entry [i + 1][j + 1] is element (i,j). */
static int totable(lua_State *L) {
  const Tensor *t = tensor_check_host(L, 1, "totable");
  int64_t n = tensor_size_of(t->layout.shape);
  size_t bytes = 0;
  if (!ct_dense_fits(t->dtype, n, &bytes)) {
    diag_error(L, "totable: not enough memory for a table of %I elements", (LUAI_UACINT)n);
  }
  void *data = lua_newuserdatauv(L, bytes + 1, 0);
  diag_try(L, tensor_gather(t, data, diag_err(L)));
  push_nested(L, t, 0, data, 1);
  return 1;
}

/* {====== Registration ====== */

static const luaL_Reg methods[] = {{"totable", totable}, {"close", close}, {NULL, NULL}};

static const char *const field_names[] = {"dtype",  "layout", "shape", "stride",
                                          "device", "name",   NULL};

/* Raises for a tensor of another trace. */
static int check_own(lua_State *L) {
  (void)tensor_test(L, 1);
  return 0;
}

static const luaL_Reg metamethods[] = {{"__check_own", check_own}, {"__newindex", set},
                                       {"__call", call},           {"__tostring", tostring},
                                       {"__len", bind_no_length},  {"__gc", gc},
                                       {"__close", end_variable},  {NULL, NULL}};

void bind_open_tensor(lua_State *L) {
  int module = lua_gettop(L);
  lua_newtable(L); /* methods */
  int table = lua_gettop(L);
  luaL_setfuncs(L, methods, 0);
  bind_add_moves(L, module, table);
  bind_add_lifted(L, module, table);
  bind_add_partition(L, module, table);
  bind_add_guard(L, module, table);
  luaL_newmetatable(L, TENSOR_TYPE); /* stack: module; methods; metatable */
  state_of(L)->types.tensor = lua_topointer(L, -1);
  luaL_setfuncs(L, metamethods, 0);
  lua_pushvalue(L, table);
  bind_set_index(L, get);
  bind_add_fields(L, field_names);
  lua_pop(L, 2);
}
