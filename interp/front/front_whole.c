/* front_whole.c: what functions read that were not rewritten. C functions, and those of the standard library that run
   as they are, get tables whole: all that such a table holds counts as read, what the tables in it hold, and what
   these inherit. A function of the script that runs as it is (static_fn) also calls the functions that it reaches,
   so theirs counts, too. */
#include "front_parts.h"

#include <lauxlib.h>
#include <string.h>

#include "interp/state/standard.h"
#include "interp/trace/front_state.h"
#include "source.h"

/* Tables in the registry:
     shallow   tables of the host that this trace has looked into
     deep      tables and functions of the host that it has, with the functions that they hold
     before    functions that run as they are -> their upvalues before they ran
     blind     C functions that look into no table
     flat      functions of Lua's libraries, which look into no table in a table */
static char shallow_key, deep_key, before_key, blind_key, flat_key;

/* One look. On the stack: the set of tables of the trace that it has met, and the list of what is still to be opened. */
typedef struct Look {
  lua_State *L;
  Front *f;
  const char *seen; /* shallow_key, or deep_key */
  int own, queue;
} Look;

static bool is_made_by_trace(lua_State *L, const Front *f, int idx) {
  return lua_istable(L, idx) && front_birth(L, idx) > f->began;
}

/* Is the object at the top, which stays, met for the first time? */
static bool is_first_of_host(const Look *w) {
  lua_State *L = w->L;
  bool is = !front_has_entry(L, w->seen, lua_gettop(L));
  if (is) {
    lua_pushboolean(L, 1);
    front_set_entry(L, w->seen, lua_gettop(L) - 1);
  }
  return is;
}

/* The same for a table of the trace. It may hold something else later, so only this look remembers it. */
static bool is_first_of_trace(const Look *w) {
  lua_State *L = w->L;
  lua_pushvalue(L, -1);
  bool is = lua_rawget(L, w->own) == LUA_TNIL;
  lua_pop(L, 1);
  if (is) {
    lua_pushvalue(L, -1);
    lua_pushboolean(L, 1);
    lua_rawset(L, w->own);
  }
  return is;
}

/* Is the value at the top, reached from the host or not, to be opened? */
static bool is_to_open(const Look *w, bool of_host) {
  lua_State *L = w->L;
  if (lua_isfunction(L, -1)) {
    return w->seen == &deep_key && is_first_of_host(w);
  }
  bool is_given = lua_gettop(L) == w->queue + 1 && lua_rawequal(L, -1, w->own - 1);
  if (!lua_istable(L, -1) || standard_owns(L, -1) ||
      (reads_is_globals(L, lua_gettop(L)) && !is_given)) {
    return false;
  }
  bool is_host = of_host || reads_is_host(L, -1);
  return is_host ? is_first_of_host(w)
                 : is_made_by_trace(L, w->f, lua_gettop(L)) && is_first_of_trace(w);
}

/* Looks at the value at the top, popped. */
static void look(const Look *w, bool of_host) {
  lua_State *L = w->L;
  if (!is_to_open(w, of_host)) {
    lua_pop(L, 1);
    return;
  }
  if (lua_istable(L, -1) && !is_made_by_trace(L, w->f, lua_gettop(L))) {
    reads_mark_whole(L, w->f, -1);
  }
  lua_rawseti(L, w->queue, (lua_Integer)lua_rawlen(L, w->queue) + 1);
}

/* Do only functions of the standard library stand in the table? Then it makes objects of the library's. */
static bool is_of_library(lua_State *L, int t) {
  bool any = false, all = true;
  lua_pushnil(L);
  while (all && lua_next(L, t) != 0) {
    bool is_function = lua_isfunction(L, -1) != 0;
    any = any || (is_function && !lua_iscfunction(L, -1));
    all = is_function ? reads_is_library_function(L, lua_gettop(L))
                      : !lua_istable(L, -1) || lua_rawequal(L, -1, t);
    lua_pop(L, 1);
  }
  lua_settop(L, t);
  return any && all;
}

static void open_table(const Look *w, int t) {
  lua_State *L = w->L;
  bool of_host = reads_is_host(L, t);
  lua_pushnil(L);
  while (lua_next(L, t) != 0) {
    look(w, of_host);
  }
  reads_push_metatable(L, w->f, t);
  if (lua_istable(L, -1) && is_of_library(L, t + 1)) {
    lua_pop(L, 1);
  } else {
    look(w, of_host);
  }
}

