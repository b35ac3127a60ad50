/* front_watch.c: Lua functions that a trace reaches without the rewriter's help, because C or the
   virtual machine calls them. Metamethods of tables are replaced, for the time of a trace, by functions
   that convert them; callbacks of Lua's library are converted where they are given; a hook refuses
   any Lua function that is still called unconverted, since control flow on run-time values would silently
   go wrong in it. */
#include <lauxlib.h>
#include <string.h>

#include "interp/state/diag.h"
#include "front_reads.h"
#include "front_parts.h"
#include "interp/trace/front_state.h"
#include "source.h"
#include "interp/state/state.h"
#include "interp/trace/value.h"
#include "front_trace.h"

static char metatables_key; /* registry: metatables that scripts have set, weak */
static char patches_key;    /* registry: list of metatable, event, metamethod, its stand-in, ... */

/* --- coroutines ------------------------------------------------------------------------------------- */

/* One that was not made in this trace has not been converted, or belongs to another one. */
static void watch_resume(lua_State *L, lua_State *co) {
  const Front *f = front_of(L);
  if (f->ir == NULL) {
    return;
  }
  lua_pushthread(co);
  lua_xmove(co, L, 1);
  uint64_t born = front_birth(L, -1);
  lua_pop(L, 1);
  if (born <= f->began) {
    front_refuse(
        L, "a coroutine that was made outside of the kernel is resumed in it; make it inside");
  }
  front_touch(L, born,
              "a coroutine is resumed under a run-time condition; make it under the same "
              "one, or resume it before the 'if'");
}

/* --- calls of unconverted functions ------------------------------------------------------------------ */

int front_fail_unconverted(lua_State *L, const char *what) {
  lua_Debug ar;
  luaL_checkstack(L, 8, NULL);
  for (int level = 0; lua_getstack(L, level, &ar); level++) {
    lua_getinfo(L, "Slf", &ar);
    bool converted = src_is_converted(L, -1);
    lua_pop(L, 1);
    if (converted) {
      lua_pushfstring(L, "%s:%d: %s", ar.short_src, ar.currentline, what);
      return lua_error(L);
    }
  }
  return front_refuse(L, "%s", what);
}

/* A wrapper that source.c loads around a converted function: a chunk named as only such are, but for
   those that a script calls `=name` itself. */
static bool is_wrapper(const lua_Debug *ar) {
  return strcmp(ar->what, "main") == 0 && ar->source[0] == '=';
}

static bool gets_tables(lua_State *L, const lua_Debug *ar) {
  bool does = false;
  for (int n = 1; !does && lua_getlocal(L, ar, n) != NULL; n++) {
    does = lua_istable(L, -1);
    lua_pop(L, 1);
  }
  return does;
}

/* Notes the tables that the function at the top may read by itself. Most functions get none: this is asked first,
   as traces call thousands. */
static void note_tables(lua_State *L, Front *f, const lua_Debug *ar) {
  if (f->ir == NULL || !gets_tables(L, ar)) {
    return;
  }
  front_note_call(L, f, ar, -1);
  if (front_in_loop(f, L)) {
    record_note_call(L, f, ar, front_is_flat(L, -1));
  }
}

/* What was rewritten, and the rewriter's runtime functions, note by themselves what they read. C functions, which are
   most of the others, may be called. */
static void watch_call(lua_State *L, lua_Debug *ar) {
  Front *f = front_of(L);
  lua_getinfo(L, "f", ar);
  bool notes_itself = front_is_runtime(L, f, -1) || src_is_converted(L, -1);
  if (!notes_itself) {
    note_tables(L, f, ar);
  }
  bool passes = notes_itself || lua_iscfunction(L, -1);
  lua_pop(L, 1);
  if (passes || f->ir == NULL || f->n_trusted > 0) {
    return;
  }
  lua_getinfo(L, "Sn", ar);
  if (!diag_is_stdlib(ar->source) && !is_wrapper(ar)) {
    bool is_event = strcmp(ar->namewhat, "metamethod") == 0; /* called without its underscores */
    const char *name =
        ar->name != NULL ? lua_pushfstring(L, is_event ? "'__%s' " : "'%s' ", ar->name) : "";
    front_fail_unconverted(
        L, lua_pushfstring(L,
                           "the function %s(%s:%d) was not converted for the kernel: C code or a "
                           "metatable calls it; call it in the kernel itself or in a helper",
                           name, ar->short_src, ar->linedefined));
  }
}

