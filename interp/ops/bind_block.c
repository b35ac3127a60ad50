/* bind_block.c: the things that exist only inside a kernel: indices of threads and blocks, shared
   memory and fragments, barriers, loops of the kernel. */
#include <lauxlib.h>
#include <string.h>

#include "access.h"
#include "call.h"
#include "interp/algebra/bind.h"
#include "interp/trace/front.h"
#include "interp/trace/range.h"
#include "runtime/layout/walk.h"
#include "interp/tensor/tensor.h"
#include "interp/trace/value.h"
#include "interp/openers.h"
#include "interp/state/fields.h"

/* --- indices ------------------------------------------------------------------------------------------ */

typedef struct ThreadIndex {
  const char *name;
  CtOp op; /* CT_OP_NONE: blockDim, which is static */
} ThreadIndex;

static const ThreadIndex indices[] = {{"threadIdx", CT_OP_TID},
                                      {"blockIdx", CT_OP_BID},
                                      {"gridDim", CT_OP_GDIM},
                                      {"blockDim", CT_OP_NONE}};

/* 512 KB of local memory is what a thread of a GPU can have. */
enum { MAX_UNROLL = 1 << 16 };

static int index_index(lua_State *L) {
  const ThreadIndex *index = &indices[*(int *)luaL_checkudata(L, 1, INDEX_TYPE)];
  CtIr *ir = front_here(L, index->name);
  const char *axis = lua_tostring(L, 2);
  if (axis == NULL || axis[0] < 'x' || axis[0] > 'z' || axis[1] != '\0') {
    return diag_error(L, "%s: it has x, y and z, not %s", index->name,
                      axis == NULL ? diag_push_kind(L, 2) : axis);
  }
  int i = axis[0] - 'x';
  if (index->op == CT_OP_NONE) {
    lua_pushinteger(L, ir->block[i]);
  } else {
    value_push(L, ct_ir_axis(ir, index->op, i));
  }
  return 1;
}

static int index_newindex(lua_State *L) {
  return diag_error(L, "%s cannot be assigned",
                    indices[*(int *)luaL_checkudata(L, 1, INDEX_TYPE)].name);
}

static int index_tostring(lua_State *L) {
  lua_pushstring(L, indices[*(int *)luaL_checkudata(L, 1, INDEX_TYPE)].name);
  return 1;
}

/* --- memory -------------------------------------------------------------------------------------------- */

CtComposed access_static_layout(lua_State *L, int idx, const CtCx *cx, const char *op,
                                int64_t *n_elems) {
  CtComposed l = bind_to_composed(L, idx, cx, op);
  int64_t lo, hi, size;
  CtErr err;
  if (!ct_composed_is_static(&l)) {
    diag_error(L,
               "%s: the shape must be static, but this one holds run-time values; use numbers "
               "of the script, static(16) or static_mode(t, mode) in the launch, or extents under "
               "kernel(name, fn, {static_shapes = true})",
               op);
  }
  if (ct_walk_bounds(l.layout, &lo, &hi, &size, &err) != CT_OK ||
      ct_swizzle_extent(l.swizzle, size == 0 ? 0 : l.offset.v + hi + 1, n_elems, &err) != CT_OK) {
    diag_error(L, "%s: %s", op, err.msg);
  }
  if (lo + l.offset.v < 0) {
    diag_error(L, "%s: layout %s has indices below 0; strides >= 0 were expected", op,
               bind_composed_text(cx, &l));
  }
  return l;
}

Tensor *access_push_declared(lua_State *L, CtIr *ir, CtView view) {
  if (ir->failed) {
    luaL_error(L, "not enough memory");
  }
  const CtBuf *buf = &ir->bufs[view.buf];
  return tensor_push_kernel(L, buf->dtype, buf->space, view, front_serial(L));
}

/* Checks the kernel's shared tensors with one more of n_elems. */
static void check_shared(lua_State *L, const CtIr *ir, CtDtype dtype, int64_t n_elems) {
  int64_t bytes = ct_ir_shared_bytes(ir), own;
  int64_t max = (int64_t)ir->target.shared_max;
  if (ct_dtype_span_overflow(dtype, n_elems, &own) || ct_add_overflow(bytes, own, &bytes)) {
    bytes = INT64_MAX;
  }
  if (bytes > max) {
    diag_error(L,
               "shared: the kernel's shared tensors take %I bytes, but a block on %s has %I; "
               "make a tile smaller",
               (LUAI_UACINT)bytes, ir->target.name, (LUAI_UACINT)max);
  }
}

