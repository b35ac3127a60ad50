/* bind_layout.c: layouts in Lua: making them, asking them, their list of modes, and what they are as
   objects. bind_algebra.c has the rest of the algebra. Each function is one C function, which scripts
   call as size(L) and as L:size(). */
#include <string.h>

#include "bind.h"
#include "interp/state/note.h"
#include "interp/state/standard.h"
#include "interp/trace/value.h"
#include "interp/openers.h"

static int push_any(lua_State *L, const CtAlg *g, CtComposed c) {
  bind_check(L, g);
  bind_push_composed(L, &c);
  return 1;
}

static int push_plain(lua_State *L, const CtAlg *g, CtLayout l) {
  return push_any(L, g, ct_composed_plain(l));
}

/* {====== Making layouts ====== */

/* layout(shape[, stride]); of one argument whatever stands for a layout. */
static int layout(lua_State *L) {
  CtAlg g = bind_begin(L);
  if (lua_isnoneornil(L, 2)) {
    return push_any(L, &g, bind_to_composed(L, 1, &g.cx, "layout"));
  }
  CtTuple shape = bind_to_shape(L, 1, &g.cx, "layout");
  CtTuple stride = bind_to_tuple(L, 2, &g.cx, "layout");
  if (lua_gettop(L) > 2) {
    return diag_error(L,
                      "layout: %d arguments; a shape and strides were expected, each of several "
                      "modes as in layout({4, 8}, {8, 1})",
                      lua_gettop(L));
  }
  return push_plain(L, &g, al_layout(&g, shape, stride));
}

/* L"(4,8):(8,1)" */
static int literal(lua_State *L) {
  CtCx cx = bind_enter(L);
  if (lua_type(L, 1) != LUA_TSTRING) {
    return diag_error(L,
                      "L: argument 1 is %s; a string like \"(4,8):(8,1)\" was expected; "
                      "layout{4, 8} takes numbers",
                      diag_push_kind(L, 1));
  }
  CtComposed l = bind_to_composed(L, 1, &cx, "L");
  bind_push_composed(L, &l);
  return 1;
}

static CtLayout col_major_of(CtAlg *g, CtTuple shape) { return al_layout(g, shape, NULL); }

/* Of one argument; extents listed side by side would lose all but the first. */
static int of_shape(lua_State *L, const char *op, CtLayout (*fn)(CtAlg *, CtTuple)) {
  CtAlg g = bind_begin(L);
  CtTuple shape = bind_to_shape(L, 1, &g.cx, op);
  if (lua_gettop(L) > 1) {
    return diag_error(L, "%s: %d arguments; one shape was expected: %s{4, 8}", op, lua_gettop(L),
                      op);
  }
  return push_plain(L, &g, fn(&g, shape));
}

static int row_major(lua_State *L) { return of_shape(L, "row_major", al_row_major); }
static int col_major(lua_State *L) { return of_shape(L, "col_major", col_major_of); }
static int identity_layout(lua_State *L) { return of_shape(L, "identity_layout", al_identity); }

static int ordered(lua_State *L) {
  CtAlg g = bind_begin(L);
  CtTuple shape = bind_to_shape(L, 1, &g.cx, "ordered");
  return push_plain(L, &g, al_ordered(&g, shape, bind_to_tuple(L, 2, &g.cx, "ordered")));
}

/* {====== Asking: size(L), size(L, mode...) ====== */

/* The layout of argument 1, or its mode at the path that follows. */
static CtComposed to_mode(lua_State *L, CtAlg *g, const char *op) {
  int path[CT_MAX_DEPTH];
  CtComposed l = bind_to_composed(L, 1, &g->cx, op);
  int n = bind_to_mode_path(L, 2, l.layout, path, op);
  l.layout = al_mode_at(g, op, l.layout, n, path);
  bind_check(L, g);
  return l;
}

