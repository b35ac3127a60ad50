/* launch_again.c: the arguments of a configuration's next call, compared with those that it read last. Nearly every
   launch of a script goes this way, so it asks Lua for no more than it needs. */
#include <string.h>

#include "interp/state/diag.h"
#include "launch_key.h"
#include "launch_list.h"

static bool is_same_tensor(lua_State *L, const Kernel *k, const Arg *arg, int idx) {
  const Tensor *t = launch_test_tensor(L, k, idx);
  CtErr err;
  return t != NULL && t == arg->tensor && t->id == arg->tensor_id && tensor_live(t, &err) == CT_OK;
}

/* A plain Lua number of the type that stands in the key. */
static bool reread_number(lua_State *L, LaunchArgs *a, Arg *arg, int idx) {
  CtSlotValue *slot = &a->slots[arg->first_slot];
  if (lua_isinteger(L, idx)) {
    slot->i = lua_tointeger(L, idx);
    return arg->dtype == (slot->i == (int32_t)slot->i ? CT_i32 : CT_i64);
  }
  if (lua_type(L, idx) != LUA_TNUMBER || !arg->is_untyped) {
    return false;
  }
  arg->value.f64 = lua_tonumber(L, idx);
  *slot = ct_slot_float(arg->dtype, arg->value.f64);
  return true;
}

static bool is_same_arg(lua_State *L, const Kernel *k, LaunchArgs *a, Arg *arg, int idx) {
  switch (arg->kind) {
    case ARG_TENSOR: return is_same_tensor(L, k, arg, idx);
    case ARG_NUMBER: return reread_number(L, a, arg, idx);
    case ARG_LIST: return launch_list_is(L, k, idx, arg->list, arg->tensor_id);
    case ARG_OBJECT: return launch_object_is(L, a, arg, idx);
    case ARG_STATIC:
    case ARG_RECORD: break;
  }
  return false;
}

/* While no tensor was closed or collected since the arguments were read, an address tells a tensor that was among
   them from everything else. */
static bool are_same_args(lua_State *L, const Kernel *k, LaunchArgs *a, int first) {
  bool are_live = a->n_closed == k->state->tensors.n_closed;
  for (int i = 0; i < a->n; i++) {
    Arg *arg = &a->args[i];
    bool same = are_live && arg->kind == ARG_TENSOR ? lua_touserdata(L, first + i) == arg->tensor
                                                    : is_same_arg(L, k, a, arg, first + i);
    if (!same) {
      return false;
    }
  }
  a->n_closed = k->state->tensors.n_closed; /* for the tensors are live */
  return true;
}

/* Without tensors the current device decides. */
static bool is_same_device(const CuttleState *s, const LaunchArgs *a) {
  return a->has_tensors || (s->is_device_open && s->device == a->device);
}

enum { CAPTURES_ON_STACK = 8 };

/* What the function captures now, compared with what the key says. */
static bool has_same_captures(lua_State *L, int kernel, const LaunchArgs *a) {
  const unsigned char *at = a->key + a->captures, *end = at + a->captures_len;
  bool same = true;
  if (at == end) { /* a function never gets upvalues */
    return true;
  }
  lua_getiuservalue(L, kernel, 1);
  int fn = lua_gettop(L);
  for (int i = 1; same && lua_getupvalue(L, fn, i) != NULL; i++) {
    unsigned char now[LAUNCH_CAPTURE_BYTES];
    size_t n = launch_capture_key(L, now);
    same = n <= (size_t)(end - at) && memcmp(at, now, n) == 0;
    at += n;
    if (i % CAPTURES_ON_STACK == 0) {
      lua_settop(L, fn);
    }
  }
  lua_settop(L, fn - 1);
  return same && at == end;
}

bool launch_read_again(lua_State *L, int kernel, int first, int n, LaunchArgs *a) {
  const Kernel *k = a->of;
  bool same = n == a->n && a->notes == launch_notes(k, a) && a->rank == k->state->rank &&
              a->marks == taps_marks_id(&k->state->taps) && is_same_device(k->state, a) &&
              are_same_args(L, k, a, first);
  a->anchor = 0;
  return same && has_same_captures(L, kernel, a);
}

bool launch_is_like(const LaunchConfig *c, const LaunchArgs *a) {
  LaunchHead head = launch_head(c);
  return a->wants == launch_notes_wanted(c) && memcmp(a->key, head.bytes, sizeof head.bytes) == 0;
}

bool launch_read_moved(lua_State *L, int kernel, LaunchArgs *a) {
  a->anchor = 0;
  if (a->notes != launch_notes(a->of, a) || a->marks != taps_marks_id(&a->of->state->taps) ||
      !has_same_captures(L, kernel, a)) {
    return false;
  }
  bool overlap = launch_find_overlap(a);
  if (overlap != a->overlap) {
    a->overlap = overlap;
    a->key[a->captures + a->captures_len + sizeof a->device] = overlap; /* as launch_read puts it */
    a->spec = 0;
  }
  return true;
}
