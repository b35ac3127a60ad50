/* front_static.c: static_fn(f), a function that a kernel calls unconverted: plain Lua, while tracing. The
   trace stands still meanwhile: nothing can be recorded, and no call is watched. Comparisons and
   conditions of plain Lua would silently go wrong on run-time values, so such a function must not be
   given any; those that it reaches by ways that are not looked at are foreign to it, as those of a trace
   that has ended. */
#include <lauxlib.h>

#include "interp/algebra/bind.h"
#include "front_parts.h"
#include "interp/trace/front_state.h"
#include "interp/trace/range.h"
#include "interp/state/state.h"
#include "interp/tensor/tensor.h"
#include "interp/openers.h"

enum { MAX_CAPTURED = 4096 }; /* values that are looked at, reached from the function's upvalues */

/* --- looking for run-time values ------------------------------------------------------------------- */

/* Two tables of Lua: what has been seen, and the tables and functions that are still to be opened. */
typedef struct Search {
  int seen, queue; /* stack indices */
  lua_Integer next, n_queued;
  int left; /* values still to be looked at; < 0: all */
} Search;

/* What a message calls the value at idx if it belongs to the trace, else NULL. */
static const char *runtime_kind(lua_State *L, int idx) {
  CtComposed layout;
  const Tensor *t = tensor_peek(L, idx); /* one of another trace is refused where it is used */
  if (value_test(L, idx, NULL) || half_test(L, idx) != NULL) {
    return "a run-time value";
  }
  if (t != NULL && t->in_kernel && t->serial == front_serial(L)) {
    return "a tensor of the kernel";
  }
  if (range_test(L, idx) != NULL) {
    return "a range of the kernel";
  }
  bool is_dynamic = bind_test_composed(L, idx, &layout) && !ct_composed_is_static(&layout);
  return is_dynamic ? "a layout with run-time sizes" : NULL;
}

/* What the library's own functions hold is its own: its tables, and what it knew before the trace. */
static bool is_to_open(lua_State *L, int idx) {
  return lua_istable(L, idx) || (lua_isfunction(L, idx) &&
                                 (lua_iscfunction(L, idx) || !reads_is_library_function(L, idx)));
}

/* Pops a value; returns its kind if it belongs to the trace. Else what it holds will be looked at. */
static const char *look(lua_State *L, Search *s) {
  const char *kind = NULL;
  s->left -= s->left > 0;
  const Box *box = box_test(L, -1);
  if (box != NULL && box->kind != BOX_VAR) { /* a local of the kernel that functions share */
    lua_getiuservalue(L, -1, 1);
    lua_replace(L, -2);
  } else if (box != NULL) {
    kind = "a run-time value";
  }
  kind = kind == NULL ? runtime_kind(L, -1) : kind;
  lua_pushvalue(L, -1);
  if (kind == NULL && (lua_istable(L, -1) || lua_isfunction(L, -1)) &&
      lua_rawget(L, s->seen) == LUA_TNIL) {
    lua_pushvalue(L, -2);
    lua_pushboolean(L, 1);
    lua_rawset(L, s->seen);
    if (is_to_open(L, lua_gettop(L) - 1)) {
      lua_pushvalue(L, -2);
      lua_rawseti(L, s->queue, ++s->n_queued);
    }
  }
  lua_pop(L, 2);
  return kind;
}

static const char *look_into_table(lua_State *L, Search *s, int t) {
  lua_pushnil(L);
  while (s->left != 0 && lua_next(L, t) != 0) {
    const char *kind = look(L, s);
    lua_pushvalue(L, -1);
    kind = kind == NULL ? look(L, s) : kind;
    if (kind != NULL) {
      return kind;
    }
  }
  return NULL;
}

static const char *look_into_function(lua_State *L, Search *s, int f) {
  for (int i = 1; s->left != 0 && lua_getupvalue(L, f, i) != NULL; i++) {
    const char *kind = look(L, s);
    if (kind != NULL) {
      return kind;
    }
  }
  return NULL;
}

/* What can be reached from the values looked at so far, however deep. */
static const char *look_deeper(lua_State *L, Search *s) {
  const char *kind = NULL;
  int top = lua_gettop(L);
  while (kind == NULL && s->next < s->n_queued && s->left != 0) {
    bool is_table = lua_rawgeti(L, s->queue, ++s->next) == LUA_TTABLE;
    kind = (is_table ? look_into_table : look_into_function)(L, s, top + 1);
    lua_settop(L, top);
  }
  return kind;
}

