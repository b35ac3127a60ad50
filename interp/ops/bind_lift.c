/* bind_lift.c: the functions on layouts that also accept tensors: the layout that they make from
   the tensor's layout becomes the tensor's. */
#include <lauxlib.h>
#include <string.h>

#include "interp/algebra/bind.h"
#include "interp/state/diag.h"
#include "interp/state/standard.h"
#include "division.h"
#include "guard.h"
#include "interp/tensor/tensor.h"
#include "access.h"

/* Replaces the tensors among the n arguments from `first` on by their layouts. */
static void replace_tensors(lua_State *L, int first, int n, const char *op) {
  for (int i = first; i < first + n; i++) {
    const Tensor *t = tensor_test(L, i);
    if (t != NULL) {
      if (t->in_kernel) {
        tensor_check_live(L, i, op);
      }
      tensor_push_layout(L, i);
      lua_replace(L, i);
    }
  }
}

/* upvalues: the function on layouts, its name. Its answer for a tensor is its answer for the
   tensor's layout. */
static int lifted_query(lua_State *L) {
  replace_tensors(L, 1, lua_gettop(L), lua_tostring(L, lua_upvalueindex(2)));
  return standard_call_original(L);
}

/* Are all values of a layout of static sizes inside a part of the tensor? */
static bool stays_inside(const Division *d, const CtTiler *item, CtLayout part) {
  CtInt end, size = division_size(d, part);
  CtErr err;
  return ct_cosize(d->cx, item->layout, &end, &err) == CT_OK && ct_is_static(end) &&
         ct_is_static(size) && end.v <= size.v;
}

/* A composition may go anywhere, unless it stays inside. The tiler's depth bounds the recursion. */
static void note_composition(Division *d, const CtTiler *item, CtLayout part) {
  if (item->kind == CT_TILER_TUPLE) {
    for (int i = 0; i < item->n && i < ct_layout_rank(part); i++) {
      note_composition(d, &item->items[i], ct_mode(part, i));
    }
  } else if (item->kind == CT_TILER_LAYOUT && !stays_inside(d, item, part)) {
    for (CtLeaves w = ct_leaves_of(part.shape); ct_next_leaf(&w);) {
      guard_note(d->L, &d->over, (uint32_t)(w.shape - d->t->layout.shape), w.shape->i);
    }
  }
}

/* Notes the modes that the tiler of a divide or composition may run past. */
static void note_overhangs(lua_State *L, const CtCx *cx, const Tensor *t, const char *name,
                           Overhangs *o) {
  Division d = {.L = L, .cx = cx, .op = name, .t = t, .title = tensor_push_title(L, 1)};
  lua_pop(L, 1);
  d.tiler = bind_to_tiler(L, 2, cx, name);
  if (strcmp(name, "composition") != 0) {
    division_check(&d);
  } else {
    note_composition(&d, &d.tiler, t->layout);
  }
  *o = d.over;
}

/* Applies a function on layouts to the coordinates of a guarded tensor. */
static int guarded_view(lua_State *L, const Tensor *t, const char *name, int n) {
  static const CtNode zero = {.rank = CT_LEAF, .len = 1};
  CtCx cx = bind_enter(L);
  Overhangs over = {0};
  CtLayout coords;
  bool divides = strstr(name, "divide") != NULL || strcmp(name, "composition") == 0;
  if (strncmp(name, "filter", 6) == 0) {
    return diag_error(L, "%s: %s is guarded; filter the tensor first, then guard it", name,
                      tensor_push_title(L, 1));
  }
  if (divides) {
    note_overhangs(L, &cx, t, name, &over);
  }
  lua_pushvalue(L, lua_upvalueindex(1));
  bind_push_layout(L, guard_coordinates(L, &cx, t, name));
  for (int i = 2; i <= n; i++) {
    lua_pushvalue(L, i);
  }
  replace_tensors(L, lua_gettop(L) - n + 2, n - 1, name);
  lua_call(L, n, 1);
  if (!bind_test_layout(L, -1, &coords)) {
    return diag_error(L, "%s: the result is not a layout that a tensor can have", name);
  }
  guard_push_part(L, &cx, t, &over, coords, &zero);
  return 1;
}

