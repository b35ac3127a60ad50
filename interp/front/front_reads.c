/* front_reads.c: what a trace read of the host, so that a later launch can tell whether it has changed.

   A *place* is a global, an upvalue of a helper, a field or the length of a table of the host. Tables of the host are
   those that a trace reaches from globals and upvalues, by fields, without leaving Lua: the rewritten code reads
   fields by a runtime function, which notes the place. C functions and those of the standard library get tables
   whole: all that such a table holds counts as read, and what the tables in it hold.

   Places are noted while the trace runs, values when it has ended. What the trace itself assigns is its own, such as
   a counter or a table of results, and is not compared.
   The library's own names are constant, and cost nothing: their places are kept apart, and compared only once
   some chunk was seen to assign such a name (state.h: names_changed).

   Not seen: globals that functions of static_fn read, metamethods and metatables that are replaced, what C functions
   ask the world for, and rawset or computed assignments to names of the library. */
#include <lauxlib.h>
#include <string.h>

#include "interp/state/diag.h"
#include "front_reads.h"
#include "interp/trace/front_state.h"
#include "source.h"
#include "interp/state/standard.h"
#include "interp/state/state.h"
#include "front_parts.h"

/* Tables in the registry:
     places    object -> {key = true}: places read in this trace; false if the trace has written them
     names     the same of names of the library
     written   ids of upvalues that the trace has written
     blind     C functions that look into no table */
static char places_key, names_key, written_key, blind_key;

char front_whole_mark, front_length_mark;

/* --- what belongs to the library ------------------------------------------------------------------- */

static bool is_in(lua_State *L, char *set, int idx) {
  bool is = front_push_entry(L, set, idx) != LUA_TNIL;
  lua_pop(L, 1);
  return is;
}

static bool is_stdlib_function(lua_State *L, int idx) {
  lua_Debug ar;
  if (lua_iscfunction(L, idx)) {
    return true;
  }
  lua_pushvalue(L, idx);
  lua_getinfo(L, ">S", &ar);
  return diag_is_stdlib(ar.source);
}

/* The value at idx, of a field of a table of the library, is what such tables hold. */
static bool is_of_library(lua_State *L, int idx) {
  switch (lua_type(L, idx)) {
    case LUA_TFUNCTION: return is_stdlib_function(L, idx);
    case LUA_TTABLE: return standard_owns(L, idx);
    case LUA_TNUMBER:
    case LUA_TUSERDATA: return true;
    default: return false;
  }
}

static bool is_globals(lua_State *L, int idx) {
  lua_pushglobaltable(L);
  bool is = lua_rawequal(L, -1, idx) != 0;
  lua_pop(L, 1);
  return is;
}

/* --- places ---------------------------------------------------------------------------------------- */

static void add_place(lua_State *L, char *groups, int object, int key) {
  front_push_table(L, groups, object);
  lua_pushvalue(L, key);
  if (lua_rawget(L, -2) == LUA_TNIL) { /* false stays */
    lua_pushvalue(L, key);
    lua_pushboolean(L, 1);
    lua_rawset(L, -4);
  }
  lua_pop(L, 2);
}

static bool is_known(lua_State *L, int idx) { return is_in(L, &places_key, idx); }

/* The table at idx is one of the host. */
static void enter(lua_State *L, Front *f, int idx) {
  idx = lua_absindex(L, idx);
  if (lua_istable(L, idx) && !standard_owns(L, idx) && !is_known(L, idx)) {
    front_push_table(L, &places_key, idx);
    lua_pop(L, 1);
    f->n_host_tables += !is_globals(L, idx);
  }
}

static bool is_key(lua_State *L, int idx) {
  bool is_nan = lua_type(L, idx) == LUA_TNUMBER && !lua_rawequal(L, idx, idx);
  return !lua_isnil(L, idx) && !is_nan;
}