void front_watch(lua_State *L, bool on) {
  CuttleState *s = state_of(L);
  s->tracing.on_resume = on ? watch_resume : NULL;
  state_watch_calls(s, L, on ? watch_call : NULL);
}

/* Converts the Lua function at idx in its place, where a trace runs. */
static void convert(lua_State *L, const Front *f, int idx) {
  if (f->ir != NULL && f->n_trusted == 0 && lua_isfunction(L, idx)) {
    if (front_convert_function(L, idx, RW_HELPER) != LUA_OK) {
      lua_error(L);
    }
    lua_replace(L, idx);
  }
}

void front_trust(lua_State *L, int by) { front_of(L)->n_trusted += by; }

void front_convert(lua_State *L, int idx) { convert(L, front_of(L), idx); }

/* --- metamethods ------------------------------------------------------------------------------------- */

/* All that Lua or its library calls, but __gc: that runs at any time. `compares`: Lua makes a boolean of
   the result. */
static const struct {
  const char *name;
  bool compares;
} events[] = {
    {"__index", false}, {"__newindex", false}, {"__call", false},  {"__add", false},
    {"__sub", false},   {"__mul", false},      {"__div", false},   {"__mod", false},
    {"__pow", false},   {"__unm", false},      {"__idiv", false},  {"__band", false},
    {"__bor", false},   {"__bxor", false},     {"__shl", false},   {"__shr", false},
    {"__bnot", false},  {"__concat", false},   {"__len", false},   {"__eq", true},
    {"__lt", true},     {"__le", true},        {"__close", false}, {"__tostring", false},
    {"__pairs", false},
};

static int end_metamethod(lua_State *L, int status, lua_KContext event) {
  const Front *f = front_of(L);
  (void)status;
  if (events[event].compares && f->ir != NULL && lua_gettop(L) > 0 &&
      (value_test(L, 1, NULL) || half_test(L, 1) != NULL)) {
    return front_fail_unconverted(
        L, lua_pushfstring(L,
                           "the metamethod %s gives a run-time value, which Lua would turn "
                           "into true or false: the comparison was not converted; write a "
                           "function for it, as in less(a, b)",
                           events[event].name));
  }
  return lua_gettop(L);
}

/* Stands in for a metamethod. Upvalues: the metamethod, the number of its event. */
static int call_metamethod(lua_State *L) {
  lua_KContext event = (lua_KContext)lua_tointeger(L, lua_upvalueindex(2));
  Front *f = front_of(L);
  for (int i = 1; f->ir != NULL && i <= 2; i++) {
    front_note_event(L, f, i, events[event].name);
  }
  lua_pushvalue(L, lua_upvalueindex(1));
  lua_insert(L, 1);
  convert(L, f, 1);
  lua_callk(L, lua_gettop(L) - 1, LUA_MULTRET, event, end_metamethod);
  return end_metamethod(L, LUA_OK, event);
}

/* The function at the top is the script's own and was not converted; or one of C, which the script may replace. */
static bool wants_patch(lua_State *L) {
  lua_Debug ar;
  if (!lua_isfunction(L, -1) || lua_tocfunction(L, -1) == call_metamethod ||
      src_is_converted(L, -1)) {
    return false;
  }
  lua_pushvalue(L, -1);
  lua_getinfo(L, ">S", &ar);
  return !diag_is_stdlib(ar.source);
}

/* Appends metatable, event, original and stand-in; stack: ..., list, original. Pops the original. */
static void patch_event(lua_State *L, int metatable, size_t event) {
  lua_Integer n = (lua_Integer)lua_rawlen(L, -2);
  lua_pushvalue(L, -1);
  lua_pushinteger(L, (lua_Integer)event);
  lua_pushcclosure(L, call_metamethod, 2); /* stack: list, original, stand-in */
  lua_pushvalue(L, metatable);
  lua_rawseti(L, -4, n + 1);
  lua_pushstring(L, events[event].name);
  lua_rawseti(L, -4, n + 2);
  lua_pushvalue(L, -2);
  lua_rawseti(L, -4, n + 3);
  lua_pushvalue(L, -1);
  lua_rawseti(L, -4, n + 4);
  lua_pushstring(L, events[event].name);
  lua_insert(L, -2);
  lua_rawset(L, metatable);
  lua_pop(L, 1);
}

/* For a trace: functions that convert in place of the metamethods of the table at idx. */
static void patch(lua_State *L, int idx) {
  luaL_checkstack(L, 12, NULL);
  lua_rawgetp(L, LUA_REGISTRYINDEX, &patches_key);
  for (size_t i = 0; i < CT_ARRAY_LEN(events); i++) {
    lua_pushstring(L, events[i].name);
    lua_rawget(L, idx);
    if (wants_patch(L)) {
      patch_event(L, idx, i);
    } else {
      lua_pop(L, 1);
    }
  }
  lua_pop(L, 1);
}

