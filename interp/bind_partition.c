/* bind_partition.c: tile, parallelize and view, and the functions on layouts that tensors take part
   in. All only change the layout and the offset of a tensor, so they are the same on the host and
   in a kernel, where the layout's integers may be run-time values. A layout in place of the tensor
   gives a layout and an offset. */
#include <lauxlib.h>
#include <string.h>

#include "bind.h"
#include "diag.h"
#include "front.h"
#include "guard.h"
#include "runtime/layout/walk.h"
#include "tensor.h"

/* {====== Whether the tiles fit ====== */

/* What is being divided, and by what, for checks and their messages. */
typedef struct Division {
  lua_State *L;
  const CtCx *cx;
  const char *op;
  bool by_threads; /* parallelize: the tile is the shape of the thread layout */
  const Tensor *t;
  const char *title; /* of the tensor */
  CtTiler tiler;
  CtLayout thr;
  int n_modes;    /* modes that the tiler divides */
  CtInt *rests;   /* tiles along each of them, then the extents of the other modes */
  bool is_static; /* every one of the rests */
  Overhangs over; /* of a guarded tensor: modes that the tiles may not divide */
} Division;

static const char *tiler_text(const Division *d) {
  CtText text;
  if (d->by_threads) {
    return bind_layout_text(d->cx, d->thr);
  }
  bind_text_init(&text, d->cx);
  ct_tiler_print(d->cx, d->tiler, &text);
  return ct_text_str(&text);
}

static const char *tensor_text(const Division *d) {
  CtComposed l = tensor_layout(d->t);
  return lua_pushfstring(d->L, "%s %s", d->title, bind_composed_text(d->cx, &l));
}

static const char *tiler_noun(const Division *d) {
  return d->by_threads ? "thread layout" : "tiler";
}

static void check_rank(const Division *d) {
  int rank = ct_layout_rank(d->t->layout);
  if (d->n_modes > rank) {
    diag_error(d->L, "%s: %s %s has rank %d but %s has rank %d; give %s per mode", d->op,
               tiler_noun(d), tiler_text(d), d->n_modes, tensor_text(d), rank,
               d->by_threads ? "one extent" : "one tile size");
  }
}

/* A part of the tensor that one item of the tiler divides: mode `number` of it, or inside that. */
typedef struct Divided {
  int number;
  CtLayout part;
} Divided;

/* "0 (M)", or "0" without a name. */
static const char *mode_text(const Division *d, Divided m) {
  char name[CT_MODE_NAME_MAX + 1];
  ct_mode_name_unpack(m.part.shape->name, name);
  return lua_pushfstring(d->L, *name == '\0' ? "%d" : "%d (%s)", m.number, name);
}

/* " or write guard(A)", which exists in kernels. */
static const char *guard_text(const Division *d) {
  return d->t->in_kernel ? lua_pushfstring(d->L, " or write guard(%s)", d->title) : "";
}

static void fail_larger(const Division *d, Divided m, int64_t n, int64_t extent) {
  diag_error(d->L, "%s: %s %s is larger than %s in mode %s: %I > %I; choose %s%s", d->op,
             tiler_noun(d), tiler_text(d), tensor_text(d), mode_text(d, m), (LUAI_UACINT)n,
             (LUAI_UACINT)extent, d->by_threads ? "fewer threads there" : "a smaller tile",
             guard_text(d));
}

static void fail_multiple(const Division *d, Divided m, int64_t n, int64_t extent) {
  diag_error(d->L,
             "%s: extent %I of mode %s of %s is not a multiple of the %s's %I; pad the tensor%s",
             d->op, (LUAI_UACINT)extent, mode_text(d, m), d->title,
             d->by_threads ? "thread layout" : "tile", (LUAI_UACINT)n, guard_text(d));
}