static int size(lua_State *L) {
  CtAlg g = bind_begin(L);
  CtComposed l = to_mode(L, &g, "size");
  return bind_return_int(L, &g, al_size(&g, l.layout));
}

static int cosize(lua_State *L) {
  CtAlg g = bind_begin(L);
  CtComposed l = to_mode(L, &g, "cosize");
  return bind_return_int(L, &g, al_cosize(&g, l));
}

static int rank(lua_State *L) {
  CtAlg g = bind_begin(L);
  lua_pushinteger(L, ct_layout_rank(to_mode(L, &g, "rank").layout));
  return 1;
}

static int depth(lua_State *L) {
  CtAlg g = bind_begin(L);
  lua_pushinteger(L, ct_depth(to_mode(L, &g, "depth").layout.shape));
  return 1;
}

static int shape(lua_State *L) {
  CtAlg g = bind_begin(L);
  bind_push_tuple(L, to_mode(L, &g, "shape").layout.shape);
  return 1;
}

/* Under a swizzle an index is no sum of strides. */
static int push_stride(lua_State *L, const CtCx *cx, const CtComposed *l) {
  if (l->is_swizzled) {
    return diag_error(L,
                      "stride: %s is swizzled and has no strides; those of its layout are "
                      "L.layout.stride",
                      bind_composed_text(cx, l));
  }
  bind_push_tuple(L, l->layout.stride);
  return 1;
}

static int stride(lua_State *L) {
  CtAlg g = bind_begin(L);
  CtComposed l = to_mode(L, &g, "stride");
  return push_stride(L, &g.cx, &l);
}

/* Longer lists are a mistake: their tables take hundreds of megabytes, coordinates more. */
enum { MAX_VALUES = 1 << 24, MAX_COORDINATES = 1 << 20, VALUES_BETWEEN_LOOKS = 1 << 12 };

static void check_listed(lua_State *L, const CtCx *cx, const CtComposed *l, int64_t n) {
  int64_t most = ct_has_basis(l->layout.stride) ? MAX_COORDINATES : MAX_VALUES;
  if (n > most) {
    diag_error(L, "values: %s has %I elements; at most %I are listed, call l(i) for single ones",
               bind_composed_text(cx, l), (LUAI_UACINT)n, (LUAI_UACINT)most);
  }
}

static void look_for_interrupt(lua_State *L, int64_t i) {
  CtErr err;
  if (i % VALUES_BETWEEN_LOOKS == 0 && state_is_interrupted(state_of(L))) {
    ct_fail(&err, CT_EINTERRUPTED, "values: interrupted");
    diag_raise(L, &err);
  }
}

/* The indices at 0, 1, 2, ... as a list. */
static int values(lua_State *L) {
  CtAlg g = bind_begin(L);
  CtComposed l = bind_to_composed(L, 1, &g.cx, "values");
  int64_t n = al_size(&g, l.layout).v;
  bind_check(L, &g);
  if (!ct_composed_is_static(&l)) {
    return diag_error(L,
                      "values: the layout %s has run-time extents or strides; they must be static",
                      bind_composed_text(&g.cx, &l));
  }
  check_listed(L, &g.cx, &l, n);
  lua_createtable(L, (int)n, 0);
  for (int64_t i = 0; i < n; i++) {
    look_for_interrupt(L, i);
    CtNode crd = {.rank = CT_LEAF, .len = 1, .i = ct_int(i)};
    bind_push_value(L, &g, &crd, &l);
    lua_rawseti(L, -2, i + 1);
  }
  return 1;
}

/* {====== The list of modes ====== */

static int get_mode(lua_State *L) {
  CtAlg g = bind_begin(L);
  if (lua_gettop(L) < 2) {
    return diag_type_error(L, 2, "get_mode", "a mode number");
  }
  return push_any(L, &g, to_mode(L, &g, "get_mode"));
}