void front_patch_metatables(lua_State *L) {
  lua_newtable(L);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &patches_key);
  lua_rawgetp(L, LUA_REGISTRYINDEX, &metatables_key);
  lua_pushnil(L);
  while (lua_next(L, -2) != 0) {
    lua_pop(L, 1);
    patch(L, lua_gettop(L));
  }
  lua_pop(L, 1);
}

/* What a script has changed meanwhile stays. It allocates nothing, so it may run after any error. */
void front_restore_metatables(lua_State *L) {
  if (lua_rawgetp(L, LUA_REGISTRYINDEX, &patches_key) == LUA_TTABLE) {
    for (lua_Integer i = (lua_Integer)lua_rawlen(L, -1) - 3; i > 0; i -= 4) {
      lua_rawgeti(L, -1, i);
      lua_rawgeti(L, -2, i + 1);
      lua_pushvalue(L, -1); /* stack: list, metatable, event, event */
      lua_rawget(L, -3);
      lua_rawgeti(L, -4, i + 3);
      bool is_ours = lua_rawequal(L, -1, -2);
      lua_pop(L, 2);
      lua_rawgeti(L, -3, i + 2); /* stack: list, metatable, event, original */
      if (is_ours) {
        lua_rawset(L, -3);
      }
      lua_settop(L, is_ours ? -2 : -4);
    }
  }
  lua_pop(L, 1);
  lua_pushnil(L);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &patches_key);
}

/* Does a function of the library, which needs no conversion, finish an object that it made? Its births
   are not noted. A table that a script made, or that has a metatable, is none of these. */
static bool is_made_by_library(lua_State *L, const Front *f) {
  if (f->n_trusted == 0 || !lua_istable(L, 1) || !front_is_library_calling(L)) {
    return false;
  }
  bool has_metatable = lua_getmetatable(L, 1) != 0;
  if (has_metatable) {
    lua_pop(L, 1);
  }
  return !has_metatable && front_birth(L, 1) == 0;
}

/* setmetatable(t, metatable), everywhere: notes the metatable. Upvalue 1: Lua's own. */
static int set_metatable(lua_State *L) {
  const Front *f = front_of(L);
  if (f->ir != NULL && !is_made_by_library(L, f)) {
    front_check_change(L, 1);
  }
  luaL_checktype(L, 1, LUA_TTABLE);
  lua_settop(L, 2);
  lua_pushvalue(L, lua_upvalueindex(1));
  lua_insert(L, 1);
  lua_pushvalue(L, 3); /* stack: setmetatable, t, metatable, metatable */
  lua_insert(L, 1);
  lua_call(L, 2, 1); /* stack: metatable, t */
  if (lua_istable(L, 1)) {
    lua_rawgetp(L, LUA_REGISTRYINDEX, &metatables_key);
    lua_pushvalue(L, 1);
    if (lua_rawget(L, -2) == LUA_TNIL) {
      lua_pushvalue(L, 1);
      lua_pushboolean(L, 1);
      lua_rawset(L, -4);
    }
    lua_pop(L, 2);
    if (front_is_tracing(L)) {
      patch(L, 1);
    }
  }
  return 1;
}

/* --- callbacks of Lua's library ------------------------------------------------------------------------ */

/* Each has the original as upvalue 1, and the place of the callback as upvalue 2. */
static int converts_callback(lua_State *L) {
  int place = (int)lua_tointeger(L, lua_upvalueindex(2));
  convert(L, front_of(L), place);
  return standard_call_original(L);
}

/* Stands in for the order of a table.sort: upvalue 1. */
static int compare_static(lua_State *L) {
  lua_pushvalue(L, lua_upvalueindex(1));
  lua_insert(L, 1);
  lua_call(L, lua_gettop(L) - 1, 1);
  if (value_test(L, -1, NULL) || half_test(L, -1) != NULL) {
    return front_fail_unconverted(L, "table.sort cannot order by run-time values; write a sorting "
                                     "network with min and max");
  }
  return 1;
}

