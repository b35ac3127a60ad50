/* launch_reads.c: the values of what a trace read of the host (front_reads.h), kept with the specialisation. A
   launch takes a specialisation only while they all hold, else another one, or traces anew. Values are compared
   as keys are: numbers by value and kind, all else by identity.

   Each object that a trace read is one entry; an entry for each of its places follows. What C needs to know of an
   entry is in the specialisation, so that a launch asks Lua for little more than the values of now. Keys, objects
   and values are in a list in user value 2 of the kernel, two for each entry. */
#include <lauxlib.h>
#include <math.h>

#include "interp/state/diag.h"
#include "interp/front/front_reads.h"
#include "launch.h"

typedef enum ReadKind {
  READ_TABLE,    /* objects: those that follow are of it */
  READ_FUNCTION, /* its places are upvalues */
  READ_WHOLE,    /* a table of which all fields were read; v.i: as many entries follow */
  READ_FIELD,
  READ_LENGTH,
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
};

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
  if (ct_grow(m->state->alloc, &r->items, &r->cap, r->n + 1, sizeof *r->items, &err) != CT_OK) {
    diag_raise(m->L, &err);
  }
  r->items[r->n] = (LaunchRead){.kind = (uint8_t)kind, .type = LUA_TNIL};
  return &r->items[r->n++];
}

/* Keeps key and value of the entry that was added last; they are at the top, popped. */
static void keep(const Maker *m) {
  lua_Integer at = 2 * (lua_Integer)m->out->n;
  if (lua_isnil(m->L, -1)) { /* a list cannot hold it, and the entry says so */
    lua_pop(m->L, 1);
    lua_pushboolean(m->L, 0);
  }
  lua_rawseti(m->L, m->list, at);
  lua_rawseti(m->L, m->list, at - 1);
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

/* Pushes the value of the place whose key is at the top, of the object. */
static void push_value(lua_State *L, ReadKind kind, int object) {
  if (kind == READ_LENGTH) {
    lua_pushinteger(L, (lua_Integer)lua_rawlen(L, object));
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
  bool is_length =
      lua_islightuserdata(L, key) && lua_touserdata(L, key) == (void *)&front_length_mark;
  return is_length ? READ_LENGTH : READ_FIELD;
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
      (is_whole ? add_fields : add_places)(&m);
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

/* --- comparing ------------------------------------------------------------------------------------- */

static bool is_same_number(lua_State *L, const LaunchRead *r) {
  if (lua_isinteger(L, -1)) {
    return r->is_int && lua_tointeger(L, -1) == r->v.i;
  }
  lua_Number n = lua_tonumber(L, -1);
  bool same = n == r->v.n && signbit(n) == signbit(r->v.n); /* 0.0 is not -0.0 */
  return !r->is_int && (same || (isnan(n) && isnan(r->v.n)));
}

/* The value of now is at the top; `at`: the place of the kept one in the list. Long texts of equal contents may lie
   at two places. */
static bool is_same(lua_State *L, const LaunchRead *r, int type, int list, lua_Integer at) {
  if (type != r->type) {
    return false;
  }
  switch (type) {
    case LUA_TNIL: return true;
    case LUA_TNUMBER: return is_same_number(L, r);
    case LUA_TBOOLEAN: return lua_toboolean(L, -1) == (int)r->v.i;
    case LUA_TSTRING: {
      lua_rawgeti(L, list, at);
      bool same = lua_rawequal(L, -1, -2) != 0;
      lua_pop(L, 1);
      return same;
    }
    default: return lua_topointer(L, -1) == r->v.p;
  }
}

/* Pushes the value of now; returns its type. Stack: list, object. */
static int push_now(lua_State *L, const LaunchRead *r, int list, lua_Integer key) {
  if (r->kind == READ_FIELD) {
    lua_rawgeti(L, list, key);
    return lua_rawget(L, list + 1);
  }
  if (r->kind == READ_LENGTH) {
    lua_pushinteger(L, (lua_Integer)lua_rawlen(L, list + 1));
    return LUA_TNUMBER;
  }
  if (lua_getupvalue(L, list + 1, r->upvalue) == NULL) {
    lua_pushnil(L);
  }
  return lua_type(L, -1);
}

/* The n entries from `first` on are the fields of the object. Stack: list, object. */
static bool fields_hold(lua_State *L, const LaunchReads *reads, int list, size_t first, size_t n) {
  size_t i = 0;
  bool holds = true;
  lua_pushnil(L);
  while (holds && lua_next(L, list + 1) != 0) { /* stack: list, object, key, value */
    lua_Integer at = 2 * (lua_Integer)(first + i);
    holds = i < n && is_same(L, &reads->items[first + i], lua_type(L, -1), list, at + 2);
    lua_rawgeti(L, list, at + 1);
    holds = holds && lua_rawequal(L, -1, list + 2);
    lua_settop(L, list + 2);
    i++;
  }
  return holds && i == n;
}

static bool entries_hold(lua_State *L, const LaunchReads *reads, int list) {
  bool holds = true;
  for (size_t i = 0; i < reads->n && holds; i++) {
    const LaunchRead *r = &reads->items[i];
    lua_Integer at = 2 * (lua_Integer)i;
    if (r->kind >= READ_FIELD) {
      holds = is_same(L, r, push_now(L, r, list, at + 1), list, at + 2);
      lua_pop(L, 1);
      continue;
    }
    lua_settop(L, list);
    lua_rawgeti(L, list, at + 1);
    if (r->kind == READ_WHOLE) {
      holds = fields_hold(L, reads, list, i + 1, (size_t)r->v.i);
      i += (size_t)r->v.i;
    }
  }
  return holds;
}

static bool list_holds(lua_State *L, int kernel, const Spec *spec, int which) {
  luaL_checkstack(L, 10, NULL);
  int top = lua_gettop(L);
  lua_getiuservalue(L, kernel, 2);
  lua_rawgeti(L, -1, slot_of(spec, which));
  bool holds = entries_hold(L, &spec->reads[which], top + 2);
  lua_settop(L, top);
  return holds;
}

bool launch_reads_hold(lua_State *L, int kernel, const Spec *spec) {
  if (spec->reads[0].n > 0 && !list_holds(L, kernel, spec, 0)) {
    return false;
  }
  const Kernel *k = lua_touserdata(L, kernel);
  return spec->reads[1].n == 0 || !k->state->names_changed || list_holds(L, kernel, spec, 1);
}