/* A tile of n along an extent: must divide it, now if both are known, else at each launch. */
static void check_divides(const Division *d, Divided m, CtInt n, CtInt extent) {
  if (!ct_is_static(n) || n.v <= 0) {
    return; /* the algebra says what is wrong with it */
  }
  if (!ct_is_static(extent)) {
    CtFacts facts = ct_int_facts(d->cx, extent);
    if (facts.div % n.v != 0) {
      front_require(d->L, d->op, extent, n.v, mode_text(d, m), d->title);
      lua_pop(d->L, 1); /* the text */
    }
  } else if (n.v > extent.v) {
    fail_larger(d, m, n.v, extent.v);
  } else if (extent.v % n.v != 0) {
    fail_multiple(d, m, n.v, extent.v);
  }
}

static CtInt size_of(const Division *d, CtLayout l) {
  CtInt n = ct_int(0);
  CtErr err;
  diag_check(d->L, ct_size(d->cx, l, &n, &err), &err);
  return n;
}

/* The elements of the tile lie side by side. */
static bool is_dense(const CtTiler *item) {
  return item->is_int || (ct_is_leaf(item->layout.shape) && ct_is_const(item->layout.stride->i, 1));
}

/* One item of a tiler against the mode (or a part of it) that it divides. Depth is bounded by that
   of the tiler. */
static void check_item(Division *d, Divided m, const CtTiler *item) {
  if (item->kind == CT_TILER_LAYOUT && d->t->is_guarded) {
    CtInt extent = size_of(d, m.part);
    if (!is_dense(item) || !guard_divides(d->cx, item->layout.shape->i, extent)) {
      guard_note(d->L, &d->over, (uint32_t)(m.part.shape - d->t->layout.shape), extent);
    }
  } else if (item->kind == CT_TILER_LAYOUT) {
    check_divides(d, m, size_of(d, item->layout), size_of(d, m.part));
  } else if (item->kind == CT_TILER_TUPLE && item->n <= ct_layout_rank(m.part)) {
    for (int i = 0; i < item->n; i++) {
      check_item(d, (Divided){m.number, ct_mode(m.part, i)}, &item->items[i]);
    }
  }
}

/* How many tiles lie along a mode; where that is not known, *d says so. */
static CtInt count_tiles(Division *d, const CtTiler *item, CtLayout part) {
  CtInt extent = size_of(d, part);
  CtInt n = item->kind == CT_TILER_LAYOUT ? size_of(d, item->layout) : ct_int(1);
  bool known = item->kind == CT_TILER_LAYOUT && ct_is_static(n) && n.v > 0 && ct_is_static(extent);
  d->is_static = d->is_static && known;
  return known ? ct_int(ct_ceildiv(extent.v, n.v)) : ct_int(1);
}

/* All checks that need the tensor's name. The tiler is already projected. */
static void check_division(Division *d) {
  CtLayout l = d->t->layout;
  bool by_mode = d->tiler.kind == CT_TILER_TUPLE;
  const CtTiler *items = by_mode ? d->tiler.items : &d->tiler;
  int rank = ct_layout_rank(l);
  d->n_modes = by_mode ? d->tiler.n : 1;
  check_rank(d);
  d->is_static = true;
  d->rests = ct_arena_alloc(d->cx->arena, (size_t)(rank + 1) * sizeof *d->rests);
  if (d->rests == NULL) {
    diag_error(d->L, "not enough memory");
    return;
  }
  for (int i = 0; i < rank; i++) {
    CtLayout part = by_mode ? ct_mode(l, i) : l;
    if (i < d->n_modes) {
      check_item(d, (Divided){i, part}, &items[i]);
      d->rests[i] = count_tiles(d, &items[i], part);
    } else {
      d->rests[i] = by_mode ? size_of(d, part) : ct_int(1);
      d->is_static = d->is_static && ct_is_static(d->rests[i]);
    }
  }
}

