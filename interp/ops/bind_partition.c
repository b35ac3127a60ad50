/* bind_partition.c: tile, parallelize and view. These functions, and those of bind_lift.c, only
   change the layout and the offset of a tensor. So they are the same on the host and in a kernel,
   where the layout's integers may be run-time values. For a layout instead of a tensor they return
   a layout and an offset. */
#include <lauxlib.h>

#include "access.h"
#include "interp/algebra/bind.h"
#include "interp/state/diag.h"
#include "interp/state/standard.h"
#include "division.h"
#include "interp/trace/front.h"
#include "guard.h"
#include "runtime/layout/walk.h"
#include "interp/tensor/tensor.h"

/* {====== tile, parallelize ====== */

/* Is the part of a tensor cut from its coordinates, as some of it may lie outside? Else guarded
   tensors are like others. */
static bool cuts_coordinates(const Tensor *t, const Overhangs *o) {
  return t != NULL && t->is_guarded && t->at == NULL &&
         (t->guard != NULL || o->n > 0 || o->n_lone > 0);
}

/* The whole that tile or parallelize cuts: the layout in argument 1, or that of a tensor, or its
   coordinates. */
static CtComposed to_whole(lua_State *L, const CtCx *cx, const Division *d) {
  if (d->t == NULL) {
    return bind_to_composed(L, 1, cx, d->op);
  }
  return ct_composed_plain(cuts_coordinates(d->t, &d->over) ? guard_coordinates(L, cx, d->t, d->op)
                                                            : d->t->layout);
}

/* Inner modes that the tiles do not divide are padded: of layouts, which read no memory, and of what is
   guarded. Others were refused (division_check). A tiler that the algebra will refuse pads nothing. */
static CtLayout padded_whole(CtAlg *g, const char *op, CtLayout whole, const CtAlg *projected,
                             CtTiler tiler) {
  bool padded;
  return al_ok(projected) ? al_pad(g, op, whole, tiler, &padded) : whole;
}

static int push_coords(lua_State *L, CtAlg *g, const Tensor *t, CtLayout part, CtTuple at) {
  at = al_coord_add(g, t->at, at);
  bind_check(L, g);
  tensor_push_coords(L, t, part, at);
  return 1;
}

/* The coordinate and the projection, of 4 arguments, as texts: a layout keeps tables that it was made from
   as tilers, whose integers are not negative. */
static void print_coordinates(lua_State *L, const CtCx *cx, const char *op) {
  for (int i = 3; i <= 4; i++) {
    if (lua_istable(L, i)) {
      lua_pushstring(L, bind_tuple_text(cx, bind_to_tuple(L, i, cx, op)));
      lua_replace(L, i);
    }
  }
}

/* Pushes the part of the tensor or layout in argument 1, of 4, that begins at `at`. */
static int push_part(lua_State *L, CtAlg *g, const Division *d, const CtComposed *part,
                     CtTuple at) {
  const Tensor *t = d->t;
  const char *op = d->op;
  int n_operands = lua_isnil(L, 4) ? 3 : 4;
  bind_check(L, g);
  print_coordinates(L, &g->cx, op);
  if (t == NULL) {
    bind_push_made_composed(L, part, op, n_operands);
    bind_push_tuple(L, at);
    return 2;
  }
  if (cuts_coordinates(t, &d->over)) {
    guard_push_part(L, &g->cx, t, &d->over, part->layout, at);
    return 1;
  }
  if (t->at != NULL) {
    return push_coords(L, g, t, part->layout, at);
  }
  if (!ct_is_leaf(at)) {
    return diag_error(L, "%s: the values of %s are coordinates, which index no memory", op,
                      bind_layout_text(&g->cx, part->layout));
  }
  CtInt offset = al_add(g, t->offset, at->i);
  bind_check(L, g);
  CtComposed made = tensor_layout(tensor_push_part(
      L, t, part->layout, offset, NULL)); /* stack: tensor, three arguments, part */
  tensor_push_layout(L, 1);
  lua_replace(L, 1);
  bind_push_made_composed(L, &made, op, n_operands);
  tensor_keep_layout(L, -2);
  return 1;
}

