/* test_conformance.c: runs the rows of tests/conformance, which hold the results of CuTe C++; the
   rules of comparison are those of its README. One check per operation. */
#include "runtime/layout.h"

#include <lauxlib.h>
#include <lua.h>
#include <lualib.h>

#include "tap.h"

static const char *const files[] = {"algebra",          "modes",          "predicates",
                                    "swizzle",          "divide_product", "coords",
                                    "tensor_partition", "mma_atoms",      "copy_atoms"};

/* --- reading a row ----------------------------------------------------------------------------- */

typedef struct Row {
  lua_State *L; /* the row is the table at index `at` */
  int at;
  CtCx cx;
  CtErr err;
} Row;

/* What an operation gave. */
typedef struct Result {
  CtStatus status;
  CtText text;
  bool has_layout, has_offset;
  CtLayout layout;
  int64_t offset;
  const char *tiler; /* of make_layout_tv */
} Result;

static bool has(Row *r, const char *key) {
  bool there = lua_getfield(r->L, r->at, key) != LUA_TNIL;
  lua_pop(r->L, 1);
  return there;
}

/* Text of a field (a number becomes its digits); it lives as long as the arena. */
static const char *field(Row *r, const char *key) {
  size_t len;
  lua_getfield(r->L, r->at, key);
  const char *s = luaL_tolstring(r->L, -1, &len);
  char *copy = ct_arena_strdup(r->cx.arena, s, len);
  lua_pop(r->L, 2);
  return copy;
}

static lua_Integer number(Row *r, const char *key, lua_Integer otherwise) {
  lua_getfield(r->L, r->at, key);
  lua_Integer i = luaL_optinteger(r->L, -1, otherwise);
  lua_pop(r->L, 1);
  return i;
}

/* A malformed input is a fault of this program: the operation is not to be blamed. */
static void must(Row *r, CtStatus st) {
  if (st != CT_OK) {
    luaL_error(r->L, "cannot read row: %s", r->err.msg);
  }
}

static CtLayout layout_text(Row *r, const char *s) {
  CtLayout l = {NULL, NULL};
  must(r, ct_layout_parse(r->cx.arena, s, strlen(s), &l, &r->err));
  return l;
}

static CtLayout layout(Row *r, const char *key) { return layout_text(r, field(r, key)); }

static CtTuple tuple(Row *r, const char *key) {
  const char *s = field(r, key);
  CtTuple t = NULL;
  must(r, ct_tuple_parse(r->cx.arena, s, strlen(s), &t, &r->err));
  return t;
}

static CtTuple tuple_or_null(Row *r, const char *key) { return has(r, key) ? tuple(r, key) : NULL; }

static CtTiler tiler(Row *r, const char *key) {
  const char *s = field(r, key);
  CtTiler t = {.kind = CT_TILER_ANY};
  must(r, ct_tiler_parse(r->cx.arena, s, strlen(s), &t, &r->err));
  return t;
}

/* The integers of a Lua array. */
static int ints(Row *r, const char *key, int *out, int max) {
  lua_getfield(r->L, r->at, key);
  int n = (int)lua_rawlen(r->L, -1);
  n = n > max ? max : n;
  for (int i = 0; i < n; i++) {
    lua_rawgeti(r->L, -1, i + 1);
    out[i] = (int)lua_tointeger(r->L, -1);
    lua_pop(r->L, 1);
  }
  lua_pop(r->L, 1);
  return n;
}

/* --- results ----------------------------------------------------------------------------------- */

static void give_layout(Row *r, Result *o, CtStatus st, CtLayout l) {
  o->status = st;
  if (st == CT_OK) {
    ct_layout_print(&r->cx, l, &o->text);
    o->layout = l;
    o->has_layout = true;
  }
}

static void give_tuple(Row *r, Result *o, CtStatus st, CtTuple t) {
  o->status = st;
  if (st == CT_OK) {
    ct_tuple_print(&r->cx, t, &o->text);
  }
}

static void give_int(Row *r, Result *o, CtStatus st, CtInt i) {
  o->status = st;
  if (st == CT_OK) {
    ct_int_print(&r->cx, i, &o->text);
  }
}

