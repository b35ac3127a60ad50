/* bind_move.c: the functions that move elements of tensors: copy, fill, clear, to, and tables that go to a device. */
#include <lauxlib.h>
#include <stdio.h>
#include <string.h>

#include "access.h"
#include "interp/algebra/bind.h"
#include "interp/state/diag.h"
#include "interp/state/recorder.h"
#include "interp/state/state_language.h"
#include "interp/tensor/tensor.h"
#include "interp/trace/front.h"
#include "runtime/layout/walk.h"

/* "cpu", "cuda" or "cuda:1" as a device; NULL is the CPU. */
static CtDevice *check_device(lua_State *L, int idx) {
  const char *text = lua_type(L, idx) == LUA_TSTRING ? lua_tostring(L, idx) : "";
  CtDevice *device = NULL;
  int ordinal = -1, end = 0;
  if (strcmp(text, "cpu") == 0) {
    return NULL;
  }
  bool is_numbered = sscanf(text, "cuda:%3d%n", &ordinal, &end) == 1 && text[end] == '\0';
  if (strcmp(text, "cuda") != 0 && (!is_numbered || ordinal < 0)) {
    if (*text != '\0') {
      diag_error(L, "to: '%s' is not a device; \"cpu\", \"cuda\" or \"cuda:1\" was expected", text);
    }
    diag_type_error(L, idx, "to", "\"cpu\", \"cuda\" or \"cuda:1\"");
  }
  diag_try(L, state_check_device(state_of(L), text, diag_err(L)));
  diag_try(L, state_cuda(state_of(L), ordinal, &device, diag_err(L)));
  return device;
}

/* Now, or whenever the graph that is being recorded is launched. */
static CtStatus copy_bytes(CuttleState *s, CtStorage *src, size_t src_at, CtStorage *dst,
                           size_t dst_at, size_t bytes, CtErr *err) {
  return s->taps.recorder != NULL
             ? recorder_copy(s->taps.recorder, src, src_at, dst, dst_at, bytes, err)
             : ct_storage_copy(src, src_at, dst, dst_at, bytes, err);
}

/* t:to(device) -> a copy there, with the same layout. */
static int to(lua_State *L) {
  const Tensor *t = tensor_check_recordable(L, 1, "to");
  CtDevice *device = check_device(L, 2);
  int64_t lo, hi, size;
  Tensor *copy = tensor_push_alloc(L, "to", t->dtype, t->layout, device);
  diag_try(L, ct_walk_bounds(t->layout, &lo, &hi, &size, diag_err(L)));
  size_t bytes = (size_t)ct_dtype_span(t->dtype, hi - lo + 1);
  if (ct_dtype_is_packed(t->dtype) && (t->offset.v + lo) % 2 != 0) {
    return diag_error(
        L, "to: the tensor of %s begins within a byte; copy the tensor that it is a part of",
        ct_dtypes[t->dtype].name);
  }
  diag_try(L, copy_bytes(state_of(L), t->storage, tensor_byte(t, lo), copy->storage, 0, bytes,
                         diag_err(L)));
  if (t->name != NULL) {
    tensor_set_name(L, -1, t->name);
  }
  return 1;
}

/* _launch.table_on(dtype, table, nil, device) -> a tensor there with the table's entries, as from_table has them. It is
   filled at once, also while a graph is recorded: for tables that operators keep. */
static int table_on(lua_State *L) {
  CtCx cx = bind_enter(L);
  CtLayout layout;
  CtInt n;
  lua_settop(L, 4);
  CtDtype dtype = bind_to_dtype(L, 1, "from_table");
  CtDevice *device = check_device(L, 4);
  const void *data = tensor_read_table(L, "from_table", dtype, &cx, &layout);
  Tensor *made = tensor_push_alloc(L, "from_table", dtype, layout, device);
  diag_try(L, ct_size(&cx, layout, &n, diag_err(L)));
  if (ct_dtype_is_packed(dtype)) {
    diag_try(L, tensor_scatter(made, data, diag_err(L)));
    return 1;
  }
  diag_try(L,
           ct_storage_fill(made->storage, data, ct_dense_bytes(dtype, (size_t)n.v), diag_err(L)));
  return 1;
}