/* The number of tiles along mode i, as a value of the kernel; CT_ANY: unknown. */
static CtInt tiles_along(const Division *d, int i) {
  bool by_mode = d->tiler.kind == CT_TILER_TUPLE;
  CtLayout part = by_mode ? ct_mode(d->t->layout, i) : d->t->layout;
  const CtTiler *item = by_mode ? (i < d->n_modes ? &d->tiler.items[i] : NULL) : &d->tiler;
  CtInt extent = division_size(d, part);
  CtAlg g = al_begin(d->cx, NULL);
  if (item != NULL && item->kind != CT_TILER_LAYOUT) {
    return ct_any();
  }
  CtInt tiles = al_ceildiv(&g, extent, item != NULL ? division_size(d, item->layout) : ct_int(1));
  return al_ok(&g) ? tiles : ct_any();
}

/* Inner modes of a guarded tensor are padded each, so that there are more tiles than tiles_along says. */
static bool pads_modes(const Division *d) {
  bool pads = false;
  for (int i = 0; d->t->is_guarded && i < ct_layout_rank(d->t->layout); i++) {
    pads = pads || !ct_is_leaf(ct_mode(d->t->layout, i).shape);
  }
  return pads;
}

/* For check: notes that the coordinate of a tile is below the number of tiles. */
static void note_tile(lua_State *L, const Division *d, CtTuple crd) {
  Tensor *part = tensor_test(L, -1);
  CtIr *ir = front_ir(L);
  int n = d->tiler.kind == CT_TILER_TUPLE ? ct_layout_rank(d->t->layout) : 1;
  bool is_tuple = !ct_is_leaf(crd);
  if (ir == NULL || !ir->is_checked || part == NULL || d->t->at != NULL || (!is_tuple && n > 1) ||
      pads_modes(d)) {
    return;
  }
  for (int i = 0; i < n && (!is_tuple || i < crd->rank); i++) {
    CtTuple c = is_tuple ? ct_child(crd, i) : crd;
    if (ct_is_leaf(c) && c->i.kind != CT_ANY) {
      const char *what = lua_pushfstring(L, "in mode %d of the tiles of %s", i,
                                         d->t->name != NULL ? d->t->name : "the tensor");
      tensor_within_part(L, part, c->i, tiles_along(d, i), what);
      lua_pop(L, 1);
    }
  }
}

/* tile(t, tiler, coord[, proj]) */
static int tile(lua_State *L) {
  if (lua_gettop(L) < 3) {
    return diag_error(L,
                      "tile: %d arguments; tile(t, tiler, coordinate) was expected, and "
                      "zipped_divide(t, tiler) has all tiles",
                      lua_gettop(L));
  }
  diag_take_args(L, "tile", 4);
  CtAlg g = bind_begin(L), of_tiler = al_trial(&g), of_crd = al_trial(&g);
  const Tensor *t = tensor_test(L, 1) == NULL ? NULL : tensor_check_live(L, 1, "tile");
  CtTiler tiler = bind_to_tiler(L, 2, &g.cx, "tile");
  CtTuple crd = bind_to_tuple(L, 3, &g.cx, "tile"), proj = bind_opt_tuple(L, 4, &g.cx, "tile");
  CtTuple offset, kept = al_project(&of_crd, proj, crd);
  CtTiler tiles = al_project_tiler(&of_tiler, proj, tiler);
  Division d = {.L = L, .cx = &g.cx, .op = "tile", .t = t, .tiler = tiles};
  if (t != NULL && al_ok(&of_tiler)) {
    d.title = tensor_push_title(L, 1);
    division_check(&d);
    if (al_ok(&of_crd)) {
      division_check_coordinate(&d, kept);
    }
  }
  crd = t == NULL ? crd : access_coordinate(L, t, crd);
  kept = al_project(&of_crd, proj, crd);
  if (t != NULL && t->is_guarded && al_ok(&of_crd)) {
    division_note_lone(&d, kept);
  }
  CtComposed part = to_whole(L, &g.cx, &d);
  part.layout = padded_whole(&g, "tile", part.layout, &of_tiler, tiles);
  part = al_tile(&g, part, tiler, crd, proj, &offset);
  int n_results = push_part(L, &g, &d, &part, offset);
  if (d.rests != NULL && al_ok(&of_crd)) {
    note_tile(L, &d, kept);
  }
  return n_results;
}

