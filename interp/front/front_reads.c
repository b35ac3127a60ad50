/* front_reads.c: what a trace read of the host, so that a later launch can tell whether it has changed.

   A *place* is a global, an upvalue of a helper, a field, the length or the metatable of a table of the host. Tables
   of the host are those that a trace reaches from globals and upvalues, by fields and metatables, without leaving Lua:
   the rewritten code reads fields by a runtime function, which notes the place. C functions, and those of the standard
   library that run as they are, get tables whole (front_whole.c).

   Places are noted while the trace runs, values when it has ended. What the trace itself assigns is its own, such as
   a counter or a table of results, and is not compared.
   The library's own names are constant, and cost nothing: their places are kept apart, and compared only once
   some chunk was seen to assign such a name (state.h: names_changed).

   Not seen: globals that functions of static_fn read, what C functions ask the world for, and assignments to names of
   the library by rawset, by a computed key or through another name. */
#include <lauxlib.h>
#include <string.h>

#include "interp/state/diag.h"
#include "front_reads.h"
#include "interp/trace/front_state.h"
#include "source.h"
#include "interp/state/standard.h"
#include "interp/state/state.h"
#include "interp/state/state_language.h"
#include "front_parts.h"

/* Tables in the registry:
     places    object -> {key = true}: places read in this trace; false if the trace has written them
     names     the same of names of the library
     noted     functions whose upvalues and globals are noted
     written   ids of upvalues that the trace has written */
static char places_key, names_key, noted_key, written_key;

char front_whole_mark, front_length_mark, front_metatable_mark;

/* --- what belongs to the library ------------------------------------------------------------------- */

bool reads_is_library_function(lua_State *L, int idx) {
  lua_Debug ar;
  if (lua_iscfunction(L, idx)) {
    return true;
  }
  lua_pushvalue(L, idx);
  lua_getinfo(L, ">S", &ar);
  return diag_is_stdlib(ar.source);
}