/* Values of the globals that the function is known to read. Stack: the table of them. */
static void look_at_globals(const Look *w, int fn) {
  lua_State *L = w->L;
  int env = lua_gettop(L);
  src_push_globals(L, fn);
  if (lua_istable(L, env) && lua_istable(L, -1)) {
    for (lua_Integer i = 1; lua_rawgeti(L, env + 1, i) == LUA_TSTRING; i++) {
      lua_rawget(L, env);
      look(w, true);
    }
  }
  lua_settop(L, env);
}

/* Keeps the upvalues of the function. */
static void keep_upvalues(lua_State *L, int fn) {
  lua_newtable(L);
  for (int i = 1; lua_getupvalue(L, fn, i) != NULL; i++) {
    lua_rawseti(L, -2, i);
  }
  front_set_entry(L, &before_key, fn);
}

/* The upvalues of the function that have changed are the trace's own. Stack: function, what was kept. */
static void compare_upvalues(lua_State *L) {
  int fn = lua_gettop(L) - 1;
  for (int i = 1; lua_getupvalue(L, fn, i) != NULL; i++) {
    lua_rawgeti(L, fn + 1, i);
    if (!lua_rawequal(L, -1, -2)) {
      reads_note_written(L, fn, i);
    }
    lua_settop(L, fn + 1);
  }
}

void front_note_host_return(lua_State *L) {
  int top = lua_gettop(L);
  luaL_checkstack(L, 10, NULL);
  lua_rawgetp(L, LUA_REGISTRYINDEX, &before_key);
  lua_pushnil(L);
  while (lua_next(L, top + 1) != 0) {
    compare_upvalues(L);
    lua_settop(L, top + 2);
  }
  lua_settop(L, top);
}

/* A closure of C may hold another function, as that of static_fn does. */
static void open_function(const Look *w, int fn) {
  lua_State *L = w->L;
  bool is_c = lua_iscfunction(L, fn);
  if (src_is_converted(L, fn) || (!is_c && reads_is_library_function(L, fn))) {
    return;
  }
  if (!is_c) {
    reads_note_function(L, w->f, fn, false);
    keep_upvalues(L, fn);
  }
  const char *name;
  for (int i = 1; (name = lua_getupvalue(L, fn, i)) != NULL; i++) {
    if (strcmp(name, "_ENV") == 0) {
      look_at_globals(w, fn);
      lua_pop(L, 1);
    } else if (is_c && !lua_isfunction(L, -1)) {
      lua_pop(L, 1);
    } else {
      look(w, true);
    }
  }
}

/* Opens the value at idx and all that it leads to. */
static void look_at(lua_State *L, Front *f, int idx, const char *seen) {
  int top = lua_gettop(L);
  luaL_checkstack(L, 24, NULL);
  lua_pushvalue(L, idx);
  lua_newtable(L);
  lua_newtable(L);
  const Look w = {.L = L, .f = f, .seen = seen, .own = top + 2, .queue = top + 3};
  lua_pushvalue(L, top + 1);
  look(&w, false);
  for (lua_Integer i = 1; lua_rawgeti(L, w.queue, i) != LUA_TNIL; i++) {
    (lua_istable(L, -1) ? open_table : open_function)(&w, w.queue + 1);
    lua_settop(L, w.queue);
  }
  lua_settop(L, top);
}

static void note_whole(lua_State *L, Front *f, int idx) {
  if (lua_istable(L, idx)) {
    look_at(L, f, idx, &shallow_key);
  }
}

void front_note_host_function(lua_State *L, int fn) { look_at(L, front_of(L), fn, &deep_key); }