/* shared(dtype): the memory that the launch gives. */
static int shared_of_launch(lua_State *L, CtIr *ir, CtDtype dtype) {
  if (ct_dtype_is_packed(dtype)) {
    return diag_error(L,
                      "shared: the memory of the launch is not of %s, two of which share a "
                      "byte; write recast(shared(u8), %s)",
                      ct_dtypes[dtype].name, ct_dtypes[dtype].name);
  }
  if (ir->smem < (int64_t)ct_value_bytes(dtype)) {
    return diag_error(L,
                      "shared: without a layout, it is the memory that the launch provides, "
                      "which has %I bytes; pass a layout, or launch with smem = bytes",
                      (LUAI_UACINT)ir->smem);
  }
  CtView view = ct_ir_shared_of_launch(ir, dtype);
  CtDtype before = ir->failed ? dtype : ir->bufs[view.buf].dtype;
  if (before != dtype) {
    return diag_error(L,
                      "shared: the memory that the launch provides is already a tensor of %s; "
                      "%s was requested",
                      ct_dtypes[before].name, ct_dtypes[dtype].name);
  }
  access_push_declared(L, ir, view);
  return 1;
}

static int lang_shared(lua_State *L) { /* dtype[, layout] */
  CtIr *ir = front_here(L, "shared");
  CtCx cx = bind_enter(L);
  int64_t n;
  CtDtype dtype = bind_to_dtype(L, 1, "shared");
  if (lua_isnoneornil(L, 2)) {
    return shared_of_launch(L, ir, dtype);
  }
  CtComposed layout = access_static_layout(L, 2, &cx, "shared", &n);
  check_shared(L, ir, dtype, n);
  if (ct_dtype_is_packed(dtype) && layout.swizzle.bits != 0 && layout.swizzle.base < 1) {
    return diag_error(L,
                      "shared: two elements of %s share a byte, and the swizzle moves them apart; "
                      "use one with M >= 1",
                      ct_dtypes[dtype].name);
  }
  access_push_declared(L, ir, ct_ir_shared_composed(ir, NULL, dtype, &layout));
  return 1;
}

/* --- scratch of collectives ------------------------------------------------------------------------ */

static const char scratch_key; /* registry: the running trace's scratches and whose turn it is */

/* Pushes the table of this trace. Its fields: serial; last, the barrier of the newest call; turn. */
static void push_scratches(lua_State *L) {
  lua_Integer serial = (lua_Integer)front_serial(L);
  if (lua_rawgetp(L, LUA_REGISTRYINDEX, &scratch_key) == LUA_TTABLE &&
      field_to_integer(L, -1, "serial", 0) == serial) {
    return;
  }
  lua_pop(L, 1);
  lua_newtable(L);
  lua_pushinteger(L, serial);
  lua_setfield(L, -2, "serial");
  lua_pushvalue(L, -1);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &scratch_key);
}

/* scratch_begin(): takes turns between two scratches while calls follow each other in one region.
   Returns whether somebody may still read this call's scratch: it is the first in a row, but not the kernel's first
   call outside of loops and conditions. */
static int lang_scratch_begin(lua_State *L) {
  const CtIr *ir = front_here(L, "block_reduce");
  push_scratches(L);
  CtVal last = (CtVal)field_to_integer(L, -1, "last", 0);
  bool is_first = last == 0 || ct_inst(ir, last)->region != ir->cur;
  lua_pushinteger(L, is_first ? 0 : 1 - field_to_integer(L, -1, "turn", 0));
  lua_setfield(L, -2, "turn");
  lua_pushboolean(L, is_first && (last != 0 || ir->cur != CT_BODY));
  return 1;
}

/* scratch_end(): the barrier just recorded separates this call from the next one. */
static int lang_scratch_end(lua_State *L) {
  const CtIr *ir = front_here(L, "block_reduce");
  push_scratches(L);
  lua_pushinteger(L, (lua_Integer)ct_ir_position(ir));
  lua_setfield(L, -2, "last");
  return 0;
}

