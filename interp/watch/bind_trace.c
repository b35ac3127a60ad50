/* bind_trace.c: what the module cuttle.trace is made of: a launch on the CPU engine that finds out how one
   element came about (runtime/watch/lineage.h). The names begin with `_`: the library's own. */
#include <lauxlib.h>
#include <limits.h>

#include "interp/algebra/bind.h"
#include "interp/launch/launch.h"
#include "interp/launch/launch_key.h"
#include "interp/launch/watcher.h"
#include "runtime/watch/lineage.h"
#include "interp/state/fields.h"
#include "interp/state/source_load.h"
#include "interp/tensor/tensor.h"
#include "interp/openers.h"

static void close_trace(void *trace) { ct_lineage_close(trace); }

static const WatcherKind kind = {
    "trace",
    "trace: launches are already being watched, by check or profile; trace in a run without them",
    close_trace};

static const char *const row_kinds[] = {"reads", "writes", "computes", "zeros"};
static const Field row_fields[] = {
    FIELD_NAMED("kind", CtLineageRow, kind, row_kinds), FIELD_AS("line", CtLineageRow, loc.line),
    FIELD(CtLineageRow, block), FIELD(CtLineageRow, thread), FIELD_AS("times", CtLineageRow, n)};

static void push_row(lua_State *L, const CtSimtProgram *p, const CtLineageRow *row) {
  CtLineagePlace at = ct_lineage_place(p, row);
  lua_createtable(L, 0, 10);
  FIELDS_SET(L, row_fields, row);
  field_text(L, "chunk", at.chunk);
  if (at.tensor != NULL) {
    field_text(L, "tensor", at.tensor);
    field_text(L, "space", ct_spaces[at.space]);
    field_integer(L, "offset", row->off);
    if (at.space == CT_SHARED && row->owner != row->block) {
      field_integer(L, "owner", row->owner);
    }
  }
}

/* The names of the parameters of the kernel at idx. */
static void push_names(lua_State *L, int idx) {
  const Kernel *k = lua_touserdata(L, idx);
  lua_createtable(L, k->n_params, 0);
  for (int i = 1; i <= k->n_params; i++) {
    lua_getiuservalue(L, idx, 1);
    lua_pushstring(L, lua_getlocal(L, NULL, i));
    lua_remove(L, -2);
    lua_rawseti(L, -2, i);
  }
}

/* _launch.launch(x) -> names, launch, args...: of a configuration k{...} or a prepared launch, the names of the
   kernel's parameters, the configuration, and the arguments that it holds. Nothing for another x. */
static int unpack(lua_State *L) {
  lua_settop(L, 1);
  int n = launch_unpack(L, 1);
  if (n < 0) {
    return 0;
  }
  push_names(L, 2);
  lua_replace(L, 2);
  return n + 2;
}

/* --- results ----------------------------------------------------------------------------------------------- */

/* The program's shared tensors: name -> {layout, dtype}. */
static void push_shared(lua_State *L, const CtSimtProgram *p) {
  CtLineageTensor t;
  lua_newtable(L);
  for (uint32_t i = 1; ct_lineage_tensor(p, i, &t); i++) {
    if (t.space != CT_SHARED || t.is_alias) {
      continue;
    }
    lua_createtable(L, 0, 2);
    bind_push_composed(L, &t.layout);
    lua_setfield(L, -2, "layout");
    field_integer(L, "bytes", (int64_t)ct_value_bytes(t.dtype));
    lua_setfield(L, -2, t.name);
  }
}

/* {name = true} of the tensors in global memory that the kernel writes. */
static void push_written(lua_State *L, const CtSimtProgram *p) {
  CtLineageTensor t;
  lua_newtable(L);
  for (uint32_t i = 1; ct_lineage_tensor(p, i, &t); i++) {
    if (t.space == CT_GLOBAL && !t.is_alias && t.is_written) {
      field_bool(L, t.name, true);
    }
  }
}