static void give_bool(Result *o, bool b) { ct_text_puts(&o->text, b ? "true" : "false"); }

static void give_offset(Result *o, CtInt offset) {
  o->has_offset = o->status == CT_OK;
  o->offset = offset.v;
}

/* --- operations -------------------------------------------------------------------------------- */

#define LAYOUT_OF(name, call)                                                                      \
  static void op_##name(Row *r, Result *o) {                                                       \
    CtLayout l = {NULL, NULL};                                                                     \
    CtStatus st = call;                                                                            \
    give_layout(r, o, st, l);                                                                      \
  }
#define TUPLE_OF(name, call)                                                                       \
  static void op_##name(Row *r, Result *o) {                                                       \
    CtTuple t = NULL;                                                                              \
    CtStatus st = call;                                                                            \
    give_tuple(r, o, st, t);                                                                       \
  }
#define INT_OF(name, call)                                                                         \
  static void op_##name(Row *r, Result *o) {                                                       \
    CtInt i = ct_int(0);                                                                           \
    CtStatus st = call;                                                                            \
    give_int(r, o, st, i);                                                                         \
  }

static CtInt start(Row *r) { return ct_int(number(r, "start", 1)); }

LAYOUT_OF(make_layout, ct_layout_make(&r->cx, tuple(r, "shape"), NULL, &l, &r->err))
LAYOUT_OF(make_layout_right, ct_layout_row_major(&r->cx, tuple(r, "shape"), &l, &r->err))
LAYOUT_OF(make_ordered_layout,
          ct_layout_ordered(&r->cx, tuple(r, "shape"), tuple(r, "order"), &l, &r->err))
TUPLE_OF(compact_order, ct_compact_order(&r->cx, tuple(r, "shape"), tuple(r, "order"), &t, &r->err))
TUPLE_OF(compact_col_major, ct_compact_col_major(&r->cx, tuple(r, "shape"), start(r), &t, &r->err))
TUPLE_OF(compact_row_major, ct_compact_row_major(&r->cx, tuple(r, "shape"), start(r), &t, &r->err))
LAYOUT_OF(make_layout_like, ct_layout_like(&r->cx, layout(r, "a"), &l, &r->err))
LAYOUT_OF(make_fragment_like, ct_fragment_layout_like(&r->cx, layout(r, "a"), &l, &r->err))
INT_OF(size, ct_size(&r->cx, layout(r, "a"), &i, &r->err))
INT_OF(cosize, ct_cosize(&r->cx, layout(r, "a"), &i, &r->err))
LAYOUT_OF(coalesce, ct_coalesce(&r->cx, layout(r, "a"), tuple_or_null(r, "profile"), &l, &r->err))
LAYOUT_OF(filter, ct_filter(&r->cx, layout(r, "a"), tuple_or_null(r, "profile"), &l, &r->err))
LAYOUT_OF(filter_zeros, ct_filter_zeros(&r->cx, layout(r, "a"), &l, &r->err))
LAYOUT_OF(flatten, ct_flatten(&r->cx, layout(r, "a"), &l, &r->err))
LAYOUT_OF(composition, ct_composition(&r->cx, layout(r, "a"), tiler(r, "b"), &l, &r->err))
LAYOUT_OF(complement,
          ct_complement(&r->cx, layout(r, "a"), tuple_or_null(r, "cotarget"), &l, &r->err))
LAYOUT_OF(right_inverse, ct_right_inverse(&r->cx, layout(r, "a"), &l, &r->err))
LAYOUT_OF(left_inverse, ct_left_inverse(&r->cx, layout(r, "a"), &l, &r->err))
LAYOUT_OF(max_common_layout,
          ct_max_common_layout(&r->cx, layout(r, "a"), layout(r, "b"), &l, &r->err))