static int concat(lua_State *L) {
  CtAlg g = bind_begin(L);
  int n = lua_gettop(L);
  CtLayout *modes = al_alloc(&g, (size_t)n + 1, sizeof *modes);
  bind_check(L, &g);
  for (int i = 0; i < n; i++) {
    modes[i] = bind_to_layout(L, i + 1, &g.cx, "concat");
  }
  return push_plain(L, &g, al_concat(&g, n, modes));
}

/* A tuple as a table, whose modes are entries; not a text, which stands for a layout. */
static bool is_tuple(lua_State *L, int idx) {
  int top = lua_gettop(L);
  bool is = lua_istable(L, idx) && luaL_getmetafield(L, idx, "__layout") == LUA_TNIL;
  lua_settop(L, top);
  return is;
}

/* Pushes these entries of a tuple. */
static int push_entries(lua_State *L, CtAlg *g, CtTuple t, int n, const int *modes,
                        const char *op) {
  CtTuple items[CT_MAX_DEPTH];
  for (int i = 0; i < n; i++) {
    if (modes[i] >= ct_rank(t)) {
      return diag_error(L, "%s: there is no mode %d in %s; 0 to %d were expected", op, modes[i],
                        bind_tuple_text(&g->cx, t), ct_rank(t) - 1);
    }
    items[i] = ct_child(t, modes[i]);
  }
  CtTuple made = ct_tuple(g->cx.arena, n, items);
  if (made == NULL) {
    return diag_error(L, "not enough memory");
  }
  bind_push_tuple(L, made);
  return 1;
}

/* take of a tuple. */
static int take_entries(lua_State *L, CtAlg *g) {
  int modes[CT_MAX_DEPTH];
  CtTuple t = bind_to_shape(L, 1, &g->cx, "take");
  int first = bind_to_index(L, 2, 0, CT_MAX_NODES, "take", "mode");
  int last = bind_to_index(L, 3, first, CT_MAX_NODES, "take", "mode");
  if (last - first > CT_MAX_DEPTH) {
    return diag_error(L, "take: %d modes; at most %d were expected", last - first, CT_MAX_DEPTH);
  }
  for (int i = first; i < last; i++) {
    modes[i - first] = i;
  }
  return push_entries(L, g, t, last - first, modes, "take");
}

/* group(L, first, last), take(L, first, last): modes first to last - 1; a name as the last one is
   that of the last mode itself. */
static int range_op(lua_State *L, const char *op, CtLayout (*fn)(CtAlg *, CtLayout, int, int)) {
  diag_check_count(L, op, lua_gettop(L), 3);
  CtAlg g = bind_begin(L);
  CtComposed l = bind_to_composed(L, 1, &g.cx, op);
  int first = bind_to_mode(L, 2, &g.cx, l.layout, op);
  int last = bind_to_mode(L, 3, &g.cx, l.layout, op) + (lua_type(L, 3) == LUA_TSTRING);
  return push_any(L, &g, ct_composed_with(&l, fn(&g, l.layout, first, last)));
}

static int group_modes(lua_State *L) { return range_op(L, "group_modes", al_group); }
static int take(lua_State *L) {
  if (is_tuple(L, 1)) {
    diag_check_count(L, "take", lua_gettop(L), 3);
    CtAlg g = bind_begin(L);
    return take_entries(L, &g);
  }
  return range_op(L, "take", al_take);
}

/* The modes of l that are given as arguments from 2 on, or as a table there. */
static int to_modes(lua_State *L, const CtCx *cx, CtLayout l, int modes[CT_MAX_DEPTH]) {
  int n = lua_gettop(L) - 1;
  if (n == 1 && lua_type(L, 2) == LUA_TTABLE) {
    n = (int)lua_rawlen(L, 2);
    luaL_checkstack(L, n < CT_MAX_DEPTH ? n : CT_MAX_DEPTH, NULL);
    for (int i = 0; i < n && i < CT_MAX_DEPTH; i++) {
      lua_rawgeti(L, 2, i + 1);
    }
    lua_remove(L, 2);
  }
  if (n > CT_MAX_DEPTH) {
    diag_error(L, "select: %d modes; at most %d were expected", n, CT_MAX_DEPTH);
  }
  for (int i = 0; i < n; i++) {
    modes[i] = bind_to_mode(L, 2 + i, cx, l, "select");
  }
  return n;
}

