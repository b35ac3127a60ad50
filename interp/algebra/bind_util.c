/* bind_util.c: Lua values to those of the core and back, for all bindings. */
#include "bind.h"

#include <string.h>

#include "interp/trace/front.h"
#include "interp/state/state.h"
#include "interp/trace/value.h"

/* {====== Context ====== */

CtCx bind_cx(lua_State *L) { return (CtCx){.arena = &state_of(L)->scratch, .dyn = front_dyn(L)}; }

CtCx bind_enter(lua_State *L) {
  CtCx cx = bind_cx(L);
  ct_arena_reset(cx.arena);
  return cx;
}

CtAlg bind_alg(lua_State *L) {
  CtCx cx = bind_cx(L);
  return al_begin(&cx, diag_err(L));
}

CtAlg bind_begin(lua_State *L) {
  CtCx cx = bind_enter(L);
  return al_begin(&cx, diag_err(L));
}

void bind_check(lua_State *L, const CtAlg *g) { diag_check(L, g->status, g->err); }

/* An allocator over the scratch arena: nothing is freed before the next binding, and so nothing is
   lost when Lua jumps. */
static void *arena_alloc(void *arena, void *ptr, size_t old_bytes, size_t new_bytes) {
  void *p = new_bytes == 0 ? NULL : ct_arena_alloc(arena, new_bytes);
  if (p != NULL && ptr != NULL) {
    memcpy(p, ptr, old_bytes < new_bytes ? old_bytes : new_bytes);
  }
  return p;
}

void bind_text_init(CtText *t, const CtCx *cx) {
  ct_text_init(t, (CtAlloc){arena_alloc, cx->arena});
}

static void *must_alloc(lua_State *L, const CtCx *cx, size_t bytes) {
  void *p = ct_arena_alloc(cx->arena, bytes);
  if (p == NULL) {
    diag_error(L, "not enough memory");
  }
  return p;
}

/* {====== Integers ====== */

#define INT_EXPECTED "an integer was expected"

/* The algebra counts with i32 and i64. */
static CtDtype index_type(const CtInst *inst) {
  if (!ct_is_unsigned((CtDtype)inst->type)) {
    return ct_dtype_compute((CtDtype)inst->type);
  }
  return inst->facts.lo >= 0 && inst->facts.hi <= INT32_MAX ? CT_i32 : CT_i64;
}

/* A run-time value as an integer of the algebra. */
static bool test_runtime(lua_State *L, int idx, const char *op, CtInt *out) {
  CtVal v;
  if (lua_type(L, idx) != LUA_TUSERDATA || !value_test(L, idx, &v)) {
    return false;
  }
  CtIr *ir = front_ir(L);
  CtDtype type = (CtDtype)ct_inst(ir, v)->type;
  if (!ct_is_int(type)) {
    diag_error(L, "%s: a run-time value of type %s is not an integer; cast it with i32(x)%s", op,
               ct_dtypes[type].name, ct_is_float(type) ? ", or write // for /" : "");
  }
  *out = ct_ir_int(ir, ct_ir_cast(ir, v, index_type(ct_inst(ir, v))));
  return true;
}

bool bind_test_int(lua_State *L, int idx, const char *op, CtInt *out) {
  int is_int;
  if (lua_type(L, idx) == LUA_TNUMBER) {
    *out = ct_int(lua_tointegerx(L, idx, &is_int));
    if (!is_int) {
      diag_error(L, "%s: %s is not an integer; " INT_EXPECTED, op, luaL_tolstring(L, idx, NULL));
    }
    return true;
  }
  const CtInt *basis = luaL_testudata(L, idx, BASIS_TYPE);
  if (basis != NULL) {
    *out = *basis;
    return true;
  }
  return test_runtime(L, idx, op, out);
}

CtInt bind_to_int(lua_State *L, int idx, const char *op) {
  CtInt i = ct_int(0);
  if (!bind_test_int(L, idx, op, &i)) {
    diag_type_error(L, idx, op, "an integer");
  }
  return i;
}