LAYOUT_OF(logical_divide, ct_logical_divide(&r->cx, layout(r, "a"), tiler(r, "b"), &l, &r->err))
LAYOUT_OF(zipped_divide, ct_zipped_divide(&r->cx, layout(r, "a"), tiler(r, "b"), &l, &r->err))
LAYOUT_OF(tiled_divide, ct_tiled_divide(&r->cx, layout(r, "a"), tiler(r, "b"), &l, &r->err))
LAYOUT_OF(flat_divide, ct_flat_divide(&r->cx, layout(r, "a"), tiler(r, "b"), &l, &r->err))
LAYOUT_OF(logical_product, ct_logical_product(&r->cx, layout(r, "a"), tiler(r, "b"), &l, &r->err))
LAYOUT_OF(zipped_product, ct_zipped_product(&r->cx, layout(r, "a"), tiler(r, "b"), &l, &r->err))
LAYOUT_OF(tiled_product, ct_tiled_product(&r->cx, layout(r, "a"), tiler(r, "b"), &l, &r->err))
LAYOUT_OF(flat_product, ct_flat_product(&r->cx, layout(r, "a"), tiler(r, "b"), &l, &r->err))
LAYOUT_OF(blocked_product, ct_blocked_product(&r->cx, layout(r, "a"), layout(r, "b"), &l, &r->err))
LAYOUT_OF(raked_product, ct_raked_product(&r->cx, layout(r, "a"), layout(r, "b"), &l, &r->err))
LAYOUT_OF(dice, ct_dice(&r->cx, tuple(r, "crd"), layout(r, "a"), &l, &r->err))
LAYOUT_OF(group, ct_group(&r->cx, layout(r, "a"), (int)number(r, "first", 0),
                          (int)number(r, "last", 0), &l, &r->err))
LAYOUT_OF(take, ct_take(&r->cx, layout(r, "a"), (int)number(r, "first", 0),
                        (int)number(r, "last", 0), &l, &r->err))
LAYOUT_OF(append,
          ct_append(&r->cx, layout(r, "a"), layout(r, "x"), (int)number(r, "n", 0), &l, &r->err))
LAYOUT_OF(prepend,
          ct_prepend(&r->cx, layout(r, "a"), layout(r, "x"), (int)number(r, "n", 0), &l, &r->err))
LAYOUT_OF(replace,
          ct_replace(&r->cx, layout(r, "a"), (int)number(r, "i", 0), layout(r, "x"), &l, &r->err))
TUPLE_OF(crd2crd,
         ct_crd2crd(&r->cx, tuple(r, "crd"), tuple(r, "from"), tuple(r, "to"), &t, &r->err))

static void op_rank(Row *r, Result *o) {
  give_int(r, o, CT_OK, ct_int(ct_layout_rank(layout(r, "a"))));
}

static void op_depth(Row *r, Result *o) {
  give_int(r, o, CT_OK, ct_int(ct_depth(layout(r, "a").shape)));
}

static void op_max_common_vector(Row *r, Result *o) {
  int64_t n = 0;
  CtStatus st = ct_max_common_vector(&r->cx, layout(r, "a"), layout(r, "b"), &n, &r->err);
  give_int(r, o, st, ct_int(n));
}

static void op_select(Row *r, Result *o) {
  int modes[32];
  CtLayout l = {NULL, NULL};
  int n = ints(r, "modes", modes, 32);
  CtStatus st = ct_select(&r->cx, layout(r, "a"), n, modes, &l, &r->err);
  give_layout(r, o, st, l);
}

static void op_mode(Row *r, Result *o) {
  int path[32];
  CtLayout l = {NULL, NULL};
  int n = ints(r, "path", path, 32);
  CtStatus st = ct_mode_at(&r->cx, layout(r, "a"), n, path, &l, &r->err);
  give_layout(r, o, st, l);
}

static void op_concat(Row *r, Result *o) {
  CtLayout modes[16], l = {NULL, NULL};
  lua_getfield(r->L, r->at, "layouts");
  int n = (int)lua_rawlen(r->L, -1);
  for (int i = 0; i < n && i < 16; i++) {
    lua_rawgeti(r->L, -1, i + 1);
    modes[i] = layout_text(r, lua_tostring(r->L, -1));
    lua_pop(r->L, 1);
  }
  lua_pop(r->L, 1);
  CtStatus st = ct_layout_concat(&r->cx, n, modes, &l, &r->err);
  give_layout(r, o, st, l);
}

