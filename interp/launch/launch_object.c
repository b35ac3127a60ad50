/* launch_object.c: what an argument may be beside tensors and numbers: layouts, tuples, tilers, swizzles, element
   types, atoms, texts, and objects of the library that say so by the metafield __constant: tiled copies and tiled
   MMAs. They are constants of the kernel. The key has all that they hold, so equal ones share a specialisation,
   wherever they were made. */
#include <lauxlib.h>
#include <string.h>

#include "interp/algebra/bind.h"
#include "interp/ops/access.h"
#include "launch_key.h"

/* Where the walk over a value puts what it finds: into the key, or beside what the key has. */
typedef struct Walk {
  lua_State *L;
  int kernel;
  LaunchArgs *a; /* of the key; NULL: it is compared */
  const Arg *arg;
  const unsigned char *at; /* what is compared */
  const unsigned char *end;
  bool differs;
} Walk;

static void put(Walk *w, const void *data, size_t bytes) {
  if (w->a != NULL) {
    launch_put(&w->a->key, data, bytes);
    return;
  }
  bool same = bytes <= (size_t)(w->end - w->at) && memcmp(w->at, data, bytes) == 0;
  w->differs = w->differs || !same;
  w->at += same ? bytes : 0;
}

static void put_byte(Walk *w, int byte) {
  const unsigned char b = (unsigned char)byte;
  put(w, &b, 1);
}

/* {====== Values of the language ====== */

static void put_int(Walk *w, CtInt i) {
  put_byte(w, i.kind);
  put_byte(w, i.basis_depth);
  put(w, i.basis, i.basis_depth);
  put(w, &i.v, sizeof i.v);
}

static void put_tuple(Walk *w, CtTuple t) {
  for (uint32_t i = 0; i < t->len; i++) {
    put(w, &t[i].rank, sizeof t[i].rank);
    put(w, &t[i].name, sizeof t[i].name);
    if (t[i].rank == CT_LEAF) {
      put_int(w, t[i].i);
    }
  }
}

static void put_swizzle(Walk *w, CtSwizzle sw) {
  put(w, &sw.bits, sizeof sw.bits);
  put(w, &sw.base, sizeof sw.base);
  put(w, &sw.shift, sizeof sw.shift);
}

static void put_layout_at(Walk *w, int idx) {
  CtComposed c;
  (void)bind_test_composed(w->L, idx, &c);
  put_byte(w, c.is_swizzled);
  if (c.is_swizzled) {
    put_swizzle(w, c.swizzle);
    put_int(w, c.offset);
  }
  put_tuple(w, c.layout.shape);
  put_tuple(w, c.layout.stride);
}

static void put_swizzle_at(Walk *w, int idx) {
  const CtSwizzle *sw = lua_touserdata(w->L, idx);
  put_swizzle(w, *sw);
}

static void put_dtype_at(Walk *w, int idx) {
  CtDtype t = CT_VOID;
  (void)bind_test_dtype(w->L, idx, &t);
  put_byte(w, (int)t);
}

static void put_basis_at(Walk *w, int idx) {
  const CtInt *i = lua_touserdata(w->L, idx);
  put_int(w, *i);
}

static void put_any_at(Walk *w, int idx) { /* there is one */
  (void)w;
  (void)idx;
}

static void put_atom_at(Walk *w, int idx) {
  CtDtype dtype = CT_VOID;
  const CtAtom *atom = bind_test_atom(w->L, idx, &dtype);
  put(w, atom->name, strlen(atom->name) + 1);
  put_byte(w, (int)dtype);
}

typedef struct ObjectType {
  const char *type;
  void (*put)(Walk *w, int idx);
} ObjectType;

static const ObjectType types[] = {{LAYOUT_TYPE, put_layout_at}, {SWIZZLE_TYPE, put_swizzle_at},
                                   {DTYPE_TYPE, put_dtype_at},   {ATOM_TYPE, put_atom_at},
                                   {BASIS_TYPE, put_basis_at},   {ANY_TYPE, put_any_at}};

/* The row of the value's type; -1: it has none. */
static int find_type(lua_State *L, int idx) {
  for (int i = 0; lua_type(L, idx) == LUA_TUSERDATA && i < (int)CT_ARRAY_LEN(types); i++) {
    if (luaL_testudata(L, idx, types[i].type) != NULL) {
      return i;
    }
  }
  return -1;
}

/* {====== Tables ====== */

bool launch_push_next_name(lua_State *L, int idx, int last) {
  const char *after = lua_tostring(L, last), *found = NULL;
  lua_pushnil(L);
  lua_pushnil(L); /* stack: found, key */
  while (lua_next(L, idx) != 0) {
    lua_pop(L, 1);
    const char *name = lua_type(L, -1) == LUA_TSTRING ? lua_tostring(L, -1) : NULL;
    if (name != NULL && (after == NULL || strcmp(name, after) > 0) &&
        (found == NULL || strcmp(name, found) < 0)) {
      found = name;
      lua_pushvalue(L, -1);
      lua_replace(L, -3);
    }
  }
  if (found == NULL) {
    lua_pop(L, 1);
  }
  return found != NULL;
}