/* Lua's own message would not name the function, which is called from here. */
static void check_select(lua_State *L) {
  int is_integer, n = lua_gettop(L) - 1;
  lua_Integer i = lua_tointegerx(L, 1, &is_integer);
  if (lua_type(L, 1) == LUA_TNUMBER && (!is_integer || i == 0 || i < -n)) {
    diag_error(L,
               "select: %s is not the number of an argument; an integer from 1 on, or from -1 down "
               "to -%d, was expected",
               luaL_tolstring(L, 1, NULL), n);
  }
}

/* select(L, mode...) of a layout or of a tuple; of anything else Lua's own, upvalue 1. */
static int select(lua_State *L) {
  int modes[CT_MAX_DEPTH];
  (void)value_settle(L, 1);
  int type = lua_type(L, 1);
  bool is_lua = type == LUA_TNUMBER || (type == LUA_TSTRING && *lua_tostring(L, 1) == '#');
  if (is_lua && !lua_isnil(L, lua_upvalueindex(1))) {
    check_select(L);
    return standard_call_original(L);
  }
  if (value_test(L, 1, NULL)) {
    return diag_error(L, "select of a run-time value; which argument it is must be known while "
                         "tracing: write where(c, a, b), or 'c and a or b'");
  }
  CtAlg g = bind_begin(L);
  if (is_tuple(L, 1)) {
    CtTuple t = bind_to_shape(L, 1, &g.cx, "select");
    int n_modes = to_modes(L, &g.cx, (CtLayout){t, t}, modes);
    return push_entries(L, &g, t, n_modes, modes, "select");
  }
  CtComposed l = bind_to_composed(L, 1, &g.cx, "select");
  int n = to_modes(L, &g.cx, l.layout, modes);
  return push_any(L, &g, ct_composed_with(&l, al_select(&g, l.layout, n, modes)));
}

/* append(L, x[, rank]), prepend(L, x[, rank]) */
static int extend(lua_State *L, const char *op, CtLayout (*fn)(CtAlg *, CtLayout, CtLayout, int)) {
  CtAlg g = bind_begin(L);
  CtComposed l = bind_to_composed(L, 1, &g.cx, op);
  CtLayout x = bind_to_layout(L, 2, &g.cx, op);
  int to = lua_isnoneornil(L, 3) ? 0 : bind_to_index(L, 3, 0, CT_MAX_NODES, op, "rank");
  return push_any(L, &g, ct_composed_with(&l, fn(&g, l.layout, x, to)));
}

static int append(lua_State *L) { return extend(L, "append", al_append); }
static int prepend(lua_State *L) { return extend(L, "prepend", al_prepend); }

static int replace(lua_State *L) {
  CtAlg g = bind_begin(L);
  CtComposed l = bind_to_composed(L, 1, &g.cx, "replace");
  int i = bind_to_mode(L, 2, &g.cx, l.layout, "replace");
  CtLayout x = bind_to_layout(L, 3, &g.cx, "replace");
  return push_any(L, &g, ct_composed_with(&l, al_replace(&g, l.layout, i, x)));
}

/* {====== Layouts as objects ====== */

static CtComposed check_layout(lua_State *L) {
  CtComposed l;
  if (!bind_test_composed(L, 1, &l)) {
    luaL_checkudata(L, 1, LAYOUT_TYPE);
  }
  return l;
}

static bool is_layout_like(lua_State *L, int idx) {
  CtComposed l;
  return bind_test_composed(L, idx, &l) || bind_is_swizzle(L, idx) ||
         (lua_type(L, idx) == LUA_TSTRING && strchr(lua_tostring(L, idx), ':') != NULL);
}

