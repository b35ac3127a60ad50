/* tensor_element.c: one element of a tensor in the host's own memory, or in a device's of which the host keeps
   pages (storage.h), by a coordinate of plain integers. Scripts ask for these in loops, so no tuple is made and
   nothing is looked up twice. What is unusual or wrong is left to bind_tensor.c, which has the rules and the
   messages. */
#include <stdio.h>

#include "interp/state/diag.h"
#include "interp/trace/front.h"
#include "runtime/layout/layout.h"
#include "interp/state/recorder.h"
#include "interp/state/state.h"
#include "tensor.h"

enum { MANY_REMOTE = 100000 }; /* elements on a device, one by one: about a second */

static bool is_number(CtInt i) { return ct_is_static(i) && i.basis_depth == 0; }

/* Adds the index of the linear coordinate c in a mode, whose nodes are congruent; false where c lies
   outside, or an extent or stride is no number. */
static bool add_linear(CtTuple shape, CtTuple stride, int64_t c, int64_t *at) {
  if (c < 0 || shape->len != stride->len) {
    return false;
  }
  for (uint32_t k = 0; k < shape->len; k++) {
    if (shape[k].rank != CT_LEAF) {
      continue;
    }
    int64_t n = shape[k].i.v;
    if (!is_number(shape[k].i) || !is_number(stride[k].i) || n <= 0) {
      return false;
    }
    *at += c % n * stride[k].i.v;
    c /= n;
  }
  return c == 0;
}

/* A coordinate of n entries: those of the table at idx, or the arguments from idx on. */
typedef struct Coords {
  int idx, n;
  bool is_table;
} Coords;

static bool get_coord(lua_State *L, const Coords *c, int i, int64_t *out) {
  int at = c->idx + i;
  if (c->is_table) {
    lua_rawgeti(L, c->idx, i + 1);
    at = -1;
  }
  bool is_integer = lua_isinteger(L, at) != 0;
  *out = lua_tointeger(L, at);
  lua_pop(L, c->is_table ? 1 : 0);
  return is_integer;
}

/* The index of a coordinate with an integer for each mode. */
static bool index_of_modes(lua_State *L, const Tensor *t, const Coords *c, int64_t *at) {
  CtTuple shape = t->layout.shape, stride = t->layout.stride;
  if (ct_is_leaf(shape) || shape->rank != c->n || stride->rank != c->n) {
    return false;
  }
  CtTuple s = ct_first(shape), d = ct_first(stride);
  for (int i = 0; i < c->n; i++, s = ct_next(s), d = ct_next(d)) {
    int64_t v;
    if (!get_coord(L, c, i, &v) || !add_linear(s, d, v, at)) {
      return false;
    }
  }
  return true;
}

/* The same in a mode without parts, as most are. */
static bool index_of_leaf(const Tensor *t, int64_t c, int64_t *at) {
  CtInt n = t->layout.shape->i, d = t->layout.stride->i;
  *at = (int64_t)((uint64_t)c * (uint64_t)d.v);
  return c >= 0 && c < n.v && is_number(n) && is_number(d);
}

static bool index_of(lua_State *L, const Tensor *t, int idx, int n, int64_t *at) {
  *at = 0;
  if (n == 1 && lua_isinteger(L, idx)) {
    lua_Integer c = lua_tointeger(L, idx);
    return ct_is_leaf(t->layout.shape) && ct_is_leaf(t->layout.stride)
               ? index_of_leaf(t, c, at)
               : add_linear(t->layout.shape, t->layout.stride, c, at);
  }
  bool is_table = n == 1 && lua_istable(L, idx);
  Coords c = {idx, n, is_table};
  if (is_table) {
    lua_Unsigned len = lua_rawlen(L, idx);
    c.n = len <= INT32_MAX ? (int)len : 0;
  }
  return (is_table || n > 1) && index_of_modes(L, t, &c, at);
}

/* The element's first byte in the storage; false: this is not a plain case. */
static bool find(lua_State *L, const CuttleState *s, const Tensor *t, int idx, int n,
                 size_t *byte) {
  int64_t at;
  if (t == NULL || t->in_kernel || t->at != NULL || ct_dtype_is_packed(t->dtype) ||
      t->storage == NULL || front_ir_in(s->front) != NULL ||
      (t->storage->device != NULL && !ct_storage_is_kept(t->storage)) ||
      !index_of(L, t, idx, n, &at) || !tensor_has_element(t, at)) {
    return false;
  }
  *byte = tensor_byte(t, at);
  return true;
}

void tensor_note_remote(lua_State *L, const Tensor *t) {
  CuttleState *s = state_of(L);
  if (t->storage->device == NULL || ct_storage_is_kept(t->storage) ||
      ++s->n_remote != MANY_REMOTE) {
    return;
  }
  lua_Debug ar = {.short_src = "?"};
  char text[320];
  bool found = diag_find_script(L, &ar);
  snprintf(
      text, sizeof text,
      "%s:%d: warning: the host has read or written %d elements on cuda:%d one by one, a transfer "
      "each; x:totable() and x:to\"cpu\" read all at once, from_table writes all",
      ar.short_src, found ? ar.currentline : 0, MANY_REMOTE,
      ct_device_info(t->storage->device)->ordinal);
  state_log(s, text);
}

/* As state_host_uses, which has the message. */
static void note_use(lua_State *L, CuttleState *s) {
  if (s->taps.recorder != NULL) {
    state_host_uses(L, NULL);
  }
  s->n_host++;
}

bool tensor_get_plain(lua_State *L, int idx, int n) {
  size_t byte;
  uint64_t bits;
  CuttleState *s = state_of(L);
  const Tensor *t = tensor_peek_in(L, s, 1);
  if (!find(L, s, t, idx, n, &byte)) {
    return false;
  }
  note_use(L, s);
  state_await(L, t->storage);
  const void *p = &bits;
  if (t->storage->device == NULL) {
    p = (const char *)t->storage->host + byte;
  } else {
    diag_try(L, ct_storage_get(t->storage, byte, &bits, ct_value_bytes(t->dtype), diag_err(L)));
  }
  elem_push(L, t->dtype, elem_load(t->dtype, p));
  return true;
}

bool tensor_set_plain(lua_State *L, int idx, int value) {
  CuttleState *s = state_of(L);
  const Tensor *t = tensor_peek_in(L, s, 1);
  size_t byte, bytes;
  Elem e;
  if (!find(L, s, t, idx, 1, &byte) || elem_from_lua(L, value, t->dtype, NULL, &e, NULL) != CT_OK ||
      ct_storage_may_write(t->storage, NULL) != CT_OK) {
    return false;
  }
  note_use(L, s);
  state_await(L, t->storage);
  bytes = ct_value_bytes(t->dtype);
  if (t->storage->device == NULL) {
    ct_blank_write(t->storage->blank, byte, bytes);
    elem_store(t->dtype, (char *)t->storage->host + byte, e);
  } else {
    uint64_t bits;
    elem_store(t->dtype, &bits, e);
    diag_try(L, ct_storage_put(t->storage, byte, &bits, bytes, diag_err(L)));
  }
  return true;
}
