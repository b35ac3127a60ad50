/* launch_args.c: what arguments of a launch are made of: their key and slots, what is known of a tensor and
   of its extents and strides, and how messages call an argument. */
#include <lauxlib.h>
#include <stdio.h>
#include <string.h>

#include "interp/algebra/bind.h"
#include "launch_key.h"
#include "runtime/layout/tuple_leaves.h"
#include "runtime/layout/walk.h"

enum { GROWTH = 4 };

/* --- room ------------------------------------------------------------------------------------------------- */

void launch_args_few(lua_State *L, LaunchArgs *a) {
  lua_pushnil(L);
  a->anchor = lua_gettop(L);
  a->cap = LAUNCH_FEW_ARGS;
  a->cap_slots = LAUNCH_FEW_SLOTS;
  a->args = a->few_args;
  a->slots = a->few_slots;
  a->key = (LaunchKey){.bytes = a->few_key, .cap = sizeof a->few_key};
  a->n_elems = a->few_elems;
  a->lists = a->few_lists;
}

void launch_anchor(lua_State *L, const LaunchArgs *a, int place) {
  if (lua_isnil(L, a->anchor)) {
    lua_newtable(L);
    lua_replace(L, a->anchor);
  }
  lua_rawseti(L, a->anchor, place);
}

void launch_args_more(lua_State *L, LaunchArgs *a) {
  size_t cap = (size_t)a->cap * GROWTH, slots = (size_t)a->cap_slots * GROWTH;
  size_t key = a->key.cap * GROWTH;
  Arg *args = lua_newuserdatauv(L,
                                cap * (sizeof *args + sizeof *a->n_elems + sizeof *a->lists) +
                                    slots * sizeof *a->slots + key,
                                0);
  launch_anchor(L, a, 1);
  a->cap = (int)cap;
  a->cap_slots = (int)slots;
  a->args = args;
  a->lists = (CtSimtList *)(void *)(args + cap);
  a->n_elems = (int64_t *)(void *)(a->lists + cap);
  a->slots = (CtSlotValue *)(void *)(a->n_elems + cap);
  a->key = (LaunchKey){.bytes = (unsigned char *)(a->slots + slots), .cap = key};
}

/* --- slots ------------------------------------------------------------------------------------------------ */

void launch_add_slot(lua_State *L, LaunchArgs *a, CtSlotValue v) {
  if (a->n_slots == LAUNCH_MAX_SLOTS) {
    diag_error(L,
               "the arguments have more than %d addresses, extents, strides and numbers; pass "
               "tensors in a list, {a, b}",
               LAUNCH_MAX_SLOTS);
  }
  a->is_full = a->is_full || a->n_slots == a->cap_slots;
  if (!a->is_full) {
    a->slots[a->n_slots] = v;
  }
  a->n_slots++;
}

void launch_add_param(LaunchArgs *a, Arg *arg, int64_t n_elems) {
  arg->param = a->n_ir_params;
  a->n_elems[a->n_ir_params++] = n_elems;
}

/* --- tensors ------------------------------------------------------------------------------------------------ */

bool launch_is_fixed(const Tensor *t, bool is_extent, int leaf) {
  return t->is_fixed || (is_extent && leaf < TENSOR_MAX_FIXED && (t->fixed >> leaf & 1) != 0);
}

bool launch_is_slot(const Kernel *k, const Tensor *t, bool is_extent, int leaf, int64_t v) {
  bool is_fixed = k->static_shapes || launch_is_fixed(t, is_extent, leaf);
  return !is_fixed && (is_extent || (v != 0 && v != 1));
}

static int add_terms(const Kernel *k, const Tensor *t, bool is_extent, CtTerm *out,
                     uint32_t *slot) {
  CtLeaves w = ct_leaves_of(is_extent ? t->layout.shape : t->layout.stride);
  int n = 0;
  for (; ct_next_leaf(&w); n++) {
    int64_t v = w.shape->i.v;
    out[n] = ct_term_constant(v);
    if (launch_is_slot(k, t, is_extent, n, v)) {
      out[n] = ct_term_of(is_extent, v, t->dtype, t->is_wide);
      out[n].slot = ++*slot;
      ct_term_bounds(is_extent, t->is_wide, &out[n].low, &out[n].high);
    }
  }
  return n;
}