/* composition(L, M), of bind_algebra.c, by way of the methods. */
static int compose(lua_State *L) {
  luaL_getmetafield(L, 1, METHODS);
  lua_getfield(L, -1, "composition");
  lua_insert(L, 1);
  lua_settop(L, 3); /* stack: composition, layout, argument */
  lua_call(L, 2, 1);
  return 1;
}

/* L(i), L(i, j), L({i, j}) evaluate; with `_` slice; L(M) composes: L(M)(i) == L(M(i)). */
static int call(lua_State *L) {
  CtTuple at;
  CtComposed l = check_layout(L);
  if (lua_gettop(L) == 2 && is_layout_like(L, 2)) {
    return compose(L);
  }
  CtAlg g = bind_begin(L);
  CtTuple crd = bind_to_coord(L, 2, &g.cx, "call of a layout");
  if (ct_has_any(crd)) {
    return push_any(L, &g, al_slice(&g, crd, l, &at));
  }
  if (!bind_is_inside(crd, l.layout.shape) && note_is_wanted(L)) {
    note_add(L, "coordinate %s is outside the shape %s; coordinates count from 0",
             bind_tuple_text(&g.cx, crd), bind_tuple_text(&g.cx, l.layout.shape));
  }
  return bind_push_value(L, &g, crd, &l);
}

static int tostring(lua_State *L) {
  CtText text;
  CtComposed l = check_layout(L);
  CtCx cx = bind_enter(L);
  bind_text_init(&text, &cx);
  ct_composed_print(&cx, &l, &text);
  bind_push_text(L, &text);
  return 1;
}

static int equal(lua_State *L) {
  CtComposed a, b;
  lua_pushboolean(L, bind_test_composed(L, 1, &a) && bind_test_composed(L, 2, &b) &&
                         ct_composed_equal(&a, &b));
  return 1;
}

/* L:origin(): the operation that made L and its operands, or nothing. */
static int origin(lua_State *L) {
  check_layout(L);
  return bind_push_origin(L, 1);
}

/* {====== Fields: L.shape, L.stride, and of a swizzled layout its three parts ====== */

static int shape_field(lua_State *L, const CtComposed *l) {
  bind_push_tuple(L, l->layout.shape);
  return 1;
}

static int stride_field(lua_State *L, const CtComposed *l) {
  CtCx cx = bind_cx(L);
  return push_stride(L, &cx, l);
}

static int swizzle_field(lua_State *L, const CtComposed *l) {
  if (l->is_swizzled) {
    bind_push_swizzle(L, l->swizzle);
  } else {
    lua_pushnil(L);
  }
  return 1;
}

static int offset_field(lua_State *L, const CtComposed *l) {
  bind_push_int(L, l->offset);
  return 1;
}

static int layout_field(lua_State *L, const CtComposed *l) {
  bind_push_layout(L, l->layout);
  return 1;
}

/* Scripts read x.dtype of what may be a tensor or a layout. */
static int no_field(lua_State *L, const CtComposed *l) {
  (void)l;
  lua_pushnil(L);
  return 1;
}

static const struct {
  const char *name;
  int (*push)(lua_State *L, const CtComposed *l);
} fields[] = {{"shape", shape_field},   {"stride", stride_field}, {"swizzle", swizzle_field},
              {"offset", offset_field}, {"layout", layout_field}, {"dtype", no_field}};

/* l[1] is MoYe's mode, or a tensor's element, and l[{1,2}] is one: nil would surprise later. */
static int fail_element(lua_State *L) {
  if (lua_isinteger(L, 2)) {
    const char *i = lua_tostring(L, 2);
    return diag_error(
        L, "layout: no element [%s]; call l(%s) for the index, get_mode(l, %s) for the mode", i, i,
        i);
  }
  if (lua_type(L, 2) == LUA_TTABLE) {
    CtCx cx = bind_enter(L);
    const char *crd = bind_tuple_text(&cx, bind_to_tuple(L, 2, &cx, "element of a layout"));
    return diag_error(L, "layout: no element %s; call l%s for the index, get_mode(l, i) for a mode",
                      crd, crd);
  }
  return diag_error(L, "layout: %s is not a field or method of a layout", diag_push_kind(L, 2));
}