/* The coordinate, where it is static, against the number of tiles. */
static void check_tile_coordinate(const Division *d, CtTuple crd) {
  int n = d->tiler.kind == CT_TILER_TUPLE ? ct_layout_rank(d->t->layout) : 1;
  if (!d->is_static) {
    return;
  }
  bool outside = false;
  if (d->over.n > 0) {
    return; /* its elements are outside */
  }
  if (ct_is_leaf(crd)) {
    int64_t product = 1;
    for (int i = 0; i < n; i++) {
      outside = outside || ct_mul_overflow(product, d->rests[i].v, &product);
    }
    outside = !outside && ct_is_static(crd->i) && (crd->i.v < 0 || crd->i.v >= product);
  } else {
    for (int i = 0; i < crd->rank && i < n; i++) {
      CtTuple c = ct_child(crd, i);
      outside = outside ||
                (ct_is_leaf(c) && ct_is_static(c->i) && (c->i.v < 0 || c->i.v >= d->rests[i].v));
    }
  }
  if (outside) {
    CtTuple rests =
        n == 1 ? ct_leaf(d->cx->arena, d->rests[0]) : ct_tuple_ints(d->cx->arena, n, d->rests);
    diag_error(d->L, "%s: coordinate %s is outside the %s tiles of %s", d->op,
               bind_tuple_text(d->cx, crd), rests == NULL ? "?" : bind_tuple_text(d->cx, rests),
               tensor_text(d));
  }
}

static void note_lone(Division *d, CtInt crd, int64_t tiles) {
  if (d->over.n_lone < CT_GUARD_MAX && crd.kind != CT_ANY &&
      !(ct_is_static(crd) && crd.v >= 0 && crd.v < tiles)) {
    d->over.lone[d->over.n_lone] = crd;
    d->over.tiles[d->over.n_lone++] = ct_int(tiles);
  }
}

/* Of a guarded tensor: a coordinate of a mode that is a single tile, or that runs on along one, would
   give that tile whatever it is. */
static void note_lone_tiles(Division *d, CtTuple crd) {
  int n = d->tiler.kind == CT_TILER_TUPLE ? ct_layout_rank(d->t->layout) : 1;
  int64_t product = 1;
  if (!d->is_static) {
    return;
  }
  for (int i = 0; i < n; i++) {
    bool is_entry = !ct_is_leaf(crd) && i < crd->rank && ct_is_leaf(ct_child(crd, i));
    if (is_entry && d->rests[i].v == 1) {
      note_lone(d, ct_child(crd, i)->i, 1);
    }
    if (ct_mul_overflow(product, d->rests[i].v, &product)) {
      return;
    }
  }
  if (ct_is_leaf(crd) && d->rests[n - 1].v == 1) {
    note_lone(d, crd->i, product);
  }
}

/* {====== Projections ====== */

static bool keeps_all(CtTuple proj) {
  return proj == NULL || (ct_is_leaf(proj) && proj->i.kind != CT_ANY);
}

/* The items under the integers of proj. False for a projection that does not fit: the algebra will
   refuse it. */
static bool project_tiler(const CtCx *cx, CtTuple proj, CtTiler tiler, CtTiler *out) {
  if (keeps_all(proj)) {
    *out = tiler;
    return true;
  }
  if (ct_is_leaf(proj) || tiler.kind != CT_TILER_TUPLE || proj->rank != tiler.n) {
    return false;
  }
  CtTiler *items = ct_arena_alloc(cx->arena, (size_t)(tiler.n + 1) * sizeof *items);
  int n = 0;
  for (int i = 0; items != NULL && i < tiler.n; i++) {
    CtTuple p = ct_child(proj, i);
    if (!ct_is_leaf(p)) {
      return false;
    }
    if (p->i.kind != CT_ANY) {
      items[n++] = tiler.items[i];
    }
  }
  *out = (CtTiler){.kind = CT_TILER_TUPLE, .n = n, .items = items};
  return items != NULL;
}

static bool project_tuple(const CtCx *cx, CtTuple proj, CtTuple t, CtTuple *out) {
  if (keeps_all(proj)) {
    *out = t;
    return true;
  }
  return !ct_is_leaf(proj) && !ct_is_leaf(t) && proj->rank == t->rank &&
         ct_dice_tuple(cx, proj, t, out, NULL) == CT_OK;
}

/* {====== tile, parallelize ====== */