int64_t bind_to_static(lua_State *L, int idx, const char *op) {
  CtInt i = bind_to_int(L, idx, op);
  if (!ct_is_static(i) || i.basis_depth > 0) {
    diag_error(L,
               "%s: argument %d is known only at run time; a number known while tracing was "
               "expected",
               op, idx);
  }
  return i.v;
}

int bind_to_index(lua_State *L, int idx, int lo, int hi, const char *op, const char *what) {
  int64_t i = bind_to_static(L, idx, op);
  if (i < lo || i > hi) {
    diag_error(L, "%s: %s %I is out of range; %d to %d were expected", op, what, (LUAI_UACINT)i, lo,
               hi);
  }
  return (int)i;
}

int bind_to_option(lua_State *L, int idx, int lo, int hi, const char *op, const char *name) {
  int is_int = 0;
  (void)value_settle(L, idx);
  lua_Integer i = lua_type(L, idx) == LUA_TNUMBER ? lua_tointegerx(L, idx, &is_int) : 0;
  if (!is_int || i < lo || i > hi) {
    bool is_number = lua_type(L, idx) == LUA_TNUMBER;
    diag_error(L, "%s: %s is %s; an integer from %d to %d was expected", op, name,
               is_number ? luaL_tolstring(L, idx, NULL) : diag_push_kind(L, idx), lo, hi);
  }
  return (int)i;
}

/* {====== Tuples ====== */

#define TUPLE_EXPECTED "an integer, a table of them, a string like \"(4,(2,3))\" or _"

/* An argument that is read as a tuple. */
typedef struct TupleArg {
  const CtCx *cx;
  const char *op;
  int arg;
  bool is_shape; /* texts in it may have names */
} TupleArg;

static CtTuple to_tuple(lua_State *L, int idx, const TupleArg *a, int depth);

/* A table without a first element is () only when it is empty. */
static void check_empty(lua_State *L, int idx, const char *op) {
  lua_pushnil(L);
  if (lua_next(L, idx) != 0) {
    const char *key = luaL_tolstring(L, -2, NULL);
    bool is_name = ct_mode_name_fault(key, strlen(key)) == NULL;
    diag_error(L, "%s: a table with the key '%s' is not a tuple; {4, {2, 3}} is one%s", op, key,
               is_name ? ", and layout{4, 8}:named(\"M\", \"K\") has names" : "");
  }
}

static CtTuple no_memory(lua_State *L, const char *op) {
  diag_error(L, "%s: not enough memory", op);
  return NULL;
}

/* The tuple of these: argument `arg`, or a coordinate of several, 0. */
static CtTuple join(lua_State *L, const CtCx *cx, int n, const CtTuple *items, const char *op,
                    int arg) {
  size_t len = 1; /* nodes, as ct_tuple counts them */
  for (int i = 0; i < n; i++) {
    len += items[i]->len;
  }
  if (len > CT_MAX_NODES && arg == 0) {
    diag_error(L, "%s: a coordinate of more than %d integers", op, CT_MAX_NODES - 1);
  } else if (len > CT_MAX_NODES) {
    diag_error(L, "%s: argument %d is a tuple of more than %d integers", op, arg, CT_MAX_NODES - 1);
  }
  CtTuple t = ct_tuple(cx->arena, n, items);
  return t != NULL ? t : no_memory(L, op);
}

static CtTuple table_to_tuple(lua_State *L, int idx, const TupleArg *a, int depth) {
  lua_Unsigned n = lua_rawlen(L, idx);
  if (n == 0) {
    check_empty(L, idx, a->op);
  }
  if (n > CT_MAX_NODES || depth >= CT_MAX_DEPTH) {
    diag_error(L, "%s: argument %d is a tuple of more than %d integers or %d levels", a->op, a->arg,
               CT_MAX_NODES, CT_MAX_DEPTH);
  }
  luaL_checkstack(L, 4, NULL);
  CtTuple *items = must_alloc(L, a->cx, (size_t)n * sizeof(CtTuple) + 1);
  for (lua_Unsigned i = 0; i < n; i++) {
    lua_rawgeti(L, idx, (lua_Integer)i + 1);
    items[i] = to_tuple(L, lua_gettop(L), a, depth + 1);
    lua_pop(L, 1);
  }
  return join(L, a->cx, (int)n, items, a->op, a->arg);
}