static void op_crd2idx(Row *r, Result *o) {
  CtInt i = ct_int(0);
  CtStatus st = has(r, "a")
                    ? ct_crd2idx(&r->cx, tuple(r, "crd"), layout(r, "a"), &i, &r->err)
                    : ct_crd2idx_shape(&r->cx, tuple(r, "crd"), tuple(r, "shape"), &i, &r->err);
  give_int(r, o, st, i);
}

static void op_idx2crd(Row *r, Result *o) {
  CtTuple t = NULL, idx = tuple(r, "idx");
  CtStatus st = has(r, "a") ? ct_idx2crd_layout(&r->cx, idx->i, layout(r, "a"), &t, &r->err)
                            : ct_crd_natural(&r->cx, idx, tuple(r, "shape"), &t, &r->err);
  give_tuple(r, o, st, t);
}

static void op_slice(Row *r, Result *o) {
  CtLayout l = {NULL, NULL};
  CtInt offset = ct_int(0);
  CtStatus st = ct_slice(&r->cx, tuple(r, "crd"), layout(r, "a"), &l, &offset, &r->err);
  give_layout(r, o, st, l);
  give_offset(o, offset);
}

static void op_values(Row *r, Result *o) {
  CtLayout l = layout(r, "a");
  CtInt n = ct_int(0);
  o->status = ct_size(&r->cx, l, &n, &r->err);
  for (int64_t i = 0; i < n.v; i++) {
    ct_text_printf(&o->text, "%s%lld", i == 0 ? "" : ",", (long long)ct_layout_at(l, i));
  }
}

static void op_local_tile(Row *r, Result *o) {
  CtLayout l = {NULL, NULL};
  CtInt offset = ct_int(0);
  CtStatus st = ct_tile(&r->cx, layout(r, "a"), tiler(r, "tiler"), tuple(r, "crd"),
                        tuple_or_null(r, "proj"), &l, &offset, &r->err);
  give_layout(r, o, st, l);
  give_offset(o, offset);
}

static void op_local_partition(Row *r, Result *o) {
  CtLayout l = {NULL, NULL};
  CtInt offset = ct_int(0);
  CtStatus st =
      ct_parallelize(&r->cx, layout(r, "a"), layout(r, "thr"), ct_int(number(r, "idx", 0)),
                     tuple_or_null(r, "proj"), &l, &offset, &r->err);
  give_layout(r, o, st, l);
  give_offset(o, offset);
}

static void op_make_layout_tv(Row *r, Result *o) {
  CtLayout l = {NULL, NULL};
  CtTuple t = NULL;
  CtStatus st = ct_tv_layout(&r->cx, layout(r, "thr"), layout(r, "val"), &l, &t, &r->err);
  give_layout(r, o, st, l);
  if (st == CT_OK) {
    CtText s;
    ct_text_init(&s, ct_alloc_std);
    ct_tuple_print(&r->cx, t, &s);
    o->tiler = ct_arena_strdup(r->cx.arena, ct_text_str(&s), s.len);
    ct_text_clear(&s);
  }
}

static void op_tv_partition(Row *r, Result *o) {
  CtLayout l = {NULL, NULL};
  CtInt offset = ct_int(0);
  CtStatus st = ct_tv_partition(&r->cx, layout(r, "a"), tiler(r, "tiler"), layout(r, "tv"),
                                ct_int(number(r, "idx", 0)), &l, &offset, &r->err);
  give_layout(r, o, st, l);
  give_offset(o, offset);
}

static void op_congruent(Row *r, Result *o) {
  give_bool(o, ct_congruent(tuple(r, "a"), tuple(r, "b")));
}

LAYOUT_OF(nullspace, ct_nullspace(&r->cx, layout(r, "a"), &l, &r->err))
LAYOUT_OF(domain_distribute,
          ct_domain_distribute(&r->cx, tuple(r, "shape"), number(r, "n", 1), &l, &r->err))
