/* describe.c: the arguments of a launch as Lua tables; see describe.h. */
#include "describe.h"

#include <lauxlib.h>

#include "interp/launch/launch_key.h"
#include "interp/state/diag.h"
#include "interp/state/record.h"

static const char *const kinds[] = {
    [ARG_TENSOR] = "tensor", [ARG_NUMBER] = "number", [ARG_STATIC] = "constant",
    [ARG_OBJECT] = "object", [ARG_LIST] = "list",     [ARG_RECORD] = "record"};

/* --- tensors ------------------------------------------------------------------------------------------ */

typedef struct Leaf {
  int64_t value, low, high, divisor;
  bool fixed;
} Leaf;

static const Field leaf_fields[] = {FIELD(Leaf, value), FIELD(Leaf, low), FIELD(Leaf, high),
                                    FIELD(Leaf, divisor), FIELD(Leaf, fixed)};

/* What the trace took for granted of an extent or a stride: see leaf_facts in spec_trace.c. */
static Leaf leaf_of(const Kernel *k, const Arg *arg, bool is_extent, int number, int64_t v) {
  if (!launch_is_slot(k, arg->tensor, is_extent, number, v)) {
    return (Leaf){v, v, v, 1, true};
  }
  int64_t max = arg->tensor->is_wide ? launch_leaf_max(true) : CT_MOST_NARROW - 1;
  int64_t divisor = launch_leaf_div(is_extent, v, arg->dtype);
  bool is_negative = !is_extent && v < 0;
  return (Leaf){v, is_extent ? 0 : is_negative ? -max : 2, is_negative ? -1 : max, divisor, false};
}

/* Appends the leaves to the list at the top; returns how many there are. */
static int add_leaves(lua_State *L, const Kernel *k, const Arg *arg, bool is_extent, int n) {
  CtTuple t = is_extent ? arg->tensor->layout.shape : arg->tensor->layout.stride;
  int number = 0;
  for (uint32_t i = 0; i < t->len; i++) {
    if (t[i].rank == CT_LEAF) {
      Leaf leaf = leaf_of(k, arg, is_extent, number++, t[i].i.v);
      RECORD_PUSH(L, leaf_fields, &leaf);
      lua_rawseti(L, -2, ++n);
    }
  }
  return n;
}

static const Field tensor_fields[] = {FIELD(Arg, address), FIELD_AS("first", Arg, begin),
                                      FIELD_AS("last", Arg, end)};

static void set_tensor(lua_State *L, const Kernel *k, const Arg *arg) {
  RECORD_SET(L, tensor_fields, arg);
  record_bool(L, "wide", arg->tensor->is_wide);
  lua_newtable(L);
  int n = add_leaves(L, k, arg, true, 0);
  (void)add_leaves(L, k, arg, false, n);
  lua_setfield(L, -2, "leaves");
}

/* --- arguments ---------------------------------------------------------------------------------------- */

static const Field arg_fields[] = {FIELD_NAMED("kind", Arg, kind, kinds), FIELD(Arg, place),
                                   FIELD_AS("slot", Arg, first_slot)};

static void push_argument(lua_State *L, int kernel, const LaunchArgs *a, const Arg *arg) {
  lua_createtable(L, 0, 12);
  RECORD_SET(L, arg_fields, arg);
  int table = lua_gettop(L);
  launch_push_title(L, kernel, a, arg);
  lua_setfield(L, table, "title");
  lua_settop(L, table);
  if (arg->kind == ARG_TENSOR || arg->kind == ARG_NUMBER || arg->kind == ARG_STATIC) {
    record_text(L, "dtype", ct_dtypes[arg->dtype].name);
  }
  if (arg->kind == ARG_TENSOR) {
    set_tensor(L, lua_touserdata(L, kernel), arg);
  } else if (arg->kind == ARG_NUMBER) {
    record_integer(L, "bits", a->slots[arg->first_slot].i);
  } else if (arg->kind == ARG_STATIC) {
    record_integer(L, "bits", arg->value.i);
  } else if (arg->kind == ARG_OBJECT) {
    launch_push_given(L, a, arg);
    launch_push_object_text(L, lua_gettop(L));
    lua_setfield(L, table, "text");
    lua_settop(L, table);
    lua_pushlstring(L, (const char *)a->key + arg->key_at, arg->key_bytes);
    lua_setfield(L, table, "key");
  }
}

void export_push_arguments(lua_State *L, int kernel, const LaunchArgs *a, const CtIr *ir) {
  luaL_checkstack(L, 12, NULL);
  lua_createtable(L, a->n, 0);
  for (int i = 0; i < a->n; i++) {
    int top = lua_gettop(L);
    push_argument(L, kernel, a, &a->args[i]);
    if (a->args[i].kind == ARG_TENSOR) {
      uint32_t buf = ir->params[a->args[i].param].buf;
      record_bool(L, "written", ir->bufs[buf].is_written);
      record_integer(L, "align", ct_ir_relied_align(ir, buf));
    }
    lua_rawseti(L, top, i + 1);
    lua_settop(L, top);
  }
}

void export_set_bytes(lua_State *L, int idx, const LaunchArgs *a, const char *name, size_t most) {
  for (int i = 0; i < a->n; i++) {
    const Arg *arg = &a->args[i];
    if (arg->kind == ARG_TENSOR && arg->tensor->storage->device == NULL &&
        arg->end - arg->begin <= most) {
      lua_rawgeti(L, idx, i + 1);
      lua_pushlstring(L, (const char *)(uintptr_t)arg->begin, (size_t)(arg->end - arg->begin));
      lua_setfield(L, -2, name);
      lua_pop(L, 1);
    }
  }
}