static CtTuple text_to_tuple(lua_State *L, int idx, const TupleArg *a) {
  CtErr err;
  size_t len;
  CtTuple t;
  const char *text = lua_tolstring(L, idx, &len);
  CtStatus st = a->is_shape ? ct_shape_parse(a->cx->arena, text, len, &t, &err)
                            : ct_tuple_parse(a->cx->arena, text, len, &t, &err);
  diag_check(L, st, &err);
  return t;
}

static CtTuple not_a_tuple(lua_State *L, int idx, const TupleArg *a, int depth) {
  if (luaL_testudata(L, idx, INDEX_TYPE) != NULL) {
    const char *name = luaL_tolstring(L, idx, NULL);
    diag_error(L, "%s: %s has three axes; write %s.x", a->op, name, name);
  }
  if (depth == 0 && a->arg != idx) {
    diag_kind_error(L, idx, a->arg, a->op, TUPLE_EXPECTED);
  } else if (depth == 0) {
    diag_type_error(L, idx, a->op, TUPLE_EXPECTED);
  }
  diag_error(L, "%s: argument %d has %s in it; integers were expected", a->op, a->arg,
             diag_push_kind(L, idx));
  return NULL;
}

static CtTuple to_tuple(lua_State *L, int idx, const TupleArg *a, int depth) {
  CtInt i;
  CtTuple t;
  switch (lua_type(L, idx)) {
    case LUA_TTABLE: t = table_to_tuple(L, idx, a, depth); break;
    case LUA_TSTRING: t = text_to_tuple(L, idx, a); break;
    default:
      if (bind_test_int(L, idx, a->op, &i)) {
        t = ct_leaf(a->cx->arena, i);
      } else if (bind_is_any(L, idx)) {
        t = ct_leaf(a->cx->arena, ct_any());
      } else {
        return not_a_tuple(L, idx, a, depth);
      }
  }
  return t != NULL ? t : no_memory(L, a->op);
}

CtTuple bind_to_tuple(lua_State *L, int idx, const CtCx *cx, const char *op) {
  idx = lua_absindex(L, idx);
  return to_tuple(L, idx, &(TupleArg){cx, op, idx, false}, 0);
}

CtTuple bind_to_shape(lua_State *L, int idx, const CtCx *cx, const char *op) {
  idx = lua_absindex(L, idx);
  return to_tuple(L, idx, &(TupleArg){cx, op, idx, true}, 0);
}

CtTuple bind_opt_tuple(lua_State *L, int idx, const CtCx *cx, const char *op) {
  return lua_isnoneornil(L, idx) ? NULL : bind_to_tuple(L, idx, cx, op);
}

CtTuple bind_to_coord(lua_State *L, int first, const CtCx *cx, const char *op) {
  int n = lua_gettop(L) - first + 1;
  TupleArg a = {cx, op, 1, false}; /* the object that is called is no argument */
  if (n == 1) {
    return to_tuple(L, first, &a, 0);
  }
  if (n < 1) {
    diag_error(L, "%s: a coordinate is missing; write an integer or table for each mode", op);
  }
  CtTuple *items = must_alloc(L, cx, (size_t)n * sizeof(CtTuple));
  for (int i = 0; i < n; i++) {
    a.arg = i + 1;
    items[i] = to_tuple(L, first + i, &a, 0);
  }
  return join(L, cx, n, items, op, 0);
}

bool bind_is_inside(CtTuple crd, CtTuple shape) {
  if (!ct_is_leaf(crd)) {
    if (ct_is_leaf(shape) || crd->rank != shape->rank) {
      return true;
    }
    CtTuple s = ct_first(shape);
    for (CtTuple c = ct_first(crd); c != ct_end(crd); c = ct_next(c), s = ct_next(s)) {
      if (!bind_is_inside(c, s)) {
        return false;
      }
    }
    return true;
  }
  CtAlg g = {.status = CT_OK};
  if (!ct_is_static(crd->i) || !ct_all_static(shape)) {
    return true;
  }
  CtInt n = al_product(&g, shape);
  return al_ok(&g) && crd->i.v >= 0 && crd->i.v < n.v;
}