/* A method, in upvalue 1, or a field. */
static int field(lua_State *L) {
  CtComposed l = check_layout(L);
  if (lua_type(L, 2) != LUA_TSTRING) {
    return fail_element(L);
  }
  lua_settop(L, 2);
  lua_pushvalue(L, 2);
  if (lua_rawget(L, lua_upvalueindex(1)) != LUA_TNIL) {
    return 1;
  }
  const char *name = lua_tostring(L, 2);
  for (size_t i = 0; i < CT_ARRAY_LEN(fields); i++) {
    if (strcmp(name, fields[i].name) == 0) {
      return fields[i].push(L, &l);
    }
  }
  return bind_refuse_name(L);
}

/* {====== Opening ====== */

static const luaL_Reg makers[] = {{"layout", layout},
                                  {"L", literal},
                                  {"row_major", row_major},
                                  {"col_major", col_major},
                                  {"ordered", ordered},
                                  {"identity_layout", identity_layout},
                                  {NULL, NULL}};

/* Functions that are methods, too. */
static const luaL_Reg methods[] = {{"size", size},
                                   {"cosize", cosize},
                                   {"rank", rank},
                                   {"depth", depth},
                                   {"get_mode", get_mode},
                                   {"concat", concat},
                                   {"group_modes", group_modes},
                                   {"take", take},
                                   {"append", append},
                                   {"prepend", prepend},
                                   {"replace", replace},
                                   {NULL, NULL}};

/* These are methods only: as globals, scripts want the names for themselves. */
static const luaL_Reg own_methods[] = {{"values", values},
                                       {"named", bind_named},
                                       {"names", bind_names},
                                       {"origin", origin},
                                       {NULL, NULL}};

static const luaL_Reg functions[] = {{"shape", shape}, {"stride", stride}, {NULL, NULL}};

static const char *const field_names[] = {"shape", "stride", "swizzle", "offset", "layout", NULL};

static const luaL_Reg meta[] = {{"__call", call},
                                {"__tostring", tostring},
                                {"__eq", equal},
                                {"__len", bind_no_length},
                                {NULL, NULL}};

/* Functions on coordinates that are methods of a layout as well. */
static const char *const coord_methods[] = {"crd2idx",
                                            "idx2crd",
                                            "slice",
                                            "slice_and_offset",
                                            "dice",
                                            "congruent",
                                            "weakly_congruent",
                                            "compatible",
                                            "evenly_divides",
                                            "select",
                                            "show",
                                            "explain",
                                            "svg",
                                            "latex",
                                            "html",
                                            NULL};

/* Stack: language. Adds `select`, which falls back on the one of the globals. */
static void add_select(lua_State *L) {
  lua_getglobal(L, "select");
  lua_pushcclosure(L, select, 1);
  lua_setfield(L, -2, "select");
}

void bind_open_layout(lua_State *L) {
  luaL_setfuncs(L, makers, 0);
  luaL_setfuncs(L, methods, 0);
  luaL_setfuncs(L, functions, 0);
  add_select(L);
  bind_new_type(L, LAYOUT_TYPE, meta, NULL);
  bind_mark_layout_type(L);
  luaL_getmetatable(L, LAYOUT_TYPE); /* stack: language, metatable */
  luaL_newlib(L, methods);           /* stack: language, metatable, methods */
  luaL_setfuncs(L, own_methods, 0);
  bind_add_functions(L, -3, coord_methods);
  bind_set_index(L, field);
  bind_add_fields(L, field_names);
  lua_pop(L, 1);
}