/* Is the part of a tensor cut from its coordinates, as some of it may lie outside? Else guarded
   tensors are like others. */
static bool cuts_coordinates(const Tensor *t, const Overhangs *o) {
  return t != NULL && t->is_guarded && t->at == NULL &&
         (t->guard != NULL || o->n > 0 || o->n_lone > 0);
}

/* What is cut by tile or parallelize: the layout in argument 1, or that of a tensor, or its
   coordinates. */
static CtComposed to_whole(lua_State *L, const CtCx *cx, const Division *d) {
  if (d->t == NULL) {
    return bind_to_composed(L, 1, cx, d->op);
  }
  return ct_composed_plain(cuts_coordinates(d->t, &d->over) ? guard_coordinates(L, cx, d->t, d->op)
                                                            : d->t->layout);
}

/* Pushes the part of the tensor or layout in argument 1, of 4, that begins at `at`. */
static int push_part(lua_State *L, const CtCx *cx, const Division *d, const CtComposed *part,
                     CtTuple at) {
  const Tensor *t = d->t;
  const char *op = d->op;
  int n_operands = lua_isnil(L, 4) ? 3 : 4;
  CtErr err;
  if (t == NULL) {
    bind_push_made_composed(L, part, op, n_operands);
    bind_push_tuple(L, at);
    return 2;
  }
  if (cuts_coordinates(t, &d->over)) {
    guard_push_part(L, cx, t, &d->over, part->layout, at);
    return 1;
  }
  if (t != NULL && t->at != NULL) {
    CtTuple sum;
    diag_check(L, ct_coord_add(cx, t->at, at, &sum, &err), &err);
    tensor_push_coords(L, t, part->layout, sum);
    return 1;
  }
  CtInt offset = ct_int(0);
  if (!ct_is_leaf(at)) {
    return diag_error(L, "%s: the values of %s are coordinates, which index no memory", op,
                      bind_layout_text(cx, part->layout));
  }
  diag_check(L, ct_int_op(cx, CT_INT_ADD, t->offset, at->i, &offset, &err), &err);
  CtComposed made = tensor_layout(tensor_push_view(
      L, t, part->layout, offset, NULL)); /* stack: tensor, three arguments, part */
  tensor_push_layout(L, 1);
  lua_replace(L, 1);
  bind_push_made_composed(L, &made, op, n_operands);
  tensor_keep_layout(L, -2);
  return 1;
}

/* tile(t, tiler, coord[, proj]) */
static int tile(lua_State *L) {
  lua_settop(L, 4);
  CtCx cx = bind_enter(L);
  const Tensor *t = tensor_test(L, 1) == NULL ? NULL : tensor_check_live(L, 1, "tile");
  CtTiler tiler = bind_to_tiler(L, 2, &cx, "tile");
  CtTuple crd = bind_to_tuple(L, 3, &cx, "tile"), proj = bind_opt_tuple(L, 4, &cx, "tile"), kept;
  CtTuple offset;
  CtErr err;
  Division d = {.L = L, .cx = &cx, .op = "tile", .t = t};
  if (t != NULL && project_tiler(&cx, proj, tiler, &d.tiler)) {
    d.title = tensor_push_title(L, 1);
    check_division(&d);
    if (project_tuple(&cx, proj, crd, &kept)) {
      check_tile_coordinate(&d, kept);
    }
  }
  crd = t == NULL ? crd : front_coordinate(L, t, crd);
  if (t != NULL && t->is_guarded && project_tuple(&cx, proj, crd, &kept)) {
    note_lone_tiles(&d, kept);
  }
  CtComposed part = to_whole(L, &cx, &d);
  diag_check(L, ct_composed_tile(&cx, &part, tiler, crd, proj, &part, &offset, &err), &err);
  return push_part(L, &cx, &d, &part, offset);
}