/* scratch(dtype, n, slot): the shared tensor of this turn, made at its first use. */
static int lang_scratch(lua_State *L) {
  (void)front_here(L, "shared");
  lua_settop(L, 3);
  push_scratches(L);
  int turn = (int)field_to_integer(L, -1, "turn", 0);
  lua_pushfstring(L, "%s %I %I %d", luaL_tolstring(L, 1, NULL), (LUAI_UACINT)lua_tointeger(L, 2),
                  (LUAI_UACINT)lua_tointeger(L, 3), turn);
  lua_pushvalue(L, -1); /* stack: dtype, n, slot, scratches, dtype's text, key, key */
  if (lua_gettable(L, 4) == LUA_TNIL) {
    lua_pushcfunction(L, lang_shared);
    lua_pushvalue(L, 1);
    lua_pushvalue(L, 2);
    lua_call(L, 2, 1);
    lua_pushvalue(L, 6);
    lua_pushvalue(L, -2);
    lua_settable(L, 4);
  }
  return 1;
}

static void check_fragment(lua_State *L, const CtCx *cx, const char *op, CtLayout layout,
                           int64_t n) {
  if (n > CT_FRAGMENT_ELEMENTS) {
    diag_error(L,
               "%s: %s has %I elements for each thread; at most %d were expected, and "
               "more than 255 registers are slow",
               op, bind_layout_text(cx, layout), (LUAI_UACINT)n, CT_FRAGMENT_ELEMENTS);
  }
}

static void check_local(lua_State *L, const CtCx *cx, CtDtype dtype, CtLayout layout, int64_t n) {
  int64_t max = (int64_t)ct_dense_count(dtype, CT_LOCAL_BYTES);
  if (n > max) {
    diag_error(L,
               "local_array: %s has %I elements of %s for each thread; at most %I were expected; "
               "keep the data in global memory",
               bind_layout_text(cx, layout), (LUAI_UACINT)n, ct_dtypes[dtype].name,
               (LUAI_UACINT)max);
  }
}

/* Memory of a thread: (dtype, layout). */
static int declare_own(lua_State *L, const char *op, bool is_local) {
  CtIr *ir = front_here(L, op);
  CtCx cx = bind_enter(L);
  int64_t n;
  CtDtype dtype = bind_to_dtype(L, 1, op);
  CtComposed l = access_static_layout(L, 2, &cx, op, &n);
  if (l.is_swizzled) {
    diag_error(L,
               "%s: %s is swizzled, which only shared memory needs: registers have no banks; "
               "use the layout below the swizzle",
               op, bind_composed_text(&cx, &l));
  }
  if (is_local) {
    check_local(L, &cx, dtype, l.layout, n);
  } else {
    check_fragment(L, &cx, op, l.layout, n);
  }
  access_push_declared(L, ir, (is_local ? ct_ir_local : ct_ir_fragment)(ir, NULL, dtype, l.layout));
  return 1;
}

static int lang_fragment(lua_State *L) { return declare_own(L, "fragment", false); }
static int lang_local_array(lua_State *L) { return declare_own(L, "local_array", true); }

/* Do the strides give no order for a fragment? Run-time strides and those of coordinates do not.
   Elements that a guard tells apart need places of their own, even if strides of 0 give them one
   place. */
static bool is_unordered(const Tensor *t) {
  bool spread = t->at != NULL || !ct_layout_is_static(t->layout);
  for (uint32_t i = 0; t->guard != NULL && i < t->layout.stride->len; i++) {
    spread = spread || ct_is_const(t->layout.stride[i].i, 0);
  }
  return spread;
}

/* The layout of a fragment for the elements of the tensor in argument 1. */
static CtLayout layout_of_fragment(lua_State *L, const CtCx *cx, const Tensor *t, const char *op) {
  CtLayout layout;
  if (!ct_all_static(t->layout.shape)) {
    diag_error(L,
               "%s: %s %s has a dynamic shape; tile it first, or trace the "
               "kernel with {static_shapes = true}",
               op, tensor_push_title(L, 1), bind_layout_text(cx, t->layout));
  }
  if (is_unordered(t)) { /* compact, column-major */
    diag_try(L, ct_layout_make(cx, t->layout.shape, NULL, &layout, diag_err(L)));
  } else {
    diag_try(L, ct_fragment_layout_like(cx, t->layout, &layout, diag_err(L)));
  }
  return layout;
}