void front_note_given(lua_State *L, int idx) {
  if (lua_istable(L, idx) || lua_isfunction(L, idx)) {
    look_at(L, front_of(L), idx, &deep_key);
  }
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

/* The value at idx is given to a function of the library. Tables that the trace made are no places; of those in them
   a flat function reads nothing, but what they inherit it does. */
static void note_argument(lua_State *L, Front *f, int idx, bool is_flat) {
  if (!is_flat || !is_made_by_trace(L, f, idx)) {
    note_whole(L, f, idx);
  } else if (lua_getmetatable(L, idx) != 0) {
    note_whole(L, f, -1);
    lua_pop(L, 1);
  }
}

bool front_is_flat(lua_State *L, int fn) {
  return front_has_entry(L, &flat_key, fn) || front_has_entry(L, &blind_key, fn);
}

void front_note_call(lua_State *L, Front *f, const lua_Debug *ar, int fn) {
  fn = lua_absindex(L, fn);
  if (f->n_host_tables == 0 || !reads_is_library_function(L, fn) ||
      front_has_entry(L, &blind_key, fn)) {
    return;
  }
  bool is_flat = front_has_entry(L, &flat_key, fn);
  for (int n = 1; push_argument(L, ar, n); n++) {
    note_argument(L, f, lua_gettop(L), is_flat);
    lua_pop(L, 1);
  }
}

/* --- a trace ------------------------------------------------------------------------------------------- */

void front_begin_whole(lua_State *L) {
  front_new_table(L, &shallow_key, "k");
  front_new_table(L, &deep_key, "k");
  front_new_table(L, &before_key, "k");
}

/* --- opening ------------------------------------------------------------------------------------------- */

/* Tables are asked for no field by these; pcall and xpcall call what is noted itself. */
static const struct {
  const char *lib, *name;
} blind[] = {
    {"_G", "assert"},        {"_G", "error"},         {"_G", "getmetatable"},
    {"_G", "pcall"},         {"_G", "rawequal"},      {"_G", "select"},
    {"_G", "setmetatable"},  {"_G", "type"},          {"_G", "xpcall"},
    {"math", "type"},        {"coroutine", "create"}, {"coroutine", "resume"},
    {"coroutine", "wrap"},   {"coroutine", "yield"},  {"coroutine", "running"},
    {"table", "insert"},     {"table", "pack"},       {"debug", "getmetatable"},
    {"debug", "getupvalue"}, {"_G", "rawget"},        {"_G", "load"},
    {"_G", "rawset"},
};

/* Adds the function at the top, popped, to the set, and what a kernel calls instead: a replacement calls another one, or
   the function, which it has as its first upvalue. */
static void add_to(lua_State *L, char *set) {
  int fn = lua_gettop(L);
  front_push_replacement(L, fn);
  while (lua_iscfunction(L, -1)) {
    lua_pushboolean(L, 1);
    front_set_entry(L, set, lua_gettop(L) - 1);
    if (lua_getupvalue(L, -1, 1) == NULL) {
      break;
    }
  }
  lua_settop(L, fn - 1);
}

static void open_blind(lua_State *L) {
  int top = lua_gettop(L);
  for (size_t i = 0; i < CT_ARRAY_LEN(blind); i++) {
    lua_pushglobaltable(L);
    if (lua_getfield(L, -1, blind[i].lib) == LUA_TTABLE &&
        lua_getfield(L, -1, blind[i].name) == LUA_TFUNCTION) {
      add_to(L, &blind_key);
    }
    lua_settop(L, top);
  }
}

/* Those of the table at the top, popped. */
static void add_library(lua_State *L) {
  int library = lua_gettop(L);
  lua_pushnil(L);
  while (lua_istable(L, library) && lua_next(L, library) != 0) {
    if (lua_isfunction(L, -1)) {
      add_to(L, &flat_key);
    } else {
      lua_pop(L, 1);
    }
  }
  lua_settop(L, library - 1);
}

enum { N_FLAT = 256 }; /* for about so many the set is made */

static void open_flat(lua_State *L) {
  static const char *const libraries[] = {"string",    "table", "math", "utf8",
                                          "coroutine", "io",    "os",   "debug"};
  static const char *const functions[] = {"pairs", "next", "select", "tostring", "rawlen", "print"};
  for (size_t i = 0; i < CT_ARRAY_LEN(libraries); i++) {
    lua_getglobal(L, libraries[i]);
    add_library(L);
  }
  for (size_t i = 0; i < CT_ARRAY_LEN(functions); i++) {
    if (lua_getglobal(L, functions[i]) == LUA_TFUNCTION) {
      add_to(L, &flat_key);
    } else {
      lua_pop(L, 1);
    }
  }
  if (lua_getglobal(L, "ipairs") == LUA_TFUNCTION) { /* and what it returns, which has no name */
    lua_pushvalue(L, -1);
    lua_newtable(L);
    lua_call(L, 1, 1);
    add_to(L, &flat_key);
    add_to(L, &flat_key);
  } else {
    lua_pop(L, 1);
  }
}

void front_open_whole(lua_State *L) {
  front_new_table(L, &blind_key, NULL);
  lua_createtable(L, 0, N_FLAT);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &flat_key);
  open_blind(L);
  open_flat(L);
}