/* Notes the field of the table itself. Pushes its value. */
static void note_raw(lua_State *L, Front *f, int t, int key) {
  lua_pushvalue(L, key);
  lua_rawget(L, t);
  if (standard_owns(L, t)) {
    if (!is_of_library(L, -1)) {
      add_place(L, &places_key, t, key);
    }
  } else if (is_globals(L, t) && standard_is(L, key)) {
    add_place(L, &names_key, t, key);
  } else {
    add_place(L, &places_key, t, key);
    enter(L, f, -1);
  }
}

enum { MAX_INDEX_CHAIN = 100 };

void front_note_field(lua_State *L, Front *f, int t, int key) {
  int top = lua_gettop(L);
  t = lua_absindex(L, t);
  key = lua_absindex(L, key);
  luaL_checkstack(L, 12, NULL);
  if (!is_key(L, key)) {
    return;
  }
  for (int n = 0; n < MAX_INDEX_CHAIN && (is_known(L, t) || standard_owns(L, t)); n++) {
    note_raw(L, f, t, key);
    bool goes_on = lua_isnil(L, -1) && luaL_getmetafield(L, t, "__index") == LUA_TTABLE;
    if (!goes_on) {
      break;
    }
    enter(L, f, -1);
    lua_replace(L, top + 1);
    lua_settop(L, top + 1);
    t = top + 1;
  }
  lua_settop(L, top);
}

void front_note_length(lua_State *L, int t) {
  if (lua_istable(L, t) && is_known(L, t)) {
    t = lua_absindex(L, t);
    lua_pushlightuserdata(L, &front_length_mark);
    add_place(L, &places_key, t, lua_gettop(L));
    lua_pop(L, 1);
  }
}

/* Pops a table of the host; returns whether it was not noted whole before. */
static bool mark_whole(lua_State *L, Front *f) {
  enter(L, f, -1);
  front_push_table(L, &places_key, lua_gettop(L));
  bool is_new = lua_rawgetp(L, -1, &front_whole_mark) == LUA_TNIL;
  if (is_new) {
    lua_pushboolean(L, 1);
    lua_rawsetp(L, -3, &front_whole_mark);
  }
  lua_pop(L, 3);
  return is_new;
}

/* Appends the value at the top, which stays, to the list at `queue` if it is a table to look into. */
static void queue_table(lua_State *L, Front *f, int queue) {
  if (!lua_istable(L, -1) || standard_owns(L, -1) || is_globals(L, lua_gettop(L))) {
    return;
  }
  lua_pushvalue(L, -1);
  if (mark_whole(L, f)) {
    lua_pushvalue(L, -1);
    lua_rawseti(L, queue, (lua_Integer)lua_rawlen(L, queue) + 1);
  }
}

/* All that the table at idx and the tables in it hold is read. */
static void note_whole(lua_State *L, Front *f, int idx) {
  int top = lua_gettop(L);
  luaL_checkstack(L, 16, NULL);
  idx = lua_absindex(L, idx);
  lua_newtable(L);
  lua_pushvalue(L, idx);
  queue_table(L, f, top + 1);
  lua_settop(L, top + 1);
  for (lua_Integer i = 1; lua_rawgeti(L, top + 1, i) == LUA_TTABLE; i++) {
    lua_pushnil(L);
    while (lua_next(L, top + 2) != 0) {
      queue_table(L, f, top + 1);
      lua_pop(L, 1);
    }
    lua_settop(L, top + 1);
  }
  lua_settop(L, top);
}

/* --- what the trace itself changes ----------------------------------------------------------------- */

/* Stack: group. */
static void exclude(lua_State *L, char *special) {
  lua_pushboolean(L, 0);
  lua_rawsetp(L, -2, special);
}

void front_note_change(lua_State *L, int t) {
  if (lua_istable(L, t) && is_known(L, t)) {
    front_push_table(L, &places_key, t);
    exclude(L, &front_length_mark);
    exclude(L, &front_whole_mark);
    lua_pop(L, 1);
  }
}