/* Looks at the value at the top, which goes; raises if it, or what it holds, belongs to the trace. */
static void check(lua_State *L, Search *s, const char *what, const char *verb) {
  const char *own = look(L, s);
  const char *inner = own == NULL ? look_deeper(L, s) : NULL;
  if (own != NULL || inner != NULL) {
    front_refuse(L,
                 "static_fn: %s %s %s; the function runs once, while tracing: %s what is known "
                 "then, or call it without static_fn",
                 what, own != NULL ? "is" : "holds", own != NULL ? own : inner, verb);
  }
}

/* Globals and modules are not a function's own. */
static void begin_search(lua_State *L, Search *s) {
  *s = (Search){.seen = lua_gettop(L) + 1, .queue = lua_gettop(L) + 2, .left = -1};
  lua_newtable(L);
  lua_newtable(L);
  lua_pushglobaltable(L);
  lua_pushboolean(L, 1);
  lua_rawset(L, s->seen);
  luaL_getsubtable(L, LUA_REGISTRYINDEX, LUA_LOADED_TABLE);
  lua_pushboolean(L, 1);
  lua_rawset(L, s->seen);
}

/* Raises if the n arguments at 1, or what the script's function (upvalue 1) captured, belong to the trace. */
static void check_static(lua_State *L, int n) {
  Search s;
  const char *name;
  luaL_checkstack(L, LUA_MINSTACK, NULL);
  begin_search(L, &s);
  for (int i = 1; i <= n; i++) {
    const char *what = lua_pushfstring(L, "argument %d", i);
    (void)value_settle(L, i);
    lua_pushvalue(L, i);
    check(L, &s, what, "pass");
    lua_settop(L, s.queue);
  }
  s.left = MAX_CAPTURED;
  bool is_own = reads_is_library_function(L, lua_upvalueindex(1));
  for (int i = 1; !is_own && (name = lua_getupvalue(L, lua_upvalueindex(1), i)) != NULL; i++) {
    const char *what = lua_pushfstring(L, "the function's upvalue '%s'", name);
    lua_insert(L, -2);
    check(L, &s, what, "capture");
    lua_settop(L, s.queue);
  }
  lua_settop(L, n);
}

/* --- calling --------------------------------------------------------------------------------------- */

static int finish(lua_State *L, int status, lua_KContext context) {
  (void)status;
  (void)context;
  return lua_gettop(L);
}

/* Protected: the trace must go on after an error that the kernel catches. */
static int call_in_trace(lua_State *L, Front *f, int n) {
  CuttleState *s = state_of(L);
  const Front before = *f;
  lua_Hook on_call = s->tracing.on_call;
  f->ir = NULL;
  f->serial = 0;
  f->n_static++;
  s->tracing.on_call = NULL;
  int status = lua_pcall(L, n, LUA_MULTRET, 0);
  s->tracing.on_call = on_call;
  state_hook_coroutine(s, L);
  f->ir = before.ir;
  f->serial = before.serial;
  f->n_static = before.n_static;
  f->n_trusted = before.n_trusted;
  return status == LUA_OK ? lua_gettop(L) : lua_error(L);
}

/* What static_fn returns. Upvalue 1: the function. */
static int call_static(lua_State *L) {
  Front *f = front_of(L);
  int n = lua_gettop(L);
  if (f->ir != NULL) {
    check_static(L, n);
    lua_pushvalue(L, lua_upvalueindex(1));
    front_note_host_function(L, -1);
    lua_pop(L, 1);
    for (int i = 1; i <= n; i++) {
      front_note_given(L, i);
    }
  }
  lua_pushvalue(L, lua_upvalueindex(1));
  lua_insert(L, 1);
  if (f->ir != NULL) {
    n = call_in_trace(L, f, n);
    front_note_host_return(L);
    return n;
  }
  lua_callk(L, n, LUA_MULTRET, 0, finish);
  return finish(L, LUA_OK, 0);
}

static int static_fn(lua_State *L) {
  if (!lua_isfunction(L, 1)) {
    return diag_type_error(L, 1, "static_fn", "a function");
  }
  lua_settop(L, 1);
  lua_pushcclosure(L, call_static, 1);
  return 1;
}

void bind_open_static(lua_State *L) {
  lua_pushcfunction(L, static_fn);
  lua_setfield(L, -2, "static_fn");
}