LAYOUT_OF(upcast, ct_upcast(&r->cx, layout(r, "a"), number(r, "n", 1), &l, &r->err))
LAYOUT_OF(downcast, ct_downcast(&r->cx, layout(r, "a"), number(r, "n", 1), &l, &r->err))
LAYOUT_OF(recast, ct_recast(&r->cx, layout(r, "a"), number(r, "from_bits", 1),
                            number(r, "to_bits", 1), &l, &r->err))

/* "right": the last mode first. */
static CtTuple fill_order(Row *r) {
  if (!has(r, "order") || strcmp(field(r, "order"), "right") != 0) {
    return tuple_or_null(r, "order");
  }
  CtInt ranks[32];
  int n = ct_rank(tuple(r, "shape"));
  for (int i = 0; i < n && i < 32; i++) {
    ranks[i] = ct_int(n - i);
  }
  return ct_tuple_ints(r->cx.arena, n, ranks);
}

LAYOUT_OF(tile_to_shape,
          ct_tile_to_shape(&r->cx, layout(r, "a"), tuple(r, "shape"), fill_order(r), &l, &r->err))

static void op_weakly_congruent(Row *r, Result *o) {
  give_bool(o, ct_weakly_congruent(tuple(r, "a"), tuple(r, "b")));
}

#define BOOL_OF(name, call)                                                                        \
  static void op_##name(Row *r, Result *o) {                                                       \
    bool b = false;                                                                                \
    o->status = call;                                                                              \
    give_bool(o, b);                                                                               \
  }

BOOL_OF(compatible, ct_compatible(&r->cx, tuple(r, "a"), tuple(r, "b"), &b, &r->err))
BOOL_OF(evenly_divides, ct_evenly_divides(&r->cx, tuple(r, "a"), tiler(r, "b"), &b, &r->err))
BOOL_OF(lex_less, ct_lex_less(tuple(r, "a"), tuple(r, "b"), &b, &r->err))
BOOL_OF(colex_less, ct_colex_less(tuple(r, "a"), tuple(r, "b"), &b, &r->err))
BOOL_OF(elem_less, ct_elem_less(tuple(r, "a"), tuple(r, "b"), &b, &r->err))

typedef struct Op {
  const char *name;
  void (*run)(Row *r, Result *o);
  int passed, failed, refused; /* refused: of the passed, those that may be and were */
} Op;