static void check_threads(Division *d, const CtAlg *projected, CtInt index) {
  if (d->t->in_kernel) {
    access_check_threads(d->L, d->thr, index);
  }
  if (al_ok(projected)) {
    d->title = tensor_push_title(d->L, 1);
    division_check(d);
  }
}

/* A thread of the layout, where its number is static. */
static void check_index(lua_State *L, CtAlg *g, CtLayout thr, CtInt index) {
  CtInt n = al_size(g, thr);
  bind_check(L, g);
  if (ct_is_static(index) && ct_is_static(n) && (index.v < 0 || index.v >= n.v)) {
    diag_error(L, "parallelize: there is no thread %I in thread layout %s; expected 0 to %I",
               (LUAI_UACINT)index.v, bind_layout_text(&g->cx, thr), (LUAI_UACINT)(n.v - 1));
  }
}

/* For check: notes that the number of a thread is below the number of threads that share the tensor
   at the top. */
static void note_thread(lua_State *L, CtInt thread, CtInt n) {
  Tensor *part = tensor_test(L, -1);
  CtIr *ir = front_ir(L);
  if (ir != NULL && ir->is_checked && part != NULL) {
    const char *what = lua_pushfstring(L, "among the threads that share %s",
                                       part->name != NULL ? part->name : "the tensor");
    tensor_within_part(L, part, thread, n, what);
    lua_pop(L, 1);
  }
}

/* _kernel.note_thread(t, thread, n): notes this for the tensor t. Returns t, even if it is not a
   tensor. */
static int note_thread_of(lua_State *L) {
  lua_settop(L, 3);
  CtInt thread = bind_to_int(L, 2, "get_slice"), n = bind_to_int(L, 3, "get_slice");
  lua_settop(L, 1);
  note_thread(L, thread, n);
  return 1;
}

/* parallelize(t, thr_layout, index[, proj]) */
static int parallelize(lua_State *L) {
  diag_take_args(L, "parallelize", 4);
  CtAlg g = bind_begin(L), of_tiler = al_trial(&g);
  const Tensor *t = tensor_test(L, 1) == NULL ? NULL : tensor_check_live(L, 1, "parallelize");
  CtLayout thr = bind_to_layout(L, 2, &g.cx, "parallelize");
  CtInt index = bind_to_int(L, 3, "parallelize");
  CtTuple offset, proj = bind_opt_tuple(L, 4, &g.cx, "parallelize");
  CtTiler tiler = al_thread_tiler(&of_tiler, al_project_threads(&of_tiler, proj, thr));
  Division d = {.L = L, .cx = &g.cx, .op = "parallelize", .by_threads = true, .t = t, .thr = thr};
  d.tiler = tiler;
  if (t != NULL) {
    check_index(L, &g, thr, index);
    check_threads(&d, &of_tiler, index);
  }
  CtComposed part = to_whole(L, &g.cx, &d);
  part.layout = padded_whole(&g, "parallelize", part.layout, &of_tiler, tiler);
  const CtNode thread = {.rank = CT_LEAF, .len = 1, .i = index};
  index = t == NULL ? index : access_coordinate(L, t, &thread)->i;
  part = al_parallelize(&g, part, thr, index, proj, &offset);
  int n_results = push_part(L, &g, &d, &part, offset);
  if (t != NULL) {
    note_thread(L, index, division_size(&d, thr));
  }
  return n_results;
}

/* {====== view ====== */

static int64_t add_clamped(int64_t a, int64_t b) {
  int64_t sum;
  return !ct_add_overflow(a, b, &sum) ? sum : a < 0 ? INT64_MIN : INT64_MAX;
}

