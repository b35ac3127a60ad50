/* describe.c: the arguments of a launch as Lua tables; see describe.h. */
#include "describe.h"

#include <lauxlib.h>

#include "interp/launch/launch_key.h"
#include "interp/launch/launch_list.h"
#include "interp/state/diag.h"
#include "interp/state/fields.h"
#include "runtime/layout/tuple_leaves.h"

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

/* Sets the list of the tensor's extents and strides, with what the trace took for granted of them; terms NULL: they are
   constants. */
static void set_leaves(lua_State *L, const Tensor *t, const CtTerm *terms) {
  const CtTuple tuples[] = {t->layout.shape, t->layout.stride};
  int n = 0;
  lua_newtable(L);
  for (size_t k = 0; k < CT_ARRAY_LEN(tuples); k++) {
    for (CtLeaves w = ct_leaves_of(tuples[k]); ct_next_leaf(&w);) {
      const CtTerm term = terms == NULL ? ct_term_constant(w.shape->i.v) : terms[n];
      const Leaf leaf = {w.shape->i.v, term.low, term.high, ct_term_divisor(&term), term.slot == 0};
      FIELDS_PUSH(L, leaf_fields, &leaf);
      lua_rawseti(L, -2, ++n);
    }
  }
  lua_setfield(L, -2, "leaves");
}

static const Field tensor_fields[] = {FIELD(Arg, address), FIELD_AS("first", Arg, span.begin),
                                      FIELD_AS("last", Arg, span.end)};

static void set_reach(lua_State *L, CtDtype dtype, bool is_wide) {
  field_integer(L, "reach", ct_terms_most_last(dtype, is_wide));
  field_integer(L, "most", ct_call_most_elements(is_wide));
}

static void set_terms(lua_State *L, const Kernel *k, const Tensor *t) {
  size_t n = (size_t)t->layout.shape->len + t->layout.stride->len;
  CtTerm *terms = lua_newuserdatauv(L, n * sizeof *terms, 0);
  (void)launch_terms(k, t, terms);
  lua_insert(L, -2);
  set_leaves(L, t, terms);
  lua_remove(L, -2);
}

static void set_tensor(lua_State *L, const Kernel *k, const Arg *arg) {
  FIELDS_SET(L, tensor_fields, arg);
  set_reach(L, arg->dtype, arg->tensor->is_wide);
  set_terms(L, k, arg->tensor);
}

CtCallSpan export_set_constants(lua_State *L, const Tensor *t) {
  Arg arg;
  launch_place(t, &arg);
  FIELDS_SET(L, tensor_fields, &arg);
  set_reach(L, t->dtype, true);
  set_leaves(L, t, NULL);
  return arg.span;
}

/* --- lists of tensors --------------------------------------------------------------------------------- */

/* Appends what the trace took for granted of the leaves of all members, with the numbers of `like`; `facts` are of
   the dynamic ones. */
static int add_common_leaves(lua_State *L, const CtTensorSpec *spec, bool is_extent, CtTuple like,
                             const CtFacts **facts, int n) {
  for (CtLeaves w = ct_leaves(is_extent ? spec->shape : spec->stride, like); ct_next_leaf(&w);) {
    int64_t v = w.stride->i.v;
    Leaf leaf = {v, v, v, 1, true};
    if (w.shape->i.kind == CT_DYNAMIC) {
      const CtFacts *f = (*facts)++;
      leaf = (Leaf){v, f->lo, f->hi, f->div, false};
      ct_term_bounds(is_extent, spec->index == CT_i64, &leaf.low, &leaf.high);
    }
    FIELDS_PUSH(L, leaf_fields, &leaf);
    lua_rawseti(L, -2, ++n);
  }
  return n;
}