/* The sizes of the modes of a thread layout, as a tiler. */
static bool thread_tiler(lua_State *L, const CtCx *cx, CtLayout thr, CtTiler *out) {
  CtErr err;
  int rank = ct_layout_rank(thr);
  CtInt *sizes = ct_arena_alloc(cx->arena, (size_t)(rank + 1) * sizeof *sizes);
  for (int i = 0; sizes != NULL && i < rank; i++) {
    sizes[i] = bind_mode_size(L, cx, thr, i);
  }
  CtTuple shape = sizes == NULL ? NULL : ct_tuple_ints(cx->arena, rank, sizes);
  return shape != NULL && ct_tiler_from_tuple(cx->arena, shape, out, &err) == CT_OK;
}

static void check_threads(Division *d, CtTuple proj) {
  CtTiler tiler;
  if (d->t->in_kernel) {
    front_check_threads(d->L, d->thr);
  }
  if (thread_tiler(d->L, d->cx, d->thr, &tiler) && project_tiler(d->cx, proj, tiler, &d->tiler)) {
    d->title = tensor_push_title(d->L, 1);
    check_division(d);
  }
}

/* A thread of the layout, where its number is static. */
static void check_index(lua_State *L, const CtCx *cx, CtLayout thr, CtInt index) {
  CtInt n;
  CtErr err;
  diag_check(L, ct_size(cx, thr, &n, &err), &err);
  if (ct_is_static(index) && ct_is_static(n) && (index.v < 0 || index.v >= n.v)) {
    diag_error(L, "parallelize: there is no thread %I in thread layout %s; expected 0 to %I",
               (LUAI_UACINT)index.v, bind_layout_text(cx, thr), (LUAI_UACINT)(n.v - 1));
  }
}

/* parallelize(t, thr_layout, index[, proj]) */
static int parallelize(lua_State *L) {
  lua_settop(L, 4);
  CtCx cx = bind_enter(L);
  const Tensor *t = tensor_test(L, 1) == NULL ? NULL : tensor_check_live(L, 1, "parallelize");
  CtLayout thr = bind_to_layout(L, 2, &cx, "parallelize");
  CtInt index = bind_to_int(L, 3, "parallelize");
  CtTuple offset;
  CtTuple proj = bind_opt_tuple(L, 4, &cx, "parallelize");
  CtErr err;
  Division d = {.L = L, .cx = &cx, .op = "parallelize", .by_threads = true, .t = t, .thr = thr};
  if (t != NULL) {
    check_index(L, &cx, thr, index);
    check_threads(&d, proj);
  }
  CtComposed part = to_whole(L, &cx, &d);
  const CtNode thread = {.rank = CT_LEAF, .len = 1, .i = index};
  index = t == NULL ? index : front_coordinate(L, t, &thread)->i;
  diag_check(L, ct_composed_parallelize(&cx, &part, thr, index, proj, &part, &offset, &err), &err);
  return push_part(L, &cx, &d, &part, offset);
}

/* {====== view ====== */

static int64_t add_clamped(int64_t a, int64_t b) {
  int64_t sum;
  return !ct_add_overflow(a, b, &sum) ? sum : a < 0 ? INT64_MIN : INT64_MAX;
}

/* Every index of the layout must lie in the tensor's memory, where that is known. */
static void check_view(lua_State *L, const CtCx *cx, const Tensor *t, CtLayout layout) {
  int64_t lo, hi, size, n;
  CtErr err;
  if (!ct_layout_is_static(layout) || !ct_is_static(t->offset)) {
    return;
  }
  CtStatus status = ct_walk_bounds(layout, &lo, &hi, &size, &err);
  if (status != CT_OK) {
    diag_error(L, "view: %s", err.msg);
  }
  if (!t->in_kernel) {
    n = (int64_t)(t->storage->bytes / ct_dtype_bytes(t->dtype));
  } else {
    CtInt n_elems = front_ir(L)->bufs[t->buf].n_elems;
    if (!ct_is_static(n_elems)) {
      return;
    }
    n = n_elems.v;
  }
  lo = add_clamped(lo, t->offset.v);
  hi = add_clamped(hi, t->offset.v);
  if (size > 0 && (lo < 0 || hi >= n)) {
    diag_error(L, "view: layout %s reaches from element %I to %I of the %I elements of %s",
               bind_layout_text(cx, layout), (LUAI_UACINT)lo, (LUAI_UACINT)hi, (LUAI_UACINT)n,
               tensor_push_title(L, 1));
  }
}