bool reads_is_globals(lua_State *L, int idx) {
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

bool reads_is_host(lua_State *L, int idx) { return front_has_entry(L, &places_key, idx); }

/* The table at idx is one of the host. */
static void enter(lua_State *L, Front *f, int idx) {
  idx = lua_absindex(L, idx);
  if (lua_istable(L, idx) && !standard_owns(L, idx) && !reads_is_host(L, idx)) {
    front_push_table(L, &places_key, idx);
    lua_pop(L, 1);
    f->n_host_tables += !reads_is_globals(L, idx);
  }
}

static bool is_key(lua_State *L, int idx) {
  bool is_nan = lua_type(L, idx) == LUA_TNUMBER && !lua_rawequal(L, idx, idx);
  return !lua_isnil(L, idx) && !is_nan;
}

/* Notes the field of the table itself, which is of the host or the library's. The value is at the top. */
static void note_raw(lua_State *L, Front *f, int t, int key) {
  bool is_name =
      standard_owns(L, t) ? standard_has(L, t, key) : reads_is_globals(L, t) && standard_is(L, key);
  add_place(L, is_name ? &names_key : &places_key, t, key);
  if (!is_name || !reads_is_globals(L, t)) {
    enter(L, f, -1);
  }
}

/* Pushes the raw field of the value at t, nil if it is no table, and notes the place. */
static void push_field(lua_State *L, Front *f, int t, int key) {
  if (!lua_istable(L, t)) {
    lua_pushnil(L);
    return;
  }
  lua_pushvalue(L, key);
  lua_rawget(L, t);
  if (reads_is_host(L, t) || standard_owns(L, t)) {
    note_raw(L, f, t, key);
  }
}

void front_note_raw(lua_State *L, Front *f, int t, int key) {
  if (lua_istable(L, t) && is_key(L, key)) {
    luaL_checkstack(L, 12, NULL);
    push_field(L, f, lua_absindex(L, t), lua_absindex(L, key));
    lua_pop(L, 1);
  }
}

void reads_push_metatable(lua_State *L, Front *f, int t) {
  bool is_host = reads_is_host(L, t);
  t = lua_absindex(L, t);
  if (is_host && lua_istable(L, t)) {
    lua_pushlightuserdata(L, &front_metatable_mark);
    add_place(L, &places_key, t, lua_gettop(L));
    lua_pop(L, 1);
  }
  if (lua_getmetatable(L, t) == 0) {
    lua_pushnil(L);
  } else if (is_host || !lua_istable(L, t)) { /* that of all texts, say */
    enter(L, f, -1);
  }
}

/* Pushes the field `event` of the metatable of the value at t, and notes both. */
static void push_event(lua_State *L, Front *f, int t, const char *event) {
  reads_push_metatable(L, f, t);
  int metatable = lua_gettop(L);
  lua_pushstring(L, event);
  push_field(L, f, metatable, metatable + 1);
  lua_replace(L, metatable);
  lua_settop(L, metatable);
}

void front_note_event(lua_State *L, Front *f, int t, const char *event) {
  if (lua_istable(L, t)) {
    luaL_checkstack(L, 12, NULL);
    push_event(L, f, lua_absindex(L, t), event);
    lua_pop(L, 1);
  }
}

enum { MAX_INDEX_CHAIN = 100 };

/* Tables that the trace made are no places, but what they inherit from may be. */
void front_note_field(lua_State *L, Front *f, int t, int key) {
  int top = lua_gettop(L);
  t = lua_absindex(L, t);
  key = lua_absindex(L, key);
  luaL_checkstack(L, 16, NULL);
  if (!is_key(L, key) || lua_isuserdata(L, t)) {
    return;
  }
  for (int n = 0; n < MAX_INDEX_CHAIN; n++) {
    push_field(L, f, t, key);
    if (!lua_isnil(L, -1)) {
      break;
    }
    push_event(L, f, t, "__index");
    if (!lua_istable(L, -1)) {
      break;
    }
    lua_replace(L, top + 1);
    lua_settop(L, top + 1);
    t = top + 1;
  }
  lua_settop(L, top);
}

void front_note_length(lua_State *L, Front *f, int t) {
  if (lua_istable(L, t) && reads_is_host(L, t)) {
    t = lua_absindex(L, t);
    lua_pushlightuserdata(L, &front_length_mark);
    add_place(L, &places_key, t, lua_gettop(L));
    lua_pop(L, 1);
  }
  front_note_event(L, f, t, "__len");
}

void reads_mark_whole(lua_State *L, Front *f, int t) {
  t = lua_absindex(L, t);
  enter(L, f, t);
  lua_pushlightuserdata(L, &front_whole_mark);
  add_place(L, &places_key, t, lua_gettop(L));
  lua_pop(L, 1);
}

/* --- what the trace itself changes ----------------------------------------------------------------- */

/* Stack: group. */
static void exclude(lua_State *L, char *special) {
  lua_pushboolean(L, 0);
  lua_rawsetp(L, -2, special);
}

void front_note_change(lua_State *L, int t) {
  if (lua_istable(L, t) && reads_is_host(L, t)) {
    front_push_table(L, &places_key, t);
    exclude(L, &front_length_mark);
    exclude(L, &front_whole_mark);
    lua_pop(L, 1);
  }
}

void front_note_write(lua_State *L, int t, int key) {
  if (lua_istable(L, t) && reads_is_host(L, t) && is_key(L, key)) {
    front_note_change(L, t);
    front_push_table(L, &places_key, t);
    lua_pushvalue(L, key);
    lua_pushboolean(L, 0);
    lua_rawset(L, -3);
    lua_pop(L, 1);
  }
}

void reads_note_written(lua_State *L, int fn, int i) {
  void *id = lua_upvalueid(L, fn, i);
  lua_rawgetp(L, LUA_REGISTRYINDEX, &written_key);
  lua_pushboolean(L, 1);
  lua_rawsetp(L, -2, id);
  lua_pop(L, 1);
}

/* The rewritten function that runs shares its upvalues with the one of the host: they have one id. */
void front_note_upvalue_write(lua_State *L, const char *name) {
  lua_Debug ar;
  int top = lua_gettop(L);
  if (lua_getstack(L, 1, &ar) != 0 && lua_getinfo(L, "f", &ar) != 0) {
    int i = src_find_upvalue(L, top + 1, name);
    if (i > 0) {
      reads_note_written(L, top + 1, i);
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

/* The upvalue i of the function at fn, named `name`, is read; its value is at the top. The one that holds globals is
   replaced as rarely as names of the library are. A kernel's own upvalues are in the key of the specialisation. */
static void note_upvalue(lua_State *L, Front *f, int fn, int i, const char *name, bool is_kernel) {
  bool is_env = strcmp(name, "_ENV") == 0;
  if (is_env) {
    note_globals(L, f, fn);
  } else {
    enter(L, f, -1);
  }
  if (!is_kernel) {
    lua_pushinteger(L, i);
    add_place(L, is_env ? &names_key : &places_key, fn, lua_gettop(L));
    lua_pop(L, 1);
  }
}

void reads_note_function(lua_State *L, Front *f, int fn, bool is_kernel) {
  const char *name;
  for (int i = 1; (name = lua_getupvalue(L, fn, i)) != NULL; i++) {
    note_upvalue(L, f, fn, i, name, is_kernel);
    lua_pop(L, 1);
  }
}

void front_note_upvalue(lua_State *L, int fn, int i) {
  fn = lua_absindex(L, fn);
  luaL_checkstack(L, 12, NULL);
  const char *name = lua_iscfunction(L, fn) ? NULL : lua_getupvalue(L, fn, i);
  if (name != NULL) {
    note_upvalue(L, front_of(L), fn, i, name, false);
    lua_pop(L, 1);
  }
}

/* Was the function not there before? */
static bool is_first(lua_State *L, int fn) {
  bool is = !front_has_entry(L, &noted_key, fn);
  if (is) {
    lua_pushboolean(L, 1);
    front_set_entry(L, &noted_key, fn);
  }
  return is;
}

int front_convert_function(lua_State *L, int idx, RwKind kind) {
  Front *f = front_of(L);
  idx = lua_absindex(L, idx);
  luaL_checkstack(L, 16, NULL);
  int status = src_convert(L, idx, kind);
  bool is_new = status == LUA_OK && f->ir != NULL && !lua_iscfunction(L, idx) &&
                !src_is_converted(L, idx) && is_first(L, idx);
  if (is_new && !reads_is_library_function(L, idx)) {
    reads_note_function(L, f, idx, kind == RW_KERNEL);
  }
  return status;
}

int front_push_library(lua_State *L, const char *module, const char *name) {
  state_push_function(L, module, name);
  if (front_ir(L) == NULL) {
    return LUA_OK;
  }
  int status = front_convert_function(L, -1, RW_HELPER);
  lua_remove(L, -2);
  return status;
}

void front_note_loaded(lua_State *L, Front *f, int name, int module) {
  module = lua_absindex(L, module);
  name = lua_absindex(L, name);
  luaL_checkstack(L, 12, NULL);
  if (!standard_owns(L, module)) {
    luaL_getsubtable(L, LUA_REGISTRYINDEX, LUA_LOADED_TABLE);
    add_place(L, &places_key, lua_gettop(L), name);
    enter(L, f, module);
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
  front_new_table(L, &noted_key, NULL);
  front_new_table(L, &written_key, NULL);
}

void front_forget_reads(lua_State *L) {
  static char *const groups[] = {&places_key, &names_key, &noted_key, &written_key};
  for (size_t i = 0; i < CT_ARRAY_LEN(groups); i++) {
    lua_pushnil(L);
    lua_rawsetp(L, LUA_REGISTRYINDEX, groups[i]);
  }
}