/* {====== Tilers ====== */

static CtTiler to_tiler(lua_State *L, int idx, const CtCx *cx, const char *op, int depth);

static CtTiler table_to_tiler(lua_State *L, int idx, const CtCx *cx, const char *op, int depth) {
  lua_Unsigned n = lua_rawlen(L, idx);
  if (n == 0) {
    check_empty(L, idx, op);
  }
  if (n > CT_MAX_NODES || depth >= CT_MAX_DEPTH) {
    diag_error(L, "%s: a tiler of more than %d modes or %d levels", op, CT_MAX_NODES, CT_MAX_DEPTH);
  }
  luaL_checkstack(L, 4, NULL);
  CtTiler *items = must_alloc(L, cx, (size_t)n * sizeof *items + 1);
  for (lua_Unsigned i = 0; i < n; i++) {
    lua_rawgeti(L, idx, (lua_Integer)i + 1);
    items[i] = to_tiler(L, lua_gettop(L), cx, op, depth + 1);
    lua_pop(L, 1);
  }
  return (CtTiler){.kind = CT_TILER_TUPLE, .n = (int)n, .items = items};
}

static CtTiler text_to_tiler(lua_State *L, int idx, const CtCx *cx) {
  CtErr err;
  CtTiler t;
  size_t len;
  const char *text = lua_tolstring(L, idx, &len);
  diag_check(L, ct_tiler_parse(cx->arena, text, len, &t, &err), &err);
  return t;
}

static CtTiler int_to_tiler(lua_State *L, CtInt i, const CtCx *cx) {
  CtAlg g = al_begin(cx, diag_err(L));
  CtTiler t = al_tiler(&g, al_leaf(&g, i));
  bind_check(L, &g);
  return t;
}

static CtTiler to_tiler(lua_State *L, int idx, const CtCx *cx, const char *op, int depth) {
  CtComposed c;
  CtInt i;
  if (bind_test_composed(L, idx, &c)) {
    bind_check_plain(L, cx, &c, op);
    return (CtTiler){.kind = CT_TILER_LAYOUT, .layout = c.layout};
  }
  if (bind_is_any(L, idx)) {
    return (CtTiler){.kind = CT_TILER_ANY};
  }
  if (lua_type(L, idx) == LUA_TTABLE) {
    return table_to_tiler(L, idx, cx, op, depth);
  }
  if (lua_type(L, idx) == LUA_TSTRING) {
    return text_to_tiler(L, idx, cx);
  }
  if (bind_test_int(L, idx, op, &i)) {
    return int_to_tiler(L, i, cx);
  }
  if (depth > 0) {
    diag_error(L, "%s: a tiler has %s in it; integers and layouts were expected", op,
               diag_push_kind(L, idx));
  }
  diag_type_error(L, idx, op, "a tiler: an integer, a table of tilers, a layout, a string or _");
  return (CtTiler){.kind = CT_TILER_ANY};
}

CtTiler bind_to_tiler(lua_State *L, int idx, const CtCx *cx, const char *op) {
  return to_tiler(L, lua_absindex(L, idx), cx, op, 0);
}

/* {====== Mode paths ====== */

int bind_to_path(lua_State *L, int first, int path[CT_MAX_DEPTH], const char *op) {
  int n = lua_gettop(L) - first + 1;
  bool is_table = n == 1 && lua_type(L, first) == LUA_TTABLE;
  n = is_table ? (int)lua_rawlen(L, first) : n;
  if (n > CT_MAX_DEPTH) {
    diag_error(L, "%s: a path of %d modes is too long; at most %d were expected", op, n,
               CT_MAX_DEPTH);
  }
  luaL_checkstack(L, 2, NULL);
  for (int i = 0; i < n; i++) {
    if (is_table) {
      lua_rawgeti(L, first, i + 1);
      path[i] = bind_to_index(L, -1, 0, CT_MAX_NODES, op, "mode");
      lua_pop(L, 1);
    } else {
      path[i] = bind_to_index(L, first + i, 0, CT_MAX_NODES, op, "mode");
    }
  }
  return n < 0 ? 0 : n;
}

