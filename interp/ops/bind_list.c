/* bind_list.c: tensors that a kernel chooses at run time: lists, l[i] and #l, and tensor_at. */
#include <lauxlib.h>

#include "access.h"
#include "interp/algebra/bind.h"
#include "interp/openers.h"
#include "interp/state/state.h"
#include "interp/tensor/tensor.h"
#include "interp/trace/front.h"
#include "interp/trace/value.h"
#include "list.h"
#include "runtime/layout/walk.h"

typedef struct List {
  uint32_t table; /* the IR's buffer */
  uint32_t serial;
} List;

void list_push_kernel(lua_State *L, CtView table) {
  List *l = lua_newuserdatauv(L, sizeof *l, 0);
  *l = (List){table.buf, front_serial(L)};
  luaL_setmetatable(L, LIST_TYPE);
}

/* The list at 1, which is one of the running trace. */
static const List *check_list(lua_State *L, CtIr **ir) {
  const List *l = luaL_checkudata(L, 1, LIST_TYPE);
  front_check_own(L, l->serial, "a list of tensors");
  *ir = front_here(L, "a list of tensors");
  return l;
}

static const char *name_of(const CtIr *ir, const List *l) { return ir->bufs[l->table].name; }

/* An index from 1 on as a row from 0 on. */
static CtVal to_row(lua_State *L, CtIr *ir, const List *l, int idx) {
  CtVal v;
  const char *what = lua_pushfstring(L, "%s[i]", name_of(ir, l));
  (void)value_settle(L, idx);
  if (lua_isinteger(L, idx) && (lua_tointeger(L, idx) < 1 || lua_tointeger(L, idx) > INT32_MAX)) {
    diag_error(L, "%s[%I]: the tensors of a list have the indices 1 to #%s", name_of(ir, l),
               (LUAI_UACINT)lua_tointeger(L, idx), name_of(ir, l));
  }
  bool is_wide = value_test(L, idx, &v) && ct_is_int((CtDtype)ct_inst(ir, v)->type);
  v = is_wide ? value_cast(L, idx, CT_i32, what) : value_to(L, idx, CT_i32, what);
  lua_pop(L, 1);
  return ct_ir_list_row(ir, v);
}

static int list_index(lua_State *L) {
  CtIr *ir;
  const List *l = check_list(L, &ir);
  if (lua_type(L, 2) == LUA_TSTRING || lua_isnil(L, 2)) {
    return diag_error(L,
                      "%s is a list of tensors: it has %s[i], with i from 1 on, and #%s, no '%s'",
                      name_of(ir, l), name_of(ir, l), name_of(ir, l), luaL_tolstring(L, 2, NULL));
  }
  CtView view = ct_ir_list_member(ir, l->table, to_row(L, ir, l, 2));
  if (ir->failed) {
    return luaL_error(L, "not enough memory");
  }
  tensor_push_kernel(L, ir->bufs[view.buf].dtype, CT_GLOBAL, view, l->serial);
  return 1;
}

static int list_newindex(lua_State *L) {
  CtIr *ir;
  const List *l = check_list(L, &ir);
  return diag_error(L,
                    "%s[i] = x: a kernel cannot put tensors into a list; %s[i][j] = x stores into "
                    "one, and copy(x, %s[i]) into all of it",
                    name_of(ir, l), name_of(ir, l), name_of(ir, l));
}

static int list_len(lua_State *L) {
  CtIr *ir;
  const List *l = check_list(L, &ir);
  value_push(L, ct_ir_list_size(ir, l->table));
  return 1;
}

static int list_call(lua_State *L) {
  CtIr *ir;
  const List *l = check_list(L, &ir);
  return diag_error(L, "%s(...): %s is a list of tensors; write %s[i], with i from 1 on",
                    name_of(ir, l), name_of(ir, l), name_of(ir, l));
}

static int list_pairs(lua_State *L) {
  CtIr *ir;
  const List *l = check_list(L, &ir);
  return diag_error(L,
                    "pairs: the number of tensors in the list %s is known only at run time; write "
                    "for i = 1, #%s do",
                    name_of(ir, l), name_of(ir, l));
}