static int lang_fragment_like(lua_State *L) { /* tensor[, dtype] */
  CtIr *ir = front_here(L, "fragment_like");
  CtCx cx = bind_enter(L);
  const Tensor *t = tensor_check(L, 1, "fragment_like");
  CtDtype dtype = lua_isnoneornil(L, 2) ? t->dtype : bind_to_dtype(L, 2, "fragment_like");
  if (t->at != NULL && lua_isnoneornil(L, 2)) {
    return diag_error(L,
                      "fragment_like: %s is a tensor of coordinates; give the elements' type too",
                      tensor_push_title(L, 1));
  }
  CtLayout layout = layout_of_fragment(L, &cx, t, "fragment_like");
  access_push_declared(L, ir, ct_ir_fragment(ir, NULL, dtype, layout));
  return 1;
}

/* Reads elements in memory first, unchanged and in wide accesses; then casts registers. */
int traced_cast(lua_State *L, CtDtype to) {
  CtIr *ir = front_here(L, "cast");
  CtCx cx = bind_enter(L);
  CtView src = access_view(L, 1, "cast");
  const Tensor *t = tensor_test(L, 1);
  CtLayout layout = layout_of_fragment(L, &cx, t, "cast");
  CtInt n;
  diag_try(L, ct_size(&cx, layout, &n, diag_err(L)));
  check_fragment(L, &cx, "cast", layout, n.v);
  CtView dst = ct_ir_fragment(ir, NULL, to, layout);
  if (t->space != CT_REGISTER || t->is_guarded || to == t->dtype) {
    CtView read = to == t->dtype ? dst : ct_ir_fragment(ir, NULL, t->dtype, layout);
    diag_try(L, ct_ir_copy(ir, src, read, diag_err(L)));
    src = read;
  }
  if (to != t->dtype) {
    diag_try(L, ct_ir_convert(ir, src, dst, diag_err(L)));
  }
  access_push_declared(L, ir, dst);
  return 1;
}

/* --- work on whole tensors -------------------------------------------------------------------------------- */

static int lang_axpby(lua_State *L) { /* alpha, X, beta, Y */
  CtIr *ir = front_here(L, "axpby");
  CtView x = access_view(L, 2, "axpby");
  CtView y = access_view(L, 4, "axpby");
  CtDtype dtype = ir->bufs[y.buf].dtype;
  CtVal alpha = value_to(L, 1, dtype, "axpby");
  CtVal beta = value_to(L, 3, dtype, "axpby");
  diag_try(L, ct_ir_axpby(ir, alpha, x, beta, y, diag_err(L)));
  return 0;
}

/* --- barriers and copies in flight ---------------------------------------------------------------------- */

static const CallArg wait_args[] = {{call_count, 0, 7, "number of groups"}};
static const CallRow rows[] = {
    {"sync_threads", call_effect, CT_OP_BARRIER, 0, CALL_NO_ARGS},
    {"cp_async_commit", call_effect, CT_OP_CP_FENCE, 0, CALL_NO_ARGS},
    {"cp_async_wait", call_effect, CT_OP_CP_WAIT, 0, CALL_ARGS(wait_args)}};

/* --- loops ---------------------------------------------------------------------------------------------------- */

static Range *push_range(lua_State *L, CtInt start, CtInt stop, CtInt step, int64_t unroll) {
  Range *r = lua_newuserdatauv(L, sizeof *r, 1);
  *r = (Range){start, stop, step, unroll, front_serial(L), 1, "a range", false};
  luaL_setmetatable(L, RANGE_TYPE);
  return r;
}

/* On the host, Lua itself runs a for loop over a range, by calling it. */
static int range_call(lua_State *L) {
  const Range *r = luaL_checkudata(L, 1, RANGE_TYPE);
  front_check_own(L, r->serial, r->what);
  return diag_error(L, "%s is called; write 'for i in range(n) do'", r->what);
}

static int range_tostring(lua_State *L) {
  const Range *r = luaL_checkudata(L, 1, RANGE_TYPE);
  front_check_own(L, r->serial, r->what);
  lua_pushstring(L, r->what);
  return 1;
}