/* Are n elements from the tensor's first one on whole bytes? */
static bool are_bytes(const Tensor *t, int64_t n) {
  return tensor_begins_at_byte(t) && (n % 2 == 0 || !ct_dtype_is_packed(t->dtype));
}

/* {====== On a device, by kernels of stdlib/language/device_copy.lua ====== */

/* Could one of them have an element of the other? */
static bool may_overlap(const Tensor *a, const Tensor *b) {
  int64_t a_lo, a_hi, b_lo, b_hi, size;
  CtErr err;
  return a->storage == b->storage &&
         (ct_walk_bounds(a->layout, &a_lo, &a_hi, &size, &err) != CT_OK ||
          ct_walk_bounds(b->layout, &b_lo, &b_hi, &size, &err) != CT_OK ||
          (a->offset.v + a_lo <= b->offset.v + b_hi && b->offset.v + b_lo <= a->offset.v + a_hi));
}

static bool may_move_there(lua_State *L, const Tensor *t) {
  return ct_storage_is_in_order(t->storage) && !ct_dtype_is_packed(t->dtype) && front_may_launch(L);
}

/* Calls that function with arguments 1 and 2 of the binding. False: it is left to the host. */
static bool move_by(lua_State *L, const char *function) {
  lua_settop(L, 2);
  state_push_function(L, "cuttle.device_copy", function);
  lua_pushvalue(L, 1);
  lua_pushvalue(L, 2);
  lua_call(L, 2, 1);
  bool is_done = lua_toboolean(L, -1);
  lua_pop(L, 1);
  return is_done;
}

static bool copy_there(lua_State *L, const Tensor *src, const Tensor *dst) {
  return src->storage->device == dst->storage->device && ct_storage_is_in_order(dst->storage) &&
         may_move_there(L, src) && !may_overlap(src, dst) && move_by(L, "on_device");
}

/* {====== copy, fill, clear ====== */

/* Do both have the same compact layout, in memory of their own? Then copying is of one block of n elements. */
static bool is_one_block(const CtCx *cx, const Tensor *src, const Tensor *dst, int64_t *n) {
  return ct_layout_equal(src->layout, dst->layout) && src->storage != dst->storage &&
         bind_is_compact(cx, src->layout, n) && are_bytes(src, *n) && are_bytes(dst, *n);
}

static CtStatus copy_on_host(const Tensor *src, const Tensor *dst, CtErr *err) {
  Dense d;
  CtStatus status = dense_open(&d, src, err);
  if (status != CT_OK) {
    return status;
  }
  bool overlaps = d.copy == NULL && src->storage == dst->storage;
  if (overlaps) { /* moving in place would read what it wrote */
    dense_close(&d);
    d = (Dense){.alloc = src->storage->alloc, .bytes = ct_dense_bytes(src->dtype, (size_t)d.n) + 1};
    d.copy = ct_alloc(d.alloc, d.bytes);
    status = d.copy == NULL ? ct_fail_nomem(err) : tensor_gather(src, d.copy, err);
    d.p = d.copy;
  }
  status = status == CT_OK ? tensor_scatter(dst, d.p, err) : status;
  dense_close(&d);
  return status;
}

/* Device to device without the host, where that is possible. */
static CtStatus copy_elements(lua_State *L, const CtCx *cx, const Tensor *src, const Tensor *dst,
                              CtErr *err) {
  CuttleState *s = state_of(L);
  int64_t n;
  if (is_one_block(cx, src, dst, &n)) {
    return copy_bytes(s, src->storage, tensor_byte(src, 0), dst->storage, tensor_byte(dst, 0),
                      (size_t)ct_dtype_span(src->dtype, n), err);
  }
  if (s->taps.recorder != NULL) {
    return ct_fail(err, CT_EINVAL,
                   "graph: copy can be recorded only between two tensors that "
                   "have the same compact layout and share no memory; copy these in a kernel");
  }
  return copy_there(L, src, dst) ? CT_OK : copy_on_host(src, dst, err);
}