static int list_tostring(lua_State *L) {
  CtIr *ir;
  const List *l = check_list(L, &ir);
  lua_pushfstring(L, "list of tensors %s (%s)", name_of(ir, l),
                  ct_dtypes[ir->bufs[l->table].members->dtype].name);
  return 1;
}

/* --- tensors at addresses ------------------------------------------------------------------------------ */

enum { MAX_ALIGN = 32 };

/* A u64, of any integer. */
static CtVal to_address(lua_State *L, CtIr *ir, int idx) {
  CtVal v;
  bool is_int = value_test(L, idx, &v) && ct_is_int((CtDtype)ct_inst(ir, v)->type);
  if (!is_int && !lua_isinteger(L, idx)) {
    (void)diag_type_error(L, idx, "tensor_at", "an address, such as t.address gives,");
  }
  return value_cast(L, idx, CT_u64, "tensor_at");
}

/* The layout; *is_wide: an offset may need 64 bits. */
static CtLayout to_layout(lua_State *L, const CtCx *cx, CtDtype dtype, bool *is_wide) {
  CtLayout layout = bind_to_layout(L, 3, cx, "tensor_at");
  int64_t lo = 0, hi = 0, size = 0;
  *is_wide = !ct_layout_is_static(layout);
  if (!*is_wide) {
    diag_try(L, ct_walk_bounds(layout, &lo, &hi, &size, diag_err(L)));
    *is_wide = hi >= ct_most_narrow(dtype) || size >= CT_MOST_NARROW;
  }
  if (lo < 0) {
    diag_error(L, "tensor_at: layout %s has indices below 0; the address is that of index 0",
               bind_layout_text(cx, layout));
  }
  return layout;
}

static uint32_t to_align(lua_State *L, CtDtype dtype) {
  int least = (int)ct_value_bytes(dtype), align = least;
  if (!lua_isnoneornil(L, 4) && bind_push_option(L, 4, "tensor_at", "align") != LUA_TNIL) {
    align = bind_to_option(L, -1, 1, MAX_ALIGN, "tensor_at", "align");
  }
  if ((align & (align - 1)) != 0 || align < least) {
    diag_error(L,
               "tensor_at: align is %d; a power of two from the %d bytes of %s to %d was expected",
               align, least, ct_dtypes[dtype].name, MAX_ALIGN);
  }
  return (uint32_t)align;
}

/* tensor_at(address, dtype, layout[, {align = bytes}]) */
static int lang_tensor_at(lua_State *L) {
  CtIr *ir = front_here(L, "tensor_at");
  if (state_of(L)->options.sandbox != 0) {
    return diag_error(L, "tensor_at: a sandboxed script uses no addresses; pass tensors in a list");
  }
  bool is_wide;
  CtCx cx = bind_enter(L);
  diag_take_args(L, "tensor_at", 4);
  CtDtype dtype = bind_to_dtype(L, 2, "tensor_at");
  CtLayout layout = to_layout(L, &cx, dtype, &is_wide);
  const CtTensorSpec spec = {.dtype = dtype,
                             .index = is_wide ? CT_i64 : CT_i32,
                             .align = to_align(L, dtype),
                             .shape = layout.shape,
                             .stride = layout.stride};
  CtView view = ct_ir_tensor_at(ir, &spec, to_address(L, ir, 1));
  if (ir->failed) {
    return luaL_error(L, "not enough memory");
  }
  tensor_push_kernel(L, dtype, CT_GLOBAL, view, front_serial(L));
  return 1;
}

static const luaL_Reg functions[] = {{"tensor_at", lang_tensor_at}, {NULL, NULL}};
static const luaL_Reg meta[] = {{"__index", list_index},
                                {"__newindex", list_newindex},
                                {"__len", list_len},
                                {"__call", list_call},
                                {"__pairs", list_pairs},
                                {"__tostring", list_tostring},
                                {NULL, NULL}};

void bind_open_list(lua_State *L) { /* language table on top */
  bind_new_type(L, LIST_TYPE, meta, NULL);
  luaL_setfuncs(L, functions, 0);
}
