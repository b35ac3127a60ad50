/* launch_reads.c: what a trace took from the host beside its arguments. What the function captured is part of the key.
   The values of what it read elsewhere (front_reads.h) are kept with the specialisation: a launch takes one only while
   they all hold, else another one, or traces anew. Both are compared by value if they are numbers, mostly by identity
   if not.

   Each object that a trace read is one entry; an entry for each of its places follows. What C needs to know of an
   entry is in the specialisation, so that a launch asks Lua for little more than the values of now. Keys, objects
   and values are in a list in user value 2 of the kernel, two for each entry. */
#include <lauxlib.h>
#include <math.h>
#include <string.h>

#include "interp/state/diag.h"
#include "interp/front/front_reads.h"
#include "launch_key.h"
#include "runtime/device/cache.h"

enum { MAX_TEXT = LAUNCH_CAPTURE_BYTES - 1 - (int)sizeof(size_t) };
_Static_assert(MAX_TEXT >= (int)sizeof(CtHashKey), "the key of a long text fits");

typedef enum ReadKind {
  READ_TABLE,    /* objects: those that follow are of it */
  READ_FUNCTION, /* its places are upvalues */
  READ_WHOLE,    /* a table of which all fields were read; v.i: as many entries follow */
  READ_FIELD,
  READ_LENGTH,
  READ_METATABLE,
  READ_UPVALUE
} ReadKind;

struct LaunchRead {
  uint8_t kind;
  bool is_int; /* of a number */
  int type;    /* Lua's, of the value */
  union {
    lua_Integer i; /* also the number of an upvalue ... */
    lua_Number n;
    const void *p;
  } v;
  int upvalue;
  int at; /* of the key in the list; the value comes next */
};

/* --- what the function captured -------------------------------------------------------------------------------- */

/* Short texts as they are, long ones by their hash. */
static size_t text_key(lua_State *L, unsigned char *out) {
  size_t len;
  const char *text = lua_tolstring(L, -1, &len);
  memcpy(out, &len, sizeof len);
  if (len <= MAX_TEXT) {
    memcpy(out + sizeof len, text, len);
    return sizeof len + len;
  }
  CtHash h;
  ct_hash_init(&h);
  ct_hash_add(&h, text, len);
  CtHashKey key = ct_hash_end(&h);
  memcpy(out + sizeof len, &key, sizeof key);
  return sizeof len + sizeof key;
}

static size_t number_key(lua_State *L, unsigned char *out) {
  if (lua_isinteger(L, -1)) {
    lua_Integer v = lua_tointeger(L, -1);
    out[-1] = 'i';
    memcpy(out, &v, sizeof v);
    return sizeof v;
  }
  lua_Number v = lua_tonumber(L, -1);
  memcpy(out, &v, sizeof v);
  return sizeof v;
}

size_t launch_capture_key(lua_State *L, unsigned char out[LAUNCH_CAPTURE_BYTES]) {
  int type = lua_type(L, -1);
  out[0] = (unsigned char)type;
  if (type == LUA_TNUMBER) {
    return 1 + number_key(L, out + 1);
  }
  if (type == LUA_TSTRING) {
    return 1 + text_key(L, out + 1);
  }
  if (type == LUA_TBOOLEAN) {
    out[1] = (unsigned char)lua_toboolean(L, -1);
    return 2;
  }
  const void *p = lua_topointer(L, -1);
  memcpy(out + 1, &p, sizeof p);
  return 1 + sizeof p;
}

void launch_put_captures(lua_State *L, int kernel, LaunchArgs *a) {
  unsigned char key[LAUNCH_CAPTURE_BYTES];
  lua_getiuservalue(L, kernel, 1);
  for (int i = 1; lua_getupvalue(L, -1, i) != NULL; i++) {
    launch_put(&a->key, key, launch_capture_key(L, key));
    lua_pop(L, 1);
  }
  lua_pop(L, 1);
}

enum { CAPTURES_ON_STACK = 8 };