/* {unroll = n} as the last argument, from the `from`-th on; removes it from the stack. */
static int64_t take_unroll(lua_State *L, int from, const char *op) {
  int top = lua_gettop(L);
  int64_t unroll = 0;
  if (top >= from && lua_istable(L, top)) {
    if (bind_push_option(L, top, op, "unroll") != LUA_TNIL) {
      unroll = bind_to_option(L, -1, 1, MAX_UNROLL, op, "unroll");
    }
    lua_settop(L, top - 1);
  }
  return unroll;
}

static bool is_i64(lua_State *L, int idx) {
  CtVal v;
  return value_test(L, idx, &v) && ct_inst(front_ir(L), v)->type == CT_i64;
}

#define NUMBERS_TYPE "range of numbers"

enum { MAX_NUMBERS = 1 << 16 };

/* A `for` over such a list is a loop of a kernel that stands outside of one. */
static int numbers_call(lua_State *L) {
  if (front_ir(L) == NULL) {
    return diag_error(L, "range: outside of a kernel it is a list; write "
                         "'for i = first, last do' or 'for _, i in ipairs(range(...)) do'");
  }
  front_here(L, "range");
  return diag_error(L,
                    "range: a list of numbers from outside the kernel is not a loop of the kernel");
}

/* Outside of kernels: the list of the numbers, for spaces of `tune`. */
static int push_numbers(lua_State *L) {
  int n = lua_gettop(L);
  int64_t start = n > 1 ? bind_to_static(L, 1, "range") : 0;
  int64_t stop = bind_to_static(L, n > 1 ? 2 : 1, "range");
  int64_t step = n > 2 ? bind_to_static(L, 3, "range") : 1;
  if (step == 0) {
    return diag_error(L, "range: the step is 0; another number was expected");
  }
  if (((double)stop - (double)start) / (double)step > MAX_NUMBERS) {
    return diag_error(L, "range: from %I to %I by %I; expected at most %d numbers",
                      (LUAI_UACINT)start, (LUAI_UACINT)stop, (LUAI_UACINT)step, MAX_NUMBERS);
  }
  lua_newtable(L);
  for (int64_t v = start, i = 1; step > 0 ? v < stop : v > stop; v += step, i++) {
    lua_pushinteger(L, v);
    lua_rawseti(L, -2, i);
  }
  luaL_setmetatable(L, NUMBERS_TYPE);
  return 1;
}

static int lang_range(lua_State *L) { /* [start,] stop[, step][, {unroll = n}] */
  if (front_ir(L) == NULL) {
    return push_numbers(L);
  }
  front_here(L, "range");
  int64_t unroll = take_unroll(L, 1, "range");
  int n = lua_gettop(L);
  if (n < 1 || n > 3) {
    return diag_error(L,
                      "range: %d bounds; expected range(stop), range(start, stop) or "
                      "range(start, stop, step)",
                      n);
  }
  CtInt start = n == 1 ? ct_int(0) : bind_to_int(L, 1, "range");
  CtInt stop = bind_to_int(L, n == 1 ? 1 : 2, "range");
  CtInt step = n == 3 ? bind_to_int(L, 3, "range") : ct_int(1);
  bool is_wide = is_i64(L, 1) || is_i64(L, 2) || is_i64(L, 3);
  push_range(L, start, stop, step, unroll)->is_i64 = is_wide;
  return 1;
}

/* For the standard library: a range whose loop gets the two values that a function makes from the
   index. */
static int lang_tiles_of(lua_State *L) { /* range, function */
  const Range *r = luaL_checkudata(L, 1, RANGE_TYPE);
  front_here(L, "raster");
  luaL_checktype(L, 2, LUA_TFUNCTION);
  Range *pairs = push_range(L, r->start, r->stop, r->step, r->unroll);
  pairs->n_values = 2;
  pairs->what = "raster";
  lua_pushvalue(L, 2);
  lua_setiuservalue(L, -2, 1);
  return 1;
}

/* The extent of the mode in argument 2: a number, a name or a path. */
static CtInt extent_of_axis(lua_State *L, const CtCx *cx, CtLayout l) {
  CtInt size;
  int path[CT_MAX_DEPTH], n = 1;
  if (lua_type(L, 2) == LUA_TSTRING || lua_type(L, 2) == LUA_TTABLE) {
    lua_settop(L, 2);
    n = bind_to_mode_path(L, 2, l, path, "axes");
  } else {
    path[0] = bind_to_index(L, 2, 0, ct_layout_rank(l) - 1, "axes", "mode");
  }
  diag_try(L, ct_mode_at(cx, "axes", l, n, path, &l, diag_err(L)));
  diag_try(L, ct_size(cx, l, &size, diag_err(L)));
  return size;
}