void front_note_write(lua_State *L, int t, int key) {
  if (lua_istable(L, t) && is_known(L, t) && is_key(L, key)) {
    front_note_change(L, t);
    front_push_table(L, &places_key, t);
    lua_pushvalue(L, key);
    lua_pushboolean(L, 0);
    lua_rawset(L, -3);
    lua_pop(L, 1);
  }
}

/* The rewritten function that runs shares its upvalues with the one of the host: they have one id. */
void front_note_upvalue_write(lua_State *L, const char *name) {
  lua_Debug ar;
  int top = lua_gettop(L);
  if (lua_getstack(L, 1, &ar) != 0 && lua_getinfo(L, "f", &ar) != 0) {
    int i = src_find_upvalue(L, top + 1, name);
    if (i > 0) {
      lua_rawgetp(L, LUA_REGISTRYINDEX, &written_key);
      lua_pushboolean(L, 1);
      lua_rawsetp(L, -2, lua_upvalueid(L, top + 1, i));
    }
  }
  lua_settop(L, top);
}

bool front_is_written(lua_State *L, int fn, int i) {
  lua_rawgetp(L, LUA_REGISTRYINDEX, &written_key);
  bool is = lua_rawgetp(L, -1, lua_upvalueid(L, fn, i)) != LUA_TNIL;
  lua_pop(L, 2);
  return is;
}

/* --- functions ------------------------------------------------------------------------------------- */

/* Notes the globals that the function at fn, which was converted, reads of the table at the top. */
static void note_globals(lua_State *L, Front *f, int fn) {
  int env = lua_gettop(L);
  if (!lua_istable(L, env)) {
    return;
  }
  enter(L, f, env);
  src_push_globals(L, fn);
  if (lua_istable(L, -1)) {
    for (lua_Integer i = 1; lua_rawgeti(L, env + 1, i) == LUA_TSTRING; i++) {
      front_note_field(L, f, env, env + 2);
      lua_settop(L, env + 1);
    }
  }
  lua_settop(L, env);
}

/* A kernel's own upvalues are in the key of the specialisation already. */
static void note_upvalues(lua_State *L, Front *f, int fn, bool is_kernel) {
  const char *name;
  for (int i = 1; (name = lua_getupvalue(L, fn, i)) != NULL; i++) {
    if (strcmp(name, "_ENV") == 0) {
      note_globals(L, f, fn);
    } else {
      enter(L, f, -1);
      lua_pushinteger(L, i);
      if (!is_kernel) {
        add_place(L, &places_key, fn, lua_gettop(L));
      }
      lua_pop(L, 1);
    }
    lua_pop(L, 1);
  }
}

void front_note_host_function(lua_State *L, int fn) {
  Front *f = front_of(L);
  fn = lua_absindex(L, fn);
  const char *name;
  if (is_stdlib_function(L, fn) || is_known(L, fn)) {
    return;
  }
  front_push_table(L, &places_key, fn);
  lua_pop(L, 1);
  for (int i = 1; (name = lua_getupvalue(L, fn, i)) != NULL; i++) {
    if (strcmp(name, "_ENV") != 0) {
      lua_pushinteger(L, i);
      add_place(L, &places_key, fn, lua_gettop(L));
      lua_pop(L, 1);
      note_whole(L, f, -1);
    }
    lua_pop(L, 1);
  }
}

int front_convert_function(lua_State *L, int idx, RwKind kind) {
  Front *f = front_of(L);
  idx = lua_absindex(L, idx);
  luaL_checkstack(L, 16, NULL);
  int status = src_convert(L, idx, kind);
  bool is_new = status == LUA_OK && f->ir != NULL && !lua_iscfunction(L, idx) &&
                !src_is_converted(L, idx) && !is_known(L, idx);
  if (is_new) {
    front_push_table(L, &places_key, idx);
    lua_pop(L, 1);
  }
  if (is_new && !is_stdlib_function(L, idx)) {
    note_upvalues(L, f, idx, kind == RW_KERNEL);
  }
  return status;
}