/* copy(src, dst): element i of one is element i of the other, whatever their shapes. */
static int copy(lua_State *L) {
  CtDtype dtype;
  if (front_ir(L) != NULL) {
    return traced_copy(L);
  }
  if (bind_test_atom(L, 1, &dtype) != NULL) {
    return diag_error(L, "copy: atoms copy in kernels; on the host write copy(src, dst)");
  }
  diag_check_count(L, "copy", lua_gettop(L), 2);
  CtCx cx = bind_enter(L);
  const Tensor *src = tensor_check_recordable(L, 1, "copy");
  const Tensor *dst = tensor_check_recordable(L, 2, "copy");
  if (src->dtype != dst->dtype) {
    return diag_error(L, "copy: %s has elements %s but %s has %s; expected the same type",
                      tensor_push_role(L, 1, "the source"), ct_dtypes[src->dtype].name,
                      tensor_push_role(L, 2, "the destination"), ct_dtypes[dst->dtype].name);
  }
  if (tensor_size_of(src->layout.shape) != tensor_size_of(dst->layout.shape)) {
    return diag_error(L, "copy: %s %s and %s %s have different sizes; the sizes must agree",
                      tensor_push_role(L, 1, "the source"), bind_layout_text(&cx, src->layout),
                      tensor_push_role(L, 2, "the destination"),
                      bind_layout_text(&cx, dst->layout));
  }
  diag_try(L, copy_elements(L, &cx, src, dst, diag_err(L)));
  return 0;
}

static CtStatus fill_elements(void *ud, CtDtype dtype, void *dst, int64_t n, CtErr *err) {
  const Elem *e = ud;
  (void)err;
  for (int64_t i = 0; i < n; i++) {
    elem_store(dtype, (char *)dst + ct_dense_bytes(dtype, (size_t)i), *e);
  }
  return CT_OK;
}

/* fill(t, value) */
static int fill(lua_State *L) {
  if (front_ir(L) != NULL) {
    return traced_fill(L);
  }
  const Tensor *t = tensor_check_host(L, 1, "fill");
  Elem e;
  diag_try(L, elem_from_lua(L, 2, t->dtype, "fill", &e, diag_err(L)));
  if (!may_move_there(L, t) || !move_by(L, "fill_on_device")) {
    diag_try(L, tensor_generate(t, fill_elements, &e, diag_err(L)));
  }
  return 0;
}

/* A graph records the fill of a row of bytes; a device is given it, and the host does not wait. */
static CtStatus clear_row(CuttleState *s, const Tensor *t, int64_t n, CtErr *err) {
  size_t at = tensor_byte(t, 0), bytes = (size_t)ct_dtype_span(t->dtype, n);
  return s->taps.recorder != NULL ? recorder_set(s->taps.recorder, t->storage, at, 0, bytes, err)
                                  : ct_storage_set(t->storage, at, 0, bytes, err);
}

/* clear(t): zeros. */
static int clear(lua_State *L) {
  if (front_ir(L) != NULL) {
    return traced_clear(L);
  }
  CuttleState *s = state_of(L);
  const Tensor *t = tensor_check_recordable(L, 1, "clear");
  Elem zero;
  int64_t n;
  if (s->taps.recorder != NULL || ct_storage_is_in_order(t->storage)) {
    CtCx cx = bind_enter(L);
    if (bind_is_compact(&cx, t->layout, &n) && are_bytes(t, n)) {
      diag_try(L, clear_row(s, t, n, diag_err(L)));
      return 0;
    }
  }
  if (s->taps.recorder != NULL) {
    return diag_error(L, "graph: clear can be recorded only for a tensor with a compact layout; "
                         "clear this one in a kernel");
  }
  if (may_move_there(L, t) && move_by(L, "clear_on_device")) {
    return 0;
  }
  memset(&zero, 0, sizeof zero);
  diag_try(L, tensor_generate(t, fill_elements, &zero, diag_err(L)));
  return 0;
}

/* {====== Registration ====== */

/* In the order of the documentation: functions of the module that are methods, too. */
static const luaL_Reg functions[] = {
    {"copy", copy}, {"fill", fill}, {"clear", clear}, {NULL, NULL}};

static const luaL_Reg internals[] = {{"_launch.table_on", table_on}, {NULL, NULL}};

static const luaL_Reg own_methods[] = {{"to", to}, {NULL, NULL}};

void bind_add_moves(lua_State *L, int module, int methods) {
  lua_pushvalue(L, methods);
  luaL_setfuncs(L, own_methods, 0);
  luaL_setfuncs(L, functions, 0);
  lua_pushvalue(L, module);
  luaL_setfuncs(L, functions, 0);
  luaL_setfuncs(L, internals, 0);
  lua_pop(L, 2);
}