static void push_rows(lua_State *L, const Watcher *w, const CtSimtProgram *p) {
  const CtLineageRow *rows;
  size_t n;
  diag_try(L, ct_lineage_rows(w->tool, &rows, &n, diag_err(L)));
  lua_createtable(L, (int)n, 0);
  for (size_t i = 0; i < n; i++) {
    push_row(L, p, &rows[i]);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
}

/* Appends the mark to the list at the top, as MARK_FIELDS values. */
enum { MARK_FIELDS = 8 };
static void add_mark(lua_State *L, const CtSimtProgram *p, const CtTrailMark *m, lua_Integer at) {
  const lua_Integer numbers[] = {m->kind,  m->step, (lua_Integer)m->code + 1, m->thread,
                                 m->block, m->off,  (lua_Integer)m->place};
  for (int i = 0; i < (int)CT_ARRAY_LEN(numbers); i++) {
    lua_pushinteger(L, numbers[i]);
    lua_rawseti(L, -2, ++at);
  }
  if (m->buf != 0) {
    lua_pushstring(L, ct_lineage_name(p, m->buf));
  } else {
    lua_pushboolean(L, 0);
  }
  lua_rawseti(L, -2, at + 1);
}

static void push_trails(lua_State *L, const CtLineage *trace, const CtSimtProgram *p) {
  lua_Integer n = 0;
  const CtTrail *t;
  for (int i = 0; (t = ct_lineage_trail(trace, i)) != NULL; i++) {
    n += (lua_Integer)t->n;
  }
  lua_createtable(L, (int)ct_min(n * MARK_FIELDS, INT_MAX), 0);
  n = 0;
  for (int i = 0; (t = ct_lineage_trail(trace, i)) != NULL; i++) {
    for (size_t j = 0; j < t->n; j++, n += MARK_FIELDS) {
      add_mark(L, p, &t->mark[j], n);
    }
  }
}

static void push_codes(lua_State *L, const CtSimtProgram *p) {
  static const Field fields[] = {FIELD(CtLineageCode, line), FIELD(CtLineageCode, mma_k)};
  CtLineageCode code;
  lua_newtable(L);
  for (uint32_t i = 0; ct_lineage_code(p, i, &code); i++) {
    lua_createtable(L, 0, 5);
    FIELDS_SET(L, fields, &code);
    field_text(L, "name", code.name);
    field_text(L, "chunk", code.chunk);
    field_bool(L, "moves", code.moves);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
}

/* --- launches of a function ---------------------------------------------------------------------------------- */

static const WatcherKind told_kind = {
    "list of launches",
    "tune: launches are already being watched, by check or profile; tune in a run without them",
    NULL};
enum { TAKE = 1 }; /* a user value */

static void push_told(lua_State *L, const Launch *l) {
  const LaunchArgs *args = l->args;
  static const Field fields[] = {FIELD(LaunchConfig, grid), FIELD(LaunchConfig, block),
                                 FIELD(LaunchConfig, cluster), FIELD(LaunchConfig, cooperative),
                                 FIELD_AS("smem", LaunchConfig, shared_bytes)};
  lua_createtable(L, 0, 5);
  lua_pushvalue(L, l->kernel);
  lua_setfield(L, -2, "kernel");
  push_names(L, l->kernel);
  lua_setfield(L, -2, "names");
  FIELDS_PUSH(L, fields, l->config);
  lua_setfield(L, -2, "launch");
  push_written(L, l->spec->simt);
  lua_setfield(L, -2, "written");
  lua_createtable(L, args->n_given, 1);
  for (int i = 0; i < args->n_given; i++) {
    lua_pushvalue(L, args->first + i);
    lua_rawseti(L, -2, i + 1);
  }
  field_integer(L, "n", args->n_given);
  lua_setfield(L, -2, "args");
}

static void on_launch(Launch *l) {
  lua_State *L = l->L;
  int top = lua_gettop(L);
  luaL_checkstack(L, 16, NULL);
  launch_check_kept(L, l->args, "tune");
  (void)watcher_push_told(L, &told_kind);
  lua_getiuservalue(L, -1, TAKE);
  push_told(L, l);
  lua_call(L, 1, 0);
  lua_settop(L, top);
}

static void on_launched(lua_State *L, bool ok) {
  (void)L;
  (void)ok;
}

static const WatcherCalls told_calls = {.before = on_launch, .after = on_launched};

/* _launch.launches(take) -> session, to be closed: take{kernel =, names =, launch =, args =, written =} is called before each
   launch on the CPU engine: the names of the kernel's parameters, the configuration, those that the kernel writes. */
static int launches(lua_State *L) {
  watcher_tell(L, watcher_push_session(L, &told_kind, TAKE, TAKE), &told_calls);
  return 1;
}

/* --- launching --------------------------------------------------------------------------------------------- */

enum { WATCHER = 1, KERNEL, LAUNCH, NAME, OFFSET, LIMIT, ARGS }; /* places on the stack */

static void launch_watched(lua_State *L, Watcher *w, int n) {
  for (CtSimtWatch *watch; (watch = ct_lineage_next(w->tool)) != NULL;) {
    lua_pushvalue(L, LAUNCH);
    launch_push_copies(L, ARGS, n);
    watcher_start(w, watch);
    lua_call(L, n, 0);
    watcher_pause(w);
  }
}

/* The offsets in the list at OFFSET, which takes its place. */
static const int64_t *read_offsets(lua_State *L, size_t *n) {
  lua_Integer size = luaL_len(L, OFFSET);
  luaL_argcheck(L, size >= 1 && size <= CT_LINEAGE_MAX_ELEMENTS, OFFSET, "1 to 64 elements");
  int64_t *off = lua_newuserdatauv(L, (size_t)size * sizeof *off, 0);
  for (lua_Integer i = 0; i < size; i++) {
    lua_rawgeti(L, OFFSET, i + 1);
    off[i] = luaL_checkinteger(L, -1);
    lua_pop(L, 1);
  }
  lua_replace(L, OFFSET);
  *n = (size_t)size;
  return off;
}

/* What a trace of either kind gives. */
static int push_found(lua_State *L, const Watcher *w, const CtSimtProgram *p) {
  push_rows(L, w, p);
  push_shared(L, p);
  field_push_triple(L, ct_lineage_grid(w->tool));
  field_push_triple(L, ct_lineage_block(p));
  push_written(L, p);
  return 5;
}

static int push_walks(lua_State *L, const Watcher *w, const CtSimtProgram *p) {
  const CtLineageRow *rows;
  size_t n;
  diag_try(L, ct_lineage_rows(w->tool, &rows, &n, diag_err(L)));
  push_trails(L, w->tool, p);
  push_codes(L, p);
  return 2;
}

/* _watch.trace(launch, name, offs, limit, args...) -> rows, shared, grid, block, written: launches `launch(args...)`, a
   configuration, on the CPU engine and on copies of the tensors. Rows {kind, chunk, line, block, thread,
   times, tensor, space, offset, owner} of what made the elements at these offsets of the parameter `name`, owner
   being the block whose shared memory it is where that is another; the shared tensors by name; the launch's
   extents; names of what the kernel writes. A cluster's record takes `limit` bytes at most. */
static int trace_launch(lua_State *L, bool keeps_trail) {
  CtLineage *trace;
  Watcher *w = watcher_push(L, &kind, 0);
  lua_insert(L, WATCHER);
  lua_toclose(L, WATCHER);
  if (launch_unpack(L, 2) != 0) {
    return diag_type_error(L, 2, "trace", "a launch configuration");
  }
  lua_pop(L, 1);
  lua_insert(L, KERNEL);
  const Kernel *k = lua_touserdata(L, KERNEL);
  luaL_argcheck(L, luaL_checkinteger(L, LIMIT) >= 0, LIMIT, "bytes");
  size_t n_off;
  const int64_t *off = read_offsets(L, &n_off);
  diag_try(L, ct_lineage_open(w->state->alloc, luaL_checkstring(L, NAME), off, n_off,
                              (size_t)luaL_checkinteger(L, LIMIT), &trace, diag_err(L)));
  w->tool = trace;
  if (keeps_trail) {
    ct_lineage_keep_trail(trace);
  }
  launch_watched(L, w, lua_gettop(L) - ARGS + 1);
  const CtSimtProgram *p = k->specs->simt; /* the one that just ran comes first */
  return keeps_trail ? push_walks(L, w, p) : push_found(L, w, p);
}

static int trace_rows(lua_State *L) { return trace_launch(L, false); }

/* _watch.trail(the same) -> marks, codes: kind, step, code, thread, block, offset, place and tensor, or false, of each mark
   of the walks (CtTrailMark), one after the other, and of each instruction {name, chunk, line, moves, mma_k}. */
static int trace_trail(lua_State *L) { return trace_launch(L, true); }

/* _host.source(chunk) -> the text of a chunk as errors call it, as it was loaded last; nil when it is not kept. */
static int source(lua_State *L) { return src_push_text(L, luaL_checkstring(L, 1)) ? 1 : 0; }

/* _host.shown(chunk) -> the same, or the text that a file of a launch has of it. For messages only. */
static int shown(lua_State *L) { return src_push_shown(L, luaL_checkstring(L, 1)) ? 1 : 0; }

void bind_open_trace(lua_State *L) {
  static const luaL_Reg functions[] = {{"_watch.trace", trace_rows},
                                       {"_watch.trail", trace_trail},
                                       {"_launch.launch", unpack},
                                       {"_host.source", source},
                                       {"_host.shown", shown},
                                       {"_launch.launches", launches},
                                       {NULL, NULL}};
  watcher_new_type(L, &kind, NULL);
  watcher_new_type(L, &told_kind, NULL);
  luaL_setfuncs(L, functions, 0);
}