bool launch_has_captures(lua_State *L, int kernel, const LaunchArgs *a) {
  const unsigned char *at = a->key.bytes + a->captures, *end = at + a->captures_len;
  bool same = true;
  if (at == end) { /* a function never gets upvalues */
    return true;
  }
  lua_getiuservalue(L, kernel, 1);
  int fn = lua_gettop(L);
  for (int i = 1; same && at != end && lua_getupvalue(L, fn, i) != NULL; i++) {
    unsigned char now[LAUNCH_CAPTURE_BYTES];
    size_t n = launch_capture_key(L, now);
    same = n <= (size_t)(end - at) && memcmp(at, now, n) == 0;
    at += n;
    if (i % CAPTURES_ON_STACK == 0) {
      lua_settop(L, fn);
    }
  }
  lua_settop(L, fn - 1);
  return same && at == end;
}

/* --- making ---------------------------------------------------------------------------------------- */

/* What is being made: the list's place on the stack, and the entries. */
typedef struct Maker {
  lua_State *L;
  CuttleState *state;
  int list;
  LaunchReads *out;
} Maker;

static LaunchRead *add(Maker *m, ReadKind kind) {
  LaunchReads *r = m->out;
  CtErr err;
  if (CT_GROW(m->state->alloc, r->items, r->cap, r->n + 1, &err) != CT_OK) {
    diag_raise(m->L, &err);
  }
  r->items[r->n] = (LaunchRead){.kind = (uint8_t)kind, .type = LUA_TNIL, .at = 2 * (int)r->n + 1};
  return &r->items[r->n++];
}

/* Keeps key and value of the entry that was added last; they are at the top, popped. */
static void keep(const Maker *m) {
  int at = m->out->items[m->out->n - 1].at;
  if (lua_isnil(m->L, -1)) { /* a list cannot hold it, and the entry says so */
    lua_pop(m->L, 1);
    lua_pushboolean(m->L, 0);
  }
  lua_rawseti(m->L, m->list, at + 1);
  lua_rawseti(m->L, m->list, at);
}

static void take_value(lua_State *L, LaunchRead *r) { /* at the top */
  r->type = lua_type(L, -1);
  r->is_int = lua_isinteger(L, -1) != 0;
  if (r->is_int) {
    r->v.i = lua_tointeger(L, -1);
  } else if (r->type == LUA_TNUMBER) {
    r->v.n = lua_tonumber(L, -1);
  } else if (r->type == LUA_TBOOLEAN) {
    r->v.i = lua_toboolean(L, -1);
  } else {
    r->v.p = lua_topointer(L, -1);
  }
}

/* Pushes the metatable, or nil; returns its type. */
static int push_metatable(lua_State *L, int object) {
  if (lua_getmetatable(L, object) == 0) {
    lua_pushnil(L);
  }
  return lua_type(L, -1);
}

/* Pushes the value of the place whose key is at the top, of the object. */
static void push_value(lua_State *L, ReadKind kind, int object) {
  if (kind == READ_LENGTH) {
    lua_pushinteger(L, (lua_Integer)lua_rawlen(L, object));
  } else if (kind == READ_METATABLE) {
    push_metatable(L, object);
  } else if (kind == READ_FIELD) {
    lua_pushvalue(L, -1);
    lua_rawget(L, object);
  } else if (lua_getupvalue(L, object, (int)lua_tointeger(L, -1)) == NULL) {
    lua_pushnil(L);
  }
}

static ReadKind kind_of(lua_State *L, int object, int key) {
  if (lua_isfunction(L, object)) {
    return READ_UPVALUE;
  }
  const void *mark = lua_islightuserdata(L, key) ? lua_touserdata(L, key) : NULL;
  if (mark == &front_metatable_mark) {
    return READ_METATABLE;
  }
  return mark == &front_length_mark ? READ_LENGTH : READ_FIELD;
}

/* Stack: ..., key, true or false. */
static bool is_wanted(lua_State *L, int object) {
  return lua_toboolean(L, -1) &&
         (!lua_isfunction(L, object) || !front_is_written(L, object, (int)lua_tointeger(L, -2)));
}

/* The place whose key is at the top, popped. */
static void add_place(Maker *m, int object) {
  lua_State *L = m->L;
  ReadKind kind = kind_of(L, object, -1);
  push_value(L, kind, object);
  LaunchRead *r = add(m, kind);
  take_value(L, r);
  r->upvalue = kind == READ_UPVALUE ? (int)lua_tointeger(L, -2) : 0;
  keep(m);
}