/* Shared memory under a swizzle: a kernel that shares one piece of memory out among its tensors. */
static int swizzled_view(lua_State *L, const CtCx *cx, const Tensor *t, const CtComposed *l) {
  CtView out;
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
  diag_check(L, ct_ir_view_swizzled(front_ir(L), tensor_view(t), l, &out, &err), &err);
  tensor_push_kernel(L, t->dtype, t->space, out, front_serial(L));
  return 1;
}

/* view(t, layout): the same memory, from the same first element, under another layout. */
static int view(lua_State *L) {
  CtCx cx = bind_enter(L);
  if (lua_gettop(L) > 2) {
    return diag_error(L, "view: %d arguments; a shape is one argument: view(t, {4, 8})",
                      lua_gettop(L));
  }
  const Tensor *t = tensor_check_live(L, 1, "view");
  tensor_check_memory(L, 1, "view");
  CtComposed l = bind_to_composed(L, 2, &cx, "view");
  if (l.is_swizzled && t->in_kernel) {
    return swizzled_view(L, &cx, t, &l);
  }
  CtLayout layout = bind_to_layout(L, 2, &cx, "view");
  if (t->guard != NULL) {
    return diag_error(L,
                      "view: tiles of %s may overhang, which another layout would not show; "
                      "view the tensor first, then guard it",
                      tensor_push_title(L, 1));
  }
  check_view(L, &cx, t, layout);
  tensor_push_view(L, t, layout, t->offset, NULL);
  return 1;
}

/* {====== Functions on layouts, lifted to tensors ====== */

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

/* Calls the function in upvalue 1 with all arguments on the stack. */
static int call_original(lua_State *L) {
  lua_pushvalue(L, lua_upvalueindex(1));
  lua_insert(L, 1);
  lua_call(L, lua_gettop(L) - 1, LUA_MULTRET);
  return lua_gettop(L);
}

/* upvalues: the function on layouts, its name. What it says of a layout it says of a tensor's. */
static int lifted_query(lua_State *L) {
  replace_tensors(L, 1, lua_gettop(L), lua_tostring(L, lua_upvalueindex(2)));
  return call_original(L);
}

/* Does a layout of static sizes take all its values inside a part of the tensor? */
static bool stays_inside(const Division *d, const CtTiler *item, CtLayout part) {
  CtInt end, size = size_of(d, part);
  CtErr err;
  return ct_cosize(d->cx, item->layout, &end, &err) == CT_OK && ct_is_static(end) &&
         ct_is_static(size) && end.v <= size.v;
}

/* A composition may go anywhere, but where it stays inside. Depth is bounded by that of the tiler. */
static void note_composition(Division *d, const CtTiler *item, CtLayout part) {
  CtTuple shape = part.shape;
  if (item->kind == CT_TILER_TUPLE) {
    for (int i = 0; i < item->n && i < ct_layout_rank(part); i++) {
      note_composition(d, &item->items[i], ct_mode(part, i));
    }
  } else if (item->kind == CT_TILER_LAYOUT && !stays_inside(d, item, part)) {
    for (uint32_t i = 0; i < shape->len; i++) {
      if (ct_is_leaf(&shape[i])) {
        guard_note(d->L, &d->over, (uint32_t)(&shape[i] - d->t->layout.shape), shape[i].i);
      }
    }
  }
}

/* Notes the modes that a tiler, of a divide or a composition, may run past. */
static void note_overhangs(lua_State *L, const CtCx *cx, const Tensor *t, const char *name,
                           Overhangs *o) {
  Division d = {.L = L, .cx = cx, .op = name, .t = t, .title = tensor_push_title(L, 1)};
  lua_pop(L, 1);
  d.tiler = bind_to_tiler(L, 2, cx, name);
  if (strcmp(name, "composition") != 0) {
    check_division(&d);
  } else {
    note_composition(&d, &d.tiler, t->layout);
  }
  *o = d.over;
}