/* --- calls that leave the rewritten code --------------------------------------------------------------- */

/* A runtime function of the rewriter: it notes by itself. */
bool front_is_runtime(lua_State *L, const Front *f, int fn) {
  bool is = lua_getupvalue(L, fn, 1) != NULL;
  if (is) {
    is = lua_touserdata(L, -1) == f;
    lua_pop(L, 1);
  }
  return is;
}

/* Pushes the n-th argument of the call; false: there is none. */
static bool push_argument(lua_State *L, const lua_Debug *ar, int n) {
  return lua_getlocal(L, ar, n) != NULL;
}

static bool is_host_table(lua_State *L) { return lua_istable(L, -1) && is_known(L, -1); }

/* Does a table of the host go to the function that is called? */
static bool has_host_table(lua_State *L, const lua_Debug *ar) {
  bool has = false;
  for (int n = 1; !has && push_argument(L, ar, n); n++) {
    has = is_host_table(L);
    lua_pop(L, 1);
  }
  return has;
}

void front_note_call(lua_State *L, const lua_Debug *ar, int fn) {
  Front *f = front_of(L);
  fn = lua_absindex(L, fn);
  if (f->ir == NULL || f->n_host_tables == 0 || !has_host_table(L, ar) ||
      !is_stdlib_function(L, fn) || front_is_runtime(L, f, fn) || is_in(L, &blind_key, fn)) {
    return;
  }
  for (int n = 1; push_argument(L, ar, n); n++) {
    if (is_host_table(L)) {
      note_whole(L, f, -1);
    }
    lua_pop(L, 1);
  }
}

/* --- a trace ------------------------------------------------------------------------------------------- */

void front_push_places(lua_State *L, bool of_library) {
  lua_rawgetp(L, LUA_REGISTRYINDEX, of_library ? &names_key : &places_key);
}

void front_begin_reads(lua_State *L, Front *f) {
  f->n_host_tables = 0;
  front_new_table(L, &places_key, NULL);
  front_new_table(L, &names_key, NULL);
  front_new_table(L, &written_key, NULL);
}

void front_forget_reads(lua_State *L) {
  lua_pushnil(L);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &places_key);
  lua_pushnil(L);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &names_key);
  lua_pushnil(L);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &written_key);
}

/* --- opening ------------------------------------------------------------------------------------------- */

/* Tables are asked for no field by these; pcall and xpcall call what is noted itself. */
static const struct {
  const char *lib, *name;
} blind[] = {
    {"_G", "assert"},       {"_G", "error"},         {"_G", "getmetatable"},
    {"_G", "pcall"},        {"_G", "rawequal"},      {"_G", "select"},
    {"_G", "setmetatable"}, {"_G", "type"},          {"_G", "xpcall"},
    {"math", "type"},       {"coroutine", "create"}, {"coroutine", "resume"},
    {"coroutine", "wrap"},  {"coroutine", "yield"},  {"coroutine", "running"},
    {"table", "insert"},    {"table", "pack"},
};

/* Adds the value at the top, popped, to the set. */
static void add_to(lua_State *L, char *set) {
  lua_rawgetp(L, LUA_REGISTRYINDEX, set);
  lua_insert(L, -2);
  lua_pushboolean(L, 1);
  lua_rawset(L, -3);
  lua_pop(L, 1);
}

static void open_blind(lua_State *L) {
  int top = lua_gettop(L);
  for (size_t i = 0; i < CT_ARRAY_LEN(blind); i++) {
    lua_pushglobaltable(L);
    if (lua_getfield(L, -1, blind[i].lib) == LUA_TTABLE &&
        lua_getfield(L, -1, blind[i].name) == LUA_TFUNCTION) {
      front_push_replacement(L, lua_gettop(L));
      add_to(L, &blind_key);
      add_to(L, &blind_key);
    }
    lua_settop(L, top);
  }
}

void front_open_reads(lua_State *L) {
  front_new_table(L, &blind_key, NULL);
  open_blind(L);
}
