/* bind_trace.c: what the module cuttle.trace is made of: a launch on the CPU engine that finds out how one
   element came about (runtime/simt_trace.h). The names begin with `_`: they are not the language's. */
#include <lauxlib.h>

#include "bind.h"
#include "launch.h"
#include "runtime/simt_trace.h"

#define HOLDER_TYPE "trace"
enum { MAX_RECORD = 1 << 30 };

/* Keeps the watcher apart from what may raise. */
typedef struct Holder {
  CtSimtTrace *trace;
  CuttleState *state;
} Holder;

static int holder_close(lua_State *L) {
  Holder *h = luaL_checkudata(L, 1, HOLDER_TYPE);
  if (h->trace != NULL && h->state->watch == ct_simt_trace_watch(h->trace)) {
    h->state->watch = NULL;
  }
  ct_simt_trace_close(h->trace);
  h->trace = NULL;
  return 0;
}

static void push_row(lua_State *L, const CtSimtProgram *p, const CtTraceRow *row) {
  static const char *const kinds[] = {"reads", "writes", "computes"};
  static const char *const spaces[] = {"global", "shared", "register"};
  CtTracePlace at = ct_simt_trace_place(p, row);
  lua_createtable(L, 0, 9);
  lua_pushstring(L, kinds[row->kind]);
  lua_setfield(L, -2, "kind");
  lua_pushstring(L, at.chunk);
  lua_setfield(L, -2, "chunk");
  lua_pushinteger(L, row->loc.line);
  lua_setfield(L, -2, "line");
  lua_pushinteger(L, row->block);
  lua_setfield(L, -2, "block");
  lua_pushinteger(L, row->thread);
  lua_setfield(L, -2, "thread");
  lua_pushinteger(L, row->n);
  lua_setfield(L, -2, "times");
  if (at.tensor != NULL) {
    lua_pushstring(L, at.tensor);
    lua_setfield(L, -2, "tensor");
    lua_pushstring(L, spaces[at.space]);
    lua_setfield(L, -2, "space");
    lua_pushinteger(L, row->off);
    lua_setfield(L, -2, "offset");
  }
}

/* _launch(x) -> names, launch, args...: of a configuration k{...} or a prepared launch, the names of the
   kernel's parameters, the configuration, and the arguments that it holds. Nothing for another x. */
static int unpack(lua_State *L) {
  lua_settop(L, 1);
  int n = launch_unpack(L, 1);
  if (n < 0) {
    return 0;
  }
  const Kernel *k = lua_touserdata(L, 2);
  lua_createtable(L, k->n_params, 0);
  for (int i = 1; i <= k->n_params; i++) {
    lua_getiuservalue(L, 2, 1);
    lua_pushstring(L, lua_getlocal(L, NULL, i));
    lua_remove(L, -2);
    lua_rawseti(L, -2, i);
  }
  lua_replace(L, 2);
  return n + 2;
}

/* The program's shared tensors: name -> layout. */
static void push_shared(lua_State *L, const CtSimtProgram *p) {
  CtSpace space;
  const char *name;
  CtLayout layout;
  lua_newtable(L);
  for (uint32_t i = 1; ct_simt_trace_buf(p, i, &name, &space, &layout); i++) {
    if (space == CT_SHARED) {
      bind_push_layout(L, layout);
      lua_setfield(L, -2, name);
    }
  }
}

/* _trace(launch, name, off, args...) -> rows, shared: launches `launch(args...)`, a configuration, on the
   CPU engine. Rows {kind, chunk, line, block, thread, times, tensor, space, offset} of what made the
   element at offset `off` of the parameter `name`; the layouts of shared tensors by name. */
static int trace_rows(lua_State *L) {
  const char *name = luaL_checkstring(L, 2);
  int64_t off = luaL_checkinteger(L, 3);
  int n = lua_gettop(L) - 3;
  const CtTraceRow *rows;
  size_t n_rows;
  CtErr err;
  Holder *h = lua_newuserdatauv(L, sizeof *h, 0);
  *h = (Holder){.state = state_of(L)};
  luaL_setmetatable(L, HOLDER_TYPE);
  lua_insert(L, 1);
  lua_toclose(L, 1);
  if (launch_unpack(L, 2) != 0) {
    return diag_type_error(L, 2, "trace", "a launch configuration");
  }
  const Kernel *k = lua_touserdata(L, -2);
  lua_replace(L, 4); /* stack: holder, launch, name, configuration, args, kernel */
  lua_insert(L, 2);  /* stack: holder, kernel, launch, name, configuration, args */
  if (h->state->watch != NULL) {
    return diag_error(L, "trace: launches are being watched already, by check or profile");
  }
  diag_check(L, ct_simt_trace_open(h->state->alloc, name, off, MAX_RECORD, &h->trace, &err), &err);
  h->state->watch = ct_simt_trace_watch(h->trace);
  lua_call(L, n, 0);
  h->state->watch = NULL;
  diag_check(L, ct_simt_trace_rows(h->trace, &rows, &n_rows, &err), &err);
  lua_createtable(L, (int)n_rows, 0);
  for (size_t i = 0; i < n_rows; i++) {
    push_row(L, k->specs->simt, &rows[i]); /* the one that just ran comes first */
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  push_shared(L, k->specs->simt);
  return 2;
}

void bind_open_trace(lua_State *L) {
  static const luaL_Reg meta[] = {{"__close", holder_close}, {"__gc", holder_close}, {NULL, NULL}};
  bind_new_type(L, HOLDER_TYPE, meta, NULL);
  lua_pushcfunction(L, trace_rows);
  lua_setfield(L, -2, "_trace");
  lua_pushcfunction(L, unpack);
  lua_setfield(L, -2, "_launch");
}