static int lang_axes(lua_State *L) { /* tensor or layout, mode[, {unroll = n}] */
  front_here(L, "axes");
  CtCx cx = bind_enter(L);
  int64_t unroll = take_unroll(L, 3, "axes");
  const Tensor *t = tensor_test(L, 1);
  CtLayout layout = t != NULL ? t->layout : bind_to_layout(L, 1, &cx, "axes");
  push_range(L, ct_int(0), extent_of_axis(L, &cx, layout), ct_int(1), unroll);
  return 1;
}

static int unroll_next(lua_State *L) { /* upvalues: next, stop, step */
  lua_Integer i = lua_tointeger(L, lua_upvalueindex(1));
  lua_Integer stop = lua_tointeger(L, lua_upvalueindex(2));
  lua_Integer step = lua_tointeger(L, lua_upvalueindex(3));
  if (step > 0 ? i >= stop : i <= stop) {
    return 0;
  }
  lua_pushinteger(L, i + step);
  lua_replace(L, lua_upvalueindex(1));
  lua_pushinteger(L, i);
  return 1;
}

static int lang_unroll(lua_State *L) { /* [start,] stop[, step]: a loop that runs while tracing */
  int n = lua_gettop(L);
  int64_t start = n >= 2 ? bind_to_static(L, 1, "unroll") : 0;
  int64_t stop = bind_to_static(L, n >= 2 ? 2 : 1, "unroll");
  int64_t step = n >= 3 ? bind_to_static(L, 3, "unroll") : 1;
  if (step == 0) {
    return diag_error(L, "unroll: the step is zero");
  }
  lua_pushinteger(L, start);
  lua_pushinteger(L, stop);
  lua_pushinteger(L, step);
  lua_pushcclosure(L, unroll_next, 3);
  return 1;
}

/* --- opening -------------------------------------------------------------------------------------------------- */

static const luaL_Reg block_functions[] = {{"shared", lang_shared},
                                           {"_kernel.scratch", lang_scratch},
                                           {"_kernel.scratch_begin", lang_scratch_begin},
                                           {"_kernel.scratch_end", lang_scratch_end},
                                           {"fragment", lang_fragment},
                                           {"fragment_like", lang_fragment_like},
                                           {"local_array", lang_local_array},
                                           {"axpby", lang_axpby},
                                           {"range", lang_range},
                                           {"axes", lang_axes},
                                           {"_kernel.tiles_of", lang_tiles_of},
                                           {"unroll", lang_unroll},
                                           {NULL, NULL}};

static const char *const axis_names[] = {"x", "y", "z", NULL};
static const luaL_Reg index_meta[] = {{"__index", index_index},
                                      {"__newindex", index_newindex},
                                      {"__tostring", index_tostring},
                                      {NULL, NULL}};
static const luaL_Reg range_meta[] = {
    {"__call", range_call}, {"__tostring", range_tostring}, {NULL, NULL}};
static const luaL_Reg numbers_meta[] = {{"__call", numbers_call}, {NULL, NULL}};
static const luaL_Reg no_methods[] = {{NULL, NULL}};

void bind_open_block(lua_State *L) { /* language table on top */
  bind_new_type(L, INDEX_TYPE, index_meta, NULL);
  luaL_getmetatable(L, INDEX_TYPE);
  bind_add_fields(L, axis_names);
  lua_pop(L, 1);
  bind_new_type(L, RANGE_TYPE, range_meta, no_methods);
  bind_new_type(L, NUMBERS_TYPE, numbers_meta, no_methods);
  call_add_rows(L, rows, CT_ARRAY_LEN(rows));
  luaL_setfuncs(L, block_functions, 0);
  for (int i = 0; i < (int)CT_ARRAY_LEN(indices); i++) {
    int *which = lua_newuserdatauv(L, sizeof *which, 0);
    *which = i;
    luaL_setmetatable(L, INDEX_TYPE);
    lua_setfield(L, -2, indices[i].name);
  }
}