/* If the size of the tensor's memory is known, every index of the layout must lie in it. */
static void check_view(lua_State *L, const CtCx *cx, const Tensor *t, CtLayout layout, CtInt offset,
                       const char *op) {
  int64_t lo, hi, size, n;
  CtErr err;
  if (!ct_layout_is_static(layout) || !ct_is_static(offset)) {
    return;
  }
  CtStatus status = ct_walk_bounds(layout, &lo, &hi, &size, &err);
  if (status != CT_OK) {
    diag_error(L, "%s: %s", op, err.msg);
  }
  if (!t->in_kernel) {
    n = ct_dtype_count(t->dtype, (int64_t)t->storage->bytes);
  } else {
    CtInt n_elems = front_ir(L)->bufs[t->buf].n_elems;
    if (!ct_is_static(n_elems)) {
      return;
    }
    n = n_elems.v;
  }
  lo = add_clamped(lo, offset.v);
  hi = add_clamped(hi, offset.v);
  if (size > 0 && (lo < 0 || hi >= n)) {
    diag_error(L, "%s: layout %s reaches from element %I to %I of the %I elements of %s", op,
               bind_layout_text(cx, layout), (LUAI_UACINT)lo, (LUAI_UACINT)hi, (LUAI_UACINT)n,
               tensor_push_title(L, 1));
  }
}

/* Shared memory under a swizzle: a kernel may divide one piece of memory among its tensors. */
static int swizzled_view(lua_State *L, const CtCx *cx, const Tensor *t, const CtComposed *l,
                         CtInt offset) {
  CtView out, from = tensor_view(t);
  CtErr err;
  if (t->space != CT_SHARED) {
    return diag_error(L,
                      "view: %s is swizzled, which only shared memory needs: other memory has no "
                      "banks; give %s a plain layout",
                      bind_composed_text(cx, l), tensor_push_title(L, 1));
  }
  if (t->swizzle.bits != 0 || !ct_composed_is_static(l)) {
    return diag_error(L,
                      t->swizzle.bits != 0
                          ? "view: %s is swizzled already; a plain layout keeps its swizzle"
                          : "view: the swizzled layout for %s holds run-time values; expected a "
                            "static one",
                      tensor_push_title(L, 1));
  }
  from.offset = offset;
  diag_check(L, ct_ir_view_swizzled(front_ir(L), from, l, &out, &err), &err);
  tensor_push_kernel(L, t->dtype, t->space, out, front_serial(L));
  return 1;
}

/* The tensor's offset and `more` elements. */
static CtInt offset_by(lua_State *L, const CtCx *cx, const Tensor *t, CtInt more) {
  CtInt offset;
  diag_try(L, ct_int_op(cx, CT_INT_ADD, t->offset, more, &offset, diag_err(L)));
  return offset;
}

/* A basis element is none. */
static CtInt to_elements(lua_State *L, int idx, const char *op) {
  CtInt i = bind_to_int(L, idx, op);
  if (i.basis_depth > 0) {
    diag_type_error(L, idx, op, "a number of elements");
  }
  return i;
}

/* Parts of a guarded tensor know by coordinates what is outside. */
static void check_unguarded(lua_State *L, const Tensor *t, const char *op) {
  if (t->guard != NULL) {
    diag_error(L,
               "%s: tiles of %s may overhang, which another layout would not show; %s the tensor "
               "first, then guard it",
               op, tensor_push_title(L, 1), op);
  }
}

/* view(t, layout[, offset]): the same memory, from `offset` elements behind the first one on, under another
   layout. */
static int view(lua_State *L) {
  CtCx cx = bind_enter(L);
  if (lua_gettop(L) > 3) {
    return diag_error(L,
                      "view: %d arguments; a shape is one argument, and an offset may follow: "
                      "view(t, {4, 8}, 32)",
                      lua_gettop(L));
  }
  if (luaL_testudata(L, 1, LAYOUT_TYPE) != NULL) {
    return diag_error(L,
                      "view: argument 1 is a layout; a tensor was expected; html(x, file) writes "
                      "a page with the picture of a layout");
  }
  const Tensor *t = tensor_check_live(L, 1, "view");
  tensor_check_memory(L, 1, "view");
  CtComposed l = bind_to_composed(L, 2, &cx, "view");
  CtInt more = lua_isnoneornil(L, 3) ? ct_int(0) : to_elements(L, 3, "view");
  CtInt offset = offset_by(L, &cx, t, more);
  if (l.is_swizzled && t->in_kernel) {
    return swizzled_view(L, &cx, t, &l, offset);
  }
  CtLayout layout = bind_to_layout(L, 2, &cx, "view");
  check_unguarded(L, t, "view");
  check_view(L, &cx, t, layout, offset, "view");
  tensor_push_part(L, t, layout, offset, NULL);
  return 1;
}

/* {====== slice ====== */