/* A function on layouts, of a guarded tensor: applied to its coordinates. */
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
    return diag_error(L, "%s: the result is no layout that a tensor can have", name);
  }
  guard_push_part(L, &cx, t, &over, coords, &zero);
  return 1;
}

/* A layout that was made from the tensor's: its swizzle and offset are the tensor's still. */
static bool is_of(const CtComposed *made, const Tensor *t) {
  CtComposed of = tensor_layout(t);
  return made->is_swizzled == of.is_swizzled &&
         (!of.is_swizzled ||
          (ct_swizzle_equal(made->swizzle, of.swizzle) && ct_int_equal(made->offset, of.offset)));
}

/* upvalues as above. The layout made from that of a tensor becomes the tensor's: every index of the
   result is one of the argument's. Where the first argument is no tensor nothing changes: `select`
   is Lua's own as well. */
static int lifted_view(lua_State *L) {
  int n = lua_gettop(L);
  CtComposed made;
  if (tensor_test(L, 1) == NULL) {
    return call_original(L);
  }
  const char *name = lua_tostring(L, lua_upvalueindex(2));
  const Tensor *t = tensor_check_live(L, 1, name);
  if (t->is_guarded && t->at == NULL) {
    return guarded_view(L, t, name, n);
  }
  lua_pushvalue(L, 1);
  lua_insert(L, 1);
  lua_pushvalue(L, lua_upvalueindex(1));
  lua_insert(L, 2); /* stack: tensor; function; arguments */
  replace_tensors(L, 3, n, name);
  lua_call(L, n, 1);
  if (!bind_test_composed(L, -1, &made) || !is_of(&made, t)) {
    return diag_error(L, "%s: the result is no layout that a tensor can have", name);
  }
  if (t->at != NULL) {
    tensor_push_coords(L, t, made.layout, t->at);
    return 1;
  }
  tensor_push_view(L, t, made.layout, t->offset, NULL);
  lua_insert(L, -2); /* stack: ..., view, layout */
  tensor_keep_layout(L, -2);
  return 1;
}

static const char *const queries[] = {
    "size",  "cosize", "rank",  "depth", "values", "max_common_vector", "max_common_layout",
    "shape", "stride", "names", NULL};

static const char *const views[] = {
    "coalesce",       "filter",        "filter_zeros", "flatten",     "composition",
    "logical_divide", "zipped_divide", "tiled_divide", "flat_divide", "group",
    "select",         "take",          "mode",         "named",       NULL};

/* Puts a closure over the module's function in its place, and among the methods. */
static void lift(lua_State *L, int module, int methods, const char *const *names,
                 lua_CFunction lifted) {
  for (; *names != NULL; names++) {
    if (lua_getfield(L, module, *names) != LUA_TFUNCTION) {
      lua_pop(L, 1);
      continue;
    }
    lua_pushstring(L, *names);
    lua_pushcclosure(L, lifted, 2);
    lua_pushvalue(L, -1);
    lua_setfield(L, module, *names);
    lua_setfield(L, methods, *names);
  }
}

/* {====== Registration ====== */

static const luaL_Reg functions[] = {
    {"tile", tile}, {"parallelize", parallelize}, {"view", view}, {NULL, NULL}};

static const luaL_Reg layout_methods[] = {
    {"tile", tile}, {"parallelize", parallelize}, {NULL, NULL}};

void bind_add_partition(lua_State *L, int module, int methods) {
  bind_add_methods(L, LAYOUT_TYPE, layout_methods);
  lift(L, module, methods, queries, lifted_query);
  lift(L, module, methods, views, lifted_view);
  lua_pushvalue(L, module);
  luaL_setfuncs(L, functions, 0);
  lua_pushvalue(L, methods);
  luaL_setfuncs(L, functions, 0);
  lua_pop(L, 2);
}
