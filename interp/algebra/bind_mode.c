/* bind_mode.c: modes of a layout given by number or by name, and L:named and L:names, which set and
   tell the names. */
#include <string.h>

#include "bind.h"

/* {====== Modes by number or name ====== */

static void append_number(lua_State *L, int idx, int path[CT_MAX_DEPTH], int *n, const char *op) {
  if (*n == CT_MAX_DEPTH) {
    diag_error(L, "%s: a path of more than %d modes", op, CT_MAX_DEPTH);
  }
  path[(*n)++] = bind_to_index(L, idx, 0, CT_MAX_NODES, op, "mode");
}

static CtModeName to_name(lua_State *L, int idx, const char *op) {
  CtErr err;
  size_t len;
  CtModeName name = 0;
  const char *text = lua_tolstring(L, idx, &len);
  CtStatus st = ct_mode_name_pack(text, len, &name, &err);
  if (st != CT_OK) {
    ct_err_prefix(&err, "%s", op);
    diag_raise(L, &err);
  }
  return name;
}

/* Appends the path from the mode at *path on to the one that the text at idx names. */
static void append_name(lua_State *L, int idx, CtLayout l, int path[CT_MAX_DEPTH], int *n,
                        const char *op) {
  int below[CT_MAX_DEPTH];
  CtModeName name = to_name(L, idx, op);
  CtAlg g = bind_alg(L);
  int n_below = al_find_mode(&g, op, al_mode_at(&g, op, l, *n, path), name, below);
  bind_check(L, &g);
  if (*n + n_below > CT_MAX_DEPTH) {
    diag_error(L, "%s: a path of more than %d modes", op, CT_MAX_DEPTH);
  }
  for (int i = 0; i < n_below; i++) {
    path[(*n)++] = below[i];
  }
}

static void append_item(lua_State *L, int idx, CtLayout l, int path[CT_MAX_DEPTH], int *n,
                        const char *op) {
  if (lua_type(L, idx) == LUA_TSTRING) {
    append_name(L, idx, l, path, n, op);
  } else {
    append_number(L, idx, path, n, op);
  }
}

int bind_to_mode_path(lua_State *L, int first, CtLayout l, int path[CT_MAX_DEPTH], const char *op) {
  int n = 0, n_items = lua_gettop(L) - first + 1;
  if (n_items != 1 || lua_type(L, first) != LUA_TTABLE) {
    for (int i = 0; i < n_items; i++) {
      append_item(L, first + i, l, path, &n, op);
    }
    return n;
  }
  n_items = (int)lua_rawlen(L, first);
  luaL_checkstack(L, 2, NULL);
  for (int i = 0; i < n_items; i++) {
    lua_rawgeti(L, first, i + 1);
    append_item(L, lua_gettop(L), l, path, &n, op);
    lua_pop(L, 1);
  }
  return n;
}

int bind_to_mode(lua_State *L, int idx, const CtCx *cx, CtLayout l, const char *op) {
  if (lua_type(L, idx) != LUA_TSTRING) {
    return bind_to_index(L, idx, 0, CT_MAX_NODES, op, "mode");
  }
  int path[CT_MAX_DEPTH];
  CtModeName name = to_name(L, idx, op);
  CtAlg g = bind_alg(L);
  int n = al_find_mode(&g, op, l, name, path);
  bind_check(L, &g);
  if (n == 0 && ct_is_leaf(l.shape)) {
    return 0;
  }
  if (n != 1) {
    diag_error(L, "%s: '%s' names %s %s; a mode of its top level was expected", op,
               lua_tostring(L, idx), n == 0 ? "the whole of" : "a mode inside a mode of",
               bind_layout_text(cx, l));
  }
  return path[0];
}

/* {====== named ====== */

/* A layout that gets names. */
typedef struct Naming {
  lua_State *L;
  const CtCx *cx;
  CtLayout l;
  CtNode *shape; /* of l: a copy, to be changed */
  int path[CT_MAX_DEPTH];
} Naming;

static CtTuple node_at(const Naming *g, int n) {
  CtTuple t = g->shape;
  for (int i = 0; i < n; i++) {
    t = ct_child(t, g->path[i]);
  }
  return t;
}

typedef struct Names Names;
static void name_modes(Naming *g, int n, const Names *names);
static void name_inside(Naming *g, int n, int table);

/* The value on top of the stack, for the mode at the path of n numbers. */
static void name_mode(Naming *g, int n) {
  lua_State *L = g->L;
  int type = lua_type(L, -1);
  bool takes_away = type == LUA_TBOOLEAN && !lua_toboolean(L, -1);
  if (type == LUA_TSTRING || takes_away) {
    ct_rename_mode(g->shape, n, g->path, takes_away ? 0 : to_name(L, -1, "named"));
  } else if (type == LUA_TTABLE) {
    name_inside(g, n, lua_gettop(L));
  } else if (type != LUA_TNIL && !bind_is_any(L, -1)) {
    diag_error(L,
               "named: %s is not a name; a string was expected, _ to leave a mode as it is, "
               "false to remove its name, or a table for the modes inside it",
               diag_push_kind(L, lua_gettop(L)));
  }
}