/* The extent and the stride of a tensor's only mode. */
static CtLayout only_mode(lua_State *L, const CtCx *cx, const Tensor *t) {
  CtLayout l = t->layout;
  l = !ct_is_leaf(l.shape) && l.shape->rank == 1 ? ct_mode(l, 0) : l;
  if (!ct_is_leaf(l.shape)) {
    diag_error(L,
               "slice: %s has layout %s; first and last need a tensor with one mode; write "
               "t(_, j), or use a tile",
               tensor_push_title(L, 1), bind_layout_text(cx, t->layout));
  }
  return l;
}

static bool is_above(CtInt i, CtInt extent) {
  return ct_is_static(i) && ct_is_static(extent) && i.v > extent.v;
}

/* As far as they are known: 0 <= first <= last <= extent. */
static void check_range(lua_State *L, CtInt first, CtInt last, CtInt extent) {
  if (ct_is_static(first) && first.v < 0) {
    diag_error(L, "slice: element %I is before the first one of %s; 0 or more was expected",
               (LUAI_UACINT)first.v, tensor_push_title(L, 1));
  }
  if (is_above(first, extent) || is_above(last, extent)) {
    CtInt beyond = is_above(first, extent) ? first : last;
    diag_error(L, "slice: %I is beyond the %I elements of %s; at most that number was expected",
               (LUAI_UACINT)beyond.v, (LUAI_UACINT)extent.v, tensor_push_title(L, 1));
  }
  if (is_above(first, last)) {
    diag_error(L, "slice: elements %I to %I (excluded) of %s; the second number is smaller",
               (LUAI_UACINT)first.v, (LUAI_UACINT)last.v, tensor_push_title(L, 1));
  }
}

/* Upvalue 1: slice(coord, layout), which takes anything but a tensor. slice(t, first[, last]): the elements first to
   last - 1 of a tensor with one mode; without last, to its end. */
static int slice(lua_State *L) {
  if (tensor_test(L, 1) == NULL) {
    return standard_call_original(L);
  }
  CtCx cx = bind_enter(L);
  const Tensor *t = tensor_check_live(L, 1, "slice");
  tensor_check_memory(L, 1, "slice");
  check_unguarded(L, t, "slice");
  CtLayout l = only_mode(L, &cx, t);
  CtInt first = to_elements(L, 2, "slice"), size, start;
  CtInt last = lua_isnoneornil(L, 3) ? l.shape->i : to_elements(L, 3, "slice");
  check_range(L, first, last, l.shape->i);
  diag_try(L, ct_int_op(&cx, CT_INT_SUB, last, first, &size, diag_err(L)));
  diag_try(L, ct_int_op(&cx, CT_INT_MUL, first, l.stride->i, &start, diag_err(L)));
  CtLayout part = {ct_leaf(cx.arena, size), ct_leaf(cx.arena, l.stride->i)};
  if (part.shape == NULL || part.stride == NULL) {
    return diag_error(L, "not enough memory");
  }
  CtInt offset = offset_by(L, &cx, t, start);
  check_view(L, &cx, t, part, offset, "slice");
  tensor_push_part(L, t, part, offset, NULL);
  return 1;
}

/* Puts slice of tensors before that of layouts, in the table at the top. */
static void add_slice(lua_State *L, int module) {
  lua_getfield(L, module, "slice");
  lua_pushcclosure(L, slice, 1);
  lua_setfield(L, -2, "slice");
}

/* {====== Registration ====== */

static const luaL_Reg functions[] = {
    {"tile", tile}, {"parallelize", parallelize}, {"view", view}, {NULL, NULL}};

static const luaL_Reg internal_functions[] = {{"_kernel.note_thread", note_thread_of},
                                              {NULL, NULL}};

static const luaL_Reg layout_methods[] = {
    {"tile", tile}, {"parallelize", parallelize}, {NULL, NULL}};

void bind_add_partition(lua_State *L, int module, int methods) {
  bind_add_methods(L, LAYOUT_TYPE, layout_methods);
  lua_pushvalue(L, methods);
  luaL_setfuncs(L, functions, 0);
  add_slice(L, module);
  lua_pushvalue(L, module);
  luaL_setfuncs(L, functions, 0);
  luaL_setfuncs(L, internal_functions, 0);
  add_slice(L, module);
  lua_pop(L, 2);
}