static void add_object(Maker *m, ReadKind kind) {
  add(m, kind);
  lua_pushvalue(m->L, m->list + 1);
  lua_pushnil(m->L);
  keep(m);
}

/* Stack: list, object, group. */
static void add_places(Maker *m) {
  lua_State *L = m->L;
  size_t before = m->out->n;
  add_object(m, lua_isfunction(L, m->list + 1) ? READ_FUNCTION : READ_TABLE);
  lua_pushnil(L);
  while (lua_next(L, m->list + 2) != 0) {
    bool is_listed = is_wanted(L, m->list + 1);
    lua_pop(L, 1);
    if (is_listed) {
      lua_pushvalue(L, -1);
      add_place(m, m->list + 1);
    }
  }
  if (m->out->n == before + 1) {
    m->out->n = before;
  }
}

/* The same for a table that was read whole, in lua_next's order. */
static void add_fields(Maker *m) {
  lua_State *L = m->L;
  size_t at = m->out->n;
  add_object(m, READ_WHOLE);
  lua_pushnil(L);
  while (lua_next(L, m->list + 1) != 0) {
    take_value(L, add(m, READ_FIELD));
    lua_pushvalue(L, -2);
    lua_insert(L, -2);
    keep(m);
  }
  m->out->items[at].v.i = (lua_Integer)(m->out->n - at - 1);
}

/* The metatable of a table that was read whole. Stack: list, object, group. */
static void add_whole(Maker *m) {
  lua_State *L = m->L;
  add_fields(m);
  if (lua_rawgetp(L, m->list + 2, &front_metatable_mark) != LUA_TNIL) {
    add_object(m, READ_TABLE);
    lua_pushlightuserdata(L, &front_metatable_mark);
    add_place(m, m->list + 1);
  }
}

/* Pushes the list of the latest trace's places. */
static void push_list(lua_State *L, CuttleState *s, LaunchReads *out, bool of_library) {
  luaL_checkstack(L, 16, NULL);
  front_push_places(L, of_library);
  Maker m = {.L = L, .state = s, .list = lua_gettop(L) + 1, .out = out};
  lua_newtable(L);
  if (lua_istable(L, m.list - 1)) {
    lua_pushnil(L);
    while (lua_next(L, m.list - 1) != 0) { /* stack: groups, list, object, group */
      lua_rawgetp(L, m.list + 2, &front_whole_mark);
      bool is_whole = lua_toboolean(L, -1) != 0;
      lua_pop(L, 1);
      (is_whole ? add_whole : add_places)(&m);
      lua_settop(L, m.list + 1);
    }
  }
  lua_remove(L, m.list - 1);
}

static lua_Integer slot_of(const Spec *spec, int which) {
  return (lua_Integer)(2 * spec->id) + which;
}

void launch_keep_reads(lua_State *L, int kernel, Spec *spec) {
  const Kernel *k = lua_touserdata(L, kernel);
  lua_getiuservalue(L, kernel, 2);
  for (int i = 0; i < 2; i++) {
    push_list(L, k->state, &spec->reads[i], i == 1);
    lua_rawseti(L, -2, slot_of(spec, i));
  }
  lua_pop(L, 1);
  front_forget_reads(L);
}

void launch_free_reads(CuttleState *s, Spec *spec) {
  for (int i = 0; i < 2; i++) {
    LaunchReads *r = &spec->reads[i];
    ct_free(s->alloc, r->items, r->cap * sizeof *r->items);
    *r = (LaunchReads){0};
  }
}

/* --- comparing -------------------------------------------------------------------------------------
   Each launch comes here. What is pushed stays on the stack, up to PUSHED_AT_ONCE values, since a pop for each costs as
   much as a comparison. */

enum { PUSHED_AT_ONCE = 8 };

static bool is_same_float(lua_Number n, lua_Number was) {
  bool same = n == was && signbit(n) == signbit(was); /* 0.0 is not -0.0 */
  return same || (isnan(n) && isnan(was));
}

/* Long texts of equal contents may lie at two places. */
static bool is_same_text(lua_State *L, const LaunchRead *r, int list) {
  if (lua_topointer(L, -1) == r->v.p) {
    return true;
  }
  lua_rawgeti(L, list, r->at + 1);
  bool same = lua_rawequal(L, -1, -2) != 0;
  lua_pop(L, 1);
  return same;
}