/* {====== To Lua ====== */

static void push_basis(lua_State *L, CtInt i) {
  CtInt *basis = lua_newuserdatauv(L, sizeof *basis, 0);
  *basis = i;
  luaL_setmetatable(L, BASIS_TYPE);
}

void bind_push_int(lua_State *L, CtInt i) {
  if (i.kind == CT_ANY) {
    bind_push_any(L);
  } else if (i.basis_depth > 0) {
    push_basis(L, i);
  } else if (i.kind == CT_DYNAMIC) {
    value_push(L, i.id);
  } else {
    lua_pushinteger(L, i.v);
  }
}

int bind_return_int(lua_State *L, const CtAlg *g, CtInt i) {
  bind_check(L, g);
  bind_push_int(L, i);
  return 1;
}

void bind_push_tuple(lua_State *L, CtTuple t) {
  lua_Integer n = 0;
  if (ct_is_leaf(t)) {
    bind_push_int(L, t->i);
    return;
  }
  luaL_checkstack(L, 4, NULL);
  lua_createtable(L, t->rank, 0);
  for (CtTuple c = ct_first(t); c != ct_end(t); c = ct_next(c)) {
    bind_push_tuple(L, c);
    lua_rawseti(L, -2, ++n);
  }
  luaL_setmetatable(L, TUPLE_TYPE);
}

static int push_text(lua_State *L) { /* light userdata: CtText */
  CtText *t = lua_touserdata(L, 1);
  lua_pushlstring(L, ct_text_str(t), t->len);
  return 1;
}

/* Protected: the text is freed also where Lua has no memory for it. */
void bind_push_text(lua_State *L, CtText *t) {
  CtErr err;
  CtStatus st = ct_text_status(t, &err);
  int pushed = LUA_OK;
  if (st == CT_OK) {
    lua_pushcfunction(L, push_text);
    lua_pushlightuserdata(L, t);
    pushed = lua_pcall(L, 1, 1, 0);
  }
  ct_text_clear(t);
  diag_check(L, st, &err);
  if (pushed != LUA_OK) {
    lua_error(L);
  }
}

bool bind_is_compact(const CtCx *cx, CtLayout layout, int64_t *size) {
  CtLayout inverse;
  CtInt n, m;
  CtErr err;
  bool has_size = ct_size(cx, layout, &n, &err) == CT_OK;
  *size = has_size ? n.v : 0;
  if (has_size && (n.v <= 1 || (ct_is_leaf(layout.shape) && layout.stride->i.v == 1))) {
    return true;
  }
  return has_size && ct_right_inverse(cx, layout, &inverse, &err) == CT_OK &&
         ct_size(cx, inverse, &m, &err) == CT_OK && m.v == n.v;
}

CtInt bind_mode_size(lua_State *L, const CtCx *cx, CtLayout l, int mode) {
  CtAlg g = al_begin(cx, diag_err(L));
  CtInt n = al_size(&g, ct_mode(l, mode));
  bind_check(L, &g);
  return n;
}

/* {====== Text for messages ====== */

const char *bind_layout_text(const CtCx *cx, CtLayout l) {
  CtText t;
  bind_text_init(&t, cx);
  ct_layout_print(cx, l, &t);
  return t.failed ? "?" : ct_text_str(&t);
}

const char *bind_composed_text(const CtCx *cx, const CtComposed *c) {
  CtText t;
  bind_text_init(&t, cx);
  ct_composed_print(cx, c, &t);
  return t.failed ? "?" : ct_text_str(&t);
}

const char *bind_tuple_text(const CtCx *cx, CtTuple tuple) {
  CtText t;
  bind_text_init(&t, cx);
  ct_tuple_print(cx, tuple, &t);
  return t.failed ? "?" : ct_text_str(&t);
}