int launch_terms(const Kernel *k, const Tensor *t, CtTerm *out) {
  uint32_t slot = 0;
  int n = add_terms(k, t, true, out, &slot);
  return n + add_terms(k, t, false, out + n, &slot);
}

static int64_t longest_mode(CtTuple shape) {
  int64_t longest = 0;
  for (uint32_t i = 0; i < shape->len; i++) {
    longest = shape[i].rank == CT_LEAF ? ct_max(longest, shape[i].i.v) : longest;
  }
  return longest;
}

CtStatus launch_measure(Tensor *t, CtErr *err) {
  int64_t size;
  CtStatus status = ct_walk_bounds(t->layout, &t->lo, &t->hi, &size, err);
  if (status == CT_OK) {
    t->is_wide = ct_call_is_wide(t->hi, size, longest_mode(t->layout.shape), t->dtype);
  }
  return status;
}

bool launch_check_measure(lua_State *L, Tensor *t) {
  CtErr err;
  diag_check(L, launch_measure(t, &err), &err);
  return t->lo >= 0;
}

uint64_t launch_end_of(const Tensor *t, uint64_t end) {
  uint64_t most = ct_storage_place(t->storage) + t->storage->bytes;
  return t->storage->is_lent || end < most ? end : most;
}

uint64_t launch_address(const Tensor *t) {
  return ct_storage_place(t->storage) + tensor_byte(t, 0);
}

void launch_place(const Tensor *t, Arg *out) {
  out->address = launch_address(t);
  out->span.begin = out->address + (uint64_t)ct_dtype_byte(t->dtype, t->lo);
  out->span.end = launch_end_of(t, out->address + (uint64_t)ct_dtype_span(t->dtype, t->hi + 1));
}

/* --- titles ----------------------------------------------------------------------------------------------- */

/* Appends ".grads" or "[2]" for each record around the field. */
static void add_path(luaL_Buffer *b, const LaunchArgs *a, const Arg *arg) {
  if (arg->parent < 0) {
    return;
  }
  add_path(b, a, &a->args[arg->parent]);
  if (arg->field != NULL) {
    luaL_addstring(b, ".");
    luaL_addstring(b, arg->field);
  } else {
    char text[32];
    snprintf(text, sizeof text, "[%lld]", (long long)arg->number);
    luaL_addstring(b, text);
  }
}

const char *launch_push_title(lua_State *L, int kernel, const LaunchArgs *a, const Arg *arg) {
  const Kernel *k = lua_touserdata(L, kernel);
  luaL_Buffer b;
  lua_getiuservalue(L, kernel, 1);
  const char *name = lua_getlocal(L, NULL, arg->place); /* takes the function */
  luaL_buffinit(L, &b);
  luaL_addstring(&b, name == NULL ? "" : name);
  add_path(&b, a, arg);
  luaL_pushresult(&b);
  const char *path = lua_tostring(L, -1);
  const char *title = *path == '\0'
                          ? lua_pushfstring(L, "%s: argument %d", k->name, arg->place)
                          : lua_pushfstring(L, "%s: argument %d (%s)", k->name, arg->place, path);
  lua_remove(L, -2);
  return title;
}

const char *launch_push_place(lua_State *L, int kernel, int i) {
  const Arg arg = {.place = i + 1, .parent = -1};
  return launch_push_title(L, kernel, NULL, &arg);
}

const char *launch_push_device(lua_State *L, const CtDevice *d) {
  return d == NULL ? lua_pushliteral(L, "cpu")
                   : lua_pushfstring(L, "cuda:%d", ct_device_info(d)->ordinal);
}