static bool is_marked(lua_State *L, int idx) {
  int top = lua_gettop(L);
  bool is = luaL_getmetafield(L, idx, "__constant") != LUA_TNIL;
  lua_settop(L, top);
  return is;
}

/* A table of the script's own class is none, whatever it holds. */
static bool has_class(lua_State *L, int idx) {
  int top = lua_gettop(L);
  bool has = lua_getmetatable(L, idx) != 0 && luaL_getmetatable(L, TUPLE_TYPE) == LUA_TTABLE &&
             !lua_rawequal(L, -1, -2);
  lua_settop(L, top);
  return has;
}

static bool is_part(lua_State *L, int idx, int depth);

/* A table with the keys 1 to n, whose values are parts of tuples and tilers. */
static bool is_tuple(lua_State *L, int idx, int depth) {
  lua_Integer n = (lua_Integer)lua_rawlen(L, idx), n_keys = 0;
  int top = lua_gettop(L);
  bool is = n > 0 && depth < CT_MAX_DEPTH && !has_class(L, idx);
  luaL_checkstack(L, 8, "tables in tables");
  lua_pushnil(L);
  for (; is && lua_next(L, idx) != 0; n_keys++) {
    is = lua_isinteger(L, top + 1) && is_part(L, top + 2, depth + 1);
    lua_settop(L, top + 1);
  }
  lua_settop(L, top);
  return is && n_keys == n;
}

/* An integer, or what stands for a part of a tuple, layout or tiler. */
static bool is_part(lua_State *L, int idx, int depth) {
  switch (lua_type(L, idx)) {
    case LUA_TNUMBER: return lua_isinteger(L, idx);
    case LUA_TSTRING: return true;
    case LUA_TTABLE: return is_marked(L, idx) || is_tuple(L, idx, depth);
    default: return find_type(L, idx) >= 0;
  }
}

static void put_value(Walk *w, int idx, int depth);

static void put_field(Walk *w, int depth) { /* at the top, popped */
  put_value(w, lua_gettop(w->L), depth + 1);
  lua_pop(w->L, 1);
}

/* A tuple or tiler has no names. The metatable, which is the type, lives as long as the specialisation. */
static void put_table(Walk *w, int idx, int depth) {
  lua_State *L = w->L;
  const void *type = NULL;
  lua_Integer n = (lua_Integer)lua_rawlen(L, idx);
  luaL_checkstack(L, 12, "tables in tables");
  if (is_marked(L, idx) && lua_getmetatable(L, idx) != 0) {
    type = lua_topointer(L, -1);
    lua_pop(L, 1);
  }
  put(w, &type, sizeof type);
  put(w, &n, sizeof n);
  for (lua_Integer i = 1; i <= n; i++) {
    lua_rawgeti(L, idx, i);
    put_field(w, depth);
  }
  lua_pushnil(L);
  int last = lua_gettop(L);
  while (launch_push_next_name(L, idx, last)) {
    lua_replace(L, last);
    const char *name = lua_tostring(L, last);
    put(w, name, strlen(name) + 1);
    lua_pushvalue(L, last);
    lua_rawget(L, idx);
    put_field(w, depth);
  }
  lua_pop(L, 1);
  put_byte(w, 0);
}

static void put_plain(Walk *w, int idx) {
  unsigned char key[LAUNCH_CAPTURE_BYTES];
  lua_pushvalue(w->L, idx);
  size_t n = launch_capture_key(w->L, key);
  put(w, key, n);
  lua_pop(w->L, 1);
}

/* What no constant may hold: a function, a tensor; too many tables in tables. */
static void refuse(Walk *w, int idx, int depth) {
  lua_State *L = w->L;
  w->differs = true;
  if (w->at != NULL) {
    return;
  }
  const char *title = launch_push_title(L, w->kernel, w->a, w->arg);
  if (depth > CT_MAX_DEPTH) {
    diag_error(L, "%s is a constant with tables in more than %d others", title, CT_MAX_DEPTH);
  }
  diag_error(
      L, "%s holds %s; a constant of a kernel holds numbers, strings and values such as layouts",
      title, diag_push_kind(L, idx));
}

static void put_value(Walk *w, int idx, int depth) {
  int kind = lua_type(w->L, idx), type = find_type(w->L, idx);
  if (type >= 0) {
    put_byte(w, 'a' + type);
    types[type].put(w, idx);
  } else if (kind == LUA_TNIL) {
    put_byte(w, 'n');
  } else if (kind == LUA_TTABLE && depth <= CT_MAX_DEPTH) {
    put_byte(w, 't');
    put_table(w, idx, depth);
  } else if (kind == LUA_TSTRING || kind == LUA_TNUMBER || kind == LUA_TBOOLEAN) {
    put_byte(w, 'p');
    put_plain(w, idx);
  } else {
    refuse(w, idx, depth);
  }
}