static void set_list(lua_State *L, const LaunchList *list) {
  const CtTensorSpec spec = launch_list_spec(list, NULL);
  const CtFacts *facts = spec.facts;
  CtLayout like = launch_list_tensor(list, 0)->layout;
  field_text(L, "dtype", ct_dtypes[spec.dtype].name);
  set_reach(L, spec.dtype, spec.index == CT_i64);
  lua_newtable(L);
  int n = add_common_leaves(L, &spec, true, like.shape, &facts, 0);
  (void)add_common_leaves(L, &spec, false, like.stride, &facts, n);
  lua_setfield(L, -2, "leaves");
  lua_newtable(L);
  for (int64_t i = 0; i < launch_list_size(list); i++) {
    lua_createtable(L, 0, 6);
    (void)export_set_constants(L, launch_list_tensor(list, i));
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  lua_setfield(L, -2, "members");
}

/* --- arguments ---------------------------------------------------------------------------------------- */

static const Field arg_fields[] = {FIELD_NAMED("kind", Arg, kind, kinds), FIELD(Arg, place),
                                   FIELD_AS("slot", Arg, first_slot)};

static void set_number(lua_State *L, const Arg *arg, int64_t bits) {
  field_text(L, "dtype", ct_dtypes[arg->dtype].name);
  field_integer(L, "bits", bits);
}

static void set_object(lua_State *L, const LaunchArgs *a, const Arg *arg, int table) {
  launch_push_given(L, a, arg);
  launch_push_object_text(L, lua_gettop(L));
  lua_setfield(L, table, "text");
  lua_settop(L, table);
  lua_pushlstring(L, (const char *)a->key.bytes + arg->key_at, arg->key_bytes);
  lua_setfield(L, table, "key");
}

static void push_argument(lua_State *L, int kernel, const LaunchArgs *a, const Arg *arg) {
  lua_createtable(L, 0, 12);
  FIELDS_SET(L, arg_fields, arg);
  int table = lua_gettop(L);
  launch_push_title(L, kernel, a, arg);
  lua_setfield(L, table, "title");
  lua_settop(L, table);
  switch (arg->kind) {
    case ARG_TENSOR:
      field_text(L, "dtype", ct_dtypes[arg->dtype].name);
      set_tensor(L, lua_touserdata(L, kernel), arg);
      break;
    case ARG_NUMBER: set_number(L, arg, a->slots[arg->first_slot].i); break;
    case ARG_STATIC: set_number(L, arg, arg->value.i); break;
    case ARG_OBJECT: set_object(L, a, arg, table); break;
    case ARG_LIST: set_list(L, arg->list); break;
    case ARG_RECORD: break; /* its fields are arguments of their own */
  }
}

/* What the kernel does with the memory of a tensor, or of a list's members: these are buffers of their own. */
static void set_use(lua_State *L, const Arg *arg, const CtIr *ir) {
  uint32_t own = ir->params[arg->param].buf;
  bool is_list = arg->kind == ARG_LIST, is_written = false;
  CtDtype dtype = is_list ? launch_list_spec(arg->list, NULL).dtype : arg->dtype;
  if (ct_dtype_is_packed(dtype)) {
    diag_error(L,
               "export: two elements of %s share a byte, which exported programs do not know; "
               "pass the bytes, and write recast(x, %s) in the kernel",
               ct_dtypes[dtype].name, ct_dtypes[dtype].name);
  }
  int64_t align = (int64_t)ct_value_bytes(dtype);
  for (uint32_t buf = 0; buf < ir->n_bufs; buf++) {
    if (is_list ? ir->bufs[buf].list == own : buf == own) {
      is_written = is_written || ir->bufs[buf].is_written;
      align = ct_max(align, ct_ir_relied_align(ir, buf));
    }
  }
  field_bool(L, "written", is_written);
  field_integer(L, "align", align);
}

void export_push_arguments(lua_State *L, int kernel, const LaunchArgs *a, const CtIr *ir) {
  luaL_checkstack(L, 12, NULL);
  lua_createtable(L, a->n, 0);
  for (int i = 0; i < a->n; i++) {
    int top = lua_gettop(L);
    push_argument(L, kernel, a, &a->args[i]);
    if (a->args[i].kind == ARG_TENSOR || a->args[i].kind == ARG_LIST) {
      set_use(L, &a->args[i], ir);
    }
    lua_rawseti(L, top, i + 1);
    lua_settop(L, top);
  }
}

/* Sets the field of the table at the top. */
static void set_bytes(lua_State *L, const char *name, uint64_t begin, uint64_t end, size_t most) {
  if (end - begin <= most) {
    lua_pushlstring(L, (const char *)(uintptr_t)begin, (size_t)(end - begin));
    lua_setfield(L, -2, name);
  }
}

/* Of the members of the list whose table is at the top. */
static void set_member_bytes(lua_State *L, const char *name, const LaunchList *list, size_t most) {
  lua_getfield(L, -1, "members");
  for (int64_t i = 0; i < launch_list_size(list); i++) {
    Arg place;
    launch_place(launch_list_tensor(list, i), &place);
    lua_rawgeti(L, -1, (lua_Integer)i + 1);
    set_bytes(L, name, place.span.begin, place.span.end, most);
    lua_pop(L, 1);
  }
  lua_pop(L, 1);
}

void export_set_bytes(lua_State *L, int idx, const LaunchArgs *a, const char *name, size_t most) {
  for (int i = 0; i < a->n; i++) {
    const Arg *arg = &a->args[i];
    lua_rawgeti(L, idx, i + 1);
    if (arg->kind == ARG_TENSOR && arg->tensor->storage->device == NULL) {
      set_bytes(L, name, arg->span.begin, arg->span.end, most);
    } else if (arg->kind == ARG_LIST && launch_list_device(arg->list) == NULL) {
      set_member_bytes(L, name, arg->list, most);
    }
    lua_pop(L, 1);
  }
}