static void check_names(const Naming *g, CtTuple t, int i) {
  CtModeName name = ct_own_name(t, i);
  char text[CT_MODE_NAME_MAX + 1];
  for (int k = 0; k < ct_rank(t); k++) {
    if (k != i && name != 0 && ct_own_name(t, k) == name) {
      diag_error(g->L,
                 "named: modes %d and %d of %s would both be '%s'; names on one level must differ",
                 i < k ? i : k, i < k ? k : i, bind_layout_text(g->cx, g->l),
                 ct_mode_name_unpack(name, text));
    }
  }
}

/* The names for the modes of one mode: the values from a stack place on, or the items of a table. */
struct Names {
  int first, table; /* one of them is 0 */
  int count;
};

static void push_item(lua_State *L, const Names *names, int i) {
  if (names->table != 0) {
    lua_rawgeti(L, names->table, i + 1);
  } else {
    lua_pushvalue(L, names->first + i);
  }
}

static void check_count(const Naming *g, CtTuple t, int n, int count) {
  lua_State *L = g->L;
  int rank = ct_rank(t);
  if (count == rank && n < CT_MAX_DEPTH) {
    return;
  }
  const char *of = n == 0 ? "" : lua_pushfstring(L, "%s in ", bind_tuple_text(g->cx, t));
  diag_error(L,
             "named: %d names for %s%s; it has %d modes: give a name for each, _ to leave one "
             "as it is",
             count, of, bind_layout_text(g->cx, g->l), rank);
}

/* Names the modes of the mode at the path of n numbers. */
static void name_modes(Naming *g, int n, const Names *names) {
  lua_State *L = g->L;
  CtTuple t = node_at(g, n);
  check_count(g, t, n, names->count);
  for (int i = 0; i < names->count; i++) {
    push_item(L, names, i);
    g->path[n] = i;
    name_mode(g, n + 1);
    lua_pop(L, 1);
  }
  for (int i = 0; i < names->count; i++) {
    push_item(L, names, i);
    if (lua_type(L, -1) == LUA_TSTRING) {
      check_names(g, t, i);
    }
    lua_pop(L, 1);
  }
}

static void name_inside(Naming *g, int n, int table) {
  luaL_checkstack(g->L, 8, NULL);
  name_modes(g, n, &(Names){.table = table, .count = (int)lua_rawlen(g->L, table)});
}

/* named(L, path, name): a path begins with a number. */
static bool is_path(lua_State *L, int idx) {
  if (lua_type(L, idx) != LUA_TTABLE) {
    return lua_type(L, idx) == LUA_TNUMBER;
  }
  bool is_number = lua_rawgeti(L, idx, 1) == LUA_TNUMBER;
  lua_pop(L, 1);
  return is_number;
}

/* Stack: layout, path, name. */
static void name_at_path(Naming *g) {
  lua_State *L = g->L;
  CtAlg alg = bind_alg(L);
  if (lua_gettop(L) != 3) {
    diag_error(L, "named: a path takes one name, got %d", lua_gettop(L) - 2);
  }
  lua_pushvalue(L, 2);
  int n = bind_to_mode_path(L, 4, g->l, g->path, "named");
  lua_pop(L, 1); /* stack: layout, path, name */
  (void)al_mode_at(&alg, "named", g->l, n, g->path);
  bind_check(L, &alg);
  name_mode(g, n);
  if (lua_type(L, 3) == LUA_TSTRING) {
    check_names(g, node_at(g, n - 1), g->path[n - 1]);
  }
}

/* named(L, name...), one for each mode: a text, _ or nil to leave it as it is, false to take its
   name, a table for the modes inside it; named(L, path, name). */
int bind_named(lua_State *L) {
  CtAlg alg = bind_begin(L);
  CtComposed whole = bind_to_composed(L, 1, &alg.cx, "named");
  Naming g = {.L = L, .cx = &alg.cx, .l = whole.layout};
  CtLayout copy = al_copy(&alg, g.l);
  bind_check(L, &alg);
  g.shape = (CtNode *)(uintptr_t)copy.shape; /* our own copy */
  if (is_path(L, 2)) {
    name_at_path(&g);
  } else {
    name_modes(&g, 0, &(Names){.first = 2, .count = lua_gettop(L) - 1});
  }
  whole = ct_composed_with(&whole, copy);
  bind_push_composed(L, &whole);
  return 1;
}

/* names(L) -> a list: the name of each mode, or false. */
int bind_names(lua_State *L) {
  CtCx cx = bind_enter(L);
  CtTuple shape = bind_to_composed(L, 1, &cx, "names").layout.shape;
  int rank = ct_rank(shape);
  char text[CT_MODE_NAME_MAX + 1];
  lua_createtable(L, rank, 0);
  for (int i = 0; i < rank; i++) {
    CtModeName name = ct_own_name(shape, i);
    if (name != 0) {
      lua_pushstring(L, ct_mode_name_unpack(name, text));
    } else {
      lua_pushboolean(L, 0);
    }
    lua_rawseti(L, -2, i + 1);
  }
  return 1;
}