/* What is no integer. */
static bool is_same_other(lua_State *L, const LaunchRead *r, int list) {
  switch (r->type) {
    case LUA_TNIL: return true;
    case LUA_TNUMBER: return !lua_isinteger(L, -1) && is_same_float(lua_tonumber(L, -1), r->v.n);
    case LUA_TBOOLEAN: return lua_toboolean(L, -1) == (int)r->v.i;
    case LUA_TSTRING: return is_same_text(L, r, list);
    default: return lua_topointer(L, -1) == r->v.p;
  }
}

/* The value of now is at the top. */
static inline bool is_same(lua_State *L, const LaunchRead *r, int type, int list) {
  if (type != r->type) {
    return false;
  }
  return r->is_int ? lua_tointeger(L, -1) == r->v.i && lua_isinteger(L, -1)
                   : is_same_other(L, r, list);
}

/* Pushes the value of now; returns its type. Stack: list, object. */
static inline int push_now(lua_State *L, const LaunchRead *r, int list) {
  if (r->kind == READ_FIELD) {
    lua_rawgeti(L, list, r->at);
    return lua_rawget(L, list + 1);
  }
  if (r->kind == READ_LENGTH) {
    lua_pushinteger(L, (lua_Integer)lua_rawlen(L, list + 1));
    return LUA_TNUMBER;
  }
  if (r->kind == READ_METATABLE) {
    return push_metatable(L, list + 1);
  }
  if (lua_getupvalue(L, list + 1, r->upvalue) == NULL) {
    lua_pushnil(L);
  }
  return lua_type(L, -1);
}

/* The places of the object, which are the entries from r on. Returns where they end; NULL: one differs. Stack: list,
   object. */
static const LaunchRead *places_hold(lua_State *L, const LaunchRead *r, const LaunchRead *end,
                                     int list) {
  for (int n = 1; r < end && r->kind >= READ_FIELD; r++, n++) {
    if (!is_same(L, r, push_now(L, r, list), list)) {
      return NULL;
    }
    if (n % PUSHED_AT_ONCE == 0) {
      lua_settop(L, list + 1);
    }
  }
  return r;
}

/* The same for a table of which all fields were read; they are the entries from r up to `end`. */
static const LaunchRead *fields_hold(lua_State *L, const LaunchRead *r, const LaunchRead *end,
                                     int list) {
  lua_pushnil(L);
  for (; lua_next(L, list + 1) != 0; r++) { /* stack: list, object, key, value */
    if (r == end || !is_same(L, r, lua_type(L, -1), list)) {
      return NULL;
    }
    lua_rawgeti(L, list, r->at);
    if (!lua_rawequal(L, -1, list + 2)) {
      return NULL;
    }
    lua_settop(L, list + 2);
  }
  return r == end ? r : NULL;
}

static bool entries_hold(lua_State *L, const LaunchReads *reads, int list) {
  const LaunchRead *r = reads->items, *end = r + reads->n;
  while (r != NULL && r < end) {
    lua_settop(L, list);
    lua_rawgeti(L, list, r->at);
    r = r->kind == READ_WHOLE ? fields_hold(L, r + 1, r + 1 + r->v.i, list)
                              : places_hold(L, r + 1, end, list);
  }
  return r != NULL;
}

static bool list_holds(lua_State *L, int kernel, const Spec *spec, int which) {
  luaL_checkstack(L, PUSHED_AT_ONCE + 8, NULL);
  int top = lua_gettop(L);
  lua_getiuservalue(L, kernel, 2);
  lua_rawgeti(L, -1, slot_of(spec, which));
  bool holds = entries_hold(L, &spec->reads[which], top + 2);
  lua_settop(L, top);
  return holds;
}

bool launch_reads_hold(lua_State *L, int kernel, const Kernel *k, const Spec *spec) {
  if (spec->reads[0].n > 0 && !list_holds(L, kernel, spec, 0)) {
    return false;
  }
  return spec->reads[1].n == 0 || !k->state->names_changed || list_holds(L, kernel, spec, 1);
}