/* {====== Arguments ====== */

/* nil is a constant, too: a parameter that the kernel does without. */
static bool is_object(lua_State *L, int idx) {
  return lua_isnil(L, idx) || (lua_type(L, idx) != LUA_TNUMBER && is_part(L, idx, 0));
}

bool launch_read_object(lua_State *L, int kernel, LaunchArgs *a, Arg *arg, int idx) {
  Walk w = {.L = L, .kernel = kernel, .a = a, .arg = arg};
  if (!is_object(L, idx)) {
    return false;
  }
  arg->kind = ARG_OBJECT;
  arg->key_at = a->key.len;
  launch_put(&a->key, "O", 1);
  put_value(&w, idx, 0);
  arg->key_bytes = a->key.len - arg->key_at;
  a->n_objects++;
  return true;
}

bool launch_object_is(lua_State *L, const LaunchArgs *a, const Arg *arg, int idx) {
  const unsigned char *at = a->key.bytes + arg->key_at;
  Walk w = {.L = L, .at = at + 1, .end = at + arg->key_bytes};
  if (!is_object(L, idx)) {
    return false;
  }
  put_value(&w, idx, 0);
  return !w.differs && w.at == w.end;
}

/* {====== For the trace and for people ====== */

enum { TEXT_MOST = 200 };

void launch_push_given(lua_State *L, const LaunchArgs *a, const Arg *arg) {
  if (arg->idx != 0) {
    lua_pushvalue(L, arg->idx);
  } else {
    lua_rawgeti(L, a->anchor, arg->anchored);
  }
}

/* Pushes the value's text; of one that Lua shows by its address, its type alone: the address differs from run to run,
   and the kernel's text with it, so that no cache would know it. */
static void push_name(lua_State *L, int idx) {
  const void *address = lua_topointer(L, idx);
  const char *text = luaL_tolstring(L, idx, NULL);
  const char *own = address != NULL ? lua_pushfstring(L, ": %p", address) : "";
  size_t n = strlen(text), tail = strlen(own);
  if (tail > 0 && n > tail && strcmp(text + n - tail, own) == 0) {
    lua_pushlstring(L, text, n - tail);
    lua_replace(L, -3);
  }
  lua_pop(L, address != NULL ? 1 : 0);
}

/* Pushes the value's text; a tuple is shown as the language prints it, also if it is a plain table. */
static void push_text(lua_State *L, int idx) {
  luaL_checkstack(L, 8, "tables in tables");
  if (!lua_istable(L, idx) || is_marked(L, idx)) {
    push_name(L, idx);
    return;
  }
  lua_pushliteral(L, "(");
  for (lua_Integer i = 1; i <= (lua_Integer)lua_rawlen(L, idx); i++) {
    lua_pushstring(L, i == 1 ? "" : ",");
    lua_rawgeti(L, idx, i);
    push_text(L, lua_gettop(L));
    lua_remove(L, -2);
    lua_concat(L, 3);
  }
  lua_pushliteral(L, ")");
  lua_concat(L, 2);
}

/* Replaces the text at the top by one line that may stand in a comment of CUDA C. */
static void make_line(lua_State *L) {
  char line[TEXT_MOST];
  const char *text = lua_tostring(L, -1);
  size_t n = 0;
  bool was_space = false;
  for (; *text != '\0' && n + 4 < sizeof line; text++) {
    bool is_space = (unsigned char)*text <= ' ' || *text == '\\';
    if (!is_space || !was_space) {
      line[n++] = is_space ? ' ' : *text;
    }
    was_space = is_space;
  }
  n -= was_space && n > 0;
  lua_pushlstring(L, line, n);
  lua_pushstring(L, *text == '\0' ? "" : "...");
  lua_concat(L, 2);
  lua_remove(L, -2);
}

void launch_push_object_text(lua_State *L, int idx) {
  push_text(L, idx);
  make_line(L);
}

void launch_push_objects(lua_State *L, LaunchArgs *a) {
  lua_pushnil(L);
  int top = lua_gettop(L);
  if (a->n_objects > 0) {
    lua_createtable(L, a->n, 0);
    lua_replace(L, top);
  }
  for (int i = 0; i < a->n && a->n_objects > 0; i++) {
    if (a->args[i].kind == ARG_OBJECT) {
      launch_push_given(L, a, &a->args[i]);
      launch_push_object_text(L, top + 1);
      lua_rawseti(L, top, -(i + 1));
      lua_rawseti(L, top, i + 1);
    }
  }
  a->objects = top;
}

void launch_push_object(lua_State *L, int objects, int i) {
  lua_rawgeti(L, objects, i + 1);
  launch_push_copy(L, -1, launch_push_tensor, NULL);
  lua_remove(L, -2);
}

const char *launch_object_text(lua_State *L, int objects, int i) {
  lua_rawgeti(L, objects, -(i + 1));
  const char *text = lua_tostring(L, -1);
  lua_pop(L, 1);
  return text;
}