#define OP(name)                                                                                   \
  { #name, op_##name, 0, 0, 0 }
static const Op op_list[] = {
    OP(make_layout),
    OP(make_layout_right),
    OP(make_ordered_layout),
    OP(compact_order),
    OP(compact_col_major),
    OP(compact_row_major),
    OP(make_layout_like),
    OP(make_fragment_like),
    OP(size),
    OP(cosize),
    OP(rank),
    OP(depth),
    OP(coalesce),
    OP(filter),
    OP(filter_zeros),
    OP(flatten),
    OP(composition),
    OP(complement),
    OP(right_inverse),
    OP(left_inverse),
    OP(max_common_vector),
    OP(max_common_layout),
    OP(group),
    OP(take),
    OP(select),
    OP(append),
    OP(prepend),
    OP(replace),
    OP(mode),
    OP(concat),
    OP(congruent),
    OP(logical_divide),
    OP(zipped_divide),
    OP(tiled_divide),
    OP(flat_divide),
    OP(logical_product),
    OP(zipped_product),
    OP(tiled_product),
    OP(flat_product),
    OP(blocked_product),
    OP(raked_product),
    OP(crd2idx),
    OP(idx2crd),
    OP(crd2crd),
    OP(slice),
    OP(dice),
    OP(values),
    OP(local_tile),
    OP(local_partition),
    OP(make_layout_tv),
    OP(tv_partition),
    OP(nullspace),
    OP(domain_distribute),
    OP(upcast),
    OP(downcast),
    OP(recast),
    OP(tile_to_shape),
    OP(weakly_congruent),
    OP(compatible),
    OP(evenly_divides),
    OP(lex_less),
    OP(colex_less),
    OP(elem_less),
};

/* --- comparison -------------------------------------------------------------------------------- */

/* Is the field the text of the result? An array is compared as its items with commas. */
static bool text_is(Row *r, const Result *o, const char *key) {
  bool same;
  if (o->status != CT_OK || lua_getfield(r->L, r->at, key) == LUA_TNIL) {
    lua_settop(r->L, r->at);
    return false;
  }
  if (lua_istable(r->L, -1)) {
    luaL_Buffer b;
    int n = (int)lua_rawlen(r->L, -1), list = lua_gettop(r->L);
    luaL_buffinit(r->L, &b);
    for (int i = 1; i <= n; i++) {
      if (i > 1) {
        luaL_addchar(&b, ',');
      }
      lua_rawgeti(r->L, list, i);
      luaL_addvalue(&b);
    }
    luaL_pushresult(&b);
  }
  same = strcmp(luaL_tolstring(r->L, -1, NULL), ct_text_str(&o->text)) == 0;
  lua_settop(r->L, r->at);
  return same;
}

/* Same size and values as the list in `key`. */
static bool values_are(Row *r, const Result *o, const char *key) {
  CtInt n;
  bool same = o->status == CT_OK && o->has_layout && lua_getfield(r->L, r->at, key) == LUA_TTABLE &&
              ct_size(&r->cx, o->layout, &n, &r->err) == CT_OK &&
              n.v == (int64_t)lua_rawlen(r->L, -1);
  for (int64_t i = 0; same && i < n.v; i++) {
    lua_rawgeti(r->L, -1, i + 1);
    same = lua_tointeger(r->L, -1) == ct_layout_at(o->layout, i);
    lua_pop(r->L, 1);
  }
  lua_settop(r->L, r->at);
  return same;
}

static bool offset_is(Row *r, const Result *o, const char *key) {
  return !has(r, key) || (o->has_offset && o->offset == number(r, key, 0));
}

static bool tiler_is(Row *r, const Result *o) {
  return o->tiler == NULL || strcmp(o->tiler, field(r, "tiler")) == 0;
}

static bool is_wanted(Row *r, const Result *o) {
  return (text_is(r, o, "want") || values_are(r, o, "want_fn")) && offset_is(r, o, "offset") &&
         tiler_is(r, o);
}

static bool is_alternative(Row *r, const Result *o) {
  return text_is(r, o, "alt") && offset_is(r, o, has(r, "alt_offset") ? "alt_offset" : "offset");
}

static bool is_tagged(Row *r, const char *tag) {
  return has(r, "tag") && strcmp(field(r, "tag"), tag) == 0;
}

/* The rules 2 to 7 of the README. */
static bool row_passes(Row *r, const Result *o, bool *refused) {
  bool failed = o->status != CT_OK;
  if (has(r, "error")) {
    return failed || (has(r, "lenient") && values_are(r, o, "want_fn"));
  }
  if (is_tagged(r, "quirk")) {
    *refused = failed;
    return failed || (text_is(r, o, "cute") && offset_is(r, o, "cute_offset")) ||
           values_are(r, o, "want_fn") || is_alternative(r, o);
  }
  if (is_tagged(r, "negative_stride")) {
    *refused = failed;
    return failed || is_wanted(r, o);
  }
  if (is_tagged(r, "past_end")) {
    return is_wanted(r, o) || is_alternative(r, o) || (failed && !has(r, "alt"));
  }
  return is_wanted(r, o);
}

/* --- running ----------------------------------------------------------------------------------- */

typedef struct Later { /* rows of an operation that is not in op_list */
  char name[48];
  int n;
} Later;

static Op ops[CT_ARRAY_LEN(op_list)];
static Later later[64];
static int n_later;

static Op *find_op(const char *name) {
  for (size_t i = 0; i < CT_ARRAY_LEN(ops); i++) {
    if (strcmp(ops[i].name, name) == 0) {
      return &ops[i];
    }
  }
  return NULL;
}

static void count_later(const char *name) {
  int i = 0;
  while (i < n_later && strcmp(later[i].name, name) != 0) {
    i++;
  }
  if (i == n_later && n_later < (int)CT_ARRAY_LEN(later)) {
    n_later++;
    snprintf(later[i].name, sizeof later[i].name, "%s", name);
  }
  later[i].n++;
}

enum { MAX_DIAGS = 5 }; /* failures shown per operation */

static void show_failure(Row *r, const Op *op, const Result *o) {
  tap_diag("%s: got %s%s", op->name, o->status == CT_OK ? ct_text_str(&o->text) : "error: ",
           o->status == CT_OK ? "" : r->err.msg);
  if (o->has_offset) {
    tap_diag("  offset %lld", (long long)o->offset);
  }
  lua_pushnil(r->L);
  while (lua_next(r->L, r->at)) {
    const char *v = luaL_tolstring(r->L, -1, NULL);
    if (strcmp(lua_tostring(r->L, -3), "op") != 0) {
      tap_diag("  %s = %.300s", lua_tostring(r->L, -3), v);
    }
    lua_pop(r->L, 2);
  }
}

static int run_row(lua_State *L) { /* stack: row */
  CtArena arena;
  Row r = {.L = L, .at = 1, .cx = {&arena, NULL}};
  Result o = {.status = CT_OK};
  bool refused = false;
  lua_getfield(L, 1, "op");
  Op *op = find_op(lua_tostring(L, -1));
  if (op == NULL) {
    count_later(lua_tostring(L, -1));
    return 0;
  }
  lua_settop(L, 1);
  ct_arena_init(&arena, ct_alloc_std);
  ct_text_init(&o.text, ct_alloc_std);
  op->run(&r, &o);
  if (row_passes(&r, &o, &refused)) {
    op->passed++;
    op->refused += refused;
  } else if (op->failed++ < MAX_DIAGS) {
    show_failure(&r, op, &o);
  }
  ct_text_clear(&o.text);
  ct_arena_clear(&arena);
  return 0;
}

static void run_file(lua_State *L, const char *folder, const char *name) {
  char path[512];
  snprintf(path, sizeof path, "%s/%s.lua", folder, name);
  if (luaL_dofile(L, path) != LUA_OK) {
    OK(false, "load %s: %s", path, lua_tostring(L, -1));
    return;
  }
  int rows = lua_gettop(L), n = (int)lua_rawlen(L, rows), broken = 0;
  for (int i = 1; i <= n; i++) {
    lua_pushcfunction(L, run_row);
    lua_rawgeti(L, rows, i);
    if (lua_pcall(L, 1, 0, 0) != LUA_OK) {
      tap_diag("%s row %d: %s", name, i, lua_tostring(L, -1));
      lua_pop(L, 1);
      broken++;
    }
  }
  OK(n > 0 && broken == 0, "%s: %d rows read", name, n);
  lua_settop(L, 0);
}

static void report(void) {
  int passed = 0, failed = 0, left = 0;
  for (size_t i = 0; i < CT_ARRAY_LEN(ops); i++) {
    const Op *op = &ops[i];
    OK(op->passed > 0 && op->failed == 0, "%s: %d rows passed, %d failed%s", op->name, op->passed,
       op->failed, op->refused > 0 ? " (some by refusing, as they may)" : "");
    passed += op->passed;
    failed += op->failed;
  }
  for (int i = 0; i < n_later; i++) {
    left += later[i].n;
    tap_diag("left for later: %s, %d rows", later[i].name, later[i].n);
  }
  tap_diag("rows: %d passed, %d failed, %d left for later", passed, failed, left);
}

int main(int argc, char **argv) {
  const char *folder = argc > 1 ? argv[1] : "tests/conformance";
  lua_State *L = luaL_newstate();
  if (L == NULL) {
    return 1;
  }
  luaL_openlibs(L);
  memcpy(ops, op_list, sizeof ops);
  for (size_t i = 0; i < CT_ARRAY_LEN(files); i++) {
    run_file(L, folder, files[i]);
  }
  report();
  lua_close(L);
  return done_testing();
}