/* A divide of a tensor without a guard must not pad it. */
static void check_padding(lua_State *L, const Tensor *t, const char *name) {
  CtCx cx = bind_enter(L);
  Division d = {.L = L, .cx = &cx, .op = name, .t = t, .title = tensor_push_title(L, 1)};
  lua_pop(L, 1);
  d.tiler = bind_to_tiler(L, 2, &cx, name);
  division_check_padding(&d);
}

/* Was the layout made from the tensor's? Then it still has the tensor's swizzle and offset. */
static bool is_of(const CtComposed *made, const Tensor *t) {
  CtComposed of = tensor_layout(t);
  return made->is_swizzled == of.is_swizzled &&
         (!of.is_swizzled ||
          (ct_swizzle_equal(made->swizzle, of.swizzle) && ct_int_equal(made->offset, of.offset)));
}

/* upvalues as above. The layout made from a tensor's becomes the tensor's: every index of the
   result is one of the argument's. If the first argument is not a tensor, nothing changes: `select`
   is also a function of Lua's. */
static int lifted_view(lua_State *L) {
  int n = lua_gettop(L);
  CtComposed made;
  if (tensor_test(L, 1) == NULL) {
    return standard_call_original(L);
  }
  const char *name = lua_tostring(L, lua_upvalueindex(2));
  const Tensor *t = tensor_check_live(L, 1, name);
  if (t->is_guarded && t->at == NULL) {
    return guarded_view(L, t, name, n);
  }
  if (strstr(name, "divide") != NULL) {
    check_padding(L, t, name);
  }
  lua_pushvalue(L, 1);
  lua_insert(L, 1);
  lua_pushvalue(L, lua_upvalueindex(1));
  lua_insert(L, 2); /* stack: tensor; function; arguments */
  replace_tensors(L, 3, n, name);
  lua_call(L, n, 1);
  if (!bind_test_composed(L, -1, &made) || !is_of(&made, t)) {
    return diag_error(L, "%s: the result is not a layout that a tensor can have", name);
  }
  if (t->at != NULL) {
    tensor_push_coords(L, t, made.layout, t->at);
    return 1;
  }
  tensor_push_part(L, t, made.layout, t->offset, NULL);
  lua_insert(L, -2); /* stack: ..., view, layout */
  tensor_keep_layout(L, -2);
  return 1;
}

static const char *const queries[] = {
    "size",  "cosize", "rank", "depth", "max_common_vector", "max_common_layout",
    "shape", "stride", NULL};

static const char *const views[] = {
    "coalesce",       "filter",        "filter_zeros", "flatten",     "composition",
    "logical_divide", "zipped_divide", "tiled_divide", "flat_divide", "group_modes",
    "select",         "take",          "get_mode",     NULL};

/* The same of methods of layouts that are no functions. */
static const char *const query_methods[] = {"values", "names", NULL};
static const char *const view_methods[] = {"named", NULL};

/* Pushes a closure over the function of the table `from`. False: there is none. */
static bool push_lifted(lua_State *L, int from, const char *name, lua_CFunction lifted) {
  if (lua_getfield(L, from, name) != LUA_TFUNCTION) {
    lua_pop(L, 1);
    return false;
  }
  lua_pushstring(L, name);
  lua_pushcclosure(L, lifted, 2);
  return true;
}

/* Replaces the module's functions by closures over them, and adds these to the methods. */
static void lift(lua_State *L, int module, int methods, const char *const *names,
                 lua_CFunction lifted) {
  for (; *names != NULL; names++) {
    if (push_lifted(L, module, *names, lifted)) {
      lua_pushvalue(L, -1);
      lua_setfield(L, module, *names);
      lua_setfield(L, methods, *names);
    }
  }
}

/* Adds closures over methods of layouts to the methods. */
static void lift_methods(lua_State *L, int methods, const char *const *names,
                         lua_CFunction lifted) {
  luaL_getmetatable(L, LAYOUT_TYPE);
  lua_getfield(L, -1, METHODS);
  for (; *names != NULL; names++) {
    if (push_lifted(L, lua_gettop(L), *names, lifted)) {
      lua_setfield(L, methods, *names);
    }
  }
  lua_pop(L, 2);
}

void bind_add_lifted(lua_State *L, int module, int methods) {
  lift(L, module, methods, queries, lifted_query);
  lift(L, module, methods, views, lifted_view);
  lift_methods(L, methods, query_methods, lifted_query);
  lift_methods(L, methods, view_methods, lifted_view);
}