static int sorts_table(lua_State *L) {
  front_check_change(L, 1);
  if (lua_isfunction(L, 2)) {
    convert(L, front_of(L), 2);
    lua_pushvalue(L, 2);
    lua_pushcclosure(L, compare_static, 1);
    lua_replace(L, 2);
  } else if (lua_istable(L, 1)) {
    lua_Integer n = luaL_len(L, 1);
    for (lua_Integer i = 1; i <= n; i++) {
      lua_geti(L, 1, i);
      if (value_test(L, -1, NULL)) {
        return front_refuse(L,
                            "table.sort cannot order run-time values; write a sorting network with "
                            "min and max");
      }
      lua_pop(L, 1);
    }
  }
  return standard_call_original(L);
}

/* A module runs on the host: only what is loaded already, or comes with the program. */
static int requires(lua_State *L) {
  const char *name = luaL_checkstring(L, 1);
  luaL_getsubtable(L, LUA_REGISTRYINDEX, LUA_LOADED_TABLE);
  luaL_getsubtable(L, LUA_REGISTRYINDEX, LUA_PRELOAD_TABLE);
  int loaded = lua_getfield(L, -2, name);
  int carried = lua_getfield(L, -2, name);
  if (loaded == LUA_TNIL && carried == LUA_TNIL) {
    return front_refuse(L, "require: '%s' is loaded inside a kernel; load it before the kernel",
                        name);
  }
  lua_settop(L, 1);
  standard_call_original(L);
  lua_pushstring(L, name);
  front_note_loaded(L, front_of(L), -1, 1);
  lua_pop(L, 1);
  return lua_gettop(L);
}

/* getmetatable, and debug.getmetatable, which asks for no __metatable */
static int gets_metatable(lua_State *L) {
  Front *f = front_of(L);
  if (f->ir != NULL && lua_gettop(L) > 0 && !lua_isuserdata(L, 1)) {
    front_note_event(L, f, 1, "__metatable");
  }
  return standard_call_original(L);
}

static int gets_upvalue(lua_State *L) { /* debug.getupvalue */
  if (front_of(L)->ir != NULL && lua_isfunction(L, 1) && lua_isinteger(L, 2)) {
    front_note_upvalue(L, 1, (int)lua_tointeger(L, 2));
  }
  return standard_call_original(L);
}

/* dofile(path): its chunk is a part of the kernel. */
static int does_file(lua_State *L) {
  lua_settop(L, 1);
  lua_getglobal(L, "loadfile");
  lua_insert(L, 1);
  lua_call(L, 1, 2);
  if (lua_isnil(L, 1)) {
    return lua_error(L);
  }
  lua_settop(L, 1);
  convert(L, front_of(L), 1);
  lua_call(L, 0, LUA_MULTRET);
  return lua_gettop(L);
}

static const struct {
  const char *lib, *name;
  lua_CFunction fn;
  int callback; /* place of an argument that is converted */
} replacements[] = {
    {"_G", "require", requires, 0},
    {"_G", "dofile", does_file, 0},
    {"_G", "load", converts_callback, 1},
    {"table", "sort", sorts_table, 0},
    {"string", "gsub", converts_callback, 3},
    {"_G", "getmetatable", gets_metatable, 0},
    {"debug", "getmetatable", gets_metatable, 0},
    {"debug", "getupvalue", gets_upvalue, 0},
};

/* In our own program all metatables are noted; in another's, only those of kernels. */
static void watch_metatables(lua_State *L) {
  if (lua_getglobal(L, "setmetatable") != LUA_TFUNCTION) {
    lua_pop(L, 1);
    return;
  }
  lua_pushvalue(L, -1);
  lua_pushcclosure(L, set_metatable, 1);
  if (state_of(L)->is_module) {
    front_replace(L);
  } else {
    lua_setglobal(L, "setmetatable");
  }
  lua_pop(L, 1);
}

void front_open_watch(lua_State *L) {
  int top = lua_gettop(L);
  lua_newtable(L);
  lua_createtable(L, 0, 1);
  lua_pushliteral(L, "k");
  lua_setfield(L, -2, "__mode");
  lua_setmetatable(L, -2);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &metatables_key);
  watch_metatables(L);
  for (size_t i = 0; i < CT_ARRAY_LEN(replacements); i++) {
    lua_rawgeti(L, LUA_REGISTRYINDEX, LUA_RIDX_GLOBALS);
    if (lua_getfield(L, -1, replacements[i].lib) == LUA_TTABLE &&
        lua_getfield(L, -1, replacements[i].name) == LUA_TFUNCTION) {
      lua_pushvalue(L, -1);
      lua_pushinteger(L, replacements[i].callback);
      lua_pushcclosure(L, replacements[i].fn, 2);
      front_replace(L);
    }
    lua_settop(L, top);
  }
}
