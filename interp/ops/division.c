/* division.c: do the tiles that divide a tensor fit? */
#include "division.h"
#include "access.h"

#include "interp/state/diag.h"

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
    diag_error(d->L, "%s: %s %s has rank %d but %s has rank %d; write %s per mode", d->op,
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

/* A tile of n along an extent must divide it: checked now if both are known, else at each
   launch. */
static void check_divides(const Division *d, Divided m, CtInt n, CtInt extent) {
  if (!ct_is_static(n) || n.v <= 0) {
    return; /* the algebra reports what is wrong with it */
  }
  if (!ct_is_static(extent)) {
    CtFacts facts = ct_int_facts(d->cx, extent);
    if (facts.div % n.v != 0) {
      const CtRequire r = {.modulus = n.v,
                           .op = d->op,
                           .mode = mode_text(d, m),
                           .name = d->title,
                           .divisor = d->by_threads ? "thread layout" : "tile"};
      access_require(d->L, extent, r);
      lua_pop(d->L, 1); /* the text */
    }
  } else if (n.v > extent.v) {
    fail_larger(d, m, n.v, extent.v);
  } else if (extent.v % n.v != 0) {
    fail_multiple(d, m, n.v, extent.v);
  }
}

CtInt division_size(const Division *d, CtLayout l) {
  CtInt n = ct_int(0);
  CtErr err;
  diag_check(d->L, ct_size(d->cx, l, &n, &err), &err);
  return n;
}

/* Are the elements of the tile adjacent? */
static bool is_dense(const CtTiler *item) {
  return item->is_int || (ct_is_leaf(item->layout.shape) && ct_is_const(item->layout.stride->i, 1));
}

/* Do tiles end inside inner modes of the layout, so that a divide pads these? */
static bool has_padding(lua_State *L, const CtCx *cx, const char *op, CtLayout l, CtTiler tiler) {
  CtLayout padded;
  bool pads = false;
  diag_try(L, ct_pad_for_tiles(cx, op, l, tiler, &padded, &pads, diag_err(L)));
  return pads;
}

void division_check_padding(const Division *d) {
  bool has_memory = d->t->at == NULL && !d->t->is_guarded;
  if (has_memory && has_padding(d->L, d->cx, d->op, d->t->layout, d->tiler)) {
    diag_error(d->L, "%s: %s %s ends inside a mode of %s; pad the tensor%s", d->op, tiler_noun(d),
               tiler_text(d), tensor_text(d), guard_text(d));
  }
}

/* Notes each integer of the shape of a part, which is divided mode by mode. */
static void note_leaves(Division *d, CtTuple shape) {
  for (CtLeaves w = ct_leaves_of(shape); ct_next_leaf(&w);) {
    guard_note(d->L, &d->over, (uint32_t)(w.shape - d->t->layout.shape), w.shape->i);
  }
}

/* A guarded part is cut from its coordinates, whose modes do not coalesce. */
static bool pads_coordinates(const Division *d, CtLayout part, const CtTiler *item) {
  CtErr err;
  CtLayout coords;
  return ct_identity(d->cx, part.shape, &coords, &err) == CT_OK &&
         has_padding(d->L, d->cx, d->op, coords, *item);
}

/* The most that an extent may be, so that its tiles of n end below 2^31. Where elements of a tile lie apart, they
   have room for two. */
static int64_t most_of(const CtTiler *item, int64_t n) {
  const int64_t end = (int64_t)INT32_MAX + 1;
  int64_t most = is_dense(item) ? end / n * n : end - 2 * n;
  return most > 0 ? most : 1;
}

/* Coordinates of 32 bits have room for an extent and tiles of CT_NARROW_ROOM that overhang it. Larger ones ask more
   of the extent. */
static void check_room(const Division *d, Divided m, const CtTiler *item, CtInt extent) {
  CtInt n = ct_int(0);
  CtErr err;
  diag_check(d->L, ct_cosize(d->cx, item->layout, &n, &err), &err);
  if (!ct_is_static(n) || n.v <= CT_NARROW_ROOM || access_is_wide(d->L, d->t)) {
    return;
  }
  int64_t most = most_of(item, n.v < INT32_MAX ? n.v : INT32_MAX);
  if (most > INT32_MAX) {
    return;
  }
  const CtRequire r = {.modulus = 1,
                       .most = most,
                       .op = d->op,
                       .mode = mode_text(d, m),
                       .name = d->title,
                       .divisor = "tile"};
  access_require(d->L, extent, r);
  lua_pop(d->L, 1); /* the text */
}

/* Checks one item of a tiler against the mode (or part of a mode) that it divides. The tiler's
   depth bounds the recursion. */
static void check_item(Division *d, Divided m, const CtTiler *item) {
  if (item->kind == CT_TILER_LAYOUT && d->t->is_guarded) {
    CtInt extent = division_size(d, m.part);
    if (pads_coordinates(d, m.part, item)) {
      check_room(d, m, item, extent);
      note_leaves(d, m.part.shape);
    } else if (!is_dense(item) || !guard_divides(d->cx, item->layout.shape->i, extent)) {
      check_room(d, m, item, extent);
      guard_note(d->L, &d->over, (uint32_t)(m.part.shape - d->t->layout.shape), extent);
    }
  } else if (item->kind == CT_TILER_LAYOUT) {
    check_divides(d, m, division_size(d, item->layout), division_size(d, m.part));
  } else if (item->kind == CT_TILER_TUPLE && item->n <= ct_layout_rank(m.part)) {
    for (int i = 0; i < item->n; i++) {
      check_item(d, (Divided){m.number, ct_mode(m.part, i)}, &item->items[i]);
    }
  }
}

/* The number of tiles along a mode; if that is unknown, sets *d accordingly. */
static CtInt count_tiles(Division *d, const CtTiler *item, CtLayout part) {
  CtInt extent = division_size(d, part);
  CtInt n = item->kind == CT_TILER_LAYOUT ? division_size(d, item->layout) : ct_int(1);
  bool known = item->kind == CT_TILER_LAYOUT && ct_is_static(n) && n.v > 0 && ct_is_static(extent);
  d->is_static = d->is_static && known;
  return known ? ct_int(ct_ceildiv(extent.v, n.v)) : ct_int(1);
}

void division_check(Division *d) {
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
  division_check_padding(d);
  for (int i = 0; i < rank; i++) {
    CtLayout part = by_mode ? ct_mode(l, i) : l;
    if (i < d->n_modes) {
      check_item(d, (Divided){i, part}, &items[i]);
      d->rests[i] = count_tiles(d, &items[i], part);
    } else {
      d->rests[i] = by_mode ? division_size(d, part) : ct_int(1);
      d->is_static = d->is_static && ct_is_static(d->rests[i]);
    }
  }
}

/* No tile begins before the first, whatever the extents. Coordinates of tensors of coordinates may be negative. */
static void check_not_negative(const Division *d, CtTuple crd) {
  for (CtLeaves w = ct_leaves_of(crd); d->t->at == NULL && ct_next_leaf(&w);) {
    if (ct_is_static(w.shape->i) && w.shape->i.v < 0) {
      diag_error(d->L, "%s: coordinate %s of %s is negative; tiles begin at 0%s", d->op,
                 bind_tuple_text(d->cx, crd), tensor_text(d),
                 d->t->is_guarded ? "; for a halo, index elements: guard(x)[i - 1]" : "");
    }
  }
}

void division_check_coordinate(const Division *d, CtTuple crd) {
  int n = d->tiler.kind == CT_TILER_TUPLE ? ct_layout_rank(d->t->layout) : 1;
  check_not_negative(d, crd);
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
  if (crd.kind != CT_ANY && !(ct_is_static(crd) && crd.v >= 0 && crd.v < tiles)) {
    if (d->over.n_lone == CT_GUARD_MAX) {
      diag_error(d->L,
                 "%s: more than %d modes have one tile and a coordinate known at run time; "
                 "write 0 for a coordinate of them",
                 d->op, CT_GUARD_MAX);
    }
    d->over.lone[d->over.n_lone] = crd;
    d->over.tiles[d->over.n_lone++] = ct_int(tiles);
  }
}

void division_note_lone(Division *d, CtTuple crd) {
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
